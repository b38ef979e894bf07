"""Probabilities are far from what happened on average: would another share of events mend that?

    mends = |mean of the moved probabilities - happened| is at most half of |given - happened|

A model file knows the share that its probabilities are for, so that this can be tried; a table does
not, and its owner is asked. Where moving mends nothing, or where the labelled rows may have been
chosen, no correction is advised. Corrects nothing: see correct.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.next_command import path_word, shell_command
from scarce.cli.prob_columns import USUAL

if TYPE_CHECKING:
    from scarce.cli.judged import Judged
    from scarce.io.text import TextForm

FAR = 1.25  # times as much given as happened, or the reverse, from which on it is worth a word
MENDED = 0.5  # of the gap that may be left by a move that is worth its while
PLACEHOLDER = "SHARE"
ANOTHER = "Fit it anew on rows like these, or take another model."


class ShareAdvice(NamedTuple):
    """What to say of probabilities that are off on average.

    Parameters
    ----------
    seen : str
        A sentence: what was given on average, and what happened.
    way : str
        What follows from it, in sentences.
    command : str
        What to type, whole, "" where nothing is to be typed; it belongs to the end of `way`.
    """

    seen: str
    way: str
    command: str = ""

    def __str__(self) -> str:
        words = f"{self.seen} {self.way}"
        return f"{words.removesuffix('.')}: {self.command}" if self.command else words


def share_advice(judged: Judged, found: Any) -> ShareAdvice | None:
    """Return what to do about a mean probability that is far from what happened, None if it is not.

    Parameters
    ----------
    judged : Judged
        The rows, and where their probabilities come from.
    found : Evaluation
        The figures of these rows.
    """
    if len(found.events) != 1 or found.gap[0].low <= 0 <= found.gap[0].high:
        return None
    if found.auc[0].high < 0.5:  # the classes are exchanged: moving the share mends nothing
        return None
    given, happened = found.given[0].value, found.happened[0].value
    if not (given > FAR * happened or happened > FAR * given) or not 0 < happened < 1:
        return None
    seen = f"On average {_percent(given)} was given and {_percent(happened)} happened"
    if judged.chosen:
        return _of_chosen(judged, seen)
    seen += f", {given / happened:.2g} times as much as was right."
    if judged.own_shares is not None:
        way, mends = _tried(judged, judged.own_shares, given, happened)
    elif judged.corrected:
        mends = False
        way = (
            "They were corrected before: unless another share was meant then, they are not right "
            f"on these rows for another reason. {ANOTHER}"
        )
    else:
        way, mends = "If the model learnt at another share of events, move it.", True
    command = _command(judged, happened) if mends else ""
    if mends and not command:
        way = f"{way.removesuffix('.')} with `scarce correct`."
    return ShareAdvice(seen, way, command)


def _of_chosen(judged: Judged, seen: str) -> ShareAdvice:
    """What to say where few rows have a label, and nobody said how those came to have one."""
    n, labelled = len(judged.y), len(judged.y) - judged.unlabelled
    return ShareAdvice(
        f"{seen} among the rows with a label, {labelled:,} of {n:,}.",
        "If these were chosen, as alerts are, theirs is not the share of events of all rows, and "
        "nothing can be corrected by it. How much was missed is asked with `scarce estimate`.",
    )


def _tried(judged: Judged, shares: list[float], given: float, happened: float) -> tuple[str, bool]:
    """Say whether moving a model from its own share to what happened would mend it."""
    import numpy as np

    from scarce import correct_prior

    own = shares[1]
    rows, weight, _ = judged.speaking()
    now = [1.0 - happened, happened]
    moved = float(np.average(correct_prior(judged.prob[rows], shares, now), 0, weight))
    if abs(moved - happened) <= MENDED * abs(given - happened):
        return f"The model is for a share of {_percent(own)}; move it.", True
    if 1 / FAR < own / happened < FAR:
        why = f"The model is for a share of {_percent(own)} already, so that this"
    else:
        why = (
            f"The model is for a share of {_percent(own)}; moved to {_percent(happened)} it would "
            f"give {_percent(moved)} on average, so that the share of events"
        )
    return f"{why} is not the reason: it is not right on these rows. {ANOTHER}", False


def _command(judged: Judged, share: float) -> str:
    """Return the command that moves the model or the table, "" for a pipe: nothing names it."""
    path = judged.model_path or judged.path
    if path is None:
        return ""
    words = ["scarce", "correct", path_word(path)]
    if judged.model_path is None:
        if judged.columns != (USUAL,):
            words += [part for name in judged.columns for part in ("--prob", name)]
        words += [*text_flags(judged.form), "--trained-at", PLACEHOLDER]
    words += ["--now-at", f"{share:.3g}", "--out", path_word(_beside(path))]
    return shell_command(*words)


def _beside(path: Path) -> Path:
    """Return a name for the moved file that nothing has yet: NAME-now, with the same endings."""
    packing = path.suffix if path.suffix in (".gz", ".zst") else ""
    bare = Path(path.name.removesuffix(packing))
    stem, place = bare.stem.removesuffix("-now"), 1
    while True:
        number = "" if place == 1 else f"-{place}"
        new = path.with_name(f"{stem}-now{number}{bare.suffix}{packing}")
        if not new.exists():
            return new
        place += 1


def text_flags(form: TextForm | None) -> list[str]:
    """Return the flags that say how a text is written, none where it is written as usual.

    Examples
    --------
    >>> from scarce.io.text import TextForm
    >>> text_flags(TextForm(delimiter=";", decimal=","))
    ['--delimiter', ';', '--decimal', ',']
    """
    from scarce.io.text import TextForm

    usual = TextForm()
    form = usual if form is None else form
    said: list[str] = []
    for name in ("delimiter", "encoding", "decimal"):
        if getattr(form, name) != getattr(usual, name):
            said += [f"--{name}", getattr(form, name)]
    said += [] if form.header else ["--no-header"]
    said += [part for word in form.missing for part in ("--missing", str(word))]
    return said + (["--only-empty"] if form.only_empty else [])


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
