"""Displays: pictures of results, in the manner of scikit-learn's. Needs the extra "plot"."""

from scarce.plot.reliability import ReliabilityDisplay

__all__ = ["ReliabilityDisplay"]
