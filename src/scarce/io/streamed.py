"""Rows that pass by once: how is a text of any length, or a pipe, folded without keeping it?

    parts of a table -> even blocks, as the same table in memory would have -> fold, in order

`open_rows` parses large text into a cache first, because a fit passes over its rows many times. An
estimate needs one pass, and then parsing is the work: here each part is parsed, put into its block
and forgotten. One block is held, and blocks are those of the table in memory, so results have the
same bits. Assumes labels of 0, 1 and nothing, or named ones; where the beginning leaves it open
what other labels mean, they are walked through first. Reads no files itself: give it the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scarce.engine.block import Array, Block, block_rows
from scarce.engine.executors import Engine, executor_for, in_order
from scarce.engine.rows import Kernel, Merge, Rows, Ticket, add
from scarce.errors import DataError, UsageError
from scarce.io.labels import read_labels
from scarce.io.open import open_rows
from scarce.io.reading import distinct
from scarce.io.schema import Column, Schema, check_label_type, column_kind

HELD_ROWS = 262_144  # up to here a table is held: estimates keep as many rows one by one
MOST_WORDS = 1000

Parts = Iterable[pa.Table]


def streamed_rows(
    parts: Parts | Callable[[], Parts],
    *,
    columns: Sequence[str],
    label: str | None = None,
    positive: Any = None,
    negative: Any = None,
    unlabelled: Any = None,
    classes: Sequence[Any] | None = None,
    categories: Sequence[str] = (),
    held_rows: int = HELD_ROWS,
    fingerprint: str = "",
    where: str = "The table",
) -> Rows:
    """Open the parts of a table as rows that are folded while they pass by.

    Parameters
    ----------
    parts : iterable of pyarrow.Table, or callable that returns one
        The table, cut anywhere. A callable can be asked again, so that the rows can be walked
        again; an iterable, such as a pipe, is walked once.
    columns : sequence of str
        The features, in order.
    label : str, optional
        The column with labels; missing values mean *not labelled*.
    positive, negative, unlabelled : value or list of values, optional
    classes : sequence, optional
        What the label values mean, as for `open_rows`.
    categories : sequence of str
        Columns of words. Their code books need a walk of their own: a table that can be walked
        once is then held in memory.
    held_rows : int
        A table of at most so many rows is held in memory, as `open_rows` does.
    fingerprint : str
        Names the data.
    where : str
        The table's name in messages.

    Returns
    -------
    Rows
        `StreamedRows`, or rows in memory where there are few.

    Raises
    ------
    DataError
        What was seen, in which column and row, and which argument settles it.

    Notes
    -----
    Labels of 0, 1 and nothing are taken as they come; another value is refused at its row. Other
    labels are settled by `positive` and `negative` together, or else by a walk over the column.

    Examples
    --------
    >>> table = pa.table({"score": [0.3, 2.9, 1.1], "label": [None, 1, None]})
    >>> rows = streamed_rows([table, table], columns=["score"], label="label", held_rows=2)
    >>> rows.fold(lambda block, _: float(block.X.sum()))
    8.6
    >>> len(rows), rows.classes
    (6, (0, 1))
    """
    again = parts if callable(parts) else None
    walk = iter(again() if again is not None else parts)  # type: ignore[arg-type]
    asked = {"positive": positive, "negative": negative, "unlabelled": unlabelled}
    asked["classes"] = classes
    wanted = [*columns, *([label] if label is not None else [])]
    held, ended = _first_parts(walk, wanted, held_rows if again or not categories else None)
    n_held = sum(part.num_rows for part in held)
    if n_held == 0:
        raise DataError(f"{where} has no rows: there is nothing to count. Check where it was made.")
    if ended:
        table = pa.concat_tables(held, promote_options="permissive")
        if label is not None and _plain((), asked) and not distinct([table], [label])[label]:
            asked["classes"] = (0, 1)  # not one label yet: as in a long table, that is no fault
        return open_rows(
            table, label=label, columns=list(columns), categories=list(categories), **asked
        )
    again_wanted = None if again is None else (lambda: _selected(again(), wanted))
    first = held[0].schema
    meaning: tuple[Any, ...] = ((), (), ())
    if label is not None:
        check_label_type(label, first.field(label).type)
        meaning = _meaning(label, held, again_wanted, asked)
    books: dict[str, tuple[Any, ...]] = {}
    if categories and again_wanted is not None:
        values = distinct(again_wanted(), categories)
        books = {name: _book(name, values[name]) for name in categories}
    schema = Schema(
        tuple(
            Column(name, "category", books[name])
            if name in books
            else Column(name, column_kind(name, first.field(name).type, as_category=False))
            for name in columns
        ),
        label=label,
        classes=meaning[0],
        coded_as=meaning[1],
        unlabelled=meaning[2],
    )
    words = [one.name for one in schema.columns if one.kind == "category" and not one.levels]
    if words:
        raise DataError(
            f"Column {words[0]!r} of {where} holds words, and numbers are needed. Name a column of "
            "numbers, or pass the words that mean missing with missing=[...]."
        )
    return StreamedRows(schema, held, _selected(walk, wanted), again_wanted, fingerprint)


class StreamedRows(Rows):
    """Rows of a table that is walked from its beginning, one block in memory at a time.

    `len` and `starts` tell what has been walked; both are exact after one whole fold or map. Blocks
    run in the thread that reads: reading is what takes the time.

    Parameters
    ----------
    schema : Schema
    held : sequence of pyarrow.Table
        The parts that were read to know the schema.
    rest : iterator of pyarrow.Table
        The parts after those.
    again : callable, optional
        Walks all parts from the beginning.
    fingerprint : str
    """

    def __init__(
        self,
        schema: Schema,
        held: Sequence[pa.Table],
        rest: Iterator[pa.Table],
        again: Callable[[], Parts] | None = None,
        fingerprint: str = "",
    ) -> None:
        self.schema = schema
        self._begun: Iterator[pa.Table] | None = chain(_given_up(list(held)), rest)
        self._again = again
        self._fingerprint = fingerprint or "a stream"
        self.starts = (0, sum(part.num_rows for part in held))

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""
        return self._fingerprint

    def ticket(self, index: int) -> Ticket:
        """Refuse: a stream cannot be entered in the middle."""
        raise UsageError(
            f"Block {index} was asked for by its number, and these rows pass by once from their "
            "beginning: use fold or map, or open a file with open_rows."
        )

    def blocks(self) -> Iterator[Block]:
        """Walk the blocks in order; the memory of a block is that of the one before."""
        parts = self._begun
        self._begun = None
        if parts is None:
            if self._again is None:
                raise UsageError(
                    "These rows came through a pipe and have passed by: they cannot be walked "
                    "again. Write them to a file and open that."
                )
            parts = iter(self._again())
        starts = [0]
        for block in even_blocks(parts, self.schema):
            starts.append(block.start + len(block))
            if starts[-1] > self.starts[-1]:
                self.starts = tuple(starts)
            yield block
        self.starts = tuple(starts)

    def each(self, kernel: Kernel, params: Any = None, *, engine: Engine = None) -> Iterator[Any]:
        """Yield the kernel's result of each block, in block order."""
        executor_for(engine)  # a word that is no engine is refused all the same
        tasks = ((block, kernel, params) for block in self.blocks())
        return in_order(_run, tasks, name=lambda number: f"block {number + 1} of a stream")

    def fold(
        self,
        kernel: Kernel,
        params: Any = None,
        *,
        merge: Merge | None = None,
        engine: Engine = None,
    ) -> Any:
        """Reduce all rows to one small result, in one walk."""
        merging: Merge = getattr(kernel, "merge", add) if merge is None else merge
        results = self.each(kernel, params, engine=engine)
        total = next(results)
        for result in results:
            total = merging(total, result)
        return total

    def map(self, kernel: Kernel, params: Any = None, *, engine: Engine = None) -> NDArray[Any]:
        """Return one result per row, in row order: these are held, the rows are not."""
        return np.concatenate(list(self.each(kernel, params, engine=engine)))


