"""From what scikit-learn users pass to rows: checked features, labels in three states, weights.

Every estimator of scarce begins its fit here, so that all of them read X, y and sample_weight in
the same way: any value of y is a class, only missing values (NaN, None, pandas NA, masked, empty
text) mean *not labelled*, and NaN in X, or a masked cell, is a missing value.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from scarce.engine.block import Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows, WeightedRows
from scarce.errors import DataError, DataWarning, UsageError, refuse_word
from scarce.io.labels import is_number, label_array
from scarce.io.open import open_rows
from scarce.io.profile import profile_rows
from scarce.io.recode import recoded
from scarce.io.schema import Column, Schema, unmasked_weights

WEIGHT_KINDS = ("frequency", "survey")
LEAST_WEIGHT = 1e-150  # total weight below which products of weights are not numbers any more


def rows_to_fit(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    engine: Engine = None,
    holes: bool = True,
    dtype: Any = np.float64,
) -> tuple[Rows, NDArray[Any]]:
    """Return the rows to learn from and the classes, and note columns and data on the estimator.

    With holes=False an array with missing values is refused; for `Rows` the fit looks itself. A
    list of types as `dtype` keeps an array that has one of them as it is.
    """
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise UsageError(
                "Rows carry their own labels and weights: name them in open_rows(label=, weight=), "
                "not in fit."
            )
        if X.schema.label is None and not X.schema.classes:
            raise DataError("These rows have no labels. Name them: open_rows(..., label='column').")
        estimator.n_features_in_ = X.n_columns
        estimator.feature_names_in_ = np.array(X.names, dtype=object)
        estimator.schema_ = X.schema.to_dict()
        estimator.data_fingerprint_ = X.fingerprint
        estimator.column_profile_ = profile_rows(X, engine=engine)
        return X, np.array(X.classes)
    if y is None:
        raise DataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. Pass "
            "labels; rows that are not labelled are NaN or None in it."
        )
    features = validate_data(
        estimator,
        _holes_as_nan(X),
        dtype=dtype,
        ensure_all_finite="allow-nan" if holes else True,
        ensure_min_samples=1,
    )
    estimator.__dict__.pop("schema_", None)  # of an earlier fit, on rows
    codes, classes = label_codes(y, len(features))
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(
            unmasked_weights(sample_weight), features, dtype=np.float64, ensure_non_negative=True
        )
    rows = ArrayRows(
        features,
        codes,
        weight=weight,
        names=[str(name) for name in getattr(estimator, "feature_names_in_", [])] or None,
        classes=classes.tolist(),
        engine=engine,
        check=False,
    )
    estimator.data_fingerprint_ = rows.fingerprint
    estimator.column_profile_ = profile_rows(rows, engine=engine)
    return rows, classes


def weight_factor(total: float, n_rows: int, kind: str) -> tuple[float, list[str]]:
    """Return what weights are multiplied by under `weight_kind`, and what the reader should know.

    The one reading of `weight_kind` for every estimator. A weight of kind "frequency" counts rows:
    2 is the row twice, and the total is the number of observations. Weights of kind "survey"
    (sampling or inverse-probability weights) matter only in proportion: they are multiplied by
    `n_rows / total`, so that they sum to the number of rows that were observed. Whole and real
    numbers mean the same.

    Parameters
    ----------
    total : float
        Sum of the weights of the rows that count.
    n_rows : int
        Number of rows that count: with a weight above 0 and, where labels matter, a label.
    kind : {"frequency", "survey"}

    Returns
    -------
    factor : float
        1 for "frequency".
    remarks : list of str
        For `report_.warnings`: "frequency" weights that sum to less than half the rows.

    Examples
    --------
    >>> weight_factor(1.0, 500, "survey")
    (500.0, [])
    >>> factor, remarks = weight_factor(1.0, 500, "frequency")
    >>> factor, remarks[0][:49]
    (1.0, 'The weights of 500 rows sum to 1, and weights are')
    """
    refuse_word("weight_kind", kind, WEIGHT_KINDS)
    if n_rows and not LEAST_WEIGHT < total < np.inf:
        raise DataError(
            f"The weights of {n_rows:,} rows sum to {total:.3g}, beyond what double precision can "
            "multiply. Divide them by their mean before the fit."
        )
    if kind == "survey":
        return (n_rows / total if n_rows else 1.0), []
    if total >= 0.5 * n_rows:
        return 1.0, []
    return 1.0, [
        f"The weights of {n_rows:,} rows sum to {total:.3g}, and weights are read as counts of "
        f"rows (weight_kind='frequency'): penalties and intervals are those of {total:.3g} "
        "observations. "
        "Pass weight_kind='survey' for weights that only say how much a row stands for."
    ]


def scaled_weights(
    rows: Rows, kind: str, *, labelled: bool = True, engine: Engine = None
) -> tuple[Rows, list[str]]:
    """Return rows whose weights are scaled as `weight_kind` asks for, and remarks.

    See `weight_factor` for the rule. Rows without weights come back as they are. With
    `labelled=False` rows without a label count too; every row's weight is multiplied, counted or
    not.

    Examples
    --------
    >>> rows = ArrayRows([[1.0], [2.0]], [0, 1], weight=[0.2, 0.6], classes=[0, 1])
    >>> scaled_weights(rows, "survey")[0].weights()
    array([0.5, 1.5])
    """
    total, n_rows, weighted = rows.fold(_weight_sums, labelled, engine=engine)
    if not weighted:
        refuse_word("weight_kind", kind, WEIGHT_KINDS)
        return rows, []
    factor, remarks = weight_factor(float(total), int(n_rows), kind)
    if factor == 1.0:
        return rows, remarks
    return WeightedRows(rows, rows.weights(engine=engine) * factor), remarks


def _weight_sums(block: Block, labelled: bool) -> tuple[float, int, int]:
    """Kernel: total weight and number of the rows that count, and whether weights were given."""
    if block.weight is None:
        return 0.0, 0, 0
    counts = block.weight > 0
    if labelled:
        counts &= block.labelled
    return float(block.weight[counts].sum()), int(counts.sum()), 1


def positive_remark(classes: Any, weight: Any) -> list[str]:
    """Say so when the positive class, the last of two, is not the rarer one.

    Examples
    --------
    >>> positive_remark(["fraud", "ok"], [1.0, 9.0])[0][:55]
    'The positive class, ok, is the more frequent one: proba'
    >>> positive_remark([0, 1], [9.0, 1.0])
    []
    """
    if len(classes) != 2 or not weight[1] > weight[0]:
        return []
    return [
        f"The positive class, {classes[1]!s}, is the more frequent one: probabilities are those of "
        f"{classes[1]!s}, not of {classes[0]!s}."
    ]


def refuse_categories(rows: Rows, model: str) -> None:
    """Refuse rows with categories for a model of measurements: their codes are mere positions."""
    for column in rows.schema.columns:
        if column.kind == "category":
            raise DataError(
                f"Column {column.name!r} is a category of {len(column.levels)} levels, and {model} "
                "models measurements. Turn it into columns of 0 and 1 with open_rows(..., "
                f"indicators=True), or leave it out with open_rows(..., drop=[{column.name!r}])."
            )


def rows_to_predict(
    estimator: Any,
    X: Any,
    *,
    engine: Engine = None,
    holes: bool = True,
    dtype: Any = np.float64,
    unknown: str | None = None,
) -> Rows:
    """Return rows with the columns and the code books that the estimator was fitted on.

    `Rows` and tables are read by the names of columns and levels, whatever their order. `unknown`
    is what becomes of a level that was not there to learn from, "error" or "missing"; by default
    what the schemas say.
    """
    like = Schema.from_dict(estimator.schema_) if hasattr(estimator, "schema_") else None
    if isinstance(X, Rows):
        return recoded(X, _numbers_like(estimator, X) if like is None else like, unknown=unknown)
    if like is None or not (
        like.missing
        or like.infinite_is_missing
        or any(column.kind != "number" for column in like.columns)
    ):
        features = validate_data(
            estimator,
            _holes_as_nan(X),
            dtype=dtype,
            ensure_all_finite="allow-nan" if holes else True,
            reset=False,
        )
        return ArrayRows(features, engine=engine, check=False)
    like = replace(like, label=None, weight=None)
    if hasattr(X, "columns"):
        with warnings.catch_warnings():  # a batch may well have a column without values
            warnings.simplefilter("ignore", DataWarning)
            return open_rows(X, like=like, unknown=unknown or like.unknown, engine=engine)
    features = validate_data(
        estimator, _holes_as_nan(X), dtype=dtype, ensure_all_finite="allow-nan", reset=False
    )
    return ArrayRows(_as_coded(features, like), schema=like, engine=engine, check=False)


def _numbers_like(estimator: Any, rows: Rows) -> Schema:
    """Return the schema of an estimator that was fitted on an array or a table of numbers."""
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None and rows.n_columns != estimator.n_features_in_:
        raise DataError(
            f"These rows have {rows.n_columns} columns, {list(rows.names)[:8]}, but the model was "
            f"fitted on an array of {estimator.n_features_in_} columns. Open them with the same "
            "columns: open_rows(..., columns=[...])."
        )
    names = rows.names if fitted is None else fitted
    return Schema(tuple(Column(str(name)) for name in names))


def _as_coded(X: NDArray[Any], like: Schema) -> NDArray[Any]:
    """Return an array with what means missing as NaN, once its categories are codes indeed."""
    hidden = [value for value in like.missing if is_number(value)]
    X = np.where(np.isin(X, hidden), np.nan, X) if hidden else X
    for j, column in enumerate(like.columns):
        if column.kind != "category":
            continue
        codes = X[:, j]
        wrong = np.flatnonzero(
            (codes == codes) & ~np.isin(codes, np.arange(max(1, len(column.levels))))
        )
        if len(wrong):
            raise DataError(
                f"Column {column.name!r} is a category, and an array gives its levels by their "
                f"positions 0 to {len(column.levels) - 1}: {codes[wrong[0]]:g} at row "
                f"{wrong[0]:,} is none. Pass a table with named columns, or open_rows(table)."
            )
    return X


def _holes_as_nan(X: Any) -> Any:
    """Masked cells as NaN; dates, whose missing value would become a large number, refused."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    if getattr(getattr(X, "dtype", None), "kind", "-") in "mM":
        raise DataError(
            f"X holds dates or durations ({X.dtype}). Turn them into numbers first, such as days "
            "since a day of your choice, with NaN where they are missing."
        )
    return X


