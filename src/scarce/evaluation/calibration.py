"""Calibration: of the rows that were given 2 %, did 2 % happen?

    loss  1/n sum_i (prob_i - share of positives in the bin of prob_i)^2    (001 section 4.2)
          1/n sum_b n_b (mean prob in b - share of positives in b)^2        cut="rows"

`calibration_loss` is one number, `reliability` the table behind it, bin by bin with Wilson's
interval. The loss has the paper's ten bins [0, .1], (.1, .2] ... (.9, 1] by default. Where events
are rare nearly all rows fall into the first, and the paper's figure is the variance of the
probabilities: right ones lose more than a constant. Bins of equally many rows, whose means are
compared, have neither fault; they are cut between values, never through rows that were given the
same one, and not across a gap that nothing was given in. With few rows in a bin its share is noise,
and noise only adds: `debias` takes the binomial variance off. The loss favours coarse predictions,
so it describes a model and should not choose one. Assumes independent rows. Does not smooth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from scarce.bootstrap import (
    Inclusion,
    Sample,
    read_kind,
    read_sample,
)
from scarce.checks import (
    read_edges,
    read_integer,
    read_labels,
    read_level,
    read_prob,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, refuse_word
from scarce.results import Estimate, Record

GAP = 1 / 4  # of a bin's range, and
FAR = 1 / 20  # of the range of all probabilities: a gap that no bin reaches across,
FEWEST = 20  # unless fewer rows stand on one side of it
ROUNDING = 1e-9  # of the weight of all rows: bins are not decided by last digits
METHOD = "normal interval from binomial bins"
METHOD_GROUPS = "normal interval from groups in bins"


def calibration_loss(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    bins: int = 10,
    cut: str = "width",
    debias: bool = False,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
) -> Estimate:
    """Return the mean squared distance between probabilities and what came true in their bin.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; missing where not labelled, with `inclusion`.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    bins : int
        Number of bins; the paper's 10.
    cut : {"width", "rows"}
        Bins of equal width, as in the paper, or of about equally many rows, cut between values as
        in `reliability`. With "rows" the means of the bins are compared; what
        probabilities differ by within a bin does not count. Better where events are rare.
    debias : bool
        Take off what the noise of the bins' shares adds on average. May then be below 0, which
        means "not distinguishable from calibrated".
    sample_weight, weight_kind, inclusion, groups, level
        As in `evaluate`.

    **Assumes** independent rows, and that the outcomes within a bin are about equally probable. The
    interval is that of the bins' binomial noise, given the probabilities. Noise only adds to the
    plain value: with few rows in a bin the truth lies below the interval more often than the level
    says, and `debias` covers better.

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
    refuse_other_index(
        y_true=y_true, prob=prob, sample_weight=sample_weight, inclusion=inclusion, groups=groups
    )
    coverage = read_level(level)
    read_integer(bins, "bins")
    refuse_word("cut", cut, ("width", "rows"))
    p = read_prob(prob)
    y = read_labels(y_true, len(p), "y_true")
    sample = read_sample(~np.isnan(y), read_kind(sample_weight, weight_kind), inclusion, groups)
    y, p = y[sample.rows], p[sample.rows]
    return calibration_of(y, p, sample, coverage, bins=bins, cut=cut, debias=debias)


def calibration_of(
    y: Array,
    p: Array,
    sample: Sample,
    level: float,
    *,
    bins: int = 10,
    cut: str = "rows",
    debias: bool = False,
) -> Estimate:
    """Return the calibration loss of labelled rows."""
    weight = sample.weight
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
    owner = np.arange(len(y)) if sample.group is None else sample.group
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
    if sample.group is not None:  # a group's outcomes move several bins at once
        way = (2.0 * (centre - share) / weight.sum())[(np.cumsum(used) - 1)[number]]
        linear = _squares(way * pull, np.zeros_like(number), owner, 1)[0]
        linear += part**2 @ (4.0 * gap * added)
    variance = linear + 2.0 * part**2 @ noise**2
    reach = float(ndtri(0.5 + level / 2) * np.sqrt(variance))
    method = METHOD if sample.group is None else METHOD_GROUPS
    # a mean of squares is never below 0, unless noise is taken off
    low = value - reach if debias else max(0.0, value - reach)
    return Estimate(value, low, value + reach, level, method, sample.assumes)


def _squares(pull: Array, number: NDArray[np.intp], owner: NDArray[np.intp], bins: int) -> Array:
    """Sum of squares within each bin, of sums over what belongs together; for its own mean, too."""
    pair, place = np.unique(number * (owner.max() + 1) + owner, return_inverse=True)
    summed, at = np.bincount(place, pull), pair // (owner.max() + 1)
    count = np.bincount(at, minlength=bins)
    held = np.bincount(at, summed**2, minlength=bins)
    return np.asarray(held * count / np.maximum(count - 1, 1))


@dataclass(frozen=True, eq=False)
class Reliability(Record):
    """Probability against frequency, bin by bin.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins that hold rows.
    rows : ndarray of shape (n_bins,)
        Number of rows in each.
    predicted, observed : ndarray of shape (n_bins,)
        Mean probability, and base rate.
    low, high : ndarray of shape (n_bins,)
        Interval of the base rate.
    level : float
        Its coverage.
    """

    edges: Array
    rows: Array
    predicted: Array
    observed: Array
    low: Array
    high: Array
    level: float


