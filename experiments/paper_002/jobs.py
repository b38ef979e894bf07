"""One repeat of a part of the experiment, and what every method gives on it.

    figure 1   Fisher information against balance and labelling rate, no draws    (002 section 4)
    figure 2   one sample of 10,000 scores, the top 5 % labelled                  (002 section 5)
    trials     one sample of 5,000 scores: family, recall and dP/dR, Figures 3, 4 (002 section 6.1)
    slopes     dP/dR counted in a large sample, for the closed form of the truth
    sets       one score of one real set: fits, curves and audits, Figure 5       (002 section 6.2)

All methods see the same scores of a repeat, and so do designs that differ in labels alone. All
randomness comes from SEED and the job's own place, so any job can be done again alone. Averages
nothing.
"""

from __future__ import annotations

import time
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from experiments.paper_002 import information, sets
from experiments.paper_002.methods import (
    AUTO,
    BULK,
    LIKELIHOOD,
    MIXTURE,
    PAPER,
    Array,
    by_mixture,
    by_performance,
    fitted,
    in_rounds,
    number,
    numbers,
)
from experiments.paper_002.printed import (
    BACKGROUNDS,
    LABELLED_2,
    RATE_4,
    RECALL_4,
    ROWS_2,
    ROWS_3,
    SHARE_4,
    SHARES_2,
)
from scarce.datasets import (
    LABELLED_SHARES,
    POSITIVE_SHARES,
    ScoreSample,
    make_convergence_scores,
    make_trial_scores,
)

SEED = 1002
TAIL, RANDOM, ADAPTIVE = LABELS = ("tail", "random", "adaptive")
SHARES = (*POSITIVE_SHARES[:-2], SHARE_4, POSITIVE_SHARES[-1])  # .00792 becomes the default .008
SOME_SHARES, SOME_RATES = SHARES[::3], LABELLED_SHARES[::2]  # six fits each: labels in rounds
LEVELS = (0.25, 0.05, 0.1, 0.4, 0.55, 0.7, 0.85)  # true recall, at the default design alone
REPEATS = {"figure 1": 1, "figure 2": 400, "slopes": 40, "sets": 1}
TRIALS = {TAIL: (150, 24), RANDOM: (150, 24), ADAPTIVE: (50, 10)}  # at the default, elsewhere

# Figure 2: the paper's fit, ours, and ours with the weak prior on the spreads
NO_PRIOR, PRIOR = "no prior", "prior"
CONVERGENCE: dict[str, dict[str, Any]] = {
    PAPER: {"start": "paper", "spread_prior": None, "keep_path": True},
    NO_PRIOR: {"spread_prior": None},
    PRIOR: {},
}
ITERATIONS = (0, 1, 2, 3, 5, 8, 13, 20, 32, 50, 80, 130, 200, 320, 500, 800, 1300, 2000)
PARAMETERS = ("share", "mean 0", "variance 0", "mean 1", "variance 1")

SLOPE_ROWS = 500_000
SLOPE_HALF = 0.025  # counted precision needs an interval of recall


class Design(NamedTuple):
    """One setting of the Monte Carlo study."""

    background: str
    labels: str
    share: float
    rate: float

    @property
    def name(self) -> str:
        """Return the case's name.

        Examples
        --------
        >>> Design("normal", "tail", 0.5, 1 / 32).name
        'normal, tail, 0.5, 1/32'
        """
        rate = Fraction(self.rate).limit_denominator(1000)
        return f"{self.background}, {self.labels}, {self.share:.4g}, {rate}"

    @property
    def default(self) -> bool:
        """Whether balance and labelling rate are the paper's defaults."""
        return (self.share, self.rate) == (SHARE_4, RATE_4)

    @property
    def trials(self) -> int:
        """How many trials a full run does."""
        return TRIALS[self.labels][0 if self.default else 1]

    @property
    def levels(self) -> tuple[float, ...]:
        """True recalls at which the estimates are read."""
        return LEVELS if self.default else (RECALL_4,)


class Job(NamedTuple):
    """What to do: a part, a case of it, and which repeat."""

    part: str
    case: str
    repeat: int

    @property
    def cost(self) -> float:
        """Rough CPU time relative to other jobs, for the order and the progress bar."""
        if self.part == "trials":
            design = designs()[self.case]
            tail = 1.8 if design.default else 0.4
            return {TAIL: tail, RANDOM: 0.25, ADAPTIVE: 1.2}[design.labels]
        return {"sets": 0.8}.get(self.part, 0.12)


@cache
def designs() -> dict[str, Design]:
    """Return the settings of Figures 3 and 4: balances at the default rate, rates at .008."""
    points = [(share, RATE_4) for share in SHARES]
    points += [(SHARE_4, rate) for rate in LABELLED_SHARES if rate != RATE_4]
    held = [
        Design(background, labels, share, rate)
        for background in BACKGROUNDS
        for labels in LABELS
        for share, rate in points
        if labels != ADAPTIVE or (share in SOME_SHARES and rate in SOME_RATES)
    ]
    return {design.name: design for design in held}


def cases() -> dict[str, tuple[str, ...]]:
    """Return the cases of each part."""
    return {
        "sets": tuple(sets.CASES),
        "figure 1": tuple(information.SWEEPS),
        "figure 2": tuple(f"{share:g}" for share in SHARES_2),
        "trials": tuple(designs()),
        "slopes": BACKGROUNDS,
    }


def every_job() -> list[Job]:
    """Return all jobs of a full run."""
    return [
        Job(part, case, repeat)
        for part, held in cases().items()
        for case in held
        for repeat in range(designs()[case].trials if part == "trials" else REPEATS[part])
    ]


