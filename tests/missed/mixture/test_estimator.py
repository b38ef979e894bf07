"""ScoreMixture: what it fits, what it refuses to believe, and what it says of a threshold."""

import itertools
import warnings as python_warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from scarce import DataError, ScoreMixture, UsageError, open_rows
from scarce.datasets import make_convergence_scores, make_trial_scores
from scarce.missed.mixture.em import Evidence, Pair, fit_pair, log_likelihood, spread_of
from scarce.missed.mixture.estimator import (
    _draw,
    _drawn_batch,
    _sample,
    bootstrap_ks,
    draw_mixtures,
)
from scarce.missed.mixture.families import FAMILIES, Normal
from scarce.missed.mixture.fitting import evidence_of, ks_distance
from scarce.missed.provenance import batch_of
from tests.problems import refused
from tests.properties.store_properties import check_round_trip

PRINTED = {"start": "paper", "select": "ks", "spread_prior": None}


def fixed(share=0.1, behind=(0.0, 0.0), front=(2.5, 0.2), **settings):
    """A mixture of two normals with these very parameters."""
    rng = np.random.default_rng(0)
    scores = np.r_[rng.normal(size=90), rng.normal(2.5, 1, 10)]
    model = ScoreMixture("normal", **settings).fit(scores, np.r_[np.zeros(90), np.ones(10)])
    model.positive_share_ = share
    model.background_params_, model.foreground_params_ = np.array(behind), np.array(front)
    return model


@pytest.fixture(scope="module")
def trial():
    return make_trial_scores(3000, positive_share=0.05, random_state=4)


@pytest.fixture(scope="module")
def model(trial):
    return ScoreMixture().fit(trial.scores, trial.y)


def test_acceptance_figure_2_default_start_never_swaps():
    """Ten of the paper's batches at share 0.3; its own start swaps the labels (96.5 % of 200)."""
    found = []
    for seed in range(10):
        sample = make_convergence_scores(random_state=seed)
        one = ScoreMixture("normal").fit(sample.scores, sample.y)
        assert one.identified_
        found.append((one.positive_share_, one.foreground_params_[0], one.background_params_[0]))
    # Standard deviations of one fit are .027, .094 and .035 (information bound).
    off = np.abs(np.mean(found, axis=0) - [0.3, 3.88, 2.0])
    assert (off < [0.03, 0.1, 0.04]).all()
    assert np.ptp([one[0] for one in found]) < 0.15


def test_figure_2_the_printed_start_swaps_the_labels_and_says_so():
    sample = make_convergence_scores(random_state=0)
    printed = ScoreMixture("normal", keep_path=True, **PRINTED).fit(sample.scores, sample.y)
    assert printed.positive_share_ > 0.9
    assert not printed.identified_
    assert "changed places" in printed.why_
    assert "Not identified" in printed.report_.warnings[0]
    labelled = ~np.isnan(sample.y)
    first, last = printed.path_[0], printed.path_[-1]
    assert first[0] == pytest.approx(sample.y[labelled].mean(), rel=1e-9)
    events = sample.scores[labelled & (sample.y == 1)]
    np.testing.assert_allclose(first[3:], [events.mean(), np.log(events.std())], rtol=1e-9)
    assert last[0] == pytest.approx(printed.positive_share_, rel=1e-12)
    assert len(printed.path_) == printed.report_.passes + 1


def test_acceptance_figure_4_default_recall_from_tail_labels():
    """Eight batches of 156 labels: no wrong sign, the right family, an error as measured."""
    wrong, right, error = 0, 0, []
    for seed in range(8):
        sample = make_trial_scores(random_state=seed)
        at = float(sample.truth.threshold_at_recall(0.25))
        one = ScoreMixture().fit(sample.scores, sample.y)
        wrong += float(one.precision_per_recall(at)) > 0
        right += one.background_ == "normal"
        error.append(float(one.recall(at)) - 0.25)
    assert wrong <= 1
    assert right >= 7
    assert np.sqrt(np.mean(np.square(error))) < 0.20  # gate of 150 trials, measured .145 of 30
    assert -0.1 < np.median(error) < 0.1


