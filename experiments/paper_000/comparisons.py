"""The numbers of results.json: average AUC, log loss with one default, breadth, time.

Each row has the standard error over species; the error over the six region means is in its words.
Computes nothing that tables.py does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.frame import Comparison
from experiments.paper_000.jobs import DEFAULTS, TREES, TUNED, maxent_at, robust_at
from experiments.paper_000.methods import MAIN, WIDTHS
from experiments.paper_000.printed import AUC_MAXENT, AUC_ROBUST, AUC_TREES
from experiments.paper_000.species import Array
from experiments.paper_000.tables import (
    NEAR,
    SCHEMES,
    Runs,
    at_default,
    best,
    breadth,
    constant,
    fact,
    left_out,
    mean_of,
    panels,
    scores,
    shared_width,
)

MAXENTS = (*(maxent_at(width) for width in WIDTHS), *TUNED.values())
GROUPS = "The paper's target groups are not listed; pooling NSW's eight moves the mean"
OWN_WIDTH = "the paper's tuned width and its knots are not printed"
NOT_PRINTED = "Drawn, not printed, in the paper."
SETTINGS = (
    "HistGradientBoostingClassifier for gbm: no bagging, other settings, other choice of number"
)


def comparisons(runs: Runs) -> list[Comparison]:
    """Return every number beside the paper's."""
    return [*auc_rows(runs), *rival_rows(runs), *loss_rows(runs), *breadth_rows(runs), *time(runs)]


def row(
    what: str, paper: float | None, values: Array, regions: NDArray[np.str_], why: str
) -> Comparison:
    """Make a row from one value per species."""
    mean = mean_of(values, regions)
    text = f"{why} Error over the region means: {mean.regions:.4f}."
    return Comparison(what, paper, mean.value, mean.error, len(values), text)


def auc_rows(runs: Runs) -> list[Comparison]:
    """Return average test AUCs."""
    regions = fact(runs, "region")
    rows = []
    for pooled in (False, True):
        for method in MAXENTS:
            what = f"AUC, {method}, NSW groups {'pooled to four' if pooled else 'as shipped'}"
            values = scores(runs, method, "auc", pooled)
            rows.append(row(what, AUC_MAXENT, values, regions, f"{GROUPS}; {OWN_WIDTH}."))
    for by in TUNED:
        width = shared_width(runs, by)
        held = scores(runs, maxent_at(width), "auc")
        why = f"Width {width:g}, chosen on held-out presences of all species. {GROUPS}."
        rows.append(row(f"AUC, maxent, one width by {by}", AUC_MAXENT, held, regions, why))
    for width in WIDTHS:
        held = scores(runs, robust_at(width), "auc")
        means = held.mean(axis=0)
        for word, place, paper in zip(
            ("least", "greatest"), (means.argmin(), means.argmax()), AUC_ROBUST, strict=True
        ):
            what = f"AUC, {robust_at(width)}, {word} over defaults"
            why = f"At default {DEFAULTS[place]:g}. {GROUPS}; {OWN_WIDTH}."
            rows.append(row(what, paper, held[:, place], regions, why))
    why = f"{SETTINGS}."
    return [*rows, row("AUC, trees", AUC_TREES, scores(runs, TREES, "auc"), regions, why)]


def rival_rows(runs: Runs) -> list[Comparison]:
    """Return paired differences to Maxent 3.4.4 on the same presences, pools and surveys."""
    regions = fact(runs, "region")
    why = "Not in the paper: ours minus Maxent 3.4.4 with its defaults, species by species."
    rows = [
        row(
            f"AUC, {method} minus Maxent 3.4.4",
            None,
            scores(runs, method, "auc") - fact(runs, "rival_auc"),
            regions,
            why,
        )
        for method in (*MAXENTS, TREES)
    ]
    half = DEFAULTS.index(0.5)
    for method in MAXENTS:
        apart = scores(runs, method, "entropy")[:, half] - fact(runs, "rival_loss")
        rows.append(row(f"log loss at default .5, {method} minus 3.4.4", None, apart, regions, why))
    return rows


