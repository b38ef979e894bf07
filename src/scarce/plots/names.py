"""How do long names fit into a picture and stay distinct?

Names are wrapped. A name that needs too many lines is cut at its end. If several names then look
the same, the part they share is cut instead: "mean… coldest month" and "mean… warmest month". Names
that still look the same are numbered. Widths are counted in characters. Draws nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

CUT = "…"
BREAKS = " _-./=("  # the part that differs starts after one of these
LEAST = 4  # characters of a line

# Control characters except tab and line ends, lone surrogates, and what HTML does not allow
NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def clean(value: object) -> str:
    r"""Replace characters that HTML or a picture cannot show.

    Examples
    --------
    >>> clean("a\x00b"), clean(3)
    ('a\ufffdb', '3')
    """
    return NOT_TEXT.sub("\ufffd", str(value))


def broken(text: object, most: int) -> list[str]:
    """Wrap a text to lines of at most `most` characters; only longer words are broken.

    Examples
    --------
    >>> broken("one two three", 8), broken("", 10), broken("abcdefghij", 5)
    (['one two', 'three'], [], ['abcde', 'fghij'])
    >>> broken("rain_of_may", 6)
    ['rain_', 'of_may']
    """
    most = max(LEAST, most)
    lines: list[str] = []
    for word in clean(text).split():
        first, *more = _pieces(word, most)
        if lines and len(lines[-1]) + 1 + len(first) <= most and not more:
            lines[-1] += f" {first}"
        else:
            lines.append(first)
        lines += more
    return lines


def fitted(names: Sequence[object], most: int, lines: int = 2) -> list[list[str]]:
    """Wrap each name; different names stay different.

    Parameters
    ----------
    names : sequence
    most : int
        Characters per line.
    lines : int
        Lines per name.

    Examples
    --------
    >>> names = ["mean temperature of the coldest month", "mean temperature of the driest month"]
    >>> fitted([*names, "rain"], 13)
    [['mean… coldest', 'month'], ['mean… driest', 'month'], ['rain']]
    >>> fitted(names[:1], 13)
    [['mean', 'temperature…']]
    """
    most = max(LEAST, most)
    told = [" ".join(clean(name).split()) for name in names]
    shown = [_cut(text, most, lines) for text in told]
    groups = _alike(told, shown, range(len(told)))
    while groups:
        group = groups.pop()
        shared = _shared([told[i] for i in group])
        before = max(told[group[0]].rfind(mark, 0, shared) for mark in BREAKS) + 1
        start = before if shared - before < most // 3 else shared
        for head in _heads(told[group[0]][:start], most // 3):  # longest first
            for i in group:
                shown[i] = _cut(f"{head}{CUT} {told[i][start:]}", most, lines)
            if not any(shown[i][-1].endswith(CUT) for i in group if shown[i]):
                break
        left = _alike(told, shown, group)
        groups += [one for one in left if len(one) < len(group)]  # otherwise there is no room
    _number(told, shown, most)
    return shown


def one_line(names: Sequence[object], most: int) -> list[str]:
    """Cut names to one line each; different names stay different.

    Examples
    --------
    >>> one_line(["age", "annual_mean_temperature_of_the_coldest_quarter"], 20)
    ['age', 'annual_mean_tempera…']
    """
    return [" ".join(lines) for lines in fitted(names, most, 1)]


def _number(told: list[str], shown: list[list[str]], most: int) -> None:
    """Number different names that look the same."""
    for group in _alike(told, shown, range(len(told))):
        numbers = {text: place for place, text in enumerate(dict.fromkeys(told[i] for i in group))}
        for i in group:
            end = f"{CUT}({numbers[told[i]] + 1})"
            last = shown[i][-1].rstrip(CUT)[: max(most - len(end), 1)] if shown[i] else ""
            shown[i] = [*shown[i][:-1], last + end]


def _alike(told: list[str], shown: list[list[str]], places: Sequence[int]) -> list[list[int]]:
    """Return groups of different names that look the same."""
    held: dict[tuple[str, ...], list[int]] = {}
    for i in places:
        held.setdefault(tuple(shown[i]), []).append(i)
    return [group for group in held.values() if len({told[i] for i in group}) > 1]


def _shared(texts: list[str]) -> int:
    """Return the length of the common prefix."""
    first, last = min(texts), max(texts)  # all others lie between these two
    pairs = zip(first, last, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cut(text: str, most: int, lines: int) -> list[str]:
    parts = broken(text, most)
    if len(parts) <= lines:
        return parts
    for part in parts[: lines - 1]:
        text = text[len(part) :].lstrip()
    return [*parts[: lines - 1], text[: most - 1].rstrip() + CUT]


def _heads(text: str, most: int) -> list[str]:
    """Return prefixes of the common part, cut between words, longest first."""
    ends = [at for at, mark in enumerate(text) if mark in BREAKS and at]
    return [text[:at] for at in [*reversed(ends), *([] if ends and ends[0] <= most else [most])]]


def _pieces(word: str, most: int) -> list[str]:
    """Break a word into lines, after one of _-./= where possible."""
    pieces = []
    while len(word) > most:
        at = max(word.rfind(mark, 1, most) for mark in "_-./=") + 1
        pieces.append(word[: at or most])
        word = word[at or most :]
    return [*pieces, word]