def test_oracle_every_row_labelled_is_maximum_likelihood_per_class(trial):
    one = ScoreMixture("normal", spread_prior=None).fit(trial.scores, trial.y_true)
    for params, label in ((one.background_params_, 0), (one.foreground_params_, 1)):
        here = trial.scores[trial.y_true == label]
        assert params[0] == pytest.approx(here.mean(), rel=1e-5)
        assert np.exp(params[1]) == pytest.approx(here.std(), rel=1e-4)
    assert one.positive_share_ == pytest.approx(trial.y_true.mean(), rel=1e-4)


def test_oracle_bins_are_within_a_hundredth_of_a_standard_error(trial, model):
    exact_data = Evidence(
        *itertools.chain.from_iterable(
            (trial.scores[state], np.ones(state.sum()))
            for state in (np.isnan(trial.y), trial.y == 1, trial.y == 0)
        )
    )
    families = FAMILIES["normal"], FAMILIES["normal"]
    exact = fit_pair(exact_data, *families, spread_prior=0.5)[0].pair
    error = np.sqrt(np.diag(np.linalg.inv(model.fisher_information().matrix)))
    ours = np.r_[model.positive_share_, model.background_params_, model.foreground_params_]
    theirs = np.r_[exact.positive_share, exact.background_params, exact.foreground_params]
    assert np.abs((ours - theirs) / error).max() < 0.01


def test_invariant_pieces_give_the_fit_of_the_whole(trial, model):
    error = np.sqrt(np.diag(np.linalg.inv(model.fisher_information().matrix)))

    def all_of(one):
        return np.r_[one.positive_share_, one.background_params_, one.foreground_params_]

    s, y = trial.scores, trial.y
    in_parts = ScoreMixture("normal").partial_fit(s[:1000], y[:1000])
    in_parts = in_parts.partial_fit(s[1000:], y[1000:])
    shard = ScoreMixture("normal").fit(s[:1200], y[:1200])
    merged = shard.merge(ScoreMixture("normal").fit(s[1200:], y[1200:]))
    shuffled = np.random.default_rng(0).permutation(3000)
    for other in (in_parts, merged, ScoreMixture("normal").fit(s[shuffled], y[shuffled])):
        assert np.abs((all_of(other) - all_of(model)) / error).max() < 0.01


def test_invariant_rows_and_columns_of_any_kind(trial, model):
    table = pa.table(
        {"score": trial.scores, "y": pa.array(trial.y, from_pandas=True, type=pa.float64())}
    )
    from_rows = ScoreMixture().fit(open_rows(table, label="y"))
    assert from_rows.positive_share_ == model.positive_share_
    listed = ScoreMixture().fit(trial.scores.tolist(), [None if v != v else v for v in trial.y])
    assert listed.positive_share_ == model.positive_share_
    with refused("labels-in-rows", UsageError, argument="labels"):
        ScoreMixture().fit(open_rows(table, label="y"), trial.y)


def test_ranking_keeps_every_pair_and_its_criterion(trial, model):
    assert model.ranking_[0].background == "normal"
    assert sorted(one.background for one in model.ranking_) == ["gamma", "lognormal", "normal"]
    assert np.all(np.diff([one.criterion for one in model.ranking_]) >= 0)
    for one in model.ranking_:
        assert one.criterion == pytest.approx(5 - one.log_likelihood, rel=1e-12)
    by_ks = ScoreMixture(select="ks").fit(trial.scores, trial.y)
    assert np.all(np.diff([one.ks for one in by_ks.ranking_]) >= 0)
    assert {one.background: one.ks for one in by_ks.ranking_} == {
        one.background: one.ks for one in model.ranking_
    }
    score = np.sort(trial.scores)
    b, p0, p1 = model.positive_share_, model.background_params_, model.foreground_params_
    fitted = (1 - b) * norm.cdf(score, p0[0], np.exp(p0[1]))
    fitted += b * norm.cdf(score, p1[0], np.exp(p1[1]))
    steps = np.arange(3001) / 3000
    ks = max(np.abs(fitted - steps[1:]).max(), np.abs(fitted - steps[:-1]).max())
    assert model.ranking_[0].ks == pytest.approx(ks, abs=1e-9)


