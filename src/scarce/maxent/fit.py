"""One maxent fit: from rows to coded rows and boxes, and from these to coefficients.

    rows -> axes (knots) -> feature map -> coded rows (and factors that are missing)
         -> boxes of each labelled class -> solver

`FitData` does not depend on width_scale, so a path over widths and the folds over labelled rows
share it. Does not choose widths (widths.py) and does not turn tilts into probabilities
(classifier.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scarce.engine.block import PIECE_ROWS, Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, Problem, listed
from scarce.maxent.axes import ColumnAxes, Outlier, make_axes
from scarce.maxent.boxes import Boxes, class_boxes
from scarce.maxent.coded import (
    CodedBlock,
    CodedRows,
    Labelled,
    RowSample,
    code_rows,
    labelled_rows,
    no_labelled_rows,
    shape_of,
    weighted_sums,
)
from scarce.maxent.factors import complete_factors, fill_rows, fit_factors
from scarce.maxent.feature_map import FeatureMap, Lines, Sums, choose_families, feature_map
from scarce.maxent.problems import EntropyProblem, ProblemData, RobustProblem
from scarce.maxent.solver import InfeasibleBoxes, Solution, minimise
from scarce.missing.front import Front

NONE = np.zeros(0)


@dataclass(frozen=True)
class FitSettings:
    """The parameters of `MaxentClassifier` that features, boxes and solver depend on."""

    features: object = "auto"
    products: str = "expected"
    knots: int = 50
    knots_at: str = "quantile"
    spread: str = "shrunk"
    widths: str = "spread"
    tol: float = 1e-6
    max_passes: int = 200


@dataclass(frozen=True, eq=False)
class ClassShares:
    """What the robust problem knows of the classes, those with and those without labels.

    Parameters
    ----------
    labelled, others : ndarray
        Default shares.
    bounds : pair of ndarray of shape (classes, 2), optional
        Bounds on the shares of both groups.
    """

    labelled: Array
    others: Array
    bounds: tuple[Array, Array] | None = None


@dataclass(frozen=True, eq=False)
class FitData(ProblemData):
    """Rows, features and boxes of all labelled classes, with what is known of the columns."""

    letters: str
    pool: Sums  # over the pool, with squares
    columns: ColumnAxes
    settings: FitSettings
    front: Front | None  # of the factors of products

    def without(self, held_out: NDArray[np.bool_]) -> FitData:
        """Return the same with some rows not labelled; they stay in the pool."""
        blocks = []
        for block in self.rows.coded_blocks:
            out = held_out[block.start : block.start + len(block)]
            label = np.where(out, np.nan, block.label)
            blocks.append(
                CodedBlock(block.cells, label, block.weight, block.pool, block.start, block.index)
            )
        rows = CodedRows(blocks, self.rows)
        boxes, labelled = _constraints(
            rows, self.space, len(self.boxes), self.pool, self.settings, self.engine
        )
        return replace(self, rows=rows, boxes=boxes, labelled=labelled, sample=RowSample(self.rows))


def prepare(
    rows: Rows,
    label: Array,
    weight: Array,
    pool: Array,
    n_labelled: int,
    settings: FitSettings,
    *,
    categorical: Sequence[int],
    dtype: DTypeLike,
    weight_kind: str = "frequency",
    engine: Engine = None,
) -> FitData:
    """Choose features, code the rows and compute the boxes of each labelled class.

    Parameters
    ----------
    rows : Rows
    label : ndarray of shape (n,)
        Position among the labelled classes; NaN = not labelled.
    weight, pool : ndarray of shape (n,)
        Weights as labelled rows, and in the pool.
    n_labelled : int
        Number of labelled classes.
    settings : FitSettings
    categorical : sequence of int
        Positions of the columns that are categories.
    dtype : dtype
        Precision of the coded rows.
    weight_kind : {"frequency", "survey"}
        Whether weights are numbers of rows.
    engine : engine, optional
    """
    columns = make_axes(
        rows,
        categorical,
        pool,
        ~np.isnan(label),
        knots=settings.knots,
        knots_at=settings.knots_at,
        engine=engine,
    )
    counts = [float(weight[label == one].sum()) for one in range(n_labelled)]
    families, second, letters = choose_families(settings.features, min(counts), len(columns.axes))
    expected = settings.products == "expected"
    space = feature_map(columns.axes, families, second, expected=expected)
    coded = code_rows(rows, space, label, weight, pool, dtype=dtype, engine=engine)
    total = float(weight.sum()) if weight_kind == "frequency" else float((weight > 0).sum())
    front = None
    if space.expected and columns.missing.any():
        front = fit_factors(coded, space, total)
        fill_rows(coded, space, front)
    sums = coded.fold(weighted_sums, (shape_of(space), None, True), engine=engine)
    if space.expected and front is None:
        front = complete_factors(space, sums, total)
    boxes, own = _constraints(coded, space, n_labelled, sums, settings, engine)
    known = (letters, sums, columns, settings, front)
    return FitData(coded, space, boxes, own, RowSample(coded), engine, *known)


def _constraints(
    rows: CodedRows,
    space: FeatureMap,
    n_labelled: int,
    pool: Sums,
    settings: FitSettings,
    engine: Engine,
) -> tuple[list[Boxes], list[Labelled]]:
    """Return the boxes and the labelled rows of each labelled class."""
    boxes = [
        class_boxes(
            rows,
            space,
            shape_of(space),
            one,
            spread=settings.spread,
            widths=settings.widths,
            every=pool,
            engine=engine,
        )
        for one in range(n_labelled)
    ]
    return boxes, [labelled_rows(rows, one) for one in range(n_labelled)]


@dataclass(frozen=True, eq=False)
class Solved:
    """The result of a fit for each labelled class, with either objective.

    `log_partition` belongs to objective "entropy"; shares over the pool and shifts of the scores,
    of classes with labels and of the others, to "robust".
    """

    coef: Array
    target: Array
    half_width: Array
    lines: list[Lines]
    seen: Array  # the model's weight of the rows that see each feature, as a share
    divergence: Array
    certificate: float
    objective: float
    proves: str
    converged: bool
    passes: int
    log_partition: Array = field(default_factory=lambda: NONE)
    share: Array = field(default_factory=lambda: NONE)
    share_others: Array = field(default_factory=lambda: NONE)
    shift: Array = field(default_factory=lambda: NONE)
    shift_others: Array = field(default_factory=lambda: NONE)


def solve(data: FitData, width_scale: float, start: Array, robust: ClassShares | None) -> Solved:
    """Solve for all labelled classes at one width_scale; robust=None is objective "entropy"."""
    polish = len(data.rows) <= PIECE_ROWS
    if robust is None:
        return _joined_entropy(solve_entropy(data, width_scale, start, polish=polish))
    problem, end = solve_robust(data, width_scale, start, robust, polish=polish)
    n, own = data.space.n_features, len(data.boxes)
    shares, divergence = problem.class_shares(end.coef)
    shift = end.coef[:, n] if problem.bounded else np.zeros(len(end.coef))
    others = robust.others
    free_share = others / max(float(others.sum()), 1e-300) * (1.0 - shares.sum())
    bounded = len(end.coef) > own
    with np.errstate(invalid="ignore"):
        seen = end.result.seen[:own, :n] / shares[:own, None]
    return Solved(
        coef=end.coef[:own, :n],
        target=problem.target[:own, :n],
        half_width=problem.half_width[:own, :n],
        lines=problem.params(end.coef)[1][:own],
        seen=seen,
        divergence=divergence[:own],
        share=shares[:own],
        share_others=shares[own:] if bounded else free_share,
        shift=shift[:own],
        shift_others=shift[own:] if bounded else np.zeros(len(others)),
        certificate=end.certificate,
        objective=end.result.value,
        proves=end.proves,
        converged=end.converged,
        passes=end.passes,
    )


def _joined_entropy(solved: list[tuple[EntropyProblem, Solution]]) -> Solved:
    """Join the solutions of all labelled classes; the worst certificate counts."""
    ends = [end for _, end in solved]
    value = np.array([end.result.value for end in ends])
    worst = max(ends, key=lambda end: end.certificate)
    return Solved(
        coef=np.concatenate([end.coef for end in ends]),
        target=np.concatenate([problem.target for problem, _ in solved]),
        half_width=np.concatenate([problem.half_width for problem, _ in solved]),
        lines=[problem.lines(end.coef)[0] for problem, end in solved],
        seen=np.concatenate([end.result.seen for end in ends]),
        divergence=np.maximum(-value, 0.0),
        log_partition=value,
        certificate=worst.certificate,
        objective=float(value.sum()),
        proves=worst.proves,
        converged=all(end.converged for end in ends),
        passes=sum(end.passes for end in ends),
    )


def solve_entropy(
    data: FitData,
    width_scale: float,
    start: Array,
    *,
    tol: float | None = None,
    polish: bool = False,
) -> list[tuple[EntropyProblem, Solution]]:
    """Solve each labelled class by itself (000 eq 7), to the settings' tol unless one is given."""
    out = []
    for of_class, (boxes, labelled) in enumerate(zip(data.boxes, data.labelled, strict=True)):
        sample = data.sample if len(data.boxes) == 1 else RowSample(data.rows)
        one = replace(data, boxes=[boxes], labelled=[labelled], sample=sample)
        problem = EntropyProblem(one, width_scale)
        begin = start[of_class : of_class + 1]
        out.append((problem, _minimise(data, problem, begin, tol=tol, polish=polish)))
    return out


