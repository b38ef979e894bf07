"""Drivers: shuffling by hand, known truth, categories as one, curves, model files, the page."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit, logit
from sklearn.inspection import permutation_importance
from sklearn.tree import DecisionTreeClassifier

from scarce import AutoClassifier, DataError, UsageError, open_rows
from scarce.auto.drivers import Drivers, Kept, find_drivers, keep_some
from scarce.report.models import show_model
from scarce.report.page import Report
from scarce.scoring import score_log_losses
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


def world(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), np.full(n, 2.0)])
    return X, (rng.random(n) < expit(-1 + 2 * X[:, 0] - 0.7 * X[:, 1])).astype(int)


@pytest.fixture(scope="module")
def fitted():
    return AutoClassifier(["logit"], cv=4).fit(*world())


def linear(slopes):
    return lambda X, fold: X @ slopes


def test_oracle_a_linear_score_shuffled_by_hand():
    rng = np.random.default_rng(0)
    X, slopes = rng.normal(size=(900, 3)), np.array([1.5, 0.0, -0.5])
    y = (rng.random(900) < expit(X @ slopes)) * 1.0
    kept = Kept(X, y, np.ones(900), np.arange(900) % 3, 0)
    found = find_drivers(
        linear(slopes), kept, ["a", "b", "c"], [np.array([j]) for j in range(3)], [None] * 3
    )
    assert found.loss == pytest.approx(score_log_losses(y, X @ slopes).mean())
    assert found.increase[1] == pytest.approx(0, abs=1e-12)
    # E[loss] with x1 replaced by an independent draw, by simulation with 2 million pairs
    draw, fresh = rng.normal(size=(400_000, 3)), rng.normal(size=400_000)
    p, other = expit(draw @ slopes), draw.copy()
    other[:, 0] = fresh
    gain = (p * (draw @ slopes - other @ slopes)).mean()
    gain += (np.logaddexp(0, other @ slopes) - np.logaddexp(0, draw @ slopes)).mean()
    assert found.increase[0] == pytest.approx(gain, abs=4 * found.error[0] + 0.05)
    assert [name for name, _, _ in found.ranked()] == ["a", "c", "b"]
    x, prob = found.curves["a"]
    rows = np.linspace(0, 900, 200, endpoint=False).astype(int)
    by_hand = [expit(value * 1.5 - 0.5 * X[rows, 2]).mean() for value in x]
    np.testing.assert_allclose(prob[:, 1], by_hand, rtol=1e-9)
    np.testing.assert_allclose(prob.sum(axis=1), 1)


def test_oracle_scikit_learn_s_permutation_importance(fitted):
    X, y = world(4000, seed=9)
    theirs = permutation_importance(
        fitted, X, y, scoring="neg_log_loss", n_repeats=3, random_state=0
    ).importances_mean
    ours = fitted.drivers()
    assert ours.columns == ("x0", "x1", "x2", "x3")
    assert (np.abs(ours.increase[:3] - theirs[:3]) < 4 * ours.error[:3] + 0.01).all()
    assert ours.increase[3] == 0
    assert "x3" not in ours.curves
    assert ours.ranked()[0][0] == "x0"
    line = fitted.comparison_["auto"]["log_loss"]
    assert ours.loss == pytest.approx(line, abs=0.03)
    assert ours.rows == 600


def test_each_row_is_predicted_by_the_fit_that_had_not_seen_it():
    X, y = world()
    folds = np.arange(600) % 3
    parts = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    model = AutoClassifier([("tree", DecisionTreeClassifier())], cv=parts, fallback=None).fit(X, y)
    lost = np.empty(600)
    for fold in range(3):
        out = folds == fold
        prob = model.members_["tree"][fold].estimator_.predict_proba(X[out])
        e, own = model.floors_["tree"], prob[:, model.members_["tree"][fold].positive_]
        share = y.mean() if model.rarer_ else 1 - y.mean()
        score = model.weights_["tree"] * logit((1 - e) * own + e * share) + model.stack_intercept_
        lost[out] = score_log_losses(y[out] == model.rarer_, score)
    assert model.drivers().loss == pytest.approx(lost.mean())


def test_oracle_rare_events_of_which_more_are_kept_do_not_lend_more_values():
    rng = np.random.default_rng(0)
    slopes = np.array([2.0, 0.5])
    X = np.column_stack([rng.normal(size=(20_000, 2)), np.full(20_000, -6.5)])
    score = linear(np.append(slopes, 1.0))
    y = (rng.random(20_000) < expit(score(X, 0))) * 1.0  # 1 % events
    kept = keep_some(X, y, np.ones(20_000), np.arange(20_000) % 5, 0)
    found = find_drivers(score, kept, ["a", "b"], [np.array([0]), np.array([1])], [None] * 2)
    for j in range(2):
        changed = [X.copy() for _ in range(5)]
        for one in changed:
            one[:, j] = rng.permutation(one[:, j])
        lost = np.mean([score_log_losses(y, score(one, 0)).mean() for one in changed])
        expected = lost - score_log_losses(y, score(X, 0)).mean()
        assert found.increase[j] == pytest.approx(expected, rel=0.2)


def test_folds_may_be_small_or_have_one_value_of_a_column():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([-1.0, -0.5, 0, 0.5, 1], 40), rng.normal(size=200)])
    y = (rng.random(200) < expit(3 * X[:, 0] + X[:, 1])) * 1.0
    columns, levels = [np.array([0]), np.array([1])], [None] * 2

    def increase(fold):
        kept = Kept(X, y, np.ones(200), fold, 0)
        return find_drivers(linear(np.array([3.0, 1])), kept, ["a", "b"], columns, levels).increase

    mixed = increase(np.arange(200) % 5)
    assert mixed[0] > 2 * mixed[1] > 0.1
    np.testing.assert_allclose(increase(np.repeat(np.arange(5), 40)), mixed, rtol=0.2)
    np.testing.assert_allclose(increase(np.arange(200)), mixed, rtol=0.2)  # one row each


def test_a_category_is_shuffled_whole():
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Trier", "Ulm"], 400)
    age = rng.normal(size=400)
    y = (rng.random(400) < np.where(city == "Ulm", 0.6, 0.1)).astype(int)
    rows = open_rows(pa.table({"age": age, "city": city, "y": y}), label="y")
    model = AutoClassifier(["logit"], cv=4).fit(rows)
    found = model.drivers()
    assert found.columns == ("age", "city")
    assert found.ranked()[0][0] == "city"
    assert found.increase[1] > 4 * found.increase[0]
    x, prob = found.curves["city"]
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_allclose(prob[:, 1], [0.1, 0.1, 0.6], atol=0.12)
    page = show_model(Report("page"), model).to_dict()
    assert "Drivers" in str(page)


def test_the_same_for_any_row_order_and_exactly_in_a_file(fitted):
    X, y = world()
    order = np.random.default_rng(0).permutation(600)
    other = AutoClassifier(["logit"], cv=4).fit(X[order], y[order]).drivers()
    np.testing.assert_array_equal(other.increase, fitted.drivers().increase)
    fresh = AutoClassifier(["logit"], cv=4).fit(X, y)
    loaded = check_round_trip(fresh, X)
    np.testing.assert_array_equal(loaded.drivers().increase, fitted.drivers().increase)
    np.testing.assert_array_equal(
        loaded.drivers().curves["x0"][1], fitted.drivers().curves["x0"][1]
    )
    assert str(loaded.drivers()) == str(fitted.drivers())
    again = loaded.fit(X[:300], y[:300]).drivers()  # not those of the file
    assert again.rows == 300


def test_several_classes_have_drivers():
    X, y = world(300)
    three = y + ((X[:, 2] > 0.5) & (y == 1))
    found = AutoClassifier(["logit"], cv=3).fit(X, three).drivers()
    assert found.increase[0] > found.error[0] > 0
    assert found.curves["x2"][1].shape[1] == 3
    assert found.curves["x2"][1][-1, 2] > found.curves["x2"][1][0, 2]


def test_rows_are_kept_by_class_and_weighted_back():
    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.1) * 1.0
    weight = 1 + rng.random(5000)
    kept = keep_some(rng.normal(size=(5000, 2)), y, weight, np.arange(5000) % 5 + 3, 0)
    assert len(kept.y) == 1000
    assert kept.weight @ kept.y == pytest.approx(weight @ y)
    assert kept.weight.sum() == pytest.approx(weight.sum())
    assert set(kept.fold) == set(range(5))
    wide = keep_some(np.zeros((5000, 500)), y, weight, np.arange(5000) % 5, 0)
    assert len(wide.y) == 200


def test_where_there_are_none(fitted):
    few = AutoClassifier().fit(world(50)[0], np.arange(50) % 2)
    with refused("no-drivers", UsageError):
        few.drivers()
    noise = np.random.default_rng(0).normal(size=(200, 2))
    constant = AutoClassifier(["logit"], cv=3).fit(noise, np.arange(200) % 4 == 0)
    if constant.chosen_ == "constant":
        assert constant.drivers().increase.tolist() == [0, 0]
    with refused("inconsistent-model", DataError, name="drivers_"):
        Drivers(("a",), np.zeros(2), np.zeros(1), 0.1, 5, {})
    with refused("inconsistent-model", DataError, name="drivers_"):
        Drivers(("a",), np.zeros(1), np.zeros(1), 0.1, 5, {"b": (np.zeros(2), np.zeros((2, 2)))})
