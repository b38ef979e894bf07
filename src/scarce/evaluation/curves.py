"""For which costs are these probabilities worth acting on, and what does their calibration lose?

    cost curve      min over thresholds of  x FNR + (1 - x) FPR        (Drummond and Holte 2006)
    Brier curve     2 [(1 - c) FN(c) + c FP(c)], acting from prob = c on; its area is the Brier
                    score                            (Hernandez-Orallo, Flach and Ferri 2011)
    decision curve  TP(t) - FP(t) t / (1 - t)                          (Vickers and Elkin 2006)

FN, FP and TP are shares of all rows, FNR and FPR of their class; acting means prob >= threshold.
A curve needs only the weight of each class between neighbouring thresholds, and in a resample that
is a gamma variable: exact for equal weights, right in mean and variance otherwise. Thresholds on
the convex hull of the ROC curve come from isotonic regression (Fawcett and Niculescu-Mizil 2007).
The lowest curve chooses its thresholds on the rows that it is judged by, and describes these rows.
Areas below it, and limits, are about further rows: they take the mean of that and of thresholds
chosen on other folds. An unseen row weighs what rows weigh on its side of a threshold. Assumes what
bootstrap.py says. Costs that differ by row have no such curves: see cost.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array

from scarce.bootstrap import (
    Bootstrap,
    Inclusion,
    Resampling,
    Sample,
    Seed,
    Weights,
    draw_groups,
    few_remarks,
    in_groups,
    outer_limits,
    read_kind,
    read_sample,
    unseen_weights,
    weights_beside,
)
from scarce.checks import read_labels, read_prob, read_scores, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError
from scarce.evaluation.scores import BRIER, Forecasts, LossFigures
from scarce.results import Estimate, Record, short

GRID = np.linspace(0.0, 1.0, 101)
JOINT = "simultaneous"
CUTS = 128  # thresholds tried in resamples, besides the best ones
SLICES = 1024  # of the score, within which rows lose about the same
FOLDS = 5
ROUNDING = 1e-12

Drawn = tuple[Array, Array]  # resamples of events and of others, (resamples, folds, thresholds + 1)


@dataclass(frozen=True, eq=False)
class CostCurve(Record):
    """Cost of the best threshold, for every balance of classes and costs.

    Parameters
    ----------
    probability_cost : ndarray of shape (n,)
        x = p(event) miss / (p(event) miss + p(no event) false_alarm), at the prevalence and costs
        of the place of use: 0 where only false alarms matter, 1 where only misses do.
    cost : ndarray of shape (n,)
        Least cost over thresholds on these rows, as a share of the worst (everything wrong).
        Thresholds are chosen on the rows that they are judged by: with few events it is too low.
    low, high : ndarray of shape (n,)
        Limits of the least cost that a threshold can have on further rows.
    threshold, miss_rate, false_alarm_rate : ndarray of shape (n,)
        What reaches it. -inf acts on every row and inf on none.
    area : Estimate
        Mean over all x of the least cost on further rows: the mean of what thresholds cost that
        were chosen on the same rows, and on others. Greater than the area below `cost`.
    level : float
    simultaneous : bool
        Whether the band holds the whole curve with that level, or each point of it alone.
    remarks : tuple of str

    Notes
    -----
    Acting on none costs x, on all 1 - x: below both, the scores are worth using. The area below
    `cost` is the Brier score after isotonic calibration, with both classes weighing the same. With
    3 to 12 events it was 45 to 22 % too low, and left-out rows gave as much too high; their mean,
    `area`, is right from 6 events on (experiments/coverage).
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
        What wrong probabilities cost: `cost - best`, and limits of it for further rows.
    area, best_area, regret_area : Estimate
        Means over c: the Brier score, what is left of it after isotonic calibration (refinement),
        and the difference (calibration), which is never below 0. Like `CostCurve.area` the last two
        are about further rows, not the areas below `best` and `regret`.
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
    weight_kind: str = "survey",
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
    sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
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
    rows = BinaryRows.read(
        y_true, score, read_kind(sample_weight, weight_kind), inclusion, groups, False
    )
    rows.need_both()
    x = points(at, GRID, closed=True)
    counts, hull = rows.counts(rows.cuts(), FOLDS, asked.seed), rows.counts(rows.hull)
    missed, alarmed = (side[0] / side.max() for side in wrong(*hull.whole))
    place = first_least(x[:, None] * missed + (1 - x[:, None]) * alarmed)
    cost = x * missed[place] + (1 - x) * alarmed[place]
    cut = np.concatenate([[-np.inf], rows.hull, [np.inf]])[place]
    used = Thresholds.find(counts, x, 1 - x, counts.place(cut), by_class=True)

    def figures(seen: Errors) -> dict[str, Array]:
        return {"cost": x * seen.missed / seen.events + (1 - x) * seen.alarmed / seen.others}

    drawn = counts.plain(asked)
    unseen = used.unseen(counts, drawn, asked)
    high = limits_of(unseen, figures, asked, ("cost",) * joint)["cost"][1]
    low = outer_limits(least_costs(x, used.here, counts, drawn, asked), asked, joint)[0]
    return CostCurve(
        probability_cost=x,
        cost=cost,
        low=np.clip(low, 0, cost),
        high=np.clip(high, cost, np.minimum(x, 1 - x)),
        threshold=cut,
        miss_rate=missed[place],
        false_alarm_rate=alarmed[place],
        area=Refinement(rows, asked, by_class=True).area(),
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
    weight_kind: str = "survey",
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
    rows = BinaryRows.read(
        y_true, prob, read_kind(sample_weight, weight_kind), inclusion, groups, True
    )
    c = points(at, GRID, closed=True)
    counts = rows.counts(np.union1d(rows.cuts(), c), FOLDS, asked.seed)
    own = counts.place(c)
    missed, alarmed = (side[0] for side in wrong(*counts.whole))
    place = first_least((1 - c[:, None]) * missed + c[:, None] * alarmed)
    cost, best = (
        2 * ((1 - c) * missed[k] + c * alarmed[k]) / (missed[-1] + alarmed[0]) for k in (own, place)
    )

    def figures(seen: Errors) -> dict[str, Array]:
        return {"cost": 2 * ((1 - c) * seen.missed + c * seen.alarmed) / seen.total}

    as_given = Thresholds(own, own[None])
    drawn = counts.plain(asked)
    unseen = as_given.unseen(counts, drawn, asked)
    low, high = limits_of(unseen, figures, asked, ("cost",) * joint)["cost"]
    used = Thresholds.find(counts, 1 - c, c, place, by_class=False)
    regret_low, regret_high = limits_of_regret(c, own, used, counts, drawn, asked, joint)
    refinement = Refinement(rows, asked, by_class=False)
    return BrierCurve(
        cost_proportion=c,
        cost=cost,
        low=np.minimum(low, cost),
        high=np.maximum(high, cost),
        best=best,
        regret=cost - best,
        regret_low=np.clip(regret_low, 0, cost - best),
        regret_high=np.maximum(regret_high, cost - best),
        area=LossFigures(rows.forecasts, asked).mean(BRIER),
        best_area=refinement.area(),
        regret_area=refinement.regret(),
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
    weight_kind: str = "survey",
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
    rows = BinaryRows.read(
        y_true, prob, read_kind(sample_weight, weight_kind), inclusion, groups, True
    )
    share = float(np.clip(rows.weight @ rows.y / rows.weight.sum(), 1e-6, 1 - 1e-6))
    spread = share / (1 - share) * np.geomspace(1 / 20, 20, 61)
    t = points(at, spread / (1 + spread), closed=False)
    odds = t / (1 - t)
    counts = rows.counts(t)

    def figures(seen: Errors) -> dict[str, Array]:
        benefit = (seen.events - seen.missed - odds * seen.alarmed) / seen.total
        on_all = (seen.events - odds * seen.others) / seen.total
        return {"benefit": benefit, "gain": benefit - np.maximum(on_all, 0.0), "all": on_all}

    own = counts.place(t)
    as_given = Thresholds(own, own[None])
    benefit, gain, on_all = (one[0] for one in figures(as_given.errors(*counts.whole)).values())
    unseen = as_given.unseen(counts, counts.plain(asked), asked)
    ends = limits_of(unseen, figures, asked, ("benefit", "gain") * joint)
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


def _told(what: str, one: Estimate, remarks: tuple[str, ...]) -> str:
    head = f"{what}: {one.brief()} ({100 * one.level:g} %)"
    return "\n".join([head, *(f"remark: {text}" for text in remarks)])


# --- counts between thresholds --------------------------------------------------------------------


class ClassCounts(NamedTuple):
    """Weight of events and others between thresholds, lowest scores first, in each fold.

    Arrays have shape (folds, thresholds + 1); resamples of them one axis more, in front.
    """

    edges: Array
    pos: Array
    neg: Array
    pos_shape: Array
    neg_shape: Array
    below: Array  # weight of an unseen row below -inf, each threshold and inf; and above them
    above: Array
    many: tuple[float, float]  # of them that come together, of events and of others
    parts: csr_array | None = None  # what groups hold, where rows come in groups

    @property
    def whole(self) -> tuple[Array, Array]:
        """The data themselves, as one resample."""
        return self.pos[None], self.neg[None]

    def place(self, cut: Array) -> NDArray[np.intp]:
        """Return the places of thresholds among -inf, the edges and inf."""
        found = np.searchsorted(self.edges, cut) + 1
        return np.asarray(np.where(cut == -np.inf, 0, found), dtype=np.intp)

    def plain(self, asked: Resampling) -> Drawn:
        """Return resamples of both."""
        if self.parts is not None:
            both = draw_groups(self.parts, asked).reshape(asked.resamples, 2, *self.pos.shape)
            return both[:, 0], both[:, 1]
        rng = np.random.default_rng([asked.seed, 0])
        sides = []
        for weight, shape in ((self.pos, self.pos_shape), (self.neg, self.neg_shape)):
            scale = np.divide(weight, shape, out=np.zeros_like(weight), where=shape > 0)
            sides.append(rng.standard_gamma(shape, (asked.resamples, *shape.shape)) * scale)
        return sides[0], sides[1]


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
        sample_weight: Weights,
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
        keys = (y, values) if np.ptp(sample.weight) == 0 else (sample.weight, y, values)
        order = np.lexsort(keys)
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
    def hull(self) -> Array:
        """Thresholds that are best for some costs: scores at which isotonic blocks begin."""
        return np.asarray(self.score[isotonic_blocks(self.y, self.score, self.weight)[0]])

    def cuts(self) -> Array:
        """Thresholds to try in resamples: the best ones and some that cut off equal numbers."""
        at = np.linspace(0, len(self.score) - 1, CUTS).astype(np.intp)
        return np.unique(np.concatenate([self.hull, self.score[at]]))

    @cached_property
    def slices(self) -> NDArray[np.intp]:
        """Thin slices of the score, cut at the best thresholds too."""
        at = np.linspace(0, len(self.score) - 1, SLICES).astype(np.intp)
        edges = np.unique(np.concatenate([self.hull, self.score[at]]))
        return np.searchsorted(edges, self.score, side="right")

    def counts(self, edges: Array, folds: int = 1, seed: int = 0) -> ClassCounts:
        """Return the weight of each class between thresholds; a score on one lies above it."""
        width = len(edges) + 1
        cell = np.searchsorted(edges, self.score, side="right")
        at = self.dealt(folds, seed) * width + cell
        sides: list[Array] = []
        for k in (1, 0):
            mine = self.y == k
            total = np.bincount(at[mine], self.weight[mine], folds * width).astype(np.float64)
            squares = np.bincount(at[mine], self.weight[mine] ** 2, folds * width)
            shape = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)
            sides += [total.reshape(folds, width), shape.reshape(folds, width)]
        parts = None
        if self.group is not None:
            side = at + (self.y == 0) * (folds * width)
            parts = in_groups(side, self.weight, self.group, 2 * folds * width)
        beside = weights_beside(cell, self.weight, width)
        return ClassCounts(edges, sides[0], sides[2], sides[1], sides[3], *beside, self.many, parts)

    def dealt(self, folds: int, seed: int) -> NDArray[np.intp]:
        """Return the fold of each row, dealt at random, groups as a whole.

        Dealt in order of score they would share each other's chances, and thresholds from other
        folds would fit as if they were from the same.
        """
        if folds == 1:
            return np.zeros(len(self.y), dtype=np.intp)
        rng = np.random.default_rng([seed, 3])
        if self.group is not None:
            return np.asarray(rng.permutation(self.sample.n_groups or 0) % folds)[self.group]
        fold = np.empty(len(self.y), dtype=np.intp)
        for k in (1, 0):
            mine = np.flatnonzero(self.y == k)
            fold[mine] = rng.permutation(np.arange(len(mine)) % folds)
        return fold


def isotonic_blocks(y: Array, score: Array, weight: Array) -> tuple[NDArray[np.intp], Array]:
    """Return starts of the blocks of equal calibrated probability, and that probability.

    Rows are in order of score.
    """
    start = np.flatnonzero(np.append(True, np.diff(score) > 0))
    held = np.add.reduceat(weight, start)
    share = np.add.reduceat(weight * y, start) / held
    found = isotonic_regression(share, weights=held)
    first = found.blocks[:-1]
    return start[first], np.asarray(found.x[first])


def wrong(pos: Array, neg: Array, axis: int | None = 1) -> tuple[Array, Array]:
    """Return misses and false alarms at each threshold: -inf, the given ones, inf; folds summed."""
    if axis is not None:
        pos, neg = pos.sum(axis=axis), neg.sum(axis=axis)
    missed = np.zeros((*pos.shape[:-1], pos.shape[-1] + 1))
    np.cumsum(pos, axis=-1, out=missed[..., 1:])
    alarmed = np.zeros_like(missed)
    alarmed[..., :-1] = np.cumsum(neg[..., ::-1], axis=-1)[..., ::-1]
    return missed, alarmed


def first_least(cost: Array) -> NDArray[np.intp]:
    """Return the place of the least cost in each row; of equal ones the first, whatever rounding.

    Thresholds between which no other row lies cost the same there: the scale of weights must not
    choose among them.
    """
    slack = ROUNDING * np.abs(cost).max(axis=1, keepdims=True)
    return np.asarray(np.argmax(cost <= cost.min(axis=1, keepdims=True) + slack, axis=1))


def lowest(missed: Array, alarmed: Array, miss: Array, alarm: Array) -> Array:
    """Return the least cost over thresholds: (resamples, n), as both costs are."""
    out = np.empty(miss.shape)
    for start in range(0, len(missed), 64):  # few enough to stay in cache
        some = slice(start, start + 64)
        m, a = missed[some], alarmed[some]
        work, more = np.empty_like(m), np.empty_like(m)
        for j in range(miss.shape[1]):
            np.multiply(m, miss[some, j, None], out=work)
            work += np.multiply(a, alarm[some, j, None], out=more)
            out[some, j] = work.min(axis=1)
    return out


def least_costs(
    x: Array, here: NDArray[np.intp], counts: ClassCounts, drawn: Drawn, asked: Resampling
) -> Iterator[Array]:
    """Yield the cost of the best threshold of each resample, with one lucky unseen row.

    Another threshold than the one that was chosen may be the best, and cost less than it does.
    """
    missed, alarmed = wrong(*drawn)
    extra, (event, other) = unseen_weights(asked)[:, None], counts.many
    for found, spared in ((event, 0.0), (0.0, other)):
        events = missed[:, -1:] + found * extra * counts.above[here]
        others = alarmed[:, :1] + spared * extra * counts.below[here]
        yield lowest(missed, alarmed, x / events, (1 - x) / others)


class Errors(NamedTuple):
    """Misses and false alarms at some thresholds, and all rows of both classes.

    Arrays have shape (resamples, n), or (resamples, 1) where all thresholds have the same.
    """

    missed: Array
    alarmed: Array
    events: Array
    others: Array

    @property
    def total(self) -> Array:
        """Weight of all rows."""
        return self.events + self.others


class Thresholds(NamedTuple):
    """The threshold that each point of a curve takes, and those chosen without a fold.

    `here`: places among -inf, the edges and inf, (n,); `elsewhere`: the same for each fold, chosen
    on the rows of the others, (folds, n). Thresholds chosen on the rows that they are judged by
    make a curve too low, those chosen on other rows, fewer of them, make it too high by as much:
    errors are the mean of both. A resample alone shows neither, for it repeats the rows.
    """

    here: NDArray[np.intp]
    elsewhere: NDArray[np.intp]

    @classmethod
    def find(
        cls,
        counts: ClassCounts,
        miss: Array,
        alarm: Array,
        here: NDArray[np.intp],
        *,
        by_class: bool,
    ) -> Thresholds:
        """Choose them in the other folds; `by_class`: errors count as shares of their class."""
        missed, alarmed = (side[0] for side in wrong(*counts.whole, axis=None))
        missed, alarmed = missed.sum(axis=0) - missed, alarmed.sum(axis=0) - alarmed
        if by_class:
            tiny = np.finfo(np.float64).tiny
            missed = missed / np.maximum(missed[:, -1:], tiny)
            alarmed = alarmed / np.maximum(alarmed[:, :1], tiny)
        cost = [miss[j] * missed + alarm[j] * alarmed for j in range(len(miss))]
        return cls(here, np.stack([first_least(one) for one in cost], axis=1))

    def errors(self, pos: Array, neg: Array) -> Errors:
        """Return what these thresholds do in resamples."""
        folds = np.arange(len(self.elsewhere))[:, None]
        sides = []
        for side in wrong(pos, neg, axis=None):
            apart = side if len(folds) > 1 else side.sum(axis=1, keepdims=True)
            left_out = apart[:, folds, self.elsewhere].sum(axis=1)
            sides.append((side.sum(axis=1)[:, self.here] + left_out) / 2)
        events, others = (side.sum(axis=(1, 2))[:, None] for side in (pos, neg))
        return Errors(sides[0], sides[1], events, others)

    def unseen(self, counts: ClassCounts, drawn: Drawn, asked: Resampling) -> Iterator[Errors]:
        """Yield resamples with one unseen row: an event or not, on either side of each threshold.

        It weighs what rows weigh there: see `scarce.bootstrap.weights_beside`.
        """
        seen = self.errors(*drawn)
        extra = unseen_weights(asked)[:, None]
        below, above = extra * counts.below[self.here], extra * counts.above[self.here]
        event, other = counts.many
        missed, alarmed = event * below, other * above
        yield seen._replace(missed=seen.missed + missed, events=seen.events + missed)
        yield seen._replace(events=seen.events + event * above)
        yield seen._replace(alarmed=seen.alarmed + alarmed, others=seen.others + alarmed)
        yield seen._replace(others=seen.others + other * below)


def limits_of(
    drawn: Iterable[Errors],
    figures: Callable[[Errors], dict[str, Array]],
    asked: Resampling,
    joint: tuple[str, ...] = (),
) -> dict[str, tuple[Array, Array]]:
    """Return the limits of every figure, by name; of those in `joint`, for the whole curve."""
    ends: dict[str, tuple[Array, Array]] = {}
    for seen in drawn:
        for name, values in figures(seen).items():
            low, high = outer_limits([values], asked, name in joint)
            if name in ends:
                low, high = np.minimum(low, ends[name][0]), np.maximum(high, ends[name][1])
            ends[name] = low, high
    return ends


def limits_of_regret(
    c: Array,
    own: NDArray[np.intp],
    best: Thresholds,
    counts: ClassCounts,
    drawn: Drawn,
    asked: Resampling,
    joint: bool,
) -> tuple[Array, Array]:
    """Return limits of the regret, with one unseen row between a threshold and the best one.

    Only there does a row tell them apart: an event counts 1 - c against the higher threshold, any
    other row c against the lower one. Where both are the same, the best may lie on either side.
    """
    event, other = counts.many
    given, chosen = (one.errors(*drawn) for one in (Thresholds(own, own[None]), best))
    cost, likely = ((1 - c) * one.missed + c * one.alarmed for one in (given, chosen))
    even = np.ones((asked.resamples, 1))
    least = lowest(*wrong(*drawn), even * (1 - c), even * c)
    extra = unseen_weights(asked)[:, None]
    below, above = extra * counts.below[own], extra * counts.above[own]
    higher = (best.here > own) | (best.elsewhere > own).any(axis=0)
    lower = (best.here < own) | (best.elsewhere < own).any(axis=0)

    def regret(beside: Array, where: NDArray[np.bool_], moves: Array, weight: Array) -> Array:
        more = np.where(where, weight, 0.0)
        return np.asarray(2 * (cost - beside + moves * more) / (given.total + more))

    low = (
        regret(likely, higher, c - 1, event * above),
        regret(likely, lower, -c, other * below),
    )
    high = (
        regret(least, best.here <= own, 1 - c, event * below),
        regret(least, best.here >= own, c, other * above),
    )
    return outer_limits(low, asked, joint)[0], outer_limits(high, asked, joint)[1]


class Refinement:
    """What is left of the Brier score once probabilities are calibrated (isotonic regression).

    That is the area below the curve of the best thresholds. Calibrated on the rows that it is
    judged by, it is too low, and on four fifths of the others too high by about as much: a row
    loses the mean of both, and areas are means over rows, with the interval of any other.

    Parameters
    ----------
    rows : BinaryRows
    asked : Resampling
    by_class : bool
        Whether both classes weigh the same, as in the cost curve.
    """

    def __init__(self, rows: BinaryRows, asked: Resampling, *, by_class: bool) -> None:
        self.rows, self.asked, self.by_class = rows, asked, by_class
        everything = np.ones(len(rows.y), dtype=bool)
        self.here = self._fitted(everything, everything)
        self.elsewhere = np.empty(len(rows.y))
        fold = rows.dealt(FOLDS, asked.seed)
        for k in range(FOLDS):
            if (fold == k).any():
                self.elsewhere[fold == k] = self._fitted(fold != k, fold == k)
        self.scale = 1.0
        self.scale = self._most()

    def _fitted(self, on: NDArray[np.bool_], to: NDArray[np.bool_]) -> Array:
        """Return calibrated probabilities of some rows, fitted on others; 0 where there are none.

        Below the lowest score the lowest probability goes on.
        """
        rows = self.rows
        y, score, weight = rows.y[on], rows.score[on], rows.weight[on]
        if not len(y):
            return np.zeros(int(to.sum()))
        if self.by_class:
            held = np.bincount(y.astype(np.intp), weight, 2)
            weight = weight / np.maximum(held, np.finfo(np.float64).tiny)[y.astype(np.intp)]
        start, value = isotonic_blocks(y, score, weight)
        at = np.searchsorted(score[start], rows.score[to], side="right") - 1
        return np.asarray(value[np.maximum(at, 0)])

    def _loss(self, k: int) -> Array:
        """Return what rows would lose if they were of class k."""
        return np.asarray(self.scale * ((self.here - k) ** 2 + (self.elsewhere - k) ** 2) / 2)

    def _most(self) -> float:
        """Return by how much losses are too great for the area to be one of the best thresholds.

        Acting on all rows, or on none, may be the best; without an event in the other folds rows
        lose more than that.
        """
        y, weight = self.rows.y, self.rows.weight
        other, event = (weight @ (y == k) for k in (0, 1))
        if not other or not event:
            return 1.0
        lost = weight * np.where(y == 1, self._loss(1), self._loss(0))
        if self.by_class:
            found, most = lost @ (y == 0) / other + lost @ (y == 1) / event, 0.5
        else:
            found, most = lost.sum(), other * event / (other + event)
        return float(min(1.0, most / found)) if found > 0 else 1.0

    def area(self) -> Estimate:
        """Return the area, which is at most 1/4 where both classes weigh the same."""

        def values(k: int) -> Array:
            loss = self._loss(k) / 2 if self.by_class else self._loss(k)
            return np.column_stack([loss, loss * k])

        def figure(sums: Array) -> Array:
            other, event, lost, by_events = sums.T
            if self.by_class:
                return np.asarray((lost - by_events) / other + by_events / event)
            return np.asarray(lost / (other + event))

        found = self._drawn(values, 2).estimate(figure, 0.0, 0.25)
        return replace(found, method=found.method + self.rows.few)

    def regret(self) -> Estimate:
        """Return what is taken off the Brier score, which is never below 0."""
        prob = self.rows.score

        def values(k: int) -> Array:
            return ((prob - k) ** 2 - self._loss(k))[:, None]

        found = self._drawn(values, 0).estimate(lambda sums: sums[:, 2] / (sums[:, 0] + sums[:, 1]))
        value, method = max(found.value, 0.0), found.method + self.rows.few
        high = found.high + value - found.value  # by luck below 0, and no surer for that
        return replace(found, value=value, low=max(found.low, 0.0), high=high, method=method)

    def _drawn(self, values: Callable[[int], Array], losses: int) -> Bootstrap:
        rows = self.rows
        sample = replace(rows.sample, weight=rows.weight, group=rows.group)
        kind, piece = rows.y.astype(np.intp), rows.slices
        return Bootstrap(kind, 2, sample, self.asked, values, losses=losses, piece=piece)


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
