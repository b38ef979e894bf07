"""What one would otherwise write: the same jobs with pyarrow, pandas and polars, as whole programs.

    python -m benchmarks.table_rivals JOB INPUT [OUTPUT [MODEL]]

Jobs that only read are yardsticks: no program that reads the same table can need less. The others
write the file that the command line writes. MODEL is JSON with columns, coef and intercept of a
logistic regression. Everything is read part by part, in memory that does not grow with the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FALSE_ALARM, MISS = 5.0, 400.0  # what the two mistakes cost; the command line is told the same
THRESHOLD = 2.5
CHUNK_ROWS = 100_000


def read_arrow(path: str, columns: list[str] | None = None) -> Iterator[Any]:
    """Walk the parts of a table with pyarrow's streaming reader, as it comes."""
    from pyarrow import csv

    chosen = csv.ConvertOptions(include_columns=columns) if columns else None
    with csv.open_csv(path, convert_options=chosen) as reader:
        yield from reader


def arrow_reads(path: str) -> None:
    """Read all columns and do nothing with them."""
    print(sum(batch.num_rows for batch in read_arrow(path)))


def arrow_reads_scores(path: str) -> None:
    """Read scores and labels and do nothing with them."""
    print(sum(batch.num_rows for batch in read_arrow(path, ["score", "label"])))


def arrow_predicts(path: str, out: str, model: str) -> None:
    """Probabilities by pyarrow and NumPy: about the least that a program in Python can do."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    columns, coef, intercept = read_model(model)
    schema = pa.schema([("id", pa.int64()), ("prob", pa.float64())])
    with csv.CSVWriter(out, schema) as writer:
        for batch in read_arrow(path, ["id", *columns]):
            X = np.column_stack([batch.column(name).to_numpy() for name in columns])
            prob = pa.array(1.0 / (1.0 + np.exp(-(X @ coef + intercept))))
            writer.write(pa.record_batch([batch.column("id"), prob], schema=schema))


def pandas_predicts(path: str, out: str, model: str, *, decides: bool = False) -> None:
    """Probabilities, and actions where asked for, chunk by chunk with pandas."""
    import numpy as np
    import pandas as pd

    columns, coef, intercept = read_model(model)
    for place, chunk in enumerate(pd.read_csv(path, chunksize=CHUNK_ROWS)):
        prob = 1.0 / (1.0 + np.exp(-(chunk[columns].to_numpy() @ coef + intercept)))
        table = chunk[["id"]].assign(prob=prob)
        if decides:
            table = with_actions(table)
        _append(table, out, place)


def pandas_predicts_and_decides(path: str, out: str, model: str) -> None:
    """Probabilities and actions in one program."""
    pandas_predicts(path, out, model, decides=True)


def pandas_decides(path: str, out: str) -> None:
    """Actions for given probabilities, chunk by chunk with pandas."""
    import pandas as pd

    for place, chunk in enumerate(pd.read_csv(path, chunksize=CHUNK_ROWS)):
        _append(with_actions(chunk), out, place)


def with_actions(table: Any) -> Any:
    """Add the cheaper action and what it is expected to cost."""
    import numpy as np

    prob = table["prob"].to_numpy()
    passing, acting = MISS * prob, FALSE_ALARM * (1.0 - prob)
    action = np.where(acting < passing, "act", "pass")
    return table.assign(action=action, expected_cost=np.minimum(passing, acting))


def pandas_counts(path: str) -> None:
    """Count rows, alerts and events among them, chunk by chunk with pandas: no estimate."""
    import pandas as pd

    rows = alerts = events = 0
    for chunk in pd.read_csv(path, usecols=["score", "label"], chunksize=CHUNK_ROWS):
        rows += len(chunk)
        alerts += int((chunk["score"] >= THRESHOLD).sum())
        events += int((chunk["label"] == 1).sum())
    print(json.dumps({"rows": rows, "alerts": alerts, "events_seen": events}))


def polars_predicts(path: str, out: str, model: str) -> None:
    """Probabilities by a lazy query of polars, which streams."""
    import polars as pl

    columns, coef, intercept = read_model(model)
    terms = (float(value) * pl.col(name) for name, value in zip(columns, coef, strict=True))
    score = sum(terms, pl.lit(float(intercept)))
    prob = (1.0 / (1.0 + (-score).exp())).alias("prob")
    pl.scan_csv(path).select("id", prob).sink_csv(out)


def read_model(path: str) -> tuple[list[str], Any, float]:
    """Return columns, coefficients and intercept."""
    import numpy as np

    held = json.loads(Path(path).read_text())
    return held["columns"], np.array(held["coef"]), held["intercept"]


def _append(table: Any, out: str, place: int) -> None:
    table.to_csv(out, mode="a" if place else "w", header=place == 0, index=False)


JOBS: dict[str, Callable[..., None]] = {
    "arrow-reads": arrow_reads,
    "arrow-reads-scores": arrow_reads_scores,
    "arrow-predicts": arrow_predicts,
    "pandas-predicts": pandas_predicts,
    "pandas-predicts-and-decides": pandas_predicts_and_decides,
    "pandas-decides": pandas_decides,
    "pandas-counts": pandas_counts,
    "polars-predicts": polars_predicts,
}


if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
