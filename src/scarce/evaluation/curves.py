"""For which costs are these probabilities worth acting on, and what does their calibration lose?

    cost curve      min over thresholds of  x FNR + (1 - x) FPR        (Drummond and Holte 2006)
    Brier curve     2 [(1 - c) FN(c) + c FP(c)], acting from prob = c on; its area is the Brier
                    score                            (Hernandez-Orallo, Flach and Ferri 2011)
    decision curve  TP(t) - FP(t) t / (1 - t)                          (Vickers and Elkin 2006)

FN, FP and TP are shares of all rows, FNR and FPR of their class; acting means prob >= threshold.
A curve needs only the weight of each class between neighbouring thresholds, and in a resample that
is a gamma variable: exact for equal weights, right in mean and variance otherwise. Thresholds on
the convex hull of the ROC curve come from isotonic regression (Fawcett and Niculescu-Mizil 2007).
Assumes what bootstrap.py says. The lowest curve chooses its thresholds on the same rows: it bounds
what any threshold can reach. Costs that differ by row have no such curves: see cost.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array

from scarce.bootstrap import (
    Inclusion,
    Resampling,
    Sample,
    Seed,
    as_estimate,
    draw_groups,
    few_remarks,
    in_groups,
    outer_limits,
    read_sample,
    typical_weight,
    unseen_weights,
)
from scarce.checks import read_labels, read_prob, read_scores, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError
from scarce.evaluation.scores import BRIER, Forecasts, LossFigures
from scarce.results import Estimate, Record, short

GRID = np.linspace(0.0, 1.0, 101)
JOINT = "simultaneous"
CUTS = 128  # thresholds tried in resamples, besides the best ones
FOLDS = 5

Figures = Callable[[Array, Array], dict[str, Array]]  # (events, others) -> (resamples, n) each


@dataclass(frozen=True, eq=False)
class CostCurve(Record):
    """Cost of the best threshold, for every balance of classes and costs.

    Parameters
    ----------
    probability_cost : ndarray of shape (n,)
        x = p(event) miss / (p(event) miss + p(no event) false_alarm), at the prevalence and costs
        of the place of use: 0 where only false alarms matter, 1 where only misses do.
    cost, low, high : ndarray of shape (n,)
        Least cost over thresholds, as a share of the worst (everything wrong), with its band.
    threshold, miss_rate, false_alarm_rate : ndarray of shape (n,)
        What reaches it. -inf acts on every row and inf on none.
    area : Estimate
        Mean cost over all x alike.
    level : float
    simultaneous : bool
        Whether the band holds the whole curve with that level, or each point of it alone.
    remarks : tuple of str

    Notes
    -----
    Acting on none costs x, on all 1 - x: below both, the scores are worth using. The area is the
    Brier score of the scores after isotonic calibration, with both classes weighing the same.
    """

    probability_cost: Array
    cost: Array
    low: Array
    high: Array
    threshold: Array
    miss_rate: Array
    false_alarm_rate: Array
    area: Estimate
    level: float
    simultaneous: bool
    remarks: tuple[str, ...] = ()

    @property
    def trivial(self) -> Array:
        """Cost of the better of acting on all rows and on none."""
        return np.minimum(self.probability_cost, 1 - self.probability_cost)

    def __str__(self) -> str:
        return _told("Mean cost of the best threshold", self.area, self.remarks)


@dataclass(frozen=True, eq=False)
class BrierCurve(Record):
    """Cost of acting on the probabilities as they are, and of the best thresholds.

    Parameters
    ----------
    cost_proportion : ndarray of shape (n,)
        c = false_alarm / (false_alarm + miss), which is also the threshold that is used.
    cost, low, high : ndarray of shape (n,)
        Cost per row in units of (false_alarm + miss) / 2, with its band.
    best : ndarray of shape (n,)
        Cost of the best threshold on these rows.
    regret, regret_low, regret_high : ndarray of shape (n,)
        What wrong probabilities cost: `cost - best`.
    area, best_area, regret_area : Estimate
        Means over c: the Brier score, what is left of it after isotonic calibration (refinement),
        and the difference (calibration).
    level, simultaneous, remarks
        As in `CostCurve`.
    """

    cost_proportion: Array
    cost: Array
    low: Array
    high: Array
    best: Array
    regret: Array
    regret_low: Array
    regret_high: Array
    area: Estimate
    best_area: Estimate
    regret_area: Estimate
    level: float
    simultaneous: bool
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = _told("Mean cost (Brier score)", self.area, ())
        return _told(f"{head}\nof it, by wrong probabilities", self.regret_area, self.remarks)


@dataclass(frozen=True, eq=False)
class DecisionCurve(Record):
    """Net benefit of acting from a threshold on, beside acting on all rows and on none.

    Parameters
    ----------
    threshold, odds : ndarray of shape (n,)
        Probability from which on acting pays, and t / (1 - t): false alarms that one hit is worth
        are 1 / odds.
    net_benefit, low, high : ndarray of shape (n,)
        Hits per row, less false alarms at their exchange rate, with its band.
    act_on_all : ndarray of shape (n,)
        The same for acting on every row; on none it is 0.
    gain, gain_low, gain_high : ndarray of shape (n,)
        Net benefit above the better of these two, on the same resamples.
    prevalence : Estimate
    level, simultaneous, remarks
        As in `CostCurve`.
    """

    threshold: Array
    odds: Array
    net_benefit: Array
    low: Array
    high: Array
    act_on_all: Array
    gain: Array
    gain_low: Array
    gain_high: Array
    prevalence: Estimate
    level: float
    simultaneous: bool
    remarks: tuple[str, ...] = ()

    @property
    def worth(self) -> NDArray[np.bool_]:
        """Thresholds at which the low limit of the gain is above 0."""
        return np.asarray(self.gain_low > 0)

    def __str__(self) -> str:
        sure = self.threshold[self.worth]
        where = f"between {short(sure.min())} and {short(sure.max())}" if len(sure) else "nowhere"
        if np.abs(np.diff(self.worth.astype(int))).sum() > 2:
            where = f"here and there {where}"
        told = f"Thresholds at which acting by the probabilities surely gains: {where}.\n"
        return _told(told + "Base rate", self.prevalence, self.remarks)


def cost_curve(
    y_true: ArrayLike,
    score: ArrayLike,
    *,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> CostCurve:
    """Return the cost of the best threshold for every balance of classes and costs.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 event, 0 none; NaN or None where not labelled, with `inclusion`.
    score : array-like of shape (n,)
        Probabilities or any scores, greater for events.
    at : array-like, optional
        Points of the curve, from 0 to 1; by default 101.
    simultaneous : bool
        Whether the band is for the whole curve rather than for each point.
    sample_weight, inclusion, groups, level, resamples, random_state
        As in `mean_cost`.

    **Assumes** independent rows. Holds for any prevalence, as long as scores keep their law within
    each class.

    References
    ----------
    Drummond and Holte (2006), Cost curves, Machine Learning 65.

    Examples
    --------
    >>> curve = cost_curve([0, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], at=[0.2, 0.5, 0.8])
    >>> curve.cost, curve.threshold
    (array([0.1 , 0.125, 0.05 ]), array([0.6, 0.4, 0.4]))
    """
    asked, joint = Resampling.read(level, resamples, random_state), read_flag(simultaneous, JOINT)
    rows = BinaryRows.read(y_true, score, sample_weight, inclusion, groups, False)
    rows.need_both()
    x = points(at, GRID, closed=True)
    every = np.union1d(x, GRID)
    counts, hull = rows.counts(rows.cuts(), FOLDS, asked.seed), rows.counts(rows.hull)
    elsewhere = Elsewhere.find(counts, every, 1 - every, by_class=True)
    here, fine = np.searchsorted(every, x), np.searchsorted(every, GRID)

    def figures(pos: Array, neg: Array) -> dict[str, Array]:
        missed, alarmed = wrong(pos, neg)
        events, others = missed[:, -1:], alarmed[:, :1]
        low = lowest(missed / events, alarmed / others, every, 1 - every)
        missed, alarmed = elsewhere.errors(pos, neg)
        high = every * missed / events + (1 - every) * alarmed / others
        return {
            "low": low[:, here],
            "high": high[:, here],
            "low area": _area(low[:, fine]),
            "high area": _area(high[:, fine]),
        }

    missed, alarmed = (side[0] / side.max() for side in wrong(*hull.whole))
    place = np.array([np.argmin(one * missed + (1 - one) * alarmed) for one in x], dtype=np.intp)
    cost = x * missed[place] + (1 - x) * alarmed[place]
    ends = limits_of(counts, figures, asked, ("low", "high") if joint else ())
    label = rows.y.astype(np.intp)
    balanced = rows.refinement(rows.weight / np.bincount(label, rows.weight)[label])
    area = _clipped(ends["low area"][0], ends["high area"][1], 0.25)
    return CostCurve(
        probability_cost=x,
        cost=cost,
        low=np.clip(ends["low"][0], 0, cost),
        high=np.clip(ends["high"][1], cost, np.minimum(x, 1 - x)),
        threshold=np.concatenate([[-np.inf], rows.hull, [np.inf]])[place],
        miss_rate=missed[place],
        false_alarm_rate=alarmed[place],
        area=as_estimate(balanced, *area, asked, rows.sample, rows.few),
        level=asked.level,
        simultaneous=joint,
        remarks=rows.remarks,
    )


def brier_curve(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> BrierCurve:
    """Return the cost of acting on probabilities as they are, for every ratio of costs.

    Parameters are those of `cost_curve`; `prob` must be probabilities of the event.

    References
    ----------
    Hernandez-Orallo, Flach and Ferri (2011), Brier curves, ICML.

    Examples
    --------
    >>> curve = brier_curve([0, 0, 1, 0], [0.1, 0.2, 0.7, 0.1], at=[0.05, 0.5])
    >>> curve.cost, round(curve.area.value, 6)
    (array([0.075, 0.   ]), 0.0375)
    """
    asked, joint = Resampling.read(level, resamples, random_state), read_flag(simultaneous, JOINT)
    rows = BinaryRows.read(y_true, prob, sample_weight, inclusion, groups, True)
    c = points(at, GRID, closed=True)
    costs = _CostsAsGiven.find(rows, np.union1d(c, GRID), asked.seed)
    here = np.searchsorted(costs.at, c)
    cost, best = (one[0, here] for one in costs.parts(*costs.counts.whole)[:2])
    ends = limits_of(
        costs.counts,
        lambda pos, neg: costs.figures(pos, neg, here),
        asked,
        ("cost",) if joint else (),
    )
    regret = costs.regret(asked)
    regret_low = outer_limits([regret[0][:, here]], asked, joint)[0]
    regret_high = outer_limits([regret[1][:, here]], asked, joint)[1]
    score = LossFigures(rows.forecasts, asked).mean(BRIER)
    refined = rows.refinement(rows.weight)
    best_area, regret_area = (
        as_estimate(
            value, *_clipped(ends[low][0], ends[high][1], 1.0), asked, rows.sample, rows.few
        )
        for value, low, high in (
            (refined, "best area", "chosen area"),
            (score.value - refined, "least regret", "most regret"),
        )
    )
    return BrierCurve(
        cost_proportion=c,
        cost=cost,
        low=np.minimum(ends["cost"][0], cost),
        high=np.maximum(ends["cost"][1], cost),
        best=best,
        regret=cost - best,
        regret_low=np.clip(regret_low, 0, cost - best),
        regret_high=np.maximum(regret_high, cost - best),
        area=score,
        best_area=best_area,
        regret_area=regret_area,
        level=asked.level,
        simultaneous=joint,
        remarks=rows.remarks,
    )


def decision_curve(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> DecisionCurve:
    """Return the net benefit of acting from each threshold on, beside acting on all and on none.

    Parameters are those of `cost_curve`; `prob` must be probabilities of the event, and `at` lists
    thresholds above 0 and below 1: by default 61, spaced evenly in log odds from a twentieth of
    the odds of an event to twenty times them.

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis, Medical Decision Making 26.

    Examples
    --------
    >>> curve = decision_curve([0, 0, 1, 0], [0.1, 0.2, 0.7, 0.1], at=[0.15, 0.5])
    >>> curve.net_benefit.round(3), curve.act_on_all.round(3)
    (array([0.206, 0.25 ]), array([ 0.118, -0.5  ]))
    """
    asked, joint = Resampling.read(level, resamples, random_state), read_flag(simultaneous, JOINT)
    rows = BinaryRows.read(y_true, prob, sample_weight, inclusion, groups, True)
    share = float(np.clip(rows.weight @ rows.y / rows.weight.sum(), 1e-6, 1 - 1e-6))
    spread = share / (1 - share) * np.geomspace(1 / 20, 20, 61)
    t = points(at, spread / (1 + spread), closed=False)
    odds = t / (1 - t)
    counts = rows.counts(t)

    def figures(pos: Array, neg: Array) -> dict[str, Array]:
        missed, alarmed = wrong(pos, neg)
        events, others = missed[:, -1:], alarmed[:, :1]
        benefit = (events - missed[:, 1:-1] - odds * alarmed[:, 1:-1]) / (events + others)
        on_all = (events - odds * others) / (events + others)
        gain = benefit - np.maximum(on_all, 0.0)
        return {"benefit": benefit, "gain": gain, "all": on_all}

    benefit, gain, on_all = (one[0] for one in figures(*counts.whole).values())
    ends = limits_of(counts, figures, asked, ("benefit", "gain") if joint else ())
    return DecisionCurve(
        threshold=t,
        odds=odds,
        net_benefit=benefit,
        low=np.minimum(ends["benefit"][0], benefit),
        high=np.maximum(ends["benefit"][1], benefit),
        act_on_all=on_all,
        gain=gain,
        gain_low=np.minimum(ends["gain"][0], gain),
        gain_high=np.maximum(ends["gain"][1], gain),
        prevalence=LossFigures(rows.forecasts, asked).happened(0),
        level=asked.level,
        simultaneous=joint,
        remarks=rows.remarks,
    )


def _area(curve: Array) -> Array:
    """Area below each curve over the whole grid, by trapezoids, as a column."""
    return np.asarray(np.trapezoid(curve, GRID, axis=1))[:, None]


def _clipped(low: Array, high: Array, most: float) -> tuple[float, float]:
    """Limits of an area, which lies between 0 and `most`."""
    return float(np.clip(low[0], 0.0, most)), float(np.clip(high[0], 0.0, most))


def _told(what: str, one: Estimate, remarks: tuple[str, ...]) -> str:
    head = f"{what}: {one.brief()} ({100 * one.level:g} %)"
    return "\n".join([head, *(f"remark: {text}" for text in remarks)])


# --- counts between thresholds --------------------------------------------------------------------


class ClassCounts(NamedTuple):
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
    parts: csr_array | None = None  # what groups hold, where rows come in groups

    @property
    def whole(self) -> tuple[Array, Array]:
        """The data themselves, as one resample."""
        return self.pos[None], self.neg[None]

    def plain(self, asked: Resampling) -> tuple[Array, Array]:
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

    def drawn(self, asked: Resampling) -> Iterator[tuple[Array, Array]]:
        """Yield resamples with one unseen row added: an event or not, at the low or high end."""
        pos, neg = self.plain(asked)
        extra = unseen_weights(asked)
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
    forecasts: Forecasts  # the same rows, as they came

    @classmethod
    def read(
        cls,
        y_true: ArrayLike,
        score: ArrayLike,
        sample_weight: ArrayLike | None,
        inclusion: Inclusion,
        groups: ArrayLike | None,
        probabilities: bool,
    ) -> BinaryRows:
        """Check the arguments of the three curves."""
        refuse_other_index(
            y_true=y_true,
            score=score,
            sample_weight=sample_weight,
            inclusion=inclusion,
            groups=groups,
        )
        values = read_prob(score) if probabilities else read_scores(score, "score")
        y = read_labels(y_true, len(values), "y_true")
        sample = read_sample(~np.isnan(y), sample_weight, inclusion, groups)
        y, values = y[sample.rows], values[sample.rows]
        forecasts = Forecasts(y.astype(np.intp), values, (0, 1), sample)
        many = sample.together(y == 1), sample.together(y == 0)
        order = np.lexsort((sample.weight, y, values))
        group = None if sample.group is None else sample.group[order]
        return cls(y[order], values[order], sample.weight[order], sample, group, many, forecasts)

    @property
    def few(self) -> str:
        """Say so, where few rows of a class stand behind a figure."""
        return self.sample.few((0, 1), self.forecasts.counts)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the reader should know."""
        return few_remarks(self.few)

    def need_both(self) -> None:
        """Refuse rows of one class, whose error rates do not exist."""
        for k, name in enumerate(("0 (no event)", "1 (event)")):
            if not (self.y == k).any():
                raise DataError(
                    "No labelled row is {name}: there is no error rate within that class.",
                    code="one-class",
                    name=name,
                    remedy="Label some, or use brier_curve, which needs none.",
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

    def counts(self, edges: Array, folds: int = 1, seed: int = 0) -> ClassCounts:
        """Return the weight of each class between thresholds; a score on one lies above it.

        Folds are dealt at random, groups as a whole. Dealt in order of score they would share each
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
        ends = typical_weight(self.weight), typical_weight(self.weight[len(self.weight) // 2 :])
        parts = None
        if self.group is not None:
            parts = in_groups(at, self.weight, self.group, 2 * folds * width)
        return ClassCounts(sides[0], sides[2], sides[1], sides[3], *ends, self.many, parts)


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
    def find(cls, counts: ClassCounts, miss: Array, alarm: Array, by_class: bool) -> Elsewhere:
        """Choose them; `by_class`: errors count as shares of their class."""
        missed, alarmed = (side[0] for side in wrong(*counts.whole, axis=None))
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
    counts: ClassCounts, figures: Figures, asked: Resampling, joint: tuple[str, ...] = ()
) -> dict[str, tuple[Array, Array]]:
    """Return the limits of every figure, by name; of those in `joint`, for the whole curve."""
    ends: dict[str, tuple[Array, Array]] = {}
    for pos, neg in counts.drawn(asked):
        for name, values in figures(pos, neg).items():
            low, high = outer_limits([values], asked, name in joint)
            if name in ends:
                low, high = np.minimum(low, ends[name][0]), np.maximum(high, ends[name][1])
            ends[name] = low, high
    return ends


class _CostsAsGiven(NamedTuple):
    """Costs of acting on the probabilities as they are, beside the best thresholds.

    `at`: proportions of costs, which are the thresholds too; `own`: their places among the edges.
    """

    at: Array
    own: NDArray[np.intp]
    counts: ClassCounts
    elsewhere: Elsewhere

    @classmethod
    def find(cls, rows: BinaryRows, at: Array, seed: int) -> _CostsAsGiven:
        """Count rows between the thresholds, in folds."""
        edges = np.union1d(rows.cuts(), at)
        counts = rows.counts(edges, FOLDS, seed)
        elsewhere = Elsewhere.find(counts, 1 - at, at, by_class=False)
        return cls(at, np.searchsorted(edges, at) + 1, counts, elsewhere)

    def parts(self, pos: Array, neg: Array) -> tuple[Array, Array, Array, Array]:
        """Return the costs as given, of the best thresholds, of those of other folds; weights."""
        c = self.at
        missed, alarmed = wrong(pos, neg)
        total = missed[:, -1:] + alarmed[:, :1]
        cost = 2 * ((1 - c) * missed[:, self.own] + c * alarmed[:, self.own]) / total
        best = 2 * lowest(missed, alarmed, 1 - c, c) / total
        missed, alarmed = self.elsewhere.errors(pos, neg)
        return cost, best, 2 * ((1 - c) * missed + c * alarmed) / total, total

    def figures(self, pos: Array, neg: Array, here: NDArray[np.intp]) -> dict[str, Array]:
        """Return the costs at some points, and areas below the whole curves."""
        cost, best, chosen, _ = self.parts(pos, neg)
        fine = np.searchsorted(self.at, GRID)
        return {
            "cost": cost[:, here],
            "best area": _area(best[:, fine]),
            "chosen area": _area(chosen[:, fine]),
            "least regret": _area((cost - chosen)[:, fine]),
            "most regret": _area((cost - best)[:, fine]),
        }

    def regret(self, asked: Resampling) -> tuple[Array, Array]:
        """Return resamples of the least and the most regret, one unseen row between thresholds.

        Only there does a row tell them apart: an event counts 1 - c against the higher threshold,
        any other row c against the lower one.
        """
        c, own, counts = self.at, self.own, self.counts
        cost, best, chosen, total = self.parts(*counts.plain(asked))
        missed, alarmed = (side[0] for side in wrong(*counts.whole))
        low = np.array([np.argmin((1 - x) * missed + x * alarmed) for x in c])
        other = self.elsewhere.place
        above, below = np.asarray((other > own).any(axis=0)), np.asarray((other < own).any(axis=0))
        spared, less = _greater(above, below, c, counts.many)
        added, more = _greater(low < own, low > own, c, counts.many)
        extra = counts.below * unseen_weights(asked)[:, None]
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


def points(at: ArrayLike | None, default: Array, *, closed: bool) -> Array:
    """Return the points of a curve: increasing, between 0 and 1."""
    if at is None:
        return default
    found = read_scores(at, "at")
    inside = (found >= 0) & (found <= 1) if closed else (found > 0) & (found < 1)
    if not inside.all() or (np.diff(found) <= 0).any():
        ends = "from 0 to 1" if closed else "above 0 and below 1"
        raise UsageError(
            "{argument} must be increasing numbers {ends}, got {value}.",
            code="not-increasing",
            argument=Argument("at"),
            ends=ends,
            value=found[:4].tolist(),
        )
    return found


def read_flag(value: object, name: str) -> bool:
    """Return True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise UsageError(
        "{argument} must be True or False, got {value!r}.",
        code="not-a-flag",
        argument=Argument(name),
        value=value,
    )
