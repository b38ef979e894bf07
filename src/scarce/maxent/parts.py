"""What a maxent fit is made of: which classes, which features, coded rows, boxes, problems.

    rows -> axes (knots) -> feature map -> coded rows -> boxes of each labelled class -> solver

Everything here is independent of width_scale, so that a path over widths, and folds over labelled
rows, share it. Does not choose widths (widths.py) nor turn tilts into probabilities (maxent.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import PIECE_ROWS, Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, suggest
from scarce.io.profile import doubtful_columns
from scarce.io.schema import Column
from scarce.maxent.boxed import EmptyBoxes, Solution, minimise
from scarce.maxent.boxes import Boxes, class_boxes
from scarce.maxent.coded import CodedBlock, CodedRows, code_rows, shape_of, weighted_sums
from scarce.maxent.families import Category, Family, Hinge, Linear, Threshold
from scarce.maxent.feature_map import FeatureMap, Lines, Sums
from scarce.maxent.knots import Found, make_axes
from scarce.maxent.row_sample import Labelled, RowSample, labelled_rows, nobody
from scarce.maxent.tilted import Entropy, Robust

FAMILIES: dict[str, Family] = {"l": Linear(), "h": Hinge(), "t": Threshold()}
LETTERS = "lqpht"

# features="auto": classes of features by number of labelled rows, as Maxent has them.
AUTO = ((80.0, "lqph"), (15.0, "lqh"), (10.0, "lq"), (0.0, "l"))
MOST_PRODUCTS = 50  # "auto" leaves products out with more variables: their number is its square


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows, features and boxes, ready to be solved for any width_scale."""

    rows: CodedRows
    space: FeatureMap
    boxes: list[Boxes]
    labelled: list[Labelled]
    sample: RowSample
    letters: str
    every: Sums  # over the pool, with squares
    seen_of_columns: Found  # missing values, quantiles and outliers of each column
    engine: Engine

    def without(self, held_out: NDArray[np.bool_], settings: Any) -> Parts:
        """Return the same with some rows not labelled; they stay in the pool."""
        blocks = []
        for block in self.rows.coded_blocks:
            out = held_out[block.start : block.start + len(block)]
            label = np.where(out, np.nan, block.label)
            blocks.append(
                CodedBlock(block.cells, label, block.weight, block.pool, block.start, block.index)
            )
        rows = CodedRows(blocks, self.rows)
        boxes, labelled = _asked(
            rows, self.space, len(self.boxes), settings, self.every, self.engine
        )
        return replace(self, rows=rows, boxes=boxes, labelled=labelled, sample=RowSample(self.rows))


def prepare(
    rows: Rows,
    label: Array,
    weight: Array,
    pool: Array,
    n_labelled: int,
    settings: Any,
    *,
    categorical: Sequence[int],
    dtype: Any,
) -> Parts:
    """Choose features, code the rows and find the boxes of each labelled class.

    Parameters
    ----------
    rows : Rows
    label : ndarray of shape (n,)
        Position among the labelled classes; NaN = not labelled.
    weight, pool : ndarray of shape (n,)
        As labelled rows, and in the pool.
    n_labelled : int
        Number of labelled classes.
    settings : MaxentClassifier
        Its parameters features, knots, knots_at, spread, widths and engine.
    """
    labelled = ~np.isnan(label)
    found = make_axes(
        rows,
        categorical,
        pool,
        labelled,
        knots=settings.knots,
        knots_at=settings.knots_at,
        engine=settings.engine,
    )
    axes = found.axes
    counts = [float(weight[label == one].sum()) for one in range(n_labelled)]
    families, order, letters = families_of(settings.features, min(counts), len(axes))
    useful = [v for v, axis in enumerate(axes) if not axis.category and not axis.flat]
    pairs = [(v, v) for v in useful] if "q" in order else []
    if "p" in order:
        pairs += [(u, v) for at, u in enumerate(useful) for v in useful[at + 1 :]]
    space = FeatureMap(axes, [*families, Category()], pairs)
    coded = code_rows(rows, space, label, weight, pool, dtype=dtype, engine=settings.engine)
    every = coded.fold(weighted_sums, (shape_of(space), None, True), engine=settings.engine)
    boxes, own = _asked(coded, space, n_labelled, settings, every, settings.engine)
    return Parts(coded, space, boxes, own, RowSample(coded), letters, every, found, settings.engine)


