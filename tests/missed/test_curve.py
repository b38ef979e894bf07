"""The monotone curve: derivatives, shape, and the posterior against a plain Metropolis chain."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from scarce.missed import curve as monotone
from scarce.missed.curve import (
    FREEDOM,
    Curves,
    Mode,
    PooledCurves,
    PosteriorDraws,
    SlopePrior,
    _basis,
    _log_posterior,
    _prepare,
    _slopes,
    _weighted,
    anchor_of,
    draw_posterior,
    find_mode,
    fit_monotone,
    weighed_by_auc,
)
from scarce.missed.provenance import batch_of
from scarce.missed.score_table import score_table_of
from tests.problems import codes

DEFAULT = SlopePrior(np.log(2.2), 0.8, 0.8)
SHARP = SlopePrior(np.log(np.sqrt(2) * norm.ppf(0.85)), 0.3, 0.6)
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
    draws = PosteriorDraws(np.atleast_2d(theta), 1.0)
    return Curves(draws, (batch.anchor,), (batch,), factor)


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("prior", [DEFAULT, SHARP])
def test_derivative_agrees_with_central_differences(batches, prior, rng):
    held = []
    for index in range(batches):
        scores, labels, threshold = case(index, audit=30)
        held.append(_prepare(score_table_of(scores, labels), threshold))
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
    batch = _prepare(score_table_of(scores, labels), threshold)
    theta = rng.normal(size=(200, 8)) * [3, 1, 1.5, 1.5, 1.5, 1.5, 1.5, 3]
    assert (_slopes(theta[:, 1:], 0.8) > 0).all()
    share = curves_at(theta, batch).precision(np.linspace(-5, 5, 400))
    assert np.diff(share, axis=1).min() > -1e-15  # rounding where the share is next to 1
    assert ((share > 0) & (share <= 1)).all()
    moderate = curves_at(theta * [0.3, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.3], batch)
    assert (np.diff(moderate.precision(np.linspace(-3, 3, 100)), axis=1) > 0).all()


def test_extreme_parameters_give_numbers_without_a_warning():
    scores, labels, threshold = case()
    batch = _prepare(score_table_of(scores, labels), threshold)
    theta = np.array([[800.0, 40.0, 9, 9, 9, 9, 9, 800.0], [-800.0, 60.0, 9, 9, 9, 9, 9, -800.0]])
    value, gradient = _log_posterior(theta, [batch], DEFAULT)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    share = curves_at(theta[1:], batch).precision(np.array([-3.0, 0.0, 3.0]))
    assert np.isfinite(share).all()


def test_oracle_blind_events_are_spread_like_the_rows():
    """Far below, only the blind share is left: w / (1 - w) times the mean visible share."""
    scores, labels, threshold = case(n=60, labelled=20)
    table = score_table_of(scores, labels)
    batch = _prepare(table, threshold)
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
    table = score_table_of(scores, labels)
    place = norm.ppf((len(scores) - np.arange(1, len(scores) + 1) + 0.5) / len(scores))
    assert anchor_of(table, threshold) == pytest.approx(place[19], abs=1e-12)
    order = np.argsort(-scores)
    labels[order[5:]] = np.nan
    assert anchor_of(score_table_of(scores, labels), threshold) == pytest.approx(
        place[4], abs=1e-12
    )
    labels[order[30]] = 1.0  # below the threshold: does not count
    assert anchor_of(score_table_of(scores, labels), threshold) == pytest.approx(
        place[4], abs=1e-12
    )
    nothing = score_table_of(scores, np.full(len(scores), np.nan))
    assert anchor_of(nothing, threshold) == pytest.approx(place[19], abs=1e-12)
    assert anchor_of(table, 1e9) == table.place[0]


def test_the_prior_numbers_are_those_of_the_recipe():
    assert SlopePrior() == DEFAULT
    assert monotone.LEVEL_PRIOR == (-1.5, 2.5)
    assert monotone.BLIND_PRIOR == (-4.0, 2.0)


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
    spread = np.array([2.5, prior.sd, 1, 1, 1, 1, 1, 2.0])
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
        ({"seed": 5, "audit": 40}, SHARP),
    ],
    ids=["top labels", "audit and a sharp prior"],
)
def test_oracle_posterior_agrees_with_a_metropolis_chain(settings, prior):
    """156,000 steps of chains written from the recipe, row by row and without groups."""
    scores, labels, threshold = case(n=120, **settings)
    chain, recall = metropolis(scores, labels, threshold, prior, seed=1)
    table = score_table_of(scores, labels)
    runs = [
        fit_monotone([table], [threshold], prior, np.random.default_rng(run)) for run in range(16)
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
        sheets.append(score_table_of(scores, np.where(scores >= cut, event * 1.0, np.nan)))
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
    sheet = score_table_of(scores, labels)
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
    curves = fit_monotone([score_table_of(scores, labels)], [threshold], DEFAULT, rng)
    few = curves.some(7, rng)
    assert few.draws.values.shape == (7, 8)
    assert all((curves.draws.values == row).all(axis=1).any() for row in few.draws.values)
    np.testing.assert_array_equal(few.precision(np.zeros(1)).shape, (7, 1))


def test_without_labels_the_posterior_is_the_prior():
    scores = case()[0]
    table = score_table_of(scores, np.full(len(scores), np.nan))
    values = np.concatenate(
        [
            fit_monotone([table], [1.5], DEFAULT, np.random.default_rng(run)).draws.values
            for run in range(8)
        ]
    )
    centre = [-1.5, np.log(2.2), 0, 0, 0, 0, 0, -4.0]
    spread = np.array([2.5, 0.8, 1, 1, 1, 1, 1, 2.0])
    assert (np.abs(values.mean(axis=0) - centre) < 0.08 * spread).all()
    np.testing.assert_allclose(values.std(axis=0), spread, rtol=0.08)


# --- curves of several batches, and a validation's AUC --------------------------------------------


def batch(seed=0, name=None, distance=1.9, labelled=60):
    """A batch whose top rows have labels."""
    rng = np.random.default_rng(seed)
    event = rng.random(1500) < 0.05
    scores = rng.normal(size=1500) + distance * event
    cut = float(np.sort(scores)[-labelled])
    return batch_of(name, scores, np.where(scores >= cut, event * 1.0, np.nan), cut)


def fit(batches, **settings):
    return PooledCurves.fit(batches, np.random.default_rng(0), **settings)


def test_batches_have_a_shape_each_unless_they_are_told_to_share_it():
    batches = [batch(seed) for seed in range(14)]
    apart, pooled = fit(batches), fit(batches, share_shape=True)
    assert [len(one.anchors) for one in apart.groups] == [1] * 14
    assert [len(one.anchors) for one in pooled.groups] == [7, 7]
    assert pooled.spot[8] == (1, 1)
    alone = fit(batches[:1]).share_of_events(batches[0], 0, np.zeros(2), np.array([1.0, 2.0]))
    here = apart.share_of_events(batches[0], 0, np.zeros(2), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(alone, here)
    assert pooled.groups[0].draws.values[:, 7].std() < apart.groups[0].draws.values[:, 1].std()


def test_oracle_the_auc_of_a_curve_is_that_of_its_events():
    """Events drawn by the curve's own shares: P(score of an event > score of another row)."""
    one = batch()
    curves = fit([one])
    group = curves.groups[0]
    distance = monotone._distances(group, 0)
    place = norm.ppf((np.arange(1500) + 0.5) / 1500)
    for draw in (0, 100, 400):
        share = group.one(draw).precision(place)[0]
        events, others = share, 1 - share
        auc = (events * (np.cumsum(others) - others / 2)).sum() / (events.sum() * others.sum())
        assert norm.cdf(distance[draw] / np.sqrt(2)) == pytest.approx(auc, abs=0.01)


