"""Which class weights did a classifier fit with, wherever its library keeps them?

    mix that the fit saw[y]  is proportional to  (weight of the class's rows) * factor[y]

scikit-learn says `class_weight`, the boosting libraries `scale_pos_weight`, `is_unbalance`,
`auto_class_weights` or `class_weights`. Assumes that the last class is the positive one of
`scale_pos_weight`. Does not guess: where weights sit inside another estimator, which may or may not
have undone them, the user is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scarce.errors import UsageError
from scarce.rows.block import Array

PARAMETERS = (
    "class_weight",
    "scale_pos_weight",
    "is_unbalance",
    "auto_class_weights",
    "class_weights",
)


def stated_weights(estimator: Any, *, strict: bool, at: str = "") -> tuple[str, Any]:
    """Find the one parameter that gives weights to classes, in a pipeline's last step too."""
    if getattr(estimator, "steps", None):
        name, last = estimator.steps[-1]
        return stated_weights(last, strict=strict, at=f"{at}{name}__")
    own = estimator.get_params(deep=False)
    found = [(at + n, own[n]) for n in PARAMETERS if _is_set(own.get(n))]
    if len(found) == 1 or not strict:
        return found[0] if found else ("", None)
    inside = [
        (name, value)
        for name, value in estimator.get_params(deep=True).items()
        if name.rpartition("__")[2] in PARAMETERS and _is_set(value)
    ]
    if inside and not getattr(estimator, "_undoes_class_weights", False):
        shown = ", ".join(f"{name}={value!r}" for name, value in found or inside)
        raise UsageError(
            f"{type(estimator).__name__} has {shown}, from which the class mix that it was trained "
            "at is not clear. Pass weighted={class: weight}, or weighted=None if its probabilities "
            "already are for the unweighted mix."
        )
    return "", None


def _is_set(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    return not (isinstance(value, (int, float)) and value == 1)


def factors(where: str, setting: Any, sums: Array, counts: Array, classes: Any) -> Array:
    """Return what the inner fit multiplied each class by."""
    name = where.rpartition("__")[2]
    with np.errstate(divide="ignore"):
        if setting is None:
            return np.ones(len(classes))
        if isinstance(setting, Mapping):
            known = set(classes.tolist()) | set(setting if name == "weighted" else ())
            setting = {label: value for label, value in setting.items() if label in known}
            return by_class(name, setting, classes, 1.0)
        if name == "scale_pos_weight" and len(classes) == 2:
            return np.array([1.0, float(setting)])
        if name == "class_weights" and np.shape(setting) == (len(classes),):
            return np.asarray(setting, dtype=np.float64)
        if name == "is_unbalance":
            return np.asarray(counts.max() / counts)
        if setting in ("balanced", "balanced_subsample", "Balanced"):
            return np.asarray(sums.mean() / sums)
        if setting == "SqrtBalanced":
            return np.asarray(np.sqrt(sums.max() / sums))
    raise UsageError(
        f"{where}={setting!r} does not say how the {len(classes)} classes were weighted. Pass "
        "weighted={class: weight} to PriorCorrected."
    )


def by_class(name: str, given: Mapping[Any, float], classes: Any, default: float) -> Array:
    """Return a number per class from a dict, refusing classes that are not there."""
    labels = classes.tolist()
    for label in given:
        if label not in labels:
            raise UsageError(
                f"{name} names the class {label!r}, and the classes are {labels}. Give "
                f"{{class: number}} with those."
            )
    return np.array([float(given.get(label, default)) for label in labels])