def _asked(
    rows: CodedRows,
    space: FeatureMap,
    n_labelled: int,
    settings: Any,
    every: Sums,
    engine: Engine,
) -> tuple[list[Boxes], list[Labelled]]:
    shape = shape_of(space)
    boxes = [
        class_boxes(
            rows,
            space,
            shape,
            one,
            spread=settings.spread,
            widths=settings.widths,
            every=every,
            engine=engine,
        )
        for one in range(n_labelled)
    ]
    return boxes, [labelled_rows(rows, one) for one in range(n_labelled)]


def families_of(features: Any, n_labelled: float, n_columns: int) -> tuple[list[Family], str, str]:
    """Return families of one variable, the letters of second order, and all letters.

    Examples
    --------
    >>> families_of("auto", 12.0, 3)[2], families_of("hq", 12.0, 3)[1]
    ('lq', 'q')
    """
    if isinstance(features, str) and features == "auto":
        features = next(letters for least, letters in AUTO if n_labelled >= least)
        if n_columns > MOST_PRODUCTS:
            features = features.replace("p", "")
    given = list(features) if isinstance(features, (str, list, tuple)) else []
    families: list[Family] = []
    order = letters = ""
    for one in given:
        if isinstance(one, str) and one in FAMILIES:
            families.append(FAMILIES[one])
        elif isinstance(one, str) and one in ("q", "p"):
            order += one
        elif not isinstance(one, str) and hasattr(one, "forward") and hasattr(one, "adjoint"):
            families.append(one)
        else:
            given = []
            break
        letters += one if isinstance(one, str) else one.letter
    if not given:
        raise UsageError(
            f"features={features!r} is not known.{suggest(str(features), ['auto'])} Give 'auto', "
            f"letters out of {LETTERS!r} (linear, quadratic, product, hinge, threshold) such as "
            "'lqh', or a list of such letters and families of your own."
        )
    return families, order, letters


@dataclass(frozen=True, eq=False)
class Solved:
    """What a fit found, for each labelled class, whichever objective was minimised."""

    coef: Array
    target: Array
    half_width: Array
    lines: list[Lines]
    seen: Array  # the model's weight of the rows that see each feature, as a share
    divergence: Array
    log_partition: Array  # objective "entropy"
    share: Array  # objective "robust": of each class over the pool
    share_others: Array
    shift: Array
    shift_others: Array
    certificate: float
    objective: float
    proves: str
    converged: bool
    passes: int


def solve_all(
    parts: Parts, width_scale: float, start: Array, settings: Any, robust: dict[str, Any] | None
) -> Solved:
    """Solve for all labelled classes at one width_scale."""
    how = {
        "tol": settings.tol,
        "max_passes": settings.max_passes,
        "polish": len(parts.rows) <= PIECE_ROWS,
    }
    none = np.zeros(0)
    if robust is None:
        solved = solve_entropy(parts, width_scale, start, **how)
        ends = [solution for _, solution in solved]
        value = np.array([end.look.value for end in ends])
        worst = max(ends, key=lambda end: end.certificate)
        return Solved(
            np.concatenate([end.coef for end in ends]),
            np.concatenate([problem.target for problem, _ in solved]),
            np.concatenate([problem.half_width for problem, _ in solved]),
            [problem.lines(end.coef)[0] for problem, end in solved],
            np.concatenate([end.look.seen for end in ends]),
            np.maximum(-value, 0.0),
            value,
            none,
            none,
            none,
            none,
            worst.certificate,
            float(value.sum()),
            worst.proves,
            all(end.converged for end in ends),
            sum(end.passes for end in ends),
        )
    problem, end = solve_robust(parts, width_scale, start, robust, **how)
    n, own = parts.space.n_features, len(parts.boxes)
    shares, divergence = problem.class_shares(end.coef)
    shift = end.coef[:, n] if problem.bounded else np.zeros(len(end.coef))
    others = robust["others"]
    free_share = others / max(float(others.sum()), 1e-300) * (1.0 - shares.sum())
    bounded = len(end.coef) > own
    with np.errstate(invalid="ignore"):
        seen = end.look.seen[:own, :n] / shares[:own, None]
    return Solved(
        end.coef[:own, :n],
        problem.target[:own, :n],
        problem.half_width[:own, :n],
        problem.params(end.coef)[1][:own],
        seen,
        divergence[:own],
        none,
        shares[:own],
        shares[own:] if bounded else free_share,
        shift[:own],
        shift[own:] if bounded else np.zeros(len(others)),
        end.certificate,
        end.look.value,
        end.proves,
        end.converged,
        end.passes,
    )


