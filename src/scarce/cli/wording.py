"""How is an error of the library, which speaks of arguments, said to someone who types flags?

    open_rows(..., drop=['city'])  ->  --drop city           positive='yes'  ->  --positive yes

    Fit RareClassifier('probit', ridge=0)  ->  Run `scarce fit --model rare --loss probit --ridge 0`

Only names of options of the verb that was run are turned; the rest is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from scarce.cli.next_command import shell_word
from scarce.cli.options import flags_by_argument

CALL = re.compile(r"\b(?:open_rows|estimate_performance|choose_labels)\((?:\.\.\.,\s*)?([^()]*)\)")
REGRESSION = re.compile(r"\bFit RareClassifier\('(?P<loss>[\w-]+)'(?P<rest>[^()]*)\)")
PAIR = re.compile(r"(\w+)='?([^',]*)'?")
LIST = r"\[(?P<list>[^\[\]]*)\]"
WORD = r"'(?P<word>[^']*)'|\"(?P<other>[^\"]*)\""
PLAIN = r"(?P<plain>-?\w+(?:[.-]\w+)*)"
BARE = re.compile(r"\b(?P<name>[a-z_]+)=(?:" + LIST + "|" + WORD + "|" + PLAIN + r")?")
FOREIGN = re.compile(r"; if [^;.]*, pass (\w+)=\[\.\.\.\]")  # advice that this verb has no flag for
GROUPED = re.compile(  # advice to leave a column out that may say which rows belong together
    r"Leave it out with drop=\[(?P<name>'[^']*'|\"[^\"]*\")\], and where rows of one value belong "
    r"together \(a patient, a card\) pass its values to fit as groups"
)
AFTER_FLAG = re.compile(r"--[\w-]+[ =]$")
NEGATED = {"header=False": "--no-header"}


def reworded(message: str, options: Collection[str]) -> str:
    """Return a message with Python arguments turned into flags of the verb.

    Parameters
    ----------
    message : str
        What the library says.
    options : collection of str
        Names of the verb's options, such as "positive" or "no-header".

    Examples
    --------
    >>> known = ["drop", "positive", "unlabelled", "delimiter", "no-header", "missing"]
    >>> reworded("Leave it out with open_rows(..., drop=['city']).", known)
    'Leave it out with --drop city.'
    >>> reworded("Leave it out with open_rows(..., drop=['']).", known)
    "Leave it out with --drop ''."
    >>> reworded("Say which one is the event: positive='no' or positive='yes'.", known)
    'Say which one is the event: --positive no or --positive yes.'
    >>> reworded("pass missing=[...]; if it is a code, pass categories=[...].", known)
    'pass --missing VALUE.'
    >>> reworded("Give --budget drop=200.", known)  # the value of a flag is left alone
    'Give --budget drop=200.'
    >>> reworded("if it means missing, pass missing=[...]; pass header=False; pass alpha=3", known)
    'if it means missing, pass --missing VALUE; pass --no-header; pass alpha=3'
    >>> reworded("Fit RareClassifier('probit', ridge=0, solver='x').", ["loss", "ridge", "set"])
    'Run `scarce fit --model rare --loss probit --ridge 0 --set solver=x`.'
    """

    flags = flags_by_argument(options)

    def flag(match: re.Match[str]) -> str:
        if AFTER_FLAG.search(match.string, 0, match.start()):
            return match[0]
        if match[0] in NEGATED and NEGATED[match[0]][2:] in options:
            return NEGATED[match[0]]
        name = flags.get(match["name"])
        if name is None:
            return match[0]
        value = match["word"] if match["word"] is not None else match["other"]
        if value is None:
            value = match["plain"]
        if match["list"] is not None:
            given = [part.strip() for part in match["list"].split(",")]
            parts = [part.strip("'\"") for part in given if part]  # '' is a name, too
            if parts == ["..."]:
                return f"--{name} VALUE"
            return " ".join(f"--{name} {_quoted(part)}" for part in parts)
        if value == "True":
            return f"--{name}"
        return f"--{name}" + (f" {_quoted(value)}" if value is not None else "")

    message = FOREIGN.sub(
        lambda match: match[0] if match[1].replace("_", "-") in options else "", message
    )
    if "groups" in options:
        message = GROUPED.sub(
            r"Where rows of one value belong together (a patient, a card), pass groups=\g<name>: "
            r"it is left out, and they stay in one fold. Otherwise leave it out with "
            r"drop=[\g<name>]",
            message,
        )
    if "loss" in options:  # those of scarce fit
        message = REGRESSION.sub(lambda match: _regression(match, options), message)
    opened = CALL.sub(lambda match: match[1] or match[0], message)
    return BARE.sub(flag, opened)


def _regression(match: re.Match[str], options: Collection[str]) -> str:
    """The command that fits the regression which stands there as a call."""
    given = [
        f"--{name} {value}" if name in options else f"--set {name}={value}"
        for name, value in PAIR.findall(match["rest"])
    ]
    return f"Run `{' '.join(['scarce fit --model rare --loss', match['loss'], *given])}`"


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w.:/+-]+", value) else shell_word(value)
