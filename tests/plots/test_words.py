"""Names that somebody else chose: whole where they fit, told apart where they do not."""

import random

import pytest

from scarce.plots.words import broken, fit, plain, shorten, shown, wrap

QUARTERS = [
    f"Mean Temperature of {part} Quarter (degrees C)"
    for part in ("Wettest", "Driest", "Warmest", "Coldest")
]
CLASSES = [f"a very long name of a class, of which number {i} is one of seven" for i in range(7)]


@pytest.mark.parametrize("names", [QUARTERS, CLASSES])
@pytest.mark.parametrize("most", [8, 14, 20, 28, 40])
def test_short_names_differ_where_the_long_ones_do(names, most):
    short = shorten(names, most)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= most


def test_what_differs_is_kept():
    for name, part in zip(shorten(QUARTERS, 20), ("Wettest", "Driest", "Warmest"), strict=False):
        assert part in name
    assert shorten(["age", "age", "b"]) == ["age", "age", "b"]


def test_any_names_are_told_apart_within_their_room():
    draw = random.Random(0)
    for _ in range(300):
        names = ["".join(draw.choices("ab _", k=draw.randint(1, 60))) for _ in range(8)]
        for most in (8, 12, 16, 28):
            short = shorten(names, most)
            assert len(set(short)) == len(set(names))
            assert max(map(len, short)) <= most
        lines = [one.split("\n") for one in fit(names, 16, lines=2)]
        assert max(map(len, lines)) <= 2
        assert max(len(line) for part in lines for line in part) <= 16


def test_lines_break_behind_words_and_not_in_numbers():
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


def test_dollars_and_underscores_are_seen():
    assert plain("$5 and \\$6") == "\\$5 and \\$6"
    assert not shown("_hidden").startswith("_")
    assert fit(["$"]) == ["\\$"]
