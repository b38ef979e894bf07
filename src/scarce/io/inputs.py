"""From what scikit-learn users pass to rows: checked features, labels in three states, weights.

Every estimator of scarce begins its fit here, and all of them read X, y and sample_weight in the
same way: any value of y is a class, only missing values (NaN, None, pandas NA, masked, empty text)
mean *not labelled*, and NaN in X, or a masked cell, is a missing value.

    code in these rows -> level -> code in the rows that the model was fitted on

Rows that were opened on their own have their own code books: 0 may be Bonn here and Aachen there.
For predictions, columns are found by name and levels by their values. A column that is not there or
has another kind is refused with the way to open the rows; an unknown level is refused or missing,
as the rows ask for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    column_or_1d,
    validate_data,
)

from scarce.checks import is_number, refuse_other_index
from scarce.engine.block import Array, Block, ColumnLike, TableLike
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows, Ticket, WeightedRows
from scarce.engine.sparse import SparseRows
from scarce.errors import (
    Argument,
    DataError,
    DataWarning,
    Phrase,
    Problem,
    UsageError,
    listed,
    refuse_word,
    suggest,
    warn_user,
)
from scarce.io.frames import (
    as_table,
    column_names,
    is_frame,
    is_plain,
    kind_of,
    names_rows,
    refuse_no_frame,
    refuse_records,
)
from scarce.io.labels import label_array, missing_labels
from scarce.io.locate import cell_error
from scarce.io.open import Strangers, frame_rows, open_rows, strangers, strangers_remark
from scarce.io.profile import columns_of, profile_rows
from scarce.io.schema import (
    MOST_INDICATORS,
    Column,
    Schema,
    indicator_columns,
    refuse_crowds,
    refuse_level,
    refuse_many_levels,
    unmasked_weights,
)
from scarce.io.values import brief

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


WEIGHT_KINDS = ("frequency", "survey")
LEAST_WEIGHT = 1e-150  # total weight below which products of weights are not numbers any more


def rows_to_fit(
    estimator: BaseEstimator,
    X: TableLike,
    y: ColumnLike,
    sample_weight: ColumnLike | None = None,
    *,
    engine: Engine = None,
    allow_missing: bool = True,
    dtype: DTypeLike | Sequence[type] = np.float64,
    categories: str = "codes",
    reset: bool = True,
) -> tuple[Rows, NDArray[Any]]:
    """Return the rows to learn from and the classes, and note columns and data on the estimator.

    The one door of every `fit`: arrays and pandas frames of plain numbers are checked as
    scikit-learn does; every other pandas, polars or Arrow frame (text, categories, true/false,
    nullable columns) is read by the names of its columns and levels, and the schema that this gives
    is the estimator's `schema_`, from which `rows_to_predict` reads new tables.

    Parameters
    ----------
    categories : {"codes", "one-hot"}
        What the estimator can learn from. "codes": a category is one column of positions in its
        `levels`; ask ``rows.schema.columns[j].kind == "category"``. "one-hot": it becomes a column
        of 0 and 1 for each level but the most frequent one (`kind == "indicator"`, its category in
        `source`), all of them NaN where the category is missing; rows that were opened with codes
        are spread too.
    allow_missing : bool
        Without, an array with missing values is refused, and so is an unknown level at prediction
        (it is read as missing otherwise, with a warning). For `Rows` and frames the estimator looks
        for missing values itself.
    dtype : type or list of types
        A list keeps an array that has one of them as it is.
    reset : bool
        False for a further batch: it is read as the earlier ones were.

    Notes
    -----
    Sets `n_features_in_` and `feature_names_in_` (columns as given), `schema_`,
    `data_fingerprint_` and `column_profile_`. Learnt arrays are by column of the rows
    (`rows.names`, afterwards `names_of(estimator)`), which are more than were given where
    categories became one-hot columns.
    """
    refuse_other_index(X=X, y=y, sample_weight=sample_weight)
    refuse_word("categories", categories, ("codes", "one-hot"))
    if isinstance(X, Rows):
        _refuse_labels_beside(X, y, sample_weight)
        given = list(X.schema.sources)
        rows = _read_again(estimator, X) if not reset else X
        rows = _spread(rows, engine) if categories == "one-hot" else rows
        return _noted(estimator, rows, rows.schema, given, engine), np.array(rows.classes)
    if y is None:
        raise DataError(
            "{estimator} requires y to be passed, but the target y is None.",
            code="no-labels",
            estimator=type(estimator).__name__,
            remedy="Pass labels; rows that are not labelled are NaN or None in it.",
        )
    schema = None
    refuse_no_frame(X)
    refuse_records(X)
    if not reset and hasattr(estimator, "schema_"):
        rows = rows_to_predict(estimator, X, engine=engine)
        features, schema = np.concatenate([block.X for block in rows.blocks()]), rows.schema
    elif is_frame(X) and ((naming := names_rows(X)) or not is_plain(X)):
        unknown = "missing" if allow_missing else "error"
        with _said_for_fit():
            held = frame_rows(
                X,
                drop=naming,
                indicators=categories == "one-hot",
                unknown=unknown,
                engine=engine,
            )
        features, schema = held.matrix, held.schema
    else:
        features = validate_data(
            estimator,
            _masked_as_nan(X),
            dtype=dtype,
            ensure_all_finite="allow-nan" if allow_missing else True,
            ensure_min_samples=1,
            reset=reset,
            accept_sparse=_sparse_format(estimator),
        )
    codes, classes = label_codes(y, features.shape[0])
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(
            unmasked_weights(sample_weight), codes, dtype=np.float64, ensure_non_negative=True
        )
    names = None
    if schema is None:
        names = [str(name) for name in getattr(estimator, "feature_names_in_", [])] or None
    if issparse(features):
        sparse = SparseRows(features, codes, weight=weight, names=names, classes=classes.tolist())
        return _noted(estimator, sparse, None, None, engine), classes
    rows = ArrayRows(
        features,
        codes,
        weight=weight,
        names=names,
        classes=classes.tolist(),
        schema=None if schema is None else replace(schema, classes=tuple(classes.tolist())),
        engine=engine,
        check=False,
    )
    return _noted(
        estimator, rows, schema, column_names(X) if is_frame(X) else None, engine
    ), classes


READING = ("drop", "missing", "categories", "decimal", "max_levels", "indicators")


@contextmanager
def _said_for_fit() -> Iterator[None]:
    """Say of arguments of `open_rows` that they are its own: `fit` does not have them."""
    try:
        yield
    except DataError as error:
        own: dict[str, Any] = {
            name: replace(one, call="open_rows")
            for name, one in error.fields.items()
            if isinstance(one, Argument) and one.name in READING and not one.call
        }
        if not own:
            raise
        raise error.amended(**own) from error.__cause__


@contextmanager
def _said_for_prediction() -> Iterator[None]:
    """Say what to do with a column that is not as it was in training."""
    try:
        yield
    except DataError as error:
        if error.code not in ("not-a-number", "column-type", "mixed-types", "wrong-encoding"):
            raise
        raise error.amended(
            remedy="The model was fitted on numbers or categories there: give values of the same "
            "kind, or missing ones."
        ) from error.__cause__


def _sparse_format(estimator: BaseEstimator) -> str | bool:
    """Return the sparse format that an estimator takes, or False for one that takes none."""
    return "csr" if estimator.__sklearn_tags__().input_tags.sparse else False


def _refuse_labels_beside(X: Rows, y: ColumnLike | None, sample_weight: ColumnLike | None) -> None:
    """Refuse labels and weights beside rows that carry their own, and rows that carry none."""
    if y is not None or sample_weight is not None:
        raise UsageError(
            "Rows carry their own labels and weights.",
            code="argument-conflict",
            label=Argument("label", ..., call="open_rows"),
            remedy="Name them in {label}, not in fit.",
        )
    if X.schema.label is None and not X.schema.classes:
        raise DataError(
            "These rows have no labels.",
            code="no-labels",
            label=Argument("label", "column", call="open_rows"),
            remedy="Name them: {label}.",
        )


def _noted(
    estimator: BaseEstimator,
    rows: Rows,
    schema: Schema | None,
    given: list[str] | None,
    engine: Engine,
) -> Rows:
    """Note on the estimator what the rows are and how new ones are read; return the rows."""
    if schema is None:
        estimator.__dict__.pop("schema_", None)  # of an earlier fit, on rows
    else:
        names = list(schema.sources) if given is None else given
        estimator.n_features_in_ = len(names)
        estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator.schema_ = schema.to_dict()
    estimator.data_fingerprint_ = rows.fingerprint
    estimator.column_profile_ = profile_rows(rows, engine=engine)
    return rows


def _read_again(estimator: BaseEstimator, rows: Rows) -> Rows:
    """Return the rows of a further batch with the columns and codes of the earlier ones."""
    fields = getattr(estimator, "schema_", None)
    like = _numbers_like(estimator, rows.names) if fields is None else Schema.from_dict(fields)
    return recoded(rows, like)


def _spread(rows: Rows, engine: Engine = None) -> Rows:
    """Return rows with one-hot columns in place of codes, as `open_rows(indicators=True)` does."""
    at = [j for j, column in enumerate(rows.schema.columns) if column.kind == "category"]
    if not at:
        return rows
    sizes = [len(rows.schema.columns[j].levels) for j in at]
    counts = rows.fold(_level_counts, (at, sizes), engine=engine)
    held = {
        column.name: dict(zip(column.levels, own, strict=False))
        for column, own in zip((rows.schema.columns[j] for j in at), counts, strict=True)
    }
    refuse_many_levels(
        {name: [level for level in own if own[level]] for name, own in held.items()},
        dict.fromkeys(held, MOST_INDICATORS),
        list(held),
        {name: int(sum(own.values())) for name, own in held.items()},
    )
    columns: list[Column] = []
    for column in rows.schema.columns:
        own = held.get(column.name)
        columns += [column] if own is None else indicator_columns(column.name, column.levels, own)
    refuse_crowds(columns)
    return recoded(rows, replace(rows.schema, columns=tuple(columns)))


def _level_counts(block: Block, params: tuple[list[int], list[int]]) -> NDArray[np.int64]:
    """Kernel: how many rows have each level of some categories, one row per category."""
    at, sizes = params
    found = np.zeros((len(at), max(sizes)), dtype=np.int64)
    for place, (j, size) in enumerate(zip(at, sizes, strict=True)):
        codes = block.X[:, j]
        found[place, :size] = np.bincount(codes[codes == codes].astype(np.intp), minlength=size)
    return found


def names_of(estimator: BaseEstimator) -> list[str]:
    """Return the names of the columns that a fitted model has coefficients for.

    One for each column of `coef_` and the like: those of one-hot columns where it learnt from
    categories, the names it was given otherwise, x0, x1, ... where there were none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from scarce import RareClassifier
    >>> table = pa.table({"age": [44, 50, 31, 20], "city": ["Ulm", "Bonn", "Ulm", "Ulm"]})
    >>> model = RareClassifier("logistic", ridge=1.0).fit(table, [0, 1, 0, 1])
    >>> model.feature_names_in_.tolist(), names_of(model)
    (['age', 'city'], ['age', 'city=Bonn'])
    """
    return [column.name for column in columns_of(estimator)]


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
            "The weights of {rows:,} rows sum to {total:.3g}, beyond what double precision can "
            "multiply.",
            code="weight-range",
            rows=n_rows,
            total=total,
            remedy="Divide them by their mean before the fit.",
        )
    if kind == "survey":
        return (n_rows / total if n_rows else 1.0), []
    if total >= 0.5 * n_rows:
        return 1.0, []
    remark = Problem(
        "The weights of {rows:,} rows sum to {total:.3g}, and weights are read as counts of rows "
        "({frequency}): penalties and intervals are those of {total:.3g} observations.",
        code="few-counted",
        rows=n_rows,
        total=total,
        frequency=Argument("weight_kind", "frequency"),
        survey=Argument("weight_kind", "survey"),
        remedy="Pass {survey} for weights that only say how much a row stands for.",
    )
    return 1.0, [remark]


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


def positive_remark(
    classes: Sequence[object] | NDArray[Any], weight: Sequence[float] | Array
) -> list[str]:
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
        Problem(
            "The positive class, {positive}, is the more frequent one: probabilities are those of "
            "{positive}, not of {negative}.",
            code="frequent-positive",
            positive=str(classes[1]),
            negative=str(classes[0]),
        )
    ]


def rows_to_predict(
    estimator: BaseEstimator,
    X: TableLike,
    *,
    engine: Engine = None,
    allow_missing: bool = True,
    dtype: DTypeLike | Sequence[type] = np.float64,
    unknown: str | None = None,
) -> Rows:
    """Return rows with the columns and the code books that the estimator was fitted on.

    `Rows` and tables are read by the names of columns and levels, whatever their order; columns
    that the fit did not have are left aside. (Between pandas frames of plain numbers scikit-learn's
    rule holds: the same names in the same order.) An array gives the model's own columns, one-hot
    ones where it has them.

    `unknown` is what becomes of a level that was not there to learn from, "error" or "missing"; by
    default what the schema says: "missing" after a fit on a frame, unless the model needs complete
    rows. A level of a frame that is read as missing gives a warning.
    """
    like = Schema.from_dict(estimator.schema_) if hasattr(estimator, "schema_") else None
    refuse_no_frame(X)
    refuse_records(X)
    if isinstance(X, Rows):
        return recoded(
            X, _numbers_like(estimator, X.names) if like is None else like, unknown=unknown
        )
    if is_frame(X) and not (like is None and is_plain(X)):
        if like is None:
            like = _numbers_like(estimator, column_names(X))
        return _read_frame(X, replace(like, label=None, weight=None), unknown, engine)
    coded = like is not None and (
        bool(like.missing)
        or like.infinite_is_missing
        or any(column.kind != "number" for column in like.columns)
    )
    finite = "allow-nan" if allow_missing or coded else True
    if like is None or len(like.columns) == estimator.n_features_in_:
        features = validate_data(
            estimator,
            _masked_as_nan(X),
            dtype=dtype,
            ensure_all_finite=finite,
            reset=False,
            accept_sparse=_sparse_format(estimator),
        )
        if issparse(features):
            return SparseRows(features, engine=engine)
    else:
        features = check_array(_masked_as_nan(X), dtype=dtype, ensure_all_finite=finite)
        _refuse_other_width(features, like)
    if like is None or not coded:
        return ArrayRows(features, engine=engine, check=False)
    like = replace(like, label=None, weight=None)
    return ArrayRows(_as_coded(features, like), schema=like, engine=engine, check=False)


def _read_frame(X: TableLike, like: Schema, unknown: str | None, engine: Engine) -> Rows:
    """Read a table as a model's schema says; say which of its levels the model has not seen."""
    names = column_names(X)
    absent = [name for name in like.sources if name not in names]
    if absent:
        raise _absent(absent[0], names, absent)
    unknown = unknown or like.unknown
    with warnings.catch_warnings():  # a batch may well have a column without values
        warnings.simplefilter("ignore", DataWarning)
        with _said_for_prediction():
            rows = open_rows(X, like=like, unknown=unknown, engine=engine)
    coded = [one.source or one.name for one in like.columns if one.kind != "number"]
    table = as_table(X, needed=set(coded)) if coded else None
    found = {} if table is None else strangers(table, like)
    if found and table is not None:
        _refuse_numbers_as_words(table, found, like)
        warn_user(strangers_remark(found))
    return rows


