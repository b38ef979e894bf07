"""Frames as they are: every estimator reads pandas, polars and Arrow tables as the same model."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from scarce import (
    AutoClassifier,
    Calibrated,
    CostSensitiveClassifier,
    DataError,
    GaussianBayes,
    MaxentClassifier,
    PriorCorrected,
    RareClassifier,
    UsageError,
    compare,
    correct_prior,
    left_out_prob,
    load,
    open_rows,
    save,
)
from scarce.evaluation.compare import deal_rows
from scarce.io.frames import as_table, is_frame, is_plain
from scarce.io.inputs import names_of
from scarce.io.schema import Schema
from tests.problems import refused, warned

MODELS = {
    "rare": RareClassifier("logistic", ridge=1.0),
    "bayes": GaussianBayes(),
    "maxent": MaxentClassifier(features="lq"),
    "auto": AutoClassifier(members=["logit"], cv=3),
}


def tickets(n=240, seed=0):
    """Numbers, text, a category, true/false and a nullable column; complete."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "amount": rng.lognormal(3, 1, n),
            "city": rng.choice(["Ulm", "Bonn", "Jena"], n, p=[0.5, 0.3, 0.2]),
            "kind": pd.Categorical(rng.choice(["old", "new"], n)),
            "zip": pd.Categorical(rng.choice([7, 30, 100], n)),
            "online": rng.random(n) < 0.5,
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int64"),
        }
    )
    score = -1.5 + 1.5 * (frame["city"] == "Bonn") + 0.8 * frame["online"]
    return frame, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int).to_numpy()


@pytest.fixture(params=list(MODELS))
def model(request):
    return clone(MODELS[request.param])


def as_words(frame):
    return frame.assign(kind=frame["kind"].astype(object))


