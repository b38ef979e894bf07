"""Expectation maximisation that stops on a proof, and strides where small steps would creep.

    candidate = start - 2 a r + a^2 v,   r = first - start,   v = (second - first) - r,
    a = -|r| / |v|                         (SQUAREM, Varadhan and Roland 2008, scheme S3)

A pass over the rows gives likelihood, score and expected moments together. A stride that lowers the
likelihood is not taken: the plain step is, which never does. The certificate is the score of the
observed data, which Fisher's identity reads off the expected moments. Knows nothing of Gaussians.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from scarce.engine.block import Array


class Hill(Protocol):
    """What is to be climbed: parameters are any object that `flat` can turn into numbers."""

    def expect(self, at: Any) -> Any:
        """Pass over the rows: the expected moments under the parameters."""

    def value(self, at: Any, moments: Any) -> float:
        """Return the (penalised) log likelihood."""

    def score(self, at: Any, moments: Any) -> float:
        """Return the largest entry of its gradient, per unit of weight, in standard units."""

    def step(self, at: Any, moments: Any) -> Any:
        """Return the parameters that the expected moments suggest."""

    def flat(self, at: Any) -> Array:
        """Return the parameters as numbers without bounds."""

    def solid(self, numbers: Array) -> Any:
        """Return the parameters of such numbers."""


class Climbed(NamedTuple):
    """Where a climb ended."""

    at: Any
    moments: Any
    value: float
    score: float
    path: list[float]  # likelihoods of the points that were taken
    passes: int
    converged: bool


def climb(hill: Hill, start: Any, *, tol: float, max_passes: int) -> Climbed:
    """Climb until the score is at most `tol`, or passes run out, or rounding hides the way up."""
    at, moments = start, hill.expect(start)
    value = hill.value(at, moments)
    path, passes, idle = [value], 1, 0
    score = hill.score(at, moments)
    while score > tol and passes < max_passes and idle < 8:
        first = hill.step(at, moments)
        moments_first = hill.expect(first)
        value_first = hill.value(first, moments_first)
        passes += 1
        if hill.score(first, moments_first) <= tol or passes >= max_passes:
            at, moments, value = first, moments_first, value_first
        else:
            second = hill.step(first, moments_first)
            at, moments, value = _stride(hill, at, first, second, value_first)
            passes += 1
            if at is None:
                at, moments = second, hill.expect(second)
                value = hill.value(at, moments)
                passes += 1
            path.append(value_first)
        # A plain step never loses; what rounding takes is not a loss.
        idle = idle + 1 if value <= path[-1] + 1e-14 * abs(value) else 0
        path.append(value)
        score = hill.score(at, moments)
    return Climbed(at, moments, value, score, path, passes, score <= tol)


def _stride(hill: Hill, start: Any, first: Any, second: Any, least: float) -> tuple[Any, Any, Any]:
    """Return the point far ahead with its moments and value, or Nones where it lies lower."""
    zero, one, two = (hill.flat(point) for point in (start, first, second))
    r = one - zero
    v = two - one - r
    bend = float(np.linalg.norm(v))
    length = max(1.0, float(np.linalg.norm(r)) / bend) if bend > 0 else 1.0
    try:
        ahead = hill.solid(zero + 2.0 * length * r + length**2 * v)
    except np.linalg.LinAlgError:
        return None, None, None
    moments = hill.expect(ahead)
    value = hill.value(ahead, moments)
    if not value >= least - 1e-14 * abs(least):
        return None, None, None
    return ahead, moments, value
