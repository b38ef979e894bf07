"""What a story of the demo hands on: figures, the ranges they must lie in, words and a page.

A figure of a simulation has a range that it lies in when all is well. The ranges are a smoke test
of the installation: wide enough for every seed, narrow enough that a broken step falls outside.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scarce.cli.output import write_line

if TYPE_CHECKING:
    from scarce.report import Report
    from scarce.results import FitReport


@dataclass(frozen=True)
class Check:
    """A figure and the range that it is expected in.

    Parameters
    ----------
    name : str
        What the figure is, in words.
    value, low, high : float
    why : str
        Why the range is what it is.

    Examples
    --------
    >>> Check("recall", 0.4, 0.3, 0.5, "the truth is 0.4").holds
    True
    >>> Check("recall", float("nan"), 0.3, 0.5, "the truth is 0.4").holds
    False
    """

    name: str
    value: float
    low: float
    high: float
    why: str

    @property
    def holds(self) -> bool:
        """Whether the figure lies in its range; NaN lies in none."""
        return self.low <= self.value <= self.high

    def __str__(self) -> str:
        return f"{self.name} is {self.value:.4g}, expected {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Told:
    """One story, told.

    Parameters
    ----------
    figures : dict
        Everything that was found, for JSON.
    checks : list of Check
    show : callable
        Writes the short form for a reader on stdout.
    describe : callable (Report) -> None
        Appends the long form, with figures, to a page.
    """

    figures: dict[str, Any]
    checks: list[Check]
    show: Callable[[], None]
    describe: Callable[[Report], None]


def aligned(rows: list[list[str]]) -> str:
    """Return lines with the first column to the left and the others to the right.

    Examples
    --------
    >>> print(aligned([["", "cost"], ["asking", "0.9"]]))
              cost
      asking   0.9
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def say_wrapped(words: str) -> None:
    """Write a paragraph on stdout, for a terminal of 80 columns."""
    write_line(textwrap.fill(words, 79))


def first_line(report: FitReport) -> str:
    """Return how a fit ended, without its remarks."""
    return str(report).split("\n", 1)[0]
