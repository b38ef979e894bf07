"""Proper scores with their intervals: how far are probabilities from what happened?

    Brier     mean (prob - y)^2                      (001 section 4; for two classes, 0 to 1)
    log loss  mean -log prob(of what happened)       in nats
    skill     1 - loss / loss of the constant forecast, which gives every row the class shares

One number has one definition: `brier_score`, `log_loss`, `brier_curve`, `evaluate` and the command
line take value and interval from `LossFigures`. A mean has a sampling error, and a score without it
invites stories about noise. Assumes what bootstrap.py says. Rows without a label are refused unless
`inclusion` says how the others were chosen: which rows were labelled is part of the answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from scarce.bootstrap import (
    Bootstrap,
    Figure,
    Inclusion,
    Resampling,
    Sample,
    Seed,
    Weights,
    read_kind,
    read_sample,
)
from scarce.checks import read_prob, refuse_length, refuse_other_index
from scarce.decisions.decide import encode_labels
from scarce.engine.block import Array
from scarce.errors import Argument, DataError
from scarce.results import Estimate
from scarce.scoring import LOSSES, losses_if, row_losses

SUM_SLACK = 1e-3  # probabilities written with three digits
ONE_CLASS = "there are rows of one class only, and the constant forecast loses nothing"
LOG, BRIER = range(len(LOSSES))


def brier_score(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Estimate:
    """Return the mean squared distance between probability and outcome, with its interval.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; missing where not labelled, with `inclusion`.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
        As in `evaluate`, whose `brier` this is.

    **Assumes** independent rows, or groups. With rows of one class only the limits are unknown.

    Examples
    --------
    >>> print(brier_score([0, 0, 1, 0] * 25, [0.1, 0.2, 0.7, 0.1] * 25))
    0.0375 [0.0319, 0.0588] (90 %, bootstrap, one unseen row added)
    """
    asked = Resampling.read(level, resamples, random_state)
    rows = Forecasts.read(
        y_true, prob, None, read_kind(sample_weight, weight_kind), inclusion, groups, binary=True
    )
    return LossFigures(rows, asked).mean(BRIER)


def log_loss(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Estimate:
    """Return the mean negative log-probability of what happened, in nats, with its interval.

    Infinite, and said so, when something happened that had probability exactly 0.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; missing where not labelled, with `inclusion`.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
        As in `evaluate`, whose `log_loss` this is.

    **Assumes** independent rows, or groups. With rows of one class only the limits are unknown.

    Examples
    --------
    >>> print(log_loss([0, 0, 1, 0] * 25, [0.1, 0.2, 0.7, 0.1] * 25))
    0.198 [0.18, 0.254] (90 %, bootstrap, one unseen row added)
    >>> log_loss([1, 0], [0.0, 0.5]).value
    inf
    """
    asked = Resampling.read(level, resamples, random_state)
    rows = Forecasts.read(
        y_true, prob, None, read_kind(sample_weight, weight_kind), inclusion, groups, binary=True
    )
    return LossFigures(rows, asked).mean(LOG)


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Probabilities of labelled rows, and what happened.

    Parameters
    ----------
    place : ndarray of intp, shape (n_labelled,)
        Position of the class that happened.
    prob : ndarray of shape (n_labelled,) or (n_labelled, n_classes)
        Probability of class 1 of two, or of each class.
    classes : tuple of names
    sample : Sample
    """

    place: NDArray[np.intp]
    prob: Array
    classes: tuple[Hashable, ...]
    sample: Sample

    @classmethod
    def read(
        cls,
        y_true: ArrayLike,
        prob: ArrayLike,
        classes: Sequence[Hashable] | None = None,
        sample_weight: Weights = None,
        inclusion: Inclusion = None,
        groups: ArrayLike | None = None,
        *,
        binary: bool = False,
    ) -> Forecasts:
        """Check the arguments of `evaluate`; `binary` takes one probability per row only."""
        refuse_other_index(
            y_true=y_true,
            prob=prob,
            sample_weight=sample_weight,
            inclusion=inclusion,
            groups=groups,
        )
        p = read_probabilities(prob, binary=binary)
        n_classes = 2 if p.ndim == 1 else p.shape[1]
        names = tuple(range(n_classes)) if classes is None else tuple(classes)
        if len(names) < 2 or len(names) != n_classes:
            raise DataError(
                "There are {count} classes, and {argument} has shape {shape}.",
                code="shape-mismatch",
                count=len(names),
                argument=Argument("prob"),
                shape=p.shape,
                remedy="Give one probability per class, or that of the last of two classes.",
            )
        place = encode_labels(y_true, names, "y_true", "the classes")
        refuse_length(p[:, 0] if p.ndim == 2 else p, len(place), "prob")
        sample = read_sample(place >= 0, sample_weight, inclusion, groups)
        return cls(place[sample.rows], p[sample.rows], names, sample)

    @property
    def counts(self) -> NDArray[np.intp]:
        """Labelled rows of each class."""
        return np.bincount(self.place, minlength=len(self.classes))

    @property
    def events(self) -> list[int]:
        """Positions of the classes that are judged one by one: the last of two, or each."""
        n = len(self.classes)
        return list(range(n)) if n > 2 else [1]

    def given(self, k: int) -> Array:
        """Probability of a class, for each row."""
        return self.prob if self.prob.ndim == 1 else self.prob[:, k]


