"""Do new rows miss much more than the training rows did? Then a model says so before it predicts.

Such rows were never seen: their probabilities rest on the front alone. On complete training rows
of categories that only count together, a stack can be worse than the constant there
(experiments/missing_values).
"""

from __future__ import annotations

import numpy as np

from scarce.engine.block import Array, Block
from scarce.errors import warn_user

FEW_ROWS = 20  # fewer may well miss many values by chance
MUCH_MORE, SOME_MORE = 2.0, 0.1  # times, and how much above, the training rows' share missing


def missing_by_column(block: Block, _: None) -> Array:
    """Kernel: how many values each column misses."""
    return np.asarray(np.isnan(block.X).sum(axis=0), dtype=np.float64)


def warn_if_more_missing(cells: Array, n_rows: int, before: float) -> None:
    """Warn where a far greater share of values is missing than in the training rows.

    Parameters
    ----------
    cells : ndarray
        How many values of each column are missing.
    n_rows : int
    before : float
        Share of the training rows' values.
    """
    share = float(cells.sum()) / (float(n_rows) * len(cells))
    if n_rows >= FEW_ROWS and share > max(MUCH_MORE * before, before + SOME_MORE):
        warn_user(
            "{share:.0%} of the values are missing in these rows, and {before:.1%} were in the "
            "training rows: probabilities rest on the assumption that columns are roughly "
            "normal, and values missing at random given those seen.",
            code="more-missing",
            share=share,
            before=before,
        )
