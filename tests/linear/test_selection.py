"""The search for shape and ridge: its table is the slow one's, and it takes the best of it."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from scarce import DataError, RareClassifier, UsageError
from scarce.engine.memory import ArrayRows
from scarce.linear import selection as module
from scarce.linear.losses import loss_of
from scarce.linear.regress import Formulation
from scarce.linear.selection import (
    ENOUGH,
    FLOORS,
    PAPER_RIDGES,
    CrossValidation,
    GridCoordinates,
    SearchSpace,
    TrainingSample,
    calibration_of,
    distinct_models,
    grid_gradients,
    held_out_scores,
    make_splits,
    mix_with_prevalence,
    polish,
    select,
    solve_grid,
    stratified_sample,
    training_sample,
)
from scarce.linear.sums import summarise_columns
from tests.linear import plain
from tests.problems import codes, refused

SHAPES, RIDGES = (-0.5, 0.0, 0.8), (0.1, 10.0)


def slow_score(prob, y, by, weight):
    """A held-out score as the papers write it."""
    if by == "brier":
        return np.average((prob - y) ** 2, weights=weight)
    if by == "log_loss":
        return np.average(-np.log(np.where(y == 1, prob, 1 - prob)), weights=weight)
    total = 0.0
    for j in range(10):  # (0, .1], (.1, .2], ..., the first with its end
        own = (prob > j / 10) & (prob <= (j + 1) / 10) | ((j == 0) & (prob == 0))
        if own.any():
            share = np.average(y[own], weights=weight[own])
            total += np.sum(weight[own] * (prob[own] - share) ** 2)
    return total / weight.sum()


def slow_prob(loss, ridge, X, y, weight, train, test, floor, prevalence):
    coef = plain.fit(
        X[train], y[train], loss, np.append(np.full(X.shape[1], ridge), 0.0), weight[train]
    )
    prob = loss.link.inverse(plain.design_of(X[test]) @ coef)
    return prob if not hasattr(loss.link, "shape") else (1 - floor) * prob + floor * prevalence


@pytest.fixture
def exact(monkeypatch):
    """Let the grid go on to the last digit, so that tables can be compared."""
    monkeypatch.setattr(module, "ENOUGH", 1e-18)
    monkeypatch.setattr(module, "MOST_STEPS", 200)


class Slow:
    """Every setting fitted one at a time, and the choice made anew without each part."""

    def __init__(self, X, y, weight, by, splits, prevalence):
        self.y, self.weight, self.by, self.prevalence = y, weight, by, prevalence
        losses = [loss_of("gev-canonical", s) for s in SHAPES] + [loss_of("logistic")]
        self.raw, self.tests = [], []
        for number, (ids, part) in splits.parts:
            of_fold, held = splits.folds[number]
            train = np.flatnonzero((of_fold != held) & (of_fold >= 0))
            test = np.flatnonzero(ids == part)
            args = (X, y, weight, train, test, 0.0, prevalence)
            self.raw.append([[slow_prob(loss, r, *args) for r in RIDGES] for loss in losses])
            self.tests.append(test)
        self.sizes = np.array([weight[test].sum() for test in self.tests])
        parts = range(len(self.tests))
        self.table = np.array(
            [
                [[self.score(p, i, j, 0.001 * (i < 3)) for j in range(2)] for i in range(4)]
                for p in parts
            ]
        )

    def prob(self, part, i, j, floor):
        return (1 - floor) * self.raw[part][i][j] + floor * self.prevalence

    def score(self, part, i, j, floor, by=None):
        test = self.tests[part]
        prob = self.prob(part, i, j, floor)
        return slow_score(prob, self.y[test], by or self.by, self.weight[test])

    def best(self, kind, parts):
        mean = np.average(self.table[parts], axis=0, weights=self.sizes[parts])[kind]
        i, j = np.unravel_index(mean.argmin(), mean.shape)
        return kind[i], j

    def floor(self, i, j, parts):
        if i == 3:
            return 0.0
        logs = [
            sum(self.sizes[p] * self.score(p, i, j, floor, "log_loss") for p in parts)
            for floor in FLOORS
        ]
        return FLOORS[int(np.argmin(logs))]

    def nested(self, kind):
        """Return for each part its score and its rows' probabilities."""
        every = np.arange(len(self.tests))
        found = []
        for part in every:
            others = every[every != part]
            place = self.best(kind, others)
            floor = self.floor(*place, others)
            found.append((self.score(part, *place, floor), self.prob(part, *place, floor)))
        return found