def test_likelihood_and_distance_may_choose_differently():
    """A batch where the truth is normal: likelihood finds it, the distance does not."""
    sample = make_trial_scores(500, positive_share=0.05, random_state=6)
    by_likelihood = ScoreMixture().fit(sample.scores, sample.y)
    by_distance = ScoreMixture(select="ks").fit(sample.scores, sample.y)
    assert by_likelihood.background_ == "normal"
    assert by_distance.background_ == "lognormal"
    assert by_distance.ranking_[0].ks < by_likelihood.ranking_[0].ks
    assert by_distance.ranking_[0].criterion > by_likelihood.ranking_[0].criterion


def test_a_third_parameter_is_paid_for(trial):
    one = ScoreMixture(["normal", "skew-normal"]).fit(trial.scores, trial.y)
    sizes = {"normal": 5, "skew-normal": 6}
    for row in one.ranking_:
        assert row.criterion == pytest.approx(sizes[row.background] - row.log_likelihood)


def test_a_family_of_the_users_own(trial):
    class Mine(Normal):
        name = "mine"

    one = ScoreMixture([Mine(), "gamma"]).fit(trial.scores, trial.y)
    assert one.background_ == "mine"
    assert one.recall(8.0) == pytest.approx(
        float(ScoreMixture("normal").fit(trial.scores, trial.y).recall(8.0)), abs=1e-9
    )


def test_oracle_figures_of_a_known_mixture():
    one = fixed()
    t = np.linspace(-1, 4, 11)
    s1, s0 = norm.sf(t, 2.5, np.exp(0.2)), norm.sf(t)
    alarms = 0.1 * s1 + 0.9 * s0
    np.testing.assert_allclose(one.recall(t), s1, rtol=1e-12)
    np.testing.assert_allclose(one.false_alarm_rate(t), s0, rtol=1e-12)
    np.testing.assert_allclose(one.alarm_rate(t), alarms, rtol=1e-12)
    np.testing.assert_allclose(one.precision(t), 0.1 * s1 / alarms, rtol=1e-12)
    p1, p0 = norm.pdf(t, 2.5, np.exp(0.2)), norm.pdf(t)
    g = 0.1 * p1 / (0.1 * p1 + 0.9 * p0)
    np.testing.assert_allclose(one.posterior(t), g, rtol=1e-12)
    closed = one.precision(t) / one.recall(t) * (1 - one.precision(t) / g)
    np.testing.assert_allclose(one.precision_per_recall(t), closed, rtol=1e-9)
    h = 1e-4
    rise = one.precision(t + h) - one.precision(t - h)
    run = one.recall(t + h) - one.recall(t - h)
    np.testing.assert_allclose(one.precision_per_recall(t), rise / run, rtol=1e-6)


def test_slope_where_tails_underflow_or_end():
    flat = fixed(front=(0.0, 0.0))
    np.testing.assert_array_equal(flat.precision_per_recall([-1.0, 0.0, 2.0]), 0.0)
    far = fixed()
    assert np.isfinite(far.precision_per_recall([-30.0, 30.0])).all()
    narrow = fixed(behind=(0.0, 3.0), front=(5.0, -4.0))
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("error")
        steep = narrow.precision_per_recall([-300.0, 4.0, 6.0, 50.0])
    assert steep[0] == -np.inf  # no event is left down there
    assert not np.isnan(steep).any()
    assert np.isnan(far.precision_per_recall(1e200))  # no score can lie above it
    with refused("not-finite", UsageError, argument="threshold"):
        far.precision_per_recall(np.inf)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_at_the_edge_gives_numbers_without_a_warning(share):
    one = fixed(share)
    assert one.precision(1.0) == pytest.approx(share, abs=1e-12)
    assert np.isfinite(one.precision_per_recall(1.0)) or share == 0.0


