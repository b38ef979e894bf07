import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from scarce.datasets import (
    dataset_names,
    load_anomaly,
    load_bradypus,
    load_nceas,
    load_uci,
    load_uci_missing,
)
from scarce.datasets.real import NAMES, encode, is_text, numbers_of, read
from scarce.errors import DataError, UsageError
from tests.problems import refused

# 001 Table 2: rows, raw columns, coded columns, positives
UCI = {
    "nursery": (12960, 8, 27, 328),
    "letter-a": (20000, 16, 16, 789),
    "car": (1728, 6, 21, 69),
    "glass": (214, 9, 9, 17),
    "ecoli": (336, 7, 9, 35),
    "letter-vowel": (20000, 16, 16, 3878),
    "cmc": (1473, 9, 24, 333),
    "vehicle": (846, 18, 18, 212),
    "haberman": (306, 3, 3, 81),
    "yeast": (1484, 8, 9, 429),
    "german": (1000, 20, 61, 300),
    "pima": (768, 8, 8, 268),
}
# rows, feature columns, positives, share of missing cells over all features
MISSING = {
    "bands": (540, 39, 228, 0.0474),
    "crx": (690, 15, 307, 0.0065),
    "echocardiogram": (132, 12, 24, 0.0473),
    "hepatitis": (155, 19, 32, 0.0567),
    "horse_colic": (300, 27, 109, 0.1981),
    "house_votes_84": (435, 16, 168, 0.0563),
}
# 004 Table 2 on the least complete half: share of cells seen, share of missing cells in positives
HALF = {
    "bands": (0.911, 0.813),
    "crx": (0.988, 0.403),
    "echocardiogram": (0.917, 0.167),
    "hepatitis": (0.897, 0.270),
    "horse_colic": (0.657, 0.378),
    "house_votes_84": (0.915, 0.324),
}
ANOMALY = {
    "annthyroid": (7200, 6, 534),
    "shuttle": (49097, 9, 3511),
    "smtp": (95156, 3, 30),
    "satimage2": (5803, 36, 71),
    "pendigits": (6870, 16, 156),
    "wilt": (4819, 5, 257),
    "standin17": (1424, 0, 227),
    "standin29": (1424, 0, 7),
}


def test_the_tables_above_name_every_set():
    assert set(UCI) == set(dataset_names("uci"))
    assert set(MISSING) == set(HALF) == set(dataset_names("uci_missing"))
    assert set(ANOMALY) == set(dataset_names("anomaly"))


@pytest.mark.parametrize("name", UCI)
def test_uci_has_the_papers_rows_columns_and_positives(name, real_data):
    rows, raw, coded, positives = UCI[name]
    found = load_uci(name, folder=real_data)
    assert found.X.shape == (rows, coded)
    assert found.X.dtype == np.float64
    assert len(found.columns) == coded == len(set(found.columns))
    assert found.y.sum() == positives
    assert set(np.unique(found.y)) == {0.0, 1.0}
    assert not np.isnan(found.X).any()
    assert found.table.num_columns == raw + 1
    for column, levels in found.categorical.items():
        block = [found.columns.index(f"{column}={level}") for level in levels]
        assert (found.X[:, block].sum(axis=1) == 1.0).all()
    assert load_uci(name, coding="codes", folder=real_data).X.shape == (rows, raw)


@pytest.mark.parametrize("name", MISSING)
def test_uci_missing_counts(name, real_data):
    rows, columns, positives, missing = MISSING[name]
    found = load_uci_missing(name, coding="codes", folder=real_data)
    assert found.X.shape == (rows, columns)
    assert np.nansum(found.y) == positives
    assert np.isnan(found.X).mean() == pytest.approx(missing, abs=5e-5)
    coded = load_uci_missing(name, folder=real_data)
    for column, levels in coded.categorical.items():
        block = coded.X[:, [coded.columns.index(f"{column}={level}") for level in levels]]
        at = found.X[:, found.columns.index(column)]
        np.testing.assert_array_equal(np.isnan(block).all(axis=1), np.isnan(at))
        np.testing.assert_array_equal(np.isnan(block).any(axis=1), np.isnan(at))


