"""Label provenance: which labels may be used for what?

    alert     the row scored at or above the threshold of its time and was investigated
    audit     it was drawn with a known probability below 1
    chosen    it was picked by its score (a band below the threshold, a round of labelling)
    outside   anything else: a complaint, a chargeback. Nobody knows how many like it stayed silent,
              so an event from outside is a lower bound on what was missed and never a sample

`read_batches` takes arrays or `Rows` and returns batches whose labels are sorted by provenance. Up
to 262,144 rows are kept row by row. Longer data are read once into a digest of each batch: exact
counts at the threshold, at most 4,096 bins per label state elsewhere, and the audited rows and
outside events one by one. Assumes that those are few. Estimates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import HasInclusion
from scarce.checks import (
    is_missing,
    read_column,
    read_inclusion,
    read_labels,
    read_scores,
    read_threshold,
    refuse_length,
    refuse_other_index,
    strange_probability,
)
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError, suggest
from scarce.missed.choose import BY_RULE
from scarce.missed.score_table import Flags, ScoreTable, score_table_of, score_table_of_digest
from scarce.missed.strata import answered
from scarce.missed.units import Units, column_of, read_second, read_units, rows_by_batch

ROW_BY_ROW = 262_144
BINS = 4096
ALERT_WORDS = {"alert", "alerts", "alarm", "investigated", "investigation"}
AUDIT_WORDS = {"audit", "audited", "random", "sample", "stratified", "explored", "pps"}
CHOSEN_WORDS = set(BY_RULE)

Kinds = NDArray[np.object_]  # "alert", "audit", "chosen", "outside", or "" where it is not said


class Audited(NamedTuple):
    """Rows that were drawn with a known probability and labelled."""

    score: Array
    label: Array
    probability: Array
    frame: NDArray[np.int64]  # number of the draw's frame, where a batch holds several


class ScoreBatch(NamedTuple):
    """One batch of scores, its labels sorted by provenance."""

    name: Any
    table: ScoreTable
    threshold: float
    audited: Audited
    outside: Array  # scores of events that are known from outside
    notes: tuple[Problem, ...]


# --- one batch ------------------------------------------------------------------------------------


def label_roles(
    scores: Array,
    labels: Array,
    threshold: float,
    *,
    inclusion: Array | None = None,
    sources: Kinds | None = None,
    at_time: Array | None = None,
) -> tuple[Array, Flags, Flags]:
    """Return labels that may enter a likelihood, which rows are audits, and which are outside.

    Parameters
    ----------
    sources : ndarray of {"alert", "audit", "chosen", "outside", ""} or None
        Kind of each row's source, "" where it is not said.

    Examples
    --------
    >>> usable, audit, outside = label_roles(np.array([3.0, 1.0, 0.5]), np.array([1.0, 1.0, 0.0]),
    ...     2.0, inclusion=np.array([1.0, np.nan, 0.1]), at_time=np.full(3, 2.0))
    >>> usable, audit, outside
    (array([ 1., nan,  0.]), array([False, False,  True]), array([False,  True, False]))
    """
    labelled = ~np.isnan(labels)
    drawn = np.zeros(len(scores), bool)
    certain = np.zeros(len(scores), bool)
    if inclusion is not None:
        drawn = labelled & (inclusion < 1.0) & (scores < threshold)
        certain = labelled & (inclusion == 1.0)
    outside = np.zeros(len(scores), bool)
    if sources is not None:
        drawn &= sources != "chosen"  # by rule: a lot among equal scores is no draw
        outside = labelled & (sources == "outside") & ~drawn  # a stated probability is a draw
    limit = np.full(len(scores), threshold)
    if at_time is not None:
        limit = np.where(np.isnan(at_time), threshold, at_time)
        late = labelled & (scores < limit) & ~drawn & ~certain
        if sources is not None:
            late &= (sources != "chosen") & (sources != "audit")
        outside |= late
    # What scored above the threshold of its time was investigated, whoever spoke first.
    outside &= ~(scores >= limit)
    return np.where(outside, np.nan, labels), drawn & ~outside, outside


def source_kinds(label_source: ArrayLike, labels: Array) -> tuple[Kinds, list[Problem]]:
    """Return the kind of each row's label source, and a note on words without a meaning."""
    words = np.array(
        ["" if is_missing(word) else str(word).strip().lower() for word in np.ravel(label_source)],
        dtype=object,
    )
    refuse_length(words, len(labels), "label_source", "None where it is not known")
    kinds = np.full(len(words), "", dtype=object)
    strangers = []
    for word in sorted(set(words.tolist())):
        kind = kind_of(word)
        kinds[words == word] = kind
        if kind == "outside" and word != "outside":
            strangers.append(word)
    return kinds, outside_notes(strangers)


