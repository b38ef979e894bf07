"""Do new rows miss much more than the training rows did? Then a model says so before it predicts.

Nothing in the training rows shows what such rows are like: their probabilities rest on what is
assumed of missing values.
"""

from __future__ import annotations

import numpy as np

from scarce.engine.block import Array, Block
from scarce.errors import warn_user

NORMAL = "that columns are roughly normal, and values missing at random given those seen"
AT_RANDOM = "that values are missing at random"
FEW_ROWS = 20  # fewer may well miss many values by chance
MUCH_MORE, SOME_MORE = 2.0, 0.1  # times, and how much above, the training rows' share missing


def missing_by_column(block: Block, _: None) -> Array:
    """Kernel: how many values each column misses."""
    return np.asarray(np.isnan(block.X).sum(axis=0), dtype=np.float64)


def warn_if_more_missing(cells: Array, n_rows: int, before: float, assumed: str = NORMAL) -> None:
    """Warn where a far greater share of values is missing than in the training rows.

    Parameters
    ----------
    cells : ndarray
        How many values of each column are missing.
    n_rows : int
    before : float
        Share of the training rows' values.
    assumed : str
        What the probabilities of such rows rest on.
    """
    share = float(cells.sum()) / (float(n_rows) * len(cells))
    if n_rows >= FEW_ROWS and share > max(MUCH_MORE * before, before + SOME_MORE):
        warn_user(
            "{share:.0%} of the values are missing in these rows, and {before:.1%} were in the "
            "training rows: probabilities rest on the assumption {assumed}.",
            code="more-missing",
            assumed=assumed,
            share=share,
            before=before,
        )
