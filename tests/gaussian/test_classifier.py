"""GaussianBayes: right against scikit-learn, exact with missing values, in any order of rows."""

import mpmath
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB

from scarce import (
    DataError,
    StoreError,
    UsageError,
    correct_prior,
    load,
    open_rows,
    save,
)
from scarce.datasets import hide_features, make_revealed_classes
from scarce.engine.memory import ArrayRows
from scarce.io.schema import Schema
from tests.gaussian.densities import densities
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


@pytest.fixture
def data(rng):
    X = rng.normal(size=(600, 4)) * [1, 10, 0.1, 1] + [0, 1e4, 0, -3]
    y = rng.choice(["a", "b", "c"], 600, p=[0.8, 0.15, 0.05])
    X[y == "b"] += [1, 3, 0.1, 0]
    return X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_agrees_with_scikit_learn_on_complete_data(data, rng, weighted):
    X, y = data
    weight = rng.random(600) if weighted else None
    # scikit-learn adds a share of the largest variance to all of them, which is a share of each
    # column's own where all are 1. Its total variance has no weights.
    centre, scale = X.mean(axis=0), X.std(axis=0)
    Z = (X - centre) / scale
    ours = densities().fit(X, y, weight)
    theirs = GaussianNB().fit(Z, y, weight)
    np.testing.assert_allclose(ours.mean_, centre + scale * theirs.theta_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_, rtol=1e-12)
    np.testing.assert_allclose(
        ours.variance_, scale**2 * theirs.var_, rtol=1e-8 if weighted else 1e-10
    )
    if not weighted:
        np.testing.assert_allclose(
            ours.predict_log_proba(X), theirs.predict_log_proba(Z), rtol=1e-10, atol=1e-10
        )
    assert (ours.predict(X) == theirs.predict(Z)).all()


def test_oracle_missing_values_are_integrated_out(data):
    X, y = data
    incomplete = hide_features(X, how="mcar", share=0.3, random_state=0)
    model = densities().fit(incomplete, y)
    for row in incomplete[:40]:
        seen = ~np.isnan(row)
        joint = np.log(model.class_prior_) + norm.logpdf(
            row[seen], model.mean_[:, seen], np.sqrt(model.variance_[:, seen])
        ).sum(axis=1)
        np.testing.assert_allclose(
            model.predict_joint_log_proba(row[None])[0], joint, rtol=1e-11, atol=1e-11
        )
    for label, name in enumerate(model.classes_):
        np.testing.assert_allclose(model.mean_[label], np.nanmean(incomplete[y == name], axis=0))
        variance = np.nanvar(incomplete[y == name], axis=0)
        np.testing.assert_allclose(model.variance_[label], variance, rtol=1e-4)


def test_oracle_variance_does_not_cancel():
    """Data with mean 1e8 and sd 1e-2, against 50-digit arithmetic."""
    rng = np.random.default_rng(3)
    X = 1e8 + rng.normal(size=(3000, 1)) * 0.01
    y = np.arange(3000) % 2
    model = densities(var_smoothing=0.0).fit(
        ArrayRows(X, y, classes=[0, 1], starts=(0, 11, 800, 3000))
    )
    with mpmath.workdps(50):
        values = [mpmath.mpf(float(v)) for v in X[y == 1, 0]]
        mean = mpmath.fsum(values) / len(values)
        variance = mpmath.fsum([(v - mean) ** 2 for v in values]) / len(values)
    assert model.variance_[1, 0] == pytest.approx(float(variance), rel=1e-9)


