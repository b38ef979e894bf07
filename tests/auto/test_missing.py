"""Missing values: every member takes them, in fit and prediction, and they are worth something."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

from scarce import DataError, StoreError, save
from scarce.auto import classifier
from scarce.auto.classifier import AutoClassifier
from scarce.auto.forms import FORMS, Inputs, which_marked
from scarce.auto.logits import RIDGES, MarginalPath, logit_path
from scarce.auto.members import DEFAULT, MEMBERS, Sample, fit_member, usable
from scarce.missing.front import fit_front
from tests.problems import refused, warned
from tests.properties.store_properties import check_round_trip


def world(n=500, missing=0.3, seed=0):
    """Six columns with one common factor; labels from two of them, one in its square."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    X = 0.8 * common + 0.6 * rng.normal(size=(n, 6))
    y = (rng.random(n) < expit(-2 + 1.5 * X[:, 0] + X[:, 1] ** 2)).astype(int)
    hidden = X.copy()
    hidden[rng.random(X.shape) < missing] = np.nan
    return hidden, y, X


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = world()
    return AutoClassifier(cv=3, fallback=None).fit(X, y)


def test_it_just_works_and_beats_the_mean_of_each_column(fitted):
    new, y, _ = world(4000, seed=1)
    assert list(fitted.weights_) == [*DEFAULT, "gaussian"]
    X, labels, _ = world()
    mean = np.nanmean(X, axis=0)
    filled = AutoClassifier(cv=3, fallback=None).fit(np.where(np.isnan(X), mean, X), labels)
    loss = log_loss(y, fitted.predict_proba(new))
    assert loss < 0.99 * log_loss(y, filled.predict_proba(np.where(np.isnan(new), mean, new)))
    assert loss < 0.95 * log_loss(y, np.full(len(y), labels.mean()))
    assert fitted.comparison_["auto"]["log_loss"] == pytest.approx(loss, rel=0.25)


def test_patterns_that_training_never_saw(fitted):
    """All missing: near the base rate, and the same wherever the row stands."""
    nothing = fitted.predict_proba(np.full((3, 6), np.nan))[:, 1]
    assert np.ptp(nothing) < 1e-12
    assert 0.3 < nothing[0] / world()[1].mean() < 2
    one = np.full((6, 6), np.nan)
    np.fill_diagonal(one, 1.0)
    assert np.isfinite(fitted.predict_proba(one)).all()
    both = fitted.predict_proba(np.vstack([world(200, seed=5)[0], one]))[200:]
    np.testing.assert_allclose(both, fitted.predict_proba(one), atol=1e-12)


def test_fitted_to_complete_rows_and_asked_with_missing_values():
    _, y, full = world()
    model = AutoClassifier(cv=3, fallback=None).fit(full, y)
    assert "gaussian" not in model.weights_
    assert len(model.marked_) == 0
    new, labels, whole = world(3000, seed=1)
    with warned("more-missing", before=0.0):
        loss = log_loss(labels, model.predict_proba(new))
    constant = log_loss(labels, np.full(len(labels), y.mean()))
    assert log_loss(labels, model.predict_proba(whole)) < loss < 0.95 * constant
    mean = np.where(np.isnan(new), full.mean(axis=0), new)
    assert loss < 0.99 * log_loss(labels, model.predict_proba(mean))
    complete = model.predict_proba(whole[:50])
    with warned("more-missing"):
        mixed = model.predict_proba(np.vstack([whole[:50], new[:50]]))[:50]
    np.testing.assert_allclose(mixed, complete, atol=1e-12)


def test_model_file(fitted, tmp_path):
    check_round_trip(fitted, world(100, seed=3)[0])
    for name, value in (
        ("front_", fit_front(np.eye(3))),
        ("marked_", np.array([9])),
        ("often_missing_", np.ones(2, dtype=bool)),
    ):
        kept = getattr(fitted, name)
        setattr(fitted, name, value)
        with refused("inconsistent-model", DataError, name=name):
            fitted._check_loaded()
        with pytest.raises(StoreError):
            save(fitted, tmp_path / "auto.scarce")
        setattr(fitted, name, kept)


def test_order_units_and_copies_change_nothing(rng):
    X, y, _ = world(300)
    members = ["logit", "spline", "forest", "kernel"]
    plain = AutoClassifier(members, cv=3, fallback=None).fit(X, y)
    new = world(100, seed=4)[0]
    order, turned = rng.permutation(len(y)), rng.permutation(6)
    for rows, labels, change in (
        (X[order], y[order], lambda A: A),
        (X[:, turned], y, lambda A: A[:, turned]),
        (X * 1e6 + 3e6, y, lambda A: A * 1e6 + 3e6),
        (np.repeat(X, 2, axis=0), np.repeat(y, 2), lambda A: A),
    ):
        model = AutoClassifier(members, cv=3, fallback=None).fit(rows, labels)
        prob = model.predict_proba(change(new))[:, 1]
        np.testing.assert_allclose(prob, plain.predict_proba(new)[:, 1], atol=1e-6)


