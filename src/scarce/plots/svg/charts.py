"""Pictures as SVG: curves, panels, bars, histograms and reliability diagrams.

`draw(picture)` returns a `Chart`: the drawing, its text alternative and the numbers drawn. Lines
differ in dashes, and bars of states in hatching, as well as in colour. Computes no result: see
picture.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.plots.names import fitted
from scarce.plots.picture import (
    MARKERS,
    Axis,
    Bars,
    Bins,
    Curves,
    Histogram,
    Line,
    Mark,
    Panels,
    Picture,
    ReliabilityPicture,
)
from scarce.plots.svg.scale import Scale
from scarce.plots.svg.sheet import (
    COLOURS,
    DASHES,
    LINE,
    WIDTH,
    Chart,
    Frame,
    Sheet,
    digits,
    draw_legend,
    letters,
    runs,
    text_width,
    thin,
    wrapped,
)
from scarce.results import short

ROW = 26.0  # height of a horizontal bar with its gap
MORE = 15.0  # for a name's second line
OUTLINES = ("", "6 3", "1.5 3", "8 3 2 3")  # dashes of the states of a histogram
Sample = Callable[[Sheet, float, float], None]  # draws a piece of something for the legend


@singledispatch
def draw(picture: Picture) -> Chart:
    """Return the drawing of a picture.

    Examples
    --------
    >>> from scarce.plots.picture import Axis
    >>> lines = [Line("cost", [0, 1, 2], [3, 2, 4])]
    >>> draw(Curves(lines, Axis("hours"), Axis("euros"))).alternative
    'euros against hours. cost: from 3 at 0 to 4 at 2; lowest 2, highest 4.'
    >>> draw(Bars(["pass", "ask"], [970, 30], Axis("rows"))).alternative
    'rows: pass 970; ask 30.'
    """
    raise TypeError(f"{type(picture).__name__} is not a picture.")


# --- curves ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A line as arrays, with its style."""

    name: str
    x: NDArray[Any]
    y: NDArray[Any]
    low: NDArray[Any] | None
    high: NDArray[Any] | None
    colour: str
    dash: str
    marker: str

    def sample(self, sheet: Sheet, x: float, y: float) -> None:
        """Draw its legend sample."""
        if self.low is not None:
            sheet.box(x, y - 6.0, 26.0, 12.0, f"band {self.colour}")
        sheet.line(x, y, x + 26.0, y, f"line {self.colour}", self.dash)
        if self.marker:
            sheet.marker(x + 13.0, y, self.marker, f"dot {self.colour}")


@draw.register
def _curves(picture: Curves) -> Chart:
    drawn = looks(picture.lines)
    marks, region = picture.marks, picture.region
    corners = np.empty((0, 4)) if region is None else region
    every_x = [part.x for part in drawn] + [np.array([mark.x for mark in marks])]
    every_y = [part.y for part in drawn] + [np.array([mark.y for mark in marks])]
    x, y = picture.x, picture.y
    across = Scale.over(
        np.concatenate([*every_x, corners[:, :2].ravel()]),
        log=x.log,
        percent=x.percent,
        ends=_named_ends(x),
    )
    if x.names:
        across = replace(across, ticks=tuple(range(len(x.names))), texts=tuple(x.names))
    up = Scale.over(
        _with_bands(np.concatenate([*every_y, corners[:, 2:].ravel()]), drawn, y.log),
        log=y.log,
        percent=y.percent,
        ends=y.ends,
    )
    legend: list[tuple[str, Sample]] = [(part.name, part.sample) for part in drawn]
    if region is not None:
        legend.append((picture.region_name, _region_sample))
    if picture.threshold is not None:
        legend.append((picture.threshold_name, threshold_sample))
    legend += [(note, _no_sample) for note in picture.notes]
    frame = Frame(across, up, x_label=x.label, y_label=y.label, legend=legend)
    if region is not None:
        _shade(frame, region)
    draw_lines(frame, drawn)
    draw_threshold(frame, picture.threshold)
    frame.close()
    for mark in marks:
        _draw_mark(frame, mark)
    told = [f"{y.label} against {x.label}."]
    told += [_told(part, x, y.percent) for part in drawn if part.name]
    told += [
        f"Marked: {mark.text} at {x.word(mark.x)}, {short(mark.y, percent=y.percent)}."
        for mark in marks
    ]
    if picture.threshold is not None and x.names:
        told.append(f"Marked: {picture.threshold_name}.")
    elif picture.threshold is not None:
        told.append(f"The {picture.threshold_name} is {x.word(picture.threshold)}.")
    data = {
        "x": x.label,
        "y": y.label,
        "lines": [_data(part) for part in drawn],
        "threshold": picture.threshold,
        "marks": [asdict(mark) for mark in marks],
        **({"names": list(x.names)} if x.names else {}),
    }
    return Chart(WIDTH, frame.end, frame.sheet.body, " ".join(told), data)