def kind_of(word: str) -> str:
    """Return what a word of label_source means."""
    if word == "":
        return ""
    for kind, known in (
        ("alert", ALERT_WORDS),
        ("audit", AUDIT_WORDS),
        ("chosen", CHOSEN_WORDS),
    ):
        if word.partition(":")[0] in known:
            return kind
    return "outside"


def outside_notes(words: Sequence[str]) -> list[Problem]:
    """Say which words were taken to mean that a label came from outside."""
    if not words:
        return []
    return [
        Problem(
            "{argument}: {words}{more} {are} not known, and taken to mean that the label came from "
            "outside. Such events below the threshold are a lower bound on what was missed. Known "
            "words are alert, audit, band, tail, random, stratified, explored, adaptive, "
            "uncertainty and outside.",
            code="unknown-source",
            argument=Argument("label_source"),
            words=", ".join(repr(word) for word in words[:3]),
            more=f" and {len(words) - 3:,} other words" if len(words) > 3 else "",
            are="is" if len(words) == 1 else "are",
            count=len(words),
        )
    ]


def batch_of(
    name: Any,
    scores: Array,
    labels: Array,
    threshold: float,
    *,
    inclusion: Array | None = None,
    kinds: Kinds | None = None,
    at_time: Array | None = None,
    frame: NDArray[np.int64] | None = None,
    table_of: Callable[[Array, Array], ScoreTable] = score_table_of,
) -> ScoreBatch:
    """Return one batch of arrays, its labels sorted by provenance."""
    if kinds is not None:
        lost = (kinds == "audit") & ~np.isnan(labels) & (scores < threshold)
        if inclusion is not None:
            lost &= np.isnan(inclusion)
        if lost.any():
            raise audits_without_probability(int(lost.sum()), int(np.flatnonzero(lost)[0]))
    if inclusion is None and kinds is None and at_time is None:
        table = table_of(scores, labels)
        none = np.empty(0)
        notes = scattered_notes(table, threshold, none)
        nothing = Audited(none, none, none, np.empty(0, np.int64))
        return ScoreBatch(name, table, threshold, nothing, none, tuple(notes))
    usable, audit, outside = label_roles(
        scores, labels, threshold, inclusion=inclusion, sources=kinds, at_time=at_time
    )
    chance = np.ones(len(scores)) if inclusion is None else inclusion
    of = np.zeros(len(scores), np.int64) if frame is None else frame
    below = scores < threshold
    waiting = below & (chance < 1.0) & (chance > 0.0) & np.isnan(labels)
    waiting &= np.isnan(chance[below]).any()
    if waiting.any() and audit.any() and (chance[audit] > 0.0).all():
        both = audit | waiting
        chance = chance.copy()
        for number in np.unique(of[both]):
            here = both & (of == number)
            chance[here] = answered(scores[here], chance[here], audit[here])
    audited, notes = adjust_for_unlabelled(
        Audited(scores[audit], labels[audit], chance[audit], of[audit]), int(waiting.sum())
    )
    table = table_of(scores, usable)
    notes += scattered_notes(table, threshold, audited.score)
    return ScoreBatch(
        name,
        table,
        threshold,
        audited,
        scores[outside & (labels == 1.0)],
        tuple(notes),
    )


def audits_without_probability(count: int, row: int) -> DataError:
    """Audits without the probability of their draw cannot stand for other rows."""
    return DataError(
        "{source} says audit for {count:,} labelled {rows} below the threshold without an "
        "inclusion probability (first at row {row:,}).",
        code="audit-without-probability",
        source=Argument("label_source"),
        count=count,
        rows="row" if count == 1 else "rows",
        row=row,
        cure=Phrase(
            "Pass inclusion= with the probability that choose_labels returned for each row",
            "Name the column of probabilities with --inclusion, or give the list with --audit",
        ),
        remedy="{cure}.",
    )


