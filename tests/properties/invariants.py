"""What must not change a model: every public estimator under every change that says nothing new.

    python -m tests.properties.invariants           prints the largest deviation found per cell
    python -m tests.properties.invariants --write   writes the promises into docs/invariants.md

A model is fitted twice, to some rows and to the same rows in another form, and predicts new rows in
the same form; the deviation is the largest absolute difference of a probability. `PROMISES` states
per estimator and change how large it may be, or why nothing is promised. One data set with a known
seed: this finds what depends on the form of the data, not what depends on the data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone

import scarce
from scarce import open_rows
from scarce.engine.memory import ArrayRows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "invariants.md"
BEGIN, END = "<!-- table: make invariants -->", "<!-- end -->"


@dataclass(frozen=True)
class Data:
    """Rows to fit and new rows to predict; columns are numbers, the last may be a category."""

    X: np.ndarray  # (n, k)
    y: np.ndarray  # (n,): 1 event, 0 none, NaN not labelled
    new: np.ndarray  # (m, k)
    weight: np.ndarray | None = None
    town: np.ndarray | None = None  # (n,) category of each row, and of the new ones
    new_town: np.ndarray | None = None
    levels: tuple[str, ...] | None = None  # the towns in the order of their codes
    names: tuple[Any, Any] = (0, 1)  # what the classes are called: no event, event
    engine: str | None = None
    starts: tuple[int, ...] | None = None  # where blocks begin

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Data:
        """Return the data with the columns of both tables changed."""
        return replace(self, X=change(self.X), new=change(self.new))

    def rows(self, chosen: np.ndarray) -> Data:
        """Return the data with the rows to fit chosen by position, repeats and all."""
        weight = None if self.weight is None else self.weight[chosen]
        town = None if self.town is None else self.town[chosen]
        return replace(self, X=self.X[chosen], y=self.y[chosen], weight=weight, town=town)


@cache
def data_of(kind: str) -> Data:
    """Draw 160 rows with 3 columns of which two matter; `kind` says which labels are known."""
    rng = np.random.default_rng(20261118)
    n, m = 160, 40
    X, new = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    town = rng.integers(0, 3, n + m)
    score = 1.2 * X[:, 0] - 0.8 * X[:, 1] - 1.0 + 0.7 * (town[:n] == 1)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    if kind == "presences":
        y[y == 0] = np.nan
    elif kind == "scores":
        y[20:] = np.nan
        X[:, 0] += 2.5 * (score > 1.0)
    elif kind == "some":
        y[rng.random(n) < 0.3] = np.nan
    names = np.array(["Bonn", "Jena", "Ulm"])
    return Data(X, y, new, town=names[town[:n]], new_town=names[town[n:]])


# --- fits -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An estimator of the table and what it takes."""

    name: str
    estimator: Any
    labels: str = "all"  # "all", "presences" (the rest is not labelled), "some"
    missing: bool = False  # takes missing values
    chooses: tuple[str, ...] = ()  # the attributes that hold what it chose on rows left out
    # Where a fit takes a second: settings with which the tests look at one form of each change.
    quick: tuple[tuple[str, int], ...] = ()


CASES = (
    Case(
        "RareClassifier()",
        scarce.RareClassifier(),
        missing=True,
        chooses=("ridge_",),
    ),
    Case(
        "RareClassifier: logistic, ridge 1",
        scarce.RareClassifier("logistic", ridge=1.0),
        missing=True,
    ),
    Case(
        "RareClassifier: logistic, no ridge",
        scarce.RareClassifier("logistic", ridge=0),
        missing=True,
    ),
    Case(
        "RareClassifier: GEV with log loss, no ridge",
        scarce.RareClassifier("gev-log", shape=0.3, ridge=0, tol=1e-12),
        missing=True,
    ),
    Case(
        "RareClassifier: Firth (flic)",
        scarce.RareClassifier("logistic", ridge=0, bias_reduction="flic"),
    ),
    Case(
        "RareClassifier: lasso",
        scarce.RareClassifier("logistic", penalty="lasso"),
        chooses=("ridge_",),
    ),
    Case(
        "AutoClassifier()",
        scarce.AutoClassifier(),
        missing=True,
        quick=(("cv", 3), ("repeats", 1)),
    ),
    Case(
        "AutoClassifier: trees only",
        scarce.AutoClassifier(["boosting", "forest"]),
        missing=True,
        quick=(("cv", 3), ("repeats", 2)),
    ),
    Case("MaxentClassifier()", scarce.MaxentClassifier(), "presences", True),
    Case("MaxentClassifier: robust", scarce.MaxentClassifier("robust"), "some", True),
    Case(
        "MaxentClassifier: width chosen",
        scarce.MaxentClassifier(width_scale="auto", width_scales=(3.0, 1.0, 0.3)),
        "presences",
        True,
        ("width_scale_",),
    ),
    Case("GaussianBayes()", scarce.GaussianBayes(), missing=True),
    Case("GaussianBayes: shared", scarce.GaussianBayes("shared"), missing=True),
    Case("GaussianBayes: full", scarce.GaussianBayes("full"), missing=True),
    Case("GaussianBayes: shrunk", scarce.GaussianBayes("shrunk"), missing=True),
    Case(
        "GaussianBayes: unlabelled rows used",
        scarce.GaussianBayes("full", unlabelled="use", calibrate=False, tol=1e-12),
        "some",
        True,
    ),
    Case(
        "PriorCorrected: logistic",
        scarce.PriorCorrected(scarce.RareClassifier("logistic", ridge=0), prior=0.05),
    ),
    Case(
        "Calibrated: platt", scarce.Calibrated(scarce.RareClassifier("logistic", ridge=0), "platt")
    ),
    Case(
        "CostSensitiveClassifier: GaussianBayes",
        scarce.CostSensitiveClassifier(scarce.GaussianBayes()),
        missing=True,
    ),
    Case("ScoreMixture()", scarce.ScoreMixture(), "scores"),
)


