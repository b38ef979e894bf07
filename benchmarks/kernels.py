"""The kernels that benchmarks fold, in a module that worker processes can import.

Written in the recommended manner: pieces that stay in cache, scratch memory with out=, no large
temporary. Pure: the result depends on the block and the coefficients alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from scarce.engine.block import Block

Array = NDArray[np.float64]


def logistic_pass(block: Block, coef: Array) -> dict[str, Array]:
    """Return Gram matrix, gradient and loss of logistic regression over a block.

    gram = sum prob (1 - prob) x x',  gradient = sum (prob - y) x,  loss = sum softplus(s) - y s
    """
    width = block.X.shape[1]
    gram, gradient, loss = np.zeros((width, width)), np.zeros(width), np.zeros(1)
    part = Block.scratch("gram part", (width, width))
    for piece in block.pieces():
        rows = len(piece)
        score = np.matmul(piece.X, coef, out=Block.scratch("score", (rows,)))
        prob = expit(score, out=Block.scratch("prob", (rows,)))
        work = np.logaddexp(0.0, score, out=Block.scratch("work", (rows,)))
        loss += work.sum() - piece.y @ score
        gradient += np.subtract(prob, piece.y, out=work) @ piece.X
        np.subtract(1.0, prob, out=work)
        work *= prob
        np.sqrt(work, out=work)  # a matrix times its own transpose costs BLAS half the work
        scaled = np.multiply(piece.X, work[:, None], out=Block.scratch("scaled", (rows, width)))
        gram += np.matmul(scaled.T, scaled, out=part)
    return {"gram": gram, "gradient": gradient, "loss": loss}
