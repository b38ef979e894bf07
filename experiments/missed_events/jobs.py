"""One repeat of a part of the experiment: batches, labels, and every answer to them.

    table   a batch of a scenario and base rate; audits of 0, 25, 50, 100 and 200 rows
    budget  a batch at base rate .008; 156 labels, all at the top, or shared with an audit
    real    a pair of ADBench;  keel  a pair of KEEL: another draw of the audit
    weeks   12 batches with 25 audited rows each, alone and pooled by fours, eights and twelves
    same    a batch with its scores, their exponentials and their ranks: must give equal answers

All randomness comes from SEED and the job's own place, so any job can be done again alone. The AUC
given to the library is the law's (table, budget, weeks) or the pair's own (real, keel), moved by
.15 (one standard deviation) in d'. Averages nothing.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from experiments.missed_events import designs, keel
from experiments.missed_events.designs import Labelled, ask
from experiments.missed_events.scenarios import (
    RATE,
    RATES,
    SCENARIOS,
    Batch,
    auc_of,
    draw,
    noisy_auc,
)

SEED = 2005
AUDITS = (0, 25, 50, 100, 200)
MANY_RATES = ("A", "C", "E", "F")  # the scenarios of the decision table
WEEKS = 12
POOLS = (4, 8, 12)
WEEKLY = ("A", "C", "F")
WEEK_AUDIT = 25
REPEATS = {"table": 60, "budget": 100, "real": 8, "keel": 8, "weeks": 25, "same": 5}
COST = {"table": 0.5, "budget": 1.0, "real": 0.4, "keel": 0.2, "weeks": 3.0, "same": 0.3}
MIXTURES = {"budget": 25, "real": 2, "keel": 2}  # repeats that ask for the slow mixture too


class Job(NamedTuple):
    """What to do: a part, a case of it, and which repeat."""

    part: str
    case: str
    repeat: int

    @property
    def cost(self) -> float:
        """Rough CPU time relative to other jobs, for the order and the progress bar."""
        return COST[self.part]


def case_name(scenario: str, rate: float) -> str:
    """Return the name of a scenario at a base rate.

    Examples
    --------
    >>> case_name("A", 0.002), scenario_of("A 0.002")
    ('A 0.002', ('A', 0.002))
    """
    return f"{scenario} {rate:g}"


def scenario_of(case: str) -> tuple[str, float]:
    """Return scenario and base rate of a case of the table."""
    scenario, _, rate = case.partition(" ")
    return scenario, float(rate)


def cases() -> dict[str, tuple[str, ...]]:
    """Return the cases of each part; real sets that are not there are left out."""
    rated = [case_name(s, r) for s in SCENARIOS for r in RATES if r == RATE or s in MANY_RATES]
    return {
        "weeks": WEEKLY,
        "table": tuple(rated),
        "budget": SCENARIOS,
        "real": tuple(keel.real_pairs()),
        "keel": tuple(keel.keel_pairs()),
        "same": SCENARIOS,
    }


def every_job() -> list[Job]:
    """Return all jobs of a full run."""
    return [
        Job(part, case, repeat)
        for part, held in cases().items()
        for case in held
        for repeat in range(REPEATS[part])
    ]


def quick_jobs() -> list[Job]:
    """Return a few repeats of the parts that need no files."""
    few = {"table": ("A 0.008", "E 0.04"), "budget": ("A", "H"), "weeks": ("A",), "same": ("A",)}
    repeats = {"table": 4, "budget": 4, "weeks": 1, "same": 1}
    return [Job(p, case, k) for p, held in few.items() for case in held for k in range(repeats[p])]


def do(job: Job) -> dict[str, Any]:
    """Do one job and return its record: the job's fields, and one entry per labelled batch."""
    rng = np.random.default_rng([SEED, crc32(f"{job.part} {job.case}".encode()), job.repeat])
    begin = time.process_time()
    found = {
        "table": audits_of_many_sizes,
        "budget": one_budget,
        "real": real_pair,
        "keel": real_pair,
        "weeks": weeks,
        "same": rescaled,
    }[job.part](job, rng)
    spent = designs.plain(time.process_time() - begin)
    return job._asdict() | {"seconds": spent, "batches": found}


Entry = dict[str, Any]


def entry(design: str, m: int, batch: Batch, held: Labelled, answers: dict[str, Any]) -> Entry:
    """Return a labelled batch as its truth, its counts and the answers to it."""
    below, drawn = held.below(batch), held.drawn(batch)
    return {
        "design": design,
        "m": m,
        "seen": batch.seen,
        "missed": batch.missed,
        "known": int(batch.y_true[below].sum()),
        "hits": int(batch.y_true[drawn].sum()),
        "drawn": int(drawn.sum()),
        "frame": int(len(batch.scores) - batch.alarms.sum() - (below & ~drawn).sum()),
        "answers": answers,
    }


def two_ways(batch: Batch, held: Labelled, seed: int, auc: float) -> dict[str, Any]:
    """Ask for the default answer without and with a validation AUC."""
    return {
        "auto": ask(batch, held, random_state=seed),
        "auto, AUC": ask(batch, held, random_state=seed, auc=auc),
    }


