"""GaussianBayes on 38 tables: the stored table, and one table anew."""

import pytest

from experiments.frame import FOLDER, read_results
from experiments.generative import run as generative


@pytest.fixture(scope="module")
def stored():
    return {row.quantity: row for row in read_results(FOLDER / "generative").comparisons}


def test_calibrated_models_are_never_worse_than_the_constant(stored):
    row = stored[f"share of tables above {generative.GUARD}, default"]
    assert row.repeats == 38
    assert row.ours == 0.0
    assert stored[f"share of tables above {generative.GUARD}, shrunk"].ours == 0.0
    assert stored[f"share of tables above {generative.GUARD}, diag, raw"].ours > 0.3
    for part in ("DEV", "CON"):
        for way in generative.WAYS:
            raw = stored[f"{part}, {way}, default, raw"].ours
            assert stored[f"{part}, {way}, default"].ours < raw + 0.01


def test_a_table_anew_and_the_geometric_mean(real_data):
    job = generative.Job("glass", "mcar", 0)
    assert job in generative.jobs(quick=True)
    assert len({(one.name, one.way) for one in generative.jobs(quick=False)}) == 38
    record = generative.do(job)
    assert record["ratios"]["default"] < generative.GUARD + 0.1
    other = {**record, "name": "car", "ratios": {k: v**3 for k, v in record["ratios"].items()}}
    rows = {row.quantity: row for row in generative.comparisons([record, other])}
    wanted = record["ratios"]["default"] ** 2
    assert rows["DEV, mcar, default"].ours == pytest.approx(wanted)
