"""The Displays, each written once; see `scarce.lazy`."""

from scarce.plots.bars import ImportanceDisplay as ImportanceDisplay
from scarce.plots.bars import LabelValueDisplay as LabelValueDisplay
from scarce.plots.cost_confusion import CostConfusionDisplay as CostConfusionDisplay
from scarce.plots.curves import CostCurveDisplay as CostCurveDisplay
from scarce.plots.curves import DecisionCurveDisplay as DecisionCurveDisplay
from scarce.plots.curves import ReliabilityCurveDisplay as ReliabilityCurveDisplay
from scarce.plots.curves import RiskCoverageDisplay as RiskCoverageDisplay
from scarce.plots.losses import LossDisplay as LossDisplay
from scarce.plots.mixture import MixtureDisplay as MixtureDisplay
from scarce.plots.performance import PerformanceDisplay as PerformanceDisplay
from scarce.plots.reliability import ReliabilityDisplay as ReliabilityDisplay
from scarce.plots.response import ResponseDisplay as ResponseDisplay

__all__: list[str]
