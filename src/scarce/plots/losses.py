"""Losses and links: what does a score cost when the row turns out to be an event, or not?

    loss(y, score) for both labels, and prob = inverse(score)             (001 Figure 1, Table 1)

Takes losses as `scarce.losses` makes them, or anything with `value(y, score)` and a `link` with
`inverse(score)`. Assumes nothing else. Draws a canonical loss as it is computed: up to a constant,
which no fit depends on (docs/maths/gev.md); `zero_at` takes the constant out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.errors import Argument, DataError, UsageError
from scarce.plots.mpl import framed_grid, in_percent, shared_legend, wrap


class LossDisplay:
    """Picture of losses and of their links: events, other rows, and probabilities by score.

    Parameters
    ----------
    losses : dict of name -> loss, or sequence of losses
        A loss has `value(y, score)` and `link.inverse(score)`.
    scores : array-like of shape (n,), optional
        Where to draw; by default from -5 to 5.

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
        self, losses: Mapping[str, Any] | Sequence[Any], *, scores: ArrayLike | None = None
    ) -> None:
        self.losses: dict[str, Any] = (
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
        losses: Mapping[str, Any] | Sequence[Any],
        *,
        scores: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw some losses; options are those of `plot`."""
        return cls(losses, scores=scores).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        zero_at: float | None = None,
        event: str = "an event",
        other: str = "another row",
        **style: Any,
    ) -> Self:
        """Draw on three given axes, or on new ones.

        Parameters
        ----------
        ax : sequence of three matplotlib axes, optional
        zero_at : float, optional
            Take from each curve its loss at this score, so that all of them pass through 0 there.
        event, other : str
            What the two kinds of rows are called: "a fraud", "an honest payment".
        **style : passed to `Axes.plot`
        """
        with framed_grid(self, ax, 3, (3.5, 3.5), 3, share_y=False) as frames:
            for name, loss in self.losses.items():
                for frame, y in zip(frames[:2], (1.0, 0.0), strict=True):
                    frame.line(self.scores, self._loss(loss, y, zero_at), label=name, **style)
                prob = loss.link.inverse(self.scores)
                frames[2].line(self.scores, prob, label=name, **style)
            raised = "" if zero_at is None else f",\nless that at score {zero_at:g}"
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

    def _loss(self, loss: Any, y: float, zero_at: float | None) -> Any:
        label = np.full(len(self.scores), y)
        value = np.asarray(loss.value(label, self.scores), dtype=np.float64)
        if zero_at is not None:
            value = value - float(loss.value(np.array([y]), np.array([float(zero_at)]))[0])
        return np.where(np.isfinite(value), value, np.nan)

    def _limit(self, axes: list[Any], zero_at: float | None) -> None:
        """Give both losses one scale, and do not let one that goes to infinity flatten the rest."""
        drawn = np.concatenate(
            [self._loss(loss, y, zero_at) for loss in self.losses.values() for y in (1.0, 0.0)]
        )
        drawn = drawn[np.isfinite(drawn)]
        reach = 1.05 * float(np.ptp(self.scores))  # a canonical loss has slopes from -1 to 1
        low, high = float(drawn.min()), min(float(drawn.max()), float(drawn.min()) + reach)
        room = 0.04 * (high - low or 1.0)
        for ax in axes:
            ax.set_ylim(low - room, high + room)


def _name(loss: Any) -> str:
    """Name a loss by its link."""
    link = getattr(loss, "link", None)
    what = {"CanonicalLoss": "canonical", "LogLoss": "log loss"}.get(type(loss).__name__, "")
    words = str(getattr(link, "name", type(link).__name__))
    if words == "gev":
        words = f"gev {link.shape:g}" if link is not None else words
    return f"{words}, {what}" if what else words
