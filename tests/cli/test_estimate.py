"""`scarce estimate`: the library's figures, whatever the file; and words that can be acted on."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from scarce import choose_labels, estimate_performance
from scarce.cli.main import scarce
from scarce.missed.plan import checks_for_width
from scarce.results import short

THRESHOLD = 2.5
BASE = ("--score", "score", "--label", "label", "--threshold", "2.5")
FIGURES = (
    *("recall", "precision", "precision_further", "precision_per_recall", "prevalence"),
    *("missed", "alerts_per_event"),
)


def run(*args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(scarce, ["estimate", *args], prog_name="scarce", input=stdin)


def result(*args: str, stdin: bytes | None = None) -> dict:
    shown = run(*args, "--json", stdin=stdin)
    assert shown.exit_code == 0, shown.output
    record = json.loads(shown.stdout)
    assert (record["schema"], record["ok"]) == (1, True)
    return record["result"]


class Week:
    """Scores with a known truth; labels above the threshold only."""

    def __init__(self, n: int = 4000, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.truth = (rng.random(n) < 0.03).astype(float)
        self.scores = np.round(rng.normal(size=n) + 2.2 * self.truth, 4)
        self.labels = np.where(self.scores >= THRESHOLD, self.truth, np.nan)
        self.week = rng.integers(1, 4, n)

    def table(self, **more: object) -> pa.Table:
        held = {
            "id": [f"{place:05d}" for place in range(len(self.scores))],
            "score": self.scores,
            "label": pa.array(self.labels, from_pandas=True).cast(pa.int64()),
            "week": self.week,
        }
        return pa.table({**held, **more})

    def estimate(self, **more: object) -> dict:
        asked = {"threshold": THRESHOLD, **more}
        return estimate_performance(self.scores, self.labels, **asked).to_dict()


@pytest.fixture(scope="module")
def week() -> Week:
    return Week()


@pytest.fixture
def folder(tmp_path: Path, week: Week, monkeypatch: pytest.MonkeyPatch) -> Path:
    pacsv.write_csv(week.table(), tmp_path / "scores.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def agree(found: dict, wanted: dict) -> None:
    """Figures of the command line and of the library are the same bits."""
    for name in (*FIGURES, "threshold", "method"):
        assert found[name] == wanted[name], name
    assert found["counts"] == wanted["counts"]


# --- figures --------------------------------------------------------------------------------------


def test_the_figures_are_the_librarys(folder: Path, week: Week):
    found = result("scores.csv", *BASE)
    agree(found, week.estimate())
    assert found["warnings"] == []
    assert (found["file"], found["seed"], found["level"]) == ("scores.csv", 0, 0.9)


@pytest.mark.parametrize("kind", ["parquet", "tsv", "csv.gz", "arrow", "pipe", "arrow pipe"])
def test_every_format_and_pipe_says_the_same(folder: Path, week: Week, kind: str):
    path, stdin, table = folder / f"s.{kind}", None, week.table()
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=700)
    elif kind == "tsv":
        pacsv.write_csv(table, path, pacsv.WriteOptions(delimiter="\t"))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(Path("scores.csv").read_bytes()))
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=900)
    elif kind == "pipe":
        stdin = Path("scores.csv").read_bytes()
    else:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=900)
        stdin = sink.getvalue().to_pybytes()
    agree(result("-" if stdin else str(path), *BASE, stdin=stdin), week.estimate())


def test_a_long_pipe_gives_the_figures_of_the_same_scores_in_memory():
    long = Week(300_000, seed=3)
    sink = pa.BufferOutputStream()
    pacsv.write_csv(long.table().select(["score", "label"]), sink)
    agree(result(*BASE, stdin=sink.getvalue().to_pybytes()), long.estimate())


def test_every_argument_has_its_flag(folder: Path, week: Week):
    found = result(
        *("scores.csv", *BASE, "--level", "0.8", "--auc", "0.93", "--seed", "5"),
        *("--method", "mixture", "--background", "normal", "--no-check"),
    )
    wanted = week.estimate(
        level=0.8, auc=0.93, random_state=5, method="mixture", background="normal", check=False
    )
    agree(found, wanted)
    assert found["recall"] != week.estimate(level=0.8, method="mixture")["recall"]


def test_no_check_reaches_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """It changes no figure, so it is looked for where it arrives."""
    asked = []

    def spy(*args: object, **more: object) -> object:
        asked.append(more["check"])
        return estimate_performance(*args, **more)

    monkeypatch.setattr("scarce.estimate_performance", spy, raising=False)
    result("scores.csv", *BASE)
    result("scores.csv", *BASE, "--no-check")
    assert asked == [True, False]


@pytest.mark.parametrize("batch", [(), ("--batch", "week")])
def test_rows_of_a_list_that_were_chosen_by_rule_are_no_draw(folder, week, batch):
    """A lot among equal scores had a probability; the column `policy` says what it is worth."""
    below = np.flatnonzero(week.scores < THRESHOLD)
    tail = below[np.argsort(-week.scores[below])[:60]]
    labels = week.labels.copy()
    labels[tail] = week.truth[tail]
    chance = np.full(len(labels), np.nan)
    chance[tail] = np.where(np.arange(60) < 50, 1.0, 0.4)
    words = np.full(len(labels), "", dtype=object)
    words[tail] = "tail"
    more = {
        "label": pa.array(labels, from_pandas=True).cast(pa.int64()),
        "inclusion": pa.array(chance, from_pandas=True),
        "policy": pa.array(words),
    }
    pacsv.write_csv(week.table(**more), folder / "list.csv")
    found = result("list.csv", *BASE, "--inclusion", "inclusion", *batch)
    plain = {"batch": week.week.astype(str)} if batch else {}
    certain = np.where(np.isnan(chance), np.nan, 1.0)
    wanted = estimate_performance(
        week.scores, labels, threshold=THRESHOLD, inclusion=certain, **plain
    ).to_dict()
    for name in ("recall", "missed"):
        assert found[name] == wanted[name]


def test_columns_that_say_how_labels_came(folder: Path, week: Week):
    choice = choose_labels(
        week.scores, week.labels, policy="audit", n=80, threshold=THRESHOLD, random_state=1
    )
    labels = week.labels.copy()
    labels[choice.rows] = week.truth[choice.rows]
    heard = np.flatnonzero((week.truth == 1) & (week.scores < 1) & np.isnan(labels))[:3]
    labels[heard] = 1.0
    chance = choice.inclusion(len(labels))
    source = np.where(week.scores >= THRESHOLD, "alert", None)
    source[choice.rows] = choice.policy
    source[heard] = "complaint"
    at_time = np.where(np.arange(len(labels)) % 2, 2.5, 2.6)
    table = week.table(
        label=pa.array(labels, from_pandas=True),
        chance=pa.array(chance, from_pandas=True),
        source=pa.array(source),
        then=at_time,
    )
    pacsv.write_csv(table, "full.csv")
    flags = ("--inclusion", "chance", "--label-source", "source", "--threshold-at", "then")
    found = result("full.csv", *BASE, *flags)
    wanted = estimate_performance(
        week.scores,
        labels,
        threshold=THRESHOLD,
        inclusion=chance,
        label_source=source,
        threshold_at_time=at_time,
    ).to_dict()
    agree(found, wanted)
    assert found["counts"]["audited"] == 80
    assert found["counts"]["from_outside"] >= 3
    assert any("--label-source" in text or "label_source" in text for text in found["warnings"])
    piped = result("-", *BASE, *flags, stdin=Path("full.csv").read_bytes())
    agree(piped, wanted)
    in_batches = result("full.csv", *BASE, *flags, "--batch", "week")
    assert in_batches["counts"] == wanted["counts"]


def test_other_thresholds_and_batches(folder: Path, week: Week):
    found = result("scores.csv", *BASE, "--also", "2", "--also", "3", "--batch", "week")
    wanted = estimate_performance(week.scores, week.labels, threshold=2.5, batch=week.week)
    agree(found, wanted.to_dict())
    for shown, mark in zip(found["also"], (2.0, 3.0), strict=True):
        agree(shown, wanted.at(mark).to_dict())
    assert list(found["batches"]) == ["1", "2", "3"]
    for name, one in wanted.batches.items():
        agree(found["batches"][str(name)], one.to_dict())


def test_a_total_of_batches_stands_beside_that_of_all_rows_as_one(folder: Path, week: Week):
    found = result("scores.csv", *BASE, "--batch", "week")
    pooled = week.estimate()
    assert found["as_one_batch"] == {name: pooled[name] for name in ("missed", "recall")}
    assert found["missed"] != pooled["missed"]
    shared = result("scores.csv", *BASE, "--batch", "week", "--share-shape")
    wanted = week.estimate(batch=week.week, share_shape=True)
    agree(shared, wanted)
    assert shared["missed"] != found["missed"]


def test_a_threshold_for_each_batch(folder: Path, week: Week):
    marks = ("--threshold", "1=2.5", "--threshold", "2=2.6", "--threshold", "3=2.7")
    found = result("scores.csv", *BASE[:4], *marks, "--batch", "week")
    wanted = estimate_performance(
        week.scores, week.labels, threshold={1: 2.5, 2: 2.6, 3: 2.7}, batch=week.week
    )
    assert found["missed"] == wanted.to_dict()["missed"]
    assert found["threshold"] == [2.5, 2.6, 2.7]
    shown = run("scores.csv", *BASE[:4], *marks, "--batch", "week").stdout
    assert "(by the threshold of their batch)" in shown
    assert [line.split()[:2] for line in shown.splitlines()[-3:]] == [
        ["1", "2.5"], ["2", "2.6"], ["3", "2.7"],
    ]  # fmt: skip


# --- labels ---------------------------------------------------------------------------------------


def test_labels_in_words_and_codes(folder: Path, week: Week):
    words = [None if x != x else "fraud" if x else "fine" for x in week.labels]
    codes = np.nan_to_num(week.labels, nan=-1)
    pacsv.write_csv(week.table(word=pa.array(words), code=codes.astype(int)), "w.csv")
    flags = ("--score", "score", "--threshold", "2.5")
    wanted = week.estimate()
    agree(result("w.csv", *flags, "--label", "word", "--positive", "fraud"), wanted)
    agree(result("w.csv", *flags, "--label", "code", "--unlabelled", "-1"), wanted)
    shown = run("w.csv", *flags, "--label", "word", "--positive", "fraud")
    assert shown.stderr.startswith("Label 'word': fraud is ")
    shown = run("w.csv", *flags, "--label", "word")
    assert shown.exit_code == 3
    assert "--positive" in shown.stderr
    shown = run("w.csv", *flags, "--label", "code")
    assert (shown.exit_code, "--unlabelled -1" in shown.stderr) == (3, True)
    shown = run("w.csv", *flags, "--label", "week")
    assert shown.exit_code == 3
    assert "[two-classes-needed]" in shown.stderr


def test_no_label_at_all_says_what_to_do_first(folder: Path, week: Week):
    pacsv.write_csv(week.table(label=pa.nulls(len(week.scores))), "bare.csv")
    shown = run("bare.csv", *BASE)
    assert shown.exit_code == 0
    assert "[open-alerts]" in shown.stderr  # words go there, figures to stdout
    assert "warning" not in shown.stdout
    assert "--policy tail" in shown.stdout


# --- words ----------------------------------------------------------------------------------------


def test_the_reader_in_a_hurry(folder: Path, week: Week):
    shown = run("scores.csv", *BASE, "--also", "2")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    alerts, seen = int((week.scores >= 2.5).sum()), int(np.nansum(week.labels))
    assert lines[0].startswith("Recall: a guess of ")
    assert lines[1].startswith("Missed events: a guess of ")
    assert lines[0].endswith(", no interval.")
    assert lines[2].startswith("No row below the threshold was drawn at random")
    counted = f"Alerts: {alerts} of 4,000 rows (score 2.5 or more), all of them labelled"
    assert any(line.startswith(f"{counted}, {seen} events seen.") for line in lines)
    assert lines[-3].split()[:3] == ["threshold", "alerts", "found"]
    assert [line.split()[0] for line in lines[-2:]] == ["2.5", "2"]
    assert shown.stderr.count("\n") == 1
    assert "'label'" in shown.stderr
    assert "--positive" in shown.stderr


def test_a_guess_says_how_it_moves_and_what_would_settle_it(folder: Path, week: Week):
    found = result("scores.csv", *BASE)
    library = estimate_performance(week.scores, week.labels, threshold=2.5)
    assert found["what_if"] == [one.to_dict() for one in library.what_if()]
    assert found["checks_for_width"] == checks_for_width(library, width=0.2)
    shown = run("scores.csv", *BASE).stdout
    for one in library.what_if():
        assert re.search(rf"  {short(one.recall.value)} +if {one.what}\n", shown)
    assert f"About {found['checks_for_width']:,.0f} checks" in shown
    assert "between" not in shown.split("The guess")[0]  # no interval of what nobody checked


@pytest.fixture
def checked(folder: Path, week: Week) -> tuple:
    """A completed list, todo.csv, and what the library makes of it."""
    choice = choose_labels(week.scores, week.labels, n=120, threshold=THRESHOLD, random_state=3)
    labels = week.labels.copy()
    labels[choice.rows] = week.truth[choice.rows]
    rows = zip(choice.rows, labels[choice.rows], choice.probability, strict=True)
    cells = [f"{row},{label:.0f},{float(chance)!r}" for row, label, chance in rows]
    Path("todo.csv").write_text("\n".join(["row,label,inclusion", *cells, ""]))
    return labels, choice


def test_checks_say_the_interval_and_what_it_is_with_less_taken_for_granted(
    folder: Path, week: Week, checked: tuple
):
    labels, choice = checked
    library = estimate_performance(week.scores, labels, threshold=2.5, inclusion=choice)
    lines = run("scores.csv", *BASE, "--audit", "todo.csv").stdout.splitlines()
    recall, missed = library.recall, library.missed
    assert lines[0] == (
        f"Recall: about {short(recall.value)}, between {short(recall.low)} and "
        f"{short(recall.high)} (90 %, random checks)."
    )
    assert lines[1] == (  # whole events: low rounded down, high rounded up
        f"Missed events: about {round(missed.value):,}, between {np.floor(missed.low):,.0f} and "
        f"{np.ceil(missed.high):,.0f}."
    )
    free, wrong = library.what_if()
    for one in (free, wrong):
        ends = f"between {short(one.recall.low)} and {short(one.recall.high)}."
        assert f"If {one.what}, recall lies {ends}" in lines
    (precise,) = [line for line in lines if line.startswith("Precision of these alerts: ")]
    assert "; of further alerts like them: " in precise
    assert not [line for line in lines if line.startswith("threshold ")]  # each number once


@pytest.mark.parametrize(
    ("flags", "given"),
    [
        (("--assume", "nothing"), {"assume": "nothing"}),
        (("--label-error", "0.1,0.01"), {"label_error": (0.1, 0.01)}),
        (("--method", "audit"), {"method": "audit"}),
    ],
)
@pytest.mark.parametrize("batch", [(), ("--batch", "week")])
def test_what_intervals_take_for_granted(
    folder: Path, week: Week, checked: tuple, flags: tuple, given: dict, batch: tuple
):
    labels, choice = checked
    more = {"batch": week.week, **given} if batch else given
    inclusion = choice.inclusion(len(labels))
    wanted = estimate_performance(
        week.scores, labels, threshold=2.5, inclusion=inclusion, **more
    ).to_dict()
    found = result("scores.csv", *BASE, "--audit", "todo.csv", *flags, *batch)
    agree(found, wanted)
    plain = result("scores.csv", *BASE, "--audit", "todo.csv", *batch)
    assert found["missed"] != plain["missed"]


@pytest.mark.parametrize("words", [False, True])
def test_a_second_reader(folder: Path, week: Week, checked: tuple, words: bool):
    labels, choice = checked
    second = np.full(len(labels), np.nan)
    alerts = np.flatnonzero(week.scores >= THRESHOLD)
    second[alerts] = week.truth[alerts]
    second[alerts[:3]] = 1 - second[alerts[:3]]
    both = {"label": week.labels, "reader": second}
    spelt = {1.0: "bad", 0.0: "fine"} if words else {1.0: 1, 0.0: 0}
    cells = {name: pa.array([spelt.get(one) for one in held]) for name, held in both.items()}
    pacsv.write_csv(week.table(**cells), "two.csv")
    flags = ("--positive", "bad", "--negative", "fine") if words else ()
    if words:
        text = Path("todo.csv").read_text()
        for code, word in (("0", "fine"), ("1", "bad")):
            text = re.sub(rf"^(\d+),{code},", rf"\1,{word},", text, flags=re.MULTILINE)
        Path("todo.csv").write_text(text)
    found = result("two.csv", *BASE, *flags, "--audit", "todo.csv", "--second-label", "reader")
    wanted = estimate_performance(
        week.scores, labels, threshold=2.5, inclusion=choice, second_labels=second
    )
    agree(found, wanted.to_dict())
    alone = estimate_performance(week.scores, labels, threshold=2.5, inclusion=choice)
    assert wanted.recall.width > alone.recall.width


def test_a_warning_stands_once_and_carries_its_batch(folder: Path, week: Week):
    labels = np.where(week.scores >= THRESHOLD, week.truth, np.nan)
    deep = np.flatnonzero((week.scores < 0) & (week.truth == 0))
    for name, rows in ((1, 1), (2, 2)):  # scattered labels in two of three weeks
        labels[deep[week.week[deep] == name][:rows]] = 0.0
    labels[(week.week == 3) & (week.scores >= THRESHOLD)] = 0.0
    pacsv.write_csv(week.table(label=pa.array(labels, from_pandas=True)), "odd.csv")
    warnings = result("odd.csv", *BASE, "--batch", "week")["warnings"]
    (scattered,) = [text for text in warnings if "scattered" in text]
    assert scattered.startswith("Batch 1: 1 label is scattered")
    assert scattered.endswith("The same holds of batch 2.")


def test_a_setting_for_lists_is_no_fault_without_one(folder: Path, week: Week):
    wanted = result("scores.csv", *BASE)
    Path("scarce.toml").write_text('[scarce]\nid = "id"\n')
    agree(result("scores.csv", *BASE), wanted)
    shown = run("scores.csv", *BASE, "--id", "id")
    assert (shown.exit_code, "[unused-argument]" in shown.stderr) == (2, True)


def test_the_next_command_runs(folder: Path):
    shown = run("scores.csv", *BASE)
    (command,) = [line[6:] for line in shown.stdout.splitlines() if line.startswith("Next: ")]
    assert (
        command == f"scarce label scores.csv {' '.join(BASE)} --policy audit --n 100 --out todo.csv"
    )
    done = CliRunner().invoke(scarce, shlex.split(command)[1:], prog_name="scarce")
    assert done.exit_code == 0, done.output
    assert len(Path("todo.csv").read_text().splitlines()) == 101
    again = run("scores.csv", *BASE)
    assert "--out todo-2.csv" in again.stdout


def test_open_alerts_are_what_to_label_next(folder: Path, week: Week):
    labels = week.labels.copy()
    alerts = np.flatnonzero(week.scores >= 2.5)
    labels[alerts[:7]] = np.nan
    pacsv.write_csv(week.table(label=pa.array(labels, from_pandas=True)), "open.csv")
    shown = run("open.csv", *BASE)
    assert f"warning: 7 of {len(alerts)} alerts have no label" in shown.stderr
    assert "--policy tail --n 7 --out todo.csv" in shown.stdout


def test_every_row_labelled_speaks_of_these_rows_alone(folder: Path, week: Week):
    pacsv.write_csv(week.table(label=week.truth), "all.csv")
    found = result("all.csv", *BASE)
    assert found["next"] is None  # these scores are no probabilities, which evaluate needs
    missed = week.truth[week.scores < 2.5].sum()
    assert found["missed"]["value"] == missed
    lines = run("all.csv", *BASE).stdout.splitlines()
    assert lines[0].startswith("Recall: 0.")
    assert lines[0].endswith(" (counted).")
    assert lines[1] == f"Missed events: {missed:g} (counted)."
    assert "Every row is labelled" in lines[2]
    assert not any("If " in line for line in lines)


def test_probabilities_that_are_all_labelled_lead_to_evaluate(folder: Path, week: Week):
    prob = np.round(1 / (1 + np.exp(-week.scores)), 4)
    table = week.table(score=prob, label=week.truth)
    pacsv.write_csv(table.rename_columns(["id", "risk score", "label", "week"]), "all.csv")
    args = ("--score", "risk score", "--label", "label", "--threshold", "0.9", "--level", "0.95")
    shown = run("all.csv", *args)
    (command,) = [line[6:] for line in shown.stdout.splitlines() if line.startswith("Next: ")]
    typed = shlex.split(command)[1:]
    assert typed[:2] == ["evaluate", "all.csv"]
    judged = CliRunner().invoke(scarce, [*typed, "--json"], prog_name="scarce")
    assert judged.exit_code == 0, judged.output
    further = json.loads(judged.stdout)["result"]["at_threshold"]["recall"]
    counted = result("all.csv", *args)["recall"]
    assert further["value"] == pytest.approx(counted["value"], abs=1e-12)
    assert further["low"] < counted["low"] == counted["high"] < further["high"]
    open_rows = run("scores.csv", *BASE)
    assert "evaluate" not in open_rows.stdout


def test_counts_of_one_and_of_none(folder: Path, week: Week):
    Path("one.csv").write_text("score,label\n3,1\n2.9,0\n1,1\n0.5,0\n")
    lines = run("one.csv", *BASE).stdout.splitlines()
    assert "Alerts: 2 of 4 rows (score 2.5 or more), all of them labelled, 1 event seen." in lines
    assert "Missed events: 1 (counted)." in lines
    Path("none.csv").write_text("score,label\n3,0\n2.9,0\n1,0\n0.5,0\n")
    shown = run("none.csv", *BASE).stdout
    assert "Missed events: 0 (counted)" in shown
    assert "Lowering" not in shown
    assert "at most" not in shown
    Path("open.csv").write_text("score,label\n3,\n2,\n1,\n")
    shown = run("open.csv", *BASE).stdout
    assert "Alerts: 1 of 3 rows (score 2.5 or more), 0 of them labelled" in shown
    assert "Precision: unknown" in shown
    Path("high.csv").write_text("score,label\n3,0\n2,\n1,\n")
    shown = run("high.csv", *BASE[:4], "--threshold", "9").stdout
    assert "Alerts: 0 of 3 rows (score 9 or more), 0 events seen." in shown
    assert "Precision" not in shown


def test_no_event_seen_says_why_nothing_is_known(folder: Path, week: Week):
    checked, others = [f"{3 + at},0" for at in range(20)], [f"{at / 500}," for at in range(999)]
    Path("clean.csv").write_text("\n".join(["score,label", *checked, *others, ""]))
    shown = run("clean.csv", *BASE).stdout
    assert "Recall: no event was seen: recall is 0 if there is any event" in shown
    assert "Missed events: no guess, no interval." in shown
    assert "o row below the threshold was drawn at random" in shown
    assert "checks, drawn at random" not in shown


def test_a_dry_run_reads_columns_only(folder: Path):
    found = result("scores.csv", *BASE, "--batch", "week", "--dry-run")
    assert found["columns"] == ["score", "label", "week"]
    assert (found["dry_run"], found["writes"]) == (True, "nothing")
    assert "all rows" in found["memory"]
    assert sorted(path.name for path in folder.iterdir()) == ["scores.csv"]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--score", "scor", *BASE[2:]), 3, "Did you mean 'score'?"),
        (("--score", "score", "--label", "labl", *BASE[4:]), 3, "[unknown-column]"),
        (("--score", "score", *BASE[4:]), 2, "[no-label-column]"),
        ((*BASE[:4], "--threshold", "high"), 2, "[threshold-value]"),
        ((*BASE, "--threshold", "3"), 2, "[several-thresholds]"),
        ((*BASE[:4], "--threshold", "1=2.5"), 2, "[threshold-per-batch]"),
        ((*BASE[:4], "--threshold", "1=2.5", "--batch", "week"), 2, "[threshold-per-batch]"),
        ((*BASE, "--id", "id"), 2, "[unused-argument]"),
        ((*BASE, "--inclusion", "score"), 2, "[same-column]"),
        ((*BASE, "--audit", "a.csv", "--inclusion", "week"), 2, "[argument-conflict]"),
        ((*BASE, "--audit", "a.csv"), 3, "[no-file]"),
        ((*BASE, "--auc", "1.5"), 2, "[auc-range]"),
        ((*BASE, "--label-error", "0.1"), 2, "0.05,0.01"),
        ((*BASE, "--label-error", "0.7,0.1"), 2, "[number-range]"),
        ((*BASE, "--share-shape"), 2, "[unused-argument]"),
        ((*BASE, "--group", "wek"), 3, "Did you mean 'week'?"),
        ((*BASE, "--second", "score"), 2, "[same-column]"),
        ((*BASE, "--inclusion", "week"), 3, "[inclusion-range]"),
    ],
)
def test_what_cannot_work_is_said_in_flags(
    folder: Path, args: tuple[str, ...], code: int, words: str
):
    shown = run("scores.csv", *args)
    assert (shown.exit_code, shown.stdout) == (code, "")
    assert words in shown.stderr


def test_rows_without_a_batch_or_a_score(folder: Path, week: Week):
    text = Path("scores.csv").read_text().splitlines()
    cells = text[5].split(",")
    Path("a.csv").write_text("\n".join([*text[:5], ",".join([*cells[:3], ""]), *text[6:]]))
    shown = run("a.csv", *BASE, "--batch", "week")
    assert (shown.exit_code, "[missing-batch]" in shown.stderr) == (3, True)


# --- cells that are no numbers, and columns that hold none ----------------------------------------


def spoiled(week: Week, line: int, cell: str, *, path: str = "bad.csv", column: int = 1) -> Path:
    """scores.csv with another cell in one line, the header being line 1."""
    text = Path("scores.csv").read_text().splitlines()
    cells = text[line - 1].split(",")
    cells[column] = cell
    text[line - 1] = ",".join(cells)
    Path(path).write_text("\n".join(text) + "\n")
    return Path(path)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("n.a.", ["'n.a.' is not a number", "--missing n.a. ", "[not-a-number]"]),
        ('"2,5"', ["'2,5' is not a number", "--decimal , ", "[not-a-number]"]),
        ("score", ["'score' is not a number", "second header", "[not-a-number]"]),
        ("", ["the score is missing", "[missing-score]"]),
        ("inf", ["the score is inf", "[missing-score]"]),
    ],
)
def test_a_cell_that_is_no_score_is_named_with_its_line(
    folder: Path, week: Week, cell: str, words: list[str]
):
    path = spoiled(week, 6, cell)
    shown = run(str(path), *BASE)
    assert (shown.exit_code, shown.stdout) == (3, "")
    assert f"bad.csv, line 6, column 'score': {words[0]}" in shown.stderr
    assert all(one in shown.stderr for one in words)
    piped = run(*BASE, stdin=path.read_bytes())
    assert piped.exit_code == 3
    assert "standard input, column 'score'" in piped.stderr
    assert all(one in piped.stderr for one in words)


@pytest.mark.parametrize(("score_at", "other_at", "named"), [(6, 9, "score"), (9, 6, "week")])
def test_of_two_bad_cells_the_first_is_named(
    folder: Path, week: Week, score_at: int, other_at: int, named: str
):
    spoiled(week, score_at, "x", path="scores.csv")
    spoiled(week, other_at, "y", path="scores.csv", column=3)
    shown = run("scores.csv", *BASE, "--inclusion", "week")
    assert f"line 6, column '{named}': " in shown.stderr
    assert "[not-a-number]" in shown.stderr


def test_the_line_counts_what_the_reader_of_rows_skips(folder: Path, week: Week):
    """Cells over two lines and empty lines: the line is that of an editor."""
    text = Path("scores.csv").read_text().splitlines()
    text[2] = text[2].replace('"00001"', '"00\n001"')
    assert "\n" in text[2]
    text[4] += "\n"
    text[9] = text[9].replace(text[9].split(",")[1], "high")
    Path("bad.csv").write_text("\n".join(text))
    editor = Path("bad.csv").read_text().split("\n")
    (line,) = [number for number, held in enumerate(editor, 1) if "high" in held]
    assert line == 12
    assert "line 12, column 'score': 'high'" in run("bad.csv", *BASE).stderr
    Path("bad.csv.gz").write_bytes(gzip.compress(Path("bad.csv").read_bytes()))
    assert "line 12, column 'score': 'high'" in run("bad.csv.gz", *BASE).stderr
    latin = ("--encoding", "latin-1")  # under which compressed bytes would pass for text
    assert "line 12, column 'score': 'high'" in run("bad.csv.gz", *BASE, *latin).stderr


def test_words_far_down_a_column_of_numbers(folder: Path, week: Week):
    """Beyond what is looked at to guess types: the first half of the labels is empty."""
    n = 120_000
    labels = pa.array([None] * (n - 300) + ["bad", "good", "good"] * 100)
    weeks = pa.array(["1"] * (n - 1) + ["W2"])
    scores = np.r_[np.zeros(n - 300), np.linspace(2.6, 3.0, 300)]
    held = {"id": np.arange(n), "score": scores, "label": labels, "week": weeks}
    pacsv.write_csv(pa.table(held), "late.csv", pacsv.WriteOptions(quoting_style="none"))
    shown = run("late.csv", *BASE)
    assert shown.exit_code == 3
    assert f"late.csv, line {n - 300 + 2:,}, column 'label': 'bad'" in shown.stderr
    assert "--positive; if it means not labelled, pass --unlabelled bad" in shown.stderr
    assert run("late.csv", *BASE, "--positive", "bad").exit_code == 0
    shown = run("late.csv", *BASE, "--positive", "bad", "--batch", "week")
    assert f"late.csv, line {n + 1:,}, column 'week': 'W2' is not a number" in shown.stderr


def test_words_where_scores_should_be(folder: Path, week: Week):
    pacsv.write_csv(week.table(word=pa.array(["low"] * len(week.scores))), "c.csv")
    shown = run("c.csv", "--score", "word", *BASE[2:])
    assert shown.exit_code == 3
    assert "line 2, column 'word': 'low' " in shown.stderr


@pytest.mark.parametrize("flag", ["--score", "--label", "--batch", "--inclusion"])
def test_columns_of_lists_and_records_are_refused(folder: Path, week: Week, flag: str):
    nested = pa.array([{"a": 1, "b": 2}] * len(week.scores))
    pq.write_table(week.table(nested=nested), "n.parquet")
    flags = dict(zip(BASE[::2], BASE[1::2], strict=True)) | {flag: "nested"}
    shown = run("n.parquet", *(word for pair in flags.items() for word in pair))
    assert (shown.exit_code, shown.stdout) == (3, "")
    assert "[nested-column]" in (shown.stderr)
    assert f"{flag} needs one." in shown.stderr


def test_help_imports_nothing_heavy():
    code = (
        "import sys, scarce.cli.estimate, scarce.cli.label\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'numba', 'rich'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr


# --- true and false -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("words", [("false", "true"), ("FALSE", "TRUE"), ("0", "1")])
@pytest.mark.parametrize("by", [(), ("--id", "id")])
def test_true_and_false_come_back_from_a_list(tmp_path, monkeypatch, week, kind, words, by):
    monkeypatch.chdir(tmp_path)
    held = week.table(label=pa.array(week.labels, from_pandas=True).cast(pa.bool_()))
    (pacsv.write_csv if kind == "csv" else pq.write_table)(held, f"scores.{kind}")
    drawn = choose_labels(week.scores, week.labels, policy="audit", n=40, threshold=THRESHOLD)
    lines = [
        f"{row},{row:05d},{week.scores[row]},{words[int(week.truth[row])]},{chance}"
        for row, chance in zip(drawn.rows.tolist(), drawn.probability.tolist(), strict=True)
    ]
    Path("todo.csv").write_text("row,id,score,label,inclusion\n" + "\n".join(lines) + "\n")
    labels = week.labels.copy()
    labels[drawn.rows] = week.truth[drawn.rows]
    wanted = estimate_performance(
        week.scores, labels, threshold=THRESHOLD, inclusion=drawn.inclusion(len(labels))
    )
    agree(result(f"scores.{kind}", *BASE, "--audit", "todo.csv", *by), wanted.to_dict())
    Path("todo.csv").write_text(Path("todo.csv").read_text().replace(f",{words[0]},", ",perhaps,"))
    shown = run(f"scores.{kind}", *BASE, "--audit", "todo.csv", *by)
    assert shown.exit_code == 3
    assert "[other-labels]" in shown.stderr
    assert shown.stderr.count("'perhaps'") == 1


def test_a_position_that_no_table_has_is_refused(folder: Path):
    Path("todo.csv").write_text("row,score,label,inclusion\n1.4e152,1,0,0.5\n")
    shown = run("scores.csv", *BASE, "--audit", "todo.csv")
    assert shown.exit_code == 3
    assert "[row-number]" in shown.stderr


def test_three_signs_are_read_in_one_of_two_ways(folder: Path, week: Week):
    signs = np.where(np.isnan(week.labels), 0, 2 * week.labels - 1).astype(int)
    pacsv.write_csv(week.table(label=signs), "signs.csv")
    shown = run("signs.csv", *BASE)
    assert shown.exit_code == 3
    assert "--classes" not in shown.stderr
    asked = "--positive 1 --negative -1 --unlabelled 0"
    assert asked in shown.stderr
    assert "--positive 1 --negative 0 --unlabelled -1" in shown.stderr
    assert (
        result("signs.csv", *BASE, *asked.split())["recall"]
        == result("scores.csv", *BASE)["recall"]
    )


def test_families_belong_to_the_mixture_and_are_known(folder: Path):
    shown = run("scores.csv", *BASE, "--background", "gamma")
    assert shown.exit_code == 2
    assert "[unused-argument]" in shown.stderr
    shown = run("scores.csv", *BASE, "--method", "mixture", "--background", "gama")
    assert shown.exit_code == 2
    assert "[unknown-word]" in shown.stderr


def test_an_audit_without_any_answer_says_nothing_of_others(folder: Path, week: Week):
    labels, chance = week.labels.copy(), np.full(len(week.labels), np.nan)
    choice = choose_labels(
        week.scores, labels, policy="audit", n=40, threshold=THRESHOLD, random_state=0
    )
    chance[choice.rows] = choice.probability
    band = choice.rows[choice.probability == 1]
    labels[band] = week.truth[band]
    held = week.table(
        label=pa.array(labels, from_pandas=True), chance=pa.array(chance, from_pandas=True)
    )
    pacsv.write_csv(held, "open.csv")
    (said,) = result("open.csv", *BASE, "--inclusion", "chance")["warnings"]
    assert said.startswith("None of the 40 rows drawn for the audit has a label")
