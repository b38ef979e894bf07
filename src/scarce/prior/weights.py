"""Which class weights was a classifier fitted with, whatever its library calls them?

    base rates that the fit saw[y]  are proportional to  (weight of the class's rows) * factor[y]

scikit-learn has `class_weight`, the boosting libraries `scale_pos_weight`, `is_unbalance`,
`auto_class_weights` or `class_weights`. Assumes that the last class is the positive one of
`scale_pos_weight`. Does not guess: where weights belong to a nested estimator, which may or may not
have undone them, the user is asked. Also says under which names a fit takes row weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from scarce.engine.block import Array
from scarce.errors import Argument, Phrase, UsageError

PARAMETERS = (
    "class_weight",
    "scale_pos_weight",
    "is_unbalance",
    "auto_class_weights",
    "class_weights",
)
TELL_WEIGHTS = Phrase("weighted={class: weight}")


class HasParams(Protocol):
    """An estimator that lists its parameters, as scikit-learn's do."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name."""


def class_weight_setting(
    estimator: HasParams, *, strict: bool, path: str = ""
) -> tuple[str, object]:
    """Find the one parameter that weights classes, in a pipeline's last step too.

    Returns its name and value, or ("", None). With strict=True, weights from which the base rates
    of training do not follow are refused.
    """
    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        return class_weight_setting(last, strict=strict, path=f"{path}{name}__")
    own = estimator.get_params(deep=False)
    found = [(path + n, own[n]) for n in PARAMETERS if _is_set(own.get(n))]
    if len(found) == 1 or not strict:
        return found[0] if found else ("", None)
    nested = [
        (name, value)
        for name, value in estimator.get_params(deep=True).items()
        if name.rpartition("__")[2] in PARAMETERS and _is_set(value)
    ]
    if nested and not getattr(estimator, "_undoes_class_weights", False):
        raise UsageError(
            "{estimator} has {settings}: the base rates it was trained at do not follow from this.",
            code="unclear-class-weights",
            estimator=type(estimator).__name__,
            settings=", ".join(f"{name}={value!r}" for name, value in found or nested),
            weighted=TELL_WEIGHTS,
            remedy="Pass {weighted}, or weighted=None if its probabilities are already those of "
            "the unweighted classes.",
        )
    return "", None


def _is_set(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    return not (isinstance(value, (int, float)) and value == 1)


def class_factors(
    parameter: str, setting: Any, sums: Array, counts: Array, classes: NDArray[Any]
) -> Array:
    """Return what the inner fit multiplied the weight of each class by.

    `sums` and `counts` are total weight and number of rows of each class, `parameter` is the full
    name under which the setting was found.
    """
    name = parameter.rpartition("__")[2]
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
        "The weights of the {n_classes} classes do not follow from {setting}.",
        code="unclear-class-weights",
        n_classes=len(classes),
        setting=Argument(parameter, setting),
        weighted=TELL_WEIGHTS,
        remedy="Pass {weighted} to PriorCorrected.",
    )


def by_class(name: str, given: Mapping[Any, float], classes: NDArray[Any], default: float) -> Array:
    """Return one number per class from a dict; refuse unknown classes."""
    labels = classes.tolist()
    for label in given:
        if label not in labels:
            raise UsageError(
                "{argument} names the class {label!r}; the classes are {classes}.",
                code="unknown-class",
                argument=Argument(name),
                label=label,
                classes=labels,
            )
    return np.array([float(given.get(label, default)) for label in labels])


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
