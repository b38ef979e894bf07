"""Which of several models is better, and is that more than noise? All judged on the same rows.

    difference = mean over rows of (loss of one - loss of the other)

Both losses of a row move with the same outcome, so that the interval of their difference is far
narrower than two intervals side by side. Assumes independent rows, or groups, and takes the fits as
they are: how they would differ on other training rows is not in the interval. The least of several
losses looks a little better than it is, as the one that was lucky is chosen too.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array
from scarce.errors import UsageError
from scarce.evaluation.evaluation import Evaluation, evaluate_prob, untested
from scarce.evaluation.left_out import CONSTANT
from scarce.evaluation.redrawn import Redrawn
from scarce.results import Estimate, Record
from scarce.scoring import losses_if, row_losses

LOSSES = {"log_loss": "log", "brier": "brier"}
UNKNOWN = "both give what happened probability 0 somewhere, which cannot be subtracted"


@dataclass(frozen=True, eq=False)
class Comparison(Record):
    """Models on the same rows.

    Parameters
    ----------
    evaluations : dict of name -> Evaluation
        By log loss, the least first.
    best : dict of loss -> name
        The model with the least "log_loss" and "brier".
    behind : dict of loss -> dict of name -> Estimate
        How much more each of the others loses than the best.
    ahead : dict of loss -> dict of name -> Estimate
        How much less each model loses than the constant forecast.
    level : float
    """

    evaluations: dict[str, Evaluation]
    best: dict[str, str]
    behind: dict[str, dict[str, Estimate]]
    ahead: dict[str, dict[str, Estimate]]
    level: float

    def tied(self, loss: str = "log_loss") -> list[str]:
        """Return the models that cannot be told from the best."""
        return [name for name, one in self.behind[loss].items() if not one.low > 0]

    def no_better(self, loss: str = "log_loss") -> list[str]:
        """Return the models whose gain over the constant forecast cannot be told from none."""
        return [name for name, one in self.ahead[loss].items() if not one.low > 0]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the verdicts as plain values, ready for JSON."""
        return super().to_dict() | {
            "tied": {loss: self.tied(loss) for loss in LOSSES},
            "no_better_than_constant": {loss: self.no_better(loss) for loss in LOSSES},
        }


def compare_prob(
    y_true: ArrayLike,
    probs: Mapping[str, ArrayLike],
    *,
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    groups: NDArray[np.intp] | None = None,
    level: float = 0.9,
) -> Comparison:
    """Compare the probabilities of several models for the same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Positions of the classes, from 0 on; none missing.
    probs : mapping of name -> array-like of shape (n,) or (n, n_classes)
        One of them is "constant", from `left_out`; where it is missing, the class shares of these
        rows stand in.
    classes, sample_weight, groups, level
        As in `evaluate_prob`.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 0] * 50)
    >>> found = compare_prob(y, {"sharp": y * 0.6 + 0.1, "blunt": y * 0.3 + 0.2})
    >>> found.best["log_loss"], found.tied()
    ('sharp', [])
    >>> print(found.behind["brier"]["blunt"])
    0.0625 [0.0544, 0.0694] (90 %, bootstrap, one unseen row added)
    """
    if not probs:
        raise UsageError("There is no model to compare: name at least one.")
    place = np.asarray(y_true).astype(np.intp)
    how: dict[str, Any] = {"sample_weight": sample_weight, "groups": groups, "level": level}
    held = {name: np.asarray(prob, dtype=np.float64) for name, prob in probs.items()}
    if CONSTANT not in held:
        weight = np.ones(len(place)) if sample_weight is None else np.asarray(sample_weight)
        like = next(iter(held.values()))
        n_classes = 2 if like.ndim == 1 else like.shape[1]
        share = np.bincount(place, weight, minlength=n_classes) / weight.sum()
        held[CONSTANT] = np.full(like.shape, share if like.ndim == 2 else share[1])
    found = {name: evaluate_prob(place, p, classes=classes, **how) for name, p in held.items()}
    order = sorted(found, key=lambda name: (found[name].log_loss.value, name == CONSTANT))
    best, behind, ahead = {}, {}, {}
    for loss, kind in LOSSES.items():
        best[loss] = min(order, key=lambda name: getattr(found[name], loss).value)
        behind[loss] = {
            name: loss_difference(place, held[name], held[best[loss]], loss=kind, **how)
            for name in order
            if name != best[loss]
        }
        ahead[loss] = {
            name: loss_difference(place, held[CONSTANT], held[name], loss=kind, **how)
            for name in order
            if name != CONSTANT
        }
    return Comparison({name: found[name] for name in order}, best, behind, ahead, level)


def loss_difference(
    y_true: ArrayLike,
    prob: ArrayLike,
    other: ArrayLike,
    *,
    loss: str = "log",
    sample_weight: ArrayLike | None = None,
    groups: NDArray[np.intp] | None = None,
    level: float = 0.9,
) -> Estimate:
    """Return how much more one set of probabilities loses than another on the same rows.

    Arguments as in `compare_prob`; `loss` is "log" or "brier". Where one class has no row the
    limits are unknown: nothing was put to the test there.

    Examples
    --------
    >>> y, sharp, blunt = [0, 1, 0, 0] * 50, [0.1, 0.8, 0.1, 0.2] * 50, [0.2, 0.7, 0.3, 0.2] * 50
    >>> round(loss_difference(y, sharp, blunt).value, 3)
    -0.126
    """
    place = np.asarray(y_true).astype(np.intp)
    sides = np.asarray(prob, dtype=np.float64), np.asarray(other, dtype=np.float64)
    n_classes = 2 if sides[0].ndim == 1 else sides[0].shape[1]

    def values(k: int) -> Array:
        return (losses_if(sides[0], k, loss) - losses_if(sides[1], k, loss))[:, None]

    drawn = Redrawn(
        place, n_classes, values, sample_weight=sample_weight, groups=groups, level=level
    )
    endless = [
        bool((np.isinf(row_losses(place, p, loss)) & (drawn.weight > 0)).any()) for p in sides
    ]
    if all(endless):
        return Estimate(np.nan, np.nan, np.nan, level, "not identified", UNKNOWN)
    if any(endless):
        end = np.inf if endless[0] else -np.inf
        said = "what happened had probability 0 somewhere"
        return Estimate(end, end, end, level, said, drawn.assumes)
    found = drawn.estimate(
        lambda sums: np.asarray(sums[:, n_classes] / sums[:, :n_classes].sum(axis=1))
    )
    return found if len(np.unique(place)) > 1 else untested(found)
