"""How far might a figure of labelled rows be off? One bootstrap that stays honest with few events.

    weight of a row* = Exp(1) * sample_weight / inclusion                        (Rubin 1981)
    high limit       = quantile of the figure with one unseen row added, the worst one; low, the
                       best one (Gaffke 2005; for a share, the limits of Clopper and Pearson 1934)

The four parts: `Sample` says which rows are labelled, for how many others each stands and which
belong together; `Resampling` says how the interval is wanted; `gather` puts equal rows into cells,
which are drawn together (m rows weigh Gamma(m)); `Bootstrap` and `limits` turn figures of sums into
intervals. Time and memory grow with cells (at most 4,096) times resamples; rows are sorted once.

Where rows come in groups, all rows of a group share one Exp(1), and the unseen row is a group: its
rows of the worst kind, as many as come together (`Sample.together`). Assumes that rows or groups
are independent draws, and that each row was labelled with its stated probability, independently of
the others. Labels chosen by rule stand for no other row and are refused where rows lack one. The
population is where the rows come from: rows labelled for certain are a sample of it too. Knows no
figure by name: see evaluation/.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from scarce.checks import (
    is_missing,
    name_column,
    read_inclusion,
    read_integer,
    read_level,
    read_seed,
    read_weight,
    refuse_length,
)
from scarce.engine.block import Array
from scarce.errors import (
    Argument,
    DataError,
    Phrase,
    Problem,
    UsageError,
    refuse_word,
    warn_user,
)
from scarce.results import Estimate, in_rows

METHOD = "bootstrap, one unseen row added"
METHOD_GROUPS = "bootstrap of groups, one unseen group added"
ASSUMES = "the rows are independent draws from the population of interest"
ASSUMES_GROUPS = "the groups of rows are independent draws from the population of interest"
ASSUMES_DRAWN = "; each was labelled with its stated probability, independently of the others"
ODD, IMPOSSIBLE = 3.0, 6.0  # standard errors between rows and what the labels stand for
LEAST_ODD = 0.1  # of the rows without a label; less is rounding of the probabilities
FEW = 10  # rows behind a number, below which that is said
MOST_CELLS = 4096
RESAMPLES = 1000
MOST_RESAMPLES = 100_000
LEAST_BEYOND = 2  # resamples beyond a limit
HEADS = 1024  # rows with the greatest share in a figure, which keep a cell of their own
GROUPS_AT_ONCE = 4096
MOST_COUNTED = 100_000_000  # rows that frequency weights may stand for

Figure = Callable[[Array], Array]  # from sums (resamples, columns) to one or more figures of each
Seed = int | np.random.Generator | np.random.RandomState | None


class HasInclusion(Protocol):
    """A choice of rows that knows how likely each was to be drawn, such as `LabelChoice`."""

    def inclusion(self, n_rows: int) -> Array:
        """Return one probability per row, NaN where a row was not drawn."""


Inclusion = ArrayLike | HasInclusion | None


# --- which rows are labelled, and for whom they stand ---------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled rows, and for how many others each stands.

    Parameters
    ----------
    rows : ndarray of intp
        Positions of the rows with a label and a weight above 0; one that counts as several is here
        as often.
    weight : ndarray, one for each of them
        Sample weight over probability of having been labelled (Hajek 1971).
    total : float
        Weight of all rows given, labelled or not: what totals are scaled to. Where drawn rows are
        given alone, of the rows that they stand for.
    drawn : bool
        Whether probabilities of labelling were given.
    group : ndarray of intp, one for each labelled row, or None
        Number of the group that it belongs to, from 0 on.
    """

    rows: NDArray[np.intp]
    weight: Array
    total: float
    drawn: bool
    group: NDArray[np.intp] | None = None

    @property
    def method(self) -> str:
        """How intervals are found."""
        return METHOD if self.group is None else METHOD_GROUPS

    @property
    def assumes(self) -> str:
        """What the intervals assume."""
        known = ASSUMES if self.group is None else ASSUMES_GROUPS
        return known + (ASSUMES_DRAWN if self.drawn else "")

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None where rows stand alone."""
        return None if self.group is None else int(self.group.max()) + 1

    def by_group(self, part: Array) -> Array:
        """Return sums over groups, or the values themselves where rows stand alone."""
        return part if self.group is None else np.asarray(np.bincount(self.group, part), np.float64)

    def together(self, *parts: NDArray[np.bool_]) -> float:
        """Return how many rows of a kind an unseen group would bring, where a row would bring one.

        Parameters
        ----------
        *parts : masks of the labelled rows
            A kind and kinds within it, the last one being asked for: a class, an action in it.

        Notes
        -----
        A member of a kind meets sum h^2 / sum h of it in its own group, h being what each group
        holds. That is taken as seen, and one group more is taken to be as the wider kind is, the
        whole group at the start: a kind that was never met comes as the kind around it does.
        """
        found = 1.0
        if self.group is None:
            return found
        for n, part in enumerate((np.ones(len(self.weight), dtype=bool), *parts)):
            each = np.where(part, self.weight, 0.0)
            held = self.by_group(each)
            here = int(np.count_nonzero(held))
            if here:
                lump = float((held @ held) / (each @ each))
                found = lump if n == 0 else (here * lump + found) / (here + 1)
        return found

    def few(self, classes: Sequence[Hashable], counts: ArrayLike, part: Array | None = None) -> str:
        """Say that few rows stand behind a number, as a suffix of its method; "" if there are many.

        Parameters
        ----------
        classes : sequence of names
        counts : array-like of int
            Labelled rows of each class.
        part : ndarray of shape (n_labelled,), optional
            What each row adds to the number.
        """
        said = [
            f"{_counted(count, 'labelled row')} of class {name!r}"
            for name, count in zip(classes, np.asarray(counts).tolist(), strict=True)
            if count < FEW
        ][:2]
        if self.n_groups is not None and self.n_groups < FEW:
            said.append(_counted(self.n_groups, "group"))
        carried = 0.0 if part is None else effective_rows(self.by_group(part))
        if 0 < carried < FEW:
            unit = "row" if self.group is None else "group"
            said.append(f"the cost lies on about {_counted(carried, unit)}")
        return f"; few: {', '.join(said)}" if said else ""


def few_remarks(few: str) -> tuple[str, ...]:
    """Return what `Sample.few` says as a remark, or none."""
    if not few:
        return ()
    what = few.removeprefix("; few: ")
    return (Problem("Few rows stand behind this: {what}.", code="few-rows", what=what),)


def _counted(number: float, what: str) -> str:
    number = round(number)
    return f"{number} {what}{'s' if number != 1 else ''}"


def effective_rows(part: Array) -> float:
    """Return how many rows of equal size would carry a sum as these do: (sum)^2 / sum of squares.

    Examples
    --------
    >>> effective_rows(np.array([1000.0, 1.0, 1.0, 0.0]))
    1.004...
    """
    squares = float(part @ part)
    return float(np.abs(part).sum() ** 2 / squares) if squares > 0 else 0.0


WEIGHT_KINDS = ("survey", "frequency")


@dataclass(frozen=True, eq=False)
class Frequency:
    """Weights that count rows: a row of weight 2 is two rows, drawn independently."""

    counts: ArrayLike

    @property
    def index(self) -> object:
        """The index of a pandas column."""
        return getattr(self.counts, "index", None)


Weights = ArrayLike | Frequency | None


def read_kind(sample_weight: ArrayLike | None, weight_kind: str) -> Weights:
    """Return the weights as `read_sample` takes them.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), or None
    weight_kind : {"survey", "frequency"}
        "survey": how much of the population a row stands for, and only their ratios matter: a row
        of weight 2 is one draw. "frequency": how many equal rows there were.
    """
    refuse_word("weight_kind", weight_kind, WEIGHT_KINDS)
    if weight_kind == "survey" or sample_weight is None:
        return sample_weight
    return Frequency(sample_weight)


def read_sample(
    known: NDArray[np.bool_],
    sample_weight: Weights = None,
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
) -> Sample:
    """Return the labelled rows with their weights and groups.

    Parameters
    ----------
    known : ndarray of bool, shape (n,)
        Which rows have a label. Rows without one need `inclusion`.
    sample_weight, inclusion, groups
        As in `scarce.evaluate`.

    Examples
    --------
    >>> read_sample(np.array([True, False, True]), None, [0.5, 0.1, 1.0]).weight
    array([2., 1.])
    >>> read_sample(np.array([True, False]))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: y_true has no label in 1 of 2 rows (first at row 1), and nothing ...
    """
    n = len(known)
    if n == 0:
        raise DataError("{argument} is empty.", code="no-rows", argument=Argument("y_true"))
    counts = None
    if isinstance(sample_weight, Frequency):
        counts = _read_counts(sample_weight.counts, n)
        weight = counts.astype(np.float64)
    else:
        weight = read_weight(sample_weight, n, "sample_weight")
    if weight.max() > 1e150 or weight[weight > 0].min() < 1e-150:
        raise DataError(
            "{argument} goes from {least:g} to {most:g}, and squares of such numbers overflow.",
            code="weight-range",
            argument=Argument("sample_weight"),
            least=float(weight[weight > 0].min()),
            most=float(weight.max()),
            remedy="Divide all of them by one number.",
        )
    stands_for, chance = _stands_for(inclusion, known)
    rows = np.flatnonzero(known & (weight > 0))
    if len(rows) == 0:
        raise DataError(
            "No row with a weight above 0 has a label.",
            code="no-labels",
            remedy="Label some rows first.",
        )
    others = np.flatnonzero(~known & (weight > 0))
    group = read_groups(groups, n, rows)
    if counts is not None:
        group = None if group is None else np.repeat(group, counts[rows])
        rows, others = np.repeat(rows, counts[rows]), np.repeat(others, counts[others])
    if chance is not None:
        _refuse_other_total(stands_for[rows], chance[others], group)
        _refuse_weights_twice(weight[rows], stands_for[rows])
    each = stands_for[rows] if counts is not None else weight[rows] * stands_for[rows]
    alone = chance is not None and len(others) == 0  # the rest of the population is elsewhere
    total = float(each.sum() if alone else weight.sum())
    return Sample(rows, each, total, chance is not None, group)


def _read_counts(sample_weight: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return how many rows each row is."""
    weight = read_weight(sample_weight, n, "sample_weight")
    kind = Argument("weight_kind", "frequency")
    strange = weight != np.round(weight)
    if strange.any():
        row = int(np.argmax(strange))
        raise DataError(
            "{kind} counts rows, and {argument} is {value:g} at row {row:,}.",
            code="not-counts",
            kind=kind,
            argument=Argument("sample_weight"),
            value=float(weight[row]),
            row=row,
            survey=Argument("weight_kind", "survey"),
            remedy="For weights that only say how much a row stands for use {survey}.",
        )
    if weight.sum() > MOST_COUNTED:
        raise DataError(
            "{kind} counts {total:.3g} rows, more than {most:,}.",
            code="too-many-rows",
            kind=kind,
            total=float(weight.sum()),
            most=MOST_COUNTED,
            remedy="Divide the counts: the intervals of a tenth of so many rows are narrow too.",
        )
    return weight.astype(np.int64)


