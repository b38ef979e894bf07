"""MaxentClassifier: probabilities, shares, weights, reports, and what users pass."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit, logit, xlogy
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import scarce
from scarce import DataError, MaxentClassifier, UsageError, load, open_rows, save
from scarce.datasets import hide_features, make_presence_only, make_revealed_classes
from scarce.engine.memory import ArrayRows
from scarce.maxent import classifier as module
from scarce.maxent import response
from tests.problems import codes, refused, warned


def remarks(model, code):
    """The warnings of a fit with this code."""
    return [one for one in model.report_.warnings if getattr(one, "code", "") == code]


def world(rng, n=600, missing=0.0):
    """Presences of a niche in the first column, among a pool."""
    X = rng.normal(size=(n, 3))
    X[:, 2] = np.exp(X[:, 2])
    y = np.where(rng.random(n) < 0.5 * np.exp(-((X[:, 0] - 1) ** 2)), 1.0, np.nan)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def three(rng, n=500):
    """Three classes; the first is never labelled."""
    X = rng.normal(size=(n, 2))
    truth = rng.integers(0, 3, n)
    X[:, 0] += 1.5 * (truth == 1)
    X[:, 1] += 1.5 * (truth == 2)
    y = np.where((truth > 0) & (rng.random(n) < np.where(truth == 1, 0.5, 0.1)), truth, np.nan)
    return X, y


# --- the papers' identities -----------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_eq_8_is_bayes_rule_on_eq_5(rng, missing):
    X, y = world(rng, missing=missing)
    model = MaxentClassifier(features="lqh", default_prevalence=0.2, tol=1e-10).fit(X, y)
    ratio = model.density_ratio(X)
    assert ratio.mean() == pytest.approx(1, abs=1e-12)
    divergence = xlogy(ratio, ratio).mean()
    assert model.divergence_ == pytest.approx([0, divergence], abs=1e-9)
    share = model.class_prior_[1]
    assert share == pytest.approx(expit(logit(0.2) - divergence), rel=1e-8)
    bayes = share * ratio / (share * ratio + 1 - share)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], bayes, rtol=1e-8)


def test_several_classes_by_bayes_rule_on_eq_5(rng):
    X, y = three(rng)
    default = {0: 0.5, 1: 0.2, 2: 0.3}
    model = MaxentClassifier(
        features="lq", classes=[0, 1, 2], default_prevalence=default, tol=1e-10
    ).fit(X, y)
    assert model.is_labelled_.tolist() == [False, True, True]
    ratio = model.density_ratio(X)
    assert (ratio[:, 0] == 1).all()
    weight = np.array([0.5, 0.2, 0.3]) * np.exp(-xlogy(ratio, ratio).mean(axis=0))
    np.testing.assert_allclose(model.class_prior_, weight / weight.sum(), atol=1e-8)
    joint = model.class_prior_ * ratio
    np.testing.assert_allclose(
        model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-8
    )


def test_each_class_of_several_is_the_class_alone(rng):
    X, y = three(rng)
    both = MaxentClassifier(features="lh", classes=[0, 1, 2]).fit(X, y)
    alone = MaxentClassifier(features="lh").fit(X, np.where(y == 2, 2.0, np.nan))
    np.testing.assert_allclose(both.density_ratio(X)[:, 2], alone.density_ratio(X), rtol=1e-6)


def test_the_default_only_shifts_the_log_odds_of_entropy_weighting(rng):
    X, y = world(rng)
    one, two = (MaxentClassifier(features="h", default_prevalence=p).fit(X, y) for p in (0.5, 0.1))
    shift = two.decision_function(X) - one.decision_function(X)
    np.testing.assert_allclose(shift, logit(0.1), rtol=1e-10)
    assert one.report_.objective == two.report_.objective


def sure_positives(n=3000, seed=0):
    """A steep logistic truth of which 30 % of the positives are labelled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = 1 / (1 + np.exp(6 - 6 * X[:, 0]))
    found = (rng.random(n) < truth) & (rng.random(n) < 0.3)
    return X, np.where(found, 1.0, np.nan), truth


def test_a_known_prevalence_is_the_mean_and_sure_positives_are_sure():
    X, y, truth = sure_positives()
    share = float(truth.mean())
    model = MaxentClassifier(prevalence=share).fit(X, y)
    prob = model.predict_proba(X)[:, 1]
    assert model.objective_ == "robust"
    assert prob.mean() == pytest.approx(share, rel=1e-4)
    assert prob[truth > 0.95].mean() > 0.93  # .54 where the other class is taken to be the pool
    weight = 1.0 + np.arange(len(y)) % 3
    heavy = MaxentClassifier(prevalence=share).fit(X, y, weight)
    found = np.average(heavy.predict_proba(X)[:, 1], weights=weight)
    assert found == pytest.approx(share, rel=1e-4)
    named = MaxentClassifier(prevalence={0.0: 1 - share}, features="l").fit(X, y)
    assert named.predict_proba(X)[:, 1].mean() == pytest.approx(share, rel=1e-4)


def test_the_objective_is_robust_only_where_one_class_is_labelled_and_its_share_known(rng):
    X, y = world(rng)
    settings = [({}, "entropy"), ({"prevalence": 0.3}, "robust")]
    settings += [({"prevalence": 0.3, "weighting": "default"}, "entropy")]
    settings += [({"prevalence_bounds": (0.1, 0.3)}, "entropy")]
    for given, objective in settings:
        assert MaxentClassifier(features="l", **given).fit(X, y).objective_ == objective
    every = np.nan_to_num(y)
    assert MaxentClassifier(features="l", prevalence=0.3).fit(X, every).objective_ == "entropy"


def test_boxes_that_the_share_does_not_allow_are_widened_and_said_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = np.where((X[:, 0] > 1) & (rng.random(400) < 0.3), 1.0, np.nan)  # 16 % of the pool at most
    model = MaxentClassifier(prevalence=0.6, features="h").fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.6, rel=1e-3)
    told = {one.code: one for one in model.report_.warnings}["widened-boxes"]
    assert told.fields["wider"].value == model.width_scale_ > 1
    with refused("infeasible-boxes", DataError):
        MaxentClassifier("robust", prevalence=0.6, features="h").fit(X, y)


