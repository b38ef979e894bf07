"""Audit arithmetic: unbiased counts, and limits that hold as often as they promise."""

import json
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2

from scarce import DataError, UsageError
from scarce.missed.audit import count_missed, gamma_limits, horvitz_thompson
from tests.problems import refused


@pytest.mark.parametrize("events", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("weight", [1.0, 37.5])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_oracle_equal_weights_give_the_exact_interval_of_a_poisson_mean(events, weight, level):
    """Garwood's interval, from the chi-square distribution."""
    low, high = gamma_limits([weight] * events, extra=weight, level=level)
    miss = (1 - level) / 2
    below = chi2.ppf(miss, 2 * events) / 2 if events else 0.0
    assert low == pytest.approx(weight * below, rel=1e-12)
    assert high == pytest.approx(weight * chi2.ppf(1 - miss, 2 * events + 2) / 2, rel=1e-10)


def test_oracle_limits_are_quantiles_of_the_gamma_with_the_mean_and_variance_of_the_count():
    """With 30 digits: the gamma distribution function at each limit is the promised share."""
    weights, extra = [1.5, 12.0, 80.0], 44.0
    low, high = gamma_limits(weights, extra=extra, level=0.8)
    with mpmath.workdps(30):
        for limit, more, share in ((low, [], 0.1), (high, [extra], 0.9)):
            mean = mpmath.fsum(weights + more)
            variance = mpmath.fsum([w**2 for w in weights + more])
            found = mpmath.gammainc(
                mean**2 / variance, 0, limit * mean / variance, regularized=True
            )
            assert float(found) == pytest.approx(share, rel=1e-12)


def test_no_event_found_is_the_rule_of_three():
    low, high = gamma_limits([], extra=50.0, level=0.9)
    assert low == 0
    assert high == pytest.approx(-50 * math.log(0.05), rel=1e-12)
    count = count_missed(np.zeros(100), np.full(100, 0.03), frame_rows=4000)
    assert (count.value, count.low) == (0, 0)
    assert count.high == pytest.approx(2.9957 * 4000 / 100, rel=1e-4)


def test_each_event_stands_for_one_over_its_probability():
    assert horvitz_thompson([]) == 0
    assert horvitz_thompson([1.0, 0.25, 0.1]) == pytest.approx(15)
    count = count_missed([1, 0, 1, 1, 0], [1.0, 1.0, 0.25, 0.1, 0.1], frame_rows=60)
    assert (count.certain, count.events, count.audited) == (1, 2, 3)
    assert count.value == pytest.approx(15)
    assert count.weights == pytest.approx((4, 10))
    assert count.extra == pytest.approx(20)
    low, high = gamma_limits([4, 10], extra=20)
    assert count.low == pytest.approx(1 + max(low, 2))
    assert count.high == pytest.approx(min(1 + high, 60))


def plain_systematic(size, n, generator):
    """Slow and plain: walk along the summed probabilities, and take a row at every whole step."""
    probability = n * size / size.sum()
    ends = np.cumsum(probability)
    chosen = np.searchsorted(ends, generator.random() + np.arange(n), side="right")
    return np.minimum(chosen, len(size) - 1), probability


@pytest.mark.parametrize("deep", [0.3, 3.0])
@pytest.mark.parametrize("base", [0.004, 0.03])
def test_coverage_when_precision_falls_with_the_score(rng, deep, base):
    """Each one-sided 95 % limit of the realised count holds in at least 95 % of 1,500 audits.

    Probability falls as one over the root of the rank; the share of events falls slowly or
    quickly. Allowed below 95 %: 2.5 standard errors.
    """
    rank = np.arange(2000)
    share = base * np.exp(-deep * rank / 2000)
    size = 1 / np.sqrt(1 + rank / 20)
    size = 0.7 * size / size.sum() + 0.3 / 2000
    below, above, values, truths = 0, 0, [], []
    for _ in range(1500):
        y = (rng.random(2000) < share).astype(float)
        rows, probability = plain_systematic(size, 80, rng)
        count = count_missed(y[rows], probability[rows], frame_rows=2000, level=0.9)
        below += y.sum() < count.low
        above += y.sum() > count.high
        values.append(count.value)
        truths.append(y.sum())
    slack = 2.5 * math.sqrt(0.05 * 0.95 / 1500)
    assert below / 1500 < 0.05 + slack
    assert above / 1500 < 0.05 + slack
    off = np.mean(np.subtract(values, truths)) / (np.std(np.subtract(values, truths)) / 1500**0.5)
    assert abs(off) < 4


def test_limits_are_not_wider_than_they_must_be(rng):
    """Equal probabilities, rare events: an exact interval, so that misses come near 5 % a side."""
    truth, share = 400, 1 / 50
    found = rng.binomial(truth, share, 4000)
    counts = {k: gamma_limits([50.0] * k, extra=50.0, level=0.9) for k in set(found.tolist())}
    below = np.mean([counts[k][0] > truth for k in found.tolist()])
    above = np.mean([counts[k][1] < truth for k in found.tolist()])
    assert 0.015 < below < 0.055
    assert 0.015 < above < 0.055


def test_heavier_unseen_events_raise_the_high_limit_alone():
    label, chance = [0, 1, 0, 0], [0.1, 0.2, 0.05, 0.1]
    mean, most, given = (
        count_missed(label, chance, 50, extra=extra) for extra in ("mean", "max", 100.0)
    )
    assert (mean.extra, most.extra, given.extra) == (12.5, pytest.approx(20), 100)
    assert mean.low == most.low == given.low
    assert mean.high < most.high
    assert given.high == 47  # no more than the rows that may still be events
    assert len({mean.assumes, most.assumes, given.assumes}) == 3


def test_rows_in_the_frame_bound_what_is_said():
    everything = count_missed([1, 0], [0.999, 0.999], frame_rows=2)
    assert (everything.low, everything.high) == (1, 1)
    nothing = count_missed([1, 1, 0], [1, 1, 1], frame_rows=500)
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high) == (2, 502)
    assert "no row was drawn" in nothing.assumes
    whole = count_missed([1, 1, 0], [1, 1, 1], frame_rows=0)
    assert (whole.value, whole.low, whole.high) == (2, 2, 2)


