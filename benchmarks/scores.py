"""Scores of which a few are labelled: what do a fit and an estimate cost beside a plain pass?

    minimise  D = -mean log p(score, label)        normal background, normal events    (002 eq 1)
    certificate = sqrt(g' J^-1 g)                  standard errors to the optimum, from the rows

The top of the scores is labelled, as by analysts who open every alert. An answer of a fit is five
numbers; its objective and certificate are computed here from every row: g is the gradient of the
log likelihood and J the sum of squares of the rows' own gradients, so that a fit of bins is judged
by the scores themselves. Answers of passes are sums, answers of estimates the figures of a report.

Assumes that families are known (rivals have one only) and without a prior on the spreads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from benchmarks.problem import SEED, Answer, Array, Data, Problem

CERTIFICATE = 0.01  # standard errors that every side is asked to stop at, where it can be asked
LIMIT = 0.02  # largest that counts
CENTRE = 6.56  # of the background, whose spread is 1: as in paper 002
ROW_GROUP = 1_048_576  # rows, a usual size; also how many are drawn at a time


@dataclass(frozen=True)
class ScoreProblem(Problem):
    """Normal scores with events `apart` spreads higher; the top share is labelled."""

    share: float = 0.008
    apart: float = 1.88
    labelled: float = 0.01
    in_memory: bool = True  # whether sides that hold arrays take part

    @property
    def threshold(self) -> float:
        """The score above which every row is labelled."""

        def excess(t: float) -> float:
            return float(
                self.share * ndtr(CENTRE + self.apart - t)
                + (1 - self.share) * ndtr(CENTRE - t)
                - self.labelled
            )

        return brentq(excess, CENTRE - 10, CENTRE + 30) if self.labelled else np.inf

    @property
    def truth(self) -> Array:
        """Log odds of an event; mean and log spread of the background and of events."""
        return np.array([logit(self.share), CENTRE, 0.0, CENTRE + self.apart, 0.0])

    def drawn(self, rows: int) -> Iterator[tuple[Array, Array]]:
        """Draw scores and labels, part by part."""
        rng = np.random.default_rng(SEED)
        for first in range(0, rows, ROW_GROUP):
            size = min(ROW_GROUP, rows - first)
            event = rng.random(size) < self.share
            score = CENTRE + self.apart * event + rng.standard_normal(size)
            yield score, np.where(score >= self.threshold, event * 1.0, np.nan)

    def make(self, folder: Path, rows: int) -> Data:
        """Write arrays and a Parquet file with columns x0 and y (null where not labelled).

        Where no side holds arrays, X.npy is empty and y.npy a hole of the right length.
        """
        folder.mkdir(parents=True, exist_ok=True)
        kept = rows if self.in_memory else 0
        kind = np.float64 if self.in_memory else np.int8
        X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (kept, 1))
        y = np.lib.format.open_memmap(folder / "y.npy", "w+", kind, (rows,))
        data = Data(folder, self.coef(1))
        schema = pa.schema([("x0", pa.float64()), ("y", pa.int8())])
        with pq.ParquetWriter(data.parquet, schema, compression="zstd") as writer:
            first = 0
            for score, label in self.drawn(rows):
                if self.in_memory:
                    X[first : first + len(score), 0] = score
                    y[first : first + len(score)] = label
                labels = pa.array(np.nan_to_num(label).astype(np.int8), mask=np.isnan(label))
                writer.write_table(pa.table([pa.array(score), labels], schema=schema))
                first += len(score)
        return data

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return D and the distance to its least value, from the rows."""
        total, gradient, squares, n = 0.0, np.zeros(5), np.zeros((5, 5)), 0
        for score, label in rows_of(data):
            value, slopes = surprise(answer["params"], score, label)
            total += value
            gradient += slopes.sum(axis=1)
            squares += slopes @ slopes.T
            n += len(score)
        return total / n, float(np.sqrt(gradient @ np.linalg.solve(squares, gradient)))

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the largest difference of a parameter."""
        return float(np.abs(answer["params"] - reference["params"]).max())


def rows_of(data: Data) -> Iterator[tuple[Array, Array]]:
    """Walk scores and labels as the Parquet file has them."""
    with pq.ParquetFile(data.parquet) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            score = table.column("x0").to_numpy()
            label = table.column("y").combine_chunks().cast(pa.float64()).fill_null(np.nan)
            yield score, label.to_numpy(zero_copy_only=False)


def surprise(params: Array, score: Array, label: Array) -> tuple[float, Array]:
    """Return minus the log likelihood, and the gradient of each row's, shape (5, n)."""
    odds, mean0, log_spread0, mean1, log_spread1 = params
    z0 = (score - mean0) * np.exp(-log_spread0)
    z1 = (score - mean1) * np.exp(-log_spread1)
    log0 = -np.logaddexp(0.0, odds) - 0.5 * z0**2 - log_spread0
    log1 = -np.logaddexp(0.0, -odds) - 0.5 * z1**2 - log_spread1
    either = np.logaddexp(log0, log1)
    event = np.where(np.isnan(label), np.exp(log1 - either), label)
    value = np.where(np.isnan(label), either, np.where(label == 1.0, log1, log0))
    slopes = np.array(
        [
            event - expit(odds),
            (1 - event) * z0 * np.exp(-log_spread0),
            (1 - event) * (z0**2 - 1),
            event * z1 * np.exp(-log_spread1),
            event * (z1**2 - 1),
        ]
    )
    return float(0.5 * np.log(2 * np.pi) * len(score) - value.sum()), -slopes


