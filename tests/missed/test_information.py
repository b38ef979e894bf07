"""Fisher information of a mixture, against closed forms, exact integrals and simulated rows."""

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import norm

from scarce.errors import DataError, UsageError
from scarce.missed.information import (
    Information,
    KnownMixture,
    class_information,
    information,
    labelled_information,
    score_axis,
    unlabelled_information,
)
from scarce.missed.label_value import label_value
from scarce.missed.mixture.estimator import ScoreMixture
from tests.missed.mixture.test_families import InverseGaussian
from tests.problems import refused

FIGURE_2 = {b: KnownMixture(b, "normal", [2.0, 0.0], "normal", [3.88, 0.0]) for b in (0.3, 0.01)}
FIGURE_4 = KnownMixture(0.008, "normal", [6.56, 0.0], "normal", [8.44, 0.0])
AT_RECALL_25 = 8.44 + norm.isf(0.25)
MIXED = {
    "normal-normal": KnownMixture(0.1, "normal", [2.0, 0.2], "normal", [4.0, -0.1]),
    "lognormal-normal": KnownMixture(0.05, "lognormal", [1.87, -1.8], "normal", [8.44, 0.3]),
    "gamma-student-t": KnownMixture(0.2, "gamma", [3.7, -1.9], "student-t", [8.0, 0.1]),
    "student-t-gamma": KnownMixture(0.2, "student-t", [1.0, 0.5], "gamma", [2.0, 0.0]),
    "skew-lognormal": KnownMixture(0.1, "skew-normal", [1.0, 0.5, 2.0], "lognormal", [1.6, -1.0]),
}


def log_p(mixture, theta, s, label):
    """Log likelihood of rows, written out plainly: 002 eq 1."""
    (f0, f1), k = mixture.parts, 1 + len(mixture.params[0])
    no = math.log1p(-theta[0]) + f0.log_density(s, theta[1:k])
    yes = math.log(theta[0]) + f1.log_density(s, theta[k:])
    return np.where(np.isnan(label), np.logaddexp(no, yes), np.where(label == 1, yes, no))


def theta_of(mixture):
    return np.concatenate([[mixture.positive_share_], *mixture.params])


def draw(mixture, n, rng):
    """Rows of a mixture, drawn as textbooks do: scores, and which are events."""
    event = (rng.random(n) < mixture.positive_share_).astype(float)
    makers = {
        "normal": lambda a, b: a + math.exp(b) * rng.normal(size=n),
        "lognormal": lambda a, b: np.exp(a + math.exp(b) * rng.normal(size=n)),
        "gamma": lambda a, b: rng.gamma(math.exp(a), math.exp(b), size=n),
        "student-t": lambda a, b: a + math.exp(b) * rng.standard_t(4, size=n),
        "skew-normal": lambda a, b, c: (
            a
            + math.exp(b)
            * (c * np.abs(rng.normal(size=n)) + rng.normal(size=n))
            / math.hypot(1.0, c)
        ),
    }
    both = [makers[one.name](*own) for one, own in zip(mixture.parts, mixture.params, strict=True)]
    return np.where(event == 1, both[1], both[0]), event


# The paper and the figures found for it.


@pytest.mark.parametrize(
    ("share", "share_sd", "mean_sd"), [(0.3, 0.0267, 0.094), (0.01, 0.0039, 0.505)]
)
def test_golden_bounds_of_figure_2(share, share_sd, mean_sd):
    found = information(FIGURE_2[share], 10_000, design="tail", n_labels=500).in_variances().sd()
    assert found[0] == pytest.approx(share_sd, abs=0.5e-4)
    assert found[3] == pytest.approx(mean_sd, abs=0.5e-3)


def test_golden_recall_at_the_default_of_figure_4():
    tail, random = (
        information(FIGURE_4, 5000, design=design, n_labels=5000 / 32)
        for design in ("tail", "random")
    )
    assert tail.recall_sd(AT_RECALL_25) == pytest.approx(0.251, abs=5e-4)
    assert tail.without_cross_terms().recall_sd(AT_RECALL_25) == pytest.approx(0.079, abs=5e-4)
    assert random.recall_sd(AT_RECALL_25) == pytest.approx(0.160, abs=5e-4)