@pytest.mark.parametrize("by", ["brier", "log_loss", "calibration"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", [3, 0.4])
def test_oracle_score_gain_error_and_floor_are_nested(by, weighted, cv, exact, rng):
    X, y = plain.rare(n=240, k=2, shift=-1.2)
    weight = rng.integers(1, 4, size=240).astype(float) if weighted else np.ones(240)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 100, 240))
    seen = summarise_columns(rows)
    plan = CrossValidation(by, cv, 0.001, 5, tune_floor=True)
    choice = select(rows, seen, SearchSpace("gev-canonical", SHAPES, RIDGES), Formulation(), plan)
    found = choice.selection
    splits = make_splits(rows, seen, plan, None)
    slow = Slow(X, y, weight, by, splits, seen.prevalence)
    if cv == 3:
        np.testing.assert_allclose(found.scores, slow.table[:, :3], rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(found.weights, slow.sizes)
        best_by_fold = [SHAPES[t[:3].min(axis=1).argmin()] for t in slow.table]
        assert found.shape_by_fold.tolist() == best_by_fold
        i, j = slow.best([0, 1, 2], np.arange(3))
        assert (found.shape, found.ridge) == (SHAPES[i], RIDGES[j])
        assert choice.floor == slow.floor(i, j, np.arange(3))
    else:  # the two halves of the validation rows judge each other
        assert len(slow.tests) == 2
        assert found.scores.shape == (1, 3, 2)
        assert found.weights[0] == slow.sizes.sum()
        if by != "calibration":
            mean = np.average(slow.table, axis=0, weights=slow.sizes)
            np.testing.assert_allclose(found.scores[0], mean[:3], rtol=1e-7, atol=1e-10)
    ours, theirs = slow.nested([0, 1, 2]), slow.nested([3])
    assert found.reference == "logistic"
    assert found.score == pytest.approx(np.average([s for s, _ in ours], weights=slow.sizes))
    other = np.average([s for s, _ in theirs], weights=slow.sizes)
    assert found.reference_score == pytest.approx(other, rel=1e-7)
    assert found.gain == pytest.approx(found.reference_score - found.score, abs=1e-15)
    if by == "calibration":
        each = np.array([t[0] - o[0] for t, o in zip(theirs, ours, strict=True)])
        assert found.gain_error == pytest.approx(each.std(ddof=1) / np.sqrt(len(each)), rel=1e-5)
        return
    total = 0.0
    for test, (_, own), (_, rival) in zip(slow.tests, ours, theirs, strict=True):
        score = {
            "brier": lambda p, t: (p - t) ** 2,
            "log_loss": lambda p, t: -np.log(abs(p + t - 1)),
        }
        apart = score[by](rival, y[test]) - score[by](own, y[test])
        total += np.sum((weight[test] * (apart - found.gain)) ** 2)
    assert found.gain_error == pytest.approx(np.sqrt(total) / slow.sizes.sum(), rel=1e-5)


@pytest.mark.parametrize("loss", ["gev-canonical", "gev-log", "logistic", "probit"])
def test_what_is_chosen_is_the_least_of_its_own_table(loss):
    X, y = plain.rare(n=300)
    model = RareClassifier(loss, shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    found = model.selection_
    mean = np.average(found.scores, axis=0, weights=found.weights)
    np.testing.assert_array_equal(found.mean, mean)
    assert found.score >= mean.min() - 0.01 * mean.min()
    i, j = np.unravel_index(mean.argmin(), mean.shape)
    assert model.ridge_ == found.ridge == RIDGES[j]
    assert found.loss == model.loss_ == loss
    if loss.startswith("gev"):
        assert model.shape_ == found.shape == SHAPES[i]
        assert found.scores.shape == (3, 3, 2)
    else:
        assert np.isnan(model.shape_)
    assert model.selection_ is not None
    refit = RareClassifier(
        loss, shape=model.shape_ if loss.startswith("gev") else "auto", ridge=model.ridge_
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, refit.coef_, atol=1e-9)
    if loss == "logistic":
        assert found.reference == ""
        assert found.gain == 0.0
        assert not found.inside_noise


def test_ties_go_to_the_first_and_a_single_choice_is_made_anyway():
    X, y = plain.rare(n=200)
    model = RareClassifier("gev-canonical", shape=0.3, ridges=[2.0]).fit(X, y)
    assert (model.shape_, model.ridge_) == (0.3, 2.0)
    assert model.selection_.scores.shape == (5, 1, 1)


# --- folds ----------------------------------------------------------------------------------------


def folds(y, cv, seed=0, weight=None):
    x = np.random.default_rng(1).normal(size=(len(y), 1))
    rows = ArrayRows(x, y, weight=weight, classes=[0, 1])
    return make_splits(
        rows, summarise_columns(rows), CrossValidation("brier", cv, 0.0, seed), None
    ).folds


def test_folds_are_random_within_each_class():
    y = np.append(np.zeros(83), np.ones(17))
    found = folds(y, 5)
    assert len(found) == 5
    ids = found[0][0]
    assert all(other is ids for other, _ in found)
    assert [part for _, part in found] == [0, 1, 2, 3, 4]
    for label, n in ((0, 83), (1, 17)):
        sizes = np.bincount(ids[y == label])
        assert sizes.sum() == n
        assert sizes.max() - sizes.min() <= 1
    assert (folds(y, 5, seed=1)[0][0] != ids).any()
    np.testing.assert_array_equal(folds(y, 5)[0][0], ids)
    assert (np.diff(ids[:83]) != 1).any()  # not assigned in file order


def test_a_share_is_one_split_of_that_size_in_each_class():
    y = np.append(np.zeros(80), np.ones(20))
    ((ids, part),) = folds(y, 0.3)
    assert np.count_nonzero((ids == part) & (y == 0)) == 24
    assert np.count_nonzero((ids == part) & (y == 1)) == 6
    ((ids, part),) = folds(np.array([0, 0, 0, 1, 1.0]), 0.01)
    assert np.count_nonzero((ids == part) & (np.arange(5) > 2)) == 1
    ((ids, part),) = folds(np.array([0, 0, 0, 1, 1.0]), 0.99)
    assert np.count_nonzero((ids != part) & (np.arange(5) > 2)) == 1


def test_folds_are_no_more_than_the_rarer_class_has_rows():
    y = np.append(np.zeros(40), np.ones(3))
    assert len(folds(y, 5)) == 3
    with refused("too-few-labels", DataError, label="1", count=1):
        folds(np.append(np.zeros(40), 1.0), 5)
    weight = np.append(np.ones(41), [0.0, 0.0])
    with refused("too-few-labels", DataError, label="1", count=1):
        folds(y, 5, weight=weight)


def test_rows_without_label_or_weight_are_in_no_fold():
    y = np.append(np.zeros(40), np.ones(10))
    y[3] = np.nan
    weight = np.ones(50)
    weight[7] = 0.0
    for cv in (5, 0.3, StratifiedKFold(3), [(np.arange(0, 50, 2), np.arange(1, 50, 2))]):
        for ids, _ in folds(y, cv, weight=weight):
            assert ids[3] == ids[7] == -1


def test_splitters_and_pairs_are_taken_as_they_are():
    X, y = plain.rare(n=120)
    split = list(StratifiedKFold(4).split(X, y))
    by_splitter, by_pairs = folds(y, StratifiedKFold(4)), folds(y, split)
    for (train, test), one, other in zip(split, by_splitter, by_pairs, strict=True):
        for ids, part in (one, other):
            np.testing.assert_array_equal(np.flatnonzero(ids == part), test)
            np.testing.assert_array_equal(np.flatnonzero((ids >= 0) & (ids != part)), train)
    models = [
        RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=cv).fit(X, y)
        for cv in (StratifiedKFold(4), split, iter(split))
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].selection_.scores, other.selection_.scores)


