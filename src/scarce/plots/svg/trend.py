"""A figure over batches: intervals as upright lines, best guesses as marks of their own, as SVG.

A best guess is a hollow diamond, on its interval or alone; what was counted is a filled circle.
Batches that are not finished are grey. Computes no result: see picture.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.plots.names import fitted
from scarce.plots.picture import Trend
from scarce.plots.svg.charts import Sample, draw
from scarce.plots.svg.scale import Scale
from scarce.plots.svg.sheet import DASHES, WIDTH, Chart, Frame, Sheet, digits, letters
from scarce.results import short

CAP = 5.0  # half the width of the ends of an interval


@draw.register
def _trend(picture: Trend) -> Chart:
    value, low, high = (
        np.asarray(part, dtype=np.float64) for part in (picture.value, picture.low, picture.high)
    )
    count = len(picture.names)
    unfinished = np.zeros(count, bool)
    unfinished[: len(picture.open)] = picture.open
    checked = np.isfinite(low) & np.isfinite(high)
    names = [" ".join(lines) for lines in fitted(list(picture.names), letters(WIDTH / 3), lines=1)]
    across = Scale.over([], ends=(-0.5, count - 0.5))
    across = replace(across, ticks=tuple(range(count)), texts=tuple(names))
    whole = [] if picture.whole is None else [picture.whole]
    up = Scale.over(
        np.concatenate([value, low, high, whole, [0.0]]),
        percent=picture.y.percent,
        ends=picture.y.ends,
    )
    frame = Frame(
        across,
        up,
        x_label=picture.x.label,
        y_label=picture.y.label,
        legend=_legend(
            picture,
            checked & (low < high),
            checked & (low == high),
            np.isfinite(value) & ~(checked & (low == high)),
            unfinished,
        ),
    )
    if picture.whole is not None and up.holds(picture.whole):
        frame.path([-0.5, count - 0.5], [picture.whole] * 2, "line grey", DASHES["dashed"])
    frame.close()
    for i in range(count):
        x, late = float(frame.along(i)), bool(unfinished[i])
        exact = checked[i] and low[i] == high[i]
        if checked[i] and not exact:
            _reach(frame, x, low[i], high[i], "grey" if late else "c1")
        if np.isfinite(value[i]):
            y = float(frame.up(np.clip(value[i], up.low, up.high)))
            kind = f"{'dot' if exact else 'open'} {'grey' if late else 'c1' if exact else 'c2'}"
            frame.sheet.marker(x, y, "circle" if exact else "diamond", kind, _word(picture, i))
    return Chart(WIDTH, frame.end, frame.sheet.body, _told(picture), _data(picture, unfinished))


def _reach(frame: Frame, x: float, low: float, high: float, colour: str) -> None:
    """Draw an interval with its two ends."""
    bottom, top = (float(frame.up(np.clip(end, frame.y.low, frame.y.high))) for end in (low, high))
    frame.sheet.line(x, bottom, x, top, f"reach {colour}")
    for end in (bottom, top):
        frame.sheet.line(x - CAP, end, x + CAP, end, f"reach {colour}")


def _legend(
    picture: Trend,
    reached: NDArray[Any],
    exact: NDArray[Any],
    guessed: NDArray[Any],
    unfinished: NDArray[Any],
) -> list[tuple[str, Sample]]:
    def interval(sheet: Sheet, x: float, y: float) -> None:
        sheet.line(x + 13.0, y - 8.0, x + 13.0, y + 8.0, "reach c1")
        for end in (y - 8.0, y + 8.0):
            sheet.line(x + 13.0 - CAP, end, x + 13.0 + CAP, end, "reach c1")

    def guess(sheet: Sheet, x: float, y: float) -> None:
        sheet.marker(x + 13.0, y, "diamond", "open c2")

    def counted(sheet: Sheet, x: float, y: float) -> None:
        sheet.marker(x + 13.0, y, "circle", "dot c1")

    def grey(sheet: Sheet, x: float, y: float) -> None:
        sheet.marker(x + 13.0, y, "diamond", "open grey")

    def across(sheet: Sheet, x: float, y: float) -> None:
        sheet.line(x, y, x + 26.0, y, "line grey", DASHES["dashed"])

    legend: list[tuple[str, Sample, bool]] = [
        (picture.interval, interval, bool(reached.any())),
        (picture.guess, guess, bool(guessed.any())),
        (picture.counted, counted, bool(exact.any())),
        (f"grey: {picture.unfinished}", grey, bool(unfinished.any())),
        (picture.whole_name, across, picture.whole is not None),
    ]
    return [(name, sample) for name, sample, shown in legend if shown]


def _word(picture: Trend, at: int) -> str:
    """One batch in words."""
    percent = picture.y.percent
    value, low, high = (
        float(np.asarray(part, dtype=np.float64)[at])
        for part in (picture.value, picture.low, picture.high)
    )
    figure = "nothing known" if np.isnan(value) else short(value, percent=percent)
    if low == high:
        figure += f" ({picture.counted})"
    elif np.isfinite([low, high]).all():
        figure = "no best guess" if np.isnan(value) else figure
        figure += f" [{short(low, percent=percent)}, {short(high, percent=percent)}]"
    elif np.isfinite(value):
        figure += f" ({picture.guess}, no interval)"
    late = at < len(picture.open) and picture.open[at]
    return f"{picture.names[at]} {figure}" + (f", {picture.unfinished}" if late else "")


def _told(picture: Trend) -> str:
    parts = [_word(picture, at) for at in range(len(picture.names))]
    whole = ""
    if picture.whole is not None:
        whole = f" {picture.whole_name}: {short(picture.whole, percent=picture.y.percent)}."
    return f"{picture.y.label}: {'; '.join(parts)}.{whole}"


def _data(picture: Trend, unfinished: NDArray[Any]) -> dict[str, Any]:
    return {
        "y": picture.y.label,
        "names": [str(name) for name in picture.names],
        **{name: digits(getattr(picture, name)) for name in ("value", "low", "high")},
        "open": [bool(one) for one in unfinished],
        "whole": picture.whole,
    }
