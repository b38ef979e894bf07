"""`scarce decide`: from probabilities and costs to the cheapest action of every row.

    action = arg min of expected cost,  margin = cheapest other action - the action   (per row)

Rows pass through unchanged and gain columns. Memory does not grow with the table, unless a budget
makes all rows compete: sums over parts of some ten thousand rows are all that is kept. The
arithmetic is the library's: `decide`, `expected_cost`, `decide_within`. Its warnings are about one
part, so they are collected here and given once for the whole table.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.base_rates import (
    VALIDATION,
    estimated_rates,
    read_shares,
    validation_columns,
    wants_estimate,
)
from scarce.cli.costs import COSTS, CostFlags
from scarce.cli.next_command import shell_word
from scarce.cli.options import AUTO, INPUT, TEXT, Group, LabelFlags, takes
from scarce.cli.output import (
    emit,
    on_terminal,
    progress,
    rows_need_a_file,
    say,
    show_plan,
    terminal_width,
)
from scarce.cli.table_columns import (
    ProbColumns,
    find_prob,
    prob_values,
    refuse_taken,
    table_or_stdin,
)
from scarce.errors import DataError, DataWarning, UsageError, suggest, warn_user
from scarce.results import short

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce import CostMatrix
    from scarce.cli.sampling_columns import SamplingFlags
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

CERTAIN = 20  # rows, all with probability 0 or 1, before it is said


@click.command()
@click.argument("table", type=INPUT, required=False)
@takes(
    "prob",
    COSTS,
    *("positive", "trained-at", "now-at", "validation", "label"),
    Group("sampling", VALIDATION, validation_columns),
    *("tie", "budget", "uses", "explain", "as"),
    *("out", "to", "formula-safe", "force"),
    TEXT,
    *("dry-run", "json"),
)
def decide(
    table: Path | None,
    prob: tuple[str, ...],
    costs: CostFlags,
    positive: str | None,
    trained_at: tuple[str, ...],
    now_at: tuple[str, ...],
    validation: Path | None,
    label: str | None,
    sampling: SamplingFlags,
    tie: str,
    budget: tuple[str, ...],
    uses: str | None,
    explain: bool,
    named: str | None,
    out: Path | None,
    to: str | None,
    formula_safe: bool,
    force: bool,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Choose the action with the lowest expected cost for each row.

    Give the costs of mistakes as numbers or as columns of the table, and every row of TABLE (or
    of standard input) gets the action with the lowest expected cost in a new column. With
    --abstain the doubtful rows go to a person. The other columns stay as they are.

    \b
    Examples:
      scarce decide p.csv --prob prob --false-alarm 5 --miss 400 --abstain 3 --out d.csv
      scarce decide p.csv --costs costs.toml --trained-at 0.13 --now-at 0.015 --explain
      scarce predict m.scarce new.parquet | scarce decide --false-alarm 5 --miss 400
    """
    from scarce.cli.table_columns import as_written
    from scarce.io.sink import refuse_existing, write_tables
    from scarce.io.source import open_table

    if not dry_run:
        rows_need_a_file(out, json, "d.csv")
    refuse_existing(out, force)
    costs.refuse_replaced(out)
    estimated = wants_estimate(now_at, validation, label)
    _refuse_flags(costs, trained_at, now_at, tie, budget, uses)
    source = open_table(table_or_stdin(table, "decide"), form)
    found = find_prob(source, prob)
    costs = costs.among(source.names)
    unnamed = _matrix(costs)
    classes, read_as = _classes(found, unnamed, costs, positive)
    for column in costs.columns:
        source.column(column, option=costs.option(column))
        if column in found.columns:
            raise UsageError(
                "{option} names {column!r}, the column of probabilities.",
                code="same-column",
                option=costs.option(column),
                column=column,
                remedy="Give a number, or a column of amounts.",
            )
    if uses is not None:
        source.column(uses, option="--uses")
    matrix = _matrix(costs, classes)
    mixes = {"trained_at": read_shares(trained_at, classes, "--trained-at")}
    today = None
    if estimated and validation is not None:
        flags = LabelFlags(label, () if positive is None else (positive,), (), ())
        today = estimated_rates(
            source, found, mixes["trained_at"], validation, "decide", classes, prob=prob,
            labels=flags, sampling=sampling, form=form,
        )  # fmt: skip
        mixes["trained_at"] = list(today.trained_at)
        mixes["now_at"] = [one.value for one in today.shares]
    else:
        mixes["now_at"] = read_shares(now_at, classes, "--now-at")
    decider = Decider(
        source=source,
        form=form,
        prob=found,
        classes=tuple(classes),
        costs=costs,
        matrix=matrix,
        mixes={name: shares for name, shares in mixes.items() if shares is not None},
        tie=tie,
        capacity=_capacity(budget, matrix, unnamed=bool(unnamed.positional), whole=uses is None),
        uses=uses,
        explain=explain,
        named=named,
    )
    refuse_taken(source, decider.new_columns, "--as")
    if dry_run:
        show_plan(_plan(source, decider, read_as, out, to), json=json)
        return
    shape = as_written(source, out, to, form, decider.numbers)
    sink = write_tables(out, to=to, force=force, form=form, formula_safe=formula_safe)
    with sink as write, progress("Deciding") as tick:
        if budget:
            write(shape(decider.add(source.read(exact=True, progress=tick))))
        else:
            for part in source.tables(exact=True, progress=tick):
                write(shape(decider.add(part)))
    decider.finish()
    result = decider.to_dict() | {"table": source.where, "out": out and str(out)}
    if today is not None:
        result["estimate"] = today.to_dict()
    if json:
        emit(result, json=True)
        return
    room = terminal_width() if on_terminal() else None
    for line in summary_lines(decider, read_as, out, room):
        say(line)
    for line in [] if today is None else str(today).splitlines():
        say(line)


