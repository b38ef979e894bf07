"""open_rows: one door for every source of rows.

    array | table | file | pipe -> schema (columns, code books, classes) -> rows that fold and map

Reads the schema first, then the label and category columns once, to fix classes and code books.
What the data leave open is never guessed: the error says which argument settles it. Text is parsed
once, into memory or into the cache, because parsing costs more than a fit; Parquet and Arrow can be
decoded on every pass by whoever needs them. An estimate that needs one pass folds a text or a pipe
of any length while it passes by (`streamed_rows`). Blocks are those of the same table in memory,
so results have the same bits.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scarce.checks import refuse_length, refuse_other_index
from scarce.engine.block import Block, ColumnLike, LabelValue, Params, TableLike, block_rows
from scarce.engine.executors import Engine, executor_for, in_order
from scarce.engine.machine import Report, Walks, cache_folder
from scarce.engine.memory import ArrayRows, TableRows, decode, unmasked, warn_if_never_seen
from scarce.engine.rows import Kernel, Merge, Rows, Ticket, add
from scarce.errors import (
    Argument,
    DataError,
    Problem,
    UsageError,
    listed,
    refuse_word,
    warn_user,
)
from scarce.io.cache import (
    CachedRows,
    DamagedCache,
    cache_path,
    warn_made_anew,
    write_cache,
)
from scarce.io.frames import as_table, column_names, is_frame
from scarce.io.labels import read_labels
from scarce.io.locate import Locator, located
from scarce.io.parts import PartedRows, PartedSource, open_files
from scarce.io.schema import (
    Column,
    Reading,
    Schema,
    check_label_type,
    column_kinds,
    distinct,
)
from scarce.io.source import TableSource, last_change
from scarce.io.text import TextForm, delimiter_of, no_rows, padded_columns
from scarce.io.values import brief

IN_MEMORY_BYTES = 256 * 2**20
HELD_ROWS = 262_144  # up to here a table is held: estimates keep as many rows one by one
MOST_WORDS = 1000

Cache = bool | str | os.PathLike[str] | None
Parts = Iterable[pa.Table]


def open_rows(
    source: TableLike,
    *,
    label: str | ColumnLike | None = None,
    positive: LabelValue | None = None,
    negative: LabelValue | None = None,
    unlabelled: LabelValue | None = None,
    classes: Sequence[Any] | None = None,
    weight: str | ColumnLike | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    categories: str | Sequence[str] = (),
    missing: object = (),
    unknown: str = "error",
    max_levels: int | None = None,
    indicators: bool | str | Sequence[str] = False,
    like: Schema | None = None,
    cache: bool | str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    header: bool = True,
    engine: Engine = None,
    progress: Report | None = None,
) -> Rows:
    """Open rows of an array, a table or files, ready to be folded.

    Parameters
    ----------
    source : array, table, path, list of paths, folder, or TableSource
        NumPy; pandas, polars, Arrow; CSV and TSV (also .gz, .zst), Parquet, Arrow IPC; or what
        `scarce.io.source.open_table` opened, which says itself how text is written.
    label : str or array-like, optional
        The column with labels, or the labels themselves for a source in memory. Missing values
        (NaN, None, null, empty) mean *not labelled*.
    positive, negative, unlabelled : value or list of values, optional
        What the label values mean, where 0 and 1 do not say it. -1 next to 1 is refused until one
        of them settles it.
    classes : sequence, optional
        All classes in the wanted order, for more than two.
    weight : str or array-like, optional
        Row weights: finite, not negative.
    columns, drop : str or sequence of str, optional
        Features to keep, or to leave out (identifiers, dates).
    categories : str or sequence of str
        Number columns whose values are codes. Text columns are categories anyway.
    missing : value or list of values
        What means missing beside null, NaN and empty text: -999, "unknown". The word "inf" reads
        infinities as missing.
    unknown : {"error", "missing"}
        For a level that the code book of `like` does not have.
    max_levels : int, optional
        Most levels that a category may have; by default 1,000, and 100 with `indicators`.
    indicators : bool, str or sequence of str
        Turn categories into one-hot columns, one for each level but the most frequent one, named
        such as ``city=Ulm``: all of them (True), or those named. Where the category is missing, all
        of its columns are.
    like : Schema, optional
        The schema of the data a model was made from: same columns, code books and classes. The
        label column may then be absent.
    cache : bool, "beside" or path, optional
        Keep decoded data in the cache folder (True), next to the data ("beside") or in a folder,
        and map them from there from the second time on. By default data that decode to up to 256 MB
        are held in memory, larger Parquet and Arrow files are decoded on every pass, and larger
        text is cached. False never writes a file.
    delimiter, encoding, decimal : str, optional
        For text files: what separates values, such as ";"; such as "latin-1"; such as ",".
    header : bool
        For text files: whether the first line names the columns.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the blocks.
    progress : callable, optional
        Called as ``progress(done, total)`` while files are read: bytes of text, rows of other
        files, counted over all walks. May be called from the thread that reads.

    Returns
    -------
    Rows
        With `fold`, `map`, `schema`, `label_counts`.

    Raises
    ------
    DataError
        What was seen, in which column and row, and which argument settles it.

    Notes
    -----
    Blocks are row groups (Parquet), record batches (Arrow) or even cuts, from the data alone;
    cached and decoded rows keep them, so results have the same bits however the rows are held.

    Examples
    --------
    >>> table = pa.table({"age": [44, None, 31], "fraud": [1, 0, None]})
    >>> rows = open_rows(table, label="fraud")
    >>> rows
    TableRows(3 rows, 1 columns, 1 block)
    >>> rows.label_counts()
    (array([1., 1.]), 1)
    """
    refuse_other_index(source=source, label=label, weight=weight)
    refuse_word("unknown", unknown, ("error", "missing"))
    hidden = _listed(missing)
    asked = Reading(
        label=label,
        meanings={
            "positive": positive,
            "negative": negative,
            "unlabelled": unlabelled,
            "classes": classes,
        },
        weight=weight,
        columns=None if columns is None else _listed(columns),
        drop=_listed(drop),
        categories=_listed(categories),
        missing=tuple(value for value in hidden if value != "inf"),
        infinite_is_missing="inf" in hidden,
        unknown=unknown,
        max_levels=max_levels,
        indicators=indicators if isinstance(indicators, bool) else _listed(indicators),
        like=like,
    )
    if like is not None and asked.indicators:
        raise UsageError(
            "{like} settles which categories become one-hot columns.",
            code="argument-conflict",
            like=Argument("like"),
            indicators=Argument("indicators"),
            remedy="Leave {indicators} out.",
        )
    if isinstance(source, Rows):
        given = any(one is not None for one in (label, weight, columns, drop, like, cache, engine))
        if given or hidden or asked.categories or asked.indicators:
            raise UsageError(
                "These rows are open already: how they are read was settled then.",
                code="rows-open",
                engine=Argument("engine"),
                remedy="Open their source anew, or pass {engine} to fold and map.",
            )
        return source
    if isinstance(source, TableSource):
        return _open_files(source, asked, cache, engine, progress)
    if isinstance(source, (str, os.PathLike)) or (
        isinstance(source, (list, tuple))
        and source
        and all(isinstance(one, (str, os.PathLike)) for one in source)
    ):
        form = TextForm(delimiter, encoding, decimal, header, hidden)
        return _open_files(open_files(source, form), asked, cache, engine, progress)
    if cache:
        raise UsageError(
            "{cache} is for files; the rows given are in memory already.",
            code="argument-conflict",
            cache=Argument("cache"),
            remedy="Leave it out.",
        )
    needed = asked.needed(column_names(source)) if is_frame(source) else None
    table = as_table(source, needed=needed)
    if table is None:
        return _open_array(source, asked, engine)
    return _open_table(table, asked, engine)


def _open_files(
    source: PartedSource | TableSource,
    asked: Reading,
    cache: Cache,
    engine: Engine,
    progress: Report | None,
) -> Rows:
    for name, value in (("label", asked.label), ("weight", asked.weight)):
        if value is not None and not isinstance(value, str):
            raise UsageError(
                "{argument} must be a column's name for files, got {kind}.",
                code="needs-column-name",
                argument=Argument(name),
                kind=type(value).__name__,
            )
    if isinstance(source, TableSource):
        if source.path is not None and source.kind in ("parquet", "arrow"):
            source = PartedSource([source.path], source.kind)
        else:
            return _open_source(source, asked, cache, engine, progress)
    walks = Walks(progress, 0 if progress is None else source.n_rows)

    def tables(names: Sequence[str]) -> Iterator[pa.Table]:
        return walks.over(source.tables(names), left=1)

    find = Locator(source.where)
    with located(find):
        schema = asked.schema_of(source.arrow_schema, tables)
        rows = PartedRows(source, schema, engine=engine)
        if len(rows) == 0:
            raise no_rows(source.where)
        if cache:
            copy = _Copy(source.paths, rows.fingerprint, schema, cache)
            return copy.rows(rows.blocks, rows.blocks, engine, walks)
        if 8 * len(rows) * rows.n_columns <= IN_MEMORY_BYTES:
            return decode(rows, walks=walks)
    walks.end()
    return rows


def _open_source(
    source: TableSource, asked: Reading, cache: Cache, engine: Engine, progress: Report | None
) -> Rows:
    """Open text or a pipe: parsed at once where it is small, else into the cache."""
    asked.find, asked.decimal = source.find, source.form.decimal
    if source.is_text and not source.small:
        return _open_large_text(source, asked, cache, engine, progress)
    paths = [] if source.path is None else [source.path]
    mark = source.stamp() if paths else ""
    walks = Walks(progress, source.size or 0)
    walks.begin(left=0)
    table = source.table(walks.at)
    _look_at_names(source, asked)
    if table.num_rows == 0:
        raise no_rows(source.where, header=source.is_text and source.form.header)
    with located(source.find):
        schema = asked.schema_of(table.schema, lambda names: [table.select(names)])
        rows = TableRows(table, schema, engine=engine, fingerprint=mark)
        if cache and paths:
            copy = _Copy(paths, mark, schema, cache)
            found = copy.rows(
                rows.blocks, lambda: TableRows(source.table(), schema).blocks(), engine
            )
            source.release()  # mapped from now on, and read again only where the cache is damaged
            return found
        return decode(rows)


def _open_large_text(
    source: TableSource, asked: Reading, cache: Cache, engine: Engine, progress: Report | None
) -> Rows:
    if cache is False:
        raise UsageError(
            "{file} is too large to hold in memory, and {cache} forbids a decoded copy.",
            code="too-large",
            file=source.where,
            cache=Argument("cache", False),
            folder=Argument("cache"),
            remedy="Leave {folder} out, name a folder for it, or convert the file to Parquet.",
        )
    assert source.path is not None
    assert source.size is not None
    _look_at_names(source, asked)
    walks = Walks(progress, source.size)

    def walk(names: Sequence[str], report: Callable[[int], None] | None) -> Iterator[pa.Table]:
        counted = [n for n in names if _counted(source.types[n])]
        tell = None if report is None else (lambda done, _: report(done))
        return source.tables(names, numbers=counted, progress=tell)

    def tables(names: Sequence[str]) -> Iterator[pa.Table]:
        walks.begin(left=1)
        return walk(names, walks.at)

    def blocks() -> Iterator[Block]:
        walks.begin(left=0)
        block = None
        for block in even_blocks(walk(schema.needed, walks.at), schema):
            yield block
        if block is None:
            raise no_rows(source.where, header=source.form.header)

    with located(source.find):
        schema = asked.schema_of(source.schema, tables)
        copy = _Copy([source.path], source.stamp(), schema, cache or True)
        found = copy.rows(blocks, lambda: even_blocks(walk(schema.needed, None), schema), engine)
    walks.end()  # where the cache was there already
    return found


def _counted(kind: pa.DataType) -> bool:
    """Whether a column of text is read as float64: whole numbers, and what was empty so far."""
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


def _look_at_names(source: TableSource, asked: Reading) -> None:
    """Note columns of codes; warn of a column without a name, and of a header of numbers."""
    if not source.is_text:
        return
    names, form = source.names, source.form
    mark = delimiter_of(form, source.kind)
    asked.padded = padded_columns(source.head, mark, form.encoding, names, form.header)
    if not form.header:
        return
    if names.count("") == 1:
        warn_user(
            "{file}: column {number} has no name.",
            code="nameless-column",
            file=source.where,
            number=names.index("") + 1,
            drop=Argument("drop", [""]),
            remedy="If it is a row number that was written along, leave it out with {drop}.",
        )
    if all(_is_measurement(name) for name in names):
        warn_user(
            "{file}: all column names are numbers, such as {value!r}.",
            code="header-of-numbers",
            file=source.where,
            value=names[0],
            header=Argument("header", False),
            remedy="If the file has no header, pass {header}.",
        )


def _is_measurement(name: str) -> bool:
    """Whether a name looks like a value: a number, and not a mere position such as 0 or 12."""
    try:
        float(name)
    except ValueError:
        return False
    return not (name.isdigit() and int(name) < 10_000)


@dataclass(frozen=True)
class _Copy:
    """The decoded copy of files: found in the cache, made, or made anew where it is damaged."""

    paths: Sequence[Path]
    mark: str
    schema: Schema
    cache: Cache

    def rows(
        self,
        blocks: Callable[[], Iterator[Block]],
        again: Callable[[], Iterator[Block]],
        engine: Engine,
        walks: Walks | None = None,
    ) -> CachedRows:
        """Return the cached rows; `again` decodes once more, should damage be found later."""
        changed = last_change(self.paths)
        path = cache_path(self._folder(), f"{self.mark} {changed}", self.schema)

        def remake() -> None:
            if last_change(self.paths) != changed:
                raise DataError(
                    "The cache {cache} is damaged, and {file} has changed since it was opened.",
                    code="damaged-cache",
                    cache=str(path),
                    file=str(self.paths[0]),
                    remedy="Open it again.",
                )
            write_cache(path, again(), self.schema)

        def found() -> CachedRows:
            return CachedRows(
                path, self.schema, engine=engine, fingerprint=self.mark, remake=remake
            )

        damaged = False
        if path.exists():
            try:
                kept = found()
                if walks is not None:
                    walks.end()
                return kept
            except DamagedCache:
                damaged = True
        self._write(path, blocks, walks)
        if damaged:
            warn_made_anew(path)
        return found()

    def _folder(self) -> Path:
        if self.cache is True:
            return cache_folder()
        if self.cache == "beside" or isinstance(self.cache, bool) or self.cache is None:
            return self.paths[0].parent
        return Path(self.cache)

    def _write(
        self, path: Path, blocks: Callable[[], Iterator[Block]], walks: Walks | None
    ) -> None:
        never = np.ones(len(self.schema.columns), dtype=bool)
        n_rows = 0

        def watched() -> Iterator[Block]:
            nonlocal n_rows
            if walks is not None:
                walks.begin(left=0)
            for block in blocks():
                never[never] &= np.isnan(block.X[:, never]).all(axis=0)
                n_rows += len(block)
                yield block
                if walks is not None:
                    walks.at(n_rows)

        write_cache(path, watched(), self.schema)
        warn_if_never_seen(never, self.schema, n_rows)


def _open_table(table: pa.Table, asked: Reading, engine: Engine) -> Rows:
    if table.num_rows == 0 or table.num_columns == 0:
        raise no_rows("The table")
    for name in ("label", "weight"):
        value = getattr(asked, name)
        if value is not None and not isinstance(value, str):
            if name in table.column_names:
                raise DataError(
                    "The table has a column {column!r} already, and {argument} gives other values.",
                    code="argument-conflict",
                    column=name,
                    argument=Argument(name),
                    own=Argument(name, name),
                    remedy="Pass {own} to use the column, or rename it.",
                )
            table = table.append_column(name, _arrow_vector(value, table.num_rows, name))
            setattr(asked, name, name)
    schema = asked.schema_of(table.schema, lambda names: [table.select(names)])
    rows = TableRows(table, schema, engine=engine)
    empty = {n for n in schema.sources if table.column(n).null_count == table.num_rows}
    never = [(c.name if c.source is None else c.source) in empty for c in schema.columns]
    warn_if_never_seen(never, schema, table.num_rows)
    for _ in rows.blocks():  # infinities and stray labels are met here, not in the first fit
        pass
    return rows


def frame_rows(
    frame: TableLike,
    *,
    drop: Sequence[str] = (),
    indicators: bool = False,
    unknown: str = "error",
    engine: Engine = None,
) -> ArrayRows:
    """Read a whole pandas, polars or Arrow frame of features into memory, for a fit.

    As `open_rows` reads it, with one walk over its columns less.

    Examples
    --------
    >>> frame_rows(pa.table({"age": [44, None], "city": ["Ulm", "Bonn"]})).matrix
    array([[44.,  1.],
           [nan,  0.]])
    """
    asked = Reading(drop=drop, indicators=indicators, unknown=unknown)
    table = as_table(frame, needed=asked.needed(column_names(frame)))
    assert table is not None
    if table.num_rows == 0 or table.num_columns == 0:
        raise no_rows("The table")
    schema = asked.schema_of(table.schema, lambda names: [table.select(names)])
    return decode(TableRows(table, schema, engine=engine))


Strangers = dict[str, Counter[Any]]  # by column: how often each level came that is not known


def strangers(table: pa.Table, like: Schema) -> Strangers:
    """Return the levels of a table that the code books of a schema do not have.

    Examples
    --------
    >>> like = Schema((Column("city", "category", ("Bonn", "Ulm")),))
    >>> strangers(pa.table({"city": ["Ulm", "Kiel", None, "Kiel"]}), like)
    {'city': Counter({'Kiel': 2})}
    """
    books = {one.name: one.levels for one in like.columns if one.kind == "category"}
    books |= like.indicators
    found: Strangers = {}
    for name, counts in distinct([table], list(books)).items():
        known = {*books[name], "", *like.missing}
        words = any(isinstance(level, str) for level in books[name])
        new = {v: n for v, n in counts.items() if (str(v) if words else v) not in known}
        if new:
            found[name] = Counter(new)
    return found


def strangers_remark(found: Strangers) -> Problem:
    """Say which levels are read as missing because the model was not fitted on them."""
    what = [
        f"{listed([brief(one) for one in sorted(new, key=str)], most=3)} in column {name!r} "
        f"({sum(new.values()):,} row{'s' if sum(new.values()) > 1 else ''})"
        for name, new in found.items()
    ]
    return Problem(
        "Levels that the model was not fitted on are read as missing: {what}.",
        code="unknown-levels",
        what=listed(what, most=5),
        columns=tuple(found),
        count=sum(sum(new.values()) for new in found.values()),
    )


def _open_array(source: TableLike, asked: Reading, engine: Engine) -> Rows:
    for name in ("columns", "drop", "categories", "indicators"):
        if getattr(asked, name) not in (None, (), True, False):
            raise _no_names(name)
    rows = ArrayRows(source, engine=engine, check=False)
    X: Any = unmasked(source)
    y = weight = None
    if asked.missing or asked.infinite_is_missing:
        X = np.array(X, dtype=np.float64)
        X[np.isin(X, [v for v in asked.missing if not isinstance(v, str)])] = np.nan
        if asked.infinite_is_missing:
            X[np.isinf(X)] = np.nan
    schema = rows.schema
    if asked.like is not None:
        if len(asked.like.columns) != rows.n_columns:
            raise DataError(
                "The array has {count} columns, but {like} has {expected}: {names}.",
                code="column-mismatch",
                count=rows.n_columns,
                like=Argument("like"),
                expected=len(asked.like.columns),
                names=listed(asked.like.names),
                remedy="Pass the same columns in the same order.",
            )
        schema = replace(asked.like, label=None, weight=None)
    if asked.label is not None:
        if isinstance(asked.label, str):
            raise _no_names("label", asked.label)
        values = pa.chunked_array([_arrow_vector(asked.label, len(rows), "label")])
        schema = replace(schema, label="label")
        if asked.like is None:
            held = distinct([pa.table({"label": values})], ["label"])["label"]
            meaning = read_labels("label", held, **asked.meanings)
            schema = replace(schema, classes=meaning[0], coded_as=meaning[1], unlabelled=meaning[2])
        y = schema.code_labels(values)
    if asked.weight is not None:
        if isinstance(asked.weight, str):
            raise _no_names("weight", asked.weight)
        weight = asked.weight
    return ArrayRows(X, y, weight=weight, schema=schema, engine=engine)


def _no_names(name: str, value: str | None = None) -> UsageError:
    """Return the error for an argument that names columns of an array, which has no names."""
    return UsageError(
        "{argument} names columns, and an array has no names.",
        code="needs-table",
        argument=Argument(name) if value is None else Argument(name, value),
        remedy="Pass a pandas, polars or Arrow table."
        if value is None
        else "Pass the values themselves, one per row.",
    )


def _arrow_vector(values: ColumnLike, n_rows: int, name: str) -> pa.Array:
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    vector = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else None
    if vector is None:
        plain_values = np.asarray(values, dtype=object) if isinstance(values, list) else values
        try:
            vector = pa.array(plain_values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(
                "{argument} mixes types ({reason}).",
                code="mixed-types",
                argument=Argument(name),
                reason=str(error),
                remedy="Give one kind of value: all text, or all numbers.",
            ) from error
    if isinstance(vector, pa.ChunkedArray):
        vector = pa.concat_arrays(vector.chunks)
    refuse_length(vector, n_rows, name)
    return vector


def _listed(value: object) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple, set, np.ndarray)) else (value,)


# --- rows that pass by once -----------------------------------------------------------------------


def streamed_rows(
    parts: Parts | Callable[[], Parts],
    *,
    columns: Sequence[str],
    label: str | None = None,
    positive: LabelValue | None = None,
    negative: LabelValue | None = None,
    unlabelled: LabelValue | None = None,
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
        The table, cut anywhere. A callable can be asked again, and the rows can be walked
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
    asked: dict[str, Any] = {
        "positive": positive,
        "negative": negative,
        "unlabelled": unlabelled,
    }
    asked["classes"] = classes
    wanted = [*columns, *([label] if label is not None else [])]
    held, ended = _first_parts(walk, wanted, held_rows if again or not categories else None)
    n_held = sum(part.num_rows for part in held)
    if n_held == 0:
        raise no_rows(where)
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
    kinds = column_kinds({name: first.field(name).type for name in columns})
    schema = Schema(
        tuple(
            Column(name, "category", books[name]) if name in books else Column(name, kinds[name])
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
            "Column {column!r} of {file} holds words, where numbers are needed.",
            code="text-column",
            column=words[0],
            file=where,
            missing=Argument("missing", ...),
            remedy="Name a column of numbers, or pass the words that mean missing with {missing}.",
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
            "Block {index} was asked for by its number, and these rows pass by once.",
            code="rows-pass-once",
            index=index,
            remedy="Use fold or map, or open a file with open_rows.",
        )

    def blocks(self) -> Iterator[Block]:
        """Walk the blocks in order; the memory of a block is that of the one before."""
        parts = self._begun
        self._begun = None
        if parts is None:
            if self._again is None:
                raise UsageError(
                    "These rows came through a pipe and have passed by.",
                    code="read-twice",
                    remedy="Write them to a file and open that.",
                )
            parts = iter(self._again())
        starts = [0]
        for block in even_blocks(parts, self.schema):
            starts.append(block.start + len(block))
            if starts[-1] > self.starts[-1]:
                self.starts = tuple(starts)
            yield block
        self.starts = tuple(starts)

    def each(
        self, kernel: Kernel, params: Params = None, *, engine: Engine = None
    ) -> Iterator[Any]:
        """Yield the kernel's result of each block, in block order."""
        executor_for(engine)  # an unknown engine is refused all the same
        tasks = ((block, kernel, params) for block in self.blocks())
        return in_order(_run, tasks, name=lambda number: f"block {number + 1} of a stream")

    def fold(
        self,
        kernel: Kernel,
        params: Params = None,
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

    def map(self, kernel: Kernel, params: Params = None, *, engine: Engine = None) -> NDArray[Any]:
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
    weight = None if schema.weight is None else np.empty(size)
    start = filled = index = 0

    def block() -> Block:
        # Views, even of the whole: what a kernel returns of them is copied, as scratch memory is.
        labels = None if y is None else y[:filled]
        return Block(X[:filled], labels, None if weight is None else weight[:filled], start, index)

    for part in parts:
        at = 0
        while at < part.num_rows:
            taken = min(size - filled, part.num_rows - at)
            place = slice(filled, filled + taken)
            found = schema.code(part.slice(at, taken), start + filled)
            for held, values in zip((X, y, weight), found, strict=True):
                if held is not None and values is not None:
                    held[place] = values
            filled, at = filled + taken, at + taken
            if filled == size:
                yield block()
                start, index, filled = start + size, index + 1, 0
    if filled:
        yield block()


def _run(block: Block, kernel: Kernel, params: Params) -> Any:
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
            "Column {column!r} holds {count:,} different values (such as {first!r}): too many for "
            "a handful of words.",
            code="too-many-levels",
            column=name,
            count=len(ordered),
            first=ordered[0],
            remedy="Name the column with the words.",
        )
    return ordered
