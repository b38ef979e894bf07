"""`scarce compare`: the same folds for all, the library's figures, and noise called noise."""

from __future__ import annotations

import json
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from scarce import (
    AutoClassifier,
    CostMatrix,
    GaussianBayes,
    RareClassifier,
    decide,
    mean_cost,
    open_rows,
    save,
    savings,
)
from scarce.cli.compare import verdict_words
from scarce.cli.main import scarce
from scarce.evaluation.compare import compare, compare_costs, deal_rows, left_out
from scarce.evaluation.evaluate import evaluate

QUICK = "logistic:ridge=1"


def run(*args: object) -> Result:
    return CliRunner().invoke(scarce, ["compare", *map(str, args)], prog_name="scarce")


def figures(*args: object) -> dict:
    done = run(*args, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["result"]


def refused(code: int, *args: object) -> str:
    done = run(*args)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    return done.stderr


def same(found: dict, one: object) -> bool:
    return (found["value"], found["low"], found["high"]) == pytest.approx(
        (one.value, one.low, one.high), rel=1e-9, abs=1e-13
    )


@pytest.fixture
def data(rng):
    X = rng.normal(size=(400, 2))
    y = (rng.random(400) < 1 / (1 + np.exp(2 - 1.5 * X[:, 0]))).astype(int)
    return {"id": rng.permutation(400), "a": X[:, 0], "b": X[:, 1], "fraud": y}


@pytest.fixture
def table(tmp_path, data):
    pacsv.write_csv(pa.table(data), tmp_path / "train.csv")
    return tmp_path / "train.csv"


def rows_of(data):
    return open_rows(pa.table({name: data[name] for name in ("a", "b", "fraud")}), label="fraud")


# --- fits on the same folds -----------------------------------------------------------------------


def test_figures_are_those_of_the_librarys_left_out_rows(table, data):
    found = figures(table, "--label", "fraud", "--models", f"bayes,{QUICK}", "--folds", 4)
    rows, y = rows_of(data), data["fraud"]
    fits = {
        "bayes": (GaussianBayes().fit, rows),
        QUICK: (RareClassifier("logistic", ridge=1, random_state=0).fit, rows),
    }
    probs = left_out(fits, deal_rows(rows, 4).folds)
    library = compare(y, {name: prob[:, 1] for name, prob in probs.items()})
    assert found["models"] == list(library.evaluations)
    for name, one in library.evaluations.items():
        told = found["evaluations"][name]
        assert same(told["log_loss"], one.log_loss)
        assert same(told["brier"], one.brier)
        assert same(told["calibration"][0], one.calibration[0])
    for name, one in library.behind["log_loss"].items():
        assert same(found["behind"]["log_loss"][name], one)
    assert found["best"] == library.best
    assert found["rows"] == 400


def test_the_constant_always_takes_part(table):
    assert "constant" in figures(table, "--label", "fraud", "--models", "bayes")["models"]


def test_the_same_seed_is_the_same_answer_with_any_threads(table):
    flags = (table, "--label", "fraud", "--models", f"bayes,{QUICK}", "--json")
    one, again, threads = run(*flags), run(*flags), run(*flags, "--threads", 2)
    assert one.stdout == again.stdout == threads.stdout
    other = json.loads(run(*flags, "--seed", 1).stdout)["result"]["evaluations"]
    assert other != json.loads(one.stdout)["result"]["evaluations"]  # other folds


def test_weights_reach_fits_and_figures(tmp_path, data, rng):
    weight = 1.0 + 4.0 * rng.random(400) * data["fraud"]
    path = tmp_path / "t.csv"
    pacsv.write_csv(pa.table({**data, "w": weight}), path)
    found = figures(path, "--label", "fraud", "--models", "bayes", "--weight", "w")
    table = pa.table({name: data[name] for name in ("a", "b", "fraud")})
    rows = open_rows(table, label="fraud", weight=weight)
    probs = left_out({"bayes": (GaussianBayes().fit, rows)}, deal_rows(rows, 5).folds)
    library = compare(
        data["fraud"],
        {name: prob[:, 1] for name, prob in probs.items()},
        sample_weight=weight,
    )
    for name in ("bayes", "constant"):
        assert same(found["evaluations"][name]["log_loss"], library.evaluations[name].log_loss)


def test_equal_models_are_inside_the_noise(table):
    flags = ("--models", f"{QUICK},logistic:ridge=1.0001")
    found = figures(table, "--label", "fraud", *flags)
    assert len(found["tied"]["log_loss"]) == 1
    assert "noise" in found["words"][0]
    shown = run(table, "--label", "fraud", *flags).stdout
    assert "noise" in shown


def test_a_model_without_signal_is_no_better_than_the_constant(tmp_path, rng):
    path = tmp_path / "t.csv"
    y = (rng.random(300) < 0.2).astype(int)
    pacsv.write_csv(pa.table({"a": rng.normal(size=300), "fraud": y}), path)
    found = figures(path, "--label", "fraud", "--models", "bayes")
    assert found["no_better_than_constant"]["log_loss"] == ["bayes"]
    assert "No model" in found["words"][0] or "noise" in found["words"][0]


@pytest.mark.parametrize("calibrated", [True, False])
def test_costs_are_paired(table, data, calibrated):
    naive = "bayes:covariance=diag" + ("" if calibrated else ":calibrate=false")
    flags = ("--models", f"{naive},{QUICK}", "--false-alarm", 5, "--miss", 60)
    money = figures(table, "--label", "fraud", *flags)["cost"]
    rows, y = rows_of(data), data["fraud"]
    fits = {
        naive: (GaussianBayes("diag", calibrate=calibrated).fit, rows),
        QUICK: (RareClassifier("logistic", ridge=1, random_state=0).fit, rows),
    }
    probs = left_out(fits, deal_rows(rows, 5).folds)
    costs = CostMatrix.binary(false_alarm=5, miss=60)
    done = {name: decide(prob[:, 1], costs) for name, prob in probs.items()}
    for name in done:
        assert same(money["mean"][name], mean_cost(y, done[name], costs))
    best = money["best"]
    assert best == min(done, key=lambda name: mean_cost(y, done[name], costs).value)
    found = compare_costs(y, done, costs)
    assert money["confidence_set"] == found.confidence_set
    for name in set(done) - {best}:
        assert same(money["behind"][name], found.behind[name])
        alone = savings(y, done[best], costs, against=done[name]).per_row
        assert money["behind"][name]["value"] == pytest.approx(alone.value)
        assert money["behind"][name]["low"] <= alone.low
    assert "cost a row" in run(table, "--label", "fraud", *flags).stdout


def test_what_names_rows_or_groups_is_not_learnt_from(tmp_path, data, rng):
    """A column that gives the answer away must not help as an id, a weight or a group."""
    leak = data["fraud"] * 1000 + np.arange(400)
    columns = {**data, "group": [f"g{n}" for n in leak], "w": 1.0 + data["fraud"]}
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({**columns, "id": leak}), path)
    plain = figures(
        path, "--label", "fraud", "--models", "bayes", "--columns", "a", "--columns", "b"
    )
    for flags in (
        ("--drop", "group", "--drop", "w"),  # id names rows
        ("--groups", "group", "--drop", "w"),
        ("--id", "group", "--weight", "w"),
    ):
        found = figures(path, "--label", "fraud", "--models", "bayes", *flags)
        loss = found["evaluations"]["bayes"]["log_loss"]["value"]
        assert loss > 0.5 * plain["evaluations"]["bayes"]["log_loss"]["value"]
    assert (
        "--id id"
        in run(
            path, "--label", "fraud", "--models", "bayes", "--drop", "group", "--drop", "w"
        ).stderr
    )


