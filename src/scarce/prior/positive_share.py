"""How many events are among the rows without a label, where one class alone was labelled?

    share = purity(t) * ratio(t),    ratio(t) = P(score >= t | no label) / P(score >= t | labelled)

for every threshold t, purity(t) being the part of the unlabelled rows scored t or more that are
events. Nothing observed tells the purity: it is at most 1, so the least ratio limits the share from
above, and it is the share where the rows at that threshold are all events. So the answer has three
parts: a limit that holds if labelled rows are a fair sample of the events; the share under a purity
that somebody states; and the lines in between.

The k-th greatest score of n labelled rows has Beta(k, n + 1 - k) of the events above it, whatever
their distribution, and the unlabelled rows beyond it are at least Binomial(m, share * that part).
The limit is where that count becomes too small, at the threshold where it is the least; the levels
of all thresholds are lowered together by simulation (min-p). But for that simulation it is exact in
small samples, and with ties on the safe side. Ratios as limits: Blanchard, Lee and Scott (2010);
the least one as an estimate: Scott (2015), Garg and others (2021). Weights and groups count by
effective numbers, which is approximate.

Assumes that labelled rows are drawn at random among the events. Labels given to sure events first
make the limit too low, and nothing in the data shows it. Does not estimate the purity: labels for
some of the rows at the threshold do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaincc, betainccinv, betaincinv, ndtri, stdtrit

from scarce.bootstrap import FEW, Seed, few_remarks, read_groups
from scarce.checks import (
    Number,
    read_level,
    read_number,
    read_scores,
    read_seed,
    read_weight,
    refuse_length,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import DataError, Phrase, Problem, refuse_word
from scarce.io.labels import label_array, missing_labels
from scarce.prior.one_class import only_class
from scarce.results import Estimate, Record, in_rows, short

LEAST_LABELLED = 5
LEAST_ABOVE = 3  # labelled rows, or as many of equal weight, beyond a threshold
STEP = 2**-0.5  # between the parts of the labelled rows beyond thresholds
PARTS = 100  # values of the part of the events beyond a threshold
SIMULATED = 4000
MOST = 0.5  # of the labelled rows, above all others, from which on it is said
NOTHING = 0.95  # limit from which on the scores say next to nothing
PURITY = Number(0, 1, open_low=True)
PURITIES = (1.0, 0.9, 0.75, 0.5)
LABELLED_FROM = ("pool", "elsewhere")
FAIR = "labelled rows are drawn at random among the events"


@dataclass(frozen=True, eq=False)
class PositiveShare(Record):
    """What one labelled class says about its share: a limit, and the share under each purity.

    Parameters
    ----------
    label : name
        The labelled class.
    limit : Estimate
        Of the share among all rows, or in the population where labelled rows are from elsewhere;
        its value is unknown, its `high` holds with probability `level` if labelled rows are drawn
        at random among the events.
    ratio : Estimate
        Share among the unlabelled rows if all of those at the threshold are events.
    threshold : float
        Score at which the ratio is found.
    above : int
        Unlabelled rows scored that much or more.
    labelled, unlabelled : int
    part : float
        Labelled part of the population; 0 where labelled rows are from elsewhere.
    remarks : tuple of str
    """

    label: Any
    limit: Estimate
    ratio: Estimate
    threshold: float
    above: int
    labelled: int
    unlabelled: int
    part: float
    remarks: tuple[str, ...] = ()

    def at(self, purity: float) -> Estimate:
        """Return the share among all rows, if so many of the rows at the threshold are events.

        Parameters
        ----------
        purity : float
            Part of the unlabelled rows scored `threshold` or more that are events, in (0, 1].
        """
        purity = read_number(purity, "purity", PURITY, "purity-range")
        low, value, high = (
            self.part + (1.0 - self.part) * purity * one
            for one in (self.ratio.low, self.ratio.value, self.ratio.high)
        )
        told = (
            f"{FAIR}; of the {in_rows(self.above)} without a label scored {short(self.threshold)} "
            f"or more, {short(purity, percent=True)} are events"
        )
        return Estimate(value, low, high, self.ratio.level, self.ratio.method, told)

    @property
    def sensitivity(self) -> tuple[tuple[float, Estimate], ...]:
        """Purities and the shares that they imply."""
        return tuple((one, self.at(one)) for one in PURITIES)

    def __str__(self) -> str:
        rows = self.unlabelled + (self.labelled if self.part > 0 else 0)
        level = f"{100 * self.limit.level:g} %"
        lines = [
            f"share of {self.label!s} among {in_rows(rows)}: at most {short(self.limit.high)} "
            f"({level}), if {FAIR}",
            f"by how many of the {in_rows(self.above)} without a label scored "
            f"{short(self.threshold)} or more are events:",
        ]
        lines += [f"{short(k, percent=True):>7}  {one.brief()}" for k, one in self.sensitivity]
        lines.append(
            f"{100 * self.ratio.level:g} %; {self.labelled:,} labelled. Only labels of such rows "
            "tell which line holds."
        )
        return "\n".join([*lines, *self.remarks])


def estimate_positive_share(
    y: ArrayLike,
    score: ArrayLike,
    *,
    labelled_from: str = "pool",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    random_state: Seed = 0,
) -> PositiveShare:
    """Limit the share of a class of which some rows are labelled, and none of the others.

    Parameters
    ----------
    y : array-like of shape (n,)
        One class; missing where a row is not labelled.
    score : array-like of shape (n,)
        The greater, the more likely the class, from a fit that did not see the row:
        `left_out_prob({"m": model}, X, labelled)["m"]`, or any other number of the row.
    labelled_from : {"pool", "elsewhere"}
        "pool": labelled rows were picked from the population, and the others are the rest of it.
        "elsewhere": the rows without a label are themselves a sample of the population (presences
        and a background, cases and controls).
    sample_weight, groups : array-like of shape (n,), optional
        How much of the population a row stands for, and which rows belong together.
    level : float
        Of the intervals; the limit, one of their ends, holds with (1 + level) / 2.
    random_state : int, Generator or RandomState

    Returns
    -------
    PositiveShare
        `limit` needs no more than a fair sample; `at(1.0)` is the estimate if the best scored rows
        are all events, `at(0.8)` if 80 % of them are.

    **Assumes** that labelled rows are drawn at random among the events, whatever their score. The
    share itself cannot be found without a statement about unlabelled rows, which `at` takes.

    Notes
    -----
    Any score gives a valid limit; one that tells events better gives a lower one. Its coverage is
    measured in experiments/base_rates.

    References
    ----------
    Blanchard, Lee and Scott (2010), Semi-supervised novelty detection, JMLR 11. Scott (2015), A
    rate of convergence for mixture proportion estimation, AISTATS. Garg, Wu, Smola, Balakrishnan
    and Lipton (2021), Mixture proportion estimation and PU learning, NeurIPS.

    Examples
    --------
    15 % events, of which half are labelled; the score is how likely a row is to be labelled:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from scarce import left_out_prob
    >>> rng = np.random.default_rng(0)
    >>> event = rng.random(4000) < 0.15
    >>> X = rng.normal(size=(4000, 2)) + 2 * event[:, None]
    >>> y = np.where(event & (rng.random(4000) < 0.5), 1.0, np.nan)
    >>> score = left_out_prob({"logit": LogisticRegression()}, X, ~np.isnan(y))["logit"]
    >>> found = estimate_positive_share(y, score)
    >>> print(found)
    share of 1.0 among 4,000 rows: at most ... (95 %), if labelled rows are drawn at random among
    the events
    by how many of the ... rows without a label scored ... or more are events:
      100 %  ...
    >>> event.mean() < found.limit.high < 0.2
    True
    """
    refuse_other_index(y=y, score=score, sample_weight=sample_weight, groups=groups)
    refuse_word("labelled_from", labelled_from, LABELLED_FROM)
    tail = (1.0 - read_level(level)) / 2.0
    labels = label_array(y)
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    values = read_scores(score, "score")
    refuse_length(labels, len(values), "y")
    weight = read_weight(sample_weight, len(values), "sample_weight")
    weight = weight / max(weight.max(), np.finfo(np.float64).tiny)
    label, labelled = _one_label(labels)
    group = read_groups(groups, len(values), np.arange(len(values)))
    own, others = (
        _Side.of(values, weight, group, mask & (weight > 0)) for mask in (labelled, ~labelled)
    )
    _refuse_few(own, others, label)
    part = 0.0
    if labelled_from == "pool":
        part = own.total / (own.total + others.total)
    best = _least_ratio(own, others, tail, read_seed(random_state))
    high = part + (1.0 - part) * best.high
    return PositiveShare(
        label,
        Estimate(np.nan, part, high, 1.0 - tail, "least ratio over thresholds", FAIR),
        Estimate(best.value, best.low, best.high, level, "ratio at the best threshold",
                 f"{FAIR}; all unlabelled rows at the threshold are events"),
        best.threshold, int((others.score >= best.threshold).sum()),
        len(own.score), len(others.score), part, _remarks(own, others, best),
    )  # fmt: skip


def _one_label(labels: NDArray[Any]) -> tuple[object, NDArray[np.bool_]]:
    """Return the labelled class, and which rows are labelled."""
    unlabelled = missing_labels(labels)
    label = only_class(labels, unlabelled)
    if label is None:
        raise DataError(
            "Rows of several classes are labelled, and this is for one.",
            code="several-classes",
            call=Phrase("estimate_share(prob_now, validation=(y, prob))"),
            remedy=[
                "Leave the labels of unlabelled rows missing (NaN or None), not 0.",
                "Where both classes are labelled, {call} finds the share.",
            ],
        )
    return label.item() if isinstance(label, np.generic) else label, ~unlabelled


# --- two samples of scores ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Side:
    """Scores of labelled or of other rows, and how many rows of equal weight they are worth."""

    score: Array
    weight: Array
    effective: float
    total: float

    @classmethod
    def of(
        cls, score: Array, weight: Array, group: NDArray[np.intp] | None, mask: NDArray[np.bool_]
    ) -> _Side:
        own, held = score[mask], weight[mask]
        if not len(own):
            return cls(own, held, 0.0, 0.0)
        total = float(held.sum())
        held = held / held.max()  # its squares neither vanish nor overflow
        worth = float(held.sum() ** 2 / (held @ held))
        if group is not None:
            worth = min(worth, _groups_worth(own, held, group[mask]))
        return cls(own, held, worth, total)

    def beyond(self, thresholds: Array) -> Array:
        """Return the part of the weight scored so much or more."""
        order = np.argsort(self.score, kind="stable")
        below = np.append(0.0, np.cumsum(self.weight[order]))
        at = np.searchsorted(self.score[order], thresholds, side="left")
        return np.asarray((below[-1] - below[at]) / below[-1])


def _groups_worth(score: Array, weight: Array, group: NDArray[np.intp]) -> float:
    """Return how many rows say as much about a part beyond a threshold as these in groups do."""
    held = np.bincount(group, weight)
    held = held[held > 0]
    least = float(weight.sum() ** 2 / (held @ held))
    worth = float(len(score)) if len(held) > 1 else least
    for threshold in np.quantile(score, [0.25, 0.5, 0.75, 0.9]):
        above = (score >= threshold).astype(np.float64)
        mean = float(weight @ above / weight.sum())
        lumps = np.bincount(group, weight * (above - mean))
        spread = float(lumps @ lumps) / weight.sum() ** 2
        if len(held) > 1 and 0 < mean < 1:
            spread *= len(held) / (len(held) - 1.0)
            spread *= (stdtrit(len(held) - 1.0, 0.95) / ndtri(0.95)) ** 2  # few groups tell little
            worth = min(worth, mean * (1 - mean) / max(spread, 1e-300))
    return max(worth, least)


def _refuse_few(own: _Side, others: _Side, label: object) -> None:
    for side, name in ((own, f"labelled {label!s}"), (others, "not labelled")):
        if len(side.score) < LEAST_LABELLED:
            raise DataError(
                "Only {rows} with a weight above 0 {are} {name}: nothing can be said of the share.",
                code="too-few-labels",
                rows=in_rows(len(side.score)),
                are="is" if len(side.score) == 1 else "are",
                count=len(side.score),
                name=name,
                remedy=f"Give at least {LEAST_LABELLED}.",
            )


# --- the least ratio ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ratio:
    """A threshold, the ratio there, and its limits."""

    threshold: float
    value: float
    low: float
    high: float


def _least_ratio(own: _Side, others: _Side, tail: float, seed: int) -> _Ratio:
    """Return the ratio at the threshold where its upper limit is the least."""
    thresholds = _thresholds(own)
    n, m = own.effective, others.effective
    beyond, count = own.beyond(thresholds), m * others.beyond(thresholds)
    first = min(
        _upper(n * k, n, x, m, tail / len(beyond)) for k, x in zip(beyond, count, strict=True)
    )
    each = _shared_tail(n * beyond, n, m, first, tail, seed)
    highs = np.array([_upper(n * k, n, x, m, each) for k, x in zip(beyond, count, strict=True)])
    best = int(np.argmin(highs))
    k, x = float(n * beyond[best]), float(count[best])
    high = float(highs[best])
    value = min(x / m / float(beyond[best]), high)
    low = min(_lower(k, n, x, m, tail), value)
    return _Ratio(float(thresholds[best]), value, low, high)


def _thresholds(own: _Side) -> Array:
    """Return scores of labelled rows beyond which shrinking parts of them lie, greatest last."""
    found = np.unique(own.score)
    beyond = own.beyond(found)
    wanted = [1.0]
    while wanted[-1] * STEP * own.effective >= LEAST_ABOVE:
        wanted.append(wanted[-1] * STEP)
    at = np.searchsorted(-beyond, -np.array(wanted) + 1e-9, side="right") - 1
    return np.asarray(found[np.unique(np.maximum(at, 0))])


@cache
def _tail_first() -> tuple[Array, Array]:
    """Return probabilities, dense near 0, and their weights: integrals over (0, 1) by u = v^3."""
    v, weight = np.polynomial.legendre.leggauss(PARTS)
    v, weight = (v + 1.0) / 2.0, weight / 2.0
    return v**3, weight * 3.0 * v**2


def _upper(k: float, n: float, count: float, m: float, tail: float) -> float:
    """Return the greatest share with which so few of m rows lie beyond, with probability tail.

    Beyond the k-th greatest of n scores lies a Beta(k, n + 1 - k) part of the events.
    """
    if count >= m:
        return 1.0
    at, weight = _tail_first()
    part = betaincinv(k, n + 1.0 - k, at)

    def off(share: float) -> float:
        return float(weight @ betaincc(count + 1.0, m - count, share * part)) - tail

    return 1.0 if off(1.0) >= 0 else float(brentq(off, 0.0, 1.0, xtol=1e-9))


def _lower(k: float, n: float, count: float, m: float, tail: float) -> float:
    """Return the least share with which so many of m rows lie beyond, with probability tail."""
    if count <= 0:
        return 0.0
    at, weight = _tail_first()
    part = np.ones(PARTS) if k > n - 1e-9 else betainccinv(k + 1.0, n - k, at)

    def off(share: float) -> float:
        return float(weight @ betainc(count, m - count + 1.0, share * part)) - tail

    return 1.0 if off(1.0) <= 0 else float(brentq(off, 0.0, 1.0, xtol=1e-9))


def _shared_tail(ranks: Array, n: float, m: float, share: float, tail: float, seed: int) -> float:
    """Return the tail of each threshold with which one of all is beyond its own with `tail`.

    Simulated where it matters: all unlabelled rows beyond the lowest threshold are events, in the
    share of the first limit.
    """
    n_thresholds = len(ranks)
    if n_thresholds == 1:
        return tail
    rng = np.random.default_rng([seed, 11])
    ascending = ranks[::-1]
    shape = np.diff(ascending, prepend=0.0, append=n + 1.0)
    gaps = rng.standard_gamma(np.maximum(shape, 1e-9), (SIMULATED, n_thresholds + 1))
    parts = gaps / gaps.sum(axis=1, keepdims=True)
    cells = share * parts[:, :-1]
    law = np.column_stack([cells, 1.0 - cells.sum(axis=1)])
    counts = rng.multinomial(max(1, round(m)), law)[:, :-1].cumsum(axis=1)
    order = np.sort(counts, axis=0)
    p = np.stack([
        np.searchsorted(order[:, j], counts[:, j], side="right") for j in range(n_thresholds)
    ]) / SIMULATED  # fmt: skip
    found = float(np.quantile(p.min(axis=0), tail, method="lower"))
    return min(max(found, tail / n_thresholds), tail)


def _above(own: _Side, others: _Side) -> float:
    """Return the part of the labelled rows that score above every other row."""
    return float(own.beyond(np.array([np.nextafter(others.score.max(), np.inf)]))[0])


def _remarks(own: _Side, others: _Side, best: _Ratio) -> tuple[str, ...]:
    found: list[str] = []
    if best.high >= NOTHING:
        found.append(
            Problem(
                "The scores of rows without a label are much like those of labelled ones, or the "
                "greater scores are not the likelier events: they say next to nothing of the "
                "share.",
                code="scores-alike",
            )
        )
    elif _above(own, others) >= MOST:
        found.append(
            Problem(
                "{part} of the labelled rows score above every row without a label: nearly all "
                "events are labelled, or the scores are those of a fit that saw the labels, and "
                "then the limit is too low.",
                code="scores-apart",
                part=short(round(_above(own, others), 2), percent=True),
                call=Phrase('left_out_prob({"m": model}, X, labelled)["m"]'),
                remedy="Score every row by a fit that left it out: {call}.",
            )
        )
    few = []
    for side, kind in ((own, "labelled"), (others, "unlabelled")):
        if side.effective < FEW:
            told = f"{len(side.score):,} {kind} ones"
            if side.effective < len(side.score) - 0.5:
                told += f", worth {short(side.effective)} independent ones of equal weight"
            few.append(told)
    found += few_remarks("; ".join(few))
    return tuple(found)
