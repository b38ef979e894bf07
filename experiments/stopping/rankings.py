"""Rankings to be reviewed from the top, simulated and of real texts, and what each rule costs.

    simulated  20,000 rows, 1 % or 4 % events, normal scores that are 2.8, 1.8 or 0.9 standard
               deviations apart, or 2.5 with an eighth of the events in a clump at the middle
    text       short descriptions of Debian packages; the topic is a Section: games, sound or mail.
               TF-IDF and a logistic regression fitted to 300 packages at random, with the topic
               among them; 4 such rankings a topic, of the packages that were not fitted to

Text is ranked once and kept in the folder SCARCE_RANKINGS, outside the project (run `apt-get
update` before). Without that folder the text rankings are named and left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.io.atomic import whole_file
from scarce.missed.stopping import (
    Review,
    enough_of_sample,
    events_to_sample,
    first_proven,
    rule_of,
)

Array = NDArray[np.float64]
Order = NDArray[np.intp]  # of the draws: the sample is its first rows
FOLDER, FILE = "SCARCE_RANKINGS", "stopping-rankings-1.npz"
ROWS = 20_000
CONFIDENCE = 0.95
TOPICS = ("games", "sound", "mail")
SEQUENCES, TRAINING, SEED = 4, 300, 20_27
APART = {"good": 2.8, "medium": 1.8, "poor": 0.9, "clump": 2.5}


class Outcome(NamedTuple):
    """What a rule cost, and whether it ended with the recall that it claims."""

    labels: int
    true: bool


def simulated(kind: str, share: float, rng: np.random.Generator) -> Array:
    """Return which rows are events, from the greatest score down."""
    events = round(share * ROWS)
    truth = np.zeros(ROWS)
    truth[:events] = 1.0
    scores = rng.normal(size=ROWS) + APART[kind] * truth
    if kind == "clump":
        scores[: events // 8] = 0.1 * rng.normal(size=events // 8)
    return truth[np.argsort(-scores)]


def by_qbcb(truth: Array, target: float, events: int, order: Order) -> Outcome:
    """Sample all rows until `events` events were found, then review down to the one that proves."""
    drawn = order[: _size(truth, events, order)]
    hits = np.sort(drawn[truth[drawn] == 1])
    enough = enough_of_sample(len(hits), target, CONFIDENCE)
    end = len(truth) if enough is None else int(hits[enough - 1]) + 1
    return _outcome(truth, end, int((drawn >= end).sum()), target)


def by_review(
    truth: Array, target: float, events: int, order: Order, *, fixed: bool = False
) -> Outcome:
    """Draw the same sample, or one of the size that is expected to hold as many, and review."""
    n = len(truth)
    size = _size(truth, events, order)
    if fixed:
        size = min(n, round(events * n / float(truth.sum())))
    sampled = np.zeros(n, bool)
    sampled[order[:size]] = True
    review = Review(-np.arange(n, dtype=np.float64), truth, sampled, n, 0, size, n)
    rule = rule_of(review, target, CONFIDENCE, None if fixed else events)
    end = first_proven(review, target, rule)
    assert end is not None
    return _outcome(truth, end, int(sampled[end:].sum()), target)


def _size(truth: Array, events: int, order: Order) -> int:
    found = np.flatnonzero(truth[order])
    return int(found[min(events, len(found)) - 1]) + 1


def _outcome(truth: Array, end: int, below: int, target: float) -> Outcome:
    return Outcome(end + below, bool(truth[:end].sum() >= target * truth.sum() - 1e-9))


Rule = Callable[[Array, float, Order], Outcome]
RULES: dict[str, Rule] = {
    "QBCB r=30": lambda truth, target, order: by_qbcb(truth, target, 30, order),
    "QBCB r=50": lambda truth, target, order: by_qbcb(truth, target, 50, order),
    "review r=30": lambda truth, target, order: by_review(truth, target, 30, order),
    "review r=50": lambda truth, target, order: by_review(truth, target, 50, order),
    "review": lambda truth, target, order: by_review(
        truth, target, events_to_sample(target, CONFIDENCE), order
    ),
    "review, fixed size": lambda truth, target, order: by_review(
        truth, target, events_to_sample(target, CONFIDENCE), order, fixed=True
    ),
}


def ratio(ours: Array, theirs: Array) -> tuple[float, float]:
    """Return the ratio of two means over the same runs, and its standard error."""
    value = float(ours.mean() / theirs.mean())
    off = ours - value * theirs
    return value, float(off.std(ddof=1) / np.sqrt(len(off)) / theirs.mean())


# --- texts ----------------------------------------------------------------------------------------


def texts() -> dict[str, list[Array]]:
    """Return the rankings of each topic, from the folder SCARCE_RANKINGS; none without it."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return {}
    kept = Path(folder) / FILE
    if not kept.exists():
        if shutil.which("apt-cache") is None:
            return {}
        made = _rank_packages()
        if not made:
            return {}
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(kept) as path, open(path, "wb") as stream:
            np.savez_compressed(stream, **made)  # type: ignore[arg-type]
    with np.load(kept) as held:
        return {
            topic: [held[f"{topic}-{k}"].astype(np.float64) for k in range(SEQUENCES)]
            for topic in TOPICS
        }


def packages() -> list[tuple[str, str]]:
    """Return section and description of every package that apt knows, each name once."""
    told = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout
    found: dict[str, tuple[str, str]] = {}
    for entry in told.decode("utf-8", "replace").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line)
        if {"Package", "Section", "Description"} <= fields.keys():
            section = fields["Section"].rpartition("/")[2]
            found[fields["Package"]] = (section, fields["Description"])
    return [found[name] for name in sorted(found)]


def _rank_packages() -> dict[str, NDArray[np.bool_]]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    listed = packages()
    if len(listed) < 10_000:
        return {}
    section = np.array([one[0] for one in listed])
    words = TfidfVectorizer(sublinear_tf=True, min_df=3).fit_transform(one[1] for one in listed)
    rng, made = np.random.default_rng(SEED), {}
    for topic in TOPICS:
        truth = section == topic
        for k in range(SEQUENCES):
            chosen = rng.permutation(len(truth))
            fitted, rest = chosen[:TRAINING], chosen[TRAINING:]
            while truth[fitted].sum() < 5:  # more packages, until five are of the topic
                fitted, rest = chosen[: len(fitted) + 50], chosen[len(fitted) + 50 :]
            model = LogisticRegression(C=10.0).fit(words[fitted], truth[fitted])
            order = np.argsort(-model.decision_function(words[rest]), kind="stable")
            made[f"{topic}-{k}"] = truth[rest][order]
    return made
