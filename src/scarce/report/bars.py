"""Bars: importance and coefficients with intervals, counts of decisions, scores by label state.

Charts take plain arrays. Bars of one chart have one colour and their value in figures at the end;
states of a histogram differ in hatching as well as in colour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import UsageError
from scarce.report.axes import Axis
from scarce.report.canvas import (
    COLOURS,
    LINE,
    WIDTH,
    Chart,
    Frame,
    Sheet,
    digits,
    draw_legend,
    runs,
    text_width,
)
from scarce.report.labels import fitted
from scarce.report.lines import Line, draw_lines, draw_threshold, looks, threshold_sample
from scarce.report.values import cell, number

ROW = 26.0  # height of a horizontal bar with its gap
MORE = 15.0  # for a name's second line
MOST_BARS = 40
OUTLINES = ("", "6 3", "1.5 3", "8 3 2 3")  # dashes of the states of a histogram


def bar_chart(
    names: Sequence[object],
    values: ArrayLike,
    *,
    x_label: str,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    reference: float = 0.0,
    percent: bool = False,
    truth: ArrayLike | None = None,
) -> Chart:
    """Draw horizontal bars, with intervals where they have limits.

    Parameters
    ----------
    names : sequence of length n
        What stands before each bar, in the order given; of more than 40 the first are drawn.
    values : array-like of shape (n,)
    x_label : str
    low, high : array-like of shape (n,), optional
        Intervals.
    reference : float
        Where bars begin.
    percent : bool
    truth : array-like of shape (n,), optional
        True values, drawn as diamonds.

    Returns
    -------
    Chart

    Examples
    --------
    >>> bar_chart(["pass", "ask"], [970, 30], x_label="rows").alternative
    'rows: pass 970; ask 30.'
    """
    own = np.asarray(values, dtype=np.float64)
    limits = [None if v is None else np.asarray(v, dtype=np.float64) for v in (low, high, truth)]
    if own.ndim != 1 or len(own) == 0 or len(names) != len(own):
        raise UsageError(
            f"{len(names)} names and values of shape {own.shape} make no bars: give one value for "
            "each name."
        )
    if any(part is not None and part.shape != own.shape for part in limits):
        raise UsageError("The limits or true values of bars are not one for each bar.")
    shown = min(len(own), MOST_BARS)
    held = [part[:shown] for part in (own, *limits) if part is not None]
    axis = Axis.over(np.append(np.concatenate(held), reference), percent=percent, count=4)
    texts = fitted(names[:shown], 0.4 * WIDTH)
    wide = max(text_width(text) for lines in texts for text in (*lines, "")) + 8.0
    whole = np.array_equal(own, np.round(own)) and not percent
    figures = [cell(int(v)) if whole else number(v, percent=percent) for v in own[:shown]]
    left, right = wide, WIDTH - 12.0 - max(map(text_width, figures))
    sheet, top = Sheet(), 4.0
    if limits[2] is not None:
        top += draw_legend(sheet, [("truth", _truth_sample)], left, right, 0.0)
    edges = top + np.cumsum([0.0, *(ROW + MORE * max(0, len(lines) - 1) for lines in texts)])
    bottom = float(edges[-1])
    for at, text in _spaced(axis, left, right):
        sheet.line(at, top, at, bottom, "grid")
        sheet.text(at, bottom + LINE, text, "tick", "middle")
    start = float(axis.place(reference, left, right))
    places = axis.place(own[:shown], left, right)
    for i, lines in enumerate(texts):
        middle = float(edges[i] + edges[i + 1]) / 2
        for at, text in enumerate(lines):
            up = MORE * (at - (len(lines) - 1) / 2)
            sheet.text(wide - 8.0, middle + 5.0 + up, text, "name", "end")
        _bar(sheet, start, float(places[i]), middle, f"{names[i]}: {figures[i]}")
        _interval(sheet, axis, limits, i, (left, right, middle))
        sheet.text(WIDTH, middle + 5.0, figures[i], "value", "end")
    sheet.line(start, top, start, bottom, "axis")
    sheet.text((left + right) / 2, bottom + 2.2 * LINE, x_label, "label", "middle")
    told = "; ".join(f"{n} {f}" for n, f in zip(names[:shown], figures, strict=True))
    more = f" {len(own) - shown:,} more are not drawn." if len(own) > shown else ""
    data: dict[str, Any] = {
        "x": x_label,
        "names": [str(name) for name in names[:shown]],
        "values": digits(own[:shown]),
    }
    for key, part in zip(("low", "high", "truth"), limits, strict=True):
        if part is not None:
            data[key] = digits(part[:shown])
    return Chart(WIDTH, bottom + 2.8 * LINE, sheet.body, f"{x_label}: {told}.{more}", data)


def histogram_chart(
    edges: ArrayLike,
    counts: Mapping[str, ArrayLike] | ArrayLike,
    *,
    x_label: str,
    y_label: str = "rows",
    lines: Sequence[Line] = (),
    threshold: float | None = None,
    threshold_name: str = "threshold",
    x_log: bool = False,
    x_percent: bool = False,
    y_log: bool | str = "auto",
) -> Chart:
    """Draw how many rows lie in each bin, by label state, with fitted lines and a threshold.

    Parameters
    ----------
    edges : array-like of shape (n_bins + 1,)
        Increasing.
    counts : array-like of shape (n_bins,), or mapping of state to such
        States are drawn as outlines over each other, not stacked: with a logarithmic axis stacks
        mislead.
    x_label, y_label : str
    lines : sequence of Line
        Such as the components of a mixture, in rows per bin.
    threshold : float, optional
    threshold_name : str
    x_log, x_percent : bool
    y_log : bool or "auto"
        "auto": where the tallest bin has more than 200 times the rows of the lowest that is not
        empty. A logarithmic axis begins at half a row.

    Returns
    -------
    Chart

    Examples
    --------
    >>> histogram_chart([0, 1, 2], {"events": [3, 4]}, x_label="score").alternative
    'rows by score, from 0 to 2 in 2 bins. events: 7 in all, most (4) between 1 and 2.'
    """
    ends = np.asarray(edges, dtype=np.float64)
    given = counts if isinstance(counts, Mapping) else {"": counts}
    states = {str(name): np.asarray(count, dtype=np.float64) for name, count in given.items()}
    if ends.ndim != 1 or len(ends) < 2 or not (np.diff(ends) > 0).all() or not states:
        raise UsageError("A histogram needs edges in increasing order and counts for the bins.")
    if any(count.shape != (len(ends) - 1,) for count in states.values()):
        raise UsageError(
            f"{len(ends)} edges make {len(ends) - 1} bins: give one count for each bin and state."
        )
    drawn = looks(lines, first=len(states)) if lines else []
    tall = np.concatenate([*states.values(), *(line.y for line in drawn)])
    seen = tall[np.isfinite(tall) & (tall > 0)]
    if y_log == "auto":
        counted = np.concatenate([c[c > 0] for c in states.values()])
        y_log = bool(len(counted) and counted.max() > 200 * counted.min())
    if y_log and len(seen):
        y = Axis.over([], log=True, ends=(0.5, 1.3 * max(float(seen.max()), 1.0)))
    else:
        y = Axis.over(np.append(seen, 0.0))
    x = Axis.over(ends, log=x_log, percent=x_percent, ends=(_first(ends, x_log), float(ends[-1])))
    legend: list[tuple[str, Callable[..., None]]] = [
        (name, _sampler(i)) for i, name in enumerate(states)
    ]
    legend += [(line.name, line.sample) for line in drawn]
    if threshold is not None:
        legend.append((threshold_name, threshold_sample))
    frame = Frame(x, y, x_label=x_label, y_label=y_label, legend=legend)
    for i, count in enumerate(states.values()):
        _outline(frame, ends, count, i)
    draw_lines(frame, drawn)
    draw_threshold(frame, threshold)
    frame.close()
    low, high = (number(v, percent=x_percent) for v in (ends[0], ends[-1]))
    told = [f"{y_label} by {x_label}, from {low} to {high} in {len(ends) - 1} bins."]
    told += [_most(name, count, ends, x_percent) for name, count in states.items()]
    data = {
        "edges": digits(ends),
        "counts": {name: digits(count) for name, count in states.items()},
        "threshold": threshold,
    }
    return Chart(WIDTH, frame.end, frame.sheet.body, " ".join(told), data)


def _truth_sample(sheet: Sheet, x: float, y: float) -> None:
    sheet.marker(x + 13.0, y, "diamond", "dot c2")


def _bar(sheet: Sheet, start: float, end: float, middle: float, tip: str) -> None:
    if np.isfinite(end):
        sheet.box(min(start, end), middle - 8.0, abs(end - start), 16.0, "bar c1", tip)


def _interval(
    sheet: Sheet,
    axis: Axis,
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
        sheet.marker(x, middle, "diamond", "dot c2", f"truth {number(truth[i])}")


def _spaced(axis: Axis, left: float, right: float) -> list[tuple[float, str]]:
    """Return ticks whose texts do not touch."""
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


def _sampler(place: int) -> Callable[..., None]:
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
    a, b = (number(v, percent=percent) for v in (ends[top], ends[top + 1]))
    whole = f"{name}: " if name else ""
    return f"{whole}{number(count.sum())} in all, most ({number(count[top])}) between {a} and {b}."
