"""AutoClassifier: the policy, the honest comparison, the same bits from its file."""

from copy import deepcopy

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit, logit
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from scarce import DataError, StoreError, UsageError, open_rows, save
from scarce.auto.classifier import AutoClassifier, own_orders
from scarce.auto.comparison import fold_gain, score_line
from scarce.auto.members import DEFAULT, SMALL_TREES, usable
from scarce.engine.memory import decode
from scarce.io.schema import Schema
from scarce.linear.rare import RareClassifier
from tests.problems import codes, refused
from tests.properties.store_properties import check_round_trip

QUICK = ["logit", "spline", "boosting"]


def curved(n=500, seed=0):
    """A world that no line fits: events in the tails of the first column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    prob = expit(-4 + 2.0 * X[:, 0] ** 2)
    return X, (rng.random(n) < prob).astype(int), prob


def straight(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < expit(-2 + X[:, 0])).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = curved()
    return AutoClassifier().fit(X, y)


@parametrize_with_checks([AutoClassifier(QUICK[:2])])  # all members: tests/test_estimators.py
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_oracle_the_probability_is_the_stated_formula(fitted):
    """Floors, log-odds, weights and intercept by hand, from the members' own probabilities."""
    X = np.random.default_rng(5).normal(size=(50, 3)) * 2
    score = np.full((5, 50), fitted.stack_intercept_)
    for name, models in fitted.members_.items():
        e = fitted.floors_[name]
        for fold, model in enumerate(models):
            prob = model.predict_proba(X[:, fitted.columns_])[:, 1]
            floored = (1 - e) * prob + e * fitted.prevalence_
            score[fold] += fitted.weights_[name] * logit(floored)
    prob = expit(score).mean(axis=0)
    assert fitted.chosen_ == "auto"
    assert fitted.rarer_ == 1
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], prob, rtol=1e-12)
    np.testing.assert_allclose(fitted.decision_function(X), logit(prob), rtol=1e-9, atol=1e-12)
    assert (fitted.predict(X) == (prob > 0.5)).all()


def test_it_learns_what_a_line_cannot_and_says_so(fitted):
    X, y, truth = curved(4000, seed=1)
    prob = fitted.predict_proba(X)[:, 1]
    logit_alone = RareClassifier("logistic", ridge=1.0).fit(*curved()[:2]).predict_proba(X)[:, 1]
    assert log_loss(y, prob) < 0.75 * log_loss(y, logit_alone)
    assert log_loss(y, prob) < log_loss(y, truth) + 0.06
    lines = fitted.comparison_
    best = next(name for name in lines if name.startswith("best single"))
    assert list(lines) == ["constant", "logit", best, "auto"]
    assert lines["auto"]["log_loss"] < 0.8 * lines["logit"]["log_loss"]
    assert lines["auto"]["log_loss"] < 0.8 * lines["constant"]["log_loss"]
    # What it promised on left-out rows is what new rows show, within a few standard errors.
    promised = lines["auto"]["log_loss"]
    assert abs(log_loss(y, prob) - promised) < 4 * lines["auto"]["log_loss_error"]
    assert lines["auto"]["total"] == pytest.approx(1, abs=0.1)
    assert fitted.fallback_ is None


def test_the_summary_shows_everything_side_by_side(fitted):
    text = fitted.summary()
    for word in ("constant", "logit", "best single", "auto", "log loss", "Brier", "weight"):
        assert word in text
    assert "predicts: auto" in text
    assert all(name in text for name in fitted.weights_)
    assert max(map(len, text.splitlines()[:10])) <= 100


def test_every_member_is_floored_and_weighted(fitted):
    assert set(fitted.floors_) == set(fitted.weights_) == set(DEFAULT)
    assert all(0.001 <= e <= 0.3 for e in fitted.floors_.values())
    assert all(w >= 0 for w in fitted.weights_.values())
    assert fitted.report_.converged
    far = fitted.predict_proba(np.full((2, 3), [[60.0], [-60.0]]))
    assert ((far > 0) & (far < 1)).all()


