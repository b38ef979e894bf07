"""Bounds that a gate can ask for: what each limits, what it needs, and when it holds.

    --max-... holds where the end that is looked at is at or below the bound, --min-... where it is
    at or above; what is not a number keeps no bound

Adding one is adding a line to BOUNDS, and its figure to check.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.evaluate import number
from scarce.cli.options import Group, names_of
from scarce.errors import UsageError

if TYPE_CHECKING:
    from scarce import Estimate


class Bound(NamedTuple):
    """A bound that can be asked for: its option, what it needs, and the range of its figure."""

    name: str  # of the option, such as "max-log-loss"
    kind: str  # "prob", "cost", "rival" or "score"
    least: float = 0.0
    most: float = math.inf

    @property
    def side(self) -> str:
        """ "max" or "min"."""
        return self.name[:3]

    @property
    def figure(self) -> str:
        """What is bounded, such as "log-loss"."""
        return self.name[4:]

    @property
    def flag(self) -> str:
        """The option as typed."""
        return f"--{self.name}"


BOUNDS = (
    Bound("max-log-loss", "prob"),
    Bound("max-brier", "prob", most=1),
    Bound("max-calibration", "prob", most=1),
    Bound("max-gap", "prob", most=1),
    Bound("min-skill", "prob", least=-math.inf, most=1),
    Bound("min-auc", "prob", most=1),
    Bound("max-worse", "rival", least=-math.inf),
    Bound("max-cost", "cost", least=-math.inf),
    Bound("min-savings", "cost", least=-math.inf, most=1),
    Bound("min-recall", "score", most=1),
    Bound("min-precision", "score", most=1),
    Bound("max-missed", "score"),
)
NEEDS = {
    "prob": "a column of probabilities (--prob) or a model file",
    "cost": "costs, such as --false-alarm 5 --miss 400",
    "rival": "the probabilities in use now: --against old.scarce, or --against COLUMN",
    "score": "--threshold, and --score unless probabilities are given",
}


def _typed(**limits: float | None) -> dict[Bound, float]:
    """Return the bounds that were typed."""
    held = {bound: limits[bound.name.replace("-", "_")] for bound in BOUNDS}
    return {bound: limit for bound, limit in held.items() if limit is not None}


BOUND_OPTIONS = Group("bounds", names_of("bounds"), _typed)


def refuse_limits(bounds: Mapping[Bound, float]) -> None:
    """Refuse bounds that every figure keeps, or none."""
    for bound, limit in bounds.items():
        if not math.isfinite(limit):
            raise UsageError(f"{bound.flag} {limit}: give a finite number.")
        if not bound.least <= limit <= bound.most:
            ends = f"at least {bound.least:g}" if bound.least == 0 else "at most 1"
            ends = "between 0 and 1" if (bound.least, bound.most) == (0, 1) else ends
            share = (
                f" {limit:g} % is {limit / 100:g}." if 1 < limit <= 100 and bound.most == 1 else ""
            )
            raise UsageError(
                f"{bound.flag} {limit:g}: that figure is always {ends}, so that the bound decides "
                f"nothing.{share}"
            )


def verdict(bound: Bound, limit: float, name: str, one: Estimate, by: str) -> dict[str, Any]:
    """Say whether a figure keeps within its bound, and why not.

    Examples
    --------
    >>> from scarce import Estimate
    >>> one = Estimate(0.6, 0.4, 0.8)
    >>> recall = next(bound for bound in BOUNDS if bound.figure == "recall")
    >>> verdict(recall, 0.5, "recall", one, "value")["verdict"]
    'holds'
    >>> verdict(recall, 0.5, "recall", one, "worst")["verdict"]
    'not shown: 0.6 keeps the bound, and its interval reaches 0.4'
    >>> none = Estimate(math.nan, 0.0, 0.0, assumes="no event was seen")
    >>> verdict(recall, 0.5, "recall", none, "worst")["verdict"]
    'unknown: no event was seen'
    """
    end = {"worst": "high" if bound.side == "max" else "low"}.get(by, by)
    seen = float(getattr(one, end))
    settled = not (math.isnan(one.value) and one.low == one.high)  # an interval of nothing
    holds = settled and _within(seen, limit, bound.side)
    open_end = one.low if bound.side == "max" else one.high
    if holds:
        words = "holds"
    elif math.isnan(seen):
        words = f"unknown: {one.assumes if math.isnan(one.value) else one.method}"
    elif math.isnan(one.value) and (not settled or _within(open_end, limit, bound.side)):
        words = f"unknown: {one.assumes}"
    elif by != "value" and _within(one.value, limit, bound.side):
        words = f"not shown: {number(one.value)} keeps the bound, and its interval reaches "
        words += number(seen)
    else:
        words = "does not hold"
    return {
        "figure": name,
        "bound": bound.flag,
        "limit": limit,
        "estimate": one,
        "by": end,
        "seen": seen,
        "holds": holds,
        "verdict": words,
    }


def _within(value: float, limit: float, side: str) -> bool:
    """Whether a number keeps a bound; what is not a number does not."""
    return value <= limit if side == "max" else value >= limit
