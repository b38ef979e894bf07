"""Links from scores to probabilities, and the losses made of them, for those who build on them."""

from scarce.linear.gev import GEV, CLogLog, LogLog
from scarce.linear.links import Link, Logit, Probit
from scarce.linear.losses import LOSSES, CanonicalLoss, LogLoss, Loss, loss_of

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
