"""`scarce evaluate --by` and `scarce report --by`: the figures of the library, on a page too."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from scarce import (
    GaussianBayes,
    evaluate,
    evaluate_by,
    open_rows,
    save,
    share_of_missing,
    usual_delay,
)
from scarce.cli.main import scarce
from scarce.cli.options import PERIODS
from scarce.evaluation import periods

START = np.datetime64("2026-01-01")


def run(*args: object) -> Result:
    return CliRunner().invoke(scarce, list(map(str, args)), prog_name="scarce")


def result(*args: object) -> dict:
    done = run(*args, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["result"]


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(4)
    n = 1500
    day = np.sort(rng.integers(0, 180, n))
    prob = rng.beta(1, 12, n).round(6)
    country = np.array(["at", "be", "cz"])[rng.choice(3, n, p=[0.5, 0.3, 0.2])]
    truth = prob * np.where(country == "cz", 3, 1) * np.where(day > 110, 1.5, 1)
    event = rng.random(n) < truth
    came = START + day + np.minimum(rng.exponential(10, n), 40).astype(int)
    seen = event & (came <= START + 180)
    return {
        "prob": prob,
        "fraud": seen.astype(int),
        "country": country,
        "date": START + day,
        "known_on": np.where(seen, came, np.datetime64("NaT")),
    }


@pytest.fixture(scope="module")
def file(columns, tmp_path_factory):
    path = tmp_path_factory.mktemp("by") / "p.csv"
    pacsv.write_csv(pa.table(columns), path)
    return path


def test_periods_of_the_command_line_are_those_of_the_library():
    assert PERIODS == periods.PERIODS


def test_segments_are_those_of_the_library(file, columns):
    found = result("evaluate", file, "--label", "fraud", "--by", "country", "--threshold", 0.2)
    own = evaluate_by(columns["fraud"], columns["prob"], columns["country"], threshold=0.2)
    assert found["by"] == json.loads(own.to_json())
    assert found["rows"] == 1500


@pytest.mark.parametrize(
    "flags",
    [
        ("--by", "date", "--period", "month"),
        ("--by", "month", "--date", "date"),
        ("--period", "month", "--date", "date"),
    ],
)
def test_periods_are_those_of_the_library_however_they_are_typed(file, columns, flags):
    found = result("evaluate", file, "--label", "fraud", *flags)["by"]
    own = evaluate_by(columns["fraud"], columns["prob"], columns["date"], period="month")
    assert found == json.loads(own.to_json())


def test_late_labels_are_left_out_of_all_figures(file, columns):
    flags = ("--by", "week", "--date", "date", "--label-delay", 40, "--as-of", "2026-06-30")
    found = result("evaluate", file, "--label", "fraud", *flags)
    old = columns["date"] + 40 <= np.datetime64("2026-06-30")
    alone = evaluate(columns["fraud"][old], columns["prob"][old])
    assert found["figures"]["log_loss"] == alone.log_loss.to_dict()
    assert found["rows"] == old.sum()
    assert sum(one["waiting"] for one in found["by"]["segments"]) == (~old).sum()
    assert found["by"]["label_delay"] == 40
    assert any("calibrated" in one for one in found["assumes"])
    whole = result("evaluate", file, "--label", "fraud", *flags[2:])  # without --by
    assert whole["figures"] == found["figures"]
    assert any("not yet known" in one for one in whole["remarks"])


def test_delay_is_estimated_from_the_dates_of_labels(file, columns):
    flags = ("--by", "country", "--date", "date", "--label-date", "known_on")
    found = result("evaluate", file, "--label", "fraud", *flags)["by"]
    event = columns["fraud"] == 1
    own = usual_delay(
        columns["date"][event], columns["known_on"][event], as_of=columns["date"].max()
    )
    assert found["label_delay"] == np.ceil(own.high)


def test_blank_names_are_missing_and_dates_of_parquet_are_dates(columns, tmp_path):
    table = dict(columns)
    table["country"] = np.where(table["country"] == "cz", "NA", table["country"])
    path, parquet = tmp_path / "p.csv", tmp_path / "p.parquet"
    pacsv.write_csv(pa.table(table), path)
    pq.write_table(pa.table(table), parquet)
    names = [
        [one["name"] for one in found["by"]["segments"]]
        for found in (
            result("evaluate", path, "--label", "fraud", "--by", "country"),
            result("evaluate", parquet, "--label", "fraud", "--by", "country"),
        )
    ]
    assert names[0] == ["at", "be", "(missing)"]
    months = result("evaluate", parquet, "--label", "fraud", "--by", "month", "--date", "date")
    assert [one["name"] for one in months["by"]["segments"]][:2] == ["2026-01", "2026-02"]


def test_rows_without_a_label_are_left_out_unless_a_segment_has_none(columns, tmp_path):
    label = columns["fraud"].astype(object)
    label[(columns["country"] == "be")] = None
    label[np.flatnonzero(columns["country"] == "at")[:20]] = None
    path = tmp_path / "p.csv"
    pacsv.write_csv(pa.table({**columns, "fraud": pa.array(label.tolist(), pa.int64())}), path)
    found = result("evaluate", path, "--label", "fraud", "--by", "country")["by"]["segments"]
    assert [one["name"] for one in found] == ["at", "be", "cz"]
    assert found[0]["rows"] == found[0]["labelled"] == (columns["country"] == "at").sum() - 20
    assert found[1]["labelled"] == 0
    assert found[1]["expected"]["events"]["value"] == pytest.approx(
        columns["prob"][columns["country"] == "be"].sum()
    )


def test_terminal_table_fits_a_hundred_columns(file):
    done = run("evaluate", file, "--label", "fraud", "--by", "month", "--date", "date",
               "--label-delay", 40)  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 110
    assert sum(line.startswith("  2026-") for line in lines) == 6


@pytest.mark.parametrize(
    ("flags", "code", "word"),
    [
        (("--period", "month"), 2, "argument-missing"),
        (("--by", "country", "--label-delay", 3), 2, "argument-missing"),
        (("--by", "country", "--as-of", "2026-01-01"), 2, "argument-missing"),
        (("--date", "date", "--as-of", "2026-01-01"), 2, "argument-missing"),
        (
            ("--date", "date", "--label-delay", 3, "--label-date", "known_on"),
            2,
            "argument-conflict",
        ),
        (("--by", "date"), 2, "argument-missing"),
        (("--by", "week"), 3, "unknown-column"),
        (("--by", "country", "--period", "week"), 3, "not-a-date"),
        (("--by", "month", "--date", "date", "--label-delay", 3, "--as-of", "x"), 3, "not-a-date"),
        (("--by", "prob"), 3, "too-many-segments"),
    ],
)
def test_flags_that_cannot_work_are_refused(file, flags, code, word):
    done = run("evaluate", file, "--label", "fraud", *flags)
    assert done.exit_code == code, done.output
    assert f"[{word}]" in done.stderr


def test_dry_run_looks_for_the_columns(file):
    assert run("evaluate", file, "--label", "fraud", "--by", "country", "--dry-run").exit_code == 0
    done = run("evaluate", file, "--label", "fraud", "--by", "county", "--dry-run")
    assert done.exit_code == 3
    assert "country" in done.stderr


def test_report_draws_segments_and_periods_with_the_same_numbers(file, columns, tmp_path):
    out = tmp_path / "r.html"
    told = result("report", file, "--label", "fraud", "--by", "country", "--out", out)["report"]
    part = next(one for one in told["sections"] if one["title"] == "By segment")["parts"]
    own = evaluate_by(columns["fraud"], columns["prob"], columns["country"])
    drawn = part[0]["data"]
    assert drawn["names"] == ["at", "be", "cz"]
    assert drawn["values"] == pytest.approx([one.happened.value for one in own.segments], rel=1e-4)
    assert drawn["marked"] == {"2": "more events"}
    flags = ("--by", "month", "--date", "date", "--label-delay", 40)
    again = tmp_path / "t.html"
    told = result("report", file, "--label", "fraud", *flags, "--out", again)["report"]
    part = next(one for one in told["sections"] if one["title"] == "Over time")["parts"]
    names = [line["name"] for line in part[0]["data"]["lines"]]
    assert names == ["observed", "mean predicted", "expected, labels still to come"]
    assert part[0]["data"]["names"][0] == "2026-01"
    assert any("calibrated" in one for one in told["warnings"] + [str(told["sections"])])


def test_report_on_scores_has_no_segments(file, tmp_path):
    done = run("report", file, "--score", "prob", "--label", "fraud", "--threshold", 0.2,
               "--by", "country", "--out", tmp_path / "x.html")  # fmt: skip
    assert done.exit_code == 2
    assert "[argument-conflict]" in done.stderr


def test_missing_values_of_a_model_s_columns_have_a_table_of_their_own(tmp_path, rng):
    X = rng.normal(size=(900, 4))
    y = (rng.random(900) < 1 / (1 + np.exp(1.5 - X[:, 0]))).astype(int)
    X[rng.random(X.shape) < 0.15] = np.nan
    table = pa.table({name: pa.array(X[:, j], from_pandas=True) for j, name in enumerate("abcd")})
    table = table.append_column("fraud", pa.array(y))
    pq.write_table(table, tmp_path / "test.parquet")
    model = GaussianBayes().fit(open_rows(table.slice(0, 400), label="fraud"))
    save(model, tmp_path / "m.scarce")
    prob = model.predict_proba(open_rows(table.drop_columns(["fraud"])))[:, 1]
    expected = evaluate_by(y, prob, share_of_missing(X, y))
    words = ("evaluate", tmp_path / "m.scarce", tmp_path / "test.parquet", "--label", "fraud")
    found = result(*words)["by_missing"]["segments"]
    assert [one["name"] for one in found] == [one.name for one in expected.segments]
    assert [one["z"] for one in found] == pytest.approx([one.z for one in expected.segments])
    assert "By share of missing values" in run(*words).stdout
    page = tmp_path / "r.html"
    told = result("report", *words[1:], "--out", page)["report"]
    assert "By share of missing values" in [part["title"] for part in told["sections"]]
    complete = table.filter(pa.array(~np.isnan(X).any(axis=1)))
    pq.write_table(complete, tmp_path / "test.parquet")
    assert "by_missing" not in result(*words)
