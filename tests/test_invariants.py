"""What says nothing new changes no model: every estimator, every change of form, as promised."""

import pytest

from tests.properties import invariants
from tests.properties.invariants import CASES, COLUMNS, deviation, promise, quick
from tests.test_estimators import public_estimators

PROMISED = [
    pytest.param(case, change, id=f"{case.name}-{change}")
    for case in map(quick, CASES)
    for change in COLUMNS
    if not isinstance(promise(case, change), str)
]


@pytest.mark.parametrize(("case", "change"), PROMISED)
def test_invariant(case, change):
    assert deviation(case, change, every=not case.quick) <= promise(case, change)


def test_every_public_estimator_is_in_the_table():
    assert {type(case.estimator) for case in CASES} == set(public_estimators())


def test_every_exception_is_about_a_cell_of_the_table():
    names = {case.name for case in CASES}
    assert len(names) == len(CASES)
    for name, change in invariants.OTHERWISE:
        assert name in names
        assert change in COLUMNS


def test_the_page_holds_the_table_of_promises():
    text = invariants.PAGE.read_text(encoding="utf-8")
    assert invariants.page(text) == text  # else: make invariants ARGS=--write


def test_a_deviation_that_is_too_large_is_marked():
    key = (CASES[0].name, "units")
    found = {(case.name, change): 0.0 for case in CASES for change in COLUMNS} | {key: 0.1}
    assert invariants.table(found).count("TOO LARGE") == 1
