"""Which shape and which ridge? Those that predict best on rows the fit has not seen.

    score(shape, ridge) = mean over held-out rows of (prob - y)^2, or log loss, or calibration loss

The whole grid is solved together per fold (solvers/grid.py), and the logistic loss with it, so that
the gain over plain logistic regression comes with its standard error over the held-out rows.
Assumes rows are exchangeable: folds are random within each class, not in time or space. Does not
say that the best of many is as good as it looks: `Selection` shows the spread over folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from scarce.errors import DataError, UsageError, refuse_word
from scarce.losses import loss_of
from scarce.records import Selection
from scarce.rows import Block, Rows
from scarce.rows.block import Array
from scarce.rows.engines import Engine
from scarce.solvers.grid import distinct, polish, solve_grid, training_part
from scarce.solvers.linear import Look, labelled
from scarce.solvers.regress import Setting, regress, smooth

PAPER_SHAPES = tuple(
    [-1.0, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2567, -0.2, -0.1, 0.0]
    + [round(0.1 * j, 1) for j in range(1, 16)]
)
PAPER_RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
FLOORS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
SCORES = ("brier", "log_loss", "calibration")
Progress = Callable[[int, int], None]


class Held(NamedTuple):
    """Sums over held-out rows, one entry per model, of the score that was asked for."""

    weight: float
    brier: Array
    log_loss: Array
    bins: Array  # (models, 10, 4): weight, prob, prob^2, y


@dataclass(frozen=True)
class Candidates:
    """What is tried: losses with their shapes, at every ridge."""

    name: str
    shapes: tuple[float, ...]
    ridges: tuple[float, ...]

    @property
    def losses(self) -> list[Any]:
        """One loss per shape."""
        if not self.name.startswith("gev"):
            return [loss_of(self.name)]
        return [loss_of(self.name, shape) for shape in self.shapes]


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
    """

    by: str
    cv: Any
    floor: float
    seed: int


Fold = tuple[Any, int]  # number of each row's part, -1 for rows without use; the part held out


def folds_of(rows: Rows, look: Look, plan: Plan, engine: Engine) -> list[Fold]:
    """Return the parts to hold out in turn: random within each class, or as the user says."""
    refuse_word("select_by", plan.by, SCORES)
    codes = rows.map(_codes, None, engine=engine)
    if isinstance(plan.cv, bool) or not isinstance(plan.cv, (int, float, np.number)):
        return _given_folds(plan.cv, codes)
    cv = float(plan.cv)
    if not (cv >= 2 and cv == int(cv) and cv <= 100) and not 0 < cv < 1:
        raise UsageError(
            f"cv={plan.cv!r}: give a whole number of folds from 2 to 100, the share of rows to "
            "validate on, such as 0.3, or a splitter of scikit-learn."
        )
    fewest = int(look.count.min())
    if fewest < 2:
        label = rows.classes[int(look.count.argmin())]
        raise DataError(
            f"Class {label!s} has {fewest} labelled row, and choosing shape and ridge needs at "
            "least 2 of each class, one to fit and one to judge. Pass shape= and ridge= as "
            "numbers, or label more rows."
        )
    ids = np.full(len(rows), -1, dtype=np.int8)
    number = int(min(cv, fewest)) if cv >= 1 else 2
    rng = np.random.default_rng(plan.seed)
    for label in (0, 1):
        own = np.flatnonzero(codes == label)
        if cv >= 1:
            parts = np.arange(len(own)) % number
        else:
            held = min(max(round(cv * len(own)), 1), len(own) - 1)
            parts = (np.arange(len(own)) < held).astype(np.int64)
        ids[own] = rng.permutation(parts)
    return [(ids, part) for part in (range(number) if cv >= 1 else [1])]


def _given_folds(cv: Any, codes: Any) -> list[Fold]:
    """Return the folds of a splitter or of pairs (train, test); each needs both classes."""
    known = np.arange(len(codes))
    if isinstance(cv, str):
        raise UsageError(f"cv={cv!r}: give a number of folds such as 5, or a share such as 0.3.")
    if hasattr(cv, "split"):  # a splitter sees the rows that count, and numbers those
        known = np.flatnonzero(codes >= 0)
        pairs = cv.split(np.zeros((len(known), 1)), codes[known])
    else:
        pairs = cv
    folds: list[Fold] = []
    try:
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
    for number, (ids, _) in enumerate(folds):
        if len(np.unique(codes[ids == 0])) < 2 or not (ids == 1).any():
            raise DataError(
                f"Fold {number + 1} of cv has training rows of one class only, or nothing to "
                "judge by. Pass a stratified splitter, or cv=5."
            )
    if not folds:
        raise UsageError("cv holds no pair (train, test): pass cv=5, or a splitter.")
    return folds


