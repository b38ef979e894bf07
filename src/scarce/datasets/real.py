"""Real sets with rare classes, missing cells or only presences, read from files on this machine.

load_uci          twelve sets of 001 Table 2: coded, they have the paper's rows, columns and share
load_uci_missing  six sets of 004 Table 2 with their missing cells
load_anomaly      scores and labels of rare events, for 002
load_bradypus     presences and background of one species, for 000
Assumes the folder that folder.py finds. Copies, downloads, imputes and drops nothing unasked.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from scarce.datasets.arguments import choice
from scarce.datasets.coding import CODINGS, encode, numbers_of
from scarce.datasets.folder import NAMES, read
from scarce.datasets.records import RealSet
from scarce.errors import UsageError, suggest

Folder = str | os.PathLike[str] | None

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
        `y` is 1.0 for the rarer class; there are no missing cells.

    Notes
    -----
    **Assumes** the classes that give the paper's shares: nursery `very_recom`, car `good`, glass
    type 3, ecoli `imU`, cmc class 2, vehicle `opel`, yeast `NUC`. Coding every level makes several
    sets rank-deficient: fit with a ridge. Zeros of pima's glucose, pressure, skin, insulin and bmi
    stand for missing values and are kept. Published by the UCI Machine Learning Repository under
    CC BY 4.0 as far as known; pima was withdrawn there and is usually listed as CC0.

    References
    ----------
    Paper 001, Table 2.

    Examples
    --------
    >>> load_uci("letter_a")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: name='letter_a' is not known. Did you mean 'letter-a'? Choose ...
    """
    choice("name", name, NAMES["uci"])
    choice("coding", coding, CODINGS)
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
    """Read one of the six UCI sets with real missing cells (004 Table 2).

    Parameters
    ----------
    name : str
        One of ``dataset_names("uci_missing")``.
    least_complete_half : bool
        Keep only the half of the feature columns with the most missing cells (rounded up, equal
        counts in the order of the file), as the paper does.
    coding : {"one-hot", "codes"}
        How columns of words are coded; a missing word is NaN either way. The paper's likelihoods
        for bands and crx are met with "one-hot".
    target : str, optional
        Column to take as the class instead of the set's own, which then becomes a feature. The
        paper's figures for house_votes_84 are those of ``target="handicapped_infants"``.
    positive : str or number, optional
        Value of the class that is positive; all other values are negative. By default the rarer
        value, which is what the paper's figures show although its text says the larger class.
    drop_shifted : bool
        Leave out the one row of echocardiogram whose cells are shifted by one place.
    folder : path, optional
        Parent folder of ``uci_missing``; by default the environment variable SCARCE_DATA.

    Returns
    -------
    RealSet
        `y` is NaN where the class itself is missing (58 rows of echocardiogram, 12 of
        house_votes_84 with the other target).

    Notes
    -----
    **Assumes** nothing about why cells are missing. Published by the UCI Machine Learning
    Repository, CC BY 4.0 as far as known; confirm before redistributing.

    References
    ----------
    Paper 004, section 4.4 and Table 2.

    Examples
    --------
    >>> load_uci_missing("hepatits")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: name='hepatits' is not known. Did you mean 'hepatitis'? Choose ...
    """
    choice("name", name, NAMES["uci_missing"])
    choice("coding", coding, CODINGS)
    table = read("uci_missing", f"{name}.parquet", folder)
    own_target, own_positive, own_negative = MISSING_TARGETS[name]
    features = [each for each in table.column_names if each != "y"]
    if target is None:
        target = own_target
    elif target not in features:
        raise UsageError(
            f"target={target!r} is no column of {name}.{suggest(target, features)} "
            f"Its columns are {', '.join(features)}."
        )
    features.remove(target)
    if drop_shifted and name == "echocardiogram":
        whole = [value in (0, 1) for value in table["pericardial_effusion"].to_pylist()]
        table = table.filter(whole)
    if least_complete_half:
        by_gaps = sorted(features, key=lambda each: -table[each].null_count)  # stable for ties
        kept = set(by_gaps[: math.ceil(len(features) / 2)])
        features = [each for each in features if each in kept]
    values = table[target].to_pylist()
    if target == own_target:
        # A value that is neither (2 in the shifted echocardiogram row) is no class at all.
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
    """Read a set of rare events together with ready-made scores of detectors.

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
    scarce.errors.UsageError: name='shutle' is not known. Did you mean 'shuttle'? Choose ...
    """
    choice("name", name, NAMES["anomaly"])
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
    scarce.errors.DataError: No folder 'no-such-folder/bradypus': set SCARCE_DATA to, or pass ...
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


def _labels(target: str, values: list[Any], positive: str | float | None) -> np.ndarray[Any, Any]:
    """Return 1.0 where the value is positive, 0.0 where it is another, NaN where it is null."""
    counts: dict[Any, int] = {}
    for value in values:
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    if positive is None:
        positive = min(counts, key=lambda value: counts[value])
    elif positive not in counts:
        listed = ", ".join(repr(value) for value in list(counts)[:12])
        raise UsageError(
            f"positive={positive!r} is no value of {target!r}."
            f"{suggest(str(positive), [str(value) for value in counts])} Its values are {listed}."
        )
    return np.array(
        [np.nan if value is None else float(value == positive) for value in values],
        dtype=np.float64,
    )