@pytest.mark.parametrize(("share", "random", "equal"), [(1e-3, 80, 579), (1e-4, 1.4, 101)])
def test_golden_figure_1_and_its_footnote(share, random, equal):
    mixture = KnownMixture(share, "normal", [2.0, 0.0], "normal", [3.88, 0.0])
    found = [
        information(mixture, 1e6, design=design, n_labels=1000).in_variances().matrix[3, 3]
        for design in ("random", "equal-class")
    ]
    assert found[0] == pytest.approx(random, rel=0.04)
    assert found[1] == pytest.approx(equal, rel=0.005)


# Outside witnesses.


def test_oracle_equations_3_to_5_term_by_term(rng):
    """The paper's second derivatives, typed in as printed (4 with its square), on drawn rows."""
    b, n = 0.1, 200_000
    m0, v0, m1, v1 = 2.0, 1.5, 4.0, 0.8
    mixture = KnownMixture(
        b, "normal", [m0, 0.5 * math.log(v0)], "normal", [m1, 0.5 * math.log(v1)]
    )
    event = rng.random(n) < b
    s = np.where(event, rng.normal(m1, math.sqrt(v1), n), rng.normal(m0, math.sqrt(v0), n))
    p0, p1 = norm.pdf(s, m0, math.sqrt(v0)), norm.pdf(s, m1, math.sqrt(v1))
    p, labelled = (1 - b) * p0 + b * p1, s >= 4.5

    def slopes(p, mean, variance):
        gap = s - mean
        first = p * gap / variance, p * (gap**2 / variance - 1) / (2 * variance)
        second = (
            p * (gap**2 / variance - 1) / variance,
            p
            * (
                ((gap**2 / variance - 1) / (2 * variance)) ** 2
                + (0.5 - gap**2 / variance) / variance**2
            ),
        )
        return zip(first, second, strict=True)

    terms = [np.where(labelled, np.where(event, 1 / b**2, 1 / (1 - b) ** 2), ((p1 - p0) / p) ** 2)]
    for weight, density, mean, variance, own in (
        (1 - b, p0, m0, v0, ~event),
        (b, p1, m1, v1, event),
    ):
        for first, second in slopes(density, mean, variance):
            bare = (weight * first / p) ** 2 - weight * second / p
            known = np.where(own, (first / density) ** 2 - second / density, 0.0)
            terms.append(np.where(labelled, known, bare))
    found = information(mixture, 1, design="tail", threshold=4.5).in_variances()
    assert found.names[2::2] == ("background_variance", "foreground_variance")
    for term, wanted in zip(terms, np.diag(found.matrix), strict=True):
        assert term.mean() == pytest.approx(wanted, abs=4.5 * term.std() / math.sqrt(n))