def test_a_prevalence_below_the_labelled_share_of_the_pool_is_remarked_on():
    X, y, _ = sure_positives(600)
    held = float((y == 1).mean())
    model = MaxentClassifier(prevalence=held / 2, features="l").fit(X, y)
    told = {one.code: one for one in model.report_.warnings}["impossible-share"]
    assert told.fields["held"] == pytest.approx(held)
    apart = np.where(y == 1, 1e-3, 1.0)  # collected apart: the others are the pool
    model = MaxentClassifier(prevalence=held / 2, features="l").fit(X, y, background_weight=apart)
    assert "impossible-share" not in codes(model.report_.warnings)
    assert model.predict_proba(X[y != 1])[:, 1].mean() == pytest.approx(held / 2, rel=0.01)


def test_default_weighting_and_known_prevalence(rng):
    X, y = world(rng)
    default = MaxentClassifier(features="h", default_prevalence=0.3, weighting="default").fit(X, y)
    known = MaxentClassifier("entropy", features="h", prevalence=0.3).fit(X, y)
    assert default.class_prior_ == pytest.approx([0.7, 0.3])
    np.testing.assert_array_equal(default.predict_proba(X), known.predict_proba(X))
    ratio = default.density_ratio(X)
    np.testing.assert_allclose(
        default.predict_proba(X)[:, 1], 0.3 * ratio / (0.3 * ratio + 0.7), rtol=1e-10
    )


def test_bounds_move_the_share_only_as_far_as_they_must(rng):
    X, y = world(rng)
    free = MaxentClassifier(features="h", default_prevalence=0.5).fit(X, y).class_prior_[1]
    for bounds, expected in [((0.0, 1.0), free), ((0.6, 0.8), 0.6), ((0.0, 0.1), 0.1)]:
        model = MaxentClassifier(features="h", prevalence_bounds=bounds).fit(X, y)
        assert model.class_prior_[1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bounds", [(0.05, 0.1), (0.5, 0.7), (0.3, 0.3)])
def test_robust_shares_lie_within_their_bounds(rng, bounds):
    X, y = world(rng)
    model = MaxentClassifier("robust", features="l", prevalence_bounds=bounds).fit(X, y)
    share = model.predict_proba(X)[:, 1].mean()
    assert bounds[0] - 1e-7 <= share <= bounds[1] + 1e-7
    assert model.class_prior_[1] == pytest.approx(share, abs=1e-12)
    free = MaxentClassifier("robust", features="l").fit(X, y).class_prior_[1]
    assert bounds[0] <= free <= bounds[1] or share == pytest.approx(
        np.clip(free, *bounds), abs=1e-6
    )


def test_robust_with_bounds_for_a_class_without_labels(rng):
    X, y = three(rng)
    model = MaxentClassifier(
        "robust", features="l", classes=[0, 1, 2], prevalence_bounds={0: (0.6, 0.7)}
    ).fit(X, y)
    assert model.predict_proba(X).mean(axis=0) == pytest.approx(model.class_prior_, abs=1e-10)
    assert 0.6 - 1e-7 <= model.class_prior_[0] <= 0.7 + 1e-7


def test_a_missing_value_scores_as_the_models_own_mean(rng):
    """004: in the middle of a box's edge, filling in changes nothing for a single feature."""
    X, y = world(rng, missing=0.3)
    model = MaxentClassifier(features="l", tol=1e-12).fit(X, y)
    edge = model.target_[0] - np.sign(model.coef_[0]) * model.half_width_[0]
    low = np.array([knots[0] for knots in model.knots_])
    high = np.array([knots[-1] for knots in model.knots_])
    full = np.where(np.isnan(X), low + edge * (high - low), X)
    np.testing.assert_allclose(model.predict_proba(full), model.predict_proba(X), rtol=1e-9)


def test_rows_without_values_get_the_default(rng):
    X, y = world(rng, missing=0.2)
    for objective in ("entropy", "robust"):
        model = MaxentClassifier(objective, default_prevalence=0.3).fit(X, y)
        assert model.predict_proba(np.full((1, 3), np.nan))[0, 1] == pytest.approx(0.3)


# --- known truth ----------------------------------------------------------------------------------


def test_simulation_recovers_the_density(rng):
    sample = make_presence_only(20_000, random_state=3)
    model = MaxentClassifier(width_scale=0.5).fit(sample.X, sample.y)
    assert np.corrcoef(model.decision_function(sample.X), logit(sample.prob))[0, 1] > 0.97


def test_simulation_robust_with_known_shares_recovers_probabilities():
    """Classes revealed at 0, 0.5 and 0.05: with the shares known, probabilities come out right.

    Entropy weighting takes the class without labels to look like the pool, and cannot do that well.
    """
    sample = make_revealed_classes(30_000, random_state=1)
    shares = dict(enumerate(sample.prob.mean(axis=0).tolist()))
    apart = {}
    for objective in ("robust", "entropy"):
        model = MaxentClassifier(
            objective, features="l", prevalence=shares, width_scale=0.5, classes=[0, 1, 2]
        )
        prob = model.fit(sample.X, sample.y).predict_proba(sample.X)
        apart[objective] = np.abs(prob - sample.prob).mean()
    assert apart["robust"] < 0.02
    assert apart["robust"] < 0.2 * apart["entropy"]


# --- invariants -----------------------------------------------------------------------------------

VARIANTS = [
    {"features": "lqpht", "knots": 12},
    {"features": "h", "knots_at": "quantile"},
    {"features": "ht", "knots_at": "data"},
    {"objective": "robust", "features": "lqh", "knots": 12, "default_prevalence": 0.2},
    {"widths": "maxent", "features": "lqpht", "knots": 12},
    {"spread": "seen", "features": "lh"},
]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_property_weight_2_is_a_row_twice(settings, rng):
    X, y = world(rng, 200, missing=0.2)
    weight = rng.integers(0, 3, 200).astype(float)
    twice = np.repeat(np.arange(200), weight.astype(int))
    weighted = MaxentClassifier(tol=1e-10, **settings).fit(X, y, sample_weight=weight)
    repeated = MaxentClassifier(tol=1e-10, **settings).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_property_units_do_not_matter(settings, rng):
    X, y = world(rng, 300, missing=0.2)
    model = MaxentClassifier(**settings)
    prob = model.fit(X, y).predict_proba(X)
    moved = X * [1e-9, 1e6, 10.0] + [0.0, 1e6, -3.0]
    np.testing.assert_allclose(model.fit(moved, y).predict_proba(moved), prob, atol=1e-6)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_property_round_trip(settings, rng, tmp_path):
    X, y = world(rng, 200, missing=0.2)
    model = MaxentClassifier(**settings).fit(X, y)
    save(model, tmp_path / "m.scarce")
    loaded = load(tmp_path / "m.scarce")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.extrapolation(X)[0], model.extrapolation(X)[0])
    assert loaded.report_ == model.report_


