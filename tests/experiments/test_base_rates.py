"""base_rates: the page says what the stored results say, and a few repeats agree with them."""

import numpy as np
import pytest

from experiments.base_rates import run as base_rates
from experiments.frame import FOLDER, read_results


@pytest.fixture(scope="module")
def stored():
    found = read_results(FOLDER / "base_rates")
    return {row.quantity: row for row in found.comparisons}


def test_the_interval_and_the_test_keep_their_level(stored):
    assert 0.87 <= stored["90 % interval holds the truth: all worlds"].ours <= 0.93
    alarms = stored["false alarms of the test at 5 %, all worlds"]
    assert alarms.ours <= 0.05 + alarms.standard_error


def test_ours_is_nearer_to_the_oracle_than_the_rivals(stored):
    loss = {
        one.rpartition(": ")[2]: row.ours for one, row in stored.items() if "log of loss" in one
    }
    assert loss["scarce"] < min(loss[one] for one in loss if one != "scarce")


def test_a_few_repeats_agree(stored, monkeypatch):
    some = dict(list(base_rates.WORLDS.items())[:1])
    monkeypatch.setattr(base_rates, "WORLDS", some)
    rows = base_rates.world_rows(10, lambda text: None)
    old = stored["90 % interval holds the truth: more events"]
    new = rows[0]
    assert new.quantity == old.quantity
    assert abs(new.ours - old.ours) <= 0.25


def test_rows_are_thinned_to_the_odds_asked_for():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [900, 100])
    for factor, odds in ((3.0, 1 / 3), (1 / 3, 1 / 27)):
        kept = y[base_rates.thinned(y, factor, rng)]
        assert kept.mean() / (1 - kept.mean()) == pytest.approx(odds, rel=0.02)
