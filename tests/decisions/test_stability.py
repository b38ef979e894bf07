"""How wrong a cost or a prevalence may be: against decisions made anew, and by hand."""

import json

import numpy as np
import pytest

from scarce import correct_prior
from scarce.decisions.costs import CostMatrix
from scarce.decisions.decide import cheapest, decide
from scarce.decisions.stability import FACTORS, StableRange, stable_prior, stable_range
from scarce.errors import DataError, UsageError
from tests.problems import refused

LETTERS = list("abcdef")


def lettered(table, n_classes):
    return CostMatrix(table, actions=LETTERS[: np.shape(table)[-2]], classes=range(n_classes))


def varied(table, vary, factor):
    """The costs with the entries multiplied, written out."""
    table = np.array(table, dtype=float)
    for action, label in vary if isinstance(vary, list) else [vary]:
        a = slice(None) if action is None else LETTERS.index(action)
        k = slice(None) if label is None else label
        table[..., a, k] *= factor
    return table


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize(
    "vary", [("b", 1), (None, 2), ("c", None), [("a", 0), ("d", 2)], [("b", 1), ("c", 1)]]
)
def test_oracle_the_action_is_the_same_inside_and_another_outside(rng, vary, by_row):
    n = 400
    prob = rng.dirichlet(np.ones(3), n)
    table = rng.normal(size=(n, 4, 3) if by_row else (4, 3))
    found = stable_range(prob, lettered(table, 3), vary=vary)
    chosen = decide(prob, lettered(table, 3))
    np.testing.assert_array_equal(found.actions, chosen)
    assert ((found.low >= 0) & (found.low <= 1) & (found.high >= 1)).all()
    before = 0.0
    for factor in np.geomspace(1e-3, 1e3, 121):
        again = decide(prob, lettered(varied(table, vary, factor), 3))
        inside = (found.low < factor * (1 - 1e-9)) & (factor * (1 + 1e-9) < found.high)
        outside = (factor * (1 + 1e-9) < found.low) | (found.high < factor * (1 - 1e-9))
        np.testing.assert_array_equal(again[inside], chosen[inside])
        assert (again[outside] != chosen[outside]).all()
        assert (inside | outside).all()
        before = max(before, float(outside.mean()))
    assert before > 0.05  # some do change


def test_by_hand_the_ratio_of_misses_to_false_alarms():
    """Threshold 1 / (1 + miss): a row at p keeps its action until miss is (1 - p) / p."""
    costs = CostMatrix.binary(false_alarm=1, miss=9, classes=("legit", "fraud"))
    prob = np.array([0.05, 0.09, 0.1, 0.5, 0.999, 0.0, 1.0])
    found = stable_range(prob, costs)
    turn = np.array([0.95 / 0.05, 0.91 / 0.09, 9.0, 1.0, 0.001 / 0.999]) / 9
    np.testing.assert_allclose(found.high[:2], turn[:2])
    np.testing.assert_allclose(found.low[3:5], turn[3:5])
    np.testing.assert_allclose(found.low[[0, 1, 5, 6]], 0.0)
    np.testing.assert_allclose(found.high[3:7], np.inf)
    # At the threshold itself the two tie, so that any change of one side changes the action.
    tie = 2
    assert found.low[tie] == 1.0 or found.high[tie] == 1.0
    named = stable_range(prob, costs, vary=("legit", "fraud"))
    np.testing.assert_array_equal(found.high, named.high)
    assert found.varied == "legit when the class is fraud"


def test_the_ratio_is_the_default_beside_an_action_to_ask_too():
    costs = CostMatrix.binary(false_alarm=1, miss=9).with_abstain(0.3)
    prob = np.linspace(0.001, 0.999, 300)
    found = stable_range(prob, costs)
    for factor in (0.2, 0.7, 1.4, 6.0):
        other = CostMatrix.binary(false_alarm=1, miss=9 * factor).with_abstain(0.3)
        same = cheapest(prob, other) == cheapest(prob, costs)
        np.testing.assert_array_equal(same, (found.low <= factor) & (factor <= found.high))


