"""Limits by test inversion: against enumeration with scipy, an optimiser, and simulation."""

import itertools

import numpy as np
import pytest
from scipy import optimize, stats

from scarce.missed import inversion
from scarce.missed.inversion import (
    NO_ERROR,
    LabelError,
    order_chance,
    share_limits,
    shares_given_total,
    tails,
    total_limits,
)
from scarce.missed.strata import Cells, no_cells

WRONG = LabelError(0.1, 0.02)


def cells(*strata, frame=None):
    """Strata as (rows, drawn, events), of one frame or of those given."""
    rows, drawn, events = np.array(strata, dtype=float).reshape(-1, 3).T.copy()
    numbers = np.zeros(len(rows)) if frame is None else np.asarray(frame)
    return Cells(rows, drawn, events, numbers.astype(np.int64))


def law_of_events(rows, drawn, total, error=NO_ERROR):
    """Distribution of labels that say event, of scipy; a total between integers is a mixture."""
    low = int(np.floor(total))
    k = np.arange(drawn + 1)
    law = np.zeros(drawn + 1)
    for whole, part in ((low, 1 - (total - low)), (min(low + 1, rows), total - low)):
        law += part * stats.hypergeom.pmf(k, rows, whole, drawn)
    if error == NO_ERROR:
        return law
    told = np.zeros(drawn + 1)
    for true in k:
        right = stats.binom.pmf(np.arange(true + 1), true, 1 - error.missed)
        wrong = stats.binom.pmf(np.arange(drawn - true + 1), drawn - true, error.false)
        told += law[true] * np.convolve(right, wrong)
    return told


def random_cells(rng, strata=(2, 4), drawn=(0, 7), more=30, frames=2):
    count = rng.integers(*strata)
    n = rng.integers(*drawn, count)
    n[0] = max(n[0], 1)
    rows = np.maximum(n + rng.integers(0, more, count), 1)
    events = rng.binomial(n, rng.random(count) * 0.6)
    frame = np.sort(rng.integers(0, frames, count))
    return cells(*zip(rows, n, events, strict=True), frame=frame)


# --- one stratum, and what lies beside it ---------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("rows", "drawn", "events"),
    [(50, 10, 0), (50, 10, 3), (50, 10, 10), (37, 36, 4), (200, 21, 1), (3000, 70, 7), (3, 1, 1)],
)
def test_oracle_one_stratum_has_the_exact_hypergeometric_limits(rows, drawn, events, level):
    tail = (1 - level) / 2
    totals = np.arange(events, rows - drawn + events + 1)
    few = stats.hypergeom.cdf(events, rows, totals, drawn) > tail
    many = stats.hypergeom.sf(events - 1, rows, totals, drawn) > tail
    expected = float(totals[many][0]), float(totals[few][-1])
    assert total_limits(cells((rows, drawn, events)), level) == expected


@pytest.mark.parametrize("events", [0, 3, 9])
def test_oracle_one_stratum_with_wrong_labels(events):
    tail, totals = 0.05, np.arange(61)
    laws = [law_of_events(60, 20, total, WRONG) for total in totals]
    few = np.array([law[: events + 1].sum() > tail for law in laws])
    many = np.array([law[events:].sum() > tail for law in laws])
    expected = float(totals[many][0]), float(totals[few][-1])
    assert total_limits(cells((60, 20, events)), 0.9, error=WRONG) == expected


def test_strata_that_were_drawn_whole_are_known():
    """A stratum of 54 rows with labels took 23 events from the limits of the others."""
    assert total_limits(cells((10, 10, 3), (5, 5, 0)), 0.9) == (3.0, 3.0)
    rng = np.random.default_rng(3)
    for _ in range(20):
        some = random_cells(rng, drawn=(5, 30), more=400, frames=1)
        known = int(rng.integers(0, 40))
        low, high = total_limits(some, 0.9)
        beside = cells((40, 40, known), frame=[7]).beside(some)
        assert total_limits(beside, 0.9) == (low + known, high + known)


