"""How sure are the coefficients and probabilities of a RareClassifier?

    covariance = H^-1                    for log losses, H the curvature with the penalty
    covariance = H^-1 (sum_i s_i slope_i^2 x_i x_i') H^-1      for the GEV-canonical loss (sandwich)
                 with s_i^2 for survey weights, whatever the loss

Wald intervals come from there; profile likelihood and Laplace intervals of logistic regression come
from intervals.py. Assumes that shape and ridge were fixed beforehand. A tuned fit gets no interval:
the shrinkage that tuning adds is not in the width, and such intervals covered .73 to .84 where .90
was promised (docs/guide/intervals.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.io.inputs import rows_to_predict
from scarce.linear.firth import FirthFit, fit_firth
from scarce.linear.intervals import Interval, laplace_interval, profile_interval
from scarce.linear.links import Logit
from scarce.linear.losses import CanonicalLoss
from scarce.linear.newton import Frame, Solution, Task, append_rows
from scarce.linear.regress import Regression, Setting
from scarce.linear.selection import mixed
from scarce.linear.settings import finite_vector
from scarce.linear.sums import Look, counting, labelled, piece_rows, weighted_gram
from scarce.results import short

MOST_KEPT = 1_000_000  # values of the training rows that a model keeps for its intervals: 8 MB
INSTEAD = (
    "Fit RareClassifier('logistic', ridge=0, bias_reduction='flic') on the same rows: its intervals"
    " keep what they promise."
)


def covariance(rows: Rows, task: Task, coef: Array, survey: bool, engine: Engine) -> Array:
    """Return the covariance of [coef, intercept]; 0 for what was not fitted."""
    canonical = isinstance(task.loss, CanonicalLoss) and not isinstance(task.loss.link, Logit)
    gram = task.sums(rows, coef, True, engine).gram
    frame = Frame(task, coef)
    inverse = np.linalg.pinv(frame.hessian(gram), hermitian=True)
    if canonical or survey:
        gaps = task.look.unlabelled > 0
        params = (task.loss, coef[:-1].copy(), float(coef[-1]), gaps, survey)
        squares = rows.fold(squared_slopes, params, engine=engine)
        if survey:  # a weight is no count: each row is one observation
            n = float(task.look.count.sum())
            squares *= n / max(n - 1.0, 1.0)
        inverse = inverse @ (frame.T.T @ squares @ frame.T) @ inverse
    return np.asarray(frame.T @ inverse @ frame.T.T)


def squared_slopes(block: Block, params: tuple[Any, Array, float, bool, bool]) -> Array:
    """Kernel: sum of s_i slope_i^2 [x_i, 1][x_i, 1]', with s_i squared for survey weights."""
    loss, slopes, constant, gaps, survey = params
    total = np.zeros((len(slopes) + 1, len(slopes) + 1))
    for piece in block.pieces(piece_rows(len(slopes))):
        X, y, weight = counting(piece, gaps)
        slope, _ = loss.sweep(y, X @ slopes + constant)
        square = slope * slope
        if weight is not None:
            square = square * (weight**2 if survey else weight)
        total += weighted_gram(X, square)
    return total


def as_regression(point: FirthFit, fit: FirthFit, k: int, position: int | None) -> Regression:
    """Put a Firth fit, intercept first, into the form of a regression, intercept last."""
    coef = np.zeros(k + 1)
    coef[fit.frame.columns] = point.coef[1:]
    coef[-1] = point.coef[0]
    if position is not None:
        coef[position] = 1.0
    free = np.zeros(k + 1, dtype=bool)
    free[fit.frame.columns[fit.frame.kept]] = True
    free[-1] = True
    remarks: tuple[str, ...] = ()
    if fit.dropped:
        names = ", ".join(repr(name) for name in fit.dropped[:8])
        remarks = (f"Constant or combinations of other columns, coefficient 0: {names}.",)
    if not point.converged:
        remarks += (
            f"The fit stopped at a gradient norm of {point.gradient_norm:.2g} after {point.passes} "
            "passes without reaching the maximum: look at the scale of the weights.",
        )
    solution = Solution(
        coef, fit.gradient_norm, point.converged, fit.passes, fit.passes, np.zeros(0)
    )
    return Regression(coef, solution, -fit.objective, "gradient norm", remarks, free)


