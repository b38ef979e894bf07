"""Which loss, which shape and which ridge? Those that predict best on rows the fit has not seen.

    score(shape, ridge) = mean over held-out rows of (prob - y)^2, or log loss, or calibration loss

Splits: rows that belong together stay in one fold (engine/folds.py) and count as one in the error
of the gain. Scores are nested: the shape and ridge that predict fold k are chosen on the other
folds, for the GEV loss and for logistic regression alike, so score and gain are what an outsider
would measure.

Grid: per fold all losses and ridges are solved together, the logistic loss with them, from the
largest ridge to the smallest. Scores and gradients are two matrix products for all losses, each
keeps its own Hessian, and the answer at one ridge starts the next. A fit stops when what is left to
gain is far below what the data can tell:

    1/2 g' H^-1 g <= 1e-5     (the coefficients are then within 1/200 of a standard error)

Large data are solved on all rows of the rarer class and a weighted share of the others; each answer
then takes one step with the gradient of all rows.

With a Laplace prior (elastic_net.py) each loss walks a path of its own, from the strength that
leaves no coefficient to a hundredth of it, and further where the best lies at that end.

Ridges are tried from 1e-4 to 1e2 times the information that a standardised column has at the base
rate, total weight * prevalence * (1 - prevalence), and further where the best lies at an end: units
of columns and of weights, and rows written twice, change nothing. Assumes that rows are
exchangeable up to their groups: folds are not in time or space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import issparse

from scarce.checks import is_number
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.folds import RowGroups, deal_folds, hold_out, row_groups
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.engine.sparse import SparseRows
from scarce.errors import Argument, DataError, Problem, UsageError
from scarce.linear.elastic_net import Coordinates, one_step, solve_path
from scarce.linear.links import Link
from scarce.linear.losses import Loss, loss_of
from scarce.linear.marginal import incomplete_grid, marginal_prob, spread
from scarce.linear.newton import Objective
from scarce.linear.regress import Formulation, GridCoordinates, newton_applies, regress
from scarce.linear.sums import ColumnSummary, append_rows, labels_and_weights
from scarce.missing.front import Front
from scarce.results import Selection
from scarce.scoring import binary_losses

PAPER_SHAPES = tuple(
    [-1.0, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2567, -0.2, -0.1, 0.0]
    + [round(0.1 * j, 1) for j in range(1, 16)]
)
PAPER_RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
COARSE_SHAPES = (-0.5, 0.1, 0.6, 1.1)  # loss="auto": enough to see whether a GEV link pays
RELATIVE_RIDGES = tuple(10.0**j for j in range(-4, 3))  # of the information at the base rate
STRENGTHS = tuple(10.0 ** (-j / 4) for j in range(9))  # of what leaves no coefficient (lasso)
WEAKEST = 1e-5  # how far those are extended
FURTHEST = (1e-8, 1e4)  # how far they are extended, two powers of ten at a time
TIE = 1e-6  # of the base rate's score: among scores so close the largest ridge is taken
FLOORS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
SCORES = ("brier", "log_loss", "calibration")
ENOUGH = 1e-5  # decrement that a selection fit stops at
MOST_STEPS = 40
SMALL = 16_384  # training rows up to which the grid is solved on all of them
MOST_CELLS = 8_000_000  # cells of the sample that is held in memory

Progress = Callable[[int, int], None]
Ids = NDArray[np.intp]
FoldNumbers = NDArray[np.int8]
Fold = tuple[FoldNumbers, int]  # part of each row, -1 for unused rows; the part that is held out


class Splitter(Protocol):
    """A splitter of scikit-learn."""

    def split(self, X: Array, y: ArrayLike, *groups: ArrayLike) -> Iterable[tuple[Any, Any]]:
        """Return pairs of row numbers (train, test)."""


CV = int | float | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True)
class SearchSpace:
    """What is tried: losses with their shapes, at every ridge.

    Parameters
    ----------
    name : str
        A loss, or "auto": logistic, and GEV-canonical where it gains more than the noise.
    shapes : tuple of float
        nan alone for a loss without shape.
    ridges : tuple of float
        Ascending.
    furthest : tuple of float, optional
        How far the ridges may be extended below and above.
    continuous : bool
        Whether to search between the points of the grid.
    """

    name: str
    shapes: tuple[float, ...]
    ridges: tuple[float, ...]
    furthest: tuple[float, float] | None = None
    continuous: bool = False

    @property
    def losses(self) -> list[Loss]:
        """One loss per shape."""
        name = "gev-canonical" if self.name == "auto" else self.name
        if not name.startswith("gev"):
            return [loss_of(name)]
        return [loss_of(name, shape) for shape in self.shapes]


@dataclass(frozen=True)
class CrossValidation:
    """How losses, shapes and ridges are judged.

    Parameters
    ----------
    by : {"brier", "log_loss", "calibration"}
    cv : int, float, splitter, or pairs (train, test)
        Folds, or the share of rows of a single validation split.
    floor : float
        Least weight of the prevalence in a probability while it is scored.
    seed : int
        Of the folds.
    groups : array-like of shape (n,), optional
        Rows of one value stay in one fold.
    tune_floor : bool
        Whether held-out log loss may ask for more than `floor`.
    """

    by: str
    cv: CV
    floor: float
    seed: int
    groups: ArrayLike | None = None
    tune_floor: bool = False


class Selected(NamedTuple):
    """What was chosen, and what is to be said of it."""

    loss: str
    selection: Selection
    floor: float
    remarks: list[Problem]


def select(
    rows: Rows,
    stats: ColumnSummary,
    space: SearchSpace,
    problem: Formulation,
    validation: CrossValidation,
    *,
    front: Front | None = None,
    engine: Engine = None,
    progress: Progress | None = None,
) -> Selected:
    """Choose loss, shape and ridge, and the floor that held-out rows ask for.

    With a front, rows with missing values are fitted and judged by marginal probabilities; the
    front was fitted without labels, on all rows.
    """
    splits = make_splits(rows, stats, validation, engine)
    losses, compare = space.losses, space.name != "logistic"
    every = [*losses, loss_of("logistic")] if compare else losses
    search = _Search(rows, stats, every, problem, validation, splits, front, engine, progress)
    search.tie = 0.0 if space.furthest is None else TIE
    search.add(space.ridges)
    kinds = [range(len(losses)), range(len(losses), len(every))][: 1 + compare]
    if space.furthest is not None:
        search.extend(kinds, *space.furthest)
    own = _NestedScore(search, kinds[0])
    plain = _NestedScore(search, kinds[1]) if compare else own
    gain, error = own.gain_over(plain) if compare else (0.0, 0.0)
    loss, taken = space.name, own
    if space.name == "auto":
        loss, taken = ("gev-canonical", own) if gain > 2 * error else ("logistic", plain)
    shape, ridge = taken.shape_and_ridge(space.shapes)
    if space.continuous and taken is own:
        shape, ridge = search.refine(space, own.best)
    listed = np.array(space.shapes if loss != "logistic" or compare else [np.nan])
    order = np.arange(len(losses))
    if space.name == "auto":  # the logistic loss first, as a loss without shape
        listed, order = np.append(np.nan, listed), np.append(len(losses), order)
    scores = np.ascontiguousarray(search.scores[:, order])
    found = Selection(
        by=validation.by,
        shapes=listed,
        ridges=np.array(search.ridges),
        scores=scores,
        weights=search.weights,
        shape=float(shape),
        ridge=float(ridge),
        score=taken.score,
        reference="logistic" if compare else "",
        reference_score=plain.score,
        gain=gain,
        gain_error=error,
        shape_by_fold=listed[scores.min(axis=2).argmin(axis=1)],
        loss=loss,
    )
    remarks = [*splits.remarks, *_ridge_at_end(search.ridges, taken, space)]
    if space.name != "auto":
        remarks += _gain_in_noise(found)
    return Selected(loss, found, taken.floor, remarks)


def _ridge_at_end(
    ridges: Sequence[float], taken: _NestedScore, space: SearchSpace
) -> list[Problem]:
    """Say so when the best ridge lies at an end of those that were tried."""
    place = taken.best[1]
    if len(ridges) == 1 or 0 < place < len(ridges) - 1:
        return []
    smallest, extended = place == 0, space.furthest is not None
    why = "" if smallest else " On held-out rows the columns predict no better than the base rate."
    why = " Held-out rows ask for no penalty." if smallest else why
    if not extended:
        why = f" A {'smaller' if smallest else 'larger'} one may predict better."
    wider = "Pass {ridges}, or use the default ridges with {standardize}, which are extended."
    return [
        Problem(
            "The ridge chosen, {ridge:.3g}, is the {end} of those tried.{why}",
            code="ridge-at-end",
            ridge=ridges[place],
            end="smallest" if smallest else "largest",
            extended=extended,
            why=why,
            ridges=Argument("ridges", ...),
            standardize=Argument("standardize", True),
            none=Argument("ridge", 0),
            remedy=wider if not extended else "{none} fits without one." if smallest else (),
        )
    ]


def _gain_in_noise(found: Selection) -> list[Problem]:
    """Say so when a loss that was asked for gains nothing over logistic regression."""
    if not found.inside_noise:
        return []
    return [
        Problem(
            "The gain over logistic regression ({gain:.2g} +- {error:.2g} {by}) is inside its "
            "noise: {loss} is as good here.",
            code="gain-in-noise",
            gain=found.gain,
            error=found.gain_error,
            by=found.by,
            loss=Argument("loss", "logistic"),
        )
    ]


def mix_with_prevalence(prob: Array, floor: float, prevalence: float) -> Array:
    """Mix probabilities with the prevalence, so that none is exactly 0 or 1.

    Examples
    --------
    >>> mix_with_prevalence(np.array([0.0, 0.5]), 0.001, 0.02).tolist()
    [2e-05, 0.49952...]
    """
    return prob if floor == 0 else (1.0 - floor) * prob + floor * prevalence


# --- splits ---------------------------------------------------------------------------------------


class Splits(NamedTuple):
    """Which rows are held out in turn."""

    folds: list[Fold]
    parts: list[tuple[int, Fold]]  # judged apart: the number of the fold fitted, and its rows
    group: Ids  # (n,) rows that belong together, -1 for unused rows
    draw: Array  # (n,) uniform numbers that follow from the content of each group
    repeat: float  # how often a record stands in the table, on average
    remarks: list[Problem]


def make_splits(
    rows: Rows, stats: ColumnSummary, validation: CrossValidation, engine: Engine
) -> Splits:
    """Return the parts to hold out in turn: random within each class, or as the user says."""
    codes = rows.map(_class_codes, None, engine=engine)
    weight = rows.weights(engine=engine)
    found = row_groups(
        rows, codes, weight, groups=validation.groups, seed=validation.seed, engine=engine
    )
    used = int(np.count_nonzero(codes >= 0))
    repeat = used / max(used - found.copies, 1)
    remarks: list[Any] = list(found.remarks())
    if is_number(validation.cv):
        cv = float(validation.cv)  # type: ignore[arg-type]
        folds = _random_folds(rows, stats, cv, codes, weight, found)
    else:
        folds = _given_folds(validation.cv, validation.groups, codes)
        remarks += _separated_copies(folds, found)
    _refuse_one_class(folds, codes)
    parts = list(enumerate(folds))
    if len(folds) == 1:  # one split: its two halves judge each other's choice
        ids, part = folds[0]
        halves = _halves(found, codes, ids == part)
        parts = [(0, (halves, half)) for half in (0, 1) if (halves == half).any()]
    rank = np.empty(found.n_groups)
    rank[found.order] = np.arange(found.n_groups) / max(found.n_groups, 1)
    draw = np.where(found.group >= 0, rank[found.group], 1.0)
    return Splits(folds, parts, found.group, draw, repeat, remarks)


def _random_folds(
    rows: Rows, stats: ColumnSummary, cv: float, codes: Ids, weight: Array, found: RowGroups
) -> list[Fold]:
    """Assign whole groups to folds, or hold a share of them out."""
    if not (cv >= 2 and cv == int(cv) and cv <= 100) and not 0 < cv < 1:
        raise _invalid_folds(cv)
    fewest, groups = int(stats.count.min()), found.fewest(codes)
    if fewest < 2 or groups < 2:
        label = str(rows.classes[int(stats.count.argmin())])
        seen = f"class {label} has {fewest} labelled row"
        if fewest >= 2:
            seen = "all rows of one class belong to one group, or are copies of one row"
        raise DataError(
            "Choosing shape and ridge needs 2 labelled rows of each class, one to fit and one to "
            "judge, and {seen}.",
            code="too-few-labels",
            seen=seen,
            label=label,
            count=fewest,
            groups=groups,
            shape=Argument("shape"),
            ridge=Argument("ridge"),
            remedy=["Label more rows.", "Pass {shape} and {ridge} as numbers to choose nothing."],
        )
    if cv < 1:
        held = hold_out(found, codes, weight, cv)
        return [(np.where(found.group < 0, -1, held).astype(np.int8), 1)]
    number = int(min(cv, fewest, groups))
    ids = deal_folds(found, codes, weight, number).astype(np.int8)
    return [(ids, part) for part in range(number)]


def _given_folds(cv: CV, groups: ArrayLike | None, codes: Ids) -> list[Fold]:
    """Return the folds of a splitter or of pairs (train, test)."""
    known = np.arange(len(codes))
    folds: list[Fold] = []
    try:
        pairs: Any = cv
        if hasattr(cv, "split"):  # a splitter sees the labelled rows, and numbers those
            known = np.flatnonzero(codes >= 0)
            own = () if groups is None else (np.asarray(groups)[known],)
            pairs = cv.split(np.zeros((len(known), 1)), codes[known], *own)
        for train, test in pairs:
            ids = np.full(len(codes), -1, dtype=np.int8)
            ids[known[train]], ids[known[test]] = 0, 1
            ids[codes < 0] = -1
            folds.append((ids, 1))
    except (TypeError, IndexError, ValueError) as error:
        raise _invalid_folds(cv, f" ({error})") from error
    if not folds:
        raise _invalid_folds(cv)
    return folds


def _invalid_folds(cv: object, reason: str = "") -> UsageError:
    return UsageError(
        "{argument} must be a number of folds from 2 to 100, a share of rows such as 0.3, a "
        "splitter of scikit-learn, or pairs (train, test) of row numbers; got {value}{reason}.",
        code="invalid-folds",
        argument=Argument("cv"),
        value=f"{cv!r:.60}",
        reason=reason,
    )


def _refuse_one_class(folds: list[Fold], codes: Ids) -> None:
    """Every fold needs both classes to learn from, and rows to judge by."""
    for number, (ids, part) in enumerate(folds):
        training = (ids != part) & (ids >= 0)
        if len(np.unique(codes[training])) < 2 or not (ids == part).any():
            raise DataError(
                "Fold {fold} of {argument} has training rows of one class only, or no rows to "
                "judge by.",
                code="one-class-fold",
                fold=number + 1,
                argument=Argument("cv"),
                five=Argument("cv", 5),
                remedy="Pass a stratified splitter, or {five}.",
            )


def _separated_copies(folds: list[Fold], found: RowGroups) -> list[Problem]:
    """Say how many rows of a user's folds are judged by a model that saw their copy."""
    if not found.together:
        return []
    seen = 0
    for ids, part in folds:
        training = np.zeros(found.n_groups, dtype=bool)
        training[found.group[(ids >= 0) & (ids != part)]] = True
        seen += int(np.count_nonzero(training[found.group[ids == part]]))
    if not seen:
        return []
    return [
        Problem(
            "{argument} puts {count:,} rows into a validation part whose copy or group is in the "
            "training part: scores are too good, and so are the shape and ridge chosen by them.",
            code="leaking-folds",
            argument=Argument("cv"),
            count=seen,
            five=Argument("cv", 5),
            remedy="Pass a number of folds such as {five}, or a splitter of groups.",
        )
    ]


