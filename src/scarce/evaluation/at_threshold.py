"""What does a threshold find among rows whose outcome is known, and what would it in the next ones?

    recall = events at or above it / events         precision = events at or above it / alerts
    specificity = others below it / others          alerts = rows at or above it / rows

Counted shares, with intervals for further rows of the same kind. Assumes that every row has an
outcome, by itself or by 1 / inclusion. Where only alerts were looked at, that is not so: see
performance.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.evaluation.redrawn import Figure, Redrawn
from scarce.results import Estimate

LOW_OTHER, HIGH_OTHER, LOW_EVENT, HIGH_EVENT = range(4)


class AtThreshold(NamedTuple):
    """Shares at a threshold.

    Parameters
    ----------
    recall, precision, specificity, alerts : Estimate
        NaN where there is nothing to take a share of.
    found, missed, false_alarms : int
        Rows, as counted.
    """

    recall: Estimate
    precision: Estimate
    specificity: Estimate
    alerts: Estimate
    found: int
    missed: int
    false_alarms: int


def at_threshold(
    y_true: ArrayLike,
    score: ArrayLike,
    threshold: float,
    *,
    sample_weight: ArrayLike | None = None,
    groups: NDArray[np.intp] | None = None,
    level: float = 0.9,
) -> AtThreshold:
    """Return what a threshold finds, with intervals for further rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; none missing.
    score : array-like of shape (n,)
        A row is an alert at or above the threshold.
    threshold : float
    sample_weight, groups, level
        As in `evaluate_prob`.

    Examples
    --------
    >>> found = at_threshold([0] * 90 + [1] * 10, [0.1] * 85 + [0.9] * 12 + [0.1] * 3, 0.5)
    >>> print(found.recall)
    0.7 [0.404, 0.91] (90 %, bootstrap, one unseen row added)
    >>> found.found, found.missed, found.false_alarms
    (7, 3, 5)
    """
    event, alert = np.asarray(y_true) == 1, np.asarray(score) >= threshold
    kind = 2 * event + alert
    drawn = Redrawn(kind, 4, sample_weight=sample_weight, groups=groups, level=level)
    count = np.bincount(kind[drawn.weight > 0], minlength=4)

    def share(part: list[int], whole: list[int]) -> Estimate:
        figure: Figure = lambda sums: sums[:, part].sum(axis=1) / sums[:, whole].sum(axis=1)  # noqa: E731
        return drawn.estimate(figure, 0.0, 1.0)

    return AtThreshold(
        recall=share([HIGH_EVENT], [LOW_EVENT, HIGH_EVENT]),
        precision=share([HIGH_EVENT], [HIGH_OTHER, HIGH_EVENT]),
        specificity=share([LOW_OTHER], [LOW_OTHER, HIGH_OTHER]),
        alerts=share([HIGH_OTHER, HIGH_EVENT], [0, 1, 2, 3]),
        found=int(count[HIGH_EVENT]),
        missed=int(count[LOW_EVENT]),
        false_alarms=int(count[HIGH_OTHER]),
    )
