import numpy as np
import pytest

from scarce.datasets import (
    dataset_names,
    load_anomaly,
    load_bradypus,
    load_uci,
    load_uci_missing,
)
from scarce.errors import UsageError

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
    with pytest.raises(UsageError, match="Did you mean 'democrat'"):
        load_uci_missing("house_votes_84", positive="democrats", folder=real_data)
    with pytest.raises(UsageError, match="Did you mean 'handicapped_infants'"):
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
    with pytest.raises(UsageError, match=r"Choose one of .*\."):
        call()
