"""Do new rows look like those that a model learnt from? Asked of any fitted model of scarce.

Every fit keeps a profile of its columns (`column_profile_`, see io/profile.py). Predictions do
not look at it: a request of one row stays cheap. Does not judge probabilities: see assess/.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from scarce.errors import UsageError
from scarce.io.inputs import rows_to_predict
from scarce.io.profile import ColumnRemark, compare_profiles, profile_rows
from scarce.io.schema import Column, Schema


def compare_columns(model: Any, X: Any) -> list[ColumnRemark]:
    """Say which columns of new rows are not like those that the model was fitted on.

    One remark per column: all values missing or many more than in training, all one value, a value
    that training hardly had and that is frequent now (such as -999 for "missing"), values outside
    the range of training, or values that vary far less. Each has a probability of about one in a
    million for rows from the same source, so a plain test set gives none. Call it once per file or
    per day, not per request: below 20 rows (100 for "all one value") little can be said.

    Parameters
    ----------
    model : estimator of scarce
        Fitted; also one that wraps another, such as `PriorCorrected`.
    X : array-like of shape (n, k), or Rows
        New rows, as for `predict_proba`.

    Returns
    -------
    list of ColumnRemark
        With `column`, `kind` and `text`; empty where nothing stands out.

    Examples
    --------
    >>> import numpy as np
    >>> from scarce import RareClassifier, compare_columns
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> model = RareClassifier("logistic", ridge=1.0).fit(X, rng.random(1000) < 0.1)
    >>> new = rng.normal(size=(500, 2))
    >>> compare_columns(model, new)
    []
    >>> new[:100, 1] = -999
    >>> print(compare_columns(model, new)[0])
    Column 'x1': 20 % of the values are -999, and none in training (-3.77 to 3.07)...
    """
    check_is_fitted(model)
    held = model
    while held is not None and not hasattr(held, "column_profile_"):
        held = getattr(held, "estimator_", None)
    if held is None:
        raise UsageError(
            f"This {type(model).__name__} has no profile of the columns it was fitted on (it comes "
            "from partial_fit, from an estimator of another library, or from a file of an earlier "
            "version). Fit it again with fit()."
        )
    rows = rows_to_predict(held, X, engine=getattr(held, "engine", None))
    columns = columns_of(held)
    return compare_profiles(held.column_profile_, profile_rows(rows), columns)


def columns_of(model: Any) -> tuple[Column, ...]:
    """Return names and kinds of the columns that a model was fitted on."""
    if hasattr(model, "schema_"):
        return Schema.from_dict(model.schema_).columns
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return tuple(Column(str(name)) for name in names)
