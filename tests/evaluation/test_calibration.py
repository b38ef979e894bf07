"""Calibration loss: the paper's definition, its noise, and intervals that hold the truth."""

import numpy as np
import pytest
from scipy.stats import binomtest

from scarce import DataError, UsageError, calibration_loss
from scarce.evaluation.calibration import clopper_pearson, reliability
from tests.problems import codes, refused

QUICK = {"resamples": 100}


def plainly(y, prob, bins=10):
    """The definition, row by row."""
    edges = np.arange(1, bins) / bins
    number = [sum(p > edge for edge in edges) for p in prob]
    shares = {
        b: np.mean([t for t, m in zip(y, number, strict=True) if m == b]) for b in set(number)
    }
    return np.mean([(p - shares[m]) ** 2 for p, m in zip(prob, number, strict=True)])


@pytest.mark.parametrize("bins", [1, 10, 7])
def test_oracle_the_definition_row_by_row(rng, bins):
    prob = np.append(rng.random(300), [0.0, 1.0, 0.25, 0.75])
    y = (rng.random(304) < prob**2).astype(float)
    found = calibration_loss(y, prob, bins=bins, debias=False)
    assert found.value == pytest.approx(plainly(y, prob, bins))


def test_a_share_that_fits_by_luck_has_an_interval_all_the_same():
    """No gap is seen: what is left is the square of the noise, chi-squared with one degree."""
    found = calibration_loss([0, 1] * 50, [0.5] * 100)
    assert found.value == 0
    assert found.low == 0
    assert found.high == pytest.approx((3.84 - 1) * 0.25 / 99, rel=0.25)


def test_bins_are_closed_on_the_right_as_in_the_paper():
    assert calibration_loss([1, 0], [0.1, 0.05], debias=False).value == pytest.approx(
        ((0.1 - 0.5) ** 2 + (0.05 - 0.5) ** 2) / 2
    )
    assert calibration_loss([1, 0], [0.1001, 0.05], debias=False).value > 0.4


def test_the_value_is_right_on_average_and_its_interval_covers(rng):
    """Ten bins with a known bend: right within Monte-Carlo error, 90 % covers 87 to 97 %."""
    prob = np.repeat(np.arange(10) / 10 + 0.05, 40)
    true = prob**1.5
    truth = np.mean((prob - true) ** 2)
    happened = (rng.random((400, 400)) < true).astype(float)
    found = [calibration_loss(y, prob, resamples=200) for y in happened]
    values = np.array([estimate.value for estimate in found])
    assert abs(values.mean() - truth) < 3 * values.std() / np.sqrt(len(values))
    assert 0.87 < np.mean([truth in estimate for estimate in found]) < 0.97
    plain = np.mean([calibration_loss(y, prob, debias=False, **QUICK).value for y in happened])
    assert plain == pytest.approx(truth + np.mean(true * (1 - true)) / 40, rel=0.05)


@pytest.mark.parametrize("cut", ["width", "rows"])
@pytest.mark.parametrize("events", [3, 30])
def test_right_probabilities_may_lose_nothing(events, cut):
    """The low limit is 0, or with the paper's bins what probabilities differ by within them."""
    rng, held = np.random.default_rng(events), 0
    for _ in range(40):
        prob = rng.beta(0.5, 0.5 * 1000 / events, 1000)
        y = rng.random(1000) < prob
        found = calibration_loss(y, prob, cut=cut, **QUICK)
        held += found.low <= (np.var(prob) if cut == "width" else 0)
        assert found.high > 0
    assert held >= 36


def test_simulation_weights_and_an_audit_are_covered():
    """Probabilities twice too high; weights, or one row in ten below the highest 5 %."""
    rng = np.random.default_rng(8)
    everyone = np.sort(rng.beta(0.5, 24.5, 200_000))
    held, repeats = np.zeros(2), 80
    for _ in range(repeats):
        true = rng.beta(0.5, 24.5, 3000)
        prob, y = np.minimum(2 * true, 1), (rng.random(3000) < true).astype(float)
        chance = np.where(true > np.quantile(true, 0.95), 1.0, 0.1)
        seen = np.where(rng.random(3000) < chance, y, np.nan)
        ways = ({"sample_weight": rng.lognormal(0, 1, 3000)}, {"inclusion": chance})
        for k, (labels, how) in enumerate(zip((y, seen), ways, strict=True)):
            found = calibration_loss(labels, prob, cut="rows", **QUICK, **how)
            truth = np.mean([part.mean() ** 2 for part in np.array_split(everyone, 10)])
            held[k] += truth in found
    assert (held / repeats >= 0.85).all()


