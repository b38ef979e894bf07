"""Left-out rows: each is predicted once, by a fit that did not see it; the same folds for all."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from scarce import DataError, DataWarning, GaussianBayes, MaxentClassifier, UsageError, open_rows
from scarce.engine.memory import ArrayRows
from scarce.evaluation.left_out import folds_of, left_out


def deal_folds(y, n_folds, **more):
    """Folds of rows that are all different."""
    rows = open_rows(np.random.default_rng(5).normal(size=(len(y), 2)), label=np.asarray(y))
    return folds_of(rows, n_folds, **more).folds


@pytest.fixture
def data(rng):
    y = np.repeat([0, 1], [160, 40])
    return rng.normal(size=(200, 2)) + y[:, None], y


def test_folds_hold_each_class_alike_and_repeat():
    y = np.repeat([0, 1, 2], [50, 20, 5])
    folds = deal_folds(y, 5, random_state=3)
    assert np.bincount(folds).tolist() == [15] * 5
    for k, each in ((0, 10), (1, 4), (2, 1)):
        assert np.bincount(folds[y == k]).tolist() == [each] * 5
    assert (deal_folds(y, 5, random_state=3) == folds).all()
    assert (deal_folds(y, 5, random_state=4) != folds).any()


def test_groups_stay_together(rng):
    groups = np.repeat(np.arange(40), 5)
    y = (rng.random(200) < 0.3).astype(int)
    folds = deal_folds(y, 4, groups=groups)
    assert (folds.reshape(40, 5) == folds[::5, None]).all()
    assert set(folds) == {0, 1, 2, 3}


def test_oracle_scikit_learn_fold_by_fold(data):
    X, y = data
    folds = deal_folds(y, 5)
    found = left_out({"bayes": (GaussianBayes().fit, open_rows(X, label=y))}, folds)
    for fold in range(5):
        out = folds == fold
        theirs = GaussianNB().fit(X[~out], y[~out]).predict_proba(X[out])
        np.testing.assert_allclose(found["bayes"][out], theirs, rtol=1e-6)
        np.testing.assert_allclose(found["constant"][out, 1], y[~out].mean())


class Memory:
    """A model that knows which rows it has seen, and says so as a probability."""

    def __init__(self, rows):
        self.seen = {tuple(x) for block in rows.blocks() for x in block.X}
        self.weight = rows.weights()

    def predict_proba(self, rows):
        seen = [tuple(x) in self.seen for block in rows.blocks() for x in block.X]
        return np.column_stack([1.0 - np.array(seen), seen])


def test_no_fit_sees_the_row_that_it_is_asked_about(data):
    X, y = data
    found = left_out({"memory": (Memory, open_rows(X, label=y))}, deal_folds(y, 4))
    assert (found["memory"][:, 1] == 0).all()


@pytest.mark.parametrize("times", [1, 2, 5])
def test_no_fit_sees_a_copy_of_the_row_that_it_is_asked_about(data, times):
    X, y = data
    rows = open_rows(np.tile(X, (times, 1)), label=np.tile(y, times))
    dealt = folds_of(rows, 4)
    assert dealt.groups.copies == 200 * (times - 1)
    found = left_out({"memory": (Memory, rows)}, dealt.folds)
    assert (found["memory"][:, 1] == 0).all()


class Grouped:
    """A model that knows which groups it was given."""

    def __init__(self, rows, groups):
        assert len(groups) == len(rows)
        self.seen = set(groups)

    def predict_proba(self, rows):
        return np.full((len(rows), 2), 0.5)


def test_fits_are_told_the_groups_of_their_rows(data):
    X, _ = data
    groups, seen = np.arange(200) // 4, []

    def fit(rows, groups):
        model = Grouped(rows, groups)
        seen.append(model.seen)
        return model

    rows = open_rows(X, label=np.arange(200) % 2)
    dealt = folds_of(rows, 5, groups=groups)
    left_out({"grouped": (fit, rows)}, dealt.folds, groups=groups)
    assert [len(one) for one in seen] == [40] * 5
    assert set().union(*seen) == set(groups)


def test_rows_of_weight_0_change_no_fold(data):
    X, y = data
    weight = np.ones(200)
    weight[::7] = 0
    whole = folds_of(open_rows(X, label=y, weight=weight), 5).folds
    part = folds_of(open_rows(X[weight > 0], label=y[weight > 0]), 5).folds
    assert (whole[weight > 0] == part).all()


def test_fits_that_did_not_converge_are_said(data):
    X, y = data
    rows = open_rows(X, label=y)
    model = MaxentClassifier(max_passes=1, default_prevalence=0.2)
    with pytest.warns(DataWarning, match=r"maxent: 5 of 5 fits did not converge"):
        left_out({"maxent": (model.fit, rows)}, folds_of(rows, 5).folds)


def test_unlabelled_rows_take_no_part_and_weights_do(data):
    X, y = data
    part = np.append(y.astype(float), [np.nan, np.nan])
    rows = open_rows(np.vstack([X, X[:2] + 9]), label=part, weight=np.append(1.0 + y, [5.0, 5.0]))
    folds = deal_folds(y, 5)
    found = left_out({"bayes": (GaussianBayes().fit, rows)}, folds)
    weighted = ArrayRows(X[folds != 0], y[folds != 0], weight=1.0 + y[folds != 0], classes=(0, 1))
    np.testing.assert_allclose(
        found["bayes"][folds == 0],
        GaussianBayes().fit(weighted).predict_proba(ArrayRows(X[folds == 0])),
    )
    assert found["constant"][0, 1] == pytest.approx(2 * 32 / (2 * 32 + 128))


def test_engines_and_progress_give_the_same(data):
    X, y = data
    fits = {"bayes": (GaussianBayes().fit, open_rows(X, label=y))}
    told = []
    one = left_out(fits, deal_folds(y, 5), progress=lambda done, total: told.append((done, total)))
    many = left_out(fits, deal_folds(y, 5), engine="threads")
    assert (one["bayes"] == many["bayes"]).all()
    assert told[-1] == (5, 5)


def test_what_cannot_be_dealt_is_said(data):
    X, y = data
    with pytest.raises(DataError, match=r"are of one class"):
        deal_folds(np.zeros(10), 5)
    with pytest.raises(DataError, match=r"rarest class has 3 rows.*fewer folds"):
        deal_folds([0] * 20 + [1] * 3, 5)
    with pytest.raises(UsageError, match=r"n_folds=1"):
        deal_folds(y, 1)
    with pytest.raises(DataError, match=r"stand in 2 of 2 groups.*5 folds"):
        deal_folds(y, 5, groups=np.arange(200) % 2)
    with pytest.raises(DataError, match=r"stand in 1 of 160 groups.*2 folds"):
        deal_folds(y, 2, groups=np.where(y == 1, 0, np.arange(200)))
    with pytest.raises(UsageError, match=r"no model to compare"):
        left_out({}, deal_folds(y, 5))
    with pytest.raises(UsageError, match=r"folds are given for 10"):
        left_out({"bayes": (GaussianBayes().fit, open_rows(X, label=y))}, np.zeros(10, np.intp))


def test_folds_of_groups_are_dealt_by_the_seed():
    y, groups = np.arange(200) % 2, np.arange(200) // 5
    dealt = [deal_folds(y, 4, groups=groups, random_state=seed) for seed in (0, 1, 0)]
    assert (dealt[0] == dealt[2]).all()
    assert (dealt[0] != dealt[1]).any()
