"""For which costs are these probabilities worth acting on, and what does their calibration lose?

    cost curve      min over thresholds of  x FNR + (1 - x) FPR        (Drummond and Holte 2006)
    Brier curve     2 [(1 - c) FN(c) + c FP(c)], acting from prob = c on; its area is the Brier
                    score                            (Hernandez-Orallo, Flach and Ferri 2011)
    decision curve  TP(t) - FP(t) t / (1 - t)                          (Vickers and Elkin 2006)

FN, FP and TP are shares of all rows, FNR and FPR of their class; acting means prob >= threshold.
Assumes what resample.py says. The lowest curve chooses its thresholds on the same rows: it bounds
what any threshold can reach. Costs that differ by row have no such curves: see realised.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array
from scarce.evaluation.cuts import (
    FOLDS,
    BinaryRows,
    Elsewhere,
    limits_of,
    lowest,
    points,
    read_flag,
    regret_band,
    wrong,
)
from scarce.evaluation.resample import Asked, estimate, outer
from scarce.evaluation.wording import figure, with_remarks
from scarce.results import Estimate, Record, short

GRID = np.linspace(0.0, 1.0, 101)
JOINT = "simultaneous"


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
        """Thresholds at which the gain is above 0 beyond doubt (its low limit is)."""
        return np.asarray(self.gain_low > 0)

    def __str__(self) -> str:
        sure = self.threshold[self.worth]
        where = f"between {short(sure.min())} and {short(sure.max())}" if len(sure) else "nowhere"
        if np.abs(np.diff(self.worth.astype(int))).sum() > 2:
            where = f"here and there {where}"
        told = f"Thresholds at which acting by the probabilities gains, beyond doubt: {where}.\n"
        return _told(told + "Share of events", self.prevalence, self.remarks)


def cost_curve(
    y_true: Any,
    score: ArrayLike,
    *,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: Any = None,
    groups: Any = None,
    level: float = 0.9,
    resamples: int = 1000,
    random_state: Any = 0,
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
    asked, joint = Asked.read(level, resamples, random_state), read_flag(simultaneous, JOINT)
    rows = BinaryRows.read(y_true, score, sample_weight, inclusion, groups, False)
    rows.need_both()
    x = points(at, GRID, closed=True)
    every = np.union1d(x, GRID)
    tally, hull = rows.tally(rows.cuts(), FOLDS, asked.seed), rows.tally(rows.hull)
    elsewhere = Elsewhere.find(tally, every, 1 - every, by_class=True)
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
    ends = limits_of(tally, figures, asked, ("low", "high") if joint else ())
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
        area=estimate(balanced, *area, asked, rows.sample, rows.few),
        level=asked.level,
        simultaneous=joint,
        remarks=rows.remarks,
    )


def brier_curve(
    y_true: Any,
    prob: ArrayLike,
    *,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: Any = None,
    groups: Any = None,
    level: float = 0.9,
    resamples: int = 1000,
    random_state: Any = 0,
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
    asked, joint = Asked.read(level, resamples, random_state), read_flag(simultaneous, JOINT)
    rows = BinaryRows.read(y_true, prob, sample_weight, inclusion, groups, True)
    c = points(at, GRID, closed=True)
    every = np.union1d(c, GRID)
    edges = np.union1d(rows.cuts(), every)
    tally = rows.tally(edges, FOLDS, asked.seed)
    elsewhere = Elsewhere.find(tally, 1 - every, every, by_class=False)
    own = np.searchsorted(edges, every) + 1
    here, fine = np.searchsorted(every, c), np.searchsorted(every, GRID)

    def parts(pos: Array, neg: Array) -> tuple[Array, Array, Array, Array]:
        missed, alarmed = wrong(pos, neg)
        total = missed[:, -1:] + alarmed[:, :1]
        cost = 2 * ((1 - every) * missed[:, own] + every * alarmed[:, own]) / total
        best = 2 * lowest(missed, alarmed, 1 - every, every) / total
        missed, alarmed = elsewhere.errors(pos, neg)
        return cost, best, 2 * ((1 - every) * missed + every * alarmed) / total, total

    def figures(pos: Array, neg: Array) -> dict[str, Array]:
        cost, best, chosen, _ = parts(pos, neg)
        return {
            "cost": cost[:, here],
            "best area": _area(best[:, fine]),
            "chosen area": _area(chosen[:, fine]),
            "least regret": _area((cost - chosen)[:, fine]),
            "most regret": _area((cost - best)[:, fine]),
        }

    cost, best = (one[0, here] for one in parts(*tally.whole)[:2])
    ends = limits_of(tally, figures, asked, ("cost",) if joint else ())
    lost = regret_band(parts(*tally.plain(asked)), own, elsewhere, tally, every, asked)
    regret_low = outer([lost[0][:, here]], asked, joint)[0]
    regret_high = outer([lost[1][:, here]], asked, joint)[1]
    reach = [(1, (1 - rows.score.min()) ** 2), (0, rows.score.max() ** 2), (0, 0.0)]
    score = rows.mean((rows.score - rows.y) ** 2, reach, asked)
    refined = rows.refinement(rows.weight)
    best_area, regret_area = (
        estimate(
            value,
            *_clipped(ends[low][0], ends[high][1], 1.0),
            asked,
            rows.sample,
            rows.few,
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
    y_true: Any,
    prob: ArrayLike,
    *,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: Any = None,
    groups: Any = None,
    level: float = 0.9,
    resamples: int = 1000,
    random_state: Any = 0,
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
    asked, joint = Asked.read(level, resamples, random_state), read_flag(simultaneous, JOINT)
    rows = BinaryRows.read(y_true, prob, sample_weight, inclusion, groups, True)
    share = float(np.clip(rows.weight @ rows.y / rows.weight.sum(), 1e-6, 1 - 1e-6))
    spread = share / (1 - share) * np.geomspace(1 / 20, 20, 61)
    t = points(at, spread / (1 + spread), closed=False)
    odds = t / (1 - t)
    tally = rows.tally(t)

    def figures(pos: Array, neg: Array) -> dict[str, Array]:
        missed, alarmed = wrong(pos, neg)
        events, others = missed[:, -1:], alarmed[:, :1]
        benefit = (events - missed[:, 1:-1] - odds * alarmed[:, 1:-1]) / (events + others)
        on_all = (events - odds * others) / (events + others)
        gain = benefit - np.maximum(on_all, 0.0)
        return {"benefit": benefit, "gain": gain, "all": on_all}

    benefit, gain, on_all = (one[0] for one in figures(*tally.whole).values())
    ends = limits_of(tally, figures, asked, ("benefit", "gain") if joint else ())
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
        prevalence=rows.mean(rows.y, [(0, 0.0), (1, 1.0)], asked),
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
    return with_remarks([f"{what}: {figure(one)} ({100 * one.level:g} %)"], remarks)
