"""Displays of results in the style of scikit-learn. They need the extra "plot".

A picture is described once (`picture`) and drawn by two back ends: `svg` for pages, without any
library, and `mpl` on matplotlib's axes.
"""

from scarce.lazy import public_names

__all__, __getattr__, __dir__ = public_names(__name__, __file__)
