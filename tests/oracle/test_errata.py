"""The errata of 000 and 004 hold, and the pages quote them as they are computed."""

import re
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tests.oracle import errata
from tests.oracle.errata_page import TEXT, measured, rows_of

PAGE = (Path(__file__).parents[2] / "docs" / "maths" / "maxent.md").read_text()


@pytest.fixture(autouse=True)
def _one_thread():
    """Matrices of 60 rows: threads of BLAS would only wait for each other on a busy machine."""
    with threadpool_limits(1):
        yield


def paragraph(heading, beginning):
    """The paragraph under a heading that begins so, on one line."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (found,) = (part for part in section.split("\n\n") if part.strip().startswith(beginning))
    return " ".join(found.split())


def listed(numbers):
    return ", ".join(f"{number:.3f}" for number in numbers)


def test_the_slack_is_added_not_taken_away():
    found = errata.sign_of_the_slack()
    assert found["log_z"] == pytest.approx(-found["divergence"], abs=1e-12)
    assert found["log_z"] == pytest.approx(-found["primal_divergence"], abs=1e-12)
    np.testing.assert_allclose(found["place"], -1, atol=1e-9)
    np.testing.assert_allclose(found["minus_place"], 1, atol=1e-6)
    before, after = found["minus_slopes"]
    assert before > 0 > after  # a peak at 0
    text = paragraph("Why plus half_width |coef|", "With a minus sign")
    rows = errata.small_problem(missing=0.3)
    assert "a problem of {} rows, {} features, 30 % missing".format(*rows.F.shape) in text
    least, minus = found["divergence"], found["minus_divergence"]
    assert f"divergence {minus:.2f} where {least:.2f} is enough" in text
    quoted = f"with minus a divergence of {minus:.2f}, where {least:.2f} is enough"
    assert measured("004 eq 8 to 12") == quoted
    assert "found by another method, to 1e-12." in text


def test_equation_8_needs_equal_weights():
    found = errata.equation_8()
    assert found["equal"] < 1e-13
    quoted = f"off by up to {found['unequal']:.2f} in probability with weights from 0.2 to 2"
    assert found["unequal"] > 0.1
    assert measured("000 eq 8") == f"{quoted}; equal weights: below 1e-13"


def test_the_value_of_equation_10_depends_on_the_feasible_point():
    found = errata.equation_10()
    assert found["excess"] < 1e-12  # both points are feasible
    assert abs(found["predicted"]) > 0.01
    np.testing.assert_allclose(found["change"], found["predicted"], rtol=0, atol=1e-13)
    np.testing.assert_allclose(found["change_equal_defaults"], 0.0, atol=1e-13)
    quoted = f"change {found['change'][0]:.5f} at two sets of coefficients, as predicted to 1e-13"
    assert measured("000 eq 10") == f"{quoted}; 0 at equal defaults"


def test_one_class_is_not_logistic_regression_of_labelled_against_unlabelled_rows():
    found = errata.one_class()
    assert np.abs(found["coef"] - found["free_coef"]).max() > 0.1
    assert found["free_mean"] == pytest.approx(errata.small_problem().label.mean(), abs=1e-6)
    assert abs(found["mean"] - found["free_mean"]) > 0.01
    tied = f"coefficients {listed(found['coef'])} and mean probability {found['mean']:.3f}"
    free = f"with a free intercept {listed(found['free_coef'])} and {found['free_mean']:.3f}"
    assert measured("000, after eq 10") == f"{tied}; {free}"


def test_with_labels_in_all_classes_the_feasible_set_can_be_empty():
    assert errata.theorem_4() == {"empty": True, "empty_wide": False}
    assert measured("000 Theorem 4").startswith("found empty by linear programming;")


def test_labelled_rows_belong_into_the_pool():
    assert errata.labelled_rows_in_the_pool() == {"with": True, "without": False}
    quoted = "without them a linear programme finds no feasible point"
    assert measured("000, 004") == quoted


def test_equation_18_weighs_by_the_shares_of_rows():
    found = errata.equation_18()
    assert found["with_shares"] == pytest.approx(found["direct"], rel=1e-12)
    assert found["printed"] < found["direct"] / 5
    quoted = f"{found['direct']:.4f} on both sides; as printed {found['printed']:.4f}"
    assert measured("004 eq 18") == quoted


def test_the_labelled_mean_stands_for_a_hole_at_width_0_only():
    found = errata.labelled_mean_for_missing_values()
    assert found["width_0"] < 1e-12
    assert found["width_half"] > 0.1
    quoted = f"at half a standard error up to {found['width_half']:.2f} of a row's even share"
    assert measured("004 4.3") == f"difference 0 at width 0; {quoted}"


def test_algorithm_1_climbs_before_it_falls():
    found = errata.algorithm_1_rises()
    assert found["first"] > 1 > 0 > found["end"]
    assert found["end"] == pytest.approx(found["optimum"], abs=1e-12)
    climb = f"from 0 up to {found['first']:.1f} in the first sweep"
    end = f"{found['sweeps']} sweeps to the optimum at {found['end']:.2f}"
    rows = "an indicator on 3 of 20,000 rows and 1 of 50 labelled"
    assert measured("004 algorithm 1") == f"{rows}: {climb}, {end}"


def test_every_number_in_the_table_of_errata_has_a_function(capsys):
    """A new line is by reading, or among those above."""
    cells = [row.measured for row in rows_of(TEXT) if row.where[:3] in ("000", "004")]
    numbers = [cell for cell in cells if cell not in ("by reading", "left open")]
    assert len(numbers) == len(errata.ERRATA)
    assert "`python -m tests.oracle.errata` prints them" in " ".join(PAGE.split())
    errata.main()
    titles = re.findall(r"^(\w+):", capsys.readouterr().out, flags=re.MULTILINE)
    assert titles == [erratum.__name__ for erratum in errata.ERRATA]