FORMS = {
    "text": as_words,
    "string": lambda t: t.assign(city=t["city"].astype("string[pyarrow]")),
    "category": lambda t: t.assign(city=t["city"].astype("category")),
    "levels reordered": lambda t: t.assign(
        kind=t["kind"].cat.reorder_categories(["old", "new"], ordered=True),
        zip=t["zip"].cat.set_categories([100, 55, 30, 7]),
    ),
    "object": lambda t: t.astype({"amount": object, "online": object}),
    "nullable": lambda t: t.astype({"amount": "Float64", "online": "boolean"}),
    "0/1": lambda t: t.assign(online=t["online"].astype(int)),
    "no nullable": lambda t: t.assign(visits=t["visits"].astype(float)),
    "column order": lambda t: t[t.columns[::-1]],
    "Arrow": lambda t: pa.Table.from_pandas(t, preserve_index=False),
    "batch": lambda t: pa.RecordBatch.from_pandas(t, preserve_index=False),
    "Arrow chunks": lambda t: pa.concat_tables(
        [pa.Table.from_pandas(t[:100]), pa.Table.from_pandas(t[100:])]
    ),
    "dictionary": lambda t: as_table(t).set_column(
        1, "city", as_table(t).column("city").dictionary_encode()
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_is_read_alike(model, form):
    frame, y = tickets()
    wanted = model.fit(frame, y).predict_proba(frame)
    other = FORMS[form](frame)
    np.testing.assert_array_equal(model.predict_proba(other), wanted)
    if form != "column order":
        np.testing.assert_array_equal(model.fit(other, y).predict_proba(frame), wanted)


def test_polars_frames(model):
    frame, y = tickets()
    frame = frame.drop(columns="zip")  # polars has categories of words alone
    wanted = model.fit(frame, y).predict_proba(frame)
    polars = pl.from_pandas(frame)
    enum = polars.with_columns(pl.col("city").cast(pl.Enum(["Jena", "Ulm", "Bonn"])))
    for other in (polars, enum, polars.with_columns(pl.col("city").cast(pl.Categorical))):
        np.testing.assert_array_equal(model.fit(other, y).predict_proba(frame), wanted)
    np.testing.assert_array_equal(model.fit(polars, pl.Series(y)).predict_proba(polars), wanted)


def test_tables_of_numbers_from_any_library(model):
    frame = tickets()[0][["amount", "visits"]].astype(float)
    y = tickets()[1]
    wanted = model.fit(frame, y).predict_proba(frame)
    assert not hasattr(model, "schema_")
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.astype("Float64")):
        np.testing.assert_array_equal(model.predict_proba(other), wanted)
        model.fit(other, y)
        assert list(model.feature_names_in_) == ["amount", "visits"]
        np.testing.assert_array_equal(model.predict_proba(frame), wanted)
        np.testing.assert_array_equal(model.predict_proba(frame[["visits", "amount"]]), wanted)
        model.fit(frame, y)


def test_columns_are_those_given_and_those_learnt(model, tmp_path):
    frame, y = tickets()
    model.fit(frame, y)
    assert model.n_features_in_ == 6
    assert list(model.feature_names_in_) == list(frame.columns)
    spread = ["amount", "city=Bonn", "city=Jena", "kind=new", "zip=30", "zip=7", "online", "visits"]
    hot = any(column[1] == "indicator" for column in model.schema_["columns"])
    assert sorted(names_of(model))[0] == "amount"
    assert {one.partition("=")[0] for one in names_of(model)} == set(frame.columns)
    assert len(names_of(model)) == (len(spread) if hot else 6)
    save(model, tmp_path / "m.scarce")
    back = load(tmp_path / "m.scarce")
    wanted = model.predict_proba(frame)
    for other in (frame, frame.assign(more="x")[[*frame.columns[::-1], "more"]]):
        np.testing.assert_array_equal(back.predict_proba(other), wanted)
    with refused("unknown-column", DataError, column="city", columns=("city", "visits")):
        back.predict_proba(frame.drop(columns=["visits", "city"]))


def test_rows_opened_with_codes_or_one_hot_columns_are_the_same_model(model):
    frame, y = tickets()
    wanted = model.fit(frame, y).predict_proba(frame)
    rows = open_rows(frame, label=y, indicators=isinstance(model, RareClassifier))
    np.testing.assert_array_equal(model.fit(rows).predict_proba(frame), wanted)
    np.testing.assert_array_equal(model.fit(open_rows(frame, label=y)).predict_proba(frame), wanted)


def test_all_columns_that_cannot_be_read_are_named(model):
    frame, y = tickets()
    frame = frame.assign(
        day=pd.Timestamp("2026-11-18"), note=[1, "a"] * 120, tags=[["x"]] * 240, raw=[b"x"] * 240
    )
    with refused("mixed-types", DataError, columns=("day", "note", "tags", "raw")):
        model.fit(frame, y)
    with refused("column-type", DataError, columns=("day", "tags")):
        model.fit(pl.from_pandas(frame.drop(columns=["note", "raw", "zip"])), y)
    good = frame.drop(columns=["day", "note", "tags", "raw"])
    opened = open_rows(frame, label=y, drop=["day", "note", "tags", "raw"])
    np.testing.assert_array_equal(
        model.fit(opened).predict_proba(frame), model.fit(good, y).predict_proba(good)
    )


def test_what_is_a_frame():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert is_plain(frame)
    assert is_plain(pd.DataFrame({"a": [True, False]}))
    for other in (
        frame.assign(b=True),
        frame.assign(b="x"),
        frame.astype("Float64"),
        frame.astype("category"),
        pl.DataFrame({"a": [1]}),
        pa.table({"a": [1]}),
    ):
        assert is_frame(other)
        assert not is_plain(other)
    for other in (frame.to_numpy(), [[1.0]], {"a": [1]}, frame["a"]):
        assert not is_frame(other)
    with refused("lazy-frame", UsageError):
        as_table(pl.DataFrame({"a": [1]}).lazy())


def test_levels_that_are_no_words_become_words():
    frame = pd.DataFrame({"band": pd.cut([1.0, 5.0, 9.0], [0, 4, 10])})
    table = as_table(frame)
    assert table.column("band").to_pylist() == ["(0, 4]", "(4, 10]", "(4, 10]"]


def test_unknown_levels_are_missing_with_a_warning():
    frame, y = tickets()
    model = MaxentClassifier(features="l").fit(frame, y)
    new = frame.head(5).copy()
    new.loc[[0, 3], "city"] = ["Aachen", "Kiel"]
    gone = frame.head(5).copy()
    gone.loc[[0, 3], "city"] = None
    with warned("unknown-levels", columns=("city",), count=2):
        found = model.predict_proba(new)
    np.testing.assert_array_equal(found, model.predict_proba(gone))


def test_a_missing_category_is_missing_in_all_its_columns():
    frame, y = tickets()
    frame.loc[::7, "city"] = None
    rows = open_rows(frame, indicators=True)
    hot = [j for j, column in enumerate(rows.schema.columns) if column.source == "city"]
    X = rows.map(lambda block, _: block.X)[:, hot]
    assert X.shape[1] == 2
    np.testing.assert_array_equal(np.isnan(X), np.tile(frame["city"].isna(), (2, 1)).T)
    model = GaussianBayes().fit(frame, y)
    assert np.isfinite(model.predict_proba(frame)).all()


def test_batches_of_frames_are_read_as_the_first():
    frame, y = tickets()
    parts = GaussianBayes("diag", calibrate=False).partial_fit(frame[:150], y[:150])
    parts.partial_fit(frame[150:][frame.columns[::-1]], y[150:])
    like = replace(Schema.from_dict(parts.schema_), classes=(0, 1), coded_as=((0,), (1,)))
    rows = open_rows(frame.assign(y=y), label="y", like=like)
    whole = GaussianBayes("diag", calibrate=False).fit(rows)
    np.testing.assert_allclose(parts.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)
    later = frame[150:].assign(city=frame["city"][150:].astype("category"), y=y[150:])
    of_rows = GaussianBayes("diag", calibrate=False).partial_fit(frame[:150], y[:150])
    of_rows.partial_fit(open_rows(later[later.columns[::-1]], label="y"))  # codes of its own
    np.testing.assert_array_equal(of_rows.predict_proba(frame), parts.predict_proba(frame))


@pytest.mark.parametrize("form", ["text beside", "numbers", "polars"])
def test_columns_that_name_rows_are_left_out_as_on_the_command_line(model, form):
    frame, y = tickets()
    frame = frame if form == "text beside" else frame[["amount", "visits"]].astype(float)
    wanted = model.fit(frame, y).predict_proba(frame)
    other = frame.assign(ticket_id=np.arange(240)[::-1])
    other = pl.from_pandas(other) if form == "polars" else other
    with warned("identifier-column", column="ticket_id"):
        model.fit(other, y)
    assert model.n_features_in_ == frame.shape[1] + 1
    assert "ticket_id" not in names_of(model)
    np.testing.assert_array_equal(model.predict_proba(other), wanted)
    np.testing.assert_array_equal(model.predict_proba(frame), wanted)


def test_columns_that_name_units_of_several_rows_stay_with_a_warning():
    frame, y = tickets()
    frame["patient_no"] = np.arange(240) // 2
    with warned("unit-column", column="patient_no"):
        model = MaxentClassifier(features="l").fit(frame, y)
    assert "patient_no" in names_of(model)
    only = pd.DataFrame({"id": np.arange(240)})
    assert names_of(MaxentClassifier(features="l").fit(only, y)) == ["id"]


def test_text_of_another_value_in_every_row_is_refused_not_spread(model):
    frame, y = tickets(n=1300)
    with refused("too-many-levels", DataError, column="note", count=1300):
        model.fit(frame.assign(note=[f"note {n}" for n in range(1300)]), y)


@pytest.mark.parametrize("name", MODELS)
def test_folds_that_lack_a_level_do_no_harm(name):
    frame, y = tickets()
    frame["city"] = frame["city"].astype(object)
    frame.loc[[3, 200], "city"] = ["Aachen", "Kiel"]
    model = clone(MODELS[name])
    with warned("unknown-levels", columns=("city",)):
        found = cross_val_predict(model, frame, y, cv=3, method="predict_proba")
    assert np.isfinite(found).all()
    search = GridSearchCV(PriorCorrected(model, prior=0.1), {"prior": [0.1, 0.2]}, cv=3)
    with warned("unknown-levels"):
        assert np.isfinite(search.fit(frame, y).best_score_)
    with warned("unknown-levels"):
        again = cross_val_predict(
            model, pl.from_pandas(frame.drop(columns="zip")), y, cv=3, method="predict_proba"
        )
    assert np.isfinite(again).all()


def test_wrappers_hand_frames_on(model):
    frame, y = tickets()
    prob = model.fit(frame, y).predict_proba(frame)
    for other in (frame, pl.from_pandas(frame.drop(columns="zip")), as_table(frame)):
        corrected = PriorCorrected(model, prior=0.02).fit(other, y)
        assert corrected.n_features_in_ == len(corrected.feature_names_in_)
        actions = CostSensitiveClassifier(model, [[0, 9], [1, 0]]).fit(other, y).predict(other)
        inner = clone(model).fit(other, y).predict_proba(other)[:, 1]
        expected = correct_prior(inner, trained_at=y.mean(), now_at=0.02)
        np.testing.assert_allclose(corrected.predict_proba(other)[:, 1], expected, rtol=1e-6)
        np.testing.assert_array_equal(actions, (inner > 0.1).astype(int))
    same = [
        Calibrated(model, random_state=0).fit(other, y).predict_proba(other)
        for other in (frame, as_table(frame))
    ]
    np.testing.assert_array_equal(*same)
    piped = make_pipeline(clone(model)).fit(frame, y)
    np.testing.assert_array_equal(piped.predict_proba(frame), prob)


def test_other_packages_get_the_frame_as_it_is():
    frame, y = tickets()
    hot = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city", "kind"]), ("passthrough", ["online"])
    )
    theirs = make_pipeline(hot, LogisticRegression())
    found = left_out_prob(
        {"theirs": theirs, "around": PriorCorrected(theirs), "ours": MODELS["maxent"]},
        frame,
        y,
        folds=4,
    )
    dealt = deal_rows(open_rows(frame, label=y), 4).folds
    by_hand = np.empty(240)
    for fold in range(4):
        out = dealt == fold
        by_hand[out] = clone(theirs).fit(frame[~out], y[~out]).predict_proba(frame[out])[:, 1]
    np.testing.assert_allclose(found["theirs"], by_hand, rtol=1e-12)
    np.testing.assert_allclose(found["around"], by_hand, rtol=1e-12)
    assert compare(y, found).best["log_loss"] != "constant"