@pytest.mark.parametrize("events", ["few", "many"])
def test_an_auc_weighs_curves_at_any_number_of_events(events):
    one = batch(labelled=30 if events == "few" else 400)
    curves = fit([one])
    plain = np.median(monotone._distances(curves.groups[0], 0))
    moved = []
    for auc in (0.8, 0.9, 0.95):
        weighed, problems = weighed_by_auc(curves, [one], auc)
        assert problems == []
        distance = monotone._distances(weighed.groups[0], 0)
        told = np.sqrt(2) * norm.ppf(auc)
        assert abs(np.median(distance) - told) <= abs(plain - told) + 0.02
        assert weighed.groups[0].draws.values.shape == curves.groups[0].draws.values.shape
        assert weighed.effective_size <= curves.effective_size
        moved.append(np.median(distance))
    assert moved == sorted(moved)


def test_oracle_weights_are_those_of_a_normal_around_the_auc():
    one = batch(labelled=30)
    curves = fit([one])
    distance = monotone._distances(curves.groups[0], 0)
    weight = stats.norm.pdf(distance, np.sqrt(2) * norm.ppf(0.9), monotone.AUC_SD)
    weighed, _ = weighed_by_auc(curves, [one], 0.9)
    after = monotone._distances(weighed.groups[0], 0)
    assert after.mean() == pytest.approx(np.average(distance, weights=weight), abs=0.01)
    assert after.std() == pytest.approx(
        np.sqrt(np.cov(distance, aweights=weight, ddof=0)), rel=0.05
    )
    size = weight.sum() ** 2 / (weight**2).sum()
    assert weighed.effective_size == pytest.approx(min(size, curves.effective_size), rel=1e-9)