def test_share_counts_rows_that_hold_either_way(rng):
    prob = rng.beta(0.5, 3, 2000)
    costs = CostMatrix.binary(false_alarm=1, miss=9)
    found = stable_range(prob, costs)
    chosen = cheapest(prob, costs)
    for factor in FACTORS:
        more = cheapest(prob, CostMatrix.binary(false_alarm=1, miss=9 * factor))
        less = cheapest(prob, CostMatrix.binary(false_alarm=1, miss=9 / factor))
        assert found.share(factor) == np.mean((more == chosen) & (less == chosen))
    assert found.share(1) == 1.0
    shares = [found.share(factor) for factor in FACTORS]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1]


def test_ranges_do_not_depend_on_the_unit_or_on_dominated_actions(rng):
    prob = rng.dirichlet(np.ones(3), 200)
    table = rng.random((3, 3))
    plain = stable_range(prob, lettered(table, 3), vary=("b", 1))
    scaled = stable_range(prob, lettered(16 * table, 3), vary=("b", 1))
    np.testing.assert_array_equal(plain.low, scaled.low)
    np.testing.assert_array_equal(plain.high, scaled.high)
    worse = np.vstack([table, table.max(axis=0) + 1])
    more = stable_range(prob, lettered(worse, 3), vary=("a", 1))
    same = stable_range(prob, lettered(table, 3), vary=("a", 1))
    # A dominated action matters only where the cost of the one that it trails is raised to it.
    assert (more.high <= same.high).all()
    np.testing.assert_array_equal(more.low, same.low)


def test_a_class_that_cannot_be_leaves_the_action_alone():
    found = stable_range([[0.3, 0.7, 0.0]], lettered(np.ones((3, 3)) - np.eye(3), 3), vary=("b", 2))
    assert found.low.tolist() == [0.0]
    assert found.high.tolist() == [np.inf]


def test_rounding_never_shuts_the_factor_out(rng):
    """Ties on paper that are none in the last digit must still leave 1 inside, and touch it."""
    prob = rng.random(2000)
    costs = CostMatrix.binary(false_alarm=1, miss=1 / prob - 1)  # each row on its own threshold
    found = stable_range(prob, costs)
    assert (np.minimum(1 / np.maximum(found.low, 1e-9), found.high) < 1 + 1e-12).all()
    tenths = np.array([at for at in np.ndindex(11, 11, 11) if sum(at) == 10]) / 10
    for _ in range(60):
        costs = lettered(rng.integers(0, 10, (5, 3)) / 10, 3)
        found = stable_range(tenths, costs, vary=[("b", 1), ("b", 2), ("c", 1)])
        assert ((found.low <= 1) & (found.high >= 1)).all()
        assert found.share(1) == 1.0


@pytest.mark.parametrize("function", ["range", "prior"])
def test_small_pieces_give_the_same_bits(rng, monkeypatch, function):
    prob = rng.random(5000)
    costs = CostMatrix.binary(false_alarm=1, miss=20 * rng.random(5000)).with_abstain(0.3)

    def run():
        if function == "prior":
            return stable_prior(prob, costs, trained_at=0.3)
        return stable_range(prob, costs)

    whole = run()
    monkeypatch.setattr("scarce.decisions.decide.CELLS", 1)
    parts = run()
    np.testing.assert_array_equal(whole.low, parts.low)
    np.testing.assert_array_equal(whole.high, parts.high)


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        (("d", 1), ("unknown-action", {"name": "d"})),
        (("b", 7), ("unknown-class", {"name": 7})),
        ((None, None), ("vary-type", {})),
        ("b", ("vary-type", {})),
        (None, ("missing-argument", {"vary": "vary"})),
        ([("b", 1), "c"], ("vary-type", {})),
        ([], ("vary-type", {})),
    ],
)
def test_what_cannot_be_varied_is_refused(vary, words):
    with refused(words[0], UsageError, **words[1]):
        stable_range([0.1, 0.2], lettered([[0, 9], [1, 0], [2, 2]], 2), vary=vary)


def test_factors_below_one_are_refused():
    found = stable_range([0.1, 0.2], [[0, 9], [1, 0]])
    for factor in (0.5, np.nan, np.inf, "2", True):
        with refused("number-range", UsageError):
            found.share(factor)


