"""Maxent the plain way: an explicit matrix, split coefficients, one small dense solver.

    tilt = A z,  z = (up, down) >= 0,  A = [seen*(f - target) + half_width*seen,
                                            seen*(target - f) + half_width*seen]
    entropy: min log sum_x w exp(tilt)           (004 eq 12, 13; nothing missing: 000 Corollary 3)
    robust:  min sum_x w log sum_y default_y exp(tilt_y)                             (000 eq 9, 10)

A witness for the fast fits: slow, short, made of other parts than they are. F is (n, J) with NaN
for missing cells; w sums to 1; a label weight is 0 for rows that are not labelled as the class.
Does not choose boxes: half widths come in as numbers (`half_widths` has the rule of the papers).
"""

from itertools import pairwise

import numpy as np
from scipy.optimize import linprog, minimize, nnls
from scipy.special import logsumexp

# --- boxes ----------------------------------------------------------------------------------------


def box_targets(F, label_weight):
    """Mean of each column over the labelled rows that show it, and their total weight.

    Returns (target, seen): target is NaN and seen 0 where no labelled row shows the column.
    """
    target, seen = np.full(F.shape[1], np.nan), np.zeros(F.shape[1])
    for j, column in enumerate(F.T):
        shown = ~np.isnan(column)
        seen[j] = label_weight[shown].sum()
        if seen[j] > 0:
            target[j] = np.average(column[shown], weights=label_weight[shown])
    return target, seen


def spreads(F, weight):
    """Weighted standard deviation (divided by the sum of weights) of the cells that are seen."""
    found = np.full(F.shape[1], np.nan)
    for j, column in enumerate(F.T):
        shown = ~np.isnan(column) & (weight > 0)
        if shown.any():
            mean = np.average(column[shown], weights=weight[shown])
            found[j] = np.sqrt(np.average((column[shown] - mean) ** 2, weights=weight[shown]))
    return found


def half_widths(F, w, label_weight, width_scale, spread):
    """width_scale * spread / sqrt(labelled weight seen); NaN for columns never seen labelled.

    spread "labelled" is 000 below eq 4, "seen" is 004 section 4.2.
    """
    _, seen = box_targets(F, label_weight)
    spread = spreads(F, label_weight if spread == "labelled" else w)
    return np.where(seen > 0, width_scale * spread / np.sqrt(np.maximum(seen, 1e-300)), np.nan)


# --- fits -----------------------------------------------------------------------------------------


def dense_entropy(F, w, label_weight, half_width):
    """Entropy-weighted maxent of one class, missing cells and all.

    Returns a dict: objective (minus RE(prob || w)), coef (J,), tilt (n,), prob (n,), and the two
    halves of the certificate, gap and violation (see `_solve`).
    """
    A, used = _split_matrix(F, label_weight, half_width)
    log_w = np.log(w)

    def value(z):
        return logsumexp(A @ z + log_w)

    def gradient(z):
        return A.T @ np.exp(A @ z + log_w - value(z))

    def hessian(z):
        p = np.exp(A @ z + log_w - value(z))
        mean = A.T @ p
        return (A.T * p) @ A - np.outer(mean, mean)

    z, certificate = _solve(value, gradient, hessian, A)
    z = _one_sided(z)
    tilt = A @ z
    return {
        "objective": float(value(z)),
        "coef": _coefficients(z, used),
        "tilt": tilt,
        "prob": np.exp(tilt + log_w - value(z)),
        **certificate,
    }