def test_invariant_the_scale_of_weights(rng):
    """Gaps are measured in rows, so that bins are cut in the same way whatever a weight is."""
    prob = np.r_[rng.uniform(0.01, 0.03, 900), rng.uniform(0.88, 0.92, 60)]
    y = (rng.random(960) < prob).astype(float)
    one = calibration_loss(y, prob, cut="rows", bins=3, sample_weight=np.full(960, 1.0))
    for scale in (1e-3, 1e3):
        two = calibration_loss(y, prob, cut="rows", bins=3, sample_weight=np.full(960, scale))
        assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high))


def test_bad_input_is_named():
    with refused("integer-range", UsageError, argument="bins", value=0):
        calibration_loss([0, 1], [0.1, 0.2], bins=0)
    with refused("length-mismatch", DataError, argument="y_true"):
        calibration_loss([0, 1], [0.1])


def test_weights_are_rows_so_many_times_over_but_one_draw(rng):
    prob = rng.random(400)
    y = (rng.random(400) < prob**2).astype(float)
    times = rng.integers(0, 4, 400)
    weighted = calibration_loss(y, prob, sample_weight=times, debias=False)
    repeated = calibration_loss(np.repeat(y, times), np.repeat(prob, times), debias=False)
    assert weighted.value == pytest.approx(repeated.value)
    assert weighted.width > 1.1 * repeated.width
    equal = calibration_loss(y, prob, sample_weight=np.full(400, 3.0))
    plain = calibration_loss(y, prob)
    assert (equal.value, equal.low) == pytest.approx((plain.value, plain.low))
    with refused("length-mismatch", DataError, argument="sample_weight"):
        calibration_loss(y, prob, sample_weight=[1.0])


def test_every_row_its_own_group_changes_nothing(rng):
    prob = rng.random(300)
    y = (rng.random(300) < prob**2).astype(float)
    alone, grouped = calibration_loss(y, prob), calibration_loss(y, prob, groups=np.arange(300))
    assert grouped.value == pytest.approx(alone.value)
    assert grouped.width == pytest.approx(alone.width, rel=0.1)


def test_groups_whose_outcomes_come_together_are_covered(rng):
    """A bent model, 100 groups over all bins: 90 % hold with groups, far fewer without."""
    prob = np.tile(np.arange(10) / 10 + 0.05, 200)
    groups = np.repeat(np.arange(100), 20)
    truth = np.mean((prob - prob**1.5) ** 2)
    held = np.zeros(2)
    for _ in range(150):
        luck = np.repeat(rng.random(100), 20)
        y = np.where(rng.random(2000) < 0.3, rng.random(2000), luck) < prob**1.5
        for place, given in enumerate((groups, None)):
            held[place] += truth in calibration_loss(y, prob, groups=given, **QUICK)
    assert held[0] / 150 > 0.87
    assert held[1] / 150 < 0.7


def test_right_probabilities_of_rare_events_lose_next_to_nothing():
    rng = np.random.default_rng(2)
    prob = rng.beta(0.5, 50, 200_000)
    y = rng.random(len(prob)) < prob
    found = calibration_loss(y, prob, cut="rows")
    assert found.value < 0.01 * np.var(prob)  # the paper's bins give the variance itself
    assert calibration_loss(y, prob).value > 0.5 * np.var(prob)
    assert found.low == 0
    wrong = calibration_loss(y, np.minimum(2 * prob, 1), cut="rows")
    assert wrong.low > found.high


@pytest.mark.parametrize("bins", [4, 10])
def test_bins_of_equally_many_rows_against_a_plain_loop(bins):
    rng = np.random.default_rng(bins)
    prob = rng.random(1000)
    y = rng.random(1000) < prob**2
    order = np.argsort(prob)
    plain = sum(
        len(part) / 1000 * (prob[part].mean() - y[part].mean()) ** 2
        for part in np.array_split(order, bins)
    )
    found = calibration_loss(y, prob, bins=bins, cut="rows", debias=False)
    assert found.value == pytest.approx(plain, rel=0.02)


def test_the_interval_has_a_width_where_all_rows_of_a_bin_say_the_same():
    found = calibration_loss(np.repeat([0, 1], 40), np.repeat([0.02, 0.98], 40))
    assert found.value == pytest.approx(0.0004)
    assert found.high > 2 * found.value


def test_a_cut_that_is_not_known_is_refused():
    with refused("unknown-word", UsageError):
        calibration_loss([0, 1], [0.1, 0.2], cut="row")


