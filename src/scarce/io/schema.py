"""What the columns mean: numbers, categories with a code book, labels in three states, weights.

    number    -> float64, NaN where missing
    category  -> position in the code book (sorted levels of the whole data set), NaN where missing
    indicator -> one-hot: 1 at its level, 0 at the other levels of its source, NaN where missing
    label     -> position in the class list, NaN where *not labelled*

The code book is a property of the data, not of the block that happened to be read first: codes are
the same across blocks, engines and files. `Reading` is how the caller wants the columns read; only
the label and the category columns are walked, once, to fix classes and code books. Of one-hot
columns the most frequent level has none (the first in order where several are): a row of zeros
means that level, and coefficients of the others compare with it. Which label values mean what is
never guessed where two readings exist: the error names both, and the argument that settles it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scarce.engine.block import PIECE_ROWS, Array, ColumnLike
from scarce.errors import Argument, DataError, Phrase, listed, suggest, warn_user
from scarce.io.frames import BYTES, kind_of, unreadable, unreadable_types
from scarce.io.labels import read_labels
from scarce.io.locate import Locator, cell_error
from scarce.io.values import (
    brief,
    floats,
    missing_mask,
    numbers,
    plain,
    refuse_mixed,
    value_set,
)

MOST_LEVELS = 1000
MOST_INDICATORS = 100  # levels of a category that becomes one-hot columns
WIDEST = 5000  # one-hot columns altogether: rows are dense, 8 bytes a cell


@dataclass(frozen=True, slots=True)
class Column:
    """One feature: a number, a category with its code book in `levels`, or an indicator.

    An indicator is 1 at one level of the category `source` and 0 at its others; `levels` are the
    level that has no column of its own, and the one that is meant.
    """

    name: str
    kind: str = "number"
    levels: tuple[Any, ...] = ()
    source: str | None = None


@dataclass(frozen=True)
class Schema:
    """The meaning of a table's columns.

    Parameters
    ----------
    columns : tuple of Column
        The features, in order.
    label, weight : str or None
        Names of those columns.
    classes : tuple
        Class values; a label is stored as its position here. Two classes: negative, positive.
    unlabelled : tuple
        Label values that mean *not labelled*, beside missing ones.
    coded_as : tuple of tuple
        The values that each class is written as (several spellings may mean one class).
    missing : tuple
        Values that mean missing in any column, beside missing ones: -999, "unknown".
    infinite_is_missing : bool
        Read infinities as missing instead of refusing them.
    unknown : {"error", "missing"}
        What to do with a level that the code book does not have.

    Examples
    --------
    >>> schema = Schema((Column("age"), Column("city", "category", ("Bonn", "Ulm"))))
    >>> X, y, weight = schema.code(pa.table({"age": [44, None], "city": ["Ulm", "Bonn"]}))
    >>> X
    array([[44.,  1.],
           [nan,  0.]])
    >>> schema = Schema((Column("city=Ulm", "indicator", ("Bonn", "Ulm"), source="city"),))
    >>> schema.code(pa.table({"city": ["Ulm", "Bonn", None]}))[0].ravel()
    array([ 1.,  0., nan])
    """

    columns: tuple[Column, ...]
    label: str | None = None
    weight: str | None = None
    classes: tuple[Any, ...] = ()
    unlabelled: tuple[Any, ...] = ()
    coded_as: tuple[tuple[Any, ...], ...] = ()
    missing: tuple[Any, ...] = ()
    infinite_is_missing: bool = False
    unknown: str = "error"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(column.name for column in self.columns)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns that features are made of, each once."""
        return tuple(dict.fromkeys(c.name if c.source is None else c.source for c in self.columns))

    @property
    def needed(self) -> list[str]:
        """Every column that must be read."""
        extra = [name for name in (self.label, self.weight) if name is not None]
        return [*self.sources, *extra]

    @property
    def indicators(self) -> dict[str, tuple[Any, ...]]:
        """The levels of each category that became one-hot columns; first the one without a column.

        Examples
        --------
        >>> columns = [Column(f"n={n}", "indicator", (2, n), source="n") for n in (1, 3)]
        >>> Schema(tuple(columns)).indicators
        {'n': (2, 1, 3)}
        """
        books: dict[str, tuple[Any, ...]] = {}
        for column in self.columns:
            if column.source is not None:
                reference, level = column.levels
                books[column.source] = (*books.get(column.source, (reference,)), level)
        return books

    def code(self, table: pa.Table, start: int = 0) -> tuple[Array, Array | None, Array | None]:
        """Turn part of a table, whose first row has number `start`, into X, y and weight."""
        n = table.num_rows
        X = np.empty((n, len(self.columns)))
        books = self.indicators
        codes = {name: self._codes(table.column(name), name, books[name], start) for name in books}
        plan: list[tuple[Array, float | None]] = []  # values, and the code that becomes 1
        for c in self.columns:
            if c.source is None:
                plan.append((self._feature(table.column(c.name), c, start), None))
            else:
                plan.append((codes[c.source], float(books[c.source].index(c.levels[1]))))
        for first in range(0, n, PIECE_ROWS):  # in pieces: columns to rows within the cache
            piece = X[first : first + PIECE_ROWS]
            for j, (column, code) in enumerate(plan):
                part = column[first : first + PIECE_ROWS]
                piece[:, j] = part if code is None else np.where(part == part, part == code, part)
        refuse_infinities(X, self.names, start, missing_instead=self.infinite_is_missing)
        y = None if self.label is None else self.code_labels(table.column(self.label), start)
        weight = None
        if self.weight is not None:
            weight = numbers(table.column(self.weight), self.weight, start, ())
            check_weights(weight, self.weight, start)
        return X, y, weight

    def _feature(self, values: pa.ChunkedArray, column: Column, start: int) -> Array:
        if column.kind == "number":
            return numbers(values, column.name, start, self.missing)
        return self._codes(values, column.name, column.levels, start)

    def _codes(
        self, values: pa.ChunkedArray, name: str, levels: tuple[Any, ...], start: int
    ) -> Array:
        values = plain(values, name)
        if any(isinstance(level, str) for level in levels) or pa.types.is_null(values.type):
            values = values.cast(pa.string())  # a later file may hold only levels such as "2"
        book = value_set(levels, values.type)
        codes = pc.index_in(values, value_set=book, skip_nulls=True)
        if self.unknown == "error" and codes.null_count > values.null_count:
            strangers = pc.and_(pc.is_null(codes), pc.invert(missing_mask(values, self.missing)))
            first = pc.index(strangers, True).as_py()
            if first >= 0:
                raise refuse_level(name, values[first].as_py(), start + first, levels)
        return floats(codes)

    def code_labels(self, values: pa.ChunkedArray, start: int = 0) -> Array:
        """Turn label values into positions in `classes`, NaN where not labelled."""
        values = plain(values, str(self.label))
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        whole, broken = pa.types.is_integer(values.type), pa.types.is_floating(values.type)
        if self.coded_as == ((0,), (1,)) and (whole or broken):
            y = floats(values)  # NaN where null
            if not ((y * y != y) & (y == y)).any():  # 0 and 1 are their own squares
                return y
        names = [(value, code) for code, group in enumerate(self.coded_as) for value in group]
        known = value_set([value for value, _ in names], values.type)
        code_of = np.array([code for _, code in names], dtype=np.float64)
        position = floats(pc.index_in(values, value_set=known, skip_nulls=True))
        y = np.full(len(position), np.nan)
        found = ~np.isnan(position)
        if len(code_of):
            y[found] = code_of[position[found].astype(np.intp)]
        stray = np.flatnonzero(
            ~found & (floats(missing_mask(values, self.unlabelled).cast(pa.int8())) == 0)
        )
        if len(stray):
            first = int(stray[0])
            raise cell_error(
                "{place}: the label {value} is none of the classes {classes}.",
                code="unknown-label",
                column=str(self.label),
                row=start + first,
                value=brief(values[first].as_py()),
                classes=listed([brief(one) for one in self.classes], "or"),
                positive=Argument("positive"),
                negative=Argument("negative"),
                unlabelled=Argument("unlabelled"),
                remedy="Name it with {positive}, {negative} or {unlabelled}.",
            )
        return y

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain lists and dictionaries, for a model file."""
        return {
            "columns": [
                [c.name, c.kind, list(c.levels), *([] if c.source is None else [c.source])]
                for c in self.columns
            ],
            "label": self.label,
            "weight": self.weight,
            "classes": list(self.classes),
            "unlabelled": list(self.unlabelled),
            "coded_as": [list(group) for group in self.coded_as],
            "missing": list(self.missing),
            "infinite_is_missing": self.infinite_is_missing,
            "unknown": self.unknown,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Schema:
        """Rebuild a schema from `to_dict`.

        Examples
        --------
        >>> schema = Schema((Column("city", "category", ("Bonn", "Ulm")),))
        >>> Schema.from_dict(schema.to_dict()) == schema
        True
        """
        return cls(
            columns=tuple(
                Column(name, kind, tuple(levels), *source)
                for name, kind, levels, *source in fields["columns"]
            ),
            label=fields["label"],
            weight=fields["weight"],
            classes=tuple(fields["classes"]),
            unlabelled=tuple(fields["unlabelled"]),
            coded_as=tuple(tuple(group) for group in fields["coded_as"]),
            missing=tuple(fields["missing"]),
            infinite_is_missing=fields["infinite_is_missing"],
            unknown=fields["unknown"],
        )


# --- which columns are features -------------------------------------------------------------------


def pick_columns(
    names: Sequence[str],
    *,
    label: str | None,
    weight: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str] | None,
) -> list[str]:
    """Return the feature names: those asked for, or all but label, weight and dropped ones.

    Examples
    --------
    >>> pick_columns(["id", "age", "fraud"], label="fraud", weight=None, columns=None, drop=["id"])
    ['age']
    """
    doubled = next((name for name in names if list(names).count(name) > 1), None)
    if doubled is not None:
        raise duplicate_column(doubled, list(names).count(doubled))
    for what, asked in (
        ("label", [label] if label is not None else []),
        ("weight", [weight] if weight is not None else []),
        ("columns", columns or []),
        ("drop", drop or []),
    ):
        for name in asked:
            refuse_absent(name, names, what)
    apart = {label, weight, *(drop or ())}
    chosen = [name for name in (columns if columns is not None else names) if name not in apart]
    if not chosen:
        raise DataError(
            "No feature column is left of the {count} columns once label, weight and dropped ones "
            "are taken out.",
            code="no-features",
            count=len(names),
            columns=Argument("columns"),
            drop=Argument("drop"),
            remedy="Check {columns} and {drop}.",
        )
    return chosen


def duplicate_column(name: str, count: int, where: str = "The table") -> DataError:
    """Return the error for a name, or for no name, that several columns have."""
    return DataError(
        "{file} has {count} columns with {what}, and columns are known by their names.",
        code="duplicate-column",
        file=where,
        column=name,
        count=count,
        what=f"the name {name!r}" if name else "no name",
        remedy="Rename all but one." if name else "Name them in the first line.",
    )


def refuse_absent(name: str, names: Sequence[str], what: str) -> None:
    """Refuse a name that no column has, with the nearest one and the argument it came from."""
    if name not in names:
        raise DataError(
            "There is no column {column!r} (from {argument}).{hint} The columns are: {names}.",
            code="unknown-column",
            column=name,
            argument=Argument(what),
            hint=suggest(str(name), names),
            names=listed([repr(known) for known in names]),
        )


def column_kinds(
    types: Mapping[str, pa.DataType], categories: Collection[str] = ()
) -> dict[str, str]:
    """Return "number" or "category" for each column, or name all those that are neither.

    Text and dictionaries (categories of pandas and polars) are categories, and so are numbers and
    true/false among `categories`.

    Examples
    --------
    >>> column_kinds({"age": pa.int8(), "city": pa.string(), "zip": pa.int32()}, ["zip"])
    {'age': 'number', 'city': 'category', 'zip': 'category'}
    """
    bad = unreadable_types(types)
    if list(bad.values()) == [BYTES]:
        name = next(iter(bad))
        raise DataError(
            "Column {column!r} holds bytes that are not UTF-8 text.",
            code="wrong-encoding",
            column=name,
            encoding=Argument("encoding", "latin-1"),
            drop=Argument("drop", [name]),
            remedy="Pass the file's encoding, such as {encoding}, or leave the column out with "
            "{drop}.",
        )
    if bad:
        raise unreadable(bad)
    found = {}
    for name, kind in types.items():
        coded = pa.types.is_dictionary(kind) or kind_of(kind) == "text"
        coded = coded or (name in categories and not pa.types.is_null(kind))
        found[name] = "category" if coded else "number"
    return found


def check_label_type(name: str, kind: pa.DataType) -> None:
    """Refuse a label column that cannot hold classes."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(inner) or pa.types.is_temporal(inner) or pa.types.is_binary(inner):
        raise DataError(
            "Column {column!r} is of type {kind}: labels are numbers, true/false or text.",
            code="label-type",
            column=name,
            kind=str(kind),
            label=Argument("label"),
            remedy="Name the column with the classes in {label}.",
        )