def start_of(score: Array, label: Array) -> Array:
    """Return where EM starts: all rows as background, the labelled events or the top as events."""
    top = score[label == 1.0] if (label == 1.0).any() else np.sort(score)[-len(score) // 20 :]
    share = 1.5 * len(top) / len(score)
    return np.array([logit(share), score.mean(), np.log(score.std()), top.mean(), 0.0])


@dataclass(frozen=True)
class PassProblem(ScoreProblem):
    """Number, sum and sum of squares of the scores; an answer holds `sums`, the latter two."""

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return the mean score, which says that the pass was made; there is no certificate."""
        return float(answer["sums"][0]) / len(data.mapped()[1]), None

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the largest relative difference."""
        return float(np.abs(answer["sums"] / reference["sums"] - 1.0).max())


@dataclass(frozen=True)
class EstimateProblem(ScoreProblem):
    """The report of a detector; an answer holds `figures`: value and ends of each estimate."""

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return the estimate of recall; there is no certificate."""
        return float(answer["figures"][0, 0]), None

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the largest difference of a figure, in units of its interval."""
        one, other = answer["figures"], reference["figures"]
        if not np.array_equal(np.isfinite(one), np.isfinite(other)):
            return float("inf")
        width = np.maximum(other[:, 2] - other[:, 1], 1e-12)[:, None]
        return float(np.nanmax(np.abs(one - other) / width))


def figures(found: Any) -> Answer:
    """Return the answer of a `Performance`."""
    each = (found.recall, found.precision, found.prevalence, found.missed)
    return {"figures": np.array([[one.value, one.low, one.high] for one in each])}


def _drawn_by_make(*_: Any) -> tuple[Array, Array]:
    raise NotImplementedError("ScoreProblem.make draws the scores.")


def _problem(kind: type[ScoreProblem], name: str, title: str, rows: int, **more: Any) -> Problem:
    settings = {"tolerance": 1e-2, "opens": True, "certificate_name": "standard errors off"} | more
    return kind(name, title, rows, 1, _drawn_by_make, None, **settings)


TOP = "0.8 % events 1.88 spreads higher, the top 1 % labelled"
SCORES: tuple[Problem, ...] = (
    _problem(
        PassProblem,
        "scores-pass",
        f"Sum and sum of squares of the scores: {TOP}; 'digest' keeps up to 4,096 bins of each "
        "label state beside",
        10**7,
        tolerance=1e-11,
    ),
    _problem(
        ScoreProblem,
        "scores-fit",
        f"Mixture of two families, the background's chosen among three: {TOP}",
        10**7,
        limit=LIMIT,
    ),
    _problem(
        ScoreProblem,
        "scores-fit-1e8",
        f"The same, ten times as many: {TOP}",
        10**8,
        limit=LIMIT,
        in_memory=False,
    ),
    _problem(
        ScoreProblem,
        "scores-em",
        f"Mixture of two normals to 0.01 standard errors: {TOP}",
        2 * 10**6,
        limit=LIMIT,
    ),
    _problem(
        ScoreProblem,
        "scores-unlabelled",
        "Mixture of two normals without any label, to 0.01 standard errors: 10 % events 3 spreads "
        "higher",
        10**6,
        limit=LIMIT,
        share=0.1,
        apart=3.0,
        labelled=0.0,
    ),
    _problem(
        EstimateProblem,
        "scores-estimate",
        f"Recall, precision, prevalence and missed events with intervals: {TOP}; the objective is "
        "the estimate of recall",
        10**7,
        tolerance=0.05,
    ),
    _problem(
        EstimateProblem,
        "scores-estimate-1e8",
        f"The same, ten times as many: {TOP}",
        10**8,
        tolerance=0.05,
        in_memory=False,
    ),
    _problem(
        EstimateProblem,
        "scores-estimate-1e4",
        f"The same report of few scores: {TOP}",
        10**4,
        tolerance=0.05,
        calls=20,
    ),
)