def test_a_splitter_does_not_see_rows_without_label():
    X, y = plain.rare(n=120)
    y[0] = np.nan  # alone it would be the smallest class
    model = RareClassifier(
        "gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=StratifiedKFold(3)
    ).fit(X, y)
    assert model.selection_.weights.sum() == 119


def test_folds_of_one_class_are_refused():
    y = np.append(np.zeros(40), np.ones(10))
    with refused("one-class-fold", DataError, fold=5):
        folds(y, KFold(5).split(y) and [*[(np.arange(50), [0])] * 4, (np.arange(40), [45])])
    with refused("one-class-fold", DataError, fold=1):
        folds(y, [(np.arange(50), np.array([], dtype=int))])


def test_groups_are_given_to_a_splitter_and_stay_together_without_one(rng):
    X, y = plain.rare(n=120)
    groups = rng.permutation(np.arange(120) // 10)
    pairs = list(GroupKFold(3).split(X, y, groups))
    for cv, given in ((pairs, None), (GroupKFold(3), groups)):
        model = RareClassifier("logistic", ridges=[1.0], cv=cv).fit(X, y, groups=given)
        np.testing.assert_array_equal(model.selection_.weights, [len(test) for _, test in pairs])
    rows = ArrayRows(X, y, classes=[0, 1])
    for cv in (4, 0.3):
        splits = make_splits(
            rows, summarise_columns(rows), CrossValidation("brier", cv, 0.0, 0, groups), None
        )
        for ids, part in [*splits.folds, *(fold for _, fold in splits.parts)]:
            held = np.unique(groups[ids == part])
            others = groups[(ids >= 0) & (ids != part)]
            assert not np.isin(held, others).any()
    with refused("invalid-folds", UsageError):
        RareClassifier("logistic", cv=GroupKFold(3)).fit(X, y)
    with pytest.raises(DataError):
        RareClassifier("logistic").fit(X, y, groups=groups[:5])
    with refused("too-few-labels", DataError, groups=1):
        RareClassifier("logistic").fit(X, y, groups=y)


def test_copies_are_kept_together_and_pointed_out():
    """A memory of training rows is worth nothing: half of the rows twice, and a column per row."""
    X, y = plain.rare(n=120)
    X2, y2 = np.vstack([X, X[:60]]), np.append(y, y[:60])
    model = RareClassifier("logistic", cv=4).fit(X2, y2)
    assert any("60 of 180" in w for w in model.report_.warnings)
    rows = ArrayRows(X2, y2, classes=[0, 1])
    ids = make_splits(
        rows, summarise_columns(rows), CrossValidation("brier", 4, 0.0, 0), None
    ).folds[0][0]
    np.testing.assert_array_equal(ids[120:], ids[:60])
    own = RareClassifier("logistic", cv=StratifiedKFold(4, shuffle=True, random_state=0))
    assert "leaking-folds" in codes(own.fit(X2, y2).report_.warnings)
    assert "leaking-folds" not in codes(own.fit(X, y).report_.warnings)


def test_the_error_of_the_gain_counts_copies_once():
    """Every row twice: the same settings, scores and errors."""
    X, y = plain.rare(n=200)
    for by in ("brier", "calibration"):
        params = {"shapes": SHAPES, "select_by": by}
        one = RareClassifier("gev-canonical", **params).fit(X, y)
        two = RareClassifier("gev-canonical", **params).fit(np.vstack([X, X]), np.append(y, y))
        assert two.shape_ == one.shape_
        assert two.ridge_ == pytest.approx(2 * one.ridge_)
        np.testing.assert_allclose(two.selection_.scores, one.selection_.scores, rtol=1e-6)
        assert two.selection_.gain == pytest.approx(one.selection_.gain, rel=1e-4)
        assert two.selection_.gain_error == pytest.approx(one.selection_.gain_error, rel=1e-4)


# --- what is said of the choice -------------------------------------------------------------------


def test_simulation_the_gain_is_what_an_outsider_measures():
    """60 tables of 150 rows of a logistic truth: a choice judged on its own folds flatters.

    The gain that is said against the gain in mean squared error to the true probability, of which
    the best of the table minus the best of logistic regression (as it was once said) is too much.
    """
    rng = np.random.default_rng(3)
    new = rng.normal(size=(3_000, 3))
    truth = 1 / (1 + np.exp(1.5 - new[:, 0]))
    said, true, flattering = [], [], []
    for _ in range(60):
        X = rng.normal(size=(150, 3))
        y = rng.random(150) < 1 / (1 + np.exp(1.5 - X[:, 0]))
        params = {"ridge": 1.0, "cv": 3, "diagnostics": False}
        model = RareClassifier("gev-canonical", shapes=(-1, -0.5, 0, 0.5, 1, 1.5), **params)
        logistic = RareClassifier("logistic", **params)
        scores = [
            np.mean((m.fit(X, y).predict_proba(new)[:, 1] - truth) ** 2) for m in (logistic, model)
        ]
        found = model.selection_
        said.append(found.gain)
        true.append(scores[0] - scores[1])
        flattering.append(found.reference_score - found.mean.min())
    apart, before = np.subtract(said, true), np.subtract(flattering, true)
    assert abs(apart.mean()) < 2.5 * apart.std() / np.sqrt(60)
    assert before.mean() > 2.5 * before.std() / np.sqrt(60)
    assert np.mean(flattering) > 0 > np.mean(true)


def test_simulation_noise_and_a_logistic_truth_take_the_logistic_loss():
    """40 tables without a GEV truth: loss="auto" stays with logistic regression in nearly all."""
    rng = np.random.default_rng(4)
    taken = 0
    for slope in (0.0, 1.0):
        for _ in range(20):
            X = rng.normal(size=(200, 2))
            y = rng.random(200) < 1 / (1 + np.exp(2.0 - slope * X[:, 0]))
            model = RareClassifier(cv=3, diagnostics=False).fit(X, y)
            taken += model.loss_ != "logistic"
            if model.loss_ == "logistic":  # as expected: told by the selection, not a warning
                assert str(model.selection_).endswith("logistic regression was chosen")
            assert set(codes(model.report_.warnings)) <= {"ridge-at-end"}
    assert taken <= 3


def test_a_gev_truth_is_taken_and_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    link = loss_of("gev-canonical", 1.1).link
    y = rng.random(6000) < link.inverse(-0.3 + 0.9 * X[:, 0])
    model = RareClassifier(cv=3).fit(X, y)
    found = model.selection_
    assert model.loss_ == found.loss == "gev-canonical"
    assert model.shape_ == found.shape == 1.1
    assert found.gain > 2 * found.gain_error > 0
    assert np.isnan(found.shapes[0])
    assert found.scores.shape == (3, 5, len(found.ridges))
    assert codes(model.report_.warnings) == ["floored-rows"]
    text = str(found)
    assert text.startswith("chosen by brier on 3 folds: gev-canonical, shape 1.1, ridge")
    assert "gain over logistic" in text
    new = rng.normal(size=(3000, 2))
    truth = link.inverse(-0.3 + 0.9 * new[:, 0])
    off = [
        np.mean((m.predict_proba(new)[:, 1] - truth) ** 2)
        for m in (model, RareClassifier("logistic").fit(X, y))
    ]
    assert off[0] < 0.5 * off[1]


def test_auto_chooses_among_given_shapes_and_ridges():
    X, y = plain.rare(n=200)
    model = RareClassifier(shape=0.3, ridge=1.5, cv=3).fit(X, y)
    np.testing.assert_array_equal(model.selection_.shapes, [np.nan, 0.3])
    assert model.ridge_ == 1.5
    both = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y).selection_
    alone = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y).selection_
    np.testing.assert_allclose(both.scores[:, 1:], alone.scores, rtol=1e-12)
    assert (both.gain, both.gain_error) == pytest.approx((alone.gain, alone.gain_error))


