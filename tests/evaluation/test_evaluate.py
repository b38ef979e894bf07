"""Evaluation: every figure is the public one; classes, weights and groups; what is not known."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from scarce import (
    DataError,
    UsageError,
    brier_curve,
    brier_score,
    calibration_loss,
    decision_curve,
    evaluate,
    log_loss,
    risk_coverage,
)
from scarce.errors import Argument
from scarce.evaluation.evaluate import at_threshold
from scarce.evaluation.ranking import auc
from scarce.missed.rules import proportion
from scarce.scoring import row_losses
from tests.problems import codes, refused


@pytest.fixture
def rows(rng):
    prob = rng.beta(1, 6, 500)
    return (rng.random(500) < prob).astype(int), prob


def same(one, other):
    return (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


def test_figures_of_two_classes_are_the_public_ones(rows):
    y, prob = rows
    found = evaluate(np.array(["no", "yes"])[y], prob, classes=("no", "yes"), level=0.8)
    assert found.log_loss == log_loss(y, prob, level=0.8)
    assert found.brier == brier_score(y, prob, level=0.8)
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
    weighted = evaluate(y, prob, sample_weight=times)
    repeated = evaluate(np.repeat(y, times), np.repeat(prob, times))
    for name in ("log_loss", "brier", "log_loss_skill", "brier_skill", "constant_brier"):
        assert getattr(weighted, name).value == pytest.approx(getattr(repeated, name).value)
        assert getattr(weighted, name).width > 1.2 * getattr(repeated, name).width  # one draw each
    for name in ("given", "happened", "gap", "auc"):
        assert getattr(weighted, name)[0].value == pytest.approx(getattr(repeated, name)[0].value)
    # Calibration is freed of noise, of which weights have more than rows have.
    assert weighted.calibration[0].value <= repeated.calibration[0].value


def test_several_classes_are_judged_one_by_one(rng):
    prob = rng.dirichlet([2, 1, 1], 400)
    y = np.array([rng.choice(3, p=p) for p in prob])
    found = evaluate(np.array(list("abc"))[y], prob, classes=("a", "b", "c"))
    assert found.events == ("a", "b", "c")
    for k in range(3):
        told = (y == k).astype(float)
        assert found.auc[k].value == pytest.approx(roc_auc_score(told, prob[:, k]))
        assert same(found.calibration[k], calibration_loss(told, prob[:, k], cut="rows"))
    share = np.bincount(y) / 400
    assert found.constant_log_loss.value == pytest.approx(-(share * np.log(share)).sum())


def test_two_columns_are_one(rows):
    y, prob = rows
    one, two = evaluate(y, prob), evaluate(y, np.column_stack([1 - prob, prob]))
    assert two.events == (1,)
    for name in ("log_loss", "brier", "log_loss_skill"):
        assert same(getattr(one, name), getattr(two, name))
    assert same(one.auc[0], two.auc[0])
    assert same(one.gap[0], two.gap[0])


def test_groups_reach_every_figure(rng):
    groups = np.repeat(np.arange(25), 20)
    prob = np.full(500, 0.3)
    y = (rng.random(25) < 0.3).astype(int)[groups]
    alone, grouped = evaluate(y, prob), evaluate(y, prob, groups=groups)
    for name in ("log_loss", "brier"):
        assert getattr(grouped, name).width > 2 * getattr(alone, name).width
    for name in ("calibration", "gap", "happened"):
        assert getattr(grouped, name)[0].width > 2 * getattr(alone, name)[0].width
    assert "groups of rows are independent" in grouped.log_loss.assumes


@pytest.mark.parametrize("only", [0, 1])
def test_rows_of_one_class_leave_limits_unknown(only):
    found = evaluate([only] * 30, [0.2] * 30)
    assert found.log_loss.value == pytest.approx(-np.log(0.2 if only else 0.8))
    assert np.isnan([found.log_loss.high, found.brier.low, found.calibration[0].high]).all()
    assert np.isnan([found.auc[0].value, found.log_loss_skill.value]).all()
    assert codes(found.remarks)[0] == "one-class"
    assert found.remarks[0].fields["name"] == str(only)


def test_remarks_name_what_is_weak(rng):
    y = np.repeat([0, 1], [400, 5])
    found = evaluate(y, np.where(y == 1, 0.5, 0.1))
    assert found.remarks[-1].fields["rows"] == "5 rows"
    bad = evaluate(np.repeat([0, 1], 50), np.repeat([0.9, 0.1], 50))
    assert codes(bad.remarks) == ["ranks-reversed", "worse-than-constant"]
    flat = evaluate(np.repeat([0, 1], 50), np.full(100, 0.5))
    assert codes(flat.remarks)[0] == "no-gain"
    few = evaluate([0] * 8 + [1] * 2, [0.1] * 8 + [0.6] * 2)
    assert codes(few.remarks)[-1] == "few-rows"
    assert few.remarks[-1].fields["rows"] == "2 rows"
    few = evaluate(y, np.where(y == 1, 0.5, 0.1), groups=np.arange(405) % 4)
    assert codes(few.remarks)[-1] == "few-groups"
    assert few.remarks[-1].fields["count"] == 4


def test_a_constant_forecast_has_no_skill_and_no_rank(rows):
    y, _ = rows
    found = evaluate(y, np.full(500, y.mean()))
    assert found.log_loss_skill.value == pytest.approx(0, abs=1e-12)
    assert found.auc[0].value == 0.5
    assert found.calibration[0].value == pytest.approx(0, abs=1e-15)


def test_a_single_event_gives_no_share_below_0_and_no_skill_above_1():
    """1 event in 888 rows: the share may be 0.5 %, and more than all cannot be saved."""
    y = np.repeat([0, 1], [887, 1])
    found = evaluate(y, np.full(888, 0.01))
    assert found.happened[0].low > 0
    assert found.happened[0].high == pytest.approx(0.00533, rel=0.1)  # Clopper and Pearson
    assert found.log_loss.low >= 0
    assert found.log_loss_skill.high <= 1
    assert found.calibration[0].low >= 0
    one = evaluate([1], [0.9])
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
            found = evaluate(y, prob)
            told = [found.log_loss, found.brier, found.log_loss_skill, found.brier_skill]
            told += [found.gap[0], found.happened[0]]
            held += [true in one for true, one in zip(truth, told, strict=True)]
    assert (held / worlds >= 0.86).all()


def test_what_had_probability_0_is_infinite_and_counted():
    found = evaluate([1, 1, 0, 0], [0.0, 0.0, 0.5, 0.2])
    assert found.log_loss.value == found.log_loss.low == np.inf
    assert found.log_loss.method == "2 outcomes had probability 0"
    assert found.log_loss_skill.high == -np.inf
    assert np.isfinite(found.brier.high)
    weighted = evaluate([1, 1, 0, 0], [0.0, 0.4, 0.5, 0.2], sample_weight=[0, 1, 1, 1])
    assert np.isfinite(weighted.log_loss.high)


def test_drawn_rows_stand_for_others_and_give_the_whole(rng):
    prob = rng.beta(1, 4, 20_000)
    y = (rng.random(20_000) < prob).astype(int)
    chance = np.where(prob > 0.3, 1.0, 0.1)
    known = rng.random(20_000) < chance
    labels = np.where(known, y, np.nan)
    found = evaluate(labels, prob, inclusion=np.where(known, chance, np.nan))
    assert "stated probability" in found.log_loss.assumes
    whole = evaluate(y, prob)
    assert whole.log_loss.value in found.log_loss
    assert whole.happened[0].value in found.happened[0]
    plain = evaluate(y[known], prob[known])  # leaves out cheap rows
    assert whole.log_loss.value not in plain.log_loss


@pytest.mark.parametrize(
    ("y", "prob", "code"),
    [
        ([0, 1], [0.5], "length-mismatch"),
        ([0, np.nan], [0.5, 0.5], "unlabelled-rows"),
        ([0, 2], [0.5, 0.5], "unknown-class"),
        ([0, 1], [0.5, 1.5], "prob-range"),
        ([0, 1], [[0.5, 0.5], [0.5, 0.4]], "prob-sum"),
        ([0, 1], [[0.5, 1.5], [0.5, 0.5]], "prob-range"),
        ([], [], "no-rows"),
    ],
)
def test_bad_input_is_named(y, prob, code):
    with refused(code, DataError):
        evaluate(y, prob)


def test_settings_are_checked():
    for level in (0, 1.5, "high"):
        with refused("level-range", UsageError, argument="level", value=level):
            evaluate([0, 1], [0.2, 0.4], level=level)
    with refused("shape-mismatch", DataError):
        evaluate([0, 1], [0.2, 0.4], classes=("a", "b", "c"))
    with refused("two-classes-needed", UsageError, count=3):
        evaluate([0, 1, 2], np.full((3, 3), 1 / 3), threshold=0.5)
    with refused("too-few-resamples", UsageError, resamples=Argument("resamples", 20000)):
        evaluate([0, 1], [0.2, 0.4], level=0.999, resamples=1000)
    assert evaluate([0, 1] * 9, [0.2, 0.4] * 9, level=0.999).level == 0.999


def test_certain_probabilities_that_were_right_in_a_few_rows_prove_little():
    y = np.array([1, 0, 0, 1, 0])
    found = evaluate(y, y.astype(float))
    assert (found.log_loss.value, found.brier.value) == (0, 0)
    assert found.log_loss.high > 0.3
    assert found.brier.high > 0.2
    assert found.log_loss_skill.low < 0.5
    many = evaluate(np.tile(y, 2000), np.tile(y, 2000).astype(float))
    assert many.log_loss.high < 0.01


def test_rows_of_weight_0_are_not_there(rng):
    prob = rng.random(300)
    y = (rng.random(300) < prob).astype(int)
    weight = np.ones(300)
    weight[200:] = 0
    found, alone = evaluate(y, prob, sample_weight=weight), evaluate(y[:200], prob[:200])
    assert (found.rows, found.counts) == (alone.rows, alone.counts)
    assert sum(found.counts) == found.rows == 200


def test_each_class_has_its_own_mean(rng):
    prob = rng.dirichlet([1, 2, 5], 400)
    found = evaluate(rng.integers(0, 3, 400), prob)
    assert [one.value for one in found.given] == pytest.approx(prob.mean(axis=0).tolist())


def test_remarks_wait_for_the_whole_interval(rng):
    y = np.arange(40) % 2
    prob = np.where(y == 1, 0.49, 0.5) + 0.2 * rng.normal(size=40) * 0.5
    found = evaluate(y, np.clip(prob, 0.05, 0.95))
    assert found.auc[0].value < 0.5 <= found.auc[0].high
    assert "ranks-reversed" not in codes(found.remarks)
    assert found.log_loss_skill.value < 0 <= found.log_loss_skill.high
    assert "worse-than-constant" not in codes(found.remarks)


def test_with_one_class_the_gap_has_no_limits():
    found = evaluate(np.ones(30, dtype=int), np.full(30, 0.8))
    assert np.isnan([found.gap[0].low, found.gap[0].high]).any()


def test_no_skill_is_beyond_1():
    y = np.repeat([0, 1], [30, 30])
    found = evaluate(y, np.where(y == 1, 0.9999, 0.0001))
    assert found.log_loss_skill.high <= 1
    assert found.brier_skill.high <= 1


@pytest.mark.parametrize("n", [400, 9000])
@pytest.mark.parametrize("kind", ["alone", "weight", "groups", "inclusion"])
def test_one_number_has_one_value_and_one_interval(rng, n, kind):
    """Whoever is asked for a Brier score, log loss, base rate or AUC of the same rows."""
    prob = rng.beta(0.5, 10, n)
    y = (rng.random(n) < prob).astype(float)
    more = {
        "alone": {},
        "weight": {"sample_weight": rng.integers(1, 4, n)},
        "groups": {"groups": np.arange(n) // 3},
        "inclusion": {"inclusion": np.full(n, 0.5)},
    }[kind]
    if kind == "inclusion":
        y[rng.random(n) < 0.5] = np.nan
    how = {**more, "level": 0.8, "random_state": 7, "resamples": 200}
    found = evaluate(y, prob, **how)
    assert found.brier == brier_score(y, prob, **how)
    assert found.log_loss == log_loss(y, prob, **how)
    assert found.brier == brier_curve(y, prob, **how).area
    assert found.happened[0] == decision_curve(y, prob, **how).prevalence
    assert found.auc[0] == auc(y, prob, **how)
    assert found.brier != evaluate(y, prob, **{**how, "random_state": 8}).brier


def test_figures_at_a_threshold_come_along(rows):
    y, prob = rows
    found = evaluate(y, prob, threshold=0.2).at_threshold
    alone = at_threshold(y, prob, 0.2)
    assert (found.recall, found.missed, found.threshold) == (alone.recall, alone.missed, 0.2)
    assert evaluate(y, prob).at_threshold is None


def test_the_record_is_json_and_reads_well(rows):
    y, prob = rows
    found = evaluate(y, prob, threshold=0.2)
    told = json.loads(found.to_json())
    assert told["at_threshold"]["recall"]["value"] == found.at_threshold.recall.value
    assert told == found.to_dict()
    assert "recall at 0.2" in str(found)
    assert found._repr_html_().count("<tr>") > 10


@pytest.fixture
def scored(rng):
    y = (rng.random(600) < 0.1).astype(int)
    return y, rng.normal(size=600) + 1.5 * y


@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_shares_are_scikit_learns(scored, rng, weighted):
    y, score = scored
    weight = rng.random(600) if weighted else None
    found, said = at_threshold(y, score, 1.0, sample_weight=weight), score >= 1.0
    assert found.recall.value == pytest.approx(recall_score(y, said, sample_weight=weight))
    assert found.precision.value == pytest.approx(precision_score(y, said, sample_weight=weight))
    assert found.specificity.value == pytest.approx(
        recall_score(1 - y, ~said, sample_weight=weight)
    )
    assert found.alerts.value == pytest.approx(np.average(said, weights=weight))
    assert (found.found, found.missed) == (y[said].sum(), y[~said].sum())
    assert found.false_alarms == (1 - y)[said].sum()


def test_oracle_limits_are_exact_ones():
    """13 events, 7 found: nobody knows recall to be 0.538 in the next 13."""
    y = np.repeat([0, 1], [887, 13])
    score = np.r_[np.zeros(687), np.ones(200), np.zeros(6), np.ones(7)]
    found = at_threshold(y, score, 1.0)
    for one, count, whole in ((found.recall, 7, 13), (found.precision, 7, 207)):
        exact = proportion(count, whole, 0.9, "")
        assert one.low == pytest.approx(exact.low, abs=0.05 * exact.width)
        assert one.high == pytest.approx(exact.high, abs=0.05 * exact.width)


def test_the_threshold_itself_is_an_alert():
    assert at_threshold([0, 1], [0.2, 0.5], 0.5).found == 1
    assert at_threshold([0, 1], [0.2, 0.5], 0.5000001).missed == 1


def test_shares_of_nothing_are_unknown():
    found = at_threshold([0, 0, 0], [0.1, 0.2, 0.3], 0.9)
    assert np.isnan([found.recall.value, found.precision.value]).all()
    assert found.specificity.value == 1.0
    assert found.specificity.low < 1.0


def test_groups_widen_shares(scored):
    y, score = np.repeat(scored[0], 4), np.repeat(scored[1], 4)
    alone = at_threshold(y, score, 1.0).recall
    grouped = at_threshold(y, score, 1.0, groups=np.repeat(np.arange(600), 4)).recall
    assert grouped.width > 1.6 * alone.width


def test_weight_0_is_no_row_and_a_lower_level_is_narrower(rng):
    y, score = rng.integers(0, 2, 200), rng.random(200)
    weight = np.r_[np.ones(120), np.zeros(80)]
    found = at_threshold(y, score, 0.4, sample_weight=weight)
    alone = at_threshold(y[:120], score[:120], 0.4)
    assert (found.found, found.missed) == (alone.found, alone.missed)
    assert at_threshold(y, score, 0.4, level=0.5).recall.width < 0.7 * alone.recall.width


@pytest.mark.parametrize("loss", ["brier", "log"])
def test_the_risk_of_all_rows_is_the_score(rows, loss):
    y, prob = rows
    found = evaluate(y, prob, level=0.8)
    whole = risk_coverage(y, prob, loss=loss, level=0.8).full
    assert whole == (found.brier if loss == "brier" else found.log_loss)


def test_precision_of_alerts_that_were_all_labelled_is_that_of_the_alerts_alone():
    """Rows below the threshold, drawn 1 in 100, say nothing about it and hide no alert."""
    y = np.full(10_100, np.nan)
    y[:30], y[30:200] = 1, 0
    score = np.repeat([0.3, 0.03], [100, 10_000])
    inclusion = np.repeat([1.0, 0.01], [100, 10_000])
    found = at_threshold(y, score, 0.1, inclusion=inclusion)
    exact = binomtest(30, 100).proportion_ci(0.9)
    assert (found.precision.low, found.precision.high) == pytest.approx(exact, abs=0.01)
    none_seen = binomtest(0, 100).proportion_ci(0.9)  # of those below
    assert found.recall.low == pytest.approx(30 / (30 + 10_000 * none_seen.high), rel=0.1)


def test_a_lucky_event_is_one_that_these_probabilities_could_have_had(rng):
    """No row was given more than 1 %: an event loses at least .98 in Brier score, seen or not."""
    prob = rng.uniform(0.001, 0.01, 1000)
    y = np.zeros(1000)
    y[[3, 500, 900]] = 1
    found = evaluate(y, prob)
    assert found.brier_skill.high < 0.03
    assert found.log_loss_skill.high < 1 - np.log(0.01) / np.log(0.0005)  # of at most 1 in 2,000


def test_the_right_constant_is_not_called_worse_than_the_constant(rng):
    """The shares of the rows fit these rows best, which does not make the true ones worse."""
    called = 0
    for _ in range(100):
        y = (rng.random(200) < 0.3).astype(int)
        called += "worse-than-constant" in codes(
            evaluate(y, np.full(200, 0.3), resamples=200).remarks
        )
    assert called <= 15  # of 10 that may be at this level