def code_book(
    name: str,
    values: Iterable[Any],
    most: int = MOST_LEVELS,
    *,
    indicators: bool = False,
    rows: int | None = None,
) -> tuple[Any, ...]:
    """Return the sorted levels of a category, refusing too many of them.

    `rows`, how many rows hold them, tells a name of each row from a name of patients or cards.

    Examples
    --------
    >>> code_book("city", ["Ulm", None, "Bonn", "Ulm"])
    ('Bonn', 'Ulm')
    """
    levels = sorted({value for value in values if value is not None})
    refuse_many_levels({name: levels}, {name: most}, [name] if indicators else [], {name: rows})
    return tuple(levels)


def refuse_many_levels(
    columns: Mapping[str, Sequence[Any]],
    most: Mapping[str, int],
    one_hot: Collection[str],
    rows: Mapping[str, int | None],
) -> None:
    """Refuse columns of too many levels, all of them in one message."""
    found = {name: levels for name, levels in columns.items() if len(levels) > most[name]}
    if len(found) == 1:
        name, levels = next(iter(found.items()))
        raise DataError(
            "Column {column!r} holds {count:,} different values (such as {first} and {last}): too "
            "many for {what}.",
            code="too-many-levels",
            column=name,
            count=len(levels),
            first=brief(levels[0]),
            last=brief(levels[-1]),
            what=f"{len(levels) - 1:,} one-hot columns" if name in one_hot else "a category",
            **_names_rows_or_units(name, len(levels), rows[name]),
            max_levels=Argument("max_levels", len(levels), call="open_rows"),
        )
    if found:
        raise DataError(
            "{count} columns hold too many different values for a category: {what}.",
            code="too-many-levels",
            column=next(iter(found)),
            columns=tuple(found),
            count=len(found),
            what=listed([f"{name!r} ({len(levels):,})" for name, levels in found.items()], most=12),
            drop=Argument("drop", list(found)[:12], call="open_rows"),
            max_levels=Argument("max_levels", max(map(len, found.values())), call="open_rows"),
            remedy=[
                "Leave out with {drop} those that name rows or hold free text.",
                "Pass {max_levels} if they are categories all the same.",
            ],
        )