def dense_robust(F, w, label_weights, half_widths, default):
    """Class-robust logistic regression; label_weights[y] and half_widths[y] None: no constraint.

    Returns a dict: objective (minus the least RE), coef (n_classes, J), tilt and prob of shape
    (n, n_classes), where prob is q(y | x), empty (no q meets the boxes: then objective is -inf and
    the rest NaN), gap, violation.
    """
    n_classes = len(default)
    matrices, used = [], []
    for weight, width in zip(label_weights, half_widths, strict=True):
        A, columns = (
            (np.zeros((len(F), 0)), np.zeros(F.shape[1], dtype=bool))
            if weight is None
            else _split_matrix(F, weight, width)
        )
        matrices.append(A)
        used.append(columns)
    ends = np.cumsum([0, *(A.shape[1] for A in matrices)])
    cuts = [slice(a, b) for a, b in pairwise(ends)]
    shape = (n_classes, F.shape[1])
    if _is_empty(matrices, w):
        nothing = {"coef": np.full(shape, np.nan), "gap": np.nan, "violation": np.nan}
        rows = np.full((len(F), n_classes), np.nan)
        return {"objective": -np.inf, "tilt": rows, "prob": rows, "empty": True, **nothing}

    def tilts(z):
        return np.column_stack([A @ z[cut] for A, cut in zip(matrices, cuts, strict=True)])

    def value(z):
        return w @ logsumexp(tilts(z) + np.log(default), axis=1)

    def prob(z):
        joint = tilts(z) + np.log(default)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def gradient(z):
        q = prob(z)
        return np.concatenate([A.T @ (w * q[:, y]) for y, A in enumerate(matrices)])

    def hessian(z):
        q = prob(z)
        H = np.empty((ends[-1], ends[-1]))
        for y, A in enumerate(matrices):
            for k, B in enumerate(matrices):
                weight = w * q[:, y] * ((y == k) - q[:, k])
                H[cuts[y], cuts[k]] = (A.T * weight) @ B
        return H

    z, certificate = _solve(value, gradient, hessian, np.hstack(matrices))
    z = np.concatenate([_one_sided(z[cut]) for cut in cuts])
    coef = [_coefficients(z[cut], u) for cut, u in zip(cuts, used, strict=True)]
    return {
        "objective": float(value(z)),
        "coef": np.array(coef),
        "tilt": tilts(z),
        "prob": prob(z),
        "empty": False,
        **certificate,
    }


def _split_matrix(F, label_weight, half_width):
    """The matrix A, and which columns of F it is made of: those seen in a labelled row."""
    target, weight_seen = box_targets(F, label_weight)
    used = weight_seen > 0
    seen = ~np.isnan(F[:, used])
    deviation = np.where(seen, F[:, used] - target[used], 0.0)
    slack = half_width[used] * seen
    return np.hstack([deviation + slack, -deviation + slack]), used


def _one_sided(z):
    """Take the smaller of up and down from both: lowers every tilt where the column is seen."""
    up, down = np.split(z, 2)
    both = np.minimum(up, down)
    return np.concatenate([up - both, down - both])


def _coefficients(z, used):
    up, down = np.split(z, 2)
    coef = np.zeros(len(used))
    coef[used] = up - down
    return coef


def _is_empty(matrices, w):
    """Whether no q(y | x) meets all boxes: the objective then falls for ever along some ray.

    The slope at infinity along z is sum_x w max_y (A_y z_y)(x): a linear programme over the rays.
    """
    n, n_z = len(w), sum(A.shape[1] for A in matrices)
    rows, start = [], 0
    for A in matrices:  # A_y z_y - t <= 0
        padded = np.zeros((n, n_z))
        scale = np.maximum(np.abs(A).max(axis=0, initial=0.0), 1e-300)
        padded[:, start : start + A.shape[1]] = A / scale
        rows.append(np.hstack([padded, -np.eye(n)]))
        start += A.shape[1]
    found = linprog(
        np.concatenate([np.zeros(n_z), w]),
        A_ub=np.vstack(rows),
        b_ub=np.zeros(len(matrices) * n),
        bounds=[(0, 1)] * n_z + [(None, None)] * n,
        method="highs",
    )
    return found.fun < -1e-8