def test_it_falls_back_to_the_logit_inside_the_noise():
    X, y = straight()
    model = AutoClassifier(QUICK, fallback="noise").fit(X, y)
    assert model.chosen_ == "logit"
    assert codes(model.report_.warnings[:1]) == ["predicts-single"]
    assert model.fallback_ == model.report_.warnings[0]
    assert list(model.members_) == ["logit"]
    assert model.weights_["spline"] == model.weights_["boosting"] == 0
    kept = AutoClassifier(QUICK, fallback=None).fit(X, y)
    assert kept.chosen_ == "auto"
    assert kept.fallback_ is None
    assert kept.floors_ == model.floors_
    alone = AutoClassifier(["logit"]).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), rtol=1e-10)


SURE, UNSURE = np.array([0.3, 0.2, 0.2, 0.1, 0.1]), np.array([0.3, -0.2, 0.2, -0.1, 0.1])


@pytest.mark.parametrize(
    ("fallback", "over_logit", "over_constant", "way"),
    [
        ("noise", UNSURE, SURE, "logit"),  # a gain of 0.06 with standard error 0.09
        ("noise", SURE, SURE, "auto"),
        ("noise", -SURE, SURE, "logit"),
        ("noise", SURE, UNSURE, "constant"),
        ("loss", UNSURE, SURE, "auto"),
        ("loss", SURE, SURE, "auto"),
        ("loss", -SURE, SURE, "best single"),
        ("loss", SURE, UNSURE, "constant"),
        ("loss", SURE, -SURE, "constant"),
        (None, -SURE, -SURE, "auto"),
    ],
)
def test_the_fallback_weighs_the_gain_against_its_noise(fallback, over_logit, over_constant, way):
    """Ten rows in five folds; what predicts is better than the constant by so much."""
    folds, weight = np.repeat(np.arange(5), 2), np.ones(10)
    auto = np.full(10, 0.6)
    logit = auto + np.repeat(over_logit, 2)
    used = {"auto": auto, "logit": logit, "best single": logit}.get(way, auto)
    constant = used + np.repeat(over_constant, 2)
    losses = {"constant": constant, "logit": logit, "best single": logit, "auto": auto}
    model = AutoClassifier(fallback=fallback)
    model.fallback_ = None
    remarks = []
    assert model._decide("logit", True, losses, weight, folds, 1.0, remarks) == way
    assert (model.fallback_ is None) == (way == "auto")
    unsure = way == "auto" and (over_logit is not SURE or over_constant is not SURE)
    assert bool(remarks) == (unsure or way != "auto")


@pytest.mark.parametrize(("errors", "way"), [(1.0, "auto"), (2.0, "constant")])
def test_a_clear_gain_is_two_standard_errors_where_settings_have_seen_the_rows(errors, way):
    """The gain over the constant is .1, with standard error .07."""
    folds, weight = np.repeat(np.arange(5), 2), np.ones(10)
    auto = np.full(10, 0.6)
    constant = auto + np.repeat([0.3, -0.1, 0.2, -0.0, 0.1], 2)
    losses = {"constant": constant, "logit": constant, "best single": auto, "auto": auto}
    model = AutoClassifier()
    model.fallback_ = None
    assert model._decide("spline", True, losses, weight, folds, errors, []) == way


@pytest.mark.parametrize(
    ("members", "within"),
    [
        (["logit", "spline"], 1e-9),
        (["boosting"], 2e-3),  # trees add up rows in another order
        (["logit", ("mine", DecisionTreeClassifier(max_depth=3))], 1e-9),
    ],
)
def test_oracle_the_comparison_is_what_an_outsider_measures(members, within, monkeypatch):
    """Leave each fold out by hand, fit everything on the others, and score the fold."""
    monkeypatch.setitem(SMALL_TREES, "max_features", 1.0)  # other rows would draw other columns
    X, y, _ = curved(300)
    folds = np.arange(300) % 4

    def parts(folds):
        numbers = np.unique(folds)
        return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in numbers]

    model = AutoClassifier(members, cv=parts(folds), fallback=None).fit(X, y)
    score = np.empty(300)
    for fold in range(4):
        out = folds == fold
        other = AutoClassifier(members, cv=parts(folds[~out]), fallback=None).fit(X[~out], y[~out])
        score[out] = other.decision_function(X[out])
    line = score_line(y * 1.0, score, np.ones(300), folds)
    for name, value in line.items():
        assert model.comparison_["auto"][name] == pytest.approx(value, rel=within, abs=within / 10)


