"""Which keyword is for whom? For Displays that compute a record first and then draw it.

What the computing function has in its signature is for it, the rest for matplotlib; what neither
knows is refused before anything is computed. Assumes that no name means something to both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from scarce.errors import UsageError, suggest
from scarce.plots.frame import pyplot

Options = dict[str, Any]


def divide(
    options: Options,
    compute: Callable[..., Any],
    draw: str = "plot",
    *,
    also: Sequence[str] = (),
) -> tuple[Options, Options]:
    """Return the options of a computation, and those of the drawing.

    Parameters
    ----------
    options : dict
        What a user passed on.
    compute : callable
        Takes what is in its signature.
    draw : {"plot", "barh", "imshow"}
        The method of matplotlib's axes that takes the rest.
    also : sequence of str
        What else the Display's own `plot` understands.

    Examples
    --------
    >>> from scarce import cost_curve
    >>> divide({"resamples": 100, "color": "k"}, cost_curve)
    ({'resamples': 100}, {'color': 'k'})
    """
    pyplot()  # says what to install
    from matplotlib import axes, image, lines, patches

    known = list(inspect.signature(compute).parameters)
    artist: Any = {"plot": lines.Line2D, "barh": patches.Rectangle, "imshow": image.AxesImage}[draw]
    drawn = [name[4:] for name in dir(artist) if name.startswith("set_")]
    named = inspect.signature(getattr(axes.Axes, draw)).parameters.values()
    drawn += [one.name for one in named if one.kind is not one.VAR_KEYWORD]
    for name in options:
        if name not in known and name not in drawn and name not in also:
            near = suggest(name, [*known[2:], *also, *drawn])
            raise UsageError(
                f"{name}= is known neither to {compute.__name__} nor to matplotlib's "
                f"Axes.{draw}.{near}"
            )
    own = {name: value for name, value in options.items() if name in known}
    return own, {name: value for name, value in options.items() if name not in own}
