"""Figures as they are written: no exponents, right grammar, JSON that any reader takes."""

import numpy as np
import pytest

from scarce import Estimate
from scarce.evaluation.wording import few_remarks, few_words, percent, with_remarks


def test_percent_has_no_exponents():
    assert percent(Estimate(-12.51, -17.84, -8.76)) == "-1,251 % [-1,784 %, -876 %]"
    assert percent(Estimate(0.0123, -0.5, 1.0)) == "1.23 % [-50 %, 100 %]"
    assert "unknown" in percent(Estimate(np.nan, np.nan, np.nan))


@pytest.mark.parametrize(
    ("carried", "groups", "words"),
    [
        (1.0, None, "about 1 row"),
        (1.4, None, "about 1 row"),
        (1.6, None, "about 2 rows"),
        (1.2, 50, "about 1 group"),
        (3.0, 50, "about 3 groups"),
    ],
)
def test_one_is_one(carried, groups, words):
    assert few_words((), (), carried, groups) == f"; few: the cost lies on {words}"


def test_few_groups_are_said():
    assert few_words((0, 1), [500, 1], 0.0, 6) == "; few: 1 labelled row of class 1, 6 groups"
    assert few_words((0, 1), [500, 10], 10.0, 10) == ""
    assert few_remarks("; few: 6 groups") == ("Few rows stand behind this: 6 groups.",)
    assert few_remarks("") == ()
    assert with_remarks(["a"], ["b"]) == "a\nremark: b"
