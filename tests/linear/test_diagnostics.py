"""Covariance, floored rows and objective: computed when asked for, and never of other rows."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from scarce import RareClassifier, load, open_rows, save
from scarce.engine.memory import ArrayRows
from scarce.linear import diagnostics as module
from scarce.linear.diagnostics import NotComputed, outside_support
from scarce.linear.losses import loss_of
from tests.linear import plain
from tests.problems import codes, refused

DEFERRED = {"covariance_", "covariance_at_origin_", "floored_rows_", "report_"}
KINDS = {
    "gev": {"loss": "gev-canonical", "shape": 0.6, "ridge": 0.5},
    "penalised": {"loss": "logistic", "ridge": 0.5},
    "survey": {"loss": "probit", "ridge": 0.0, "weight_kind": "survey"},
    "not convex": {"loss": "gev-log", "shape": 0.3, "ridge": 1.0},
    "tuned": {"loss": "gev-canonical", "shapes": [0.0, 0.6], "ridges": [0.1, 1.0]},
}


def fitted(kind, X=None, y=None, weight=None):
    if X is None:
        X, y = plain.rare(n=300)
    return RareClassifier(**KINDS[kind]).fit(X, y, weight)


def passes_of(monkeypatch):
    """Count the folds that look at the rows once more."""
    seen = []
    real = module.diagnose
    monkeypatch.setattr(module, "diagnose", lambda *args: seen.append(1) or real(*args))
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_only_predicts_computes_nothing(kind, monkeypatch):
    seen = passes_of(monkeypatch)
    X, y = plain.rare(n=300)
    model = fitted(kind, X, y)
    model.predict_proba(X)
    assert not seen
    assert "report_" not in vars(model) or kind == "not convex"
    assert np.isfinite(model.report_.objective)
    assert len(seen) == 1
    assert model.floored_rows_ >= 0  # with the report
    assert len(seen) == 1
    assert (model.covariance_ is None) == (kind == "tuned")
    assert model.front_.n_columns == X.shape[1]
    assert set(vars(model)) >= DEFERRED
    assert "_pending" not in vars(model)  # nothing left to compute: the rows are free again


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_asking_changes_nothing(kind):
    names = sorted(DEFERRED - {"report_"})
    one, other = fitted(kind), fitted(kind)
    first = [getattr(one, name) for name in names]
    second = [getattr(other, name) for name in reversed(names)][::-1]
    for a, b in zip(first, second, strict=True):
        assert a is b is None or np.array_equal(a, b)
    assert one.report_.objective == other.report_.objective
    assert one.report_.warnings == other.report_.warnings


@pytest.mark.parametrize("kind", KINDS)
def test_pickles_copies_and_files_hold_all_of_it_and_no_rows(kind, tmp_path):
    wanted = fitted(kind)
    asked = {name: getattr(wanted, name) for name in DEFERRED - {"report_"}}
    model = fitted(kind)
    save(model, tmp_path / "model.scarce")
    copies = [
        load(tmp_path / "model.scarce"),
        pickle.loads(pickle.dumps(fitted(kind))),
        copy.deepcopy(fitted(kind)),
        copy.copy(fitted(kind)),
    ]
    for one in copies:
        assert "_pending" not in vars(one)
        for name, value in asked.items():
            np.testing.assert_array_equal(vars(one)[name], value)
        assert one.report_.objective == wanted.report_.objective
        assert str(one.summary()) == str(wanted.summary())
    assert not hasattr(clone(wanted), "covariance_")
    assert not hasattr(RareClassifier(), "report_")


def write(X, how, rng):
    """Write into an array as programs do by accident."""
    if how == "zero":
        X[:] = 0.0
    elif how == "standardise":
        X -= X.mean(axis=0)
        X /= X.std(axis=0)
    elif how == "shuffle":
        rng.shuffle(X)
    elif how == "sort":
        X.sort(axis=0)
    elif how == "sign":
        X[:, 1] *= -1
    elif how == "one cell":
        X[7, 2] += 1.0
    elif how == "missing":
        X[3, 0] = np.nan


@pytest.mark.parametrize(
    "how", ["zero", "standardise", "shuffle", "sort", "sign", "one cell", "missing"]
)
@pytest.mark.parametrize("kind", ["gev", "penalised", "survey"])
def test_rows_that_were_written_into_are_refused(how, kind, rng, tmp_path):
    X, y = plain.rare(n=300)
    X[:, 1] += 0.3
    model = fitted(kind, X, y)
    before = model.predict_proba(X[:5])
    points = X[:5].copy()
    write(X, how, rng)
    with refused("rows-changed", NotComputed):
        _ = model.covariance_
    if kind == "gev":
        with refused("rows-changed", NotComputed):
            _ = model.floored_rows_
    with refused("rows-changed", NotComputed):
        model.predict_interval(points, method="wald")
    assert not hasattr(model, "covariance_")
    assert codes(model.report_.warnings) == ["rows-changed"]  # but the report itself can be read
    assert model.report_.converged
    assert np.isnan(model.report_.objective)
    assert "not computed" in str(model.report_)
    assert "no standard errors: the training rows" in str(model.summary())
    save(model, tmp_path / "model.scarce")
    for one in (load(tmp_path / "model.scarce"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(one.predict_proba(points), before)
        with refused("rows-gone", NotComputed, attribute="covariance_"):
            _ = one.covariance_


def test_shuffled_rows_of_wide_and_of_constrained_fits_are_refused(rng):
    X, y = plain.rare(n=40, k=90)
    wide = RareClassifier("logistic", ridge=1.0).fit(X, y)
    rows, label = plain.rare(n=100)
    inside = RareClassifier("gev-canonical", shape=0.5, ridge=1.0, domain="paper").fit(rows, label)
    rng.shuffle(X)
    rng.shuffle(rows)
    for model in (wide, inside):
        assert "rows-changed" in codes(model.report_.warnings)


def test_weights_that_were_written_into_are_refused(rng):
    X, y = plain.rare(n=300)
    weight = rng.uniform(1.0, 2.0, size=300)
    model = fitted("penalised", X, y, weight)
    weight[:] = weight[::-1].copy()
    with refused("rows-changed", NotComputed):
        _ = model.covariance_


def test_a_copy_of_the_rows_is_asked_where_the_model_keeps_one():
    X, y = plain.rare(n=300)
    y[4] = np.nan
    wanted = RareClassifier("logistic", ridge=0).fit(X.copy(), y).covariance_
    model = RareClassifier("logistic", ridge=0).fit(X, y)
    X[:] = 0.0
    np.testing.assert_allclose(model.covariance_, wanted, rtol=1e-12)
    assert np.isfinite(model.report_.objective)


@pytest.mark.parametrize("far", [0.0, 1e6, 1e11])
def test_untouched_rows_are_recognised_however_far_from_0(far, rng):
    """Rounding of sums, of shifts and of other engines is not taken for a change."""
    X, y = plain.rare(n=300)
    X = X + [far, 0.0, -far]
    X = np.column_stack([X, np.full(300, 0.1 + far), X[:, 1]])
    weight = rng.uniform(0.0, 2.0, size=300)
    weight[:9], y[20:30] = 0.0, np.nan
    for kind in KINDS:
        model = fitted(kind, X, y, weight)
        model.engine = "threads"
        assert np.isfinite(model.report_.objective)
        assert (model.covariance_ is None) == (kind == "tuned")


def test_a_fit_that_stopped_early_or_is_wide_is_recognised():
    X, y = plain.rare(n=300)
    short = RareClassifier("logistic", ridge=0.5, max_passes=2).fit(X, y)
    assert not short.report_.converged
    assert short.covariance_ is not None
    wide, label = plain.rare(n=40, k=90)
    model = RareClassifier("logistic", ridge=1.0, tol=1e-4).fit(wide, label)
    assert model.covariance_.shape == (91, 91)
    assert np.isfinite(model.report_.objective)


def test_rows_of_a_file_are_read_again(tmp_path):
    X, y = plain.rare(n=300)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y.astype(int))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    params = KINDS["gev"]
    whole = RareClassifier(**params).fit(frame[list("abc")].round(15).to_numpy(), y)
    model = RareClassifier(**params).fit(open_rows(tmp_path / "rows.csv", label="y"))
    np.testing.assert_allclose(model.covariance_, whole.covariance_, rtol=1e-9)


def test_without_diagnostics_nothing_is_held_or_known():
    X, y = plain.rare(n=300)
    model = RareClassifier(**KINDS["gev"], diagnostics=False).fit(X, y)
    assert "_pending" not in vars(model)
    assert model.covariance_ is None
    assert "not computed" in str(model.report_)


def test_a_second_fit_forgets_the_first(rng):
    X, y = plain.rare(n=300)
    model = fitted("gev", X, y)
    first = model.covariance_
    model.fit(X[:200], y[:200])
    wanted = fitted("gev", X[:200].copy(), y[:200])
    np.testing.assert_array_equal(model.covariance_, wanted.covariance_)
    assert not np.allclose(model.covariance_, first)
    assert model.report_.objective == wanted.report_.objective


def test_kernel_counts_rows_at_either_end_of_a_support():
    block = next(ArrayRows([[-3.0], [0.0], [3.0]], [0, 1, 0], classes=[0, 1]).blocks())
    coef = np.array([1.0, 0.0])
    assert outside_support(block, (loss_of("gev-canonical", 0.5).link.support, coef)) == 1
    assert outside_support(block, ((-3.0, 3.0), coef)) == 2
    assert outside_support(block, ((-np.inf, np.inf), coef)) == 0
