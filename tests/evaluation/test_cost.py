"""What decisions cost: sums that anyone can check, and intervals that hold with few events."""

import json

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from scarce import DataError, choose_labels
from scarce.decisions.costs import CostMatrix
from scarce.decisions.decide import decide
from scarce.evaluation.cost import cost_confusion, mean_cost, savings, total_cost
from scarce.missed.rounds import label_in_rounds
from tests.problems import codes, refused, warned

COSTS = CostMatrix.binary(false_alarm=5, miss=400, classes=("ok", "bad")).with_abstain(
    3, name="ask"
)


@pytest.fixture
def rows(rng):
    n = 1500
    y = (rng.random(n) < 0.1).astype(int)
    prob = 1 / (1 + np.exp(-(rng.normal(size=n) + 2.5 * y - 3)))
    names = np.array(["ok", "bad"])[y]
    return names, decide(prob, COSTS), prob


def slow_cost(y, actions, costs):
    at = {name: k for k, name in enumerate(costs.classes)}
    place = {name: a for a, name in enumerate(costs.actions)}
    whole = costs.at()
    out = []
    for i, (label, action) in enumerate(zip(y, actions, strict=True)):
        grid = whole[i] if whole.ndim == 3 else whole
        out.append(grid[place[action], at[label]])
    return np.array(out)


def test_oracle_mean_and_total_against_a_loop_and_scikit_learn(rows):
    y, done, _ = rows
    each = slow_cost(y, done, COSTS)
    assert mean_cost(y, done, COSTS).value == pytest.approx(each.mean(), rel=1e-12)
    assert total_cost(y, done, COSTS).value == pytest.approx(each.sum(), rel=1e-12)
    labels = ["ok", "bad", "ask"]
    counts = confusion_matrix(y, done, labels=labels)[:2].T  # theirs: a row per class
    found = cost_confusion(y, done, COSTS)
    assert (found.counts == counts).all()
    np.testing.assert_allclose(found.cost, counts * COSTS.costs, rtol=1e-12)
    assert found.total.value == pytest.approx((counts * COSTS.costs).sum())


def test_oracle_costs_by_row(rows, rng):
    y, done, _ = rows
    amount = rng.lognormal(4, 1, len(y))
    costs = CostMatrix.binary(false_alarm=5, miss=amount, classes=("ok", "bad")).with_abstain(
        3, name="ask"
    )
    weight = rng.random(len(y))
    each = slow_cost(y, done, costs)
    found = mean_cost(y, done, costs, sample_weight=weight)
    assert found.value == pytest.approx(weight @ each / weight.sum(), rel=1e-12)
    table = cost_confusion(y, done, costs, sample_weight=weight)
    assert table.cost.sum() == pytest.approx(weight @ each, rel=1e-12)
    assert table.rows.sum() == pytest.approx(weight.sum(), rel=1e-12)


def test_oracle_savings_against_each_action(rows):
    y, done, _ = rows
    found = savings(y, done, COSTS)
    own = slow_cost(y, done, COSTS).mean()
    single = {name: slow_cost(y, [name] * len(y), COSTS).mean() for name in COSTS.actions}
    for name, cost in single.items():
        assert found.against[name].value == pytest.approx(1 - own / cost, rel=1e-12)
        assert found.amount_against[name].value == pytest.approx(cost - own, rel=1e-12)
    assert found.best == min(single, key=single.get)
    assert found.share.value == min(one.value for one in found.against.values())
    assert found.share.low <= found.share.value <= found.share.high


def test_savings_of_the_best_single_action_are_none(rows):
    y = rows[0]
    best = savings(y, rows[1], COSTS).best
    same = savings(y, [best] * len(y), COSTS)
    assert same.share.value == 0
    assert same.share.high < 1e-12  # the best one of a resample is never dearer
    assert same.per_row.value == 0


