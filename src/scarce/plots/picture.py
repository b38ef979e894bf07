"""What is in a picture? Its lines, bars, bands and axes as data, for two back ends.

`svg` draws a picture for pages, without any library; `mpl` draws it on matplotlib's axes. The
functions at the end (`decision_picture`, ...) describe the picture of each record, reading only its
fields: record classes are imported for type checkers alone. Computes no result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import DataError, UsageError, refuse_word
from scarce.plots.names import one_line
from scarce.results import short

if TYPE_CHECKING:
    from scarce.evaluation.corp import ReliabilityCurve
    from scarce.evaluation.coverage import RiskCoverage
    from scarce.evaluation.curves import BrierCurve, CostCurve, DecisionCurve
    from scarce.evaluation.segments import EvaluationBy
    from scarce.missed.label_value import LabelValue
    from scarce.missed.performance import Performance, PerformanceCurve
    from scarce.results import Estimate

Array = NDArray[np.float64]
DASHES = ("solid", "dashed", "dashdot", "dotted")
MARKERS = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True)
class Axis:
    """An axis: label, scale and limits.

    Parameters
    ----------
    label : str
    log, percent : bool
        Logarithmic scale; ticks in percent.
    ends : (low, high), optional
        Exact limits; by default those of the data.
    names : sequence of str
        What the positions 0, 1, ... are called, such as months; numbers where there are none.

    Examples
    --------
    >>> Axis("recall", percent=True, ends=(0, 1)).label
    'recall'
    """

    label: str = ""
    log: bool = False
    percent: bool = False
    ends: tuple[float, float] | None = None
    names: Sequence[str] = ()

    def word(self, value: float) -> str:
        """Write a value on the axis: its name, or the number."""
        if self.names and 0 <= round(value) < len(self.names):
            return self.names[round(value)]
        return short(value, percent=self.percent)


@dataclass(frozen=True)
class Line:
    """One line of a picture.

    Parameters
    ----------
    name : str
        In the legend; "" for none.
    x, y : array-like of shape (n,)
        NaN interrupts the line.
    low, high : array-like of shape (n,), optional
        A band around it.
    band : str
        Legend entry of the band.
    dash : {"auto", "solid", "dashed", "dotted", "dashdot"}
        "auto": each line of a picture has its own.
    marker : {"", "circle", "square", "triangle", "diamond", "auto"}
        Points on the line.
    grey : bool
        A grey reference line, drawn once on shared axes.
    like_last : bool
        A thin line in the colour of the previous line.
    step : bool
        Step function: the value holds until the next x.

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
    band: str = ""
    dash: str = "auto"
    marker: str = ""
    grey: bool = False
    like_last: bool = False
    step: bool = False

    def __post_init__(self) -> None:
        refuse_word("dash", self.dash, ("auto", *DASHES))
        refuse_word("marker", self.marker, ("", "auto", *MARKERS))
        x = np.shape(self.x)
        for name in ("y", "low", "high"):
            given = getattr(self, name)
            if len(x) != 1 or (given is not None and np.shape(given) != x):
                raise UsageError(
                    "Line {line!r} needs one number of x, y, low and high per point, got shapes "
                    "{x} for x and {other} for {name}.",
                    code="picture-shape",
                    line=self.name,
                    x=x,
                    other=np.shape(given),
                    name=name,
                )


@dataclass(frozen=True)
class Mark:
    """A point with a label.

    Parameters
    ----------
    x, y : float
    text : str
    slope, slope_low, slope_high : float, optional
        Slope of a short tangent (y per unit of x), and its interval.
    low, high : float, optional
        Vertical interval.
    x_low, x_high : float, optional
        Horizontal interval.
    certain : bool
        False if there is no point estimate: only the intervals are drawn.
    slope_text, slope_band : str
        Legend entries of the slope and of its interval.

    Examples
    --------
    >>> Mark(0.6, 0.7, "in use", slope=-1.1).text
    'in use'
    """

    x: float
    y: float
    text: str = ""
    slope: float | None = None
    slope_low: float | None = None
    slope_high: float | None = None
    low: float | None = None
    high: float | None = None
    x_low: float | None = None
    x_high: float | None = None
    certain: bool = True
    slope_text: str = ""
    slope_band: str = ""


