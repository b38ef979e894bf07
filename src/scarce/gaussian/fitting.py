"""Fit the Gaussians of the classes: in closed form where rows are complete, else by EM.

    other columns than measurements (factors.py)           closed form         one pass
    diag kinds, labelled rows                              closed form         one pass
    covariances, complete labelled rows                    closed form         one pass
    covariances with missing values, or unlabelled rows    EM (em.py)

Unlabelled rows are used only where they help on labelled rows that are left out, and probabilities
are calibrated on such rows (calibration.py). Assumes checked
rows and settings; returns the fitted attributes of `GaussianBayes` and how the fit ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from scarce.checks import read_shares, refuse_one_class
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.folds import deal_folds, row_groups
from scarce.engine.rows import Rows, WeightedRows
from scarce.errors import Argument, DataError, Problem, UsageError, listed
from scarce.gaussian.calibration import Calibration, calibrate, ratios
from scarce.gaussian.densities import (
    LOG_2PI,
    Classes,
    factor,
    joint_of_covariances,
    joint_of_variances,
)
from scarce.gaussian.em import CovarianceFit, EMResult, VarianceLikelihood, run_em
from scarce.gaussian.factors import (
    GAUSSIAN,
    Factor,
    as_factors,
    as_tables,
    learn_factors,
    log_prob_of_factors,
)
from scarce.gaussian.moments import (
    CrossMoments,
    Moments,
    class_moments,
    cross_moments,
    select_columns,
    to_state,
    typical_values,
    value_moments,
)
from scarce.gaussian.shrinkage import (
    Covariances,
    CovarianceSettings,
    covariances,
    rounding_variance,
    singular_remarks,
    total_variance,
    variance_floor,
)
from scarce.io.inputs import positive_remark

DIAGONAL = ("diag", "shared-diag")
KINDS = (*DIAGONAL, "full", "shared", "shrunk")
LARGEST_VARIANCE, LEAST_VARIANCE = 1e290, 1e-290  # what squares of doubles can hold, with a margin
FOLDS = 5  # in which labelled rows are left out to judge the unlabelled ones
KEPT_OFF = 0.01  # how far probabilities are mixed with the base rates in the second comparison
SMALL = 200  # rows up to which equal ones always count as copies
JUDGED_TOL = 1e-4  # tolerance of fits that are only compared
RATES_DIFFER = 1.5  # ratio of estimated labelling rates above which the report mentions it
NARROW = 1e-6  # of the widest class's variance: nothing that was measured, only the smoothing


@dataclass(frozen=True)
class Settings:
    """What a fit needs to know of `GaussianBayes`: its parameters, the classes and the columns."""

    covariance: str
    priors: ArrayLike | Mapping[Any, float] | None
    var_smoothing: float
    engine: Engine
    shrinkage: str | float
    unbiased: bool
    unlabelled: str
    tol: float
    max_iter: int
    calibrate: bool
    kinds: tuple[str, ...]
    classes: NDArray[Any]
    names: tuple[str, ...]

    @property
    def diagonal(self) -> bool:
        """Whether features are independent within a class."""
        return self.covariance in DIAGONAL

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which columns are Gaussian within a class."""
        return np.array([kind == GAUSSIAN for kind in self.kinds], dtype=bool)

    @property
    def of_covariances(self) -> CovarianceSettings:
        """The part that covariances need."""
        return CovarianceSettings(self.covariance, self.shrinkage, self.unbiased)

    def class_prior(self, weight: Array) -> Array:
        """Return the base rates to predict with: those given, else those of the weights."""
        if self.priors is None:
            return np.asarray(weight / weight.sum())
        return read_shares(self.priors, self.classes.tolist(), "priors")


class Learned(NamedTuple):
    """Fitted attributes, and how the fit ended."""

    attributes: dict[str, Any]
    objective: float
    remarks: list[str]
    passes: int = 1
    converged: bool = True
    certificate: float = 0.0
    proves: str = "closed form"


