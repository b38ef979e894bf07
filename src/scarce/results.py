"""The records that carry every result, and the one way to write them for people and for programs.

`Estimate` is used wherever a number about the world is reported: it never travels without its
interval, its method and what it assumes. `FitReport` comes from every solver: a fit stops on an
optimality certificate, never on "the coefficients moved little". `Selection` comes from every
search over settings, `WidthChoice` from the search for the width of maxent's boxes, and `RankedFit`
is one pair of families that a mixture of scores was fitted with.

For people `short` writes every number: three significant digits. For programs `to_plain` turns
every record into what JSON can hold: NaN ("not identified") is null, and infinities are the texts
"Infinity" and "-Infinity", which `float()` reads back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from json import dumps
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, overload

from scarce.errors import Argument, UsageError

if TYPE_CHECKING:  # NumPy is heavy, and the command line writes errors without it
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def short(value: float, *, percent: bool | str = False) -> str:
    """Write a number for people: three significant digits, and no exponent where zeros can be read.

    Parameters
    ----------
    value : float
    percent : bool or str
        True writes a share in percent; a text, such as "pp", replaces the percent sign.

    Examples
    --------
    >>> short(0.123456), short(float("nan")), short(float("-inf")), short(41234.0)
    ('0.123', 'unknown', '-inf', '41,234')
    >>> short(0.0000123456), short(1.5e-9), short(999.9), short(0.0153, percent=True)
    ('0.0000123', '1.5e-09', '1,000', '1.53 %')
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return f"{value:g}"
    if percent:
        return f"{short(100 * value)} {'%' if percent is True else percent}"
    if 999.5 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    if 1e-7 <= abs(value) < 1e-4:
        return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    return f"{value:.3g}"


def in_rows(n: int) -> str:
    """Write a number of rows.

    Examples
    --------
    >>> in_rows(1), in_rows(2000)
    ('1 row', '2,000 rows')
    """
    return f"{n:,} row{'s' if n != 1 else ''}"


@overload
def to_plain(value: Mapping[Any, Any]) -> dict[str, Any]: ...


@overload
def to_plain(value: object) -> Any: ...


def to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it: None, bool, int, float, str, list and dict.

    Parameters
    ----------
    value : object
        None, booleans, numbers, texts, paths, dates, NumPy scalars and arrays, records with
        `to_dict`, dataclasses, mappings, sets, lists and tuples, nested at will.

    Returns
    -------
    object
        NaN is None, infinities are "Infinity" and "-Infinity", sets are sorted lists and keys are
        texts.

    Examples
    --------
    >>> import numpy as np
    >>> to_plain({"at": np.array([-np.inf, 0.5]), "area": Estimate(np.nan, 0.0, 1.0)})
    {'at': ['-Infinity', 0.5], 'area': {'value': None, 'low': 0.0, 'high': 1.0, 'level': 0.9, ...}}
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return float(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, Mapping):
        named = {str(key): to_plain(item) for key, item in value.items()}
        if len(named) < len(value):
            raise UsageError(
                "Two keys are the same text in JSON: {keys}.",
                code="duplicate-keys",
                keys=list(value),
            )
        return named
    if isinstance(value, Set):
        return [to_plain(item) for item in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, PathLike):
        return to_plain(fspath(value))
    if not isinstance(value, type):  # a class has the methods of its records, but no values
        for method in ("to_dict", "tolist", "isoformat"):
            if hasattr(value, method):
                return to_plain(getattr(value, method)())
        if is_dataclass(value):
            return _public_fields(value)
    raise UsageError(
        "A value of type {type} has no JSON form.",
        code="no-json-form",
        type=type(value).__name__,
        remedy="Give a number, a text, an array or a record.",
    )


