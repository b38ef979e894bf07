"""Recalibration to a new base rate, of arrays of probabilities and of any classifier."""

from scarce.prior.corrected import PriorCorrected
from scarce.prior.shift import correct_prior

__all__ = ["PriorCorrected", "correct_prior"]
