"""Which sentences of 000 section 3 hold here? Each with its numbers and a verdict made from them.

A verdict is computed, not typed: "holds" needs the direction of the sentence and more than two
standard errors over the six regions where there is an error. Fits nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from experiments.paper_000.comparisons import MAXENTS, pairs
from experiments.paper_000.jobs import DEFAULTS, TREES, maxent_at, robust_at
from experiments.paper_000.methods import MAIN
from experiments.paper_000.printed import ALL, AUC_MAXENT, AUC_ROBUST, AUC_TREES, BINS
from experiments.paper_000.species import Array
from experiments.paper_000.tables import (
    NEAR,
    Runs,
    at_default,
    best,
    breadth,
    by_region,
    constant,
    fact,
    mean_of,
    panels,
    scores,
)

HOLDS, NOT, PART, INSIDE = "holds", "does not hold", "holds in part", "inside the error"
SAME = 1.02  # lengths within this ratio count as equal
NEAR_PRINT = 0.004  # of an average AUC: counts as reproduced
ENTROPY, DEFAULT, ROBUST = "maxent, entropy", "maxent, default", "class-robust"


class Claim(NamedTuple):
    """A sentence of the paper, what is found here, and the verdict."""

    says: str
    found: str
    verdict: str


def claims(runs: Runs) -> list[Claim]:
    """Return every claim of section 3 that numbers can settle."""
    return [
        _auc(runs),
        _robust_auc(runs),
        _one_default(runs),
        _broader(runs, "share"),
        _broader(runs, "log_odds"),
        _diminishes(runs),
        _higher(runs),
        _trees(runs),
        _robust_large(runs),
        _knowing(runs),
    ]


def verdict(value: float, error: float) -> str:
    """Judge a difference that should be negative by its error over regions.

    Examples
    --------
    >>> verdict(-0.02, 0.005), verdict(-0.02, 0.02), verdict(0.02, 0.005)
    ('holds', 'inside the error', 'does not hold')
    """
    if value >= 0:
        return NOT if value > 2 * error else INSIDE
    return HOLDS if -value > 2 * error else INSIDE


def together(judged: list[str]) -> str:
    """Return one verdict for several looks at the same sentence.

    Examples
    --------
    >>> together([HOLDS, HOLDS]), together([HOLDS, INSIDE]), together([NOT, INSIDE])
    ('holds', 'holds in part', 'does not hold')
    """
    if len(set(judged)) == 1:
        return judged[0]
    return PART if HOLDS in judged else NOT


def _auc(runs: Runs) -> Claim:
    means = {m: float(scores(runs, m, "auc").mean()) for m in MAXENTS}
    means[TREES] = float(scores(runs, TREES, "auc").mean())
    text = ", ".join(f"{name} {value:.4f}" for name, value in means.items())
    near = [abs(means[m] - AUC_MAXENT) <= NEAR_PRINT for m in MAXENTS]
    near.append(abs(means[TREES] - AUC_TREES) <= NEAR_PRINT)
    judged = HOLDS if all(near) else PART if any(near) else NOT
    return Claim(
        f"Average AUC of maxent {AUC_MAXENT}, of boosted trees {AUC_TREES} (reproduced within "
        f"{NEAR_PRINT:g})",
        text,
        judged,
    )


def _robust_auc(runs: Runs) -> Claim:
    means = scores(runs, robust_at(MAIN), "auc").mean(axis=0)
    low, high = float(means.min()), float(means.max())
    near = [abs(a - b) <= NEAR_PRINT for a, b in zip((low, high), AUC_ROBUST, strict=True)]
    return Claim(
        f"Class-robust regression has AUC {AUC_ROBUST[0]} to {AUC_ROBUST[1]}, depending on the "
        "default",
        f"{low:.4f} to {high:.4f}",
        HOLDS if all(near) else PART if any(near) else NOT,
    )


def _one_default(runs: Runs) -> Claim:
    regions = fact(runs, "region")
    parts, judged = [], []
    for name, values in pairs(runs).items():
        if f", {maxent_at(MAIN)}," not in name:
            continue
        mean = mean_of(values, regions)
        better = sum(value < 0 for value in by_region(values, regions).values())
        how = "best on test" if "best" in name else "chosen on other regions"
        parts.append(
            f"{how}: {mean.value:+.4f} (s.e. {mean.error:.4f} over species, {mean.regions:.4f} "
            f"over regions), better in {int((values < 0).sum())} of {len(values)} species and "
            f"{better} of {len(np.unique(regions))} regions"
        )
        judged.append(verdict(mean.value, mean.regions))
    return Claim(
        "Entropy weighting beats default weighting when one default is chosen for all species",
        "; ".join(parts),
        together(judged),
    )


def _lengths(runs: Runs, unit: str) -> dict[str, tuple[float, float]]:
    found = {}
    for panel, curves in panels(runs, [ENTROPY, DEFAULT]).items():
        pair = (breadth(curves[ENTROPY]), breadth(curves[DEFAULT]))
        found[panel] = (float(getattr(pair[0], unit)), float(getattr(pair[1], unit)))
    return found


def _broader(runs: Runs, unit: str) -> Claim:
    lengths = _lengths(runs, unit)
    wider = sum(a > SAME * b for a, b in lengths.values())
    narrower = sum(b > SAME * a for a, b in lengths.values())
    words = {"share": "in default prevalence", "log_odds": "in log-odds of the default"}[unit]
    text = "; ".join(f"{panel}: {a:.3g} against {b:.3g}" for panel, (a, b) in lengths.items())
    judged = HOLDS if not narrower and wider else PART if wider > narrower else NOT
    return Claim(
        f"Entropy weighting has the broader peak and is never more sensitive, {words} (interval "
        f"within {NEAR:.0%} of the least loss)",
        f"broader in {wider} of {len(lengths)} panels, narrower in {narrower}, equal within "
        f"{SAME - 1:.0%} in {len(lengths) - wider - narrower}. {text}",
        judged,
    )


def _diminishes(runs: Runs) -> Claim:
    lengths = _lengths(runs, "share")
    ratio = [lengths[name][0] / lengths[name][1] for name in BINS if name in lengths]
    falls = sum(b < a for a, b in pairwise(ratio))
    return Claim(
        "The gain in breadth falls as the true prevalence rises",
        "ratio of the intervals in default prevalence, rarest bin first: "
        + ", ".join(f"{value:.2f}" for value in ratio),
        HOLDS if falls == len(ratio) - 1 else PART if ratio[-1] < ratio[0] else NOT,
    )


def _higher(runs: Runs) -> Claim:
    found = {
        panel: (best(curves[ENTROPY])[0], best(curves[DEFAULT])[0])
        for panel, curves in panels(runs, [ENTROPY, DEFAULT]).items()
    }
    higher = sum(a > b for a, b in found.values())
    text = "; ".join(f"{panel}: {a:.2f} against {b:.2f}" for panel, (a, b) in found.items())
    return Claim(
        "The best default is higher for entropy weighting",
        text,
        HOLDS if higher == len(found) else PART if higher else NOT,
    )


def _at_best(runs: Runs, method: str, what: str) -> Array:
    losses = scores(runs, method, what)
    return at_default(losses, best(losses.mean(axis=0))[0])


def _trees(runs: Runs) -> Claim:
    regions = fact(runs, "region")
    parts, judged = [], []
    for weighting in ("entropy", "default"):
        apart = _at_best(runs, TREES, weighting) - _at_best(runs, maxent_at(MAIN), weighting)
        mean = mean_of(apart, regions)
        parts.append(
            f"{weighting} weighting: {mean.value:+.4f} (s.e. over regions {mean.regions:.4f})"
        )
        judged.append(verdict(mean.value, mean.regions))
    return Claim(
        "Boosted trees have slightly lower log loss than maxent (best default on test)",
        "; ".join(parts),
        together(judged),
    )


def _robust_large(runs: Runs) -> Claim:
    curves = panels(runs, [ENTROPY, ROBUST])
    parts, worse = [], []
    for panel in (*BINS, ALL):
        if panel in curves:
            ours, other = best(curves[panel][ROBUST])[1], best(curves[panel][ENTROPY])[1]
            parts.append(f"{panel}: {ours:.4f} against {other:.4f}")
            worse.append((panel in BINS[-2:], ours > other))
    large = [each for is_large, each in worse if is_large]
    share = scores(runs, robust_at(MAIN), "share")
    capped = int((share[:, -1] < fact(runs, "prevalence")).sum())
    return Claim(
        "Class-robust regression does poorly for species of larger prevalence",
        f"least log loss, against entropy-weighted maxent: {'; '.join(parts)}. A reason: its share "
        "of presences p(y=1) is bounded by the boxes, because presences and the rest must add up "
        f"to the pool; at default {DEFAULTS[-1]:g} it averages {share[:, -1].mean():.2f} and is "
        f"below the survey's for {capped} of {len(share)} species",
        HOLDS if large and all(large) else PART if any(large) else NOT,
    )


def _knowing(runs: Runs) -> Claim:
    regions = fact(runs, "region")
    known, oracle = constant(runs), scores(runs, maxent_at(MAIN), "oracle")
    entropy = _at_best(runs, maxent_at(MAIN), "entropy")
    apart = mean_of(known - entropy, regions)
    return Claim(
        "Not said in the paper: a constant that knows each survey's prevalence has a lower log "
        "loss than entropy-weighted maxent with one default",
        f"constant {known.mean():.4f}, entropy-weighted maxent at its best default "
        f"{entropy.mean():.4f} (difference {apart.value:+.4f}, s.e. over regions "
        f"{apart.regions:.4f}), maxent weighted by that prevalence {oracle.mean():.4f}",
        verdict(apart.value, apart.regions),
    )