def _halves(found: RowGroups, codes: Ids, held: NDArray[np.bool_]) -> FoldNumbers:
    """Halve the held-out rows by groups, each class evenly; -1 elsewhere."""
    rank = np.empty(found.n_groups, dtype=np.intp)
    rank[found.order] = np.arange(found.n_groups)
    label = np.full(found.n_groups, -1, dtype=np.intp)
    np.maximum.at(label, found.group[held], codes[held])
    own = np.flatnonzero(label >= 0)
    own = own[np.lexsort((rank[own], -label[own]))]
    half = np.full(found.n_groups, -1, dtype=np.int8)
    half[own] = np.arange(len(own)) % 2
    return np.where(held, half[found.group], -1).astype(np.int8)


def _class_codes(block: Block, _: None) -> FoldNumbers:
    y, weight = labels_and_weights(block, True)
    assert weight is not None
    return np.where(weight > 0, y, -1).astype(np.int8)


# --- search ---------------------------------------------------------------------------------------


class _Search:
    """Every loss at every ridge, fitted without each fold and scored on it."""

    def __init__(
        self,
        rows: Rows,
        stats: ColumnSummary,
        losses: list[Loss],
        problem: Formulation,
        validation: CrossValidation,
        splits: Splits,
        front: Front | None,
        engine: Engine,
        progress: Progress | None,
    ) -> None:
        self.rows, self.stats, self.losses, self.problem = rows, stats, losses, problem
        self.validation, self.splits, self.engine = validation, splits, engine
        self.front = front
        self.progress, self.steps_done, self.steps = progress, 0, 2 * len(splits.folds)
        self.ridges: tuple[float, ...] = ()
        self.tie = 0.0
        shape = (len(losses), 0)
        self.coef = [np.empty((*shape, rows.n_columns + 1)) for _ in splits.folds]
        self.scores = np.empty((len(splits.folds), *shape))
        self.apart = np.empty((len(splits.parts), *shape))  # of the parts that are judged apart
        self.weights = np.ones(len(splits.folds))
        self.part_weights = np.ones(len(splits.parts))

    def add(self, ridges: Sequence[float]) -> None:
        """Fit and judge every loss at more ridges."""
        scores, apart = [], []
        folds, parts = self.splits.folds, self.splits.parts
        for number, fold in enumerate(folds):
            coef = self._fit(self.losses, ridges, fold)
            self.coef[number] = np.concatenate([self.coef[number], coef], axis=1)
            self._step()
            table, self.weights[number] = self._judge(self.losses, coef, fold)
            scores.append(table)
            if len(folds) == 1:
                for part, (_, half) in enumerate(parts):
                    table, self.part_weights[part] = self._judge(self.losses, coef, half)
                    apart.append(table)
            self._step()
        if len(folds) > 1:
            apart, self.part_weights = scores, self.weights
        self.scores = np.concatenate([self.scores, np.array(scores)], axis=2)
        self.apart = np.concatenate([self.apart, np.array(apart)], axis=2)
        self.ridges = (*self.ridges, *ridges)
        order = np.argsort(self.ridges, kind="stable")
        self.ridges = tuple(self.ridges[j] for j in order)
        self.scores, self.apart = self.scores[:, :, order], self.apart[:, :, order]
        self.coef = [coef[:, order] for coef in self.coef]

    def extend(self, kinds: list[range], lowest: float, highest: float) -> None:
        """Add ridges beyond the ends while the best of some losses lies there."""
        while True:
            mean = np.average(self.scores, axis=0, weights=self.weights)
            places = {_best_place(mean[list(kind)], self.tie)[1] for kind in kinds}
            more: list[float] = []
            if 0 in places and self.ridges[0] > 1.1 * lowest:
                more += [0.01 * self.ridges[0], 0.1 * self.ridges[0]]
            if len(self.ridges) - 1 in places and self.ridges[-1] < 0.9 * highest:
                more += [10.0 * self.ridges[-1], 100.0 * self.ridges[-1]]
            if not more:
                return
            self.steps += 2 * len(self.splits.folds)
            self.add(sorted(more))

    def refine(self, space: SearchSpace, best: tuple[int, int]) -> tuple[float, float]:
        """Search between the points of the grid, around its best, with the same folds."""
        shapes, ridges = space.shapes, self.ridges
        fixed = ridges[0] if len(ridges) == 1 else None  # may be 0: no logarithm
        ends = (0.0, 0.0)
        if fixed is None:
            ends = float(np.log10(min(ridges))), float(np.log10(max(ridges)))
        seen: dict[tuple[float, float], float] = {}

        def score(point: Array) -> float:
            shape = float(np.clip(point[0], min(shapes), max(shapes)))
            ridge = float(10 ** np.clip(point[1], *ends)) if fixed is None else fixed
            if (shape, ridge) not in seen:
                losses = replace(space, shapes=(shape,)).losses
                total, weights = 0.0, 0.0
                for fold in self.splits.folds:
                    coef = self._fit(losses, [ridge], fold)
                    table, weight = self._judge(losses, coef, fold)
                    total, weights = total + weight * float(table[0, 0]), weights + weight
                seen[shape, ridge] = total / weights
            return seen[shape, ridge]

        start = np.array([shapes[best[0]]])
        begin = np.array([start, start + 0.05])
        if fixed is None:
            start = np.append(start, np.log10(ridges[best[1]]))
            begin = np.array([start, start + [0.05, 0.0], start + [0.0, 0.3]])
        minimize(
            score,
            start,
            method="Nelder-Mead",
            options={"initial_simplex": begin, "maxfev": 40, "xatol": 0.01, "fatol": 1e-7},
        )
        return min(seen, key=lambda point: seen[point])

    def _step(self) -> None:
        self.steps_done += 1
        if self.progress is not None:
            self.progress(min(self.steps_done, self.steps), self.steps)

    def _fit(self, losses: Sequence[Loss], ridges: Sequence[float], fold: Fold) -> Array:
        """Return the coefficients of every loss and ridge, fitted without one fold."""
        rows, stats, problem = self.rows, self.stats, self.problem
        draw, repeat = self.splits.draw, self.splits.repeat
        sample = training_sample(rows, stats, *fold, self.engine, draw, repeat)
        if self.front is not None:
            return incomplete_grid(*sample, stats, self.front, losses, ridges, problem)
        coef = np.empty((len(losses), len(ridges), rows.n_columns + 1))
        if problem.l1_ratio > 0:
            for i, loss in enumerate(losses):
                coef[i] = self._fit_path(sample, loss, ridges, fold)
            return coef
        line = problem.domain == "line" and not issparse(sample.X)
        convex = [i for i, loss in enumerate(losses) if newton_applies(loss) and line]
        if convex:
            chosen = [losses[i] for i in convex]
            grid = solve_grid(sample, stats, chosen, ridges, problem)
            if not sample.whole:
                grid = polish(rows, stats, grid, chosen, ridges, problem, *fold, self.engine)
            coef[convex] = grid.coef
        for i in sorted(set(range(len(losses))) - set(convex)):
            coef[i] = self._fit_one_by_one(sample, losses[i], ridges)
        return coef

    def _fit_path(
        self, sample: TrainingSample, loss: Loss, ridges: Sequence[float], fold: Fold
    ) -> Array:
        """Fit a loss with a Laplace prior, from the strongest penalty to the weakest.

        Where the rows are a sample, each answer takes a step with the gradient of all of them.
        """
        held, stats = self._in_memory(sample)
        order = np.argsort(ridges)[::-1]
        objectives = [self.problem.objective(loss, ridges[r], stats) for r in order]
        start = self.problem.start(self.stats, loss.link)
        path = solve_path(held, objectives, start, tol=_path_tol)
        if not sample.whole:
            params = ([loss] * len(path), path, *fold)
            gradient = self.rows.fold(grid_gradients, params, engine=self.engine)
            path = np.stack(list(map(one_step, [held] * len(path), objectives, path, gradient)))
        out = np.empty_like(path)
        out[order] = path
        return out

    def _in_memory(self, sample: TrainingSample) -> tuple[Rows, ColumnSummary]:
        """Return a sample as rows, with the weight of its classes."""
        X, y, weight = sample.X, sample.y, sample.weight
        held: Rows = (
            SparseRows(X, y, weight=weight, schema=self.rows.schema)
            if issparse(X)
            else ArrayRows(X, y, weight=weight, schema=self.rows.schema, check=False)
        )
        class_weight = np.array([weight[y == 0].sum(), weight[y == 1].sum()])
        return held, replace(self.stats, weight=class_weight, unlabelled=0)

    def _fit_one_by_one(self, sample: TrainingSample, loss: Loss, ridges: Sequence[float]) -> Array:
        """Fit a loss that the grid cannot take, ridge after ridge from the largest, warm."""
        held, stats = self._in_memory(sample)
        quick = replace(self.problem, tol=1e-6, max_passes=60)
        out = np.empty((len(ridges), held.n_columns + 1))
        start = None
        for r in np.argsort(ridges)[::-1]:
            start = regress(
                held, stats, loss, ridges[r], quick, start=start, thorough=start is None
            ).coef
            out[r] = start
        return out

    def _judge(self, losses: Sequence[Loss], coef: Array, fold: Fold) -> tuple[Array, float]:
        """Return the score of every loss and ridge on the held-out rows, and their weight."""
        by, floor = self.validation.by, self.validation.floor
        kinds, flat, place = distinct_models(coef, losses)
        links = [loss.link for loss in kinds]
        floors = [floor if hasattr(link, "shape") else 0.0 for link in links]
        front = None if self.front is None else self.front.packed
        params = (links, flat, floors, fold, self.stats.prevalence, by, front)
        sums: HeldOutSums = self.rows.fold(held_out_scores, params, engine=self.engine)
        total = calibration_of(sums.bins) if by == "calibration" else sums.score
        return np.asarray(total / sums.weight)[place], float(sums.weight)


