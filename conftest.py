"""Fixtures of all tests, also of the examples in docs and docstrings."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close figures after each test: matplotlib warns of more than twenty in a process."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
