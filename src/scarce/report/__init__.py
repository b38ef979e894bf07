"""Report: results on one self-contained page; computes nothing."""

from scarce.report.models import level_of, show_model
from scarce.report.page import Report
from scarce.report.results import (
    assumptions,
    gain_in_words,
    show_by,
    show_confusion,
    show_costs,
    show_decision_curve,
    show_evaluation,
    show_missing,
    show_performance,
    show_reliability,
    show_reliability_curve,
    show_savings,
)

__all__ = [
    "Report",
    "show_model",
    "level_of",
    "show_evaluation",
    "show_by",
    "show_missing",
    "show_reliability",
    "show_reliability_curve",
    "show_performance",
    "show_costs",
    "show_savings",
    "show_confusion",
    "show_decision_curve",
    "assumptions",
    "gain_in_words",
]