def firth_covariance(fit: FirthFit, k: int, setting: Setting) -> Array:
    """Return the inverse information of a Firth fit as [coef, intercept]; 0 for what is fixed."""
    kept = np.append(fit.frame.columns[fit.frame.kept], k)
    order = np.append(fit.frame.kept + 1, 0)
    out = np.zeros((k + 1, k + 1))
    out[np.ix_(kept, kept)] = np.linalg.inv(fit.information[np.ix_(order, order)])
    return out


def refuse_tuned(model: Any) -> None:
    """Refuse intervals of a fit whose shape or ridge was chosen on the same rows."""
    if model.selection_ is None:
        return
    chosen = [f"loss {model.loss_!r}"] if model.loss == "auto" else []
    chosen += [
        f"{name} {getattr(model, name + '_'):.4g}"
        for name in ("shape", "ridge")
        if getattr(model, name) == "auto" and not np.isnan(getattr(model, name + "_"))
    ]
    what = " and ".join(chosen)
    raise UsageError(
        f"{what} was chosen on these same rows, and intervals around a tuned fit cover far less "
        f"than they promise (.73 to .84 instead of .90 in simulations). {INSTEAD}"
    )


def kept_rows(model: Any, rows: Rows, seen: Look) -> dict[str, Array] | None:
    """Return a copy of the rows that profile and Laplace intervals go back to, or None.

    Only a logistic fit without penalty has such intervals. A copy, so that nobody can change it; in
    model files too, so that intervals are the same after `load`.
    """
    size = float(seen.count.sum()) * rows.n_columns
    if not model.keep_rows or not _has_likelihood(model) or size > MOST_KEPT:
        return None
    X, y, weight = rows.fold(_counting_rows, None, engine=model.engine, merge=append_rows)
    return {"X": X, "y": y, "weight": weight}


def _counting_rows(block: Block, _: None) -> tuple[Array, Array, Array]:
    """Kernel: copies of the labelled rows with weight above 0."""
    y, weight = labelled(block, True)
    assert weight is not None
    kept = np.flatnonzero(weight > 0)
    return block.X[kept], y[kept], weight[kept]


def check_kept_rows(kept: Any, n_columns: int) -> None:
    """Refuse training rows in a model file that do not belong together."""
    if kept is None:
        return
    sound = isinstance(kept, dict) and set(kept) == {"X", "y", "weight"}
    if sound:
        X, y, weight = (np.asarray(kept[name]) for name in ("X", "y", "weight"))
        sound = (
            X.ndim == 2
            and X.shape[1] in (n_columns, n_columns + 1)
            and y.shape == weight.shape == (len(X),)
            and all(np.isfinite(part).all() for part in (X, y, weight))
            and set(np.unique(y)) == {0.0, 1.0}
            and bool((weight > 0).all())
        )
    if not sound:
        raise DataError("rows_ are not the training rows of a logistic regression.")


def _has_likelihood(model: Any) -> bool:
    """Say whether profile and Laplace intervals exist for a fit."""
    plain = model.loss_ == "logistic" and model.ridge_ == 0 and model.fit_intercept
    return bool(plain and model.selection_ is None and model.weight_kind == "frequency")


def _rows_of(model: Any) -> Rows:
    kept = getattr(model, "rows_", None)
    if kept is None:
        raise UsageError(
            "Profile and Laplace intervals go back to the training rows, and this model holds "
            f"none: they are kept with keep_rows=True and up to {MOST_KEPT:,} values. Fit it again "
            "so, or pass method='wald'."
        )
    return ArrayRows(kept["X"], kept["y"], weight=kept["weight"], classes=[0, 1], check=False)


