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
    from scarce.decide import LabelChoice, choose_labels
    from scarce.decide.plan import AuditPlan, plan_audit
    from scarce.errors import (
        CheckError,
        DataError,
        DataWarning,
        ScarceError,
        StoreError,
        UsageError,
        WorkerError,
    )
    from scarce.models.auto import AutoClassifier
    from scarce.models.bayes import GaussianBayes
    from scarce.models.maxent import MaxentClassifier
    from scarce.models.presence import presence_background, target_group
    from scarce.models.rare import RareClassifier
    from scarce.prior import PriorCorrected, correct_prior
    from scarce.records import Estimate, FitReport, RankedFit, Selection, WidthChoice
    from scarce.rows import many, open_rows
    from scarce.store import load, save

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
    "brier_score",
    "log_loss",
    "calibration_loss",
    "open_rows",
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
    "choose_labels": "scarce.decide",
    "LabelChoice": "scarce.decide",
    "plan_audit": "scarce.decide.plan",
    "AuditPlan": "scarce.decide.plan",
    "brier_score": "scarce.assess",
    "log_loss": "scarce.assess",
    "calibration_loss": "scarce.assess",
    "open_rows": "scarce.rows",
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
