"""Calibration: of the rows that were given 2 %, did 2 % happen?

    loss  1/n sum_i (prob_i - share of positives in the bin of prob_i)^2    (001 section 4.2)
          1/n sum_b n_b (mean prob in b - share of positives in b)^2        cut="rows"

Both are about the population: what bins would lose if their shares had no noise. With few rows in a
bin its share is noise, and noise only adds: an unbiased estimate of it is taken off. The interval
comes from the one bootstrap. In resamples noise adds twice, once for the rows and once for the
draw, and is taken off twice; for the low limit it is at least what calibrated probabilities would
have, since no event in ten rows of 1 % tells nothing. The unseen row is a member of the population
and may lie in any bin: in each resample in one that is met in proportion to its weight.

`calibration_loss` is one number, `reliability` the table behind it, bin by bin. The loss has the
paper's ten bins [0, .1], (.1, .2] ... (.9, 1] by default. Where events are rare nearly all rows are
in the first, and the paper's figure is the variance of the probabilities: right ones lose more than
a constant. Bins of equally many rows, whose means are compared, have neither fault; they are cut
between values, never through rows that were given the same one, and not across a gap that nothing
was given in. The loss favours coarse predictions, so it describes a model and should not choose
one. Assumes what bootstrap.py says. Does not smooth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import betaincinv

from scarce.bootstrap import (
    Inclusion,
    Resampling,
    Sample,
    Seed,
    as_estimate,
    draw_groups,
    in_groups,
    outer_limits,
    read_kind,
    read_sample,
    unseen_weights,
)
from scarce.checks import read_edges, read_integer, read_labels, read_prob, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Problem, refuse_word
from scarce.results import Estimate, Record, in_rows

GAP = 1 / 4  # of a bin's range, and
FAR = 1 / 20  # of the range of all probabilities: a gap that no bin reaches across,
FEWEST = 20  # unless fewer rows stand on one side of it
ROUNDING = 1e-9  # of the weight of all rows: bins are not decided by last digits
SLICES = 16  # of each bin, within which probabilities are taken to be equal in resamples


def calibration_loss(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    bins: int = 10,
    cut: str = "width",
    debias: bool = True,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Estimate:
    """Return the mean squared distance between probabilities and what comes true in their bin.

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
        Take off what the noise of the bins' shares adds on average; 0 where nothing is left, which
        means "not distinguishable from calibrated". False gives the paper's plain value, which is
        too high with few rows in a bin. The interval is about the population in both cases.
    sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
        As in `evaluate`, whose `calibration` has `cut="rows"`.

    **Assumes** independent rows, or groups. With cut="width" and fewer than about ten events, a few
    probabilities above .1 decide the value, and rows may have none of them yet: 90 % limits held
    the truth in .84 of draws (cut="rows": .88 to 1).

    References
    ----------
    Hernandez-Orallo, Flach, Ferri (2012), A unified view of performance metrics, JMLR 13.

    Examples
    --------
    >>> prob = np.repeat([0.05, 0.95], 100)
    >>> happened = np.repeat([0, 1, 0, 1], [90, 10, 20, 80])
    >>> print(calibration_loss(happened, prob))
    0.0112 [0.00237, 0.024] (90 %, bootstrap, one unseen row added)
    >>> round(calibration_loss(happened, prob, debias=False).value, 4)
    0.0125
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
    asked = Resampling.read(level, resamples, random_state)
    read_integer(bins, "bins")
    refuse_word("cut", cut, ("width", "rows"))
    p = read_prob(prob)
    y = read_labels(y_true, len(p), "y_true")
    sample = read_sample(~np.isnan(y), read_kind(sample_weight, weight_kind), inclusion, groups)
    y, p = y[sample.rows], p[sample.rows]
    return calibration_of(y, p, sample, asked, bins=bins, cut=cut, debias=debias)


