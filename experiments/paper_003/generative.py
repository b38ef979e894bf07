"""When does a model of each class help a decision, and when does it mislead? (003 1.1 to 1.6)

    p(y | x) = p(y) N(x; mean_y, covariance_y) / Z

Four worlds. Correlated: 8 columns, correlation .6 within both classes, which naive Bayes does not
see; classes even, or 1 in 10. Outliers: 2 % of the rows lie 5 to 8 standard deviations from both
classes, and their class is a fair coin. Few: 20 columns, and 10 or 30 rows of the rare class.
Unlabelled: 30 labels and 2,000 rows without; both classes are normal, or one is two groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments.paper_003.worlds import (
    PER,
    Array,
    GaussianWorld,
    Rows,
    excess_cost,
    excess_error,
    excess_log_loss,
    of_actions,
)
from scarce import CostMatrix, GaussianBayes, RareClassifier, decide, expected_cost

TITLE = "generative models"
COSTS = CostMatrix.binary(false_alarm=5, miss=100).with_abstain(3)
FRESH = 3000


def correlated(share: float) -> GaussianWorld:
    """Two classes one standard deviation apart in each of 8 columns that go together."""
    covariance = 0.4 * np.eye(8) + 0.6
    return GaussianWorld(share, [np.zeros(8), np.ones(8)], [covariance, covariance])


def many_columns() -> GaussianWorld:
    """Two classes in 20 columns, correlated like neighbours; the rare one is wider in some."""
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    wider = np.where(np.arange(20) < 5, 1.5, 1.0)
    apart = np.where(np.arange(20) % 4 == 0, 1.0, 0.0)
    return GaussianWorld(
        0.03, [np.zeros(20), apart], [covariance, covariance * np.outer(wider, wider)]
    )


CORRELATED = {"even classes": correlated(0.5), "1 event in 10": correlated(0.1)}
SCATTERED = GaussianWorld(0.1, [np.zeros(4), [1.5, 1.5, 0, 0]], [np.eye(4), np.eye(4)])
COLUMNS = many_columns()
NORMAL = GaussianWorld(0.3, [np.zeros(4), [1.2, 1.2, 0.8, 0]], [np.eye(4), np.eye(4)])
OUTLIERS, FLAG = 0.02, 3.0
RARE_ROWS = (10, 30)

KINDS = {
    "naive (diag)": "Columns that go together are counted as so many witnesses (1.4).",
    "full": "The truth is among its models.",
    "logistic": "The truth is among its models too, without a model of x.",
}
MEASURES = ("excess error, %", "excess log loss, thousandths", "excess cost per 1,000 rows")
FEW = {
    "diag": "Lacks the correlations.",
    "full": "A covariance of its own; where there is none, drawn to the shared one and said so.",
    "shared": "One covariance for both classes, as in 1.6.",
    "shrunk": "Each covariance drawn as far as left-out rows ask for.",
}
UNLABELLED = ("Normal classes", "A class of two groups")


def _why() -> dict[str, str]:
    out = {}
    for world in CORRELATED:
        for measure in MEASURES:
            for kind, why in KINDS.items():
                out[f"Correlated, {world}, {kind}: {measure}"] = why
    out["Outliers: share that logistic regression is 99 % sure of"] = (
        "1.1: far from all rows, and therefore sure."
    )
    out["Outliers: share with outlier_score above 3"] = "GaussianBayes('shared')."
    out["Other rows: share with outlier_score above 3"] = "Meant to be below .001."
    out["Outliers 2 %, decided by costs: cost per 1,000 rows"] = "Logistic regression."
    out["Outliers 2 %, score above 3 sent to a person: cost per 1,000 rows"] = (
        "The same decisions but for the rows flagged."
    )
    out["Outliers 2 %, known and sent to a person: cost per 1,000 rows"] = "The least there is."
    for n in RARE_ROWS:
        for kind, why in FEW.items():
            out[f"20 columns, {n} rare rows, {kind}: excess log loss, thousandths"] = why
    for world in UNLABELLED:
        for use in ("30 labels alone", "and 2,000 rows without"):
            out[f"{world}, {use}: excess log loss, thousandths"] = (
                "unlabelled='use': left out where labelled rows lose by them."
                if "and" in use
                else "GaussianBayes('shared')."
            )
    return out


WHY = _why()


def densities(covariance: str, **settings: Any) -> GaussianBayes:
    """Return the classifier of the notes: densities as they are, nothing calibrated on top."""
    if covariance == "shared":
        settings["shrinkage"] = 0
    return GaussianBayes(covariance, calibrate=False, **settings)


def log_prob(model: Any, rows: Rows, fresh: Rows) -> Array:
    """Fit a model and return its log probabilities of fresh rows."""
    return np.asarray(model.fit(rows.X, rows.y).predict_log_proba(fresh.X))


def correlated_columns(rng: np.random.Generator) -> dict[str, float]:
    """See what naive Bayes costs where columns go together."""
    models = {
        "naive (diag)": GaussianBayes("diag", calibrate=False),
        "full": GaussianBayes("full", calibrate=False),
        "logistic": RareClassifier("logistic", ridge=1.0, standardize=False, diagnostics=False),
    }
    out = {}
    for world, law in CORRELATED.items():
        train, fresh = law.draw(2000, rng), law.draw(FRESH, rng)
        for kind, model in models.items():
            found = log_prob(model, train, fresh)
            done = decide(np.exp(found), COSTS)
            values = (
                100 * excess_error(fresh.p, found),
                1000 * excess_log_loss(fresh.p, found),
                excess_cost(fresh.p, done, COSTS),
            )
            for measure, value in zip(MEASURES, values, strict=True):
                out[f"Correlated, {world}, {kind}: {measure}"] = value
    return out


def from_nowhere(n: int, rng: np.random.Generator) -> Array:
    """Draw rows 5 to 8 standard deviations from one class and at least 5 from the other."""
    found = np.empty((0, 4))
    while len(found) < n:
        way = rng.normal(size=(4 * n, 4))
        way *= rng.uniform(5, 8, size=(4 * n, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
        rows = SCATTERED.means[rng.integers(0, 2, size=4 * n)] + way
        found = np.vstack([found, rows[SCATTERED.distance(rows).min(axis=1) >= 5]])
    return found[:n]


def outliers(rng: np.random.Generator) -> dict[str, float]:
    """Send rows that are like neither class to a person, or do not."""
    train, usual = SCATTERED.draw(2000, rng), SCATTERED.draw(FRESH, rng)
    strange = from_nowhere(500, rng)
    logistic = RareClassifier("logistic", ridge=1.0, standardize=False, diagnostics=False).fit(
        train.X, train.y
    )
    bayes = densities("shared").fit(train.X, train.y)
    prob = logistic.predict_proba(strange)
    flags = [bayes.outlier_score(X) > FLAG for X in (usual.X, strange)]
    truths = [usual.p, np.full(len(strange), 0.5)]
    plain = [decide(logistic.predict_proba(X), COSTS) for X in (usual.X, strange)]
    sent = [np.where(flag, "abstain", done) for flag, done in zip(flags, plain, strict=True)]
    known = [plain[0], np.full(len(strange), "abstain")]

    def paid(actions: list[NDArray[Any]]) -> float:
        parts = [
            of_actions(expected_cost(p, COSTS), done, COSTS).mean()
            for p, done in zip(truths, actions, strict=True)
        ]
        return PER * float((1 - OUTLIERS) * parts[0] + OUTLIERS * parts[1])

    return {
        "Outliers: share that logistic regression is 99 % sure of": float(
            (prob.max(axis=1) > 0.99).mean()
        ),
        "Outliers: share with outlier_score above 3": float(flags[1].mean()),
        "Other rows: share with outlier_score above 3": float(flags[0].mean()),
        "Outliers 2 %, decided by costs: cost per 1,000 rows": paid(plain),
        "Outliers 2 %, score above 3 sent to a person: cost per 1,000 rows": paid(sent),
        "Outliers 2 %, known and sent to a person: cost per 1,000 rows": paid(known),
    }


def few_rows(rng: np.random.Generator) -> dict[str, float]:
    """Learn a covariance from fewer rows than columns, or hardly more."""
    fresh, out = COLUMNS.draw(FRESH, rng), {}
    for n in RARE_ROWS:
        y = np.repeat([0, 1], [round(n / COLUMNS.share) - n, n])
        train = COLUMNS.of_classes(y, rng)
        for kind in FEW:
            found = excess_log_loss(fresh.p, log_prob(densities(kind), train, fresh))
            out[f"20 columns, {n} rare rows, {kind}: excess log loss, thousandths"] = 1000 * found
    return out


def second_group(n: int, rng: np.random.Generator) -> Rows:
    """Draw rows of which half of the larger class lies 3 to the side, which no label says."""
    y = (rng.random(n) < 0.3).astype(np.int64)
    aside = 3.0 * ((y == 0) & (rng.random(n) < 0.5))
    X = rng.normal(size=(n, 4))
    X[:, 0] += aside
    X[:, 1] += 1.5 * y
    event = np.log(0.3) - 0.5 * (X[:, 0] ** 2 + (X[:, 1] - 1.5) ** 2)
    groups = [np.log(0.35) - 0.5 * ((X[:, 0] - at) ** 2 + X[:, 1] ** 2) for at in (0.0, 3.0)]
    return Rows(X, np.asarray(expit(event - np.logaddexp(*groups))), y)


def without_labels(rng: np.random.Generator) -> dict[str, float]:
    """Learn from 2,000 rows without label beside 30 with one."""
    out = {}
    for world, draw in zip(UNLABELLED, (NORMAL.draw, second_group), strict=True):
        rows, fresh = draw(2030, rng), draw(FRESH, rng)
        while not 5 <= rows.y[:30].sum() <= 25:
            rows = draw(2030, rng)
        labels = np.where(np.arange(2030) < 30, rows.y, np.nan)
        alone = log_prob(densities("shared"), rows.take(slice(30)), fresh)
        both = log_prob(densities("shared", unlabelled="use"), rows._replace(y=labels), fresh)
        for use, found in (("30 labels alone", alone), ("and 2,000 rows without", both)):
            loss = 1000 * excess_log_loss(fresh.p, found)
            out[f"{world}, {use}: excess log loss, thousandths"] = loss
    return out


def one(seed: list[int]) -> dict[str, float]:
    """Go through the four worlds once."""
    rng = np.random.default_rng(seed)
    found = correlated_columns(rng) | outliers(rng) | few_rows(rng) | without_labels(rng)
    return {name: found[name] for name in WHY}
