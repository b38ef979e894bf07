"""Base rates as typed: one number for the event, or one for each class by name.

    --now-at 0.015                    --now-at a=0.2 --now-at b=0.3   (the class left out: the rest)

Fractions of rows kept for training are typed in the same way, and become base rates:

    now_at[y]  is proportional to  trained_at[y] / kept[y]

With "auto" that of the rows themselves is estimated, from a table of labelled ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.flags import in_flags
from scarce.cli.options import AUTO, LabelFlags, is_typed
from scarce.errors import DataError, UsageError, suggest

if TYPE_CHECKING:
    from scarce.cli.outcome_table import OutcomeTable
    from scarce.cli.sampling_columns import SamplingFlags
    from scarce.cli.table_columns import ProbColumns
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm
    from scarce.prior.label_shift import ShareEstimate

Shares = list[float]
VALIDATION = ("weight", "inclusion", "groups")  # columns of the labelled rows
OF_VALIDATION = ("label", *VALIDATION)  # flags that mean nothing without such rows


def read_shares(typed: Sequence[str], classes: Sequence[Any], option: str) -> Shares | None:
    """Return one share per class, in the order of the classes; None where nothing was typed.

    Parameters
    ----------
    typed : sequence of str
        One number, the share of the last of two classes; or "CLASS=SHARE" for all classes or all
        but one.
    classes : sequence
        Names of the classes.
    option : str
        The flag, for messages.

    Examples
    --------
    >>> read_shares(["0.25"], ["legit", "fraud"], "--now-at")
    [0.75, 0.25]
    >>> read_shares(["c=0.25", "a=0.5"], ["a", "b", "c"], "--now-at")
    [0.5, 0.25, 0.25]
    >>> read_shares(["a=0.75", "b=0.5"], ["a", "b", "c"], "--now-at")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: Base rates must be strictly between 0 and 1 and sum to 1, got ...
    """
    from scarce import checks

    if not typed:
        return None
    by_class = {classes[at]: share for at, share in _by_class(typed, classes, option).items()}
    name = option.removeprefix("--").replace("-", "_")
    found = checks.read_shares(by_class, classes, name)
    return [float(share) for share in found]


def validation_columns(
    weight: str | None, inclusion: str | None, groups: str | None
) -> SamplingFlags:
    """Return the columns that say for whom a labelled row stands, as typed."""
    from scarce.cli.sampling_columns import SamplingFlags

    return SamplingFlags(weight, "survey", inclusion, groups)


def wants_estimate(
    now_at: Sequence[str],
    validation: Path | None,
    label: str | None,
    alone: Sequence[str] = OF_VALIDATION,
) -> bool:
    """Whether the base rate is to be estimated; refuse flags that belong to that alone.

    Parameters
    ----------
    now_at, validation, label
        As typed.
    alone : sequence of str
        Flags that the verb has for nothing else. From a file of settings they may be for others.
    """
    if AUTO not in now_at:
        unused = "validation" if validation is not None else next(filter(is_typed, alone), None)
        if unused is not None:
            raise UsageError(
                "--{flag} is for --now-at auto.",
                code="unused-argument",
                flag=unused,
                remedy="Leave it out, or estimate the base rate: --now-at auto --validation "
                "valid.csv --label LABEL.",
            )
        return False
    if len(now_at) > 1:
        raise UsageError(
            "--now-at auto estimates the base rates of all classes.",
            code="argument-conflict",
            remedy="Give no other --now-at.",
        )
    missing = "--validation" if validation is None else "--label" if label is None else ""
    if missing:
        raise UsageError(
            "--now-at auto needs {missing}: a base rate is estimated from how the probabilities of "
            "labelled rows compare with those of today's.",
            code="no-validation",
            missing=missing,
            remedy="Give a table of labelled rows that the model did not learn from, with the same "
            "column of probabilities: --validation valid.csv --label LABEL.",
        )
    return True


def estimated_rates(
    table: TableSource,
    found: ProbColumns,
    before: Shares | None,
    validation: Path,
    verb: str,
    classes: Sequence[Any],
    *,
    prob: Sequence[str],
    labels: LabelFlags,
    sampling: SamplingFlags,
    form: TextForm,
) -> ShareEstimate:
    """Return the base rates of a table's rows, estimated with a table of labelled ones.

    Parameters
    ----------
    table, found
        Today's rows, and which of their columns are probabilities.
    before : list of float, or None
        Base rates that the probabilities are for; by default those of the labelled rows.
    validation : Path
    verb : str
        For messages.
    classes : sequence
        Names of the classes in the order of the probabilities.
    prob, labels, sampling, form
        As typed; labels and sampling are columns of the labelled rows.
    """
    import numpy as np

    from scarce import estimate_share
    from scarce.cli.outcome_table import read_outcomes
    from scarce.cli.table_columns import prob_values

    held = read_outcomes([validation], verb, labels=labels, prob=prob, sampling=sampling, form=form)
    y, said = _in_order(held, found, table.where)
    parts, rows = [], 0
    for part in table.tables(list(found.columns), exact=True):
        parts.append(prob_values(part, found, source=table, form=form, start=rows))
        rows += len(parts[-1])
    if not rows:
        raise DataError("{table} has no rows.", code="no-rows", table=table.where)
    names = [str(name) for name in classes]
    y = np.array([*names, None], dtype=object)[np.where(y == y, y, len(names)).astype(int)]
    given = {"y": y, "prob": said, "sample_weight": held.sample_weight,
             "inclusion": held.inclusion, "groups": held.groups}  # fmt: skip
    kept = held.known if held.inclusion is None else np.ones(len(y), dtype=bool)
    today = estimate_share(
        np.concatenate(parts),
        trained_at=before,
        validation={name: one[kept] for name, one in given.items() if one is not None},
        classes=names,
    )
    return replace(today, remarks=tuple(map(in_flags, today.remarks)))


def _in_order(held: OutcomeTable, found: ProbColumns, where: str) -> tuple[Any, Any]:
    """Return the classes and probabilities of labelled rows in the order of today's columns."""
    import numpy as np

    same = len(held.columns) == len(found.columns)
    if not same or (len(found.columns) > 1 and set(held.columns) != set(found.columns)):
        raise DataError(
            "{validation} has other columns of probabilities ({seen}) than {table} ({columns}).",
            code="class-count",
            validation=held.where,
            seen=", ".join(held.columns),
            table=where,
            columns=", ".join(found.columns),
            remedy="Both need the same, by the same model: predict both tables with it, or name "
            "the columns with --prob.",
        )
    if len(found.columns) == 1:
        return held.y, held.prob
    order = [held.columns.index(name) for name in found.columns]
    place = np.append(np.argsort(order), np.nan)  # of each class of the labelled rows
    return place[np.where(held.known, held.y, len(order)).astype(int)], held.prob[:, order]