def _path_tol(objective: Objective) -> float:
    """Return the certificate that a fit with a Laplace prior is judged at: below its penalty."""
    least = Coordinates(objective).absolute
    return 1e-3 * float(least[least > 0].min(initial=np.inf)) / objective.stats.total


def _best_place(mean: Array, tie: float) -> tuple[int, int]:
    """Return the place of the smallest score.

    With a `tie` the largest ridge whose score is so close to the smallest, as a share of that of
    the largest ridge of all, which is about the base rate's: what rounding decides would depend on
    units. Without, the first of equals.
    """
    least = float(mean.min())
    if tie == 0 or not np.isfinite(least):
        loss, ridge = np.unravel_index(int(np.argmin(mean)), mean.shape)
        return int(loss), int(ridge)
    near = (mean <= least + tie * float(mean[:, -1].min())).any(axis=0)
    ridge = np.flatnonzero(near)[-1]
    return int(np.argmin(mean[:, ridge])), int(ridge)


class _NestedScore:
    """The choice among some losses of a search, and its score on rows it was not made on.

    Attributes
    ----------
    best : tuple of int
        Loss (among those asked for) and ridge with the least mean score over all folds.
    floor : float
        Weight of the prevalence that held-out log loss asks for, over all folds.
    score : float
        Nested: each part is scored with the shape, ridge and floor that the other parts choose.
    """

    def __init__(self, search: _Search, kind: range) -> None:
        self.search, self.kind = search, kind
        own = list(kind)
        mean = np.average(search.scores, axis=0, weights=search.weights)
        self.best = _best_place(mean[own], search.tie)
        parts = range(len(search.splits.parts))
        self.without = [self._best_without(part, own) for part in parts]
        self.floored = search.validation.floor > 0 and hasattr(search.losses[kind[0]].link, "shape")
        wanted = sorted({self.best, *self.without})
        self.held = [self._held(part, wanted) for part in parts]  # prob (rows, models), y, weight
        self.models = {place: column for column, place in enumerate(wanted)}
        logs = self._logs_by_floor()
        self.floor = self._floor(logs[:, self.models[self.best]].sum(axis=0))
        self.floors = [
            self._floor(np.delete(logs[:, self.models[place]], part, axis=0).sum(axis=0))
            for part, place in enumerate(self.without)
        ]
        scores = [self._part_score(part) for part in parts]
        self.part_scores = np.array(scores)
        self.score = float(np.average(self.part_scores, weights=search.part_weights))

    def shape_and_ridge(self, shapes: Sequence[float]) -> tuple[float, float]:
        """Return shape and ridge of the choice."""
        loss = self.search.losses[self.kind[self.best[0]]]
        shape = shapes[self.best[0]] if hasattr(loss.link, "shape") else np.nan
        return float(shape), self.search.ridges[self.best[1]]

    def gain_over(self, other: _NestedScore) -> tuple[float, float]:
        """Return how much lower the nested score is than another's, and its standard error."""
        search = self.search
        weights = search.part_weights
        gain = other.score - self.score
        if len(self.held) < 2:
            return gain, np.nan
        if search.validation.by == "calibration":  # not a mean over rows: the parts must do
            apart = other.part_scores - self.part_scores
            return gain, float(apart.std(ddof=1) / np.sqrt(len(apart)))
        sums = np.zeros(int(search.splits.group.max()) + 1)
        for part, (_, (ids, number)) in enumerate(search.splits.parts):
            group = search.splits.group[ids == number]
            weight = self.held[part][2]
            with np.errstate(invalid="ignore"):
                each = other.row_scores(part) - self.row_scores(part) - gain
            sums += np.bincount(group, weight * each, minlength=len(sums))
        return gain, float(np.sqrt((sums**2).sum()) / weights.sum())

    def row_scores(self, part: int) -> Array:
        """Return the score of each row of a part, under the choice made without it."""
        prob, y, _ = self.held[part]
        return _row_score(self._prob(prob, part), y, self.search.validation.by)

    def _best_without(self, part: int, own: list[int]) -> tuple[int, int]:
        """Return the choice of all other parts."""
        search = self.search
        if len(search.splits.parts) < 2:
            return self.best
        others = np.delete(np.arange(len(search.splits.parts)), part)
        mean = np.average(search.apart[others], axis=0, weights=search.part_weights[others])
        return _best_place(mean[own], search.tie)

    def _held(self, part: int, wanted: list[tuple[int, int]]) -> tuple[Array, Array, Array]:
        search = self.search
        number, fold = search.splits.parts[part]
        front = None if search.front is None else search.front.packed
        models = [
            (search.losses[self.kind[loss]].link, search.coef[number][self.kind[loss], ridge])
            for loss, ridge in wanted
        ]
        found: tuple[Array, Array, Array] = search.rows.fold(
            held_out_probs, (models, fold, front), engine=search.engine, merge=append_rows
        )
        return found

    def _logs_by_floor(self) -> Array:
        """Return the log loss of each part, model and floor; one floor of 0 for other links."""
        floors = FLOORS if self.floored else (0.0,)
        logs = np.zeros((len(self.held), len(self.models), len(floors)))
        for part, (prob, y, weight) in enumerate(self.held):
            for place, floor in enumerate(floors):
                mix = mix_with_prevalence(prob, floor, self.search.stats.prevalence)
                logs[part, :, place] = weight @ _row_score(mix, y[:, None], "log_loss")
        return logs

    def _floor(self, logs: Array) -> float:
        """Return the floor that a sum of log losses asks for."""
        least = self.search.validation.floor if self.floored else 0.0
        if not self.floored or not self.search.validation.tune_floor:
            return least
        return max(least, FLOORS[int(np.argmin(logs))])

    def _prob(self, prob: Array, part: int) -> Array:
        own = prob[:, self.models[self.without[part]]]
        return mix_with_prevalence(own, self.floors[part], self.search.stats.prevalence)

    def _part_score(self, part: int) -> float:
        prob, y, weight = self.held[part]
        mix = self._prob(prob, part)
        if self.search.validation.by == "calibration":
            return float(calibration_of(_bins(mix, y, weight))) / float(weight.sum())
        return float(np.average(_row_score(mix, y, self.search.validation.by), weights=weight))


