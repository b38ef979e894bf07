"""Calibration with few events: the stored table, and one world of each kind."""

import pytest

from experiments.calibrate import run as calibrate
from experiments.frame import FOLDER, read_results


@pytest.fixture(scope="module")
def stored():
    found = read_results(FOLDER / "calibrate").comparisons
    return {row.quantity: row for row in found}


def test_a_model_that_needs_none_is_not_harmed_and_the_others_gain(stored):
    for events in calibrate.EVENTS:
        assert stored[f"{events} events, logit: Calibrated / as it is"].ours <= 1.005
        for name, most in (("naive Bayes", 0.9), ("balanced logit", 0.4), ("forest", 0.85)):
            assert stored[f"{events} events, {name}: Calibrated / as it is"].ours < most
        assert stored[f"{events} events, boosting: Calibrated / as it is"].ours < 0.95


def test_the_band_of_a_curve_holds(stored):
    for events in calibrate.CURVES:
        held = stored[
            f"{events} events, curve: the 90 % band holds the curve of right probabilities"
        ]
        assert 0.88 <= held.ours <= 0.96
        assert stored[f"{events} events, curve: p <= .1 for right probabilities"].ours <= 0.15


def test_the_table_is_made_of_single_worlds(stored, monkeypatch):
    monkeypatch.setattr(calibrate, "MODELS", {"logit": calibrate.MODELS["logit"]})
    todo = [calibrate.Job("classifiers", 6, k) for k in (0, 1)]
    todo += [calibrate.Job("curve", 12, k) for k in (0, 1)]
    assert set(calibrate.jobs(quick=True)) <= set(calibrate.jobs(quick=False))
    records = [calibrate.do(job) for job in todo]
    rows = calibrate.comparisons(records)
    assert {row.quantity for row in rows} <= set(stored)
    first = rows[0]
    ratios = [
        r["figures"]["logit"]["Calibrated"] / r["figures"]["logit"]["none"] for r in records[:2]
    ]
    assert first.ours == pytest.approx(sum(ratios) / 2)