# --- what must not matter -------------------------------------------------------------------------


def table(n=240):
    """Numbers, a code of few values, and labels that depend on both."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 4, n), rng.lognormal(size=n)])
    y = (rng.random(n) < expit(-2.5 + 1.5 * X[:, 0] + X[:, 2] - 0.5 * X[:, 3])).astype(int)
    return X, y


@pytest.fixture(scope="module")
def as_it_is():
    X, y = table()
    return AutoClassifier(cv=3, fallback=None).fit(X, y)


def same(model, as_it_is, X, new, digits=1e-9):
    """The same settings, weights, claims and probabilities."""
    assert model.choices_ == as_it_is.choices_
    assert model.floors_ == as_it_is.floors_
    for name, weight in as_it_is.weights_.items():
        assert model.weights_[name] == pytest.approx(weight, rel=1e3 * digits, abs=1e3 * digits)
    for way, line in as_it_is.comparison_.items():
        for figure, value in line.items():
            assert model.comparison_[way][figure] == pytest.approx(value, rel=1e3 * digits)
    np.testing.assert_allclose(
        model.predict_proba(new)[:, 1], as_it_is.predict_proba(X)[:, 1], rtol=0, atol=1e2 * digits
    )


def test_the_order_of_the_rows_changes_nothing(as_it_is, rng):
    X, y = table()
    order = rng.permutation(len(y))
    model = AutoClassifier(cv=3, fallback=None, engine="threads").fit(X[order], y[order])
    np.testing.assert_array_equal(model.predict_proba(X), as_it_is.predict_proba(X))
    other = AutoClassifier(cv=3, fallback=None, random_state=1).fit(X, y)
    assert (other.predict_proba(X) != as_it_is.predict_proba(X)).any()


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X * 1e-3,
        lambda X: X * 1e6,
        lambda X: X * [1e-3, 1e9, 60, 0.01] + [5, -1e9, 100, 1000],
        lambda X: X[:, [2, 0, 3, 1]],
        lambda X: np.column_stack([np.full(len(X), 7.0), X, np.zeros(len(X))]),
    ],
    ids=["thousandths", "millions", "shifts", "columns", "constant"],
)
def test_units_and_columns_change_nothing(as_it_is, change):
    X, y = table()
    new = np.vstack([X, X + 0.3])
    same(AutoClassifier(cv=3, fallback=None).fit(change(X), y), as_it_is, new, change(new))


def test_names_of_classes_change_nothing(as_it_is):
    X, y = table()
    words = np.where(y == 1, "yes", "no")
    model = AutoClassifier(cv=3, fallback=None).fit(X, words)
    np.testing.assert_array_equal(model.predict_proba(X), as_it_is.predict_proba(X))
    turned = AutoClassifier(cv=3, fallback=None).fit(X, 1 - y)
    np.testing.assert_allclose(turned.predict_proba(X)[:, 0], as_it_is.predict_proba(X)[:, 1])
    assert turned.prevalence_ == pytest.approx(1 - as_it_is.prevalence_)
    log_loss = turned.comparison_["auto"]["log_loss"]
    assert log_loss == pytest.approx(as_it_is.comparison_["auto"]["log_loss"])
    assert len(turned.report_.warnings) == len(as_it_is.report_.warnings) + 1  # positive: frequent


def test_codes_of_categories_change_nothing():
    rng = np.random.default_rng(0)
    names = np.array(["Bonn", "Ulm", "Trier", "Jena"])
    code = rng.integers(0, 4, 240)
    age = rng.normal(size=240)
    y = (rng.random(240) < expit(-1.5 + 2 * (code == 1) + age)).astype(int)
    probs = []
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        place = np.argsort(order)
        city = pa.DictionaryArray.from_arrays(
            pa.array(place[code].astype(np.int32)), pa.array(names[order])
        )
        rows = open_rows(pa.table({"age": age, "city": city, "y": y}), label="y")
        model = AutoClassifier(["logit", "forest"], cv=3, fallback=None).fit(rows)
        probs.append(model.predict_proba(rows)[:, 1])
    np.testing.assert_allclose(probs[0], probs[1], atol=1e-9)


@pytest.mark.parametrize("often", [2, 3])
def test_every_row_several_times_is_every_row_once(as_it_is, often):
    X, y = table()
    model = AutoClassifier(cv=3, fallback=None).fit(
        np.repeat(X, often, axis=0), np.repeat(y, often)
    )
    same(model, as_it_is, X, X)
    assert f"{240 * (often - 1):,} of {240 * often:,}" in model.report_.warnings[0]
    heavy = AutoClassifier(cv=3, fallback=None).fit(X, y, np.full(len(y), 100.5))
    np.testing.assert_array_equal(heavy.predict_proba(X), as_it_is.predict_proba(X))


def test_weight_two_is_a_row_twice_whole_or_not():
    X, y = table()
    weight = 1.0 + (np.arange(len(y)) % 3)
    weighted = AutoClassifier(cv=3, fallback=None).fit(X, y, weight)
    count = weight.astype(int)
    twice = AutoClassifier(cv=3, fallback=None).fit(np.repeat(X, count, 0), np.repeat(y, count))
    same(twice, weighted, X, X)
    # A little more than a whole number is a little more, not another meaning.
    near = AutoClassifier(["logit"], cv=3, fallback=None)
    whole = near.fit(X, y, np.where(np.arange(len(y)) == 0, 100.0, 1.0)).predict_proba(X)
    more = near.fit(X, y, np.where(np.arange(len(y)) == 0, 100.5, 1.0)).predict_proba(X)
    assert np.abs(more - whole).max() < 0.01


def test_copies_do_not_flatter():
    """Noise, each row five times: a forest that saw the copies would be sure of the rest."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(150, 4)), 5, axis=0), np.repeat(np.arange(150) % 5 == 0, 5)
    model = AutoClassifier(["forest"], cv=3).fit(X, y)
    assert model.chosen_ == "constant"
    assert model.comparison_["auto"]["log_loss"] > 0.98 * model.comparison_["constant"]["log_loss"]
    parts = [(np.flatnonzero(np.arange(750) % 3 != k), np.arange(k, 750, 3)) for k in range(3)]
    flattered = AutoClassifier(["forest"], cv=parts).fit(X, y)
    assert "copies-across-folds" in codes(flattered.report_.warnings)