def quick(case: Case) -> Case:
    """Return the case with the settings of the tests."""
    settings = dict(case.quick)
    return replace(case, estimator=clone(case.estimator).set_params(**settings))


def fitted(case: Case, data: Data) -> Any:
    """Return the case's estimator, fitted to the rows."""
    model = clone(case.estimator)
    if data.engine is not None:
        model.set_params(**{_engine(model): data.engine})
    if case.labels == "scores":
        return model.fit(data.X[:, 0], data.y)
    if data.town is not None:
        table = _table(data.X, data.town, data.y)
        rows = open_rows(table, label="y")
        if data.levels is not None:
            town = replace(rows.schema.columns[-1], levels=data.levels)
            columns = (*rows.schema.columns[:-1], town)
            rows = open_rows(table, like=replace(rows.schema, columns=columns))
        return model.fit(rows)
    if data.starts is not None:
        return model.fit(ArrayRows(data.X, data.y, classes=data.names, starts=data.starts))
    return model.fit(data.X, _labels(data), sample_weight=data.weight)


def probabilities(case: Case, data: Data) -> np.ndarray:
    """Fit the rows and return the probability of the event for the new ones."""
    model = fitted(case, data)
    if case.labels == "scores":
        return model.posterior(data.new[:, 0])
    new = data.new
    if data.town is not None:
        new = open_rows(_table(data.new, data.new_town))
    elif data.starts is not None:
        new = ArrayRows(data.new)
    return model.predict_proba(new)[:, list(model.classes_).index(data.names[1])]


def _engine(model: Any) -> str | None:
    """The parameter that says who runs the blocks, of the model or of the one inside."""
    names = [name for name in model.get_params() if name.split("__")[-1] == "engine"]
    return names[0] if names else None


def _table(X: np.ndarray, town: np.ndarray, y: np.ndarray | None = None) -> pa.Table:
    columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    columns["town"] = town
    if y is not None:
        columns["y"] = pa.array(y, from_pandas=True)
    return pa.table(columns)


def _labels(data: Data) -> np.ndarray:
    """The labels by their names; those that are not known are missing values."""
    known = ~np.isnan(data.y)
    if known.all():
        return np.array(data.names)[data.y.astype(int)]
    if isinstance(data.names[0], str):
        texts = np.array([*data.names, None], dtype=object)
        return texts[np.where(known, data.y, 2).astype(int)]
    return data.y


@cache
def base(case: Case, categories: bool = False) -> np.ndarray:
    """The probabilities of the rows as they are."""
    return probabilities(case, plain(case, categories))


def plain(case: Case, categories: bool = False) -> Data:
    """The case's rows; with the category only where that is what is changed."""
    data = data_of(case.labels)
    return data if categories else replace(data, town=None, new_town=None)


# --- changes --------------------------------------------------------------------------------------

Change = Callable[[Case, Data], list[Data]]


def units(case: Case, data: Data) -> list[Data]:
    """Columns in thousandths, thousands and millions, together and each in its own."""
    sizes = (1e-3, 1e3, 1e6, np.array([1e6, 1.0, 1e-3]))
    return [data.each(lambda X, s=s: X * s) for s in sizes]


def shifts(case: Case, data: Data) -> list[Data]:
    """Columns counted from another zero."""
    return [data.each(lambda X: X + np.array([1000.0, -50.0, 3.0]))]


