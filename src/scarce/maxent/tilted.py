"""The two aggregates of a tilt that maxent minimises, as problems for boxed.py.

    entropy:  log sum_i pool_i exp(tilt_i)                                  (000 eq 7, 004 eq 12)
    robust :  sum_i pool_i log sum_y default_y exp(tilt_y,i)                (000 eq 10)

The certificate: the labelled rows themselves are a distribution that meets all boxes, so the
model's distribution, moved towards them until it meets them too, is feasible, and the distance
between its divergence and the value is a duality gap. Only labelled rows change in that move, so it
costs nothing. Assumes that labelled rows have weight in the pool.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from scarce.engine.block import PIECE_ROWS, Array
from scarce.engine.executors import Engine
from scarce.maxent import kernels
from scarce.maxent.boxed import Look, Working
from scarce.maxent.boxes import Boxes
from scarce.maxent.coded import Coded, CodedRows, shape_of, tilt_of
from scarce.maxent.feature_map import FeatureMap, Lines, half_width_times
from scarce.maxent.passes import (
    Scores,
    class_scores,
    entropy_importance,
    entropy_pass,
    mixed_pass,
    robust_importance,
    robust_pass,
    share_pass,
)
from scarce.maxent.row_sample import Labelled, RowSample

NARROWEST = 1e-9  # half width, in spreads, below which a box counts as a point


class Tilted:
    """What both problems share: features, boxes, labelled rows, rows for the curvature.

    Parameters
    ----------
    rows : CodedRows
    space : FeatureMap
    boxes : list of Boxes
        One for each labelled class.
    labelled : list of Labelled
    sample : RowSample
    width_scale : float
    engine : engine
    """

    lowest = -np.inf

    def __init__(
        self,
        rows: CodedRows,
        space: FeatureMap,
        boxes: list[Boxes],
        labelled: list[Labelled],
        sample: RowSample,
        width_scale: float,
        *,
        engine: Engine = None,
    ) -> None:
        self.rows, self.space, self.labelled = rows, space, labelled
        self.sample, self.engine = sample, engine
        self.shape = shape_of(space)
        self.target = np.array([box.target for box in boxes])
        self.half_width = np.array([box.half_width(width_scale) for box in boxes])
        self.spread = np.array([box.spread for box in boxes])
        self.seen = np.array([box.seen for box in boxes])
        self.runs = _runs(space)
        # Boxes without width leave no room to move into: then the gradient is the certificate.
        self.has_gap = bool((self.half_width > NARROWEST * self.spread).all())

    def lines(self, coef: Array) -> list[Lines]:
        """Return the tilt of each class."""
        return [
            self.space.lines(own, target, width)
            for own, target, width in zip(coef, self.target, self.half_width, strict=True)
        ]

    def sharpen(self) -> bool:
        """Take more rows for the curvature; False when all are in."""
        return self.sample.double()

    def _mean_tilt(self, coef: Array, mean: Array, seen: Array) -> float:
        """Sum over rows and classes of the model's weight times the tilt."""
        price = half_width_times(coef, self.half_width)
        return float((coef * (mean - self.target * seen) + price * seen).sum())

    def _short_of(self, mean: Array, seen: Array) -> Array:
        """How much of the labelled rows each class's weights must be given to meet all boxes."""
        with np.errstate(invalid="ignore", divide="ignore"):
            excess = np.abs(mean - self.target * seen) - self.half_width * seen
            short = np.maximum(excess, 0.0) / (self.half_width * self.seen)
        return np.asarray(np.where(np.isfinite(self.half_width), short, 0.0).max(1, initial=0.0))

    def _tables(self, of_class: int, working: Working) -> Tables:
        """The working features of one class as lines, with their sides, targets and widths."""
        chosen = working.of_class == of_class
        feature, side = working.feature[chosen], working.side[chosen, None]
        target = self.target[of_class, feature][:, None]
        width = self.half_width[of_class, feature][:, None]
        plain = feature < self.space.first_pair
        variable, start, slope = self.space.tables(feature[plain])
        return Tables(
            variable,
            np.ascontiguousarray(side[plain] * (start - target[plain]) + width[plain]),
            np.ascontiguousarray(side[plain] * slope),
            self.space.pairs[feature[~plain] - self.space.first_pair],
            side[~plain],
            width[~plain] - side[~plain] * target[~plain],
        )

    def _columns(self, tables: Tables, cells: Coded) -> Array:
        """The working features on some rows, one line of the result each."""
        n_plain = len(tables.variable)
        out = np.empty((n_plain + len(tables.pairs), cells.n))
        missing = np.diff(self.space.first_cell) - 1
        where = (cells.codes, cells.rest)
        kernels.fill_columns(
            *where, missing, tables.variable, tables.start, tables.slope, out[:n_plain]
        )
        if len(tables.pairs):
            place, seen = np.empty(cells.codes.shape), np.empty(cells.codes.shape)
            shape, none = self.shape, np.zeros_like(self.shape.seen)
            kernels.fill_places(
                *where, shape.first_cell, shape.place_start, shape.place_slope, place
            )
            kernels.fill_places(*where, shape.first_cell, shape.seen, none, seen)
            u, v = tables.pairs.T
            out[n_plain:] = tables.side * (place[u] * place[v])
            out[n_plain:] += tables.shift * (seen[u] * seen[v])
        return out