def even_blocks(parts: Parts, schema: Schema) -> Iterator[Block]:
    """Put the parts of a table into blocks of even size, one after the other in the same memory.

    Examples
    --------
    >>> parts = [pa.table({"age": [44, None]}), pa.table({"age": [31]})]
    >>> [block.X.tolist() for block in even_blocks(parts, Schema((Column("age"),)))]
    [[[44.0], [nan], [31.0]]]
    """
    size = block_rows(len(schema.columns))
    X = np.empty((size, len(schema.columns)))
    y = None if schema.label is None else np.empty(size)
    start = filled = index = 0
    for part in parts:
        at = 0
        while at < part.num_rows:
            taken = min(size - filled, part.num_rows - at)
            place = slice(filled, filled + taken)
            found, labels, _ = schema.code(part.slice(at, taken), start + filled)
            X[place] = found
            if y is not None and labels is not None:
                y[place] = labels
            filled, at = filled + taken, at + taken
            if filled == size:
                yield _block(X, y, filled, start, index)
                start, index, filled = start + size, index + 1, 0
    if filled:
        yield _block(X, y, filled, start, index)


def _block(X: Array, y: Array | None, rows: int, start: int, index: int) -> Block:
    # Views, even of the whole: what a kernel returns of them is copied, as scratch memory is.
    return Block(X[:rows], None if y is None else y[:rows], None, start, index)