def _likelihood_fit(model: Any, method: str) -> FirthFit:
    """Return the logistic fit that an interval of this method is built around."""
    if not _has_likelihood(model):
        what = f"{model.loss_!r} with ridge={model.ridge_:g}"
        if model.weight_kind == "survey":
            what += " and survey weights, which have no likelihood"
        raise UsageError(
            f"method={method!r} is for loss='logistic' with ridge=0 and an intercept, and this is "
            f"{what}. Pass method='wald', or fit that."
        )
    penalty = "normal" if method == "laplace" else "firth" if model.bias_reduction else "none"
    known: dict[str, FirthFit] = vars(model).setdefault("_likelihood", {})
    if penalty not in known:
        known[penalty] = fit_firth(
            _rows_of(model),
            offset=model.offset_column_,
            penalty=penalty,
            tol=model.tol,
            engine=model.engine,
        )
    return known[penalty]


def _method(model: Any, level: float, method: str, words: tuple[str, ...]) -> str:
    refuse_word("method", method, words)
    if not 0 < level < 1:
        raise UsageError(f"level={level!r}: give a share between 0 and 1, such as 0.9.")
    if method != "auto":
        return method
    return "profile" if _has_likelihood(model) else "wald"


def _covariance_of(model: Any) -> Array:
    if model.covariance_ is None:
        raise UsageError(
            "This fit holds no covariance: fit with diagnostics=True and domain='line'."
        )
    return np.asarray(model.covariance_)


def coef_interval(model: Any, level: float, method: str) -> Interval:
    """Return intervals of [coef_, intercept_]."""
    refuse_tuned(model)
    method = _method(model, level, method, ("auto", "profile", "wald"))
    k = model.n_features_in_
    if method == "wald":
        own = np.append(np.arange(k), -1)
        value = np.append(model.coef_[0], model.intercept_)
        error = np.sqrt(np.diag(_covariance_of(model)))[own]
        wide = ndtri(0.5 + level / 2) * error
        return Interval(value, value - wide, value + wide, level, "wald")
    fit = _likelihood_fit(model, method)
    fitted = np.append(np.arange(1, len(fit.frame.columns) + 1), 0)
    found = profile_interval(
        _rows_of(model), fit, position=[int(p) for p in fitted], level=level, engine=model.engine
    )
    place = np.append(fit.frame.columns, k)
    inside = place <= k
    value, low, high = np.zeros(k + 1), np.full(k + 1, -np.inf), np.full(k + 1, np.inf)
    known = model.offset_column_
    if known is not None and known < k:
        value[known] = low[known] = high[known] = 1.0
    for target, source in ((value, found.value), (low, found.low), (high, found.high)):
        target[place[inside]] = np.asarray(source)[inside]
    if model.bias_reduction == "flic":  # the ends are those of Firth's intercept
        value[-1] = model.intercept_[0]
    return Interval(
        value, low, high, level, found.method.removeprefix("none "), found.gap, found.passes
    )


def refuse_missing(scores: Array, model: str) -> None:
    """Refuse scores of rows with a missing value."""
    if np.isnan(scores).any():
        raise DataError(
            f"Row {int(np.flatnonzero(np.isnan(scores))[0]):,} has a missing value, and {model} "
            "needs complete rows. Fill it, or leave the row out."
        )


def predict_interval(model: Any, X: Any, level: float, method: str, offset: Any) -> Array:
    """Return the ends of each row's probability, shape (n, 2)."""
    refuse_tuned(model)
    method = _method(model, level, method, ("auto", "profile", "laplace", "wald"))
    if method == "wald":
        rows = rows_to_predict(model, X, engine=model.engine, holes=False)
        k = model.n_features_in_
        own = np.append(np.arange(k), len(_covariance_of(model)) - 1)
        matrix = model.covariance_at_origin_[np.ix_(own, own)]
        params = (matrix, model.origin_[:k], model.coef_[0], float(model.intercept_[0]))
        score, error = rows.map(score_errors, params, engine=model.engine).T
        refuse_missing(score, type(model).__name__)
        if offset is not None:
            score = score + finite_vector(offset, len(score))
        wide = ndtri(0.5 + level / 2) * error
        link = model._link()
        ends = [link.inverse(score - wide), link.inverse(score + wide)]
        return np.column_stack([mixed(end, model.floor_, model.prevalence_) for end in ends])
    if model.offset_column_ is not None:
        raise UsageError(
            f"method={method!r} does not take offsets yet: pass method='wald' for this model."
        )
    fit = _likelihood_fit(model, method)
    rows = rows_to_predict(model, X, engine=model.engine, holes=False)
    points = np.concatenate([block.X for block in rows.blocks()])
    found = (
        laplace_interval(fit, x=points, level=level)
        if method == "laplace"
        else profile_interval(_rows_of(model), fit, x=points, level=level, engine=model.engine)
    )
    ends = [expit(np.atleast_1d(end)) for end in (found.low, found.high)]
    return np.column_stack([mixed(end, model.floor_, model.prevalence_) for end in ends])