def solve_entropy(
    parts: Parts,
    width_scale: float,
    start: Array,
    *,
    tol: float,
    max_passes: int,
    polish: bool = False,
) -> list[tuple[Entropy, Solution]]:
    """Solve each labelled class by itself (000 eq 7)."""
    out = []
    for of_class, (boxes, labelled) in enumerate(zip(parts.boxes, parts.labelled, strict=True)):
        problem = Entropy(
            parts.rows,
            parts.space,
            [boxes],
            [labelled],
            parts.sample if len(parts.boxes) == 1 else RowSample(parts.rows),
            width_scale,
            engine=parts.engine,
        )
        begin = start[of_class : of_class + 1]
        end = minimise(problem, begin, tol=tol, max_passes=max_passes, polish=polish)
        out.append((problem, end))
    return out


def solve_robust(
    parts: Parts,
    width_scale: float,
    start: Array,
    robust: dict[str, Any],
    *,
    tol: float,
    max_passes: int,
    polish: bool = False,
) -> tuple[Robust, Solution]:
    """Solve all classes together (000 eq 10).

    With bounds on class shares, classes without labels take part too, with no boxes but their own
    share's.
    """
    boxes, labelled = list(parts.boxes), list(parts.labelled)
    default, others, bounds = robust["default"], robust["others"], None
    if robust["bounds"] is not None:
        bounds = np.concatenate(robust["bounds"])
        n = parts.space.n_features
        boxes += [Boxes(np.zeros(n), np.ones(n), np.full(n, np.inf), np.zeros(n), 0.0)] * len(
            others
        )
        labelled += [nobody(parts.labelled[0])] * len(others)
        default, others = np.concatenate([default, others]), np.zeros(0)
    problem = Robust(
        parts.rows,
        parts.space,
        boxes,
        labelled,
        parts.sample,
        width_scale,
        default=default,
        free=float(others.sum()),
        bounds=bounds,
        engine=parts.engine,
    )
    begin = problem.fitted(start)
    return problem, minimise(problem, begin, tol=tol, max_passes=max_passes, polish=polish)


def explain_empty(
    parts: Parts, error: EmptyBoxes, names: Sequence[Any], settings: Any, robust: Any
) -> DataError:
    """Say which boxes contradict each other, and a width at which they do not."""
    coef = np.abs(error.coef[: len(parts.boxes), : parts.space.n_features])
    push = coef * np.array([box.spread for box in parts.boxes])
    feature_names = parts.space.names
    listed = []
    for place in np.argsort(push, axis=None)[::-1][:3]:
        of_class, feature = np.unravel_index(place, push.shape)
        listed.append(f"{feature_names[feature]} of class {names[of_class]}")
    width = wider = settings.width_scale_
    works = ""
    for _ in range(16):
        wider = 1.5 * max(wider, 0.05)
        try:
            solve_all(parts, wider, np.zeros_like(coef), settings, robust)
        except EmptyBoxes:
            continue
        works = f" width_scale={wider:.3g} works."
        break
    return DataError(
        f"No class probabilities meet all boxes at width_scale={width:g}: where every class has "
        "labels or bounds, the classes' means of a feature must mix to the mean of all rows, and "
        f"these cannot (most opposed: {', '.join(listed)}). Widen the boxes.{works} Or name a "
        "class without labels in classes=, or use objective='entropy'."
    )


