"""`scarce label`: the library's choice, written as it came; and the way back of its answers."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from scarce import (
    CostMatrix,
    choose_labels,
    combine_audits,
    estimate_performance,
    plan_audit,
)
from scarce.cli.main import scarce
from scarce.missed.frames import frame_of_text
from scarce.missed.lists import CheckedRow, combine_lists
from tests.cli.test_estimate import BASE, THRESHOLD, Week, agree

UNSURE = ("--policy", "uncertainty", "--n", "5", "--label", "label")
ADDED = ("inclusion", "policy", "frame")
COSTS = 'false_alarm = 5\nmiss = "0.8 * amount"\n'


def run(verb: str, *args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(scarce, [verb, *args], prog_name="scarce", input=stdin)


def good(verb: str, *args: str, stdin: bytes | None = None) -> Result:
    shown = run(verb, *args, stdin=stdin)
    assert shown.exit_code == 0, shown.output
    return shown


def estimated(*args: str, stdin: bytes | None = None) -> dict:
    return json.loads(good("estimate", *args, "--json", stdin=stdin).stdout)["result"]


def lines(path: str) -> list[dict[str, str]]:
    with Path(path).open() as file:
        return list(csv.DictReader(file))


def fill(path: str, out: str, week: Week, *, first: int | None = None, key: str = "id") -> None:
    """What a person does: look at the rows from the top down, and write down what is true."""
    rows = lines(path)
    for row in rows[:first]:
        row["label"] = str(int(week.truth[int(row[key])]))
    with Path(out).open("w") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def week() -> Week:
    return Week()


@pytest.fixture
def folder(tmp_path: Path, week: Week, monkeypatch: pytest.MonkeyPatch) -> Path:
    pacsv.write_csv(week.table(), tmp_path / "scores.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- the list -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "more", "asked"),
    [
        ("audit", (), {}),
        ("audit", ("--band", "0.5"), {"band": 0.5}),
        ("audit", ("--strata", "4"), {"strata": 4}),
        ("pps", (), {}),
        ("pps", ("--band", "0.5"), {"band": 0.5}),
        ("tail", (), {}),
        ("random", (), {}),
        ("stratified", ("--strata", "4"), {"strata": 4}),
        ("stratified", ("--allocation", "proportional"), {"allocation": "proportional"}),
        ("adaptive", (), {}),
    ],
)
def test_the_choice_is_the_librarys(
    folder: Path, week: Week, policy: str, more: tuple[str, ...], asked: dict
):
    good("label", "scores.csv", *BASE, "--policy", policy, "--n", "40", "--seed", "3", *more,
         "--out", "todo.csv")  # fmt: skip
    wanted = choose_labels(
        week.scores,
        week.labels,
        policy=policy,
        n=40,
        threshold=THRESHOLD,
        random_state=3,
        **asked,
    )
    found = lines("todo.csv")
    assert list(found[0]) == ["row", "id", "score", "label", "week", *ADDED]
    assert [int(row["row"]) for row in found] == wanted.rows.tolist()
    assert [float(row["inclusion"]) for row in found] == wanted.probability.tolist()
    assert [row["policy"] for row in found] == wanted.policy.tolist()
    assert {frame_of_text(row["frame"])._replace(date="") for row in found} == {
        frame_of_text(text) for text in wanted.frame.tolist()
    }
    assert all(re.search(r"; drawn \d{4}-\d\d-\d\d; ", row["frame"]) for row in found)
    assert {row["label"] for row in found} == {""}
    written = lines("scores.csv")
    for row in found:  # as written: 00017 keeps its zeros
        for name in ("id", "score", "week"):
            assert row[name] == written[int(row["row"])][name]


def test_rows_by_their_own_name_and_on_stdout(folder: Path, week: Week):
    args = ("scores.csv", *BASE, "--n", "10", "--id", "id")
    shown = good("label", *args)
    rows = list(csv.DictReader(shown.stdout.splitlines()))
    assert list(rows[0]) == ["id", "score", "label", "week", *ADDED]
    assert "Fill in column 'label'" in shown.stderr
    piped = good("label", "-", *args[1:], stdin=Path("scores.csv").read_bytes())
    assert piped.stdout == shown.stdout
    good("label", *args, "--out", "todo.parquet")
    held = pq.read_table("todo.parquet")
    assert held.column("id").to_pylist() == [row["id"] for row in rows]


@pytest.mark.parametrize("bare", [False, True])
def test_an_even_draw_needs_no_scores(folder: Path, week: Week, bare: bool):
    """Without scores, and even without labels: the rows are those that any scores would give."""
    path, flags, labels = "scores.csv", ("--label", "label"), week.labels
    if bare:
        pacsv.write_csv(week.table().select(["id", "week"]), "bare.csv")
        path, flags, labels = "bare.csv", (), None
    args = (*flags, "--policy", "random", "--n", "30", "--seed", "2")
    shown = good("label", path, *args, "--out", "todo.csv")
    wanted = choose_labels(np.arange(4000.0), labels, policy="random", n=30, random_state=2)
    assert [int(row["row"]) for row in lines("todo.csv")] == wanted.rows.tolist()
    assert "--score COLUMN" in shown.stderr
    piped = good("label", "-", *args, stdin=Path(path).read_bytes())
    assert piped.stdout.splitlines() == Path("todo.csv").read_text().splitlines()
    fill("todo.csv", "todo.csv", week, key="row")
    good("label", path, *args, "--audit", "todo.csv", "--out", "more.csv")
    assert not {r["row"] for r in lines("todo.csv")} & {r["row"] for r in lines("more.csv")}
    shown = run("label", path, *args, "--threshold", "2.5")
    assert (shown.exit_code, "--score" in shown.stderr) == (2, True)


def test_the_way_back_names_the_column_of_probabilities(folder: Path, week: Week):
    prob = np.round(1 / (1 + np.exp(-week.scores)), 4)
    pacsv.write_csv(week.table(score=prob).rename_columns(["id", "prob", "label", "week"]), "p.csv")
    args = ("p.csv", "--prob", "prob", "--label", "label", "--threshold", "0.95", "--n", "9")
    shown = good("label", *args, "--out", "todo.csv")
    (command,) = [line[6:] for line in shown.stderr.splitlines() if line.startswith("Then: ")]
    good(*shlex.split(command)[1:])


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ((), {}),
        (("--by", "margin"), {"by": "margin"}),
        (("--explore", "0.3"), {"explore": 0.3}),
        (("--by", "cost", "--costs", "costs.toml"), {"by": "cost"}),
    ],
)
def test_uncertainty_by_probabilities(folder: Path, more: tuple[str, ...], asked: dict):
    rng = np.random.default_rng(2)
    prob = rng.random(300)
    table = pa.table({"amount": rng.exponential(50.0, 300), "prob": prob})
    pacsv.write_csv(table, "p.csv")
    Path("costs.toml").write_text(COSTS)
    if "by" in asked and asked["by"] == "cost":
        asked = {**asked, "costs": CostMatrix.read("costs.toml").bind(table)}
    args = ("p.csv", "--prob", "prob", "--policy", "uncertainty", "--n", "12")
    shown = good("label", *args, *more, "--out", "unsure.csv")
    wanted = choose_labels(prob, policy="uncertainty", n=12, random_state=0, **asked)
    assert [int(row["row"]) for row in lines("unsure.csv")] == wanted.rows.tolist()
    assert list(lines("unsure.csv")[0]) == ["row", "amount", "prob", "label", *ADDED]
    by_lot = "each stands for 1 / 'inclusion' rows" in shown.stderr
    assert by_lot == ("--explore" in more)


def test_uncertainty_of_several_classes(folder: Path):
    prob = np.random.default_rng(2).dirichlet([1, 1, 1], 200)
    kinds = np.where(np.arange(200) % 3 == 0, "deer", None)
    names = {f"p_{name}": prob[:, at] for at, name in enumerate("abc")}
    table = pa.table({**names, "kind": pa.array(kinds)})
    pacsv.write_csv(table, "p.csv")
    wanted = choose_labels(prob, kinds.tolist(), policy="uncertainty", n=9, random_state=0)
    for named in (("--prob", "p_a", "--prob", "p_b", "--prob", "p_c"), ("--prob", "p_*")):
        args = (*named, "--policy", "uncertainty", "--n", "9", "--out", "u.csv", "--force")
        good("label", "p.csv", *args, "--label", "kind", "--positive", "deer")
        assert [int(row["row"]) for row in lines("u.csv")] == wanted.rows.tolist()


# --- and back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_id", [False, True])
@pytest.mark.parametrize("kind", ["csv", "arrow", "pipe"])
def test_a_list_that_was_filled_in_gives_the_librarys_figures(
    folder: Path, week: Week, by_id: bool, kind: str
):
    """label, fill in, estimate: the command that `label` says is the one that works."""
    path = "scores.csv"
    if kind == "arrow":  # in several parts
        path, table = "scores.arrow", week.table()
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=900)
    more = ("--id", "id") if by_id else ()
    shown = good("label", path, *BASE, *more, "--n", "80", "--out", "todo.csv")
    fill("todo.csv", "todo.csv", week, key="id" if by_id else "row")
    choice = choose_labels(
        week.scores, week.labels, policy="audit", n=80, threshold=THRESHOLD, random_state=0
    )
    labels = week.labels.copy()
    labels[choice.rows] = week.truth[choice.rows]
    wanted = estimate_performance(
        week.scores, labels, threshold=THRESHOLD, inclusion=choice.inclusion(len(labels))
    ).to_dict()
    (command,) = [line[6:] for line in shown.stderr.splitlines() if line.startswith("Then: ")]
    typed = shlex.split(command)[2:]
    if kind == "pipe":
        agree(estimated("-", *typed[1:], stdin=Path(path).read_bytes()), wanted)
    else:
        agree(estimated(*typed), wanted)
    assert wanted["counts"]["audited"] == 80


def test_words_go_the_same_way(folder: Path, week: Week):
    words = [None if x != x else "fraud" if x else "fine" for x in week.labels]
    pacsv.write_csv(week.table(label=pa.array(words)), "words.csv")
    flags = (*BASE, "--positive", "fraud", "--id", "id")
    shown = good("label", "words.csv", *flags, "--n", "60", "--out", "todo.csv")
    assert "with fraud (an event) or fine (none)" in shown.stderr
    rows = lines("todo.csv")
    for row in rows:
        row["label"] = "fraud" if week.truth[int(row["id"])] else "fine"
    with Path("todo.csv").open("w") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    good("label", "scores.csv", *BASE, "--n", "60", "--out", "codes.csv")
    fill("codes.csv", "codes.csv", week)
    wanted = estimated("scores.csv", *BASE, "--audit", "codes.csv")
    agree(estimated("words.csv", *flags, "--audit", "todo.csv"), wanted)


def test_a_spreadsheet_of_another_country(folder: Path, week: Week):
    """Semicolons and decimal commas; the list comes back as a spreadsheet saved it."""
    rows = lines("scores.csv")
    for row in rows:
        row["score"] = row["score"].replace(".", ",")
    with Path("land.csv").open("w", encoding="latin-1") as file:
        writer = csv.DictWriter(file, ["ort", *rows[0]], delimiter=";")
        writer.writeheader()
        writer.writerows({"ort": "Köln", **row} for row in rows)
    flags = (*BASE, "--delimiter", ";", "--decimal", ",", "--encoding", "latin-1")
    shown = good("label", "land.csv", *flags, "--n", "60", "--out", "todo.csv")
    good("label", "scores.csv", *BASE, "--n", "60", "--out", "plain.csv")
    fill("plain.csv", "plain.csv", week)
    wanted = estimated("scores.csv", *BASE, "--audit", "plain.csv")
    (command,) = [line[6:] for line in shown.stderr.splitlines() if line.startswith("Then: ")]
    typed = shlex.split(command)[2:]
    with Path("todo.csv").open(encoding=written_as("todo.csv")) as file:  # as the table is written
        held = list(csv.DictReader(file, delimiter=";"))
    assert held[0]["ort"] == "Köln"
    for row in held:
        row["label"] = str(int(week.truth[int(row["row"])]))
    for mark, decimal, encoding in ((";", ",", "latin-1"), (",", ".", "utf-8")):
        for row in held:
            for name in ("score", "inclusion"):
                row[name] = row[name].replace(",", ".").replace(".", decimal)
        with Path("todo.csv").open("w", encoding=encoding) as file:
            writer = csv.DictWriter(file, list(held[0]), delimiter=mark)
            writer.writeheader()
            writer.writerows(held)
        agree(estimated(*typed), wanted)
    rows = lines("plain.csv")
    for row in rows:
        row.update({name: row[name].replace(".", ",") for name in ("score", "inclusion")})
    with Path("plain.csv").open("w", encoding="latin-1") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    agree(estimated("scores.csv", *BASE, "--audit", "plain.csv"), wanted)
    good("label", "-", *flags, "--n", "60", "-o", "piped.csv", stdin=Path("land.csv").read_bytes())
    with Path("piped.csv").open(encoding=written_as("piped.csv")) as file:
        piped = list(csv.DictReader(file, delimiter=";"))
    assert [row["row"] for row in piped] == [row["row"] for row in held]


def written_as(path: str) -> str:
    try:
        Path(path).read_bytes().decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def test_a_code_for_not_labelled_is_left_empty(folder: Path, week: Week):
    codes = np.nan_to_num(week.labels, nan=-1).astype(int)
    pacsv.write_csv(week.table(label=codes), "codes.csv")
    good("label", "codes.csv", *BASE, "--unlabelled", "-1", "--n", "20", "--out", "todo.csv")
    assert {row["label"] for row in lines("todo.csv")} == {""}
    fill("todo.csv", "todo.csv", week)
    found = estimated("codes.csv", *BASE, "--unlabelled", "-1", "--audit", "todo.csv")
    assert found["counts"]["audited"] == 20


def test_a_list_without_any_label_before(folder: Path, week: Week):
    bare = week.table().drop_columns(["label"])
    pacsv.write_csv(bare, "bare.csv")
    alerts = int((week.scores >= THRESHOLD).sum())
    flags = ("--score", "score", "--threshold", "2.5")
    good("label", "bare.csv", *flags, "--policy", "tail", "--n", str(alerts), "--out", "top.csv")
    fill("top.csv", "top.csv", week)
    agree(estimated("bare.csv", *flags, "--audit", "top.csv"), week.estimate())


def test_a_list_that_nobody_has_touched(folder: Path, week: Week):
    good("label", "scores.csv", *BASE, "--n", "80", "--out", "todo.csv")
    found = estimated("scores.csv", *BASE, "--audit", "todo.csv")
    agree(found, week.estimate())
    assert found["next"] is None
    assert len(found["warnings"]) == 1
    assert "todo.csv" in found["warnings"][0]
    assert (
        "[audit-unlabelled]" in good("estimate", "scores.csv", *BASE, "--audit", "todo.csv").stderr
    )


def test_work_that_stops_early(folder: Path, week: Week):
    """Rows without an answer are taken to be like the others of their stratum."""
    good("label", "scores.csv", *BASE, "--n", "80", "--out", "todo.csv")
    fill("todo.csv", "todo.csv", week, first=60)
    choice = choose_labels(week.scores, week.labels, n=80, threshold=THRESHOLD, random_state=0)
    answers = np.where(np.arange(80) < 60, week.truth[choice.rows], np.nan)
    both = combine_audits([(choice, answers)], week.scores, week.labels)
    wanted = estimate_performance(
        week.scores, both.labels, threshold=THRESHOLD, inclusion=both
    ).to_dict()
    found = estimated("scores.csv", *BASE, "--audit", "todo.csv")
    agree(found, wanted)
    assert len(found["warnings"]) == 1
    assert found["warnings"][0].startswith("20 of 80 rows that todo.csv drew at random have no")
    assert "choose_labels" not in found["warnings"][0]


def test_a_list_with_gaps_is_not_taken_for_labels_from_elsewhere(folder: Path, week: Week):
    good("label", "scores.csv", *BASE, "--n", "80", "--band", "0.5", "--out", "todo.csv")
    fill("todo.csv", "todo.csv", week)
    rows = lines("todo.csv")
    for row in rows[::2]:
        row["label"] = ""
    write("todo.csv", rows)
    found = estimated("scores.csv", *BASE, "--audit", "todo.csv")
    assert [text[:8] for text in found["warnings"]] == ["20 of 40", "20 of 40"]
    assert found["warnings"][0].startswith("20 of 40 rows that todo.csv drew at random have no")
    table = lines("scores.csv")
    (deep,) = [row for row in table if row["id"] == "00011"]
    deep["label"] = "0"  # of which no list knows
    write("scores.csv", table)
    found = estimated("scores.csv", *BASE, "--audit", "todo.csv")
    assert any("scattered" in text for text in found["warnings"])


def test_other_words_in_a_list_are_named_with_the_list(folder: Path, week: Week):
    words = [None if x != x else "fraud" if x else "fine" for x in week.labels]
    pacsv.write_csv(week.table(label=pa.array(words)), "words.csv")
    flags = ("words.csv", *BASE, "--positive", "fraud", "--id", "id")
    good("label", *flags, "--n", "20", "--out", "todo.csv")
    rows = lines("todo.csv")
    for place, row in enumerate(rows):
        row["label"] = "yes" if place == 3 else "no"
    write("todo.csv", rows)
    more = ("--audit", "todo.csv")
    for args in (("estimate", *flags, *more), ("estimate", *flags, *more, "--batch", "week"),
                 ("label", *flags, *more, "--n", "5")):  # fmt: skip
        shown = run(*args)
        assert (shown.exit_code, shown.stdout) == (3, "")
        assert "todo.csv holds the labels 'no' and 'yes', " in shown.stderr


def combined(week: Week, *paths: str) -> dict:
    """What the library makes of the same lists."""
    lists = [
        {
            int(row["row"]): CheckedRow(
                float(row["label"]) if row["label"] else None,
                float(row["inclusion"]),
                float(row["score"]),
                path,
                row["policy"],
                row["frame"],
            )
            for row in lines(path)
        }
        for path in paths
    ]
    labels, chance = week.labels.copy(), np.full(len(week.labels), np.nan)
    for row, checked in combine_lists(lists)[0].items():
        chance[row] = checked.probability
        labels[row] = labels[row] if checked.label is None else checked.label
    return estimate_performance(
        week.scores, labels, threshold=THRESHOLD, inclusion=chance
    ).to_dict()


def test_a_second_list_goes_on_below_the_first(folder: Path, week: Week):
    good("label", "scores.csv", *BASE, "--n", "60", "--seed", "4", "--out", "one.csv")
    fill("one.csv", "one.csv", week)
    shown = good("label", "scores.csv", *BASE, "--audit", "one.csv", "--n", "50", "-o", "two.csv")
    assert "--audit one.csv --audit two.csv" in shown.stderr
    first = {row["row"] for row in lines("one.csv")}
    assert not first & {row["row"] for row in lines("two.csv")}
    fill("two.csv", "two.csv", week)
    found = estimated("scores.csv", *BASE, "--audit", "one.csv", "--audit", "two.csv")
    agree(found, combined(week, "one.csv", "two.csv"))
    assert found["counts"]["audited"] == 110
    assert found["warnings"] == []
    alone = estimated("scores.csv", *BASE, "--audit", "one.csv")
    assert found["recall"]["high"] - found["recall"]["low"] < (
        alone["recall"]["high"] - alone["recall"]["low"]
    )
    plan = json.loads(
        good("label", "scores.csv", *BASE, "--audit", "one.csv", "--plan", "--n", "40",
             "--repeats", "2", "--json").stdout
    )["result"]  # fmt: skip
    labels, chance = week.labels.copy(), np.full(len(week.labels), np.nan)
    for row in lines("one.csv"):
        labels[int(row["row"])] = week.truth[int(row["row"])]
        chance[int(row["row"])] = float(row["inclusion"])
    wanted_plan = plan_audit(
        week.scores, labels, threshold=2.5, n=40, inclusion=chance, repeats=2
    ).to_dict()
    assert (plan["n"], plan["width"]) == ([0, 40], wanted_plan["width"])  # 0: the list at hand
    assert plan["width"][0] < 0.9


def test_a_second_list_that_is_not_finished(folder: Path, week: Week):
    good("label", "scores.csv", *BASE, "--n", "60", "--out", "one.csv")
    fill("one.csv", "one.csv", week)
    good("label", "scores.csv", *BASE, "--audit", "one.csv", "--n", "50", "-o", "two.csv")
    untouched = estimated("scores.csv", *BASE, "--audit", "one.csv", "--audit", "two.csv")
    assert untouched["counts"]["audited"] == 60  # the first list still counts
    assert untouched["next"] is None
    assert "None of the 50 rows that two.csv drew" in untouched["warnings"][0]
    fill("two.csv", "two.csv", week, first=45)
    found = estimated("scores.csv", *BASE, "--audit", "one.csv", "--audit", "two.csv")
    assert "5 of 50 rows that two.csv drew" in found["warnings"][0]
    assert len(found["warnings"]) == 1
    assert found["counts"]["labelled_below"] == 60 + 45
    agree(found, combined(week, "one.csv", "two.csv"))


def test_the_truth_lies_in_the_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The whole loop, in worlds with known truth: 90 % intervals hold at least that often."""
    monkeypatch.chdir(tmp_path)
    held = 0
    for seed in range(12):
        week = Week(3000, seed=100 + seed)
        pacsv.write_csv(week.table(), f"s{seed}.csv")
        good("label", f"s{seed}.csv", *BASE, "--n", "60", "--seed", str(seed), "-o", f"t{seed}.csv")
        fill(f"t{seed}.csv", f"t{seed}.csv", week)
        found = estimated(f"s{seed}.csv", *BASE, "--audit", f"t{seed}.csv")
        truth = week.truth[week.scores < THRESHOLD].sum()
        held += found["missed"]["low"] <= truth <= found["missed"]["high"]
    assert held >= 11


