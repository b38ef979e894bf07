"""Which class weights did a classifier fit with, wherever its library keeps them?

    mix that the fit saw[y]  is proportional to  (weight of the class's rows) * factor[y]

scikit-learn says `class_weight`, the boosting libraries `scale_pos_weight`, `is_unbalance`,
`auto_class_weights` or `class_weights`. Assumes that the last class is the positive one of
`scale_pos_weight`. Does not guess: where weights sit inside another estimator, which may or may not
have undone them, the user is asked. Row weights are here too: under which names a fit takes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from scarce.engine.block import Array
from scarce.errors import UsageError

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


def weight_argument(estimator: Any, weight: Array | None, *, own: bool = False) -> dict[str, Array]:
    """Return sample_weight under the names by which the estimator's fit takes it.

    With own=True the weights are not the user's: they balance labelled and unlabelled rows.
    """
    if weight is None:
        return {}
    if getattr(estimator, "steps", None):  # every step that can, so that weight 2 is a row twice
        last = estimator.steps[-1][0]
        return {
            f"{name}__{argument}": value
            for name, step in estimator.steps
            if name == last or has_fit_parameter(step, "sample_weight")
            for argument, value in weight_argument(step, weight, own=own).items()
        }
    if not has_fit_parameter(estimator, "sample_weight"):
        if own:
            raise UsageError(
                "With one labelled class, its rows and the unlabelled ones are weighted to equal "
                f"totals, and {type(estimator).__name__}.fit takes no sample_weight. Choose a "
                "classifier that weighs rows."
            )
        raise UsageError(
            f"sample_weight was given, and {type(estimator).__name__}.fit takes none. Leave it "
            "out, or choose a classifier that weighs rows."
        )
    return {"sample_weight": weight}