@pytest.mark.parametrize("settings", VARIANTS[:4], ids=str)
def test_property_the_engine_does_not_change_a_bit(settings, rng, tmp_path):
    X, y = world(rng, 900, missing=0.2)
    from scarce.engine.memory import ArrayRows

    codes = np.where(np.isnan(y), np.nan, 1.0)
    cuts = (0, 250, 251, 700, 900)
    answers = []
    for engine in (None, "threads", "processes"):
        rows = ArrayRows(X, codes, classes=[0.0, 1.0], starts=cuts)
        model = MaxentClassifier(engine=engine, **settings).fit(rows)
        answers.append(model.predict_proba(rows).tobytes())
    assert answers[0] == answers[1] == answers[2]


def test_property_an_absent_column_is_one_that_is_all_missing(rng):
    X, y = world(rng)
    X[:, 1] = np.nan
    whole = MaxentClassifier().fit(X, y).predict_proba(X)
    part = MaxentClassifier().fit(X[:, [0, 2]], y).predict_proba(X[:, [0, 2]])
    np.testing.assert_allclose(whole, part, rtol=1e-10)


def test_background_weight_is_the_pool_alone(rng):
    X, y = world(rng, 300)
    weight = np.where(np.isnan(y), rng.integers(1, 4, 300), 1)
    rows = np.repeat(np.arange(300), weight)
    weighted = MaxentClassifier(tol=1e-10).fit(X, y, background_weight=weight)
    repeated = MaxentClassifier(tol=1e-10).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    raw = weighted.output(X, "raw")
    assert weight @ raw == pytest.approx(1)
    with refused("zero-weight", DataError, argument="background_weight", count=1):
        MaxentClassifier().fit(
            X, y, background_weight=np.arange(300) != np.flatnonzero(~np.isnan(y))[0]
        )


def test_files_and_tables_with_text_columns(rng, tmp_path):
    X, y = world(rng, 300, missing=0.1)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["soil"] = np.where(X[:, 1] > 0, "clay", "sand")
    table.loc[::9, "soil"] = None
    model = MaxentClassifier(features="lh").fit(table, y)
    assert model.is_category_.tolist() == [False, False, False, True]
    table.assign(seen=y).to_parquet(tmp_path / "t.parquet")
    rows = open_rows(tmp_path / "t.parquet", label="seen")
    from_file = MaxentClassifier(features="lh").fit(rows)
    np.testing.assert_allclose(
        from_file.predict_proba(rows)[:, -1], model.predict_proba(table)[:, -1], rtol=1e-9
    )
    unseen = table.head(3).assign(soil="lava")
    missing = table.head(3).assign(soil=None)
    with warned("unknown-levels", columns=("soil",), count=3):
        without = model.predict_proba(unseen)
    np.testing.assert_array_equal(without, model.predict_proba(missing))
    coded = table.assign(soil=pd.Categorical(np.where(X[:, 1] > 0, 7, 30)))
    assert MaxentClassifier().fit(coded, y).is_category_.tolist() == [False, False, False, True]


def test_float32_stays_float32_and_agrees(rng):
    X, y = world(rng)
    wide = MaxentClassifier(features="h").fit(X, y)
    narrow = MaxentClassifier(features="h").fit(X.astype(np.float32), y)
    np.testing.assert_allclose(narrow.predict_proba(X), wide.predict_proba(X), atol=1e-3)


# --- missing values -------------------------------------------------------------------------------


def test_no_missingness_pattern_gives_nan():
    """10,000 random patterns: as rows to predict, and 200 of them as data to fit."""
    rng = np.random.default_rng(5)
    X, y = world(rng, 500, missing=0.3)
    model = MaxentClassifier(features="lqpht", knots=8).fit(X, y)
    patterns = rng.normal(size=(10_000, 3))
    patterns[rng.random(patterns.shape) < rng.random((10_000, 1))] = np.nan
    assert np.isfinite(model.predict_proba(patterns)).all()
    for trial in range(200):
        n, k = int(rng.integers(4, 40)), int(rng.integers(1, 5))
        data = rng.normal(size=(n, k))
        data[rng.random(data.shape) < rng.random()] = np.nan
        data[:, rng.random(k) < 0.2] = np.nan
        label = np.where(rng.random(n) < 0.4, 1.0, np.nan)
        label[0] = 1.0
        data[np.ix_(label == 1, rng.random(k) < 0.2)] = np.nan
        objective = ("entropy", "robust")[trial % 2]
        fit = MaxentClassifier(objective, knots=6, width_scale=rng.choice([0.1, 1.0]))
        prob = fit.fit(data, label).predict_proba(data)
        assert np.isfinite(prob).all()
        assert prob.sum(axis=1) == pytest.approx(1)
        assert fit.report_.converged, trial


def test_a_column_that_no_labelled_row_sees_is_left_out_and_named(rng):
    X, y = world(rng)
    X[y == 1, 1] = np.nan
    model = MaxentClassifier(features="lqph").fit(X, y)
    (said,) = remarks(model, "unseen-columns")
    assert said.fields["columns"] == "'x1'"
    moved = X.copy()
    moved[:, 1] = 3.0
    np.testing.assert_array_equal(model.predict_proba(moved), model.predict_proba(X))


