"""One part of the work: a species, a reading of its target group, a family of methods, its scores.

    AUC       share of (presence site, absence site) pairs in order, ties one half
    log loss  mean of log(1 + exp(score)) - found * score over survey sites, score = log-odds

Each part can be done again alone. Chooses nothing and averages nothing over species.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.metrics import roc_auc_score

from experiments.paper_000 import methods
from experiments.paper_000.methods import BLOCKS, CANDIDATES, MAIN, PLACES, WIDTHS
from experiments.paper_000.species import Array, Case, case_of, listed, quick_species
from scarce import correct_prior

SEED = methods.SEED
DEFAULTS = (
    0.001, 0.002, 0.004, 0.007, 0.01, 0.02, 0.03, 0.05, 0.08, 0.11, 0.15, 0.2, 0.25, 0.3, 0.36,
    0.42, 0.5, 0.6, 0.7, 0.8,
)  # beyond the paper's panels on both sides, so that no peak is cut off  # fmt: skip
PARTS = ("maxent", "tuned", "robust", "trees")
POOLED_PARTS = ("maxent", "tuned")
EFFORT = {"maxent": 2.0, "tuned": 3.0, "robust": 12.0, "trees": 6.0}
TUNED = {BLOCKS: "maxent tuned by blocks", PLACES: "maxent tuned by places"}
TREES = "trees"


def maxent_at(width: float) -> str:
    """Return the name of maxent at a fixed width.

    Examples
    --------
    >>> maxent_at(0.5), robust_at(1.0)
    ('maxent 0.5', 'robust 1')
    """
    return f"maxent {width:g}"


def robust_at(width: float) -> str:
    """Return the name of class-robust regression at a fixed width."""
    return f"robust {width:g}"


class Job(NamedTuple):
    """What to do: a part for one species, with NSW's groups as shipped or pooled."""

    species: str
    pooled: bool
    part: str

    @property
    def cost(self) -> float:
        """Rough CPU time relative to other jobs, for the order and the progress bar."""
        entry = listed()[self.species]
        return EFFORT[self.part] * (300.0 + 3 * entry.n_presence + 0.05 * entry.n_test)


def every_job() -> list[Job]:
    """Return all jobs of a full run, long ones first."""
    todo = [Job(name, False, part) for name in listed() for part in PARTS]
    todo += [
        Job(name, True, part)
        for name, entry in listed().items()
        if entry.region == "NSW"
        for part in POOLED_PARTS
    ]
    return sorted(todo, key=lambda job: -job.cost)


def quick_jobs() -> list[Job]:
    """Return every part for a handful of species."""
    names = quick_species()
    todo = [Job(name, False, part) for name in names for part in PARTS]
    return todo + [Job(n, True, p) for n in names if n.startswith("nsw") for p in POOLED_PARTS]


def do(job: Job) -> dict[str, Any]:
    """Do one job and return its record: the job's fields, CPU seconds, and scores by method."""
    case = case_of(job.species, job.pooled)
    begin = time.process_time()
    found = {
        "maxent": lambda: {maxent_at(w): maxent_scores(case, w) for w in CANDIDATES},
        "tuned": lambda: {name: maxent_scores(case, by) for by, name in TUNED.items()},
        "robust": lambda: {robust_at(w): robust_scores(case, w) for w in WIDTHS},
        "trees": lambda: {TREES: tree_scores(case)},
    }[job.part]()
    return job._asdict() | {"seconds": plain(time.process_time() - begin), "methods": found}


def maxent_scores(case: Case, width: float | str) -> dict[str, Any]:
    """Score one density under the three weightings."""
    fit = methods.maxent(case, width)
    ratio = fit.tilt + fit.divergence
    share = np.array([case.found.mean()])
    return {
        "auc": plain(auc(case.found, fit.tilt)),
        "entropy": losses(case.found, fit.tilt, DEFAULTS),
        "default": losses(case.found, ratio, DEFAULTS),
        "oracle": losses(case.found, ratio, share)[0],
        "divergence": plain(fit.divergence),
        "width": fit.width_scale,
        "gap": plain(fit.gap),
        "gains": [plain(gain) for gain in fit.gains],
    }


def robust_scores(case: Case, width: float) -> dict[str, Any]:
    """Score class-robust regression, one fit for each default prevalence."""
    fits = [methods.robust(case, width, default) for default in DEFAULTS]
    known = [fit.gap for fit in fits if np.isfinite(fit.gap)]
    return {
        "auc": [plain(auc(case.found, fit.score)) for fit in fits],
        "robust": [plain(methods.row_losses(case.found, fit.score).mean()) for fit in fits],
        "share": [plain(fit.share) for fit in fits],
        "gap": plain(max(known, default=0.0)),
        "without_gap": len(fits) - len(known),  # the solver proved no distance to the optimum
    }


def tree_scores(case: Case) -> dict[str, Any]:
    """Score boosted trees, moved by Elkan's formula to the default and to maxent's class share."""
    fit = methods.trees(case)
    divergence = methods.maxent(case, MAIN).divergence
    shares = methods.entropy_share(np.array(DEFAULTS), divergence)

    def moved(now_at: float) -> float:
        return plain(
            methods.row_losses(case.found, logit(correct_prior(fit.prob, 0.5, now_at))).mean()
        )

    return {
        "auc": plain(auc(case.found, fit.prob)),
        "entropy": [moved(share) for share in shares],
        "default": [moved(default) for default in DEFAULTS],
        "oracle": moved(float(case.found.mean())),
        "trees": fit.n_trees,
    }


def auc(found: Array, score: Array) -> float:
    """Return the area under the ROC curve."""
    return float(roc_auc_score(found, score))


def losses(found: Array, score: Array, defaults: Any) -> list[float]:
    """Return the log loss of log-odds moved to each default prevalence.

    Examples
    --------
    >>> losses(np.array([1.0, 0.0]), np.zeros(2), (0.5, 0.1))
    [0.69315, 1.204]
    """
    return [plain(methods.row_losses(found, score + logit(d)).mean()) for d in defaults]


def plain(value: Any) -> float:
    """Return a number with five digits.

    Examples
    --------
    >>> plain(np.float64(0.12345678))
    0.12346
    """
    return float(f"{value:.5g}")
