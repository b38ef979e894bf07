"""How the caller wants the columns read, and what the data say to that: the schema.

Only the label and the category columns are walked, once, to fix classes and code books for the
whole data set. Does not decode features: see schema.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scarce.errors import DataError, warn_user
from scarce.io.labels import read_labels
from scarce.io.levels import (
    MOST_INDICATORS,
    indicator_columns,
    refuse_crowds,
    refuse_mixed,
)
from scarce.io.schema import (
    MOST_LEVELS,
    Column,
    Schema,
    check_label_type,
    code_book,
    column_kind,
    pick_columns,
    refuse_absent,
)
from scarce.io.values import plain

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
    max_levels: int | None
    indicators: bool | tuple[str, ...]
    like: Schema | None
    decimal: str = "."
    look_at_levels: Callable[[Sequence[Any], str], None] = lambda levels, name: None
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
        listed: tuple[str, ...] = () if isinstance(self.indicators, bool) else self.indicators
        for what, names in (("categories", self.categories), ("indicators", listed)):
            for name in names:
                refuse_absent(name, arrow.names, what)
        by_hand = {*self.categories, *listed}
        kinds = {
            name: column_kind(name, arrow.field(name).type, as_category=name in by_hand)
            for name in chosen
        }
        coded = [name for name, kind in kinds.items() if kind == "category"]
        spread = set(coded if self.indicators is True else listed)
        wanted = [*coded, *([self.label] if self.label is not None else [])]
        counts = distinct(tables(wanted), wanted) if wanted else {}
        columns: list[Column] = []
        for name in chosen:
            if kinds[name] == "number":
                columns.append(Column(name))
                self._say_if_padded(name)
                continue
            levels = [level for level in counts[name] if level not in ("", *self.missing)]
            self.look_at_levels(levels, name)
            if name not in by_hand:
                seen = {level: counts[name][level] for level in levels}
                refuse_mixed(name, seen, _row_finder(name, tables), self.decimal)
            most = MOST_INDICATORS if name in spread else MOST_LEVELS
            most = most if self.max_levels is None else self.max_levels
            book = code_book(name, levels, most, indicators=name in spread)
            if name in spread:
                columns.extend(indicator_columns(name, book, counts[name]))
            else:
                columns.append(Column(name, "category", book))
        refuse_crowds(columns)
        if not columns:
            raise DataError(
                f"No feature column is left: {', '.join(map(repr, chosen[:8]))} hold one level "
                "each, which tells no rows apart. Keep a column that differs between rows."
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

    def _say_if_padded(self, name: str) -> None:
        """Warn that a column of codes, such as 00501, is read as numbers."""
        if name in self.padded:
            code = self.padded[name]
            warn_user(
                f"Column {name!r} holds values such as {code!r}, with leading zeros, and is read "
                f"as numbers ({float(code):g}). If they are codes, pass categories=[{name!r}], or "
                f"leave them out with drop=[{name!r}]."
            )

    def _schema_like(self, arrow: pa.Schema, like: Schema) -> Schema:
        pick_columns(arrow.names, label=None, weight=None, columns=like.sources, drop=None)
        for name in like.sources:
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
    def find(value: Any) -> int:
        start = 0
        for table in tables([name]):
            place = pc.index(plain(table.column(name), name), value).as_py()
            if place >= 0:
                return start + int(place)
            start += table.num_rows
        return start

    return find