def _refuse_flags(
    costs: CostFlags,
    trained_at: tuple[str, ...],
    now_at: tuple[str, ...],
    tie: str,
    budget: tuple[str, ...],
    uses: str | None,
) -> None:
    """Refuse flags that cannot work together, before anything is read."""
    costs.refuse_contradictions()
    if not costs.given:
        _matrix(costs)
    if bool(trained_at) != bool(now_at) and AUTO not in now_at:
        given, other = ("--now-at", "--trained-at") if now_at else ("--trained-at", "--now-at")
        raise UsageError(
            "{given} needs {other}: recalibration needs both base rates.",
            code="no-base-rate",
            given=given,
            other=other,
        )
    if budget and tie == "last":
        raise UsageError(
            "--tie last does not work with --budget, which takes the first of equal rows.",
            code="argument-conflict",
            remedy="Leave one out.",
        )
    if uses is not None and not budget:
        raise UsageError(
            "--uses {column} needs a budget.",
            code="unused-argument",
            column=uses,
            remedy="Give one, such as --budget 40.",
        )


def _matrix(costs: CostFlags, classes: list[Any] | None = None) -> CostMatrix:
    """The costs, which this verb cannot do without."""
    matrix = costs.matrix(classes)
    if matrix is None:
        raise UsageError(
            "There are no costs.",
            code="no-costs",
            remedy="Give them, such as --false-alarm 5 --miss 400, or a file: --costs costs.toml.",
        )
    return matrix


