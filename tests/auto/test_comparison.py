"""The comparison as text: of a stack, and of what predicts where labels are too few."""

import numpy as np
import pytest

from scarce import AutoClassifier


@pytest.mark.parametrize("classes", [2, 3])
def test_a_summary_where_labels_are_too_few_to_compare(classes):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.arange(40) % classes
    model = AutoClassifier(["logit"]).fit(X, y)
    assert model.chosen_ == "flic"
    lines = model.summary().splitlines()
    assert lines[0] == "Too few labels to compare models on left-out rows."
    assert "predicts: flic" in lines