def test_rows_that_do_not_fit_the_costs_are_refused():
    costs = CostMatrix.binary(false_alarm=1, miss=[1.0, 2.0, 3.0])
    with refused("length-mismatch", DataError, argument="prob", cost_rows=3):
        stable_range([0.1, 0.2], costs)
    with refused("length-mismatch", DataError, argument="prob", cost_rows=3):
        stable_prior([0.1, 0.2], costs, trained_at=0.5)
    with refused("no-rows", DataError):
        stable_range([], [[0, 9], [1, 0]])


def test_the_record_is_readable_and_goes_to_json():
    found = StableRange(
        np.array(["a", "b", "b"]),
        np.array([0.0, 0.5, 0.95]),
        np.array([1.1, 2.0, np.inf]),
        "b when the class is 1",
        ("a", "b"),
    )
    assert str(found).splitlines()[:4] == [
        "3 rows: a for 1, b for 2",
        "share of rows that keep their action if the cost of b when the class is 1 were off",
        "by a factor of up to, either way",
        "  1.25    33 %",
    ]
    told = json.loads(json.dumps(found.to_dict()))
    assert told["high"] == [1.1, 2.0, "Infinity"]
    assert told["share"]["2"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("by_row", [False, True])
def test_oracle_prevalence_ranges_agree_with_corrected_probabilities(rng, by_row):
    n = 500
    prob = rng.random(n)
    table = rng.normal(size=(n, 4, 2) if by_row else (4, 2))
    costs = lettered(table, 2)
    found = stable_prior(prob, costs, trained_at=0.2)
    chosen = decide(prob, costs)
    np.testing.assert_array_equal(found.actions, chosen)
    changed = 0
    for now in np.linspace(0.001, 0.999, 97):
        again = decide(correct_prior(prob, 0.2, now), costs)
        inside = (found.low + 1e-9 < now) & (now < found.high - 1e-9)
        outside = (now < found.low - 1e-9) | (found.high + 1e-9 < now)
        np.testing.assert_array_equal(again[inside], chosen[inside])
        assert (again[outside] != chosen[outside]).all()
        changed += outside.sum()
        assert found.share(now) == pytest.approx(np.mean(again == chosen), abs=2 / n)
    assert changed > 1000


def test_prevalence_moves_no_row_that_is_certain_and_both_tails_are_kept():
    costs = [[0, 9], [1, 0]]
    found = stable_prior([0.0, 1.0, 1e-300], costs, trained_at=0.5)
    assert found.low.tolist() == [0.0, 0.0, 0.0]
    assert found.high.tolist() == [1.0, 1.0, 1.0]
    close = stable_prior([1e-12], costs, trained_at=1e-6)
    # The odds must rise to 1/9: 1e-12 * x / 1e-6 (up to terms in 1e-6) = 1/9.
    odds = close.high[0] / (1 - close.high[0])
    assert odds == pytest.approx(1 / 9 / (1e-12 / (1 - 1e-12)) * (1e-6 / (1 - 1e-6)), rel=1e-9)


def test_prevalence_is_asked_for_two_classes_and_a_share():
    with refused("two-classes-needed", UsageError, count=3):
        stable_prior([[0.1, 0.2, 0.7]], 1 - np.eye(3), trained_at=0.5)
    for share in (0, 1, -0.1, np.nan, "half", [0.5, 0.6]):
        with refused("base-rate-type" if share == "half" else "base-rate-range", UsageError):
            stable_prior([0.1], [[0, 9], [1, 0]], trained_at=share)
        with refused("base-rate-range", UsageError):
            stable_prior([0.1], [[0, 9], [1, 0]], trained_at=0.5).share(share)


def test_the_record_of_prevalences_is_readable_and_goes_to_json():
    found = stable_prior([0.5, 0.02, 0.11], [[0, 9], [1, 0]], trained_at=0.5)
    assert str(found).splitlines()[:3] == [
        "3 rows: 0 for 1, 1 for 2",
        "share of rows that keep their action if the prevalence were, in place of 0.5",
        "   0.0909    33 %",
    ]
    told = json.loads(json.dumps(found.to_dict()))
    assert told["trained_at"] == 0.5
    assert len(told["low"]) == len(found) == 3
