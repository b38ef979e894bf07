"""Do 90 % intervals hold the shape of a GEV link, and those of probabilities when it is fitted?

    python -m experiments.intervals.shape [tables]        writes shape.md beside this file

Worlds: normal columns, a GEV link of a known shape, slopes that give the log-odds of a typical row
a standard deviation of 1.5; and two that break the assumption: a logistic link, and one with a
curved effect. Compared for the shape: the likelihood ratio as it is, and calibrated by simulation
(`RareClassifier.shape_interval`; a table is simulated from only where the plain ratio rules the
truth out, as the calibrated interval holds the plain one). For the slope of the first column and
for the probability of three rows (0, 1 and 2 standard deviations up): Wald intervals with
shape="fit", with the shape given as 0, and of a logistic regression.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import chi2

from scarce import RareClassifier
from scarce.errors import ScarceError
from scarce.linear.gev import GEV
from scarce.linear.joint import pose
from scarce.linear.shape import Calibration, Profile

Array = NDArray[np.float64]

SETTINGS = (  # base rate, columns, events, shapes
    (0.3, 2, 30, (-0.5, 0.0, 0.6)),
    (0.3, 2, 150, (-0.25, 0.3)),
    (0.3, 6, 30, (0.3,)),
    (0.3, 6, 60, (-0.5, 0.0, 0.6)),
    (0.05, 2, 60, (-0.5, 0.0, 0.6)),
    (0.05, 6, 150, (-0.25, 0.3)),
    (0.01, 2, 60, (0.0, 0.6)),
)
BROKEN = ("logistic", "curved")
DIRECTION = np.array([1.0, -0.7, 0.5, -0.5, 0.3, 0.0])
SPREAD = 1.5
QUANTILE = float(chi2.ppf(0.9, 1))
TYPICAL = np.random.default_rng(1).normal(size=100_000)


class World:
    """A link, an intercept and slopes with a base rate; `truth` is a shape or a name."""

    def __init__(self, truth: float | str, rate: float, columns: int) -> None:
        self.truth, self.columns = truth, columns
        direction = DIRECTION[:columns] / np.linalg.norm(DIRECTION[:columns])
        self.slopes, self.intercept = SPREAD * direction, 0.0
        low, high = -12.0, 6.0
        if not isinstance(truth, str):  # slopes of the score at the base rate, in log-odds
            link = GEV(truth)
            score = link.forward(np.array([rate]))
            self.slopes = self.slopes * float(rate * (1 - rate) / link.density(score)[0])
            low, high = -12.0 if truth <= 0 else -1 / truth - 5.0, 6.0 if truth >= 0 else -1 / truth
        size = np.linalg.norm(self.slopes)

        def excess(intercept: float) -> float:
            return float(self._link(intercept + size * TYPICAL, TYPICAL).mean() - rate)

        self.intercept = float(brentq(excess, low, high))

    def _link(self, score: Array, first: Array) -> Array:
        if isinstance(self.truth, str):
            bend = 0.5 * (first**2 - 1.0) if self.truth == "curved" else 0.0
            return np.asarray(expit(score + bend))
        return GEV(self.truth).inverse(score)

    def prob(self, X: Array) -> Array:
        """Return the true probability of rows."""
        return self._link(self.intercept + X @ self.slopes, X[:, 0])


def measure_table(world: World, X: Array, y: Array, points: Array) -> dict[str, float]:
    """Return what held in one table; nan where there was no interval."""
    out: dict[str, float] = {}
    true = world.prob(points)
    given: dict[str, dict[str, Any]] = {"gev-log": {"shape": 0.0}, "logistic": {}}
    models: dict[str, Any] = {"fit": RareClassifier("gev-log", shape="fit", ridge=0)}
    models |= {
        name: RareClassifier(name, ridge=0, keep_rows=False, **more) for name, more in given.items()
    }
    for name, model in models.items():
        out[f"{name}: prob"] = out[f"{name}: slope"] = np.nan
        model.fit(X, y)
        try:
            ends = model.predict_interval(points, method="wald")
        except ScarceError:
            continue
        out[f"{name}: prob"] = float(np.mean((ends[:, 0] <= true) & (true <= ends[:, 1])))
        slope = model.coef_interval(method="wald")
        out[f"{name}: slope"] = float(slope.low[0] <= world.slopes[0] <= slope.high[0])
    shape = models["fit"].shape_
    out |= {"shape": shape, "no error": float(models["fit"].covariance_ is None)}
    out["weak"] = float(any(one.code == "weak-shape" for one in models["fit"].report_.warnings))
    if isinstance(world.truth, str):
        found = RareClassifier("gev-log").shape_interval(X, y, simulations=0)
        out["rules out none"] = float(np.isnan(found.value))
        out["says 0"] = float(found.low <= 0 <= found.high)
        return out
    rows, stats, problem = RareClassifier("gev-log", shape="fit", ridge=0, tol=1e-8)._pose(
        X, y, None
    )
    joint, _, near = pose(rows, stats, 0.0, problem)
    start = joint.start(world.truth, near)
    _, sums, *_ = joint.minimise(start, free=False, tol=1e-8)
    ratio = 2.0 * (sums.value - models["fit"].report_.objective)
    out["plain"] = out["calibrated"] = float(ratio <= QUANTILE)
    if not out["plain"]:
        factor = Calibration(Profile(joint, near), 50, 0)(world.truth)
        out["calibrated"] = float(ratio <= QUANTILE * factor)
    return out


def run(world: World, rate: float, events: int, tables: int) -> dict[str, Any]:
    """Return the mean of each measure over tables, with the share of tables refused."""
    n = round(events / rate)
    rng = np.random.default_rng([events, world.columns, round(1000 * rate)])
    direction = world.slopes / np.linalg.norm(world.slopes)
    points = np.array([0.0, 1.0, 2.0])[:, None] * direction
    found, refused = [], 0
    for _ in range(tables):
        X = rng.normal(size=(n, world.columns))
        y = (rng.random(n) < world.prob(X)).astype(np.float64)
        try:
            found.append(measure_table(world, X, y, points))
        except ScarceError:
            refused += 1
    mean = {key: float(np.nanmean([one[key] for one in found])) for key in found[0]}
    mean["shape"] = float(np.median([one["shape"] for one in found]))
    return mean | {"refused": refused / tables}


def measure(tables: int) -> str:
    """Return two tables of coverage."""
    began = time.process_time()
    known = [
        "| base rate | columns | events | shape | plain | calibrated | median shape | weak | "
        "no errors | refused | prob: fit | shape 0 | logistic | slope: fit | shape 0 |",
        "|" + "---|" * 15,
    ]
    broken = [
        "| truth | base rate | columns | events | median shape | interval holds 0 | "
        "rules out none | prob: fit | shape 0 | logistic |",
        "|" + "---|" * 10,
    ]
    cells = ["fit: prob", "gev-log: prob", "logistic: prob"]
    spans: dict[str, list[float]] = {"plain": [], "calibrated": []}
    for rate, columns, events, shapes in SETTINGS:
        for truth in shapes:
            got = run(World(truth, rate, columns), rate, events, tables)
            for name, span in spans.items():
                span.append(got[name])
            some = [
                "plain", "calibrated", "shape", "weak", "no error", "refused", *cells,
                "fit: slope", "gev-log: slope",
            ]  # fmt: skip
            shown = " | ".join(f"{got[one]:.2f}" for one in some)
            known.append(f"| {rate:g} | {columns} | {events} | {truth:g} | {shown} |")
            print(known[-1], round(time.process_time() - began), flush=True)
    for name in BROKEN:
        for rate, columns, events in ((0.3, 2, 150), (0.05, 2, 60)):
            got = run(World(name, rate, columns), rate, events, tables // 2)
            shown = " | ".join(
                f"{got[one]:.2f}" for one in ["shape", "says 0", "rules out none", *cells]
            )
            broken.append(f"| {name} | {rate:g} | {columns} | {events} | {shown} |")
            print(broken[-1], round(time.process_time() - began), flush=True)
    error = np.sqrt(0.09 / tables)
    ranges = ", ".join(f"{one} {min(span):.2f} to {max(span):.2f}" for one, span in spans.items())
    return "\n".join(
        [
            "# Coverage of 90 % intervals for the shape of a GEV link",
            "",
            f"{tables} tables for each row, made by `python -m experiments.intervals.shape` in "
            f"{(time.process_time() - began) / 60:.0f} minutes of one core.",
            f"Standard error of a coverage of .9: {error:.3f}; of one of .5: "
            f"{np.sqrt(0.25 / tables):.3f}. plain, calibrated: intervals of the shape. weak: share",
            "of fits that warn; no errors: shape at an end of its range, no intervals given. prob:",
            "intervals of three probabilities; slope: of the first one, where the fit has some.",
            "",
            *known,
            "",
            f"Intervals of the shape hold it in: {ranges}.",
            "",
            f"## Worlds without a GEV link ({tables // 2} tables, plain intervals)",
            "",
            *broken,
            "",
        ]
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    Path(__file__).with_suffix(".md").write_text(measure(wanted), encoding="utf-8")
