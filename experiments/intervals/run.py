"""Do 90 % intervals of a logistic regression hold the truth when positives are few?

    logit p(x) = intercept + .8 x1 + .5 x2 + 1 x3 + 0 x4,   500 rows
    x1, x2 normal(0, 1), correlation .5;  x3 is 1 with probability .2, else 0;  x4 exponential(1)
    intercept such that the mean of p is 10, 20 or 30 positives in 500

Targets: the log-odds at low = (-.75, -.9, 0, 1) and high = (1.6, 1.8, 1, 1), whose probabilities
are .003/.006/.010 and .17/.30/.41, and the slopes of x1, x3 and x4. Draws with fewer than 3
positives are drawn again. The model is the true one: a wrong link or a missing column is not tried.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from experiments.frame import Comparison, Progress, over_repeats
from scarce.engine.memory import ArrayRows
from scarce.linear.firth import FirthFit, fit_firth, flic_intercept
from scarce.linear.inference import laplace_interval, profile_interval, wald_interval

Array = NDArray[np.float64]

TITLE = "Coverage of 90 % intervals of logistic regression with 10, 20 and 30 positives"
SEED = 5003
ROWS = 500
POSITIVES = (10, 20, 30)
SLOPES = np.array([0.8, 0.5, 1.0, 0.0])
CORRELATION = 0.5
POINTS = np.array([[-0.75, -0.9, 0.0, 1.0], [1.6, 1.8, 1.0, 1.0]])
POSITIONS = (1, 3, 4)
TARGETS = ("p(low)", "p(high)", "slope", "binary slope", "null slope")
SCALES = np.geomspace(0.05, 10.0, 12)  # of the prior that is tuned on the data
NOMINAL = "Nominal: .90."
WHY = {
    "Firth profile": NOMINAL,
    "FLIC Wald": f"{NOMINAL} Only for probabilities: its slopes are Firth's.",
    "Laplace N(0, 2.5^2)": NOMINAL,
    "ML Wald": f"{NOMINAL} Among draws that have an interval.",
    "tuned ridge Laplace": f"{NOMINAL} The shrinkage that the data chose is not in the width.",
}


def intercept_for(prevalence: float) -> float:
    """Return the intercept that gives this mean probability (Gauss-Hermite quadrature)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    a, b = SLOPES[:2]
    spread = np.sqrt(a * a + b * b + 2 * CORRELATION * a * b)

    def excess(intercept: float) -> float:
        off = weights @ expit(intercept + spread * nodes)
        on = weights @ expit(intercept + SLOPES[2] + spread * nodes)
        return float(0.8 * off + 0.2 * on - prevalence)

    return float(brentq(excess, -15.0, 5.0, xtol=1e-12))


def draw(intercept: float, rng: np.random.Generator) -> ArrayRows:
    """Draw rows until there are at least 3 positives."""
    while True:
        X = np.empty((ROWS, 4))
        X[:, :2] = rng.normal(size=(ROWS, 2))
        X[:, 1] = CORRELATION * X[:, 0] + np.sqrt(1 - CORRELATION**2) * X[:, 1]
        X[:, 2] = rng.random(ROWS) < 0.2
        X[:, 3] = rng.exponential(size=ROWS)
        y = (rng.random(ROWS) < expit(intercept + X @ SLOPES)).astype(np.float64)
        if y.sum() >= 3:
            return ArrayRows(X, y, classes=[0, 1], check=False)


def tuned_ridge(rows: ArrayRows) -> FirthFit:
    """Return the normal-prior fit whose scale has the greatest (Laplace) evidence."""
    best, greatest, coef = None, -np.inf, None
    for scale in SCALES:
        fit = fit_firth(rows, penalty="normal", scale=scale, coef=coef)
        coef = fit.coef
        log_det = np.linalg.slogdet(fit.information)[1]
        evidence = fit.objective - len(SLOPES) * np.log(scale) - 0.5 * log_det
        if evidence > greatest:
            best, greatest = fit, evidence
    assert best is not None
    return best


