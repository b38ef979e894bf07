"""Which width of the boxes predicts labelled rows that the fit did not see?

    score(width) = mean over held-out labelled rows of log [ p(x given class) / pool(x) ]

Each fold's labelled rows are hidden in turn; they stay in the pool, as rows that are not labelled.
Within a fold the widths are walked from wide to narrow, each fit starting from the one before, so
that the whole path costs a few fits. The score is in nats per labelled row: 0 is no better than the
pool itself. Copies of a row are held out together. Assumes that labelled rows are otherwise
independent; where they come in clusters (places, dates, patients) pass groups, or a splitter of
your own, or the score flatters narrow boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.engine.executors import Engine, Progress, many
from scarce.engine.folds import RowGroups, deal_folds, given_groups, row_groups
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError
from scarce.maxent.boxed import EmptyBoxes
from scarce.maxent.coded import tilt_of
from scarce.maxent.knots import chosen_rows
from scarce.maxent.parts import Parts, solve_entropy, solve_robust
from scarce.maxent.passes import class_scores
from scarce.results import WidthChoice

WIDTHS = tuple(float(width) for width in np.geomspace(5.0, 0.25, 20))
LOOSE = 1e-4  # duality gap on the path: far below what held-out rows can tell apart

Split = NDArray[np.bool_]


def choose_width(
    parts: Parts,
    widths: Sequence[float],
    folds: list[Split],
    settings: Any,
    *,
    robust: dict[str, Any] | None,
    engine: Engine,
    progress: Progress | None,
) -> WidthChoice:
    """Score every width on every fold and return the choice.

    Parameters
    ----------
    parts : Parts
    widths : sequence of float
    folds : list of ndarray of bool, shape (n,)
        The rows held out in each fold.
    settings : MaxentClassifier
    robust : dict or None
        Arguments of the robust problem; None for objective "entropy".
    """
    order = sorted((float(width) for width in widths), reverse=True)
    jobs = [partial(_fold_scores, parts, held, order, settings, robust) for held in folds]
    found = many(jobs, engine, progress=progress)
    scores = np.array([score for score, _ in found])
    weights = np.array([weight for _, weight in found])
    mean = np.average(scores, axis=0, weights=weights)
    best = int(np.argmax(np.where(np.isnan(mean), -np.inf, mean)))
    if not np.isfinite(mean[best]):
        raise DataError(
            f"At none of the widths {order} do the boxes leave any class probabilities. Give "
            "wider ones in width_scales=, or use objective='entropy'."
        )
    spread = scores[:, best]
    error = float(np.std(spread, ddof=1) / np.sqrt(len(spread))) if len(spread) > 1 else np.nan
    return WidthChoice(np.array(order), scores, weights, order[best], float(mean[best]), error)


def _fold_scores(
    parts: Parts, held: Split, widths: list[float], settings: Any, robust: dict[str, Any] | None
) -> tuple[list[float], float]:
    """Walk the widths on one fold; nan where the boxes of a width contradict each other."""
    inside = parts.without(held, settings)
    scores = []
    coef = np.zeros((len(parts.boxes), parts.space.n_features))
    weight = float(sum(own.weight[held[own.row]].sum() for own in parts.labelled))
    for width in widths:
        try:
            coef, score = _one(inside, parts, held, width, coef, settings, robust)
        except EmptyBoxes:
            score = np.nan
        scores.append(score)
    return scores, weight


def _one(
    inside: Parts,
    parts: Parts,
    held: Split,
    width: float,
    start: Array,
    settings: Any,
    robust: dict[str, Any] | None,
) -> tuple[Array, float]:
    tol, rounds = max(LOOSE, settings.tol), settings.max_passes
    total = weight = 0.0
    if robust is None:
        solved = solve_entropy(inside, width, start, tol=tol, max_passes=rounds)
        coef = np.concatenate([solution.coef for _, solution in solved])
        for of_class, (problem, solution) in enumerate(solved):
            own, kept = _held_out(parts, held, of_class)
            lines = problem.lines(solution.coef)[0]
            tilt = tilt_of(own.cells, problem.shape, lines, np.empty(own.cells.n))
            total += float(own.weight[kept] @ (tilt - solution.look.value)[kept])
            weight += float(own.weight[kept].sum())
        return coef, total / weight
    together, end = solve_robust(inside, width, start, robust, tol=tol, max_passes=rounds)
    share, _ = together.class_shares(end.coef)
    for of_class in range(len(parts.boxes)):
        own, kept = _held_out(parts, held, of_class)
        if not len(kept):
            continue
        log_sum, scores = class_scores(own.cells, *together.params(end.coef))
        density = scores[of_class] - log_sum - np.log(share[of_class])
        total += float(own.weight[kept] @ density[kept])
        weight += float(own.weight[kept].sum())
    return end.coef, total / weight


def _held_out(parts: Parts, held: Split, of_class: int) -> tuple[Any, NDArray[np.intp]]:
    own = parts.labelled[of_class]
    return own, np.flatnonzero(held[own.row])


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The labelled rows by themselves, and what folds and class shares need to know of them.

    Parameters
    ----------
    rows : Rows
        Labelled rows with weight, in the order of all rows.
    position : ndarray of int, shape (m,)
        Where they stand among all rows.
    label, weight : ndarray of shape (n,)
        Of all rows: position among the labelled classes (NaN = not labelled), weight.
    shares : ndarray of shape (labelled classes,)
        Of each class in the pool weight of labelled rows.
    every : bool
        Whether every row with weight in the pool is labelled.
    """

    rows: Rows
    position: NDArray[np.intp]
    label: Array
    weight: Array
    shares: Array
    every: bool

    @classmethod
    def of(
        cls, rows: Rows, label: Array, weight: Array, pool: Array, *, engine: Engine
    ) -> LabelledRows:
        """Take the labelled rows out of all rows."""
        known = ~np.isnan(label)
        every = bool(known[pool > 0].all())
        own = rows
        if not known.all():
            values = np.concatenate(rows.fold(chosen_rows, known, engine=engine)[0])
            own = ArrayRows(values, schema=rows.schema, check=False, engine=engine)
        sums = np.bincount(label[known].astype(np.intp), weights=pool[known])
        return cls(own, np.flatnonzero(known), label, weight, sums / sums.sum(), every)

    def groups(self, groups: Any, seed: int) -> RowGroups:
        """Return which of the labelled rows belong together."""
        given = given_groups(groups, len(self.label))
        own = None if given is None else np.where(given < 0, np.nan, given)[self.position]
        codes = self.label[self.position].astype(np.intp)
        return row_groups(
            self.rows,
            codes,
            self.weight[self.position],
            groups=own,
            seed=seed,
            engine=self.rows.engine,
        )

    def repeats(self) -> list[str]:
        """Say how many labelled rows repeat another, where not every row is labelled."""
        copies = 0 if self.every else self.groups(None, 0).copies
        if not copies:
            return []
        return [
            f"{copies:,} of {len(self.position):,} labelled rows repeat another labelled row, and "
            "each counts. If one place or case was recorded twice, keep one record of it."
        ]


