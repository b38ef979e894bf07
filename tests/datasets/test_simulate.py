import numpy as np
import pytest
from scipy import integrate, special, stats

from scarce.datasets import make_presence_only, make_rare, make_revealed_classes, make_scores
from scarce.datasets.simulate import INVERSE_LINKS
from scarce.errors import UsageError
from tests.problems import refused

MAKERS = {
    "rare": lambda seed: make_rare(50, random_state=seed),
    "presence": lambda seed: make_presence_only(50, random_state=seed),
    "classes": lambda seed: make_revealed_classes(50, random_state=seed),
    "scores": lambda seed: make_scores(50, background="gamma", random_state=seed),
}


def arrays_of(record):
    fields = [getattr(record, name) for name in record.__dataclass_fields__]
    return [each for each in fields if isinstance(each, np.ndarray)]


def assert_frequencies_match(prob, y, n_bins=20, bound=5.0):
    """Overall, and in bins of equal size of prob, the positives must fit the sum of prob."""
    steep = np.clip(
        special.logit(prob), -30, 30
    )  # catches probabilities that are too flat or too steep
    for weight in (np.ones(prob.size), steep):
        sd = np.sqrt((weight**2 * prob * (1.0 - prob)).sum())
        assert abs((weight * (y - prob)).sum()) < bound * sd
    order = np.argsort(prob, kind="stable")
    for rows in np.array_split(order, n_bins):
        sd = np.sqrt((prob[rows] * (1.0 - prob[rows])).sum())
        assert abs((y[rows] - prob[rows]).sum()) < bound * sd + 1e-9


@pytest.mark.parametrize("maker", MAKERS)
def test_same_seed_same_bytes_and_float64(maker):
    first, again, other = (arrays_of(MAKERS[maker](seed)) for seed in (3, 3, 4))
    assert [each.tobytes() for each in first] == [each.tobytes() for each in again]
    assert first[0].tobytes() != other[0].tobytes()
    assert all(each.dtype == np.float64 for each in first)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_generator_moves_on(maker):
    rng = np.random.default_rng(0)
    assert arrays_of(MAKERS[maker](rng))[0].tobytes() != arrays_of(MAKERS[maker](rng))[0].tobytes()


@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("link", INVERSE_LINKS)
def test_labels_follow_prob(link, correlation):
    sample = make_rare(
        200_000, prevalence=0.3, link=link, correlation=correlation, signal=1.5, random_state=1
    )
    assert_frequencies_match(sample.prob, sample.y)


@pytest.mark.parametrize("prevalence", [1e-6, 0.01, 0.5, 0.9])
@pytest.mark.parametrize("link", INVERSE_LINKS)
def test_expected_prob_is_the_prevalence_exactly(link, prevalence):
    sample = make_rare(2, prevalence=prevalence, link=link, signal=2.0, random_state=0)
    inverse = INVERSE_LINKS[link]
    mean = integrate.quad(
        lambda z: float(inverse(np.float64(sample.intercept + 2.0 * z))) * stats.norm.pdf(z),
        -12,
        12,
        points=[0.0, 2.0],
        epsabs=0.0,
        epsrel=1e-10,
        limit=500,
    )[0]
    assert mean == pytest.approx(prevalence, rel=1e-7)


def test_probit_intercept_has_its_closed_form():
    sample = make_rare(2, prevalence=0.01, link="probit", signal=3.0, random_state=0)
    assert sample.intercept == pytest.approx(special.ndtri(0.01) * np.sqrt(1 + 9.0), rel=1e-10)


def test_realised_prevalence_stays_within_its_error():
    sample = make_rare(400_000, prevalence=0.01, correlation=0.5, random_state=2)
    assert abs(sample.prob.mean() - 0.01) < 5 * sample.prob.std() / np.sqrt(400_000)


