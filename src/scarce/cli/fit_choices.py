"""What to fit, with which settings, to which columns: the choices of `scarce fit`, and why.

Columns that name rows are left out aloud; options of another model are refused; --model auto looks
at the labels and the holes.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from scarce.cli.next_command import shell_word
from scarce.cli.options import LabelFlags, typed
from scarce.cli.output import say
from scarce.errors import DataError, UsageError, suggest

OWNERS = {  # options that only one model has
    "loss": "rare",
    "shape": "rare",
    "ridge": "rare",
    "objective": "maxent",
    "default_prevalence": "maxent",
    "width_scale": "maxent",
    "covariance": "bayes",
}
MOST_NUMBERS = 50  # different numbers in a label column; more are a measurement
FEWEST_OF_A_CLASS = 10  # below, folds cannot choose anything
FEW_NAMES = 20  # different values of a column named like an identifier that may be a category
ID_NAME = re.compile(r"(?:^|[_ .-])(?:id|uuid|guid|key|index|row|rowid|rownames)$|^$", re.I)


def identifiers(
    source: Any, labels: LabelFlags, drop: tuple[str, ...], ids: tuple[str, ...]
) -> list[str]:
    """Columns that name rows, by their name and because no value comes twice at the beginning."""
    if source.once:
        return []
    named = [
        name
        for name in source.names
        if ID_NAME.search(name) and name != labels.label and name not in (*drop, *ids)
    ]
    if not named:
        return []
    import pyarrow.compute as pc

    named = [name for name in named if _can_be_compared(source.types[name])]
    if not named:
        return []
    first = next(iter(source.tables(named)))
    counts = {name: pc.count_distinct(first.column(name)).as_py() for name in named}
    found = [name for name in named if counts[name] == len(first)]
    for name in named:
        if FEW_NAMES < counts[name] < len(first):
            say(
                f"Column {name!r} is named like an identifier, several rows share its values, and "
                "it is learnt from. If it says which rows belong together (a patient, a card): "
                f"--groups {shell_word(name)}; if not: --drop {shell_word(name)}."
            )
    for name in found:
        say(
            f"Column {name!r} has another value in every row, so it names rows and is left out "
            f"(--id {shell_word(name)}; to learn from it, name all columns with --columns)."
        )
    return found


def _can_be_compared(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind))


def settings_of(model: str, own: dict[str, Any], more: tuple[str, ...]) -> dict[str, Any]:
    """The model's parameters, from its own options and --set; refused where they are another's."""
    settings: dict[str, Any] = {}
    for name, value in own.items():
        if value is None:
            continue
        if OWNERS[name] != model:
            raise UsageError(
                f"--{name.replace('_', '-')} is for --model {OWNERS[name]}, and the model is "
                f"{model}. Leave it out, or say --model {OWNERS[name]}."
            )
        settings[name] = typed(value) if isinstance(value, str) else value
    if not more:
        return settings
    if model == "auto":
        raise UsageError("--set needs a model: say which with --model rare, maxent or bayes.")
    known = class_of(model)().get_params(deep=False)
    for pair in more:
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"--set {pair!r}: give NAME=VALUE, such as --set cv=10.")
        if name not in known or name in ("engine", "progress"):
            raise UsageError(
                f"--set {pair!r}: {type(class_of(model)()).__name__} has no parameter {name!r}."
                f"{suggest(name, known)} It has: {', '.join(sorted(known))}."
            )
        settings[name] = _python(value.strip())
    return settings


def _python(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        return [typed(part.strip().strip("'\"")) for part in text[1:-1].split(",") if part.strip()]
    return typed(text)


def class_of(model: str) -> Any:
    """Return the estimator's class."""
    from scarce import AutoClassifier, GaussianBayes, MaxentClassifier, RareClassifier

    return {
        "rare": RareClassifier,
        "maxent": MaxentClassifier,
        "bayes": GaussianBayes,
        "auto": AutoClassifier,
    }[model]


class Choice(NamedTuple):
    """A model, its settings, and why."""

    model: str
    settings: dict[str, Any]
    why: str


