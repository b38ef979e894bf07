"""Calibrated: what predicts is what was judged; copies and groups stay together."""

from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import scarce
from scarce import Calibrated, GaussianBayes, PriorCorrected, RareClassifier, find_base_rates
from scarce.prior.calibrate import log_of
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


def world(n=600, seed=0, shift=-2.5):
    """Rows of two columns, of which naive Bayes sees the first three times."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    truth = expit(shift + 1.5 * x[:, 0])
    X = np.column_stack([x[:, 0], x[:, 0], x[:, 0], x[:, 1]])
    return X, (rng.random(n) < truth).astype(int), truth


@parametrize_with_checks(
    [
        Calibrated(LogisticRegression(class_weight="balanced")),
        Calibrated(GaussianNB(), "platt"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class Spy(ClassifierMixin, BaseEstimator):
    """Predicts a score that it learnt by heart, and notes which rows it saw."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.rows_ = X[:, 0].copy()
        Spy.seen.append(self)
        return self

    def predict_proba(self, X):
        known = np.isin(X[:, 0], self.rows_)
        p = np.where(known, 0.999, expit(X[:, 1]))
        return np.column_stack([1 - p, p])


def spied(X, y, **how):
    Spy.seen = []
    model = Calibrated(Spy(), "platt").fit(X, y, **how)
    return model, Spy.seen


def test_the_map_is_fitted_to_predictions_of_left_out_rows_alone(rng):
    X = np.column_stack([np.arange(300.0), rng.normal(-2, 2, 300)])
    y = (rng.random(300) < expit(0.5 * X[:, 1])).astype(int)
    model, fits = spied(X, y)
    assert len(fits) == 5
    assert sum(300 - len(one.rows_) for one in fits) == 300  # each row is left out once
    assert set.union(*(set(X[:, 0]) - set(one.rows_) for one in fits)) == set(X[:, 0])
    direct = scarce.calibrate(y, expit(X[:, 1]), method="platt")
    np.testing.assert_allclose(model.calibration_.coef, direct.coef, atol=1e-9)


def test_groups_and_copies_are_left_out_whole(rng):
    group = np.repeat(np.arange(60), 5)
    X = np.column_stack([np.arange(300.0), rng.normal(-2, 2, 300)])
    y = (rng.random(300) < expit(0.5 * X[:, 1])).astype(int)
    for one in spied(X, y, groups=group)[1]:
        inside = np.isin(X[:, 0], one.rows_)
        assert all(len(set(inside[group == g])) == 1 for g in range(60))
    model, fits = spied(np.vstack([X, X]), np.append(y, y))
    assert all((np.unique(one.rows_, return_counts=True)[1] == 2).all() for one in fits)
    assert [remark.code for remark in model.remarks_] == ["repeated-rows"]


def test_groups_go_on_to_a_classifier_that_has_folds_of_its_own(monkeypatch):
    X, y, _ = world(300)
    seen = []
    plain = GaussianBayes.fit

    def fit(self, X, y=None, sample_weight=None, groups=None):
        seen.append(groups)
        return plain(self, X, y, sample_weight)

    monkeypatch.setattr(GaussianBayes, "fit", fit)
    group = np.arange(300) // 2
    Calibrated(GaussianBayes("shared"), "platt").fit(X, y, groups=group)
    assert [len(held) for held in seen] == [len(set(held.tolist())) * 2 for held in seen]


def test_what_predicts_is_the_mean_of_the_fits_that_were_calibrated():
    X, y, truth = world(2000)
    model = Calibrated(GaussianNB()).fit(X, y)
    assert model.chosen_ != "none"
    each = [model.calibration_.from_log(one.predict_log_proba(X)) for one in model.estimators_]
    np.testing.assert_array_equal(model.predict_proba(X), np.mean(each, axis=0))
    new, _, truth = world(20_000, 1)
    said = model.predict_proba(new)[:, 1]
    plain = GaussianNB().fit(X, y).predict_proba(new)[:, 1]
    assert np.abs(said - truth).mean() < 0.3 * np.abs(plain - truth).mean()
    assert said.mean() == pytest.approx(truth.mean(), rel=0.15)
    assert model.comparison_["auto"]["gain"] > 0


def test_without_a_gain_one_fit_to_all_rows_predicts_unchanged():
    X, y, _ = world(600)
    model = Calibrated(LogisticRegression()).fit(X, y)
    assert model.chosen_ == "none"
    assert "calibrated-already" in [remark.code for remark in model.remarks_]
    np.testing.assert_array_equal(
        model.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X)
    )


def test_few_events_leave_the_classifier_as_it_is():
    X, y, _ = world(600)
    kept = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4])
    model = Calibrated(GaussianNB()).fit(X[kept], y[kept])
    assert [remark.code for remark in model.remarks_] == ["few-events"]
    np.testing.assert_array_equal(
        model.predict_proba(X), GaussianNB().fit(X[kept], y[kept]).predict_proba(X)
    )
    with refused("few-events"):
        Calibrated(LinearSVC()).fit(X[kept], y[kept])


