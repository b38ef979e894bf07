"""Make glm.json: regressions with an offset and weights, by another program.

    python tests/golden/make_glm.py > tests/golden/glm.json

Needs statsmodels. Standard errors are those of the observed information. The tests read the file
and do not need statsmodels.
"""

import json
from importlib.metadata import version as version_of

import numpy as np

LINKS = {"logistic": "Logit", "probit": "Probit", "cloglog": "CLogLog", "loglog": "LogLog"}


def fit(X, y, weight, offset, link):
    """Return coefficients (intercept last), standard errors and the log-likelihood."""
    import statsmodels.api as sm  # here: the tests collect this file, and do not need it

    design = np.column_stack([X, np.ones(len(X))])
    family = sm.families.Binomial(link=getattr(sm.families.links, link)())
    model = sm.GLM(y, design, family=family, freq_weights=weight, offset=offset)
    found = model.fit(tol=1e-14, maxiter=500, tol_criterion="params")
    hessian = model.hessian(found.params, scale=1.0, observed=True)
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    return {
        "coef": found.params.tolist(),
        "standard_error": errors.tolist(),
        "loglik": float(found.llf),
    }


def main():
    """Print the JSON."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(size=160), rng.exponential(size=160), rng.random(160) < 0.3])
    X = X.round(3)
    prob = 1 / (1 + np.exp(1.8 - X @ [1.0, -0.5, 0.8]))
    y = (rng.random(160) < prob).astype(float)
    weight = rng.integers(1, 4, size=160).astype(float)
    offset = rng.normal(scale=0.4, size=160).round(3)
    cases = []
    for loss, link in LINKS.items():
        for name, w, o in (
            ("plain", None, None),
            ("weighted", weight, None),
            ("offset", None, offset),
            ("both", weight, offset),
        ):
            cases.append({"loss": loss, "kind": name, **fit(X, y, w, o, link)})
    data = {"X": X.tolist(), "y": y.tolist(), "weight": weight.tolist(), "offset": offset.tolist()}
    command = "python tests/golden/make_glm.py > tests/golden/glm.json"
    made = f"statsmodels {version_of('statsmodels')}, numpy {version_of('numpy')}"
    print(json.dumps({"command": command, "made_with": made, "data": data, "cases": cases}))


if __name__ == "__main__":
    main()