# --- lists that do not fit ------------------------------------------------------------------------


def filled(week: Week, *more: str) -> list[dict[str, str]]:
    good("label", "scores.csv", *BASE, *more, "--n", "20", "--out", "todo.csv", "--force")
    fill("todo.csv", "todo.csv", week)
    return lines("todo.csv")


def write(path: str, rows: list[dict[str, str]]) -> None:
    with Path(path).open("w") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def refused(*args: str) -> str:
    shown = run("estimate", "scores.csv", *BASE, *args)
    assert (shown.exit_code, shown.stdout) == (3, "")
    return " ".join(shown.stderr.split())


def test_rows_that_moved(folder: Path, week: Week):
    filled(week)
    rows = lines("scores.csv")
    write("scores.csv", rows[1:] + rows[:1])
    said = refused("--audit", "todo.csv")
    assert "[scores-changed]" in said
    assert "--id" in said
    rows = filled(week, "--id", "id")
    assert estimated("scores.csv", *BASE, "--audit", "todo.csv", "--id", "id")["counts"]["audited"]
    write("scores.csv", lines("scores.csv")[:50])
    said = refused("--audit", "todo.csv", "--id", "id")
    assert "[rows-not-found]" in said
    assert "[rows-not-found]" in said
    for row in rows:
        row["id"] = str(int(row["id"]))
    write("todo.csv", rows)
    said = refused("--audit", "todo.csv", "--id", "id")
    assert "such as 00001: " in said


