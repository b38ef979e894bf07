"""Several audits of the same rows: what does each checked row stand for?

    1 / probability = w_j / p_j + w_(j+1) + ... + w_K      (a row that list j of K drew at random)

Each list alone gives an unbiased count of what was open when it was drawn, with the rows of earlier
lists as certain; the counts of all lists are averaged with weights w, by the number of random rows
that were checked. Where only some of a list's rows were checked they stand for the others of its
draw. A row that scores no lower than a later band stands for itself: all rows up there have a
label. No row stands for less than itself. Assumes that a list was drawn after the earlier ones had
been checked, and that rows were not left open because of their answer. Where every row was checked
these are the weights of `LabelChoice.weights`, but for those below 1.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import read_labels, read_scores, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import DataError, Phrase, Problem, UsageError
from scarce.missed.choose import BY_RULE, LabelChoice

BY_SCORE = ("band", "tail")  # policies that take all of the greatest scores

Key = TypeVar("Key", bound=Hashable)


class CheckedRow(NamedTuple):
    """One row of a list that was drawn, with its answer."""

    label: Any  # None where nobody has checked it
    probability: float
    score: float = math.nan
    source: str = ""  # name of the list
    policy: str = ""


@dataclass(frozen=True, eq=False)
class CombinedAudits:
    """Labels and inclusion probabilities of all rows after several audits.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
    inclusion : ndarray of shape (n_rows,)
        One over the rows that each checked row stands for; NaN for rows on no list.
    remarks : tuple of Problem
        What the reader should know.
    """

    labels: Array
    inclusion: Array
    remarks: tuple[Problem, ...]


def combine_audits(
    audits: Sequence[tuple[LabelChoice, ArrayLike]],
    scores: ArrayLike,
    labels: ArrayLike | None = None,
) -> CombinedAudits:
    """Combine several audits into the labels and probabilities that an estimate takes.

    Parameters
    ----------
    audits : sequence of (LabelChoice, array-like)
        From the earliest to the last: what `choose_labels` returned, and one answer for each of
        its rows: 1 event, 0 none, missing where the row was not checked.
    scores : array-like of shape (n_rows,)
        Of all rows, as they were when the audits were drawn.
    labels : array-like of shape (n_rows,), optional
        Labels known otherwise, such as those of the alerts.

    Returns
    -------
    CombinedAudits
        `labels` and `inclusion` for `estimate_performance`, and remarks.

    **Assumes** that each audit was drawn after the earlier ones had been checked.

    Examples
    --------
    >>> from scarce import choose_labels
    >>> scores, truth = np.arange(200.0), np.arange(200) % 50 == 49
    >>> labels = np.where(scores >= 180, truth, np.nan)
    >>> first = choose_labels(scores, labels, policy="audit", n=20, threshold=180, random_state=0)
    >>> known = labels.copy()
    >>> known[first.rows] = truth[first.rows]
    >>> second = choose_labels(scores, known, policy="audit", n=20, threshold=180, random_state=1)
    >>> both = combine_audits(
    ...     [(first, truth[first.rows]), (second, truth[second.rows])], scores, labels)
    >>> int(np.isfinite(both.inclusion).sum()), both.remarks
    (40, ())
    """
    refuse_other_index(scores=scores, labels=labels)
    values = read_scores(scores)
    known = read_labels(labels, len(values)).copy()
    lists = []
    for number, (choice, answers) in enumerate(audits, start=1):
        if len(choice) and choice.rows.max() >= len(values):
            raise UsageError(
                "Audit {audit} has row {row:,}, but there are {rows:,} scores.",
                code="length-mismatch",
                audit=number,
                row=int(choice.rows.max()),
                rows=len(values),
            )
        told = read_labels(answers, len(choice), "answers")
        lists.append(
            {
                int(row): CheckedRow(
                    None if math.isnan(label) else float(label),
                    float(probability),
                    float(values[row]),
                    f"audit {number}",
                    str(policy),
                )
                for row, label, probability, policy in zip(
                    choice.rows, told, choice.probability, choice.policy, strict=True
                )
            }
        )
    combined, remarks = combine_lists(lists)
    inclusion = np.full(len(values), np.nan)
    for row, checked in combined.items():
        inclusion[row] = checked.probability
        if checked.label is None:
            continue
        if known[row] == 1.0 - checked.label:
            before = CheckedRow(float(known[row]), 1.0, source="labels")
            raise _disagreement(before, checked, "row", row)
        known[row] = checked.label
    return CombinedAudits(known, inclusion, tuple(remarks))


def combine_lists(
    lists: Sequence[Mapping[Key, CheckedRow]], by: str = "row"
) -> tuple[dict[Key, CheckedRow], list[Problem]]:
    """Join lists of checked rows, each row with the probability that it counts with, and remarks.

    Parameters
    ----------
    lists : sequence of mappings of key -> CheckedRow
        From the earliest to the last. A key is a position or a name of a row.
    by : str
        What the keys are, for messages.

    Examples
    --------
    >>> first = {1: CheckedRow(0, 0.1, 1.0, "a"), 2: CheckedRow(1, 0.2, 0.9, "a")}
    >>> second = {3: CheckedRow(1, 1.0, 0.95, "b", "band"), 4: CheckedRow(0, 0.1, 0.3, "b")}
    >>> rows, _ = combine_lists([first, second])
    >>> {key: round(row.probability, 3) for key, row in rows.items()}
    {1: 1.0, 2: 0.333, 3: 1.0, 4: 0.2}
    """
    lists = [
        {
            key: row._replace(probability=1.0) if row.policy in BY_RULE else row
            for key, row in one.items()
        }
        for one in lists
    ]
    random = [any(row.probability < 1 for row in one.values()) for one in lists]
    remarks: list[Problem] = []
    weighted: Sequence[Mapping[Key, CheckedRow]] = lists
    if sum(random) > 1:
        weighted, remarks = _weighted(lists)
    joined: dict[Key, CheckedRow] = {}
    for at, one in enumerate(weighted):
        for key, row in one.items():
            if row.label is None and sum(random) == 1 and not random[at]:
                continue  # not checked, and no part of the draw
            if row.label is None and not any(random) and at < len(lists) - 1:
                continue
            before = joined.get(key)
            if before is not None and before.label is not None:
                if row.label is not None and row.label != before.label:
                    raise _disagreement(before, row, by, key)
                row = row._replace(label=before.label)
            joined[key] = row
    _refuse_copies(lists)
    return joined, remarks


def _weighted(
    lists: Sequence[Mapping[Key, CheckedRow]],
) -> tuple[list[dict[Key, CheckedRow]], list[Problem]]:
    """Weigh the random rows of several lists; say where some of them were not checked."""
    checked: list[set[Key]] = []
    shares: list[float] = []
    remarks = []
    for at, one in enumerate(lists):
        later = (row for more in lists[at + 1 :] for row in more.values())
        end = min((row.score for row in later if row.policy in BY_SCORE), default=math.inf)
        drawn = [key for key, row in one.items() if row.probability < 1 and not row.score >= end]
        checked.append({key for key in drawn if one[key].label is not None})
        shares.append(len(checked[at]) / max(1, len(drawn)))
        if len(checked[at]) < len(drawn):
            remarks.append(_unlabelled(one[drawn[0]].source, len(checked[at]), len(drawn)))
    total = max(1, sum(map(len, checked)))
    weighted = []
    for at, one in enumerate(lists):
        after = sum(map(len, checked[at + 1 :])) / total
        held = {}
        for key, row in one.items():
            probability = 1.0
            if key in checked[at]:
                weight = len(checked[at]) / total / (row.probability * shares[at]) + after
                probability = min(1.0, 1.0 / weight)
            elif row.label is None and (row.probability < 1 or at < len(lists) - 1):
                continue  # not checked: the others of its draw stand for it
            held[key] = row._replace(probability=probability)
        weighted.append(held)
    return weighted, remarks


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
    """Refuse a list that is given twice: what was drawn once would count twice."""
    drawn = [{key: row.probability for key, row in one.items()} for one in lists]
    for at, one in enumerate(drawn):
        for before in range(at):
            if one and one == drawn[before]:
                first, second = (next(iter(lists[k].values())).source for k in (before, at))
                raise DataError(
                    "{first} and {second} list the same rows with the same probabilities: that is "
                    "one list, and it counts once.",
                    code="same-list",
                    first=first,
                    second=second,
                    remedy="Leave one out; answers of several people belong in one list.",
                )
