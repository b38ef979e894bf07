"""Which of several rules may be the best one, given that the best of them was picked on these rows?

    behind(i) = loss(i) - least loss of all = max over j of (loss(i) - loss(j))
    low       = max over j of the low limit of loss(i) - loss(j); high likewise, over j in the set
    set       = the rules whose low limit is not above 0       (Hansen, Lunde and Nason 2011)

The least of several losses is chosen after seeing them all, so limits that hold for one difference
do not hold for the greatest of many: of 8 equally good models, 6 runs in 10 called one worse. Here
the limits of all pairs hold together. Their tail is the one at which all differences of the same
resamples lie within their own quantiles in a share `level` of the resamples (Beran 1988); each
pair's limits at that tail are those of its own interval, with its unseen row. The rule that is
worse beyond them is left out, the clearest first, and the tail is found anew for the others, until
none is; a rule's limits are those of the step that decided about it. So the last two have the
interval of their difference, whatever else was tried. Distance to the best, whichever it is: Hsu
1984.

    optimism  = mean over resamples of loss(b) - loss(b)*, b the best of the resample

Assumes what bootstrap.py says. The optimism is a rough figure: of 8 equal models with independent
errors .6 to .7 of it was seen, as rows rank them by chance and resamples keep that order in part;
of nearly equal ones 1 to 2 times (experiments/choosing). Knows no loss by name: see compare.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.bootstrap import MOST_RESAMPLES, Resampling, Sample
from scarce.engine.block import Array
from scarce.results import Estimate

MOST_UNITS = 8192  # rows or groups that are drawn one by one
HEADS = 4096  # of these, those with the greatest share in a figure
AT_ONCE = 2048
BEYOND = 8  # resamples beyond a limit

Pair = Callable[[int, int, Resampling], Estimate]  # figure of one rule less that of another


class Chosen(NamedTuple):
    """What can be said of the best of several.

    Parameters
    ----------
    kept : tuple of int
        Positions of the rules that may be the best, in the order given.
    behind : dict of position -> Estimate
        How far each but the best lies behind the best, whichever that is.
    optimism : float
        How much better the least figure looks than it is, for having been chosen.
    """

    kept: tuple[int, ...]
    behind: dict[int, Estimate]
    optimism: float


class Joint:
    """Means of several figures over the same rows, as they are and resampled together.

    Parameters
    ----------
    figures : ndarray of shape (n_labelled, m)
        What each row brings to each rule; finite.
    sample : Sample
    asked : Resampling

    Examples
    --------
    >>> from scarce.bootstrap import read_sample
    >>> rows = np.random.default_rng(0).normal(size=(400, 3))
    >>> joint = Joint(rows, read_sample(np.ones(400, dtype=bool)), Resampling.read())
    >>> joint.means.shape, round(joint.tail([(0, 1)]), 3)
    ((4000, 3), 0.05)
    >>> 0.015 < joint.tail([(0, 1), (0, 2), (1, 2)]) < 0.03
    True
    """

    def __init__(self, figures: Array, sample: Sample, asked: Resampling) -> None:
        self.asked = asked
        self.value = np.asarray(sample.weight @ figures / sample.weight.sum())
        many = min(asked.resamples * (1 if figures.shape[1] < 3 else 4), MOST_RESAMPLES)
        order = _own_order(figures, sample.weight)
        means = _resampled_means(figures[:, order], sample, asked._replace(resamples=many))
        self.means = means[:, np.argsort(order)]
        self._inner: dict[tuple[int, int], Array] = {}

    def tail(self, pairs: Sequence[tuple[int, int]]) -> float:
        """Return the tail at which the differences of these pairs hold together."""
        if len(pairs) < 2:
            return self.asked.tails[0]
        n = len(self.means)
        most_extreme = np.min([self._outwards(*pair) for pair in pairs], axis=0)
        rank = float(np.quantile(most_extreme, 1 - self.asked.level, method="lower"))
        return min(max((rank - 1) / (n - 1), 1 / n), self.asked.tails[0])

    def wanted(self, tail: float) -> Resampling:
        """Return how the interval of one pair is wanted, so that it holds at this tail."""
        if tail == self.asked.tails[0]:
            return self.asked
        many = min(max(self.asked.resamples, int(np.ceil(BEYOND / tail))), MOST_RESAMPLES)
        return self.asked._replace(level=1 - 2 * tail, resamples=many)

    def quantile(self, i: int, j: int, share: float) -> float:
        """Return a quantile of the resampled difference of two rules."""
        return float(np.quantile(self.means[:, i] - self.means[:, j], share))

    def evidence(self, rules: Sequence[int]) -> list[tuple[float, int, int]]:
        """Return each rule with the one that shows best that it is worse, the clearest first."""
        found = []
        for i in rules:
            better = [j for j in rules if self.value[j] < self.value[i]]
            apart = [(self.value[i] - self.value[j]) / self._spread(i, j) for j in better]
            if apart:
                found.append((max(apart), i, better[int(np.argmax(apart))]))
        return sorted(found, reverse=True)

    def _spread(self, i: int, j: int) -> float:
        """Standard deviation of a resampled difference."""
        return max(float(np.std(self.means[:, i] - self.means[:, j])), np.finfo(float).tiny)

    @property
    def optimism(self) -> float:
        """How much better the least figure looks than it is, for having been chosen."""
        drawn = self.means + (self.value - self.means.mean(axis=0))
        best = drawn.argmin(axis=1)
        return float((self.value[best] - drawn[np.arange(len(drawn)), best]).mean())

    def _outwards(self, i: int, j: int) -> Array:
        """Rank of a difference among all resamples, counted from the nearer end."""
        key = (min(i, j), max(i, j))
        if key not in self._inner:
            apart = self.means[:, key[0]] - self.means[:, key[1]]
            n = len(apart)
            rank = apart.argsort(kind="stable").argsort(kind="stable") + 1
            inner = np.minimum(rank, n + 1 - rank)
            self._inner[key] = inner if apart.min() < apart.max() else np.full(n, n)
        return self._inner[key]


def choose(joint: Joint, difference: Pair) -> Chosen:
    """Return which rules may be the best, and how far each lies behind it.

    Parameters
    ----------
    joint : Joint
    difference : callable
        `difference(i, j, asked)` returns the figure of rule i less that of j, with its interval.

    Examples
    --------
    >>> from scarce.bootstrap import Bootstrap, read_sample
    >>> rows = np.random.default_rng(0).normal([0, 0, 1], size=(100, 3))
    >>> sample, kind = read_sample(np.ones(100, dtype=bool)), np.zeros(100, dtype=int)
    >>> def difference(i, j, asked):
    ...     drawn = Bootstrap(kind, 1, sample, asked, lambda k: (rows[:, i] - rows[:, j])[:, None])
    ...     return drawn.estimate(lambda sums: sums[:, 1] / sums[:, 0])
    >>> choose(Joint(rows, sample, Resampling.read()), difference).kept
    (0, 1)
    """
    value, rules = joint.value, range(len(joint.value))
    best = int(np.argmin(value))
    left = list(rules)
    known: dict[tuple[int, int, float], Estimate] = {}

    def apart(i: int, j: int, tail: float) -> Estimate:
        if (i, j, tail) not in known:
            known[i, j, tail] = difference(i, j, joint.wanted(tail))
        return known[i, j, tail]

    out: dict[int, tuple[list[int], float]] = {}  # with which it was compared last, at which tail
    while True:
        tail = joint.tail([(i, j) for at, i in enumerate(left) for j in left[:at]])
        for _, i, j in joint.evidence(left):
            if joint.quantile(i, j, tail) > 0 and apart(i, j, tail).low > 0:
                out[i] = (left, tail)
                left = [one for one in left if one != i]
                break
        else:
            break
    behind = {}
    for i in rules:
        if i != best:
            others, own = out.get(i, (left, tail))
            one = apart(i, best, own)
            near = max((j for j in others if j != i), key=lambda j: joint.quantile(i, j, own))
            far = max((j for j in left if j != i), key=lambda j: joint.quantile(i, j, 1 - own))
            low = max(one.low, apart(i, near, own).low)
            low = low if i in out else min(low, 0.0)
            high = max(one.high, apart(i, far, own).high)
            behind[i] = _joined(one, low, high, joint.asked, len(others))
    return Chosen(tuple(left), behind, joint.optimism)


def against_one(joint: Joint, one: int, others: Iterable[int], difference: Pair) -> list[Estimate]:
    """Return how far each of the others lies below one of them; limits hold together."""
    others = list(others)
    asked = joint.wanted(joint.tail([(one, j) for j in others]))
    found = (difference(one, j, asked) for j in others)
    return [_joined(e, e.low, e.high, joint.asked, len(others) + 1) for e in found]


def _joined(one: Estimate, low: float, high: float, asked: Resampling, rules: int) -> Estimate:
    said = one.method if rules < 3 else f"{one.method}; jointly for {rules}"
    if np.isnan(one.low):
        return Estimate(one.value, np.nan, np.nan, asked.level, one.method, one.assumes)
    low, high = min(low, one.value), max(high, one.value)
    return Estimate(one.value, low, high, asked.level, said, one.assumes)


def _own_order(figures: Array, weight: Array) -> NDArray[np.intp]:
    """Return the rules in order of their means, whichever was named first.

    Those that agree to nine digits are in order of the third moments of what tells them apart.
    """
    apart = figures - figures.mean(axis=1, keepdims=True)
    apart /= max(float(np.abs(apart).max()), np.finfo(float).tiny)
    keys = []
    for part in (apart**3, figures):
        mean = weight @ part / weight.sum()
        keys.append(np.round(mean / max(float(np.abs(mean).max()), np.finfo(float).tiny), 9))
    return np.lexsort(keys)


def _resampled_means(figures: Array, sample: Sample, asked: Resampling) -> Array:
    """Means of the figures in every resample, (resamples, m); the same whatever the row order."""
    held = np.column_stack([sample.weight, sample.weight[:, None] * figures])
    if sample.group is not None:
        held = np.column_stack([np.bincount(sample.group, column) for column in held.T])
    held = _lots(held, asked)
    rng = np.random.default_rng([asked.seed, 3])
    sums = np.zeros((asked.resamples, held.shape[1]))
    for start in range(0, len(held), AT_ONCE):
        some = held[start : start + AT_ONCE]
        sums += rng.standard_exponential((asked.resamples, len(some))) @ some
    return np.asarray(sums[:, 1:] / sums[:, :1])


def _lots(held: Array, asked: Resampling) -> Array:
    """Put rows in an order of their own, and beyond many, those of small share at random in lots.

    Lots are drawn as a whole. As they are dealt at random, their sums vary as those of single rows
    would, in every figure and difference of figures.
    """
    away = held[:, 1:] - held[:, :1] * (held[:, 1:].sum(axis=0) / held[:, 0].sum())
    away -= away.mean(axis=1, keepdims=True)  # what rules have in common does not tell them apart
    rng = np.random.default_rng([asked.seed, 4])
    order = np.lexsort((held @ rng.normal(size=held.shape[1]), held[:, 0]))
    held, away = held[order], away[order]
    if len(held) <= MOST_UNITS:
        return held
    scale = np.sqrt(np.maximum((away**2).sum(axis=0), np.finfo(float).tiny))
    order = np.argsort(-(np.abs(away) / scale).max(axis=1), kind="stable")
    heads, rest = held[order[:HEADS]], held[order[HEADS:]]
    rest = rest[rng.permutation(len(rest))]
    edges = np.linspace(0, len(rest), MOST_UNITS - HEADS, endpoint=False).astype(np.intp)
    return np.vstack([heads, np.add.reduceat(rest, edges, axis=0)])
