"""Words of a picture: how do names that somebody else chose fit in, whole and told apart?

Dollar signs are kept from being read as mathematics, long names go onto several lines, and where
even those are too short, a set of names loses what its members share before what tells them apart.
Assumes letters of about one width. Draws nothing: see frame.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

CUT = "..."
LEAST = 12  # letters below which names are numbered rather than cut


def plain(text: Any) -> str:
    """Return a text that matplotlib shows as it is, dollars and all.

    Examples
    --------
    >>> print(plain("cost $5 and $6"))
    cost \\$5 and \\$6
    >>> plain(plain("$5")) == plain("$5")
    True
    """
    return re.sub(r"(?<!\\)\$", r"\\$", str(text))


def shown(text: str) -> str:
    """Return a name that the legend does not hide: matplotlib leaves out what begins with _.

    Examples
    --------
    >>> shown("_raw"), shown("raw")
    (' _raw', 'raw')
    """
    return f" {text}" if text.startswith("_") else text


def broken(text: Any, width: int) -> list[str]:
    """Return the lines of a text, broken behind a space or a mark, or where a word is too long.

    Examples
    --------
    >>> broken("Mean Temperature of Wettest Quarter", 20)
    ['Mean Temperature of', 'Wettest Quarter']
    >>> broken("mean_temperature_of_wettest_quarter", 20)
    ['mean_temperature_of_', 'wettest_quarter']
    """
    if "\n" in str(text):  # lines of the user's own
        return [line for part in str(text).split("\n") for line in broken(part, width)]
    lines = [""]
    for word in re.split(r"(?<=[\s_/])(?![\s_/])|(?<=\w-)(?=\w)", str(text)):
        if len((lines[-1] + word).rstrip()) > width and lines[-1]:
            lines.append("")
        while len(word.rstrip()) > width:
            lines[-1:] = [word[:width], ""]
            word = word[width:]
        lines[-1] += word
    return [line.rstrip() for line in lines if line.strip()] or [""]


def wrap(text: Any, width: int, lines: int = 3) -> str:
    """Return a text on a few lines, cut at its middle where it needs more of them.

    Examples
    --------
    >>> print(wrap("a name that is long enough for two lines", 24))
    a name that is long
    enough for two lines
    """
    return fit([text], width, lines)[0]


def fit(names: Sequence[Any], width: int = 28, lines: int = 2) -> list[str]:
    """Return names on as many lines as there are, cut as a set where those are too few.

    Examples
    --------
    >>> seasons = [f"Mean Temperature of {part} Quarter" for part in ("Wettest", "Driest")]
    >>> fit(seasons, 20)
    ['Mean Temperature of\\nWettest Quarter', 'Mean Temperature of\\nDriest Quarter']
    >>> fit(seasons, 16, lines=1)
    ['Mea...Wettest...', 'Mean...Driest...']
    """
    most = width * lines
    while True:
        parts = [broken(name, width) for name in shorten(names, most)]
        if max(map(len, parts), default=0) <= lines or most <= width:
            break
        most -= 1
    return [plain("\n".join(part)) for part in parts]


def shorten(names: Sequence[Any], most: int = 28) -> list[str]:
    """Return names of at most so many letters, and different ones for different names.

    A long name loses its middle; names that would look alike lose what they share; if that does
    not help either, they are numbered.

    Examples
    --------
    >>> shorten(["age", "annual_mean_temperature_of_the_coldest_quarter"])
    ['age', 'annual_mean_t...dest_quarter']
    >>> shorten([f"Mean Temperature of {part} Quarter (degrees C)" for part in ("Cold", "Warm")])
    ['Mean Temperature of...Cold...', 'Mean Temperature of...Warm...']
    """
    given = list(map(str, names))
    short = {name: _middle_out(name, most) for name in given}
    for alike in _alike(short):
        front = _shared(alike)
        back = _shared([name[len(front) :][::-1] for name in alike])[::-1]
        inner = [name[len(front) : len(name) - len(back) or None] for name in alike]
        kept = shorten(inner, most - 2 * len(CUT)) if most > LEAST else inner
        for name, middle in zip(alike, kept, strict=True):
            room = most - len(middle) - len(CUT) * (1 + bool(back))
            head = front if len(front) <= room + len(CUT) else front[: max(room, 0)].rstrip() + CUT
            short[name] = head + middle + (CUT if back else "")
    for alike in _alike(short, most):
        for place, name in enumerate(alike, 1):
            end = f"{CUT}({place})"
            short[name] = name[: max(most - len(end), 1)] + end
    return [short[name] for name in given]


def _middle_out(name: str, most: int) -> str:
    half = (most - len(CUT)) // 2
    return name if len(name) <= most else f"{name[: most - len(CUT) - half]}{CUT}{name[-half:]}"


def _alike(short: dict[str, str], most: int | None = None) -> list[list[str]]:
    """Return groups of names that look alike when they are short, or are not short yet."""
    groups: dict[str | None, list[str]] = {}
    for name, look in short.items():
        long = most is not None and len(look) > most
        groups.setdefault(None if long else look, []).append(name)
    return [group for look, group in groups.items() if len(group) > 1 or look is None]


def _shared(names: Sequence[str]) -> str:
    """Return how all names begin: to the end of a word, if that is more than nothing."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    start = "".join(letters[0] for letters in same)
    cut = re.search(r".*[\W_]", start)
    return cut.group() if cut else start