class HeldOutSums(NamedTuple):
    """Sums over held-out rows, one entry per model."""

    weight: float
    score: Array  # (models,), of the score that was asked for
    bins: Array  # (models, 10, 4): weight, prob, prob^2, y; for the calibration loss only


Packed = tuple[Any, ...] | None  # the fields of a front
HeldOutParams = tuple[list[Link], Array, list[float], Fold, float, str, Packed]


def held_out_scores(block: Block, params: HeldOutParams) -> HeldOutSums:
    """Kernel: scores of many models on the held-out rows of a block."""
    links, coef, floors, fold, prevalence, by, front = params
    score = np.zeros(len(links))
    bins = np.zeros((len(links), 10, 4) if by == "calibration" else (0, 10, 4))
    total = 0.0
    slopes = np.ascontiguousarray(coef[:, :-1])
    for piece in block.strips():
        X, y, weight = _held_out_rows(piece, fold)
        total += float(weight.sum())
        found = None if front is None else spread(Front(*front), X)
        X = X if found is None else found.mean
        scores = slopes @ X.T
        scores += coef[:, -1:]
        for i, link in enumerate(links):
            if found is None:
                prob = link.rates(scores[i])[0]
            else:
                prob = marginal_prob(link, scores[i], found.variance(slopes[i]))
            prob = mix_with_prevalence(prob, floors[i], prevalence)
            if by == "calibration":
                bins[i] += _bins(prob, y, weight)
            else:
                score[i] += weight @ _row_score(prob, y, by)
    return HeldOutSums(total, score, bins)


