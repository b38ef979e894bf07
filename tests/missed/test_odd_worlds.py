"""Estimates of performance where data are odd: what counting allows, and what users slip into."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from scarce import DataError, ScoreMixture, choose_labels, estimate_performance, open_rows
from scarce.datasets import make_trial_scores
from tests.problems import codes, refused

FIGURES = ("recall", "precision", "prevalence", "missed", "alerts_per_event")


def odd_case(seed):
    """A small batch of any kind: ties, few labels, audits with any probability, any threshold."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    truth = (rng.random(n) < rng.choice([0.02, 0.2, 0.6])).astype(float)
    scores = rng.normal(size=n) + rng.choice([0.0, 2.0]) * truth
    if rng.random() < 0.3:
        scores = np.round(scores, 1)
    threshold = float(rng.choice([scores[0], scores.min() - 1, scores.max() + 1, 1.0]))
    labels = np.where(rng.random(n) < rng.choice([0.0, 0.3, 0.9, 1.0]), truth, np.nan)
    labels[(scores >= threshold) & (rng.random(n) < 0.7)] = np.nan
    labels = np.where((scores >= threshold) & (rng.random() < 0.7), truth, labels)
    inclusion = None
    if rng.random() < 0.6:
        inclusion = rng.uniform(0.01, 1.0, n)
        inclusion[rng.random(n) < 0.3] = 1.0
        inclusion[rng.random(n) < 0.3] = np.nan
    return scores, labels, truth, threshold, inclusion