@dataclass(frozen=True)
class Curves:
    """Lines with bands.

    Parameters
    ----------
    lines : sequence of Line
    x, y : Axis
    marks : sequence of Mark
    threshold : float, optional
        Position of a vertical line.
    threshold_name : str
    region : array of shape (k, 4), optional
        Boxes (left, right, low, high) whose union is shaded.
    region_name : str
        Its legend entry.
    notes : sequence of str
        Legend entries without a line, such as what could not be drawn.
    """

    lines: Sequence[Line]
    x: Axis
    y: Axis
    marks: Sequence[Mark] = ()
    threshold: float | None = None
    threshold_name: str = "threshold"
    region: Array | None = None
    region_name: str = ""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.lines:
            raise UsageError(
                "A picture of curves needs at least one line.",
                code="empty-picture",
                remedy="Give Line(name, x, y).",
            )


@dataclass(frozen=True)
class Panels:
    """Small panels with a common y axis, such as response curves.

    Parameters
    ----------
    panels : mapping of str to sequence of Line
        By label of the x axis.
    y : Axis

    Examples
    --------
    >>> Panels({"rain": [Line("", [0, 1], [0.2, 0.7])]}, y=Axis("probability")).y.label
    'probability'
    """

    panels: Mapping[str, Sequence[Line]]
    y: Axis

    def __post_init__(self) -> None:
        if not self.panels:
            raise UsageError(
                "A picture of response curves needs at least one curve.",
                code="empty-picture",
                remedy="Give {'name': [Line('', x, y)]}.",
            )


@dataclass(frozen=True)
class Bars:
    """Horizontal bars, with optional intervals.

    Parameters
    ----------
    names : sequence of length n
        Labels of the bars, from the top.
    values : array-like of shape (n,)
    x : Axis
    low, high : array-like of shape (n,), optional
        Intervals.
    reference : float
        Where the bars start.
    truth : array-like of shape (n,), optional
        True values, drawn as diamonds.
    best : int, optional
        Index of the bar to highlight, labelled with `best_name`.
    best_name : str
    most : int
        Most bars to draw; a note counts the rest.
    """

    names: Sequence[object]
    values: ArrayLike
    x: Axis
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    reference: float = 0.0
    truth: ArrayLike | None = None
    best: int | None = None
    best_name: str = ""
    most: int = 40

    def __post_init__(self) -> None:
        shape = np.shape(self.values)
        others = [np.shape(part) for part in (self.low, self.high, self.truth) if part is not None]
        if len(shape) != 1 or not shape[0] or {(len(self.names),), *others} != {shape}:
            raise UsageError(
                "Bars need one name and one value each, and limits for every bar or for none; got "
                "{names} names and values of shape {shape}.",
                code="picture-shape",
                names=len(self.names),
                shape=shape,
            )


@dataclass(frozen=True)
class Forest:
    """Points with intervals, one below the other, such as a figure of each segment.

    Parameters
    ----------
    names : sequence of length n
        From the top.
    values, low, high : array-like of shape (n,)
        NaN where there is nothing to draw.
    x : Axis
    name : str
        Legend entry of the points.
    beside : mapping of str to array-like of shape (n,)
        Further points of each, by their legend entry.
    marked : mapping of int to str
        Words beside some of the values.
    most : int
        Most lines to draw; a note counts the rest.

    Examples
    --------
    >>> Forest(["at", "be"], [0.1, 0.2], [0.0, 0.1], [0.2, 0.3], Axis("rate")).most
    40
    """

    names: Sequence[object]
    values: ArrayLike
    low: ArrayLike
    high: ArrayLike
    x: Axis
    name: str = ""
    beside: Mapping[str, ArrayLike] = field(default_factory=dict)
    marked: Mapping[int, str] = field(default_factory=dict)
    most: int = 40

    def __post_init__(self) -> None:
        given = (self.values, self.low, self.high, *self.beside.values())
        shapes = {np.shape(one) for one in given}
        if shapes != {(len(self.names),)} or not self.names:
            raise UsageError(
                "A forest plot needs one name, value and interval each; got {names} names and "
                "values of shapes {shapes}.",
                code="picture-shape",
                names=len(self.names),
                shapes=sorted(shapes),
            )


