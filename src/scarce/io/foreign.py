"""How does an estimator of another package get into a model file, and out of it, without pickle?

    estimator -> skops -> archive of JSON and arrays -> checked, canonical -> one tensor of bytes

skops (an extra) writes an estimator as a description of its parts. A part of the file notes the
estimator's type, the versions that wrote it and, in plain sight, the types that skops does not
vouch for; `load` builds them only when the caller names them. Before skops sees the bytes, this
module checks the archive by itself: stored members only, arrays as long as they say, the kinds of
parts listed in PARTS. Functions, bound methods, partial calls and operators are no such parts, so
they are refused on both ways; of functions only those of numpy, SciPy and scikit-learn may be
named (a spline, a scorer), and have to be trusted unless skops does so itself.

The archive is canonical: members in order of use, without times and memory addresses, so the same
estimator gives the same bytes.

Assumes that who trusts a type trusts the installed package that defines it. Does not check what a
trusted type does with its numbers: a forged tree can crash the process that predicts with it.
"""

from __future__ import annotations

import builtins
import importlib.metadata
import io
import json
import math
import re
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scarce.errors import Argument, StoreError, UsageError, listed, warn_user

Node = Any
INSTALL = "Run: pip install 'scarce[skops]'"
PROTOCOL = 2  # of skops 0.16, the first release that is used here; older parts are never read
PARTS = {
    *("JsonNode", "ObjectNode", "DictNode", "DefaultDictNode", "ListNode", "SetNode", "TupleNode"),
    *("BytesNode", "BytearrayNode", "SliceNode", "TypeNode", "ConstructorFromReduceNode"),
    *("NdArrayNode", "MaskedArrayNode", "DTypeNode", "SparseMatrixNode"),
    *("RandomStateNode", "RandomGeneratorNode", "LossNode", "TreeNode", "FunctionNode"),
}
CALLS = {"MethodNode": "a bound method", "PartialNode": "a partial call", "OperatorFuncNode":
         "an operator", "FunctionNode": "the function"}  # fmt: skip
FUNCTIONS_OF = {"numpy", "scipy", "sklearn"}
NEVER = {"testing", "_testing", "tests", "f2py", "distutils", "__main__"}
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
MEMBER = re.compile(r"[0-9]+\.(npy|npz|bin)")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
LARGEST = 2**32


@dataclass(frozen=True)
class Part:
    """An estimator of another package, as a model file holds it.

    Parameters
    ----------
    type : str
        Module and name of its class.
    trust : tuple of str
        Types in it that skops does not trust by itself, in order of the alphabet.
    versions : dict of str to str
        Of skops and of the packages that define its types.
    content : ndarray of uint8
        The archive.
    """

    type: str
    trust: tuple[str, ...]
    versions: dict[str, str]
    content: npt.NDArray[np.uint8]


