"""Displays: pictures of results, in the manner of scikit-learn's. Needs the extra "plot"."""

from scarce.plots.cost_confusion import CostConfusionDisplay
from scarce.plots.cost_curve import CostCurveDisplay
from scarce.plots.decision_curve import DecisionCurveDisplay
from scarce.plots.importance import ImportanceDisplay
from scarce.plots.label_value import LabelValueDisplay
from scarce.plots.losses import LossDisplay
from scarce.plots.mixture import MixtureDisplay
from scarce.plots.performance import PerformanceDisplay
from scarce.plots.reliability import ReliabilityDisplay
from scarce.plots.response import ResponseDisplay
from scarce.plots.risk_coverage import RiskCoverageDisplay

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
