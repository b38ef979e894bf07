"""What if: events of known width, invisible ones, and limits at several rates of wrong labels."""

import numpy as np
import pytest
from scipy.special import expit

from scarce import choose_labels, estimate_performance
from scarce.datasets import make_trial_scores
from scarce.missed.inversion import LabelError
from scarce.missed.provenance import batch_of
from scarce.missed.what_if import (
    INVISIBLE,
    WIDTHS,
    DoubleReading,
    missed_if_wider,
)

CUT = 9.1


@pytest.fixture(scope="module")
def trial():
    return make_trial_scores(random_state=0)


@pytest.fixture(scope="module")
def guess(trial):
    """The alerts have labels, and nothing was drawn below."""
    labels = np.where(trial.scores >= CUT, trial.y_true, np.nan)
    return estimate_performance(trial.scores, labels, threshold=CUT)


@pytest.fixture(scope="module")
def checked():
    """A batch with 200 rows drawn below its alerts."""
    sample = make_trial_scores(random_state=2, positive_share=0.02)
    labels = np.where(sample.scores >= CUT, sample.y_true, np.nan)
    choice = choose_labels(
        sample.scores, labels, policy="audit", n=200, threshold=CUT, random_state=1
    )
    labels[choice.rows] = sample.y_true[choice.rows]
    return sample.scores, labels, choice


# --- without checks -------------------------------------------------------------------------------


def test_without_checks_four_widths_and_a_quarter_invisible(guess):
    lines = guess.what_if()
    assert len(lines) == len(WIDTHS) + 1 == 5
    missed = [line.missed.value for line in lines]
    assert missed[:4] == sorted(missed[:4])  # the wider the events, the more of them lie below
    assert missed[3] > 1.5 * missed[0]
    found = guess.counts.events_seen
    for line in lines:
        assert line.recall.value == pytest.approx(found / (found + line.missed.value))
        for figure in (line.recall, line.missed):
            assert figure.low == figure.value == figure.high
            assert figure.method == guess.recall.method
        assert str(line).startswith("if ")
    assert [line.what for line in lines[1:4]] == [
        f"the scores of events spread {width:g} times as widely as those of other rows"
        for width in WIDTHS[1:]
    ]


def test_oracle_a_quarter_invisible(guess):
    """The visible three quarters are those that spread as other rows do."""
    lines = guess.what_if()
    found = guess.counts.events_seen
    visible = found + lines[0].missed.value
    assert lines[4].missed.value == pytest.approx(visible / (1 - INVISIBLE) - found)
    assert lines[4].recall.value == pytest.approx((1 - INVISIBLE) * lines[0].recall.value)


@pytest.mark.parametrize("width", WIDTHS)
def test_oracle_events_of_a_known_width_are_found_again(width):
    """Odds of the module's own law, in ranks: with many labels its missed events come back."""
    rng = np.random.default_rng(0)
    place = np.sort(rng.normal(size=60_000))
    log_odds = -4.0 + 0.5 * (place**2 - ((place - 2.0) / width) ** 2) - np.log(width)
    share = expit(log_odds)
    event = rng.random(60_000) < share
    labels = np.where(place >= 0.5, event * 1.0, np.nan)
    batch = batch_of(None, place, labels, 1.2)
    below = place < 0.5
    expected = event[(place >= 0.5) & (place < 1.2)].sum() + share[below].sum()
    assert missed_if_wider(batch, 1.2, width) == pytest.approx(expected, rel=0.25)


def test_expected_misses_are_at_least_the_labelled_ones():
    scores = np.arange(200.0)
    labels = np.where(scores >= 100, (scores % 3 == 0) * 1.0, np.nan)
    batch = batch_of(None, scores, labels, 150.0)
    known = labels[100:150].sum()
    assert missed_if_wider(batch, 150.0, 1.0) > known
    assert missed_if_wider(batch, 0.0, 1.0) == 0.0
    nothing = batch_of(None, scores, np.full(200, np.nan), 150.0)
    assert missed_if_wider(nothing, 150.0, 1.0) == 0.0


def test_batches_add_up_and_thresholds_move(trial):
    labels = np.where(trial.scores >= 8.5, trial.y_true, np.nan)
    week = np.arange(5000) % 2
    both = estimate_performance(trial.scores, labels, threshold=8.5, batch=week)
    assert min(part.counts.events_seen for part in both.batches.values()) >= 5
    alone = [part.what_if() for part in both.batches.values()]
    for k, line in enumerate(both.what_if()[:4]):
        assert line.missed.value == pytest.approx(sum(one[k].missed.value for one in alone))
    higher = both.at(9.5).what_if()
    assert higher[0].recall.value < both.what_if()[0].recall.value


