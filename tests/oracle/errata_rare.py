"""Errata of paper 001: what do the printed formulas give, and what does the right one give?

    python -m tests.oracle.errata_rare

prints the numbers that docs/errata.md quotes. One function for each erratum; it returns a dict of
numbers. The printed side is typed in as printed and uses nothing of the package: the tests hold the
package against the right side. A link's tail is u = (1 + shape * score)^(-1/shape), probability
exp(-u).
"""

import mpmath
import numpy as np
from scipy.integrate import quad

SHAPES = np.append(np.arange(-10, 16) / 10, -0.2567)  # the grid of 001 section 4


def rare_rows(n=400, seed=1):
    """Rows of a rare class with heavy-tailed columns, an intercept column last."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n, 2))
    y = (rng.random(n) < 1 / (1 + np.exp(2.5 - 1.2 * X[:, 0]))).astype(float)
    return np.column_stack([X, np.ones(n)]), y


def tail_of(shape, score):
    """Return u of scores, clipped to the support as the paper clips them."""
    if shape == 0:
        return np.exp(-score)
    with np.errstate(divide="ignore"):
        return np.maximum(1 + shape * score, 0.0) ** (-1 / shape)


# --- section 3.1: the loss ------------------------------------------------------------------------


def equation_3():
    """The loss of a positive at probability 1/2, integrated up to 1 - 1e-4, 1e-8, 1e-12.

    printed: integral of (1 - q) / (q (-ln q)^(1 + shape)) dq from the probability to 1, which is
    that of (1 - exp(-s)) s^(-1 - shape) ds from 0 to u = -ln(probability).
    """

    def cut(shape, end):
        """Integral from u = end on; the variable is ln u, so that no digit is lost near 0."""
        found, _ = quad(
            lambda x: -np.expm1(-np.exp(x)) * np.exp(-shape * x),
            np.log(end),
            np.log(np.log(2)),
            epsabs=0,
            epsrel=1e-10,
            limit=500,
        )
        return found

    def values(shape):
        return np.array([cut(shape, end) for end in (1e-4, 1e-8, 1e-12)])

    grown = np.array([values(shape) for shape in SHAPES])
    ratio = (grown[:, 2] - grown[:, 1]) / (grown[:, 1] - grown[:, 0])
    return {
        "at_0.5": values(0.5),
        "at_1": values(1.0),
        "at_1.5": values(1.5),
        "infinite_shapes": int((ratio > 0.99).sum()),  # further pieces do not shrink
        "shapes": len(SHAPES),
    }


def partial_losses(shape, prob):
    """Equations 3 and 4 at a probability, by quadrature in 30 digits; eq 3 only for shape < 1."""
    with mpmath.workdps(30):
        u, order = -mpmath.log(mpmath.mpf(prob)), mpmath.mpf(shape)
        negative = mpmath.quad(
            lambda s: mpmath.exp(-s) * s ** (-1 - order), [u, 2 * u, 10 + u, mpmath.inf]
        )
        if shape >= 1:
            return mpmath.inf, negative
        power = 1 / (1 - order)  # s = t^power takes the root at 0 away
        positive = mpmath.quad(
            lambda t: power * -mpmath.expm1(-(t**power)) / t**power, [0, u ** (1 - order)]
        )
        return positive, negative


def closed_form():
    """Greatest relative distance of eq 4, by quadrature, from Gamma(-shape, u)."""
    far = 0.0
    for shape in (-1.0, -0.5, 0.0, 0.3, 1.0, 1.5):
        for prob in (0.01, 0.3, 0.9):
            _, negative = partial_losses(shape, prob)
            with mpmath.workdps(30):
                closed = mpmath.gammainc(-mpmath.mpf(shape), -mpmath.log(mpmath.mpf(prob)))
                far = max(far, abs(float(negative / closed - 1)))
    return {"apart": far}


def table_1():
    """The logistic loss of a positive and of a negative at score 1, as printed and right."""
    y, score = np.array([1.0, -1.0]), 1.0
    with np.errstate(invalid="ignore"):
        printed = np.log(1 - np.exp(-y * score))
    return {"printed": printed, "right": np.log1p(np.exp(-y * score))}


def not_convex_below_0_1():
    """Bend of the log loss of a negative at shape 0.05, which the paper calls convex.

    The least second derivative over probabilities from .5 to .999, in 30 digits.
    """
    with mpmath.workdps(30):
        shape = mpmath.mpf("0.05")

        def loss(score):
            return -mpmath.log(-mpmath.expm1(-((1 + shape * score) ** (-1 / shape))))

        probs = [mpmath.mpf(p) / 1000 for p in range(500, 1000, 7)]
        scores = [((-mpmath.log(p)) ** -shape - 1) / shape for p in probs]
        bends = [float(mpmath.diff(loss, score, 2)) for score in scores]
    at = int(np.argmin(bends))
    return {"bend": bends[at], "prob": float(probs[at]), "below_0": float(probs[first(bends)])}


def first(bends):
    """The first position from which the bend is below 0."""
    return next(at for at, bend in enumerate(bends) if bend < 0)


# --- section 3.2: the algorithm -------------------------------------------------------------------


def algorithm_1(X, y, shape, ridge, *, step=1.0, literal=True, sweeps=300):
    """Algorithm 1 with the ridge of its text; returns the path of coefficients.

    literal: weights and working response as printed. Otherwise W z is formed as
    W v + step (y - prob), which is the same wherever both are numbers.
    """
    prob = np.where(y == 1, 0.75, 0.25)
    score = _forward(shape, prob)
    path = []
    for _ in range(sweeps):
        with np.errstate(all="ignore"):
            u = -np.log(prob)
            weight = prob * u ** (1 + shape)
            if literal:
                right = weight * (score + step * (y - prob) / weight)
            else:
                weight = np.where(np.isfinite(weight), weight, 0.0)
                right = weight * score + step * (y - prob)
        if not (np.isfinite(weight).all() and np.isfinite(right).all()):
            path.append(np.full(X.shape[1], np.nan))
            break
        gram = (X.T * weight) @ X + ridge * np.eye(X.shape[1])
        path.append(np.linalg.solve(gram, X.T @ right))
        score = X @ path[-1]
        prob = np.exp(-tail_of(shape, score))
        if len(path) > 1 and np.abs(path[-1] - path[-2]).max() < 1e-13:
            break
    return np.array(path)


def _forward(shape, prob):
    u = -np.log(prob)
    return -np.log(u) if shape == 0 else (u**-shape - 1) / shape


def literal_steps():
    """For how many of the 27 shapes Algorithm 1, taken at its word, meets 0 times infinity."""
    X, y = rare_rows()
    ends = [algorithm_1(X, y, shape, 1.0)[-1] for shape in SHAPES]
    kept = [algorithm_1(X, y, shape, 1.0, literal=False)[-1] for shape in SHAPES]
    return {
        "broken": int(np.isnan(ends).any(axis=1).sum()),
        "broken_repaired": int((~np.isfinite(kept)).any(axis=1).sum()),
        "shapes": len(SHAPES),
    }


def step_and_ridge():
    """Where Algorithm 1 ends at ridge 4: with step 1, with step 1/2, and step 1 at ridge 8."""
    X, y = rare_rows()
    one, half, double = (
        algorithm_1(X, y, 0.0, ridge, step=step, literal=False)[-1]
        for ridge, step in ((4.0, 1.0), (4.0, 0.5), (8.0, 1.0))
    )
    return {
        "step_1": one,
        "step_half": half,
        "ridge_doubled": double,
        "apart": float(np.abs(half - double).max()),
    }


def one_step_of_each():
    """Distance of one weighted least squares step from one Newton step, and of their matrices."""
    X, y = rare_rows()
    shape, coef = -0.3, np.array([0.2, -0.1, -0.5])
    prob = np.exp(-tail_of(shape, X @ coef))
    weight = prob * (-np.log(prob)) ** (1 + shape)
    hessian = (X.T * weight) @ X
    newton = coef + np.linalg.solve(hessian, X.T @ (y - prob))
    least_squares = np.linalg.solve(hessian, X.T @ (weight * (X @ coef) + y - prob))
    return {"apart": float(np.abs(newton - least_squares).max())}


def leaving_the_set():
    """Iterates of Algorithm 1 that leave C_xi, at shape 1 with one positive far below the others.

    `share` of positives, and the mean probability where the algorithm ends.
    """
    X, y = outlier_rows()
    path = algorithm_1(X, y, 1.0, 1e-9, literal=False)
    room = 1 + path @ X[y == 1].T  # C_xi: not below 0 for any positive
    prob = np.exp(-tail_of(1.0, X @ path[-1]))
    return {
        "outside": int((room.min(axis=1) < 0).sum()),
        "iterates": len(path),
        "share": float(y.mean()),
        "mean": float(prob.mean()),
    }


def outlier_rows():
    """Rows that one column explains, and one positive where nobody expects it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(3 - 2 * x))).astype(float)
    x[0], y[0] = -4.0, 1.0
    return np.column_stack([x, np.ones(200)]), y


ERRATA = (
    equation_3,
    closed_form,
    table_1,
    not_convex_below_0_1,
    literal_steps,
    step_and_ridge,
    one_step_of_each,
    leaving_the_set,
)


def main():
    """Print every number, under the first line of what it is about."""
    for erratum in ERRATA:
        print(f"{erratum.__name__}: {erratum.__doc__.splitlines()[0]}")
        for name, value in erratum().items():
            print(f"    {name:22} {value}")


if __name__ == "__main__":
    main()