def test_rows_of_one_group_stay_in_one_fold():
    """Each group has a level of its own that its rows share, and labels of pure noise."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(60), 6)
    X = np.column_stack([rng.normal(size=60)[group] + 0.01 * rng.normal(size=360)])
    y = ((rng.random(60) < 0.3)[group]).astype(int)
    blind = AutoClassifier(["forest"], cv=3).fit(X, y)
    told = AutoClassifier(["forest"], cv=3).fit(X, y, groups=group)
    assert blind.comparison_["auto"]["log_loss"] < 0.9 * blind.comparison_["constant"]["log_loss"]
    assert told.comparison_["auto"]["log_loss"] > 0.95 * told.comparison_["constant"]["log_loss"]
    parts = [(np.flatnonzero(np.arange(360) % 3 != k), np.arange(k, 360, 3)) for k in range(3)]
    with refused("argument-conflict", UsageError):
        AutoClassifier(["forest"], cv=parts).fit(X, y, groups=group)
    few = AutoClassifier(["forest"]).fit(X, y, groups=np.arange(360) % 2)
    assert few.comparison_ == {}
    assert codes(few.report_.warnings[:1]) == ["few-groups"]


# --- known truth ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4000, 11_000])  # scikit-learn's boosting changes at 10,000
def test_the_mean_given_is_the_true_mean(n):
    """Every size and member: python -m experiments.run auto_truth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 5000, 4))
    truth = expit(-4.6 + 1.2 * X[:, 0] + 0.8 * X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, 3] ** 2)
    y = (rng.random(n) < truth[:n]).astype(int)
    model = AutoClassifier(["boosting"], cv=3, fallback=None).fit(X[:n], y)
    given = model.predict_proba(X[n:])[:, 1]
    # Less what the draw of the labels adds, which no method can know.
    ratio = (given.mean() - y.mean() + truth[:n].mean()) / truth[n:].mean()
    assert ratio == pytest.approx(1, abs=0.04)
    assert model.comparison_["auto"]["total"] == pytest.approx(1, abs=0.02)


