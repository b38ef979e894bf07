"""GaussianBayes as in paper 003: the densities themselves, by maximum likelihood."""

from typing import Any

from scarce import GaussianBayes


def densities(covariance: str = "diag", **settings: Any) -> GaussianBayes:
    """Return a model without calibration, and without a prior for a shared covariance."""
    if covariance == "shared":
        settings.setdefault("shrinkage", 0)
    settings.setdefault("calibrate", False)
    settings.setdefault("tol", 1e-8)
    return GaussianBayes(covariance, **settings)
