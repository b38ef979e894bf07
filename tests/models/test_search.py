"""The search for shape and ridge: its table is the slow one's, and it takes the best of it."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from scarce import DataError, RareClassifier
from scarce.losses import loss_of
from scarce.models.search import (
    FLOORS,
    Candidates,
    Plan,
    calibration_of,
    folds_of,
    held_out_scores,
    mixed,
    select,
)
from scarce.rows import ArrayRows
from scarce.solvers import grid
from scarce.solvers.linear import look
from scarce.solvers.regress import Setting
from tests.solvers import plain

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
    monkeypatch.setattr(grid, "ENOUGH", 1e-18)
    monkeypatch.setattr(grid, "MOST_STEPS", 200)


@pytest.mark.parametrize("by", ["brier", "log_loss", "calibration"])
@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_table_gain_error_and_floor_are_those_of_one_fit_at_a_time(by, weighted, exact, rng):
    X, y = plain.rare(n=240, k=2, shift=-1.2)
    weight = rng.integers(1, 4, size=240).astype(float) if weighted else np.ones(240)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 100, 240))
    seen = look(rows)
    plan = Plan(by, 3, 0.001, 5)
    found, floor = select(rows, seen, Candidates("gev-canonical", SHAPES, RIDGES), Setting(), plan)
    folds = folds_of(rows, seen, plan, None)
    args = (X, y, weight)
    losses = [loss_of("gev-canonical", s) for s in SHAPES] + [loss_of("logistic")]
    table = np.empty((3, 4, 2))
    probs = {}
    for f, (ids, part) in enumerate(folds):
        train, test = np.flatnonzero(ids != part), np.flatnonzero(ids == part)
        for i, loss in enumerate(losses):
            for j, ridge in enumerate(RIDGES):
                prob = slow_prob(loss, ridge, *args, train, test, 0.001, seen.prevalence)
                probs[f, i, j] = prob
                table[f, i, j] = slow_score(prob, y[test], by, weight[test])
    np.testing.assert_allclose(found.scores, table[:, :3], rtol=1e-7, atol=1e-10)
    sizes = [weight[ids == part].sum() for ids, part in folds]
    np.testing.assert_allclose(found.weights, sizes)
    mean = np.average(table, axis=0, weights=sizes)
    i, j = np.unravel_index(mean[:3].argmin(), (3, 2))
    plain_best = mean[3].argmin()
    assert (found.shape, found.ridge) == (SHAPES[i], RIDGES[j])
    assert found.score == pytest.approx(mean[i, j], rel=1e-7)
    assert found.reference == "logistic"
    assert found.reference_score == pytest.approx(mean[3, plain_best], rel=1e-7)
    assert found.gain == pytest.approx(mean[3, plain_best] - mean[i, j], rel=1e-5, abs=1e-10)
    best_by_fold = [SHAPES[t[:3].min(axis=1).argmin()] for t in table]
    assert found.shape_by_fold.tolist() == best_by_fold
    tests = [np.flatnonzero(ids == part) for ids, part in folds]
    if by == "calibration":
        each = table[:, 3, plain_best] - table[:, i, j]
        assert found.gain_error == pytest.approx(each.std(ddof=1) / np.sqrt(3), rel=1e-5)
    elif not weighted:
        gains = []
        for f, test in enumerate(tests):
            ours, theirs = probs[f, i, j], probs[f, 3, plain_best]
            if by == "brier":
                gains.append((theirs - y[test]) ** 2 - (ours - y[test]) ** 2)
            else:
                gains.append(-np.log(np.abs(theirs + y[test] - 1) / np.abs(ours + y[test] - 1)))
        gains = np.concatenate(gains)
        assert found.gain_error == pytest.approx(gains.std() / np.sqrt(240), rel=1e-5)
    logs = []
    for each in FLOORS:
        total = 0.0
        for f, test in enumerate(tests):
            raw = (probs[f, i, j] - 0.001 * seen.prevalence) / 0.999
            prob = (1 - each) * raw + each * seen.prevalence
            total += slow_score(prob, y[test], "log_loss", weight[test]) * weight[test].sum()
        logs.append(total)
    assert floor == FLOORS[int(np.argmin(logs))]


@pytest.mark.parametrize("loss", ["gev-canonical", "gev-log", "logistic", "probit"])
def test_what_is_chosen_is_the_least_of_its_own_table(loss):
    X, y = plain.rare(n=300)
    model = RareClassifier(loss, shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    found = model.selection_
    mean = np.average(found.scores, axis=0, weights=found.weights)
    np.testing.assert_array_equal(found.mean, mean)
    i, j = np.unravel_index(mean.argmin(), mean.shape)
    assert model.ridge_ == found.ridge == RIDGES[j]
    assert found.score == pytest.approx(mean[i, j], rel=1e-14)
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
    model = RareClassifier(shape=0.3, ridges=[2.0]).fit(X, y)
    assert (model.shape_, model.ridge_) == (0.3, 2.0)
    assert model.selection_.scores.shape == (5, 1, 1)


# --- folds ----------------------------------------------------------------------------------------


def folds(y, cv, seed=0, weight=None):
    rows = ArrayRows(np.arange(len(y), dtype=float)[:, None], y, weight=weight, classes=[0, 1])
    return folds_of(rows, look(rows), Plan("brier", cv, 0.0, seed), None)


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
    assert (np.diff(ids[:83]) != 1).any()  # not dealt in file order


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
    with pytest.raises(DataError, match=r"Class 1 has 1 labelled row, .* at least 2 of each class"):
        folds(np.append(np.zeros(40), 1.0), 5)
    weight = np.append(np.ones(41), [0.0, 0.0])
    with pytest.raises(DataError, match="Class 1 has 1 labelled row"):
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
        RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=cv).fit(X, y)
        for cv in (StratifiedKFold(4), split, iter(split))
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].selection_.scores, other.selection_.scores)


def test_a_splitter_does_not_see_rows_without_label():
    X, y = plain.rare(n=120)
    y[0] = np.nan  # alone it would be the smallest class
    model = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=StratifiedKFold(3)).fit(X, y)
    assert model.selection_.weights.sum() == 119


def test_folds_of_one_class_are_refused():
    y = np.append(np.zeros(40), np.ones(10))
    with pytest.raises(DataError, match=r"Fold 5 of cv has training rows of one class only"):
        folds(y, KFold(5).split(y) and [*[(np.arange(50), [0])] * 4, (np.arange(40), [45])])
    with pytest.raises(DataError, match=r"Fold 1 of cv .* nothing to judge by"):
        folds(y, [(np.arange(50), np.array([], dtype=int))])


def test_groups_need_pairs():
    X, y = plain.rare(n=120)
    groups = np.arange(120) // 10
    pairs = list(GroupKFold(3).split(X, y, groups))
    model = RareClassifier(shapes=[0.0], ridges=[1.0], cv=pairs).fit(X, y)
    np.testing.assert_array_equal(model.selection_.weights, [len(test) for _, test in pairs])


# --- the rest -------------------------------------------------------------------------------------


def test_invariant_units_of_weight():
    """Weights that sum to 1 choose as weights of 1 do, at ridges scaled alike."""
    X, y = plain.rare(n=300, k=2)
    one = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    small = 1e-3 / 300
    other = RareClassifier(shapes=SHAPES, ridges=[small * r for r in RIDGES], cv=3)
    other.fit(X, y, np.full(300, small))
    # Fits that stop where 1e-5 of likelihood is left agree to far less than a fold's noise.
    np.testing.assert_allclose(one.selection_.scores, other.selection_.scores, atol=2e-5)
    assert other.shape_ == one.shape_
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-8)
    assert other.selection_.gain_error == pytest.approx(one.selection_.gain_error, rel=0.05)


def test_random_state_is_of_the_folds_and_none_repeats():
    X, y = plain.rare(n=200)

    def table(seed):
        model = RareClassifier(shapes=SHAPES, ridges=RIDGES, random_state=seed).fit(X, y)
        return model.selection_.scores

    np.testing.assert_array_equal(table(None), table(None))
    np.testing.assert_array_equal(table(None), table(0))
    assert (table(1) != table(0)).any()
    assert table(np.random.RandomState(3)).shape == (5, 3, 2)


def test_invariant_large_data_choose_as_all_rows_would(monkeypatch):
    X, y = plain.rare(n=30_000, k=2, shift=-3.0)
    params = {"shapes": [-0.5, 0.3], "ridges": [0.1, 1000.0], "cv": 2}
    part = RareClassifier(**params).fit(X, y)
    monkeypatch.setattr(grid, "SMALL", 10**9)
    whole = RareClassifier(**params).fit(X, y)
    assert (part.shape_, part.ridge_) == (whole.shape_, whole.ridge_)
    # Differences far below the noise of the gain itself.
    difference = np.abs(part.selection_.scores - whole.selection_.scores).max()
    assert 0 < difference < 0.05 * whole.selection_.gain_error


def test_large_data_with_repeated_columns_and_no_ridge():
    X, y = plain.rare(n=40_000, k=2, shift=-3.0)
    model = RareClassifier(ridge=0, shapes=[0.0, 0.5], cv=2)
    model.fit(np.column_stack([X, X[:, 0]]), y)
    assert model.report_.converged
    assert "Combinations of earlier columns" in model.report_.warnings[0]


@pytest.mark.parametrize("by", ["brier", "log_loss", "calibration"])
def test_continuous_is_never_worse_than_the_grid(by):
    X, y = plain.rare(n=250, k=2)
    params = {"select_by": by, "cv": 3, "ridges": [0.1, 1.0, 10.0]}
    points = RareClassifier(**params).fit(X, y).selection_
    between = RareClassifier(shapes="continuous", **params).fit(X, y)
    assert between.selection_.score <= points.score
    assert -1.0 <= between.shape_ <= 1.5
    assert 0.1 <= between.ridge_ <= 10.0
    assert between.selection_.gain == pytest.approx(
        between.selection_.reference_score - between.selection_.score, rel=1e-6, abs=1e-12
    )


@pytest.mark.parametrize("ridge", [0, 0.7])
def test_continuous_shape_at_a_given_ridge(ridge):
    X, y = plain.rare(n=250, k=2)
    model = RareClassifier(ridge=ridge, shapes="continuous", cv=3).fit(X, y)
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
    chosen = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    assert chosen.floor_ in FLOORS
    given = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3, floor=0.03).fit(X, y)
    assert given.floor_ == 0.03
    none = RareClassifier(shapes=[1.5], ridges=[0.001], cv=3, floor=0, select_by="log_loss")
    assert none.fit(X, y).floor_ == 0.0  # infinite scores, and no crash
    assert np.isinf(none.selection_.score) or np.isfinite(none.selection_.score)


@pytest.mark.parametrize("domain", ["line", "paper"])
def test_the_domain_holds_while_searching(domain):
    X, y = plain.rare(n=80, k=1, shift=-1.0)
    model = RareClassifier(shapes=[1.0], ridges=[1.0], cv=2, domain=domain).fit(X, y)
    found = model.selection_
    rows = ArrayRows(X, y, classes=[0, 1])
    (ids, part), *_ = folds_of(rows, look(rows), Plan("brier", 2, 0.001, 0), None)
    train = ids != part
    one = RareClassifier(shape=1.0, ridge=1.0, domain=domain).fit(X[train], y[train])
    raw = one._link().inverse(one.linear_predictor(X[~train]))
    prob = 0.999 * raw + 0.001 * y.mean()
    assert found.scores[0, 0, 0] == pytest.approx(np.mean((prob - y[~train]) ** 2), rel=2e-4)


def test_offsets_hold_while_searching(rng):
    X, y = plain.rare(n=300, k=2)
    offset = rng.normal(size=300)
    array = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y, offset=offset)
    column = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3, offset=2)
    column.fit(np.column_stack([X, offset]), y)
    np.testing.assert_allclose(array.selection_.scores, column.selection_.scores, rtol=1e-12)
    without = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    assert np.abs(without.selection_.scores - array.selection_.scores).min() > 1e-4


def test_standardize_holds_while_searching():
    X, y = plain.rare(n=300, k=2, scale=np.array([1.0, 100.0]))
    own = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3, standardize=True).fit(X, y)
    scaled = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3).fit(X / X.std(axis=0), y)
    np.testing.assert_allclose(own.selection_.scores, scaled.selection_.scores, rtol=1e-7)


def test_selection_reads_well():
    X, y = plain.rare(n=300)
    model = RareClassifier(shapes=SHAPES, ridges=RIDGES, cv=3).fit(X, y)
    text = str(model.selection_)
    assert text.startswith(f"chosen by brier on 3 folds: shape {model.shape_:g}, ridge ")
    assert "the folds alone would choose shapes from " in text
    assert "gain over logistic" in text
    assert ("inside the noise" in text) == model.selection_.inside_noise
    warned = any("inside its noise: loss='logistic'" in w for w in model.report_.warnings)
    assert warned == model.selection_.inside_noise
    split = RareClassifier("logistic", ridges=RIDGES, cv=0.3).fit(X, y).selection_
    assert str(split).startswith("chosen by brier on one validation split: ridge ")
    assert "\n" not in str(split)


def test_a_gain_outside_the_noise_is_seen(rng):
    """A truth with a hard zero, which a GEV link can say and the logit cannot."""
    x = rng.uniform(-1, 1, size=(4000, 1))
    y = (rng.random(4000) < np.where(x[:, 0] > 0, 0.4 * x[:, 0] + 0.02, 0.02 + 0 * x[:, 0])) * 1.0
    model = RareClassifier(shapes=[-1.0, -0.5, 0.5, 1.0], ridges=[0.01], cv=3).fit(x, y)
    found = model.selection_
    assert found.inside_noise == (not found.gain > 2 * found.gain_error)
    assert found.gain == pytest.approx(found.reference_score - found.score, abs=1e-12)


def test_mixed_and_calibration_of_small_cases():
    np.testing.assert_allclose(mixed(np.array([0.0, 1.0]), 0.1, 0.3), [0.03, 0.93])
    prob = np.array([0.5])
    assert mixed(prob, 0.0, 0.3) is prob
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
    params = ([Identity()], np.array([[1.0, 0.0]]), [0.0], fold, 0.3, "calibration")
    sums = rows.fold(held_out_scores, params)
    assert sums.bins[0, :, 0].tolist() == [2, 1, 1, 1, 1, 1, 1, 1, 1, 1]