def reliability(
    y_true: ArrayLike, prob: ArrayLike, *, bins: int | ArrayLike = 10, level: float = 0.9
) -> Reliability:
    """Compare probabilities with frequencies.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    bins : int or array-like
        Number of bins with about equally many rows, or the edges themselves.
    level : float
        Coverage of the intervals.

    **Assumes** independent rows. A bin without rows is left out.

    Notes
    -----
    Rows of one probability stay in one bin, and where there are no more values than bins each has
    its own. A bin whose rows lie far apart, with nothing between them, is cut there as well, so
    that there may be a few more than were asked for: a mean of 2 % and 90 % was given to no row.

    Examples
    --------
    >>> table = reliability([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.1, 0.8, 0.9, 0.2], bins=[0, 0.5, 1])
    >>> table.rows, table.observed.round(2)
    (array([4., 2.]), array([0.25, 1.  ]))
    >>> reliability([0, 0, 0, 1, 0, 1], [0.02, 0.02, 0.02, 0.02, 0.9, 0.9]).predicted.round(2)
    array([0.02, 0.9 ])
    """
    refuse_other_index(y_true=y_true, prob=prob)
    coverage, p = read_level(level), read_prob(prob)
    y = read_labels(y_true, len(p), "y_true")
    read_sample(~np.isnan(y))  # refuses rows without a label
    edges = _read_edges(bins, p)
    inner = edges[1:-1]
    which = np.searchsorted(inner, p, side="right")
    n_bins = len(inner) + 1
    rows = np.bincount(which, minlength=n_bins).astype(np.float64)
    held = rows > 0
    predicted = np.bincount(which, weights=p, minlength=n_bins)[held] / rows[held]
    observed = np.bincount(which, weights=y, minlength=n_bins)[held] / rows[held]
    low, high = wilson(observed, rows[held], coverage)
    kept = np.append(edges[:-1][held[: len(edges) - 1]], edges[-1])
    return Reliability(kept, rows[held], predicted, observed, low, high, coverage)


def _read_edges(bins: int | ArrayLike, p: Array) -> Array:
    """Return the edges of the bins, given as such or as their number."""
    given: Any = bins
    if np.ndim(given) == 0:
        return cut_between(p, read_integer(given, "bins"))
    edges = read_edges(given, "bins")
    outside = np.flatnonzero((p < edges[0]) | (p > edges[-1]))
    if len(outside):
        raise DataError(
            "{bins} leaves out a probability of {value:g} (row {row:,}).",
            code="edges-too-narrow",
            bins=Argument("bins", edges.tolist()),
            value=float(p[outside[0]]),
            row=int(outside[0]),
            remedy="Let the edges begin at 0 and end at 1.",
        )
    return edges


def cut_between(p: Array, bins: int, weight: Array | None = None) -> Array:
    """Return the edges of about `bins` bins of about equally many rows, cut between values.

    A bin takes whole values until the next one would bring it further from its share of the rows
    that are left; a value with many rows takes a bin of its own, and the others share the rest.
    Weights count in units of sum w^2 / sum w, so that their scale does not matter.

    Examples
    --------
    >>> cut_between(np.array([0.1, 0.1, 0.1, 0.1, 0.2, 0.3]), 3)
    array([0.1 , 0.15, 0.25, 0.3 ])
    """
    values, place = np.unique(p, return_inverse=True)
    if weight is not None:
        weight = weight * (weight.sum() / (weight @ weight))
    counts = np.bincount(place, weight)
    upto = np.append(0, np.cumsum(counts))  # rows below each value
    starts = [0]
    while len(starts) < min(bins, len(values)):
        first, left = starts[-1], min(bins, len(values)) - len(starts)
        share = (upto[-1] - upto[first]) / (left + 1)
        apart = np.abs(upto - upto[first] - share)
        nearest = int(np.argmax(apart <= apart.min() + ROUNDING * upto[-1]))
        starts.append(int(np.clip(nearest, first + 1, len(values) - left)))
    if bins > 1:
        ends = [*starts[1:], len(values)]
        torn = [_tears(values, upto, a, b) for a, b in zip(starts, ends, strict=True)]
        starts = sorted({*starts, *(at for some in torn for at in some)})
    low, high = values[np.array(starts[1:], dtype=int) - 1], values[starts[1:]]
    between = (low + high) / 2
    between = np.where(between > low, between, high)  # neighbours among the floats
    return np.concatenate([values[:1], between, values[-1:]])


def _tears(values: Array, upto: Array, first: int, end: int) -> list[int]:
    """Return where the bin of values[first:end] falls apart: the first value beyond each gap."""
    if end - first < 2:
        return []
    gaps = np.diff(values[first:end])
    wide = gaps >= max(GAP * gaps.sum(), FAR * (values[-1] - values[0]))
    below, above = upto[first + 1 : end] - upto[first], upto[end] - upto[first + 1 : end]
    wide &= (below >= FEWEST) & (above >= FEWEST)
    if not wide.any():
        return []
    at = first + 1 + int(np.argmax(np.where(wide, gaps, 0.0)))
    return [*_tears(values, upto, first, at), at, *_tears(values, upto, at, end)]


def wilson(share: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Return Wilson's interval for a share seen in n independent rows.

    Examples
    --------
    >>> low, high = wilson(np.array([0.0]), np.array([10.0]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.]), array([0.278]))
    """
    z = float(ndtri(0.5 + level / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
