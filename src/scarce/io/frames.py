"""Tables in memory, from pandas, polars and Arrow, as Arrow columns that features can be made of.

    frame -> Arrow table, column by column -> schema (numbers, categories by their levels) -> rows

What a column *is* does not depend on the library that it came from: text, a pandas category, a
polars Categorical or Enum and an Arrow dictionary of the same values are the same category;
true/false is 0 and 1; Int64 with NA, float64 with NaN and Arrow nulls are the same numbers. A table
that holds what features cannot be made of (dates, bytes, lists, mixed objects) is refused in one
sentence that names all such columns. Nothing is copied that Arrow can look at.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import issparse

from scarce.engine.block import TableLike
from scarce.errors import Argument, DataError, UsageError, listed, warn_user

PLAIN = "biuf"  # kinds of NumPy's types that a matrix of float64 can hold
BYTES = "holds bytes"
FEW_NAMES = 20  # different values of a column named like an identifier that may be a category
ID_NAME = re.compile(r"(?:^|[_ .-])(?:id|uuid|guid|key|index|row|rowid|rownames)$|^$", re.I)
UNIT_NAME = re.compile(
    r"(?:^|[_ .-])(?:patient|card|customer|client|user|account|subject|person|member|household)"
    r"s?(?:$|[_ .-](?:no|nr|num|number|code|hash|name)$)",
    re.I,
)
UNWRITTEN = ("IntervalIndex", "DatetimeIndex", "TimedeltaIndex", "PeriodIndex")  # as of pd.cut


def is_frame(source: object) -> bool:
    """Whether this is a table with named columns: pandas, polars or Arrow.

    Examples
    --------
    >>> is_frame(pa.table({"a": [1]})), is_frame([[1.0]]), is_frame({"a": [1]})
    (True, False, False)
    """
    if isinstance(source, (pa.Table, pa.RecordBatch)) or is_pandas(source):
        return True
    return hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns")


def refuse_no_frame(source: object) -> None:
    """Refuse a table whose columns share a name, and one of polars that holds no rows yet.

    Examples
    --------
    >>> refuse_no_frame(pa.table([[1], [2]], names=["age", "age"]))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: The table has 2 columns with the name 'age', and columns are known ...
    """
    from scarce.io.schema import duplicate_column

    if type(source).__name__ == "LazyFrame":
        raise UsageError(
            "A {kind} holds no rows yet.",
            code="lazy-frame",
            kind=type(source).__name__,
            remedy="Pass frame.collect().",
        )
    names = column_names(source) if is_frame(source) else []
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise duplicate_column(doubled, names.count(doubled))


def refuse_records(source: object) -> None:
    """Refuse a dict of columns and a list of dicts, of which NumPy would make one object.

    Examples
    --------
    >>> refuse_records([{"age": 40}, {"age": 50}])
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: Features are a list of dicts, not a table. Pass ...
    """
    if issparse(source):  # one of scipy's formats is a dict
        return
    if isinstance(source, Mapping):
        kind, maker = f"a {type(source).__name__} of columns", "pyarrow.table(X)"
    elif isinstance(source, (list, tuple)) and source and isinstance(source[0], Mapping):
        kind, maker = f"a {type(source).__name__} of dicts", "pyarrow.Table.from_pylist(X)"
    else:
        return
    raise UsageError(
        "Features are {kind}, not a table.",
        code="no-table",
        kind=kind,
        maker=maker,
        remedy="Pass pandas.DataFrame(X) or {maker}.",
    )


def is_pandas(source: object) -> bool:
    """Whether this is a DataFrame of pandas, without importing it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def is_plain(source: Any) -> bool:
    """Whether a pandas frame holds numbers of NumPy's types alone, as scikit-learn reads them.

    A table of true/false alone is one too; beside numbers it is not, because NumPy would make a
    matrix of objects of both.
    """
    if not is_pandas(source):
        return False
    kinds = {getattr(kind, "kind", "O") for kind in source.dtypes if _of_numpy(kind)}
    return (
        all(_of_numpy(kind) for kind in source.dtypes)
        and kinds <= set(PLAIN)
        and (kinds == {"b"} or "b" not in kinds)
    )


