"""Every interval of the library beside its truth in a world.

A figure is a function from rows and their world to `{name: Held}`: the interval found, and the
truth, computed from a million labelled rows by the plain formula of the figure. Where an interval
is refused its limits are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from experiments.coverage.worlds import Array, Rows, World
from scarce import (
    brier_curve,
    calibration_loss,
    cost_confusion,
    cost_curve,
    decision_curve,
    evaluate,
    mean_cost,
    risk_coverage,
    savings,
)
from scarce.bootstrap import read_sample
from scarce.decisions.costs import CostMatrix
from scarce.evaluation.calibration import cut_between, reliability
from scarce.evaluation.compare import loss_difference
from scarce.results import Estimate
from scarce.scoring import binary_losses

RESAMPLES = 500
FALSE_ALARM = 5.0
SEED = 0


class Held(NamedTuple):
    """An interval and the truth."""

    low: float
    high: float
    truth: float
    value: float


Figures = dict[str, Held]
Truth = dict[str, float]


def held(one: Estimate, truth: float) -> Held:
    """Take the limits of an estimate."""
    return Held(one.low, one.high, truth, one.value)


def mean(values: Array, weight: Array | None) -> float:
    """Weighted mean."""
    return float(np.average(values, weights=weight))


def action_threshold(world: World) -> float:
    """The probability that the highest 4 % of rows exceed."""
    return _thresholds(world.name)[0]


_KNOWN: dict[str, World] = {}


@cache
def _thresholds(name: str) -> tuple[float, ...]:
    prob = _KNOWN[name].population.prob
    return tuple(float(q) for q in np.quantile(prob, [0.96, 0.2, 0.5, 0.9, 0.99]))


@cache
def scores_truth(name: str) -> Truth:
    """What `evaluate` estimates."""
    rows = _KNOWN[name].population
    y, p, w = rows.y, rows.prob, rows.weight
    share = mean(y, w)
    log, brier = (mean(binary_losses(y, p, loss), w) for loss in ("log", "brier"))
    flat_log = float(-share * np.log(share) - (1 - share) * np.log1p(-share))
    flat_brier = share * (1 - share)
    t = action_threshold(_KNOWN[name])
    acts = p >= t
    return {
        "log loss": log,
        "Brier": brier,
        "constant log loss": flat_log,
        "constant Brier": flat_brier,
        "log loss skill": 1 - log / flat_log,
        "Brier skill": 1 - brier / flat_brier,
        "mean given": mean(p, w),
        "happened": share,
        "gap": mean(p, w) - share,
        "AUC": float(roc_auc_score(y, p, sample_weight=w)),
        "recall": mean(acts[y == 1] * 1.0, None if w is None else w[y == 1]),
        "precision": mean(y[acts], None if w is None else w[acts]),
        "specificity": mean(~acts[y == 0] * 1.0, None if w is None else w[y == 0]),
        "alerts": mean(acts * 1.0, w),
    }


def scores(rows: Rows, world: World) -> Figures:
    """Figures of `evaluate`."""
    truth, t = scores_truth(world.name), action_threshold(world)
    one = evaluate(
        rows.y, rows.prob, threshold=t, resamples=RESAMPLES, random_state=SEED, **rows.how
    )
    at = one.at_threshold
    assert at is not None
    found = {
        "log loss": one.log_loss,
        "Brier": one.brier,
        "constant log loss": one.constant_log_loss,
        "constant Brier": one.constant_brier,
        "log loss skill": one.log_loss_skill,
        "Brier skill": one.brier_skill,
        "mean given": one.given[0],
        "happened": one.happened[0],
        "gap": one.gap[0],
        "AUC": one.auc[0],
        "recall": at.recall,
        "precision": at.precision,
        "specificity": at.specificity,
        "alerts": at.alerts,
    }
    return {name: held(found[name], truth[name]) for name in found}


def costs_of(rows: Rows) -> CostMatrix:
    """False alarms cost 5, misses their amount."""
    return CostMatrix.binary(false_alarm=FALSE_ALARM, miss=rows.amount)


@cache
def costs_truth(name: str) -> Truth:
    """What the cost figures estimate."""
    rows = _KNOWN[name].population
    t, w = action_threshold(_KNOWN[name]), rows.weight

    def paid(acts: Array) -> Array:
        return np.where(acts, FALSE_ALARM * (rows.y == 0), rows.amount * rows.y)

    own, other = paid(rows.prob >= t), paid(rows.rival >= t)
    everywhere, nowhere = mean(paid(np.ones_like(own)), w), mean(paid(np.zeros_like(own)), w)
    best, cost = min(everywhere, nowhere), mean(own, w)
    miss = (rows.prob < t) & (rows.y == 1)
    return {
        "mean cost": cost,
        "savings": (best - cost) / best,
        "savings a row": best - cost,
        "savings against": mean(other, w) - cost,
        "share of misses": mean(miss * 1.0, w),
        "cost of misses": mean(miss * rows.amount, w),
    }


def costs(rows: Rows, world: World) -> Figures:
    """Mean cost, savings and cells of the cost confusion."""
    truth, t = costs_truth(world.name), action_threshold(world)
    done, other = (rows.prob >= t).astype(int), (rows.rival >= t).astype(int)
    matrix, how = costs_of(rows), {"resamples": RESAMPLES, "random_state": SEED, **rows.how}
    alone = savings(rows.y, done, matrix, **how)
    both = savings(rows.y, done, matrix, against=other, **how)
    cells = cost_confusion(rows.y, done, matrix, **how)
    scale = len(rows.y) if rows.weight is None else float(rows.weight.sum())
    missed = cells.costs[0][1]
    return {
        "mean cost": held(mean_cost(rows.y, done, matrix, **how), truth["mean cost"]),
        "savings": held(alone.share, truth["savings"]),
        "savings a row": held(alone.per_row, truth["savings a row"]),
        "savings against": held(both.per_row, truth["savings against"]),
        "share of misses": held(cells.shares[0][1], truth["share of misses"]),
        "cost of misses": held(missed, scale * truth["cost of misses"]),
    }


@cache
def curves_truth(name: str) -> Truth:
    """What the curves estimate."""
    rows = _KNOWN[name].population
    y, p = rows.y, rows.prob
    w = np.ones(len(y)) if rows.weight is None else rows.weight
    total, found = w.sum(), {}
    share = float(w @ y / total)
    for k, t in enumerate(_thresholds(name)[1:]):
        acts = p >= t
        benefit = float((w * (acts & (y == 1))).sum() - t / (1 - t) * (w * (acts & (y == 0))).sum())
        on_all = share - (1 - share) * t / (1 - t)
        found[f"net benefit {k + 1}"] = benefit / total
        found[f"gain {k + 1}"] = benefit / total - max(on_all, 0.0)
        missed = float((w * (~acts & (y == 1))).sum() / total)
        alarmed = float((w * (acts & (y == 0))).sum() / total)
        found[f"Brier curve {k + 1}"] = 2 * ((1 - t) * missed + t * alarmed)
    order = np.argsort(p)
    fnr = np.append(0.0, np.cumsum((w * y)[order])) / (w @ y)
    fpr = 1 - np.append(0.0, np.cumsum((w * (1 - y))[order])) / (w @ (1 - y))
    if len(np.unique(p)) < 100:
        start = np.append(np.append(True, np.diff(p[order]) > 0), True)
        fnr, fpr = fnr[start], fpr[start]
    x = np.linspace(0, 1, 101)
    cost = np.array([(one * fnr + (1 - one) * fpr).min() for one in x])
    found |= {"cost curve .2": cost[20], "cost curve .5": cost[50], "cost curve .8": cost[80]}
    found["cost curve area"] = float(np.trapezoid(cost, x))
    best = np.array([((1 - c) * share * fnr + c * (1 - share) * fpr).min() * 2 for c in x])
    found["Brier curve best area"] = float(np.trapezoid(best, x))
    brier = mean(binary_losses(y, p, "brier"), w)
    found["Brier curve regret area"] = brier - found["Brier curve best area"]
    return found


def curves(rows: Rows, world: World) -> Figures:
    """Decision curve, Brier curve and cost curve."""
    truth, t = curves_truth(world.name), np.array(_thresholds(world.name)[1:])
    how: dict[str, Any] = {"resamples": RESAMPLES, "random_state": SEED, **rows.how}
    t = np.unique(t)
    decision = decision_curve(rows.y, rows.prob, at=t, **how)
    as_given = brier_curve(rows.y, rows.prob, at=t, **how)
    found: Figures = {}
    for place, k in enumerate(np.searchsorted(t, _thresholds(world.name)[1:])):
        name = f"{place + 1}"
        found |= {
            f"net benefit {name}": Held(
                decision.low[k], decision.high[k], truth[f"net benefit {name}"],
                decision.net_benefit[k],
            ),
            f"gain {name}": Held(
                decision.gain_low[k], decision.gain_high[k], truth[f"gain {name}"],
                decision.gain[k],
            ),
            f"Brier curve {name}": Held(
                as_given.low[k], as_given.high[k], truth[f"Brier curve {name}"], as_given.cost[k]
            ),
        }  # fmt: skip
    found["Brier curve best area"] = held(as_given.best_area, truth["Brier curve best area"])
    found["Brier curve regret area"] = held(as_given.regret_area, truth["Brier curve regret area"])
    x = np.array([0.2, 0.5, 0.8])
    if np.unique(rows.y[~np.isnan(rows.y)]).size == 2:
        best = cost_curve(rows.y, rows.prob, at=x, **how)
        for k, name in enumerate(("cost curve .2", "cost curve .5", "cost curve .8")):
            found[name] = Held(best.low[k], best.high[k], truth[name], best.cost[k])
        found["cost curve area"] = held(best.area, truth["cost curve area"])
    return found


@cache
def others_truth(name: str) -> Truth:
    """What comparisons and `risk_coverage` estimate."""
    rows = _KNOWN[name].population
    w = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    found = {}
    for loss in ("log", "brier"):
        apart = binary_losses(rows.y, rows.rival, loss) - binary_losses(rows.y, rows.prob, loss)
        found[f"{loss} difference"] = mean(apart, w)
    wrong = rows.y != (rows.prob >= 0.5)
    sure = np.round(np.maximum(rows.prob, 1 - rows.prob), 12)
    order = np.argsort(-sure, kind="stable")
    kept, lost = np.cumsum(w[order]), np.cumsum((w * wrong)[order])
    last = np.append(np.diff(sure[order]) != 0, True)
    kept, lost = np.append(0.0, kept[last]), np.append(0.0, lost[last])
    for share in (0.5, 0.95):
        at = share * kept[-1]
        found[f"risk at {share:g}"] = float(np.interp(at, kept, lost) / at)
    grid = (np.arange(20_000) + 0.5) / 20_000 * kept[-1]
    found["risk area"] = float((np.interp(grid, kept, lost) / grid).mean())
    return found


def others(rows: Rows, world: World) -> Figures:
    """Differences of losses, and risk against coverage."""
    truth = others_truth(world.name)
    how: dict[str, Any] = {"resamples": RESAMPLES, "random_state": SEED, **rows.how}
    found = {
        f"{loss} difference": held(
            loss_difference(rows.y, rows.rival, rows.prob, loss=loss, **how),
            truth[f"{loss} difference"],
        )
        for loss in ("log", "brier")
    }
    curve = risk_coverage(rows.y, rows.prob, at=[0.5, 0.95, 1.0], **how)
    for k, share in enumerate((0.5, 0.95)):
        name = f"risk at {share:g}"
        found[name] = Held(curve.low[k], curve.high[k], truth[name], curve.risk[k])
    found["risk area"] = held(curve.area, truth["risk area"])
    return found


@cache
def calibration_truth(name: str, factor: float) -> tuple[Array, Array, Array]:
    """Probabilities in order, and sums up to each of weight and of weight times y - p."""
    rows = _KNOWN[name].population
    order = np.argsort(rows.prob)
    p, w = np.minimum(factor * rows.prob[order], 1.0), np.ones(len(order))
    w = w if rows.weight is None else rows.weight[order]
    apart = w * (rows.y[order] - p)
    return p, np.append(0.0, np.cumsum(w)), np.append(0.0, np.cumsum(apart))


@cache
def diagram_truth(name: str) -> tuple[Array, Array]:
    """Edges of a diagram and the base rate in each bin."""
    rows = _KNOWN[name].population
    cuts = np.unique([0.0, *_thresholds(name)[1:], 1.0])
    which = np.searchsorted(cuts[1:-1], rows.prob, side="right")
    w = np.ones(len(which)) if rows.weight is None else rows.weight
    return cuts, np.bincount(which, w * rows.y) / np.bincount(which, w)


def calibration(rows: Rows, world: World) -> Figures:
    """Calibration loss of probabilities a little off and 2.5 times too high; bins of a diagram."""
    how: dict[str, Any] = {"resamples": RESAMPLES, "random_state": SEED, **rows.how}
    found = {}
    for factor, name in ((1.0, "calibration loss"), (2.5, "calibration loss, 2.5 x")):
        prob = np.minimum(factor * rows.prob, 1.0)
        sample = read_sample(~np.isnan(rows.y), rows.weight, rows.inclusion, rows.groups)
        edges = cut_between(prob[sample.rows], 10, sample.weight)  # the bins that are compared
        ladder, weight, apart = calibration_truth(world.name, factor)
        at = np.concatenate([[0], np.searchsorted(ladder, edges[1:-1]), [len(ladder)]])
        here, gap = np.diff(weight[at]), np.diff(apart[at])
        truth = float((gap**2 / np.maximum(here, 1e-300)).sum() / weight[-1])
        found[name] = held(calibration_loss(rows.y, prob, cut="rows", **how), truth)
    cuts, shares = diagram_truth(world.name)
    table = reliability(rows.y, rows.prob, bins=cuts, **how)
    if len(table.low) == len(shares):  # every bin has a labelled row
        for k, share in enumerate(shares):
            limits = table.low[k], table.high[k]
            found[f"reliability {k + 1}"] = Held(*limits, share, table.observed[k])
    return found


FAMILIES: dict[str, Callable[[Rows, World], Figures]] = {
    "scores": scores,
    "costs": costs,
    "curves": curves,
    "others": others,
    "calibration": calibration,
}


def know(world: World) -> None:
    """Remember a world, so that its truth is computed once."""
    _KNOWN.setdefault(world.name, world)
