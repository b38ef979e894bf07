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
from scarce.errors import DataError, UsageError

SIGHTINGS = re.compile(
    r"(?:^|_)(?:presences?|presabs|pres|present|occ|occurrences?|pa|pb|po|seen|sightings?|observed"
    r"|species)(?:$|_)",
    re.I,
)
BACKGROUND = re.compile(
    r"^(?:bg|back_?ground|(?:pseudo|quasi)[-_ ]?absen(?:ce|t)|available)$", re.I
)
PAIRS = (
    re.compile(
        r"(?:^|_|decimal)(?:lon|long|longitude|lng|easting|eastings|coords?[._]?x\d?)$", re.I
    ),
    re.compile(r"(?:^|_|decimal)(?:lat|latitude|northing|northings|coords?[._]?y\d?)$", re.I),
)
CODES = re.compile(
    r"(?:^|_)(?:class|code|codes|type|category|cat|zone|region|biome|ecoreg|ecoregion|habitat|veg"
    r"|vegetation|geology|lithology|clc|lulc|lc|land_?cover|land_?use|zip|postcode)(?:$|_|\d)",
    re.I,
)
FEW_CODES, MOST_CODES = 15, 50  # different whole numbers that may be codes; with a telling name


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


def point_out(chosen: str, rows: Any, labels: LabelFlags) -> None:
    """Name coordinates and whole numbers that may be codes, before they become predictors."""
    from scarce.rows.profile import profile_rows

    profile = profile_rows(rows)
    columns = [
        (j, column.name) for j, column in enumerate(rows.schema.columns) if column.kind == "number"
    ]
    places = chosen == "maxent" or SIGHTINGS.search(str(labels.label)) is not None
    found = [[name for _, name in columns if pair.search(name)] for pair in PAIRS]
    if places and not all(found):
        bare = {name.lower(): name for j, name in columns if profile.distinct[j] > MOST_CODES}
        found = [[bare[axis]] if axis in bare else [] for axis in ("x", "y")]
    if all(found):
        named = [name for names in found for name in names]
        flags = " ".join(f"--drop {shell_word(name)}" for name in named)
        say(
            f"scarce: warning: {_listed(named)} look like coordinates and become predictors: the "
            f"model then knows these places, and no others. To leave them out: {flags}"
        )
    codes = [
        name
        for j, name in columns
        if profile.whole[j]
        and profile.low[j] >= 0
        and profile.distinct[j] >= 3
        and (CODES.search(name) or (places and profile.distinct[j] <= FEW_CODES))
    ]
    if codes:
        flags = " ".join(f"--categories {shell_word(name)}" for name in codes)
        say(
            f"scarce: warning: the few whole numbers of {_listed(codes)} are taken for amounts. If "
            f"they are codes, such as land cover classes: {flags}"
        )


def _listed(names: list[str]) -> str:
    """Write names in a row, the first eight of many."""
    shown = [repr(name) for name in names[:8]]
    if len(names) > 8:
        shown.append(f"{len(names) - 8} more")
    *first, last = shown
    return f"columns {', '.join(first)} and {last}" if first else f"column {last}"
