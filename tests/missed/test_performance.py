"""estimate_performance: what is exact must be exact, what is estimated must not move by itself."""

import itertools
import json
import time

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.stats import rankdata

from scarce import DataError, UsageError, choose_labels, estimate_performance, open_rows
from scarce.datasets import make_trial_scores
from scarce.missed.performance import FIGURES, PerformanceFit, PerformanceSettings
from scarce.missed.provenance import batch_of
from tests.problems import codes, refused

CUT = 9.1


@pytest.fixture(scope="module")
def trial():
    return make_trial_scores(random_state=0)


@pytest.fixture(scope="module")
def audited():
    """The alerts of a trial, and an audit of 200 below."""
    sample = make_trial_scores(random_state=2, positive_share=0.02)
    labels = np.where(sample.scores >= CUT, sample.y_true, np.nan)
    choice = choose_labels(
        sample.scores, labels, policy="audit", n=200, threshold=CUT, random_state=1
    )
    labels[choice.rows] = sample.y_true[choice.rows]
    inclusion = choice.inclusion(len(labels))
    return sample.scores, labels, inclusion, sample.y_true


def numbers(found):
    """Every number and word of an answer, to be compared bit by bit."""
    return [
        (name, one.value, one.low, one.high, one.method, one.assumes)
        for name, one in ((name, getattr(found, name)) for name in FIGURES)
    ] + [found.counts, found.warnings, found.effective_size]


def same(one, other):
    assert repr(numbers(one)) == repr(numbers(other))


@pytest.mark.parametrize(
    "rescale",
    [np.exp, lambda s: 3 * s + 7, lambda s: rankdata(s, method="dense") * 1.0, np.arctan],
    ids=["exp", "affine", "rank", "arctan"],
)
@pytest.mark.parametrize("case", ["top", "audit"])
def test_gate_any_monotone_rescaling_gives_the_same_bits(trial, audited, case, rescale):
    """G7, for a threshold between two scores and for another one asked afterwards."""
    scores, labels, inclusion, _ = audited
    settings = {"inclusion": inclusion}
    if case == "top":
        scores, labels, settings = trial.scores, trial.y, {}
    moved = rescale(np.append(scores, [CUT, 8.7]))
    plain = estimate_performance(scores, labels, threshold=CUT, **settings)
    other = estimate_performance(moved[:-2], labels, threshold=moved[-2], **settings)
    same(plain, other)
    same(plain.at(8.7), other.at(moved[-1]))


def test_invariant_many_labels_and_ties_under_exp(rng):
    """More labelled scores than groups: nothing may lean on mean scores of a group."""
    scores = np.round(rng.normal(size=4000), 3)
    labels = np.where(rng.random(4000) < 0.3, (rng.random(4000) < 0.1 + 0.1 * scores) * 1.0, np.nan)
    plain = estimate_performance(scores, labels, threshold=0.5)
    same(plain, estimate_performance(np.exp(5 * scores), labels, threshold=np.exp(2.5)))


def test_invariant_row_order(audited, rng):
    scores, labels, inclusion, _ = audited
    order = rng.permutation(len(scores))
    plain = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion)
    moved = estimate_performance(
        scores[order], labels[order], threshold=CUT, inclusion=inclusion[order]
    )
    same(plain, moved)


def test_no_figure_depends_on_the_seed(trial, audited):
    one = estimate_performance(trial.scores, trial.y, threshold=CUT)
    same(one, estimate_performance(trial.scores, trial.y, threshold=CUT, random_state=5))
    scores, labels, inclusion, _ = audited
    one, other = (
        estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion, random_state=seed)
        for seed in (0, 1)
    )
    same(one, other)
    same(one.at(8.7), other.at(8.7))


@pytest.mark.parametrize("method", ["auto", "audit"])
def test_oracle_every_row_labelled_is_counted(trial, method):
    for cut in (7.0, 8.5, CUT):
        found = estimate_performance(trial.scores, trial.y_true, threshold=cut, method=method)
        alert = trial.scores >= cut
        events = trial.y_true.sum()
        exact = trial.y_true[alert].sum() / events
        assert found.recall.value == found.recall.low == found.recall.high == exact
        assert found.recall.method == found.missed.method == "counted"
        assert found.precision.value == trial.y_true[alert].mean()
        assert found.missed.value == trial.y_true[~alert].sum()
        assert found.prevalence.value == pytest.approx(trial.y_true.mean(), rel=1e-12)
        assert found.prevalence.width == 0.0
        elsewhere = found.at(8.0)
        assert elsewhere.recall.value == trial.y_true[trial.scores >= 8.0].sum() / events
        assert elsewhere.precision.value == trial.y_true[trial.scores >= 8.0].mean()


def test_oracle_precision_is_counted_and_that_of_further_alerts_has_the_exact_interval(trial):
    found = estimate_performance(trial.scores, trial.y, threshold=CUT)
    alert = trial.scores >= CUT
    events = int(trial.y[alert].sum())
    exact = stats.binomtest(events, int(alert.sum())).proportion_ci(0.9, method="exact")
    share = events / alert.sum()
    of_these, further = found.precision, found.precision_further
    assert (of_these.value, of_these.low, of_these.high) == (share, share, share)
    assert further.value == share
    assert further.low == pytest.approx(exact.low, rel=1e-9)
    assert further.high == pytest.approx(exact.high, rel=1e-9)
    assert of_these.method == further.method == "counted"
    assert found.counts.events_seen == events
    assert found.counts.labelled_below == 156 - alert.sum()
    assert found.counts.events_below == np.nansum(trial.y[~alert])


