"""How does a fitted value become JSON and arrays, and come back exactly as it was?

    value -> node (plain JSON) + tensors (named little-endian arrays)      exactly one way back

None, bool, int, finite float and str are themselves; a list is a JSON array; everything else is an
object with one key, its tag:

    {"float": "nan"}                                        nan, inf, -inf
    {"scalar": {"dtype": "<f4", "value": 0.5}}              numpy scalar; text has dtype "str"
    {"array": {"dtype": "<f8", "shape": [2, 3], "axes": [1, 0], "tensor": "state.coef_"}}
    {"array": {"dtype": "<U5", "shape": [2], "axes": [0], "values": ["no", "maybe"]}}
    {"tuple": [...]}   {"dict": [[key, value], ...]}        in the dict's own order
    {"record": {"name": "FitReport", "fields": {...}}}      see RECORDS
    {"problem": {"text": ..., "code": ..., "remedy": [...], "fields": {...}}}      a remark
    {"argument": [name, call, value]}   {"phrase": [python, shell]}      only as fields of a remark
    {"model": {"kind": ..., "parameters": {...}, "state": {...}}}
    {"foreign": {"type": ..., "trust": [...], "versions": {...}, "tensor": ...}}    foreign.py

`axes` lists the axes from the slowest to the fastest in memory ([0, 1] is C order, [1, 0] Fortran
order): sums and products over the loaded array then run in the same order and give the same bits.

Assumes nothing about what it decodes: types, sizes, names and depth are checked before anything is
built. Does not know files (store.py) nor which classes may be built: `put_together` decides.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import string
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scarce.errors import UNSET, Argument, Phrase, Problem, ScarceError, StoreError
from scarce.io.foreign import Part, part_of
from scarce.results import Estimate, FitReport, RankedFit, Selection, WidthChoice

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


Node = Any  # what json.loads may return
Array = npt.NDArray[Any]
Parts = tuple[str, dict[str, Any], dict[str, Any]]  # kind, parameters, state
Embed = Callable[[Any, str], Part | None]  # an estimator of another package, and its place

RECORDS: dict[str, type] = {
    "Estimate": Estimate,
    "FitReport": FitReport,
    "Selection": Selection,
    "WidthChoice": WidthChoice,
    "RankedFit": RankedFit,
}
# Records of upper rooms, imported when a value or a file has one.
RECORD_HOMES = {
    "CostMatrix": "scarce.decisions.costs",
    "Amount": "scarce.decisions.cost_entries",
    "ColumnProfile": "scarce.io.profile",
    "Front": "scarce.missing.front",
    "Calibration": "scarce.prior.calibrate",
    "ScoreBands": "scarce.auto.bands",
    "Drivers": "scarce.auto.drivers",
    "IncompleteWeights": "scarce.auto.incomplete",
}

DEEPEST = 32  # levels of lists, tuples, dicts, records and models inside each other
LARGEST_INT = 4096  # bits
LARGEST_TEXT_ARRAY = 2**28  # bytes that an array of fixed-width text may take in memory

# numpy kind and width -> name of the tensor type in a safetensors file
TENSOR_TYPES = {"b1": "BOOL", "f4": "F32", "f8": "F64"} | {
    f"{kind}{width}": f"{kind.upper()}{8 * width}" for kind in "iu" for width in (1, 2, 4, 8)
}
NUMPY_TYPES = {code: np.dtype("<" + name) for name, code in TENSOR_TYPES.items()}
DTYPES = {np.dtype(order + name).str for order in "<>" for name in TENSOR_TYPES}


class Encoder:
    """Turns values into nodes, and collects their arrays in `tensors`.

    Parameters
    ----------
    take_apart : callable
        Maps an estimator and its place to kind, parameters and fitted state, or raises StoreError.
    embed : callable, optional
        Maps an estimator of another package and its place to a `Part`; None for others.

    Examples
    --------
    >>> encoder = Encoder(take_apart=lambda model, place: ("Kind", {}, {}))
    >>> encoder.encode((1, float("inf")), "state.range_")
    {'tuple': [1, {'float': 'inf'}]}
    >>> encoder.encode(np.zeros((2, 3)), "state.coef_")["array"]["tensor"], list(encoder.tensors)
    ('state.coef_', ['state.coef_'])
    """

    def __init__(self, take_apart: Callable[[Any, str], Parts], embed: Embed | None = None) -> None:
        self.take_apart, self.embed = take_apart, embed
        self.tensors: dict[str, Array] = {}

    def encode(self, value: Any, place: str, depth: int = 0) -> Node:
        """Return the node of a value; `place` names it in errors and names its tensor."""
        if depth > DEEPEST:
            raise _unfit(
                place,
                f"is nested more than {DEEPEST} levels deep, or contains itself",
                "Keep a flatter value there.",
            )
        if hasattr(value, "as_base_rates") and not isinstance(value, type):
            value = value.as_base_rates()  # what an estimate of base rates is used for
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return _check_int(value, place)
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is str:
            return _check_text(value, place)
        if kind is Problem:
            return self._problem(value, place, depth)
        if kind is Argument:
            given = [] if value.value is UNSET else [None if value.value is ... else value.value]
            return {"argument": self._items([value.name, value.call, *given], place, depth)}
        if kind is Phrase:
            return {"phrase": self._items([value.python, value.shell], place, depth)}
        if kind is list:
            return self._items(value, place, depth)
        if kind is tuple:
            return {"tuple": self._items(value, place, depth)}
        if kind is dict:
            pairs = [
                self._items(pair, f"{place}[{i}]", depth) for i, pair in enumerate(value.items())
            ]
            return {"dict": pairs}
        if isinstance(value, np.generic):
            return self._scalar(value, place)
        if kind is np.ndarray or kind is np.memmap:
            return self._array(value, place)
        if kind.__module__ == RECORD_HOMES.get(kind.__name__) or RECORDS.get(kind.__name__) is kind:
            return self._record(value, place, depth)
        if hasattr(value, "get_params") and not isinstance(value, type):
            part = None if self.embed is None else self.embed(value, place)
            if part is not None:
                return self._part(part, place)
            return {"model": self.encode_model(value, place, depth)}
        raise _unknown(place, f"a {kind.__module__}.{kind.__qualname__}")

    def encode_model(self, model: BaseEstimator, place: str = "", depth: int = 0) -> Node:
        """Return kind, parameters and state of an estimator, all encoded."""
        kind, parameters, state = self.take_apart(model, place)
        start = f"{place}." if place else ""
        return {
            "kind": kind,
            "parameters": self._named(parameters, f"{start}parameters", depth),
            "state": self._named(state, f"{start}state", depth),
        }

    def _named(self, values: dict[str, Any], place: str, depth: int) -> Node:
        return {name: self.encode(v, f"{place}.{name}", depth + 1) for name, v in values.items()}

    def _items(self, values: Any, place: str, depth: int) -> list[Node]:
        return [self.encode(v, f"{place}[{i}]", depth + 1) for i, v in enumerate(values)]

    def _scalar(self, value: np.generic, place: str) -> Node:
        if isinstance(value, np.str_):
            text = _check_text(str(value), place)
            return {"scalar": {"dtype": "str", "value": text}}
        if value.dtype.str not in DTYPES:
            raise _unknown(place, f"a numpy {value.dtype} scalar")
        return {
            "scalar": {"dtype": value.dtype.str, "value": self.encode(value.item(), place)},
        }

    def _array(self, value: Array, place: str) -> Node:
        axes = _memory_axes(value)
        plain = np.asarray(value).transpose(axes)
        node: dict[str, Node] = {"shape": list(value.shape), "axes": axes}
        if value.dtype.str in DTYPES:
            little = value.dtype.newbyteorder("<")
            self.tensors[place] = np.array(plain, dtype=little, order="C")
            node |= {"dtype": value.dtype.str, "tensor": place}
        elif value.dtype.kind == "U" and value.dtype.itemsize > 0:
            if value.nbytes > LARGEST_TEXT_ARRAY:
                raise _unfit(
                    place,
                    f"is an array of fixed-width text of {value.nbytes} bytes, over the limit of "
                    f"{LARGEST_TEXT_ARRAY}",
                    "Turn it into an object array of str.",
                )
            values = [_check_text(text, place) for text in _listed(plain, place)]
            node |= {"dtype": value.dtype.str, "values": values}
        elif value.dtype == object:
            node |= {"dtype": "object", "values": [self._leaf(v, place) for v in plain.flat]}
        else:
            raise _unknown(place, f"a numpy array of {value.dtype}")
        return {"array": node}

    def _leaf(self, value: Any, place: str) -> Node:
        """Encode an element of an object array: plain Python scalars only."""
        if value is not None and type(value) not in (bool, int, float, str):
            raise _unknown(place, f"an object array that holds a {type(value).__qualname__}")
        return self.encode(value, place)

    def _part(self, part: Part, place: str) -> Node:
        self.tensors[place] = part.content
        versions = dict(part.versions)
        noted = {"type": part.type, "trust": list(part.trust), "versions": versions}
        return {"foreign": noted | {"tensor": place}}

    def _problem(self, value: Problem, place: str, depth: int) -> Node:
        return {
            "problem": {
                "text": _check_text(value.text, place),
                "code": _check_text(value.code, place),
                "remedy": self._items(value.remedy, place, depth),
                "fields": self._named(dict(value.fields), place, depth),
            }
        }

    def _record(self, value: Any, place: str, depth: int) -> Node:
        name = type(value).__name__
        fields = {}
        for field in dataclasses.fields(value):
            fields[field.name] = content = getattr(value, field.name)
            if not _fits(content, str(field.type)):
                raise _unfit(
                    f"{place}.{field.name}",
                    f"is a {type(content).__qualname__}, where {name} needs {field.type}",
                    "Give it that type in the fit.",
                )
        return {"record": {"name": name, "fields": self._named(fields, place, depth)}}


class Decoder:
    """Turns nodes back into values; takes each tensor once.

    Parameters
    ----------
    tensors : dict of str to ndarray
        Arrays by name. Each is removed when a node claims it: what is left was never described.
    put_together : callable
        Builds an estimator from kind, parameters and fitted state, or raises StoreError.
    build : callable, optional
        Builds an estimator of another package from a `Part`, or raises StoreError.

    Examples
    --------
    >>> decoder = Decoder({}, put_together=lambda kind, parameters, state: kind)
    >>> decoder.decode({"tuple": [1, {"float": "inf"}]}, "state.range_")
    (1, inf)
    """

    def __init__(
        self,
        tensors: dict[str, Array],
        put_together: Callable[..., Any],
        build: Callable[[Part], Any] | None = None,
    ) -> None:
        self.tensors = tensors
        self.put_together, self.build = put_together, build

    def decode(self, node: Node, place: str, depth: int = 0) -> Any:
        """Return the value of a node, or raise StoreError naming its place."""
        if depth > DEEPEST:
            raise _damaged(place, f"it is nested more than {DEEPEST} levels deep")
        if isinstance(node, str):
            return _check_text(node, place)
        if isinstance(node, list):
            return self._items(node, place, depth)
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise _damaged(place, f"an object with {len(node)} keys, where one tag is needed")
        [(tag, content)] = node.items()
        match tag, content:
            case "float", "nan" | "inf" | "-inf":
                return float(content)
            case "tuple", list():
                return tuple(self._items(content, place, depth))
            case "dict", list():
                return self._dict(content, place, depth)
            case "scalar", {"dtype": str(dtype), "value": value, **rest} if not rest:
                return self._scalar(dtype, value, place)
            case "array", dict():
                return self._array(content, place)
            case "record", {"name": str(name), "fields": dict(fields), **rest} if not rest:
                return self._record(name, self.named(fields, place, depth), place)
            case "problem", {"text": str(), "code": str(), "remedy": list(), "fields": dict()}:
                return self._problem(content, place, depth)
            case "argument", [str(name), str(call)]:
                return Argument(name, call=call)
            case "argument", [str(name), str(call), value]:
                given = ... if value is None else self.decode(value, place, depth + 1)
                return Argument(name, given, call)
            case "phrase", [str(python), str(shell)]:
                return Phrase(python, shell)
            case "model", dict():
                return self.decode_model(content, place, depth)
            case "foreign", {"tensor": str(name)} if self.build is not None:
                if name not in self.tensors:
                    raise _damaged(place, f"tensor {name[:80]!r} is missing or claimed twice")
                return self.build(part_of(content, self.tensors.pop(name), place))
        raise _damaged(place, f"tag {tag[:40]!r} is not known, or does not fit its content")

    def decode_model(self, node: Node, place: str = "", depth: int = 0) -> Any:
        """Return the estimator of a node made by `Encoder.encode_model`."""
        match node:
            case {"kind": str(kind), "parameters": dict(p), "state": dict(s), **rest} if not rest:
                start = f"{place}." if place else ""
                parameters = self.named(p, f"{start}parameters", depth)
                state = self.named(s, f"{start}state", depth)
                return self.put_together(kind, parameters, state)
        raise _damaged(place or "model", "kind, parameters or state is missing")

    def named(self, nodes: dict[str, Node], place: str, depth: int = 0) -> dict[str, Any]:
        """Return the values of a mapping of names to nodes."""
        return {name: self.decode(n, f"{place}.{name}", depth + 1) for name, n in nodes.items()}

    def _items(self, nodes: list[Node], place: str, depth: int) -> list[Any]:
        return [self.decode(node, f"{place}[{i}]", depth + 1) for i, node in enumerate(nodes)]

    def _dict(self, pairs: list[Node], place: str, depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for i, pair in enumerate(pairs):
            if not isinstance(pair, list) or len(pair) != 2:
                raise _damaged(place, f"entry {i} is not a key with a value")
            key, value = self._items(pair, f"{place}[{i}]", depth)
            try:
                result[key] = value
            except TypeError:
                raise _damaged(place, f"a {type(key).__name__} cannot be a key") from None
        if len(result) != len(pairs):
            raise _damaged(place, "a key comes twice")
        return result

    def _scalar(self, dtype: str, node: Node, place: str) -> Any:
        value = self.decode(node, place)
        if dtype == "str" and type(value) is str:
            return np.str_(value)
        if dtype in DTYPES:
            wanted = np.dtype(dtype)
            python = {"b": bool, "i": int, "u": int, "f": float}[wanted.kind]
            if type(value) is python:
                with np.errstate(all="ignore"):
                    try:
                        scalar = wanted.type(value)
                    except OverflowError:
                        raise _damaged(place, f"{value} does not fit into {dtype}") from None
                if scalar.item() == value or value != value:
                    return scalar
        raise _damaged(place, f"{value!r:.40} is not a scalar of type {dtype[:20]!r}")

    def _array(self, content: dict[str, Node], place: str) -> Array:
        match content:
            case {"dtype": str(dtype), "shape": list(shape), "axes": list(axes), **rest}:
                pass
            case _:
                raise _damaged(place, "an array without dtype, shape or axes")
        if not all(type(n) is int and 0 <= n < 2**63 for n in shape) or len(shape) > 32:
            raise _damaged(place, "its shape is not a list of up to 32 counts")
        if not all(type(axis) is int for axis in axes) or sorted(axes) != list(range(len(shape))):
            raise _damaged(place, "its axes are not an order of the axes of its shape")
        stored_shape = [shape[axis] for axis in axes]
        match rest:
            case {"tensor": str(name)} if len(rest) == 1 and dtype in DTYPES:
                stored = self._tensor(name, dtype, stored_shape, place)
            case {"values": list(values)} if len(rest) == 1:
                stored = self._values(values, dtype, stored_shape, place)
            case _:
                raise _damaged(place, f"an array of dtype {dtype[:20]!r} cannot be stored this way")
        return stored.transpose(np.argsort(axes).tolist())

    def _tensor(self, name: str, dtype: str, shape: list[int], place: str) -> Array:
        if name not in self.tensors:
            raise _damaged(place, f"tensor {name[:80]!r} is missing or claimed twice")
        raw = self.tensors.pop(name)
        wanted = np.dtype(dtype)
        if raw.dtype != wanted.newbyteorder("<") or list(raw.shape) != shape:
            raise _damaged(
                place, f"described as {dtype} {shape}, stored as {raw.dtype.str} {list(raw.shape)}"
            )
        if raw.dtype == bool and raw.size and int(raw.view(np.uint8).max()) > 1:
            raise _damaged(place, "a truth value is neither 0 nor 1")
        return np.array(raw, dtype=wanted, order="C")  # a copy: aligned, writable

    def _values(self, nodes: list[Node], dtype: str, shape: list[int], place: str) -> Array:
        if math.prod(shape) != len(nodes):
            raise _damaged(
                place, f"shape {shape} needs {math.prod(shape)} values, not {len(nodes)}"
            )
        values = [self.decode(node, place) for node in nodes]
        if dtype == "object":
            if not all(v is None or type(v) in (bool, int, float, str) for v in values):
                raise _damaged(place, "an object array may hold plain scalars only")
            wanted = np.dtype(object)
        else:
            width = int(dtype[2:]) if dtype[2:].isdecimal() and len(dtype) <= 12 else 0
            if dtype not in (f"<U{width}", f">U{width}") or not width:
                raise _damaged(place, f"{dtype[:20]!r} is not an array type")
            if 4 * width * max(1, len(values)) > LARGEST_TEXT_ARRAY:
                raise _damaged(place, f"{len(values)} texts of width {width} are over the limit")
            if not all(type(v) is str and len(v) <= width for v in values):
                raise _damaged(place, f"a value is not text of up to {width} characters")
            wanted = np.dtype(dtype)
        flat = np.empty(len(values), dtype=wanted)
        flat[:] = values
        try:
            return flat.reshape(shape)
        except ValueError:  # an empty array with an impossible side
            raise _damaged(place, f"shape {shape} is beyond what numpy allows") from None

    def _problem(self, content: dict[str, Node], place: str, depth: int) -> Problem:
        """Rebuild a remark; its places may name its fields and nothing that lies inside them."""
        fields = self.named(content["fields"], place, depth)
        parts = [content["text"], *content["remedy"]]
        try:
            harmless = all(type(part) is str and _harmless(part, set(fields)) for part in parts)
            if harmless:
                return Problem(parts[0], code=content["code"], remedy=tuple(parts[1:]), **fields)
        except (ValueError, TypeError, LookupError) as error:
            raise _damaged(place, f"not a valid remark: {error}") from error
        raise _damaged(place, "a remark whose places do not name its fields")

    def _record(self, name: str, fields: dict[str, Any], place: str) -> Any:
        home = RECORD_HOMES.get(name)
        record = getattr(importlib.import_module(home), name) if home else RECORDS.get(name)
        if record is None:
            raise _damaged(place, f"record {name[:40]!r} is not known")
        known = {field.name: str(field.type) for field in dataclasses.fields(record)}
        for field, value in fields.items():
            if field not in known or not _fits(value, known[field]):
                raise _damaged(place, f"{name} has no field {field[:40]!r}, or not of this type")
        try:
            return record(**fields)
        except (ScarceError, TypeError, ValueError) as error:
            raise _damaged(place, f"not a valid {name}: {error}") from error


def _harmless(text: str, names: set[str]) -> bool:
    """Whether every place of a sentence is a field by its plain name, in a short format."""
    places = [place for place in string.Formatter().parse(text) if place[1] is not None]
    return all(name in names and len(spec or "") <= 6 for _, name, spec, _ in places) or not names


def _memory_axes(array: Array) -> list[int]:
    """Return the axes from slowest to fastest in memory, the same before and after a load."""
    axes = list(range(array.ndim))
    if array.size == 0:
        return axes
    long = sorted((a for a in axes if array.shape[a] > 1), key=lambda a: -abs(array.strides[a]))
    if long == sorted(long):
        return axes
    if long == sorted(long, reverse=True):
        return axes[::-1]
    return [a for a in axes if array.shape[a] == 1] + long  # a side of 1 has no order


def _listed(array: Array, place: str) -> list[str]:
    try:
        listed: list[str] = array.ravel().tolist()
    except (ValueError, SystemError) as error:  # code points beyond Unicode, from a raw buffer
        raise _unknown(place, "an array of text that is not Unicode") from error
    return listed


def _fits(value: Any, declared: str) -> bool:
    """Say whether a decoded value may fill a record's field of this declared type."""
    if declared == "float":
        return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if declared == "int":
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if declared == "bool":
        return isinstance(value, (bool, np.bool_))
    if declared == "str":
        return isinstance(value, str)
    if declared == "tuple[str, ...]":
        return type(value) is tuple and all(isinstance(item, str) for item in value)
    return True


def _check_int(value: int, place: str) -> int:
    if value.bit_length() > LARGEST_INT:
        what = f"is an integer of {value.bit_length()} bits, over the limit of {LARGEST_INT}"
        raise _unfit(place, what, "Keep it as text.")
    return value


def _check_text(value: str, place: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        what = f"holds text that is not Unicode ({value!a:.40}, a lone surrogate at {error.start})"
        raise _unfit(place, what, "Rename it before the fit.") from error
    return value


def _unknown(place: str, what: str) -> StoreError:
    return _unfit(
        place,
        f"is {what}, which a model file cannot hold",
        "Use None, bool, int, float, str, numpy arrays of numbers or text, lists, tuples, dicts, "
        "Estimate, FitReport or scarce's own estimators, such as an int for random_state.",
    )


def _unfit(place: str, what: str, remedy: str) -> StoreError:
    """Return the error for a value that a model file cannot hold."""
    return StoreError("{place} {what}.", code="cannot-store", place=place, what=what, remedy=remedy)


def _damaged(place: str, what: str) -> StoreError:
    return StoreError(
        "damaged or not written by scarce: at {place}, {what}.",
        code="damaged-model",
        place=place[:200],
        what=what,
        remedy="Save it again.",
    )
