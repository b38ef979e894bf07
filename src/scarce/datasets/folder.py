"""Where are the real data sets, and which ones are there?

The sets are not part of this package. Their folder holds the subfolders uci, uci_missing, anomaly,
bradypus and nceas; it is given as `folder`, or else by the environment variable SCARCE_DATA.
Downloads nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet

from scarce.datasets.arguments import choice
from scarce.errors import DataError

VARIABLE = "SCARCE_DATA"

NAMES: dict[str, tuple[str, ...]] = {
    "uci": (
        "nursery",
        "letter-a",
        "car",
        "glass",
        "ecoli",
        "letter-vowel",
        "cmc",
        "vehicle",
        "haberman",
        "yeast",
        "german",
        "pima",
    ),
    "uci_missing": (
        "bands",
        "crx",
        "echocardiogram",
        "hepatitis",
        "horse_colic",
        "house_votes_84",
    ),
    "anomaly": (
        "annthyroid",
        "shuttle",
        "smtp",
        "satimage2",
        "pendigits",
        "wilt",
        "standin17",
        "standin29",
    ),
    "bradypus": ("bradypus",),
    "nceas": ("AWT", "CAN", "NSW", "NZ", "SA", "SWI"),
}


def dataset_names(collection: str) -> tuple[str, ...]:
    """Return the names of the sets of a collection, in the order of its paper or source.

    Parameters
    ----------
    collection : {"uci", "uci_missing", "anomaly", "bradypus", "nceas"}
        Which collection; for "nceas" the names are regions, see also `nceas_species`.

    Returns
    -------
    tuple of str
        The names that the collection's reader understands.

    Notes
    -----
    **Assumes** nothing about the machine: the names are known even where the files are absent.

    Examples
    --------
    >>> dataset_names("nceas")
    ('AWT', 'CAN', 'NSW', 'NZ', 'SA', 'SWI')
    >>> dataset_names("uic")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: collection='uic' is not known. Did you mean 'uci'? Choose one of ...
    """
    return NAMES[choice("collection", collection, NAMES)]


def find(collection: str, file: str, folder: str | os.PathLike[str] | None) -> Path:
    """Return the path of a file of a collection, or say which folder was looked for.

    Examples
    --------
    >>> find("uci", "car.parquet", "no-such-folder")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: No folder 'no-such-folder/uci': set SCARCE_DATA to, or pass as folder,
    the parent folder of 'uci'.
    """
    given = folder if folder is not None else os.environ.get(VARIABLE)
    if not given:
        raise DataError(
            f"{VARIABLE} is not set and no folder was given: set {VARIABLE} to, or pass as folder, "
            f"the parent folder of {collection!r}."
        )
    inside = Path(given) / collection
    if not inside.is_dir():
        raise DataError(
            f"No folder {inside.as_posix()!r}: set {VARIABLE} to, or pass as folder, the parent "
            f"folder of {collection!r}."
        )
    path = inside / file
    if not path.is_file():
        raise DataError(
            f"The folder {inside.as_posix()!r} holds no file {file!r}: copy it there, or point "
            f"{VARIABLE} or folder to a complete copy of the data."
        )
    return path


def read(collection: str, file: str, folder: str | os.PathLike[str] | None) -> Any:
    """Return a Parquet or CSV file of a collection as a pyarrow table.

    Examples
    --------
    >>> read("uci", "car.parquet", "no-such-folder")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: No folder 'no-such-folder/uci': ...
    """
    path = find(collection, file, folder)
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        return pyarrow.csv.read_csv(path)
    except (pyarrow.ArrowInvalid, OSError) as cause:
        raise DataError(
            f"The file {path.as_posix()!r} cannot be read ({cause}): copy it again."
        ) from cause
