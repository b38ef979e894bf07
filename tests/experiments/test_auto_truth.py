"""AutoClassifier where the truth is known: the stored table, and one fit of each kind."""

import numpy as np
import pytest

from experiments.auto_truth import run as truth
from experiments.frame import FOLDER, read_results


@pytest.fixture(scope="module")
def stored():
    return read_results(FOLDER / "auto_truth").comparisons


def test_every_member_at_every_size_gives_the_true_mean(stored):
    means = [row for row in stored if row.quantity.startswith("mean given")]
    assert len(means) == len(truth.REPEATS) * (len(truth.MEMBERS) + 1)
    for row in means:
        assert abs(row.ours - 1) < min(0.03, 3 * row.standard_error), row.quantity


def test_noise_is_left_to_the_constant(stored):
    share = {row.quantity: row.ours for row in stored if row.quantity.startswith("noise")}
    for rows in truth.NOISE_TABLES:
        assert share[f"noise, {rows:,} rows: something else than the constant predicts"] <= 0.1
        assert share[f"noise, {rows:,} rows: log loss above the constant's"] < 0.002


def test_left_out_rows_say_the_gain_of_new_rows(stored):
    gains = [row for row in stored if row.quantity.startswith("gain that left-out rows said")]
    assert len(gains) == len(truth.REPEATS)
    for row in gains:
        assert abs(row.ours - 1) < max(0.03, 3 * row.standard_error), row.quantity


def test_the_table_is_made_of_single_fits():
    todo = [truth.Job("signal", "logit", 1000, 0), truth.Job("signal", "logit", 1000, 1)]
    todo.append(truth.Job("noise", "logit", truth.NOISE_ROWS, 0))
    assert set(truth.jobs(quick=True)) <= set(truth.jobs(quick=False))
    records = [truth.do(job) for job in todo]
    mean, *noise = truth.comparisons(records)
    assert mean.ours == pytest.approx(np.mean([records[0]["ratio"], records[1]["ratio"]]))
    assert mean.repeats == 2
    assert len(noise) == 4
