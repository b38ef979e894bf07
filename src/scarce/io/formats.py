"""Which format is it? By the first bytes of what is read, by the ending of what is written.

The first bytes do not lie, endings may; text has no first bytes of its own and is what is left.
Does not look into the values: see source.py.
"""

from __future__ import annotations

import os
from pathlib import Path

from scarce.errors import DataError, UsageError, suggest

TEXT = ("csv", "tsv")
FORMATS = (*TEXT, "parquet", "arrow")
ENDINGS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
PACKINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
PACKED_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
}
FOREIGN = {
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".ods": "Save the sheet as CSV.",
    ".json": "Write its rows as CSV or Parquet.",
    ".jsonl": "Write its rows as CSV or Parquet.",
    ".zip": "Unpack it first.",
    ".scarce": "It is a model; a table is needed here.",
}
STREAM_MAGIC = b"\xff\xff\xff\xff"  # of an Arrow stream: the mark before its first message


def format_of(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return the format and the packing that a file's name stands for.

    Examples
    --------
    >>> format_of("p.csv"), format_of("p.tsv.gz"), format_of("p.parquet")
    (('csv', None), ('tsv', 'gzip'), ('parquet', None))
    >>> format_of("p.xlsx")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: 'p.xlsx': the ending '.xlsx' is not known. Give .csv, .tsv ...
    """
    path = Path(path)
    packing = PACKINGS.get(path.suffix.lower())
    bare = Path(path.stem) if packing else path
    kind = ENDINGS.get(bare.suffix.lower())
    if kind is None:
        near = suggest(bare.suffix.lower(), ENDINGS)
        raise UsageError(
            f"{str(path)!r}: the ending {bare.suffix!r} is not known.{near} Give .csv, .tsv "
            "(also with .gz or .zst), .parquet or .arrow."
        )
    if packing and kind not in TEXT:
        raise UsageError(
            f"{str(path)!r}: {kind} files are compressed inside. Give the name without "
            f"{path.suffix!r}."
        )
    return kind, packing


def packing_of(head: bytes) -> str | None:
    """Return how bytes are packed, from the first of them."""
    return next((name for magic, name in PACKED_MAGIC.items() if head.startswith(magic)), None)


def kind_of(head: bytes, path: Path | None) -> str:
    """Return what is inside: "parquet", "arrow", "arrow stream", "csv" or "tsv".

    Text that comes without a name is taken for tab separated when its first line has tabs and no
    comma.
    """
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "arrow"
    if head[:4] == STREAM_MAGIC:
        return "arrow stream"
    first = head.partition(b"\n")[0]
    by_content = "tsv" if b"\t" in first and b"," not in first else "csv"
    if path is None:
        return by_content
    ending = (path.with_suffix("") if path.suffix.lower() in PACKINGS else path).suffix.lower()
    if ending in FOREIGN:
        raise DataError(f"{path}: a {ending} file is not read. {FOREIGN[ending]}")
    if ending not in ENDINGS:
        return by_content
    kind = ENDINGS[ending]
    if kind not in TEXT:
        raise DataError(
            f"{path} is not a {kind} file: it begins with {head[:4]!r}. It may be damaged or "
            "wrongly named."
        )
    return kind


def nearest_file(path: Path) -> str:
    """Name the file that was probably meant: its ending alone makes no likeness."""
    there = {p.stem: p.name for p in path.parent.iterdir()} if path.parent.is_dir() else {}
    exact = [name for stem, name in there.items() if stem == path.stem]
    hint = suggest(path.stem, there)
    found = exact[0] if exact else there.get(hint[15:-2]) if hint else None
    return f" Did you mean {found!r}?" if found else ""
