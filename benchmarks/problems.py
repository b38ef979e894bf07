"""What is measured: data from a seed, and what counts as the same answer.

Two sides are compared only where `same` says that they found the same answer, and each shows its
objective: a ratio of times alone says nothing.

gram-pass    one pass of logistic regression: Gram matrix, gradient, loss     2,000,000 x 50
small-fold   the same pass over 500 rows, where the cost of a fold shows            500 x 20
naive-bayes  fit of Gaussian naive Bayes, 1 % positives                       1,000,000 x 20
fit-...      regressions of a rare class, at several sizes and links: see fits.py
grid-27x7    choice of shape and ridge, in units of one fit                     100,000 x 20
grow-...     a fit of a Parquet file, from 100,000 to 10,000,000 rows of 10 columns
maxent-...   presences in a pool of 10,000 to 1,000,000 rows of 11 columns: see maxents.py
scores-...   10,000 to 100,000,000 scores with few labels: see scores.py
decide-...   the cheapest of three actions for 10,000,000 rows: see decisions.py
bayes-...    fit and probabilities of Gaussian models, 1,000,000 x 20: see decisions.py
"""

from __future__ import annotations

import numpy as np

from benchmarks.decisions import DECISIONS
from benchmarks.fits import FITS, GRID, GROW, LASSO
from benchmarks.maxents import MAXENTS
from benchmarks.problem import Answer, Array, Data, Problem, draw_logistic
from benchmarks.scores import SCORES

__all__ = ["GROW", "PROBLEMS", "Answer", "Array", "Data", "Problem"]


def draw_classes(rows: int, columns: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw two classes, 1 % positive, of other means and spreads in every feature."""
    y = (rng.random(rows) < 0.01).astype(np.float64)
    X = rng.standard_normal((rows, columns))
    rare = y == 1.0
    X[rare] = X[rare] * np.linspace(0.5, 2.0, columns) + np.linspace(-1.0, 1.0, columns)
    X += np.linspace(0.0, 5.0, columns)
    return X, y


def loss_per_row(answer: Answer, rows: int) -> float:
    """Return the mean logistic loss."""
    return float(answer["loss"][0]) / rows


def bayes_loss_per_row(answer: Answer, rows: int) -> float:
    """Return the mean negative log-likelihood of features and class, at its minimum.

    A Gaussian with the sample's own moments has mean squared standardised distance 1, so the value
    follows from priors and variances: sum_y p_y [ -log p_y + sum_j (log 2 pi v_yj + 1) / 2 ].
    """
    prior = answer["prior"]
    per_class = 0.5 * (np.log(2 * np.pi * answer["variance"]) + 1.0).sum(axis=1)
    return float(prior @ (per_class - np.log(prior)))


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem(
            "gram-pass",
            "One logistic pass: weighted Gram matrix, gradient, loss",
            2_000_000,
            50,
            draw_logistic,
            loss_per_row,
            tolerance=1e-10,
        ),
        Problem(
            "small-fold",
            "The same pass over few rows: what a fold costs beside its kernel",
            500,
            20,
            draw_logistic,
            loss_per_row,
            tolerance=1e-10,
            calls=3000,
            in_file=False,
        ),
        Problem(
            "naive-bayes",
            "Fit of Gaussian naive Bayes, two classes, 1 % positives",
            1_000_000,
            20,
            draw_classes,
            bayes_loss_per_row,
            tolerance=1e-9,
        ),
        *FITS,
        LASSO,
        GRID,
        *GROW,
        *MAXENTS,
        *SCORES,
        *DECISIONS,
    )
}
