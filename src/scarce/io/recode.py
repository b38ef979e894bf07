"""Rows read as a model reads them: columns found by name, levels of categories by their values.

    code in these rows -> level -> code in the rows that the model was fitted on

Rows that were opened on their own have their own code books: 0 may be Bonn here and Aachen there.
A model that reads codes must not take one for the other. What has another kind, or is not there, is
refused with the way to open the rows; an unknown level is refused or missing, as the rows ask for.
Does not read sources: `open_rows(..., like=schema)` reads them with the model's code books at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scarce.engine.block import Array, Block
from scarce.engine.rows import Rows, Ticket
from scarce.errors import DataError, suggest
from scarce.io.labels import brief, is_number
from scarce.io.schema import Column, Schema, refuse_level

REMEDY = "Open the rows with open_rows(..., like=Schema.from_dict(model.schema_))."
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
            raise DataError(
                f"Column {self.name!r} holds the number {values[0]:g} at row {row:,}, but the "
                "model was fitted on a category with levels such as "
                f"{brief(self.levels[0])}. {REMEDY}"
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
        raise _absent(column.name, given)
    if here.kind != "category":
        return None
    if not all(isinstance(level, (int, float)) for level in here.levels):
        word = next(level for level in here.levels if not isinstance(level, (int, float)))
        raise DataError(
            f"Column {column.name!r} is a category here, with levels such as {brief(word)}, and a "
            "number in the rows that the model was fitted on. Mend the column, or name what means "
            f"missing in it with open_rows(..., missing=[{brief(word)}])."
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
        raise _absent(name, given)
    code = {level: float(at) for at, level in enumerate(levels)}
    code |= {value: np.nan for value in like.missing if value not in code}
    codes = np.array([code.get(level, UNKNOWN) for level in held])
    return _Book(name, kind, places, tuple(held), codes, levels)


def _absent(name: str, given: Schema) -> DataError:
    names: Sequence[str] = given.sources
    listed = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    return DataError(
        f"These rows have no column {name!r}, which the model was fitted on.{suggest(name, names)} "
        f"They have {listed}. {REMEDY}"
    )