def learn(settings: Settings, rows: Rows, groups: ArrayLike | None = None) -> Learned:
    """Learn the classes from rows, and calibrate what they say where that is asked for."""
    if settings.unlabelled == "use" and not settings.measured.all():
        raise UsageError(
            "{use} learns from measurements only, and column {column!r} is {kind}.",
            code="factors-unlabelled",
            use=Argument("unlabelled", "use"),
            column=settings.names[int(np.argmin(settings.measured))],
            kind=settings.kinds[int(np.argmin(settings.measured))],
            ignore=Argument("unlabelled", "ignore"),
            remedy="Use {ignore}, or one-hot columns in place of categories.",
        )
    done = _learn_classes(settings, rows, groups)
    return _calibrated(settings, rows, groups, done) if settings.calibrate else done


def _learn_classes(settings: Settings, rows: Rows, groups: ArrayLike | None) -> Learned:
    """Learn from rows in as few passes as needed; from unlabelled ones only where that helps."""
    if settings.unlabelled == "ignore" or not rows.fold(unlabelled_weight, engine=settings.engine):
        return _learn(settings, rows, unlabelled=False)
    judged = judge_unlabelled(settings, rows, groups)
    done = _learn(settings, rows, unlabelled=judged.use)
    done.attributes["unlabelled_used_"] = judged.use and "unlabelled_share_" in done.attributes
    if judged.loss is not None:
        done.attributes["unlabelled_loss_"] = judged.loss
    return done._replace(remarks=done.remarks + judged.remarks, passes=done.passes + judged.passes)


def _learn(settings: Settings, rows: Rows, *, unlabelled: bool) -> Learned:
    own = _learn_variances if settings.diagonal else _learn_covariances
    done = own(settings, rows, unlabelled)
    done.attributes["factors_"] = dict(zip(settings.names, settings.kinds, strict=True))
    if settings.measured.all():
        return done
    names, size = settings.names, len(settings.classes)
    factors, value = learn_factors(rows, settings.kinds, size, names, settings.engine)
    done.attributes["factor_tables_"] = as_tables(factors, names)
    used = [one.column for one in factors]
    done.attributes["used_"][used] = True
    left_out = np.flatnonzero(~settings.measured & ~done.attributes["used_"])
    remarks = list(done.remarks)
    if len(left_out):
        remark = Problem(
            "Not used, because some class has no value in them or all have the same: {columns}.",
            code="factor-not-used",
            columns=listed([names[j] for j in left_out], most=8),
        )
        remarks.append(remark)
    return done._replace(objective=done.objective - value, remarks=remarks, passes=done.passes + 1)


def learn_from_moments(
    settings: Settings, moments: Moments | CrossMoments, origin: Array
) -> Learned:
    """Return the closed form of the moments of all batches; every class has a row."""
    if isinstance(moments, Moments):
        return _variances_from_moments(settings, moments, origin)
    columns = used_columns(settings, value_moments(moments), origin)
    cut = select_columns(moments, columns.places)
    done = _covariances_from_moments(settings, cut, origin[columns.used], columns)
    done.attributes["moments_"] = to_state(moments, origin)
    return done


def unlabelled_weight(block: Block, _: None) -> float:
    """Kernel: weight of the rows without label."""
    unlabelled = ~block.labelled
    return float(unlabelled.sum() if block.weight is None else block.weight[unlabelled].sum())


# --- which columns --------------------------------------------------------------------------------


class Columns(NamedTuple):
    """Which columns a fit learns from."""

    used: NDArray[np.bool_]
    shown: NDArray[np.bool_]  # every class has an observed value; not used where all are equal
    measured: NDArray[np.bool_]  # the others are factors of their own

    @property
    def places(self) -> NDArray[np.intp]:
        """Positions of the used ones."""
        return np.flatnonzero(self.used)


