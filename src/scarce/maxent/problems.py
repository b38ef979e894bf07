"""The two problems of maxent, each an aggregate of tilts over the pool, with its duality gap.

    entropy:  log sum_i pool_i exp(tilt_i)                                  (000 eq 7, 004 eq 12)
    robust :  sum_i pool_i log sum_y default_y exp(tilt_y,i)                (000 eq 10)

Value and gradient come from one pass over the coded rows, a fold in pieces that stay in cache with
the largest exponent factored out.

The certificate: the labelled rows themselves are a distribution that meets all boxes. Mixing the
model's distribution with them until it meets all boxes too gives a feasible point, and the
difference between its divergence and the value is a duality gap. Only labelled rows change in that
mixture, so the gap costs next to nothing. Assumes that labelled rows have weight in the pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from scarce.engine.block import PIECE_ROWS, Array
from scarce.engine.executors import Engine
from scarce.engine.rows import add
from scarce.maxent import kernels
from scarce.maxent.boxes import Boxes
from scarce.maxent.coded import (
    Accumulator,
    Coded,
    CodedBlock,
    CodedRows,
    Factors,
    Labelled,
    RowSample,
    Shape,
    shape_of,
    sums_of,
    tilt_of,
)
from scarce.maxent.feature_map import FeatureMap, Lines, Sums, half_width_times
from scarce.maxent.solver import PassResult, WorkingSet

NARROWEST = 1e-9  # half width, in standard deviations, below which a box counts as a point

# --- passes over coded rows ----------------------------------------------------------------------

Scores = tuple[Shape, list[Lines], Array, float]  # what class_scores needs besides the coded rows


class ShiftedSums(NamedTuple):
    """Sums under weights exp(tilt - shift)."""

    shift: float
    sums: Sums


def entropy_pass(block: CodedBlock, params: tuple[Shape, Lines]) -> ShiftedSums:
    """Kernel: sums of all features under pool * exp(tilt), largest exponent factored out."""
    shape, lines = params
    total, shift = Accumulator(shape), -np.inf
    for first in range(0, len(block), PIECE_ROWS):
        cells = block.cells.part(first, first + PIECE_ROWS)
        tilt = tilt_of(cells, shape, lines, np.empty(cells.n))
        most = float(tilt.max())
        if most > shift:
            total.scale(float(np.exp(shift - most)))
            shift = most
        tilt -= shift
        weight = np.exp(tilt, out=tilt)
        weight *= block.pool[first : first + PIECE_ROWS]
        sums_of(cells, shape, weight, total)
    return ShiftedSums(shift, total.close())


def _join(total: ShiftedSums, more: ShiftedSums) -> ShiftedSums:
    if total.shift < more.shift:
        total, more = more, total
    factor = float(np.exp(more.shift - total.shift))
    scaled = Sums._make(factor * part for part in more.sums)
    return ShiftedSums(total.shift, add(total.sums, scaled))


entropy_pass.merge = _join  # type: ignore[attr-defined]


def robust_pass(block: CodedBlock, params: Scores) -> tuple[float, list[Sums]]:
    """Kernel: value, and for each labelled class the sums under pool * probability."""
    shape, lines, log_default, log_free = params
    totals = [Accumulator(shape) for _ in lines]
    value = 0.0
    for first in range(0, len(block), PIECE_ROWS):
        cells = block.cells.part(first, first + PIECE_ROWS)
        pool = block.pool[first : first + PIECE_ROWS]
        log_sum, scores = class_scores(cells, shape, lines, log_default, log_free)
        value += float(pool @ log_sum)
        scores -= log_sum
        for total, score in zip(totals, scores, strict=True):
            weight = np.exp(score, out=score)
            weight *= pool
            sums_of(cells, shape, weight, total)
    return value, [total.close() for total in totals]


def _join_robust(
    total: tuple[float, list[Sums]], more: tuple[float, list[Sums]]
) -> tuple[float, list[Sums]]:
    return total[0] + more[0], [add(a, b) for a, b in zip(total[1], more[1], strict=True)]


robust_pass.merge = _join_robust  # type: ignore[attr-defined]


def share_pass(block: CodedBlock, params: Scores) -> tuple[Array, Array]:
    """Kernel: for each class the sum of pool * p, and of pool * p * log p."""
    share, total = np.zeros(len(params[1])), np.zeros(len(params[1]))
    for first in range(0, len(block), PIECE_ROWS):
        pool = block.pool[first : first + PIECE_ROWS]
        log_sum, scores = class_scores(block.cells.part(first, first + PIECE_ROWS), *params)
        scores -= log_sum
        prob = np.exp(scores)
        share += prob @ pool
        total += (prob * scores) @ pool
    return share, total


def mixed_pass(block: CodedBlock, params: tuple[Scores, float]) -> tuple[float, float]:
    """Kernel: the value, and the divergence from the default when classes give up some probability.

    Each labelled class keeps 1 - moved of its probability; the classes without labels get the rest.
    """
    scores_of, moved = params
    log_default, log_free = scores_of[2], scores_of[3]
    value = total = 0.0
    for first in range(0, len(block), PIECE_ROWS):
        pool = block.pool[first : first + PIECE_ROWS]
        log_sum, scores = class_scores(block.cells.part(first, first + PIECE_ROWS), *scores_of)
        value += float(pool @ log_sum)
        prob = np.exp(scores - log_sum + np.log1p(-moved))
        free = moved * prob.sum(axis=0) / (1.0 - moved) + np.exp(log_free - log_sum)
        each = xlogy(free, free) - free * log_free
        for own, default in zip(prob, log_default, strict=True):
            each += xlogy(own, own) - own * default
        total += float(pool @ each)
    return value, total


def entropy_importance(block: CodedBlock, params: tuple[Shape, Lines, float]) -> Array:
    """Kernel: pool * exp(tilt - shift) of each row."""
    shape, lines, shift = params
    out = np.empty(len(block))
    for first in range(0, len(block), PIECE_ROWS):
        part = out[first : first + PIECE_ROWS]
        tilt_of(block.cells.part(first, first + PIECE_ROWS), shape, lines, part)
    np.exp(out - shift, out=out)
    out *= block.pool
    return out


def robust_importance(block: CodedBlock, params: Scores) -> Array:
    """Kernel: pool * sum_y p_y (1 - p_y) of each row, over the labelled classes."""
    out = np.empty(len(block))
    for first in range(0, len(block), PIECE_ROWS):
        part = slice(first, first + PIECE_ROWS)
        cells = block.cells.part(first, part.stop)
        log_sum, scores = class_scores(cells, *params)
        prob = np.exp(scores - log_sum)
        out[part] = block.pool[part] * (prob * (1.0 - prob)).sum(axis=0)
    return out


def class_scores(
    cells: Coded, shape: Shape, lines: list[Lines], log_default: Array, log_free: float
) -> tuple[Array, Array]:
    """Return log sum_y default_y exp(tilt_y), and log default_y + tilt_y of the labelled classes.

    `log_free` is the log of the total default share of classes without labels, whose tilt is 0.
    """
    scores = np.empty((len(lines), cells.n))
    for score, own, default in zip(scores, lines, log_default, strict=True):
        tilt_of(cells, shape, own, score)
        score += default
    log_sum = np.full(cells.n, log_free)
    for score in scores:
        np.logaddexp(log_sum, score, out=log_sum)
    return log_sum, scores


# --- the problems --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProblemData:
    """What both problems are made from, for any width_scale."""

    rows: CodedRows
    space: FeatureMap
    boxes: list[Boxes]  # one per labelled class
    labelled: list[Labelled]
    sample: RowSample  # for the curvature
    engine: Engine


class TiltProblem:
    """What both problems share: tilt, boxes at one width_scale, and the working features."""

    lowest = -np.inf

    def __init__(self, data: ProblemData, width_scale: float) -> None:
        self.rows, self.space, self.labelled = data.rows, data.space, data.labelled
        self.sample, self.engine = data.sample, data.engine
        self.shape = shape_of(data.space)
        self.target = np.array([box.target for box in data.boxes])
        self.half_width = np.array([box.half_width(width_scale) for box in data.boxes])
        self.deviation = np.array([box.deviation for box in data.boxes])
        self.seen = np.array([box.seen for box in data.boxes])
        self.runs = _runs(data.space)
        # Boxes of width 0 leave no room to move: then the gradient is the certificate.
        self.has_gap = bool((self.half_width > NARROWEST * self.deviation).all())

    def lines(self, coef: Array) -> list[Lines]:
        """Return the tilt of each class."""
        return [
            self.space.lines(own, target, width)
            for own, target, width in zip(coef, self.target, self.half_width, strict=True)
        ]

    def enlarge_sample(self) -> bool:
        """Use more rows for the curvature; False if all are in use."""
        return self.sample.double()

    def _mean_tilt(self, coef: Array, mean: Array, seen: Array) -> float:
        """Sum over rows and classes of model weight times tilt."""
        price = half_width_times(coef, self.half_width)
        return float((coef * (mean - self.target * seen) + price * seen).sum())

    def _shortfall(self, mean: Array, seen: Array) -> Array:
        """Share of labelled rows that must be added to each class to meet all boxes."""
        with np.errstate(invalid="ignore", divide="ignore"):
            excess = np.abs(mean - self.target * seen) - self.half_width * seen
            short = np.maximum(excess, 0.0) / (self.half_width * self.seen)
        return np.asarray(np.where(np.isfinite(self.half_width), short, 0.0).max(1, initial=0.0))

    def _tables(self, of_class: int, working: WorkingSet) -> WorkingLines:
        """The working features of one class as lines, with sides, targets and widths."""
        chosen = working.of_class == of_class
        feature, side = working.feature[chosen], working.side[chosen, None]
        target = self.target[of_class, feature][:, None]
        width = self.half_width[of_class, feature][:, None]
        plain = feature < self.space.first_pair
        variable, start, slope = self.space.tables(feature[plain])
        return WorkingLines(
            variable,
            np.ascontiguousarray(side[plain] * (start - target[plain]) + width[plain]),
            np.ascontiguousarray(side[plain] * slope),
            self.space.pairs[feature[~plain] - self.space.first_pair],
            side[~plain],
            width[~plain] - side[~plain] * target[~plain],
        )

    def _columns(self, tables: WorkingLines, cells: Coded) -> Array:
        """The working features of some rows, shape (features, rows)."""
        n_plain = len(tables.variable)
        out = np.empty((n_plain + len(tables.pairs), cells.n))
        missing = np.diff(self.space.first_cell) - 1
        where = (cells.codes, cells.rest)
        kernels.fill_columns(
            *where, missing, tables.variable, tables.start, tables.slope, out[:n_plain]
        )
        if len(tables.pairs):
            f = Factors.of(cells, self.shape)
            u, v = tables.pairs.T
            counts = f.seen[u] * f.seen[v]
            if self.shape.either:
                counts = np.maximum(f.seen[u], f.seen[v])
            out[n_plain:] = counts * (tables.side * (f.place[u] * f.place[v]) + tables.shift)
        return out


class WorkingLines(NamedTuple):
    """WorkingSet features of one class, ready to be looked up."""

    variable: NDArray[np.intp]
    start: Array  # (k, cells of the longest variable)
    slope: Array
    pairs: NDArray[np.intp]  # (k2, 2)
    side: Array  # (k2, 1)
    shift: Array  # (k2, 1): on rows in which the product counts


class EntropyProblem(TiltProblem):
    """One class: log sum_i pool_i exp(tilt_i)."""

    def evaluate(self, coef: Array) -> PassResult:
        """Pass over the rows."""
        lines = self.lines(coef)
        shift, sums = self.rows.fold(entropy_pass, (self.shape, lines[0]), engine=self.engine)
        log_partition = shift + float(np.log(sums.total))
        mean, seen = (part[None] / sums.total for part in self.space.expectations(sums))
        gap = np.inf
        if self.has_gap:
            gap = self._gap(coef, mean, seen, log_partition, lines[0])
        return PassResult(log_partition, mean, seen, gap)

    def _gap(
        self, coef: Array, mean: Array, seen: Array, log_partition: float, lines: Lines
    ) -> float:
        short = float(self._shortfall(mean, seen)[0])
        if not short < 1e12:
            return np.inf
        moved = short / (1.0 + short)
        own = self.labelled[0]
        tilt = tilt_of(own.cells, self.shape, lines, np.empty(own.cells.n))
        ratio = np.exp(tilt - log_partition)  # model over pool, on labelled rows
        ratio *= 1.0 - moved
        with_labelled = ratio + moved * own.share / own.pool
        extra = own.pool @ (xlogy(with_labelled, with_labelled) - xlogy(ratio, ratio))
        mean_tilt = self._mean_tilt(coef, mean, seen)
        rest = (1.0 - moved) * (np.log1p(-moved) + mean_tilt - log_partition)
        return max(log_partition + float(rest + extra), 0.0)

    def curvature(self, coef: Array, result: PassResult, working: WorkingSet) -> Array:
        """Return the covariance of the working features under the model."""
        lines = self.lines(coef)[0]
        weight = self._weights(lines, result.value)
        cells = self.sample.cells
        assert cells is not None
        size = len(working.feature)
        feature, side = working.feature, working.side
        centre = side * (result.mean[0] - self.target[0] * result.seen[0])[feature]
        centre += self.half_width[0, feature] * result.seen[0, feature]
        gram, mean = np.zeros((size, size)), np.zeros(size)
        tables = self._tables(0, working)
        for first in range(0, cells.n, PIECE_ROWS):
            part = weight[first : first + PIECE_ROWS]
            columns = self._columns(tables, cells.part(first, first + PIECE_ROWS))
            root = np.sqrt(part)
            kernels.scale_rows(columns, root, centre)
            gram += columns @ columns.T
            mean += columns @ root
        return np.asarray(gram - np.outer(mean, mean))

    def _weights(self, lines: Lines, log_partition: float) -> Array:
        """The model's weights of the sampled rows; draws a new sample if the old one is worn."""
        sample = self.sample
        if sample.cells is not None:
            weight = self._sample_weight(sample, lines, log_partition)
            if not sample.worn(weight):
                return np.asarray(weight / weight.sum())
        params = (self.shape, lines, log_partition)
        sample.draw(self.rows.map(entropy_importance, params, engine=self.engine))
        weight = self._sample_weight(sample, lines, log_partition)
        return np.asarray(weight / weight.sum())

    def _sample_weight(self, sample: RowSample, lines: Lines, log_partition: float) -> Array:
        assert sample.cells is not None
        tilt = tilt_of(sample.cells, self.shape, lines, np.empty(sample.cells.n))
        return np.asarray(sample.pool * np.exp(tilt - log_partition) * sample.factor)


