"""Draws of a mixture: against a Metropolis chain, and drawn batches against their own law."""

import numpy as np
import pytest
from scipy import stats

from scarce.missed.mixture.draws import _draw, _drawn_batch, _sample, bootstrap_ks, draw_mixtures
from scarce.missed.mixture.families import FAMILIES
from scarce.missed.mixture.fitting import ks_distance
from scarce.missed.mixture.partial_em import Evidence, Pair, fit_pair, spread_of
from scarce.missed.provenance import intake_of

NORMAL = FAMILIES["normal"]


def evidence(n=160, seed=0):
    """Two normals, the top tenth labelled."""
    rng = np.random.default_rng(seed)
    event = rng.random(n) < 0.15
    score = rng.normal(size=n) + 2.5 * event
    known = score >= np.quantile(score, 0.9)
    states = (~known, known & event, known & ~event)
    parts = [part for state in states for part in (score[state], np.ones(state.sum()))]
    return Evidence(*parts), score, np.where(known, event * 1.0, np.nan)


def plain_log_posterior(theta, data):
    """002 eq 1 for two normals, the prior of the ratio and a wide one of the log odds."""
    odds, m0, l0, m1, l1 = (part[:, None] for part in theta.T)
    share, rest = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
    s0, s1 = np.exp(l0), np.exp(l1)

    def behind(s):
        return rest - l0 - 0.5 * ((s - m0) / s0) ** 2

    def front(s):
        return share - l1 - 0.5 * ((s - m1) / s1) ** 2

    value = np.logaddexp(behind(data.open_score), front(data.open_score)).sum(axis=1)
    value += front(data.event_score).sum(axis=1) + behind(data.other_score).sum(axis=1)
    value += -0.5 * ((l1 - l0)[:, 0] / 0.5) ** 2 - 0.5 * ((odds[:, 0] + 4) / 3) ** 2
    wrong = (odds[:, 0] >= 0) | (m1[:, 0] <= m0[:, 0]) | (s1[:, 0] < 1e-3 * spread_of(data))
    return np.where(wrong, -np.inf, value)


def metropolis(data, start, seed, chains=80, steps=1000, burn=250):
    rng = np.random.default_rng(seed)
    theta = start + 0.05 * rng.normal(size=(chains, 5))
    value = plain_log_posterior(theta, data)
    half, kept = chains // 2, []
    for step in range(steps):
        for mine, others in ((slice(0, half), half), (slice(half, chains), 0)):
            a, b = rng.integers(0, half, (2, half)) + others
            gain = 1.0 if step % 10 == 0 else 2.38 / np.sqrt(10)
            tried = theta[mine] + gain * (theta[a] - theta[b]) + 1e-4 * rng.normal(size=(half, 5))
            new = plain_log_posterior(tried, data)
            accept = np.log(rng.random(half)) < new - value[mine]
            theta[mine] = np.where(accept[:, None], tried, theta[mine])
            value[mine] = np.where(accept, new, value[mine])
        if step >= burn and step % 5 == 0:
            kept.append(theta.copy())
    return np.array(kept)


def test_oracle_posterior_agrees_with_a_metropolis_chain():
    data, _, _ = evidence()
    pair = fit_pair(data, NORMAL, NORMAL, spread_prior=0.5)[0].pair
    chain = metropolis(data, pair.theta, 1)
    runs = [_draw(pair, data, 0.5, np.random.default_rng(run)) for run in range(4)]
    ours = np.array([one.values for one in runs])
    assert min(one.effective_size for one in runs) > 300
    spread = chain.std(axis=(0, 1))
    error = np.hypot(
        chain.mean(axis=0).std(axis=0) / np.sqrt(chain.shape[1]),
        ours.mean(axis=1).std(axis=0) / np.sqrt(4),
    )
    apart = ours.mean(axis=(0, 1)) - chain.mean(axis=(0, 1))
    assert (error < 0.05 * spread).all()
    assert (np.abs(apart) < 4.5 * error).all(), apart / error
    np.testing.assert_allclose(ours.std(axis=(0, 1)), spread, rtol=0.1)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_invariant_units_of_the_scores_do_not_matter(unit):
    """Stretched scores: locations stretch, spreads too, shares and effective size stay."""
    _, scores, labels = evidence()
    found = []
    for scale in (1.0, unit):
        intake = intake_of(None, scale * scores, labels, scale * 2.0)
        mixed, warnings = draw_mixtures([intake], ("normal", "normal"), np.random.default_rng(0))
        assert warnings == []
        found.append(mixed)
    one, other = (mixed.draws[0] for mixed in found)
    assert other.effective_size == pytest.approx(one.effective_size, rel=0.02)
    np.testing.assert_allclose(other.values[:, 0], one.values[:, 0], atol=2e-2)
    np.testing.assert_allclose(other.values[:, 3], unit * one.values[:, 3], rtol=2e-2)


