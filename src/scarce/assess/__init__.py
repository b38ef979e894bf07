"""Assess: figures about a model from its scores or probabilities alone."""

from scarce.assess.reliability import Reliability, reliability
from scarce.assess.scores import brier_score, log_loss

__all__ = ["brier_score", "log_loss", "reliability", "Reliability"]
