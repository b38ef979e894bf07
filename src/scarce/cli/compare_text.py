"""What a comparison of models comes to, for a reader: a table and a few sentences.

A difference whose interval takes in 0 is called noise, and then the simpler model will do. Computes
nothing: see compare.py and evaluation/comparison.py.
"""

from __future__ import annotations

from typing import Any

from scarce.cli.evaluate import folded, number
from scarce.cli.output import on_terminal, table, terminal_width, write_line

CONSTANT = "constant"
MIX = ": it may have learnt at another share of events; see scarce evaluate."
OFF = 1.25  # a mean probability that is off by so much is worth a word


def verdict_words(
    found: Any, money: dict[str, Any], given_0: dict[str, int], *, fitted: bool
) -> list[str]:
    """Return what the figures come to, in sentences.

    Parameters
    ----------
    found : Comparison
    money : dict
        Costs of each model, empty without costs.
    given_0 : dict of name -> int
        Rows in which what happened had probability 0.
    fitted : bool
        Whether models were fitted here, not read from files.
    """
    from scarce.results import in_rows  # with numpy, which is heavy

    best, tied = found.best["log_loss"], [name for name in found.tied() if name != CONSTANT]
    worse = [name for name in found.behind["log_loss"] if name not in found.tied()]
    said = []
    if best == CONSTANT or not [name for name in found.evaluations if name != CONSTANT]:
        said.append("No model has less log loss than the same probability for every row.")
    elif best in found.no_better():
        said.append(
            f"The least log loss is that of {best}, and its gain over the constant forecast is "
            "inside the noise: these rows do not show that any model is worth having."
        )
    elif tied:
        said.append(
            f"The least log loss is that of {best}; the difference to {_listed(tied)} is inside "
            "the noise, so that the simpler one will do."
        )
    else:
        said.append(f"{best} is best in log loss, by more than the noise.")
    lost = [name for name in found.no_better() if name not in (best, *tied)]
    if lost and best != CONSTANT:
        unsure = [name for name in lost if found.ahead["log_loss"][name].value > 0]
        for how, names in (
            ("not certainly better", unsure),
            ("no better", [name for name in lost if name not in unsure]),
        ):
            if names:
                said.append(f"{_listed(names)}: {how} than the constant forecast in log loss.")
    for name, n in given_0.items():
        said.append(
            f"{name} gave probability 0 to what happened in {in_rows(n)}, and so its log loss is "
            "infinite."
        )
    others = [name for name in worse if name not in (CONSTANT, *lost)]
    if others:
        said.append(f"Worse by more than the noise: {_listed(others)}.")
    if money:
        close = money["tied"]
        said.append(
            f"In money the cheapest is {money['best']}"
            + (f"; inside the noise of it: {_listed(close)}." if close else ", beyond the noise.")
        )
    said += _off(found, fitted)
    return said


def _off(found: Any, fitted: bool) -> list[str]:
    """Say which models are far off on average, and for one from a file, why that may be."""
    said = []
    for name, one in found.evaluations.items():
        given, happened = one.given[0].value, one.happened[0].value
        if len(one.events) == 1 and 0 < happened < 1 and not 1 / OFF < given / happened < OFF:
            said.append(
                f"{name} gives {100 * given:.3g} % on average, and {100 * happened:.3g} % "
                "happened" + ("." if fitted else MIX)
            )
    return said


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def show_comparison(result: dict[str, Any]) -> None:
    """Write the table of models, the least log loss first, and what it comes to."""
    behind, money = result["behind"]["log_loss"], result.get("cost")
    told = [(name, result["evaluations"][name]) for name in result["models"]]
    level = f"behind ({100 * result['level']:g} %)"
    parts = [
        {
            "": [name for name, _ in told],
            "log loss": [number(one.log_loss.value) for _, one in told],
            level: [_signed(behind[name]) if name in behind else "best" for name, _ in told],
        },
        {
            "Brier": [number(one.brier.value) for _, one in told],
            "calibration": [number(one.calibration[0].value) for _, one in told],
        },
    ]
    if len(result["classes"]) == 2:
        parts[1]["mean given"] = [number(one.given[0].value, " %") for _, one in told]
    if money:
        late = money["behind"]
        parts.append(
            {
                "cost a row": [number(money["mean"][name].value) for name, _ in told],
                "behind": [_signed(late[name]) if name in late else "best" for name, _ in told],
            }
        )
    counts = ", ".join(
        f"{count:,} {name}" for name, count in zip(result["classes"], result["counts"], strict=True)
    )
    title = f"{result['table']}: {result['rows']:,} rows ({counts}), {result['how']}"
    _side_by_side(parts, title)
    write_line()
    for words in result["words"]:
        write_line(folded(words))
    write_line("\n" + folded("Assumes that " + "; ".join(result["assumes"]) + "."))


def _side_by_side(parts: list[dict[str, list[str]]], title: str) -> None:
    """Write columns as one table; where a terminal has no room for it, part after part."""
    whole = {heading: cells for part in parts for heading, cells in part.items()}
    pieces = [whole]
    if on_terminal() and _width(whole) > terminal_width():
        write_line(folded(title) + "\n")
        pieces, title = [{"": parts[0][""]} | part for part in parts], ""
    for place, piece in enumerate(pieces):
        if place:
            write_line()
        table(list(zip(*piece.values(), strict=True)), columns=list(piece), title=title)


def _width(columns: dict[str, list[str]]) -> int:
    """Columns of a terminal that a table takes, as it is drawn there."""
    return sum(max(map(len, [heading, *cells])) + 3 for heading, cells in columns.items())


def _signed(one: Any) -> str:
    """A difference with its interval, in few digits."""
    if one.value != one.value:
        return "unknown"
    if abs(one.value) == float("inf"):
        return f"{one.value:+g}"
    noise = "" if one.low > 0 else " noise"
    return f"+{one.value:.2g} [{one.low:.2g}, {one.high:.2g}]{noise}"