def _of_numpy(kind: object) -> bool:
    return type(kind).__module__.partition(".")[0] == "numpy"


def column_names(source: Any) -> list[str]:
    """Return the names of a frame's columns, as text."""
    names = source.schema.names if isinstance(source, pa.RecordBatch) else None
    names = source.column_names if isinstance(source, pa.Table) else names
    return [str(name) for name in (source.columns if names is None else names)]


def as_table(source: TableLike, *, needed: Collection[str] | None = None) -> pa.Table | None:
    """Turn any table into an Arrow table, without copying columns; None for arrays.

    Columns of a pandas frame beside the `needed` ones may hold anything: they are kept by name.

    Examples
    --------
    >>> as_table({"a": [1, 2]}).column_names, as_table([[1.0]]) is None
    (['a'], True)
    """
    if isinstance(source, pa.Table):
        return source
    refuse_no_frame(source)
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if is_pandas(source):
        return _from_pandas(source, needed)
    if hasattr(source, "__arrow_c_stream__") or isinstance(source, dict):
        return pa.table(source)
    return None


def _from_pandas(frame: Any, needed: Collection[str] | None) -> pa.Table:
    """Turn the columns of a pandas frame into Arrow's, one by one, and say which cannot be."""
    names = column_names(frame)
    found: dict[str, Any] = {}
    mixed: dict[str, str] = {}
    for place, name in enumerate(names):
        if needed is not None and name not in needed:
            found[name] = pa.nulls(len(frame))
            continue
        series = frame.iloc[:, place]
        try:
            found[name] = _from_series(series)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            mixed[name] = _mixture(series)
    if mixed:
        kinds = {name: one.type for name, one in found.items()}
        raise unreadable({**mixed, **unreadable_types(kinds)}, order=names)
    return pa.table(found)


def _from_series(series: Any) -> Any:
    """One column as Arrow's; levels of a category that are no words or numbers become words."""
    levels = getattr(series.dtype, "categories", None)
    if levels is not None and type(levels).__name__ in UNWRITTEN:
        series = series.cat.rename_categories([str(level) for level in levels])
    if type(series.dtype).__name__ == "SparseDtype":
        series = series.sparse.to_dense()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pa.Array.from_pandas(series)


def _mixture(series: Any) -> str:
    """Say of which types the values of a column are that Arrow cannot hold."""
    kinds = sorted({type(value).__name__ for value in series.dropna()})
    return f"mixes {listed(kinds, most=4)}" if len(kinds) > 1 else f"holds {kinds[0]} objects"


# --- columns that name rows -----------------------------------------------------------------------


def named_like_names(names: Iterable[str]) -> list[str]:
    """Return the columns that are named like identifiers of rows, patients or cards.

    Examples
    --------
    >>> named_like_names(["id", "age", "patient_no", "key"])
    ['id', 'patient_no', 'key']
    """
    return [name for name in names if ID_NAME.search(name) or UNIT_NAME.search(name)]


