"""Paper 000 repeated: pools, weightings and choices by slow plain versions, and stored scores."""

import itertools
import json
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from scipy.special import expit, logit
from sklearn.utils.fixes import parse_version
from threadpoolctl import threadpool_limits

import scarce
from experiments import frame
from experiments import run as runner
from experiments.frame import FOLDER
from experiments.paper_000 import claims, jobs, methods, page, run, species, tables, work
from experiments.paper_000.comparisons import comparisons, every_scheme
from experiments.paper_000.jobs import DEFAULTS, Job
from experiments.paper_000.printed import BINS, REGIONS
from experiments.paper_000.species import Case
from scarce.datasets import load_nceas, nceas_species
from tests.experiments.stored import assert_page, assert_rows

HERE = FOLDER / "paper_000"
NOTHING = dict.fromkeys(("fits", "wall", "fit_cpu", "cpu", "slowest", "peak_mb", "gap"), 1.0)


@pytest.fixture(scope="module")
def stored_runs():
    return json.loads((HERE / "species.json").read_text())


@pytest.fixture(scope="module")
def stored():
    return frame.read_results(HERE)


class Known:
    """Maxent as if the first column were its score: the tilt has mean 0 under its density."""

    fitted: ClassVar[list] = []

    def __init__(self, objective, *, default_prevalence, **more):
        self.objective, self.default, self.more = objective, default_prevalence, more

    def fit(self, X, y):
        Known.fitted.append((X, y, self))
        mass = np.exp(X[:, 0])
        self.class_prior_ = np.array([0.9, 0.1])
        self.middle = mass @ X[:, 0] / mass.sum()
        self.divergence_ = np.array([0.0, self.middle - np.log(mass.mean())])
        self.width_scale_ = 1.0 if self.more["width_scale"] == "auto" else self.more["width_scale"]
        widths = np.array(self.more.get("width_scales", ()))[::-1]  # from wide to narrow
        self.selection_ = type("Choice", (), {"widths": widths, "mean": -((widths - 2.2) ** 2)})
        self.report_ = type("Report", (), {"gap": np.inf if self.default > 0.65 else 1e-7})
        return self

    def decision_function(self, X):
        return X[:, 0] - self.middle + logit(self.default)


@pytest.fixture
def known(monkeypatch):
    Known.fitted.clear()
    monkeypatch.setattr(scarce, "MaxentClassifier", Known, raising=False)


def some_case(seed=0, n=80, m=15, test=60):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(-0.5, 1.0, n), rng.normal(size=n), rng.integers(0, 3, n)])
    y = np.full(n, np.nan)
    y[rng.permutation(n)[:m]] = 1.0
    survey = np.column_stack([rng.normal(size=(test, 2)), rng.integers(0, 3, test)])
    found = (rng.random(test) < expit(survey[:, 0] - 1)).astype(float)
    return Case(X, y, rng.random((n, 2)), [2], survey, found)


def some_runs(shift=1.0, n=24):
    """Made-up species whose divergence is `shift` times their log-odds of being rare."""
    rng = np.random.default_rng(5)
    runs = {"facts": {}, "shipped": {}, "pooled": {}, "seconds": {"shipped": {"maxent": 2.0}}}
    for k in range(n):
        name, share = f"sp{k}", float(np.geomspace(0.01, 0.5, n)[k])
        tilt = rng.normal(size=200)
        found = (rng.random(200) < expit(logit(share) + tilt)).astype(float)
        found[:2] = 1, 0
        divergence = shift * -float(logit(share) - 0.1)
        score = tilt - divergence
        one = {
            "auc": jobs.plain(jobs.auc(found, tilt)),
            "entropy": jobs.losses(found, score, DEFAULTS),
            "default": jobs.losses(found, tilt, DEFAULTS),
            "oracle": jobs.losses(found, tilt, [found.mean()])[0],
            "width": 0.5,
            "gap": 1e-7,
            "gains": [0.1, 0.2, 0.3, 0.25, k / n],
        }
        curve = jobs.losses(found, tilt / 2, DEFAULTS)
        other = {"auc": [one["auc"]] * len(DEFAULTS), "robust": curve, "gap": 1e-7}
        other |= {"share": [0.1] * len(DEFAULTS), "without_gap": 1}
        runs["facts"][name] = {
            "region": REGIONS[k % 6],
            "prevalence": float(found.mean()),
            "presences": 5 * (k + 1),
            "places": 100,
            "rival_auc": one["auc"] - 0.01,
            "rival_loss": 0.4,
        }
        names = [jobs.maxent_at(w) for w in methods.CANDIDATES] + [*jobs.TUNED.values(), "trees"]
        runs["shipped"][name] = dict.fromkeys(names, one) | dict.fromkeys(
            ("robust 0.5", "robust 1"), other
        )
        if REGIONS[k % 6] == "NSW":
            better = one | {"auc": one["auc"] + 0.05}
            runs["pooled"][name] = dict.fromkeys(names[:-1], better)
    runs["timing"] = NOTHING
    return runs


