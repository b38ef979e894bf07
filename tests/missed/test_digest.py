"""The digest of scores: exact where it says so, and elsewhere closer than a fit can see."""

import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from scarce.engine.block import Block
from scarce.engine.executors import one_blas_thread
from scarce.engine.memory import ArrayRows
from scarce.errors import DataError, UsageError
from scarce.io.open import open_rows
from scarce.missed import digest as digest_module
from scarce.missed.digest import STATES, Points, ScoreDigest, joined, scale, split_states, squeeze
from tests.problems import refused

NAN = np.nan


def some_labels(rng, n, share=0.02):
    """1, 0 and NaN."""
    labels = np.full(n, NAN)
    at = rng.choice(n, int(share * n), replace=False)
    labels[at] = rng.integers(0, 2, len(at))
    return labels


def in_blocks(scores, labels, size, **how):
    """Digest arrays in blocks of that many rows."""
    starts = (*range(0, len(scores), size), len(scores))
    rows = ArrayRows(scores[:, None], labels, starts=starts, check=False)
    return ScoreDigest.from_rows(rows, **how)


def chosen(scores, labels, state):
    wanted = {"positive": labels == 1, "negative": labels == 0, "unlabelled": np.isnan(labels)}
    return scores[wanted[state]]


def same(one, other):
    """Equal to the last bit."""
    left, right = one.to_arrays(), other.to_arrays()
    return all(np.array_equal(left[k], right[k], equal_nan=True) for k in left)


def check_bins(digest):
    """What holds for every digest."""
    for state in STATES:
        count, mean, squares = getattr(digest, state)
        assert len(count) <= digest.bins + len(digest.cuts)
        assert (count > 0).all()
        assert (squares >= 0).all()
        assert (np.diff(mean) > 0).all()  # sorted, and no score twice
        if len(mean):
            assert digest.minimum <= mean[0]
            assert mean[-1] <= digest.maximum


# --- exact where it says so -----------------------------------------------------------------------

few = st.lists(
    st.tuples(st.integers(-5, 5).map(lambda k: k / 7), st.sampled_from([0.0, 1.0, NAN])),
    min_size=1,
    max_size=60,
)


@given(few, st.integers(1, 20), st.lists(st.integers(-6, 6).map(lambda k: k / 7), max_size=3))
def test_few_different_scores_are_kept_as_they_are(rows, size, cuts):
    scores, labels = np.array(rows).T
    digest = in_blocks(scores, labels, size, bins=16, cuts=cuts)
    for state in STATES:
        plain = Counter(chosen(scores, labels, state).tolist())
        count, mean, squares = getattr(digest, state)
        assert mean.tolist() == sorted(plain)
        assert count.tolist() == [plain[value] for value in sorted(plain)]
        assert not squares.any()
        for threshold in (-1.0, 0.0, 1 / 7, 0.3):  # at a cut or not
            here = chosen(scores, labels, state)
            assert getattr(digest.above(threshold), state) == (here >= threshold).sum()
    assert (digest.minimum, digest.maximum) == (scores.min(), scores.max())
    assert digest.rows == len(scores)


def test_one_score_more_than_bins_is_squeezed():
    exact = ScoreDigest.of(np.arange(64.0), bins=64)
    assert not exact.unlabelled.squares.any()
    assert len(exact.unlabelled.count) == 64
    more = ScoreDigest.of(np.arange(65.0), bins=64)
    assert more.unlabelled.squares.any()
    assert more.unlabelled.count.sum() == 65


def test_many_rows_of_few_different_scores_are_kept_as_they_are(rng):
    scores = rng.integers(0, 300, 200_000) / 300
    found = ScoreDigest.of(np.sort(scores)).unlabelled
    value, times = np.unique(scores, return_counts=True)
    np.testing.assert_array_equal(found.mean, value)
    np.testing.assert_array_equal(found.count, times)


