"""Model files that were tampered with (checksum recomputed): refused, or a model that predicts.

Each stored number, word, array and attribute of each estimator is changed in several ways. `load`
must refuse the file with a StoreError, or give a model whose probabilities are finite, between 0
and 1, and sum to 1, or that says in words of its own what it needs. Nothing else may be raised.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import scarce
from scarce.datasets import make_trial_scores
from scarce.errors import ScarceError, StoreError, WorkerError
from scarce.io import container
from scarce.io.store import load, save

Forged = tuple[Any, Any]  # description and tensors
Forge = Callable[[], Forged]
# All of them (some 12,000) take a minute and a half.
MOST = 10**6 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 100
NUMBERS = [{"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, -1, 0, 1e300, 2**70, "x", None]


def _models() -> dict[str, Any]:
    """Return one fitted model of each kind, small enough for thousands of loads."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + rng.normal(size=90) > 0, "yes", "no")
    holed = X.copy()
    holed[::7, 1] = np.nan
    logistic = scarce.RareClassifier("logistic", ridge=1.0)
    costs = scarce.CostMatrix.binary(false_alarm=1, miss=5)
    plain = {
        "rare": logistic,
        "gev": scarce.RareClassifier("gev-log", shape=0.3, ridge=1.0),
        "flic": scarce.RareClassifier("logistic", ridge=0, bias_reduction="flic"),
        "chosen": scarce.RareClassifier(),
        "shared": scarce.GaussianBayes("shared"),
        "shrunk": scarce.GaussianBayes("shrunk"),
        "cost": scarce.CostSensitiveClassifier(logistic, costs),
        "corrected": scarce.PriorCorrected(logistic, prior=0.1),
        "foreign": scarce.PriorCorrected(LogisticRegression(), prior=0.1),
        "robust": scarce.MaxentClassifier("robust", features="lh", knots=4),
    }
    models = {name: clone(model).fit(X, y) for name, model in plain.items()}
    for name, model in (
        ("bayes", scarce.GaussianBayes()),
        ("full", scarce.GaussianBayes("full")),
        ("maxent", scarce.MaxentClassifier(features="lqph", knots=4)),
        ("presence", scarce.MaxentClassifier(features="lq")),
        ("auto-trees", scarce.AutoClassifier(members=["boosting", "forest"])),
    ):
        models[name] = clone(model).fit(holed, y)
    models["auto"] = scarce.AutoClassifier().fit(X, y)
    trial = make_trial_scores(400, positive_share=0.1, labelled_share=0.2, random_state=3)
    models["mixture"] = scarce.ScoreMixture().fit(trial.scores, trial.y)
    return models


NAMES = [
    *(
        "rare",
        "gev",
        "flic",
        "chosen",
        "shared",
        "shrunk",
        "cost",
        "corrected",
        "robust",
        "foreign",
    ),
    *("bayes", "full", "maxent", "presence", "auto-trees", "auto", "mixture"),
]


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _models()


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk the places of a description that hold a number, a word, a truth value or nothing."""
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(node, list):
        for index, inner in enumerate(node[:6]):
            yield from leaves(inner, (*path, index))
    else:
        yield path


def put(note: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(note)
    held = changed
    for step in path[:-1]:
        held = held[step]
    held[path[-1]] = value
    return changed


def array_nodes(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk the places of arrays whose numbers are tensors."""
    if isinstance(node, dict):
        if {"tensor", "axes"} <= node.keys():
            yield path
        for key, inner in node.items():
            yield from array_nodes(inner, (*path, key))
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from array_nodes(inner, (*path, index))


def with_value(note: Any, tensors: Any, path: tuple[Any, ...] = (), value: Any = None) -> Forged:
    """Put another value in one place, if one is named."""
    return (put(note, path, value) if path else note), tensors


def without(note: Any, tensors: Any, section: str, name: str) -> Forged:
    """Drop one name of a section, and its tensors."""
    dropped = copy.deepcopy(note)
    del dropped[section][name]
    gone = (f"{section}.{name}", f"state.{name}")
    return dropped, {t: tensors[t] for t in tensors if not t.startswith(gone)}


def with_array(note: Any, tensors: Any, path: tuple[Any, ...], array: Any) -> Forged:
    """Put another array in the place of one, with the description that belongs to it."""
    held = note
    for step in path:
        held = held[step]
    node = {"dtype": array.dtype.str, "shape": list(array.shape), "tensor": held["tensor"]}
    node["axes"] = list(range(array.ndim))
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return put(note, path, node), tensors | {held["tensor"]: little}


