"""`scarce fit` and `scarce predict`: what Python would give, from a file, in words."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from scarce import (
    AutoClassifier,
    DataError,
    GaussianBayes,
    MaxentClassifier,
    RareClassifier,
    load,
    open_rows,
)
from scarce.cli.main import scarce
from scarce.io.inputs import names_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with an identifier, numbers, a category and labels of every kind."""
    rng = np.random.default_rng(0)
    n = 1200
    amount = rng.lognormal(3, 1, n)
    hour = rng.integers(0, 24, n)
    city = rng.choice(["Ulm", "Bonn", "Köln"], n, p=[0.2, 0.2, 0.6])
    prob = 1 / (1 + np.exp(-(np.log(amount) - 4.5 + 0.8 * (city == "Ulm"))))
    fraud = (rng.random(n) < prob).astype(int)
    table = pa.table(
        {
            "id": [f"{i:05d}" for i in range(n)],
            "amount": amount,
            "hour": hour,
            "city": city,
            "fraud": fraud,
            "verdict": np.where(fraud, "yes", "no"),
            "known": [int(f) if i % 3 else None for i, f in enumerate(fraud)],
            "seen": [1 if f and i % 2 else None for i, f in enumerate(fraud)],
            "kind": rng.choice(["a", "b", "c"], n),
        }
    )
    path = tmp_path_factory.mktemp("fit")
    pq.write_table(table, path / "data.parquet")
    with (path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(zip(*table.to_pydict().values(), strict=True))
    return path


OTHERS = ["verdict", "known", "seen", "kind"]


def run(folder, *args, **more):
    old = os.getcwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(scarce, [str(one) for one in args], prog_name="scarce", **more)
    finally:
        os.chdir(old)


def fit(folder, out, *args, data="data.csv", label="fraud", drop=OTHERS):
    dropped = [word for name in drop if name != label for word in ("--drop", name)]
    more = ["--drop", "fraud"] if label != "fraud" else []
    return run(
        folder, "fit", data, "--label", label, *dropped, *more, *args, "--out", out, "--force"
    )


def test_columns_named_like_options_stay_columns_in_the_coefficient_table(folder):
    lines = ["model,weight,fraud"]
    for place in range(400):
        make = ("Audi", "BMW", "Fiat")[place % 3]
        lines.append(f"{make},{('light', 'heavy')[place % 2]},{int(place % 7 < 2 + place % 3)}")
    (folder / "cars.csv").write_text("\n".join(lines) + "\n")
    words = ["fit", "cars.csv", "--label", "fraud", "--model", "rare", "--loss", "logistic"]
    shown = run(folder, *words, "--out", "cars.scarce", "--force")
    assert shown.exit_code == 0, shown.stderr
    rows = [line for line in shown.stdout.splitlines() if line.startswith(("model=", "weight="))]
    assert [row.split()[0] for row in rows] == ["model=BMW", "model=Fiat", "weight=light"]
    assert len({row.index(row.split()[1]) + len(row.split()[1]) for row in rows}) == 1  # aligned
    assert "--model" not in shown.stdout
    assert "--weight" not in shown.stdout


# --- fit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
def test_the_file_holds_the_model_that_python_fits(folder, data):
    shown = fit(folder, "m.scarce", "--positive", "1", "--model", "rare", data=data)
    assert shown.exit_code == 0, shown.stderr
    rows = open_rows(folder / data, label="fraud", drop=["id", *OTHERS], indicators=True)
    ours = RareClassifier(random_state=0).fit(rows)
    theirs = load(folder / "m.scarce")
    np.testing.assert_array_equal(theirs.coef_, ours.coef_)
    assert names_of(theirs) == ["amount", "hour", "city=Bonn", "city=Ulm"]
    assert "RareClassifier" in shown.stdout
    assert "converged: gradient norm" in shown.stdout


def test_what_was_understood_is_said_with_the_flag_that_settles_it(folder):
    shown = fit(folder, "m.scarce", "--model", "rare")
    assert "--id id" in shown.stderr
    assert "rows are 1 (the event; --positive settles it)" in shown.stderr
    assert "Text column 'city': 3 levels" in shown.stderr
    settled = fit(folder, "m.scarce", "--model", "rare", "--positive", "1")
    assert "rows are 1 (the event)," in settled.stderr


def test_words_as_labels_need_positive(folder):
    shown = fit(folder, "m.scarce", "--model", "rare", label="verdict")
    assert shown.exit_code == 3
    assert "[unclear-labels]" in shown.stderr
    shown = fit(folder, "m.scarce", "--model", "rare", "--positive", "yes", label="verdict")
    assert shown.exit_code == 0
    assert load(folder / "m.scarce").classes_.tolist() == ["no", "yes"]


def test_rows_without_label_are_counted_and_left_aside(folder):
    shown = fit(folder, "m.scarce", "--model", "bayes", "--json", label="known")
    result = json.loads(shown.stdout)["result"]
    assert result["unlabelled"] == 400
    assert sum(result["labelled"].values()) == 800
    assert "400 are empty: not labelled" in shown.stderr
    assert result["model"] == "GaussianBayes"


def test_missing_values_are_taken_and_said(folder):
    text = "x,city,y\n1,Ulm,0\n2,,1\n3,Bonn,0\n,Ulm,1\n4,,0\n5,Ulm,1\n"
    args = ["fit", "-", "--label", "y", "--model", "rare", "--out", "h.scarce"]
    flags = ["--set", "loss=logistic", "--set", "ridge=1"]
    shown = run(folder, *args, *flags, input=text.encode())
    assert shown.exit_code == 0, shown.stderr
    assert load(folder / "h.scarce").n_incomplete_ == 3
    shown = run(folder, "predict", "h.scarce", "-", input=b"x,city\n,\n1,Ulm\n")
    assert shown.exit_code == 0, shown.stderr
    flags = ["--set", "loss=logistic", "--set", "ridge=0", "--set", "bias_reduction=flic"]
    shown = run(folder, *args, *flags, "--force", input=text.encode())
    assert shown.exit_code == 2
    assert "[incomplete-rows]" in shown.stderr


def test_namibia_is_no_hole_when_it_is_said(folder):
    lines = [f"{['NA', 'DE', 'FR'][i % 3]},{i % 7},{i % 2}" for i in range(60)]
    (folder / "na.csv").write_text("land,x,y\n" + "\n".join(lines) + "\n")
    args = ["--label", "y", "--model", "rare", "--out", "na.scarce", "--force"]
    shown = run(folder, "fit", "na.csv", *args)
    assert shown.exit_code == 0, shown.stderr
    assert load(folder / "na.scarce").n_incomplete_ > 0
    shown = run(folder, "fit", "na.csv", *args, "--only-empty")
    assert shown.exit_code == 0, shown.stderr
    assert names_of(load(folder / "na.scarce")) == ["land=FR", "land=NA", "x"]
    shown = run(folder, "predict", "na.scarce", "na.csv", "--only-empty")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.splitlines()[1].startswith("NA,0,0,0.")


def test_auto_takes_maxent_when_one_class_is_labelled_and_says_why(folder):
    shown = fit(folder, "w.scarce", label="seen")
    assert shown.exit_code == 0, shown.stderr
    assert "only 1 is ever labelled" in shown.stderr
    assert isinstance(load(folder / "w.scarce"), MaxentClassifier)


def test_auto_takes_every_member_where_values_are_missing(folder):
    lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines()
    holes = [lines[0]]
    for place, line in enumerate(lines[1:]):
        cells = line.split(",")
        if place % 7 == 0:
            cells[2] = ""
        holes.append(",".join(cells))
    (folder / "holes.csv").write_text("\n".join(holes) + "\n", encoding="utf-8")
    shown = fit(folder, "t.scarce", data="holes.csv")
    assert shown.exit_code == 0, shown.stderr
    assert "stack of regressions and trees" in shown.stderr
    assert "logit" in load(folder / "t.scarce").comparison_
    shown = run(folder, "predict", "t.scarce", "holes.csv", "--id", "id")
    assert shown.exit_code == 0, shown.stderr


def test_one_labelled_class_is_for_maxent(folder):
    for model in ("rare", "bayes"):
        shown = fit(folder, "never.scarce", "--model", model, label="seen")
        assert shown.exit_code == 3
        assert "[one-labelled-class]" in shown.stderr
    shown = fit(folder, "w.scarce", "--model", "maxent", label="seen")
    assert "against all 1,200 as background" in shown.stdout
    assert "--now-at RATE" in shown.stderr
    assert "cannot tell how common it is" in shown.stderr
    assert "scarce correct MODEL --now-at" in shown.stderr


def test_maxent_takes_the_observed_share_where_every_row_is_labelled(folder):
    shown = fit(folder, "m.scarce", "--model", "maxent", label="fraud")
    assert shown.exit_code == 0, shown.stderr
    assert "Probabilities rest on" not in shown.stderr
    model = load(folder / "m.scarce")
    share = pq.read_table(folder / "data.parquet")["fraud"].to_numpy().mean()
    assert model.class_prior_[1] == pytest.approx(share, abs=1e-12)


def test_presences_need_something_to_compare_with(folder):
    lines = (folder / "data.csv").read_text().splitlines()
    where = lines[0].split(",").index("seen")
    alone = [lines[0], *(line for line in lines[1:] if line.split(",")[where])]
    (folder / "alone.csv").write_text("\n".join(alone) + "\n")
    done = fit(
        folder, "tried.scarce", data="alone.csv", label="seen", drop=["verdict", "known", "kind"]
    )
    assert done.exit_code == 3
    assert "[one-class]" in done.stderr
    assert "[one-class]" in done.stderr


def test_a_background_that_is_called_0_is_a_background(folder):
    text = (folder / "data.csv").read_text()
    (folder / "zero.csv").write_text(text)
    flags = ("--unlabelled", "0", "--positive", "1")
    done = fit(folder, "tried.scarce", *flags, data="zero.csv")
    assert done.exit_code == 0, done.output
    assert "--model auto: only" in done.stderr


def test_a_measurement_is_no_label(folder):
    lines = [f"{place},{place % 7}" for place in range(200)]
    (folder / "numbers.csv").write_text("height,x\n" + "\n".join(lines) + "\n")
    done = run(
        folder, "fit", "numbers.csv", "--label", "height", "--out", "tried.scarce", "--force"
    )
    assert done.exit_code == 3
    assert "[many-labels]" in done.stderr


def test_missing_values_of_labels_are_said(folder):
    done = fit(folder, "tried.scarce", "--missing", "0", "--model", "maxent")
    assert "--missing applies to 'fraud'" in done.stderr


def test_rare_is_for_two_classes(folder):
    shown = fit(folder, "never.scarce", "--model", "rare", label="kind")
    assert shown.exit_code == 3
    assert "[two-classes-needed]" in shown.stderr


def test_auto_stacks_several_classes(folder):
    shown = fit(
        folder, "k.scarce", "--columns", "amount", "--columns", "hour", label="kind", drop=[]
    )
    assert shown.exit_code == 0, shown.stderr
    assert isinstance(load(folder / "k.scarce"), AutoClassifier)
    assert "stack of regressions and trees" in shown.stderr


def test_auto_takes_a_gaussian_for_many_classes(folder, monkeypatch):
    monkeypatch.setattr("scarce.cli.fit.MOST_CLASSES", 2)
    shown = fit(folder, "k.scarce", label="kind")
    assert shown.exit_code == 0, shown.stderr
    model = load(folder / "k.scarce")
    assert isinstance(model, GaussianBayes)
    assert model.covariance == "shrunk"
    assert model.factors_["city"] == "categorical"


@pytest.fixture(scope="module")
def stacked(folder):
    """What `fit` said of the stack in a.scarce."""
    return fit(folder, "a.scarce", "--columns", "amount", "--columns", "hour", drop=[])


def test_auto_stacks_for_two_classes_and_shows_the_constant_beside(folder, stacked):
    shown = stacked
    assert shown.exit_code == 0, shown.stderr
    assert isinstance(load(folder / "a.scarce"), AutoClassifier)
    assert "constant" in shown.stdout
    assert "stack of regressions and trees" in shown.stderr


def test_options_of_the_model(folder):
    fit(folder, "m.scarce", "--model", "rare", "--loss", "logistic", "--ridge", "0.5")
    model = load(folder / "m.scarce")
    assert (model.loss, model.ridge) == ("logistic", 0.5)
    fit(folder, "m.scarce", "--model", "bayes", "--set", "unbiased=true", "--set", "tol=1e-6")
    model = load(folder / "m.scarce")
    assert (model.unbiased, model.tol) == (True, 1e-6)
    fit(folder, "m.scarce", "--model", "bayes", "--set", 'factors={"hour": "poisson"}')
    assert load(folder / "m.scarce").factors_["hour"] == "poisson"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--model", "rare", "--covariance", "full"], "[option-of-model]"),
        (["--model", "bayes", "--set", "tole=1"], "Did you mean 'tol'"),
        (["--model", "bayes", "--set", "tol"], "[option-value]"),
        (["--model", "bayes", "--set", "factors={hour: poisson}"], "[option-value]"),
        (["--set", "tol=1"], "[option-of-model]"),
        (["--model", "rre"], "rare"),
    ],
)
def test_flags_that_cannot_work_are_usage_errors(folder, args, words):
    shown = fit(folder, "never.scarce", *args)
    assert shown.exit_code == 2
    assert words in shown.stderr
    assert not (folder / "never.scarce").exists()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["fit", "data.csv", "--out", "x.scarce"], 2, "--label COLUMN"),
        (["fit", "data.csv", "--label", "fraud"], 2, "--out m.scarce"),
        (["fit", "data.csv", "--label", "frad", "--out", "x.scarce"], 3, "Did you mean 'fraud'"),
        (["fit", "dat.csv", "--label", "fraud", "--out", "x.scarce"], 3, "'data.csv'"),
        (
            ["fit", "data.csv", "--label", "fraud", "--drop", "citi", "--out", "x.scarce"],
            3,
            "[unknown-column]",
        ),
        (
            ["fit", "data.csv", "--label", "fraud", "--delimiter", "ab", "--out", "x.scarce"],
            2,
            "[text-mark]",
        ),
        (
            ["fit", "data.csv", "--label", "fraud", "--encoding", "utf9", "--out", "x.scarce"],
            2,
            "[unknown-encoding]",
        ),
        (
            ["fit", "data.csv", "--label", "amount", "--model", "rare", "--out", "x.scarce"],
            3,
            "[label-type]",
        ),
    ],
)
def test_errors_name_the_place_and_the_flag(folder, args, code, words):
    shown = run(folder, *args)
    assert shown.exit_code == code, shown.stderr
    assert words in shown.stderr
    assert not (folder / "x.scarce").exists()