def quick_jobs() -> list[Job]:
    """Return a few jobs that end within seconds; no set, so that no data folder is needed."""
    default = [Design(b, labels, SHARE_4, RATE_4).name for b in BACKGROUNDS for labels in LABELS]
    return [
        *(Job("figure 1", case, 0) for case in information.SWEEPS),
        *(Job("figure 2", case, r) for case in cases()["figure 2"] for r in range(3)),
        *(Job("trials", case, r) for case in default for r in range(2)),
        *(Job("slopes", case, r) for case in BACKGROUNDS for r in range(3)),
    ]


def do(job: Job) -> dict[str, Any]:
    """Do one job and return its record: the job's fields, what was found and CPU seconds."""
    begin = time.process_time()
    found = {
        "figure 1": information.sweep,
        "figure 2": converge,
        "trials": trial,
        "slopes": counted_slope,
        "sets": sets.look,
    }[job.part](job.case, job.repeat)
    seconds = round(time.process_time() - begin, 3)
    return job._asdict() | {"found": found, "seconds": seconds}


def converge(case: str, repeat: int) -> dict[str, Any]:
    """Fit two normal laws in the ways of CONVERGENCE, and keep the path of the paper's EM."""
    share = float(case)
    rng = np.random.default_rng((SEED, 2, SHARES_2.index(share), repeat))
    sample = make_convergence_scores(
        ROWS_2, positive_share=share, labelled_share=LABELLED_2, random_state=rng
    )
    found: dict[str, Any] = {"fits": {}, "paths": {}, "steps": {}}
    for name, setting in CONVERGENCE.items():
        model = fitted(LIKELIHOOD, sample.scores, sample.y, background="normal", **setting)
        end = [model.positive_share_, *model.background_params_, *model.foreground_params_]
        found["fits"][name] = numbers(_as_printed(np.array([end]))[0])
        if setting.get("keep_path"):
            path = _as_printed(np.asarray(model.path_))
            at = np.minimum(ITERATIONS, len(path) - 1)  # a path that has ended stays where it is
            found["paths"][name] = [numbers(row) for row in path[at]]
            found["steps"][name] = len(path) - 1
    return found


def _as_printed(path: Array) -> Array:
    """Turn log standard deviations into the paper's variances."""
    made = np.array(path, dtype=np.float64)
    made[:, [2, 4]] = np.exp(2.0 * made[:, [2, 4]])
    return made


def trial(case: str, repeat: int) -> dict[str, Any]:
    """Fit one sample in every way and read recall and dP/dR where the truth is known."""
    design = designs()[case]
    sample, rng = draw(design, repeat)
    thresholds = np.asarray(sample.truth.threshold_at_recall(design.levels), dtype=np.float64)
    events = np.sort(sample.scores[sample.y_true == 1.0])
    above = events.size - np.searchsorted(events, thresholds, side="left")
    found: dict[str, Any] = {
        "realised": numbers(above / max(events.size, 1)),
        "positives": {},
        "methods": {},
    }
    labels = dict.fromkeys((PAPER, BULK, LIKELIHOOD), sample.y)
    if design.labels == ADAPTIVE:
        n = int(np.count_nonzero(~np.isnan(sample.y)))
        labels = {
            method: in_rounds(method, sample.scores, sample.y_true, n)
            for method in (PAPER, LIKELIHOOD)
        }
    for method, y in labels.items():
        found["positives"][method] = int(np.count_nonzero(y == 1.0))
        model = fitted(method, sample.scores, y)
        found["methods"][method] = by_mixture(model, thresholds)
    seed = int(rng.integers(2**31))
    more = {TAIL: (MIXTURE, AUTO) if design.default else (AUTO,)}
    for method in more.get(design.labels, ()):
        found["methods"][method] = by_performance(method, sample.scores, sample.y, thresholds, seed)
    return found


def draw(design: Design, repeat: int) -> tuple[ScoreSample, np.random.Generator]:
    """Draw the sample of a trial; designs that differ in labels alone share its scores.

    Where labels come in rounds the sample shows those of the tail, whose number they take.
    """
    place = (BACKGROUNDS.index(design.background), SHARES.index(design.share), repeat)
    rng = np.random.default_rng((SEED, 3, *place))
    sample = make_trial_scores(
        ROWS_3,
        background=design.background,
        positive_share=design.share,
        labelled_share=design.rate,
        labels=RANDOM if design.labels == RANDOM else TAIL,
        random_state=rng,
    )
    return sample, rng


def counted_slope(case: str, repeat: int) -> dict[str, Any]:
    """Count the chord of precision over recall .225 to .275, and give it in closed form too."""
    rng = np.random.default_rng((SEED, 4, BACKGROUNDS.index(case), repeat))
    sample = make_trial_scores(SLOPE_ROWS, background=case, random_state=rng)
    positives = np.sort(sample.scores[sample.y_true == 1.0])[::-1]
    negatives = np.sort(sample.scores[sample.y_true == 0.0])
    precision, recall = [], []
    for wanted in (RECALL_4 - SLOPE_HALF, RECALL_4 + SLOPE_HALF):
        hits = round(wanted * len(positives))
        alarms = len(negatives) - int(np.searchsorted(negatives, positives[hits - 1], side="left"))
        precision.append(hits / (hits + alarms))
        recall.append(hits / len(positives))
    return {"chord": number((precision[1] - precision[0]) / (recall[1] - recall[0]))}