def _names_rows_or_units(name: str, levels: int, rows: int | None) -> dict[str, Any]:
    """What to do with a column of many names: those of single rows, or of units with several.

    A column that names patients or cards is not to be dropped: their rows would be told from each
    other by what they have in common, and no fold would know.
    """
    category = "Pass {max_levels} if it is a category all the same."
    if rows is not None and rows == levels:
        return {
            "id": Phrase(f"open_rows(..., drop={[name]!r})", f"--id {shlex.quote(name)}"),
            "remedy": [
                "It has another value in every row, and names rows: leave it out with {id}.",
                category,
            ],
        }
    return {
        "groups": Phrase(
            f"its values to fit(..., groups=...), and leave it out with open_rows(..., "
            f"drop={[name]!r})",
            f"--groups {shlex.quote(name)}",
        ),
        "remedy": [
            "Rows of one value may belong together, as those of a patient or a card do: pass "
            "{groups}.",
            category,
        ],
    }


# --- small things ---------------------------------------------------------------------------------


def refuse_infinities(
    X: Array, names: Sequence[str], start: int = 0, *, missing_instead: bool = False
) -> None:
    """Refuse infinities, naming column, count and first row; or turn them into missing values."""
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(X.sum()):
            return
    infinite = np.isinf(X)
    if not infinite.any():
        return
    if missing_instead:
        X[infinite] = np.nan
        return
    column = int(np.flatnonzero(infinite.any(axis=0))[0])
    rows = np.flatnonzero(infinite[:, column])
    raise cell_error(
        "{place}: an infinite value ({count:,} in this part of the table).",
        code="infinite-values",
        column=names[column],
        row=start + int(rows[0]),
        count=len(rows),
        missing=Argument("missing", "inf", call="open_rows"),
        remedy="Replace it, or read infinities as missing with {missing}.",
    )


