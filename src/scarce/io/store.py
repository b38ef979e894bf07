"""How does a model outlive the process that fitted it, without trusting the file it comes from?

    estimator -> kind, parameters, fitted attributes -> JSON and tensors (codec.py) -> file
    (container.py), and back
    estimator of another package, on its own or inside -> skops -> one tensor of bytes (foreign.py)

`load` runs nothing that the file says: no pickle, no import by a name in the file that the caller
(or skops) does not trust, no attribute that the class would refuse. Sizes, the container, the
format, the checksum, kind, names, types and shapes are checked before anything is built, and a
classifier has to give the probabilities of one row. The checksum finds damage; it does not prove
who wrote the file. `save` makes the same checks first, so that whatever it writes can be loaded.

How a new estimator joins
-------------------------
1. One line in REGISTRY: class name -> module.
2. Everything that prediction needs is a constructor parameter or an instance attribute that ends in
   "_" and does not begin with "_", of the types that codec.py lists. A new kind of record joins
   through one line in codec.RECORDS, one of an upper room through codec.RECORD_HOMES.
3. `_runtime_params = ("engine",)` on the class names parameters that say how to run, not what was
   learnt. They are not saved; the loaded model has their defaults.
4. Numbers in fitted attributes must be finite. `_may_be_nonfinite = ("weights_",)` on the class
   names attributes in which nan or infinity means something; records may hold them anyway.
5. `_check_loaded(self)`, optional, is called after the attributes are set: raise ValueError or a
   ScarceError when shapes disagree or a number is out of range; rebuild private caches here.
6. `_before_save(self)`, optional, is called before the attributes are read: compute here what was
   left for later, since a file holds no training rows.
7. tests/properties/store_properties.py: call `check_round_trip(fitted_model, X)`.
A later version may add parameters with defaults without a new format: older files load with them.
"""

from __future__ import annotations

import datetime
import importlib
import inspect
import os
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from scarce.checks import by_name
from scarce.errors import ScarceError, StoreError, WorkerError, listed
from scarce.io import foreign
from scarce.io.atomic import write_bytes
from scarce.io.codec import Array, Decoder, Encoder, Parts
from scarce.io.container import AGAIN, SECTIONS, pack, unpack
from scarce.results import FitReport

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


FOREIGN = "foreign"  # the kind of a file whose model is of another package
UPGRADE = "If a newer scarce wrote it, upgrade: pip install --upgrade scarce."
REGISTRY: dict[str, str] = {
    "GaussianBayes": "scarce.gaussian.classifier",
    "GaussianPair": "scarce.gaussian.pair",
    "MaxentClassifier": "scarce.maxent.classifier",
    "RareClassifier": "scarce.linear.rare",
    "AutoClassifier": "scarce.auto.classifier",
    "KernelLogit": "scarce.auto.kernel",
    "RidgeLogit": "scarce.auto.logits",
    "TreeEnsemble": "scarce.auto.trees",
    "OwnModel": "scarce.auto.own",
    "OneVsRest": "scarce.auto.classes",
    "AllClasses": "scarce.auto.joint",
    "ClassLogit": "scarce.auto.class_logits",
    "ClassKernel": "scarce.auto.class_logits",
    "ClassTrees": "scarce.auto.class_trees",
    "StackFit": "scarce.auto.judging",
    "PriorCorrected": "scarce.prior",
    "Calibrated": "scarce.prior.calibrated",
    "ScoreMixture": "scarce.missed.mixture.estimator",
    "CostSensitiveClassifier": "scarce.decisions.classifier",
}


