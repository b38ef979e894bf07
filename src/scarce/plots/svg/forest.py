"""Points with intervals, one below the other: a forest plot as SVG.

Names on the left, values on the right; a mark beside a value says what stands out, so that nothing
is said by colour alone. Computes no result: see picture.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scarce.plots.names import fitted
from scarce.plots.picture import Forest
from scarce.plots.svg.charts import MORE, ROW, Sample, draw, draw_interval, spaced
from scarce.plots.svg.scale import Scale
from scarce.plots.svg.sheet import (
    LINE,
    WIDTH,
    Chart,
    Sheet,
    digits,
    draw_legend,
    letters,
    text_width,
    wrapped,
)
from scarce.results import short

SHAPES = ("diamond", "triangle", "square")


@draw.register
def _forest(picture: Forest) -> Chart:
    shown, percent = min(len(picture.names), picture.most), picture.x.percent
    values, low, high = (
        np.asarray(part, dtype=np.float64)[:shown]
        for part in (picture.values, picture.low, picture.high)
    )
    beside = {k: np.asarray(v, dtype=np.float64)[:shown] for k, v in picture.beside.items()}
    axis = Scale.over(
        np.concatenate([values, low, high, *beside.values()]),
        percent=percent, ends=picture.x.ends, count=4,
    )  # fmt: skip
    texts = fitted(picture.names[:shown], letters(0.3 * WIDTH))
    figures = [short(v, percent=percent) for v in values]
    notes = [picture.marked.get(i, "") for i in range(shown)]
    wide = max(text_width(text) for lines in texts for text in (*lines, "")) + 8.0
    ends = [max(text_width(one), text_width(two)) for one, two in zip(figures, notes, strict=True)]
    left, right = wide, WIDTH - 12.0 - max(ends)
    sheet = Sheet()
    legend = [(picture.name, _sample("circle", "c1"))]
    legend += [(name, _sample(SHAPES[k % 3], f"c{k % 3 + 2}")) for k, name in enumerate(beside)]
    top = 4.0 + draw_legend(sheet, legend, 0.0, WIDTH, 0.0)
    tall = [ROW + MORE * max(len(t) - 1, bool(n)) for t, n in zip(texts, notes, strict=True)]
    edges = top + np.cumsum([0.0, *tall])
    bottom = float(edges[-1])
    for at, text in spaced(axis, left, right):
        sheet.line(at, top, at, bottom, "grid")
        sheet.text(at, bottom + LINE, text, "tick", "middle")
    for i, lines in enumerate(texts):
        middle = float(edges[i] + edges[i + 1]) / 2
        _words(sheet, wide - 8.0, middle, lines, "name")
        _words(sheet, WIDTH, middle, [one for one in (figures[i], notes[i]) if one], "value")
        draw_interval(sheet, axis, [low, high, None], i, (left, right, middle))
        points = [(values[i], "circle", "c1", f"{picture.names[i]}: {figures[i]}")]
        for k, (name, part) in enumerate(beside.items()):
            tip = f"{name} {short(part[i], percent=percent)}"
            points.append((part[i], SHAPES[k % 3], f"c{k % 3 + 2}", tip))
        for value, shape, colour, tip in reversed(points):
            if np.isfinite(value):
                x = float(axis.place(value, left, right))
                sheet.marker(x, middle, shape, f"dot {colour}", tip)
    down = bottom + 1.2 * LINE
    for text in wrapped(picture.x.label, WIDTH):
        down += LINE
        sheet.text(WIDTH / 2, down, text, "label", "middle")
    return Chart(WIDTH, down + 0.6 * LINE, sheet.body, _told(picture, shown), _data(picture, shown))


def _words(sheet: Sheet, right: float, middle: float, lines: Sequence[str], kind: str) -> None:
    """Write lines that end at a place, around the middle of a row."""
    for at, text in enumerate(lines):
        sheet.text(right, middle + 5.0 + MORE * (at - (len(lines) - 1) / 2), text, kind, "end")


def _sample(shape: str, colour: str) -> Sample:
    def drawn(sheet: Sheet, x: float, y: float) -> None:
        if shape == "circle":
            sheet.line(x, y, x + 26.0, y, "reach ink")
        sheet.marker(x + 13.0, y, shape, f"dot {colour}")

    return drawn


def _told(picture: Forest, shown: int) -> str:
    percent = picture.x.percent
    parts = []
    values, low, high = (np.asarray(v, float) for v in (picture.values, picture.low, picture.high))
    for i in range(shown):
        value, a, b = (short(v[i], percent=percent) for v in (values, low, high))
        note = f", {picture.marked[i]}" if i in picture.marked else ""
        parts.append(f"{picture.names[i]} {value} [{a}, {b}]{note}")
    more = len(picture.names) - shown
    rest = f" {more:,} more are not drawn." if more else ""
    return f"{picture.x.label}: {'; '.join(parts)}.{rest}"


def _data(picture: Forest, shown: int) -> dict[str, Any]:
    held = {"values": picture.values, "low": picture.low, "high": picture.high}
    return {
        "x": picture.x.label,
        "names": [str(name) for name in picture.names[:shown]],
        **{key: digits(np.asarray(part, float)[:shown]) for key, part in held.items()},
        "beside": {
            key: digits(np.asarray(part, float)[:shown]) for key, part in picture.beside.items()
        },
        "marked": {str(key): text for key, text in picture.marked.items() if key < shown},
    }
