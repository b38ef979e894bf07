"""Displays: pictures of results, in the manner of scikit-learn's. Needs the extra "plot"."""

from scarce.plot.cost_confusion import CostConfusionDisplay
from scarce.plot.cost_curve import CostCurveDisplay
from scarce.plot.decision_curve import DecisionCurveDisplay
from scarce.plot.reliability import ReliabilityDisplay
from scarce.plot.risk_coverage import RiskCoverageDisplay

__all__ = [
    "ReliabilityDisplay",
    "CostCurveDisplay",
    "DecisionCurveDisplay",
    "RiskCoverageDisplay",
    "CostConfusionDisplay",
]
