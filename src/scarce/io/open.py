"""open_rows: one door for every source of rows.

    source -> schema (columns, code books, classes) -> rows that fold and map

Reads the schema first, then the label and category columns once, to fix classes and code books.
What the data leave open is never guessed: the error says which argument settles it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scarce.engine.block import Block, block_rows
from scarce.engine.executors import Engine
from scarce.engine.machine import cache_folder
from scarce.engine.memory import ArrayRows, TableRows, decode, unmasked, warn_if_never_seen
from scarce.engine.progress import Report, Walks
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.io.cache import (
    CachedRows,
    DamagedCache,
    cache_path,
    warn_made_anew,
    write_cache,
)
from scarce.io.files import PartedRows, PartedSource, file_source, last_change, stamp
from scarce.io.labels import read_labels
from scarce.io.reading import Reading, distinct
from scarce.io.schema import Schema, pick_columns
from scarce.io.text import TextForm, TextSource

IN_MEMORY_BYTES = 256 * 2**20


def open_rows(
    source: Any,
    *,
    label: Any = None,
    positive: Any = None,
    negative: Any = None,
    unlabelled: Any = None,
    classes: Sequence[Any] | None = None,
    weight: Any = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    categories: str | Sequence[str] = (),
    missing: Any = (),
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
    source : array, table, path, list of paths or folder
        NumPy; pandas, polars, Arrow; CSV and TSV (also .gz, .zst), Parquet, Arrow IPC.
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
        Turn categories into columns of 0 and 1, one for each level but the most frequent one, named
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
            "like= settles which categories become columns of 0 and 1, as the model was fitted. "
            "Leave indicators= out."
        )
    if isinstance(source, Rows):
        given = any(one is not None for one in (label, weight, columns, drop, like, cache, engine))
        if given or hidden or asked.categories or asked.indicators:
            raise UsageError(
                "These rows are open already: how they are read was settled then. Open their "
                "source anew, or pass engine= to fold and map."
            )
        return source
    if isinstance(source, (str, os.PathLike)) or (
        isinstance(source, (list, tuple))
        and source
        and all(isinstance(one, (str, os.PathLike)) for one in source)
    ):
        return _open_files(
            file_source(source, TextForm(delimiter, encoding, decimal, header, hidden)),
            asked,
            cache,
            engine,
            progress,
        )
    if cache:
        raise UsageError("cache= is for files; the rows given are in memory already. Leave it out.")
    table = _as_table(source)
    if table is None:
        return _open_array(source, asked, engine)
    return _open_table(table, asked, engine)


def _open_files(
    source: PartedSource | TextSource,
    asked: Reading,
    cache: Any,
    engine: Engine,
    progress: Report | None,
) -> Rows:
    for name, value in (("label", asked.label), ("weight", asked.weight)):
        if value is not None and not isinstance(value, str):
            raise UsageError(
                f"{name}= must be a column's name for files, not {type(value).__name__}."
            )
    if isinstance(source, TextSource):
        return _open_text(source, asked, cache, engine, progress)
    walks = Walks(progress, 0 if progress is None else source.n_rows)

    def tables(names: Sequence[str]) -> Iterator[pa.Table]:
        return walks.over(source.tables(names), left=1)

    schema = asked.schema_of(source.arrow_schema, tables)
    rows = PartedRows(source, schema, engine=engine)
    if len(rows) == 0:
        raise _no_rows(source.where)
    if cache:
        copy = _Copy(source.paths, rows.fingerprint, schema, cache)
        return copy.rows(rows.blocks, rows.blocks, engine, walks)
    if 8 * len(rows) * rows.n_columns <= IN_MEMORY_BYTES:
        return decode(rows, walks=walks)
    walks.end()
    return rows


def _open_text(
    source: TextSource, asked: Reading, cache: Any, engine: Engine, progress: Report | None
) -> Rows:
    mark = stamp([source.path])
    asked.look_at_levels, asked.decimal = source.refuse_damage, source.form.decimal
    asked.padded = source.padded
    walks = Walks(progress, source.path.stat().st_size)
    if source.small:
        walks.begin(left=0)
        table = source.read(walks.at)
        if table.num_rows == 0:
            raise _no_rows(source.where)
        schema = asked.schema_of(table.schema, lambda names: [table.select(names)])
        rows = TableRows(table, schema, engine=engine, fingerprint=mark)
        if cache:
            copy = _Copy([source.path], mark, schema, cache)
            return copy.rows(rows.blocks, lambda: TableRows(source.read(), schema).blocks(), engine)
        return decode(rows)
    if cache is False:
        raise UsageError(
            f"{source.where} is too large to hold in memory and cache=False forbids a decoded "
            "copy. Leave cache= out, name a folder for it, or convert the file to Parquet."
        )

    def tables(names: Sequence[str]) -> Iterator[pa.Table]:
        walks.begin(left=1)
        return source.tables(names, walks.at)

    schema = asked.schema_of(source.arrow_schema, tables)

    def blocks() -> Iterator[Block]:
        walks.begin(left=0)
        block = None
        for block in _even_blocks(source.tables(schema.needed, walks.at), schema):
            yield block
        if block is None:
            raise _no_rows(source.where)

    def quietly() -> Iterator[Block]:
        return _even_blocks(source.tables(schema.needed), schema)

    found = _Copy([source.path], mark, schema, cache or True).rows(blocks, quietly, engine)
    walks.end()  # where the cache was there already
    return found


def _even_blocks(tables: Iterable[pa.Table], schema: Schema) -> Iterator[Block]:
    """Cut a stream of tables into the blocks that the same table in memory would have."""
    size = block_rows(len(schema.columns))
    start = index = 0
    held: list[pa.Table] = []
    n_held = 0
    for table in tables:
        held.append(table)
        n_held += table.num_rows
        while n_held >= size:
            whole = pa.concat_tables(held)
            yield Block(*schema.code(whole.slice(0, size), start), start, index)
            held, n_held = [whole.slice(size)], n_held - size
            start, index = start + size, index + 1
    if n_held:
        yield Block(*schema.code(pa.concat_tables(held), start), start, index)


@dataclass(frozen=True)
class _Copy:
    """The decoded copy of files: found in the cache, made, or made anew where it is damaged."""

    paths: Sequence[Path]
    mark: str
    schema: Schema
    cache: Any

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
                    f"The cache {path} is damaged, and {self.paths[0]} has changed since it was "
                    "opened. Open it again."
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
        return self.paths[0].parent if self.cache == "beside" else Path(self.cache)

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
        raise _no_rows("The table")
    for name in ("label", "weight"):
        value = getattr(asked, name)
        if value is not None and not isinstance(value, str):
            if name in table.column_names:
                raise DataError(
                    f"The table has a column {name!r} already and {name}= gives other values. Pass "
                    f"{name}='{name}' to use the column, or rename it."
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


def _open_array(source: Any, asked: Reading, engine: Engine) -> Rows:
    for name in ("columns", "drop", "categories", "indicators"):
        if getattr(asked, name) not in (None, (), True, False):
            raise UsageError(
                f"{name}= names columns, and an array has none. Pass a pandas, polars or Arrow "
                "table."
            )
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
                f"The array has {rows.n_columns} columns, but like= has {len(asked.like.columns)}: "
                f"{list(asked.like.names)}. Pass the same columns in the same order."
            )
        schema = replace(asked.like, label=None, weight=None)
    if asked.label is not None:
        if isinstance(asked.label, str):
            raise UsageError(
                f"label={asked.label!r} names a column, and an array has none. Pass the labels "
                "themselves: label=y."
            )
        values = pa.chunked_array([_arrow_vector(asked.label, len(rows), "label")])
        schema = replace(schema, label="label")
        if asked.like is None:
            held = distinct([pa.table({"label": values})], ["label"])["label"]
            meaning = read_labels("label", held, **asked.meanings)
            schema = replace(schema, classes=meaning[0], coded_as=meaning[1], unlabelled=meaning[2])
        y = schema.code_labels(values)
    if asked.weight is not None:
        if isinstance(asked.weight, str):
            raise UsageError(
                f"weight={asked.weight!r} names a column, and an array has none. Pass the weights "
                "themselves."
            )
        weight = asked.weight
    return ArrayRows(X, y, weight=weight, schema=schema, engine=engine)


def _arrow_vector(values: Any, n_rows: int, name: str) -> pa.Array:
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    vector = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else None
    if vector is None:
        plain_values = np.asarray(values, dtype=object) if isinstance(values, list) else values
        try:
            vector = pa.array(plain_values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(
                f"{name}= mixes types ({error}). Give one kind of value: all text, or all numbers."
            ) from error
    if isinstance(vector, pa.ChunkedArray):
        vector = pa.concat_arrays(vector.chunks)
    if len(vector) != n_rows:
        raise DataError(
            f"{name}= has {len(vector):,} values for {n_rows:,} rows: one value per row is needed."
        )
    return vector


def _as_table(source: Any) -> pa.Table | None:
    """Turn any table into an Arrow table, without copying columns; None for arrays."""
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if type(source).__module__.partition(".")[0] == "pandas":
        names = [str(name) for name in source.columns] if hasattr(source, "columns") else []
        if len(set(names)) < len(names):
            pick_columns(names, label=None, weight=None, columns=None, drop=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return pa.Table.from_pandas(source, preserve_index=False)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise DataError(
                    f"The table mixes types within a column ({error.args[-1]}). Give each column "
                    "one kind of value, or leave it out before."
                ) from error
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, dict):
        return pa.table(source)
    return None


def _listed(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple, set, np.ndarray)) else (value,)


def _no_rows(where: str) -> DataError:
    return DataError(
        f"{where} has no rows: there is nothing to learn from. Check the filter or the file that "
        "it came from."
    )
