"""Calibration loss: how far are probabilities from the shares that came true among their like?

    1/n sum_i (prob_i - share of positives in the bin of prob_i)^2          (001 section 4.2)
    1/n sum_b n_b (mean prob in b - share of positives in b)^2              cut="rows"

The paper's ten bins [0, .1], (.1, .2] ... (.9, 1] by default. Where events are rare nearly all rows
fall into the first, and the paper's figure is the variance of the probabilities: right ones lose
more than a constant. Bins of equally many rows, whose means are compared, have neither fault. With
few rows in a bin its share is noise, and noise only adds: `debias` takes the binomial variance off.
It favours coarse predictions, so it describes a model and should not choose one. Assumes
independent rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from scarce.engine.block import Array
from scarce.errors import UsageError, refuse_word
from scarce.evaluation.redrawn import ASSUMES_GROUPS
from scarce.evaluation.reliability import cut_between
from scarce.evaluation.scores import ASSUMES, outcomes
from scarce.results import Estimate


def calibration_loss(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    bins: int = 10,
    cut: str = "width",
    debias: bool = False,
    sample_weight: ArrayLike | None = None,
    groups: NDArray[np.intp] | None = None,
    level: float = 0.9,
) -> Estimate:
    """Return the mean squared distance between probabilities and what came true in their bin.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    bins : int
        Number of bins; the paper's 10.
    cut : {"width", "rows"}
        Bins of equal width, as in the paper, or of about equally many rows, cut between values as
        in `scarce.evaluation.reliability`. With "rows" the means of the bins are compared; what
        probabilities differ by within a bin does not count. Better where events are rare.
    debias : bool
        Take off what the noise of the bins' shares adds on average. May then be below 0, which
        means "not distinguishable from calibrated".
    sample_weight : array-like of shape (n,), optional
        1 / inclusion for rows that were drawn. A row of weight 2 is one draw, not two.
    groups : ndarray of int, shape (n,), optional
        Number of the group that each row belongs to, from 0 on: its outcomes come together.
    level : float
        Coverage of the interval.

    **Assumes** independent rows, and that the outcomes within a bin are about equally probable. The
    interval is that of the bins' binomial noise, given the probabilities. Noise only adds to the
    plain value, so that with few rows in a bin the truth is missed below it more often than the
    level says; `debias` covers better there.

    References
    ----------
    Hernandez-Orallo, Flach, Ferri (2012), A unified view of performance metrics, JMLR 13.

    Examples
    --------
    >>> prob = np.repeat([0.05, 0.95], 100)
    >>> happened = np.repeat([0, 1, 0, 1], [90, 10, 20, 80])
    >>> print(calibration_loss(happened, prob))
    0.0125 [0.00205, 0.0229] (90 %, normal interval from binomial bins)
    >>> calibration_loss(happened, prob, debias=True).value < 0.0125
    True
    >>> rng = np.random.default_rng(0)
    >>> rare = rng.beta(0.5, 50, 100_000)  # right to the last digit
    >>> happened = rng.random(100_000) < rare
    >>> calibration_loss(happened, rare).value > 100 * calibration_loss(
    ...     happened, rare, cut="rows").value
    True
    """
    y, p = outcomes(y_true, prob)
    if not (isinstance(bins, (int, np.integer)) and bins >= 1):
        raise UsageError(f"bins={bins!r}: give a whole number of at least 1, such as 10.")
    refuse_word("cut", cut, ("width", "rows"))
    weight = _weights(sample_weight, len(y))
    kept = weight > 0
    y, p, weight = y[kept], p[kept], weight[kept]
    number = np.clip(np.ceil(p * bins).astype(np.intp) - 1, 0, bins - 1)
    if cut == "rows":
        edges = cut_between(p, int(bins), weight)
        number, bins = np.searchsorted(edges[1:-1], p, side="right"), len(edges) - 1
    count = np.bincount(number, minlength=bins)
    used = count > 0
    count = count[used]
    mass = np.bincount(number, weight, minlength=bins)[used]
    share = np.bincount(number, weight * y, minlength=bins)[used] / mass
    centre = np.bincount(number, weight * p, minlength=bins)[used] / mass
    within = np.bincount(number, weight * p**2, minlength=bins)[used] / mass - centre**2
    within = np.maximum(within, 0.0)  # rounding, where a bin holds one probability
    if cut == "rows":
        within = np.zeros_like(within)
    owner = np.arange(len(y)) if groups is None else np.unique(groups[kept], return_inverse=True)[1]
    pull = weight * (y - share[(np.cumsum(used) - 1)[number]])
    noise = _squares(pull, number, owner, bins)[used] / mass**2
    part = mass / weight.sum()
    gap = (centre - share) ** 2
    value = float(part @ (within + gap - (noise if debias else 0.0)))
    # where all rows of a bin say the same, as if one more of either kind had been seen
    unseen = (share * count + 1.0) / (count + 2.0)
    added = np.where(noise > 0, 0.0, unseen * (1.0 - unseen) / count)
    noise = noise + added
    # Of a squared normal; with the gap as seen, noise and all, which is on the wide side.
    linear = part**2 @ (4.0 * gap * noise)
    if groups is not None:  # a group's outcomes move several bins at once
        way = (2.0 * (centre - share) / weight.sum())[(np.cumsum(used) - 1)[number]]
        linear = _squares(way * pull, np.zeros_like(number), owner, 1)[0]
        linear += part**2 @ (4.0 * gap * added)
    variance = linear + 2.0 * part**2 @ noise**2
    reach = float(ndtri(0.5 + level / 2) * np.sqrt(variance))
    method = "normal interval from binomial bins"
    assumes = ASSUMES
    if groups is not None:
        method, assumes = "normal interval from groups in bins", ASSUMES_GROUPS
    # a mean of squares is never below 0, unless noise is taken off
    low = value - reach if debias else max(0.0, value - reach)
    return Estimate(value, low, value + reach, level, method, assumes)


def _squares(pull: Array, number: NDArray[np.intp], owner: NDArray[np.intp], bins: int) -> Array:
    """Sum of squares within each bin, of sums over what belongs together; for its own mean, too."""
    pair, place = np.unique(number * (owner.max() + 1) + owner, return_inverse=True)
    summed, at = np.bincount(place, pull), pair // (owner.max() + 1)
    count = np.bincount(at, minlength=bins)
    held = np.bincount(at, summed**2, minlength=bins)
    return np.asarray(held * count / np.maximum(count - 1, 1))


def _weights(sample_weight: ArrayLike | None, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    fine = weight.shape == (n,) and bool(((weight >= 0) & (weight < np.inf)).all())
    if not fine or not weight.any():
        raise UsageError(
            f"sample_weight has shape {weight.shape} for {n:,} rows: give one finite number from 0 "
            "on per row, not all 0."
        )
    return weight
