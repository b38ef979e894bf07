"""The page: what goes in comes out, whole, safe, the same every time, and readable by everyone."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from scarce.errors import StoreError, UsageError
from scarce.missed.rules import GUESS
from scarce.plots.picture import Axis, Bars, Curves, Histogram, Line, Panels
from scarce.report import Report
from scarce.results import Estimate
from tests.report.reading import Seen

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>`\"'&\x00\ud800"


def small(name: str = "recall") -> Report:
    page = Report("Payments", asked="scarce report m.scarce may.csv", subtitle="in May")
    page.section("Numbers", "Some words.")
    page.numbers(
        [
            (name, Estimate(0.62, 0.48, 0.74, assumes="rows were drawn at random"), "found"),
            ("missed", Estimate(12.0, 3.0, np.inf, assumes="rows were drawn at random"), "not"),
            ("rows", 1234, "all"),
        ],
        truth={name: 0.59},
        beside={"missed": 20.0},
        beside_name="before",
        percent=[name],
    )
    page.section("Pictures").heading("One").figure(
        Curves([Line(name, [0, 1], [1, 2])], Axis(name), Axis(name)), name
    )
    page.table([name, "b"], [(name, 1.5), ("x", None)], caption=name)
    page.section("Leans on").assumes(["labels are right", "labels are right"])
    return page.warn("A warning.").warn("Another.").warn("A warning.")


def test_the_json_inside_is_the_page():
    page = small()
    inside = Seen(page.html()).json
    assert inside == page.to_dict()
    rows = inside["sections"][0]["parts"][1]["rows"]
    assert rows[0]["value"] == {
        "value": 0.62, "low": 0.48, "high": 0.74, "level": 0.9, "method": "",
        "assumes": "rows were drawn at random",
    }  # fmt: skip
    assert rows[0]["truth"] == 0.59
    assert rows[1]["value"]["high"] == "Infinity"
    assert rows[1]["beside"] == 20.0
    assert rows[2]["value"] == 1234
    assert inside["warnings"] == ["A warning.", "Another."]


def test_the_numbers_are_shown_as_words():
    told = small().html()
    text = " ".join(Seen(told[: told.index("<script")] + "</body></html>").texts)
    for told in ("62 %", "[48 %, 74 %]", "59 %", "[3, unbounded]", "1,234", "before"):
        assert told in text, told
    assert text.count("rows were drawn at random") == 1  # of two numbers that lean on it
    assert "[90 % interval]" in text


def test_what_is_not_known_is_said_and_is_null():
    lost = Estimate(np.nan, np.nan, np.nan, assumes="nobody looked")
    page = Report("t").numbers([("missed", lost, "")]).table(["a", "b"], [(np.nan, lost)])
    told = page.html()
    assert "unknown" in told
    assert "no interval" in told
    numbers, table = Seen(told).json["sections"][0]["parts"]
    assert numbers["rows"][0]["value"]["value"] is None
    assert table["rows"][0][0] is None
    assert "[90 % interval]" not in told  # there is none


def test_warnings_stand_first_however_late_they_come():
    page = small()
    page.warn("Found at the very end.")
    told = page.html()
    first = told.index("Found at the very end.")
    assert first < told.index("What was asked") < told.index(">Numbers<")
    assert told[: told.index("scarce-report")].count("A warning.") == 1


def test_an_answer_comes_before_everything_and_the_question_last():
    page = Report("May", asked="scarce report s.csv", answer="It finds 40 % of all events.")
    page.section("Details").text("So it is.").warn("Only 12 events.")
    html = page.html()
    order = [
        html.index(text)
        for text in ("It finds 40\u00a0% of", "Only 12 events", "So it is", "What was asked")
    ]
    assert order == sorted(order)
    assert page.to_dict()["answer"] == "It finds 40 % of all events."
    assert 'class="answer"' not in Report("May", asked="scarce").html()


def test_counts_are_whole_and_guesses_have_no_interval():
    count = Estimate(41.6, 7.83, 423.2)
    guess = Estimate(0.37, 0.01, 1.0, method=GUESS, assumes="nothing was checked")
    page = Report("May").section("S")
    page.numbers(
        [("missed", count, "m"), ("recall", guess, "r"), ("found", Estimate(3, 3, 3), "f")],
        percent=["recall"],
        counts=["missed"],
    )
    page.table(["n", "missed"], [("a", count)], counts=["missed"])
    html = page.html()
    assert html.count("[7, 424]") == 2
    assert '37 % <span class="limits">a guess, no interval' in html
    assert "[1 %" not in html
    assert "[3, 3]" not in html
    assert "nothing was checked" not in html.split("<script")[0]  # it is no assumption
    held = page.to_dict()["sections"][0]["parts"][0]["rows"][0]["value"]
    assert (held["low"], held["high"]) == (7.83, 423.2)  # as they are, for programs


def test_headings_are_in_order_and_there_is_one_title():
    seen = Seen(small().html())
    levels = [level for level, _ in seen.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert [text for level, text in seen.headings if level == 2] == [
        "Read this first", "What was asked", "Numbers", "Pictures", "Leans on",
    ]  # fmt: skip


def test_ids_are_unique_and_every_link_leads_somewhere():
    seen = Seen(small().html())
    ids = seen.attributes("id")
    assert len(ids) == len(set(ids))
    for target in [h.removeprefix("#") for h in seen.attributes("href")]:
        assert target in ids
    for target in seen.attributes("aria-labelledby"):
        assert target in ids


def test_nothing_is_fetched_and_nothing_runs():
    told = small().html()
    seen = Seen(told)
    assert re.findall(r"(?i)https?:|//[a-z]|url\(|@import", told) == []
    assert seen.attributes("src") == []
    assert all(link.startswith("#") for link in seen.attributes("href"))
    assert [held for tag, held in seen.tags if tag == "script"] == [
        {"type": "application/json", "id": "scarce-report"}
    ]
    assert not [name for _, held in seen.tags for name in held if name.startswith("on")]
    assert "default-src 'none'" in told


def test_hostile_names_are_shown_not_obeyed():
    page = Report(HOSTILE, asked=HOSTILE, subtitle=HOSTILE).warn(HOSTILE)
    page.section(HOSTILE, HOSTILE).heading(HOSTILE).code(HOSTILE).assumes([HOSTILE])
    one = Estimate(1.0, 0.0, 2.0, method=HOSTILE, assumes=HOSTILE)
    page.numbers(
        [(HOSTILE, one, HOSTILE), ("word", HOSTILE, "")],
        caption=HOSTILE,
        beside={HOSTILE: one},
        beside_name=HOSTILE,
    )
    page.table([HOSTILE], [(HOSTILE,)], caption=HOSTILE)
    for chart in (
        Curves([Line(HOSTILE, [0, 1], [0, 1])], Axis(HOSTILE), Axis(HOSTILE)),
        Bars([HOSTILE], [1.0], Axis(HOSTILE)),
        Histogram([0, 1], {HOSTILE: [3]}, Axis(HOSTILE)),
        Panels({HOSTILE: [Line("", [0, 1], [0, 1])]}, Axis(HOSTILE)),
    ):
        page.figure(chart, HOSTILE, HOSTILE).figure(chart)
    page.data(HOSTILE, {HOSTILE: [HOSTILE]})
    told = page.html()
    told.encode("utf-8")  # no half of a pair, whatever a file name held
    seen = Seen(told)
    assert not seen.names & {"img", "b", "iframe"}
    assert sum(tag == "script" for tag, _ in seen.tags) == 1
    assert not set("<>&") & set(seen.by_tag["script"][0])  # nothing there can close or open
    assert not [name for _, held in seen.tags for name in held if name.startswith("on")]
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert seen.json["title"] == shown
    assert shown in "".join(seen.by_tag["h1"])
    assert "\x00" not in told


def test_the_same_results_are_the_same_bytes():
    assert small().html() == small().html()
    assert small().html() != small("precision").html()


def test_backticks_are_code_and_an_odd_one_is_a_backtick():
    page = Report("t").text("run `scarce <x>` now").text("a ` alone")
    told = page.html()
    assert "run <code>scarce &lt;x&gt;</code> now" in told
    assert "<p>a ` alone</p>" in told


def test_words_of_a_command_are_not_broken_at_their_hyphens():
    command = "scarce report m.scarce may.csv --label fraud --false-alarm 5 --out out/a-b.html"
    page = Report("t", asked=command).text(f"Type `{command}`.").code(command)
    seen = Seen(page.html())
    whole = [text for text in seen.by_tag["span"] if "-" in text]
    assert whole == 3 * ["--label", "--false-alarm", "--out", "out/a-b.html"]
    assert seen.by_tag["code"][:3] == [command] * 3  # what is copied is what was typed
    assert re.search(r"\.whole \{[^}]*inline-block", style())


def test_wide_tables_are_stacked_on_a_telephone_and_small_ones_are_not():
    page = Report("t").table(["setting", "value"], [("ridge", 1.0), ("a" * 60, 0.5)])
    wide = ["column", "coefficient", "low", "high"]
    page.table(wide, [("x" * 52, -0.000948, -0.00279, 0.000897), ("7", 1.0, 0.0, 2.0)])
    seen = Seen(page.html())
    tables = [held["class"] for tag, held in seen.tags if tag == "table"]
    assert tables == ["plain", "stacked"]
    cells = [held.get("data-name") for tag, held in seen.tags if tag in ("td", "th")]
    named = [name for name in cells if name]  # a row that is named by a number says of what
    assert named == ["coefficient", "low", "high", "column", "coefficient", "low", "high"]
    narrow = style()[style().index("@media (max-width") : style().index("@media print")]
    assert "content: attr(data-name)" in narrow
    for part in (".stacked tbody td", ".plain tbody th"):
        assert part in narrow


def test_paper_keeps_together_what_belongs_together():
    paper = style()[style().index("@media print") :]
    tall = float(re.search(r"\.chart \{ max-height: (\d+)mm", paper)[1])
    assert tall < 297 - 2 * 16 - 40  # a chart and its caption fit a page
    after = re.search(r"\n  ([^\n]*) \{ break-after: avoid; \}", paper)[1]
    assert {"h2", "h3", ".caption", ".lead", "thead"} <= set(after.split(", "))
    inside = re.search(r"\n  ([^\n]*) \{ break-inside: avoid; \}", paper)[1]
    assert {"figure", "tr", "li", ".caption"} <= set(inside.split(", "))
    assert "table" not in inside
    assert "orphans" in paper
    page = Report("t").section("s").text("All of them:").text("No list.")
    assert '<p class="lead">All of them:</p>' in page.html()


def test_parts_before_any_section_are_kept():
    page = Report("t").text("first")
    assert page.to_dict()["sections"] == [
        {"title": "", "parts": [{"kind": "text", "text": "first"}]}
    ]
    assert "first" in "".join(Seen(page.html()).texts)


def test_long_tables_are_cut_and_say_so():
    page = Report("t").table(["a", "b"], ((i, "x" * 20) for i in range(30_000)))
    told = page.html()
    assert "29,500 more rows are not shown" in told
    assert len(told) < 200_000
    assert page.to_dict()["sections"][0]["parts"][0]["left_out"] == 29_500


def test_columns_of_numbers_stand_right_and_words_left():
    seen = Seen(Report("t").table(["word", "n"], [("a", 1), ("b", None)]).html())
    heads = [held["class"] for tag, held in seen.tags if tag == "th" and held["scope"] == "col"]
    assert heads == ["l", "r"]
    page = Report("t").table(["s"], [(0.25,)], percent=["s"])
    assert "25 %" in page.html()
    assert page.to_dict()["sections"][0]["parts"][0]["rows"] == [[0.25]]


@pytest.mark.parametrize(
    ("act", "word"),
    [
        (lambda page: page.table(["a", "b"], [(1, 2), (1,)]), "Row 1"),
        (lambda page: page.table(["a"], [(1,)], align="lr"), "align"),
        (lambda page: page.data("x", object()), "object"),
        (lambda page: page.table(["a"], [(object(),)]), "object"),
    ],
)
def test_what_cannot_stand_on_a_page_is_refused_when_it_is_added(act, word):
    page = Report("t").section("s")
    with pytest.raises(UsageError, match=re.escape(word)):
        act(page)


def test_writing_keeps_what_is_there_unless_told(tmp_path):
    target = tmp_path / "r.html"
    page = small()
    assert page.write(target) == target
    assert target.read_text(encoding="utf-8") == page.html()
    with pytest.raises(UsageError, match="exists already"):
        small("precision").write(target)
    assert target.read_text(encoding="utf-8") == page.html()
    small("precision").write(target, force=True)
    assert "precision" in target.read_text(encoding="utf-8")


def test_a_failed_write_leaves_the_old_page_and_no_rest(tmp_path, monkeypatch):
    target = tmp_path / "r.html"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match="no room"):
        small().write(target, force=True)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


# --- looks ----------------------------------------------------------------------------------------


def style() -> str:
    return (files("scarce.report") / "page.css").read_text(encoding="utf-8")


def variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block))


def schemes() -> dict[str, dict[str, str]]:
    text = style()
    light = variables(text[: text.index("@media")])
    dark = variables(text[text.index("prefers-color-scheme: dark") : text.index("* {")])
    paper = variables(text[text.index("@media print") :])
    return {"light": light, "dark": dark, "print": paper}


def contrast(a: str, b: str) -> float:
    """As WCAG 2.2 defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        lin = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2]

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_known_where_it_is_known():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", ["light", "dark", "print"])
def test_every_scheme_names_every_colour_and_can_be_read(name: str):
    scheme = schemes()[name]
    assert set(scheme) == set(schemes()["light"])
    for text in ("ink", "muted", "link"):
        assert contrast(scheme[text], scheme["paper"]) >= 4.5, text
        assert contrast(scheme[text], scheme["soft"]) >= 4.5, text
    assert contrast(scheme["alarm"], scheme["alarm-soft"]) >= 4.5
    assert contrast(scheme["ink"], scheme["alarm-soft"]) >= 4.5
    for line in ("c1", "c2", "c3", "c4", "muted"):
        assert contrast(scheme[line], scheme["paper"]) >= 3.0, line


def test_every_class_that_is_drawn_has_a_style():
    seen = Seen(small().html())
    used = {name for held in seen.attributes("class") for name in held.split()}
    plain = {"l", "value", "name", "key", "numbers", "none", "warnings"}
    for name in used - plain:
        assert re.search(rf"\.{name}\b", style()), name
