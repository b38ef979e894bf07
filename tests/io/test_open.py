"""Rows that pass by once: the bits of the same table in memory, one walk, constant memory."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from scarce import DataError, UsageError, WorkerError, estimate_performance, open_rows
from scarce.engine import memory
from scarce.io import open as streamed
from scarce.io.open import StreamedRows, streamed_rows
from scarce.io.source import open_table
from scarce.missed.digest import ScoreDigest
from tests.engine import kernels
from tests.problems import refused


def make_table(n=5000, seed=0, share=0.05):
    rng = np.random.default_rng(seed)
    event = rng.random(n) < share
    score = np.round(rng.normal(size=n) + 2.0 * event, 4)
    label = np.where(score >= 2.0, event.astype(float), np.nan)
    return pa.table({"score": score, "label": pa.array(label, from_pandas=True)})


def cut(table, seed=1, most=700):
    """The table in parts of random length, empty ones among them."""
    rng = np.random.default_rng(seed)
    start = 0
    while start < table.num_rows:
        size = int(rng.integers(0, most))
        yield table.slice(start, size)
        start += size


class Walks:
    """A table that can be walked again, and how often it was."""

    def __init__(self, table):
        self.table, self.begun = table, 0

    def __call__(self):
        self.begun += 1
        return cut(self.table)


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (streamed, memory):
        monkeypatch.setattr(module, "block_rows", lambda _: 1000)


def opened(parts, **more):
    asked = {"columns": ["score"], "label": "label", "held_rows": 900, **more}
    return streamed_rows(parts, **asked)


def test_blocks_and_folds_have_the_bits_of_the_table_in_memory(small_blocks):
    table = make_table()
    held = open_rows(table, label="label")
    rows = opened(lambda: cut(table))
    assert isinstance(rows, StreamedRows)
    for found, wanted in zip(rows.blocks(), held.blocks(), strict=True):
        np.testing.assert_array_equal(found.X, wanted.X)
        np.testing.assert_array_equal(found.y, wanted.y)
        assert (found.start, found.index) == (wanted.start, wanted.index)
    one, other = (ScoreDigest.from_rows(each, cuts=[2.0]).to_arrays() for each in (rows, held))
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])
    assert rows.starts == held.starts == (0, 1000, 2000, 3000, 4000, 5000)
    assert len(rows) == 5000
    np.testing.assert_array_equal(rows.labels(), held.labels())
    counts, unlabelled = rows.label_counts()
    np.testing.assert_array_equal(counts, held.label_counts()[0])
    assert unlabelled == held.label_counts()[1]
    assert rows.fold(kernels.first_row, merge=lambda total, more: total + more) == (
        *range(0, 5000, 1000),
    )


def test_a_long_text_gives_the_figures_of_open_rows_in_one_walk(tmp_path):
    table = make_table(300_000, share=0.01)
    path = tmp_path / "scores.csv"
    pacsv.write_csv(table, path)
    wanted = estimate_performance(open_rows(path, label="label"), threshold=2.5)
    source = open_table(path)
    begun = []

    def walk():
        begun.append(1)
        return source.tables(["score", "label"], numbers=["score", "label"])

    rows = streamed_rows(walk, columns=["score"], label="label")
    assert isinstance(rows, StreamedRows)  # longer than what is held
    found = estimate_performance(rows, threshold=2.5)
    assert found.to_dict() == wanted.to_dict()
    assert found.counts.rows == 300_000
    assert len(begun) == 1


def test_few_rows_are_held_and_read_as_open_rows_reads_them():
    table = make_table(500)
    rows = opened(cut(table))
    assert not isinstance(rows, StreamedRows)
    np.testing.assert_array_equal(
        rows.labels(), open_rows(table, columns="score", label="label").labels()
    )
    nothing = table.set_column(1, "label", pa.nulls(500))
    assert opened(cut(nothing)).label_counts()[1] == 500
    with refused("no-rows", DataError):
        opened([table.slice(0, 0)])


def test_a_pipe_is_walked_once_and_a_file_at_will(small_blocks):
    table = make_table()
    rows = opened(cut(table))
    total = rows.fold(lambda block, _: block.X.sum())
    assert total == open_rows(table, label="label").fold(lambda block, _: block.X.sum())
    with refused("read-twice", UsageError):
        rows.fold(lambda block, _: block.X.sum())
    with refused("rows-pass-once", UsageError):
        rows.ticket(0)
    walks = Walks(table)
    again = opened(walks)
    assert again.fold(lambda block, _: block.X.sum()) == total
    assert again.fold(lambda block, _: block.X.sum()) == total
    assert walks.begun == 2


def test_memory_does_not_grow_with_the_rows(small_blocks):
    part = make_table(20_000)
    peaks = []

    def parts(count):
        for _ in range(count):
            yield pa.table({name: pa.array(np.array(part[name])) for name in part.column_names})
            peaks.append(pa.total_allocated_bytes())

    before = pa.total_allocated_bytes()
    rows = streamed_rows(parts(40), columns=["score"], label="label", held_rows=70_000)
    assert rows.fold(lambda block, _: len(block)) == 800_000
    assert max(peaks[10:]) - before < 2.5 * part.nbytes  # the first four parts are gone too


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"positive": 1}, {"positive": [1], "negative": [0]}])
def test_labels_of_0_and_1_need_no_walk_of_their_own(asked, small_blocks):
    walks = Walks(make_table())
    rows = opened(walks, **asked)
    assert rows.classes == (0, 1)
    assert rows.label_counts()[1] == int(np.isnan(np.array(make_table()["label"])).sum())
    assert walks.begun == 1


def test_labels_that_begin_late_are_met(small_blocks):
    table = make_table()
    label = np.array(table["label"])
    label[:3000] = np.nan
    late = table.set_column(1, "label", pa.array(label, from_pandas=True))
    rows = opened(cut(late))
    np.testing.assert_array_equal(rows.labels(), label)


def test_a_stray_label_is_refused_at_its_row(small_blocks):
    label = np.array(make_table()["label"])
    label[4321] = 2.0
    table = make_table().set_column(1, "label", pa.array(label, from_pandas=True))
    with refused("unknown-label", DataError):
        opened(cut(table)).label_counts()


def test_minus_one_is_not_guessed(small_blocks):
    label = np.nan_to_num(np.array(make_table()["label"]), nan=-1.0)
    table = make_table().set_column(1, "label", pa.array(label))
    with refused("unclear-labels", DataError):
        opened(cut(table))
    walks = Walks(table)
    rows = opened(walks, unlabelled=-1)
    wanted = open_rows(table, label="label", unlabelled=-1)
    np.testing.assert_array_equal(rows.labels(), wanted.labels())
    assert walks.begun == 1


def test_words_are_walked_through_where_they_can_be(small_blocks):
    label = np.array(make_table()["label"])
    words = [None if x != x else "yes" if x else "no" for x in label]
    words[:2000] = [None if w != "yes" else w for w in words[:2000]]  # "no" comes late
    table = make_table().set_column(1, "label", pa.array(words, pa.string()))
    wanted = open_rows(table, label="label", positive="yes").labels()
    walks = Walks(table)
    rows = opened(walks, positive="yes")
    assert rows.classes == ("no", "yes")
    np.testing.assert_array_equal(rows.labels(), wanted)
    assert walks.begun == 2
    named = opened(cut(table), positive="yes", negative="no")  # a pipe: said, so not walked
    np.testing.assert_array_equal(named.labels(), wanted)
    with refused("unknown-label", DataError):
        opened(cut(table), positive="yes").labels()


def test_classes_by_name_need_no_walk(small_blocks):
    kinds = np.array(["c", "a", "b"])[np.arange(5000) % 3]
    table = make_table().set_column(1, "label", pa.array(kinds))
    walks = Walks(table)
    rows = opened(walks, classes=["b", "c", "a"])
    wanted = open_rows(table, label="label", classes=["b", "c", "a"])
    assert rows.classes == wanted.classes
    np.testing.assert_array_equal(rows.labels(), wanted.labels())
    assert walks.begun == 1


# --- other columns --------------------------------------------------------------------------------


def test_categories_of_a_file_and_of_a_pipe(small_blocks):
    table = make_table()
    source = np.where(np.arange(5000) > 4000, "zeta", "alert")
    table = table.append_column("source", pa.array(source))
    asked = {"columns": ["score", "source"], "categories": ["source"]}
    wanted = open_rows(table, label="label").map(lambda block, _: block.X)
    again = opened(lambda: cut(table), **asked)
    assert isinstance(again, StreamedRows)
    assert again.schema.columns[1].levels == ("alert", "zeta")
    np.testing.assert_array_equal(again.map(lambda block, _: block.X), wanted)
    held = opened(cut(table), **asked)  # a pipe cannot be walked twice: it is held
    assert not isinstance(held, StreamedRows)
    np.testing.assert_array_equal(held.map(lambda block, _: block.X), wanted)
    many = table.set_column(2, "source", pa.array([f"id {n}" for n in range(5000)]))
    with refused("too-many-levels", DataError):
        opened(lambda: cut(many), **asked)


def test_words_where_numbers_are_needed():
    table = make_table().append_column("name", pa.array(["x"] * 5000))
    with refused("text-column", DataError):
        opened(cut(table), columns=["score", "name"])


def test_engines_and_failing_kernels(small_blocks):
    with refused("unknown-engine", UsageError):
        opened(cut(make_table())).fold(kernels.fail_at, 3, engine="thread")
    with refused("task-failed", WorkerError):
        opened(cut(make_table())).fold(kernels.fail_at, 3)
    with pytest.raises(DataError, match="something is wrong"):
        opened(cut(make_table())).fold(kernels.refuse_at, 2)
    rows = opened(cut(make_table()), fingerprint="week 3")
    assert rows.fingerprint == "week 3"


def test_results_that_are_views_of_a_block_are_kept_apart(small_blocks):
    table = make_table()
    kept = list(opened(cut(table)).each(lambda block, _: (block.X, block.y)))
    np.testing.assert_array_equal(np.concatenate([X for X, _ in kept])[:, 0], table["score"])
    np.testing.assert_array_equal(np.concatenate([y for _, y in kept]), np.array(table["label"]))