def save(
    model: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    created: datetime.datetime | None = None,
    force: bool = True,
) -> None:
    """Write a model to one file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Of scarce, fitted or not: of an unfitted one, the file holds the parameters only. Parameters
        that say how to run (such as `engine`) are not saved, private attributes neither.
        An estimator of another package, also one that a model of scarce wraps, is kept whole with
        the help of skops (``pip install 'scarce[skops]'``). `load` then asks for the types in it
        that skops does not vouch for. Functions, as in a FunctionTransformer, are refused.
    path : path-like
        The file; ".scarce" is the usual ending. An existing file is replaced in one step.
    created : datetime, optional
        Time to note in the file; now by default. With a fixed time, the same model gives the same
        bytes. A time without zone counts as UTC.
    force : bool
        Whether an existing file may be replaced. With False a `UsageError` says that there is one,
        also where another process wrote it meanwhile.

    Raises
    ------
    StoreError
        The model holds something that a file cannot hold (functions, open files) or that `load`
        would refuse (numbers that are not finite, after a fit that failed), or the file cannot be
        written. A file that was there before is then still there, unchanged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from scarce.gaussian.classifier import GaussianBayes
    >>> folder = tempfile.TemporaryDirectory()
    >>> save(GaussianBayes(), Path(folder.name, "bayes.scarce"))
    >>> type(load(Path(folder.name, "bayes.scarce"))).__name__
    'GaussianBayes'
    >>> folder.cleanup()
    """
    encoder = Encoder(_take_apart, _embed)
    description: dict[str, Any]
    if _is_foreign(model):
        held = encoder.encode(model, "state.model_")
        description = {"kind": FOREIGN, "parameters": {}, "state": {"model_": held}}
    else:
        description = encoder.encode_model(model)
    parts = list(_foreign_parts(description, encoder.tensors))
    trust = [name for part in parts for name in part.trust]
    try:
        foreign.ask(parts, trust)
        _try_out(_decoded(description, dict(encoder.tensors), trust), parts)
    except _Invalid as error:
        raise StoreError(
            "This {kind} cannot be saved: {reason}. Nothing was written.",
            code="cannot-save",
            kind=type(model).__name__,
            reason=error.reason,
            remedy=_how_it_ended(model),
        ) from error
    except StoreError as error:
        if parts and error.code in ("damaged-model", "package-missing"):  # skops cannot do it
            raise foreign.cannot(parts[0].type, "", str(error)) from error
        raise
    state = description["state"]
    for section, names in SECTIONS.items():
        description[section] = {name: state.pop(name) for name in names if name in state}
    write_bytes(path, pack(description, encoder.tensors, created), force=force)


def load(path: str | os.PathLike[str], *, trust: Sequence[str | type] | None = None) -> Any:
    """Read a model that `save` wrote; its predictions are the same to the last bit.

    Parameters
    ----------
    path : path-like
        The model file. It need not be trusted: nothing in it is run.
    trust : list of str or type, optional
        Types of other packages that may be built, by module and name, where the file holds an
        estimator of another package. The refusal without it lists them, and so does
        ``describe(path)``. Each is imported from what is installed here; its numbers come from the
        file, so name only types of a file whose writer you know. Nothing else is ever trusted.

    Returns
    -------
    estimator
        Of the class that was saved, with its parameters and fitted attributes.

    Raises
    ------
    StoreError
        The file is missing, not a model file, damaged, of a kind that this version does not know,
        written in a newer format, or it holds types that `trust` does not name.

    Examples
    --------
    >>> load("no-such-model.scarce")
    Traceback (most recent call last):
    ...
    scarce.errors.StoreError: 'no-such-model.scarce': there is no such file. ...
    """
    try:
        description, tensors = unpack(path)
        node = {key: description[key] for key in ("kind", "parameters", "state")}
        for section in SECTIONS:
            node["state"] = node["state"] | description[section]
        parts = list(_foreign_parts(node, tensors))
        foreign.ask(parts, trust)
        foreign.compare_versions(parts)
        model = _decoded(node, tensors, trust)
        if tensors:
            raise StoreError(
                "damaged or not written by scarce: {count} tensors belong to nothing (first: "
                "{first!r}).",
                code="damaged-model",
                count=len(tensors),
                first=min(tensors)[:80],
                remedy=AGAIN,
            )
        _try_out(model, parts)
    except StoreError as error:
        raise _of_file(path, error) from error.__cause__
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a model file says about itself, as stored, without building the model.

    The container, the format and the digest are checked; the values are in the encoded form of
    codec.py. Keys: format, kind, parameters, columns, classes, data, certificate, state, versions,
    created, digest. An estimator of another package reads ``{"foreign": {"type": ..., "trust":
    [...], "versions": {...}, "tensor": ...}}``; a file that holds nothing else is of the kind
    "foreign".

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from scarce.gaussian.classifier import GaussianBayes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(GaussianBayes(), Path(folder, "bayes.scarce"))
    ...     note = describe(Path(folder, "bayes.scarce"))
    >>> note["kind"], note["format"], note["state"]
    ('GaussianBayes', 1, {})
    """
    try:
        return unpack(path)[0]
    except StoreError as error:
        raise _of_file(path, error) from error.__cause__


def _of_file(path: str | os.PathLike[str], error: StoreError) -> StoreError:
    """Return an error with the file's name before its sentence."""
    return StoreError(error.problem.amended("{file!r}: ", file=os.fspath(path)))


