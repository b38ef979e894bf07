"""Which rows should be labelled next, and with what probability was each of them chosen?"""

from scarce.labelling.choice import LabelChoice
from scarce.labelling.labels import choose_labels
from scarce.labelling.rounds import label_in_rounds

__all__ = ["choose_labels", "label_in_rounds", "LabelChoice"]