def shares_of_kept(
    typed: Sequence[str], classes: Sequence[Any], trained_at: Shares | None
) -> tuple[Shares, Shares]:
    """Return the mix of training and that of the world, from the rates at which rows were kept.

    Without the mix of training both are for a training on equal shares: what moves a probability is
    their ratio alone, which is right.

    Examples
    --------
    >>> shares_of_kept(["0.1"], [0, 1], [0.5, 0.5])[1]
    [0.9090909090909091, 0.09090909090909091]
    """
    option = "--undersample"
    kept = _by_class(typed, classes, option, last=False)
    before = trained_at or [1.0 / len(classes)] * len(classes)
    raw = [b / kept.get(k, 1.0) for k, b in enumerate(before)]
    return before, [value / math.fsum(raw) for value in raw]


def _by_class(
    typed: Sequence[str], classes: Sequence[Any], option: str, *, last: bool = True
) -> dict[int, float]:
    """What was typed, by position of the class; one bare number is for the last or first of two."""
    if len(typed) == 1 and "=" not in typed[0]:
        if len(classes) != 2:
            raise UsageError(
                "{option} {value} is one number, but there are {count} classes.",
                code="base-rate-classes",
                option=option,
                value=typed[0],
                count=len(classes),
                first=classes[0],
                second=classes[1],
                remedy="Give them by name, such as {option} {first}=0.2 {option} {second}=0.3.",
            )
        return {1 if last else 0: float(typed[0])}
    names = [str(name) for name in classes]
    found: dict[int, float] = {}
    for text in typed:
        name, mark, number = text.rpartition("=")
        if not mark:
            raise UsageError(
                "{option} {text}: give a class and a number, such as {example}=0.2.",
                code="base-rate-classes",
                option=option,
                text=text,
                example=names[0],
            )
        if name not in names:
            raise UsageError(
                "{option} {text}: there is no class {name!r}.{hint} The classes are: {classes}.",
                code="unknown-class",
                option=option,
                text=text,
                name=name,
                hint=suggest(name, names),
                classes=", ".join(names),
            )
        if names.index(name) in found:
            raise UsageError(
                "{option} names the class {name!r} twice.",
                code="base-rate-classes",
                option=option,
                name=name,
                remedy="Give it once.",
            )
        found[names.index(name)] = float(number)
    return found
