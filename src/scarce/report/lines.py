"""Lines with bands: curves of cost, benefit, precision, and responses of single variables.

Charts take plain arrays and draw what they are given: intervals come from whoever computed them.
Each line has a colour, a dash and, where it has few points, a shape of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import UsageError, refuse_word
from scarce.report.axes import Axis
from scarce.report.canvas import (
    COLOURS,
    DASHES,
    LINE,
    MARKERS,
    WIDTH,
    Chart,
    Frame,
    Sheet,
    digits,
    draw_legend,
    text_width,
    thin,
    wrapped,
)
from scarce.report.labels import fitted
from scarce.report.values import number


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Parameters
    ----------
    name : str
        What the legend says; "" for none.
    x, y : array-like of shape (n,)
        A NaN interrupts the line.
    low, high : array-like of shape (n,), optional
        A band around it.
    dash : {"auto", "solid", "dashed", "dotted", "dashdot"}
        "auto" gives each line of a chart another one.
    marker : {"", "circle", "square", "triangle", "diamond", "auto"}
        Points on the line.
    grey : bool
        True for a line to compare with: it takes no colour of its own.
    step : bool
        Whether the value holds until the next x.

    Examples
    --------
    >>> Line("cost", [0, 1], [3, 2], low=[2, 1], high=[4, 3], dash="dashed").name
    'cost'
    """

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    dash: str = "auto"
    marker: str = ""
    grey: bool = False
    step: bool = False


@dataclass(frozen=True)
class Mark:
    """One point of a chart with words beside it.

    Parameters
    ----------
    x, y : float
    text : str
    slope : float, optional
        Of a short tangent through it, in units of y per unit of x.
    low, high : float, optional
        A vertical interval.
    x_low, x_high : float, optional
        A horizontal one.

    Examples
    --------
    >>> Mark(0.6, 0.7, "in use", slope=-1.1).text
    'in use'
    """

    x: float
    y: float
    text: str = ""
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    x_low: float | None = None
    x_high: float | None = None


@dataclass(frozen=True)
class Drawn:
    """A line as arrays, with the look that it was given."""

    name: str
    x: NDArray[Any]
    y: NDArray[Any]
    low: NDArray[Any] | None
    high: NDArray[Any] | None
    colour: str
    dash: str
    marker: str

    def sample(self, sheet: Sheet, x: float, y: float) -> None:
        """Draw a piece of it for the legend."""
        if self.low is not None:
            sheet.box(x, y - 6.0, 26.0, 12.0, f"band {self.colour}")
        sheet.line(x, y, x + 26.0, y, f"line {self.colour}", self.dash)
        if self.marker:
            sheet.marker(x + 13.0, y, self.marker, f"dot {self.colour}")


