"""The decoded cache: right, or made anew; never half."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarce.errors import DataError
from scarce.machine import CACHE_ENDING, cache_folder
from scarce.rows import CachedRows, open_rows


@pytest.fixture
def path(tmp_path, rng):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": rng.normal(size=300), "y": rng.integers(0, 2, 300)}), path)
    return path


def total(block, _):
    return block.X.sum()


def cached_files(folder):
    return sorted(folder.glob("*" + CACHE_ENDING))


def test_a_second_opening_maps_what_the_first_decoded(path, monkeypatch):
    first = open_rows(path, label="y", cache=True)
    assert repr(first) == "CachedRows(300 rows, 1 columns, 1 block, mapped)"
    assert len(cached_files(cache_folder())) == 1
    monkeypatch.setattr("scarce.rows.open.write_cache", None)
    again = open_rows(path, label="y", cache=True)
    assert again.fold(total) == first.fold(total)
    assert again.fingerprint == first.fingerprint


def test_blocks_are_views_into_the_file(path):
    rows = open_rows(path, label="y", cache=True)
    one, other = next(rows.blocks()), next(rows.blocks())
    assert np.shares_memory(one.X, other.X)
    assert not one.X.flags.writeable
    assert one.X.flags.c_contiguous
    assert one.X.flags.aligned


def test_changed_data_or_another_reading_make_another_cache(path, rng):
    open_rows(path, label="y", cache=True)
    open_rows(path, label="y", positive=0, cache=True)
    open_rows(path, cache=True)
    assert len(cached_files(cache_folder())) == 3
    values = rng.normal(size=300)
    pq.write_table(pa.table({"a": values, "y": [0, 1] * 150}), path)
    rows = open_rows(path, label="y", cache=True)
    assert rows.fold(total) == pytest.approx(values.sum())
    assert len(cached_files(cache_folder())) == 4


def test_the_cache_may_lie_beside_the_data_or_anywhere(path, tmp_path):
    open_rows(path, cache="beside")
    assert len(cached_files(tmp_path)) == 1
    open_rows(path, cache=tmp_path / "deep" / "folder")
    assert len(cached_files(tmp_path / "deep" / "folder")) == 1


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_cache_is_made_anew(path, damage):
    expected = open_rows(path, cache=True).fold(total)
    (file,) = cached_files(cache_folder())
    file.write_bytes(file.read_bytes()[:-100] if damage is None else damage)
    rows = open_rows(path, cache=True)
    assert rows.fold(total) == expected
    file.write_bytes(b"nonsense")
    with pytest.raises(DataError, match="Delete it; it is made anew"):
        CachedRows(file, rows.schema)


def test_nothing_half_is_left_when_decoding_fails(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\ninf\n")
    with pytest.raises(DataError, match="infinite"):
        open_rows(path, cache=True)
    folder = cache_folder()
    assert not folder.exists() or not os.listdir(folder)


def test_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SCARCE_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("SCARCE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "scarce"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().parts[-3:] == ("Library", "Caches", "scarce")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache_folder() == tmp_path / "scarce"
