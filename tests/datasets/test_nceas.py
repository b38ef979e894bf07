import numpy as np
import pyarrow.parquet
import pytest

from scarce.datasets import dataset_names, load_nceas, nceas_species
from scarce.errors import UsageError
from tests.problems import refused

# species, predictors, categorical, presence records
REGIONS = {
    "AWT": (40, 13, (), 3806),
    "CAN": (20, 11, ("ontveg",), 5063),
    "NSW": (54, 13, ("vegsys",), 3323),
    "NZ": (52, 13, ("age", "toxicats"), 3088),
    "SA": (30, 11, (), 2220),
    "SWI": (30, 13, ("calc",), 35105),
}
# one species of each group of records: distinct places and records of its group
GROUPS = {
    "awt01": (726, 3105),
    "can01": (3573, 5063),
    "nz01": (2508, 3088),
    "sa01": (1222, 2220),
    "swi01": (11429, 35105),
    "nsw34": (55, 64),
}
# the eight groups of NSW: pooled places
POOLED = {"nsw08": 1351, "nsw16": 1351, "nsw18": 569, "nsw34": 569, "nsw01": 147, "nsw47": 530}


def region_of(species):
    return species.rstrip("0123456789").upper()


def test_the_list_holds_226_species_with_the_papers_counts(real_data):
    listed = nceas_species(folder=real_data)
    assert len(listed) == 226
    presences = np.array([each.n_presence for each in listed])
    assert (presences.min(), presences.max(), np.median(presences)) == (2, 5822, 57)
    assert presences.sum() == 52605
    tests = np.array([each.n_test for each in listed])
    assert (tests.min(), tests.max()) == (102, 19120)
    positives = np.array([each.test_positives for each in listed])
    assert (positives.min(), positives.max(), np.median(positives)) == (4, 10581, 104.5)


@pytest.mark.parametrize("region", REGIONS)
def test_every_region_has_its_species_predictors_and_categories(region, real_data):
    n_species, n_predictors, categorical, n_records = REGIONS[region]
    listed = nceas_species(region, folder=real_data)
    assert len(listed) == n_species
    assert sum(each.n_presence for each in listed) == n_records
    for entry in (listed[0], listed[-1]):
        found = load_nceas(region, entry.species, background="random", folder=real_data)
        assert found.presence.shape == (entry.n_presence, n_predictors)
        assert found.background.shape == (10_000, n_predictors)
        assert found.test.shape == (entry.n_test, n_predictors)
        assert found.y_test.sum() == entry.test_positives
        assert set(np.unique(found.y_test)) == {0.0, 1.0}
        assert tuple(found.categorical) == categorical
        assert found.crs.startswith("EPSG:")
        for rows, xy in (
            (found.presence, found.presence_xy),
            (found.background, found.background_xy),
            (found.test, found.test_xy),
        ):
            assert xy.shape == (rows.shape[0], 2)
            assert not np.isnan(rows).any()
        for name, codes in found.categorical.items():
            at = found.columns.index(name)
            assert set(found.test[:, at]) <= set(codes)


def test_the_regions_are_the_names(real_data):
    assert tuple(REGIONS) == dataset_names("nceas")


@pytest.mark.parametrize("species", GROUPS)
def test_target_group_of_places_and_of_records(species, real_data):
    places, records = GROUPS[species]
    by_place = load_nceas(region_of(species), species, folder=real_data)
    by_record = load_nceas(region_of(species), species, background="records", folder=real_data)
    assert by_place.background_kind == "places"
    assert by_place.background.shape[0] == places
    assert by_record.background.shape[0] == records
    assert np.unique(by_place.background_xy, axis=0).shape[0] == places
    in_pool = {tuple(xy) for xy in by_place.background_xy}
    assert in_pool == {tuple(xy) for xy in by_record.background_xy}
    assert in_pool >= {tuple(xy) for xy in by_place.presence_xy}


@pytest.mark.parametrize("species", POOLED)
def test_pooled_groups_of_nsw(species, real_data):
    found = load_nceas("NSW", species, pool_groups=True, folder=real_data)
    shipped = load_nceas("NSW", species, folder=real_data)
    assert found.background.shape[0] == POOLED[species]
    assert shipped.background.shape[0] <= POOLED[species]
    np.testing.assert_array_equal(found.test, shipped.test)
    assert found.group == shipped.group


def test_pooling_changes_nothing_elsewhere(real_data):
    pooled, shipped = (
        load_nceas("SA", "sa02", pool_groups=pool, folder=real_data) for pool in (True, False)
    )
    np.testing.assert_array_equal(pooled.background, shipped.background)


def test_rows_are_those_of_the_file(real_data):
    found = load_nceas("CAN", "can05", folder=real_data)
    table = pyarrow.parquet.read_table(f"{real_data}/nceas/CAN_po.parquet").to_pylist()
    rows = [row for row in table if row["spid"] == "can05"]
    assert found.tables["presence"].to_pylist() == rows
    assert found.tables["survey"]["can05"].to_pylist() == found.y_test.tolist()
    wanted = [[row[name] for name in found.columns] for row in rows]
    np.testing.assert_array_equal(found.presence, np.array(wanted, dtype=np.float64))


def test_unknown_species_get_a_suggestion(real_data):
    with refused("unknown-species", UsageError, region="NSW", value="nws14"):
        load_nceas("NSW", "nws14", folder=real_data)
    with refused("unknown-word", UsageError, argument="background", value="place"):
        load_nceas("NSW", "nsw14", background="place", folder=real_data)
    with refused("unknown-word", UsageError, argument="region", value="nsw"):
        load_nceas("nsw", "nsw14", folder=real_data)
