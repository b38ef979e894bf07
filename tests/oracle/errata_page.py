"""docs/errata.md as rows: what it says of every slip, and what its tests must find in it.

A section of the page begins with "## 00n" for a paper, a line of a table with the paper's number:

    | where | printed | right | here | measured | test |

Does not judge anything: tests/test_errata.py does, and the tests of each paper hold the numbers.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "errata.md").read_text()
HEAD = ("where", "printed", "right", "here", "measured", "test")


class Row(NamedTuple):
    """One line of a table."""

    section: str
    where: str
    printed: str
    right: str
    here: str
    measured: str
    test: str


def cells_of(line):
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def rows_of(text):
    """Return every line of every table but the heads, with the section that it is in."""
    found, section = [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("|") and set(line) - set("|-: ") and cells_of(line) != list(HEAD):
            found.append(Row(section, *cells_of(line)))
    return found


def row(where):
    """Return the only row about a place such as "000 eq 8"."""
    (found,) = (one for one in rows_of(TEXT) if one.where == where)
    return found


def measured(where):
    """Return what the page says was measured there."""
    return row(where).measured


def begins(name):
    """Return the paragraph, list item or line of the page that begins so, on one line."""
    (found,) = (part for part in re.split(r"\n\n|\n(?=\d\. )", TEXT) if part.startswith(name))
    return " ".join(found.split())
