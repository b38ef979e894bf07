"""Ways in which bytes are wrong: of any file, of text, of TOML, and of model files.

As in damage.py, every way takes a `random.Random` and returns the damaged bytes.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

ByteDamage = Callable[[Random, bytes], bytes]

# --- of bytes -------------------------------------------------------------------------------------


def bit_flips(rng: Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut_off(rng: Random, raw: bytes) -> bytes:
    near_end = rng.random() < 0.4
    return raw[
        : max(len(raw) - rng.randrange(1, 12), 0) if near_end else rng.randrange(len(raw) + 1)
    ]


def cut_out(rng: Random, raw: bytes) -> bytes:
    begin = rng.randrange(len(raw) + 1)
    return raw[:begin] + raw[begin + rng.choice([1, 7, 200]) :]


def put_in(rng: Random, raw: bytes) -> bytes:
    place = rng.choice([0, len(raw), rng.randrange(len(raw) + 1)])
    more = rng.choice(
        [
            b"\x00",
            b"\n\n\n",
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b'"',
            b"\r",
            b"\x1a",
            b" ",
            rng.randbytes(40),
        ]
    )
    return raw[:place] + more + raw[place:]


def repeated(rng: Random, raw: bytes) -> bytes:
    begin = rng.randrange(len(raw) + 1)
    return raw[:begin] + raw[begin : begin + rng.choice([1, 30, 2000])] * 2 + raw[begin:]


def zeroed(rng: Random, raw: bytes) -> bytes:
    begin, length = rng.randrange(len(raw) + 1), rng.choice([1, 8, 100])
    return raw[:begin] + bytes(len(raw[begin : begin + length])) + raw[begin + length :]


def emptied(rng: Random, raw: bytes) -> bytes:
    return rng.choice([b"", b"", b"\n", b" \n \n", b"\x00" * 64, b"\xef\xbb\xbf", b","])


def noise(rng: Random, raw: bytes) -> bytes:
    head = rng.choice(
        [b"", b"PAR1", b"ARROW1\x00\x00", b"\x1f\x8b\x08", b"(\xb5/\xfd", b"PK\x03\x04"]
    )
    return head + rng.randbytes(rng.choice([1, 20, 3000]))


def false_gzip(rng: Random, raw: bytes) -> bytes:
    packed = gzip.compress(raw, mtime=0)
    return rng.choice(
        [packed, packed[: len(packed) // 2], bit_flips(rng, packed), packed + b"tail"]
    )


OF_BYTES: dict[str, ByteDamage] = {
    way.__name__.replace("_", " "): way
    for way in ([bit_flips, cut_off, cut_out, put_in, repeated, zeroed, emptied, noise, false_gzip])
}


def other_delimiter(rng: Random, raw: bytes) -> bytes:
    return raw.replace(b",", rng.choice([b";", b"\t", b"|", b" ", b",,", b":"]))


def decimal_comma(rng: Random, raw: bytes) -> bytes:
    return raw.replace(b",", b";").replace(b".", b",")


def line_ends(rng: Random, raw: bytes) -> bytes:
    kinds = rng.choice([[b"\r"], [b"\r\n", b"\n"], [b"\n\n"], [b"\n\r"], [b"\x0b"], [b"\r\n"]])
    return b"".join(line + rng.choice(kinds) for line in raw.split(b"\n")[:-1])


def other_encoding(rng: Random, raw: bytes) -> bytes:
    text = raw.decode("utf-8", "replace")
    name = rng.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252", "utf-7"])
    return text.replace("a", "ä", 3).encode(name, "replace")


def open_quote(rng: Random, raw: bytes) -> bytes:
    place = raw.find(b",", rng.randrange(len(raw) + 1))
    return raw[: place + 1] + b'"' + raw[place + 1 :]


def comments(rng: Random, raw: bytes) -> bytes:
    return (
        rng.choice([b"# written by a program\n", b"\n\n", b"sep=,\n", b"Report of May,,\n"]) + raw
    )


OF_TEXT: dict[str, ByteDamage] = {
    way.__name__.replace("_", " "): way
    for way in ([other_delimiter, decimal_comma, line_ends, other_encoding, open_quote, comments])
}


# --- of TOML and of model files -------------------------------------------------------------------

VALUES = (
    ["0", "-1", "1e308", "inf", "-inf", "nan", "9" * 40, "true", '""', '"amount"', '"no such"']
    + [
        '"0.8 * amount + 15"',
        '"1 / 0"',
        '"__import__"',
        "[]",
        "[1]",
        '["a", "b", "c"]',
        "[[1, 2], [3]]",
    ]
    + [
        "{}",
        "{a = 1}",
        "1979-05-27",
        "07:32:00",
        '"""\n"""',
        "[" * 40 + "]" * 40,
        "'\\x'",
        "[1, 'a']",
    ]
    + [
        "[" * 3000 + "]" * 3000,
        "0x1F",
        "1_000",
        '"\\u0000"',
        '"' + "x" * 3000 + '"',
        "-0.0",
        "[[]]",
    ]
)
KEYS = ["miss", "false_alarm", "abstain", "classes", "costs", "actions", "mis", "", "a b", "x.y.z"]
KEYS += ["level", "seed", "threads", "json", "out", "force", "label", "prob", "score", "threshold"]


def toml_value(rng: Random, raw: bytes) -> bytes:
    lines = raw.decode().splitlines()
    places = [j for j, line in enumerate(lines) if "=" in line]
    if places:
        place = rng.choice(places)
        lines[place] = f"{lines[place].split('=')[0]}= {rng.choice(VALUES)}"
    return "\n".join(lines).encode()


def toml_more(rng: Random, raw: bytes) -> bytes:
    key = rng.choice(KEYS)
    key = key if key.replace(".", "").replace("_", "").isalnum() else json.dumps(key)
    line = f"{key} = {rng.choice(VALUES)}\n".encode()
    return line + raw if rng.random() < 0.5 else raw + b"\n" + line


def toml_tables(rng: Random, raw: bytes) -> bytes:
    key = rng.choice(KEYS[:6] + ["scarce", "decide", "fit"])
    more = rng.choice(
        [
            f"[{key}]\n",
            f"[[{key}]]\n",
            "[" + ".".join("a" * 200) + "]\n",
            f"[{key}.a]\nb = 1\n",
            "[]\n",
        ]
    )
    return raw + b"\n" + more.encode()


def toml_less(rng: Random, raw: bytes) -> bytes:
    lines = raw.decode().splitlines()
    rng.shuffle(lines)
    return "\n".join(lines[rng.randrange(len(lines) + 1) :]).encode()


OF_TOML: dict[str, ByteDamage] = {
    way.__name__.replace("_", " "): way for way in (toml_value, toml_more, toml_tables, toml_less)
}


def resealed(rng: Random, raw: bytes) -> bytes:
    """Change what a model file says and give it the right checksum: a stranger's file."""
    from scarce.io.container import pack, unpack

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.scarce")
        path.write_bytes(raw)
        said, tensors = unpack(path)
    for name in ("digest", "created", "format", "versions"):
        said.pop(name)
    tensors = {name: value.copy() for name, value in tensors.items()}
    for _ in range(rng.choice([1, 1, 3])):
        if tensors and rng.random() < 0.4:
            value = tensors[rng.choice(sorted(tensors))]
            if value.size:
                value.flat[rng.randrange(value.size)] = rng.choice(
                    [0, 1, 100, -1 * (value.dtype.kind == "f")]
                )
        else:
            _change_inside(rng, said)
    return pack(said, tensors)


def _change_inside(rng: Random, node: Any) -> None:
    """Walk down at random and replace, remove or repeat what is there."""
    while True:
        places = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not places:
            return
        place = rng.choice(places)
        if isinstance(node[place], (dict, list)) and node[place] and rng.random() < 0.85:
            node = node[place]
            continue
        step = rng.random()
        if step < 0.2:
            del node[place]
        elif step < 0.3 and isinstance(node, list):
            node.append(node[place])
        else:
            node[place] = rng.choice(
                [None, True, 0, -1, 2**40, 0.5, "", "x", "GaussianBayes", [], {}, [1]]
            )
        return
