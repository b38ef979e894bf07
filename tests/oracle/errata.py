"""Errata of papers 000 and 004: what do the printed formulas give on a small problem?

    python -m tests.oracle.errata

prints the numbers that docs/errata.md and docs/maths/maxent.md quote. One function for each
erratum; it returns a dict of numbers. All but the last work on one problem, 60 rows with 3
features of which 15 rows are labelled, solved by the plain solvers of maxent_dense.py. Does not use
the package. Errata that need no number (lost signs, an index, a misnamed property) are on the page
alone.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.special import expit, logit, logsumexp
from threadpoolctl import threadpool_limits

from tests.oracle.algorithm_1 import algorithm_1
from tests.oracle.interior import entropy, minimise_inside
from tests.oracle.maxent_dense import box_targets, dense_entropy, dense_robust, half_widths

WIDTH_SCALE = 0.5
DEFAULT = 0.3  # default share of the labelled class


class Rows(NamedTuple):
    """A problem of one labelled class."""

    F: np.ndarray  # (n, J), NaN = missing
    pool: np.ndarray  # (n,), sums to 1
    label: np.ndarray  # (n,), 1 for labelled rows
    target: np.ndarray  # (J,)
    half_width: np.ndarray  # (J,)

    @property
    def seen(self):
        return ~np.isnan(self.F)

    @property
    def deviation(self):
        """Distance of each cell from the labelled mean; 0 where it is missing."""
        return np.where(self.seen, self.F - self.target, 0.0)

    @property
    def slack(self):
        """Half width of the box in each cell that is seen."""
        return self.half_width * self.seen

    def fit(self):
        return dense_entropy(self.F, self.pool, self.label, self.half_width)


def small_problem(missing=0.0, width_scale=WIDTH_SCALE):
    """Labels prefer high values of the first feature; `missing` is the share of missing values."""
    rng = np.random.default_rng(3)
    n, n_labelled = 60, 15
    F = rng.random((n, 3))
    score = 3 * F[:, 0] + rng.gumbel(size=n)
    label = np.zeros(n)
    label[np.argsort(-score)[:n_labelled]] = 1.0
    F[rng.random(F.shape) < missing] = np.nan
    return with_boxes(F, np.full(n, 1 / n), label, width_scale)


def with_boxes(F, pool, label, width_scale=WIDTH_SCALE):
    target, _ = box_targets(F, label)
    return Rows(F, pool, label, target, half_widths(F, pool, label, width_scale, "labelled"))


def divergence(p, pool):
    return float(p @ np.log(p / pool))


# --- the sign of half_width |coef| ----------------------------------------------------------------


def sign_of_the_slack():
    """Fit with plus, by the primal problem, and with minus; 30 % of the cells are missing.

    `place` is where the model's mean lies in the box: -1 at target - half_width and 1 at target +
    half_width if coef > 0, the other way round if coef < 0. `minus_slopes` are those of the
    function with minus left and right of 0, in a coefficient whose box (3 standard errors) the pool
    meets.
    """
    rows = small_problem(missing=0.3)
    plus = rows.fit()
    side = np.sign(plus["coef"])
    minus = _minus_fit(rows, side)
    wide = small_problem(missing=0.3, width_scale=3.0)
    mean, room = wide.pool @ wide.deviation, wide.pool @ wide.slack
    met = int(np.argmin(np.abs(mean) / room))
    return {
        "log_z": plus["objective"],
        "divergence": divergence(plus["prob"], rows.pool),
        "primal_divergence": _primal_divergence(rows),
        "place": _places(rows, plus["prob"], side),
        "minus_divergence": divergence(minus, rows.pool),
        "minus_place": _places(rows, minus, side),
        "minus_slopes": np.array([mean[met] + room[met], mean[met] - room[met]]),
    }


def _minus_fit(rows, side):
    """The stationary point with a minus sign that has the given signs of the coefficients."""
    columns = side * rows.deviation - rows.slack
    log_pool = np.log(rows.pool)

    def value(size):
        return logsumexp(columns @ size + log_pool)

    def gradient(size):
        return columns.T @ np.exp(columns @ size + log_pool - value(size))

    bounds, options = [(0, None)] * len(side), {"ftol": 0.0, "gtol": 1e-10}
    start = np.ones(len(side))
    size = minimize(value, start, jac=gradient, bounds=bounds, options=options).x
    return np.exp(columns @ size + log_pool - value(size))


def _primal_divergence(rows):
    """The least divergence within the boxes (004 eq 7), over the probabilities themselves."""
    n = len(rows.pool)
    boxes = np.hstack([rows.slack - rows.deviation, rows.slack + rows.deviation])
    found = minimise_inside(
        entropy(np.ones(n), rows.pool),
        rows.pool,
        np.vstack([boxes.T, np.eye(n)]),
        np.zeros(boxes.shape[1] + n),
        np.ones((1, n)),
        [1.0],
        tol=1e-13,
    )
    return found.value


def _places(rows, p, side):
    return side * (p @ rows.deviation) / (p @ rows.slack)


# --- paper 000 ------------------------------------------------------------------------------------


def equation_8():
    """Equation 8 of 000 as printed against the tilt, with equal and with unequal pool weights.

    printed: p(y = 1 | x) = default p e^H / (1 - default + default p e^H),  p = p(x | y = 1)
    """
    equal = small_problem()
    weight = np.random.default_rng(4).uniform(0.2, 2.0, len(equal.pool))
    unequal = equal._replace(pool=weight / weight.sum())
    return {"equal": _off_by(equal), "unequal": _off_by(unequal)}


def _off_by(rows):
    fit = rows.fit()
    p = fit["prob"]
    entropy = -float(p @ np.log(p))
    printed = expit(logit(DEFAULT) + np.log(p) + entropy)
    return float(np.abs(printed - expit(logit(DEFAULT) + fit["tilt"])).max())


def equation_10():
    """Change of the value of 000 eq 10 from one feasible point to another, at two coefficients.

    The points: every labelled row is of the class and no other; and the robust solution, scaled to
    another share (which leaves its class mean where it is).
    """
    rows = small_problem()
    prob = _robust(rows)["prob"][:, 1]
    one, other = rows.label, 0.6 * prob / prob.max()
    places = np.array([[1.0, -0.5, 0.2], [0.0, 2.0, -1.0]])
    more = other.mean() - one.mean()

    def change(default):
        values = [
            _equation_10(rows, coef, other, default) - _equation_10(rows, coef, one, default)
            for coef in places
        ]
        return np.array(values)

    return {
        "excess": max(_excess(rows, one), _excess(rows, other)),
        "change": change(DEFAULT),
        "predicted": -more * logit(DEFAULT),
        "change_equal_defaults": change(0.5),
    }


def _equation_10(rows, coef, point, default):
    """The printed value; `point` is the feasible p(y = 1 | x), and class 0 has no constraint."""
    tilt = rows.deviation @ coef + rows.half_width @ np.abs(coef)
    score = np.column_stack([np.full(len(tilt), np.log(1 - default)), np.log(default) + tilt])
    log_q = score - logsumexp(score, axis=1, keepdims=True)
    likelihood = (1 - point) @ log_q[:, 0] + point @ log_q[:, 1]
    mean = point @ rows.F / point.sum()
    penalty = rows.half_width @ np.abs(coef) + (mean - rows.target) @ coef
    return float(-likelihood / len(tilt) + point.mean() * penalty)


def _excess(rows, point):
    """By how much the class mean of a point leaves its boxes; negative inside."""
    distance = np.abs(point @ rows.deviation) / point.sum()
    return float((distance - rows.half_width).max())


def _robust(rows):
    default = np.array([1 - DEFAULT, DEFAULT])
    labels, widths = [None, rows.label], [None, rows.half_width]
    return dense_robust(rows.F, rows.pool, labels, widths, default)


def one_class():
    """Class-robust regression of one class, and L1 logistic regression with the same penalty.

    000, after eq 10, calls their objectives the same. Labelled rows are the positives, all others
    the negatives, and half widths times the number of labelled rows the penalty.
    """
    rows = small_problem()
    robust = _robust(rows)
    coef, intercept = _free_intercept(rows)
    return {
        "coef": robust["coef"][1],
        "mean": float(rows.pool @ robust["prob"][:, 1]),
        "free_coef": coef,
        "free_mean": float(rows.pool @ expit(intercept + rows.F @ coef)),
    }


def _free_intercept(rows):
    n_features = rows.F.shape[1]
    design = np.column_stack([rows.F, -rows.F, np.ones(len(rows.F))])  # up, down, intercept
    price = rows.label.sum() * np.concatenate([rows.half_width, rows.half_width, [0.0]])

    def value(z):
        score = design @ z
        return np.logaddexp(0, score).sum() - rows.label @ score + price @ z

    def gradient(z):
        return design.T @ (expit(design @ z) - rows.label) + price

    bounds = [(0, None)] * (2 * n_features) + [(None, None)]
    options = {"ftol": 0.0, "gtol": 1e-9, "maxiter": 5000, "maxfun": 20000}
    z = minimize(value, np.zeros(len(price)), jac=gradient, bounds=bounds, options=options).x
    return z[:n_features] - z[n_features:-1], z[-1]


def theorem_4():
    """Whether any p(y | x) meets the boxes when all three classes have labels.

    The classes have labels on the lower half of the first feature, so no mixture of their means is
    near the pool's. `empty` at 0.3 standard errors, `empty_wide` at 30.
    """
    rows = small_problem()
    order = np.argsort(rows.F[:, 0])
    labels = [np.isin(np.arange(60), order[start : start + 10]) * 1.0 for start in (0, 10, 20)]

    def is_empty(width_scale):
        widths = [half_widths(rows.F, rows.pool, own, width_scale, "labelled") for own in labels]
        return dense_robust(rows.F, rows.pool, labels, widths, np.full(3, 1 / 3))["empty"]

    return {"empty": is_empty(0.3), "empty_wide": is_empty(30.0)}


def labelled_rows_in_the_pool():
    """Whether any p meets the boxes when the pool holds the labelled rows, and when it does not.

    The first feature is 1 higher in labelled rows, as where they come from somewhere else.
    """
    rows = small_problem()
    F = rows.F.copy()
    F[rows.label == 1, 0] += 1.0
    apart = with_boxes(F, rows.pool, rows.label)
    everywhere = np.ones(len(F), dtype=bool)
    return {"with": _feasible(apart, everywhere), "without": _feasible(apart, apart.label == 0)}


def _feasible(rows, kept):
    """Look for probabilities of the rows kept, all boxes met, by a linear programme."""
    deviation, slack = rows.deviation[kept], rows.slack[kept]
    n = int(kept.sum())
    found = linprog(
        np.zeros(n),
        A_ub=np.vstack([(deviation - slack).T, (-deviation - slack).T]),
        b_ub=np.zeros(2 * deviation.shape[1]),
        A_eq=np.ones((1, n)),
        b_eq=[1.0],
    )
    assert found.status in (0, 2), found.message  # solved, or proven infeasible
    return found.status == 0


# --- paper 004 ------------------------------------------------------------------------------------


def equation_18():
    """Mean of the first feature, missing values filled with 0.7: directly, printed, with shares."""
    rows = small_problem(missing=0.3)
    p, seen = rows.fit()["prob"], rows.seen[:, 0]
    filled = np.where(seen, rows.F[:, 0], 0.7)
    share = float(p[seen].sum())
    mean_seen = np.average(filled[seen], weights=p[seen])
    mean_filled = np.average(filled[~seen], weights=p[~seen])
    return {
        "direct": float(p @ filled),
        "printed": float(mean_seen / seen.sum() + mean_filled / (~seen).sum()),
        "with_shares": float(share * mean_seen + (1 - share) * mean_filled),
    }


def labelled_mean_for_missing_values():
    """Largest change of a row's probability with the labelled mean for missing values (4.3).

    In units of an even share, 1 / n, at width 0 and at half a standard error.
    """
    return {"width_0": _change_by_filling(0.0), "width_half": _change_by_filling(0.5)}


def _change_by_filling(width_scale):
    rows = small_problem(missing=0.3, width_scale=width_scale)
    filled = rows._replace(F=np.where(rows.seen, rows.F, rows.target))
    change = rows.fit()["prob"] - filled.fit()["prob"]
    return float(len(change) * np.abs(change).max())


def algorithm_1_rises():
    """Algorithm 1 on an indicator of 3 rows in 20,000, one of them among the 50 labelled ones.

    log Z is 0 before the first sweep.
    """
    n = 20_000
    F, label = np.zeros((n, 1)), np.zeros(n)
    label[:50] = 1.0
    F[[0, 100, 200]] = 1.0
    pool, half_width = np.full(n, 1 / n), np.array([1e-3])
    walk = algorithm_1(F, pool, label, half_width)
    return {
        "first": walk["history"][0],
        "sweeps": walk["sweeps"],
        "end": walk["objective"],
        "optimum": dense_entropy(F, pool, label, half_width)["objective"],
    }


ERRATA = (
    sign_of_the_slack,
    equation_8,
    equation_10,
    one_class,
    theorem_4,
    labelled_rows_in_the_pool,
    equation_18,
    labelled_mean_for_missing_values,
    algorithm_1_rises,
)


def main():
    """Print every number, under the first line of what it is about."""
    for erratum in ERRATA:
        print(f"{erratum.__name__}: {erratum.__doc__.splitlines()[0]}")
        for name, value in erratum().items():
            print(f"    {name:22} {value}")


if __name__ == "__main__":
    with threadpool_limits(1):  # matrices this small only wait for threads
        main()
