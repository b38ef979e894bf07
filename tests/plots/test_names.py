"""Names in little room: they fit, and different names stay different."""

from __future__ import annotations

import random

import numpy as np
import pytest

from scarce.plots.mpl import fit, plain, wrap
from scarce.plots.names import broken, fitted, one_line

QUARTERS = [f"Mean Temperature of the {one} Quarter of the Year" for one in ("Wettest", "Driest")]
COVER = [
    "Closed to open broadleaved evergreen or semi-deciduous forest",
    "Closed to open broadleaved deciduous shrubland of the wet tropics",
    "Closed to open broadleaved deciduous shrubland of the dry tropics",
    "Water",
]


@pytest.mark.parametrize("names", [QUARTERS, COVER, [f"a_long_name_of_a_column_{i:03}" * 2
                                                     for i in range(150)],
                                   ["x" * 60 + end for end in ("a", "b", "ab", "")],
                                   [f"{i} {'same ' * 20}" for i in range(12)]])  # fmt: skip
@pytest.mark.parametrize(("letters", "lines"), [(21, 2), (20, 3), (12, 1), (14, 2)])
def test_names_fit_and_stay_different(names, letters, lines):
    shown = fitted(names, letters, lines)
    assert all(len(one) <= lines for one in shown)
    assert all(len(text) <= letters for one in shown for text in one)
    assert len({tuple(one) for one in shown}) == len(set(names))


def test_what_differs_is_kept_and_what_fits_is_left_alone():
    shown = [" ".join(one) for one in fitted(COVER, 21)]
    assert "wet tropics" in shown[1]
    assert "dry tropics" in shown[2]
    assert shown[3] == "Water"
    assert all(one.startswith("Closed") for one in shown[:3])


def test_random_names_never_look_alike():
    rng = np.random.default_rng(0)
    words = ["mean", "rain", "of", "the", "warmest", "coldest", "month", "a_b_c_d", "x" * 30]
    for _ in range(200):
        names = list({" ".join(rng.choice(words, 9)) for _ in range(12)})
        shown = fitted(names, 21)
        assert len({tuple(one) for one in shown}) == len(names)


def test_any_names_are_told_apart_within_their_room():
    draw = random.Random(0)
    for _ in range(300):
        names = ["".join(draw.choices("ab _", k=draw.randint(1, 60))) for _ in range(8)]
        told = {" ".join(name.split()) for name in names}
        for most in (8, 12, 16, 28):
            short = one_line(names, most)
            assert len(set(short)) == len(told)
            assert max(map(len, short)) <= most
        lines = [one.split("\n") for one in fit(names, 16, lines=2)]
        assert max(map(len, lines)) <= 2
        assert max(len(line) for part in lines for line in part) <= 16


def test_lines_break_behind_words():
    assert broken("slope dP -0.832 [-1.67, -0.296]", 12) == [
        "slope dP",
        "-0.832",
        "[-1.67,",
        "-0.296]",
    ]
    assert broken("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert broken("well-known", 6) == ["well-", "known"]
    assert wrap("of two\nlines", 20) == "of two\nlines"
    assert wrap("", 20) == ""


def test_dollars_are_not_read_as_mathematics():
    assert plain("$5 and \\$6") == "\\$5 and \\$6"
    assert fit(["$"]) == ["\\$"]