def solve_robust(
    data: FitData,
    width_scale: float,
    start: Array,
    robust: ClassShares,
    *,
    tol: float | None = None,
    polish: bool = False,
) -> tuple[RobustProblem, Solution]:
    """Solve all classes together (000 eq 10).

    With bounds on class shares, classes without labels take part too: their only box is the one
    around their share.
    """
    boxes, labelled = list(data.boxes), list(data.labelled)
    default, others, bounds = robust.labelled, robust.others, None
    if robust.bounds is not None:
        bounds = np.concatenate(robust.bounds)
        n = data.space.n_features
        none = Boxes(np.zeros(n), np.ones(n), np.full(n, np.inf), np.zeros(n), 0.0)
        boxes += [none] * len(others)
        labelled += [no_labelled_rows(data.labelled[0])] * len(others)
        default, others = np.concatenate([default, others]), NONE
    every = replace(data, boxes=boxes, labelled=labelled)
    free = float(others.sum())
    problem = RobustProblem(every, width_scale, default=default, free=free, bounds=bounds)
    return problem, _minimise(data, problem, problem.padded(start), tol=tol, polish=polish)


def _minimise(
    data: FitData,
    problem: EntropyProblem | RobustProblem,
    start: Array,
    *,
    tol: float | None,
    polish: bool,
) -> Solution:
    how = partial(minimise, problem, start, max_passes=data.settings.max_passes, polish=polish)
    return how(tol=data.settings.tol if tol is None else tol)