def test_invariant_cuts_engines_and_files_give_the_same_model(data, tmp_path):
    X, y = data
    X = hide_features(X, how="mcar", share=0.2, random_state=1)
    names = ["p", "q", "r", "s"]
    table = pa.table({name: pa.array(X[:, j], from_pandas=True) for j, name in enumerate(names)})
    path = tmp_path / "a.parquet"
    pq.write_table(table.append_column("y", pa.array(y)), path, row_group_size=100)
    from_array = densities().fit(X, y)
    for rows in (open_rows(path, label="y"), open_rows(path, label="y", cache=True)):
        model = densities(engine="threads").fit(rows)
        np.testing.assert_array_equal(model.mean_, from_array.mean_)
        np.testing.assert_array_equal(model.variance_, from_array.variance_)
    cut = ArrayRows(X, np.searchsorted(["a", "b", "c"], y), classes="abc", starts=(0, 1, 250, 600))
    model = densities(engine="threads").fit(cut)
    np.testing.assert_allclose(model.mean_, from_array.mean_, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(model.variance_, from_array.variance_, rtol=1e-11)


def test_invariant_weight_two_is_a_row_twice_and_weight_zero_is_none(data):
    X, y = data
    weight = np.arange(600) % 3
    weighted = densities().fit(X, y, weight)
    repeated = densities().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, rtol=1e-12)
    np.testing.assert_allclose(weighted.variance_, repeated.variance_, rtol=1e-9)


def test_invariant_unlabelled_rows_are_not_used(data, rng):
    X, y = data
    alone = densities().fit(X, y)
    more = np.vstack([X, rng.normal(size=(50, 4)) * 100])
    labels = np.append(y.astype(object), [None] * 50)
    np.testing.assert_array_equal(densities().fit(more, labels).mean_, alone.mean_)


def test_invariant_a_column_never_seen_is_a_column_not_there(data):
    X, y = data
    wide = np.column_stack([X, np.full(600, np.nan)])
    model = densities().fit(wide, y)
    assert model.used_.tolist() == [True] * 4 + [False]
    (said,) = model.report_.warnings
    assert (said.code, said.fields["columns"]) == ("column-not-observed", "x4")
    np.testing.assert_allclose(
        model.predict_proba(wide), densities().fit(X, y).predict_proba(X), rtol=1e-12
    )
    seen_later = np.column_stack([X, np.ones(600)])
    np.testing.assert_allclose(model.predict_proba(seen_later), model.predict_proba(wide))


def test_rows_without_any_value_get_the_prior(data):
    X, y = data
    model = densities().fit(X, y)
    prob = model.predict_proba(np.full((1, 4), np.nan))
    np.testing.assert_allclose(prob[0], model.class_prior_, rtol=1e-12)


def test_shared_variances_are_pooled(data):
    X, y = data
    model = densities("shared-diag", var_smoothing=0.0).fit(X, y)
    centred = X - np.array([X[y == name].mean(axis=0) for name in y])
    np.testing.assert_allclose(model.variance_, np.tile((centred**2).mean(axis=0), (3, 1)))


def test_priors_are_those_given_and_equal_a_corrected_model(data):
    X, y = data
    now = [0.2, 0.3, 0.5]
    model = densities(priors=now).fit(X, y)
    plain = densities().fit(X, y)
    corrected = correct_prior(plain.predict_proba(X), plain.class_prior_, now)
    np.testing.assert_allclose(model.predict_proba(X), corrected, rtol=1e-8, atol=1e-14)
    with refused("base-rate-shape", UsageError, n_classes=3, argument="priors"):
        densities(priors=[0.5, 0.5]).fit(X, y)
    named = pd.Series(now, index=np.unique(y))[::-1]
    by_name = densities(priors=named).fit(X, y)
    np.testing.assert_array_equal(by_name.predict_proba(X), model.predict_proba(X))


def test_simulation_probabilities_are_right_after_class_dependent_labelling():
    """000: labels revealed at 2 % and 60 %; the truth is known."""
    sample = make_revealed_classes(
        60_000, class_share=(0.97, 0.03), reveal_rate=(0.02, 0.6), random_state=4
    )
    model = densities("shared-diag").fit(sample.X, sample.y)
    prob = correct_prior(model.predict_proba(sample.X), model.class_prior_, sample.class_share)
    error = np.abs(prob[:, 1] - sample.prob[:, 1]).mean()
    naive = np.abs(model.predict_proba(sample.X)[:, 1] - sample.prob[:, 1]).mean()
    assert error < 0.01
    assert naive > 5 * error