def test_the_best_rival_is_chosen_anew_in_every_resample():
    y = [0, 1] * 50  # both single actions cost the same
    found = savings(y, [0] * 100, [[0, 1], [1, 0]])
    assert found.share.value == 0
    assert found.share.high <= 1e-12  # whichever is better in a resample, it is not dearer
    assert found.share.low < -0.1
    assert found.against[1].high > 0.1


def test_savings_keep_their_sign_where_the_rival_earns():
    y, costs = [0] * 50 + [1] * 50, [[-1.0, -1.0], [0.0, -4.0]]
    better = savings(y, y, costs)
    assert better.share.value == pytest.approx((-2.0 - -2.5) / 2.0)
    assert better.best == 1
    idle = CostMatrix([[0, 2], [1, 0], [0, 0]], actions=[0, 1, "wait"])
    free = savings(y, y, idle)
    assert np.isnan(free.share.value)
    assert "costs 0" in str(free)


def test_no_miss_among_three_events_is_not_a_cost_of_nothing():
    y, done = [0] * 497 + [1] * 3, [0] * 497 + [1] * 3
    found = mean_cost(y, done, [[0, 400], [5, 0]])
    assert found.value == 0
    # 0 misses in the 497 + 1 rows that were passed: 3.0 / 498 at most, times 400
    assert found.high == pytest.approx(400 * (1 - 0.05 ** (1 / 500)), rel=0.08)
    assert found.low == 0
    assert "3 labelled rows of class 1" in found.method
    table = cost_confusion(y, done, [[0, 400], [5, 0]])
    assert table.counts[0, 1] == 0
    assert table.shares[0][1].high > 0.004
    assert table.costs[0][1].high > 800
    assert "3 labelled rows of class 1" in table.remarks[0]


def test_a_cost_that_few_rows_carry_says_so():
    y, done = [0] * 900 + [1] * 100, [0] * 900 + [1] * 96 + [0] * 4
    found = mean_cost(y, done, [[0, 400], [5, 0]])
    assert "the cost lies on about 4 rows" in found.method
    enough = mean_cost(y, [0] * 1000, [[0, 400], [5, 0]])
    assert "few" not in enough.method


@pytest.mark.parametrize(("heavy", "drawn"), [(False, False), (True, False), (False, True)])
def test_simulation_intervals_cover_with_rare_events(heavy, drawn):
    rng = np.random.default_rng(7)
    covered, reps, n = 0, 150, 500
    truth = 0.01 * 0.3 * 100 * (np.exp(0.5 * 1.2**2) if heavy else 1) + 0.99 * 0.05 * 5
    for _ in range(reps):
        y = (rng.random(n) < 0.01).astype(float)
        done = (rng.random(n) < np.where(y == 1, 0.7, 0.05)).astype(int)
        amount = 100 * np.exp(1.2 * rng.normal(size=n) * heavy)
        chance = np.where(done == 1, 1.0, 0.3) if drawn else np.ones(n)
        seen = rng.random(n) < chance
        found = mean_cost(
            np.where(seen, y, np.nan),
            done,
            CostMatrix.binary(false_alarm=5, miss=amount),
            inclusion=np.where(seen, chance, np.nan),
            resamples=200,
        )
        covered += truth in found
    # Two standard errors below 90 % are 85 %; a percentile interval has 80, 50 and 40 %.
    assert covered / reps >= 0.85


def test_simulation_inclusion_undoes_a_choice_that_skipping_does_not(rng):
    n = 60_000
    y = (rng.random(n) < 0.05).astype(float)
    done = (rng.random(n) < np.where(y == 1, 0.6, 0.05)).astype(int)
    costs = [[0, 100], [5, 0]]
    truth = mean_cost(y, done, costs).value
    chance = np.where(done == 1, 1.0, 0.05)
    seen = rng.random(n) < chance
    labels = np.where(seen, y, np.nan)
    found = mean_cost(labels, done, costs, inclusion=np.where(seen, chance, np.nan))
    assert truth in found
    skipped = mean_cost(labels[seen], done[seen], costs)
    assert truth not in skipped
    whole = total_cost(labels, done, costs, inclusion=np.where(seen, chance, np.nan))
    assert whole.value == pytest.approx(n * found.value)
    with refused("unlabelled-rows", DataError):
        mean_cost(labels, done, costs)


