"""How sure are the coefficients and probabilities of a RareClassifier?

    covariance = H^-1                    for log losses, H the curvature with the penalty
    covariance = H^-1 (sum_i s_i slope_i^2 x_i x_i') H^-1      for the GEV-canonical loss (sandwich)

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

from scarce.errors import UsageError, refuse_word
from scarce.losses import CanonicalLoss, Logit
from scarce.models.firth import FirthFit, fit_firth
from scarce.models.inputs import rows_to_predict
from scarce.models.intervals import Interval, laplace_interval, profile_interval
from scarce.models.search import mixed
from scarce.records import short
from scarce.rows import Block, Rows
from scarce.rows.block import Array
from scarce.rows.engines import Engine
from scarce.solvers.linear import counting, piece_rows, weighted_gram
from scarce.solvers.newton import Frame, Solution, Task
from scarce.solvers.regress import Regression, Setting

INSTEAD = (
    "Fit RareClassifier('logistic', ridge=0, bias_reduction='flic') on the same rows: its intervals"
    " keep what they promise."
)


def covariance(rows: Rows, task: Task, coef: Array, engine: Engine) -> Array:
    """Return the covariance of [coef, intercept]; 0 for what was not fitted."""
    canonical = isinstance(task.loss, CanonicalLoss) and not isinstance(task.loss.link, Logit)
    gram = task.sums(rows, coef, True, engine).gram
    frame = Frame(task, coef)
    inverse = np.linalg.pinv(frame.hessian(gram), hermitian=True)
    if canonical:
        params = (task.loss, coef[:-1].copy(), float(coef[-1]), task.look.unlabelled > 0)
        squares = rows.fold(squared_slopes, params, engine=engine)
        inverse = inverse @ (frame.T.T @ squares @ frame.T) @ inverse
    return np.asarray(frame.T @ inverse @ frame.T.T)


def squared_slopes(block: Block, params: tuple[Any, Array, float, bool]) -> Array:
    """Kernel: sum of s_i slope_i^2 [x_i, 1][x_i, 1]'."""
    loss, slopes, constant, gaps = params
    total = np.zeros((len(slopes) + 1, len(slopes) + 1))
    for piece in block.pieces(piece_rows(len(slopes))):
        X, y, weight = counting(piece, gaps)
        slope, _ = loss.sweep(y, X @ slopes + constant)
        square = slope * slope
        total += weighted_gram(X, square if weight is None else square * weight)
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
    solution = Solution(coef, fit.gradient_norm, fit.converged, fit.passes, fit.passes, np.zeros(0))
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
    what = " and ".join(
        f"{name} {getattr(model, name + '_'):g}"
        for name in ("shape", "ridge")
        if getattr(model, name) == "auto" and not np.isnan(getattr(model, name + "_"))
    )
    raise UsageError(
        f"{what} was chosen on these same rows, and intervals around a tuned fit cover far less "
        f"than they promise (.73 to .84 instead of .90 in simulations). {INSTEAD}"
    )


def _rows_of(model: Any) -> Rows:
    rows = getattr(model, "_rows", None)
    if rows is None:
        raise UsageError(
            "Profile and Laplace intervals go back to the training rows, and this model came from "
            "a file or a copy, which holds none. Fit it again, or pass method='wald'."
        )
    return rows  # type: ignore[no-any-return]


def _likelihood_fit(model: Any, method: str) -> FirthFit:
    """Return the logistic fit that an interval of this method is built around."""
    if model.loss != "logistic" or model.ridge_ != 0 or not model.fit_intercept:
        raise UsageError(
            f"method={method!r} is for loss='logistic' with ridge=0 and an intercept, and this is "
            f"{model.loss!r} with ridge={model.ridge_:g}. Pass method='wald', or fit that."
        )
    rows = _rows_of(model)
    if method == "laplace":
        return fit_firth(rows, offset=model._position, penalty="normal", engine=model.engine)
    if model.bias_reduction is not None:
        return model._firth  # type: ignore[no-any-return]
    return fit_firth(rows, offset=model._position, penalty="none", engine=model.engine)


def _method(model: Any, level: float, method: str, words: tuple[str, ...]) -> str:
    refuse_word("method", method, words)
    if not 0 < level < 1:
        raise UsageError(f"level={level!r}: give a share between 0 and 1, such as 0.9.")
    if method != "auto":
        return method
    logistic = model.loss == "logistic" and model.ridge_ == 0 and model.fit_intercept
    return "profile" if logistic and getattr(model, "_rows", None) is not None else "wald"


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
    if model._position is not None and model._position < k:
        value[model._position] = low[model._position] = high[model._position] = 1.0
    for target, source in ((value, found.value), (low, found.low), (high, found.high)):
        target[place[inside]] = np.asarray(source)[inside]
    if model.bias_reduction == "flic":  # the ends are those of Firth's intercept
        value[-1] = model.intercept_[0]
    return Interval(
        value, low, high, level, found.method.removeprefix("none "), found.gap, found.passes
    )


def predict_interval(model: Any, X: Any, level: float, method: str) -> Array:
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
        wide = ndtri(0.5 + level / 2) * error
        link = model._link()
        ends = [link.inverse(score - wide), link.inverse(score + wide)]
        return np.column_stack([mixed(end, model.floor_, model.prevalence_) for end in ends])
    training = _rows_of(model)
    if model._position is not None:
        raise UsageError(
            f"method={method!r} does not take offsets yet: pass method='wald' for this model."
        )
    fit = _likelihood_fit(model, method)
    rows = rows_to_predict(model, X, engine=model.engine, holes=False)
    points = np.concatenate([block.X for block in rows.blocks()])
    found = (
        laplace_interval(fit, x=points, level=level)
        if method == "laplace"
        else profile_interval(training, fit, x=points, level=level, engine=model.engine)
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
    how = "ridge on standardised columns" if model.standardize else "ridge"
    title = f"{model.loss}{shape}, {how} {model.ridge_:g}"
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
        found = coef_interval(model, level, method)
        columns |= {
            "error": error.tolist(),
            "z": z.tolist(),
            "p": (2 * ndtr(-np.abs(z))).tolist(),
            "low": np.asarray(found.low).tolist(),
            "high": np.asarray(found.high).tolist(),
        }
        notes.append(f"low, high: {100 * level:g} % {found.method} intervals; error, z, p: Wald")
    return Summary(title, columns, tuple(notes))
