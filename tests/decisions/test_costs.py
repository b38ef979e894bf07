"""Costs: read as written, refused by place, thresholds in closed form against brute force."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scarce import CostMatrix, DataError, DataWarning, UsageError, decide, expected_cost
from scarce.decisions.cost_entries import Amount
from scarce.decisions.costs import as_costs, order_matters
from tests.problems import refused, warned

WHOLE = st.integers(0, 12)


def brute_force(costs, p):
    """Cheapest action by exact arithmetic, first on ties."""
    p = Fraction(p)
    sums = [(1 - p) * Fraction(float(c0)) + p * Fraction(float(c1)) for c0, c1 in costs]
    return sums.index(min(sums))


@given(st.lists(st.tuples(WHOLE, WHOLE), min_size=2, max_size=5), st.integers(0, 64))
@settings(max_examples=300, deadline=None)
def test_property_two_classes_against_exact_arithmetic_with_ties_and_zeros(rows, sixty_fourth):
    p = sixty_fourth / 64  # every product and sum below is exact in double precision
    matrix = CostMatrix([list(row) for row in rows], actions=list("abcde"[: len(rows)]))
    best = brute_force(rows, p)
    assert decide([p], matrix)[0] == "abcde"[best]
    bands = matrix.thresholds()
    inside = ["abcde".index(a) for a in bands.actions if bands[a][0] <= p <= bands[a][1]]
    assert best in inside or any(
        brute_force(rows, e) in inside for e in (max(0, p - 1e-9), min(1, p + 1e-9))
    )


@given(
    st.floats(0.01, 100),
    st.floats(0.01, 100),
    st.floats(1e-3, 60),
    st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=300, deadline=None)
def test_property_the_abstain_band_is_the_closed_form(false_alarm, miss, abstain, p):
    costs = CostMatrix.binary(false_alarm=false_alarm, miss=miss).with_abstain(abstain)
    plain = false_alarm / (false_alarm + miss)
    exists = abstain < false_alarm * miss / (false_alarm + miss)
    low = abstain / miss if exists else plain
    high = 1 - abstain / false_alarm if exists else plain
    if min(abs(p - low), abs(p - high), abs(low - high)) < 1e-9:
        return  # rounding may decide there
    wanted = 0 if p < low else "abstain" if p < high else 1
    assert decide([p], costs)[0] == wanted
    found = costs.thresholds()
    assert ("abstain" in found) == exists
    assert found[0] == (0.0, pytest.approx(low, rel=1e-12))
    assert found[1] == (pytest.approx(high, rel=1e-9, abs=1e-12), 1.0)


def test_abstaining_never_pays_from_one_half_on():
    """003 section 0.5 prints P(y | x) >= 1 - c, which both classes meet where c >= 1/2."""
    p = np.linspace(0, 1, 101)
    both = (p >= 1 - 0.6) & (1 - p >= 1 - 0.6)
    assert both.mean() == pytest.approx(0.2, abs=0.02)  # the printed rule contradicts itself there
    for cost, used in ((0.49, True), (0.5, False), (0.6, False)):
        costs = CostMatrix.zero_one(2).with_abstain(cost)
        actions = decide(p, costs)
        assert ("abstain" in actions) == used
        assert ("abstain" in costs.thresholds()) == used
    assert (
        str(costs.idle()[0]) == "'abstain' is never the cheapest: it would have to cost 0.1 less."
    )
    three = CostMatrix.zero_one(3)
    assert three.with_abstain(0.66).idle() == ()
    assert three.with_abstain(0.68).idle()[0].excess == pytest.approx(0.68 - 2 / 3, abs=1e-9)


def test_of_two_equal_actions_the_first_has_the_band():
    found = CostMatrix([[0, 9], [0, 9], [1, 0]], actions=["no", "wait", "yes"]).thresholds()
    assert found.actions == ("no", "yes")
    assert str(found.idle[0]) == "'wait' is never the cheapest: 'no' costs no more in any class."
    with refused("unknown-action", UsageError, action="wait"):
        found["wait"]


def test_thresholds_by_row_are_those_of_each_row():
    rng = np.random.default_rng(0)
    miss, look = rng.uniform(1, 500, 40), rng.uniform(0, 8, 40)
    costs = CostMatrix.binary(false_alarm=5, miss=miss).with_abstain(look)
    found = costs.thresholds()
    for row in range(40):
        alone = CostMatrix.binary(false_alarm=5, miss=miss[row]).with_abstain(look[row])
        bands = alone.thresholds()
        for action in costs.actions:
            low, high = (end[row] for end in found[action])
            if action in bands:
                assert (low, high) == pytest.approx(bands[action])
            else:
                assert np.isnan([low, high]).all()


def test_dominated_actions_are_named_and_change_nothing():
    rng = np.random.default_rng(1)
    prob = rng.dirichlet([1, 1, 1], 500)
    for _ in range(30):
        fixed = rng.integers(0, 9, (3, 3)).astype(float)
        worse = fixed[1] + rng.integers(0, 3, 3)
        names = ["a", "b", "c"]
        more = CostMatrix([*fixed, worse], actions=[*names, "d"], classes=list("xyz"))
        assert "d" in more.dominated()
        plain = decide(prob, CostMatrix(fixed, actions=names, classes=list("xyz")))
        np.testing.assert_array_equal(decide(prob, more), plain)


def test_an_action_above_a_mix_of_others_is_idle_though_none_dominates_it():
    costs = CostMatrix([[0, 10], [10, 0], [6, 6]], actions=["no", "yes", "ask"])
    assert costs.dominated() == {}
    (idle,) = costs.idle()
    assert (idle.action, idle.by) == ("ask", None)
    assert idle.excess == pytest.approx(1.0)  # the others cost 5 where they cross
    assert "ask" not in set(decide(np.linspace(0, 1, 999), costs))


def test_the_right_action_dearer_than_the_wrong_one_is_warned_of_by_pair():
    with warned("right-costs-more", label="ham", right="3", wrong_action="spam"):
        CostMatrix([[3, 1], [0, 0]], classes=["ham", "spam"])
    gains = CostMatrix.binary(false_alarm=1, miss=5, hit=-2)  # a gain is fine
    assert gains.thresholds()[1][0] == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("costs", "kwargs", "message"),
    [
        ([[0, np.nan], [1, 0]], {}, ("not-finite", {"action": 0, "label": 1})),
        ([[0, 1], [np.inf, 0]], {}, ("not-finite", {"action": 1, "label": 0})),
        ([[0, 1, 2], [1, 0]], {}, ("costs-shape", {"lengths": [3, 2]})),
        ([0, 1], {}, ("costs-shape", {})),
        (np.zeros(4), {}, ("costs-shape", {"shape": (4,)})),
        (np.zeros((1, 2)), {}, ("costs-shape", {"shape": (1, 2)})),
        (np.zeros((2, 1)), {}, ("costs-shape", {"shape": (2, 1)})),
        (
            np.zeros((3, 2)),
            {},
            ("names-needed", {"n_actions": 3, "n_classes": 2, "actions": "actions"}),
        ),
        (
            np.zeros((3, 2)),
            {"actions": ["a", "b"]},
            ("length-mismatch", {"found": 2, "count": 3, "side": "rows"}),
        ),
        (np.zeros((2, 2)), {"actions": ["a", "a"]}, ("duplicate-name", {"name": "a"})),
        (np.zeros((2, 2)), {"classes": "ab"}, ("names-type", {})),
        (np.zeros((2, 2)), {"classes": ["a", None]}, ("missing-name", {})),
        ([[0, {}], [1, 0]], {}, ("cost-type", {"action": 0, "label": 1})),
        ([[0, "2 * * x"], [1, 0]], {}, ("cost-text", {})),
        ([[0, np.array([1.0, np.nan])], [1, 0]], {}, ("not-finite", {"count": 1, "row": 1})),
        ([[0, np.ones(3)], [np.ones(4), 0]], {}, ("length-mismatch", {})),
        (np.full((2, 2, 2), np.nan), {}, ("not-finite", {"place": [0, 0, 0]})),
        (np.zeros((0, 2, 2)), {}, ("no-rows", {})),
        ([[[0, 1], [1, 0]], [[0, 1], [1]]], {}, ("costs-type", {})),
    ],
)
def test_costs_that_make_no_sense_are_refused_by_place(costs, kwargs, message):
    with refused(message[0], **message[1]):
        CostMatrix(costs, **kwargs)


def test_costs_by_row_in_every_form_are_the_same():
    amount = np.array([10.0, 2000.0, 30.0])
    cube = np.zeros((3, 2, 2))
    cube[:, 0, 1], cube[:, 1, 0] = 0.8 * amount + 15, 5.0
    forms = [
        CostMatrix.binary(false_alarm=5, miss="0.8 * amount + 15").bind({"amount": amount}),
        CostMatrix.binary(false_alarm=5, miss=0.8 * amount + 15),
        CostMatrix.per_row(false_alarm=5, miss=0.8 * amount + 15),
        CostMatrix.per_row({(0, 1): 0.8 * amount + 15, (1, 0): 5}, actions=[0, 1], classes=[0, 1]),
        CostMatrix(cube),
        CostMatrix(cube.tolist()),
        as_costs(cube),
        CostMatrix.binary(false_alarm=5, miss=Amount("amount", 0.8, 15.0)).bind(
            pd.DataFrame({"amount": amount})
        ),
        CostMatrix.binary(false_alarm=5, miss="0.8 * amount + 15").bind(
            pa.table({"amount": amount})
        ),
    ]
    for costs in forms:
        assert costs.n_rows == 3
        np.testing.assert_allclose(costs.at(0, 3), cube)
        np.testing.assert_allclose(costs.take([2, 0]).at(0, 2), cube[[2, 0]])
        again = pickle.loads(pickle.dumps(costs))
        np.testing.assert_array_equal(again.at(0, 3), costs.at(0, 3))


def test_abstaining_costs_one_number_one_per_class_or_one_per_row():
    base = CostMatrix.zero_one(["a", "b", "c"])
    np.testing.assert_array_equal(base.with_abstain(0.2).costs[3], [0.2] * 3)
    np.testing.assert_array_equal(base.with_abstain([0.1, 0.2, 0.3]).costs[3], [0.1, 0.2, 0.3])
    by_class = base.with_abstain({"c": 0.3, "a": 0.1, "b": 0.2})
    np.testing.assert_array_equal(by_class.costs[3], [0.1, 0.2, 0.3])
    rows = base.with_abstain(np.linspace(0, 1, 5), name="ask")
    assert rows.n_rows == 5
    assert rows.actions[-1] == "ask"
    np.testing.assert_array_equal(rows.at(0, 5)[:, 3], np.linspace(0, 1, 5)[:, None].repeat(3, 1))
    both = np.arange(15.0).reshape(5, 3)
    np.testing.assert_array_equal(base.with_abstain(both).at(0, 5)[:, 3], both)
    assert base.with_abstain("review_cost").columns == ("review_cost",)
    with refused("duplicate-name", UsageError, action="a"):
        base.with_abstain(1, name="a")
    with refused("ambiguous-cost", UsageError):
        base.with_abstain(np.ones((3, 3))).with_abstain([1, 2, 3], name="ask")
    with refused("missing-class", UsageError):
        base.with_abstain({"a": 1})


def test_classes_are_matched_by_name_and_costs_without_names_by_position():
    named = CostMatrix(
        [[0, "loss"], [5, 0], [3, 3]], actions=["pass", "stop", "ask"], classes=["ok", "bad"]
    )
    turned = named.with_classes(["bad", "ok"])
    np.testing.assert_array_equal(
        turned.bind({"loss": [7.0]}).at(0, 1)[0], [[7, 0], [0, 5], [3, 3]]
    )
    plain = CostMatrix.binary(false_alarm=1, miss=2).with_abstain(0.5).with_classes(["x", "y"])
    assert plain.actions == ("x", "y", "abstain")
    assert plain.classes == ("x", "y")
    with refused("unknown-class", UsageError, name="worse"):
        named.with_classes(["bad", "worse"])
    with refused("class-mismatch", UsageError, count=2):
        named.with_classes(["a", "b", "c"])


def test_amounts_that_are_not_there_are_asked_for():
    costs = CostMatrix.binary(false_alarm=5, miss="amount")
    with refused("unbound-column", UsageError):
        decide([0.1], costs)
    with refused("unknown-column", DataError):
        costs.bind({"amont": [1.0]})
    with refused("shape-mismatch", DataError):
        costs.bind(np.ones((3, 2)))
    with refused("length-mismatch", DataError, rows="2 rows", cost_rows=3):
        decide([0.1, 0.2], costs.bind([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "action,legit,fraud\npass,0,amount\nblock,5,0\nask,3,3\n"),
        ("a.tsv", "action\tlegit\tfraud\npass\t0\tamount\nblock\t5\t0\nask\t3\t3\n"),
        (
            "a.toml",
            'classes = ["legit", "fraud"]\n[costs.pass]\nlegit = 0\nfraud = "amount"\n'
            "[costs.block]\nfraud = 0\nlegit = 5\n[costs.ask]\nlegit = 3\nfraud = 3.0\n",
        ),
    ],
)
def test_files_of_costs(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    costs = CostMatrix.read(tmp_path / name)
    assert costs.to_dict() == {
        "actions": ["pass", "block", "ask"],
        "classes": ["legit", "fraud"],
        "costs": [[0.0, "amount"], [5.0, 0.0], [3.0, 3.0]],
    }
    json.dumps(costs.to_dict())
    assert as_costs(tmp_path / name).columns == ("amount",)


def test_the_short_form_of_a_file_is_binary(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('false_alarm = 5\nmiss = "0.8 * amount"\nabstain = 3\n')
    costs = CostMatrix.from_toml(file)
    assert costs.actions == (0, 1, "abstain")
    assert costs.columns == ("amount",)
    assert costs.with_classes(["ok", "fraud"]).actions == ("ok", "fraud", "abstain")
    file.write_text('false_alarm = 5\nmiss = 4\nclasses = ["ok", "fraud"]\n')
    assert CostMatrix.from_toml(file).actions == ("ok", "fraud")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "", ("costs-shape", {})),
        ("x.csv", "class,pass,stop\na,0,1\nb,1,0\n", ("csv-heading", {"found": "class"})),
        ("x.csv", "action,a,\nno,1,2\nyes,1,2\n", ("missing-name", {})),
        ("x.csv", "action,a,a\nno,1,2\nyes,1,2\n", ("duplicate-name", {"name": "a"})),
        ("x.csv", "action,a,b\nno,1,5%\nyes,1,2\n", ("cost-text", {})),
        (
            "x.csv",
            "action,a,b\nno,1\nyes,1,2\n",
            ("length-mismatch", {"line": 2, "found": 2}),
        ),
        ("x.csv", "action,a,b\nno,1,\nyes,1,2\n", ("cost-type", {})),
        ("x.toml", "fals_alarm = 1\n", ("unknown-word", {})),
        ("x.toml", "false_alarm = 1\n", ("missing-argument", {"word": "miss"})),
        ("x.toml", "false_alarm = ", ("toml-syntax", {})),
        ("x.toml", "costs = 3\n", ("costs-type", {})),
        (
            "x.toml",
            "[costs.a]\nx=1\ny=2\n[costs.b]\nx=1\n",
            ("missing-class", {"label": "y"}),
        ),
        (
            "x.toml",
            'classes=["x","y"]\n[costs.a]\nx=1\nz=2\n',
            ("unknown-class", {"action": "a", "label": "z"}),
        ),
        ("x.toml", "false_alarm = true\nmiss = 1\n", ("cost-type", {})),
        ("x.toml", "false_alarm = nan\nmiss = 1\n", ("not-finite", {})),
        ("x.txt", "", ("unknown-file-type", {"ending": ".txt"})),
        ("gone.csv", None, ("file-unreadable", {})),
    ],
)
def test_files_that_cannot_be_read_say_where(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with refused(message[0], **message[1]):
        CostMatrix.read(tmp_path / name)


def test_plain_arrays_need_no_names():
    prob = [[0.2, 0.5, 0.3]]
    wide = np.array([[0, 1, 9], [1, 0, 9.0]])
    assert decide(prob, wide).tolist() == [1]
    np.testing.assert_allclose(expected_cost(prob, wide), np.asarray(prob) @ wide.T)
    with refused("costs-type", UsageError):
        as_costs(3.0)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("amount", ("amount", 1.0, 0.0)),
        ("-amount", ("amount", -1.0, 0.0)),
        (" 0.8*amount-15 ", ("amount", 0.8, -15.0)),
        ("- 2e3 * loss (net) + 1.5", ("loss (net)", -2000.0, 1.5)),
        ("tx-amount", ("tx-amount", 1.0, 0.0)),
        ("`5 EUR + fee` - 1", ("5 EUR + fee", 1.0, -1.0)),
    ],
)
def test_amounts_are_read_and_written(text, wanted):
    found = Amount.read(text)
    assert (found.column, found.times, found.plus) == wanted
    again = Amount.read(found.text)
    assert (again.column, again.times, again.plus) == wanted


@pytest.mark.parametrize(
    "text", ["$5", "5 EUR", "2 * * x", "a * b", "a / 2", "+", "3 *", "1 + amount"]
)
def test_amounts_that_are_none_are_refused(text):
    with refused("cost-text", UsageError):
        CostMatrix.binary(false_alarm=1, miss=text)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CostMatrix(np.zeros((2, 2)), classes=5.0),
        lambda: CostMatrix(np.zeros((2, 2)), classes=[[1], [2]]),
        lambda: CostMatrix(np.zeros((2, 2)) + 1j),
        lambda: CostMatrix.binary(false_alarm=np.timedelta64(3, "D"), miss=1),
        lambda: CostMatrix.zero_one(5.0),
        lambda: CostMatrix.zero_one("ab"),
        lambda: CostMatrix.per_row({0: 1}),
        lambda: CostMatrix.per_row([[0, 1], [1, 0]]),
        lambda: CostMatrix.zero_one(2).with_abstain(1, name=[1]),
        lambda: CostMatrix.zero_one(2).with_abstain(np.zeros((0, 2))),
        lambda: CostMatrix.zero_one(2).only([1, 2, 3]),
        lambda: CostMatrix.zero_one(2).entry(np.ones(2), 0),
        lambda: CostMatrix(np.zeros((3, 2, 2))).take([7]),
        lambda: CostMatrix.zero_one(2).with_prior("half", 0.5),
        lambda: decide([0.5], CostMatrix.zero_one(2), tie=np.ones(2)),
    ],
)
def test_what_is_no_cost_at_all_is_refused_in_a_sentence(make):
    with pytest.raises((UsageError, DataError)):
        make()


@pytest.mark.parametrize(
    ("heading", "classes"),
    [("no,yes", ("no", "yes")), ("0,1", (0, 1)), ("0.0,1.0", (0.0, 1.0)), ("FALSE,TRUE", (0, 1))],
)
def test_class_names_of_a_file_are_numbers_where_all_are(tmp_path, heading, classes):
    (tmp_path / "c.csv").write_text(f"action,{heading}\npass,0,400\nstop,5.5,0\n")
    assert CostMatrix.read(tmp_path / "c.csv").classes == classes
    (tmp_path / "c.csv").write_text(
        f"action,{heading}\npass,0,400\nstop,5.5,0\n".replace(",", ";").replace("5.5", "5,5")
    )
    again = CostMatrix.read(tmp_path / "c.csv")
    assert again.classes == classes
    assert again.costs.tolist() == [[0, 400], [5.5, 0]]
    with refused("path-type", UsageError):
        CostMatrix.read(None)


def test_a_name_of_the_wrong_type_is_told(tmp_path):
    with refused("unknown-action", UsageError, name="1"):
        CostMatrix.zero_one(2).entry("1", 0)


def test_a_data_frame_of_costs_brings_its_names_along():
    frame = pd.DataFrame(
        [[0, "amount"], [5, 0]], index=["pass", "block"], columns=["legit", "fraud"]
    )
    costs = CostMatrix(frame)
    assert costs.actions == ("pass", "block")
    assert costs.classes == ("legit", "fraud")
    assert not costs.positional
    assert costs.columns == ("amount",)
    assert CostMatrix(pd.DataFrame([[0, 9], [1, 0]])).positional
    assert CostMatrix.binary(false_alarm="5", miss=9).costs[1, 0] == 5


def test_costs_do_not_change_with_the_arrays_they_were_made_of():
    amount, fixed = np.array([1.0, 2.0]), np.array([[0.0, 9.0], [1.0, 0.0]])
    by_row, plain = CostMatrix.binary(false_alarm=5, miss=amount), CostMatrix(fixed)
    amount[0], fixed[0, 1] = 99.0, 99.0
    assert by_row.entry(0, 1).tolist() == [1, 2]
    assert plain.costs[0, 1] == 9
    for held in (plain.at(), by_row.entry(0, 1)):
        with pytest.raises(ValueError, match="read-only"):
            held[0] = 7


def test_a_mistake_that_earns_money_is_told():
    costs = CostMatrix.binary(false_alarm=5, miss="amount")
    with warned("mistake-earns", action=0, label=1, count=1, rows=3, least="-0.7", row=1):
        costs.bind({"amount": [0.1, -0.7, 2.0]})
    costs.bind({"amount": [0.0, 1.0]})
    CostMatrix.binary(false_alarm=5, miss=9, hit="-amount").bind({"amount": [1.0]})  # a gain


def test_warnings_point_at_the_line_that_made_the_costs():
    with pytest.warns(DataWarning) as caught:
        CostMatrix.binary(false_alarm=-1, miss=5)
    assert caught[0].filename == __file__
    with pytest.warns(DataWarning) as caught:
        decide(np.r_[np.ones(15), np.zeros(15)], CostMatrix.zero_one(2))
    assert caught[0].message.args[0].code == "certain-probabilities"
    assert caught[0].filename == __file__


def test_thresholds_by_row_can_be_written_as_json():
    told = CostMatrix.binary(false_alarm=5, miss=[1.0, 90.0]).with_abstain(3).thresholds().to_dict()
    assert json.loads(json.dumps(told, allow_nan=False))["low"][2][0] is None


@pytest.mark.parametrize(
    ("costs", "wanted"),
    [
        ([[0, 1], [1, 0]], False),
        ([[1, 5], [5, 0]], True),
        ([[0, 9], [1, 0]], True),
        ([[0, 1], [1, 0], [0.2, 0.2]], False),
        ([[0, 1], [1, 0], [0.2, 0.3]], True),
    ],
)
def test_whether_the_order_of_the_classes_matters(costs, wanted):
    assert order_matters(CostMatrix(costs, actions=range(len(costs)))) is wanted


def test_a_notebook_shows_the_costs_as_a_table_with_headers():
    page = CostMatrix.binary(
        false_alarm=5, miss="0.8 * `<amount>`", classes=("a&b", "c")
    )._repr_html_()
    assert page.count('scope="col"') == 3
    assert page.count('scope="row"') == 2
    assert "<caption>" in page
    assert "a&amp;b" in page
    assert "<amount>" not in page
    fixed = CostMatrix.zero_one(2).with_abstain(0.6)._repr_html_()
    assert "while p(1) is below 0.5" in fixed
    assert "never" in fixed