def _refuse_numbers_as_words(table: pa.Table, found: Strangers, like: Schema) -> None:
    """Refuse a column of numbers, none of which is a level, where the model has words."""
    books = {one.source or one.name: one.levels for one in like.columns if one.kind != "number"}
    for name, new in found.items():
        column = table.column(name)
        number = kind_of(column.type) == "number" and not pa.types.is_null(column.type)
        if number and isinstance(books[name][0], str) and new.total() == len(column.drop_null()):
            raise DataError(
                "Column {column!r} holds numbers such as {value}, and the model was fitted on a "
                "category with levels such as {level}.",
                code="column-kind",
                column=name,
                value=brief(next(iter(new))),
                level=brief(books[name][0]),
                remedy="Give the levels by name.",
            )


def _refuse_other_width(features: NDArray[Any], like: Schema) -> None:
    if features.shape[1] != len(like.columns):
        raise DataError(
            "X has {count} columns, and this model, which was fitted on categories, has "
            "{expected} of its own ({names}).",
            code="column-mismatch",
            count=features.shape[1],
            expected=len(like.columns),
            names=listed(like.names, most=8),
            remedy="Pass a table with named columns, as the one that it was fitted on.",
        )


def _numbers_like(estimator: BaseEstimator, given: Sequence[str]) -> Schema:
    """Return the schema of an estimator that was fitted on an array or a table of numbers."""
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None and len(given) != estimator.n_features_in_:
        raise DataError(
            "These rows have {count} columns ({names}), but the model was fitted on an array of "
            "{expected} columns.",
            code="column-mismatch",
            count=len(given),
            names=listed(given, most=8),
            expected=estimator.n_features_in_,
            columns=Argument("columns", ..., call="open_rows"),
            remedy="Open them with the same columns: {columns}.",
        )
    names = given if fitted is None else fitted
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
            raise cell_error(
                "{place}: {value:g} is not a level of this category. An array gives levels by "
                "their positions, 0 to {last}.",
                code="unknown-level",
                column=column.name,
                row=int(wrong[0]),
                value=float(codes[wrong[0]]),
                last=len(column.levels) - 1,
                remedy="Pass a table with named columns, or open_rows(table).",
            )
    return X