def held_out_probs(
    block: Block, params: tuple[list[tuple[Link, Array]], Fold, Packed]
) -> tuple[Array, Array, Array]:
    """Kernel: probabilities of several models on the held-out rows, their labels and weights."""
    models, fold, front = params
    X, y, weight = _held_out_rows(block, fold)
    found = None if front is None else spread(Front(*front), X)
    X = X if found is None else found.mean
    prob = np.empty((len(y), len(models)))
    for column, (link, coef) in enumerate(models):
        score = X @ coef[:-1] + coef[-1]
        if found is None:
            prob[:, column] = link.inverse(score)
        else:
            prob[:, column] = marginal_prob(link, score, found.variance(coef[:-1]))
    return prob, y, weight


def _held_out_rows(piece: Block, fold: Fold) -> tuple[Array, Array, Array]:
    ids, part = fold
    own = np.flatnonzero(ids[piece.start : piece.start + len(piece)] == part)
    y, weight = labels_and_weights(piece, True)
    assert weight is not None
    return piece.matrix[own], y[own], weight[own]


def _row_score(prob: Array, y: Array, by: str) -> Array:
    return binary_losses(y, prob, "log" if by == "log_loss" else "brier")


def _bins(prob: Array, y: Array, weight: Array) -> Array:
    """Return weight, prob, prob^2 and y summed in ten bins of prob, shape (10, 4)."""
    number = np.clip(np.ceil(prob * 10).astype(np.intp) - 1, 0, 9)
    values = (weight, weight * prob, weight * prob**2, weight * y)
    return np.stack([np.bincount(number, value, minlength=10) for value in values], axis=1)


