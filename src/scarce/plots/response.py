"""Response curves: how does a prediction change with one variable?

One panel per variable, from `MaxentClassifier.response_curve`: all other variables are missing.
Ticks along the bottom show where the training rows are; a band shows the variation between fits to
other rows, if given. Assumes curves of one model. Computes no curve itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import read_level
from scarce.errors import UsageError, listed, refuse_word, suggest, warn_user
from scarce.plots.mpl import (
    GREY,
    Axes,
    Colour,
    Frame,
    fit,
    framed_grid,
    in_percent,
    shared_legend,
    wrap,
)
from scarce.plots.picture import Array, percent

if TYPE_CHECKING:
    from scarce.maxent.classifier import MaxentClassifier
    from scarce.maxent.response import ResponseCurve

MOST = 12  # panels, unless variables are named
LEVELS = 18  # names of levels that fit side by side, rotated
LARGEST = (
    "{most} of {every} variables, those with the largest range; variables=[...] chooses others"
)
KINDS = {"prob": "probability", "tilt": "log density ratio"}


class ResponseDisplay:
    """Response curves, one panel per variable.

    Parameters
    ----------
    curves : sequence of ResponseCurve
        One panel each.
    name : str
        Legend entry.
    rug : dict of variable -> array, optional
        Values to mark along the bottom: quantiles of the training rows.
    levels : dict of variable -> sequence of str, optional
        For a category: the names of its codes 0, 1, ...
    others : dict of variable -> sequence of ResponseCurve, optional
        The same curves from fits to other rows; the band covers a fraction `level` of them.
    level : float

    Attributes
    ----------
    axes_ : array of axes, after `plot`; `ax_` is the first of them, `figure_` theirs.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from scarce import MaxentClassifier, presence_background
    >>> rng = np.random.default_rng(0)
    >>> places = rng.uniform(0, 30, size=(500, 2))
    >>> X, y = presence_background(places[abs(places[:, 0] - 20) < 4], places)
    >>> model = MaxentClassifier(features="h").fit(X, y)
    >>> display = ResponseDisplay.from_estimator(model, names={"x0": "heat", "x1": "rain"})
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['heat', 'rain']
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self,
        curves: Sequence[ResponseCurve],
        *,
        name: str = "",
        rug: Mapping[str, ArrayLike] | None = None,
        levels: Mapping[str, Sequence[str]] | None = None,
        others: Mapping[str, Sequence[ResponseCurve]] | None = None,
        level: float = 0.9,
    ) -> None:
        self.curves = list(curves)
        if not self.curves:
            raise UsageError("There is no curve to draw.", code="empty-picture")
        self.name = name
        self.rug = dict(rug or {})
        self.levels = dict(levels or {})
        self.others = dict(others or {})
        self.note = ""
        self.level = read_level(level)

    @classmethod
    def from_estimator(
        cls,
        estimator: MaxentClassifier,
        variables: Sequence[str | int] | None = None,
        *,
        label: Hashable = None,
        n: int = 200,
        others: Sequence[MaxentClassifier] = (),
        level: float = 0.9,
        name: str = "",
        ax: Sequence[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Compute the curves of a fitted model and draw them; options go to `plot`.

        Parameters
        ----------
        estimator : fitted MaxentClassifier
        variables : sequence of str or int, optional
            By name or position; by default all, or the 12 with the largest range, which the
            picture then says.
        label : class, optional
            The labelled class, if there are several.
        n : int
            Values per curve.
        others : sequence of fitted MaxentClassifier
            Fits to other rows, such as bootstrap samples or folds, for a band.
        level : float
            Fraction of those fits that the band covers.
        """
        for one in (estimator, *others):
            if not hasattr(one, "response_curve"):
                raise UsageError(
                    "{kind} has no response_curve.",
                    code="wrong-record",
                    kind=type(one).__name__,
                    remedy="Pass a fitted MaxentClassifier; for other models see "
                    "sklearn.inspection.PartialDependenceDisplay.",
                )
        if isinstance(variables, str):
            variables = [variables]
        every = estimator.n_features_in_
        asked = range(every) if variables is None else _known(estimator, variables)
        curves = [estimator.response_curve(one, label=label, n=n) for one in asked]
        note = ""
        if variables is None and every > MOST and np.size(np.array(ax, dtype=object)) != every:
            curves, note = _largest(curves), LARGEST.format(most=MOST, every=every)
        wanted = [one.variable for one in curves]
        more = {
            one: [other.response_curve(one, label=label, n=n) for other in others]
            for one in wanted
            if others
        }
        rug, levels = _learnt_from(estimator)
        held = cls(curves, name=name, rug=rug, levels=levels, others=more, level=level)
        held.note = note
        return held.plot(ax, **options)

    def plot(
        self,
        ax: Sequence[Axes] | None = None,
        *,
        name: str | None = None,
        kind: str = "prob",
        names: Mapping[str, str] | None = None,
        columns: int = 3,
        **style: Any,
    ) -> Self:
        """Draw on the given axes, one per variable, or on a new figure.

        Parameters
        ----------
        ax : sequence of matplotlib axes, optional
        name : str, optional
            Legend entry, instead of the Display's name.
        kind : {"prob", "tilt"}
            Probability of the class with all other variables missing, or the log density ratio of
            the variable.
        names : dict of variable -> str, optional
            Names of the variables in the picture, with units.
        columns : int
            Most panels in a row.
        **style : passed to `Axes.plot`
        """
        refuse_word("kind", kind, tuple(KINDS))
        label = self.name if name is None else name
        size = (3.3, 2.7)
        if len(self.curves) == 1:
            size = (5.5, 4.0)
        with framed_grid(self, ax, len(self.curves), size, columns, share_y=True) as frames:
            called = [(names or {}).get(one.variable, one.variable) for one in self.curves]
            wide = min(one.ax.bbox.width / one.ax.figure.dpi for one in frames)
            words = fit(called, max(16, int(12 * wide)))
            for frame, curve, what in zip(frames, self.curves, words, strict=True):
                self._panel(frame, curve, kind, label, style)
                frame.ax.set_xlabel(what)
                frame.close(legend=False)
            if self.note and frames[0].own:
                figure = frames[0].ax.figure
                figure.suptitle(wrap(self.note, int(11 * figure.get_figwidth())), fontsize="medium")
            elif self.note:
                warn_user("The picture shows {note}.", code="picture-cut", note=self.note)
            for frame in frames:
                spec = frame.ax.get_subplotspec()
                if not frame.own or spec is None or spec.is_first_col():
                    frame.ax.set_ylabel(KINDS[kind])
                if kind == "prob":
                    in_percent(frame.ax.yaxis)
            shared_legend(frames)  # taken from the panel with the most entries
        return self

    def _panel(
        self, frame: Frame, curve: ResponseCurve, kind: str, name: str, style: dict[str, Any]
    ) -> None:
        y = np.asarray(getattr(curve, kind))
        names = self.levels.get(curve.variable)
        words = name or "the model"
        if names is not None:
            look = {**frame.take(style, of="points"), "label": frame.named(words)}
            (line,) = frame.ax.plot(curve.x, y, **look)
            texts = [names[int(code)] if int(code) < len(names) else "?" for code in curve.x]
            _name_levels(frame.ax, curve.x, texts)
            frame.ax.set_xlim(curve.x.min() - 0.5, curve.x.max() + 0.5)
        else:
            line = frame.line(curve.x, y, label=words, **style)
        self._band(frame, curve, kind, line.get_color(), bars=names is not None)
        if frame.fresh and kind == "prob":
            look = {"color": GREY, "linestyle": ":", "linewidth": 1.2}
            frame.ax.axhline(curve.missing, label="value missing", **look)
        ticks = self.rug.get(curve.variable)
        if ticks is not None and frame.fresh:
            frame.ax.plot(
                ticks,
                np.full(len(np.asarray(ticks)), 0.025),
                transform=frame.ax.get_xaxis_transform(),
                linestyle="",
                marker="|",
                markersize=7,
                color="0.25",
                label="training rows, every 5 %",
            )

    def _band(
        self, frame: Frame, curve: ResponseCurve, kind: str, color: Colour, *, bars: bool
    ) -> None:
        """Draw the variation between other fits."""
        others = self.others.get(curve.variable)
        if not others:
            return
        table = np.array([_at(one, kind, curve.x, exact=bars) for one in others])
        sides = [(1 - self.level) / 2, (1 + self.level) / 2]
        low, high = np.nanquantile(table, sides, axis=0)
        words = frame.once(f"{percent(self.level)} of {len(others)} other fits")
        if bars:
            frame.ax.vlines(curve.x, low, high, color=color, linewidth=1.2, label=words)
        else:
            look = {"color": color, "alpha": 0.18, "linewidth": 0}
            frame.ax.fill_between(curve.x, low, high, label=words, **look)


def _largest(curves: list[ResponseCurve]) -> list[ResponseCurve]:
    """Return the curves with the largest range, in their order."""
    ranges = np.array([np.ptp(one.tilt) for one in curves])
    kept = np.sort(np.argsort(-ranges, kind="stable")[:MOST])
    return [curves[at] for at in kept]


def _name_levels(ax: Axes, places: Array, names: list[str]) -> None:
    """Write the names of levels under an axis: rotated if there are many, at most 18."""
    words = fit(names, 16, lines=1)
    step = -(-len(words) // LEVELS)
    ax.set_xticks(places[::step], words[::step])
    ax.set_xticks(places, minor=True)
    if sum(map(len, words)) > 24:
        upright = len(words) > 6
        look = {"rotation": 90} if upright else {"rotation": 30, "ha": "right"}
        for text in ax.get_xticklabels():
            text.set(rotation_mode="anchor" if not upright else "default", **look)
            text.set_fontsize("x-small" if upright else "small")


def _known(model: MaxentClassifier, variables: Sequence[str | int]) -> Sequence[str | int]:
    """Return the variables, or raise an error that names those of the model."""
    held = getattr(model, "feature_names_in_", None)
    n = model.n_features_in_
    names = [f"x{at}" for at in range(n)] if held is None else list(map(str, held))
    for one in variables:
        if one not in names and not (isinstance(one, int | np.integer) and 0 <= one < n):
            raise UsageError(
                "{value!r} is not one of the {count} variables of {kind}: {names}.{hint}",
                code="unknown-column",
                value=one,
                count=n,
                kind=type(model).__name__,
                names=listed(list(map(repr, names))),
                hint=suggest(str(one), names),
            )
    return variables


def _at(curve: ResponseCurve, kind: str, x: Array, *, exact: bool) -> Array:
    """Interpolate a curve; `exact` (a category) takes known values only."""
    y = np.asarray(getattr(curve, kind))
    if not exact:
        return np.asarray(np.interp(x, curve.x, y))
    known = dict(zip(curve.x.tolist(), y.tolist(), strict=True))
    return np.array([known.get(one, np.nan) for one in np.asarray(x).tolist()])


def _learnt_from(model: MaxentClassifier) -> tuple[dict[str, Array], dict[str, list[str]]]:
    """Return quantiles of the training rows and names of levels, as far as a model has them."""
    names = getattr(model, "feature_names_in_", None)
    quantiles = getattr(model, "pool_quantiles_", None)
    columns = getattr(model, "schema_", {}).get("columns", ())
    category = getattr(model, "is_category_", ())
    rug, levels = {}, {}
    for at in range(model.n_features_in_):
        name = f"x{at}" if names is None else str(names[at])
        if quantiles is not None and np.isfinite(quantiles[at]).all():
            rug[name] = quantiles[at][::5]
        if at < len(category) and category[at]:
            known = columns[at][2] if at < len(columns) else ()
            codes = np.asarray(model.knots_[at])
            levels[name] = list(known) or [f"{code:g}" for code in range(int(codes.max()) + 1)]
    return rug, levels