def _decoded(
    node: dict[str, Any], tensors: dict[str, Array], trust: Sequence[str | type] | None
) -> Any:
    """Build the model of a description; takes its tensors out of `tensors`."""
    decoder = Decoder(tensors, _put_together, lambda part: foreign.build(part, trust))
    if node["kind"] == FOREIGN and not node["parameters"] and node["state"].keys() == {"model_"}:
        return decoder.decode(node["state"]["model_"], "state.model_")
    return decoder.decode_model(node)


def _foreign_parts(node: Any, tensors: dict[str, Array]) -> Iterator[foreign.Part]:
    """Walk a description for estimators of other packages; builds nothing."""
    if isinstance(node, dict):
        held = node.get("foreign")
        if len(node) == 1 and isinstance(held, dict) and held.get("tensor") in tensors:
            yield foreign.part_of(held, tensors[held["tensor"]], "a part")
            return
        for inner in node.values():
            yield from _foreign_parts(inner, tensors)
    elif isinstance(node, list):
        for inner in node:
            yield from _foreign_parts(inner, tensors)


def _is_foreign(model: object) -> bool:
    """Whether an estimator is of another package, also a class derived from one of scarce's."""
    kind = type(model)
    if not hasattr(model, "get_params") or isinstance(model, type):
        return False
    if kind.__name__ in REGISTRY and kind is _class_of(kind.__name__):
        return False
    return kind.__module__.partition(".")[0] != "scarce"


def _embed(model: object, place: str) -> foreign.Part | None:
    return foreign.embed(model, place) if _is_foreign(model) else None


def _take_apart(model: BaseEstimator, place: str) -> Parts:
    kind = type(model).__name__
    if kind not in REGISTRY or type(model) is not _class_of(kind):
        raise StoreError(
            "{place} is a {kind}, which a model file cannot hold. It can hold {known}, and "
            "estimators of other packages.",
            code="unknown-model",
            place=place or "This",
            kind=f"{type(model).__module__}.{type(model).__qualname__}",
            known=listed(sorted(REGISTRY)),
            remedy="Save one of them, or keep the code and the data that fit yours.",
        )
    if hasattr(model, "_before_save"):
        model._before_save()  # what is computed when it is first asked for
    runtime = _runtime_params(type(model))
    parameters = [
        (name, value if (by_class := by_name(value)) is None else by_class)  # a Series as a dict
        for name, value in model.get_params(deep=False).items()
    ]
    state = {name: value for name, value in vars(model).items() if _is_fitted_name(name)}
    _check_columns(state)
    return kind, {name: value for name, value in parameters if name not in runtime}, state


