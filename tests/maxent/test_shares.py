"""Classes and their shares: what users may say, eq 5 of 000, and shares within bounds."""

import mpmath
import numpy as np
import pytest

from scarce.errors import Argument, DataError, UsageError
from scarce.maxent.shares import (
    bounds_of,
    entropy_shares,
    settle_classes,
    shares_of,
    within_bounds,
)
from tests.oracle.interior import entropy, minimise_inside
from tests.problems import refused

TWO, THREE = np.array([0, 1]), np.array(["a", "b", "c"])


@pytest.mark.parametrize(
    ("label", "other"),
    [
        (1.0, 0.0),
        (7, 0),
        (0.0, -1.0),
        (0, -1),
        (-1, -2),
        (np.True_, np.False_),
        ("owl", "(not owl)"),
        ("$", ""),
    ],
)
def test_the_class_that_nobody_labelled(label, other):
    found = np.array([label], dtype=object if isinstance(label, str) else None)
    classes, own = settle_classes(found, np.array([True]), None)
    assert classes.tolist() == [other, label]
    assert own.tolist() == [1]
    assert classes.dtype.kind == found.dtype.kind
    assert classes.tolist() == sorted(classes.tolist())  # scikit-learn's scorers rely on it


def test_the_name_of_the_other_class_is_not_cut():
    classes, _ = settle_classes(np.array(["owl"]), np.array([True]), None)
    assert classes.tolist() == ["(not owl)", "owl"]


def test_false_alone_cannot_be_the_last_class():
    with refused("labelled-class-false", DataError):
        settle_classes(np.array([False]), np.array([True]), None)


def test_unsigned_labels_get_a_negative_neighbour():
    classes, _ = settle_classes(np.array([0], dtype=np.uint8), np.array([True]), None)
    assert classes.tolist() == [-1, 0]


def test_classes_that_are_found_stay():
    labelled = np.array([True, False, True])
    classes, own = settle_classes(THREE, labelled, None)
    assert classes.tolist() == ["a", "b", "c"]
    assert own.tolist() == [0, 2]


def test_classes_that_are_named():
    classes, own = settle_classes(np.array(["b", "c"]), np.array([True, False]), ["c", "a", "b"])
    assert classes.tolist() == ["a", "b", "c"]
    assert own.tolist() == [1]
    assert own.dtype == np.intp
    with refused("unknown-class", DataError, label="c", argument=Argument("classes", ["a", "b"])):
        settle_classes(THREE, np.ones(3, dtype=bool), ["a", "b"])
    for wrong in (["a"], ["a", "a", "b"]):
        with refused("class-list", UsageError, value=wrong):
            settle_classes(np.array(["a"]), np.array([True]), wrong)


def test_shares_from_a_number_or_a_dict():
    assert shares_of("d", 0.1, TWO).tolist() == [0.9, 0.1]
    assert shares_of("d", np.float32(0.25), TWO).tolist() == [0.75, 0.25]
    assert shares_of("d", 0.5, THREE).tolist() == pytest.approx([1 / 3] * 3)
    assert shares_of("d", {"c": 0.5}, THREE).tolist() == pytest.approx([0.25, 0.25, 0.5])
    assert shares_of("d", {0: 0.2, 1: 0.8}, TWO).tolist() == pytest.approx([0.2, 0.8])


@pytest.mark.parametrize(
    "given", [0, 1, -0.1, 1.5, {0: 0.4, 1: 0.4}, {1: 1.0}, {1: 0.0}, float("nan")]
)
def test_numbers_that_are_no_shares(given):
    with refused("base-rate-range", UsageError, argument="d"):
        shares_of("d", given, TWO)


def test_shares_that_do_not_say_enough():
    with refused("base-rate-shape", UsageError, n_classes=3, argument=Argument("d", 0.1)):
        shares_of("d", 0.1, THREE)
    with refused("unknown-class", UsageError, label="z", classes=["a", "b", "c"]):
        shares_of("d", {"z": 0.1}, THREE)


def test_bounds_from_what_users_say():
    assert bounds_of(None, None, TWO) is None
    assert bounds_of(None, (0.1, 0.3), TWO).tolist() == [[0, 1], [0.1, 0.3]]
    assert bounds_of(0.2, None, TWO).tolist() == [[0.8, 0.8], [0.2, 0.2]]
    assert bounds_of({"a": 0.2}, None, THREE).tolist() == [[0.2, 0.2], [0, 1], [0, 1]]
    found = bounds_of({"a": 0.2, "b": 0.3}, None, THREE)
    assert found.ravel().tolist() == pytest.approx([0.2, 0.2, 0.3, 0.3, 0.5, 0.5])
    found = bounds_of(None, {"a": (0, 0.2), "c": [0.1, 0.1]}, THREE)
    assert found.tolist() == [[0, 0.2], [0, 1], [0.1, 0.1]]