def test_strata_that_were_nearly_drawn_whole_are_nearly_known():
    """50 rows of 1,000 are open: no hypothesis may put many events there."""
    other = cells((900, 20, 1))
    low, high = total_limits(other, 0.9)
    beside = total_limits(cells((1000, 950, 300)).beside(other), 0.9)
    assert beside[0] >= low + 300
    assert high + 300 - 10 <= beside[1] <= high + 350


def test_of_strata_that_nobody_drew_from_nothing_is_known():
    assert total_limits(cells((10, 0, 0), (100, 0, 0)), 0.9) == (0.0, 110.0)
    free = total_limits(cells((50, 0, 0), (100, 20, 1), frame=[0, 1]), 0.9)
    alone = total_limits(cells((100, 20, 1)), 0.9)
    assert free[0] == alone[0]
    assert free[1] == 50 + alone[1]
    # Below a stratum that was drawn, order bounds it; above, it bounds nothing.
    below = total_limits(cells((100, 40, 0), (100, 0, 0)), 0.9)[1]
    assert below < 30
    assert total_limits(cells((100, 0, 0), (100, 40, 0)), 0.9)[1] >= 100
    assert total_limits(cells((100, 40, 0), (100, 0, 0)), 0.9, ordered=False)[1] >= 100


def test_no_strata_hold_no_events():
    assert total_limits(no_cells(), 0.9) == (0.0, 0.0)
    assert share_limits(no_cells(), cells((9, 3, 0)), (0.0, 0.0), 0.9) == (0.0, 0.0)
    assert share_limits(cells((9, 3, 0)), no_cells(), (4.0, 0.0), 0.9) == (1.0, 1.0)


@pytest.mark.parametrize("rows", [9.4, 9.999999999, 10.0000001, 3.0 - 1e-15, 3.2])
def test_rows_that_are_no_whole_number_come_to_an_end(rows):
    """The search went round for ever: strata of several frames have estimated sizes."""
    low, high = total_limits(cells((rows, 3, 1), (20.7, 5, 0)), 0.9)
    assert 1 <= low <= high <= rows - 2 + 15.7
    alone = total_limits(cells((max(rows, 3.0), 3, 1)), 0.9)
    assert alone[0] >= 1
    assert alone[1] <= max(rows, 3.0) - 2 + 1e-9


# --- the distribution of the weighted count -------------------------------------------------------


@pytest.mark.parametrize("error", [NO_ERROR, WRONG], ids=["right", "wrong"])
def test_oracle_tails_are_those_of_every_outcome(error):
    """Two or three strata, weights of both signs: every outcome, with its probability."""
    rng = np.random.default_rng(0)
    for case in range(40):
        some = random_cells(rng, strata=(2, 4), drawn=(0, 6))
        rows, drawn, events, _ = some
        weight = np.ones(len(rows)) if case % 2 else rng.choice([-0.4, 0.6, 1.0], len(rows))
        share = rng.random(len(rows)) * 0.7
        keep = 1 - error.missed - error.false
        step = np.where(drawn > 0, weight * rows / np.maximum(drawn, 1) / keep, 0.0)
        found = inversion._tails(rows, drawn, events, share, step, *error)
        laws = [
            law_of_events(int(n_rows), int(n), n_rows * g, error)
            for n_rows, n, g in zip(rows, drawn, share, strict=True)
        ]
        outcomes = np.array(list(itertools.product(*(range(len(law)) for law in laws))))
        chance = np.prod([law[outcomes[:, h]] for h, law in enumerate(laws)], axis=0)
        count, seen = outcomes @ step, events @ step
        # Parts are rounded to a lattice: outcomes next to the observed one may fall on it.
        unit = np.abs(step * drawn).sum() / 300
        for ours, side in zip(found, (1, -1), strict=True):
            beyond = (seen - count) * side
            least = chance[beyond >= unit].sum() + chance[np.abs(beyond) < 1e-9].sum()
            most = chance[beyond > -unit].sum()
            assert least - 1e-7 <= ours <= most + 1e-7, (case, side)
            if case % 2 == 0 and len(np.unique(np.abs(beyond).round(9))) < 3:
                assert ours == pytest.approx(chance[beyond > -1e-9].sum(), abs=1e-7)