def test_groups_stay_together_and_widen_the_intervals(tmp_path, rng):
    group = np.repeat(np.arange(50), 8)
    a = rng.normal(size=50)[group] + 0.1 * rng.normal(size=400)
    y = (rng.random(50) < 1 / (1 + np.exp(1 - a[::8]))).astype(int)[group]
    path = tmp_path / "t.csv"
    pacsv.write_csv(pa.table({"a": a, "card": group, "fraud": y}), path)
    alone = figures(path, "--label", "fraud", "--models", "bayes", "--drop", "card")
    grouped = figures(path, "--label", "fraud", "--models", "bayes", "--groups", "card")

    def width(found):
        one = found["evaluations"]["bayes"]["log_loss"]
        return one["high"] - one["low"]

    assert width(grouped) > 1.5 * width(alone)
    assert "of groups" in grouped["evaluations"]["bayes"]["log_loss"]["method"]
    assert (
        grouped["evaluations"]["bayes"]["log_loss"]["value"]
        > (alone["evaluations"]["bayes"]["log_loss"]["value"])
    )  # rows of a card that was seen in the fit are easier


def test_categories_reach_every_model_in_its_own_way(tmp_path, rng):
    city = rng.choice(["Ulm", "Bonn", "Kiel"], 300)
    y = (rng.random(300) < np.where(city == "Ulm", 0.7, 0.15)).astype(int)
    path = tmp_path / "t.csv"
    pacsv.write_csv(pa.table({"city": city, "a": rng.normal(size=300), "fraud": y}), path)
    found = figures(path, "--label", "fraud", "--models", f"{QUICK},maxent", "--folds", 3)
    for name in (QUICK, "maxent"):
        assert found["evaluations"][name]["auc"][0]["value"] > 0.7


