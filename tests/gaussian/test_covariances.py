"""GaussianBayes with covariances: scikit-learn's answers, missing values exact, never singular."""

import numpy as np
import pytest
import sklearn
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.utils.fixes import parse_version

from scarce import DataError, StoreError, UsageError, load, save
from scarce.datasets import hide_features
from scarce.engine.memory import ArrayRows
from scarce.errors import Argument
from tests.gaussian.densities import densities
from tests.problems import codes, refused
from tests.properties.store_properties import check_round_trip

COVARIANCES = ("full", "shared", "shrunk")
# scikit-learn divided by n - 1 and n - K before 1.9.1, by n since.
UNBIASED = parse_version(sklearn.__version__) < parse_version("1.9.1")
KINDS = ("diag", "shared-diag", *COVARIANCES)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5)) * [1, 10, 0.1, 1, 3] + [0, 90, 0, -3, 5]
    y = rng.choice(["a", "b", "c"], 500, p=[0.7, 0.2, 0.1])
    X[y == "b"] += [0.4, 3, 0.02, 0, 0]
    X[y == "c"] = X[y == "c"].mean(axis=0) + 1.3 * (X[y == "c"] - X[y == "c"].mean(axis=0))
    return X, y


# --- against scikit-learn -------------------------------------------------------------------------


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (densities("full", unbiased=UNBIASED), QuadraticDiscriminantAnalysis()),
        (densities("shared", unbiased=UNBIASED), LinearDiscriminantAnalysis()),
        (densities("shared"), LinearDiscriminantAnalysis("lsqr")),
    ],
    ids=["qda", "lda-svd", "lda-lsqr"],
)
def test_oracle_agrees_with_scikit_learn_on_complete_data(data, ours, theirs, priors):
    X, y = data
    if priors is not None and theirs.get_params().get("solver") == "lsqr":
        pytest.skip("its lsqr solver pools with the priors as weights")
    ours.set_params(priors=priors).fit(X, y)
    theirs.set_params(priors=priors).fit(X, y)
    np.testing.assert_allclose(
        ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-10, atol=1e-10
    )
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_oracle_linear_weights_are_those_of_scikit_learn(data):
    X, y = data[0], data[1] == "c"  # 10 % positives: the constant holds log(p / (1 - p))
    ours = densities("shared").fit(X, y)
    theirs = LinearDiscriminantAnalysis("lsqr").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-10)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-10, atol=1e-10
    )
    even = densities("shared", priors=[0.5, 0.5]).fit(X, y)
    odds = np.log(ours.class_prior_[1] / ours.class_prior_[0])
    assert ours.intercept_ - even.intercept_ == pytest.approx(odds, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_discriminant_is_the_log_odds(data, kind):
    X, y = data[0], data[1] == "b"
    model = densities(kind).fit(X, y)
    prob = model.predict_proba(X)
    log_odds = np.log(prob[:, 1] / prob[:, 0])
    np.testing.assert_allclose(model.decision_function(X), log_odds, rtol=1e-8, atol=1e-8)
    form = model.discriminant()
    np.testing.assert_allclose(form(X), log_odds, rtol=1e-7, atol=1e-7)
    if kind in ("shared", "shared-diag"):
        np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, log_odds, rtol=1e-8)
        assert not form.quadratic.any()
    else:
        assert not hasattr(model, "coef_")
    with refused("two-classes-needed", UsageError, n_classes=3):
        densities(kind).fit(*data).discriminant()


def test_oracle_covariances_are_those_of_numpy(data, rng):
    X, y = data
    weight = rng.random(500)
    model = densities("full").fit(X, y, weight)
    pooled = np.zeros((5, 5))
    for label, name in enumerate("abc"):
        mine = y == name
        wanted = np.cov(X[mine].T, aweights=weight[mine], ddof=0)
        np.testing.assert_allclose(model.covariance_[label], wanted, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.variance_[label], np.diag(wanted), rtol=1e-9)
        pooled += weight[mine].sum() * wanted
    shared = densities("shared").fit(X, y, weight)
    np.testing.assert_allclose(shared.covariance_, pooled / weight.sum(), rtol=1e-9, atol=1e-12)


