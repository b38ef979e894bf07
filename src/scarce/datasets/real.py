"""Real sets with rare classes, missing values or only presences, read from files on this machine.

load_uci          twelve sets of 001 Table 2: coded, they have the paper's rows, columns, prevalence
load_uci_missing  six sets of 004 Table 2 with their missing values
load_anomaly      scores and labels of rare events, for 002
load_bradypus     presences and background of one species, for 000
The sets are not part of this package. Their folder has the subfolders uci, uci_missing, anomaly,
bradypus and nceas; it is given as `folder`, or else by the environment variable SCARCE_DATA.
Text columns are taken as categories. Downloads, imputes and drops nothing unasked.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet

from scarce.datasets.records import RealSet
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, listed, refuse_word, suggest

Folder = str | os.PathLike[str] | None

VARIABLE = "SCARCE_DATA"
CODINGS = ("one-hot", "codes")

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

UCI_SOURCE = "UCI Machine Learning Repository (Dua and Graff), and the donor of each set"
UCI_LICENCE = "CC BY 4.0 as far as known; confirm on the page of the set before redistributing"
PIMA_LICENCE = "withdrawn from UCI, usually listed as CC0; confirm before redistributing"
ANOMALY_SOURCE = (
    "UCI Machine Learning Repository, as recoded in ADBench (Han, Hu, Huang, Jiang and Zhao, "
    "NeurIPS 2022), which is BSD-2-Clause"
)
BRADYPUS_SOURCE = (
    "occurrences: Anderson and Handley (2001), Proc. Biol. Soc. Washington 114:1-33; predictors: "
    "Phillips, Anderson and Schapire (2006), Ecological Modelling 190:231-259; table as in elapid"
)

# set -> column with the class, its positive value, its negative value
MISSING_TARGETS: dict[str, tuple[str, Any, Any]] = {
    "bands": ("band_type", "band", "noband"),
    "crx": ("A16", "+", "-"),
    "echocardiogram": ("alive_at_1", 1, 0),
    "hepatitis": ("class", 1, 2),
    "horse_colic": ("surgical_lesion", 2, 1),
    "house_votes_84": ("class", "republican", "democrat"),
}


# --- files and coding ----------------------------------------------------------------------------


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
    **Assumes** nothing about the machine: the names are known without the files.

    Examples
    --------
    >>> dataset_names("nceas")
    ('AWT', 'CAN', 'NSW', 'NZ', 'SA', 'SWI')
    >>> dataset_names("uic")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: collection must be 'uci', ... got 'uic'. Did you mean 'uci'?
    """
    refuse_word("collection", collection, list(NAMES))
    return NAMES[collection]


def find(collection: str, file: str, folder: Folder) -> Path:
    """Return the path of a file of a collection.

    Examples
    --------
    >>> find("uci", "car.parquet", "no-such-folder")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: There is no folder 'no-such-folder/uci'. Set SCARCE_DATA to the ...
    """
    given = folder if folder is not None else os.environ.get(VARIABLE)
    inside = Path(given or "") / collection
    if not given or not inside.is_dir():
        text = "There is no folder {path!r}." if given else "{variable} is not set."
        raise DataError(
            text,
            code="no-data-folder",
            path=inside.as_posix(),
            variable=VARIABLE,
            collection=collection,
            folder=Argument("folder"),
            remedy="Set {variable} to the parent folder of {collection!r}, or pass it as {folder}.",
        )
    path = inside / file
    if not path.is_file():
        raise DataError(
            "The folder {path!r} has no file {file!r}.",
            code="no-data-file",
            path=inside.as_posix(),
            file=file,
            variable=VARIABLE,
            remedy="Copy it there, or set {variable} to a complete copy of the data.",
        )
    return path


