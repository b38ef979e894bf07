"""scarce: honest probabilities, performance figures and decisions when labels are scarce.

The public names. Each is loaded when it is first used, so that `import scarce` and the command line
start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scarce.assess import brier_score, calibration_loss, log_loss
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
    from scarce.records import Estimate, FitReport, Selection, WidthChoice
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
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(_home.get(name, "scarce.errors")), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scarce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
