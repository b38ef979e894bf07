"""What does a fit tell beside its coefficients? Computed when it is first asked for, not by `fit`.

    covariance of the coefficients       (inference.py)
    training rows outside the link's support, and the penalised loss at the answer

Each takes a pass over the training rows, which a fit that only predicts need not pay for. Rows in
memory are held by reference until then, so somebody may have written into them: whoever asks gets
a refusal then, never a number of other rows. The witness is what the fit saw: weights of the
classes, mean and standard deviation of every column, and a gradient that vanishes at the answer.

Assumes that rows read again (of a file) come in the same blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, one_blas_thread
from scarce.engine.rows import Rows, block_labels
from scarce.errors import UsageError
from scarce.linear import inference
from scarce.linear.newton import Objective, StandardCoordinates
from scarce.linear.sums import (
    ColumnSummary,
    LinearSums,
    column_sums,
    labelled_rows,
    linear_sums,
)
from scarce.missing.front import Front, fit_front

SAME = 1e-9  # difference of a mean, in standard deviations, that rounding may leave
STILL = 1e-7  # gradient per unit of weight at an answer that is one of these rows

Value = TypeVar("Value")


class NotComputed(UsageError, AttributeError):
    """An attribute that needs the training rows, and they are gone or have changed."""


class Deferred(Generic[Value]):
    """An attribute that the model computes when it is first asked for, and keeps.

    `fit` sets it in the model's dictionary where it is known, which then comes first; else
    `model._deferred(name)` is asked.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, model: None, owner: type) -> Deferred[Value]: ...

    @overload
    def __get__(self, model: object, owner: type) -> Value: ...

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        if "classes_" not in vars(model):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        return model._deferred(self.name)


class Counted(NamedTuple):
    """What one pass finds."""

    outside: int
    value: float


@dataclass(frozen=True)
class Diagnostics:
    """The training rows and what is to be found in them once somebody asks.

    Parameters
    ----------
    rows : Rows
        As they were fitted.
    objective : Objective
        With the summary of these rows' columns.
    coef : ndarray of shape (k + 1,)
        The answer, in the units of these rows.
    certificate : float
        Largest entry of the gradient there per unit of weight; nan where it proves something else.
    value : float
        The penalised loss there; nan where it is not known yet.
    support : tuple of float
        Of the link.
    size : ndarray of shape (k,)
        Of the means as given, whose rounding the columns carry.
    survey : bool
        Whether the weights are sampling weights.
    own : bool
        Whether nobody else can write into the rows.
    """

    rows: Rows
    objective: Objective
    coef: Array
    certificate: float
    value: float
    support: tuple[float, float]
    size: Array
    survey: bool
    own: bool

    def covariance(self, engine: Engine) -> Array:
        """Return the covariance of [coef, intercept]; two or three passes."""
        with one_blas_thread:
            self._count(engine, value=False)
            return inference.covariance(self.rows, self.objective, self.coef, self.survey, engine)

    def count(self, engine: Engine) -> Counted:
        """Return how many rows lie outside the support, and the penalised loss; one pass."""
        with one_blas_thread:
            return self._count(engine, value=True)

    def front(self, engine: Engine) -> Front:
        """Return the joint distribution of the columns of the labelled rows; four passes."""
        with one_blas_thread:
            self._count(engine, value=False)
            weight = None
            if self.objective.stats.unlabelled:
                labelled = ~np.isnan(self.rows.map(block_labels, engine=engine))
                weight = self.rows.weights(engine=engine) * labelled
            return fit_front(self.rows, weight, engine=engine)

    def _count(self, engine: Engine, value: bool) -> Counted:
        """Pass over the rows once; refuse rows that are not those of the fit."""
        objective, coef = self.objective, self.coef
        if self.own and not value:
            return Counted(0, np.nan)
        value = value or not np.isnan(self.value)
        params = (objective.loss, coef[:-1].copy(), float(coef[-1]), True, False, value)
        columns, sums, outside = self.rows.fold(
            diagnose, (params, objective.stats.mean, self.support), engine=engine
        )
        loss = float(sums.value) + objective.penalty_at(coef)
        if not self.own and not (
            _same_columns(columns, objective.stats, self.size) and self._same_answer(sums, loss)
        ):
            raise NotComputed(
                "The training rows have changed since the fit: somebody wrote into the array, or "
                "the file is another one. What is computed from them would be of other rows.",
                code="rows-changed",
                remedy="Fit the model again, or pass fit a copy.",
            )
        return Counted(int(outside), loss)

    def _same_answer(self, sums: LinearSums, loss: float) -> bool:
        """Whether gradient and loss at the answer are those of the fit."""
        objective = self.objective
        if not np.isnan(self.value) and abs(loss - self.value) > 1e-8 * abs(self.value):
            return False
        if np.isnan(self.certificate):
            return True
        gradient = StandardCoordinates(objective, self.coef).gradient(self.coef, sums)
        size = float(np.abs(gradient).max(initial=0.0)) / objective.stats.total
        return size <= max(STILL, 100.0 * self.certificate)


def _same_columns(
    columns: tuple[Array, Array, int, Array, Array], stats: ColumnSummary, size: Array
) -> bool:
    """Whether class weights, means and standard deviations are those of the fit."""
    weight, count, unlabelled, first, second = columns
    total, rounding = stats.total, 1e-12 * size
    spread = np.sqrt(np.maximum(second / total - (first / total) ** 2, 0.0))
    return bool(
        np.allclose(weight, stats.weight, rtol=1e-9, atol=0.0)
        and np.array_equal(count, stats.count)
        and unlabelled == stats.unlabelled
        and (np.abs(first / total) <= SAME * stats.std + rounding).all()
        and (np.abs(spread - stats.std) <= 100.0 * SAME * stats.std + rounding).all()
    )


def diagnose(block: Block, params: tuple[Any, Array, tuple[float, float]]) -> tuple[Any, ...]:
    """Kernel: column sums from an origin, gradient (and loss) at the answer, rows outside."""
    of_sums, origin, support = params
    outside = outside_support(block, (support, np.append(of_sums[1], of_sums[2])))
    return column_sums(block, origin), linear_sums(block, of_sums), outside


def outside_support(block: Block, params: tuple[tuple[float, float], Array]) -> int:
    """Kernel: training rows whose score lies at or beyond the ends of a link's support."""
    (low, high), coef = params
    if not np.isfinite([low, high]).any():
        return 0
    X, _, _ = labelled_rows(block, True)
    scores = X @ coef[:-1] + coef[-1]
    return int(np.count_nonzero((scores <= low) | (scores >= high)))
