"""Folds and maps: what they promise whatever the source of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scarce.engine.block import Block, block_rows
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows, add
from scarce.errors import DataError, UsageError
from tests.engine import kernels
from tests.problems import refused

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 60), st.integers(1, 4)), elements=NUMBERS),
    st.lists(st.integers(1, 59), max_size=5),
)
def test_invariant_cuts_do_not_change_extremes_and_maps(X, cuts):
    starts = (0, *sorted({cut for cut in cuts if cut < len(X)}), len(X))
    rows = ArrayRows(X, starts=starts)
    np.testing.assert_array_equal(rows.fold(kernels.extremes), kernels.extremes(Block(X), None))
    np.testing.assert_array_equal(rows.map(lambda block, _: block.X * 2), X * 2)


def test_invariant_block_size_changes_a_gram_only_by_rounding(rng):
    X, y = rng.normal(size=(3000, 6)), rng.random(3000)
    coef = rng.normal(size=6)
    whole = ArrayRows(X, y).fold(kernels.gram, coef)
    for size in (1, 7, 500, 2999):
        cut = ArrayRows(X, y, starts=(*range(0, 3000, size), 3000)).fold(kernels.gram, coef)
        for name, value in whole.items():
            np.testing.assert_allclose(cut[name], value, rtol=1e-10, atol=1e-10)


def test_oracle_a_fold_is_the_plain_sum(rng):
    X, y = rng.normal(size=(5000, 4)), rng.random(5000)
    coef = rng.normal(size=4)
    found = ArrayRows(X, y, starts=(0, 1000, 5000)).fold(kernels.gram, coef)
    prob = 1 / (1 + np.exp(-X @ coef))
    np.testing.assert_allclose(found["gram"], (X.T * (prob * (1 - prob))) @ X, rtol=1e-10)
    np.testing.assert_allclose(found["slope"], X.T @ (prob - y), rtol=1e-10)
    np.testing.assert_allclose(found["loss"], np.log1p(np.exp(X @ coef)).sum(), rtol=1e-12)


def test_the_merge_runs_in_block_order():
    rows = ArrayRows(np.ones((6, 1)), starts=(0, 2, 3, 6))

    def text(block, _):
        return str(block.start)

    assert rows.fold(text, merge=lambda total, more: f"({total}+{more})") == "((0+2)+3)"
    assert rows.fold(text, engine="threads") == "023"


def test_scratch_memory_may_be_returned():
    rows = ArrayRows(np.ones((6, 1)), starts=(0, 2, 3, 6))
    assert [part.tolist() for part in rows.each(kernels.return_scratch)] == [[0, 2], [2, 1], [3, 3]]
    one = ArrayRows(np.ones((6, 1)))
    first = one.fold(kernels.return_scratch)
    ArrayRows(np.ones((5, 1))).fold(kernels.return_scratch)
    assert first.tolist() == [0, 6]


def test_scratch_memory_is_reused_within_a_thread():
    first = Block.scratch("tests.reuse", (10, 10))
    again = Block.scratch("tests.reuse", (5, 10))
    assert np.shares_memory(first, again)
    assert not np.shares_memory(first, Block.scratch("tests.other", (5, 10)))
    assert Block.scratch("tests.reuse", (4,), np.int32).dtype == np.int32


def test_add_keeps_the_kind_of_result():
    from scarce.gaussian.moments import Moments

    one = Moments(*(np.ones(2) for _ in range(4)))
    total = add(one, one)
    assert isinstance(total, Moments)
    assert total.weight.tolist() == [2, 2]
    with pytest.raises(ValueError, match="zip"):
        add((1, 2), (1,))


def test_a_map_needs_one_result_per_row():
    with refused("length-mismatch", UsageError):
        ArrayRows(np.ones((3, 2))).map(lambda block, _: block.X[:1])


def test_label_counts_count_weights():
    y = [0, 1, np.nan, 1]
    rows = ArrayRows(
        np.ones((4, 1)), y, weight=[1, 2, 5, 0.5], classes=["a", "b"], starts=(0, 2, 4)
    )
    counts, unlabelled = rows.label_counts()
    assert counts.tolist() == [1, 2.5]
    assert unlabelled == 1
    assert ArrayRows(np.ones((4, 1))).label_counts()[1] == 4


def test_blocks_depend_on_the_width_alone():
    assert [block_rows(k) for k in (1, 50, 1024, 1025, 10**7)] == [4194304, 81920, 4096, 4092, 1]
    rows = ArrayRows(np.zeros((200_000, 50)), check=False)
    assert rows.starts == (0, 81920, 163840, 200000)
    assert [block.start for block in rows.blocks()] == [0, 81920, 163840]


def test_block_states():
    block = Block(np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([np.nan, 1.0]), start=7)
    assert not block.complete
    assert block.seen.tolist() == [[True, False], [True, True]]
    assert block.labelled.tolist() == [False, True]
    assert [(piece.start, len(piece)) for piece in block.pieces(1)] == [(7, 1), (8, 1)]
    assert Block(np.ones((2, 2))).complete
    assert not Block(np.ones((2, 2))).labelled.any()


def test_repr_says_size():
    assert repr(ArrayRows(np.zeros((1200, 3)))) == "ArrayRows(1,200 rows, 3 columns, 1 block)"


def test_empty_data_are_refused():
    with refused("no-rows", DataError):
        ArrayRows(np.zeros((0, 3)))


def test_labels_and_weights_of_all_rows_whatever_holds_them(rng):
    X, y, weight = rng.normal(size=(30, 2)), rng.integers(0, 2, 30).astype(float), rng.random(30)
    y[::3] = np.nan
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 11, 30))
    found = rows.labels()
    np.testing.assert_array_equal(found, y)
    found[1] = 9.0
    assert y[1] != 9.0
    np.testing.assert_array_equal(rows.weights(), weight)
    np.testing.assert_array_equal(Rows.labels(rows), y)  # through the blocks, as files do it
    np.testing.assert_array_equal(Rows.weights(rows), weight)
    bare = ArrayRows(X)
    assert np.isnan(bare.labels()).all()
    assert np.isnan(Rows.labels(bare)).all()
    assert (bare.weights() == 1).all()
    assert (Rows.weights(bare) == 1).all()
