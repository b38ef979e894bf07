"""Costs in a file that people who do not program can keep: CSV with a row per action, or TOML.

    action,legit,fraud          classes = ["legit", "fraud"]      false_alarm = 5
    pass,0,amount               [costs.pass]                      miss = "0.8 * amount"
    block,5,0                   legit = 0                         abstain = 3
    ask,3,3                     fraud = "amount"                  classes = ["legit", "fraud"]

A cost is a number or the name of a column, also "0.8 * amount + 15". Class names that are all
integers are read as numbers. Does not judge the costs: see costs.py.
"""

from __future__ import annotations

import csv
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from scarce.decisions.cost_entries import Name
from scarce.errors import Argument, DataError, UsageError, suggest

SHORT_FORM = ("false_alarm", "miss", "hit", "correct_rejection", "abstain", "classes")
Made = TypeVar("Made")
LARGEST = 1 << 20  # bytes of a file of costs
HEADING = "Give a heading 'action,class,class', then a line for each action."


def read_costs(path: str | os.PathLike[str], make: Callable[..., Made]) -> Made:
    """Return what `make` (a CostMatrix) makes of a file, or say what is wrong with it."""
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(
            "CostMatrix.read({path!r}): give the path of a .csv or .toml file.",
            code="path-type",
            path=path,
        )
    place, file = Path(path), os.fspath(path)
    ending = place.suffix.lower()
    if ending not in (".csv", ".tsv", ".toml"):
        raise UsageError(
            "Costs in {file!r}: the ending {ending!r} is not known.",
            code="unknown-file-type",
            file=file,
            ending=ending,
            remedy="Give a .csv with a row per action, or a .toml file.",
        )
    try:
        if place.stat().st_size > LARGEST:
            raise DataError(
                "{file!r} is over 1 MB: that is not a matrix of costs.",
                code="file-too-large",
                file=file,
            )
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "Costs in {file!r} cannot be read: {reason}.",
            code="file-unreadable",
            file=file,
            reason=error.strerror if isinstance(error, OSError) else "it is not UTF-8 text",
        ) from None
    try:
        if ending == ".toml":
            return make(**_from_toml(text))
        return make(**_from_csv(text, "\t" if ending == ".tsv" else ","))
    except (DataError, UsageError) as error:
        raise _in_file(error, file) from None


def _in_file(error: DataError | UsageError, file: str) -> DataError | UsageError:
    """The same problem, with the file it was found in."""
    return type(error)(error.problem.amended("{file!r}: ", file=file))


def _from_csv(text: str, mark: str) -> dict[str, Any]:
    heading = text.split("\n", 1)[0]
    if mark == "," and "," not in heading and ";" in heading:  # a spreadsheet with decimal commas
        mark, text = ";", re.sub(r"(?<=\d),(?=\d)", ".", text)
    try:
        lines = [line for line in csv.reader(text.splitlines(), delimiter=mark) if any(line)]
    except csv.Error as error:
        raise DataError(
            "Cannot read the text as a table ({reason}).", code="csv-syntax", reason=str(error)
        ) from None
    if len(lines) < 3 or len(lines[0]) < 3:
        raise DataError(
            "The table is too small for a matrix of costs.", code="costs-shape", remedy=HEADING
        )
    if lines[0][0].strip().lower() not in ("action", "actions", ""):
        raise DataError(
            "The heading begins with {found!r} instead of 'action'.",
            code="csv-heading",
            found=lines[0][0],
            remedy=HEADING,
        )
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(lines[0]):
            raise DataError(
                "Line {line} has {found} cells and the heading {expected}.",
                code="length-mismatch",
                line=number,
                found=len(line),
                expected=len(lines[0]),
                remedy="Give the action's name, then one cost per class.",
            )
    classes = _read_names([cell.strip() for cell in lines[0][1:]])
    actions = [line[0].strip() for line in lines[1:]]
    grid = [
        [_entry(cell, action, label) for cell, label in zip(line[1:], classes, strict=True)]
        for line, action in zip(lines[1:], actions, strict=True)
    ]
    return {"costs": grid, "actions": _as_classes(actions, classes), "classes": classes}


