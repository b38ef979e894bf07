"""The notes' pipeline as one story: data, likelihood and prior, cross-validation, decision.

    action = argmin over a of  E[cost(y, a) | x],   p(y | x) by MAP          (003 sections 0.2, 0.8)

Does each step do what the notes say, where does it fail, and what mends it? Four parts: decisions
with a person to ask (decisions.py), numbers to act on (amounts.py), labels chosen by uncertainty
(active.py), generative models (generative.py). Truth is known in every world. The notes print no
number, so `paper` is empty throughout. Repeat r of part k draws from the seed [SEED, k, r]: a quick
run is the beginning of a full one.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType

import numpy as np

from experiments.frame import Comparison, Progress, over_repeats
from experiments.paper_003 import active, amounts, decisions, generative
from scarce import many

TITLE = "The lecture notes' pipeline, from data to decisions, with known truth"
SEED = 9003
PARTS: tuple[tuple[ModuleType, int, int], ...] = (  # with repeats, quick and full
    (decisions, 7, 400),
    (amounts, 4, 200),
    (active, 14, 500),
    (generative, 5, 200),
)


def row(quantity: str, found: list[float], why: str) -> Comparison:
    """Make a row; of yes and no, its error is not 0 when all agree (Agresti and Coull)."""
    values = np.array(found)
    if "share of repeats" in quantity or "coverage" in quantity:
        smooth = (values.sum() + 2.0) / (len(values) + 4.0)
        error = float(np.sqrt(smooth * (1.0 - smooth) / (len(values) + 4.0)))
        return Comparison(quantity, None, float(values.mean()), error, len(values), why)
    if np.ptp(values) <= 1e-12 * abs(values[0]):  # the same each time, up to rounding
        return Comparison(quantity, None, found[0], 0.0, len(values), why)
    return over_repeats(quantity, None, found, why)


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Go through the four parts."""
    table = []
    for number, (part, few, all_of_them) in enumerate(PARTS, 1):
        repeats = few if quick else all_of_them
        progress(f"part {number} of {len(PARTS)}, {part.TITLE}: {repeats} repeats")
        found = many([partial(part.one, [SEED, number, repeat]) for repeat in range(repeats)])
        table += [row(name, [one[name] for one in found], why) for name, why in part.WHY.items()]
    return table
