"""Only one class was ever labelled, or labels were revealed at unknown rates: which base rate?

    p(y)  is proportional to  default(y) * exp(-RE(p(x | y) || pool))                   (000 eq 5)

A class far from the pool of all rows can hold only a small part of it. A density model (maxent)
measures how far; any classifier is then recalibrated to these base rates by Bayes' rule (000
section 3, boosted trees). Assumes that whether a row is labelled depends on its class alone, and
that all rows together are a fair sample. Does not fit densities itself, and cannot learn the true
base rates: the data do not hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from scarce.checks import read_shares
from scarce.engine.block import Array
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, UsageError


def two_classes(labelled: object) -> NDArray[Any]:
    """Return the class that was never labelled, then the one that was.

    Examples
    --------
    >>> two_classes(1.0), two_classes("fox"), two_classes(True)
    (array([0., 1.]), array(['(not fox)', 'fox'], dtype='<U9'), array([False,  True]))
    """
    labelled = labelled.item() if isinstance(labelled, np.generic) else labelled
    if isinstance(labelled, bool):
        if not labelled:
            raise DataError(
                "The only labelled class is False, but the labelled class must sort last in "
                "classes_, as scikit-learn's scorers expect.",
                code="labelled-class-false",
                remedy="Label with True or 1 instead.",
            )
        return np.array([False, True])
    if isinstance(labelled, (int, float)):
        other = 0 if labelled > 0 else labelled - 1  # sorts before the labelled one in any case
        return np.array([type(labelled)(other), labelled])
    name = f"(not {labelled})"  # sorts first, as scikit-learn's scorers expect of classes_
    return np.array([name if name < str(labelled) else "", labelled])


def balancing_weights(codes: NDArray[np.int_], weight: Array | None) -> Array:
    """Return row weights that give codes 0 and 1 the same total, with the overall total unchanged.

    Examples
    --------
    >>> balancing_weights(np.array([1, 0, 0, 0]), None)
    array([2.        , 0.66666667, 0.66666667, 0.66666667])
    """
    weight = np.ones(len(codes)) if weight is None else weight
    sums = np.bincount(codes, weights=weight, minlength=2)
    for sum_, rows in zip(sums, ("unlabelled", "labelled"), strict=True):
        if not sum_ > 0:
            raise DataError(
                "The weights of the {rows} rows sum to 0.",
                code="no-weight",
                rows=rows,
                remedy="Give some of them a sample_weight above 0.",
            )
    return np.asarray(weight * (sums.sum() / (2 * sums))[codes])


def sample_weight_argument(
    estimator: object, weight: Array | None, *, balancing: bool = False
) -> dict[str, Array]:
    """Return sample_weight under the names by which the estimator's fit takes it.

    With balancing=True the weights are not the user's: they balance labelled and unlabelled rows.
    """
    if weight is None:
        return {}
    steps = getattr(estimator, "steps", None)
    if steps:  # every step that can, because a weight of 2 stands for the row twice
        last = steps[-1][0]
        return {
            f"{name}__{argument}": value
            for name, step in steps
            if name == last or has_fit_parameter(step, "sample_weight")
            for argument, value in sample_weight_argument(step, weight, balancing=balancing).items()
        }
    if not has_fit_parameter(estimator, "sample_weight"):
        why = "sample_weight was given"
        if balancing:
            why = "With one labelled class, labelled and unlabelled rows get equal total weight"
        raise UsageError(
            "{why}, but {estimator}.fit does not take sample_weight.",
            code="no-sample-weight",
            why=why,
            estimator=type(estimator).__name__,
            remedy="Choose a classifier that does.",
        )
    return {"sample_weight": weight}


def fit_density(
    density: BaseEstimator | None,
    default_prevalence: float | Mapping[Any, float],
    X: ArrayLike | Rows,
    y: ArrayLike | None,
    weight: Array | None = None,
) -> BaseEstimator:
    """Return an estimator with `class_prior_`: the one given, or maxent, fitted on all rows.

    One that is already fitted is returned as it is.
    """
    if density is None:
        from scarce import MaxentClassifier  # by its public name: no model's internals here

        density = MaxentClassifier(default_prevalence=default_prevalence)
    elif hasattr(density, "class_prior_"):
        return density
    elif not hasattr(density, "fit"):
        raise UsageError(
            "{density} cannot be fitted.",
            code="density-type",
            density=Argument("density", density),
            remedy="Give an estimator that has class_prior_ after fit, such as MaxentClassifier(), "
            "or leave density out.",
        )
    else:
        density = clone(density)
    density.fit(X, y, **sample_weight_argument(density, weight))
    return density


def density_base_rates(density: BaseEstimator, classes: NDArray[Any]) -> Array:
    """Return the base rates that a fitted density model gives to the classes, in their order.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> maxent = SimpleNamespace(classes_=np.array([0, 1]), class_prior_=np.array([0.9, 0.1]))
    >>> density_base_rates(maxent, np.array([0.0, 1.0]))
    array([0.9, 0.1])
    """
    name = type(density).__name__
    if not (hasattr(density, "class_prior_") and hasattr(density, "classes_")):
        raise UsageError(
            "density={density}(...) has no class_prior_ and classes_ after fit.",
            code="density-type",
            density=name,
            remedy="Give an estimator that does, such as MaxentClassifier().",
        )
    known = np.asarray(density.classes_).tolist()
    if len(known) != len(classes) or set(known) != set(classes.tolist()):
        raise UsageError(
            "{density} was fitted on the classes {known}, the classifier on {classes}.",
            code="class-mismatch",
            density=name,
            known=known,
            classes=classes.tolist(),
            remedy="Fit both on the same labels.",
        )
    rates = np.asarray(density.class_prior_, dtype=np.float64)
    order = [known.index(label) for label in classes.tolist()]
    return read_shares(rates[order], len(classes), f"{name}.class_prior_")