def _from_toml(text: str) -> dict[str, Any]:
    try:
        held = tomllib.loads(text)
    except ValueError as error:  # not TOML, or an integer of thousands of digits
        raise DataError(
            "The text is not TOML ({reason}).", code="toml-syntax", reason=str(error)
        ) from None
    if "costs" in held:
        return _from_tables(held)
    for word in held:
        if word not in SHORT_FORM:
            raise DataError(
                "{word!r} is not known.{hint}",
                code="unknown-word",
                word=word,
                hint=suggest(word, (*SHORT_FORM, "costs")),
                remedy="Give false_alarm and miss (and abstain), or a table [costs.ACTION] for "
                "each action.",
            )
    for word in ("false_alarm", "miss"):
        if word not in held:
            raise DataError(
                "{word} is missing.",
                code="missing-argument",
                word=word,
                remedy="Give false_alarm and miss, or [costs.ACTION].",
            )
    cell = {word: _entry(held.get(word, 0), word, None) for word in SHORT_FORM[:4]}
    classes = _class_list(held.get("classes", [0, 1]))
    if len(classes) != 2:
        raise DataError(
            "classes={classes}: false_alarm and miss are for two classes, negative first.",
            code="two-classes-needed",
            classes=classes,
        )
    grid = [[cell["correct_rejection"], cell["miss"]], [cell["false_alarm"], cell["hit"]]]
    actions: list[Name] = list(classes)
    if "abstain" in held:
        grid.append([_entry(held["abstain"], "abstain", None)] * 2)
        actions.append("abstain")
    named = classes if "classes" in held else None
    return {"costs": grid, "actions": actions, "classes": named}


def _from_tables(held: dict[str, Any]) -> dict[str, Any]:
    tables = held["costs"]
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise DataError(
            "costs must be a table for each action, such as [costs.pass].", code="costs-type"
        )
    for word in held:
        if word not in ("costs", "classes"):
            raise DataError(
                "{word!r} is not known beside [costs.ACTION].", code="unknown-word", word=word
            )
    seen = list(dict.fromkeys(label for table in tables.values() for label in table))
    classes = _class_list(held["classes"]) if "classes" in held else _read_names(seen)
    written = [str(label) for label in classes]
    grid = []
    for action, table in tables.items():
        for label in table:
            if label not in written:
                raise DataError(
                    "[costs.{action}] names the class {label!r}; classes are {known}.{hint}",
                    code="unknown-class",
                    action=action,
                    label=label,
                    known=written,
                    hint=suggest(label, written),
                )
        for label in written:
            if label not in table:
                raise DataError(
                    "[costs.{action}] has no cost for the class {label!r}.",
                    code="missing-class",
                    action=action,
                    label=label,
                )
        grid.append([_entry(table[label], action, label) for label in written])
    return {"costs": grid, "actions": _as_classes(list(tables), classes), "classes": classes}


def _class_list(given: object) -> list[Name]:
    if not isinstance(given, list) or not all(isinstance(v, (str, int, float)) for v in given):
        raise DataError(
            '{classes}: give a list of names, such as ["legit", "fraud"].',
            code="names-type",
            classes=Argument("classes", given),
        )
    return given


def _entry(cell: object, action: str, label: Name) -> float | str:
    """A number, or the text of an amount in a column."""
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return float(cell)
    if not isinstance(cell, str) or not cell.strip():
        raise DataError(
            "The cost for {place} is {cell!r}.",
            code="cost-type",
            place=action if label is None else f"action {action!r}, class {label!r}",
            cell=cell,
            remedy="Give a number or the name of a column.",
        )
    try:
        return float(cell)
    except ValueError:
        return cell.strip()


def _read_names(names: list[str]) -> list[Name]:
    """Names as they are, or as truth values or numbers where all of them are."""
    truth = {"true": True, "false": False}
    if all(name.lower() in truth for name in names):
        return [truth[name.lower()] for name in names]
    for kind in (int, float):
        try:
            return [kind(name) for name in names]
        except ValueError:
            pass
    return list(names)


def _as_classes(actions: list[str], classes: list[Name]) -> list[Name]:
    """Actions under the name of a class get the class itself: 1 and '1' are one thing."""
    known = {str(label): label for label in classes}
    return [known.get(action, action) for action in actions]
