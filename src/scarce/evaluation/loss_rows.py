"""What did each decision lose, what might it have lost, and how sure was it?

    confidence = - min over actions of expected cost       ("cost"; for 0-1 loss, the greatest prob)
               = expected cost of the second cheapest action - of the cheapest         ("margin")

Keeping the rows with the least expected loss has the least risk of all rules that keep as many, if
the probabilities are right. Assumes that decisions are the cheapest ones under the probabilities.
Orders nothing: see coverage.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.checks import column, read_scores
from scarce.decisions.costs import CostMatrix, as_costs
from scarce.decisions.decide import (
    cheapest,
    class_probabilities,
    encode_labels,
    expected_cost,
    prob_table,
)
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, refuse_word
from scarce.evaluation.outcomes import Outcomes, read_outcomes
from scarce.evaluation.resample import support, typical
from scarce.evaluation.sample import Sample, read_sample, refuse_rows
from scarce.evaluation.wording import few_words

LOSSES = ("zero-one", "brier", "log")
ORDERS = ("cost", "margin")
SLACK = 8 * np.finfo(np.float64).eps  # rounding of an expected cost, in units of the costs


Drawn = tuple[Any, Any, Any]  # sample_weight, inclusion, groups


class LossRows(NamedTuple):
    """Labelled rows: what each lost, what it might have lost, how sure it was."""

    sample: Sample
    loss: Array
    least: float
    most: float
    confidence: Array
    few: str
    outcomes: Outcomes | None = None  # where losses are costs of actions


def read_losses(
    y_true: Any, prob: Any, confidence: Any, loss: Any, costs: Any, drawn: Drawn
) -> LossRows:
    """Return losses and confidence of the labelled rows; the arguments of `risk_coverage`."""
    read = _class_losses if isinstance(loss, str) else _array_losses
    return read(y_true, prob, confidence, loss, costs, drawn)


def _array_losses(
    y_true: Any, prob: Any, confidence: Any, loss: Any, costs: Any, drawn: Drawn
) -> LossRows:
    """Losses that the caller knows."""
    lost = column(loss, "loss")
    if confidence is None or isinstance(confidence, str) or costs is not None:
        raise UsageError(
            "loss= holds the losses themselves: pass confidence= with one number per row, the "
            "greatest for the surest, and no costs=."
        )
    order = read_scores(confidence, "confidence")
    refuse_rows(len(order), len(lost), "confidence")
    sample = read_sample(~np.isnan(lost), *drawn)
    lost, order = lost[sample.rows], order[sample.rows]
    few = few_words((), (), support(sample.by_group(sample.weight * lost)), sample.n_groups)
    sure = _ties(order, SLACK * np.abs(order))
    return LossRows(sample, lost, float(lost.min()), float(lost.max()), sure, few)


def _class_losses(
    y_true: Any, prob: Any, confidence: Any, loss: Any, costs: Any, drawn: Drawn
) -> LossRows:
    """Losses of decisions made from probabilities."""
    refuse_word("loss", loss, LOSSES)
    if prob is None:
        raise UsageError("prob= is missing: give probabilities, or loss= as an array of losses.")
    given = prob_table(prob, () if costs is None else as_costs(costs).classes)
    n_classes = given.shape[1] if given.ndim == 2 and given.shape[1] > 1 else 2
    matrix = as_costs(costs) if costs is not None else CostMatrix.zero_one(n_classes)
    chance = class_probabilities(given, matrix.classes)
    if costs is None:
        _refuse_names(y_true, matrix)
    found = None
    if costs is None and loss != "zero-one":
        table = _proper(chance, loss)
        label = encode_labels(y_true, matrix.classes, "y_true")
        refuse_rows(len(chance), len(label), "prob")
        sample = read_sample(label >= 0, *drawn)
        rows, label = sample.rows, label[sample.rows]
        lost = table[rows, label]
        doubt = np.einsum("nk,nk->n", chance, np.where(chance > 0, table, 0.0))[:, None]
        scale = np.ones(len(chance))
        ends = _ends(sample.weight, table[rows], lost, label)
    else:
        place = cheapest(given, matrix)
        found = read_outcomes(y_true, matrix.action_names()[place], matrix, *drawn)
        sample, rows, label = found.sample, found.sample.rows, found.label
        lost = found.cost(found.done, label)
        doubt = np.sort(expected_cost(chance, matrix, classes=matrix.classes), axis=1)
        scale = np.broadcast_to(np.abs(matrix.at()).max(axis=(-2, -1)), len(doubt))
        added = found.unseen_rows()
        ends = added[:, 0] / added[:, -1]
    if not np.isfinite(lost).all():
        row = int(rows[np.argmax(~np.isfinite(lost))])
        raise DataError(
            f"The loss of row {row:,} is infinite: what happened had probability 0 there. Use "
            'loss="brier", or probabilities above 0.'
        )
    if confidence is None or isinstance(confidence, str):
        refuse_word("confidence", confidence or "cost", ORDERS)
        sure = (
            doubt[:, 1] - doubt[:, 0]
            if confidence == "margin" and doubt.shape[1] > 1
            else -doubt[:, 0]
        )
    else:
        sure = read_scores(confidence, "confidence")
        refuse_rows(len(sure), len(chance), "confidence")
        scale = np.abs(sure)
    counts = np.bincount(label, minlength=matrix.shape[1])
    w = sample.weight
    few = few_words(matrix.classes, counts, support(sample.by_group(w * lost)), sample.n_groups)
    sure = _ties(sure[rows], SLACK * scale[rows])
    return LossRows(sample, lost, float(ends.min()), float(ends.max()), sure, few, found)


def _ends(weight: Array, table: Array, lost: Array, label: NDArray[np.intp]) -> Array:
    """Least and greatest loss of an unseen row that is like all rows, or like those of a class."""
    met = np.max(lost, where=np.isfinite(lost), initial=0.0)
    finite = np.where(np.isfinite(table), table, met)
    worst, best = finite.max(axis=1), finite.min(axis=1)
    kinds = [np.ones(len(weight), dtype=bool), *(label == k for k in np.unique(label))]
    return np.array([_like(weight[k], side[k]) for k in kinds for side in (best, worst)])


def _like(weight: Array, loss: Array) -> float:
    """Loss of an unseen row that is like these."""
    found = typical(weight, np.abs(loss), np.column_stack([loss, np.ones(len(loss))]))
    return float(found[0] / found[1])


def _refuse_names(y_true: Any, matrix: CostMatrix) -> None:
    """Refuse classes that are not numbered, where no costs name them."""
    try:
        encode_labels(y_true, matrix.classes, "y_true", "the columns of prob")
    except DataError as error:
        raise DataError(
            error.problem.text,
            code=error.code,
            remedy="For classes with names pass costs=CostMatrix.zero_one(names), in the order of "
            "these columns.",
            **error.fields,
        ) from None


def _ties(sure: Array, slack: Array) -> Array:
    """Give values that rounding alone tells apart the least of them.

    1 - 0.7 is not 0.3 to the last bit, and rows at both must not queue one behind the other.
    """
    order = np.argsort(sure, kind="stable")
    steps, room = np.diff(sure[order]), slack[order]
    start = np.append(True, steps > np.maximum(room[1:], room[:-1]))
    out = np.empty_like(sure)
    out[order] = sure[order][start][np.cumsum(start) - 1]
    return out


def _proper(chance: Array, loss: str) -> Array:
    """Loss of each row for each class: squared distance (0 to 1 for two classes), or -log."""
    if loss == "log":
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(chance))
    squares = (chance**2).sum(axis=1, keepdims=True)
    return np.asarray((squares - 2 * chance + 1) / 2)
