"""Make maxent.json: the convex programmes of papers 000 and 004, solved as they are stated.

    python -m tests.golden.make_maxent > tests/golden/maxent.json        (from the project's folder)

    entropy: min RE(p || w)  subject to  |p[f_j - target_j o_j]| <= half_width_j p[o_j]   (004 eq 7)
    robust:  min sum_x w(x) RE(q(. | x) || default), the same boxes on w(x) q(y | x)    (000 Thm 4)

Needs cvxpy with the solver CLARABEL; the tests read the file and need neither. Targets and half
widths are computed here in a few lines of their own. `accuracy` is the tolerance that the solver
was able to reach; an objective that accurate leaves probabilities open by about its square root.
"""

import json
from importlib.metadata import version

import numpy as np

from tests.oracle.problems import checksum, entropy_problem, robust_problem

N_ENTROPY = 200
ROBUST = [
    *(("one", seed) for seed in range(18)),
    *(("three", seed) for seed in range(16)),
    *(("all", seed) for seed in range(6)),
    *(("empty", seed) for seed in (0, 3, 5)),
]
TOLERANCES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)


def boxes(problem, weight):
    """Yield deviation from the target and half width times seen, (n,) each, column by column."""
    for x in problem.X.T:
        seen = ~np.isnan(x)
        m = weight[seen].sum()
        if m == 0:
            continue
        target = weight[seen] @ x[seen] / m
        by = weight if problem.spread == "labelled" else problem.background_weight
        share = by[seen] / by[seen].sum()
        spread = np.sqrt(share @ (x[seen] - share @ x[seen]) ** 2)
        deviation = np.zeros(len(x))
        deviation[seen] = x[seen] - target
        # In units of the spread: the box is the same, and the solver sees numbers near 1.
        yield deviation / spread, problem.width_scale / np.sqrt(m) * seen


def solve(cp, programme):
    """Solve at the tightest tolerance that the solver reaches; None if there is no solution."""
    for tol in TOLERANCES:
        try:
            programme.solve(
                solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol, max_iter=500
            )
        except cp.SolverError:
            continue
        if programme.status == cp.OPTIMAL:
            return tol
        if programme.status == cp.INFEASIBLE:
            return None
    raise RuntimeError(programme.status)


def entropy_case(cp, seed):
    """RE and p of one problem with one labelled class."""
    problem = entropy_problem(seed)
    w = problem.background_weight
    p = cp.Variable(len(w))
    limits = [cp.sum(p) == 1]
    for deviation, slack in boxes(problem, problem.label_weights()[1]):
        limits += [(deviation + slack) @ p >= 0, (deviation - slack) @ p <= 0]
    programme = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(p, w))), limits)
    accuracy = solve(cp, programme)
    return {
        "seed": seed,
        "checksum": checksum(problem),
        "divergence": round(float(programme.value), 12),
        "prob": p.value.round(9).tolist(),
        "accuracy": accuracy,
    }


def robust_case(cp, kind, seed):
    """Least RE and q(y | x) of one class-robust problem."""
    problem = robust_problem(seed, kind)
    w, n_classes = problem.background_weight, len(problem.default)
    q = cp.Variable((len(w), n_classes))
    limits = [cp.sum(q, axis=1) == 1]
    for y, weight in enumerate(problem.label_weights()):
        for deviation, slack in () if weight is None else boxes(problem, weight):
            joint = cp.multiply(w, q[:, y])
            limits += [(deviation + slack) @ joint >= 0, (deviation - slack) @ joint <= 0]
    against = np.tile(problem.default, (len(w), 1))
    loss = cp.sum(cp.multiply(np.tile(w[:, None], n_classes), cp.rel_entr(q, against)))
    programme = cp.Problem(cp.Minimize(loss), limits)
    accuracy = solve(cp, programme)
    case = {"kind": kind, "seed": seed, "checksum": checksum(problem), "empty": accuracy is None}
    if accuracy is not None:
        case["divergence"] = round(float(programme.value), 12)
        case["prob"] = q.value.round(9).tolist()
        case["accuracy"] = accuracy
    return case


def main():
    """Print the file."""
    import cvxpy as cp

    found = {
        "command": "python -m tests.golden.make_maxent > tests/golden/maxent.json",
        "versions": {name: version(name) for name in ("cvxpy", "clarabel", "numpy")},
    }
    entropy = [json.dumps(entropy_case(cp, seed)) for seed in range(N_ENTROPY)]
    robust = [json.dumps(robust_case(cp, kind, seed)) for kind, seed in ROBUST]
    head = json.dumps(found, indent=1)[:-2]
    print(f'{head},\n "entropy": [\n' + ",\n".join(entropy), end="\n ],\n")
    print(' "robust": [\n' + ",\n".join(robust), end="\n ]\n}\n")


if __name__ == "__main__":
    main()
