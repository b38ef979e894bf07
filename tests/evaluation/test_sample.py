"""Rows that speak for others: names, probabilities of labelling, groups; read or refused."""

import numpy as np
import pandas as pd
import pytest

from scarce import DataError, DataWarning, UsageError, choose_labels
from scarce.decisions.decide import encode_labels
from scarce.evaluation.sample import Sample, read_groups, read_sample
from scarce.missed.choose import LabelChoice
from tests.problems import refused


def test_names_are_found_in_any_column():
    names = (0, 1, "ask")
    mixed = [1, "ask", 0, None, np.nan, pd.NA, np.int64(1), True]
    assert encode_labels(mixed, names, "y").tolist() == [1, 2, 0, -1, -1, -1, 1, 1]
    assert encode_labels(pd.Series(["a", None, "b"]), ("a", "b"), "y").tolist() == [0, -1, 1]
    assert encode_labels(np.array([1.0, np.nan]), (0, 1), "y").tolist() == [1, -1]
    assert encode_labels(pd.Series([1, None], dtype="Int64"), (0, 1), "y").tolist() == [1, -1]
    with pytest.raises(DataError, match=r"y holds 'yess' at row 1.*Did you mean 'yes'"):
        encode_labels(["no", "yess"], ("no", "yes"), "y")
    with pytest.raises(DataError, match="one value per row"):
        encode_labels(np.zeros((2, 2)), (0, 1), "y")


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (None, "not like the rest. Pass inclusion="),
        ([np.nan, 0.5, 0.5], "Row 0 is labelled, but inclusion is nan"),
        ([0.0, 0.5, 0.5], "Row 0 is labelled, but inclusion is 0"),
        ([0.5, 0.5, 1.0], "Row 2 was to be labelled for certain"),
        ([0.5, 0.5, 0.0], "Row 2 could never have been labelled"),
        ([0.5, 0.5, 1.5], "inclusion holds 1.5 at row 2"),
    ],
)
def test_missing_outcomes_need_their_probability(chance, words):
    with pytest.raises(DataError, match=words.replace(".", r"\.")):
        read_sample(np.array([True, True, False]), None, chance)


def test_weights_and_probabilities_are_read_together():
    sample = read_sample(np.array([True, False, True, True]), [1, 4, 2, 0], [0.5, np.nan, 1, 0.1])
    assert sample.rows.tolist() == [0, 2]  # a weight of 0 is no row
    assert sample.weight.tolist() == [2.0, 2.0]
    assert sample.total == 7.0
    assert "stated probability" in sample.assumes


@pytest.mark.parametrize("weight", [[1, -1], [0, 0], [1, np.nan], [1, np.inf], [1]])
def test_strange_weights_are_refused(weight):
    with pytest.raises(DataError, match="sample_weight"):
        read_sample(np.array([True, True]), weight, None)


def test_nothing_to_say_without_rows():
    with pytest.raises(DataError, match="empty"):
        read_sample(np.zeros(0, bool), None, None)
    with pytest.raises(DataError, match="label some rows"):
        read_sample(np.zeros(2, bool), None, [np.nan, np.nan])


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (3.0, "not-a-column"),
        (None, "not-a-column"),
        ("yes", "not-a-column"),
        ({"a": 1}, "not-a-column"),
        (np.array(1.0), "not-a-column"),
        ([["no"], ["yes"]], "not-a-column"),
        ([["no", "yes"], ["yes", "no"]], "not-a-column"),
        (np.array(["no", np.nan]), "unknown-class"),
    ],
)
def test_what_is_no_column_is_refused(values, code):
    with refused(code, DataError, argument="y"):
        encode_labels(values, ("no", "yes"), "y")


def test_a_number_and_its_text_are_told_apart():
    with refused("unknown-class", DataError, value="0", row=0) as caught:
        encode_labels(["0", "1"], (0, 1), "y")
    assert "of type int, here str" in caught.value.fields["hint"]


def test_hidden_and_arrow_values_are_missing_ones():
    hidden = np.ma.masked_array([0, 1, 1], [False, True, False])
    assert encode_labels(hidden, (0, 1), "y").tolist() == [0, -1, 1]
    pa = pytest.importorskip("pyarrow")
    assert encode_labels(pa.array(["n", None, "y"]), ("n", "y"), "y").tolist() == [0, -1, 1]
    assert encode_labels(pa.array([True, None]), (0, 1), "y").tolist() == [1, -1]
    words = pa.array(["n", "y"]).dictionary_encode()
    assert encode_labels(words, ("n", "y"), "y").tolist() == [0, 1]


@pytest.mark.parametrize("weight", [[1e308] * 3, [1e-200, 1, 1]])
def test_weights_whose_squares_do_not_exist_are_refused(weight):
    with pytest.raises(DataError, match="divide all of them by one number"):
        read_sample(np.ones(3, bool), weight, None)


