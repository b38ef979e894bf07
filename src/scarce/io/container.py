"""What are the bytes of a model file, and how is a file refused that is not one?

A model file is one safetensors file. Its only metadata key, "scarce", holds canonical JSON: format,
kind, parameters, columns, classes, data, certificate, state, versions, created, digest. Each
parameter and each fitted attribute is there once: SECTIONS says which attributes have a section of
their own, `state` holds the rest. (One key, because safetensors does not keep several in order.)

    digest = SHA-256(canonical JSON without `digest` and `created`,
                     then name, type, shape and bytes of every tensor in order of name)

The time is outside the digest: the same model has the same digest whenever it is saved.
Canonical JSON: keys sorted, no spaces, ASCII, no NaN or Infinity; any other spelling is refused.

Assumes that the caller checks what the description means. Does not build anything.
"""

from __future__ import annotations

import datetime
import errno
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from scarce.errors import StoreError
from scarce.io.codec import NUMPY_TYPES, TENSOR_TYPES, Array, Node

FORMAT = 1
SECTIONS: dict[str, tuple[str, ...]] = {
    "columns": ("feature_names_in_", "n_features_in_", "schema_"),
    "classes": ("classes_",),
    "data": ("data_fingerprint_",),
    "certificate": ("report_",),
}
KEYS = {"format", "kind", "parameters", "state", "versions", "created", "digest", *SECTIONS}
LARGEST_FILE = 2**32
LARGEST_HEADER = 2**24  # bytes of names and JSON; arrays of numbers are not in it
AGAIN = "Copy or download it again, or save the model again."
GIVE = "Give a file that scarce's save wrote."
FOLDER = ("this is a folder", "Give the model file inside it.")


def pack(
    description: dict[str, Node],
    tensors: dict[str, Array],
    created: datetime.datetime | None = None,
) -> bytes:
    """Return the bytes of a model file; adds format, versions, digest and created.

    Examples
    --------
    >>> sections = {name: {} for name in ("parameters", "state", *SECTIONS)}
    >>> content = pack({"kind": "Example", **sections}, {})
    >>> content[8:35]
    b'{"__metadata__":{"scarce":"'
    """
    described = description | {"format": FORMAT, "versions": _versions()}
    noted = described | {"digest": _digest(described, tensors), "created": _utc(created)}
    content = safetensors.numpy.save(tensors, {"scarce": _canonical(noted)})
    header = int.from_bytes(content[:8], "little")
    for what, size, limit in [
        ("Names, texts and lists of the model", header, LARGEST_HEADER),
        ("The model's arrays", len(content), LARGEST_FILE),
    ]:
        if size > limit:
            raise StoreError(
                "{what} take {size} bytes; a model file has room for {limit}. Nothing was written.",
                code="model-too-large",
                what=what,
                size=size,
                limit=limit,
                remedy="Keep large lists as numpy arrays of numbers, or fit with fewer features.",
            )
    return content


