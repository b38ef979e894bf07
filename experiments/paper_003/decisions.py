"""Which way from probabilities to actions costs least, with a person to ask? (003 0.2 to 0.5, 0.8)

    act as if none below p = .0075, ask a person up to .4, raise the alarm above
    (false alarm 5, miss 400, a person 3, who is right)

2 % events, six columns, logistic truth. The model is the notes' pipeline: logistic likelihood,
Gaussian prior, its width by cross-validation. All rivals are held to the cost of the best decisions
that may ask. Draws with fewer than 5 events are drawn again: five folds need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV

from experiments.frame import class_folds
from experiments.paper_003.worlds import PER, Array, LogisticWorld, Rows, excess_cost
from scarce import (
    CostMatrix,
    PriorCorrected,
    RareClassifier,
    decide,
    decide_between,
    expected_cost,
)

TITLE = "classification with a person to ask"
WORLD = LogisticWorld((1.2, 0.8, 0.5, 0.3, 0.0, 0.0), share=0.02)
SIZES = (500, 5000)
FRESH = 4000
TWO = CostMatrix.binary(false_alarm=5, miss=400)
COSTS = TWO.with_abstain(3)
LEVELS = (0.9, 0.5)

UNIT = "excess cost per 1,000 rows"
WAYS = {
    "threshold 0.5": "The likelier class (0.3): hardly ever an event.",
    "class_weight='balanced', threshold 0.5": (
        "LogisticRegression as it comes: near the threshold of another cost ratio, 1 : 49."
    ),
    "under-sampled, uncorrected, decided by costs": (
        "One other row per event: probabilities of another world, hardly any below .0075."
    ),
    "under-sampled, prior corrected, decided by costs": (
        "The same fit through PriorCorrected: what is left is the price of the rows thrown away."
    ),
    "threshold tuned by cost, no asking": (
        "TunedThresholdClassifierCV around the same model: it must learn the threshold that the "
        "costs state."
    ),
    "decided by costs, no asking": "0.4: p >= c_FP / (c_FP + c_FN). The same model.",
    "decided by costs, with asking": "0.5: the notes' way through.",
    "decided by costs, with asking, prior chosen by log loss": (
        "The same but for select_by='log_loss': the Brier score hardly sees probabilities near .01."
    ),
}
PLAIN, REGRET = "untuned fit, decided by costs", "the same, least regret over {} intervals"
DOUBT = {
    PLAIN: "Firth with the intercept refitted, which has intervals; its ridge is not tuned.",
    "the same, mean of p over its doubt, decided by costs": (
        "Expected cost is linear in p: to one who averages, doubt matters through the mean of p "
        "alone."
    ),
    REGRET.format("90 %"): "decide_between: the least that can be regretted inside the interval.",
    REGRET.format("50 %"): "As above, nearer to the plain decision.",
    "the same, least worst cost over 90 % intervals": "As if every p were at its dearer end.",
}
PAIRED = "500 rows, least regret over 90 % intervals less the plain decision: cost per 1,000 rows"
WHY = {
    "Best decisions that may ask: cost per 1,000 rows": "Of the true probabilities.",
    "Best decisions without asking: excess cost per 1,000 rows": (
        "What the person is worth at best; the rows below hold it too."
    ),
    **{f"{n:,} rows, {way}: {UNIT}": why for n in SIZES for way, why in WAYS.items()},
    **{
        f"{n:,} rows, decided by costs, with asking: share of rows asked about": (
            "Rows whose probability lies between .0075 and .4."
        )
        for n in SIZES
    },
    **{f"500 rows, {way}: {UNIT}": why for way, why in DOUBT.items()},
    PAIRED: "Paired, repeat by repeat; below 0, the intervals pay.",
}


def money(y: NDArray[Any], alarm: NDArray[Any]) -> float:
    """Return the cost of alarms without asking, as the tuned threshold is scored."""
    return float(np.mean(np.where(y == 1, 400.0 * (alarm == 0), 5.0 * (alarm == 1))))


def ways(train: Rows, fresh: Rows, seed: int) -> dict[str, NDArray[Any]]:
    """Return the actions of every rival on fresh rows."""
    # The paper's ridges in the units of the columns, and folds at random within each class.
    given: dict[str, Any] = {"standardize": False, "cv": class_folds(train.y, 5, 0)}
    model = RareClassifier("logistic", ridge="auto", **given).fit(train.X, train.y)
    p = model.predict_proba(fresh.X)[:, 1]
    by_log_loss = RareClassifier("logistic", ridge="auto", select_by="log_loss", **given)
    by_log_loss.fit(train.X, train.y)
    balanced = LogisticRegression(class_weight="balanced").fit(train.X, train.y)
    fewer = PriorCorrected(LogisticRegression(), undersample=1.0, random_state=seed)
    fewer.fit(train.X, train.y)
    same = RareClassifier("logistic", ridge=model.ridge_, standardize=False, diagnostics=False)
    scorer = make_scorer(money, greater_is_better=False)
    tuned = TunedThresholdClassifierCV(same, scoring=scorer).fit(train.X, train.y)
    found = [
        (p >= 0.5).astype(int),
        balanced.predict(fresh.X),
        decide(fewer.estimator_.predict_proba(fresh.X), COSTS),
        decide(fewer.predict_proba(fresh.X), COSTS),
        tuned.predict(fresh.X),
        decide(p, TWO),
        decide(p, COSTS),
        decide(by_log_loss.predict_proba(fresh.X), COSTS),
    ]
    return dict(zip(WAYS, found, strict=True))


def in_doubt(train: Rows, fresh: Rows) -> dict[str, NDArray[Any]]:
    """Return the actions of a fit that knows how sure it is."""
    model = RareClassifier("logistic", ridge=0, bias_reduction="flic").fit(train.X, train.y)
    ends = [model.predict_interval(fresh.X, level=at, method="laplace").T for at in LEVELS]
    low, high = ends[0]
    found = [
        decide(model.predict_proba(fresh.X), COSTS),
        decide(mean_of_doubt(logit(low), logit(high), LEVELS[0]), COSTS),
    ]
    found += [decide_between(a, b, COSTS).actions for a, b in ends]
    found += [decide_between(low, high, COSTS, rule="worst").actions]
    return dict(zip(DOUBT, found, strict=True))


def mean_of_doubt(low: Array, high: Array, level: float) -> Array:
    """Return the mean of p where log-odds are normal with these ends of an interval."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    sd = (high - low) / (2 * ndtri(0.5 + level / 2))
    score = (low + high) / 2 + np.multiply.outer(nodes, sd)
    return np.asarray(weights @ expit(score) / weights.sum())


def one(seed: list[int]) -> dict[str, float]:
    """Draw, learn and decide once."""
    rng = np.random.default_rng(seed)
    fresh = WORLD.draw(FRESH, rng)
    best = expected_cost(fresh.p, COSTS).min(axis=1)
    out = {
        "Best decisions that may ask: cost per 1,000 rows": PER * float(best.mean()),
        "Best decisions without asking: excess cost per 1,000 rows": excess_cost(
            fresh.p, decide(fresh.p, TWO), COSTS
        ),
    }
    for n in SIZES:
        train = WORLD.draw(n, rng, events=5)
        actions = ways(train, fresh, seed=seed[-1])
        asked = actions["decided by costs, with asking"] == "abstain"
        name = f"{n:,} rows, decided by costs, with asking: share of rows asked about"
        out[name] = float(np.mean(asked))
        if n == SIZES[0]:
            actions |= in_doubt(train, fresh)
        for way, done in actions.items():
            out[f"{n:,} rows, {way}: {UNIT}"] = excess_cost(fresh.p, done, COSTS)
    plain, careful = (f"500 rows, {way}: {UNIT}" for way in (PLAIN, REGRET.format("90 %")))
    out[PAIRED] = out[careful] - out[plain]
    return out