def score_errors(block: Block, params: tuple[Array, Array, Array, float]) -> Array:
    """Kernel of the map: score of each row and its standard error."""
    matrix, origin, slopes, constant = params
    design = np.column_stack([block.X - origin, np.ones(len(block))])
    variance = np.einsum("ij,jk,ik->i", design, matrix, design, optimize=True)
    return np.column_stack([block.X @ slopes + constant, np.sqrt(np.maximum(variance, 0.0))])


@dataclass(frozen=True, eq=False)
class Summary:
    """A table of coefficients; `print` it, or read `columns`.

    Attributes
    ----------
    title : str
    columns : dict of str to list
        term, coef, and where the fit allows it error, z, p, low, high.
    notes : tuple of str
    """

    title: str
    columns: dict[str, list[Any]]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        head = list(self.columns)
        body = [
            [cell if isinstance(cell, str) else short(cell) for cell in row]
            for row in zip(*self.columns.values(), strict=True)
        ]
        widths = [max(len(text) for text in column) for column in zip(head, *body, strict=True)]
        lines = [self.title]
        for row in [head, *body]:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *self.notes])


def summary(model: Any, level: float, method: str) -> Summary:
    """Make the table of a fitted model."""
    k = model.n_features_in_
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(k)])
    value = np.append(model.coef_[0], model.intercept_)
    columns: dict[str, list[Any]] = {
        "term": [*map(str, names), "intercept"],
        "coef": value.tolist(),
    }
    shape = "" if np.isnan(model.shape_) else f", shape {model.shape_:g}"
    how = "ridge on standardised columns" if model.standardize and model.ridge_ > 0 else "ridge"
    title = f"{model.loss_}{shape}, {how} {model.ridge_:.4g}"
    if model.bias_reduction is not None:
        title = f"logistic, bias reduction: {model.bias_reduction}"
    notes = [str(model.report_)]
    if model.floor_ > 0:
        notes.append(
            f"floor: probabilities are mixed with the prevalence {short(model.prevalence_)} at "
            f"weight {model.floor_:g} ({model.floored_rows_:,} training rows needed it)"
        )
    if model.selection_ is not None:
        notes.append(str(model.selection_))
        notes.append(
            "no standard errors: shape or ridge was chosen on these rows, and intervals around a "
            "tuned fit cover less than they promise"
        )
    elif model.covariance_ is not None:
        own = np.append(np.arange(k), -1)
        error = np.sqrt(np.diag(model.covariance_))[own]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(error > 0, value / error, np.nan)
        held = getattr(model, "rows_", None) is not None
        if method == "auto" and _has_likelihood(model) and not held:
            method = "wald"
            notes.append("no profile intervals: the model holds no training rows (keep_rows)")
        found = coef_interval(model, level, method)
        columns |= {
            "error": error.tolist(),
            "z": z.tolist(),
            "p": (2 * ndtr(-np.abs(z))).tolist(),
            "low": np.asarray(found.low).tolist(),
            "high": np.asarray(found.high).tolist(),
        }
        if held:
            n = len(model.rows_["y"])
            notes.append(f"kept for intervals: {n:,} training rows, in files too (keep_rows)")
        robust = ", robust errors for survey weights" if model.weight_kind == "survey" else ""
        notes.append(
            f"low, high: {100 * level:g} % {found.method} intervals; error, z, p: Wald{robust}"
        )
    return Summary(title, columns, tuple(notes))
