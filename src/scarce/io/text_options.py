"""How is Arrow told to read text as its owner wrote it?"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from scarce.io.text import TextForm


def read_options(form: TextForm, **more: Any) -> pacsv.ReadOptions:
    """Encoding and header."""
    return pacsv.ReadOptions(
        encoding=form.encoding, autogenerate_column_names=not form.header, **more
    )


def parse_options(form: TextForm, kind: str) -> pacsv.ParseOptions:
    """Delimiter and quotes."""
    mark = form.delimiter or ("\t" if kind == "tsv" else ",")
    return pacsv.ParseOptions(delimiter=mark, newlines_in_values=True)


def whole_lines(head: bytes, encoding: str) -> bytes:
    """Return the beginning of a text without its last line, which was cut off somewhere.

    Examples
    --------
    >>> whole_lines("a\\n1\\n2".encode("utf-16"), "utf-16").decode("utf-16")
    'a\\n1\\n'
    """
    if codecs.lookup(encoding).name[:6] not in ("utf-16", "utf-32"):  # a letter is a byte or more
        return head[: head.rfind(b"\n") + 1] or head
    text = codecs.getincrementaldecoder(encoding)().decode(head)
    return text[: text.rfind("\n") + 1].encode(encoding) or head


def convert_options(
    form: TextForm,
    types: Mapping[str, pa.DataType],
    wanted: Sequence[str] | None = None,
    numbers: Collection[str] = (),
    exact: Collection[str] = (),
) -> pacsv.ConvertOptions:
    """Types of the columns wanted: numbers, text as it is written, or what they look like."""
    kinds = {}
    for name in wanted or ():
        seen = types[name]
        if name in numbers:  # true and false are turned into numbers after they are read
            kinds[name] = seen if pa.types.is_boolean(seen) else pa.float64()
        elif name in exact or pa.types.is_null(seen) or pa.types.is_string(seen):
            kinds[name] = pa.string()
        else:
            kinds[name] = seen
    return pacsv.ConvertOptions(
        null_values=list(form.nothing),
        strings_can_be_null=not exact,
        include_columns=wanted,
        column_types=kinds,
        decimal_point=form.decimal,
    )
