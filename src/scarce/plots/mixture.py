"""A mixture of scores: do two families fit the scores, and where is the threshold?

    rows expected in a bin of width w about s = n b [S1(s - w/2) - S1(s + w/2)]       (002 eq 1)

and the same with 1 - b and S0 for rows that are not events. Rows are shown by label: event, no
event, not labelled. Counts are on a logarithmic axis, because rare events would not show otherwise.
Assumes a fitted ScoreMixture; draws the scores it keeps, in at most `bins` bins per state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import read_integer, read_threshold
from scarce.errors import Argument, UsageError
from scarce.plots.mpl import ALONE, COLOURS, GREY, Axes, Frame, framed
from scarce.plots.picture import Array
from scarce.results import short

if TYPE_CHECKING:
    from scarce.missed.mixture.estimator import Families, ScoreMixture

STATES = {
    "unlabelled": ("not labelled", "0.55", ""),
    "negative": ("labelled, no event", COLOURS[0], "////"),
    "positive": ("labelled event", COLOURS[1], "xxxx"),
}


class MixtureDisplay:
    """Scores by label and the mixture fitted to them.

    Parameters
    ----------
    mixture : fitted ScoreMixture
    threshold : float, optional
        Rows with this score or a higher one are alerts.
    name : str
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.
    edges_ : ndarray
        Edges of the bins, after `plot`.
    counts_ : dict of state -> ndarray
        Rows per bin for "unlabelled", "negative" and "positive".

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=1)
    >>> display = MixtureDisplay.from_predictions(trial.scores, trial.y, threshold=9.1)
    >>> {state: int(rows.sum()) for state, rows in display.counts_.items()}
    {'unlabelled': 4844, 'negative': 136, 'positive': 20}
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self, mixture: ScoreMixture, *, threshold: float | None = None, name: str = ""
    ) -> None:
        if not hasattr(mixture, "digest_"):
            raise UsageError(
                "{argument} must be a fitted ScoreMixture, got {kind}.",
                code="wrong-record",
                argument=Argument("mixture"),
                kind=type(mixture).__name__,
                remedy="Fit one, or use MixtureDisplay.from_predictions(scores, labels).",
            )
        self.mixture = mixture
        self.threshold = None if threshold is None else read_threshold(threshold, [None])[0]
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        mixture: ScoreMixture,
        *,
        threshold: float | None = None,
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted ScoreMixture; options go to `plot`."""
        return cls(mixture, threshold=threshold, name=name).plot(ax, **options)

    @classmethod
    def from_predictions(
        cls,
        scores: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        threshold: float | None = None,
        background: Families = "auto",
        foreground: Families = "normal",
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Fit a mixture to partly labelled scores and draw it; options go to `plot`."""
        from scarce.missed.mixture.estimator import ScoreMixture  # compiled loops: only when asked

        mixture = ScoreMixture(background, foreground).fit(scores, labels)
        return cls(mixture, threshold=threshold, name=name).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        bins: int = 50,
        log: bool = True,
        **style: Any,
    ) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Empty: two mixtures would hide each other.
        name : str, optional
            Title, instead of the Display's name.
        bins : int
            Bins over the range of the scores; one of them starts at the threshold.
        log : bool
            Counts on a logarithmic axis.
        **style : passed to `Axes.plot`, for the fitted lines
        """
        read_integer(bins, "bins", least=2)
        from scarce.missed.digest import ScoreDigest

        digest = ScoreDigest.from_arrays(self.mixture.digest_)
        edges = self._edges(digest.minimum, digest.maximum, int(bins))
        counts: dict[str, Array] = {}
        for state in STATES:
            score, weight = digest.points(state)
            held = np.clip(score, edges[0], edges[-1])
            counts[state] = np.histogram(held, edges, weights=weight)[0].astype(np.float64)
        total = sum(float(rows.sum()) for rows in counts.values())
        title = self.name if name is None else name
        with framed(self, ax, (6.6, 4.6)) as frame:
            frame.alone("mixture")
            for state, (words, color, hatch) in STATES.items():
                if counts[state].sum() > 0:
                    _bars(frame.ax, counts[state], edges, words, color, hatch)
            if self.mixture.background_:
                self._lines(frame, edges, total, style)
            if self.threshold is not None:
                words = f"threshold {short(float(self.threshold))}"
                look = {"color": "black", "linestyle": (0, (4, 3)), "linewidth": 1.2}
                frame.ax.axvline(self.threshold, label=words, **look)
            most = float(np.max(sum(counts.values())))
            frame.ax.set(xlabel="score", ylabel="rows per bin", xlim=(edges[0], edges[-1]))
            if log:
                frame.ax.set(yscale="log", ylim=(0.5, 60.0 * most))  # leaves room for the legend
            else:
                frame.ax.set_ylim(0, 1.5 * most)
            doubt = "unreliable: the mixture is not identified"
            frame.title(title, below="" if self.mixture.identified_ else doubt)
            inches = frame.ax.bbox.width / frame.ax.figure.dpi
            size = "small" if inches > 4 else "x-small"
            frame.close(legend={"loc": "upper center", "ncols": 2, "fontsize": size})
        self.edges_, self.counts_ = edges, counts
        return self

    def _edges(self, low: float, high: float, bins: int) -> Array:
        """Return equally spaced edges, one of them at the threshold."""
        width = (high - low) / bins if high > low else 1.0
        if self.threshold is None or not low < self.threshold < high:
            return np.asarray(low + width * np.arange(bins + 1))
        left = int(np.ceil((self.threshold - low) / width))
        right = int(np.ceil((high - self.threshold) / width))
        return np.asarray(self.threshold + width * np.arange(-left, right + 1))

    def _lines(self, frame: Frame, edges: Array, total: float, style: dict[str, Any]) -> None:
        """Draw the expected number of rows in a bin around each score."""
        mixture = self.mixture
        half = (edges[1] - edges[0]) / 2
        s = np.linspace(edges[0], edges[-1], 400)
        share = mixture.positive_share_
        tails = {"events": mixture.recall, "others": mixture.false_alarm_rate}
        part = {of: np.maximum(tail(s - half) - tail(s + half), 0.0) for of, tail in tails.items()}
        events = total * share * part["events"]
        others = total * (1 - share) * part["others"]
        lines = (
            (events + others, "fitted: all rows", GREY, (0, (1, 1))),
            (others, f"fitted: non-events ({mixture.background_})", COLOURS[0], "-"),
            (events, f"fitted: events ({mixture.foreground_})", COLOURS[1], (0, (7, 2))),
        )
        for y, words, color, dashes in lines:
            look = {"color": color, "linestyle": dashes, "linewidth": 1.8, **style}
            frame.ax.plot(s, y, label=words, **look)


def _bars(ax: Axes, rows: Array, edges: Array, words: str, color: str, hatch: str) -> None:
    """Draw the histogram of one state: filled grey, or hatched so that others stay visible."""
    if hatch:
        look = {"facecolor": "none", "edgecolor": color, "hatch": hatch, "linewidth": 0.9}
    else:
        look = {"facecolor": "0.85", "edgecolor": color, "linewidth": 0.7}
    ax.stairs(rows, edges, fill=True, label=words, gid=ALONE, **look)