@pytest.mark.parametrize("name", MIXED)
def test_simulation_all_second_derivatives_cross_terms_too(name, rng):
    mixture, n = MIXED[name], 20_000
    s, label = draw(mixture, n, rng)
    t = float(mixture.threshold_for(0.1))
    label[s < t] = np.nan
    found = information(mixture, 1, design="tail", threshold=t).matrix
    theta = theta_of(mixture)
    steps = np.diag(1e-3 * np.maximum(0.1, np.abs(theta)))
    for i in range(len(theta)):
        for j in range(i + 1):
            corners = [
                log_p(mixture, theta + a * steps[i] + b * steps[j], s, label)
                for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            bend = corners[0] - corners[1] - corners[2] + corners[3]
            term = -bend / (4 * steps[i, i] * steps[j, j])
            allowed = 4.5 * term.std() / math.sqrt(n) + 1e-4 * abs(found[i, j])
            assert term.mean() == pytest.approx(found[i, j], abs=allowed), (i, j)


def exact_density(name, params, s):
    first, second = mpmath.mpf(params[0]), mpmath.exp(mpmath.mpf(params[1]))
    if name == "normal":
        return mpmath.npdf(s, first, second)
    if name == "lognormal":
        return mpmath.npdf(mpmath.log(s), first, second) / s if s > 0 else mpmath.mpf(0)
    return mpmath.mpf("0.375") / second * (1 + ((s - first) / second) ** 2 / 4) ** mpmath.mpf(-2.5)


@pytest.mark.parametrize(
    ("mixture", "low", "high", "ends"),
    [
        (FIGURE_4, -math.inf, math.inf, [-30, 0, 4, 6, 7, 8, 10, 14, 40]),
        (FIGURE_4, 8.4, math.inf, [8.4, 9, 10, 12, 20, 40]),
        (MIXED["lognormal-normal"], -math.inf, 7.0, [-30, 0, 2, 4, 5, 6, 7]),
        (
            KnownMixture(0.2, "student-t", [1.0, 0.5], "normal", [4.0, 0.0]),
            -math.inf,
            math.inf,
            [-1e9, -1e6, -1e4, -300, -30, -5, 0, 2, 4, 6, 10, 40, 300, 1e4, 1e6, 1e9],
        ),
    ],
)
def test_oracle_exact_integrals(mixture, low, high, ends):
    share = mixture.positive_share_

    def integrand(s):
        p0, p1 = (
            exact_density(part.name, params, s)
            for part, params in zip(mixture.parts, mixture.params, strict=True)
        )
        total = (1 - share) * p0 + share * p1
        return (p1 - p0) ** 2 / total if total > 0 else mpmath.mpf(0)

    with mpmath.workdps(20):
        exact = float(mpmath.quad(integrand, ends, maxdegree=5))
    found = unlabelled_information(mixture, low, high).matrix[0, 0]
    assert found == pytest.approx(exact, rel=1e-9)


def gamma_information(log_shape):
    shape = math.exp(log_shape)
    return shape * np.array([[shape * float(polygamma(1, shape)), 1.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("part", "params", "exact"),
    [
        ("normal", [2.0, 0.4], np.diag([math.exp(-0.8), 2.0])),
        ("lognormal", [0.3, -0.6], np.diag([math.exp(1.2), 2.0])),
        ("lognormal", [-9.0, 1.0], np.diag([math.exp(-2.0), 2.0])),
        ("gamma", [1.1, 0.4], gamma_information(1.1)),
        ("gamma", [-1.5, 0.4], gamma_information(-1.5)),
        ("student-t", [2.0, 0.4], np.diag([5 / 7 * math.exp(-0.8), 8 / 7])),
        (InverseGaussian(), [0.4, 1.0], np.diag([math.exp(1.0 - 0.4), 0.5])),
    ],
)
def test_oracle_labelled_rows_have_textbook_information(part, params, exact):
    share = 0.2
    found = labelled_information(KnownMixture(share, part, params, "normal", [4.0, 0.0])).matrix
    np.testing.assert_allclose(found[1:3, 1:3], (1 - share) * exact, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found[3:, 3:], share * np.diag([1.0, 2.0]), rtol=1e-9, atol=1e-9)
    assert found[0, 0] == pytest.approx(1 / (share * (1 - share)), rel=1e-10)
    np.testing.assert_allclose(found[0, 1:], 0.0, atol=1e-8)


def test_oracle_recall_s_gradient_is_that_of_the_foreground_s_tail():
    for mixture in MIXED.values():
        part, params = mixture.parts[1], mixture.params[1]
        t = part.mean(params) + 0.3 * part.spread(params)
        found = labelled_information(mixture).recall_gradient(t)
        steps = 1e-5 * np.eye(len(params))
        wanted = [
            (np.exp(part.log_tail(t, params + h)) - np.exp(part.log_tail(t, params - h))) / 2e-5
            for h in steps
        ]
        np.testing.assert_allclose(found[-len(params) :], wanted, rtol=1e-7)
        assert not found[: -len(params)].any()


# Invariants.


@pytest.mark.parametrize("name", MIXED)
def test_invariant_regions_add_up_and_labels_never_hurt(name):
    mixture = MIXED[name]
    for kind in (labelled_information, unlabelled_information):
        parts = [
            kind(mixture, *ends).matrix for ends in ((-np.inf, 3.0), (3.0, 6.1), (6.1, np.inf))
        ]
        whole = kind(mixture).matrix
        np.testing.assert_allclose(sum(parts), whole, rtol=1e-9, atol=1e-9 * abs(whole).max())
    for low, high in ((-np.inf, 2.0), (2.0, 5.0), (5.0, np.inf)):
        more = labelled_information(mixture, low, high).matrix
        more = more - unlabelled_information(mixture, low, high).matrix
        scale = np.sqrt(np.diag(labelled_information(mixture).matrix))
        assert np.linalg.eigvalsh(more / np.outer(scale, scale)).min() > -1e-12
    assert score_axis(mixture).mass.sum() == pytest.approx(1.0, abs=1e-11)


def test_invariant_units_of_the_score_do_not_matter():
    k = math.log(1e4)
    scaled = KnownMixture(0.008, "normal", [6.56e4, k], "normal", [8.44e4, k])
    for design in ("tail", "random", "equal-class"):
        plain = information(FIGURE_4, 5000, design=design, n_labels=150)
        found = information(scaled, 5000, design=design, n_labels=150)
        assert found.recall_sd(1e4 * 9.0) == pytest.approx(plain.recall_sd(9.0), rel=1e-9)
        size = np.array([1.0, 1e4, 1e8, 1e4, 1e8])
        sds = found.in_variances().sd(), plain.in_variances().sd()
        np.testing.assert_allclose(sds[0], size * sds[1], rtol=1e-9)


def test_invariant_the_paper_s_parameters_tell_the_same_recall():
    tail = information(FIGURE_4, 5000, n_labels=150)
    other = tail.in_variances()
    for one, two in ((tail, other), (tail.without_cross_terms(), other.without_cross_terms())):
        assert one.recall_sd(9.0) == pytest.approx(two.recall_sd(9.0), rel=1e-12)
    assert other.values.tolist() == [0.008, 6.56, 1.0, 8.44, 1.0]
    np.testing.assert_allclose(other.sd()[[0, 1, 3]], tail.sd()[[0, 1, 3]], rtol=1e-10)
    np.testing.assert_allclose(other.sd()[[2, 4]], 2 * tail.sd()[[2, 4]], rtol=1e-10)


def test_designs_meet_at_their_ends():
    bare, full = 1000 * unlabelled_information(FIGURE_4), 1000 * labelled_information(FIGURE_4)
    for design in ("tail", "random"):
        for n_labels, wanted in ((0, bare), (1000, full)):
            found = information(FIGURE_4, 1000, design=design, n_labels=n_labels)
            np.testing.assert_allclose(found.matrix, wanted.matrix, rtol=1e-12)
    t = float(FIGURE_4.threshold_for(0.05))
    by_count = information(FIGURE_4, 1000, n_labels=50)
    by_threshold = information(FIGURE_4, 1000, threshold=t)
    np.testing.assert_allclose(by_count.matrix, by_threshold.matrix, rtol=1e-9)
    drawn = 0.008 * class_information(FIGURE_4, event=True)
    drawn += 0.992 * class_information(FIGURE_4, event=False)
    whole = labelled_information(FIGURE_4).matrix
    np.testing.assert_allclose(drawn.matrix, whole, rtol=1e-9, atol=1e-9 * whole.max())


def test_thresholds_and_alarm_rates_are_inverse():
    for mixture in MIXED.values():
        rates = np.array([1e-12, 1e-3, 0.2, 0.5, 0.9])
        np.testing.assert_allclose(
            mixture.alarm_rate(mixture.threshold_for(rates)), rates, rtol=1e-9
        )


def test_what_is_not_identified_has_an_infinite_error():
    same = KnownMixture(0.3, "normal", [2.0, 0.0], "normal", [2.0, 0.0])
    bare = unlabelled_information(same)
    assert np.isinf(bare.sd()).all()
    assert bare.recall_sd(3.0) == math.inf
    # but the mean of all rows is told: share and rest move both means alike
    assert bare.variance(np.array([0.0, 0.7, 0.0, 0.3, 0.0])) == pytest.approx(1.0, rel=1e-9)
    assert np.isfinite((bare + labelled_information(same)).sd()).all()
    none = unlabelled_information(FIGURE_4, low=900.0)
    assert np.isinf(none.sd()).all()


def test_a_mixture_that_cannot_be_used_is_refused():
    with refused("not-a-mixture", UsageError):
        unlabelled_information(SimpleNamespace())
    with refused("number-range", UsageError, argument="positive_share_"):
        unlabelled_information(KnownMixture(math.nan, "", [], "", []))
    with refused("family-parameters", UsageError):
        unlabelled_information(KnownMixture(0.1, "gamma", [1.0], "normal", [1.0, 2.0]))
    with refused("empty-range", UsageError):
        labelled_information(FIGURE_4, 3.0, 2.0)
    with refused("unknown-word", UsageError, argument="design", value="tails"):
        information(FIGURE_4, 100, design="tails")
    with refused("no-label-count", UsageError):
        information(FIGURE_4, 100)
    with refused("label-count", UsageError, argument="n_labels", value="200"):
        information(FIGURE_4, 100, n_labels=200)
    with refused("not-normal", UsageError):
        unlabelled_information(MIXED["gamma-student-t"]).in_variances()
    with refused("other-information", UsageError):
        unlabelled_information(FIGURE_4) + unlabelled_information(FIGURE_2[0.3])


def test_a_family_of_one_s_own_is_found_in_a_fitted_mixture_s_settings():
    toy = InverseGaussian()
    fitted = SimpleNamespace(
        positive_share_=0.1,
        background=["normal", toy],
        background_="inverse-gaussian",
        background_params_=np.array([0.4, 1.0]),
        foreground_="normal",
        foreground_params_=np.array([4.0, 0.0]),
    )
    assert KnownMixture.of(fitted).parts[0] is toy


# What a label is worth.


def test_oracle_label_value_is_the_slope_of_the_error():
    """More labels in a region, a hundredth of one, against the formula."""
    present = information(FIGURE_4, 5000, n_labels=156)
    edges = [4.0, 6.0, 7.0, 8.0, 8.3]
    found = label_value(FIGURE_4, threshold=9.11, present=present, edges=edges)
    assert found.high.tolist() == [8.3, 8.0, 7.0, 6.0]
    for at, (low, high) in enumerate(zip(found.low, found.high, strict=True)):
        rows = score_axis(FIGURE_4, low, high)
        gain = labelled_information(FIGURE_4, low, high)
        gain += -1 * unlabelled_information(FIGURE_4, low, high)
        more = present + (0.01 / rows.mass.sum()) * gain
        fall = (present.recall_sd(9.11) - more.recall_sd(9.11)) / 0.01
        assert found.value[at] == pytest.approx(fall, rel=1e-3)
        falls = (present.sd() - more.sd()) / 0.01
        np.testing.assert_allclose(found.parameter_value[:, at], falls, rtol=2e-3, atol=1e-12)
        wanted = rows.mass @ rows.posterior / rows.mass.sum()
        assert found.posterior[at] == pytest.approx(wanted, rel=1e-9)
    assert found.recall_sd == pytest.approx(present.recall_sd(9.11), rel=1e-12)
    below = label_value(FIGURE_4, threshold=9.11, present=present, labelled_from=8.42)
    assert below.high[0] == 8.42
    assert label_value(FIGURE_4, threshold=9.11, present=present).high[0] == math.inf
    # in the paper's parameters it is the same
    other = label_value(FIGURE_4, threshold=9.11, present=present.in_variances(), edges=edges)
    np.testing.assert_allclose(other.value, found.value, rtol=1e-9)
    assert found.share_of_rows.sum() == pytest.approx(1.0)


def test_oracle_label_value_row_by_row(rng):
    """The formula for single rows, with the matrix inverted plainly."""
    s = rng.normal(6.56, 1.0, 200)
    s = s[s < 8.0]
    found = label_value(FIGURE_4, threshold=9.0, n_rows=5000, labelled_from=8.0, scores=s)
    present = information(FIGURE_4, 5000, threshold=8.0)
    inverse, slope = np.linalg.inv(present.matrix), present.recall_gradient(9.0)
    sd = math.sqrt(slope @ inverse @ slope)
    for at in range(len(found)):
        rows = s[(s >= found.low[at]) & (s < found.high[at])]
        worth = []
        for x in rows:
            g = float(FIGURE_4.posterior(x))
            apart = [
                1 / 0.008 + 1 / 0.992,
                -(x - 6.56),
                1 - (x - 6.56) ** 2,
                x - 8.44,
                (x - 8.44) ** 2 - 1,
            ]
            worth.append(g * (1 - g) * (slope @ inverse @ apart) ** 2 / (2 * sd))
        assert found.value[at] == pytest.approx(np.mean(worth), rel=1e-8)
        assert found.share_of_rows[at] == pytest.approx(len(rows) / len(s))


def test_label_value_reads_well_and_leaves_empty_regions_out():
    found = label_value(
        FIGURE_4, threshold=9.11, n_rows=5000, scores=[5.0, 6.0, 6.5], edges=[4, 7, 8]
    )
    assert len(found) == 1
    assert found.best == 0
    assert (found.low[0], found.high[0]) == (4.0, 7.0)
    at_an_edge = label_value(FIGURE_4, threshold=9.11, n_rows=5000, scores=[7.0], edges=[4, 7, 8])
    assert (at_an_edge.low[0], at_an_edge.high[0]) == (7.0, 8.0)
    text = str(label_value(FIGURE_4, threshold=9.11, n_rows=5000))
    assert text.startswith("Recall at threshold 9.11 has a standard error of 0.588.")
    assert text.count("<- most") == 1
    assert len(text.splitlines()) == 9


def test_label_value_refuses_what_it_cannot_rank():
    with refused("nothing-known", UsageError):
        label_value(FIGURE_4, threshold=9.0)
    with refused("edges-value", UsageError, argument="edges", value="[3.0]"):
        label_value(FIGURE_4, threshold=9.0, n_rows=100, edges=[3.0])
    with refused("not-finite", DataError, argument="scores", count=1, rows=2, row=1):
        label_value(FIGURE_4, threshold=9.0, n_rows=100, scores=[1.0, math.nan])
    with refused("no-rows", DataError):
        label_value(FIGURE_4, threshold=9.0, n_rows=100, scores=[1.0], edges=[3.0, 4.0])
    same = KnownMixture(0.3, "normal", [2.0, 0.0], "normal", [2.0, 0.0])
    with refused("not-identified", DataError):
        label_value(same, threshold=3.0, present=unlabelled_information(same))


@pytest.mark.parametrize(
    ("options", "error", "code"),
    [
        ({"n_rows": -5}, UsageError, "number-range"),
        ({"n_rows": 0}, UsageError, "number-range"),
        ({"n_rows": math.nan}, UsageError, "number-range"),
        ({"n_rows": math.inf}, UsageError, "number-range"),
        ({"n_rows": "x"}, UsageError, "number-range"),
        ({"threshold": None}, UsageError, "threshold-value"),
        ({"threshold": "x"}, UsageError, "threshold-value"),
        ({"threshold": [1, 2]}, UsageError, "threshold-value"),
        ({"threshold": math.nan}, UsageError, "threshold-value"),
        ({"threshold": 99.0}, DataError, "recall-zero"),
        ({"labelled_from": "x"}, UsageError, "number-range"),
        ({"labelled_from": math.nan}, UsageError, "number-range"),
        ({"labelled_from": True}, UsageError, "number-range"),
        ({"scores": ["a"]}, DataError, "not-a-number"),
        ({"scores": [1.0, math.inf]}, DataError, "not-finite"),
        ({"edges": ["a"]}, UsageError, "edges-value"),
        ({"edges": None, "present": "x"}, UsageError, "other-information"),
    ],
)
def test_label_value_refuses_arguments_in_words(options, error, code):
    with refused(code, error):
        label_value(FIGURE_4, **({"threshold": 9.0, "n_rows": 5000} | options))


def test_label_value_of_rows_that_nobody_labelled_begins_at_the_top():
    """Labelled from a score that no row has: regions, and no warning of a logarithm of 0."""
    found = label_value(FIGURE_4, threshold=9.11, n_rows=10**6, labelled_from=99.0)
    assert found.high[0] == 99.0
    assert len(found) < 25
    assert found.share_of_rows.sum() == pytest.approx(1.0)
    assert (found.value >= 0).all()


def test_label_value_reads_masked_scores():
    s = np.ma.array([5.0, 6.0, 99.0], mask=[False, False, True])
    with refused("not-finite", DataError, argument="scores", count=1, rows=3, row=2):
        label_value(FIGURE_4, threshold=9.0, n_rows=100, scores=s)


def test_label_value_says_when_the_mixture_is_not_to_be_believed():
    told = SimpleNamespace(
        positive_share_=0.008,
        background_="normal",
        background_params_=[6.56, 0.0],
        foreground_="normal",
        foreground_params_=[8.44, 0.0],
        identified_=False,
        why_="no labelled event",
    )
    found = label_value(told, threshold=9.11, n_rows=5000)
    assert (found.warnings[0].code, found.warnings[0].fields["why"]) == (
        "not-identified",
        "no labelled event",
    )
    assert str(found).endswith(f"warning: {found.warnings[0]}")
    assert label_value(FIGURE_4, threshold=9.11, n_rows=5000).warnings == ()
    empty = SimpleNamespace(background_="", why_="all scores are 1")
    with refused("not-identified", DataError, why="all scores are 1"):
        label_value(empty, threshold=1.0, n_rows=10)


def test_label_value_of_a_fit_without_labelled_events_warns(rng):
    s = rng.normal(size=300)
    fitted = ScoreMixture(background="normal").fit(s, np.full(300, np.nan))
    assert not fitted.identified_
    assert label_value(fitted, threshold=1.5, n_rows=300).warnings
    flat = ScoreMixture().fit(np.ones(30), np.full(30, np.nan))
    with refused("not-identified", DataError):
        label_value(flat, threshold=1.5, n_rows=300)


def test_information_is_a_plain_record():
    found = unlabelled_information(FIGURE_4)
    assert isinstance(found, Information)
    assert found.matrix.shape == (5, 5)
    np.testing.assert_allclose(found.matrix, found.matrix.T, rtol=1e-13)
    np.testing.assert_allclose((3 * found).matrix, (found + found * 2).matrix, rtol=1e-13)
