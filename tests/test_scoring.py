"""Losses of rows: the definitions, both ways of writing two classes, and digits at both ends."""

import numpy as np
import pytest

from scarce import UsageError, brier_score, log_loss
from scarce.scoring import losses_if, row_losses


@pytest.fixture
def rows(rng):
    prob = rng.beta(1, 8, 300)
    return (rng.random(300) < prob).astype(int), prob


def test_means_of_two_classes_are_the_public_scores(rows):
    y, prob = rows
    for loss, public in (("log", log_loss), ("brier", brier_score)):
        assert row_losses(y, prob, loss).mean() == pytest.approx(public(y, prob).value, rel=1e-13)


def test_a_column_for_each_of_two_classes_loses_the_same(rows):
    y, prob = rows
    both = np.column_stack([1 - prob, prob])
    for loss in ("log", "brier"):
        np.testing.assert_allclose(  # 1 - prob, as a column of its own, has lost its last digits
            row_losses(y, both, loss), row_losses(y, prob, loss), rtol=1e-12, atol=1e-15
        )


def test_several_classes_by_their_definition(rng):
    prob = rng.dirichlet([1, 2, 3], 40)
    y = rng.integers(0, 3, 40)
    told = np.eye(3)[y]
    np.testing.assert_allclose(
        row_losses(y, prob, "brier"), ((prob - told) ** 2).sum(axis=1) / 2, rtol=1e-13
    )
    np.testing.assert_allclose(
        row_losses(y, prob, "log"), -(told * np.log(prob)).sum(axis=1), rtol=1e-13
    )


def test_log_loss_keeps_digits_at_both_ends():
    found = row_losses([0, 1], [1e-300, 1e-300], "log")
    assert found[0] == 1e-300
    assert found[1] == pytest.approx(300 * np.log(10))


def test_what_is_infinite_becomes_the_greatest_that_is_not():
    assert row_losses([1, 1], [0.0, 0.5], "log")[0] == np.inf
    assert losses_if([0.0, 0.5, 0.1], 1, "log")[0] == pytest.approx(-np.log(0.1))
    # as improbable as what two rows have not shown (Laplace)
    assert losses_if([0.0, 0.0], 1, "log").tolist() == pytest.approx([np.log(4)] * 2)
    assert losses_if([[0.2, 0.8]], 0, "brier")[0] == pytest.approx(0.64)


def test_an_unknown_loss_is_refused():
    with pytest.raises(UsageError, match=r"Did you mean 'brier'"):
        row_losses([0], [0.5], "brie")
