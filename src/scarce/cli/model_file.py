"""A model file and a table to score: probabilities part by part, for several verbs.

The model's own schema says which columns are read and how: text that spells numbers, categories and
code books are read as they were in training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.flags import warn
from scarce.cli.options import ambient_value, missing_values, verb_options
from scarce.errors import DataError, Problem, StoreError

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce.io.source import TableSource

MOST_COLUMNS = 10  # lines on columns that do not look as in training


@dataclass(frozen=True)
class LoadedModel:
    """A model from a file, and what it reads.

    Parameters
    ----------
    path : Path
    model : classifier
    schema : Schema
        Columns, code books and classes of the data that it learnt from.
    classes : tuple
        In the order of the probabilities; of two, the event last.
    watch : ColumnWatch, or None
        Takes note of the rows that are scored, where the model knows how its columns looked.
    missing_shares : list of arrays, or None
        Where it is a list, the share of missing source columns of each row is put there.
    strangers : dict of Counter
        The levels that came and that it does not know, where they are read as missing.
    """

    path: Path
    model: Any
    schema: Any
    classes: tuple[Any, ...]
    watch: Any = None
    missing_shares: list[Any] | None = None
    strangers: dict[str, Counter[Any]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that it needs."""
        sources: tuple[str, ...] = self.schema.sources
        return sources

    @property
    def numbers(self) -> list[str]:
        """Those of its columns that are numbers."""
        words = {
            column.source or column.name
            for column in self.schema.columns
            if any(isinstance(level, str) for level in column.levels)
        }
        return [name for name in self.columns if name not in words]

    @property
    def prob_names(self) -> list[str]:
        """What the columns of probabilities are called: prob, or prob_CLASS for several classes."""
        return ["prob"] if len(self.classes) == 2 else [f"prob_{name}" for name in self.classes]

    @property
    def base_rates(self) -> list[float] | None:
        """The base rates that its probabilities are for, None where it does not say."""
        from scarce import find_base_rates

        rates = find_base_rates(self.model).rates
        return None if rates is None else [float(rate) for rate in rates]

    @property
    def takes_rows(self) -> bool:
        """Whether it is of scarce through and through, and not around another's estimator."""
        inner = self.model
        while hasattr(inner, "estimator_") and type(inner).__module__.startswith("scarce."):
            inner = inner.estimator_
        return type(inner).__module__.startswith("scarce.")

    @property
    def kind(self) -> str:
        """The model's class, and what it wraps."""
        inner = getattr(self.model, "estimator_", None)
        name = type(self.model).__name__
        return name if inner is None else f"{name}({type(inner).__name__})"

    def prob(self, table: pa.Table, start: int = 0, *, find: Any = None, engine: Any = None) -> Any:
        """Return the probability of each class for the rows of an Arrow table: (n, K).

        `find` is the locator of the table that the rows are from, the first of them row `start`.
        """
        import numpy as np

        from scarce.engine.memory import ArrayRows
        from scarce.io.locate import located

        if table.num_rows == 0:
            return np.empty((0, len(self.classes)))
        try:
            with nullcontext() if find is None else located(find):
                X, _, _ = self.schema.code(table, start)
                self._refuse_missing(X, start)
                self._note_strangers(table)
                if self.watch is not None:
                    self.watch.add(X)
                self._note_missing(X)
                if not self.takes_rows:
                    return self._prob_of_another(X)
                rows = ArrayRows(X, schema=self.schema, engine=engine, check=False)
                return self.model.predict_proba(rows)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise _no_valid_model(self.path, self.model, error) from error

    def _note_missing(self, X: Any) -> None:
        """Put down the share of missing source columns of each row, where that is asked for."""
        if self.missing_shares is None:
            return
        from scarce.engine.memory import ArrayRows
        from scarce.evaluation.missing_share import missing_shares

        self.missing_shares.append(missing_shares(ArrayRows(X, schema=self.schema, check=False)))

    def _prob_of_another(self, X: Any) -> Any:
        """Return the probabilities of a model around another package's estimator.

        It gets the columns by name where it learnt them by name and pandas is installed.
        """
        import warnings

        import numpy as np

        if _found(self.model, "feature_names_in_") is not None:
            with suppress(ImportError):
                import pandas as pd

                X = pd.DataFrame(X, columns=list(self.schema.names))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(self.model.predict_proba(X), dtype=np.float64)

    def _refuse_missing(self, X: Any, start: int) -> None:
        """Say which values are missing when the model needs them all."""
        import numpy as np
        from sklearn.utils import get_tags

        if get_tags(self.model).input_tags.allow_nan or not np.isnan(X).any():
            return
        row, place = (int(one) for one in np.argwhere(np.isnan(X))[0])
        column = self.schema.columns[place]
        from scarce.io.locate import cell_error

        raise cell_error(
            "{place}: the value is missing, and {model} needs them all.",
            code="missing-values",
            column=column.source or column.name,
            row=start + row,
            model=self.kind,
            remedy="Fill it in, or fit a model that takes missing values: scarce fit --model "
            "maxent (or bayes).",
        )

    def stream(
        self,
        source: TableSource,
        keep: Sequence[str] = (),
        *,
        exact: bool = True,
        progress: Any = None,
    ) -> Iterator[tuple[Any, Any]]:
        """Walk a table: parts of it with the kept columns, and the probabilities of their rows.

        Parameters
        ----------
        source : TableSource
        keep : sequence of str
            Columns to hand on, beside the probabilities.
        exact : bool
            Whether text that is handed on stays as it is written.
        progress : callable (done, total), optional
        """
        for name in self.columns:
            self._need(source, name)
        asked = dict.fromkeys([*self.schema.missing, *missing_values(source.missing)])
        model = replace(self, schema=replace(self.schema, missing=tuple(asked)))
        wanted = list(dict.fromkeys([*self.columns, *keep]))
        handed_on = set(keep) & set(self.numbers) if exact or not source.is_text else set()
        numbers = [name for name in self.numbers if name not in handed_on]
        words = [name for name in self.columns if name not in self.numbers]
        start = 0
        for part in source.tables(wanted, numbers=numbers, exact=exact, progress=progress):
            read = source.without_blanks(part, words) if exact and source.is_text else part
            for name in handed_on:  # as it is written to whoever comes next, as a number here
                place = read.column_names.index(name)
                read = read.set_column(place, name, [source.numbers(part, name, start)])
            try:
                prob = model.prob(read, start, find=source.find)
            except DataError as error:
                raise self._with_way_out(error) from None
            yield part.select(list(keep)), prob
            start += part.num_rows

    def _note_strangers(self, table: pa.Table) -> None:
        """Count the levels that are read as missing because the model does not know them."""
        if self.schema.unknown != "missing":
            return
        from scarce.io.open import strangers

        for name, new in strangers(table, self.schema).items():
            self.strangers.setdefault(name, Counter()).update(new)

    def say_columns(self) -> None:
        """Say which columns of the scored rows are not like those of training, a line each."""
        if self.strangers:
            from scarce.io.open import strangers_remark

            warn(strangers_remark(self.strangers))
        if self.watch is None:
            return
        remarks = self.watch.remarks()
        for remark in remarks[:MOST_COLUMNS]:
            warn(remark.text)
        if len(remarks) > MOST_COLUMNS:
            others = [remark.column for remark in remarks[MOST_COLUMNS:]]
            some = ", ".join(map(repr, others[:3])) + ", ..." * (len(others) > 3)
            warn(
                "{count:,} more columns differ from training ({columns}): "
                "scarce.compare_columns(model, X) lists them all in Python.",
                code="columns-changed",
                count=len(others),
                columns=some,
            )

    def _with_way_out(self, error: DataError) -> DataError:
        """An unknown level can be read as missing only by a model, and a verb, that knows how."""
        if error.code != "unknown-level":
            return error
        remedy: str | tuple[str, ...] = error.problem.remedy
        if not self.model.__sklearn_tags__().input_tags.allow_nan:
            remedy = (
                "{model} needs a level that it knows: put one in its place, or fit again with rows "
                "of it. Models from --model maxent or bayes can take it as missing."
            )
        elif verb_options() and "unknown" not in verb_options():
            remedy = (
                "Take such levels as missing with scarce predict --unknown missing, and judge the "
                "column prob that it writes."
            )
        return error.amended(remedy=remedy, model=self.kind)

    def _need(self, source: TableSource, name: str) -> None:
        try:
            source.column(name)
        except DataError as error:
            raise error.amended(
                remedy=(*error.problem.remedy, "The model {model} reads: {columns}."),
                model=self.path.name,
                columns=", ".join(self.columns),
            ) from None


