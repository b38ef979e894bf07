"""What paper 002 prints in its text and captions. Its figures carry no numbers; computes nothing.

Figures 1 to 4 are curves without a table, so most of what is held here is the setting of each
figure; section 6.2 is the only part with estimates in numbers.
"""

from __future__ import annotations

from typing import NamedTuple

# Figure 1: two normal laws, means 2 and 3.88, variances 1
ROWS_1 = 1_000_000
MEANS = (2.0, 3.88)
RATE_1 = 0.001  # of the left-hand panel
SHARE_1 = 0.001  # of the right-hand panel

# Figure 2
ROWS_2 = 10_000
LABELLED_2 = 0.05
SHARES_2 = (0.3, 0.01)
TRIALS_2 = 100

# Figures 3 and 4
ROWS_3 = 5000
TRIALS_3 = 1000
BACKGROUNDS = ("normal", "lognormal")
CANDIDATES = ("normal", "lognormal", "gamma")
SHARE_4 = 0.008
RECALL_4 = 0.25
RATE_4 = 1 / 32
FOREGROUND = 8.44  # not printed: the distance of Figures 1 and 2 above the background's 6.56


class Series(NamedTuple):
    """One of the two series of section 6.2."""

    rows: int
    labelled: int
    labelled_positives: int
    positives: int
    share: float
    found_share: float


SERIES = {
    "standin17": Series(1424, 12, 12, 227, 0.159, 0.172),
    "standin29": Series(1424, 12, 5, 7, 0.0049, 0.00365),
}
OVERESTIMATE_17 = 1.077  # "by about a factor of"
EXPECTED_29 = 5.20  # positives that the fit expects in all
