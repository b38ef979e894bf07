"""Paper 003's experiment: its truths are true, and the stored figures say what the guide says."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from experiments import frame
from experiments.frame import FOLDER
from experiments.paper_003 import amounts, generative, worlds
from experiments.paper_003.active import counted, label
from experiments.paper_003.decisions import COSTS, mean_of_doubt
from experiments.paper_003.worlds import Rows
from scarce import decide


@pytest.fixture(scope="module")
def stored():
    return {row.quantity: row for row in frame.read_results(FOLDER / "paper_003").comparisons}


@pytest.mark.parametrize("curve", [0.0, 0.8])
def test_a_logistic_world_has_the_share_of_events_that_it_promises(curve, rng):
    rows = worlds.LogisticWorld((1.5, 0.3, 0.5), share=0.05, curve=curve).draw(400_000, rng)
    error = np.std(rows.p) / np.sqrt(len(rows.p))
    assert abs(rows.p.mean() - 0.05) < 4 * error
    assert abs(rows.y.mean() - rows.p.mean()) < 4 * np.sqrt(0.05 / len(rows.p))


def test_a_gaussian_world_knows_bayes_rule(rng):
    world = generative.COLUMNS
    rows = world.draw(200, rng)
    density = [
        multivariate_normal(mean, root @ root.T).pdf(rows.X)
        for mean, root in zip(world.means, world.roots, strict=True)
    ]
    joint = world.share * density[1]
    expected = joint / (joint + (1 - world.share) * density[0])
    np.testing.assert_allclose(rows.p, expected, rtol=1e-9)


def test_a_class_of_two_groups_has_the_probability_that_it_says(rng):
    rows = generative.second_group(200_000, rng)
    for low, high in ((0.0, 0.1), (0.1, 0.4), (0.4, 1.0)):
        here = (rows.p > low) & (rows.p <= high)
        error = np.sqrt(0.25 / here.sum())
        assert abs(rows.y[here].mean() - rows.p[here].mean()) < 4 * error


def test_nothing_is_lost_by_the_truth_and_everything_by_its_opposite(rng):
    p = rng.uniform(0.001, 0.999, 500)
    log_prob = np.log(np.column_stack([1 - p, p]))
    assert worlds.excess_cost(p, decide(p, COSTS), COSTS) == 0
    assert worlds.excess_log_loss(p, log_prob) == pytest.approx(0, abs=1e-12)
    assert worlds.excess_error(p, log_prob) == 0
    assert worlds.excess_error(p, log_prob[:, ::-1]) == pytest.approx(np.mean(abs(2 * p - 1)))
    never = np.zeros(500, dtype=int)
    best = np.minimum(np.minimum(400 * p, 5 * (1 - p)), 3)
    assert worlds.excess_cost(p, never, COSTS) == pytest.approx(1000 * np.mean(400 * p - best))


def test_costs_under_the_skewed_law_are_those_of_its_draws(rng):
    X = np.repeat([[0.0, 1.0, 0.0]], 400_000, axis=0)
    law, y = amounts.SkewedLaw(X), amounts.SkewedLaw(X).draw(rng)
    for action in (19.0, 21.0, 26.0):
        paid = 9 * np.maximum(y - action, 0) + np.maximum(action - y, 0)
        error = paid.std() / np.sqrt(len(y))
        assert abs(law.paid(np.full(len(y), action), 9) - paid.mean()) < 4 * error
        assert law.above(np.full(1, action) + np.zeros(len(y)))[0] == pytest.approx(
            np.mean(y > action), abs=0.004
        )
    best = law.quantile(0.9)
    assert law.paid(best, 9) < min(law.paid(best + gap, 9) for gap in (-0.2, 0.2))


def test_rows_from_nowhere_are_far_from_both_classes(rng):
    rows = generative.from_nowhere(300, rng)
    assert rows.shape == (300, 4)
    assert generative.SCATTERED.distance(rows).min() >= 5


def test_the_mean_of_doubt_is_that_of_draws(rng):
    low, high = np.array([-6.0]), np.array([-2.0])
    sd = 4 / (2 * 1.6448536269514722)
    drawn = 1 / (1 + np.exp(-rng.normal(-4, sd, 400_000)))
    error = drawn.std() / np.sqrt(len(drawn))
    assert abs(mean_of_doubt(low, high, 0.9)[0] - drawn.mean()) < 4 * error


def test_a_count_is_held_to_the_whole_pool(rng):
    y = (rng.random(2000) < 0.1).astype(np.int64)
    pool = Rows(rng.normal(size=(2000, 2)), np.full(2000, 0.1), y)
    found = label(pool, None, rng)
    bias, _ = counted(pool, found, np.zeros(2000, int), COSTS, weighted=False)
    assert bias == pytest.approx(400 * (y[found.rows].mean() - y.mean()))
    assert found.weight == pytest.approx(np.full(200, 10.0))


def test_stored_figures_say_what_the_guide_says(stored):
    def value(name):
        return stored[name].ours

    def far_below(less, more):
        error = np.hypot(stored[less].standard_error, stored[more].standard_error)
        return value(more) - value(less) > 4 * error

    cost = "excess cost per 1,000 rows"
    for n in ("500", "5,000"):
        asking = f"{n} rows, decided by costs, with asking: {cost}"
        plain = f"{n} rows, decided by costs, no asking: {cost}"
        assert far_below(asking, plain)
        assert far_below(plain, f"{n} rows, threshold 0.5: {cost}")
        assert far_below(
            f"{n} rows, under-sampled, prior corrected, decided by costs: {cost}",
            f"{n} rows, under-sampled, uncorrected, decided by costs: {cost}",
        )
    loss = "excess log loss, thousandths"
    assert far_below(
        f"Model right, greatest entropy: {loss}", f"Model right, random labels: {loss}"
    )
    assert far_below(
        f"Model wrong, random labels: {loss}", f"Model wrong, greatest entropy: {loss}"
    )
    holds = "coverage of the 90 % interval of the share of events"
    assert value(f"Model right, greatest entropy, plain: {holds}") < 0.01
    assert value(f"Model right, explored, weighted: {holds}") > 0.85
    mended = stored[
        "Model right, explored, weighted: bias of the share of events, percentage points"
    ]
    assert abs(mended.ours) < 4 * mended.standard_error + 0.1
    assert far_below(
        f"20 columns, 30 rare rows, shrunk: {loss}", f"20 columns, 30 rare rows, full: {loss}"
    )
    assert far_below(
        f"Normal classes, and 2,000 rows without: {loss}",
        f"Normal classes, 30 labels alone: {loss}",
    )
    assert not far_below(  # unlabelled rows that would mislead are left out again
        f"A class of two groups, 30 labels alone: {loss}",
        f"A class of two groups, and 2,000 rows without: {loss}",
    )
