"""Stored results beside made ones: equal to stated digits, whatever the processor's last bits."""

import re

import pytest

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def assert_rows(found, stored):
    """Rows of a table say the same; their numbers agree to ten digits."""
    found, stored = list(found), list(stored)
    assert [_words(row) for row in found] == [_words(row) for row in stored]
    for name in ("ours", "standard_error"):
        for one, other in zip(found, stored, strict=True):
            wanted = pytest.approx(getattr(other, name), rel=1e-10, abs=1e-13)
            assert getattr(one, name) == wanted, (other.quantity, name)


def _words(row):
    return row.quantity, row.paper, row.repeats, row.why


def assert_page(found, stored):
    """Texts are equal but for numbers, which may differ by one unit of their last digit.

    A number half way between two printed ones is rounded by its last bit.
    """
    for one, other in zip(found.splitlines(), stored.splitlines(), strict=True):
        if one != other:
            assert NUMBER.sub("#", one) == NUMBER.sub("#", other)
            for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
                assert abs(float(a) - float(b)) <= 1.001 * max(_unit(a), _unit(b)), other


def _unit(number):
    """One unit of the last digit that is printed."""
    digits, _, power = number.partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
