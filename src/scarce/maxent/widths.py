"""Which width of the boxes predicts labelled rows that the fit did not see?

    score(width) = mean over held-out labelled rows of log [ p(x given class) / pool(x) ]

Each fold's labelled rows are held out in turn; they stay in the pool, as rows that are not
labelled. Within a fold the widths are walked from wide to narrow, each fit starting from the one
before, so the whole path costs a few fits. The score is in nats per labelled row; 0 is no better
than the pool itself. Copies of a row are held out together. Assumes that labelled rows are
otherwise independent: where they come in clusters (places, dates, patients) pass groups or a
splitter of your own, or the score favours boxes that are too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import read_seed
from scarce.engine.block import Array
from scarce.engine.executors import Engine, Progress, many
from scarce.engine.folds import RowGroups, deal_folds, given_groups, row_groups
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, Problem, UsageError
from scarce.maxent.axes import chosen_rows
from scarce.maxent.coded import Labelled, tilt_of
from scarce.maxent.fit import ClassShares, FitData, solve_entropy, solve_robust
from scarce.maxent.problems import class_scores
from scarce.maxent.solver import InfeasibleBoxes
from scarce.results import WidthChoice

WIDTHS = tuple(float(width) for width in np.geomspace(5.0, 0.25, 20))
LOOSE = 1e-4  # duality gap on the path: far below what held-out rows can tell apart

Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

# --- scores of held-out rows ----------------------------------------------------------------------


def choose_width(
    data: FitData,
    widths: Sequence[float],
    folds: list[Mask],
    *,
    robust: ClassShares | None,
    engine: Engine = None,
    progress: Progress | None = None,
) -> WidthChoice:
    """Score every width on every fold and return the choice.

    Parameters
    ----------
    data : FitData
    widths : sequence of float
    folds : list of ndarray of bool, shape (n,)
        The rows held out in each fold.
    robust : ClassShares or None
        Classes of the robust problem; None for objective "entropy".
    """
    order = sorted((float(width) for width in widths), reverse=True)
    jobs = [partial(_fold_scores, data, held, order, robust) for held in folds]
    found = many(jobs, engine, progress=progress)
    scores = np.array([score for score, _ in found])
    weights = np.array([weight for _, weight in found])
    mean = np.average(scores, axis=0, weights=weights)
    best = int(np.argmax(np.where(np.isnan(mean), -np.inf, mean)))
    if not np.isfinite(mean[best]):
        raise DataError(
            "No class probabilities meet all boxes at any of the widths {widths}.",
            code="infeasible-boxes",
            widths=order,
            wider=Argument("width_scales"),
            entropy=Argument("objective", "entropy"),
            remedy=["Give wider ones in {wider}.", "Or use {entropy}."],
        )
    own = scores[:, best]
    error = float(np.std(own, ddof=1) / np.sqrt(len(own))) if len(own) > 1 else np.nan
    return WidthChoice(np.array(order), scores, weights, order[best], float(mean[best]), error)


def _fold_scores(
    data: FitData, held: Mask, widths: list[float], robust: ClassShares | None
) -> tuple[list[float], float]:
    """Walk the widths on one fold; NaN for widths whose boxes contradict each other."""
    inside = data.without(held)
    scores = []
    coef = np.zeros((len(data.boxes), data.space.n_features))
    weight = float(sum(own.weight[held[own.row]].sum() for own in data.labelled))
    one = _entropy_score if robust is None else partial(_robust_score, robust=robust)
    for width in widths:
        try:
            coef, score = one(inside, data, held, width, coef)
        except InfeasibleBoxes:
            score = np.nan
        scores.append(score)
    return scores, weight


def _entropy_score(
    inside: FitData, data: FitData, held: Mask, width: float, start: Array
) -> tuple[Array, float]:
    """Fit at one width; return coefficients and the score of the held-out rows."""
    solved = solve_entropy(inside, width, start, tol=max(LOOSE, data.settings.tol))
    total = weight = 0.0
    for of_class, (problem, solution) in enumerate(solved):
        own, kept = _held_out(data, held, of_class)
        lines = problem.lines(solution.coef)[0]
        tilt = tilt_of(own.cells, problem.shape, lines, np.empty(own.cells.n))
        total += float(own.weight[kept] @ (tilt - solution.result.value)[kept])
        weight += float(own.weight[kept].sum())
    return np.concatenate([solution.coef for _, solution in solved]), total / weight


def _robust_score(
    inside: FitData, data: FitData, held: Mask, width: float, start: Array, robust: ClassShares
) -> tuple[Array, float]:
    """As `_entropy_score`, for all classes together."""
    tol = max(LOOSE, data.settings.tol)
    problem, end = solve_robust(inside, width, start, robust, tol=tol)
    share, _ = problem.class_shares(end.coef)
    total = weight = 0.0
    for of_class in range(len(data.boxes)):
        own, kept = _held_out(data, held, of_class)
        if not len(kept):
            continue
        log_sum, scores = class_scores(own.cells, *problem.params(end.coef))
        density = scores[of_class] - log_sum - np.log(share[of_class])
        total += float(own.weight[kept] @ density[kept])
        weight += float(own.weight[kept].sum())
    return end.coef, total / weight


def _held_out(data: FitData, held: Mask, of_class: int) -> tuple[Labelled, Positions]:
    own = data.labelled[of_class]
    return own, np.flatnonzero(held[own.row])


# --- folds of the labelled rows -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The labelled rows by themselves, with what folds and class shares need to know of them.

    Parameters
    ----------
    rows : Rows
        Labelled rows with weight, in the order of all rows.
    position : ndarray of int, shape (m,)
        Their positions among all rows.
    label, weight : ndarray of shape (n,)
        Of all rows: position among the labelled classes (NaN = not labelled), weight.
    shares : ndarray of shape (labelled classes,)
        Share of each class in the pool weight of labelled rows.
    every : bool
        Whether every row with weight in the pool is labelled.
    """

    rows: Rows
    position: Positions
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

    def groups(self, groups: ArrayLike | None, seed: int) -> RowGroups:
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
        """Return a remark on labelled rows that repeat another, unless every row is labelled."""
        copies = 0 if self.every else self.groups(None, 0).copies
        if not copies:
            return []
        return [
            Problem(
                "{count:,} of {rows:,} labelled rows repeat another labelled row, and each counts.",
                code="repeated-rows",
                count=copies,
                rows=len(self.position),
                remedy="If one place or case was recorded twice, keep one record of it.",
            )
        ]