# --- how far ridges go ----------------------------------------------------------------------------


def ridge_at_end(model):
    """Which end of the ridges was chosen, and whether they had been extended."""
    (said,) = [w for w in model.report_.warnings if codes([w]) == ["ridge-at-end"]]
    assert said.fields["ridge"] == model.ridge_
    return said.fields["end"], said.fields["extended"]


def test_ridges_are_extended_where_the_best_lies_at_an_end(rng):
    """Nearly repeated columns with opposite effects ask for a ridge far below the usual ones."""
    base = rng.normal(size=(4000, 1))
    unit = 4000 / 4

    def table(apart):
        X = base + apart * rng.normal(size=(4000, 2))
        return X, rng.random(4000) < 1 / (1 + np.exp((X[:, 1] - X[:, 0]) / apart))

    model = RareClassifier("logistic", cv=2).fit(*table(1e-2))
    assert len(model.selection_.ridges) > 7
    assert 1.2e-8 * unit < model.ridge_ < 0.9e-4 * unit
    assert "ridge-at-end" not in codes(model.report_.warnings)
    short = RareClassifier("logistic", cv=2, ridges=[1.0, 10.0]).fit(*table(1e-2))
    assert ridge_at_end(short) == ("smallest", False)
    end = RareClassifier("logistic", cv=2).fit(*table(1e-3))
    assert end.ridge_ == pytest.approx(1e-8 * unit, rel=0.01)
    assert ridge_at_end(end) == ("smallest", True)


def test_noise_ends_at_the_largest_ridge_and_says_so():
    X, y = np.random.default_rng(2).normal(size=(300, 4)), np.arange(300) % 3 == 0
    model = RareClassifier("logistic").fit(X, y)
    unit = 300 * (1 / 3) * (2 / 3)
    assert model.ridge_ == pytest.approx(1e4 * unit)
    assert ridge_at_end(model) == ("largest", True)
    paper = RareClassifier("logistic", standardize=False).fit(1e-5 * X, y)
    np.testing.assert_array_equal(paper.selection_.ridges, PAPER_RIDGES)


def test_the_paper_s_grid_says_when_its_units_do_not_suit():
    """Columns in millionths: the paper's smallest ridge leaves the base rate alone."""
    X, y = plain.rare(n=300)
    paper = RareClassifier("logistic", standardize=False).fit(1e-6 * X, y)
    assert paper.ridge_ == 1e-3
    assert ridge_at_end(paper) == ("smallest", False)


# --- the rest -------------------------------------------------------------------------------------


def test_invariant_units_of_weight():
    """Weights that sum to 1 choose as weights of 1 do, at ridges scaled alike."""
    X, y = plain.rare(n=300, k=2)
    one = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    small = 1e-3 / 300
    other = RareClassifier("gev-canonical", shapes=SHAPES, ridges=[small * r for r in RIDGES], cv=3)
    other.fit(X, y, np.full(300, small))
    # Fits that stop where 1e-5 of likelihood is left agree to far less than a fold's noise.
    np.testing.assert_allclose(one.selection_.scores, other.selection_.scores, atol=2e-5)
    assert other.shape_ == one.shape_
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-8)
    assert other.selection_.gain_error == pytest.approx(one.selection_.gain_error, rel=0.05)


