"""What every test shares: small hypothesis runs, and a cache folder that is thrown away."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """No test writes into the user's cache folder."""
    monkeypatch.setenv("SCARCE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(20260715)