def test_a_choice_of_labels_brings_its_probabilities(rng):
    scores = rng.normal(size=2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(3 - 2 * scores))).astype(float)
    choice = choose_labels(scores, None, policy="random", n=300, random_state=0)
    labels = np.full(2000, np.nan)
    labels[choice.rows] = y[choice.rows]
    done = (scores > 1).astype(int)
    costs = [[0, 20], [1, 0]]
    found = mean_cost(labels, done, costs, inclusion=choice)
    plain = mean_cost(y[choice.rows], done[choice.rows], costs)
    assert found.value == pytest.approx(plain.value, rel=1e-12)
    assert "stated probability" in found.assumes


def test_invariants_of_rows_units_and_names(rows, rng):
    y, done, _ = rows
    base = mean_cost(y, done, COSTS, random_state=3)
    mixed = rng.permutation(len(y))
    again = mean_cost(y[mixed], done[mixed], COSTS, random_state=3)
    assert (again.low, again.high) == (base.low, base.high)
    eightfold = CostMatrix(8 * COSTS.costs, actions=COSTS.actions, classes=COSTS.classes)
    scaled = mean_cost(y, done, eightfold, random_state=3)
    assert scaled.low == pytest.approx(8 * base.low, rel=1e-12)
    assert scaled.high == pytest.approx(8 * base.high, rel=1e-12)
    double = mean_cost(y, done, COSTS, sample_weight=np.full(len(y), 2.0), random_state=3)
    assert double.high == pytest.approx(base.high, rel=1e-12)
    twice = mean_cost(np.tile(y, 2), np.tile(done, 2), COSTS)
    weight_two = mean_cost(y, done, COSTS, sample_weight=[2.0] * len(y))
    assert twice.value == pytest.approx(weight_two.value, rel=1e-12)
    assert twice.width < weight_two.width  # two draws say more than one of weight 2
    assert total_cost(y, done, COSTS).value == pytest.approx(base.value * len(y))


def test_rows_that_are_certain_are_still_a_sample(rows):
    y, done, _ = rows
    plain = mean_cost(y, done, COSTS)
    certain = mean_cost(y, done, COSTS, inclusion=np.ones(len(y)))
    assert (plain.low, plain.high) == (certain.low, certain.high)
    assert plain.low < plain.value < plain.high


def test_confusion_reads_well_and_adds_up(rows):
    y, done, _ = rows
    found = cost_confusion(y, done, COSTS)
    assert found.total.value == pytest.approx(found.cost.sum())
    assert sum(one.value for line in found.shares for one in line) == pytest.approx(1.0)
    np.testing.assert_allclose([one.value for one in found.by_action], found.cost.sum(axis=1))
    np.testing.assert_allclose([one.value for one in found.by_class], found.cost.sum(axis=0))
    for line in (*found.shares, *found.costs):
        assert all(one.low <= one.value <= one.high for one in line)
    text = str(found)
    assert text.splitlines()[1].split()[:3] == ["done", "was", "ok"]
    assert "ask" in text
    json.dumps(found.to_dict())
    json.dumps(savings(y, done, COSTS).to_dict())


def test_confusion_with_labels_for_some(rows, rng):
    y, done, _ = rows
    seen = rng.random(len(y)) < 0.3
    labels = np.where(seen, y, None)
    found = cost_confusion(labels, done, COSTS, inclusion=np.where(seen, 0.3, np.nan))
    assert found.rows.sum() == pytest.approx(len(y))
    assert found.counts.sum() == seen.sum()
    assert found.unlabelled.sum() == (~seen).sum()
    assert "estimated from the rows with a label" in str(found)
    hidden = np.where(seen & (done != "ask"), y, None)
    chance = np.where(done == "ask", 1e-4, 0.3)  # so rare that none was drawn
    with warned("inclusion-sum", rows=len(y)):
        blind = cost_confusion(hidden, done, COSTS, inclusion=chance)
    assert "action-not-labelled" in codes(blind.remarks)
    assert blind.costs[2][0].high > 0  # asking has not become free