def used_columns(
    settings: Settings, values: Moments, origin: Array, rows: Rows | None = None
) -> Columns:
    """Return the columns to learn from: observed in every class, and not constant.

    A constant column says nothing about the class: any variance given to it would be a guess, and
    would affect what is chosen for the others. Variances outside the range of double precision are
    refused; `rows` are inspected where squares may have underflowed to 0.
    """
    total, sizes = total_variance(values), np.abs(origin) + np.abs(values.mean).max(axis=0)
    measured = settings.measured
    wrong = np.flatnonzero(measured & (values.seen > 0).any(axis=0) & ~(total <= LARGEST_VARIANCE))
    if len(wrong):
        raise DataError(
            "Column {column!r}: its values are too large for their variance to be computed in "
            "double precision.",
            code="variance-range",
            column=settings.names[wrong[0]],
            remedy="Look for a wrong value in it, or change its unit: divide the column by 1e150.",
        )
    doubt = np.flatnonzero(
        measured & (total < LEAST_VARIANCE) & (sizes < np.sqrt(LEAST_VARIANCE) * 1e15)
    )
    if rows is not None and len(doubt):
        low, high = rows.fold(column_range, doubt, engine=settings.engine)
        doubt = doubt[low < high]
    elif len(doubt):
        doubt = doubt[total[doubt] > rounding_variance(origin[doubt])]
    if len(doubt):
        raise DataError(
            "Column {column!r}: its values differ too little for their variance to be computed in "
            "double precision.",
            code="variance-range",
            column=settings.names[doubt[0]],
            remedy="Change its unit: multiply the column by 1e150.",
        )
    shown = np.asarray((values.seen > 0).all(axis=0))
    return Columns(measured & shown & (total > rounding_variance(origin)), shown, measured)


def column_range(block: Block, columns: NDArray[np.intp]) -> tuple[Array, Array]:
    """Kernel: least and greatest value of some columns among the labelled rows that count."""
    chosen = block.labelled if block.weight is None else block.labelled & (block.weight > 0)
    X = block.X[:, columns][chosen]
    return np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)


