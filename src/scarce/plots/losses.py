"""Losses and links: what is the loss at a score if the row is an event, or not?

    loss(y, score) for both labels, and prob = inverse(score)             (001 Figure 1, Table 1)

Takes losses of `scarce.losses`, or anything with `value(y, score)` and a `link` with
`inverse(score)`. Assumes nothing else. A canonical loss is known up to a constant, on which no fit
depends (docs/maths/gev.md); `zero_at` removes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.errors import Argument, DataError, UsageError
from scarce.plots.mpl import Axes, framed_grid, in_percent, shared_legend, wrap
from scarce.plots.picture import Array


class Loss(Protocol):
    """A loss in score space, as in `scarce.losses`."""

    @property
    def link(self) -> Any:
        """The link; its `inverse(score)` is the probability."""

    def value(self, y: Array, score: Array, /) -> Array:
        """Return the loss of each row."""


class LossDisplay:
    """Losses and links by score: loss of events, loss of other rows, and probability.

    Parameters
    ----------
    losses : dict of name -> loss, or sequence of losses
        A loss has `value(y, score)` and `link.inverse(score)`.
    scores : array-like of shape (n,), optional
        Scores to draw at; by default from -5 to 5.

    Attributes
    ----------
    axes_ : array of the three axes, after `plot`; `ax_` is the first of them, `figure_` theirs.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from scarce.linear.losses import loss_of
    >>> display = LossDisplay.from_losses([loss_of("logistic"), loss_of("gev-canonical", 0.5)])
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['loss of an event', 'loss of another row', 'probability']
    >>> list(display.losses)
    ['logit, log loss', 'gev 0.5, canonical']
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self, losses: Mapping[str, Loss] | Sequence[Loss], *, scores: ArrayLike | None = None
    ) -> None:
        self.losses: dict[str, Loss] = (
            dict(losses) if isinstance(losses, Mapping) else {_name(one): one for one in losses}
        )
        for name, loss in self.losses.items():
            if not hasattr(loss, "value") or not hasattr(getattr(loss, "link", None), "inverse"):
                raise UsageError(
                    "{name!r} must have value(y, score) and a link, got {kind}.",
                    code="not-a-loss",
                    name=name,
                    kind=type(loss).__name__,
                    remedy="Give losses such as scarce.losses.loss_of('gev-canonical', 0.5).",
                )
        if not self.losses:
            raise UsageError("There is no loss to draw.", code="empty-picture")
        points = np.linspace(-5.0, 5.0, 401) if scores is None else scores
        self.scores = np.sort(np.asarray(points, dtype=np.float64).ravel())
        if len(self.scores) < 2 or not np.isfinite(self.scores).all():
            raise DataError(
                "{argument} must be at least two finite numbers, got {count}.",
                code="not-finite",
                argument=Argument("scores"),
                count=len(self.scores),
                remedy="Give the scores to draw at, such as np.linspace(-5, 5, 401).",
            )

    @classmethod
    def from_losses(
        cls,
        losses: Mapping[str, Loss] | Sequence[Loss],
        *,
        scores: ArrayLike | None = None,
        ax: Sequence[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Draw losses; options go to `plot`."""
        return cls(losses, scores=scores).plot(ax, **options)

    def plot(
        self,
        ax: Sequence[Axes] | None = None,
        *,
        zero_at: float | None = None,
        event: str = "an event",
        other: str = "another row",
        **style: Any,
    ) -> Self:
        """Draw on three given axes, or on a new figure.

        Parameters
        ----------
        ax : sequence of three matplotlib axes, optional
        zero_at : float, optional
            Subtract from each curve its loss at this score, where all then pass through 0.
        event, other : str
            Names of the two kinds of rows, such as "a fraud" and "an honest payment".
        **style : passed to `Axes.plot`
        """
        with framed_grid(self, ax, 3, (3.5, 3.5), 3, share_y=False) as frames:
            for name, loss in self.losses.items():
                for frame, y in zip(frames[:2], (1.0, 0.0), strict=True):
                    frame.line(self.scores, self._loss(loss, y, zero_at), label=name, **style)
                prob = loss.link.inverse(self.scores)
                frames[2].line(self.scores, prob, label=name, **style)
            raised = "" if zero_at is None else f",\nminus that at score {zero_at:g}"
            for frame, what in zip(frames, (event, other, None), strict=True):
                high = max(16, int(11 * frame.ax.bbox.height / frame.ax.figure.dpi))
                words = (
                    wrap(f"loss of {what}", high) + raised if what is not None else "probability"
                )
                frame.ax.set(xlabel="score", ylabel=words)
                frame.ax.set_xlim(self.scores[0], self.scores[-1])
                frame.close(legend=False)
            frames[2].ax.set_ylim(-0.03, 1.03)
            in_percent(frames[2].ax.yaxis)
            shared_legend(frames)
            self._limit([frame.ax for frame in frames[:2]], zero_at)
        return self

    def _loss(self, loss: Loss, y: float, zero_at: float | None) -> Array:
        label = np.full(len(self.scores), y)
        value = np.asarray(loss.value(label, self.scores), dtype=np.float64)
        if zero_at is not None:
            value = value - float(loss.value(np.array([y]), np.array([float(zero_at)]))[0])
        return np.where(np.isfinite(value), value, np.nan)

    def _limit(self, axes: list[Axes], zero_at: float | None) -> None:
        """Give both losses one scale, on which an infinite loss does not flatten the rest."""
        drawn = np.concatenate(
            [self._loss(loss, y, zero_at) for loss in self.losses.values() for y in (1.0, 0.0)]
        )
        drawn = drawn[np.isfinite(drawn)]
        reach = 1.05 * float(
            np.ptp(self.scores)
        )  # the slope of a canonical loss is between -1 and 1
        low, high = float(drawn.min()), min(float(drawn.max()), float(drawn.min()) + reach)
        room = 0.04 * (high - low or 1.0)
        for ax in axes:
            ax.set_ylim(low - room, high + room)


def _name(loss: Loss) -> str:
    """Name a loss by its link."""
    link = getattr(loss, "link", None)
    what = {"CanonicalLoss": "canonical", "LogLoss": "log loss"}.get(type(loss).__name__, "")
    words = str(getattr(link, "name", type(link).__name__))
    if words == "gev":
        words = f"gev {link.shape:g}" if link is not None else words
    return f"{words}, {what}" if what else words