def test_weight_that_escapes_to_rows_without_the_telling_column_is_said(rng):
    X = rng.normal(size=(400, 1))
    y = np.full(400, np.nan)
    y[:40] = 1.0
    X[:40] = 4.0 + 0.01 * rng.normal(size=(40, 1))
    X[40:200] = np.nan
    model = MaxentClassifier(features="l", width_scale=0.1).fit(X, y)
    assert remarks(model, "weight-on-missing-values")


def test_hidden_cells_cost_less_than_hidden_rows(rng):
    """Half the cells of one column hidden: using what is left beats dropping the rows."""
    gain = []
    for seed in range(10):
        sample = make_presence_only(3000, random_state=seed)
        X = hide_features(sample.X, how="mcar", share=0.5, random_state=seed)
        whole = ~np.isnan(X).any(axis=1)
        ours = MaxentClassifier(features="lq", spread="labelled").fit(X, sample.y)
        drop = clone(ours).fit(X[whole], sample.y[whole])
        scores = [np.corrcoef(m.decision_function(sample.X), logit(sample.prob))[0, 1]
                  for m in (ours, drop)]  # fmt: skip
        gain.append(scores[0] - scores[1])
    assert np.mean(gain) > 2 * np.std(gain, ddof=1) / np.sqrt(len(gain))


# --- widths and features --------------------------------------------------------------------------


def test_auto_width_reports_its_choice_and_calls_progress(rng):
    X, y = world(rng, 400)
    calls = []
    model = MaxentClassifier(
        features="lq", width_scale="auto", progress=lambda done, total: calls.append((done, total))
    ).fit(X, y)
    choice = model.selection_
    assert calls == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert choice.scores.shape == (5, 20)
    assert model.width_scale_ == choice.width_scale == choice.widths[choice.mean.argmax()]
    assert choice.score > 0
    direct = MaxentClassifier(features="lq", width_scale=model.width_scale_).fit(X, y)
    np.testing.assert_allclose(direct.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_oracle_auto_scores_are_held_out_log_densities(rng):
    X, y = world(rng, 300)
    labelled = np.flatnonzero(y == 1)
    folds = [(None, labelled[:10]), (None, labelled[10:30])]
    for objective in ("entropy", "robust"):
        model = MaxentClassifier(
            objective, features="l", width_scale="auto", width_scales=[1.0, 0.3], cv=folds, tol=1e-9
        ).fit(X, y)
        for fold, (_, held) in enumerate(folds):
            rest = y.copy()
            rest[held] = np.nan
            for at, width in enumerate([1.0, 0.3]):
                alone = MaxentClassifier(objective, features="l", width_scale=width).fit(X, rest)
                score = np.log(alone.density_ratio(X[held])).mean()
                assert model.selection_.scores[fold, at] == pytest.approx(score, abs=5e-3)


def test_auto_features_follow_the_number_of_labelled_rows(rng):
    X = rng.normal(size=(300, 2))
    for labelled, letters in [(9, "l"), (10, "lq"), (14, "lq"), (15, "lqh"), (79, "lqh"),
                              (80, "lqph")]:  # fmt: skip
        y = np.full(300, np.nan)
        y[:labelled] = 1
        assert MaxentClassifier().fit(X, y).features_ == letters


def test_warm_paths_and_cold_fits_agree(rng):
    X, y = world(rng, 500)
    cold = MaxentClassifier(features="h", width_scale=0.25).fit(X, y)
    auto = MaxentClassifier(features="h", width_scale="auto", width_scales=[0.25]).fit(X, y)
    np.testing.assert_array_equal(cold.predict_proba(X), auto.predict_proba(X))


# --- what it refuses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"objective": "entropie"}, "unknown-word"),
        ({"spread": "labeled"}, "unknown-word"),
        ({"widths": "maxnet"}, "unknown-word"),
        ({"knots_at": "quantiles"}, "unknown-word"),
        ({"weight_kind": "surveys"}, "unknown-word"),
        ({"features": "lx"}, "unknown-features"),
        ({"width_scale": -1}, "invalid-parameter"),
        ({"width_scale": "atuo"}, "invalid-parameter"),
        ({"knots": 1}, "invalid-parameter"),
        ({"progress": 3}, "invalid-parameter"),
        ({"clamp": "yes"}, "invalid-parameter"),
        ({"default_prevalence": 1.0}, "base-rate-range"),
        ({"default_prevalence": "autos"}, "base-rate-type"),
        ({"prevalence": 0.2, "prevalence_bounds": (0, 1)}, "argument-conflict"),
        ({"prevalence_bounds": (0.5, 0.2)}, "base-rate-bounds"),
        ({"objective": "robust", "weighting": "default"}, "argument-conflict"),
        ({"categorical": ["x9"]}, "unknown-column"),
        ({"tol": 0}, "invalid-parameter"),
        ({"width_scale": "auto", "random_state": -1}, "seed-value"),
    ],
    ids=str,
)
def test_settings_that_cannot_work(settings, code, rng):
    X, y = world(rng, 60)
    with refused(code, UsageError):
        MaxentClassifier(**settings).fit(X, y)


def test_labels_that_are_missing_throughout(rng):
    with pytest.raises(DataError, match="60"):
        MaxentClassifier().fit(rng.normal(size=(60, 2)), np.full(60, np.nan))


def test_the_class_without_labels_has_a_name(rng):
    X, y = world(rng, 100)
    for labels, classes in [
        (y, [0.0, 1.0]),
        (np.where(y == 1, "owl", None), ["(not owl)", "owl"]),
        (np.where(y == 1, 0.0, np.nan), [-1.0, 0.0]),
    ]:
        model = MaxentClassifier(features="l").fit(X, labels)
        assert model.classes_.tolist() == classes
        assert model.predict_proba(X)[:, -1] == pytest.approx(
            MaxentClassifier(features="l").fit(X, y).predict_proba(X)[:, -1]
        )


def test_a_family_of_ones_own(rng):
    from scarce.maxent.families import Linear

    class Mine(Linear):
        letter = "m"
        stackable = False

    X, y = world(rng, 200)
    own = MaxentClassifier(features=[Mine()]).fit(X, y)
    np.testing.assert_allclose(
        own.predict_proba(X), MaxentClassifier(features="l").fit(X, y).predict_proba(X), rtol=1e-9
    )
    assert own.features_ == "m"


