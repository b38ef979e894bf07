"""Frames: which rows was a list of checks drawn from?

A frame is the rows of one batch below one threshold, with the scores they had. Checks of different
frames speak for different rows and add up; checks of the same frame speak for the same rows and are
combined. Each list carries its frame as a short text in every row, so that a file that was cut,
sorted or glued to others still says what its rows stand for. The text is

    week 7; 4,964 rows below 2.5; drawn 2026-02-16; scores 5f0c31d2a9be
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple

import numpy as np

from scarce.engine.block import Array

FORM = re.compile(
    r"^(?:(?P<name>.*); )?(?P<rows>[\d,]+) rows(?: below (?P<threshold>\S+))?"
    r"(?:; drawn (?P<date>[\d-]+))?; scores (?P<digest>[0-9a-f]{12})$"
)


class Frame(NamedTuple):
    """The rows that a list was drawn from.

    Parameters
    ----------
    digest : str
        Of all scores of the batch, whatever their order.
    rows : int
        Rows that could be chosen.
    threshold : float or None
        Rows below it could be chosen; None where all rows could.
    name : str
        Of the batch; empty without batches.
    date : str
        When the list was drawn, as YYYY-MM-DD; empty where that was not said.

    Examples
    --------
    >>> frame = Frame("5f0c31d2a9be", 4964, 2.5, "week 7", "2026-02-16")
    >>> print(frame)
    week 7; 4,964 rows below 2.5; drawn 2026-02-16; scores 5f0c31d2a9be
    >>> frame_of_text(str(frame)) == frame
    True
    """

    digest: str
    rows: int
    threshold: float | None = None
    name: str = ""
    date: str = ""

    def __str__(self) -> str:
        name = " ".join(self.name.split())  # one line, as it is read back
        name = f"{name}; " if name else ""
        below = "" if self.threshold is None else f" below {self.threshold!r}"
        drawn = f"; drawn {self.date}" if self.date else ""
        return f"{name}{self.rows:,} rows{below}{drawn}; scores {self.digest}"

    @property
    def of(self) -> tuple[str, str]:
        """What makes two lists lists of the same rows: the scores and the name of the batch."""
        return self.digest, self.name


def digest_of(scores: Array) -> str:
    """Return twelve digits that tell sets of scores apart, whatever the order of rows.

    Examples
    --------
    >>> digest_of(np.array([0.5, 0.25])) == digest_of(np.array([0.25, 0.5]))
    True
    """
    ordered = np.sort(np.asarray(scores, dtype="<f8"))
    ordered += 0.0  # makes -0 to 0
    return hashlib.blake2b(ordered.data, digest_size=6).hexdigest()


def frame_of_text(text: Any) -> Frame | None:
    """Return the frame that a text describes, or None where it describes none."""
    held = FORM.match(str(text).strip())
    if held is None:
        return None
    threshold = held["threshold"]
    try:
        limit = None if threshold is None else float(threshold)
    except ValueError:
        return None
    rows = int(held["rows"].replace(",", ""))
    return Frame(held["digest"], rows, limit, held["name"] or "", held["date"] or "")
