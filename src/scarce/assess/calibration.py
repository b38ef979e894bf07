"""Calibration loss: how far are probabilities from the shares that came true among their like?

    1/n sum_i (prob_i - share of positives in the bin of prob_i)^2          (001 section 4.2)

The paper's ten bins [0, .1], (.1, .2] ... (.9, 1] by default. With few rows in a bin its share is
noise, and noise only adds: `debias` takes the binomial variance off. It favours coarse predictions,
so it describes a model and should not choose one. Assumes independent rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from scarce.assess.scores import ASSUMES, outcomes
from scarce.errors import UsageError
from scarce.records import Estimate


def calibration_loss(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    bins: int = 10,
    debias: bool = False,
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
        Bins of equal width; the paper's 10.
    debias : bool
        Take off what the noise of the bins' shares adds on average. May then be below 0, which
        means "not distinguishable from calibrated".
    level : float
        Coverage of the interval.

    **Assumes** independent rows, and that the outcomes within a bin are about equally probable. The
    interval is that of the bins' binomial noise, given the probabilities: wide where a model is
    calibrated, a little narrow (.82 for .90 seen) where a single bin holds all rows.

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
    """
    y, p = outcomes(y_true, prob)
    if not (isinstance(bins, (int, np.integer)) and bins >= 1):
        raise UsageError(f"bins={bins!r}: give a whole number of at least 1, such as 10.")
    number = np.clip(np.ceil(p * bins).astype(np.intp) - 1, 0, bins - 1)
    count = np.bincount(number, minlength=bins)
    used = count > 0
    count = count[used]
    share = np.bincount(number, y, minlength=bins)[used] / count
    centre = np.bincount(number, p, minlength=bins)[used] / count
    within = np.bincount(number, p**2, minlength=bins)[used] / count - centre**2
    noise = share * (1.0 - share) / np.maximum(count - 1, 1)
    part = count / len(y)
    gap = (centre - share) ** 2
    value = float(part @ (within + gap - (noise if debias else 0.0)))
    # Of a squared normal; with the gap as seen, noise and all, which is on the wide side.
    variance = part**2 @ (4.0 * gap * noise + 2.0 * noise**2)
    reach = float(ndtri(0.5 + level / 2) * np.sqrt(variance))
    return Estimate(
        value, value - reach, value + reach, level, "normal interval from binomial bins", ASSUMES
    )