def read(collection: str, file: str, folder: Folder) -> pyarrow.Table:
    """Return a Parquet or CSV file of a collection as a pyarrow table.

    Examples
    --------
    >>> read("uci", "car.parquet", "no-such-folder")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: There is no folder 'no-such-folder/uci'. ...
    """
    path = find(collection, file, folder)
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        return pyarrow.csv.read_csv(path)
    except (pyarrow.ArrowInvalid, OSError) as cause:
        raise DataError(
            "The file {path!r} cannot be read ({reason}).",
            code="unreadable-file",
            path=path.as_posix(),
            reason=str(cause),
            remedy="Copy it again.",
        ) from cause


def is_text(column: pyarrow.ChunkedArray) -> bool:
    """Whether a pyarrow column holds text.

    Examples
    --------
    >>> is_text(pyarrow.chunked_array([["a", None]])), is_text(pyarrow.chunked_array([[1.0]]))
    (True, False)
    """
    kind = column.type
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def numbers_of(column: pyarrow.ChunkedArray) -> Array:
    """Return a pyarrow column of numbers as float64, NaN where null.

    Examples
    --------
    >>> numbers_of(pyarrow.chunked_array([[1, None]]))
    array([ 1., nan])
    """
    return np.array(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)


def encode(
    table: pyarrow.Table, names: Sequence[str], coding: str
) -> tuple[Array, tuple[str, ...], dict[str, tuple[Any, ...]]]:
    """Return the coded array, the names of its columns and the levels of every text column.

    "one-hot" makes a column ``name=level`` of every level of a text column (none is dropped);
    "codes" gives the position of the level among the sorted levels. A missing text is NaN in every
    column made from it.

    Examples
    --------
    >>> table = pyarrow.table({"size": [1.5, 2.0, None], "door": ["two", None, "four"]})
    >>> X, columns, levels = encode(table, ["size", "door"], "one-hot")
    >>> columns
    ('size', 'door=four', 'door=two')
    >>> X
    array([[1.5, 0. , 1. ],
           [2. , nan, nan],
           [nan, 1. , 0. ]])
    >>> encode(table, ["door"], "codes")[0].ravel()
    array([ 1., nan,  0.])
    """
    made: list[Array] = []
    columns: list[str] = []
    levels: dict[str, tuple[Any, ...]] = {}
    for name in names:
        column = table[name]
        if not is_text(column):
            made.append(numbers_of(column))
            columns.append(name)
            continue
        words = column.to_pylist()
        levels[name] = tuple(sorted({word for word in words if word is not None}))
        position = {level: float(at) for at, level in enumerate(levels[name])}
        codes = np.array([np.nan if word is None else position[word] for word in words])
        if coding == "codes":
            made.append(codes)
            columns.append(name)
            continue
        for level, at in position.items():
            made.append(np.where(np.isnan(codes), np.nan, (codes == at).astype(np.float64)))
            columns.append(f"{name}={level}")
    X = np.column_stack(made) if made else np.empty((table.num_rows, 0))
    return X, tuple(columns), levels


# --- readers -------------------------------------------------------------------------------------


def load_uci(name: str, *, coding: str = "one-hot", folder: Folder = None) -> RealSet:
    """Read one of the twelve complete UCI sets with a rarer class (001 Table 2).

    Parameters
    ----------
    name : str
        One of ``dataset_names("uci")``.
    coding : {"one-hot", "codes"}
        "one-hot" makes one column of every level, which gives the paper's number of columns;
        "codes" keeps one column per variable.
    folder : path, optional
        Parent folder of ``uci``; by default the environment variable SCARCE_DATA.

    Returns
    -------
    RealSet
        `y` is 1.0 for the rarer class; there are no missing values.

    Notes
    -----
    **Assumes** the classes that give the paper's prevalences: nursery `very_recom`, car `good`,
    glass type 3, ecoli `imU`, cmc class 2, vehicle `opel`, yeast `NUC`. Coding every level makes
    several sets rank-deficient: fit with a ridge. Zeros of pima's glucose, pressure, skin, insulin
    and bmi stand for missing values and are kept. Published by the UCI Machine Learning Repository
    under CC BY 4.0 as far as known; pima was withdrawn there and is usually listed as CC0.

    References
    ----------
    Paper 001, Table 2.

    Examples
    --------
    >>> load_uci("letter_a")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: name must be ... got 'letter_a'. Did you mean 'letter-a'?
    """
    refuse_word("name", name, NAMES["uci"])
    refuse_word("coding", coding, CODINGS)
    table = read("uci", f"{name}.parquet", folder)
    names = [each for each in table.column_names if each != "target"]
    X, columns, levels = encode(table, names, coding)
    return RealSet(
        name=name,
        X=X,
        y=numbers_of(table["target"]),
        columns=columns,
        categorical=levels,
        table=table,
        source=UCI_SOURCE,
        licence=PIMA_LICENCE if name == "pima" else UCI_LICENCE,
    )


