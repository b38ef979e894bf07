"""Decide: what to do next, from scores and labels so far."""

from scarce.decide.choice import LabelChoice
from scarce.decide.labels import choose_labels
from scarce.decide.rounds import label_in_rounds

__all__ = ["choose_labels", "label_in_rounds", "LabelChoice"]