# --- species --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "name", "pooled"),
    [
        ("NSW", "nsw10", False),
        ("NSW", "nsw35", True),
        ("SA", "sa07", False),
        ("AWT", "awt03", False),
    ],
)
def test_a_case_is_what_the_reader_gives_for_that_species(real_data, region, name, pooled):
    read = load_nceas(region, name, background="places", pool_groups=pooled)
    case = species.case_of(name, pooled)
    np.testing.assert_array_equal(case.X, read.background)
    np.testing.assert_array_equal(case.survey, read.test)
    np.testing.assert_array_equal(case.found, read.y_test)
    recorded = {tuple(place) for place in read.presence_xy}
    for place, label in zip(read.background_xy, case.y, strict=True):
        assert (label == 1) == (tuple(place) in recorded)
        assert label == 1 or np.isnan(label)
    assert [read.columns[k] for k in case.categorical] == list(read.categorical)


def test_there_are_226_species_and_all_are_done(real_data):
    done = jobs.every_job()
    assert len(done) == len(set(done)) == 226 * 4 + 54 * 2
    assert {job.species for job in done} == {each.species for each in nceas_species()}
    assert {job.species[:3] for job in done if job.pooled} == {"nsw"}


@pytest.mark.parametrize("seed", range(5))
def test_spatial_folds_keep_blocks_whole_and_share_out_presences(seed):
    rng = np.random.default_rng(seed)
    xy = rng.random((400, 2)) * [1000, 3]
    y = np.where(rng.random(400) < 0.2, 1.0, np.nan)
    fold = species.spatial_folds(xy, y)
    span = xy.max(axis=0) - xy.min(axis=0)
    block = [tuple(np.floor((p - xy.min(axis=0)) / span * 9.999999)) for p in xy]
    for name in set(block):
        assert len({f for f, b in zip(fold, block, strict=True) if b == name}) == 1
    counts = [np.sum(y[fold == k] == 1) for k in range(5)]
    assert max(counts) - min(counts) <= 4
    held = species.splits(fold, y)
    assert len(held) == 5
    assert sorted(np.concatenate([test for _, test in held])) == list(range(400))
    assert all(not set(train) & set(test) for train, test in held)


def test_two_presences_in_one_block_still_give_two_folds():
    xy = np.vstack(
        [np.zeros((2, 2)) + [[0, 0], [0.01, 0]], np.random.default_rng(0).random((30, 2))]
    )
    y = np.r_[1.0, 1.0, np.full(30, np.nan)]
    for fold in (species.spatial_folds(xy, y), species.random_folds(y, 0)):
        assert len(species.splits(fold, y)) == 2


# --- methods --------------------------------------------------------------------------------------