def choose(rows: Any, counts: dict[str, Any]) -> Choice:
    """Choose a model by what the labels and the holes are, and say why."""
    labelled = [name for name, n in counts["labelled"].items() if n]
    if len(labelled) == 1:
        why = (
            f"only {labelled[0]} is ever labelled, so no row is known to be anything else: maxent "
            "learns from the labelled rows against all rows."
        )
        return Choice("maxent", {}, why)
    if len(rows.classes) > 2:
        why = (
            f"{len(rows.classes)} classes, so a Gaussian for each (bayes, shrunk covariances): the "
            "stack is for two classes."
        )
        return Choice("bayes", {"covariance": "shrunk"}, why)
    if not rows.fold(_count_holes).any():
        why = (
            "both classes are labelled, so a stack of regressions and trees is weighed on held-out "
            "rows; the table below has each beside the constant forecast. For coefficients that "
            "can be read, say --model rare."
        )
        return Choice("auto", {}, why)
    if min(counts["labelled"].values()) < FEWEST_OF_A_CLASS:
        why = (
            "values are missing and few rows of a class are labelled, so a Gaussian for each "
            "class (bayes, shrunk covariances), which takes holes as they are."
        )
        return Choice("bayes", {"covariance": "shrunk"}, why)
    why = (
        "both classes are labelled and values are missing, so a stack of trees, which take holes "
        "as they are, is weighed on held-out rows; regressions would need every value."
    )
    return Choice("auto", {"members": ["boosting", "forest"]}, why)


def refuse_holes(rows: Any) -> None:
    """Regression needs every value: say which are missing, and which models do without."""
    import numpy as np

    lost = rows.fold(_count_holes)
    if not lost.any():
        return
    worst = int(np.argmax(lost))
    sources = [column.source or column.name for column in rows.schema.columns]
    name = sources[worst]
    others = {sources[place] for place in np.flatnonzero(lost)} - {name}
    more = f" and {len(others)} other column{'s' * (len(others) > 1)}" if others else ""
    raise DataError(
        f"Column {name!r}{more}: {int(lost[worst]):,} of {len(rows):,} values are "
        "missing, and --model rare needs them all. Models that take holes as they are: --model "
        f"maxent, bayes or auto; or leave the column out with --drop {shell_word(name)}."
    )


def refuse_numbers(name: str, classes: tuple[Any, ...], labels: LabelFlags) -> None:
    """Refuse a column of measurements as labels, unless its classes were named."""
    numbers = sum(not isinstance(one, str) for one in classes)
    if numbers > MOST_NUMBERS and not labels.classes:
        raise DataError(
            f"Column {name!r} holds {numbers:,} different numbers ({classes[0]!s}, {classes[1]!s}, "
            f"{classes[2]!s}, ...), which looks like a measurement and no label. Name the column "
            "with the labels in --label; if these are classes, name each with --classes."
        )


def refuse_labels(chosen: str, rows: Any, counts: dict[str, Any]) -> None:
    """Refuse labels that a model cannot learn from, and name the one that can."""
    labelled = [name for name, n in counts["labelled"].items() if n]
    if chosen == "maxent" and len(labelled) == 1 and not counts["unlabelled"]:
        raise DataError(
            f"All {counts['rows']:,} rows are {labelled[0]}, and maxent learns how such rows "
            "differ from all others: there are none. Add rows without a label, such as places "
            "drawn from the whole area, and leave their label empty."
        )
    if chosen in ("rare", "bayes", "auto") and len(labelled) == 1:
        raise DataError(
            f"Only {labelled[0]} is ever labelled, and --model {chosen} learns from the difference "
            "of classes. For labels of one class: --model maxent."
        )
    if chosen == "rare" and len(rows.classes) > 2:
        raise DataError(
            f"There are {len(rows.classes)} classes, and --model rare is for two. Name the event "
            "with --positive and the others with --negative, or say --model bayes."
        )


def _count_holes(block: Any, _: Any) -> Any:
    import numpy as np

    labelled = block.labelled
    return np.isnan(block.X[labelled]).sum(axis=0)