def _stands_for(inclusion: Inclusion, known: NDArray[np.bool_]) -> tuple[Array, Array | None]:
    """How many rows each labelled row stands for; and the probabilities, None without a draw."""
    n = len(known)
    if inclusion is None:
        if not known.all():
            raise DataError(
                "y_true has no label in {count:,} of {rows:,} rows (first at row {row:,}), and "
                "nothing says how the others were chosen: left out, only rows that somebody chose "
                "to look at would count.",
                code="unlabelled-rows",
                count=int(n - known.sum()),
                rows=n,
                row=int(np.argmin(known)),
                inclusion=Argument("inclusion", ...),
                chosen=Phrase(f"choose_labels(...).inclusion({n})"),
                remedy=[
                    "Give the probability that each row was labelled with {inclusion}, 1 for a row "
                    "labelled for certain.",
                    "{chosen} returns it.",
                ],
            )
        return np.ones(n), None
    _refuse_partial_choice(inclusion, n)
    if getattr(inclusion, "in_rounds_by_lot", False):  # no one probability, but weights
        stands_for = np.full(n, np.nan)
        choice: Any = inclusion
        stands_for[choice.rows] = choice.weights()
        _refuse_chances(np.where(np.isnan(stands_for), np.nan, 0.5), known)
        lost = ~np.isnan(stands_for) & ~known
        if lost.any():
            raise _lost_answer(int(np.argmax(lost)))
        return stands_for, np.where(known, 0.5, np.nan)
    chance = read_inclusion(inclusion, n)
    assert chance is not None
    _refuse_chances(chance, known)
    _refuse_certain_labels(chance, known)
    stands_for = np.divide(1.0, chance, out=np.full(n, np.nan), where=chance > 0)
    return _with_lost_answers(stands_for, chance, known), chance


