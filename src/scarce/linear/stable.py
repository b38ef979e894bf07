"""Formulas that stay right where the textbook form cancels, overflows or divides 0 by 0.

    Gamma(-shape, u) = exp(-u) u^-shape / (u+1+shape - 1(1+shape)/(u+3+shape - 2(2+shape)/(...)))
                                                                    (Legendre; DLMF 8.9.2)

Every function takes and gives float64 arrays, warns of nothing, and is finite or a true infinity
at every finite argument. Assumes nothing about models; does not check its arguments.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import zetac

Array = NDArray[np.float64]

# Overflow to infinity and underflow to 0 are the right answers here, so nobody need hear of them.
quiet = np.errstate(all="ignore")

SERIES_BELOW = 2.0  # where the power series in u hands over to the continued fraction
_SERIES_TERMS = 27  # 2^28 / 28! is 1e-21
_SPLIT = 134217729.0  # 2^27 + 1 cuts a float64 into two halves whose products are exact


@quiet
def softplus(score: Array) -> Array:
    """Return log(1 + exp(score)).

    Examples
    --------
    >>> softplus(np.array([-800.0, 0.0, 800.0])).tolist()
    [0.0, 0.693147180559945..., 800.0]
    """
    return np.asarray(np.maximum(score, 0.0) + np.log1p(np.exp(-np.abs(score))))


@quiet
def log1mexp(tail: Array, log_tail: Array) -> Array:
    """Return log(1 - exp(-tail)), also where tail is so small that only its logarithm is known.

    Examples
    --------
    >>> log1mexp(np.array([0.0, 40.0]), np.array([-800.0, np.log(40.0)])).tolist()
    [-800.0, -4.24835425529158...e-18]
    """
    small = log_tail + np.log(one_minus_exp_over(tail))
    return np.where(tail < 1.0, small, np.log1p(-np.exp(-tail)))


@quiet
def one_minus_exp_over(tail: Array) -> Array:
    """Return (1 - exp(-tail)) / tail, which is 1 at 0."""
    return np.where(tail == 0.0, 1.0, -np.expm1(-tail) / tail)


@quiet
def over_expm1(tail: Array) -> Array:
    """Return tail / (exp(tail) - 1): 1 at 0, and 0 at infinity.

    Examples
    --------
    >>> over_expm1(np.array([0.0, 1e-9, 800.0, np.inf])).round(9).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    tail = np.minimum(tail, 1000.0)  # infinity over infinity would not be a number
    return np.where(tail == 0.0, 1.0, tail / np.expm1(tail))


# B_2k / (2k)!: the series of x/2 coth(x/2) - 1.
_BERNOULLI = tuple(
    (-1) ** (k + 1) * 2.0 * (1.0 + float(zetac(2 * k))) / (2 * math.pi) ** (2 * k)
    for k in range(1, 14)
)


@quiet
def over_expm1_excess(tail: Array) -> Array:
    """Return tail + tail / (exp(tail) - 1) - 1, which is about tail / 2 when tail is small.

    Examples
    --------
    >>> over_expm1_excess(np.array([1e-20, 1.0, np.inf])).tolist()
    [5e-21, 0.58197670686932..., inf]
    """
    square = np.minimum(tail, 1.0) ** 2
    series = np.zeros_like(square)
    for coefficient in reversed(_BERNOULLI):
        series = (series + coefficient) * square
    return np.where(tail < 1.0, 0.5 * tail + series, tail + over_expm1(tail) - 1.0)


@quiet
def one_plus_product(factor: float, score: Array) -> tuple[Array, Array]:
    """Return (t, rest) with t + rest = 1 + factor * score to twice the usual digits.

    Near the edge of a support 1 + factor * score is a small difference of numbers near 1; the
    digits that rounding takes there are all that is left (Dekker 1971).
    """
    product = factor * score
    factor_top = _SPLIT * factor - (_SPLIT * factor - factor)
    score_top = _SPLIT * score - (_SPLIT * score - score)
    factor_low, score_low = factor - factor_top, score - score_top
    product_low = factor_low * score_low - (
        ((product - factor_top * score_top) - factor_low * score_top) - factor_top * score_low
    )
    total = 1.0 + product
    part = total - product
    total_low = (1.0 - part) + (product - (total - part))
    rest = product_low + total_low
    return total, np.where(np.isfinite(rest), rest, 0.0)  # splitting overflows beyond 1e300