def feasible_width(data: FitData, width_scale: float, robust: ClassShares | None) -> float | None:
    """Return the first of 16 wider boxes, each half as wide again, that do not conflict."""
    start, wider = np.zeros((len(data.boxes), data.space.n_features)), width_scale
    for _ in range(16):
        wider = float(f"{1.5 * max(wider, 0.05):.3g}")
        try:
            solve(data, wider, start, robust)
        except InfeasibleBoxes:
            continue
        return wider
    return None


def explain_infeasible(
    data: FitData,
    error: InfeasibleBoxes,
    width_scale: float,
    classes: Sequence[object],
    works: float | None,
) -> DataError:
    """Return an error that names the boxes in conflict, and a width without conflict if found."""
    coef = np.abs(error.coef[: len(data.boxes), : data.space.n_features])
    push = coef * np.array([box.deviation for box in data.boxes])
    names = data.space.names
    worst = []
    for place in np.argsort(push, axis=None)[::-1][:3]:
        of_class, feature = np.unravel_index(place, push.shape)
        worst.append(f"{names[feature]} of class {classes[of_class]}")
    return DataError(
        "No class probabilities meet all boxes at {width}. If every class has labels or bounds, "
        "the class means of a feature must average to its mean over all rows; these conflict most: "
        "{worst}.",
        code="infeasible-boxes",
        width=Argument("width_scale", width_scale),
        worst=", ".join(worst),
        works=Argument("width_scale", ... if works is None else works),
        classes=Argument("classes"),
        entropy=Argument("objective", "entropy"),
        remedy=[
            "Widen the boxes with {works}." if works is None else "{works} works.",
            "Or name a class without labels in {classes}.",
            "Or use {entropy}.",
        ],
    )


