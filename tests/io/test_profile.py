"""The profile of the columns: exact where it counts, the same for every order, block and engine."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import betabinom, hypergeom, norm
from sklearn.linear_model import LogisticRegression

from scarce import (
    AutoClassifier,
    DataError,
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
from scarce.io import profile as module
from scarce.io.profile import (
    LEVELS,
    ColumnProfile,
    ColumnWatch,
    compare_profiles,
    profile_rows,
    row_hashes,
)
from scarce.io.schema import Column
from tests.problems import refused, warned
from tests.properties.store_properties import same


def profile(X, y=None, **how):
    how |= {} if y is None else {"classes": [0, 1]}
    return profile_rows(ArrayRows(X, y, check=False, **how))


def compared(train, new, columns=None):
    columns = columns or [Column(f"x{j}") for j in range(train.shape[1])]
    return compare_profiles(profile(train), profile(new), columns)


def kinds(train, new):
    return [(remark.column, remark.kind) for remark in compared(train, new)]


@pytest.fixture
def table(rng):
    X = rng.normal(size=(9000, 5))
    X[:, 1] = rng.integers(0, 4, 9000)
    X[rng.random(9000) < 0.3, 2] = np.nan
    X[:, 3] = np.nan
    X[:, 4] = 7.0
    return X, (rng.random(9000) < 0.05).astype(float)


# --- what is in it --------------------------------------------------------------------------------


def test_ranges_and_missing_values_are_those_of_all_rows(table):
    X, y = table
    found = profile(X, y)
    seen = [0, 1, 2, 4]
    assert (found.low[seen] == np.nanmin(X[:, seen], axis=0)).all()
    assert (found.high[seen] == np.nanmax(X[:, seen], axis=0)).all()
    assert np.isnan(found.low[3])
    assert np.allclose(found.missing, np.isnan(X).mean(axis=0))
    assert found.rows == 9000
    assert 2048 <= found.sampled < 9000


def test_quantiles_and_frequent_values_are_close_to_those_of_all_rows(table):
    X, y = table
    found = profile(X, y)
    inner = slice(1, -1)
    for j in (0, 2):
        wrong = norm.cdf(found.quantiles[j, inner]) - LEVELS[inner]
        assert np.abs(wrong).max() < 0.04
    values, shares = found.frequent(1)
    assert values.tolist() == [0, 1, 2, 3]
    assert np.abs(shares - 0.25).max() < 0.04
    assert shares.sum() == pytest.approx(1)
    assert found.frequent(0)[0].size == 0
    assert found.frequent(3)[0].size == 0
    assert found.distinct.tolist()[1:] == [4, found.distinct[2], 0, 1]
    assert found.whole.tolist() == [False, True, False, False, True]


def test_small_tables_are_not_sampled(rng):
    X = rng.normal(size=(500, 2))
    found = profile(X)
    at = np.rint(LEVELS * 499).astype(int)
    assert (found.quantiles == np.sort(X, axis=0)[at].T).all()
    assert found.sampled == 500


def test_rows_of_weight_0_do_not_count(table):
    X, y = table
    weight = np.ones(len(X))
    weight[:4000] = 0
    assert same(profile(X, y, weight=weight), profile(X[4000:], y[4000:]))


# --- the same answer for everybody ----------------------------------------------------------------


def test_the_order_of_rows_does_not_matter(table, rng):
    X, y = table
    order = rng.permutation(len(X))
    assert same(profile(X, y), profile(X[order], y[order]))


@pytest.mark.parametrize("engine", [None, "threads", "processes:2"])
def test_blocks_and_engines_do_not_matter(table, engine):
    X, y = table
    starts = (0, 10, 3000, 8999, 9000)
    cut = profile_rows(
        ArrayRows(X, y, classes=[0, 1], starts=starts, engine=engine, check=False), engine=engine
    )
    assert same(profile(X, y), cut)


def test_other_layouts_and_files_give_the_same(table, tmp_path):
    import pyarrow.parquet as pq

    X, y = table
    names = [f"x{j}" for j in range(5)]
    columns = {n: pa.array(X[:, j], from_pandas=True) for j, n in enumerate(names)}
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "t.parquet", row_group_size=2000)
    with warned("all-missing"):
        rows = open_rows(tmp_path / "t.parquet", label="y")
    assert same(profile(X, y), profile_rows(rows))
    assert same(profile(X, y), profile(np.asfortranarray(X), y))


def test_a_row_that_is_half_of_the_table_is_half_of_the_sample(rng):
    X = rng.normal(size=(20_000, 3))
    X[:10_000] = 0.0
    found = profile(X[rng.permutation(20_000)])
    for j in range(3):
        assert found.share_of(j, 0.0) == pytest.approx(0.5, abs=0.05)


def test_hashes_of_distinct_rows_are_uniform(rng):
    hashed = row_hashes(np.arange(40_000.0).reshape(-1, 2)) / 2.0**64
    assert len(np.unique(hashed)) == 20_000
    assert np.abs(np.histogram(hashed, 20, (0, 1))[0] - 1000).max() < 5 * np.sqrt(1000)


def test_rows_in_parts_give_what_all_rows_give(rng):
    train, new = rng.normal(size=(3000, 3)), rng.normal(size=(5000, 3)) * [1, 1000, 1]
    columns = [Column(name) for name in "abc"]
    watch = ColumnWatch(profile(train), columns)
    assert watch.remarks() == []
    for part in np.array_split(new, 17):
        watch.add(part)
    assert watch.remarks() == compare_profiles(profile(train), profile(new), columns)
    assert [remark.column for remark in watch.remarks()] == ["b"]


def test_extreme_values_give_no_arithmetic_warnings(rng):
    X = np.column_stack([rng.choice([-1.7e308, 1.7e308], 500), rng.normal(size=500)])
    found = profile(X, (np.arange(500) % 2).astype(float))
    assert found.remarks == ()
    assert found.high[0] == 1.7e308
    assert compare_profiles(found, profile(X), [Column("a"), Column("b")]) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"low": np.zeros(4)},
        {"ends": np.arange(5)[::-1].copy()},
        {"ends": np.zeros(5)},
        {"values": 3},
        {"missing": np.full(5, np.nan)},
        {"rows": -1},
    ],
)
def test_a_damaged_profile_is_refused(table, changed):
    with refused("damaged-model", DataError):
        ColumnProfile(**vars(profile(*table)) | changed)


# --- what a fit says ------------------------------------------------------------------------------


def with_share(values, code, share, rng):
    return np.where(rng.random(len(values)) < share, code, values)


@pytest.mark.parametrize("code", [-999.0, -9999.0, 9999.0, 99.0, 1e30, -99.9])
@pytest.mark.parametrize("share", [0.02, 0.4])
def test_a_code_for_missing_far_from_the_rest_is_named(rng, code, share):
    X = np.column_stack(
        [with_share(rng.normal(size=3000), code, share, rng), rng.normal(size=3000)]
    )
    (said,) = profile(X).remarks
    assert said.startswith("Column 'x0': ")
    assert f"missing=[{module._plain(code)}]" in said


def test_minus_one_among_counts_and_two_codes_at_once_are_named(rng):
    days = rng.integers(0, 400, 3000).astype(float)
    (said,) = profile(with_share(days, -1.0, 0.3, rng)[:, None]).remarks
    assert "missing=[-1]" in said
    both = with_share(with_share(days, -999.0, 0.1, rng), 99999.0, 0.1, rng)
    assert len(profile(both[:, None]).remarks) == 2


def test_columns_without_such_a_code_are_quiet(rng):
    n = 3000
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.lognormal(0, 3, n),
            rng.standard_cauchy(n),
            np.where(rng.random(n) < 0.6, 0, rng.lognormal(0, 1, n)),  # many zeros
            np.minimum(rng.exponential(20, n), 99),  # cut off at 99
            rng.integers(-1, 2, n),  # -1, 0, 1
            rng.integers(-1, 40, n),  # temperatures
            rng.choice([1, 2, 5, 10, 20, 50, 100], n),  # doses
            rng.choice([0.001, 0.01, 0.1, 1, 10, 100, 1000], n),
            rng.integers(0, 2, n),
            rng.integers(1_600_000_000, 1_700_000_000, n),
            rng.integers(1, 13, n),
            rng.integers(18, 100, n),  # ages up to 99
        ]
    ).astype(float)
    assert profile(X).remarks == ()


def leaks(X, y):
    rows = ArrayRows(X, y, classes=[0, 1], check=False)
    return [said for said in profile_rows(rows).remarks if "nearly decides" in said]


def test_a_column_that_decides_the_label_is_named(rng):
    y = (rng.random(2000) < 0.05).astype(float)
    noise = rng.normal(size=2000)
    for leak in (
        y,
        1 - y,
        y + 0.1 * noise,
        -3 * y + 0.1 * noise,
        np.where(y == 1, np.nan, noise),  # known of the others only
        np.where(y == 1, 0.0, noise),  # one value for all events
        np.where(y == 1, 5.0, rng.integers(0, 10, 2000) + 0.5),
    ):
        (said,) = leaks(np.column_stack([noise, leak]), y)
        assert said.startswith("Column 'x1' alone")
        assert "drop=['x1']" in said


def test_a_category_that_decides_the_label_is_named(rng):
    y = (rng.random(2000) < 0.1).astype(int)
    state = np.where(y == 1, rng.choice(["refunded", "blocked"], 2000), "open")
    table = pa.table({"state": state, "city": rng.choice(list("abcdefgh"), 2000), "y": y})
    (said,) = profile_rows(open_rows(table, label="y")).remarks
    assert said.startswith("Column 'state' alone")


def test_advice_on_a_one_hot_column_names_the_column_of_the_file(rng):
    y = (rng.random(1000) < 0.2).astype(int)
    table = pa.table({"state": np.where(y == 1, "refunded", "open"), "a": rng.random(1000), "y": y})
    (said,) = profile_rows(open_rows(table, label="y", indicators=True)).remarks
    assert said.startswith("Column 'state=")
    assert "drop=['state']" in said


def test_remarks_on_many_columns_are_shortened(rng):
    X = rng.normal(size=(500, 40))
    X[rng.random((500, 40)) < 0.3] = -999.0
    said = profile(X).remarks
    assert len(said) == 11
    assert said[-1] == "30 more columns have such a value."


def test_many_levels_do_not_make_a_leak(rng):
    y = (rng.random(1000) < 0.1).astype(int)
    table = pa.table({"shop": rng.integers(0, 700, 1000).astype(str), "y": y, "a": y * 0.0})
    assert profile_rows(open_rows(table, label="y", categories=["shop"])).remarks == ()


def test_honest_predictors_and_few_rows_are_no_leak(rng):
    shift = np.sqrt(2) * norm.ppf(0.95)  # AUC 0.95
    for events, others in ((20, 20), (60, 60), (40, 1000), (400, 4000)):
        y = np.repeat([1.0, 0.0], [events, others])
        X = rng.normal(size=(events + others, 60)) + shift * y[:, None]
        assert leaks(X, y) == []
    y = np.repeat([1.0, 0.0], [25, 25])
    assert leaks(y[:, None], y) == []  # 25 rows a class prove little


# --- what a comparison says -----------------------------------------------------------------------


def test_a_column_in_other_units_is_named(rng):
    train, new = rng.normal(5, 1, (1000, 3)), rng.normal(5, 1, (300, 3))
    assert kinds(train, new) == []
    assert kinds(train, new * [1, 1000, 1]) == [("x1", "outside")]
    assert kinds(train, new / [1, 1, 1000]) == [("x2", "outside")]
    centred = (train - 5, (new - 5) / [1, 1, 1000])
    assert kinds(*centred) == [("x2", "narrow")]


def test_missing_values_are_named(rng):
    train, new = rng.normal(size=(1000, 2)), rng.normal(size=(300, 2))
    train[rng.random(1000) < 0.1, 1] = np.nan
    new[rng.random(300) < 0.1, 1] = np.nan
    assert kinds(train, new) == []
    lost = new.copy()
    lost[:, 0] = np.nan
    lost[rng.random(300) < 0.4, 1] = np.nan
    assert kinds(train, lost) == [("x0", "missing"), ("x1", "more missing")]
    assert kinds(train, lost[:10]) == []  # a small batch may lack some


@pytest.mark.parametrize("code", [-999.0, -9999.0, 9999.0, -1.0, 0.0])
def test_a_value_that_training_hardly_had_is_named(rng, code):
    train, new = rng.normal(size=(1000, 1)), rng.normal(size=(500, 1))
    (found,) = compared(train, with_share(new[:, 0], code, 0.2, rng)[:, None])
    assert found.kind == "new value"
    assert ("missing=[" in found.text) == (code in module.STAND_INS)
    train = with_share(train[:, 0], code, 0.2, rng)[:, None]
    assert compared(train, with_share(new[:, 0], code, 0.2, rng)[:, None]) == []


def test_a_whole_number_that_is_more_common_elsewhere_is_no_news(rng):
    train = rng.integers(0, 90, (2000, 1)).astype(float)
    assert kinds(train, with_share(train[:, 0], 13.0, 0.3, rng)[:, None]) == []


def test_a_value_that_training_had_now_and_then_may_come_in_a_small_batch(rng):
    train, new = rng.normal(size=(1000, 1)), rng.normal(size=(20, 1))
    train[:19], new[:4] = 0.0, 0.0  # 1.9 %: not kept as a frequent value
    assert profile(train).frequent(0)[0].size == 0
    assert kinds(train, new) == []


def test_a_constant_column_is_named_in_long_tables_only(rng):
    train = np.column_stack([rng.normal(size=1000), rng.random(1000) < 0.01])
    new = np.column_stack([np.full(500, 0.3), np.zeros(500)])  # 500 zeros are no surprise
    assert kinds(train, new) == [("x0", "constant")]
    assert kinds(train, new[:50]) == []
    assert kinds(np.ones((1000, 1)), np.ones((500, 1))) == []


def test_time_that_goes_on_is_one_line(rng):
    train = np.column_stack([np.sort(rng.uniform(1.6e9, 1.7e9, 1000)), rng.normal(size=1000)])
    new = np.column_stack([rng.uniform(1.7e9, 1.71e9, 500), rng.normal(size=500)])
    assert kinds(train, new) == [("x0", "outside")]


def test_columns_of_0_and_1_speak_for_their_category(rng):
    city = rng.choice(["Bonn", "Ulm", "Wien"], 1000)
    book = open_rows(pa.table({"city": city}), indicators=True)
    columns = book.schema.columns
    for told, level in ((["city"], "Ulm"), (["city"], book.schema.indicators["city"][0])):
        new = open_rows(pa.table({"city": [level] * 400}), like=book.schema)
        found = compare_profiles(profile_rows(book), profile_rows(new), columns)
        assert [remark.column for remark in found] == told
        assert f"are {level} " in found[0].text
    with warned("all-missing"):
        new = open_rows(pa.table({"city": pa.nulls(400, pa.string())}), like=book.schema)
    found = compare_profiles(profile_rows(book), profile_rows(new), columns)
    assert [(remark.column, remark.kind) for remark in found] == [("city", "missing")]


SOURCES = {
    "normal": lambda rng, n: rng.normal(size=(n, 30)),
    "lognormal": lambda rng, n: rng.lognormal(0, 3, (n, 30)),
    "cauchy": lambda rng, n: rng.standard_cauchy((n, 30)),
    "zeros": lambda rng, n: np.where(rng.random((n, 30)) < 0.7, 0, rng.lognormal(0, 1, (n, 30))),
    "counts": lambda rng, n: rng.poisson(2.0, (n, 30)).astype(float),
    "rare": lambda rng, n: (rng.random((n, 30)) < 0.01).astype(float),
    "rarely missing": lambda rng, n: np.where(
        rng.random((n, 30)) < 0.002, np.nan, rng.normal(size=(n, 30))
    ),
    "holes": lambda rng, n: np.where(rng.random((n, 30)) < 0.3, np.nan, rng.normal(size=(n, 30))),
}


@pytest.mark.parametrize("source", SOURCES)
def test_rows_from_the_same_source_give_no_line(source, rng):
    draw = SOURCES[source]
    for n in (30, 300, 3000):
        trained = profile(draw(rng, n))
        assert trained.remarks == ()
        for m in (1, 5, 20, 150, 3000):
            columns = [Column(f"x{j}") for j in range(30)]
            assert compare_profiles(trained, profile(draw(rng, m)), columns) == []


def test_a_few_missing_values_in_a_small_batch_are_no_news(rng):
    train, new = rng.normal(size=(1000, 1)), rng.normal(size=(20, 1))
    new[:2] = np.nan  # both among 20 of 1,020 rows: 4 in 10,000
    assert kinds(train, new) == []
    new[:5] = np.nan  # 2 in a billion
    assert kinds(train, new) == [("x0", "more missing")]


def test_other_columns_are_refused(rng):
    with refused("column-mismatch", DataError):
        compared(rng.normal(size=(50, 3)), rng.normal(size=(50, 2)))


def test_probabilities_are_exact():
    for n, m, count in ((2, 5, 1), (50, 20, 3), (300, 40, 10)):
        exact = betabinom.cdf(m - count, m, n - 1, 2)
        assert module._chance_outside(n, m, count) == pytest.approx(exact, rel=1e-9)
    for before, n, now, m in ((0, 30, 3, 10), (4, 200, 20, 90)):
        exact = hypergeom.sf(now - 1, n + m, before + now, m)
        assert module._chance_more(before, n, now, m) == pytest.approx(exact, rel=1e-9)


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
    batches = (
        GaussianBayes("diag", calibrate=False)
        .partial_fit(X[:300], y[:300])
        .partial_fit(X[300:], y[300:])
    )
    foreign = PriorCorrected(LogisticRegression(), prior=0.1).fit(X, y)
    for model in (batches, foreign):
        with refused("no-profile", UsageError):
            compare_columns(model, X)


def test_a_profile_of_other_columns_is_not_loaded(data, tmp_path):
    X, y = data
    model = GaussianBayes().fit(X, y)
    model.column_profile_ = GaussianBayes().fit(X[:, :2], y).column_profile_
    with refused("damaged-model", StoreError):
        save(model, tmp_path / "m.scarce")


def test_predictions_do_not_look_at_the_profile(data, recwarn):
    X, y = data
    model = RareClassifier("logistic", ridge=1.0).fit(X, y)
    model.predict_proba(X[:1] * 1e6)
    assert not recwarn.list