def _named_ends(axis: Axis) -> tuple[float, float] | None:
    """Ends of an axis: half a step around names."""
    return (-0.5, len(axis.names) - 0.5) if axis.names and axis.ends is None else axis.ends


def _shade(frame: Frame, boxes: NDArray[Any]) -> None:
    """Shade the union of boxes: one path, so overlaps are not darker."""
    parts = []
    for left, right, low, high in boxes.tolist():
        x = np.array([left, right, right, left])
        y = np.array([low, low, high, high])
        places = zip(frame.along(x) - frame.left, frame.up(y) - frame.top, strict=True)
        parts.append("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places) + "Z")
    frame.inner.add("path", "band c1", d="".join(parts))


def _region_sample(sheet: Sheet, x: float, y: float) -> None:
    sheet.box(x, y - 6.0, 26.0, 12.0, "band c1")


def _no_sample(sheet: Sheet, x: float, y: float) -> None:
    """A note has no sample."""


@draw.register
def _panels(picture: Panels) -> Chart:
    panels = {name: looks(lines) for name, lines in picture.panels.items()}
    flat = [part for lines in panels.values() for part in lines]
    y = picture.y
    up = Scale.over(
        _with_bands(np.concatenate([part.y for part in flat]), flat, y.log),
        log=y.log,
        percent=y.percent,
        ends=y.ends,
        count=4,
    )
    across = 2 if len(panels) > 1 else 1
    width = WIDTH / across
    sheet = Sheet()
    named = {part.name: part.sample for part in flat if part.name}
    end = draw_legend(sheet, list(named.items()), 0.0, WIDTH, 0.0)
    for text in wrapped(y.label, WIDTH):
        end += LINE
        sheet.text(0.0, end - 4.0, text, "label")
    top = end
    labels = fitted(list(panels), letters(width - 60.0), lines=3)
    for place, (label, lines) in enumerate(zip(labels, panels.values(), strict=True)):
        top = end if place % across == 0 else top
        reach = np.concatenate([part.x for part in lines])
        ends = (float(reach.min()), float(reach.max()))
        frame = Frame(
            Scale.over(reach, ends=ends if ends[0] < ends[1] else None, count=4),
            up,
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
        first = next(part for part in lines if part.colour != "grey")
        start = f"{y.label} against" if place == 0 else "Against"
        told.append(
            f"{start} {name}: from {short(first.y[0], percent=y.percent)} at "
            f"{short(first.x[0])} to {short(first.y[-1], percent=y.percent)} at "
            f"{short(first.x[-1])}."
        )
    data = {"y": y.label, "panels": {name: [_data(p) for p in ls] for name, ls in panels.items()}}
    return Chart(WIDTH, end, sheet.body, " ".join(told), data)


def looks(lines: Sequence[Line], first: int = 0) -> list[Drawn]:
    """Give each line its colour, dash and marker; the first colours may be taken already."""
    drawn, coloured, greys = [], first, 0
    for line in lines:
        own = ["dashed", "dotted", "dashdot"][greys % 3] if line.grey else ""
        turn = max(coloured - 1, 0) if line.like_last else coloured
        own = own or list(DASHES)[turn % len(DASHES)]
        dash = own if line.dash == "auto" else line.dash
        marker = MARKERS[turn % len(MARKERS)] if line.marker == "auto" else line.marker
        colour = "grey" if line.grey else f"c{turn % COLOURS + 1}"
        coloured += not (line.grey or line.like_last)
        greys += line.grey
        drawn.append(_arrays(line, colour, DASHES[dash], marker))
    return drawn


def _arrays(line: Line, colour: str, dash: str, marker: str) -> Drawn:
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    limits = [None if v is None else np.asarray(v, dtype=np.float64) for v in (line.low, line.high)]
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
    """Add the limits of bands, unless they are far beyond the lines."""
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
    """Draw a vertical line at a threshold within the axis."""
    if threshold is not None and frame.x.holds(threshold):
        x = float(frame.along(threshold)) - frame.left
        frame.inner.line(x, 0.0, x, frame.height, "threshold", DASHES["dashdot"])


def threshold_sample(sheet: Sheet, x: float, y: float) -> None:
    """Draw the legend sample of a threshold."""
    sheet.line(x + 13.0, y - 8.0, x + 13.0, y + 8.0, "threshold", DASHES["dashdot"])


def _draw_mark(frame: Frame, mark: Mark) -> None:
    """Draw a point with its intervals, slope and label."""
    x, y = float(frame.along(mark.x)), float(frame.up(mark.y))
    if not (frame.x.holds(mark.x) and frame.y.holds(mark.y)):
        return
    sheet = frame.sheet
    _draw_slope(frame, mark, x, y)
    if mark.low is not None and mark.high is not None:
        ends = np.clip([mark.low, mark.high], frame.y.low, frame.y.high)
        sheet.line(x, float(frame.up(ends[0])), x, float(frame.up(ends[1])), "reach ink")
    if mark.x_low is not None and mark.x_high is not None:
        ends = np.clip([mark.x_low, mark.x_high], frame.x.low, frame.x.high)
        sheet.line(float(frame.along(ends[0])), y, float(frame.along(ends[1])), y, "reach ink")
    if mark.certain:
        sheet.marker(x, y, "diamond", "dot ink", mark.text, 5.0)
    wide = text_width(mark.text)
    left = x + 10.0 + wide > frame.right
    above = y - frame.top > 24.0
    at = max(frame.left + wide + 2.0, x - 10.0) if left else x + 10.0
    sheet.text(at, y - 9.0 if above else y + 20.0, mark.text, "note", "end" if left else "")


def _draw_slope(frame: Frame, mark: Mark, x: float, y: float) -> None:
    """Draw the slope as a short line of constant length, and its interval."""
    if mark.slope is None or np.isnan(mark.slope):
        return
    if mark.slope_low is not None and mark.slope_high is not None:
        low, high = (_way(frame, mark, one) for one in (mark.slope_low, mark.slope_high))
        corners = [(x, y), (x + low[0], y + low[1]), (x + high[0], y + high[1])]
        frame.sheet.add(
            "polygon", "band ink", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
        )
    across, up = _way(frame, mark, mark.slope)
    frame.sheet.line(x - across, y - up, x + across, y + up, "tangent ink")


def _way(frame: Frame, mark: Mark, slope: float) -> tuple[float, float]:
    """Return a step of this slope, which may be infinite, and of constant length on the sheet."""
    if not np.isfinite(slope):
        return 0.0, -46.0 * float(np.sign(slope)) if slope == slope else 0.0
    step = 1e-4 * (frame.x.high - frame.x.low)
    run = float(frame.along(mark.x + step) - frame.along(mark.x - step))
    rise = float(frame.up(mark.y + step * slope) - frame.up(mark.y - step * slope))
    size = float(np.hypot(run, rise)) or 1.0
    return 46.0 * run / size, 46.0 * rise / size


def _told(part: Drawn, across: Axis, y_percent: bool) -> str:
    seen = np.isfinite(part.x) & np.isfinite(part.y)
    if not seen.any():
        return f"{part.name}: nothing to draw."
    x, y = part.x[seen], part.y[seen]
    value = [short(v, percent=y_percent) for v in (y[0], y[-1], y.min(), y.max())]
    place = [across.word(v) for v in (x[0], x[-1])]
    return (
        f"{part.name}: from {value[0]} at {place[0]} to {value[1]} at {place[1]}; lowest "
        f"{value[2]}, highest {value[3]}."
    )


def _data(part: Drawn) -> dict[str, Any]:
    held = {"name": part.name, "x": digits(part.x), "y": digits(part.y)}
    if part.low is not None and part.high is not None:
        held |= {"low": digits(part.low), "high": digits(part.high)}
    return held


# --- bars and histograms --------------------------------------------------------------------------


@draw.register
def _bars(picture: Bars) -> Chart:
    names, percent = picture.names, picture.x.percent
    own = np.asarray(picture.values, dtype=np.float64)
    given = (picture.low, picture.high, picture.truth)
    limits = [None if v is None else np.asarray(v, dtype=np.float64) for v in given]
    shown = min(len(own), picture.most)
    held = [part[:shown] for part in (own, *limits) if part is not None]
    reach = np.append(np.concatenate(held), picture.reference)
    axis = Scale.over(reach, percent=percent, ends=picture.x.ends, count=4)
    texts = fitted(names[:shown], letters(0.4 * WIDTH))
    wide = max(text_width(text) for lines in texts for text in (*lines, "")) + 8.0
    whole = np.array_equal(own, np.round(own)) and not percent
    figures = [f"{int(v):,}" if whole else short(v, percent=percent) for v in own[:shown]]
    left, right = wide, WIDTH - 12.0 - max(map(text_width, figures))
    sheet, top = Sheet(), 4.0
    if limits[2] is not None:
        top += draw_legend(sheet, [("truth", _truth_sample)], left, right, 0.0)
    edges = top + np.cumsum([0.0, *(ROW + MORE * max(0, len(lines) - 1) for lines in texts)])
    bottom = float(edges[-1])
    for at, text in spaced(axis, left, right):
        sheet.line(at, top, at, bottom, "grid")
        sheet.text(at, bottom + LINE, text, "tick", "middle")
    start = float(axis.place(picture.reference, left, right))
    places = axis.place(own[:shown], left, right)
    for i, lines in enumerate(texts):
        middle = float(edges[i] + edges[i + 1]) / 2
        for at, text in enumerate(lines):
            up = MORE * (at - (len(lines) - 1) / 2)
            sheet.text(wide - 8.0, middle + 5.0 + up, text, "name", "end")
        tip = f"{names[i]}: {figures[i]}"
        if np.isfinite(places[i]):
            end = float(places[i])
            sheet.box(min(start, end), middle - 8.0, abs(end - start), 16.0, "bar c1", tip)
        draw_interval(sheet, axis, limits, i, (left, right, middle))
        told = f"{figures[i]}, {picture.best_name}" if i == picture.best else figures[i]
        sheet.text(WIDTH, middle + 5.0, told, "value", "end")
    sheet.line(start, top, start, bottom, "axis")
    down = bottom + 1.2 * LINE
    for text in wrapped(picture.x.label, WIDTH):
        down += LINE
        sheet.text(WIDTH / 2, down, text, "label", "middle")
    told_bars = "; ".join(f"{n} {f}" for n, f in zip(names[:shown], figures, strict=True))
    more = f" {len(own) - shown:,} more are not drawn." if len(own) > shown else ""
    data: dict[str, Any] = {
        "x": picture.x.label,
        "names": [str(name) for name in names[:shown]],
        "values": digits(own[:shown]),
    }
    for key, part in zip(("low", "high", "truth"), limits, strict=True):
        if part is not None:
            data[key] = digits(part[:shown])
    words = f"{picture.x.label}: {told_bars}.{more}"
    return Chart(WIDTH, down + 0.6 * LINE, sheet.body, words, data)


@draw.register
def _histogram(picture: Histogram) -> Chart:
    ends = np.asarray(picture.edges, dtype=np.float64)
    states = {
        str(name): np.asarray(count, dtype=np.float64) for name, count in picture.counts.items()
    }
    drawn = looks(picture.lines, first=len(states)) if picture.lines else []
    tall = np.concatenate([*states.values(), *(line.y for line in drawn)])
    seen = tall[np.isfinite(tall) & (tall > 0)]
    y_log = picture.y_log
    if y_log == "auto":
        counted = np.concatenate([c[c > 0] for c in states.values()])
        y_log = bool(len(counted) and counted.max() > 200 * counted.min())
    if y_log and len(seen):  # a logarithmic axis begins at half a row
        up = Scale.over([], log=True, ends=(0.5, 1.3 * max(float(seen.max()), 1.0)))
    else:
        up = Scale.over(np.append(seen, 0.0))
    x = picture.x
    across = Scale.over(
        ends, log=x.log, percent=x.percent, ends=(_first(ends, x.log), float(ends[-1]))
    )
    legend: list[tuple[str, Sample]] = [(name, _sampler(i)) for i, name in enumerate(states)]
    legend += [(line.name, line.sample) for line in drawn]
    if picture.threshold is not None:
        legend.append((picture.threshold_name, threshold_sample))
    frame = Frame(across, up, x_label=x.label, y_label=picture.y.label, legend=legend)
    for i, count in enumerate(states.values()):
        _outline(frame, ends, count, i)
    draw_lines(frame, drawn)
    draw_threshold(frame, picture.threshold)
    frame.close()
    low, high = (short(v, percent=x.percent) for v in (ends[0], ends[-1]))
    told = [f"{picture.y.label} by {x.label}, from {low} to {high} in {len(ends) - 1} bins."]
    told += [_most(name, count, ends, x.percent) for name, count in states.items()]
    data = {
        "edges": digits(ends),
        "counts": {name: digits(count) for name, count in states.items()},
        "threshold": picture.threshold,
    }
    return Chart(WIDTH, frame.end, frame.sheet.body, " ".join(told), data)


def _truth_sample(sheet: Sheet, x: float, y: float) -> None:
    sheet.marker(x + 13.0, y, "diamond", "dot c2")


def draw_interval(
    sheet: Sheet,
    axis: Scale,
    limits: list[NDArray[Any] | None],
    i: int,
    at: tuple[float, float, float],
) -> None:
    """Draw the interval and the true value of one bar."""
    left, right, middle = at
    low, high, truth = limits
    if low is not None and high is not None and np.isfinite(low[i]) and np.isfinite(high[i]):
        a, b = (float(axis.place(v[i], left, right)) for v in (low, high))
        sheet.line(a, middle, b, middle, "reach ink")
        for end in (a, b):
            sheet.line(end, middle - 4.0, end, middle + 4.0, "reach ink")
    if truth is not None and np.isfinite(truth[i]):
        x = float(axis.place(truth[i], left, right))
        sheet.marker(x, middle, "diamond", "dot c2", f"truth {short(truth[i])}")


def spaced(axis: Scale, left: float, right: float) -> list[tuple[float, str]]:
    """Return ticks whose labels do not overlap."""
    kept, free = [], -np.inf
    for at, text in zip(axis.place(axis.ticks, left, right).tolist(), axis.texts, strict=True):
        half = text_width(text) / 2
        kept.append((at, text if at - half > free + 4.0 else ""))
        free = at + half if kept[-1][1] else free
    return kept


def _outline(frame: Frame, ends: NDArray[Any], count: NDArray[Any], place: int) -> None:
    """Shade the bins of one state and draw the line over them."""
    colour = f"c{place % COLOURS + 1}"
    dash, floor = OUTLINES[place % len(OUTLINES)], frame.y.low
    for run in runs(count > 0):  # no line along the bottom, where states would hide each other
        x = np.repeat(np.maximum(ends[run.start : run.stop + 1], frame.x.low), 2)
        y = np.concatenate([[floor], np.repeat(np.maximum(count[run], floor), 2), [floor]])
        frame.band(x, np.full_like(y, floor), y, f"band {colour}")
        frame.path(x, y, f"line {colour}", dash)


def _sampler(place: int) -> Sample:
    colour, dash = f"c{place % COLOURS + 1}", OUTLINES[place % len(OUTLINES)]

    def sample(sheet: Sheet, x: float, y: float) -> None:
        sheet.box(x, y - 6.0, 26.0, 12.0, f"band {colour}")
        sheet.line(x, y - 6.0, x + 26.0, y - 6.0, f"line {colour}", dash)

    return sample


def _first(ends: NDArray[Any], log: bool) -> float:
    """Return where the axis begins: a logarithmic one cannot begin at 0."""
    if not log or ends[0] > 0:
        return float(ends[0])
    return float(ends[1] / 3) if ends[1] > 0 else 1e-3


def _most(name: str, count: NDArray[Any], ends: NDArray[Any], percent: bool) -> str:
    top = int(np.argmax(count))
    a, b = (short(v, percent=percent) for v in (ends[top], ends[top + 1]))
    whole = f"{name}: " if name else ""
    return f"{whole}{short(count.sum())} in total, most ({short(count[top])}) between {a} and {b}."


# --- reliability ----------------------------------------------------------------------------------


@draw.register
def _reliability(picture: ReliabilityPicture) -> Chart:
    parts = list(picture.series.items())
    scale = _common_scale([one for _, one in parts], picture.log)
    legend: list[tuple[str, Sample]] = [
        (name or f"bins, with {100 * picture.level:g} % intervals", _bins_sampler(i))
        for i, (name, _) in enumerate(parts)
    ]
    if picture.log and any((one.observed <= 0).any() for _, one in parts):
        legend.append(("no event: upper limit", _none_sample))
    legend.append(("calibrated", _calibrated_sample))
    x, y = picture.x.label, picture.y.label
    frame = Frame(scale, scale, x_label=x, y_label=y, legend=legend, height=300.0)
    both = np.array([scale.low, scale.high])
    frame.path(both, both, "line grey", DASHES["dashed"])
    frame.close()
    for i, (_, one) in enumerate(parts):
        _draw_bins(frame, one, i)
    end = frame.end
    if len(parts) == 1 and parts[0][1].rows is not None:
        end = _row_bars(frame, parts[0][1].predicted, parts[0][1].rows)
    count = sum(len(one.predicted) for _, one in parts)
    told = [f"{y[:1].upper()}{y[1:]} against {x}, in {count} bins."]
    for name, one in parts:
        told += [f"{name}:"] if name else []
        told += [f"Predicted {_bin_words(one, i)}." for i in range(len(one.predicted))]
    data: dict[str, Any] = {
        "level": picture.level,
        "series": [{"name": name, **_bins_data(one)} for name, one in parts],
    }
    if picture.edges is not None:
        data["edges"] = digits(picture.edges)
    return Chart(WIDTH, end, frame.sheet.body, " ".join(told), data)


def _bin_words(bins: Bins, i: int) -> str:
    given, seen, low, high = (
        short(part[i], percent=True)
        for part in (bins.predicted, bins.observed, bins.low, bins.high)
    )
    return f"{given}, observed {seen} [{low}, {high}]"


def _draw_bins(frame: Frame, bins: Bins, place: int) -> None:
    """Draw the points of one series and their intervals."""
    colour, shape = f"c{place % COLOURS + 1}", MARKERS[place % len(MARKERS)]
    bottom = frame.y.low
    for i, at in enumerate(frame.along(bins.predicted).tolist()):
        tip = f"predicted {_bin_words(bins, i)}"
        if bins.rows is not None:
            tip += f", {bins.rows[i]:,.0f} rows"
        top = float(frame.up(bins.high[i]))
        end = float(frame.up(max(bins.low[i], bottom)))
        if frame.y.log and bins.observed[i] <= 0:
            frame.sheet.line(at, top, at, frame.bottom, f"reach {colour}", DASHES["dotted"])
            frame.sheet.marker(at, top, "down", f"open {colour}", tip)
            continue
        frame.sheet.line(at, end, at, top, f"reach {colour}")
        for edge in (end, top):
            frame.sheet.line(at - 3.0, edge, at + 3.0, edge, f"reach {colour}")
        frame.sheet.marker(at, float(frame.up(bins.observed[i])), shape, f"dot {colour}", tip)


def _bins_sampler(place: int) -> Sample:
    colour, shape = f"c{place % COLOURS + 1}", MARKERS[place % len(MARKERS)]

    def sample(sheet: Sheet, x: float, y: float) -> None:
        sheet.line(x + 13.0, y - 8.0, x + 13.0, y + 8.0, f"reach {colour}")
        sheet.marker(x + 13.0, y, shape, f"dot {colour}")

    return sample


def _bins_data(bins: Bins) -> dict[str, Any]:
    kinds = ("predicted", "observed", "low", "high", "rows")
    held = {key: getattr(bins, key) for key in kinds}
    return {key: digits(values) for key, values in held.items() if values is not None}


def _common_scale(parts: Sequence[Bins], log: bool) -> Scale:
    """Return one scale for both axes; calibrated points lie on the diagonal."""
    given = np.concatenate([part.predicted for part in parts])
    seen = np.concatenate([part.observed for part in parts])
    high = np.concatenate([part.high for part in parts])
    if not log:
        top = float(np.nanmax(np.concatenate([given, high])))
        return Scale.over([0.0, 1.0 if top > 0.5 else top], percent=True)
    happened = np.concatenate([given[given > 0], seen[seen > 0]])
    least = happened.min() if len(happened) else 1e-3
    limits = high[(seen <= 0) & (high > 0)]
    least = min(least, limits.min() if len(limits) else least)
    most = min(1.0, float(np.nanmax(np.append(high, given))))
    return Scale.over([least, most], log=True, percent=True)


def _row_bars(frame: Frame, predicted: NDArray[Any], rows: NDArray[Any]) -> float:
    """Draw the rows of each bin as bars under the chart, and return where it ends."""
    sheet, top, height = frame.sheet, frame.end + 8.0, 44.0
    least, most = float(rows.min()), float(rows.max())
    if most <= 1.25 * least:  # bars of one height say nothing
        span = f"{least:,.0f}" + (f" to {most:,.0f}" if most > least else "")
        sheet.text(frame.left, top + 4.0, f"{span} rows per bin", "key")
        return top + LINE / 2
    sheet.text(frame.left, top + 4.0, f"rows per bin (at most {most:,.0f})", "key")
    base = top + 12.0 + height
    tallest = max(most, 1.0)
    for at, count in zip(frame.along(predicted).tolist(), rows.tolist(), strict=True):
        tall = max(height * count / tallest, 1.0 if count else 0.0)
        sheet.box(at - 4.0, base - tall, 8.0, tall, "bar c1", f"{count:,.0f} rows")
    sheet.line(frame.left, base, frame.right, base, "axis")
    return base + LINE / 2


def _calibrated_sample(sheet: Sheet, x: float, y: float) -> None:
    sheet.line(x, y, x + 26.0, y, "line grey", DASHES["dashed"])


def _none_sample(sheet: Sheet, x: float, y: float) -> None:
    sheet.marker(x + 13.0, y, "down", "open c1")