def test_an_auc_that_labels_contradict_is_said_and_left_out():
    good = batch(distance=3.5, labelled=500, name="May")
    curves = fit([good])
    weighed, problems = weighed_by_auc(curves, [good], 0.51)
    assert codes(problems) == ["auc-contradicted"]
    assert problems[0].fields["own"] > 0.9
    assert problems[0].fields["where"] == " of 'May'"
    np.testing.assert_array_equal(weighed.groups[0].draws.values, curves.groups[0].draws.values)
    assert weighed_by_auc(curves, [good], 0.98)[1] == []


# --- draws from a posterior -----------------------------------------------------------------------


SHAPE, RATE = 3.0, 2.0
BEND = 0.1  # with 0.25 the draws are 12 to 22 % short of the spread: not what this is for


def log_gamma(x):
    """A gamma variable on the log scale, in each coordinate: skewed, and its moments are known."""
    value = (SHAPE * x - RATE * np.exp(x)).sum(axis=1)
    return value, SHAPE - RATE * np.exp(x)


def banana(x):
    """x0 normal with spread 2; x1 normal around a parabola."""
    bend = x[:, 1] - BEND * (x[:, 0] ** 2 - 4.0)
    value = -0.125 * x[:, 0] ** 2 - 0.5 * bend**2
    return value, np.stack([-0.25 * x[:, 0] + 2 * BEND * bend * x[:, 0], -bend], axis=1)


def many(seed, *, log_density=lambda x: log_gamma(x)[0], k=2, runs=20, **settings):
    """PosteriorDraws of several seeds together: what is left of sampling noise is small."""
    mode = find_mode(log_gamma, np.zeros(k))
    return np.concatenate(
        [
            draw_posterior(log_density, mode, np.random.default_rng([seed, run]), **settings).values
            for run in range(runs)
        ]
    )