@pytest.mark.parametrize("link", INVERSE_LINKS)
def test_prob_is_the_link_of_the_score(link):
    sample = make_rare(1000, link=link, random_state=3)
    score = sample.intercept + sample.X @ sample.coef
    wanted = {
        "logistic": 1 / (1 + np.exp(-score)),
        "probit": stats.norm.cdf(score),
        "cloglog": 1 - np.exp(-np.exp(score)),
    }[link]
    np.testing.assert_allclose(sample.prob, wanted, rtol=1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_features_and_score_have_the_spread_asked_for(correlation):
    sample = make_rare(100_000, n_features=3, signal=2.0, correlation=correlation, random_state=4)
    np.testing.assert_allclose(
        np.corrcoef(sample.X.T)[np.triu_indices(3, 1)], correlation, atol=0.02
    )
    np.testing.assert_allclose(sample.X.std(axis=0), 1.0, atol=0.02)
    assert (sample.X @ sample.coef).std() == pytest.approx(2.0, rel=0.02)


def test_given_coefficients_are_used_and_not_modified():
    coef = np.array([1.0, -2.0])
    sample = make_rare(10, n_features=2, coef=coef, random_state=0)
    sample.coef[0] = 9.0
    np.testing.assert_array_equal(coef, [1.0, -2.0])
    assert make_rare(10, n_features=2, coef=coef, random_state=7).intercept == sample.intercept


@pytest.mark.parametrize("link", INVERSE_LINKS)
def test_links_stay_in_range_at_extreme_scores(link):
    prob = INVERSE_LINKS[link](np.array([-800.0, 0.0, 800.0]))
    assert (prob[0] >= 0.0) & (prob[-1] == 1.0)


def test_presence_only_reveals_presences_at_the_rate_and_nothing_else():
    sample = make_presence_only(100_000, prevalence=0.2, reveal_rate=0.3, random_state=5)
    present, shown = sample.y_true == 1.0, ~np.isnan(sample.y)
    assert not shown[~present].any()
    assert (sample.y[shown] == 1.0).all()
    assert abs(shown[present].mean() - 0.3) < 5 * np.sqrt(0.21 / present.sum())
    np.testing.assert_array_equal(sample.inclusion, np.where(present, 0.3, 0.0))
    assert_frequencies_match(sample.prob, sample.y_true)


def test_presences_are_revealed_whatever_their_features():
    sample = make_presence_only(100_000, prevalence=0.3, reveal_rate=0.5, random_state=6)
    present = sample.y_true == 1.0
    shown = ~np.isnan(sample.y[present])
    gap = sample.prob[present][shown].mean() - sample.prob[present][~shown].mean()
    assert abs(gap) < 5 * sample.prob[present].std() * 2 / np.sqrt(present.sum())


def test_several_classes_follow_their_probabilities_and_rates():
    shares, rates = (0.5, 0.3, 0.2), (0.1, 0.6, 0.0)
    sample = make_revealed_classes(400_000, class_share=shares, reveal_rate=rates, random_state=7)
    for label in range(3):
        is_class = (sample.y_true == label).astype(float)
        assert abs(is_class.mean() - shares[label]) < 5 * np.sqrt(0.25 / 400_000)
        assert_frequencies_match(sample.prob[:, label], is_class)
        shown = ~np.isnan(sample.y[sample.y_true == label])
        assert abs(shown.mean() - rates[label]) < 5 * np.sqrt(0.25 / shown.size)
        assert (sample.inclusion[sample.y_true == label] == rates[label]).all()
    shown = ~np.isnan(sample.y)
    np.testing.assert_array_equal(sample.y[shown], sample.y_true[shown])


def test_scores_show_all_labels_and_keep_the_truth_apart():
    sample = make_scores(100, random_state=0)
    sample.y[0] = np.nan
    assert not np.isnan(sample.y_true).any()
    assert (sample.inclusion == 1.0).all()


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("integer-range", lambda: make_rare(0, random_state=0)),
        ("number-range", lambda: make_rare(5, prevalence=0.0, random_state=0)),
        ("number-range", lambda: make_rare(5, correlation=1.0, random_state=0)),
        ("number-range", lambda: make_rare(5, correlation=-0.1, random_state=0)),
        ("unknown-word", lambda: make_rare(5, link="logit", random_state=0)),
        ("number-range", lambda: make_rare(5, signal=0.0, random_state=0)),
        ("length-mismatch", lambda: make_rare(5, n_features=2, coef=[1.0], random_state=0)),
        ("seed-value", lambda: make_rare(5, random_state="seed")),
        ("number-range", lambda: make_presence_only(5, reveal_rate=1.5, random_state=0)),
        (
            "base-rate-range",
            lambda: make_revealed_classes(
                5, class_share=(0.5, 0.4), reveal_rate=(1, 1), random_state=0
            ),
        ),
        (
            "length-mismatch",
            lambda: make_revealed_classes(
                5, class_share=(0.5, 0.5), reveal_rate=(1,), random_state=0
            ),
        ),
        ("unknown-word", lambda: make_scores(5, background="uniform", random_state=0)),
    ],
)
def test_bad_arguments(code, call):
    with refused(code, UsageError):
        call()
