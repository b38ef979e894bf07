"""GaussianBayes where values or labels are missing: a maximum of the likelihood, proven."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from scarce.datasets import hide_features, make_revealed_classes
from scarce.errors import Argument
from scarce.gaussian import fitting
from scarce.gaussian.em import run_em
from tests.gaussian.densities import densities
from tests.problems import codes


@pytest.fixture(autouse=True)
def used_whether_they_help_or_not(monkeypatch):
    """EM itself is tested here; whether it is worth using, in test_fitting.py."""
    monkeypatch.setattr(fitting, "judge_unlabelled", lambda *_: fitting.Judged(True, None, []))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(160, 3)) @ np.array([[1, 0.8, 0], [0, 1, -0.5], [0.3, 0, 0.7]]) + 4
    y = np.repeat([0.0, 1.0], [110, 50])
    X[y == 1] = X[y == 1] * [1.5, 1, 1] + [1, 0, 0.5]
    return hide_features(X, how="mcar", share=0.25, random_state=2), y


def log_likelihood(X, y, mean, covariance, mix=None):
    """With scipy, pattern by pattern: labelled rows by their class, others by the mixture."""
    total = 0.0
    masks = ~np.isnan(X)
    for seen in np.unique(masks, axis=0):
        if not seen.any():
            continue
        rows = (masks == seen).all(axis=1)
        density = np.column_stack(
            [
                np.atleast_1d(
                    multivariate_normal.logpdf(X[rows][:, seen], m[seen], c[np.ix_(seen, seen)])
                )
                for m, c in zip(mean, covariance, strict=True)
            ]
        )
        label = y[rows]
        known = ~np.isnan(label)
        total += density[known, label[known].astype(int)].sum()
        if not known.all():
            total += logsumexp(density[~known], b=mix, axis=1).sum()
    return total


def plain_em(X, y, steps, shared=False):
    """One row at a time, straight from the formulas."""
    d = X.shape[1]
    mean = np.array([np.nanmean(X[y == k], axis=0) for k in (0, 1)])
    covariance = np.array([np.diag(np.nanvar(X[y == k], axis=0)) for k in (0, 1)])
    if shared:
        covariance[:] = covariance.mean(axis=0)
    for _ in range(steps):
        first, second, weight = np.zeros((2, d)), np.zeros((2, d, d)), np.zeros(2)
        for row, k in zip(X, y.astype(int), strict=True):
            o = ~np.isnan(row)
            if not o.any():
                continue
            m = ~o
            C, full, spread = covariance[k], row.copy(), np.zeros((d, d))
            gain = C[np.ix_(m, o)] @ np.linalg.inv(C[np.ix_(o, o)])
            full[m] = mean[k, m] + gain @ (row[o] - mean[k, o])
            spread[np.ix_(m, m)] = C[np.ix_(m, m)] - gain @ C[np.ix_(o, m)]
            weight[k] += 1
            first[k] += full
            second[k] += np.outer(full, full) + spread
        mean = first / weight[:, None]
        scatter = second - weight[:, None, None] * mean[:, :, None] * mean[:, None, :]
        covariance = scatter / weight[:, None, None]
        if shared:
            covariance[:] = scatter.sum(axis=0) / weight.sum()
    return mean, covariance


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_oracle_em_ends_where_a_plain_one_does(data, kind):
    X, y = data
    model = densities(kind).fit(X, y)
    mean, covariance = plain_em(X, y, 60, shared=kind == "shared")
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-6)
    found = np.broadcast_to(model.covariance_, covariance.shape)
    np.testing.assert_allclose(found, covariance, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["full", "shared", "shrunk"])
@pytest.mark.parametrize("unlabelled", ["ignore", "use"])
def test_oracle_objective_and_zero_gradient(data, kind, unlabelled):
    """The likelihood row by row, and its central differences in every direction."""
    X, y = data[0], data[1].copy()
    y[::4] = np.nan
    rows = slice(None) if unlabelled == "use" else ~np.isnan(y)
    model = densities(kind, unlabelled=unlabelled, shrinkage=0.0).fit(X, y)
    assert model.report_.converged
    assert model.report_.proves == "gradient norm"
    assert model.report_.certificate <= 1e-8
    mix = getattr(model, "unlabelled_share_", None)
    whole = np.broadcast_to(model.covariance_, (2, 3, 3)).copy()

    def value(mean=model.mean_, covariance=whole, shares=mix):
        return log_likelihood(X[rows], y[rows], mean, covariance, shares)

    shares = model.class_weight_seen_ / model.class_weight_seen_.sum()
    labels = model.class_weight_seen_ @ np.log(shares)
    assert model.report_.objective == pytest.approx(-value() - labels, rel=1e-10)
    step, weight = 1e-5, 160
    for k in range(2):
        for i in range(3):
            up, down = model.mean_.copy(), model.mean_.copy()
            up[k, i] += step
            down[k, i] -= step
            assert abs(value(mean=up) - value(mean=down)) / (2 * step * weight) < 1e-6
    for k in range(1 if kind == "shared" else 2):
        for i, j in ((0, 0), (0, 1), (1, 2), (2, 2)):
            ends = []
            for sign in (step, -step):
                moved = whole.copy()
                chosen = slice(None) if kind == "shared" else k
                moved[chosen, i, j] += sign
                if i != j:
                    moved[chosen, j, i] += sign
                ends.append(value(covariance=moved))
            assert abs(ends[0] - ends[1]) / (2 * step * weight) < 1e-6
    if mix is not None:
        ends = [value(shares=mix + [sign, -sign]) for sign in (step, -step)]
        assert abs(ends[0] - ends[1]) / (2 * step * weight) < 1e-6


def test_oracle_a_shrunk_class_is_the_maximum_of_the_penalised_likelihood(data):
    """(1 - s) own + s pooled where rows are complete; else what the penalty says."""
    X, y = data
    model = densities("shrunk", shrinkage=0.3).fit(X, y)
    target = densities("shared").fit(X, y).covariance_
    some = ~np.isnan(X).all(axis=1)  # a row without any value has no part in the spread
    strength = np.array([some[y == 0].sum(), some[y == 1].sum()]) * 0.3 / 0.7

    def value(covariance):
        penalty = 0.0
        for k in range(2):
            ratio = np.linalg.solve(covariance[k], target)
            penalty += strength[k] * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 3)
        return log_likelihood(X, y, model.mean_, covariance) - penalty / 2

    np.testing.assert_allclose(model.shrinkage_, 0.3, rtol=1e-9)
    labels = model.class_weight_seen_ @ np.log(model.class_prior_)
    assert model.report_.objective == pytest.approx(-value(model.covariance_) - labels, rel=1e-7)
    for k, i, j in ((0, 0, 0), (0, 0, 1), (1, 1, 2), (1, 2, 2)):
        move = np.zeros((2, 3, 3))
        move[k, i, j] = move[k, j, i] = 1e-5
        apart = value(model.covariance_ + move) - value(model.covariance_ - move)
        assert abs(apart) / (2e-5 * 160) < 1e-6


@pytest.mark.parametrize("kind", ["diag", "shared-diag"])
def test_oracle_zero_gradient_of_naive_kinds(data, kind):
    X, y = data[0], data[1].copy()
    y[::3] = np.nan
    model = densities(kind, unlabelled="use", var_smoothing=0.0).fit(X, y)
    assert model.report_.converged

    def value(mean, variance, mix=model.unlabelled_share_):
        density = np.nansum(norm.logpdf(X[:, None], mean, np.sqrt(variance)), axis=2)
        some = ~np.isnan(X).all(axis=1)
        known = ~np.isnan(y)
        labelled = density[known, y[known].astype(int)].sum()
        return labelled + logsumexp(density[~known & some], b=mix, axis=1).sum()

    labels = model.class_weight_seen_ @ np.log(
        model.class_weight_seen_ / model.class_weight_seen_.sum()
    )
    best = value(model.mean_, model.variance_)
    assert model.report_.objective == pytest.approx(-best - labels, rel=1e-10)
    assert (model.variance_[0] == model.variance_[1]).all() == (kind == "shared-diag")
    step = 1e-5
    for i in range(3):
        move = np.zeros((2, 3))
        move[0, i] = step
        ends = [value(model.mean_ + s * move, model.variance_) for s in (1, -1)]
        assert abs(ends[0] - ends[1]) / (2 * step * 160) < 1e-6
        if kind == "shared-diag":
            move[:, i] = step
        ends = [value(model.mean_, model.variance_ + s * move) for s in (1, -1)]
        assert abs(ends[0] - ends[1]) / (2 * step * 160) < 1e-6


@pytest.mark.parametrize("kind", ["diag", "shared-diag", "full", "shared", "shrunk"])
def test_the_likelihood_never_falls_and_strides_save_passes(kind):
    sample = make_revealed_classes(
        1500, class_share=(0.6, 0.4), reveal_rate=(0.05, 0.2), n_features=3, random_state=3
    )
    X = hide_features(sample.X, how="mcar", share=0.3, random_state=3)
    model = densities(kind, unlabelled="use", tol=1e-6).fit(X, sample.y)
    path = model.log_likelihood_path_
    assert model.report_.converged
    assert len(path) > 3
    assert (np.diff(path) >= -1e-12 * np.abs(path[1:])).all()
    assert model.n_iter_ == model.report_.passes


def test_strides_are_refused_where_they_lose():
    """A hill on which every stride lands lower: plain steps go on."""

    class Problem:
        tried = 0

        def expect(self, at):
            return at

        def value(self, at, _):
            return -np.inf if at > 1.0 else -((at - 1.0) ** 2)

        def score(self, at, _):
            return abs(at - 1.0)

        def step(self, at, _):
            return at + 0.5 * (1.0 - at)

        def to_vector(self, at):
            return np.array([at])

        def from_vector(self, numbers):
            self.tried += 1
            if self.tried % 2:
                raise np.linalg.LinAlgError
            return 1.5

    done = run_em(Problem(), 0.0, tol=1e-6, max_passes=200)
    assert done.converged
    assert (np.diff(done.path) >= 0).all()
    short = run_em(Problem(), 0.0, tol=1e-6, max_passes=5)
    assert not short.converged
    assert short.passes <= 6


def test_a_fit_that_ran_out_of_passes_says_so(data):
    model = densities("full", max_iter=3).fit(*data)
    assert not model.report_.converged
    said = model.report_.warnings[0]
    assert said.code == "not-converged"
    assert said.fields["max_iter"] == Argument("max_iter", 3)


def test_invariant_complete_rows_are_the_closed_form(data):
    """One missing value that hides nothing of weight: EM and closed form agree."""
    X, y = np.where(np.isnan(data[0]), 1.0, data[0]), data[1]
    more = np.vstack([X, [[np.nan, np.nan, np.nan]]])
    labels = np.append(y, 0.0)
    for kind in ("full", "shared"):
        em = densities(kind).fit(more, labels)
        plain = densities(kind).fit(X, y)
        np.testing.assert_allclose(em.mean_, plain.mean_, rtol=1e-7)
        np.testing.assert_allclose(em.covariance_, plain.covariance_, rtol=1e-6, atol=1e-7)
        assert em.class_weight_seen_.tolist() == [111, 50]


def test_values_missing_at_random_given_the_rest_do_not_mislead():
    """A second value is asked for only where the first is high: leaving rows out would bias."""
    rng = np.random.default_rng(5)
    X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 4000)
    y = np.arange(4000) % 2
    X[X[:, 0] < 0.5, 1] = np.nan
    model = densities("shared").fit(X, y)
    assert np.abs(model.mean_[:, 1]).max() < 0.1
    assert np.nanmean(X[:, 1]) > 0.7  # what the seen values alone would say
    assert model.covariance_[0, 1] == pytest.approx(0.8, abs=0.08)


# --- rows without label ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["shared-diag", "shared"])
def test_simulation_class_shares_when_labels_are_revealed_at_different_rates(kind):
    """000: 2 % of one class, 40 % of the rare one; the labelled shares are far from the truth."""
    sample = make_revealed_classes(
        8000, class_share=(0.9, 0.1), reveal_rate=(0.02, 0.4), separation=2.0, random_state=6
    )
    model = densities(kind, unlabelled="use", tol=1e-6).fit(sample.X, sample.y)
    plain = densities(kind).fit(sample.X, sample.y)
    assert plain.class_prior_[1] > 0.5
    assert model.class_prior_[1] == pytest.approx(0.1, abs=0.01)
    np.testing.assert_allclose(model.reveal_rate_, [0.02, 0.4], rtol=0.15)
    remaining = 0.1 * 0.6 / (0.1 * 0.6 + 0.9 * 0.98)
    assert model.unlabelled_share_[1] == pytest.approx(remaining, abs=0.01)
    wrong = np.abs(model.predict_proba(sample.X) - sample.prob).mean()
    told = densities(kind, priors=[0.9, 0.1]).fit(sample.X, sample.y)
    assert wrong < np.abs(told.predict_proba(sample.X) - sample.prob).mean()
    used, differ = model.report_.warnings[-2:]
    assert codes([used, differ]) == ["unlabelled-used", "labelling-rates-differ"]
    assert differ.fields["rates"] == "0.0 1.8 %, 1.0 39 %"


def test_simulation_unlabelled_rows_help_a_rare_class():
    gains = []
    for seed in range(5):
        sample = make_revealed_classes(
            3000,
            class_share=(0.9, 0.1),
            reveal_rate=(0.05, 0.05),
            separation=3.0,
            random_state=seed,
        )
        error = [
            np.abs(
                densities("shrunk", unlabelled=how, tol=1e-4)
                .fit(sample.X, sample.y)
                .predict_proba(sample.X)
                - sample.prob
            ).mean()
            for how in ("use", "ignore")
        ]
        gains.append(error[0] / error[1])
    assert np.mean(gains) < 0.75


@pytest.mark.parametrize("kind", ["diag", "full", "shrunk"])
def test_invariant_weights_of_unlabelled_rows(data, kind):
    X, y = data[0], data[1].copy()
    y[::4] = np.nan
    weight = np.arange(160) % 3
    weighted = densities(kind, unlabelled="use").fit(X, y, weight)
    repeated = densities(kind, unlabelled="use").fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, rtol=1e-6)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_, rtol=1e-6)
    without = densities(kind, unlabelled="use").fit(X, y, weight * ~np.isnan(y))
    plain = densities(kind).fit(X, y, weight)
    assert not hasattr(without, "unlabelled_share_")
    np.testing.assert_array_equal(without.mean_, plain.mean_)


def test_given_priors_are_predicted_with(data):
    X, y = data[0], data[1].copy()
    y[::3] = np.nan
    model = densities("full", unlabelled="use", priors=[0.25, 0.75]).fit(X, y)
    assert model.class_prior_.tolist() == [0.25, 0.75]
    np.testing.assert_allclose(model.unlabelled_share_, [0.25, 0.75], rtol=1e-12)


# --- little data, many missing values -------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 2, 4, 16])
def test_few_rows_with_many_missing_values_never_break(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(4, 30), rng.integers(1, 10)
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.7 * rng.random()] = np.nan
    y = np.where(rng.random(n) < 0.3, np.nan, np.arange(n) % 2)
    y[:2] = [0, 1]
    for kind in ("full", "shared", "shrunk"):
        for unlabelled in ("ignore", "use"):
            model = densities(kind, unlabelled=unlabelled, tol=1e-4, max_iter=30).fit(X, y)
            assert np.isfinite(model.predict_joint_log_proba(X)).all()
            assert np.isfinite(model.covariance_).all()
            path = getattr(model, "log_likelihood_path_", np.zeros(1))
            assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all()


@pytest.mark.parametrize("kind", ["diag", "full", "shared", "shrunk"])
@pytest.mark.parametrize("unlabelled", ["ignore", "use"])
def test_a_class_that_shows_nothing_leaves_the_shares(kind, unlabelled):
    X = np.where(np.arange(20)[:, None] % 2, np.nan, np.arange(40.0).reshape(20, 2))
    y = np.append(np.arange(16) % 2, [np.nan] * 4)
    model = densities(kind, unlabelled=unlabelled).fit(X, y)
    assert not model.used_.any()
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    assert (model.outlier_score(X) == 0).all()