def adjust_for_unlabelled(
    audited: Audited, unlabelled: int, share: float = 1.0
) -> tuple[Audited, list[Problem]]:
    """Return the audited rows, and a note where some drawn rows have no label.

    Where inclusion is missing for rows that were not drawn, a row with a probability and no label
    was drawn and never labelled. Probabilities are multiplied by `share`, where those of each
    stratum have not been lowered already.
    """
    if (audited.probability == 0.0).any():
        raise DataError(
            "{argument} is 0 for {count:,} labelled rows below the threshold: a row that was drawn "
            "had a probability above 0.",
            code="inclusion-range",
            argument=Argument("inclusion"),
            count=int((audited.probability == 0).sum()),
            remedy="Use a missing value for rows that were not drawn.",
        )
    if unlabelled == 0:
        return audited, []
    drawn = unlabelled + len(audited.score)
    if len(audited.score) == 0:
        note = Problem(
            "None of the {drawn:,} rows drawn for the audit has a label, so it says nothing yet.",
            code="audit-unlabelled",
            count=unlabelled,
            drawn=drawn,
            remedy="Label them.",
        )
        return audited, [note]
    note = Problem(
        "{count:,} of {drawn:,} rows drawn for the audit have no label: they are taken to be like "
        "the others.",
        code="audit-unlabelled",
        count=unlabelled,
        drawn=drawn,
        cure=Phrase(
            "Label them, or use choose_labels(...).first(n) if work stopped early",
            "Fill them in; if work went from the top down and stopped early, that is in order",
        ),
        remedy="{cure}.",
    )
    return audited._replace(probability=audited.probability * share), [note]


def scattered_notes(table: ScoreTable, threshold: float, audited: Array) -> list[Problem]:
    """Ask about labels below the threshold that are neither a band nor drawn with a probability."""
    cut = table.above(threshold)
    below = table.events[cut:] + table.others[cut:]
    gap = table.unlabelled[cut:] > 0
    if len(audited):
        spot = np.searchsorted(-table.score[cut:], -audited)
        spot = np.minimum(spot, len(below) - 1)
        np.subtract.at(below, spot, 1.0)
        gap[spot] = True
    gaps = np.flatnonzero(gap)
    scattered = float(below[gaps[0] :].sum()) if len(gaps) else 0.0
    if scattered < 1:
        return []
    cure = Phrase(
        "If they were drawn at random, pass their inclusion=",
        "That is right for rows of earlier lists; for others that were drawn at random give the "
        "list with --audit, or a column with --inclusion",
    )
    if float(table.others[cut:][gaps[0] :].sum()) == 0:
        cure = Phrase(
            "All are events: if they arrived from outside, say so with label_source=",
            "All are events: if they arrived from outside, say so with --label-source",
        )
    return [
        Problem(
            "{count:,} {labels} scattered below the threshold without an inclusion probability "
            "below 1: each counts for itself and stands for no other row.",
            code="scattered-labels",
            count=round(scattered),
            labels="label is" if round(scattered) == 1 else "labels are",
            cure=cure,
            remedy="{cure}.",
        )
    ]


# --- arrays or rows -------------------------------------------------------------------------------