# --- remarks --------------------------------------------------------------------------------------


def some(names: Sequence[str]) -> str:
    """Return the first few names."""
    return listed([repr(name) for name in names], most=5)


def outlier_remark(outliers: list[Outlier], knots_at: str) -> list[str]:
    """Return a remark on columns with values far from the rest."""
    if not outliers:
        return []
    one, *more = outliers
    remedy = [
        "They count as nearer than they are; if they stand for missing values, make them NaN."
    ]
    if knots_at == "uniform":
        remedy = [
            "They stretch the even knots, which flattens the variable: use {knots}.",
            "If they stand for missing values, make them NaN.",
        ]
    return [
        Problem(
            "Column {column!r} has values far from the rest, such as {value:.6g}; nearly all lie "
            "between {low:.6g} and {high:.6g}.{more}",
            code="outliers",
            column=one.column,
            value=one.value,
            low=one.low,
            high=one.high,
            more=f" So have {some([each.column for each in more])}." if more else "",
            knots=Argument("knots_at", "quantile"),
            remedy=remedy,
        )
    ]


def class_remarks(data: FitData, solved: Solved, at: int, label: str) -> list[str]:
    """Return remarks on features that a class does not see or rarely sees, and on few labels."""
    out: list[str] = []
    boxes, space = data.boxes[at], data.space
    names = [axis.name for axis in space.axes]
    unseen = np.isinf(boxes.unit)
    lost = sorted({names[v] for v in space.variable_of[unseen] if v >= 0})
    if lost:
        out.append(
            Problem(
                "No labelled row of class {label} has a value of {columns}: left out.",
                code="unseen-columns",
                label=label,
                columns=some(lost),
            )
        )
    elif unseen.any():
        u, v = space.pairs[np.flatnonzero(unseen)[0] - space.first_pair]
        out.append(
            Problem(
                "No labelled row of class {label} has values of both {one} and {other}: {count} "
                "products are left out.",
                code="unseen-products",
                label=label,
                one=names[u],
                other=names[v],
                count=int(unseen.sum()),
            )
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(boxes.seen > 0, solved.seen[at] / boxes.seen, 1.0)
    thin = np.flatnonzero((ratio < 0.5) & (space.variable_of >= 0))
    if len(thin):
        out.append(
            Problem(
                "Class {label}: {column} has a value in {labelled:.0%} of the labelled rows, but "
                "in only {model:.0%} of what the model expects: weight moved to rows where it is "
                "missing.",
                code="weight-on-missing-values",
                label=label,
                column=names[space.variable_of[thin[0]]],
                labelled=float(boxes.seen[thin[0]]),
                model=float(solved.seen[at][thin[0]]),
                remedy="Widen the boxes, or drop the column.",
            )
        )
    if boxes.n < 10:
        out.append(
            Problem(
                "Class {label} has only {count:g} labelled rows.",
                code="few-labelled-rows",
                label=label,
                count=boxes.n,
            )
        )
    return out
