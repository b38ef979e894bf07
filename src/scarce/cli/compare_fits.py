"""How are models fitted for a comparison? As `scarce fit` would, each reading the rows its own way.

    NAME or NAME:SETTING=VALUE:SETTING=VALUE         rare, rare:loss=probit:ridge=1, bayes

Regressions and Gaussians take categories as columns of 0 and 1, the others as codes; rows, labels,
weights and folds are the same for all. Judges nothing: see compare.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.judged import Judged
from scarce.cli.options import LabelFlags
from scarce.cli.output import say
from scarce.errors import DataError

if TYPE_CHECKING:
    from scarce.io.text import TextForm

MODELS = ("logistic", "rare", "maxent", "bayes", "auto")
SEVERAL = ("bayes", "maxent")  # take more than two classes
WIDENED = ("logistic", "rare", "bayes")  # take categories as columns of 0 and 1
LEVELS = re.compile("; if [^;]* all the same, pass max_levels=")
READING = ("--columns", "--drop", "--id", "--categories")


class Reading(NamedTuple):
    """Which columns are learnt from, as typed."""

    columns: tuple[str, ...]
    drop: tuple[str, ...]
    ids: tuple[str, ...]
    categories: tuple[str, ...]


class OpenedRows:
    """The rows of a file as models take them: categories as codes, or as columns of 0 and 1."""

    def __init__(
        self, data: Path, labels: LabelFlags, reading: Reading, apart: list[str], form: TextForm
    ) -> None:
        from scarce.cli.fit_choices import identifiers
        from scarce.io.source import open_table

        self.source = open_table(data, form)
        self.labels, self.form = labels, form
        for option, names in zip(READING, reading, strict=True):
            for name in names:
                self.source.column(name, option)
        gone = [*reading.drop, *reading.ids, *apart]
        found = [] if reading.columns else identifiers(self.source, labels, tuple(gone), ())
        gone += found
        self.ids = [*reading.ids, *found]
        self.reading = {
            "columns": list(reading.columns) or None,
            "drop": list(dict.fromkeys(gone)) or None,
            "categories": list(reading.categories),
        }
        self.held: dict[bool, Any] = {}

    def open(self, widened: bool) -> Any:
        """Return all rows, labelled or not."""
        from scarce.cli.fit import open_labelled

        if widened not in self.held:
            try:
                self.held[widened] = open_labelled(
                    self.source, self.labels, self.form, indicators=widened, **self.reading
                )[0]
            except DataError as error:  # no flag of this verb raises the limit of levels
                words, cut, _ = LEVELS.sub("\0", str(error)).partition("\0")
                raise DataError(words + ("." if cut else "")) from None
        return self.held[widened]

    def together(self, judged: Judged) -> Any:
        """Return the group of each row with a label, None where every row stands alone."""
        from scarce.cli.spoken_columns import columns_as_written, rows_together

        table = judged.table
        if self.ids:
            table = columns_as_written(self.source, self.ids)
            self._refuse_other_length(table.num_rows, judged)
        found = rows_together(table, judged.groups, self.ids)
        return None if found is None else found[judged.known]

    def labelled(self, widened: bool, judged: Judged) -> Any:
        """Return the rows with a label, with labels and weights as judged."""
        from dataclasses import replace

        from scarce.engine.memory import ArrayRows

        rows, known = self.open(widened), judged.known
        self._refuse_other_length(len(rows), judged)
        return ArrayRows(
            rows.map(_features)[known],
            judged.y[known],
            weight=None if judged.sample_weight is None else judged.sample_weight[known],
            schema=replace(rows.schema, classes=judged.classes),
            check=False,
        )

    def _refuse_other_length(self, count: int, judged: Judged) -> None:
        if count != len(judged.y):
            raise DataError(
                f"{judged.where} has {len(judged.y):,} rows as a table and {count:,} as rows to "
                "learn from: are there empty lines in it? Take them out."
            )


def _features(block: Any, _: Any) -> Any:
    return block.X


class ModelFit:
    """How a model is fitted, as `scarce fit` would; small, so that workers can be sent it.

    `holed` says whether values are missing in any row: in those left out, if not in the others.
    """

    def __init__(self, kind: str, settings: dict[str, Any], seed: int, *, holed: bool) -> None:
        self.kind, self.settings, self.seed, self.holed = kind, settings, seed, holed

    def __call__(self, rows: Any, groups: Any = None) -> Any:
        """Return the model, fitted to these rows; those of one group are kept together."""
        from scarce.cli.fit import said_clearly
        from scarce.cli.fit_choices import class_of

        cls = class_of("rare" if self.kind == "logistic" else self.kind)
        arguments = dict(self.settings)
        if self.kind == "logistic":
            arguments = {"loss": "logistic", **arguments}
        if "random_state" in cls().get_params(deep=False):
            arguments = {"random_state": self.seed, **arguments}
        if self.kind == "bayes" and not self.settings and len(rows.classes) > 2:
            arguments["covariance"] = "shrunk"
        if self.kind == "auto" and self.holed:
            arguments["members"] = ["boosting", "forest"]  # as `scarce fit` does
        if self.kind == "maxent" and "default_prevalence" not in arguments:
            arguments |= _labelled_shares(rows)
        with said_clearly(cls.__name__):
            return cls(**arguments).fit(rows, groups=groups)


def _labelled_shares(rows: Any) -> dict[str, Any]:
    """Shares of the classes among the labelled rows, as only these are judged here.

    Nothing where every row is labelled: maxent then takes the observed shares by itself.
    """
    counts, unlabelled = rows.label_counts()
    if not unlabelled:
        return {}
    shares = zip(rows.classes, (counts / counts.sum()).tolist(), strict=True)
    return {"default_prevalence": dict(shares)}


def read_model(name: str) -> tuple[str, dict[str, Any]]:
    """The kind of model and its settings, from NAME:SETTING=VALUE:..."""
    from scarce.cli.fit_choices import settings_of as read

    kind, *pairs = name.split(":")
    return kind, read("rare" if kind == "logistic" else kind, {}, tuple(pairs)) if pairs else {}


def suitable_models(judged: Judged, rows: Any, json: bool) -> list[str]:
    """The models that can be fitted to these rows, and why not the others."""
    if len(judged.classes) > 2:
        chosen, why = ["bayes", "maxent"], f"{len(judged.classes)} classes"
    elif has_holes(rows):
        chosen, why = ["bayes", "maxent", "auto"], "values are missing"
    else:
        return ["logistic", "rare", "bayes", "auto"]
    if not json:
        say(f"Compared are {', '.join(chosen)}, because {why}; --models settles it.")
    return chosen


def has_holes(rows: Any) -> bool:
    """Whether any value is missing."""
    return bool(rows.fold(_holes))


def _holes(block: Any, _: Any) -> int:
    """Kernel: how many values are missing."""
    import numpy as np

    return int(np.isnan(block.X).sum())