class RobustProblem(TiltProblem):
    """All classes together: sum_i pool_i log sum_y default_y exp(tilt_y,i).

    Parameters
    ----------
    default : ndarray of shape (C,)
        Default share of each class that has labels or bounds.
    free : float
        Total default share of all other classes.
    bounds : ndarray of shape (C, 2), optional
        Lower and upper bound on the share of each class over the pool. One more coefficient per
        class, the last, shifts its score; its box is around the share itself.
    """

    def __init__(
        self,
        data: ProblemData,
        width_scale: float,
        *,
        default: Array,
        free: float,
        bounds: Array | None = None,
    ) -> None:
        super().__init__(data, width_scale)
        self.log_default = np.log(default)
        self.log_free = float(np.log(free)) if free > 0 else -np.inf
        self.bounded = bounds is not None
        # With bounds, or without a class that may take any row, the boxes may contradict each
        # other. A feasible point costs at most -log of the smallest default, so a lower value
        # proves that there is none.
        self.has_gap = self.has_gap and free > 0 and not self.bounded
        if free <= 0 or self.bounded:
            self.lowest = float(min(self.log_default.min(), self.log_free if free > 0 else 0.0))
            self.lowest -= 1e-9
        if bounds is not None:
            middle, half = bounds.mean(axis=1), np.diff(bounds, axis=1)[:, 0] / 2
            self.target = np.column_stack([self.target, middle])
            self.half_width = np.column_stack([self.half_width, half])
            self.deviation = np.column_stack([self.deviation, np.ones(len(bounds))])
            self.runs = np.append(self.runs, -1)

    def padded(self, coef: Array) -> Array:
        """Return start coefficients padded for shifts and for classes without labels."""
        more = np.subtract(self.target.shape, coef.shape)
        return np.pad(coef, ((0, more[0]), (0, more[1])))

    def _split(self, coef: Array) -> tuple[list[Lines], Array]:
        """Return the tilt of each class and its shifted default score."""
        n = self.space.n_features
        lines = [
            self.space.lines(own[:n], target[:n], width[:n])
            for own, target, width in zip(coef, self.target, self.half_width, strict=True)
        ]
        return lines, self.log_default + (coef[:, n] if self.bounded else 0.0)

    def params(self, coef: Array) -> Scores:
        """Return what class_scores needs besides the coded rows."""
        lines, scores = self._split(coef)
        return self.shape, lines, scores, self.log_free

    def class_shares(self, coef: Array) -> tuple[Array, Array]:
        """Return the share of each class over the pool, and its divergence from the pool."""
        share, total = self.rows.fold(share_pass, self.params(coef), engine=self.engine)
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(share > 0, total / share - np.log(share), 0.0)
        return share, np.maximum(divergence, 0.0)

    def evaluate(self, coef: Array) -> PassResult:
        """Pass over the rows."""
        params = self.params(coef)
        value, sums = self.rows.fold(robust_pass, params, engine=self.engine)
        both = [self.space.expectations(own) for own in sums]
        mean, seen = np.array([one for one, _ in both]), np.array([two for _, two in both])
        if self.bounded:
            mean = np.column_stack([mean, [own.total for own in sums]])
            seen = np.column_stack([seen, np.ones(len(sums))])
            shift = coef[:, -1]
            value += float((half_width_times(shift, self.half_width[:, -1])).sum())
            value -= float(shift @ self.target[:, -1])
        gap = np.inf
        if self.has_gap:
            # In the total divergence each class counts with its share.
            share = float(min(own.total for own in sums))
            gap = self._gap(coef, mean, seen, params) / max(share, 1e-300)
        return PassResult(value, mean, seen, gap)

    def _gap(self, coef: Array, mean: Array, seen: Array, params: Scores) -> float:
        """Give each class some of its labelled rows, taken from the classes without labels."""
        short = self._shortfall(mean, seen)
        gap = self._mean_tilt(coef, mean, seen)
        for position, own in enumerate(self.labelled):
            if short[position] == 0.0:
                continue
            log_sum, scores = class_scores(own.cells, *params)
            given = short[position] * own.share / own.pool
            free = np.exp(self.log_free - log_sum)
            if (given >= free).any():
                return self._mixed_gap(short, params)
            prob = np.exp(scores[position] - log_sum)
            gap += float(
                own.pool @ self._divergence_change(prob, given, self.log_default[position])
            )
            gap += float(own.pool @ self._divergence_change(free, -given, self.log_free))
        return max(gap, 0.0)

    def _mixed_gap(self, short: Array, params: Scores) -> float:
        """Mix with the labels themselves, where a labelled row has no probability left to give.

        The labelled rows, scaled to probability 1 at the heaviest, meet all boxes too. Mixing with
        them changes every row, which costs another pass.
        """
        most = np.array([float((own.pool / own.share).min()) for own in self.labelled])
        needed = float((short / most).max())
        if not needed < 1e6:
            return np.inf
        moved = needed / (1.0 + needed)
        value, total = self.rows.fold(mixed_pass, (params, moved), engine=self.engine)
        for position, own in enumerate(self.labelled):
            log_sum, scores = class_scores(own.cells, *params)
            given = moved * most[position] * own.share / own.pool
            prob = (1.0 - moved) * np.exp(scores - log_sum)
            free = np.maximum(1.0 - prob.sum(axis=0), moved)
            total += float(
                own.pool
                @ self._divergence_change(prob[position], given, self.log_default[position])
            )
            total += float(own.pool @ self._divergence_change(free, -given, self.log_free))
        return float(max(value + total, 0.0))

    @staticmethod
    def _divergence_change(prob: Array, given: Array, log_default: float) -> Array:
        """Change of prob log(prob / default) when prob grows by `given`."""
        new = np.maximum(prob + given, 0.0)  # rounding, where all is given away
        return np.asarray(xlogy(new, new) - xlogy(prob, prob) - given * log_default)

    def curvature(self, coef: Array, result: PassResult, working: WorkingSet) -> Array:
        """Return the second derivative, over all classes together."""
        params = self.params(coef)
        cells = self._sampled(params)
        size = len(working.feature)
        at = [np.flatnonzero(working.of_class == own) for own in range(len(coef))]
        out = np.zeros((size, size))
        tables = [self._tables(own, self._plain(working)) for own in range(len(coef))]
        shifts = [working.side[own][working.feature[own] >= self.space.n_features] for own in at]
        for first in range(0, cells.n, PIECE_ROWS):
            part = cells.part(first, first + PIECE_ROWS)
            pool = self.sample.pool[first : first + PIECE_ROWS]
            pool = pool * self.sample.factor[first : first + PIECE_ROWS]
            log_sum, own_scores = class_scores(part, *params)
            prob = np.exp(own_scores - log_sum)
            columns = [
                np.concatenate([self._columns(own, part), np.outer(shift, np.ones(part.n))])
                for own, shift in zip(tables, shifts, strict=True)
            ]
            for one in range(len(coef)):
                for two in range(one, len(coef)):
                    weight = pool * prob[one] * ((one == two) - prob[two])
                    block = (columns[one] * weight) @ columns[two].T
                    out[np.ix_(at[one], at[two])] += block
                    if one != two:
                        out[np.ix_(at[two], at[one])] += block.T
        return out

    def _plain(self, working: WorkingSet) -> WorkingSet:
        """The working set without shifts."""
        kept = working.feature < self.space.n_features
        return WorkingSet._make(part[kept] for part in working)

    def _sampled(self, params: Scores) -> Coded:
        """The rows for the curvature; draws a new sample if the old one is worn."""
        sample = self.sample
        if sample.cells is not None:
            if sample.whole:
                return sample.cells
            log_sum, scores = class_scores(sample.cells, *params)
            prob = np.exp(scores - log_sum)
            weight = sample.pool * sample.factor * (prob * (1.0 - prob)).sum(axis=0)
            if not sample.worn(weight):
                return sample.cells
        sample.draw(self.rows.map(robust_importance, params, engine=self.engine))
        assert sample.cells is not None
        return sample.cells


def _runs(space: FeatureMap) -> NDArray[np.intp]:
    """Number the runs of features that are neighbours along the knots; others are runs of one."""
    runs = np.arange(space.n_features) + space.n_features
    for number, part in enumerate(space.parts):
        if part.family.letter in "ht":
            runs[part.features] = number
    return runs
