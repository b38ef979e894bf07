"""What do the labels and scores at hand tell about the mixture, and so about recall?

    information = sum over rows of E[score score^T],    score = d log p / d params      (002 eq 3-5)

An unlabelled row's score is the posterior-weighted mean of the two it would have with a label
(Louis 1982), so everything follows from those two and from where on the axis the labels are. Cross
terms are kept, unlike in the paper's footnote 1: at its Figure 4 default leaving them out makes the
error of recall three times too small. Assumes that the mixture is true and that whether a row was
labelled depends on its score alone. Large-sample figures: with a handful of labelled events the
true errors are larger and lopsided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from scarce.errors import UsageError, refuse_word
from scarce.missed.mixture.score_family import Array, quiet
from scarce.missed.score_axis import KnownMixture, score_axis
from scarce.results import short

_NULL = 1e-13  # eigenvalues of the scaled matrix below this share of the largest count as 0


@dataclass(frozen=True)
class Information:
    """Fisher information of a mixture's parameters.

    Informations of separate rows add up, and n rows have n times one row's.

    Parameters
    ----------
    matrix : ndarray of shape (n_params, n_params)
    names : tuple of str
        Of the parameters: the positive share, the background's, the foreground's.
    mixture : KnownMixture
        Where it was taken.
    unit : ndarray of shape (n_params,)
        Change of the family's own parameter for a unit of the parameter named here.

    Examples
    --------
    >>> mixture = KnownMixture(0.3, "normal", [2.0, 0.0], "normal", [3.88, 0.0])
    >>> tail = information(mixture, 10_000, design="tail", n_labels=500)
    >>> print(tail)
    positive_share         0.3 +- 0.027
    background_mean        2 +- 0.035
    background_log_spread  0 +- 0.014
    foreground_mean        3.88 +- 0.094
    foreground_log_spread  0 +- 0.039
    >>> round(tail.recall_sd(4.0), 3), round(tail.without_cross_terms().recall_sd(4.0), 3)
    (0.036, 0.01)
    """

    matrix: Array
    names: tuple[str, ...]
    mixture: KnownMixture
    unit: Array

    def __add__(self, other: Information) -> Information:
        if self.names != other.names or not np.array_equal(self.values, other.values):
            raise UsageError(
                "Informations add up only for the same parameters at the same values: "
                f"{', '.join(self.names)} here, {', '.join(other.names)} there."
            )
        return replace(self, matrix=self.matrix + other.matrix)

    def __mul__(self, n_rows: float) -> Information:
        return replace(self, matrix=self.matrix * float(n_rows))

    __rmul__ = __mul__

    @property
    def values(self) -> Array:
        """The parameters themselves, in the units of `names`."""
        own = np.concatenate([[self.mixture.positive_share_], *self.mixture.params])
        for at, name in enumerate(self.names):
            if name.endswith("_variance"):
                own[at] = math.exp(2 * own[at])
        return own

    def variance(self, gradient: Array) -> float:
        """Return the variance of a figure with this gradient; infinite where it is not identified.

        Examples
        --------
        >>> mixture = KnownMixture(0.3, "normal", [2.0, 0.0], "normal", [2.0, 0.0])
        >>> float(unlabelled_information(mixture).variance(np.eye(5)[0]))
        inf
        """
        value, axes = self._principal
        along = axes.T @ gradient
        seen = value > _NULL * value.max()
        if np.abs(along[~seen]).max(initial=0.0) > 1e-6 * np.abs(along).max(initial=0.0):
            return math.inf
        return float(np.sum(along[seen] ** 2 / value[seen]))

    def solve(self, gradients: Array) -> Array:
        """Return the inverse of the matrix times gradients (columns), where identified."""
        value, axes = self._principal
        seen = value > _NULL * value.max()
        return np.asarray(axes[:, seen] @ ((axes[:, seen].T @ gradients) / value[seen, None]))

    @cached_property
    def _principal(self) -> tuple[Array, Array]:
        """Eigenvalues, and axes that diagonalise the matrix, on the scale of labelled rows.

        Without a label the share may have no information but rounding; measured by itself that
        would look like any other.
        """
        full = labelled_information(self.mixture).matrix
        size = 1.0 / (np.sqrt(np.diag(full)) * self.unit)
        value, axes = np.linalg.eigh(self.matrix * np.outer(size, size))
        return value, axes * size[:, None]

    def sd(self) -> Array:
        """Return the least standard error of each parameter, the others being unknown too."""
        return np.sqrt([self.variance(one) for one in np.eye(len(self.names))])

    def recall_gradient(self, t: float) -> Array:
        """Return d recall / d params at threshold t: the foreground's score over its tail."""
        gradient = np.zeros(len(self.names))
        axis = score_axis(self.mixture, low=t)
        events = axis.mass * axis.posterior / self.mixture.positive_share_
        foreground, params = self.mixture.parts[1], self.mixture.params[1]
        gradient[-len(params) :] = foreground.gradient(axis.s, params) @ events
        return gradient * self.unit

    def recall_sd(self, t: float) -> float:
        """Return the standard error of recall at threshold t, by the delta method."""
        return math.sqrt(self.variance(self.recall_gradient(t)))

    def without_cross_terms(self) -> Information:
        """Return the diagonal alone: every parameter as if all others were known (footnote 1)."""
        return replace(self, matrix=np.diag(np.diag(self.matrix)))

    def in_variances(self) -> Information:
        """Return the same in the paper's parameters of normal parts: mean and variance."""
        names, unit = list(self.names), self.unit.copy()
        for part, word in zip(self.mixture.parts, ("background", "foreground"), strict=True):
            if part.name != "normal":
                raise UsageError(
                    f"The {word} is {part.name}, whose parameters are not a mean and a variance. "
                    "Only normal parts can be told that way: read .matrix as it is."
                )
            at = self.names.index(f"{word}_log_spread")
            names[at] = f"{word}_variance"
            variance = math.exp(2 * (self.mixture.params[word == "foreground"][1]))
            unit[at] = 0.5 / variance  # d log sd / d variance
        ratio = unit / self.unit
        return replace(
            self, matrix=self.matrix * np.outer(ratio, ratio), names=tuple(names), unit=unit
        )

    def __str__(self) -> str:
        width = max(map(len, self.names))
        rows = zip(self.names, self.values, self.sd(), strict=True)
        return "\n".join(f"{name:<{width}}  {value:.4g} +- {sd:.2g}" for name, value, sd in rows)