@pytest.mark.parametrize("target", [log_gamma, banana])
@pytest.mark.parametrize("start", [[0.0, 0.0], [3.0, -2.5], [-6.0, 4.0]])
def test_oracle_the_mode_is_scipys(target, start):
    mode = find_mode(target, np.array(start), tol=1e-10)
    oracle = optimize.minimize(
        lambda x: -target(x[None])[0][0], start, jac=lambda x: -target(x[None])[1][0], tol=1e-10
    )
    np.testing.assert_allclose(mode.at, oracle.x, atol=2e-4)
    assert mode.value == pytest.approx(-oracle.fun, abs=1e-8)
    assert mode.gradient < 1e-3
    assert 1 < mode.rounds < 60


def test_oracle_curvature_is_minus_the_second_derivative():
    mode = find_mode(log_gamma, np.zeros(2), tol=1e-12)
    np.testing.assert_allclose(mode.at, np.log(SHAPE / RATE), atol=1e-6)
    np.testing.assert_allclose(mode.curvature, SHAPE * np.eye(2), atol=1e-5)


def test_a_wrong_bend_still_gives_a_positive_definite_curvature():
    """Between the two tops of this law the second derivative has the wrong sign."""

    def two_tops(x):
        return -((x[:, 0] ** 2 - 4.0) ** 2) / 8.0, -x * (x**2 - 4.0) / 2.0

    mode = find_mode(two_tops, np.array([0.3]), tol=1e-10)
    assert mode.at[0] == pytest.approx(2.0, abs=1e-4)
    still = find_mode(two_tops, np.array([0.3]), rounds=0)
    assert still.curvature[0, 0] == pytest.approx(2.0 - 1.5 * 0.3**2, rel=1e-4)
    assert still.rounds == 0
    assert still.at[0] == 0.3


def test_the_climb_steps_around_points_without_a_density():
    """log(x) - x from 4: the full step lands at -1, where there is no density."""

    def edge(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return (np.log(x) - x)[:, 0], 1.0 / x - 1.0

    mode = find_mode(edge, np.array([4.0]), tol=1e-12)
    assert mode.at[0] == pytest.approx(1.0, abs=1e-6)
    assert mode.value == pytest.approx(-1.0)


def test_the_climb_stops_at_its_tolerance_and_never_loses_height():
    heights = [
        find_mode(banana, np.array([-6.0, 4.0]), rounds=most, tol=1e-12).value for most in range(9)
    ]
    assert (np.diff(heights) >= 0).all()
    rough = find_mode(banana, np.array([-6.0, 4.0]), tol=0.5)
    assert rough.rounds < find_mode(banana, np.array([-6.0, 4.0]), tol=1e-10).rounds
    assert banana(np.zeros((1, 2)))[0][0] - rough.value < 4.0


def test_oracle_draws_of_a_log_gamma():
    """Mean, spread and quantiles of log(gamma): digamma, trigamma and scipy's quantiles."""
    values = many(1)
    exact = stats.loggamma(SHAPE, loc=-np.log(RATE))
    assert len(values) == 20 * 800
    np.testing.assert_allclose(values.mean(axis=0), exact.mean(), atol=0.02)
    np.testing.assert_allclose(np.cov(values.T), exact.var() * np.eye(2), atol=0.02)
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        np.testing.assert_allclose(
            np.quantile(values, share, axis=0), exact.ppf(share), atol=0.03 + 0.05 * (share == 0.05)
        )


def test_oracle_draws_of_a_banana():
    mode = find_mode(banana, np.array([1.0, 1.0]))
    drawn = [
        draw_posterior(lambda x: banana(x)[0], mode, np.random.default_rng([2, run]))
        for run in range(20)
    ]
    values = np.concatenate([one.values for one in drawn])
    # x1 has mean 0 and variance 1 + bend^2 var(x0^2), var(x0^2) = 32; x0, x1 are uncorrelated.
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=0.06)
    exact = [[4.0, 0.0], [0.0, 1 + 32 * BEND**2]]
    np.testing.assert_allclose(np.cov(values.T), exact, atol=0.12)
    straight = values[:, 1] - BEND * (values[:, 0] ** 2 - 4.0)
    assert straight.std() == pytest.approx(1.0, abs=0.03)
    assert min(one.effective_size for one in drawn) > 400


