"""A witness for convex problems with linear constraints: does the answer prove itself?

    minimise f(x)  subject to  inside @ x >= least  and  fixed @ x = amount

by a primal-dual interior point method. The answer is accepted by its own optimality conditions and
by nothing else: stationarity of the Lagrangian, feasibility, and the sum of slacks times
multipliers, which bounds the distance of f from its minimum. scipy's SLSQP stops by the progress of
a line search, whose last steps depend on the rounding of the processor. Does not use the package.
"""

from typing import NamedTuple

import numpy as np


class Minimum(NamedTuple):
    """A point that meets the optimality conditions to within `residual`."""

    x: np.ndarray
    value: float
    multipliers: np.ndarray  # of the inequalities
    gap: float  # slacks @ multipliers: f is at most this far above its minimum
    residual: float  # largest violation of stationarity or of a constraint


def minimise_inside(f, x, inside, least, fixed=None, amount=(), *, tol=1e-10):
    """Solve the problem above; f(x) returns value, gradient (n,) and Hessian (n, n).

    Where f is defined only on some side of an inequality, the start must be strictly inside it.
    """
    fixed = np.zeros((0, len(x))) if fixed is None else fixed
    slack = inside @ x - least
    slack = np.where(slack > 0, slack, 1.0)
    multiplier, free = np.full(len(slack), 0.1), np.zeros(len(fixed))
    found = []
    for _ in range(200):
        value, gradient, hessian = f(x)
        slope = gradient - inside.T @ multiplier - fixed.T @ free
        missed, off = inside @ x - least - slack, fixed @ x - amount
        gap = float(slack @ multiplier)
        residual = float(np.abs(np.concatenate([slope, missed, off])).max())
        found.append(Minimum(x, float(value), multiplier, gap, residual))
        if max(gap, residual) <= tol:
            return found[-1]
        # Newton's step towards slack * multiplier = aim; the multipliers' part is eliminated.
        aim = 0.1 * gap / len(slack)
        ratio = multiplier / slack
        pull = multiplier + ratio * missed - aim / slack
        corner = np.zeros((len(fixed),) * 2)
        top = np.hstack([hessian + (inside.T * ratio) @ inside, -fixed.T])
        system = np.vstack([top, np.hstack([fixed, corner])])
        step = np.linalg.solve(system, -np.concatenate([slope + inside.T @ pull, off]))
        dx, dfree = step[: len(x)], step[len(x) :]
        dslack = inside @ dx + missed
        dmultiplier = -pull - ratio * (inside @ dx)
        size = min(_room(slack, dslack), _room(multiplier, dmultiplier))
        x, free = x + size * dx, free + size * dfree
        slack, multiplier = slack + size * dslack, multiplier + size * dmultiplier
    best = min(found, key=lambda one: max(one.gap, one.residual))
    raise AssertionError(f"the witness is no optimum: gap {best.gap}, residual {best.residual}")


def _room(held, step):
    """The largest part of a step, up to 1, that leaves all of `held` positive."""
    falls = step < 0
    return min(1.0, 0.98 * float(np.min(-held[falls] / step[falls], initial=np.inf)))


def entropy(weight, default):
    """f(q) = sum of weight q log(q / default), with its derivatives, for `minimise_inside`."""

    def f(q):
        log = np.log(q / default)
        return weight @ (q * log), weight * (log + 1), np.diag(weight / q)

    return f
