"""Estimators of other packages in model files: exact round trips, and nothing built unasked."""

from __future__ import annotations

import copy
import functools
import io
import json
import sys
import threading
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from scarce import CostMatrix, CostSensitiveClassifier, PriorCorrected, RareClassifier
from scarce.errors import StoreError, UsageError
from scarce.io import container, foreign
from scarce.io.store import describe, load, save
from tests.io.test_forged import write
from tests.problems import refused, warned
from tests.properties.store_properties import WHEN, check_round_trip, same

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] + RNG.normal(size=120) > 0.5, "yes", "no")
LOGIT = LogisticRegression()
TREE = "sklearn.tree._tree.Tree"
NODES = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


class Shy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of the user's own."""

    def fit(self, X: Any, y: Any) -> Shy:
        self.classes_, self.n_features_in_ = np.unique(y), np.shape(X)[1]
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), 0.5)


def named(x: Any) -> Any:
    return x


WHOLE = {
    "logit": (LOGIT, []),
    "pipeline": (make_pipeline(StandardScaler(), LOGIT), []),
    "ufunc": (make_pipeline(FunctionTransformer(np.tanh), LOGIT), []),
    "sgd": (SGDClassifier(loss="log_loss", random_state=0), []),
    "bayes": (GaussianNB(), []),
    "forest": (RandomForestClassifier(4, random_state=0), [TREE]),
    "boosting": (HistGradientBoostingClassifier(max_iter=4), [NODES]),
    "voting": (
        VotingClassifier([("a", LOGIT), ("b", GaussianNB())], voting="soft"),
        ["sklearn.utils._bunch.Bunch"],
    ),
    "calibrated": (
        CalibratedClassifierCV(LOGIT, cv=3),
        ["sklearn.calibration._CalibratedClassifier", "sklearn.calibration._SigmoidCalibration"],
    ),
    "search": (
        GridSearchCV(LOGIT, {"C": [0.1, 1.0]}, scoring="neg_log_loss", cv=StratifiedKFold(3)),
        [
            "sklearn.metrics._classification.log_loss",
            "sklearn.metrics._scorer._Scorer",
            "sklearn.model_selection._split.StratifiedKFold",
        ],
    ),
    "imputed": (make_pipeline(SimpleImputer(), LOGIT), ["numpy.dtype"]),
    "mine": (Shy(), [f"{Shy.__module__}.Shy"]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.scarce"


@pytest.mark.parametrize("name", WHOLE)
def test_a_wrapped_estimator_predicts_the_same_bits_after_a_load(name: str, path: Path) -> None:
    estimator, trust = WHOLE[name]
    model = PriorCorrected(estimator, prior=0.1).fit(X, Y)
    save(model, path)
    if trust:
        with refused("untrusted-types", StoreError) as caught:
            load(path)
        assert caught.value.problem.fields["trust"].value == trust
        for left_out in trust:  # every one of them is needed
            with refused("untrusted-types", StoreError, types=left_out):
                load(path, trust=[one for one in trust if one != left_out])
    loaded = load(path, trust=trust)
    assert type(loaded.estimator_) is type(model.estimator_)
    assert same(loaded.predict_proba(X), model.predict_proba(X))
    assert same(loaded.estimator_.get_params(deep=False).keys(), estimator.get_params(False).keys())
    held = describe(path)["state"]["estimator_"]["foreign"]
    assert held["trust"] == trust  # in plain sight
    assert held["type"] == foreign.type_name(type(estimator))


def test_a_wrapper_of_trusted_types_keeps_the_promises_of_any_model() -> None:
    check_round_trip(PriorCorrected(LOGIT, prior=0.1).fit(X, Y), X)
    costs = CostMatrix.binary(false_alarm=1, miss=5, classes=("no", "yes"))
    inner = make_pipeline(StandardScaler(), LOGIT)
    check_round_trip(CostSensitiveClassifier(inner, costs).fit(X, Y), X)


def test_estimators_on_their_own(path: Path) -> None:
    for model in (LogisticRegression().fit(X, Y), FrozenEstimator(LogisticRegression().fit(X, Y))):
        save(model, path)
        loaded = load(path)
        assert type(loaded) is type(model)
        assert same(loaded.predict_proba(X), model.predict_proba(X))
        assert describe(path)["kind"] == "foreign"
    save(LogisticRegression(C=3.0), path)
    assert load(path).C == 3.0


def test_scarce_inside_a_pipeline_of_another_package_needs_no_trust(path: Path) -> None:
    for inner in (RareClassifier("logistic", ridge=1.0), PriorCorrected(LOGIT, prior=0.2)):
        model = make_pipeline(StandardScaler(), inner).fit(X, Y)
        save(model, path)
        assert same(load(path).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ["logit", "forest", "boosting", "search"])
def test_the_same_model_gives_the_same_bytes(name: str, path: Path) -> None:
    estimator, trust = WHOLE[name]
    model = PriorCorrected(estimator, prior=0.1).fit(X, Y)
    save(model, path, created=WHEN)
    first = path.read_bytes()
    save(copy.deepcopy(model), path, created=WHEN)  # at other addresses
    assert path.read_bytes() == first
    save(load(path, trust=trust), path, created=WHEN)
    if name != "search":  # the clock of its fits is kept, objects in cv_results_ are not shared
        assert path.read_bytes() == first


@pytest.mark.parametrize(
    "function",
    [lambda x: x, named, functools.partial(named), "x".join, StandardScaler().fit_transform, len],
)
def test_code_is_not_saved(function: Any, path: Path) -> None:
    model = make_pipeline(FunctionTransformer(function), LOGIT)
    for held in (model, PriorCorrected(model)):
        with pytest.raises(StoreError) as caught:
            save(held, path)
        assert caught.value.code in ("holds-code", "cannot-embed")
    assert not path.exists()


def test_what_cannot_come_back_is_not_saved(path: Path) -> None:
    class Local(Shy):
        """Defined inside a function, so no file can name it."""

    class Open(Shy):
        """Holds something that has no parts."""

    Open.__qualname__ = "Open"
    held = Open().fit(X, Y)
    held.lock_ = threading.Lock()
    for model in (Local().fit(X, Y), held):
        with refused("cannot-embed", StoreError):
            save(model, path)
    assert not path.exists()


def test_without_skops_saving_and_loading_say_what_to_install(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(PriorCorrected(LOGIT).fit(X, Y), path)
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for act in (lambda: load(path), lambda: save(LOGIT, path.with_name("other.scarce"))):
        with refused("skops-missing", StoreError) as caught:
            act()
        assert "pip install 'scarce[skops]'" in str(caught.value)
    rare = RareClassifier("logistic", ridge=1.0).fit(X, Y)  # needs none
    check_round_trip(rare, X)


def test_other_versions_are_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(PriorCorrected(LOGIT).fit(X, Y), path)
    real = foreign._version
    monkeypatch.setattr(
        foreign, "_version", lambda name: "9.9" if name == "sklearn" else real(name)
    )
    with warned("other-versions", here="sklearn 9.9"):
        load(path)


@pytest.mark.parametrize("trust", [True, "sklearn.tree._tree.Tree", 3])
def test_trust_is_a_list_of_types(trust: Any, path: Path) -> None:
    save(LOGIT, path)
    with refused("trust-list", UsageError):
        load(path, trust=trust)
    assert load(path, trust=[LogisticRegression, TREE]).C == 1.0


# Forged files. The canary would be seen if anything were imported or called.


def repacked(content: Any, change: Any, *, compression: int = zipfile.ZIP_STORED) -> Any:
    """Return an archive with its description changed, its members and checks in order."""
    with zipfile.ZipFile(io.BytesIO(content.tobytes())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    change(schema, members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, held in members.items():
            if name != "schema.json":
                archive.writestr(name, held)
        archive.writestr("schema.json", json.dumps(schema))
    return np.frombuffer(buffer.getvalue(), dtype=np.uint8)


def canonical(content: Any) -> Any:
    members = foreign._members(content.tobytes())
    return np.frombuffer(
        foreign._canonical(json.loads(members["schema.json"]), members), dtype=np.uint8
    )


def node(loader: str, module: str, name: str, **more: Any) -> dict[str, Any]:
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


def putting(held: dict[str, Any]) -> Any:
    def change(schema: Any, members: Any) -> None:
        schema["content"]["content"]["C"] = held

    return change


TEXT = node("JsonNode", "builtins", "str", content='"touch"')
ARGUMENTS = node("TupleNode", "builtins", "tuple", content=[TEXT])
NOTHING = node("DictNode", "builtins", "dict", content={}, key_types=node("ListNode", "builtins", "list", content=[]))  # fmt: skip  # noqa: E501
SYSTEM = node("FunctionNode", "os", "system")
CALLS = {
    "function": SYSTEM,
    "method": node("MethodNode", "builtins", "str", content={"func": "upper", "obj": TEXT}),
    "operator": node("OperatorFuncNode", "operator", "methodcaller", attrs=ARGUMENTS),
    "partial": node(
        "PartialNode",
        "functools",
        "partial",
        content={"func": SYSTEM, "args": ARGUMENTS, "kwds": NOTHING, "namespace": TEXT},
    ),
    "testing": node("FunctionNode", "numpy.testing", "rundocs"),
    "builtin": node("TypeNode", "builtins", "eval"),
    "unknown": node("EvilNode", "os", "system"),
    "cached": node("CachedNode", "os", "system", __id__=1),
    "nameless": {"__loader__": "ObjectNode", "__module__": 3, "__class__": "x"},
    "spaced": node("ObjectNode", "os; import this", "system"),
}
ASKED = {
    "constructor": (node("ConstructorFromReduceNode", "canary", "Bird", content=ARGUMENTS)),
    "object": node("ObjectNode", "canary", "Bird"),
    "type": node("TypeNode", "canary", "Bird"),
    "list": node("ListNode", "canary", "Bird", content=[TEXT]),
}


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that must not be imported."""
    (tmp_path / "canary.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "canary"


def forge(path: Path, content: Any, **noted: Any) -> None:
    """Write a model file around another content, with a valid digest."""
    note, _ = container.unpack(path)
    held = note["state"]["model_"]["foreign"]
    held |= noted
    write(path, note, {held["tensor"]: content})


@pytest.mark.parametrize("name", CALLS)
def test_a_file_that_names_code_to_call_is_refused_even_with_trust(name: str, path: Path) -> None:
    save(LogisticRegression().fit(X, Y), path)
    content = container.unpack(path)[1]["state.model_"]
    forge(path, canonical(repacked(content, putting(CALLS[name]))), trust=["os.system"])
    for trust in (None, ["os.system", "numpy.testing.rundocs", "builtins.str.upper"]):
        with refused("damaged-model", StoreError):
            load(path, trust=trust)


def test_a_function_that_calls_itself_a_type_is_refused_with_trust_too(path: Path) -> None:
    save(LogisticRegression().fit(X, Y), path)
    content = container.unpack(path)[1]["state.model_"]
    held = node("TypeNode", "posix", "system")
    forge(path, canonical(repacked(content, putting(held))), trust=["posix.system"])
    with refused("untrusted-types", StoreError):
        load(path)
    with refused("holds-code", StoreError):
        load(path, trust=["posix.system"])


@pytest.mark.parametrize("name", ASKED)
def test_types_are_asked_for_before_anything_is_imported(
    name: str, path: Path, canary: str
) -> None:
    save(LogisticRegression().fit(X, Y), path)
    content = canonical(repacked(container.unpack(path)[1]["state.model_"], putting(ASKED[name])))
    forge(path, content)  # a file that keeps silent about it
    with refused("damaged-model", StoreError):
        load(path)
    forge(path, content, trust=["canary.Bird"])
    with refused("untrusted-types", StoreError, types="canary.Bird"):
        load(path)
    forge(path, content, trust=["canary.Bird", "builtins.int"])  # and one that says too much
    with refused("damaged-model", StoreError):
        load(path)
    assert "canary" not in sys.modules


def test_other_claims_are_refused(path: Path) -> None:
    save(LogisticRegression().fit(X, Y), path)
    content = container.unpack(path)[1]["state.model_"]
    for noted in (
        {"type": "sklearn.svm._classes.SVC"},
        {"type": 3},
        {"trust": "sklearn"},
        {"trust": [3]},
        {"versions": {}, "more": 1},
    ):
        save(LogisticRegression().fit(X, Y), path)
        forge(path, content, **noted)
        with refused("damaged-model", StoreError):
            load(path)


def longer(schema: Any, members: Any) -> None:
    name = next(name for name in members if name.endswith(".npy"))
    members[name] = members[name].replace(b"(1, 3)", b"(9, 9)")


def old_protocol(schema: Any, members: Any) -> None:
    schema["protocol"] = 0


def stranger(schema: Any, members: Any) -> None:
    members["../escape.npy"] = b"x"


def lost(schema: Any, members: Any) -> None:
    members.pop(next(name for name in members if name.endswith(".npy")))


@pytest.mark.parametrize("change", [longer, old_protocol, stranger, lost])
def test_archives_that_are_not_as_written_are_refused(change: Any, path: Path) -> None:
    save(LogisticRegression().fit(X, Y), path)
    content = container.unpack(path)[1]["state.model_"]
    forge(path, repacked(content, change))
    with refused("damaged-model", StoreError):
        load(path)
    forge(path, repacked(content, lambda *_: None, compression=zipfile.ZIP_DEFLATED))
    with refused("damaged-model", StoreError):
        load(path)


def test_every_cut_and_every_changed_byte_is_refused(path: Path) -> None:
    save(LogisticRegression().fit(X, Y), path)
    content = container.unpack(path)[1]["state.model_"]
    dice = np.random.default_rng(1)
    for place in dice.choice(len(content), 40, replace=False):
        changed = content.copy()
        changed[place] ^= 1
        for other in (content[:place], changed):
            forge(path, other)
            with refused("damaged-model", StoreError):
                load(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))  # the checksum of the file
    with refused("damaged-model", StoreError):
        load(path)


def test_probabilities_that_are_none_are_refused(path: Path) -> None:
    model = LogisticRegression().fit(X, Y)
    model.intercept_ = np.array([np.nan])
    with (
        warnings.catch_warnings(),
        refused("cannot-save", StoreError),
    ):
        warnings.simplefilter("ignore")
        save(model, path)
