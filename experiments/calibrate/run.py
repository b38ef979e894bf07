"""Does calibration help with 6, 12, 25 or 100 events, and does it harm a model that needs none?

    logit p = b + 1.3 x1 - .7 x2 + .6 [x3 > .5] + .4 x4 x5, b for 3 % events; eight columns, of
    which three repeat x1, x2, x3 with noise

Log loss under the true probabilities of 10,000 new rows, over that of the classifier as it is, the
mean of the ratio over repeats; of the support vector machine, which gives no probabilities, over
that of scikit-learn's sigmoid. `Calibrated` with its defaults, and scikit-learn's
CalibratedClassifierCV (sigmoid, isotonic, temperature) on the same five stratified folds or as
many as there are events. Probabilities beyond 1e-6 are taken as 1e-6 for all sides: isotonic and
uncalibrated forests say 0, and their log loss would be infinite. Last, the band and the p-value of
`reliability_curve` where the true probabilities are given, and where half of them are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from experiments.frame import Comparison, Progress, Results, over_repeats, write_results
from experiments.resume import Record, Work
from scarce import Calibrated, reliability_curve

Array = NDArray[np.float64]

TITLE = "Calibration with few events: Calibrated against none and scikit-learn's"
SEED = 4117
LONG = True
EVENTS = (6, 12, 25, 100)
SHARE = 0.03
REPEATS, QUICK = 20, 2
NEW_ROWS = 10_000
LEAST = 1e-6
METHODS = ("sigmoid", "isotonic", "temperature")
FOLDS = 5
CURVES = {12: 200, 100: 200}  # worlds of each number of events
MODELS: dict[str, Callable[[], Any]] = {
    "naive Bayes": GaussianNB,
    "balanced logit": lambda: LogisticRegression(class_weight="balanced"),
    "logit": LogisticRegression,
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "support vectors": LinearSVC,
}


def draw(rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw features, and log-odds without their intercept."""
    Z = rng.normal(size=(rows, 5))
    X = np.column_stack([Z, Z[:, :3] + 0.5 * rng.normal(size=(rows, 3))])
    score = 1.3 * Z[:, 0] - 0.7 * Z[:, 1] + 0.6 * (Z[:, 2] > 0.5) + 0.4 * Z[:, 3] * Z[:, 4]
    return X, score


def losses(events: int, repeat: int) -> dict[str, dict[str, float]]:
    """Return the log loss of each classifier under each calibration, in one simulated world."""
    rng = np.random.default_rng([SEED, events, repeat])
    _, whole = draw(50_000, rng)
    shift = float(brentq(lambda b: expit(whole + b).mean() - SHARE, -15, 5))
    rows, happened = round(events / SHARE), 0
    while happened < FOLDS:
        X, score = draw(rows, rng)
        y = (rng.random(rows) < expit(score + shift)).astype(int)
        happened = int(y.sum())
    new, score = draw(NEW_ROWS, rng)
    truth = expit(score + shift)

    def loss(prob: Array) -> float:
        p = np.clip(prob[:, 1], LEAST, 1 - LEAST)
        return float(-np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p)))

    found: dict[str, dict[str, float]] = {}
    for name, make in MODELS.items():
        line = found[name] = {}
        if hasattr(make(), "predict_proba"):
            line["none"] = loss(make().fit(X, y).predict_proba(new))
        model = Calibrated(make()).fit(X, y)
        line["Calibrated"] = loss(model.predict_proba(new))
        line["changed"] = float(model.chosen_ != "none")
        for method in METHODS:
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rival = CalibratedClassifierCV(clone(make()), method=method, cv=folds).fit(X, y)
            line[method] = loss(rival.predict_proba(new))
    return found


class Job(NamedTuple):
    """One simulated world: of classifiers to calibrate, or of a curve."""

    kind: str
    events: int
    repeat: int

    @property
    def cost(self) -> float:
        """Rough CPU seconds."""
        return 10 + self.events / 2 if self.kind == "classifiers" else 1 + self.events / 100


def do(job: Job) -> Record:
    """Return the figures of one world."""
    figures: dict[str, Any] = losses(job.events, job.repeat)
    if job.kind == "curve":
        figures = curve(job.events, job.repeat)
    return {**job._asdict(), "figures": figures}


WORK = Work(("prior/*", "evaluation/corp.py"), (Path(__file__),), do, Job)


def jobs(quick: bool) -> list[Job]:
    """Return all worlds, or those that take seconds."""
    if quick:
        worlds = [Job("classifiers", EVENTS[0], repeat) for repeat in range(QUICK)]
        return worlds + [Job("curve", 12, world) for world in range(QUICK)]
    worlds = [Job("classifiers", events, k) for events in EVENTS for k in range(REPEATS)]
    return worlds + [Job("curve", n, world) for n, many in CURVES.items() for world in range(many)]


def run(quick: bool, progress: Progress, work: Path) -> list[Comparison]:
    """Simulate, and return the table."""
    todo = jobs(quick)
    progress(f"{len(todo)} worlds")
    return comparisons(WORK.do_all(todo, None if quick else WORK.work_file(work)))


def comparisons(records: list[Record]) -> list[Comparison]:
    """Return the rows of the table."""
    cells: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records:
        cells.setdefault((record["kind"], record["events"]), []).append(record["figures"])
    table = []
    for (kind, events), found in cells.items():
        if kind == "curve":
            table += curve_lines(events, found)
        else:
            table += [line for name in MODELS for line in lines(events, name, found)]
    return table


def write(results: Results, folder: Path, work: Path) -> None:
    """Write the table."""
    write_results(results, folder)


def curve(events: int, world: int) -> dict[str, float]:
    """Return whether the band and the p-value of a curve are right in one world."""
    rng = np.random.default_rng([SEED, 1, events, world])
    _, score = draw(round(events / SHARE), rng)
    shift = float(brentq(lambda b: expit(score + b).mean() - SHARE, -15, 5))
    prob = expit(score + shift)
    y = rng.random(len(prob)) < prob
    right = reliability_curve(y, prob, resamples=300)
    half = reliability_curve(y, prob / 2, resamples=300)
    inside = (right.observed >= right.low - 1e-12) & (right.observed <= right.high + 1e-12)
    return {
        "held": float(inside.mean()),
        "alarm": float(right.log_loss.p_value <= 0.1),
        "seen": float(half.log_loss.p_value <= 0.1),
    }


def curve_lines(events: int, found: list[dict[str, float]]) -> list[Comparison]:
    """Return how often the band and the p-value of a curve are right."""
    words = {
        "held": ("the 90 % band holds the curve of right probabilities", ".9 is right."),
        "alarm": ("p <= .1 for right probabilities", ".1 is right."),
        "seen": ("p <= .1 for half of the right ones", "1 would be best."),
    }
    return [
        over_repeats(f"{events} events, curve: {said}", None, [one[name] for one in found], why)
        for name, (said, why) in words.items()
    ]


def lines(events: int, name: str, found: list[dict[str, dict[str, float]]]) -> list[Comparison]:
    """Return the rows of one classifier at one number of events."""
    base = "none" if "none" in found[0][name] else "sigmoid"
    changed = np.mean([one[name]["changed"] for one in found])
    rows = []
    for way in ("Calibrated", *METHODS):
        if way == base:
            continue
        ratio = [one[name][way] / one[name][base] for one in found]
        why = "Below 1 is better."
        if way == "Calibrated":
            why += f" Calibrated in {100 * changed:.0f} % of the worlds."
        what = f"{events} events, {name}: {way} / {'as it is' if base == 'none' else base}"
        rows.append(over_repeats(what, None, ratio, why))
    return rows
