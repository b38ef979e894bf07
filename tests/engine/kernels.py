"""Kernels that workers in other processes can import."""

import os
import signal

import numpy as np

from scarce.errors import DataError


def gram(block, coef):
    """One logistic pass: weighted Gram matrix, gradient and loss, in pieces and scratch memory."""
    k = block.X.shape[1]
    total = np.zeros((k, k))
    slope = np.zeros(k)
    loss = 0.0
    for piece in block.pieces(512):
        score = piece.X @ coef
        prob = 1 / (1 + np.exp(-score))
        scaled = piece.scratch("tests.gram", piece.X.shape)
        np.multiply(piece.X, (prob * (1 - prob))[:, None], out=scaled)
        total += piece.X.T @ scaled
        slope += piece.X.T @ (prob - piece.y)
        loss += np.logaddexp(0, score).sum()
    return {"gram": total, "slope": slope, "loss": loss}


def extremes(block, _):
    return np.stack([np.nanmin(block.X, axis=0), np.nanmax(block.X, axis=0)])


def merge_extremes(total, more):
    return np.stack([np.minimum(total[0], more[0]), np.maximum(total[1], more[1])])


extremes.merge = merge_extremes


def scores(block, coef):
    return block.X @ coef


def first_row(block, _):
    """Not commutative under concatenation: shows the order of the merge."""
    return (block.start,)


def fail_at(block, index):
    if block.index == index:
        raise ZeroDivisionError("no weight")
    return 1.0


def refuse_at(block, index):
    if block.index == index:
        raise DataError("Column 'a': something is wrong.")
    return 1.0


def die_at(block, index):
    if block.index == index:
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0


def die_once_at(block, where):
    """Kill the worker that reaches the block first; whoever reaches it next is spared."""
    index, mark = where
    if block.index == index:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 1.0
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0


def exit_at(block, index):
    if block.index == index:
        os._exit(3)
    return 1.0


def return_scratch(block, _):
    held = block.scratch("tests.returned", (2,))
    held[:] = block.start, len(block)
    return held
