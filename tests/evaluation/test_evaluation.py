"""Evaluation: every figure is the public one; classes, weights and groups; what is not known."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from scarce import DataError, UsageError, brier_score, calibration_loss, log_loss
from scarce.evaluation.evaluation import drawn_weights, evaluate_prob
from scarce.scoring import row_losses


@pytest.fixture
def rows(rng):
    prob = rng.beta(1, 6, 500)
    return (rng.random(500) < prob).astype(int), prob


def same(one, other):
    return (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


def test_figures_of_two_classes_are_the_public_ones(rows):
    y, prob = rows
    found = evaluate_prob(y, prob, classes=("no", "yes"), level=0.8)
    assert found.log_loss.value == pytest.approx(log_loss(y, prob).value)
    assert found.brier.value == pytest.approx(brier_score(y, prob).value)
    assert found.log_loss.level == 0.8
    assert same(found.calibration[0], calibration_loss(y, prob, cut="rows", level=0.8))
    constant = np.full(500, y.mean())
    assert found.constant_log_loss.value == pytest.approx(log_loss(y, constant).value)
    assert found.brier_skill.value == pytest.approx(
        1 - ((prob - y) ** 2).mean() / (y.mean() * (1 - y.mean()))
    )
    assert found.auc[0].value == pytest.approx(roc_auc_score(y, prob))
    assert found.given[0].value == pytest.approx(prob.mean())
    assert found.happened[0].value == pytest.approx(y.mean())
    assert found.gap[0].value == pytest.approx(prob.mean() - y.mean())
    assert found.events == ("yes",)
    assert found.counts == (int((y == 0).sum()), int(y.sum()))


def test_weights_reach_every_figure(rows, rng):
    """Whole weights are the rows so many times over, in every value."""
    y, prob = rows
    times = rng.integers(0, 4, 500)
    weighted = evaluate_prob(y, prob, sample_weight=times)
    repeated = evaluate_prob(np.repeat(y, times), np.repeat(prob, times))
    for name in ("log_loss", "brier", "log_loss_skill", "brier_skill", "constant_brier"):
        assert getattr(weighted, name).value == pytest.approx(getattr(repeated, name).value)
        assert getattr(weighted, name).width > 1.2 * getattr(repeated, name).width  # one draw each
    for name in ("calibration", "given", "happened", "gap", "auc"):
        assert getattr(weighted, name)[0].value == pytest.approx(getattr(repeated, name)[0].value)


def test_several_classes_are_judged_one_by_one(rng):
    prob = rng.dirichlet([2, 1, 1], 400)
    y = np.array([rng.choice(3, p=p) for p in prob])
    found = evaluate_prob(y, prob, classes=("a", "b", "c"))
    assert found.events == ("a", "b", "c")
    for k in range(3):
        told = (y == k).astype(float)
        assert found.auc[k].value == pytest.approx(roc_auc_score(told, prob[:, k]))
        assert same(found.calibration[k], calibration_loss(told, prob[:, k], cut="rows"))
    share = np.bincount(y) / 400
    assert found.constant_log_loss.value == pytest.approx(-(share * np.log(share)).sum())


def test_two_columns_are_one(rows):
    y, prob = rows
    one, two = evaluate_prob(y, prob), evaluate_prob(y, np.column_stack([1 - prob, prob]))
    assert two.events == (1,)
    for name in ("log_loss", "brier", "log_loss_skill"):
        assert same(getattr(one, name), getattr(two, name))
    assert same(one.auc[0], two.auc[0])
    assert same(one.gap[0], two.gap[0])


def test_groups_reach_every_figure(rng):
    groups = np.repeat(np.arange(25), 20)
    prob = np.full(500, 0.3)
    y = (rng.random(25) < 0.3).astype(int)[groups]
    alone, grouped = evaluate_prob(y, prob), evaluate_prob(y, prob, groups=groups)
    for name in ("log_loss", "brier"):
        assert getattr(grouped, name).width > 2 * getattr(alone, name).width
    for name in ("calibration", "gap", "happened"):
        assert getattr(grouped, name)[0].width > 2 * getattr(alone, name)[0].width
    assert "groups of rows are independent" in grouped.log_loss.assumes


@pytest.mark.parametrize("only", [0, 1])
def test_rows_of_one_class_leave_limits_unknown(only):
    found = evaluate_prob([only] * 30, [0.2] * 30)
    assert found.log_loss.value == pytest.approx(-np.log(0.2 if only else 0.8))
    assert np.isnan([found.log_loss.high, found.brier.low, found.calibration[0].high]).all()
    assert np.isnan([found.auc[0].value, found.log_loss_skill.value]).all()
    assert found.remarks[0].startswith(f"There are rows of class {only} only (30 rows)")


def test_remarks_name_what_is_weak(rng):
    y = np.repeat([0, 1], [400, 5])
    found = evaluate_prob(y, np.where(y == 1, 0.5, 0.1))
    assert any("Only 5 rows of class 1" in said for said in found.remarks)
    bad = evaluate_prob(np.repeat([0, 1], 50), np.repeat([0.9, 0.1], 50))
    assert "are the classes exchanged" in bad.remarks[0]
    assert "less than nothing" in bad.remarks[1]
    flat = evaluate_prob(np.repeat([0, 1], 50), np.full(100, 0.5))
    assert flat.remarks[0].startswith("No gain over the same probability for every row in log loss")
    few = evaluate_prob([0] * 8 + [1] * 2, [0.1] * 8 + [0.6] * 2)
    assert "Only 2 rows of class 1: the intervals are wide" in few.remarks[-1]
    few = evaluate_prob(y, np.where(y == 1, 0.5, 0.1), groups=np.arange(405) % 4)
    assert few.remarks[-1] == "Only 4 groups: one of them decides much."


def test_a_constant_forecast_has_no_skill_and_no_rank(rows):
    y, _ = rows
    found = evaluate_prob(y, np.full(500, y.mean()))
    assert found.log_loss_skill.value == pytest.approx(0, abs=1e-12)
    assert found.auc[0].value == 0.5
    assert found.calibration[0].value == pytest.approx(0, abs=1e-15)


def test_a_single_event_gives_no_share_below_0_and_no_skill_above_1():
    """1 event in 888 rows: the share may be 0.5 %, and more than all cannot be saved."""
    y = np.repeat([0, 1], [887, 1])
    found = evaluate_prob(y, np.full(888, 0.01))
    assert found.happened[0].low > 0
    assert found.happened[0].high == pytest.approx(0.00533, rel=0.1)  # Clopper and Pearson
    assert found.log_loss.low >= 0
    assert found.log_loss_skill.high <= 1
    assert found.calibration[0].low >= 0
    one = evaluate_prob([1], [0.9])
    assert 0 <= one.given[0].low <= one.given[0].high <= 1


@pytest.mark.parametrize(("rows", "share"), [(300, 0.01), (900, 0.0144)])
def test_coverage_with_few_events(rng, rows, share):
    """At least 90 %, in every figure; normal intervals of log loss hold in 81 and 85 % of these."""

    def world(n):
        y = (rng.random(n) < share).astype(int)
        score = rng.normal(size=n) + 2 * y
        return y, 1 / (1 + np.exp(2 - 2 * score - np.log(share / (1 - share))))

    y, prob = world(1_000_000)
    losses = row_losses(y, prob, "log").mean(), row_losses(y, prob, "brier").mean()
    base = -(share * np.log(share) + (1 - share) * np.log(1 - share)), share * (1 - share)
    truth = [*losses, 1 - losses[0] / base[0], 1 - losses[1] / base[1], 0.0, share]
    held, worlds = np.zeros(6), 0
    while worlds < 30:
        y, prob = world(rows)
        if y.any():
            worlds += 1
            found = evaluate_prob(y, prob)
            told = [found.log_loss, found.brier, found.log_loss_skill, found.brier_skill]
            told += [found.gap[0], found.happened[0]]
            held += [true in one for true, one in zip(truth, told, strict=True)]
    assert (held / worlds >= 0.86).all()


def test_what_had_probability_0_is_infinite_and_counted():
    found = evaluate_prob([1, 1, 0, 0], [0.0, 0.0, 0.5, 0.2])
    assert found.log_loss.value == found.log_loss.low == np.inf
    assert found.log_loss.method == "2 outcomes had probability 0"
    assert found.log_loss_skill.high == -np.inf
    assert np.isfinite(found.brier.high)
    weighted = evaluate_prob([1, 1, 0, 0], [0.0, 0.4, 0.5, 0.2], sample_weight=[0, 1, 1, 1])
    assert np.isfinite(weighted.log_loss.high)


def test_drawn_rows_stand_for_others_and_give_the_whole(rng):
    prob = rng.beta(1, 4, 20_000)
    y = (rng.random(20_000) < prob).astype(int)
    chance = np.where(prob > 0.3, 1.0, 0.1)
    known = rng.random(20_000) < chance
    weight = drawn_weights(known, np.where(known, chance, np.nan))
    assert (weight[~known] == 0).all()
    found = evaluate_prob(y[known], prob[known], sample_weight=weight[known])
    whole = evaluate_prob(y, prob)
    assert whole.log_loss.value in found.log_loss
    assert whole.happened[0].value in found.happened[0]
    plain = evaluate_prob(y[known], prob[known])  # leaves out cheap rows
    assert whole.log_loss.value not in plain.log_loss


def test_rows_without_a_label_stand_for_nobody():
    assert drawn_weights(np.array([True, False]), [0.5, 0.25]).tolist() == [2.0, 0.0]


@pytest.mark.parametrize(
    ("known", "inclusion", "said"),
    [
        ([True, False], [np.nan, np.nan], "Row 0 is labelled and inclusion is unknown"),
        ([True, False], [0.0, 0.5], "Row 0 is labelled and inclusion is 0"),
        ([True, False], [0.5, 1.0], "Row 1 was to be labelled for certain"),
        ([True, False], [1.0, np.nan], "All 1 labels were certain"),
        ([True, False], [1.5, np.nan], "inclusion holds 1.5 at row 0"),
    ],
)
def test_impossible_draws_are_refused(known, inclusion, said):
    with pytest.raises(DataError, match=said):
        drawn_weights(np.array(known), inclusion)
    with pytest.raises(UsageError, match=r"inclusion= is missing"):
        drawn_weights(np.array(known), None)


@pytest.mark.parametrize(
    ("y", "prob", "said"),
    [
        ([0, 1], [0.5], "y_true has shape"),
        ([0, np.nan], [0.5, 0.5], "y_true holds nan at row 1"),
        ([0, 2], [0.5, 0.5], "y_true holds 2 at row 1"),
        ([0, 1], [0.5, 1.5], "prob holds 1.5 at row 1"),
        ([0, 1], [[0.5, 0.5], [0.5, 0.4]], "row 1 add up to 0.9"),
        ([], [], "y_true has shape"),
    ],
)
def test_bad_input_is_named(y, prob, said):
    with pytest.raises(DataError, match=said):
        evaluate_prob(y, prob)


def test_certain_probabilities_that_were_right_in_a_few_rows_prove_little():
    y = np.array([1, 0, 0, 1, 0])
    found = evaluate_prob(y, y.astype(float))
    assert (found.log_loss.value, found.brier.value) == (0, 0)
    assert found.log_loss.high > 0.3
    assert found.brier.high > 0.2
    assert found.log_loss_skill.low < 0.5
    many = evaluate_prob(np.tile(y, 2000), np.tile(y, 2000).astype(float))
    assert many.log_loss.high < 0.01


def test_rows_of_weight_0_are_not_there(rng):
    prob = rng.random(300)
    y = (rng.random(300) < prob).astype(int)
    weight = np.ones(300)
    weight[200:] = 0
    found, alone = evaluate_prob(y, prob, sample_weight=weight), evaluate_prob(y[:200], prob[:200])
    assert (found.rows, found.counts) == (alone.rows, alone.counts)
    assert sum(found.counts) == found.rows == 200


def test_each_class_has_its_own_mean(rng):
    prob = rng.dirichlet([1, 2, 5], 400)
    found = evaluate_prob(rng.integers(0, 3, 400), prob)
    assert [one.value for one in found.given] == pytest.approx(prob.mean(axis=0).tolist())


def test_remarks_wait_for_the_whole_interval(rng):
    y = np.arange(40) % 2
    prob = np.where(y == 1, 0.49, 0.5) + 0.2 * rng.normal(size=40) * 0.5
    found = evaluate_prob(y, np.clip(prob, 0.05, 0.95))
    assert found.auc[0].value < 0.5 <= found.auc[0].high
    assert not any("exchanged" in said for said in found.remarks)
    assert found.log_loss_skill.value < 0 <= found.log_loss_skill.high
    assert not any("less than nothing" in said for said in found.remarks)


def test_with_one_class_the_gap_has_no_limits():
    found = evaluate_prob(np.ones(30, dtype=int), np.full(30, 0.8))
    assert np.isnan([found.gap[0].low, found.gap[0].high]).any()


def test_no_skill_is_beyond_1():
    y = np.repeat([0, 1], [30, 30])
    found = evaluate_prob(y, np.where(y == 1, 0.9999, 0.0001))
    assert found.log_loss_skill.high <= 1
    assert found.brier_skill.high <= 1