def _merged_ranges(total: tuple[Array, Array], more: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.minimum(total[0], more[0]), np.maximum(total[1], more[1])


column_range.merge = _merged_ranges  # type: ignore[attr-defined]


# --- features independent within a class ----------------------------------------------------------


def _learn_variances(settings: Settings, rows: Rows, unlabelled: bool) -> Learned:
    origin = typical_values(rows)
    params = (len(settings.classes), origin)
    moments: Moments = rows.fold(class_moments, params, engine=settings.engine)
    refuse_one_class(settings.classes, moments.weight)
    done = _variances_from_moments(settings, moments, origin, rows)
    used = np.flatnonzero(done.attributes["used_"])
    if not unlabelled or len(used) == 0:
        return done
    cut = Moments(moments.weight, *(part[:, used] for part in moments[1:]))
    likelihood = VarianceLikelihood(
        rows,
        settings.engine,
        cut._replace(mean=cut.mean + origin[used]),
        used,
        settings.covariance == "shared-diag",
        np.maximum(_smoothing(settings, cut), np.finfo(np.float64).tiny),
        None if settings.priors is None else done.attributes["class_prior_"],
    )
    result = run_em(likelihood, likelihood.start(), tol=settings.tol, max_passes=settings.max_iter)
    del done.attributes["moments_"]
    done.attributes["mean_"][:, used] = result.at.mean
    done.attributes["variance_"][:, used] = result.at.variance
    done = _with_unlabelled(settings, done, result, result.moments.mix, moments.weight)
    return done._replace(passes=result.passes + 2)


def _variances_from_moments(
    settings: Settings, moments: Moments, origin: Array, rows: Rows | None = None
) -> Learned:
    columns = used_columns(settings, moments, origin, rows)
    used = columns.used
    prior = settings.class_prior(moments.weight)
    variance = np.where(used, _variances(settings, moments), 1.0)
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
    return Learned(attributes, objective, _remarks(settings, columns, moments.weight))


def _variances(settings: Settings, moments: Moments) -> Array:
    seen, squares = moments.seen, moments.squares
    shared = settings.covariance == "shared-diag"
    if shared:
        seen = np.repeat(seen.sum(axis=0)[None], len(seen), axis=0)
        squares = np.repeat(squares.sum(axis=0)[None], len(seen), axis=0)
    lost = len(seen) if shared else 1
    divisor = np.where(seen > lost, seen - lost, seen) if settings.unbiased else seen
    with np.errstate(invalid="ignore"):
        variance = np.where(divisor > 0, squares / divisor, 1.0)
    # DEVIATION from the notes' plain variance: a feature that is constant within a class would
    # divide by zero.
    floor = _smoothing(settings, moments)
    return np.asarray(np.maximum(variance + floor, np.finfo(np.float64).tiny))


def _smoothing(settings: Settings, moments: Moments) -> Array:
    """Return what is added to the variances of each feature, in proportion to its own."""
    return np.asarray(settings.var_smoothing * total_variance(moments))


# --- covariances ----------------------------------------------------------------------------------


def _learn_covariances(settings: Settings, rows: Rows, unlabelled: bool) -> Learned:
    origin = typical_values(rows)
    n_classes, engine = len(settings.classes), settings.engine
    cross: CrossMoments = rows.fold(cross_moments, (n_classes, origin, None), engine=engine)
    values = value_moments(cross)
    refuse_one_class(settings.classes, values.weight)
    columns = used_columns(settings, values, origin, rows)
    some_missing = bool(cross.incomplete.weight.any())
    again = not columns.used.all() and some_missing
    state = None if some_missing else to_state(cross, origin)
    origin = origin[columns.used]
    if again:  # rows in which only unused columns are missing are complete after all
        cross = rows.fold(cross_moments, (n_classes, origin, columns.places), engine=engine)
    else:
        cross = select_columns(cross, columns.places)
    unlabelled = unlabelled and bool(columns.used.any())
    if unlabelled or cross.incomplete.seen.any():
        return _covariances_by_em(settings, rows, cross, origin, columns, unlabelled)
    done = _covariances_from_moments(settings, cross, origin, columns)
    if state is not None:
        done.attributes["moments_"] = state
    return done._replace(passes=1 + again)


def _covariances_from_moments(
    settings: Settings, cross: CrossMoments, origin: Array, columns: Columns
) -> Learned:
    values = value_moments(cross)
    floor = variance_floor(values, origin, settings.var_smoothing)
    found = covariances(cross, floor, settings.of_covariances)
    weights = values.weight  # rows without any value count for the base rates alone
    prior = settings.class_prior(weights)
    attributes = _over_all_columns(settings, origin + cross.mean, found, columns)
    attributes |= {"class_weight_seen_": weights, "class_prior_": prior}
    objective = -float(weights @ np.log(prior))
    whole = np.ones((1, cross.mean.shape[1]), dtype=bool)
    for y, (weight, scatter) in enumerate(zip(cross.weight, cross.scatter, strict=True)):
        whiten, log_det = factor(found.covariance[y % len(found.covariance)], whole)
        fit = np.trace(whiten[0] @ scatter @ whiten[0].T)
        objective += 0.5 * float(weight * (cross.mean.shape[1] * LOG_2PI + log_det[0]) + fit)
    remarks: list[str] = [
        *singular_remarks(found, settings.covariance, settings.classes, weights),
        *_remarks(settings, columns, weights),
    ]
    return Learned(attributes, objective, remarks)


def _covariances_by_em(
    settings: Settings,
    rows: Rows,
    cross: CrossMoments,
    origin: Array,
    columns: Columns,
    unlabelled: bool,
) -> Learned:
    values = value_moments(cross)
    weight = values.weight
    prior = settings.class_prior(weight)
    fit = CovarianceFit(
        rows,
        settings.engine,
        cross,
        origin,
        columns.places,
        variance_floor(values, origin, settings.var_smoothing),
        settings.of_covariances,
        settings.tol,
        settings.max_iter,
        None if settings.priors is None else prior,
    )
    result = fit.labelled()
    if unlabelled:
        result = fit.unlabelled()
    assert result is not None
    fitted = fit.fitted(result)
    attributes = _over_all_columns(settings, fitted.mean, fitted.found, columns)
    attributes |= {"class_weight_seen_": weight, "class_prior_": prior}
    remarks: list[str] = [
        *singular_remarks(fitted.found, settings.covariance, settings.classes, weight),
        *_remarks(settings, columns, weight),
    ]
    done = Learned(attributes, 0.0, remarks)
    if unlabelled:
        done = _with_unlabelled(settings, done, result, fitted.open_weight, weight)
    else:
        done = _after_em(settings, done, result, -float(weight @ np.log(prior)))
    return done._replace(passes=fitted.passes + 1 + unlabelled + (not columns.used.all()))


def _over_all_columns(
    settings: Settings, mean: Array, found: Covariances, columns: Columns
) -> dict[str, Any]:
    """Return the attributes over all columns: unused ones get mean 0, variance 1."""
    n_classes, width, places = len(mean), len(columns.used), columns.places
    whole_mean = np.zeros((n_classes, width))
    whole_mean[:, places] = mean
    covariance = np.repeat(np.eye(width)[None], len(found.covariance), axis=0)
    covariance[:, places[:, None], places] = found.covariance
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    return {
        "used_": columns.used.copy(),
        "mean_": whole_mean,
        "variance_": np.ascontiguousarray(np.broadcast_to(variance, (n_classes, width))),
        "covariance_": covariance[0].copy() if settings.covariance == "shared" else covariance,
        "shrinkage_": np.ascontiguousarray(np.broadcast_to(found.intensity, (n_classes,))),
    }


# --- after EM -------------------------------------------------------------------------------------


def _after_em(
    settings: Settings, done: Learned, result: EMResult[Any, Any], rest: float
) -> Learned:
    remarks = list(done.remarks)
    if not result.converged:
        remarks.insert(
            0,
            Problem(
                "The fit stopped after {passes} passes with a gradient of {score:.2g}, above "
                "{tol}.",
                code="not-converged",
                passes=result.passes,
                score=result.score,
                tol=Argument("tol", settings.tol),
                max_iter=Argument("max_iter", settings.max_iter),
                remedy="Increase {max_iter} or {tol}.",
            ),
        )
    done.attributes["log_likelihood_path_"] = np.array(result.path)
    return done._replace(
        objective=rest - result.value,
        remarks=remarks,
        converged=result.converged,
        certificate=float(result.score),
        proves="gradient norm",
    )


def _with_unlabelled(
    settings: Settings,
    done: Learned,
    result: EMResult[Any, Any],
    open_weight: Array,
    weight: Array,
) -> Learned:
    """Add what unlabelled rows said about the base rates.

    Labelled rows have base rates of their own, for example when one class is labelled more often
    than another; all rows together have those of both parts, and a new row comes from these.
    """
    labelled = -float(weight @ np.log(weight / weight.sum()))
    done = _after_em(settings, done, result, labelled)
    rates = weight / (weight + open_weight)
    done.attributes["class_prior_"] = settings.class_prior(weight + open_weight)
    done.attributes["unlabelled_share_"] = result.at.mix
    done.attributes["reveal_rate_"] = rates
    remarks = [
        Problem(
            "Learned from {rows:g} unlabelled rows too, in proportion to their class "
            "probabilities. This is right only if they belong to these classes and the classes are "
            "Gaussian.",
            code="unlabelled-used",
            rows=float(open_weight.sum()),
        )
    ]
    if rates.max() > RATES_DIFFER * rates.min():
        shown = [
            f"{name!s} {100 * rate:.2g} %"
            for name, rate in zip(settings.classes, rates, strict=True)
        ]
        remarks.append(
            Problem(
                "Labels seem to have been revealed at different rates ({rates}), so the base rates "
                "of the labelled rows are not those of all rows; class_prior_ holds the latter.",
                code="labelling-rates-differ",
                rates=", ".join(shown),
                priors=Argument("priors", ...),
                remedy="If labelled rows are a fair sample of all rows, the classes are not "
                "Gaussian and this is wrong: give the base rates with {priors}.",
            )
        )
    return done._replace(remarks=[*done.remarks, *remarks])


# --- do unlabelled rows help? ---------------------------------------------------------------------


class Judged(NamedTuple):
    """Whether unlabelled rows are to be used, and how that was found."""

    use: bool
    loss: Array | None  # (2,): mean log loss of left-out labelled rows, without and with them
    remarks: list[str]
    passes: int = 0


def judge_unlabelled(settings: Settings, rows: Rows, groups: ArrayLike | None) -> Judged:
    """Compare fits with and without the unlabelled rows on labelled rows that neither has seen.

    They are used where the log loss is not worse, nor the log loss of probabilities that are mixed
    with one hundredth of the base rates: the former may depend on a single outlier. To allow for
    half a standard error instead was tried on simulated classes: it gains where classes are
    normal, and lets through fits that are badly misled where they are not.

    Both are judged with the base rates of the labelled rows they learned from: unlabelled rows
    may well have others, and that is not what is in question.
    """
    engine = settings.engine
    codes, weight = rows.labels(engine=engine), rows.weights(engine=engine)
    known = np.where(np.isnan(codes) | (weight == 0), -1, codes).astype(np.intp)
    counts = np.bincount(known[known >= 0], minlength=len(settings.classes))
    refuse_one_class(settings.classes, counts.astype(np.float64))
    found = row_groups(rows, known, weight, groups=groups, engine=engine)
    n_folds = min(FOLDS, found.fewest(known))
    if n_folds < 2:
        remark = Problem(
            "A class has labelled rows in one group only, so none could be left out to judge "
            "whether unlabelled rows help.",
            code="unlabelled-not-judged",
            ignore=Argument("unlabelled", "ignore"),
            remedy="Label more rows of it, or use {ignore}.",
        )
        return Judged(True, None, [remark])
    folds = deal_folds(found, known, weight, n_folds)
    own, passes = _left_out_log_prob(settings, rows, known, weight, folds)
    labelled = np.flatnonzero(known >= 0)
    size = np.bincount(known[labelled], weights=weight[labelled])
    base = (size / size.sum())[known[labelled]]
    own, mean = own[:, labelled], weight[labelled] / size.sum()
    loss = -(own @ mean)
    kept_off = -(np.log((1.0 - KEPT_OFF) * np.exp(own) + KEPT_OFF * base) @ mean)
    for without, used in (loss, kept_off):
        if used > without:
            remark = Problem(
                "Unlabelled rows were not used: with them the log loss of left-out labelled rows "
                "is {used:.3g}, without them {without:.3g}. They may not belong to these classes, "
                "or the classes may not be Gaussian. class_prior_ holds the base rates of the "
                "labelled rows.",
                code="unlabelled-not-used",
                used=float(used),
                without=float(without),
                priors=Argument("priors", ...),
                remedy="If those are not a fair sample, give the base rates with {priors}.",
            )
            return Judged(False, loss, [remark, *found.remarks()], passes)
    return Judged(True, loss, found.remarks(), passes)


def _left_out_log_prob(
    settings: Settings, rows: Rows, known: NDArray[np.intp], weight: Array, folds: NDArray[np.intp]
) -> tuple[Array, int]:
    """Return the log probability of each row's own class, without and with unlabelled rows.

    Shape (2, n), under the base rates of the labelled rows; and the passes that it took.
    """
    judged = replace(settings, tol=max(settings.tol, JUDGED_TOL))
    own, passes = np.zeros((2, len(rows))), 0
    for fold in range(int(folds.max()) + 1):
        part = WeightedRows(rows, np.where(folds == fold, 0.0, weight))
        out = np.flatnonzero(folds == fold)
        for way in (0, 1):
            done = _learn(judged, part, unlabelled=bool(way))
            size = done.attributes["class_weight_seen_"]
            prior = np.log(size / size.sum())
            joint = joint_log_proba(done.attributes, prior, rows, settings.engine, folds == fold)
            log_prob = np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))
            own[way, out] = log_prob[out, known[out]]
            passes += done.passes + 1
    return own, passes


