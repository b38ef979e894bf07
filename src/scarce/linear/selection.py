"""Which loss, which shape and which ridge? Those that predict best on rows the fit has not seen.

    score(shape, ridge) = mean over held-out rows of (prob - y)^2, or log loss, or calibration loss

The whole grid is solved together per fold (linear/grid.py), and the logistic loss with it. What is
said of the choice is nested: the setting that predicts fold k is chosen on the other folds, for the
GEV loss and for logistic regression alike, so that score and gain are what an outsider would
measure. Rows that belong together stay in one fold (engine/folds.py) and count as one in the error
of the gain.

Ridges are tried from 1e-4 to 1e2 times the information that a standardised column has at the base
rate, total weight * prevalence * (1 - prevalence), and further where the best lies at an end: units
of columns and of weights, and rows written twice, change nothing. Assumes rows are exchangeable up
to their groups: folds are not in time or space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.folds import RowGroups, deal_folds, hold_out, row_groups
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.linear.grid import distinct, polish, solve_grid, training_part
from scarce.linear.losses import loss_of
from scarce.linear.newton import append_rows
from scarce.linear.regress import Setting, regress, smooth
from scarce.linear.sums import Look, labelled
from scarce.results import Selection

PAPER_SHAPES = tuple(
    [-1.0, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2567, -0.2, -0.1, 0.0]
    + [round(0.1 * j, 1) for j in range(1, 16)]
)
PAPER_RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
COARSE_SHAPES = (-0.5, 0.1, 0.6, 1.1)  # loss="auto": enough to see whether a GEV link pays
RELATIVE_RIDGES = tuple(10.0**j for j in range(-4, 3))  # of the information at the base rate
FURTHEST = (1e-8, 1e4)  # how far they are extended, two powers of ten at a time
TIE = 1e-6  # of the base rate's score: among scores so close the largest ridge is taken
FLOORS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
SCORES = ("brier", "log_loss", "calibration")
Progress = Callable[[int, int], None]
Ids = NDArray[np.intp]


class Held(NamedTuple):
    """Sums over held-out rows, one entry per model, of the score that was asked for."""

    weight: float
    brier: Array
    log_loss: Array
    bins: Array  # (models, 10, 4): weight, prob, prob^2, y


@dataclass(frozen=True)
class Candidates:
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
    """

    name: str
    shapes: tuple[float, ...]
    ridges: tuple[float, ...]
    furthest: tuple[float, float] | None = None

    @property
    def losses(self) -> list[Any]:
        """One loss per shape."""
        name = "gev-canonical" if self.name == "auto" else self.name
        if not name.startswith("gev"):
            return [loss_of(name)]
        return [loss_of(name, shape) for shape in self.shapes]