def test_drawn_rows_alone_stand_for_the_rows_they_were_drawn_from(rng):
    """The total of 10,000 rows, from a table of the thousand that were drawn: not a tenth of it."""
    y = (rng.random(10_000) < 0.05).astype(float)
    done, costs = np.zeros(10_000, int), [[0, 10], [1, 0]]
    seen = np.arange(10_000) % 10 == 3
    chance = np.where(seen, 0.1, np.nan)
    whole = total_cost(np.where(seen, y, np.nan), done, costs, inclusion=chance)
    alone = total_cost(y[seen], done[seen], costs, inclusion=chance[seen])
    assert alone.value == pytest.approx(whole.value)
    assert whole.value == pytest.approx(100 * y[seen].sum())  # Horvitz and Thompson
    assert (alone.low, alone.high) == pytest.approx((whole.low, whole.high))
    table = cost_confusion(y[seen], done[seen], costs, inclusion=chance[seen])
    assert table.rows.sum() == pytest.approx(10_000)
    certain = total_cost(y, done, costs, inclusion=np.ones(10_000))
    assert certain.value == 10 * y.sum()


@pytest.mark.parametrize(
    ("y", "done", "costs", "code"),
    [
        ([0, 1], [0], [[0, 1], [1, 0]], "length-mismatch"),
        ([0, 1], [0, None], [[0, 1], [1, 0]], "missing-action"),
        ([0, 1], [0, 7], [[0, 1], [1, 0]], "unknown-class"),
        ([0, 3], [0, 1], [[0, 1], [1, 0]], "unknown-class"),
        ([0, 1], [0, 1], CostMatrix.binary(false_alarm=1, miss="amount"), "unbound-costs"),
        ([0, 1], [0, 1], CostMatrix.binary(false_alarm=1, miss=[1, 2, 3]), "length-mismatch"),
        ([], [], [[0, 1], [1, 0]], "no-rows"),
    ],
)
def test_what_does_not_fit_is_refused(y, done, costs, code):
    with refused(code):
        mean_cost(y, done, costs)


def test_oracle_other_actions_on_the_same_rows(rows, rng):
    y, done, prob = rows
    old = np.where(prob > 0.5, "bad", "ok")
    weight = rng.choice([1.0, 2.0], len(y))
    found = savings(y, done, COSTS, against=old, sample_weight=weight)
    own, other = slow_cost(y, done, COSTS), slow_cost(y, old, COSTS)
    mean = np.average(own, weights=weight), np.average(other, weights=weight)
    assert found.per_row.value == pytest.approx(mean[1] - mean[0], rel=1e-12)
    assert found.share.value == pytest.approx(1 - mean[0] / mean[1], rel=1e-12)
    assert found.cost.value == pytest.approx(mean[0])
    assert found.other_cost.value == pytest.approx(mean[1])
    assert found.differ == (done != old).sum()
    turned = savings(y, old, COSTS, against=done, sample_weight=weight)
    assert turned.per_row.value == pytest.approx(-found.per_row.value, rel=1e-12)
    # other draws, for cells are in another order: 1,000 resamples agree to a few percent
    assert turned.per_row.low == pytest.approx(-found.per_row.high, rel=0.05)
    assert turned.per_row.high == pytest.approx(-found.per_row.low, rel=0.05)
    # each single action as a rule is what the table of single actions says
    alone = savings(y, done, COSTS)
    asked = savings(y, done, COSTS, against=["ask"] * len(y))
    assert asked.share.value == pytest.approx(alone.against["ask"].value, rel=1e-12)
    assert asked.against["ask"].value == pytest.approx(alone.against["ask"].value, rel=1e-12)
    assert asked.best == alone.best
    assert "the two differ in" in str(found)
    assert "what the other actions cost" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_paired_interval_is_narrower_than_two(rows, rng):
    y, prob = rows[0], rows[2]
    costs = CostMatrix.binary(false_alarm=5, miss=20, classes=("ok", "bad"))
    done = decide(prob, costs)
    other = np.where(rng.random(len(y)) < 0.05, "bad", done)
    found = savings(y, done, costs, against=other)
    assert found.per_row.low > 0
    assert found.per_row.width < 0.4 * (found.cost.width + found.other_cost.width)