def make_folds(
    cv: Any, labelled: LabelledRows, groups: Any, random_state: Any
) -> tuple[list[Split], list[str]]:
    """Return the labelled rows that each fold holds out, and remarks on copies among them.

    Parameters
    ----------
    cv : int, splitter, or iterable of (train, test) positions
        A number of folds, each class spread evenly; copies of a row, and rows of one group, are
        held out together (engine/folds.py). Positions count all rows.
    """
    label = labelled.label
    given_groups(groups, len(label))  # refuses what is no group per row
    classes = np.unique(label[labelled.position])
    held: list[Split]
    said: list[str] = []
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        held, said = _dealt(int(cv), labelled, groups, random_state)
    else:
        positions = _given(cv, label, labelled.position, groups)
        held = [np.zeros(len(label), dtype=bool) for _ in positions]
        for out, test in zip(held, positions, strict=True):
            out[test] = True
    for number, out in enumerate(held):
        for one in classes:
            own = labelled.position[label[labelled.position] == one]
            if out[own].all():
                raise DataError(
                    f"Fold {number + 1} of {len(held)} holds out all {len(own)} labelled rows of a "
                    "class, so that nothing is left to learn from. Use fewer folds, other groups, "
                    "or a number as width_scale."
                )
    held = [out for out in held if out[labelled.position].any()]
    if not held:
        m = len(labelled.position)
        count = f"{m} sample{'s are' if m != 1 else ' is'} labelled"
        raise DataError(
            f"No fold holds out a labelled row ({count}), so that widths cannot be compared. Label "
            "more rows, use another cv=, or give width_scale a number."
        )
    return held, said