@pytest.mark.parametrize(
    ("prevalence", "bounds", "classes", "code"),
    [
        (0.2, (0.1, 0.3), TWO, "argument-conflict"),
        (None, (0.3, 0.1), TWO, "base-rate-bounds"),
        (None, (0.1, 1.1), TWO, "base-rate-bounds"),
        (None, (-0.1, 0.1), TWO, "base-rate-bounds"),
        (None, {}, TWO, "base-rate-bounds"),
        (None, (0.1, 0.2, 0.3), TWO, "base-rate-bounds"),
        (None, {2: (0, 1)}, TWO, "unknown-class"),
        ({"a": 1.5}, None, THREE, "base-rate-range"),
        ({"z": 0.5}, None, THREE, "unknown-class"),
        (0.2, None, THREE, "base-rate-shape"),
        (None, {0: (0.7, 0.8), 1: (0.4, 1)}, TWO, "base-rate-bounds"),
        (None, {0: (0, 0.3), 1: (0, 0.4)}, TWO, "base-rate-bounds"),
    ],
)
def test_bounds_that_cannot_be(prevalence, bounds, classes, code):
    with refused(code, UsageError):
        bounds_of(prevalence, bounds, classes)


def test_oracle_entropy_shares(rng):
    """000 eq 5 in 50 digits, at divergences that a float's exponential does not reach."""
    for scale in (1.0, 100.0, 600.0):
        default = rng.dirichlet(np.ones(4))
        divergence = rng.exponential(size=4) * scale
        with mpmath.workdps(50):
            weight = [
                mpmath.mpf(float(d)) * mpmath.exp(-mpmath.mpf(float(e)))
                for d, e in zip(default, divergence, strict=True)
            ]
            wanted = [float(w / mpmath.fsum(weight)) for w in weight]
        np.testing.assert_allclose(entropy_shares(default, divergence), wanted, rtol=1e-11)
    assert entropy_shares(np.array([0.5, 0.5]), np.array([0.0, 5000.0])).tolist() == [1.0, 0.0]


def test_oracle_within_bounds(rng):
    """The nearest shares by an interior point, on random bounds that leave room."""
    for _ in range(40):
        n = int(rng.integers(2, 6))
        shares, inside = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
        low = inside * rng.random(n)
        high = inside + (1 - inside) * rng.random(n)
        found = within_bounds(shares, np.column_stack([low, high]))
        assert found.sum() == pytest.approx(1.0, abs=1e-14)
        assert ((found >= low) & (found <= high)).all()

        divergence = entropy(np.ones(n), shares)
        answer = minimise_inside(
            divergence,
            inside,
            np.vstack([np.eye(n), -np.eye(n)]),
            np.concatenate([low, -high]),
            np.ones((1, n)),
            [1.0],
            tol=1e-12,
        )
        assert divergence(found)[0] <= answer.value + 1e-9
        np.testing.assert_allclose(found, answer.x, atol=1e-5)


def test_within_bounds_at_the_ends():
    shares = np.array([0.9, 0.1])
    assert within_bounds(shares, None) is shares
    same = within_bounds(shares, np.array([[0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(same, shares, rtol=1e-14)
    known = within_bounds(shares, np.array([[0.7, 0.7], [0.3, 0.3]]))
    assert known.tolist() == [0.7, 0.3]
    tight = within_bounds(np.array([0.2, 0.3, 0.5]), np.array([[0.5, 1.0], [0, 1], [0, 1]]))
    np.testing.assert_allclose(tight, [0.5, 0.5 * 3 / 8, 0.5 * 5 / 8], rtol=1e-12)
    rare = within_bounds(np.array([1 - 1e-200, 1e-200]), np.array([[0.0, 1.0], [0.1, 0.2]]))
    np.testing.assert_allclose(rare, [0.9, 0.1], rtol=1e-12)


@pytest.mark.parametrize("tiny", [1e-250, 1e-320, 0.0])
def test_shares_that_underflow_still_meet_their_bounds(tiny):
    found = within_bounds(np.array([1.0 - tiny, tiny]), np.array([[0.0, 0.5], [0.0, 1.0]]))
    np.testing.assert_allclose(found, [0.5, 0.5], rtol=1e-9)
    found = within_bounds(np.array([1.0 - tiny, tiny]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(found, [1.0, tiny], rtol=0, atol=1e-15)
