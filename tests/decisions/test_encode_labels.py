"""Classes and actions by their names, in any kind of column."""

import numpy as np
import pandas as pd
import pytest

from scarce import DataError
from scarce.decisions.decide import encode_labels
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
