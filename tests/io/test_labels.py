"""Labels in three states: nothing is guessed where two readings exist."""

import math

import numpy as np
import pyarrow as pa
import pytest

from scarce.errors import DataError
from scarce.io.labels import read_labels
from scarce.io.open import open_rows

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
        ([-1, 1], {}, r"holds -1 and 1\. If -1 means negative, pass negative=-1; if it means"),
        ([-1, 1], {"positive": 1}, "pass negative=-1"),
        ([-1, 0, 1], {}, r"classes=\[-1, 0, 1\]; if it means .* unlabelled=-1"),
        (["no", "yes"], {}, "Say which one is the event: positive='no' or positive='yes'"),
        ([1, 2], {}, "positive=2"),
        ([2, 2], {}, "positive=2"),
        (["fraud", "ok", "open"], {"positive": "fraud"}, r"negative=\[\.\.\.\].*unlabelled=\["),
        (["fraud", "ok"], {"positive": "frud"}, r"holds no 'frud'.*Did you mean 'fraud'"),
        (["fraud"], {"positive": "frud"}, "Did you mean 'fraud'"),
        ([None, None], {}, "every row is unlabelled"),
        ([-1, -1], {"unlabelled": -1}, "every row is unlabelled"),
        ([0.5, 1.25], {}, "a measurement, not a class"),
        (list(range(2000)), {}, "2,000 different values"),
        (["a", "b"], {"classes": ["a"]}, r"also holds 'b', which classes= does not name"),
        (["a", "b", "c"], {"negative": "a"}, "pass positive= too"),
    ],
)
def test_unclear_labels_are_refused_with_the_argument_that_settles_it(values, arguments, words):
    with pytest.raises(DataError, match=words):
        read_labels("label", values, **arguments)


def test_equal_values_have_one_spelling():
    assert read_labels("y", [1.0, np.int64(0), True]) == ((0, 1), ((0,), (1,)), ())


def test_a_stray_label_in_a_later_file_is_named():
    schema = open_rows(pa.table({"x": [1, 2], "y": ["a", "b"]}), label="y", positive="b").schema
    with pytest.raises(DataError, match=r"'c' at row 1 is none of the classes \['a', 'b'\]"):
        open_rows(pa.table({"x": [1, 2], "y": ["a", "c"]}), like=schema)


def test_missing_labels_are_never_a_class():
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": ["yes", "no", None]})
    rows = open_rows(table, label="y", positive=["yes", 1])  # 1 cannot occur in a text column
    np.testing.assert_array_equal(next(rows.blocks()).y, [1, 0, np.nan])
    for missing in (None, math.nan):
        rows = open_rows(np.ones((3, 1)), label=[1, missing, 0])
        assert rows.label_counts()[1] == 1
