"""What every family of features owes a feature map: one list, run on each of them.

    from tests.properties.family_properties import check_family

    def test_mine(rng):
        check_family(MyFamily(), axis, x, matrix)

`matrix` holds the features of the values `x` as columns, made in another way (NaN where x is
missing); leave it out for the properties that need no witness.
"""

import numpy as np

EXACT = 1e-12


def near(found, wanted, size, what):
    """Equal to rounding of numbers of that size."""
    apart = np.abs(np.asarray(found) - np.asarray(wanted)).max(initial=0.0)
    assert apart <= EXACT * size, f"{what}: {apart:.3g} apart, allowed {EXACT * size:.3g}"


def cell_sums(axis, x, weight):
    """Sums of weight, weight * rest and weight * rest^2 in each segment, one value at a time."""
    mass, rest, rest2 = np.zeros((3, axis.n_segments))
    for value, w in zip(x, weight, strict=True):
        code, r = (one[0] for one in axis.code(np.array([value])))
        if code < axis.n_segments:
            mass[code] += w
            rest[code] += w * r
            rest2[code] += w * r * r
    return mass, rest, rest2


def check_family(family, axis, x, matrix=None):
    """Hold a family against everything that feature maps, boxes and solvers rely on."""
    rng = np.random.default_rng(len(x))
    size, n = family.size(axis), axis.n_segments
    assert len(family.names(axis)) == size > 0
    assert len(family.letter) == 1
    assert family.steplike in (True, False)

    weight = rng.exponential(size=len(x))
    mass, rest, rest2 = cell_sums(axis, x, weight)
    kept = mass.copy(), rest.copy(), rest2.copy()
    value, squares = family.adjoint(axis, mass, rest), family.squares(axis, mass, rest, rest2)
    assert np.shape(value) == np.shape(squares) == (size,)
    coef = rng.normal(size=(3, size))
    coef[0, rng.random(size) < 0.7] = 0.0
    for before, after in zip(kept, (mass, rest, rest2), strict=True):
        np.testing.assert_array_equal(before, after)  # inputs are left as they were

    # Transposes of each other, on sums that no rows need have made.
    for own in coef:
        start, slope = family.forward(axis, own)
        assert np.shape(start) == np.shape(slope) == (n,)
        any_mass, any_rest = rng.normal(size=(2, n))
        left = start @ any_mass + slope @ any_rest
        right = own @ family.adjoint(axis, any_mass, any_rest)
        near(left, right, np.abs(own).sum() * np.abs(any_mass).sum(), "inner products")
    # Linear, and many at once.
    starts, slopes = family.forward(axis, coef)
    for at, own in enumerate(coef):
        start, slope = family.forward(axis, own)
        near(starts[at], start, np.abs(own).sum(), "many at once")
        near(slopes[at], slope, np.abs(own).sum(), "many at once")
    both = family.forward(axis, 2 * coef[0] - 3 * coef[1])
    near(both[0], 2 * starts[0] - 3 * starts[1], 5 * np.abs(coef).sum(), "linear")
    # Features lie in [0, 1], and so do their mean and mean square.
    total = mass.sum()
    assert (value >= -EXACT * total).all()
    assert (value <= (1 + EXACT) * total).all()
    assert (squares <= value + EXACT * total).all()
    assert (squares * total >= value**2 - EXACT * total**2).all()

    if matrix is None:
        return
    seen = ~np.isnan(x)
    codes, rests = axis.code(x)
    np.testing.assert_array_equal(codes < n, seen & ~np.isnan(matrix).any(axis=1))
    here = codes < n
    F, w = matrix[here], weight[here]
    for own in coef:
        start, slope = family.forward(axis, own)
        found = start[codes[here]] + slope[codes[here]] * rests[here]
        near(found, F @ own, np.abs(own).sum(), "forward")
    near(value, F.T @ w, total, "adjoint")
    near(squares, (F**2).T @ w, total, "squares")