def _with_lost_answers(stands_for: Array, chance: Array, known: NDArray[np.bool_]) -> Array:
    """Let drawn rows with a label stand for those drawn whose answer did not come, and say so.

    Where inclusion is missing for rows that were not drawn, a row with a probability and no label
    was drawn. If its probability is one that all rows have, sums fit without a change.
    """
    drawn = known & (chance < 1)
    lost = ~known & (chance < 1)
    count, n_drawn = int(np.count_nonzero(lost)), int(np.count_nonzero(drawn))
    if not count or not n_drawn or not np.isnan(chance[~known]).any():
        return stands_for
    raised = np.where(drawn, stands_for * ((n_drawn + count) / n_drawn), stands_for)
    before, after = (abs(float(one[known].sum()) - len(known)) for one in (stands_for, raised))
    if before <= after:
        return stands_for
    warn_user(
        "{count:,} of {drawn:,} rows that were drawn have no label: they are taken to be like the "
        "others.",
        code="audit-unlabelled",
        count=count,
        drawn=n_drawn + count,
        remedy="Label them: an answer that is missing because of what it is cannot be replaced.",
    )
    return raised


def _refuse_partial_choice(inclusion: Inclusion, n: int) -> None:
    """Refuse a choice that was made among some of the rows only."""
    candidates = getattr(inclusion, "candidates", n)
    if isinstance(candidates, int) and candidates < n:
        raise DataError(
            "The labels were chosen among {candidates:,} of the {rows:,} rows, so they stand for "
            "no more than these.",
            code="partial-choice",
            candidates=candidates,
            rows=n,
            inclusion=Argument("inclusion"),
            made=Phrase(f"choice.inclusion({n})"),
            remedy=[
                "Pass {inclusion} as {made}, with 1 for rows that had a label anyway.",
                "Or leave out the rows that could not be chosen.",
            ],
        )


def _refuse_certain_labels(chance: Array, known: NDArray[np.bool_]) -> None:
    """Refuse labels that were all certain beside rows without one."""
    n, n_known = len(known), int(known.sum())
    if n_known in (0, n) or not (chance[known] == 1).all():
        return
    raise DataError(
        "All {known:,} labels were certain (inclusion 1), so none of them stands for the "
        "{unlabelled:,} rows without one.",
        code="certain-labels",
        known=n_known,
        unlabelled=n - n_known,
        inclusion=Argument("inclusion"),
        chosen=Phrase("choose_labels(..., policy='random') or explore="),
        remedy=[
            "Choose some labels at random: {chosen}.",
            "Leave {inclusion} out to judge the labelled rows alone.",
        ],
    )