def test_oracle_tails_of_equal_steps_are_exact():
    """Strata in proportion: S is a multiple of one number, and nothing is rounded."""
    some = cells((50, 5, 2), (100, 10, 1), (30, 3, 0))
    share = np.array([0.3, 0.11, 0.05])
    laws = [
        law_of_events(int(r), int(n), r * g)
        for r, n, g in zip(some.rows, some.drawn, share, strict=True)
    ]
    law = np.convolve(np.convolve(laws[0], laws[1]), laws[2])
    found = inversion._tails(some.rows, some.drawn, some.events, share, np.full(3, 10.0), 0.0, 0.0)
    assert found[0] == pytest.approx(law[:4].sum(), rel=1e-10)
    assert found[1] == pytest.approx(law[3:].sum(), rel=1e-10)


def test_oracle_many_strata_of_equal_steps_are_exact():
    """Forty weeks with the same probability: parts that are rounded one by one are no sum."""
    rng = np.random.default_rng(6)
    events = rng.binomial(20, 0.2, 40).astype(float)
    rows, drawn, share = np.full(40, 200.0), np.full(40, 20.0), np.full(40, 0.2)
    law = np.ones(1)
    for _ in range(40):
        law = np.convolve(law, law_of_events(200, 20, 40.0))
    seen = int(events.sum())
    found = inversion._tails(rows, drawn, events, share, np.full(40, 10.0), 0.0, 0.0)
    assert found[0] == pytest.approx(law[: seen + 1].sum(), rel=1e-9)
    assert found[1] == pytest.approx(law[seen:].sum(), rel=1e-9)


def test_oracle_binomial_and_hypergeometric_are_scipys():
    for n, p in ((0, 0.3), (5, 0.0), (5, 1.0), (40, 0.02), (3000, 0.05), (100_000, 0.3)):
        np.testing.assert_allclose(
            inversion._binomial(n, p), stats.binom.pmf(np.arange(n + 1), n, p), atol=1e-11
        )
    for rows, n, events in ((10, 10, 4), (10, 3, 9), (10_000_000, 200, 3000), (7, 1, 0)):
        np.testing.assert_allclose(
            inversion._hypergeometric(rows, n, events),
            stats.hypergeom.pmf(np.arange(n + 1), rows, events, n),
            atol=1e-7,
        )


# --- shares under a hypothesis --------------------------------------------------------------------


def random_hypothesis(rng, case):
    """Strata in chains, weights of one sign or both, and a total that ordered shares give."""
    count = rng.integers(2, 7)
    drawn = rng.integers(1, 30, count).astype(float)
    rows = drawn + rng.integers(0, 300, count)
    events = np.minimum(rng.binomial(drawn.astype(int), rng.random(count) * 0.5) + 0.2, drawn - 0.2)
    chain = np.sort(rng.integers(0, 3, count)).astype(np.int64)
    weight = np.ones(count) if case % 2 else rng.choice([-0.4, 0.6, 1.0], count)
    share = np.empty(count)
    for number in np.unique(chain):
        here = chain == number
        share[here] = np.sort(rng.random(here.sum()) * rng.choice([0.3, 0.9]))[::-1]
    return rows, drawn, events, chain, weight, float(weight * rows @ share), share