def label_scores(mixture: KnownMixture, s: Array) -> tuple[Array, Array]:
    """Return d log p / d params of rows labelled event, and of rows labelled not, (n_params, n)."""
    share, (background, foreground), params = mixture.positive_share_, mixture.parts, mixture.params
    event, not_event = np.zeros((2, 1 + len(params[0]) + len(params[1]), len(s)))
    event[0], not_event[0] = 1.0 / share, -1.0 / (1.0 - share)
    not_event[1 : 1 + len(params[0])] = background.gradient(s, params[0])
    event[1 + len(params[0]) :] = foreground.gradient(s, params[1])
    return event, not_event


def unlabelled_information(
    mixture: Any, low: float = -math.inf, high: float = math.inf
) -> Information:
    """Return what one row tells without a label, if its score is in [low, high).

    Parameters
    ----------
    mixture : fitted ScoreMixture or KnownMixture
    low, high : float
        Rows with other scores add nothing; the sum over regions is one row's information.

    Returns
    -------
    Information
    """
    return _per_row(mixture, low, high, labelled=False)


def labelled_information(
    mixture: Any, low: float = -math.inf, high: float = math.inf
) -> Information:
    """Return what one row tells with its label, if its score is in [low, high).

    Examples
    --------
    >>> mixture = KnownMixture(0.2, "normal", [0.0, 0.0], "normal", [2.0, 0.0])
    >>> design = 300 * labelled_information(mixture, low=1.5)
    >>> design += 300 * unlabelled_information(mixture, high=1.5)
    >>> design.sd().round(3).tolist()
    [0.051, 0.072, 0.047, 0.363, 0.212]
    """
    return _per_row(mixture, low, high, labelled=True)