def test_the_record_prints_and_turns_into_an_estimate_and_json():
    count = count_missed([1, 0, 1], [1.0, 0.1, 0.2], frame_rows=20)
    assert str(count) == (
        "6 [2, 20] (90 %): 1 event among 2 checked of 20 rows, and 1 found for certain"
    )
    assert count.estimate.value == count.value
    assert count.estimate.method == "audit, gamma limits"
    assert json.loads(json.dumps(count.to_dict()))["weights"] == [5.0]


@pytest.mark.parametrize(
    ("label", "probability", "frame", "options", "error", "code"),
    [
        ([1, np.nan], [0.1, 0.1], 9, {}, DataError, "audit-unlabelled"),
        ([1, 2], [0.1, 0.1], 9, {}, DataError, "unknown-label"),
        ([1, 0], [0.1, 0.0], 9, {}, DataError, "inclusion-range"),
        ([1, 0], [0.1, 1.5], 9, {}, DataError, "inclusion-range"),
        ([1, 0], [0.1, np.nan], 9, {}, DataError, "inclusion-range"),
        ([1, 0], [0.1], 9, {}, DataError, "length-mismatch"),
        ([[1, 0]], [[0.1, 0.1]], 9, {}, DataError, "not-a-column"),
        ([1, 0], [0.1, 0.1], 1, {}, UsageError, "frame-rows"),
        ([1, 0], [0.1, 0.1], 9.5, {}, UsageError, "integer-range"),
        ([1, 0], [0.1, 0.1], 9, {"level": 90}, UsageError, "level-range"),
        ([1, 0], [1.0, 1.0], 9, {"level": 90}, UsageError, "level-range"),
        ([1, 0], [0.1, 0.1], 9, {"extra": "mode"}, UsageError, "unknown-word"),
        ([1, 0], [0.1, 0.1], 9, {"extra": 0.5}, UsageError, "number-range"),
    ],
)
def test_what_cannot_work_is_refused(label, probability, frame, options, error, code):
    with refused(code, error):
        count_missed(label, probability, frame, **options)


@pytest.mark.parametrize(
    ("weights", "extra", "code"),
    [
        ([1.0, -2.0], 1.0, "weight-range"),
        ([1.0, np.inf], 1.0, "weight-range"),
        ([1.0], 0.0, "number-range"),
        ([1.0], np.inf, "number-range"),
    ],
)
def test_weights_must_be_weights(weights, extra, code):
    with refused(code, UsageError):
        gamma_limits(weights, extra=extra)
