"""What is in the columns of a table, and what is missing? One walk, in constant memory.

Counts holes (empty, NA, NaN) in every column, and for numbers the least, the mean and the greatest
value and the standard deviation. Does not judge them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any


def summarise(path: Path, form: Any, progress: Any = None) -> list[dict[str, Any]]:
    """Return for each column: name, rows, missing; low, mean, high and spread (None for words).

    Parameters
    ----------
    path : Path
        The table.
    form : TextForm
        How text is written.
    progress : callable (done, total), optional
    """
    from scarce import DataError
    from scarce.io.source import open_table

    source = open_table(path, form)
    try:
        return _walk(source, source.tables(progress=progress))
    except DataError:  # a column is not what its beginning looks like: read words, then numbers
        numbers = source.tables(exact=True, progress=progress)
        return _walk(source, (_spelt(part, form) for part in numbers))


def _walk(source: Any, parts: Any) -> list[dict[str, Any]]:
    found = {name: _Column(name) for name in source.names}
    for part in parts:
        for name, column in found.items():
            column.add(part.column(name))
    return [column.told() for column in found.values()]


def _spelt(table: Any, form: Any) -> Any:
    """Text columns as numbers where all of this part spells numbers; words for missing are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = list(form.nothing)
    for place, name in enumerate(table.column_names):
        values = table.column(name)
        if not pa.types.is_string(values.type):
            continue
        bare = pc.utf8_trim_whitespace(values)
        lost = pc.is_in(bare, value_set=pa.array(nothing, bare.type))
        bare = pc.if_else(lost, pa.scalar(None, bare.type), bare)
        if form.decimal != ".":
            bare = pc.replace_substring(bare, form.decimal, ".")
        try:
            values = bare.cast(pa.float64())
        except pa.ArrowInvalid:
            values = bare
        table = table.set_column(place, name, values)
    return table


class _Column:
    """Running counts of one column."""

    def __init__(self, name: str) -> None:
        self.name, self.rows, self.missing = name, 0, 0
        self.low, self.high = math.inf, -math.inf
        self.count, self.mean, self.squares = 0, 0.0, 0.0  # squares: around the mean
        self.numbers = True

    def add(self, values: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.rows += len(values)
        self.missing += values.null_count
        kind = values.type
        if pa.types.is_null(kind):
            return
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            self.missing += pc.sum(pc.equal(values, "")).as_py() or 0
        whole = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (whole or pa.types.is_decimal(kind)):
            self.numbers = False
            return
        numbers = values.cast(pa.float64(), safe=False).drop_null()
        lost = pc.is_nan(numbers)
        count = pc.sum(lost).as_py() or 0
        self.missing += count
        if count:
            numbers = numbers.filter(pc.invert(lost))
        count = len(numbers)
        if not count:
            return
        ends = pc.min_max(numbers).as_py()
        self.low, self.high = min(self.low, ends["min"]), max(self.high, ends["max"])
        mean, squares = pc.mean(numbers).as_py(), count * pc.variance(numbers).as_py()
        both, gap = self.count + count, mean - self.mean
        self.squares += squares + gap * gap * self.count * count / both  # merged as in rows.fold
        self.mean += gap * count / both
        self.count = both

    def told(self) -> dict[str, Any]:
        known = self.numbers and self.count > 0
        return {
            "name": self.name,
            "rows": self.rows,
            "missing": self.missing,
            "low": float(self.low) if known else None,
            "mean": self.mean if known else None,
            "high": float(self.high) if known else None,
            "spread": math.sqrt(self.squares / self.count) if known else None,
        }
