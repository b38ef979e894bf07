"""The closed forms against counts in a large sample, numerical integrals and differences."""

import numpy as np
import pytest
from scipy import integrate, stats

from scarce.datasets import ScoreTruth, make_scores
from scarce.datasets.score_truth import BACKGROUNDS
from scarce.errors import UsageError
from tests.problems import refused

LAWS = [
    ScoreTruth(positive_share=0.2, background=family, background_mean=5.0, background_sd=1.5)
    for family in BACKGROUNDS
]
THRESHOLDS = np.array([4.0, 6.0, 7.5, 8.5, 10.0])


def in_fine_steps(truth):
    """Return recall and precision as functions of the threshold, by plain numerical integrals."""
    negatives = {
        "normal": stats.norm(5.0, 1.5),
        "lognormal": stats.lognorm(s=np.sqrt(np.log(1 + 0.09)), scale=5.0 / np.sqrt(1 + 0.09)),
        "gamma": stats.gamma(a=5.0**2 / 1.5**2, scale=1.5**2 / 5.0),
    }[truth.background]
    positives = stats.norm(8.44, 1.0)

    def tail(law, t):
        return integrate.quad(law.pdf, t, t + 60.0, epsabs=0.0, epsrel=1e-11, limit=200)[0]

    def precision(t):
        hit, miss = 0.2 * tail(positives, t), 0.8 * tail(negatives, t)
        return hit / (hit + miss)

    return lambda t: tail(positives, t), precision, negatives, positives


@pytest.mark.parametrize("truth", LAWS, ids=lambda truth: truth.background)
def test_moments_of_the_background_are_those_asked_for(truth):
    assert truth._negatives().mean() == pytest.approx(5.0, rel=1e-12)
    assert truth._negatives().std() == pytest.approx(1.5, rel=1e-12)


@pytest.mark.parametrize("truth", LAWS, ids=lambda truth: truth.background)
def test_figures_equal_numerical_integrals(truth):
    recall, precision, negatives, positives = in_fine_steps(truth)
    for t in THRESHOLDS:
        assert truth.recall(t) == pytest.approx(recall(t), rel=1e-8)
        assert truth.precision(t) == pytest.approx(precision(t), rel=1e-8)
        hit, miss = 0.2 * positives.pdf(t), 0.8 * negatives.pdf(t)
        assert truth.posterior(t) == pytest.approx(hit / (hit + miss), rel=1e-10)
    assert truth.alarm_rate(6.0) == pytest.approx(0.2 * recall(6.0) / precision(6.0), rel=1e-8)
    assert truth.alarm_rate(6.0) == pytest.approx(
        0.2 * truth.recall(6.0) + 0.8 * truth.false_alarm_rate(6.0), rel=1e-12
    )


@pytest.mark.parametrize("truth", LAWS, ids=lambda truth: truth.background)
def test_slope_equals_the_central_difference(truth):
    step = 1e-5
    up, down = THRESHOLDS + step, THRESHOLDS - step
    slope = (truth.precision(up) - truth.precision(down)) / (truth.recall(up) - truth.recall(down))
    np.testing.assert_allclose(truth.precision_per_recall(THRESHOLDS), slope, rtol=2e-6)


@pytest.mark.parametrize("family", BACKGROUNDS)
def test_counts_in_a_large_sample_agree(family):
    n = 400_000
    sample = make_scores(n, positive_share=0.1, background=family, random_state=5)
    truth, positive = sample.truth, sample.y_true == 1.0
    assert abs(positive.mean() - 0.1) < 5 * np.sqrt(0.09 / n)
    for t in (7.0, 8.0, 9.0):
        alert = sample.scores > t
        for seen, of, wanted in [
            (alert[positive], positive.sum(), float(truth.recall(t))),
            (alert[~positive], (~positive).sum(), float(truth.false_alarm_rate(t))),
            (positive[alert], alert.sum(), float(truth.precision(t))),
            (alert, n, float(truth.alarm_rate(t))),
        ]:
            assert abs(seen.mean() - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / of)