def test_unlabelled_rows_are_left_aside(tmp_path, data):
    label = pa.array([None if row % 4 == 0 else int(y) for row, y in enumerate(data["fraud"])])
    path = tmp_path / "t.csv"
    pacsv.write_csv(pa.table({**data, "fraud": label}), path)
    found = figures(path, "--label", "fraud", "--models", "bayes")
    assert (found["rows"], found["unlabelled"]) == (300, 100)
    kept = np.arange(400) % 4 != 0
    part = {name: np.asarray(values)[kept] for name, values in data.items()}
    rows = rows_of(part)
    probs = left_out({"bayes": (GaussianBayes().fit, rows)}, deal_rows(rows, 5).folds)
    assert same(
        found["evaluations"]["bayes"]["log_loss"],
        evaluate(part["fraud"], probs["bayes"][:, 1]).log_loss,
    )
    assert "100 of 400 rows" in run(path, "--label", "fraud", "--models", "bayes").stderr


def test_words_as_labels_and_several_classes(tmp_path, rng):
    y = rng.integers(0, 3, 240)
    names = np.array(["ant", "bee", "cat"])
    path = tmp_path / "t.csv"
    X = rng.normal(size=(240, 2)) + np.array([[0, 0], [3, 0], [0, 3]])[y]
    pacsv.write_csv(pa.table({"u": X[:, 0], "v": X[:, 1], "kind": names[y]}), path)
    found = figures(path, "--label", "kind", "--models", "bayes", "--folds", 3)
    assert found["classes"] == ["ant", "bee", "cat"]
    assert found["evaluations"]["bayes"]["log_loss"]["value"] < 0.5
    constant = found["evaluations"]["constant"]["log_loss"]["value"]
    assert constant == pytest.approx(np.log(3), abs=0.05)
    assert "[two-classes-needed]" in refused(
        3, path, "--label", "kind", "--models", "bayes,rare"
    ).replace("Take", "take")
    two = figures(
        path, "--label", "kind", "--positive", "bee", "--negative", "ant", "--negative", "cat",
        "--models", "bayes",
    )  # fmt: skip
    assert two["counts"] == [int((y != 1).sum()), int((y == 1).sum())]


def test_without_models_those_that_suit_are_taken(tmp_path, rng):
    y = (rng.random(100) < 0.4).astype(int)  # so few that each fit is quick
    a = rng.normal(size=100) + y
    holes = pa.array(np.where(rng.random(100) < 0.2, np.nan, a), from_pandas=True)
    path = tmp_path / "t.csv"
    pacsv.write_csv(pa.table({"a": holes, "fraud": y}), path)
    shown = run(path, "--label", "fraud", "--folds", 2)
    assert shown.exit_code == 0
    assert "bayes, maxent, auto, because" in shown.stderr
    assert all(f"\n  {name} " in shown.stdout for name in ("bayes", "maxent", "auto"))


def test_maxent_is_put_at_the_share_of_the_labelled_rows(tmp_path, rng):
    y = (rng.random(600) < 0.1).astype(int)
    path = tmp_path / "t.csv"
    pacsv.write_csv(pa.table({"a": rng.normal(size=600) + 1.5 * y, "fraud": y}), path)
    half = "maxent:default_prevalence=0.5"
    found = figures(path, "--label", "fraud", "--models", f"{half},maxent", "--folds", 3)
    assert found["models"] == ["maxent", "constant", half]  # the least log loss first


