"""`scarce demo`: one small story from a table with holes to honest probabilities.

Everything is simulated, so the truth is known and every claim can be checked against it.
"""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import Any

import click

from scarce.cli.output import emit, json_option, say, seed_option, table

FRAUD_SHARE = 0.015
REVEALED = (0.02, 0.6)  # of the honest, of the frauds
HOLES = 0.15


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the data, the model, the probabilities and the picture.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=2000),
    default=60_000,
    show_default=True,
    help="Rows per month.",
)
@seed_option
@json_option
def demo(out: Path, rows: int, seed: int, json: bool) -> None:
    """Go from a table with holes to honest probabilities, simulated.

    A bank learns from one month in which most frauds but few honest payments were ever labelled and
    every seventh value is missing, and meets the next month. Simulated, so the truth is known.

    \b
    scarce demo
    scarce demo --out somewhere --seed 7 --json
    """
    begin = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    story = _Story(out, rows, seed)
    _step(1, f"Simulating two months of {rows:,} payments, {FRAUD_SHARE:.1%} of them fraud.")
    story.simulate()
    _step(
        2,
        f"Last month as the bank knows it: {story.labelled:,} of {rows:,} rows labelled, "
        f"{story.frauds_labelled:,} of those fraud ({story.trained_at:.0%}); {HOLES:.0%} of the "
        f"values missing. Written to {story.data}.",
    )
    story.learn()
    _step(3, f"Opened {story.opened} and fitted GaussianBayes: {story.model.report_}.")
    story.predict()
    _step(
        4,
        "The labelled rows over-represent fraud, so the model does too. An audit knows the true "
        f"share, {FRAUD_SHARE:.1%}: correct_prior moves every probability there.",
    )
    picture = story.draw()
    figures = story.figures()
    figures["seconds"] = round(time.perf_counter() - begin, 2)
    emit(figures, json=json, show=lambda: _show(figures))
    say(f"\nIn {out}: {', '.join(path.name for path in story.files)}")
    if picture is None:
        say("No picture: matplotlib is not installed. Run: pip install 'scarce[plot]'")


class _Story:
    def __init__(self, out: Path, rows: int, seed: int) -> None:
        self.out, self.rows, self.seed = out, rows, seed
        self.data = out / "payments.parquet"
        self.files = [self.data, out / "fraud.scarce", out / "probabilities.csv"]

    def simulate(self) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        from scarce.datasets import hide_features, make_revealed_classes

        sample = make_revealed_classes(
            2 * self.rows,
            class_share=(1 - FRAUD_SHARE, FRAUD_SHARE),
            reveal_rate=REVEALED,
            n_features=6,
            separation=2.0,
            random_state=self.seed,
        )
        X = hide_features(sample.X, how="mcar", share=HOLES, random_state=self.seed)
        past, self.future = slice(0, self.rows), slice(self.rows, None)
        names = ["amount", "hour", "distance", "age", "tempo", "device"]
        columns = {name: pa.array(X[past, j], from_pandas=True) for j, name in enumerate(names)}
        label = pa.array(sample.y[past], from_pandas=True).cast(pa.int8())
        pq.write_table(pa.table({**columns, "fraud": label}), self.data, row_group_size=20_000)
        self.X, self.truth = X[self.future], sample.y_true[self.future]
        self.true_prob = sample.prob[self.future, 1]
        known = ~np.isnan(sample.y[past])
        self.labelled = int(known.sum())
        self.frauds_labelled = int(sample.y[past][known].sum())
        self.trained_at = self.frauds_labelled / self.labelled

    def learn(self) -> None:
        from scarce import GaussianBayes, load, open_rows, save

        rows = open_rows(self.data, label="fraud", engine="threads")
        self.opened = repr(rows)
        save(GaussianBayes().fit(rows), self.files[1])
        self.model = load(self.files[1])

    def predict(self) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.csv as pacsv

        from scarce import correct_prior, open_rows
        from scarce.atomic import whole_file

        rows = open_rows(pa.table(dict(zip(self.model.feature_names_in_, self.X.T, strict=True))))
        self.naive = self.model.predict_proba(rows)[:, 1]
        self.honest = correct_prior(self.naive, self.trained_at, FRAUD_SHARE)
        with whole_file(self.files[2]) as path:
            columns = {"row": np.arange(len(self.honest)), "prob": self.honest}
            pacsv.write_csv(pa.table(columns), path)

    def figures(self) -> dict[str, Any]:
        import numpy as np

        from scarce.assess import brier_score, log_loss

        constant = np.full(len(self.truth), FRAUD_SHARE)
        sides = {
            "as trained": self.naive,
            "prior corrected": self.honest,
            "constant 1.5 %": constant,
            "true probabilities": self.true_prob,
        }
        return {
            "happened": float(self.truth.mean()),
            "sides": {
                name: {
                    "mean": float(prob.mean()),
                    "log_loss": log_loss(self.truth, prob),
                    "brier": brier_score(self.truth, prob),
                }
                for name, prob in sides.items()
            },
            "files": [str(path) for path in self.files],
        }

    def draw(self) -> Path | None:
        import importlib.util

        if importlib.util.find_spec("matplotlib") is None:
            return None
        import matplotlib as mpl
        import numpy as np

        mpl.use("Agg")
        import matplotlib.pyplot as plt

        from scarce.plot import ReliabilityDisplay

        figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
        edges = np.geomspace(1e-4, 1, 13)
        edges[0] = 0.0
        for name, prob, marker, color in (
            ("as trained on the labelled rows", self.naive, "s", "#b0432e"),
            ("after correct_prior", self.honest, "o", "#1f5fa8"),
        ):
            ReliabilityDisplay.from_predictions(
                self.truth, prob, bins=edges, name=name, ax=ax, marker=marker, color=color
            )
        ax.set_title(
            f"{len(self.truth):,} payments of the next month: given against happened", fontsize=11
        )
        ax.legend(loc="upper left", frameon=False)
        path = self.out / "reliability.png"
        figure.savefig(path, dpi=150)
        plt.close(figure)
        self.files.append(path)
        return path


def _step(number: int, words: str) -> None:
    say(textwrap.fill(words, 78, initial_indent=f"{number}  ", subsequent_indent="   "))


def _show(figures: dict[str, Any]) -> None:
    rows = []
    for name, side in figures["sides"].items():
        loss, brier = side["log_loss"], side["brier"]
        rows.append(
            [
                name,
                f"{side['mean']:.2%}",
                f"{loss.value:.4f} ± {loss.width / 2:.4f}",
                f"{brier.value:.5f} ± {brier.width / 2:.5f}",
            ]
        )
    table(
        rows,
        columns=["next month", "mean given", "log loss (90 %)", "Brier (90 %)"],
        title=f"{figures['happened']:.2%} of the next month's payments were fraud",
    )