def refuse_level(name: str, value: object, row: int, levels: Sequence[Any]) -> DataError:
    """Return the error for a level that the code book does not have."""
    return cell_error(
        "{place}: the level {value} is not in the code book ({known}).",
        code="unknown-level",
        column=name,
        row=row,
        value=brief(value),
        known=listed([brief(level) for level in levels], most=8),
        unknown=Argument("unknown", "missing", call="open_rows"),
        remedy="Read unknown levels as missing with {unknown}.",
    )


def unmasked_weights(weight: ColumnLike | None, name: str = "sample_weight") -> Any:
    """Refuse weights of which some are masked; return the others as they are.

    Examples
    --------
    >>> unmasked_weights(np.ma.array([1.0, 2.0], mask=False))
    array([1., 2.])
    """
    if not isinstance(weight, np.ma.MaskedArray):
        return weight
    hidden = np.flatnonzero(np.ma.getmaskarray(weight))
    if len(hidden):
        raise DataError(
            "{argument} is masked at row {row:,} ({count:,} such rows): a weight must be known.",
            code="masked-weight",
            argument=Argument(name),
            row=int(hidden[0]),
            count=len(hidden),
            remedy="Use 0 for a row that should not count: {argument}.filled(0).",
        )
    return weight.data


def check_weights(weight: Array, name: str = "weight", start: int = 0) -> None:
    """Refuse weights that are missing, infinite or negative."""
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        value = float(weight[bad[0]])
        raise cell_error(
            "{place}: the weight is {seen}. A weight must be finite and not negative.",
            code="weight-range",
            column=name,
            row=start + int(bad[0]),
            value=value,
            seen="missing" if np.isnan(value) else f"{value:g}",
            remedy="Use 0 for a row that should not count.",
        )