def test_curves_of_population_and_batch(trial, model):
    t = np.array([7.0, 9.0, 8.0])
    whole = model.curve(t)
    assert whole.of == "population"
    assert whole.threshold.tolist() == [9.0, 8.0, 7.0]
    np.testing.assert_allclose(whole.recall, model.recall([9.0, 8.0, 7.0]), rtol=1e-12)
    np.testing.assert_allclose(whole.precision, model.precision([9.0, 8.0, 7.0]), rtol=1e-12)
    batch = model.batch_curve(t)
    weight = np.where(np.isnan(trial.y), model.posterior(trial.scores), trial.y)
    for row, at in enumerate(batch.threshold):
        above = trial.scores >= at
        assert batch.recall[row] == pytest.approx(weight[above].sum() / weight.sum(), abs=2e-3)
        assert batch.precision[row] == pytest.approx(weight[above].mean(), abs=2e-3)
    assert batch.of == "batch"
    everywhere = model.batch_curve()
    assert (np.diff(everywhere.recall) >= 0).all()
    assert everywhere.recall[-1] == pytest.approx(1.0)
    beyond = model.batch_curve([1e6])
    assert beyond.recall[0] == 0.0
    assert np.isnan(beyond.precision[0])


def test_oracle_information_is_the_hessian_of_the_likelihood(model):
    """Second differences in the share itself, background and foreground; prior left out."""
    data = evidence_of_model(model)
    centre = np.r_[model.positive_share_, model.background_params_, model.foreground_params_]

    def value(x):
        pair = Pair(FAMILIES["normal"], FAMILIES["normal"], x[0], x[1:3], x[3:])
        return log_likelihood(pair, data)

    ours = model.fisher_information()
    step = 0.02 / np.sqrt(np.diag(ours.matrix))
    hessian = np.zeros((5, 5))
    for i, j in itertools.product(range(5), repeat=2):
        for a, b in itertools.product((1, -1), repeat=2):
            moved = centre.copy()
            moved[i] += a * step[i]
            moved[j] += b * step[j]
            hessian[i, j] -= a * b * value(moved) / (4 * step[i] * step[j])
    scale = np.sqrt(np.outer(np.diag(hessian), np.diag(hessian)))
    np.testing.assert_allclose(ours.matrix / scale, hessian / scale, atol=2e-3)
    assert ours.names[0] == "positive_share"


def evidence_of_model(model):
    from scarce.missed.digest import ScoreDigest

    return evidence_of(ScoreDigest.from_arrays(model.digest_))


def test_goodness_is_spread_under_the_truth_and_small_for_a_cauchy():
    chances = []
    for seed in range(8):
        sample = make_trial_scores(300, positive_share=0.1, labelled_share=0.2, random_state=seed)
        one = ScoreMixture("normal").fit(sample.scores, sample.y)
        chances.append(one.goodness(19))
    assert min(chances) >= 0.05
    assert 0.25 < np.mean(chances) < 0.75
    assert len(set(chances)) > 3
    rng = np.random.default_rng(0)
    scores = rng.standard_cauchy(300)
    labels = np.where(scores > np.quantile(scores, 0.9), (rng.random(300) < 0.4) * 1.0, np.nan)
    cauchy = ScoreMixture("normal").fit(scores, labels)
    assert cauchy.goodness(19) == 0.05
    assert cauchy.goodness(19) == cauchy.goodness(19)


def test_model_file_holds_everything(model, tmp_path):
    loaded = check_round_trip(model, None)
    t = np.linspace(4, 12, 9)
    for name in ("recall", "precision", "precision_per_recall", "posterior", "alarm_rate"):
        np.testing.assert_array_equal(getattr(loaded, name)(t), getattr(model, name)(t))
    assert loaded.ranking_ == model.ranking_
    np.testing.assert_array_equal(
        loaded.fisher_information().matrix, model.fisher_information().matrix
    )
    check_round_trip(ScoreMixture().fit(np.ones(20)), None)


def test_clone_and_parameters():
    one = ScoreMixture("gamma", "student-t", start="paper", select="ks", spread_prior=None, bins=64)
    assert clone(one).get_params() == one.get_params()
    with pytest.raises(NotFittedError):
        one.recall(1.0)


@pytest.mark.parametrize(
    ("scores", "labels", "why"),
    [
        (np.full(30, 2.0), np.r_[np.ones(5), np.full(25, np.nan)], "all scores are 2"),
        (np.arange(40.0), np.full(40, np.nan), "no labelled event"),
        (np.arange(40.0), np.where(np.arange(40) > 30, 0.0, np.nan), "no labelled event"),
        (np.arange(40.0)[::-1], np.r_[np.full(30, np.nan), np.ones(10)], ""),
    ],
    ids=["constant", "no labels", "no events", "events at the bottom"],
)
def test_what_cannot_be_believed_says_why(scores, labels, why):
    one = ScoreMixture("normal").fit(scores, labels)
    assert not one.identified_
    assert why in one.why_
    assert one.why_
    assert any("Not identified" in text for text in one.report_.warnings)


