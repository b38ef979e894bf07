"""One plain NumPy pass over the same scores, beside fits and estimates: what their time means."""

from __future__ import annotations

from benchmarks.adapters.plain_scores import GROUP, NAME, PACKAGES, prepared
from benchmarks.adapters.side import Side

__all__ = ["GROUP", "NAME", "PACKAGES", "SIDES", "prepared"]

_BESIDE = ("scores-fit", "scores-estimate")
SIDES = (
    Side("numpy, one pass", _BESIDE, yardstick="scores-pass"),
    Side("numpy, one pass, file", _BESIDE, yardstick="scores-pass"),
)