def test_random_state_is_of_the_folds_and_none_repeats():
    X, y = plain.rare(n=200)

    def table(seed):
        model = RareClassifier(
            "gev-canonical", shapes=SHAPES, ridges=RIDGES, random_state=seed
        ).fit(X, y)
        return model.selection_.scores

    np.testing.assert_array_equal(table(None), table(None))
    np.testing.assert_array_equal(table(None), table(0))
    assert (table(1) != table(0)).any()
    assert table(np.random.RandomState(3)).shape == (5, 3, 2)


def test_invariant_large_data_choose_as_all_rows_would(monkeypatch):
    X, y = plain.rare(n=30_000, k=2, shift=-3.0)
    params = {"shapes": [-0.5, 0.3], "ridges": [0.1, 1000.0], "cv": 2}
    part = RareClassifier("gev-canonical", **params).fit(X, y)
    monkeypatch.setattr(module, "SMALL", 10**9)
    whole = RareClassifier("gev-canonical", **params).fit(X, y)
    assert (part.shape_, part.ridge_) == (whole.shape_, whole.ridge_)
    # Differences far below the noise of the gain itself.
    difference = np.abs(part.selection_.scores - whole.selection_.scores).max()
    assert 0 < difference < 0.05 * whole.selection_.gain_error


def test_invariant_order_and_repetition_of_large_data(monkeypatch):
    """The part of the rows that is looked at first follows from their content."""
    monkeypatch.setattr(module, "SMALL", 1000)
    X, y = plain.rare(n=6000, k=2, shift=-3.0)
    one = RareClassifier().fit(X, y)
    for other_X, other_y in (
        (X[::-1], y[::-1]),
        (1e-6 * X[:, ::-1], y),
        (np.vstack([X, X]), np.append(y, y)),
    ):
        other = RareClassifier().fit(other_X, other_y)
        np.testing.assert_allclose(
            other.selection_.scores, one.selection_.scores, rtol=1e-6, atol=1e-12
        )
        order = (
            slice(None, None, -1) if other_X.shape == X.shape and other_y is not y else slice(None)
        )
        prob = other.predict_proba(other_X[order][:6000])
        np.testing.assert_allclose(prob, one.predict_proba(X), rtol=1e-6)


def test_large_data_with_repeated_columns_and_no_ridge():
    X, y = plain.rare(n=40_000, k=2, shift=-3.0)
    model = RareClassifier("gev-canonical", ridge=0, shapes=[0.0, 0.5], cv=2)
    model.fit(np.column_stack([X, X[:, 0]]), y)
    assert model.report_.converged
    assert codes(model.report_.warnings)[0] == "repeated-columns"


@pytest.mark.parametrize("by", ["brier", "log_loss", "calibration"])
def test_continuous_is_never_worse_than_the_grid(by):
    X, y = plain.rare(n=250, k=2)
    params = {"select_by": by, "cv": 3, "ridges": [0.1, 1.0, 10.0]}
    points = RareClassifier("gev-canonical", **params).fit(X, y).selection_
    between = RareClassifier("gev-canonical", shapes="continuous", **params).fit(X, y)
    assert between.selection_.score <= points.score
    assert -1.0 <= between.shape_ <= 1.5
    assert 0.1 <= between.ridge_ <= 10.0
    assert between.selection_.gain == pytest.approx(
        between.selection_.reference_score - between.selection_.score, rel=1e-6, abs=1e-12
    )


def test_continuous_starts_from_a_ridge_beyond_the_first_grid():
    """Noise asks for the largest ridge: the grid is extended, and its best place is beyond it."""
    X, y = np.random.default_rng(1).normal(size=(120, 2)), np.arange(120) % 3 == 0
    model = RareClassifier("gev-canonical", shapes="continuous", cv=2).fit(X, y)
    assert len(model.selection_.ridges) == 9
    assert model.ridge_ == pytest.approx(model.selection_.ridges[-1])
    assert model.report_.converged


@pytest.mark.parametrize("ridge", [0, 0.7])
def test_continuous_shape_at_a_given_ridge(ridge):
    X, y = plain.rare(n=250, k=2)
    model = RareClassifier("gev-canonical", ridge=ridge, shapes="continuous", cv=3).fit(X, y)
    assert model.ridge_ == ridge
    assert model.report_.converged


def test_progress_ends_where_it_said_it_would():
    X, y = plain.rare(n=200)
    seen = []
    for params in ({"shapes": SHAPES}, {"shapes": "continuous", "ridges": [1.0]}):
        RareClassifier(cv=3, progress=lambda *step: seen.append(step), **params).fit(X, y)
        done = [step[0] for step in seen]
        assert done == sorted(done)
        assert seen[-1][0] == seen[-1][1]
        assert len({step[1] for step in seen}) == 1
        seen.clear()


def test_floor_while_searching():
    X, y = plain.rare(n=200)
    chosen = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    assert chosen.floor_ in FLOORS
    given = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3, floor=0.03).fit(
        X, y
    )
    assert given.floor_ == 0.03
    none = RareClassifier(
        "gev-canonical", shapes=[1.5], ridges=[0.001], cv=3, floor=0, select_by="log_loss"
    )
    assert none.fit(X, y).floor_ == 0.0  # infinite scores, and no crash
    assert np.isinf(none.selection_.score) or np.isfinite(none.selection_.score)


