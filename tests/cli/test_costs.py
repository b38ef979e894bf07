"""Costs as typed on a command line, and the matrix that they mean."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from scarce import CostMatrix, DataError, UsageError
from scarce.cli.costs import COSTS, CostFlags
from scarce.cli.options import takes
from tests.problems import refused, warned


def typed(*words: str, settings: dict[str, str] | None = None, **more: bool) -> CostFlags:
    """What a command receives for these words, and settings of a file."""
    seen = []

    @click.command()
    @takes(COSTS)
    @click.option("--other")
    def verb(costs: CostFlags, other: str | None) -> None:
        seen.append(costs)

    done = CliRunner().invoke(
        verb, words, catch_exceptions=False, default_map=settings or {}, **more
    )
    assert done.exit_code == 0, done.output
    return seen[0]


def test_a_command_receives_one_argument():
    flags = typed("--false-alarm", "5", "--miss", "amount", "--abstain", "3", "--other", "x")
    assert flags == CostFlags(false_alarm="5", miss="amount", abstain="3")
    assert flags.given
    assert flags.columns == ("amount",)


def test_no_flag_is_no_costs():
    flags = typed()
    assert (flags.given, flags.columns, flags.matrix()) == (False, (), None)
    flags.check()


def test_flags_are_the_matrix_of_the_library():
    words = ["--false-alarm", "5", "--miss", "400", "--hit", "-2", "--correct-rejection", "0.5"]
    told = typed(*words, "--abstain", "3").matrix(classes=("legit", "fraud"))
    same = CostMatrix.binary(
        false_alarm=5, miss=400, hit=-2, correct_rejection=0.5, classes=("legit", "fraud")
    ).with_abstain(3)
    assert np.array_equal(told.costs, same.costs)
    assert told.classes == ("legit", "fraud")
    assert told.actions == ("pass", "act", "abstain")


def test_actions_are_called_as_the_user_does():
    names = ["--act", "block", "--pass", "let through", "--abstain-name", "ask"]
    told = typed("--false-alarm", "5", "--miss", "400", "--abstain", "3", *names).matrix()
    assert told.actions == ("let through", "block", "ask")
    assert told.costs.tolist() == [[0, 400], [5, 0], [3, 3]]


def test_costs_by_row_are_bound_to_a_table():
    flags = typed("--false-alarm", "fee", "--miss", "0.8 * amount + 15")
    assert flags.columns == ("amount", "fee")
    assert (flags.option("fee"), flags.option("amount")) == ("--false-alarm", "--miss")
    bound = flags.matrix((0, 1), {"amount": [10.0, 100.0], "fee": [1.0, 2.0]})
    assert bound.at()[:, 0, 1].tolist() == [23.0, 95.0]
    assert bound.at()[:, 1, 0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["Betrag in €", "amount-2", "0.8 * x", "a/b", "100 %", "x + 1"])
def test_a_columns_own_name_wins_over_its_reading_as_a_formula(name):
    flags = CostFlags(false_alarm="1", miss=name).among(["id", name])
    assert flags.columns == (name,)
    assert flags.option(name) == "--miss"
    assert flags.matrix((0, 1), {name: [3.0, 4.0]}).entry("pass", 1).tolist() == [3.0, 4.0]


def test_a_number_stays_a_number_beside_a_column_of_that_name():
    flags = CostFlags(false_alarm="1", miss="2024")
    assert flags.among(["2024"]) is flags


@pytest.mark.parametrize(
    ("settings", "words", "kept"),
    [
        ({"miss": "7"}, ["--costs", "c.toml"], {"file": "c.toml"}),
        ({"abstain": "7", "act": "x"}, ["--costs", "c.toml"], {"file": "c.toml"}),
        ({"costs": "c.toml"}, ["--miss", "4"], {"miss": "4"}),
        ({"costs": "c.toml"}, ["--abstain", "4"], {"file": "c.toml", "abstain": "4"}),
        ({"miss": "7", "act": "x"}, ["--false-alarm", "4"],
         {"miss": "7", "act": "x", "false_alarm": "4"}),
        ({"act": "x", "pass": "y"}, [], {}),
        ({}, ["--act", "x"], {"act": "x"}),
        ({"false_alarm": "1", "miss": "2"}, ["--miss", "3"], {"false_alarm": "1", "miss": "3"}),
    ],
)  # fmt: skip
def test_what_is_typed_wins_over_settings(settings, words, kept):
    assert typed(*words, settings=settings) == CostFlags(**kept)


def test_settings_that_contradict_each_other_are_data():
    with refused("argument-conflict", DataError, other="miss"):
        typed(settings={"costs": "c.toml", "miss": "4"})


@pytest.mark.parametrize("text", ["nan", "inf", "-1e999", "1e308"])
def test_what_is_no_cost_is_refused_when_typed(text):
    with pytest.raises(click.BadParameter):
        typed("--false-alarm", "1", "--miss", text, standalone_mode=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_without_names_is_like_the_flags(folder):
    (folder / "c.toml").write_text('false_alarm = 5\nmiss = "amount"\nabstain = 3\n')
    from_file = CostFlags(file="c.toml")
    from_flags = CostFlags(false_alarm="5", miss="amount", abstain="3")
    classes = ("legit", "fraud")
    assert from_file.matrix(classes).to_dict() == from_flags.matrix(classes).to_dict()
    assert from_file.option("amount") == "--costs c.toml"
    renamed = CostFlags(file="c.toml", act="block", abstain_name="ask").matrix()
    assert renamed.actions == ("pass", "block", "ask")


def test_classes_of_a_file_are_put_in_the_order_of_the_probabilities(folder):
    (folder / "c.csv").write_text("action,fraud,legit\npass,400,0\nblock,0,5\n")
    told = CostFlags(file="c.csv").matrix(np.array(["legit", "fraud"]))
    assert told.classes == ("legit", "fraud")
    assert told.actions == ("pass", "block")
    assert told.costs.tolist() == [[0, 400], [5, 0]]


@pytest.mark.parametrize("classes", [("0", "1"), (0, 1), (0.0, 1.0), np.array([0, 1])])
def test_one_and_the_word_one_are_the_same_class(folder, classes):
    (folder / "c.csv").write_text("action,1,0\n1,0,5\n0,400,0\nask,3,3\n")
    told = CostFlags(file="c.csv").matrix(classes)
    assert told.classes == tuple(classes)
    assert told.entry(told.classes[0], told.classes[1]) == 400
    assert told.entry(told.classes[1], told.classes[0]) == 5


def test_abstain_beside_a_file(folder):
    (folder / "c.csv").write_text("action,a,b,c\na,0,1,9\nb,1,0,9\nc,1,1,0\n")
    told = CostFlags(file="c.csv", abstain="0.2", abstain_name="ask").matrix(("c", "b", "a"))
    assert told.actions == ("a", "b", "c", "ask")
    assert told.costs[-1].tolist() == [0.2] * 3
    assert told.costs[0].tolist() == [9, 1, 0]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"miss": "400"}, "missing-cost"),
        ({"false_alarm": "4"}, "missing-cost"),
        ({"abstain": "3"}, "missing-cost"),
        ({"act": "block"}, "no-costs"),
        ({"false_alarm": "1", "miss": "nan"}, "cost-value"),
        ({"false_alarm": "1", "miss": "inf"}, "cost-value"),
        ({"false_alarm": "1", "miss": "3 * €"}, "cost-value"),
        ({"false_alarm": "1", "miss": "9", "abstain": "a $"}, "cost-value"),
        ({"false_alarm": "1", "miss": "9", "act": "x", "let_pass": "x"}, "duplicate-name"),
        ({"false_alarm": "1", "miss": "9", "act": " "}, "missing-name"),
        ({"false_alarm": "1", "miss": "9", "abstain_name": "ask"}, "no-abstain"),
        ({"file": "c.toml", "miss": "9"}, "argument-conflict"),
        ({"file": "c.txt"}, "unknown-file-type"),
        ({"file": "full.toml", "abstain": "3"}, "duplicate-name"),
        ({"file": "named.csv", "act": "x"}, "argument-conflict"),
    ],
)
def test_flags_that_cannot_work_together(folder, flags, code):
    (folder / "full.toml").write_text("false_alarm = 5\nmiss = 400\nabstain = 3\n")
    (folder / "named.csv").write_text("action,fraud,legit\npass,400,0\nblock,0,5\n")
    with refused(code, UsageError):
        CostFlags(**flags).check()


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("c.toml", "miss = 3", "missing-argument"),
        ("c.toml", "miss = inf\nfalse_alarm = 1", "not-finite"),
        ("c.toml", f"miss = {10**400}\nfalse_alarm = 1", "file-unreadable"),
        ("c.toml", f"miss = {'[' * 5000}", "file-unreadable"),
        ("c.toml", "\0", "toml-syntax"),
        ("c.toml", f"miss = {'9' * 5001}\nfalse_alarm = 1", "toml-syntax"),
        ("c.csv", "action,a,a\nx,1,2\ny,3,4\n", "duplicate-name"),
        ("c.csv", "action,a,b\nx,1,nan\ny,3,4\n", "not-finite"),
        ("c.csv", "", "costs-shape"),
        ("none.csv", None, "file-unreadable"),
    ],
)
def test_what_a_file_holds_is_data(folder, name, text, code):
    if text is not None:
        (folder / name).write_text(text)
    with refused(code, DataError) as seen:
        CostFlags(file=name).check()
    assert name in str(seen.value)


def test_other_classes_than_those_of_the_data(folder):
    (folder / "c.csv").write_text("action,fraud,legit\npass,400,0\nblock,0,5\n")
    flags = CostFlags(file="c.csv")
    with refused("unknown-class", DataError, name="fraud", classes="0, 1"):
        flags.matrix((0, 1))
    with refused("class-count", DataError, given=2, count=3, classes="a, b, c"):
        flags.matrix(("a", "b", "c"))
    with refused("class-count", UsageError, count=3, classes="a, b, c"):
        CostFlags(false_alarm="1", miss="2").matrix(("a", "b", "c"))


@pytest.mark.parametrize(
    ("flags", "seen"),
    [
        ({"hit": "9"}, {"right": "--hit", "right_cost": 9, "wrong": "--miss", "wrong_cost": 4}),
        ({"correct_rejection": "2"}, {"right": "--correct-rejection", "wrong": "--false-alarm"}),
    ],
)
def test_a_mistake_that_would_pay_is_said_in_flags(flags, seen):
    with warned("right-costs-more", **seen) as found:
        CostFlags(false_alarm="1", miss="4", **flags).check()
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2,5", " 2.5."),
        ("1,000", "1000"),
        ("", "--miss"),
        ("400 EUR", "400"),
        ("$400", " 400."),
        ("4 amount", "'4 * amount'"),
        ("amount / 2", "'0.8 * amount + 15'"),
    ],
)
def test_costs_as_people_write_them_get_the_way_to_type_them(text, shown):
    with refused("cost-value", UsageError) as seen:
        CostFlags(false_alarm="1", miss=text).check()
    assert shown in str(seen.value)


def test_asking_that_earns_is_said():
    with warned("negative-abstain", cost=-1.0):
        CostFlags(false_alarm="1", miss="4", abstain="-1").check()
    CostFlags(false_alarm="1", miss="4", hit="-2", abstain="-1").check()


def test_a_file_with_a_mark_of_its_encoding(folder):
    Path("c.csv").write_text("action,0,1\npass,0,4\nact,1,0\n", encoding="utf-8-sig")
    assert CostFlags(file="c.csv").matrix((0, 1)).actions == ("pass", "act")


def test_a_column_that_is_negative_is_said_when_bound():
    flags = CostFlags(false_alarm="1", miss="amount")
    with warned("mistake-earns", count=1, row=1):
        told = flags.matrix((0, 1), {"amount": [4.0, -3.0]})
    assert told.actions == ("pass", "act")
