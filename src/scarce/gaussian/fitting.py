"""Which way to the Gaussians of the classes: closed form where rows are complete, else EM.

    diag kinds, labelled rows                    closed form, holes or not      one pass
    covariances, labelled rows without holes     closed form                    one pass
    covariances with holes, or unlabelled rows   EM (bayes_missing, bayes_em_diag)

Assumes checked rows; returns the fitted attributes of `GaussianBayes` and how the fit ended.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.folds import deal_folds, row_groups
from scarce.engine.rows import Rows, WeightedRows
from scarce.errors import DataError, UsageError
from scarce.gaussian.densities import (
    LOG_2PI,
    Classes,
    factor,
    joint_of_covariances,
    joint_of_variances,
)
from scarce.gaussian.em_diagonal import DiagHill
from scarce.gaussian.em_driver import Climbed, climb
from scarce.gaussian.missing import Climber
from scarce.gaussian.moments import (
    CrossMoments,
    Moments,
    class_moments,
    cross_moments,
    cut_cross,
    to_state,
    typical_values,
    value_moments,
)
from scarce.gaussian.parts import (
    Covariances,
    Settings,
    covariances,
    floor_of,
    remarks_of,
    rounding_of,
    spread_of_all,
)
from scarce.io.inputs import positive_remark

DIAGONAL = ("diag", "shared-diag")
KINDS = (*DIAGONAL, "full", "shared", "shrunk")
LARGEST_VARIANCE, LEAST_VARIANCE = 1e290, 1e-290  # what squares of doubles can tell, with a margin
FOLDS = 5  # in which labelled rows are left out to judge the unlabelled ones
KEPT_OFF = 0.01  # how far probabilities are drawn to the base rates in the second comparison
JUDGED_TOL = 1e-4  # how exactly fits are climbed that are only compared
RATES_DIFFER = 1.5  # ratio of estimated labelling rates from which the report speaks of it


class Learned(NamedTuple):
    """Fitted attributes, and how the fit ended."""

    attributes: dict[str, Any]
    objective: float
    remarks: list[str]
    passes: int = 1
    converged: bool = True
    certificate: float = 0.0
    proves: str = "closed form"


def learn(model: Any, rows: Rows, groups: Any = None) -> Learned:
    """Learn from rows, in as few passes as it takes; from unlabelled ones only where that helps."""
    if model.unlabelled == "ignore" or not _unlabelled(model, rows):
        return _learn(model, rows, unlabelled=False)
    helped = _helped(model, rows, groups)
    done = _learn(model, rows, unlabelled=helped.use)
    done.attributes["unlabelled_used_"] = helped.use and "unlabelled_share_" in done.attributes
    if helped.loss is not None:
        done.attributes["unlabelled_loss_"] = helped.loss
    return done._replace(remarks=done.remarks + helped.remarks, passes=done.passes + helped.passes)


def _learn(model: Any, rows: Rows, *, unlabelled: bool) -> Learned:
    if model.covariance in DIAGONAL:
        return _learn_variances(model, rows, unlabelled)
    return _learn_covariances(model, rows, unlabelled)


def settle(model: Any, moments: Moments | CrossMoments, origin: Array) -> Learned | None:
    """Return the closed form of moments gathered so far; None while some class has no row."""
    if not (moments.weight > 0).all():
        model.moments_ = to_state(moments, origin)
        return None
    if isinstance(moments, Moments):
        return _settle_variances(model, moments, origin)
    columns = used_columns(model, value_moments(moments), origin)
    cut = cut_cross(moments, columns.places)
    done = _settle_covariances(model, cut, origin[columns.used], columns)
    done.attributes["moments_"] = to_state(moments, origin)
    return done


# --- which columns --------------------------------------------------------------------------------


class Columns(NamedTuple):
    """Which columns a fit learns from."""

    used: NDArray[np.bool_]
    shown: NDArray[np.bool_]  # every class shows a value; not used where there is but one

    @property
    def places(self) -> NDArray[np.intp]:
        """Positions of the used ones."""
        return np.flatnonzero(self.used)


def used_columns(model: Any, values: Moments, origin: Array, rows: Rows | None = None) -> Columns:
    """Return the columns to learn from: every class shows a value, and values differ.

    A column with one value says nothing about the class: whatever variance it were given would be
    a guess, and would move what is chosen for the others. Variances that are no ordinary numbers
    in double precision are refused; `rows` are looked at where squares may have come to 0.
    """
    total, sizes = spread_of_all(values), np.abs(origin) + np.abs(values.mean).max(axis=0)
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(origin))])
    wrong = np.flatnonzero((values.seen > 0).any(axis=0) & ~(total <= LARGEST_VARIANCE))
    if len(wrong):
        raise DataError(
            f"Column {str(names[wrong[0]])!r}: its values are so large that their variance cannot "
            "be computed in double precision. Look for a wrong value in it, or change its unit: "
            "divide the column by 1e150."
        )
    doubt = np.flatnonzero((total < LEAST_VARIANCE) & (sizes < np.sqrt(LEAST_VARIANCE) * 1e15))
    if rows is not None and len(doubt):
        low, high = rows.fold(column_ends, doubt, engine=model.engine)
        doubt = doubt[low < high]
    elif len(doubt):
        doubt = doubt[total[doubt] > rounding_of(origin[doubt])]
    if len(doubt):
        raise DataError(
            f"Column {str(names[doubt[0]])!r}: its values differ so little that their variance "
            "cannot be computed in double precision. Change its unit: multiply the column by "
            "1e150."
        )
    shown = np.asarray((values.seen > 0).all(axis=0))
    return Columns(shown & (total > rounding_of(origin)), shown)


def column_ends(block: Block, columns: NDArray[np.intp]) -> tuple[Array, Array]:
    """Kernel: least and greatest value of some columns among the labelled rows that count."""
    chosen = block.labelled if block.weight is None else block.labelled & (block.weight > 0)
    X = block.X[:, columns][chosen]
    return np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)


def _merged_ends(total: Any, more: Any) -> tuple[Array, Array]:
    return np.minimum(total[0], more[0]), np.maximum(total[1], more[1])


column_ends.merge = _merged_ends  # type: ignore[attr-defined]


# --- features independent within a class ----------------------------------------------------------


def _learn_variances(model: Any, rows: Rows, unlabelled: bool) -> Learned:
    origin = typical_values(rows)
    moments: Moments = rows.fold(class_moments, (len(model.classes_), origin), engine=model.engine)
    refuse_empty(model.classes_, moments.weight)
    done = _settle_variances(model, moments, origin, rows)
    used = np.flatnonzero(done.attributes["used_"])
    if not unlabelled or len(used) == 0:
        return done
    cut = Moments(moments.weight, *(part[:, used] for part in moments[1:]))
    labelled = cut._replace(mean=cut.mean + origin[used])
    floor = np.maximum(_variance_floor(model, cut), np.finfo(np.float64).tiny)
    shared = model.covariance == "shared-diag"
    mix = None if model.priors is None else done.attributes["class_prior_"]
    hill = DiagHill(rows, model.engine, labelled, used, shared, floor, mix)
    climbed = climb(hill, hill.start(), tol=model.tol, max_passes=model.max_iter)
    shown = done.attributes
    del shown["moments_"]
    shown["mean_"][:, used] = climbed.at.mean
    shown["variance_"][:, used] = climbed.at.variance
    return _with_unlabelled(model, done, climbed, climbed.moments.mix, moments.weight)._replace(
        passes=climbed.passes + 2
    )


def _settle_variances(
    model: Any, moments: Moments, origin: Array, rows: Rows | None = None
) -> Learned:
    columns = used_columns(model, moments, origin, rows)
    used = columns.used
    prior = priors_of(model, moments.weight)
    variance = np.where(used, _variances(model, moments), 1.0)
    with np.errstate(invalid="ignore"):
        per_cell = moments.seen * np.log(2 * np.pi * variance) + moments.squares / variance
    attributes = {
        "used_": used,
        "class_weight_seen_": moments.weight,
        "class_prior_": prior,
        "mean_": np.where(used, origin + moments.mean, 0.0),
        "variance_": variance,
        "moments_": to_state(moments, origin),
    }
    objective = float(0.5 * per_cell[:, used].sum() - moments.weight @ np.log(prior))
    return Learned(attributes, objective, _remarks(model, columns, moments.weight))


def _variances(model: Any, moments: Moments) -> Array:
    seen, squares = moments.seen, moments.squares
    if model.covariance == "shared-diag":
        seen = np.repeat(seen.sum(axis=0)[None], len(seen), axis=0)
        squares = np.repeat(squares.sum(axis=0)[None], len(seen), axis=0)
    lost = len(seen) if model.covariance == "shared-diag" else 1
    divisor = np.where(seen > lost, seen - lost, seen) if model.unbiased else seen
    with np.errstate(invalid="ignore"):
        variance = np.where(divisor > 0, squares / divisor, 1.0)
    # DEVIATION from the notes' plain variance: a feature that is constant within a class would
    # divide by zero.
    floor = _variance_floor(model, moments)
    return np.asarray(np.maximum(variance + floor, np.finfo(np.float64).tiny))


def _variance_floor(model: Any, moments: Moments) -> Array:
    """Return what is added to the variances of each feature, in proportion to its own."""
    return np.asarray(model.var_smoothing * spread_of_all(moments))


# --- covariances ----------------------------------------------------------------------------------


def _learn_covariances(model: Any, rows: Rows, unlabelled: bool) -> Learned:
    origin = typical_values(rows)
    n_classes = len(model.classes_)
    cross: CrossMoments = rows.fold(cross_moments, (n_classes, origin, None), engine=model.engine)
    values = value_moments(cross)
    refuse_empty(model.classes_, values.weight)
    columns = used_columns(model, values, origin, rows)
    again = not columns.used.all() and bool(cross.holed.weight.any())
    whole = None if cross.holed.weight.any() else to_state(cross, origin)
    origin = origin[columns.used]
    if again:  # rows that miss only what is left out are complete after all
        params = (n_classes, origin, columns.places)
        cross = rows.fold(cross_moments, params, engine=model.engine)
    else:
        cross = cut_cross(cross, columns.places)
    unlabelled = unlabelled and bool(columns.used.any())
    if unlabelled or cross.holed.seen.any():
        return _climb_covariances(model, rows, cross, origin, columns, unlabelled)
    done = _settle_covariances(model, cross, origin, columns)
    if whole is not None:
        done.attributes["moments_"] = whole
    return done._replace(passes=1 + again)


def _settings(model: Any) -> Settings:
    return Settings(model.covariance, model.shrinkage, model.unbiased, model.var_smoothing)


def _settle_covariances(
    model: Any, cross: CrossMoments, origin: Array, columns: Columns
) -> Learned:
    values = value_moments(cross)
    floor = floor_of(values, origin, model.var_smoothing)
    found = covariances(cross, floor, _settings(model))
    weights = values.weight  # rows without any value count for the shares alone
    prior = priors_of(model, weights)
    attributes = _spread_out(model, origin + cross.mean, found, columns.places)
    attributes |= {"class_weight_seen_": weights, "class_prior_": prior}
    objective = -float(weights @ np.log(prior))
    whole = np.ones((1, cross.mean.shape[1]), dtype=bool)
    for y, (weight, scatter) in enumerate(zip(cross.weight, cross.scatter, strict=True)):
        half, log_det = factor(found.covariance[y % len(found.covariance)], whole)
        fit = np.trace(half[0] @ scatter @ half[0].T)
        objective += 0.5 * float(weight * (cross.mean.shape[1] * LOG_2PI + log_det[0]) + fit)
    remarks = remarks_of(found, model.covariance, model.classes_, weights)
    return Learned(attributes, objective, remarks + _remarks(model, columns, weights))


def _climb_covariances(
    model: Any,
    rows: Rows,
    cross: CrossMoments,
    origin: Array,
    columns: Columns,
    unlabelled: bool,
) -> Learned:
    values = value_moments(cross)
    weight = values.weight
    floor = floor_of(values, origin, model.var_smoothing)
    climber = Climber(
        rows,
        model.engine,
        cross,
        origin,
        columns.places,
        floor,
        _settings(model),
        model.tol,
        model.max_iter,
        None if model.priors is None else priors_of(model, weight),
    )
    climbed = climber.labelled()
    if unlabelled:
        climbed = climber.unlabelled()
    assert climbed is not None
    result = climber.result(climbed)
    prior = priors_of(model, weight)
    attributes = _spread_out(model, result.mean, result.found, columns.places)
    attributes |= {"class_weight_seen_": weight, "class_prior_": prior}
    remarks = remarks_of(result.found, model.covariance, model.classes_, weight)
    remarks += _remarks(model, columns, weight)
    done = Learned(attributes, 0.0, remarks)
    if unlabelled:
        done = _with_unlabelled(model, done, climbed, result.open_weight, weight)
    else:
        done = _after_climb(model, done, climbed, -float(weight @ np.log(prior)))
    return done._replace(passes=result.passes + 1 + unlabelled + (not columns.used.all()))


def _spread_out(
    model: Any, mean: Array, found: Covariances, columns: NDArray[np.intp]
) -> dict[str, Any]:
    """Return the attributes over all columns: those left out get mean 0, variance 1."""
    n_classes, width = len(mean), model.n_features_in_
    used = np.zeros(width, dtype=bool)
    used[columns] = True
    whole_mean = np.zeros((n_classes, width))
    whole_mean[:, columns] = mean
    covariance = np.repeat(np.eye(width)[None], len(found.covariance), axis=0)
    covariance[:, columns[:, None], columns] = found.covariance
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    return {
        "used_": used,
        "mean_": whole_mean,
        "variance_": np.ascontiguousarray(np.broadcast_to(variance, (n_classes, width))),
        "covariance_": covariance[0].copy() if model.covariance == "shared" else covariance,
        "shrinkage_": np.ascontiguousarray(np.broadcast_to(found.intensity, (n_classes,))),
    }


# --- after a climb --------------------------------------------------------------------------------


def _after_climb(model: Any, done: Learned, climbed: Climbed, rest: float) -> Learned:
    remarks = list(done.remarks)
    if not climbed.converged:
        remarks.insert(
            0,
            f"The fit ended after {climbed.passes} passes with a gradient of {climbed.score:.2g}, "
            f"above tol={model.tol:g}: give a greater max_iter than {model.max_iter}, or a greater "
            "tol.",
        )
    done.attributes["log_likelihood_path_"] = np.array(climbed.path)
    return done._replace(
        objective=rest - climbed.value,
        remarks=remarks,
        converged=climbed.converged,
        certificate=float(climbed.score),
        proves="gradient norm",
    )


def _with_unlabelled(
    model: Any, done: Learned, climbed: Climbed, open_weight: Array, weight: Array
) -> Learned:
    """Note what unlabelled rows said about the class shares.

    Labelled rows have shares of their own, as they do when a class is labelled more often than
    another; all rows together have those of both parts, and these are what a new row comes from.
    """
    labelled = -float(weight @ np.log(weight / weight.sum()))
    done = _after_climb(model, done, climbed, labelled)
    rates = weight / (weight + open_weight)
    done.attributes["class_prior_"] = priors_of(model, weight + open_weight)
    done.attributes["unlabelled_share_"] = climbed.at.mix
    done.attributes["reveal_rate_"] = rates
    remarks = [
        f"Learned from {open_weight.sum():g} rows without label too, each as far as it seems to "
        "belong to a class: right only if they are of these classes and the classes are Gaussian."
    ]
    if rates.max() > RATES_DIFFER * rates.min():
        listed = ", ".join(
            f"{name!s} {100 * rate:.2g} %" for name, rate in zip(model.classes_, rates, strict=True)
        )
        remarks.append(
            f"Labels seem to have been revealed at different rates ({listed}), so the shares of "
            "the labelled rows are not those of all rows; class_prior_ holds the latter. If "
            "labelled rows are a fair sample of all rows, the classes are not Gaussian and this is "
            "wrong: give the shares, priors=[...]."
        )
    return done._replace(remarks=done.remarks + remarks)


# --- do rows without label help? ------------------------------------------------------------------


class Helped(NamedTuple):
    """Whether unlabelled rows are to be used, and how that was found."""

    use: bool
    loss: Array | None  # (2,): mean log loss of left-out labelled rows, without and with them
    remarks: list[str]
    passes: int = 0


def _helped(model: Any, rows: Rows, groups: Any) -> Helped:
    """Compare fits with and without the unlabelled rows on labelled rows that neither has seen.

    They are used where the log loss is not worse, nor the log loss of probabilities that are drawn
    a hundredth of the way to the base rates: the former may hang on a single row far out. To allow
    for half a standard error instead was tried on simulated classes: it gains where classes are
    normal, and lets through fits that are badly misled where they are not.

    Both are judged with the class shares of the labelled rows they learned from: unlabelled rows
    may well have another mix, and that is not what is in question.
    """
    codes, weight = rows.labels(engine=model.engine), rows.weights(engine=model.engine)
    known = np.where(np.isnan(codes) | (weight == 0), -1, codes).astype(np.intp)
    counts = np.bincount(known[known >= 0], minlength=len(model.classes_))
    refuse_empty(model.classes_, counts.astype(np.float64))
    found = row_groups(rows, known, weight, groups=groups, engine=model.engine)
    n_folds = min(FOLDS, found.fewest(known))
    if n_folds < 2:
        return Helped(
            True,
            None,
            [
                "A class has labelled rows in one group only, so that nothing could be left out to "
                "see whether unlabelled rows help. Label more rows of it, or give "
                "unlabelled='ignore'."
            ],
        )
    folds = deal_folds(found, known, weight, n_folds)
    judged = copy.copy(model)
    judged.tol = max(model.tol, JUDGED_TOL)
    own, passes = np.zeros((2, len(rows))), 0  # log probability of each row's own class
    for fold in range(n_folds):
        part = WeightedRows(rows, np.where(folds == fold, 0.0, weight))
        out = np.flatnonzero(folds == fold)
        for way in (0, 1):
            done = _learn(judged, part, unlabelled=bool(way))
            own[way, out] = _log_prob_as_labelled(model, rows, done)[out, known[out]]
            passes += done.passes + 1
    labelled = np.flatnonzero(known >= 0)
    size = np.bincount(known[labelled], weights=weight[labelled])
    base = (size / size.sum())[known[labelled]]
    own, mean = own[:, labelled], weight[labelled] / size.sum()
    loss = -(own @ mean)
    kept_off = -(np.log((1.0 - KEPT_OFF) * np.exp(own) + KEPT_OFF * base) @ mean)
    for without, used in (loss, kept_off):
        if used > without:
            remark = (
                "Unlabelled rows were not used: with them the log loss of left-out labelled rows "
                f"is {used:.3g}, without them {without:.3g}. They seem not to be of these classes, "
                "or the classes not Gaussian. class_prior_ holds the shares of the labelled rows; "
                "if those are not a fair sample, give the shares: priors=[...]."
            )
            return Helped(False, loss, [remark, *found.remarks()], passes)
    return Helped(True, loss, found.remarks(), passes)


def _log_prob_as_labelled(model: Any, rows: Rows, done: Learned) -> Array:
    """Return log probabilities of all rows under the class shares of the labelled ones."""
    weight = done.attributes["class_weight_seen_"]
    joint = joint_log_proba(done.attributes, np.log(weight / weight.sum()), rows, model.engine)
    return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))


def joint_log_proba(fitted: Any, log_prior: Array, rows: Rows, engine: Engine) -> Array:
    """Return log prior + log p(seen features | class) for fitted attributes, (n, n_classes)."""
    if "covariance_" in fitted:
        covariance = fitted["covariance_"]
        one = covariance.ndim == 2
        classes = Classes(fitted["mean_"], covariance[None] if one else covariance, fitted["used_"])
        return rows.map(joint_of_covariances, (log_prior, classes), engine=engine)
    used, variance = fitted["used_"], fitted["variance_"]
    constant = np.where(used, np.log(2 * np.pi * variance), 0.0)
    params = (log_prior, fitted["mean_"], used / variance, constant)
    return rows.map(joint_of_variances, params, engine=engine)


def open_weight_of(block: Block, _: Any) -> float:
    """Kernel: weight of the rows without label."""
    unlabelled = ~block.labelled
    return float(unlabelled.sum() if block.weight is None else block.weight[unlabelled].sum())


def _unlabelled(model: Any, rows: Rows) -> bool:
    return bool(rows.fold(open_weight_of, engine=model.engine) > 0)


# --- classes --------------------------------------------------------------------------------------


def priors_of(model: Any, weight: Array) -> Array:
    """Return the class shares to predict with: those given, else those of the weights."""
    if model.priors is None:
        return np.asarray(weight / weight.sum())
    try:
        priors = np.asarray(model.priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"priors={model.priors!r}: give one share for each class.") from None
    if priors.shape != weight.shape or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-9:
        raise UsageError(
            f"priors={priors.tolist()} do not fit the {len(weight)} classes "
            f"{model.classes_.tolist()}: give one share above 0 for each, together 1."
        )
    return priors


def refuse_empty(classes: Any, weight: Array) -> None:
    """Refuse labels of one class alone, and classes whose rows all have weight 0."""
    empty = [label for label, w in zip(classes, weight, strict=True) if w == 0]
    if len(classes) < 2 or empty:
        present = [label for label in classes.tolist() if label not in empty]
        raise DataError(
            "Labelled rows of at least two classes are needed, and there is only one class "
            f"with weight above 0: {', '.join(map(repr, present)) or 'none'}. Label rows of "
            "the other class too."
        )


def _remarks(model: Any, columns: Columns, weight: Array) -> list[str]:
    remarks = []
    names = np.array(getattr(model, "feature_names_in_", np.arange(model.n_features_in_)))
    for left_out, why in (
        (~columns.shown, "some class never shows a value"),
        (columns.shown & ~columns.used, "all labelled rows have the same value"),
    ):
        if left_out.any():
            listed = ", ".join(str(name) for name in names[left_out][:8])
            remarks.append(f"Left out, because {why}: {listed}.")
    width = int(columns.used.sum())
    return remarks + _rough(model, width, weight) + positive_remark(model.classes_, weight)


def _rough(model: Any, width: int, weight: Array) -> list[str]:
    """Name classes with too few rows for spreads of their own."""
    enough = {"diag": 3, "full": 2 * (width + 1)}.get(model.covariance, 0)
    what = "variances" if model.covariance == "diag" else "a covariance"
    other = "'shared-diag'" if model.covariance == "diag" else "'shrunk'"
    return [
        f"Class {label!s}: {what} of {width} features from {size:g} "
        f"row{'s' if size != 1 else ''} of it {'are' if enough == 3 else 'is'} rough: use "
        f"covariance={other}."
        for label, size in zip(model.classes_.tolist(), weight, strict=True)
        if width < size < enough or (enough == 3 and size < enough)
    ]
