"""Answers: figures of a curve that is sure of itself, plain data for JSON, and words."""

import json

import numpy as np
import pytest

from scarce import choose_labels, estimate_performance
from scarce.datasets import make_trial_scores
from scarce.missed.answers import BINNED, FIGURES, Question
from scarce.missed.provenance import intake_of

CUT = 9.1


@pytest.fixture(scope="module")
def trial():
    return make_trial_scores(random_state=0)


class Sure:
    """A curve that is sure of itself: the same share at or above a score, another one below."""

    def __init__(self, at, above, below):
        self.at, self.above, self.below = at, above, below

    def share_of_events(self, intake, index, score, place):
        return np.tile(np.where(score > self.at, self.above, self.below), (9, 1))


def asked(scores, labels, threshold, curve):
    intake = intake_of(None, scores, labels, threshold)
    question = Question(
        intakes=(intake,),
        curves=curve,
        method="auto",
        auc=None,
        level=0.9,
        random_state=0,
        effective_size=900.0,
        warnings=(),
        which=(0,),
    )
    return question.answer([threshold])


def test_oracle_slope_and_cost_of_a_curve_that_is_sure():
    """60 alerts with 30 events; below them a share of 0.2, then of 0, then all known."""
    scores = np.arange(200.0)
    labels = np.where(scores >= 140, scores % 2, np.nan)
    flat = asked(scores, labels, 140.0, Sure(np.inf, 0.0, 0.2))
    assert flat.alerts_per_event.value == pytest.approx(5.0)
    assert flat.alerts_per_event.low == flat.alerts_per_event.high == pytest.approx(5.0)
    total = flat.prevalence.value * 200
    assert flat.precision_per_recall.value == pytest.approx(total / 60 * (1 - 0.5 / 0.2))
    empty = asked(scores, labels, 140.0, Sure(np.inf, 0.0, 0.0))
    assert empty.alerts_per_event.value == np.inf
    assert empty.precision_per_recall.value == -np.inf
    assert empty.precision_per_recall.low == -np.inf
    plain = empty.to_dict()
    json.dumps(plain, allow_nan=False)
    assert plain["precision_per_recall"]["value"] == "-Infinity"
    assert "nan" not in str(empty)
    nothing = asked(scores, labels * 0, 140.0, Sure(np.inf, 0.0, 0.0))
    assert nothing.precision_per_recall.value == 0.0  # 0 above and 0 at the margin
    rich = asked(scores, labels, 140.0, Sure(np.inf, 0.0, 0.8))
    assert rich.precision_per_recall.value > 0


def test_plain_data_for_json(trial):
    answers = [
        estimate_performance(trial.scores, trial.y, threshold=CUT),
        estimate_performance(trial.scores, trial.y, threshold=CUT).at(99.0),
        estimate_performance(trial.scores, trial.y, threshold=CUT, method="audit"),
    ]
    for found in answers:
        text = json.dumps(found.to_dict(), allow_nan=False)
        again = json.loads(text)
        assert again["recall"]["value"] == pytest.approx(found.recall.value, nan_ok=False) or (
            again["recall"]["value"] is None and np.isnan(found.recall.value)
        )
        assert again["counts"]["rows"] == found.counts.rows
        assert set(FIGURES) <= set(again)
        assert again["warnings"] == list(found.warnings)


def test_words_for_a_reader(trial):
    text = str(estimate_performance(trial.scores, trial.y, threshold=CUT))
    assert "Alerts: 36 of 5,000 rows" in text
    assert "11 events seen" in text
    assert "Precision 0.306" in text
    assert "Recall: about" in text
    assert "alerts to open per further event" in text
    assert "nan" not in text
    labels = np.where(trial.scores >= CUT, trial.y_true, np.nan)
    choice = choose_labels(
        trial.scores, labels, policy="audit", n=200, threshold=CUT, random_state=1
    )
    labels[choice.rows] = trial.y_true[choice.rows]
    text = str(estimate_performance(trial.scores, labels, threshold=CUT, inclusion=choice))
    assert "200 rows" in text
    assert "drawn at random" in text
    few = str(estimate_performance(trial.scores, trial.y, threshold=10.4))
    assert "no best guess" in few
    assert "nan" not in few


def test_counts_between_bins_are_said_to_be_inexact(monkeypatch, rng):
    """Of long data `at` gave 2,006 alerts for 2,000 without a word."""
    scores = rng.normal(size=3000)
    order = np.sort(scores)[::-1]
    labels = np.where(scores >= order[99], (scores > 2.2).astype(float), np.nan)
    short = estimate_performance(scores, labels, threshold=order[99], random_state=0)
    assert short.at(order[199]).counts.alerts == 200
    assert BINNED not in short.at(order[199]).warnings
    for module in ("gather", "answers"):
        monkeypatch.setattr(f"scarce.missed.{module}.ROW_BY_ROW", 1000)
    long = estimate_performance(scores, labels, threshold=order[99], random_state=0)
    assert (long.counts.alerts, long.at(order[99]).counts.alerts) == (100, 100)
    assert BINNED not in (*long.warnings, *long.at(order[99]).warnings)
    assert BINNED in long.at(order[199]).warnings