def test_rows_that_stand_twice(folder: Path, week: Week):
    rows = filled(week, "--id", "id")
    write("todo.csv", [*rows, rows[3]])
    assert f" {rows[3]['id']} " in refused("--audit", "todo.csv", "--id", "id")
    write("todo.csv", rows)
    table = lines("scores.csv")
    write("scores.csv", [*table, table[int(rows[0]["id"])]])
    said = refused("--audit", "todo.csv", "--id", "id")
    assert f"{rows[0]['id']!r} is in 2 " in said
    assert "[duplicate-ids]" in said
    table[7]["id"] = rows[0]["id"]  # another row, with another score, under the same name
    write("scores.csv", table)
    said = refused("--audit", "todo.csv", "--id", "id")
    assert f"{rows[0]['id']!r} is in 2 " in said
    assert "[duplicate-ids]" in said
    table = lines("scores.csv")
    table[7]["id"] = "new"
    table[int(rows[0]["id"])]["score"] = "-9"  # one row, and its score is another
    write("scores.csv", table)
    said = refused("--audit", "todo.csv", "--id", "id")
    assert "[scores-changed]" in said


def test_names_that_rows_share_are_no_names(folder: Path, week: Week):
    rows = filled(week, "--id", "id")
    args = ("scores.csv", *BASE, "--n", "20", "--id", "id")
    table = lines("scores.csv")
    table[7]["id"] = table[8]["id"]  # deep below: nobody asks about them
    write("scores.csv", table)
    shown = good("label", *args, "--out", "fine.csv")
    assert "[duplicate-ids]" in shown.stderr
    assert lines("fine.csv")[0]["id"] == rows[0]["id"]
    for held, words in (
        (rows[0]["id"], "[duplicate-ids]"),
        ("", "[missing-id]"),
    ):
        table = lines("scores.csv")
        table[7]["id"] = held
        if not held:
            table[int(rows[0]["id"])]["id"] = ""
        write("dup.csv", table)
        for source, stdin in (("dup.csv", None), ("-", Path("dup.csv").read_bytes())):
            shown = run("label", source, *args[1:], "--out", "no.csv", stdin=stdin)
            words = words.replace("scores.csv", "dup.csv" if stdin is None else "standard input")
            assert shown.exit_code == 3
            assert words in " ".join(shown.stderr.split())
            assert "or leave --id out" in shown.stderr
            words = words.replace("dup.csv", "standard input")
    assert not Path("no.csv").exists()


