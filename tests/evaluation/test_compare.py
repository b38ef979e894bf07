"""Comparison: differences row by row, the best, the noise, the constant; left-out rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from scarce import (
    DataError,
    GaussianBayes,
    MaxentClassifier,
    UsageError,
    brier_score,
    compare,
    left_out_prob,
    log_loss,
    open_rows,
)
from scarce.engine.memory import ArrayRows
from scarce.evaluation.compare import deal_rows, left_out, loss_difference
from tests.problems import refused, warned


@pytest.fixture
def rows(rng):
    prob = rng.beta(1, 5, 800)
    return (rng.random(800) < prob).astype(int), prob


def test_differences_are_those_of_the_losses_with_a_paired_interval(rows, rng):
    y, prob = rows
    other = np.clip(prob * 1.5, 0.001, 0.999)
    found = compare(y, {"right": prob, "off": other})
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
    found = compare(y, {"blunt": prob * 0.5 + 0.1, "right": prob})
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
    found = compare(y, {"one": prob, "other": wiggled, "flat": np.full(800, y.mean() + 0.01)})
    assert {found.best["log_loss"], *found.tied()} == {"one", "other"}
    assert "flat" in found.no_better()
    assert found.no_better() == ["flat"]


def test_a_given_constant_is_used_and_several_classes_work(rng):
    prob = rng.dirichlet([1, 1, 2], 300)
    y = np.array([rng.choice(3, p=p) for p in prob])
    flat = np.full((300, 3), 1 / 3)
    found = compare(
        np.array(list("abc"))[y], {"constant": flat, "right": prob}, classes=("a", "b", "c")
    )
    assert found.evaluations["constant"].log_loss.value == pytest.approx(np.log(3))
    assert found.tied() == []


def test_impossible_probabilities_do_not_break_it(rows):
    y, prob = rows
    zero = np.where(y == 1, 0.0, prob)
    found = compare(y, {"right": prob, "zero": zero, "zero2": zero})
    assert found.behind["log_loss"]["zero"].low == np.inf
    assert found.ahead["log_loss"]["zero"].value == -np.inf
    assert np.isnan(loss_difference(y, zero, zero).value)
    assert found.tied() == []


def test_one_class_has_no_limits(rows):
    found = loss_difference([0, 0, 0], [0.1, 0.2, 0.1], [0.2, 0.2, 0.3])
    assert found.value < 0
    assert np.isnan(found.high)
    both = compare([0, 0, 0], {"one": [0.1, 0.2, 0.1], "other": [0.2, 0.2, 0.3]})
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
    plain = compare(y, {"right": prob}).to_dict()
    assert plain["best"] == {"log_loss": "right", "brier": "right"}
    assert plain["no_better_than_constant"] == {"log_loss": [], "brier": []}
    with refused("no-model", UsageError):
        compare(y, {})


def test_weights_and_levels_and_losses_reach_every_part(rng):
    prob = rng.beta(1, 3, 500)
    y = (rng.random(500) < prob).astype(int)
    weight = np.where(y == 1, 3.0, 1.0)
    models = {"right": prob, "off": np.clip(1.6 * prob, 0.001, 0.999)}
    found = compare(y, models, sample_weight=weight)
    share = weight @ y / weight.sum()
    assert found.evaluations["constant"].given[0].value == pytest.approx(share)
    narrow = compare(y, models, sample_weight=weight, level=0.5)
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
    found = compare(y, {"bold": bold, "calm": calm})
    assert (found.best["log_loss"], found.best["brier"]) == ("calm", "bold")
    assert next(iter(found.evaluations)) == "calm"


def deal_folds(y, n_folds, **more):
    """Folds of rows that are all different."""
    rows = open_rows(np.random.default_rng(5).normal(size=(len(y), 2)), label=np.asarray(y))
    return deal_rows(rows, n_folds, **more).folds


@pytest.fixture
def data(rng):
    y = np.repeat([0, 1], [160, 40])
    return rng.normal(size=(200, 2)) + y[:, None], y


def test_folds_hold_each_class_alike_and_repeat():
    y = np.repeat([0, 1, 2], [50, 20, 5])
    folds = deal_folds(y, 5, random_state=3)
    assert np.bincount(folds).tolist() == [15] * 5
    for k, each in ((0, 10), (1, 4), (2, 1)):
        assert np.bincount(folds[y == k]).tolist() == [each] * 5
    assert (deal_folds(y, 5, random_state=3) == folds).all()
    assert (deal_folds(y, 5, random_state=4) != folds).any()


def test_groups_stay_together(rng):
    groups = np.repeat(np.arange(40), 5)
    y = (rng.random(200) < 0.3).astype(int)
    folds = deal_folds(y, 4, groups=groups)
    assert (folds.reshape(40, 5) == folds[::5, None]).all()
    assert set(folds) == {0, 1, 2, 3}


def test_oracle_scikit_learn_fold_by_fold(data):
    X, y = data
    folds = deal_folds(y, 5)
    bayes = GaussianBayes("diag", calibrate=False)
    found = left_out({"bayes": (bayes.fit, open_rows(X, label=y))}, folds)
    for fold in range(5):
        out = folds == fold
        theirs = GaussianNB().fit(X[~out], y[~out]).predict_proba(X[out])
        np.testing.assert_allclose(found["bayes"][out], theirs, rtol=1e-6)
        np.testing.assert_allclose(found["constant"][out, 1], y[~out].mean())


class Memory:
    """A model that knows which rows it has seen, and says so as a probability."""

    def __init__(self, rows):
        self.seen = {tuple(x) for block in rows.blocks() for x in block.X}
        self.weight = rows.weights()

    def predict_proba(self, rows):
        seen = [tuple(x) in self.seen for block in rows.blocks() for x in block.X]
        return np.column_stack([1.0 - np.array(seen), seen])


def test_no_fit_sees_the_row_that_it_is_asked_about(data):
    X, y = data
    found = left_out({"memory": (Memory, open_rows(X, label=y))}, deal_folds(y, 4))
    assert (found["memory"][:, 1] == 0).all()


@pytest.mark.parametrize("times", [1, 2, 5])
def test_no_fit_sees_a_copy_of_the_row_that_it_is_asked_about(data, times):
    X, y = data
    rows = open_rows(np.tile(X, (times, 1)), label=np.tile(y, times))
    dealt = deal_rows(rows, 4)
    assert dealt.groups.copies == 200 * (times - 1)
    found = left_out({"memory": (Memory, rows)}, dealt.folds)
    assert (found["memory"][:, 1] == 0).all()


class Grouped:
    """A model that knows which groups it was given."""

    def __init__(self, rows, groups):
        assert len(groups) == len(rows)
        self.seen = set(groups)

    def predict_proba(self, rows):
        return np.full((len(rows), 2), 0.5)


def test_fits_are_told_the_groups_of_their_rows(data):
    X, _ = data
    groups, seen = np.arange(200) // 4, []

    def fit(rows, groups):
        model = Grouped(rows, groups)
        seen.append(model.seen)
        return model

    rows = open_rows(X, label=np.arange(200) % 2)
    dealt = deal_rows(rows, 5, groups=groups)
    left_out({"grouped": (fit, rows)}, dealt.folds, groups=groups)
    assert [len(one) for one in seen] == [40] * 5
    assert set().union(*seen) == set(groups)


def test_rows_of_weight_0_change_no_fold(data):
    X, y = data
    weight = np.ones(200)
    weight[::7] = 0
    whole = deal_rows(open_rows(X, label=y, weight=weight), 5).folds
    part = deal_rows(open_rows(X[weight > 0], label=y[weight > 0]), 5).folds
    assert (whole[weight > 0] == part).all()


def test_fits_that_did_not_converge_are_said(data):
    X, y = data
    rows = open_rows(X, label=y)
    model = MaxentClassifier(max_passes=1, default_prevalence=0.2)
    with warned("not-converged", name="maxent", count=5):
        left_out({"maxent": (model.fit, rows)}, deal_rows(rows, 5).folds)


def test_unlabelled_rows_take_no_part_and_weights_do(data):
    X, y = data
    part = np.append(y.astype(float), [np.nan, np.nan])
    rows = open_rows(np.vstack([X, X[:2] + 9]), label=part, weight=np.append(1.0 + y, [5.0, 5.0]))
    folds = deal_folds(y, 5)
    found = left_out({"bayes": (GaussianBayes().fit, rows)}, folds)
    weighted = ArrayRows(X[folds != 0], y[folds != 0], weight=1.0 + y[folds != 0], classes=(0, 1))
    np.testing.assert_allclose(
        found["bayes"][folds == 0],
        GaussianBayes().fit(weighted).predict_proba(ArrayRows(X[folds == 0])),
    )
    assert found["constant"][0, 1] == pytest.approx(2 * 32 / (2 * 32 + 128))


def test_engines_and_progress_give_the_same(data):
    X, y = data
    fits = {"bayes": (GaussianBayes().fit, open_rows(X, label=y))}
    told = []
    one = left_out(fits, deal_folds(y, 5), progress=lambda done, total: told.append((done, total)))
    many = left_out(fits, deal_folds(y, 5), engine="threads")
    assert (one["bayes"] == many["bayes"]).all()
    assert told[-1] == (5, 5)


def test_what_cannot_be_dealt_is_said(data):
    X, y = data
    with refused("one-class", DataError):
        deal_folds(np.zeros(10), 5)
    with refused("too-few-rows", DataError, rows="3 rows"):
        deal_folds([0] * 20 + [1] * 3, 5)
    with refused("integer-range", UsageError, argument="folds"):
        deal_folds(y, 1)
    with refused("too-few-groups", DataError, fewest=2, groups=2):
        deal_folds(y, 5, groups=np.arange(200) % 2)
    with refused("too-few-groups", DataError, fewest=1, groups=160):
        deal_folds(y, 2, groups=np.where(y == 1, 0, np.arange(200)))
    with refused("no-model", UsageError):
        left_out({}, deal_folds(y, 5))
    with refused("length-mismatch", UsageError, folds=10):
        left_out({"bayes": (GaussianBayes().fit, open_rows(X, label=y))}, np.zeros(10, np.intp))


def test_folds_of_groups_are_dealt_by_the_seed():
    y, groups = np.arange(200) % 2, np.arange(200) // 5
    dealt = [deal_folds(y, 4, groups=groups, random_state=seed) for seed in (0, 1, 0)]
    assert (dealt[0] == dealt[2]).all()
    assert (dealt[0] != dealt[1]).any()


def test_left_out_probabilities_of_any_classifier(data):
    X, y = data
    ours = GaussianBayes("diag", calibrate=False)
    models = {"ours": ours, "theirs": GaussianNB(), "logit": LogisticRegression()}
    found = left_out_prob(models, X, y, folds=4, random_state=3)
    assert list(found) == ["constant", *models]
    np.testing.assert_allclose(found["ours"], found["theirs"], rtol=1e-6)
    folds = deal_rows(open_rows(X, label=y), 4, random_state=3).folds
    direct = left_out({"bayes": (ours.fit, open_rows(X, label=y))}, folds)
    np.testing.assert_array_equal(found["ours"], direct["bayes"][:, 1])
    told = compare(y, found)
    assert told.best["log_loss"] != "constant"
    assert "behind the best" in str(told)
    several = left_out_prob({"bayes": GaussianBayes()}, X, np.arange(200) % 3)
    assert several["bayes"].shape == (200, 3)


def test_fits_of_one_estimator_do_not_meet_in_threads(data):
    """The `fit` of one estimator, run side by side for all folds, fits a copy each time."""
    X, y = data
    model, rows = GaussianBayes(), open_rows(X, label=y)
    left_out({"bayes": (model.fit, rows)}, deal_folds(y, 5), engine="threads")
    assert not hasattr(model, "classes_")


@pytest.mark.filterwarnings("ignore:Column 'row_id' has a different value:scarce.DataWarning")
def test_copies_of_a_row_stay_together_whatever_names_the_rows(rng):
    X, y = np.tile(rng.normal(size=(150, 3)), (2, 1)), np.tile(rng.random(150) < 0.3, 2)
    frame = pd.DataFrame(X, columns=list("abc"))
    named = frame.assign(row_id=rng.permutation(len(y)))
    models = {
        "bayes": GaussianBayes(calibrate=False),
        "forest": RandomForestClassifier(20, random_state=0),
    }
    plain, found = (left_out_prob(models, one, y.astype(int)) for one in (frame, named))
    np.testing.assert_array_equal(found["bayes"], plain["bayes"])
    assert (
        brier_score(y, found["forest"]).value > brier_score(y, found["constant"]).value
    )  # there is nothing to learn


def test_models_without_a_name_are_refused():
    with refused("no-mapping", UsageError):
        left_out_prob(GaussianBayes(), np.eye(20), np.arange(20) % 2)
