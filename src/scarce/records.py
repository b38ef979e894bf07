"""The two records that carry every result: a number about the world, and how a fit ended.

`Estimate` is used wherever a number about the world is reported: it never travels without its
interval, the method behind it and the assumption it leans on. `FitReport` comes from every solver:
a fit stops on an optimality certificate, never on "the coefficients moved little".
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from scarce.errors import UsageError


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number about the world with its interval.

    Parameters
    ----------
    value : float
        The point estimate. NaN means "not identified" and `assumes` says why.
    low, high : float
        Ends of the interval; NaN where a side is unknown, +-inf where it is unbounded.
    level : float
        Nominal coverage of the interval, in (0, 1).
    method : str
        How the number was found, in a few words.
    assumes : str
        What must be true for the number to mean what it says.

    Examples
    --------
    >>> recall = Estimate(0.62, 0.48, 0.74, level=0.9, method="audit",
    ...                   assumes="checked rows were drawn at random")
    >>> print(recall)
    0.62 [0.48, 0.74] (90 %, audit)
    >>> 0.5 in recall, recall.width
    (True, 0.26)
    """

    value: float
    low: float
    high: float
    level: float = 0.9
    method: str = ""
    assumes: str = ""

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise UsageError(
                f"level={self.level!r} is not a coverage. Give a number between 0 and 1, such as "
                "0.9."
            )
        if self.low > self.high:
            raise UsageError(
                f"An interval from low={self.low!r} to high={self.high!r} is empty: swap the two."
            )

    @property
    def width(self) -> float:
        """Length of the interval."""
        return round(self.high - self.low, 15)

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high

    def __str__(self) -> str:
        return (
            f"{short(self.value)} [{short(self.low)}, {short(self.high)}]"
            f" ({100 * self.level:g} %, {self.method or 'method not said'})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class FitReport:
    """How a fit ended.

    Parameters
    ----------
    converged : bool
        Whether the certificate reached its target.
    certificate : float
        The proof of optimality that the solver stopped on; smaller is better, 0 is exact.
    objective : float
        Value of what was minimised.
    passes : int
        Folds over the rows.
    seconds : float
        Wall time.
    warnings : tuple of str
        What the reader should know, most important first.
    proves : str
        What the certificate is: "closed form", "gradient norm" or "duality gap".

    Examples
    --------
    >>> report = FitReport(True, 3e-10, 0.41, passes=7, seconds=0.02, proves="duality gap")
    >>> print(report)
    converged: duality gap 3e-10 after 7 passes, objective 0.41
    >>> report.gap
    3e-10
    """

    converged: bool
    certificate: float
    objective: float
    passes: int
    seconds: float
    warnings: tuple[str, ...] = ()
    proves: str = "gradient norm"

    @property
    def gap(self) -> float:
        """The duality gap; only for solvers that stop on one."""
        if self.proves != "duality gap":
            raise AttributeError(
                f"This fit stopped on its {self.proves} ({self.certificate:.3g}), not on a duality "
                "gap: read report_.certificate."
            )
        return self.certificate

    def __str__(self) -> str:
        word = "converged" if self.converged else "NOT converged"
        passes = f"{self.passes} pass{'es' if self.passes != 1 else ''}"
        how = f"{word}: {self.proves} {self.certificate:.3g}"
        if self.proves == "closed form":
            how = "solved in closed form"
        text = f"{how} after {passes}, objective {self.objective:.6g}"
        return "\n".join([text, *(f"warning: {warning}" for warning in self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return asdict(self)


def short(value: float) -> str:
    """Write a number for a reader: three significant digits, words where it is not a number.

    Examples
    --------
    >>> short(0.123456), short(float("nan")), short(float("-inf")), short(41234.0)
    ('0.123', 'unknown', '-inf', '41,234')
    """
    if math.isnan(value):
        return "unknown"
    if math.isfinite(value) and abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