def test_weightings_are_those_of_the_paper(known):
    case = some_case()
    found = jobs.maxent_scores(case, 0.5)
    mass = np.exp(case.X[:, 0])
    density = mass / mass.sum()  # over the M places of the pool
    entropy = -density @ np.log(density)
    here = np.exp(case.survey[:, 0]) / mass.sum()  # the same density at survey sites
    M = len(case.X)
    assert found["divergence"] == jobs.plain(np.log(M) - entropy)
    for k, default in enumerate(DEFAULTS):
        odds = default * here * np.exp(entropy) / (1 - default)  # eq 8 as printed
        plain = -np.where(case.found == 1, np.log(odds / (1 + odds)), -np.log1p(odds)).mean()
        assert found["entropy"][k] == jobs.plain(plain)
        odds = default * here / ((1 - default) / M)
        plain = -np.where(case.found == 1, np.log(odds / (1 + odds)), -np.log1p(odds)).mean()
        assert found["default"][k] == jobs.plain(plain)
    share = case.found.mean()
    odds = share * here / ((1 - share) / M)
    plain = -np.where(case.found == 1, np.log(odds / (1 + odds)), -np.log1p(odds)).mean()
    assert found["oracle"] == jobs.plain(plain)


def test_a_fit_sees_presences_and_pool_only(known):
    case = some_case()
    jobs.maxent_scores(case, "blocks")
    jobs.maxent_scores(case, "places")
    jobs.robust_scores(case, 1.0)
    assert len(Known.fitted) == 2 + len(DEFAULTS)
    for X, y, model in Known.fitted:
        assert X is case.X
        assert y is case.y
        assert model.more["categorical"] == [2]
        assert model.more["features"] == "h"
    wanted = (species.spatial_folds(case.xy, case.y), species.random_folds(case.y, methods.SEED))
    for (_, _, tuned), fold in zip(Known.fitted, wanted, strict=False):
        assert tuned.more["width_scale"] == "auto"
        assert tuned.more["width_scales"] == methods.CANDIDATES
        for number, (train, test) in enumerate(tuned.more["cv"]):
            assert set(fold[test]) == {number}
            assert sorted([*train, *test]) == list(range(len(case.X)))
    assert [m.default for _, _, m in Known.fitted[2:]] == list(DEFAULTS)


def test_robust_scores_take_each_fit_s_own_default(known):
    case = some_case()
    found = jobs.robust_scores(case, 1.0)
    assert (found["gap"], found["without_gap"]) == (1e-7, 2)
    assert found["share"] == [0.1] * len(DEFAULTS)
    tilt = case.survey[:, 0] - Known.fitted[0][2].middle
    for k, default in enumerate(DEFAULTS):
        prob = expit(logit(default) + tilt)
        plain = -np.where(case.found == 1, np.log(prob), np.log1p(-prob)).mean()
        assert found["robust"][k] == jobs.plain(plain)


def test_trees_learn_presences_against_the_whole_pool_at_equal_weights():
    case = some_case()
    rows = np.arange(0, 80, 2)
    X, y, weight = methods._stacked(case, rows)
    m = int((case.y[rows] == 1).sum())
    assert (y == 1).sum() == m
    np.testing.assert_array_equal(X[m:], case.X[rows])
    np.testing.assert_array_equal(X[:m], case.X[rows][case.y[rows] == 1])
    assert weight[y == 1].sum() == pytest.approx(weight[y == 0].sum())


def test_the_number_of_trees_is_the_best_on_held_out_places(monkeypatch):
    monkeypatch.setattr(methods, "MOST_TREES", 6)
    case = some_case(3)
    held = np.zeros(6)
    for train, test in species.splits(species.random_folds(case.y, methods.SEED), case.y):
        X, y, weight = methods._stacked(case, test)
        for n in range(1, 7):
            with threadpool_limits(1):
                prob = methods._boosted(case, train, n).predict_proba(X)[:, 1]
            logs = -np.where(y == 1, np.log(prob), np.log1p(-prob))
            held[n - 1] += np.average(logs, weights=weight)
    assert methods.trees(case).n_trees == np.argmin(held) + 1


def test_trees_are_moved_by_elkan_s_formula(known, monkeypatch):
    case = some_case(1)
    prob = expit(np.linspace(-3, 2, len(case.found)))
    monkeypatch.setattr(methods, "trees", lambda _: methods.Trees(prob, 7))
    found = jobs.tree_scores(case)
    divergence = Known.fitted[0][2].divergence_[1]
    for k, default in enumerate(DEFAULTS):
        weighted = default * np.exp(-divergence)
        for share, name in (
            (default, "default"),
            (weighted / (weighted + 1 - default), "entropy"),  # eq 5
        ):
            moved = share * prob / (share * prob + (1 - share) * (1 - prob))
            plain = -np.where(case.found == 1, np.log(moved), np.log1p(-moved)).mean()
            assert found[name][k] == jobs.plain(plain)


