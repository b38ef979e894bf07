"""How far is the reading? One rising count over the several walks that opening data takes.

Code books need a walk over the data before the one that decodes them; a bar that fills twice would
be no measure of the time left. Does not draw: the callback does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

Report = Callable[[int, int], None]


class Walks:
    """Counts walks over the same data and calls ``report(done, total)``.

    Parameters
    ----------
    report : callable or None
        Takes what is done and what there is altogether, in bytes or rows.
    size : int
        Length of one walk.

    Examples
    --------
    >>> walks = Walks(lambda done, total: print(done, "of", total), size=10)
    >>> walks.begin(left=1)
    >>> walks.at(10)
    10 of 20
    >>> walks.begin(left=0)
    >>> walks.at(5)
    15 of 20
    """

    def __init__(self, report: Report | None, size: int) -> None:
        self.report = report
        self.size = size
        self._begun = 0
        self._left = 0

    def begin(self, left: int) -> None:
        """Begin a walk, after which `left` more are to come."""
        self._begun += 1
        self._left = left

    def at(self, place: int) -> None:
        """Say how far the present walk is."""
        if self.report is not None:
            done = (self._begun - 1) * self.size + min(place, self.size)
            self.report(done, (self._begun + self._left) * self.size)

    def end(self) -> None:
        """Say that no walk is left, where one was expected and not needed."""
        if self._begun and self._left:
            self._left = 0
            self.at(self.size)

    def over(self, tables: Iterable[pa.Table], left: int) -> Iterator[pa.Table]:
        """Pass tables through, counting their rows."""
        self.begin(left)
        place = 0
        for table in tables:
            yield table
            place += table.num_rows
            self.at(place)
