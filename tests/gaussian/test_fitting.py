"""densities(unlabelled="use"): used where left-out labelled rows gain by it, else not."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import log_loss, roc_auc_score

from scarce import DataError
from scarce.gaussian import fitting
from tests.gaussian.densities import densities
from tests.problems import codes
from tests.properties.store_properties import check_round_trip

KINDS = ("diag", "shared-diag", "full", "shared", "shrunk")
EFFECT = np.array([2.0, 1.0, 0.5])


def gaussian(rng, n, share=0.1):
    """Classes as the model takes them to be."""
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 3)) + y[:, None] * EFFECT, y


def two_clusters(rng, n):
    """Events are not the smaller Gaussian cluster: the usual class has two."""
    y = (rng.random(n) < 0.03).astype(int)
    X = rng.normal(size=(n, 3))
    X[(y == 0) & (rng.random(n) < 0.5), 0] += 5.0
    X[y == 1, 1] += 2.0
    return X, y


def heavy_tails(rng, n):
    y = (rng.random(n) < 0.1).astype(int)
    return rng.standard_t(2, size=(n, 3)) + y[:, None] * EFFECT, y


def contaminated(rng, n):
    """A pool of which a third is of no class at all."""
    X, y = gaussian(rng, n)
    X[: n // 3] = 0.5 * rng.normal(size=(n // 3, 3)) + [0.0, 4.0, -3.0]
    return X, y


def sample(world, pool, seed, labelled, unlabelled=800):
    """Labelled rows (at least four events), then unlabelled ones; and rows to judge by."""
    rng = np.random.default_rng(seed)
    X, y = world(rng, labelled)
    if y.sum() < 4:
        more, label = world(rng, 600)
        X = np.vstack([X, more[label == 1][:4]])
        y = np.append(y, np.ones(4, dtype=int))
    rest = pool(rng, unlabelled)[0]
    label = np.append(y.astype(float), np.full(unlabelled, np.nan))
    return np.vstack([X, rest]), label, *world(rng, 3000)


def judged(model, X, y):
    prob = np.clip(model.predict_proba(X)[:, 1], 1e-15, 1 - 1e-15)
    return roc_auc_score(y, model.decision_function(X)), log_loss(y, prob)


@pytest.mark.parametrize("kind", KINDS)
def test_unlabelled_rows_of_gaussian_classes_are_used_and_help(kind):
    X, y, new, truth = sample(gaussian, gaussian, seed=1, labelled=40)
    used = densities(kind, unlabelled="use", tol=1e-5).fit(X, y)
    assert used.unlabelled_used_ is True
    assert used.unlabelled_loss_[1] <= used.unlabelled_loss_[0]
    ignored = densities(kind).fit(X, y)
    (auc, loss), (before, loss_before) = judged(used, new, truth), judged(ignored, new, truth)
    assert loss < loss_before
    assert auc > before - 0.005
    assert "unlabelled-not-used" not in codes(used.report_.warnings)


@pytest.fixture
def forced(monkeypatch):
    """Fit with unlabelled rows whether they help or not."""

    def fit(model, X, y):
        with monkeypatch.context() as patch:
            patch.setattr(fitting, "judge_unlabelled", lambda *_: fitting.Judged(True, None, []))
            return model.fit(X, y)

    return fit


@pytest.mark.parametrize("kind", ["diag", "full", "shrunk"])
@pytest.mark.parametrize(
    ("world", "pool", "seed"),
    [(two_clusters, two_clusters, 6), (heavy_tails, heavy_tails, 3), (gaussian, contaminated, 4)],
    ids=["two-clusters", "heavy-tails", "contaminated"],
)
def test_unlabelled_rows_that_mislead_are_not_used(world, pool, seed, kind, forced):
    seed = 5 if world is two_clusters and kind != "shrunk" else seed
    X, y, new, truth = sample(world, pool, seed, labelled=150)
    plain = densities(kind).fit(X, y)
    misled = forced(densities(kind, unlabelled="use", tol=1e-5), X, y)
    assert judged(misled, new, truth)[0] < judged(plain, new, truth)[0] - 0.02
    model = densities(kind, unlabelled="use", tol=1e-5).fit(X, y)
    assert model.unlabelled_used_ is False
    np.testing.assert_array_equal(model.predict_proba(new), plain.predict_proba(new))
    (said,) = [one for one in model.report_.warnings if codes([one]) == ["unlabelled-not-used"]]
    assert said.fields["used"] > said.fields["without"]
    assert not hasattr(model, "unlabelled_share_")


def test_the_choice_over_many_worlds():
    """Never much worse than ignoring, and most of the gain where there is one: ten draws each."""
    for world, pool, helps in (
        (gaussian, gaussian, True),
        (two_clusters, two_clusters, False),
        (heavy_tails, heavy_tails, False),
        (gaussian, contaminated, False),
    ):
        ratio = []
        for seed in range(10):
            X, y, new, truth = sample(world, pool, seed, labelled=40, unlabelled=300)
            model = densities(unlabelled="use", tol=1e-4).fit(X, y)
            plain = judged(densities().fit(X, y), new, truth)
            found = judged(model, new, truth)
            ratio.append(found[1] / plain[1])
            assert found[0] > plain[0] - 0.1, "no model is inverted"
        assert np.mean(ratio) < (0.8 if helps else 1.02)


@pytest.mark.parametrize("kind", ["diag", "shared"])
def test_given_priors_hold_the_shares_of_the_unlabelled_rows(kind, forced):
    """Free shares run away to .3 where 3 % are events; given ones stay."""
    X, y, new, truth = sample(two_clusters, two_clusters, seed=5, labelled=60)
    free = forced(densities(kind, unlabelled="use", tol=1e-5), X, y)
    model = densities(kind, unlabelled="use", priors=[0.97, 0.03], tol=1e-5)
    model = forced(model, X, y)
    np.testing.assert_array_equal(model.class_prior_, [0.97, 0.03])
    np.testing.assert_allclose(model.unlabelled_share_, [0.97, 0.03], rtol=1e-9)
    if kind == "diag":
        assert free.unlabelled_share_[1] > 0.25
    assert judged(model, new, truth)[0] > judged(free, new, truth)[0] - 0.01
    checked = densities(kind, unlabelled="use", priors=[0.97, 0.03], tol=1e-5).fit(X, y)
    plain = densities(kind, priors=[0.97, 0.03]).fit(X, y)
    assert judged(checked, new, truth)[1] < 1.1 * judged(plain, new, truth)[1]


def test_oracle_shares_that_are_given_are_not_estimated(forced):
    """A maximum of the likelihood with the given shares: its differences in the means are 0."""
    rng = np.random.default_rng(2)
    X, y = gaussian(rng, 400, share=0.4)
    label = y.astype(float)
    label[100:] = np.nan
    shares = np.array([0.6, 0.4])
    model = densities(unlabelled="use", priors=shares, var_smoothing=0.0)
    model = forced(model, X, label)
    assert model.report_.converged

    def value(mean):
        density = norm.logpdf(X[:, None, :], mean, np.sqrt(model.variance_)).sum(axis=2)
        known = density[np.arange(100), y[:100]].sum()
        return known + np.log(np.exp(density[100:]) @ shares).sum()

    for place in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[place] = 1e-4
        slope = (value(model.mean_ + step) - value(model.mean_ - step)) / 2e-4
        assert abs(slope) < 1e-4 * 400


def test_a_class_of_one_row_cannot_be_left_out_and_that_is_said():
    X, y, _, _ = sample(gaussian, gaussian, seed=1, labelled=40)
    events = np.flatnonzero(y == 1)
    kept = np.setdiff1d(np.arange(len(y)), events[1:])
    model = densities("shared", unlabelled="use", tol=1e-4).fit(X[kept], y[kept])
    assert model.unlabelled_used_ is True
    assert not hasattr(model, "unlabelled_loss_")
    assert "unlabelled-not-judged" in codes(model.report_.warnings)
    groups = np.where(y[events[0]] == y, 1.0, np.nan)  # all events of one place
    model.fit(X, y, groups=groups)
    assert "unlabelled-not-judged" in codes(model.report_.warnings)
    with pytest.raises(DataError, match="groups"):
        model.fit(X, y, groups=groups[:-1])


def test_what_was_decided_is_kept_in_the_file_and_forgotten_by_the_next_fit():
    X, y, new, _ = sample(gaussian, gaussian, seed=1, labelled=40)
    model = densities(unlabelled="use", tol=1e-4).fit(X, y)
    check_round_trip(model, new)
    model.fit(X[:40], y[:40])
    assert not hasattr(model, "unlabelled_used_")
    assert not hasattr(model, "unlabelled_loss_")