def not_converged(path: Path, report: Any) -> Problem:
    """Say that a fit ended before its certificate was reached."""
    return Problem(
        "{path}: the fit did not converge ({proves} {certificate:.2g} after {passes:,} passes), so "
        "its probabilities may be off.",
        code="not-converged",
        path=path,
        proves=report.proves,
        certificate=report.certificate,
        passes=report.passes,
        remedy="Check the features, or fit again with other settings: scarce fit.",
    )


def load_model(path: Path) -> LoadedModel:
    """Load a model file that can give probabilities; warn where its fit had not converged."""
    from scarce import load
    from scarce.io.profile import ColumnWatch
    from scarce.io.schema import Column, Schema

    model = load(path, trust=ambient_value("trust"))
    if not hasattr(model, "predict_proba"):
        raise DataError(
            "{path} holds a {kind}, which does not predict probabilities.",
            code="no-predict-proba",
            path=path,
            kind=type(model).__name__,
            remedy="Give a model from scarce fit.",
        )
    if not hasattr(model, "classes_"):
        raise DataError(
            "{path} holds a {kind} that was never fitted.",
            code="not-fitted",
            path=path,
            kind=type(model).__name__,
            remedy="Fit it: scarce fit.",
        )
    fields = _found(model, "schema_")
    if fields is not None:
        try:
            schema = Schema.from_dict(fields)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise _no_valid_model(path, model, error) from error
    else:
        names = _found(model, "feature_names_in_")
        if names is None:
            names = [f"x{place}" for place in range(model.n_features_in_)]
        schema = Schema(tuple(Column(str(name)) for name in names))
    named = _found(model, "feature_names_in_")
    if (fields is None and len(schema.columns) != model.n_features_in_) or (
        named is not None  # expanded ones in files of earlier versions
        and not {*map(str, named)} >= {*schema.sources}
        and list(schema.names) != [str(name) for name in named]
    ):
        raise _no_valid_model(
            path, model, ValueError("its schema and its features have different names")
        )
    report = _found(model, "report_")
    if not getattr(report, "converged", True):
        warn(not_converged(path, report))
    classes = tuple(value.item() if hasattr(value, "item") else value for value in model.classes_)
    profile = _found(model, "column_profile_")
    watch = None if profile is None else ColumnWatch(profile, schema.columns)
    schema = replace(schema, label=None, weight=None)
    return LoadedModel(Path(path), model, schema, classes, watch)


def _no_valid_model(path: Path, model: Any, error: Exception) -> StoreError:
    return StoreError(
        "{path!r}: not a valid {kind} ({error}: {reason}).",
        code="invalid-model",
        path=str(path),
        kind=type(model).__name__,
        error=type(error).__name__,
        reason=error,
        remedy="Fit it again: scarce fit.",
    )


def is_model(path: Path) -> bool:
    """Whether a path names a model file, by its ending or by what is inside.

    Examples
    --------
    >>> is_model(Path("m.scarce")), is_model(Path("no-such-file.csv"))
    (True, False)
    """
    if path.suffix == ".scarce":
        return True
    if str(path) == "-" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(9)
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 2**31


def _found(model: Any, name: str) -> Any:
    """Look for a fitted attribute on a model, then on the one that it wraps."""
    while model is not None:
        if hasattr(model, name):
            return getattr(model, name)
        model = getattr(model, "estimator_", None)
    return None
