import numpy as np
import pytest

from scarce.datasets import hide_features, hide_in_rows, hide_labels
from scarce.datasets.hide import generator, matrix, vector
from scarce.errors import DataError, UsageError
from tests.problems import refused

WAYS = ("mcar", "mar", "nmar")


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(400, 6))


@pytest.mark.parametrize("how", WAYS)
def test_the_input_is_never_modified_and_the_rest_is_kept(how, table):
    before = table.copy()
    hidden = hide_features(table, how=how, share=0.3, random_state=1)
    assert table.tobytes() == before.tobytes()
    seen = ~np.isnan(hidden)
    np.testing.assert_array_equal(hidden[seen], table[seen])
    assert not seen.all()


@pytest.mark.parametrize("how", WAYS)
def test_same_seed_same_bytes(how, table):
    first, again = (hide_features(table, how=how, random_state=2) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != hide_features(table, how=how, random_state=3).tobytes()


def test_mcar_hides_exactly_the_share_of_the_cells_of_its_columns(table):
    hidden = np.isnan(hide_features(table, share=0.25, columns=[4, 1], random_state=0))
    assert hidden.sum() == 200
    assert not hidden[:, [0, 2, 3, 5]].any()


def test_mcar_ignores_every_value(table):
    other = np.random.default_rng(9).normal(size=table.shape) * 100
    first, second = (hide_features(each, random_state=4) for each in (table, other))
    np.testing.assert_array_equal(np.isnan(first), np.isnan(second))


def test_mcar_hides_evenly_over_rows_and_columns():
    hidden = np.isnan(hide_features(np.zeros((20_000, 5)), share=0.4, random_state=5))
    np.testing.assert_allclose(hidden.mean(axis=0), 0.4, atol=5 * np.sqrt(0.24 / 20_000))
    assert abs(np.corrcoef(hidden[:, 0], hidden[:, 1])[0, 1]) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("how", ["mar", "nmar"])
def test_steered_hiding_takes_whole_blocks_of_the_exact_size(how, table):
    hidden = np.isnan(hide_features(table, how=how, share=0.3, columns=[0, 2], random_state=6))
    rows = hidden.any(axis=1)
    assert rows.sum() == 120
    assert hidden[rows][:, [0, 2]].all()
    assert not hidden[:, [1, 3, 4, 5]].any()


def test_mar_depends_on_the_seen_columns_only(table):
    columns, rest = [0, 2], [1, 3, 4, 5]
    mask = np.isnan(hide_features(table, how="mar", columns=columns, random_state=7))
    changed = table.copy()
    changed[:, columns] = 1e6
    same = np.isnan(hide_features(changed, how="mar", columns=columns, random_state=7))
    np.testing.assert_array_equal(mask, same)
    changed = table.copy()
    changed[:, rest] = changed[::-1, rest]
    other = np.isnan(hide_features(changed, how="mar", columns=columns, random_state=7))
    assert (mask != other).any()


def test_nmar_depends_on_the_hidden_columns_only(table):
    columns, rest = [0, 2], [1, 3, 4, 5]
    mask = np.isnan(hide_features(table, how="nmar", columns=columns, random_state=7))
    changed = table.copy()
    changed[:, rest] = -5.0
    same = np.isnan(hide_features(changed, how="nmar", columns=columns, random_state=7))
    np.testing.assert_array_equal(mask, same)
    changed = table.copy()
    changed[:, columns] = changed[::-1, columns]
    other = np.isnan(hide_features(changed, how="nmar", columns=columns, random_state=7))
    assert (mask != other).any()


@pytest.mark.parametrize(("how", "shifts"), [("mcar", False), ("mar", False), ("nmar", True)])
def test_only_nmar_shifts_the_mean_of_an_independent_hidden_column(how, shifts):
    X = np.random.default_rng(1).normal(size=(20_000, 3))
    z = []
    for seed in range(5):
        hidden = hide_features(X, how=how, columns=[0], coef_sd=1.0, random_state=seed)
        seen = ~np.isnan(hidden[:, 0])
        gap = X[seen, 0].mean() - X[~seen, 0].mean()
        z.append(abs(gap) * np.sqrt(20_000) / 2)
    assert (max(z) > 20) if shifts else (max(z) < 5)


def test_weights_of_the_steered_draw_are_exponential_in_the_column():
    # With few rows drawn among many, the log odds of being drawn is linear with the drawn coef.
    X = np.repeat([[0.0], [1.0]], 50_000, axis=0)
    rng = np.random.default_rng(3)
    coef = np.random.default_rng(3).normal(0.0, 1.0, size=1)[0]
    hidden = np.isnan(
        hide_features(X, how="nmar", columns=[0], share=0.02, standardise=False, random_state=rng)
    )[:, 0]
    share = hidden[50_000:].sum() / hidden.sum()
    wanted = np.exp(coef) / (1 + np.exp(coef))
    assert abs(share - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / 2000) + 0.02


def test_standardised_steering_ignores_units(table):
    scaled = table * np.array([1e6, 1.0, 1e-3, 1.0, 50.0, 2.0])
    masks = [np.isnan(hide_features(each, how="mar", random_state=8)) for each in (table, scaled)]
    np.testing.assert_array_equal(*masks)


def test_a_constant_steering_column_is_harmless():
    hidden = hide_features(np.ones((10, 2)), how="nmar", columns=[0], random_state=0)
    assert np.isnan(hidden[:, 0]).sum() == 5


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("how", WAYS)
def test_nothing_and_everything(how, share, table):
    hidden = np.isnan(hide_features(table, how=how, columns=[1], share=share, random_state=0))
    assert hidden[:, 1].mean() == share


def test_hide_in_rows_counts(table):
    positive = np.r_[np.ones(100), np.full(300, np.nan)]
    before = table.copy()
    hidden = np.isnan(
        hide_in_rows(table, positive, n_positive=70, n_rows=100, share=0.5, random_state=0)
    )
    assert table.tobytes() == before.tobytes()
    assert hidden[:100].any(axis=1).sum() == 70
    assert hidden[100:].any(axis=1).sum() == 30
    assert set(hidden.sum(axis=1)) == {0, 3}
    assert (hidden.sum(axis=0) > 25).all()


def test_hide_in_rows_always_takes_one_cell_at_least():
    hidden = np.isnan(
        hide_in_rows(
            np.ones((4, 3)), [1, 1, 0, 0], n_positive=1, n_rows=2, share=0.01, random_state=0
        )
    )
    assert hidden.sum() == 2


def test_random_labels_have_the_exact_count_and_inclusion():
    y = np.r_[np.zeros(90), np.ones(10), np.full(100, np.nan)]
    before = y.copy()
    kept = hide_labels(y, how="random", share=0.2, random_state=0)
    assert y.tobytes() == before.tobytes()
    assert (~np.isnan(kept.y)).sum() == 20
    np.testing.assert_array_equal(kept.inclusion, np.r_[np.full(100, 0.2), np.zeros(100)])
    shown = ~np.isnan(kept.y)
    np.testing.assert_array_equal(kept.y[shown], y[shown])


@pytest.mark.parametrize("how", ["random", "class"])
def test_inclusion_is_the_frequency_over_repeated_draws(how):
    y = np.array([1.0, 1.0, 0.0, 0.0, 0.0, np.nan])
    rng = np.random.default_rng(1)
    extra = {"n_labels": 2} if how == "random" else {"rates": {1: 0.7, 0: 0.2}}
    draws = [hide_labels(y, how=how, random_state=rng, **extra) for _ in range(4000)]
    shown = np.mean([~np.isnan(each.y) for each in draws], axis=0)
    inclusion = draws[0].inclusion
    sd = np.sqrt(inclusion * (1 - inclusion) / 4000)
    assert (abs(shown - inclusion) <= 5 * sd).all()


def test_tail_keeps_the_greatest_scores():
    rng = np.random.default_rng(2)
    scores, y = rng.normal(size=1000), rng.integers(0, 2, size=1000)
    for extra in ({"share": 0.1}, {"n_labels": 100}, {"threshold": np.sort(scores)[-101]}):
        kept = hide_labels(y, how="tail", scores=scores, **extra)
        shown = ~np.isnan(kept.y)
        assert shown.sum() == 100
        assert scores[shown].min() > scores[~shown].max()
        np.testing.assert_array_equal(kept.inclusion, shown.astype(float))
        np.testing.assert_array_equal(kept.y[shown], y[shown])


def test_tail_breaks_ties_by_row_and_passes_over_unknown_labels():
    kept = hide_labels([np.nan, 0, 1, 0], how="tail", scores=[9, 5, 5, 5], n_labels=2)
    np.testing.assert_array_equal(kept.y, [np.nan, 0, 1, np.nan])
    np.testing.assert_array_equal(kept.inclusion, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("not-a-table", lambda: hide_features(np.ones(3), random_state=0)),
        ("unknown-word", lambda: hide_features(np.ones((3, 2)), how="mnar", random_state=0)),
        ("number-range", lambda: hide_features(np.ones((3, 2)), share=1.5, random_state=0)),
        ("unknown-column", lambda: hide_features(np.ones((3, 2)), columns=[2], random_state=0)),
        ("unknown-column", lambda: hide_features(np.ones((3, 2)), columns=[], random_state=0)),
        ("unknown-column", lambda: hide_features(np.ones((3, 2)), columns=[1, 1], random_state=0)),
        (
            "too-few-columns",
            lambda: hide_features(np.ones((3, 2)), how="mar", columns=[0, 1], random_state=0),
        ),
        ("too-few-columns", lambda: hide_features(np.ones((3, 1)), how="mar", random_state=0)),
        (
            "too-few-rows",
            lambda: hide_in_rows(
                np.ones((3, 2)), [1, 0, 0], n_positive=2, n_rows=2, random_state=0
            ),
        ),
        (
            "integer-range",
            lambda: hide_in_rows(
                np.ones((3, 2)), [1, 0, 0], n_positive=3, n_rows=2, random_state=0
            ),
        ),
        (
            "number-range",
            lambda: hide_in_rows(
                np.ones((3, 2)), [1, 0, 0], n_positive=1, n_rows=2, share=0.0, random_state=0
            ),
        ),
        ("missing-argument", lambda: hide_labels([0, 1], how="random", share=0.5)),
        ("argument-conflict", lambda: hide_labels([0, 1], how="random", random_state=0)),
        (
            "argument-conflict",
            lambda: hide_labels([0, 1], how="random", share=0.5, n_labels=1, random_state=0),
        ),
        ("integer-range", lambda: hide_labels([0, 1], how="random", n_labels=3, random_state=0)),
        ("missing-argument", lambda: hide_labels([0, 1], how="class", random_state=0)),
        (
            "unknown-class",
            lambda: hide_labels([0, 1, 2], how="class", rates={0: 0.1, 1: 0.2}, random_state=0),
        ),
        (
            "number-range",
            lambda: hide_labels([0, 1], how="class", rates={0: 0.1, 1: 2.0}, random_state=0),
        ),
        ("missing-argument", lambda: hide_labels([0, 1], how="tail", share=0.5)),
        ("length-mismatch", lambda: hide_labels([0, 1], how="tail", scores=[1], share=0.5)),
        (
            "argument-conflict",
            lambda: hide_labels([0, 1], how="tail", scores=[1, 2], share=0.5, threshold=1.0),
        ),
        ("unknown-word", lambda: hide_labels([0, 1], how="top", share=0.5)),
    ],
)
def test_bad_arguments(code, call):
    with refused(code, UsageError):
        call()


def test_missing_values_and_scores_are_named():
    X = np.ones((4, 3))
    X[1, 2] = np.nan
    with refused("missing-values", DataError, column=2, count=1):
        hide_features(X, how="mar", columns=[0], random_state=0)
    hide_features(X, how="nmar", columns=[0], random_state=0)
    with refused("missing-values", DataError, argument="scores", row=1):
        hide_labels([0, 1], how="tail", scores=[1, np.nan], n_labels=1)


# --- arguments ------------------------------------------------------------------------------------


def test_a_generator_is_used_as_it_is_and_an_integer_starts_anew():
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    assert generator(np.int64(4)).random() == generator(4).random()


@pytest.mark.parametrize("bad", [None, "0", 1.0, True, -1])
def test_invalid_seeds(bad):
    with refused("seed-value", UsageError, argument="random_state", value=bad):
        generator(bad)


def test_vectors_have_one_dimension():
    with refused("length-mismatch", UsageError, argument="y"):
        vector("y", [[1.0]])


def test_matrix_and_vector_copy():
    table, line = np.zeros((2, 2)), np.zeros(2)
    matrix("X", table)[0, 0] = 1.0
    vector("y", line)[0] = 1.0
    assert not table.any()
    assert not line.any()