def test_the_share_of_events_is_the_posterior_of_each_draw():
    _, scores, labels = evidence()
    intake = intake_of(None, scores, labels, 2.0)
    mixed, _ = draw_mixtures([intake], ("normal", "normal"), np.random.default_rng(0))
    at = np.array([0.0, 2.0, 4.0])
    share = mixed.share_of_events(intake, 0, at, at)
    odds, m0, l0, m1, l1 = mixed.draws[0].values[7]
    up = np.exp(odds) * stats.norm.pdf(at, m1, np.exp(l1))
    np.testing.assert_allclose(share[7], up / (up + stats.norm.pdf(at, m0, np.exp(l0))), rtol=1e-9)
    fit = mixed.best_guess(intake, 0, at)
    assert ((share.min(axis=0) < fit) & (fit < share.max(axis=0))).all()
    assert mixed.effective_size == mixed.draws[0].effective_size


def test_a_batch_that_is_not_identified_is_named():
    _, scores, labels = evidence()
    fine = intake_of("a", scores, labels, 2.0)
    empty = intake_of("b", scores, np.full(len(scores), np.nan), 2.0)
    mixed, warnings = draw_mixtures([fine, empty], ("normal", "normal"), np.random.default_rng(0))
    assert mixed is None
    assert warnings[0][0] == 1
    assert "(batch 'b'): no labelled event" in warnings[0][1]


@pytest.mark.parametrize(
    ("name", "params", "law"),
    [
        ("normal", [2.0, 0.3], stats.norm(2.0, np.exp(0.3))),
        ("lognormal", [0.5, -0.4], stats.lognorm(np.exp(-0.4), scale=np.exp(0.5))),
        ("gamma", [1.1, -0.3], stats.gamma(np.exp(1.1), scale=np.exp(-0.3))),
    ],
)
def test_oracle_samples_follow_their_law(name, params, law):
    drawn = _sample(FAMILIES[name], np.array(params), 4000, np.random.default_rng(0))
    assert stats.kstest(drawn, law.cdf).pvalue > 0.01


def test_drawn_batches_are_labelled_from_the_cut_on():
    pair = Pair(NORMAL, NORMAL, 0.2, np.array([0.0, 0.0]), np.array([3.0, 0.0]))
    batch = _drawn_batch(pair, 5000, 2.0, np.random.default_rng(0))
    assert batch.total == 5000
    assert batch.open_score.max() < 2.0 <= min(batch.event_score.min(), batch.other_score.min())
    expected = 5000 * 0.2 * stats.norm.sf(2.0, 3.0)
    assert len(batch.event_score) == pytest.approx(expected, abs=4 * np.sqrt(expected))
    expected = 5000 * 0.8 * stats.norm.sf(2.0)
    assert len(batch.other_score) == pytest.approx(expected, abs=4 * np.sqrt(expected))


@pytest.mark.parametrize("off", [-0.4, 0.0, 0.4])
def test_oracle_distance_is_scipys(off):
    data, scores, _ = evidence()
    pair = Pair(NORMAL, NORMAL, 0.2, np.array([off, 0.1]), np.array([3.0 + off, -0.2]))

    def law(s):
        behind = stats.norm.cdf(s, off, np.exp(0.1))
        return 0.8 * behind + 0.2 * stats.norm.cdf(s, 3 + off, np.exp(-0.2))

    assert ks_distance(pair, data) == pytest.approx(stats.kstest(scores, law).statistic, rel=1e-12)
    twice = data._replace(open_weight=2 * data.open_weight)
    assert ks_distance(pair, twice) != pytest.approx(ks_distance(pair, data), rel=1e-6)


def test_a_false_pair_is_far_from_its_drawn_batches():
    data, _, _ = evidence()
    fitted = fit_pair(data, NORMAL, NORMAL, spread_prior=0.5)[0].pair
    false = fitted._replace(background_params=fitted.background_params + [0.6, 0.0])
    assert bootstrap_ks(false, data, 0.5, 9, 0) == 0.1
    assert bootstrap_ks(fitted, data, 0.5, 9, 0) > 0.1
