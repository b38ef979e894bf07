"""Every number beside the paper's, as rows of results.json. Most of the paper's are not printed."""

from __future__ import annotations

import math

import numpy as np

from experiments.frame import Comparison, over_repeats
from experiments.paper_002 import reasons
from experiments.paper_002.information import ALONE, DESIGNS, JOINT, bound
from experiments.paper_002.information import PARAMETERS as INFORMED
from experiments.paper_002.jobs import PARAMETERS, SLOPE_HALF, TAIL, Design
from experiments.paper_002.methods import AUTO, PAPER, floats
from experiments.paper_002.printed import (
    EXPECTED_29,
    OVERESTIMATE_17,
    RATE_4,
    RECALL_4,
    SERIES,
    SHARE_4,
)
from experiments.paper_002.sets import AUDIT, FITS
from experiments.paper_002.tables import (
    Cells,
    Value,
    deviation,
    held,
    median,
    picked,
    summary,
    swapped,
    true_slope,
    truth_of,
)


def comparisons(cells: Cells) -> list[Comparison]:
    """Return every number beside the paper's."""
    return [
        *_information(cells),
        *_convergence(cells),
        *_picks(cells),
        *_performance(cells),
        *_slopes(cells),
        *_series(cells),
        *_sets(cells),
    ]


def _row(what: str, found: Value, repeats: int, why: str) -> list[Comparison]:
    """Return a row, or none where there is no finite number to show."""
    if not math.isfinite(found.value):
        return []
    return [Comparison(what, None, found.value, found.error, repeats, why)]


def _information(cells: Cells) -> list[Comparison]:
    rows = []
    for sweep, found in cells.get("figure 1", {}).items():
        for at in (0, len(found["x"]) - 1):
            for design in DESIGNS:
                for kind in (ALONE, JOINT):
                    for name in INFORMED:
                        what = (
                            f"Figure 1, {sweep} {found['x'][at]:.3g}, {design}, {name}, "
                            f"information, {kind}"
                        )
                        value = Value(float(found[design][kind][name][at]), 0.0)
                        rows += _row(what, value, 1, reasons.INFORMATION)
    return rows


def _convergence(cells: Cells) -> list[Comparison]:
    rows = []
    for case, found in cells.get("figure 2", {}).items():
        for fit, ends in found["fits"].items():
            start = f"Figure 2, share {case}, {fit}"
            n = len(ends["share"])
            rows += _row(f"{start}, exchanged", swapped(ends["share"]), n, reasons.CONVERGENCE)
            for name in PARAMETERS:
                values = floats(ends[name]).tolist()
                what = f"{start}, {name}"
                rows.append(over_repeats(f"{what}, mean", None, values, reasons.CONVERGENCE))
                rows += _row(f"{what}, deviation", deviation(values), n, reasons.CONVERGENCE)
        for name, sd in zip(PARAMETERS, bound(float(case)), strict=True):
            what = f"Figure 2, share {case}, {name}, deviation, bound"
            rows += _row(what, Value(float(sd), 0.0), 1, reasons.BOUND)
    return rows


def _picks(cells: Cells) -> list[Comparison]:
    rows = []
    for design in held(cells, rate=RATE_4):
        for method, estimates in cells["trials"][design.name]["methods"].items():
            if "background" in estimates:
                n = sum(estimates["background"].values())
                what = f"Figure 3, {design.name}, {method}, picks the true background"
                rows += _row(what, picked(cells, design, method), n, reasons.PICKS)
    return rows


def _performance(cells: Cells) -> list[Comparison]:
    rows = []
    for design in held(cells):
        for method, estimates in cells["trials"][design.name]["methods"].items():
            for level in sorted(design.levels):
                found = summary(cells, design, method, level)
                what = f"Figure 4, {design.name}, recall {level:g}, {method}"
                values = floats(estimates["recall"][design.levels.index(level)])
                seen = found.trials - found.refused
                if not seen:
                    continue
                rows += _row(f"{what}, rmse of recall", found.rmse, seen, reasons.TRIALS)
                if design.default and level == RECALL_4:
                    rows += _row(f"{what}, median recall", median(values), seen, reasons.TRIALS)
                    sign = f"{what}, dP/dR of the wrong sign"
                    rows += _row(sign, found.wrong_sign, found.trials, reasons.TRIALS)
    return rows


def _slopes(cells: Cells) -> list[Comparison]:
    rows = []
    for background, found in cells.get("slopes", {}).items():
        design = Design(background, TAIL, SHARE_4, RATE_4)
        truth = truth_of(design)
        ends = truth.precision(
            truth.threshold_at_recall([RECALL_4 - SLOPE_HALF, RECALL_4 + SLOPE_HALF])
        )
        chord = float(ends[1] - ends[0]) / (2 * SLOPE_HALF)
        what = f"dP/dR at recall .25, {background} background"
        exact = Value(true_slope(design, RECALL_4), 0.0)
        rows += _row(f"{what}, closed form", exact, 1, reasons.SLOPES)
        rows.append(
            over_repeats(
                f"{what}, counted",
                None,
                floats(found["chord"]).tolist(),
                f"{reasons.SLOPES} Counts give the chord over recall .225 to .275, in closed form "
                f"{chord:.3f}, not the tangent.",
            )
        )
    return rows


def _series(cells: Cells) -> list[Comparison]:
    """Return the few numbers of section 6.2 beside those of the stand-ins."""
    rows = []
    for name, series in SERIES.items():
        if name not in cells.get("sets", {}):
            continue
        found = cells["sets"][name]
        for method in FITS:
            share = found["methods"][method]["share"]
            rows.append(
                Comparison(
                    f"Figure 5, {name}, {method}, share of positives",
                    series.found_share,
                    share,
                    0.0,
                    1,
                    reasons.STAND_IN,
                )
            )
        share = found["methods"][PAPER]["share"]
        what, paper, ours = (
            ("share over the true one", OVERESTIMATE_17, share * found["rows"] / found["positives"])
            if name == "standin17"
            else ("positives expected", EXPECTED_29, share * found["rows"])
        )
        rows.append(
            Comparison(f"Figure 5, {name}, {PAPER}, {what}", paper, ours, 0.0, 1, reasons.STAND_IN)
        )
    return rows


def _sets(cells: Cells) -> list[Comparison]:
    rows = []
    for name, found in cells.get("sets", {}).items():
        why = reasons.STAND_IN if name in SERIES else reasons.REAL
        what = f"Figure 5, {name}, recall"
        rows += _row(f"{what}, counted", Value(found["recall"], 0.0), 1, why)
        for method in (*FITS, AUTO):
            recall = found["methods"][method]["recall"]
            if recall is not None:
                rows += _row(f"{what}, {method}", Value(float(recall), 0.0), 1, why)
        drawn = floats([each["recall"] for each in found["methods"][AUDIT]])
        drawn = drawn[np.isfinite(drawn)]
        if drawn.size:
            rows.append(over_repeats(f"{what}, {AUDIT}", None, drawn.tolist(), why))
    return rows