# --- calibrated on rows left out ------------------------------------------------------------------


def _calibrated(settings: Settings, rows: Rows, groups: ArrayLike | None, done: Learned) -> Learned:
    """Add what turns densities into probabilities, from rows that they have not seen."""
    engine, n_classes = settings.engine, len(settings.classes)
    codes, weight = rows.labels(engine=engine), rows.weights(engine=engine)
    known = np.where(np.isnan(codes) | (weight == 0), -1, codes).astype(np.intp)
    if groups is None and len(rows) <= SMALL:
        groups = _equal_rows(rows, known, engine)
    found = row_groups(rows, known, weight, groups=groups, engine=engine)
    alone = found.alone(known)
    if alone:  # always learned from, never left out
        known[np.isin(known, alone)] = -1
        found = row_groups(rows, known, weight, groups=groups, engine=engine)
    if n_classes - len(alone) < 2:
        size = np.zeros(n_classes)
        cal = Calibration(size, 0.0, np.full(2, np.nan), False)
        return _with_calibration(done, cal, [_not_judged()], 0)
    folds = deal_folds(found, known, weight, min(FOLDS, found.fewest(known)))
    judged = replace(settings, tol=max(settings.tol, JUDGED_TOL))
    unlabelled = bool(done.attributes.get("unlabelled_used_", False))
    ratio, passes = np.zeros((len(rows), n_classes)), 0
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        part = WeightedRows(rows, np.where(out, 0.0, weight))
        part_done = _learn(judged, part, unlabelled=unlabelled)
        none = np.zeros(n_classes)
        ratio[out] = ratios(joint_log_proba(part_done.attributes, none, rows, engine, out)[out])
        passes += part_done.passes + 1
    size = done.attributes["class_weight_seen_"]
    own = np.flatnonzero(folds >= 0)
    cal = calibrate(ratio[own], known[own], weight[own], folds[own], np.log(size / size.sum()))
    remarks: list[str] = [] if cal.better else [_constant(cal.loss)]
    if not unlabelled:
        remarks += found.remarks()
    return _with_calibration(done, cal, remarks, passes)