@pytest.mark.parametrize("policy", ["tail", "uncertainty"])
def test_labels_chosen_by_rule_speak_for_nobody_else(rng, policy):
    prob = rng.beta(0.5, 5, 2000)
    choice = choose_labels(prob, policy=policy, n=200)
    known = ~np.isnan(choice.inclusion(2000))
    with pytest.raises(DataError, match=r"All 200 labels were certain.*1,800 rows without one"):
        read_sample(known, None, choice)
    with pytest.raises(DataError, match="chosen by rule"):
        read_sample(known, None, choice.inclusion(2000))
    whole = read_sample(np.ones(2000, bool), None, np.ones(2000))  # nobody is left out
    assert len(whole.rows) == 2000
    drawn = choose_labels(prob, policy="random", n=200, random_state=0)
    assert read_sample(~np.isnan(drawn.inclusion(2000)), None, drawn).weight.sum() == 2000


def test_a_choice_among_some_rows_speaks_for_no_more_than_these(rng):
    prob = rng.beta(0.5, 5, 2000)
    choice = choose_labels(prob, policy="audit", n=200, threshold=0.3, random_state=0)
    known = ~np.isnan(choice.inclusion(2000))
    with pytest.raises(DataError, match=f"among {choice.candidates:,} of the 2,000 rows"):
        read_sample(known, None, choice)
    alerts = prob >= 0.3
    chance = np.where(alerts, 1.0, choice.inclusion(2000))
    whole = read_sample(known | alerts, None, chance)
    assert whole.weight.sum() == pytest.approx(2000, rel=0.01)  # lots of unequal probability


def test_probabilities_that_do_not_add_up_are_remarked_on(rng):
    n = 5000
    known = rng.random(n) < np.where(np.arange(n) < 2500, 0.5, 0.0)  # half could not be labelled
    with pytest.warns(DataWarning, match=r"speak for 2,\d+ rows .* and there are 5,000"):
        read_sample(known, None, np.where(known, 0.5, np.nan))
    fair = rng.random(n) < 0.05
    read_sample(fair, None, np.where(fair, 0.05, np.nan))  # no warning, which would be an error


def test_labels_drawn_in_rounds_speak_through_their_weights():
    choice = LabelChoice(
        np.array([7, 2, 5]),
        np.array([0.5, 0.1, 1.0]),
        np.array(["explored", "explored", "uncertainty"]),
        asked=3,
        candidates=11,
        round=np.array([1, 2, 2]),
    )
    known = np.zeros(11, bool)
    known[[2, 5, 7]] = True
    sample = read_sample(known, np.arange(1.0, 12.0), choice)
    assert sample.rows.tolist() == [2, 5, 7]
    wanted = np.arange(1.0, 12.0)[choice.rows] * choice.weights()
    np.testing.assert_allclose(sample.weight, wanted[[1, 2, 0]])
    assert sample.total == 66
    assert "stated probability" in sample.assumes
    known[9] = True
    with pytest.raises(DataError, match="Row 9 is labelled, but inclusion is nan"):
        read_sample(known, None, choice)
    known[[5, 9]] = False
    with pytest.raises(DataError, match="Row 5 was chosen and has no label"):
        read_sample(known, None, choice)


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "b", "c"],
        np.array(["b", "a", "b", "c"]),
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        [2, 1, 2, 5],
        np.array([2.5, 1.5, 2.5, 9.0]),
        [("x", 2), ("x", 1), ("x", 2), ("y", 0)],
        pd.to_datetime(["2024-02-01", "2024-01-01", "2024-02-01", "2024-03-01"]),
    ],
)
def test_groups_may_be_called_anything(groups):
    assert read_groups(groups, 4, np.arange(4)).tolist() == [1, 0, 1, 2]
    assert read_groups(groups, 4, np.array([0, 2, 3])).tolist() == [0, 0, 1]  # no gaps


def test_groups_of_mixed_kinds_keep_the_order_of_rows():
    assert read_groups(["b", 1, "b", 7.5], 4, np.arange(4)).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, None, 2], "no value at row 1"),
        ([1.0, 2.0, np.nan], "no value at row 2"),
        ([[1], [2], [3]], "lists or tables"),
        ([1, 2], "groups 2: give one value for each row"),
        ("card", "of type str"),
        ([4, 4, 4], "All 3 rows with a label are in one group"),
    ],
)
def test_strange_groups_are_refused(groups, words):
    with pytest.raises((DataError, UsageError), match=words):
        read_sample(np.ones(3, bool), None, None, groups)


def test_what_comes_together_is_counted_as_seen_and_once_more_as_around_it():
    # Four groups of five rows; class 1 fills the first one and is one row of the second.
    group = np.repeat(np.arange(4), 5)
    event = np.isin(np.arange(20), [0, 1, 2, 3, 4, 5])
    sample = Sample(np.arange(20), np.ones(20), 20.0, False, group)
    assert sample.together() == 5
    of_events = (2 * (5 * 5 + 1) / 6 + 5) / 3
    assert sample.together(event) == pytest.approx(of_events)
    missed = np.arange(20) == 5
    assert sample.together(event, missed) == pytest.approx((1 * 1 + of_events) / 2)
    assert sample.together(event, np.zeros(20, bool)) == pytest.approx(of_events)
    assert sample.together(np.zeros(20, bool)) == 5  # never met: the whole group may be
    alone = Sample(np.arange(20), np.arange(1.0, 21.0), 20.0, False, np.arange(20))
    assert alone.together(event, missed) == pytest.approx(1)
    assert Sample(np.arange(20), np.ones(20), 20.0, False).together(event) == 1