@pytest.mark.parametrize("domain", ["line", "paper"])
def test_the_domain_holds_while_searching(domain):
    X, y = plain.rare(n=80, k=1, shift=-1.0)
    params = {"domain": domain, "standardize": False}
    model = RareClassifier("gev-canonical", shapes=[1.0], ridges=[1.0], cv=2, **params).fit(X, y)
    found = model.selection_
    rows = ArrayRows(X, y, classes=[0, 1])
    ids, part = make_splits(
        rows, summarise_columns(rows), CrossValidation("brier", 2, 0.001, 0), None
    ).folds[0]
    train = ids != part
    one = RareClassifier("gev-canonical", shape=1.0, ridge=1.0, **params).fit(X[train], y[train])
    raw = one._link().inverse(one.linear_predictor(X[~train]))
    prob = 0.999 * raw + 0.001 * y.mean()
    assert found.scores[0, 0, 0] == pytest.approx(np.mean((prob - y[~train]) ** 2), rel=2e-4)


def test_offsets_hold_while_searching(rng):
    X, y = plain.rare(n=300, k=2)
    offset = rng.normal(size=300)
    array = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3).fit(
        X, y, offset=offset
    )
    column = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3, offset=2)
    column.fit(np.column_stack([X, offset]), y)
    np.testing.assert_allclose(array.selection_.scores, column.selection_.scores, rtol=1e-12)
    without = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    assert np.abs(without.selection_.scores - array.selection_.scores).min() > 1e-4


def test_standardize_holds_while_searching():
    X, y = plain.rare(n=300, k=2, scale=np.array([1.0, 100.0]))
    own = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3, standardize=True).fit(
        X, y
    )
    scaled = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3).fit(
        X / X.std(axis=0), y
    )
    np.testing.assert_allclose(own.selection_.scores, scaled.selection_.scores, rtol=1e-7)


def test_selection_reads_well():
    X, y = plain.rare(n=300)
    model = RareClassifier("gev-canonical", shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    text = str(model.selection_)
    assert text.startswith(
        f"chosen by brier on 3 folds: gev-canonical, shape {model.shape_:g}, ridge "
    )
    assert "the folds alone would choose shapes from " in text
    assert "gain over logistic" in text
    assert ("inside the noise" in text) == model.selection_.inside_noise
    warned = "gain-in-noise" in codes(model.report_.warnings)
    assert warned == model.selection_.inside_noise
    split = RareClassifier("logistic", ridges=RIDGES, cv=0.3).fit(X, y).selection_
    assert str(split).startswith("chosen by brier on one validation split: logistic, ridge ")
    assert "\n" not in str(split)


def test_a_gain_outside_the_noise_is_seen(rng):
    """A truth with a hard zero, which a GEV link can say and the logit cannot."""
    x = rng.uniform(-1, 1, size=(4000, 1))
    y = (rng.random(4000) < np.where(x[:, 0] > 0, 0.4 * x[:, 0] + 0.02, 0.02 + 0 * x[:, 0])) * 1.0
    model = RareClassifier("gev-canonical", shapes=[-1.0, -0.5, 0.5, 1.0], ridges=[0.01], cv=3).fit(
        x, y
    )
    found = model.selection_
    assert found.inside_noise == (not found.gain > 2 * found.gain_error)
    assert found.gain == pytest.approx(found.reference_score - found.score, abs=1e-12)


def test_mixed_and_calibration_of_small_cases():
    np.testing.assert_allclose(mix_with_prevalence(np.array([0.0, 1.0]), 0.1, 0.3), [0.03, 0.93])
    prob = np.array([0.5])
    assert mix_with_prevalence(prob, 0.0, 0.3) is prob
    bins = np.zeros((1, 10, 4))
    bins[0, 2] = [2.0, 0.5, 0.13, 1.0]  # probabilities .2 and .3, one positive: share .5
    assert calibration_of(bins)[0] == pytest.approx(0.3**2 + 0.2**2)


def test_bins_of_the_calibration_loss_end_with_their_upper_end():
    """001 section 4.2: (k - 1) / 10 < prob <= k / 10, and 0 in the first."""
    X = np.linspace(0.0, 1.0, 11)[:, None]
    y = (np.arange(11) % 3 == 0).astype(float)
    rows = ArrayRows(X, y, classes=[0, 1])

    class Identity:
        def rates(self, score):
            return score.round(12), score

    fold = (np.zeros(11, dtype=np.int8), 0)
    params = ([Identity()], np.array([[1.0, 0.0]]), [0.0], fold, 0.3, "calibration", None)
    sums = rows.fold(held_out_scores, params)
    assert sums.bins[0, :, 0].tolist() == [2, 1, 1, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(("n", "k"), [(300, 3), (3000, 10)])
def test_auto_does_at_most_five_times_the_work_of_logistic_regression(n, k, monkeypatch, rng):
    """Rows swept by the solver of the grid; CPU seconds follow them (1.7 to 4.7 times measured)."""
    X = rng.normal(size=(n, k))
    y = rng.random(n) < 1 / (1 + np.exp(2.5 - X[:, 0]))
    swept = []
    sums = module._GridNewton.sums

    def counted(self, theta, which, hessian):
        swept.append(len(which) * len(self.Z))
        return sums(self, theta, which, hessian)

    monkeypatch.setattr(module._GridNewton, "sums", counted)
    work = {}
    for loss in ("logistic", "auto", "gev-canonical"):
        swept.clear()
        RareClassifier(loss, diagnostics=False).fit(X, y)
        work[loss] = sum(swept)
    assert 1.0 < work["auto"] / work["logistic"] <= 5.0
    assert work["gev-canonical"] / work["logistic"] > 15


# --- grid -----------------------------------------------------------------------------------------

GRID_RIDGES = (0.01, 1.0, 100.0)
GRID_LOSSES = [loss_of("gev-canonical", s) for s in (-1.0, -0.3, 0.0, 0.7, 1.5)]
GRID_LOSSES += [loss_of("logistic"), loss_of("probit")]


def uniform(n):
    return np.random.default_rng(3).random(n)


def decrement(coef, X, y, loss, penalty, weight=1.0, offset=0.0, free=None):
    """1/2 g' H^-1 g with the true Hessian: what is left to gain, to second order."""
    args = (coef, X, y, loss, penalty, weight, offset)
    own = np.ones(len(coef), dtype=bool) if free is None else free
    slope = plain.gradient(*args)[own]
    return 0.5 * slope @ np.linalg.pinv(plain.hessian(*args)[np.ix_(own, own)]) @ slope


def whole(X, y, weight=None):
    return TrainingSample(X, y, np.ones(len(y)) if weight is None else weight, True)


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("cheap", [True, False])
def test_oracle_every_fit_of_a_grid_leaves_little_to_gain(intercept, cheap, rng, monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 60)
    X, y = plain.rare(n=500 if cheap else 16_000, k=3)
    X = X * [1.0, 20.0, 0.1] + [0.0, 50.0, -3.0]
    weight = rng.random(len(y)) + 0.5
    setting = Formulation(intercept)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1])
    seen = summarise_columns(rows)
    losses = GRID_LOSSES if cheap else GRID_LOSSES[2:6]
    found = solve_grid(whole(X, y, weight), seen, losses, GRID_RIDGES, setting)
    assert found.enough.all()
    free = setting.free(seen)
    for i, loss in enumerate(losses):
        for j, ridge in enumerate(GRID_RIDGES):
            penalty = setting.penalty(ridge, 3)
            # Steps are judged with a Hessian that may be a few steps old: a factor for that.
            left = decrement(found.coef[i, j], X, y, loss, penalty, weight, free=free)
            assert left <= 3 * ENOUGH
    assert (found.coef[..., -1] == 0).all() == (intercept == "none")