def calibration_of(bins: Array) -> Array:
    """Return the calibration loss times the weight, from sums of ten bins (001 section 4.2)."""
    weight, prob, square, label = np.moveaxis(bins, -1, 0)
    share = label / np.where(weight > 0, weight, 1.0)
    return np.asarray((square - 2 * share * prob + weight * share**2).sum(axis=-1))


# --- grid -----------------------------------------------------------------------------------------


class TrainingSample(NamedTuple):
    """Training rows in memory, whether they are all of them, and how often a record stands."""

    X: Array
    y: Array
    weight: Array
    whole: bool
    repeat: float = 1.0


class GridFit(NamedTuple):
    """Coefficients of each loss and ridge, and what is needed to move them once more."""

    coef: Array  # (losses, ridges, k + 1): slopes, then the intercept
    hessian: Array  # (losses, ridges, p, p) in standardised coordinates
    enough: Array  # (losses, ridges): decrement below ENOUGH


def training_sample(
    rows: Rows,
    stats: ColumnSummary,
    ids: FoldNumbers,
    held_out: int,
    engine: Engine,
    draw: Array,
    repeat: float = 1.0,
) -> TrainingSample:
    """Collect training rows: all of them, or all of the rarer class and a share of the others.

    `draw` is a uniform number per row; those below a class's share are taken. Where it follows from
    the content of a row, the sample does not depend on the order of rows. `repeat` is how often a
    record stands in the table, on average.
    """
    n = float(np.count_nonzero((ids != held_out) & (ids >= 0))) / repeat
    room = max(SMALL, n / 8) if n * rows.n_columns < 8 * MOST_CELLS else MOST_CELLS / rows.n_columns
    count = stats.count / repeat
    shares = np.minimum(1.0, np.maximum(room / 2, room - count[::-1]) / count)
    X, y, weight = rows.fold(
        stratified_sample, (ids, held_out, shares, draw), engine=engine, merge=append_rows
    )
    return TrainingSample(X, y, weight, bool((shares == 1.0).all()), repeat)