@pytest.mark.parametrize("threshold", [CUT, 8.6, 9.6, 7.5])
def test_asked_again_at_its_own_threshold_it_says_the_same(audited, threshold):
    scores, labels, inclusion, _ = audited
    found = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion)
    same(found.at(CUT), found)
    there = found.at(threshold)
    same(there.at(CUT), found)
    alert = scores >= threshold
    assert there.threshold == threshold
    assert there.counts.alerts == alert.sum()
    assert there.counts.events_seen == np.nansum(labels[alert])
    assert there.counts.audited == ((inclusion < 1) & ~alert).sum()
    # Events do not depend on where one looks: the draws' total is the same.
    assert there.prevalence.value == pytest.approx(found.prevalence.value, rel=0.25)


def test_recall_falls_and_misses_rise_with_the_threshold(audited):
    scores, labels, inclusion, truth = audited
    found = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion)
    curve = found.curve(np.linspace(8, 9.5, 7))
    assert curve.threshold.tolist() == sorted(curve.threshold, reverse=True)
    assert (np.diff(curve.recall, axis=0) >= 0).all()
    assert (np.diff(curve.missed, axis=0) <= 0).all()
    for row, at in enumerate(curve.threshold):
        one = found.at(at)
        for name in ("recall", "precision", "missed"):
            figure = getattr(one, name)
            value, low, high = getattr(curve, name)[row]
            # In one direction from row to row: limits only widen.
            assert low <= figure.low <= figure.value <= figure.high <= high
            assert low <= value <= high
        # One batch and 90 % intervals: the truth inside here is what the seed gives.
        assert truth[scores >= at].sum() / truth.sum() in one.recall
    wide = found.curve()
    assert wide.threshold[0] == scores.max()
    assert len(wide.threshold) > 30


def test_oracle_closed_form_of_the_slope_and_of_the_cost(trial):
    """Draw by draw: cost 1 / g, slope (events / alerts)(1 - P / g); checked by the medians."""
    found = estimate_performance(trial.scores, trial.y, threshold=CUT)
    n = len(trial.scores)
    alerts = found.counts.alerts
    edge = stats.norm.ppf(1 - alerts / n)  # the rank between the last alert and the next row
    share = found.share_of_events(np.array([edge]), 4000, np.random.default_rng(0))[:, 0]
    cost = found.alerts_per_event
    assert cost.value == pytest.approx(np.median(1 / share), rel=0.05)
    assert cost.low == pytest.approx(np.quantile(1 / share, 0.05), rel=0.08)
    assert cost.high == pytest.approx(np.quantile(1 / share, 0.95), rel=0.12)
    slope = found.precision_per_recall
    events = found.prevalence.value * n
    by_hand = events / alerts * (1 - found.precision.value * cost.value)
    assert slope.value == pytest.approx(by_hand, rel=0.25)
    assert slope.low < slope.value < slope.high
    # With a margin as rich as the alerts, the slope would vanish.
    assert slope.value < 0


def test_oracle_slope_agrees_with_differences_of_the_curve():
    """Many events and labels: dP/dR read off between two thresholds around the one asked for."""
    rng = np.random.default_rng(0)
    event = rng.random(40_000) < 0.1
    scores = rng.normal(size=40_000) + 2 * event
    labels = np.where(scores >= 1.0, event * 1.0, np.nan)
    found = estimate_performance(scores, labels, threshold=1.6)
    above, below = found.at(1.75), found.at(1.45)
    rise = below.precision.value - above.precision.value
    run = below.recall.value - above.recall.value
    assert found.precision_per_recall.value == pytest.approx(rise / run, rel=0.1)
    next_rows = (scores < 1.7) & (scores >= 1.5)
    cost = next_rows.sum() / labels[next_rows].sum()
    assert found.alerts_per_event.value == pytest.approx(cost, rel=0.1)


def test_batches_share_a_curve_and_add_up(audited):
    scores, labels, inclusion, _ = audited
    week = np.where(np.arange(len(scores)) % 2, "odd", "even")
    marks = {"odd": CUT, "even": 9.0}
    found = estimate_performance(scores, labels, threshold=marks, inclusion=inclusion, batch=week)
    parts = found.batches
    assert list(parts) == ["even", "odd"]
    for name, part in parts.items():
        rows = week == name
        assert part.threshold == marks[name]
        assert part.counts.rows == rows.sum()
        assert part.counts.alerts == (scores[rows] >= marks[name]).sum()
        same(part.at(marks[name]), part)
    for name in ("rows", "alerts", "events_seen", "events_below", "audited"):
        total = sum(getattr(part.counts, name) for part in parts.values())
        assert getattr(found.counts, name) == total
    misses = sum(part.missed.value for part in parts.values())
    assert found.missed.low <= misses <= found.missed.high
    assert found.missed.value == pytest.approx(misses, rel=0.25)


def test_batches_with_the_same_threshold_are_one_question(trial):
    week = np.arange(5000) % 2
    found = estimate_performance(trial.scores, trial.y, threshold=CUT, batch=week)
    assert found.threshold == CUT
    assert sorted(found.batches) == [0, 1]
    one = estimate_performance(trial.scores, trial.y, threshold=CUT)
    assert found.counts == one.counts
    assert found.recall.value == pytest.approx(one.recall.value, abs=0.1)