def embed(estimator: object, place: str) -> Part:
    """Return an estimator as a part of a model file, or say why it cannot be one.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> part = embed(LogisticRegression(), "state.estimator_")
    >>> part.type, part.trust
    ('sklearn.linear_model._logistic.LogisticRegression', ())
    """
    kind = type_name(type(estimator))
    skops = _skops(kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = skops.dumps(estimator)
        members = _members(raw)
        schema = json.loads(members["schema.json"])
        _refuse_calls(schema, place or kind)
        _refuse_named_functions(schema, place or kind)
        content = _canonical(schema, members)
        trust = tuple(_untrusted(content))
        _refuse_locals(schema)
    except StoreError as error:
        raise cannot(kind, place, str(error)) if error.code == "damaged-model" else error from None
    except Exception as error:  # whatever a foreign class raises while it is taken apart
        raise cannot(kind, place, f"{type(error).__name__}: {error}") from error
    packages = sorted({_root(name) for name in _type_names(schema)} - _unversioned())
    versions = {name: found for name in ["skops", *packages] if (found := _version(name))}
    return Part(kind, trust, versions, np.frombuffer(content, dtype=np.uint8))


def ask(parts: Iterable[Part], trust: Sequence[str | type] | None) -> None:
    """Refuse parts that hold types which neither skops nor the caller trusts; builds nothing."""
    given = trusted_names(trust)
    needed: set[str] = set()
    kinds = []
    for part in parts:
        needed |= set(_asked(part)) - given
        kinds.append(part.type)
    if needed:
        names = sorted(needed)
        raise StoreError(
            "it holds {kinds}. Parts of these types are built only when you name them: {types}. "
            "Their code comes from the packages installed here, their numbers from the file: trust "
            "them only if you know who wrote it.",
            code="untrusted-types",
            kinds=listed(sorted(set(kinds))),
            types=", ".join(names),
            trust=Argument("trust", names, call="load"),
            remedy="Then load it with {trust}.",
        )


def build(part: Part, trust: Sequence[str | type] | None) -> Any:
    """Return the estimator of a part whose types were asked for by `ask`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> build(embed(LogisticRegression(C=2.0), "state.estimator_"), None).C
    2.0
    """
    skops = _skops(part.type)
    needed = _untrusted(part.content.tobytes())
    allowed = [name for name in needed if name in trusted_names(trust) or _is_own(name)]
    try:
        if set(allowed) == set(needed):  # else skops refuses
            _refuse_named_functions(_schema(_members(part.content.tobytes())), part.type)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared in words of our own
            estimator = skops.loads(part.content.tobytes(), trusted=allowed)
        if type_name(type(estimator)) != part.type:
            raise _damaged(f"it says {part.type[:80]} and holds {type_name(type(estimator))[:80]}")
        _check_own(estimator)
    except StoreError:
        raise
    except ImportError as error:
        raise StoreError(
            "it holds a {kind}, and {reason}.",
            code="package-missing",
            kind=part.type[:120],
            reason=f"{error}"[:200].rstrip("."),
            remedy="Install the package that defines it; the file notes its version.",
        ) from error
    except Exception as error:  # whatever a foreign class raises while it is put together
        what = f"{part.type[:80]} cannot be built ({type(error).__name__}: {error!s:.200})"
        raise _damaged(what) from error
    return estimator


def compare_versions(parts: Iterable[Part]) -> None:
    """Warn where other versions wrote the parts than those that are installed."""
    differ = {}
    kinds = set()
    for part in parts:
        for name, wrote in part.versions.items():
            here = _version(name)
            if name != "skops" and here is not None and here != wrote:
                differ[name] = (wrote, here)
                kinds.add(part.type)
    if differ:
        warn_user(
            "The model file holds {kinds}, written with {wrote}; installed are {here}. Other "
            "packages do not promise that a fitted estimator predicts the same, or at all, under "
            "another version.",
            code="other-versions",
            kinds=listed(sorted(kinds)),
            wrote=listed([f"{name} {one}" for name, (one, _) in sorted(differ.items())]),
            here=listed([f"{name} {one}" for name, (_, one) in sorted(differ.items())]),
            install=" ".join(f"{name}=={one}" for name, (one, _) in sorted(differ.items())),
            remedy="Compare its probabilities on rows whose probabilities you noted, or run: pip "
            "install {install}",
        )


def trusted_names(trust: Sequence[str | type] | None) -> set[str]:
    """Return the names of types that a caller trusts, given by name or as the type itself.

    Examples
    --------
    >>> trusted_names(["sklearn.tree._tree.Tree", int]) == {"sklearn.tree._tree.Tree",
    ...                                                     "builtins.int"}
    True
    """
    if trust is None:
        return set()
    if isinstance(trust, (str, bool)) or not isinstance(trust, (list, tuple, set, frozenset)):
        raise UsageError(
            "{trust} must be a list of types by name, as the refusal lists them.",
            code="trust-list",
            trust=Argument("trust", trust),
            example=Argument("trust", ["sklearn.tree._tree.Tree"]),
            remedy="Name each type, such as {example}.",
        )
    return {one if isinstance(one, str) else type_name(one) for one in trust}


def type_name(kind: type) -> str:
    """Return module and name of a type, as model files list it."""
    return f"{kind.__module__}.{kind.__qualname__}"


def part_of(node: Node, content: npt.NDArray[Any], place: str) -> Part:
    """Return the part that a node of the description and a tensor claim to be.

    Raises
    ------
    StoreError
        The node is not as `save` writes it; nothing was looked at inside the bytes.
    """
    match node:
        case {"type": str(kind), "trust": list(trust), "versions": dict(versions), **rest}:
            texts = [kind, *trust, *versions, *versions.values()]
            plain = all(isinstance(one, str) and len(one) < 400 for one in texts)
            if plain and rest.keys() == {"tensor"} and content.ndim == 1 and content.dtype == "u1":
                return Part(kind, tuple(trust), versions, content)
    raise _damaged(f"at {place[:120]}, an estimator of another package is not described as saved")


# --- what skops says ------------------------------------------------------------------------------


def _skops(kind: str) -> Any:
    try:
        import skops.io
    except ImportError as missing:
        raise StoreError(
            "{kind} is of another package than scarce, and a model file holds it with the help of "
            "skops, which cannot be imported here ({reason}).",
            code="skops-missing",
            kind=kind[:120],
            reason=str(missing),
            remedy=INSTALL,
        ) from None
    return skops.io


def _asked(part: Part) -> list[str]:
    """Return what a part needs to be trusted, as found in it; refuse one that says otherwise."""
    _skops(part.type)
    content = part.content.tobytes()
    members = _members(content)
    schema = _schema(members)
    _refuse_calls(schema, part.type, damaged=True)
    try:
        as_saved = _canonical(schema, members) == content
    except (RecursionError, TypeError) as error:
        raise _damaged(f"{part.type[:80]} is not described as saved") from error
    if not as_saved:
        raise _damaged(f"the parts of {part.type[:80]} are not in the form that save writes")
    needed = _untrusted(content)
    same = part.versions.get("skops") == _version("skops")  # others may vouch for other types
    if same and set(needed) != set(part.trust):
        odd = sorted(set(needed) ^ set(part.trust))[0]
        raise _damaged(f"the list of types to trust is not that of its parts ({odd[:80]})")
    return [name for name in needed if not _is_own(name)]


def _untrusted(content: bytes) -> list[str]:
    try:
        return list(_skops("an estimator").get_untrusted_types(data=content))
    except StoreError:
        raise
    except Exception as error:  # skops on bytes that it did not write
        raise _damaged(f"skops cannot read it ({type(error).__name__}: {error!s:.200})") from error


def _is_own(name: str) -> bool:
    """Whether a type is one of the estimators and records that model files hold anyway."""
    from scarce.io.codec import RECORD_HOMES, RECORDS
    from scarce.io.store import REGISTRY

    module, _, short = name.rpartition(".")
    if not name.startswith("scarce."):
        return False
    if short in RECORDS:
        return type_name(RECORDS[short]) == name
    home = REGISTRY.get(short) or RECORD_HOMES.get(short)
    own = home and getattr(importlib.import_module(home), short, None)
    return bool(own) and own.__module__ == module


def _check_own(held: Any, seen: set[int] | None = None, depth: int = 0) -> None:
    """Let scarce's own estimators inside a foreign one check what was loaded into them."""
    seen = set() if seen is None else seen
    if id(held) in seen or depth > 32:
        return
    seen.add(id(held))
    if hasattr(held, "_check_loaded") and _is_own(type_name(type(held))):
        held._check_loaded()
    if isinstance(held, (list, tuple)):
        inner: Iterable[Any] = held
    elif isinstance(held, dict):
        inner = held.values()
    else:
        inner = vars(held).values() if hasattr(held, "get_params") else ()
    for one in inner:
        if isinstance(one, (list, tuple, dict)) or hasattr(one, "get_params"):
            _check_own(one, seen, depth + 1)


# --- the archive ----------------------------------------------------------------------------------


def _members(content: bytes) -> dict[str, bytes]:
    """Return the members of an archive; refuse compressed, nested, repeated or oversized ones."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            sizes = sum(info.file_size for info in infos)
            plain = all(
                info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
                for info in infos
            )
            if not plain or sizes > len(content) or len({i.filename for i in infos}) != len(infos):
                raise _damaged("its members are not stored one by one, as they are")
            members = {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, ValueError) as error:
        if isinstance(error, StoreError):
            raise
        raise _damaged(f"an embedded estimator is cut short or no archive ({error})") from error
    if "schema.json" not in members:
        raise _damaged("an embedded estimator has no description")
    return members


def _schema(members: dict[str, bytes]) -> Node:
    """Return the description inside an archive, and check the members by what they say."""
    try:
        schema = json.loads(members["schema.json"])
        for name, content in members.items():
            if name != "schema.json":
                if not MEMBER.fullmatch(name):
                    raise _damaged(f"a member is named {name[:40]!r}")
                _check_member(name, content)
    except (ValueError, RecursionError, EOFError, OverflowError, zipfile.BadZipFile) as error:
        if isinstance(error, StoreError):
            raise
        raise _damaged(f"an embedded estimator cannot be read ({error!s:.120})") from error
    if not isinstance(schema, dict) or type(schema.get("protocol")) is not int:
        raise _damaged("the description of an embedded estimator is not as saved")
    if schema["protocol"] < PROTOCOL:
        raise _damaged(f"it is in protocol {schema['protocol']} of skops, which scarce never wrote")
    return schema


def _check_member(name: str, content: bytes) -> None:
    """Refuse an array that says it is larger than its bytes, or that holds objects."""
    if name.endswith(".npz"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(info.file_size for info in archive.infolist()) > LARGEST:
                raise _damaged("a sparse matrix is larger than a model file may be")
        return
    if not name.endswith(".npy"):
        return
    shape, dtype, start = _array_header(content)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - start:
        raise _damaged(f"array {name} is not as long as it says")


def _canonical(schema: Node, members: dict[str, bytes]) -> bytes:
    """Return the archive with members and identities numbered in order of use, and no times."""
    numbers: dict[Any, int] = {}
    names: dict[str, str] = {}
    tidy = _renumbered(schema, numbers, names)
    if not set(names) <= set(members):
        raise _damaged("an array of an embedded estimator is missing")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        stored = {names[old]: _without_padding(members[old]) for old in names}
        stored["schema.json"] = json.dumps(tidy, separators=(",", ":")).encode("ascii")
        for name, content in stored.items():
            info = zipfile.ZipInfo(name)  # of 1980
            info.create_system, info.external_attr = 3, 0o600 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _without_padding(content: bytes) -> bytes:
    """Return an array of records with zeros between its fields, where memory held anything."""
    if content[:6] != np.lib.format.MAGIC_PREFIX or b"'descr': [" not in content[:64]:
        return content
    dtype, start = _array_header(content)[1:]
    kept = np.zeros(dtype.itemsize, dtype=np.uint8)
    for field, offset, *_ in (dtype.fields or {}).values():
        kept[offset : offset + field.itemsize] = 1
    records = np.frombuffer(content[start:], dtype=np.uint8).reshape(-1, dtype.itemsize)
    return content[:start] + (records * kept).tobytes()


def _array_header(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, type and first byte of an array in numpy's format."""
    file = io.BytesIO(content)
    first = np.lib.format.read_magic(file) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype, file.tell()


def _renumbered(node: Node, numbers: dict[Any, int], names: dict[str, str]) -> Node:
    """Return a description with identities and members numbered in order of appearance.

    A plain value needs no identity. The order of a set is that of its text, not of a hash.
    """
    if isinstance(node, list):
        return [_renumbered(one, numbers, names) for one in node]
    if not isinstance(node, dict):
        return node
    loader = node.get("__loader__")
    if loader == "SetNode" and isinstance(node.get("content"), list):
        node = node | {"content": sorted(node["content"], key=_without_identity)}
    result: dict[str, Node] = {}
    for key, inner in node.items():
        if key == "__id__" and loader is not None:
            if not isinstance(inner, int):
                raise _damaged("a part of an embedded estimator has no identity")
            if loader != "JsonNode":
                result[key] = numbers.setdefault(inner, len(numbers) + 1)
        elif key == "file" and loader is not None and isinstance(inner, str):
            ending = inner.rpartition(".")[2]
            result[key] = names.setdefault(inner, f"{len(names) + 1}.{ending}")
        else:
            result[key] = _renumbered(inner, numbers, names)
    return result


def _without_identity(node: Node) -> str:
    return json.dumps(_renumbered(node, {}, {}), sort_keys=True)


# --- what may be in it ----------------------------------------------------------------------------


def _nodes(node: Node) -> Iterator[dict[str, Any]]:
    """Walk the parts of a description."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "__loader__" in one:
                yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _refuse_calls(schema: Node, place: str, *, damaged: bool = False) -> None:
    """Refuse functions and the like, whose use could run anything, and unknown kinds of parts."""
    for node in _nodes(schema):
        loader, module, name = node["__loader__"], node.get("__module__"), node.get("__class__")
        if not (isinstance(module, str) and isinstance(name, str) and isinstance(loader, str)):
            raise _damaged("a part of an embedded estimator has no type")
        if loader == "TypeNode" and module == "builtins":
            loader = (
                "TypeNode" if isinstance(getattr(builtins, name, None), type) else "FunctionNode"
            )
        if loader in PARTS and (loader != "FunctionNode" or _is_known_function(module, name)):
            if damaged and not (WORD.fullmatch(f"{module}.{name}")):
                raise _damaged(f"{module[:60]}.{name[:60]} is not a type")
            continue
        what = CALLS.get(loader, f"a part of kind {loader[:40]}")
        what = f"{what} {module[:60]}.{name[:60]}"
        if damaged:
            raise _damaged(f"it holds {what}, which save does not write")
        raise _holds_code(place, what)


def _refuse_named_functions(schema: Node, place: str) -> None:
    """Refuse what skops calls a type and is a function, such as eval; imports trusted modules."""
    for node in _nodes(schema):
        if node["__loader__"] == "TypeNode":
            module, name = node["__module__"], node["__class__"]
            found = getattr(importlib.import_module(module), name, None)
            if found is not None and not isinstance(found, type):
                raise _holds_code(place, f"the function {module[:60]}.{name[:60]}")


def _holds_code(place: str, what: str) -> StoreError:
    return StoreError(
        "{place} holds {what}: a file that names code to call is not safe to load.",
        code="holds-code",
        place=place,
        what=what,
        remedy="Use a ufunc of numpy, such as np.log1p, a transformer of scikit-learn, or one of "
        "your own: a class in a module that is installed where the file is loaded, whose type is "
        "then asked for by name.",
    )


def _is_known_function(module: str, name: str) -> bool:
    words = module.split(".")
    return words[0] in FUNCTIONS_OF and not NEVER & set(words) and name.isidentifier()


def _refuse_locals(schema: Node) -> None:
    for name in _type_names(schema):
        if _root(name) == "__main__":
            warn_user(
                "{name} is defined in the running script or notebook: only a program that defines "
                "it there, too, can load this file.",
                code="main-module",
                name=name,
                remedy="Move it into a module, import it, and save again.",
            )


def _type_names(schema: Node) -> set[str]:
    return {
        f"{node['__module__']}.{node['__class__']}"
        for node in _nodes(schema)
        if node["__loader__"] != "JsonNode"
    }


def _root(name: str) -> str:
    return name.partition(".")[0]


def _unversioned() -> set[str]:
    return {"scarce", "numpy", "__main__", *sys.stdlib_module_names}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(package, package))
    except importlib.metadata.PackageNotFoundError:
        return None


def cannot(kind: str, place: str, reason: str) -> StoreError:
    """Return the error for an estimator that skops cannot keep."""
    return StoreError(
        "{place} is a {kind}, which skops cannot take apart and put together again ({reason}). "
        "Nothing was written.",
        code="cannot-embed",
        place=place or "This",
        kind=kind,
        reason=reason[:300],
        remedy="Use another estimator there, or keep the code and the data that fit it.",
    )


def _damaged(what: str) -> StoreError:
    return StoreError(
        "damaged or not written by scarce: {what}.",
        code="damaged-model",
        what=what,
        remedy="Copy or download it again, or save the model again.",
    )
