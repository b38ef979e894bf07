"""Sightings: background is not absence, and coordinates and codes are pointed out before a fit."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from scarce import load
from scarce.cli.main import scarce


def places(rng, n, seen, **more):
    heat = rng.uniform(0, 30, n)
    lives = rng.random(n) < 0.9 * np.exp(-(((heat - 18) / 5) ** 2))
    columns = {
        "lon": rng.uniform(5, 15, n),
        "lat": rng.uniform(45, 55, n),
        "heat": heat,
        "soil": rng.choice([10, 20, 30, 95], n),
        "seen": seen(lives),
    }
    return pa.table(columns | more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(8)
    place = tmp_path_factory.mktemp("places")

    def found(lives):
        return lives & (rng.random(len(lives)) < 0.4)

    for name, n, seen in (
        ("pb", 1200, lambda lives: found(lives).astype(int)),
        ("words", 1200, lambda lives: np.where(found(lives), "presence", "background")),
        ("survey", 400, lambda lives: lives.astype(int)),
        ("survey_words", 400, lambda lives: np.where(lives, "presence", "absence")),
    ):
        pq.write_table(places(rng, n, seen), place / f"{name}.parquet")
    for name, flags in (("pb", ["0"]), ("words", ["background", "--positive", "presence"])):
        done = run(place, "fit", f"{name}.parquet", *FIT, "--background", *flags, out=name)
        assert done.exit_code == 0, done.stderr
    return place


FIT = ["--label", "seen", "--drop", "lon", "--drop", "lat", "--set", "features=lq"]
FIT += ["--model", "maxent", "--width-scale", "1"]


def run(folder, verb, *line, out=None):
    words = [str(folder / w) if w.endswith((".parquet", ".scarce")) else w for w in line]
    words += [] if out is None else ["--out", str(folder / f"{out}.scarce"), "--force"]
    return CliRunner().invoke(scarce, [verb, *words])


# --- what is not labelled in training is not inherited --------------------------------------------


@pytest.mark.parametrize("flag", ["--unlabelled", "--background"])
def test_surveyed_absences_are_judged_after_a_fit_to_presences_alone(folder, flag):
    assert run(folder, "fit", "pb.parquet", *FIT, flag, "0", out="m").exit_code == 0
    absent = pq.read_table(folder / "survey.parquet")["seen"].to_numpy() == 0
    for verb, line in (
        ("evaluate", ["m.scarce", "survey.parquet"]),
        ("compare", ["survey.parquet", "m.scarce"]),
        ("check", ["m.scarce", "survey.parquet", "--max-log-loss", "9"]),
    ):
        done = run(folder, verb, *line, "--label", "seen", "--json")
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)["result"]
        assert (found["rows"], found["unlabelled"]) == (400, 0)
        assert f"{absent.sum()} rows are 0 " in done.stderr
        assert "--unlabelled 0" in done.stderr


def test_a_flag_still_says_that_nobody_looked(folder):
    line = ["pb.scarce", "survey.parquet", "--label", "seen", "--unlabelled", "0", "--json"]
    done = run(folder, "evaluate", *line)
    absent = pq.read_table(folder / "survey.parquet")["seen"].to_numpy() == 0
    assert json.loads(done.stdout)["result"]["unlabelled"] == absent.sum()


def test_other_words_of_the_training_file_are_asked_about(folder):
    done = run(folder, "evaluate", "words.scarce", "words.parquet", "--label", "seen")
    assert done.exit_code == 3
    assert "--unlabelled background" in done.stderr
    assert "--negative background" in done.stderr
    done = run(folder, "evaluate", "words.scarce", "survey_words.parquet", "--label", "seen")
    assert done.exit_code == 0, done.stderr
    assert "absence is taken to be all else" in done.stderr


# --- background -----------------------------------------------------------------------------------


def test_background_is_what_is_not_labelled(folder):
    done = run(folder, "fit", "pb.parquet", *FIT, "--unlabelled", "0", out="m")
    assert "not labelled" in done.stderr
    ours = run(folder, "fit", "pb.parquet", *FIT, "--background", "0", out="b")
    assert "background, where nobody looked" in ours.stderr
    one, other = (load(folder / f"{name}.scarce") for name in "mb")
    assert (one.coef_ == other.coef_).all()
    auto = [word for word in FIT[:-4] if "features" not in word and word != "--set"]
    done = run(folder, "fit", "pb.parquet", *auto, "--background", "0", out="a")
    assert done.exit_code == 0, done.stderr
    assert type(load(folder / "a.scarce")).__name__ == "MaxentClassifier"


@pytest.mark.parametrize(
    "flags", [["--model", "rare"], ["--model", "bayes"], ["--positive", "0"], ["--negative", "0"]]
)
def test_background_beside_what_contradicts_it_is_refused(folder, flags):
    done = run(folder, "fit", "pb.parquet", "--label", "seen", "--background", "0", *flags, out="x")
    assert done.exit_code == 2
    assert "--background" in done.stderr


def test_zeros_that_may_be_background_are_asked_about(folder):
    def asked(*flags, label="seen", data="pb.parquet"):
        done = run(folder, "fit", data, *FIT, *flags, out="x")
        assert done.exit_code == 0, done.stderr
        return "--background 0" in done.stderr

    assert asked()
    assert not asked("--negative", "0")
    assert not asked("--background", "0")


def test_rows_that_are_named_background_are_no_absences(folder):
    done = run(folder, "fit", "words.parquet", *FIT, "--positive", "presence", out="x")
    assert done.exit_code == 3
    assert "--background background" in done.stderr
    assert "--negative background" in done.stderr


# --- columns --------------------------------------------------------------------------------------


def pointed_out(folder, table, *flags):
    pq.write_table(table, folder / "now.parquet")
    base = ["--label", "seen", "--background", "0", "--width-scale", "1", "--model", "maxent"]
    done = run(folder, "fit", "now.parquet", *base, *flags, "--set", "features=lq", out="x")
    assert done.exit_code == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "coordinates" in line or "codes" in line]
    return [line.rpartition(" [")[0].rpartition(", pass ")[2].rstrip(".") for line in said]


def test_coordinates_and_codes_are_pointed_out_with_what_to_type(folder, rng):
    table = pq.read_table(folder / "pb.parquet")
    assert pointed_out(folder, table) == ["--drop lon --drop lat", "--categories soil"]
    flags = ["--drop", "lon", "--drop", "lat", "--categories", "soil"]
    assert pointed_out(folder, table, *flags) == []
    named = [word for name in ("lon", "lat", "heat") for word in ("--columns", name)]
    assert pointed_out(folder, table, *named) == []  # typed: meant
    plain = table.rename_columns(["x", "y", "heat", "soil", "seen"])
    assert pointed_out(folder, plain)[0] == "--drop x --drop y"
    counts = table.drop_columns(["lon", "lat"]).set_column(
        1, "rainy_days", pa.array(rng.integers(0, 200, len(table)))
    )
    assert pointed_out(folder, counts) == []


def test_other_tables_are_left_in_peace(tmp_path, rng):
    n = 300
    columns = {"x": rng.normal(size=n), "y": rng.normal(size=n), "visits": rng.integers(0, 9, n)}
    fraud = rng.random(n) < np.where(columns["x"] > 0, 0.5, 0.1)
    table = pa.table({**columns, "fraud": fraud.astype(int)})
    pq.write_table(table, tmp_path / "t.parquet")
    done = run(tmp_path, "fit", "t.parquet", "--label", "fraud", "--model", "bayes", out="m")
    assert done.exit_code == 0, done.stderr
    assert "warning" not in done.stderr
