"""For which base rates are the probabilities of a classifier?

    rates[y]  is proportional to  (weight of the class's rows) * factor[y],  or a stated prior

Probabilities of a fit are right where the base rates are those of its rows (factor 1), times its
class weights (`class_weight`, `scale_pos_weight`, ...), or those that it was told (`priors`,
`class_prior`, `now_at_`). Wrappers pass them on, undo them (calibration, a stack), or mix several.
Assumes that probabilities are right for some base rates: bad calibration is not looked for. Does
not guess: where no base rates follow, it says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import (
    read_by_class,
    read_shares,
    read_weight,
    refuse_one_class,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Problem, UsageError
from scarce.io.labels import label_array
from scarce.results import Record, short

WEIGHT_PARAMETERS = (
    "class_weight",
    "scale_pos_weight",
    "is_unbalance",
    "auto_class_weights",
    "class_weights",
)
BALANCED = ("balanced", "balanced_subsample", "Balanced")
LEAF = 20  # rows in a leaf below which class weights hardly move its share of a class
SMALL_LEAVES = 0.1  # share of the rows in such leaves from which on the base rates are unclear
SAME = 1e-9  # base rates that differ by less are equal


class HasParams(Protocol):
    """An estimator that lists its parameters, as scikit-learn's do."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name."""


@dataclass(frozen=True, eq=False)
class BaseRates(Record):
    """The base rates that a classifier's probabilities are for, and where they come from.

    Parameters
    ----------
    rates : ndarray of shape (n_classes,), or None
        In the order of `classes`; None where they are not known.
    population : ndarray of shape (n_classes,), or None
        Base rates of the population that was meant: `rates`, except that class weights are no
        statement about it, and then those of the training rows, where these are known.
    origin : {"rows", "weights", "stated", "unknown"}
        Those of the training rows; the same times class weights; stated by the user; not known.
    reason : Problem
        In words: where they come from, or why they are not known.
    classes : tuple
        Names of the classes; empty where they are not known.
    """

    rates: Array | None
    population: Array | None
    origin: str
    reason: Problem
    classes: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.rates is None:
            return str(self.reason)
        names = self.classes or tuple(range(len(self.rates)))
        each = ", ".join(
            f"{name} {short(rate)}" for name, rate in zip(names, self.rates, strict=True)
        )
        return f"{each}: {self.reason}"


@dataclass(frozen=True)
class TrainingRows:
    """What is known of the rows that a classifier was fitted to.

    Parameters
    ----------
    classes : ndarray, or None
        Names of the classes.
    weight, count : ndarray of shape (n_classes,), or None
        Total weight and number of rows of each class; None where the rows are not known.
    """

    classes: NDArray[Any] | None = None
    weight: Array | None = None
    count: Array | None = None

    @property
    def rates(self) -> Array | None:
        """Share of each class in the weight of the rows."""
        total = 0.0 if self.weight is None else self.weight.sum()
        return self.weight / total if self.weight is not None and total > 0 else None

    def of(self, classes: NDArray[Any] | None) -> TrainingRows:
        """Return the same rows under other names of the classes."""
        return TrainingRows(classes, self.weight, self.count)


