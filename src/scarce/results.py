"""The records that carry every result: a number about the world, how a fit ended, what was chosen.

`Estimate` is used wherever a number about the world is reported: it never travels without its
interval, the method behind it and the assumption it leans on. `FitReport` comes from every solver:
a fit stops on an optimality certificate, never on "the coefficients moved little". `Selection`
comes from every search over settings, with its spread and what it gained over the plain choice;
`WidthChoice` is the same for the one width of maxent's boxes; `RankedFit` is one pair of families
that a mixture of scores was fitted with.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scarce.errors import UsageError


@dataclass(frozen=True, slots=True)
class Estimate:
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
                f"level={self.level!r} is not a coverage. Give a number between 0 and 1, such as "
                "0.9."
            )
        if self.low > self.high:
            raise UsageError(
                f"An interval from low={self.low!r} to high={self.high!r} is empty: swap the two."
            )

    @property
    def width(self) -> float:
        """Length of the interval."""
        return round(self.high - self.low, 15)

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high

    def __str__(self) -> str:
        return (
            f"{short(self.value)} [{short(self.low)}, {short(self.high)}]"
            f" ({100 * self.level:g} %, {self.method or 'method not said'})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class FitReport:
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
        text = f"{how} after {passes}, objective {self.objective:.6g}"
        return "\n".join([text, *(f"warning: {warning}" for warning in self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return asdict(self)


def short(value: float) -> str:
    """Write a number for a reader: three significant digits, words where it is not a number.

    Examples
    --------
    >>> short(0.123456), short(float("nan")), short(float("-inf")), short(41234.0)
    ('0.123', 'unknown', '-inf', '41,234')
    """
    if math.isnan(value):
        return "unknown"
    if math.isfinite(value) and 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def in_rows(n: int) -> str:
    """Write a number of rows.

    Examples
    --------
    >>> in_rows(1), in_rows(2000)
    ('1 row', '2,000 rows')
    """
    return f"{n:,} row{'s' if n != 1 else ''}"


@dataclass(frozen=True, eq=False)
class Selection:
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

    Examples
    --------
    >>> one = np.array([[[0.10, 0.11]]])
    >>> found = Selection("brier", np.array([0.3]), np.array([1.0, 10.0]), one, np.ones(1),
    ...     0.3, 1.0, 0.10, "logistic", 0.101, 0.001, 0.002, np.array([0.3]))
    >>> found.inside_noise
    True
    """

    by: str
    shapes: Any
    ridges: Any
    scores: Any
    weights: Any
    shape: float
    ridge: float
    score: float
    reference: str
    reference_score: float
    gain: float
    gain_error: float
    shape_by_fold: Any
    loss: str = ""

    def __post_init__(self) -> None:
        sizes = [np.shape(part) for part in (self.weights, self.shapes, self.ridges)]
        whole = tuple(length for size in sizes for length in size)
        if np.shape(self.scores) != whole or np.shape(self.shape_by_fold) != sizes[0]:
            raise UsageError(
                f"scores of shape {np.shape(self.scores)} do not belong to {whole} (folds, shapes, "
                "ridges): give one score for each."
            )

    @property
    def mean(self) -> Any:
        """Mean score of each (shape, ridge) over the held-out rows of all folds."""
        return np.average(self.scores, axis=0, weights=self.weights)

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
            f"chosen by {self.by} on {how}: {loss}{shape}ridge {self.ridge:.4g} "
            f"({short(self.score)} on left-out rows)"
        ]
        if not math.isnan(self.shape) and folds > 1:
            low, high = np.min(self.shape_by_fold), np.max(self.shape_by_fold)
            lines.append(f"the folds alone would choose shapes from {low:g} to {high:g}")
        if self.reference:
            what = "gain of gev-canonical" if self.loss == self.reference else "gain"
            lines.append(
                f"{what} over {self.reference} ({short(self.reference_score)}): "
                f"{self.gain:.2g} +- {self.gain_error:.2g}"
            )
            if self.inside_noise:
                lines.append(
                    f"that is inside the noise: plain {self.reference} regression is as good here"
                )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class WidthChoice:
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
    >>> scores = np.array([[0.1, 0.4], [0.2, 0.3]])
    >>> print(WidthChoice(np.array([2.0, 1.0]), scores, np.ones(2), 1.0, 0.35, 0.05))
    chosen on 2 folds: width_scale 1, gain 0.35 +- 0.05 nats per labelled row
    """

    widths: Any
    scores: Any
    weights: Any
    width_scale: float
    score: float
    error: float

    def __post_init__(self) -> None:
        if np.shape(self.scores) != (len(self.weights), len(self.widths)):
            raise UsageError(
                f"scores of shape {np.shape(self.scores)} do not belong to {len(self.weights)} "
                f"folds and {len(self.widths)} widths: give one score for each."
            )

    @property
    def mean(self) -> Any:
        """Mean score of each width over the held-out rows of all folds."""
        return np.average(self.scores, axis=0, weights=self.weights)

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
class RankedFit:
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
    gamma background, normal events: log likelihood -36.2, KS 0.011, share of events 0.008
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
            f"{self.log_likelihood:.8g}, KS {short(self.ks)}, share of events "
            f"{short(self.positive_share)}"
        )