def test_scores_without_probabilities_become_some():
    X, y, _ = world(3000)
    model = Calibrated(LinearSVC()).fit(X, y)
    new, _, truth = world(5000, 1)
    assert "none" not in model.comparison_
    assert np.abs(model.predict_proba(new)[:, 1] - truth).mean() < 0.03
    three = np.digitize(X[:, 0], [-1, 1])
    prob = Calibrated(LinearSVC()).fit(X, three).predict_proba(new)
    np.testing.assert_allclose(prob.sum(axis=1), 1.0)
    assert (prob.argmax(axis=1) == np.digitize(new[:, 0], [-1, 1])).mean() > 0.75


def test_a_fitted_classifier_is_calibrated_on_other_rows():
    X, y, _ = world(1000)
    other, happened, _ = world(800, 1)
    inner = GaussianNB().fit(X, y)
    for model in (Calibrated(inner, cv="prefit"), Calibrated(FrozenEstimator(inner))):
        model.fit(other, happened)
        direct = scarce.calibrate(happened, inner.predict_proba(other)[:, 1], method=model.chosen_)
        assert len(model.estimators_) == 1
        np.testing.assert_allclose(model.calibration_.coef, direct.coef, atol=1e-7)
        found = direct.from_log(inner.predict_log_proba(X))
        np.testing.assert_allclose(model.predict_proba(X), found, atol=1e-7)
    own = GaussianBayes().fit(X, y)
    with refused("training-rows"):
        Calibrated(own, cv="prefit").fit(X, y)
    Calibrated(own, cv="prefit").fit(other, happened)
    with refused("class-mismatch"):
        Calibrated(inner, cv="prefit").fit(other, np.where(happened == 1, "yes", "no"))


def test_base_rates_are_those_of_the_rows_once_calibrated():
    X, y, _ = world(2000)
    balanced = LogisticRegression(class_weight="balanced")
    model = Calibrated(balanced).fit(X, y)
    found = find_base_rates(model)
    assert found.origin == "rows"
    np.testing.assert_allclose(found.rates, [1 - y.mean(), y.mean()])
    moved = PriorCorrected(Calibrated(balanced), prior=0.5).fit(X, y)
    expected = scarce.correct_prior(model.predict_proba(X), y.mean(), 0.5)
    np.testing.assert_allclose(moved.predict_proba(X), expected, rtol=1e-9)
    untouched = Calibrated(balanced, "none").fit(X, y)
    np.testing.assert_allclose(find_base_rates(untouched, y).rates, [0.5, 0.5])
    assert find_base_rates(Calibrated(balanced), y).rates is None


def test_drawn_labels_and_weights_stand_for_all_rows():
    X, y, truth = world(20_000)
    score = X[:, 0]
    chance = np.where(score > 1, 1.0, 0.2)
    seen = np.random.default_rng(1).random(20_000) < chance
    labels = np.where(seen, y, np.nan)
    model = Calibrated(GaussianNB()).fit(X, labels, inclusion=chance)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(truth.mean(), rel=0.06)
    naive = Calibrated(GaussianNB()).fit(X, labels)
    assert naive.calibration_.base_rates[1] > 1.3 * truth.mean()
    assert model.calibration_.base_rates[1] == pytest.approx(truth.mean(), rel=0.06)
    half = Calibrated(GaussianNB(), "platt", weight_kind="survey")
    one = half.fit(X[:500], y[:500], sample_weight=np.full(500, 2.0)).predict_proba(X)
    np.testing.assert_allclose(one, clone(half).fit(X[:500], y[:500]).predict_proba(X), rtol=1e-9)


def test_rows_without_a_label_change_nothing():
    X, y, _ = world(500)
    more = np.vstack([X, X[:100] + 1])
    labels = np.append(y.astype(float), np.full(100, np.nan))
    one, two = (Calibrated(GaussianNB()).fit(*held) for held in ((X, y), (more, labels)))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-9)
    named = np.array([{0.0: "no", 1.0: "yes"}.get(one) for one in labels], dtype=object)
    words = Calibrated(GaussianNB()).fit(more, named)
    assert words.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(words.predict_proba(X), two.predict_proba(X), rtol=1e-12)


def test_tables_of_words_and_sparse_columns_are_taken_as_the_classifier_takes_them(rng):
    town = rng.choice(["Bonn", "Jena", "Ulm"], 900)
    y = (rng.random(900) < np.where(town == "Ulm", 0.3, 0.1)).astype(int)
    frame = pd.DataFrame({"town": town, "x": rng.normal(size=900)})
    inner = make_pipeline(OneHotEncoder(handle_unknown="ignore"),
                          LogisticRegression(class_weight="balanced"))  # fmt: skip
    model = Calibrated(inner).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["town", "x"]
    assert model.predict_proba(frame)[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)
    X, y, _ = world(600)
    dense = Calibrated(LogisticRegression(class_weight="balanced"), "platt").fit(X, y)
    sparse = clone(dense).fit(csr_array(X), y)
    assert sparse.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)
    assert dense.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)


