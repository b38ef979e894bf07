"""Keywords find the one they are for, and a mistyped one is refused before anything is computed."""

import pytest

from scarce import cost_confusion, cost_curve
from scarce.errors import UsageError
from scarce.plots.mpl import divide
from tests.problems import refused


def test_each_keyword_goes_where_it_is_known():
    got = divide({"level": 0.5, "lw": 2, "slope": False}, cost_curve, also=("slope",))
    assert got == ({"level": 0.5}, {"lw": 2, "slope": False})
    got = divide({"groups": [1], "interpolation": "none"}, cost_confusion, "imshow")
    assert got == ({"groups": [1]}, {"interpolation": "none"})


@pytest.mark.parametrize("draw", ["plot", "barh", "imshow"])
def test_what_nobody_knows_is_refused_with_the_nearest_name(draw):
    with refused("unknown-argument", UsageError, function="cost_curve", draw=draw):
        divide({"colr": "k"}, cost_curve, draw)
    with refused("unknown-argument", hint=" Did you mean 'simultaneous'?"):
        divide({"simultanous": True}, cost_curve, draw)