class Tables(NamedTuple):
    """Working features of one class, ready to be looked up."""

    variable: NDArray[np.intp]
    start: Array  # (k, cells of the longest variable)
    slope: Array
    pairs: NDArray[np.intp]  # (k2, 2)
    side: Array  # (k2, 1)
    shift: Array  # (k2, 1): on rows that see both


class Entropy(Tilted):
    """One class: log sum_i pool_i exp(tilt_i)."""

    def look(self, coef: Array) -> Look:
        """Pass over the rows."""
        lines = self.lines(coef)
        shift, sums = self.rows.fold(entropy_pass, (self.shape, lines[0]), engine=self.engine)
        log_partition = shift + float(np.log(sums.total))
        mean, seen = (part[None] / sums.total for part in self.space.expectations(sums))
        gap = np.inf
        if self.has_gap:
            gap = self._gap(coef, mean, seen, log_partition, lines[0])
        return Look(log_partition, mean, seen, gap)

    def _gap(
        self, coef: Array, mean: Array, seen: Array, log_partition: float, lines: Lines
    ) -> float:
        short = float(self._short_of(mean, seen)[0])
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

    def curvature(self, coef: Array, look: Look, working: Working) -> Array:
        """Return the covariance of the working features under the model."""
        lines = self.lines(coef)[0]
        weight = self._weights(lines, look.value)
        cells = self.sample.cells
        assert cells is not None
        size = len(working.feature)
        feature, side = working.feature, working.side
        centre = side * (look.mean[0] - self.target[0] * look.seen[0])[feature]
        centre += self.half_width[0, feature] * look.seen[0, feature]
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
        """The model's weight of the sampled rows, drawn anew where the old ones have worn out."""
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


