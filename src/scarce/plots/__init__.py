"""Displays: pictures of results, in the manner of scikit-learn's. Needs the extra "plot".

What a picture shows is said once (`picture`); `svg` draws it for pages without any library, `mpl`
on matplotlib's axes.
"""

from scarce.lazy import public_names

__all__, __getattr__, __dir__ = public_names(__file__)
