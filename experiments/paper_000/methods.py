"""The methods of 000 section 3, each as log-odds at survey sites for any default prevalence.

    entropy weighting   logit p = logit(default) + tilt(x)                          (eq 8, eq 5)
    default weighting   logit p = logit(default) + log density ratio(x)             (p(y) = default)
    oracle weighting    logit p = logit(share in the survey) + log density ratio(x)
    log density ratio   = tilt(x) + divergence, for p(x | presence) over the pool

One fit of maxent gives all three; class-robust regression is fitted anew at each default. Trees
learn presences against the whole pool at equal total weights and are moved by Elkan's formula. What
is tuned is tuned on presences and pool: maxent's width in folds of map blocks and, as another
setting, in folds of places; the number of trees in folds of places, as is the custom with them.
Sees no survey outcome.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from threadpoolctl import threadpool_limits

import scarce
from experiments.paper_000.species import Array, Case, random_folds, spatial_folds, splits

SEED = 1000
MAIN = 0.5  # Maxent's own penalty for hinge features, which the paper's package has
WIDTHS = (0.5, 1.0)  # fixed before any survey was looked at
CANDIDATES = (0.25, 0.5, 1.0, 2.0, 4.0)  # for the tuned settings
BLOCKS, PLACES = "blocks", "places"  # what a fold of presences is made of
LEARNING_RATE, MOST_TREES, LEAVES = 0.1, 200, 6  # settled on quick runs: see the page


class Density(NamedTuple):
    """What one maxent fit says of survey sites, and how it was reached."""

    tilt: Array
    divergence: float
    width_scale: float
    gap: float
    gains: list[float]  # of CANDIDATES on held-out presences, where they were compared


def maxent(case: Case, width_scale: float | str) -> Density:
    """Fit maxent with hinge features on the presences and the pool.

    Parameters
    ----------
    case : Case
    width_scale : float, "blocks" or "places"
        A word chooses among CANDIDATES by held-out presences, in folds of map blocks or of places.
    """
    more: dict[str, Any] = {"width_scale": width_scale}
    if isinstance(width_scale, str):
        spatial = width_scale == BLOCKS
        fold = spatial_folds(case.xy, case.y) if spatial else random_folds(case.y, SEED)
        more = {"width_scale": "auto", "width_scales": CANDIDATES, "cv": splits(fold, case.y)}
    model = model_of(case, "entropy", 0.5, **more)
    model.fit(case.X, case.y)
    return Density(
        tilt=model.decision_function(case.survey),  # log-odds at default a half: the tilt
        divergence=float(model.divergence_[-1]),
        width_scale=float(model.width_scale_),
        gap=float(model.report_.gap),
        gains=_gains(model.selection_) if isinstance(width_scale, str) else [],
    )


def _gains(selection: Any) -> list[float]:
    """Return the mean held-out gain of each candidate, in nats per presence."""
    mean = dict(zip(selection.widths, selection.mean, strict=True))
    return [float(mean[width]) for width in CANDIDATES]


class Robust(NamedTuple):
    """What one class-robust fit says of survey sites, its share of presences, and its gap."""

    score: Array
    share: float
    gap: float


def robust(case: Case, width_scale: float, default: float) -> Robust:
    """Fit class-robust logistic regression at one default prevalence."""
    model = model_of(case, "robust", default, width_scale=width_scale).fit(case.X, case.y)
    return Robust(
        score=model.decision_function(case.survey),
        share=float(model.class_prior_[-1]),
        gap=float(model.report_.gap),
    )


def model_of(case: Case, objective: str, default: float, **more: Any) -> Any:
    """Return the classifier of this experiment, not fitted yet."""
    return scarce.MaxentClassifier(
        objective,
        default_prevalence=default,
        features="h",
        knots_at="uniform",
        spread="labelled",
        categorical=case.categorical,
        random_state=SEED,
        **more,
    )


def entropy_share(default: Array, divergence: float) -> Array:
    """Return the entropy-weighted class share for each default prevalence (eq 5).

    Examples
    --------
    >>> entropy_share(np.array([0.5]), np.log(3.0)).round(4)
    array([0.25])
    """
    present = default * np.exp(-divergence)
    return np.asarray(present / (present + 1 - default))


class Trees(NamedTuple):
    """Probabilities of boosted trees at equal class weights, and how many trees."""

    prob: Array
    n_trees: int


def trees(case: Case) -> Trees:
    """Fit boosted trees, presences against the whole pool, their number by held-out log loss."""
    folds = splits(random_folds(case.y, SEED), case.y)
    with threadpool_limits(1):  # two workers share two cores
        held = np.mean([_held_out(case, train, test) for train, test in folds], axis=0)
        n_trees = int(np.argmin(held)) + 1
        model = _boosted(case, np.arange(len(case.y)), n_trees)
        return Trees(model.predict_proba(case.survey)[:, 1], n_trees)


def _stacked(case: Case, rows: Any) -> tuple[Array, Array, Array]:
    """Return presences (weight 1 each) above all pool rows, which weigh as much together."""
    X, present = case.X[rows], case.X[rows][case.y[rows] == 1]
    y = np.repeat([1.0, 0.0], [len(present), len(X)])
    weight = np.repeat([1.0, len(present) / len(X)], [len(present), len(X)])
    return np.vstack([present, X]), y, weight


def _boosted(case: Case, rows: Any, n_trees: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        learning_rate=LEARNING_RATE,
        max_iter=n_trees,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=10,
        l2_regularization=1.0,
        categorical_features=case.categorical or None,
        early_stopping=False,
        random_state=SEED,
    )
    X, y, weight = _stacked(case, rows)
    return model.fit(X, y, sample_weight=weight)


def _held_out(case: Case, train: Any, test: Any) -> Array:
    """Return the balanced log loss of held-out rows after each tree."""
    X, y, weight = _stacked(case, test)
    staged = _boosted(case, train, MOST_TREES).staged_predict_proba(X)
    return np.array([weight @ row_losses(y, logit(prob[:, 1])) / weight.sum() for prob in staged])


def row_losses(y: Array, score: Array) -> Array:
    """Return the log loss of each row from log-odds.

    Examples
    --------
    >>> row_losses(np.array([1.0, 0.0]), np.array([800.0, 800.0]))
    array([  0., 800.])
    """
    return np.asarray(np.logaddexp(0.0, score) - y * score)
