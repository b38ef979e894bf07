"""What is compared: each method sees the training rows only, on one thread.

    constant     the share of events in the training rows
    hgb          HistGradientBoostingClassifier(early_stopping=True), missing values as they are
    catboost     300 trees, missing values as they are
    impute+logit IterativeImputer, then RareClassifier("logistic", select_by="log_loss")
    impute+auto  IterativeImputer, then AutoClassifier()
    logit        RareClassifier("logistic", select_by="log_loss"), missing values integrated out
    bayes        GaussianBayes()
    auto         AutoClassifier()

All but auto get one-hot columns, in which a missing category is missing in every column.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.missing_values.data import Array, one_hot

Events = NDArray[np.intp]
Predict = Callable[[pd.DataFrame, Events, pd.DataFrame], Array]


def constant(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict the share of events."""
    return np.full(len(test), y.mean())


def hgb(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by scikit-learn's boosting with early stopping."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    seen, new = one_hot(train, test)
    model = HistGradientBoostingClassifier(early_stopping=True, random_state=0).fit(seen, y)
    return np.asarray(model.predict_proba(new)[:, 1])


def catboost(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by CatBoost with 300 trees."""
    from catboost import CatBoostClassifier

    seen, new = one_hot(train, test)
    model = CatBoostClassifier(
        iterations=300, thread_count=1, verbose=False, allow_writing_files=False
    )
    return np.asarray(model.fit(seen, y).predict_proba(new)[:, 1])


def imputed(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Array, Array]:
    """Return the rows with missing values imputed by regressions on the other columns."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    seen, new = one_hot(train, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        imputer = IterativeImputer(random_state=0).fit(seen)
        return imputer.transform(seen), imputer.transform(new)


def imputed_logit(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by the logit on imputed rows."""
    from scarce import RareClassifier

    seen, new = imputed(train, test)
    model = RareClassifier("logistic", select_by="log_loss").fit(seen, y)
    return np.asarray(model.predict_proba(new)[:, 1])


def imputed_auto(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by the stack on imputed rows."""
    from scarce import AutoClassifier

    seen, new = imputed(train, test)
    return np.asarray(AutoClassifier().fit(seen, y).predict_proba(new)[:, 1])


def logit(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by the logit whose missing values are integrated out."""
    from scarce import RareClassifier

    seen, new = one_hot(train, test)
    model = RareClassifier("logistic", select_by="log_loss").fit(seen, y)
    return np.asarray(model.predict_proba(new)[:, 1])


def bayes(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by normal distributions of the classes."""
    from scarce import GaussianBayes

    seen, new = one_hot(train, test)
    return np.asarray(GaussianBayes().fit(seen, y).predict_proba(new)[:, 1])


def auto(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by the stack on the table as it is."""
    from scarce import AutoClassifier

    return np.asarray(AutoClassifier().fit(train, y).predict_proba(test)[:, 1])


METHODS: dict[str, Predict] = {
    "constant": constant,
    "hgb": hgb,
    "catboost": catboost,
    "impute+logit": imputed_logit,
    "impute+auto": imputed_auto,
    "logit": logit,
    "bayes": bayes,
    "auto": auto,
}