def stratified_sample(
    block: Block, params: tuple[FoldNumbers, int, Array, Array]
) -> tuple[Array, Array, Array]:
    """Kernel: a share of each class among the training rows, weighted to stand for all."""
    ids, held_out, shares, draw = params
    place = slice(block.start, block.start + len(block))
    own = ids[place]
    y, weight = labels_and_weights(block, True)
    assert weight is not None
    training = (own != held_out) & (own >= 0) & (weight > 0)
    share = np.where(y == 1, shares[1], shares[0])
    if (shares < 1.0).any():
        training &= draw[place] < share
    kept = np.flatnonzero(training)
    return block.matrix[kept], y[kept], weight[kept] / share[kept]


def solve_grid(
    sample: TrainingSample,
    stats: ColumnSummary,
    losses: Sequence[Loss],
    ridges: Sequence[float],
    problem: Formulation,
) -> GridFit:
    """Solve every loss at every ridge on rows in memory."""
    standard = GridCoordinates(stats, problem)
    Z, offset = standard.design(sample.X)
    p = Z.shape[1]
    theta = np.zeros((len(losses), p))
    if problem.intercept != "none":
        theta[:, -1] = [
            float(loss.link.forward(np.array([stats.prevalence]))[0]) for loss in losses
        ]
        if problem.offset is not None:
            theta[:, -1] -= stats.mean[problem.offset]
    coef = np.empty((len(losses), len(ridges), len(standard.free)))
    hessians = np.empty((len(losses), len(ridges), p, p))
    enough = np.zeros((len(losses), len(ridges)), dtype=bool)
    data = np.zeros((len(losses), p, p))
    newton = _GridNewton(Z, offset, sample, losses)
    fresh = True
    for r in np.argsort(ridges)[::-1]:
        theta, data, enough[:, r] = newton.solve(theta, data, standard.penalty(ridges[r]), fresh)
        fresh = False
        coef[:, r] = standard.given(theta)
        hessians[:, r] = data + np.diag(standard.penalty(ridges[r]))
    return GridFit(coef, hessians, enough)


