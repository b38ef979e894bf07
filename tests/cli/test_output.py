"""What the verbs share: the JSON form, tables, and progress that only a terminal sees."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from scarce.cli.output import emit, progress, say, table, terminal_width
from scarce.results import Estimate

Captured = pytest.CaptureFixture[str]


def test_emit_writes_json_or_a_table_or_what_show_writes(capsys: Captured):
    recall = Estimate(0.62, 0.48, 0.74, level=0.9, method="audit")
    result = {"recall": recall, "rows": np.array([1, 2])}
    emit(result, json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["ok"]) == (1, True)
    assert found["result"]["recall"]["high"] == 0.74
    emit(result, json=False)
    assert capsys.readouterr().out == "recall  0.62 [0.48, 0.74] (90 %, audit)\nrows    [1,2]\n"
    emit(result, json=False, show=lambda: table([("a", "b")]))
    assert capsys.readouterr().out == "a  b\n"
    emit({}, json=False)
    assert capsys.readouterr().out == ""


def test_say_is_on_stderr(capsys: Captured):
    say("Read 12 rows.")
    assert capsys.readouterr() == ("", "Read 12 rows.\n")


def test_plain_table_is_aligned(capsys: Captured):
    table([("a", "1"), ("long", "22")], columns=("name", "n"), title="Title")
    assert capsys.readouterr().out == "Title\n  name  n\n  a     1\n  long  22\n"


def test_progress_is_silent_off_a_terminal(capsys: Captured):
    with progress("Fitting", after=0.0) as tick:
        tick(0, 2)
        tick(1, 2)
    assert capsys.readouterr() == ("", "")


# --- on a terminal --------------------------------------------------------------------------------


def on_terminal(code: str, **environment: str) -> str:
    """Run code with stdout and stderr on a terminal of 80 columns; return what it shows."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    known = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    wanted = {"TERM": "xterm-256color", "COLUMNS": "80", **environment}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs, env=known | wanted
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # how a pseudo terminal says that the other side is closed
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0, shown.decode()
    return shown.decode()


STEPS = (
    "import time\n"
    "from scarce.cli.output import progress\n"
    "with progress('Fitting [grid]', after={after}) as tick:\n"
    "    for done in range(3):\n"
    "        time.sleep({step})\n"
    "        tick(done + 1, 20)\n"
    "    time.sleep({step})\n"
)


def test_progress_draws_a_bar_with_time_left_and_wipes_it():
    shown = on_terminal(STEPS.format(after=0.0, step=0.4))
    assert "Fitting [grid]" in shown
    assert "1 s so far" in shown  # before the first step is done
    assert " 15 %" in shown
    assert " s left" in shown
    assert shown.endswith("\x1b[2K")


def test_words_stand_above_the_bar_and_not_on_it():
    shown = on_terminal(
        "import time\nfrom scarce.cli.output import progress, say\n"
        "with progress('Reading', after=0.1) as tick:\n    tick(4, 4)\n    time.sleep(0.6)\n"
        "    say('Label [y]: 1 is an event.')\n    time.sleep(0.5)\nsay('After.')\n"
    )
    assert "\x1b[2KLabel [y]: 1 is an event." in shown  # the line was wiped for it
    assert "Reading: done, going on" in shown
    assert shown.endswith("After.\r\n")


def test_a_step_is_named_where_it_has_words():
    shown = on_terminal(
        "import time\nfrom scarce.cli.output import progress\n"
        "with progress('Fitting', after=0.1) as tick:\n"
        "    tick(3, 9, 'boosting, fit 3 of 9')\n    time.sleep(0.6)\n"
    )
    assert "Fitting: boosting, fit 3 of 9" in shown


def test_a_step_that_never_ends_still_shows_the_time():
    shown = on_terminal(
        "import time\nfrom scarce.cli.output import progress\n"
        "with progress('Fitting', after=0.1):\n    time.sleep(1.3)\n"
    )
    assert "1 s so far" in shown
    assert "2 s so far" in shown


def test_progress_of_quick_work_draws_nothing():
    assert on_terminal(STEPS.format(after=2.0, step=0)) == ""


TABLE = (
    "from scarce.cli.output import table\n"
    "table([('dask', \"pip install 'scarce[dask]'\")], title='Parts', columns=('part', 'state'))\n"
)


def test_table_on_a_terminal_is_coloured_unless_told_not_to():
    shown = on_terminal(TABLE)
    assert "\x1b[36m" in shown
    assert "pip install 'scarce[dask]'" in shown
    assert "\x1b[36m" not in on_terminal(TABLE, NO_COLOR="1")


WIDE = (
    "from scarce.cli.output import table\n"
    "rows = [('calibration loss', '0.01423', '0.01361 to 0.01486', ''),\n"
    "        ('log loss', '0.09', 'a word and another and another, over 40', '0.0743')]\n"
    "table(rows, columns=('', 'value', '90 % interval', 'constant'), title='p.csv ' * 9)\n"
)


@pytest.mark.parametrize("told", [{}, {"NO_COLOR": "1"}])
def test_a_table_wider_than_a_narrow_terminal_is_written_row_by_row(told):
    shown = re.sub("\x1b\\[[0-9;]*m", "", on_terminal(WIDE, COLUMNS="40", **told))
    assert shown.splitlines() == [
        "p.csv p.csv p.csv p.csv p.csv p.csv",
        "p.csv p.csv p.csv",
        "",
        "calibration loss",
        "  value: 0.01423",
        "  90 % interval: 0.01361 to 0.01486",
        "",
        "log loss",
        "  value: 0.09",
        "  90 % interval: a word and another and",
        "    another, over 40",
        "  constant: 0.0743",
    ]
    assert "\n  value: 0.01423" not in on_terminal(WIDE, COLUMNS="60", **told).replace("\r", "")


def test_names_and_values_of_a_narrow_terminal_keep_words_whole():
    path = "x" * 50
    code = f"from scarce.cli.output import table\ntable([('a', 'b c'), ('place', '{path} end')])\n"
    shown = re.sub("\x1b\\[[0-9;]*m", "", on_terminal(code, COLUMNS="40"))
    assert shown.splitlines() == ["a: b c", "place:", f"  {path}", "  end"]


def test_a_table_that_fits_a_narrow_terminal_stays_one():
    code = "from scarce.cli.output import table\ntable([('a', 'b'), ('c', 'd')], columns='xy')\n"
    assert "x: a" not in on_terminal(code, COLUMNS="40")


def test_the_width_of_what_is_no_terminal_is_that_of_a_page(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    assert terminal_width() == 80


def test_error_word_is_red_on_a_terminal_unless_told_not_to():
    code = (
        "from scarce.cli.main import scarce\n"
        "try:\n    scarce(['docter'], prog_name='scarce')\n"
        "except SystemExit as end:\n    assert end.code == 2\n"
    )
    assert on_terminal(code).startswith("scarce: \x1b[31m\x1b[1merror\x1b[0m: There is no verb")
    assert on_terminal(code, NO_COLOR="1").startswith("scarce: There is no verb")