@pytest.mark.parametrize("seed", [1, 6, 10])
def test_long_tails_need_shortened_steps(seed):
    """Whole Newton steps go round in circles here at a shape of -1."""
    rng = np.random.default_rng(seed)
    X = np.exp(1.5 * rng.normal(size=(60, 3)))
    y = (rng.random(60) < 0.2).astype(float)
    y[:2] = 0, 1
    found = solve_grid(
        whole(X, y),
        summarise_columns(ArrayRows(X, y, classes=[0, 1])),
        GRID_LOSSES,
        (0.001, 1.0),
        Formulation(),
    )
    assert found.enough.all()
    for i, loss in enumerate(GRID_LOSSES):
        left = decrement(found.coef[i, 0], X, y, loss, np.array([0.001, 0.001, 0.001, 0.0]))
        assert left <= ENOUGH * 3


def test_a_grid_keeps_units_and_offsets(rng):
    X, y = plain.rare(n=400)
    setting = Formulation(offset=1, units=np.array([2.0, 1.0, 0.5]))
    seen = summarise_columns(ArrayRows(X, y, classes=[0, 1]))
    found = solve_grid(whole(X, y), seen, [loss_of("logistic")], (3.0,), setting)
    coef = found.coef[0, 0]
    assert coef[1] == 1.0
    own = [0, 2, 3]
    penalty = np.array([12.0, 0.75, 0.0])
    left = decrement(coef[own], X[:, [0, 2]], y, loss_of("logistic"), penalty, 1.0, X[:, 1])
    assert left <= ENOUGH


def test_constant_and_repeated_columns_do_no_harm():
    X, y = plain.rare(n=300, k=2)
    more = np.column_stack([X, np.ones(300), X[:, 0]])
    seen = summarise_columns(ArrayRows(more, y, classes=[0, 1]))
    for ridges in (GRID_RIDGES, (0.0,)):
        found = solve_grid(whole(more, y), seen, GRID_LOSSES, ridges, Formulation())
        assert np.isfinite(found.coef).all()
        assert (found.coef[..., 2] == 0).all()
        assert found.enough.all()
        both = found.coef[..., 0] + found.coef[..., 3]
        plainly = solve_grid(
            whole(X, y),
            summarise_columns(ArrayRows(X, y, classes=[0, 1])),
            GRID_LOSSES,
            ridges,
            Formulation(),
        )
        if ridges == (0.0,):
            np.testing.assert_allclose(both, plainly.coef[..., 0], atol=5e-3)


@pytest.mark.parametrize(("name", "shape"), [("gev-log", -0.9), ("gev-log", -0.4)])
def test_convex_losses_with_a_bounded_support_stay_finite(name, shape):
    """Or are not given to the grid at all: the search decides."""
    X, y = plain.rare(n=300)
    rows = ArrayRows(X, y, classes=[0, 1])
    seen = summarise_columns(rows)
    plan = CrossValidation("brier", 3, 0.001, 0)
    splits = make_splits(rows, seen, plan, None)
    loss = loss_of(name, shape)
    search = module._Search(rows, seen, [loss], Formulation(), plan, splits, None, None, None)
    coef = search._fit([loss], GRID_RIDGES, splits.folds[0])
    kept = splits.folds[0][0] != 0
    for j, ridge in enumerate(GRID_RIDGES):
        args = (X[kept], y[kept], loss, np.append(np.full(3, ridge), 0.0))
        assert np.isfinite(plain.objective(coef[0, j], *args))
        assert decrement(coef[0, j], *args) <= 3 * ENOUGH


def test_oracle_polish_brings_a_part_to_the_fit_of_all_rows():
    X, y = plain.rare(n=60_000, k=3, shift=-3.5)
    y[::11] = np.nan
    rows = ArrayRows(X, y, classes=[0, 1], starts=(0, 7000, 60_000))
    seen = summarise_columns(rows)
    ids = np.where(np.isnan(y), -1, np.arange(60_000) % 5).astype(np.int8)
    part = training_sample(rows, seen, ids, 2, None, uniform(len(rows)))
    assert not part.whole
    assert len(part.y) < 30_000
    kept = (ids != 2) & (ids >= 0)
    losses, ridges, setting = (
        [loss_of("gev-canonical", 0.5), loss_of("logistic")],
        GRID_RIDGES,
        Formulation(),
    )
    rough = solve_grid(part, seen, losses, ridges, setting)
    fine = polish(rows, seen, rough, losses, ridges, setting, ids, 2, None)
    for i, loss in enumerate(losses):
        for j, ridge in enumerate(ridges):
            args = (X[kept], y[kept], loss, setting.penalty(ridge, 3))
            before, after = (decrement(g.coef[i, j], *args) for g in (rough, fine))
            assert after < 0.02
            assert after < 0.1 * before