def standard_errors_off(
    stands_for: Array, others: int, group: NDArray[np.intp] | None = None, least: float = 0.0
) -> float:
    """Return by how many standard errors labels stand for more or fewer rows than there are.

    Labelled rows stand for sum(1 / p - 1) rows beside themselves, which estimates the number of
    rows without a label. Its variance under independent draws, sum (1 - p) / p^2, is an upper
    bound for draws of a fixed number of rows; it is taken as it would be at the true number, and
    by groups where these are drawn whole.

    Parameters
    ----------
    stands_for : ndarray of shape (n_labelled,)
        1 / p of each.
    others : int
        Rows without a label.
    group : ndarray of shape (n_labelled,), optional
    least : float
        A standard error that is known otherwise; the greater one is taken.

    Returns
    -------
    float
        0 where the two differ by less than rounding of probabilities may explain.

    Examples
    --------
    >>> standard_errors_off(np.full(100, 5.0), 400)
    0.0
    >>> round(standard_errors_off(np.full(100, 2.0), 400), 1)
    10.6
    """
    spread = np.sqrt(np.maximum(stands_for * (stands_for - 1), 0.0))
    spread = spread if group is None else np.bincount(group, spread)
    beside = float((stands_for - 1).sum())
    off = abs(beside - others)
    error = float(np.sqrt(spread @ spread)) * np.sqrt(max(1.0, others / max(beside, 1.0)))
    if off <= LEAST_ODD * others:
        return 0.0
    error = max(error, least)
    return float(off / error) if error > 0 else float("inf")


def _refuse_other_total(stands_for: Array, others: Array, group: NDArray[np.intp] | None) -> None:
    """Refuse labels that stand for far more or fewer rows than there are; warn where it is odd.

    A file of labelled rows alone says nothing here. Of rows without a label `others` holds the
    inclusion, NaN where it is not known; where all are known, so is the variance.
    """
    if len(others) == 0 or standard_errors_off(stands_for, len(others), group) <= ODD:
        return
    least = 0.0
    if not np.isnan(others).any():
        spread = stands_for * (stands_for - 1)
        least = float(np.sqrt(((1 - others) / others).sum() + np.maximum(spread, 0.0).sum()))
    problem = Problem(
        "The labels stand for {adds_up:,.0f} rows (sum of 1 / inclusion), and there are {rows:,}: "
        "some rows could not be labelled, or the probabilities are not those of the draw.",
        code="inclusion-sum",
        adds_up=float(stands_for.sum()),
        rows=len(stands_for) + len(others),
        inclusion=Argument("inclusion"),
        groups=Argument("groups"),
        remedy=[
            "Compare {inclusion} with how the labels came about: rows chosen by rule have 1, and "
            "answers that did not come back lower it.",
            "If whole groups were drawn, give {groups}.",
        ],
    )
    if standard_errors_off(stands_for, len(others), group, least) > IMPOSSIBLE:
        raise DataError(problem)
    warn_user(problem)


def _refuse_weights_twice(weight: Array, stands_for: Array) -> None:
    """Refuse weights that say 1 / inclusion once more; warn where that may be chance."""
    values = np.unique(np.round(np.log(stands_for), 6))
    ratio = weight / stands_for
    if len(values) < 2 or np.ptp(ratio) > 1e-6 * ratio.max():
        return
    problem = Problem(
        "{weight} is 1 / inclusion for every labelled row, so each would stand for the others "
        "twice.",
        code="weight-is-inclusion",
        weight=Argument("sample_weight"),
        inclusion=Argument("inclusion"),
        remedy="Give one of the two: {inclusion} says more.",
    )
    if len(values) > 2:
        raise DataError(problem)
    warn_user(problem)


def _refuse_chances(chance: Array, known: NDArray[np.bool_]) -> None:
    """Refuse probabilities of labelling that contradict which rows are labelled."""
    strange = known & ~(chance > 0)
    if strange.any():
        row = int(np.argmax(strange))
        raise DataError(
            "Row {row:,} is labelled, but its inclusion is {value:g}.",
            code="labelled-without-inclusion",
            row=row,
            value=float(chance[row]),
            remedy="Give the probability with which it was to be labelled, 1 if for certain.",
        )
    if (~known & (chance == 1)).any():
        raise _lost_answer(int(np.argmax(~known & (chance == 1))))
    never = ~known & (chance == 0)
    if never.any():
        raise DataError(
            "Row {row:,} could never have been labelled (inclusion 0), so no label stands for it.",
            code="never-labelled",
            row=int(np.argmax(never)),
            remedy="Leave such rows out and say so, or give NaN if a row was only not drawn.",
        )


def _lost_answer(row: int) -> DataError:
    return DataError(
        "Row {row:,} was chosen for certain (inclusion 1) and has no label: an answer that did not "
        "come back cannot be left out.",
        code="lost-answer",
        row=row,
        remedy="Get the label, or give the probability that an answer comes back.",
    )