def test_nothing_is_learnt_from_noise():
    """Ten tables: the constant predicts, and what is printed of the stack is no better."""
    chosen, gains = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(400, 4)), (rng.random(400) < 0.08).astype(int)
        model = AutoClassifier(QUICK[:2]).fit(X, y)
        chosen.append(model.chosen_)
        lines = model.comparison_
        gains.append(lines["constant"]["log_loss"] - lines["auto"]["log_loss"])
    assert chosen.count("constant") >= 8
    assert np.mean(gains) < 0


def test_few_events_get_the_simple_models():
    X, y = straight(300)
    y[np.flatnonzero(y)[8:]] = 0
    model = AutoClassifier().fit(X, y)
    assert model.chosen_ == "flic"
    assert codes(model.report_.warnings[:2]) == ["few-events", "predicts-flic"]
    assert model.report_.warnings[0].fields["events"] == 8
    assert model.comparison_ == {}
    flic = RareClassifier("logistic", ridge=0, bias_reduction="flic").fit(X, y)
    expected = 0.999 * flic.predict_proba(X)[:, 1] + 0.001 * y.mean()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-6)
    wide = AutoClassifier().fit(np.hstack([X, X**2]), y)
    assert wide.chosen_ == "constant"
    assert codes(wide.report_.warnings[:2]) == ["few-events", "predicts-prevalence"]
    np.testing.assert_allclose(wide.predict_proba(np.zeros((2, 6)))[:, 1], y.mean())
    assert "Too few labels" in wide.summary()
    check_round_trip(model, X)
    check_round_trip(wide, np.hstack([X, X**2]))


def test_small_tables_are_remarked_on(fitted):
    X, y, _ = curved(200)
    small = AutoClassifier(["logit", "spline"]).fit(X, y)
    assert "small-sample" in codes(small.report_.warnings)
    assert "small-sample" not in codes(fitted.report_.warnings)