def _put_together(kind: str, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    if kind not in REGISTRY:
        raise StoreError(
            "kind {kind!r} is not known here (known: {known}).",
            code="unknown-model",
            kind=kind[:80],
            known=listed(sorted(REGISTRY)),
            remedy=UPGRADE,
        )
    cls = _class_of(kind)
    accepted = set(inspect.signature(cls).parameters) - _runtime_params(cls)
    for name in parameters:
        if name not in accepted:
            raise StoreError(
                "{kind} takes no parameter {name!r} to be loaded ({known}).",
                code="unknown-parameter",
                kind=kind,
                name=name[:80],
                known=listed(sorted(accepted)) or "none",
                remedy=UPGRADE,
            )
    for name in state:
        own = inspect.getattr_static(cls, name, None)
        if not _is_fitted_name(name) or callable(own) or hasattr(own, "__set__"):
            raise StoreError(
                "damaged or not written by scarce: {name!r} is not a fitted attribute of {kind}.",
                code="damaged-model",
                name=name[:80],
                kind=kind,
                remedy=AGAIN,
            )
    _check_columns(state)
    try:
        for name, value in state.items():
            if name not in getattr(cls, "_may_be_nonfinite", ()):
                _check_finite(value, name)
        model = cls(**parameters)
        vars(model).update(state)
        if hasattr(model, "_check_loaded"):
            model._check_loaded()
    except (ScarceError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as e:
        raise _Invalid(kind, str(e).rstrip(".")) from e
    return model


class _Invalid(StoreError):
    """Parts that do not make a valid estimator."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(
            "what it holds is not a valid {kind}: {reason}.",
            code="invalid-model",
            kind=kind,
            reason=reason,
            remedy=AGAIN,
        )
        self.reason = reason


def _check_finite(value: object, place: str) -> None:
    """Refuse nan and infinities, also inside lists, tuples and dictionaries, not in records."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_finite(item, f"{place}[{key!r:.40}]")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            _check_finite(item, f"{place}[{number}]")
    elif isinstance(value, (float, np.floating)) and not np.isfinite(value):
        raise ValueError(f"{place} is {float(value)}")
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        bad = np.argwhere(~np.isfinite(value))
        if len(bad):
            first = tuple(bad[0].tolist())
            raise ValueError(
                f"{place} holds a value that is not finite ({len(bad)} of {value.size}; first: "
                f"{float(value[first])} at {list(first)})"
            )


def _try_out(model: BaseEstimator, parts: Sequence[foreign.Part] = ()) -> None:
    """Refuse a classifier that cannot give the probabilities of one row, a row of zeros.

    What it refuses in words of its own (a missing offset, a class without rows so far) is no fault
    of the file. Estimators of other packages may need a frame or text: only what they return is
    looked at.
    """
    width, held = getattr(model, "n_features_in_", None), model
    while held is not None and not hasattr(held, "schema_"):
        held = getattr(held, "estimator_", None)
    if held is not None:  # the model's own columns may be more than it was given
        width = len(held.schema_["columns"])
    if width is None or not hasattr(model, "predict_proba"):
        return
    kind = type(model).__name__
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            prob = np.asarray(model.predict_proba(np.zeros((1, width))))
        except Exception as error:
            own_words = isinstance(error, (ScarceError, NotFittedError)) or parts
            if own_words and not isinstance(error, WorkerError):
                return
            raise _Invalid(kind, f"it cannot predict ({type(error).__name__}: {error})") from error
    if not ((prob >= 0) & (prob <= 1)).all() or not abs(prob.sum() - 1) < 1e-6:
        raise _Invalid(kind, f"it predicts the probabilities {prob.ravel().tolist()}")


def _how_it_ended(model: BaseEstimator) -> str:
    """Say that a fit failed, where that is why a model cannot be saved."""
    report = getattr(model, "report_", None)
    if not isinstance(report, FitReport) or (report.converged and np.isfinite(report.objective)):
        return "Fit it again."
    return (
        f"Its fit failed ({str(report).splitlines()[0]}): look for extreme values in the "
        "columns, and fit it again."
    )


def _class_of(kind: str) -> Any:
    """Return a registered class; the module's name comes from REGISTRY, never from a file."""
    return getattr(importlib.import_module(REGISTRY[kind]), kind)


def _runtime_params(cls: type) -> set[str]:
    return set(getattr(cls, "_runtime_params", ()))


def _is_fitted_name(name: str) -> bool:
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def _check_columns(state: dict[str, Any]) -> None:
    """Check what every estimator says about its columns in the same way."""
    count, names = state.get("n_features_in_"), state.get("feature_names_in_")
    profile, wrong = state.get("column_profile_"), ""
    schema = state.get("schema_")
    own = len(schema["columns"]) if isinstance(schema, dict) and "columns" in schema else count
    if not isinstance(state.get("report_"), (FitReport, type(None))):
        wrong = "report_ is not the report of a fit"
    elif count is not None and (not isinstance(count, (int, np.integer)) or count < 0):
        wrong = f"n_features_in_ is {count!r:.40}, not a number of columns"
    elif profile is not None and (
        type(profile).__name__ != "ColumnProfile" or (own is not None and len(profile) != own)
    ):
        wrong = f"column_profile_ does not describe {own} columns"
    elif names is not None:
        text = isinstance(names, np.ndarray) and all(isinstance(n, str) for n in names.flat)
        if not text or names.ndim != 1 or (count is not None and len(names) != count):
            wrong = f"feature_names_in_ is not one name for each of {count} columns"
    if wrong:
        raise StoreError("{wrong}.", code="damaged-model", wrong=wrong, remedy="Fit it again.")