def _equal_rows(rows: Rows, known: NDArray[np.intp], engine: Engine) -> NDArray[np.intp]:
    """Return groups of equal rows: in a small table nothing tells chance from copying."""
    X = rows.map(block_features, engine=engine)
    held = np.column_stack([np.where(np.isnan(X), np.inf, X), known])
    return np.asarray(np.unique(held, axis=0, return_inverse=True)[1].ravel(), dtype=np.intp)


def block_features(block: Block, _: None) -> Array:
    """Kernel: the features."""
    return block.X


def _with_calibration(done: Learned, cal: Calibration, remarks: list[str], passes: int) -> Learned:
    more: dict[str, Any] = {
        "offset_": cal.offset,
        "slope_": cal.slope,
        "better_than_constant_": cal.better,
    }
    if np.isfinite(cal.loss).all():
        more["left_out_loss_"] = cal.loss
    done.attributes.update(more)
    return done._replace(remarks=[*remarks, *done.remarks], passes=done.passes + passes)


def few_counted_remark(rows: Rows, engine: Engine = None) -> list[Problem]:
    """Say that weights count as far fewer rows than there are; nothing without labelled rows."""
    codes, weight = rows.labels(engine=engine), rows.weights(engine=engine)
    own = weight[(weight > 0) & ~np.isnan(codes)]
    total = float(own.sum())
    if total >= 0.5 * len(own):
        return []
    remark = Problem(
        "The weights of {rows:,} labelled rows sum to {total:.3g}, and weights are read as counts "
        "of rows: probabilities are those of {total:.3g} rows, nearer to the base rates.",
        code="few-counted",
        rows=len(own),
        total=total,
        remedy="Divide weights that only say how much a row stands for by their mean.",
    )
    return [remark]