def test_weights_count_as_rows_and_zero_as_none():
    X, y = straight(200)
    weight = np.tile([1.0, 2.0], 100)
    one = AutoClassifier(["logit"]).fit(X, y, weight)
    more = np.vstack([X, np.full((30, 3), 9.0)])
    two = AutoClassifier(["logit"]).fit(
        more, np.append(y, np.ones(30)), np.append(weight, np.zeros(30))
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.prevalence_ == pytest.approx(np.average(y, weights=weight))
    scaled = AutoClassifier(["logit"]).fit(X, y, weight * 0.01)
    np.testing.assert_array_equal(one.predict_proba(X), scaled.predict_proba(X))
    ten = AutoClassifier().fit(X[:50], np.arange(50) % 2, np.full(50, 0.3))
    assert ten.chosen_ == "flic"


def test_labels_of_any_kind_and_unlabelled_rows():
    X, y, _ = curved(300)
    words = np.where(y == 1, "yes", "no").astype(object)
    with_gaps = np.append(words, [None] * 20)
    model = AutoClassifier(QUICK[:2]).fit(np.vstack([X, X[:20] + 5]), with_gaps)
    plain = AutoClassifier(QUICK[:2]).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert set(model.predict(X)) <= {"no", "yes"}


def test_categories_become_one_hot_columns():
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Ulm", "Trier"], 400)
    age = rng.normal(size=400)
    y = (rng.random(400) < np.where(city == "Ulm", 0.5, 0.05)).astype(int)
    table = pa.table({"age": age, "city": city, "y": y})
    rows = open_rows(table, label="y")
    model = AutoClassifier(QUICK[:2]).fit(rows)
    assert model.levels_.tolist() == [0, 3]
    assert sorted(model.columns_) == [0, 1, 2, 3]
    prob = model.predict_proba(open_rows(table, label="y"))[:, 1]
    assert prob[city == "Ulm"].mean() == pytest.approx(0.5, abs=0.07)
    check_round_trip(model, rows)
    missing = pa.table({"age": age[:5], "city": pa.array([None] * 5, pa.string())})
    with pytest.warns(UserWarning, match="city"):
        new = decode(open_rows(missing, like=Schema.from_dict(model.schema_)))
    assert np.isfinite(model.predict_proba(new)).all()


def test_folds_may_be_given():
    X, y, _ = curved(200)
    parts = [(np.flatnonzero(np.arange(200) % 4 != k), np.arange(k, 200, 4)) for k in range(4)]
    model = AutoClassifier(["spline", "boosting"], cv=parts, fallback=None).fit(X, y)
    folds = np.arange(200) % 4
    others = [y[folds != k].mean() for k in range(4)]
    constant = score_line(y * 1.0, logit(np.array(others))[folds], np.ones(200), folds)
    for name, value in constant.items():
        assert model.comparison_["constant"][name] == pytest.approx(value)


def test_progress_is_told():
    calls = []
    X, y, _ = curved(200)
    members = ["logit", "forest", "boosting"]
    AutoClassifier(members, cv=3, progress=lambda *call: calls.append(call)).fit(X, y)
    done, total, words = zip(*calls, strict=True)
    assert words[0] == "logit, fit 1 of 6"
    assert words[-1] == "boosting, fit 6 of 6"
    assert len(calls) == 3 * (3 + 3)  # fits without one fold, and without two
    pairs = []
    AutoClassifier(["logit"], cv=3, progress=lambda done, total: pairs.append(done)).fit(X, y)
    assert len(pairs) == 6
    assert list(done) == sorted(set(done))
    assert set(total) == {done[-1]}
    calls.clear()
    AutoClassifier(QUICK[:2], engine="threads", progress=lambda *call: calls.append(call)).fit(X, y)
    assert calls == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("settings", "code", "fields"),
    [
        ({"members": "all"}, "unknown-word", {"argument": "members", "value": "all"}),
        ({"members": ["logitt"]}, "unknown-word", {"argument": "members", "value": "logitt"}),
        ({"members": []}, "invalid-parameter", {"argument": "members", "value": []}),
        ({"cv": 2}, "cv-folds", {"count": 2, "least": 3}),
        ({"cv": "five"}, "cv-folds", {"rows": 60}),
        ({"cv": [([0], [1, 99])]}, "cv-folds", {"rows": 60}),
        ({"cv": [(range(30), range(30, 60))]}, "cv-folds", {"row": 0, "count": 0}),
        (
            {"cv": [(range(30), range(30, 60)), (range(30, 60), range(30))]},
            "cv-folds",
            {"count": 2, "least": 3},
        ),
        ({"floor": 0.0}, "invalid-parameter", {"argument": "floor", "value": 0.0}),
        ({"fallback": "always"}, "invalid-parameter", {"argument": "fallback"}),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, code, fields):
    X, y = straight(60)
    with refused(code, UsageError, **fields):
        AutoClassifier(**settings).fit(X, y)


def test_a_package_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("scarce.auto.members.find_spec", lambda name: None)
    X, y = straight(60)
    with refused("package-missing", UsageError, member="catboost", package="catboost"):
        AutoClassifier(["catboost"]).fit(X, y)
    assert usable() == [*DEFAULT, "gaussian"]


@pytest.mark.parametrize(
    ("y", "code", "fields"),
    [
        (np.zeros(60), "one-class", {"classes": "0.0"}),
    ],
)
def test_labels_that_cannot_work_are_refused(y, code, fields):
    with refused(code, DataError, **fields):
        AutoClassifier().fit(straight(60)[0], y)


def test_intervals_are_refused_with_what_to_run_instead(fitted):
    with refused("no-intervals", UsageError):
        fitted.predict_interval(np.zeros((1, 3)))


def test_model_file_needs_no_library(fitted, tmp_path):
    X = np.random.default_rng(2).normal(size=(200, 3)) * 3
    loaded = check_round_trip(fitted, X)
    assert loaded.summary() == fitted.summary()
    kinds = {type(model).__name__ for models in loaded.members_.values() for model in models}
    assert kinds <= {"RidgeLogit", "TreeEnsemble", "KernelLogit"}


@pytest.fixture(scope="module")
def quickly_fitted():
    X, y, _ = curved(200)
    return AutoClassifier(QUICK[:2], fallback=None).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("chosen_", "forest2", "chosen_"),
        ("levels_", np.array([0, 0]), "levels_"),
        ("columns_", np.array([0, 1, 3]), "columns_"),
        ("columns_", np.array([0, 1]), "front_"),
        ("rarer_", 2, "rarer_"),
        ("stack_intercept_", np.nan, "weights_"),
        ("prevalence_", 1.0, "prevalence_"),
        ("classes_", np.arange(3), "classes_"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(quickly_fitted, tmp_path, name, value, wrong):
    model = deepcopy(quickly_fitted)
    model._check_loaded()
    setattr(model, name, value)
    with refused("inconsistent-model", DataError, name=wrong):
        model._check_loaded()
    with pytest.raises(StoreError):
        save(model, tmp_path / "auto.scarce")


# --- the small parts ------------------------------------------------------------------------------


def test_the_names_of_two_classes_of_equal_size_change_nothing(rng):
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 2
    X[:, 0] += y
    model = AutoClassifier(["boosting", "kernel"], cv=3, fallback=None, repeats=1)
    prob = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, 1 - y).predict_proba(X)[:, ::-1], prob)


