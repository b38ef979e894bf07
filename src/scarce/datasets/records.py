"""What simulators and readers return: arrays, together with the truth that is known.

In every record `y` is what an analyst would see (1.0 positive, 0.0 negative, NaN not labelled) and
`y_true` the truth, if the two differ. Arrays are float64 and belong to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.datasets.score_truth import ScoreTruth
from scarce.engine.block import Array

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RareSample:
    """Rows of a rare class together with the probabilities that made the labels.

    Parameters
    ----------
    X : array of shape (n, n_features)
        Features.
    y : array of shape (n,)
        Labels, 1.0 or 0.0, all known.
    prob : array of shape (n,)
        True probability of the positive class in each row.
    coef : array of shape (n_features,)
        True direction: `prob` depends on a row through `intercept + X @ coef` only.
    intercept : float
        True intercept.
    prevalence : float
        Expected prevalence in the population.
    link : str
        How a score becomes a probability: the name of a link, or of a paper's design.

    Examples
    --------
    >>> from scarce.datasets import make_rare
    >>> make_rare(4, n_features=2, prevalence=0.1, random_state=0).X.shape
    (4, 2)
    """

    X: Array
    y: Array
    prob: Array
    coef: Array
    intercept: float
    prevalence: float
    link: str


@dataclass(frozen=True, slots=True, eq=False)
class PresenceSample:
    """Rows whose labels were revealed at a rate that depends on their class.

    Parameters
    ----------
    X : array of shape (n, n_features)
        Features.
    y : array of shape (n,)
        What the analyst sees: the class of a revealed row, NaN elsewhere.
    y_true : array of shape (n,)
        The class of every row.
    prob : array of shape (n,) or (n, n_classes)
        True probability of class 1, or of every class when there are several.
    inclusion : array of shape (n,)
        Probability that the label of this row would be revealed, given its true class.
    class_share : array of shape (n_classes,)
        Expected share of every class in the population.
    reveal_rate : array of shape (n_classes,)
        Rate at which a label of each class is revealed.

    Examples
    --------
    >>> from scarce.datasets import make_presence_only
    >>> sample = make_presence_only(100, prevalence=0.4, reveal_rate=0.5, random_state=0)
    >>> sample.reveal_rate
    array([0. , 0.5])
    """

    X: Array
    y: Array
    y_true: Array
    prob: Array
    inclusion: Array
    class_share: Array
    reveal_rate: Array


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSample:
    """Scores of a detector, labels seen and hidden, and the distribution of the scores.

    Parameters
    ----------
    scores : array of shape (n,)
        One score per row; higher means more suspicious.
    y : array of shape (n,)
        Labels seen: 1.0, 0.0, or NaN where the row was not labelled.
    y_true : array of shape (n,)
        The label of every row.
    inclusion : array of shape (n,)
        Probability that the row would be labelled under the design.
    truth : ScoreTruth
        The mixture, with true recall, precision and slope at any threshold.

    Examples
    --------
    >>> from scarce.datasets import make_scores
    >>> sample = make_scores(1000, positive_share=0.3, random_state=0)
    >>> round(float(sample.truth.recall(8.44)), 3)
    0.5
    """

    scores: Array
    y: Array
    y_true: Array
    inclusion: Array
    truth: ScoreTruth


@dataclass(frozen=True, slots=True, eq=False)
class GibbsSample:
    """A finite set of places, a Gibbs law over them, and the places drawn from it (paper 004).

    Parameters
    ----------
    X : array of shape (n, n_features)
        Features of all places.
    y : array of shape (n,)
        1.0 where the place is among the labelled draws, NaN elsewhere.
    prob : array of shape (n,)
        True probability of each place under the law; sums to one over the places.
    labelled, test : integer arrays
        Positions of the labelled and of the test draws. With replacement a place may appear
        several times, and in both.
    coef : array of shape (n_features,)
        True coefficients of the law.
    log_partition : float
        Log of the sum of `exp(X @ coef)` over the places.

    Examples
    --------
    >>> from scarce.datasets import make_gibbs
    >>> sample = make_gibbs(random_state=0)
    >>> sample.X.shape, sample.labelled.size, sample.test.size
    ((200, 10), 50, 50)
    """

    X: Array
    y: Array
    prob: Array
    labelled: Positions
    test: Positions
    coef: Array
    log_partition: float

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """True for the places that were drawn at least once, labelled or test."""
        mask = np.zeros(self.X.shape[0], dtype=np.bool_)
        mask[self.labelled] = True
        mask[self.test] = True
        return mask


@dataclass(frozen=True, slots=True, eq=False)
class HiddenLabels:
    """Labels after some were hidden, with inclusion probabilities.

    Parameters
    ----------
    y : array of shape (n,)
        The labels kept; NaN where hidden or never known.
    inclusion : array of shape (n,)
        Probability that the design keeps the label of this row; 0 where there was none.
    how : str
        The design: "random", "class" or "tail".

    Examples
    --------
    >>> from scarce.datasets import hide_labels
    >>> hide_labels([1, 0, 0, 1], how="random", share=0.5, random_state=0).inclusion
    array([0.5, 0.5, 0.5, 0.5])
    """

    y: Array
    inclusion: Array
    how: str


@dataclass(frozen=True, slots=True, eq=False)
class RealSet:
    """A real data set, read and coded.

    Parameters
    ----------
    name : str
        Name of the set.
    X : array of shape (n, n_columns)
        Coded features; NaN is a missing value.
    y : array of shape (n,)
        1.0 positive, 0.0 negative, NaN not labelled.
    columns : tuple of str
        Names of the columns of `X`; a coded level is named ``column=level``.
    categorical : mapping of str to tuple
        Levels of every categorical column, in the order of its coding.
    table : pyarrow.Table
        The file as shipped.
    scores : mapping of str to array
        Scores of detectors, if the file has any.
    source, licence : str
        Where the original is published, and under which terms as far as known.

    Examples
    --------
    >>> [each for each in RealSet.__dataclass_fields__][:4]
    ['name', 'X', 'y', 'columns']
    """

    name: str
    X: Array
    y: Array
    columns: tuple[str, ...]
    categorical: Mapping[str, tuple[Any, ...]]
    table: Any
    source: str
    licence: str
    scores: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class SpeciesSet:
    """One species of the NCEAS benchmark: records to learn from and a survey to test on.

    Parameters
    ----------
    region, species, group : str
        Which species; `group` is the biological group as shipped.
    columns : tuple of str
        Names of the predictors, in the order of the columns of the three arrays below.
    categorical : mapping of str to tuple
        Codes of every categorical predictor that occur in the region's files.
    presence : array of shape (n_presence, n_predictors)
        Predictors at the presence records of the species.
    background : array of shape (n_background, n_predictors)
        Predictors at the background rows. They are not labelled: never read them as absences.
    test : array of shape (n_test, n_predictors)
        Predictors at the surveyed sites.
    y_test : array of shape (n_test,)
        1.0 where the survey found the species, 0.0 where it did not.
    presence_xy, background_xy, test_xy : arrays of shape (rows, 2)
        Coordinates, in the unit and system named by `crs`.
    crs : str
        Coordinate reference system of the region.
    background_kind : str
        "random", "places" or "records".
    tables : mapping of str to pyarrow.Table
        "presence", "background", "test" and "survey" (the 0/1 result): the same rows as shipped.
    source, licence : str
        Where the original is published, and under which terms.

    Examples
    --------
    >>> SpeciesSet.__dataclass_fields__["presence"].name
    'presence'
    """

    region: str
    species: str
    group: str
    columns: tuple[str, ...]
    categorical: Mapping[str, tuple[Any, ...]]
    presence: Array
    background: Array
    test: Array
    y_test: Array
    presence_xy: Array
    background_xy: Array
    test_xy: Array
    crs: str
    background_kind: str
    tables: Mapping[str, Any]
    source: str
    licence: str
