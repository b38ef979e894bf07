"""The experiments: a record that survives writing, and stored results that the code still makes."""

from dataclasses import replace

import pytest

from experiments import frame
from experiments import run as runner
from experiments.frame import FOLDER, Comparison
from tests.experiments.stored import assert_page, assert_rows


def some_results():
    rows = [
        Comparison("prevalence", 0.0158, 0.0156, 0.0001, 20, "One draw against many."),
        Comparison("slope", None, -1.0, 0.0, 1, "Not printed."),
    ]
    return frame.results_of("p999_none", "A title", 7, rows)


def test_results_survive_writing(tmp_path):
    results = some_results()
    frame.write_results(results, tmp_path)
    assert frame.read_results(tmp_path) == results
    assert frame.to_json(frame.read_results(tmp_path)) == (tmp_path / "results.json").read_text()
    assert "not printed" in (tmp_path / "results.md").read_text()


@pytest.mark.parametrize(
    "change",
    [{"ours": float("nan")}, {"standard_error": -1.0}, {"repeats": 0}, {"why": " "}],
)
def test_a_comparison_without_sense_is_refused(change):
    fields = {"quantity": "q", "paper": None, "ours": 1.0, "standard_error": 0.0}
    with pytest.raises(ValueError, match="q: "):
        Comparison(**{**fields, "repeats": 1, "why": "because", **change})


def test_standard_error_is_that_of_the_mean():
    row = frame.over_repeats("q", None, [1.0, 2.0, 3.0], "because")
    assert (row.ours, row.repeats) == (2.0, 3)
    assert row.standard_error == pytest.approx(1 / 3**0.5)


def short():
    """Experiments that a quick run repeats whole; a long one has tests of its own."""
    return [name for name in runner.names() if not hasattr(runner.experiment(name), "LONG")]


@pytest.mark.parametrize("name", short())
def test_stored_results_are_what_the_code_finds(name, capsys):
    stored = frame.read_results(FOLDER / name)
    assert (FOLDER / name / "results.md").read_text() == frame.table_of(stored)
    quick = runner.run(name, quick=True)
    assert (stored.title, stored.seed, stored.name) == (quick.title, quick.seed, quick.name)
    assert [row.quantity for row in stored.comparisons] == [
        row.quantity for row in quick.comparisons
    ]
    for old, new in zip(stored.comparisons, quick.comparisons, strict=True):
        assert (old.paper, old.why) == (new.paper, new.why)
        error = (old.standard_error**2 + new.standard_error**2) ** 0.5
        assert abs(old.ours - new.ours) <= 4 * error + 1e-9
    assert name in capsys.readouterr().err


def test_paper_002_slopes():
    rows = {row.quantity: row for row in frame.read_results(FOLDER / "paper_002").comparisons}
    for background, slope in (("normal", -1.005), ("lognormal", -0.230)):
        exact = rows[f"dP/dR at recall .25, {background} background, closed form"]
        counted = rows[f"dP/dR at recall .25, {background} background, counted"]
        assert exact.ours == pytest.approx(slope, abs=5e-4)
        assert counted.ours == pytest.approx(slope, abs=4 * counted.standard_error + 0.01)


def test_list_and_unknown_names(capsys):
    assert runner.main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in runner.names())
    with pytest.raises(SystemExit):
        runner.main(["p123_nothing"])
    assert "label_designs" in capsys.readouterr().err


def test_a_quick_run_writes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(runner, "run", lambda *_: some_results())
    monkeypatch.setattr(runner, "write", lambda *_: pytest.fail("wrote"))
    assert runner.main(["--quick", "label_designs"]) == 0
    assert "One draw against many." in capsys.readouterr().out


def test_stored_digits_are_told_apart_from_last_bits():
    row = Comparison("loss", None, 0.1 + 0.2, 0.01, 5, "noise")
    near, far = replace(row, ours=0.3), replace(row, ours=0.3 + 1e-8)
    assert_rows([near], [row])
    with pytest.raises(AssertionError):
        assert_rows([far], [row])
    with pytest.raises(AssertionError):
        assert_rows([replace(row, why="luck")], [row])
    assert_page("loss 0.300 of 2e-05", "loss 0.301 of 1e-05")  # halves, rounded to either side
    for other in ("loss 0.302 of 2e-05", "loss 0.300 of 4e-05", "cost 0.300 of 2e-05"):
        with pytest.raises(AssertionError):
            assert_page("loss 0.300 of 2e-05", other)