def test_labels_that_contradict_each_other(folder: Path, week: Week):
    rows = filled(week)
    other = [dict(row) for row in rows]
    other[2]["label"] = str(1 - int(rows[2]["label"]))
    write("other.csv", other)
    assert "[same-list]" in refused("--audit", "todo.csv", "--audit", "other.csv")
    for row in other:
        row["inclusion"] = str(float(row["inclusion"]) / 2)
    write("other.csv", other)
    assert "[labels-disagree]" in refused("--audit", "todo.csv", "--audit", "other.csv")
    table = lines("scores.csv")
    table[int(rows[2]["row"])]["label"] = other[2]["label"]
    write("scores.csv", table)
    assert "[labels-disagree]" in refused("--audit", "todo.csv")
    table[int(rows[2]["row"])]["label"] = rows[2]["label"]  # the same in both is no contradiction
    write("scores.csv", table)
    assert estimated("scores.csv", *BASE, "--audit", "todo.csv")["counts"]["audited"] == 20


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("inclusion", "2", "[inclusion-range]"),
        ("inclusion", "", "[inclusion-range]"),
        ("row", "1.5", "[row-number]"),
        ("row", "999999", "[rows-not-found]"),
        ("label", "maybe", "[other-labels]"),
    ],
)
def test_lists_that_were_damaged(folder: Path, week: Week, column: str, value: str, words: str):
    rows = filled(week)
    rows[2][column] = value
    write("todo.csv", rows)
    assert words in refused("--audit", "todo.csv")


def test_a_list_needs_its_columns(folder: Path, week: Week):
    assert "[unknown-column]" in refused("--audit", "scores.csv")
    rows = filled(week, "--id", "id")
    write("todo.csv", [{k: v for k, v in row.items() if k != "inclusion"} for row in rows])
    said = refused("--audit", "todo.csv", "--id", "id")
    assert "[unknown-column]" in said
    assert "[unknown-column]" in said
    for name, other in (("id", "ID"), ("label", "Label")):
        write("todo.csv", [{other if k == name else k: v for k, v in r.items()} for r in rows])
        said = refused("--audit", "todo.csv", "--id", "id")
        assert f"Rename {other!r} to {name!r} in the list." in said
        assert "Name it with" not in said


# --- what spreadsheets and people do to a list ----------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "words"),
    [
        ("{:.2E}", "digits are lost"),
        ("{:05d} ", "[rows-not-found]"),
        ("'{:05d}", "[rows-not-found]"),
        ("{:05d}.0", "[rows-not-found]"),
        ("{}.0", "leading zeros"),
    ],
)
def test_names_that_were_written_otherwise(folder: Path, week: Week, spelling: str, words: str):
    rows = filled(week, "--id", "id")
    for row in rows:
        row["id"] = spelling.format(int(row["id"]))
    write("todo.csv", list({row["id"]: row for row in rows}.values()))
    assert words in refused("--audit", "todo.csv", "--id", "id")
    if "E" in spelling:  # and where two rows became one
        write("todo.csv", [rows[0], {**rows[1], "id": rows[0]["id"]}])
        said = refused("--audit", "todo.csv", "--id", "id")
        assert words in said
        assert "remove" not in said


def test_empty_lines_and_other_encodings_of_a_list(folder: Path, week: Week):
    filled(week)
    args = ("scores.csv", *BASE, "--audit", "todo.csv")
    wanted = estimated(*args)["recall"]
    held = Path("todo.csv").read_text()
    Path("todo.csv").write_text(held + "\n" + "," * 7 + "\n" + "," * 7 + "\n")
    assert estimated(*args)["recall"] == wanted
    with Path("todo.csv").open("w", encoding="utf-16") as file:
        rows = csv.reader(held.splitlines())
        csv.writer(file, delimiter="\t").writerows(rows)
    assert estimated(*args)["recall"] == wanted
    Path("todo.csv").write_text(held.replace("audit", "\xe4udit"), encoding="latin-1")
    assert "[not-utf8]" in refused(*args[-2:])