def other_arrays(array: Any, dice: np.random.Generator) -> Iterator[Any]:
    """Return an array changed in each of many ways."""
    if array.size:
        place = tuple(int(dice.integers(side)) for side in array.shape)
        values = [-1, 0, 1e300, np.nan, np.inf] if array.dtype.kind == "f" else [-1, 0, 10**6]
        for value in values if array.dtype.kind != "b" else [True, False]:
            changed = array.copy()
            with np.errstate(all="ignore"):
                changed[place] = np.array(value).astype(array.dtype)
            yield changed
            yield np.full_like(array, changed[place])
        yield array[..., :-1] if array.ndim else array
        yield array[:-1] if array.ndim else array
        yield array[::-1].copy() if array.ndim else array
    yield array.ravel()
    yield array[None]
    yield np.concatenate([array, array]) if array.ndim else array
    for kind in ("<f8", "<f4", "<i8", "|b1"):
        with np.errstate(all="ignore"):
            yield array.astype(kind)


def forgeries(note: Any, tensors: Any, seed: int) -> Iterator[tuple[str, Forge]]:
    """Return words for each forgery, and what makes its description and its tensors."""
    dice = np.random.default_rng(seed)
    sections = ("parameters", "state", "columns", "classes")
    for section in sections:
        for name in note[section]:
            yield f"{name} dropped", partial(without, note, tensors, section, name)
        for path in leaves(note[section], (section,)):
            if path[-1] not in ("tensor", "dtype") and path[-2] not in ("axes", "shape"):
                for value in (*NUMBERS, True, "yes", []):
                    yield f"{path} = {value!r}", partial(with_value, note, tensors, path, value)
    places = [p for section in sections for p in array_nodes(note[section], (section,))]
    for path in places:
        held = note
        for step in path:
            held = held[step]
        array = np.transpose(tensors[held["tensor"]], np.argsort(held["axes"]))
        for number, other in enumerate(other_arrays(array, dice)):
            yield f"{path} {number}", partial(with_array, note, tensors, path, other)
    names = sorted(tensors)
    for one, other in pairwise(names):
        swapped = {one: tensors[other], other: tensors[one]}
        yield f"{one}, {other} swapped", partial(with_value, note, tensors | swapped)


def write(path: Path, note: Any, tensors: Any) -> None:
    described = {key: note[key] for key in note if key not in ("digest", "created")}
    text = container._canonical(note | {"digest": container._digest(described, tensors)})
    path.write_bytes(safetensors.numpy.save(tensors, {"scarce": text}))


def fault(path: Path, X: Any) -> str | None:
    """Return what is wrong with a forged file that was loaded; None where nothing is."""
    try:
        model = load(path)
    except StoreError:
        return None
    except Exception as error:
        return f"load raised {error!r}"
    try:
        prob = model.posterior(X[:, 0]) if hasattr(model, "posterior") else model.predict_proba(X)
    except (ScarceError, NotFittedError) as error:  # in words of its own: a setting, no rows yet
        return f"predict raised {error!r}" if isinstance(error, WorkerError) else None
    except Exception as error:
        return f"predict raised {error!r}"
    if not np.isfinite(prob).all() or prob.min() < 0 or prob.max() > 1:
        return "a probability is not finite or not between 0 and 1"
    if prob.ndim == 2 and abs(prob.sum(axis=1) - 1).max() > 1e-6:  # float32 is fine
        return "probabilities do not sum to 1"
    return None


def faults(model: Any, path: Path, X: Any, most: int, seed: int) -> tuple[int, list[str]]:
    """Try forgeries of one model, at most so many of them, spread over all kinds."""
    save(model, path)
    note, tensors = container.unpack(path)
    every = list(forgeries(note, dict(tensors), seed))
    chosen = every
    if len(every) > most:
        order = np.random.default_rng(seed).permutation(len(every))[:most]
        chosen = [every[place] for place in order]
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for words, forge in chosen:
            write(path, *forge())
            wrong = fault(path, X)
            if wrong is not None:
                found.append(f"{words}: {wrong}")
    return len(chosen), found


@pytest.mark.parametrize("name", NAMES)
def test_forged_models_are_refused_or_predict(
    name: str, models: dict[str, Any], tmp_path: Path
) -> None:
    X = np.random.default_rng(8).normal(size=(12, 3))
    tried, found = faults(models[name], tmp_path / "forged.scarce", X, MOST, seed=1)
    assert tried >= 100
    assert found == []


def test_every_model_that_is_made_is_tried(models: dict[str, Any]) -> None:
    assert sorted(models) == sorted(NAMES)