@pytest.mark.parametrize("size", [300_000, 70_001, 4096])
def test_totals_are_exact_whatever_the_blocks(rng, size):
    scores = np.exp(rng.normal(size=300_000))
    labels = some_labels(rng, len(scores))
    digest = in_blocks(scores, labels, size)
    check_bins(digest)
    for state in STATES:
        here = chosen(scores, labels, state)
        count, mean, squares = getattr(digest, state)
        centre = math.fsum(here) / len(here)
        spread = math.fsum((here - centre) ** 2)
        assert count.sum() == len(here)
        assert math.fsum(count * mean) / len(here) == pytest.approx(centre, rel=1e-12)
        found = math.fsum(squares) + math.fsum(count * (mean - centre) ** 2)
        assert found == pytest.approx(spread, rel=1e-12)


def test_counts_above_cuts_are_exact_for_scores_on_and_beside_them(rng):
    beside = np.array([np.nextafter(1.0, 0), 1.0, np.nextafter(1.0, 2)])
    scores = np.concatenate([rng.normal(size=50_000), np.tile(beside, 3000)])
    rng.shuffle(scores)
    labels = some_labels(rng, len(scores), 0.5)
    cuts = [1.0, np.nextafter(1.0, 2), -0.3, 3.9, 77.0, -50.0]
    whole = ScoreDigest.of(scores, labels, cuts=cuts, bins=64)
    for digest in (whole, in_blocks(scores, labels, 5000, cuts=cuts, bins=64)):
        check_bins(digest)
        for cut in cuts:
            for state in STATES:
                true = (chosen(scores, labels, state) >= cut).sum()
                assert getattr(digest.above(cut), state) == true


def test_counts_above_a_cut_that_is_one_of_many_scores(rng):
    scores = rng.permutation(2000.0 * np.arange(2000.0))
    cuts = scores[[3, 50, 777]]
    for size in (2000, 60):  # bins of scores; single scores, joined in merges
        digest = in_blocks(scores, None, size, bins=64, cuts=cuts)
        check_bins(digest)
        for cut in cuts:
            assert digest.above(cut).unlabelled == (scores >= cut).sum()


def test_a_mean_is_never_rounded_over_a_cut(rng):
    # low + (high - low) may be more than high: with hardly any weight on low, that is the mean
    low, high = rng.uniform(-1, 0, 500), rng.uniform(0, 0.1, 500)
    at = np.flatnonzero(low + (high - low) > high)[0]
    low, high = low[at], high[at]
    cut = low + (high - low)
    bins = Points(np.array([1e-30, 1.0]), np.array([low, high]), np.zeros(2))
    cuts = np.array([cut])
    far = Points(np.ones(40), 1.0 + np.arange(40), np.zeros(40))
    assert joined(bins, far, 2, cuts).mean[0] == high
    scores, weight = np.append([low, high], far.mean), np.append([1e-30, 1.0], np.full(40, 1e3))
    digest = ScoreDigest.of(scores, weight=weight, cuts=cuts, bins=16)
    assert digest.unlabelled.mean[0] == high
    assert digest.above(cut).unlabelled == 40e3


# --- close elsewhere ------------------------------------------------------------------------------

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "lognormal": lambda rng, n: np.exp(5 * rng.normal(size=n)),
    "far away": lambda rng, n: 1e9 + rng.normal(size=n),
    "discrete": lambda rng, n: np.round(rng.normal(size=n), 2),
    "half zero": lambda rng, n: np.maximum(rng.normal(size=n), 0.0),
    "all equal": lambda _, n: np.full(n, 0.1),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
    "drifting": lambda rng, n: rng.normal(size=n) + 8.0 * (np.arange(n) > n // 4),
    "huge": lambda rng, n: rng.normal(size=n) * 1e149 / 5,
    "tiny": lambda rng, n: rng.normal(size=n) * 1e-310,
}