def line_chart(
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    marks: Sequence[Mark] = (),
    x_log: bool = False,
    y_log: bool = False,
    x_percent: bool = False,
    y_percent: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    threshold: float | None = None,
    threshold_name: str = "threshold",
) -> Chart:
    """Draw lines, with bands where they have limits.

    Parameters
    ----------
    lines : sequence of Line
    x_label, y_label : str
    marks : sequence of Mark
        Points with words, such as where the work is done now.
    x_log, y_log, x_percent, y_percent : bool
    x_range, y_range : (low, high), optional
        Ends of the axes; by default the lines and the marks fit, the bands as far as they do not
        dwarf them.
    threshold : float, optional
        Where to draw a vertical line.
    threshold_name : str

    Returns
    -------
    Chart

    Examples
    --------
    >>> chart = line_chart([Line("cost", [0, 1, 2], [3, 2, 4])], x_label="hours", y_label="euros")
    >>> chart.alternative
    'euros against hours. cost: from 3 at 0 to 4 at 2; lowest 2, highest 4.'
    """
    drawn = looks(lines)
    every_x = [part.x for part in drawn] + [np.array([mark.x for mark in marks])]
    every_y = [part.y for part in drawn] + [np.array([mark.y for mark in marks])]
    x = Axis.over(np.concatenate(every_x), log=x_log, percent=x_percent, ends=x_range)
    y = Axis.over(
        _with_bands(np.concatenate(every_y), drawn, y_log),
        log=y_log,
        percent=y_percent,
        ends=y_range,
    )
    legend: list[tuple[str, Callable[..., None]]] = [(part.name, part.sample) for part in drawn]
    if threshold is not None:
        legend.append((threshold_name, threshold_sample))
    frame = Frame(x, y, x_label=x_label, y_label=y_label, legend=legend)
    draw_lines(frame, drawn)
    draw_threshold(frame, threshold)
    frame.close()
    for mark in marks:
        _draw_mark(frame, mark)
    told = [f"{y_label} against {x_label}."]
    told += [_told(part, x_percent, y_percent) for part in drawn if part.name]
    told += [
        f"Marked: {mark.text} at {number(mark.x, percent=x_percent)}, "
        f"{number(mark.y, percent=y_percent)}."
        for mark in marks
    ]
    if threshold is not None:
        told.append(f"The {threshold_name} is {number(threshold, percent=x_percent)}.")
    data = {
        "x": x_label,
        "y": y_label,
        "lines": [_data(part) for part in drawn],
        "threshold": threshold,
        "marks": [asdict(mark) for mark in marks],
    }
    return Chart(WIDTH, frame.end, frame.sheet.body, " ".join(told), data)


def response_chart(
    curves: Mapping[str, Any], *, y_label: str, y_percent: bool = False, y_log: bool = False
) -> Chart:
    """Draw how an answer changes with each variable, in small panels with one scale.

    Parameters
    ----------
    curves : mapping of str to (x, y), (x, y, low, high) or mapping
        A mapping has "x", "y" and, where known, "low", "high", "truth" and "truth_x".
    y_label : str
    y_percent, y_log : bool

    Returns
    -------
    Chart

    Examples
    --------
    >>> chart = response_chart({"rain": ([0, 1], [0.2, 0.7]), "heat": ([3, 9], [0.5, 0.1])},
    ...                        y_label="probability")
    >>> chart.alternative
    'probability against rain: from 0.2 at 0 to 0.7 at 1. Against heat: from 0.5 at 3 to 0.1 at 9.'
    """
    if not curves:
        raise UsageError("A response chart needs at least one curve: give {'name': (x, y)}.")
    panels = {name: _panel_lines(name, given) for name, given in curves.items()}
    flat = [part for lines in panels.values() for part in lines]
    y = Axis.over(
        _with_bands(np.concatenate([part.y for part in flat]), flat, y_log),
        log=y_log,
        percent=y_percent,
        count=4,
    )
    across = 2 if len(panels) > 1 else 1
    width = WIDTH / across
    sheet = Sheet()
    named = {part.name: part.sample for part in flat if part.name}
    end = draw_legend(sheet, list(named.items()), 0.0, WIDTH, 0.0)
    for text in wrapped(y_label, WIDTH):
        end += LINE
        sheet.text(0.0, end - 4.0, text, "label")
    top = end
    labels = fitted(list(panels), width - 60.0, lines=3)
    for place, (label, lines) in enumerate(zip(labels, panels.values(), strict=True)):
        top = end if place % across == 0 else top
        reach = np.concatenate([part.x for part in lines])
        ends = (float(reach.min()), float(reach.max()))
        x = Axis.over(reach, ends=ends if ends[0] < ends[1] else None, count=4)
        frame = Frame(
            x,
            y,
            x_label=label,
            y_label="",
            height=130.0 if across == 2 else 200.0,
            sheet=sheet,
            top=top,
            left=(place % across) * width,
            width=width,
        )
        draw_lines(frame, lines)
        frame.close()
        end = max(end, frame.end)
    told = []
    for place, (name, lines) in enumerate(panels.items()):
        first = lines[-1]
        start = f"{y_label} against" if place == 0 else "Against"
        told.append(
            f"{start} {name}: from {number(first.y[0], percent=y_percent)} at "
            f"{number(first.x[0])} to {number(first.y[-1], percent=y_percent)} at "
            f"{number(first.x[-1])}."
        )
    data = {"y": y_label, "panels": {name: [_data(p) for p in ls] for name, ls in panels.items()}}
    return Chart(WIDTH, end, sheet.body, " ".join(told), data)