@pytest.mark.parametrize("family", BACKGROUNDS)
def test_posterior_is_the_share_of_positives_at_that_score(family):
    sample = make_scores(300_000, positive_share=0.15, background=family, random_state=8)
    posterior = sample.truth.posterior(sample.scores)
    edges = np.quantile(posterior, np.linspace(0, 1, 21)[1:-1])
    bins = np.searchsorted(edges, posterior)
    for at in range(20):
        inside = bins == at
        gap = (sample.y_true[inside] - posterior[inside]).sum()
        sd = np.sqrt((posterior[inside] * (1 - posterior[inside])).sum())
        assert abs(gap) < 5 * sd


def test_threshold_at_recall_inverts_recall():
    truth = LAWS[0]
    wanted = np.array([1e-9, 0.25, 0.5, 0.999])
    np.testing.assert_allclose(truth.recall(truth.threshold_at_recall(wanted)), wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("family", "slope"), [("normal", -1.005), ("lognormal", -0.230)], ids=["normal", "lognormal"]
)
def test_default_operating_point_of_paper_002(family, slope):
    truth = ScoreTruth(positive_share=0.008, background=family)
    found = truth.precision_per_recall(truth.threshold_at_recall(0.25))
    assert float(found) == pytest.approx(slope, abs=5e-4)


@pytest.mark.parametrize("family", BACKGROUNDS)
def test_far_out_nothing_overflows_or_warns(family):
    truth = ScoreTruth(positive_share=1e-12, background=family)
    at = np.array([-800.0, -1.0, 0.0, 50.0, 800.0])
    for figure in (truth.recall, truth.precision, truth.posterior, truth.alarm_rate):
        values = figure(at)
        assert ((values >= 0) & (values <= 1)).all()
    assert not np.isnan(truth.precision_per_recall(at)).any()


def test_far_slope_has_the_sign_of_the_heavier_tail():
    normal = ScoreTruth(positive_share=0.01)
    lognormal = ScoreTruth(positive_share=0.01, background="lognormal")
    assert normal.precision_per_recall(800.0) == -np.inf
    assert lognormal.precision_per_recall(800.0) > 0.0


def test_gamma_tail_joins_its_far_form_without_a_seam():
    # Out where the tail itself would be 1e-290 the two forms must agree.
    truth = ScoreTruth(positive_share=0.5, background="gamma")
    law = stats.gamma(a=6.56**2, scale=1 / 6.56)
    seam = float(law.isf(1e-290))
    inside, outside = truth._log_tails(np.array([seam - 1e-9, seam + 1e-9]))[1]
    assert outside - inside == pytest.approx(0.0, abs=1e-3)
    exact = [
        integrate.quad(lambda u, t=t: np.exp(law.logpdf(t + u) - law.logpdf(t)), 0, 20)[0]
        for t in (200.0, 800.0)
    ]
    wanted = law.logpdf([200.0, 800.0]) + np.log(exact)
    np.testing.assert_allclose(truth._log_tails(np.array([200.0, 800.0]))[1], wanted, atol=2e-3)


@pytest.mark.parametrize(
    "bad",
    [
        {"positive_share": 0.0},
        {"positive_share": 0.1, "background": "lognorm"},
        {"positive_share": 0.1, "background": "gamma", "background_mean": -1.0},
        {"positive_share": 0.1, "background_sd": 0.0},
        {"positive_share": 0.1, "foreground_sd": float("nan")},
    ],
)
def test_impossible_laws_are_refused(bad):
    with pytest.raises(UsageError):
        ScoreTruth(**bad)


def test_infinite_thresholds_are_refused_with_their_count():
    with refused("not-finite", UsageError, argument="threshold", count=2):
        LAWS[0].recall([1.0, np.inf, np.nan])
    with refused("number-range", UsageError, argument="recall", value=1.0):
        LAWS[0].threshold_at_recall([0.5, 1.0])