def test_rules_that_agree_so_far_may_differ_in_the_next_row():
    y, done = [0] * 490 + [1] * 10, [0] * 490 + [1] * 10
    found = savings(y, done, [[0, 400], [5, 0]], against=done)
    assert found.per_row.value == 0
    assert found.differ == 0
    high = 400 * (1 - 0.05 ** (1 / 500))  # a first miss of the one, caught by the other
    assert found.per_row.high == pytest.approx(high, rel=0.08)
    assert found.per_row.low == pytest.approx(-high, rel=0.08)


def test_rules_that_never_acted_may_act_in_the_next_row():
    found = savings([0] * 200, [0] * 200, [[0, 40], [5, 0]], against=[0] * 200)
    assert found.per_row.value == 0
    assert found.per_row.high == pytest.approx(40 * (1 - 0.05 ** (1 / 200)), rel=0.1)
    assert found.per_row.low == pytest.approx(-found.per_row.high, rel=0.1)


def test_simulation_paired_intervals_hold():
    """Rules that differ in one row of 250: what they differ in was often not met."""
    rng = np.random.default_rng(3)
    covered, reps, costs = 0, 100, np.array([[0.0, 60.0], [5.0, 0.0]])

    def world(n):
        prob = 1 / (1 + np.exp(3.5 - 1.5 * rng.normal(size=n)))
        y = (rng.random(n) < prob).astype(int)
        done = (prob > 5 / 65).astype(int)
        return y, done, np.where(rng.random(n) < 0.004, 1 - done, done)

    y, done, other = world(2_000_000)
    truth = float((costs[other, y] - costs[done, y]).mean())
    for _ in range(reps):
        y, done, other = world(250)
        covered += truth in savings(y, done, costs, against=other, resamples=100).per_row
    assert covered / reps >= 0.85  # 60 % if only pairs of actions that were met may come


@pytest.mark.parametrize(
    ("against", "code"),
    [
        ([0], "length-mismatch"),
        ([0, 7], "unknown-class"),
        ([0, None], "missing-action"),
    ],
)
def test_strange_rivals_are_refused(against, code):
    with refused(code, argument="against"):
        savings([0, 1], [0, 1], [[0, 1], [1, 0]], against=against)


def test_savings_are_written_without_exponents_and_are_json():
    y, costs = [0] * 90 + [1] * 10, [[0, 1], [100, 0]]
    found = savings(y, [1] * 100, costs)
    assert found.share.value < -10
    assert "e+" not in str(found)
    free = savings([0] * 50, [1] * 50, costs)  # doing nothing costs nothing
    assert np.isnan(free.share.value)
    held = json.loads(json.dumps(free.to_dict(), allow_nan=False))
    assert held["share"]["value"] is None


def test_simulation_an_action_that_was_not_taken_yet_has_honest_limits():
    rng = np.random.default_rng(5)
    costs = CostMatrix.binary(false_alarm=5, miss=60).with_abstain(2)

    def world(n):
        prob = 1 / (1 + np.exp(3.5 - 1.5 * rng.normal(size=n)))
        return (rng.random(n) < prob).astype(int), decide(prob, costs)

    y, done = world(500_000)
    share = np.array([np.mean((done == 1) & (y == k)) for k in (0, 1)])
    truth = 250 * 5 * share[0]
    covered, met, reps = np.zeros(3), 0, 80
    for _ in range(reps):
        y, done = world(250)
        found = cost_confusion(y, done, costs, resamples=100)
        cells = found.shares[1]
        covered += [truth in found.by_action[1], share[0] in cells[0], share[1] in cells[1]]
        met += found.counts[1].any()
    assert met < 0.9 * reps  # otherwise there is nothing to see here
    assert (covered / reps >= 0.85).all()


