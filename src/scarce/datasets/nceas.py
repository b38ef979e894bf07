"""Species of six regions: presence records to learn from, independent surveys to test on.

There are three kinds of background rows: random places of the region; the target group, which is
every record of the species' biological group (places visited often count often); or the distinct
places of that group (000 section 3, which leaves open records or places, and which species form a
group). Background rows are never absences.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow
from numpy.typing import NDArray

from scarce.datasets.real import NAMES, Folder, find, numbers_of, read
from scarce.datasets.records import SpeciesSet
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word, suggest

SOURCE = (
    "Elith, Graham, Valavi et al. (2020), Presence-only and presence-absence data for comparing "
    "species distribution modeling methods, Biodiversity Informatics 15:69-80, "
    "doi:10.17161/bi.v15i2.13384; R package disdat"
)
LICENCE = "disdat declares GPL (>= 3) and ships the text of LGPL 3: treat as GPL-3"

BACKGROUNDS = ("places", "records", "random")
POOLED = {
    "db": "birds",
    "nb": "birds",
    "ot": "plants",
    "ou": "plants",
    "rt": "plants",
    "ru": "plants",
    "ba": "bats",
    "sr": "reptiles",
}


@dataclass(frozen=True, slots=True)
class SpeciesEntry:
    """One line of the benchmark's list of species.

    Parameters
    ----------
    region, species, group : str
        Which species, and its biological group as shipped.
    n_presence : int
        Presence records to learn from.
    n_test, test_positives : int
        Surveyed sites, and those where the species was found.

    Examples
    --------
    >>> SpeciesEntry("SA", "sa01", "plant", 100, 152, 20).species
    'sa01'
    """

    region: str
    species: str
    group: str
    n_presence: int
    n_test: int
    test_positives: int


def nceas_species(region: str | None = None, *, folder: Folder = None) -> tuple[SpeciesEntry, ...]:
    """Return the list of species, of one region or of all six.

    Parameters
    ----------
    region : str, optional
        One of ``dataset_names("nceas")``; by default all, 226 species.
    folder : path, optional
        Parent folder of ``nceas``; by default the environment variable SCARCE_DATA.

    Returns
    -------
    tuple of SpeciesEntry
        In the order of the list.

    Notes
    -----
    **Assumes** nothing. Species are anonymised by the publishers.

    Examples
    --------
    >>> nceas_species("NSV")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: region must be ... got 'NSV'. Did you mean 'NSW'?
    """
    if region is not None:
        refuse_word("region", region, NAMES["nceas"])
    rows = read("nceas", "species.csv", folder).to_pylist()
    return tuple(
        SpeciesEntry(
            region=row["region"],
            species=row["spid"],
            group=row["group"],
            n_presence=int(row["n_po"]),
            n_test=int(row["n_test"]),
            test_positives=int(row["test_pos"]),
        )
        for row in rows
        if region is None or row["region"] == region
    )


def load_nceas(
    region: str,
    species: str,
    *,
    background: str = "places",
    pool_groups: bool = False,
    folder: Folder = None,
) -> SpeciesSet:
    """Read one species of the NCEAS benchmark: presences, background and test survey.

    Parameters
    ----------
    region : str
        One of ``dataset_names("nceas")``.
    species : str
        Its code in lower case, such as "nsw14"; `nceas_species` lists them.
    background : {"places", "records", "random"}
        "places": one row for each distinct place where any species of the group was recorded.
        "records": one row for each record of the group. "random": the region's 10000 random
        places. The first two are the target group, and contain the presences themselves.
    pool_groups : bool
        Join the eight groups of NSW into birds (db, nb), plants (ot, ou, rt, ru), bats and
        reptiles before the target group is formed. No effect elsewhere, nor on the test survey.
    folder : path, optional
        Parent folder of ``nceas``; by default the environment variable SCARCE_DATA.

    Returns
    -------
    SpeciesSet
        Predictors in the region's own order; categorical predictors stay as their codes.

    Notes
    -----
    **Assumes** that the species of a group were recorded with the same effort at the same places,
    as a target group requires. Treat the data as GPL-3: they may not be part of a wheel.

    References
    ----------
    Elith, Graham, Valavi et al. (2020), Biodiversity Informatics 15:69-80. Paper 000, section 3.

    Examples
    --------
    >>> load_nceas("SWI", "swi01", folder="no-such-folder")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: There is no folder 'no-such-folder/nceas'. Set SCARCE_DATA to ...
    """
    refuse_word("region", region, NAMES["nceas"])
    refuse_word("background", background, BACKGROUNDS)
    listed = {each.species: each for each in nceas_species(region, folder=folder)}
    if species not in listed:
        raise UsageError(
            "{argument} must be a species of region {region} ({first!r} to {last!r}), got "
            "{value!r}.{hint}",
            code="unknown-species",
            argument=Argument("species"),
            region=region,
            first=min(listed),
            last=max(listed),
            value=species,
            hint=suggest(str(species), listed),
            remedy="See nceas_species({region!r}).",
        )
    group = listed[species].group
    about = json.loads(find("nceas", "manifest.json", folder).read_text(encoding="utf-8"))[region]
    columns = tuple(str(each) for each in about["predictors"])
    records = read("nceas", f"{region}_po.parquet", folder)
    random_places = read("nceas", f"{region}_bg.parquet", folder)
    suffix = f"_{group}" if f"env_{group}" in about["files"] else ""
    survey = read("nceas", f"{region}_env{suffix}.parquet", folder)
    found = read("nceas", f"{region}_pa{suffix}.parquet", folder)
    if survey["siteid"].to_pylist() != found["siteid"].to_pylist():
        raise DataError(
            "{one} and {other} list different sites.",
            code="unreadable-file",
            one=f"{region}_env{suffix}.parquet",
            other=f"{region}_pa{suffix}.parquet",
            remedy="Copy both files again.",
        )
    presence = records.filter(np.array(records["spid"].to_pylist()) == species)
    if background == "random":
        pool = random_places
    else:
        pool = records.filter(_same_group(records, group, pool_groups and region == "NSW"))
        if background == "places":
            pool = pool.take(_first_at_each_place(_numbers(pool, ("x", "y"))))
    return SpeciesSet(
        region=region,
        species=species,
        group=group,
        columns=columns,
        categorical={
            str(name): _codes(name, (records, random_places, survey))
            for name in about["categorical"]
        },
        presence=_numbers(presence, columns),
        background=_numbers(pool, columns),
        test=_numbers(survey, columns),
        y_test=numbers_of(found[species]),
        presence_xy=_numbers(presence, ("x", "y")),
        background_xy=_numbers(pool, ("x", "y")),
        test_xy=_numbers(survey, ("x", "y")),
        crs=str(about["crs"]),
        background_kind=background,
        tables={"presence": presence, "background": pool, "test": survey, "survey": found},
        source=SOURCE,
        licence=LICENCE,
    )


def _same_group(records: pyarrow.Table, group: str, pooled: bool) -> NDArray[np.bool_]:
    groups = records["group"].to_pylist()
    if not pooled:
        return np.array([each == group for each in groups], dtype=np.bool_)
    return np.array([POOLED[each] == POOLED[group] for each in groups], dtype=np.bool_)


def _numbers(table: pyarrow.Table, columns: tuple[str, ...]) -> Array:
    return np.column_stack([numbers_of(table[name]) for name in columns])


def _first_at_each_place(xy: Array) -> NDArray[np.int64]:
    """Return the positions of the first row at every distinct place, in the order of the rows."""
    _, first = np.unique(xy, axis=0, return_index=True)
    return np.sort(first).astype(np.int64)


def _codes(name: str, tables: tuple[pyarrow.Table, ...]) -> tuple[int, ...]:
    values = np.concatenate([numbers_of(table[name]) for table in tables])
    return tuple(int(code) for code in np.unique(values))
