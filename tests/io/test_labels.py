"""Labels in three states: nothing is guessed where two readings exist."""

import math

import numpy as np
import pyarrow as pa
import pytest

from scarce.errors import DataError
from scarce.io.labels import read_labels
from scarce.io.open import open_rows
from tests.problems import refused

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "arguments", "classes", "coded"),
    [
        ([0, 1, None], {}, (0, 1), [0, 1, NAN]),
        ([1.0, NAN, None], {}, (0, 1), [1, NAN, NAN]),
        ([0, 0, 0], {}, (0, 1), [0, 0, 0]),
        ([True, False, None], {}, (0, 1), [1, 0, NAN]),
        ([-1, 1, 1], {"negative": -1}, (-1, 1), [0, 1, 1]),
        ([-1, 1, 1], {"negative": -1, "positive": 1}, (-1, 1), [0, 1, 1]),
        ([-1, 1, 0], {"unlabelled": -1}, (0, 1), [NAN, 1, 0]),
        ([0, 1, 0], {"unlabelled": 0}, (0, 1), [NAN, 1, NAN]),  # a background is not "no"
        ([0, 1, 0], {"unlabelled": 0, "positive": 1}, (0, 1), [NAN, 1, NAN]),
        ([0.0, 1.0, NAN], {"unlabelled": 0}, (0, 1), [NAN, 1, NAN]),
        ([-1, 1, 1], {"unlabelled": -1}, (0, 1), [NAN, 1, 1]),
        ([-1, 1, 1], {"unlabelled": -1, "positive": 1}, (0, 1), [NAN, 1, 1]),
        (["yes", "no", None], {"positive": "yes"}, ("no", "yes"), [1, 0, NAN]),
        (["yes", "yes", None], {"positive": "yes"}, ("not yes", "yes"), [1, 1, NAN]),
        ([1, 2, 2], {"positive": 1}, (2, 1), [1, 0, 0]),
        ([0, 0, None], {"positive": 1}, (0, 1), [0, 0, NAN]),
        (
            ["fraud", "ok", "open"],
            {"positive": "fraud", "negative": "ok", "unlabelled": "open"},
            ("ok", "fraud"),
            [1, 0, NAN],
        ),
        (
            ["fraud", "scam", "ok"],
            {"positive": ["fraud", "scam"], "negative": "ok"},
            ("ok", "fraud"),
            [1, 1, 0],
        ),
        (["a", "b", "c"], {}, ("a", "b", "c"), [0, 1, 2]),
        ([3, 1, 2], {"classes": [3, 2, 1]}, (3, 2, 1), [0, 2, 1]),
        ([-1, 0, 1], {"classes": [-1, 0, 1]}, (-1, 0, 1), [0, 1, 2]),
        (["b", "a", "b"], {"classes": ["b", "a"]}, ("b", "a"), [0, 1, 0]),
    ],
)
def test_clear_labels_are_read(values, arguments, classes, coded):
    rows = open_rows(pa.table({"x": [1.0, 2.0, 3.0], "label": values}), label="label", **arguments)
    assert rows.classes == classes
    np.testing.assert_array_equal(next(rows.blocks()).y, coded)


@pytest.mark.parametrize(
    ("values", "arguments", "words"),
    [
        ([-1, 1], {}, "unclear-labels"),
        ([-1, 1], {"positive": 1}, "unclear-labels"),
        ([-1, 0, 1], {}, "unclear-labels"),
        (["no", "yes"], {}, "unclear-labels"),
        ([1, 2], {}, "unclear-labels"),
        ([2, 2], {}, "unclear-labels"),
        (["fraud", "ok", "open"], {"positive": "fraud"}, "unclear-labels"),
        (["fraud", "ok"], {"positive": "frud"}, "no-positives"),
        (["fraud"], {"positive": "frud"}, "no-positives"),
        ([None, None], {}, "no-labels"),
        ([-1, -1], {"unlabelled": -1}, "no-labels"),
        ([0.5, 1.25], {}, "label-type"),
        (list(range(2000)), {}, "label-type"),
        (["a", "b"], {"classes": ["a"]}, "unknown-label"),
        (["a", "b", "c"], {"negative": "a"}, "unclear-labels"),
    ],
)
def test_unclear_labels_are_refused_with_the_argument_that_settles_it(values, arguments, words):
    with refused(words, DataError):
        read_labels("label", values, **arguments)


def test_equal_values_have_one_spelling():
    assert read_labels("y", [1.0, np.int64(0), True]) == ((0, 1), ((0,), (1,)), ())


def test_a_stray_label_in_a_later_file_is_named():
    schema = open_rows(pa.table({"x": [1, 2], "y": ["a", "b"]}), label="y", positive="b").schema
    with refused("unknown-label", DataError):
        open_rows(pa.table({"x": [1, 2], "y": ["a", "c"]}), like=schema)


def test_missing_labels_are_never_a_class():
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": ["yes", "no", None]})
    rows = open_rows(table, label="y", positive=["yes", 1])  # 1 cannot occur in a text column
    np.testing.assert_array_equal(next(rows.blocks()).y, [1, 0, np.nan])
    for missing in (None, math.nan):
        rows = open_rows(np.ones((3, 1)), label=[1, missing, 0])
        assert rows.label_counts()[1] == 1
