"""Data with known truth: rare classes, presences revealed at some rate, scores of a detector.

rare       prob = inverse(intercept + X @ coef), X ~ N(0, R), E[prob] = prevalence
presence   the same, and a label of class y is revealed at rate r_y               (000 section 1)
scores     s ~ (1 - b) p0 + b p1, one draw per row                                (002 eq 1)
Assumes nothing: these are the populations that the assumptions of the estimators describe. The
designs of the papers' own experiments are in papers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from scarce.checks import Number, read_integer, read_number
from scarce.datasets.hide import FINITE, SHARE, RandomState, generator, hide_labels, vector
from scarce.datasets.records import PresenceSample, RareSample, ScoreSample
from scarce.datasets.score_truth import POSITIVE, PROPER_SHARE, ScoreTruth
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError, refuse_word


def _cloglog_inverse(score: Array) -> Array:
    return -np.expm1(-np.exp(np.minimum(score, 709.0)))


INVERSE_LINKS: dict[str, Callable[[Array], Array]] = {
    "logistic": special.expit,
    "probit": special.ndtr,
    "cloglog": _cloglog_inverse,
}


def make_rare(
    n: int,
    *,
    n_features: int = 5,
    prevalence: float = 0.02,
    coef: ArrayLike | None = None,
    signal: float = 1.0,
    correlation: float = 0.0,
    link: str = "logistic",
    random_state: RandomState,
) -> RareSample:
    """Draw rows of a rare class whose true probabilities are known.

    Parameters
    ----------
    n : int
        Number of rows.
    n_features : int
        Number of features; each is standard normal.
    prevalence : float
        Expected share of positives, strictly between 0 and 1.
    coef : array of shape (n_features,), optional
        True coefficients. By default a random direction, scaled to `signal`. To draw a test set of
        the same population, pass the `coef` of the first sample.
    signal : float
        Standard deviation of ``X @ coef`` over the population, when `coef` is not given.
    correlation : float
        Correlation of every pair of features, from 0 to just below 1.
    link : {"logistic", "probit", "cloglog"}
        How a score becomes a probability.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    RareSample
        `X`, `y`, true `prob`, `coef`, `intercept`, `prevalence` and `link`.

    Notes
    -----
    **Assumes** labels are independent given the features. The intercept is solved for the
    population, not for the rows drawn: the score is normal there, so the expected probability is
    an integral over one variable. The share of positives in a sample varies around it.

    Examples
    --------
    >>> sample = make_rare(2000, prevalence=0.05, random_state=0)
    >>> sample.X.shape, round(sample.intercept, 4)
    ((2000, 5), -3.3715)
    >>> 60 < int(sample.y.sum()) < 140
    True
    """
    read_integer(n, "n")
    read_integer(n_features, "n_features")
    read_number(prevalence, "prevalence", PROPER_SHARE)
    refuse_word("link", link, list(INVERSE_LINKS))
    rng = generator(random_state)
    read_number(correlation, "correlation", Number(0, 1, open_high=True))
    if coef is None:
        read_number(signal, "signal", POSITIVE)
        direction = rng.normal(size=n_features)
        weights = direction * (signal / _score_sd(direction, correlation))
    else:
        weights = vector("coef", coef, n=n_features)
    inverse = INVERSE_LINKS[link]
    intercept = _intercept_for(inverse, prevalence, _score_sd(weights, correlation))
    common = rng.normal(size=(n, 1))
    X = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * rng.normal(
        size=(n, n_features)
    )
    prob = np.asarray(inverse(intercept + X @ weights))
    y = (rng.random(n) < prob).astype(np.float64)
    return RareSample(X, y, prob, weights, intercept, float(prevalence), link)


def make_presence_only(
    n: int,
    *,
    n_features: int = 5,
    prevalence: float = 0.2,
    reveal_rate: float = 0.3,
    coef: ArrayLike | None = None,
    signal: float = 1.0,
    correlation: float = 0.0,
    link: str = "logistic",
    random_state: RandomState,
) -> PresenceSample:
    """Draw rows of which only some presences are revealed, and nothing else.

    Parameters
    ----------
    n : int
        Number of rows.
    n_features, prevalence, coef, signal, correlation, link
        As in `make_rare`.
    reveal_rate : float
        Probability that a presence is revealed, from 0 to 1. An analyst does not know it.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    PresenceSample
        `y` holds only 1.0 (revealed presence) and NaN; `y_true` and `prob` are separate.

    Notes
    -----
    **Assumes** that whether a presence is revealed does not depend on its features: revealed
    presences are a fair sample of presences.

    Examples
    --------
    >>> import numpy as np
    >>> sample = make_presence_only(1000, random_state=0)
    >>> np.unique(sample.y[~np.isnan(sample.y)]), np.unique(sample.y_true)
    (array([1.]), array([0., 1.]))
    """
    read_number(reveal_rate, "reveal_rate", SHARE)
    rng = generator(random_state)
    rare = make_rare(
        n,
        n_features=n_features,
        prevalence=prevalence,
        coef=coef,
        signal=signal,
        correlation=correlation,
        link=link,
        random_state=rng,
    )
    shown = hide_labels(rare.y, how="class", rates={0: 0.0, 1: reveal_rate}, random_state=rng)
    return PresenceSample(
        X=rare.X,
        y=shown.y,
        y_true=rare.y,
        prob=rare.prob,
        inclusion=shown.inclusion,
        class_share=np.array([1.0 - prevalence, prevalence]),
        reveal_rate=np.array([0.0, reveal_rate]),
    )


def make_revealed_classes(
    n: int,
    *,
    class_share: Sequence[float] = (0.5, 0.3, 0.2),
    reveal_rate: Sequence[float] = (0.0, 0.5, 0.05),
    n_features: int = 5,
    separation: float = 1.5,
    random_state: RandomState,
) -> PresenceSample:
    """Draw rows of several classes, each revealed at its own rate.

    Parameters
    ----------
    n : int
        Number of rows.
    class_share : sequence of float
        Expected share of every class; they sum to one. The classes are 0.0, 1.0, 2.0 and so on.
    reveal_rate : sequence of float
        Probability that a label of each class is revealed.
    n_features : int
        Number of features.
    separation : float
        Length of every class's mean vector, in standard deviations within a class.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    PresenceSample
        `prob` has one column per class.

    Notes
    -----
    **Assumes** that revealing does not depend on the features. Within class y features are
    N(mean_y, I) and all means have the same length, so ``prob_y`` is exactly
    ``softmax_y(log share_y + mean_y . x)``.

    Examples
    --------
    >>> sample = make_revealed_classes(500, random_state=0)
    >>> sample.prob.shape, bool(abs(sample.prob.sum(axis=1) - 1).max() < 1e-12)
    ((500, 3), True)
    """
    read_integer(n, "n")
    read_integer(n_features, "n_features")
    read_number(separation, "separation", FINITE)
    shares, rates = vector("class_share", class_share), vector("reveal_rate", reveal_rate)
    if shares.size < 2 or shares.size != rates.size:
        raise UsageError(
            "class_share has {shares} entries and reveal_rate {rates}: give one of each per class, "
            "for at least two classes.",
            code="length-mismatch",
            shares=shares.size,
            rates=rates.size,
        )
    for label, (class_part, rate) in enumerate(zip(shares, rates, strict=True)):
        read_number(float(class_part), f"class_share[{label}]", PROPER_SHARE)
        read_number(float(rate), f"reveal_rate[{label}]", SHARE)
    if abs(shares.sum() - 1.0) > 1e-9:
        raise UsageError(
            "{argument} must sum to 1, got {total:.6g}.",
            code="base-rate-range",
            argument=Argument("class_share"),
            total=float(shares.sum()),
        )
    rng = generator(random_state)
    means = rng.normal(size=(shares.size, n_features))
    means *= separation / np.linalg.norm(means, axis=1, keepdims=True)
    classes = rng.choice(shares.size, size=n, p=shares / shares.sum())
    X = means[classes] + rng.normal(size=(n, n_features))
    tilt = np.log(shares) + X @ means.T  # |mean|^2 / 2 is the same for all and cancels
    y_true = classes.astype(np.float64)
    shown = hide_labels(
        y_true, how="class", rates=dict(enumerate(rates.tolist())), random_state=rng
    )
    return PresenceSample(
        X=X,
        y=shown.y,
        y_true=y_true,
        prob=np.asarray(special.softmax(tilt, axis=1)),
        inclusion=shown.inclusion,
        class_share=shares,
        reveal_rate=rates,
    )


def make_scores(
    n: int,
    *,
    positive_share: float = 0.05,
    background: str = "normal",
    background_mean: float = 6.56,
    background_sd: float = 1.0,
    foreground_mean: float = 8.44,
    foreground_sd: float = 1.0,
    random_state: RandomState,
) -> ScoreSample:
    """Draw scores of a detector with their labels and their exact distribution.

    Parameters
    ----------
    n : int
        Number of scores.
    positive_share : float
        Probability that a row is positive.
    background : {"normal", "lognormal", "gamma"}
        Family of the negatives' scores.
    background_mean, background_sd : float
        Mean and standard deviation of the negatives' scores.
    foreground_mean, foreground_sd : float
        Mean and standard deviation of the positives' scores, which are normal.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ScoreSample
        All labels are known (`y` equals `y_true`); hide some with `hide_labels`. The true figures
        are methods of `truth`.

    Notes
    -----
    **Assumes** independent rows: every label is drawn with `positive_share`, so the number of
    positives varies.

    Examples
    --------
    >>> sample = make_scores(4000, positive_share=0.1, background="gamma", random_state=0)
    >>> threshold = sample.truth.threshold_at_recall(0.5)
    >>> round(float(sample.truth.precision(threshold)), 3)
    0.594
    """
    read_integer(n, "n")
    truth = ScoreTruth(
        positive_share=positive_share,
        background=background,
        background_mean=background_mean,
        background_sd=background_sd,
        foreground_mean=foreground_mean,
        foreground_sd=foreground_sd,
    )
    rng = generator(random_state)
    y_true = (rng.random(n) < positive_share).astype(np.float64)
    scores = truth.draw(y_true, rng)
    return ScoreSample(scores, y_true.copy(), y_true, np.ones(n), truth)


def _score_sd(weights: Array, correlation: float) -> float:
    """Return the standard deviation of X @ weights for equally correlated unit features."""
    variance = (1.0 - correlation) * (weights @ weights) + correlation * weights.sum() ** 2
    return float(np.sqrt(variance))


def _intercept_for(inverse: Callable[[Array], Array], prevalence: float, score_sd: float) -> float:
    """Return the a with E[inverse(a + score_sd Z)] = prevalence, Z standard normal.

    The integrand is smooth and vanishes on both sides, where the trapezoid rule converges
    geometrically: its error is far below the tolerance of the root search.
    """
    nodes = np.linspace(-14.0, 14.0, 8001)
    weights = np.exp(-0.5 * nodes**2)
    weights /= weights.sum()

    def log_gap(intercept: float) -> float:
        mean = float(weights @ inverse(intercept + score_sd * nodes))
        return float(np.log(max(mean, 1e-300)) - np.log(prevalence))

    reach = 8.0
    while log_gap(-reach) > 0.0 or log_gap(reach) < 0.0:
        reach *= 2.0
    return float(optimize.brentq(log_gap, -reach, reach, xtol=1e-13, rtol=1e-14))