@dataclass(frozen=True)
class Plan:
    """How settings are judged.

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
    cv: Any
    floor: float
    seed: int
    groups: Any = None
    tune_floor: bool = False


Fold = tuple[Any, int]  # number of each row's part, -1 for rows without use; the part held out


class Dealt(NamedTuple):
    """How the rows are dealt."""

    folds: list[Fold]
    parts: list[tuple[int, Fold]]  # judged apart: the number of the fold fitted, and its rows
    group: Ids  # (n,) rows that belong together, -1 for rows without use
    draw: Array  # (n,) uniform numbers that follow from the content of each group
    repeat: float  # how often a record stands in the table, on average
    remarks: list[str]


def folds_of(rows: Rows, look: Look, plan: Plan, engine: Engine) -> Dealt:
    """Return the parts to hold out in turn: random within each class, or as the user says."""
    refuse_word("select_by", plan.by, SCORES)
    codes = rows.map(_codes, None, engine=engine)
    weight = rows.weights(engine=engine)
    found = row_groups(rows, codes, weight, groups=plan.groups, seed=plan.seed, engine=engine)
    used = int(np.count_nonzero(codes >= 0))
    repeat = used / max(used - found.copies, 1)
    remarks = found.remarks()
    if isinstance(plan.cv, bool) or not isinstance(plan.cv, (int, float, np.number)):
        folds = _given_folds(plan, codes)
        remarks += _separated_copies(folds, found)
    else:
        folds = _dealt_folds(rows, look, plan, codes, weight, found)
    _refuse_one_class(folds, codes)
    parts = list(enumerate(folds))
    if len(folds) == 1:  # one split: its two halves judge each other's choice
        ids, part = folds[0]
        halves = _halves(found, codes, ids == part)
        parts = [(0, (halves, half)) for half in (0, 1) if (halves == half).any()]
    rank = np.empty(found.n_groups)
    rank[found.order] = np.arange(found.n_groups) / max(found.n_groups, 1)
    draw = np.where(found.group >= 0, rank[found.group], 1.0)
    return Dealt(folds, parts, found.group, draw, repeat, remarks)


def _dealt_folds(
    rows: Rows, look: Look, plan: Plan, codes: Any, weight: Array, found: RowGroups
) -> list[Fold]:
    """Deal whole groups to folds, or hold a share of them out."""
    cv = float(plan.cv)
    if not (cv >= 2 and cv == int(cv) and cv <= 100) and not 0 < cv < 1:
        raise UsageError(
            f"cv={plan.cv!r}: give a whole number of folds from 2 to 100, the share of rows to "
            "validate on, such as 0.3, or a splitter of scikit-learn."
        )
    fewest = int(look.count.min())
    label = rows.classes[int(look.count.argmin())]
    if fewest < 2:
        raise DataError(
            f"Class {label!s} has {fewest} labelled row, and choosing shape and ridge needs at "
            "least 2 of each class, one to fit and one to judge. Pass shape= and ridge= as "
            "numbers, or label more rows."
        )
    groups = found.fewest(codes)
    if groups < 2:
        raise DataError(
            "All rows of one class belong to one group, or are copies of one row, and choosing "
            "shape and ridge needs one group to fit and one to judge. Pass shape= and ridge= as "
            "numbers, or label more rows."
        )
    if cv < 1:
        held = hold_out(found, codes, weight, cv)
        return [(np.where(found.group < 0, -1, held).astype(np.int8), 1)]
    number = int(min(cv, fewest, groups))
    ids = deal_folds(found, codes, weight, number).astype(np.int8)
    return [(ids, part) for part in range(number)]


def _given_folds(plan: Plan, codes: Any) -> list[Fold]:
    """Return the folds of a splitter or of pairs (train, test)."""
    cv = plan.cv
    known = np.arange(len(codes))
    if isinstance(cv, str):
        raise UsageError(f"cv={cv!r}: give a number of folds such as 5, or a share such as 0.3.")
    folds: list[Fold] = []
    try:
        pairs = cv
        if hasattr(cv, "split"):  # a splitter sees the rows that count, and numbers those
            known = np.flatnonzero(codes >= 0)
            groups = () if plan.groups is None else (np.asarray(plan.groups)[known],)
            pairs = cv.split(np.zeros((len(known), 1)), codes[known], *groups)
        for train, test in pairs:
            ids = np.full(len(codes), -1, dtype=np.int8)
            ids[known[train]], ids[known[test]] = 0, 1
            ids[codes < 0] = -1
            folds.append((ids, 1))
    except (TypeError, IndexError, ValueError) as error:
        raise UsageError(
            f"cv={cv!r:.60} holds no pairs of row numbers (train, test): {error}. Pass a number of "
            "folds such as 5, a share such as 0.3, or a splitter of scikit-learn."
        ) from error
    if not folds:
        raise UsageError("cv holds no pair (train, test): pass cv=5, or a splitter.")
    return folds


def _refuse_one_class(folds: list[Fold], codes: Any) -> None:
    """Every fold needs both classes to learn from, and rows to judge by."""
    for number, (ids, part) in enumerate(folds):
        training = (ids != part) & (ids >= 0)
        if len(np.unique(codes[training])) < 2 or not (ids == part).any():
            raise DataError(
                f"Fold {number + 1} of cv has training rows of one class only, or nothing to "
                "judge by. Pass a stratified splitter, or cv=5."
            )


def _separated_copies(folds: list[Fold], found: RowGroups) -> list[str]:
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
        f"cv puts {seen:,} rows into a judging part whose copy or group is in the training part: "
        "shape, ridge and their scores flatter. Pass a number of folds such as cv=5, or a splitter "
        "of groups."
    ]


def _halves(found: RowGroups, codes: Any, held: NDArray[np.bool_]) -> Any:
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


def _codes(block: Block, _: None) -> Any:
    y, weight = labelled(block, True)
    assert weight is not None
    return np.where(weight > 0, y, -1).astype(np.int8)


class Choice(NamedTuple):
    """What was chosen, and what is to be said of it."""

    loss: str
    selection: Selection
    floor: float
    remarks: list[str]


def select(
    rows: Rows,
    look: Look,
    candidates: Candidates,
    setting: Setting,
    plan: Plan,
    *,
    engine: Engine = None,
    progress: Progress | None = None,
    continuous: bool = False,
) -> Choice:
    """Choose loss, shape and ridge, and the floor that held-out rows ask for."""
    dealt = folds_of(rows, look, plan, engine)
    compare = candidates.name != "logistic"
    losses = candidates.losses
    every = [*losses, loss_of("logistic")] if compare else losses
    grid = _Grid(rows, look, every, setting, plan, dealt, engine, progress)
    grid.tie = 0.0 if candidates.furthest is None else TIE
    grid.add(candidates.ridges)
    kinds = [range(len(losses)), range(len(losses), len(every))][: 1 + compare]
    if candidates.furthest is not None:
        grid.extend(kinds, *candidates.furthest)
    own = _Judged(grid, kinds[0])
    plain = _Judged(grid, kinds[1]) if compare else own
    gain, error = own.gain_over(plain) if compare else (0.0, 0.0)
    loss, taken = candidates.name, own
    if candidates.name == "auto":
        loss, taken = ("gev-canonical", own) if gain > 2 * error else ("logistic", plain)
    shape, ridge = taken.setting(candidates.shapes)
    if continuous and taken is own:
        start = own.best[0], own.best[1]
        shape, ridge = _refine(rows, look, candidates, setting, plan, dealt, engine, start)
    listed = np.array(candidates.shapes if loss != "logistic" or compare else [np.nan])
    order = np.arange(len(losses))
    if candidates.name == "auto":  # the logistic loss first, as a loss without shape
        listed, order = np.append(np.nan, listed), np.append(len(losses), order)
    scores = np.ascontiguousarray(grid.scores[:, order])
    found = Selection(
        plan.by,
        listed,
        np.array(grid.ridges),
        scores,
        grid.weights,
        float(shape),
        float(ridge),
        taken.score,
        "logistic" if compare else "",
        plain.score,
        gain,
        error,
        listed[scores.min(axis=2).argmin(axis=1)],
        loss,
    )
    remarks = dealt.remarks + _edge(grid, taken, candidates) + _said(found, candidates.name)
    return Choice(loss, found, taken.floor, remarks)


def _edge(grid: _Grid, taken: _Judged, candidates: Candidates) -> list[str]:
    """Say so when the best ridge lies at an end of those that were tried."""
    place = taken.best[1]
    if len(grid.ridges) == 1 or 0 < place < len(grid.ridges) - 1:
        return []
    ridge = grid.ridges[place]
    if candidates.furthest is None:
        end, more = ("smallest", "smaller") if place == 0 else ("largest", "larger")
        return [
            f"The ridge chosen, {ridge:.3g}, is the {end} of those tried: a {more} one may predict "
            f"better. Pass ridges= with {more} values, or leave ridges=None and standardize=True, "
            "which extends them."
        ]
    if place == 0:
        return [
            f"The ridge chosen, {ridge:.3g}, is the smallest of those tried: left-out rows ask for "
            "no penalty. ridge=0 fits without one."
        ]
    return [
        f"The ridge chosen, {ridge:.3g}, is the largest of those tried: on left-out rows the "
        "columns predict no better than the base rate."
    ]


def _said(found: Selection, name: str) -> list[str]:
    """Say what a GEV loss gains over logistic regression, either way."""
    if not found.reference:
        return []
    gain = f"{found.gain:.2g} +- {found.gain_error:.2g} {found.by}"
    if name == "auto":
        if found.loss == "logistic":
            return [
                "Logistic regression was chosen: a GEV link gains nothing beyond the noise "
                f"({gain} on left-out rows)."
            ]
        return [
            f"A GEV link of shape {found.shape:g} was chosen: it gains {gain} over logistic "
            "regression on left-out rows."
        ]
    if found.inside_noise:
        return [
            f"The gain over logistic regression ({gain}) is inside its noise: loss='logistic' is "
            "as good here."
        ]
    return []


class _Grid:
    """Every loss at every ridge, fitted without each fold and scored on it."""

    def __init__(
        self,
        rows: Rows,
        look: Look,
        losses: list[Any],
        setting: Setting,
        plan: Plan,
        dealt: Dealt,
        engine: Engine,
        progress: Progress | None,
    ) -> None:
        self.rows, self.look, self.losses, self.setting = rows, look, losses, setting
        self.plan, self.dealt, self.engine = plan, dealt, engine
        self.steps = _Steps(progress, 2 * len(dealt.folds))
        self.ridges: tuple[float, ...] = ()
        self.tie = 0.0
        shape = (len(losses), 0)
        self.coef = [np.empty((*shape, rows.n_columns + 1)) for _ in dealt.folds]
        self.scores = np.empty((len(dealt.folds), *shape))
        self.apart = np.empty((len(dealt.parts), *shape))  # of the parts that are judged apart
        self.weights = np.ones(len(dealt.folds))
        self.part_weights = np.ones(len(dealt.parts))

    def add(self, ridges: Sequence[float]) -> None:
        """Fit and judge every loss at more ridges."""
        scores, apart = [], []
        args = (self.rows, self.look, self.losses)
        folds, parts = self.dealt.folds, self.dealt.parts
        for number, fold in enumerate(folds):
            coef = _fit(*args, ridges, self.setting, self.plan, fold, self.dealt, self.engine)
            self.coef[number] = np.concatenate([self.coef[number], coef], axis=1)
            self.steps.one()
            table, weight = _judge(*args, coef, self.plan, fold, self.engine)
            scores.append(table)
            self.weights[number] = weight
            if len(folds) == 1:
                for part, (_, half) in enumerate(parts):
                    table, weight = _judge(*args, coef, self.plan, half, self.engine)
                    apart.append(table)
                    self.part_weights[part] = weight
            self.steps.one()
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
            places = {_least(mean[list(kind)], self.tie)[1] for kind in kinds}
            more: list[float] = []
            if 0 in places and self.ridges[0] > 1.1 * lowest:
                more += [0.01 * self.ridges[0], 0.1 * self.ridges[0]]
            if len(self.ridges) - 1 in places and self.ridges[-1] < 0.9 * highest:
                more += [10.0 * self.ridges[-1], 100.0 * self.ridges[-1]]
            if not more:
                return
            self.steps.total += 2 * len(self.dealt.folds)
            self.add(sorted(more))


def _least(mean: Array, tie: float) -> tuple[int, int]:
    """Return the place of the least score.

    With a `tie` the largest ridge whose score is so close to the least, as a share of that of the
    largest ridge of all, which is about the base rate's: what rounding decides would depend on
    units. Without, the first of equals.
    """
    least = float(mean.min())
    if tie == 0 or not np.isfinite(least):
        loss, ridge = np.unravel_index(int(np.argmin(mean)), mean.shape)
        return int(loss), int(ridge)
    near = (mean <= least + tie * float(mean[:, -1].min())).any(axis=0)
    ridge = np.flatnonzero(near)[-1]
    return int(np.argmin(mean[:, ridge])), int(ridge)


class _Judged:
    """The choice among some losses of a grid, and what it is worth on rows it was not made on.

    Attributes
    ----------
    best : tuple of int
        Loss (among those asked for) and ridge with the least mean score over all folds.
    floor : float
        Weight of the prevalence that held-out log loss asks for, over all folds.
    score : float
        Nested: each part is scored with the setting, and the floor, that the other parts choose.
    """

    def __init__(self, grid: _Grid, kind: range) -> None:
        self.grid, self.kind = grid, kind
        own = list(kind)
        mean = np.average(grid.scores, axis=0, weights=grid.weights)
        self.best = _least(mean[own], grid.tie)
        parts = range(len(grid.dealt.parts))
        self.without = [self._best_without(part, own) for part in parts]
        self.floored = grid.plan.floor > 0 and hasattr(grid.losses[kind[0]].link, "shape")
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
        self.score = float(np.average(self.part_scores, weights=grid.part_weights))

    def setting(self, shapes: Sequence[float]) -> tuple[float, float]:
        """Return shape and ridge of the choice."""
        loss = self.grid.losses[self.kind[self.best[0]]]
        shape = shapes[self.best[0]] if hasattr(loss.link, "shape") else np.nan
        return float(shape), self.grid.ridges[self.best[1]]

    def gain_over(self, other: _Judged) -> tuple[float, float]:
        """Return how much lower the nested score is than another's, and its standard error."""
        grid = self.grid
        weights = grid.part_weights
        gain = other.score - self.score
        if len(self.held) < 2:
            return gain, np.nan
        if grid.plan.by == "calibration":  # not a mean over rows: the parts must do
            apart = other.part_scores - self.part_scores
            return gain, float(apart.std(ddof=1) / np.sqrt(len(apart)))
        sums = np.zeros(int(grid.dealt.group.max()) + 1)
        for part, (_, (ids, number)) in enumerate(grid.dealt.parts):
            group = grid.dealt.group[ids == number]
            weight = self.held[part][2]
            with np.errstate(invalid="ignore"):
                each = other.row_scores(part) - self.row_scores(part) - gain
            sums += np.bincount(group, weight * each, minlength=len(sums))
        return gain, float(np.sqrt((sums**2).sum()) / weights.sum())

    def row_scores(self, part: int) -> Array:
        """Return the score of each row of a part, under the setting chosen without it."""
        prob, y, _ = self.held[part]
        return _row_score(self._prob(prob, part), y, self.grid.plan.by)

    def _best_without(self, part: int, own: list[int]) -> tuple[int, int]:
        """Return the choice of all other parts."""
        grid = self.grid
        if len(grid.dealt.parts) < 2:
            return self.best
        others = np.delete(np.arange(len(grid.dealt.parts)), part)
        mean = np.average(grid.apart[others], axis=0, weights=grid.part_weights[others])
        return _least(mean[own], grid.tie)

    def _held(self, part: int, wanted: list[tuple[int, int]]) -> tuple[Array, Array, Array]:
        grid = self.grid
        number, fold = grid.dealt.parts[part]
        models = [
            (grid.losses[self.kind[loss]].link, grid.coef[number][self.kind[loss], ridge])
            for loss, ridge in wanted
        ]
        found: tuple[Array, Array, Array] = grid.rows.fold(
            held_out_probs, (models, fold), engine=grid.engine, merge=append_rows
        )
        return found

    def _logs_by_floor(self) -> Array:
        """Return the log loss of each part, model and floor; one floor of 0 for other links."""
        floors = FLOORS if self.floored else (0.0,)
        logs = np.zeros((len(self.held), len(self.models), len(floors)))
        for part, (prob, y, weight) in enumerate(self.held):
            for place, floor in enumerate(floors):
                mix = mixed(prob, floor, self.grid.look.prevalence)
                logs[part, :, place] = weight @ _row_score(mix, y[:, None], "log_loss")
        return logs

    def _floor(self, logs: Array) -> float:
        """Return the floor that a sum of log losses asks for."""
        least = self.grid.plan.floor if self.floored else 0.0
        if not self.floored or not self.grid.plan.tune_floor:
            return least
        return max(least, FLOORS[int(np.argmin(logs))])

    def _prob(self, prob: Array, part: int) -> Array:
        own = prob[:, self.models[self.without[part]]]
        return mixed(own, self.floors[part], self.grid.look.prevalence)

    def _part_score(self, part: int) -> float:
        prob, y, weight = self.held[part]
        mix = self._prob(prob, part)
        if self.grid.plan.by == "calibration":
            return float(calibration_of(_bins(mix, y, weight))) / float(weight.sum())
        return float(np.average(_row_score(mix, y, self.grid.plan.by), weights=weight))


