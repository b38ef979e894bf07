"""What a problem is: a task with its size, how its rows are drawn, and what the same answer is.

An answer is a dictionary of arrays. `judge` gives each side's objective, and where the task is a
minimisation its certificate too, from the answer alone and by the same formula for every side. The
problems themselves are in problems.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import expit

from scarce.engine.block import block_rows

Array = NDArray[np.float64]
Answer = dict[str, Array]

SEED = 20260715
ROWS_AT_ONCE = 65536  # rows that the generator draws at a time; fixes the data, so never changed


@dataclass(frozen=True)
class Data:
    """Where a problem's data lie on disk; sides load what they need before the clock starts."""

    folder: Path
    coef: Array

    def arrays(self) -> tuple[Array, Array]:
        """Return X and y in memory of this process."""
        return np.load(self.folder / "X.npy"), np.load(self.folder / "y.npy")

    def mapped(self) -> tuple[Array, Array]:
        """Return X and y without reading them yet."""
        return np.load(self.folder / "X.npy", mmap_mode="r"), np.load(self.folder / "y.npy")

    @property
    def parquet(self) -> Path:
        """The same rows as a Parquet file, label column y."""
        return self.folder / "rows.parquet"

    @property
    def cache(self) -> Path:
        """Folder for the decoded copy."""
        return self.folder / "cache"


@dataclass(frozen=True)
class Problem:
    """A task, its size, how its rows are drawn and how answers are compared."""

    name: str
    title: str
    rows: int
    columns: int
    draw: Callable[[int, int, np.random.Generator], tuple[Array, Array]]
    objective: Callable[[Answer, int], float] | None
    tolerance: float
    calls: int = 1  # how often the task runs within one timing
    in_file: bool = True  # whether sides that read files take part
    limit: float | None = None  # largest certificate that counts as solved
    opens: bool = False  # whether opening the file, with what that decodes, is part of the task
    certificate_name: str = "gradient per row"  # as tables call it

    def missing(self) -> str | None:
        """Return what keeps the problem from being run, if anything does."""
        return None

    def coef(self, columns: int) -> Array:
        """Return the coefficients at which a pass is evaluated."""
        return np.linspace(-0.3, 0.3, columns)

    def make(self, folder: Path, rows: int) -> Data:
        """Write the data, the same for a seed whatever the machine's memory."""
        folder.mkdir(parents=True, exist_ok=True)
        X = np.lib.format.open_memmap(
            folder / "X.npy", mode="w+", dtype=np.float64, shape=(rows, self.columns)
        )
        y = np.empty(rows)
        rng = np.random.default_rng(SEED)
        for first in range(0, rows, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, rows)
            X[first:last], y[first:last] = self.draw(last - first, self.columns, rng)
        np.save(folder / "y.npy", y)
        X.flush()
        data = Data(folder, self.coef(self.columns))
        if self.in_file:
            self._write_parquet(data, X, y)
        return data

    def _write_parquet(self, data: Data, X: Array, y: Array) -> None:
        names = [f"x{j}" for j in range(self.columns)]
        schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
        size = block_rows(self.columns)  # row groups of a block: the same sums in the same order
        with pq.ParquetWriter(data.parquet, schema, compression="zstd") as writer:
            for first in range(0, len(y), size):
                part = [pa.array(column) for column in X[first : first + size].T]
                part.append(pa.array(y[first : first + size]))
                writer.write_table(pa.table(part, schema=schema), row_group_size=size)

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return the objective of an answer per row, and its certificate where there is one."""
        assert self.objective is not None
        return self.objective(answer, len(np.load(data.folder / "y.npy", mmap_mode="r"))), None

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the largest relative difference: per array, in units of its largest value."""
        if answer.keys() != reference.keys():
            return float("inf")
        worst = 0.0
        for name, wanted in reference.items():
            found = np.asarray(answer[name])
            if found.shape != wanted.shape or not np.isfinite(found).all():
                return float("inf")
            scale = float(np.abs(wanted).max()) or 1.0
            worst = max(worst, float(np.abs(found - wanted).max()) / scale)
        return worst

    def solved(self, certificate: float | None) -> bool:
        """Say whether a certificate is good enough to compare times at all."""
        return self.limit is None or (certificate is not None and certificate <= self.limit)

    def same(self, answer: Answer, reference: Answer) -> bool:
        """Say whether two sides found the same answer."""
        return self.difference(answer, reference) <= self.tolerance


def draw_logistic(rows: int, columns: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw normal features and a rare label, about 4 % positive, that depends on them."""
    X = rng.standard_normal((rows, columns))
    prob = expit(X @ np.linspace(0.2, -0.2, columns) - 3.5)
    return X, (rng.random(rows) < prob).astype(np.float64)
