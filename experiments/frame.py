"""How a repeated experiment is written down: the paper's value, ours, and why they differ.

Each row of a table is a Comparison. Results are stored as canonical JSON with what is needed to
make them again (command, seed, versions) and as a Markdown table made from that file. Assumes that
`ours` is a mean over independent repeats where it has a standard error. Judges nothing.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

import scarce

FOLDER = Path(__file__).resolve().parent
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Comparison:
    """One number of a paper beside ours.

    Parameters
    ----------
    quantity : str
        What the number is.
    paper : float or None
        As printed; None where the paper prints none.
    ours : float
        Our value.
    standard_error : float
        Of ours over the repeats; 0 for a closed form.
    repeats : int
        Independent repeats behind ours.
    why : str
        Why the two differ, or may.
    """

    quantity: str
    paper: float | None
    ours: float
    standard_error: float
    repeats: int
    why: str

    def __post_init__(self) -> None:
        if not math.isfinite(self.ours) or not self.standard_error >= 0 or self.repeats < 1:
            raise ValueError(
                f"{self.quantity}: ours={self.ours}, standard_error={self.standard_error}, "
                f"repeats={self.repeats}. Give a finite value, an error of at least 0 and at "
                "least one repeat."
            )
        if not self.why.strip():
            raise ValueError(f"{self.quantity}: say why the values differ, or may.")


@dataclass(frozen=True)
class Results:
    """What one experiment found, and how to find it again."""

    name: str
    title: str
    command: str
    seed: int
    versions: dict[str, str]
    comparisons: tuple[Comparison, ...]


def over_repeats(
    quantity: str, paper: float | None, values: Sequence[float], why: str
) -> Comparison:
    """Make a row from independent repeats: their mean and its standard error."""
    found = np.asarray(values, dtype=np.float64)
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
    return Comparison(quantity, paper, float(found.mean()), error, len(found), why)


def results_of(name: str, title: str, seed: int, comparisons: Sequence[Comparison]) -> Results:
    """Put rows together with the command and versions that made them."""
    return Results(
        name=name,
        title=title,
        command=f"python -m experiments.run {name}",
        seed=seed,
        versions={
            "numpy": np.__version__,
            "python": platform.python_version(),
            "scarce": scarce.__version__,
            "scipy": scipy.__version__,
        },
        comparisons=tuple(comparisons),
    )


def to_json(results: Results) -> str:
    """Return the one text that these results are written as."""
    return json.dumps(asdict(results), sort_keys=True, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Results:
    """Return the results written as this text."""
    held: dict[str, Any] = json.loads(text)
    held["comparisons"] = tuple(Comparison(**row) for row in held["comparisons"])
    return Results(**held)


def write_results(results: Results, folder: Path, page: str | None = None) -> None:
    """Write results.json, and results.md: the table, or the experiment's own page."""
    text = table_of(results) if page is None else page
    (folder / "results.json").write_text(to_json(results), encoding="utf-8")
    (folder / "results.md").write_text(text, encoding="utf-8")


def read_results(folder: Path) -> Results:
    """Read results.json."""
    return from_json((folder / "results.json").read_text(encoding="utf-8"))


def table_of(results: Results) -> str:
    """Return the results as a Markdown table."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    lines = [
        f"# {results.title}",
        "",
        f"`{results.command}`, seed {results.seed}; {versions}.",
        "",
        "| quantity | paper | ours | standard error | repeats | why they differ |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in results.comparisons:
        paper = "not printed" if row.paper is None else f"{row.paper:g}"
        error = f"{row.standard_error:.2g}" if row.standard_error else "-"
        lines.append(
            f"| {row.quantity} | {paper} | {row.ours:.4g} | {error} | {row.repeats} | {row.why} |"
        )
    return "\n".join(lines) + "\n"


def class_folds(
    y: NDArray[Any], cv: float, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return pairs (train, test) at random within each class of 0 and 1, in the order of the rows.

    `cv` is a number of folds, or the share of rows of a single validation part.

    Examples
    --------
    >>> [(len(train), len(test)) for train, test in class_folds(np.arange(20) % 2, 4, 0)]
    [(14, 6), (14, 6), (16, 4), (16, 4)]
    >>> [(len(train), len(test)) for train, test in class_folds(np.arange(20) % 2, 0.3, 0)]
    [(14, 6)]
    """
    rng = np.random.default_rng(seed)
    fewest = int(min(np.count_nonzero(y == label) for label in (0, 1)))
    number = int(min(cv, fewest)) if cv >= 1 else 2
    ids = np.empty(len(y), dtype=np.intp)
    for label in (0, 1):
        own = np.flatnonzero(y == label)
        parts = np.arange(len(own)) % number
        if cv < 1:
            held = min(max(round(cv * len(own)), 1), len(own) - 1)
            parts = (np.arange(len(own)) < held).astype(np.intp)
        ids[own] = rng.permutation(parts)
    held_out = range(number) if cv >= 1 else [1]
    return [(np.flatnonzero(ids != part), np.flatnonzero(ids == part)) for part in held_out]