# --- models from files ----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, data, rng):
    rows = rows_of(data)
    models = {
        "good": RareClassifier("logistic", ridge=1.0).fit(rows),
        "stiff": RareClassifier("logistic", ridge=5000.0).fit(rows),
    }
    for name, model in models.items():
        save(model, tmp_path / f"{name}.scarce")
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1 / (1 + np.exp(2 - 1.5 * X[:, 0]))).astype(int)
    test = pa.table({"a": X[:, 0], "b": X[:, 1], "fraud": y})
    pacsv.write_csv(test, tmp_path / "test.csv")
    probs = {
        name: model.predict_proba(open_rows(test.select(["a", "b"])))[:, 1]
        for name, model in models.items()
    }
    return tmp_path, probs, y


def test_model_files_are_judged_as_they_are(files):
    folder, probs, y = files
    paths = [folder / f"{name}.scarce" for name in probs]
    found = figures(folder / "test.csv", *paths, "--label", "fraud")
    library = compare(y, probs)
    assert found["models"] == list(library.evaluations)
    assert same(found["behind"]["log_loss"]["stiff"], library.behind["log_loss"]["stiff"])
    assert same(found["ahead"]["brier"]["good"], library.ahead["brier"]["good"])
    assert found["how"] == "as they are"
    costs = CostMatrix.binary(false_alarm=5, miss=60)
    money = figures(
        folder / "test.csv", *paths, "--label", "fraud", "--false-alarm", 5, "--miss", 60
    )["cost"]
    assert same(money["mean"]["good"], mean_cost(y, decide(probs["good"], costs), costs))
    constant = decide(np.full(300, y.mean()), costs)
    assert same(money["mean"]["constant"], mean_cost(y, constant, costs))


def test_drawn_labels_in_a_common_test_set(files, rng):
    folder, probs, y = files
    known = rng.random(300) < 0.5
    label = pa.array(np.where(known, y, np.nan), from_pandas=True).cast(pa.int8())
    test = pacsv.read_csv(folder / "test.csv").drop_columns("fraud")
    drawn = pa.array(np.where(known, 0.5, np.nan), from_pandas=True)
    test = test.append_column("fraud", label).append_column("p", drawn)
    pacsv.write_csv(test, folder / "part.csv")
    flags = ("--label", "fraud", "--inclusion", "p", "--false-alarm", 5, "--miss", 60)
    found = figures(folder / "part.csv", folder / "good.scarce", *flags)
    assert same(
        found["evaluations"]["good"]["log_loss"],
        evaluate(y[known], probs["good"][known]).log_loss,
    )
    costs = CostMatrix.binary(false_alarm=5, miss=60)
    library = mean_cost(
        np.where(known, y, np.nan),
        decide(probs["good"], costs),
        costs,
        inclusion=np.where(known, 0.5, np.nan),
    )
    assert same(found["cost"]["mean"]["good"], library)


def test_a_model_that_is_off_on_average_is_named(files):
    folder, _, y = files
    test = pacsv.read_csv(folder / "test.csv")
    kept = np.flatnonzero((y == 0) | (np.cumsum(y) % 6 == 0))
    pacsv.write_csv(test.take(pa.array(kept)), folder / "rare.csv")
    found = figures(folder / "rare.csv", folder / "good.scarce", "--label", "fraud")
    assert any("good gives" in words and "scarce evaluate" in words for words in found["words"])


# --- what cannot work -----------------------------------------------------------------------------


def test_flags_that_exclude_each_other(tmp_path, table, files):
    folder = files[0]
    model = folder / "good.scarce"
    assert "[no-label-column]" in refused(2, table)
    assert "The data come first" in refused(2, model, table, "--label", "fraud")
    assert "[argument-conflict]" in refused(
        2, table, model, "--label", "fraud", "--models", "bayes"
    )
    assert "--drop is for fits" in refused(2, table, model, "--label", "fraud", "--drop", "a")
    assert "[read-twice]" in refused(2, "-", "--label", "fraud", "--models", "bayes")
    assert "--weight" in refused(2, table, "--label", "fraud", "--inclusion", "p")
    assert "Did you mean 'bayes'" in refused(2, table, "--label", "fraud", "--models", "bayer")
    assert "no parameter 'rigde'. Did you mean 'ridge'" in refused(
        2, table, "--label", "fraud", "--models", "rare:rigde=1"
    )
    assert "named twice" in refused(2, table, model, model, "--label", "fraud")


