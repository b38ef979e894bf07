"""The monotone curve: derivatives, shape, and the posterior against a plain Metropolis chain."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from scarce.missed import curve as monotone
from scarce.missed.curve import (
    Curves,
    SlopePrior,
    _basis,
    _log_posterior,
    _prepare,
    _slopes,
    anchor_of,
    fit_monotone,
    slope_prior,
)
from scarce.missed.posterior import Draws
from scarce.missed.score_table import ledger_of

DEFAULT = SlopePrior(np.log(2.2), 0.8, 0.8)
EDGES = [-np.inf, -2.6, -1.8, -1.2, -0.6, 0.5, np.inf]  # from the lowest segment to the highest


def case(seed=0, n=300, labelled=40, audit=0):
    """Scores of a few events and many others; the top labelled, and some rows below."""
    rng = np.random.default_rng(seed)
    event = rng.random(n) < 0.06
    scores = rng.normal(size=n) + 1.9 * event
    labels = np.full(n, np.nan)
    order = np.argsort(-scores)
    labels[order[:labelled]] = event[order[:labelled]]
    if audit:
        drawn = rng.choice(order[labelled:], audit, replace=False)
        labels[drawn] = event[drawn]
    return scores, labels, float(scores[order[19]])


def segment_slopes(log_slope, x, factor):
    """Slopes from the lowest segment to the highest, as the recipe has them."""
    slopes = [np.exp(log_slope)]
    for k in range(4):
        slopes.insert(0, slopes[0] * np.exp(factor * x[k]))
    return np.array([*slopes, np.exp(log_slope) * np.exp(factor * x[4])])


def eta_of(distance, theta, factor):
    """Plain: start at the level, and walk segment by segment."""
    slopes = segment_slopes(theta[1], theta[2:7], factor)
    out = []
    for d in np.atleast_1d(distance):
        eta, sign = theta[0], np.sign(d)
        for low, high, slope in zip(EDGES[:-1], EDGES[1:], slopes, strict=True):
            walked = max(0.0, min(max(d, 0.0), high) - max(min(d, 0.0), low))
            eta += sign * walked * slope
        out.append(eta)
    return np.array(out)


def curves_at(theta, batch, factor=0.8):
    draws = Draws(np.atleast_2d(theta), 1.0)
    return Curves(draws, (batch.anchor,), (batch,), factor)


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("prior", [DEFAULT, slope_prior(0.9, 10)])
def test_derivative_agrees_with_central_differences(batches, prior, rng):
    held = []
    for index in range(batches):
        scores, labels, threshold = case(index, audit=30)
        held.append(_prepare(ledger_of(scores, labels), threshold))
    for spread in (0.3, 1.5):
        theta = rng.normal(size=(4, batches + 7)) * spread
        theta[:, -1] -= 3.0
        gradient = _log_posterior(theta, held, prior)[1]
        for at in range(theta.shape[1]):
            step = np.zeros(theta.shape[1])
            step[at] = 1e-5
            up = _log_posterior(theta + step, held, prior, slopes=False)[0]
            down = _log_posterior(theta - step, held, prior, slopes=False)[0]
            np.testing.assert_allclose(
                gradient[:, at], (up - down) / 2e-5, rtol=2e-6, atol=2e-6, err_msg=str(at)
            )


def test_oracle_eta_is_the_integral_of_its_slopes(rng):
    theta = np.array([-1.2, 0.7, 0.5, -0.4, 0.8, -1.0, 0.6, -3.0])
    distance = np.concatenate([rng.uniform(-4.5, 1.5, 40), [0.0, 0.5, -0.6, -1.2, -1.8, -2.6]])
    slopes = _slopes(theta[None, 1:], 0.8)
    eta = theta[0] + (slopes @ _basis(distance))[0]
    np.testing.assert_allclose(eta, eta_of(distance, theta, 0.8), atol=1e-12)
    by_segment = segment_slopes(theta[1], theta[2:7], 0.8)

    def slope(d):
        return by_segment[np.searchsorted(EDGES[1:-1], d)]

    for d in (-3.7, -1.5, -0.3, 0.4, 1.3):
        area = quad(slope, 0.0, d, points=[e for e in EDGES[1:-1] if abs(e) < 5], limit=200)[0]
        assert theta[0] + (slopes @ _basis(np.array([d])))[0, 0] == pytest.approx(
            theta[0] + area, abs=1e-7
        )


def test_property_share_falls_with_the_rank_whatever_the_parameters(rng):
    scores, labels, threshold = case()
    batch = _prepare(ledger_of(scores, labels), threshold)
    theta = rng.normal(size=(200, 8)) * [3, 1, 1.5, 1.5, 1.5, 1.5, 1.5, 3]
    assert (_slopes(theta[:, 1:], 0.8) > 0).all()
    share = curves_at(theta, batch).precision(np.linspace(-5, 5, 400))
    assert np.diff(share, axis=1).min() > -1e-15  # rounding where the share is next to 1
    assert ((share > 0) & (share <= 1)).all()
    moderate = curves_at(theta * [0.3, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.3], batch)
    assert (np.diff(moderate.precision(np.linspace(-3, 3, 100)), axis=1) > 0).all()


def test_extreme_parameters_give_numbers_without_a_warning():
    scores, labels, threshold = case()
    batch = _prepare(ledger_of(scores, labels), threshold)
    theta = np.array([[800.0, 40.0, 9, 9, 9, 9, 9, 800.0], [-800.0, 60.0, 9, 9, 9, 9, 9, -800.0]])
    value, gradient = _log_posterior(theta, [batch], DEFAULT)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    share = curves_at(theta[1:], batch).precision(np.array([-3.0, 0.0, 3.0]))
    assert np.isfinite(share).all()


def test_oracle_blind_events_are_spread_like_the_rows():
    """Far below, only the blind share is left: w / (1 - w) times the mean visible share."""
    scores, labels, threshold = case(n=60, labelled=20)
    ledger = ledger_of(scores, labels)
    batch = _prepare(ledger, threshold)
    theta = np.array([-0.5, 0.9, 0.2, -0.3, 0.1, 0.0, 0.4, -1.1])
    rank = np.argsort(np.argsort(-scores))
    v = norm.ppf((60 - (rank + 1) + 0.5) / 60)
    anchor = v[scores >= threshold].min()
    visible = expit(eta_of(v - anchor, theta, 0.8))
    w = expit(theta[-1])
    phi = w / (1 - w) * visible.mean()
    # Few rows are still joined in groups far from the threshold: that is worth a few per mille.
    far = curves_at(theta, batch).precision(np.array([-60.0]))[0, 0]
    assert far / (1 - far) == pytest.approx(phi, rel=5e-3)
    here = curves_at(theta, batch).precision(np.array([anchor]))[0, 0]
    assert here / (1 - here) == pytest.approx(np.exp(theta[0]) + phi, rel=5e-3)


def test_the_anchor_is_the_last_labelled_alert():
    """The 20th row where all alerts are labelled, the 5th where only five are, else the last."""
    scores, labels, threshold = case()
    ledger = ledger_of(scores, labels)
    place = norm.ppf((len(scores) - np.arange(1, len(scores) + 1) + 0.5) / len(scores))
    assert anchor_of(ledger, threshold) == pytest.approx(place[19], abs=1e-12)
    order = np.argsort(-scores)
    labels[order[5:]] = np.nan
    assert anchor_of(ledger_of(scores, labels), threshold) == pytest.approx(place[4], abs=1e-12)
    labels[order[30]] = 1.0  # below the threshold: does not count
    assert anchor_of(ledger_of(scores, labels), threshold) == pytest.approx(place[4], abs=1e-12)
    nothing = ledger_of(scores, np.full(len(scores), np.nan))
    assert anchor_of(nothing, threshold) == pytest.approx(place[19], abs=1e-12)
    assert anchor_of(ledger, 1e9) == ledger.place[0]


def test_the_prior_numbers_are_those_of_the_recipe():
    assert slope_prior(None, 3) == DEFAULT
    assert slope_prior(0.9, 21) == DEFAULT
    sharp = slope_prior(0.9, 20)
    assert sharp.centre == pytest.approx(np.log(np.sqrt(2) * norm.ppf(0.9)), rel=1e-12)
    assert (sharp.spread, sharp.factor) == (0.3, 0.6)
    assert monotone.LEVEL_PRIOR == (-1.5, 2.5)
    assert monotone.BLIND_PRIOR == (-4.0, 2.0)
    # Binormal scores of equal spread: the slope of the log odds is the distance of the means.
    assert np.exp(slope_prior(norm.cdf(1.88 / np.sqrt(2)), 5).centre) == pytest.approx(1.88)


def plain_log_posterior(theta, v, anchor, labels, prior):
    """The recipe row by row, for many chains at once: (chains, 8) -> (chains,)."""
    slopes = np.exp(theta[:, [1]]) * np.ones((1, 6))
    for k in range(4):
        slopes[:, 1 + k] = slopes[:, k] * np.exp(prior.factor * theta[:, 2 + k])
    slopes[:, 5] = slopes[:, 0] * np.exp(prior.factor * theta[:, 6])
    d = v - anchor
    lengths = [np.clip(d, -0.6, 0.5)]
    lengths += [np.clip(d, a, b) - b for a, b in ((-1.2, -0.6), (-1.8, -1.2), (-2.6, -1.8))]
    lengths += [np.minimum(d + 2.6, 0.0), np.maximum(d - 0.5, 0.0)]
    eta = np.minimum(theta[:, [0]] + slopes @ np.array(lengths), 600.0)
    odds = np.exp(eta) + np.exp(theta[:, [7]]) * expit(eta).mean(axis=1, keepdims=True)
    held = ~np.isnan(labels)
    with np.errstate(divide="ignore"):
        terms = labels[held] * np.log(odds[:, held]) - np.log1p(odds[:, held])
    centre = np.array([-1.5, prior.centre, 0, 0, 0, 0, 0, -4.0])
    spread = np.array([2.5, prior.spread, 1, 1, 1, 1, 1, 2.0])
    return terms.sum(axis=1) - 0.5 * (((theta - centre) / spread) ** 2).sum(axis=1), odds


def metropolis(scores, labels, threshold, prior, seed, chains=120, steps=1300, burn=300):
    """Random walks whose steps are differences of other walks (differential evolution).

    Returns parameters and draws of recall, (kept, chains, .) and (kept, chains).
    """
    rng = np.random.default_rng(seed)
    n = len(scores)
    v = norm.ppf((n - np.argsort(np.argsort(-scores)) - 0.5) / n)
    anchor = v[scores >= threshold].min()
    below = np.isnan(labels) & (scores < threshold)
    seen = np.nansum(labels[scores >= threshold])
    known = np.nansum(labels[scores < threshold])
    theta = rng.normal(size=(chains, 8)) * 0.5 + [-1.5, prior.centre, 0, 0, 0, 0, 0, -4.0]
    value, odds = plain_log_posterior(theta, v, anchor, labels, prior)
    half = chains // 2
    kept, recalls = [], []
    for step in range(steps):
        for mine, others in ((slice(0, half), half), (slice(half, chains), 0)):
            a, b = rng.integers(0, half, (2, half)) + others
            gain = 1.0 if step % 10 == 0 else 2.38 / np.sqrt(16)
            tried = theta[mine] + gain * (theta[a] - theta[b]) + 1e-3 * rng.normal(size=(half, 8))
            new, new_odds = plain_log_posterior(tried, v, anchor, labels, prior)
            accept = np.log(rng.random(half)) < new - value[mine]
            theta[mine] = np.where(accept[:, None], tried, theta[mine])
            value[mine] = np.where(accept, new, value[mine])
            odds[mine] = np.where(accept[:, None], new_odds, odds[mine])
        if step >= burn and step % 5 == 0:
            share = odds[:, below] / (1 + odds[:, below])
            missed = known + (rng.random(share.shape) < share).sum(axis=1)
            kept.append(theta.copy())
            recalls.append(seen / (seen + missed))
    return np.array(kept), np.array(recalls)


@pytest.mark.parametrize(
    ("settings", "prior"),
    [
        ({"seed": 3}, DEFAULT),
        ({"seed": 5, "audit": 40}, slope_prior(0.85, 10)),
    ],
    ids=["top labels", "audit and AUC"],
)
def test_oracle_posterior_agrees_with_a_metropolis_chain(settings, prior):
    """156,000 steps of chains written from the recipe, row by row and without groups."""
    scores, labels, threshold = case(n=120, **settings)
    chain, recall = metropolis(scores, labels, threshold, prior, seed=1)
    ledger = ledger_of(scores, labels)
    runs = [
        fit_monotone([ledger], [threshold], prior, np.random.default_rng(run)) for run in range(16)
    ]
    ours = np.array([one.draws.values for one in runs])
    assert min(one.draws.effective_size for one in runs) > 200
    # Errors of both sides: from the chains' means, and from the means of the sixteen runs.
    error = np.hypot(
        chain.mean(axis=0).std(axis=0) / np.sqrt(chain.shape[1]),
        ours.mean(axis=1).std(axis=0) / np.sqrt(16),
    )
    apart = ours.mean(axis=(0, 1)) - chain.mean(axis=(0, 1))
    assert error.max() < 0.05
    assert (np.abs(apart) < 4.5 * error).all(), apart / error
    np.testing.assert_allclose(
        ours.std(axis=(0, 1)), chain.std(axis=(0, 1)), rtol=0.08, err_msg="spreads"
    )
    drawn = [_recall(one, scores, labels, threshold, seed) for seed, one in enumerate(runs)]
    means = [one.mean() for one in drawn]
    error = np.hypot(recall.mean(axis=0).std() / np.sqrt(recall.shape[1]), np.std(means) / 4)
    assert error < 0.006
    assert abs(np.mean(means) - recall.mean()) < 4.5 * error
    for end in np.quantile(recall, [0.05, 0.25, 0.5, 0.75, 0.95]):  # recall has few values
        assert np.mean(np.array(drawn) <= end) == pytest.approx(np.mean(recall <= end), abs=0.03)


def _recall(curves, scores, labels, threshold, seed):
    """Recall of each draw, from the curve at every single row."""
    rng = np.random.default_rng(seed)
    n = len(scores)
    v = norm.ppf((n - np.argsort(np.argsort(-scores)) - 0.5) / n)
    share = curves.precision(v[np.isnan(labels) & (scores < threshold)])
    missed = np.nansum(labels[scores < threshold]) + (rng.random(share.shape) < share).sum(axis=1)
    seen = np.nansum(labels[scores >= threshold])
    return seen / (seen + missed)


def test_batches_share_slopes_and_keep_their_levels(rng):
    """Two like batches and one with far more events: three levels, one shape."""
    sheets, cuts = [], []
    for seed, share in ((0, 0.03), (1, 0.03), (2, 0.25)):
        own = np.random.default_rng(seed)
        event = own.random(1500) < share
        scores = own.normal(size=1500) + 2.0 * event
        cut = np.sort(scores)[-100]
        sheets.append(ledger_of(scores, np.where(scores >= cut, event * 1.0, np.nan)))
        cuts.append(cut)
    curves = fit_monotone(sheets, cuts, DEFAULT, np.random.default_rng(0))
    level = curves.draws.values[:, :3].mean(axis=0)
    assert curves.draws.values.shape == (800, 10)
    assert abs(level[0] - level[1]) < 1.5
    assert level[2] > max(level[:2]) + 1.0
    alone = fit_monotone(sheets[:1], cuts[:1], DEFAULT, np.random.default_rng(0))
    # The common slope is known better than from one batch.
    assert curves.draws.values[:, 3].std() < alone.draws.values[:, 1].std()
    share = curves.precision(np.array([1.0, 2.0]), batch=2)
    assert share.shape == (800, 2)
    assert share[:, 1].mean() > curves.precision(np.array([2.0]), batch=0).mean()


def test_every_batch_is_read_at_its_own_threshold():
    """The level is the log odds of the visible part at the batch's own last alert."""
    scores, labels, _ = case(n=400, labelled=60)
    sheet = ledger_of(scores, labels)
    cuts = [float(np.sort(scores)[-at]) for at in (10, 60)]
    curves = fit_monotone([sheet, sheet], cuts, DEFAULT, np.random.default_rng(0))
    assert curves.anchors == tuple(anchor_of(sheet, cut) for cut in cuts)
    assert curves.anchors[0] > curves.anchors[1] + 0.5
    for at in (0, 1):
        here = curves.precision(np.array([curves.anchors[at], -1e4]), at)
        odds = here / (1 - here)
        visible = odds[:, 0] - odds[:, 1]  # far below, only blind events are left
        np.testing.assert_allclose(visible, np.exp(curves.draws.values[:, at]), rtol=1e-6)


def test_some_draws_are_draws(rng):
    scores, labels, threshold = case()
    curves = fit_monotone([ledger_of(scores, labels)], [threshold], DEFAULT, rng)
    few = curves.some(7, rng)
    assert few.draws.values.shape == (7, 8)
    assert all((curves.draws.values == row).all(axis=1).any() for row in few.draws.values)
    np.testing.assert_array_equal(few.precision(np.zeros(1)).shape, (7, 1))


def test_without_labels_the_posterior_is_the_prior():
    scores = case()[0]
    ledger = ledger_of(scores, np.full(len(scores), np.nan))
    values = np.concatenate(
        [
            fit_monotone([ledger], [1.5], DEFAULT, np.random.default_rng(run)).draws.values
            for run in range(8)
        ]
    )
    centre = [-1.5, np.log(2.2), 0, 0, 0, 0, 0, -4.0]
    spread = np.array([2.5, 0.8, 1, 1, 1, 1, 1, 2.0])
    assert (np.abs(values.mean(axis=0) - centre) < 0.08 * spread).all()
    np.testing.assert_allclose(values.std(axis=0), spread, rtol=0.08)
