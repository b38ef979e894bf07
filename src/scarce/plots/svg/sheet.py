"""A small sheet to draw charts on: SVG by hand, without any library, the same bytes every time.

Colours are classes that the page's style sheet fills in for light, dark and paper; a line's dash
and a point's shape say the same as its colour, so that nothing is lost on a black and white print.
Text is laid out by a cautious guess of its width, for nothing here can measure a font. What lies
outside the axes is cut by a nested <svg>, which needs no identifiers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.plots.names import broken, clean
from scarce.plots.svg.scale import Scale

WIDTH = 460.0  # of the drawing; at 358 pixels its 14-pixel letters are still 11 pixels high
FONT = 14.0
LETTER = 0.6 * FONT  # a cautious mean width of a letter: some systems have wide ones
LINE = 18.0  # between two lines of text
DASHES = {"solid": "", "dashed": "7 4", "dotted": "1.5 4", "dashdot": "9 4 2 4"}
COLOURS = 4
MOST_POINTS = 400  # of a line; a screen shows no more


@dataclass(frozen=True)
class Chart:
    """A drawing with its words and its numbers.

    Parameters
    ----------
    width, height : float
        Of the drawing, in its own units.
    body : str
        SVG elements.
    alternative : str
        What a reader who cannot see the drawing is told.
    data : mapping
        The numbers drawn, for the JSON of the page.

    Examples
    --------
    >>> Chart(10, 5, "", "an empty drawing").svg
    '<svg class="chart" role="img" viewBox="0 0 10 5" aria-label="an empty drawing">...</svg>'
    """

    width: float
    height: float
    body: str
    alternative: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def svg(self) -> str:
        """The SVG element."""
        return self.drawn()

    def drawn(self, title: str = "", alternative: str = "") -> str:
        """Return the SVG element with a title and another alternative text."""
        told = clean(alternative or self.alternative)
        head = f"<title>{escape(clean(title))}</title>" if title else ""
        label = escape(f"{clean(title).rstrip('.')}. {told}" if title else told)
        return (
            f'<svg class="chart" role="img" viewBox="0 0 {tidy(self.width)} {tidy(self.height)}" '
            f'aria-label="{label}">{head}<desc>{escape(told)}</desc>{self.body}</svg>'
        )


class Sheet:
    """SVG elements in the order in which they were drawn.

    Examples
    --------
    >>> sheet = Sheet()
    >>> sheet.text(4, 10.04, "a < b", "muted")
    >>> sheet.body
    '<text class="muted" x="4" y="10">a &lt; b</text>'
    """

    def __init__(self) -> None:
        self.parts: list[str] = []

    @property
    def body(self) -> str:
        """All elements."""
        return "".join(self.parts)

    def add(self, name: str, kind: str = "", inside: str = "", **attributes: Any) -> None:
        """Add one element; underscores in names of attributes are hyphens."""
        told = "".join(
            f' {key.replace("_", "-")}="{tidy(value) if isinstance(value, float) else value}"'
            for key, value in attributes.items()
            if value not in ("", None)
        )
        kind = f' class="{kind}"' if kind else ""
        close = f">{inside}</{name}>" if inside else "/>"
        self.parts.append(f"<{name}{kind}{told}{close}")

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "") -> None:
        """Add a line of text; anchor is "middle" or "end"."""
        self.add(
            "text", kind, escape(clean(text)), x=float(x), y=float(y), text_anchor=anchor or None
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, dash: str = "") -> None:
        """Add a straight line."""
        ends: dict[str, Any] = {"x1": float(x1), "y1": float(y1), "x2": float(x2), "y2": float(y2)}
        self.add("line", kind, **ends, stroke_dasharray=dash)

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, tip: str = ""
    ) -> None:
        """Add a rectangle, with a tip that shows when it is pointed at."""
        inside = f"<title>{escape(clean(tip))}</title>" if tip else ""
        size = {"width": float(max(width, 0.0)), "height": float(max(height, 0.0))}
        self.add("rect", kind, inside, x=float(x), y=float(y), **size)

    def path(self, x: ArrayLike, y: ArrayLike, kind: str, dash: str = "") -> None:
        """Add a line through points; a point that is NaN interrupts it."""
        drawn = path_of(np.asarray(x), np.asarray(y))
        if drawn:
            self.add("path", kind, d=drawn, stroke_dasharray=dash)

    def marker(
        self, x: float, y: float, shape: str, kind: str, tip: str = "", r: float = 4
    ) -> None:
        """Add a point of a shape: "circle", "square", "triangle", "diamond" or "down"."""
        inside = f"<title>{escape(clean(tip))}</title>" if tip else ""
        if shape == "circle":
            self.add("circle", kind, inside, cx=float(x), cy=float(y), r=float(r))
            return
        corners = {
            "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
            "triangle": ((0, -1.25), (1.2, 0.95), (-1.2, 0.95)),
            "down": ((0, 1.25), (1.2, -0.95), (-1.2, -0.95)),
            "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
        }[shape]
        points = " ".join(f"{tidy(x + r * a)},{tidy(y + r * b)}" for a, b in corners)
        self.add("polygon", kind, inside, points=points)

    def cut(self, x: float, y: float, width: float, height: float, inner: Sheet) -> None:
        """Add what another sheet holds, cut at a rectangle; its coordinates begin there."""
        size = {"width": float(width), "height": float(height)}
        if inner.parts:
            self.add("svg", "", inner.body, x=float(x), y=float(y), **size, overflow="hidden")


class Frame:
    """A plot area with its two axes, drawn on a sheet under a legend.

    Parameters
    ----------
    x, y : Scale
    x_label : str or sequence of str
        In the reader's words; a sequence is the lines that it is broken into.
    y_label : str
    legend : sequence of (name, draw)
        draw(sheet, x, y) puts a sample of 26 units at a place.
    height : float
        Of the plot area.
    top : float
        Where to begin.
    y_grid : bool
        Whether lines stand at the ticks of y.
    """

    def __init__(
        self,
        x: Scale,
        y: Scale,
        *,
        x_label: str | Sequence[str],
        y_label: str,
        legend: Sequence[tuple[str, Any]] = (),
        height: float = 240.0,
        sheet: Sheet | None = None,
        top: float = 0.0,
        left: float = 0.0,
        width: float = WIDTH,
    ) -> None:
        self.x, self.y = x, y
        self.sheet = sheet or Sheet()
        self.inner = Sheet()
        wide = max((text_width(text) for text in y.texts), default=0.0)
        self.start = left
        self.left, self.right = left + wide + 10.0, left + width - 20.0
        at = draw_legend(self.sheet, legend, left, self.right, top)
        for text in wrapped(y_label, self.right - left):
            at += LINE
            self.sheet.text(left, at - 4.0, text, "label")
        self.top, self.bottom = at + 8.0, at + 8.0 + height
        self._axes(x_label)

    @property
    def width(self) -> float:
        """Of the plot area."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Of the plot area."""
        return self.bottom - self.top

    def _axes(self, x_label: str | Sequence[str]) -> None:
        sheet = self.sheet
        for at, text in zip(self.up(self.y.ticks), self.y.texts, strict=True):
            sheet.line(self.left, at, self.right, at, "grid")
            sheet.text(self.left - 6.0, at + 4.5, text, "tick", "end")
        sheet.line(self.left, self.bottom, self.right, self.bottom, "axis")
        free = -math.inf
        for at, text in zip(self.along(self.x.ticks), self.x.texts, strict=True):
            half = text_width(text) / 2
            centre = max(self.start + half, min(at, self.right + 20.0 - half))
            sheet.line(at, self.bottom, at, self.bottom + 4.0, "axis")
            if centre - half > free + 4.0:  # no two texts touch
                sheet.text(centre, self.bottom + LINE, text, "tick", "middle")
                free = centre + half
        self.end = self.bottom + LINE + 2.0
        wide = self.right - self.left + 20.0
        for text in wrapped(x_label, wide) if isinstance(x_label, str) else x_label:
            self.end += LINE
            sheet.text((self.left + self.right) / 2, self.end, text, "label", "middle")
        self.end += 8.0

    def along(self, values: ArrayLike) -> NDArray[Any]:
        """Return where values of x lie on the sheet."""
        return self.x.place(values, self.left, self.right)

    def up(self, values: ArrayLike) -> NDArray[Any]:
        """Return where values of y lie on the sheet."""
        return self.y.place(values, self.bottom, self.top)

    def path(self, x: ArrayLike, y: ArrayLike, kind: str, dash: str = "") -> None:
        """Draw a line in the units of the axes, cut at the frame."""
        self.inner.path(self.along(x) - self.left, self.up(y) - self.top, kind, dash)

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, kind: str) -> None:
        """Shade between two lines; an unbounded side reaches the frame."""
        places = self.along(x) - self.left
        far = 4.0 * self.height
        peak, base = np.asarray(high, dtype=np.float64), np.asarray(low, dtype=np.float64)
        top = np.clip(self.up(np.where(np.isposinf(peak), np.nan, peak)) - self.top, -far, far)
        top = np.where(np.isposinf(peak), -far, top)
        floor = np.isneginf(base) | ((base <= 0) & self.y.log)
        bottom = np.clip(self.up(np.where(floor, np.nan, base)) - self.top, -far, far)
        bottom = np.where(floor, far, bottom)
        ok = np.isfinite(places) & np.isfinite(top) & np.isfinite(bottom)
        for run in runs(ok):
            drawn = path_of(
                np.concatenate([places[run], places[run][::-1]]),
                np.concatenate([top[run], bottom[run][::-1]]),
            )
            self.inner.add("path", kind, d=drawn + "Z")

    def close(self) -> None:
        """Put what was drawn in the frame onto the sheet: first lines, then points go over them."""
        self.sheet.cut(self.left, self.top, self.width, self.height, self.inner)
        self.inner = Sheet()


