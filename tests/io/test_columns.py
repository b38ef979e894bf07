"""Every fit keeps what its columns looked like; `compare_columns` asks new rows about it."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from scarce import (
    AutoClassifier,
    GaussianBayes,
    MaxentClassifier,
    PriorCorrected,
    RareClassifier,
    StoreError,
    UsageError,
    compare_columns,
    load,
    open_rows,
    save,
)
from scarce.engine.memory import ArrayRows
from scarce.io.profile import profile_rows
from tests.properties.store_properties import same

MODELS = {
    "rare": lambda: RareClassifier("logistic", ridge=1.0),
    "bayes": GaussianBayes,
    "maxent": lambda: MaxentClassifier(features="lq", width_scale=1.0),
    "auto": lambda: AutoClassifier(members=["logit"], cv=3),
    "corrected": lambda: PriorCorrected(RareClassifier("logistic", ridge=1.0), prior=0.1),
}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(600, 3))
    return X, (rng.random(600) < 1 / (1 + np.exp(1 - X[:, 0]))).astype(int)


@pytest.mark.parametrize("model", MODELS)
def test_every_estimator_keeps_the_profile_in_its_file(model, data, tmp_path, rng):
    fitted = MODELS[model]().fit(*data)
    held = getattr(fitted, "estimator_", fitted).column_profile_
    X, y = data
    assert same(held, profile_rows(ArrayRows(X, y, classes=[0, 1], check=False)))
    save(fitted, tmp_path / "m.scarce")
    again = load(tmp_path / "m.scarce")
    assert same(getattr(again, "estimator_", again).column_profile_, held)
    new = rng.normal(size=(300, 3))
    for one in (fitted, again):
        assert compare_columns(one, new) == []
        (found,) = compare_columns(one, new * [1, 1, 1000])
        assert (found.column, found.kind) == ("x2", "outside")


@pytest.mark.parametrize("model", ["rare", "bayes", "maxent", "auto"])
def test_every_fit_reports_codes_for_missing_and_leaks(model, data, rng):
    X, y = data
    assert not [s for s in MODELS[model]().fit(X, y).report_.warnings if s.startswith("Column 'x")]
    X = X.copy()
    X[rng.random(600) < 0.4, 1] = -999.0
    X[:, 2] = y + 0.01 * X[:, 2]
    coded, leak = MODELS[model]().fit(X, y).report_.warnings[:2]
    assert coded.startswith("Column 'x1': ")
    assert "missing=[-999]" in coded
    assert leak.startswith("Column 'x2' alone nearly decides the label")


def test_tables_with_names_and_categories_are_compared_by_name(rng):
    def table(n, **changed):
        columns = {"heat": rng.normal(20, 5, n), "soil": rng.choice(["clay", "sand"], n)}
        return pa.table(columns | changed)

    X = table(800).to_pandas()
    y = (rng.random(800) < 0.3).astype(float)
    model = MaxentClassifier(features="lq", width_scale=1.0).fit(X, y)
    assert compare_columns(model, table(300).to_pandas()) == []
    new = table(300, heat=rng.normal(20, 5, 300) + 273, soil=np.repeat("clay", 300)).to_pandas()
    found = [(remark.column, remark.kind) for remark in compare_columns(model, new)]
    assert found == [("heat", "outside"), ("soil", "constant")]


def test_rows_of_a_file_are_compared(data, tmp_path):
    X, y = data
    rows = open_rows(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), label="y")
    model = GaussianBayes().fit(rows)
    new = open_rows(pa.table({"a": X[:, 0] * 1000, "b": X[:, 1]}))
    assert [remark.column for remark in compare_columns(model, new)] == ["a"]


def test_models_without_a_profile_say_so(data):
    X, y = data
    batches = GaussianBayes().partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    foreign = PriorCorrected(LogisticRegression(), prior=0.1).fit(X, y)
    for model in (batches, foreign):
        with pytest.raises(UsageError, match="no profile of the columns"):
            compare_columns(model, X)


def test_a_profile_of_other_columns_is_not_loaded(data, tmp_path):
    X, y = data
    model = GaussianBayes().fit(X, y)
    model.column_profile_ = GaussianBayes().fit(X[:, :2], y).column_profile_
    with pytest.raises(StoreError, match="column_profile_"):
        save(model, tmp_path / "m.scarce")


def test_predictions_do_not_look_at_the_profile(data, recwarn):
    X, y = data
    model = RareClassifier("logistic", ridge=1.0).fit(X, y)
    model.predict_proba(X[:1] * 1e6)
    assert not recwarn.list