def test_oracle_shares_are_those_of_an_optimiser():
    """SLSQP under the same total and the same order, from two starts."""
    rng = np.random.default_rng(1)
    for case in range(40):
        rows, drawn, events, chain, weight, total, start = random_hypothesis(rng, case)
        missed, false = (0.0, 0.0) if case % 3 else (0.1, 0.02)
        keep = 1 - missed - false
        ours = shares_given_total(rows, drawn, events, chain, weight, total, missed, false)
        whole, count = rows.sum(), len(rows)

        def loss(g, drawn=drawn, events=events, false=false, keep=keep):
            p = false + keep * np.clip(g, 1e-12, 1 - 1e-12)
            return -(events @ np.log(p) + (drawn - events) @ np.log1p(-p))

        order = np.array(
            [np.eye(count)[h] - np.eye(count)[h + 1] for h in np.flatnonzero(np.diff(chain) == 0)]
        ).reshape(-1, count)
        limits = [
            optimize.LinearConstraint(weight * rows / whole, total / whole, total / whole),
            optimize.LinearConstraint(order, 0.0, np.inf),
        ]
        best = np.inf
        for first in (start, np.full(count, 0.3)):
            found = optimize.minimize(
                loss,
                first,
                bounds=[(1e-9, 1 - 1e-9)] * count,
                constraints=limits[: 2 if len(order) else 1],
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-13},
            )
            if abs(weight * rows @ found.x - total) < 1e-6 * whole:
                best = min(best, found.fun)
        assert np.isfinite(best)
        assert weight * rows @ ours == pytest.approx(total, abs=1e-8 * whole)
        assert (order @ ours >= -1e-12).all()
        assert loss(ours) <= best + 1e-5, case


def test_shares_of_different_frames_are_free():
    rows, drawn = np.full(2, 100.0), np.full(2, 20.0)
    events = np.array([1.0, 9.0])
    together, apart = (
        shares_given_total(rows, drawn, events, chain, np.ones(2), 50.0, 0.0, 0.0)
        for chain in (np.zeros(2, np.int64), np.arange(2))
    )
    assert together[0] == pytest.approx(together[1])
    assert apart[1] > 3 * apart[0]


@pytest.mark.parametrize("total", [1e-9, 1e-3, 199.999])
def test_extreme_totals_are_met(total):
    share = shares_given_total(
        np.full(2, 100.0),
        np.array([20.0, 1e-6]),
        np.array([1.0, 0.0]),
        np.zeros(2, np.int64),
        np.ones(2),
        total,
        0.0,
        0.0,
    )
    assert 100 * share.sum() == pytest.approx(total, rel=1e-6)
    assert (share >= 0).all()
    assert (share <= 1).all()


# --- limits of totals and shares ------------------------------------------------------------------


def test_oracle_limits_are_those_of_a_scan_over_all_totals():
    """Bisection needs that totals which are kept come in one piece."""
    rng = np.random.default_rng(2)
    for _ in range(25):
        some = random_cells(rng, strata=(2, 5), drawn=(0, 15), more=60, frames=1)
        least, most = some.events.sum(), (some.rows - some.drawn + some.events).sum()
        totals = np.arange(least, most + 1)
        chance = np.array([tails(some, np.ones(len(some.rows)), total) for total in totals])
        low = totals[chance[:, 1] > 0.05][0]
        high = totals[chance[:, 0] > 0.05][-1]
        assert total_limits(some, 0.9) == (min(low, high), high)


def test_recall_of_what_is_found_for_certain_follows_from_the_total():
    """Totals between integers are hypotheses of a share too: one event apart at most."""
    rng = np.random.default_rng(4)
    for _ in range(15):
        some = random_cells(rng, drawn=(1, 30), more=900, frames=1)
        found, sure = float(rng.integers(1, 40)), float(rng.integers(0, 10))
        low, high = total_limits(some, 0.9)
        worst, best = share_limits(no_cells(), some, (found, sure), 0.9)
        total = found + sure
        near = 1.01
        assert found / (total + high + 1) / near <= worst <= found / (total + high) * near
        assert found / (total + low) / near <= best <= found / (total + max(low - 1, 0)) * near


