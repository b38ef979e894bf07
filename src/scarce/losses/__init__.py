"""Links from scores to probabilities, and the losses made of them, right in both tails."""

from scarce.losses.extreme import GEV, CLogLog, LogLog
from scarce.losses.links import Link, Logit, Probit
from scarce.losses.losses import LOSSES, CanonicalLoss, LogLoss, Loss, loss_of

__all__ = [
    "Link",
    "Logit",
    "Probit",
    "CLogLog",
    "LogLog",
    "GEV",
    "Loss",
    "CanonicalLoss",
    "LogLoss",
    "LOSSES",
    "loss_of",
]
