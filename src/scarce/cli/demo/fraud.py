"""Fraud: a rare class, learnt from rows out of proportion, and decided by what mistakes cost.

    true log-odds = a + x' b, linear in the columns as written; a so that 1.5 % are frauds

train.csv keeps every fraud and every tenth honest payment, as is often done, so a model of it says
13 % where the world has 1.5 %. Both shares are known from the counts, and `correct_prior` takes the
difference back. Assumes two months of one world. Uses the true probabilities only to compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scarce.cli.demo.story import Check, Story, aligned, first_line, say_wrapped
from scarce.cli.output import write_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scarce.cli.demo.story import Folder
    from scarce.report import Report

FILES = ("train.csv", "test.csv", "new.parquet", "m.scarce", "p.csv", "costs.toml")
FRAUD_SHARE = 0.015
KEPT = 10  # every tenth honest payment is kept for training
EFFECTS = {  # of one unit on the log-odds of fraud
    "amount": 0.018,
    "hour": -0.10,
    "distance": 0.025,
    "age": -0.10,
    "tempo": 0.8,
    "device": 2.5,
}
NEXT = (
    "scarce report m.scarce test.csv --label fraud --out report.html",
    "scarce decide p.csv --trained-at .13 --now-at .015 --costs costs.toml -o d.csv",
)
COSTS = """\
# What each mistake costs, in euros. A payment that a person looks at costs 3, whatever it is.
false_alarm = 5
miss = 400
abstain = 3
"""


@dataclass(frozen=True)
class Month:
    """Payments: their columns, who is a fraud, and the true probability of it."""

    columns: dict[str, Any]
    fraud: NDArray[Any]
    prob: NDArray[Any]


def tell(folder: Folder, *, rows: int, seed: int, engine: Any = None, exact: bool = False) -> Story:
    """Simulate two months, learn from the first, and meet the second.

    Parameters
    ----------
    folder : Folder
    rows : int
        Payments a month.
    seed : int
    engine : engine
        Who runs the blocks of the fit.
    exact : bool
        Not used: the ranges hold for any seed.

    Returns
    -------
    Story
    """
    import numpy as np

    from scarce import RareClassifier, correct_prior, load, open_rows, save

    past, test, new = _months(rows, seed)
    keep = (past.fraud == 1) | (np.cumsum(past.fraud == 0) % KEPT == 0)
    folder.table("train.csv", _listed(past, keep))
    folder.table("test.csv", _listed(test))
    folder.table("new.parquet", new.columns)
    folder.text("costs.toml", COSTS)

    train = open_rows(folder.file("train.csv"), label="fraud", drop="id", engine=engine)
    save(RareClassifier(engine=engine).fit(train), folder.file("m.scarce"))
    folder.wrote("m.scarce")
    model = load(folder.file("m.scarce"))
    trained = model.predict_proba(open_rows(folder.file("test.csv"), like=train.schema))[:, 1]
    told = {name: test.columns[name] for name in ("id", "amount")}
    folder.table("p.csv", {**told, "prob": trained, "fraud": test.fraud})

    frauds = int(past.fraud.sum())
    others = int(keep.sum()) - frauds
    trained_at, now_at = frauds / (frauds + others), frauds / (frauds + KEPT * others)
    prob = {
        "as trained": trained,
        "prior corrected": correct_prior(trained, trained_at, now_at),
        "constant": np.full(len(trained), now_at),
        "true probabilities": test.prob,
    }
    figures = {
        "rows": rows,
        "train_rows": frauds + others,
        "trained_at": trained_at,
        "now_at": now_at,
        "happened": float(test.fraud.mean()),
        "frauds": int(test.fraud.sum()),
        "shape": model.shape_,
        "ridge": model.ridge_,
        **_worth(folder, test, prob),
    }
    curves = _reliability(test, prob)
    return Story(
        figures,
        _checks(figures),
        lambda: _show(figures),
        lambda page: _describe(page, figures, curves, model),
    )


def _months(rows: int, seed: int) -> tuple[Month, Month, Month]:
    """Draw the month to learn from, the month to meet, and payments that nobody labelled yet."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import expit

    rng = np.random.default_rng([seed, 1])
    n = (rows, rows, max(rows // 10, 1000))
    total = sum(n)
    columns = {  # rounded first: the truth is linear in what the files hold
        "amount": np.round(1 + rng.gamma(2.0, 45.0, total), 2),
        "hour": np.floor(rng.uniform(0.0, 240.0, total)) / 10,
        "distance": np.round(rng.exponential(40.0, total), 1),
        "age": np.round(rng.gamma(3.0, 8.0, total), 1),
        "tempo": rng.poisson(1.0, total),
        "device": (rng.random(total) < 0.1).astype(np.int64),
    }
    score = sum(effect * columns[name] for name, effect in EFFECTS.items())
    level = brentq(lambda a: float(expit(a + score).mean()) - FRAUD_SHARE, -60.0, 60.0)
    prob = expit(level + score)
    fraud = (rng.random(total) < prob).astype(np.int64)
    # numbers without meaning, the same in all files: one left in by mistake does little harm
    columns = {"id": 1_000_000 + rng.permutation(total), **columns}
    ends = np.cumsum(n)[:-1]
    parts = {name: np.split(values, ends) for name, values in columns.items()}
    return tuple(  # type: ignore[return-value]
        Month({name: part[i] for name, part in parts.items()}, *both)
        for i, both in enumerate(zip(np.split(fraud, ends), np.split(prob, ends), strict=True))
    )


def _listed(month: Month, keep: Any = slice(None)) -> dict[str, Any]:
    """Return the columns of a file with labels."""
    columns = {**month.columns, "fraud": month.fraud}
    return {name: values[keep] for name, values in columns.items()}


def _worth(folder: Folder, test: Month, prob: dict[str, Any]) -> dict[str, Any]:
    """Return scores of the probabilities, and what decisions by them cost."""
    from scarce import CostMatrix, decide, expected_cost, mean_cost
    from scarce.evaluation.scores import brier_score, log_loss

    asking = CostMatrix.read(folder.file("costs.toml"))
    alone = CostMatrix.binary(false_alarm=5, miss=400)
    corrected = prob["prior corrected"]
    actions = {name: decide(said, asking) for name, said in prob.items()}
    cells = expected_cost(test.prob, asking)  # what each action costs in truth, labels apart

    def in_truth(done: Any) -> float:
        return float(sum(cells[done == name, j].sum() for j, name in enumerate(asking.actions)))

    ways = {
        "likelier class": (corrected > 0.5).astype(object) * 1,
        "cheapest, no asking": decide(corrected, alone),
        "cheapest or ask": actions["prior corrected"],
        "best possible": actions["true probabilities"],
    }
    return {
        "sides": {
            name: {
                "mean": float(said.mean()),
                "log_loss": log_loss(test.fraud, said),
                "brier": brier_score(test.fraud, said),
                "mean_cost": mean_cost(test.fraud, actions[name], asking),
            }
            for name, said in prob.items()
        },
        "decisions": {
            name: {
                "mean_cost": mean_cost(test.fraud, done, asking),
                "true_cost": in_truth(done) / len(done),
                "stopped": int((done == 1).sum()),
                "asked": int((done == "abstain").sum()),
                "missed": int(test.fraud[done == 0].sum()),
            }
            for name, done in ways.items()
        },
    }


def _reliability(test: Month, prob: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    from scarce.evaluation.calibration import reliability

    edges = np.geomspace(1e-4, 1.0, 13)
    edges[0] = 0.0
    wanted = ("as trained", "prior corrected")
    return {name: reliability(test.fraud, prob[name], bins=edges) for name in wanted}


def _checks(figures: dict[str, Any]) -> list[Check]:
    sides, ways = figures["sides"], figures["decisions"]
    loss = {name: side["log_loss"].value for name, side in sides.items()}
    cost = {name: way["true_cost"] for name, way in ways.items()}
    return [
        Check(
            "fraud: corrected mean probability over what happened",
            sides["prior corrected"]["mean"] / figures["happened"],
            0.75,
            1.6,
            "600 frauds in either month: the ratio of two counts is known to 6 %; the model's link "
            "is chosen on held-out rows, which in one seed of 60 goes wrong by 40 %",
        ),
        Check(
            "fraud: mean probability as trained over what happened",
            sides["as trained"]["mean"] / figures["happened"],
            3.0,
            7.0,
            "ten times the odds, less where a row is nearly certain",
        ),
        Check(
            "fraud: log loss above that of the true probabilities",
            loss["prior corrected"] - loss["true probabilities"],
            -0.001,
            0.01,
            "the model has the right columns and 600 frauds to learn from: as a rule 0.0005",
        ),
        Check(
            "fraud: log loss that the correction takes away",
            loss["as trained"] - loss["prior corrected"],
            0.02,
            0.08,
            "ten times the odds cost about 0.046 nats a row",
        ),
        Check(
            "fraud: true cost with asking over that of the likelier class",
            cost["cheapest or ask"] / cost["likelier class"],
            0.1,
            0.4,
            "a miss costs 80 false alarms, so to stop from 0.5 on is far too late",
        ),
        Check(
            "fraud: true cost with asking over the least possible",
            cost["cheapest or ask"] / cost["best possible"],
            0.999,
            1.1,
            "never below 1 but for rounding, and a model that is nearly right loses a percent",
        ),
    ]


def _show(figures: dict[str, Any]) -> None:
    say_wrapped(
        f"FRAUD  {figures['frauds']:,} of {figures['rows']:,} payments to judge are frauds "
        f"({figures['happened']:.2%}). The model learnt "
        f"from all frauds but every tenth honest payment: {figures['trained_at']:.1%} frauds."
    )
    heading = ["test.csv", "mean said", "log loss", "Brier", "cost a payment"]
    rows = [
        [
            name,
            f"{side['mean']:.2%}",
            f"{side['log_loss'].value:.4f}",
            f"{side['brier'].value:.5f}",
            f"{side['mean_cost'].value:.2f}",
        ]
        for name, side in figures["sides"].items()
    ]
    write_line(aligned([heading, *rows]))
    heading = ["alarm 5, miss 400, ask 3", "stopped", "asked", "missed", "cost (90 %)", "truth"]
    rows = []
    for name, way in figures["decisions"].items():
        cost = way["mean_cost"]
        counts = [f"{way[key]:,}" for key in ("stopped", "asked", "missed")]
        interval = f"{cost.value:.2f} ({cost.low:.2f} to {cost.high:.2f})"
        rows.append([name, *counts, interval, f"{way['true_cost']:.2f}"])
    write_line(aligned([heading, *rows]))


def _describe(page: Report, figures: dict[str, Any], curves: Any, model: Any) -> None:
    from scarce.plots.picture import Axis, Bars, reliability_picture

    page.section(
        "Fraud: rare, and learnt out of proportion",
        f"Of {figures['rows']:,} payments of the second month {figures['frauds']:,} are frauds "
        f"({figures['happened']:.2%}). The model, `RareClassifier`, learnt from `train.csv`: all "
        f"frauds of the first month, but every tenth honest payment only, so that "
        f"{figures['trained_at']:.1%} of its {figures['train_rows']:,} rows are frauds. What it "
        "says is right for such a mix and far too high for the world. Both shares are known from "
        "the counts, and `correct_prior` takes the difference back.",
    )
    page.table(
        ["probabilities for test.csv", "mean said", "log loss", "Brier score", "cost a payment"],
        [
            [
                name,
                f"{side['mean']:.2%}",
                *(side[key] for key in ("log_loss", "brier", "mean_cost")),
            ]
            for name, side in figures["sides"].items()
        ],
        caption="Lower is better; cost with the cheapest of letting through, stopping and asking.",
    )
    page.figure(
        reliability_picture(curves),
        "Of the payments that were given 1 %, did 1 % turn out to be frauds?",
    )
    page.heading("What to do with each payment")
    page.text(
        "A false alarm costs 5, a missed fraud 400, a person who looks 3 (`costs.toml`). From "
        "these and the corrected probabilities follows the cheapest action: let through below "
        "0.75 %, ask up to 40 %, stop above."
    )
    ways = figures["decisions"]
    page.table(
        ["decided by", "stopped", "asked", "frauds missed", "cost a payment", "in truth"],
        [
            [name, way["stopped"], way["asked"], way["missed"], way["mean_cost"], way["true_cost"]]
            for name, way in ways.items()
        ],
        caption="In truth: expected cost under the true probabilities, without the luck of labels.",
    )
    cost = [way["mean_cost"] for way in ways.values()]
    page.figure(
        Bars(
            list(ways),
            [one.value for one in cost],
            Axis("mean cost of a payment"),
            low=[one.low for one in cost],
            high=[one.high for one in cost],
            truth=[way["true_cost"] for way in ways.values()],
        ),
        "Costs counted on labels, with 90 % intervals, beside the truth.",
    )
    page.text(f"The fit, {first_line(model.report_)}.")
    page.heading("What this leans on")
    page.assumes(
        [
            "Both months are of one world, and only the mix of classes differs.",
            "The person who is asked is always right.",
        ]
    )