def identifiers(table: pa.Table, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return those of the columns that name rows, and those that name units of several rows.

    A column of whole numbers or text names rows where no value comes twice.

    Examples
    --------
    >>> table = pa.table({"id": range(30), "card": [n // 2 for n in range(60)][:30]})
    >>> identifiers(table, ["id", "card"])
    (['id'], [])
    """
    rows, units = [], []
    for name in names:
        kind = table.schema.field(name).type
        if not (pa.types.is_integer(kind) or kind_of(kind) == "text" or pa.types.is_binary(kind)):
            continue
        column = table.column(name)
        different = len(pc.unique(column.drop_null()))
        if different == table.num_rows > 1:
            rows.append(name)
        elif FEW_NAMES < different < table.num_rows:
            units.append(name)
    return rows, units


def row_and_unit_names(frame: Any) -> tuple[list[str], list[str]]:
    """Return the columns of a frame that name its rows, and those that name units of several rows.

    By the rule of `scarce fit`: named like an identifier, and another value in every row. At least
    one column remains.
    """
    names = column_names(frame)
    doubtful = named_like_names(names)
    if not doubtful:
        return [], []
    table = as_table(frame, needed=doubtful)
    assert table is not None
    found, units = identifiers(table, doubtful)
    return [] if len(found) == len(names) else found, units


def names_rows(frame: Any) -> list[str]:
    """Return the columns of a frame that name its rows, and are no features; say so.

    Columns that name units with several rows each stay, with a warning.
    """
    found, units = row_and_unit_names(frame)
    for name in units:
        warn_user(
            "Column {column!r} is named like an identifier, several rows share its values, and it "
            "is used as a feature.",
            code="unit-column",
            column=name,
            remedy="If rows of one value belong together (a patient, a card), pass its values to "
            "fit(..., groups=...) and leave the column out.",
        )
    for name in found:
        warn_user(
            "Column {column!r} has a different value in every row, so it is taken as an identifier "
            "and left out.",
            code="identifier-column",
            column=name,
            remedy="To use it as a feature, give it another name.",
        )
    return found


# --- what features cannot be made of --------------------------------------------------------------


def kind_of(kind: pa.DataType) -> str | None:
    """Return "text" or "number" for an Arrow type that a feature can have, else None.

    Examples
    --------
    >>> [kind_of(kind) for kind in (pa.int8(), pa.bool_(), pa.string(), pa.date32())]
    ['number', 'number', 'text', None]
    """
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if (
        pa.types.is_string(inner)
        or pa.types.is_large_string(inner)
        or pa.types.is_string_view(inner)
    ):
        return "text"
    if (
        pa.types.is_integer(inner)
        or pa.types.is_floating(inner)
        or pa.types.is_decimal(inner)
        or pa.types.is_boolean(inner)
        or pa.types.is_null(inner)
    ):
        return "number"
    return None


def unreadable_types(kinds: Mapping[str, pa.DataType]) -> dict[str, str]:
    """Return what the columns hold that features cannot be made of.

    Examples
    --------
    >>> unreadable_types({"a": pa.int8(), "day": pa.date32(), "tags": pa.list_(pa.string())})
    {'day': 'is of type date32[day]', 'tags': 'is of type list<item: string>'}
    """
    found = {}
    for name, kind in kinds.items():
        if kind_of(kind) is None:
            inner = kind.value_type if pa.types.is_dictionary(kind) else kind
            plain_bytes = pa.types.is_binary(inner) or pa.types.is_large_binary(inner)
            found[name] = BYTES if plain_bytes else f"is of type {kind}"
    return found


def unreadable(found: Mapping[str, str], order: Sequence[str] = ()) -> DataError:
    """Return the error that names every column that features cannot be made of.

    Examples
    --------
    >>> print(unreadable({"day": "is of type date32[day]", "x": "mixes int and str"}))
    2 columns cannot be read: 'day' is of type date32[day]; 'x' mixes int and str. Features are
    numbers, true/false or categories. Leave them out with open_rows(..., drop=['day', 'x']), or
    turn them into numbers or text first.
    """
    names = [name for name in order if name in found] or list(found)
    one = len(names) == 1
    mixed = any(what.startswith("mixes") for what in found.values())
    return DataError(
        "{count} cannot be read: {what}. Features are numbers, true/false or categories.",
        code="mixed-types" if mixed else "column-type",
        count="A column" if one else f"{len(names)} columns",
        what="; ".join(f"{name!r} {found[name]}" for name in names[:12])
        + (f"; and {len(names) - 12} more" if len(names) > 12 else ""),
        column=names[0],
        columns=tuple(names),
        drop=Argument("drop", names[:12], call="open_rows"),
        remedy=f"Leave {'it' if one else 'them'} out with {{drop}}, or turn "
        f"{'it' if one else 'them'} into numbers or text first.",
    )