# --- one-hot columns ------------------------------------------------------------------------------


def indicator_columns(
    name: str, levels: Sequence[Any], counts: Mapping[Any, int]
) -> tuple[Column, ...]:
    """Return the one-hot columns of a category: one per level but the most frequent one.

    A category of one level, or of none, gives no column, with a warning.

    Examples
    --------
    >>> for column in indicator_columns("n", (1, 2, 3), {1: 4, 2: 9, 3: 9}):
    ...     print(column.name, column.levels)
    n=1 (2, 1)
    n=3 (2, 3)
    """
    if len(levels) < 2:
        warn_user(
            "Column {column!r} holds {seen}: it tells no rows apart and gives no one-hot column.",
            code="one-level",
            column=name,
            seen=f"the one level {brief(levels[0])}" if levels else "no value",
            drop=Argument("drop", [name]),
            remedy="Leave it out with {drop}.",
        )
        return ()
    reference = max(levels, key=lambda level: counts[level])  # the first of equal ones
    return tuple(
        Column(f"{name}={_in_a_name(level)}", "indicator", (reference, level), name)
        for level in levels
        if level != reference
    )


def refuse_crowds(columns: Sequence[Column]) -> None:
    """Refuse one-hot columns that share a name with another column, or are too many to hold."""
    by_name: dict[str, Column] = {}
    for column in columns:
        other = by_name.setdefault(column.name, column)
        if other is not column:
            made = other if column.source is None else column
            raise DataError(
                "Two columns would be named {column!r}: one that is there, and a one-hot column of "
                "{source!r}.",
                code="duplicate-column",
                column=column.name,
                source=made.source,
                drop=Argument("drop", [made.source]),
                remedy="Rename the column in the file, or leave one out with {drop}.",
            )
    sources = [column.source for column in columns if column.source is not None]
    if len(sources) > WIDEST:
        largest = max(dict.fromkeys(sources), key=sources.count)
        raise DataError(
            "Categories would become {count:,} one-hot columns, {share:,} of them from {column!r}: "
            "more than {most:,} are not held.",
            code="too-many-levels",
            count=len(sources),
            share=sources.count(largest),
            column=largest,
            most=WIDEST,
            groups=Phrase("its values to fit(..., groups=...)", f"--groups {shlex.quote(largest)}"),
            drop=Argument("drop", ...),
            indicators=Argument("indicators", ...),
            remedy=[
                "If {column!r} names units with several rows each, such as patients or cards, pass "
                "{groups}.",
                "Leave columns that tell nothing out with {drop}.",
                "Name the few that matter with {indicators}.",
            ],
        )


