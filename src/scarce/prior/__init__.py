"""Another class mix, for arrays of probabilities and for any classifier."""

from scarce.prior.corrected import PriorCorrected
from scarce.prior.shift import correct_prior

__all__ = ["PriorCorrected", "correct_prior"]
