"""Passes over coded rows: the value of each aggregate of a tilt, and the model's sums.

    entropy:  log sum_i pool_i exp(tilt_i)                                  (000 eq 7, 004 eq 12)
    robust :  sum_i pool_i log sum_y default_y exp(tilt_y,i)                (000 eq 10)

Each is a fold: one walk over the rows, pieces that stay in cache, the greatest exponent taken out.
From the sums the model's mean of every feature follows (maxent/feature_map.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from scarce.engine.block import PIECE_ROWS, Array
from scarce.engine.rows import add
from scarce.maxent.coded import Accumulator, Coded, CodedBlock, Shape, sums_of, tilt_of
from scarce.maxent.feature_map import Lines, Sums

Scores = tuple[Shape, list[Lines], Array, float]  # what class_scores needs beside the cells


class Weighed(NamedTuple):
    """Sums under weights exp(tilt - shift)."""

    shift: float
    sums: Sums


def entropy_pass(block: CodedBlock, params: tuple[Shape, Lines]) -> Weighed:
    """Kernel: sums of all features under pool * exp(tilt), with the greatest exponent taken out."""
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
    return Weighed(shift, total.close())


def _join(total: Weighed, more: Weighed) -> Weighed:
    if total.shift < more.shift:
        total, more = more, total
    factor = float(np.exp(more.shift - total.shift))
    scaled = Sums._make(factor * part for part in more.sums)
    return Weighed(total.shift, add(total.sums, scaled))


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


def _join_robust(total: Any, more: Any) -> Any:
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
    """Kernel: the value, and the divergence from the default when classes lose a share of theirs.

    Each labelled class keeps 1 - moved of its probability; the free classes get the rest.
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

    `log_free` is the log of the default share of all classes without labels, whose tilt is 0.
    """
    scores = np.empty((len(lines), cells.n))
    for score, own, default in zip(scores, lines, log_default, strict=True):
        tilt_of(cells, shape, own, score)
        score += default
    log_sum = np.full(cells.n, log_free)
    for score in scores:
        np.logaddexp(log_sum, score, out=log_sum)
    return log_sum, scores
