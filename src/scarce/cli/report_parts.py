"""What stands on the page of `scarce report`, part by part, in the order in which it is read.

Asks the library for each figure and hands it to scarce.report, which shows it. What is chosen here
is presentation alone: bins of pictures, which classes fit into one, which sentence comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scarce.cli import report_pictures as pictures
from scarce.cli import report_presence as presence
from scarce.cli.column_summary import summarise
from scarce.cli.next_command import path_word, shell_command
from scarce.cli.wording import in_flags
from scarce.report import Report

if TYPE_CHECKING:
    from scarce import CostMatrix
    from scarce.cli.cost_flags import CostFlags
    from scarce.cli.judged import Judged
    from scarce.cli.options import LabelFlags
    from scarce.io.text import TextForm

FAR = 1.25  # times as much given as happened, from which on it is worth a warning
MOST_COLUMNS = 60


class Page(Report):
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


class Story:
    """The parts of a page, and what they share.

    Parameters
    ----------
    files : sequence of Path
        As typed.
    judged : Judged
        Rows with probabilities and outcomes.
    prob : sequence of str
        Columns of probabilities, as typed.
    labels, costs, form
        As typed.
    level : float
    seed : int
    """

    def __init__(
        self,
        files: Sequence[Path],
        judged: Judged,
        prob: Sequence[str],
        labels: LabelFlags,
        costs: CostFlags,
        form: TextForm,
        level: float,
        seed: int,
    ) -> None:
        self.files, self.judged, self.prob = files, judged, prob
        self.labels, self.costs = labels, costs
        self.form, self.level, self.seed = form, level, seed
        self.found = judged.evaluate(level)
        self.money: dict[str, Any] = {}
        self.spread: dict[str, float] = {}

    @cached_property
    def model(self) -> Any:
        """The model, where the first file is one."""
        from scarce import load

        return load(self.files[0])

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
        return presence.told_apart(self.judged, self.level)

    @property
    def assumed(self) -> str:
        """That the level of the probabilities was assumed, where the model says so; else ""."""
        return presence.assumed(self.model) if len(self.files) == 2 else ""

    @property
    def title(self) -> str:
        """Made of the names of the files, without their folders."""
        names = [Path(path).name for path in self.files] or ["standard input"]
        return " on ".join(names)

    @property
    def subtitle(self) -> str:
        """What was judged, in a line."""
        rows = _rows(self.found.rows)
        return f"Probabilities of {self._events()}, judged on {rows} with a label."

    def tell(self, page: Page) -> None:
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
            presence.show(page, self.judged, self.found.events[0], self.told_apart)
        else:
            self._numbers(page)
            self._reliability(page)
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
                f"Every label says {self.found.events[0]}: these are events, and of the other rows "
                "nothing is known. How right the probabilities are cannot be judged by them"
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
                "Every figure here speaks for the labelled rows alone: if they were picked, by an "
                "alert or by hand, the others may be quite different. How much was missed: "
                "`scarce estimate`; which rows to look at next: `scarce label`."
            )
        if self.learnt:
            page.warn(
                f"{Path(self.files[1]).name} is the file that the model learnt from, so every "
                "figure here is too good: a model knows the rows it has seen. Give rows that it "
                "has not."
            )
        for warning in self._mix():
            page.warn(warning)

    def _mix(self) -> list[str]:
        """Say that probabilities are off on average, and what moves them."""
        from scarce.cli.share_advice import share_advice

        advice = share_advice(self.judged, self.found)
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
                    f"On average {_percent(given.value)} was given for {name} and "
                    f"{_percent(happened.value)} happened: the probabilities are {times:.3g} times "
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
                f"{_rows(self.judged.unlabelled)} have no label: these figures compare the two, "
                "and cannot say how often it happens."
            )
            page.text(
                f"AUC, labelled against the rest: {_told(self.told_apart)}. So often does a row "
                f"labelled {found.events[0]} get more than one without a label; 0.5 is chance."
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
                f"Taking the cheapest action for each row costs {_told(saved.cost)} a row, and "
                f"saves {share if known else f'nothing: always {saved.best!s} costs 0'}."
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
            page.text("Read from a pipe: what is missing in its columns was not counted.")
            return
        columns = summarise(path, self.form)
        self.spread = {one["name"]: one["spread"] for one in columns if one["spread"]}
        holes = [one for one in columns if one["missing"]]
        said = f"{len(columns):,} columns, {len(holes):,} of them with missing values."
        page.text(said if holes else f"{len(columns):,} columns, none with a missing value.")
        if len(columns) > MOST_COLUMNS:
            some = f"The first {MOST_COLUMNS} of {len(columns):,}:"
            if holes:
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

    def _model(self, page: Page) -> None:
        from scarce.report import show_model

        page.section("The model", f"From the file {self.files[0]}.")
        with page.in_words_of_fit():
            show_model(page, self.model, level=self.level, spread=self.spread)

    # --- figures ----------------------------------------------------------------------------------

    def _numbers(self, page: Report) -> None:
        from scarce.report import show_evaluation

        show_evaluation(page.section("Honest numbers"), self.found)

    def _reliability(self, page: Report) -> None:
        from scarce.report import show_reliability

        rows = self.judged.labelled()
        page.section("Reliability")
        if len(self.found.events) > pictures.MOST_SERIES:
            page.text(
                f"The {pictures.MOST_SERIES} classes with most rows, each against all others."
            )
        show_reliability(page, pictures.reliabilities(rows, self.found, self.level))
        page.figure(*pictures.given_by_outcome(rows, self.found))

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
        if binary and rows.prob.ndim == 1 and len(np.unique(rows.y)) == 2:
            at = None
            if bands is not None:
                at = self._between_two(page, matrix)
            points = pictures.thresholds(float(rows.y.mean()), at)
            curve = decision_curve(
                rows.y, rows.prob, at=points, level=self.level, random_state=self.seed
            )
            show_decision_curve(page, curve, at)

    def _between_two(self, page: Report, matrix: CostMatrix) -> float | None:
        """Where the costs of the first two actions meet: a decision curve knows no third."""
        rest, act = matrix.actions[:2]
        others = " and ".join(str(name) for name in matrix.actions[2:])
        if others:
            page.text(
                f"The curve below is about two actions, {rest} and {act}; its threshold leaves "
                f"{others} aside."
            )
        bands = matrix.only([rest, act]).thresholds()
        return bands[act][0] if act in bands else None

    def _leans(self, page: Report) -> None:
        from scarce.report import leans_on

        found = self.found
        values = [found.log_loss, found.brier, *found.calibration, *found.auc, *found.given]
        if self.money:
            values.append(self.money["savings"].cost)
        told = leans_on(values)
        if self.seen_only:
            told = ["The labelled events are a fair sample of all events."]
        if self.assumed:
            told.append(self.assumed)
        page.section("What this leans on").assumes(
            [
                *told,
                "The labels are right.",
                *([] if self.learnt else ["The model and its settings saw none of these rows."]),
                "Rows to come are like these: the same world, the same share of events, the same "
                "way of measuring.",
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
