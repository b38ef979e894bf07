"""How well is today's base rate estimated, does its interval hold, and when does the test speak?

    tables: 12 UCI sets x 3 classifiers x base rate odds x 3 and / 3 = 72 cases, two splits each
            half to train (left-out probabilities of 5 folds validate), the other half is today,
            thinned to the new base rate; loss = log loss after correction / with the true share
    worlds: scores of two classes whose law is known; the interval must hold the truth, and the test
            must say nothing. Then the classes themselves change, and it must speak
    one class labelled: eight of the sets, 30 % of the events labelled, their share known; and not
            known, see positives.py

QuaPy's PACC and EMQ get the same probabilities and pulearn the same rows, where they are installed
(groups rival-quapy and rival-pulearn). pulearn takes standardised columns. All tables are named
above; the nine of more than 350 training rows are also told apart, because the three small ones
have four to ten events to validate with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.base_rates import positives
from experiments.frame import Comparison, Progress, Results, over_repeats, write_results
from scarce import MaxentClassifier, PriorCorrected, correct_prior, estimate_share
from scarce.datasets import dataset_names, load_uci

Array = NDArray[np.float64]

TITLE = "Today's base rate: estimate, interval and test of label shift; one labelled class"
SEED = 8041
LONG = True  # a quarter of an hour, and rivals of their own groups
MOST_ROWS, SEEDS = 6000, 2
FACTORS = (3.0, 1 / 3)
SMALL = 350  # training rows
REPEATS = 100
# distance of the classes, validation rows, their base rate, rows today, base rate, slope, law
WORLDS = {
    "more events": (1.5, 1000, 0.1, 500, 0.25, 1.0, "normal"),
    "fewer events": (1.5, 1000, 0.1, 500, 0.036, 1.0, "normal"),
    "too sure": (1.0, 2000, 0.2, 1000, 0.4, 1.7, "normal"),
    "20 events": (2.5, 400, 0.05, 400, 0.15, 1.0, "normal"),
    "20 events, too timid": (2.5, 400, 0.05, 400, 0.017, 0.6, "normal"),
    "heavy tails": (1.5, 3000, 0.05, 2000, 0.15, 1.0, "t"),
    "weak scores": (0.7, 1000, 0.3, 500, 0.1, 1.0, "normal"),
    "10 events today": (3.0, 1000, 0.03, 1000, 0.01, 1.0, "normal"),
    "5,000 rows": (2.0, 5000, 0.02, 5000, 0.06, 1.0, "t"),
    "12 events": (2.0, 200, 0.06, 1000, 0.2, 1.0, "normal"),
}
PU_SETS = ("car", "cmc", "german", "letter-vowel", "nursery", "pima", "vehicle", "yeast")


def models(seed: int) -> dict[str, Any]:
    """Return the classifiers."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=seed),
        "forest": RandomForestClassifier(100, min_samples_leaf=3, random_state=seed),
    }


def rows_of(name: str, seed: int, most: int) -> tuple[Array, NDArray[np.intp]]:
    """Return at most so many rows of a table."""
    held = load_uci(name)
    X, y = held.X, np.asarray(held.y).astype(np.intp)
    kept = np.random.default_rng([SEED, seed]).permutation(len(y))[:most]
    return X[kept], y[kept]


def log_loss(y: Array, prob: Array, least: float = 1e-6) -> float:
    """Return the mean log loss of bounded probabilities."""
    prob = np.clip(prob, least, 1 - least)
    return float(-np.mean(y * np.log(prob) + (1 - y) * np.log1p(-prob)))


def quapy_shares(now: Array, y: Array, left_out: Array) -> dict[str, float]:
    """Return QuaPy's estimates from the same probabilities; none where it is not installed."""
    if find_spec("quapy") is None:
        return {}
    from quapy.method.aggregative import EMQ, PACC

    inner = LogisticRegression().fit(left_out[:, 1:], y)
    found = {}
    for name, method in (("QuaPy PACC", PACC), ("QuaPy EMQ", EMQ)):
        quantifier = method(inner, fit_classifier=False, val_split=None)
        quantifier.aggregation_fit(left_out, y)
        if name == "QuaPy EMQ":
            quantifier.train_prevalence = np.array([1 - y.mean(), y.mean()])
        found[name] = float(quantifier.aggregate(now)[1])
    return found


def table_cases(seeds: int, progress: Progress) -> list[dict[str, Any]]:
    """Return what each method gives on each case."""
    found = []
    for name in dataset_names("uci"):
        progress(name)
        for seed in range(seeds):
            X, y = rows_of(name, seed, MOST_ROWS)
            train, test, of_train, of_test = train_test_split(
                X, y, test_size=0.5, stratify=y, random_state=seed
            )
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            for kind, model in models(seed).items():
                left_out = cross_val_predict(
                    model, train, of_train, cv=folds, method="predict_proba"
                )
                given = model.fit(train, of_train).predict_proba(test)
                for factor in FACTORS:
                    rng = np.random.default_rng([SEED, seed, int(factor)])
                    rows = thinned(of_test, factor, rng)
                    case = one_case(given[rows], of_test[rows], left_out, of_train)
                    found.append(
                        {"table": name, "model": kind, "factor": factor, "small": len(train)} | case
                    )
    return found


