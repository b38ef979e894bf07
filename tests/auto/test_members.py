"""Members of the stack: left-out probabilities, ranks, fits that are shared."""

import numpy as np
import pytest

from scarce.auto.members import (
    DEFAULT,
    MANY_EVENTS,
    MEMBERS,
    Sample,
    fit_member,
    fits_needed,
    usable,
)
from scarce.auto.ranks import Ranks
from tests.auto.test_classifier import curved


@pytest.mark.parametrize("member", MEMBERS)
def test_left_out_probabilities_have_not_seen_their_row(member):
    """Only which setting is chosen may depend on the labels of the fold that is left out."""
    if member not in usable():
        pytest.skip(f"{member} is not installed")
    X, y, _ = curved(240)
    folds = np.arange(240) % 4
    changed = y.astype(float).copy()
    changed[folds == 1] = 1 - changed[folds == 1]
    seen = fit_member(member, Sample(X, y.astype(float), None, folds, 0))
    other = fit_member(member, Sample(X, changed, None, folds, 0))
    if seen.chosen == other.chosen:
        np.testing.assert_allclose(
            seen.whole.left_out[folds == 1], other.whole.left_out[folds == 1], atol=1e-9
        )
    assert np.abs(seen.whole.left_out[folds != 1] - other.whole.left_out[folds != 1]).max() > 1e-3
    # The trial without fold 1 has seen nothing of its labels, choices included.
    np.testing.assert_array_equal(seen.trials[1].judged, other.trials[1].judged)
    np.testing.assert_array_equal(seen.trials[1].left_out, other.trials[1].left_out)


def test_the_models_that_predict_are_those_that_were_judged():
    X, y, _ = curved(240)
    sample = Sample(X, y * 1.0, None, np.arange(240) % 4, 0)
    for name in usable():
        member = fit_member(name, sample)
        for fold, model in enumerate(member.models):
            out = sample.folds == fold
            np.testing.assert_allclose(
                model.predict_proba(X[out])[:, 1], member.whole.left_out[out], rtol=1e-9
            )


def test_in_large_tables_the_fits_without_one_fold_are_judged_as_they_are():
    """A third of the fits; what predicts is the same, and each row is judged by its own fold's."""
    X, y, _ = curved(3200)
    sample = Sample(X, y * 1.0, None, np.arange(3200) % 5, 0)
    assert y.sum() >= MANY_EVENTS
    assert not sample.nested
    assert fits_needed(sample) == 5
    few = Sample(X, (np.cumsum(y) < MANY_EVENTS) * y * 1.0, None, sample.folds, 0)
    assert few.nested
    assert sample._replace(X=X[:2990], y=sample.y[:2990], folds=sample.folds[:2990]).nested
    member = fit_member("logit", sample)
    for part, trial in zip(sample.parts(), member.trials, strict=True):
        out = sample.inside(part)
        np.testing.assert_array_equal(trial.judged[0], member.whole.left_out[out])
        assert len(trial.judged) == 1


def test_fits_are_shared_and_many_folds_are_judged_in_five_parts():
    few = Sample(np.zeros((60, 1)), np.zeros(60), None, np.arange(60) % 5, 0)
    assert fits_needed(few) == 5 + 10
    many = few._replace(folds=np.arange(60) % 12)
    assert sorted(many.parts()[0]) == [0, 5, 10]
    assert fits_needed(many) == 12 + 5 * 12 - 12


def test_ranks_turn_into_values_between_those_of_the_fit():
    X = np.array([[1.0, 5.0], [2.0, np.nan], [4.0, 5.0], [2.0, 5.0]])
    ranks = Ranks(X)
    np.testing.assert_array_equal(ranks.coded(X), [[1, 1], [2, 1], [3, 1], [2, 1]])
    thresholds = ranks.value(np.array([1.5, 2.25, 0.5, 3.0, np.inf]), np.zeros(5, dtype=int))
    assert thresholds[:2].tolist() == [1.5, 2.5]
    assert thresholds[2] < -1e300
    assert (thresholds[3:] > 1e300).all()
    near = Ranks(np.array([[1.0], [np.nextafter(1.0, 2)]]))
    assert near.value(np.array([1.9]), np.zeros(1, dtype=int)) == 1.0
    huge = Ranks(np.array([[-1.5e308], [1.5e308]]))
    assert huge.value(np.array([1.5]), np.zeros(1, dtype=int)) == 0.0


def test_members_are_known_by_name():
    assert list(MEMBERS) == [
        "logit",
        "spline",
        "boosting",
        "forest",
        "extra-trees",
        "kernel",
        "gaussian",
        "catboost",
        "lightgbm",
    ]
    assert list(DEFAULT) == list(MEMBERS)[:6]
