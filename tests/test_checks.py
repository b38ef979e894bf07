"""One reader per role: what each takes, and by which code it refuses the rest."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scarce import checks
from scarce.errors import DataError, UsageError
from tests.problems import refused

NAN = float("nan")


@pytest.mark.parametrize(
    "value", [None, NAN, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_missing_values(value):
    assert checks.is_missing(value)


@pytest.mark.parametrize("value", [0, "", "nan", False, np.inf, [], datetime.date(2026, 1, 1)])
def test_values_that_are_not_missing(value):
    assert not checks.is_missing(value)


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 0],
        np.array([1.0, NAN, 0.0]),
        np.ma.array([1, 5, 0], mask=[False, True, False]),
        pd.Series([1, None, 0], dtype="Int64"),
        pl.Series([1, None, 0]),
        pa.array([1, None, 0]),
        pa.chunked_array([[1], [None, 0]]),
        np.array([[1.0], [NAN], [0.0]]),
    ],
)
def test_a_column_is_read_alike_from_every_library(values):
    np.testing.assert_array_equal(checks.read_labels(values, 3), [1.0, NAN, 0.0])


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ("file.csv", "not-a-column"),
        (np.zeros((3, 2)), "not-a-column"),
        (["a", "b"], "not-a-number"),
        ([1, "b"], "not-a-number"),
        ([datetime.date(2026, 1, 1)], "not-a-number"),
        (np.array(["2026"], dtype="M8[Y]"), "not-a-number"),
        ([1j], "not-a-number"),
        ([10**400], "not-a-number"),
    ],
)
def test_what_is_not_a_column_of_numbers(values, code):
    with refused(code, DataError, argument="prob"):
        checks.read_column(values, "prob")


def test_roles_name_the_row_and_the_value():
    with refused("not-finite", argument="scores", count=2, row=1):
        checks.read_scores([0.1, NAN, np.inf])
    with refused("no-rows"):
        checks.read_scores([])
    with refused("unknown-label", argument="y_true", value=2.0, row=1):
        checks.read_labels([1, 2], 2, "y_true")
    with refused("length-mismatch", argument="labels", rows=3):
        checks.read_labels([1, 0], 3)
    with refused("prob-range", value=-0.1, row=0):
        checks.read_prob([-0.1, 0.5])
    with refused("prob-range", row=1):
        checks.read_prob([0.5, NAN])
    with refused("weight-range", value=-1.0, row=1):
        checks.read_weight([1, -1], 2)
    with refused("no-weight", rows=2):
        checks.read_weight([0, 0], 2)
    with refused("inclusion-range", value=1e-13, row=0):
        checks.read_inclusion([1e-13, 1.0], 2)


def test_single_values():
    for level in (0, 1, 1.5, NAN, "0.9", True, None):
        with refused("level-range", UsageError, argument="level"):
            checks.read_level(level)
    for seed in (-1, 1.5, "1"):
        with refused("seed-value", UsageError, value=seed):
            checks.read_seed(seed)
    for n in (0, 1.0, True, "3", None):
        with refused("integer-range", UsageError, value=n, least=1):
            checks.read_integer(n, "n")
    assert checks.read_level(np.float64(0.9)) == 0.9
    assert checks.read_seed(np.int64(7)) == 7
    assert checks.read_weight(None, 3).tolist() == [1.0, 1.0, 1.0]
    assert checks.read_inclusion(None, 3) is None


class Model:
    def __init__(self, **parameters):
        vars(self).update({"ridge": 1.0, "loss": "auto", "n": 3, "flag": True} | parameters)


ALLOWED = {
    "ridge": [checks.Number(0), checks.Word("auto"), checks.NONE],
    "loss": [checks.Word("auto", "logistic")],
    "n": [checks.Number(1, whole=True)],
    "flag": [checks.FLAG],
}


@pytest.mark.parametrize(
    "good", [{}, {"ridge": None}, {"ridge": "auto"}, {"ridge": 0}, {"n": np.int64(1)}]
)
def test_parameters_that_may_be_used(good):
    checks.check_parameters(Model(**good), ALLOWED)


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"ridge": -1}, "invalid-parameter"),
        ({"ridge": NAN}, "invalid-parameter"),
        ({"ridge": np.inf}, "invalid-parameter"),
        ({"ridge": True}, "invalid-parameter"),
        ({"ridge": np.array([1.0, 2.0])}, "invalid-parameter"),
        ({"loss": "logit"}, "unknown-word"),
        ({"loss": 3}, "unknown-word"),
        ({"n": 1.0}, "invalid-parameter"),
        ({"flag": 1}, "invalid-parameter"),
    ],
)
def test_parameters_that_may_not_be_used(bad, code):
    with refused(code, UsageError, argument=next(iter(bad))):
        checks.check_parameters(Model(**bad), ALLOWED)


def test_a_class_without_weight_is_named_where_others_have_some():
    with refused("class-without-weight", DataError, name="'b'", classes="'a' and 'c'"):
        checks.refuse_one_class(["a", "b", "c"], np.array([2.0, 0.0, 1.0]))
    with refused("one-class", DataError, classes="'c'"):
        checks.refuse_one_class(["a", "b", "c"], np.array([0.0, 0.0, 1.0]))