def to_json(value: Any) -> str:
    """Return canonical JSON of a value: one line, ASCII, sorted keys; see `to_plain`.

    Examples
    --------
    >>> to_json({"b": float("nan"), "a": (1, float("-inf"))})
    '{"a":[1,"-Infinity"],"b":null}'
    """
    return dumps(to_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _public_fields(record: Any) -> dict[str, Any]:
    names = [one.name for one in fields(record) if not one.name.startswith("_")]
    return {name: to_plain(getattr(record, name)) for name in names}


class Record:
    """What the dataclasses that carry results have in common: JSON, and a table in notebooks."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON; see `scarce.results.to_plain`."""
        return _public_fields(self)

    def to_json(self) -> str:
        """Return the fields as one line of JSON."""
        return to_json(self)

    def _repr_html_(self) -> str:
        """Return a table of names and values, for notebooks."""
        lines = [
            f"<tr><th style='text-align:left'>{escape(name.replace('_', ' '))}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in self._html_lines()
        ]
        return f"<table class='scarce-{type(self).__name__}'>{''.join(lines)}</table>"

    def _html_lines(self) -> Iterator[tuple[str, str]]:
        for one in fields(self):  # type: ignore[arg-type]
            if not one.name.startswith("_"):
                yield from _lines_of(one.name, getattr(self, one.name))


def _lines_of(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Names and texts of one field: an interval in brackets, a line for each entry of a mapping."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lines_of(f"{name}: {key}", item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if any(isinstance(item, Record) for item in value):
            for place, item in enumerate(value):
                yield from _lines_of(f"{name} {place + 1}" if len(value) > 1 else name, item)
        elif len(value):
            yield name, ", ".join(_cell(item) for item in value)
    elif value is not None:
        yield name, _cell(value)


def _cell(value: Any) -> str:
    if isinstance(value, Estimate):
        return value.brief()
    if getattr(value, "shape", ()):
        ends = ""
        if value.size and value.dtype.kind in "iuf":
            ends = f" from {short(value.min())} to {short(value.max())}"
        return f"{' x '.join(map(str, value.shape))} values{ends}"
    if isinstance(value, float):
        return short(value)
    return f"{value:,}" if type(value) is int else str(value)


@dataclass(frozen=True, slots=True)
class Estimate(Record):
    """A number about the world with its interval.

    Parameters
    ----------
    value : float
        The point estimate. NaN means "not identified" and `assumes` says why.
    low, high : float
        Ends of the interval; NaN where a side is unknown, +-inf where it is unbounded.
    level : float
        Nominal coverage of the interval, in (0, 1).
    method : str
        How the number was found, in a few words.
    assumes : str
        What must be true for the number to mean what it says.

    Examples
    --------
    >>> recall = Estimate(0.62, 0.48, 0.74, level=0.9, method="audit",
    ...                   assumes="checked rows were drawn at random")
    >>> print(recall)
    0.62 [0.48, 0.74] (90 %, audit)
    >>> 0.5 in recall, recall.width
    (True, 0.26)
    """

    value: float
    low: float
    high: float
    level: float = 0.9
    method: str = ""
    assumes: str = ""

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise UsageError(
                "{argument} must be between 0 and 1, such as 0.9, got {value!r}.",
                code="level-range",
                argument=Argument("level"),
                value=self.level,
            )
        if self.low > self.high:
            raise UsageError(
                "The interval is empty: low={low} is above high={high}.",
                code="empty-interval",
                low=self.low,
                high=self.high,
                remedy="Swap the two.",
            )

    @property
    def width(self) -> float:
        """Length of the interval."""
        return round(self.high - self.low, 15)

    def brief(self, *, percent: bool = False, limits: bool = True) -> str:
        """Write the value and its limits, such as "0.62 [0.48, 0.74]".

        Examples
        --------
        >>> Estimate(4.0, 2.5, 12345.6).brief(), Estimate(-12.5, -17.81, 0.042).brief(percent=True)
        ('4 [2.5, 12,346]', '-1,250 % [-1,781 %, 4.2 %]')
        """
        value, low, high = (short(x, percent=percent) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]" if limits else value

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high

    def __str__(self) -> str:
        return f"{self.brief()} ({100 * self.level:g} %, {self.method or 'method not said'})"


@dataclass(frozen=True, slots=True)
class FitReport(Record):
    """How a fit ended.

    Parameters
    ----------
    converged : bool
        Whether the certificate reached its target.
    certificate : float
        The proof of optimality that the solver stopped on; smaller is better, 0 is exact.
    objective : float
        Value of what was minimised.
    passes : int
        Folds over the rows.
    seconds : float
        Wall time.
    warnings : tuple of str
        What the reader should know, most important first.
    proves : str
        What the certificate is: "closed form", "gradient norm" or "duality gap".

    Examples
    --------
    >>> report = FitReport(True, 3e-10, 0.41, passes=7, seconds=0.02, proves="duality gap")
    >>> print(report)
    converged: duality gap 3e-10 after 7 passes, objective 0.41
    >>> report.gap
    3e-10
    """

    converged: bool
    certificate: float
    objective: float
    passes: int
    seconds: float
    warnings: tuple[str, ...] = ()
    proves: str = "gradient norm"

    @property
    def gap(self) -> float:
        """The duality gap; only for solvers that stop on one."""
        if self.proves != "duality gap":
            raise AttributeError(
                f"This fit stopped on its {self.proves} ({self.certificate:.3g}), not on a duality "
                "gap: read report_.certificate."
            )
        return self.certificate

    @property
    def meaning(self) -> str:
        """What the certificate says, in words.

        Examples
        --------
        >>> FitReport(True, 2e-8, 0.4, 7, 0.02, proves="duality gap").meaning
        'The fit is within 2e-08 nats (Kullback-Leibler) of the exact optimum: ... than 0.0001.'
        """
        if self.proves == "duality gap":
            off = f"{math.sqrt(self.certificate / 2):.1g}" if self.certificate < 2 else "1"
            return (
                f"The fit is within {self.certificate:.3g} nats (Kullback-Leibler) of the exact "
                f"optimum: no set of rows has a probability that is off by more than {off}."
            )
        if self.proves == "closed form":
            return "The answer is exact up to rounding."
        return (
            f"The largest entry of the gradient is {self.certificate:.3g}; at the exact optimum it "
            "is 0."
        )

    def __str__(self) -> str:
        word = "converged" if self.converged else "NOT converged"
        passes = f"{self.passes} pass{'es' if self.passes != 1 else ''}"
        how = f"{word}: {self.proves} {self.certificate:.3g}"
        if self.proves == "closed form":
            how = "solved in closed form"
        known = not math.isnan(self.objective)
        value = f"{self.objective:.6g}" if known else "not computed"
        text = f"{how} after {passes}, objective {value}"
        return "\n".join([text, *(f"warning: {warning}" for warning in self.warnings)])


@dataclass(frozen=True, eq=False)
class Selection(Record):
    """How settings were chosen: the score of each on rows that its fit did not see.

    Parameters
    ----------
    by : str
        The score: "brier", "log_loss" or "calibration"; smaller is better.
    shapes : ndarray of shape (n_shapes,)
        nan for a loss without shape, such as the logistic one beside those of loss="auto".
    ridges : ndarray of shape (n_ridges,)
    scores : ndarray of shape (n_folds, n_shapes, n_ridges)
        On each fold's held-out rows.
    weights : ndarray of shape (n_folds,)
        Weight of the held-out rows of each fold.
    shape, ridge : float
        What was chosen.
    score : float
        Mean score of what was chosen, nested: each fold is scored with the setting that the other
        folds choose (with one validation split its two halves take turns), as somebody with new
        rows would measure it. `mean` has the scores that the choice was made by.
    reference : str
        What GEV losses, or a loss that was asked for, are compared with; "" where there is nothing
        to compare.
    reference_score : float
        Nested score of the reference, its ridge chosen in the same way.
    gain, gain_error : float
        Reference minus the loss compared with it, nested, per row, and its standard error over the
        held-out rows; rows that belong together count as one.
    shape_by_fold : ndarray of shape (n_folds,)
        The shape that each fold alone would have chosen.
    loss : str
        The loss that was chosen.
    penalty : str
        The penalty that `ridge` is the strength of.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([[[0.10, 0.11]]])
    >>> found = Selection("brier", np.array([0.3]), np.array([1.0, 10.0]), one, np.ones(1),
    ...     0.3, 1.0, 0.10, "logistic", 0.101, 0.001, 0.002, np.array([0.3]))
    >>> found.inside_noise
    True
    """

    by: str
    shapes: Array
    ridges: Array
    scores: Array
    weights: Array
    shape: float
    ridge: float
    score: float
    reference: str
    reference_score: float
    gain: float
    gain_error: float
    shape_by_fold: Array
    loss: str = ""
    penalty: str = "ridge"

    def __post_init__(self) -> None:
        sizes = [part.shape for part in (self.weights, self.shapes, self.ridges)]
        whole = tuple(length for size in sizes for length in size)
        if self.scores.shape != whole or self.shape_by_fold.shape != sizes[0]:
            raise UsageError(
                "scores has shape {shape}, and there are {expected} (folds, shapes, ridges).",
                code="shape-mismatch",
                shape=self.scores.shape,
                expected=whole,
                remedy="Give one score for each.",
            )

    @property
    def mean(self) -> Array:
        """Mean score of each (shape, ridge) over the held-out rows of all folds."""
        import numpy as np

        return np.asarray(np.average(self.scores, axis=0, weights=self.weights))

    @property
    def inside_noise(self) -> bool:
        """Whether the gain over the reference is less than two of its standard errors."""
        return self.reference != "" and not self.gain > 2 * self.gain_error

    def __str__(self) -> str:
        folds = len(self.weights)
        how = f"{folds} folds" if folds > 1 else "one validation split"
        shape = "" if math.isnan(self.shape) else f"shape {self.shape:g}, "
        loss = f"{self.loss}, " if self.loss else ""
        lines = [
            f"chosen by {self.by} on {how}: {loss}{shape}{self.penalty} "
            f"{self.ridge:.4g} "
            f"({short(self.score)} on left-out rows)"
        ]
        if not math.isnan(self.shape) and folds > 1:
            low, high = self.shape_by_fold.min(), self.shape_by_fold.max()
            lines.append(f"the folds alone would choose shapes from {low:g} to {high:g}")
        if self.reference:
            what = "gain of gev-canonical" if self.loss == self.reference else "gain"
            lines.append(
                f"{what} over {self.reference} ({short(self.reference_score)}): "
                f"{self.gain:.2g} +- {self.gain_error:.2g}"
            )
            if self.inside_noise:
                lines.append(
                    f"that is inside the noise: {self.reference} regression was chosen"
                    if self.loss == self.reference
                    else f"that is inside the noise: {self.reference} regression is as good here"
                )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class WidthChoice(Record):
    """How the width of the boxes was chosen: the gain of each width on held-out labelled rows.

    Parameters
    ----------
    widths : ndarray of shape (n_widths,)
        From wide to narrow.
    scores : ndarray of shape (n_folds, n_widths)
        Mean log density over the pool's, in nats per held-out labelled row; larger is better and 0
        is no better than the pool. nan where no distribution meets the boxes.
    weights : ndarray of shape (n_folds,)
        Weight of the held-out rows.
    width_scale : float
        The width chosen.
    score, error : float
        Its mean score, and the standard error over the folds.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.1, 0.4], [0.2, 0.3]])
    >>> print(WidthChoice(np.array([2.0, 1.0]), scores, np.ones(2), 1.0, 0.35, 0.05))
    chosen on 2 folds: width_scale 1, gain 0.35 +- 0.05 nats per labelled row
    """

    widths: Array
    scores: Array
    weights: Array
    width_scale: float
    score: float
    error: float

    def __post_init__(self) -> None:
        if self.scores.shape != (len(self.weights), len(self.widths)):
            raise UsageError(
                "scores has shape {shape}, and there are {expected} (folds, widths).",
                code="shape-mismatch",
                shape=self.scores.shape,
                expected=(len(self.weights), len(self.widths)),
                remedy="Give one score for each.",
            )

    @property
    def mean(self) -> Array:
        """Mean score of each width over the held-out rows of all folds."""
        import numpy as np

        return np.asarray(np.average(self.scores, axis=0, weights=self.weights))

    @property
    def at_edge(self) -> bool:
        """Whether the narrowest or the widest of the widths was chosen."""
        return len(self.widths) > 1 and self.width_scale in (self.widths[0], self.widths[-1])

    def __str__(self) -> str:
        folds = len(self.weights)
        error = "" if math.isnan(self.error) else f" +- {self.error:.2g}"
        lines = [
            f"chosen on {folds} fold{'s' if folds != 1 else ''}: width_scale "
            f"{self.width_scale:.3g}, gain {self.score:.3g}{error} nats per labelled row"
        ]
        if not self.score > 0:
            lines.append("that is no better than the pool itself: the labels say nothing here")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class RankedFit(Record):
    """One pair of families as it was fitted.

    Parameters
    ----------
    background, foreground : str
    criterion : float
        AIC / 2, smaller is better.
    log_likelihood : float
    ks : float
        Greatest distance between fitted and observed distribution.
    positive_share : float

    Examples
    --------
    >>> print(RankedFit("gamma", "normal", 41.2, -36.2, 0.011, 0.008))
    gamma background, normal events: log likelihood -36.2, KS 0.011, prevalence 0.008
    """

    background: str
    foreground: str
    criterion: float
    log_likelihood: float
    ks: float
    positive_share: float

    def __str__(self) -> str:
        return (
            f"{self.background} background, {self.foreground} events: log likelihood "
            f"{self.log_likelihood:.8g}, KS {short(self.ks)}, prevalence "
            f"{short(self.positive_share)}"
        )
