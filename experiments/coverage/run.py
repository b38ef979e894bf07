"""Do 90 % intervals hold the truth with few events, ties, weights, groups and drawn labels?

    python -m experiments.run coverage              400 draws of each world; resumes after a stop
    python -m experiments.run coverage --quick      a few draws of two worlds

Every interval of `evaluate`, the curves, the costs and the comparisons (figures.py) in every world
(worlds.py). `before.json` holds coverage and median width of the same figures before the unseen row
was weighed by where it could hide. A cell is right from .87 to .97: below, the interval promises
too much; above, it is wider than it had to be.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.coverage.figures import FAMILIES, Held, know
from experiments.coverage.worlds import WORLDS
from experiments.frame import Comparison, Progress, Results, write_results
from experiments.resume import Record, Work

Array = NDArray[np.float64]

TITLE = "Coverage of 90 % intervals of evaluation, curves, costs and comparisons in eleven worlds"
SEED = 1700
LONG = True
DRAWS, PARTS = 40, 10  # draws of a job, jobs of a world
BEFORE = Path(__file__).with_name("before.json")
RIGHT = (0.87, 0.97)
BY_NAME = {world.name: world for world in WORLDS}


class Job(NamedTuple):
    """Some draws of one world, judged by one family of figures."""

    world: str
    family: str
    part: int

    @property
    def cost(self) -> float:
        """Rough CPU seconds."""
        return DRAWS * {"curves": 0.5, "costs": 0.1}.get(self.family, 0.1)


def do(job: Job) -> Record:
    """Return low, high, truth and value of each figure, one for each draw; null where refused."""
    world = BY_NAME[job.world]
    know(world)
    rng = np.random.default_rng([SEED, list(BY_NAME).index(job.world), job.part])
    found: dict[str, list[list[float | None]]] = {}
    for _ in range(DRAWS):
        for name, one in FAMILIES[job.family](world.draw(rng), world).items():
            found.setdefault(name, []).append(_plain(one))
    return {**job._asdict(), "found": found}


def _plain(one: Held) -> list[float | None]:
    return [float(f"{x:.6g}") if np.isfinite(x) else None for x in one]


def jobs(quick: bool) -> list[Job]:
    """Return all draws, or a few that take seconds."""
    if quick:
        return [Job(name, family, 0) for name in ("12 events", "ties") for family in FAMILIES]
    return [
        Job(world.name, family, part)
        for part in range(PARTS)
        for world in WORLDS
        for family in FAMILIES
    ]


WORK = Work(
    ("bootstrap", "evaluation/*", "scoring"),
    tuple(Path(__file__).with_name(name) for name in ("run.py", "figures.py", "worlds.py")),
    do,
    Job,
)


def run(quick: bool, progress: Progress, work: Path) -> list[Comparison]:
    """Draw, and return the table."""
    todo = jobs(quick)
    progress(f"{len(todo)} jobs of {DRAWS} draws")
    return comparisons(WORK.do_all(todo, None if quick else WORK.work_file(work)))


class Cell(NamedTuple):
    """One figure in one world."""

    coverage: float
    draws: int
    refused: int
    width: float


def cell(table: Array) -> Cell:
    """Return coverage and median width where there is an interval, and how often there is none."""
    low, high, truth, _ = table.T
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return Cell(np.nan, 0, len(table), np.nan)
    slack = 1e-5 * np.abs(truth)  # of numbers with six digits
    inside = ((low - slack <= truth) & (truth <= high + slack))[known]
    width = float(np.median((high - low)[known]))
    return Cell(float(inside.mean()), int(known.sum()), int((~known).sum()), width)


def cells(records: list[Record]) -> dict[str, dict[str, Cell]]:
    """Return the cells by figure and world."""
    held: dict[str, dict[str, list[list[float | None]]]] = {}
    for record in records:
        for name, rows in record["found"].items():
            held.setdefault(name, {}).setdefault(record["world"], []).extend(rows)
    return {
        name: {world: cell(np.array(rows, dtype=np.float64)) for world, rows in by_world.items()}
        for name, by_world in held.items()
    }


def comparisons(records: list[Record]) -> list[Comparison]:
    """Return the rows of the table: coverage of each figure in each world."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    rows = []
    for name, by_world in cells(records).items():
        for world, one in by_world.items():
            if one.draws == 0:
                continue
            smooth = (one.coverage * one.draws + 2) / (one.draws + 4)
            error = float(np.sqrt(smooth * (1 - smooth) / (one.draws + 4)))
            why = f"Nominal .90. Width {one.width:.3g}"
            old = before.get(name, {}).get(world)
            why += f"; before: {old[0]:.2f}, {old[1]:.3g}" if old else ""
            why += f"; refused in {one.refused} draws" if one.refused else ""
            quantity = f"{name} | {world}"
            rows.append(Comparison(quantity, None, one.coverage, error, one.draws, f"{why}."))
    return rows


def page(rows: list[Comparison]) -> str:
    """Return coverage and width by figure and world; beyond the right range in bold."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    worlds = list(dict.fromkeys(row.quantity.partition(" | ")[2] for row in rows))
    found: dict[str, dict[str, Comparison]] = {}
    for row in rows:
        name, _, world = row.quantity.partition(" | ")
        found.setdefault(name, {})[world] = row
    lines = [
        f"# {TITLE}",
        "",
        "`python -m experiments.run coverage`. Coverage of draws that have an interval, with the",
        "median width as a share of the width before (where that was measured). Nominal: .90,",
        "standard error about .015. Bold: below .87 or above .97.",
        "",
        "| figure | " + " | ".join(worlds) + " |",
        "|---|" + "---|" * len(worlds),
    ]
    for name, by_world in found.items():
        shown = [_shown(by_world.get(world), before.get(name, {}).get(world)) for world in worlds]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    values = [row.ours for row in rows]
    inside = np.mean([RIGHT[0] <= value <= RIGHT[1] for value in values])
    below = sum(value < RIGHT[0] for value in values)
    lines += [
        "",
        f"{len(values)} cells: {inside:.0%} between .87 and .97, {below} below, "
        f"{sum(value > RIGHT[1] for value in values)} above. Least {min(values):.3f}.",
        "",
        "Above .97 stand figures of very few expected rows (an event below the threshold that is",
        "met 0.3 times in a draw): an interval that allows for what was not seen holds nearly",
        "always there, because it cannot tell 0.3 expected rows from 3.",
        "",
    ]
    return "\n".join(lines)


def _shown(row: Comparison | None, old: list[float] | None) -> str:
    if row is None:
        return "refused"
    text = f"{row.ours:.2f}".lstrip("0")
    text = text if RIGHT[0] <= row.ours <= RIGHT[1] else f"**{text}**"
    width = float(row.why.partition("Width ")[2].split(";")[0].rstrip("."))
    return f"{text} ({width / old[1]:.2f})" if old and old[1] else text


def write(results: Results, folder: Path, work: Path) -> None:
    """Write the rows and the page."""
    write_results(results, folder)
    (folder / "results.md").write_text(page(list(results.comparisons)), encoding="utf-8")