def test_the_level_is_that_of_the_interval_and_no_loss_is_below_0():
    rng = np.random.default_rng(6)
    prob = rng.random(200)
    y = rng.random(200) < prob
    wide, narrow = calibration_loss(y, prob, level=0.99), calibration_loss(y, prob, level=0.5)
    assert wide.low == 0
    assert wide.high - wide.value > 3 * (narrow.high - narrow.value)


@pytest.mark.parametrize("wrong", [1.0, 1.5])
def test_intervals_of_equally_many_rows_cover_for_rare_events(wrong):
    rng = np.random.default_rng(1)
    endless = np.array_split(np.sort(rng.beta(0.5, 24.5, 400_000)), 10)
    truth = np.mean([((wrong - 1) * part.mean()) ** 2 for part in endless])
    held = 0
    for _ in range(200):
        prob = rng.beta(0.5, 24.5, 2000)
        y = rng.random(2000) < prob
        held += truth in calibration_loss(y, np.minimum(wrong * prob, 1), cut="rows", **QUICK)
    assert held >= 170  # 180 are promised; three standard errors are 13


def test_oracle_limits_of_equal_rows_are_those_of_clopper_and_pearson():
    for k, n in ((0, 10), (3, 10), (50, 50), (7, 1000)):
        low, high = clopper_pearson(np.array([float(k)]), np.array([float(n)]), 0.9)
        expected = binomtest(k, n).proportion_ci(0.9, method="exact")
        assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)
        table = reliability(np.arange(n) < k, np.full(n, 0.2))
        assert (table.low[0], table.high[0]) == (low[0], high[0])


@pytest.mark.parametrize("how", [{"groups": np.arange(40)}, {"sample_weight": np.full(40, 2.0)}])
def test_equal_rows_in_other_words_have_the_same_reliability(how):
    y, prob = np.arange(40) % 5 == 0, np.repeat([0.1, 0.3], 20)
    plain, other = reliability(y, prob), reliability(y, prob, resamples=4000, **how)
    np.testing.assert_allclose(other.observed, plain.observed)
    np.testing.assert_allclose(other.low, plain.low, atol=0.01)
    np.testing.assert_allclose(other.high, plain.high, atol=0.015)


def test_reliability_speaks_for_those_who_were_not_looked_at():
    """In the bin of alerts and of rows that stand for a hundred each, events may hide."""
    y = np.r_[np.ones(30), np.zeros(170), np.full(9900, np.nan)]
    prob = np.r_[np.full(100, 0.3), np.full(10_000, 0.03)]
    chance = np.r_[np.ones(100), np.full(100, 0.01), np.full(9900, np.nan)]
    apart = reliability(y, prob, bins=[0, 0.1, 1], inclusion=chance)
    assert apart.rows.tolist() == [100, 100]
    assert apart.high[0] == pytest.approx(1 - 0.05 ** (1 / 100), rel=0.1)  # none in a hundred
    assert (apart.low[1], apart.high[1]) == pytest.approx((0.226, 0.385), abs=0.01)
    whole = reliability(y, prob, bins=1, inclusion=chance)
    assert whole.observed[0] == pytest.approx(30 / 10_100)
    assert whole.high[0] == pytest.approx(0.0306, abs=0.002)  # as the base rate
    with refused("unlabelled-rows", DataError):
        reliability(y, prob)


def test_a_bin_without_a_label_is_left_out_and_said():
    y, prob = [0, 1, 1, np.nan], [0.1, 0.15, 0.1, 0.9]
    table = reliability(y, prob, bins=[0, 0.5, 1], inclusion=[0.75] * 4)
    assert table.rows.tolist() == [3]
    assert codes(table.remarks) == ["unlabelled-bins"]
    assert not reliability([0, 1], [0.1, 0.2], bins=[0, 0.5, 1]).remarks


def test_simulation_bins_of_weighted_and_grouped_rows_hold():
    rng = np.random.default_rng(5)
    cuts = [0, 0.02, 0.05, 1]
    held, repeats = np.zeros((2, 3)), 60
    group = np.repeat(np.arange(150), 10)
    for _ in range(repeats):
        prob = rng.beta(1, 20, 1500)
        luck = rng.random(150)[group]
        y = rng.random(1500) < prob
        together = np.where(rng.random(1500) < 0.5, rng.random(1500), luck) < prob
        weight = rng.lognormal(0, 1, 1500)
        for k, table in enumerate(
            (
                reliability(y, prob, bins=cuts, sample_weight=weight, **QUICK),
                reliability(together, prob, bins=cuts, groups=group, **QUICK),
            )
        ):
            held[k] += (table.low <= table.predicted) & (table.predicted <= table.high)
    assert (held / repeats >= 0.83).all()
    assert held.mean() / repeats >= 0.88