def read_batches(
    scores: ArrayLike | Rows,
    labels: ArrayLike | None,
    threshold: float | Mapping[Any, float],
    *,
    inclusion: ArrayLike | HasInclusion | None = None,
    batch: ArrayLike | None = None,
    frame: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    second_scores: ArrayLike | None = None,
    label_source: ArrayLike | None = None,
    threshold_at_time: ArrayLike | None = None,
    engine: Engine = None,
) -> list[ScoreBatch]:
    """Return the batches of some scores; arguments as of `estimate_performance`."""
    refuse_other_index(
        scores=scores,
        labels=labels,
        inclusion=inclusion,
        batch=batch,
        frame=frame,
        groups=groups,
        second_scores=second_scores,
        label_source=label_source,
        threshold_at_time=threshold_at_time,
    )
    if isinstance(scores, Rows):
        if labels is not None:
            raise rows_have_labels()
        _refuse_in_memory(batch=batch, groups=groups, second_scores=second_scores)
        columns = {
            "inclusion": inclusion,
            "frame": frame,
            "label_source": label_source,
            "threshold_at_time": threshold_at_time,
        }
        return [_from_rows(scores, threshold, columns, engine)]
    values = read_scores(scores)
    known = read_labels(labels, len(values))
    chance = read_inclusion(inclusion, len(values))
    kinds, notes = (None, []) if label_source is None else source_kinds(label_source, known)
    at_time = None
    if threshold_at_time is not None:
        refuse_length(
            threshold_at_time, len(values), "threshold_at_time", "NaN where it is not known"
        )
        at_time = read_column(threshold_at_time, "threshold_at_time")
    of_frame = frame_numbers(inclusion, frame, len(values))
    named = None if groups is None else column_of(groups, "groups", len(values))
    second = read_second(second_scores, len(values))
    batches = []
    names, parts = rows_by_batch(batch, len(values))
    marks = read_threshold(threshold, names)
    for name, rows, mark in zip(names, parts, marks, strict=True):
        unit = read_units(
            values[rows],
            known[rows],
            mark,
            None if named is None else named[rows],
            None if second is None else second[rows],
        )
        one = batch_of(
            name,
            unit.scores,
            unit.labels,
            mark,
            inclusion=None if chance is None else unit.gather(chance[rows]),
            kinds=None if kinds is None else kinds[rows][unit.first],
            at_time=None if at_time is None else at_time[rows][unit.first],
            frame=None if of_frame is None else _greatest_frame(unit, of_frame[rows]),
            table_of=partial(_table_of, threshold=mark, engine=engine),
        )
        batches.append(one._replace(notes=(*notes, *one.notes)))
        notes = []
    return batches