class _GridNewton:
    """Newton steps of all losses together, at one ridge after another."""

    def __init__(
        self, Z: Array, offset: Array, sample: TrainingSample, losses: Sequence[Loss]
    ) -> None:
        self.Z, self.offset, self.y, self.weight = Z, offset, sample.y, sample.weight
        self.losses = losses
        # In units of one record: weights in other units, or rows written twice, change nothing.
        least = max(float(sample.weight.min()), 1e-3 * float(sample.weight.mean()))
        self.enough = ENOUGH * sample.repeat * least
        # Hessians of all losses against one pass of gradients: few rows make them cheap.
        self.cheap = len(Z) * Z.shape[1] < 60_000

    def sums(
        self, theta: Array, which: Ids, hessian: NDArray[np.bool_]
    ) -> tuple[Array, dict[int, Array]]:
        """Return the gradients of the chosen losses, and Hessians of those asked for."""
        scores = theta[which] @ self.Z.T
        scores += self.offset
        grams = {}
        for row, number in enumerate(which):
            slope, curvature = self.losses[number].sweep(self.y, scores[row])
            if hessian[number]:
                root = np.sqrt(curvature * self.weight)
                scaled = self.Z * root[:, None]
                grams[int(number)] = scaled.T @ scaled
            np.multiply(slope, self.weight, out=scores[row])
        return scores @ self.Z, grams

    def solve(
        self, theta: Array, data: Array, penalty: Array, fresh: bool
    ) -> tuple[Array, Array, Array]:
        """Solve all losses at one penalty, from the answers at another."""
        count, p = theta.shape
        theta, data = theta.copy(), data.copy()
        everyone = np.arange(count)
        stale = np.full(count, fresh or self.cheap)
        gradient, grams = self.sums(theta, everyone, stale)
        gradient = gradient + penalty * theta
        self._keep(data, grams)
        share = np.ones(count)
        step = np.zeros((count, p))
        last = np.full(count, np.inf)
        active = np.ones(count, dtype=bool)
        renew = np.ones(count, dtype=bool)
        for _ in range(MOST_STEPS):
            step[renew] = -_solve(data[renew], penalty, gradient[renew])
            decrement = -0.5 * np.einsum("ij,ij->i", step, gradient)
            active = decrement > self.enough
            if not active.any():
                break
            which = np.flatnonzero(active)
            tried = theta.copy()
            tried[which] += share[which, None] * step[which]
            stale = active & (self.cheap | (decrement > 0.1 * last))
            new, grams = self.sums(tried, which, stale)
            new = new + penalty * tried[which]
            before = np.einsum("ij,ij->i", step[which], gradient[which])
            after = np.einsum("ij,ij->i", step[which], new)
            good = after <= 0.9 * -before
            renew = np.zeros(count, dtype=bool)
            renew[which[good]] = True
            theta[which[good]] = tried[which[good]]
            gradient[which[good]] = new[good]
            last[which[good]] = decrement[which[good]]
            share[which[good]] = 1.0
            share[which[~good]] *= np.clip(before / (before - after), 0.05, 0.7)[~good]
            self._keep(data, {n: gram for n, gram in grams.items() if renew[n]})
        return theta, data, ~active

    @staticmethod
    def _keep(data: Array, grams: dict[int, Array]) -> None:
        for number, gram in grams.items():
            data[number] = gram


def _solve(data: Array, penalty: Array, gradient: Array) -> Array:
    """Solve with each Hessian, lifted a little: flat directions of a GEV loss stay finite."""
    hessian = data + np.diag(penalty)
    scale = np.sqrt(np.maximum(np.einsum("ijj->ij", hessian), 1e-300))
    hessian = hessian / (scale[:, :, None] * scale[:, None, :]) + 1e-12 * np.eye(data.shape[1])
    return np.asarray(np.linalg.solve(hessian, (gradient / scale)[..., None])[..., 0] / scale)


def polish(
    rows: Rows,
    stats: ColumnSummary,
    grid: GridFit,
    losses: Sequence[Loss],
    ridges: Sequence[float],
    problem: Formulation,
    ids: FoldNumbers,
    held_out: int,
    engine: Engine,
) -> GridFit:
    """Move every answer once, with the gradient of all training rows and the sample's Hessian."""
    standard = GridCoordinates(stats, problem)
    shape = grid.coef.shape
    kinds, flat, place = distinct_models(grid.coef, losses)
    gradient = rows.fold(grid_gradients, (kinds, flat, ids, held_out), engine=engine)[place]
    penalty = np.array([problem.penalty(ridge, shape[-1] - 1) for ridge in ridges])
    moved = standard.gradient(gradient + penalty * grid.coef)
    step = np.stack(
        [
            _solve(grid.hessian[:, r], np.zeros(moved.shape[-1]), moved[:, r])
            for r in range(len(ridges))
        ],
        axis=1,
    )
    change = standard.given(step)
    if problem.offset is not None:
        change[..., problem.offset] = 0.0
    first = np.unique(place, return_index=True)[1]  # answers that were one stay one
    return grid._replace(coef=(grid.coef - change).reshape(-1, shape[-1])[first][place])


def distinct_models(coef: Array, losses: Sequence[Loss]) -> tuple[list[Loss], Array, Ids]:
    """Return losses and coefficients without repeats, and where each (loss, ridge) is among them.

    Small ridges share an answer when the data cannot tell them apart: `solve_grid` then leaves the
    coefficients as they were.
    """
    kinds: list[Loss] = []
    kept: list[Array] = []
    place = np.empty(coef.shape[:2], dtype=np.intp)
    for i, loss in enumerate(losses):
        seen: dict[bytes, int] = {}
        for j in range(coef.shape[1]):
            key = coef[i, j].tobytes()
            if key not in seen:
                seen[key] = len(kept)
                kinds.append(loss)
                kept.append(coef[i, j])
            place[i, j] = seen[key]
    return kinds, np.array(kept), place


def grid_gradients(block: Block, params: tuple[list[Loss], Array, FoldNumbers, int]) -> Array:
    """Kernel: the gradient of each model over the training rows, (models, k + 1)."""
    losses, coef, ids, held_out = params
    total = np.zeros_like(coef)
    slopes = np.ascontiguousarray(coef[:, :-1])
    for piece in block.strips():
        own = ids[piece.start : piece.start + len(piece)]
        y, weight = labels_and_weights(piece, True)
        assert weight is not None
        kept = np.flatnonzero((own != held_out) & (own >= 0) & (weight > 0))
        X, y, weight = piece.matrix[kept], y[kept], weight[kept]
        scores = slopes @ X.T
        scores += coef[:, -1:]
        for row, loss in enumerate(losses):
            np.multiply(loss.sweep(y, scores[row])[0], weight, out=scores[row])
        total[:, :-1] += scores @ X
        total[:, -1] += scores.sum(axis=1)
    return total