def test_a_warning_about_one_batch_stays_with_it(trial):
    """Labels scattered below the threshold in one of two weeks."""
    week = np.arange(5000) % 2
    labels = np.where(trial.scores >= CUT, trial.y_true, np.nan)
    labels[1:1200:40] = 0.0
    found = estimate_performance(trial.scores, labels, threshold=CUT, batch=week)
    assert codes(found.warnings).count("scattered-labels") == 1
    assert "scattered-labels" in codes(found.batches[1].warnings)
    assert "scattered-labels" not in codes(found.batches[0].warnings)


def test_a_validation_auc_moves_the_guess_and_no_limit(trial):
    plain = estimate_performance(trial.scores, trial.y, threshold=CUT)
    helped = estimate_performance(trial.scores, trial.y, threshold=CUT, auc=0.91)
    higher = estimate_performance(trial.scores, trial.y, threshold=CUT, auc=0.97)
    assert (helped.recall.low, helped.recall.high) == (plain.recall.low, plain.recall.high)
    assert higher.recall.value > helped.recall.value


def test_wider_levels_hold_narrower_ones(audited):
    scores, labels, inclusion, _ = audited
    by_level = [
        estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion, level=level)
        for level in (0.5, 0.8, 0.95)
    ]
    for narrow, wide in itertools.pairwise(by_level):
        for name in FIGURES:
            inner, outer = getattr(narrow, name), getattr(wide, name)
            assert outer.low <= inner.low
            assert inner.high <= outer.high
            assert outer.level > inner.level


def test_no_alert_at_all(trial):
    found = estimate_performance(trial.scores, trial.y, threshold=99.0)
    assert found.counts.alerts == 0
    assert np.isnan(found.precision.value)
    assert (found.precision.low, found.precision.high) == (0.0, 1.0)
    assert np.isnan(found.precision_per_recall.value)
    assert (found.recall.value, found.recall.high) == (0.0, 0.0)  # events are known below
    assert "no-alerts" in codes(found.warnings)
    assert found.missed.low == found.counts.events_below


def test_nothing_but_alerts(trial):
    found = estimate_performance(trial.scores, trial.y_true, threshold=-5.0)
    assert (found.recall.value, found.missed.value) == (1.0, 0.0)
    assert found.precision.value == trial.y_true.mean()
    assert np.isnan(found.alerts_per_event.value)


def test_no_event_seen(trial):
    labels = np.where(trial.scores >= CUT, 0.0, np.nan)
    found = estimate_performance(trial.scores, labels, threshold=CUT)
    assert np.isnan(found.recall.value)
    assert "undefined" in found.recall.assumes
    assert found.precision.value == 0.0
    assert "no-positives" not in codes(found.warnings)  # nothing bounds what was missed
    choice = choose_labels(trial.scores, labels, n=50, threshold=CUT, random_state=0)
    checked = labels.copy()
    checked[choice.rows] = 0.0
    found = estimate_performance(trial.scores, checked, threshold=CUT, inclusion=choice)
    (remark,) = (one for one in found.warnings if one.code == "no-positives")
    assert remark.fields["labelled"] == 36
    assert found.missed.low == 0.0 < found.missed.high < 1000
    known = labels.copy()
    known[np.argsort(-trial.scores)[40]] = 1.0
    found = estimate_performance(trial.scores, known, threshold=CUT)
    assert (found.recall.value, found.recall.low, found.recall.high) == (0.0, 0.0, 0.0)


def test_alerts_without_a_label_are_drawn_and_said(trial):
    labels = trial.y.copy()
    alerts = np.flatnonzero(trial.scores >= CUT)
    labels[alerts[::3]] = np.nan
    found = estimate_performance(trial.scores, labels, threshold=CUT)
    assert found.precision.method == "counted and drawn"
    assert found.precision.value == pytest.approx(11 / 36, abs=0.12)
    assert found.counts.alerts_labelled == 24
    (remark,) = (one for one in found.warnings if one.code == "open-alerts")
    assert (remark.fields["open"], remark.fields["alerts"]) == (12, 36)
    seen = np.nansum(labels[alerts])
    assert found.precision.low >= seen / 36
    assert found.precision.high <= (seen + 12) / 36
    # Found and missed events make up the prevalence, low ends with low ends.
    for end in ("low", "high"):
        events = 36 * getattr(found.precision, end) + getattr(found.missed, end)
        assert getattr(found.prevalence, end) == pytest.approx(events / 5000)


def test_audit_alone_says_what_an_audit_can(audited):
    scores, labels, inclusion, truth = audited
    found = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion, method="audit")
    below = (scores < CUT) & ~np.isnan(labels)
    weight = np.sum(labels[below] / inclusion[below])
    assert found.missed.value == pytest.approx(weight)
    seen = labels[scores >= CUT].sum()
    assert found.recall.value == pytest.approx(seen / (seen + weight))
    assert found.recall.method == "random checks"
    assert found.prevalence.value == pytest.approx((seen + weight) / len(scores))
    assert truth[scores < CUT].sum() in found.missed


def test_mixture_says_what_the_paper_would(trial):
    found = estimate_performance(
        trial.scores, trial.y, threshold=CUT, method="mixture", background="normal", check=False
    )
    assert found.recall.method == "mixture, posterior interval"
    assert found.recall.low < found.recall.value < found.recall.high
    assert found.recall.value == pytest.approx(0.25, abs=0.2)
    assert found.precision.value == 11 / 36
    assert found.effective_size > 100
    with refused("no-curve", UsageError):
        found.share_of_events(np.zeros(1), 2, np.random.default_rng(0))
    same(found.at(CUT), found)