def test_columns_that_are_not_there(table):
    assert "Did you mean 'fraud'" in refused(3, table, "--label", "frad", "--models", "bayes")
    assert "--drop" in refused(3, table, "--label", "fraud", "--drop", "zz", "--models", "bayes")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.csv"),
        ("a,fraud\n", "[no-rows]"),
        ("a,fraud\n1,0\n2,0\n3,0\n", "are of one class"),
        ("a,fraud\n" + "1,0\n" * 9 + "2,1\n3,1\n", "rarest class has 2 rows"),
        ("a,fraud\n" + "1,0\n" * 9 + "2,1\n", "[too-few-rows]"),
        ("a,fraud\n1,\n2,\n", "t.csv"),
    ],
)
def test_data_that_cannot_tell_models_apart(tmp_path, text, said):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert said in refused(3, path, "--label", "fraud", "--models", "bayes")


def test_a_model_that_cannot_be_fitted_says_so(tmp_path, rng):
    path = tmp_path / "t.csv"
    y = (rng.random(60) < 0.5).astype(int)
    holes = pa.array([None if row == 7 else float(row) for row in range(60)])
    pacsv.write_csv(pa.table({"a": holes, "fraud": y}), path)
    complete = "logistic:ridge=0:bias_reduction=firth"
    said = refused(2, path, "--label", "fraud", "--models", complete)
    assert "missing" in said or "NaN" in said


def test_dry_run_fits_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n0.5,1\n")
    found = figures(tmp_path / "t.csv", "--label", "y", "--models", "rare,auto", "--dry-run")
    assert found["fits"] == 10
    assert found["compares"] == "constant, rare, auto"


def test_a_person_reads_a_table_and_sentences(table):
    shown = run(table, "--label", "fraud", "--models", f"bayes,{QUICK}")
    lines = shown.stdout.splitlines()
    assert "400 rows" in lines[0]
    assert "5 folds, seed 0" in lines[0]
    assert any(line.startswith("  constant") for line in lines)
    assert any("log loss" in line for line in lines[4:])


def test_judging_has_a_bar_of_its_own(table, monkeypatch):
    begun = []

    @contextmanager
    def bar(label):
        begun.append(label)
        yield lambda done, total: None
        begun.append("end")

    monkeypatch.setattr("scarce.cli.compare.progress", bar)
    run(table, "--label", "fraud", "--models", QUICK)
    assert begun == ["Fitting", "end", "Judging", "end"]


def test_a_gain_that_is_not_certain_is_not_called_none(rng):
    y = (rng.random(400) < 0.3).astype(int)
    good = np.where(y == 1, 0.9, 0.1)
    sure = np.where(y == 1, 0.55, 0.25)
    sure[np.flatnonzero(y)[:6]] = 1e-4  # better on average, and uncertain: a few rows cost much
    bad = rng.beta(1, 1, 400)
    found = compare(y, {"good": good, "sure": sure, "bad": bad})
    assert found.ahead["log_loss"]["sure"].value > 0 > found.ahead["log_loss"]["sure"].low
    said = verdict_words(found, {}, {}, fitted=True)
    assert "sure: not certainly better than the constant forecast in log loss." in said
    assert "bad: no better than the constant forecast in log loss." in said


def test_probability_0_for_what_happened_is_said(tmp_path, rng):
    y = np.repeat([0, 1], 100)
    rows = open_rows(pa.table({"a": rng.normal(10.0 * y), "fraud": y}), label="fraud")
    save(GaussianBayes("diag", calibrate=False).fit(rows), tmp_path / "m.scarce")
    path = tmp_path / "t.csv"
    far = {"a": [0.0, 9.0, 1e3, 1e3, 1e3, 1e3], "fraud": [0, 1, 0, 0, 1, 1]}  # one class gets 0
    pacsv.write_csv(pa.table(far), path)
    flags = (path, tmp_path / "m.scarce", "--label", "fraud")
    found = figures(*flags)
    assert found["given_0"] == {"m": 2}
    assert any(text.startswith("m ") and "2 rows" in text for text in found["words"])
    shown = run(*flags).stdout
    assert "[inf, inf]" not in shown
    assert "+inf" in shown