def looks(lines: Sequence[Line], first: int = 0) -> list[Drawn]:
    """Give each line its colour, dash and marker; the first colours may be taken already."""
    if not lines:
        raise UsageError("A line chart needs at least one line: give Line(name, x, y).")
    drawn, coloured, greys = [], first, 0
    for line in lines:
        own = ["dashed", "dotted", "dashdot"][greys % 3] if line.grey else ""
        own = own or list(DASHES)[coloured % len(DASHES)]
        dash = own if line.dash == "auto" else line.dash
        refuse_word("dash", dash, list(DASHES))
        marker = MARKERS[coloured % len(MARKERS)] if line.marker == "auto" else line.marker
        if marker:
            refuse_word("marker", marker, MARKERS)
        colour = "grey" if line.grey else f"c{coloured % COLOURS + 1}"
        coloured, greys = coloured + (not line.grey), greys + line.grey
        drawn.append(_arrays(line, colour, DASHES[dash], marker))
    return drawn


def _arrays(line: Line, colour: str, dash: str, marker: str) -> Drawn:
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    limits = [None if v is None else np.asarray(v, dtype=np.float64) for v in (line.low, line.high)]
    if x.ndim != 1 or any(part.shape != x.shape for part in (y, *limits) if part is not None):
        raise UsageError(
            f"Line {line.name!r} has x of shape {x.shape} and y of shape {y.shape}: give one "
            "number of each, and of the limits, for every point."
        )
    kept = thin(len(x))
    x, y = x[kept], y[kept]
    low, high = (None if part is None else part[kept] for part in limits)
    if line.step:
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        low, high = (None if part is None else np.repeat(part, 2)[:-1] for part in (low, high))
    if low is None or high is None:
        low = high = None
    return Drawn(line.name, x, y, low, high, colour, dash, marker)


def _with_bands(values: NDArray[Any], drawn: Sequence[Drawn], log: bool) -> NDArray[Any]:
    """Add the limits of bands, as far as they do not dwarf the lines themselves."""
    seen = values[np.isfinite(values) & ((values > 0) if log else True)]
    if not len(seen):
        return values
    room = 2.0 * max(float(np.ptp(seen)), 0.25 * float(np.abs(seen).max()))
    low, high = float(seen.min()), float(seen.max())
    edges = [part for one in drawn for part in (one.low, one.high) if part is not None]
    if not edges or log:
        return values
    held = np.concatenate(edges)
    held = np.clip(held[np.isfinite(held)], low - room, high + room)
    return np.concatenate([values, held])


def draw_lines(frame: Frame, drawn: Sequence[Drawn]) -> None:
    """Draw bands first, then the lines over them."""
    for part in drawn:
        if part.low is not None and part.high is not None:
            frame.band(part.x, part.low, part.high, f"band {part.colour}")
    for part in drawn:
        frame.path(part.x, part.y, f"line {part.colour}", part.dash)
        if part.marker:
            for x, y in zip(frame.along(part.x), frame.up(part.y), strict=True):
                if np.isfinite(x) and np.isfinite(y):
                    at = (x - frame.left, y - frame.top)
                    frame.inner.marker(*at, part.marker, f"dot {part.colour}")


def draw_threshold(frame: Frame, threshold: float | None) -> None:
    """Draw a vertical line where a threshold lies within the axis."""
    if threshold is not None and frame.x.holds(threshold):
        x = float(frame.along(threshold)) - frame.left
        frame.inner.line(x, 0.0, x, frame.height, "threshold", DASHES["dashdot"])