def test_a_mixture_that_is_not_identified_gives_bounds_only(trial):
    labels = np.where(trial.scores >= CUT, 0.0, np.nan)
    found = estimate_performance(
        trial.scores, labels, threshold=CUT, method="mixture", background="normal", check=False
    )
    assert np.isnan(found.recall.value)
    assert np.isnan(found.alerts_per_event.value)
    assert found.missed.high == 5000 - 36
    assert "not-identified" in codes(found.warnings)


def test_many_batches_are_pooled_in_groups_and_keep_their_own_levels():
    """Fourteen batches of which the last has eight times the events."""
    rng = np.random.default_rng(0)
    week = np.repeat(np.arange(14), 200)
    event = rng.random(2800) < np.where(week == 13, 0.4, 0.05)
    scores = rng.normal(size=2800) + 2 * event
    labels = np.where(scores >= 1.5, event * 1.0, np.nan)
    found = estimate_performance(scores, labels, threshold=1.5, batch=week)
    parts = found.batches
    assert list(parts) == list(range(14))
    share = [parts[name].alerts_per_event.value for name in range(14)]
    assert int(np.argmin(share)) == 13
    assert sum(part.counts.events_seen for part in parts.values()) == found.counts.events_seen
    for name, part in parts.items():
        rows = (week == name) & (scores >= 1.5)
        assert part.counts.events_seen == event[rows].sum()


def test_draws_worth_little_leave_the_word_to_the_audit(audited, trial, monkeypatch):
    scores, labels, inclusion, _ = audited
    monkeypatch.setattr("scarce.missed.performance.WORTHLESS", 1e9)
    curve = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion, method="auto")
    count = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion, method="audit")
    assert curve.missed.value == count.missed.value
    monkeypatch.setattr("scarce.missed.performance.WORTHLESS", 1e9)
    withheld = estimate_performance(
        trial.scores, trial.y, threshold=CUT, method="mixture", background="normal", check=False
    )
    assert np.isnan(withheld.recall.value)
    assert "mixture-draws" in codes(withheld.warnings)
    monkeypatch.undo()
    monkeypatch.setattr("scarce.missed.performance.FEW_DRAWS", 1e9)
    few = estimate_performance(
        trial.scores, trial.y, threshold=CUT, method="mixture", background="normal", check=False
    )
    assert "few-draws" in codes(few.warnings)


def test_families_that_scores_do_not_follow_are_doubted():
    rng = np.random.default_rng(0)
    event = rng.random(400) < 0.1
    scores = np.where(event, rng.normal(6, 1, 400), rng.standard_t(1.5, 400))
    labels = np.where(scores >= 4, event * 1.0, np.nan)
    settings = {"threshold": 5.0, "method": "mixture", "background": "normal"}
    found = estimate_performance(scores, labels, **settings)
    assert "families-doubted" in codes(found.warnings)
    quick = estimate_performance(scores, labels, check=False, **settings)
    assert "families-doubted" not in codes(quick.warnings)
    assert quick.recall == found.recall


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"method": "mixtur"}, "unknown-word"),
        ({"level": 1.0}, "level-range"),
        ({"level": 90}, "level-range"),
        ({"auc": 0.4}, "auc-range"),
        ({"auc": 1.0}, "auc-range"),
        ({"threshold": None}, "threshold-value"),
        ({"random_state": -1}, "seed-value"),
    ],
)
def test_wrong_arguments_are_refused(trial, settings, code):
    with refused(code, UsageError):
        estimate_performance(trial.scores, trial.y, **{"threshold": CUT, **settings})


def test_acceptance_figure_4_default():
    """Fifteen batches of the top 156 labels: error and coverage of the realised recall."""
    errors, helped, held = [], [], 0
    for seed in range(15):
        sample = make_trial_scores(random_state=100 + seed)
        at = float(sample.truth.threshold_at_recall(0.25))
        truth = sample.y_true[sample.scores >= at].sum() / sample.y_true.sum()
        found = estimate_performance(sample.scores, sample.y, threshold=at)
        errors.append(found.recall.value - truth)
        held += truth in found.recall
        with_auc = estimate_performance(sample.scores, sample.y, threshold=at, auc=0.908)
        helped.append(with_auc.recall.value - truth)
    # Gates of 100 batches: 0.10, and 0.08 with the AUC; 15 batches have an error of 18 %.
    assert np.sqrt(np.nanmean(np.square(errors))) < 0.12
    assert np.sqrt(np.nanmean(np.square(helped))) < 0.10
    assert held >= 12


def test_acceptance_two_sources_hold_the_truth():
    """Fifteen batches with half of the labels spent on an audit."""
    held, width = 0, []
    for seed in range(15):
        sample = make_trial_scores(random_state=200 + seed, positive_share=0.02)
        at = float(sample.truth.threshold_at_recall(0.25))
        labels = np.where(sample.scores >= at, sample.y_true, np.nan)
        choice = choose_labels(
            sample.scores, labels, policy="audit", n=150, threshold=at, random_state=seed
        )
        labels[choice.rows] = sample.y_true[choice.rows]
        truth = sample.y_true[sample.scores >= at].sum() / sample.y_true.sum()
        found = estimate_performance(
            sample.scores, labels, threshold=at, inclusion=choice.inclusion(5000)
        )
        held += truth in found.recall
        width.append(found.recall.width)
    assert held >= 13
    assert 0.1 < np.mean(width) < 0.65


class Sure:
    """A curve that is sure of itself: the same share at or above a score, another one below."""

    def __init__(self, at, above, below):
        self.at, self.above, self.below = at, above, below

    def share_of_events(self, batch, index, score, place):
        return np.tile(np.where(score > self.at, self.above, self.below), (9, 1))


