"""AutoClassifier: the policy, the honest comparison, the same bits from its file."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from scarce import DataError, StoreError, UsageError, open_rows, save
from scarce.models.auto import AutoClassifier
from scarce.models.compare import constant_scores, fold_gain, score_line
from scarce.models.members import MEMBERS, SplineLogit, fit_member, knots, usable
from scarce.models.rare import RareClassifier
from scarce.models.sample import Sample, own_order, stratified_folds
from scarce.models.stack import nested_scores
from scarce.rows import Schema, decode
from scarce.store import REGISTRY
from tests.properties.store_properties import check_round_trip

QUICK = ["logit", "spline", "boosting"]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for name, module in (
        ("AutoClassifier", "auto"),
        ("TreeEnsemble", "trees"),
        ("SplineLogit", "members"),
        ("RareClassifier", "rare"),
    ):
        monkeypatch.setitem(REGISTRY, name, f"scarce.models.{module}")


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
    score = np.full(50, fitted.stack_intercept_)
    for name, model in fitted.members_.items():
        e = fitted.floors_[name]
        floored = (1 - e) * model.predict_proba(X)[:, 1] + e * fitted.prevalence_
        score += fitted.weights_[name] * logit(floored)
    assert fitted.chosen_ == "auto"
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], expit(score), rtol=1e-12)
    np.testing.assert_allclose(fitted.decision_function(X), score, rtol=1e-12)
    assert (fitted.predict(X) == (score > 0)).all()


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
    assert set(fitted.floors_) == set(fitted.weights_) == set(usable())
    assert all(0.001 <= e <= 0.1 for e in fitted.floors_.values())
    assert all(w >= 0 for w in fitted.weights_.values())
    assert fitted.report_.converged
    far = fitted.predict_proba(np.full((2, 3), [[60.0], [-60.0]]))
    assert ((far > 0) & (far < 1)).all()


def test_it_falls_back_to_the_logit_inside_the_noise():
    X, y = straight()
    model = AutoClassifier(QUICK, fallback="noise").fit(X, y)
    assert model.chosen_ == "logit"
    assert "gains nothing certain" in model.fallback_
    assert model.fallback_ in model.report_.warnings
    assert list(model.members_) == ["logit"]
    kept = AutoClassifier(QUICK, fallback=None).fit(X, y)
    assert kept.chosen_ == "auto"
    assert kept.fallback_ is None
    assert kept.weights_ == model.weights_
    floored = (1 - model.floors_["logit"]) * model.members_["logit"].predict_proba(X)[:, 1]
    floored += model.floors_["logit"] * y.mean()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], floored, rtol=1e-10)


@pytest.mark.parametrize(
    ("fallback", "gains", "chosen"),
    [
        ("noise", [0.3, -0.2, 0.2, -0.1, 0.1], "logit"),  # a gain of 0.06 with standard error 0.09
        ("noise", [0.3, 0.2, 0.2, 0.1, 0.1], "auto"),
        ("noise", [-0.3, -0.2, -0.2, -0.1, -0.1], "logit"),
        ("loss", [0.3, -0.2, 0.2, -0.1, 0.1], "auto"),
        ("loss", [0.3, 0.2, 0.2, 0.1, 0.1], "auto"),
        ("loss", [-0.3, -0.2, -0.2, -0.1, -0.1], "logit"),
        (None, [-0.3, -0.2, -0.2, -0.1, -0.1], "auto"),
    ],
)
def test_the_fallback_weighs_the_gain_against_its_noise(fallback, gains, chosen):
    """Ten rows in five folds; the stack's loss is the logit's less the gain of the fold."""
    y, folds, weight = np.tile([0.0, 1.0], 5), np.repeat(np.arange(5), 2), np.ones(10)
    signs = np.where(y == 1, 1.0, -1.0)
    before = 0.6 + np.zeros(10)
    scores = {"logit": -signs * np.log(np.expm1(before)), "spline": np.zeros(10)}
    nested = -signs * np.log(np.expm1(before - np.repeat(gains, 2)))
    model = AutoClassifier(fallback=fallback)
    model.fallback_ = None
    remarks = []
    sample = Sample(np.zeros((10, 1)), y, None, folds, 0)
    model._decide("logit", "logit", scores, nested, sample, weight, remarks)
    assert model.chosen_ == chosen
    assert (model.fallback_ is None) == (chosen == "auto")
    unsure = chosen == "auto" and fallback is not None and sum(gains) < 0.5
    assert bool(remarks) == (unsure or fallback is None)


def test_oracle_the_comparison_is_of_nested_stacking():
    X, y, _ = curved(300)
    model = AutoClassifier(QUICK[:2]).fit(X, y)
    table = np.column_stack([X, y, np.ones(300), np.zeros(300)])
    table = table[own_order(table)]
    X, y = np.ascontiguousarray(table[:, :3]), table[:, 3].copy()
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    folds = stratified_folds(y, 5, seed)
    odds = []
    for name in QUICK[:2]:
        prob = fit_member(name, Sample(X, y, None, folds, seed)).left_out
        odds.append(logit((1 - model.floors_[name]) * prob + model.floors_[name] * y.mean()))
    nested = nested_scores(np.column_stack(odds), y, None, folds)
    line = score_line(y, nested, np.ones(300), folds)
    for name, value in line.items():
        assert model.comparison_["auto"][name] == pytest.approx(value, rel=1e-9)


def test_the_order_of_the_rows_changes_nothing(rng):
    X, y, _ = curved(150)
    order = rng.permutation(150)
    settings = {"members": ["spline", "forest"], "fallback": None}
    model = AutoClassifier(**settings).fit(X, y)
    again = AutoClassifier(**settings, engine="threads").fit(X[order], y[order])
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    other = AutoClassifier(**settings, random_state=1).fit(X, y)
    assert (other.predict_proba(X) != model.predict_proba(X)).any()


@pytest.mark.parametrize("member", ["logit", "spline", "boosting", "catboost", "lightgbm"])
def test_left_out_probabilities_have_not_seen_their_row(member):
    if member not in usable():
        pytest.skip(f"{member} is not installed")
    X, y, _ = curved(240)
    folds = stratified_folds(y.astype(float), 4, 0)
    changed = y.astype(float).copy()
    changed[folds == 1] = 1 - changed[folds == 1]
    seen = fit_member(member, Sample(X, y.astype(float), None, folds, 0))
    # The choice of a ridge or a tree count sees all folds, so hold it fixed where there is one.
    other = fit_member(member, Sample(X, changed, None, folds, 0))
    if seen.chosen == other.chosen:
        np.testing.assert_allclose(seen.left_out[folds == 1], other.left_out[folds == 1], atol=1e-9)
    assert np.abs(seen.left_out[folds != 1] - other.left_out[folds != 1]).max() > 1e-3


def test_forest_rows_are_out_of_bag():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), (np.arange(300) % 2).astype(float)  # labels of pure noise
    folds = stratified_folds(y, 5, 0)
    member = fit_member("forest", Sample(X, y, None, folds, 0))
    assert np.mean((member.left_out > 0.5) == y) < 0.6
    assert np.mean((member.model.predict_proba(X)[:, 1] > 0.5) == y) > 0.9


def test_few_events_get_the_simple_models():
    X, y = straight(300)
    y[np.flatnonzero(y)[8:]] = 0
    model = AutoClassifier().fit(X, y)
    assert model.chosen_ == "flic"
    assert "8 of the rarer class are too few" in model.report_.warnings[0]
    assert model.comparison_ == {}
    flic = RareClassifier("logistic", ridge=0, bias_reduction="flic").fit(X, y)
    expected = 0.999 * flic.predict_proba(X)[:, 1] + 0.001 * y.mean()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-6)
    wide = AutoClassifier().fit(np.hstack([X, X**2]), y)
    assert wide.chosen_ == "constant"
    np.testing.assert_allclose(wide.predict_proba(np.zeros((2, 6)))[:, 1], y.mean())
    assert "Too few labels" in wide.summary()
    check_round_trip(model, X)
    check_round_trip(wide, np.hstack([X, X**2]))


def test_small_tables_are_remarked_on(fitted):
    X, y, _ = curved(200)
    assert "not found to be better than a single one" in " ".join(
        AutoClassifier(["logit", "spline"]).fit(X, y).report_.warnings
    )
    assert "not found to be better" not in " ".join(fitted.report_.warnings)


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
    assert scaled.chosen_ == "logit" or scaled.chosen_ == "auto"
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


def test_categories_become_columns_of_zero_and_one():
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Ulm", "Trier"], 400)
    age = rng.normal(size=400)
    y = (rng.random(400) < np.where(city == "Ulm", 0.5, 0.05)).astype(int)
    table = pa.table({"age": age, "city": city, "y": y})
    rows = open_rows(table, label="y")
    model = AutoClassifier(QUICK[:2]).fit(rows)
    assert model.levels_.tolist() == [0, 3]
    assert model.members_[next(iter(model.members_))].n_features_in_ == 4
    prob = model.predict_proba(open_rows(table, label="y"))[:, 1]
    assert prob[city == "Ulm"].mean() == pytest.approx(0.5, abs=0.07)
    by_hand = np.column_stack([age, *(city == c for c in ("Bonn", "Trier", "Ulm"))])
    same = AutoClassifier(QUICK[:2]).fit(by_hand, y)
    np.testing.assert_allclose(same.predict_proba(by_hand)[:, 1], prob, rtol=1e-9)
    check_round_trip(model, rows)
    holes = pa.table({"age": age[:5], "city": pa.array([None] * 5, pa.string())})
    with pytest.warns(UserWarning, match="city"):
        new = decode(open_rows(holes, like=Schema.from_dict(model.schema_)))
    assert np.isfinite(model.predict_proba(new)).all()


def test_missing_values_need_members_that_take_them():
    X, y, _ = curved(400)
    X[::5, 1] = np.nan
    with pytest.raises(DataError, match=r"NaN: 80 in column 1.*members=\['boosting', 'forest'\]"):
        AutoClassifier().fit(X, y)
    with pytest.raises(DataError, match="in column 'b'"):
        AutoClassifier(["logit"]).fit(pd.DataFrame(X, columns=list("abc")), y)
    trees = AutoClassifier(["boosting", "forest"]).fit(X, y)
    assert np.isfinite(trees.predict_proba(X)).all()
    assert trees.__sklearn_tags__().input_tags.allow_nan
    check_round_trip(trees, X)
    linear = AutoClassifier(["logit"]).fit(np.nan_to_num(X), y)
    with pytest.raises(DataError, match="X contains NaN"):
        linear.predict_proba(X)


def test_folds_may_be_given():
    X, y, _ = curved(200)
    parts = [(np.flatnonzero(np.arange(200) % 4 != k), np.arange(k, 200, 4)) for k in range(4)]
    model = AutoClassifier(["spline", "boosting"], cv=parts, fallback=None).fit(X, y)
    known = (np.ones(200), np.arange(200) % 4)
    constant = score_line(y * 1.0, constant_scores(y * 1.0, *known), *known)
    for name, value in constant.items():
        assert model.comparison_["constant"][name] == pytest.approx(value)


def test_progress_is_told():
    calls = []
    X, y, _ = curved(200)
    members = ["logit", "forest", "boosting"]
    AutoClassifier(members, cv=3, progress=lambda *call: calls.append(call)).fit(X, y)
    done, total = zip(*calls, strict=True)
    assert len(calls) == 4 + 10 + 4  # fits of all rows and without each fold; tens of trees
    assert list(done) == sorted(set(done))
    assert set(total) == {done[-1]}
    calls.clear()
    AutoClassifier(QUICK[:2], engine="threads", progress=lambda *call: calls.append(call)).fit(X, y)
    assert calls == [(1, 2), (2, 2)]


def test_a_forest_grown_in_steps_is_the_one_grown_at_once():
    X, y, _ = curved(300)
    weight = 1.0 + (np.arange(300) % 3)
    member = fit_member("forest", Sample(X, y * 1.0, weight, np.arange(300) % 5, 4))
    whole = RandomForestClassifier(200, min_samples_leaf=2, oob_score=True, random_state=4)
    whole.fit(X, y, weight)
    np.testing.assert_array_equal(member.left_out, whole.oob_decision_function_[:, 1])
    np.testing.assert_allclose(
        member.model.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"members": "all"}, "members='all' is not known"),
        ({"members": ["logitt"]}, "Did you mean 'logit'"),
        ({"members": []}, "is empty"),
        ({"cv": 1}, "not a number of folds"),
        ({"cv": "five"}, "neither a number of folds nor"),
        ({"cv": [([0], [1, 99])]}, "neither a number of folds nor"),
        ({"cv": [(range(30), range(30, 60))]}, "cv leaves row 0 out 0 times"),
        ({"floor": 0.0}, "infinite loss"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, words):
    X, y = straight(60)
    with pytest.raises(UsageError, match=words):
        AutoClassifier(**settings).fit(X, y)


def test_a_package_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("scarce.models.members.find_spec", lambda name: None)
    X, y = straight(60)
    with pytest.raises(UsageError, match="pip install catboost"):
        AutoClassifier(["catboost"]).fit(X, y)
    assert usable() == ["logit", "spline", "boosting", "forest"]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros(60), "only one class with weight above 0: 0.0"),
        (np.arange(60) % 3, "There are 3 classes: fit one AutoClassifier per class"),
        (np.full(60, np.nan), "None of the 60 rows is labelled"),
    ],
)
def test_labels_that_cannot_work_are_refused(y, words):
    with pytest.raises(DataError, match=words):
        AutoClassifier().fit(straight(60)[0], y)


def test_intervals_are_refused_with_what_to_run_instead(fitted):
    with pytest.raises(UsageError, match=r"73 to 84 %.*bias_reduction=\"flic\""):
        fitted.predict_interval(np.zeros((1, 3)))


def test_model_file_needs_no_library(fitted, tmp_path):
    X = np.random.default_rng(2).normal(size=(200, 3)) * 3
    loaded = check_round_trip(fitted, X)
    assert loaded.summary() == fitted.summary()
    kinds = {type(model).__name__ for model in loaded.members_.values()}
    assert kinds <= {"RareClassifier", "SplineLogit", "TreeEnsemble"}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("chosen_", "forest2", "chosen_ is 'forest2'"),
        ("levels_", np.array([0, 0]), "levels_ or classes_"),
        ("levels_", np.array([0, 0, 4]), "does not fit 6 columns"),
        ("classes_", np.arange(3), "levels_ or classes_"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path, name, value, words):
    X, y, _ = curved(200)
    model = AutoClassifier(QUICK[:2], fallback=None).fit(X, y)
    setattr(model, name, value)
    with pytest.raises(StoreError, match=words):
        save(model, tmp_path / "auto.scarce")


# --- the small parts ------------------------------------------------------------------------------


def test_splines_are_scikit_learn_s():
    from sklearn.preprocessing import SplineTransformer

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.exponential(size=200), np.arange(200) % 3])
    model = SplineLogit(RareClassifier("logistic", ridge=1.0)).fit(X, np.arange(200) % 2)
    new = rng.normal(size=(50, 3)) * 4
    bent = [
        SplineTransformer(n_knots=5, degree=3, knots="quantile")
        .fit(X[:, [j]])
        .transform(new[:, [j]])
        for j in (0, 1)
    ]
    linear = (new - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(model._wide(new), np.hstack([linear, *bent]), atol=1e-12)
    assert len(model.knots_[2]) == 0
    assert set(model.predict(X)) == {0, 1}


def test_knots_where_most_rows_share_a_value():
    column = np.append(np.zeros(500), np.arange(1, 40.0))
    assert (np.diff(knots(column)) > 0).all()
    assert len(knots(column)) >= 8
    assert len(knots(np.array([0.0, 1, 2, 3] * 9))) == 0
    assert len(knots(np.array([1.0, 2, 3, 4, 1e308] * 9))) == 0


@pytest.mark.parametrize("changes", [{"centre_": np.zeros(2)}, {"knots_": [np.zeros(9)] * 3}])
def test_a_spline_file_whose_parts_do_not_fit_is_refused(changes):
    X, y = straight(60)
    model = SplineLogit(RareClassifier("logistic", ridge=1.0)).fit(X, y)
    for name, value in changes.items():
        setattr(model, name, value)
    with pytest.raises(DataError):
        model._check_loaded()


def test_folds_hold_each_class_evenly():
    y = (np.arange(103) % 9 == 0).astype(float)
    folds = stratified_folds(y, 5, seed=3)
    assert np.ptp(np.bincount(folds)) <= 1
    assert np.ptp(np.bincount(folds[y == 1], minlength=5)) <= 1
    assert (folds == stratified_folds(y, 5, seed=3)).all()
    assert (folds != stratified_folds(y, 5, seed=4)).any()


def test_own_order_depends_on_content_alone(rng):
    table = rng.integers(0, 3, size=(60, 3)) * 1.0
    shuffled = table[rng.permutation(60)]
    shuffled[shuffled == 0] = -0.0
    np.testing.assert_array_equal(table[own_order(table)], shuffled[own_order(shuffled)])


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
    np.testing.assert_allclose(expit(constant_scores(y, weight, folds)), [1 / 3] * 3 + [0.5] * 3)


def test_members_are_known_by_name():
    assert list(MEMBERS) == ["logit", "spline", "boosting", "forest", "catboost", "lightgbm"]


@pytest.mark.parametrize("seen", [0, 1, 2])
def test_a_column_that_is_almost_empty_is_no_obstacle(seen):
    X, y, _ = curved(200)
    X = np.column_stack([X, np.full(200, np.nan)])
    X[:seen, -1] = 1.5
    model = AutoClassifier(["boosting", "forest"]).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
