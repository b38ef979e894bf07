"""Columns of a table: which are probabilities, of which class, and how text keeps its type.

One column is the probability of the event; several are known by their names: `prob_legit` is of the
class legit. Values are read from the text as written, so that a table can be passed on unchanged.
When text becomes Parquet or Arrow, a column gets a type only if every value can be read back as it
was: an identifier 007 stays text. The first part of a table decides; a later value that does not
fit is refused, never changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.errors import Argument, DataError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

OLD = "before_"  # begins the name of a column of probabilities as they were before a correction
USUAL = "prob"  # what `scarce predict` calls its column, or the beginning of its columns
LONGEST = 40  # characters of a cell in a message
SUM_TOLERANCE = 1e-4  # as in decisions/decide.py
Shape = Callable[[Any], Any]
LEADING_ZERO = r"^\s*[+-]?0[0-9]"


@dataclass(frozen=True)
class ProbColumns:
    """Columns that hold probabilities.

    Parameters
    ----------
    columns : tuple of str
        One, the probability of the event; or one per class.
    classes : tuple of str
        What the names of several columns say of their classes; empty for one column.
    in_order : bool
        Whether the user listed them one by one, so that their order may be meant.
    """

    columns: tuple[str, ...]
    classes: tuple[str, ...] = ()
    in_order: bool = False


def table_or_stdin(table: Path | None, verb: str) -> Path | str:
    """Return the table that was named, or standard input where something can come from it."""
    if table is not None:
        return table
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "There is nothing to read.",
            code="no-input",
            verb=verb,
            remedy=(
                "Name a table, such as `scarce {verb} p.csv`, or pipe rows into it: scarce "
                "predict m.scarce new.parquet | scarce {verb}"
            ),
        )
    return "-"


def find_prob(source: TableSource, typed: Sequence[str]) -> ProbColumns:
    """Return the columns of probabilities: those named, or those that bear the usual name."""
    patterned = [text for text in typed if "*" in text and text not in source.names]
    if patterned and len(typed) > 1:
        raise UsageError(
            "--prob {pattern!r} already matches several columns.",
            code="argument-conflict",
            pattern=patterned[0],
            remedy="Give no other --prob.",
        )
    if patterned or not typed:
        if not typed and USUAL in source.names:
            return ProbColumns((USUAL,))
        pattern = patterned[0] if patterned else f"{USUAL}_*"
        return _matching(source, pattern, usual=not typed)
    columns = tuple(source.column(text, option="--prob") for text in typed)
    for name in columns:
        if columns.count(name) > 1:
            raise UsageError(
                "--prob {column} is given twice.",
                code="same-column",
                column=name,
                remedy="Give a column for each class.",
            )
    if len(columns) == 1:
        return ProbColumns(columns)
    usual = all(name.startswith(f"{USUAL}_") and name != f"{USUAL}_" for name in columns)
    classes = tuple(name.removeprefix(f"{USUAL}_") for name in columns) if usual else columns
    return ProbColumns(columns, classes, in_order=True)


def _matching(source: TableSource, pattern: str, *, usual: bool) -> ProbColumns:
    head, _, tail = pattern.partition("*")
    size = len(head) + len(tail)
    hits = [n for n in source.names if len(n) > size and n.startswith(head) and n.endswith(tail)]
    if len(hits) > 1:
        classes = tuple(name[len(head) : len(name) - len(tail)] for name in hits)
        return ProbColumns(tuple(hits), classes)
    if usual:
        source.column(USUAL, option="--prob")  # says that there is none, and what there is
    seen = f"only {hits[0]!r} does" if hits else "none does"
    raise DataError(
        "{table}: --prob {pattern!r} must match a column per class, and {seen}. The columns are: "
        "{columns}.",
        code="unknown-column",
        table=source.where,
        pattern=pattern,
        seen=seen,
        columns=", ".join(source.names[:12]),
    )


def number_values(part: pa.Table, name: str, *, where: str, form: TextForm, start: int) -> Any:
    """Return a column of a part of a table as float64, NaN where missing, whatever spells it.

    Parameters
    ----------
    part : pyarrow.Table
        Its text is as written: decimal commas and words for missing values are not read yet.
    name : str
    where : str
        The table, for messages.
    form : TextForm
    start : int
        Number of the part's first row, for messages.
    """
    from scarce.io.values import number_column

    return number_column(part, name, where=where, start=start, form=form)


def before_name(column: str) -> str:
    """Return the name of the column that keeps probabilities as they were before a correction."""
    return f"{OLD}{column}"


def prob_values(
    part: pa.Table,
    prob: ProbColumns,
    *,
    form: TextForm,
    start: int,
    where: str = "",
    source: TableSource | None = None,
) -> Any:
    """Return probabilities, (n,) of one column or (n, n_classes) of several, or refuse them.

    Parameters
    ----------
    part, form, start
        As for `number_values`.
    prob : ProbColumns
    where : str
        The table, for messages, where there is no `source`.
    source : TableSource, optional
        The table itself, in which the line of a bad cell can be found.
    """
    import numpy as np

    where = where if source is None else source.where

    def at(row: int) -> str:
        row += start
        return f" at row {row:,}" if source is None else source.find.place(row)

    held = []
    for name in prob.columns:
        if source is None:
            values = number_values(part, name, where=where, form=form, start=start)
        else:
            values = source.numbers(part, name, start)
        bad = ~((values >= 0.0) & (values <= 1.0))  # NaN too
        if bad.any():
            row = int(bad.argmax())
            raise _strange(values, row, f"{where}, column {name!r}", at(row))
        held.append(values)
    if len(held) == 1:
        return held[0]
    table = np.column_stack(held)
    total = table.sum(axis=1)
    off = np.abs(total - 1.0) > SUM_TOLERANCE
    if off.any():
        row = int(off.argmax())
        raise DataError(
            "{where}, columns {columns}: the probabilities of a row must sum to 1, got "
            "{total:.4g}{at}.",
            code="prob-sum",
            where=where,
            columns=", ".join(prob.columns),
            total=total[row],
            at=at(row),
            remedy="Name a column for every class with --prob.",
        )
    return table


def _strange(values: pa.ChunkedArray, row: int, column: str, at: str) -> DataError:
    value = values[row]
    if value != value:
        return DataError(
            "{column}: the probability{at} is missing ({count:,} of the {rows:,} rows around it).",
            code="missing-probability",
            column=column,
            at=at,
            count=int((values != values).sum()),
            rows=len(values),
            remedy="Leave such rows out, or predict them again.",
        )
    hint = "If these are scores, turn them into probabilities with a model first: scarce predict."
    if 1.0 < value <= 100.0:
        hint = "If these are percentages, divide them by 100 first."
    return DataError(
        "{column}: probabilities must be between 0 and 1, got {value:g}{at}.",
        code="prob-range",
        column=column,
        value=value,
        at=at,
        hint=hint,
        remedy="{hint}",
    )


def refuse_taken(source: TableSource, names: Sequence[str], option: str) -> None:
    """Refuse to write a column under a name that the table has already."""
    for name in names:
        if name in source.names:
            raise DataError(
                "{table} already has a column {column!r}.",
                code="column-exists",
                table=source.where,
                column=name,
                option=option,
                remedy="Give the new columns another name: {option} NAME",
            )


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

    def __call__(self, part: pa.Table) -> Any:
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
                    "{table}, column {column!r}: a value after the first {rows:,} rows does not "
                    "fit the type of the others, or would lose its spelling, such as the zeros "
                    "of 007.",
                    code="type-changed",
                    table=self._where,
                    column=name,
                    rows=self._rows,
                    remedy="Write text, which keeps it: --to csv",
                )
            part = part.set_column(place, name, typed)
        self._rows += part.num_rows
        return part

    def _typed(self, values: pa.ChunkedArray, name: str, kind: Any) -> Any:
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

    def _blanks_out(self, values: pa.ChunkedArray) -> Any:
        """Text that spells numbers or the like, with null where it spells nothing."""
        from scarce.io.values import without_blanks

        return without_blanks(values, self._form, trim=True)


def _empty_out(values: pa.ChunkedArray) -> Any:
    """Words as they are, NA too, which may be Namibia; an empty cell is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)


