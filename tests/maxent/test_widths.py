"""Choosing the width: folds, and scores against fits that never saw the rows held out."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from scarce import MaxentClassifier
from scarce.engine.memory import ArrayRows
from scarce.errors import DataError, UsageError
from scarce.maxent.fit import FitSettings, prepare
from scarce.maxent.widths import WIDTHS, LabelledRows, choose_width, make_folds
from tests.problems import refused

# --- folds ----------------------------------------------------------------------------------------


@pytest.fixture
def labels(rng):
    """Two labelled classes of 12 and 7 rows among 60, in no order."""
    label = np.full(60, np.nan)
    label[:12], label[12:19] = 0, 1
    return rng.permutation(label)


def held_out(label, cv, groups=None, state=None, weight=None):
    return folds_of(label, cv, groups, state, weight)[0]


def folds_of(label, cv, groups=None, state=None, weight=None, X=None):
    weight = np.ones(len(label)) if weight is None else weight
    label = np.where(weight > 0, label, np.nan)
    X = np.random.default_rng(9).normal(size=(len(label), 2)) if X is None else X
    rows = LabelledRows.of(ArrayRows(X, check=False), label, weight, weight, engine=None)
    return make_folds(cv, rows, groups, state)


@pytest.mark.parametrize("cv", [2, 3, 5, np.int64(4)])
def test_folds_hold_out_every_labelled_row_once(labels, cv):
    folds = held_out(labels, cv)
    assert len(folds) == cv
    total = np.sum(folds, axis=0)
    np.testing.assert_array_equal(total, ~np.isnan(labels))
    for one, size in ((0, 12), (1, 7)):  # each class spread out
        counts = [int(fold[labels == one].sum()) for fold in folds]
        assert max(counts) - min(counts) <= 2
        assert sum(counts) == size


def test_folds_are_drawn_by_random_state(labels):
    one, two, other = (held_out(labels, 3, state=state) for state in (None, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (np.array(one) != np.array(other)).any()


@pytest.mark.parametrize("cv", [10, 30])
def test_no_more_folds_than_rows_of_the_rarest_class(labels, cv):
    folds = held_out(labels, cv)
    assert len(folds) == 7
    np.testing.assert_array_equal(np.sum(folds, axis=0), ~np.isnan(labels))


def test_copies_are_held_out_together(rng):
    X = rng.normal(size=(90, 3))
    X[60:] = X[:30]  # labelled copies, unlabelled copies, and 30 rows once
    label = np.where(np.arange(90) % 2 == 0, 0.0, np.nan)
    folds, said = folds_of(label, 5, X=X)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sum(folds, axis=0), ~np.isnan(label))
    for fold in folds:
        np.testing.assert_array_equal(fold[:30], fold[60:])
    assert any("15 of 45 labelled rows repeat another row" in line for line in said)
    assert folds_of(label[:60], 5, X=X[:60])[1] == []


def test_folds_do_not_depend_on_order_units_and_names_of_classes(labels, rng):
    X = rng.normal(size=(60, 2))
    order = rng.permutation(60)
    first = np.array(held_out_of(X, labels))
    np.testing.assert_array_equal(np.array(held_out_of(X[order], labels[order])), first[:, order])
    np.testing.assert_array_equal(np.array(held_out_of(1000 * X[:, ::-1] - 7, labels)), first)
    twice = np.array(held_out_of(np.repeat(X, 2, axis=0), np.repeat(labels, 2)))
    np.testing.assert_array_equal(twice, np.repeat(first, 2, axis=1))


def held_out_of(X, label):
    return folds_of(label, 4, X=X)[0]


def test_a_class_of_one_row_stays_in():
    label = np.array([0.0, 0, 0, 1, np.nan])
    for fold in held_out(label, 3):
        assert not fold[3]
        assert fold.any()


def test_rows_without_weight_are_not_held_out(labels):
    weight = np.ones(60)
    gone = np.flatnonzero(labels == 0)[:3]
    weight[gone] = 0.0
    total = np.sum(held_out(labels, 4, weight=weight), axis=0)
    assert not total[gone].any()
    assert total.sum() == 16


def test_groups_are_held_out_together(labels, rng):
    groups = rng.integers(0, 5, 60)
    folds = held_out(labels, 3, groups)
    np.testing.assert_array_equal(np.sum(folds, axis=0), ~np.isnan(labels))
    for group in range(5):  # rows of both classes
        own = ~np.isnan(labels) & (groups == group)
        assert all(fold[own].all() or not fold[own].any() for fold in folds)
    assert len(held_out(labels, 9, (np.cumsum(~np.isnan(labels)) % 2).astype(str))) == 2


def test_one_group_cannot_be_held_out(labels):
    with refused("one-group", DataError, rows=12):
        held_out(labels, 3, np.zeros(60))


@pytest.mark.parametrize(
    "splitter", [KFold(3, shuffle=True, random_state=0), StratifiedKFold(3), GroupKFold(3)]
)
def test_a_splitter_sees_the_labelled_rows(labels, splitter, rng):
    groups = rng.permutation(np.arange(60) % 6) if isinstance(splitter, GroupKFold) else None
    labelled = np.flatnonzero(~np.isnan(labels))
    folds = held_out(labels, splitter, groups)
    own = None if groups is None else groups[labelled]
    wanted = splitter.split(labelled, labels[labelled], own)
    for fold, (_, test) in zip(folds, wanted, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(fold), labelled[test])


def test_pairs_of_positions_count_all_rows(labels):
    labelled = np.flatnonzero(~np.isnan(labels))
    pairs = [(labelled[5:], labelled[:5]), (labelled[:5], labelled[5:9])]
    for given in (pairs, iter(pairs)):
        folds = held_out(labels, given)
        np.testing.assert_array_equal(np.flatnonzero(folds[0]), labelled[:5])
        np.testing.assert_array_equal(np.flatnonzero(folds[1]), labelled[5:9])


def test_folds_that_leave_nothing(labels):
    ones = np.flatnonzero(labels == 1)
    with refused("fold-without-class", DataError, fold=2, folds=2, rows=7):
        held_out(labels, [([], ones[:2]), ([], ones)])
    unlabelled = np.flatnonzero(np.isnan(labels))
    with refused("no-labels-held-out", DataError, rows=19):
        held_out(labels, [([], unlabelled)])
    with refused("no-labels-held-out", DataError, rows=1):
        held_out(np.array([0.0, np.nan]), 5)
    with refused("integer-range", UsageError, argument="cv", value=1):
        held_out(labels, 1)


def test_folds_without_labelled_rows_are_left_out(labels):
    unlabelled = np.flatnonzero(np.isnan(labels))
    some = np.flatnonzero(labels == 0)[:3]
    assert len(held_out(labels, [([], unlabelled), ([], some)])) == 1


def test_widths_to_choose_from():
    assert len(WIDTHS) == 20
    assert (WIDTHS[0], WIDTHS[-1]) == pytest.approx((5.0, 0.25))
    X, y = data(np.random.default_rng(0))[:2]
    for wrong in ([], [0.0], [-1.0], [1.0, np.inf], [np.nan], 3.0, ["a"]):
        with refused("invalid-parameter", UsageError, argument="width_scales"):
            MaxentClassifier(width_scale="auto", width_scales=wrong).fit(X, y)


# --- scores ---------------------------------------------------------------------------------------


def data(rng, n_classes=1):
    X = rng.normal(size=(120, 2))
    y = np.full(120, np.nan)
    y[:24] = 1.0
    X[:24] += 1.0
    if n_classes == 2:
        y[24:44] = 2.0
        X[24:44, 1] -= 1.5
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.exponential(size=120) + 0.2


@pytest.mark.parametrize("n_classes", [1, 2])
@pytest.mark.parametrize("objective", ["entropy", "robust"])
def test_oracle_scores_of_rows_held_out(objective, n_classes, rng):
    """Each fold refitted by itself with its rows not labelled: mean log density at those rows."""
    X, y, weight = data(rng, n_classes)
    labelled = np.flatnonzero(~np.isnan(y))
    pairs = [(labelled, labelled[at::3]) for at in range(3)]
    settings = {"features": "lh", "knots": 5, "classes": [0, 1, 2], "objective": objective}
    widths = [0.5, 2.0, 1.0]
    model = MaxentClassifier(**settings, width_scale="auto", width_scales=widths, cv=pairs)
    found = model.fit(X, y, weight).selection_
    assert found.widths.tolist() == [2.0, 1.0, 0.5]
    wanted = np.empty((3, 3))
    for at, (_, test) in enumerate(pairs):
        hidden = y.copy()
        hidden[test] = np.nan
        for k, width in enumerate(found.widths):
            alone = MaxentClassifier(**settings, width_scale=width, tol=1e-9).fit(X, hidden, weight)
            ratio = np.log(alone.density_ratio(X[test]))[np.arange(len(test)), y[test].astype(int)]
            wanted[at, k] = np.average(ratio, weights=weight[test])
    held = [weight[test].sum() for _, test in pairs]
    np.testing.assert_allclose(found.weights, held, rtol=1e-12)
    np.testing.assert_allclose(found.scores, wanted, rtol=0, atol=5e-3)  # gap 1e-4 on the path
    mean = np.average(wanted, axis=0, weights=held)
    assert found.width_scale == found.widths[mean.argmax()] == model.width_scale_
    assert found.score == pytest.approx(found.mean.max())
    best = found.scores[:, found.mean.argmax()]
    assert found.error == pytest.approx(np.std(best, ddof=1) / np.sqrt(3))
    # The model itself is the one of that width on all labels.
    alone = MaxentClassifier(**settings, width_scale=found.width_scale).fit(X, y, weight)
    np.testing.assert_allclose(alone.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_one_fold_has_no_error(rng):
    X, y, _ = data(rng)
    model = MaxentClassifier(
        features="l", width_scale="auto", width_scales=[1.0], cv=[(np.arange(8, 24), np.arange(8))]
    ).fit(X, y)
    assert np.isnan(model.selection_.error)
    assert model.width_scale_ == 1.0


def test_invariant_engines_and_progress(rng):
    X, y, weight = data(rng)
    told = []
    models = [
        MaxentClassifier(
            features="lq",
            width_scale="auto",
            width_scales=[2.0, 0.5],
            cv=3,
            engine=engine,
            progress=lambda done, total: told.append((done, total)),
        ).fit(X, y, weight)
        for engine in (None, "threads")
    ]
    assert models[0].selection_.scores.tobytes() == models[1].selection_.scores.tobytes()
    assert told[-1] == (3, 3)
    assert len(told) == 6


def test_widths_whose_boxes_contradict_each_other_are_not_chosen(rng):
    X = rng.normal(size=(80, 1))
    y = (X[:, 0] > 0).astype(float)
    X[:, 0] += 3 * y
    model = MaxentClassifier(
        "robust", features="l", width_scale="auto", width_scales=[30.0, 10.0, 0.001], cv=3
    ).fit(X, y)
    assert np.isnan(model.selection_.scores[:, -1]).any()
    assert np.isnan(model.selection_.mean[-1])
    assert np.isfinite(model.selection_.scores[:, 0]).all()
    assert model.width_scale_ > 1


def test_no_width_leaves_any_class_probabilities(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(float)
    X[:, 0] += 3 * y
    model = MaxentClassifier(
        "robust", features="l", width_scale="auto", width_scales=[0.001, 0.0005]
    )
    with refused("infeasible-boxes", DataError, widths=[0.001, 0.0005]):
        model.fit(X, y)


def test_settings_that_the_folds_need():
    """Widths can be chosen without an estimator."""
    rng = np.random.default_rng(0)
    X, y, weight = data(rng)
    label = np.where(np.isnan(y), np.nan, 0.0)
    settings = FitSettings(
        features="l", knots=5, knots_at="uniform", spread="labelled", max_passes=50
    )
    parts = prepare(
        ArrayRows(X, check=False), label, weight, weight, 1, settings, categorical=[], dtype=float
    )
    folds = held_out(label, 3, weight=weight)
    found = choose_width(parts, [1.0, 3.0], folds, robust=None)
    assert found.widths.tolist() == [3.0, 1.0]


def test_copies_do_not_flatter_the_score_of_left_out_rows(rng):
    """Presences that each stand twice: the gain claimed is that of new presences, not of copies."""
    X = rng.normal(size=(700, 6))
    y = np.where(np.arange(700) < 60, 1.0, np.nan)
    X[:60, 0] += 1.0
    new = rng.normal(size=(3000, 6))
    new[:, 0] += 1.0
    X, y = np.vstack([X, X[:60]]), np.append(y, np.ones(60))
    settings = {"features": "h", "width_scale": "auto", "width_scales": [2.0, 0.5, 0.1]}
    apart = MaxentClassifier(**settings, cv=KFold(5, shuffle=True, random_state=0)).fit(X, y)
    model = MaxentClassifier(**settings).fit(X, y)

    def flattered(model):
        return model.selection_.score - np.log(model.density_ratio(new)).mean()

    assert apart.width_scale_ == 0.1
    assert flattered(apart) > 0.5
    assert model.width_scale_ > 0.1
    assert flattered(model) < 0.15
    assert any("60 of 120 labelled rows repeat another" in one for one in model.report_.warnings)