def row_order(case: Case, data: Data) -> list[Data]:
    """Rows shuffled."""
    order = np.random.default_rng(1).permutation(len(data.X))
    return [data.rows(order), data.rows(np.arange(len(data.X))[::-1])]


def column_order(case: Case, data: Data) -> list[Data]:
    """Columns shuffled."""
    return [data.each(lambda X, o=o: X[:, o]) for o in ([2, 0, 1], [1, 0, 2])]


def constant_column(case: Case, data: Data) -> list[Data]:
    """A further column with one value."""
    return [data.each(lambda X, v=v: np.column_stack([X, np.full(len(X), v)])) for v in (0.0, 3.7)]


def label_names(case: Case, data: Data) -> list[Data]:
    """Classes named by words in the same order."""
    return [replace(data, names=("no", "yes"))]


def label_order(case: Case, data: Data) -> list[Data]:
    """Classes named by words in the other order: the event comes first."""
    return [replace(data, names=("other", "event"))]


def absent_column(case: Case, data: Data) -> list[Data]:
    """A further column in which every value is missing."""
    return [data.each(lambda X: np.column_stack([X, np.full(len(X), np.nan)]))]


def category_codes(case: Case, data: Data) -> list[Data]:
    """Levels of a category in another order in the code book."""
    return [
        replace(data, levels=held) for held in (("Ulm", "Bonn", "Jena"), ("Jena", "Ulm", "Bonn"))
    ]


def category_names(case: Case, data: Data) -> list[Data]:
    """Levels of a category renamed."""
    found = []
    for names in (("Ulm", "Bonn", "Jena"), ("Aachen", "Zell", "Erfurt")):
        name_of = dict(zip(("Bonn", "Jena", "Ulm"), names, strict=True))
        towns = (np.array([name_of[one] for one in held]) for held in (data.town, data.new_town))
        found.append(replace(data, **dict(zip(("town", "new_town"), towns, strict=True))))
    return found


def engine(case: Case, data: Data) -> list[Data]:
    """Threads instead of one."""
    return [replace(data, engine="threads")]


def block_size(case: Case, data: Data) -> list[Data]:
    """Rows in blocks of 37."""
    return [replace(data, starts=(*range(0, len(data.X), 37), len(data.X)))]


def _doubled(data: Data) -> Data:
    """Some rows with the weight 2: every third."""
    return replace(data, weight=np.where(np.arange(len(data.X)) % 3 == 0, 2.0, 1.0))


def weight_two(case: Case) -> float:
    """A weight of 2 is the row twice."""
    data = _doubled(plain(case))
    assert data.weight is not None
    repeated = data.rows(np.repeat(np.arange(len(data.X)), data.weight.astype(int)))
    there = probabilities(case, replace(repeated, weight=None))
    return _apart(there, probabilities(case, data))


def rows_twice(case: Case) -> float:
    """Every row twice is every row once."""
    data = plain(case)
    there = probabilities(case, data.rows(np.tile(np.arange(len(data.X)), 2)))
    return _apart(there, base(case))


def settings_twice(case: Case) -> float:
    """Every row twice leaves the settings chosen as they are; largest relative change."""
    data = plain(case)
    twice = data.rows(np.tile(np.arange(len(data.X)), 2))
    one, other = (
        np.array([np.asarray(getattr(fitted(case, held), name)) for name in case.chooses])
        for held in (data, twice)
    )
    return _apart(one / other, np.ones_like(one))


CHANGES: dict[str, Change] = {
    "units": units,
    "shifts": shifts,
    "row order": row_order,
    "column order": column_order,
    "constant column": constant_column,
    "label names": label_names,
    "label order": label_order,
    "absent column": absent_column,
    "category codes": category_codes,
    "category names": category_names,
    "engine": engine,
    "block size": block_size,
}
PAIRS: dict[str, Callable[[Case], float]] = {
    "weight 2 = row twice": weight_two,
    "every row twice": rows_twice,
    "twice: settings": settings_twice,
}
COLUMNS = (*CHANGES, *PAIRS)


def deviation(case: Case, change: str, *, every: bool = True) -> float:
    """Return the largest change of a probability, over every form of a change or the last one."""
    if change in PAIRS:
        return PAIRS[change](case)
    categories = change in ("category codes", "category names")
    forms = CHANGES[change](case, plain(case, categories))[0 if every else -1 :]
    return max(_apart(probabilities(case, form), base(case, categories)) for form in forms)


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max())


# --- promises -------------------------------------------------------------------------------------

SAME_BITS = 0.0
# What holds unless an estimator is named below: rounding, with room for other processors.
USUAL = dict.fromkeys(COLUMNS, 1e-9) | {"label names": SAME_BITS, "engine": SAME_BITS}