def test_a_share_never_leaves_what_labels_allow():
    """One event was found and two are known to be missed: .41 was above one third."""
    some = cells((1000, 50, 1))
    assert share_limits(no_cells(), some, (1.0, 1.0), 0.9)[1] == pytest.approx(1 / 3, abs=1e-4)
    least = share_limits(some, no_cells(), (0.0, 3.0), 0.9999)[0]
    assert least >= 1 / 4 - 1e-4
    small = share_limits(cells((4, 3, 1)), cells((5, 4, 2)), (1.0, 1.0), 0.9999)
    assert small[0] >= 2 / 6 - 1e-4
    assert small[1] <= 3 / 6 + 1e-4


def test_events_that_fall_a_little_out_of_order_are_not_ruled_out():
    """Order holds on average: the events of one batch may be a little richer further down."""
    found, missed = cells((2000, 100, 1)), cells((2000, 100, 1))
    low, _ = share_limits(found, missed, (0.0, 0.0), 0.9)
    assert low < 0.5


def test_swapping_found_and_missed_swaps_the_limits():
    one, other = cells((300, 40, 3)), cells((900, 60, 2), frame=[5])
    low, high = share_limits(one, other, (4.0, 2.0), 0.9)
    swapped = share_limits(other, one, (2.0, 4.0), 0.9)
    assert swapped == (pytest.approx(1 - high, abs=1e-3), pytest.approx(1 - low, abs=1e-3))


def test_strata_above_only_say_what_those_below_may_hold():
    """Their events are not counted, and without an order they say nothing."""
    above, below = cells((100, 80, 30)), cells((300, 15, 1), (1000, 25, 0))
    alone = total_limits(below, 0.9)
    beside = total_limits(below, 0.9, beyond=above)
    assert 1 <= beside[0] <= beside[1] <= 1 + 285 + 975
    assert beside == (pytest.approx(alone[0], abs=10), pytest.approx(alone[1], rel=0.2))
    free = total_limits(below, 0.9, ordered=False)
    other_frame = above._replace(frame=np.array([3]))
    for one in (above, other_frame):
        apart = total_limits(below, 0.9, beyond=one, ordered=False)
        assert apart == (pytest.approx(free[0], abs=3), pytest.approx(free[1], rel=0.1))


def test_the_order_of_strata_of_different_frames_in_the_record_does_not_matter():
    one, other = cells((300, 40, 3), (500, 20, 0)), cells((900, 60, 2), frame=[5])
    assert total_limits(one.beside(other), 0.9) == total_limits(other.beside(one), 0.9)


# --- how limits answer to labels ------------------------------------------------------------------


SHAPE = cells((40, 20, 6), (200, 25, 3), (1000, 30, 1), (4000, 40, 0))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("error", [NO_ERROR, WRONG], ids=["right", "wrong"])
def test_wider_levels_hold_narrower_ones(ordered, error):
    limits = [
        total_limits(SHAPE, level, ordered=ordered, error=error)
        for level in (1e-6, 0.5, 0.9, 0.99, 0.9999)
    ]
    for inner, outer in itertools.pairwise(limits):
        assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    recalls = [
        share_limits(SHAPE.chosen(np.arange(1)), SHAPE.chosen(np.arange(1, 4)), (9.0, 1.0), level)
        for level in (0.5, 0.9, 0.99)
    ]
    for inner, outer in itertools.pairwise(recalls):
        assert outer[0] <= inner[0] <= inner[1] <= outer[1]


def draws(rng, rows, share, drawn):
    """Strata of a batch: events at random, then rows at random."""
    rows, drawn = np.asarray(rows), np.asarray(drawn)
    total = rng.binomial(rows, share)
    events = rng.hypergeometric(total, rows - total, drawn)
    return cells(*zip(rows, drawn, events, strict=True)), float(total.sum())


