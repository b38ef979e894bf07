"""The public names, each written once: type checkers read this file, and so does `__init__.py`."""

from scarce.auto.classifier import AutoClassifier as AutoClassifier
from scarce.decisions.asking import value_of_asking as value_of_asking
from scarce.decisions.budget import decide_within as decide_within
from scarce.decisions.classifier import CostSensitiveClassifier as CostSensitiveClassifier
from scarce.decisions.costs import CostMatrix as CostMatrix
from scarce.decisions.decide import decide as decide
from scarce.decisions.decide import expected_cost as expected_cost
from scarce.decisions.intervals import decide_between as decide_between
from scarce.decisions.stability import stable_prior as stable_prior
from scarce.decisions.stability import stable_range as stable_range
from scarce.engine.executors import many as many
from scarce.errors import CheckError as CheckError
from scarce.errors import DataError as DataError
from scarce.errors import DataWarning as DataWarning
from scarce.errors import ScarceError as ScarceError
from scarce.errors import StoreError as StoreError
from scarce.errors import UsageError as UsageError
from scarce.errors import WorkerError as WorkerError
from scarce.evaluation.calibration import calibration_loss as calibration_loss
from scarce.evaluation.compare import compare as compare
from scarce.evaluation.compare import left_out_prob as left_out_prob
from scarce.evaluation.cost import cost_confusion as cost_confusion
from scarce.evaluation.cost import mean_cost as mean_cost
from scarce.evaluation.cost import savings as savings
from scarce.evaluation.cost import total_cost as total_cost
from scarce.evaluation.coverage import risk_coverage as risk_coverage
from scarce.evaluation.curves import brier_curve as brier_curve
from scarce.evaluation.curves import cost_curve as cost_curve
from scarce.evaluation.curves import decision_curve as decision_curve
from scarce.evaluation.evaluate import evaluate as evaluate
from scarce.evaluation.scores import brier_score as brier_score
from scarce.evaluation.scores import log_loss as log_loss
from scarce.gaussian.classifier import GaussianBayes as GaussianBayes
from scarce.io.open import open_rows as open_rows
from scarce.io.profile import compare_columns as compare_columns
from scarce.io.store import load as load
from scarce.io.store import save as save
from scarce.linear.rare import RareClassifier as RareClassifier
from scarce.maxent.classifier import MaxentClassifier as MaxentClassifier
from scarce.maxent.presence import presence_background as presence_background
from scarce.maxent.presence import target_group as target_group
from scarce.missed.choose import choose_labels as choose_labels
from scarce.missed.label_value import label_value as label_value
from scarce.missed.lists import combine_audits as combine_audits
from scarce.missed.mixture.estimator import ScoreMixture as ScoreMixture
from scarce.missed.performance import Performance as Performance
from scarce.missed.performance import estimate_performance as estimate_performance
from scarce.missed.plan import plan_audit as plan_audit
from scarce.prior.corrected import PriorCorrected as PriorCorrected
from scarce.prior.shift import correct_prior as correct_prior
from scarce.results import Estimate as Estimate
from scarce.results import FitReport as FitReport

__version__: str
__all__: list[str]