def test_the_line_is_that_of_the_file(folder: Path, week: Week):
    rows = filled(week)
    for row in rows:
        row["note"] = "two\nlines"
    rows[2]["inclusion"] = "0"
    write("todo.csv", rows)
    assert "[inclusion-range]" in refused("--audit", "todo.csv")


def test_words_where_the_table_has_numbers(folder: Path, week: Week):
    rows = filled(week)
    args = ("scores.csv", *BASE, "--audit", "todo.csv")
    wanted = estimated(*args)
    words = {"0": "no", "1": "yes"}
    write("todo.csv", [{**row, "label": words[row["label"]]} for row in rows])
    said = refused("--audit", "todo.csv")
    assert "[other-labels]" in said
    assert "--missing" not in said
    named = ("--positive", "yes", "--positive", "1", "--negative", "no", "--negative", "0")
    for more in (named, (*named, "--batch", "week")):
        assert estimated(*args, *more)["counts"] == wanted["counts"]
    listed = good("label", *args, *named, "--n", "10")
    assert "10 rows to label" in listed.stderr
    piped = good(
        "label", "-", *args[1:], *named, "--n", "10", stdin=Path("scores.csv").read_bytes()
    )
    assert piped.stdout == listed.stdout
    words = {"0": "FALSE", "1": "TRUE"}
    write("todo.csv", [{**row, "label": words[row["label"]]} for row in rows])
    shown = good("estimate", *args)
    assert "todo.csv: FALSE is 0 and TRUE is 1, as in scores.csv." in shown.stderr
    assert estimated(*args)["recall"] == wanted["recall"]
    table = lines("scores.csv")
    for row in table:
        row["label"] = {"0": "1", "1": "2"}.get(row["label"], "")
    write("scores.csv", table)
    said = refused("--audit", "todo.csv")
    assert "[other-labels]" in said


def test_a_word_for_not_labelled_in_a_list_alone(folder: Path, week: Week):
    rows = filled(week)
    for row in rows[:4]:
        row["label"] = ""
    write("todo.csv", rows)
    wanted = estimated("scores.csv", *BASE, "--audit", "todo.csv")
    write("todo.csv", [{**row, "label": row["label"] or "unknown"} for row in rows])
    flags = ("--audit", "todo.csv", "--unlabelled", "unknown")
    for more in ((), ("--positive", "1")):
        found = estimated("scores.csv", *BASE, *flags, *more)
        assert (found["recall"], found["counts"]) == (wanted["recall"], wanted["counts"])


def test_words_where_the_table_has_no_label(folder: Path, week: Week):
    rows = filled(week)
    table = week.table().drop_columns(["label"])
    pacsv.write_csv(table, "bare.csv")
    write("todo.csv", [{**row, "label": "yes" if row["label"] == "1" else "no"} for row in rows])
    args = ("bare.csv", "--score", "score", "--threshold", "2.5", "--audit", "todo.csv")
    shown = run("estimate", *args)
    assert shown.exit_code == 3
    assert "[other-labels]" in shown.stderr
    found = estimated(*args, "--positive", "yes", "--negative", "no")
    assert found["counts"]["labelled_below"] == len(rows)


def test_a_list_counts_once(folder: Path, week: Week):
    filled(week)
    shown = run("estimate", "scores.csv", *BASE, "--audit", "todo.csv", "--audit", "./todo.csv")
    assert shown.exit_code == 2
    assert "[same-list]" in shown.stderr
    Path("copy.csv").write_bytes(Path("todo.csv").read_bytes())
    said = refused("--audit", "todo.csv", "--audit", "copy.csv")
    assert "[same-list]" in said


def test_the_list_never_replaces_what_it_comes_from(folder: Path, week: Week):
    filled(week)
    Path("link.csv").symlink_to("scores.csv")
    before = [Path(name).read_bytes() for name in ("scores.csv", "todo.csv")]
    args = ("scores.csv", *BASE, "--audit", "todo.csv", "--n", "3", "--force", "--out")
    for out in ("scores.csv", "link.csv", "./todo.csv"):
        shown = run("label", *args, out)
        assert shown.exit_code == 2
        assert "[output-is-input]" in shown.stderr
    assert [Path(name).read_bytes() for name in ("scores.csv", "todo.csv")] == before
    good("label", *args, "more.csv")
    good("label", *args, "more.csv")  # which is none of them


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--policy", "tail", "--band", "0.5", "--n", "3"], "[unused-argument]"),
        (["--policy", "tail", "--batch", "week", "--n", "3"], "[unused-argument]"),
        (["--policy", "random", "--strata", "3", "--n", "3"], "[unused-argument]"),
        (["--allocation", "equal", "--n", "3"], "[unused-argument]"),
        (["--explore", "0.1", "--n", "3"], "[unused-argument]"),
        (["--plan", "--out", "todo.csv"], "[unused-argument]"),
        (["--plan", "--band", "0.5"], "[unused-argument]"),
        (["--plan", "--strata", "3"], "[unused-argument]"),
        (["--cost-per-label", "3", "--n", "3"], "[unused-argument]"),
        (["--assume", "nothing", "--n", "3"], "[unused-argument]"),
        (["--plan", "--policy", "pps"], "[argument-conflict]"),
        (["--plan", "--policy", "tail"], "[argument-conflict]"),
        (["--repeats", "3", "--n", "3"], "[unused-argument]"),
    ],
)
def test_flags_that_would_do_nothing_are_refused(folder: Path, flags: list[str], words: str):
    shown = run("label", "scores.csv", *BASE, *flags)
    assert shown.exit_code == 2, shown.output
    assert words in shown.stderr


def test_the_command_that_takes_a_list_back_can_be_pasted(folder: Path):
    Path("-dash.csv").write_bytes(Path("scores.csv").read_bytes())
    flags = ("--score", "score", "--label", "label", "--threshold", ".3", "--n", "3")
    shown = good("label", *flags, "--out", "todo.csv", "--", "-dash.csv")
    wanted = "scarce estimate ./-dash.csv --score score --label label --threshold .3 --audit"
    assert f"Then: {wanted} todo.csv" in shown.stderr


# --- plans, words, refusals -----------------------------------------------------------------------


PLAN = ("scores.csv", *BASE, "--plan", "--repeats", "2")


@pytest.mark.parametrize("policy", ["audit", "stratified", "random"])
def test_a_plan_is_the_librarys(folder: Path, week: Week, policy: str):
    args = (*PLAN, "--n", "50", "--n", "200", "--policy", policy, "--assume", "nothing")
    found = json.loads(good("label", *args, "--cost-per-label", "3", "--json").stdout)["result"]
    plan = plan_audit(
        week.scores, week.labels, threshold=2.5, n=(50, 200), repeats=2, design=policy,
        assume="nothing", cost_per_label=3,
    )  # fmt: skip
    assert (found["width"], found["cost"]) == (plan.to_dict()["width"], [0.0, 150.0, 600.0])
    assert "cheapest" not in found
    shown = good("label", *args, "--cost-per-label", "3").stdout
    assert shown.splitlines()[0].startswith("Audits of ")
    assert "50 for 150, 200 for 600" in shown
    assert not Path("todo.csv").exists()


def test_a_plan_says_how_many_checks_a_width_takes_and_what_they_cost(folder: Path, week: Week):
    sizes = ("--n", "50", "--n", "200", "--n", "400")
    args = (*PLAN, *sizes, "--width", "0.5", "--cost-per-label", "2.5")
    found = json.loads(good("label", *args, "--json").stdout)["result"]
    plans = {
        design: plan_audit(
            week.scores, week.labels, threshold=2.5, n=(50, 200, 400), repeats=2, design=design
        )
        for design in ("audit", "stratified", "random")
    }
    needed = {design: plan.needed(0.5) for design, plan in plans.items()}
    assert found["checks_for_width"] == needed["audit"]
    assert found["cost_for_width"] == 2.5 * needed["audit"]
    least = min(needed, key=lambda design: needed[design])
    assert found["cheapest"] == {
        "policy": least, "checks": needed[least], "cost": 2.5 * needed[least],
    }  # fmt: skip
    shown = good("label", *args).stdout
    assert "For a width of recall of 0.5: " in shown
    assert f"The cheapest policy is {least} " in shown