def _not_judged() -> Problem:
    return Problem(
        "Probabilities could not be checked: all but one class have labelled rows in one group "
        "only, so none could be left out. Every row gets the base rates.",
        code="calibration-not-judged",
        plain=Argument("calibrate", False),
        remedy="Label more rows, or take the densities as they are with {plain}.",
    )


def _constant(loss: Array) -> Problem:
    if loss[0] < loss[1]:
        return Problem(
            "On left-out rows the densities of the classes do not tell them apart (the slope of "
            "their ratio is 0), so every row gets the base rates.",
            code="constant-predicted",
            model=float(loss[0]),
            constant=float(loss[1]),
            plain=Argument("calibrate", False),
            remedy="{plain} gives what the densities say all the same.",
        )
    return Problem(
        "On left-out rows the model is not better than the base rates (log loss {model:.4g} "
        "against {constant:.4g}), so every row gets the base rates.",
        code="constant-predicted",
        model=float(loss[0]),
        constant=float(loss[1]),
        plain=Argument("calibrate", False),
        remedy="{plain} gives what the densities say all the same.",
    )


def joint_log_proba(
    fitted: Mapping[str, Any],
    log_prior: Array,
    rows: Rows,
    engine: Engine,
    chosen: NDArray[np.bool_] | None = None,
) -> Array:
    """Return log prior + log p(observed features | class) for fitted attributes, (n, K).

    With `chosen`, of these rows only, and 0 for the others.
    """
    factors = tuple(factors_of(fitted))
    if "covariance_" in fitted:
        params: tuple[Any, ...] = (log_prior, gaussians(fitted))
        return rows.map(log_joint, (chosen, factors, True, params), engine=engine)
    used, variance = measurements(fitted), fitted["variance_"]
    constant = np.where(used, np.log(2 * np.pi * variance), 0.0)
    params = (log_prior, fitted["mean_"], used / variance, constant)
    return rows.map(log_joint, (chosen, factors, False, params), engine=engine)


