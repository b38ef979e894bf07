"""The maps from probabilities to calibrated ones: against plain slow fits and known truth."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.isotonic import IsotonicRegression

from scarce import calibrate
from scarce.prior.calibrate import FLOOR, PENALTY, choose, log_of
from tests.problems import refused


def world(n, seed=0, slope=0.5, shift=-0.5, centre=-3.0):
    """Probabilities that are too sure, and what happens: log-odds = slope * said + shift."""
    rng = np.random.default_rng(seed)
    said = rng.normal(centre, 2.0, n)
    truth = expit(slope * said + shift)
    return expit(said), (rng.random(n) < truth).astype(float), truth


@pytest.mark.parametrize("method", ["shift", "temperature", "platt", "beta"])
def test_a_map_is_the_minimum_of_its_penalised_log_loss(method):
    prob, y, _ = world(400)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 400)
    found = calibrate(y, prob, method=method, sample_weight=weight)
    w, s = weight * (400 / weight.sum()), logit(prob)
    columns = {
        "shift": [np.ones(400)],
        "temperature": [s],
        "platt": [s, np.ones(400)],
        "beta": [np.log(prob), -np.log1p(-prob), np.ones(400)],
    }[method]
    F = np.column_stack(columns)
    penalty = np.where(np.arange(F.shape[1]) < len(columns) - (method != "temperature"), PENALTY, 0)

    def loss(d):
        z = s + F @ d
        return w @ (np.logaddexp(0, z) - y * z) + penalty @ d**2 / 2

    best = minimize(loss, np.zeros(F.shape[1]), method="Nelder-Mead", options={"xatol": 1e-9,
                    "fatol": 1e-12, "maxiter": 4000}).x  # fmt: skip
    np.testing.assert_allclose(found.coef, best, atol=1e-5)
    expected = (1 - FLOOR) * expit(s + F @ found.coef) + FLOOR * (w @ y / 400)
    np.testing.assert_allclose(found.apply(prob), expected, rtol=1e-12)


def test_several_classes_are_the_minimum_too_and_sum_to_one():
    rng = np.random.default_rng(2)
    prob = softmax(rng.normal(size=(500, 3)) * [1.0, 2.0, 1.0] + [1.5, 0.0, -0.5], axis=1)
    truth = softmax(np.log(prob) * [1.0, 0.5, 0.7] + [0.0, 0.5, -0.4], axis=1)
    y = (rng.random((500, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    for method, slopes in (("platt", 1), ("vector", 3)):
        found = calibrate(y, prob, method=method)
        logs = np.log(prob)

        def scores(d, method=method, logs=logs):
            if method == "platt":
                return (1 + d[0]) * logs + np.append(0.0, d[1:])
            return (1 + d[:3]) * logs + np.append(0.0, d[3:])

        def loss(d, slopes=slopes, scores=scores):
            lost = -log_softmax(scores(d), axis=1)[np.arange(500), y].sum()
            return lost + PENALTY * (d[:slopes] ** 2).sum() / 2

        best = minimize(loss, np.zeros(slopes + 2), method="BFGS", options={"gtol": 1e-7}).x
        np.testing.assert_allclose(found.coef, best, atol=1e-4)
        np.testing.assert_allclose(found.apply(prob).sum(axis=1), 1.0, rtol=1e-12)
    auto = calibrate(y, prob)
    assert auto.method in ("platt", "vector")
    assert set(auto.comparison) == {"none", "shift", "temperature", "platt", "vector", "auto"}


def test_the_truth_is_recovered_and_calibrated_probabilities_are_left_alone():
    prob, y, truth = world(20_000)
    found = calibrate(y, prob)
    assert found.method in ("platt", "beta")
    assert np.abs(found.apply(prob) - truth).mean() < 0.01
    assert found.apply(prob).mean() == pytest.approx(y.mean(), rel=1e-3)
    kept = [calibrate(y, p).method for p, y, _ in (world(600, k, 1.0, 0.0) for k in range(12))]
    assert kept.count("none") >= 10
    right, y, _ = world(600, 3, 1.0, 0.0)
    done = calibrate(y, right)
    assert [remark.code for remark in done.remarks] == ["calibrated-already"]
    np.testing.assert_array_equal(done.apply(right), right)


def test_isotonic_follows_any_rising_curve_and_never_says_never():
    rng = np.random.default_rng(4)
    prob = rng.uniform(0, 1, 40_000)
    y = (rng.random(40_000) < np.where(prob > 0.5, 0.6, 0.1)).astype(float)
    found = calibrate(y, prob)
    assert found.method == "isotonic"
    at = np.linspace(0.05, 0.95, 19)
    plain = IsotonicRegression(out_of_bounds="clip").fit(prob, y).predict(at)
    np.testing.assert_allclose(found.apply(at)[at != 0.5], plain[at != 0.5], atol=0.03)
    sure, y, _ = world(300)
    drawn = calibrate(y, sure, method="isotonic")
    assert drawn.apply([0.0, 1.0]).min() > 1e-4
    assert (IsotonicRegression().fit(sure, y).predict(sure) == 0).any()
    assert (np.diff(drawn.apply(np.sort(sure))) >= 0).all()


def test_the_choice_is_judged_without_the_rows_that_it_is_judged_on():
    prob, y, _ = world(300, 5)
    logs, codes, weight = log_of(prob), y.astype(np.intp), np.ones(300)
    folds, owner = np.arange(300) % 5, np.arange(300)

    def without(method, out):
        """A fit to some rows: its own folds do not matter, for the method is given."""
        kept = np.flatnonzero(~out)
        return choose(logs[kept], codes[kept], weight[kept], np.arange(len(kept)) % 5,
                      owner[: len(kept)], (0, 1), method)  # fmt: skip

    def loss(found, rows):
        p = found.apply(prob[rows])
        return -np.log(np.where(codes[rows] == 1, p, 1 - p))

    methods = ("none", "shift", "platt", "beta", "isotonic")
    lost = np.empty(300)
    for k in range(5):
        inner = {}
        for method in methods:
            one = np.full(300, np.nan)
            for j in set(range(5)) - {k}:
                here = folds == j
                one[here] = loss(without(method, here | (folds == k)), here)
            inner[method] = one[folds != k]
        best = min(methods, key=lambda m: inner[m].mean())
        for method in methods:
            apart = inner[method] - inner[best]
            if apart.mean() <= np.sqrt(((apart - apart.mean()) ** 2).sum()) / len(apart):
                break
        lost[folds == k] = loss(without(method, folds == k), folds == k)
    found = choose(logs, codes, weight, folds, owner, (0, 1))
    assert found.comparison["auto"]["log_loss"] == pytest.approx(lost.mean(), rel=1e-9)


def test_few_events_change_nothing_and_are_said():
    prob, y, _ = world(2000, 6)
    few = np.flatnonzero(y == 1)[:4]
    kept = np.append(np.flatnonzero(y == 0), few)
    found = calibrate(y[kept], prob[kept])
    assert (found.method, found.events) == ("none", 4)
    assert [remark.code for remark in found.remarks] == ["few-events"]
    assert found.remarks[0].fields["least"] == 4
    np.testing.assert_array_equal(found.apply(prob), prob)


def test_certain_probabilities_are_never_left_as_they_are():
    prob, y, _ = world(2000, 7, 1.0, 0.0)
    prob[prob < 0.02] = 0.0
    found = calibrate(y, prob)
    assert found.method != "none"
    assert found.apply([0.0, 1.0]).min() > 0
    assert found.apply([0.0, 1.0]).max() < 1
    assert "certain-probabilities" in [remark.code for remark in found.remarks]


def test_an_infinite_gain_is_not_called_noise():
    prob, y, _ = world(2000, 7, 1.0, 0.0)
    prob[np.flatnonzero(y == 1)[0]] = 0.0  # an event that was called impossible
    found = calibrate(y, prob)
    assert found.comparison["auto"]["gain"] == np.inf
    assert [remark.code for remark in found.remarks] == ["certain-probabilities"]


def test_probabilities_that_do_not_sum_to_one_are_refused():
    prob, y, _ = world(500, 8)
    each_alone = np.column_stack([1.0 - prob / 2, prob])  # two models of "this class or not"
    with refused("prob-sum", row=0):
        calibrate(y, each_alone)
    found = calibrate(y, np.column_stack([1.0 - prob, prob]))
    with refused("prob-sum", row=0):
        found.apply(each_alone)


def test_probabilities_that_rank_the_wrong_way_round_become_the_base_rate_and_that_is_said():
    prob, y, _ = world(1000, 11)
    found = calibrate(1 - y, prob)
    assert np.ptp(found.apply(prob)) < 1e-9
    assert found.apply(prob)[0] == pytest.approx(1 - y.mean(), rel=1e-3)
    assert "no-ranking" in [remark.code for remark in found.remarks]


def test_order_of_rows_units_of_weights_and_names_do_not_matter():
    prob, y, _ = world(500, 8)
    order = np.random.default_rng(0).permutation(500)
    found = calibrate(y, prob)
    again = calibrate(y[order], prob[order])
    assert again.method == found.method
    np.testing.assert_allclose(again.apply(prob), found.apply(prob), rtol=1e-9)
    weighted = calibrate(y, prob, sample_weight=np.full(500, 1e-3))
    np.testing.assert_allclose(weighted.apply(prob), found.apply(prob), rtol=1e-9)
    words = np.where(y == 1, "fraud", "legit")
    named = calibrate(words, prob, classes=["legit", "fraud"])
    np.testing.assert_array_equal(named.apply(prob), found.apply(prob))
    both = calibrate(y, np.column_stack([1 - prob, prob]))
    np.testing.assert_allclose(both.apply(np.column_stack([1 - prob, prob]))[:, 1],
                               found.apply(prob), rtol=1e-9)  # fmt: skip
    other = calibrate(1 - y, 1 - prob, method=found.method)
    np.testing.assert_allclose(1 - other.apply(1 - prob), found.apply(prob), rtol=1e-7)


def test_drawn_labels_stand_for_the_others():
    prob, y, truth = world(20_000, 9)
    chance = np.where(prob > 0.2, 1.0, 0.1)
    seen = np.where(np.random.default_rng(1).random(20_000) < chance, y, np.nan)
    drawn = calibrate(seen, prob, inclusion=chance, method="platt")
    assert drawn.apply(prob).mean() == pytest.approx(truth.mean(), rel=0.06)
    wrong = calibrate(seen, prob, method="shift")  # as if the labelled rows were all there are
    assert wrong.base_rates[1] > 1.3 * truth.mean()
    assert drawn.base_rates[1] == pytest.approx(truth.mean(), rel=0.1)


def test_groups_are_left_out_whole_and_widen_the_errors():
    prob, y, _ = world(300, 10)
    five = np.repeat(np.arange(300), 5)
    once = calibrate(y, prob, method="platt").comparison["platt"]
    copied = calibrate(y[five], prob[five], groups=five, method="platt").comparison["platt"]
    alone = calibrate(y[five], prob[five], method="platt").comparison["platt"]
    assert copied["gain_error"] == pytest.approx(once["gain_error"], rel=0.15)
    assert alone["gain_error"] < 0.6 * once["gain_error"]


def test_what_cannot_work_is_refused():
    prob, y, _ = world(100)
    three = softmax(np.random.default_rng(0).normal(size=(60, 3)), axis=1)
    with refused("two-classes-needed"):
        calibrate(np.arange(60) % 3, three, method="beta")
    with refused("one-class"):
        calibrate(np.zeros(100), prob)
    with refused("length-mismatch"):
        calibrate(y, prob, classes=["a", "b", "c"])
    with refused("unknown-class"):
        calibrate(np.where(y == 1, "x", "y"), prob, classes=["y", "z"])
    with refused("unknown-word"):
        calibrate(y, prob, method="spline")