def test_a_width_that_no_size_reaches(folder: Path, week: Week):
    sizes = (*PLAN[:-2], "--n", "40", "--repeats", "1", "--width", "0.001")
    shown = good("label", *sizes).stdout
    assert shown.endswith("0.001: more than 40 checks; try --n 80 --n 160\n")
    found = json.loads(good("label", *sizes, "--json").stdout)["result"]
    assert found["checks_for_width"] == "Infinity"
    below = int((week.scores < 2.5).sum())
    most = good("label", *PLAN[:-2], "--n", str(below // 2 - 9), *sizes[-4:]).stdout
    assert f"try --n {2 * (below // 2 - 9)} --n {below}\n" in most  # there are no more rows
    clean = week.table(label=pa.array(np.where(week.scores >= 2.5, 0.0, np.nan), from_pandas=True))
    pacsv.write_csv(clean, "clean.csv")
    shown = good("label", "clean.csv", *sizes[1:]).stdout
    assert shown.endswith(
        "0.001: no number of checks gives it, because recall is 0 or unknown here.\n"
    )


def test_a_plan_of_incidents_is_that_of_their_greatest_scores(folder: Path, week: Week):
    cards = np.arange(4000) // 2
    pacsv.write_csv(week.table(card=cards), "cards.csv")
    args = ("cards.csv", *PLAN[1:], "--n", "50", "--group", "card", "--json")
    found = json.loads(good("label", *args).stdout)["result"]
    scores = week.scores.reshape(-1, 2).max(axis=1)
    labels = np.where(scores >= 2.5, np.nan_to_num(week.labels).reshape(-1, 2).max(axis=1), np.nan)
    plan = plan_audit(scores, labels, threshold=2.5, n=50, repeats=2)
    assert found["rows_below"] == plan.rows_below < 2000
    assert found["width"] == plan.to_dict()["width"]


# --- batches, incidents, second scores ------------------------------------------------------------


def test_batches_have_their_own_thresholds_and_strata(folder: Path, week: Week):
    marks = [part for k in (1, 2, 3) for part in ("--threshold", f"{k}={2 + k / 10}")]
    args = ("scores.csv", *BASE[:4], *marks, "--batch", "week", "--id", "id", "--n", "60")
    shown = good("label", *args, "--out", "todo.csv")
    wanted = choose_labels(
        week.scores, week.labels, n=60, batch=week.week, threshold={1: 2.1, 2: 2.2, 3: 2.3},
        random_state=0,
    )  # fmt: skip
    rows = lines("todo.csv")
    assert [int(row["id"]) for row in rows] == wanted.rows.tolist()
    assert {row["frame"][:3] for row in rows} == {"1; ", "2; ", "3; "}
    (command,) = [line[6:] for line in shown.stderr.splitlines() if line.startswith("Then: ")]
    fill("todo.csv", "todo.csv", week)
    found = estimated(*shlex.split(command)[2:])
    assert found["threshold"] == [2.1, 2.2, 2.3]
    assert found["counts"]["audited"] == 60


@pytest.mark.parametrize("kind", ["group", "second"])
def test_incidents_and_second_scores_there_and_back(folder: Path, week: Week, kind: str):
    rng = np.random.default_rng(8)
    cards = np.where(np.arange(4000) % 5 == 0, -1, np.arange(4000) // 2)
    again = np.round(week.scores + rng.normal(size=4000), 3)
    held = week.table(card=pa.array([None if one < 0 else f"c{one}" for one in cards]), again=again)
    pacsv.write_csv(held, "more.csv")
    flags = {"group": ("--group", "card"), "second": ("--second", "again")}[kind]
    given = {
        "group": {"groups": np.array([None if c < 0 else f"c{c}" for c in cards], dtype=object)},
        "second": {"second_scores": again},
    }[kind]
    shown = good("label", "more.csv", *BASE, *flags, "--n", "50", "--out", "todo.csv")
    wanted = choose_labels(
        week.scores, week.labels, n=50, threshold=THRESHOLD, random_state=0, **given
    )
    assert [int(row["row"]) for row in lines("todo.csv")] == wanted.rows.tolist()
    fill("todo.csv", "todo.csv", week)
    labels = week.labels.copy()
    labels[wanted.rows] = week.truth[wanted.rows]
    figures = estimate_performance(
        week.scores, labels, threshold=THRESHOLD, inclusion=wanted, **given
    ).to_dict()
    (command,) = [line[6:] for line in shown.stderr.splitlines() if line.startswith("Then: ")]
    agree(estimated(*shlex.split(command)[2:]), figures)
    unit = "incidents" if kind == "group" else "rows"
    assert f"{unit} (score 2.5 or more)" in good(*shlex.split(command)[1:]).stdout


def test_a_setting_that_a_policy_does_not_look_at_is_no_fault(folder: Path):
    Path("scarce.toml").write_text('[scarce]\nbatch = "week"\nid = "id"\n')
    good("label", "scores.csv", *BASE, "--policy", "tail", "--n", "5", "--out", "top.csv")
    good("label", "scores.csv", *BASE, "--n", "9", "--out", "todo.csv")
    assert {row["frame"][:3] for row in lines("todo.csv")} == {"1; ", "2; ", "3; "}


# --- a week without any event ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "batch", "piped"),
    [
        ("label", (), False),
        ("label", (), True),
        ("estimate", (), False),
        ("estimate", (), True),
        ("estimate", ("--batch", "week"), False),
    ],
)
@pytest.mark.parametrize(
    ("word", "more", "said"),
    [
        ("0", (), ""),
        ("1", (), ""),
        ("false", (), ""),
        ("no", (), "--positive no"),
        ("No", (), "--positive No"),
        ("yes", (), "--negative yes"),
        ("benign", ("--positive", "malicious"), "--unlabelled benign"),
        ("benign", ("--negative", "benign"), "no row is an event"),
    ],
)
def test_a_week_with_one_kind_of_label_alone(
    folder: Path, week: Week, verb: str, batch: tuple, piped: bool, word: str, more: tuple,
    said: str,
):  # fmt: skip
    words = [word if score >= THRESHOLD else None for score in week.scores]
    pacsv.write_csv(week.table(label=pa.array(words)), "one.csv")
    path, stdin = ("-", Path("one.csv").read_bytes()) if piped else ("one.csv", None)
    chosen = ("--n", "9") if verb == "label" else ()
    shown = good(verb, path, *BASE, *batch, *more, *chosen, stdin=stdin)
    assert said in shown.stderr
    events = len([one for one in words if one]) if word in ("1", "yes") else 0
    if verb == "estimate":
        found = estimated(path, *BASE, *batch, *more, stdin=stdin)
        assert found["counts"]["events_seen"] == events


@pytest.mark.parametrize("verb", ["label", "estimate"])
@pytest.mark.parametrize(
    ("word", "more", "said"),
    [
        ("benign", (), ["--positive benign if it is the event", "--negative benign if it is not"]),
        ("-1", (), ["--negative -1 --positive 1", "--unlabelled -1"]),
        ("benign", ("--positive", "benig"), ["Did you mean 'benign'?"]),
        ("yes", ("--positive", "malicious"), ["[no-positives]"]),
    ],
)
def test_a_label_alone_that_is_not_clear_is_refused_with_what_to_type(
    folder: Path, week: Week, verb: str, word: str, more: tuple, said: list[str]
):
    words = [word if score >= THRESHOLD else None for score in week.scores]
    pacsv.write_csv(week.table(label=pa.array(words)), "one.csv")
    shown = run(verb, "one.csv", *BASE, *more, *(("--n", "9") if verb == "label" else ()))
    assert (shown.exit_code, shown.stdout) == (3, "")
    assert all(text in shown.stderr for text in said)


def test_yes_and_no_are_events_and_none(folder: Path, week: Week):
    words = [None if x != x else "yes" if x else "no" for x in week.labels]
    pacsv.write_csv(week.table(label=pa.array(words)), "words.csv")
    agree(estimated("words.csv", *BASE), week.estimate())
    shown = good("label", "words.csv", *BASE, "--n", "9")
    assert "40 rows are yes (the event; --positive settles it)" in shown.stderr


# --- lists of several weeks -----------------------------------------------------------------------

WEEKS = 8


@pytest.fixture
def weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Week:
    """Eight weeks in a table each and in one, all.csv; one completed list of each, glued too."""
    monkeypatch.chdir(tmp_path)
    every = Week(8 * 1200, seed=21)
    every.week = np.arange(8 * 1200) // 1200 + 1
    every.scores[every.week > 4] += 0.2
    every.labels = np.where(every.scores >= THRESHOLD, every.truth, np.nan)
    table = every.table(week=pa.array([f"week, {one}; x" for one in every.week]))
    pacsv.write_csv(table, "all.csv")
    for k in range(WEEKS):
        pacsv.write_csv(table.slice(1200 * k, 1200), f"w{k}.csv")
        good("label", f"w{k}.csv", *BASE, "--id", "id", "--n", "40", "--out", f"t{k}.csv")
        fill(f"t{k}.csv", f"t{k}.csv", every)
    write("glued.csv", [row for k in range(WEEKS) for row in lines(f"t{k}.csv")])
    return every


LISTS = tuple(word for k in range(WEEKS) for word in ("--audit", f"t{k}.csv"))


@pytest.mark.parametrize("batch", [(), ("--batch", "week")])
def test_weekly_lists_add_up_as_glued_by_hand(weeks: Week, batch: tuple[str, ...]):
    args = ("all.csv", *BASE, "--id", "id", *batch)
    together = estimated(*args, *LISTS)
    agree(together, estimated(*args, "--audit", "glued.csv"))
    truth = weeks.truth[weeks.scores < THRESHOLD].sum()
    missed = together["missed"]
    assert together["counts"]["audited"] == 40 * WEEKS
    assert missed["low"] <= truth <= missed["high"]
    one = estimated("w0.csv", *BASE, "--id", "id", "--audit", "t0.csv")["missed"]
    assert missed["value"] > 3 * one["value"]  # eight weeks miss more than one of them
    if batch:
        parts = together["batches"].values()
        assert sum(part["missed"]["value"] for part in parts) == pytest.approx(
            missed["value"], rel=0.2
        )
        alone = together["batches"]["week, 1; x"]["missed"]
        assert (alone["low"], alone["high"]) == (one["low"], one["high"])


def test_weekly_lists_through_a_pipe_and_a_spreadsheet(weeks: Week):
    """Names of weeks hold commas and semicolons, and so does the text that says whose rows."""
    args = (*BASE, "--id", "id", "--batch", "week")
    wanted = estimated("all.csv", *args, *LISTS)
    agree(estimated("-", *args, *LISTS, stdin=Path("all.csv").read_bytes()), wanted)
    for k in range(WEEKS):
        good("label", "all.csv", *BASE, "--id", "id", "--batch", "week", "--n", "160",
             "--formula-safe", "--out", "pooled.csv", "--force")  # fmt: skip
        rows = lines(f"t{k}.csv")
        for row in rows:
            row.update({name: row[name].replace(".", ",") for name in ("score", "inclusion")})
        with Path(f"t{k}.csv").open("w", encoding="utf-8-sig") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
            writer.writeheader()
            writer.writerows(rows)
    agree(estimated("all.csv", *args, *LISTS), wanted)
    fill("pooled.csv", "pooled.csv", weeks)
    found = estimated("all.csv", *args, "--audit", "pooled.csv")
    assert found["counts"]["audited"] == 160


def test_a_second_list_of_a_week_is_combined_and_the_others_are_added(weeks: Week):
    good("label", "w2.csv", *BASE, "--id", "id", "--audit", "t2.csv", "--n", "60", "-o", "more.csv")
    fill("more.csv", "more.csv", weeks)
    args = ("all.csv", *BASE, "--id", "id", "--batch", "week", *LISTS)
    before, after = estimated(*args), estimated(*args, "--audit", "more.csv")
    assert after["counts"]["audited"] == before["counts"]["audited"] + 60
    for name, one in after["batches"].items():
        same = one["missed"]["high"] == before["batches"][name]["missed"]["high"]
        assert same == (name != "week, 3; x")


def test_lists_that_do_not_say_whose_rows_they_hold_are_not_added(weeks: Week):
    rows = [{k: v for k, v in row.items() if k != "frame"} for row in lines("t0.csv")]
    write("old.csv", rows)
    args = ("--id", "id")
    assert estimated("w0.csv", *BASE, *args, "--audit", "old.csv")["counts"]["audited"] == 40
    shown = run("estimate", "all.csv", *BASE, *args, "--audit", "old.csv", "--audit", "t1.csv")
    assert shown.exit_code == 3
    assert "[frame-unknown]" in shown.stderr


def test_row_numbers_of_two_tables_are_not_the_same_rows(weeks: Week):
    for k in range(2):
        more = ("--out", f"r{k}.csv", "--seed", "0")
        good("label", f"w{k}.csv", *BASE, "--policy", "random", "--n", "600", *more)
        fill(f"r{k}.csv", f"r{k}.csv", weeks)
    shown = run("estimate", "all.csv", *BASE, "--audit", "r0.csv", "--audit", "r1.csv")
    assert shown.exit_code == 3
    assert "[row-in-two-frames]" in shown.stderr
    assert "--id COLUMN" in shown.stderr


def test_a_summary_as_json(folder: Path, week: Week):
    shown = good("label", "scores.csv", *BASE, "--n", "20", "--out", "todo.csv", "--json")
    found = json.loads(shown.stdout)["result"]
    assert (found["chosen"], found["by_policy"]) == (20, {"audit": 20})
    assert found["next"] == f"scarce estimate scores.csv {' '.join(BASE)} --audit todo.csv"
    shown = run("label", "scores.csv", *BASE, "--n", "20", "--json")
    assert (shown.exit_code, "--out todo.csv" in shown.stdout) == (2, True)


def test_nothing_is_replaced_unasked_or_written_by_a_dry_run(folder: Path):
    Path("todo.csv").write_text("mine")
    args = ("scores.csv", *BASE, "--n", "20", "--out", "todo.csv")
    shown = run("label", *args)
    assert (shown.exit_code, Path("todo.csv").read_text()) == (2, "mine")
    found = json.loads(good("label", *args, "--force", "--dry-run", "--json").stdout)["result"]
    assert (found["dry_run"], found["writes"], Path("todo.csv").read_text()) == (
        True,
        "todo.csv",
        "mine",
    )
    good("label", *args, "--force")
    assert len(lines("todo.csv")) == 20


def test_fewer_rows_than_asked_for(folder: Path, week: Week):
    pacsv.write_csv(week.table().slice(0, 30), "few.csv")
    shown = good("label", "few.csv", *BASE, "--n", "100", "--out", "todo.csv")
    assert "[too-few-rows]" in shown.stderr
    done = week.table(label=week.truth).slice(0, 30)
    pacsv.write_csv(done, "done.csv")
    shown = good("label", "done.csv", *BASE, "--n", "5", "--out", "none.csv")
    assert lines("none.csv") == []
    assert "0 rows to label" in shown.stderr


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ((*BASE[2:], "--n", "5"), 2, "[no-score-column]"),
        ((*BASE, "--policy", "uncertainty", "--n", "5"), 2, "[argument-conflict]"),
        (("--prob", "score", "--prob", "week", *BASE[4:], "--n", "5"), 2, "[several-columns]"),
        (("--prob", "score", "--policy", "uncertainty", "--n", "5"), 3, "so: --label label."),
        ((*UNSURE, "--prob", "score"), 3, "[prob-range]"),
        (("--policy", "uncertainty", "--n", "5"), 3, "[unknown-column]"),
        ((*BASE,), 2, "[sample-size]"),
        ((*BASE, "--n", "5", "--n", "6"), 2, "[sample-size]"),
        ((*BASE, "--n", "5", "--width", "0.2"), 2, "[unused-argument]"),
        ((*BASE[:4], "--n", "5"), 2, "[no-threshold]"),
        ((*BASE, "--n", "5", "--by", "cost"), 2, "[argument-conflict]"),
        ((*BASE, "--n", "5", "--prob", "week"), 2, "[argument-conflict]"),
        ((*BASE, "--n", "5", "--id", "idd"), 3, "Did you mean 'id'?"),
        ((*BASE, "--n", "5", "--id", "score"), 2, "[same-column]"),
        ((*BASE, "--n", "5", "--explore", "0.5"), 2, "--policy"),
        (("--score", "score", "--label", "week", *BASE[4:], "--n", "5"), 3, "[two-classes-needed]"),
        ((*BASE, "--plan", "--width", "3"), 2, "[number-range]"),
    ],
)
def test_what_cannot_work_is_said_in_flags(
    folder: Path, args: tuple[str, ...], code: int, words: str
):
    if "--width" in args and "--plan" in args:
        args = (*args, "--n", "10", "--repeats", "1")
    shown = run("label", "scores.csv", *args)
    assert (shown.exit_code, shown.stdout) == (code, "")
    assert words in shown.stderr