def thinned(y: NDArray[np.intp], factor: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return rows whose odds of the event are so many times those of all."""
    events, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    if factor > 1:
        others = rng.choice(others, round(len(others) / factor), replace=False)
    else:
        events = rng.choice(events, max(1, round(len(events) * factor)), replace=False)
    return np.concatenate([events, others])


def one_case(now: Array, y: Array, left_out: Array, of_train: Array) -> dict[str, Any]:
    """Return loss over the oracle's and error of the share, of every method."""
    before, truth = float(of_train.mean()), float(y.mean())
    ours = estimate_share(now, validation=(of_train, left_out))
    shares = {
        "nothing": before,
        "scarce": ours.share.value,
        "scarce without validation": estimate_share(now, trained_at=before).share.value,
        **quapy_shares(now, of_train, left_out),
    }
    edge = 1 / (2 * len(y) + 2)
    best = log_loss(y, correct_prior(now[:, 1], before, truth))
    return {
        "loss": {
            name: log_loss(y, correct_prior(now[:, 1], before, np.clip(share, edge, 1 - edge)))
            / best
            for name, share in shares.items()
        },
        "error": {name: abs(share - truth) for name, share in shares.items()},
        "held": truth in ours.share,
        "alarm": ours.p_value <= 0.05,
    }


def draw(world: tuple[Any, ...], rng: np.random.Generator, change: str = "") -> tuple[Any, ...]:
    """Draw labels and probabilities of validation rows, and probabilities of today's."""
    apart, n, before, n_now, share, slope, law = world
    held = []
    for rows, rate, changed in ((n, before, ""), (n_now, share, change)):
        y = (rng.random(rows) < rate).astype(int)
        noise = rng.normal(size=rows) if law == "normal" else rng.standard_t(4, rows)
        score = noise * (1.4 if changed == "wider" else 1.0) + apart * y
        score += 0.6 if changed == "moved" else 0.0
        if changed == "new events":  # half of the events look like something between
            score = np.where((y == 1) & (rng.random(rows) < 0.5), apart / 2 + 0.2 * noise, score)
        held.append((y, expit(slope * (logit(before) + apart * score - apart**2 / 2))))
    return held[0][0], held[0][1], held[1][1]


def world_rows(repeats: int, progress: Progress) -> list[Comparison]:
    """Return coverage, false alarms and power."""
    rows, held, alarms = [], [], []
    for number, (name, world) in enumerate(WORLDS.items()):
        progress(f"world: {name}")
        hits, said = [], []
        for repeat in range(repeats):
            rng = np.random.default_rng([SEED, 1, number, repeat])
            y, prob, now = draw(world, rng)
            if y.sum() < 5:
                continue
            found = estimate_share(now, validation=(y, prob))
            hits.append(float(world[4] in found.share))
            said.append(float(found.p_value <= 0.05))
        rows.append(over_repeats(f"90 % interval holds the truth: {name}", None, hits, ".90 asked"))
        held += hits
        alarms += said
    rows.append(over_repeats("90 % interval holds the truth: all worlds", None, held, ".90 asked"))
    rows.append(
        over_repeats("false alarms of the test at 5 %, all worlds", None, alarms, "at most .05")
    )
    for change in ("wider", "moved", "new events"):
        spoken = []
        for number, world in enumerate(WORLDS.values()):
            for repeat in range(repeats // 5):
                rng = np.random.default_rng([SEED, 2, number, repeat])
                y, prob, now = draw(world, rng, change)
                if y.sum() >= 5:
                    found = estimate_share(now, validation=(y, prob), resamples=100)
                    spoken.append(float(found.p_value <= 0.05))
        why = "Not label shift: the more often it speaks the better. Over all worlds."
        rows.append(over_repeats(f"the test speaks: scores {change}", None, spoken, why))
    return rows


def pulearn_models(share: float, seed: int) -> dict[str, Callable[[Array, Array], Any]]:
    """Return pulearn's classifiers; none where it is not installed."""
    if find_spec("pulearn") is None:
        return {}
    from pulearn import BaggingPuClassifier, ElkanotoPuClassifier, NNPUClassifier

    forest = models(seed)["forest"]
    return {
        "pulearn nnPU": lambda X, s: NNPUClassifier(prior=share, random_state=seed).fit(X, s),
        "pulearn Elkan-Noto (forest)": lambda X, s: ElkanotoPuClassifier(
            forest, random_state=seed
        ).fit(X, s),
        "pulearn bagging (forest)": lambda X, s: BaggingPuClassifier(
            RandomForestClassifier(20, min_samples_leaf=3, random_state=seed), random_state=seed
        ).fit(X, s),
    }


def one_class_rows(seeds: int, progress: Progress) -> list[Comparison]:
    """Return log loss, AUC and mean given / true with one labelled class."""
    found: dict[str, list[tuple[str, float, float, float]]] = {}
    for name in PU_SETS:
        progress(f"one class labelled: {name}")
        for seed in range(seeds):
            X, y = rows_of(name, seed, 4000)
            train, test, of_train, of_test = train_test_split(
                X, y, test_size=0.5, stratify=y, random_state=seed
            )
            scale = StandardScaler().fit(train)
            train, test = scale.transform(train), scale.transform(test)
            rng = np.random.default_rng([SEED, 3, seed])
            labelled = (of_train == 1) & (rng.random(len(of_train)) < 0.3)
            share = float(of_train.mean())
            three = np.where(labelled, 1.0, np.nan)
            ours = {f"PriorCorrected({kind})": PriorCorrected(model, prior=share)
                    for kind, model in models(seed).items()}  # fmt: skip
            ours["MaxentClassifier"] = MaxentClassifier(prevalence=share)
            probs = {kind: model.fit(train, three).predict_proba(test)[:, 1]
                     for kind, model in ours.items()}  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for kind, fit in pulearn_models(share, seed).items():
                    try:
                        rival = fit(train, np.where(labelled, 1, -1))
                    except ValueError:  # Elkan-Noto holds out a tenth, which may have no event
                        continue
                    given = np.asarray(rival.predict_proba(test), np.float64)
                    probs[kind] = np.clip(given[:, -1] if given.ndim == 2 else given, 0, 1)
            for kind, prob in probs.items():
                told = (log_loss(of_test, prob, 1e-4), float(roc_auc_score(of_test, prob)),
                        float(prob.mean() / of_test.mean()))  # fmt: skip
                found.setdefault(kind, []).append((name, *told))
    rows = []
    for kind, held in found.items():
        rows.append(over_repeats(f"one class labelled, log loss: {kind}", None,
                                 [one[1] for one in held], "Mean over eight sets."))  # fmt: skip
    for kind, held in found.items():
        rows.append(over_repeats(f"one class labelled, AUC: {kind}", None,
                                 [one[2] for one in held], "Mean over eight sets."))  # fmt: skip
    for kind, held in found.items():
        each = [
            np.mean([one[3] for one in held if one[0] == name])
            for name in dict.fromkeys(one[0] for one in held)
        ]
        why = f"1 is right; by set from {min(each):.3f} to {max(each):.3f}."
        rows.append(over_repeats(f"one class labelled, mean given / true: {kind}", None,
                                 [one[3] for one in held], why))  # fmt: skip
    return rows


def run(quick: bool, progress: Progress, work: Path) -> list[Comparison]:
    """Return the table."""
    cases = table_cases(1 if quick else SEEDS, progress)
    names = list(cases[0]["loss"])
    groups = {
        "72 cases": cases,
        f"54 cases with more than {SMALL} training rows": [
            one for one in cases if one["small"] > SMALL
        ],
    }
    rows = []
    for told, held in groups.items():
        for name in names:
            logs = [float(np.log(one["loss"][name])) for one in held]
            why = f"Logarithm; {np.exp(np.mean(logs)):.4f} of the loss with the true share."
            rows.append(
                over_repeats(f"{told}, log of loss over the oracle's: {name}", None, logs, why)
            )
    for name in names:
        errors = [one["error"][name] for one in cases]
        rows.append(
            over_repeats(f"72 cases, error of the share: {name}", None, errors, "0 is right.")
        )
    held_truth = [float(one["held"]) for one in cases]
    rows.append(over_repeats("72 cases, 90 % interval holds the share", None, held_truth,
                             ".90 asked; today's share is that of the rows."))  # fmt: skip
    alarms = [float(one["alarm"]) for one in cases]
    why = "Left-out folds are other fits than today's: see held_out.md."
    rows.append(over_repeats("72 cases, false alarms of the test at 5 %", None, alarms, why))
    rows += world_rows(20 if quick else REPEATS, progress)
    rows += one_class_rows(1 if quick else 2, progress)
    rows += positives.world_rows(8 if quick else REPEATS, progress)
    rows += positives.broken_rows(8 if quick else REPEATS, progress)
    return rows + positives.table_rows(
        PU_SETS, rows_of, lambda seed: models(seed)["forest"], 1 if quick else 2, progress
    )


def write(results: Results, folder: Path, work: Path) -> None:
    """Write the table."""
    write_results(results, folder)
