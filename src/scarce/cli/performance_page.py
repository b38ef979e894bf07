"""The page of `scarce report` on scores of which only some rows were labelled.

It leads with the answer in a sentence for a reader who types nothing; commands stand at its end.
The figures are those of `scarce estimate`, from the same pass; only presentation is decided here.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.estimate import problems_of, result_of
from scarce.cli.flags import in_flags
from scarce.cli.performance_words import (
    beside_the_answer,
    for_a_page,
    in_short,
    is_guess,
    leans_on,
    settling,
)

if TYPE_CHECKING:
    from scarce import Estimate, Performance
    from scarce.cli.scored_table import ScoredTable
    from scarce.report import Report

BINS = 40  # of the histogram
MOST_BATCHES = 60  # in the table
FAR = 0.0005  # share of the scores on either side that stand in the first or last bin


class PerformancePage:
    """The parts of a page on scores, and what they share.

    Parameters
    ----------
    held : ScoredTable
    path : Path, optional
        As typed.
    level : float
    seed : int
    """

    def __init__(self, held: ScoredTable, path: Path | None, level: float, seed: int) -> None:
        self.held, self.path = held, path
        self._parts: dict[int, Any] = {}
        self.found, together = held.measure(level=level, seed=seed, watch=self._keep)
        self.result = result_of(self.found, together, held, path=path, seed=seed)
        self.batches = {} if held.flags.batch is None else self.found.batches

    def _keep(self, part: Any, start: int) -> None:
        """Keep scores and labels for the pictures; walks of one table are cut at the same rows."""
        self._parts[start] = part.select([self.held.score, self.held.answer])

    @property
    def title(self) -> str:
        """Made of the name of the file, without its folder."""
        return f"What was found and missed in {Path(self.held.source.where).name}"

    @property
    def subtitle(self) -> str:
        """What was judged, in a line."""
        counts = self.found.counts
        looked = counts.alerts_labelled + counts.labelled_below
        what = "scores" if self.held.flags.group is None else "incidents"
        return f"{counts.rows:,} {what}, of which {looked:,} were looked at."

    @property
    def answer(self) -> str:
        """What the page says, before anything else."""
        return in_short(self.found, self.result["checks_for_width"])

    @property
    def threshold(self) -> float | None:
        """The one threshold; None where batches have their own."""
        mark = self.found.threshold
        return None if isinstance(mark, tuple) else float(mark)

    @cached_property
    def states(self) -> tuple[Any, dict[str, Any]]:
        """The scores, and which rows are in each state of labelling."""
        import numpy as np
        import pyarrow as pa

        from scarce.cli.label_columns import number_column, read_labels

        held = self.held
        table = pa.concat_tables(list(self._parts.values()), promote_options="permissive")
        self._parts.clear()
        read = read_labels(
            table.column(held.answer),
            held.answer,
            held.reading.flags,
            where=held.source.where,
            form=held.form,
            quiet=True,
        )
        return number_column(table, held.score), {
            f"{read.classes[1]}: event": read.y == 1,
            f"{read.classes[0]}: no event": read.y == 0,
            "not labelled": np.isnan(read.y),
        }

    def tell(self, page: Report) -> None:
        """Put everything on the page."""
        page.data("performance", self.result)
        page.section("In short")
        for line in beside_the_answer(self.found, percent=True, unit=self.result["unit"]):
            page.text(line)
        self._moves(page)
        if len(self.batches) > 1:
            self._trend(page)
        self._data(page)
        self._figures(page)
        if self.found.counts.alerts_labelled:
            self._thresholds(page)
        page.section("What this leans on").assumes(
            [
                *(f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in leans_on(self.found)),
                "Future rows are like these: the same detector, the same population.",
            ]
        )
        if self.result["next"]:
            page.section("What to do next", "This command would help most:")
            page.code(self.result["next"])

    def _moves(self, page: Report) -> None:
        """Say how a guess moves with what nobody can see."""
        if not is_guess(self.found.missed):
            return
        moves = [one for one in self.found.what_if() if not math.isnan(one.recall.value)]
        if moves:
            page.table(
                ["if", "recall", "missed"],
                [(one.what, one.recall.value, one.missed.value) for one in moves],
                caption="How the guess moves with what nobody can see",
                percent=("recall",),
                counts=("missed",),
            )
        for line in settling(self.result["checks_for_width"]):
            page.text(line)

    def _data(self, page: Report) -> None:
        import numpy as np

        scores, states = self.states
        page.section("The data")
        mark = self.threshold
        everything = {**states, "all": np.ones(len(scores), dtype=bool)}
        if mark is None:
            rows: list[Any] = [(name, int(which.sum())) for name, which in everything.items()]
            columns = [self.held.answer, "rows"]
        else:
            alert = scores >= mark
            rows = [
                (name, int((which & alert).sum()), int((which & ~alert).sum()), int(which.sum()))
                for name, which in everything.items()
            ]
            columns = [self.held.answer, f"alerts (from {mark:g} on)", "below", "all"]
        page.table(columns, rows, caption="What is known of the rows")
        page.figure(*self._histogram())

    def _histogram(self) -> tuple[Any, str]:
        import numpy as np

        from scarce.plots.picture import Axis, Histogram

        scores, states = self.states
        low, high = np.quantile(scores, [FAR, 1 - FAR])
        mark = self.threshold
        if mark is not None:
            low, high = min(low, mark), max(high, mark)
        step = float(high - low) / BINS or max(abs(float(low)), 1.0)
        # the threshold is an edge, with a bin on either side: no bin mixes alerts with others
        origin = low if mark is None else mark
        first, last = np.floor((low - origin) / step), np.floor((high - origin) / step) + 1
        if mark is not None and scores.min() < mark:
            first = min(first, -1)
        edges = origin + step * np.arange(first, last + 1)
        place = np.clip(np.floor((scores - origin) / step) - first, 0, len(edges) - 2)
        place = place.astype(np.intp)
        counts = {
            name: np.bincount(place[which], minlength=len(edges) - 1)
            for name, which in states.items()
            if which.any()
        }
        beyond = int(((scores < edges[0]) | (scores > edges[-1])).sum())
        rest = f" {beyond:,} scores beyond the axis are in its end bins." if beyond else ""
        chart = Histogram(edges, counts, Axis(self.held.score), threshold=mark, y_log=True)
        return chart, f"Distribution of the scores, by what is known of the rows.{rest}"

    def _figures(self, page: Report) -> None:
        from scarce.report import show_performance

        page.section("What is found and missed")
        problems = problems_of(self.found, self.held, self.batches)
        show_performance(page, self.found, warnings=[in_flags(for_a_page(one)) for one in problems])

    def _thresholds(self, page: Report) -> None:
        import numpy as np

        from scarce.plots.picture import Axis, Curves, Line, performance_picture

        found, curve = self.found, self.found.curve()
        level = f"{100 * found.recall.level:g} %"
        guess = is_guess(found.recall)
        page.section(
            "Other thresholds",
            "Guesses for other thresholds from the same rows: nothing was checked below the one "
            "in use."
            if guess
            else "Estimates for other thresholds from the same rows. The bands are wide where few "
            "rows were checked.",
        )
        recall, precision, _ = parts = (curve.recall, curve.precision, curve.missed)
        ends = (None, None) if guess else (recall[:, 1], recall[:, 2])
        page.figure(
            Curves(
                [Line("best guess", curve.threshold, recall[:, 0], *ends)],
                Axis(f"threshold on {self.held.score}"),
                Axis("recall: share of events found", percent=True, ends=(0.0, 1.0)),
                threshold=self.threshold,
                threshold_name="threshold in use",
            ),
            "Share of all events at or above a threshold"
            + (": a guess." if guess else f", with {level} intervals."),
        )
        known = np.isfinite(recall[:, 0]) & np.isfinite(precision[:, 0])
        if known.sum() > 1:
            page.figure(
                performance_picture(found, curve, mark="in use"),
                "Precision against recall. The mark is the threshold in use"
                + ("" if guess else f" with its {level} intervals")
                + "; the short line through it shows how precision changes as the threshold is "
                "lowered.",
            )
        some = _evenly(np.flatnonzero(known), 9)
        if len(some) == 0:
            return
        page.table(
            ["threshold", "recall", "precision", "missed"],
            [
                (f"{curve.threshold[at]:.4g}", *(_at(one[at], guess) for one in parts))
                for at in some
            ],
            caption="Guesses" if guess else f"With {level} intervals",
            percent=("recall", "precision"),
            counts=("missed",),
        )

    def _trend(self, page: Report) -> None:
        """Show recall, missed events and the threshold of each batch, and a table of them."""
        by = str(self.held.flags.batch)
        held = sorted(
            ((str(name), one) for name, one in self.batches.items()),
            key=lambda one: _in_order(one[0]),
        )
        last = held[-MOST_BATCHES:]
        page.section(f"By {by}")
        if len(held) > MOST_BATCHES:
            page.text(f"The last {MOST_BATCHES} of {len(held):,}; all are in the page's JSON.")
        level = f"{100 * self.found.recall.level:g} %"
        page.figure(
            self._over(last, "recall", f"{level} interval from random checks"),
            f"Recall by {by}: share of events found. An interval comes from the rows checked at "
            "random alone; the best guess leans on the scores, and stands alone where nothing was "
            "checked.",
        )
        page.figure(
            self._over(last, "missed", f"{level} interval from random checks"),
            f"Missed events by {by}.",
        )
        page.figure(*self._threshold_line(last))
        page.table(
            [by, "threshold", "alerts", "events found", "precision", "missed", "recall"],
            [
                (
                    name,
                    f"{one.threshold:g}",
                    one.counts.alerts,
                    one.counts.events_seen,
                    one.precision if one.counts.alerts_labelled else None,
                    _known(one.missed),
                    _known(one.recall),
                )
                for name, one in last
            ],
            percent=("precision", "recall"),
            counts=("missed",),
        )

    def _over(self, held: list[tuple[str, Performance]], figure: str, interval: str) -> Any:
        """Return the picture of a figure over batches."""
        from scarce.plots.picture import Axis, Trend

        share = figure == "recall"
        ones: list[Estimate] = [getattr(one, figure) for _, one in held]
        known = [
            not is_guess(one) and (one.low < one.high or not math.isnan(one.value)) for one in ones
        ]
        total = getattr(self.found, figure)
        return Trend(
            [name for name, _ in held],
            [one.value for one in ones],
            [one.low if told else math.nan for one, told in zip(ones, known, strict=True)],
            [one.high if told else math.nan for one, told in zip(ones, known, strict=True)],
            x=Axis(str(self.held.flags.batch)),
            y=Axis(
                "recall: share of events found" if share else "missed events",
                percent=share,
                ends=(0.0, 1.0) if share else None,
            ),
            open=[_unfinished(one) for _, one in held],
            interval=interval,
            unfinished="alerts still to be labelled",
            whole=total.value if share and not math.isnan(total.value) else None,
        )

    def _threshold_line(self, held: list[tuple[str, Performance]]) -> tuple[Any, str]:
        """Return the picture of the threshold in force, and its caption."""
        import numpy as np

        from scarce.plots.picture import Axis, Curves, Line

        by, count = str(self.held.flags.batch), len(held)
        marks = np.array([one.threshold for _, one in held], dtype=np.float64)
        axis = Axis(by, names=[name for name, _ in held])
        line = Line("", np.arange(count + 1) - 0.5, [*marks, marks[-1]], dash="solid", step=True)
        room = 0.15 * float(np.ptp(marks)) or 0.1 * abs(float(marks[0])) or 1.0
        ends = (float(marks.min()) - room, float(marks.max()) + room)
        changes = np.flatnonzero(np.diff(marks)) + 1
        told = f"The threshold is the same in every {by}."
        if len(changes):
            named = [f"{held[at][0]} (from {marks[at - 1]:g} to {marks[at]:g})" for at in changes]
            told = f"The threshold in force by {by}. It changes at {', '.join(named[:6])}."
        return Curves([line], axis, Axis(f"threshold on {self.held.score}", ends=ends)), told


def _unfinished(one: Performance) -> bool:
    """Whether alerts of a batch are still to be labelled."""
    return one.counts.alerts_labelled < one.counts.alerts


def _at(figures: Any, guess: bool) -> Any:
    """Value, low and high at a threshold, as an estimate; of a guess the value alone."""
    from scarce import Estimate

    value, low, high = (float(one) for one in figures)
    return value if guess else Estimate(value, low, high)


def _known(one: Estimate) -> Estimate | None:
    """The estimate, or nothing where it says nothing: recall of a batch without any event."""
    return None if math.isnan(one.value) and (is_guess(one) or not one.low < one.high) else one


def _in_order(name: str) -> tuple[Any, ...]:
    """Sort numbers as numbers, within words too: 2 before 10, week 9 before week 10.

    Examples
    --------
    >>> sorted(["10", "2", "week 10", "week 9", "-1", "0.5"], key=_in_order)
    ['-1', '0.5', '2', '10', 'week 9', 'week 10']
    """
    try:
        value = float(name)
        if math.isfinite(value):
            return (0, value, [], name)
    except ValueError:
        pass
    parts = re.split(r"(\d+)", name)
    return (1, 0.0, [int(part) if at % 2 else part for at, part in enumerate(parts)], name)


def _evenly(places: Any, count: int) -> Any:
    """Some of the places, evenly spread, with the first and the last."""
    import numpy as np

    if len(places) <= count:
        return places
    return places[np.linspace(0, len(places) - 1, count).round().astype(int)]
