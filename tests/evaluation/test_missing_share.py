"""Calibration by share of missing values: bins, every kind of table, z against a simulation."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit

from scarce import evaluate_by, open_rows, share_of_missing
from scarce.evaluation.missing_share import bins_of_missing, missing_shares, missing_table
from tests.problems import refused


def test_every_kind_of_table_has_the_same_shares():
    values = {"a": [1.0, None, 3.0, None], "b": ["x", "y", None, None]}
    expected = [0.0, 0.5, 0.5, 1.0]
    frame = pd.DataFrame(values)
    tables = [frame, pl.DataFrame(values), pa.table(values), frame.to_numpy(dtype=object)]
    tables += [frame.astype({"a": "Float64", "b": "category"}), frame.convert_dtypes()]
    for table in tables:
        np.testing.assert_array_equal(missing_shares(table), expected)
    empty = {"a": ["x", "", "y"], "b": ["", "", "z"], "c": [1.0, 2.0, 3.0]}
    frame = pd.DataFrame(empty)
    rows = open_rows(frame.assign(y=[0, 1, 1]), label="y")
    tables = [rows, frame, frame.astype({"a": object}), pl.DataFrame(empty), pa.table(empty)]
    for table in [*tables, frame.to_numpy(str), frame.to_numpy(np.dtypes.StringDType())]:
        np.testing.assert_allclose(missing_shares(table), [1 / 3, 2 / 3, 0.0])
    dates = pd.DataFrame({"d": pd.to_datetime(["2026-01-01", None])})
    np.testing.assert_array_equal(missing_shares(dates), [0.0, 1.0])
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, True], [False, False]])
    np.testing.assert_array_equal(missing_shares(masked), [0.5, 0.0])


def test_one_hot_columns_are_one_source_column():
    table = pa.table({"x": [1.0, None, 2.0, 3.0] * 5, "town": ["a", "b", None, "c"] * 5})
    rows = open_rows(table, indicators=True)
    assert len(rows.names) > 2
    np.testing.assert_array_equal(missing_shares(rows)[:4], [0.0, 0.5, 0.5, 0.0])


def test_bins_hold_enough_rows_and_events_and_their_upper_ends():
    share = np.repeat([0.0, 0.1, 0.11, 0.2, 0.3, 0.5, 0.51, 1.0], 100)
    names = ["0 %", "0-10 %", "10-20 %", "10-20 %", "20-30 %", "30-50 %", "50-100 %", "50-100 %"]
    assert bins_of_missing(share)[::100].tolist() == names
    y = np.zeros(800)
    y[:100:10] = y[100:200:10] = 1  # events in the first two bins alone
    bins = bins_of_missing(share, y)
    assert bins[::100].tolist() == ["0 %"] + ["0-100 %"] * 7
    y[:] = np.nan
    assert set(bins_of_missing(share, y)) == {"0-100 %"}
    few = np.append(np.zeros(1000), [0.05] * 3)
    assert set(bins_of_missing(few)) == {"0-10 %"}
    order = np.random.default_rng(0).permutation(800)
    np.testing.assert_array_equal(bins_of_missing(share[order]), bins_of_missing(share)[order])


def test_z_is_standard_normal_where_probabilities_are_right_and_large_where_not():
    rng = np.random.default_rng(0)
    group, found = np.repeat(np.arange(100), 4), []
    for _ in range(60):
        prob = rng.beta(1, 9, 400)
        y = (rng.random(400) < prob).astype(float)
        weight = rng.uniform(0.5, 2.0, 400)
        one = evaluate_by(y, prob, ["0 %"] * 400, sample_weight=weight, resamples=100)
        found.append(one.segments[0].z)
    assert abs(np.mean(found)) < 0.4
    assert np.std(found) == pytest.approx(1.0, abs=0.25)
    plain = evaluate_by(y, prob, ["0 %"] * 400).segments[0]
    assert plain.z == pytest.approx((y - prob).sum() / np.sqrt((prob * (1 - prob)).sum()))
    copied = evaluate_by(y[group], prob[group], ["0 %"] * 400, groups=group).segments[0]
    first = evaluate_by(y[:100], prob[:100], ["0 %"] * 100).segments[0]
    assert copied.z == pytest.approx(first.z, rel=1e-9)


def test_a_model_that_is_too_sure_with_missing_values_is_found_out():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 5))
    y = (rng.random(4000) < expit(X.sum(axis=1) - 2)).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    prob = expit(np.where(np.isnan(X), 0.8, X).sum(axis=1) - 2)
    words = missing_table(evaluate_by(y, prob, share_of_missing(X, y)))
    assert [one.code for one in words.remarks] == ["missing-values-off"]
    assert not words.remarks[0].fields["bins"].startswith("0 %")
    right = np.isnan(X).sum(axis=1) == 0
    assert missing_table(evaluate_by(y[right], prob[right], ["0 %"] * right.sum())).remarks == ()


def test_what_cannot_work_is_refused():
    with refused("shape-mismatch"):
        share_of_missing([1.0, np.nan])
    with refused("length-mismatch"):
        share_of_missing([[1.0, np.nan]], [0, 1])
    with refused("no-columns"):
        share_of_missing(np.empty((3, 0)))
