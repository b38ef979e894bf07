"""From what a user has, arrays or a file of any length, to batches that are sorted out.

Arrays up to 262,144 rows are kept row by row; longer ones, and `Rows`, are read once into a digest
of each batch: exact counts at the threshold, at most 4,096 bins a label state elsewhere, and the
audited rows and outside events one by one. Assumes that these are few. Estimates nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scarce.checks import (
    column,
    read_inclusion,
    read_labels,
    read_scores,
    read_threshold,
    refuse_length,
    strange_probability,
)
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, suggest
from scarce.missed.provenance import (
    Audited,
    Intake,
    answered,
    intake_of,
    kind_of,
    lost_audits,
    outside_notes,
    scattered_note,
    sort_out,
    source_kinds,
)
from scarce.missed.score_table import Ledger, ledger_of

ROW_BY_ROW = 262_144
BINS = 4096


def gather(
    scores: Any,
    labels: Any,
    threshold: Any,
    *,
    inclusion: Any = None,
    batch: Any = None,
    label_source: Any = None,
    threshold_at_time: Any = None,
    engine: Engine = None,
) -> list[Intake]:
    """Return the batches of some scores."""
    if isinstance(scores, Rows):
        if labels is not None:
            raise UsageError(
                "Rows carry their own labels: name them in open_rows(label=), not here."
            )
        if batch is not None:
            raise UsageError(
                "batch= needs the rows in memory: pass arrays, or open each batch by itself."
            )
        return [_from_rows(scores, threshold, inclusion, label_source, threshold_at_time, engine)]
    values = read_scores(scores)
    known = read_labels(labels, len(values))
    chance = read_inclusion(inclusion, len(values))
    kinds, notes = (None, []) if label_source is None else source_kinds(label_source, known)
    at_time = None
    if threshold_at_time is not None:
        refuse_length(
            threshold_at_time, len(values), "threshold_at_time", "NaN where it is not known"
        )
        at_time = column(threshold_at_time, "threshold_at_time")
    names, which = _batches(batch, len(values))
    intakes = []
    for name, rows, mark in zip(names, which, read_threshold(threshold, names), strict=True):
        parts = [None if part is None else part[rows] for part in (chance, kinds, at_time)]
        one = intake_of(
            name,
            values[rows],
            known[rows],
            mark,
            inclusion=parts[0],
            kinds=parts[1],
            at_time=parts[2],
            ledger_of=partial(_ledger, threshold=mark, engine=engine),
        )
        intakes.append(one._replace(notes=(*notes, *one.notes)))
        notes = []
    return intakes


def _ledger(scores: Array, labels: Array, *, threshold: float, engine: Engine) -> Ledger:
    if len(scores) <= ROW_BY_ROW:
        return ledger_of(scores, labels)
    from scarce.missed.digest import ScoreDigest  # compiled loops: only for long data

    digest = ScoreDigest.of(scores, labels, bins=BINS, cuts=[threshold], engine=engine)
    return ledger_of_digest(digest)


def _batches(batch: Any, n_rows: int) -> tuple[list[Any], list[Any]]:
    if batch is None:
        return [None], [slice(None)]
    if hasattr(batch, "to_numpy"):
        batch = batch.to_numpy()
    marks = np.asarray(batch)
    if marks.shape != (n_rows,):
        raise DataError(
            f"There are {n_rows:,} scores and batch has shape {marks.shape}: give one batch name "
            "per row, such as the week."
        )
    if marks.dtype == object and any(mark is None or mark != mark for mark in marks):
        raise DataError("batch has missing values: every row belongs to one batch.")
    if marks.dtype.kind == "f" and np.isnan(marks).any():
        raise DataError("batch has missing values: every row belongs to one batch.")
    try:
        names, codes = np.unique(marks, return_inverse=True)
    except TypeError:
        kinds = sorted({type(mark).__name__ for mark in marks})
        raise DataError(f"batch mixes {' and '.join(kinds)}: name batches in one way.") from None
    return names.tolist(), [np.flatnonzero(codes == code) for code in range(len(names))]


class _Columns(NamedTuple):
    """Where the columns of some rows are, and what a word of label_source means."""

    score: int
    inclusion: int
    source: int
    at_time: int
    kinds: tuple[str, ...]
    threshold: float


class _Found(NamedTuple):
    digest: Any
    audited: Array  # (rows, 3): score, label, probability
    outside: Array
    silent: tuple[int, int]  # rows drawn and not labelled, rows not drawn; all below
    lost: tuple[int, int]  # audits without a probability: how many, and the first row


def _from_rows(
    rows: Rows,
    threshold: Any,
    inclusion: Any,
    label_source: Any,
    threshold_at_time: Any,
    engine: Engine,
) -> Intake:
    if rows.schema.weight is not None:
        raise UsageError(
            f"These rows have weights ({rows.schema.weight!r}), and alerts are counted one by one: "
            "open them without weight=. For rows drawn with a probability pass inclusion=."
        )
    mark = read_threshold(threshold, [None])[0]
    extra = [
        _column(rows, name, argument)
        for name, argument in (
            (inclusion, "inclusion"),
            (label_source, "label_source"),
            (threshold_at_time, "threshold_at_time"),
        )
    ]
    left = [at for at in range(rows.n_columns) if at not in extra]
    if len(left) != 1:
        raise UsageError(
            f"These rows have the columns {list(rows.names)}, and one of them must be the score: "
            "open_rows(..., columns=['score', ...]) with the score and the columns named here only."
        )
    for at, argument in (
        (left[0], "the score"),
        (extra[0], "inclusion"),
        (extra[2], "a threshold"),
    ):
        if at >= 0 and rows.schema.columns[at].kind == "category":
            raise DataError(
                f"Column {rows.names[at]!r} holds words, and {argument} is a number: its codes "
                "would be mere positions in the alphabet. Name a column of numbers."
            )
    if extra[1] >= 0 and rows.schema.columns[extra[1]].kind != "category":
        raise DataError(
            f"Column {rows.names[extra[1]]!r} holds numbers, and label_source is a word: open it "
            f"with open_rows(..., categories=[{rows.names[extra[1]]!r}]) or name another."
        )
    words: tuple[Any, ...] = () if extra[1] < 0 else rows.schema.columns[extra[1]].levels
    kinds = tuple(kind_of(str(word).strip().lower()) for word in words)
    strangers = [
        str(word)
        for word, kind in zip(words, kinds, strict=True)
        if kind == "outside" and str(word).strip().lower() != "outside"
    ]
    notes = outside_notes(strangers)
    columns = _Columns(left[0], extra[0], extra[1], extra[2], kinds, mark)
    if len(rows) <= ROW_BY_ROW:
        return _row_by_row(rows, columns, notes, engine)
    from scarce.missed.digest import refuse_faults

    found: _Found = rows.fold(_sort_block, columns, merge=_merge, engine=engine)
    if found.lost[0]:
        raise lost_audits(*found.lost)
    digest, faults = found.digest
    refuse_faults(faults, rows.names[left[0]], len(rows))
    ledger = ledger_of_digest(digest)
    audited, more = answered(Audited(*found.audited.T), *found.silent)
    notes += [*more, *scattered_note(ledger, mark, audited.score)]
    return Intake(None, ledger, mark, audited, found.outside, tuple(notes))


def _column(rows: Rows, name: Any, argument: str) -> int:
    if name is None:
        return -1
    if not isinstance(name, str) or name not in rows.names:
        raise UsageError(
            f"{argument}={name!r}: with rows from open_rows, give the name of one of the columns "
            f"{list(rows.names)}.{suggest(str(name), rows.names)}"
        )
    return rows.names.index(name)


def _row_by_row(rows: Rows, columns: _Columns, notes: list[str], engine: Engine) -> Intake:
    """Rows that fit into memory are kept one by one, as arrays are."""
    table = rows.map(_read_block, columns, engine=engine)
    scores, labels, inclusion, codes, at_time = table.T
    one = intake_of(
        None,
        read_scores(scores, rows.names[columns.score]),
        labels,
        columns.threshold,
        inclusion=None if columns.inclusion < 0 else read_inclusion(inclusion, len(scores)),
        kinds=None if columns.source < 0 else _kinds(codes, columns),
        at_time=None if columns.at_time < 0 else at_time,
    )
    return one._replace(notes=(*notes, *one.notes))


def _read_block(block: Block, columns: _Columns) -> Array:
    """Kernel: score, label, inclusion probability, code of the source, threshold at the time."""
    out = np.full((len(block), 5), np.nan)
    out[:, 0] = block.X[:, columns.score]
    if block.y is not None:
        out[:, 1] = block.y
    for at, place in enumerate(columns[1:4], start=2):
        if place >= 0:
            out[:, at] = block.X[:, place]
    return out


def _kinds(codes: Array, columns: _Columns) -> Any:
    place = np.where(np.isnan(codes), len(columns.kinds), codes).astype(np.int64)
    return np.array([*columns.kinds, ""], dtype=object)[place]


def _sort_block(block: Block, columns: _Columns) -> _Found:
    """Kernel: the digest of a block with usable labels, and the rows that are kept one by one."""
    from scarce.missed.digest import digest_block

    scores = block.X[:, columns.score]
    labels = np.full(len(block), np.nan) if block.y is None else block.y
    if columns.inclusion < 0 and columns.source < 0 and columns.at_time < 0:
        digest = digest_block(block, (columns.score, BINS, np.array([columns.threshold])))
        return _Found(digest, np.empty((0, 3)), np.empty(0), (0, 0), (0, 0))
    inclusion = None if columns.inclusion < 0 else block.X[:, columns.inclusion]
    at_time = None if columns.at_time < 0 else block.X[:, columns.at_time]
    kinds, lost = None, np.empty(0, np.int64)
    if columns.source >= 0:
        kinds = _kinds(block.X[:, columns.source], columns)
        audits = (kinds == "audit") & ~np.isnan(labels) & (scores < columns.threshold)
        lost = np.flatnonzero(audits if inclusion is None else audits & np.isnan(inclusion))
    usable, audit, outside = sort_out(
        scores, labels, columns.threshold, inclusion=inclusion, sources=kinds, at_time=at_time
    )
    sorted_out = Block(scores[:, None].copy(), usable, None, block.start, block.index)
    digest = digest_block(sorted_out, (0, BINS, np.array([columns.threshold])))
    chance = np.ones(len(scores)) if inclusion is None else inclusion
    strange = np.flatnonzero((chance < 0) | (chance > 1))
    if len(strange):
        raise strange_probability(float(chance[strange[0]]), block.start + int(strange[0]))
    below = scores < columns.threshold
    silent = (
        int((np.isnan(labels) & below & (chance < 1.0)).sum()),
        int((np.isnan(chance) & below).sum()),
    )
    kept = np.stack([scores[audit], labels[audit], chance[audit]], axis=1)
    first = (len(lost), block.start + int(lost[0]) if len(lost) else 0)
    return _Found(digest, kept, scores[outside & (labels == 1.0)].copy(), silent, first)


def _merge(total: _Found, more: _Found) -> _Found:
    from scarce.missed.digest import merge_blocks

    return _Found(
        merge_blocks(total.digest, more.digest),
        np.concatenate([total.audited, more.audited]),
        np.concatenate([total.outside, more.outside]),
        (total.silent[0] + more.silent[0], total.silent[1] + more.silent[1]),
        (total.lost[0] + more.lost[0], (total if total.lost[0] else more).lost[1]),
    )


def ledger_of_digest(digest: Any) -> Ledger:
    """Return the ledger of a digest: the means of its bins, which never cross the threshold."""
    states = (digest.unlabelled, digest.positive, digest.negative)
    score = np.concatenate([part.mean for part in states])
    counts = np.zeros((3, len(score)))
    at = 0
    for row, part in enumerate(states):
        counts[row, at : at + len(part.mean)] = part.count
        at += len(part.mean)
    order = np.argsort(-score, kind="stable")
    score, counts = score[order], counts[:, order]
    first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    joined = np.add.reduceat(counts, first, axis=1)
    return Ledger(score[first], joined.sum(axis=0), joined[1], joined[2])