def _masked_as_nan(X: TableLike) -> Any:
    """Masked cells as NaN; words, and dates, whose missing value would be a number, refused."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    X = np.asarray(X) if isinstance(X, list | tuple) and X and is_row_of_text(X[0]) else X
    if getattr(getattr(X, "dtype", None), "kind", "-") in "OU" and getattr(X, "ndim", 0) == 2:
        _refuse_words(X)
    if getattr(getattr(X, "dtype", None), "kind", "-") in "mM":
        raise DataError(
            "X holds dates or durations ({kind}).",
            code="column-type",
            kind=str(X.dtype),
            remedy="Turn them into numbers first, such as days since a day of your choice, with "
            "NaN where they are missing.",
        )
    return X


def is_row_of_text(row: object) -> bool:
    """Whether a row is a list or tuple in which a cell is text."""
    return isinstance(row, list | tuple) and any(isinstance(cell, str) for cell in row)


def _refuse_words(X: NDArray[Any]) -> None:
    """Refuse columns of an array in which a word stands, all of them in one message."""
    found = {}
    for column in range(X.shape[1]):
        words = (str(cell) for cell in X[:, column] if isinstance(cell, str))
        word = next((cell for cell in words if not _is_number(cell)), None)
        if word is not None:
            found[column] = word
    if found:
        raise DataError(
            "X is an array, and text stands in {count} of its columns: {what}.",
            code="text-in-array",
            columns=tuple(found),
            count=len(found),
            what=listed([f"{word!r} in column {j}" for j, word in found.items()], most=6),
            remedy="Pass a data frame of pandas, polars or Arrow: there, columns of text are "
            "categories.",
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def label_codes(y: ColumnLike, n_rows: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
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
            "X has {rows} rows and y has {count}: inconsistent numbers of samples.",
            code="length-mismatch",
            rows=n_rows,
            count=len(labels),
            remedy="Pass one label per row, NaN where there is none.",
        )
    missing = missing_labels(labels)
    known = labels[~missing]
    if len(known) == 0:
        raise DataError(
            "None of the {rows:,} rows is labelled: y is missing throughout.",
            code="no-labels",
            rows=n_rows,
            remedy="Label some rows of each class.",
        )
    if known.dtype.kind == "f" and np.isinf(known).any():
        raise DataError(
            "Input y contains infinity or a value too large for dtype('float64').",
            code="infinite-labels",
            remedy="Labels are classes; rows that are not labelled are NaN.",
        )
    if known.dtype == object:
        kinds = {type(value) for value in known}
        if not all(issubclass(kind, str) for kind in kinds):
            known = np.array(known.tolist())
            if known.dtype.kind in "US" and len(kinds) > 1:
                names = sorted(kind.__name__ for kind in kinds)
                raise DataError(
                    "y mixes {types}.",
                    code="mixed-types",
                    types=listed(names),
                    remedy="Give labels of one type.",
                )
    check_classification_targets(known)
    classes = np.unique(known)
    codes = np.full(n_rows, np.nan)
    codes[~missing] = np.searchsorted(classes, known)  # not the inverse: it sorts the positions
    return codes, classes


LIKE = Phrase("open_rows(..., like=Schema.from_dict(model.schema_))")
REMEDY = "Open the rows with {like}."
UNKNOWN = -1.0  # in place of a code: a level that the model's code book does not have


def recoded(rows: Rows, like: Schema, *, unknown: str | None = None) -> Rows:
    """Return the rows with the columns, in the order and with the codes of another schema.

    Parameters
    ----------
    rows : Rows
        Opened with any code books; returned as they are where nothing differs.
    like : Schema
        Of the rows that a model was fitted on. Columns that it does not name are left out.
    unknown : {"error", "missing"}, optional
        For levels that `like` does not have; by default missing where either schema says so.

    Examples
    --------
    >>> from scarce import open_rows
    >>> old = open_rows({"city": ["Bonn", "Jena", "Ulm"], "age": [44, 50, 31]})
    >>> new = open_rows({"age": [20, 21], "city": ["Ulm", "Jena"]})
    >>> recoded(new, old.schema).map(lambda block, _: block.X)
    array([[ 2., 20.],
           [ 1., 21.]])
    """
    given = rows.schema
    if given.columns == like.columns and set(like.missing) <= set(given.missing):
        return rows
    if unknown is None:
        unknown = "missing" if "missing" in (given.unknown, like.unknown) else "error"
    return _RecodedRows(rows, like, _plan(given, like, unknown))


class _RecodedRows(Rows):
    """Rows whose blocks are recoded where they are opened; labels and weights stay."""

    def __init__(self, rows: Rows, like: Schema, plan: _Plan) -> None:
        self.rows, self.like, self.plan = rows, like, plan
        self.schema = replace(rows.schema, columns=like.columns, missing=like.missing)
        self.starts = rows.starts
        self.engine = rows.engine

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""
        return self.rows.fingerprint

    def ticket(self, index: int) -> Ticket:
        """Return the ticket of the block as it was, and what to do with it."""
        return _Recoded(self.rows.ticket(index), self.plan)

    def on_disk(self) -> Rows:
        """Return rows that other processes on this machine can open without being sent them."""
        return _RecodedRows(self.rows.on_disk(), self.like, self.plan)


@dataclass(frozen=True, slots=True)
class _Recoded:
    inner: Ticket
    plan: _Plan

    def open(self) -> Block:
        block = self.inner.open()
        X = self.plan.apply(block.X, block.start)
        return Block(X, block.y, block.weight, block.start, block.index)


@dataclass(frozen=True, slots=True)
class _Book:
    """Where a category of the model stands in the given rows, and what its levels become."""

    name: str
    kind: str  # of the given columns: "category", "indicator" or "number"
    places: tuple[int, ...]
    given: tuple[Any, ...]  # levels of the given rows, in the order of `codes`
    codes: Array  # the model's code of each given level; UNKNOWN, or NaN where it means missing
    levels: tuple[Any, ...]  # the model's

    def read(self, X: Array, start: int, unknown: str) -> Array:
        """Return the model's code of each row, NaN where missing."""
        values = X[:, list(self.places)]
        seen = np.flatnonzero(~np.isnan(values).any(axis=1))
        out = np.full(len(X), np.nan)
        if not len(seen):
            return out
        if self.kind == "number":
            found = self._of_numbers(values[seen, 0], start + int(seen[0]))
        else:  # of one-hot columns the first level has none: a row of zeros means it
            position = values[seen]
            if self.kind == "indicator":
                position = position @ np.arange(1.0, len(self.places) + 1.0)[:, None]
            at = position[:, 0].astype(np.intp)
            found = self.codes[at]
        strange = np.flatnonzero(found == UNKNOWN)
        if len(strange) and unknown == "error":
            first = int(strange[0])
            row = int(seen[first])
            value = values[row, 0].item() if self.kind == "number" else self.given[at[first]]
            raise refuse_level(self.name, value, start + row, self.levels)
        found[strange] = np.nan
        out[seen] = found
        return out

    def _of_numbers(self, values: Array, row: int) -> Array:
        """Return the codes of numbers among levels that are numbers."""
        if not all(isinstance(level, (int, float)) for level in self.levels):
            raise cell_error(
                "{place}: the number {value:g}, but the model was fitted on a category with levels "
                "such as {level}.",
                code="column-kind",
                column=self.name,
                row=row,
                value=float(values[0]),
                level=brief(self.levels[0]),
                like=LIKE,
                remedy=REMEDY,
            )
        levels = np.array([float(level) for level in self.given])
        order = np.argsort(levels)
        at = order[np.minimum(np.searchsorted(levels[order], values), len(levels) - 1)]
        return np.where(levels[at] == values, self.codes[at], UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Cell:
    """One column of the model: a given column, or the code of a category, or one level of it."""

    place: int = -1  # of the given column
    values: Array | None = None  # what the codes of that column stand for, where it has some
    book: str = ""
    level: float | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    cells: tuple[_Cell, ...]
    books: tuple[_Book, ...]
    missing: tuple[float, ...]
    unknown: str

    def apply(self, X: Array, start: int) -> Array:
        """Return the model's features of the rows of a block, row-major."""
        codes = {book.name: book.read(X, start, self.unknown) for book in self.books}
        out = np.empty((len(X), len(self.cells)))
        for j, cell in enumerate(self.cells):
            if cell.book:
                part = codes[cell.book]
                if cell.level is not None:
                    part = np.where(part == part, part == cell.level, part)
            else:
                part = X[:, cell.place]
                if cell.values is not None:
                    part = np.append(cell.values, np.nan)[
                        np.where(part == part, part, len(cell.values)).astype(np.intp)
                    ]
                part = np.where(np.isin(part, self.missing), np.nan, part)
            out[:, j] = part
        return out


def _plan(given: Schema, like: Schema, unknown: str) -> _Plan:
    """Find every column of `like` among the given ones, or refuse."""
    place = {name: j for j, name in enumerate(given.names)}
    own = like.indicators
    books: dict[str, _Book] = {}
    cells: list[_Cell] = []
    for column in like.columns:
        here = given.columns[place[column.name]] if column.name in place else None
        if column.kind == "number":
            cells.append(_Cell(place.get(column.name, -1), _as_numbers(column, here, given)))
        elif column.source is not None and here is not None and here.kind == "number":
            cells.append(_Cell(place[column.name]))  # one-hot columns made by hand
        else:
            source = column.source or column.name
            levels = own[source] if column.source else column.levels
            if source not in books:
                books[source] = _book(source, levels, given, like, place)
            level = float(levels.index(column.levels[1])) if column.source else None
            cells.append(_Cell(book=source, level=level))
    hidden = tuple(float(value) for value in like.missing if is_number(value))
    return _Plan(tuple(cells), tuple(books.values()), hidden, unknown)


def _as_numbers(column: Column, here: Column | None, given: Schema) -> Array | None:
    """Return the numbers that codes stand for, None for a column of numbers; or refuse."""
    if here is None:
        raise _absent(column.name, given.sources)
    if here.kind != "category":
        return None
    if not all(isinstance(level, (int, float)) for level in here.levels):
        word = next(level for level in here.levels if not isinstance(level, (int, float)))
        raise DataError(
            "Column {column!r} is a category here, with levels such as {level}, and a number in "
            "the rows that the model was fitted on.",
            code="column-kind",
            column=column.name,
            level=brief(word),
            missing=Argument("missing", [word], call="open_rows"),
            remedy="Correct the column, or name what means missing in it with {missing}.",
        )
    return np.array([float(level) for level in here.levels])


def _book(
    name: str, levels: tuple[Any, ...], given: Schema, like: Schema, place: dict[str, int]
) -> _Book:
    hot = given.indicators
    places: tuple[int, ...]
    if name in place:
        here = given.columns[place[name]]
        kind, places = here.kind, (place[name],)
        held = levels if kind == "number" else here.levels
    elif name in hot:
        kind, held = "indicator", hot[name]
        places = tuple(j for j, column in enumerate(given.columns) if column.source == name)
    else:
        raise _absent(name, given.sources)
    code = {level: float(at) for at, level in enumerate(levels)}
    code |= {value: np.nan for value in like.missing if value not in code}
    codes = np.array([code.get(level, UNKNOWN) for level in held])
    return _Book(name, kind, places, tuple(held), codes, levels)


def _absent(name: str, given: Sequence[str], absent: Sequence[str] = ()) -> DataError:
    names = list(absent) or [name]
    return DataError(
        "These rows have no column {missing}, which the model was fitted on.{hint} They have "
        "{names}.",
        code="unknown-column",
        column=name,
        columns=tuple(names),
        missing=listed([repr(one) for one in names], most=8),
        hint=suggest(name, given),
        names=listed([repr(one) for one in given], most=8),
        like=LIKE,
        remedy="Pass a table that has every column of the fit." if absent else REMEDY,
    )
