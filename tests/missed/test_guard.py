"""The guard: silent where labels follow the curve, loud where they contradict it."""

import numpy as np
import pytest
from scipy import stats

from scarce.missed.guard import chance_of_more, contradictions
from scarce.missed.provenance import intake_of


class Curve:
    """A share of events that is a known function of the score, in every draw."""

    def __init__(self, share, draws=4000):
        self.share, self.draws = share, draws

    def share_of_events(self, intake, index, score, place):
        return np.tile(self.share(score), (self.draws, 1))


def true_share(score):
    return 0.6 / (1 + np.exp(-2 * (score - 1.5)))


def batch(share, seed=0, n=600, name=None):
    """The alerts (1 and above), a band below them and an audit, labelled by a share of events."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n) + 0.4
    event = (rng.random(n) < share(scores)) * 1.0
    inclusion = np.where(scores >= 0.8, 1.0, np.nan)
    drawn = rng.choice(np.flatnonzero(scores < 0.8), 80, replace=False)
    inclusion[drawn] = 0.2
    labels = np.where(np.isnan(inclusion), np.nan, event)
    return intake_of(name, scores, labels, 1.0, inclusion=inclusion)


def texts(intakes, curve, seed=0):
    """What is said, and of which batch."""
    found = contradictions(intakes, curve, np.random.default_rng(seed))
    assert all(0 <= index < len(intakes) for index, _ in found)
    return [text for _, text in found]


@pytest.mark.parametrize("table", [(3, 1, 1, 3), (0, 5, 2, 9), (7, 0, 2, 30), (12, 40, 3, 60)])
def test_oracle_exact_test_is_scipys(table):
    a, b, c, d = table
    theirs = stats.fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
    assert chance_of_more(*table) == pytest.approx(theirs, rel=1e-10)


def test_labels_that_follow_the_curve_seldom_raise_a_warning():
    """At most 5 % of batches may warn by the bands, and 5 % by the exact test."""
    warned = sum(
        bool(texts([batch(true_share, seed)], Curve(true_share, 500), seed)) for seed in range(60)
    )
    assert warned <= 8


def test_an_audit_that_finds_more_than_the_curve_expects_is_named():
    def richer(score):
        return np.where(score < 0.8, 0.3, true_share(score))

    intakes = [batch(true_share, name="April"), batch(richer, name="May")]
    text = " ".join(texts(intakes, Curve(true_share)))
    found = contradictions(intakes, Curve(true_share), np.random.default_rng(0))
    assert [index for index, _ in found] == [1] * len(found)
    assert "The audited rows in batch 'May' hold" in text
    assert "may be off" in text
    assert "upper half" not in text


def test_too_few_events_are_a_contradiction_too():
    warnings = texts([batch(lambda s: 0 * s + 0.01)], Curve(true_share))
    assert any("upper half of the alerts" in text for text in warnings)
    assert any("hold 0 events" in text or "hold 1 events" in text for text in warnings)


def test_rows_below_that_are_richer_than_the_alerts_are_named():
    def upside_down(score):
        return np.where((score < 1.0) & (score > 0.8), 0.7, 0.1)

    intake = batch(upside_down, name="b")
    warnings = texts([intake], Curve(upside_down))
    assert len(warnings) == 1
    ledger, cut = intake.ledger, intake.ledger.above(1.0)
    assert "right below the threshold in batch 'b'" in warnings[0]
    assert f"than the alerts do ({ledger.events[:cut].sum():.0f} of" in warnings[0]
    assert "method='audit'" in warnings[0]


def test_no_alert_or_no_band_is_no_contradiction():
    scores = np.linspace(0, 1, 50)
    alone = intake_of(None, scores, np.where(scores > 0.8, 1.0, np.nan), 0.8)
    below = intake_of(None, scores, np.where(scores > 0.8, 1.0, np.nan), 2.0)
    for intake in (alone, below):
        assert (
            contradictions([intake], Curve(lambda s: 0 * s + 1.0), np.random.default_rng(0)) == []
        )
