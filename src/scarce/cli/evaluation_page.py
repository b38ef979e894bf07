"""The page of `scarce report` on probabilities, section by section.

Asks the library for each figure and passes it to scarce.report, which shows it. Only presentation
is decided here: bins, thresholds and classes of the pictures, and which sentence comes first. Where
only events are labelled, as with sightings, neither prevalence nor calibration is known, and the
page shows what such rows can tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scarce.cli.flags import in_flags
from scarce.cli.next_command import path_word, shell_command
from scarce.report import Report

if TYPE_CHECKING:
    from scarce import CostMatrix
    from scarce.cli.costs import CostFlags
    from scarce.cli.options import LabelFlags
    from scarce.cli.outcome_table import OutcomeTable
    from scarce.evaluation.evaluate import Evaluation
    from scarce.evaluation.segments import EvaluationBy
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

FAR = 1.25  # times as much given as happened, from which on it is worth a warning
MOST_COLUMNS = 60
RARE = 0.1  # probabilities mostly below this are drawn on logarithmic axes
TAIL = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 1.0)  # shares of the rows
FEWEST = 40  # rows in a bin, about
MOST_SERIES = 4  # classes in one picture
BINS = 36  # of a histogram
LEAST = 1e-6  # what is given less than this stands in the first bin of a logarithmic axis
Figure = tuple[Any, str]  # a chart and its caption


class FitPage(Report):
    """A page for someone who types: what a fit remarks is said in flags of `scarce fit`."""

    _flags: tuple[str, ...] = ()

    @contextmanager
    def in_words_of_fit(self) -> Iterator[None]:
        """Turn arguments into flags in sentences and warnings given meanwhile."""
        from scarce.cli.fit import fit

        self._flags = tuple(name[2:] for one in fit.params for name in one.opts if name[:2] == "--")
        try:
            yield
        finally:
            self._flags = ()

    def warn(self, text: str) -> Self:
        """Add a warning; all are shown first, each once."""
        turned = in_flags(text, self._flags)
        if turned != text and "scarce fit" not in turned:
            turned = f"{turned.removesuffix('.')} (flags of `scarce fit`)."
        return super().warn(turned)

    def text(self, paragraph: str) -> Self:
        """Add a paragraph."""
        return super().text(in_flags(paragraph, self._flags))


class EvaluationPage:
    """The parts of a page, and what they share.

    Parameters
    ----------
    files : sequence of Path
        As typed.
    judged : OutcomeTable
        Rows with probabilities and outcomes.
    prob : sequence of str
        Columns of probabilities, as typed.
    labels, costs, form
        As typed.
    level : float
    seed : int
    parts : EvaluationBy, optional
        Figures by segment or period.
    remarks : sequence of str
        Said at the top.
    """

    def __init__(
        self,
        files: Sequence[Path],
        judged: OutcomeTable,
        prob: Sequence[str],
        labels: LabelFlags,
        costs: CostFlags,
        form: TextForm,
        level: float,
        seed: int,
        parts: EvaluationBy | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        self.parts, self.remarks = parts, remarks
        self.files, self.judged, self.prob = files, judged, prob
        self.labels, self.costs = labels, costs
        self.form, self.level, self.seed = form, level, seed
        self.found = judged.evaluate(level, seed)
        self.money: dict[str, Any] = {}
        self.spread: dict[str, float] = {}

    @cached_property
    def model(self) -> Any:
        """The model, where the first file is one."""
        from scarce import load
        from scarce.cli.options import ambient_value

        return load(self.files[0], trust=ambient_value("trust"))

    @cached_property
    def learnt(self) -> bool:
        """Whether the table is the very file that the model learnt from."""
        return len(self.files) == 2 and _learnt_from(self.model, self.files[1])

    @property
    def seen_only(self) -> bool:
        """Whether the only labels are those of the event, beside rows without any."""
        counts = self.found.counts
        return len(counts) == 2 and counts[0] == 0 and self.judged.unlabelled > 0

    @cached_property
    def told_apart(self) -> Any:
        """AUC of labelled rows against the rest."""
        return _told_apart(self.judged, self.level)

    @property
    def assumed(self) -> str:
        """That the level of the probabilities was assumed, where the model says so; else ""."""
        return _assumed_level(self.model) if len(self.files) == 2 else ""

    @property
    def title(self) -> str:
        """Made of the names of the files, without their folders."""
        names = [Path(path).name for path in self.files] or ["standard input"]
        return " on ".join(names)

    @property
    def subtitle(self) -> str:
        """What was judged, in a line."""
        rows = _rows(self.found.rows)
        return f"Probabilities of {self._events()}, evaluated on {rows} with a label."

    def tell(self, page: FitPage) -> None:
        """Put everything on the page."""
        from scarce.cli.evaluate import cost_figures

        if not self.seen_only:
            self.money = cost_figures(self.judged.labelled(), self.costs, self.level, self.seed)
        self._warn(page)
        self._in_short(page)
        self._data(page)
        if len(self.files) == 2:
            self._model(page)
        if self.seen_only:
            _show_presence(page, self.judged, self.found.events[0], self.told_apart)
        else:
            self._numbers(page)
            self._reliability(page)
            self._by(page)
            self._by_missing(page)
            if self.money:
                self._decisions(page)
        self._leans(page)

    # --- first things -----------------------------------------------------------------------------

    def _events(self) -> str:
        return " and ".join(str(name) for name in self.found.events[:3]) + (
            " and others" if len(self.found.events) > 3 else ""
        )

    def _warn(self, page: Report) -> None:
        if self.seen_only:
            page.warn(
                (
                    f"Every label is {self.found.events[0]}: only events are labelled, and nothing "
                    "is known of the other rows. Calibration cannot be assessed"
                )
                + (", nor what decisions cost." if self.costs.given else ".")
            )
            if self.assumed:
                move = shell_command(
                    "scarce", "correct", path_word(self.files[0]), "--now-at", "SHARE"
                )
                page.warn(f"{self.assumed} To move the level: `{move} --out NEW`.")
        elif self.judged.unlabelled:
            page.warn(
                f"{self.judged.unlabelled:,} of {len(self.judged.y):,} rows are not labelled. "
                "All figures are for the labelled rows only: if those were selected, by an "
                "alert or by hand, the others may differ. To estimate what was missed: "
                "`scarce estimate`; to choose rows to label: `scarce label`."
            )
        if self.learnt:
            page.warn(
                f"{Path(self.files[1]).name} is the training file of the model, so every "
                "figure here is too optimistic. Use rows that the model has not seen."
            )
        copies = [one for one in self.found.remarks if getattr(one, "code", "") == "repeated-rows"]
        for warning in (*copies, *self.remarks, *self._mix()):
            page.warn(in_flags(warning))

    def _mix(self) -> list[str]:
        """Say that probabilities are off on average, and what moves them."""
        from scarce.cli.evaluate import base_rate_advice

        advice = base_rate_advice(self.judged, self.found)
        if advice is not None:
            way = advice.way.removesuffix(".")
            told = f"{way}: `{advice.command}`." if advice.command else advice.way
            return [f"{advice.seen} {told}"]
        said = []
        for given, happened, gap, name in zip(
            self.found.given, self.found.happened, self.found.gap, self.found.events, strict=True
        ):
            if not (gap.low > 0 or gap.high < 0) or not happened.value > 0:  # NaN: one class only
                continue
            times = given.value / happened.value
            if not 1 / FAR < times < FAR:
                said.append(
                    f"The mean probability of {name} is {_percent(given.value)} and its rate "
                    f"is {_percent(happened.value)}: the probabilities are {times:.3g} times "
                    "as large."
                )
        return said[:3]

    def _in_short(self, page: Report) -> None:
        from scarce.report import gain_in_words

        found = self.found
        counts = ", ".join(
            f"{count:,} {'is' if count == 1 else 'are'} {name}"
            for name, count in zip(found.classes, found.counts, strict=True)
        )
        page.section("In short", f"Of {_rows(found.rows)} with a label {counts}.")
        page.data("evaluation", found)
        if self.seen_only:
            page.text(
                f"{_rows(self.judged.unlabelled)} have no label: these figures compare the two "
                "groups, and cannot tell the prevalence."
            )
            page.text(
                f"AUC, labelled against the rest: {_told(self.told_apart)}, the share of pairs "
                f"in which a row labelled {found.events[0]} has the higher probability; 0.5 is "
                "chance."
            )
            return
        page.text(
            f"Log loss {_told(found.log_loss)}, beside {_told(found.constant_log_loss)} for the "
            f"same probability in every row (the constant forecast): {gain_in_words(found)}"
        )
        if len(found.events) == 1:
            page.text(
                f"On average {_told(found.given[0], percent=True)} was given and "
                f"{_told(found.happened[0], percent=True)} happened."
            )
        if self.money:
            saved = self.money["savings"]
            known = saved.share.value == saved.share.value
            share = f"{_told(saved.share, percent=True)} of what always {saved.best!s} costs"
            page.text(
                f"The cheapest action for each row costs {_told(saved.cost)} a row, and saves "
                f"{share if known else f'nothing: always {saved.best!s} costs 0'}."
            )

    def _data(self, page: Report) -> None:
        found, judged = self.found, self.judged
        page.section("The data")
        total = len(judged.y)
        counts = [(str(name), n) for name, n in zip(found.classes, found.counts, strict=True)]
        counts += [("not labelled", judged.unlabelled), ("all", total)]
        page.table(
            [str(self.labels.label), "rows", "share"],
            [(name, n, n / total) for name, n in counts],
            caption=f"Labels in {judged.where}",
            percent=["share"],
        )
        path = self.files[-1] if self.files else None
        if path is None or str(path) == "-":
            page.text("Read from a pipe: missing values were not counted.")
            return
        columns = summarise(path, self.form)
        self.spread = {one["name"]: one["spread"] for one in columns if one["spread"]}
        incomplete = [one for one in columns if one["missing"]]
        said = f"{len(columns):,} columns, {len(incomplete):,} of them with missing values."
        page.text(said if incomplete else f"{len(columns):,} columns, none with a missing value.")
        if len(columns) > MOST_COLUMNS:
            some = f"The first {MOST_COLUMNS} of {len(columns):,}:"
            if incomplete:
                columns = sorted(columns, key=lambda one: -one["missing"])
                some = f"The {MOST_COLUMNS} of {len(columns):,} with most missing values:"
            columns = columns[:MOST_COLUMNS]
            page.text(some)
        page.table(
            ["column", "missing", "share missing", "least", "mean", "greatest"],
            [
                (
                    one["name"],
                    one["missing"],
                    one["missing"] / max(one["rows"], 1),
                    one["low"],
                    one["mean"],
                    one["high"],
                )
                for one in columns
            ],
            caption="Columns",
            percent=["share missing"],
        )

    def _model(self, page: FitPage) -> None:
        from scarce.report import show_model

        page.section("The model", f"From the file {self.files[0]}.")
        with page.in_words_of_fit():
            show_model(page, self.model, level=self.level, spread=self.spread)

    # --- figures ----------------------------------------------------------------------------------

    def _numbers(self, page: Report) -> None:
        from scarce.report import show_evaluation

        show_evaluation(page.section("Honest numbers"), self.found)

    def _by(self, page: Report) -> None:
        from scarce.report import show_by

        if self.parts is not None:
            page.data("by", self.parts)
            show_by(page.section("Over time" if self.parts.period else "By segment"), self.parts)

    def _by_missing(self, page: Report) -> None:
        from scarce.evaluation.missing_share import missing_table
        from scarce.report import show_missing

        found = self.judged.by_missing(self.level, self.seed)
        if found is None:
            return
        page.data("by_missing", found)
        show_missing(page.section("By share of missing values"), found)
        for remark in missing_table(found).remarks:
            page.warn(remark)

    def _reliability(self, page: Report) -> None:
        from scarce.report import show_reliability

        rows = self.judged.labelled()
        page.section("Reliability")
        if len(self.found.events) > MOST_SERIES:
            page.text(f"The {MOST_SERIES} classes with most rows, each against all others.")
        show_reliability(page, reliabilities(rows, self.found, self.level, self.seed))
        if len(self.found.events) == 1:
            self._curve(page, rows)
        page.figure(*given_by_outcome(rows, self.found))

    def _curve(self, page: Report, rows: OutcomeTable) -> None:
        """Show calibration without bins, where both classes were met."""
        import numpy as np

        from scarce import reliability_curve
        from scarce.report import show_reliability_curve

        if len(np.unique(rows.y[rows.known])) < 2:
            return
        curve = reliability_curve(rows.y, rows.prob, **rows.drawn(self.level, self.seed))
        page.data("reliability_curve", curve)
        show_reliability_curve(page, curve)

    def _decisions(self, page: Report) -> None:
        import numpy as np

        from scarce import decision_curve, mean_cost
        from scarce.report import show_confusion, show_costs, show_decision_curve, show_savings

        rows = self.judged.labelled()
        matrix = self.costs.matrix(rows.classes, rows.table if self.costs.columns else None)
        assert matrix is not None
        page.section("Decisions", "The cheapest action for each row, by these costs:")
        binary = matrix.shape[1] == 2
        bands = matrix.thresholds() if binary and matrix.n_rows is None else None
        show_costs(page, matrix, bands)
        truth, how = rows.names(), rows.drawn(self.level, self.seed)
        single = {
            name: mean_cost(truth, _every(name, len(truth)), matrix, **how)
            for name in matrix.actions
        }
        show_savings(page, self.money["savings"], single)
        show_confusion(page, self.money["confusion"])
        if binary and rows.prob.ndim == 1 and len(np.unique(rows.y[rows.known])) == 2:
            at = None
            if bands is not None:
                at = self._between_two(page, matrix)
            points = thresholds(self.found.happened[0].value, at)
            curve = decision_curve(rows.y, rows.prob, at=points, **how)
            show_decision_curve(page, curve, at)

    def _between_two(self, page: Report, matrix: CostMatrix) -> float | None:
        """Where the costs of the first two actions meet: a decision curve knows no third."""
        rest, act = matrix.actions[:2]
        others = " and ".join(str(name) for name in matrix.actions[2:])
        if others:
            page.text(
                f"The curve below compares two actions, {rest} and {act}; its threshold "
                f"ignores {others}."
            )
        bands = matrix.only([rest, act]).thresholds()
        return bands[act][0] if act in bands else None

    def _leans(self, page: Report) -> None:
        from scarce.report import assumptions
        from scarce.report.values import sentence

        found = self.found
        values = [found.log_loss, found.brier, *found.calibration, *found.auc, *found.given]
        if self.money:
            values.append(self.money["savings"].cost)
        told = assumptions(values)
        if self.parts is not None:
            told += [f"{sentence(text)}." for text in self.parts.assumes]
        if self.seen_only:
            told = ["The labelled events are a representative sample of all events."]
        if self.assumed:
            told.append(self.assumed)
        page.section("What this leans on").assumes(
            [
                *told,
                "The labels are right.",
                *([] if self.learnt else ["The model and its settings saw none of these rows."]),
                "Future rows are like these: the same population, base rate and measurements.",
            ]
        )


def _learnt_from(model: Any, table: Path) -> bool:
    """Whether a model carries the mark of this very file."""
    from scarce.io.source import stamp

    held = model
    while held is not None and not hasattr(held, "data_fingerprint_"):
        held = getattr(held, "estimator_", None)
    if held is None or not table.is_file():
        return False
    return bool(held.data_fingerprint_ == stamp([table]))


def _every(name: Any, n: int) -> Any:
    """One action for every row; objects, so that a name of any type stays what it is."""
    import numpy as np

    held = np.empty(n, dtype=object)
    held[:] = name
    return held


def _rows(count: int) -> str:
    from scarce.results import in_rows  # with numpy, which is heavy

    return in_rows(count)


def _percent(share: float) -> str:
    from scarce.report.values import number

    return number(share, percent=True)


def _told(one: Any, *, percent: bool = False) -> str:
    from scarce.report.values import cell

    return cell(one, percent=percent)


def reliabilities(rows: OutcomeTable, found: Evaluation, level: float, seed: int) -> dict[str, Any]:
    """Return probability against frequency for the event, or for the classes with most rows."""
    import numpy as np

    from scarce.evaluation.calibration import reliability

    places = [found.classes.index(name) for name in found.events]
    if len(places) > MOST_SERIES:
        places = sorted(places, key=lambda k: -found.counts[k])[:MOST_SERIES]
    tables = {}
    for k in places:
        prob = rows.prob if rows.prob.ndim == 1 else rows.prob[:, k]
        happened = np.where(rows.known, rows.y == k, np.nan)
        how = rows.drawn(level, seed)
        tables[str(found.classes[k])] = reliability(happened, prob, bins=bins_of(prob), **how)
    return tables


def given_by_outcome(rows: OutcomeTable, found: Evaluation) -> Figure:
    """Return how many rows were given which probability, by what happened."""
    if rows.prob.ndim == 1:
        prob, what = rows.prob, f"probability of {found.events[0]}"
        states = {f"was {name}": rows.y == k for k, name in enumerate(found.classes)}
    else:
        prob, what = rows.prob.max(axis=1), "probability of the likeliest class"
        right = rows.prob.argmax(axis=1) == rows.y
        states = {"the likeliest class was right": right, "it was not": ~right}
    return _histogram(prob, states, what, "by what happened")


def given_by_state(rows: OutcomeTable, event: Any) -> Figure:
    """Return the same by whether a row has a label."""
    states = {"not labelled": ~rows.known, f"labelled {event}": rows.known}
    return _histogram(rows.prob, states, f"probability of {event}", "with and without a label")


def _histogram(prob: Any, states: dict[str, Any], what: str, by: str) -> Figure:
    import numpy as np

    from scarce.plots.picture import Axis, Histogram

    rare = bool(np.median(prob) < RARE)
    if rare:
        least = max(float(prob[prob > 0].min(initial=1.0)), LEAST)
        edges = np.geomspace(min(least, 0.1), 1.0, BINS + 1)
        edges[0] *= 1 - 1e-9  # the least value itself must not fall out by rounding
        edges[-1] = 1.0
    else:
        edges = np.linspace(0.0, 1.0, BINS + 5)
    held = np.clip(prob, edges[0], 1.0)
    counts = {name: np.histogram(held[which], edges)[0] for name, which in states.items()}
    below = " What lies below the axis is in its first bin." if prob.min() < edges[0] else ""
    return (
        Histogram(edges, counts, Axis(what, log=rare, percent=True)),
        f"Distribution of the probabilities, {by}.{below}",
    )


def thresholds(share: float, at: float | None) -> Any:
    """Thresholds of a decision curve: around the base rate and the one in use."""
    import numpy as np

    odds = share / (1 - share)
    low, high = odds / 20, odds * 20
    if at is not None and 0 < at < 1:
        low, high = min(low, at / (1 - at) / 2), max(high, at / (1 - at) * 2)
    spaced = np.geomspace(low, high, 61)
    return spaced / (1 + spaced)


def bins_of(prob: Any) -> Any:
    """Edges of a reliability picture: even shares of rows, or for rare events finer at the top."""
    import numpy as np

    n = len(prob)
    if np.median(prob) >= RARE:
        shares = np.linspace(0.0, 1.0, 1 + int(np.clip(n // FEWEST, 1, 10)))
    else:
        shares = np.array([q for q in TAIL if q in (0.0, 1.0) or (1 - q) * n >= FEWEST])
    edges = np.unique(np.quantile(prob, shares))
    return edges if len(edges) > 1 else 1


def _told_apart(judged: OutcomeTable, level: float) -> Any:
    """Return the AUC of labelled rows against the rest."""
    from scarce.evaluation.ranking import auc

    return auc(judged.known.astype(float), judged.prob, level=level)


def _assumed_level(model: Any) -> str:
    """Say that the level of a maxent model was _assumed_level; "" of other models."""
    from scarce.report import level_of

    return level_of(model) if hasattr(model, "is_labelled_") else ""


def _show_presence(page: Report, judged: OutcomeTable, event: Any, found: Evaluation) -> None:
    """Add what rows of one class, among others of which nothing is known, can say."""
    known, prob = judged.known, judged.prob
    page.section(
        "What labelled events alone can say",
        (
            f"Rows are labelled {event} or not at all. The prevalence, and so calibration, cannot "
            "be known from these rows; whether labelled rows get higher probabilities can."
        ),
    )
    page.numbers(
        [
            (
                "AUC, labelled against the rest",
                found,
                f"how often a row labelled {event} outranks one without a label; 0.5 is chance",
            ),
            ("mean given, labelled", float(prob[known].mean()), f"rows labelled {event}"),
            ("mean given, the rest", float(prob[~known].mean()), "rows without a label"),
        ],
        percent=["mean given, labelled", "mean given, the rest"],
    )
    page.text(
        "Rows without a label may be events, so this AUC cannot reach 1: the more events are "
        "among them, the lower it is, however good the model."
    )
    page.figure(*given_by_state(judged, event))


def summarise(path: Path, form: TextForm, progress: Any = None) -> list[dict[str, Any]]:
    """Return for each column: name, rows, missing; low, mean, high and spread (None for words).

    Parameters
    ----------
    path : Path
        The table.
    form : TextForm
        How text is written.
    progress : callable (done, total), optional
    """
    from scarce import DataError
    from scarce.io.source import open_table

    source = open_table(path, form)
    try:
        return _sums(source, source.tables(progress=progress))
    except DataError:  # a column is not what its beginning looks like: read words, then numbers
        numbers = source.tables(exact=True, progress=progress)
        return _sums(source, (_as_numbers(part, form) for part in numbers))


def _sums(source: TableSource, parts: Any) -> list[dict[str, Any]]:
    found = {name: _ColumnSums(name) for name in source.names}
    for part in parts:
        for name, column in found.items():
            column.add(part.column(name))
    return [column.told() for column in found.values()]


def _as_numbers(table: Any, form: TextForm) -> Any:
    """Text columns as numbers where all of this part spells numbers; words for missing are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from scarce.io.values import without_blanks

    for place, name in enumerate(table.column_names):
        values = table.column(name)
        if not pa.types.is_string(values.type):
            continue
        bare = pc.utf8_trim_whitespace(without_blanks(values, form, trim=True))
        if form.decimal != ".":
            bare = pc.replace_substring(bare, form.decimal, ".")
        try:
            values = bare.cast(pa.float64())
        except pa.ArrowInvalid:
            values = bare
        table = table.set_column(place, name, values)
    return table


