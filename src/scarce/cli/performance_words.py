"""What a `Performance` says, in sentences: for `scarce estimate`, and for the page on scores.

The answer comes first and each number once, in the words of `print(Performance)`. Counts of events
are whole numbers: a low end is rounded down, a high end up. Without checks there is no interval but
a guess, how it moves, and what would settle it. Computes no figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scarce.cli.flags import in_flags
from scarce.errors import Problem

if TYPE_CHECKING:
    from scarce import Estimate, Performance

Owned = tuple[str, Problem]  # of which batch ("" for none), and what


# --- figures --------------------------------------------------------------------------------------


def is_guess(one: Estimate) -> bool:
    """Whether nothing was checked that would bound a figure."""
    from scarce.missed.rules import GUESS

    return one.method == GUESS


def says_nothing(one: Estimate) -> bool:
    """Whether there is neither a value nor an interval, but a reason for it."""
    return math.isnan(one.value) and not one.low < one.high


def whole(one: Estimate) -> Estimate:
    """Return a count of events in whole numbers: low rounded down, high rounded up.

    Examples
    --------
    >>> from scarce import Estimate
    >>> print(whole(Estimate(41.6, 7.83, 423.2)).brief())
    42 [7, 424]
    """

    def rounded(value: float, way: Any) -> float:
        return float(way(value)) if math.isfinite(value) else value

    return replace(
        one,
        value=rounded(one.value, round),
        low=rounded(one.low + 1e-9, math.floor),
        high=rounded(one.high - 1e-9, math.ceil),
    )


def figure(one: Estimate) -> str:
    """Write a figure in a sentence: a number, a number with its interval, a guess, or a reason."""
    from scarce.results import short

    if says_nothing(one):
        return in_flags(one.assumes)
    if is_guess(one):
        return "no guess" if math.isnan(one.value) else f"a guess of {short(one.value)}"
    if one.low == one.high == one.value:
        return short(one.value)
    ends = f"between {short(one.low)} and {short(one.high)}"
    if math.isnan(one.value):
        return f"no best guess; {ends}"
    return f"about {short(one.value)}, {ends}"


def cell(one: Estimate) -> str:
    """Write a figure in a table."""
    from scarce.results import short

    value = "?" if math.isnan(one.value) else short(one.value)
    if is_guess(one):
        return f"{value} (guess)"
    if math.isnan(one.low) or one.low == one.high:
        return value
    return f"{value} [{short(one.low)}, {short(one.high)}]"


# --- sentences ------------------------------------------------------------------------------------


def sentences(found: Performance, needed: float | None = None, *, unit: str = "rows") -> list[str]:
    """Say what was found and missed, the answer first.

    Parameters
    ----------
    found : Performance
    needed : float, optional
        How many checks would settle it, where there are none.
    unit : {"rows", "incidents"}
        What is counted.
    """
    lines = [*_answer(found, needed), *beside_the_answer(found, unit=unit)]
    if not is_guess(found.missed):
        lines.append(f"This assumes: {'; '.join(leans_on(found))}.")
    return lines


def beside_the_answer(
    found: Performance, *, percent: bool = False, unit: str = "rows"
) -> list[str]:
    """Say what was counted, what lowering the threshold costs, and what less assumes.

    Parameters
    ----------
    found : Performance
    percent : bool
        Write shares in percent.
    unit : {"rows", "incidents"}
        What is counted.
    """
    return [*_counted(found, percent, unit), *_lowering(found), *_otherwise(found, percent)]


def leans_on(found: Performance) -> list[str]:
    """Return what the figures assume, each once."""
    leans = [found.missed.assumes if says_nothing(found.recall) else found.recall.assumes]
    return [in_flags(text) for text in dict.fromkeys(leans)]


def all_labelled(found: Performance) -> bool:
    """Whether there is nothing to estimate."""
    counts = found.counts
    return counts.alerts_labelled + counts.labelled_below >= counts.rows > 0


def _answer(found: Performance, needed: float | None) -> list[str]:
    recall, missed = found.recall, whole(found.missed)
    if is_guess(missed):
        return _guess(found, needed)
    if all_labelled(found):
        method = "" if says_nothing(recall) else f" ({recall.method})"
        return [
            f"Recall: {figure(recall)}{method}.",
            f"Missed events: {figure(missed)} ({missed.method}).",
            "Every row is labelled. That does not say how recall varies in further rows.",
        ]
    how = f" ({100 * missed.level:g} %, {missed.method})"
    if recall.low == recall.high:  # nothing was seen above the threshold
        why = figure(recall) if says_nothing(recall) else f"{figure(recall)}, {recall.method}"
        return [f"Missed events: {figure(missed)}{how}.", f"Recall: {why}."]
    return [f"Recall: {figure(recall)}{how}.", f"Missed events: {figure(missed)}."]


def _guess(found: Performance, needed: float | None) -> list[str]:
    """Nothing was checked: a guess, how it moves, and what would settle it."""
    from scarce.results import short

    recall, missed = found.recall, whole(found.missed)
    known = "" if says_nothing(recall) else ", no interval"
    lines = [
        f"Recall: {figure(recall)}{known}.",
        f"Missed events: {figure(missed)}, no interval.",
        f"{'; '.join(_sentence(text) for text in leans_on(found))}.",
    ]
    moves = [one for one in found.what_if() if not math.isnan(one.recall.value)]
    if moves:
        values = [short(one.recall.value) for one in moves]
        width = max(map(len, values))
        lines.append("The guess of recall moves with what nobody can see:")
        lines += [
            f"  {value:<{width}}  if {one.what}" for value, one in zip(values, moves, strict=True)
        ]
    return [*lines, *settling(needed)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def in_short(found: Performance, needed: float | None = None) -> str:
    """Say what was found and missed to a reader who types nothing and knows no terms.

    Parameters
    ----------
    found : Performance
    needed : float, optional
        How many checks would settle it, where there are none.
    """
    from scarce.results import short

    counts, recall, missed = found.counts, found.recall, whole(found.missed)
    if counts.alerts == 0:
        return "No row is an alert, so the detector finds nothing."
    if counts.alerts_labelled == 0:
        return "Nobody has looked at an alert yet, so nothing is known of what the detector finds."
    sure = f"with {100 * recall.level:g} % confidence"
    if all_labelled(found):
        share = "" if says_nothing(recall) else f": {short(recall.value, percent=True)}"
        return (
            f"Every row was looked at. The detector finds {counts.events_seen:,} of "
            f"{_events(counts.events_seen + counts.events_below)}{share}."
        )
    if counts.events_seen == 0:
        found_none = f"None of the {counts.alerts_labelled:,} alerts looked at is an event"
        if is_guess(missed):
            return (
                f"{found_none}, and nobody looked at rows below the threshold chosen at random: "
                "how many events the detector misses is not known."
            )
        return (
            f"{found_none}, while {missed.low:,.0f} to {missed.high:,.0f} events were missed "
            f"({sure})."
        )
    if not is_guess(missed):
        ends = f"{short(recall.low, percent=True)} and {short(recall.high, percent=True)}"
        lost = f"{missed.low:,.0f} and {missed.high:,.0f}"
        if math.isnan(recall.value):
            return (
                f"The detector finds between {ends} of all events, {sure}. Between {lost} events "
                "were missed."
            )
        return (
            f"The detector finds about {short(recall.value, percent=True)} of all events, between "
            f"{ends} {sure}. About {missed.value:,.0f} events were missed, between {lost}."
        )
    said = (
        "How many events the detector misses is not known: nobody looked at rows below the "
        "threshold chosen at random."
    )
    if not math.isnan(recall.value):
        said += f" A guess is that it finds {short(recall.value, percent=True)} of all events"
        values = [one.recall.value for one in found.what_if()]
        values = [one for one in (*values, recall.value) if not math.isnan(one)]
        ends = f"{short(min(values), percent=True)} to {short(max(values), percent=True)}"
        said += f"; with what nobody can see it ranges from {ends}."
    if needed is not None and math.isfinite(needed):
        said += f" About {needed:,.0f} rows checked at random would settle it."
    return said


def settling(needed: float | None) -> list[str]:
    """Say how many checks would settle recall, where that is known."""
    if needed is None or math.isnan(needed):
        return []
    many = f"About {needed:,.0f}" if math.isfinite(needed) else f"More than {MOST_CHECKS:,}"
    return [
        f"{many} checks, drawn at random below the threshold, would give recall an interval of "
        f"width {SETTLED:g}."
    ]


SETTLED = 0.2  # width of recall's interval beyond which more checks are proposed
MOST_CHECKS = 1600  # beyond which `checks_for_width` does not look


def _counted(found: Performance, percent: bool, unit: str) -> list[str]:
    """What was counted: alerts, their precision, checks, and what is known from outside."""
    counts = found.counts
    at = "by the threshold of their batch"
    if not isinstance(found.threshold, tuple):
        at = f"score {found.threshold:g} or more"
    looked = f", {counts.alerts_labelled:,} of them labelled"
    if counts.alerts_labelled == counts.alerts:
        looked = ", all of them labelled" if counts.alerts else ""
    lines = [
        f"Alerts: {counts.alerts:,} of {counts.rows:,} {unit} ({at}){looked}, "
        f"{_events(counts.events_seen)} seen."
    ]
    if counts.alerts_labelled:
        lines.append(
            f"Precision of these alerts: {_share(found.precision, percent)}; of further alerts "
            f"like them: {_share(found.precision_further, percent)}."
        )
    elif counts.alerts:
        lines.append("Precision: unknown, because no alert is labelled.")
    if counts.labelled_below:
        drawn = "all drawn at random"
        if counts.audited < counts.labelled_below:
            drawn = f"{counts.audited:,} of them drawn at random"
        one = counts.labelled_below == 1
        rows = f"1 {unit[:-1]}" if one else f"{counts.labelled_below:,} {unit}"
        lines.append(
            f"Checked below the threshold: {rows}, {drawn}; {_events(counts.events_below)} found "
            "there."
        )
    if counts.from_outside:
        lines.append(f"Known from outside: {_events(counts.from_outside)} below the threshold.")
    return lines


def _share(one: Estimate, percent: bool) -> str:
    """Write a share that was counted, with its interval where there is one."""
    from scarce.results import short

    value, low, high = (short(part, percent=percent) for part in (one.value, one.low, one.high))
    return value if one.low == one.high else f"{value}, between {low} and {high}"


def _lowering(found: Performance) -> list[str]:
    from scarce.results import short

    cost = found.alerts_per_event
    if math.isnan(cost.value) or (all_labelled(found) and not found.counts.events_below):
        return []
    return [
        f"Lowering the threshold: about {short(cost.value)} alerts to open per further event, "
        f"between {short(cost.low)} and {short(cost.high)}."
    ]


def _otherwise(found: Performance, percent: bool) -> list[str]:
    """With checks: what the interval is if less is taken for granted."""
    from scarce.results import short

    if is_guess(found.missed) or found.recall.low == found.recall.high:
        return []
    return [
        f"If {one.what}, recall lies between {short(one.recall.low, percent=percent)} and "
        f"{short(one.recall.high, percent=percent)}."
        for one in found.what_if()
    ]


def _events(number: int) -> str:
    return "1 event" if number == 1 else f"{number:,} events"


# --- warnings -------------------------------------------------------------------------------------


def warnings_by_batch(found: Performance, batches: Mapping[Any, Performance]) -> list[Problem]:
    """Return warnings, each once, with the batches that it is about.

    Parameters
    ----------
    found : Performance
        Of all batches together.
    batches : mapping of name to Performance
        Of each; empty where there is one alone.
    """
    if len(batches) < 2:
        return list(found.warnings)
    parts = {str(name): one.warnings for name, one in batches.items()}
    told: list[Owned] = []
    for problem in dict.fromkeys(found.warnings):
        owners = [name for name, own in parts.items() if problem in own]
        some = 0 < len(owners) < len(parts)
        told += [(name, problem) for name in owners] if some else [("", problem)]
    told += [(name, one) for name, own in parts.items() for one in own if one not in found.warnings]
    return _each_once(told, len(parts))


def _each_once(told: Sequence[Owned], count: int) -> list[Problem]:
    """Join warnings of one kind: the first one's words, and the batches that it is about."""
    kinds: dict[str, list[Owned]] = {}
    for one in told:
        kinds.setdefault(one[1].code or str(one[1]), []).append(one)
    joined = []
    for same in kinds.values():
        owners = list(dict.fromkeys(name for name, _ in same if name))
        first, problem = same[0]
        if not first:  # of all together: say where, unless it is so everywhere
            if owners and len(owners) < count:
                problem = problem.amended(remedy=(*problem.remedy, f"In {_batches(owners)}."))
        else:
            if not problem.fields.get("where"):
                problem = problem.amended("Batch {owner}: ", owner=first)
            if owners[1:]:
                more = f"The same holds of {_batches(owners[1:])}."
                problem = problem.amended(remedy=(*problem.remedy, more))
        joined.append(problem)
    return joined


def notes_once(notes: Sequence[Problem]) -> list[Problem]:
    """Join remarks on lists that say the same of several."""
    kinds: dict[str, list[Problem]] = {}
    for one in notes:
        kinds.setdefault(f"{one.code} {one.text}", []).append(one)
    return [
        same[0].amended(
            remedy=(
                *same[0].remedy,
                f"The same holds of {listed(_source(one) for one in same[1:])}.",
            )
        )
        if same[1:]
        else same[0]
        for same in kinds.values()
    ]


def _source(note: Problem) -> str:
    return str(note.fields.get("source", "another list"))


def _batches(names: Sequence[str]) -> str:
    return f"batch{'es' if len(names) > 1 else ''} {listed(names)}"


def listed(names: Any) -> str:
    """Name a few things: a, b and c.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    words = [str(name) for name in names]
    if len(words) > 8:
        words = [*words[:7], f"{len(words) - 7:,} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def for_a_page(problem: Problem) -> Problem:
    """Return a warning without what to type, for a reader who types nothing."""
    plain = tuple(one for one in problem.remedy if "{" not in one)
    return problem.amended(remedy=plain)