def threshold_sample(sheet: Sheet, x: float, y: float) -> None:
    """Draw a piece of a threshold for the legend."""
    sheet.line(x + 13.0, y - 8.0, x + 13.0, y + 8.0, "threshold", DASHES["dashdot"])


def _draw_mark(frame: Frame, mark: Mark) -> None:
    x, y = float(frame.along(mark.x)), float(frame.up(mark.y))
    if not (frame.x.holds(mark.x) and frame.y.holds(mark.y)):
        return
    sheet = frame.sheet
    if mark.slope is not None and np.isfinite(mark.slope):
        _draw_tangent(frame, mark, x, y)
    if mark.low is not None and mark.high is not None:
        ends = np.clip([mark.low, mark.high], frame.y.low, frame.y.high)
        sheet.line(x, float(frame.up(ends[0])), x, float(frame.up(ends[1])), "reach ink")
    if mark.x_low is not None and mark.x_high is not None:
        ends = np.clip([mark.x_low, mark.x_high], frame.x.low, frame.x.high)
        sheet.line(float(frame.along(ends[0])), y, float(frame.along(ends[1])), y, "reach ink")
    sheet.marker(x, y, "diamond", "dot ink", mark.text, 5.0)
    wide = text_width(mark.text)
    left = x + 10.0 + wide > frame.right
    above = y - frame.top > 24.0
    at = max(frame.left + wide + 2.0, x - 10.0) if left else x + 10.0
    sheet.text(at, y - 9.0 if above else y + 20.0, mark.text, "note", "end" if left else "")


def _draw_tangent(frame: Frame, mark: Mark, x: float, y: float) -> None:
    """Draw a short line of the slope, the same length on the sheet whatever the slope is."""
    assert mark.slope is not None
    step = 1e-4 * (frame.x.high - frame.x.low)
    run = float(frame.along(mark.x + step) - frame.along(mark.x - step))
    rise = float(frame.up(mark.y + step * mark.slope) - frame.up(mark.y - step * mark.slope))
    size = float(np.hypot(run, rise))
    if size > 0 and np.isfinite(size):
        a, b = 46.0 * run / size, 46.0 * rise / size
        frame.sheet.line(x - a, y - b, x + a, y + b, "tangent ink")


def _panel_lines(name: str, given: Any) -> list[Drawn]:
    if isinstance(given, Mapping):
        told = dict(given)
    else:
        told = dict(zip(("x", "y", "low", "high"), given, strict=False))
    if "x" not in told or "y" not in told:
        raise UsageError(f"The curve of {name!r} needs x and y: give (x, y) or a mapping of both.")
    lines = []
    known = told.get("truth") is not None
    if known:
        lines.append(Line("truth", told.get("truth_x", told["x"]), told["truth"], grey=True))
    own = "estimate" if known else ""
    lines.append(Line(own, told["x"], told["y"], told.get("low"), told.get("high")))
    return looks(lines)


def _told(part: Drawn, x_percent: bool, y_percent: bool) -> str:
    seen = np.isfinite(part.x) & np.isfinite(part.y)
    if not seen.any():
        return f"{part.name}: nothing to draw."
    x, y = part.x[seen], part.y[seen]
    value = [number(v, percent=y_percent) for v in (y[0], y[-1], y.min(), y.max())]
    place = [number(v, percent=x_percent) for v in (x[0], x[-1])]
    return (
        f"{part.name}: from {value[0]} at {place[0]} to {value[1]} at {place[1]}; lowest "
        f"{value[2]}, highest {value[3]}."
    )


def _data(part: Drawn) -> dict[str, Any]:
    held = {"name": part.name, "x": digits(part.x), "y": digits(part.y)}
    if part.low is not None and part.high is not None:
        held |= {"low": digits(part.low), "high": digits(part.high)}
    return held