def with_label_remedy(parts: Iterator[Any], label: str) -> Iterator[Any]:
    """Walk parts of a table; words among labels that were numbers so far need another remedy."""
    try:
        yield from parts
    except DataError as error:
        fields = error.fields
        word = error.code == "not-a-number" and fields.get("written") == "word"
        if not word or fields["column"] != label:
            raise
        value = fields["value"]
        raise error.amended(
            positive=Argument("positive"),
            unlabelled=Argument("unlabelled", value if len(value) <= LONGEST else ...),
            remedy="If labels are words, name the event with {positive}; if it means not labelled, "
            "pass {unlabelled}.",
        ) from None


def refuse_unscored(
    source: TableSource, values: pa.ChunkedArray, name: str, form: TextForm, start: int = 0
) -> None:
    """Refuse a score that is missing or infinite: such a row has no rank."""
    import numpy as np

    from scarce.io.locate import cell_error, located

    bad = np.flatnonzero(~np.isfinite(np.asarray(values, dtype=np.float64)))
    if len(bad):
        value = float(values[bad[0]])
        with located(source.find):
            raise cell_error(
                "{place}: the score is {seen}, so the row cannot be ranked.",
                code="missing-score",
                column=name,
                row=start + int(bad[0]),
                value=value,
                seen="missing" if np.isnan(value) else f"{value:g}",
                remedy="Give it a score, or leave the row out.",
            )


def refuse_nested(source: TableSource, columns: Mapping[str, str | None]) -> None:
    """Refuse columns whose cells are lists or records: each must hold one value a row."""
    import pyarrow as pa

    for flag, name in columns.items():
        if name is not None and name in source.types and pa.types.is_nested(source.types[name]):
            held = str(source.types[name])
            raise DataError(
                "{table}, column {column!r}: each cell holds several values ({held}), and "
                "{option} needs one.",
                code="nested-column",
                table=source.where,
                column=name,
                held=held if len(held) <= LONGEST else f"{held[:LONGEST]} ...",
                option=flag,
                remedy="Name another column, or extract the value first.",
            )


def shown(value: Any) -> str:
    """Return a value as a message shows it: numbers plain, text in quotes, long text cut."""
    if isinstance(value, float):
        return f"{value:g}"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
