"""Which labels may be used for what? Scores, labels and where each label came from, sorted out.

    alert     the row scored at or above the threshold of its time and was investigated
    audit     it was drawn with a known probability below 1
    chosen    it was picked by its score (a band below the threshold, a round of labelling)
    outside   anything else: a complaint, a chargeback. Nobody knows how many like it stayed silent,
              so an event from outside is a lower bound on what was missed and never a sample

Assumes one score and one label (1, 0 or missing) per row. Fits nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scarce.engine.block import Array
from scarce.errors import DataError
from scarce.missed.score_table import Flags, Ledger, ledger_of

ALERT_WORDS = {"alert", "alerts", "alarm", "tail", "investigated", "investigation"}
AUDIT_WORDS = {"audit", "audited", "random", "sample", "stratified"}
CHOSEN_WORDS = {"band", "adaptive", "uncertainty"}


class Audited(NamedTuple):
    """Rows that were drawn with a known probability and labelled."""

    score: Array
    label: Array
    probability: Array


class Intake(NamedTuple):
    """One batch, ready for an estimate."""

    name: Any
    ledger: Ledger
    threshold: float
    audited: Audited
    outside: Array  # scores of events that are known from outside
    notes: tuple[str, ...]


def sort_out(
    scores: Array,
    labels: Array,
    threshold: float,
    *,
    inclusion: Array | None = None,
    sources: Any = None,
    at_time: Array | None = None,
) -> tuple[Array, Flags, Flags]:
    """Return labels that may enter a likelihood, which rows are audits, and which are outside.

    Parameters
    ----------
    sources : ndarray of {"alert", "audit", "chosen", "outside", ""} or None
        Kind of each row's source, "" where it is not said.

    Examples
    --------
    >>> usable, audit, outside = sort_out(np.array([3.0, 1.0, 0.5]), np.array([1.0, 1.0, 0.0]),
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
        outside = labelled & (sources == "outside") & ~drawn  # a stated probability is a draw
    limit = np.full(len(scores), threshold)
    if at_time is not None:
        limit = np.where(np.isnan(at_time), threshold, at_time)
        late = labelled & (scores < limit) & ~drawn & ~certain
        if sources is not None:
            late &= (sources != "chosen") & (sources != "audit")
        outside |= late
    # What scored above the threshold of its time was investigated whoever spoke first.
    outside &= ~(scores >= limit)
    return np.where(outside, np.nan, labels), drawn & ~outside, outside


def source_kinds(label_source: Any, labels: Array) -> tuple[Any, list[str]]:
    """Return the kind of each row's label source, and what was made of words without a meaning."""
    words = np.array(
        ["" if _absent(word) else str(word).strip().lower() for word in np.ravel(label_source)],
        dtype=object,
    )
    if words.shape != labels.shape:
        raise DataError(
            f"There are {len(labels):,} scores and {len(words):,} values of label_source: give one "
            "per row, or leave it out."
        )
    kinds = np.full(len(words), "", dtype=object)
    strangers = []
    for word in sorted(set(words.tolist())):
        chosen = words == word
        kind = kind_of(word)
        kinds[chosen] = kind
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


def outside_notes(words: Sequence[str]) -> list[str]:
    """Say which words were taken to mean that a label came from outside."""
    if not words:
        return []
    shown = ", ".join(repr(word) for word in words[:3])
    more = f" and {len(words) - 3:,} other words are" if len(words) > 3 else ""
    are = more or (" is" if len(words) == 1 else " are")
    return [
        f"label_source {shown}{are} taken as arrived from outside: events below the threshold are "
        "then a lower bound on what was missed. Known words are alert, audit, band, tail, random, "
        "stratified, adaptive, uncertainty and outside."
    ]


def _absent(word: Any) -> bool:
    return word is None or type(word).__name__ == "NAType" or word != word


def intake_of(
    name: Any,
    scores: Array,
    labels: Array,
    threshold: float,
    *,
    inclusion: Array | None = None,
    kinds: Any = None,
    at_time: Array | None = None,
    ledger_of: Callable[[Array, Array], Ledger] = ledger_of,
) -> Intake:
    """Return one batch of arrays, sorted out."""
    if kinds is not None:
        lost = (kinds == "audit") & ~np.isnan(labels) & (scores < threshold)
        if inclusion is not None:
            lost &= np.isnan(inclusion)
        if lost.any():
            raise lost_audits(int(lost.sum()), int(np.flatnonzero(lost)[0]))
    if inclusion is None and kinds is None and at_time is None:
        ledger = ledger_of(scores, labels)
        none = np.empty(0)
        notes = scattered_note(ledger, threshold, none)
        return Intake(name, ledger, threshold, Audited(none, none, none), none, tuple(notes))
    usable, audit, outside = sort_out(
        scores, labels, threshold, inclusion=inclusion, sources=kinds, at_time=at_time
    )
    chance = np.ones(len(scores)) if inclusion is None else inclusion
    below = scores < threshold
    audited, notes = answered(
        Audited(scores[audit], labels[audit], chance[audit]),
        int((np.isnan(labels) & below & (chance < 1.0)).sum()),
        int((np.isnan(chance) & below).sum()),
    )
    ledger = ledger_of(scores, usable)
    notes += scattered_note(ledger, threshold, audited.score)
    return Intake(
        name,
        ledger,
        threshold,
        audited,
        scores[outside & (labels == 1.0)],
        tuple(notes),
    )


def lost_audits(count: int, row: int) -> DataError:
    """Audits without the probability of their draw cannot be counted for other rows."""
    return DataError(
        f"label_source says audit for {count:,} labelled rows below the threshold that have no "
        f"inclusion probability (first at row {row:,}): pass inclusion= with the probability that "
        "choose_labels returned for each row."
    )


def answered(audited: Audited, silent: int, not_drawn: int) -> tuple[Audited, list[str]]:
    """Return the audited rows, their probabilities lowered where some that were drawn stayed open.

    Where inclusion is missing for rows that were not drawn, a row with a probability and no label
    was drawn and never labelled. The labelled ones are then taken as a draw from those drawn.
    """
    if (audited.probability == 0.0).any():
        raise DataError(
            f"inclusion is 0 for {int((audited.probability == 0).sum()):,} labelled rows below the "
            "threshold: a row that was drawn had a probability above 0. Pass NaN for rows that "
            "were not drawn."
        )
    if silent == 0 or not_drawn == 0:
        return audited, []
    drawn = silent + len(audited.score)
    if len(audited.score) == 0:
        return audited, [
            f"None of the {drawn:,} rows drawn for the audit has a label: it says nothing yet. "
            "Label them."
        ]
    lowered = audited.probability * (len(audited.score) / drawn)
    return audited._replace(probability=lowered), [
        f"{silent:,} of {drawn:,} rows drawn for the audit have no label: they are taken to be "
        "like the others. Label them, or use choose_labels(...).first(n) if work stopped early."
    ]


def scattered_note(ledger: Ledger, threshold: float, audited: Array) -> list[str]:
    """Ask about labels below the threshold that are neither a band nor drawn with a probability."""
    cut = ledger.above(threshold)
    below = ledger.events[cut:] + ledger.others[cut:]
    gap = ledger.unlabelled[cut:] > 0
    if len(audited):
        spot = np.searchsorted(-ledger.score[cut:], -audited)
        spot = np.minimum(spot, len(below) - 1)
        np.subtract.at(below, spot, 1.0)
        gap[spot] = True
    gaps = np.flatnonzero(gap)
    scattered = float(below[gaps[0] :].sum()) if len(gaps) else 0.0
    if scattered < 1:
        return []
    cure = "If they were drawn at random, pass their inclusion=."
    if float(ledger.others[cut:][gaps[0] :].sum()) == 0:
        cure = "All are events: if they arrived from outside, say so with label_source=."
    return [
        f"{scattered:,.0f} labels lie scattered below the threshold without a probability below 1: "
        f"they count as they are and stand for no other row. {cure}"
    ]