def _given(
    cv: Any, label: Array, labelled: NDArray[np.intp], groups: Any
) -> list[NDArray[np.intp]]:
    """Positions that a splitter or a list holds out."""
    try:
        if hasattr(cv, "split") and not isinstance(cv, str):
            own = None if groups is None else np.asarray(groups)[labelled]
            return [labelled[test] for _, test in cv.split(labelled, label[labelled], own)]
        out = [np.asarray(test) for _, test in cv]
        out = [test.astype(np.intp) if len(test) == 0 else test for test in out]
        if any(test.dtype.kind not in "iu" for test in out):
            raise ValueError("positions must be whole numbers")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"cv={cv!r} gives no folds ({error}). Give a number of folds, a splitter of "
            "scikit-learn (with groups= where it wants them), or pairs of row positions."
        ) from None
    for test in out:
        if len(test) and not 0 <= test.min() <= test.max() < len(label):
            raise UsageError(
                f"cv holds out row {test.max() if test.max() >= len(label) else test.min()}, and "
                f"there are {len(label)} rows, counted from 0."
            )
    return out


def _dealt(
    folds: int, labelled: LabelledRows, groups: Any, random_state: Any
) -> tuple[list[Split], list[str]]:
    """Deal labelled rows to folds; a class whose rows all belong together stays in."""
    if folds < 2:
        raise UsageError(f"cv={folds}: give 2 folds or more, or a number as width_scale.")
    found = labelled.groups(groups, _seed(random_state))
    codes = labelled.label[labelled.position].astype(np.intp)
    alone = []
    for one in np.unique(codes):
        own = codes == one
        if len(np.unique(found.group[own])) > 1:
            continue
        alone.append(one)
        if own.sum() > 1:
            raise DataError(
                f"All {own.sum()} labelled rows of a class are in one group, so that no group can "
                "be held out. Leave groups= away, or give width_scale a number."
            )
    used = ~np.isin(codes, alone)
    if not used.any():
        return [], found.remarks()
    own = np.flatnonzero(used)
    some = replace(found, group=np.where(used, found.group, -1))
    count = min(folds, some.fewest(codes))
    fold = deal_folds(some, np.where(used, codes, -1), labelled.weight[labelled.position], count)
    held = [np.zeros(len(labelled.label), dtype=bool) for _ in range(count)]
    for row in own:
        held[fold[row]][labelled.position[row]] = True
    return held, found.remarks()


def checked_widths(given: Any) -> tuple[float, ...]:
    """Return the widths to choose from."""
    if given is None:
        return WIDTHS
    try:
        widths = () if isinstance(given, str) else tuple(float(width) for width in given)
    except (TypeError, ValueError):
        widths = ()
    if not widths or not all(0 < width < np.inf for width in widths):
        raise UsageError(f"width_scales={given!r}: give a list of numbers above 0, at least one.")
    return widths


def _seed(given: Any) -> int:
    if given is None:
        return 0
    if isinstance(given, np.random.RandomState):
        return int(given.randint(2**31 - 1))
    if isinstance(given, (int, np.integer)) and 0 <= given < 2**32:
        return int(given)
    raise UsageError(f"random_state={given!r}: give a whole number of at least 0, or None.")