def calibration_of(
    y: Array,
    p: Array,
    sample: Sample,
    asked: Resampling,
    *,
    bins: int = 10,
    cut: str = "rows",
    debias: bool = True,
) -> Estimate:
    """Return the calibration loss of labelled rows."""
    number = np.clip(np.ceil(p * bins).astype(np.intp) - 1, 0, bins - 1)
    if cut == "rows":
        edges = cut_between(p, int(bins), sample.weight)
        number = np.searchsorted(edges[1:-1], p, side="right")
    used = np.bincount(number) > 0
    number = (np.cumsum(used) - 1)[number]
    found = _BinSums.of(y, p, number, sample, within=cut == "width")
    loss = _within_and_gap if cut == "width" else _gap
    plain = float(loss(found.whole)[0])
    noise, shown, calibrated = _noise(y, p, number, sample)
    value = max(plain - noise, 0.0)
    ends = outer_limits((loss(sums) for sums in found.unseen(y, sample, asked)), asked)
    low, high = (float(one) for one in ends)
    low = max(low - noise - calibrated, 0.0)
    high = max(high - 2 * shown + max(noise - plain, 0.0), 0.0)  # below 0 by luck, and not surer
    return as_estimate(value if debias else plain, low, high, asked, sample)


def _gap(sums: Array) -> Array:
    """Mean over rows of (mean prob - share)^2 in their bin, from sums (resamples, bins, 4)."""
    weight, apart = sums[..., 0], sums[..., 1]
    return np.asarray((apart**2 / weight).sum(axis=1) / weight.sum(axis=1))


def _within_and_gap(sums: Array) -> Array:
    """Mean over rows of (prob - share of their bin)^2: also what probabilities differ by in it."""
    weight, prob, squares = sums[..., 0], sums[..., 2], sums[..., 3]
    within = np.maximum(squares - prob**2 / weight, 0.0)  # rounding, where a bin holds one value
    return np.asarray(_gap(sums) + within.sum(axis=1) / weight.sum(axis=1))


def _noise(
    y: Array, p: Array, number: NDArray[np.intp], sample: Sample
) -> tuple[float, float, float]:
    """What the noise of the bins' gaps adds: without bias, as resamples show it, and at the most.

    A bin of one row, or one group, shows no noise, and has that of calibrated probabilities. So has
    at the most a bin without an event, where what is shown is next to nothing.
    """
    weight, apart = sample.weight, y - p
    mass = np.bincount(number, weight)
    gap = np.bincount(number, weight * apart) / mass
    owner = np.arange(len(y)) if sample.group is None else sample.group
    shown = _squares(weight * (apart - gap[number]), number, owner, len(mass))
    right = np.bincount(number, weight**2 * p * (1 - p)) * sample.together()
    first = owner[np.unique(number, return_index=True)[1]]
    several = np.bincount(number, owner != first[number]) > 0
    found = (np.where(several, shown, right), shown, np.maximum(shown, right))
    one, two, three = (float((each / mass).sum() / mass.sum()) for each in found)
    return one, two, three