def both(interval: Callable[..., object]) -> Array:
    """Return low and high of the five targets, shape (5, 2)."""
    at_points, of_slopes = interval(x=POINTS), interval(position=POSITIONS)
    return np.column_stack(
        [
            np.concatenate([at_points.low, of_slopes.low]),  # type: ignore[attr-defined]
            np.concatenate([at_points.high, of_slopes.high]),  # type: ignore[attr-defined]
        ]
    )


def trial(rows: ArrayRows) -> tuple[dict[str, Array], dict[str, float]]:
    """Return each method's intervals (5, 2), and its estimate of p(low)."""
    firth = fit_firth(rows)
    flic = flic_intercept(rows, firth)
    plain = fit_firth(rows, penalty="none")
    normal = fit_firth(rows, penalty="normal")
    tuned = tuned_ridge(rows)
    intervals = {
        "Firth profile": both(lambda **what: profile_interval(rows, firth, **what)),
        "FLIC Wald": both(lambda **what: wald_interval(flic, **what)),
        "Laplace N(0, 2.5^2)": both(lambda **what: laplace_interval(normal, **what)),
        "ML Wald": both(lambda **what: wald_interval(plain, **what)),
        "tuned ridge Laplace": both(lambda **what: laplace_interval(tuned, **what)),
    }
    fits = {"FLIC": flic, "Firth": firth, "Laplace N(0, 2.5^2)": normal, "tuned ridge": tuned}
    low = np.append(1.0, POINTS[0])
    return intervals, {name: float(expit(low @ fit.coef)) for name, fit in fits.items()}


def share(quantity: str, hits: NDArray[np.bool_], why: str) -> Comparison:
    """Make a row from yes and no; its error is not 0 when all say yes (Agresti and Coull)."""
    smooth = (hits.sum() + 2.0) / (len(hits) + 4.0)
    error = float(np.sqrt(smooth * (1.0 - smooth) / (len(hits) + 4.0)))
    return Comparison(quantity, None, float(hits.mean()), error, len(hits), why)


def rows_of(positives: int, truth: Array, found: dict[str, Array]) -> list[Comparison]:
    """Return coverage and tails of one size; `found` holds (trials, 5, 2) for each method."""
    table = []
    for method, ends in found.items():
        exists = np.isfinite(ends).all(axis=(1, 2))
        table.append(
            share(
                f"{method}, {positives} positives: draws without an interval",
                ~exists,
                "Separated classes leave maximum likelihood without one.",
            )
        )
        ends = ends[exists]
        for column, target in enumerate(TARGETS[:2] if method == "FLIC Wald" else TARGETS):
            low, high = ends[:, column, 0], ends[:, column, 1]
            value, where = truth[column], f"{method}, {positives} positives, {target}"
            hits = (low <= value) & (value <= high)
            table.append(share(f"{where}: coverage", hits, WHY[method]))
            if method in ("Firth profile", "FLIC Wald", "Laplace N(0, 2.5^2)"):
                table.append(share(f"{where}: truth below", value < low, "Nominal: .05."))
                table.append(share(f"{where}: truth above", value > high, "Nominal: .05."))
    return table


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Simulate each size and count."""
    trials = 20 if quick else 1000
    table: list[Comparison] = []
    for positives in POSITIVES:
        progress(f"{positives} positives")
        intercept = intercept_for(positives / ROWS)
        truth = np.append(intercept + POINTS @ SLOPES, SLOPES[[p - 1 for p in POSITIONS]])
        rng = np.random.default_rng([SEED, positives])
        ends: dict[str, list[Array]] = {}
        lows: dict[str, list[float]] = {}
        for _ in range(trials):
            intervals, points = trial(draw(intercept, rng))
            for method, found in intervals.items():
                ends.setdefault(method, []).append(found)
            for method, prob in points.items():
                lows.setdefault(method, []).append(prob / float(expit(truth[0])))
        table += rows_of(positives, truth, {name: np.array(found) for name, found in ends.items()})
        for method, ratios in lows.items():
            table.append(
                over_repeats(
                    f"{method}, {positives} positives: mean estimate of p(low) / truth",
                    None,
                    ratios,
                    "Ideal: 1.",
                )
            )
    return table