def asked(scores, labels, threshold, curve):
    batch = batch_of(None, scores, labels, threshold)
    fit = PerformanceFit(
        batches=(batch,),
        curves=curve,
        settings=PerformanceSettings(),
        effective_size=900.0,
        warnings=(),
        which=(0,),
    )
    return fit.answer([threshold])


def test_oracle_slope_and_cost_of_a_curve_that_is_sure():
    """60 alerts with 30 events; below them a share of 0.2, then of 0, then all known."""
    scores = np.arange(200.0)
    labels = np.where(scores >= 140, scores % 2, np.nan)
    flat = asked(scores, labels, 140.0, Sure(np.inf, 0.0, 0.2))
    assert flat.alerts_per_event.value == pytest.approx(5.0)
    assert flat.alerts_per_event.low == flat.alerts_per_event.high == pytest.approx(5.0)
    total = 30 + 0.2 * 140
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
    assert "Precision of these alerts: 0.306; of further alerts like them: 0.306" in text
    assert "Recall: a guess of" in text
    assert "no interval" in text
    assert "if the scores of events spread 3 times as widely" in text.lower()
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
    assert "Recall: about" in text
    assert "If 2 % of the labels are wrong" in text
    labels = np.where(trial.scores >= 10.4, trial.y_true, np.nan)
    few = str(estimate_performance(trial.scores, labels, threshold=10.4))
    assert "too few for a best guess" in few
    assert "nan" not in few


def test_counts_between_bins_are_said_to_be_inexact(monkeypatch, rng):
    """Of long data `at` gave 2,006 alerts for 2,000 without a word."""
    scores = rng.normal(size=3000)
    order = np.sort(scores)[::-1]
    labels = np.where(scores >= order[99], (scores > 2.2).astype(float), np.nan)
    short = estimate_performance(scores, labels, threshold=order[99], random_state=0)
    assert short.at(order[199]).counts.alerts == 200
    assert "binned-counts" not in codes(short.at(order[199]).warnings)
    for module in ("provenance", "performance"):
        monkeypatch.setattr(f"scarce.missed.{module}.ROW_BY_ROW", 1000)
    long = estimate_performance(scores, labels, threshold=order[99], random_state=0)
    assert (long.counts.alerts, long.at(order[99]).counts.alerts) == (100, 100)
    assert "binned-counts" not in codes((*long.warnings, *long.at(order[99]).warnings))
    assert "binned-counts" in codes(long.at(order[199]).warnings)


# --- worlds with known truth: coverage ------------------------------------------------------------


def world(kind, rng, n=2500):
    """Scores and events; what is not normal is what breaks curves."""
    event = rng.random(n) < 0.025
    scores, rows = rng.normal(size=n), np.flatnonzero(event)
    seen = rows[rng.random(len(rows)) < {"third": 2 / 3, "clump": 0.5, "other": 0.6}.get(kind, 1.0)]
    hidden = np.setdiff1d(rows, seen)
    scores[seen] += 2.3
    if kind == "clump":
        scores[hidden] = rng.normal(-1.0, 0.05, len(hidden))
    elif kind == "other":
        scores[hidden] = rng.normal(-2.5, 0.3, len(hidden))
    elif kind == "wide":
        scores[rows] = rng.normal(2.0, 3.0, len(rows))
    elif kind == "ties":
        scores = np.clip(np.round(scores), -2.0, 3.0)
    return scores, event * 1.0


def investigated(kind, seed, n=2500, checks=100, alerts=60, flip=None):
    """A batch: its alerts have labels, and so have rows drawn below."""
    rng = np.random.default_rng([seed, n])
    scores, truth = world(kind, rng, n)
    threshold = 2.5 if kind == "ties" else float(np.sort(scores)[-alerts])
    said = truth if flip is None else flip(truth, rng)
    labels = np.where(scores >= threshold, said, np.nan)
    choice = choose_labels(
        scores, labels, policy="audit", n=checks, threshold=threshold, random_state=seed
    )
    labels[choice.rows] = said[choice.rows]
    return scores, labels, truth, threshold, choice


QUICK = {"method": "audit", "check": False}


def holds(estimate, truth):
    return estimate.low - 1e-9 <= truth <= estimate.high + 1e-9


@pytest.mark.parametrize("kind", ["normal", "third", "clump", "other", "ties", "wide"])
def test_gate_limits_hold_the_truth_in_worlds_that_break_curves(kind):
    """90 batches at .90; fewer than 76 (.84) has a chance of 4 % in a world that just holds."""
    count, held, disorder = 90, np.zeros(2), 0
    for seed in range(count):
        scores, labels, truth, threshold, choice = investigated(kind, seed)
        found = estimate_performance(scores, labels, threshold=threshold, inclusion=choice, **QUICK)
        alert = scores >= threshold
        held += [
            holds(found.missed, truth[~alert].sum()),
            holds(found.recall, truth[alert].sum() / truth.sum()),
        ]
        disorder += "order-contradicted" in codes(found.warnings)
        assert found.missed.high < 700  # it says something: there are 2,400 rows
    assert (held >= 0.84 * count).all(), held
    assert held[0] == held[1]  # where found events are certain, the two say the same
    if kind not in ("clump", "other"):
        assert disorder <= 0.03 * count