@quiet
def _per_row(mixture: Any, low: float, high: float, *, labelled: bool) -> Information:
    own = KnownMixture.of(mixture)
    axis = score_axis(own, low, high)
    event, not_event = label_scores(own, axis.s)
    if labelled:
        matrix = (event * (axis.mass * axis.posterior)) @ event.T
        matrix += (not_event * (axis.mass * axis.rest)) @ not_event.T
    else:
        score = event * axis.posterior + not_event * axis.rest
        matrix = (score * axis.mass) @ score.T
    return Information(matrix, own.names, own, np.ones(len(matrix)))


def class_information(mixture: Any, *, event: bool) -> Information:
    """Return what one labelled row of a class tells, counted as 002 eq 3-5 count it."""
    own = KnownMixture.of(mixture)
    axis = score_axis(own)
    scores, share = label_scores(own, axis.s), own.positive_share_
    score = scores[0] if event else scores[1]
    mass = axis.mass * (axis.posterior / share if event else axis.rest / (1.0 - share))
    matrix = (score * mass) @ score.T
    return Information(matrix, own.names, own, np.ones(len(matrix)))


def information(
    mixture: Any,
    n_rows: float,
    *,
    design: str = "tail",
    n_labels: float | None = None,
    threshold: float | None = None,
) -> Information:
    """Return the Fisher information of a batch of rows under a way of labelling.

    Parameters
    ----------
    mixture : fitted ScoreMixture or KnownMixture
    n_rows : float
        Rows in the batch.
    design : {"tail", "random", "equal-class"}
        Labelled are the greatest scores; or rows drawn at random; or as many events as others.
        Where events are fewer than half of the labels, all events and more of the others
        (footnote 2 of the paper).
    n_labels : float, optional
        Labels in the batch. For "tail" give this or `threshold`.
    threshold : float, optional
        For "tail": rows at or above are labelled.

    Returns
    -------
    Information

    Notes
    -----
    "equal-class" counts as the paper does: labels of a class chosen beforehand inform the share as
    if they had been drawn, and rows without label stay a fair sample of the mixture. Both flatter
    that design a little; it stands here to compare with the paper's Figure 1.

    **Assumes** that the mixture is true and that labelling looked at nothing but scores.

    References
    ----------
    Louis (1982), Finding the observed information matrix when using the EM algorithm, Journal of
    the Royal Statistical Society B 44.

    Examples
    --------
    >>> mixture = KnownMixture(0.001, "normal", [2.0, 0.0], "normal", [3.88, 0.0])
    >>> for design in ("random", "equal-class"):
    ...     batch = information(mixture, 1e6, design=design, n_labels=1000)
    ...     print(design, round(batch.matrix[3, 3]))
    random 80
    equal-class 579
    """
    refuse_word("design", design, ("tail", "random", "equal-class"))
    own = KnownMixture.of(mixture)
    if n_labels is None and (threshold is None or design != "tail"):
        raise UsageError(
            f"design={design!r} does not say how many rows are labelled: give n_labels="
            + (" or threshold=." if design == "tail" else ".")
        )
    if n_labels is not None and not 0 <= n_labels <= n_rows:
        raise UsageError(
            f"n_labels={short(n_labels)} of n_rows={short(n_rows)} cannot be labelled: give a "
            "number from 0 to n_rows."
        )
    if design == "tail":
        return _tail(own, n_rows, n_labels, threshold)
    assert n_labels is not None
    bare = (n_rows - n_labels) * unlabelled_information(own)
    if design == "random":
        return n_labels * labelled_information(own) + bare
    events = min(0.5 * n_labels, n_rows * own.positive_share_)
    labelled = events * class_information(own, event=True)
    return labelled + (n_labels - events) * class_information(own, event=False) + bare


def _tail(
    own: KnownMixture, n_rows: float, n_labels: float | None, threshold: float | None
) -> Information:
    if threshold is None:
        assert n_labels is not None
        if n_labels in (0, n_rows):
            kind = labelled_information if n_labels else unlabelled_information
            return n_rows * kind(own)
        threshold = float(own.threshold_for(n_labels / n_rows))
    above = labelled_information(own, low=threshold)
    return n_rows * (above + unlabelled_information(own, high=threshold))
