"""scarce: honest probabilities, performance figures and decisions when labels are scarce.

The public names. Each is loaded when it is first used, so that `import scarce` and the command line
start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scarce.assess import brier_score, calibration_loss, log_loss
    from scarce.assess.answers import Performance
    from scarce.assess.label_value import label_value
    from scarce.assess.mixture import ScoreMixture
    from scarce.assess.performance import estimate_performance
    from scarce.decisions.asking import value_of_asking
    from scarce.decisions.budget import decide_within
    from scarce.decisions.cheapest import decide, expected_cost
    from scarce.decisions.classifier import CostSensitiveClassifier
    from scarce.decisions.costs import CostMatrix
    from scarce.decisions.doubt import decide_between
    from scarce.decisions.predictive import EmpiricalPredictive, GaussianPredictive
    from scarce.decisions.quantile_models import (
        QuantilePredictive,
        cross_residuals,
        fit_quantiles,
        gaussian_from,
        residuals_from,
    )
    from scarce.decisions.ranges import stable_prior, stable_range
    from scarce.decisions.regression import (
        Linex,
        Pinball,
        decide_regression,
        expected_regression_cost,
    )
    from scarce.errors import (
        CheckError,
        DataError,
        DataWarning,
        ScarceError,
        StoreError,
        UsageError,
        WorkerError,
    )
    from scarce.labelling import LabelChoice, choose_labels
    from scarce.labelling.plan import AuditPlan, plan_audit
    from scarce.models.auto import AutoClassifier
    from scarce.models.bayes import GaussianBayes
    from scarce.models.columns import compare_columns
    from scarce.models.maxent import MaxentClassifier
    from scarce.models.presence import presence_background, target_group
    from scarce.models.rare import RareClassifier
    from scarce.prior import PriorCorrected, correct_prior
    from scarce.records import Estimate, FitReport, RankedFit, Selection, WidthChoice
    from scarce.rows import many, open_rows
    from scarce.store import load, save
    from scarce.worth.confusion import cost_confusion
    from scarce.worth.coverage import risk_coverage
    from scarce.worth.curves import brier_curve, cost_curve, decision_curve
    from scarce.worth.realised import mean_cost, savings, total_cost

__version__ = "0.1.0"

__all__ = [
    "RareClassifier",
    "AutoClassifier",
    "MaxentClassifier",
    "presence_background",
    "target_group",
    "GaussianBayes",
    "PriorCorrected",
    "correct_prior",
    "estimate_performance",
    "Performance",
    "ScoreMixture",
    "label_value",
    "choose_labels",
    "LabelChoice",
    "plan_audit",
    "AuditPlan",
    "CostMatrix",
    "expected_cost",
    "decide",
    "CostSensitiveClassifier",
    "decide_between",
    "decide_within",
    "stable_range",
    "stable_prior",
    "value_of_asking",
    "decide_regression",
    "expected_regression_cost",
    "Pinball",
    "Linex",
    "GaussianPredictive",
    "EmpiricalPredictive",
    "QuantilePredictive",
    "fit_quantiles",
    "gaussian_from",
    "residuals_from",
    "cross_residuals",
    "mean_cost",
    "total_cost",
    "savings",
    "cost_confusion",
    "cost_curve",
    "brier_curve",
    "decision_curve",
    "risk_coverage",
    "brier_score",
    "log_loss",
    "calibration_loss",
    "open_rows",
    "compare_columns",
    "many",
    "save",
    "load",
    "Estimate",
    "FitReport",
    "Selection",
    "WidthChoice",
    "RankedFit",
    "ScarceError",
    "UsageError",
    "DataError",
    "DataWarning",
    "StoreError",
    "WorkerError",
    "CheckError",
]

_home = {
    "RareClassifier": "scarce.models.rare",
    "AutoClassifier": "scarce.models.auto",
    "MaxentClassifier": "scarce.models.maxent",
    "presence_background": "scarce.models.presence",
    "target_group": "scarce.models.presence",
    "GaussianBayes": "scarce.models.bayes",
    "PriorCorrected": "scarce.prior",
    "correct_prior": "scarce.prior",
    "estimate_performance": "scarce.assess.performance",
    "Performance": "scarce.assess.answers",
    "ScoreMixture": "scarce.assess.mixture",
    "label_value": "scarce.assess.label_value",
    "choose_labels": "scarce.labelling",
    "LabelChoice": "scarce.labelling",
    "plan_audit": "scarce.labelling.plan",
    "AuditPlan": "scarce.labelling.plan",
    "CostMatrix": "scarce.decisions.costs",
    "expected_cost": "scarce.decisions.cheapest",
    "decide": "scarce.decisions.cheapest",
    "CostSensitiveClassifier": "scarce.decisions.classifier",
    "decide_between": "scarce.decisions.doubt",
    "decide_within": "scarce.decisions.budget",
    "stable_range": "scarce.decisions.ranges",
    "stable_prior": "scarce.decisions.ranges",
    "value_of_asking": "scarce.decisions.asking",
    "decide_regression": "scarce.decisions.regression",
    "expected_regression_cost": "scarce.decisions.regression",
    "Pinball": "scarce.decisions.regression",
    "Linex": "scarce.decisions.regression",
    "GaussianPredictive": "scarce.decisions.predictive",
    "EmpiricalPredictive": "scarce.decisions.predictive",
    "QuantilePredictive": "scarce.decisions.quantile_models",
    "fit_quantiles": "scarce.decisions.quantile_models",
    "gaussian_from": "scarce.decisions.quantile_models",
    "residuals_from": "scarce.decisions.quantile_models",
    "cross_residuals": "scarce.decisions.quantile_models",
    "mean_cost": "scarce.worth.realised",
    "total_cost": "scarce.worth.realised",
    "savings": "scarce.worth.realised",
    "cost_confusion": "scarce.worth.confusion",
    "cost_curve": "scarce.worth.curves",
    "brier_curve": "scarce.worth.curves",
    "decision_curve": "scarce.worth.curves",
    "risk_coverage": "scarce.worth.coverage",
    "brier_score": "scarce.assess",
    "log_loss": "scarce.assess",
    "calibration_loss": "scarce.assess",
    "open_rows": "scarce.rows",
    "compare_columns": "scarce.models.columns",
    "many": "scarce.rows",
    "save": "scarce.store",
    "load": "scarce.store",
    "Estimate": "scarce.records",
    "FitReport": "scarce.records",
    "Selection": "scarce.records",
    "WidthChoice": "scarce.records",
    "RankedFit": "scarce.records",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(_home.get(name, "scarce.errors")), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scarce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