def _classes(
    found: ProbColumns, matrix: CostMatrix, costs: CostFlags, positive: str | None
) -> tuple[list[Any], str]:
    """The classes in the order of the columns, negative first, and how that was understood."""
    own = None if matrix.positional else list(matrix.classes)
    if len(found.columns) > 1:
        if positive is not None:
            raise UsageError(
                "--positive {positive} is for one column of probabilities, and there are "
                "{count}: {columns}.",
                code="argument-conflict",
                positive=positive,
                count=len(found.columns),
                columns=", ".join(found.columns),
                remedy="Leave it out.",
            )
        classes: list[Any] = list(found.classes)
        known = set() if own is None else set(map(str, own))
        if found.in_order and own and len(own) == len(classes) and not known & set(classes):
            classes = own  # listed one by one under other names: their order is meant
        pairs = ", ".join(f"{c} of {k}" for c, k in zip(found.columns, classes, strict=True))
        return classes, f"probabilities: {pairs}"
    column = found.columns[0]
    if len(matrix.classes) != 2:
        raise DataError(
            "{file} has costs for {count} classes ({classes}), and {column!r} is one column.",
            code="class-count",
            file=costs.file,
            count=len(matrix.classes),
            classes=", ".join(map(str, matrix.classes)),
            column=column,
            remedy="Name a column for each class, such as --prob 'prob_*'.",
        )
    if own is None:
        if positive is None:
            return ["no event", "event"], (
                f"{column!r} is taken as the probability of the event (--positive names it)"
            )
        return [f"not {positive}", positive], f"{column!r} is the probability of {positive}"
    names = [str(name) for name in own]
    if positive is None:
        return own, (
            f"{column!r} is taken as the probability of {names[1]}, the last class in "
            f"{costs.file}; if it is that of {names[0]}: --positive {shell_word(names[0])}"
        )
    if positive not in names:
        raise UsageError(
            "--positive {positive}: {file} has the classes {classes}.{hint}",
            code="unknown-class",
            positive=positive,
            file=costs.file,
            classes=" and ".join(names),
            hint=suggest(positive, names),
            remedy="Give one of them.",
        )
    place = names.index(positive)
    return [own[1 - place], own[place]], f"{column!r} is the probability of {positive}"


def _capacity(
    budget: tuple[str, ...], matrix: CostMatrix, *, unnamed: bool, whole: bool
) -> dict[Any, float]:
    """How many rows, or units, each limited action may have."""
    room: dict[Any, float] = {}
    by_name = {str(name): name for name in matrix.actions}
    acting = str(matrix.actions[1] if unnamed else matrix.classes[-1])
    for text in budget:
        name, mark, number = text.rpartition("=")
        name = name if mark else acting
        if name not in by_name:
            raise UsageError(
                "--budget {text} must name one of the actions {actions}.{hint}",
                code="unknown-action",
                text=text,
                actions=", ".join(by_name),
                hint=suggest(name, by_name),
                remedy="Put the name before the number: --budget ACTION=200",
            )
        if by_name[name] in room:
            raise UsageError(
                "--budget limits {action!r} twice.",
                code="duplicate-budget",
                action=name,
                remedy="Give one limit.",
            )
        try:
            most = int(number) if whole else float(number)
        except ValueError:
            kind = "a whole number of rows" if whole else "a number"
            raise UsageError(
                "--budget {text}: {number!r} is not {kind}, such as 200.",
                code="budget-value",
                text=text,
                number=number,
                kind=kind,
            ) from None
        if not 0 <= most < float("inf"):
            raise UsageError(
                "--budget {text}: the limit must be a number >= 0.",
                code="budget-value",
                text=text,
            )
        room[by_name[name]] = most
    return room


def _plan(
    source: TableSource, decider: Any, read_as: str, out: Path | None, to: str | None
) -> dict[str, Any]:
    target = "standard output" if out is None or str(out) == "-" else str(out)
    return {
        "read": source.where,
        "columns": ", ".join((*decider.prob.columns, *decider.costs.columns)),
        "understood": read_as,
        "costs": decider.matrix.to_dict(),
        "add": ", ".join(decider.new_columns),
        "write": target,
        "format": to or "by ending, csv on standard output",
        "memory": "all rows" if decider.capacity else "constant",
    }


