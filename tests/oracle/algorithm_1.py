"""Algorithm 1 of paper 004, step by step, with its sums kept in log space.

    coef_j <- coef_j - (first derivative) / (second derivative) of Z, once per sign   (004 eq 14-16)

Weights exp(tilt - max tilt) take the place of exp(tilt), which overflows: the factor cancels in the
ratio of the two derivatives. Everything else is as printed: both signs step from the current coef_j
with weights of the current |coef_j|, no damping, and a stop when the coefficients move by less than
1e-12 in total (section 4.1). A background weight other than uniform is our only addition.
"""

import numpy as np
from scipy.special import logsumexp

from tests.oracle.maxent_dense import box_targets


def algorithm_1(F, w, label_weight, half_width, *, tol=1e-12, max_sweeps=5000):
    """Return a dict: objective = log sum w exp(tilt), coef, prob, sweeps, history of objectives."""
    target, weight_seen = box_targets(F, label_weight)
    seen = ~np.isnan(F) & (weight_seen > 0)
    deviation = np.where(seen, F - np.where(weight_seen > 0, target, 0.0), 0.0)
    slack = np.where(seen, half_width, 0.0)  # beta_j o_j(x)
    coef = np.zeros(F.shape[1])  # line 1
    tilt = np.zeros(len(F))
    history = []
    for _ in range(max_sweeps):  # line 2
        moved = 0.0
        for j in np.flatnonzero(weight_seen > 0):  # line 3; never seen labelled: no constraint
            u = np.exp(tilt - tilt.max()) * w
            stepped = {}
            for sign in (1.0, -1.0):  # lines 4 and 5
                slope = deviation[:, j] + sign * slack[:, j]
                curvature = u @ slope**2
                stepped[sign] = coef[j] - (u @ slope) / curvature if curvature > 0 else 0.0
            if stepped[1.0] > 0:  # lines 6 to 12
                new = stepped[1.0]
            elif stepped[-1.0] < 0:
                new = stepped[-1.0]
            else:
                new = 0.0
            tilt = tilt + (new - coef[j]) * deviation[:, j]
            tilt = tilt + (abs(new) - abs(coef[j])) * slack[:, j]
            moved += abs(new - coef[j])
            coef[j] = new
        tilt = deviation @ coef + slack @ np.abs(coef)  # afresh: no rounding from sweep to sweep
        history.append(float(logsumexp(tilt, b=w)))
        if moved < tol:  # line 14
            break
    prob = w * np.exp(tilt - history[-1])  # line 15
    return {
        "objective": history[-1],
        "coef": coef,
        "prob": prob,
        "sweeps": len(history),
        "history": history,
    }
