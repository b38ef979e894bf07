"""Displays: pictures of results, in the manner of scikit-learn's. Needs the extra "plot"."""

from scarce.plot.cost_confusion import CostConfusionDisplay
from scarce.plot.cost_curve import CostCurveDisplay
from scarce.plot.decision_curve import DecisionCurveDisplay
from scarce.plot.importance import ImportanceDisplay
from scarce.plot.label_value import LabelValueDisplay
from scarce.plot.losses import LossDisplay
from scarce.plot.mixture import MixtureDisplay
from scarce.plot.performance import PerformanceDisplay
from scarce.plot.reliability import ReliabilityDisplay
from scarce.plot.response import ResponseDisplay
from scarce.plot.risk_coverage import RiskCoverageDisplay

__all__ = [
    "ReliabilityDisplay",
    "PerformanceDisplay",
    "MixtureDisplay",
    "LabelValueDisplay",
    "CostCurveDisplay",
    "DecisionCurveDisplay",
    "RiskCoverageDisplay",
    "CostConfusionDisplay",
    "ResponseDisplay",
    "ImportanceDisplay",
    "LossDisplay",
]
