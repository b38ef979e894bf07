"""How does text become a Parquet or Arrow file without losing what was written?

A column of text gets the type that its beginning looks like, but only if every value can be read
back as it was: an identifier 007 stays text, because the number 7 is another one. The first part of
a table settles it; a later value that does not fit is refused, never changed. Text that is written
as text is not touched at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.prob_columns import number_values
from scarce.errors import DataError

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

Shape = Callable[[Any], Any]
LEADING_ZERO = r"^\s*[+-]?0[0-9]"


def as_written(
    source: TableSource, out: Path | None, to: str | None, form: TextForm, numbers: Collection[str]
) -> Shape:
    """Return what to do with each part, in order, before it is written.

    Parameters
    ----------
    source : TableSource
        Walked with exact=True.
    out, to : path and format of the output
    form : TextForm
    numbers : collection of str
        Columns that were computed with: numbers, whatever their beginning looks like.
    """
    from scarce.io.sink import sink_format
    from scarce.io.source import TEXT

    if sink_format(out, to)[0] in TEXT or not source.is_text:
        return lambda part: part
    return _Typing(source, form, frozenset(numbers))


class _Typing:
    """Gives the text columns of parts their types, the same for every part."""

    def __init__(self, source: TableSource, form: TextForm, numbers: frozenset[str]) -> None:
        import pyarrow as pa

        self._where = source.where
        self._form = form
        self._kinds: dict[str, Any] = dict(source.types) | dict.fromkeys(numbers, pa.float64())
        self._numbers = numbers
        self._text: set[str] = set()
        self._rows = 0

    def __call__(self, part: Any) -> Any:
        import pyarrow as pa

        for place, name in enumerate(part.column_names):
            kind = self._kinds.get(name)
            if kind is None or not pa.types.is_string(part.schema.types[place]):
                continue  # a column that was added, or is a number already
            typed = None if name in self._text else self._typed(part.column(name), name, kind)
            if typed is None and self._rows == 0:
                self._text.add(name)
            if name in self._text:
                typed = _empty_out(part.column(name))
            if typed is None:
                raise DataError(
                    f"{self._where}, column {name!r}: its first {self._rows:,} rows hold values of "
                    "one type, and a later one does not fit or would lose its spelling, such as "
                    "the zeros of 007. Write text, which keeps it: --to csv"
                )
            part = part.set_column(place, name, typed)
        self._rows += part.num_rows
        return part

    def _typed(self, values: Any, name: str, kind: Any) -> Any:
        """The column with its type, or None where something would be lost."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_string(kind) or pa.types.is_null(kind):
            return _empty_out(values)
        bare = pc.utf8_trim_whitespace(self._blanks_out(values))
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        zeros = number and name not in self._numbers
        if zeros and pc.any(pc.match_substring_regex(bare, LEADING_ZERO)).as_py():
            return None
        try:
            if pa.types.is_floating(kind):
                table = pa.table({name: bare})
                held = number_values(
                    table, name, where=self._where, form=self._form, start=self._rows
                )
                return pa.chunked_array([pa.array(held, from_pandas=True)])
            return bare.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, DataError):
            return None

    def _blanks_out(self, values: Any) -> Any:
        """Text that spells numbers or the like, with null where it spells nothing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        words = pa.array(self._form.nothing, pa.string())
        lost = pc.is_in(pc.utf8_trim_whitespace(values), value_set=words)
        return pc.if_else(lost, pa.scalar(None, pa.string()), values)


def _empty_out(values: Any) -> Any:
    """Words as they are, NA too, which may be Namibia; an empty cell is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
