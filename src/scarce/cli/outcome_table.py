"""Rows with probabilities and outcomes: what evaluate, check, compare and report read.

    p.csv with a column of probabilities     or     m.scarce and a table that it has not seen

Rows without a label are left out, and their number is reported, unless --inclusion gives the
probability that each row was labelled. Computes no figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.label_columns import as_in_columns, as_in_model, read_classes
from scarce.cli.next_command import path_word, shell_command
from scarce.cli.options import LabelFlags
from scarce.cli.output import progress
from scarce.cli.sampling_columns import (
    CHANCE,
    POLICY,
    SamplingFlags,
    group_column,
    inclusion_column,
    weight_column,
)
from scarce.cli.table_columns import (
    before_name,
    find_prob,
    prob_values,
    table_or_stdin,
    with_label_remedy,
)
from scarce.errors import DataError, Problem, UsageError
from scarce.results import short

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce import Estimate
    from scarce.cli.costs import CostFlags
    from scarce.cli.model_file import LoadedModel
    from scarce.evaluation.evaluate import Evaluation
    from scarce.evaluation.segments import EvaluationBy
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

FAR = 1.25  # times as much given as happened, or the reverse, from which on it is worth a word


@dataclass(frozen=True)
class OutcomeTable:
    """Rows of a table with what was said of them and what happened.

    Parameters
    ----------
    where : str
        The table, for messages.
    y : float64 array of shape (n,)
        Position of each row's class, NaN where not labelled.
    classes : tuple
        Negative first, where there are two.
    prob : float64 array of shape (n,) or (n, n_classes), or None
        Of the event, or of each class.
    sample_weight, inclusion, groups : arrays of shape (n,), or None
        As the columns say; groups are numbered from 0 on.
    table : pyarrow.Table
        The columns that costs or scores need.
    model : str
        What said it, for the reader; "" for a table of probabilities.
    columns : tuple of str
        The columns of probabilities; empty where a model said them.
    learnt : Problem, or None
        Says that the model was fitted to this very file.
    path, model_path : Path, or None
        The table's file, None for a pipe; and the model's, None for a table of probabilities.
    own_shares : list of float, or None
        The class mix that the model's probabilities are for, where it says so.
    corrected : bool
        Whether the table keeps its probabilities as they were before a correction, too.
    form : TextForm, or None
        How the table is written.
    listed : bool
        Whether the table has the columns of a list that `scarce label` wrote.
    weight_kind : str
        "survey" or "frequency".
    missing : float64 array of shape (n,), or None
        Share of the model's columns that are missing in each row; None without a model.
    """

    where: str
    y: Any
    classes: tuple[Any, ...]
    prob: Any
    sample_weight: Any
    inclusion: Any
    groups: Any
    table: pa.Table
    model: str = ""
    columns: tuple[str, ...] = ()
    learnt: Problem | None = None
    path: Path | None = None
    model_path: Path | None = None
    own_shares: list[float] | None = None
    corrected: bool = False
    form: TextForm | None = None
    listed: bool = False
    weight_kind: str = "survey"
    missing: Any = None

    @property
    def known(self) -> Any:
        """Which rows have a label."""
        return self.y == self.y

    @property
    def unlabelled(self) -> int:
        """How many rows have none."""
        return int((~self.known).sum())

    @property
    def drawn_here(self) -> bool:
        """Whether some labelled rows stand for others."""
        return self.inclusion is not None and bool((self.inclusion[self.known] < 1).any())

    @property
    def chosen(self) -> bool:
        """Whether most rows have no label, and nobody says how the others came to have one."""
        return self.inclusion is None and 2 * self.unlabelled > len(self.y)

    def labelled(self) -> OutcomeTable:
        """Return the rows that figures are made of: all if drawn, else those with a label."""
        if self.inclusion is not None or not self.unlabelled:
            return self
        return self.only(self.known)

    def only(self, inside: Any) -> OutcomeTable:
        """Return some of the rows, by a mask."""
        import numpy as np
        import pyarrow as pa

        rows = np.flatnonzero(inside)
        named = ("y", "prob", "sample_weight", "inclusion", "groups", "missing")
        kept = {name: getattr(self, name) for name in named}
        kept = {name: None if held is None else held[rows] for name, held in kept.items()}
        if kept["groups"] is not None:
            kept["groups"] = np.unique(kept["groups"], return_inverse=True)[1]
        return replace(self, table=self.table.take(pa.array(rows)), **kept)

    def labelled_weights(self) -> tuple[Any, Any]:
        """Return the positions of the rows with a label, and for how many others each stands."""
        import numpy as np

        from scarce.bootstrap import read_kind, read_sample

        if self.inclusion is None:
            rows = np.flatnonzero(self.known)
            return rows, None if self.sample_weight is None else self.sample_weight[rows]
        weight = read_kind(self.sample_weight, self.weight_kind)
        sample = read_sample(self.known, weight, self.inclusion)
        return sample.rows, sample.weight

    def evaluate(self, level: float, seed: int, threshold: float | None = None) -> Evaluation:
        """Return the figures of the probabilities."""
        from scarce import evaluate

        kept = self.labelled()
        return evaluate(
            kept.names(),
            kept.prob,
            classes=kept.classes,
            threshold=threshold,
            **kept.drawn(level, seed),
        )

    def by_missing(self, level: float, seed: int) -> EvaluationBy | None:
        """Return the figures by share of missing values; None where all rows are about alike."""
        import numpy as np

        from scarce import evaluate_by
        from scarce.evaluation.missing_share import bins_of_missing

        kept = self.labelled()
        if self.missing is None or len(self.classes) != 2 or not (kept.missing > 0).any():
            return None
        bins = bins_of_missing(kept.missing, np.asarray(kept.y, dtype=np.float64))
        if len(np.unique(bins)) < 2:
            return None
        how = kept.drawn(level, seed)
        return evaluate_by(kept.names(), kept.prob, bins, classes=kept.classes, **how)

    def worse_than(self, other: OutcomeTable, level: float, seed: int) -> Estimate:
        """Return how much more log loss this has than another on the same rows."""
        from scarce.evaluation.compare import loss_difference

        kept, rival = self.labelled(), other.labelled()
        if (self.known & (self.y != other.y)).any():
            told, others = (", ".join(map(str, one.classes)) for one in (self, other))
            raise DataError(
                "The two models predict different events: the classes are {classes} in one and "
                "{others} in the other (the event is the last).",
                code="class-mismatch",
                classes=told,
                others=others,
                remedy="Fit both with the same --positive.",
            )
        return loss_difference(
            kept.names(),
            kept.prob,
            rival.prob,
            classes=kept.classes,
            **kept.drawn(level, seed),
        )

    def names(self) -> Any:
        """Return the class of each row by its name, None where not labelled."""
        import numpy as np

        held = np.empty(len(self.y), dtype=object)
        for place, name in enumerate(self.classes):
            held[self.y == place] = name
        return held

    def drawn(self, level: float, seed: int) -> dict[str, Any]:
        """Return what figures are asked for with."""
        return {
            "sample_weight": self.sample_weight,
            "weight_kind": self.weight_kind,
            "inclusion": self.inclusion,
            "groups": self.groups,
            "level": level,
            "random_state": seed,
        }

    def other_base_rate(self) -> Problem | None:
        """Say that the model's probabilities are for another base rate than that of these rows.

        By more than chance: three standard errors of the logarithm of the rate.
        """
        import numpy as np

        if self.own_shares is None or len(self.classes) != 2 or self.chosen:
            return None
        rows, weight = self.labelled_weights()
        happened = float(np.average(self.y[rows] == 1, weights=weight))
        events = float((self.y[rows] == 1).sum())
        if not 0 < happened < 1 or not 0 < self.own_shares[1] < 1:
            return None
        apart = abs(np.log(self.own_shares[1] / happened))
        if apart <= max(np.log(FAR), 3.0 / np.sqrt(events)):
            return None
        return Problem(
            "{model}: its probabilities are for a base rate of {own} of {event}, and that of these "
            "rows is {happened}, so part of its loss is the base rate.",
            code="other-base-rates",
            model=self.model_path,
            own=short(self.own_shares[1], percent=True),
            event=str(self.classes[1]),
            happened=short(happened, percent=True),
            share=f"{happened:.3g}",
            remedy="Recalibrate it first: scarce correct {model} --now-at {share} --out NEW.scarce",
        )

    def left_aside(self) -> Problem | None:
        """Say how many rows have no label, or that they are a list; None where all is told."""
        n = self.unlabelled
        if n == 0 and self.listed and self.inclusion is None:
            return Problem(
                "The table has the columns of a list that `scarce label` wrote: the figures are "
                "for the rows of the list only, which were chosen.",
                code="list-alone",
                remedy="If they were sampled at random, give --inclusion {column}.",
                column=CHANCE,
            )
        if n == 0:
            return None
        if self.inclusion is not None:
            return Problem(
                "{count:,} of {rows:,} rows are not labelled: the labelled ones represent them by "
                "--inclusion.",
                code="unlabelled-rows",
                count=n,
                rows=len(self.y),
            )
        return Problem(
            "{count:,} of {rows:,} rows are not labelled and are left out: the figures are for the "
            "labelled rows only.",
            code="unlabelled-rows",
            count=n,
            rows=len(self.y),
            remedy=[
                "If those were sampled at random, give --inclusion COLUMN.",
                "If only alerts were investigated, estimate what was missed: scarce estimate.",
            ],
        )


def read_outcomes(
    files: Sequence[Path],
    verb: str,
    *,
    labels: LabelFlags,
    prob: Sequence[str] = (),
    sampling: SamplingFlags,
    costs: CostFlags | None = None,
    extra: Sequence[tuple[str, str]] = (),
    names: Sequence[tuple[str, str]] = (),
    need_prob: bool = True,
    form: TextForm,
    quiet: bool = False,
) -> OutcomeTable:
    """Read a table of probabilities, or let a model say what they are.

    Parameters
    ----------
    files : sequence of Path
        One table (none: standard input), or a model file and a table.
    verb : str
        For messages.
    labels, prob, sampling, costs, form
        As typed.
    extra : sequence of (flag, column)
        Further number columns that the verb needs.
    names : sequence of (flag, column)
        Further columns that need not be numbers, such as dates.
    need_prob : bool
        Whether probabilities are needed at all.
    quiet : bool
        Say nothing on stderr.
    """
    import pyarrow as pa

    from scarce.cli.model_file import is_model, load_model
    from scarce.io.source import open_table

    model, data = _model_and_table(files, verb, is_model)
    wanted = _refuse_flags(model, prob, labels)
    loaded = None if model is None else replace(load_model(model), missing_shares=[])
    source = open_table(table_or_stdin(data, verb), form)
    label = source.column(wanted, option="--label")
    pairs = [*sampling.given.items(), *extra]
    if costs is not None:
        pairs += [(costs.option(name), name) for name in costs.columns]
    named = [source.column(column, option=flag) for flag, column in [*pairs, *names]]
    numbers = [column for flag, column in pairs if flag != "--groups"]
    found = find_prob(source, prob) if need_prob and loaded is None else None
    if sampling.inclusion is not None and POLICY in source.names:
        named.append(POLICY)
    keep = list(dict.fromkeys([label, *named, *(found.columns if found else ())]))
    with progress("Reading") as tick:
        if loaded is not None and need_prob:
            table, said = _stream(loaded, source, keep, numbers, form, tick)
        else:
            numbers += found.columns if found else ()
            walk = source.tables(keep, numbers=numbers, progress=tick)
            parts = list(with_label_remedy(walk, label))
            table, said = pa.concat_tables(parts, promote_options="permissive"), None
    if table.num_rows == 0:
        raise DataError(
            "{table} has a header and no rows.",
            code="no-rows",
            table=source.where,
        )
    if loaded is not None and not quiet:
        loaded.say_columns()
    y, classes = read_classes(
        table.column(label), label, labels, source.where, loaded, form=form, quiet=quiet
    )
    if found is not None:
        said = prob_values(table, found, source=source, form=form, start=0)
        y, classes = as_in_columns(y, classes, found, label, source.where)
    elif loaded is not None:
        y, classes = as_in_model(y, classes, loaded, label, source.where)
        if said is not None and len(classes) == 2:
            said = said[:, 1]
    return OutcomeTable(
        where=source.where,
        y=y,
        classes=classes,
        prob=said,
        sample_weight=weight_column(source, table, sampling.weight, form),
        inclusion=inclusion_column(source, table, sampling.inclusion, y == y),
        groups=group_column(source, table, sampling.groups, form),
        table=table,
        model="" if loaded is None else f"{loaded.path} ({loaded.kind})",
        columns=() if found is None else found.columns,
        learnt=None if loaded is None else _learnt(loaded, source),
        path=source.path,
        model_path=None if loaded is None else loaded.path,
        own_shares=None if loaded is None else loaded.base_rates,
        corrected=found is not None and before_name(found.columns[0]) in source.names,
        form=form,
        listed={CHANCE, POLICY} <= set(source.names),
        weight_kind=sampling.weight_kind,
        missing=None if loaded is None else _joined(loaded.missing_shares),
    )


def _joined(parts: list[Any] | None) -> Any:
    """Return the parts of a column as one, None where there is none."""
    import numpy as np

    return np.concatenate(parts) if parts else None


def _refuse_flags(model: Path | None, prob: Sequence[str], labels: LabelFlags) -> str:
    """Refuse flags that cannot work together; return the label column."""
    if model is not None and prob:
        raise UsageError(
            "--prob {column} names a column of probabilities, and {model} is a model.",
            code="argument-conflict",
            column=prob[0],
            model=model,
            remedy="Leave one of the two out.",
        )
    if labels.label is None:
        raise UsageError(
            "--label is missing.",
            code="no-label-column",
            remedy="Name the column of outcomes, such as --label fraud.",
        )
    return labels.label


def look_at(
    files: Sequence[Path], form: TextForm, columns: Sequence[tuple[str, str | None]]
) -> None:
    """Open the files of a --dry-run and look for the columns; no row is read, nor a pipe.

    Parameters
    ----------
    files : sequence of Path
        Model files and tables.
    form : TextForm
    columns : sequence of (flag, column)
        Of the tables; None and patterns are passed over.
    """
    from scarce.cli.model_file import is_model, load_model
    from scarce.io.source import open_table

    for path in files:
        if str(path) == "-":
            continue
        if is_model(path):
            load_model(path)
            continue
        source = open_table(path, form)
        for flag, name in columns:
            if name is not None and "*" not in name:
                source.column(name, flag)


def _learnt(loaded: LoadedModel, source: TableSource) -> Problem | None:
    """Say that the model was fitted to this very file, by the mark that it carries; else None."""
    from scarce.io.source import stamp

    held = loaded.model
    while held is not None and not hasattr(held, "data_fingerprint_"):
        held = getattr(held, "estimator_", None)
    if held is None or source.path is None or held.data_fingerprint_ != stamp([source.path]):
        return None
    return Problem(
        "{model} was fitted to {table} itself: on its training rows every model looks better than "
        "it is.",
        code="training-rows",
        model=loaded.path,
        table=source.where,
        remedy="Evaluate it on rows that it has not seen.",
    )


def _model_and_table(
    files: Sequence[Path], verb: str, is_model: Callable[[Path], bool]
) -> tuple[Path | None, Path | None]:
    if len(files) > 2:
        raise UsageError(
            "scarce {verb} takes a table of probabilities, or a model file and a table; {count} "
            "files were given.",
            code="file-count",
            verb=verb,
            count=len(files),
        )
    if len(files) == 2:
        if is_model(files[1]) and not is_model(files[0]):
            raise UsageError(
                "The model comes first: {command}",
                code="argument-order",
                command=shell_command(
                    "scarce", verb, *map(path_word, files[::-1]), "--label", "COLUMN"
                ),
            )
        return files[0], files[1]
    if files and is_model(files[0]):
        raise UsageError(
            "{model} is a model.",
            code="file-count",
            model=files[0],
            command=shell_command(
                "scarce", verb, path_word(files[0]), "test.csv", "--label", "fraud"
            ),
            remedy="Name the table with the outcomes as well: {command}",
        )
    return None, files[0] if files else None


def _stream(
    loaded: LoadedModel,
    source: TableSource,
    keep: list[str],
    numbers: list[str],
    form: TextForm,
    tick: Any,
) -> Any:
    """The kept columns of a table and what the model says of its rows."""
    import numpy as np
    import pyarrow as pa

    parts, said, start = [], [], 0
    walk = loaded.stream(source, keep, exact=False, progress=tick)
    for part, prob in walk:
        for name in numbers:
            values = source.numbers(part, name, start)
            at = part.column_names.index(name)
            part = part.set_column(at, name, pa.array(values, from_pandas=True))
        parts.append(part)
        said.append(prob)
        start += part.num_rows
    return pa.concat_tables(parts, promote_options="permissive"), np.concatenate(said)
