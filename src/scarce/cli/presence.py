"""What must be said before a fit to sightings: background or absence, coordinates, codes?

    presence     somebody looked and found it
    absence      somebody looked and did not find it          --negative VALUE
    background   nobody looked: a place of the whole area     --background VALUE

A file often writes the last two alike, as 0. Coordinates and class codes stand in such files beside
the measurements. Points out, does not change: what is meant is typed.
"""

from __future__ import annotations

import re
from typing import Any

from scarce.cli.next_command import shell_word
from scarce.cli.options import LabelFlags
from scarce.cli.output import say
from scarce.cli.wording import in_flags
from scarce.errors import DataError, UsageError

SIGHTINGS = re.compile(
    r"(?:^|_)(?:presences?|presabs|pres|present|occ|occurrences?|pa|pb|po|seen|sightings?|observed"
    r"|species)(?:$|_)",
    re.I,
)
BACKGROUND = re.compile(
    r"^(?:bg|back_?ground|(?:pseudo|quasi)[-_ ]?absen(?:ce|t)|available)$", re.I
)


def with_background(labels: LabelFlags, background: tuple[str, ...], model: str) -> LabelFlags:
    """Return the flags with --background as labels that nobody gave; refuse contradictions."""
    if not background:
        return labels
    if model not in ("auto", "maxent"):
        raise UsageError(
            f"--background says that nobody looked there, and --model {model} learns from events "
            "beside surveyed absences. Say --model maxent; if the rows were surveyed, --negative "
            f"{shell_word(background[0])}."
        )
    for flag, values in (("--positive", labels.positive), ("--negative", labels.negative)):
        both = [value for value in background if value in values]
        if both:
            raise UsageError(
                f"{both[0]!r} cannot be both {flag} and --background: at a background place nobody "
                "looked."
            )
    return labels._replace(unlabelled=(*labels.unlabelled, *background), background=background)


def ask_background(chosen: str, counts: dict[str, Any], labels: LabelFlags) -> None:
    """Ask whether rows that are taken for absences are a background; refuse those named so."""
    given = list(counts["labelled"].items())
    if len(given) != 2 or labels.negative or labels.unlabelled or labels.classes:
        return
    (other, n), (_, events) = given
    if not n or not events:
        return
    typed = shell_word(other)
    if BACKGROUND.search(other.strip()):
        raise DataError(
            f"{n:,} rows of {labels.label!r} are {other!r}, which says that nobody looked there. "
            f"If so: --background {typed}; if they were surveyed, --negative {typed}."
        )
    if chosen == "maxent" or SIGHTINGS.search(str(labels.label)):
        say(
            f"scarce: warning: {n:,} rows are {other} and are taken for surveyed absences. If they "
            f"are background (nobody looked there), say --background {typed}; --negative {typed} "
            "settles it."
        )


def point_out(chosen: str, rows: Any, labels: LabelFlags, *, quiet: bool) -> list[str]:
    """Say which columns may be coordinates or codes before the fit; return it as Python says it."""
    from scarce.io.profile import doubtful_columns, profile_rows

    places = chosen == "maxent" or SIGHTINGS.search(str(labels.label)) is not None
    told = doubtful_columns(profile_rows(rows), rows.schema.columns, places=places)
    for remark in [] if quiet else told:
        say(f"scarce: warning: {in_flags(remark, ['drop', 'categories'])}")
    return told
