"""The best of several: joint limits, the set of models that may be the best, and its optimism."""

import numpy as np
import pytest
from scipy.stats import norm, studentized_range

from scarce import compare
from scarce.bootstrap import Bootstrap, Resampling, read_sample
from scarce.evaluation.choosing import MOST_UNITS, Joint, choose
from scarce.evaluation.compare import compare_costs, loss_difference

ASKED = Resampling.read()


def sample_of(n, groups=None, weight=None):
    return read_sample(np.ones(n, dtype=bool), weight, None, groups)


def chosen(rows, sample=None):
    """What `choose` says of columns of losses, each pair by its own bootstrap."""
    sample = sample_of(len(rows)) if sample is None else sample
    kind = np.zeros(len(rows), dtype=np.intp)

    def difference(i, j, asked):
        drawn = Bootstrap(kind, 1, sample, asked, lambda k: (rows[:, i] - rows[:, j])[:, None])
        return drawn.estimate(lambda sums: sums[:, 1] / sums[:, 0])

    return choose(Joint(rows, sample, ASKED), difference)


@pytest.mark.parametrize("shared", [0.0, 0.95])
def test_of_8_equal_models_one_run_in_10_calls_one_worse(shared):
    alone = together = 0
    for repeat in range(16):
        rng = np.random.default_rng([3, repeat])
        rows = np.sqrt(shared) * rng.normal(size=(60, 1))
        rows = rows + np.sqrt(1 - shared) * rng.normal(size=(60, 8))
        best = rows[:, rows.mean(axis=0).argmin()]
        apart = rows - best[:, None]
        error = apart.std(axis=0, ddof=1) / np.sqrt(60)
        alone += bool((apart.mean(axis=0) > 1.645 * error)[error > 0].any())
        together += len(chosen(rows).kept) < 8
    assert alone >= 7  # one difference at a time
    assert together <= 4


def test_the_joint_tail_is_that_of_the_range_of_normals(rng):
    joint = Joint(rng.normal(size=(400, 8)), sample_of(400), ASKED)
    pairs = [(i, j) for i in range(8) for j in range(i)]
    beyond = norm.sf(studentized_range.ppf(0.9, 8, np.inf) / np.sqrt(2))
    assert joint.tail(pairs) == pytest.approx(beyond, rel=0.35)
    assert joint.tail(pairs[:1]) == pytest.approx(0.05)


def test_a_better_model_is_found_and_the_others_leave_the_clearest_first(rng):
    rows = rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 4)) + [0.0, 0.4, 0.5, 2.0]
    found = chosen(rows)
    assert found.kept == (0,)
    for i in (1, 2, 3):
        one = found.behind[i]
        assert 0 < one.low < one.value < one.high
        assert one.value == pytest.approx((rows[:, i] - rows[:, 0]).mean())
    assert "jointly for 4" in found.behind[3].method
    assert "jointly" not in found.behind[1].method  # the last two are one difference


def test_a_model_may_be_out_because_of_another_than_the_best(rng):
    base = rng.normal(size=100)
    alike = 0.01 * rng.normal(size=100)
    rows = np.column_stack([rng.normal(size=100), base, base + alike + 0.02])
    rows -= rows.mean(axis=0) - [0.0, 0.01, 0.03]
    found = chosen(rows)
    assert found.kept == (0, 1)  # the second is certainly worse than the first of the twins
    assert found.behind[2].low > 0
    assert found.behind[1].low <= 0


def test_optimism_is_the_expected_least_of_normals(rng):
    rows = rng.normal(size=(500, 8))
    rows -= rows.mean(axis=0)
    found = Joint(rows, sample_of(500), ASKED).optimism
    assert found == pytest.approx(1.4236 / np.sqrt(500), rel=0.1)  # E of the greatest of 8 normals
    sure = Joint(rows + np.arange(8), sample_of(500), ASKED).optimism
    assert abs(sure) < 1e-3


