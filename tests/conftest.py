"""What every test shares: one BLAS thread, small hypothesis runs, a cache folder of its own."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Matrices here are small and test processes share the cores: where threads of BLAS waited for each
# other, a thousand tests took 148 s, and 23 s without. NumPy reads this when it is first imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

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