def test_a_mixture_without_parameters_refuses_to_answer():
    constant = ScoreMixture().fit(np.ones(20), np.r_[np.ones(3), np.full(17, np.nan)])
    with refused("not-identified", UsageError):
        constant.recall(1.0)
    assert constant.ranking_ == []
    assert np.isnan(constant.positive_share_)
    sparse = ScoreMixture("normal", **PRINTED).fit(np.arange(9.0), np.r_[1.0, [np.nan] * 8])
    assert "start='bulk'" in sparse.why_


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, 0.0],
        [1.0, np.nan],
        [np.nan, 1.0],
        [1.0, 1.0],
        [0.0, 0.0],
        [np.nan, np.nan],
    ],
)
def test_two_rows_never_crash(labels):
    one = ScoreMixture("normal").fit([1.0, 2.0], labels)
    assert one.identified_ in (True, False)
    if one.background_:
        assert 0 <= one.positive_share_ <= 1
        assert np.isfinite(one.recall(1.5))


@pytest.mark.parametrize("pair", list(itertools.product(FAMILIES, FAMILIES)), ids="-".join)
def test_every_pair_of_families_can_be_fitted(pair):
    rng = np.random.default_rng(1)
    event = rng.random(250) < 0.2
    scores = np.where(event, rng.normal(7, 1, 250), rng.gamma(9, 0.4, 250))
    labels = np.where(scores > np.quantile(scores, 0.85), event * 1.0, np.nan)
    one = ScoreMixture(*pair).fit(scores, labels)
    assert np.isfinite(one.ranking_[0].log_likelihood)
    assert 0 < one.positive_share_ < 0.5
    assert 0 < one.recall(6.0) < 1
    assert one.report_.converged
    assert one.report_.objective * 250 == pytest.approx(-one.ranking_[0].log_likelihood, abs=3.0)


def test_ties_everywhere_and_all_rows_positive():
    rng = np.random.default_rng(2)
    scores = np.round(rng.normal(size=400)) + 0.0
    labels = np.where(scores >= 1, (rng.random(400) < 0.3) * 1.0, np.nan)
    tied = ScoreMixture("normal").fit(scores, labels)
    assert 0 < tied.positive_share_ < 1
    everyone = ScoreMixture("normal").fit(rng.normal(size=50), np.ones(50))
    assert not everyone.identified_
    assert "every row is labelled as an event" in everyone.why_


def test_scores_at_or_below_zero_leave_families_out_aloud():
    rng = np.random.default_rng(3)
    scores = np.r_[rng.normal(size=200), rng.normal(3, 1, 30)]
    labels = np.where(scores > 2, np.r_[np.zeros(200), np.ones(30)], np.nan)
    one = ScoreMixture().fit(scores, labels)
    assert [row.background for row in one.ranking_] == ["normal"]
    assert sum("left out" in text for text in one.report_.warnings) == 2
    with refused("family-range", DataError, least=-2.8281623068437627):
        ScoreMixture("lognormal").fit(scores, labels)
    with refused("family-range", DataError, least=-2.8281623068437627):
        ScoreMixture("normal", "gamma").fit(scores, labels)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"start": "papr"}, "unknown-word"),
        ({"select": "aic"}, "unknown-word"),
        ({"spread_prior": 0.0}, "invalid-parameter"),
        ({"background": "norml"}, "unknown-word"),
    ],
)
def test_wrong_words_are_refused(settings, code):
    with refused(code, UsageError):
        ScoreMixture(**settings).fit([1.0, 2.0, 3.0], [0, 1, np.nan])


def test_the_share_and_its_odds_agree(model):
    assert model.posterior(8.0) == pytest.approx(
        float(
            expit(
                logit(model.positive_share_)
                + FAMILIES["normal"].log_density(8.0, model.foreground_params_)
                - FAMILIES["normal"].log_density(8.0, model.background_params_)
            )
        ),
        rel=1e-12,
    )


NORMAL = FAMILIES["normal"]