def test_auc_counts_pairs():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 40), rng.integers(0, 6, 40)
    both = itertools.product(score[y == 1], score[y == 0])
    assert jobs.auc(y, score) == pytest.approx(np.mean([(a > b) + 0.5 * (a == b) for a, b in both]))


def test_losses_of_extreme_scores_are_finite():
    score = np.array([-800.0, 800.0])
    assert jobs.losses(np.array([1.0, 0.0]), score, [0.5]) == [800.0]


# --- tables ---------------------------------------------------------------------------------------


def test_the_default_of_a_region_is_chosen_without_it():
    rng = np.random.default_rng(1)
    regions = np.repeat(["a", "b", "c"], [3, 4, 5])
    centre = logit(np.array([0.05, 0.2, 0.5]))[np.repeat([0, 1, 2], [3, 4, 5])]
    axis = logit(np.array(DEFAULTS))
    losses = 0.3 + 0.1 * (axis - centre[:, None]) ** 2 + 0.01 * rng.random((12, 1))
    values, chosen = tables.left_out(losses, regions)
    for region in "abc":
        others = centre[regions != region].mean()  # of parabolas: the mean of their centres
        assert logit(chosen[region]) == pytest.approx(others, abs=2e-3)
        own = regions == region
        wanted = losses[own].min(axis=1)
        base = 0.3 + 0.1 * (others - centre[own]) ** 2
        assert (values[own] >= base - 1e-3).all()
        assert (values[own] <= base + 0.011).all()
        assert (values[own] > wanted).all()


def test_breadth_and_ranges_of_a_parabola():
    axis = logit(np.array(DEFAULTS))
    curve = 1.0 + 0.05 * (axis - logit(0.2)) ** 2
    found = tables.breadth(curve)
    assert found.low == pytest.approx(expit(logit(0.2) - 1), rel=2e-3)
    assert found.high == pytest.approx(expit(logit(0.2) + 1), rel=2e-3)
    share, log_odds = tables.ranges(curve, np.array([0.9, 1.2]))
    assert np.isnan(share[0])
    assert log_odds[1] == pytest.approx(4.0, abs=5e-3) or tables.breadth(curve, 0.2).cut
    assert tables.breadth(curve - 0.5, 10.0).cut


def test_bins_are_closed_above():
    held = tables.members(np.array([0.02, 0.0201, 0.04, 0.08, 0.16, 0.32, 0.33]))
    assert [int(held[name].sum()) for name in BINS] == [1, 2, 1, 1, 1, 1]
    assert held["all"].sum() == 7
    assert held["above .32"].tolist() == [False] * 6 + [True]


def test_pooled_scores_take_other_regions_as_shipped():
    runs = some_runs()
    plain, pooled = (tables.scores(runs, "maxent 0.5", "auc", p) for p in (False, True))
    own = tables.fact(runs, "region") == "NSW"
    np.testing.assert_allclose(pooled - plain, np.where(own, 0.05, 0.0), atol=1e-12)


def test_one_width_for_all_is_the_best_on_held_out_presences(known):
    found = jobs.maxent_scores(some_case(), "blocks")["gains"]
    assert methods.CANDIDATES[int(np.argmax(found))] == 2.0
    runs = some_runs()
    assert tables.gains(runs, "places").tolist() == pytest.approx([0.1, 0.2, 0.3, 0.25, 23 / 48])
    assert tables.shared_width(runs, "places") == methods.CANDIDATES[4]


def test_the_constant_s_loss_is_the_entropy_of_the_share():
    runs = some_runs()
    for value, each in zip(tables.constant(runs), runs["facts"].values(), strict=True):
        p = each["prevalence"]
        assert value == pytest.approx(-(p * np.log(p) + (1 - p) * np.log(1 - p)))


# --- claims, page and figure ----------------------------------------------------------------------


def verdicts(runs):
    return {each.says.split(" (")[0]: each.verdict for each in claims.claims(runs)}