def test_own_orders_depend_on_content_alone(rng):
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 3, 60), rng.integers(0, 2, 60)])
    X = np.column_stack([X, np.ones(60), rng.normal(size=60)])
    X[3, 4] = np.nan
    y = (np.arange(60) % 5 == 0) * 1.0
    rows, columns = own_orders(X, y, None)
    assert sorted(columns) == [0, 1, 2, 4]
    shuffled, turned = rng.permutation(60), rng.permutation(5)
    other = (X * 1e-3 + 7)[shuffled][:, turned]
    more, named = own_orders(other, y[shuffled], None)
    np.testing.assert_array_equal(shuffled[more], rows)
    np.testing.assert_array_equal(turned[named], columns)


def test_comparison_figures_by_hand():
    y = np.array([0.0, 1, 0, 0, 1, 0])
    folds, weight = np.array([0, 0, 0, 1, 1, 1]), np.array([1.0, 2, 1, 1, 1, 1])
    prob = np.array([0.2, 0.7, 0.1, 0.3, 0.6, 0.2])
    line = score_line(y, logit(prob), weight, folds)
    assert line["log_loss"] == pytest.approx(log_loss(y, prob, sample_weight=weight))
    assert line["total"] == pytest.approx(weight @ prob / (weight @ y))
    brier = weight * (prob - y) ** 2
    means = [brier[:3].sum() / 4, brier[3:].sum() / 3]
    assert line["brier_error"] == pytest.approx(np.std(means, ddof=1) / np.sqrt(2))
    gain, error = fold_gain(np.ones(6), np.zeros(6), weight, folds)
    assert (gain, error) == (1.0, 0.0)


@pytest.mark.parametrize("seen", [0, 1, 2])
def test_a_column_that_is_almost_empty_is_no_obstacle(seen):
    X, y, _ = curved(200)
    X = np.column_stack([X, np.full(200, np.nan)])
    X[:seen, -1] = 1.5
    model = AutoClassifier(["boosting", "forest"], cv=3, repeats=1).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
