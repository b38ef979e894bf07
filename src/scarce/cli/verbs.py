"""The verbs of the command line: where each lives, and what it does in one line.

`scarce --help` reads this table and imports no verb, so help is quick however heavy a verb is. A
verb is a click command named like the verb (``-`` becomes ``_``) in a module of its own; the first
sentence of its docstring is the summary here, word for word, and a test keeps the two equal.
"""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """Where a verb lives and what it does.

    Parameters
    ----------
    module : str
        The module that defines the click command; imported when the verb is run.
    summary : str
        One line, equal to the first sentence of the command's help.
    """

    module: str
    summary: str


VERBS: dict[str, Verb] = {
    "demo": Verb(
        "scarce.cli.demo", "Go from a table with holes to honest probabilities, simulated."
    ),
    "doctor": Verb("scarce.cli.doctor", "Check the installation and say how to repair it."),
}
