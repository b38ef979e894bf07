"""How the caller wants the columns read, and what the data say to that: the schema.

Only the label and the category columns are walked, once, to fix classes and code books for the
whole data set. Does not decode features: see schema.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scarce.rows.labels import read_labels
from scarce.rows.schema import (
    Column,
    Schema,
    check_label_type,
    code_book,
    column_kind,
    pick_columns,
    plain,
    refuse_mixed,
)

Walk = Callable[[Sequence[str]], Iterable[pa.Table]]


@dataclass
class Reading:
    """What `open_rows` was asked for."""

    label: Any
    meanings: dict[str, Any]
    weight: Any
    columns: Sequence[str] | None
    drop: Sequence[str] | None
    categories: tuple[str, ...]
    missing: tuple[Any, ...]
    infinite_is_missing: bool
    unknown: str
    max_levels: int
    like: Schema | None
    look_at_levels: Callable[[Sequence[Any], str], None] = lambda levels, name: None

    def schema_of(self, arrow: pa.Schema, tables: Walk) -> Schema:
        """Find the schema; `tables(columns)` walks the table from its beginning."""
        if self.like is not None:
            return self._schema_like(arrow, self.like)
        chosen = pick_columns(
            arrow.names, label=self.label, weight=self.weight, columns=self.columns, drop=self.drop
        )
        if self.label is not None:
            check_label_type(self.label, arrow.field(self.label).type)
        for name in self.categories:
            if name not in chosen:
                pick_columns(arrow.names, label=name, weight=None, columns=None, drop=None)
        kinds = {
            name: column_kind(name, arrow.field(name).type, as_category=name in self.categories)
            for name in chosen
        }
        coded = [name for name, kind in kinds.items() if kind == "category"]
        wanted = [*coded, *([self.label] if self.label is not None else [])]
        values = distinct(tables(wanted), wanted) if wanted else {}
        books = {}
        for name in coded:
            levels = [level for level in values[name] if level not in self.missing]
            self.look_at_levels(levels, name)
            if name not in self.categories:
                refuse_mixed(name, levels, _row_finder(name, tables))
            books[name] = code_book(name, levels, self.max_levels)
        meaning: tuple[Any, ...] = ((), (), ())
        if self.label is not None:
            meaning = read_labels(self.label, values[self.label], **self.meanings)
        return Schema(
            tuple(Column(name, kinds[name], books.get(name, ())) for name in chosen),
            label=self.label,
            weight=self.weight,
            classes=meaning[0],
            coded_as=meaning[1],
            unlabelled=meaning[2],
            missing=self.missing,
            infinite_is_missing=self.infinite_is_missing,
            unknown=self.unknown,
        )

    def _schema_like(self, arrow: pa.Schema, like: Schema) -> Schema:
        pick_columns(arrow.names, label=None, weight=None, columns=like.names, drop=None)
        for name in like.names:
            column_kind(name, arrow.field(name).type, as_category=False)
        label = self.label if self.label is not None else like.label
        return replace(
            like,
            label=label if label in arrow.names else None,
            weight=self.weight,
            missing=(*like.missing, *self.missing),
            unknown=self.unknown,
            infinite_is_missing=self.infinite_is_missing or like.infinite_is_missing,
        )


def distinct(tables: Iterable[pa.Table], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the different values of some columns over all parts of a table."""
    found: dict[str, set[Any]] = {name: set() for name in names}
    for table in tables:
        for name in names:
            found[name].update(pc.unique(plain(table.column(name))).to_pylist())
    return {
        name: [value for value in values if value is not None] for name, values in found.items()
    }


def _row_finder(name: str, tables: Walk) -> Callable[[Any], int]:
    def find(value: Any) -> int:
        start = 0
        for table in tables([name]):
            place = pc.index(plain(table.column(name)), value).as_py()
            if place >= 0:
                return start + int(place)
            start += table.num_rows
        return start

    return find
