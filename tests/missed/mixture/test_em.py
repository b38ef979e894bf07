"""Two families and labels: the likelihood by hand, EM as printed, derivatives, plain optima."""

import itertools

import mpmath
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from scarce.missed.mixture.em import (
    FLOOR,
    Evidence,
    FittedPair,
    Pair,
    _terms,
    curvature_of,
    em_step,
    fit_pair,
    log_likelihood,
    paper_start,
    polish,
    prior_of_ratio,
    run_em,
    slope_at,
    spread_of,
    starts_for,
    whitening,
)
from scarce.missed.mixture.families import FAMILIES

PARAMS = {
    "normal": ([2.0, 0.1], [4.0, -0.1]),
    "lognormal": ([0.6, -0.9], [1.3, -1.2]),
    "gamma": ([1.6, -0.9], [2.6, -1.2]),
    "student-t": ([2.0, -0.2], [4.0, -0.3]),
    "skew-normal": ([1.2, 0.2, 1.5], [3.3, 0.1, 0.8]),
}
PAIRS = list(itertools.product(FAMILIES, FAMILIES))


def pair_of(background, foreground, share=0.2):
    return Pair(
        FAMILIES[background],
        FAMILIES[foreground],
        share,
        np.array(PARAMS[background][0]),
        np.array(PARAMS[foreground][1]),
    )


def evidence(n=120, seed=0, how="some", weighted=False):
    """Scores above 0 in all three states of labelling, or in fewer."""
    rng = np.random.default_rng(seed)
    event = rng.random(n) < 0.25
    score = np.abs(np.where(event, rng.normal(4.0, 0.8, n), rng.gamma(5.0, 0.4, n))) + 0.01
    known = {"some": rng.random(n) < 0.4, "all": np.ones(n, bool), "none": np.zeros(n, bool)}[how]
    weight = rng.integers(1, 4, n) * 1.0 if weighted else np.ones(n)
    states = (~known, known & event, known & ~event)
    return Evidence(*[part for state in states for part in (score[state], weight[state])])


@pytest.mark.parametrize("background", ["normal", "lognormal"])
def test_oracle_likelihood_in_50_digits(background):
    """002 eq 1, row by row."""
    data, pair = evidence(30), pair_of(background, "normal", 0.07)
    with mpmath.workdps(50):
        b = mpmath.mpf(0.07)
        mean, sd = mpmath.mpf(4), mpmath.exp(mpmath.mpf(-0.1))
        p0 = PARAMS[background][0]

        def behind(s):
            s, spread = mpmath.mpf(s), mpmath.exp(mpmath.mpf(p0[1]))
            if background == "normal":
                return mpmath.npdf(s, mpmath.mpf(p0[0]), spread)
            return mpmath.npdf(mpmath.log(s), mpmath.mpf(p0[0]), spread) / s

        def front(s):
            return mpmath.npdf(mpmath.mpf(s), mean, sd)

        total = mpmath.fsum(
            [mpmath.log((1 - b) * behind(s) + b * front(s)) for s in data.open_score]
            + [mpmath.log(b * front(s)) for s in data.event_score]
            + [mpmath.log((1 - b) * behind(s)) for s in data.other_score]
        )
    assert min(len(part) for part in data) >= 2
    assert log_likelihood(pair, data) == pytest.approx(float(total), rel=1e-13)
    posterior = _terms(pair, data)[1]
    s = data.open_score[3]
    by_hand = b * front(s) / (b * front(s) + (1 - b) * behind(s))
    assert posterior[3] == pytest.approx(float(by_hand), rel=1e-12)
    np.testing.assert_allclose(expit(pair.log_odds(data.open_score)), posterior, rtol=1e-10)


def printed_step(data, b, mean0, var0, mean1, var1):
    """002 eq 6 to 12 for two normals, as a loop over rows."""
    rows = [(s, None) for s in data.open_score]
    rows += [(s, 1.0) for s in data.event_score] + [(s, 0.0) for s in data.other_score]
    gammas = []
    for s, label in rows:
        up = b * norm.pdf(s, mean1, np.sqrt(var1))
        down = (1 - b) * norm.pdf(s, mean0, np.sqrt(var0))
        gammas.append(up / (up + down) if label is None else label)
    new1 = sum(g * s for g, (s, _) in zip(gammas, rows, strict=True)) / sum(gammas)
    rest = len(rows) - sum(gammas)
    new0 = sum((1 - g) * s for g, (s, _) in zip(gammas, rows, strict=True)) / rest
    spread1 = sum(g * (s - new1) ** 2 for g, (s, _) in zip(gammas, rows, strict=True))
    spread0 = sum((1 - g) * (s - new0) ** 2 for g, (s, _) in zip(gammas, rows, strict=True))
    return sum(gammas) / len(rows), new0, spread0 / rest, new1, spread1 / sum(gammas)