class _BinSums(NamedTuple):
    """Sums over rows in each bin: weight, weight of y - p, of p and of p^2; and cells of both.

    A cell is a thin slice of one bin and class, drawn at once: `bin`, `weight`, `shape`, and
    `values`, what a unit of weight brings to the sums, (cells, 4).
    """

    whole: Array  # (1, bins, 4)
    bin: NDArray[np.intp]
    weight: Array
    shape: Array
    values: Array
    typical: Array  # weight of an unseen row, by bin
    centre: Array  # its probability, and the square of that
    parts: csr_array | None

    @classmethod
    def of(
        cls, y: Array, p: Array, number: NDArray[np.intp], sample: Sample, *, within: bool
    ) -> _BinSums:
        """Put rows into cells.

        An unseen row has the mean probability of its bin; where differences `within` a bin count,
        that of rows met in proportion to them: the next row may be given more than any before.
        """
        weight, bins = sample.weight, int(number.max()) + 1
        ladder = np.sort(p)[np.linspace(0, len(p) - 1, SLICES * bins).astype(np.intp)]
        piece = np.searchsorted(np.unique(ladder), p, side="right")
        cell = (number * (SLICES * bins + 1) + piece) * 2 + (y == 1)
        held = np.bincount(cell) > 0
        at = (np.cumsum(held) - 1)[cell]
        mass, squares = (np.bincount(at, one).astype(float) for one in (weight, weight**2))
        kinds = np.flatnonzero(held) // (2 * (SLICES * bins + 1))
        columns = (np.ones(len(p)), y - p, p, p * p)
        values = np.stack([np.bincount(at, weight * one) for one in columns], 1).astype(float)
        whole = np.stack([np.bincount(kinds, one, bins) for one in values.T], 1).astype(float)
        typical = np.bincount(kinds, squares, bins) / whole[:, 0]
        pull = weight
        if within:
            share = np.bincount(number, weight * y) / whole[:, 0]
            pull = weight * ((p - share[number]) ** 2 + np.finfo(float).tiny)
        sizes = np.stack([np.bincount(number, pull * one) for one in columns[2:]], axis=1)
        centre = sizes / np.bincount(number, pull).astype(float)[:, None]
        parts = None if sample.group is None else in_groups(at, weight, sample.group, len(mass))
        values /= mass[:, None]
        shape = mass**2 / squares
        return cls(whole[None], kinds, mass, shape, values, typical, centre, parts)

    def unseen(self, y: Array, sample: Sample, asked: Resampling) -> Iterator[Array]:
        """Yield resamples of the sums, (resamples, bins, 4), with an unseen event, and without."""
        sums = np.empty((asked.resamples, *self.whole.shape[1:]))
        if self.parts is not None:
            drawn = draw_groups(self.parts, asked)
        else:
            rng = np.random.default_rng([asked.seed, 0])
            drawn = rng.standard_gamma(self.shape, (asked.resamples, len(self.shape)))
            drawn *= self.weight / self.shape
        start = np.searchsorted(self.bin, np.arange(sums.shape[1]))
        for j in range(4):
            sums[..., j] = np.add.reduceat(drawn * self.values[:, j], start, axis=1)
        held = self.whole[0, :, 0]
        at = np.random.default_rng([asked.seed, 5]).choice(
            len(held), asked.resamples, p=held / held.sum()
        )
        (centre, square), each = self.centre[at].T, np.arange(asked.resamples)
        for k in (1, 0):
            many = sample.together(y == k)
            weight = unseen_weights(asked) * self.typical[at] * many
            row = np.stack([np.ones_like(centre), k - centre, centre, square], axis=1)
            more = sums.copy()
            more[each, at] += weight[:, None] * row
            yield more


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
        Ends of the bins that hold labelled rows.
    rows : ndarray of shape (n_bins,)
        Number of labelled rows in each.
    predicted, observed : ndarray of shape (n_bins,)
        Mean probability, and base rate, of the rows that they stand for.
    low, high : ndarray of shape (n_bins,)
        Interval of the base rate.
    level : float
        Its coverage.
    remarks : tuple of str
        What the reader should know.
    """

    edges: Array
    rows: Array
    predicted: Array
    observed: Array
    low: Array
    high: Array
    level: float
    remarks: tuple[str, ...] = ()


def reliability(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    bins: int | ArrayLike = 10,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Reliability:
    """Compare probabilities with frequencies.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; missing where not labelled, with `inclusion`.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    bins : int or array-like
        Number of bins with about equally many rows, or the edges themselves.
    sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
        As in `evaluate`.

    **Assumes** independent rows, or groups. A bin without a labelled row is left out, and that is
    said where it has rows.

    Notes
    -----
    Rows of one probability stay in one bin, and where there are no more values than bins each has
    its own. A bin whose rows lie far apart, with nothing between them, is cut there as well, so
    that there may be a few more than were asked for: a mean of 2 % and 90 % was given to no row.

    Limits are those of the bootstrap with one unseen row, which weighs what rows of its bin weigh.
    Where all rows weigh the same and stand alone they are those of Clopper and Pearson (1934).

    Examples
    --------
    >>> table = reliability([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.1, 0.8, 0.9, 0.2], bins=[0, 0.5, 1])
    >>> table.rows, table.observed.round(2)
    (array([4., 2.]), array([0.25, 1.  ]))
    >>> reliability([0, 0, 0, 1, 0, 1], [0.02, 0.02, 0.02, 0.02, 0.9, 0.9]).predicted.round(2)
    array([0.02, 0.9 ])
    """
    refuse_other_index(
        y_true=y_true, prob=prob, sample_weight=sample_weight, inclusion=inclusion, groups=groups
    )
    asked = Resampling.read(level, resamples, random_state)
    p = read_prob(prob)
    y = read_labels(y_true, len(p), "y_true")
    sample = read_sample(~np.isnan(y), read_kind(sample_weight, weight_kind), inclusion, groups)
    edges = _read_edges(bins, p, sample)
    y, everyone, p, weight = y[sample.rows], p, p[sample.rows], sample.weight
    inner = edges[1:-1]
    which = np.searchsorted(inner, p, side="right")
    n_bins = len(inner) + 1
    rows = np.bincount(which, minlength=n_bins).astype(np.float64)
    held = rows > 0
    mass = np.bincount(which, weight, n_bins)[held]
    predicted, observed = (np.bincount(which, weight * one, n_bins)[held] / mass for one in (p, y))
    low, high = _share_limits(y, (np.cumsum(held) - 1)[which], sample, asked)
    kept = np.append(edges[:-1][held[: len(edges) - 1]], edges[-1])
    lost = np.bincount(np.searchsorted(inner, everyone, side="right"), minlength=n_bins)[~held]
    return Reliability(
        kept,
        rows[held],
        predicted,
        observed,
        np.minimum(low, observed),
        np.maximum(high, observed),
        asked.level,
        _unlabelled_bins(lost),
    )


def _unlabelled_bins(rows: NDArray[np.intp]) -> tuple[str, ...]:
    """Say that bins were left out because none of their rows has a label."""
    if not rows.any():
        return ()
    return (
        Problem(
            "{bins} with {rows} in all {have} no labelled row, and {are} left out.",
            code="unlabelled-bins",
            bins=f"{(rows > 0).sum()} bin{'s' if (rows > 0).sum() != 1 else ''}",
            rows=in_rows(int(rows.sum())),
            have="has" if (rows > 0).sum() == 1 else "have",
            are="is" if (rows > 0).sum() == 1 else "are",
        ),
    )


def _share_limits(
    y: Array, number: NDArray[np.intp], sample: Sample, asked: Resampling
) -> tuple[Array, Array]:
    """Return limits of the base rate in each bin."""
    weight, bins = sample.weight, int(number.max()) + 1
    if sample.group is None and np.ptp(weight) == 0:
        events, rows = np.bincount(number, y, bins), np.bincount(number, minlength=bins)
        return clopper_pearson(events.astype(float), rows.astype(float), asked.level)
    cell = 2 * number + (y == 1)
    mass, squares = np.bincount(cell, weight, 2 * bins), np.bincount(cell, weight**2, 2 * bins)
    if sample.group is not None:
        drawn = draw_groups(in_groups(cell, weight, sample.group, 2 * bins), asked)
    else:
        shape = np.divide(mass**2, squares, out=np.zeros_like(mass), where=squares > 0)
        scale = np.divide(squares, mass, out=np.zeros_like(mass), where=mass > 0)
        rng = np.random.default_rng([asked.seed, 0])
        drawn = rng.standard_gamma(shape, (asked.resamples, 2 * bins)) * scale
    other, event = drawn[:, 0::2], drawn[:, 1::2]
    squares, mass = (one.reshape(bins, 2).sum(axis=1) for one in (squares, mass))
    extra = unseen_weights(asked)[:, None] * squares / mass
    many = [sample.together(y == k) * extra for k in (0, 1)]
    low = outer_limits([event / (event + other + many[0])], asked)[0]
    high = outer_limits([(event + many[1]) / (event + other + many[1])], asked)[1]
    return low, high


def _read_edges(bins: int | ArrayLike, p: Array, sample: Sample) -> Array:
    """Return the edges of the bins, given as such or as their number."""
    given: Any = bins
    if np.ndim(given) == 0:
        return cut_between(p[sample.rows], read_integer(given, "bins"), sample.weight)
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


def clopper_pearson(events: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Return limits of a share seen in n independent rows: one more row of either kind is added.

    Examples
    --------
    >>> low, high = clopper_pearson(np.array([0.0]), np.array([10.0]), 0.9)
    >>> low.round(3), high.round(3)
    (array([0.]), array([0.259]))
    """
    tail, others = (1 - level) / 2, n - events
    low = betaincinv(np.maximum(events, 0.5), others + 1, tail)
    high = betaincinv(events + 1, np.maximum(others, 0.5), 1 - tail)
    return np.where(events > 0, low, 0.0), np.where(others > 0, high, 1.0)