def _run(block: Block, kernel: Kernel, params: Any) -> Any:
    from scarce.engine.rows import _owned

    return _owned(kernel(block, params))


def _selected(parts: Parts, wanted: Sequence[str]) -> Iterator[pa.Table]:
    return (part.select(wanted) for part in parts)


def _given_up(parts: list[pa.Table]) -> Iterator[pa.Table]:
    """Walk a list and let go of what was walked."""
    while parts:
        yield parts.pop(0)


def _first_parts(
    walk: Iterator[pa.Table], wanted: Sequence[str], most: int | None
) -> tuple[list[pa.Table], bool]:
    """Take parts until there are more than `most` rows; and whether the table ended before."""
    held: list[pa.Table] = []
    n_held = 0
    for part in walk:
        held.append(part.select(wanted))
        n_held += part.num_rows
        if most is not None and n_held > most:
            return held, False
    return held, True


def _meaning(
    label: str,
    held: Sequence[pa.Table],
    again: Callable[[], Parts] | None,
    asked: dict[str, Any],
) -> tuple[Any, ...]:
    """Decide what the label values mean, walking the column only where the beginning cannot."""
    seen = distinct(held, [label])[label]
    both = asked["positive"] is not None and asked["negative"] is not None
    if both or asked["classes"] is not None:
        return read_labels(label, [], **asked)  # named: any other value is refused at its row
    plain = _plain(seen, asked)
    if plain:
        return read_labels(label, [0, 1], **asked)
    if again is not None:
        seen = distinct(_selected(again(), [label]), [label])[label]
    return read_labels(label, seen, **asked)


def _plain(seen: Iterable[Any], asked: dict[str, Any]) -> bool:
    """Whether the labels so far are 0, 1 and nothing, and nobody says otherwise."""
    if asked["classes"] is not None:
        return False
    apart = _listed(asked["unlabelled"])
    codes = {value for value in seen if value not in apart and value == value}
    if not codes <= {0, 1}:
        return False
    return _listed(asked["positive"]) in ((), (1,)) and _listed(asked["negative"]) in ((), (0,))


def _book(name: str, levels: Iterable[Any]) -> tuple[Any, ...]:
    ordered = tuple(sorted(levels, key=str))
    if len(ordered) > MOST_WORDS:
        raise DataError(
            f"Column {name!r} holds {len(ordered):,} different values (such as {ordered[0]!r}): "
            "too many for a handful of words. Name the column with the words."
        )
    return ordered


def _listed(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)