def test_an_action_that_was_not_taken_is_remarked_on():
    y, done = [0] * 95 + [1] * 5, [0] * 100
    found = cost_confusion(y, done, [[0, 40], [5, 0]])
    assert "action-not-taken" in codes(found.remarks)
    high = 1 - 0.05 ** (1 / 100)
    assert found.shares[1][0].value == 0
    assert found.shares[1][0].high == pytest.approx(high, rel=0.08)
    assert found.by_action[1].high == pytest.approx(100 * 5 * high, rel=0.08)
    amounts = CostMatrix.binary(false_alarm=np.arange(1.0, 101.0), miss=40)
    varied = cost_confusion(y, done, amounts)
    assert varied.costs[1][0].high > 100 * 50 * high  # at what it would have cost in these rows


def test_labels_bought_in_rounds_count(rng):
    n = 3000
    prob = rng.beta(0.6, 4, n)
    y = (rng.random(n) < prob).astype(float)
    labels, choice = label_in_rounds(
        prob,
        lambda rows: y[rows],
        n=400,
        rounds=4,
        policy="uncertainty",
        explore=0.5,
        random_state=1,
    )
    assert choice.in_rounds_by_lot
    done = (prob > 0.3).astype(int)
    costs = [[0, 20], [1, 0]]
    found = total_cost(labels, done, costs, inclusion=choice)
    weight = choice.weights()
    cost = np.array(costs)[done[choice.rows], y[choice.rows].astype(int)]
    assert found.value == pytest.approx(n * (weight @ cost) / weight.sum(), rel=1e-12)
    assert total_cost(y, done, costs).value in found


def test_simulation_events_may_be_dearer_than_the_rest():
    """Amounts of events ten times those of other rows: an unseen event is like the events seen."""
    rng = np.random.default_rng(21)
    covered, reps, n = np.zeros(2), 120, 400
    truth = 0.02 * 0.3 * 10 * np.exp(0.5) + 0.98 * 0.05
    for _ in range(reps):
        y = (rng.random(n) < 0.02).astype(int)
        amount = np.exp(rng.normal(size=n)) * np.where(y == 1, 10, 1)
        done = (rng.random(n) < np.where(y == 1, 0.7, 0.05)).astype(int)
        costs = CostMatrix.binary(false_alarm=1, miss=amount)
        covered[0] += truth in mean_cost(y, done, costs, resamples=100)
        covered[1] += n * truth in cost_confusion(y, done, costs, resamples=100).total
    assert (covered / reps >= 0.85).all()  # 67 % if it is like rows with the same action only


def test_an_unseen_event_costs_what_events_cost():
    y = [0] * 95 + [1] * 5
    costs = CostMatrix.binary(false_alarm=1, miss=[1.0] * 95 + [100.0] * 5)
    found = mean_cost(y, y, costs)
    assert found.value == 0
    assert found.high == pytest.approx(100 * (1 - 0.05 ** (1 / 100)), rel=0.1)
    table = cost_confusion(y, y, costs)
    assert table.costs[0][1].high == pytest.approx(100 * found.high, rel=0.05)


def test_many_paired_rows_go_through_cells_and_keep_their_spread(rng):
    n = 12_000
    amount = rng.lognormal(0, 0.5, n)
    y, done, other = (rng.integers(0, 2, n) for _ in range(3))
    costs = CostMatrix.binary(false_alarm=amount, miss=2 * amount)
    cost = [np.where(d == y, 0, np.where(d == 1, amount, 2 * amount)) for d in (done, other)]
    found = savings(y, done, costs, against=other)
    error = (cost[1] - cost[0]).std() / np.sqrt(n)
    assert found.per_row.width == pytest.approx(2 * 1.645 * error, rel=0.08)