Folds = Any  # int, a splitter of scikit-learn, or an iterable of (train, test) positions


def make_folds(
    cv: Folds,
    labelled: LabelledRows,
    groups: ArrayLike | None,
    random_state: int | np.random.RandomState | None,
) -> tuple[list[Mask], list[str]]:
    """Return the labelled rows that each fold holds out, and remarks on copies among them.

    Parameters
    ----------
    cv : int, splitter, or iterable of (train, test) positions
        A number of folds, stratified by class; copies of a row, and rows of one group, are held
        out together (engine/folds.py). Positions count all rows.
    """
    label = labelled.label
    given_groups(groups, len(label))  # checks them, also where a splitter reads them
    held: list[Mask]
    said: list[str] = []
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        held, said = _dealt(int(cv), labelled, groups, random_state)
    else:
        positions = _given(cv, label, labelled.position, groups)
        held = [np.zeros(len(label), dtype=bool) for _ in positions]
        for out, test in zip(held, positions, strict=True):
            out[test] = True
    _refuse_empty_class(held, labelled)
    held = [out for out in held if out[labelled.position].any()]
    if not held:
        m = len(labelled.position)
        raise DataError(
            "No fold holds out a labelled row ({rows} {samples} labelled), so widths cannot be "
            "compared.",
            code="no-labels-held-out",
            rows=m,
            samples="sample is" if m == 1 else "samples are",
            cv=Argument("cv"),
            width=Argument("width_scale"),
            remedy="Label more rows, use another {cv}, or give {width} a number.",
        )
    return held, said


