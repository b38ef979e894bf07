"""Categories, answers and counts: the formulas by hand, missing values, files, refusals."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import nbinom, poisson

from scarce import DataError, GaussianBayes, StoreError, UsageError, load, open_rows, save
from scarce.errors import DataWarning
from tests.problems import codes, refused, warned
from tests.properties.store_properties import check_round_trip


def rows_of(n=300, seed=0, lost=0.2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3 == 0
    columns = {
        "age": rng.normal(50.0 + 5.0 * y, 10.0),
        "city": rng.choice(["Bonn", "Jena", "Ulm"], n).astype(object),
        "smoker": (rng.random(n) < 0.3 + 0.3 * y).astype(float),
        "visits": rng.poisson(np.where(y, 6.0, 3.0)).astype(float),
    }
    columns["city"][y & (rng.random(n) < 0.6)] = "Ulm"
    for name, column in columns.items():
        hidden = rng.random(n) < lost
        column[hidden] = None if name == "city" else np.nan
    return {name: pa.array(list(v), from_pandas=True) for name, v in columns.items()}, y.astype(int)


KINDS = {"smoker": "bernoulli", "visits": "poisson"}


def fitted(factors=KINDS, **settings):
    columns, y = rows_of()
    rows = open_rows(pa.table(columns | {"y": y}), label="y")
    return GaussianBayes(factors=factors, calibrate=False, **settings).fit(rows), columns, y


def test_oracle_the_formulas_by_hand():
    model, columns, y = fitted("auto")
    assert model.factors_ == {
        "age": "gaussian",
        "city": "categorical",
        "smoker": "gaussian",
        "visits": "gaussian",
    }
    model, columns, y = fitted()
    new = open_rows(pa.table(columns))
    alone = {name: [None] * len(y) for name in columns}
    for name in ("city", "smoker", "visits"):
        typed = {n: pa.array(v, columns[n].type) for n, v in alone.items()}
        with pytest.warns(DataWarning):
            one = open_rows(pa.table(typed | {name: columns[name]}), like=new.schema)
        found = model.predict_joint_log_proba(one) - np.log(model.class_prior_)
        held = np.array([np.nan if v is None else v for v in columns[name].to_pylist()], object)
        known = np.array([v == v for v in held])
        for k in (0, 1):
            own = held[known & (y == k)]
            if name == "visits":
                m = held[known].astype(float).mean()
                mean = (own.astype(float).sum() + m) / (len(own) + 1.0)
                wanted = poisson.logpmf(held[known].astype(float), mean)
            else:
                levels = sorted(set(held[known]))
                n = {v: sum(own == v) for v in levels}
                total = {v: sum(held[known] == v) + 0.5 for v in levels}
                q = {v: total[v] / sum(total.values()) for v in levels}
                size = len(levels)
                wanted = [np.log((n[v] + size * q[v]) / (len(own) + size)) for v in held[known]]
            np.testing.assert_allclose(found[known, k], wanted, atol=1e-12)
        np.testing.assert_array_equal(found[~known], 0.0)  # left out is integrated out


def test_oracle_negative_binomial_counts():
    rng = np.random.default_rng(3)
    y = np.arange(20_000) % 2
    mean = np.where(y, 8.0, 3.0)
    x = rng.negative_binomial(2.0, 2.0 / (2.0 + mean)).astype(float)
    model = GaussianBayes(factors={0: "negative-binomial"}, calibrate=False).fit(x[:, None], y)
    phi = model.factor_tables_["x0"]["dispersion"]
    assert phi == pytest.approx(0.5, rel=0.1)
    table = model.factor_tables_["x0"]["table"][:, 0]
    new = np.array([0.0, 1.0, 50.0])
    found = model.predict_joint_log_proba(new[:, None]) - np.log(model.class_prior_)
    r = 1.0 / phi
    wanted = np.column_stack([nbinom.logpmf(new, r, r / (r + m)) for m in table])
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_the_objective_is_the_negative_log_likelihood():
    for kind in ("diag", "shared"):
        model, columns, y = fitted(covariance=kind, shrinkage=0)
        joint = model.predict_joint_log_proba(open_rows(pa.table(columns)))
        value = -joint[np.arange(len(y)), y].sum()
        assert model.report_.objective == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("covariance", ["shared", "diag", "shrunk"])
def test_invariant_order_codes_and_weights(covariance):
    columns, y = rows_of()
    table = pa.table(columns | {"y": y})
    settings = {"covariance": covariance, "factors": KINDS, "calibrate": False, "tol": 1e-10}
    new = open_rows(pa.table(columns))
    wanted = GaussianBayes(**settings).fit(open_rows(table, label="y")).predict_proba(new)
    order = np.random.default_rng(0).permutation(len(y))
    mixed = GaussianBayes(**settings).fit(open_rows(table.take(order), label="y"))
    np.testing.assert_allclose(mixed.predict_proba(new), wanted, atol=1e-6)
    names = {"Bonn": "Z", "Jena": "M", "Ulm": "A", None: None}
    renamed = [names[v] for v in columns["city"].to_pylist()]
    other = GaussianBayes(**settings).fit(
        open_rows(pa.table(columns | {"city": renamed, "y": y}), label="y")
    )
    found = other.predict_proba(open_rows(pa.table(columns | {"city": renamed})))
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    weight = np.arange(len(y)) // 3 % 3
    weighted = open_rows(table.append_column("w", pa.array(weight * 1.0)), label="y", weight="w")
    copied = open_rows(table.take(np.repeat(np.arange(len(y)), weight)), label="y")
    by_weight = GaussianBayes(**settings).fit(weighted).predict_proba(new)
    by_copies = GaussianBayes(**settings).fit(copied).predict_proba(new)
    np.testing.assert_allclose(by_weight, by_copies, atol=1e-6)


def test_only_categories():
    rng = np.random.default_rng(2)
    y = np.arange(300) % 2
    word = np.where(rng.random(300) < 0.7, np.where(y, "yes", "no"), "maybe")
    model = GaussianBayes().fit(open_rows(pa.table({"a": word, "y": y}), label="y"))
    prob = model.predict_proba(open_rows(pa.table({"a": ["yes", "no", "maybe", None]})))[:, 1]
    assert prob[0] > 0.95
    assert prob[1] < 0.05
    assert prob[2] == pytest.approx(0.5, abs=0.1)
    assert prob[3] == pytest.approx(0.5, abs=1e-12)
    assert not hasattr(model, "coef_")
    with refused("measurements-needed", UsageError, columns="a"):
        model.discriminant()


def test_columns_that_say_nothing_are_named():
    columns, y = rows_of()
    town = [None if k else "Bonn" for k in y]
    same = ["x"] * len(y)
    table = pa.table(columns | {"town": town, "same": same, "y": y})
    model = GaussianBayes(calibrate=False).fit(open_rows(table, label="y"))
    assert model.used_.tolist() == [True] * 4 + [False] * 2
    (said,) = [one for one in model.report_.warnings if codes([one]) == ["factor-not-used"]]
    assert said.fields["columns"] == "town, same" or "town" in said.fields["columns"]


def test_model_file_round_trip(tmp_path):
    for calibrated in (False, True):
        columns, y = rows_of()
        rows = open_rows(pa.table(columns | {"y": y}), label="y")
        model = GaussianBayes(factors=KINDS, calibrate=calibrated).fit(rows)
        new = open_rows(pa.table(columns))
        save(model, tmp_path / "m.scarce")
        again = load(tmp_path / "m.scarce")
        np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
        assert again.factors_ == model.factors_
    model.factor_tables_["visits"]["table"] = -model.factor_tables_["visits"]["table"]
    with pytest.raises(StoreError, match="factor_tables_"):
        save(model, tmp_path / "m.scarce")
    X = np.random.default_rng(0).normal(size=(80, 2))
    check_round_trip(GaussianBayes(factors={0: "gaussian"}).fit(X, np.arange(80) % 2), X)


@pytest.mark.parametrize(
    ("factors", "error", "code"),
    [
        ({"age": "poisson"}, DataError, "factor-values"),
        ({"visits": "bernoulli"}, DataError, "factor-values"),
        ({"city": "gaussian"}, UsageError, "factor-kind"),
        ({"age": "normal"}, UsageError, "factor-kind"),
        ({"agee": "poisson"}, UsageError, "factor-column"),
        ("poisson", UsageError, "factor-kind"),
    ],
)
def test_factors_that_cannot_work_are_refused(factors, error, code):
    with refused(code, error):
        fitted(factors)


def test_unlabelled_rows_need_measurements():
    columns, y = rows_of()
    label = pa.array([None if i % 4 else int(v) for i, v in enumerate(y)])
    rows = open_rows(pa.table(columns | {"y": label}), label="y")
    with refused("factors-unlabelled", UsageError, column="visits"):
        GaussianBayes(unlabelled="use", factors={"visits": "poisson"}).fit(rows)
    model = GaussianBayes(unlabelled="use").fit(rows)  # there a category is one-hot
    assert set(model.factors_.values()) == {"gaussian"}


def test_values_that_a_factor_cannot_have_are_missing_and_said_to_be():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3 == 0
    X = np.column_stack([rng.normal(y), rng.poisson(2.0 + y), rng.random(300) < 0.3 + 0.4 * y])
    kinds = {1: "poisson", 2: "bernoulli"}
    model = GaussianBayes(factors=kinds, calibrate=False).fit(X, y)
    new = np.array([[0.0, -1.0, 1.0], [0.0, 2.5, 1.0], [0.0, 2.0, 0.5], [0.0, 1e300, 1.0]])
    blank = np.array([[0.0, np.nan, 1.0], [0.0, np.nan, 1.0], [0.0, 2.0, np.nan]])
    with warned("factor-values", count=4) as problems:
        found = model.predict_proba(new)
    assert "-1 in column 'x1' (3 rows; poisson) and 0.5 in column 'x2' (1 row" in str(problems[0])
    np.testing.assert_array_equal(found, model.predict_proba(blank[[0, 1, 2, 0]]))
    model.predict_proba(X)  # no warning