@dataclass(frozen=True)
class Histogram:
    """Rows per bin and state, with fitted lines and a threshold.

    Parameters
    ----------
    edges : array-like of shape (n_bins + 1,)
        Increasing.
    counts : mapping of state to array-like of shape (n_bins,)
        Drawn over each other, not stacked: stacks mislead on a logarithmic axis.
    x : Axis
    y : Axis
        Its `log` is ignored if `y_log` is "auto".
    lines : sequence of Line
        Such as the components of a mixture, in rows per bin.
    threshold : float, optional
    threshold_name : str
    y_log : bool or "auto"
        "auto": logarithmic if the fullest bin has more than 200 times the rows of the emptiest
        non-empty bin.
    """

    edges: ArrayLike
    counts: Mapping[str, ArrayLike]
    x: Axis
    y: Axis = field(default_factory=lambda: Axis("rows"))
    lines: Sequence[Line] = ()
    threshold: float | None = None
    threshold_name: str = "threshold"
    y_log: bool | str = "auto"

    def __post_init__(self) -> None:
        ends = np.asarray(self.edges, dtype=np.float64)
        shapes = {np.shape(count) for count in self.counts.values()}
        rising = ends.ndim == 1 and len(ends) > 1 and bool((np.diff(ends) > 0).all())
        if not rising or shapes != {(len(ends) - 1,)}:
            raise UsageError(
                "A histogram needs increasing edges and one count per bin and state; got {edges} "
                "edges and counts of shapes {shapes}.",
                code="picture-shape",
                edges=ends.size,
                shapes=sorted(shapes),
            )