def evidence(n=160, seed=0):
    """Two normals, the top tenth labelled."""
    rng = np.random.default_rng(seed)
    event = rng.random(n) < 0.15
    score = rng.normal(size=n) + 2.5 * event
    known = score >= np.quantile(score, 0.9)
    states = (~known, known & event, known & ~event)
    parts = [part for state in states for part in (score[state], np.ones(state.sum()))]
    return Evidence(*parts), score, np.where(known, event * 1.0, np.nan)


def plain_log_posterior(theta, data):
    """002 eq 1 for two normals, the prior of the ratio and a wide one of the log odds."""
    odds, m0, l0, m1, l1 = (part[:, None] for part in theta.T)
    share, rest = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
    s0, s1 = np.exp(l0), np.exp(l1)

    def behind(s):
        return rest - l0 - 0.5 * ((s - m0) / s0) ** 2

    def front(s):
        return share - l1 - 0.5 * ((s - m1) / s1) ** 2

    value = np.logaddexp(behind(data.open_score), front(data.open_score)).sum(axis=1)
    value += front(data.event_score).sum(axis=1) + behind(data.other_score).sum(axis=1)
    value += -0.5 * ((l1 - l0)[:, 0] / 0.5) ** 2 - 0.5 * ((odds[:, 0] + 4) / 3) ** 2
    wrong = (odds[:, 0] >= 0) | (m1[:, 0] <= m0[:, 0]) | (s1[:, 0] < 1e-3 * spread_of(data))
    return np.where(wrong, -np.inf, value)


def metropolis(data, start, seed, chains=80, steps=1000, burn=250):
    rng = np.random.default_rng(seed)
    theta = start + 0.05 * rng.normal(size=(chains, 5))
    value = plain_log_posterior(theta, data)
    half, kept = chains // 2, []
    for step in range(steps):
        for mine, others in ((slice(0, half), half), (slice(half, chains), 0)):
            a, b = rng.integers(0, half, (2, half)) + others
            gain = 1.0 if step % 10 == 0 else 2.38 / np.sqrt(10)
            tried = theta[mine] + gain * (theta[a] - theta[b]) + 1e-4 * rng.normal(size=(half, 5))
            new = plain_log_posterior(tried, data)
            accept = np.log(rng.random(half)) < new - value[mine]
            theta[mine] = np.where(accept[:, None], tried, theta[mine])
            value[mine] = np.where(accept, new, value[mine])
        if step >= burn and step % 5 == 0:
            kept.append(theta.copy())
    return np.array(kept)


def test_oracle_posterior_agrees_with_a_metropolis_chain():
    data, _, _ = evidence()
    pair = fit_pair(data, NORMAL, NORMAL, spread_prior=0.5)[0].pair
    chain = metropolis(data, pair.theta, 1)
    runs = [_draw(pair, data, 0.5, np.random.default_rng(run)) for run in range(4)]
    ours = np.array([one.values for one in runs])
    assert min(one.effective_size for one in runs) > 300
    spread = chain.std(axis=(0, 1))
    error = np.hypot(
        chain.mean(axis=0).std(axis=0) / np.sqrt(chain.shape[1]),
        ours.mean(axis=1).std(axis=0) / np.sqrt(4),
    )
    apart = ours.mean(axis=(0, 1)) - chain.mean(axis=(0, 1))
    assert (error < 0.05 * spread).all()
    assert (np.abs(apart) < 4.5 * error).all(), apart / error
    np.testing.assert_allclose(ours.std(axis=(0, 1)), spread, rtol=0.1)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_invariant_units_of_the_scores_do_not_matter(unit):
    """Stretched scores: locations stretch, spreads too, shares and effective size stay."""
    _, scores, labels = evidence()
    found = []
    for scale in (1.0, unit):
        batch = batch_of(None, scale * scores, labels, scale * 2.0)
        mixed, warnings = draw_mixtures([batch], ("normal", "normal"), np.random.default_rng(0))
        assert warnings == []
        found.append(mixed)
    one, other = (mixed.draws[0] for mixed in found)
    assert other.effective_size == pytest.approx(one.effective_size, rel=0.02)
    np.testing.assert_allclose(other.values[:, 0], one.values[:, 0], atol=2e-2)
    np.testing.assert_allclose(other.values[:, 3], unit * one.values[:, 3], rtol=2e-2)