def _codes(block: Block, _: None) -> Any:
    y, weight = labelled(block, True)
    assert weight is not None
    return np.where(weight > 0, y, -1).astype(np.int8)


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
) -> tuple[Selection, float]:
    """Choose shape and ridge; return the choice and the floor that cross-validation asks for."""
    folds = folds_of(rows, look, plan, engine)
    steps = _Steps(progress, 2 * len(folds))
    losses = candidates.losses
    compare = candidates.name != "logistic"
    every = [*losses, loss_of("logistic")] if compare else losses
    answers, tables, weights = [], [], []
    for fold in folds:
        coef = _fit(rows, look, every, candidates.ridges, setting, plan, fold, engine)
        steps.one()
        table, weight = _judge(rows, look, every, coef, plan, fold, engine)
        answers.append(coef)
        tables.append(table)
        weights.append(weight)
        steps.one()
    scores = np.array(tables)
    mean = np.average(scores, axis=0, weights=weights)
    own = mean[: len(losses)]
    best, ridge = (int(i) for i in np.unravel_index(int(np.argmin(own)), own.shape))
    shape = candidates.shapes[best]
    if continuous:
        shape, ridge_value, models, score = _refine(
            rows, look, candidates, setting, plan, folds, engine, (best, ridge)
        )
    else:
        ridge_value, score = candidates.ridges[ridge], float(own[best, ridge])
        models = [(losses[best], coef[best, ridge]) for coef in answers]
    gain, error, other, floor = 0.0, 0.0, score, plan.floor
    rivals = None
    if compare:
        plain = int(np.argmin(mean[-1]))
        other = float(mean[-1, plain])
        rivals = [(every[-1], coef[-1, plain]) for coef in answers]
    sums = []
    for i, fold in enumerate(folds):
        params = (models[i], rivals and rivals[i], fold, plan, look.prevalence)
        sums.append(rows.fold(paired, params, engine=engine))
    total = [np.sum([part[j] for part in sums], axis=0) for j in range(4)]
    if compare:
        gain = float(total[1] / total[0])
        spread = max(float(total[2] / total[0]) - gain**2, 0.0)
        judged = sum(int(np.count_nonzero(ids == part)) for ids, part in folds)
        error = float(np.sqrt(spread / judged))
        if plan.by == "calibration":  # not a mean over rows: the spread over folds must do
            per_fold = scores[:, -1, plain] - scores[:, best, ridge]
            gain = other - score
            error = float(per_fold.std(ddof=1) / np.sqrt(len(folds))) if len(folds) > 1 else np.nan
    if plan.floor > 0:
        floor = max(plan.floor, FLOORS[int(np.argmin(total[3]))])
    by_fold = scores[:, : len(losses)].min(axis=2).argmin(axis=1)
    return Selection(
        plan.by,
        np.array(candidates.shapes),
        np.array(candidates.ridges),
        scores[:, : len(losses)],
        np.array(weights),
        float(shape),
        float(ridge_value),
        float(score),
        "logistic" if compare else "",
        other,
        gain,
        error,
        np.array(candidates.shapes)[by_fold],
    ), float(floor)


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
    engine: Engine,
) -> Array:
    """Return the coefficients of every loss and ridge, fitted without one fold."""
    part = training_part(rows, look, *fold, engine, plan.seed)
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
    from scarce.rows import ArrayRows

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
                number = np.clip(np.ceil(prob * 10).astype(np.intp) - 1, 0, 9)
                for j, value in enumerate((weight, weight * prob, weight * prob**2, weight * y)):
                    bins[i, :, j] += np.bincount(number, value, minlength=10)
                continue
            sums = brier if by == "brier" else logs
            sums[i] += weight @ _row_score(prob, y, by)
    return Held(total, brier, logs, bins)


def paired(block: Block, params: tuple[Any, ...]) -> tuple[float, float, float, Array]:
    """Kernel: weight, sum and squares of the gain over a rival, and log loss at each floor."""
    model, rival, fold, plan, prevalence = params
    total, first, second, logs = 0.0, 0.0, 0.0, np.zeros(len(FLOORS))
    for piece in block.pieces():
        X, y, weight = _held_rows(piece, fold)
        total += float(weight.sum())
        raw = [one[0].link.inverse(X @ one[1][:-1] + one[1][-1]) for one in (model, rival) if one]
        if rival:
            each = [
                _row_score(mixed(p, plan.floor if i == 0 else 0.0, prevalence), y, plan.by)
                for i, p in enumerate(raw)
            ]
            gain = each[1] - each[0]
            first += float(weight @ gain)
            second += float(weight @ gain**2)
        for i, floor in enumerate(FLOORS):
            logs[i] += weight @ _row_score(mixed(raw[0], floor, prevalence), y, "log_loss")
    return total, first, second, logs


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
    folds: list[Fold],
    engine: Engine,
    best: tuple[int, int],
) -> tuple[float, float, list[Any], float]:
    """Search between the points of the grid, around its best, with the same folds."""
    lowest, highest = min(candidates.shapes), max(candidates.shapes)
    fixed = candidates.ridges[0] if len(candidates.ridges) == 1 else None  # may be 0: no logarithm
    ends = (0.0, 0.0)
    if fixed is None:
        ends = float(np.log10(min(candidates.ridges))), float(np.log10(max(candidates.ridges)))
    seen: dict[tuple[float, float], tuple[float, list[Any]]] = {}

    def score(point: Array) -> float:
        shape = float(np.clip(point[0], lowest, highest))
        ridge = float(10 ** np.clip(point[1], *ends)) if fixed is None else fixed
        if (shape, ridge) not in seen:
            loss = Candidates(candidates.name, (shape,), (ridge,)).losses[0]
            models, total, weights = [], 0.0, 0.0
            for fold in folds:
                coef = _fit(rows, look, [loss], [ridge], setting, plan, fold, engine)
                table, weight = _judge(rows, look, [loss], coef, plan, fold, engine)
                total, weights = total + weight * float(table[0, 0]), weights + weight
                models.append((loss, coef[0, 0]))
            seen[shape, ridge] = total / weights, models
        return seen[shape, ridge][0]

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
    (shape, ridge), (value, models) = min(seen.items(), key=lambda item: item[1][0])
    return shape, ridge, models, value
