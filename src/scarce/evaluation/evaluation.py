"""How good are these probabilities, on rows whose outcome is known?

    skill = 1 - loss / loss of the constant forecast,     constant = share of each class, these rows
    gap   = mean probability - share that happened

Proper scores first (log loss, Brier), then what they are made of: calibration and ranking. All with
intervals, for rows that stand alone, that were drawn with known probabilities, or that come in
groups; two classes or several. Assumes that the rows with a label speak for those to be judged, by
themselves or by 1 / inclusion. Does not weigh mistakes by money: see worth/.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from scarce.checks import read_inclusion
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError
from scarce.evaluation.calibration import calibration_loss
from scarce.evaluation.ranking import auc
from scarce.evaluation.redrawn import Figure, Redrawn
from scarce.results import Estimate, Record, in_rows, short
from scarce.scoring import losses_if, row_losses

LOSSES = ("log", "brier")
ONE_CLASS = "there are rows of one class only, so that the constant forecast loses nothing"
FEW = 10  # labelled rows of a class, below which that is said
ROUNDING = 1e-12  # of a share saved
SUM_SLACK = 1e-3  # probabilities written with three digits


@dataclass(frozen=True, eq=False)
class Evaluation(Record):
    """Figures of probabilities on labelled rows.

    Parameters
    ----------
    classes : tuple of names
        Negative first, where there are two.
    rows : int
        Rows that were judged.
    counts : tuple of int
        Rows of each class among them.
    log_loss, brier : Estimate
    constant_log_loss, constant_brier : Estimate
        Of the constant forecast.
    log_loss_skill, brier_skill : Estimate
        Share of the constant's loss that is saved: 1 perfect, 0 no better, below 0 worse.
    events : tuple of names
        The classes that the next five speak of: the positive of two, each one of several.
    calibration : tuple of Estimate
        Calibration loss of each, against all others.
    given, happened, gap : tuple of Estimate
        Mean probability, share of the rows, and the difference.
    auc : tuple of Estimate
        How often a row of the class outranks another.
    level : float
    remarks : tuple of str
        What the reader should know, most important first.
    """

    classes: tuple[Hashable, ...]
    rows: int
    counts: tuple[int, ...]
    log_loss: Estimate
    brier: Estimate
    constant_log_loss: Estimate
    constant_brier: Estimate
    log_loss_skill: Estimate
    brier_skill: Estimate
    events: tuple[Hashable, ...]
    calibration: tuple[Estimate, ...]
    given: tuple[Estimate, ...]
    happened: tuple[Estimate, ...]
    gap: tuple[Estimate, ...]
    auc: tuple[Estimate, ...]
    level: float
    remarks: tuple[str, ...] = ()


def evaluate_prob(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    groups: NDArray[np.intp] | None = None,
    level: float = 0.9,
) -> Evaluation:
    """Judge probabilities by what happened.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Positions of the classes, from 0 on; none missing. See `drawn_weights` for rows without.
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of class 1 of two, or of each class.
    classes : sequence of names, optional
        In the order of the positions.
    sample_weight : array-like of shape (n,), optional
    groups : ndarray of int, shape (n,), optional
        Number of each row's group, from 0 on.
    level : float

    Returns
    -------
    Evaluation
        Where one class has no row, intervals are unknown: what the model says of such rows was
        never put to the test.

    Examples
    --------
    >>> found = evaluate_prob([0, 0, 1, 0] * 25, [0.1, 0.2, 0.7, 0.1] * 25)
    >>> print(found.brier)
    0.0375 [0.0321, 0.0589] (90 %, bootstrap, one unseen row added)
    >>> print(found.brier_skill)
    0.8 [0.699, 0.819] (90 %, bootstrap, one unseen row added)
    >>> found.auc[0].value, round(found.gap[0].value, 3)
    (1.0, 0.025)
    """
    p = np.asarray(prob, dtype=np.float64)
    y = np.asarray(y_true)
    names = tuple(range(2 if p.ndim == 1 else p.shape[1])) if classes is None else tuple(classes)
    place = _checked(y, p, names)
    how: dict[str, Any] = {"sample_weight": sample_weight, "groups": groups, "level": level}
    about = range(len(names)) if p.ndim == 2 and len(names) > 2 else [1]
    sides = [(p if p.ndim == 1 else p[:, k], (place == k).astype(np.float64)) for k in about]
    given = [q for q, _ in sides]

    def values(k: int) -> Array:
        return np.column_stack([*(losses_if(p, k, loss) for loss in LOSSES), *given])

    drawn = Redrawn(place, len(names), values, losses=len(LOSSES), **how)
    sums = _Sums(len(names))
    figures: dict[str, Any] = {}
    for at, (name, loss) in enumerate((("log_loss", "log"), ("brier", "brier"))):
        figures[name] = drawn.estimate(sums.mean(at), 0.0)
        figures[f"constant_{name}"] = drawn.estimate(sums.constant(loss), 0.0)
        figures[f"{name}_skill"] = drawn.estimate(sums.skill(at, loss), most=1.0)
    endless = int((np.isinf(row_losses(place, p, "log")) & (drawn.weight > 0)).sum())
    if endless:
        figures |= _endless(endless, drawn)
    each: dict[str, Any] = {
        "calibration": [calibration_loss(t, q, cut="rows", **how) for q, t in sides],
        "given": [drawn.estimate(sums.mean(2 + at), 0.0, 1.0) for at in range(len(sides))],
        "happened": [drawn.estimate(sums.share(k), 0.0, 1.0) for k in about],
        "gap": [drawn.estimate(sums.gap(2 + at, k), -1.0, 1.0) for at, k in enumerate(about)],
        "auc": [auc(t, q, **how) for q, t in sides],
    }
    each = {name: tuple(held) for name, held in each.items()}
    counts = np.bincount(place[drawn.weight > 0], minlength=len(names))
    if np.count_nonzero(counts) == 1:
        figures = {name: untested(one) for name, one in figures.items()}
        for name in ("calibration", "gap"):
            each[name] = tuple(untested(one) for one in each[name])
    return Evaluation(
        classes=names,
        rows=int((drawn.weight > 0).sum()),
        counts=tuple(counts.tolist()),
        events=tuple(names[k] for k in about),
        level=level,
        remarks=_remarks(names, counts, figures, each["auc"], groups),
        **figures,
        **each,
    )


class _Sums:
    """Figures of sums: weight by class, log loss, Brier, then the probability of each event."""

    def __init__(self, n_classes: int) -> None:
        self.n = n_classes

    def share(self, k: int) -> Figure:
        return lambda sums: np.asarray(sums[:, k] / sums[:, : self.n].sum(axis=1))

    def mean(self, at: int) -> Figure:
        return lambda sums: np.asarray(sums[:, self.n + at] / sums[:, : self.n].sum(axis=1))

    def gap(self, at: int, k: int) -> Figure:
        return lambda sums: self.mean(at)(sums) - self.share(k)(sums)

    def constant(self, loss: str) -> Figure:
        def figure(sums: Array) -> Array:
            share = sums[:, : self.n] / sums[:, : self.n].sum(axis=1, keepdims=True)
            held = entr(share) if loss == "log" else share * (1 - share) / 2
            return np.asarray(held.sum(axis=1))

        return figure

    def skill(self, at: int, loss: str) -> Figure:
        return lambda sums: 1 - self.mean(at)(sums) / _above_0(self.constant(loss)(sums))


def _above_0(base: Array) -> Array:
    """NaN for 0, of which no share can be saved."""
    return np.where(base > 0, base, np.nan)


def _endless(rows: int, drawn: Redrawn) -> dict[str, Estimate]:
    """Log loss where something happened that had been given probability 0."""
    said = f"{rows:,} outcome{'s' if rows != 1 else ''} had probability 0"
    lost = Estimate(np.inf, np.inf, np.inf, drawn.level, said, drawn.assumes)
    return {
        "log_loss": lost,
        "log_loss_skill": replace(lost, value=-np.inf, low=-np.inf, high=-np.inf),
    }


def drawn_weights(known: NDArray[np.bool_], inclusion: Any) -> Array:
    """Return how many rows each labelled row stands for, 0 for the others.

    Parameters
    ----------
    known : ndarray of bool, shape (n,)
        Which rows have a label.
    inclusion : array-like of shape (n,)
        Probability that each row was labelled; NaN for rows that were not drawn.

    Examples
    --------
    >>> drawn_weights(np.array([True, False, True]), [0.25, np.nan, 1.0])
    array([4., 0., 1.])
    """
    chance = read_inclusion(inclusion, len(known))
    if chance is None:
        raise UsageError("inclusion= is missing: give the probability that each row was labelled.")
    without = known & ~(chance > 0)
    if without.any():
        row = int(np.argmax(without))
        raise DataError(
            f"Row {row:,} is labelled and inclusion is {short(float(chance[row]))} there: give the "
            "probability with which it had been going to be labelled, 1 if for certain."
        )
    lost = ~known & (chance == 1)
    if lost.any():
        raise DataError(
            f"Row {int(np.argmax(lost)):,} was to be labelled for certain (inclusion 1) and has no "
            "label: an answer that did not come back cannot be left out. Get it first."
        )
    if known.any() and not known.all() and (chance[known] == 1).all():
        raise DataError(
            f"All {int(known.sum()):,} labels were certain (inclusion 1), so none of them speaks "
            f"for the {int((~known).sum()):,} rows without one. Draw some by lot, or leave "
            "inclusion= out to judge the labelled rows alone."
        )
    return np.divide(1.0, chance, out=np.zeros(len(known)), where=known)


def _checked(y: NDArray[Any], p: Array, names: tuple[Hashable, ...]) -> NDArray[np.intp]:
    if y.ndim != 1 or p.ndim not in (1, 2) or len(y) != len(p) or len(y) == 0:
        raise DataError(
            f"y_true has shape {y.shape} and prob {p.shape}: give one outcome and one probability, "
            "or one per class, for each row."
        )
    if len(names) < 2 or len(names) != (2 if p.ndim == 1 else p.shape[1]):
        raise DataError(f"{len(names)} classes do not belong to prob of shape {p.shape}.")
    known = np.isin(y, np.arange(len(names)))
    if not known.all():
        row = int(np.argmin(known))
        raise DataError(
            f"y_true holds {y[row]} at row {row:,}, which is no position of a class: leave rows "
            "without a label out, and say how the others were chosen (drawn_weights)."
        )
    off = ~((p >= 0) & (p <= 1))
    if off.any():
        row = int(np.argmax(off.reshape(len(p), -1).any(axis=1)))
        raise DataError(f"prob holds {p[row]} at row {row:,}: probabilities lie between 0 and 1.")
    if p.ndim == 2 and (np.abs(p.sum(axis=1) - 1) > SUM_SLACK).any():
        row = int(np.argmax(np.abs(p.sum(axis=1) - 1) > SUM_SLACK))
        raise DataError(
            f"The probabilities of row {row:,} add up to {p[row].sum():.4g}: give one per class, "
            "which add up to 1."
        )
    return y.astype(np.intp)


def untested(one: Estimate) -> Estimate:
    """Return the same figure without limits: no row of the other class has put it to the test."""
    if np.isnan(one.value):
        return replace(one, method="not identified", assumes=ONE_CLASS)
    return replace(one, low=np.nan, high=np.nan, method="no limits: rows of one class only")


def _remarks(
    names: tuple[Hashable, ...],
    counts: NDArray[Any],
    figures: Mapping[str, Estimate],
    ranks: tuple[Estimate, ...],
    groups: NDArray[np.intp] | None,
) -> tuple[str, ...]:
    said = []
    skill = figures["log_loss_skill"]
    if any(one.high < 0.5 for one in ranks):
        said.append(
            "Events rank below other rows (AUC below 0.5): are the classes exchanged, or is it the "
            "probability of the other class?"
        )
    if np.count_nonzero(counts) == 1:
        only = names[int(np.argmax(counts))]
        said.append(
            f"There are rows of class {only!s} only ({in_rows(int(counts.sum()))}): what the model "
            "says of others was not put to the test, so that no limit is known. Label rows of the "
            "other class."
        )
    elif skill.high < -ROUNDING:
        said.append(
            "These probabilities lose more than the same one for every row would: they are worth "
            "less than nothing as they are."
        )
    elif skill.low <= 0:
        over = "over the same probability for every row in log loss"
        brier = " In Brier score there is one." if figures["brier_skill"].low > 0 else ""
        if skill.value > ROUNDING:
            said.append(f"A gain {over} cannot be told from noise.{brier}")
        else:
            said.append(f"No gain {over}; the difference is within the noise.{brier}")
    few = [(n, c) for n, c in zip(names, counts, strict=True) if 0 < c < FEW]
    if few and np.count_nonzero(counts) > 1:
        few = sorted(few, key=lambda pair: int(pair[1]))
        said.append(
            f"Only {in_rows(int(few[0][1]))} of class {few[0][0]!s}: the intervals are wide, as "
            "they must be. Label more."
        )
    if groups is not None and groups.max() + 1 < FEW:
        said.append(f"Only {int(groups.max()) + 1} groups: one of them decides much.")
    return tuple(said)