def read_probabilities(prob: ArrayLike, *, binary: bool = False) -> Array:
    """Return probabilities of shape (n,) or (n, n_classes), each row of which adds up to 1."""
    held: Any = prob.to_numpy() if hasattr(prob, "to_numpy") else prob
    if np.ndim(held) != 2 or np.shape(held)[1] == 1 or binary:
        return read_prob(held)
    table = np.asarray(held, dtype=np.float64)
    for column in table.T:
        read_prob(column)
    off = np.abs(table.sum(axis=1) - 1) > SUM_SLACK
    if off.any():
        row = int(np.argmax(off))
        raise DataError(
            "The probabilities of row {row:,} add up to {value:.4g}, not to 1.",
            code="prob-sum",
            row=row,
            value=float(table[row].sum()),
            remedy="Give one probability per class.",
        )
    return table


class LossFigures:
    """Mean losses, skills and mean probabilities of the same rows, from the same resamples.

    Parameters
    ----------
    rows : Forecasts
    asked : Resampling
    """

    def __init__(self, rows: Forecasts, asked: Resampling) -> None:
        self.rows, self.asked, self.n = rows, asked, len(rows.classes)
        given = [rows.given(k) for k in rows.events]

        def values(k: int) -> Array:
            return np.column_stack([*(losses_if(rows.prob, k, loss) for loss in LOSSES), *given])

        self._drawn = Bootstrap(rows.place, self.n, rows.sample, asked, values, losses=len(LOSSES))

    @cached_property
    def impossible(self) -> int:
        """Rows in which what happened had probability 0."""
        return int(np.isinf(row_losses(self.rows.place, self.rows.prob, "log")).sum())

    def mean(self, loss: int) -> Estimate:
        """Return the mean loss: LOG or BRIER."""
        if loss == LOG and self.impossible:
            return self._infinite(np.inf)
        return self._tested(self._drawn.estimate(self._mean(loss), 0.0))

    def constant(self, loss: int) -> Estimate:
        """Return the loss of the constant forecast."""
        return self._tested(self._drawn.estimate(self._constant(loss), 0.0))

    def skill(self, loss: int) -> Estimate:
        """Return the share of the constant forecast's loss that is saved."""
        if loss == LOG and self.impossible:
            return self._infinite(-np.inf)

        def figure(sums: Array) -> Array:
            base = self._of_shares(loss, sums)
            return 1 - self._mean(loss)(sums) / np.where(base > 0, base, np.nan)

        return self._tested(self._drawn.estimate(figure, most=1.0))

    def given(self, at: int) -> Estimate:
        """Return the mean probability of an event, by its place among `rows.events`."""
        return self._drawn.estimate(self._mean(len(LOSSES) + at), 0.0, 1.0)

    def happened(self, at: int) -> Estimate:
        """Return the base rate of an event."""
        return self._drawn.estimate(self._share(self.rows.events[at]), 0.0, 1.0)

    def gap(self, at: int) -> Estimate:
        """Return mean probability less base rate."""
        given, happened = self._mean(len(LOSSES) + at), self._share(self.rows.events[at])
        found = self._drawn.estimate(lambda sums: given(sums) - happened(sums), -1.0, 1.0)
        return self._tested(found)

    def _mean(self, column: int) -> Figure:
        return lambda sums: np.asarray(sums[:, self.n + column] / sums[:, : self.n].sum(axis=1))

    def _share(self, k: int) -> Figure:
        return lambda sums: np.asarray(sums[:, k] / sums[:, : self.n].sum(axis=1))

    def _constant(self, loss: int) -> Figure:
        def figure(sums: Array) -> Array:
            share = sums[:, : self.n] / sums[:, : self.n].sum(axis=1, keepdims=True)
            held = entr(share) if loss == LOG else share * (1 - share) / 2
            return np.asarray(held.sum(axis=1))

        return figure

    def _of_shares(self, loss: int, sums: Array) -> Array:
        """Loss of the class shares of these rows as a forecast, in each resample.

        The forecast stays what it is: one that is chosen anew in every resample is the best there,
        and nothing would ever be as good.
        """
        weight = self._drawn.total[: self.n]
        share = weight / weight.sum()
        unit = np.eye(self.n)
        given = np.where(share > 0, share, 1.0 / (len(self.rows.place) + 2.0))
        each = -np.log(given) if loss == LOG else ((unit - share) ** 2).sum(axis=1) / 2
        return np.asarray(sums[:, : self.n] @ each / sums[:, : self.n].sum(axis=1))

    def _infinite(self, value: float) -> Estimate:
        n = self.impossible
        said = f"{n:,} outcome{'s' if n != 1 else ''} had probability 0"
        return Estimate(value, value, value, self.asked.level, said, self.rows.sample.assumes)

    def _tested(self, one: Estimate) -> Estimate:
        return one if np.count_nonzero(self.rows.counts) > 1 else untested(one)


def untested(one: Estimate) -> Estimate:
    """Return the same figure without limits: no row of the other class has tested it."""
    if np.isnan(one.value):
        return replace(one, method="not identified", assumes=ONE_CLASS)
    return replace(one, low=np.nan, high=np.nan, method="no limits: rows of one class only")
