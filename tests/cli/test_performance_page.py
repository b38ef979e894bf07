"""`scarce report --score`: a page on scores of which only the alerts were looked at."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from scarce import choose_labels, estimate_performance
from scarce.cli.main import scarce
from scarce.results import short
from tests.report.reading import Seen

N, THRESHOLD = 4000, 2.0
WORDS = ("--score", "score", "--label", "label", "--threshold", "2")


def run(verb: str, *args: str, **more) -> Result:
    return CliRunner().invoke(scarce, [verb, *args], prog_name="scarce", **more)


@pytest.fixture
def week(tmp_path, monkeypatch) -> dict:
    """Scores with labels of the alerts in scores.csv, in the current folder."""
    rng = np.random.default_rng(11)
    truth = rng.random(N) < 0.04
    scores = np.round(rng.normal(size=N) + 2.0 * truth, 3)
    labels = np.where(scores >= THRESHOLD, truth, np.nan)
    monkeypatch.chdir(tmp_path)
    write("scores.csv", scores, labels)
    return {"scores": scores, "labels": labels, "truth": truth}


def write(name: str, scores: np.ndarray, labels: np.ndarray) -> None:
    cells = ["" if np.isnan(one) else f"{one:.0f}" for one in labels]
    lines = [
        f"{i},{float(s)!r},{c},{1 + i % 3}"
        for i, (s, c) in enumerate(zip(scores, cells, strict=True))
    ]
    Path(name).write_text("id,score,label,week\n" + "\n".join(lines) + "\n")


def page_of(path: str) -> Seen:
    return Seen(Path(path).read_text(encoding="utf-8"))


def parts(page: Seen, title: str, kind: str) -> list[dict]:
    (section,) = [one for one in page.json["sections"] if one["title"] == title]
    return [part for part in section["parts"] if part["kind"] == kind]


def test_the_page_says_what_the_library_says(week):
    done = run("report", "scores.csv", *WORDS, "--out", "r.html")
    assert done.exit_code == 0, done.output
    page = page_of("r.html")
    found = estimate_performance(week["scores"], week["labels"], threshold=THRESHOLD)
    rows = {
        row["name"]: row["value"]
        for row in parts(page, "What is found and missed", "numbers")[0]["rows"]
    }
    for name in ("recall", "precision", "prevalence", "missed"):
        one = getattr(found, name)
        assert (rows[name]["value"], rows[name]["low"], rows[name]["high"]) == pytest.approx(
            (one.value, one.low, one.high), nan_ok=True
        )
    assert [one["title"] for one in page.json["sections"]] == [
        "In short", "The data", "What is found and missed", "Other thresholds",
        "What this leans on", "What to do next",
    ]  # fmt: skip
    assert page.json["asked"] == f"scarce report scores.csv {' '.join(WORDS)} --out r.html"
    assert done.stdout.splitlines()[0] == page.json["answer"]
    assert "--policy audit" in done.stdout  # what to do next


def test_the_page_holds_what_estimate_writes(week):
    run("report", "scores.csv", *WORDS, "--batch", "week", "--out", "r.html")
    told = json.loads(run("estimate", "scores.csv", *WORDS, "--batch", "week", "--json").stdout)
    assert page_of("r.html").json["data"]["performance"] == told["result"]


def test_every_row_is_in_the_table_and_in_the_histogram_on_its_own_side(week):
    # a few scores sit right on and right below the threshold
    week["scores"][:4] = [2.0, np.nextafter(2.0, 0), 2.0, np.nextafter(2.0, 0)]
    week["labels"] = np.where(week["scores"] >= THRESHOLD, week["truth"], np.nan)
    write("scores.csv", week["scores"], week["labels"])
    assert run("report", "scores.csv", *WORDS, "--out", "r.html").exit_code == 0
    page = page_of("r.html")
    (table,) = parts(page, "The data", "table")
    known = week["labels"][~np.isnan(week["labels"])]
    events, alerts = int(known.sum()), len(known)
    assert table["rows"] == [
        ["1: event", events, 0, events],
        ["0: no event", alerts - events, 0, alerts - events],
        ["not labelled", 0, N - alerts, N - alerts],
        ["all", alerts, N - alerts, N],
    ]
    (figure,) = parts(page, "The data", "figure")
    drawn = figure["data"]
    edges = np.array(drawn["edges"])
    assert edges == pytest.approx(np.sort(edges))
    (cut,) = np.flatnonzero(np.isclose(edges, THRESHOLD))
    counts = {name: np.array(count) for name, count in drawn["counts"].items()}
    assert counts["not labelled"][cut:].sum() == 0
    assert counts["not labelled"].sum() == N - alerts
    assert counts["1: event"][:cut].sum() == counts["0: no event"][:cut].sum() == 0
    assert counts["1: event"].sum() == events
    # away from the end bins, as NumPy counts them
    free = slice(1, cut - 1)
    plain = np.histogram(week["scores"][np.isnan(week["labels"])], edges)[0]
    assert counts["not labelled"][free].tolist() == plain[free].tolist()


def test_the_few_below_a_low_threshold_stay_below_it(week):
    scores = np.append(np.linspace(2.0, 5.0, N - 1), 0.5)
    write("scores.csv", scores, np.where(scores >= 2.0, week["truth"], np.nan))
    assert run("report", "scores.csv", *WORDS, "--out", "r.html").exit_code == 0
    (figure,) = parts(page_of("r.html"), "The data", "figure")
    edges = np.array(figure["data"]["edges"])
    (cut,) = np.flatnonzero(np.isclose(edges, THRESHOLD))
    assert figure["data"]["counts"]["not labelled"][:cut] == [1]
    assert sum(figure["data"]["counts"]["not labelled"]) == 1


def test_a_table_that_is_walked_twice_is_drawn_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n = 300_000  # more than are held, so that words among the labels need a walk of their own
    rng = np.random.default_rng(3)
    scores = np.round(rng.normal(size=n), 3)
    words = np.where(scores < 2.0, "", np.where(rng.random(n) < 0.3, "bad", "fine"))
    rows = "\n".join(f"{s},{w}" for s, w in zip(scores.tolist(), words, strict=True))
    Path("scores.csv").write_text(f"score,label\n{rows}\n")
    done = run("report", "scores.csv", *WORDS, "--positive", "bad", "--out", "r.html")
    assert done.exit_code == 0, done.output
    (table,) = parts(page_of("r.html"), "The data", "table")
    assert table["rows"][-1][3] == n
    assert table["rows"][0] == ["bad: event", int((words == "bad").sum()), 0, table["rows"][0][3]]


def test_the_curve_goes_through_the_threshold_in_use(week):
    run("report", "scores.csv", *WORDS, "--out", "r.html")
    page = page_of("r.html")
    found = estimate_performance(week["scores"], week["labels"], threshold=THRESHOLD)
    recall, precision = parts(page, "Other thresholds", "figure")
    (line,) = recall["data"]["lines"]
    x, y = np.array(line["x"], float), np.array(line["y"], float)
    order = np.argsort(x)[np.isfinite(y[np.argsort(x)])]
    at = np.interp(THRESHOLD, x[order], y[order])
    assert at == pytest.approx(found.recall.value, abs=0.03)
    assert "Marked: in use" in precision["alternative"]
    (table,) = parts(page, "Other thresholds", "table")
    values = [row[1] for row in table["rows"]]  # guesses, without an interval
    assert values == sorted(values)
    assert len(values) == 9


def fill(path: str, truth: np.ndarray, key: str = "row") -> None:
    with Path(path).open() as file:
        rows = list(csv.DictReader(file))
    with Path(path).open("w") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "label": int(truth[int(row[key])])} for row in rows)


def test_a_filled_in_list_sharpens_the_page(week):
    run("label", "scores.csv", *WORDS, "--policy", "audit", "--n", "60", "--out", "todo.csv")
    fill("todo.csv", week["truth"])
    done = run("report", "scores.csv", *WORDS, "--audit", "todo.csv", "--out", "r.html")
    assert done.exit_code == 0, done.output
    drawn = choose_labels(
        week["scores"], week["labels"], policy="audit", n=60, threshold=THRESHOLD, random_state=0
    )
    labels = week["labels"].copy()
    labels[drawn.rows] = week["truth"][drawn.rows]
    audited = estimate_performance(
        week["scores"], labels, threshold=THRESHOLD, inclusion=drawn.inclusion(N)
    )
    page = page_of("r.html")
    held = page.json["data"]["performance"]["missed"]
    assert (held["low"], held["high"]) == pytest.approx((audited.missed.low, audited.missed.high))
    assert held["low"] > 0  # alerts alone cannot say that anything was missed
    assert parts(page, "The data", "table")[0]["rows"][0][2] == int(week["truth"][drawn.rows].sum())
    recall = audited.recall
    ends = f"between {short(recall.low, percent=True)} and {short(recall.high, percent=True)}"
    assert page.json["answer"].startswith(
        f"The detector finds about {short(recall.value, percent=True)} of all events, {ends}"
    )
    lost = f"between {np.floor(held['low']):,.0f} and {np.ceil(held['high']):,.0f}."
    assert page.json["answer"].endswith(lost)  # whole events


def test_the_page_leads_with_the_answer_and_speaks_of_no_flags(week):
    """A reader who types nothing: commands stand at the end, after all that is said."""
    labels = week["labels"].copy()
    labels[np.flatnonzero(week["scores"] < 0)[:3]] = 0  # a warning whose remedy is a flag
    labels[np.flatnonzero(week["scores"] >= THRESHOLD)[:4]] = np.nan
    write("scores.csv", week["scores"], labels)
    for batch in ((), ("--batch", "week")):
        done = run("report", "scores.csv", *WORDS, *batch, "--out", "r.html", "--force")
        assert done.exit_code == 0, done.output
        page = page_of("r.html")
        assert page.json["warnings"]
        assert page.json["answer"].startswith("How many events the detector misses is not known")
        told = [page.json["answer"], *page.json["warnings"]]
        for section in page.json["sections"]:
            if section["title"] != "What to do next":
                told += [str(part) for part in section["parts"]]
        assert not [text for text in told if re.search(r"--[a-z]|inclusion=|one-sided", text)]
        html = Path("r.html").read_text(encoding="utf-8")
        order = [html.index(text) for text in ('class="answer"', "Read this first", "What was ask")]
        assert order == sorted(order)


def test_a_guess_has_no_interval_on_the_page(week):
    run("report", "scores.csv", *WORDS, "--out", "r.html")
    page, found = page_of("r.html"), estimate_performance(
        week["scores"], week["labels"], threshold=THRESHOLD
    )  # fmt: skip
    html = Path("r.html").read_text(encoding="utf-8")
    assert html.count("a guess, no interval") == 3  # recall, prevalence, missed events
    (moves,) = parts(page, "In short", "table")
    assert [row[0] for row in moves["rows"]] == [one.what for one in found.what_if()]
    recall, precision = parts(page, "Other thresholds", "figure")
    assert "low" not in recall["data"]["lines"][0]
    assert precision["data"]["marks"][0]["x_low"] is None
    rows = {row["name"]: row["value"] for row in parts(
        page, "What is found and missed", "numbers")[0]["rows"]}  # fmt: skip
    assert rows["precision"]["low"] == rows["precision"]["high"]  # of these alerts: counted
    assert rows["precision of further alerts"]["low"] < rows["precision"]["low"]


def test_batches_stand_on_the_page_each(week):
    run("report", "scores.csv", *WORDS, "--batch", "week", "--out", "r.html")
    (table,) = parts(page_of("r.html"), "By week", "table")
    assert [row[0] for row in table["rows"]] == ["1", "2", "3"]
    alerts = [int((week["scores"][k::3] >= THRESHOLD).sum()) for k in range(3)]
    assert [row[2] for row in table["rows"]] == alerts
    assert {row[1] for row in table["rows"]} == {"2"}


def test_the_trend_tells_intervals_guesses_and_open_weeks_apart(week):
    """Weeks 1 and 2 were checked; in week 3 nothing was, and alerts wait."""
    names = 1 + np.arange(N) % 3
    labels = week["labels"].copy()
    labels[np.flatnonzero((names == 3) & (week["scores"] >= THRESHOLD))[:5]] = np.nan
    write("scores.csv", week["scores"], labels)
    lines = Path("scores.csv").read_text().splitlines()
    lists = []
    for k in (1, 2):
        part = [lines[1 + at] for at in np.flatnonzero(names == k)]
        Path(f"w{k}.csv").write_text("\n".join([lines[0], *part, ""]))
        run("label", f"w{k}.csv", *WORDS, "--id", "id", "--n", "80", "--out", f"t{k}.csv")
        fill(f"t{k}.csv", week["truth"], "id")
        lists += ["--audit", f"t{k}.csv"]
    marks = [part for k in (1, 2, 3) for part in ("--threshold", f"{k}={2 + (k == 3) / 10}")]
    done = run("report", "scores.csv", *WORDS[:4], *marks, "--batch", "week", *lists,
               "--id", "id", "--out", "r.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    page = page_of("r.html")
    recall, missed, threshold = parts(page, "By week", "figure")
    batches = page.json["data"]["performance"]["batches"]
    for figure, drawn in (("recall", recall["data"]), ("missed", missed["data"])):
        assert drawn["names"] == ["1", "2", "3"]
        assert drawn["value"] == pytest.approx([batches[k][figure]["value"] for k in "123"], 1e-5)
        for end in ("low", "high"):
            ends = [batches[k][figure][end] for k in "12"]
            assert drawn[end][:2] == pytest.approx(ends, 1e-5)
            assert drawn[end][2] is None
        assert drawn["open"] == [False, False, True]
    (line,) = threshold["data"]["lines"]
    assert line["y"][0] == 2.0
    assert line["y"][-1] == 2.1
    assert "changes at 3 (from 2 to 2.1)" in threshold["caption"]


def test_batches_stand_in_the_order_of_their_numbers_and_nothing_known_is_a_dash(week):
    batch = np.arange(N) % 12
    scores = np.where((batch == 7) & (week["scores"] >= THRESHOLD), 1.0, week["scores"])
    labels = np.where(scores >= THRESHOLD, week["truth"], np.nan)
    cells = ["" if np.isnan(one) else f"{one:.0f}" for one in labels]
    for name, order in (("{}", range(12)), ("site {}", range(12))):
        rows = "\n".join(
            f"{float(s)!r},{c},{name.format(b)}"
            for s, c, b in zip(scores, cells, batch, strict=True)
        )
        Path("scores.csv").write_text(f"score,label,week\n{rows}\n")
        run("report", "scores.csv", *WORDS, "--batch", "week", "--out", "r.html", "--force")
        (table,) = parts(page_of("r.html"), "By week", "table")
        assert [row[0] for row in table["rows"]] == [name.format(b) for b in order]
    assert table["rows"][7][2:5] == [0, 0, None]  # no alert, no precision
    assert table["rows"][7][6] is None  # nothing found, no recall


def test_a_threshold_by_batch(week):
    marks = [part for k in (1, 2, 3) for part in ("--threshold", f"{k}={2 + k / 10}")]
    done = run("report", "scores.csv", *WORDS[:4], *marks, "--batch", "week", "--out", "r.html")
    assert done.exit_code == 0, done.output
    (table,) = parts(page_of("r.html"), "The data", "table")
    assert table["columns"] == ["label", "rows"]
    assert table["rows"][-1] == ["all", N]


def test_no_alert_looked_at_is_said_and_no_curve_is_drawn(week):
    write("scores.csv", week["scores"], np.full(N, np.nan))
    done = run("report", "scores.csv", *WORDS, "--positive", "1", "--out", "r.html")
    assert done.exit_code == 0, done.output
    page = page_of("r.html")
    assert "Other thresholds" not in [one["title"] for one in page.json["sections"]]
    assert "Precision: unknown" in done.stdout
    assert page.json["answer"].startswith("Nobody has looked at an alert yet")


def test_scores_that_are_all_the_same(week):
    write("scores.csv", np.full(N, 3.0), week["truth"].astype(float))
    done = run("report", "scores.csv", *WORDS, "--out", "r.html")
    assert done.exit_code == 0, done.output
    (figure,) = parts(page_of("r.html"), "The data", "figure")
    assert sum(map(sum, figure["data"]["counts"].values())) == N


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("m.scarce", "scores.csv", *WORDS), "[file-count]"),
        (("scores.csv", *WORDS, "--prob", "score"), "[argument-conflict]"),
        (("scores.csv", *WORDS, "--false-alarm", "5", "--miss", "9"), "[argument-conflict]"),
        (("scores.csv", *WORDS[:4]), "--score COLUMN --threshold T"),
        (("scores.csv", *WORDS[2:]), "[no-score-column]"),
        (("scores.csv", "--label", "label", "--audit", "a.csv"), "[no-score-column]"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(week, words, said):
    done = run("report", *words, "--out", "r.html")
    assert done.exit_code == 2
    assert said in done.stderr
    assert not Path("r.html").exists()


def test_a_dry_run_writes_nothing(week):
    done = run("report", "scores.csv", *WORDS, "--out", "r.html", "--dry-run")
    assert done.exit_code == 0
    assert "other thresholds" in done.stdout + done.stderr
    assert not Path("r.html").exists()


def test_a_pipe_will_do(week):
    text = Path("scores.csv").read_bytes()
    done = run("report", "-", *WORDS, "--out", "r.html", input=text)
    assert done.exit_code == 0, done.output
    assert page_of("r.html").json["title"] == "What was found and missed in standard input"