def mean_width(drawn, seed=0, count=40, **settings):
    rng = np.random.default_rng(seed)
    rows, share = [50, 300, 1500, 4000], [0.3, 0.08, 0.02, 0.004]
    limits = [
        total_limits(draws(rng, rows, share, np.asarray(drawn))[0], 0.9, **settings)
        for _ in range(count)
    ]
    return np.mean([high - low for low, high in limits])


def test_more_labels_are_narrower_on_average_and_less_belief_is_wider():
    few, many = [10, 10, 15, 25], [25, 40, 60, 100]
    assert mean_width(many) < 0.6 * mean_width(few)
    assert mean_width(few, ordered=False) > mean_width(few)
    assert mean_width(few, error=LabelError(0.2, 0.0)) > mean_width(few)


@pytest.mark.parametrize(("rows", "drawn"), [(5000, 100), (900, 50)])
def test_gate_no_event_in_any_stratum_is_no_more_than_no_event_in_a_plain_sample(rows, drawn):
    """However the draw was spread, the limit stays at about 3 N / n: equal shares are allowed."""
    plain = total_limits(cells((rows, drawn, 0)), 0.9)[1]
    top, middle = drawn // 2, drawn // 3
    spread = cells(
        (rows // 20, min(top, rows // 20), 0),
        (rows // 5, middle, 0),
        (rows - rows // 20 - rows // 5, drawn - min(top, rows // 20) - middle, 0),
    )
    # Of the top a good part was drawn, which a plain sample of all rows does not do.
    assert total_limits(spread, 0.9)[1] >= 0.8 * plain
    assert total_limits(spread, 0.9, ordered=False)[1] >= plain
    assert plain >= 0.95 * 2.99 * (rows - drawn) / drawn


@pytest.mark.parametrize("rows", [1e5, 1e7, 1e9])
def test_oracle_a_great_many_rows_are_a_binomial(rows):
    for drawn, events in ((100, 0), (1000, 3)):
        low, high = total_limits(cells((rows, drawn, events)), 0.9)
        exact = stats.binomtest(events, drawn).proportion_ci(0.9, method="exact")
        assert low == pytest.approx(rows * exact.low, rel=3e-2, abs=1)
        assert high == pytest.approx(rows * exact.high, rel=1e-2)


def test_limits_grow_in_proportion_to_the_rows():
    limits = []
    for scale in (1e3, 1e6):
        rows = np.array([1.0, 4.0, 20.0, 75.0]) * scale
        some = cells(*zip(rows, [30] * 4, [5, 2, 1, 0], strict=True))
        limits.append(np.array(total_limits(some, 0.9)) / scale)
    np.testing.assert_allclose(limits[0], limits[1], rtol=0.03)


def test_a_frame_may_have_very_different_strata():
    """Steps of 1 beside steps of a million, and one event in either."""
    for events in ((1, 0), (0, 1), (5, 0), (0, 0)):
        some = cells((20, 19, events[0]), (1e7, 10, events[1]))
        low, high = total_limits(some, 0.9)
        assert sum(events) <= low <= high <= 1e7
        free = total_limits(some, 0.9, ordered=False)
        alone = total_limits(cells((1e7, 10, events[1])), 0.9)
        assert free[1] == pytest.approx(alone[1], rel=0.1)


def test_the_same_strata_give_the_same_limits():
    first = total_limits(SHAPE, 0.9), total_limits(SHAPE, 0.9, error=WRONG)
    again = total_limits(SHAPE, 0.9), total_limits(SHAPE, 0.9, error=WRONG)
    assert first == again


# --- labels that are wrong ------------------------------------------------------------------------


def test_rates_of_nothing_are_no_error():
    """Of rates next to 0 only the bounds by labels are missing."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        some = random_cells(rng, drawn=(5, 30), more=300, frames=1)
        none = total_limits(some, 0.9)
        tiny = total_limits(some, 0.9, error=LabelError(1e-9, 1e-9))
        assert tiny == (pytest.approx(none[0], abs=1), pytest.approx(none[1], abs=1))


def test_missed_events_lift_and_false_ones_lower_the_limits():
    plain = total_limits(SHAPE, 0.9)
    lifted = total_limits(SHAPE, 0.9, error=LabelError(0.3, 0.0))
    lowered = total_limits(SHAPE, 0.9, error=LabelError(0.0, 0.05))
    assert lifted[1] > plain[1]
    assert lowered[0] < plain[0]
    assert lowered[1] < plain[1]


def covered(seed, count, rows, share, drawn, error=NO_ERROR, told=NO_ERROR):
    """Shares of batches whose total lies below, and above, the limits."""
    rng = np.random.default_rng(seed)
    out = np.zeros(2)
    for _ in range(count):
        some, total = draws(rng, rows, share, drawn)
        n, k = some.drawn.astype(int), some.events.astype(int)
        said = rng.binomial(k, 1 - error.missed) + rng.binomial(n - k, error.false)
        low, high = total_limits(some._replace(events=said * 1.0), 0.9, error=told)
        out += [total < low, total > high]
    return out / count


@pytest.mark.parametrize(
    ("rows", "share", "drawn"),
    [
        ([200] * 5, [0.05] * 5, [40] * 5),
        ([15, 30, 60, 120], [0.4, 0.3, 0.2, 0.1], [14, 26, 40, 30]),
        ([40, 200, 1500, 4000], [0.3, 0.05, 0.01, 0.001], [15, 15, 20, 30]),
    ],
    ids=["flat", "nearly all drawn", "steep"],
)
def test_gate_each_limit_alone_is_seldom_wrong(rows, share, drawn):
    """5 % each way; of 200 batches, 10 % is beyond any chance."""
    assert (covered(0, 200, rows, share, drawn) <= 0.10).all()


def test_gate_wrong_labels_with_their_rates_known():
    error = LabelError(0.05, 0.01)
    shape = [500, 1000, 4000], [0.1, 0.02, 0.005], [500, 100, 100]  # a band with labels
    assert (covered(1, 100, *shape, error, error) <= 0.11).all()
    # Of 3,000 rows that all have labels the events are nearly known; .10 lay above the limits.
    most = covered(0, 100, [3000, 4000], [0.05, 0.01], [3000, 100], error, error)
    assert (most <= [0.11, 0.05]).all()
    assert covered(1, 60, *shape, LabelError(0.05, 0.03)).max() > 0.3


# --- order ----------------------------------------------------------------------------------------


def test_chance_of_disorder_is_uniform_where_all_strata_are_alike():
    rng = np.random.default_rng(0)
    chance = np.array(
        [
            order_chance(draws(rng, [2000] * 6, [0.3] * 6, [40] * 6)[0]._replace())
            for _ in range(1500)
        ]
    )
    for mark in (0.01, 0.05, 0.2, 0.5):
        error = np.sqrt(mark * (1 - mark) / 1500)
        assert np.mean(chance <= mark) == pytest.approx(mark, abs=4 * error + 0.3 * mark)
    falling = [
        order_chance(draws(rng, [2000] * 4, [0.3, 0.2, 0.1, 0.02], [40] * 4)[0]) for _ in range(200)
    ]
    assert np.mean(np.array(falling) <= 0.05) <= 0.01


def test_disorder_is_looked_for_within_frames_and_among_strata_that_were_drawn():
    rising = ((100, 50, 1), (100, 50, 15))
    assert order_chance(cells(*rising)) < 0.001
    assert order_chance(cells(*rising, frame=[0, 1])) == 1.0
    assert order_chance(cells(rising[0], (900, 0, 0), rising[1])) < 0.001
    assert order_chance(cells(rising[0])) == 1.0
    assert order_chance(no_cells()) == 1.0
    beside = cells(*rising, (100, 50, 30), (100, 50, 2), frame=[0, 0, 1, 1])
    assert order_chance(cells(*rising)) < order_chance(beside) < 0.005