@pytest.mark.parametrize("name", [n for n in MEMBERS if n in usable()])
def test_the_models_that_predict_are_those_that_were_judged(name):
    X, y, _ = world(240)
    X[:, 4] = np.where(np.isnan(X[:, 4]), 0.0, X[:, 4])
    front = fit_front(X)
    sample = Sample(X, y * 1.0, None, np.arange(240) % 4, 0, front)
    member = fit_member(name, sample)
    rows = Inputs(X, front, *which_marked(X, np.ones(240)), np.zeros(6, bool)).of(FORMS[name])
    for fold, model in enumerate(member.models):
        out = sample.folds == fold
        prob = np.asarray(model.predict_proba(rows))[:, 1]
        np.testing.assert_allclose(prob[out], member.whole.left_out[out], rtol=1e-7)


def test_the_marginal_logit_of_complete_rows_is_the_logit():
    _, y, X = world(300)
    seen = (X, y * 1.0, None)
    marginal, plain = MarginalPath(seen, X, 0, front=fit_front(X)), logit_path(seen, X, 0)
    assert marginal.extend(6) == plain.extend(6) == 6
    at = RIDGES.index(3.0)
    np.testing.assert_allclose(marginal.prob[at], plain.prob[at], atol=3e-3)
    model = marginal.model(at)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], marginal.prob[at], rtol=1e-9)


def test_what_each_form_holds():
    X = np.array([[1.0, 2.0, 0.0], [2.0, np.nan, 1.0], [3.0, 6.0, np.nan], [np.nan, 1e3, np.nan]])
    front = fit_front(X)
    marked, often = which_marked(X, np.ones(4))
    rows = Inputs(X, front, marked, np.array([True, False, True]), np.array([False, False, True]))
    assert often.all()
    assert marked.tolist() == [0, 1, 2]
    assert not np.isnan(rows.filled).any()
    assert (rows.filled >= front.low).all()
    assert (rows.filled <= front.high).all()
    np.testing.assert_array_equal(rows.of("marked")[:, 3:], np.isnan(X))
    assert np.isnan(rows.of("raw")).tolist() == (np.isnan(X) & [True, False, True]).tolist()
    assert rows.of("zeros")[2:, 2].tolist() == [0, 0]
    assert rows.of("as it is") is X
    twice = np.column_stack([X, X[:, 2] * 7])
    assert len(which_marked(twice, np.ones(4))[0]) == 3  # one of two columns of one pattern


def test_a_missing_category_is_no_level_of_its_own():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 3, 400)
    city = np.array(["Bonn", "Ulm", "Trier"])[place]
    altitude = np.array([0.0, 4.0, 9.0])[place] + 0.3 * rng.normal(size=400)
    y = (rng.random(400) < np.where(city == "Ulm", 0.6, 0.05)).astype(int)
    frame = pd.DataFrame({"altitude": altitude, "city": pd.Categorical(city)})
    model = AutoClassifier(["logit", "boosting"], cv=3, fallback=None).fit(frame, y)
    hidden = frame.assign(city=pd.Categorical([None] * 400, categories=["Bonn", "Trier", "Ulm"]))
    with warned("more-missing", share=0.5, before=0.0):
        prob = model.predict_proba(hidden)[:, 1]
    assert np.isfinite(prob).all()
    assert 0.03 < prob.mean() < 0.5


def test_few_events_with_missing_values():
    X, y, _ = world(200)
    y[np.flatnonzero(y)[8:]] = 0
    model = AutoClassifier().fit(X[:, :2], y)
    assert model.chosen_ == "flic"
    assert np.isfinite(model.predict_proba(X[:, :2])).all()
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_complete_rows_of_very_many_columns_have_no_front(monkeypatch):
    monkeypatch.setattr(classifier, "WIDEST_FRONT", 5)
    X, y, full = world(300)
    model = AutoClassifier(["logit"]).fit(full, y)
    assert model.front_ is None
    check_round_trip(model, full)
    with refused("missing-values", DataError, count=int(np.isnan(X[:, 2]).sum())):
        model.predict_proba(np.where(np.arange(6) == 2, X, full))


def test_a_column_with_one_value_and_missing_ones_is_remarked_on():
    rng = np.random.default_rng(0)
    insured = rng.random(400) < 0.3
    table = pd.DataFrame(
        {"age": rng.normal(size=400), "all": 1.0, "few": 1.0, "more": rng.random(400)}
    )
    table["insured"] = np.where(insured, "yes", None)
    table.loc[0, "few"] = np.nan  # too few to say anything
    table.loc[::3, "more"] = np.nan
    y = (rng.random(400) < np.where(insured, 0.5, 0.05)).astype(int)
    model = AutoClassifier(["logit"], cv=3, repeats=1).fit(table, y)
    said = [one for one in model.report_.warnings if one.code == "one-value-or-missing"]
    assert [one.fields["columns"] for one in said] == ["'insured'"]
    model.fit(table.assign(insured=np.where(insured, "yes", "no")), y)
    assert "one-value-or-missing" not in [one.code for one in model.report_.warnings]
