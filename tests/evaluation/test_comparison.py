"""Comparison: differences row by row, the best, the noise, and the constant that stands in."""

import numpy as np
import pytest

from scarce import UsageError, log_loss
from scarce.evaluation.comparison import compare_prob, loss_difference


@pytest.fixture
def rows(rng):
    prob = rng.beta(1, 5, 800)
    return (rng.random(800) < prob).astype(int), prob


def test_differences_are_those_of_the_losses_with_a_paired_interval(rows, rng):
    y, prob = rows
    other = np.clip(prob * 1.5, 0.001, 0.999)
    found = compare_prob(y, {"right": prob, "off": other})
    apart = log_loss(y, other).value - log_loss(y, prob).value
    behind = found.behind["log_loss"]["off"]
    assert behind.value == pytest.approx(apart)
    losses = [-np.log(np.where(y == 1, p, 1 - p)) for p in (other, prob)]
    error = np.std(losses[0] - losses[1], ddof=1) / np.sqrt(800)
    assert behind.width == pytest.approx(2 * 1.645 * error, rel=0.15)
    assert behind.width < 0.5 * np.hypot(log_loss(y, prob).width, log_loss(y, other).width)
    direct = loss_difference(y, other, prob)
    assert (direct.value, direct.low) == pytest.approx((behind.value, behind.low))


def test_the_best_comes_first_and_the_constant_takes_part(rows):
    y, prob = rows
    found = compare_prob(y, {"blunt": prob * 0.5 + 0.1, "right": prob})
    assert next(iter(found.evaluations)) == found.best["log_loss"] == "right"
    assert found.best["brier"] == "right"
    assert "constant" in found.evaluations
    constant = found.evaluations["constant"]
    assert constant.given[0].value == pytest.approx(y.mean())
    assert set(found.ahead["log_loss"]) == {"blunt", "right"}
    assert set(found.behind["log_loss"]) == {"blunt", "constant"}


def test_noise_is_called_noise(rows, rng):
    y, prob = rows
    wiggled = np.clip(prob + 0.001 * rng.normal(size=800), 0.001, 0.999)
    found = compare_prob(y, {"one": prob, "other": wiggled, "flat": np.full(800, y.mean() + 0.01)})
    assert {found.best["log_loss"], *found.tied()} == {"one", "other"}
    assert "flat" in found.no_better()
    assert found.no_better() == ["flat"]


def test_a_given_constant_is_used_and_several_classes_work(rng):
    prob = rng.dirichlet([1, 1, 2], 300)
    y = np.array([rng.choice(3, p=p) for p in prob])
    flat = np.full((300, 3), 1 / 3)
    found = compare_prob(y, {"constant": flat, "right": prob}, classes=("a", "b", "c"))
    assert found.evaluations["constant"].log_loss.value == pytest.approx(np.log(3))
    assert found.tied() == []


def test_impossible_probabilities_do_not_break_it(rows):
    y, prob = rows
    zero = np.where(y == 1, 0.0, prob)
    found = compare_prob(y, {"right": prob, "zero": zero, "zero2": zero})
    assert found.behind["log_loss"]["zero"].low == np.inf
    assert found.ahead["log_loss"]["zero"].value == -np.inf
    assert np.isnan(loss_difference(y, zero, zero).value)
    assert found.tied() == []


def test_one_class_has_no_limits(rows):
    found = loss_difference([0, 0, 0], [0.1, 0.2, 0.1], [0.2, 0.2, 0.3])
    assert found.value < 0
    assert np.isnan(found.high)
    both = compare_prob([0, 0, 0], {"one": [0.1, 0.2, 0.1], "other": [0.2, 0.2, 0.3]})
    assert "other" in both.tied()


def test_groups_and_weights_reach_the_differences(rows, rng):
    y, prob = rows
    other = np.clip(prob * 1.5, 0.001, 0.999)
    weight = rng.integers(1, 4, 800)
    weighted = loss_difference(y, other, prob, sample_weight=weight)
    again = [np.repeat(x, weight) for x in (y, other, prob)]
    assert weighted.value == pytest.approx(loss_difference(*again).value)
    groups = np.repeat(np.arange(8), 100)
    assert "group" in loss_difference(y, other, prob, groups=groups).method
    twice = [np.repeat(x, 4) for x in (y, other, prob)]
    together = loss_difference(*twice, groups=np.repeat(np.arange(800), 4))
    assert together.width > 1.6 * loss_difference(*twice).width


def test_the_record_is_plain_data(rows):
    y, prob = rows
    plain = compare_prob(y, {"right": prob}).to_dict()
    assert plain["best"] == {"log_loss": "right", "brier": "right"}
    assert plain["no_better_than_constant"] == {"log_loss": [], "brier": []}
    with pytest.raises(UsageError, match=r"no model"):
        compare_prob(y, {})


def test_weights_and_levels_and_losses_reach_every_part(rng):
    prob = rng.beta(1, 3, 500)
    y = (rng.random(500) < prob).astype(int)
    weight = np.where(y == 1, 3.0, 1.0)
    models = {"right": prob, "off": np.clip(1.6 * prob, 0.001, 0.999)}
    found = compare_prob(y, models, sample_weight=weight)
    share = weight @ y / weight.sum()
    assert found.evaluations["constant"].given[0].value == pytest.approx(share)
    narrow = compare_prob(y, models, sample_weight=weight, level=0.5)
    for loss in ("log_loss", "brier"):
        ahead, behind = found.ahead[loss]["off"], found.behind[loss]
        worse = next(iter(set(behind) - {"constant"}))
        assert narrow.behind[loss][worse].width < 0.6 * behind[worse].width
        constant, off = found.evaluations["constant"], found.evaluations["off"]
        apart = getattr(constant, loss).value - getattr(off, loss).value
        assert ahead.value == pytest.approx(apart)


def test_the_best_is_chosen_by_each_loss_alone():
    y = np.repeat([0, 1], [90, 10])
    bold = np.where(y == 1, 0.95, 0.02)
    bold[-1] = 1e-12  # one great surprise: far worse in log loss, little in Brier score
    calm = np.where(y == 1, 0.6, 0.1)
    found = compare_prob(y, {"bold": bold, "calm": calm})
    assert (found.best["log_loss"], found.best["brier"]) == ("calm", "bold")
    assert next(iter(found.evaluations)) == "calm"
