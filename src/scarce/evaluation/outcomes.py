"""Labelled rows as decisions see them: what was done, what was true, at which costs.

    unseen row of action a and class k = the mean row with action a, as if it had been of class k;
                                         or the mean row of class k, as if a had been done: each
                                         met in proportion to what it costs    (resample.typical)

Assumes that a row of a kind not met yet costs what rows with the same action, or of the same class,
would have cost. Sums nothing: see realised.py and confusion.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.decisions.costs import CostMatrix, as_costs
from scarce.decisions.decide import encode_labels
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError
from scarce.evaluation.resample import support, typical
from scarce.evaluation.sample import Sample, read_sample, refuse_rows
from scarce.evaluation.wording import few_words


class Outcomes(NamedTuple):
    """Labelled rows: where they are, what was done, what was true, at which costs."""

    sample: Sample
    costs: CostMatrix
    action: NDArray[np.intp]  # of every row given
    label: NDArray[np.intp]  # of the rows of the sample

    @property
    def done(self) -> NDArray[np.intp]:
        """Actions of the labelled rows."""
        return self.action[self.sample.rows]

    @property
    def kind(self) -> NDArray[np.intp]:
        """Action and class of the labelled rows, as one number."""
        return self.done * self.costs.shape[1] + self.label

    def entry(self, action: int, label: int, which: Any) -> Array:
        """Cost of an action in a class, for some of the labelled rows."""
        held = self.costs.part(action, label, 0, None)
        rows = self.sample.rows[which]
        return np.full(len(rows), held) if np.ndim(held) == 0 else np.asarray(held)[rows]

    def cost(self, action: NDArray[np.intp], label: NDArray[np.intp]) -> Array:
        """Cost of an action for each labelled row, if it had been of a class."""
        out = np.empty(len(label))
        for a in range(self.costs.shape[0]):
            for k in range(self.costs.shape[1]):
                here = np.flatnonzero((action == a) & (label == k))
                if len(here):
                    out[here] = self.entry(a, k, here)
        return out

    def few(self, part: Array) -> str:
        """Words, where few rows stand behind a figure."""
        counts = np.bincount(self.label, minlength=self.costs.shape[1])
        carried = support(self.sample.by_group(part))
        return few_words(self.costs.classes, counts, carried, self.sample.n_groups)

    def unseen(self, label: int, here: NDArray[np.bool_], actions: list[int]) -> list[Array]:
        """What an unseen row or group of a class brings: the cost of each action, and its weight.

        Twice: it is like the labelled rows `here` (all of them where there are none), and like
        those of its class, whatever was done with them. Events may well be dearer than the rest.
        """
        of_class = self.label == label
        many = self.sample.together(of_class, of_class & here)
        found = []
        for like in (here if here.any() else np.ones_like(here), of_class):
            rows = np.flatnonzero(like)
            if len(rows):
                values = np.stack([self.entry(a, label, rows) for a in actions], axis=1)
                size = np.abs(values).max(axis=1)
                values = np.column_stack([values, np.ones(len(rows))])
                found.append(many * typical(self.sample.weight[rows], size, values))
        return found

    def unseen_rows(self, other: NDArray[np.intp] | None = None, singles: bool = False) -> Array:
        """What one row or group more would bring, for every action taken and every class.

        Parameters
        ----------
        other : ndarray of intp, optional
            Actions of another rule, whose cost is a column too. The unseen row may be of any two
            actions that either has taken; of any at all where both took one and the same.
        singles : bool
            Whether the cost of every action is a column too.
        """
        every, done = range(self.costs.shape[0]), self.done
        more = list(every) if singles else []
        met = np.unique(done if other is None else np.append(done, other)).tolist()
        if other is None:
            kinds = [(done == a, [a, *more]) for a in met]
        else:
            both = met if len(met) > 1 else list(every)
            kinds = [((done == a) & (other == b), [a, b, *more]) for a in both for b in both]
        rows: list[Array] = []
        for here, actions in kinds:
            for k in range(self.costs.shape[1]):
                rows += self.unseen(k, here, actions)
        return np.array(rows)


def read_outcomes(
    y_true: Any, actions: Any, costs: Any, sample_weight: Any, inclusion: Any, groups: Any = None
) -> Outcomes:
    """Return labelled rows with their actions and costs, or refuse what does not fit together."""
    matrix = as_costs(costs)
    if matrix.columns:
        raise UsageError(
            f"The costs name the column {matrix.columns[0]!r}: costs.bind(table) with the rows of "
            "y_true first."
        )
    label = encode_labels(y_true, matrix.classes, "y_true")
    action = read_actions(actions, matrix, len(label), "actions")
    if matrix.n_rows is not None:
        refuse_rows(matrix.n_rows, len(label), "costs")
    sample = read_sample(label >= 0, sample_weight, inclusion, groups)
    return Outcomes(sample, matrix, action, label[sample.rows])


def read_actions(actions: Any, costs: CostMatrix, n: int, argument: str) -> NDArray[np.intp]:
    """Return positions of the actions taken, one for each row; or refuse what is none."""
    action = encode_labels(actions, costs.actions, argument)
    refuse_rows(len(action), n, argument)
    if (action < 0).any():
        raise DataError(
            f"{argument} holds a missing value at row {int(np.argmin(action)):,}: every row needs "
            "what was done with it; name doing nothing too."
        )
    return action
