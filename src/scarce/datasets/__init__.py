"""Data to learn and test on: simulators with known truth, missing values, readers of real sets.

>>> from scarce.datasets import make_rare
>>> make_rare(1000, prevalence=0.01, random_state=0).y.shape
(1000,)
"""

from scarce.datasets.gibbs import hide_gibbs, hide_gibbs_rows, make_gibbs
from scarce.datasets.hide import hide_features, hide_in_rows, hide_labels
from scarce.datasets.nceas import SpeciesEntry, load_nceas, nceas_species
from scarce.datasets.papers import (
    LABELLED_SHARES,
    POSITIVE_SHARES,
    make_convergence_scores,
    make_sine,
    make_step,
    make_trial_scores,
)
from scarce.datasets.real import (
    dataset_names,
    load_anomaly,
    load_bradypus,
    load_uci,
    load_uci_missing,
)
from scarce.datasets.records import (
    GibbsSample,
    HiddenLabels,
    PresenceSample,
    RareSample,
    RealSet,
    ScoreSample,
    SpeciesSet,
)
from scarce.datasets.score_truth import ScoreTruth
from scarce.datasets.simulate import (
    make_presence_only,
    make_rare,
    make_revealed_classes,
    make_scores,
)

__all__ = [
    "make_rare",
    "make_presence_only",
    "make_revealed_classes",
    "make_scores",
    "make_sine",
    "make_step",
    "make_trial_scores",
    "make_convergence_scores",
    "POSITIVE_SHARES",
    "LABELLED_SHARES",
    "make_gibbs",
    "hide_gibbs",
    "hide_gibbs_rows",
    "hide_features",
    "hide_in_rows",
    "hide_labels",
    "dataset_names",
    "load_uci",
    "load_uci_missing",
    "load_anomaly",
    "load_bradypus",
    "load_nceas",
    "nceas_species",
    "RareSample",
    "PresenceSample",
    "ScoreSample",
    "ScoreTruth",
    "GibbsSample",
    "HiddenLabels",
    "RealSet",
    "SpeciesSet",
    "SpeciesEntry",
]