@pytest.mark.parametrize("kind", ["polars", "arrow", "nullable"])
def test_frames_of_every_kind_go_to_a_classifier_of_scarce(kind, rng):
    X, y, _ = world(400)
    table = pa.table({name: X[:, j] for j, name in enumerate("abcd")})
    frames = {"polars": pl.DataFrame(table), "arrow": table}
    frames["nullable"] = pd.DataFrame({n: pd.array(X[:, j]) for j, n in enumerate("abcd")})
    model = Calibrated(GaussianBayes("shared"), "platt")
    found = model.fit(frames[kind], y).predict_proba(frames[kind])
    np.testing.assert_allclose(found, clone(model).fit(X, y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.filterwarnings("ignore:Column 'row_id' has a different value:scarce.DataWarning")
def test_a_column_that_names_rows_changes_nothing(times):
    X, y, _ = world(300)
    X, y = np.tile(X, (times, 1)), np.tile(y, times)
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = np.random.default_rng(1).permutation(len(y))
    named = frame.assign(row_id=[f"r{name}" for name in names])
    plain = Calibrated(GaussianBayes(calibrate=False), "platt").fit(frame, y)
    other = Calibrated(GaussianBayes(calibrate=False), "platt").fit(named, y)
    assert other.comparison_ == plain.comparison_
    np.testing.assert_allclose(
        other.predict_proba(named[:50]), plain.predict_proba(frame[:50]), rtol=1e-12
    )


def test_open_rows_give_what_arrays_give():
    X, y, _ = world(500)
    array = Calibrated(RareClassifier("logistic", ridge=1.0), "platt").fit(X, y)
    rows = clone(array).fit(scarce.open_rows(X, label=y))
    found = rows.predict_proba(scarce.open_rows(X))
    np.testing.assert_allclose(found, array.predict_proba(X), rtol=1e-7)


def test_own_folds_are_used_as_they_are():
    X, y, _ = world(300)
    splits = [(np.flatnonzero(np.arange(300) % 3 != k), np.flatnonzero(np.arange(300) % 3 == k))
              for k in range(3)]  # fmt: skip
    model = Calibrated(GaussianNB(), "platt", cv=splits).fit(X, y)
    scores = np.empty((300, 2))
    for train, test in splits:
        scores[test] = GaussianNB().fit(X[train], y[train]).predict_log_proba(X[test])
    assert len(model.estimators_) == 3
    odds = scores[:, 1] - scores[:, 0]
    p = expit(odds * (1 + model.calibration_.coef[0]) + model.calibration_.coef[1])
    assert p.mean() == pytest.approx(y.mean(), rel=1e-5)  # the free shift
    with refused("cv-folds"):
        Calibrated(GaussianNB(), cv=[splits[0]]).fit(X, y)


def test_a_forest_that_says_never_does_not_any_more():
    X, y, _ = world(800)
    forest = RandomForestClassifier(30, random_state=0)
    model = Calibrated(forest).fit(X, y)
    new, happened, _ = world(4000, 1)
    plain = forest.fit(X, y).predict_proba(new)[:, 1]
    assert (plain == 0).any()
    said = model.predict_proba(new)[:, 1]
    assert said.min() > 0
    assert np.isfinite(logit(said)).all()
    assert scarce.log_loss(happened, said).value < 0.37
    assert np.isinf(log_of(plain)).any()


def test_models_are_kept(tmp_path):
    pytest.importorskip("skops")
    X, y, _ = world(400)
    check_round_trip(Calibrated(GaussianNB()).fit(X, y), X)
    check_round_trip(Calibrated(GaussianBayes("shared"), "isotonic").fit(X, y), X)
    check_round_trip(PriorCorrected(Calibrated(GaussianBayes()), prior=0.2).fit(X, y), X)
    three = np.digitize(X[:, 0], [-1, 1])
    check_round_trip(Calibrated(GaussianBayes(), "vector").fit(X, three), X)
    inner = GaussianBayes().fit(X, y)
    other, happened, _ = world(400, 1)
    model = Calibrated(inner, cv="prefit").fit(other, happened)
    scarce.save(model, tmp_path / "m.scarce")
    kept = scarce.load(tmp_path / "m.scarce")
    np.testing.assert_array_equal(kept.predict_proba(X), model.predict_proba(X))


def test_what_cannot_work_is_refused():
    X, y, _ = world(300)
    with refused("no-labels"):
        Calibrated(GaussianNB()).fit(X)
    with refused("one-class"):
        Calibrated(GaussianNB()).fit(X, np.ones(300))
    with refused("two-classes-needed"):
        Calibrated(GaussianNB(), "beta").fit(X, np.arange(300) % 3)
    with refused("invalid-parameter"):
        Calibrated(GaussianNB(), cv=2).fit(X, y)
    with refused("unknown-word"):
        Calibrated(GaussianNB(), "spline").fit(X, y)
    with refused("no-sample-weight"):
        from sklearn.neighbors import KNeighborsClassifier

        Calibrated(KNeighborsClassifier()).fit(X, y, sample_weight=np.full(300, 2.0))