def log_joint(block: Block, params: tuple[Any, ...]) -> Array:
    """Kernel of the map: log prior plus log density of what was seen, (n, K)."""
    chosen, factors, matrices, own = params
    part = block
    if chosen is not None:
        rows = np.flatnonzero(chosen[block.start : block.start + len(block)])
        out = np.zeros((len(block), len(own[0])))
        if len(rows) == 0:
            return out
        part = Block(np.ascontiguousarray(block.X[rows]))
    found = joint_of_covariances(part, own) if matrices else joint_of_variances(part, own)
    if factors:
        found += log_prob_of_factors(part, (found.shape[1], factors))
    if chosen is None:
        return found
    out[rows] = found
    return out


def factors_of(fitted: Mapping[str, Any]) -> list[Factor]:
    """Return the factors of columns that are no measurements."""
    if "factor_tables_" not in fitted:
        return []
    return as_factors(fitted["factor_tables_"], fitted["factors_"])


def measurements(fitted: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which columns the Gaussians are about."""
    used: NDArray[np.bool_] = fitted["used_"]
    if "factor_tables_" not in fitted:
        return used
    others = [one["column"] for one in fitted["factor_tables_"].values()]
    used = used.copy()
    used[others] = False
    return used


def gaussians(fitted: Mapping[str, Any]) -> Classes:
    """Return the classes as the kernels of densities.py need them."""
    covariance = fitted["covariance_"]
    matrices = covariance[None] if covariance.ndim == 2 else covariance
    return Classes(fitted["mean_"], matrices, measurements(fitted))


# --- remarks --------------------------------------------------------------------------------------


def _remarks(settings: Settings, columns: Columns, weight: Array) -> list[str]:
    remarks: list[str] = []
    for left_out, code, text in (
        (
            columns.measured & ~columns.shown,
            "column-not-observed",
            "Not used, because some class has no value in them: {columns}.",
        ),
        (
            columns.measured & columns.shown & ~columns.used,
            "constant-columns",
            "Not used, because all labelled rows have the same value: {columns}.",
        ),
    ):
        if left_out.any():
            names = [settings.names[j] for j in np.flatnonzero(left_out)]
            remarks.append(Problem(text, code=code, columns=listed(names, most=8)))
    width = int(columns.used.sum())
    return remarks + _few_rows(settings, width, weight) + positive_remark(settings.classes, weight)


def _few_rows(settings: Settings, width: int, weight: Array) -> list[str]:
    """Name classes with too few rows for variances or covariances of their own."""
    kind = settings.covariance
    enough = {"diag": 3, "full": 2 * (width + 1)}.get(kind, 0)
    return [
        Problem(
            "Class {label!s}: {what} of {features} features estimated from {rows:g} {are} "
            "imprecise.",
            code="few-rows-in-class",
            label=label,
            what="variances" if kind == "diag" else "the covariance",
            features=width,
            rows=float(size),
            are=f"row{'' if size == 1 else 's'} {'are' if kind == 'diag' else 'is'}",
            other=Argument("covariance", "shared-diag" if kind == "diag" else "shrunk"),
            remedy="Use {other}.",
        )
        for label, size in zip(settings.classes.tolist(), weight, strict=True)
        if width < size < enough or (enough == 3 and size < enough)
    ]


def narrow_remarks(settings: Settings, variance: Array, used: NDArray[np.bool_]) -> list[str]:
    """Name columns that are constant in some class, and vary in others.

    The Gaussian of such a class has no width to speak of: a row with another value is impossible.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        relative = variance / variance.max(axis=0)
    which = np.flatnonzero(used & (relative.min(axis=0) <= NARROW))
    if not len(which):
        return []
    return [
        Problem(
            "Constant within a class ({label!s}) but not elsewhere: {columns}. Rows with another "
            "value get a probability of 0 or 1.",
            code="constant-in-class",
            label=settings.classes[int(relative[:, which[0]].argmin())],
            columns=listed([settings.names[j] for j in which], most=8),
            shared=Argument("covariance", "shared-diag"),
            remedy="Leave such columns out, or use {shared}.",
        )
    ]
