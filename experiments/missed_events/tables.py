"""Records to cells: what a group of answers is worth.

    coverage   share of batches whose realised recall (or missed events) the interval holds
    width      mean length of the intervals of recall
    RMSE       of the points of recall against the realised recall
    refused    share of batches for which no interval, or no point, of recall is given

A cell is a group of labelled batches asked in one way. Standard errors of coverage and width are
over batches; of real scores over pairs, whose draws share their events; of weeks over repeats,
whose weeks share a pooled fit. No batch is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.missed_events.designs import read_answer
from experiments.missed_events.jobs import MANY_RATES, scenario_of
from experiments.missed_events.printed import SEEN
from experiments.missed_events.scenarios import RATE

Answered = dict[str, Any]  # one labelled batch asked in one way, with its truth
Cell = dict[str, Any]
AUTO, AUC, AUDIT, MIXTURE = "auto", "auto, AUC", "audit", "mixture"
CLOSE = 2e-6  # records hold six digits


def seen_class(seen: int) -> str:
    """Return the class of a number of events seen.

    Examples
    --------
    >>> [seen_class(k) for k in (0, 4, 5, 20, 21)]
    ['<5', '<5', '5-20', '5-20', '>20']
    """
    return SEEN[int(seen >= 5) + int(seen > 20)]


def answered(records: Iterable[Mapping[str, Any]]) -> list[Answered]:
    """Return every answer of every record with its truth."""
    return [
        {k: v for k, v in batch.items() if k != "answers"}
        | {"part": record["part"], "case": record["case"], "repeat": record["repeat"]}
        | {"method": method, "class": seen_class(batch["seen"])}
        | {f"said_{name}": value for name, value in read_answer(answer).items()}
        for record in records
        for batch in record["batches"]
        for method, answer in batch["answers"].items()
    ]


def truth(row: Answered) -> float:
    """Return the realised recall."""
    return float(row["seen"] / (row["seen"] + row["missed"]))


def holds(row: Answered) -> bool:
    """Return whether the interval of recall holds the realised one."""
    low, high = row["said_recall_low"], row["said_recall_high"]
    return bool(low - CLOSE <= truth(row) <= high + CLOSE)


def counts_held(row: Answered) -> bool:
    """Return whether the interval of missed events holds their number."""
    low, high = row["said_missed_low"], row["said_missed_high"]
    slack = CLOSE * max(1.0, row["missed"])
    return bool(low - slack <= row["missed"] <= high + slack)


def offered(row: Answered) -> bool:
    """Return whether both ends of recall are given."""
    return not (math.isnan(row["said_recall_low"]) or math.isnan(row["said_recall_high"]))


def share(hits: Sequence[bool]) -> tuple[float, float]:
    """Return a share and its error, which is not 0 when all say yes (Agresti and Coull).

    Examples
    --------
    >>> share([True] * 96)
    (1.0, 0.014)
    """
    n, smooth = len(hits), (sum(hits) + 2.0) / (len(hits) + 4.0)
    return sum(hits) / n, float(f"{math.sqrt(smooth * (1.0 - smooth) / (n + 4.0)):.2g}")


def mean(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and its error."""
    found = np.asarray(values, dtype=np.float64)
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
    return float(found.mean()), error


def cluster(row: Answered) -> Any:
    """Return what a batch shares with others: a real pair its events, a week its pooled fit."""
    return row["repeat"] if row["part"] == "weeks" else row["case"]


def over_clusters(
    rows: Sequence[Answered], value: Callable[[Answered], float]
) -> tuple[float, float]:
    """Return a mean and its error where batches of a cluster are no repeats of each other."""
    groups: dict[Any, list[float]] = {}
    for row in rows:
        groups.setdefault(cluster(row), []).append(value(row))
    return mean([float(np.mean(group)) for group in groups.values()])


def width(row: Answered) -> float:
    """Return the length of the interval of recall."""
    return float(row["said_recall_high"] - row["said_recall_low"])


def cell(rows: Sequence[Answered]) -> Cell:
    """Return what a group of answers is worth."""
    given = [row for row in rows if offered(row)]
    points = [row for row in rows if not math.isnan(row["said_recall"])]
    counted = [row for row in rows if not math.isnan(row["said_missed_high"])]
    found: Cell = {
        "batches": len(rows),
        "refused": 1.0 - len(given) / len(rows),
        "without_point": 1.0 - len(points) / len(rows),
        "guard": share([row["said_guard"] == 1.0 for row in rows])[0],
    }
    clustered = rows[0]["part"] in ("real", "keel", "weeks")
    if given:
        cover, cover_error = share([holds(row) for row in given])
        length, length_error = mean([width(row) for row in given])
        if clustered:
            cover_error = max(cover_error, over_clusters(given, lambda r: float(holds(r)))[1])
            length_error = over_clusters(given, width)[1]
        found |= {"cover": cover, "cover_error": cover_error}
        found |= {"width": length, "width_error": length_error}
        some = [width(row) for row in given if row["seen"]]
        found["without_event"] = 1.0 - len(some) / len(given)
        if some:
            found["width_seen"] = mean(some)[0]
        below = [truth(row) < row["said_recall_low"] - CLOSE for row in given]
        found["truth_below"] = share(below)[0]
    if counted:
        found["missed_cover"] = share([counts_held(row) for row in counted])[0]
        most = [row["missed"] <= row["said_missed_high"] * (1 + CLOSE) + CLOSE for row in counted]
        found["most_cover"], found["most_cover_error"] = share(most)
    if points:
        off = np.array([row["said_recall"] - truth(row) for row in points])
        error = math.sqrt(float(np.mean(off**2)))
        spread = float(np.std(off**2)) / math.sqrt(len(off)) / (2 * error) if error else 0.0
        found |= {"points": len(points), "rmse": error, "rmse_error": spread}
        found["bias"] = float(off.mean())
    sizes = [row["said_effective"] for row in rows if not math.isnan(row["said_effective"])]
    if sizes:
        found["least_effective"] = min(sizes)
        found["below_200"] = share([size < 200 for size in sizes])[0]
    times = [row["said_milliseconds"] for row in rows if not math.isnan(row["said_milliseconds"])]
    if times:
        found["median_milliseconds"] = float(np.median(times))
    return {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in found.items()}


