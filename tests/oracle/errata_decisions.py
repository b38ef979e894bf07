"""Errata of paper 003: what do the printed rules decide, and what do the right ones decide?

    python -m tests.oracle.errata_decisions

prints the numbers that docs/errata.md quotes. One function for each erratum; it returns a dict of
numbers. Uses nothing of the package: the tests hold the package against the right side.
"""

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import entr, expit, logit
from scipy.stats import norm

MEAN, SD = 37.0, 5.0  # of a Gaussian amount
UNDER, OVER = 9.0, 1.0  # cost of a unit too little (c1), of a unit too much (c2)


# --- sections 0.2 to 0.5 --------------------------------------------------------------------------


def penalty_rows():
    """Sixty rows for a penalised logistic regression without intercept."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    return X, (rng.random(60) < expit(1.5 * X[:, 0])).astype(float)


def penalty():
    """Coefficients of section 0.2 at lambda = 3, and of half that penalty, lambda / 2 |w|^2."""
    X, y = penalty_rows()
    return {"printed": _penalised(X, y, 2 * 3.0), "halved": _penalised(X, y, 3.0)}


def _penalised(X, y, twice):
    """Minimise the sum of logistic losses plus twice / 2 |w|^2, by Newton's method."""
    w = np.zeros(X.shape[1])
    for _ in range(30):
        prob = expit(X @ w)
        hessian = (X.T * (prob * (1 - prob))) @ X + twice * np.eye(len(w))
        w = w - np.linalg.solve(hessian, X.T @ (prob - y) + twice * w)
    return w


def abstention():
    """Section 0.5 at c = 0.6: where two classes pass at once, and what the wrong one costs.

    printed: y if P(y | x) >= 1 - c, D otherwise, over a grid of P(+1 | x).
    """
    prob, c = np.linspace(0.0005, 0.9995, 1000), 0.6
    both = (prob >= 1 - c) & (1 - prob >= 1 - c)
    dear, cheap = np.maximum(prob, 1 - prob), np.minimum(prob, 1 - prob)
    return {
        "both": float(both.mean()),
        "cost_ratio": float((dear[both] / cheap[both]).max()),
        "abstains": float(((prob < 1 - c) & (1 - prob < 1 - c)).mean()),
    }


def tie():
    """The sign of a discriminant of 0, which is no action."""
    return {"sign": float(np.sign(logit(0.5)))}


# --- sections 0.6 and 0.8: amounts ----------------------------------------------------------------


def mean_of_an_amount():
    """The printed integral of p(y | x) dy, and that of y p(y | x) dy, of a N(37, 5^2) amount."""
    ends = MEAN - 12 * SD, MEAN + 12 * SD
    printed, _ = quad(lambda y: norm.pdf(y, MEAN, SD), *ends)
    right, _ = quad(lambda y: y * norm.pdf(y, MEAN, SD), *ends)
    return {"printed": printed, "right": right}


def normal_integral():
    """Phi(1.2816) with the upper limit printed, infinity, and with z."""
    z = 1.2815515655446004
    printed, _ = quad(norm.pdf, -np.inf, np.inf)
    right, _ = quad(norm.pdf, -np.inf, z)
    return {"printed": printed, "right": right}


def expected_cost(action, under=UNDER, over=OVER):
    """Mean cost of an action for the N(37, 5^2) amount, by quadrature on both sides of it."""
    above, _ = quad(lambda y: (y - action) * norm.pdf(y, MEAN, SD), action, MEAN + 14 * SD)
    below, _ = quad(lambda y: (action - y) * norm.pdf(y, MEAN, SD), MEAN - 14 * SD, action)
    return under * above + over * below


def order_of_costs():
    """Which quantile is cheapest where a unit too little costs 9 and a unit too much 1?"""
    found = minimize_scalar(
        expected_cost, bounds=(MEAN - 5 * SD, MEAN + 5 * SD), method="bounded", options={"xatol": 0}
    )
    return {
        "by_search": float(found.x),
        "printed": MEAN + SD * norm.ppf(UNDER / (UNDER + OVER)),
        "other_order": MEAN + SD * norm.ppf(OVER / (UNDER + OVER)),
    }


def rules_of_the_summary():
    """What w'x costs as an amount, and sign(w'x) as a decision, where errors are not alike.

    Amount as above; decision at probability 0.1 with a miss at 20 and a false alarm at 1. Each is
    divided by the least expected cost.
    """
    best = order_of_costs()["printed"]
    return {
        "amount": expected_cost(MEAN) / expected_cost(best),
        "decision": (0.1 * 20) / min(0.1 * 20, 0.9 * 1),
    }


# --- section 0.7: labels --------------------------------------------------------------------------

POOL = np.array([0.001, 0.2, 0.48, 0.7, 0.95])


def uncertainty():
    """Probability of the row that arg min and arg max of the entropy choose from the pool."""
    entropy = entr(POOL) + entr(1 - POOL)
    return {
        "printed": float(POOL[entropy.argmin()]),
        "right": float(POOL[entropy.argmax()]),
    }


