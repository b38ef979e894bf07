"""What tests of the experiments share."""

import os

import pytest


@pytest.fixture
def real_data():
    """Skip a test where the real data sets are not there."""
    if not os.environ.get("SCARCE_DATA"):
        pytest.skip("SCARCE_DATA is not set: the real data sets are not part of the project")
