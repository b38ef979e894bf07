"""`scarce report`: one file that says what the library says, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from scarce import (
    CostMatrix,
    MaxentClassifier,
    RareClassifier,
    decide,
    load,
    mean_cost,
    open_rows,
    reliability_curve,
    save,
)
from scarce.cli.evaluation_page import FitPage, _ColumnSums, summarise
from scarce.cli.main import scarce
from scarce.errors import Argument, Phrase, Problem
from scarce.io.text import TextForm
from tests.report.reading import Seen

N = 600


def run(*args: str, **more) -> Result:
    return CliRunner().invoke(scarce, ["report", *args], prog_name="scarce", **more)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, 2))
    y = (rng.random(N) < 1 / (1 + np.exp(1.5 - 2 * X[:, 0]))).astype(int)
    table = pa.table({"amount": np.exp(X[:, 0]), "hour": X[:, 1], "fraud": y})
    pq.write_table(table, folder / "train.parquet")
    rows = open_rows(folder / "train.parquet", label="fraud")
    model = RareClassifier("logistic", ridge=1.0).fit(rows)
    save(model, folder / "m.scarce")
    prob = model.predict_proba(rows)[:, 1]
    text = "\n".join(
        f"{float(a)!r},{float(h)!r},{k}"
        for a, h, k in zip(np.exp(X[:, 0]), X[:, 1], y, strict=True)
    )
    (folder / "test.csv").write_text(f"amount,hour,fraud\n{text}\n")
    written = "\n".join(
        f"{i},{float(a)!r},{float(p)!r},{k}"
        for i, (a, p, k) in enumerate(zip(np.exp(X[:, 0]), prob, y, strict=True))
    )
    (folder / "p.csv").write_text(f"id,amount,prob,fraud\n{written}\n")
    return {"folder": folder, "prob": prob, "y": y, "amount": np.exp(X[:, 0])}


@pytest.fixture
def here(made, monkeypatch, tmp_path) -> Path:
    for name in ("m.scarce", "test.csv", "p.csv"):
        (tmp_path / name).write_bytes((made["folder"] / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def page_of(path: str) -> Seen:
    return Seen(Path(path).read_text(encoding="utf-8"))


def figures(page: Seen) -> dict:
    rows = [
        row
        for section in page.json["sections"]
        for part in section["parts"]
        if part["kind"] == "numbers"
        for row in part["rows"]
    ]
    return {row["name"]: row for row in rows}


def sections(page: Seen) -> list[str]:
    return [section["title"] for section in page.json["sections"]]


def test_the_page_of_a_model_says_what_scikit_learn_says(here, made):
    done = run("m.scarce", "test.csv", "--label", "fraud", "--out", "report.html")
    assert done.exit_code == 0, done.output
    page = page_of("report.html")
    found, y, prob = figures(page), made["y"], made["prob"]
    assert found["Brier score"]["value"]["value"] == pytest.approx(brier_score_loss(y, prob))
    assert found["log loss"]["value"]["value"] == pytest.approx(log_loss(y, prob))
    assert found["AUC"]["value"]["value"] == pytest.approx(roc_auc_score(y, prob))
    constant = np.full(N, y.mean())
    assert found["log loss"]["beside"]["value"] == pytest.approx(log_loss(y, constant))
    assert found["log loss"]["value"]["low"] < found["log loss"]["value"]["value"]
    assert sections(page) == [
        "In short", "The data", "The model", "Honest numbers", "Reliability", "What this leans on",
    ]  # fmt: skip
    assert page.json["asked"] == ("scarce report m.scarce test.csv --label fraud --out report.html")
    assert f"Of {N} rows with a label" in done.stdout
    assert "report.html" in done.stderr


def test_rows_that_the_model_learnt_from_are_said(here, made):
    train = str(made["folder"] / "train.parquet")
    assert run("m.scarce", train, "--label", "fraud", "--out", "a.html").exit_code == 0
    assert "train.parquet" in page_of("a.html").json["warnings"][0]
    run("m.scarce", "test.csv", "--label", "fraud", "--out", "b.html")
    assert not any("train.parquet" in text for text in page_of("b.html").json["warnings"])


def test_the_pictures_hold_every_labelled_row(here, made):
    run("p.csv", "--label", "fraud", "--out", "r.html")
    drawn = [
        part["data"]
        for section in page_of("r.html").json["sections"]
        if section["title"] == "Reliability"
        for part in section["parts"]
        if part["kind"] == "figure"
    ]
    (bins,) = drawn[0]["series"]
    rows = np.array(bins["rows"])
    assert rows.sum() == N
    assert rows @ bins["observed"] == pytest.approx(made["y"].sum(), rel=1e-5)
    assert rows @ bins["predicted"] == pytest.approx(made["prob"].sum(), rel=1e-5)
    curve = reliability_curve(made["y"], made["prob"])
    assert drawn[1]["lines"][1]["y"][-1] == pytest.approx(curve.observed[-1], rel=1e-3)
    counts = drawn[2]["counts"]
    assert sum(counts["was 1"]) == made["y"].sum()
    assert sum(counts["was 0"]) == N - made["y"].sum()


def test_a_file_of_probabilities_gives_the_same_numbers(here):
    run("m.scarce", "test.csv", "--label", "fraud", "--out", "a.html")
    done = run("p.csv", "--prob", "prob", "--label", "fraud", "--out", "b.html")
    assert done.exit_code == 0, done.output
    a, b = figures(page_of("a.html")), figures(page_of("b.html"))
    assert {name: row["value"] for name, row in a.items()} == {
        name: row["value"] for name, row in b.items()
    }
    assert "The model" not in sections(page_of("b.html"))


def test_costs_bring_decisions_and_what_they_save(here, made):
    flags = ["--false-alarm", "1", "--miss", "9", "--abstain", "0.4"]
    done = run("p.csv", "--label", "fraud", *flags, "--seed", "3", "--out", "c.html")
    assert done.exit_code == 0, done.output
    page = page_of("c.html")
    costs = CostMatrix.binary(false_alarm=1, miss=9).with_abstain(0.4)
    own = mean_cost(made["y"], decide(made["prob"], costs), costs, random_state=3)
    told = figures(page)["mean cost per row"]["value"]
    assert (told["value"], told["low"], told["high"]) == pytest.approx(
        (own.value, own.low, own.high)
    )
    bars = [
        part["data"]
        for section in page.json["sections"]
        for part in section["parts"]
        if part["kind"] == "figure" and part["data"].get("x") == "mean cost per row"
    ]
    always = [mean_cost(made["y"], np.full(N, a, object), costs).value for a in costs.actions]
    assert bars[0]["names"] == ["by probability", "always pass", "always act", "always abstain"]
    assert bars[0]["values"][1:] == pytest.approx(always, rel=1e-5)
    assert "Decisions" in sections(page)
    assert "threshold of these costs" in "".join(page.texts)
    (curve,) = [
        part["data"]
        for section in page.json["sections"]
        for part in section["parts"]
        if part["kind"] == "figure" and part["data"].get("y", "").startswith("net benefit")
    ]
    assert curve["threshold"] == pytest.approx(1 / 10)  # pass or act; abstaining is left aside
    assert "pass and act; its threshold" in "".join(page.texts)


def test_costs_by_row(here, made):
    done = run(
        "p.csv", "--label", "fraud", "--false-alarm", "1", "--miss", "amount", "--out", "c.html"
    )
    assert done.exit_code == 0, done.output
    costs = CostMatrix.per_row(false_alarm=1, miss=made["amount"])
    own = mean_cost(made["y"], decide(made["prob"], costs), costs)
    told = figures(page_of("c.html"))["mean cost per row"]["value"]
    assert told["value"] == pytest.approx(own.value)


def test_rows_without_a_label_are_said_first_and_left_aside(here, made):
    lines = Path("p.csv").read_text().splitlines()
    for i in range(1, 201):
        lines[i] = lines[i].rpartition(",")[0] + ","
    Path("partly.csv").write_text("\n".join(lines) + "\n")
    done = run("partly.csv", "--label", "fraud", "--out", "r.html")
    assert done.exit_code == 0, done.output
    page = page_of("r.html")
    assert page.json["warnings"][0].startswith("200 of 600 rows are not labelled.")
    assert "scarce estimate" in page.json["warnings"][0]
    found = figures(page)
    expected = brier_score_loss(made["y"][200:], made["prob"][200:])
    assert found["Brier score"]["value"]["value"] == pytest.approx(expected)
    assert "200 of 600" in done.stderr
    data = next(s for s in page.json["sections"] if s["title"] == "The data")
    labels = next(p for p in data["parts"] if p["kind"] == "table")
    assert [row[:2] for row in labels["rows"]][-2:] == [["not labelled", 200], ["all", 600]]


def test_several_classes(here):
    rng = np.random.default_rng(2)
    prob = rng.dirichlet([1, 2, 3], 300)
    kinds = np.array(["ant", "bee", "cat"])[[rng.choice(3, p=p) for p in prob]]
    names = [f"prob_{k}" for k in ("ant", "bee", "cat")]
    rows = "\n".join(
        ",".join([*(f"{v:.9f}" for v in p), k]) for p, k in zip(prob, kinds, strict=True)
    )
    Path("k.csv").write_text(",".join([*names, "kind"]) + f"\n{rows}\n")
    done = run("k.csv", "--prob", "prob_*", "--label", "kind", "--out", "k.html")
    assert done.exit_code == 0, done.output
    page = page_of("k.html")
    place = np.searchsorted(["ant", "bee", "cat"], kinds)
    assert figures(page)["log loss"]["value"]["value"] == pytest.approx(
        log_loss(place, prob), rel=1e-6
    )
    series = next(
        part["data"]["series"]
        for section in page.json["sections"]
        for part in section["parts"]
        if part["kind"] == "figure" and "series" in part["data"]
    )
    assert [one["name"] for one in series] == ["ant", "bee", "cat"]


def test_events_alone_are_compared_with_the_rest_and_not_judged(here, made):
    seen = made["y"].astype(bool) & (np.arange(N) % 2 == 0)
    rows = "\n".join(
        f"{float(p)!r},{'1' if s else ''}" for p, s in zip(made["prob"], seen, strict=True)
    )
    Path("seen.csv").write_text(f"prob,seen\n{rows}\n")
    costs = ("--false-alarm", "1", "--miss", "9")
    done = run("seen.csv", "--label", "seen", *costs, "--out", "s.html")
    assert done.exit_code == 0, done.output
    page = page_of("s.html")
    assert "nor what decisions cost" in page.json["warnings"][0]
    assert not any("scarce correct" in text for text in page.json["warnings"])
    assert not {"Honest numbers", "Reliability", "Decisions"} & set(sections(page))
    found = figures(page)["AUC, labelled against the rest"]["value"]
    assert found["value"] == pytest.approx(roc_auc_score(seen, made["prob"]))
    assert found["low"] < found["value"] < found["high"]


def told(page: Seen, title: str) -> str:
    (section,) = [one for one in page.json["sections"] if one["title"] == title]
    words = [part.get("text", "") for part in section["parts"]]
    return " ".join([*words, *(w for p in section["parts"] for w in p.get("sentences", []))])


def test_sightings_say_that_their_level_is_assumed_and_how_well_they_are_told_apart(here, made):
    seen = made["y"].astype(bool) & (np.arange(N) % 2 == 0)
    rows = open_rows("test.csv", label="fraud")
    table = pa.table(
        {
            "amount": made["amount"],
            "hour": np.concatenate([block.X[:, 1] for block in rows.blocks()]),
            "seen": [1 if one else None for one in seen],
        }
    )
    pq.write_table(table, "sightings.parquet")
    model = MaxentClassifier().fit(open_rows("sightings.parquet", label="seen"))
    save(model, "w.scarce")
    done = run("w.scarce", "sightings.parquet", "--label", "seen", "--out", "s.html")
    assert done.exit_code == 0, done.output
    page = page_of("s.html")
    level = f"{100 * model.class_prior_[-1]:.3g} % for 1"
    (said,) = [text for text in page.json["warnings"] if "assumed, not estimated" in text]
    assert level in said
    assert "scarce correct w.scarce --now-at SHARE" in said
    assert level in told(page, "What this leans on")
    found = figures(page)["AUC, labelled against the rest"]["value"]
    assert f"AUC, labelled against the rest: {found['value']:.3g} [" in told(page, "In short")
    run("m.scarce", "test.csv", "--label", "fraud", "--out", "m.html")
    assert "assumed, not estimated" not in Path("m.html").read_text()


def test_no_gain_is_not_called_a_gain(here):
    rng = np.random.default_rng(4)
    rows = "\n".join(f"{p!r},{int(i < 60)}" for i, p in enumerate((0.3 + 0.01 * rng.normal(
        size=200)).tolist()))  # fmt: skip
    Path("flat.csv").write_text(f"prob,y\n{rows}\n")
    run("flat.csv", "--label", "y", "--out", "f.html")
    page = page_of("f.html")
    skill = figures(page)["log loss skill"]["value"]
    assert skill["value"] < 0 < skill["high"]
    assert "no skill over the constant forecast" in told(page, "In short")
    assert not any("A gain over" in text for text in page.json["warnings"])


def test_many_columns_without_holes_are_the_first(here, made):
    held = {f"c{i}": np.ones(N) for i in range(100)}
    pq.write_table(pa.table(held | {"prob": made["prob"], "fraud": made["y"]}), "full.parquet")
    run("full.parquet", "--label", "fraud", "--out", "w.html")
    data = told(page_of("w.html"), "The data")
    assert "102 columns, none with a missing value. The first 60 of 102:" in data
    assert "most missing" not in data


def test_many_columns_are_cut_to_those_with_most_holes(here, made):
    held = {f"c{i}": np.where(np.arange(N) < i, np.nan, 1.0) for i in range(100)}
    table = pa.table(held | {"prob": made["prob"], "fraud": made["y"]})
    pq.write_table(table, "wide.parquet")
    assert run("wide.parquet", "--label", "fraud", "--out", "w.html").exit_code == 0
    page = page_of("w.html")
    data = next(s for s in page.json["sections"] if s["title"] == "The data")
    columns = [p for p in data["parts"] if p["kind"] == "table"][1]
    assert len(columns["rows"]) == 60
    assert columns["rows"][0][:3] == ["c99", 99, 0.165]


def test_hostile_names_are_shown_not_obeyed(here, made):
    name = "</script><script>alert(1)</script>"
    rows = "\n".join(
        f"<img src=x>,{float(p)!r},{k}" for p, k in zip(made["prob"], made["y"], strict=True)
    )
    Path("h.csv").write_text(f'"{name}",prob,"<b>"\n{rows}\n')
    done = run("h.csv", "--label", "<b>", "--title", name, "--out", "h.html")
    assert done.exit_code == 0, done.output
    page = page_of("h.html")
    assert not page.names & {"img", "b"}
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert page.json["title"] == name
    assert name in "".join(page.by_tag["h1"])


def test_the_page_is_self_contained_and_small(here):
    run(
        "m.scarce",
        "test.csv",
        "--label",
        "fraud",
        "--false-alarm",
        "1",
        "--miss",
        "9",
        "--out",
        "r.html",
    )
    text = Path("r.html").read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert "http" not in text.replace("http-equiv", "")
    assert str(here) not in text


def test_twice_the_same_bytes(here):
    args = ("m.scarce", "test.csv", "--label", "fraud", "--false-alarm", "1", "--miss", "9")
    run(*args, "--out", "r.html")
    first = Path("r.html").read_bytes()
    Path("r.html").unlink()
    run(*args, "--out", "r.html")
    assert Path("r.html").read_bytes() == first


def test_standard_input(here):
    done = run("-", "--label", "fraud", "--out", "r.html", input=Path("p.csv").read_bytes())
    assert done.exit_code == 0, done.output
    assert "from a pipe" in "".join(page_of("r.html").texts)


def test_json_is_the_page_and_nothing_else_is_on_stdout(here):
    done = run("p.csv", "--label", "fraud", "--out", "r.html", "--json")
    told = json.loads(done.stdout)
    assert told["ok"] is True
    assert told["result"]["report"] == page_of("r.html").json
    assert told["result"]["bytes"] == Path("r.html").stat().st_size
    assert "(the event; --positive settles it)" in done.stderr  # said aloud all the same


def test_a_dry_run_writes_nothing(here):
    done = run("m.scarce", "test.csv", "--label", "fraud", "--out", "r.html", "--dry-run")
    assert done.exit_code == 0
    assert "r.html" in done.stdout
    assert not Path("r.html").exists()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["p.csv", "--label", "fraud"], 2, "--out report.html"),
        (["p.csv", "--label", "fraud", "--out", "-"], 2, "--out report.html"),
        (["p.csv", "--label", "fraud", "--out", "r.csv"], 2, "[unknown-file-type]"),
        (["p.csv", "--out", "r.html"], 2, "--label"),
        (["p.csv", "--label", "frud", "--out", "r.html"], 3, "Did you mean 'fraud'?"),
        (["p.csv", "--label", "fraud", "--prob", "pro", "--out", "r.html"], 3, "'prob'"),
        (["test.csv", "m.scarce", "--label", "fraud", "--out", "r.html"], 2, "[argument-order]"),
        (["p.csv", "--label", "fraud", "--miss", "9", "--out", "r.html"], 2, "--false-alarm"),
        (["p.csv", "--label", "fraud", "--out", "no/r.html"], 2, "[no-folder]"),
        (["none.csv", "--label", "fraud", "--out", "r.html"], 3, "[no-file]"),
    ],
)
def test_what_cannot_work_is_said_in_flags_and_nothing_is_written(here, args, code, words):
    before = sorted(path.name for path in here.iterdir())
    done = run(*args)
    assert (done.exit_code, done.stdout) == (code, "")
    assert words in done.stderr
    assert sorted(path.name for path in here.iterdir()) == before


def test_an_existing_file_is_refused_before_any_work(here):
    Path("r.html").write_text("mine")
    done = run("no-such.csv", "--label", "fraud", "--out", "r.html")
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert Path("r.html").read_text() == "mine"
    assert run("p.csv", "--label", "fraud", "--out", "r.html", "--force").exit_code == 0
    assert Path("r.html").read_text() != "mine"


@pytest.mark.parametrize(
    "rows",
    [
        "0.1,0\n" * 50,
        "0.1,0\n0.1,0\n0.1,1\n" * 30,
        "0,0\n1,1\n" * 30 + "1,0\n",
        "0.1,0\n0.6,1\n0.2,0\n",
        "0,0\n0,1\n" * 20,
        "1e-300,0\n0.5,1\n" * 20,
    ],
    ids=["one class", "constant", "certain and wrong", "three rows", "all zero", "tiny"],
)
@pytest.mark.parametrize("costs", [(), ("--false-alarm", "1", "--miss", "9")])
def test_odd_data_give_a_page_too(here, rows, costs):
    Path("odd.csv").write_text(f"prob,y\n{rows}")
    done = run("odd.csv", "--label", "y", *costs, "--out", "odd.html")
    assert done.exit_code == 0, done.output
    assert page_of("odd.html").json["schema"] == 1


def test_warnings_of_the_library_reach_the_page(here):
    Path("sure.csv").write_text("prob,y\n" + "0,0\n1,1\n" * 30)
    run("sure.csv", "--label", "y", "--false-alarm", "1", "--miss", "9", "--out", "r.html")
    assert any("exactly 0 or 1" in text for text in page_of("r.html").json["warnings"])


def test_probabilities_that_are_off_on_average_say_what_to_type(here, made):
    rows = "\n".join(f"{float(p / 4)!r},{k}" for p, k in zip(made["prob"], made["y"], strict=True))
    Path("low est.csv").write_text(f"my prob,fraud\n{rows}\n")
    run("low est.csv", "--prob", "my prob", "--label", "fraud", "--out", "r.html")
    said = next(t for t in page_of("r.html").json["warnings"] if "scarce correct" in t)
    assert "scarce correct 'low est.csv' --prob 'my prob' --trained-at SHARE --now-at" in said
    run("p.csv", "--label", "fraud", "--out", "q.html")
    assert not any("scarce correct" in text for text in page_of("q.html").json["warnings"])


def test_exchanged_classes_are_suspected(here):
    run("p.csv", "--label", "fraud", "--positive", "0", "--out", "r.html")
    said = page_of("r.html").json["warnings"]
    assert any("are the classes exchanged" in text for text in said)
    assert any("mean probability" in text for text in said)
    assert not any("scarce correct" in text for text in said)  # would not mend it


def test_remarks_of_the_fit_speak_in_flags_and_other_words_are_left_alone(here):
    model = load("m.scarce")
    remark = Problem("{loss} is as good.", code="gain", loss=Argument("loss", "logistic"))
    model.report_ = replace(model.report_, warnings=(remark, "Only 3 events."))
    save(model, "ridge=2.scarce")
    lines = [f"{line}\n" for line in Path("test.csv").read_text().splitlines()]
    Path("t.csv").write_text(
        lines[0]
        + "".join(line for line in lines[1:] if line[-2] == "0")
        + "".join([line for line in lines if line[-2] == "1"][:9])
    )
    done = run("ridge=2.scarce", "t.csv", "--label", "fraud", "--out", "r.html")
    turned = "--loss logistic is as good (flags of `scarce fit`)."
    said = page_of("r.html").json["warnings"]
    assert turned in said
    assert "Only 3 events." in said
    assert f"scarce: warning: {turned.replace('`', '')}\n" in done.stderr
    assert "loss='logistic'" not in done.output + Path("r.html").read_text()
    assert "scarce correct ridge=2.scarce --now-at" in done.stderr
    page = FitPage("May")
    with page.in_words_of_fit():
        page.warn(Problem("Pass {ridge}", code="more-ridge", ridge=Argument("ridge", 2)))
        page.text(Problem("{fit} again.", code="again", fit=Phrase("Fit it", "Run `scarce fit`")))
    page.warn("Of ridge=2.csv")
    (told,) = page.to_dict()["sections"][0]["parts"]
    assert told["text"] == "Run `scarce fit` again."
    assert page.to_dict()["warnings"] == [
        "Pass --ridge 2 (flags of `scarce fit`).",
        "Of ridge=2.csv",
    ]


# --- what is in the columns -----------------------------------------------------------------------


def test_columns_are_summed_up_as_numpy_does():
    rng = np.random.default_rng(0)
    values = 1e6 + rng.normal(size=1000)
    values[::7] = np.nan
    column = _ColumnSums("v")
    for part in np.array_split(values, 7):
        column.add(pa.chunked_array([pa.array(part)]))
    told = column.told()
    assert told["rows"] == 1000
    assert told["missing"] == np.isnan(values).sum()
    assert told["low"] == np.nanmin(values)
    assert told["mean"] == pytest.approx(np.nanmean(values), rel=1e-14)
    assert told["spread"] == pytest.approx(np.nanstd(values), rel=1e-8)


def test_a_column_that_turns_into_words_far_down_is_no_error(here):
    lines = ["prob,y,note,late"]
    lines += [f"0.{i % 9 + 1},{i % 2},7,{'' if i < 80_000 else 'NA'}" for i in range(90_000)]
    lines[-1] = "0.5,1,see file,3"
    Path("late.csv").write_text("\n".join(lines) + "\n")
    done = run("late.csv", "--label", "y", "--out", "r.html")
    assert done.exit_code == 0, done.output
    found = {one["name"]: one for one in summarise(Path("late.csv"), TextForm())}
    assert found["note"]["mean"] is None
    assert found["note"]["missing"] == 0
    assert found["late"]["missing"] == 89_999
    assert found["late"]["mean"] == 3.0
    assert found["y"]["mean"] == 0.5


def test_numbers_of_every_type_are_summed_up():
    kinds = (pa.float16(), pa.float32(), pa.int8(), pa.uint64(), pa.decimal128(5, 2))
    for kind in kinds:
        column = _ColumnSums("v")
        values = np.array([1, 2, 4], np.float16) if kind == pa.float16() else [1, 2, 4]
        column.add(pa.chunked_array([pa.array(values, kind), pa.nulls(1, kind)]))
        told = column.told()
        assert (told["low"], told["high"], told["missing"]) == (1.0, 4.0, 1), kind
        assert told["mean"] == pytest.approx(7 / 3)
    for kind in (pa.bool_(), pa.date32(), pa.dictionary(pa.int8(), pa.string()), pa.null()):
        column = _ColumnSums("v")
        column.add(pa.chunked_array([pa.nulls(2, kind)]))
        assert (column.told()["missing"], column.told()["mean"]) == (2, None)


def test_words_and_empty_columns_have_no_mean(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c;d\n1;x;;2,5\nNA;;;3,5\n-999;y;;\n")
    found = {
        one["name"]: one for one in summarise(path, TextForm(";", decimal=",", missing=("-999",)))
    }
    assert [found[name]["missing"] for name in "abcd"] == [2, 1, 3, 1]
    assert found["a"]["mean"] == 1
    assert found["b"]["mean"] is None
    assert found["c"]["mean"] is None
    assert found["d"]["mean"] == 3.0