def test_oracle_em_is_the_printed_one():
    data, pair = evidence(60), pair_of("normal", "normal")
    params = (0.2, 2.0, np.exp(0.2), 4.0, np.exp(-0.2))
    for _ in range(4):
        params = printed_step(data, *params)
        pair = em_step(pair, data, _terms(pair, data)[1], floor=0.0)
        ours = (
            pair.positive_share,
            pair.background_params[0],
            np.exp(2 * pair.background_params[1]),
            pair.foreground_params[0],
            np.exp(2 * pair.foreground_params[1]),
        )
        np.testing.assert_allclose(ours, params, rtol=1e-11)


@pytest.mark.parametrize(("background", "foreground"), PAIRS)
def test_property_em_climbs(background, foreground):
    """A closing step that is not the maximum would lose height sooner or later."""
    data = evidence(seed=3, weighted=True)
    pair = pair_of(background, foreground)
    value, posterior = _terms(pair, data)
    for _ in range(15):
        pair = em_step(pair, data, posterior, floor=0.0)
        higher, posterior = _terms(pair, data)
        assert higher >= value - 1e-9 * abs(value)
        value = higher


@pytest.mark.parametrize(("background", "foreground"), PAIRS)
@pytest.mark.parametrize("prior", [None, 0.5])
def test_derivative_agrees_with_central_differences(background, foreground, prior):
    data, pair = evidence(40, weighted=True), pair_of(background, foreground)
    objective, gradient, _, value = slope_at(pair, data, prior)
    assert objective == pytest.approx(value + prior_of_ratio(pair, prior), rel=1e-14)
    for at in range(len(pair.theta)):
        step = np.zeros(len(pair.theta))
        step[at] = 1e-5
        up, down = (pair.at(pair.theta + sign * step) for sign in (1, -1))
        rise = log_likelihood(up, data) + prior_of_ratio(up, prior)
        rise -= log_likelihood(down, data) + prior_of_ratio(down, prior)
        assert gradient[at] == pytest.approx(rise / 2e-5, rel=3e-5, abs=3e-5), at


@pytest.mark.parametrize("how", ["all", "none"])
def test_derivative_with_every_row_or_no_row_labelled(how):
    data, pair = evidence(40, how=how), pair_of("gamma", "normal")
    gradient = slope_at(pair, data, 0.5)[1]
    for at in range(5):
        step = np.zeros(5)
        step[at] = 1e-5
        up, down = (pair.at(pair.theta + sign * step) for sign in (1, -1))
        rise = slope_at(up, data, 0.5)[0] - slope_at(down, data, 0.5)[0]
        assert gradient[at] == pytest.approx(rise / 2e-5, rel=3e-5, abs=3e-5)


def test_oracle_squares_are_the_sum_of_outer_products_of_row_scores():
    """One row at a time, by differences of that row's own likelihood."""
    data, pair = evidence(25, weighted=True), pair_of("normal", "gamma")
    squares = slope_at(pair, data, None)[2]
    total = np.zeros_like(squares)
    for state in range(3):
        for s, w in zip(data[2 * state], data[2 * state + 1], strict=True):
            parts = [np.empty(0)] * 6
            parts[2 * state], parts[2 * state + 1] = np.array([s]), np.ones(1)
            one = Evidence(*parts)
            score = []
            for at in range(5):
                step = np.zeros(5)
                step[at] = 1e-6
                up = log_likelihood(pair.at(pair.theta + step), one)
                score.append((up - log_likelihood(pair.at(pair.theta - step), one)) / 2e-6)
            total += w * np.outer(score, score)
    np.testing.assert_allclose(squares, total, rtol=1e-6, atol=1e-6)