def find_base_rates(
    estimator: HasParams,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BaseRates:
    """Return the base rates that the probabilities of a classifier are for.

    Parameters
    ----------
    estimator : classifier
        Of scarce, scikit-learn or a boosting library, fitted or not. Pipelines, searches,
        calibration, ensembles and thresholds around one are looked through.
    y : array-like of shape (n,), optional
        Labels of the rows that it was or will be fitted to: few classifiers store their base rates.
    sample_weight : array-like of shape (n,), optional
        Weights of these rows, where the fit took them.

    Returns
    -------
    BaseRates
        With `rates` None and a `reason` where they are not known.

    **Assumes** that the probabilities are right for some base rates: it reads parameters and
    fitted attributes and checks no prediction. Row weights describe the population; class weights
    distort it.

    Notes
    -----
    Calibration (sigmoid, isotonic) and the final estimator of a stack are fitted to the rows with
    their sample weights: whatever class weights or priors are inside them is undone. A mean of
    models (voting) for different base rates is for none, nor is one-versus-rest with class weights
    and more than two classes. Class weights hardly act in leaves of a few rows, so that nothing
    follows from those of a deep tree or forest. `SVC` calibrates itself on rows without weights.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> y = np.repeat(["legit", "fraud"], [90, 10])
    >>> print(find_base_rates(LogisticRegression(class_weight="balanced"), y))
    fraud 0.5, legit 0.5: those of the training rows, times class_weight='balanced'
    >>> find_base_rates(LogisticRegression(), y).rates
    array([0.1, 0.9])
    >>> print(find_base_rates(LogisticRegression()))
    The base rates are those of the training rows, which LogisticRegression does not store.
    """
    refuse_other_index(y=y, sample_weight=sample_weight)
    classes = getattr(estimator, "classes_", None)
    classes = None if classes is None else np.asarray(classes)
    if y is None:
        return mix_of(estimator, TrainingRows(classes))
    labels = np.asarray(label_array(y))
    labels = labels.ravel() if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if classes is None:
        known = [label for label in labels.tolist() if label is not None and label == label]
        classes = np.unique(np.array(known))
    weight = None
    if sample_weight is not None:
        weight = read_weight(sample_weight, len(labels), "sample_weight")
    rows = training_rows(labels, weight, classes)
    _refuse_other_labels(labels, classes)
    refuse_one_class(classes, class_sums(labels, weight, classes))
    return mix_of(estimator, rows)


def _refuse_other_labels(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse labels that the estimator does not know: these are not its training rows."""
    known = set(classes.tolist())
    for label in dict.fromkeys(labels.tolist()):
        if label is not None and label == label and label not in known:
            raise DataError(
                "{argument} holds {label!r}, which is not among the classes {classes}.",
                code="unknown-class",
                argument=Argument("y"),
                label=label,
                classes=classes.tolist(),
                remedy="Pass the labels of the rows that the estimator was fitted to.",
            )


def gives_probabilities(estimator: object) -> bool:
    """Whether a classifier has predict_proba, now or after its fit."""
    if hasattr(estimator, "predict_proba"):
        return True
    return getattr(estimator, "final_estimator", estimator) is None  # a stack, with its default


def training_rows(
    labels: NDArray[Any], weight: Array | None, classes: NDArray[Any]
) -> TrainingRows:
    """Return the total weight and the number of rows of each class."""
    count = class_sums(labels, None, classes)
    held = count if weight is None else class_sums(labels, weight, classes)
    return TrainingRows(classes, held, count)


def class_sums(labels: NDArray[Any], weight: Array | None, classes: NDArray[Any]) -> Array:
    """Return the total weight of each class; unlabelled rows count for none."""
    weight = np.ones(len(labels)) if weight is None else weight
    if labels.dtype == object:  # may hold None and text
        hits = [np.asarray(labels == label, dtype=bool) for label in classes]
        return np.array([weight[one].sum() for one in hits], dtype=np.float64)
    names, place = np.unique(labels, return_inverse=True)
    sums = dict(zip(names.tolist(), np.bincount(place, weights=weight), strict=True))
    return np.array([sums.get(label, 0.0) for label in classes.tolist()], dtype=np.float64)


# --- looking through an estimator -----------------------------------------------------------------


def mix_of(estimator: HasParams, rows: TrainingRows) -> BaseRates:
    """Return the base rates of an estimator that was fitted to these rows."""
    told = getattr(estimator, "_base_rates_of", None)  # of `Calibrated`
    if told is not None:
        return told(rows)  # type: ignore[no-any-return]
    own = getattr(estimator, "classes_", None)
    if own is not None and not isinstance(own, list):
        rows = rows.of(np.asarray(own))
    looks = [_wrapped, _of_ensemble, _stated, _resampled]
    for look in looks[2:] if _is_ours(estimator) else looks:  # ours: no import of what may wrap
        found = look(estimator, rows)
        if found is not None:
            return found
    return _weighted(estimator, rows)


def _wrapped(estimator: Any, rows: TrainingRows) -> BaseRates | None:
    """Look into what holds one estimator: pipelines, searches, thresholds, calibration."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_selection import RFE
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
    from sklearn.semi_supervised import SelfTrainingClassifier

    steps = getattr(estimator, "steps", None)
    if steps:
        for _, step in steps:
            if hasattr(step, "fit_resample"):
                return _unknown(
                    rows,
                    Problem(
                        "{step} changes how many rows of each class the classifier is fitted to.",
                        code="unclear-base-rate",
                        step=type(step).__name__,
                    ),
                )
        return mix_of(steps[-1][1], rows)
    if isinstance(estimator, FrozenEstimator):  # fitted to other rows, before
        return mix_of(estimator.estimator, TrainingRows())
    if isinstance(estimator, CalibratedClassifierCV):
        return _calibrated(estimator, rows)
    if isinstance(estimator, (FixedThresholdClassifier, TunedThresholdClassifierCV, RFE)):
        return mix_of(getattr(estimator, "estimator_", estimator.estimator), rows)
    best = getattr(estimator, "best_estimator_", None)
    if best is not None or {"estimator", "refit"} <= set(_params(estimator)):
        if best is None:
            return _unknown(
                rows,
                Problem(
                    "{search} has not chosen an estimator.",
                    code="unclear-base-rate",
                    search=_kind(estimator),
                ),
            )
        return mix_of(best, rows)
    if isinstance(estimator, SelfTrainingClassifier):
        return _unknown(
            rows,
            Problem(
                "SelfTrainingClassifier adds rows with predicted labels.", code="unclear-base-rate"
            ),
        )
    return None


def _calibrated(estimator: Any, rows: TrainingRows) -> BaseRates:
    """Calibration is a fit to the rows, and undoes all that is inside; a temperature is not."""
    if estimator.method != "temperature":
        return of_rows(rows, "CalibratedClassifierCV")
    inner = mix_of(estimator.estimator, rows)
    if inner.origin == "rows":
        return inner
    return _unknown(
        rows,
        Problem(
            "{method} does not move probabilities to the base rates of the rows: {inner}",
            code="unclear-base-rate",
            method=Argument("method", "temperature"),
            inner=inner.reason,
        ),
    )


def _of_ensemble(estimator: Any, rows: TrainingRows) -> BaseRates | None:
    """Look into what holds several estimators."""
    from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
    from sklearn.multiclass import OneVsRestClassifier

    places = rows.of(None if rows.classes is None else np.arange(len(rows.classes)))
    if isinstance(estimator, StackingClassifier):
        final = getattr(estimator, "final_estimator_", estimator.final_estimator)
        return of_rows(rows, "StackingClassifier") if final is None else mix_of(final, places)
    if isinstance(estimator, VotingClassifier):
        members = getattr(estimator, "estimators_", None)
        if members is None:
            members = [one for _, one in estimator.estimators if not isinstance(one, str)]
        return _mean_of([mix_of(one, places) for one in members], rows, _kind(estimator))
    if isinstance(estimator, BaggingClassifier):
        members = getattr(estimator, "estimators_", None)
        members = [estimator.estimator] if members is None else members
        if members[0] is None:
            return of_rows(rows, "BaggingClassifier")
        return _mean_of([mix_of(one, places) for one in members], rows, _kind(estimator), near=0.1)
    if isinstance(estimator, OneVsRestClassifier):
        return _one_versus_rest(estimator, rows)
    return None


def _mean_of(
    found: Sequence[BaseRates], rows: TrainingRows, kind: str, near: float = SAME
) -> BaseRates:
    """A mean of probabilities is for base rates only where all members are for the same."""
    if all(one.origin == "rows" for one in found):
        return of_rows(rows, kind)
    for one in found:
        if one.origin == "unknown":
            return one
    known = [one.rates for one in found if one.rates is not None]
    rates = np.mean(known, axis=0) if known else None
    if rates is None or len(known) < len(found) or np.abs(np.array(known) - rates).max() > near:
        return _unknown(
            rows,
            Problem(
                "{kind} averages probabilities for different base rates ({each}).",
                code="unclear-base-rate",
                kind=kind,
                each="; ".join(dict.fromkeys(_said(one) for one in found)),
            ),
        )
    stated = all(one.origin == "stated" for one in found)
    population = rates if stated else rows.rates
    return BaseRates(
        rates, population, "stated" if stated else "weights", found[0].reason, _names(rows)
    )


def _one_versus_rest(estimator: Any, rows: TrainingRows) -> BaseRates:
    """Of two classes it is one model; of more, K models that class weights move apart."""
    members = getattr(estimator, "estimators_", [estimator.estimator])
    count = None if rows.classes is None else len(rows.classes)
    if count == 2:
        return mix_of(members[0], rows.of(np.arange(2)))
    each = [mix_of(one, TrainingRows(np.arange(2))) for one in members]
    odd = [one for one in each if one.origin != "rows"]
    if not odd:
        return of_rows(rows, "OneVsRestClassifier")
    return _unknown(
        rows,
        Problem(
            "OneVsRestClassifier combines models for different base rates ({inner}).",
            code="unclear-base-rate",
            inner=_said(odd[0]),
        ),
    )


# --- what an estimator says of itself -------------------------------------------------------------


def _stated(estimator: Any, rows: TrainingRows) -> BaseRates | None:
    """Return base rates that the user gave to the estimator."""
    now = getattr(estimator, "now_at_", None)
    if now is not None:
        return _told(np.asarray(now, dtype=np.float64), rows, Argument("now_at_"))
    params, kind = _params(estimator), _kind(estimator)
    if {"prior", "kept", "weighted"} <= set(params) or {"costs", "now_at"} <= set(params):
        return _recalibrated(estimator, params, rows)
    for name in ("priors", "class_prior"):
        if params.get(name) is not None and kind != "ComplementNB":
            rates = _fitted_prior(estimator)
            if rates is None:
                rates = read_shares(params[name], _order(rows, params[name]), name)
            return _told(rates, rows, Argument(name, params[name]))
    if "default_prevalence" in params:
        return _of_maxent(estimator, rows)
    if "fit_prior" in params or kind == "DummyClassifier":
        return _of_prior_setting(kind, params, rows)
    return None


def _of_maxent(estimator: Any, rows: TrainingRows) -> BaseRates | None:
    """Return the shares that `MaxentClassifier` was told or assumed; None: those of the rows."""
    if not hasattr(estimator, "class_prior_"):
        return not_fitted(estimator, rows)
    if getattr(estimator, "class_prior_from_", "assumed") == "observed":
        return None
    rates = np.asarray(estimator.class_prior_, dtype=np.float64)
    return _told(rates, rows, Argument("class_prior_"))


def _of_prior_setting(kind: str, params: Mapping[str, Any], rows: TrainingRows) -> BaseRates | None:
    """Return equal base rates where a setting says so; None: those of the rows."""
    even = None if rows.classes is None else np.full(len(rows.classes), 1.0 / len(rows.classes))
    if kind == "ComplementNB":  # its class prior does not enter its probabilities
        if even is None or len(even) != 2 or params.get("norm"):
            why = Problem(
                "Probabilities of ComplementNB are for no base rates.", code="unclear-base-rate"
            )
            return _unknown(rows, why)
        return _told(even, rows, Argument("fit_prior", False))
    if params.get("fit_prior") is False and even is not None:
        return _told(even, rows, Argument("fit_prior", False))
    strategy = params.get("strategy", "prior")
    if strategy == "uniform" and even is not None:
        return _told(even, rows, Argument("strategy", "uniform"))
    if strategy != "prior":
        why = Problem("DummyClassifier predicts classes.", code="unclear-base-rate")
        return _unknown(rows, why)
    return None


def _recalibrated(
    estimator: Any, params: Mapping[str, Any], rows: TrainingRows
) -> BaseRates | None:
    """Return what `PriorCorrected` or `CostSensitiveClassifier` will predict for."""
    if hasattr(estimator, "estimator_"):
        return mix_of(estimator.estimator_, rows)
    given = params.get("now_at", params.get("prior"))
    if given is not None and not isinstance(given, str):
        name = "now_at" if "now_at" in params else "prior"
        return _told(read_shares(given, _order(rows, given), name), rows, Argument(name, given))
    if "costs" in params:  # undoes weights, and keeps what was stated
        inner = mix_of(params["estimator"], rows)
        return of_rows(rows, _kind(estimator)) if inner.origin == "weights" else inner
    if given is None and params.get("kept") is None:
        return of_rows(rows, _kind(estimator))
    return not_fitted(estimator, rows)


def _resampled(estimator: Any, rows: TrainingRows) -> BaseRates | None:
    """Return that the base rates are unclear where an estimator draws its rows by class."""
    params, kind = _params(estimator), _kind(estimator)
    if params.get("sampling_strategy") is not None:
        return _unknown(
            rows,
            Problem("{kind} draws rows of each class anew.", code="unclear-base-rate", kind=kind),
        )
    own = [name for name in WEIGHT_PARAMETERS if _is_set(params.get(name))]
    nested = [
        f"{name}={value!r}"
        for name, value in _params(estimator, deep=True).items()
        if name.rpartition("__")[2] in WEIGHT_PARAMETERS and "__" in name and _is_set(value)
    ]
    if nested or len(own) > 1:
        return _unclear_weights(estimator, nested or [f"{n}={params[n]!r}" for n in own], rows)
    return None


def _fitted_prior(estimator: Any) -> Array | None:
    """Return base rates that a fit stored."""
    for name in ("class_prior_", "priors_"):
        held = getattr(estimator, name, None)
        if held is not None and np.ndim(held) == 1:
            return np.asarray(held, dtype=np.float64)
    if getattr(estimator, "class_log_prior_", None) is not None:
        return np.asarray(np.exp(estimator.class_log_prior_))
    share = getattr(estimator, "prevalence_", None)
    return None if share is None else np.array([1.0 - float(share), float(share)])


def _plain(estimator: Any, rows: TrainingRows) -> BaseRates:
    """Return the base rates of the rows, as the estimator stored them if it did."""
    stored, counted = _fitted_prior(estimator), rows.rates
    if stored is None or (
        counted is not None and (not _is_ours(estimator) or np.abs(stored - counted).max() <= SAME)
    ):
        return of_rows(rows, _kind(estimator))
    return of_rows(TrainingRows(rows.classes, stored, stored), _kind(estimator))


# --- class weights --------------------------------------------------------------------------------


def _weighted(estimator: Any, rows: TrainingRows) -> BaseRates:
    """Return the base rates of the rows times class weights."""
    params = _params(estimator)
    found = [(name, params[name]) for name in WEIGHT_PARAMETERS if _is_set(params.get(name))]
    if _kind(estimator) in ("SVC", "NuSVC"):
        return _platt(estimator, rows)
    if not found:
        return _plain(estimator, rows)
    name, setting = found[0]
    said = f"{name}={setting!r}"
    if name == "class_weight" and _small_leaves(estimator) > SMALL_LEAVES:
        return _unknown(
            rows,
            Problem(
                "{kind} has {setting} and leaves of fewer than {leaf} rows, in which class weights "
                "hardly act.",
                code="unclear-class-weights",
                kind=_kind(estimator),
                setting=Argument(name, setting),
                leaf=LEAF,
            ),
        )
    n_classes = None if rows.classes is None else len(rows.classes)
    why = Problem(
        "those of the training rows, times {setting}",
        code="class-weights",
        setting=Argument(name, setting),
    )
    if rows.weight is None:
        even = setting in BALANCED if isinstance(setting, str) else False
        rates = np.full(n_classes, 1.0 / n_classes) if even and n_classes else None
        return BaseRates(rates, None, "weights", why, _names(rows))
    factor = class_factors(name, setting, rows)
    if factor is None:
        return _unclear_weights(estimator, [said], rows)
    trained = rows.weight * factor
    return BaseRates(trained / trained.sum(), rows.rates, "weights", why, _names(rows))


def _platt(estimator: Any, rows: TrainingRows) -> BaseRates:
    """Return the counts of the rows: libsvm's own calibration knows no weights."""
    why = Problem(
        "those of the training rows, counted without weights, on which {kind} calibrates itself",
        code="training-rows",
        kind=_kind(estimator),
    )
    rates = None if rows.count is None else rows.count / rows.count.sum()
    return BaseRates(rates, rows.rates, "rows", why, _names(rows))


def _small_leaves(estimator: Any) -> float:
    """Return the share of the rows of fitted trees that are in leaves of few rows."""
    held = getattr(estimator, "estimators_", [estimator])
    trees = [one.tree_ for one in np.ravel(held) if hasattr(one, "tree_")]
    shares = [0.0]
    for tree in trees:
        rows = tree.n_node_samples[tree.children_left == -1]
        shares.append(float(rows[rows < LEAF].sum() / rows.sum()))
    return max(shares)


def class_weight_setting(estimator: Any, path: str = "") -> tuple[str, Any]:
    """Return the full name and the value of the parameter that weights classes, or ("", None).

    Of the estimator itself or the last step of a pipeline; not looked for further inside.
    """
    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        return class_weight_setting(last, f"{path}{name}__")
    own = _params(estimator)
    found = [(path + name, own[name]) for name in WEIGHT_PARAMETERS if _is_set(own.get(name))]
    return found[0] if len(found) == 1 else ("", None)


def fix_balanced(estimator: Any, labels: NDArray[Any], weight: Array | None) -> None:
    """Put numbers in the place of class_weight="balanced" where rows have weights.

    Libraries, and versions of them, differ in whether "balanced" counts rows or their weights.
    """
    where, setting = class_weight_setting(estimator)
    if weight is None or not isinstance(setting, str) or setting != "balanced":
        return
    known = np.unique(np.array([one for one in labels.tolist() if one is not None and one == one]))
    sums = np.maximum(class_sums(labels, weight, known), 1e-300)
    numbers = (sums.mean() / sums).tolist()
    estimator.set_params(**{where: dict(zip(known.tolist(), numbers, strict=True))})


def class_factors(name: str, setting: Any, rows: TrainingRows) -> Array | None:
    """Return what a fit multiplied the weight of each class by; None where it is not clear.

    Examples
    --------
    >>> rows = TrainingRows(np.array([0, 1]), np.array([90.0, 10.0]), np.array([90.0, 10.0]))
    >>> class_factors("scale_pos_weight", 9.0, rows), class_factors("class_weight", {1: 3}, rows)
    (array([1., 9.]), array([1., 3.]))
    """
    assert rows.classes is not None
    assert rows.weight is not None
    assert rows.count is not None
    n, sums, counts = len(rows.classes), rows.weight, rows.count
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(setting, Mapping):
            labels = rows.classes.tolist()
            kept = {label: value for label, value in setting.items() if label in labels}
            found = read_by_class(kept, labels, name)
            return np.where(np.isnan(found), 1.0, found)
        if name == "scale_pos_weight" and n == 2:
            return np.array([1.0, float(setting)])
        if name == "class_weights" and np.shape(setting) == (n,):
            return np.asarray(setting, dtype=np.float64)
        if name == "is_unbalance" and n == 2:
            return np.asarray(counts.max() / counts)
        if name == "auto_class_weights" and setting == "SqrtBalanced":
            return np.asarray(np.sqrt(sums.max() / sums))
        if name == "auto_class_weights" and setting == "Balanced":
            return np.asarray(sums.mean() / sums)
        even = np.ptp(sums / counts) <= SAME * np.max(sums / counts)  # rows count as weights do
        if name == "class_weight" and setting in BALANCED and even:
            return np.asarray(sums.mean() / sums)
    return None


def _is_set(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    return not (isinstance(value, (int, float)) and value == 1)


def unclear_base_rates(found: BaseRates, *others: str) -> UsageError:
    """Return the error for base rates that are not known, with the arguments that settle it."""
    remedy = ["State the base rates of its probabilities with {trained}.", *others]
    if found.origin == "unknown":
        remedy.append("Or wrap it in CalibratedClassifierCV, which recalibrates it to the rows.")
    return UsageError(
        found.reason.amended(
            remedy=remedy,
            trained=Argument("trained_at", ...),
            weighted=Argument("weighted", ...),
        )
    )


# --- answers --------------------------------------------------------------------------------------


def of_rows(rows: TrainingRows, kind: str) -> BaseRates:
    """Return that the base rates are those of the training rows."""
    if rows.weight is None:
        why = Problem(
            "The base rates are those of the training rows, which {kind} does not store.",
            code="training-rows",
            kind=kind,
        )
        return BaseRates(None, None, "rows", why, _names(rows))
    why = Problem("those of the training rows", code="training-rows")
    return BaseRates(rows.rates, rows.rates, "rows", why, _names(rows))


def _told(rates: Array, rows: TrainingRows, argument: Argument) -> BaseRates:
    why = Problem("stated by {argument}", code="stated-base-rate", argument=argument)
    return BaseRates(rates, rates, "stated", why, _names(rows))


def _unknown(rows: TrainingRows, why: Problem) -> BaseRates:
    return BaseRates(None, rows.rates, "unknown", why, _names(rows))


def not_fitted(estimator: object, rows: TrainingRows) -> BaseRates:
    """Return that nothing is known yet."""
    why = Problem("{kind} is not fitted.", code="unclear-base-rate", kind=_kind(estimator))
    return _unknown(rows, why)


def _unclear_weights(estimator: Any, settings: Sequence[str], rows: TrainingRows) -> BaseRates:
    return _unknown(
        rows,
        Problem(
            "{kind} has {settings}: the base rates it was trained at do not follow from this.",
            code="unclear-class-weights",
            kind=_kind(estimator),
            settings=", ".join(settings),
        ),
    )


def _said(found: BaseRates) -> str:
    return str(found).removesuffix(".")


def _names(rows: TrainingRows) -> tuple[Any, ...]:
    return () if rows.classes is None else tuple(rows.classes.tolist())


def _order(rows: TrainingRows, given: Any) -> Sequence[Any] | int:
    return np.size(given) if rows.classes is None else rows.classes.tolist()


def _params(estimator: Any, *, deep: bool = False) -> dict[str, Any]:
    """Its parameters; none of an object that only predicts, such as a frozen one may hold."""
    found: dict[str, Any] = {}
    if hasattr(estimator, "get_params"):
        found = estimator.get_params(deep=deep)
    return found


def _is_ours(estimator: object) -> bool:
    return type(estimator).__module__.partition(".")[0] == "scarce"


def _kind(estimator: object) -> str:
    return type(estimator).__name__
