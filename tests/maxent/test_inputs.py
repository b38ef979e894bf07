"""What users pass, on its way to coded rows and back: tables, precision, pieces, stored parts."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scarce import MaxentClassifier, open_rows
from scarce.engine.memory import ArrayRows
from scarce.errors import DataError
from scarce.maxent import inputs as inputs


@pytest.fixture
def data(rng):
    X = rng.normal(size=(90, 3))
    X[:, 2] = rng.integers(0, 3, 90)
    y = np.where(np.arange(90) < 25, 1.0, np.nan)
    X[:25, 0] += 1
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def model(**settings):
    return MaxentClassifier(**{"features": "lqph", "knots": 6, **settings})


@pytest.mark.parametrize(
    ("X", "wanted"),
    [
        (np.zeros((2, 1)), False),
        ([[1.0]], False),
        (pd.DataFrame({"a": [1.0], "b": [True], "c": [2]}), False),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), True),
        (pd.DataFrame({"a": pd.Categorical(["x"])}), True),
        (pd.DataFrame({"a": pd.Categorical([1, 2])}), True),
        (pl.DataFrame({"a": [1.0], "b": [2]}), False),
        (pl.DataFrame({"a": [1.0], "b": ["x"]}), True),
        (pa.table({"a": [1.0]}), True),
    ],
)
def test_tables_with_columns_that_are_not_numbers(X, wanted):
    assert inputs.has_text(X) is wanted


def test_float32_is_kept(data):
    X, y = data
    narrow = X.astype(np.float32)
    for given, dtype in ((X, np.float64), (narrow, np.float32), (X.tolist(), np.float64)):
        rows, classes, label, weight, found = inputs.fit_rows(model(), given, y, None)
        assert found == dtype
        assert classes.tolist() == [1.0]
        np.testing.assert_array_equal(label, np.where(np.isnan(y), np.nan, 0))
        assert (weight == 1).all()
        assert len(rows) == 90
    wide = model().fit(narrow.astype(np.float64), y).predict_proba(X)
    np.testing.assert_allclose(model().fit(narrow, y).predict_proba(X), wide, atol=1e-4)


def test_labels_and_weights_of_rows(data, rng):
    X, y = data
    weight = rng.random(90)
    label = np.where(np.isnan(y), np.nan, 0.0)
    rows = ArrayRows(X, label, weight=weight, classes=[1.0], starts=(0, 7, 90))
    one = model().fit(rows).predict_proba(rows)
    two = model().fit(X, y, weight).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "rows"])
def test_text_columns_become_levels(data, kind):
    X, y = data
    soil = np.array(["clay", "peat", "sand"], dtype=object)[np.nan_to_num(X[:, 2]).astype(int)]
    soil[np.isnan(X[:, 2])] = None
    columns = {"a": X[:, 0], "b": X[:, 1], "soil": soil}
    table = {
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(
            {k: pl.Series(v.tolist(), strict=False) for k, v in columns.items()}
        ),
        "arrow": lambda: pa.table(
            {k: pa.array(v.tolist(), from_pandas=True) for k, v in columns.items()}
        ),
        "rows": lambda: pa.table(
            {k: pa.array(v.tolist(), from_pandas=True) for k, v in columns.items()}
        ),
    }[kind]()
    if kind == "rows":
        labels = pa.array(y, from_pandas=True)
        rows = open_rows(table.append_column("y", labels), label="y")
        ours = model().fit(rows)
        given = rows
    else:
        ours = model().fit(table, y)
        given = table
    plain = model(categorical=[2]).fit(X, y)
    assert ours.is_category_.tolist() == [False, False, True]
    np.testing.assert_allclose(ours.predict_proba(given), plain.predict_proba(X), atol=1e-8)


def test_columns_are_found_by_name_and_unknown_levels_are_missing(data):
    X, y = data
    table = pd.DataFrame({"a": X[:, 0], "soil": np.where(np.arange(90) < 40, "clay", "sand")})
    ours = model().fit(table, y)
    wanted = ours.predict_proba(table)
    np.testing.assert_array_equal(ours.predict_proba(table[["soil", "a"]]), wanted)
    odd, none = table.head(4).copy(), table.head(4).copy()
    odd.loc[:2, "soil"], none.loc[:2, "soil"] = "lava", None
    np.testing.assert_array_equal(ours.predict_proba(odd), ours.predict_proba(none))
    assert not np.allclose(ours.predict_proba(none), wanted[:4])


def test_a_second_fit_forgets_the_first_table(data):
    X, y = data
    ours = model().fit(pd.DataFrame({"a": X[:, 0], "soil": np.where(X[:, 1] > 0, "c", "s")}), y)
    assert hasattr(ours, "schema_")
    ours.fit(X, y)
    assert not hasattr(ours, "schema_")
    assert not hasattr(ours, "feature_names_in_")
    assert ours.predict_proba(X).shape == (90, 2)


def test_tables_need_labels(data):
    with pytest.raises(DataError, match="requires y to be passed, but the target y is None"):
        model().fit(pd.DataFrame({"soil": ["clay", "sand"]}))


def test_weights_beside_tables(data, rng):
    X, y = data
    weight = rng.random(90)
    table = pd.DataFrame({"a": X[:, 0], "soil": np.where(X[:, 1] > 0, "clay", "sand")})
    as_numbers = np.column_stack([X[:, 0], np.where(X[:, 1] > 0, 0.0, 1.0)])
    one = model().fit(table, y, weight).predict_proba(table)
    two = model(categorical=[1]).fit(as_numbers, y, weight).predict_proba(as_numbers)
    np.testing.assert_allclose(one, two, atol=1e-8)


def test_tilts_do_not_depend_on_pieces_or_blocks(data, monkeypatch):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    whole = inputs.tilts(ours, X)
    assert whole.shape == (90, 1)
    monkeypatch.setattr(inputs, "PIECE", 7)
    np.testing.assert_allclose(inputs.tilts(ours, X), whole, rtol=1e-13, atol=1e-13)
    cut = inputs.tilts(ours, ArrayRows(X, starts=(0, 1, 50, 90)))
    np.testing.assert_allclose(cut, whole, rtol=1e-13, atol=1e-13)


def test_tilts_of_several_classes_are_those_of_each_alone(data):
    X, y = data
    y = y.copy()
    y[25:45] = 2.0
    X = X.copy()
    X[25:45, 1] -= 2.0
    both = inputs.tilts(model(classes=[0, 1, 2], features="lh", tol=1e-10).fit(X, y), X)
    assert both.shape == (90, 2)
    for at, label in enumerate((1.0, 2.0)):
        own = np.where(y == label, label, np.nan)
        alone = inputs.tilts(model(features="lh", tol=1e-10).fit(X, own), X)
        np.testing.assert_allclose(both[:, at], alone[:, 0], atol=1e-3)
    assert np.abs(both[:, 0] - both[:, 1]).max() > 0.1


def test_clamping_is_a_matter_of_prediction(data):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    far, edge = X[:5].copy(), X[:5].copy()
    far[:, 0], edge[:, 0] = 100.0, np.nanmax(X[:, 0])
    np.testing.assert_array_equal(inputs.tilts(ours, far), inputs.tilts(ours, edge))
    on = ours.set_params(clamp=False)
    assert not np.allclose(inputs.tilts(on, far), inputs.tilts(on, edge))
    np.testing.assert_array_equal(inputs.tilts(on, edge), inputs.tilts(ours, edge))


def test_stored_axes_are_those_of_the_fit(data):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    space = inputs.stored_axes(ours)
    assert [axis.name for axis in space.axes] == ["x0", "x1", "x2"]
    assert [axis.category for axis in space.axes] == [False, False, True]
    assert [axis.n_segments for axis in space.axes] == [5, 5, 3]
    assert len(space.pairs) > 0
    assert len(inputs.stored_axes(model(features="l").fit(X, y)).pairs) == 0
    named = model().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert [axis.name for axis in inputs.stored_axes(named).axes] == ["a", "b", "c"]
    (lines,) = inputs.model_lines(ours)
    assert len(lines.start) == space.n_cells
    assert lines.bend.shape == (3, 3)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("knots_", lambda v: v[:-1], "knots_ are not those of 3 columns"),
        ("is_category_", lambda v: v[:-1], "knots_ are not those of 3 columns"),
        ("offset_", lambda v: v[:-1], r"offset_ has shape \(1,\) of"),
        ("class_prior_", lambda v: np.append(v, 0), "class_prior_ has shape"),
        ("log_partition_", lambda v: np.append(v, 0), "log_partition_ has shape"),
        ("start_", lambda v: v[:, :-1], "start_ has shape"),
        ("slope_", lambda v: v[:, 1:], "slope_ has shape"),
        ("bend_", lambda v: v[:, :2], "bend_ has shape"),
        ("bend_seen_", lambda v: v[:, :, :2], "bend_seen_ has shape"),
        ("knots_", lambda v: [v[0][::-1], *v[1:]], "knots_ are not increasing"),
        ("knots_", lambda v: [*v[:2], v[2][::-1]], "knots_ are not increasing"),
    ],
)
def test_parts_that_do_not_belong_together(data, name, change, message):
    X, y = data
    ours = model(categorical=[2]).fit(X, y)
    inputs.check_stored(ours)
    setattr(ours, name, change(getattr(ours, name)))
    with pytest.raises(DataError, match=message):
        inputs.check_stored(ours)


def test_weights_of_the_pool():
    labelled = np.array([True, False, False])
    assert inputs.pool_weight([1, 0, 2], 3, labelled).tolist() == [1.0, 0.0, 2.0]
    for wrong in ([1, 2], [1, -1, 2], [1, np.nan, 2], [1, np.inf, 2], [[1, 2, 3]]):
        with pytest.raises(DataError, match="background_weight"):
            inputs.pool_weight(wrong, 3, labelled)
    with pytest.raises(DataError, match=r"0 for 1 labelled rows \(first: row 2\)"):
        inputs.pool_weight([1, 1, 0], 3, np.array([True, False, True]))


def test_rows_with_another_code_book_are_read_by_the_names_of_levels(rng):
    soil = np.array(["clay", "peat", "sand", "rock"])[rng.integers(0, 4, 300)]
    table = pd.DataFrame({"heat": rng.normal(size=300), "soil": soil})
    y = np.where((soil == "sand") & (rng.random(300) < 0.8) | (np.arange(300) < 9), 1.0, np.nan)
    model = MaxentClassifier(features="l").fit(table, y)
    for rows in (table.iloc[::-1], table[table.soil == "sand"], table[table.soil != "clay"]):
        opened = open_rows(rows, label=None)
        np.testing.assert_array_equal(model.predict_proba(opened), model.predict_proba(rows))
        np.testing.assert_array_equal(model.density_ratio(opened), model.density_ratio(rows))
        assert model.extrapolation(opened)[1].tolist() == model.extrapolation(rows)[1].tolist()
