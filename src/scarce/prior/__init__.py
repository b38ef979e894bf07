"""Recalibration to a new base rate, of arrays of probabilities and of any classifier."""

from scarce.prior.corrected import PriorCorrected
from scarce.prior.mix import BaseRates, find_base_rates
from scarce.prior.shift import correct_prior

__all__ = ["BaseRates", "PriorCorrected", "correct_prior", "find_base_rates"]