def read_groups(
    groups: ArrayLike | None, n: int, rows: NDArray[np.intp]
) -> NDArray[np.intp] | None:
    """Return the number of the group of each labelled row, from 0 on.

    Examples
    --------
    >>> read_groups(["b", "a", "b", "c"], 4, np.array([0, 1, 2]))
    array([1, 0, 1])
    """
    if groups is None:
        return None
    held = name_column(groups, "groups")
    refuse_length(held, n, "groups")
    found = np.empty(n, dtype=np.intp)
    if held.dtype.kind in "biufUSMm":
        missing = held != held
        found[:] = np.unique(held, return_inverse=True)[1]
    else:
        at: dict[Any, int] = {}
        listed = held.tolist()
        missing = np.array([is_missing(one) for one in listed], dtype=bool)
        try:
            found[:] = [at.setdefault(one, len(at)) for one in listed]
            if len({type(one) for one in at}) == 1:  # in their own order, not that of the rows
                found = np.argsort(sorted(range(len(at)), key=list(at).__getitem__))[found]
        except (TypeError, ValueError):
            raise DataError(
                "{argument} must have one value per row, got lists or tables.",
                code="not-a-column",
                argument=Argument("groups"),
            ) from None
    if missing.any():
        raise DataError(
            "{argument} has no value at row {row:,}.",
            code="missing-group",
            argument=Argument("groups"),
            row=int(np.argmax(missing)),
            remedy="Give rows that stand alone a name of their own.",
        )
    _, found = np.unique(found[rows], return_inverse=True)
    if found.max() == 0:
        raise DataError(
            "All {rows} with a label are in one group: how groups differ cannot be seen, so there "
            "is no interval.",
            code="one-group",
            rows=in_rows(len(rows)),
            groups=Argument("groups"),
            remedy=["Give rows of more groups.", "Or leave {groups} out."],
        )
    return np.asarray(found, dtype=np.intp)


# --- how the interval is wanted -------------------------------------------------------------------


class Resampling(NamedTuple):
    """Level of an interval, number of resamples and seed."""

    level: float
    resamples: int
    seed: int

    @classmethod
    def read(
        cls, level: float = 0.9, resamples: int | None = None, random_state: Seed = 0
    ) -> Resampling:
        """Check the three arguments that every function with an interval has."""
        if resamples is None:
            beyond = int(np.ceil(2 * LEAST_BEYOND / (1 - read_level(level))))
            resamples = min(max(RESAMPLES, beyond), MOST_RESAMPLES)
        wanted = read_integer(resamples, "resamples", 100)
        if wanted > MOST_RESAMPLES:
            raise UsageError(
                "{argument} must be at most {most:,}, got {value:,}. 1,000 give limits of two "
                "digits.",
                code="resamples-range",
                argument=Argument("resamples"),
                most=MOST_RESAMPLES,
                value=wanted,
            )
        asked = cls(read_level(level), wanted, read_seed(random_state))
        if asked.tails[0] * wanted < LEAST_BEYOND:
            raise UsageError(
                "{level} leaves {beyond:.2g} of {count:,} resamples beyond each limit.",
                code="too-few-resamples",
                level=Argument("level", level),
                beyond=asked.tails[0] * wanted,
                count=wanted,
                resamples=Argument("resamples", int(np.ceil(10 / asked.tails[0]))),
                remedy="Take {resamples}.",
            )
        return asked

    @property
    def tails(self) -> tuple[float, float]:
        """Quantiles that the limits are."""
        return (1 - self.level) / 2, (1 + self.level) / 2


# --- cells of equal rows, drawn together ----------------------------------------------------------


class Cells(NamedTuple):
    """Rows that are drawn together.

    `key`: what the caller put there; `weight`: their weight; `shape`: how many rows of equal weight
    they are worth, (sum w)^2 / sum w^2; `values`: what a unit of weight brings, (cells, columns);
    `parts`: where rows come in groups, what each group holds of each cell, (cells, groups).
    """

    key: NDArray[np.intp]
    weight: Array
    shape: Array
    values: Array
    parts: csr_array | None = None

    def draw(self, asked: Resampling) -> Array:
        """Return weights of cells, (resamples, cells): the same for the same seed and cells."""
        if self.parts is not None:
            return draw_groups(self.parts, asked)
        rng, size = np.random.default_rng([asked.seed, 0]), (asked.resamples, len(self.shape))
        if (self.shape == 1).all():  # the same numbers, three times as fast
            drawn = rng.standard_exponential(size)
        else:
            drawn = rng.standard_gamma(self.shape, size)
        return np.multiply(drawn, self.weight / self.shape, out=drawn)

    def sums(self, asked: Resampling) -> Array:
        """Return the sums of the values and, last, of the weights, for every resample."""
        drawn = self.draw(asked)
        return np.column_stack([drawn @ self.values, drawn.sum(axis=1)])


def in_groups(
    cell: NDArray[np.intp], weight: Array, group: NDArray[np.intp], n_cells: int
) -> csr_array:
    """Return what each group holds of each cell: a sparse table, (cells, groups)."""
    order = np.lexsort((weight, group, cell))  # so that sums do not depend on the order of rows
    at = (weight[order], (cell[order], group[order]))
    return csr_array(at, shape=(n_cells, int(group.max()) + 1))