def test_rows_in_any_order_and_weights_of_any_scale_say_the_same(rng):
    rows, order = rng.normal(size=(300, 3)), rng.permutation(300)
    weight = rng.uniform(1, 3, 300)
    one = Joint(rows, sample_of(300, weight=weight), ASKED).means
    other = Joint(rows[order], sample_of(300, weight=weight[order]), ASKED).means
    assert np.array_equal(one, other)
    scaled = Joint(rows, sample_of(300, weight=weight * 1e-6), ASKED).means
    assert np.allclose(one, scaled, rtol=1e-9)


@pytest.mark.parametrize("groups", [False, True])
def test_many_rows_in_lots_vary_as_single_rows_do(rng, groups):
    n = 3 * MOST_UNITS
    rows = np.column_stack([rng.normal(size=n), rng.normal(size=n), rng.standard_t(5, n)])
    group = np.repeat(np.arange(n // 3), 3) if groups else None
    if groups:
        rows = np.repeat(rows[: n // 3], 3, axis=0)
    means = Joint(rows, sample_of(n, group), ASKED).means
    units = n // 3 if groups else n
    for i, j in ((0, 1), (0, 2), (1, 2)):
        error = np.std(rows[:, i] - rows[:, j]) / np.sqrt(units)
        assert np.std(means[:, i] - means[:, j]) == pytest.approx(error, rel=0.08)


def test_two_models_have_the_interval_of_their_difference(rng):
    prob = rng.beta(1, 5, 300)
    y = (rng.random(300) < prob).astype(int)
    near = np.clip(prob + 0.03 * rng.normal(size=300), 0.001, 0.999)
    found = compare(y, {"one": prob, "near": near, "bad": 1 - prob})
    best = found.best["log_loss"]
    (other,) = {"one", "near"} - {best}
    pair = loss_difference(y, {"one": prob, "near": near}[other], {"one": prob, "near": near}[best])
    behind = found.behind["log_loss"][other]
    assert (behind.low, behind.high) == (pair.low, pair.high)
    assert found.confidence_set["log_loss"] == [best, *found.tied()]
    assert found.to_dict()["confidence_set"]["brier"] == found.confidence_set["brier"]


def test_costs_are_judged_jointly(rng):
    y = (rng.random(200) < 0.2).astype(int)
    actions = {f"m{k}": (rng.random(200) < 0.3).astype(int) for k in range(5)} | {"right": y}
    found = compare_costs(y, actions, [[0, 40], [5, 0]], level=0.8)
    assert found.best == "right"
    assert found.confidence_set == ["right"]
    assert found.tied == []
    assert found.behind["m0"].level == 0.8
    equal = compare_costs(y, {name: one for name, one in actions.items() if name != "right"},
                          [[0, 40], [5, 0]])  # fmt: skip
    assert len(equal.confidence_set) == 5
    assert equal.optimism > 0


def test_rules_in_any_order_say_the_same(rng):
    y = (rng.random(300) < 0.2).astype(int)
    rules = {f"m{k}": (rng.random(300) < 0.1 + 0.02 * k).astype(int) for k in range(4)}
    rules |= {"never": 0 * y, "none": 0 * y}
    one = compare_costs(y, rules, [[0, 40], [5, 0]])
    other = compare_costs(y, dict(reversed(rules.items())), [[0, 40], [5, 0]])
    assert (one.best, one.confidence_set) == (other.best, other.confidence_set)
    assert one.optimism == other.optimism
    for name, behind in one.behind.items():
        assert (behind.low, behind.high) == (other.behind[name].low, other.behind[name].high)


def test_rules_of_equal_cost_in_any_order_say_the_same(rng):
    """As many false alarms and misses each, in other rows: only the third moments differ."""
    rows = np.repeat([[0.0, 5.0, 5.0], [60.0, 5.0, 0.0], [5.0, 55.0, 60.0]], 20, axis=0)
    order = [2, 0, 1]
    one = Joint(rows, sample_of(60), ASKED)
    other = Joint(rows[:, order], sample_of(60), ASKED)
    assert np.ptp(one.value) == 0
    assert np.array_equal(one.means[:, order], other.means)
