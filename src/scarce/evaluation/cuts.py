"""Two classes cut by thresholds: how many of each lie between them, in the data and in resamples?

    misses(t) = weight of events with score < t,   false alarms(t) = of the others with score >= t

A curve over thresholds needs only the weight of each class between neighbouring thresholds, and in
a resample that is a gamma variable: exact for equal weights, right in mean and variance otherwise.
Thresholds on the convex hull of the ROC curve come from isotonic regression (Fawcett and
Niculescu-Mizil 2007). Assumes what resample.py says. Draws no curve: see curves.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from scarce.checks import read_labels, read_scores
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError
from scarce.evaluation.resample import (
    Asked,
    draw_groups,
    estimate,
    gather,
    in_groups,
    limits,
    outer,
    typical,
    unseen,
)
from scarce.evaluation.sample import Sample, read_sample
from scarce.evaluation.wording import few_remarks, few_words
from scarce.results import Estimate

CUTS = 128  # thresholds tried in resamples, besides the best ones
FOLDS = 5

Figures = Callable[[Array, Array], dict[str, Array]]  # (events, others) -> (resamples, n) each


class Tally(NamedTuple):
    """Weight of events and others between thresholds, lowest scores first, in each fold.

    Arrays have shape (folds, thresholds + 1); resamples of them one axis more, in front.
    """

    pos: Array
    neg: Array
    pos_shape: Array
    neg_shape: Array
    below: float  # weight of an unseen row with a low score, and with a high one
    above: float
    many: tuple[float, float]  # of them that come together, of events and of others
    parts: Any = None  # what groups hold, where rows come in groups

    @property
    def whole(self) -> tuple[Array, Array]:
        """The data themselves, as one resample."""
        return self.pos[None], self.neg[None]

    def plain(self, asked: Asked) -> tuple[Array, Array]:
        """Return resamples of both, (resamples, folds, thresholds + 1)."""
        if self.parts is not None:
            both = draw_groups(self.parts, asked).reshape(asked.resamples, 2, *self.pos.shape)
            return both[:, 0].copy(), both[:, 1].copy()
        rng = np.random.default_rng([asked.seed, 0])
        sides = []
        for weight, shape in ((self.pos, self.pos_shape), (self.neg, self.neg_shape)):
            scale = np.divide(weight, shape, out=np.zeros_like(weight), where=shape > 0)
            sides.append(rng.standard_gamma(shape, (asked.resamples, *shape.shape)) * scale)
        return sides[0], sides[1]

    def drawn(self, asked: Asked) -> Iterator[tuple[Array, Array]]:
        """Yield resamples with one unseen row added: an event or not, at the low or high end."""
        pos, neg = self.plain(asked)
        extra = unseen(asked)
        event, other = self.many
        for side, cell, weight in (
            (pos, 0, event * self.below),
            (pos, -1, event * self.above),
            (neg, -1, other * self.above),
            (neg, 0, other * self.below),
        ):
            kept = side[:, 0, cell].copy()
            side[:, 0, cell] += extra * weight
            yield pos, neg
            side[:, 0, cell] = kept


@dataclass(frozen=True, eq=False)
class BinaryRows:
    """Labelled rows of two classes with their scores, in order of score."""

    y: Array
    score: Array
    weight: Array
    sample: Sample
    group: NDArray[np.intp] | None
    many: tuple[float, float]

    @classmethod
    def read(
        cls,
        y_true: Any,
        score: Any,
        sample_weight: Any,
        inclusion: Any,
        groups: Any,
        probabilities: bool,
    ) -> BinaryRows:
        """Return them, or refuse what is no outcome, score or probability."""
        values = read_scores(score, "prob" if probabilities else "score")
        if probabilities and not ((values >= 0) & (values <= 1)).all():
            row = int(np.argmax(~((values >= 0) & (values <= 1))))
            raise DataError(
                f"prob holds {values[row]:g} at row {row:,}: probabilities lie between 0 and 1. "
                "Pass predict_proba(X)[:, 1], not scores; cost_curve takes any scores."
            )
        y = read_labels(y_true, len(values))
        sample = read_sample(~np.isnan(y), sample_weight, inclusion, groups)
        y, values = y[sample.rows], values[sample.rows]
        many = sample.together(y == 1), sample.together(y == 0)
        order = np.lexsort((sample.weight, y, values))
        group = None if sample.group is None else sample.group[order]
        return cls(y[order], values[order], sample.weight[order], sample, group, many)

    @property
    def few(self) -> str:
        """Words, where few rows of a class stand behind a figure."""
        counts = np.bincount(self.y.astype(np.intp), minlength=2)
        return few_words((0, 1), counts, 0.0, self.sample.n_groups)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the reader should know."""
        return few_remarks(self.few)

    def need_both(self) -> None:
        """Refuse rows of one class, whose error rates do not exist."""
        for k, name in enumerate(("0 (no event)", "1 (event)")):
            if not (self.y == k).any():
                raise DataError(
                    f"No labelled row is {name}: a rate of errors within that class does not "
                    "exist. Label some, or use brier_curve, which needs none."
                )

    @cached_property
    def fitted(self) -> tuple[NDArray[np.intp], Array]:
        """Starts of the blocks of equal calibrated probability, and that probability."""
        start = np.flatnonzero(np.append(True, np.diff(self.score) > 0))
        weight = np.add.reduceat(self.weight, start)
        share = np.add.reduceat(self.weight * self.y, start) / weight
        found = isotonic_regression(share, weights=weight)
        first = found.blocks[:-1]
        return start[first], np.asarray(found.x[first])

    @property
    def hull(self) -> Array:
        """Thresholds that are best for some costs: scores at which these blocks begin."""
        return np.asarray(self.score[self.fitted[0]])

    def refinement(self, weight: Array) -> float:
        """Brier score after isotonic calibration, which is the area below the lowest curve."""
        event, other = (np.add.reduceat(weight * (self.y == k), self.fitted[0]) for k in (1, 0))
        return float((event * other / (event + other)).sum() / weight.sum())

    def cuts(self) -> Array:
        """Thresholds to try in resamples: the best ones and some that cut off equal numbers."""
        at = np.linspace(0, len(self.score) - 1, CUTS).astype(np.intp)
        return np.unique(np.concatenate([self.hull, self.score[at]]))

    def tally(self, edges: Array, folds: int = 1, seed: int = 0) -> Tally:
        """Return the weight of each class between thresholds; a score on one lies above it.

        Folds are dealt by lot, groups as a whole. Dealt in order of score they would share each
        other's chances, and thresholds from other folds would fit as if they were from the same.
        """
        rng = np.random.default_rng([seed, 3])
        width = len(edges) + 1
        cell = np.searchsorted(edges, self.score, side="right")
        sides: list[Array] = []
        at = np.empty(len(cell), dtype=np.intp)
        dealt = rng.permutation(self.sample.n_groups or 0) % folds
        for k in (1, 0):
            mine = np.flatnonzero(self.y == k)
            if self.group is None:
                fold = rng.permutation(np.arange(len(mine)) % folds)
            else:
                fold = dealt[self.group[mine]]
            place = fold * width + cell[mine]
            at[mine] = place + (1 - k) * folds * width
            total = np.bincount(place, self.weight[mine], folds * width).astype(np.float64)
            squares = np.bincount(place, self.weight[mine] ** 2, folds * width)
            shape = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)
            sides += [total.reshape(folds, width), shape.reshape(folds, width)]
        ones = np.ones((len(self.weight), 1))
        upper = self.weight[len(self.weight) // 2 :]
        below = typical(self.weight, ones[:, 0], ones)[0]
        above = typical(upper, ones[: len(upper), 0], ones[: len(upper)])[0]
        parts = None
        if self.group is not None:
            parts = in_groups(at, self.weight, self.group, 2 * folds * width)
        ends = float(below), float(above)
        return Tally(sides[0], sides[2], sides[1], sides[3], *ends, self.many, parts)

    def mean(self, values: Array, worst: list[tuple[int, float]], asked: Asked) -> Estimate:
        """Return the mean of values with its interval.

        `worst`: class and value of each row that might have been met.
        """
        cells = gather(self.y.astype(np.intp), self.weight, values[:, None], self.group)
        drawn = cells.draw(asked)
        sums = np.column_stack([drawn @ cells.values, drawn.sum(axis=1)])
        ones = np.ones((len(self.weight), 1))
        one = typical(self.weight, ones[:, 0], ones)[0]
        added = np.array([[one * self.many[1 - k] * v, one * self.many[1 - k]] for k, v in worst])
        low, high = limits(sums, added, lambda s: np.asarray(s[:, 0] / s[:, 1]), asked)
        value = self.weight @ values / self.weight.sum()
        return estimate(value, low, high, asked, self.sample, self.few)


def wrong(pos: Array, neg: Array, axis: int | None = 1) -> tuple[Array, Array]:
    """Return misses and false alarms at each threshold: -inf, the given ones, inf; folds summed."""
    if axis is not None:
        pos, neg = pos.sum(axis=axis), neg.sum(axis=axis)
    missed = np.zeros((*pos.shape[:-1], pos.shape[-1] + 1))
    np.cumsum(pos, axis=-1, out=missed[..., 1:])
    alarmed = np.zeros_like(missed)
    alarmed[..., :-1] = np.cumsum(neg[..., ::-1], axis=-1)[..., ::-1]
    return missed, alarmed


def lowest(missed: Array, alarmed: Array, miss: Array, alarm: Array) -> Array:
    """Return the least cost over thresholds, for each pair of costs: (resamples, n)."""
    out = np.empty((len(missed), len(miss)))
    for start in range(0, len(missed), 64):  # few enough to stay in cache
        some = slice(start, start + 64)
        m, a = missed[some], alarmed[some]
        work, more = np.empty_like(m), np.empty_like(m)
        for j in range(len(miss)):
            np.multiply(m, miss[j], out=work)
            work += np.multiply(a, alarm[j], out=more)
            out[some, j] = work.min(axis=1)
    return out


class Elsewhere(NamedTuple):
    """Thresholds that were best on the other folds, for each fold and point: (folds, n).

    Thresholds chosen on the same rows make a curve too low, those chosen on other rows, fewer of
    them, too high: the truth lies between the two. A resample alone shows neither, for it repeats
    the rows that were chosen on.
    """

    place: NDArray[np.intp]

    @classmethod
    def find(cls, tally: Tally, miss: Array, alarm: Array, by_class: bool) -> Elsewhere:
        """Choose them; `by_class`: errors count as shares of their class."""
        missed, alarmed = (side[0] for side in wrong(*tally.whole, axis=None))
        missed, alarmed = missed.sum(axis=0) - missed, alarmed.sum(axis=0) - alarmed
        if by_class:
            tiny = np.finfo(np.float64).tiny
            missed = missed / np.maximum(missed[:, -1:], tiny)
            alarmed = alarmed / np.maximum(alarmed[:, :1], tiny)
        cost = [miss[j] * missed + alarm[j] * alarmed for j in range(len(miss))]
        return cls(np.stack([one.argmin(axis=1) for one in cost], axis=1))

    def errors(self, pos: Array, neg: Array) -> tuple[Array, Array]:
        """Return misses and false alarms with these thresholds: (resamples, n) each."""
        folds = np.arange(len(self.place))[:, None]
        missed, alarmed = wrong(pos, neg, axis=None)
        return missed[:, folds, self.place].sum(axis=1), alarmed[:, folds, self.place].sum(axis=1)


def limits_of(
    tally: Tally, figures: Figures, asked: Asked, joint: tuple[str, ...] = ()
) -> dict[str, tuple[Array, Array]]:
    """Return the limits of every figure, by name; of those in `joint`, for the whole curve."""
    ends: dict[str, tuple[Array, Array]] = {}
    for pos, neg in tally.drawn(asked):
        for name, values in figures(pos, neg).items():
            low, high = outer([values], asked, name in joint)
            if name in ends:
                low, high = np.minimum(low, ends[name][0]), np.maximum(high, ends[name][1])
            ends[name] = low, high
    return ends


def regret_band(
    parts: tuple[Array, Array, Array, Array],
    own: NDArray[np.intp],
    elsewhere: Elsewhere,
    tally: Tally,
    c: Array,
    asked: Asked,
) -> tuple[Array, Array]:
    """Resamples of the least and the most regret, with one unseen row between the thresholds.

    Only there does a row tell them apart: an event counts 1 - c against the higher threshold, any
    other row c against the lower one.
    """
    cost, best, chosen, total = parts
    missed, alarmed = (side[0] for side in wrong(*tally.whole))
    low = np.array([np.argmin((1 - x) * missed + x * alarmed) for x in c])
    other = elsewhere.place
    above, below = np.asarray((other > own).any(axis=0)), np.asarray((other < own).any(axis=0))
    spared, less = _greater(above, below, c, tally.many)
    added, more = _greater(low < own, low > own, c, tally.many)
    extra = tally.below * unseen(asked)[:, None]
    least = ((cost - chosen) * total - 2 * extra * spared) / (total + extra * less)
    most = ((cost - best) * total + 2 * extra * added) / (total + extra * more)
    return least, most


def _greater(
    event: NDArray[np.bool_], other: NDArray[np.bool_], c: Array, many: tuple[float, float]
) -> tuple[Array, Array]:
    """What an unseen event or other row, or a group of them, moves at most, and its weight."""
    by_event, by_other = many[0] * (1 - c) * event, many[1] * c * other
    weight = np.where(by_event >= by_other, many[0], many[1])
    return np.maximum(by_event, by_other), weight


def points(at: Any, default: Array, *, closed: bool) -> Array:
    """Return points of a curve between 0 and 1, or refuse others."""
    if at is None:
        return default
    found = read_scores(at, "at")
    inside = (found >= 0) & (found <= 1) if closed else (found > 0) & (found < 1)
    if not inside.all() or (np.diff(found) <= 0).any():
        ends = "from 0 to 1" if closed else "above 0 and below 1"
        raise UsageError(
            f"at={found[:4].tolist()}... are no points of this curve: give increasing numbers "
            f"{ends}."
        )
    return found


def read_flag(value: Any, name: str) -> bool:
    """Return yes or no, or refuse what is neither."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise UsageError(f"{name}={str(value)[:40]} is neither yes nor no: give True or False.")
