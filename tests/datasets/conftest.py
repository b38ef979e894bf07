import os

import pytest


@pytest.fixture
def real_data() -> str:
    """The folder of the real sets, or skip."""
    folder = os.environ.get("SCARCE_DATA")
    if not folder:
        pytest.skip("SCARCE_DATA is not set: the real data sets are not part of the project")
    return folder
