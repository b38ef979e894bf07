"""Is there a trend over periods, or a change beyond chance?

    trend   slope of the weighted least-squares line of y, prob - y or the log loss, a period
    change  of calibration: the split of the periods with the greatest likelihood ratio, events
            against those that one recalibration of all rows expects; of discrimination: the same
            for how far events and other rows lie apart in log odds, given the events of a period

The intervals of slopes are those of the one bootstrap, with an unseen row in the first or the last
period. The p-value of a change is the share of draws from "nothing changed" with as great a ratio
(Worsley 1986 for one split of counts): events are Poisson with the recalibrated probabilities and,
where rows are weighted or come in groups, with the design effect of running sums. Assumes that the
recalibration is the same in all periods where nothing changed; a change of the rows alone, which
the probabilities follow, is none. Does not look for a second change. Measured in
experiments/intervals/by_segment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from scarce.bootstrap import FEW, Resampling, as_estimate, gather, limits, typical_weight
from scarce.engine.block import Array
from scarce.evaluation.differences import Segmented
from scarce.evaluation.ranking import ranked
from scarce.results import Estimate, Record
from scarce.scoring import losses_if

BINS = 20  # of log odds


# --- trend ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trend(Record):
    """Slopes over the periods, each a change from one period to the next.

    Parameters
    ----------
    happened, gap, log_loss : Estimate
        Of the base rate, of mean probability less base rate, and of the mean log loss.
    """

    happened: Estimate
    gap: Estimate
    log_loss: Estimate


def trend_of(rows: Segmented, asked: Resampling) -> Trend:
    """Return the slopes; segments are periods in their order."""
    sample, event = rows.sample, rows.event == 1
    lost = np.where(event, losses_if(rows.prob, 1, "log"), losses_if(rows.prob, 0, "log"))
    values = np.column_stack([lost, rows.prob])
    key = (2 * rows.segment + event).astype(np.intp)
    cells = gather(key, sample.weight, values, sample.group)
    middle = float(sample.weight @ rows.segment / sample.weight.sum())

    def columns(time: Array, happened: Array, held: Array) -> Array:
        t, one = time - middle, np.ones(len(time))
        each = (one, happened, held[:, 1] - happened, held[:, 0])
        return np.column_stack([part for z in each for part in (z, z * t)] + [t * t])

    table = columns(
        (cells.key // 2).astype(np.float64), (cells.key % 2).astype(np.float64), cells.values
    )
    drawn, total = cells.draw(asked) @ table, cells.weight @ table
    ends = [int(rows.segment.min()), int(rows.segment.max())]
    added = []
    for kind in (False, True):
        like = event == kind if (event == kind).any() else np.ones(len(event), dtype=bool)
        mass = typical_weight(sample.weight) * sample.together(event == kind)
        mean = np.average(values[like], axis=0, weights=sample.weight[like])
        for end in ends:
            row = columns(np.array([end]), np.array([float(kind)]), mean[None])[0]
            added.append(mass * row)

    def slope(place: int) -> Estimate:
        def figure(sums: Array) -> Array:
            level, tilt = sums[:, 2 * place], sums[:, 2 * place + 1]
            weight, time, square = sums[:, 0], sums[:, 1], sums[:, 8]
            with np.errstate(divide="ignore", invalid="ignore"):
                width = square - time**2 / weight
                return np.where(width > 0, (tilt - time * level / weight) / width, np.nan)

        value = float(figure(total[None])[0])
        if ends[0] == ends[1]:
            value = float("nan")
        low, high = limits(drawn, np.array(added), figure, asked)
        return as_estimate(value, low, high, asked, sample)

    return Trend(happened=slope(1), gap=slope(2), log_loss=slope(3))


# --- change ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change(Record):
    """Whether one moment splits the periods better than chance would.

    Parameters
    ----------
    of : str
        "calibration": events for each one expected; "discrimination": how well probabilities tell
        events from other rows, however many events there are.
    p_value : float
        Of "nothing changed"; NaN where it cannot be tested.
    since : str
        The period with which the likeliest change begins; "" where it cannot be tested.
    before, after : float
        Calibration: events for each one that the common recalibration expects. Discrimination:
        AUC; NaN where a side has rows of one class only.
    found : bool
        Whether a change is beyond chance: p_value <= (1 - level) / 2, for there are two tests.
    """

    of: str
    p_value: float
    since: str
    before: float
    after: float
    found: bool = False


def change_tests(rows: Segmented, names: list[str], asked: Resampling) -> tuple[Change, Change]:
    """Test for a change of calibration and of discrimination; segments are periods in order."""
    kinds = ("calibration", "discrimination")
    nan = float("nan")
    spread = _spread_in_time(rows)
    if not rows.both_classes or np.isnan(spread) or len(np.unique(rows.segment)) < 2:
        first, second = (Change(kind, nan, "", nan, nan) for kind in kinds)
        return first, second
    found = []
    for kind, cells in zip(
        kinds, (_TimeCells.of(rows), _TimeCells.of(_levelled(rows))), strict=True
    ):
        figure = cells.level_ratio if kind == "calibration" else cells.slope_ratio
        seen = figure(cells.happened[None])[0]
        chance = figure(cells.draw(spread, asked)).max(axis=1)
        as_great = chance >= seen.max() - 1e-9 * abs(seen.max())
        p_value = (1 + np.count_nonzero(as_great)) / (1 + len(chance))
        since = int(cells.periods[int(np.argmax(seen)) + 1])
        sides = _sides(rows, kind, since, asked)
        found.append(Change(kind, float(p_value), names[since], *sides))
    least = (1 - asked.level) / len(kinds)
    first, second = (replace(one, found=bool(one.p_value <= least)) for one in found)
    return first, second


def _levelled(rows: Segmented) -> Segmented:
    """Return rows whose recalibration has a level of its own in every period, at most +-8."""
    w = rows.weight
    wanted = rows.sums(w * rows.event)
    low, high = np.full(rows.n_segments, -8.0), np.full(rows.n_segments, 8.0)
    for _ in range(40):
        middle = (low + high) / 2
        above = rows.sums(w * expit(rows.eta + middle[rows.segment])) > wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return rows.moved(rows.eta + ((low + high) / 2)[rows.segment])


def _spread_in_time(rows: Segmented) -> float:
    """Variance of running sums of groups' residuals over that of single rows, at least 1."""
    group = rows.sample.group
    if group is None:
        return 1.0
    if int(group.max()) + 1 < FEW:
        return float("nan")
    w, v, n = rows.weight, rows.variance, rows.n_segments
    n_groups = int(group.max()) + 1
    share = np.cumsum(rows.sums(w * v))
    share = share / share[-1]
    residual = np.zeros((n_groups, n))
    np.add.at(residual, (group, rows.segment), w * (rows.event - rows.expected))
    run = np.cumsum(residual, axis=1)
    run -= share * run[:, -1:]
    clumped = (run**2).sum(axis=0) * n_groups / (n_groups - 1)
    until = np.cumsum(rows.sums(w**2 * v))
    single = until * (1 - share) ** 2 + (until[-1] - until) * share**2
    total = float(single[:-1].sum())
    return max(1.0, float(clumped[:-1].sum()) / total) if total > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class _TimeCells:
    """Events seen and expected, by period and bin of log odds: arrays of shape (periods, bins)."""

    happened: Array
    expected: Array
    variance: Array
    squares: Array
    eta: Array
    periods: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Segmented) -> _TimeCells:
        """Gather the rows."""
        edges = np.unique(np.quantile(rows.score, np.linspace(0, 1, BINS + 1)[1:-1]))
        place = np.searchsorted(edges, rows.score, "right")
        periods, at = np.unique(rows.segment, return_inverse=True)
        shape = (len(periods), len(edges) + 1)

        def total(values: Array) -> Array:
            held = np.bincount(at * shape[1] + place, values, shape[0] * shape[1])
            return np.asarray(held.reshape(shape))

        w, v = rows.weight, rows.variance
        information = total(w * v).sum(axis=0)
        eta = total(w * v * rows.score).sum(axis=0) / np.maximum(information, 1e-300)
        return cls(
            total(w * rows.event), total(w * rows.expected), total(w * v), total(w**2 * v), eta,
            np.asarray(periods),
        )  # fmt: skip

    def draw(self, spread: float, asked: Resampling) -> Array:
        """Return events drawn as expected, (resamples, periods, bins)."""
        unit = spread * self.squares / np.maximum(self.expected, 1e-300)
        rate = np.divide(self.expected, unit, out=np.zeros_like(unit), where=unit > 0)
        rng = np.random.default_rng([asked.seed, 2])
        return np.asarray(rng.poisson(rate, (asked.resamples, *rate.shape)) * unit)

    def level_ratio(self, happened: Array) -> Array:
        """Likelihood ratio of every split, events against expected ones: (draws, splits)."""
        until = np.cumsum(happened.sum(axis=2), axis=1)
        expected = np.cumsum(self.expected.sum(axis=1))
        x, e = until[:, :-1], expected[:-1]
        whole, of = until[:, -1:], expected[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (
                xlogy(x, x / e)
                + xlogy(whole - x, (whole - x) / (of - e))
                - xlogy(whole, whole / of)
            )
        return np.asarray(np.nan_to_num(ratio, nan=0.0, posinf=0.0, neginf=0.0))

    def slope_ratio(self, happened: Array) -> Array:
        """Squared difference of events' log odds before and after a split, in standard errors."""
        information = np.maximum(self.variance.sum(axis=1, keepdims=True), 1e-300)
        centred = self.eta - (self.variance @ self.eta)[:, None] / information  # (periods, bins)
        run = np.cumsum(((happened - self.expected) * centred).sum(axis=2), axis=1)
        amount = np.cumsum((self.variance * centred**2).sum(axis=1))
        share = amount / max(float(amount[-1]), 1e-300)
        bridge = run[:, :-1] - share[:-1] * run[:, -1:]
        width = share[:-1] * (1 - share[:-1])
        return np.asarray(
            np.where(width > 1e-9, bridge**2 / np.maximum(width * amount[-1], 1e-300), 0.0)
        )


def _sides(rows: Segmented, kind: str, since: int, asked: Resampling) -> tuple[float, float]:
    """Return what was seen before, and from a period on."""
    found = []
    late = rows.segment >= since
    for here in (~late, late):
        weight, event = rows.weight[here], rows.event[here]
        if kind == "calibration":
            found.append(float(weight @ event / (weight @ rows.expected[here])))
        else:
            part = rows.only(here)
            found.append(ranked(event == 1, part.prob, part.sample, asked).value)
    return found[0], found[1]
