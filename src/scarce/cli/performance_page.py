"""The page of `scarce report` on scores of which only some rows were labelled.

The figures are those of `scarce estimate`, from the same pass; only presentation is decided here.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.estimate import leans_on, result_of, sentences

if TYPE_CHECKING:
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
        return f"{counts.rows:,} scores, of which {looked:,} rows were looked at."

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
            held.labels,
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
        for line in sentences(self.found):
            page.text(line)
        if self.result["next"]:
            page.text("What would help most now:").code(self.result["next"])
        self._data(page)
        self._figures(page)
        if self.found.counts.alerts_labelled:
            self._thresholds(page)
        if "batches" in self.result:
            self._batches(page)
        page.section("What this leans on").assumes(
            [
                *(f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in leans_on(self.found)),
                "The labels are right.",
                "Future rows are like these: the same detector, the same population.",
            ]
        )

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
        show_performance(page, self.found, warnings=self.result["warnings"])

    def _thresholds(self, page: Report) -> None:
        import numpy as np

        from scarce import Estimate
        from scarce.plots.picture import Axis, Curves, Line, performance_picture

        found, curve = self.found, self.found.curve()
        level = f"{100 * found.recall.level:g} %"
        page.section(
            "Other thresholds",
            (
                "Estimates for other thresholds from the same rows. The bands are wide far from "
                "the labels, where nobody looked."
            ),
        )
        recall, precision, _ = parts = (curve.recall, curve.precision, curve.missed)
        page.figure(
            Curves(
                [Line("best guess", curve.threshold, recall[:, 0], recall[:, 1], recall[:, 2])],
                Axis(f"threshold on {self.held.score}"),
                Axis("recall: share of events found", percent=True, ends=(0.0, 1.0)),
                threshold=self.threshold,
                threshold_name="threshold in use",
            ),
            f"Share of all events at or above a threshold, with {level} intervals.",
        )
        known = np.isfinite(recall[:, 0]) & np.isfinite(precision[:, 0])
        if known.sum() > 1:
            page.figure(
                performance_picture(found, curve, mark="in use"),
                (
                    f"Precision against recall. The mark is the threshold in use with its {level} "
                    "intervals; the short line through it shows how precision changes as the "
                    "threshold is lowered."
                ),
            )
        some = _evenly(np.flatnonzero(known), 9)
        if len(some) == 0:
            return
        page.table(
            ["threshold", "recall", "precision", "missed"],
            [(f"{curve.threshold[at]:.4g}", *(Estimate(*one[at]) for one in parts)) for at in some],
            caption=f"With {level} intervals",
            percent=("recall", "precision"),
        )

    def _batches(self, page: Report) -> None:
        held = sorted(self.result["batches"].items(), key=lambda one: _in_order(one[0]))
        page.section(f"By {self.held.flags.batch}")
        for line in self._why_they_differ():
            page.text(line)
        if len(held) > MOST_BATCHES:
            page.text(f"The first {MOST_BATCHES} of {len(held):,}; all are in the page's JSON.")
        page.table(
            [str(self.held.flags.batch), "alerts", "events found", "precision", "missed", "recall"],
            [
                (
                    name,
                    one["counts"].alerts,
                    one["counts"].events_seen,
                    one["precision"] if one["counts"].alerts_labelled else None,
                    *(_known(one[key]) for key in ("missed", "recall")),
                )
                for name, one in held[:MOST_BATCHES]
            ],
            percent=("precision", "recall"),
        )

    def _why_they_differ(self) -> list[str]:
        """Say why figures of batches, of all together and of the same rows as one are not alike."""
        from scarce.missed.rules import FEW, MANY

        said = ["The figures above are for all batches together."]
        if self.found.method != "audit":
            said = [
                (
                    "Each batch has its own counts and its own event rate at the threshold. How "
                    "that rate falls with the score is assumed to be the same in all, so each "
                    f"batch borrows strength from the others. {said[0]}"
                )
            ]
        if "as_one_batch" in self.result:
            one = self.result["as_one_batch"]
            said.append(
                f"The same rows without `--batch`: missed {_told(one['missed'])}, recall "
                f"{_told(one['recall'], percent=True)}. That treats all rows as one batch with "
                "one curve, which is a different assumption."
            )
        records = [self.result, *self.result["batches"].values()]
        kinds = " ".join(record["missed"].method for record in records)
        if "one-sided" in kinds and "extrapolated" in kinds:
            said.append(
                "Intervals here are of two kinds, because nothing was checked below the "
                f"threshold. With {FEW} to {MANY} events found, both ends of missed come from "
                "the curve. With fewer or more, only an upper limit is given, and the lower "
                "end is what is certain. So the ends of the batches do not add up to those of "
                "the total, which may reach lower."
            )
        return said


def _known(one: Any) -> Any:
    """The estimate, or nothing where it says nothing: recall of a batch without any event."""
    return None if math.isnan(one.value) and not one.low < one.high else one


def _told(one: Any, *, percent: bool = False) -> str:
    from scarce.report.values import cell

    return cell(_known(one), percent=percent)


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