def load_uci_missing(
    name: str,
    *,
    least_complete_half: bool = False,
    coding: str = "one-hot",
    target: str | None = None,
    positive: str | float | None = None,
    drop_shifted: bool = False,
    folder: Folder = None,
) -> RealSet:
    """Read one of the six UCI sets with real missing values (004 Table 2).

    Parameters
    ----------
    name : str
        One of ``dataset_names("uci_missing")``.
    least_complete_half : bool
        Keep only the half of the feature columns with the most missing values (rounded up; ties in
        the order of the file), as the paper does.
    coding : {"one-hot", "codes"}
        How text columns are coded; a missing text is NaN either way. The paper's likelihoods for
        bands and crx are reproduced with "one-hot".
    target : str, optional
        Column to take as the class instead of the set's own, which then becomes a feature. The
        paper's figures for house_votes_84 are those of ``target="handicapped_infants"``.
    positive : str or number, optional
        Value of the class that is positive; all other values are negative. By default the rarer
        value, which is what the paper's figures show although its text says the larger class.
    drop_shifted : bool
        Leave out the one row of echocardiogram whose values are shifted by one column.
    folder : path, optional
        Parent folder of ``uci_missing``; by default the environment variable SCARCE_DATA.

    Returns
    -------
    RealSet
        `y` is NaN where the class itself is missing (58 rows of echocardiogram, 12 of
        house_votes_84 with the other target).

    Notes
    -----
    **Assumes** nothing about why values are missing. Published by the UCI Machine Learning
    Repository, CC BY 4.0 as far as known; confirm before redistributing.

    References
    ----------
    Paper 004, section 4.4 and Table 2.

    Examples
    --------
    >>> load_uci_missing("hepatits")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: name must be ... got 'hepatits'. Did you mean 'hepatitis'?
    """
    refuse_word("name", name, NAMES["uci_missing"])
    refuse_word("coding", coding, CODINGS)
    table = read("uci_missing", f"{name}.parquet", folder)
    own_target, own_positive, own_negative = MISSING_TARGETS[name]
    features = [each for each in table.column_names if each != "y"]
    if target is None:
        target = own_target
    elif target not in features:
        raise UsageError(
            "{argument} names {value!r}, which is not a column.{hint} Columns are {columns}.",
            code="unknown-column",
            argument=Argument("target"),
            value=target,
            hint=suggest(target, features),
            columns=listed(features, most=40),
        )
    features.remove(target)
    if drop_shifted and name == "echocardiogram":
        whole = [value in (0, 1) for value in table["pericardial_effusion"].to_pylist()]
        table = table.filter(whole)
    if least_complete_half:
        by_missing = sorted(features, key=lambda each: -table[each].null_count)  # stable for ties
        kept = set(by_missing[: math.ceil(len(features) / 2)])
        features = [each for each in features if each in kept]
    values = table[target].to_pylist()
    if target == own_target:
        # A value that is neither (2 in the shifted echocardiogram row) is not a class.
        values = [each if each in (own_positive, own_negative) else None for each in values]
    X, columns, levels = encode(table, features, coding)
    return RealSet(
        name=name,
        X=X,
        y=_labels(target, values, positive),
        columns=columns,
        categorical=levels,
        table=table,
        source=UCI_SOURCE,
        licence=UCI_LICENCE,
    )