@pytest.mark.parametrize("rank", [20, 300])
def test_gate_other_thresholds_hold_the_truth_too(rank):
    count, held = 50, np.zeros(3)
    for seed in range(count):
        scores, labels, truth, threshold, choice = investigated("normal", 500 + seed)
        mark = float(np.sort(scores)[-rank])
        found = estimate_performance(
            scores, labels, threshold=threshold, inclusion=choice, **QUICK
        ).at(mark)
        alert = scores >= mark
        held += [
            holds(found.missed, truth[~alert].sum()),
            holds(found.recall, truth[alert].sum() / truth.sum()),
            holds(found.precision, truth[alert].mean()),
        ]
        assert (rank < 60) == (found.precision.width == 0.0)
        total = found.counts.alerts * found.precision.value + found.missed.value
        assert found.prevalence.value * 2500 == pytest.approx(total)
    assert (held >= 0.84 * count).all(), held


def test_gate_a_draw_that_finds_nothing_leaves_three_in_n():
    """The curve was sure of itself and took the limit to nearly nothing."""
    for seed in range(6):
        scores, labels, _, threshold, choice = investigated("normal", seed, checks=60)
        labels[choice.rows] = 0.0
        found = estimate_performance(scores, labels, threshold=threshold, inclusion=choice)
        assert found.missed.low == 0.0
        assert found.missed.high > 0.8 * 3 * 2440 / 60
        assert found.recall.high == 1.0


def test_disorder_is_said_and_the_limits_do_without_order():
    fired = held = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=3000)
        truth = ((scores < -0.5) & (rng.random(3000) < 0.3)) * 1.0
        truth[scores >= 1.6] = rng.random((scores >= 1.6).sum()) < 0.3
        labels = np.where(scores >= 1.6, truth, np.nan)
        choice = choose_labels(
            scores, labels, policy="audit", n=200, threshold=1.6, random_state=seed
        )
        labels[choice.rows] = truth[choice.rows]
        settings = {"threshold": 1.6, "inclusion": choice, **QUICK}
        found = estimate_performance(scores, labels, **settings)
        free = estimate_performance(scores, labels, assume="nothing", **settings)
        assert "order-contradicted" not in codes(free.warnings)
        if "order-contradicted" in codes(found.warnings):
            fired += 1
            assert found.missed.low <= free.missed.low
            assert found.missed.high >= free.missed.high
            held += holds(found.missed, truth[scores < 1.6].sum())
    assert fired >= 8
    assert held >= 0.8 * fired


# --- labels that are wrong ------------------------------------------------------------------------


def misread(truth, rng):
    """5 % of events are labelled as none, and .5 % of other rows as events."""
    return np.where(truth == 1, rng.random(len(truth)) > 0.05, rng.random(len(truth)) < 0.005) * 1.0


def test_gate_known_rates_of_wrong_labels_hold_the_truth_and_silence_does_not():
    count, told, silent = 50, np.zeros(2), np.zeros(2)
    for seed in range(count):
        scores, labels, truth, threshold, choice = investigated(
            "normal", seed, n=4000, checks=400, flip=misread
        )
        alert = scores >= threshold
        for held, settings in ((told, {"label_error": (0.05, 0.005)}), (silent, {})):
            found = estimate_performance(
                scores, labels, threshold=threshold, inclusion=choice, **settings, **QUICK
            )
            held += [
                holds(found.missed, truth[~alert].sum()),
                holds(found.recall, truth[alert].sum() / truth.sum()),
            ]
    assert (told >= 0.85 * count).all(), told
    assert (silent <= 0.85 * count).all(), silent


def test_rates_of_wrong_labels_correct_every_figure(audited):
    scores, labels, inclusion, _ = audited
    settings = {"threshold": CUT, "inclusion": inclusion}
    plain = estimate_performance(scores, labels, **settings)
    same(plain, estimate_performance(scores, labels, label_error=(0, 0), **settings))
    missed = estimate_performance(scores, labels, label_error=(0.3, 0.0), **settings)
    false = estimate_performance(scores, labels, label_error=(0.0, 0.01), **settings)
    for name in ("precision", "precision_further"):
        assert getattr(missed, name).value == pytest.approx(getattr(plain, name).value / 0.7)
        assert getattr(false, name).value < getattr(plain, name).value
    assert missed.missed.high > plain.missed.high
    assert false.missed.value < plain.missed.value
    assert false.missed.low < plain.missed.low
    for one in (missed, false):
        assert one.precision.low < one.precision.value < one.precision.high
        for name in FIGURES:
            figure = getattr(one, name)
            assert figure.low <= figure.value <= figure.high, name


@pytest.mark.parametrize("rates", [(0.05, 0.001), (0.3, 0.0), (0.0, 0.004)])
@pytest.mark.parametrize("share", ["alerts", "every row"])
def test_wrong_labels_without_a_draw_are_no_random_checks(trial, rates, share):
    labels = (
        trial.y_true if share == "every row" else np.where(trial.scores >= CUT, trial.y, np.nan)
    )
    found = estimate_performance(trial.scores, labels, threshold=CUT, label_error=rates)
    assert found.missed.method != "random checks"
    assert "drawn at random with" not in found.missed.assumes
    if share == "every row":
        assert found.missed.method == "counted"
        assert found.missed.low <= found.missed.value <= found.missed.high
        assert found.missed.low < found.missed.high
    else:
        assert found.missed.method == "guess from a curve, no checks"
        assert found.missed.high == 5000 - 36


@pytest.mark.parametrize("rates", [0.05, (0.05,), (0.5, 0.0), (-0.1, 0.0), (0.1, 0.2, 0.3)])
def test_rates_that_are_none_are_refused(trial, rates):
    with pytest.raises(UsageError):
        estimate_performance(trial.scores, trial.y, threshold=CUT, label_error=rates)


