"""Base rates: estimated, known or guessed, and recalibration to them."""

from scarce.prior.corrected import PriorCorrected
from scarce.prior.label_shift import ShareEstimate, estimate_share
from scarce.prior.mix import BaseRates, find_base_rates
from scarce.prior.shift import correct_prior

__all__ = [
    "BaseRates",
    "PriorCorrected",
    "ShareEstimate",
    "correct_prior",
    "estimate_share",
    "find_base_rates",
]
