"""The decoded cache: right, or made anew; never half."""

import os
import pickle
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from scarce.engine.machine import CACHE_ENDING, cache_folder
from scarce.errors import DataError
from scarce.io.cache import CachedRows
from scarce.io.open import open_rows
from tests.problems import refused, warned


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
    monkeypatch.setattr("scarce.io.open.write_cache", None)
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
    with warned("cache-remade"):
        rows = open_rows(path, cache=True)
    assert rows.fold(total) == expected
    file.write_bytes(b"nonsense")
    with refused("damaged-cache", DataError):
        CachedRows(file, rows.schema)


@pytest.fixture(params=["parquet", "csv", "streamed"])
def large(request, tmp_path, rng, monkeypatch):
    """A file of four blocks, with labels and weights."""
    table = pa.table(
        {"a": rng.normal(size=4000), "y": rng.integers(0, 2, 4000), "w": rng.random(4000)}
    )
    path = tmp_path / ("data.parquet" if request.param == "parquet" else "data.csv")
    if request.param == "parquet":
        pq.write_table(table, path, row_group_size=1000)
        monkeypatch.setattr("scarce.io.parts.block_rows", lambda columns: 1000)
    else:
        pacsv.write_csv(table, path)
        monkeypatch.setattr("scarce.engine.memory.block_rows", lambda columns: 1000)
        monkeypatch.setattr("scarce.io.open.block_rows", lambda columns: 1000)
    if request.param == "streamed":
        monkeypatch.setattr("scarce.io.source.WHOLE_TEXT_BYTES", 0)
    return path


def everything(block, _):
    return np.array([block.X.sum(), block.y.sum(), block.weight.sum(), len(block)])


def opened(path, **more):
    return open_rows(path, label="y", weight="w", cache=True, **more)


def test_no_flipped_bit_changes_an_answer(large, rng):
    """Everywhere in the file: numbers, layout, checksums; the answer is right, come what may."""
    rows = opened(large)
    assert rows.n_blocks == 4
    expected = rows.fold(everything)
    (file,) = cached_files(cache_folder())
    content = file.read_bytes()
    ends = [*range(0, 1200, 24), *range(len(content) - 1200, len(content), 24)]
    said = 0
    for place in [*ends, *rng.integers(0, len(content), 60).tolist()]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(opened(large).fold(everything), expected)
        if warned:
            said += 1
            assert file.read_bytes() == content, "made anew"
    assert said > 100  # the rest are padding, which nobody reads


def test_a_part_of_zeros_is_found_when_its_block_is_reached(large):
    rows = opened(large)
    expected = rows.fold(everything)
    (file,) = cached_files(cache_folder())
    content = file.read_bytes()
    middle = len(content) // 2
    file.write_bytes(content[:middle] + bytes(8192) + content[middle + 8192 :])
    again = opened(large)
    assert len(again) == 4000, "opening looks at no block"
    with warned("cache-remade"):
        np.testing.assert_array_equal(again.fold(everything), expected)
    assert file.read_bytes() == content
    np.testing.assert_array_equal(again.fold(everything), expected)  # and no second word


def test_blocks_that_changed_places_are_found(large):
    expected = opened(large).map(values)
    (file,) = cached_files(cache_folder())
    content = file.read_bytes()
    with pa.memory_map(str(file)) as mapped, pa.ipc.open_file(mapped) as reader:
        batches = [reader.get_batch_with_custom_metadata(i) for i in (1, 0, 2, 3, 4)]
        with pa.OSFile(str(file) + "x", "wb") as sink, pa.ipc.new_file(sink, reader.schema) as to:
            for one in batches:
                to.write_batch(one.batch, one.custom_metadata)
    os.replace(str(file) + "x", file)
    with warned("cache-remade"):
        np.testing.assert_array_equal(opened(large).map(values), expected)
    assert file.read_bytes() == content


def values(block, _):
    return block.X[:, 0]


def test_rows_that_were_sent_elsewhere_refuse_a_damaged_cache(large):
    rows = opened(large)
    (file,) = cached_files(cache_folder())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    sent = pickle.loads(pickle.dumps(rows))
    with refused("damaged-cache", DataError):
        sent.fold(everything)


def test_damage_found_after_the_data_have_changed_is_refused(large):
    rows = opened(large)
    (file,) = cached_files(cache_folder())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    large.write_bytes(large.read_bytes())
    with refused("damaged-cache", DataError):
        rows.fold(everything)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no time of change")
def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path):
    """Between the samples of the stamp, with the time of modification put back."""
    path = tmp_path / "long.csv"
    line = b"0.25,0\n"
    content = bytearray(b"a,y\n" + line * 500_000)
    path.write_bytes(content)
    before = path.stat()
    assert open_rows(path, label="y", positive=1, negative=0, cache=True).labels().sum() == 0
    for row in range(115_000, 115_300):
        content[4 + len(line) * row + 5] = ord("1")
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    rows = open_rows(path, label="y", positive=1, negative=0, cache=True)
    assert rows.labels().sum() == 300


def test_nothing_half_is_left_when_decoding_fails(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\ninf\n")
    with refused("infinite-values", DataError):
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
