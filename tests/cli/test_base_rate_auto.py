"""--now-at auto: today's base rate from a table of labelled rows, in correct and decide."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from scarce import correct_prior, estimate_share
from scarce.cli.main import scarce as command
from tests.prior.test_label_shift import three, world


def ran(*args, code=0, stdin=None):
    done = CliRunner().invoke(command, list(map(str, args)), input=stdin)
    assert done.exit_code == code, done.output + done.stderr
    return done


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(1)
    y, prob = world(rng, 1500, 0.1)
    _, now = world(rng, 1200, 0.3)
    now, prob = now.round(6), prob.round(6)
    lines = [f"{i},{p:.6f}" for i, p in enumerate(now)]
    (tmp_path / "p.csv").write_text("id,prob\n" + "\n".join(lines) + "\n")
    lines = [f"{'fraud' if k else 'legit'},{k},{p:.6f}" for k, p in zip(y, prob, strict=True)]
    (tmp_path / "valid.csv").write_text("kind,y,prob\n" + "\n".join(lines) + "\n")
    return tmp_path, y, prob, now


def test_correct_is_the_library_s_estimate(tables):
    folder, y, prob, now = tables
    auto = ("--now-at", "auto", "--validation", folder / "valid.csv", "--label", "y")
    done = ran("correct", folder / "p.csv", *auto, "--out", folder / "q.csv", "--json")
    found = estimate_share(now, validation=(y, prob))
    told = json.loads(done.stdout)["result"]
    assert told["now_at"][1] == pytest.approx(found.share.value, rel=1e-9)
    assert told["estimate"]["shares"][1]["low"] == pytest.approx(found.share.low, rel=1e-9)
    assert told["estimate"]["p_value"] == found.p_value
    written = np.genfromtxt(folder / "q.csv", delimiter=",", names=True)["prob"]
    np.testing.assert_allclose(written, correct_prior(now, found.trained_at, found), rtol=1e-6)
    ran("correct", folder / "p.csv", *auto, "--trained-at", "0.1", "--out", folder / "r.csv")
    words = auto[:-1] + ("kind", "--positive", "fraud")
    said = ran("correct", folder / "p.csv", *words, "--out", folder / "s.csv")
    assert "test of label shift" in said.stdout + said.stderr
    table = (folder / "p.csv").read_text()
    piped = ran("correct", *auto, "--out", folder / "t.csv", stdin=table, code=2)
    assert "read-twice" in piped.stderr


def test_decide_by_the_estimate(tables):
    folder, y, prob, now = tables
    auto = ("--now-at", "auto", "--validation", folder / "valid.csv", "--label", "y")
    costs = ("--false-alarm", "1", "--miss", "9")
    done = ran("decide", folder / "p.csv", *costs, *auto, "--out", folder / "d.csv", "--json")
    told = json.loads(done.stdout)["result"]
    found = estimate_share(now, validation=(y, prob))
    moved = correct_prior(now, found.trained_at, found)
    assert told["actions"][1]["rows"] == int((moved > 0.1).sum())
    assert told["estimate"]["shares"][1]["value"] == pytest.approx(found.share.value, rel=1e-9)


@pytest.mark.parametrize("verb", ["correct", "decide"])
def test_a_contradicted_estimate_is_told_once(tables, verb):
    folder, _, _, now = tables
    now = 1 / (1 + np.exp(-2 - np.log(now / (1 - now))))
    lines = [f"{i},{p:.6f}" for i, p in enumerate(now)]
    (folder / "p.csv").write_text("id,prob\n" + "\n".join(lines) + "\n")
    auto = ("--now-at", "auto", "--validation", folder / "valid.csv", "--label", "y")
    costs = ("--false-alarm", "1", "--miss", "9") if verb == "decide" else ()
    done = ran(verb, folder / "p.csv", *costs, *auto, "--out", folder / "q.csv")
    said = " ".join((done.stdout + done.stderr).split())
    assert said.count("are not a mixture of those of the validation classes") == 1
    assert said.count("not known") == 1
    told = ran(verb, folder / "p.csv", *costs, *auto, "--out", folder / "r.csv", "--json")
    assert json.loads(told.stdout)["result"]["estimate"]["p_value"] <= 0.05


def test_several_classes(tmp_path):
    rng = np.random.default_rng(2)
    y, prob = three(rng, 900, [0.6, 0.3, 0.1])
    _, now = three(rng, 700, [0.2, 0.3, 0.5])
    head = "prob_a,prob_b,prob_c"
    rows = [",".join(f"{p:.8f}" for p in row) for row in now]
    (tmp_path / "p.csv").write_text(head + "\n" + "\n".join(rows) + "\n")
    rows = [
        "abc"[k] + "," + ",".join(f"{p:.8f}" for p in row) for k, row in zip(y, prob, strict=True)
    ]
    (tmp_path / "valid.csv").write_text("y," + head + "\n" + "\n".join(rows) + "\n")
    auto = ("--now-at", "auto", "--validation", tmp_path / "valid.csv", "--label", "y")
    done = ran("correct", tmp_path / "p.csv", *auto, "--out", tmp_path / "q.csv", "--json")
    found = estimate_share(now, validation=(y, prob))
    told = json.loads(done.stdout)["result"]
    assert told["classes"] == ["a", "b", "c"]
    np.testing.assert_allclose(told["now_at"], [one.value for one in found.shares], atol=1e-5)


def written(path, names, columns):
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text(names + "\n" + "\n".join(rows) + "\n")
    return path


def test_columns_of_the_labelled_rows_may_have_another_order(tmp_path):
    rng = np.random.default_rng(2)
    y, prob = three(rng, 900, [0.6, 0.3, 0.1])
    _, now = three(rng, 700, [0.2, 0.3, 0.5])
    kind = np.array(["a", "b", "c"])[y]
    table = written(tmp_path / "p.csv", "prob_a,prob_b,prob_c", now.T)
    names = {"v": "y,prob_a,prob_b,prob_c", "w": "y,prob_c,prob_a,prob_b"}
    columns = {"v": prob.T, "w": prob.T[[2, 0, 1]]}
    told = []
    for one, name in names.items():
        valid = written(tmp_path / f"{one}.csv", name, [kind, *columns[one]])
        auto = ("--now-at", "auto", "--validation", valid, "--label", "y")
        out = tmp_path / f"{one}_out.csv"
        told.append(json.loads(ran("correct", table, *auto, "--out", out, "--json").stdout))
        told[-1]["result"].pop("out")
    assert told[0]["result"] == told[1]["result"]
    head, _, rest = (tmp_path / "w.csv").read_text().partition("\n")
    (tmp_path / "x.csv").write_text(head.replace("prob_a", "prob_d") + "\n" + rest)
    auto = ("--now-at", "auto", "--validation", tmp_path / "x.csv", "--label", "y")
    done = ran("correct", table, *auto, "--out", tmp_path / "y.csv", code=3)
    assert "class-count" in done.stderr or "unknown-class" in done.stderr  # which, the labels say


@pytest.mark.parametrize("verb", ["correct", "decide"])
def test_remarks_name_the_classes_and_an_under_sampled_model_is_noticed(tmp_path, verb):
    rng = np.random.default_rng(3)
    y, prob = world(rng, 1500, 0.1, at=0.5)
    _, now = world(rng, 1200, 0.3, at=0.5)
    table = written(tmp_path / "p.csv", "prob", [now.round(6)])
    kind = np.where(y == 1, "fraud", "legit")
    valid = written(tmp_path / "v.csv", "kind,prob", [kind, prob.round(6)])
    auto = ("--now-at", "auto", "--validation", valid, "--label", "kind", "--positive", "fraud")
    if verb == "decide":
        auto += ("--false-alarm", "1", "--miss", "9")
    event = "fraud" if verb == "decide" else "event"
    for at, off in (((), 1), (("--trained-at", "0.5"), 0)):
        done = ran(verb, table, *auto, *at, "--out", tmp_path / "q.csv", "--force")
        said = " ".join((done.stdout + done.stderr).split())
        assert said.count("not calibrated") == off
        assert (f"of the validation rows are {event}," in said) == bool(off)
        assert ("with --trained-at;" in said and "(scarce calibrate)" in said) == bool(off)
    few = (y == 0) | (np.cumsum(y) <= 3)
    written(valid, "kind,prob", [kind[few], prob[few].round(6)])
    done = ran(verb, table, *auto, "--out", tmp_path / "r.csv", code=3)
    assert f"of class {event}:" in " ".join(done.stderr.split())


@pytest.mark.parametrize("verb", ["correct", "decide"])
@pytest.mark.parametrize("flag", ["--label", "--weight", "--inclusion", "--groups"])
def test_columns_of_labelled_rows_without_auto_are_refused(tables, verb, flag):
    folder, *_ = tables
    extra = ("--false-alarm", "1", "--miss", "9") if verb == "decide" else ()
    rates = ("--now-at", "0.3", "--trained-at", "0.1")
    done = ran(verb, folder / "p.csv", *extra, *rates, flag, "y", "--out", folder / "x", code=2)
    assert "unused-argument" in done.stderr


@pytest.mark.parametrize("verb", ["correct", "decide"])
def test_refusals(tables, verb):
    folder, *_ = tables
    extra = ("--false-alarm", "1", "--miss", "9") if verb == "decide" else ()
    table = (verb, folder / "p.csv", *extra, "--out", folder / "x.csv")
    validation = ("--validation", folder / "valid.csv")
    for flags in (
        ("--now-at", "auto"),
        ("--now-at", "auto", "--label", "y"),
        ("--now-at", "auto", *validation),
        ("--now-at", "auto", "--now-at", "1=0.2", *validation, "--label", "y"),
        ("--now-at", "0.2", "--trained-at", "0.1", *validation),
        ("--now-at", "car"),
    ):
        ran(*table, *flags, code=2)
    assert not (folder / "x.csv").exists()
