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
    "fit": Verb("scarce.cli.fit", "Learn a model from a table and write it to a file."),
    "predict": Verb("scarce.cli.predict", "Write the probability of the event for each row."),
    "correct": Verb(
        "scarce.cli.correct", "Move probabilities or a model to the share of events of today."
    ),
    "estimate": Verb(
        "scarce.cli.estimate", "Say how many events a detector finds and misses, with intervals."
    ),
    "decide": Verb(
        "scarce.cli.decide", "Choose the cheapest action for every row, from probabilities."
    ),
    "label": Verb(
        "scarce.cli.label", "Choose which rows to label next, so that they can be counted."
    ),
    "evaluate": Verb(
        "scarce.cli.evaluate", "Judge probabilities by what happened, with intervals."
    ),
    "compare": Verb(
        "scarce.cli.compare", "Compare models on rows that they did not see, with the noise."
    ),
    "check": Verb("scarce.cli.check", "Gate a pipeline: exit 4 when a bound does not hold."),
    "report": Verb(
        "scarce.cli.report", "Write one HTML file with figures, pictures and what they assume."
    ),
    "demo": Verb("scarce.cli.demo", "Tell three stories on simulated data, the truth beside them."),
    "doctor": Verb("scarce.cli.doctor", "Check the installation and say how to repair it."),
}
