"""`scarce estimate`: the library's figures, whatever the file; and words that can be acted on."""

from __future__ import annotations

import gzip
import json
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

THRESHOLD = 2.5
BASE = ("--score", "score", "--label", "label", "--threshold", "2.5")
FIGURES = ("recall", "precision", "precision_per_recall", "prevalence", "missed")


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
    assert found["counts"]["audited"] == 40
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
    shown = run("scores.csv", *BASE, "--batch", "week").stdout
    (why,) = [line for line in shown.splitlines() if line.startswith("By batch: ")]
    low, high = (f"{pooled['missed'][end]:,.0f}" for end in ("low", "high"))
    assert f"missed {pooled['missed']['value']:,.0f} [{low}, {high}]" in why
    assert "By batch" not in run("scores.csv", *BASE).stdout


def test_a_threshold_for_each_batch(folder: Path, week: Week):
    marks = ("--threshold", "1=2.5", "--threshold", "2=2.6", "--threshold", "3=2.7")
    found = result("scores.csv", *BASE[:4], *marks, "--batch", "week")
    wanted = estimate_performance(
        week.scores, week.labels, threshold={1: 2.5, 2: 2.6, 3: 2.7}, batch=week.week
    )
    assert found["missed"] == wanted.to_dict()["missed"]
    assert found["threshold"] == [2.5, 2.6, 2.7]
    assert "by batch" in run("scores.csv", *BASE[:4], *marks, "--batch", "week").stdout


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
    assert lines[0].startswith(f"Found: {seen} events. {alerts} of 4,000 rows are alerts")
    assert lines[1].startswith("Missed: at most ")
    assert any(line.startswith("This leans on: no row below the threshold") for line in lines)
    assert lines[-3].split()[:3] == ["threshold", "alerts", "found"]
    assert [line.split()[0] for line in lines[-2:]] == ["2.5", "2"]
    assert shown.stderr.count("\n") == 1
    assert "'label'" in shown.stderr
    assert "--positive" in shown.stderr


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
    assert lines[1].startswith(f"Missed: {missed:g} (counted).")
    assert "of the events in these 4,000 rows: every row is labelled, so it is counted." in lines[2]
    assert "(90 %, for further alerts)" in lines[0]
    assert "[" not in lines[-1].split()[-3]  # recall in the table: a count has no interval


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
    assert "(90 %), of the events in these 4,000 rows." in open_rows.stdout
    assert "evaluate" not in open_rows.stdout


def test_counts_of_one_and_of_none(folder: Path, week: Week):
    Path("one.csv").write_text("score,label\n3,1\n2.9,0\n1,1\n0.5,0\n")
    lines = run("one.csv", *BASE).stdout.splitlines()
    assert lines[0].startswith("Found: 1 event. 2 of 4 rows are alerts")
    assert "1 was an event." in lines[1]
    Path("none.csv").write_text("score,label\n3,0\n2.9,0\n1,0\n0.5,0\n")
    shown = run("none.csv", *BASE).stdout
    assert "Missed: 0 (counted)" in shown
    assert "Lowering" not in shown
    assert "at most" not in shown
    Path("open.csv").write_text("score,label\n3,\n2,\n1,\n")
    shown = run("open.csv", *BASE).stdout
    assert "0 of them were looked at: precision " in shown
    assert shown.splitlines()[-1].split()[:4] == ["2.5", "1", "0", "?"]
    Path("high.csv").write_text("score,label\n3,0\n2,\n1,\n")
    shown = run("high.csv", *BASE[:4], "--threshold", "9").stdout
    assert "0 of 3 rows are alerts (score 9 or more): precision " in shown


def test_a_limit_names_what_it_leans_on_when_no_event_was_seen(folder: Path, week: Week):
    checked, others = [f"{3 + at},0" for at in range(20)], [f"{at / 500}," for at in range(999)]
    Path("clean.csv").write_text("\n".join(["score,label", *checked, *others, ""]))
    shown = run("clean.csv", *BASE).stdout
    (leans,) = [line for line in shown.splitlines() if line.startswith("This leans on: ")]
    assert "no row below the threshold was checked at random, so only a limit can be given" in leans
    assert "recall is 0 if there is any event" in leans


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
    assert said.startswith("None of the 20 rows drawn for the audit has a label")