def _greatest_frame(unit: Units, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return unit.gather(np.asarray(numbers, dtype=np.float64)).astype(np.int64)


def frame_numbers(
    inclusion: object, frame: ArrayLike | None, n_rows: int
) -> NDArray[np.int64] | None:
    """Return the number of each row's frame; a choice of rows brings its own."""
    if frame is None and hasattr(inclusion, "frames"):
        frame = inclusion.frames(n_rows)
    if frame is None:
        return None
    held = column_of(frame, "frame", n_rows)
    missing = np.array([is_missing(one) for one in held.tolist()], dtype=bool)
    numbers = np.zeros(n_rows, dtype=np.int64)
    if not missing.all():
        words = held[~missing]
        words = words if words.dtype.kind in "if" else words.astype(str)
        numbers[~missing] = np.unique(words, return_inverse=True)[1]
    return numbers


def _refuse_in_memory(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                "{argument} needs the rows in memory.",
                code="batch-of-rows",
                argument=Argument(name),
                remedy="Pass arrays, or open each batch by itself.",
            )


def rows_have_labels() -> UsageError:
    """Labels may be given once: in the rows or beside them."""
    return UsageError(
        "{argument} must be left out: Rows carry their own labels.",
        code="labels-in-rows",
        argument=Argument("labels"),
        remedy="Name their column with open_rows(..., label=...).",
    )


def _table_of(scores: Array, labels: Array, *, threshold: float, engine: Engine) -> ScoreTable:
    if len(scores) <= ROW_BY_ROW:
        return score_table_of(scores, labels)
    from scarce.missed.digest import ScoreDigest  # compiled loops: only for long data

    digest = ScoreDigest.of(scores, labels, bins=BINS, cuts=[threshold], engine=engine)
    return score_table_of_digest(digest)


class _Columns(NamedTuple):
    """Where the columns of some rows are (-1: nowhere), and what each word of label_source means"""

    score: int
    inclusion: int
    source: int
    at_time: int
    frame: int
    kinds: tuple[str, ...]
    threshold: float


class _BlockResult(NamedTuple):
    """What a block of rows adds to a batch."""

    digest: Any  # a ScoreDigest, and what was wrong with some rows
    audited: Array  # (rows, 4): score, label, probability, frame
    outside: Array
    unlabelled: tuple[int, int]  # rows drawn and not labelled, rows not drawn; all below
    lost: tuple[int, int]  # audits without a probability: how many, and the first row


def _from_rows(
    rows: Rows,
    threshold: float | Mapping[Any, float],
    names: Mapping[str, object],
    engine: Engine,
) -> ScoreBatch:
    columns, notes = _find_columns(rows, read_threshold(threshold, [None])[0], names)
    if len(rows) <= ROW_BY_ROW:
        return _row_by_row(rows, columns, notes, engine)
    from scarce.missed.digest import refuse_faults

    found: _BlockResult = rows.fold(_sort_block, columns, merge=_merge, engine=engine)
    if found.lost[0]:
        raise audits_without_probability(*found.lost)
    digest, faults = found.digest
    refuse_faults(faults, rows.names[columns.score], len(rows))
    table = score_table_of_digest(digest)
    score, label, chance, frame = found.audited.T
    audited = Audited(score, label, chance, frame.astype(np.int64))
    waiting, not_drawn = found.unlabelled
    waiting = waiting if not_drawn else 0
    share = len(audited.score) / max(1, waiting + len(audited.score))
    audited, more = adjust_for_unlabelled(audited, waiting, share)
    notes += [*more, *scattered_notes(table, columns.threshold, audited.score)]
    return ScoreBatch(None, table, columns.threshold, audited, found.outside, tuple(notes))


def _find_columns(
    rows: Rows, threshold: float, names: Mapping[str, object]
) -> tuple[_Columns, list[Problem]]:
    """Return where the named columns are; the one that is left is the score."""
    schema = rows.schema
    if schema.weight is not None:
        raise UsageError(
            "These rows have weights ({column!r}), but alerts are counted one by one.",
            code="weights-in-rows",
            column=schema.weight,
            weight=Argument("weight"),
            inclusion=Argument("inclusion"),
            remedy=[
                "Open them without {weight}.",
                "For rows drawn with a known probability name {inclusion}.",
            ],
        )
    inclusion, source, at_time, frame = (
        _column(rows, names[argument], argument)
        for argument in ("inclusion", "label_source", "threshold_at_time", "frame")
    )
    left = [at for at in range(rows.n_columns) if at not in (inclusion, source, at_time, frame)]
    if len(left) != 1:
        raise UsageError(
            "These rows have the columns {columns}; apart from those named here, one must be left "
            "for the score.",
            code="score-column",
            columns=list(rows.names),
            remedy="Open them with open_rows(..., columns=['score', ...]).",
        )
    for at, role in ((left[0], "scores"), (inclusion, "inclusion"), (at_time, "thresholds")):
        if at >= 0 and schema.columns[at].kind == "category":
            raise DataError(
                "Column {column!r} holds categories, but {role} must be numbers.",
                code="text-column",
                column=rows.names[at],
                role=role,
            )
    if source >= 0 and schema.columns[source].kind != "category":
        raise DataError(
            "Column {column!r} holds numbers, but {argument} must be words.",
            code="number-column",
            column=rows.names[source],
            argument=Argument("label_source"),
            categories=Argument("categories", [rows.names[source]], call="open_rows"),
            remedy="Read it as categories with {categories}, or name another column.",
        )
    levels = () if source < 0 else schema.columns[source].levels
    words = [str(word).strip().lower() for word in levels]
    kinds = tuple(kind_of(word) for word in words)
    strangers = [
        str(level)
        for level, word, kind in zip(levels, words, kinds, strict=True)
        if kind == "outside" and word != "outside"
    ]
    return (
        _Columns(left[0], inclusion, source, at_time, frame, kinds, threshold),
        outside_notes(strangers),
    )


def _column(rows: Rows, name: object, argument: str) -> int:
    if name is None:
        return -1
    if not isinstance(name, str) or name not in rows.names:
        raise UsageError(
            "{argument} must name one of the columns {columns}.{hint}",
            code="unknown-column",
            argument=Argument(argument, name),
            columns=list(rows.names),
            hint=suggest(str(name), rows.names),
        )
    return rows.names.index(name)


def _row_by_row(rows: Rows, columns: _Columns, notes: list[Problem], engine: Engine) -> ScoreBatch:
    """Keep rows that fit into memory one by one, as arrays are."""
    values = rows.map(_read_block, columns, engine=engine)
    scores, labels, inclusion, codes, at_time, frame = values.T
    one = batch_of(
        None,
        read_scores(scores, rows.names[columns.score]),
        labels,
        columns.threshold,
        inclusion=None if columns.inclusion < 0 else read_inclusion(inclusion, len(scores)),
        kinds=None if columns.source < 0 else _kinds(codes, columns),
        at_time=None if columns.at_time < 0 else at_time,
        frame=None if columns.frame < 0 else np.nan_to_num(frame).astype(np.int64),
    )
    return one._replace(notes=(*notes, *one.notes))


def _read_block(block: Block, columns: _Columns) -> Array:
    """Kernel: score, label, inclusion, code of the source, threshold at the time, frame."""
    out = np.full((len(block), 6), np.nan)
    out[:, 0] = block.X[:, columns.score]
    if block.y is not None:
        out[:, 1] = block.y
    for at, place in enumerate(columns[1:5], start=2):
        if place >= 0:
            out[:, at] = block.X[:, place]
    return out


def _kinds(codes: Array, columns: _Columns) -> Kinds:
    place = np.where(np.isnan(codes), len(columns.kinds), codes).astype(np.int64)
    return np.array([*columns.kinds, ""], dtype=object)[place]


def _sort_block(block: Block, columns: _Columns) -> _BlockResult:
    """Kernel: the digest of a block with usable labels, and the rows that are kept one by one."""
    from scarce.missed.digest import digest_block

    scores = block.X[:, columns.score]
    labels = np.full(len(block), np.nan) if block.y is None else block.y
    if columns.inclusion < 0 and columns.source < 0 and columns.at_time < 0:
        digest = digest_block(block, (columns.score, BINS, np.array([columns.threshold])))
        return _BlockResult(digest, np.empty((0, 4)), np.empty(0), (0, 0), (0, 0))
    inclusion = None if columns.inclusion < 0 else block.X[:, columns.inclusion]
    at_time = None if columns.at_time < 0 else block.X[:, columns.at_time]
    kinds, lost = None, np.empty(0, np.int64)
    if columns.source >= 0:
        kinds = _kinds(block.X[:, columns.source], columns)
        audits = (kinds == "audit") & ~np.isnan(labels) & (scores < columns.threshold)
        lost = np.flatnonzero(audits if inclusion is None else audits & np.isnan(inclusion))
    usable, audit, outside = label_roles(
        scores, labels, columns.threshold, inclusion=inclusion, sources=kinds, at_time=at_time
    )
    sorted_out = Block(scores[:, None].copy(), usable, None, block.start, block.index)
    digest = digest_block(sorted_out, (0, BINS, np.array([columns.threshold])))
    chance = np.ones(len(scores)) if inclusion is None else inclusion
    strange = np.flatnonzero((chance < 0) | (chance > 1))
    if len(strange):
        raise strange_probability(float(chance[strange[0]]), block.start + int(strange[0]))
    below = scores < columns.threshold
    unlabelled = (
        int((np.isnan(labels) & below & (chance < 1.0) & (chance > 0.0)).sum()),
        int((np.isnan(chance) & below).sum()),
    )
    frame = np.zeros(len(scores))
    if columns.frame >= 0:
        frame = np.nan_to_num(block.X[:, columns.frame])
    kept = np.stack([scores[audit], labels[audit], chance[audit], frame[audit]], axis=1)
    first = (len(lost), block.start + int(lost[0]) if len(lost) else 0)
    return _BlockResult(digest, kept, scores[outside & (labels == 1.0)].copy(), unlabelled, first)


def _merge(total: _BlockResult, more: _BlockResult) -> _BlockResult:
    from scarce.missed.digest import merge_blocks

    return _BlockResult(
        merge_blocks(total.digest, more.digest),
        np.concatenate([total.audited, more.audited]),
        np.concatenate([total.outside, more.outside]),
        (
            total.unlabelled[0] + more.unlabelled[0],
            total.unlabelled[1] + more.unlabelled[1],
        ),
        (total.lost[0] + more.lost[0], (total if total.lost[0] else more).lost[1]),
    )