def test_public_names():
    assert scarce.MaxentClassifier is MaxentClassifier


# --- wild values ----------------------------------------------------------------------------------


def wild_data(kind, seed=1):
    """Presences around (1, 1) in a normal background; gain is judged on presences of their own."""
    rng = np.random.default_rng(seed)
    background, presence = rng.normal(size=(2000, 2)), rng.normal(size=(100, 2)) * 0.5 + 1
    test = rng.normal(size=(2000, 2)) * 0.5 + 1
    if kind in ("high", "both"):
        background[0, 0] = 1e4
    if kind in ("low", "both"):
        background[1, 0] = -9999.0
    if kind == "skewed":
        for part in (background, presence, test):
            part[:, 0] = np.exp(3 * part[:, 0])
    X = np.concatenate([presence, background])
    return X, np.repeat([1.0, np.nan], [100, 2000]), test


@pytest.mark.parametrize("features", ["l", "lq", "lqp", "h", "t", "auto"])
@pytest.mark.parametrize("kind", ["high", "low", "both", "skewed"])
def test_one_wild_value_does_not_flatten_a_variable(kind, features):
    def gain(kind):
        X, y, test = wild_data(kind)
        model = MaxentClassifier(features=features).fit(X, y)
        return np.log(model.density_ratio(test)).mean(), model

    (plain, before), (wild, model) = gain("none"), gain(kind)
    # A skewed variable is another one where straight lines and squares are all there is.
    assert wild > (0.85 if kind == "skewed" and features[0] == "l" else 0.9) * plain
    assert not remarks(before, "outliers")
    (said,) = remarks(model, "outliers")
    assert said.fields["column"] == "x0"


def test_even_knots_keep_the_raw_range_and_say_so():
    X, y, _ = wild_data("high")
    model = MaxentClassifier(features="h", knots_at="uniform").fit(X, y)
    np.testing.assert_array_equal(model.knots_[0], np.linspace(X[:, 0].min(), 1e4, 50))
    (said,) = remarks(model, "outliers")
    assert "{knots}" in said.remedy[0]


def test_stored_scales_predict_the_same(tmp_path):
    X, y, test = wild_data("both")
    model = MaxentClassifier(features="lqp").fit(X, y)
    save(model, tmp_path / "one.scarce")
    again = load(tmp_path / "one.scarce")
    np.testing.assert_array_equal(again.predict_proba(test), model.predict_proba(test))


# --- few labelled rows ----------------------------------------------------------------------------