@pytest.mark.parametrize("method", ["auto", "audit", "mixture"])
def test_property_no_figure_leaves_what_counting_allows(method):
    for seed in range(25 if method == "mixture" else 70):
        scores, labels, _, threshold, inclusion = odd_case(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = estimate_performance(
                scores, labels, threshold=threshold, inclusion=inclusion, method=method, check=False
            )
        below, alert = scores < threshold, scores >= threshold
        certain = np.nansum(labels[below])
        possible = certain + np.isnan(labels[below]).sum()
        where = f"seed {seed}"
        assert certain - 1e-9 <= found.missed.low <= found.missed.high <= possible + 1e-9, where
        assert found.prevalence.high <= 1 + 1e-9, where
        if np.isnan(labels[alert]).sum() == 0 and np.nansum(labels[alert]) > 0:
            seen = np.nansum(labels[alert])
            assert found.recall.low >= seen / (seen + possible) - 1e-9, where
            assert found.recall.high <= seen / (seen + certain) + 1e-9, where
        for name in FIGURES:
            one = getattr(found, name)
            if not np.isnan(one.value):
                assert one.low - 1e-9 <= one.value <= one.high + 1e-9, (where, name, one)


@pytest.mark.parametrize("settings", [{}, {"assume": "nothing"}, {"level": 0.9999}])
def test_property_no_figure_at_another_threshold_leaves_what_counting_allows(settings):
    for seed in range(40):
        scores, labels, _, threshold, inclusion = odd_case(seed)
        found = estimate_performance(
            scores, labels, threshold=threshold, inclusion=inclusion, check=False, **settings
        )
        for mark in (*np.quantile(scores, [0.1, 0.6, 0.95]), scores.min() - 1, scores.max() + 1):
            one, alert = found.at(float(mark)), scores >= mark
            known = {side: np.nansum(labels[rows]) for side, rows in ((1, alert), (0, ~alert))}
            open_rows = {
                side: np.isnan(labels[rows]).sum() for side, rows in ((1, alert), (0, ~alert))
            }
            where = f"seed {seed} at {mark}"
            assert known[0] - 1e-9 <= one.missed.low <= one.missed.high, where
            assert one.missed.high <= known[0] + open_rows[0] + 1e-9, where
            most = known[1] + open_rows[1]
            if most + known[0] > 0 and not np.isnan(one.recall.value):
                assert one.recall.high <= most / (most + known[0]) + 1e-4, where
            if known[1] > 0 and not np.isnan(one.recall.value):
                least = known[1] / (known[1] + known[0] + open_rows[0])
                assert one.recall.low >= least - 1e-4, where
            for name in FIGURES:
                figure = getattr(one, name)
                if not np.isnan(figure.value):
                    assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, (where, name)


def test_property_rates_of_wrong_labels_never_break_a_figure():
    for seed in range(25):
        scores, labels, _, threshold, inclusion = odd_case(seed)
        for rates in ((0.1, 0.02), (0.45, 0.45), (0.0, 0.3)):
            found = estimate_performance(
                scores,
                labels,
                threshold=threshold,
                inclusion=inclusion,
                label_error=rates,
                second_labels=labels,
                check=False,
            )
            for one in (found, found.at(float(np.median(scores)))):
                assert "nan" not in str(one)
                assert 0 <= one.missed.low <= one.missed.high <= len(scores)
                for name in FIGURES:
                    figure = getattr(one, name)
                    if not np.isnan(figure.value):
                        assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, (seed, name)


def test_two_audits_counted_at_once_are_noticed():
    trial = make_trial_scores(5000, positive_share=0.03, random_state=5)
    labels = np.where(trial.scores >= 9.0, trial.y_true, np.nan)
    inclusion = np.full(5000, np.nan)
    for seed in (0, 1):
        more = choose_labels(
            trial.scores, labels, policy="audit", n=100, threshold=9.0, random_state=seed
        )
        labels[more.rows] = trial.y_true[more.rows]
        inclusion[more.rows] = more.probability
        last = more
    doubled = estimate_performance(trial.scores, labels, threshold=9.0, inclusion=inclusion)
    assert "inclusion-total" in codes(doubled.warnings)
    once = estimate_performance(trial.scores, labels, threshold=9.0, inclusion=last)
    assert "inclusion-total" not in codes(once.warnings)


@pytest.mark.parametrize("stated", [0.2, 0.3, 0.5])
def test_probabilities_that_are_not_those_of_the_draw_are_noticed(stated):
    """.3 for .2 stands for two thirds of the rows, which no draw of 900 does; .5 is refused."""
    trial = make_trial_scores(5000, positive_share=0.03, random_state=5)
    alert = trial.scores >= 9.0
    drawn = np.random.default_rng(0).random(5000) < 0.2
    labels = np.where(alert | drawn, trial.y_true, np.nan)
    inclusion = np.where(alert, 1.0, np.where(drawn, stated, np.nan))
    if stated == 0.5:
        with refused("inclusion-total", DataError):
            estimate_performance(trial.scores, labels, threshold=9.0, inclusion=inclusion)
        return
    found = estimate_performance(trial.scores, labels, threshold=9.0, inclusion=inclusion)
    assert ("inclusion-total" in codes(found.warnings)) is (stated == 0.3)


def test_a_column_of_words_is_no_score():
    table = pa.table({"grade": ["bad", "fair", "good"] * 4, "y": [0, None, 1] * 4})
    with refused("text-column", DataError, column="grade"):
        estimate_performance(open_rows(table, columns=["grade"], label="y"), threshold=1.0)


@pytest.mark.parametrize(
    ("scale", "shift"), [(1e3, 0.0), (1e-9, 0.0), (1e140, 0.0), (1.0, 1e6), (1e-6, 1.0)]
)
def test_invariant_units_of_scores_do_not_matter_to_a_mixture(scale, shift):
    trial = make_trial_scores(random_state=3)
    plain = ScoreMixture("normal").fit(trial.scores, trial.y)
    other = ScoreMixture("normal").fit(trial.scores * scale + shift, trial.y)
    assert other.report_.converged
    assert other.positive_share_ == pytest.approx(plain.positive_share_, rel=1e-3)
    threshold = 9.1 * scale + shift
    assert other.recall(threshold) == pytest.approx(float(plain.recall(9.1)), rel=1e-3)


def test_a_mixture_whose_draws_are_worth_nothing_is_withheld(monkeypatch):
    from scarce.missed.curve import PosteriorDraws
    from scarce.missed.mixture import estimator

    trial = make_trial_scores(random_state=3)
    monkeypatch.setattr(
        estimator, "_draw", lambda pair, *_: PosteriorDraws(np.tile(pair.theta, (2, 1)), 8.0)
    )
    found = estimate_performance(trial.scores, trial.y, threshold=9.1, method="mixture")
    assert np.isnan(found.recall.value)
    (problem,) = (one for one in found.warnings if one.code == "mixture-draws")
    assert problem.fields["size"] == 8.0


def test_labels_that_all_are_events_beside_open_alerts_are_asked_about():
    trial = make_trial_scores(random_state=3)
    labels = np.where((trial.scores >= 9.1) & (trial.y_true == 1), 1.0, np.nan)
    found = estimate_performance(trial.scores, labels, threshold=9.1)
    assert "only-positives" in codes(found.warnings)


def test_an_auc_without_labels_below_moves_the_best_guess_alone():
    trial = make_trial_scores(random_state=0)
    labels = np.where(trial.scores >= 9.1, trial.y_true, np.nan)
    plain = estimate_performance(trial.scores, labels, threshold=9.1)
    told = estimate_performance(trial.scores, labels, threshold=9.1, auc=0.7)
    assert (told.recall.low, told.recall.high) == (plain.recall.low, plain.recall.high)
    assert (told.missed.low, told.missed.high) == (plain.missed.low, plain.missed.high)
    assert told.recall.value < plain.recall.value - 0.05
    assert told.missed.value > plain.missed.value
    expected = (told.counts.events_seen + told.missed.value) / told.counts.rows
    assert told.prevalence.value == pytest.approx(expected)
    many = estimate_performance(trial.scores, labels, threshold=8.0, auc=0.999)
    assert "auc-contradicted" in codes(many.warnings)
    assert "auc-contradicted" not in codes(told.warnings)
