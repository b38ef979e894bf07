import pyarrow
import pyarrow.parquet
import pytest

from scarce.datasets import dataset_names, load_anomaly, load_bradypus, load_nceas, load_uci
from scarce.datasets.folder import NAMES, read
from scarce.errors import DataError, UsageError


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
    with pytest.raises(UsageError, match="Did you mean 'nceas'"):
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
def test_a_missing_folder_is_one_sentence_naming_the_variable_and_the_folder(
    call, tmp_path, monkeypatch
):
    monkeypatch.delenv("SCARCE_DATA", raising=False)
    with pytest.raises(DataError, match="SCARCE_DATA is not set"):
        call(None)
    with pytest.raises(DataError) as caught:
        call(tmp_path / "nowhere")
    message = str(caught.value)
    assert "SCARCE_DATA" in message
    assert "nowhere" in message
    assert message.endswith(".")


def test_an_empty_variable_counts_as_not_set(monkeypatch):
    monkeypatch.setenv("SCARCE_DATA", "")
    with pytest.raises(DataError, match="SCARCE_DATA is not set"):
        load_bradypus()


def test_a_missing_or_damaged_file_is_named(tiny):
    with pytest.raises(DataError, match=r"no file 'glass\.parquet'"):
        load_uci("glass", folder=tiny)
    (tiny / "uci" / "glass.parquet").write_bytes(b"not parquet")
    with pytest.raises(DataError, match=r"glass\.parquet' cannot be read"):
        read("uci", "glass.parquet", tiny)