def draw_groups(parts: csr_array, asked: Resampling) -> Array:
    """Return weights of cells where all rows of a group are drawn together: (resamples, cells)."""
    rng = np.random.default_rng([asked.seed, 0])
    held = np.zeros((parts.shape[0], asked.resamples))
    columns = parts.tocsc()
    for start in range(0, parts.shape[1], GROUPS_AT_ONCE):
        some = columns[:, start : start + GROUPS_AT_ONCE]
        held += some @ rng.standard_exponential((some.shape[1], asked.resamples))
    return held.T


def unseen_weights(asked: Resampling) -> Array:
    """Return the weight of the row that is added, one for each resample."""
    return np.random.default_rng([asked.seed, 1]).standard_exponential(asked.resamples)


def gather(
    key: NDArray[np.intp],
    weight: Array,
    values: Array,
    group: NDArray[np.intp] | None = None,
    *,
    most: int = MOST_CELLS,
) -> Cells:
    """Put equal rows together; beyond `most` cells also neighbours of the same key.

    Up to `most` different rows the draws are exact. Beyond, the rows with the greatest share in a
    column of values stay alone and the others are put together with those next in size, so that
    what is lost is the variance of values within a thin slice of one key.
    """
    if len(key) > most and len(np.unique(values[: 4 * most, 0])) > most:
        order, start = _slices(key, weight, values, most)
    else:  # sorted by everything, so that the order in which rows arrive does not change a bit
        order = np.lexsort((*values.T[::-1], weight, key))
        start = np.ones(len(key), dtype=bool)
        start[1:] = _changes(key, weight, values, order)
        if start.sum() > most:
            order, start = _slices(key, weight, values, most)
    at = np.flatnonzero(start)
    w = weight[order]
    total = np.add.reduceat(w, at)
    shape = total**2 / np.add.reduceat(w**2, at)
    mean = np.add.reduceat(w[:, None] * values[order], at) / total[:, None]
    parts = None
    if group is not None:
        parts = in_groups(np.cumsum(start) - 1, w, group[order], len(at))
    return Cells(key[order][at], total, shape, mean, parts)