def _solve(value, gradient, hessian, A, tol=1e-14, max_iter=200):
    """Minimise a smooth convex function over z >= 0: L-BFGS-B, then Newton with exact bounds.

    Each Newton step minimises the damped quadratic model under z >= 0 (a non-negative least-squares
    problem). Columns are brought to a common size first. The certificate, in those units:
    gap = z . gradient, the duality gap of a feasible point; violation = most negative gradient,
    which is by how much a box is missed.
    """
    scale = np.maximum(np.abs(A).max(axis=0, initial=0.0), 1e-300)  # of z: A z = (A/scale)(scale z)
    if A.shape[1] == 0:
        return np.zeros(0), {"gap": 0.0, "violation": 0.0}

    def f(s):
        return value(s / scale)

    def g(s):
        return gradient(s / scale) / scale

    def misfit(s):
        return np.abs(s - np.maximum(s - g(s), 0.0)).max()

    start = np.zeros(A.shape[1])
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 0.0, "gtol": 1e-9}
    bounds = [(0, None)] * len(start)
    s = minimize(f, start, jac=g, method="L-BFGS-B", bounds=bounds, options=options).x
    best, damping = s, 1e-8
    for _ in range(max_iter):
        if misfit(best) <= tol:
            break
        H = hessian(s / scale) / np.outer(scale, scale)
        H = (H + H.T) / 2 + damping * np.eye(len(s))
        root = np.linalg.cholesky(H).T  # H = root' root
        wanted = np.linalg.solve(root.T, H @ s - g(s))
        aim = nnls(root, wanted, maxiter=100 * len(s))[0]
        step = 1.0
        allowed = f(s) + 1e-14 * (1 + abs(f(s)))  # decreases below rounding cannot be seen
        while f(s + step * (aim - s)) > allowed and step > 1e-6:
            step /= 2
        s = s + step * (aim - s)
        damping = max(damping * (0.3 if step == 1 else 4.0), 1e-13)
        if misfit(s) < misfit(best):
            best = s
    slope = g(best)
    certificate = {"gap": float(best @ slope), "violation": float(max(0.0, -slope.min()))}
    return best / scale, certificate


# --- features, one plain matrix per kind ----------------------------------------------------------


def hinge_matrix(x, knots):
    """Forward hinges from knots k_0..k_{S-1}, then reverse hinges at k_1..k_S: (n, 2S).

    forward_i = max(0, x - k_i) / (k_S - k_i);  reverse_i = max(0, k_i - x) / (k_i - k_0).
    """
    first, last = knots[0], knots[-1]
    forward = [np.maximum(0, x - k) / (last - k) for k in knots[:-1]]
    reverse = [np.maximum(0, k - x) / (k - first) for k in knots[1:]]
    return np.column_stack(forward + reverse)


def threshold_matrix(x, knots):
    """1 where x >= k, for the interior knots k_1..k_{S-1}: (n, S - 1)."""
    steps = [(x >= k).astype(float) for k in knots[1:-1]]
    return _holes(np.column_stack(steps) if steps else np.zeros((len(x), 0)), np.isnan(x))


def category_matrix(x, levels=None):
    """1 where x is the level, one column per level (by default those seen): (n, n_levels)."""
    levels = np.unique(x[~np.isnan(x)]) if levels is None else levels
    return _holes(np.column_stack([(x == level).astype(float) for level in levels]), np.isnan(x))


def unit_range(x, low=None, high=None):
    """(x - min) / (max - min), by default with the ends of x itself."""
    low = np.nanmin(x) if low is None else low
    high = np.nanmax(x) if high is None else high
    return (x - low) / (high - low)


def quadratic_matrix(X):
    """Square of each column on its unit range: (n, V)."""
    return np.column_stack([unit_range(x) ** 2 for x in X.T])


def product_matrix(X):
    """Products of each pair of columns on their unit ranges: (n, V (V - 1) / 2), NaN spreads."""
    U = [unit_range(x) for x in X.T]
    pairs = [U[i] * U[j] for i in range(len(U)) for j in range(i + 1, len(U))]
    return np.column_stack(pairs) if pairs else np.zeros((len(X), 0))


def _holes(matrix, missing):
    matrix[missing] = np.nan
    return matrix
