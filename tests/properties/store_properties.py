"""What every estimator owes its model file: one list, run on each of them.

    from tests.properties.store_properties import check_round_trip

    def test_model_file():
        check_round_trip(GaussianBayes().fit(X, y), X)

The kind must be in `scarce.io.store.REGISTRY`. X is whatever the model predicts on; give rows that
exercise every branch (missing values, extremes), because equality is checked to the last bit.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from scarce.io.store import describe, load, save

WHEN = datetime.datetime(2024, 2, 29, 12, 0, tzinfo=datetime.UTC)
PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")


def same(left: Any, right: Any) -> bool:
    """Say whether two values are the same to the last bit: type, dtype, shape, order, content."""
    if type(left) is not type(right):
        return np.memmap in (type(left), type(right)) and same(np.asarray(left), np.asarray(right))
    if isinstance(left, np.ndarray):
        return _same_array(left, right)
    if isinstance(left, np.generic):
        return left.dtype == right.dtype and same(left.item(), right.item())
    if isinstance(left, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if dataclasses.is_dataclass(left):
        fields = [field.name for field in dataclasses.fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in fields)
    if hasattr(left, "get_params"):
        return same(saved_parts(left), saved_parts(right))
    return bool(left == right)


def saved_parts(model: Any) -> list[dict[str, Any]]:
    """Return the parameters and the fitted attributes that a model file must hold."""
    runtime = getattr(model, "_runtime_params", ())
    parameters = {n: v for n, v in model.get_params(deep=False).items() if n not in runtime}
    fitted = {n: v for n, v in vars(model).items() if n.endswith("_") and not n.startswith("_")}
    return [dict(sorted(parameters.items())), dict(sorted(fitted.items()))]


def check_round_trip(fitted_model: Any, X: Any) -> Any:
    """Check a model against its reloaded self, and return the reloaded one."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first.scarce"), Path(folder, "second.scarce")
        save(fitted_model, first, created=WHEN)
        loaded = load(first)
        _check_equal(fitted_model, loaded, X, "loaded")
        save(loaded, second, created=WHEN)
        assert describe(first)["digest"] == describe(second)["digest"]
        assert first.read_bytes() == second.read_bytes(), "saving the loaded model changed bytes"
        _check_equal(fitted_model, load(second), X, "loaded twice")
        _check_equal(fitted_model, pickle.loads(pickle.dumps(loaded)), X, "loaded and pickled")
        bare = clone(fitted_model)  # unfitted: the parameters only
        save(bare, second)
        assert same(saved_parts(bare), saved_parts(load(second)))
    assert same(clone(loaded).get_params(deep=False), loaded.get_params(deep=False))
    return loaded


def _check_equal(model: Any, other: Any, X: Any, which: str) -> None:
    assert type(other) is type(model)
    for before, after in zip(saved_parts(model), saved_parts(other), strict=True):
        assert before.keys() == after.keys(), f"{which}: {sorted(before.keys() ^ after.keys())}"
        for name in before:
            assert same(before[name], after[name]), f"{which}: {name} differs"
    for name in PREDICTIONS:
        if hasattr(model, name):
            assert same(getattr(model, name)(X), getattr(other, name)(X)), f"{which}: {name}"


def _same_array(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype.str != right.dtype.str or left.shape != right.shape:
        return False
    if _walk(left) != _walk(right):
        return False
    if left.dtype == object:
        return same(left.ravel().tolist(), right.ravel().tolist())
    if left.dtype.kind == "f":  # which bits a NaN carries does not matter, the sign of zero does
        holes = np.isnan(left)
        if not np.array_equal(holes, np.isnan(right)):
            return False
        zero = left.dtype.type(0)
        left, right = np.where(holes, zero, left), np.where(holes, zero, right)
    return left.tobytes() == right.tobytes()


def _walk(array: np.ndarray) -> list[int]:
    """Return the axes that have a step, from the slowest to the fastest in memory."""
    if array.size == 0:
        return []
    steps = [
        (-abs(array.strides[axis]), axis) for axis in range(array.ndim) if array.shape[axis] > 1
    ]
    return [axis for _, axis in sorted(steps)]
