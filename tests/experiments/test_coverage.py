"""Coverage of every interval of evaluation: the stored table, and a slice of it made anew."""

import numpy as np
import pytest

from experiments.coverage import run as coverage
from experiments.coverage.figures import FAMILIES
from experiments.coverage.worlds import WORLDS
from experiments.frame import FOLDER, read_results
from tests.experiments.stored import assert_page

TOO_NARROW = {"brier difference | 12 events"}  # a few rows with high probabilities carry it


@pytest.fixture(scope="module")
def stored():
    return list(read_results(FOLDER / "coverage").comparisons)


def test_the_page_is_that_of_the_rows(stored):
    page = (FOLDER / "coverage" / "results.md").read_text(encoding="utf-8")
    assert_page(coverage.page(stored), page)


def test_no_interval_promises_too_much(stored):
    """Nominal .90, 400 draws a cell: of 549 cells some are three standard errors below it."""
    for row in stored:
        assert row.repeats >= 380, row.quantity  # of 400, where there is an interval
        assert row.ours >= 0.9 - 4 * 0.015 or row.quantity in TOO_NARROW, row.quantity
    assert sum(row.ours < 0.87 for row in stored) <= 3


def test_every_world_and_family_is_in_the_table(stored):
    worlds = {row.quantity.partition(" | ")[2] for row in stored}
    assert worlds == {world.name for world in WORLDS}
    assert {job.family for job in coverage.jobs(quick=False)} == set(FAMILIES)


@pytest.mark.parametrize(("world", "family"), [("audit inclusion", "scores"), ("ties", "curves")])
def test_a_slice_of_the_table_is_what_the_code_finds(stored, world, family):
    """Forty draws of each figure agree with the stored coverage, within four standard errors."""
    found = coverage.cells([coverage.do(coverage.Job(world, family, 0))])
    by_name = {row.quantity: row.ours for row in stored}
    for name, by_world in found.items():
        one, wanted = by_world[world], by_name[f"{name} | {world}"]
        error = np.sqrt(max(wanted * (1 - wanted), 0.02) / one.draws)
        assert abs(one.coverage - wanted) <= 4 * error, name
