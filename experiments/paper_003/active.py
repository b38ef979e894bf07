"""What do labels chosen by uncertainty do to the model, and to every figure counted on them? (0.7)

    by rule:   the rows of greatest entropy        (003 0.7 prints arg min beside "highest entropy")
    explored:  by lot, probability in proportion to entropy, of which .3 is spread evenly
    repaired:  sum of weight_i value_i / sum of weight_i,  weight = rows that row i stands for

A pool of 2,000 rows, 5 % events, 200 labels in 5 rounds of 40; the first round is even, for there
is no model yet. The model is a ridge logistic regression, which is right in one world and lacks a
curve in another. In a third, 30 rows of a kind never labelled before look harmless, and 8 in 10 of
them are events: 40 old labels know nothing of them. Truth of a figure is that of the whole pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper_003.worlds import (
    PER,
    Array,
    LogisticWorld,
    Rows,
    excess_log_loss,
    of_actions,
)
from scarce import CostMatrix, RareClassifier, choose_labels, decide, mean_cost
from scarce.missed.rounds import label_in_rounds

TITLE = "labels chosen by uncertainty"
POOL, LABELS, ROUNDS, EXPLORE = 2000, 200, 5, 0.3
WORLDS = {
    "Model right": LogisticWorld((1.5, 1.0, 0.5, 0.0), share=0.05),
    "Model wrong": LogisticWorld((1.5, 0.0, 0.5, 0.0), share=0.05, curve=0.8),
}
TWO = CostMatrix.binary(false_alarm=5, miss=100)
COSTS = TWO.with_abstain(3)
COUNT = CostMatrix.zero_one(2)  # the mean cost of saying 0 throughout: the share of events
HIDDEN, HIDDEN_SHARE, OLD = 30, 0.8, 40

FITS = {
    "random labels": "A fair sample.",
    "greatest entropy": "The notes' way, by rule.",
    "explored": "Drawn by lot; fitted as if all labels were alike.",
    "explored, fitted with weights": "The same labels, each with the rows that it stands for.",
}
COUNTS = {
    "random labels, plain": "A fair sample needs no repair.",
    "greatest entropy, plain": "The rows that the model doubts are not the pool.",
    "explored, plain": "By lot, but of unequal chances.",
    "explored, weighted": "choice.weights(): a ratio of two fair sums, so nearly unbiased.",
}
FIGURES = {
    "share of events": ("percentage points", "Nominal: .90."),
    "cost of an earlier model's decisions": ("per 1,000 rows", "Nominal: .90."),
}
OWN = "cost of the new model's decisions"
HUNTS = ("random labels", "greatest entropy", "explored", "explored, fitted with weights")


def _why() -> dict[str, str]:
    out = {}
    for world in WORLDS:
        for name, why in FITS.items():
            out[f"{world}, {name}: excess log loss, thousandths"] = why
    for figure, (unit, nominal) in FIGURES.items():
        for name, why in COUNTS.items():
            out[f"Model right, {name}: bias of the {figure}, {unit}"] = why
        for name in ("random labels, plain", "explored, weighted"):
            out[f"Model right, {name}: error of the {figure}, {unit}"] = (
                "Mean absolute error of one estimate."
            )
        for name in COUNTS:
            out[f"Model right, {name}: coverage of the 90 % interval of the {figure}"] = nominal
    for name in COUNTS:
        out[f"Model right, {name}: bias of the {OWN}, per 1,000 rows"] = (
            "Choosing pushes it up, which weights mend; having learnt from the same labels pulls "
            "it down, which they do not."
        )
    for name in HUNTS:
        out[f"Hidden kind, {name}: share of repeats in which a row of it was labelled"] = (
            '"We can get stuck with bad models."'
        )
        out[f"Hidden kind, {name}: recall in the end"] = (
            "Share of all events in the pool with p above .048, where an alarm is the cheaper."
        )
        out[f"Hidden kind, {name}: recall of its events in the end"] = "As above."
    return out


WHY = _why()


class Labelled(NamedTuple):
    """Rows of the pool that have a label, and how many each stands for."""

    rows: NDArray[np.int64]
    weight: Array


def fit(X: Array, y: NDArray[Any], weight: Array | None = None) -> Any:
    """Fit the model; weights are scaled so that the prior counts the same."""
    model = RareClassifier("logistic", ridge=1.0, standardize=False, diagnostics=False)
    return model.fit(X, y, None if weight is None else weight / weight.mean())


def learn(X: Array, y: NDArray[Any], before: Rows | None) -> Callable[[Array], Array]:
    """Return what gives the probabilities of the pool for the labels known so far."""

    def scores(labels: Array) -> Array:
        known = np.flatnonzero(~np.isnan(labels))
        rows, found = X[known], labels[known]
        if before is not None:
            rows, found = np.vstack([before.X, rows]), np.append(before.y, found)
        if len(np.unique(found)) < 2:
            return np.full(len(X), 0.5)
        return np.asarray(fit(rows, found).predict_proba(X)[:, 1])

    return scores


def label(
    pool: Rows, explore: float | None, rng: np.random.Generator, before: Rows | None = None
) -> Labelled:
    """Buy 200 labels of the pool: at random, by rule (explore=0) or by lot."""
    if explore is None:
        choice = choose_labels(np.zeros(POOL), policy="random", n=LABELS, random_state=rng)
        return Labelled(choice.rows, choice.weights())
    truth = pool.y.astype(np.float64)
    _, choice = label_in_rounds(
        learn(pool.X, truth, before),
        lambda rows: truth[rows],
        n=LABELS,
        rounds=ROUNDS,
        policy="uncertainty",
        labels=np.full(POOL, np.nan),
        explore=explore,
        random_state=rng,
    )
    return Labelled(choice.rows, choice.weights())


def model_of(pool: Rows, found: Labelled, weighted: bool = False) -> Any:
    """Fit the model to the labels bought."""
    return fit(pool.X[found.rows], pool.y[found.rows], found.weight if weighted else None)


def counted(
    pool: Rows, found: Labelled, actions: NDArray[Any], costs: CostMatrix, weighted: bool
) -> tuple[float, bool]:
    """Estimate a mean cost of the pool: value less truth, and whether the interval holds it."""
    truth = float(of_actions(costs.costs[:, pool.y].T, actions, costs).mean())
    told = mean_cost(
        pool.y[found.rows],
        actions[found.rows],
        costs,
        sample_weight=found.weight if weighted else None,
        resamples=500,
    )
    return told.value - truth, bool(told.low <= truth <= told.high)


def in_world(name: str, rng: np.random.Generator) -> dict[str, float]:
    """Buy labels in three ways, fit on them and count on them."""
    pool = WORLDS[name].draw(POOL, rng)
    bought = {
        "random labels": label(pool, None, rng),
        "greatest entropy": label(pool, 0.0, rng),
        "explored": label(pool, EXPLORE, rng),
    }
    models = {way: model_of(pool, found) for way, found in bought.items()}
    models["explored, fitted with weights"] = model_of(pool, bought["explored"], weighted=True)
    out: dict[str, float] = {}
    for way, model in models.items():
        loss = excess_log_loss(pool.p, model.predict_log_proba(pool.X))
        out[f"{name}, {way}: excess log loss, thousandths"] = 1000 * loss
    if name == "Model wrong":
        return out
    earlier = WORLDS[name].draw(500, rng, events=5)
    done = decide(fit(earlier.X, earlier.y).predict_proba(pool.X), COSTS)
    none = np.zeros(POOL, dtype=int)
    for way in COUNTS:
        what, how = way.split(", ")
        found, weighted = bought[what], how == "weighted"
        own = decide(models[what].predict_proba(pool.X), COSTS)
        for (figure, (unit, _)), actions, costs, scale in zip(
            FIGURES.items(), (none, done), (COUNT, COSTS), (100, PER), strict=True
        ):
            bias, holds = counted(pool, found, actions, costs, weighted)
            out[f"{name}, {way}: bias of the {figure}, {unit}"] = scale * bias
            out[f"{name}, {way}: error of the {figure}, {unit}"] = scale * abs(bias)
            out[f"{name}, {way}: coverage of the 90 % interval of the {figure}"] = holds
        bias, _ = counted(pool, found, own, COSTS, weighted)
        out[f"{name}, {way}: bias of the {OWN}, per 1,000 rows"] = PER * bias
    return out


def hidden_kind(rng: np.random.Generator) -> dict[str, float]:
    """See who finds events of a kind that the first model is sure are none."""
    world = WORLDS["Model right"]

    def marked(rows: Rows, mark: int) -> Rows:
        return rows._replace(X=np.column_stack([rows.X, np.full(len(rows.y), float(mark))]))

    before = marked(world.draw(OLD, rng, events=2), 0)
    usual = marked(world.draw(POOL - HIDDEN, rng), 0)
    X = rng.normal(size=(HIDDEN, 4)) * 0.3 + [-1.5, -1.0, 0.0, 0.0]
    p = np.full(HIDDEN, HIDDEN_SHARE)
    new = marked(Rows(X, p, (rng.random(HIDDEN) < p).astype(np.int64)), 1)
    pool = Rows(*(np.concatenate(pair) for pair in zip(usual, new, strict=True)))
    kind = np.arange(POOL) >= POOL - HIDDEN
    events = pool.y == 1
    out: dict[str, float] = {}
    found = Labelled(np.empty(0, np.int64), np.empty(0))
    for way, explore in zip(HUNTS, (None, 0.0, EXPLORE, EXPLORE), strict=True):
        weighted = way == HUNTS[-1]
        if not weighted:  # the last way has the labels of the one before it
            found = label(pool, explore, rng, before)
        weight = found.weight / found.weight.mean() if weighted else np.ones(LABELS)
        model = fit(
            np.vstack([before.X, pool.X[found.rows]]),
            np.append(before.y, pool.y[found.rows]),
            np.append(np.ones(OLD), weight),
        )
        alarm = decide(model.predict_proba(pool.X), TWO) == 1
        name = f"Hidden kind, {way}"
        labelled = bool(kind[found.rows].any())
        out[f"{name}: share of repeats in which a row of it was labelled"] = labelled
        out[f"{name}: recall in the end"] = float(alarm[events].mean())
        out[f"{name}: recall of its events in the end"] = float(alarm[events & kind].mean())
    return out


def one(seed: list[int]) -> dict[str, float]:
    """Go through the three worlds once."""
    rng = np.random.default_rng(seed)
    found = in_world("Model right", rng) | in_world("Model wrong", rng) | hidden_kind(rng)
    return {name: float(found[name]) for name in WHY}
