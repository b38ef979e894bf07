"""Names in little room: they fit, and different names stay different."""

from __future__ import annotations

import numpy as np
import pytest

from scarce.report.canvas import LETTER, WIDTH
from scarce.report.labels import fitted

QUARTERS = [f"Mean Temperature of the {one} Quarter of the Year" for one in ("Wettest", "Driest")]
COVER = [
    "Closed to open broadleaved evergreen or semi-deciduous forest",
    "Closed to open broadleaved deciduous shrubland of the wet tropics",
    "Closed to open broadleaved deciduous shrubland of the dry tropics",
    "Water",
]


@pytest.mark.parametrize("names", [QUARTERS, COVER, [f"a_long_name_of_a_column_{i:03}" * 2
                                                     for i in range(150)],
                                   ["x" * 60 + end for end in ("a", "b", "ab", "")],
                                   [f"{i} {'same ' * 20}" for i in range(12)]])  # fmt: skip
@pytest.mark.parametrize(("letters", "lines"), [(21, 2), (20, 3), (12, 1), (14, 2)])
def test_names_fit_and_stay_different(names, letters, lines):
    shown = fitted(names, letters * LETTER, lines)
    assert all(len(one) <= lines for one in shown)
    assert all(len(text) <= letters for one in shown for text in one)
    assert len({tuple(one) for one in shown}) == len(set(names))


def test_what_differs_is_kept_and_what_fits_is_left_alone():
    shown = [" ".join(one) for one in fitted(COVER, 21 * LETTER)]
    assert "wet tropics" in shown[1]
    assert "dry tropics" in shown[2]
    assert shown[3] == "Water"
    assert all(one.startswith("Closed") for one in shown[:3])


def test_random_names_never_look_alike():
    rng = np.random.default_rng(0)
    words = ["mean", "rain", "of", "the", "warmest", "coldest", "month", "a_b_c_d", "x" * 30]
    for _ in range(200):
        names = list({" ".join(rng.choice(words, 9)) for _ in range(12)})
        shown = fitted(names, 0.4 * WIDTH)
        assert len({tuple(one) for one in shown}) == len(names)