def remarks(parts: Parts, solved: Solved, model: Any) -> list[str]:
    """Return what the reader of a report should know."""
    out = []
    names = [axis.name for axis in parts.space.axes]
    if not solved.converged:
        out.append(
            f"Stopped after pass {solved.passes} with {solved.proves} {solved.certificate:.2g} "
            f"(asked: {model.tol:g}). Raise max_passes, or widen the boxes by width_scale."
        )
    flat = [axis.name for axis in parts.space.axes if axis.flat]
    if flat:
        out.append(f"Columns with a single value or none carry nothing: {_some(flat)}.")
    out += _outliers(parts.seen_of_columns, model.knots_at)
    if not model.is_labelled_.all():
        out += doubtful_columns(
            model.column_profile_,
            [
                Column(axis.name, "category" if axis.category else "number")
                for axis in parts.space.axes
            ],
            places=True,
        )
    variable, pairs = parts.space.variable_of, parts.space.pairs
    for of_class, (label, boxes) in enumerate(
        zip(model.classes_[model.is_labelled_].tolist(), parts.boxes, strict=True)
    ):
        unseen = np.isinf(boxes.unit)
        lost = sorted({names[v] for v in variable[unseen] if v >= 0})
        if lost:
            out.append(f"No labelled row of class {label} has a value of {_some(lost)}: left out.")
        elif unseen.any():
            u, v = pairs[np.flatnonzero(unseen)[0] - parts.space.first_pair]
            out.append(
                f"No labelled row of class {label} has values of both {names[u]} and {names[v]}: "
                f"{int(unseen.sum())} products are left out."
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(boxes.seen > 0, solved.seen[of_class] / boxes.seen, 1.0)
        thin = np.flatnonzero((ratio < 0.5) & (variable >= 0))
        if len(thin):
            column = names[variable[thin[0]]]
            out.append(
                f"Class {label}: {column} is seen in {boxes.seen[thin[0]]:.0%} of the labelled "
                f"rows, but in {solved.seen[of_class][thin[0]]:.0%} of what the model expects: it "
                "moved weight to rows where it is missing. Widen the boxes, or drop the column."
            )
        if boxes.n < 10:
            out.append(f"Class {label} has only {boxes.n:g} labelled rows.")
    if model.selection_ is not None and model.selection_.at_edge:
        out.append(
            f"width_scale {model.width_scale_:.3g} is at the edge of width_scales: try more beyond."
        )
    return out + _level(model)


def _level(model: Any) -> list[str]:
    """Say that class shares were assumed, where the user did not state them."""
    assumed = model.class_prior_from_ == "assumed" and model.prevalence_bounds is None
    if not isinstance(model.default_prevalence, str) or not assumed:
        return []
    shares = dict(zip(model.classes_.tolist(), model.class_prior_.tolist(), strict=True))
    if model.is_labelled_.sum() == 1:
        label = model.classes_[model.is_labelled_].tolist()[0]
        return [
            f"Labels of {label!s} alone cannot tell how common it is: the level of the "
            f"probabilities rests on default_prevalence=0.5, a share of {shares[label]:.3g}. Pass "
            "prevalence= where the share is known; density_ratio does not depend on it."
        ]
    listed = ", ".join(f"{name!s} {share:.3g}" for name, share in shares.items())
    return [
        f"Not every row is labelled, and classes may be labelled at different rates: the class "
        f"shares ({listed}) rest on default_prevalence=0.5, not on the numbers of labels. Pass "
        "prevalence= where the shares are known, or where rows were labelled at random."
    ]


def _outliers(found: Found, knots_at: str) -> list[str]:
    """Point out columns with values far from the rest."""
    if not found.far:
        return []
    one = found.far[0]
    more = f" So have {_some([each.name for each in found.far[1:]])}." if found.far[1:] else ""
    effect = "They count as nearer than they are"
    if knots_at == "uniform":
        effect = "They stretch the even knots, which flattens the variable: use knots_at='quantile'"
    return [
        f"Column {one.name!r} has values far from the rest, such as {one.value:.6g}, where far "
        f"begins at {one.low:.6g} and {one.high:.6g}.{more} {effect}; where they stand for missing "
        "values, make them NaN."
    ]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more


def categorical_columns(given: Any, rows: Rows, named: Sequence[Any]) -> list[int]:
    """Return the positions of the columns that are categories.

    Parameters
    ----------
    given : "auto", None, or a sequence of names or positions
    rows : Rows
        Whose schema may say so.
    named : sequence
        Column names as the user knows them, where there are any.
    """
    own = [at for at, column in enumerate(rows.schema.columns) if column.kind == "category"]
    if given is None or (isinstance(given, str) and given == "auto"):
        return own
    names = list(named) if len(named) else []
    chosen = set(own)
    listed = list(given) if isinstance(given, (list, tuple, set, np.ndarray)) else [given]
    for one in listed:
        if one in names:
            chosen.add(names.index(one))
        elif (
            isinstance(one, (int, np.integer))
            and not isinstance(one, bool)
            and 0 <= one < rows.n_columns
        ):
            chosen.add(int(one))
        else:
            known = ", ".join(map(repr, names[:8])) or f"0 to {rows.n_columns - 1}"
            raise UsageError(
                f"categorical names {one!r}, which is no column."
                f"{suggest(str(one), map(str, names))} Columns are {known}."
            )
    return sorted(chosen)