def label_codes(y: Any, n_rows: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the position of each label among the sorted classes, NaN where not labelled.

    Examples
    --------
    >>> label_codes([1.0, float("nan"), 0.0], 3)
    (array([ 1., nan,  0.]), array([0., 1.]))
    >>> label_codes(["spam", None, "ham"], 3)
    (array([ 1., nan,  0.]), array(['ham', 'spam'], dtype=object))
    """
    labels = column_or_1d(label_array(y), warn=True)
    if len(labels) != n_rows:
        raise DataError(
            f"X has {n_rows} rows and y has {len(labels)}: inconsistent numbers of samples. Pass "
            "one label per row, NaN where there is none."
        )
    missing = _missing(labels)
    known = labels[~missing]
    if len(known) == 0:
        raise DataError(
            f"None of the {n_rows:,} rows is labelled: y is missing throughout. Label some rows of "
            "each class."
        )
    if known.dtype.kind == "f" and np.isinf(known).any():
        raise DataError(
            "Input y contains infinity or a value too large for dtype('float64'). Labels are "
            "classes; rows that are not labelled are NaN."
        )
    if known.dtype == object:
        kinds = {type(value) for value in known}
        if not all(issubclass(kind, str) for kind in kinds):
            known = np.array(known.tolist())
            if known.dtype.kind in "US" and len(kinds) > 1:
                names = sorted(kind.__name__ for kind in kinds)
                raise DataError(f"y mixes {' and '.join(names)}: give labels of one type.")
    check_classification_targets(known)
    classes, positions = np.unique(known, return_inverse=True)
    codes = np.full(n_rows, np.nan)
    codes[~missing] = positions
    return codes, classes


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    if labels.dtype == object:
        # NaN is the one value that differs from itself; pandas.NA answers neither yes nor no.
        return np.array(
            [
                value is None or type(value).__name__ == "NAType" or value != value
                for value in labels
            ],
            dtype=bool,
        )
    return np.zeros(len(labels), dtype=bool)