def test_names_that_the_list_adds_are_kept_free(folder: Path, week: Week):
    pacsv.write_csv(week.table(row=np.arange(4000)), "taken.csv")
    shown = run("label", "taken.csv", *BASE, "--n", "5")
    assert (shown.exit_code, "[column-exists]" in shown.stderr) == (3, True)
    good("label", "taken.csv", *BASE, "--n", "5", "--id", "id", "--out", "todo.csv")
    assert "row" in lines("todo.csv")[0]
    pacsv.write_csv(week.table(row=np.arange(4000)[::-1]), "taken.csv")  # a name, not a position
    good("label", "taken.csv", *BASE, "--n", "20", "--id", "row", "--out", "named.csv")
    fill("named.csv", "named.csv", week)
    assert estimated("taken.csv", *BASE, "--id", "row", "--audit", "named.csv")["counts"]["audited"]


# --- for a spreadsheet ----------------------------------------------------------------------------


def test_a_list_made_safe_for_a_spreadsheet_finds_its_way_back(folder: Path, week: Week):
    """Ids and the name of their column are formulas: the estimate is that of harmless ones."""
    held = week.table()
    ids = [f"=HYPERLINK({one})" for one in held.column("id").to_pylist()]
    place = held.column_names.index("id")
    pacsv.write_csv(held.set_column(place, "=id", [ids]), folder / "formulas.csv")
    figures = {}
    for table, key in (("scores.csv", "id"), ("formulas.csv", "=id")):
        words = [*BASE, "--id", key, "--n", "60", "--formula-safe", "--out", "todo.csv", "--force"]
        good("label", table, *words)
        marked = f"'{key}" if key.startswith("=") else key
        rows = lines("todo.csv")
        assert all(row[marked].startswith("'=") for row in rows) == (key == "=id")
        for row in rows:
            row["label"] = str(int(week.truth[int(row[marked].strip("'=HYPERLINK()"))]))
        write("todo.csv", rows)
        figures[key] = estimated(table, *BASE, "--id", key, "--audit", "todo.csv")
    for name in ("recall", "missed"):
        assert figures["=id"][name] == figures["id"][name]


