r"""Which interval for recall and missed events holds the truth, and which is the shortest?

    python -m experiments.run missed_events                all; writes results and cells (run.py)
    python -m experiments.missed_events.contest --cases "normal; bimodal" --labels 50,200 \
        --methods "SRS, exact; scarce" --repeats 40        some cells, prints them

scarce and its rivals (rivals.py) get the same batches (worlds.py, rankings.py), the labels of all
alerts and 25, 50, 100, 200 or 400 labels below the threshold, which each chooses itself. Truth is
the recall of the batch, nominal coverage 90 %. All randomness comes from SEED and the place of the
batch and the method. A job is 20 repeats of one method in one cell, kept at once on file: `--work`
or the folder .work here. Tables are contest_page.py's business. Tunes nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from experiments import resume
from experiments.missed_events import contest_page, rankings, worlds
from experiments.missed_events.designs import plain
from experiments.missed_events.rivals import Answer, Rival, Rng, absent, rivals
from experiments.missed_events.scenarios import Array
from experiments.missed_events.worlds import World
from scarce import choose_labels, estimate_performance

SEED = 20_261
LABELS = (25, 50, 100, 200, 400)
REPEATS = 100
LARGE, LARGE_REPEATS = 500_000, 60  # rows of a world from which on fewer repeats are done
BLOCK = 20  # repeats in a job
OURS = "scarce"
COST = {OURS: 50.0, "SRS, exact": 3.0, "Neyman, monotone": 60.0}  # rough milliseconds
OTHER_COST = 20.0
HERE = Path(__file__).parent


def scarce_answer(scores: Array, y_true: Array, threshold: float, n: int, rng: Rng) -> Answer:
    """Ask the library which rows to label, label them, and ask for recall and missed events."""
    labels = np.where(scores >= threshold, y_true, np.nan)
    seeds = [int(rng.integers(2**31)) for _ in range(2)]
    choice = choose_labels(
        scores, labels, policy="audit", n=n, threshold=threshold, random_state=seeds[0]
    )
    labels[choice.rows] = y_true[choice.rows]
    found = estimate_performance(
        scores, labels, threshold=threshold, inclusion=choice, random_state=seeds[1]
    )
    recall, missed = found.recall, found.missed
    return Answer(recall.value, recall.low, recall.high, missed.value, missed.low, missed.high)


def methods() -> dict[str, Rival]:
    """Return every method that can run here, by name."""
    return {OURS: scarce_answer} | rivals()


# --- jobs -----------------------------------------------------------------------------------------


class Job(NamedTuple):
    """What to do: one method with n labels (0: the ranking's own number) in a block of repeats."""

    case: str
    method: str
    n: int
    block: int

    @property
    def cost(self) -> float:
        """Rough CPU time, for the progress bar."""
        rows = worlds.LAWS[self.case].rows if self.case in worlds.LAWS else 10_000
        return COST.get(self.method, OTHER_COST) * max(1.0, rows / 50_000)


def cases() -> list[str]:
    """Return simulated worlds, and the real rankings that are there."""
    return [*worlds.NAMES, *rankings.groups()]


def sizes(case: str, labels: Sequence[int]) -> Sequence[int]:
    """Return the numbers of labels that a case is tried with."""
    own = case not in worlds.NAMES and rankings.own_budget(case)
    return (rankings.OWN_BUDGET,) if own else labels


def jobs_of(
    chosen: Sequence[str], asked: Sequence[str], labels: Sequence[int], repeats: int | None = None
) -> list[Job]:
    """Return the jobs of some cases and methods.

    Examples
    --------
    >>> len(jobs_of(["normal", "A"], ["SRS, exact"], [50, 200], 40))
    8
    """
    return [
        Job(case, method, n, block)
        for case in chosen
        for n in sizes(case, labels)
        for method in asked
        for block in range(-(-(repeats or repeats_of(case)) // BLOCK))
    ]


def repeats_of(case: str) -> int:
    """Return how often a method is run on a case: less often where that is slow."""
    large = case in worlds.LAWS and worlds.LAWS[case].rows >= LARGE
    return LARGE_REPEATS if large else REPEATS


def batch_of(case: str, repeat: int) -> tuple[World, int]:
    """Return the batch that every method gets in a repeat, and its own number of labels or 0."""
    if case in worlds.NAMES:
        rng = np.random.default_rng([SEED, crc32(case.encode()), repeat])
        return worlds.draw(case, rng), 0
    return rankings.world(case, repeat)


def do(job: Job) -> dict[str, Any]:
    """Ask one method in every repeat of a block; the record holds truths and answers."""
    method = methods()[job.method]
    place = crc32(f"{job.case} {job.method} {job.n}".encode())
    found: list[dict[str, Any]] = []
    spent = 0.0
    for repeat in range(job.block * BLOCK, (job.block + 1) * BLOCK):
        world, own = batch_of(job.case, repeat)
        rng = np.random.default_rng([SEED, place, repeat])
        begin = time.process_time()
        answer = method(world.scores, world.answers, world.threshold, job.n or own, rng)
        spent += time.process_time() - begin
        entry = {"batch": world.name, "seen": world.seen, "missed": world.missed}
        found.append(entry | {"answer": [plain(value) for value in answer]})
    return job._asdict() | {"milliseconds": plain(1e3 * spent / BLOCK), "repeats": found}


# Rivals know no more of scarce than its curve, so a change of ours does not do them again.
_SHARED = ("scenarios.py", "worlds.py", "keel.py", "rankings.py", "rivals.py", "contest.py")
_OWN = tuple(HERE / name for name in _SHARED)
_WORK = resume.Work(("missed/*", "missed/mixture/*"), _OWN, do, Job)
_RIVALS = resume.Work(("missed/curve", "missed/score_table"), _OWN, do, Job)


def records_of(todo: Sequence[Job], folder: Path | None, engine: Any) -> list[dict[str, Any]]:
    """Return the record of every job, doing those that are not on file yet."""
    found = []
    for work, ours in ((_WORK, True), (_RIVALS, False)):
        own = [job for job in todo if (job.method == OURS) == ours]
        file = None if folder is None else work.work_file(folder / ("ours" if ours else "rivals"))
        found += work.do_all(own, file, engine=engine) if own else []
    return found


# --- the command line -----------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    asked = _parser().parse_args(arguments)
    known, able = cases(), list(methods())
    chosen, used = _some(asked.cases, known), _some(asked.methods, able)
    labels = tuple(int(n) for n in asked.labels.split(",")) if asked.labels else LABELS
    for sentence in (*absent(), *rankings.absent()):
        print(sentence, file=sys.stderr)
    engine = f"processes:{asked.processes}" if asked.processes > 1 else None
    records = records_of(jobs_of(chosen, used, labels, asked.repeats), asked.work, engine)
    print(contest_page.page_of(contest_page.cells_of(records)))
    return 0


def _some(names: str | None, known: Sequence[str]) -> list[str]:
    """Return the names asked for, separated by semicolons, or all."""
    if not names:
        return list(known)
    found = [name.strip() for name in names.split(";")]
    for name in found:
        if name not in known:
            raise SystemExit(f"There is no {name!r} here; there are {'; '.join(known)}.")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.missed_events.contest", description=__doc__
    )
    parser.add_argument("--cases", help="worlds and rankings, separated by semicolons")
    parser.add_argument("--methods", help="methods, separated by semicolons")
    parser.add_argument("--labels", help="numbers of labels, separated by commas")
    parser.add_argument("--repeats", type=int, help=f"per cell, in blocks of {BLOCK}")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--work", type=Path, default=HERE / ".work", help="where records are kept")
    return parser


if __name__ == "__main__":  # by its own name, under which workers import it
    from experiments.missed_events import contest

    sys.exit(contest.main())
