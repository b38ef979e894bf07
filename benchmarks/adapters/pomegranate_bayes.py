"""pomegranate: its naive Bayes of diagonal normals, in float64 as everyone else here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Data, Problem

NAME = "pomegranate"
GROUP = "rival-pomegranate"
PACKAGES = ("pomegranate", "torch", "numpy")
SIDES = (Side("pomegranate", ("naive-bayes",)),)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Make tensors that share the arrays' memory, outside the clock, and yield the fit."""
    import torch
    from pomegranate.bayes_classifier import BayesClassifier
    from pomegranate.distributions import Normal

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    X, y = data.arrays()
    features, labels = torch.from_numpy(X), torch.from_numpy(y.astype(np.int64))

    def run(features: torch.Tensor, labels: torch.Tensor) -> Answer:
        model = BayesClassifier([Normal(covariance_type="diag") for _ in range(2)])
        model.fit(features, labels)
        return {
            "prior": model.priors.detach().numpy().astype(np.float64),
            "mean": np.array([each.means.detach().numpy() for each in model.distributions]),
            "variance": np.array([each.covs.detach().numpy() for each in model.distributions]),
        }

    run(features[:4096], labels[:4096])
    yield lambda: run(features, labels)