def test_rows_in_another_order_and_every_row_twice():
    frame, y = tickets()
    order = np.random.default_rng(1).permutation(240)
    for name in ("rare", "maxent"):
        model = clone(MODELS[name])
        wanted = model.fit(frame, y).predict_proba(frame)
        mixed = model.fit(frame.iloc[order].reset_index(drop=True), y[order])
        np.testing.assert_allclose(mixed.predict_proba(frame), wanted, rtol=1e-5)
        twice = pd.concat([frame, frame], ignore_index=True)
        weights = np.full(240, 2.0)
        one = clone(model).fit(twice, np.append(y, y)).predict_proba(frame)
        other = clone(model).fit(frame, y, sample_weight=weights).predict_proba(frame)
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_an_array_for_a_model_of_categories_gives_its_own_columns():
    frame, y = tickets()
    model = RareClassifier("logistic", ridge=1.0).fit(frame, y)
    spread = open_rows(frame, indicators=True).map(lambda block, _: block.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about names
        np.testing.assert_array_equal(model.predict_proba(spread), model.predict_proba(frame))
    with refused("column-mismatch", DataError, count=6, expected=8):
        model.predict_proba(np.zeros((2, 6)))


def test_refusals_say_what_to_do_here(model):
    frame, y = tickets()
    stray = frame.assign(note=["1", "2", "x", *map(str, range(3, 240))])
    with refused("not-a-number", DataError, column="note", row=2) as caught:
        model.fit(stray, y)
    assert caught.value.fields["missing"].call == "open_rows"
    with refused("duplicate-column", DataError, column="amount"):
        model.fit(pd.concat([frame, frame[["amount"]]], axis=1), y)
    numbers = frame[["amount"]]
    with refused("duplicate-column", DataError):
        model.fit(pd.concat([numbers, numbers], axis=1), y)
    with refused("lazy-frame", UsageError):
        model.fit(pl.from_pandas(numbers).lazy(), y)
    model.fit(frame, y)
    with refused("not-a-number", DataError, column="amount", row=0):
        model.predict_proba(frame.assign(amount="a lot"))
    with refused("column-type", DataError, columns=("amount",)):
        model.predict_proba(frame.assign(amount=pd.Timestamp("2026-11-18")))
    with pytest.raises(DataError) as caught:  # no level is 1.0
        model.predict_proba(frame.assign(city=1.0))
    assert caught.value.code in ("column-kind", "unknown-level")
    with refused("no-rows", DataError):
        model.predict_proba(frame.head(0))


def test_a_frequent_word_among_few_values_is_a_level():
    frame, y = tickets()
    doors = frame.assign(doors=["2", "3", "4", "5more"] * 60)
    with warned("not-a-number", column="doors"):
        model = RareClassifier("logistic", ridge=1.0).fit(doors, y)
    assert {"doors=3", "doors=4", "doors=5more"} <= set(names_of(model))
    assert model.predict_proba(doors).shape == (240, 2)


def test_sparse_columns_of_pandas_are_numbers():
    frame, y = tickets()
    rare = np.where(np.arange(240) % 9 == 0, 1.0, 0.0)
    model = RareClassifier("logistic", ridge=1.0).fit(frame.assign(rare=rare), y)
    sparse = frame.assign(rare=pd.arrays.SparseArray(rare))
    np.testing.assert_array_equal(
        model.predict_proba(sparse), model.predict_proba(frame.assign(rare=rare))
    )


@pytest.mark.parametrize("X", [{"a": [1.0, 2.0]}, [{"a": 1.0}, {"a": 2.0}], ({"a": 1.0},)])
def test_dicts_are_no_table(X, rng):
    with refused("no-table", UsageError):
        RareClassifier("logistic", ridge=1.0).fit(X, [0, 1])
    model = RareClassifier("logistic", ridge=1.0).fit(rng.normal(size=(40, 1)), np.arange(40) % 2)
    with refused("no-table", UsageError):
        model.predict_proba(X)
