"""Labels as scikit-learn users pass them, and rows at prediction read with the fit's code books."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

import scarce
from scarce.engine.memory import ArrayRows
from scarce.errors import DataError, DataWarning, ScarceError, UsageError
from scarce.io.inputs import label_codes, scaled_weights, weight_factor
from scarce.io.open import open_rows
from scarce.io.schema import Column, Schema
from tests.problems import refused, warned
from tests.test_estimators import ESTIMATORS

NAN = np.nan


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        ([-1, 1, -1], [0, 1, 0], [-1, 1]),
        ([0.0, NAN, 2.0], [0, NAN, 1], [0, 2]),
        (["b", None, "a"], [1, NAN, 0], ["a", "b"]),
        (np.array(["b", "c", "a"]), [1, 2, 0], ["a", "b", "c"]),
        ([True, False, True], [1, 0, 1], [False, True]),
        (np.array([1, None, 0], dtype=object), [1, NAN, 0], [0, 1]),
        (pd.Series([1, None, 0], dtype="Int64"), [1, NAN, 0], [0, 1]),
        (pd.Series(["x", pd.NA, "w"], dtype="string"), [1, NAN, 0], ["w", "x"]),
        (pd.Series(["x", None, "w"], dtype="category"), [1, NAN, 0], ["w", "x"]),
        (pd.Series([True, pd.NA, False], dtype="boolean"), [1, NAN, 0], [False, True]),
        (pl.Series([1, None, 0]), [1, NAN, 0], [0, 1]),
        (pl.Series(["b", None, "a"]), [1, NAN, 0], ["a", "b"]),
    ],
    ids=str,
)
def test_labels_of_every_kind(y, codes, classes):
    found, named = label_codes(y, 3)
    np.testing.assert_array_equal(found, codes)
    assert named.tolist() == classes


def test_infinite_and_continuous_labels_are_refused():
    with refused("infinite-labels", DataError):
        label_codes([0.0, np.inf], 2)
    with pytest.raises(ValueError, match="continuous"):
        label_codes([0.5, 1.25, 3.75], 3)


# --- rows opened on their own ---------------------------------------------------------------------

CITIES = ["Bonn", "Jena", "Köln", "Ulm"]


def towns(n=160, seed=5):
    rng = np.random.default_rng(seed)
    city = rng.choice(CITIES, n, p=[0.4, 0.2, 0.2, 0.2])
    amount = rng.normal(size=n)
    rate = np.select([city == "Jena", city == "Köln"], [0.8, 0.5], 0.1)
    label = (rng.random(n) < rate).astype(int)
    kind = rng.integers(1, 4, n)
    return pd.DataFrame(
        {"amount": amount, "city": city, "kind": kind, "own": amount > 0.3, "label": label}
    )


@pytest.fixture(scope="module", params=range(len(ESTIMATORS)), ids=lambda at: str(ESTIMATORS[at]))
def fitted(request):
    """Every estimator of the checks, fitted on rows with categories as far as it takes them."""
    model = clone(ESTIMATORS[request.param])
    inner = getattr(model, "estimator", model)
    hot = isinstance(inner, scarce.RareClassifier)
    reading = {"categories": ["kind"], "indicators": hot}
    rows = open_rows(towns(), label="label", **reading)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(rows)
    return model, rows, model.predict_proba(rows), reading


def as_source(table, form, folder):
    if form == "csv":
        table.to_csv(folder / "new.csv", index=False)
        return folder / "new.csv"
    if form == "parquet":
        table.to_parquet(folder / "new.parquet")
        return folder / "new.parquet"
    return table


def assert_same(found, wanted):
    """Equal but for rounding: matrix products of other numbers of rows may differ in it."""
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("form", ["memory", "csv", "parquet"])
def test_every_estimator_reads_levels_and_columns_by_name(fitted, form, tmp_path):
    """Predictions for rows opened on their own are those for the same rows at fit."""
    model, _, wanted, reading = fitted
    table = towns().drop(columns="label")
    for part in (
        table[table["city"].isin(["Jena", "Ulm"])],  # another code book: 0 is Jena, not Bonn
        table[table["city"] != "Bonn"].iloc[::-1],  # another level without a column of its own
        table[["kind", "own", "city", "amount"]],  # another order of columns
    ):
        rows = open_rows(as_source(part, form, tmp_path), **reading)
        assert_same(model.predict_proba(rows), wanted[part.index])
        one = open_rows(as_source(part, form, tmp_path), categories=["kind"])
        assert_same(model.predict_proba(one), wanted[part.index])
        plain = open_rows(as_source(part, form, tmp_path))  # kind is read as a number here
        assert_same(model.predict_proba(plain), wanted[part.index])


def test_every_estimator_reads_a_permuted_code_book(fitted):
    model, _, wanted, _ = fitted
    table = towns().drop(columns="label")
    other = Schema(
        (
            Column("city", "category", tuple(CITIES[::-1])),
            Column("kind", "category", (3, 1, 2)),
            Column("own"),
            Column("amount"),
        )
    )
    rows = open_rows(table, like=other)
    assert_same(model.predict_proba(rows), wanted)


@pytest.mark.parametrize("form", ["memory", "csv", "parquet"])
def test_every_estimator_refuses_an_unknown_level_or_takes_it_as_missing(fitted, form, tmp_path):
    model, _, _, reading = fitted
    table = towns().drop(columns="label").head(12)
    table.loc[7, "city"] = "Rom"
    source = as_source(table, form, tmp_path)
    lost = table.copy()
    lost.loc[7, "city"] = None
    if isinstance(model, scarce.MaxentClassifier):  # takes it as missing, as the guide says
        rows = open_rows(source, **reading)
        assert_same(model.predict_proba(rows), model.predict_proba(lost))
        return
    with refused("unknown-level", DataError):
        model.predict_proba(open_rows(source, **reading))
    unknown = open_rows(source, unknown="missing", **reading)
    try:
        wanted = model.predict_proba(open_rows(lost, **reading))
    except ScarceError as error:  # it needs complete rows
        with pytest.raises(type(error), match=re.escape(str(error))):
            model.predict_proba(unknown)
    else:
        assert_same(model.predict_proba(unknown), wanted)


def test_every_estimator_refuses_another_kind_of_column(fitted):
    model, _, _, _ = fitted
    table = towns().drop(columns="label").head(12)
    words = table.assign(amount=np.where(table["amount"] > 0, "high", "low"))
    with refused("column-kind", DataError):
        model.predict_proba(open_rows(words))
    numbers = table.assign(city=3)
    with refused("column-kind", DataError):
        model.predict_proba(open_rows(numbers))
    with refused("unknown-column", DataError):
        model.predict_proba(open_rows(table[["amount", "kind", "own"]]))


def test_a_column_without_values_is_missing_whatever_its_kind():
    table = towns()
    model = scarce.MaxentClassifier(features="l").fit(open_rows(table, label="label"))
    empty = table.drop(columns="label").head(5).assign(city=None)
    with warned("all-missing"):
        rows = open_rows(empty)
    assert rows.schema.columns[1].kind == "number", "nothing says that it is a category"
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(empty))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_means_missing_at_fit_does_so_at_prediction():
    """A model that was told that -999 is missing reads it so in arrays, tables and rows."""
    table = towns()
    table.loc[::5, "amount"] = -999.0
    columns = ["amount", "kind"]
    rows = open_rows(table, label="label", columns=columns, missing=-999)
    model = scarce.GaussianBayes().fit(rows)
    wanted = model.predict_proba(rows)
    new = table[columns].astype(float)
    np.testing.assert_array_equal(model.predict_proba(new), wanted)
    np.testing.assert_array_equal(model.predict_proba(new.to_numpy()), wanted)
    np.testing.assert_array_equal(model.predict_proba(open_rows(new)), wanted)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_gives_levels_by_their_positions_or_is_refused():
    rows = open_rows(towns(), label="label", columns=["amount", "city"])
    model = scarce.MaxentClassifier(features="l").fit(rows)
    X = np.concatenate([block.X for block in rows.blocks()])
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(rows))
    X[3, 1] = 4.0
    with refused("unknown-level", DataError):
        model.predict_proba(X)


def test_rows_for_a_model_of_an_array_are_numbers():
    table = towns()
    numbers = table[["amount", "kind"]]
    model = scarce.GaussianBayes().fit(numbers, table["label"])
    wanted = model.predict_proba(numbers)
    rows = open_rows(numbers[["kind", "amount"]], categories=["kind"])
    np.testing.assert_array_equal(model.predict_proba(rows), wanted)
    bare = scarce.GaussianBayes().fit(numbers.to_numpy(), table["label"])
    np.testing.assert_array_equal(bare.predict_proba(open_rows(numbers)), wanted)
    with refused("column-mismatch", DataError):
        bare.predict_proba(open_rows(table[["amount", "kind", "own"]]))
    with refused("column-kind", DataError):
        bare.predict_proba(open_rows(table[["amount", "city"]]))


def test_batches_with_other_code_books_are_one_fit():
    table = towns()
    whole = open_rows(table, label="label", indicators=True)
    like = scarce.GaussianBayes().fit(whole).schema_
    batches = scarce.GaussianBayes("diag", calibrate=False).partial_fit(
        open_rows(table.head(80), label="label", like=Schema.from_dict(like)), classes=[0, 1]
    )
    second = table.iloc[80:][["label", "own", "city", "kind", "amount"]]
    batches.partial_fit(open_rows(second, label="label", indicators=True))
    np.testing.assert_allclose(
        batches.predict_proba(whole),
        scarce.GaussianBayes("diag", calibrate=False).fit(whole).predict_proba(whole),
        rtol=1e-9,
    )


# --- masks and empty text -------------------------------------------------------------------------


def test_masked_and_empty_labels_are_missing():
    masked = np.ma.array(["b", "a", "b"], mask=[False, False, True])
    codes, classes = label_codes(masked, 3)
    np.testing.assert_array_equal(codes, [1, 0, NAN])
    assert classes.tolist() == ["a", "b"]
    codes, classes = label_codes(np.ma.array([3, 5, 9], mask=[False, False, True]), 3)
    np.testing.assert_array_equal(codes, [0, 1, NAN])
    assert classes.tolist() == [3, 5]
    codes, classes = label_codes(["b", NAN, "a"], 3)
    np.testing.assert_array_equal(codes, [1, NAN, 0])
    assert classes.tolist() == ["a", "b"], "and not the word nan"
    for y in (["b", "", "a"], np.array(["b", "", "a"]), pd.Series(["b", "", "a"])):
        with warned("empty-labels"):
            codes, classes = label_codes(y, 3)
        np.testing.assert_array_equal(codes, [1, NAN, 0])
        assert classes.tolist() == ["a", "b"]


@pytest.mark.parametrize("form", ["memory", "csv", "parquet"])
def test_empty_text_is_missing_from_every_source(form, tmp_path):
    """In a file, in a table and in y, for labels and for levels of a category."""
    table = pd.DataFrame(
        {
            "x": np.arange(6.0),
            "city": ["Ulm", "", "Bonn", "Ulm", "Bonn", ""],
            "y": ["no", "yes", "", "no", "yes", "no"],
        }
    )
    source = as_source(table, form, tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rows = open_rows(source, label="y", positive="yes")
    assert bool(told) == (form != "csv"), "an empty cell of text is what a missing one looks like"
    np.testing.assert_array_equal(rows.labels(), [0, 1, NAN, 0, 1, 0])
    assert rows.schema.columns[1].levels == ("Bonn", "Ulm")
    assert np.isnan(rows.map(lambda block, _: block.X)[[1, 5], 1]).all()


def test_every_estimator_honours_masks(fitted):
    """A mask in y and X is a missing value; a masked weight is refused."""
    base, rng = fitted[0], np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + rng.normal(size=120) > 0.3).astype(float)
    hidden = np.arange(120) % 6 == 0
    behind = np.where(hidden, 1.0 - y, y)  # what lies behind the mask is wrong
    inner = getattr(base, "estimator", base)
    masked = clone(base).fit(X, np.ma.array(behind, mask=hidden))
    plain = clone(base).fit(X, np.where(hidden, np.nan, y))
    np.testing.assert_array_equal(masked.predict_proba(X), plain.predict_proba(X))
    with refused("masked-weight", DataError):
        clone(base).fit(X, y, sample_weight=np.ma.array(np.ones(120), mask=hidden))
    if get_tags(inner).input_tags.allow_nan:
        cells = np.zeros(X.shape, dtype=bool)
        cells[::7, 1] = True
        masked = clone(base).fit(np.ma.array(X, mask=cells), y).predict_proba(X)
        plain = clone(base).fit(np.where(cells, np.nan, X), y).predict_proba(X)
        np.testing.assert_array_equal(masked, plain)


def test_rows_honour_masks():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], mask=[[0, 1], [0, 0], [0, 0]])
    y = np.ma.array([0, 1, 1], mask=[False, False, True])
    for missing in ((), [4.0]):
        rows = open_rows(X, label=y, missing=missing)
        block = next(rows.blocks())
        np.testing.assert_array_equal(block.X, [[1, NAN], [3, NAN if missing else 4], [5, 6]])
        np.testing.assert_array_equal(block.y, [0, 1, NAN])
    whole = np.ma.array([1, 2, 3], mask=[False, True, False])
    np.testing.assert_array_equal(
        open_rows({"a": whole, "b": X[:, 1]}).map(lambda block, _: block.X),
        [[1, NAN], [NAN, 4], [3, 6]],
    )
    with refused("masked-weight", DataError):
        open_rows(X, weight=np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]))
    with refused("weight-range", DataError):
        open_rows({"a": whole, "w": whole}, weight="w")


def test_survey_weights_are_scaled_to_the_number_of_rows_that_count():
    """Rows without label or with weight 0 do not count; arrays and wrapped rows agree."""
    weight = np.array([0.1, 0.3, 0.0, 0.2])
    rows = ArrayRows(np.arange(4.0)[:, None], [0, 1, 1, NAN], weight=weight, classes=[0, 1])
    scaled, remarks = scaled_weights(rows, "survey")
    assert remarks == []
    np.testing.assert_allclose(scaled.weights(), weight * 2 / 0.4)
    every, _ = scaled_weights(rows, "survey", labelled=False)
    np.testing.assert_allclose(every.weights(), weight * 3 / 0.6)
    same, remarks = scaled_weights(rows, "frequency")
    assert same is rows
    assert len(remarks) == 1
    plain = ArrayRows(np.arange(4.0)[:, None], [0, 1, 1, 0], classes=[0, 1])
    assert scaled_weights(plain, "survey") == (plain, [])


@pytest.mark.parametrize("kind", ["frequency", "survey"])
def test_weights_whose_products_vanish_are_refused(kind):
    with refused("weight-range", DataError):
        weight_factor(500 * 1e-320, 500, kind)
    with refused("unknown-word", UsageError):
        weight_factor(1.0, 1, "counts")


@pytest.mark.parametrize("kind", ["objects", "text", "lists"])
def test_text_in_an_array_is_refused_with_all_its_columns(kind):
    cells = [[1.5, "DE", "2.5", "b"], [2.5, "FR", "1.5", "a"], [0.5, "DE", "0", "b"]] * 4
    X = {"objects": np.array(cells, dtype=object), "text": np.array(cells), "lists": cells}[kind]
    y = [0, 1, 0] * 4
    with refused("text-in-array", DataError, columns=(1, 3), count=2):
        scarce.RareClassifier().fit(X, y)
    numbers = np.array(cells)[:, [0, 2]]
    model = scarce.RareClassifier("logistic").fit(numbers.astype(object), y)
    with refused("text-in-array", DataError, columns=(0,)):
        model.predict_proba([["a", 1.0]])
    np.testing.assert_array_equal(
        model.predict_proba(numbers), model.predict_proba(numbers.astype(float))
    )