def shares(found):
    gone = np.isnan(found.X)
    return 1.0 - gone.mean(), gone[found.y == 1.0].sum() / gone.sum()


@pytest.mark.parametrize("name", HALF)
def test_least_complete_half_gives_the_figures_of_table_2(name, real_data):
    found = load_uci_missing(name, least_complete_half=True, coding="codes", folder=real_data)
    assert found.X.shape[1] == -(-MISSING[name][1] // 2)
    assert shares(found) == pytest.approx(HALF[name], abs=5e-4)
    kept = [found.table[each].null_count for each in found.columns]
    features = load_uci_missing(name, coding="codes", folder=real_data).columns
    left = [found.table[each].null_count for each in features if each not in found.columns]
    assert min(kept) >= max(left)


def test_house_votes_by_the_other_class_is_exact(real_data):
    found = load_uci_missing(
        "house_votes_84",
        target="handicapped_infants",
        least_complete_half=True,
        coding="codes",
        folder=real_data,
    )
    assert np.nansum(found.y) == 187
    assert np.isnan(found.y).sum() == 12
    assert shares(found) == pytest.approx((0.915, 0.422), abs=5e-4)
    whole = load_uci_missing(
        "house_votes_84", target="handicapped_infants", coding="codes", folder=real_data
    )
    assert "class" in whole.columns
    assert "handicapped_infants" not in whole.columns


def test_missing_classes_are_not_labelled_and_the_shifted_row_can_go(real_data):
    found = load_uci_missing("echocardiogram", folder=real_data)
    assert np.isnan(found.y).sum() == 58  # 57 nulls and the shifted row's 2
    less = load_uci_missing("echocardiogram", drop_shifted=True, folder=real_data)
    assert less.y.size == less.X.shape[0] == less.table.num_rows == 131
    assert np.isnan(less.y).sum() == 57
    assert "name" not in less.categorical["group"]


def test_the_positive_class_can_be_chosen(real_data):
    larger = load_uci_missing("hepatitis", positive=2, folder=real_data)
    assert larger.y.sum() == 123
    with refused("unknown-class", UsageError, hint=" Did you mean 'democrat'?"):
        load_uci_missing("house_votes_84", positive="democrats", folder=real_data)
    with refused("unknown-column", UsageError, hint=" Did you mean 'handicapped_infants'?"):
        load_uci_missing("house_votes_84", target="handicaped_infants", folder=real_data)


@pytest.mark.parametrize("name", ANOMALY)
def test_anomaly_counts_and_scores(name, real_data):
    found = load_anomaly(name, folder=real_data)
    rows, columns, positives = ANOMALY[name]
    assert found.X.shape == (rows, columns)
    assert found.y.sum() == positives
    wanted = {"score"} if columns == 0 else {"score_iforest", "score_logit_oof"}
    assert set(found.scores) == wanted
    assert all(each.shape == (rows,) and each.dtype == np.float64 for each in found.scores.values())


@pytest.mark.parametrize(("name", "hits"), [("standin17", 12), ("standin29", 5)])
def test_stand_ins_have_the_papers_labelled_tail(name, hits, real_data):
    found = load_anomaly(name, folder=real_data)
    top = np.argsort(-found.scores["score"])[:12]
    assert found.y[top].sum() == hits


def test_bradypus_has_unlabelled_background(real_data):
    found = load_bradypus(folder=real_data)
    assert found.X.shape == (1116, 14)
    assert (found.y == 1.0).sum() == 116
    assert np.isnan(found.y).sum() == 1000
    assert list(found.categorical) == ["ecoreg"]
    assert not np.isnan(found.X).any()


def test_every_set_tells_its_source_and_licence(real_data):
    for found in (
        load_uci("pima", folder=real_data),
        load_uci("car", folder=real_data),
        load_uci_missing("crx", folder=real_data),
        load_anomaly("standin29", folder=real_data),
        load_bradypus(folder=real_data),
    ):
        assert found.source
        assert found.licence
    assert "CC0" in load_uci("pima", folder=real_data).licence


@pytest.mark.parametrize(
    "call",
    [
        lambda: load_uci("nurserry"),
        lambda: load_uci("car", coding="dummy"),
        lambda: load_uci_missing("band"),
        lambda: load_uci_missing("crx", coding="dummy"),
        lambda: load_anomaly("smpt"),
    ],
)
def test_unknown_names_are_refused_before_any_file_is_looked_for(call):
    with refused("unknown-word", UsageError):
        call()


# --- where the files are --------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path):
    (tmp_path / "uci").mkdir()
    table = pyarrow.table({"size": [1.0, 2.0], "kind": ["a", "b"], "target": [1, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "uci" / "car.parquet")
    return tmp_path


def test_names_of_every_collection():
    assert {each: len(dataset_names(each)) for each in NAMES} == {
        "uci": 12,
        "uci_missing": 6,
        "anomaly": 8,
        "bradypus": 1,
        "nceas": 6,
    }
    with refused("unknown-word", UsageError, hint=" Did you mean 'nceas'?"):
        dataset_names("ncaes")


def test_the_argument_wins_over_the_variable_and_the_variable_is_enough(tiny, monkeypatch):
    monkeypatch.setenv("SCARCE_DATA", str(tiny))
    assert load_uci("car").X.tolist() == [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]
    monkeypatch.setenv("SCARCE_DATA", str(tiny / "elsewhere"))
    assert load_uci("car", folder=tiny).y.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda folder: load_uci("car", folder=folder),
        lambda folder: load_anomaly("wilt", folder=folder),
        lambda folder: load_bradypus(folder=folder),
        lambda folder: load_nceas("SA", "sa01", folder=folder),
    ],
)
def test_a_missing_folder_is_named(call, tmp_path, monkeypatch):
    monkeypatch.delenv("SCARCE_DATA", raising=False)
    with refused("no-data-folder", DataError, variable="SCARCE_DATA"):
        call(None)
    with refused("no-data-folder", DataError) as caught:
        call(tmp_path / "nowhere")
    assert "nowhere" in caught.value.fields["path"]


def test_an_empty_variable_counts_as_not_set(monkeypatch):
    monkeypatch.setenv("SCARCE_DATA", "")
    with refused("no-data-folder", DataError):
        load_bradypus()


def test_a_missing_or_damaged_file_is_named(tiny):
    with refused("no-data-file", DataError, file="glass.parquet"):
        load_uci("glass", folder=tiny)
    (tiny / "uci" / "glass.parquet").write_bytes(b"not parquet")
    with refused("unreadable-file", DataError):
        read("uci", "glass.parquet", tiny)


# --- coding ---------------------------------------------------------------------------------------


@pytest.fixture
def table():
    return pyarrow.table(
        {
            "age": pyarrow.array([31, None, 50], pyarrow.int32()),
            "colour": pyarrow.array(["red", "blue", None], pyarrow.large_string()),
            "only": ["same", "same", "same"],
        }
    )


def test_one_hot_codes_every_level_and_keeps_missing_missing(table):
    X, columns, levels = encode(table, ["age", "colour", "only"], "one-hot")
    assert columns == ("age", "colour=blue", "colour=red", "only=same")
    assert levels == {"colour": ("blue", "red"), "only": ("same",)}
    nan = np.nan
    np.testing.assert_array_equal(X, [[31, 0, 1, 1], [nan, 1, 0, 1], [50, nan, nan, 1]])
    assert X.dtype == np.float64


def test_codes_are_positions_among_the_sorted_levels(table):
    X, columns, levels = encode(table, ["colour", "age"], "codes")
    assert columns == ("colour", "age")
    assert levels == {"colour": ("blue", "red")}
    np.testing.assert_array_equal(X, [[1, 31], [0, np.nan], [np.nan, 50]])


def test_no_columns_give_an_empty_array_of_all_rows(table):
    assert encode(table, [], "codes")[0].shape == (3, 0)


def test_numbers_are_writable_copies(table):
    values = numbers_of(table["age"])
    values[0] = 0.0
    assert table["age"][0].as_py() == 31
    assert is_text(table["colour"])
    assert not is_text(table["age"])