def test_oracle_unbiased_divisors(data):
    X, y = data
    model = densities("full", unbiased=True).fit(X, y)
    for label, name in enumerate("abc"):
        wanted = np.cov(X[y == name].T)
        np.testing.assert_allclose(model.covariance_[label], wanted, rtol=1e-10, atol=1e-12)
    centred = X - np.array([X[y == name].mean(axis=0) for name in y])
    shared = densities("shared", unbiased=True).fit(X, y)
    np.testing.assert_allclose(shared.covariance_, centred.T @ centred / 497, rtol=1e-9, atol=1e-12)
    naive = densities("diag", unbiased=True, var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(naive.variance_, model.variance_, rtol=1e-10)
    naive = densities("shared-diag", unbiased=True, var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(naive.variance_, shared.variance_, rtol=1e-10)


# --- missing values at prediction -----------------------------------------------------------------


@pytest.mark.parametrize("kind", COVARIANCES)
def test_oracle_missing_values_are_integrated_out(data, kind):
    X, y = data
    model = densities(kind).fit(X, y)
    incomplete = hide_features(X[:60], how="mcar", share=0.4, random_state=0)
    incomplete[0] = np.nan
    joint = model.predict_joint_log_proba(incomplete)
    for row, found in zip(incomplete, joint, strict=True):
        seen = ~np.isnan(row)
        for label in range(3):
            matrix = model.covariance_ if kind == "shared" else model.covariance_[label]
            wanted = np.log(model.class_prior_[label])
            if seen.any():
                wanted += multivariate_normal.logpdf(
                    row[seen], model.mean_[label, seen], matrix[np.ix_(seen, seen)]
                )
            assert found[label] == pytest.approx(wanted, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(
        model.predict_proba(incomplete[:1])[0], model.class_prior_, rtol=1e-12
    )
    whole = np.exp(model.log_density(X[:3]))
    np.testing.assert_allclose(whole, np.exp(model.predict_joint_log_proba(X[:3])).sum(axis=1))


# --- invariants -----------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", COVARIANCES)
def test_invariant_order_units_labels_and_weights(data, kind, missing):
    X, y = data
    X = hide_features(X, how="mcar", share=missing, random_state=3)
    model = densities(kind).fit(X, y)
    prob = model.predict_proba(X)
    order = np.random.default_rng(0).permutation(500)
    again = densities(kind).fit(X[order], y[order])
    np.testing.assert_allclose(again.predict_proba(X), prob, rtol=1e-8, atol=1e-12)
    units = np.array([1e3, 1e-4, 7.0, 1e6, 1.0])
    scaled = densities(kind).fit(X * units + 5, y)
    np.testing.assert_allclose(scaled.predict_proba(X * units + 5), prob, rtol=1e-6, atol=1e-9)
    swapped = densities(kind).fit(X, np.array(["c", "b", "a"])[np.searchsorted(list("abc"), y)])
    np.testing.assert_allclose(swapped.predict_proba(X)[:, ::-1], prob, rtol=1e-7, atol=1e-11)
    weight = np.arange(500) % 3
    weighted = densities(kind).fit(X, y, weight)
    repeated = densities(kind).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7, atol=1e-11
    )
    np.testing.assert_allclose(weighted.shrinkage_, repeated.shrinkage_, atol=1e-9)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_invariant_engines_give_the_same_bits_and_cuts_the_same_model(data, kind):
    X, y = data
    X, y = hide_features(X[:200], how="mcar", share=0.1, random_state=3), y[:200]
    codes = np.searchsorted(["a", "b", "c"], y).astype(float)
    codes[::5] = np.nan
    cut = (0, 1, 130, 200)
    models = [
        densities(kind, engine=engine, unlabelled="use", tol=0.01).fit(
            ArrayRows(X, codes, classes="abc", starts=cut)
        )
        for engine in (None, "threads")
    ]
    np.testing.assert_array_equal(models[0].covariance_, models[1].covariance_)
    rows = ArrayRows(X, starts=cut)
    np.testing.assert_array_equal(models[0].predict_proba(rows), models[1].predict_proba(rows))
    one = densities(kind, unlabelled="use", tol=0.01).fit(ArrayRows(X, codes, classes="abc"))
    np.testing.assert_allclose(models[0].covariance_, one.covariance_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_invariant_a_column_never_seen_is_a_column_not_there(data, kind):
    X, y = data
    more = np.column_stack([X[:, :2], np.full(500, np.nan), X[:, 2:]])
    more[y == "a", 2] = 1.0  # seen in one class only: of no use either
    model, plain = densities(kind).fit(more, y), densities(kind).fit(X, y)
    assert model.used_.tolist() == [True, True, False, True, True, True]
    (said,) = model.report_.warnings
    assert (said.code, said.fields["columns"]) == ("column-not-observed", "x2")
    assert model.report_.proves == "closed form"
    np.testing.assert_allclose(model.predict_proba(more), plain.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(model.outlier_score(more), plain.outlier_score(X), rtol=1e-10)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_objective_is_the_negative_log_likelihood(data, kind):
    X, y = data
    model = densities(kind).fit(X, y)
    joint = model.predict_joint_log_proba(X)
    codes = np.searchsorted(model.classes_, y)
    assert model.report_.objective == pytest.approx(-joint[np.arange(500), codes].sum(), rel=1e-9)
    assert model.report_.proves == "closed form"


# --- singular covariances -------------------------------------------------------------------------


def spoiled(data, how):
    X, y = data[0].copy(), data[1]
    if how == "few rows":
        keep = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:4]])
        return X[keep], y[keep]
    if how == "one row":
        keep = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:1]])
        return X[keep], y[keep]
    if how == "constant column":
        X[:, 1] = 0.1
    if how == "constant in a class":
        X[y == "c", 1] = 0.1
    if how == "repeated column":
        X[:, 1] = 2 * X[:, 0] + 1
    if how == "fewer rows than columns":
        keep = np.flatnonzero(y == "a")[:3], np.flatnonzero(y == "c")[:2]
        return X[np.concatenate(keep)], y[np.concatenate(keep)]
    if how == "nothing moves":
        X[:] = [1, 2, 3, 4, 5]
    return X, y