def test_oracle_a_poor_proposal_is_fitted_again():
    """From a centre two spreads away and half the spread, the draws still find the law."""

    def bell(x):
        return -0.5 * (x**2).sum(axis=1)

    poor = Mode(np.array([2.0, -2.0, 0.0]), 0.0, 4.0 * np.eye(3), 0.0, 0)
    once = _weighted(bell, poor.at, np.eye(3) / 4.0, 1500, np.random.default_rng(3))[2]
    drawn = [draw_posterior(bell, poor, np.random.default_rng([3, run])) for run in range(10)]
    assert once < 150 < 400 <= min(one.effective_size for one in drawn)
    values = np.concatenate([one.values for one in drawn])
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=0.06)
    np.testing.assert_allclose(np.cov(values.T), np.eye(3), atol=0.08)


def test_draws_that_are_never_enough_are_made_once_more_and_six_times_as_many():
    asked = []

    def bell(x):
        asked.append(len(x))
        return -0.5 * (x**2).sum(axis=1)

    mode = Mode(np.zeros(2), 0.0, np.eye(2), 0.0, 0)
    drawn = draw_posterior(bell, mode, np.random.default_rng(0), tries=100, keep=50, enough=1e9)
    assert asked == [100, 100, 100, 100, 600]
    assert 200 < drawn.effective_size <= 600
    assert len(drawn.values) == 50
    asked.clear()
    draw_posterior(bell, mode, np.random.default_rng(0), tries=100, keep=50, enough=40)
    assert asked == [100]


def test_oracle_effective_size_is_that_of_importance_weights():
    """Against the weights worked out with scipy's multivariate t."""
    centre, covariance = np.array([0.4, -0.2]), np.array([[0.5, 0.1], [0.1, 0.4]])
    points, share, size = _weighted(
        lambda x: log_gamma(x)[0], centre, covariance, 300, np.random.default_rng(4)
    )
    proposal = stats.multivariate_t(centre, covariance, df=FREEDOM)
    weight = np.exp(log_gamma(points)[0] - proposal.logpdf(points))
    np.testing.assert_allclose(share, weight / weight.sum(), rtol=1e-9)
    assert size == pytest.approx(weight.sum() ** 2 / (weight**2).sum(), rel=1e-9)


def test_a_proposal_that_is_the_law_itself_wastes_no_draw():
    law = stats.multivariate_t([1.0, 2.0], [[2.0, 0.3], [0.3, 1.0]], df=FREEDOM)
    size = _weighted(law.logpdf, law.loc, law.shape, 500, np.random.default_rng(0))[2]
    assert size == pytest.approx(500, rel=1e-9)


def test_points_without_a_density_are_never_drawn():
    def half(x):
        with np.errstate(invalid="ignore"):
            return np.where(x[:, 0] > 0, -0.5 * (x**2).sum(axis=1), np.nan)

    mode = Mode(np.zeros(2), 0.0, np.eye(2), 0.0, 0)
    values = np.concatenate(
        [draw_posterior(half, mode, np.random.default_rng(run)).values for run in range(10)]
    )
    assert (values[:, 0] > 0).all()
    assert values[:, 0].mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.03)


def test_the_same_seed_gives_the_same_draws_and_another_does_not():
    mode = find_mode(log_gamma, np.zeros(2))

    def draw(seed, keep=800):
        rng = np.random.default_rng(seed)
        return draw_posterior(lambda x: log_gamma(x)[0], mode, rng, keep=keep)

    first, again, other = draw(7), draw(7), draw(8)
    assert isinstance(first, PosteriorDraws)
    np.testing.assert_array_equal(first.values, again.values)
    assert first.effective_size == again.effective_size
    assert not np.array_equal(first.values, other.values)
    assert draw(7, keep=123).values.shape == (123, 2)