def draw_legend(
    sheet: Sheet, legend: Sequence[tuple[str, Any]], left: float, right: float, top: float
) -> float:
    """Draw samples with their names in lines, and return where the next thing may begin."""
    x, y = left, top
    shown = [(name, draw) for name, draw in legend if name]
    for place, (name, draw) in enumerate(shown):
        lines = wrapped(name, right - left - 34.0)
        wide = 34.0 + max(text_width(text) for text in lines)
        if place == 0 or x + wide > right:
            x, y = left, y + LINE
        draw(sheet, x, y - 5.0)
        for more, text in enumerate(lines):
            y += LINE if more else 0.0
            sheet.text(x + 32.0, y, text, "key")
        x += wide + 16.0
    return y + (10.0 if shown else 0.0)


def text_width(text: str) -> float:
    """Return a cautious guess of a text's width."""
    return LETTER * len(text)


def wrapped(text: str, width: float) -> list[str]:
    """Break a text into lines that fit a width."""
    return broken(text, letters(width))


def letters(width: float) -> int:
    """Return how many letters fit a width."""
    return int(width / LETTER)


def path_of(x: NDArray[Any], y: NDArray[Any]) -> str:
    """Return the path through points, in as few letters as the eye needs."""
    parts, pen = [], False
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            pen = False
            continue
        parts.append(f"{'L' if pen else 'M'}{tidy(a)} {tidy(b)}")
        pen = True
    return "".join(parts)


def runs(ok: NDArray[np.bool_]) -> list[slice]:
    """Return the stretches that are true.

    Examples
    --------
    >>> runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    edge = np.flatnonzero(np.diff(np.concatenate([[False], ok, [False]]).astype(int)))
    return [slice(int(a), int(b)) for a, b in zip(edge[::2], edge[1::2], strict=True)]


def thin(n: int) -> NDArray[np.intp]:
    """Return which of n points of a line are drawn: all, or evenly spread ones with both ends."""
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, MOST_POINTS).round().astype(np.intp))


def tidy(value: float) -> str:
    """Write a coordinate to a tenth.

    Examples
    --------
    >>> tidy(3.0), tidy(2.25), tidy(-0.01)
    ('3', '2.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def digits(values: ArrayLike) -> list[Any]:
    """Return numbers as drawn, to six digits, for the JSON of the page."""
    return [float(f"{v:.6g}") for v in np.asarray(values, dtype=np.float64).ravel().tolist()]
