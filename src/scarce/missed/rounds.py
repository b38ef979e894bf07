"""Labels in rounds: choose, ask, learn, choose again.

    round k: rows chosen with the labels of rounds 1 .. k-1     (002 section 3.1; 003 section 0.7)

Assumes that answers do not change. Such labels are not a random sample: a likelihood may use them,
but they must not stand for other rows in a count. Chooses with choose.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import read_column, read_integer, read_labels, refuse_length, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word
from scarce.missed.choose import (
    POLICIES,
    LabelChoice,
    Positions,
    choose_labels,
    join_rounds,
    seeded,
)
from scarce.results import in_rows

IN_ROUNDS = ("adaptive", "uncertainty", "tail")
NOTHING = LabelChoice(np.empty(0, np.int64), np.empty(0), np.empty(0, str), 0, 0)


def label_in_rounds(
    scores: ArrayLike | Callable[[Array], ArrayLike],
    ask: Callable[[Positions], ArrayLike],
    *,
    n: int,
    rounds: int = 5,
    policy: str = "adaptive",
    labels: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    **options: Any,
) -> tuple[Array, LabelChoice]:
    """Choose, ask, and choose again with what was learned, until n rows were asked about.

    Parameters
    ----------
    scores : array-like of shape (n_rows,) or callable
        Scores; or a function that gives them anew for the labels so far, such as one that fits a
        model again.
    ask : callable
        Takes the positions to be labelled and returns their labels, as numbers (for several
        classes their numbers), NaN for what could not be labelled: that row is not asked about
        again.
    n : int
        How many rows to ask about in all.
    rounds : int
        In how many rounds of about equal size; the paper's adaptive design takes a few.
    policy : {"adaptive", "uncertainty", "tail"}
        Random policies are refused: in rounds they have no probability that could be stored.
        Uncertainty with explore= has one for each round.
    labels : array-like of shape (n_rows,), optional
        Labels known before. Needed where `scores` is a function, to say how many rows there are.
    random_state : int, Generator or None
    **options
        As for `choose_labels`.

    Raises
    ------
    Whatever `ask` or `scores` raise, and DataError for answers that are not labels. Labels bought
    before are not lost: the error carries `labels` and `choice`, as they would have been
    returned after the last round that was finished, and `rows` and `answers`, the positions of the
    round under way and what `ask` returned for them (None where it returned nothing). Pass
    `labels=error.labels` to go on.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        All labels known in the end.
    choice : LabelChoice
        All rows asked about, with their `round`. Rows chosen by rule have probability 1: they stand
        for themselves, never for rows nobody looked at. With policy="uncertainty" and explore= they
        are drawn at random, and `choice.weights()` makes sums over all rows unbiased.

    Examples
    --------
    >>> truth = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    >>> labels, choice = label_in_rounds([0.1, 0.5, 0.45, 0.6, 0.9], lambda rows: truth[rows],
    ...     n=3, rounds=3, policy="uncertainty")
    >>> labels, choice.rows, choice.round
    (array([nan,  1.,  0.,  1., nan]), array([1, 2, 3]), array([1, 2, 3]))

    The one who is asked goes home after the first round:

    >>> answers = [[1.0]]
    >>> try:
    ...     label_in_rounds([0.1, 0.5, 0.45], lambda rows: answers.pop(), n=2, rounds=2,
    ...         policy="uncertainty")
    ... except IndexError as error:
    ...     error.labels, error.choice.rows, error.rows
    (array([nan,  1., nan]), array([1]), array([2]))
    """
    refuse_other_index(scores=scores, labels=labels)
    _refuse_policy(policy, n)
    wanted, parts = read_integer(n, "n"), read_integer(rounds, "rounds")
    generator = seeded(random_state)
    if not callable(ask):
        raise UsageError(
            "{argument} must be a function that takes the positions to be labelled and returns "
            "their labels, got a {kind}.",
            code="not-callable",
            argument=Argument("ask"),
            kind=type(ask).__name__,
        )
    n_rows = _number_of_rows(scores, labels)
    known = _known(labels, n_rows, policy).copy()
    asked = np.zeros(n_rows, dtype=bool)
    choices: list[LabelChoice] = []
    rows, answers = None, None
    try:
        for part in range(min(parts, wanted)):
            rows, answers = None, None
            size = wanted // parts + (part < wanted % parts)
            now = scores(known.copy()) if callable(scores) else scores
            choice = _choose_unasked(now, known, asked, size, policy, generator, options)
            if len(choice) == 0 and choices:
                break
            rows = choice.rows
            if len(choice):
                answers = ask(rows.copy())
                known[rows] = _labels_of(answers, rows, policy, part + 1)
            asked[rows] = True
            choices.append(choice)
    except BaseException as error:  # a person who stops has paid for the labels too
        done = join_rounds(choices, wanted) if choices else NOTHING
        vars(error).update(labels=known, choice=done, rows=rows, answers=answers)
        if choices:
            error.add_note(
                f"{in_rows(len(done))} of {len(choices)} round{'s' if len(choices) > 1 else ''} "
                "asked about before are kept: read error.labels and error.choice, and pass "
                "labels=error.labels to go on."
            )
        raise
    return known, join_rounds(choices, wanted)


def _refuse_policy(policy: str, n: int) -> None:
    refuse_word("policy", policy, POLICIES)
    if policy not in IN_ROUNDS:
        raise UsageError(
            "{policy} in rounds has no inclusion probability, because later draws leave out rows "
            "of earlier ones.",
            code="policy-in-rounds",
            policy=Argument("policy", policy),
            once=Argument("n", n, call="choose_labels"),
            remedy="Draw all rows at once with {once}.",
        )


def _number_of_rows(
    scores: ArrayLike | Callable[[Array], ArrayLike], labels: ArrayLike | None
) -> int:
    if not callable(scores):
        return _length(scores, "scores")
    if labels is None:
        raise UsageError(
            "scores is a function and labels is None, so the number of rows is not known.",
            code="unknown-length",
            labels=Argument("labels"),
            remedy="Pass {labels}, NaN for every row without one.",
        )
    return _length(labels, "labels")


def _length(values: ArrayLike | None, name: str) -> int:
    """Number of rows of scores or labels, which are read later."""
    try:
        return len(values)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(
            "{argument} must have one value per row, got {value!r}.",
            code="not-a-column",
            argument=Argument(name),
            value=values,
        ) from None


def _known(labels: ArrayLike | None, n_rows: int, policy: str) -> Array:
    """Labels so far: classes of any number for uncertainty, else 1, 0 and NaN."""
    if policy != "uncertainty" or labels is None:
        return read_labels(labels, n_rows)
    refuse_length(labels, n_rows, "labels", "NaN where a row was not labelled")
    return read_column(labels, "labels")


def _labels_of(answers: ArrayLike, rows: Positions, policy: str, part: int) -> Array:
    """Read the answers of one round."""
    if np.shape(answers) != rows.shape:
        raise DataError(
            "ask must return one label for each of {rows} in round {round}, NaN for what could not "
            "be labelled, got shape {shape}.",
            code="length-mismatch",
            rows=in_rows(len(rows)),
            round=part,
            shape=np.shape(answers),
        )
    try:
        return _known(answers, len(rows), policy)
    except DataError as error:
        raise DataError(
            "The answers of round {round} cannot be used (row numbers are positions among the "
            "{count:,} rows asked about): {reason}",
            code=error.code,
            round=part,
            count=len(rows),
            reason=str(error),
        ) from None


def _choose_unasked(
    scores: ArrayLike,
    known: Array,
    asked: NDArray[np.bool_],
    n: int,
    policy: str,
    generator: np.random.Generator,
    options: Mapping[str, Any],
) -> LabelChoice:
    """One round, without the rows that were asked about and could not be labelled."""
    refused = int(np.count_nonzero(asked & np.isnan(known)))
    if policy == "uncertainty":  # whose labels say only which rows are left
        known, refused = np.where(asked, 0.0, known), 0
    choice = choose_labels(
        scores, known, policy=policy, n=n + refused, random_state=generator, **options
    )
    keep = np.flatnonzero(~asked[choice.rows])[:n]
    short_of_rows = len(choice) < choice.asked  # said once for all rounds, not here
    return LabelChoice(
        choice.rows[keep],
        choice.probability[keep],
        choice.policy[keep],
        n,
        choice.candidates - refused,
        choice.remarks[1:] if short_of_rows else choice.remarks,
    )