def test_an_existing_model_is_kept_unless_forced(folder):
    path = folder / "old.scarce"
    path.write_text("old")
    shown = run(folder, "fit", "data.csv", "--label", "fraud", "--out", "old.scarce")
    assert shown.exit_code == 2
    assert "--force" in shown.stderr
    assert path.read_text() == "old"


def test_a_dry_run_says_what_would_be_learnt_and_writes_nothing(folder):
    shown = fit(folder, "dry.scarce", "--model", "rare", "--dry-run", "--json")
    plan = json.loads(shown.stdout)["result"]
    assert plan["features"] == ["amount", "hour", "city"]
    assert plan["dry_run"] is True
    assert not (folder / "dry.scarce").exists()


def test_a_dry_run_needs_no_file(folder):
    done = run(folder, "fit", "data.csv", "--label", "fraud", "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    assert "nothing; name a file with --out" in done.stdout


def test_fit_reads_standard_input(folder):
    args = ["fit", "-", "--label", "fraud", "--model", "rare", "--columns", "amount"]
    shown = run(
        folder, *args, "--out", "s.scarce", "--force", input=(folder / "data.csv").read_bytes()
    )
    assert shown.exit_code == 0, shown.stderr
    fit(folder, "f.scarce", "--model", "rare", "--columns", "amount", drop=[])
    np.testing.assert_allclose(
        load(folder / "s.scarce").coef_, load(folder / "f.scarce").coef_, rtol=1e-9
    )


def test_threads_do_not_change_the_model(folder):
    fit(folder, "one.scarce", "--model", "rare")
    fit(folder, "two.scarce", "--model", "rare", "--threads", "2")
    np.testing.assert_array_equal(
        load(folder / "one.scarce").coef_, load(folder / "two.scarce").coef_
    )


# --- predict --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(folder):
    shown = fit(folder, "model.scarce", "--model", "rare")
    assert shown.exit_code == 0
    return load(folder / "model.scarce")


def python_probabilities(folder, model):
    from scarce.io.schema import Schema

    rows = open_rows(folder / "data.parquet", like=Schema.from_dict(model.schema_))
    return model.predict_proba(rows)[:, 1]


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
@pytest.mark.parametrize("out", ["p.csv", "p.tsv.gz", "p.parquet", "p.arrow"])
def test_probabilities_are_python_s_in_every_format(folder, model, data, out):
    from scarce.io.source import open_table

    shown = run(folder, "predict", "model.scarce", data, "--id", "id", "--out", out, "--force")
    assert shown.exit_code == 0, shown.stderr
    assert "1,200 rows written" in shown.stderr
    written = open_table(folder / out).read(numbers=["prob"], exact=True)
    assert written.column_names == ["id", "prob"]
    np.testing.assert_array_equal(
        written.column("prob").to_numpy(), python_probabilities(folder, model)
    )
    if out in ("p.csv", "p.tsv.gz"):
        assert written.column("id")[7].as_py() == "00007"


def test_all_columns_go_on_as_they_were_written(folder, model):
    shown = run(folder, "predict", "model.scarce", "data.csv")
    lines = shown.stdout.splitlines()
    given = (folder / "data.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == given[0] + ",prob"
    assert len(lines) == len(given)
    for line, old in zip(lines[1:50], given[1:50], strict=True):
        kept = line.rpartition(",")[0].split(",")
        cells = old.split(",")
        assert kept[0] == cells[0]
        assert [float(one) for one in kept[1:3]] == [float(one) for one in cells[1:3]]
        assert kept[3:] == cells[3:]


def test_other_spellings_are_handed_on(folder, model):
    text = b"id;amount;hour;city;note\n007;66,06;11;Ulm;1,50\n008;1,5;2,0;Bonn;\n"
    flags = ["--delimiter", ";", "--decimal", ","]
    shown = run(folder, "predict", "model.scarce", "-", *flags, input=text)
    rows = list(csv.reader(shown.stdout.splitlines(), delimiter=";"))
    assert rows[1][:5] == ["007", "66,06", "11", "Ulm", "1,50"]
    plain = text.decode().replace(",", ".").replace(";", ",").encode()
    same = list(
        csv.reader(run(folder, "predict", "model.scarce", "-", input=plain).stdout.splitlines())
    )
    assert [row[-1].replace(",", ".") for row in rows] == [row[-1] for row in same]
    assert "," in rows[1][-1]  # one spelling in one file
    shown = run(
        folder, "predict", "model.scarce", "-", *flags, "--out", "z.parquet", "--force", input=text
    )
    assert shown.exit_code == 0, shown.stderr
    written = pq.read_table(folder / "z.parquet")
    assert written.column("id").to_pylist() == ["007", "008"]
    assert written.column("amount").to_pylist() == [66.06, 1.5]


def test_a_value_that_is_missing_is_averaged_over(folder, model):
    shown = run(
        folder, "predict", "model.scarce", "-", input=b"amount,hour,city\n1,2,Ulm\n3,,Ulm\n"
    )
    assert shown.exit_code == 0, shown.stderr


def test_a_level_that_the_model_never_saw_can_be_taken_as_missing(folder):
    fit(folder, "w.scarce", "--model", "maxent", label="seen")
    rows = b"amount,hour,city\n1,2,Rom\n"
    shown = run(folder, "predict", "w.scarce", "-", input=rows)
    assert shown.exit_code == 0
    assert "[unknown-levels]" in shown.stderr
    missing = run(folder, "predict", "w.scarce", "-", input=rows.replace(b"Rom", b""))
    assert (
        shown.stdout.splitlines()[1].split(",")[-1]
        == (missing.stdout.splitlines()[1].split(",")[-1])
    )
    shown = run(folder, "predict", "w.scarce", "-", "--unknown", "error", input=rows)
    assert shown.exit_code == 3
    assert "[unknown-level]" in shown.stderr
    (folder / "rom.csv").write_bytes(b"amount,hour,city,seen\n1,2,Rom,1\n1,2,Ulm,0\n")
    shown = run(folder, "evaluate", "w.scarce", "rom.csv", "--label", "seen")
    assert shown.exit_code == 0
    assert "[unknown-levels]" in shown.stderr


def test_the_model_comes_first(folder, model):
    shown = run(folder, "predict", "data.csv", "model.scarce")
    assert shown.exit_code == 2
    assert "[argument-order]" in shown.stderr


def test_several_classes_have_a_column_each(folder):
    fit(folder, "k.scarce", "--model", "bayes", label="kind")
    shown = run(folder, "predict", "k.scarce", "data.csv", "--id", "id")
    rows = list(csv.DictReader(shown.stdout.splitlines()))
    assert list(rows[0]) == ["id", "prob_a", "prob_b", "prob_c"]
    assert sum(float(rows[0][f"prob_{name}"]) for name in "abc") == pytest.approx(1)


def test_bands_of_scores_are_columns(folder, model, stacked):
    shown = run(folder, "predict", "a.scarce", "data.csv", "--id", "id", "--band")
    assert shown.exit_code == 0, shown.stderr
    rows = list(csv.DictReader(shown.stdout.splitlines()))
    assert list(rows[0]) == ["id", "prob", "band_rate", "band_low", "band_high"]
    bands = load(folder / "a.scarce").bands_
    prob = np.array([float(row["prob"]) for row in rows])
    place = np.searchsorted(bands.edges, np.log(prob / (1 - prob)), side="right")
    np.testing.assert_allclose([float(row["band_rate"]) for row in rows], bands.rate[place])
    for row in rows:
        assert float(row["band_low"]) <= float(row["band_rate"]) <= float(row["band_high"])
    without = run(folder, "predict", "model.scarce", "data.csv", "--band")
    assert without.exit_code == 2
    assert "[no-bands]" in without.stderr
    run(folder, "correct", "a.scarce", "--now-at", "0.01", "--out", "moved.scarce")
    moved = run(folder, "predict", "moved.scarce", "data.csv", "--band")
    assert "[no-bands]" in moved.stderr


def test_values_that_the_model_cannot_read_are_named(folder, model):
    def predict(text, *words):
        return run(folder, "predict", "model.scarce", "-", *words, input=text.encode())

    unknown = "amount,hour,city\n1,2,Ulm\n3,4,Rom\n"
    shown = predict(unknown)
    assert shown.exit_code == 0
    assert "[unknown-levels]" in shown.stderr
    shown = predict(unknown, "--unknown", "error")
    assert shown.exit_code == 3
    assert "standard input, column 'city', row 1: " in shown.stderr
    assert "[unknown-level]" in shown.stderr
    assert "--unknown missing" in shown.stderr
    shown = predict("amount,hour\n1,2\n")
    assert shown.exit_code == 3
    assert "no column 'city'" in shown.stderr
    assert "reads: amount, hour, city" in shown.stderr
    shown = predict("amount,hour,city\n1,noon,Ulm\n")
    assert shown.exit_code == 3
    assert "noon" in shown.stderr
    shown = predict("amount,hour,city,prob\n1,2,Ulm,3\n")
    assert shown.exit_code == 3
    assert "[column-exists]" in shown.stderr


def test_no_rows_give_a_header(folder, model):
    shown = run(folder, "predict", "model.scarce", "-", input=b"amount,hour,city\n")
    assert (shown.exit_code, shown.stdout) == (0, "amount,hour,city,prob\n")


def test_a_table_is_no_model(folder):
    shown = run(folder, "predict", "data.csv", "data.csv")
    assert shown.exit_code == 3
    assert "scarce: 'data.csv'" in shown.stderr


def test_json_needs_a_file_for_the_rows(folder, model):
    shown = run(folder, "predict", "model.scarce", "data.csv", "--json")
    assert shown.exit_code == 2
    assert "--out p.csv" in json.loads(shown.stdout)["error"]["message"]
    shown = run(
        folder, "predict", "model.scarce", "data.csv", "--json", "--out", "j.csv", "--force"
    )
    result = json.loads(shown.stdout)["result"]
    assert result["rows"] == 1200
    assert result["mean_prob"] == pytest.approx(python_probabilities(folder, model).mean())


def test_a_reader_that_goes_away_ends_it_quietly(folder, model):
    big = folder / "big.csv"
    if not big.exists():
        lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        big.write_text(lines[0] + "".join(lines[1:]) * 100, encoding="utf-8")
    command = Path(sys.executable).parent / "scarce"
    done = subprocess.run(
        f"{command} predict model.scarce big.csv | head -n 2",
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


def test_the_place_of_a_bad_cell_counts_from_the_beginning_of_the_file(folder, model):
    rows = ["1,2,Ulm"] * 300_000
    rows[250_000] = "1,2,Rom"  # beyond the first part of the walk
    text = "amount,hour,city\n" + "\n".join(rows) + "\n"
    refuse = ("--unknown", "error")
    shown = run(folder, "predict", "model.scarce", "-", *refuse, input=text.encode())
    assert shown.exit_code == 3
    assert "row 250,000: " in shown.stderr


def test_tabs_by_name_and_tables_without_a_header(folder, model):
    body = (folder / "data.csv").read_text().partition("\n")[2].replace(",", "\t")
    (folder / "bare.txt").write_text(body)
    more = ("--delimiter", "tab", "--no-header", "--label", "f4", "--columns", "f1")
    done = run(folder, "fit", "bare.txt", *more, "--columns", "f2", "--model", "rare", "--out",
               "bare.scarce", "--force")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Label 'f4':" in done.stderr


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("event", [0, 1])
def test_integer_labels_beyond_2_to_the_53_stay_apart(tmp_path, ending, event):
    """As floats 2**53 and 2**53 + 1 are equal, and --positive picked the other class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    happened = rng.random(300) < 1 / (1 + np.exp(-2 * x))
    labels = (2**53, 2**53 + 1)
    held = pa.table({"x": x, "y": [labels[int(one)] for one in happened]})
    name = f"t.{ending}"
    (pq.write_table if ending == "parquet" else pacsv.write_csv)(held, str(tmp_path / name))
    done = run(
        tmp_path, "fit", name, "--label", "y", "--positive", labels[event], "--model", "rare",
        "--loss", "logistic", "--ridge", 0.01, "--out", "m.scarce",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    count = int((happened == event).sum())
    assert f"{count} rows are {labels[event]} (the event)" in done.stderr
    model = load(tmp_path / "m.scarce")
    assert (model.coef_.ravel()[0] > 0) == (event == 1)
    assert model.classes_.tolist() == [labels[1 - event], labels[event]]
    judged = run(tmp_path, "evaluate", "m.scarce", name, "--label", "y", "--json")
    figures = json.loads(judged.stdout)["result"]
    assert figures["classes"] == [labels[1 - event], labels[event]]
    assert figures["counts"] == [300 - count, count]


@pytest.fixture
def unfinished(folder, tmp_path):
    """A model whose fit was stopped after one pass, and how `fit` ended."""
    done = run(
        folder, "fit", "data.csv", "--label", "known", "--drop", "id", "--drop", "fraud",
        *(f"--drop={name}" for name in OTHERS if name != "known"), "--model", "maxent",
        "--set", "max_passes=1", "--out", tmp_path / "m.scarce",
    )  # fmt: skip
    return tmp_path / "m.scarce", done


def test_a_fit_that_did_not_converge_ends_with_code_4_and_is_written(unfinished):
    path, done = unfinished
    assert done.exit_code == 4
    assert "[not-converged]" in done.stderr
    assert "Next:" not in done.stderr
    assert load(path).report_.converged is False


@pytest.mark.parametrize(
    "words",
    [
        "predict MODEL data.csv --out OUT.csv",
        "evaluate MODEL data.csv --label fraud",
        "compare data.csv MODEL --label fraud",
        "check MODEL data.parquet --label fraud --max-log-loss 9",
        "correct MODEL --now-at 0.1 --out OUT.scarce",
        "report MODEL data.csv --label fraud --out OUT.html",
    ],
)
def test_every_verb_says_that_a_model_had_not_converged(folder, unfinished, words):
    path, _ = unfinished
    line = words.replace("MODEL", str(path)).replace("OUT", str(path.parent / "out"))
    done = run(folder, *line.split())
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("[not-converged]") == 1
    if "correct" in words:  # the moved model is made of the same fit
        again = run(folder, "predict", path.parent / "out.scarce", "data.csv")
        assert again.stderr.count("[not-converged]") == 1


def test_json_of_a_fit_that_did_not_converge_is_not_ok(folder, tmp_path):
    done = run(
        folder, "fit", "data.csv", "--label", "seen", "--columns", "amount", "--model", "maxent",
        "--set", "max_passes=1", "--out", tmp_path / "m.scarce", "--json",
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert (done.exit_code, told["ok"]) == (4, False)
    assert told["result"]["report"]["converged"] is False


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_numbers_are_missing_for_predict_too(tmp_path, ending):
    """In Parquet --missing -999 was not heard by predict, and -999 was taken for a measurement."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 200))
    y = (rng.random(200) < 1 / (1 + np.exp(-x - z))).astype(int)
    towns = rng.choice(["Ulm", "Bonn"], 200)

    def write(name, x, towns):
        held = pa.table({"x": x, "z": z, "town": towns, "y": y})
        path = tmp_path / f"{name}.{ending}"
        (pq.write_table if ending == "parquet" else pacsv.write_csv)(held, str(path))
        return path

    fitted = ["fit", write("train", x, towns), "--label", "y", "--model", "maxent"]
    assert run(tmp_path, *fitted, "--out", "m.scarce").exit_code == 0
    gone = np.arange(200) % 5 == 0
    lost = write("lost", np.where(gone, -999.0, x), np.where(gone, "-", towns))
    empty = write("empty", pa.array(x, mask=gone), pa.array(towns.tolist(), pa.string(), mask=gone))
    given = {}
    for path, flags in ((lost, ["--missing=-999", "--missing=-"]), (empty, [])):
        done = run(tmp_path, "predict", "m.scarce", path, *flags, "--id", "z", "--out", "-")
        assert done.exit_code == 0, done.stderr
        given[path] = done.stdout
        judged = run(tmp_path, "evaluate", "m.scarce", path, "--label", "y", *flags, "--json")
        given[path] += str(json.loads(judged.stdout)["result"]["figures"])
    assert given[lost] == given[empty]


class Told:
    """A stand-in for a model that keeps what it is told; nothing is fitted."""

    def __init__(self, **settings):
        self.settings = settings

    def get_params(self, deep=False):
        return {}

    def fit(self, rows, groups=None):
        Told.names, Told.groups = list(rows.names), groups
        raise DataError("enough")


@pytest.mark.parametrize("source", ["data.csv", "data.parquet", "-"])
def test_groups_reach_the_model_and_are_no_predictor(folder, tmp_path, monkeypatch, source):
    monkeypatch.setattr("scarce.cli.fit.class_of", lambda model: Told)
    words = ["fit", source, "--label", "fraud", "--model", "bayes", "--out", tmp_path / "m.scarce"]
    words += [f"--drop={name}" for name in ("verdict", "known", "seen")]
    stdin = (folder / "data.csv").read_bytes() if source == "-" else None
    held = pq.read_table(folder / "data.parquet")
    city = held.column("city").to_pylist()
    run(folder, *words, "--groups", "city", "--id", "id", input=stdin)
    assert Told.names[:2] == ["amount", "hour"]
    assert "city" not in "".join(Told.names)
    assert len(Told.groups) == 1200
    assert len(set(zip(city, Told.groups.tolist(), strict=True))) == len(set(city)) == 3
    done = run(folder, *words, "--id", "id", "--id", "hour", input=stdin)  # hour names no rows
    hours = held.column("hour").to_pylist()
    assert len(set(zip(hours, Told.groups.tolist(), strict=True))) == len(set(hours)) == 24
    assert "Column 'hour' (--id): 1,200 of 1,200 rows share their value" in done.stderr
    run(folder, *words, "--id", "id", input=stdin)
    assert Told.groups is None


def test_groups_is_one_column_of_its_own(folder):
    for words in (["--columns", "city"], ["--label", "city"]):
        given = ["--label", "fraud", *words, "--groups", "city", "--out", "g.scarce"]
        done = run(folder, "fit", "data.csv", *given)
        assert done.exit_code == 2
        assert "[same-column]" in done.stderr


def test_a_table_is_opened_and_parsed_once(tmp_path, monkeypatch):
    """The file of a fit is opened once, and one parser reads it; also where it holds categories."""
    import builtins
    import io
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.csv as pacsv

    path = tmp_path / "train.csv"
    rows = (f"{i},{i % 7}.5,{'ab'[i % 2]},{int(i % 5 == 0)}" for i in range(200))
    path.write_text("row,amount,city,fraud\n" + "\n".join(rows) + "\n")
    opened, parsed = [], []

    def counting(where, name, seen, kind):
        plain = getattr(where, name)

        def call(source, *args, **more):
            if kind == "parser" or (isinstance(source, (str, Path)) and str(source) == str(path)):
                seen.append(f"{name} {source!r}")
            return plain(source, *args, **more)

        monkeypatch.setattr(where, name, call)

    class File(io.FileIO):
        def __init__(self, name, *args, **more):
            if str(name) == str(path):
                opened.append(f"FileIO {name}")
            super().__init__(name, *args, **more)

    monkeypatch.setattr(io, "FileIO", File)
    for where, name in ((builtins, "open"), (io, "open"), (pa, "OSFile"), (pa, "memory_map")):
        counting(where, name, opened, "file")
    counting(pa, "input_stream", opened, "file")
    for name in ("open_csv", "read_csv"):
        counting(pacsv, name, parsed, "parser")
    out = tmp_path / "m.scarce"
    flags = ["--label", "fraud", "--model", "rare", "--ridge", "1", "--loss", "logistic"]
    result = CliRunner().invoke(scarce, ["fit", str(path), *flags, "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    assert out.exists()
    assert len(opened) == 1, opened
    assert len(parsed) == 1, parsed