def test_the_prior_is_normal_in_the_log_ratio_of_spreads():
    pair = pair_of("normal", "normal")
    assert prior_of_ratio(pair, None) == 0.0
    assert prior_of_ratio(pair, 0.5) == pytest.approx(-0.5 * (0.2 / 0.5) ** 2)
    wide = pair._replace(foreground_params=np.array([4.0, 1.1]))
    assert prior_of_ratio(wide, 2.0) == pytest.approx(-0.5 * (1.0 / 2.0) ** 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_every_row_labelled_is_maximum_likelihood_per_class(weighted):
    data = evidence(200, how="all", weighted=weighted)
    best = fit_pair(data, FAMILIES["normal"], FAMILIES["normal"], spread_prior=None)[0].pair
    w1, w0 = data.event_weight, data.other_weight
    assert best.positive_share == pytest.approx(w1.sum() / data.total, rel=1e-6)
    for params, s, w in (
        (best.foreground_params, data.event_score, w1),
        (best.background_params, data.other_score, w0),
    ):
        mean = np.average(s, weights=w)
        assert params[0] == pytest.approx(mean, rel=1e-6)
        spread = np.sqrt(np.average((s - mean) ** 2, weights=w))
        assert np.exp(params[1]) == pytest.approx(spread, rel=1e-6)


def test_oracle_without_labels_it_is_scikit_learns_optimum():
    rng = np.random.default_rng(0)
    s = np.concatenate([rng.normal(0, 1, 1500), rng.normal(4, 0.8, 400)])
    none = np.empty(0)
    data = Evidence(s, np.ones(len(s)), none, none, none, none)
    ours = fit_pair(data, FAMILIES["normal"], FAMILIES["normal"], spread_prior=None)[0]
    theirs = GaussianMixture(2, tol=1e-12, max_iter=5000, n_init=3, random_state=0, reg_covar=1e-12)
    theirs.fit(s[:, None])
    assert ours.log_likelihood == pytest.approx(theirs.score(s[:, None]) * len(s), abs=1e-6)
    upper = int(np.argmax(theirs.means_))
    assert ours.pair.positive_share == pytest.approx(theirs.weights_[upper], rel=2e-4)
    assert ours.pair.foreground_params[0] == pytest.approx(theirs.means_[upper, 0], rel=1e-4)
    assert ours.certificate < 1e-2


@pytest.mark.parametrize(("background", "foreground"), [("normal", "normal"), ("gamma", "normal")])
def test_oracle_polish_ends_where_long_em_does(background, foreground):
    data = evidence(400, seed=5)
    families = FAMILIES[background], FAMILIES[foreground]
    fitted = fit_pair(data, *families, spread_prior=None)
    slow = run_em(fitted[0].pair, data, steps=4000, stop=1e-15, floor=0.0)
    from_start = run_em(starts_for(data, *families)[0], data, steps=8000, stop=1e-16, floor=0.0)
    for other in (slow, from_start):
        assert fitted[0].log_likelihood >= other.log_likelihood - 1e-5
        np.testing.assert_allclose(fitted[0].pair.theta, other.pair.theta, atol=2e-3)
    assert [one.objective for one in fitted] == sorted(
        (one.objective for one in fitted), reverse=True
    )


def test_the_prior_is_part_of_what_is_climbed():
    data = evidence(80, seed=2)
    families = FAMILIES["normal"], FAMILIES["normal"]
    free = fit_pair(data, *families, spread_prior=None)[0]
    held = fit_pair(data, *families, spread_prior=0.05)[0]

    def ratio(one):
        return one.pair.foreground_params[1] - one.pair.background_params[1]

    assert abs(ratio(held)) < 0.35 * abs(ratio(free))
    assert held.log_likelihood < free.log_likelihood
    assert held.objective == pytest.approx(
        held.log_likelihood + prior_of_ratio(held.pair, 0.05), abs=1e-9
    )
    objective = free.log_likelihood + prior_of_ratio(free.pair, 0.05)
    assert held.objective > objective


def test_oracle_curvature_is_the_hessian_of_the_likelihood():
    data, pair = evidence(150, seed=4), pair_of("normal", "normal", 0.25)
    ours = curvature_of(pair, data, None)
    h = 1e-3
    hessian = np.zeros((5, 5))
    for i, j in itertools.product(range(5), repeat=2):
        for a, b in itertools.product((1, -1), repeat=2):
            moved = pair.theta.copy()
            moved[i] += a * h
            moved[j] += b * h
            hessian[i, j] += a * b * log_likelihood(pair.at(moved), data) / (4 * h * h)
    np.testing.assert_allclose(ours, -hessian, rtol=1e-3, atol=2e-3)


def test_whitening_is_a_root_of_the_inverse():
    rng = np.random.default_rng(0)
    squares = np.cov(rng.normal(size=(5, 50)) * [[1], [1e3], [1e-3], [1], [10]])
    root = whitening(squares)
    np.testing.assert_allclose(root.T @ squares @ root, np.eye(5), atol=1e-9)
    assert np.isfinite(whitening(np.ones((3, 3)))).all()  # singular


def test_paper_start_is_maximum_likelihood_of_the_labelled_rows():
    data = evidence(100)
    start = paper_start(data, FAMILIES["normal"], FAMILIES["normal"])
    labelled = len(data.event_score) + len(data.other_score)
    assert start.positive_share == len(data.event_score) / labelled
    for params, s in (
        (start.background_params, data.other_score),
        (start.foreground_params, data.event_score),
    ):
        assert params[0] == pytest.approx(s.mean())
        assert np.exp(params[1]) == pytest.approx(s.std())
    none = evidence(100, how="none")
    assert paper_start(none, FAMILIES["normal"], FAMILIES["normal"]) is None


def test_starts_take_the_background_from_the_bulk():
    data = evidence(300)
    starts = starts_for(data, FAMILIES["normal"], FAMILIES["normal"])
    bulk = np.concatenate([data.open_score, data.other_score])
    assert len(starts) == 4
    assert starts[0].background_params[0] == pytest.approx(bulk.mean())
    assert starts[0].foreground_params[0] == pytest.approx(data.event_score.mean())
    assert all(one.foreground_params[0] > one.background_params[0] for one in starts)
    assert len(starts_for(evidence(300, how="none"), *[FAMILIES["normal"]] * 2)) == 2


def test_a_spread_does_not_fall_below_its_floor():
    """Labelled events at one score, nothing else near: without a floor a spike."""
    s = np.concatenate([np.random.default_rng(0).normal(0, 1, 300), np.full(20, 6.0)])
    event = s == 6.0
    none = np.empty(0)
    data = Evidence(none, none, s[event], np.ones(20), s[~event], np.ones(300))
    floor = FLOOR * spread_of(data)
    assert spread_of(data) == pytest.approx(s.std())
    start = Pair(
        FAMILIES["normal"], FAMILIES["normal"], 0.1, np.array([0.0, 0.0]), np.array([6.0, 0.0])
    )
    climbed = run_em(start, data, steps=5, stop=0.0, floor=floor)
    assert np.exp(climbed.pair.foreground_params[1]) == pytest.approx(floor)
    for one in fit_pair(data, FAMILIES["normal"], FAMILIES["normal"], spread_prior=None):
        assert np.exp(one.pair.foreground_params[1]) >= floor * (1 - 1e-9)


def test_climbing_keeps_its_path_and_counts_its_steps():
    data, pair = evidence(), pair_of("normal", "normal")
    climbed = run_em(pair, data, steps=7, stop=0.0, floor=0.0, keep_path=True)
    assert isinstance(climbed, FittedPair)
    assert climbed.steps == 7
    assert len(climbed.path) == 8
    np.testing.assert_array_equal(climbed.path[0], pair.theta)
    np.testing.assert_array_equal(climbed.path[-1], climbed.pair.theta)
    stopped = run_em(pair, data, steps=5000, stop=1e-6, floor=0.0)
    more = run_em(stopped.pair, data, steps=1, stop=0.0, floor=0.0)
    assert stopped.steps < 5000
    assert stopped.certificate < 1e-6
    assert more.log_likelihood - stopped.log_likelihood < 1e-6 * data.total


def test_a_step_that_a_floor_makes_worse_is_not_taken():
    data = evidence()
    best = run_em(pair_of("normal", "normal"), data, steps=50, stop=0.0, floor=0.0)
    still = run_em(best.pair, data, steps=50, stop=0.0, floor=5.0)
    assert still.pair is best.pair
    assert still.log_likelihood == best.log_likelihood
    assert still.steps == 1


def test_polish_never_returns_something_worse():
    data = evidence(60)
    start = run_em(pair_of("normal", "normal"), data, steps=2, stop=0.0, floor=0.0)
    start = start._replace(objective=start.log_likelihood + prior_of_ratio(start.pair, 0.5))
    better = polish(start, data, 0.5, floor=0.0)
    assert better.objective > start.objective
    assert polish(start, data, 0.5, floor=1e3) is start  # narrower than it may be: keep EM's


def test_theta_and_back():
    pair = pair_of("skew-normal", "gamma", 0.03)
    again = pair.at(pair.theta)
    assert again.positive_share == pytest.approx(0.03, rel=1e-14)
    np.testing.assert_array_equal(again.background_params, pair.background_params)
    np.testing.assert_array_equal(again.foreground_params, pair.foreground_params)
    for edge in (0.0, 1.0):
        assert np.isfinite(pair._replace(positive_share=edge).theta).all()


def test_scores_that_a_family_cannot_have_leave_the_other_one():
    pair = pair_of("lognormal", "normal")
    assert pair.log_odds(np.array([-1.0]))[0] == np.inf
    data = Evidence(np.array([-1.0, 2.0]), np.ones(2), *[np.empty(0)] * 4)
    assert np.isfinite(log_likelihood(pair, data))
    assert _terms(pair, data)[1][0] == 1.0
    impossible = Evidence(
        np.empty(0), np.empty(0), *[np.empty(0)] * 2, np.array([-1.0]), np.ones(1)
    )
    assert log_likelihood(pair, impossible) == -np.inf
