"""Moments of the classes: merged exactly."""

import numpy as np

from scarce.engine.block import Block
from scarce.gaussian.moments import Moments, class_moments, merge_moments


def test_merging_moments_is_exact_with_an_empty_side():
    some = class_moments(Block(np.array([[1.0], [3.0]]), np.array([0.0, 0.0])), (2, np.zeros(1)))
    none = Moments(np.zeros(2), *np.zeros((3, 2, 1)))
    for merged in (merge_moments(some, none), merge_moments(none, some)):
        assert merged.mean[0, 0] == 2
        assert merged.squares[0, 0] == 2