def test_nothing_is_supposed_where_nothing_is_open_or_nothing_was_seen(trial):
    every = estimate_performance(trial.scores, trial.y_true, threshold=CUT)
    assert every.what_if() == ()
    empty = np.where(trial.scores >= CUT, 0.0, np.nan)
    assert estimate_performance(trial.scores, empty, threshold=CUT).what_if() == ()
    mixed = estimate_performance(
        trial.scores, trial.y, threshold=CUT, method="mixture", background="normal", check=False
    )
    assert mixed.what_if() == ()


# --- with checks ----------------------------------------------------------------------------------


def test_with_checks_two_lines(checked):
    scores, labels, choice = checked
    found = estimate_performance(scores, labels, threshold=CUT, inclusion=choice)
    free, wrong = found.what_if()
    nothing = estimate_performance(
        scores, labels, threshold=CUT, inclusion=choice, assume="nothing"
    )
    assert (free.missed, free.recall) == (nothing.missed, nothing.recall)
    for name in ("recall", "missed"):
        bare, widened = getattr(found, name), getattr(wrong, name)
        assert widened.value == bare.value
        assert widened.low <= bare.low
        assert widened.high >= bare.high
    assert wrong.missed.low < found.missed.low
    assert wrong.recall.high > found.recall.high
    assert "2 %" in wrong.what
    assert "2 %" in wrong.missed.assumes


def test_what_is_assumed_already_is_not_supposed_again(checked):
    scores, labels, choice = checked
    settings = {"threshold": CUT, "inclusion": choice}
    nothing = estimate_performance(scores, labels, assume="nothing", **settings).what_if()
    assert ["wrong" in line.what for line in nothing] == [True]
    stated = estimate_performance(scores, labels, label_error=(0.05, 0.01), **settings).what_if()
    assert ["wrong" in line.what for line in stated] == [False]


def test_every_line_is_words_and_plain_data(guess, checked):
    scores, labels, choice = checked
    found = estimate_performance(scores, labels, threshold=CUT, inclusion=choice)
    for line in (*guess.what_if(), *found.what_if()):
        assert "nan" not in str(line)
        plain = line.to_dict()
        assert plain["recall"]["value"] == line.recall.value
        assert plain["what"] == line.what


# --- two readers ----------------------------------------------------------------------------------


def test_oracle_rates_explain_the_disagreement():
    """With rate e two readings differ on 2 e (1 - e) of the rows; with e of events alone, share."""
    reading = DoubleReading(100_000, 2_000, 5_000)
    missed, false = reading.errors(0.0)
    assert false.missed == missed.false == 0.0
    assert 2 * false.false * (1 - false.false) == pytest.approx(0.02, rel=1e-3)
    events = (5_000 + 1_000) / 100_000
    assert 2 * missed.missed * (1 - missed.missed) == pytest.approx(0.02 / events, rel=1e-3)


def test_few_readings_leave_more_doubt_than_many():
    few, many = (DoubleReading(n, n // 20, n // 10).errors(0.9) for n in (20, 2000))
    for one, other in zip(few, many, strict=True):
        assert one.missed >= other.missed
        assert one.false >= other.false
    wider = DoubleReading(20, 1, 2).errors(0.99)
    assert wider[1].false > few[1].false


@pytest.mark.parametrize(("rows", "differing"), [(1, 1), (5, 5), (3, 0), (100, 100), (40, 30)])
def test_rates_stay_rates(rows, differing):
    for error in DoubleReading(rows, differing, 0).errors(0.9):
        assert 0 <= error.missed <= 0.5
        assert 0 <= error.false <= 0.5
        assert error.missed + error.false < 1
        assert isinstance(error, LabelError)
    assert DoubleReading(0, 0, 0).errors(0.9) == []


def test_gate_rates_of_two_readers_are_seldom_too_low():
    """False labels alone: the rate that is taken lies below the true one in about 5 %."""
    rng = np.random.default_rng(0)
    low = 0
    for _ in range(300):
        first, second = rng.random((2, 400)) < 0.03
        reading = DoubleReading(400, int((first != second).sum()), int((first & second).sum()))
        low += reading.errors(0.9)[1].false < 0.03
    assert low / 300 < 0.10