class _ColumnSums:
    """Running counts of one column."""

    def __init__(self, name: str) -> None:
        self.name, self.rows, self.missing = name, 0, 0
        self.low, self.high = math.inf, -math.inf
        self.count, self.mean, self.squares = 0, 0.0, 0.0  # squares: around the mean
        self.numbers = True

    def add(self, values: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.rows += len(values)
        self.missing += values.null_count
        kind = values.type
        if pa.types.is_null(kind):
            return
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            self.missing += pc.sum(pc.equal(values, "")).as_py() or 0
        whole = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (whole or pa.types.is_decimal(kind)):
            self.numbers = False
            return
        numbers = values.cast(pa.float64(), safe=False).drop_null()
        lost = pc.is_nan(numbers)
        count = pc.sum(lost).as_py() or 0
        self.missing += count
        if count:
            numbers = numbers.filter(pc.invert(lost))
        count = len(numbers)
        if not count:
            return
        ends = pc.min_max(numbers).as_py()
        self.low, self.high = min(self.low, ends["min"]), max(self.high, ends["max"])
        mean, squares = pc.mean(numbers).as_py(), count * pc.variance(numbers).as_py()
        both, gap = self.count + count, mean - self.mean
        self.squares += squares + gap * gap * self.count * count / both  # merged as in rows.fold
        self.mean += gap * count / both
        self.count = both

    def told(self) -> dict[str, Any]:
        known = self.numbers and self.count > 0
        return {
            "name": self.name,
            "rows": self.rows,
            "missing": self.missing,
            "low": float(self.low) if known else None,
            "mean": self.mean if known else None,
            "high": float(self.high) if known else None,
            "spread": math.sqrt(self.squares / self.count) if known else None,
        }