def test_the_share_of_events_is_the_posterior_of_each_draw():
    _, scores, labels = evidence()
    batch = batch_of(None, scores, labels, 2.0)
    mixed, _ = draw_mixtures([batch], ("normal", "normal"), np.random.default_rng(0))
    at = np.array([0.0, 2.0, 4.0])
    share = mixed.share_of_events(batch, 0, at, at)
    odds, m0, l0, m1, l1 = mixed.draws[0].values[7]
    up = np.exp(odds) * stats.norm.pdf(at, m1, np.exp(l1))
    np.testing.assert_allclose(share[7], up / (up + stats.norm.pdf(at, m0, np.exp(l0))), rtol=1e-9)
    fit = mixed.best_guess(batch, 0, at)
    assert ((share.min(axis=0) < fit) & (fit < share.max(axis=0))).all()
    assert mixed.effective_size == mixed.draws[0].effective_size


def test_a_batch_that_is_not_identified_is_named():
    _, scores, labels = evidence()
    fine = batch_of("a", scores, labels, 2.0)
    empty = batch_of("b", scores, np.full(len(scores), np.nan), 2.0)
    mixed, warnings = draw_mixtures([fine, empty], ("normal", "normal"), np.random.default_rng(0))
    assert mixed is None
    assert warnings[0][0] == 1
    assert warnings[0][1].code == "not-identified"
    assert warnings[0][1].fields["where"] == " in batch 'b'"


@pytest.mark.parametrize(
    ("name", "params", "law"),
    [
        ("normal", [2.0, 0.3], stats.norm(2.0, np.exp(0.3))),
        ("lognormal", [0.5, -0.4], stats.lognorm(np.exp(-0.4), scale=np.exp(0.5))),
        ("gamma", [1.1, -0.3], stats.gamma(np.exp(1.1), scale=np.exp(-0.3))),
    ],
)
def test_oracle_samples_follow_their_law(name, params, law):
    drawn = _sample(FAMILIES[name], np.array(params), 4000, np.random.default_rng(0))
    assert stats.kstest(drawn, law.cdf).pvalue > 0.01


def test_drawn_batches_are_labelled_from_the_cut_on():
    pair = Pair(NORMAL, NORMAL, 0.2, np.array([0.0, 0.0]), np.array([3.0, 0.0]))
    batch = _drawn_batch(pair, 5000, 2.0, np.random.default_rng(0))
    assert batch.total == 5000
    assert batch.open_score.max() < 2.0 <= min(batch.event_score.min(), batch.other_score.min())
    expected = 5000 * 0.2 * stats.norm.sf(2.0, 3.0)
    assert len(batch.event_score) == pytest.approx(expected, abs=4 * np.sqrt(expected))
    expected = 5000 * 0.8 * stats.norm.sf(2.0)
    assert len(batch.other_score) == pytest.approx(expected, abs=4 * np.sqrt(expected))


@pytest.mark.parametrize("off", [-0.4, 0.0, 0.4])
def test_oracle_distance_is_scipys(off):
    data, scores, _ = evidence()
    pair = Pair(NORMAL, NORMAL, 0.2, np.array([off, 0.1]), np.array([3.0 + off, -0.2]))

    def law(s):
        behind = stats.norm.cdf(s, off, np.exp(0.1))
        return 0.8 * behind + 0.2 * stats.norm.cdf(s, 3 + off, np.exp(-0.2))

    assert ks_distance(pair, data) == pytest.approx(stats.kstest(scores, law).statistic, rel=1e-12)
    twice = data._replace(open_weight=2 * data.open_weight)
    assert ks_distance(pair, twice) != pytest.approx(ks_distance(pair, data), rel=1e-6)


def test_a_false_pair_is_far_from_its_drawn_batches():
    data, _, _ = evidence()
    fitted = fit_pair(data, NORMAL, NORMAL, spread_prior=0.5)[0].pair
    false = fitted._replace(background_params=fitted.background_params + [0.6, 0.0])
    assert bootstrap_ks(false, data, 0.5, 9, 0) == 0.1
    assert bootstrap_ks(fitted, data, 0.5, 9, 0) > 0.1