class Robust(Tilted):
    """All classes together: sum_i pool_i log sum_y default_y exp(tilt_y,i).

    Parameters
    ----------
    default : ndarray of shape (C,)
        Default share of each class that has labels or bounds.
    free : float
        Default share of all other classes, together.
    bounds : ndarray of shape (C, 2), optional
        Least and greatest share of each class over the pool. One more coefficient per class, the
        last, shifts its score; its box is around the share itself.
    """

    def __init__(
        self,
        *parts: Any,
        default: Array,
        free: float,
        bounds: Array | None = None,
        engine: Engine = None,
    ) -> None:
        super().__init__(*parts, engine=engine)
        self.log_default = np.log(default)
        self.log_free = float(np.log(free)) if free > 0 else -np.inf
        self.bounded = bounds is not None
        # Without a class that may take any row, or with bounds, the boxes may contradict each
        # other. A feasible point costs at most -log of the least default, so a lower value proves
        # that there is none.
        self.has_gap = self.has_gap and free > 0 and not self.bounded
        if free <= 0 or self.bounded:
            self.lowest = float(min(self.log_default.min(), self.log_free if free > 0 else 0.0))
            self.lowest -= 1e-9
        if bounds is not None:
            middle, half = bounds.mean(axis=1), np.diff(bounds, axis=1)[:, 0] / 2
            self.target = np.column_stack([self.target, middle])
            self.half_width = np.column_stack([self.half_width, half])
            self.spread = np.column_stack([self.spread, np.ones(len(bounds))])
            self.runs = np.append(self.runs, -1)

    def fitted(self, coef: Array) -> Array:
        """Return start coefficients with room for shifts, and for classes without labels."""
        more = np.subtract(self.target.shape, coef.shape)
        return np.pad(coef, ((0, more[0]), (0, more[1])))

    def _split(self, coef: Array) -> tuple[list[Lines], Array]:
        """Return the tilt of each class and its default score, shifted."""
        n = self.space.n_features
        lines = [
            self.space.lines(own[:n], target[:n], width[:n])
            for own, target, width in zip(coef, self.target, self.half_width, strict=True)
        ]
        return lines, self.log_default + (coef[:, n] if self.bounded else 0.0)

    def params(self, coef: Array) -> Scores:
        """Return what class_scores needs beside the cells."""
        lines, scores = self._split(coef)
        return self.shape, lines, scores, self.log_free

    def class_shares(self, coef: Array) -> tuple[Array, Array]:
        """Return the share of each class over the pool, and its divergence from the pool."""
        share, total = self.rows.fold(share_pass, self.params(coef), engine=self.engine)
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(share > 0, total / share - np.log(share), 0.0)
        return share, np.maximum(divergence, 0.0)

    def look(self, coef: Array) -> Look:
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
            # The divergence of one class counts with its share in that of all together.
            share = float(min(own.total for own in sums))
            gap = self._gap(coef, mean, seen, params) / max(share, 1e-300)
        return Look(value, mean, seen, gap)

    def _gap(self, coef: Array, mean: Array, seen: Array, params: Scores) -> float:
        """Give each class some of its labelled rows, taken from the classes without labels."""
        short = self._short_of(mean, seen)
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
            gap += float(own.pool @ self._dearer(prob, given, self.log_default[position]))
            gap += float(own.pool @ self._dearer(free, -given, self.log_free))
        return max(gap, 0.0)

    def _mixed_gap(self, short: Array, params: Scores) -> float:
        """Mix with the labels themselves, where a labelled row has nothing left to give.

        As many labelled rows as fit (probability 1 at the heaviest) meet all boxes too; mixing with
        them changes every row, which costs a pass more.
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
                own.pool @ self._dearer(prob[position], given, self.log_default[position])
            )
            total += float(own.pool @ self._dearer(free, -given, self.log_free))
        return float(max(value + total, 0.0))

    @staticmethod
    def _dearer(prob: Array, given: Array, log_default: float) -> Array:
        """Change of prob log(prob / default) when prob grows by `given`."""
        new = np.maximum(prob + given, 0.0)  # rounding where all is given away
        return np.asarray(xlogy(new, new) - xlogy(prob, prob) - given * log_default)

    def curvature(self, coef: Array, look: Look, working: Working) -> Array:
        """Return the second derivative over the classes together."""
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

    def _plain(self, working: Working) -> Working:
        """The working set without shifts."""
        kept = working.feature < self.space.n_features
        return Working._make(part[kept] for part in working)

    def _sampled(self, params: Scores) -> Coded:
        """The rows for the curvature, drawn anew where the old ones have worn out."""
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
    """Number the runs of features that are neighbours along the knots."""
    runs = np.arange(space.n_features) + space.n_features
    for number, part in enumerate(space.parts):
        if part.family.letter in "ht":
            runs[part.features] = number
    return runs
