"""How do names fit where a chart has room for few letters, and are still told apart?

Names are broken into lines. One that needs more lines than there are is cut at its end; where that
makes several names look the same, they are cut at what they share instead, so that what differs is
shown: "Mean… of the coldest month" beside "Mean… of the warmest month". Draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from scarce.report.canvas import LETTER, wrapped
from scarce.report.values import words

CUT = "…"
BREAKS = " _-./=("  # what differs is shown from the word or part on in which it lies


def fitted(names: Sequence[object], width: float, lines: int = 2) -> list[list[str]]:
    """Return the lines of each name; different names stay different.

    Parameters
    ----------
    names : sequence
    width : float
        Of the room, in units of the drawing.
    lines : int
        How many a name may have.

    Examples
    --------
    >>> names = ["mean temperature of the coldest month", "mean temperature of the driest month"]
    >>> fitted([*names, "rain"], 13 * LETTER)
    [['mean… coldest', 'month'], ['mean… driest', 'month'], ['rain']]
    >>> fitted(names[:1], 13 * LETTER)
    [['mean', 'temperature…']]
    """
    told = [" ".join(words(name).split()) for name in names]
    shown = [_cut(text, width, lines) for text in told]
    most = max(4, int(width / LETTER))
    groups = _alike(told, shown, range(len(told)))
    while groups:
        group = groups.pop()
        shared = _shared([told[i] for i in group])
        before = max(told[group[0]].rfind(mark, 0, shared) for mark in BREAKS) + 1
        start = before if shared - before < most // 3 else shared
        for head in _heads(told[group[0]][:start], most // 3):  # the longest for which all fit
            for i in group:
                shown[i] = _cut(f"{head}{CUT} {told[i][start:]}", width, lines)
            if not any(shown[i][-1].endswith(CUT) for i in group):
                break
        left = _alike(told, shown, group)
        groups += [one for one in left if len(one) < len(group)]  # else there is no room for more
    return shown


def _alike(told: list[str], shown: list[list[str]], places: Sequence[int]) -> list[list[int]]:
    """Return groups of different names that look the same."""
    held: dict[tuple[str, ...], list[int]] = {}
    for i in places:
        held.setdefault(tuple(shown[i]), []).append(i)
    return [group for group in held.values() if len({told[i] for i in group}) > 1]


def _shared(texts: list[str]) -> int:
    """Return with how many letters all begin."""
    first, last = min(texts), max(texts)  # if these two do, all between do
    pairs = zip(first, last, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cut(text: str, width: float, lines: int) -> list[str]:
    parts = wrapped(text, width)
    if len(parts) <= lines:
        return parts
    most = max(4, int(width / LETTER))
    for part in parts[: lines - 1]:
        text = text[len(part) :].lstrip()
    return [*parts[: lines - 1], text[: most - 1].rstrip() + CUT]


def _heads(text: str, most: int) -> list[str]:
    """Return beginnings of what names share, at ends of words or parts, the longest first."""
    ends = [at for at, mark in enumerate(text) if mark in BREAKS and at]
    return [text[:at] for at in [*reversed(ends), *([] if ends and ends[0] <= most else [most])]]
