"""How does plain text become HTML? Everything is escaped; code and commands keep their words whole.

A browser breaks lines after a hyphen, and a flag that was broken in two cannot be read or typed.
So each word of a command is a box of its own, which moves to the next line as a whole and breaks
only if it is longer than a line. What is copied from the page is what was typed.
"""

from __future__ import annotations

import re
from typing import Any


def inline(text: str) -> Any:
    """Escape a text and set what stands in backticks as code.

    Examples
    --------
    >>> str(inline("a < b in `x`"))
    'a &lt; b in <code>x</code>'
    """
    from markupsafe import Markup, escape

    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # an odd backtick is just a backtick
        return escape(text)
    told = [
        Markup("<code>{}</code>").format(typed(part)) if i % 2 else escape(part)
        for i, part in enumerate(parts)
    ]
    return Markup("").join(told)


def typed(text: str) -> Any:
    """Escape a command and keep its words whole where a line ends.

    Examples
    --------
    >>> str(typed("scarce fit --label y"))
    'scarce fit <span class="whole">--label</span> y'
    """
    from markupsafe import Markup, escape

    told = [
        Markup('<span class="whole">{}</span>').format(part) if re.search("[-/?]", part)
        else escape(part)
        for part in re.split(r"(\s+)", str(text))
    ]  # fmt: skip
    return Markup("").join(told)