class BinTable(Protocol):
    """Predicted probabilities and observed frequencies by bin, such as `Reliability`."""

    @property
    def predicted(self) -> Array: ...  # noqa: D102
    @property
    def observed(self) -> Array: ...  # noqa: D102
    @property
    def low(self) -> Array: ...  # noqa: D102
    @property
    def high(self) -> Array: ...  # noqa: D102
    @property
    def rows(self) -> Array: ...  # noqa: D102
    @property
    def level(self) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class Bins:
    """One series of a reliability diagram.

    Parameters
    ----------
    predicted, observed, low, high : array-like of shape (n_bins,)
        Mean probability, observed frequency and its interval in each bin.
    rows : array-like of shape (n_bins,), optional
        Rows in each bin.

    Examples
    --------
    >>> Bins([0.1], [0.2], [0.0], [0.4]).observed.tolist()
    [0.2]
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    rows: Array | None = None

    def __post_init__(self) -> None:
        for name in ("predicted", "observed", "low", "high", "rows"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, np.asarray(given, dtype=np.float64))
        parts = [self.predicted, self.observed, self.low, self.high]
        shapes = {part.shape for part in [*parts, *([] if self.rows is None else [self.rows])]}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1 or next(iter(shapes)) == (0,):
            raise UsageError(
                "Bins need one number of each kind per bin, and at least one bin; got shapes "
                "{shapes}.",
                code="picture-shape",
                shapes=sorted(shapes),
            )


@dataclass(frozen=True)
class ReliabilityPicture:
    """Reliability diagram: observed frequency against predicted probability, and rows per bin.

    Parameters
    ----------
    series : mapping of str to Bins
    level : float
        Of the intervals.
    log : bool
    edges : array-like, optional
        Edges of the bins, for the JSON of a page.
    """

    series: Mapping[str, Bins]
    level: float = 0.9
    log: bool = False
    edges: ArrayLike | None = None
    x: Axis = field(default_factory=lambda: Axis("predicted probability", percent=True))
    y: Axis = field(default_factory=lambda: Axis("observed frequency", percent=True))


@dataclass(frozen=True)
class Trend:
    """A figure over batches, such as weeks: intervals, and guesses as marks of their own.

    Parameters
    ----------
    names : sequence of length n
        Of the batches, from the left.
    value : array-like of shape (n,)
        Best guesses; NaN where there is none.
    low, high : array-like of shape (n,)
        Intervals; NaN where nothing was checked; both the value where it was counted.
    x, y : Axis
    open : sequence of bool of length n
        Batches whose work is not finished: grey.
    interval, guess, counted, unfinished : str
        Legend entries.
    whole : float, optional
        The figure of all batches together, a line across.
    whole_name : str

    Examples
    --------
    >>> Trend(["1", "2"], [0.5, 0.4], [0.3, float("nan")], [0.7, float("nan")]).names
    ['1', '2']
    """

    names: Sequence[str]
    value: ArrayLike
    low: ArrayLike
    high: ArrayLike
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    open: Sequence[bool] = ()
    interval: str = "interval"
    guess: str = "best guess"
    counted: str = "counted"
    unfinished: str = "not finished"
    whole: float | None = None
    whole_name: str = "all together"

    def __post_init__(self) -> None:
        shapes = {np.shape(one) for one in (self.value, self.low, self.high)}
        if shapes != {(len(self.names),)} or not self.names:
            raise UsageError(
                "A trend needs one value and one interval for each name; got {names} names and "
                "shapes {shapes}.",
                code="picture-shape",
                names=len(self.names),
                shapes=sorted(shapes),
            )


Picture = Curves | Panels | Bars | Forest | Histogram | ReliabilityPicture | Trend


# --- pictures of records --------------------------------------------------------------------------


def percent(share: float) -> str:
    """Write a proportion in percent.

    Examples
    --------
    >>> percent(0.9), percent(0.001)
    ('90 %', '0.1 %')
    """
    return f"{100 * share:.6g} %"


def band_name(level: float, simultaneous: bool = False) -> str:
    """Return the legend entry of a band."""
    return f"{percent(level)} band" + (", whole curve" if simultaneous else "")


def cost_picture(curve: CostCurve, name: str = "") -> Curves:
    """Return the picture of a `CostCurve`: the best threshold at each operating condition."""
    x, high = curve.probability_cost, curve.high
    return Curves(
        [
            _banded(name or "best threshold", x, curve.cost, curve),
            Line("act on no row", x, x, grey=True, dash="dashed"),
            Line("act on every row", x, 1 - x, grey=True, dash="dotted"),
        ],
        Axis("probability cost: weight of misses (prevalence x cost of a miss)", ends=(0.0, 1.0)),
        Axis(
            "normalised expected cost (1 = every row wrong)",
            ends=(0.0, max(0.5, 1.05 * float(np.max(high)))),
        ),
    )


def brier_picture(curve: BrierCurve, name: str = "") -> Curves:
    """Return the picture of a `BrierCurve`: probabilities as thresholds, and best thresholds."""
    x, best = curve.cost_proportion, "best thresholds" + (f", {name}" if name else "")
    return Curves(
        [
            _banded(name or "probabilities as given", x, curve.cost, curve),
            Line(best, x, curve.best, like_last=True, dash="dashdot"),
        ],
        Axis(
            "cost proportion: false alarm / (false alarm + miss), used as the threshold",
            ends=(0.0, 1.0),
        ),
        Axis(
            "expected cost per row (unit: mean of the two costs)",
            ends=(0.0, 1.05 * max(float(np.max(curve.high)), 1e-12)),
        ),
    )


def decision_picture(
    curve: DecisionCurve, name: str = "", threshold: float | None = None
) -> Curves:
    """Return the picture of a `DecisionCurve`: net benefit against the threshold."""
    top = 1.1 * max(float(np.max(curve.high)), 1e-12)
    x = np.asarray(curve.threshold)
    return Curves(
        [
            _banded(name or "act by probability", x, curve.net_benefit, curve),
            Line("act on every row", x, curve.act_on_all, grey=True, dash="dashed"),
            Line("act on no row", x, np.zeros(len(x)), grey=True, dash="dotted"),
        ],
        Axis(
            "threshold probability",
            log=True,
            percent=True,
            ends=(float(x.min()), float(x.max())) if x.min() < x.max() else None,
        ),
        # The loss of acting on every row at high thresholds would flatten the other lines.
        Axis("net benefit per row", ends=(-0.25 * top, top)),
        threshold=threshold,
        threshold_name="threshold of these costs",
    )


def risk_picture(curve: RiskCoverage, name: str = "") -> Curves:
    """Return the picture of a `RiskCoverage`: mean loss of the rows that are not deferred."""
    x = np.asarray(curve.coverage)
    # The band is wide at low coverage, where few rows are left; it may leave the picture.
    settled = x >= min(0.1, float(x.max()))
    top = 1.1 * max(float(curve.high[settled].max()), float(curve.risk.max()), 1e-12)
    bottom = min(0.0, 1.1 * float(curve.low[settled].min()))
    return Curves(
        [
            _banded(name or "by confidence", x, curve.risk, curve),
            Line("best possible order", x, curve.best, grey=True, dash="dashed"),
            Line(
                "full coverage",
                x,
                np.full(len(x), curve.full.value),
                grey=True,
                dash="dotted",
            ),
        ],
        Axis(
            "coverage: rows decided, most confident first",
            percent=True,
            ends=(0.0, 1.0),
        ),
        Axis("risk: mean loss of the rows decided", ends=(bottom, top)),
    )


def _banded(
    name: str, x: Array, y: Array, curve: CostCurve | BrierCurve | DecisionCurve | RiskCoverage
) -> Line:
    words = band_name(curve.level, curve.simultaneous)
    return Line(name, x, y, curve.low, curve.high, band=words)


def performance_picture(
    found: Performance,
    curve: PerformanceCurve,
    name: str = "",
    *,
    intervals: bool = True,
    slope: bool = True,
    mark: str = "",
) -> Curves:
    """Return the picture of a `Performance`: precision against recall, threshold by threshold.

    Parameters
    ----------
    found : Performance
    curve : PerformanceCurve
        At other thresholds.
    name : str
    intervals : bool
        Shade the intervals along the curve.
    slope : bool
        Draw dP/dR at the threshold, with its interval (002 eq 2).
    mark : str
        Label of the threshold in use, instead of its value.
    """
    guess = is_guess(found.recall)
    intervals = intervals and not guess  # what labels leave possible is no interval
    level = percent(found.precision.level)
    recall, precision = np.asarray(curve.recall), np.asarray(curve.precision)
    marks, lines, notes = _threshold_marks(found, name, level, slope)
    marks = [replace(one, text=mark or one.text) for one in marks]
    known = np.isfinite(recall[:, 0]) & np.isfinite(precision[:, 0])
    seen = len(np.unique(np.c_[recall[known, 0], precision[known, 0]], axis=0)) > 1
    if seen:
        words = name or ("guess" if guess else "estimate") + " at each threshold"
        lines = [Line(words, recall[:, 0], precision[:, 0]), *lines]
    elif name:
        notes = [*notes, f"{name}: no point estimates along the curve"]
    boxes = np.column_stack([recall[:, 1:], precision[:, 1:]])
    boxes = boxes[np.isfinite(boxes).all(axis=1)]
    wide = len(boxes) and ((boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2]) > 0).any()
    tops = [found.precision.high, np.nanmax(precision[:, 0], initial=0.0), 0.02]
    return Curves(
        lines or [Line("", [np.nan], [np.nan])],
        Axis("recall: proportion of events found", percent=True, ends=(0.0, 1.0)),
        Axis(
            "precision: proportion of alerts that are events",
            percent=True,
            ends=(0.0, min(1.0, 1.25 * float(np.nanmax(tops)))),
        ),
        marks=marks,
        region=boxes if intervals and wide else None,
        region_name=f"{level} intervals along the curve",
        notes=notes,
    )


def is_guess(one: Estimate) -> bool:
    """Whether nothing was checked that would bound a figure: it has no interval to draw."""
    from scarce.missed.rules import GUESS

    return one.method == GUESS


def _threshold_marks(
    found: Performance, name: str, level: str, slope: bool
) -> tuple[list[Mark], list[Line], list[str]]:
    """Return what shows the threshold in use: a point, a line of precision, or a note."""
    recall, precision, tangent = found.recall, found.precision, found.precision_per_recall
    at = found.threshold
    where = "each batch at its own threshold" if isinstance(at, tuple) else f"threshold {short(at)}"
    name = one_line([name], 24)[0]
    guess = is_guess(recall)
    told = "a guess of recall" if guess else f"{level} intervals"
    words = f"{name}: {where}" if name else f"{where}, {told}"
    if np.isnan(precision.value):
        return [], [], [f"{name}, {where}: no alert was labelled".removeprefix(", ")]
    if not np.isfinite([recall.low, recall.high]).all() or (guess and np.isnan(recall.value)):
        label = f"{name}, {where}: no recall" if name else f"{where}: no recall"
        return [], [Line(label, [0.0, 1.0], [precision.value] * 2, like_last=True)], []
    certain = bool(np.isfinite(recall.value))
    sloped = slope and certain and not np.isnan(tangent.value)
    steep = f"slope dP/dR {short(tangent.value)} [{short(tangent.low)}, {short(tangent.high)}]"
    mark = Mark(
        recall.value if certain else (recall.low + recall.high) / 2,
        precision.value,
        words if certain else f"{words}; no point estimate of recall",
        slope=tangent.value if sloped else None,
        slope_low=tangent.low if sloped else None,
        slope_high=tangent.high if sloped else None,
        low=precision.low,
        high=precision.high,
        x_low=None if guess else recall.low,
        x_high=None if guess else recall.high,
        certain=certain,
        slope_text=f"{name}: {steep}" if name else steep,
        slope_band=f"{percent(tangent.level)} interval of the slope",
    )
    return [mark], [], []


def reliability_picture(
    tables: Mapping[str, BinTable], *, log: bool | str = "auto", edges: ArrayLike | None = None
) -> ReliabilityPicture:
    """Return the picture of one or several `Reliability` tables.

    Parameters
    ----------
    tables : mapping of str to Reliability
    log : bool or "auto"
        "auto": logarithmic if the base rate is below 20 %.
    edges : array-like, optional

    Examples
    --------
    >>> from types import SimpleNamespace as Table
    >>> rare = Table(predicted=[0.01], observed=[0.02], low=[0.0], high=[0.1], rows=[50], level=0.9)
    >>> reliability_picture({"": rare}).log
    True
    """
    series = {
        name: Bins(one.predicted, one.observed, one.low, one.high, one.rows)
        for name, one in tables.items()
    }
    if not series:
        raise UsageError(
            "A reliability diagram needs at least one table of bins.", code="empty-picture"
        )
    if log == "auto":
        log = all(_base_rate(one) < 0.2 for one in series.values())
    positive = any((one.predicted > 0).any() for one in series.values())
    level = next(iter(tables.values())).level
    return ReliabilityPicture(series, level, bool(log) and positive, edges)


def _base_rate(bins: Bins) -> float:
    rows = np.ones(len(bins.observed)) if bins.rows is None else bins.rows
    total = float(rows.sum())
    return float(rows @ bins.observed) / total if total > 0 else math.nan


def reliability_curve_picture(
    curve: ReliabilityCurve, name: str = "", *, log: bool | str = "auto"
) -> Curves:
    """Return the picture of a `ReliabilityCurve`: the curve, and the band of chance.

    Parameters
    ----------
    curve : ReliabilityCurve
    name : str
    log : bool or "auto"
        "auto": logarithmic if the base rate is below 20 %.
    """
    x, y = np.asarray(curve.predicted), np.asarray(curve.observed)
    low, high = np.asarray(curve.low), np.asarray(curve.high)
    if log == "auto":
        log = curve.events < 0.2 * curve.rows
    log = bool(log) and bool((x > 0).any())
    least, notes = 0.0, []
    if log:
        event = y > 0
        least = float(min(x[event].min(initial=0.1), y[event].min(initial=0.1))) / 3
        if not event.all():
            notes.append(f"no event up to {short(float(x[~event].max()), percent=True)}")
        y = np.where(event, y, np.nan)  # a logarithmic axis has no 0
        low, high = np.maximum(low, least), np.maximum(high, least)
        x, y, low, high = (one[x >= least] for one in (x, y, low, high))
    ends = (least, 1.0)
    words = f"{percent(curve.level)} of calibrated probabilities"
    return Curves(
        [
            Line("calibrated", ends, ends, grey=True, dash="dashed"),
            Line(name or "observed", x, y, low, high, band=words, step=False),
        ],
        Axis("predicted probability", log=log, percent=True, ends=ends),
        Axis("observed frequency", log=log, percent=True, ends=ends),
        notes=notes,
    )


def segments_picture(found: EvaluationBy) -> Forest:
    """Return the event rate of each segment of an `EvaluationBy`: observed, predicted, pooled."""
    shown = [one for one in found.segments if one.labelled]
    rates = [one.happened for one in shown]
    return Forest(
        [one.name for one in shown],
        [one.value for one in rates],
        [one.low for one in rates],
        [one.high for one in rates],
        Axis("event rate", percent=True),
        name=f"observed, with {percent(found.level)} interval",
        beside={
            "mean predicted": [one.given.value for one in shown],
            "pooled": [one.pooled.value for one in shown],
        },
        marked={at: one.verdict for at, one in enumerate(shown) if one in found.standing_out},
    )


def periods_picture(found: EvaluationBy, figure: str = "happened") -> Curves:
    """Return a figure over the periods of an `EvaluationBy`, with what is expected without labels.

    Parameters
    ----------
    found : EvaluationBy
    figure : {"happened", "log_loss", "auc"}
    """
    x = np.arange(len(found.segments), dtype=np.float64)
    words = {"happened": "event rate", "log_loss": "log loss (nats)", "auc": "AUC"}
    rate = figure == "happened"
    seen = [getattr(one, figure) for one in found.segments]
    lines = [_over_periods("observed", x, seen, f"{percent(found.level)} interval", "circle")]
    if rate:
        given = [one.given.value for one in found.segments]
        lines.append(Line("mean predicted", x, given, grey=True, marker="square"))
        due = [None if one.expected is None else one.expected.rate for one in found.segments]
        if any(one is not None for one in due):
            label = "expected, labels still to come"
            lines.append(_over_periods(label, x, due, f"{label}: interval", "triangle"))
    kind = "calibration" if rate else "discrimination"
    since = [one.since for one in found.changes if one.found and one.of == kind]
    names = [one.name for one in found.segments]
    return Curves(
        lines,
        Axis(found.period, names=names),
        Axis(words[figure], percent=rate),
        threshold=names.index(since[0]) - 0.5 if since else None,
        threshold_name=f"change of {kind}, from {since[0]} on" if since else "",
    )


def _over_periods(
    name: str, x: Array, values: Sequence[Estimate | None], band: str, marker: str
) -> Line:
    """Return a line with a band; a point without neighbours keeps a band of some width."""
    held = np.array([[np.nan] * 3 if v is None else (v.value, v.low, v.high) for v in values])
    return Line(name, x, held[:, 0], held[:, 1], held[:, 2], band=band, marker=marker)


def importance_picture(
    variables: Sequence[object], drops: ArrayLike, unit: str, most: int = 15
) -> tuple[Bars, NDArray[np.intp]]:
    """Return bars of the importance of each variable, largest first, and their order.

    Parameters
    ----------
    variables : sequence of length n
    drops : array of shape (n, n_repeats)
        Loss of performance in each permutation.
    unit : str
        The measure of performance and its unit.
    most : int
        Number of variables to draw.
    """
    lost = np.asarray(drops, dtype=np.float64)
    if lost.ndim != 2 or len(lost) != len(variables) or not lost.size:
        raise DataError(
            "drops must have one row per variable and one column per permutation, got shape "
            "{shape} for {variables} variables.",
            code="picture-shape",
            shape=lost.shape,
            variables=len(variables),
        )
    mean, repeats = lost.mean(axis=1), lost.shape[1]
    error = lost.std(axis=1, ddof=1) / np.sqrt(repeats) if repeats > 1 else np.zeros(len(mean))
    order = np.argsort(-mean, kind="stable")[:most]
    lines = f"; lines: standard error over {repeats} permutations" if repeats > 1 else ""
    return Bars(
        [str(variables[i]) for i in order],
        mean[order],
        Axis(f"{unit} when permuted{lines}"),
        low=(mean - error)[order] if repeats > 1 else None,
        high=(mean + error)[order] if repeats > 1 else None,
    ), order


def label_value_picture(found: LabelValue) -> Bars:
    """Return bars of the value of one more label in each region of scores (`LabelValue`)."""
    best = int(found.best)
    return Bars(
        [_region(found, at) for at in range(len(found))],
        found.value,
        Axis(
            "reduction of the standard error of recall by one more label, now "
            f"{short(found.recall_sd)}"
        ),
        best=best if found.value[best] > 0 else None,
        best_name="most valuable",
    )


def _region(found: LabelValue, at: int) -> str:
    """Write a region of scores, its share of the rows and its proportion of events."""
    rows, events = (
        percent(float(f"{one[at]:.2g}")) for one in (found.share_of_rows, found.posterior)
    )
    return f"{between(found.low[at], found.high[at])}\n{rows} of rows, {events} events"


def between(low: float, high: float) -> str:
    """Write a region of scores.

    Examples
    --------
    >>> between(1.0, 2.5), between(-np.inf, 1.0), between(3.0, np.inf)
    ('1 to 2.5', 'below 1', '3 and above')
    """
    if np.isneginf(low):
        return "all" if np.isposinf(high) else f"below {high:.4g}"
    return f"{low:.4g} and above" if np.isposinf(high) else f"{low:.4g} to {high:.4g}"
