"""Sparse rows give what dense ones give, and are never made dense as a whole."""

import pickle

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csc_matrix, csr_array, random_array

from scarce import AutoClassifier, GaussianBayes, MaxentClassifier, RareClassifier, load, save
from scarce.engine.block import BLOCK_CELLS
from scarce.engine.folds import row_words
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import WeightedRows
from scarce.engine.sparse import SparseBlock, SparseRows
from scarce.linear.sums import summarise_columns
from tests.problems import refused


def world(n=500, k=40, density=0.08, seed=0):
    """Draw a sparse matrix with negative values, a full column and an empty row, and labels."""
    rng = np.random.default_rng(seed)
    X = random_array((n, k), density=density, rng=rng, format="csr")
    X.data = rng.normal(size=len(X.data)) + 0.5
    dense = X.toarray()
    dense[:, 3] = rng.normal(size=n) + 2.0
    dense[7] = 0.0
    slopes = np.zeros(k)
    slopes[:4] = 2.0, -2.0, 2.0, 0.7
    y = (rng.random(n) < 1 / (1 + np.exp(3 - dense @ slopes))).astype(float)
    return csr_array(dense), dense, y


@pytest.mark.parametrize("form", [csr_array, csc_matrix, coo_matrix])
@pytest.mark.parametrize(
    "settings",
    [
        {"ridge": 3.0},
        {"ridge": 3.0, "penalty": "lasso"},
        {"loss": "gev-canonical", "shape": 0.3, "ridge": 3.0, "penalty": "elastic-net"},
    ],
    ids=["ridge", "lasso", "elastic net"],
)
def test_oracle_a_fit_of_sparse_rows_is_that_of_dense_ones(form, settings):
    X, dense, y = world()
    settings = {"loss": "logistic"} | settings
    ours = RareClassifier(**settings).fit(form(X), y)
    theirs = RareClassifier(**settings).fit(dense, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(form(X)), theirs.predict_proba(dense), atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(dense), ours.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_the_same_folds_and_the_same_choice(penalty):
    X, dense, y = world()
    ours = RareClassifier("logistic", penalty=penalty).fit(X, y)
    theirs = RareClassifier("logistic", penalty=penalty).fit(dense, y)
    assert ours.ridge_ == pytest.approx(theirs.ridge_, rel=1e-9)
    np.testing.assert_allclose(ours.selection_.scores, theirs.selection_.scores, rtol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"bias_reduction": "flic"}])
def test_intervals_and_standard_errors_are_those_of_dense_rows(settings):
    X, dense, y = world(k=6, density=0.3)
    ours = RareClassifier("logistic", ridge=0, **settings).fit(X, y)
    theirs = RareClassifier("logistic", ridge=0, **settings).fit(dense, y)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(
        ours.predict_interval(X[:5]), theirs.predict_interval(dense[:5]), atol=1e-6
    )


def test_hashes_of_rows_and_summaries_of_columns_are_those_of_dense_rows():
    X, dense, y = world()
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    sparse = SparseRows(X, y, weight=weight, classes=[0, 1])
    plain = ArrayRows(dense, y, weight=weight, classes=[0, 1])
    params = (dense.mean(axis=0), dense.std(axis=0), [None] * dense.shape[1], 5)
    assert (sparse.map(row_words, params) == plain.map(row_words, params)).all()
    ours, theirs = summarise_columns(sparse), summarise_columns(plain)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-12)
    np.testing.assert_allclose(ours.std, theirs.std, atol=1e-12)


def test_weights_survey_weights_and_unlabelled_rows():
    X, dense, y = world()
    rng = np.random.default_rng(3)
    weight = rng.integers(0, 3, len(y)).astype(float)
    y = np.where(rng.random(len(y)) < 0.2, np.nan, y)
    for kind in ("frequency", "survey"):
        model = RareClassifier("logistic", ridge=2.0, penalty="lasso", weight_kind=kind)
        ours = model.fit(X, y, weight).coef_.copy()
        np.testing.assert_allclose(ours, model.fit(dense, y, weight).coef_, atol=1e-7)


def test_every_engine_gives_the_same_bits(monkeypatch):
    X, _, y = world(n=900)
    rows = [SparseRows(X, y, classes=[0, 1], engine=engine) for engine in (None, "threads")]
    for one in rows:
        one.starts = (0, 200, 650, 900)
    first, second = (RareClassifier("logistic", ridge=2.0, penalty="lasso").fit(r) for r in rows)
    assert (first.coef_ == second.coef_).all()
    whole = RareClassifier("logistic", ridge=2.0, penalty="lasso").fit(X, y)
    np.testing.assert_allclose(first.coef_, whole.coef_, atol=1e-8)


def test_a_wide_matrix_is_made_dense_in_small_pieces_only(monkeypatch):
    rng = np.random.default_rng(0)
    X = random_array((1500, 6_000), density=0.001, rng=rng, format="csr")
    y = (X[:, :200].sum(axis=1) > 0.2).astype(float)
    seen = []
    whole = SparseBlock.X.fget

    def watched(block):
        seen.append(len(block) * 6_000)
        return whole(block)

    monkeypatch.setattr(SparseBlock, "X", property(watched))
    model = RareClassifier("logistic", ridge=1.0, penalty="lasso").fit(X, y)
    model.predict_proba(X)
    assert model.report_.converged
    assert 0 < max(seen) <= BLOCK_CELLS


def test_columns_that_few_rows_have_are_no_trap():
    """One or two rows fit such a column exactly: full steps would end where the loss is flat."""
    X = random_array((1000, 1500), density=0.001, rng=np.random.default_rng(0), format="csr")
    y = (X[:, :200].sum(axis=1) > 0.2).astype(float)
    report = RareClassifier("logistic", ridge=1.0, penalty="lasso").fit(X, y).report_
    assert report.converged
    assert report.passes < 40


def test_blocks_travel_and_keep_their_weights():
    X, dense, y = world(n=20)
    rows = WeightedRows(SparseRows(X, y, classes=[0, 1]), np.full(20, 2.0))
    block = pickle.loads(pickle.dumps(rows.ticket(0))).open()
    assert rows.sparse
    assert isinstance(block, SparseBlock)
    assert (block.weight == 2.0).all()
    assert (dense == block.X).all()
    pieces = [piece.X for piece in block.pieces(7)]
    assert [len(piece) for piece in pieces] == [7, 7, 6]
    assert (np.concatenate(pieces) == dense).all()


def test_files_and_refusals(tmp_path):
    X, _dense, y = world()
    model = RareClassifier("logistic", ridge=2.0).fit(X, y)
    save(model, tmp_path / "m.scarce")
    assert (load(tmp_path / "m.scarce").predict_proba(X) == model.predict_proba(X)).all()
    holed = X.copy()
    holed.data[0] = np.nan
    with refused("missing-in-sparse"):
        RareClassifier("logistic", ridge=2.0).fit(holed, y)
    for other in (GaussianBayes(), MaxentClassifier(), AutoClassifier()):
        with pytest.raises(TypeError, match=r"toarray\(\)"):
            other.fit(X, y)