@pytest.mark.parametrize(("unbiased", "missing"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize(
    "how",
    [
        "few rows",
        "one row",
        "constant column",
        "constant in a class",
        "repeated column",
        "fewer rows than columns",
        "nothing moves",
    ],
)
def test_singular_covariances_are_met_and_said(data, how, kind, unbiased, missing):
    X, y = spoiled(data, how)
    if missing:
        X = X.copy()
        X[::7, 2] = np.nan
        X[1::9, 0] = np.nan
    model = densities(kind, unbiased=unbiased, tol=1e-3, max_iter=30).fit(X, y)
    far = np.vstack([X, 1e9 + X, np.full((1, 5), 1e200)])
    for values in (
        model.predict_log_proba(X),
        model.predict_proba(far),
        model.outlier_score(far),
        model.covariance_,
        model.decision_function(far),
    ):
        assert np.isfinite(values).all()
    said = {one.code: one for one in model.report_.warnings if codes([one]) != [""]}
    if kind == "full" and how in ("few rows", "one row"):
        fields = said["singular-covariance"].fields
        assert fields["rows"] == {"few rows": 4, "one row": 1}[how]
        assert (fields["label"], fields["features"]) == ("c", 5)
        assert fields["intensity"] == pytest.approx(model.shrinkage_[2])
        assert model.shrinkage_[2] > 0
        assert (model.shrinkage_[:2] == 0).all()
    if how in ("repeated column", "fewer rows than columns") and kind != "shrunk":
        assert {"singular-covariance", "singular-pooled-covariance"} & set(said)


def test_full_stays_as_it_is_where_nothing_is_singular(data):
    model = densities("full").fit(*data)
    assert not model.shrinkage_.any()
    assert model.report_.warnings == ()


# --- outliers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_simulation_outlier_scores_are_what_they_say(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40_000, 3))
    y = np.arange(40_000) % 2
    X[y == 1] += 100.0
    X[rng.random(X.shape) < 0.2] = np.nan
    model = densities(kind, tol=1e-4).fit(X, y)
    score = model.outlier_score(X)
    some = ~np.isnan(X).all(axis=1)
    for level in (1, 2, 3):
        share = (score[some] >= level).mean()
        assert share == pytest.approx(10.0**-level, abs=4 * np.sqrt(10.0**-level / 40_000))
    assert (score[~some] == 0).all()
    rows = np.array([[np.nan] * 3, [50, np.nan, np.nan], [1e160, 0, 0]])
    found = model.outlier_score(rows)
    assert found[0] == 0
    assert 500 < found[1] < 600  # 50 standard deviations: 1250 / log(10)
    assert np.isfinite(found[2])
    assert found[2] > 1e200


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unlabelled", ["ignore", "use"])
def test_model_file_round_trip(data, kind, unlabelled):
    X = hide_features(data[0], how="mcar", share=0.1, random_state=1)
    y = data[1].astype(object)
    y[::4] = None
    model = densities(kind, unlabelled=unlabelled, tol=1e-3, shrinkage=0.3).fit(X, y)
    check_round_trip(model, X)
    check_round_trip(densities(kind).fit(*data), X)


@pytest.mark.parametrize(
    ("spoil", "code", "name"),
    [
        (lambda m: setattr(m, "covariance_", m.covariance_[:2]), "wrong-array", "covariance_"),
        (lambda m: setattr(m, "shrinkage_", m.shrinkage_[:1]), "wrong-array", "shrinkage_"),
        (lambda m: m.moments_.pop("mean"), "inconsistent-model", "moments_"),
        (lambda m: m.moments_["scatter"].fill(np.nan), "", "moments_"),
        (lambda m: m.covariance_[0].fill(1.0), "inconsistent-model", "variance_"),
        (
            lambda m: setattr(m, "class_prior_", np.array([0.5, 0.5, 0.0])),
            "inconsistent-model",
            "class_prior_",
        ),
        (
            lambda m: setattr(m, "class_prior_", np.array([0.5, 0.4, 0.3])),
            "inconsistent-model",
            "class_prior_",
        ),
        (lambda m: m.class_prior_.fill(np.nan), "", "class_prior_"),
        (lambda m: m.covariance_[0, 0].fill(np.inf), "", "covariance_"),
        (lambda m: m.covariance_[0, 0].__setitem__(1, 0.5), "inconsistent-model", "covariance_"),
        (lambda m: m.variance_[0].fill(-1.0), "inconsistent-model", "variance_"),
        (
            lambda m: setattr(m, "shrinkage_", np.full(3, 2.0)),
            "inconsistent-model",
            "shrinkage_",
        ),
        (lambda m: setattr(m, "variance_", m.variance_ * 2), "inconsistent-model", "variance_"),
    ],
)
def test_a_model_file_with_arrays_that_do_not_fit_is_refused(data, tmp_path, spoil, code, name):
    model = densities("full").fit(*data)
    spoil(model)
    if code:  # what is not finite is refused for every model alike
        with refused(code, DataError, name=name):
            model._check_loaded()
    with pytest.raises(StoreError, match=name):
        save(model, tmp_path / "m.scarce")


def test_a_model_file_of_large_units_is_read(data, tmp_path):
    """Whether a matrix is a covariance has nothing to do with the units of its columns."""
    X, y = data
    model = densities("full").fit(X * np.array([1e120, 1e-120, 1, 1, 1]), y)
    save(model, tmp_path / "m.scarce")
    np.testing.assert_array_equal(load(tmp_path / "m.scarce").covariance_, model.covariance_)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("covariance", "ful", "unknown-word"),
        ("unlabelled", "yes", "unknown-word"),
        ("shrinkage", 1.5, "invalid-parameter"),
        ("shrinkage", "automatic", "invalid-parameter"),
        ("shrinkage", True, "invalid-parameter"),
        ("var_smoothing", -1.0, "invalid-parameter"),
        ("tol", 0.0, "invalid-parameter"),
        ("max_iter", 0, "invalid-parameter"),
    ],
)
def test_parameters_that_cannot_work_are_refused(data, name, value, code):
    with refused(code, UsageError, argument=name, value=value):
        densities(**{name: value}).fit(*data)


def test_a_class_with_too_few_rows_for_its_own_variances_is_named(rng):
    X = rng.normal(size=(60, 4))
    y = (np.arange(60) < 2).astype(int)
    (said,) = [one for one in densities().fit(X, y).report_.warnings if codes([one]) != [""]]
    assert said.code == "few-rows-in-class"
    assert (said.fields["label"], said.fields["features"], said.fields["rows"]) == (1, 4, 2)
    assert said.fields["other"] == Argument("covariance", "shared-diag")
    shared = densities("shared-diag").fit(X, y).report_.warnings
    assert "few-rows-in-class" not in codes(shared)
    y = (np.arange(60) < 6).astype(int)
    (said,) = densities("full").fit(X, y).report_.warnings
    assert (said.code, said.fields["rows"]) == ("few-rows-in-class", 6)
    assert said.fields["other"] == Argument("covariance", "shrunk")
    assert not densities("full").fit(X, np.arange(60) % 2).report_.warnings