def unpack(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the description and the tensors of a model file, all checks passed.

    Raises
    ------
    StoreError
        The file is missing, foreign, damaged or newer; the message does not repeat the path.
    """
    content = _bytes_of(Path(path))
    header = int.from_bytes(content[:8], "little")
    if len(content) < 8 or header > min(LARGEST_HEADER, len(content) - 8):
        raise _what_is_it(content)
    try:
        stored: Any = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
        text = _metadata(content[8 : 8 + header])
        tensors = {name: _tensor(name, view) for name, view in stored}
    except safetensors.SafetensorError as error:
        raise _what_is_it(content) from error
    description = _parse(text)
    described = {key: description[key] for key in description if key not in ("digest", "created")}
    if description["digest"] != _digest(described, tensors):
        raise _damaged("the checksum differs from the one noted at saving")
    return description, tensors


def _bytes_of(path: Path) -> bytes:
    """Read a regular file that is not larger than a model may be."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            seen = os.fstat(file.fileno())
            if not stat.S_ISREG(seen.st_mode):
                raise _unreadable("not-a-file", "it is a device or pipe", GIVE)
            if seen.st_size > LARGEST_FILE:
                what = f"it has {seen.st_size} bytes, over the {LARGEST_FILE} of a model file"
                raise _unreadable("model-too-large", what, GIVE)
            content = file.read(seen.st_size + 1)
    except StoreError:  # is a ValueError too
        raise
    except FileNotFoundError:
        raise _unreadable(
            "no-file", "there is no such file", "Check the path, or save the model first."
        ) from None
    except IsADirectoryError:
        raise _unreadable("is-folder", *FOLDER) from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        if path.is_dir():
            raise _unreadable("is-folder", *FOLDER) from None
        if getattr(error, "errno", None) == errno.ELOOP:
            what = "this is a symbolic link that leads back to itself"
            raise _unreadable("broken-link", what, "Give the file itself.") from None
        reason = getattr(error, "strerror", None) or error
        what = f"it cannot be read ({reason})"
        raise _unreadable("unreadable-file", what, "Check its permissions.") from error
    if len(content) != seen.st_size:
        what = "it changed while it was read"
        raise _unreadable("file-changed", what, "Load it again when its writer is done.")
    return content


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for its writer


def _what_is_it(content: bytes) -> StoreError:
    """Say what a file that is not a safetensors container looks like, and what to do."""
    start = content[:1024].decode("utf-8", "replace").rstrip("\ufffd")  # the cut may split a letter
    if not content:
        return _unreadable("empty-file", "the file is empty", AGAIN)
    if content[:1] == b"\x80" and content[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        what = "this is a pickle (or joblib) file, which can run code when it is read"
        then = "Load it where it was made and save it with scarce's save."
    elif content[:4] == b"PK\x03\x04":
        what, then = "this is a zip archive (such as .npz), not a model file", GIVE
    elif content[:2] == b"\x1f\x8b":
        what, then = "this is a gzip file", "Unpack it first (gunzip), then load what was in it."
    elif all(c.isspace() or (c.isprintable() and c != "\ufffd") for c in start) and start:
        what, then = f"this is a text file ({start[:20]!r} ...), not a model file", GIVE
    else:
        return _damaged("cut short, or not a model file")
    return _unreadable("not-a-model-file", what, then)


def _unreadable(code: str, what: str, remedy: str) -> StoreError:
    """Return the error for a file that is not read as a model; its name is put before it later."""
    return StoreError("{what}.", code=code, what=what, remedy=remedy)


def _damaged(what: str) -> StoreError:
    return StoreError("damaged: {what}.", code="damaged-model", what=what, remedy=AGAIN)


def _metadata(header: bytes) -> str:
    """Return the JSON text under the only metadata key."""
    try:
        outer = json.loads(header, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"its header is not as saved ({error})") from error
    match outer:
        case {"__metadata__": {"scarce": str(text), **others}} if not others:
            return text
    what = "this is a safetensors file, but not one that scarce's save wrote"
    raise _unreadable("not-a-model-file", what, "Load it with the library that made it.")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name comes twice")
    return result


def _tensor(name: str, view: dict[str, Any]) -> Array:
    dtype = NUMPY_TYPES.get(view["dtype"])
    if dtype is None:
        known = ", ".join(NUMPY_TYPES)
        raise _damaged(
            f"tensor {name[:80]!r} is of type {view['dtype']}; a model file holds {known}"
        )
    try:
        return np.frombuffer(view["data"], dtype=dtype).reshape(view["shape"])
    except (ValueError, OverflowError) as error:
        raise _damaged(f"tensor {name[:80]!r} has no valid shape") from error


def _parse(text: str) -> dict[str, Any]:
    """Return the description; refuse a newer format, and whatever `save` does not write."""
    damaged = _damaged("its description is not as saved")
    try:
        description: Any = json.loads(text)
        if isinstance(description, dict):
            _check_format(description)
        as_saved = _canonical(description) == text  # twins, NaN, spaces, another order: all refused
    except (ValueError, RecursionError) as error:
        if isinstance(error, StoreError):
            raise
        raise damaged from error
    match description:
        case {
            "kind": str(),
            "parameters": dict(),
            "state": dict(),
            "versions": dict(),
            "created": str(created),
            "digest": str(),
        } if as_saved and description.keys() == KEYS:
            for section, names in SECTIONS.items():
                part = description[section]
                if not isinstance(part, dict) or not part.keys() <= set(names):
                    raise damaged
            taken = {name for names in SECTIONS.values() for name in names}
            if not description["state"].keys() & taken and _is_time(created):
                return dict(description)
    raise damaged


def _check_format(description: dict[str, Any]) -> None:
    number = description.get("format")
    if type(number) is not int or number < 1:
        raise _damaged(f"format {number!r:.40} was never written by scarce")
    if number > FORMAT:
        versions = description.get("versions")
        wrote = versions.get("scarce") if isinstance(versions, dict) else None
        raise StoreError(
            "it is in model format {format} of scarce {wrote}; this is scarce {own}, which reads "
            "formats up to {known}.",
            code="newer-format",
            format=number,
            wrote=str(wrote or "unknown")[:40],
            own=_versions()["scarce"],
            known=FORMAT,
            remedy="Upgrade scarce: pip install --upgrade scarce.",
        )


def _canonical(description: Node) -> str:
    return json.dumps(description, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(description: dict[str, Any], tensors: dict[str, Array]) -> str:
    """Return the checksum of a description (without digest and created) and its tensors."""
    total = hashlib.sha256(_canonical(description).encode("ascii"))
    for name in sorted(tensors):
        array = tensors[name]
        code = TENSOR_TYPES[array.dtype.str[1:]]
        total.update(_canonical([name, code, list(array.shape), array.nbytes]).encode("ascii"))
        total.update(array.tobytes())
    return f"sha256:{total.hexdigest()}"


def _utc(when: datetime.datetime | None) -> str:
    when = datetime.datetime.now(datetime.UTC) if when is None else when
    when = when.replace(tzinfo=datetime.UTC) if when.tzinfo is None else when
    return when.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_time(text: str) -> bool:
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", text) is not None


def _versions() -> dict[str, str]:
    names = ("numpy", "scarce", "scikit-learn")
    return {name: importlib.metadata.version(name) for name in names} | {
        "python": platform.python_version()
    }