def test_a_second_reader_widens_by_what_the_two_disagree_on(audited):
    scores, labels, inclusion, _ = audited
    settings = {"threshold": CUT, "inclusion": inclusion}
    plain = estimate_performance(scores, labels, **settings)
    held = np.flatnonzero(~np.isnan(labels))
    widths = []
    for differing in (0, 5, 25):
        second = np.full(len(labels), np.nan)
        second[held] = labels[held]
        turned = np.random.default_rng(0).choice(held, differing, replace=False)
        second[turned] = 1 - second[turned]
        found = estimate_performance(scores, labels, second_labels=second, **settings)
        for name in ("recall", "missed"):
            one, bare = getattr(found, name), getattr(plain, name)
            assert one.value == bare.value
            assert one.low <= bare.low
            assert one.high >= bare.high
            assert "labels are right" not in one.assumes
        widths.append(found.recall.width)
    assert widths == sorted(widths)
    assert widths[-1] > plain.recall.width + 0.1
    none = estimate_performance(
        scores, labels, second_labels=np.full(len(labels), np.nan), **settings
    )
    assert none.recall.width == plain.recall.width


def test_two_readers_who_differ_leave_doubt_where_every_row_has_a_label(trial):
    second = trial.y_true.copy()
    second[::100] = 1 - second[::100]
    found = estimate_performance(trial.scores, trial.y_true, threshold=CUT, second_labels=second)
    plain = estimate_performance(trial.scores, trial.y_true, threshold=CUT)
    assert found.recall.value == plain.recall.value
    assert found.recall.low < plain.recall.low
    assert found.recall.high > plain.recall.high


# --- incidents, batches, open alerts, what came from outside --------------------------------------


def test_gate_precision_of_further_incidents_holds_the_truth():
    """Ten rows an incident: as if each were a case of its own, limits hold half of the time."""
    count, held, rows_alone = 60, 0, 0
    true = 0.25 * stats.norm.sf(0.8 - 1.2)
    true /= true + 0.75 * stats.norm.sf(0.8)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        event = rng.random(200) < 0.25
        group = np.repeat(np.arange(200), 10)
        scores = (rng.normal(size=200) + 1.2 * event)[group] - 0.01 * rng.random(2000)
        labels = np.where(scores >= 0.79, event[group] * 1.0, np.nan)
        settings = {"threshold": 0.79, **QUICK}
        found = estimate_performance(scores, labels, groups=group, **settings)
        plain = estimate_performance(scores, labels, **settings)
        assert found.counts.rows == 200
        assert found.counts.alerts == len(np.unique(group[scores >= 0.79]))
        held += holds(found.precision_further, true)
        rows_alone += holds(plain.precision_further, true)
    assert held >= 0.84 * count
    assert rows_alone <= 0.7 * count


def three_batches(seed=0):
    parts = [investigated("normal", seed + k, n=1500, checks=60) for k in range(3)]
    week = np.repeat(["a", "b", "c"], 1500)
    scores, labels, truth = (np.concatenate([part[k] for part in parts]) for k in range(3))
    inclusion = np.concatenate([part[4].inclusion(1500) for part in parts])
    marks = {name: part[3] for name, part in zip("abc", parts, strict=True)}
    return week, scores, labels, truth, inclusion, marks


def test_checks_of_several_batches_add_up():
    """The limits of the total are made of all strata, and are narrower than limits added up."""
    week, scores, labels, _, inclusion, marks = three_batches()
    found = estimate_performance(scores, labels, threshold=marks, inclusion=inclusion, batch=week)
    alone = {
        name: estimate_performance(
            scores[week == name],
            labels[week == name],
            threshold=marks[name],
            inclusion=inclusion[week == name],
        )
        for name in "abc"
    }
    for name, part in found.batches.items():
        for figure in ("recall", "missed", "precision", "precision_further"):
            one, other = getattr(part, figure), getattr(alone[name], figure)
            assert (one.low, one.high) == (other.low, other.high)
    assert found.missed.low >= sum(one.missed.low for one in alone.values())
    assert found.missed.high < sum(one.missed.high for one in alone.values())
    assert found.counts.audited == 180


def test_invariant_names_and_order_of_batches():
    week, scores, labels, _, inclusion, marks = three_batches()
    names = {"a": "z", "b": "y", "c": "x"}
    order = np.random.default_rng(0).permutation(len(scores))
    plain = estimate_performance(
        scores, labels, threshold=marks, inclusion=inclusion, batch=week, **QUICK
    )
    other = estimate_performance(
        scores[order],
        labels[order],
        threshold={names[name]: mark for name, mark in marks.items()},
        inclusion=inclusion[order],
        batch=np.array([names[name] for name in week[order]]),
        **QUICK,
    )
    assert plain.counts == other.counts
    for figure in ("recall", "missed", "precision_further"):
        one, two = getattr(plain, figure), getattr(other, figure)
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


def test_a_shape_that_is_shared_moves_guesses_and_no_limit():
    week, scores, labels, _, inclusion, marks = three_batches()
    settings = {"threshold": marks, "inclusion": inclusion, "batch": week}
    plain = estimate_performance(scores, labels, **settings)
    shared = estimate_performance(scores, labels, share_shape=True, **settings)
    for figure in ("recall", "missed"):
        one, other = getattr(plain, figure), getattr(shared, figure)
        assert (one.low, one.high) == (other.low, other.high)
        assert one.value != other.value


