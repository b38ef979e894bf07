"""What tests of pictures share: no window, nothing left open, and artists found by their label."""

import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("matplotlib") is None:  # needs the extra "plot"
    collect_ignore_glob = ["test_*.py"]
else:
    import matplotlib as mpl

    mpl.use("Agg")


@pytest.fixture(autouse=True)
def close():
    import matplotlib.pyplot as plt

    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture
def named():
    """Find a line by what the legend says of it."""
    return lambda ax, label: next(one for one in ax.lines if one.get_label() == label)


@pytest.fixture
def sides():
    """Lower and upper side of a band, left to right, by what the legend says of it."""

    def read(ax, label=None):
        bands = [one for one in ax.collections if label in (None, one.get_label())]
        corners = bands[0].get_paths()[0].vertices
        points = np.unique(corners[:, 0])
        found = [corners[corners[:, 0] == point, 1] for point in points]
        return np.array([s.min() for s in found]), np.array([s.max() for s in found])

    return read


@pytest.fixture
def legend():
    return lambda ax: [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def week():
    """Scores of which those above 9.2 are labelled, and 100 below it at random."""
    from scarce.datasets import make_scores

    made = make_scores(6000, positive_share=0.02, random_state=4)
    labels = np.where(made.scores >= 9.2, made.y_true, np.nan)
    return made.scores, labels, made.y_true
