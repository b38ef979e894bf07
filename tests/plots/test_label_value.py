"""What a label is worth, drawn: a bar per region, the best marked without colour too."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from scarce import label_value
from scarce.errors import UsageError
from scarce.missed.information import KnownMixture
from scarce.plots import LabelValueDisplay
from tests.problems import refused

MIXTURE = KnownMixture(0.008, "normal", [6.56, 0.0], "normal", [8.44, 0.0])
ASKED = {"threshold": 9.11, "n_rows": 5000, "labelled_from": 8.4}


def test_bars_are_the_record():
    found = label_value(MIXTURE, **ASKED)
    display = LabelValueDisplay.from_estimator(MIXTURE, **ASKED, name="March")
    bars = display.ax_.patches
    np.testing.assert_allclose([bar.get_width() for bar in bars], found.value)
    assert [bool(bar.get_hatch()) for bar in bars] == [at == found.best for at in range(len(found))]
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ticks[0] == "8.045 to 8.4\n3.8 % of rows, 3 % events"
    assert ticks[-1].startswith("below 6.346\n43 % of rows")
    (note,) = display.ax_.texts
    assert note.get_text() == "most valuable"
    assert note.xy == (found.value[found.best], found.best)
    assert display.ax_.get_title() == "March"
    assert "now 0.226" in display.ax_.get_xlabel()
    assert display.ax_.yaxis_inverted()


def test_the_note_stands_inside_its_bar_and_regions_do_not_overlap():
    display = LabelValueDisplay.from_estimator(MIXTURE, **ASKED)
    display.figure_.canvas.draw()
    note, bar = display.ax_.texts[0], display.ax_.patches[display.value.best]
    assert note.get_window_extent().x0 > bar.get_window_extent().x0
    assert note.get_window_extent().x1 < bar.get_window_extent().x1
    boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    for above, below in pairwise(boxes):
        assert above.y0 > below.y1


def test_what_is_left_of_the_keywords_goes_to_matplotlib():
    display = LabelValueDisplay.from_estimator(MIXTURE, **ASKED, color="red", height=0.5)
    assert {bar.get_height() for bar in display.ax_.patches} == {0.5}
    with refused("unknown-argument", UsageError, hint=" Did you mean 'n_rows'?"):
        LabelValueDisplay.from_estimator(MIXTURE, threshold=9.11, n_rws=5000)


def test_a_ranking_that_is_not_to_be_believed_says_so():
    found = replace(label_value(MIXTURE, **ASKED), warnings=("The mixture is not identified.",))
    assert "unreliable" in LabelValueDisplay.from_result(found).ax_.get_title()


def test_what_is_no_label_value_is_refused():
    with refused("wrong-record", UsageError, kind="list"):
        LabelValueDisplay([0.1])
