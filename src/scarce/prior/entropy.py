"""Only one class was ever labelled, or at unknown rates: which class mix should one predict for?

    p(y)  is proportional to  default(y) * exp(-RE(p(x | y) || pool))                   (000 eq 5)

A class that is far from the pool of all rows can hold only a small share of it. A density model
(maxent) measures how far; any classifier then takes the shares over by Bayes' rule (000 section 3,
boosted trees). Assumes that whether a row is labelled depends on its class alone, and that all rows
together are a fair sample. Does not fit densities itself, and cannot learn the true shares: the
data do not hold them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from scarce.engine.block import Array
from scarce.errors import DataError, UsageError
from scarce.prior.shift import class_shares
from scarce.prior.weights import weight_argument


def two_classes(labelled: Any) -> NDArray[Any]:
    """Return the class that was never labelled, and then the one that was.

    Examples
    --------
    >>> two_classes(1.0), two_classes("fox"), two_classes(True)
    (array([0., 1.]), array(['(not fox)', 'fox'], dtype='<U9'), array([False,  True]))
    """
    labelled = labelled.item() if isinstance(labelled, np.generic) else labelled
    if isinstance(labelled, bool):
        if not labelled:
            raise DataError(
                "Only False is labelled, but the one labelled class is the last of classes_, which "
                "scikit-learn's scorers expect sorted. Label with True or 1 instead."
            )
        return np.array([False, True])
    if isinstance(labelled, (int, float)):
        other = 0 if labelled > 0 else labelled - 1  # before the labelled one in any case
        return np.array([type(labelled)(other), labelled])
    name = f"(not {labelled})"  # sorts first, as scikit-learn's scorers expect of classes_
    return np.array([name if name < str(labelled) else "", labelled])


def equal_totals(codes: NDArray[np.int_], weight: Array | None) -> Array:
    """Return row weights under which codes 0 and 1 weigh the same, and all rows as much as before.

    Examples
    --------
    >>> equal_totals(np.array([1, 0, 0, 0]), None)
    array([2.        , 0.66666667, 0.66666667, 0.66666667])
    """
    weight = np.ones(len(codes)) if weight is None else weight
    sums = np.bincount(codes, weights=weight, minlength=2)
    for sum_, rows in zip(sums, ("unlabelled", "labelled"), strict=True):
        if not sum_ > 0:
            raise DataError(
                f"The {rows} rows have weight 0 altogether, so there is nothing to tell the others "
                "from. Give some of them a sample_weight above 0."
            )
    return np.asarray(weight * (sums.sum() / (2 * sums))[codes])


def fitted_density(
    density: Any, default_prevalence: Any, X: Any, y: Any, weight: Array | None = None
) -> Any:
    """Return a fitted estimator with `class_prior_`: the one given, or maxent, fitted on all rows.

    One that is fitted already is returned as it is.
    """
    if density is None:
        from scarce import MaxentClassifier  # a public name: this room knows no model from inside

        density = MaxentClassifier(default_prevalence=default_prevalence)
    elif hasattr(density, "class_prior_"):
        return density
    elif not hasattr(density, "fit"):
        raise UsageError(
            f"density={density!r} cannot be fitted. Give an estimator that has class_prior_ after "
            "fit, such as MaxentClassifier(), or leave density out."
        )
    else:
        density = clone(density)
    density.fit(X, y, **weight_argument(density, weight))
    return density


def density_shares(density: Any, classes: NDArray[Any]) -> Array:
    """Return the shares that a fitted density model gives to the classes, in their order.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> maxent = SimpleNamespace(classes_=np.array([0, 1]), class_prior_=np.array([0.9, 0.1]))
    >>> density_shares(maxent, np.array([0.0, 1.0]))
    array([0.9, 0.1])
    """
    name = type(density).__name__
    if not (hasattr(density, "class_prior_") and hasattr(density, "classes_")):
        raise UsageError(
            f"density={name}(...) has no class_prior_ and classes_ after fit, so it gives no class "
            "shares. Give an estimator that does, such as MaxentClassifier()."
        )
    known = np.asarray(density.classes_).tolist()
    if len(known) != len(classes) or set(known) != set(classes.tolist()):
        raise UsageError(
            f"{name} gives shares of the classes {known}, and the classifier tells apart "
            f"{classes.tolist()}. Fit both on the same labels."
        )
    shares = np.asarray(density.class_prior_, dtype=np.float64)
    order = [known.index(label) for label in classes.tolist()]
    return class_shares(shares[order], len(classes), f"{name}.class_prior_")