def _refuse_empty_class(held: list[Mask], labelled: LabelledRows) -> None:
    """Refuse a fold that leaves a class without labelled rows to learn from."""
    label = labelled.label[labelled.position]
    for number, out in enumerate(held):
        for one in np.unique(label):
            own = labelled.position[label == one]
            if out[own].all():
                raise DataError(
                    "Fold {fold} of {folds} holds out all {rows:,} labelled rows of a class, which "
                    "leaves nothing to learn from.",
                    code="fold-without-class",
                    fold=number + 1,
                    folds=len(held),
                    rows=len(own),
                    width=Argument("width_scale"),
                    remedy="Use fewer folds, other groups, or a number as {width}.",
                )


def _given(
    cv: Folds, label: Array, labelled: Positions, groups: ArrayLike | None
) -> list[Positions]:
    """Positions that a splitter or a list holds out."""
    try:
        if hasattr(cv, "split") and not isinstance(cv, str):
            own = None if groups is None else np.asarray(groups)[labelled]
            return [labelled[test] for _, test in cv.split(labelled, label[labelled], own)]
        out = [np.asarray(test) for _, test in cv]
        out = [test.astype(np.intp) if len(test) == 0 else test for test in out]
        if any(test.dtype.kind not in "iu" for test in out):
            raise ValueError("positions must be integers")
    except (TypeError, ValueError) as error:
        raise UsageError(
            "{cv} gives no folds ({reason}).",
            code="cv-folds",
            cv=Argument("cv", cv),
            reason=str(error),
            groups=Argument("groups"),
            remedy="Give a number of folds, a splitter of scikit-learn (with {groups} if it needs "
            "them), or pairs of row positions.",
        ) from None
    for test in out:
        if len(test) and not 0 <= test.min() <= test.max() < len(label):
            raise UsageError(
                "{cv} holds out row {row}, but there are only {rows:,} rows, counted from 0.",
                code="row-range",
                cv=Argument("cv"),
                row=int(test.max() if test.max() >= len(label) else test.min()),
                rows=len(label),
            )
    return out


def _dealt(
    folds: int,
    labelled: LabelledRows,
    groups: ArrayLike | None,
    random_state: int | np.random.RandomState | None,
) -> tuple[list[Mask], list[str]]:
    """Deal labelled rows to folds; a class with a single row is never held out."""
    if folds < 2:
        raise UsageError(
            "{argument} must be at least 2 folds, got {value}.",
            code="integer-range",
            argument=Argument("cv"),
            least=2,
            value=folds,
            width=Argument("width_scale"),
            remedy="Or give {width} a number.",
        )
    found = labelled.groups(groups, 0 if random_state is None else read_seed(random_state))
    codes = labelled.label[labelled.position].astype(np.intp)
    alone = []
    for one in np.unique(codes):
        own = codes == one
        if len(np.unique(found.group[own])) > 1:
            continue
        alone.append(one)
        if own.sum() > 1:
            raise DataError(
                "All {rows:,} labelled rows of a class are in one group, so no group can be held "
                "out.",
                code="one-group",
                rows=int(own.sum()),
                groups=Argument("groups"),
                width=Argument("width_scale"),
                remedy="Leave {groups} out, or give {width} a number.",
            )
    used = ~np.isin(codes, alone)
    if not used.any():
        return [], found.remarks()
    some = replace(found, group=np.where(used, found.group, -1))
    count = min(folds, some.fewest(codes))
    fold = deal_folds(some, np.where(used, codes, -1), labelled.weight[labelled.position], count)
    held = [np.zeros(len(labelled.label), dtype=bool) for _ in range(count)]
    for row in np.flatnonzero(used):
        held[fold[row]][labelled.position[row]] = True
    return held, found.remarks()
