"""The synthetic designs of the papers' own experiments; what the text leaves open is an argument.

001 section 4.1    make_sine, make_step  (its Appendix A is lost: the designs are a reading)
002 section 6.1    make_trial_scores
002 Figure 2       make_convergence_scores
The Gibbs data of 004 are in gibbs.py. Assumes what each docstring says. Runs no experiment and
holds no result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from scarce.checks import Number, read_integer, read_number
from scarce.datasets.hide import SHARE, RandomState, generator, hide_labels, vector
from scarce.datasets.records import RareSample, ScoreSample
from scarce.datasets.score_truth import PROPER_SHARE
from scarce.datasets.simulate import make_scores
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError, refuse_word

POSITIVE_SHARES: tuple[float, ...] = tuple(float(b) for b in np.geomspace(0.5, 0.005, 11))
"""002 section 6.1: balances from 0.5 to 0.005; eleven steps, so that one of them is about 0.008."""

LABELLED_SHARES: tuple[float, ...] = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
"""002 section 6.1: labelling rates."""


def make_sine(
    n: int,
    *,
    divisor: float = 64.0,
    n_features: int = 100,
    direction: ArrayLike | None = None,
    random_state: RandomState,
) -> RareSample:
    """Draw a smooth rare class: ``prob = (1 + sin z) / divisor`` with ``z = direction . x``.

    Parameters
    ----------
    n : int
        Number of rows.
    divisor : float
        At least 2. The paper's first two sets are 64 and 32: prevalence 1/64 and 1/32.
    n_features : int
        Number of independent standard normal features.
    direction : array of shape (n_features,), optional
        Scaled to length one. By default the same weight on every feature, which makes training and
        test sets agree.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    RareSample
        `coef` is the direction, `intercept` 0 and `prevalence` exactly ``1 / divisor``.

    Notes
    -----
    **Assumes** a reading of the paper: the appendix with the designs is missing. This one gives
    prevalence .0156 and .0312 where the paper prints .0158 and .0312.

    References
    ----------
    Paper 001, section 4.1.

    Examples
    --------
    >>> sample = make_sine(100, divisor=32, random_state=0)
    >>> sample.X.shape, sample.prevalence
    ((100, 100), 0.03125)
    """
    read_number(divisor, "divisor", Number(2))  # below 2, prob would exceed 1
    weights = _unit(direction, n_features)
    rng = generator(random_state)
    X = rng.normal(size=(read_integer(n, "n"), n_features))
    prob = (1.0 + np.sin(X @ weights)) / divisor
    return _labelled(X, prob, weights, 1.0 / divisor, "sine", rng)


def make_step(
    n: int,
    *,
    low: float = 0.05,
    high: float = 0.5,
    high_share: float = 0.1,
    n_features: int = 100,
    direction: ArrayLike | None = None,
    random_state: RandomState,
) -> RareSample:
    """Draw an abrupt rare class: ``prob = high`` on the top `high_share` of z, else `low`.

    Parameters
    ----------
    n : int
        Number of rows.
    low, high : float
        The two probabilities, from 0 to 1.
    high_share : float
        Share of the population where `high` holds.
    n_features, direction
        As in `make_sine`.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    RareSample
        `prevalence` is exactly ``low + high_share * (high - low)``, .095 by default.

    Notes
    -----
    **Assumes** a reading of the paper: other steps give its prevalence of .095 too, for example
    ``low=0, high=0.1, high_share=0.95``.

    References
    ----------
    Paper 001, section 4.1.

    Examples
    --------
    >>> sample = make_step(100, random_state=0)
    >>> round(sample.prevalence, 3), sorted(set(sample.prob.tolist()))
    (0.095, [0.05, 0.5])
    """
    read_number(low, "low", SHARE)
    read_number(high, "high", SHARE)
    read_number(high_share, "high_share", PROPER_SHARE)
    weights = _unit(direction, n_features)
    rng = generator(random_state)
    X = rng.normal(size=(read_integer(n, "n"), n_features))
    prob = np.where(X @ weights > -special.ndtri(high_share), float(high), float(low))
    return _labelled(X, prob, weights, low + high_share * (high - low), "step", rng)


def make_trial_scores(
    n: int = 5000,
    *,
    background: str = "normal",
    positive_share: float = 0.008,
    labelled_share: float = 1 / 32,
    labels: str = "tail",
    random_state: RandomState,
) -> ScoreSample:
    """Draw one trial of 002's Monte Carlo study: scores, some of them labelled.

    Parameters
    ----------
    n : int
        Number of scores.
    background : {"normal", "lognormal", "gamma"}
        Family of the negatives, mean 6.56 and variance 1. The paper simulates the first two.
    positive_share : float
        Probability of a positive; `POSITIVE_SHARES` holds the paper's range.
    labelled_share : float
        Share of labelled scores; `LABELLED_SHARES` holds the paper's range.
    labels : {"tail", "random"}
        Which scores are labelled: the highest, or a random sample.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ScoreSample
        `y` holds the labels of the labelled scores.

    Notes
    -----
    **Assumes** a foreground of mean 8.44 and variance 1: section 6.1 does not give it, and this is
    the distance of 1.88 standard deviations of the paper's Figures 1 and 2.

    References
    ----------
    Paper 002, section 6.1; labelling methods in section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> sample = make_trial_scores(random_state=0)
    >>> int((~np.isnan(sample.y)).sum())
    156
    """
    refuse_word("labels", labels, ("tail", "random"))
    rng = generator(random_state)
    sample = make_scores(n, positive_share=positive_share, background=background, random_state=rng)
    return _show(sample, labels, labelled_share, rng)


def make_convergence_scores(
    n: int = 10_000,
    *,
    positive_share: float = 0.3,
    labelled_share: float = 0.05,
    random_state: RandomState,
) -> ScoreSample:
    """Draw one trial of 002's Figure 2: unit normals at 2 and 3.88, the highest scores labelled.

    Parameters
    ----------
    n : int
        Number of scores.
    positive_share : float
        Probability of a positive: 0.3 or 0.01 in the figure.
    labelled_share : float
        Share of scores that are labelled, the highest first.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ScoreSample
        `y` holds the labels of the labelled scores.

    Notes
    -----
    **Assumes** nothing beyond the figure's caption and text.

    References
    ----------
    Paper 002, section 5, Figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> sample = make_convergence_scores(random_state=0)
    >>> int((~np.isnan(sample.y)).sum()), sample.truth.foreground_mean
    (500, 3.88)
    """
    rng = generator(random_state)
    sample = make_scores(
        n,
        positive_share=positive_share,
        background_mean=2.0,
        foreground_mean=3.88,
        random_state=rng,
    )
    return _show(sample, "tail", labelled_share, rng)


def _unit(direction: ArrayLike | None, n_features: int) -> Array:
    read_integer(n_features, "n_features")
    if direction is None:
        return np.full(n_features, 1.0 / np.sqrt(n_features))
    values = vector("direction", direction, n=n_features)
    length = float(np.linalg.norm(values))
    if not np.isfinite(length) or length == 0.0:
        raise UsageError(
            "{argument} must be a finite vector other than 0, got length {length:g}.",
            code="number-range",
            argument=Argument("direction"),
            length=length,
        )
    return values / length


def _labelled(
    X: Array, prob: Array, weights: Array, prevalence: float, design: str, rng: np.random.Generator
) -> RareSample:
    y = (rng.random(X.shape[0]) < prob).astype(np.float64)
    return RareSample(X, y, prob, weights, 0.0, float(prevalence), design)


def _show(
    sample: ScoreSample, how: str, labelled_share: float, rng: np.random.Generator
) -> ScoreSample:
    shown = hide_labels(
        sample.y_true, how=how, share=labelled_share, scores=sample.scores, random_state=rng
    )
    return ScoreSample(sample.scores, shown.y, sample.y_true, shown.inclusion, sample.truth)