@pytest.mark.parametrize("below", ["every row", "drawn"])
def test_open_alerts_are_not_counted_at_a_higher_threshold(trial, below):
    """Above it all had labels and below the old one too: it said "counted", with open rows."""
    labels, inclusion = trial.y_true.copy(), np.ones(5000)
    alerts = np.argsort(-trial.scores)[:36]
    labels[alerts[20:30]] = np.nan
    if below == "drawn":
        rest = np.argsort(-trial.scores)[36:]
        labels[rest] = inclusion[rest] = np.nan
        labels[rest[::50]], inclusion[rest[::50]] = trial.y_true[rest[::50]], 0.02
    found = estimate_performance(trial.scores, labels, threshold=CUT, inclusion=inclusion)
    higher = found.at(float(trial.scores[alerts[9]]))
    assert higher.counts.alerts == higher.counts.alerts_labelled == 10
    assert higher.missed.method != "counted"
    known = np.nansum(labels[np.argsort(-trial.scores)[10:]])
    assert higher.missed.low <= known + 10 <= higher.missed.high
    assert higher.counts.labelled_below == (~np.isnan(labels)).sum() - 10
    if below == "every row":
        assert (higher.missed.low, higher.missed.high) == (known, known + 10)


def test_events_from_outside_lift_low_ends_and_are_no_sample(audited):
    scores, labels, inclusion, _ = audited
    plain = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion)
    labels, source = labels.copy(), np.full(len(labels), "", dtype=object)
    told = np.flatnonzero(np.isnan(labels) & (scores < CUT))[:90]
    labels[told], source[told] = 1.0, "outside"
    found = estimate_performance(
        scores, labels, threshold=CUT, inclusion=inclusion, label_source=source
    )
    assert found.counts.from_outside == 90
    assert found.missed.low == 90 + plain.counts.events_below > plain.missed.low
    assert found.missed.high == max(plain.missed.high, found.missed.low)
    assert found.recall.low == pytest.approx(
        plain.counts.events_seen / (plain.counts.events_seen + found.missed.high)
    )


def test_percentages_for_probabilities_are_refused():
    scores, labels, _, threshold, choice = investigated("normal", 0, n=40_000, checks=300)
    inclusion = choice.inclusion(40_000)
    for wrong in (np.minimum(inclusion * 100, 1.0), inclusion * 0.01):
        with refused("inclusion-total", DataError):
            estimate_performance(scores, labels, threshold=threshold, inclusion=wrong)
    with refused("inclusion-range"):
        estimate_performance(scores, labels, threshold=threshold, inclusion=inclusion * 100)


# --- arrays and rows ------------------------------------------------------------------------------


def as_rows(scores, labels, inclusion):
    table = pa.table({"score": scores, "label": labels, "chance": inclusion})
    return open_rows(table, columns=["score", "chance"], label="label")


def test_rows_and_arrays_are_one_estimate(audited):
    scores, labels, inclusion, _ = audited
    one = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion)
    rows = as_rows(scores, labels, inclusion)
    other = estimate_performance(rows, threshold=CUT, inclusion="chance")
    same(one, other)
    same(one.at(8.6), other.at(8.6))


def test_rows_in_bins_are_nearly_the_same_estimate(audited, monkeypatch):
    scores, labels, inclusion, _ = audited
    one = estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion)
    monkeypatch.setattr("scarce.missed.provenance.ROW_BY_ROW", 1000)
    for given in (
        (scores, labels, inclusion),
        (as_rows(scores, labels, inclusion), None, "chance"),
    ):
        other = estimate_performance(given[0], given[1], threshold=CUT, inclusion=given[2])
        assert one.counts == other.counts
        assert other.precision == one.precision
        for figure in ("recall", "missed"):
            exact, binned = getattr(one, figure), getattr(other, figure)
            for end in ("value", "low", "high"):
                assert getattr(binned, end) == pytest.approx(getattr(exact, end), rel=0.02)


def test_a_million_rows_take_seconds():
    rng = np.random.default_rng(0)
    event = rng.random(1_000_000) < 0.002
    scores = rng.normal(size=1_000_000) + 2.5 * event
    drawn = (rng.random(1_000_000) < 0.001) & (scores < 3.0)
    labels = np.where((scores >= 3.0) | drawn, event * 1.0, np.nan)
    inclusion = np.where(scores >= 3.0, 1.0, np.where(drawn, 0.001, np.nan))
    begun = time.perf_counter()
    found = estimate_performance(scores, labels, threshold=3.0, inclusion=inclusion)
    assert time.perf_counter() - begun < 10  # half a second where nothing else runs
    assert holds(found.missed, event[scores < 3.0].sum())
    assert found.counts.rows == 1_000_000


def test_rates_that_do_not_fit_the_labels_are_remarked_on(audited):
    scores, labels, inclusion, _ = audited
    given = {"threshold": CUT, "inclusion": inclusion}
    many = estimate_performance(scores, labels, label_error=(0.05, 0.2), **given)
    assert "rates-contradicted" in codes(many.warnings)
    few = estimate_performance(scores, labels, label_error=(0.05, 0.002), **given)
    assert "rates-contradicted" not in codes(few.warnings)


def test_limits_without_an_assumption_hold_those_with_it(audited):
    scores, labels, inclusion, _ = audited
    free, ordered = (
        estimate_performance(scores, labels, threshold=CUT, inclusion=inclusion, assume=assume)
        for assume in ("nothing", "monotone")
    )
    for name in ("recall", "missed"):
        one, other = getattr(free, name), getattr(ordered, name)
        assert one.low <= other.low
        assert one.high >= other.high