def load_anomaly(name: str, *, folder: Folder = None) -> RealSet:
    """Read a set of rare events together with scores of detectors.

    Parameters
    ----------
    name : str
        One of ``dataset_names("anomaly")``. "standin17" and "standin29" have scores only: they
        stand in for the two series of 002 section 6.2, which may not be copied.
    folder : path, optional
        Parent folder of ``anomaly``; by default the environment variable SCARCE_DATA.

    Returns
    -------
    RealSet
        `scores` holds "score_iforest" (fitted without labels) and "score_logit_oof" (out-of-fold
        log-odds of a model that saw all other labels), or "score" for the stand-ins.

    Notes
    -----
    **Assumes** the usual recoding of which class is the anomaly, which was not derived again from
    the raw files. From ADBench (BSD-2-Clause); the tables are from the UCI Machine Learning
    Repository, CC BY 4.0 as far as known.

    References
    ----------
    Han, Hu, Huang, Jiang and Zhao (2022), ADBench, NeurIPS. Paper 002, section 6.2.

    Examples
    --------
    >>> load_anomaly("shutle")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: name must be ... got 'shutle'. Did you mean 'shuttle'?
    """
    refuse_word("name", name, NAMES["anomaly"])
    table = read("anomaly", f"{name}.parquet", folder)
    scores = [each for each in table.column_names if each.startswith("score")]
    features = [each for each in table.column_names if each != "label" and each not in scores]
    X, columns, levels = encode(table, features, "codes")
    return RealSet(
        name=name,
        X=X,
        y=numbers_of(table["label"]),
        columns=columns,
        categorical=levels,
        table=table,
        source=ANOMALY_SOURCE,
        licence=UCI_LICENCE,
        scores={each: numbers_of(table[each]) for each in scores},
    )


def load_bradypus(*, folder: Folder = None) -> RealSet:
    """Read the presences of the brown-throated three-toed sloth and their background.

    Parameters
    ----------
    folder : path, optional
        Parent folder of ``bradypus``; by default the environment variable SCARCE_DATA.

    Returns
    -------
    RealSet
        116 presences (`y` 1.0) and 1000 background rows (`y` NaN: not labelled, not absent), 14
        predictors of which `ecoreg` is categorical and kept as its integer code.

    Notes
    -----
    **Assumes** nothing. Table of the R package maxnet and of elapid, both MIT.

    References
    ----------
    Anderson and Handley (2001), Proc. Biol. Soc. Washington 114:1-33. Phillips, Anderson and
    Schapire (2006), Ecological Modelling 190:231-259.

    Examples
    --------
    >>> load_bradypus(folder="no-such-folder")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: There is no folder 'no-such-folder/bradypus'. Set SCARCE_DATA to ...
    """
    table = read("bradypus", "bradypus.csv.gz", folder)
    features = [each for each in table.column_names if each != "presence"]
    X, columns, _ = encode(table, features, "codes")
    regions = np.unique(X[:, columns.index("ecoreg")])
    return RealSet(
        name="bradypus",
        X=X,
        y=np.where(numbers_of(table["presence"]) == 1.0, 1.0, np.nan),
        columns=columns,
        categorical={"ecoreg": tuple(int(code) for code in regions)},
        table=table,
        source=BRADYPUS_SOURCE,
        licence="MIT",
    )


def _labels(target: str, values: list[Any], positive: str | float | None) -> Array:
    """Return 1.0 where the value is positive, 0.0 where it is another, NaN where it is null."""
    counts: dict[Any, int] = {}
    for value in values:
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    if positive is None:
        positive = min(counts, key=lambda value: counts[value])
    elif positive not in counts:
        raise UsageError(
            "{argument} must be a value of {column!r}, got {value!r}.{hint} Its values are "
            "{values}.",
            code="unknown-class",
            argument=Argument("positive"),
            column=target,
            value=positive,
            hint=suggest(str(positive), [str(value) for value in counts]),
            values=listed([repr(value) for value in counts]),
        )
    return np.array(
        [np.nan if value is None else float(value == positive) for value in values],
        dtype=np.float64,
    )
