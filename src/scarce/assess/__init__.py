"""Assess: figures about a model from its scores or probabilities alone."""

from scarce.assess.calibration import calibration_loss
from scarce.assess.reliability import Reliability, reliability
from scarce.assess.scores import brier_score, log_loss

__all__ = ["brier_score", "log_loss", "calibration_loss", "reliability", "Reliability"]
