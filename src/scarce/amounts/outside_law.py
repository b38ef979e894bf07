"""What follows from a law that the user brought? All that the costs need, from its three methods.

    E g(y) = integral of g(quantile(Phi(t))) phi(t) dt

Panels are even in t, the normal score of the level, which suits tails. Assumes that mean(),
quantile(level) and cdf(y) belong to one law; checks only that they are finite numbers, one per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from scarce.amounts.law_readers import finite
from scarce.amounts.quadrature import ByNodes, finer, panels, with_cuts
from scarce.checks import column
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError

LEVEL_EDGES = np.linspace(-8, 8, 11)  # panels for any law, in normal scores of the level


class OutsidePredictive(ByNodes):
    """A predictive that the user brought: all else from its three methods, by quadrature."""

    node_count = cells = 8 * (len(LEVEL_EDGES) + 1)

    def __init__(self, source: Any) -> None:
        self.source, self.whole = source, not hasattr(source, "take")
        self.centre = finite(source.mean(), "mean()")
        self.n_rows = len(self.centre)

    def mean(self) -> Array:
        """Return the mean of each row."""
        return self.centre

    def quantile(self, level: Any) -> Array:
        """Return the source's quantile."""
        return self._read(self.source.quantile(level), "quantile(level)")

    def cdf(self, y: Any) -> Array:
        """Return the source's cdf."""
        return self._read(self.source.cdf(y), "cdf(y)")

    def take(self, rows: Any) -> OutsidePredictive:
        """Return the predictive of these rows."""
        if self.whole:
            raise UsageError(
                f"{type(self.source).__name__} has {self.n_rows:,} row(s) and the costs or actions "
                "have more: give it as many, or a method take(rows)."
            )
        return OutsidePredictive(self.source.take(rows))

    def nodes(self, splits: Array, fine: int = 1) -> tuple[Array, Array]:
        """Return points and weights; panels in normal scores of the level, which suit tails."""
        edges = finer(LEVEL_EDGES, fine)
        cuts = np.array([ndtri(self.cdf(cut)) for cut in splits.T]).T.reshape(splits.shape)
        t, weight = panels(with_cuts(edges, np.clip(cuts, edges[0], edges[-1])))
        y = np.stack([self.quantile(level) for level in ndtr(t).T], axis=1)
        return y, weight * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)

    def _read(self, values: Any, name: str) -> Array:
        single = np.ndim(values) == 0
        held = column([values] if single else values, f"{name} of {type(self.source).__name__}")
        if not (single or len(held) == self.n_rows) or not np.isfinite(held).all():
            raise DataError(
                f"{name} of {type(self.source).__name__} returned shape {np.shape(values)}, or a "
                f"number that is not finite, where {self.n_rows:,} finite numbers are needed."
            )
        return np.broadcast_to(held, self.n_rows)
