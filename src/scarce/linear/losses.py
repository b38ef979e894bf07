"""Losses: what does a score cost when the label turns out to be y?

    CanonicalLoss: A(score) - y * score, slope prob - y, curvature density         (001 section 3)
    LogLoss:       -log(prob) of a positive, -log(1 - prob) of a negative          (001 eqs 1, 2)

Everything is a function of the score, never of a rounded probability, so both are right at scores
of +-800. Assumes y holds 0.0 and 1.0. Does not add weights or penalties: see the solvers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from scarce.errors import Argument, UsageError, refuse_word
from scarce.linear.gev import GEV, CLogLog, LogLog
from scarce.linear.links import Link, Logit, Probit
from scarce.linear.stable import Array

LOSSES = ("logistic", "probit", "cloglog", "loglog", "gev-log", "gev-canonical")


def _by_label(
    y: Array,
    score: Array,
    of_positive: Callable[[Array], Array],
    of_negative: Callable[[Array], Array],
) -> Array:
    """Return one function of the score for positives and another for negatives."""
    score = np.asarray(score, dtype=np.float64)
    positive = np.asarray(y) > 0.5
    if positive.shape != score.shape:
        positive, score = np.broadcast_arrays(positive, score)
    out = np.empty(score.shape)
    out[positive] = of_positive(score[positive])
    negative = ~positive
    out[negative] = of_negative(score[negative])
    return out


@dataclass(frozen=True)
class CanonicalLoss:
    """The convex loss whose canonical link is `link`: A(score) - y * score.

    Parameters
    ----------
    link : Link

    Notes
    -----
    A is the link's antiderivative. The slope is prob - y whatever the link, so that with an
    unpenalised intercept the mean probability of the training rows is the prevalence.
    DEVIATION from 001 eq 3, which is infinite for every probability when shape >= 1: A differs from
    it by a constant where it is finite, and is finite everywhere. Outside the link's support A goes
    on as a line, so the loss is convex on the whole real line and finite for every label.
    With the logit it is the logistic loss.

    Examples
    --------
    >>> loss = CanonicalLoss(GEV(0.5))
    >>> y, score = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, -800.0])
    >>> loss.slope(y, score).round(6).tolist()
    [-0.632121, 0.367879, 0.0]
    """

    link: Link

    @property
    def convex(self) -> bool:
        """Always true: the curvature is a density."""
        return True

    def value(self, y: Array, score: Array) -> Array:
        """Return the loss of each row."""
        link = self.link
        return _by_label(y, score, link.antiderivative_less_score, link.antiderivative)

    def slope(self, y: Array, score: Array) -> Array:
        """Return d value / d score = prob - y, without the difference."""
        return _by_label(y, score, lambda rows: -self.link.complement(rows), self.link.inverse)

    def curvature(self, y: Array, score: Array) -> Array:
        """Return d slope / d score, which does not depend on y."""
        return self.link.density(score)

    def fisher(self, score: Array) -> Array:
        """Return the expected curvature, which is the curvature."""
        return self.link.density(score)

    def sweep(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return (prob - y, curvature) for a Newton step: fast, and right to about 1e-14."""
        prob, density = self.link.rates(score)
        prob -= y
        return prob, density


@dataclass(frozen=True)
class LogLoss:
    """The negative log-likelihood of the label: -log(prob), or -log(1 - prob).

    Parameters
    ----------
    link : Link

    Notes
    -----
    Convex with the links logit, probit, cloglog, log-log, and GEV for shapes from -1 to 0. For
    every shape above 0 the loss of a negative is not convex (001 says [-1, 0.1): too wide).
    Outside the support of a GEV link the label that has probability 0 costs infinity; slope and
    curvature there are infinite too, as their limits from inside are, and 0 for the other label.

    Examples
    --------
    >>> loss = LogLoss(Probit())
    >>> loss.value(np.array([1.0, 0.0]), np.array([-800.0, -800.0])).round(3).tolist()
    [320007.604, 0.0]
    """

    link: Link

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the score for both labels."""
        return self.link.log_concave

    def value(self, y: Array, score: Array) -> Array:
        """Return the loss of each row; infinite for a label that the score rules out."""
        return -_by_label(y, score, self.link.log_inverse, self.link.log_complement)

    def slope(self, y: Array, score: Array) -> Array:
        """Return d value / d score."""
        return _by_label(y, score, lambda rows: -self.link.rise(rows), self.link.hazard)

    def curvature(self, y: Array, score: Array) -> Array:
        """Return the observed second derivative, below 0 where the loss is not convex."""
        return _by_label(y, score, self.link.rise_fall, self.link.hazard_slope)

    def fisher(self, score: Array) -> Array:
        """Return the second derivative expected over labels: density^2 / (prob (1 - prob))."""
        return self.link.information(score)

    def sweep(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return (slope, curvature >= 0) for a Newton step: fast, and right to about 1e-13.

        The curvature is the observed one where that is at least 0, and `fisher` elsewhere.
        """
        return self.link.log_rates(y, score)


Loss: TypeAlias = CanonicalLoss | LogLoss


def loss_of(name: str, shape: float | None = None) -> Loss:
    """Return the loss that a name stands for.

    Parameters
    ----------
    name : {"logistic", "probit", "cloglog", "loglog", "gev-log", "gev-canonical"}
    shape : float, optional
        Needed by the two GEV losses, and by no other.

    Returns
    -------
    CanonicalLoss or LogLoss

    Examples
    --------
    >>> loss_of("gev-canonical", 0.3)
    CanonicalLoss(link=GEV(shape=0.3))
    >>> loss_of("logistic")
    LogLoss(link=Logit())
    """
    refuse_word("loss", name, LOSSES)
    if name.startswith("gev"):
        if shape is None:
            raise UsageError(
                "{loss} needs {shape}, a number from -1 to 1.5.",
                code="shape-needed",
                loss=Argument("loss", name),
                shape=Argument("shape"),
            )
        return LogLoss(GEV(shape)) if name == "gev-log" else CanonicalLoss(GEV(shape))
    if shape is not None:
        raise UsageError(
            "{loss} has no shape, got {shape}.",
            code="shape-not-used",
            loss=Argument("loss", name),
            shape=Argument("shape", shape),
            log=Argument("loss", "gev-log"),
            canonical=Argument("loss", "gev-canonical"),
            remedy="Leave the shape out, or pass {log} or {canonical}.",
        )
    links: dict[str, Link] = {
        "logistic": Logit(),
        "probit": Probit(),
        "cloglog": CLogLog(),
        "loglog": LogLog(),
    }
    return LogLoss(links[name])