@dataclass
class Decider:
    """Decides part after part, and keeps the sums.

    Parameters
    ----------
    source, form, prob, classes, costs, matrix, tie, capacity, uses, explain
        As read from the command line; `matrix` has the classes of the probabilities, and its
        columns are not bound.
    mixes : dict
        Empty, or the class shares "trained_at" and "now_at".
    named : str or None
        Name of the column of actions; the beginning of the names of the other new columns.
    """

    source: TableSource
    form: TextForm
    prob: ProbColumns
    classes: tuple[Any, ...]
    costs: CostFlags
    matrix: CostMatrix
    mixes: dict[str, list[float]]
    tie: str
    capacity: dict[Any, float]
    uses: str | None
    explain: bool
    named: str | None
    rows: int = 0
    certain: int = 0
    within: Any = None
    earns: str = ""
    counts: Any = field(init=False)  # rows of each action
    spent: Any = field(init=False)  # expected cost of the rows of each action
    always: Any = field(init=False)  # expected cost of each action for all rows
    ends: Any = field(init=False)  # of bands that vary by row: least and greatest low, and high
    used: Any = field(init=False)  # rows on which an action has a band

    def __post_init__(self) -> None:
        import numpy as np

        n_actions = len(self.matrix.actions)
        self.counts = np.zeros(n_actions, dtype=np.int64)
        self.spent, self.always = np.zeros(n_actions), np.zeros(n_actions)
        self.ends = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n_actions, 1))
        self.used = np.zeros(n_actions, dtype=np.int64)

    @property
    def where(self) -> str:
        """The table's name."""
        return self.source.where

    def _at(self, row: int) -> str:
        """Where a row of the part at hand is."""
        return self.source.find.place(self.rows + row)

    @property
    def actions(self) -> list[str]:
        """Names of the actions as written."""
        return [str(name) for name in self.matrix.actions]

    @property
    def numbers(self) -> list[str]:
        """Names of the columns that are computed with."""
        return [*self.prob.columns, *self.matrix.columns, *([self.uses] if self.uses else [])]

    @property
    def new_columns(self) -> list[str]:
        """Names of the columns that are added."""
        lead = f"{self.named}_" if self.named else ""
        names = [self.named or "action", f"{lead}expected_cost"]
        if self.explain:
            names += [f"{lead}cost_{action}" for action in self.actions]
            names += [f"{lead}runner_up", f"{lead}margin"]
        return names

    def add(self, part: pa.Table) -> Any:
        """Return a part of the table with the new columns, and count it."""
        import numpy as np
        import pyarrow as pa

        from scarce import expected_cost

        prob = prob_values(part, self.prob, source=self.source, form=self.form, start=self.rows)
        matrix = self._bound(part)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            best = self._best(prob, matrix, part)
            cost = expected_cost(prob, matrix, classes=self.classes, **self.mixes)
        each = np.arange(len(best))
        chosen = cost[each, best]
        self._count(prob, matrix, best, cost, chosen)
        words = pa.array(self.actions)
        values = [words.take(pa.array(best)), pa.array(chosen)]
        if self.explain:
            others = cost.copy()
            others[each, best] = np.inf
            second = others.argmin(axis=1)
            values += [pa.array(column) for column in cost.T]
            values += [words.take(pa.array(second)), pa.array(others[each, second] - chosen)]
        for name, value in zip(self.new_columns, values, strict=True):
            part = part.append_column(name, value)
        return part

    def _bound(self, part: pa.Table) -> CostMatrix:
        """The costs of these rows."""
        import numpy as np

        if not self.matrix.columns:
            return self.matrix
        table = {}
        for name in self.matrix.columns:
            values = table[name] = self.source.numbers(part, name, self.rows)
            bad = ~np.isfinite(values)
            if bad.any():
                row = int(bad.argmax())
                seen = "missing" if np.isnan(values[row]) else f"{values[row]:g}"
                raise DataError(
                    "{table}, column {column!r} is {seen}{at}, and {option} needs it.",
                    code="missing-cost-value",
                    table=self.where,
                    column=name,
                    seen=seen,
                    at=self._at(row),
                    option=self.costs.option(name),
                    remedy="Fill it in, or leave the row out.",
                )
        with warnings.catch_warnings(record=True) as seen_warnings:
            warnings.simplefilter("always", DataWarning)
            matrix = self.costs.matrix(self.classes, table)
        if seen_warnings and not self.earns:
            self.earns = self._negative(table)
        return matrix or self.matrix

    def _negative(self, table: dict[str, Any]) -> str:
        for name, values in table.items():
            if len(values) and values.min() < 0:
                row = int((values < 0).argmax())
                return f"column {name!r} is {values[row]:g}{self._at(row)}"
        return ", ".join(f"{self.costs.option(name)}, by column {name!r}" for name in table)

    def _best(self, prob: Any, matrix: CostMatrix, part: pa.Table) -> Any:
        """Position of the action of each row."""
        import numpy as np

        from scarce import decide

        if self.capacity and len(prob):
            from scarce import decide_within

            if self.mixes:
                from scarce import correct_prior  # brings scikit-learn along

                prob = correct_prior(prob, **self.mixes)
            amount = None if self.uses is None else self._amounts(part)
            self.within = decide_within(prob, matrix, capacity=self.capacity, uses=amount)
            names = self.within.actions
        else:
            names = decide(prob, matrix, tie=self.tie, classes=self.classes, **self.mixes)
        best = np.zeros(len(names), dtype=np.intp)
        for position, name in enumerate(matrix.actions):
            best[names == name] = position
        return best

    def _amounts(self, part: pa.Table) -> Any:
        values = self.source.numbers(part, str(self.uses), self.rows)
        bad = ~((values >= 0.0) & (values < float("inf")))
        if bad.any():
            row = int(bad.argmax())
            raise DataError(
                "{table}, column {column!r} is {value:g}{at}: --uses needs numbers >= 0.",
                code="uses-range",
                table=self.where,
                column=self.uses,
                value=values[row],
                at=self._at(row),
            )
        return values

    def _count(self, prob: Any, matrix: CostMatrix, best: Any, cost: Any, chosen: Any) -> None:
        import numpy as np

        n_actions = len(self.counts)
        self.rows += len(best)
        self.counts += np.bincount(best, minlength=n_actions)
        self.spent += np.bincount(best, weights=chosen, minlength=n_actions)
        self.always += cost.sum(axis=0)
        sure = (prob == 0.0) | (prob == 1.0)
        self.certain += int((sure if sure.ndim == 1 else sure.all(axis=1)).sum())
        if matrix.n_rows and len(self.classes) == 2:
            bands = self._as_given(matrix).thresholds()
            has = ~np.isnan(bands.low)
            self.used += has.sum(axis=1)
            for place in np.flatnonzero(has.any(axis=1)):
                low, high = bands.low[place][has[place]], bands.high[place][has[place]]
                seen = self.ends[place]
                self.ends[place] = (
                    min(seen[0], low.min()),
                    max(seen[1], low.max()),
                    min(seen[2], high.min()),
                    max(seen[3], high.max()),
                )

    def _as_given(self, matrix: CostMatrix) -> CostMatrix:
        """Costs whose thresholds are for the probabilities as the table has them."""
        return matrix.with_prior(**self.mixes) if self.mixes else matrix

    def finish(self) -> None:
        """Warn of what only the whole table shows."""
        if self.rows >= CERTAIN and self.certain == self.rows:
            warn_user(
                "{table}: all {rows:,} probabilities in {column!r} are exactly 0 or 1.",
                code="certain-probabilities",
                table=self.where,
                rows=self.rows,
                column=self.prob.columns[0],
                remedy="Name a column of probabilities with --prob, not one of predicted classes.",
            )
        if self.earns:
            warn_user(
                "{table}: the cost of a mistake is negative in some rows ({places}). Is that the "
                "right column?",
                code="mistake-earns",
                table=self.where,
                places=self.earns,
            )

    def bands(self) -> dict[str, tuple[list[float], str]]:
        """Where each action is the cheapest: ends of the probability, and words.

        The ends are [low, high], or with costs by row the least and greatest of each. Empty for
        more than two classes, and with a budget, where the cheapest action is not always taken.
        """
        if len(self.classes) != 2 or self.capacity:
            return {}
        told = {}
        if not self.matrix.columns:
            bands = self._as_given(self.matrix).thresholds()
            for name, words in bands.texts().items():
                told[str(name)] = (list(bands[name]), words)
            return told
        for name, ends, used in zip(self.actions, self.ends, self.used, strict=True):
            part = "" if used == self.rows else f", in {used:,} of {self.rows:,} rows"
            if used:
                words = f"from {_ends(*ends[:2])} to {_ends(*ends[2:])}{part}"
                told[name] = (ends.tolist(), words)
        return told

    def idle(self) -> list[Any]:
        """Actions that are never the cheapest, whatever the probabilities."""
        return [] if self.matrix.columns else list(self.matrix.idle())

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, for JSON."""
        total, told = float(self.spent.sum()), self.bands()
        result = {
            "rows": self.rows,
            "prob": list(self.prob.columns),
            "classes": [str(name) for name in self.classes],
            "new_columns": self.new_columns,
            "actions": [
                {
                    "action": name,
                    "rows": int(self.counts[place]),
                    "expected_cost": float(self.spent[place]),
                    "expected_cost_for_all_rows": float(self.always[place]),
                    "band": told[name][0] if name in told else None,
                    "when": told[name][1] if name in told else None,
                }
                for place, name in enumerate(self.actions)
            ],
            "expected_cost": total,
            "expected_cost_per_row": total / self.rows if self.rows else None,
            "never_cheapest": [one.to_dict() for one in self.idle()],
            "costs": self.matrix.to_dict(),
            "tie": self.tie,
            "trained_at": self.mixes.get("trained_at"),
            "now_at": self.mixes.get("now_at"),
        }
        if self.within is not None:
            detail = self.within.to_dict()
            result["budget"] = {name: detail[name] for name in ("limits", "without", "gap")}
        return result


def summary_lines(
    decider: Decider, read_as: str, out: Any = None, room: int | None = None
) -> Iterator[str]:
    """What a person wants to know: how many rows each action got, when, and what it costs.

    Parameters
    ----------
    decider : Decider
    read_as : str
        How the probabilities were understood.
    out : path, optional
        Where rows were written.
    room : int, optional
        Columns of the terminal: longer lines are broken between words.
    """
    for line in _summary(decider, read_as, out, room):
        yield line if room is None or line.startswith(" ") else _broken(line, room)


def _broken(line: str, room: int) -> str:
    return textwrap.fill(
        line, max(20, room - 1), subsequent_indent="  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _summary(decider: Decider, read_as: str, out: Any, room: int | None) -> Iterator[str]:
    moved = ""
    if decider.mixes:
        before, after = ([short(s) for s in shares] for shares in decider.mixes.values())
        if len(before) == 2:
            before, after = before[1:], after[1:]
        moved = f", moved from shares of {', '.join(before)} to {', '.join(after)}"
    rows = f"{decider.rows:,} row{'' if decider.rows == 1 else 's'}"
    written = f" written to {out}" if out is not None and str(out) != "-" else ""
    yield f"{decider.where}: {rows}{written}; {read_as}{moved}"
    told = decider.bands()
    cells = []
    for place, name in enumerate(decider.actions):
        when = told[name][1] if name in told else ""
        cells.append((name, f"{decider.counts[place]:,}", short(decider.spent[place]), when))
    by = f"cheapest, by {decider.prob.columns[-1]!r} as it is" if decider.mixes else "cheapest"
    cells.insert(0, ("action", "rows", "expected cost", by if told else ""))
    widths = [max(len(cell[place]) for cell in cells) for place in range(3)]
    widest = sum(widths) + 8 + max(len(cell[3]) for cell in cells)
    apart = "  " if room is None or widest < room else "\n    "  # a line of its own
    for name, count, cost, when in cells:
        line = f"  {name:<{widths[0]}}  {count:>{widths[1]}}  {cost:>{widths[2]}}"
        yield (line + (apart + when if when else "")).rstrip()
    if decider.rows:
        total, least = float(decider.spent.sum()), int(decider.always.argmin())
        yield (
            f"Expected cost {short(total)}, {short(total / decider.rows)} a row; the best single "
            f"action for all rows, {decider.actions[least]!r}, would cost "
            f"{short(decider.always[least])}."
        )
    if decider.within is not None:
        yield from str(decider.within).splitlines()[1:]
    yield from map(str, decider.idle())


def _ends(least: float, greatest: float) -> str:
    return short(least) if least == greatest else f"({short(least)} ... {short(greatest)})"