def known_density(seed, signal, n, columns=10):
    """n labelled rows of a class whose density ratio is known, and the pool."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, columns))
    weight = np.exp(signal * X[:, 0])
    X_all = np.concatenate([X[rng.choice(1500, n, p=weight / weight.sum())], X])
    return X_all, np.repeat([1.0, np.nan], [n, 1500]), X, weight / weight.sum()


def expected_gain(n, signal, **settings):
    """Expected log density ratio of a new labelled row, mean of eight draws; 0 is the pool."""
    found = []
    for seed in range(8):
        X, y, pool, share = known_density(seed, signal, n)
        model = MaxentClassifier(**settings).fit(X, y)
        found.append(float(share @ np.log(model.density_ratio(pool))))
    return np.mean(found)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 10, 20, 50])
def test_few_labelled_rows_do_not_make_the_model_certain(n):
    nothing, something = expected_gain(n, 0.0), expected_gain(n, 1.5)
    assert nothing > -0.2  # where there is nothing to learn
    assert nothing >= expected_gain(n, 0.0, spread="labelled")
    assert something > 0.4  # of 1.1 nats that there are
    assert something >= expected_gain(n, 1.5, spread="labelled") - 0.02


def test_two_equal_presences_are_not_proof(rng):
    X = np.concatenate([np.full((2, 8), 0.7), rng.normal(size=(500, 8))])
    y = np.repeat([1.0, np.nan], [2, 500])
    model = MaxentClassifier().fit(X, y)
    assert model.density_ratio(X).max() < 10
    assert MaxentClassifier(spread="labelled").fit(X, y).density_ratio(X).max() > 50
    (said,) = remarks(model, "few-labelled-rows")
    assert said.fields["count"] == 2


# --- how common the classes are -------------------------------------------------------------------


def surveyed(rng, n=2000):
    """Every row labelled; 1 is rare."""
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < expit(X[:, 0] - 3.5)).astype(float)


@pytest.mark.parametrize("objective", ["entropy", "robust"])
def test_where_every_row_is_labelled_classes_have_their_observed_shares(objective, rng):
    X, y = surveyed(rng)
    weight = rng.exponential(size=len(y)) + 0.1
    for weights in (None, weight):
        model = MaxentClassifier(objective).fit(X, y, weights)
        wanted = np.average(y, weights=weights)
        assert model.class_prior_ == pytest.approx([1 - wanted, wanted], abs=1e-9)
        assert model.class_prior_from_ == "observed"
        mean = np.average(model.predict_proba(X)[:, 1], weights=weights)
        assert mean == pytest.approx(wanted, rel=0.05)
        assert not remarks(model, "assumed-base-rate")
    # rows without weight do not count, labelled or not
    rest = MaxentClassifier(objective).fit(
        np.vstack([X, X]), np.append(y, np.full(len(y), np.nan)), np.repeat([1.0, 0.0], len(y))
    )
    assert rest.class_prior_[1] == pytest.approx(y.mean(), abs=1e-9)


def test_shares_of_three_classes_that_are_all_labelled(rng):
    X = rng.normal(size=(900, 2))
    y = np.array(["a", "b", "c"])[np.minimum(np.arange(900) // 600 + (X[:, 0] > 1.5), 2)]
    model = MaxentClassifier(features="lq").fit(X, y)
    wanted = [(y == one).mean() for one in "abc"]
    assert model.class_prior_ == pytest.approx(wanted, abs=1e-12)


def test_shares_that_are_assumed_are_named(rng):
    X, y = surveyed(rng)
    presence_only = np.where(y == 1, 1.0, np.nan)
    some = np.where(rng.random(len(y)) < 0.5, y, np.nan)
    for labels, field in ((presence_only, "label"), (some, "shares")):
        model = MaxentClassifier(features="lq").fit(X, labels)
        assert model.class_prior_from_ == "assumed"
        (said,) = remarks(model, "assumed-base-rate")
        assert field in said.fields
        old = MaxentClassifier(features="lq", default_prevalence=0.5).fit(X, labels)
        np.testing.assert_array_equal(old.predict_proba(X), model.predict_proba(X))
        for known in ({"default_prevalence": 0.5}, {"prevalence": 0.1},
                      {"prevalence_bounds": (0.1, 0.2)}):  # fmt: skip
            quiet = MaxentClassifier(features="lq", **known).fit(X, labels)
            assert not remarks(quiet, "assumed-base-rate")
    assert MaxentClassifier(prevalence=0.1, features="l").fit(X, some).class_prior_from_ == "given"


@pytest.mark.parametrize("missing", [1, 20])
def test_shares_that_the_labels_contradict_are_warned_of(rng, missing):
    X = rng.normal(size=(240, 2))
    y = (rng.random(240) < 1 / (1 + np.exp(1.5 - X[:, 0]))).astype(float)
    y[:missing] = np.nan
    with warned("assumed-share-impossible") as said:
        model = MaxentClassifier(features="l").fit(X, y)
    (problem,) = remarks(model, "assumed-share-impossible")
    assert said == [problem]
    assert problem.fields["held"] == pytest.approx((y == 0).mean())
    assert problem.fields["share"] == pytest.approx(model.class_prior_[0])
    assert problem.fields["missing"] == pytest.approx(missing / 240)
    assert not remarks(model, "assumed-base-rate")
    known = MaxentClassifier(features="l", prevalence=0.2).fit(X, y)  # no warning
    assert not remarks(known, "assumed-share-impossible")
    apart = np.where(np.isnan(y), 1.0, 1e-3)  # labelled rows that are hardly part of the pool
    MaxentClassifier(features="l").fit(X, y, background_weight=apart)


# --- the score ------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["entropy", "robust"])
def test_score_is_the_mean_log_density_ratio_of_labelled_rows(objective, rng):
    X, y = three(rng)
    weight = rng.exponential(size=len(y))
    model = MaxentClassifier(objective, features="lq", classes=[0, 1, 2]).fit(X, y)
    own = ~np.isnan(y)
    each = np.log(model.density_ratio(X[own]))[np.arange(own.sum()), y[own].astype(int)]
    assert model.score(X, y) == pytest.approx(each.mean(), rel=1e-12)
    wanted = np.average(each, weights=weight[own])
    assert model.score(X, y, weight) == pytest.approx(wanted, rel=1e-12)
    # 0 had no labels to learn from
    survey = np.where(own, y, 0.0)
    assert model.score(X, survey) == pytest.approx(each.mean(), rel=1e-12)
    with refused("no-labels", DataError, rows=3):
        model.score(X[:3], [0, 0, np.nan])
    with pytest.raises(DataError, match="X has 3 rows and y has 2"):
        model.score(X[:3], [1, 1])
    with refused("no-labels", DataError):
        model.score(X)


def test_score_of_rows_that_carry_their_labels(rng):
    X, y = world(rng)
    weight = rng.exponential(size=len(y))
    model = MaxentClassifier().fit(X, y)
    rows = open_rows(X, label=y, weight=weight)
    assert model.score(rows) == pytest.approx(model.score(X, y, weight), rel=1e-12)
    with refused("rows-carry-labels", UsageError):
        model.score(rows, y)


def test_cross_validation_with_rows_that_are_not_labelled(rng):
    X, y = world(rng)
    folds = KFold(5, shuffle=True, random_state=0)
    found = cross_val_score(MaxentClassifier(), X, y, cv=folds)
    assert (found > 0.1).all()
    noise = cross_val_score(MaxentClassifier(), rng.permutation(X), y, cv=folds)
    assert noise.mean() < 0.05
    names = np.where(np.isnan(y), None, "owl").astype(object)
    np.testing.assert_allclose(cross_val_score(MaxentClassifier(), X, names, cv=folds), found)
    search = GridSearchCV(MaxentClassifier(features="h"), {"width_scale": [0.5, 50.0]}, cv=folds)
    assert search.fit(X, y).best_params_ == {"width_scale": 0.5}


# --- what weights mean ----------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["entropy", "robust"])
def test_survey_weights_matter_only_in_proportion(objective, rng):
    X, y = world(rng, 400)
    weight = rng.exponential(size=400) + 0.2
    survey = MaxentClassifier(objective, features="lqh", weight_kind="survey", tol=1e-9)
    one = clone(survey).fit(X, y, weight)
    for factor in (1 / weight.sum(), 1e6):
        other = clone(survey).fit(X, y, factor * weight)
        np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-9)
        assert other.n_labelled_ == pytest.approx(one.n_labelled_)
    own = weight[y == 1]
    assert one.n_labelled_[0] == pytest.approx(own.sum() ** 2 / (own @ own))
    # equal weights are no weights
    plain = clone(survey).set_params(weight_kind="frequency").fit(X, y)
    equal = clone(survey).fit(X, y, np.full(400, 1 / 400))
    np.testing.assert_allclose(equal.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_each_class_counts_its_own_rows_with_survey_weights(rng):
    X, y = surveyed(rng)
    weight = np.where(y == 1, 1.0, 40.0)
    model = MaxentClassifier(weight_kind="survey", features="lq").fit(X, y, weight)
    assert model.n_labelled_ == pytest.approx([(y == 0).sum(), (y == 1).sum()])
    assert model.class_prior_[1] == pytest.approx(np.average(y, weights=weight))


def test_weights_that_sum_to_one_are_pointed_out(rng):
    X, y = world(rng, 400)
    model = MaxentClassifier().fit(X, y, np.full(400, 1 / 400))
    assert any("weight_kind='survey'" in line for line in model.report_.warnings)
    assert not any("weight_kind" in line for line in MaxentClassifier().fit(X, y).report_.warnings)
    with pytest.raises(DataError, match="beyond what double precision"):
        MaxentClassifier().fit(X, y, np.full(400, 1e-320))


# --- what the data may not mean -------------------------------------------------------------------


def test_columns_and_presences_that_deserve_a_second_look(rng):
    X, y = world(rng)
    table = pd.DataFrame(X, columns=["heat", "lon", "Latitude"])
    table["soil"] = rng.integers(1, 5, len(y))
    table["age"] = rng.integers(1, 80, len(y))
    said = MaxentClassifier(features="l").fit(table, y).report_.warnings
    assert [line for line in said if "'lon' and 'Latitude' look like coordinates" in line]
    (whole,) = [line for line in said if "few whole numbers" in line]
    assert "'soil'" in whole
    assert "'age'" not in whole
    plain = MaxentClassifier(features="l", categorical=["soil"]).fit(table[["heat", "soil"]], y)
    every = MaxentClassifier(features="l").fit(table, np.nan_to_num(y))
    for model in (plain, every):
        assert not any("coord" in one or "whole" in one for one in model.report_.warnings)


def test_presences_recorded_twice_are_counted_and_said(rng):
    X, y = world(rng)
    own = X[y == 1][:40]
    model = MaxentClassifier(features="l").fit(np.vstack([X, own]), np.append(y, np.ones(40)))
    (said,) = remarks(model, "repeated-rows")
    assert said.fields["count"] == 40
    assert not remarks(MaxentClassifier().fit(X, y), "repeated-rows")


# --- what users pass: tables, precision, pieces, stored parts -------------------------------------


@pytest.fixture
def data(rng):
    X = rng.normal(size=(90, 3))
    X[:, 2] = rng.integers(0, 3, 90)
    y = np.where(np.arange(90) < 25, 1.0, np.nan)
    X[:25, 0] += 1
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def model(**settings):
    return MaxentClassifier(**{"features": "lqph", "knots": 6, **settings})


def test_float32_is_kept(data):
    X, y = data
    narrow = X.astype(np.float32)
    for given, dtype in ((X, np.float64), (narrow, np.float32), (X.tolist(), np.float64)):
        rows, classes, label, weight, found = model()._read(given, y, None)
        assert found == dtype
        assert classes.tolist() == [1.0]
        np.testing.assert_array_equal(label, np.where(np.isnan(y), np.nan, 0))
        assert (weight == 1).all()
        assert len(rows) == 90
    wide = model().fit(narrow.astype(np.float64), y).predict_proba(X)
    np.testing.assert_allclose(model().fit(narrow, y).predict_proba(X), wide, atol=1e-4)


def test_labels_and_weights_of_rows(data, rng):
    X, y = data
    weight = rng.random(90)
    label = np.where(np.isnan(y), np.nan, 0.0)
    rows = ArrayRows(X, label, weight=weight, classes=[1.0], starts=(0, 7, 90))
    one = model().fit(rows).predict_proba(rows)
    two = model().fit(X, y, weight).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "rows"])
def test_text_columns_become_levels(data, kind):
    X, y = data
    soil = np.array(["clay", "peat", "sand"], dtype=object)[np.nan_to_num(X[:, 2]).astype(int)]
    soil[np.isnan(X[:, 2])] = None
    columns = {"a": X[:, 0], "b": X[:, 1], "soil": soil}
    table = {
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(
            {k: pl.Series(v.tolist(), strict=False) for k, v in columns.items()}
        ),
        "arrow": lambda: pa.table(
            {k: pa.array(v.tolist(), from_pandas=True) for k, v in columns.items()}
        ),
        "rows": lambda: pa.table(
            {k: pa.array(v.tolist(), from_pandas=True) for k, v in columns.items()}
        ),
    }[kind]()
    if kind == "rows":
        labels = pa.array(y, from_pandas=True)
        rows = open_rows(table.append_column("y", labels), label="y")
        ours = model().fit(rows)
        given = rows
    else:
        ours = model().fit(table, y)
        given = table
    plain = model(categorical=[2]).fit(X, y)
    assert ours.is_category_.tolist() == [False, False, True]
    np.testing.assert_allclose(ours.predict_proba(given), plain.predict_proba(X), atol=1e-8)


def test_columns_are_found_by_name_and_unknown_levels_are_missing(data):
    X, y = data
    table = pd.DataFrame({"a": X[:, 0], "soil": np.where(np.arange(90) < 40, "clay", "sand")})
    ours = model().fit(table, y)
    wanted = ours.predict_proba(table)
    np.testing.assert_array_equal(ours.predict_proba(table[["soil", "a"]]), wanted)
    odd, none = table.head(4).copy(), table.head(4).copy()
    odd.loc[:2, "soil"], none.loc[:2, "soil"] = "lava", None
    with warned("unknown-levels", columns=("soil",), count=3):
        without = ours.predict_proba(odd)
    np.testing.assert_array_equal(without, ours.predict_proba(none))
    assert not np.allclose(ours.predict_proba(none), wanted[:4])
    with refused("lazy-frame"):
        ours.predict_proba(pl.DataFrame(table.to_dict("list")).lazy())


def test_a_second_fit_forgets_the_first_table(data):
    X, y = data
    ours = model().fit(pd.DataFrame({"a": X[:, 0], "soil": np.where(X[:, 1] > 0, "c", "s")}), y)
    assert hasattr(ours, "schema_")
    ours.fit(X, y)
    assert not hasattr(ours, "schema_")
    assert not hasattr(ours, "feature_names_in_")
    assert ours.predict_proba(X).shape == (90, 2)


def test_tables_need_labels(data):
    with refused("no-labels", DataError):
        model().fit(pd.DataFrame({"soil": ["clay", "sand"]}))


def test_weights_beside_tables(data, rng):
    X, y = data
    weight = rng.random(90)
    table = pd.DataFrame({"a": X[:, 0], "soil": np.where(X[:, 1] > 0, "clay", "sand")})
    as_numbers = np.column_stack([X[:, 0], np.where(X[:, 1] > 0, 0.0, 1.0)])
    one = model().fit(table, y, weight).predict_proba(table)
    two = model(categorical=[1]).fit(as_numbers, y, weight).predict_proba(as_numbers)
    np.testing.assert_allclose(one, two, atol=1e-8)


def test_tilts_do_not_depend_on_pieces_or_blocks(data, monkeypatch):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    whole = ours._tilts(X)
    assert whole.shape == (90, 1)
    monkeypatch.setattr(response, "PIECE", 7)
    np.testing.assert_allclose(ours._tilts(X), whole, rtol=1e-13, atol=1e-13)
    cut = ours._tilts(ArrayRows(X, starts=(0, 1, 50, 90)))
    np.testing.assert_allclose(cut, whole, rtol=1e-13, atol=1e-13)


def test_tilts_of_several_classes_are_those_of_each_alone(data):
    X, y = data
    y = y.copy()
    y[25:45] = 2.0
    X = X.copy()
    X[25:45, 1] -= 2.0
    both = model(classes=[0, 1, 2], features="lh", tol=1e-10).fit(X, y)._tilts(X)
    assert both.shape == (90, 2)
    for at, label in enumerate((1.0, 2.0)):
        own = np.where(y == label, label, np.nan)
        alone = model(features="lh", tol=1e-10).fit(X, own)._tilts(X)
        np.testing.assert_allclose(both[:, at], alone[:, 0], atol=1e-3)
    assert np.abs(both[:, 0] - both[:, 1]).max() > 0.1


def test_clamping_is_a_matter_of_prediction(data):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    far, edge = X[:5].copy(), X[:5].copy()
    far[:, 0], edge[:, 0] = 100.0, np.nanmax(X[:, 0])
    np.testing.assert_array_equal(ours._tilts(far), ours._tilts(edge))
    on = ours.set_params(clamp=False)
    assert not np.allclose(on._tilts(far), on._tilts(edge))
    np.testing.assert_array_equal(on._tilts(edge), ours._tilts(edge))


def test_stored_axes_are_those_of_the_fit(data):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    space = ours._tilt_model().space
    assert [axis.name for axis in space.axes] == ["x0", "x1", "x2"]
    assert [axis.category for axis in space.axes] == [False, False, True]
    assert [axis.n_segments for axis in space.axes] == [5, 5, 3]
    assert len(space.pairs) > 0
    assert len(model(features="l").fit(X, y)._tilt_model().space.pairs) == 0
    named = model().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert [axis.name for axis in named._tilt_model().space.axes] == ["a", "b", "c"]
    (lines,) = ours._tilt_model().lines
    assert len(lines.start) == space.n_cells
    assert lines.bend.shape == (3, 3)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("knots_", lambda v: v[:-1]),
        ("is_category_", lambda v: v[:-1]),
        ("offset_", lambda v: v[:-1]),
        ("class_prior_", lambda v: np.append(v, 0)),
        ("log_partition_", lambda v: np.append(v, 0)),
        ("start_", lambda v: v[:, :-1]),
        ("slope_", lambda v: v[:, 1:]),
        ("bend_", lambda v: v[:, :2]),
        ("bend_seen_", lambda v: v[:, :, :2]),
        ("knots_", lambda v: [v[0][::-1], *v[1:]]),
        ("knots_", lambda v: [*v[:2], v[2][::-1]]),
    ],
)
def test_parts_that_do_not_belong_together(data, name, change):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    ours._check_loaded()
    setattr(ours, name, change(getattr(ours, name)))
    with refused("wrong-array", DataError):
        ours._check_loaded()


def test_weights_of_the_pool():
    labelled = np.array([True, False, False])
    assert module._pool_weight([1, 0, 2], labelled).tolist() == [1.0, 0.0, 2.0]
    for wrong, code in (
        ([1, 2], "length-mismatch"),
        ([1, -1, 2], "weight-range"),
        ([1, np.nan, 2], "weight-range"),
        ([1, np.inf, 2], "weight-range"),
        ([[1, 2, 3]], "length-mismatch"),
    ):
        with refused(code, DataError, argument="background_weight"):
            module._pool_weight(wrong, labelled)
    with refused("zero-weight", DataError, count=1, row=2):
        module._pool_weight([1, 1, 0], np.array([True, False, True]))


def test_rows_with_another_code_book_are_read_by_the_names_of_levels(rng):
    soil = np.array(["clay", "peat", "sand", "rock"])[rng.integers(0, 4, 300)]
    table = pd.DataFrame({"heat": rng.normal(size=300), "soil": soil})
    y = np.where((soil == "sand") & (rng.random(300) < 0.8) | (np.arange(300) < 9), 1.0, np.nan)
    model = MaxentClassifier(features="l").fit(table, y)
    for rows in (table.iloc[::-1], table[table.soil == "sand"], table[table.soil != "clay"]):
        opened = open_rows(rows, label=None)
        np.testing.assert_array_equal(model.predict_proba(opened), model.predict_proba(rows))
        np.testing.assert_array_equal(model.density_ratio(opened), model.density_ratio(rows))
        assert model.extrapolation(opened)[1].tolist() == model.extrapolation(rows)[1].tolist()


def test_units_do_not_matter_where_a_fence_falls_on_a_value():
    """Quartiles 2 and 4 put a fence on the value 10: rounding made a segment of length 0."""
    rng = np.random.default_rng(0)
    column = np.concatenate(
        [np.repeat([0, 1, 2, 3, 4, 5], [50, 90, 180, 180, 180, 90]), [10] * 9, [15] * 4]
    )
    X = np.column_stack([column, rng.normal(size=len(column))]).astype(float)
    y = np.where((rng.random(len(X)) < 0.05 + 0.03 * column.clip(0, 10)), 1.0, np.nan)
    plain = MaxentClassifier(prevalence=0.4).fit(X, y).predict_proba(X)[:, 1]
    for mean, scale in ((2.7, 1.9), (3.1, 0.7), (np.pi, 2.3)):
        with np.errstate(all="raise", under="ignore"):
            moved = MaxentClassifier(prevalence=0.4).fit((X - mean) / scale, y)
            prob = moved.predict_proba((X - mean) / scale)[:, 1]
        assert prob.mean() == pytest.approx(0.4, abs=1e-3)
        np.testing.assert_allclose(prob, plain, atol=1e-3)
