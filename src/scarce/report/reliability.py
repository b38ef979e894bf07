"""Of the rows that were given 2 %, did 2 % happen? A picture of the answer, bin by bin.

Draws a table computed by `scarce.evaluation.reliability`: a point per bin with its interval,
the line on which points of right probabilities lie, and bars for the rows behind each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import UsageError
from scarce.report.axes import Axis
from scarce.report.canvas import COLOURS, DASHES, LINE, MARKERS, WIDTH, Chart, Frame, Sheet, digits
from scarce.report.values import number, sentence


def reliability_chart(
    predicted: ArrayLike | None = None,
    observed: ArrayLike | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    series: Mapping[str, Any] | None = None,
    edges: ArrayLike | None = None,
    rows: ArrayLike | None = None,
    log: bool | str = "auto",
    level: float = 0.9,
    name: str = "",
    x_label: str = "probability given",
    y_label: str = "share that happened",
) -> Chart:
    """Draw probabilities against what happened, with intervals, and how many rows stand behind.

    Parameters
    ----------
    predicted, observed, low, high : array-like of shape (n_bins,)
        Mean probability, share of events and its interval in each bin.
    series : mapping of str to record, optional
        Several of these side by side, as records with those fields (`Reliability`).
    edges : array-like of shape (n_bins + 1,), optional
        Ends of the bins, for the words of the tips.
    rows : array-like of shape (n_bins,), optional
        Rows in each bin, drawn as bars under the chart (of a single series).
    log : bool or "auto"
        Logarithmic axes; "auto" where most bins lie below 10 %.
    level : float
    name : str

    Returns
    -------
    Chart

    Notes
    -----
    A share of 0 has no place on a logarithmic axis: an open triangle stands at its upper limit.

    Examples
    --------
    >>> chart = reliability_chart([0.01, 0.2], [0.02, 0.1], [0.0, 0.05], [0.06, 0.3], rows=[90, 10])
    >>> chart.alternative[:66]
    'Share that happened against probability given, in 2 bins. Given 1 '
    """
    if series is None:
        if predicted is None or observed is None or low is None or high is None:
            raise UsageError("A reliability chart needs predicted, observed, low and high.")
        parts = [Bins.read(name, predicted, observed, low, high, rows)]
    else:
        parts = [
            Bins.read(key, one.predicted, one.observed, one.low, one.high, one.rows)
            for key, one in series.items()
        ]
        level = next((one.level for one in series.values()), level)
    given = np.concatenate([part.predicted for part in parts])
    if log == "auto":
        log = bool(given.size and np.median(given) < 0.1)
    x, y = _axes(parts, bool(log))
    legend: list[tuple[str, Callable[..., None]]] = [
        (part.name or f"bins, with {100 * level:g} % intervals", part.sampler(i))
        for i, part in enumerate(parts)
    ]
    if log and any((part.observed <= 0).any() for part in parts):
        legend.append(("none happened: upper limit", _none_sample))
    legend.append(("as given, so it happens", _right_sample))
    frame = Frame(x, y, x_label=x_label, y_label=y_label, legend=legend, height=300.0)
    both = np.array([max(x.low, y.low), min(x.high, y.high)])
    frame.path(both, both, "line grey", DASHES["dashed"])
    frame.close()
    for i, part in enumerate(parts):
        part.draw(frame, i)
    end = frame.end
    if len(parts) == 1 and parts[0].rows is not None:
        end = _row_bars(frame, parts[0])
    told = [f"{sentence(y_label)} against {x_label}, in {len(given)} bins."]
    for part in parts:
        told += [f"{part.name}:"] if part.name else []
        told += [
            f"Given {number(p, percent=True)}, happened {number(o, percent=True)} "
            f"[{number(a, percent=True)}, {number(b, percent=True)}]."
            for p, o, a, b in zip(part.predicted, part.observed, part.low, part.high, strict=True)
        ]
    data = {"level": level, "series": [part.data() for part in parts]}
    if edges is not None:
        data["edges"] = digits(edges)
    return Chart(WIDTH, end, frame.sheet.body, " ".join(told), data)


@dataclass(frozen=True)
class Bins:
    """One series of bins as arrays."""

    name: str
    predicted: NDArray[Any]
    observed: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    rows: NDArray[Any] | None

    @classmethod
    def read(cls, name: str, *given: ArrayLike | None) -> Bins:
        """Return the arrays, or refuse what does not belong together."""
        parts = [None if part is None else np.asarray(part, dtype=np.float64) for part in given]
        sizes = {part.shape for part in parts if part is not None}
        if len(sizes) != 1 or len(next(iter(sizes))) != 1 or next(iter(sizes)) == (0,):
            raise UsageError(
                f"Bins of the shapes {sorted(sizes)} cannot be drawn: give one number of each "
                "kind for every bin, and at least one bin."
            )
        return cls(name, *parts)  # type: ignore[arg-type]

    def draw(self, frame: Frame, place: int) -> None:
        """Draw the points and their intervals."""
        colour, shape = f"c{place % COLOURS + 1}", MARKERS[place % len(MARKERS)]
        x = frame.along(self.predicted)
        bottom = frame.y.low
        for i, at in enumerate(x.tolist()):
            tip = (
                f"given {number(self.predicted[i], percent=True)}, happened "
                f"{number(self.observed[i], percent=True)} "
                f"[{number(self.low[i], percent=True)}, {number(self.high[i], percent=True)}]"
            )
            if self.rows is not None:
                tip += f", {self.rows[i]:,.0f} rows"
            top = float(frame.up(self.high[i]))
            end = float(frame.up(max(self.low[i], bottom)))
            if frame.y.log and self.observed[i] <= 0:
                frame.sheet.line(at, top, at, frame.bottom, f"reach {colour}", DASHES["dotted"])
                frame.sheet.marker(at, top, "down", f"open {colour}", tip)
                continue
            frame.sheet.line(at, end, at, top, f"reach {colour}")
            for edge in (end, top):
                frame.sheet.line(at - 3.0, edge, at + 3.0, edge, f"reach {colour}")
            frame.sheet.marker(at, float(frame.up(self.observed[i])), shape, f"dot {colour}", tip)

    def sampler(self, place: int) -> Callable[..., None]:
        """Return what draws a piece of it for the legend."""
        colour, shape = f"c{place % COLOURS + 1}", MARKERS[place % len(MARKERS)]

        def sample(sheet: Sheet, x: float, y: float) -> None:
            sheet.line(x + 13.0, y - 8.0, x + 13.0, y + 8.0, f"reach {colour}")
            sheet.marker(x + 13.0, y, shape, f"dot {colour}")

        return sample

    def data(self) -> dict[str, Any]:
        """Return the numbers, for the JSON of the page."""
        held: dict[str, Any] = {"name": self.name}
        for key in ("predicted", "observed", "low", "high", "rows"):
            values = getattr(self, key)
            if values is not None:
                held[key] = digits(values)
        return held


def _axes(parts: Sequence[Bins], log: bool) -> tuple[Axis, Axis]:
    """Return one scale for both directions, so that right probabilities lie on the diagonal."""
    given = np.concatenate([part.predicted for part in parts])
    seen = np.concatenate([part.observed for part in parts])
    high = np.concatenate([part.high for part in parts])
    if not log:
        top = float(np.nanmax(np.concatenate([given, high])))
        axis = Axis.over([0.0, 1.0 if top > 0.5 else top], percent=True)
        return axis, axis
    happened = np.concatenate([given[given > 0], seen[seen > 0]])
    least = happened.min() if len(happened) else 1e-3
    limits = high[(seen <= 0) & (high > 0)]
    least = min(least, limits.min() if len(limits) else least)
    axis = Axis.over(
        [least, min(1.0, float(np.nanmax(np.append(high, given))))], log=True, percent=True
    )
    return axis, axis


def _row_bars(frame: Frame, part: Bins) -> float:
    """Draw the rows of each bin as bars under the chart, and return where it ends."""
    assert part.rows is not None
    sheet, top, height = frame.sheet, frame.end + 8.0, 44.0
    least, most = float(part.rows.min()), float(part.rows.max())
    if most <= 1.25 * least:  # bars of one height say nothing
        span = f"{least:,.0f}" + (f" to {most:,.0f}" if most > least else "")
        sheet.text(frame.left, top + 4.0, f"{span} rows in each bin", "key")
        return top + LINE / 2
    sheet.text(frame.left, top + 4.0, f"rows in each bin (most: {part.rows.max():,.0f})", "key")
    base = top + 12.0 + height
    tallest = max(float(part.rows.max()), 1.0)
    for at, rows in zip(frame.along(part.predicted).tolist(), part.rows.tolist(), strict=True):
        tall = max(height * rows / tallest, 1.0 if rows else 0.0)
        sheet.box(at - 4.0, base - tall, 8.0, tall, "bar c1", f"{rows:,.0f} rows")
    sheet.line(frame.left, base, frame.right, base, "axis")
    return base + LINE / 2


def _right_sample(sheet: Sheet, x: float, y: float) -> None:
    sheet.line(x, y, x + 26.0, y, "line grey", DASHES["dashed"])


def _none_sample(sheet: Sheet, x: float, y: float) -> None:
    sheet.marker(x + 13.0, y, "down", "open c1")
