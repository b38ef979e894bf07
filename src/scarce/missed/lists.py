"""Several lists of checks: what does each checked row stand for?

Lists of different frames speak for different rows, and add. Lists of the same frame are one draw:
of rows that list j took with probability p_j from those that were still open,

    probability = 1 - product over lists of (1 - p_j(score))

because a random sample, and then a random sample of what it left, is a random sample of both sizes.
Where only some of a list's rows were checked they stand for the others of their stratum. Rows that
were chosen by rule stand for themselves, and so does a row that scores no lower than a band: all
rows up there have a label. Anything else, such as lists that do not say what they were drawn from,
is refused. Assumes that a list was drawn after the earlier ones of its frame had been checked, and
that rows were not left open because of their answer.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from scarce.checks import read_labels, read_scores, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError
from scarce.missed.choose import BY_RULE, LabelChoice
from scarce.missed.frames import Frame, digest_of, frame_of_text
from scarce.missed.strata import answered, chance_at
from scarce.missed.units import rows_by_batch

BY_SCORE = ("band", "tail")  # policies that take all of the greatest scores
AT_RANDOM = ("audit", "stratified", "random", "pps", "explored")

Key = TypeVar("Key", bound=Hashable)


class CheckedRow(NamedTuple):
    """One row of a list that was drawn, with its answer."""

    label: Any  # None where nobody has checked it
    probability: float
    score: float = math.nan
    source: str = ""  # name of the list
    policy: str = ""
    frame: str = ""  # what it was drawn from, as frames.py writes it


@dataclass(frozen=True, eq=False)
class CombinedAudits:
    """Labels and inclusion probabilities of all rows after several audits.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
    probability : ndarray of shape (n_rows,)
        One over the rows that each checked row stands for; NaN for rows on no list.
    frame : ndarray of object of shape (n_rows,)
        Which frame each row on a list belongs to; None for the others.
    remarks : tuple of Problem
        What the reader should know.
    """

    labels: Array
    probability: Array
    frame: NDArray[np.object_]
    remarks: tuple[Problem, ...]

    def inclusion(self, n_rows: int) -> Array:
        """Return the probabilities: what `estimate_performance` takes as `inclusion=`."""
        return self.probability

    def frames(self, n_rows: int) -> NDArray[np.object_]:
        """Return the frame of each row."""
        return self.frame


def combine_audits(
    audits: Sequence[tuple[LabelChoice, ArrayLike]],
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    batch: ArrayLike | None = None,
) -> CombinedAudits:
    """Combine several audits into the labels and probabilities that an estimate takes.

    Parameters
    ----------
    audits : sequence of (LabelChoice, array-like)
        What `choose_labels` returned, and one answer for each of its rows: 1 event, 0 none, missing
        where the row was not checked. Audits of the same scores are combined, from the earliest to
        the last; audits of different batches add.
    scores : array-like of shape (n_rows,)
        Of all rows, as they were when the audits were drawn.
    labels : array-like of shape (n_rows,), optional
        Labels known otherwise, such as those of the alerts.
    batch : array-like of shape (n_rows,), optional
        Which week (site, model) a row belongs to, where audits were drawn from one each.

    Returns
    -------
    CombinedAudits
        `labels`, and itself as `inclusion=` of `estimate_performance`, and remarks.

    **Assumes** that each audit was drawn after the earlier ones of its rows had been checked.

    Examples
    --------
    >>> from scarce import choose_labels
    >>> scores, truth = np.arange(200.0), np.arange(200) % 50 == 49
    >>> labels = np.where(scores >= 180, truth, np.nan)
    >>> first = choose_labels(scores, labels, n=20, threshold=180, random_state=0)
    >>> known = labels.copy()
    >>> known[first.rows] = truth[first.rows]
    >>> second = choose_labels(scores, known, n=20, threshold=180, random_state=1)
    >>> both = combine_audits(
    ...     [(first, truth[first.rows]), (second, truth[second.rows])], scores, labels)
    >>> int(np.isfinite(both.probability).sum()), both.remarks
    (40, ())
    """
    refuse_other_index(scores=scores, labels=labels, batch=batch)
    values = read_scores(scores)
    known = read_labels(labels, len(values)).copy()
    names, parts = rows_by_batch(batch, len(values))
    by_name = {" ".join(str(name).split()): at for name, at in zip(names, parts, strict=True)}
    rank = np.empty(len(values))  # in place of the scores: no rescaling of them matters
    for rows in parts:
        rank[rows] = rankdata(values[rows])
    lists = []
    for number, (choice, answers) in enumerate(audits, start=1):
        told = read_labels(answers, len(choice), "answers")
        where, words = _places(choice, values, by_name, number)
        lists.append(
            {
                int(row): CheckedRow(
                    None if math.isnan(label) else float(label),
                    float(probability),
                    float(rank[row]),
                    f"audit {number}",
                    str(policy),
                    str(frame),
                )
                for row, label, probability, policy, frame in zip(
                    where, told, choice.probability, choice.policy, words, strict=True
                )
            }
        )
    _refuse_overlap(lists)
    combined, remarks = combine_lists(lists)
    probability = np.full(len(values), np.nan)
    frames = np.full(len(values), None, dtype=object)
    for row, checked in combined.items():
        probability[row], frames[row] = checked.probability, checked.frame
        if checked.label is None:
            continue
        if known[row] == 1.0 - checked.label:
            before = CheckedRow(float(known[row]), 1.0, source="labels")
            raise _disagreement(before, checked, "row", row)
        known[row] = checked.label
    return CombinedAudits(known, probability, frames, tuple(remarks))


def _places(
    choice: LabelChoice, values: Array, by_name: Mapping[str, NDArray[np.int64]], number: int
) -> tuple[NDArray[np.int64], list[str]]:
    """Return positions among all scores of the rows of a choice, and the frame of each.

    A choice made from one batch alone does not know the batch's name: it is found by its scores.
    """
    rows, words = choice.rows, [str(word) for word in choice.frame]
    if choice.n_rows not in (0, len(values)) and len(rows):
        frame = frame_of_text(words[0]) or Frame("", 0)
        held = {frame.name: by_name[frame.name]} if frame.name in by_name else by_name
        held = {name: one for name, one in held.items() if len(one) == choice.n_rows}
        if frame.name not in held:
            held = {
                name: one for name, one in held.items() if digest_of(values[one]) == frame.digest
            }
        if len(held) != 1:
            raise DataError(
                "Audit {audit} was drawn from {drawn:,} scores that are not those given here.",
                code="frame-unknown",
                audit=number,
                drawn=choice.n_rows,
                batch=Argument("batch"),
                remedy="Give the scores of all batches, and name the batch of each row: {batch}.",
            )
        ((name, where),) = held.items()
        return np.asarray(where[rows]), [str(frame._replace(name=name))] * len(rows)
    if len(rows) and rows.max() >= len(values):
        raise UsageError(
            "Audit {audit} has row {row:,}, but there are {rows:,} scores.",
            code="length-mismatch",
            audit=number,
            row=int(rows.max()),
            rows=len(values),
        )
    return rows, words


def _refuse_overlap(lists: Sequence[Mapping[int, CheckedRow]]) -> None:
    """Refuse a list of all rows beside one of other frames: they speak for the same rows."""
    first: dict[tuple[str, str], CheckedRow] = {}
    for one in lists:
        for row in one.values():
            frame = frame_of_text(row.frame)
            if frame is not None and row.probability < 1.0:
                first.setdefault(frame.of, row)
    whole = next((row for (_, name), row in first.items() if not name), None)
    if whole is not None and len(first) > 1:
        raise _overlap(whole, next(row for row in first.values() if row is not whole))


def _overlap(one: CheckedRow, other: CheckedRow) -> DataError:
    return DataError(
        "{first} and {second} were drawn from different scores or groups of the same rows: what "
        "their rows stand for cannot be added.",
        code="frame-overlap",
        first=one.source,
        second=other.source,
        remedy="Estimate with one of them, and give the other's labels as known.",
    )


def combine_lists(
    lists: Sequence[Mapping[Key, CheckedRow]], by: str = "row"
) -> tuple[dict[Key, CheckedRow], list[Problem]]:
    """Join lists of checked rows, each row with the probability that it counts with, and remarks.

    Parameters
    ----------
    lists : sequence of mappings of key -> CheckedRow
        From the earliest to the last. A key is a position or a name of a row. A list may hold rows
        of several frames, as lists that were glued together do.
    by : str
        What the keys are, for messages.

    Returns
    -------
    rows : dict
        `frame` is a short name, the same for all rows of one frame.
    remarks : list of Problem

    Examples
    --------
    >>> a, b = "60 rows; scores 5f0c31d2a9be", "50 rows; scores 5f0c31d2a9be"
    >>> first = {1: CheckedRow(0, 0.1, 1.0, "a", frame=a), 2: CheckedRow(1, 0.1, 0.9, "a", frame=a)}
    >>> second = {4: CheckedRow(0, 0.2, 0.3, "b", frame=b)}
    >>> rows, _ = combine_lists([first, second])
    >>> {key: round(row.probability, 3) for key, row in rows.items()}
    {1: 0.28, 2: 0.28, 4: 0.28}
    """
    _refuse_copies(lists)
    by_frame: dict[tuple[str, str], list[dict[Key, CheckedRow]]] = {}
    for one in lists:
        parts: dict[tuple[str, str], dict[Key, CheckedRow]] = {}
        for key, row in one.items():
            row = row._replace(probability=1.0) if row.policy in BY_RULE else row
            parts.setdefault(_identity(row, len(lists) > 1), {})[key] = row
        for name, part in parts.items():
            by_frame.setdefault(name, []).append(part)
    _refuse_two_scorings(by_frame)
    joined: dict[Key, CheckedRow] = {}
    remarks: list[Problem] = []
    for name, held in by_frame.items():
        _refuse_thresholds(held)
        for at, part in enumerate(_pooled(held, remarks)):
            last = at == len(held) - 1
            for key, row in part.items():
                if row.label is None and not last:
                    continue
                row = row._replace(frame="/".join(name))
                joined[key] = _joined(joined.get(key), row, by, key)
    return joined, remarks


def _joined(before: CheckedRow | None, row: CheckedRow, by: str, key: Hashable) -> CheckedRow:
    """Return what two lists say of one row."""
    if before is None:
        return row
    if before.frame != row.frame and min(before.probability, row.probability) < 1.0:
        raise DataError(
            "{first} and {second} both hold {by} {key}, but were drawn from different scores.",
            code="row-in-two-frames",
            first=before.source,
            second=row.source,
            by=by,
            key=key,
            remedy="Give lists that were drawn from one scoring of these rows.",
        )
    if before.label is None:
        return row
    if row.label is not None and row.label != before.label:
        raise _disagreement(before, row, by, key)
    return row._replace(label=before.label, probability=max(row.probability, before.probability))


def _identity(row: CheckedRow, several: bool) -> tuple[str, str]:
    """What makes two lists lists of the same rows."""
    frame = frame_of_text(row.frame)
    if frame is not None:
        return frame.of
    if several and row.probability < 1.0:
        raise DataError(
            "{source} does not say what its rows were drawn from (column 'frame'): alone it can be "
            "counted, but not together with other lists.",
            code="frame-unknown",
            source=row.source,
            remedy="Use the lists as they were written, with all their columns.",
        )
    return ("", "")


def _refuse_two_scorings(
    by_frame: Mapping[tuple[str, str], Sequence[Mapping[Key, CheckedRow]]],
) -> None:
    """Refuse lists of one batch that were drawn from different scores of it."""
    seen: dict[str, CheckedRow] = {}
    for (_, name), held in by_frame.items():
        drawn = [row for one in held for row in one.values() if row.probability < 1.0]
        if name and drawn and seen.setdefault(name, drawn[0]) is not drawn[0]:
            raise _overlap(seen[name], drawn[0])


def _refuse_thresholds(lists: Sequence[Mapping[Key, CheckedRow]]) -> None:
    """Refuse lists of the same scores that were drawn below different thresholds."""
    seen: dict[float | None, str] = {}
    for one in lists:
        for row in one.values():
            frame = frame_of_text(row.frame)
            if frame is not None and row.probability < 1.0:
                seen.setdefault(frame.threshold, row.source)
    if len(seen) > 1:
        (mark, first), (other, second) = list(seen.items())[:2]
        raise DataError(
            "{first} was drawn below {mark} and {second} below {other}, from the same scores: rows "
            "between the two could be drawn by one of them only.",
            code="frame-threshold",
            first=first,
            mark="any threshold" if mark is None else f"{mark:g}",
            second=second,
            other="any threshold" if other is None else f"{other:g}",
            remedy="Estimate with one of them, and give the other's labels as known.",
        )


def _pooled(
    lists: Sequence[Mapping[Key, CheckedRow]], remarks: list[Problem]
) -> list[dict[Key, CheckedRow]]:
    """Return lists of one frame, with the probability of each row to be on any of them."""
    draws: list[tuple[Array, Array, dict[Key, float]]] = []
    sources: list[str] = []
    band = _band_edge(lists)
    for one in lists:
        drawn = {key: row for key, row in one.items() if _at_random(row) and not row.score >= band}
        if not drawn:
            continue
        sources.append(next(iter(drawn.values())).source)
        score, chance = np.array([(row.score, row.probability) for row in drawn.values()]).T
        labelled = np.array([row.label is not None for row in drawn.values()])
        if not labelled.all():
            remarks.append(_unlabelled(sources[-1], int(labelled.sum()), len(drawn)))
        chance = answered(score, chance, labelled)
        draws.append((score, chance, dict(zip(drawn, chance.tolist(), strict=True))))
    _refuse_lost_scores(draws, sources)
    pooled = []
    for one in lists:
        held = {}
        for key, row in one.items():
            if row.score >= band:
                row = row._replace(probability=1.0)
            elif _at_random(row):
                if row.label is None:
                    continue  # the others of its stratum stand for it
                taken = 0.0
                for score, chance, own in draws:
                    here = own.get(key)
                    if here is None:
                        here = float(chance_at(score, chance, np.array([row.score]))[0])
                    taken += here * (1.0 - taken)
                row = row._replace(probability=min(taken, 1.0))
            held[key] = row
        pooled.append(held)
    return pooled


def _refuse_lost_scores(
    draws: Sequence[tuple[Array, Array, Mapping[Any, float]]], sources: Sequence[str]
) -> None:
    """Refuse lists whose probabilities vary with the score, where the scores are not known."""
    varied = any(np.ptp(chance) > 0 for _, chance, _ in draws)
    lost = [bool(np.isnan(score).any()) for score, _, _ in draws]
    if len(draws) > 1 and varied and any(lost):
        raise DataError(
            "{source} does not hold the scores of its rows: alone it can be counted, but not "
            "together with other lists of the same rows.",
            code="score-missing",
            source=sources[lost.index(True)],
            remedy="Use the lists as they were written, with all their columns.",
        )


def _at_random(row: CheckedRow) -> bool:
    """Whether a row was drawn: with probability 1 too, from a stratum that was taken whole."""
    return row.probability < 1.0 or row.policy in AT_RANDOM


def _band_edge(lists: Sequence[Mapping[Key, CheckedRow]]) -> float:
    """Return the least score down to which rows picked from the top have a label without a gap."""
    told = {key for one in lists for key, row in one.items() if row.label is not None}
    picked = [(key, row) for one in lists for key, row in one.items() if row.policy in BY_SCORE]
    gap = max((row.score for key, row in picked if key not in told), default=-math.inf)
    return min(
        (row.score for key, row in picked if key in told and row.score > gap), default=math.inf
    )


def _unlabelled(source: str, checked: int, drawn: int) -> Problem:
    if not checked:
        return Problem(
            "None of the {drawn:,} rows that {source} drew at random has a label: they say "
            "nothing yet.",
            code="audit-unlabelled",
            count=drawn,
            drawn=drawn,
            source=source,
            cure=Phrase("Label them", "Fill them in"),
            remedy="{cure}.",
        )
    return Problem(
        "{count:,} of {drawn:,} rows that {source} drew at random have no label: they are taken "
        "to be like the others.",
        code="audit-unlabelled",
        count=drawn - checked,
        drawn=drawn,
        source=source,
        cure=Phrase("Label them", "Fill them in"),
        remedy="{cure}; if work went from the top down and stopped early, that is in order.",
    )


def _disagreement(one: CheckedRow, other: CheckedRow, by: str, key: Hashable) -> DataError:
    return DataError(
        "{first} and {second} disagree on {by} {key}: {label} and {other}.",
        code="labels-disagree",
        first=one.source,
        second=other.source,
        by=by,
        key=key,
        label=_shown(one.label),
        other=_shown(other.label),
        remedy="Correct the wrong one.",
    )


def _shown(label: object) -> str:
    return f"{label:g}" if isinstance(label, float) else repr(label)


def _refuse_copies(lists: Sequence[Mapping[Key, CheckedRow]]) -> None:
    """Refuse a list that is given twice, also in part: what was drawn once would count twice."""
    whole = [{key: row.probability for key, row in one.items()} for one in lists]
    drawn = [
        {(key, row.frame, row.probability) for key, row in one.items() if row.probability < 1.0}
        for one in lists
    ]
    for at, one in enumerate(drawn):
        for before in range(at):
            part = one and drawn[before] and (one <= drawn[before] or drawn[before] <= one)
            if part or (whole[at] and whole[at] == whole[before]):
                first, second = (next(iter(lists[k].values())).source for k in (before, at))
                raise DataError(
                    "{first} and {second} list the same rows with the same probabilities: that is "
                    "one list, and it counts once.",
                    code="same-list",
                    first=first,
                    second=second,
                    remedy="Leave one out; answers of several people belong in one list.",
                )