@pytest.mark.parametrize(("width", "tables"), [(68, 3), (200, 1)])
def test_a_narrow_terminal_gets_the_table_in_parts(table, monkeypatch, width, tables):
    drawn = []
    monkeypatch.setattr("scarce.cli.compare.on_terminal", lambda: True)
    monkeypatch.setattr("scarce.cli.compare.terminal_width", lambda: width)
    monkeypatch.setattr(
        "scarce.cli.compare.table", lambda rows, columns, title: drawn.append((rows, columns))
    )
    run(table, "--label", "fraud", "--models", f"bayes,{QUICK}", "--false-alarm", 5, "--miss", 60)
    assert len(drawn) == tables
    for rows, columns in drawn:
        assert columns[0] == ""
        assert [row[0] for row in rows] == [row[0] for row in drawn[0][0]]
        cells = zip(columns, *rows, strict=True)
        assert sum(max(map(len, cell)) + 3 for cell in cells) <= width
    assert sum(len(columns) - 1 for _, columns in drawn) == 7


def test_a_hole_among_the_rows_left_out_is_no_obstacle(tmp_path, monkeypatch):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(120, 2)).round(3)
    y = (rng.random(120) < 1 / (1 + np.exp(-2 * x[:, 0]))).astype(int)
    cells = [[f"{a}", f"{b}", f"{c}"] for (a, b), c in zip(x.tolist(), y.tolist(), strict=True)]
    cells[7][1] = ""  # the only one: every other fold is fitted without a hole
    path = tmp_path / "holes.csv"
    path.write_text("a,b,y\n" + "\n".join(map(",".join, cells)) + "\n")
    for name, value in (("repeats", 1), ("cv", 3)):
        monkeypatch.setitem(AutoClassifier.__init__.__kwdefaults__, name, value)
    done = run(path, "--label", "y", "--positive", "1", "--models", "auto", "--folds", "3")
    assert done.exit_code == 0, done.output


# --- rows that belong together --------------------------------------------------------------------


def test_every_row_twice_says_the_same_as_once(tmp_path, table, data):
    """Copies in the fold that judges made every flexible model look right."""
    twice = {name: np.tile(values, 2) for name, values in data.items()}
    twice["id"] = np.arange(800)
    pacsv.write_csv(pa.table(twice), tmp_path / "twice.csv")
    plain = "bayes:calibrate=false:shrinkage=0"  # whose prior does not count rows
    flags = ("--label", "fraud", "--models", plain, "--drop", "id")
    shown = run(tmp_path / "twice.csv", *flags)
    assert "400 of 800 labelled rows" in shown.stderr
    assert "[repeated-rows]" in shown.stderr
    assert "groups of rows are independent" in shown.stdout.replace("\n", " ")
    once, both = (figures(path, *flags) for path in (table, tmp_path / "twice.csv"))
    for name in (plain, "constant"):
        one, two = (found["evaluations"][name]["log_loss"] for found in (once, both))
        assert two["value"] == pytest.approx(one["value"], rel=1e-9)
        assert two["high"] - two["low"] == pytest.approx(one["high"] - one["low"], rel=0.05)


@pytest.fixture
def patients(tmp_path, rng):
    """Labels are noise that all rows of a patient share; the features give the patient away."""
    of = np.repeat(np.arange(80), 5)
    features = rng.normal(size=(80, 4))[of] + 1e-3 * rng.normal(size=(400, 4))
    happened = (rng.random(80) < 0.5).astype(int)[of]
    columns = {f"x{j}": features[:, j] for j in range(4)}
    names = [f"P{one:04d}" for one in of]
    path = tmp_path / "patients.csv"
    pacsv.write_csv(pa.table({"patient": names, **columns, "fraud": happened}), path)
    return path


class Nearest:
    """Says what happened in the nearest row that it knows: nothing is easier to fool by copies."""

    def get_params(self, deep=False):
        return {}

    def fit(self, rows, groups=None):
        self.X, self.y = rows.map(lambda block, _: block.X), rows.labels()
        Nearest.groups = groups
        return self

    def predict_proba(self, rows):
        asked = rows.map(lambda block, _: block.X)
        near = ((asked[:, None] - self.X) ** 2).sum(axis=2).argmin(axis=1)
        prob = np.where(self.y[near] == 1, 0.9, 0.1)
        return np.column_stack([1 - prob, prob])