def test_polish_with_repeated_columns_and_no_ridge_stays_finite():
    X, y = plain.rare(n=40_000, k=2, shift=-3.0)
    X = np.column_stack([X, X[:, 0]])
    rows = ArrayRows(X, y, classes=[0, 1])
    seen = summarise_columns(rows)
    ids = (np.arange(40_000) % 5).astype(np.int8)
    part = training_sample(rows, seen, ids, 0, None, uniform(len(rows)))
    assert not part.whole
    losses = [loss_of("logistic")]
    rough = solve_grid(part, seen, losses, (0.0,), Formulation())
    fine = polish(rows, seen, rough, losses, (0.0,), Formulation(), ids, 0, None)
    assert np.isfinite(fine.coef).all()
    assert decrement(fine.coef[0, 0], X[ids != 0], y[ids != 0], losses[0], np.zeros(4)) < 0.02


def test_training_part_holds_the_training_rows_and_their_weight(rng):
    X, y = plain.rare(n=1000)
    y[5] = np.nan
    weight = rng.random(1000)
    weight[9] = 0.0
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 300, 1000))
    ids = (np.arange(1000) % 3).astype(np.int8)
    ids[[5, 9]] = -1
    part = training_sample(rows, summarise_columns(rows), ids, 1, None, uniform(1000))
    kept = (ids >= 0) & (ids != 1)
    assert part.whole
    np.testing.assert_array_equal(part.X, X[kept])
    np.testing.assert_array_equal(part.y, y[kept])
    np.testing.assert_array_equal(part.weight, weight[kept])


def test_a_share_of_the_common_class_stands_for_all_of_it():
    X, y = plain.rare(n=50_000, k=1, shift=-4.0)
    rows = ArrayRows(X, y, classes=[0, 1], starts=(0, 20_000, 50_000))
    ids = (np.arange(50_000) % 2).astype(np.int8)
    shares = np.array([0.2, 1.0])
    parts = [stratified_sample(block, (ids, 0, shares, uniform(50_000))) for block in rows.blocks()]
    y_part, weight = (np.concatenate([p[j] for p in parts]) for j in (1, 2))
    training = ids == 1
    assert (y_part == 1).sum() == (y[training] == 1).sum()
    assert set(weight[y_part == 0]) == {5.0}
    assert set(weight[y_part == 1]) == {1.0}
    assert weight.sum() == pytest.approx(training.sum(), rel=0.03)
    again = [stratified_sample(block, (ids, 0, shares, uniform(50_000))) for block in rows.blocks()]
    np.testing.assert_array_equal(
        np.concatenate([p[0] for p in again]), np.concatenate([p[0] for p in parts])
    )


def test_distinct_joins_equal_answers_of_one_loss_only():
    coef = np.zeros((2, 3, 2))
    coef[0, 2] = 1.0
    losses = GRID_LOSSES[:2]
    kinds, kept, place = distinct_models(coef, losses)
    assert kinds == [losses[0], losses[0], losses[1]]
    assert place.tolist() == [[0, 0, 1], [2, 2, 2]]
    np.testing.assert_array_equal(kept[place], coef)


def test_oracle_gradients_of_many_models(rng):
    X, y = plain.rare(n=5000)
    y[3] = np.nan
    weight = rng.random(5000)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 4500, 5000))
    ids = (np.arange(5000) % 4).astype(np.int8)
    ids[7] = -1
    coef = rng.normal(size=(len(GRID_LOSSES), 4)) * 0.3
    found = rows.fold(grid_gradients, (GRID_LOSSES, coef, ids, 2))
    kept = (ids != 2) & (ids >= 0) & ~np.isnan(y)
    for i, loss in enumerate(GRID_LOSSES):
        wanted = plain.gradient(coef[i], X[kept], y[kept], loss, np.zeros(4), weight[kept])
        np.testing.assert_allclose(found[i], wanted, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_standard_coordinates_go_there_and_back(intercept, rng):
    X, y = plain.rare(n=200)
    X = X * [1.0, 30.0, 0.01] + [5.0, 0.0, -1.0]
    X = np.column_stack([X, np.full(200, 4.0)])
    setting = Formulation(intercept, offset=1)
    standard = GridCoordinates(summarise_columns(ArrayRows(X, y, classes=[0, 1])), setting)
    Z, offset = standard.design(X)
    theta = rng.normal(size=Z.shape[1])
    coef = standard.given(theta)
    assert coef[1] == 1.0
    np.testing.assert_allclose(plain.design_of(X) @ coef, Z @ theta + offset, rtol=1e-10, atol=1e-9)
    slope = rng.normal(size=200)
    np.testing.assert_allclose(
        standard.gradient(plain.design_of(X).T @ slope), Z.T @ slope, rtol=1e-9, atol=1e-8
    )
    free = standard.free
    wanted = 0.5 * np.sum((setting.penalty(2.0, 4) * coef**2)[free])
    if intercept != "free":  # beside a free intercept the penalty is that of the slopes alone
        assert 0.5 * np.sum(standard.penalty(2.0) * theta**2) == pytest.approx(wanted)
    else:
        assert 0.5 * np.sum(standard.penalty(2.0)[:-1] * theta[:-1] ** 2) == pytest.approx(wanted)