def pool_that_stays():
    """Different rows asked about in four rounds, the pool left as it is, and with answers out."""
    entropy = entr(POOL) + entr(1 - POOL)
    printed = {int(entropy.argmax()) for _ in range(4)}
    right = np.argsort(-entropy)[:4]
    return {"printed": len(printed), "right": len(set(right.tolist()))}


# --- sections 1.3 to 1.6: Gaussian classes --------------------------------------------------------


def gaussian_rows(n, seed=0):
    """Two classes with shared variances 1 and 4, one in five positive; features independent."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(float)
    X = rng.normal(size=(n, 2)) * [1.0, 2.0] + np.outer(y, [1.5, 1.0])
    return X, y


def naive_line(X, y):
    """Section 1.4: w and w0 from pooled variances, by the printed formulas."""
    mean = np.array([X[y == label].mean(axis=0) for label in (0, 1)])
    squares = sum(((X[y == k] - mean[k]) ** 2).sum(axis=0) for k in (0, 1))
    variance, share = squares / len(y), y.mean()
    w0 = logit(share) + ((mean[0] ** 2 - mean[1] ** 2) / (2 * variance)).sum()
    return (mean[1] - mean[0]) / variance, w0


def same_as_logistic():
    """Greatest difference in probability between naive Bayes and logistic regression.

    printed: the same predictions if the model's assumptions are met. They are, here.
    """

    def apart(n):
        X, y = gaussian_rows(n)
        w, w0 = naive_line(X, y)
        logistic = _logistic(X, y)
        return float(np.abs(expit(X @ w + w0) - expit(X @ logistic[:2] + logistic[2])).max())

    return {"rows_100": apart(100), "rows_100000": apart(100_000)}


def _logistic(X, y):
    design, w = np.column_stack([X, np.ones(len(X))]), np.zeros(X.shape[1] + 1)
    for _ in range(30):
        prob = expit(design @ w)
        gram = (design.T * (prob * (1 - prob))) @ design
        w = w - np.linalg.solve(gram, design.T @ (prob - y))
    return w


def correlated_rows(n=20_000):
    """Two classes of equal share, 4 features that correlate by 0.9 within each class."""
    rng = np.random.default_rng(1)
    y = (rng.random(n) < 0.5).astype(float)
    common = rng.normal(size=(n, 1))
    noise = rng.normal(size=(n, 4))
    return np.sqrt(0.9) * common + np.sqrt(0.1) * noise + y[:, None], y


def correlated_features():
    """Probability of a row with all four features at 1.5: truth, and by the naive model."""
    covariance = 0.9 + 0.1 * np.eye(4)
    x, half = np.full(4, 1.5), np.full(4, 0.5)
    return {
        "right": float(expit((x - half) @ np.linalg.solve(covariance, np.ones(4)))),
        "naive": float(expit((x - half) @ np.ones(4))),
    }


def few_rows(n=5, d=10, seed=3):
    """A rare class with fewer rows than features, among 200 others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200 + n, d))
    y = np.repeat([0.0, 1.0], [200, n])
    X[y == 1] += 1.0
    return X, y


def covariance_of_few_rows():
    """Rank and least eigenvalue of the printed covariance of 5 rows with 10 features."""
    X, y = few_rows()
    own = X[y == 1]
    covariance = np.cov(own.T, bias=True)
    return {
        "rank": int(np.linalg.matrix_rank(covariance)),
        "features": own.shape[1],
        "least": float(np.abs(np.linalg.eigvalsh(covariance)).min()),
    }


def variance_of_a_constant():
    """The printed variance of a feature that is constant within a class."""
    X, y = constant_rows()
    return {"variance": float(X[y == 1, 0].var())}


def constant_rows():
    """The first feature is 3 in every positive row."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(80, 2)), np.repeat([0.0, 1.0], 40)
    X[y == 1, 0] = 3.0
    return X, y


def share_in_the_cut():
    """Errors per row of Fisher's rule at a share of 1 %: p = 0.5 as printed, and with the share.

    One feature, N(0, 1) and N(2, 1), everything known. The cut is where f(x) = 2 (x - 1) + w0 is 0.
    """

    def errors(cut, share):
        return (1 - share) * norm.sf(cut) + share * norm.cdf(cut - 2)

    share = 0.01
    cut = 1 - logit(share) / 2
    return {
        "printed": float(errors(1.0, share)),
        "right": float(errors(cut, share)),
        "alerts_printed": float((1 - share) * norm.sf(1.0) + share * norm.sf(-1.0)),
        "alerts_right": float((1 - share) * norm.sf(cut) + share * norm.sf(cut - 2)),
    }


ERRATA = (
    penalty,
    abstention,
    tie,
    mean_of_an_amount,
    normal_integral,
    order_of_costs,
    rules_of_the_summary,
    uncertainty,
    pool_that_stays,
    same_as_logistic,
    correlated_features,
    covariance_of_few_rows,
    variance_of_a_constant,
    share_in_the_cut,
)


def main():
    """Print every number, under the first line of what it is about."""
    for erratum in ERRATA:
        print(f"{erratum.__name__}: {erratum.__doc__.splitlines()[0]}")
        for name, value in erratum().items():
            print(f"    {name:22} {value}")


if __name__ == "__main__":
    main()
