"""Labels as scikit-learn users pass them: any value is a class, only missing means not labelled."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from scarce.errors import DataError
from scarce.models.inputs import label_codes

NAN = np.nan


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        ([-1, 1, -1], [0, 1, 0], [-1, 1]),
        ([0.0, NAN, 2.0], [0, NAN, 1], [0, 2]),
        (["b", None, "a"], [1, NAN, 0], ["a", "b"]),
        (np.array(["b", "c", "a"]), [1, 2, 0], ["a", "b", "c"]),
        ([True, False, True], [1, 0, 1], [False, True]),
        (np.array([1, None, 0], dtype=object), [1, NAN, 0], [0, 1]),
        (pd.Series([1, None, 0], dtype="Int64"), [1, NAN, 0], [0, 1]),
        (pd.Series(["x", pd.NA, "w"], dtype="string"), [1, NAN, 0], ["w", "x"]),
        (pd.Series(["x", None, "w"], dtype="category"), [1, NAN, 0], ["w", "x"]),
        (pd.Series([True, pd.NA, False], dtype="boolean"), [1, NAN, 0], [False, True]),
        (pl.Series([1, None, 0]), [1, NAN, 0], [0, 1]),
        (pl.Series(["b", None, "a"]), [1, NAN, 0], ["a", "b"]),
    ],
    ids=str,
)
def test_labels_of_every_kind(y, codes, classes):
    found, named = label_codes(y, 3)
    np.testing.assert_array_equal(found, codes)
    assert named.tolist() == classes


def test_infinite_and_continuous_labels_are_refused():
    with pytest.raises(DataError, match="contains infinity"):
        label_codes([0.0, np.inf], 2)
    with pytest.raises(ValueError, match="continuous"):
        label_codes([0.5, 1.25, 3.75], 3)