def test_a_name_that_two_rows_could_mean_is_refused(folder: Path, week: Week):
    held = week.table()
    ids = [str(one) for one in held.column("id").to_pylist()]
    good("label", "scores.csv", *BASE, "--id", "id", "--n", "9", "--out", "todo.csv")
    rows = lines("todo.csv")
    ids[int(rows[0]["id"])], ids[int(rows[1]["id"])] = "=1", "'=1"
    rows[0]["id"], rows[1]["id"] = "'=1", "''=1"  # as --formula-safe writes them
    rows = [{**row, "label": "0"} for row in rows]
    write("todo.csv", rows)
    pacsv.write_csv(held.set_column(held.column_names.index("id"), "id", [ids]), "both.csv")
    shown = run("estimate", "both.csv", *BASE, "--id", "id", "--audit", "todo.csv")
    assert shown.exit_code == 3
    assert "[duplicate-ids]" in shown.stderr


def test_until_enough_recall_is_proven(tmp_path, monkeypatch):
    """Lists go on until the proof, which writes none; each look says how far it is."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.random(3000) < 0.1
    scores = np.round(rng.normal(size=3000) + 3.0 * truth, 5)
    lines = [
        f"{score},{int(event) if score >= 1.5 else ''}"
        for score, event in zip(scores, truth, strict=True)
    ]
    (tmp_path / "s.csv").write_text("\n".join(["score,label", *lines]) + "\n")
    asked = ["s.csv", "--score", "score", "--label", "label", "--threshold", "1.5", "--n", "300"]
    until = ["--until", "recall=0.5", "--json"]
    first = CliRunner().invoke(scarce, ["label", *asked, *until, "--out", "a.csv"])
    assert first.exit_code == 0, first.stderr
    told = json.loads(first.stdout)["result"]["proof"]
    assert told["stop"] is False
    assert told["further"] > 0
    rows = (tmp_path / "a.csv").read_text().splitlines()
    names = rows[0].split(",")
    filled = [rows[0]]
    for row in rows[1:]:
        cells = next(csv.reader([row]))
        cells[names.index("label")] = str(int(truth[int(cells[names.index("row")])]))
        filled.append(",".join(f'"{cell}"' for cell in cells))
    (tmp_path / "a.csv").write_text("\n".join(filled) + "\n")
    more = ["--audit", "a.csv", "--out", "b.csv"]
    then = CliRunner().invoke(scarce, ["label", *asked, *until, *more])
    assert then.exit_code == 0, then.stderr
    told = json.loads(then.stdout)["result"]
    assert told["proof"]["stop"] is True
    assert told["chosen"] == 0
    assert not (tmp_path / "b.csv").exists()
    for wrong in ("recall", "precision=0.8", "recall=1.2"):
        refused = CliRunner().invoke(scarce, ["label", *asked, "--until", wrong, "--out", "c.csv"])
        assert refused.exit_code == 2
        assert "[until-value]" in refused.stderr