def test_every_row_is_in_one_bin(rng):
    prob = rng.random(1000)
    y = (rng.random(1000) < prob).astype(float)
    for bins in (1, 7, [0, 0.2, 0.5, 1]):
        table = reliability(y, prob, bins=bins)
        assert table.rows.sum() == 1000
        assert (table.rows * table.observed).sum() == pytest.approx(y.sum())
        assert (table.rows * table.predicted).sum() == pytest.approx(prob.sum())
        assert ((table.low <= table.observed) & (table.observed <= table.high)).all()


def test_calibrated_probabilities_lie_within_their_intervals(rng):
    inside = []
    for _ in range(60):
        prob = rng.beta(1, 20, 3000)
        table = reliability((rng.random(3000) < prob).astype(float), prob, level=0.9)
        inside += list((table.low <= table.predicted) & (table.predicted <= table.high))
    assert 0.89 < np.mean(inside) < 0.97


def test_equal_probabilities_and_empty_bins():
    table = reliability([0, 1, 1], [0.5, 0.5, 0.5])
    assert table.rows.tolist() == [3]
    assert table.edges.tolist() == [0.5, 0.5]
    table = reliability([0, 1], [0.1, 0.9], bins=[0, 0.2, 0.8, 1])
    assert table.rows.tolist() == [1, 1]
    assert table.edges.tolist() == [0, 0.8, 1]


def test_an_edge_belongs_to_the_bin_above_it():
    table = reliability([0, 1, 1], [0.2, 0.5, 0.7], bins=[0, 0.5, 1])
    assert table.rows.tolist() == [1, 2]


@pytest.mark.parametrize("values", [[0.02, 0.9], [0, 1], [0.01, 0.05, 0.4], np.arange(10) / 9])
def test_few_values_have_a_bin_each(rng, values):
    prob = np.repeat(values, rng.integers(1, 400, len(values)))
    table = reliability((rng.random(len(prob)) < prob).astype(float), prob)
    np.testing.assert_allclose(table.predicted, values)
    np.testing.assert_array_equal(table.rows, [(prob == value).sum() for value in values])
    again = reliability(np.zeros(len(prob)), prob, bins=table.edges)
    np.testing.assert_array_equal(again.rows, table.rows)


def test_values_that_are_not_near_each_other_are_not_averaged(rng):
    low, high = rng.uniform(0.01, 0.03, 1900), rng.uniform(0.88, 0.92, 40)
    table = reliability(np.zeros(1940), np.r_[low, high])
    assert table.rows[-1] == 40
    assert table.predicted[-2] < 0.03
    prob = np.repeat(np.arange(12) / 11, 50)  # more values than bins, each far from the next
    assert reliability(np.zeros(600), prob).rows.tolist() == [50] * 12
    assert len(reliability(np.zeros(1940), np.r_[low, high], bins=1).rows) == 1  # as was asked


def test_ties_stay_together_and_the_rest_is_shared_evenly(rng):
    prob = np.r_[np.full(3000, 0.01), rng.uniform(0.02, 0.2, 900)]
    rows = reliability(np.zeros(3900), prob).rows
    assert rows[0] == 3000
    assert rows[1:].tolist() == [100] * 9


def test_as_many_bins_as_asked_for_where_probabilities_are_continuous(rng):
    for n in (50, 1003, 5000):
        for prob in (rng.random(n), rng.beta(1, 30, n), rng.lognormal(-7, 1.5, n).clip(0, 1)):
            rows = reliability(np.zeros(n), prob, bins=10).rows
            assert len(rows) == 10
            assert np.ptp(rows) <= 1


def test_neighbours_among_the_floats_are_told_apart():
    prob = np.array([0.3, np.nextafter(0.3, 1)])
    assert reliability([0, 1], prob).rows.tolist() == [1, 1]


def test_words_are_refused_in_a_sentence():
    with refused("not-a-number", DataError, argument="y_true", row=0):
        reliability(["sick", "well"], [0.2, 0.3])
    with refused("not-a-number", DataError, argument="prob", row=1):
        reliability([0, 1], np.array([0.2, "high"], dtype=object))


def test_bins_must_be_bins():
    for bins in (0, np.nan):
        with refused("integer-range", UsageError, argument="bins"):
            reliability([0, 1], [0.2, 0.3], bins=bins)
    for bins in ([0.5, 0.2], [0, 0, 1]):
        with refused("not-increasing", UsageError, edges="bins"):
            reliability([0, 1], [0.2, 0.3], bins=bins)
