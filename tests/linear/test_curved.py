"""Splines and kernels before a GEV link, as scikit-learn's pipelines: 001's extension."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from scarce import RareClassifier, load, save
from scarce.errors import StoreError
from tests.problems import refused


def world(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    prob = 1 / (1 + np.exp(4.5 - 1.5 * np.abs(X[:, 0]) - X[:, 1]))
    return X, (rng.random(n) < prob).astype(int), prob


def model():
    return RareClassifier("gev-canonical", shape=0.0)


CURVED = {
    "splines": lambda: make_pipeline(SplineTransformer(), model()),
    "kernel": lambda: make_pipeline(Nystroem(n_components=40, gamma=0.3, random_state=0), model()),
}


@pytest.mark.parametrize("name", list(CURVED))
def test_a_curved_world_needs_a_curved_score_and_the_pipeline_is_kept(name, tmp_path):
    pytest.importorskip("skops")
    X, y, _ = world(2500, 0)
    fresh, _, truth = world(4000, 1)

    def error(fitted):
        return np.sqrt(np.mean((fitted.predict_proba(fresh)[:, 1] - truth) ** 2))

    curved = CURVED[name]().fit(X, y)
    assert error(curved) < 0.6 * error(model().fit(X, y))
    save(curved, tmp_path / "m.scarce")
    trust = []
    if name == "splines":  # scipy's class of a spline is named before it is built
        with refused("untrusted-types", StoreError) as caught:
            load(tmp_path / "m.scarce")
        trust = caught.value.problem.fields["trust"].value
        assert any("BSpline" in kind for kind in trust)
    again = load(tmp_path / "m.scarce", trust=trust)
    assert (again.predict_proba(fresh) == curved.predict_proba(fresh)).all()