def _in_a_name(level: object) -> str:
    """Write 2.0 as 2: streamed text gives whole numbers as floats, and names must not tell."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


# --- how the caller wants the columns read --------------------------------------------------------

Walk = Callable[[Sequence[str]], Iterable[pa.Table]]


@dataclass
class Reading:
    """What `open_rows` was asked for."""

    label: Any = None
    meanings: dict[str, Any] = field(default_factory=dict)
    weight: Any = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    categories: tuple[str, ...] = ()
    missing: tuple[Any, ...] = ()
    infinite_is_missing: bool = False
    unknown: str = "error"
    max_levels: int | None = None
    indicators: bool | tuple[str, ...] = False
    like: Schema | None = None
    decimal: str = "."
    find: Locator | None = None
    padded: Mapping[str, str] = field(default_factory=dict)

    def schema_of(self, arrow: pa.Schema, tables: Walk) -> Schema:
        """Find the schema; `tables(columns)` walks the table from its beginning."""
        if self.like is not None:
            return self._schema_like(arrow, self.like)
        chosen = pick_columns(
            arrow.names, label=self.label, weight=self.weight, columns=self.columns, drop=self.drop
        )
        if self.label is not None:
            check_label_type(self.label, arrow.field(self.label).type)
        hot: tuple[str, ...] = () if isinstance(self.indicators, bool) else self.indicators
        for what, names in (("categories", self.categories), ("indicators", hot)):
            for name in names:
                refuse_absent(name, arrow.names, what)
        by_hand = {*self.categories, *hot}
        kinds = column_kinds({name: arrow.field(name).type for name in chosen}, by_hand)
        coded = [name for name, kind in kinds.items() if kind == "category"]
        one_hot = set(coded if self.indicators is True else hot)
        wanted = [*coded, *([self.label] if self.label is not None else [])]
        counts = distinct(tables(wanted), wanted) if wanted else {}
        books = self._code_books(coded, one_hot, by_hand, counts, tables)
        columns: list[Column] = []
        for name in chosen:
            if kinds[name] == "number":
                columns.append(Column(name))
                self._say_if_padded(name)
            elif name in one_hot:
                columns.extend(indicator_columns(name, books[name], counts[name]))
            else:
                columns.append(Column(name, "category", books[name]))
        refuse_crowds(columns)
        if not columns:
            raise DataError(
                "No feature column is left: {names} hold one level each, which tells no rows "
                "apart.",
                code="no-features",
                names=listed([repr(name) for name in chosen], most=8),
                remedy="Keep a column that differs between rows.",
            )
        meaning: tuple[Any, ...] = ((), (), ())
        if self.label is not None:
            meaning = read_labels(self.label, counts[self.label], **self.meanings)
        return Schema(
            tuple(columns),
            label=self.label,
            weight=self.weight,
            classes=meaning[0],
            coded_as=meaning[1],
            unlabelled=meaning[2],
            missing=self.missing,
            infinite_is_missing=self.infinite_is_missing,
            unknown=self.unknown,
        )

    def _code_books(
        self,
        coded: Sequence[str],
        one_hot: Collection[str],
        by_hand: Collection[str],
        counts: Mapping[str, Counter[Any]],
        tables: Walk,
    ) -> dict[str, tuple[Any, ...]]:
        """Return the sorted levels of each category."""
        books, most, rows = {}, {}, {}
        for name in coded:
            levels = [level for level in counts[name] if level not in ("", *self.missing)]
            if name not in by_hand:
                seen = {level: counts[name][level] for level in levels}
                refuse_mixed(name, seen, _row_finder(name, tables), self.decimal, self.find)
            usual = MOST_INDICATORS if name in one_hot else MOST_LEVELS
            most[name] = usual if self.max_levels is None else self.max_levels
            rows[name] = sum(counts[name][level] for level in levels)
            books[name] = tuple(sorted(level for level in levels if level is not None))
        refuse_many_levels(books, most, one_hot, rows)
        return books

    def needed(self, names: Iterable[str]) -> set[str]:
        """Return the columns of a table that are read."""
        named = self.columns if self.like is None else self.like.sources
        apart = {one for one in (self.label, self.weight) if isinstance(one, str)}
        return ({*(names if named is None else named)} - {*(self.drop or ())}) | apart

    def _say_if_padded(self, name: str) -> None:
        """Warn that a column of codes, such as 00501, is read as numbers."""
        if name in self.padded:
            warn_user(
                "Column {column!r} holds values such as {value!r}, with leading zeros, and is read "
                "as numbers ({number:g}).",
                code="leading-zeros",
                column=name,
                value=self.padded[name],
                number=float(self.padded[name]),
                categories=Argument("categories", [name]),
                drop=Argument("drop", [name]),
                remedy="If they are codes, pass {categories}, or leave them out with {drop}.",
            )

    def _schema_like(self, arrow: pa.Schema, like: Schema) -> Schema:
        pick_columns(arrow.names, label=None, weight=None, columns=like.sources, drop=None)
        column_kinds({name: arrow.field(name).type for name in like.sources})
        label = self.label if self.label is not None else like.label
        return replace(
            like,
            label=label if label in arrow.names else None,
            weight=self.weight,
            missing=(*like.missing, *self.missing),
            unknown=self.unknown,
            infinite_is_missing=self.infinite_is_missing or like.infinite_is_missing,
        )


def distinct(tables: Iterable[pa.Table], names: Sequence[str]) -> dict[str, Counter[Any]]:
    """Return how often each value of some columns occurs over all parts of a table.

    Examples
    --------
    >>> distinct([pa.table({"a": ["x", None, "x"]}), pa.table({"a": ["y"]})], ["a"])
    {'a': Counter({'x': 2, 'y': 1})}
    """
    found: dict[str, Counter[Any]] = {name: Counter() for name in names}
    for table in tables:
        for name in names:
            for held in pc.value_counts(plain(table.column(name), name)).to_pylist():
                value = held["values"]
                if value is not None and value == value:
                    found[name][value] += held["counts"]
    return found


def _row_finder(name: str, tables: Walk) -> Callable[[Any], int]:
    def find(value: object) -> int:
        start = 0
        for table in tables([name]):
            place = pc.index(plain(table.column(name), name), value).as_py()
            if place >= 0:
                return start + int(place)
            start += table.num_rows
        return start

    return find