def test_verdicts_follow_the_numbers():
    one = "Entropy weighting beats default weighting when one default is chosen for all species"
    rarer_are_sharper, rarer_are_flatter = verdicts(some_runs(0.8)), verdicts(some_runs(-0.8))
    assert rarer_are_sharper[one] == claims.HOLDS
    assert rarer_are_flatter[one] == claims.NOT
    higher = "The best default is higher for entropy weighting"
    assert rarer_are_sharper[higher] == claims.HOLDS
    assert rarer_are_flatter[higher] in (claims.NOT, claims.PART)


def test_a_broader_peak_is_told_apart_by_the_axis():
    """The same peak moved in log-odds is broader in prevalence and equal in log-odds."""
    runs = some_runs(0.0)
    for name, held in runs["shipped"].items():
        tilt = held["maxent 0.5"]
        axis = logit(np.array(DEFAULTS))
        for weighting, centre in (("entropy", 0.2), ("default", 0.1)):
            loss = 0.3 + 0.05 * (axis - logit(centre)) ** 2
            tilt = tilt | {weighting: loss.tolist()}
        runs["shipped"][name] = held | {"maxent 0.5": tilt}
    found = claims.claims(runs)
    share = next(each for each in found if "in default prevalence" in each.says)
    log_odds = next(each for each in found if "in log-odds" in each.says)
    assert share.verdict == claims.HOLDS
    assert log_odds.verdict == claims.NOT
    assert "broader in 0 of" in log_odds.found


def test_page_and_figure_of_any_runs(tmp_path):
    runs = some_runs()
    results = frame.results_of("paper_000", run.TITLE, run.SEED, comparisons(runs))
    run.write_all(results, tmp_path, runs)
    text = (tmp_path / "results.md").read_text()
    assert text == page.page_of(results, json.loads((tmp_path / "species.json").read_text()))
    assert frame.read_results(tmp_path) == results
    assert len({row.quantity for row in results.comparisons}) == len(results.comparisons)
    for scheme in every_scheme():
        assert f"| {scheme} |" in text
    assert (tmp_path / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figure1.png").stat().st_size < 300_000


def test_the_difference_to_the_rival_is_paired():
    rows = {row.quantity: row for row in comparisons(some_runs())}
    row = rows["AUC, maxent 0.5 minus Maxent 3.4.4"]
    assert row.ours == pytest.approx(0.01)
    assert row.standard_error == pytest.approx(0.0, abs=1e-9)


# --- work -----------------------------------------------------------------------------------------


# --- what is stored is what the code makes --------------------------------------------------------


def test_the_page_and_the_numbers_come_from_the_scores(stored_runs, stored):
    assert_rows(comparisons(stored_runs), stored.comparisons)
    assert_page(page.page_of(stored, stored_runs), (HERE / "results.md").read_text())
    assert len(stored_runs["facts"]) == 226
    assert set(stored_runs["pooled"]) == {name for name in stored_runs["facts"] if "nsw" in name}


@pytest.mark.parametrize("part", ["maxent", "trees"])
def test_a_species_gives_its_stored_scores(stored_runs, real_data, part):
    if part == "trees" and parse_version(sklearn.__version__) < parse_version("1.9"):
        pytest.skip("the stored scores are those of the trees of scikit-learn 1.9")
    found = jobs.do(Job("awt22", False, part))["methods"]
    for method, measured in found.items():
        for what, value in measured.items():
            if what != "gap":
                held = stored_runs["shipped"]["awt22"][method][what]
                assert value == pytest.approx(held, rel=1e-4)


def test_a_quick_run_writes_nothing_and_gives_stored_scores(
    stored_runs, real_data, monkeypatch, tmp_path
):
    monkeypatch.setattr(jobs, "PARTS", ("maxent",))
    todo = [job for job in jobs.quick_jobs() if job.species in ("sa01", "awt22")]
    records = work.do_all(todo, None)
    for record in records:
        held = stored_runs["shipped"][record["species"]]["maxent 1"]
        assert record["methods"]["maxent 1"]["auc"] == pytest.approx(held["auc"], rel=1e-4)
    assert runner.kept("paper_000").name == ".work"