def test_objective_is_the_negative_log_likelihood(data):
    X, y = data
    X = hide_features(X, how="mcar", share=0.2, random_state=1)
    model = densities().fit(X, y)
    joint = model.predict_joint_log_proba(X)
    codes = np.searchsorted(model.classes_, y)
    assert model.report_.objective == pytest.approx(-joint[np.arange(600), codes].sum(), rel=1e-9)
    assert model.report_.converged
    assert model.report_.proves == "closed form"


def test_extreme_values_give_no_warnings(data):
    X, y = data
    prob = densities().fit(X, y).predict_proba(np.array([[1e150, -1e150, 1e100, 0.0]]))
    assert np.isfinite(prob).all()
    assert prob.sum() == pytest.approx(1)


def test_the_more_frequent_positive_class_is_said(data):
    X, _ = data
    model = densities().fit(X, np.arange(600) % 3 > 0)
    assert "True" in model.report_.warnings[0]


@pytest.mark.parametrize(
    ("y", "seen"),
    [
        (np.full(600, np.nan), "600"),
        (np.zeros(599), "599"),
        (None, "GaussianBayes"),
        (np.array([1, "a"] * 300, dtype=object), "int and str"),
    ],
)
def test_labels_that_cannot_work_are_refused(data, y, seen):
    with pytest.raises(DataError, match=seen):
        densities().fit(data[0], y)


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_one_class_is_refused(data, kind):
    with refused("one-class", DataError, classes="1.0"):
        densities(kind).fit(data[0], np.where(np.arange(600) < 300, 1.0, np.nan))


def test_rows_bring_their_own_labels(data):
    X, y = data
    with pytest.raises(UsageError):
        densities().fit(ArrayRows(X), y)
    with pytest.raises(DataError):
        densities().fit(ArrayRows(X))


def test_predicting_rows_finds_columns_by_name(tmp_path):
    table = pa.table({"a": [1.0, 2, 3, 4], "b": [True, False, True, False], "y": [0, 0, 1, 1]})
    model = densities().fit(open_rows(table, label="y"))
    new = pa.table({"b": [True, None], "a": [2.0, None]})
    with pytest.raises(DataError, match="'b'"):
        model.predict(open_rows(new.select(["a"])))
    save(model, tmp_path / "m.scarce")
    schema = Schema.from_dict(load(tmp_path / "m.scarce").schema_)
    rows = open_rows(new, like=schema)
    np.testing.assert_array_equal(next(rows.blocks()).X, [[2, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(model.predict_proba(open_rows(new)), model.predict_proba(rows))


@pytest.mark.parametrize("covariance", ["diag", "shared-diag"])
def test_model_file_round_trip(data, covariance):
    X, y = data
    X = hide_features(X, how="mcar", share=0.2, random_state=1)
    check_round_trip(densities(covariance, priors=[0.5, 0.3, 0.2]).fit(X, y), X)
    check_round_trip(densities(covariance, engine="threads").fit(X, y == "a"), X)


def test_a_model_file_with_arrays_that_do_not_fit_is_refused(data, tmp_path):
    model = densities().fit(*data)
    model.mean_ = model.mean_[:, :2]
    with pytest.raises(StoreError, match=r"mean_.*\(3, 2\)"):
        save(model, tmp_path / "m.scarce")


def test_a_column_with_one_value_in_a_class_is_remarked(rng):
    X = rng.normal(size=(200, 3))
    y = np.arange(200) % 2
    assert densities().fit(X, y).report_.warnings == ()
    X[y == 1, 2] = 1.0
    model = densities().fit(X, y)
    leak, said = model.report_.warnings
    assert "'x2'" in leak
    assert said.code == "constant-in-class"
    assert (said.fields["label"], said.fields["columns"]) == (1, "x2")
    assert model.predict_proba([[0.0, 0.0, 1.5]])[0, 1] == 0.0  # what is warned of
    assert densities(covariance="shared-diag").fit(X, y).report_.warnings == (leak,)
    X[:, 2] = 1.0  # everywhere: it says nothing, and does no harm
    (said,) = densities().fit(X, y).report_.warnings
    assert (said.code, said.fields["columns"]) == ("constant-columns", "x2")
