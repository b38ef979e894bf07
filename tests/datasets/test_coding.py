import numpy as np
import pyarrow
import pytest

from scarce.datasets.coding import encode, is_text, numbers_of


@pytest.fixture
def table():
    return pyarrow.table(
        {
            "age": pyarrow.array([31, None, 50], pyarrow.int32()),
            "colour": pyarrow.array(["red", "blue", None], pyarrow.large_string()),
            "only": ["same", "same", "same"],
        }
    )


def test_one_hot_codes_every_level_and_keeps_missing_missing(table):
    X, columns, levels = encode(table, ["age", "colour", "only"], "one-hot")
    assert columns == ("age", "colour=blue", "colour=red", "only=same")
    assert levels == {"colour": ("blue", "red"), "only": ("same",)}
    nan = np.nan
    np.testing.assert_array_equal(X, [[31, 0, 1, 1], [nan, 1, 0, 1], [50, nan, nan, 1]])
    assert X.dtype == np.float64


def test_codes_are_positions_among_the_sorted_levels(table):
    X, columns, levels = encode(table, ["colour", "age"], "codes")
    assert columns == ("colour", "age")
    assert levels == {"colour": ("blue", "red")}
    np.testing.assert_array_equal(X, [[1, 31], [0, np.nan], [np.nan, 50]])


def test_no_columns_give_an_empty_array_of_all_rows(table):
    assert encode(table, [], "codes")[0].shape == (3, 0)


def test_numbers_are_writable_copies(table):
    values = numbers_of(table["age"])
    values[0] = 0.0
    assert table["age"][0].as_py() == 31
    assert is_text(table["colour"])
    assert not is_text(table["age"])