def three_ways(batch: Batch, held: Labelled, seed: int, auc: float) -> dict[str, Any]:
    """Ask for the audit alone too."""
    found = two_ways(batch, held, seed, auc)
    return found | {"audit": ask(batch, held, random_state=seed, method="audit")}


def audits_of_many_sizes(job: Job, rng: np.random.Generator) -> list[Entry]:
    """Audit one batch with 0, 25, 50, 100 and 200 rows."""
    scenario, rate = scenario_of(job.case)
    batch, auc = draw(scenario, rng, rate=rate), noisy_auc(auc_of(scenario), rng)
    found = []
    for m in AUDITS:
        seed = int(rng.integers(2**31))
        held = designs.audit(batch, m, seed)
        answers = (three_ways if m else two_ways)(batch, held, seed, auc)
        found.append(entry("audit", m, batch, held, answers))
    return found


def one_budget(job: Job, rng: np.random.Generator) -> list[Entry]:
    """Spend 156 labels at the top, or on alarms and an audit."""
    batch, auc = draw(job.case, rng), noisy_auc(auc_of(job.case), rng)
    seed, m = int(rng.integers(2**31)), designs.below_budget(batch)
    found = []
    for design, held in (("top", designs.top(batch)), ("audit", designs.audit(batch, m, seed))):
        answers = (three_ways if design == "audit" else two_ways)(batch, held, seed, auc)
        if job.repeat < MIXTURES["budget"]:
            answers["mixture"] = ask(batch, held, random_state=seed, method="mixture")
        found.append(entry(design, m, batch, held, answers))
    return found


def real_pair(job: Job, rng: np.random.Generator) -> list[Entry]:
    """Audit a real pair once more."""
    pairs = keel.real_pairs() if job.part == "real" else keel.keel_pairs()
    scores, y = pairs[job.case]
    batch, m = keel.batch_of(scores, y)
    auc, seed = noisy_auc(roc_auc_score(y, scores), rng), int(rng.integers(2**31))
    held = designs.audit(batch, m, seed)
    answers = three_ways(batch, held, seed, auc)
    if job.repeat < MIXTURES[job.part]:
        answers["mixture"] = ask(batch, held, random_state=seed, method="mixture")
    return [entry("audit", m, batch, held, answers)]


def weeks(job: Job, rng: np.random.Generator) -> list[Entry]:
    """Audit twelve weeks a little each; ask about each alone and about several together.

    "one of 12" is a week estimated with the curve's shape from all twelve; "all 12" their total.
    """
    batches = [draw(job.case, rng) for _ in range(WEEKS)]
    seeds = [int(rng.integers(2**31)) for _ in range(WEEKS)]
    held = [designs.audit(b, WEEK_AUDIT, s) for b, s in zip(batches, seeds, strict=True)]
    auc = noisy_auc(auc_of(job.case), rng)
    found = [
        entry("alone", WEEK_AUDIT, batch, labels, three_ways(batch, labels, seed, auc))
        for batch, labels, seed in zip(batches, held, seeds, strict=True)
    ]
    options: dict[str, Any] = {"auto": {}, "auto, AUC": {"auc": auc}, "audit": {"method": "audit"}}
    for pool in POOLS:
        total, labels = _joined(batches[:pool], held[:pool])
        week = np.repeat(np.arange(pool), [len(each.scores) for each in batches[:pool]])
        answers = {
            name: designs.ask_batches(total, labels, week, random_state=seeds[0], **more)
            for name, more in options.items()
        }
        of_total = {name: both[0] for name, both in answers.items()}
        found.append(entry(f"all {pool}", WEEK_AUDIT * pool, total, labels, of_total))
        for k in range(pool):
            of_week = {name: both[1][k] for name, both in answers.items()}
            found.append(entry(f"one of {pool}", WEEK_AUDIT, batches[k], held[k], of_week))
    return found


def _joined(batches: list[Batch], held: list[Labelled]) -> tuple[Batch, Labelled]:
    """Return batches with one threshold one after the other."""
    scores, truth = (
        np.concatenate([getattr(each, name) for each in batches]) for name in ("scores", "y_true")
    )
    labels = Labelled(*(np.concatenate(parts) for parts in zip(*held, strict=True)))
    return Batch(scores, truth, batches[0].threshold), labels


def rescaled(job: Job, rng: np.random.Generator) -> list[Entry]:
    """Ask about the same batch with scores on three scales."""
    batch, auc = draw(job.case, rng), noisy_auc(auc_of(job.case), rng)
    seed, m = int(rng.integers(2**31)), designs.below_budget(batch)
    held = designs.audit(batch, m, seed)
    rank = rankdata(np.append(batch.scores, batch.threshold))
    scales = {
        "plain": batch,
        "exp": Batch(np.exp(batch.scores), batch.y_true, float(np.exp(batch.threshold))),
        "rank": Batch(rank[:-1], batch.y_true, float(rank[-1])),
    }
    found = []
    for name, scaled in scales.items():
        found.append(entry(name, m, scaled, held, three_ways(scaled, held, seed, auc)))
    return found