@pytest.mark.parametrize("blocks", [1, 12])
@pytest.mark.parametrize("shape", SHAPES)
def test_ranks_are_close_for_scores_of_every_shape(rng, shape, blocks):
    n, bins = 60_000, 512
    scores = SHAPES[shape](rng, n)
    digest = in_blocks(scores, None, -(-n // blocks), bins=bins)
    check_bins(digest)
    ordered = np.sort(scores)
    assert (digest.minimum, digest.maximum) == (ordered[0], ordered[-1])
    ranks = np.unique(np.r_[np.arange(1, 12), n - np.arange(1, 12), np.linspace(12, n - 12, 400)])
    for threshold in ordered[ranks.astype(int)]:
        true = n - np.searchsorted(ordered, threshold, side="left")
        share = true / n
        # One bin where rows come in one block; bins of blocks overlap, and two may be off then.
        allowed = (1 if blocks == 1 else 2) * np.pi / bins * np.sqrt(share * (1 - share)) * n
        assert abs(digest.above(threshold).unlabelled - true) <= allowed + 1


def test_far_from_zero_the_spread_is_not_lost(rng):
    scores = 1e9 + rng.normal(size=40_000)
    count, mean, squares = in_blocks(scores, None, 9000, bins=256).unlabelled
    centre = 1e9 + math.fsum(scores - 1e9) / len(scores)
    found = squares.sum() + (count * (mean - centre) ** 2).sum()
    # 1e9 is known to 1e-7: no better can be had of a mean that is one float64
    assert found == pytest.approx(math.fsum((scores - centre) ** 2), rel=1e-9)


def test_a_score_that_repeats_is_a_bin_by_itself(rng):
    scores = np.concatenate([rng.normal(size=20_000), np.full(3000, 0.25), np.full(900, -9.0)])
    rng.shuffle(scores)
    bins = ScoreDigest.of(scores, bins=256).unlabelled
    for value, times in ((0.25, 3000), (-9.0, 900)):
        at = np.flatnonzero(bins.mean == value)
        assert bins.count[at].tolist() == [times]
        assert bins.squares[at].tolist() == [0.0]


def test_the_ends_are_single_scores(rng):
    scores = rng.normal(size=100_000)
    ordered = np.sort(scores)
    bins = in_blocks(scores, None, 30_000).unlabelled
    np.testing.assert_array_equal(bins.mean[:3], ordered[:3])
    np.testing.assert_array_equal(bins.mean[-3:], ordered[-3:])


def test_no_bin_is_wider_than_the_scale_allows(rng):
    count = ScoreDigest.of(rng.normal(size=50_000), bins=128).unlabelled.count
    last = np.cumsum(count)
    width = scale((last - 0.5) / last[-1]) - scale((last - count + 0.5) / last[-1])
    assert len(count) == 128
    assert width.max() <= 1 / 128


# --- parts add up ---------------------------------------------------------------------------------


def test_merging_is_associative_and_commutes_but_for_rounding(rng):
    scores = rng.gamma(2.0, size=90_000)
    labels = some_labels(rng, len(scores))
    one, two, three = (
        ScoreDigest.of(s, y, bins=512, cuts=[2.5])
        for s, y in zip(np.split(scores, 3), np.split(labels, 3), strict=True)
    )
    left, right = (one + two) + three, one + (two + three)
    back = three + (two + one)
    probes = np.quantile(scores, [0.001, 0.1, 0.5, 0.9, 0.999])
    for state in STATES:
        n = left.count(state)
        here = chosen(scores, labels, state)
        for other in (left, right, back):
            check_bins(other)
            assert other.count(state) == n == len(here)
            assert getattr(other.above(2.5), state) == (here >= 2.5).sum()
            for probe in probes:
                true = (here >= probe).sum()
                room = 2 * np.pi / 512 * np.sqrt(true * (n - true)) + 1
                assert abs(getattr(other.above(probe), state) - true) <= room


@pytest.mark.parametrize("engine", ["threads:3", "threads:1"])
def test_every_engine_gives_the_same_bits(rng, engine):
    scores = rng.normal(size=40_000)
    labels = some_labels(rng, len(scores), 0.5)
    plain = in_blocks(scores, labels, 3000, bins=256, cuts=[0.5])
    assert same(plain, in_blocks(scores, labels, 3000, bins=256, cuts=[0.5], engine=engine))
    assert same(plain, pickle.loads(pickle.dumps(plain)))


def test_the_coarser_bins_hold_in_a_merge(rng):
    fine = ScoreDigest.of(rng.normal(size=5000), bins=1024)
    coarse = ScoreDigest.of(rng.normal(size=5000), bins=64)
    assert (fine + coarse).bins == 64
    check_bins(fine + coarse)


def test_a_digest_without_labelled_rows_adds_up_with_one_that_has_them():
    with_labels = ScoreDigest.of([1.0, 2.0], [1, 0])
    without = ScoreDigest.of([5.0])
    for both in (with_labels + without, without + with_labels):
        assert [both.count(state) for state in STATES] == [1.0, 1.0, 1.0]
        assert (both.minimum, both.maximum, both.rows) == (1.0, 5.0, 3)


def test_sum_joins_many_and_masked_labels_are_no_labels():
    parts = [ScoreDigest.of([float(k)], np.ma.array([1.0], mask=[k % 2])) for k in range(4)]
    total = sum(parts)
    assert total.unlabelled.mean.tolist() == [1.0, 3.0]
    assert total.positive.mean.tolist() == [0.0, 2.0]


def test_chan_in_fractions():
    left = Points(np.array([3.0]), np.array([0.1]), np.array([0.7]))
    right = Points(np.array([5.0]), np.array([2.3]), np.array([0.4]))
    both = squeeze(joined(left, right, 1, np.empty(0)), 1, np.empty(0))
    n = [Fraction(3), Fraction(5)]
    m = [Fraction(0.1), Fraction(2.3)]
    centre = (n[0] * m[0] + n[1] * m[1]) / 8
    squares = Fraction(0.7) + Fraction(0.4)
    squares += sum(k * (x - centre) ** 2 for k, x in zip(n, m, strict=True))
    assert both.count.tolist() == [8.0]
    assert both.mean[0] == pytest.approx(float(centre), rel=1e-15)
    assert both.squares[0] == pytest.approx(float(squares), rel=1e-15)


# --- weights --------------------------------------------------------------------------------------


def test_weight_two_is_the_row_twice(rng):
    scores = np.round(rng.normal(size=3000), 1)  # few different: exact either way
    labels = some_labels(rng, len(scores), 0.4)
    weight = rng.integers(0, 4, len(scores)).astype(float)
    times = weight.astype(int)
    weighted = ScoreDigest.of(scores, labels, weight=weight, cuts=[0.5])
    repeated = ScoreDigest.of(scores.repeat(times), labels.repeat(times), cuts=[0.5])
    for state in STATES:
        for found, wanted in zip(getattr(weighted, state), getattr(repeated, state), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert weighted.above(0.5) == repeated.above(0.5)
    assert weighted.rows == len(scores)


def test_weighted_totals_and_ranks(rng):
    scores, weight = rng.normal(size=50_000), 3 * rng.exponential(size=50_000)
    digest = ScoreDigest.of(scores, weight=weight, bins=512)
    check_bins(digest)
    count, mean, squares = digest.unlabelled
    total = math.fsum(weight)
    centre = math.fsum(weight * scores) / total
    assert count.sum() == pytest.approx(total, rel=1e-13)
    assert (count @ mean) / total == pytest.approx(centre, abs=1e-13)
    found = squares.sum() + count @ (mean - centre) ** 2
    assert found == pytest.approx(math.fsum(weight * (scores - centre) ** 2), rel=1e-12)
    for threshold in (-3.0, -1.0, 0.3, 2.0, 3.5):
        true = weight[scores >= threshold].sum()
        room = np.pi / 512 * np.sqrt(true * (total - true)) + weight.max()
        assert abs(digest.above(threshold).unlabelled - true) <= room


def test_rows_of_weight_zero_are_not_looked_at():
    digest = ScoreDigest.of([1.0, NAN, 3.0], [1.0, 0.0, 7.0], weight=[1.0, 0.0, 0.0])
    assert digest.count("positive") == 1.0
    assert (digest.minimum, digest.maximum) == (1.0, 1.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [[NAN] * 5, [1.0] * 5, [0.0] * 5, [0.0, 1.0, NAN, 1.0, 0.0]])
def test_the_compiled_loop_stays_within_its_memory(labels, weighted, monkeypatch):
    # interpreted, an index beyond the end raises; compiled, it would write into other memory
    monkeypatch.setattr(digest_module, "split_states", split_states.py_func)
    exact = {}
    monkeypatch.setattr(
        digest_module.Block,
        "scratch",
        staticmethod(lambda name, shape: exact.setdefault(name, np.full(shape, 99.0))),
    )
    weight = [1.0, 2.0, 0.0, 1.0, 1.0] if weighted else None
    block = Block(np.arange(5.0)[:, None], np.array(labels), weight and np.array(weight))
    stretches = digest_module._by_state(block, 0)
    for state, (scores, _) in zip(STATES, stretches, strict=True):
        here = chosen(np.arange(5.0), np.array(labels), state)
        assert sorted(scores.tolist()) == [s for s in here if not weighted or s != 2.0]


# --- points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["normal", "lognormal", "far away", "half zero"])
def test_points_keep_count_mean_and_squares_and_stay_above_the_lowest_score(rng, shape):
    scores = SHAPES[shape](rng, 20_000)
    labels = some_labels(rng, len(scores), 0.3)
    digest = ScoreDigest.of(scores, labels, bins=32)
    for state in STATES:
        bins = getattr(digest, state)
        score, weight = digest.points(state)
        assert score.min() >= digest.minimum
        n = bins.count.sum()
        assert weight.sum() == pytest.approx(n, rel=1e-13)
        centre = bins.count @ (bins.mean - bins.mean[0]) / n
        assert weight @ (score - bins.mean[0]) / n == pytest.approx(centre, rel=1e-9)
        spread = bins.squares.sum() + bins.count @ (bins.mean - bins.mean[0] - centre) ** 2
        found = weight @ (score - bins.mean[0] - centre) ** 2
        assert found == pytest.approx(spread, rel=1e-6 if shape == "far away" else 1e-12)
    score, weight = digest.points()
    assert weight.sum() == pytest.approx(len(scores), rel=1e-13)
    assert len(score) == sum(len(digest.points(state)[0]) for state in STATES)


def test_a_bin_of_two_kinds_of_scores_stays_positive():
    # nine scores at 1e-6 and one at 1: mean - sd is below 0, where no gamma density is
    scores = np.concatenate([np.full(9, 1e-6), [1.0]])
    bins = Points(np.array([10.0]), scores.mean(keepdims=True), np.array([scores.var() * 10]))
    nothing = Points(*np.empty((3, 0)))
    digest = ScoreDigest(bins, nothing, nothing, 1e-6, 1.0, 10, 16, np.empty(0))
    score, weight = digest.points("unlabelled")
    np.testing.assert_allclose(score, [1e-6, 1.0], rtol=1e-9)
    np.testing.assert_allclose(weight, [9.0, 1.0], rtol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_in_a_long_tail_the_nearer_point_weighs_more(sign):
    # scores 1, 1, 1, 10 after a bin at 0.9: mean - sd would be -0.65, below that neighbour
    inside = sign * np.array([1.0, 1.0, 1.0, 10.0])
    mean = np.sort([sign * 0.9, inside.mean(), sign * 1000.0])
    squares = np.array([0.0, inside.var() * 4, 0.0])
    nothing = Points(*np.empty((3, 0)))
    bins = Points(np.array([1.0, 4.0, 1.0]), mean, squares)
    ends = mean[0] - 50, mean[-1] + 50
    digest = ScoreDigest(bins, nothing, nothing, *ends, 6, 16, np.empty(0))
    score, weight = (part[2:] for part in digest.points("unlabelled"))
    near, far = (0, 1) if sign > 0 else (1, 0)
    assert score[near] == pytest.approx(sign * 0.9, rel=1e-12)
    assert score[far] == pytest.approx(sign * (3.25 + inside.var() / 2.35), rel=1e-12)
    assert weight[near] / 4 == pytest.approx(1 / (1 + 2.35**2 / inside.var()), rel=1e-12)


# --- the promise: a fit cannot tell the difference ------------------------------------------------


class TwoClasses:
    """Maximum likelihood of a normal or lognormal background with normal events, the plain way.

    params: log odds of an event; mean and log sd of the background (of log s if lognormal); mean
    and log sd of the events.
    """

    def __init__(self, lognormal):
        self.lognormal = lognormal

    def value_and_gradient(self, params, data):
        odds, mean0, log_sd0, mean1, log_sd1 = params
        value, gradient = 0.0, np.zeros(5)
        for state, (s, weight) in data.items():
            x = np.log(s) if self.lognormal else s
            z0, z1 = (x - mean0) / np.exp(log_sd0), (s - mean1) / np.exp(log_sd1)
            log0 = -np.logaddexp(0, odds) - z0**2 / 2 - log_sd0 - (x if self.lognormal else 0)
            log1 = -np.logaddexp(0, -odds) - z1**2 / 2 - log_sd1
            either = np.logaddexp(log0, log1)
            posterior = {"positive": 1.0, "negative": 0.0}.get(state, np.exp(log1 - either))
            value -= weight @ {"positive": log1, "negative": log0}.get(state, either)
            none, event = weight * (1 - posterior), weight * posterior
            gradient -= [
                (event - weight * expit(odds)).sum(),
                none @ z0 / np.exp(log_sd0),
                none @ (z0**2 - 1),
                event @ z1 / np.exp(log_sd1),
                event @ (z1**2 - 1),
            ]
        n = sum(weight.sum() for _, weight in data.values())
        return value / n, gradient / n

    def fit(self, data, start):
        """Estimate and standard errors; Newton at the end, until the slope is rounding."""
        with one_blas_thread:  # threads of BLAS that wait for each other take seconds
            return self._fit(data, start)

    def _fit(self, data, start):
        params = minimize(self.value_and_gradient, start, data, jac=True, method="L-BFGS-B").x

        def slope(at):
            return self.value_and_gradient(at, data)[1]

        for _ in range(3):
            steps = 1e-5 * np.eye(5)
            curve = np.array([(slope(params + h) - slope(params - h)) / 2e-5 for h in steps])
            params = params - np.linalg.solve(curve, slope(params))
        assert np.abs(slope(params)).max() < 1e-10
        n = sum(weight.sum() for _, weight in data.values())
        return params, np.sqrt(np.diag(np.linalg.inv(n * curve)))


@pytest.fixture(scope="module", params=["normal", "lognormal"])
def labelled_tail(request):
    """30,000 scores, the top 1/32 labelled; the exact fit and its standard errors."""
    rng = np.random.default_rng(81)
    n, share = 30_000, 0.02
    lognormal = request.param == "lognormal"
    event = rng.random(n) < share
    none = rng.normal(1.8, 0.15, n) if lognormal else rng.normal(6.5, 1.0, n)
    scores = np.where(event, rng.normal(9.5, 1.0, n), np.exp(none) if lognormal else none)
    cut = np.quantile(scores, 1 - 1 / 32)
    labels = np.where(scores >= cut, event * 1.0, NAN)
    model = TwoClasses(lognormal)
    start = np.array([-3.9, 1.8, -1.9, 9.5, 0.0] if lognormal else [-3.9, 6.5, 0.0, 9.5, 0.0])
    each = {s: chosen(scores, labels, s) for s in STATES}
    exact, error = model.fit({s: (x, np.ones(len(x))) for s, x in each.items()}, start)
    return scores, labels, cut, model, exact, error


def in_errors(digest, model, exact, error):
    """How far the fit of a digest is from the exact one, in standard errors."""
    found, _ = model.fit({state: digest.points(state) for state in STATES}, exact)
    return np.abs((found - exact) / error).max()


def test_a_fit_of_the_digest_is_the_fit_of_the_scores(labelled_tail):
    scores, labels, cut, *truth = labelled_tail
    assert in_errors(ScoreDigest.of(scores, labels), *truth) < 1e-4
    assert in_errors(ScoreDigest.of(scores, labels, bins=256, cuts=[cut]), *truth) < 0.01


def test_neither_parts_nor_their_order_nor_their_likeness_change_the_fit(labelled_tail, rng):
    scores, labels, cut, *truth = labelled_tail
    order = {
        "mixed": np.arange(len(scores)),
        "sorted": np.argsort(scores),
        "other": rng.permutation(len(scores)),
    }
    for places in order.values():
        parts = [
            ScoreDigest.of(scores[at], labels[at], bins=1024, cuts=[cut])
            for at in np.array_split(places, 20)
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        check_bins(total)
        assert in_errors(total, *truth) < 0.01


def test_means_alone_would_not_keep_the_promise(labelled_tail):
    # what the squares are for: the same bins without them
    scores, labels, cut, *truth = labelled_tail
    digest = ScoreDigest.of(scores, labels, bins=64, cuts=[cut])
    arrays = digest.to_arrays()
    for state in STATES:
        arrays[state][2] = 0.0
    plain = ScoreDigest.from_arrays(arrays)
    assert in_errors(plain, *truth) > 10 * in_errors(digest, *truth)


# --- files, arrays, refusals ----------------------------------------------------------------------


def test_rows_of_a_file_are_digested_with_labels_and_weights(tmp_path, rng):
    n = 5000
    scores, weight = rng.normal(size=n), rng.integers(1, 3, n).astype(float)
    labels = some_labels(rng, n, 0.2)
    table = pa.table(
        {
            "age": rng.normal(size=n),
            "score": scores,
            "fraud": pa.array(labels, from_pandas=True),
            "w": weight,
        }
    )
    pq.write_table(table, tmp_path / "scores.parquet", row_group_size=700)
    rows = open_rows(tmp_path / "scores.parquet", label="fraud", weight="w")
    column = rows.names.index("score")
    found = ScoreDigest.from_rows(rows, column=column, bins=8192, cuts=[1.0])
    wanted = ScoreDigest.of(scores, labels, weight=weight, bins=8192, cuts=[1.0])
    assert same(found, wanted)
    assert found.above(1.0).positive == weight[(scores >= 1.0) & (labels == 1)].sum()


def test_arrays_bring_a_digest_back_to_the_bit(rng):
    digest = ScoreDigest.of(rng.normal(size=9000), some_labels(rng, 9000), bins=64, cuts=[0.0, 2.0])
    again = ScoreDigest.from_arrays(digest.to_arrays())
    assert same(digest, again)
    assert repr(digest) == repr(again)
    assert same(digest + digest, again + again)
    assert all(array.dtype == np.float64 for array in digest.to_arrays().values())


@pytest.mark.parametrize("block", [2, 100])
def test_scores_that_are_no_numbers_are_refused_with_their_first_row(block):
    scores = np.array([0.1, 0.2, 0.3, NAN, 0.5, NAN])
    with refused("not-finite", DataError, column="x0", count=2, rows=6, row=3):
        in_blocks(scores, None, block)
    with refused("not-finite", DataError, count=1, rows=6, row=2):
        in_blocks(np.array([0, 1, -np.inf, 2, 3, 4]), None, block)
    with refused("not-finite", DataError, count=1, row=4):
        in_blocks(np.array([0, 1, 2, 2, 1e160, 4]), np.array([NAN, 1, 0, 1, 0, NAN]), block)
    for stray in (-1, 2, 0.5):
        labels = np.array([NAN, 1, 0, 1, stray, stray])
        with refused("unknown-label", DataError, count=2, row=4):
            in_blocks(np.arange(6.0), labels, block)


def test_the_refusal_comes_without_warnings_whatever_else_is_in_the_block(rng):
    for bad in (NAN, np.inf, -np.inf, 1e300):
        scores = rng.normal(size=3000)
        scores[[7, 1500]] = bad
        scores[8] = -1e308
        with refused("not-finite", DataError):
            in_blocks(scores, some_labels(rng, 3000), 1000, bins=16)


def test_other_refusals():
    digest = ScoreDigest.of([1.0, 2.0])
    with refused("not-a-column", DataError, argument="scores"):
        ScoreDigest.of([[0.1, 0.9], [0.2, 0.8]])
    with refused("not-a-number", DataError, argument="scores", value="'high'", row=0):
        ScoreDigest.of(["high", "low"])
    with refused("not-finite", DataError, column="scores", count=1, rows=2, row=1):
        ScoreDigest.of([1.0, NAN])
    for weight in (-1.0, NAN, np.inf):
        with refused("weight-range", DataError):
            ScoreDigest.of([1.0, 2.0], weight=[1.0, weight])
    with refused("not-a-digest", DataError):
        ScoreDigest.from_arrays({})
    with refused("threshold-value", UsageError, argument="threshold"):
        digest.above(NAN)
    for threshold in ("x", None, [1.0, 2.0]):
        with refused("threshold-value", UsageError):
            digest.above(threshold)
    with refused("length-mismatch", DataError, argument="labels", rows=2):
        ScoreDigest.of([1.0, 2.0], [1.0])
    with refused("length-mismatch", DataError, argument="weight", rows=2):
        ScoreDigest.of([1.0, 2.0], weight=[1.0, 1.0, 1.0])
    with refused("unknown-label", DataError, argument="labels", count=1, row=0):
        ScoreDigest.of([1.0, 2.0], [2.0, 0.0])
    with pytest.raises(UsageError):
        ScoreDigest.of([1.0, 2.0], engine="banana")
    with refused("not-a-digest", UsageError):
        digest.merge(3)
    with pytest.raises(TypeError, match="unsupported"):
        digest + 3
    with pytest.raises(TypeError, match="unsupported"):
        3 + digest
    words = open_rows(pa.table({"grade": ["good", "bad"], "y": [1, 0]}), label="y")
    with refused("text-column", DataError, column="grade"):
        ScoreDigest.from_rows(words)
    with refused("no-rows", DataError, argument="scores"):
        ScoreDigest.of([])
    with refused("integer-range", UsageError, argument="bins", least=16, value=4):
        ScoreDigest.of([1.0], bins=4)
    with refused("not-finite", UsageError, argument="cuts"):
        ScoreDigest.of([1.0], cuts=[NAN])
    with refused("other-cuts", UsageError):
        digest + ScoreDigest.of([1.0], cuts=[0.5])
    with refused("unknown-column", UsageError, argument="column", value=1):
        ScoreDigest.from_rows(open_rows(np.ones((3, 1))), column=1)
    with refused("not-binary", UsageError, count=3):
        ScoreDigest.from_rows(open_rows(np.ones((3, 1)), label=[0, 1, 2]))
    with refused("unknown-word", UsageError, argument="state", value="positives"):
        digest.count("positives")