class _Steps:
    """Counts steps for a progress bar."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def one(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)


def _fit(
    rows: Rows,
    look: Look,
    losses: Sequence[Any],
    ridges: Sequence[float],
    setting: Setting,
    plan: Plan,
    fold: Fold,
    dealt: Dealt,
    engine: Engine,
) -> Array:
    """Return the coefficients of every loss and ridge, fitted without one fold."""
    part = training_part(rows, look, *fold, engine, dealt.draw, dealt.repeat)
    coef = np.empty((len(losses), len(ridges), rows.n_columns + 1))
    plain = [i for i, loss in enumerate(losses) if smooth(loss) and setting.domain == "line"]
    if plain:
        chosen = [losses[i] for i in plain]
        grid = solve_grid(part, look, chosen, ridges, setting)
        if not part.whole:
            grid = polish(rows, look, grid, chosen, ridges, setting, *fold, engine)
        coef[plain] = grid.coef
    for i in sorted(set(range(len(losses))) - set(plain)):
        coef[i] = _one_by_one(part, look, losses[i], ridges, setting, rows)
    return coef


def _one_by_one(
    part: Any, look: Look, loss: Any, ridges: Sequence[float], setting: Setting, rows: Rows
) -> Array:
    """Fit a loss that the grid cannot take, ridge after ridge from the largest, warm."""
    from scarce.engine.memory import ArrayRows

    held = ArrayRows(part.X, part.y, weight=part.weight, schema=rows.schema, check=False)
    quick = Setting(setting.intercept, setting.offset, setting.domain, 1e-6, 60, setting.units)
    seen = Look(
        np.array([part.weight[part.y == 0].sum(), part.weight[part.y == 1].sum()]),
        look.count,
        0,
        look.mean,
        look.spread,
    )
    out = np.empty((len(ridges), part.X.shape[1] + 1))
    start = None
    for r in np.argsort(ridges)[::-1]:
        start = regress(
            held, seen, loss, ridges[r], quick, start=start, thorough=start is None
        ).coef
        out[r] = start
    return out


def _judge(
    rows: Rows,
    look: Look,
    losses: Sequence[Any],
    coef: Array,
    plan: Plan,
    fold: Fold,
    engine: Engine,
) -> tuple[Array, float]:
    """Return the score of every loss and ridge on the held-out rows, and their weight."""
    kinds, flat, place = distinct(coef, losses)
    links = [loss.link for loss in kinds]
    floors = [plan.floor if hasattr(link, "shape") else 0.0 for link in links]
    params = (links, flat, floors, fold, look.prevalence, plan.by)
    sums: Held = rows.fold(held_out_scores, params, engine=engine)
    if plan.by == "calibration":
        found = calibration_of(sums.bins) / sums.weight
    else:
        found = getattr(sums, plan.by) / sums.weight
    return np.asarray(found)[place], float(sums.weight)


def calibration_of(bins: Array) -> Array:
    """Return the calibration loss times the weight, from sums of ten bins (001 section 4.2)."""
    weight, prob, square, label = np.moveaxis(bins, -1, 0)
    share = label / np.where(weight > 0, weight, 1.0)
    return np.asarray((square - 2 * share * prob + weight * share**2).sum(axis=-1))


def held_out_scores(block: Block, params: tuple[Any, ...]) -> Held:
    """Kernel: scores of many models on the held-out rows of a block."""
    links, coef, floors, fold, prevalence, by = params
    m = len(links)
    brier, logs = np.zeros(m), np.zeros(m)
    bins = np.zeros((m, 10, 4) if by == "calibration" else (0, 10, 4))
    total = 0.0
    slopes = np.ascontiguousarray(coef[:, :-1])
    for piece in block.pieces():
        X, y, weight = _held_rows(piece, fold)
        total += float(weight.sum())
        scores = slopes @ X.T
        scores += coef[:, -1:]
        for i, link in enumerate(links):
            prob = mixed(link.rates(scores[i])[0], floors[i], prevalence)
            if by == "calibration":
                bins[i] += _bins(prob, y, weight)
                continue
            sums = brier if by == "brier" else logs
            sums[i] += weight @ _row_score(prob, y, by)
    return Held(total, brier, logs, bins)


def _bins(prob: Array, y: Array, weight: Array) -> Array:
    """Return weight, prob, prob^2 and y summed in ten bins of prob, shape (10, 4)."""
    number = np.clip(np.ceil(prob * 10).astype(np.intp) - 1, 0, 9)
    values = (weight, weight * prob, weight * prob**2, weight * y)
    return np.stack([np.bincount(number, value, minlength=10) for value in values], axis=1)


def held_out_probs(block: Block, params: tuple[Any, ...]) -> tuple[Array, Array, Array]:
    """Kernel: probabilities of several models on the held-out rows, their labels and weights."""
    models, fold = params
    X, y, weight = _held_rows(block, fold)
    prob = np.empty((len(y), len(models)))
    for column, (link, coef) in enumerate(models):
        prob[:, column] = link.inverse(X @ coef[:-1] + coef[-1])
    return prob, y, weight


def _row_score(prob: Array, y: Array, by: str) -> Array:
    wrong = np.abs(prob - y)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-wrong) if by == "log_loss" else wrong**2)


def _held_rows(piece: Block, fold: Fold) -> tuple[Array, Array, Array]:
    ids, part = fold
    own = np.flatnonzero(ids[piece.start : piece.start + len(piece)] == part)
    y, weight = labelled(piece, True)
    assert weight is not None
    return piece.X[own], y[own], weight[own]


def mixed(prob: Array, floor: float, prevalence: float) -> Array:
    """Mix probabilities with the prevalence: nothing is impossible.

    Examples
    --------
    >>> mixed(np.array([0.0, 0.5]), 0.001, 0.02).tolist()
    [2e-05, 0.49952...]
    """
    return prob if floor == 0 else (1.0 - floor) * prob + floor * prevalence


def _refine(
    rows: Rows,
    look: Look,
    candidates: Candidates,
    setting: Setting,
    plan: Plan,
    dealt: Dealt,
    engine: Engine,
    best: tuple[int, int],
) -> tuple[float, float]:
    """Search between the points of the grid, around its best, with the same folds."""
    lowest, highest = min(candidates.shapes), max(candidates.shapes)
    fixed = candidates.ridges[0] if len(candidates.ridges) == 1 else None  # may be 0: no logarithm
    ends = (0.0, 0.0)
    if fixed is None:
        ends = float(np.log10(min(candidates.ridges))), float(np.log10(max(candidates.ridges)))
    seen: dict[tuple[float, float], float] = {}

    def score(point: Array) -> float:
        shape = float(np.clip(point[0], lowest, highest))
        ridge = float(10 ** np.clip(point[1], *ends)) if fixed is None else fixed
        if (shape, ridge) not in seen:
            loss = Candidates(candidates.name, (shape,), (ridge,)).losses[0]
            total, weights = 0.0, 0.0
            for fold in dealt.folds:
                coef = _fit(rows, look, [loss], [ridge], setting, plan, fold, dealt, engine)
                table, weight = _judge(rows, look, [loss], coef, plan, fold, engine)
                total, weights = total + weight * float(table[0, 0]), weights + weight
            seen[shape, ridge] = total / weights
        return seen[shape, ridge]

    start = np.array([candidates.shapes[best[0]]])
    begin = np.array([start, start + 0.05])
    if fixed is None:
        start = np.append(start, np.log10(candidates.ridges[best[1]]))
        begin = np.array([start, start + [0.05, 0.0], start + [0.0, 0.3]])
    minimize(
        score,
        start,
        method="Nelder-Mead",
        options={"initial_simplex": begin, "maxfev": 40, "xatol": 0.01, "fatol": 1e-7},
    )
    return min(seen, key=lambda point: seen[point])