def log_gamma_one_plus(x: float) -> float:
    """Return log Gamma(1 + x) for x from -1/2 to 1/2, to full relative precision near 0.

    Examples
    --------
    >>> log_gamma_one_plus(1e-12) / 1e-12
    -0.57721566490...
    """
    # log Gamma(1+x) = -log(1+x) + (1-gamma) x + sum over k > 1 of (zeta(k)-1) (-x)^k / k
    terms = [float(zetac(k)) * (-x) ** k / k for k in range(2, 40)]
    return math.fsum([-math.log1p(x), (1.0 - np.euler_gamma) * x, *terms])


@lru_cache(maxsize=1024)
def gamma_series(shape: float) -> tuple[float, float, tuple[float, ...]]:
    """Return (constant, pole, coefficients) of the power series of Gamma(-shape, u), u < 2.

    With t = u^-shape and score = (t-1)/shape,

        Gamma(-shape, u) = score + constant + joined(u) + t * sum over k of coefficients[k] u^k

    where `pole` is 0 and joined(u) = 0 for shape <= 1/2. Above, the term k = 1 and the constant run
    to opposite infinities at shape = 1, so they are taken together: pole is 1, and
    joined(u) = (u^(1-shape) - 1) / (1-shape).
    """
    coefficients = [0.0]
    for k in range(1, _SERIES_TERMS + 1):
        sign = 1.0 if k % 2 else -1.0
        joined = k == 1 and shape > 0.5
        coefficients.append(0.0 if joined else sign / (math.factorial(k) * (k - shape)))
    if shape > 0.5:
        rest = 1.0 - shape
        ratio = log_gamma_one_plus(rest) - math.log1p(-rest)
        slope = math.expm1(ratio) / rest if rest else 1.0 - np.euler_gamma
        return 1.0 / shape - slope, 1.0, tuple(coefficients)
    if shape == 0.0:
        constant = -float(np.euler_gamma)
    elif shape >= -0.5:
        constant = -math.expm1(log_gamma_one_plus(-shape)) / shape
    else:
        constant = (1.0 - math.gamma(1.0 - shape)) / shape
    return constant, 0.0, tuple(coefficients)


def gamma_powers(shape: float, tail: Array) -> Array:
    """Return the sum of coefficients[k] tail^k of `gamma_series`; Ein(tail) at shape 0."""
    coefficients = gamma_series(shape)[2]
    total = np.full_like(tail, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total *= tail
        total += coefficient
    return total


@quiet
def gamma_excess(shape: float, tail: Array, log_tail: Array, base: Array) -> Array:
    """Return Gamma(-shape, tail) - score for tail < 2; base is 1 + shape * score = tail^-shape."""
    constant, pole, _ = gamma_series(shape)
    total = constant + base * gamma_powers(shape, tail)
    if pole:
        rest = 1.0 - shape
        total += np.expm1(rest * log_tail) / rest if rest else log_tail
    return total


@quiet
def gamma_fraction(shape: float, tail: Array) -> Array:
    """Return Gamma(-shape, tail) * exp(tail) * tail^shape for tail >= 2.

    The fraction is worked from its end, deep enough for the smallest tail of each band.
    """
    out = np.empty_like(tail)
    for low, high, depth in ((2.0, 4.0, 50), (4.0, 10.0, 28), (10.0, np.inf, 14)):
        chosen = (tail >= low) & (tail < high)
        value = tail[chosen] + (1.0 + shape)
        rest = np.zeros_like(value)
        for k in range(depth, 0, -1):
            np.subtract(value, rest, out=rest)
            rest += 2.0 * k
            np.divide(k * (k + shape), rest, out=rest)
        out[chosen] = 1.0 / (value - rest)
    return out


@quiet
def normal_excess(x: Array) -> Array:
    """Return phi(x) / Phi(-x) - x, the normal's hazard above its argument, for x >= 2.

    As a fraction, 1 / (x + 2 / (x + 3 / (x + ...))), it has no difference in it (Laplace 1805).
    """
    out = np.empty_like(x)
    near = x < 6.0
    for chosen, depth in ((near, 100), (~near, 22)):
        value = x[chosen]
        rest = np.zeros_like(value)
        for k in range(depth, 0, -1):
            rest = k / (value + rest)
        out[chosen] = rest
    return out