def test_rows_of_one_patient_are_left_out_together(patients, monkeypatch):
    """On noise the log loss is that of a coin or worse, and not near 0."""
    monkeypatch.setattr("scarce.cli.fit.class_of", lambda model: Nearest)
    flags = (patients, "--label", "fraud", "--models", "bayes")
    loss = {
        flag: figures(*flags, flag, "patient")["evaluations"]["bayes"]["log_loss"]["value"]
        for flag in ("--groups", "--id", "--drop")
    }
    assert loss["--groups"] == loss["--id"] > np.log(2)
    assert loss["--drop"] < 0.11  # what the others are for
    assert Nearest.groups is None
    figures(*flags, "--groups", "patient")
    assert len(set(Nearest.groups)) == 64  # of 80: what the model chooses keeps them together, too


def test_equal_ids_are_said(patients):
    shown = run(patients, "--label", "fraud", "--models", "bayes", "--id", "patient")
    assert "400 of 400 rows share their value with another row (80 values)" in shown.stderr
    quiet = run(patients, "--label", "fraud", "--models", "bayes", "--groups", "patient")
    assert "share their value" not in quiet.stderr


def test_ids_without_a_name_stand_alone(tmp_path, data):
    names = ["" if row % 2 else str(row) for row in range(400)]
    pacsv.write_csv(pa.table({**data, "id": names}), tmp_path / "t.csv")
    shown = run(tmp_path / "t.csv", "--label", "fraud", "--models", "bayes", "--id", "id")
    assert shown.exit_code == 0
    assert "share their value" not in shown.stderr


def test_the_advice_to_leave_a_column_out_names_groups(tmp_path, rng):
    names = [f"P{row // 2:05d}" for row in range(2400)]
    happened = (rng.random(2400) < 0.4).astype(int)
    columns = {"who": names, "a": rng.normal(size=2400), "fraud": happened}
    pacsv.write_csv(pa.table(columns), tmp_path / "t.csv")
    shown = run(tmp_path / "t.csv", "--label", "fraud", "--models", "bayes")
    assert shown.exit_code == 3
    assert "--groups who" in shown.stderr
    assert "--drop" not in shown.stderr  # rows of one patient would be in training and test rows
    assert "max" not in shown.stderr  # compare has no such flag
    single = {**columns, "who": [f"R{row:05d}" for row in range(2400)]}
    pacsv.write_csv(pa.table(single), tmp_path / "t.csv")
    shown = run(tmp_path / "t.csv", "--label", "fraud", "--models", "bayes")
    assert "--id who" in shown.stderr
    assert "--groups" not in shown.stderr


@pytest.mark.parametrize("name", ["patient", "customer_no", "Card"])
def test_a_column_named_like_patients_or_cards_is_pointed_out(tmp_path, data, name):
    pacsv.write_csv(pa.table({**data, name: np.arange(400) // 4}), tmp_path / "t.csv")
    flags = (tmp_path / "t.csv", "--label", "fraud", "--models", "bayes")
    shown = run(*flags).stderr
    assert f"--groups {name}" in shown
    assert "--drop" not in shown


def test_an_identifier_that_rows_share_is_pointed_out(tmp_path, data):
    shared = {**data, "card_id": np.arange(400) // 4, "shop_id": np.arange(400) % 5}
    pacsv.write_csv(pa.table(shared), tmp_path / "t.csv")
    flags = (tmp_path / "t.csv", "--label", "fraud", "--models", "bayes")
    shown = run(*flags).stderr
    assert "--groups card_id" in shown
    assert "--groups shop_id" not in shown  # a category
    assert "--groups card_id" not in run(*flags, "--groups", "card_id").stderr


def test_folds_do_not_depend_on_the_models(patients):
    flags = (patients, "--label", "fraud", "--groups", "patient", "--models")
    alone = figures(*flags, "bayes")["evaluations"]["bayes"]
    assert figures(*flags, "maxent,bayes")["evaluations"]["bayes"] == alone