def grouped(rows: Iterable[Answered], *names: str) -> dict[tuple[Any, ...], list[Answered]]:
    """Return rows that agree in these fields together."""
    found: dict[tuple[Any, ...], list[Answered]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def cells_of(records: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Return every cell of the page."""
    rows = answered(records)
    for row in rows:
        if row["part"] == "table":
            row["scenario"], row["rate"] = scenario_of(row["case"])
    parts = {part: [r for r in rows if r["part"] == part] for part in {r["part"] for r in rows}}
    found: list[Cell] = []

    def add(group: str, chosen: Iterable[Answered], *names: str) -> None:
        for key, own in sorted(grouped(chosen, *names).items(), key=lambda item: str(item[0])):
            found.append({"group": group, **dict(zip(names, key, strict=True)), **cell(own)})

    table = parts.get("table", [])
    add("decision", (r for r in table if r["scenario"] in MANY_RATES), "class", "m", "method")
    add("scenario", (r for r in table if r["rate"] == RATE), "scenario", "m", "method")
    add("lowest", table, "scenario", "class", "m", "method")
    add("budget", parts.get("budget", []), "case", "design", "method")
    for part in ("real", "keel"):
        add(part, parts.get(part, []), "method")
        add(f"{part} by class", parts.get(part, []), "class", "method")
    add("pair", parts.get("real", []), "case", "method")
    add("weeks", parts.get("weeks", []), "case", "design", "method")
    found += guard_cells(parts)
    found.append({"group": "no hits"} | no_hits(rows))
    found.append({"group": "same"} | same_answers(parts.get("same", [])))
    return found


def guard_cells(parts: Mapping[str, list[Answered]]) -> list[Cell]:
    """Return how often the guard warns where the interval holds, and where it does not."""
    found = []
    for part in ("table", "budget", "real", "keel"):
        for (method,), rows in grouped(parts.get(part, []), "method").items():
            if method == AUDIT:
                continue
            given = [row for row in rows if offered(row)]
            warned = {
                held: [row["said_guard"] == 1.0 for row in given if holds(row) == held]
                for held in (True, False)
            }
            found.append(
                {"group": "guard", "part": part, "method": method}
                | {"held": len(warned[True]), "not_held": len(warned[False])}
                | {"warned_held": sum(warned[True]), "warned_not_held": sum(warned[False])}
            )
    return found


def no_hits(rows: Sequence[Answered]) -> Cell:
    """Count answers to audits without an event that keep the two promises made for them (G6)."""
    empty = [r for r in rows if r["drawn"] and not r["hits"] and r["seen"] >= 5]
    two = [r for r in empty if r["method"] in (AUTO, AUC) and r["part"] != "weeks"]
    alone = [r for r in empty if r["method"] == AUDIT]
    high = [abs(r["said_recall_high"] - r["seen"] / (r["seen"] + r["known"])) < 1e-5 for r in two]
    most = [r["said_missed_high"] >= 2.99 * r["frame"] / r["drawn"] for r in alone]
    return {"two_sources": len(high), "high_end_kept": sum(high)} | {
        "audit_alone": len(most),
        "limit_kept": sum(most),
    }


def same_answers(rows: Sequence[Answered]) -> Cell:
    """Count answers that do not change with the scale of the scores (G7)."""
    names = [f"said_{name}" for name in ("recall", "recall_low", "recall_high", "missed_high")]
    groups = grouped(rows, "case", "repeat", "method").values()
    equal = [all(len({str(row[name]) for row in group}) == 1 for name in names) for group in groups]
    return {"answers": len(equal), "equal": sum(equal)}


class Cells:
    """Cells found by what they are of."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells = list(cells)

    def get(self, group: str, **wanted: Any) -> Cell | None:
        """Return the one cell of these fields, or None where it was not measured."""
        for each in self.cells:
            if each["group"] == group and all(each.get(k) == v for k, v in wanted.items()):
                return each
        return None

    def all(self, group: str, **wanted: Any) -> list[Cell]:
        """Return all cells of these fields."""
        return [
            each
            for each in self.cells
            if each["group"] == group and all(each.get(k) == v for k, v in wanted.items())
        ]
