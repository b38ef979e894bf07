"""Slow plain versions of what the solvers do, and the data that their tests share."""

import numpy as np
from scipy.special import expit

from scarce.linear.losses import loss_of

EVERY_CONVEX = [
    ("logistic", None),
    ("probit", None),
    ("cloglog", None),
    ("loglog", None),
    ("gev-log", -0.5),
    ("gev-canonical", -1.0),
    ("gev-canonical", -0.4),
    ("gev-canonical", 0.0),
    ("gev-canonical", 0.5),
    ("gev-canonical", 1.0),
    ("gev-canonical", 1.5),
]


def rare(seed=0, n=400, k=3, shift=-2.0, scale=1.0):
    """Draw rows with a rare class that no direction separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    effect = np.resize([1.0, -0.5, 0.0, 0.7], k) / max(1.0, k / 4)
    y = (rng.random(n) < expit(shift + X @ effect)).astype(float)
    return X * scale, y


def design_of(X):
    """Return the columns with the intercept's last."""
    return np.column_stack([X, np.ones(len(X))])


def objective(coef, X, y, loss, penalty, weight=1.0, offset=0.0):
    """Total loss plus penalty, as it is written down; infinite where a row is ruled out."""
    score = design_of(X) @ coef + offset
    with np.errstate(all="ignore"):
        value = np.sum(weight * loss.value(y, score)) + 0.5 * np.sum(penalty * coef**2)
    return value if np.isfinite(value) else np.inf


def gradient(coef, X, y, loss, penalty, weight=1.0, offset=0.0):
    """Gradient of `objective`."""
    design = design_of(X)
    return design.T @ (weight * loss.slope(y, design @ coef + offset)) + penalty * coef


def hessian(coef, X, y, loss, penalty, weight=1.0, offset=0.0):
    """Matrix of second derivatives of `objective`."""
    design = design_of(X)
    curvature = weight * loss.curvature(y, design @ coef + offset)
    return design.T @ (design * curvature[:, None]) + np.diag(penalty)


def fit(X, y, loss, penalty, weight=1.0, offset=0.0, start=None):
    """Minimise a convex objective by plain damped Newton steps on the whole matrix.

    The Hessian is scaled to a unit diagonal before it is solved, for columns in wild units.
    """
    args = (X, y, loss, penalty, weight, offset)
    coef = np.zeros(X.shape[1] + 1) if start is None else np.array(start)
    if start is None:
        coef[-1] = loss.link.forward(np.array([np.average(y, weights=weight + 0 * y)]))[0]
    for _ in range(200):
        slope, bend = gradient(coef, *args), hessian(coef, *args)
        size = np.sqrt(np.maximum(np.diag(bend), 1e-300))
        step = -np.linalg.lstsq(bend / np.outer(size, size), slope / size, rcond=1e-13)[0] / size
        share, value = 1.0, objective(coef, *args)
        while objective(coef + share * step, *args) > value + 1e-12 * abs(value):
            share *= 0.5
        coef = coef + share * step
        if np.abs(step * size).max() < 1e-11 * (1 + np.abs(coef * size).max()):
            break
    return coef


def standardised_gradient(coef, X, y, loss, penalty, weight=1.0, offset=0.0):
    """Largest entry of the gradient per unit of weight where columns have mean 0 and spread 1.

    The mean is taken off beside an intercept that is free and not penalised.
    """
    weight = weight + 0.0 * y
    mean = np.average(X, axis=0, weights=weight)
    std = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    centre = mean if penalty[-1] == 0 else 0.0
    own = np.where(std > 0, std, 1.0)
    score = (X - mean) @ coef[:-1] + (coef[-1] + mean @ coef[:-1]) + offset
    slope = weight * loss.slope(y, score)
    parts = ((X - centre) / own).T @ slope
    parts += (penalty * coef)[:-1] / own
    last = slope.sum() + penalty[-1] * coef[-1]
    return max(np.abs(parts[std > 0]).max(initial=0.0), abs(last)) / weight.sum()


def all_losses():
    """Return (name, loss) of every convex loss that is tested."""
    return [
        (f"{name} {shape}" if shape is not None else name, loss_of(name, shape))
        for name, shape in EVERY_CONVEX
    ]
