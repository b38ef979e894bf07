"""Base rates, estimated or known, recalibration to them, and calibration on left-out rows."""

from scarce.prior.calibrate import Calibration, calibrate
from scarce.prior.calibrated import Calibrated
from scarce.prior.corrected import PriorCorrected
from scarce.prior.label_shift import ShareEstimate, estimate_share
from scarce.prior.mix import BaseRates, find_base_rates
from scarce.prior.positive_share import PositiveShare, estimate_positive_share
from scarce.prior.shift import correct_prior

__all__ = [
    "BaseRates",
    "Calibrated",
    "Calibration",
    "PositiveShare",
    "PriorCorrected",
    "ShareEstimate",
    "calibrate",
    "correct_prior",
    "estimate_positive_share",
    "estimate_share",
    "find_base_rates",
]