def in_slices(
    key: NDArray[np.intp],
    piece: NDArray[np.intp],
    weight: Array,
    values: Array,
    group: NDArray[np.intp] | None = None,
) -> Cells:
    """Put rows of one key and one slice together, without a sort: see `gather`.

    For values that hardly differ within a slice, such as losses within a slice of the score.
    """
    slices = int(piece.max()) + 1
    number = key * slices + piece
    held = np.bincount(number) > 0
    cell = (np.cumsum(held) - 1)[number]
    total = np.bincount(cell, weight).astype(np.float64)
    shape = total**2 / np.bincount(cell, weight**2)
    sums = np.stack([np.bincount(cell, weight * column) for column in values.T], axis=1)
    parts = None if group is None else in_groups(cell, weight, group, len(total))
    mean = sums / total[:, None]
    return Cells(np.flatnonzero(held) // slices, total, shape, mean, parts)


def _changes(
    key: NDArray[np.intp], weight: Array, values: Array, order: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Where the next row in order differs from the one before."""
    differs = (np.diff(key[order]) != 0) | (np.diff(weight[order]) != 0)
    for j in range(values.shape[1]):
        differs |= np.diff(values[order, j]) != 0
    return np.asarray(differs)


def _slices(
    key: NDArray[np.intp], weight: Array, values: Array, most: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Order and starts of cells: heads alone, the rest in slices of one key and similar size."""
    squares = (weight[:, None] * values) ** 2
    share = (squares / np.maximum(squares.sum(axis=0), np.finfo(float).tiny)).max(axis=1)
    head = np.zeros(len(key), dtype=bool)
    head[np.argpartition(share, -HEADS)[-HEADS:]] = True
    kinds = int(key.max()) + 1
    bands = int(np.clip(most // (4 * kinds), 1, 16))
    edges = np.unique(weight)
    if len(edges) > bands:
        edges = np.unique(np.quantile(weight, np.arange(1, bands) / bands))
    band = np.searchsorted(edges, weight, side="right")
    band[head] = -1
    order = np.lexsort((weight * values[:, 0], band, key))
    k, alone = key[order] * (bands + 2) + band[order], head[order]
    kinds *= len(edges) + 1
    length = max(1, -(-len(key) // max(1, most - HEADS - kinds)))
    place = np.arange(len(key))
    begin = np.ones(len(key), dtype=bool)
    begin[1:] = (np.diff(k) != 0) | alone[1:] | alone[:-1]
    since = place - np.maximum.accumulate(np.where(begin, place, 0))
    return order, begin | (since % length == 0)


# --- limits ---------------------------------------------------------------------------------------


def typical_row(weight: Array, size: Array, values: Array) -> Array:
    """Return what an unseen row brings to the sums: the one definition for every figure.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Of the labelled rows among which it could hide: those that would count the same way,
        whatever their class. Where labels were drawn, an event that nobody saw hides in rows of a
        stratum that was looked at thinly, and weighs what they weigh.
    size : ndarray of shape (n,)
        How much each of them would move the figure. The unseen row is met in proportion to it.
    values : ndarray of shape (n, m)
        What a unit of weight brings.

    Notes
    -----
    With equal sizes and values 1 that is sum w^2 / sum w, the weight behind a random member of the
    population. A plain mean is too small where few rows hold most of the cost, and the greatest
    row is far too large: the limits were measured with all three (experiments/coverage).
    """
    pull = weight * size
    pull = weight if not pull.any() else pull
    return np.asarray((pull * weight) @ values / pull.sum())


def typical_weight(weight: Array, size: Array | None = None) -> float:
    """Return the weight of an unseen row among these; without sizes sum w^2 / sum w.

    Examples
    --------
    >>> round(typical_weight(np.array([1.0, 1.0, 98.0])), 2)
    96.06
    """
    at = np.ones(len(weight)) if size is None else size
    return float(typical_row(weight, at, np.ones((len(weight), 1)))[0])


def weights_beside(cell: NDArray[np.intp], weight: Array, n_cells: int) -> tuple[Array, Array]:
    """Return what an unseen row weighs below and above each cut: as the rows there do.

    Parameters
    ----------
    cell : ndarray of intp
        In which of `n_cells` slices each row lies; a cut is an end of one, n_cells + 1 in all.
    weight : ndarray
        Of each row, of any class: an event may hide among rows that had none.

    Notes
    -----
    Labels of alerts stand for one row each and those of an audit for hundreds. Below a threshold
    an unseen event comes with the weight of the audit, above it with that of the alerts; where
    nothing lies on one side, with that of all rows.

    Examples
    --------
    >>> below, above = weights_beside(np.array([0, 0, 1]), np.array([100.0, 100.0, 1.0]), 2)
    >>> below.round(1), above.round(1)
    (array([ 99.5, 100. ,  99.5]), array([99.5,  1. , 99.5]))
    """
    held = np.bincount(cell, weight, n_cells)
    squares = np.bincount(cell, weight**2, n_cells)
    sides = []
    for one in (slice(None), slice(None, None, -1)):
        total, square = (np.append(0.0, np.cumsum(part[one])) for part in (held, squares))
        empty = total <= 0
        found = np.divide(square, total, out=np.zeros(n_cells + 1), where=~empty)
        found[empty] = square[-1] / total[-1]
        sides.append(found[one])
    return sides[0], sides[1]


def limits(
    sums: Array, added: Array, figure: Figure, asked: Resampling
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return low and high limit of a figure of sums, over every unseen row that may be added.

    Parameters
    ----------
    sums : ndarray of shape (resamples, columns)
    added : ndarray of shape (n_unseen, columns)
        What each row that might have been met would bring.
    figure : callable
        From sums to (resamples,) or (resamples, n) figures.
    asked : Resampling
    """
    extra = unseen_weights(asked)[:, None]
    return outer_limits((figure(sums + extra * row) for row in added), asked)


def outer_limits(
    replicates: Iterable[Array], asked: Resampling, simultaneous: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the outermost limits over sets of replicates, each (resamples,) or (resamples, n)."""
    low: Any = np.inf
    high: Any = -np.inf
    for figures in replicates:
        tails = _joint_tails(figures, asked) if simultaneous else asked.tails
        below, above = _quantiles(figures, tails)
        low, high = np.minimum(low, below), np.maximum(high, above)
    return np.asarray(low), np.asarray(high)


def _quantiles(figures: Array, tails: tuple[float, float]) -> NDArray[Any]:
    """Quantiles over resamples; resamples in which a figure does not exist are left out of it."""
    if not np.isnan(figures).any():
        return np.asarray(np.quantile(figures, tails, axis=0))
    exists = ~np.isnan(figures).all(axis=0)
    out = np.full((2, *figures.shape[1:]), np.nan)
    out[:, exists] = np.nanquantile(figures[:, exists], tails, axis=0)
    return out


def _joint_tails(figures: Array, asked: Resampling) -> tuple[float, float]:
    """Quantiles between which a whole curve lies in a share `level` of the resamples.

    The rank of the most extreme point of a curve among all resamples; its quantile is the tail.
    """
    n = len(figures)
    ranks = figures.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") + 1
    moves = figures.min(axis=0) < figures.max(axis=0)
    if not moves.any():
        return asked.tails
    inner = np.minimum(ranks, n + 1 - ranks)[:, moves].min(axis=1)
    tail = (float(np.quantile(inner, 1 - asked.level, method="lower")) - 1) / (n - 1)
    return tail, 1 - tail  # so that the limits are themselves resamples of that rank


class Source(Protocol):
    """What a figure comes from: a Sample, or another figure of the same rows."""

    @property
    def method(self) -> str:
        """How its interval was found."""

    @property
    def assumes(self) -> str:
        """What its interval assumes."""


def as_estimate(
    value: Any, low: Any, high: Any, asked: Resampling, source: Source, few: str = ""
) -> Estimate:
    """Return the record; the value is inside its interval even where resampling is biased."""
    value, low, high = float(value), float(low), float(high)
    method = source.method + few
    if np.isnan(value) or np.isnan(low) or np.isnan(high):
        return Estimate(value, np.nan, np.nan, asked.level, method, source.assumes)
    return Estimate(value, min(low, value), max(high, value), asked.level, method, source.assumes)


class Bootstrap:
    """Sums over rows of several kinds, as they are and resampled, with an unseen row of any kind.

    Parameters
    ----------
    kind : ndarray of intp, shape (n,)
        Of each labelled row, from 0 on: the class that happened, or hit, miss and so on.
    n_kinds : int
    sample : Sample
    asked : Resampling
    values : callable, optional
        `values(k)` gives what each row would hold if it were of kind k, shape (n, m); finite. An
        unseen row is of any kind, and like all rows or like those of one kind, met in proportion to
        its first value.
    losses : int
        How many of the first columns are losses, of which a lucky row has the least.
    region : ndarray of intp, shape (n_kinds,), optional
        Kinds with the same number differ in the class alone, so an unseen row of one of them hides
        among the rows of all of them; by default among all rows.
    piece : ndarray of intp, shape (n,), optional
        Slices within which values hardly differ; used where there are more rows than cells.

    Attributes
    ----------
    total : ndarray of shape (n_kinds + m,)
        Weight of the rows of each kind, then the weighted sum of each column of values.

    Examples
    --------
    >>> kind = np.repeat([0, 1], [6, 7])
    >>> sample = read_sample(np.ones(13, dtype=bool))
    >>> rows = Bootstrap(kind, 2, sample, Resampling.read())
    >>> print(rows.estimate(lambda sums: sums[:, 1] / sums.sum(axis=1)))
    0.538 [0.283, 0.769] (90 %, bootstrap, one unseen row added)
    """

    def __init__(
        self,
        kind: NDArray[np.intp],
        n_kinds: int,
        sample: Sample,
        asked: Resampling,
        values: Callable[[int], Array] | None = None,
        *,
        losses: int = 0,
        region: NDArray[np.intp] | None = None,
        piece: NDArray[np.intp] | None = None,
    ) -> None:
        self.kind, self.n_kinds, self.sample, self.asked = kind, n_kinds, sample, asked
        self.region = np.zeros(n_kinds, dtype=np.intp) if region is None else region
        held = np.zeros((len(kind), 0))
        if values is not None:
            held = np.array(values(0), dtype=np.float64)
            for k in range(1, n_kinds):
                here = kind == k
                held[here] = values(k)[here]
        by_kind = np.bincount(kind, sample.weight, n_kinds)
        self.total = np.concatenate([by_kind, sample.weight @ held])
        columns = held if held.shape[1] else np.ones((len(kind), 1))
        if piece is None or len(kind) <= MOST_CELLS:
            cells = gather(kind, sample.weight, columns, sample.group)
        else:
            cells = in_slices(kind, piece, sample.weight, columns, sample.group)
        member = np.zeros((len(cells.key), n_kinds))
        member[np.arange(len(cells.key)), cells.key] = 1.0
        self._sums = cells.draw(asked) @ np.hstack([member, cells.values[:, : held.shape[1]]])
        extra = unseen_weights(asked)[:, None]
        self._extra = [extra * row for row in self._unseen(values, losses)]

    def estimate(self, figure: Figure, least: float = -np.inf, most: float = np.inf) -> Estimate:
        """Return a figure of the sums with its interval.

        Parameters
        ----------
        figure : callable
            From sums, shape (r, n_kinds + m), to r figures; NaN where it does not exist.
        least, most : float
            What it cannot be beyond.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(figure(self.total[None])[0])
            if np.isnan(value):
                return as_estimate(value, value, value, self.asked, self.sample)
            low, high = outer_limits((figure(self._sums + row) for row in self._extra), self.asked)
        low, high = np.clip(low, least, most), np.clip(high, least, most)
        return as_estimate(value, low, high, self.asked, self.sample)

    def _unseen(self, values: Callable[[int], Array] | None, losses: int) -> Iterator[Array]:
        """What a row, or a group, that might have been met would add to the sums."""
        n, weight = self.n_kinds, self.sample.weight
        alike = [np.ones(len(self.kind), dtype=bool)]
        alike += [self.kind == k for k in range(n) if (self.kind == k).any()]
        for k in range(n):
            many = self.sample.together(self.kind == k)
            hides = self.region[self.kind] == self.region[k]
            hides = hides if hides.any() else alike[0]
            row = np.zeros(len(self.total))
            row[k] = many * typical_weight(weight[hides])
            if values is None:
                yield row
                continue
            held = values(k)
            if losses:
                row[n:] = row[k] * (weight @ held) / weight.sum()
                row[n : n + losses] = row[k] * held[:, :losses].min(axis=0)
                yield row.copy()
            held = np.column_stack([np.ones(len(held)), held])
            for like in alike:
                for side in (np.maximum(held[:, 1], 0.0), np.maximum(-held[:, 1], 0.0)):
                    if side[like].any():
                        found = many * typical_row(weight[like], side[like], held[like])
                        row[k], row[n:] = found[0], found[1:]
                        yield row.copy()
