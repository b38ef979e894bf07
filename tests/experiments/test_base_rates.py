"""base_rates: the page says what the stored results say, and a few repeats agree with them."""

import numpy as np
import pytest

from experiments.base_rates import broken, positives
from experiments.base_rates import run as base_rates
from experiments.frame import FOLDER, read_results


@pytest.fixture(scope="module")
def stored():
    found = read_results(FOLDER / "base_rates")
    return {row.quantity: row for row in found.comparisons}


def test_the_interval_and_the_test_keep_their_level(stored):
    assert 0.87 <= stored["90 % interval holds the truth: all worlds"].ours <= 0.93
    alarms = stored["false alarms of the test at 5 %, all worlds"]
    assert alarms.ours <= 0.05 + alarms.standard_error


@pytest.fixture(scope="module")
def unmet():
    """Return the lines of broken.md: by table and name, its four figures."""
    page = (FOLDER / "base_rates" / "broken.md").read_text(encoding="utf-8")
    found = {}
    for table in page.split("## ")[1:]:
        title, *lines = table.splitlines()
        for line in lines:
            name, *figures = [one.strip() for one in line.strip("|").split("|")]
            if len(figures) == 4 and figures[0][0].isdigit():
                found[title, name] = [float(one) for one in figures]
    return found


def test_what_is_stored_of_broken_label_shift_is_what_the_command_makes(unmet):
    wanted = {(title, name) for title, worlds in broken.TABLES.items() for name in worlds}
    assert set(unmet) == wanted
    worlds = broken.TABLES["Events score lower than in validation"]
    for name in ("by 1", "by .5, 5,000 rows today"):
        some = [broken.said(worlds[name], [1, one]) for one in range(6)]
        figures = unmet["Events score lower than in validation", name]
        assert abs(np.mean([one[0] for one in some]) - figures[0]) <= 0.3


def test_where_label_shift_fails_the_interval_does_too_and_little_is_silent(unmet):
    kept = [one for (title, name), one in unmet.items() if title == next(iter(broken.TABLES))]
    assert min(one[0] for one in kept) >= 0.85
    assert max(one[1] for one in kept) <= 0.12
    lower = unmet["Events score lower than in validation", "by 1"]
    assert lower[0] < 0.1
    assert max(one[3] for (_, name), one in unmet.items() if "groups not" not in name) <= 0.3


def test_ours_is_nearer_to_the_oracle_than_the_rivals(stored):
    loss = {
        one.rpartition(": ")[2]: row.ours for one, row in stored.items() if "log of loss" in one
    }
    assert loss["scarce"] < min(loss[one] for one in loss if one != "scarce")


def test_a_few_repeats_agree(stored, monkeypatch):
    some = dict(list(base_rates.WORLDS.items())[:1])
    monkeypatch.setattr(base_rates, "WORLDS", some)
    rows = base_rates.world_rows(10, lambda text: None)
    old = stored["90 % interval holds the truth: more events"]
    new = rows[0]
    assert new.quantity == old.quantity
    assert abs(new.ours - old.ours) <= 0.25


def test_rows_are_thinned_to_the_odds_asked_for():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [900, 100])
    for factor, odds in ((3.0, 1 / 3), (1 / 3, 1 / 27)):
        kept = y[base_rates.thinned(y, factor, rng)]
        assert kept.mean() / (1 - kept.mean()) == pytest.approx(odds, rel=0.02)


def test_the_limit_of_one_labelled_class_holds_where_labels_are_random_and_not_elsewhere(stored):
    for name in ("10 labelled", "25 labelled", "100 labelled", *positives.KINDS):
        row = stored[f"limit holds, {name}"]
        assert row.ours >= 0.95 - 2 * row.standard_error
    assert stored["limit of the share holds: looked alike"].ours >= 0.95
    assert stored["limit of the share holds, sure events first"].ours < 0.9
    assert stored["limit of the share holds, doubtful events first"].ours >= 0.95


def test_a_few_worlds_with_one_labelled_class_agree(stored, monkeypatch):
    monkeypatch.setattr(positives, "WORLDS", {"told apart": positives.WORLDS["told apart"]})
    monkeypatch.setattr(positives, "pulearn_shares", lambda X, labelled: {})
    row = positives.world_rows(4, lambda text: None)[0]
    old = stored[row.quantity]
    assert abs(row.ours - old.ours) <= 3 * np.sqrt(0.05 * 0.95 / row.repeats)


def test_the_ratio_of_a_world_is_that_of_its_rows(monkeypatch):
    monkeypatch.setattr(positives, "ROWS", 200_000)
    world = positives.WORLDS["looked alike"]
    rng = np.random.default_rng(0)
    y, score, _, _ = positives.draw(world, 200_000, "plain", rng)
    above = [np.mean(score[own] >= 4.5) for own in (np.isnan(y), y == 1)]
    assert above[0] / above[1] == pytest.approx(positives.ratio(world, 4.5), rel=0.05)