MORE = "more rows say more: the prior or penalty keeps its weight"
NARROWER = "boxes narrow with the square root of the number of labels"
SECOND = "the event is the second class, and the link is not symmetric"
NO_MISSING = "takes no missing values"
NOTHING_CHOSEN = "chooses no settings"
BESIDE_THE_SUM = "ridge_ stands beside a sum over rows, so it doubles; predictions are the same"

# Where something else is promised: a number, or the reason why nothing is.
OTHERWISE: dict[tuple[str, str], float | str] = {
    ("RareClassifier()", "label order"): SECOND,
    ("RareClassifier()", "twice: settings"): BESIDE_THE_SUM,
    ("RareClassifier: lasso", "twice: settings"): BESIDE_THE_SUM,
    ("RareClassifier: logistic, ridge 1", "every row twice"): MORE,
    ("RareClassifier: GEV with log loss, no ridge", "label order"): SECOND,
    ("RareClassifier: Firth (flic)", "every row twice"): MORE,
    ("MaxentClassifier()", "every row twice"): NARROWER,
    ("MaxentClassifier: robust", "every row twice"): NARROWER,
    ("MaxentClassifier: width chosen", "every row twice"): NARROWER,
    ("GaussianBayes()", "every row twice"): MORE,
    ("GaussianBayes: shared", "every row twice"): MORE,
    ("GaussianBayes: full", "every row twice"): MORE,
    ("GaussianBayes: shrunk", "every row twice"): MORE,
    ("CostSensitiveClassifier: GaussianBayes", "every row twice"): MORE,
    ("PriorCorrected: logistic", "label order"): "prior= is the share of the second class",
    ("Calibrated: platt", "every row twice"): MORE,
    ("ScoreMixture()", "every row twice"): MORE,
}
# EM stops at a small gradient, on another way where columns or rows stand in another order.
for _change in COLUMNS:
    if USUAL[_change] != SAME_BITS:
        OTHERWISE["GaussianBayes: unlabelled rows used", _change] = 1e-7
# These choose on rows left out, and folds are drawn by content, names of levels included.
for _name in (
    "RareClassifier()",
    "RareClassifier: lasso",
    "AutoClassifier()",
    "AutoClassifier: trees only",
    "MaxentClassifier: width chosen",
    "Calibrated: platt",
    "GaussianBayes()",
    "GaussianBayes: shared",
    "GaussianBayes: full",
    "GaussianBayes: shrunk",
    "CostSensitiveClassifier: GaussianBayes",
):
    OTHERWISE[_name, "category names"] = "other names of levels are another draw of folds"
OF_SCORES = ("units", "shifts", "row order", "engine", "every row twice")


def promise(case: Case, change: str) -> float | str:
    """Return the largest deviation that is allowed, or why none is promised."""
    if case.labels == "scores" and change not in OF_SCORES:
        return "one column of scores, without weights"
    if change == "absent column" and not case.missing:
        return NO_MISSING
    if change == "twice: settings" and not case.chooses:
        return NOTHING_CHOSEN
    return OTHERWISE.get((case.name, change), USUAL[change])


# --- the table ------------------------------------------------------------------------------------


def table(found: dict[tuple[str, str], float] | None = None) -> str:
    """Return the promises as a Markdown table, or what was found beside them."""
    reasons: list[str] = []
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for case in CASES:
        cells = [_cell(case, change, reasons, found) for change in COLUMNS]
        lines.append(f"| {case.name} | " + " | ".join(cells) + " |")
    notes = [f"{_letter(k)}: {reason}." for k, reason in enumerate(reasons)]
    return "\n".join([*lines, "", "Not promised: " + " ".join(notes)])


def _cell(
    case: Case, change: str, reasons: list[str], found: dict[tuple[str, str], float] | None
) -> str:
    held = promise(case, change)
    if isinstance(held, str):
        if held not in reasons:
            reasons.append(held)
        return f"- {_letter(reasons.index(held))}"
    stated = "same bits" if held == SAME_BITS else f"{held:.0e}"
    if found is None:
        return stated
    one = found[case.name, change]
    return f"{one:.0e} ({stated})" + ("" if one <= held else " TOO LARGE")


def _letter(k: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[k]


def page(text: str) -> str:
    """Return the page with its table made anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def main(arguments: list[str]) -> int:
    """Print what is found in every cell, or write the promises into the page."""
    if arguments == ["--write"]:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    found = {
        (case.name, change): deviation(case, change)
        for case in CASES
        for change in COLUMNS
        if not isinstance(promise(case, change), str)
    }
    print(table(found))
    broken = [key for key, one in found.items() if one > promise(*_named(key))]
    return 1 if broken else 0


def _named(key: tuple[str, str]) -> tuple[Case, str]:
    return next(case for case in CASES if case.name == key[0]), key[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