def loss_rows(runs: Runs) -> list[Comparison]:
    """Return log losses with one default for all species, and those that know the prevalence."""
    regions = fact(runs, "region")
    rows = []
    for scheme, held in every_scheme().items():
        losses = scores(runs, *held)
        default, _ = best(losses.mean(axis=0))
        why = f"{NOT_PRINTED} Default {default:.2f}, chosen on these surveys."
        what = f"log loss, {scheme}, best default on test"
        rows.append(row(what, None, at_default(losses, default), regions, why))
        values, chosen = left_out(losses, regions)
        why = f"Defaults {min(chosen.values()):.2f} to {max(chosen.values()):.2f}."
        what = f"log loss, {scheme}, default chosen on other regions"
        rows.append(row(what, None, values, regions, why))
    for name, values in pairs(runs).items():
        why = "Negative where entropy weighting is better; paired over species."
        rows.append(row(name, None, values, regions, why))
    for method in (*MAXENTS, TREES):
        why = f"{NOT_PRINTED} Knows each survey's prevalence."
        what = f"log loss, {method}, oracle-weighted"
        rows.append(row(what, None, scores(runs, method, "oracle"), regions, why))
    why = f"{NOT_PRINTED} Knows each survey's prevalence and nothing else."
    return [*rows, row("log loss, constant", None, constant(runs), regions, why)]


def every_scheme() -> dict[str, tuple[str, str]]:
    """Return name -> (method, curve) for every setting: maxent, class-robust, trees."""
    found = {f"{m}, {w}": (m, w) for m in MAXENTS for w in ("entropy", "default")}
    found |= {robust_at(width): (robust_at(width), "robust") for width in WIDTHS}
    return found | {f"{TREES}, {w}": (TREES, w) for w in ("entropy", "default")}


def pairs(runs: Runs) -> dict[str, Array]:
    """Return each species' loss with entropy weighting minus that with default weighting."""
    regions = fact(runs, "region")
    found = {}
    for method in (*MAXENTS, TREES):
        losses = {w: scores(runs, method, w) for w in ("entropy", "default")}
        on_test = {w: at_default(each, best(each.mean(axis=0))[0]) for w, each in losses.items()}
        apart = {w: left_out(each, regions)[0] for w, each in losses.items()}
        name = f"log loss, {method}, entropy minus default weighting"
        found[f"{name}, best defaults on test"] = on_test["entropy"] - on_test["default"]
        found[f"{name}, chosen on other regions"] = apart["entropy"] - apart["default"]
    return found


def breadth_rows(runs: Runs) -> list[Comparison]:
    """Return how far the default may be off in each panel of Figure 1."""
    rows = []
    for panel, curves in panels(runs, list(SCHEMES)).items():
        for scheme, curve in curves.items():
            found = breadth(curve)
            cut = " The sweep ends before the interval does." if found.cut else ""
            why = f"{NOT_PRINTED} {found.low:.3f} to {found.high:.3f}; no error given.{cut}"
            for unit, value in (("prevalence", found.share), ("log-odds", found.log_odds)):
                what = f"breadth in {unit} within {NEAR:.0%}, {panel}, {scheme}"
                rows.append(Comparison(what, None, value, 0.0, 1, why))
    return rows


def time(runs: Runs) -> list[Comparison]:
    """Return what the hinge fits cost; nothing where they were not timed."""
    held = runs["timing"]
    if not held:
        return []
    about = (
        f"{held['fits']} fits of maxent at width {MAIN:g}, gap at most {held['gap']:.1g}, in two "
        "new processes."
    )
    names = {
        "wall": "wall seconds of all hinge fits, start and reading included",
        "fit_cpu": "CPU seconds of all hinge fits",
        "slowest": "CPU seconds of the slowest hinge fit",
        "peak_mb": "peak memory of a process, MB",
    }
    return [Comparison(what, None, held[key], 0.0, 1, about) for key, what in names.items()]
