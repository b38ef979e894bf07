"""Make firth.json: Firth fits and intervals by other people's programs.

    python tests/golden/make_firth.py > tests/golden/firth.json

Needs R with brglm2 (coefficients, standard errors) and the Python packages firthmodels (profile
limits) and statsmodels (plain maximum likelihood). The tests read the file and need none of them.
"""

import json
import subprocess
from importlib.metadata import version as version_of

import numpy as np

R = """
suppressMessages(library(brglm2))
d <- read.csv(file("stdin"))
y <- d$y; w <- d$w; d$y <- NULL; d$w <- NULL
fit <- glm(y ~ ., data = d, weights = w, family = binomial(), method = "brglmFit",
           type = "AS_mean", epsilon = 1e-13, maxit = 10000)
flic <- glm(y ~ 1, weights = w, family = binomial(), offset = as.matrix(d) %*% coef(fit)[-1],
            control = list(epsilon = 1e-14, maxit = 100))
cat(sprintf("%.15g", c(coef(fit), sqrt(diag(vcov(fit))), coef(flic))), sep = " ")
"""


def cases():
    """Yield name, X, y and whole-number weights: rare, separated, and few rows with weights."""
    rng = np.random.default_rng(11)
    X = np.column_stack(
        [rng.normal(size=(120, 2)), rng.random(120) < 0.2, rng.exponential(size=120)]
    )
    X = X.round(3)
    prob = 1 / (1 + np.exp(3.2 - X @ [1.0, -0.5, 0.7, 0.0]))
    yield "rare", X, (rng.random(120) < prob).astype(int), np.ones(120, dtype=int)
    X = rng.normal(size=(40, 2)).round(3)
    yield "separated", X, (X[:, 0] > 0.9).astype(int), np.ones(40, dtype=int)
    X = rng.normal(size=(25, 2)).round(3)
    y = (rng.random(25) < 0.3).astype(int)
    yield "weighted", X, y, rng.integers(1, 4, size=25)


def main():
    """Print the file."""
    import firthmodels
    import statsmodels.api as sm

    found = []
    for name, X, y, w in cases():
        head = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y", "w"])
        lines = [",".join(map(repr, row)) for row in np.column_stack([X, y, w]).tolist()]
        printed = subprocess.run(
            ["Rscript", "-e", R],
            input="\n".join([head, *lines]),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        numbers = [float(part) for part in printed.split()]
        k = X.shape[1] + 1
        long_X, long_y = np.repeat(X, w, axis=0), np.repeat(y, w)
        model = firthmodels.FirthLogisticRegression(
            backend="numpy", gtol=1e-6, xtol=1e-6, max_iter=1000
        ).fit(long_X, long_y)
        limits = model.conf_int(alpha=0.1, method="pl", tol=1e-6, max_iter=1000)
        case = {
            "name": name,
            "X": X.tolist(),
            "y": y.tolist(),
            "weight": w.tolist(),
            "brglm2": {
                "coef": numbers[:k],
                "standard_error": numbers[k : 2 * k],
                "flic": numbers[2 * k],
            },
            "firthmodels": {
                "loglik": model.loglik_,
                "profile_90": np.roll(limits, 1, axis=0).tolist(),
            },
        }
        if name != "separated":
            plain = sm.GLM(long_y, sm.add_constant(long_X), family=sm.families.Binomial()).fit(
                tol=1e-14, maxiter=100
            )
            case["statsmodels"] = {
                "coef": plain.params.tolist(),
                "wald_90": plain.conf_int(0.1).tolist(),
                "loglik": plain.llf,
            }
        found.append(case)
    version = subprocess.run(
        ["Rscript", "-e", "cat(as.character(packageVersion('brglm2')))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    text = json.dumps(
        {
            "command": "python tests/golden/make_firth.py > tests/golden/firth.json",
            "versions": {
                "brglm2": version,
                "firthmodels": version_of("firthmodels"),
                "statsmodels": version_of("statsmodels"),
            },
            "cases": found,
        },
        indent=1,
    )
    print(text)


if __name__ == "__main__":
    main()
