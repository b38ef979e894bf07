"""Costs on the command line: what may be typed, and the `CostMatrix` that it means.

    --false-alarm 5 --miss "0.8 * amount" --abstain 3        or        --costs costs.toml

A cost is a number, a column or a multiple of a column; 2,5 and 400 EUR are refused with the way to
type them. Reads no data: a verb asks which columns the costs need, reads them and passes them in.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.options import Group, class_key, names_of, plain_number
from scarce.errors import DataError, DataWarning, Problem, UsageError, warn_user

if TYPE_CHECKING:
    from scarce import CostMatrix

FOUR = ("false_alarm", "miss", "hit", "correct_rejection")  # the entries of two classes
COST_NAMES = (*FOUR, "abstain")
ACTION_NAMES = ("act", "pass", "abstain_name")
RIGHT_AND_WRONG = (("correct_rejection", "false_alarm"), ("hit", "miss"))  # of each class
ENDINGS = (".csv", ".tsv", ".toml")
COMMA = re.compile(r"\s*([-+]?\d+),(\d+)\s*")
WITH_UNIT = re.compile(r"\s*([^\w\s.,*`+-]?)\s*([-+]?\d+(?:\.\d+)?)\s*([^\d.,*`+-]*)\s*")


def _as_typed(**given: str | None) -> CostFlags:
    """Return the costs as typed."""
    given = _typed_wins(given, click.get_current_context())
    file, let_pass = given.pop("costs"), given.pop("pass")
    return CostFlags(file=file, let_pass=let_pass, **given)


def _typed_wins(given: dict[str, Any], context: click.Context) -> dict[str, Any]:
    """Drop settings (of scarce.toml, of the environment) that what was typed leaves no room for."""
    typed = {
        name
        for name in given
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    here = {name for name, value in given.items() if value is not None}
    dropped: set[str] = set()
    if "costs" in typed:
        dropped = here - typed  # a file says everything
    elif "costs" in here and typed & set(FOUR):
        dropped = {"costs"}
    elif "costs" in here and here & set(FOUR):
        other = min(here & set(FOUR)).replace("_", "-")
        raise DataError(
            "The settings (scarce.toml or the environment) give both costs and {other}.",
            code="argument-conflict",
            other=other,
            remedy="Remove one of them, or type the one you want.",
        )
    if not here - dropped - set(ACTION_NAMES):
        dropped |= here - typed  # names of actions, and nothing to name
    return {name: None if name in dropped else value for name, value in given.items()}


@dataclass(frozen=True)
class CostFlags:
    """Costs as typed: numbers, names of columns or formulas as text, or the path of a file.

    Parameters
    ----------
    false_alarm, miss, hit, correct_rejection, abstain : str, optional
        A number, a column's name, or a multiple of it with an extra ("0.8 * amount + 15").
    file : str, optional
        Path of a file that `CostMatrix.read` takes.
    act, let_pass, abstain_name : str, optional
        What the actions are called.

    Examples
    --------
    >>> flags = CostFlags(false_alarm="5", miss="amount", abstain="3")
    >>> flags.given, flags.columns, flags.option("amount")
    (True, ('amount',), '--miss')
    >>> print(flags.matrix(classes=("legit", "fraud")))
    cost of each action, by class
             legit   fraud
      pass       0  amount
      act        5       0
      abstain    3       3
    columns still to be bound: amount
    >>> CostFlags().matrix() is None
    True
    """

    false_alarm: str | None = None
    miss: str | None = None
    hit: str | None = None
    correct_rejection: str | None = None
    abstain: str | None = None
    file: str | None = None
    act: str | None = None
    let_pass: str | None = None
    abstain_name: str | None = None

    @property
    def given(self) -> bool:
        """Whether there are costs at all; reads nothing and checks nothing."""
        return any(text is not None for _, text in self._typed()) or self.file is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that the costs need, each once."""
        return () if self._plain is None else self._plain.columns

    def check(self) -> None:
        """Refuse flags that cannot work together, and a file that cannot be read."""
        self.matrix()

    def among(self, names: Collection[str]) -> CostFlags:
        """Return the flags for a table: text that is the name of a column means that column.

        So `--miss "Betrag in €"` and `--miss amount-2` need no back quotes where there is such a
        column.

        Examples
        --------
        >>> flags = CostFlags(false_alarm="5", miss="amount-2")
        >>> flags.columns, flags.among(["id", "amount-2"]).columns
        (('amount',), ('amount-2',))
        """
        quoted = {
            name: f"`{text}`"
            for name in COST_NAMES
            if (text := getattr(self, name)) in names
            and "`" not in text
            and plain_number(text) is None
        }
        return replace(self, **quoted) if quoted else self

    def option(self, column: str) -> str:
        """Return the flag that names a column, for messages."""
        for flag, text in self._typed():
            if text is not None and column in cost_column(flag, text):
                return flag
        return f"--costs {self.file}"

    def matrix(self, classes: Sequence[Any] | None = None, table: Any = None) -> CostMatrix | None:
        """Return the costs as a `CostMatrix`, or None where none were given.

        Parameters
        ----------
        classes : sequence of names, optional
            The classes in the order of the probabilities, the negative one first. Class names in a
            file are matched to them (1 and "1" are one class); costs without class names take them
            by position.
        table : mapping or table, optional
            Holds the columns that costs by row name; without it the matrix is left unbound.
        """
        plain = self._plain
        if plain is None:
            return None
        unnamed = bool(plain.positional)
        if classes is not None:
            plain = self._for_classes(plain, [_item(name) for name in classes])
        if table is not None:
            plain = plain.bind(table)  # before actions are renamed: it looks for mistakes that earn
        return self._renamed(plain, unnamed)

    def _typed(self) -> list[tuple[str, str | None]]:
        """Flags that hold a cost, with what was typed."""
        return [(_flag(name), getattr(self, name)) for name in COST_NAMES]

    @cached_property
    def _plain(self) -> CostMatrix | None:
        """The costs with the actions as the library calls them, made and warned about once."""
        self.refuse_contradictions()
        if not self.given:
            return None
        for flag, text in self._typed():
            if text is not None:
                cost_column(flag, text)
        plain = _from_file(self.file) if self.file is not None else self._from_flags()
        if self.abstain is None:
            return plain
        name = self.abstain_name or "abstain"
        if name in plain.actions:
            raise UsageError(
                "--abstain {cost}: {file} already has an action {action!r}.",
                code="duplicate-name",
                cost=self.abstain,
                file=self.file,
                action=name,
                remedy="Remove one of the two, or rename the second with --abstain-name.",
            )
        return plain.with_abstain(self.abstain, name=name)

    def _from_flags(self) -> CostMatrix:
        from scarce import CostMatrix

        entries = {name: getattr(self, name) for name in FOUR if getattr(self, name) is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # said below, in flags
            plain = CostMatrix.binary(**entries)
        varies = {place for place, _ in plain.amounts}
        for label, (right, wrong) in enumerate(RIGHT_AND_WRONG):
            pair = {(label, label), (1 - label, label)}
            if not pair & varies and plain.costs[label, label] > plain.costs[1 - label, label]:
                warn_user(
                    "{right} {right_cost:g} is larger than {wrong} {wrong_cost:g}, so the "
                    "mistake is the cheaper action. Are they swapped? Gains are negative costs.",
                    code="right-costs-more",
                    right=_flag(right),
                    right_cost=plain.costs[label, label],
                    wrong=_flag(wrong),
                    wrong_cost=plain.costs[1 - label, label],
                )
        asked = None if self.abstain is None else plain_number(self.abstain)
        if asked is not None and asked < 0 <= plain.costs.min():
            warn_user(
                "--abstain {cost:g} is negative and no other cost is, so every row is referred. "
                "Is the sign right?",
                code="negative-abstain",
                cost=asked,
            )
        return plain

    def refuse_contradictions(self) -> None:
        """Refuse flags that cannot work together; reads nothing."""
        if self.file is not None:
            for name in FOUR:
                if getattr(self, name) is not None:
                    raise UsageError(
                        "--costs {file} and {option} both give costs.",
                        code="argument-conflict",
                        file=self.file,
                        option=_flag(name),
                        remedy="Give one of the two.",
                    )
        elif self.given and (self.false_alarm is None or self.miss is None):
            left_out = [_flag(name) for name in FOUR[:2] if getattr(self, name) is None]
            are = "is" if len(left_out) == 1 else "are"
            raise UsageError(
                "{options} {are} missing.",
                code="missing-cost",
                options=" and ".join(left_out),
                are=are,
                remedy=(
                    "Give both costs, such as --false-alarm 5 --miss 400, or a file: --costs "
                    "costs.toml."
                ),
            )
        names = {"act": self.act, "pass": self.let_pass, "abstain-name": self.abstain_name}
        for flag, called in names.items():
            if called is not None and not self.given:
                raise UsageError(
                    "--{flag} {name!r} names an action, but there are no costs.",
                    code="no-costs",
                    flag=flag,
                    name=called,
                    remedy="Give them, such as --false-alarm 5 --miss 400.",
                )
            if called is not None and not called.strip():
                raise UsageError(
                    "--{flag} is empty.",
                    code="missing-name",
                    flag=flag,
                    remedy="Give a name, such as --{flag} block.",
                )

    def refuse_replaced(self, out: str | os.PathLike[str] | None) -> None:
        """Refuse to write rows over the file of costs."""
        if self.file is None or out is None or not os.path.exists(out):
            return
        if os.path.exists(self.file) and os.path.samefile(self.file, out):
            raise UsageError(
                "--out {out} is the cost file.",
                code="output-is-input",
                out=os.fspath(out),
                remedy="Give the rows another file name.",
            )

    def _for_classes(self, plain: CostMatrix, classes: list[Any]) -> CostMatrix:
        listed = ", ".join(map(str, classes))
        if len(classes) != len(plain.classes):
            if self.file is None:
                raise UsageError(
                    "--false-alarm and --miss are for two classes, and there are {count}: "
                    "{classes}.",
                    code="class-count",
                    count=len(classes),
                    classes=listed,
                    remedy="Give a file with a cost for each: --costs costs.csv.",
                )
            raise DataError(
                "{file!r} has costs for {given} classes ({names}), and there are {count}: "
                "{classes}.",
                code="class-count",
                file=self.file,
                given=len(plain.classes),
                names=", ".join(map(str, plain.classes)),
                count=len(classes),
                classes=listed,
                remedy="Give a cost for each class.",
            )
        if plain.positional:
            return plain.with_classes(classes)
        known = {class_key(name): name for name in classes}
        strange = [name for name in plain.classes if class_key(name) not in known]
        if strange:
            raise DataError(
                "{file!r} names the class {name!r}, and the classes are: {classes}.",
                code="unknown-class",
                file=self.file,
                name=str(strange[0]),
                classes=listed,
                remedy="Use the same names in the cost file.",
            )
        new = {name: known[class_key(name)] for name in plain.classes}
        actions = tuple(new.get(name, name) for name in plain.actions)
        classed = replace(plain, classes=tuple(new.values()), actions=actions)
        return classed.with_classes(classes)

    def _renamed(self, plain: CostMatrix, unnamed: bool) -> CostMatrix:
        """Call the actions as the user does; those without any name of their own pass and act."""
        typed = {"--pass": self.let_pass, "--act": self.act}
        new: dict[Any, Any] = {}
        if unnamed and len(plain.classes) == 2:
            new = {plain.classes[0]: self.let_pass or "pass", plain.classes[1]: self.act or "act"}
        for (flag, name), label in zip(typed.items(), plain.classes, strict=False):
            if name is None:
                continue
            if len(plain.classes) != 2 or label not in plain.actions:
                raise UsageError(
                    "{option} {name!r}: {file} already names the actions ({actions}).",
                    code="argument-conflict",
                    option=flag,
                    name=name,
                    file=self.file,
                    actions=", ".join(map(str, plain.actions)),
                    remedy="Rename them there.",
                )
            new[label] = name
        if self.abstain_name is not None and self.abstain is None:
            if "abstain" not in plain.actions:
                raise UsageError(
                    "--abstain-name {name!r}: there is no action 'abstain'.",
                    code="no-abstain",
                    name=self.abstain_name,
                    remedy="Give its cost, such as --abstain 3.",
                )
            new["abstain"] = self.abstain_name
        actions = tuple(new.get(name, name) for name in plain.actions)
        for name in actions:
            if actions.count(name) > 1:
                raise UsageError(
                    "Two actions are called {action!r}.",
                    code="duplicate-name",
                    action=name,
                    remedy="Rename one with --act, --pass or --abstain-name.",
                )
        return replace(plain, actions=actions)


def _from_file(path: str) -> CostMatrix:
    """Costs of a file. What a file holds is data, whatever the library calls it."""
    from scarce import CostMatrix

    if os.path.splitext(path)[1].lower() not in ENDINGS:
        raise UsageError(
            "--costs {path} must be a .toml file, or a .csv file with a row per action.",
            code="unknown-file-type",
            path=path,
        )
    try:
        return CostMatrix.read(path)
    except UsageError as error:
        raise DataError(error.problem) from None
    except (RecursionError, OverflowError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else "too great a number"
        raise DataError(
            "The cost file {path!r} cannot be read: {reason}.",
            code="file-unreadable",
            path=path,
            reason=what,
        ) from None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _item(name: Any) -> Any:
    """A name out of a numpy array as a plain one."""
    return name.item() if hasattr(name, "item") else name


COSTS = Group("costs", names_of("costs"), _as_typed)


def cost_column(flag: str, text: str) -> tuple[str, ...]:
    """Return the column that a typed cost names, if any; refuse what is no cost."""
    number = plain_number(text)
    if number is None:
        from scarce import CostMatrix

        try:
            return CostMatrix.binary(false_alarm=0.0, miss=text).columns
        except UsageError:
            if (meant := _meant(flag, text)) is not None:
                raise UsageError(meant) from None
            raise UsageError(
                "{option} {value!r} is not a number, a column's name or a multiple of a column "
                "such as '0.8 * amount + 15'.",
                code="cost-value",
                option=flag,
                value=text,
                column=text.strip("`"),
                remedy="Put an unusual column name between backquotes: {option} '`{column}`'",
            ) from None
    if not math.isfinite(number):
        raise UsageError(
            "{option} must be finite, got {value}.",
            code="cost-value",
            option=flag,
            value=text,
        )
    return ()


def _meant(flag: str, text: str) -> Problem | None:
    """How to type a cost that was typed as people write it, 2,5 or 400 EUR; None for others."""
    if not text.strip():
        return Problem(
            "{option} is empty.",
            code="cost-value",
            option=flag,
            remedy="Give a number, or the name of a column.",
        )
    if found := COMMA.fullmatch(text):
        thousands = f", or {found[1]}{found[2]} if it separates thousands"
        return Problem(
            "{option} {value!r} has a comma.",
            code="cost-value",
            option=flag,
            value=text,
            number=f"{found[1]}.{found[2]}",
            thousands=thousands if len(found[2]) == 3 else "",
            remedy="Type {number}{thousands}.",
        )
    if (found := WITH_UNIT.fullmatch(text)) and (found[1] or found[3]):
        word = found[3].strip()
        times = f", or a multiple of a column, '{found[2]} * {word}'" if word.isidentifier() else ""
        return Problem(
            "{option} {value!r} is a number with a unit.",
            code="cost-value",
            option=flag,
            value=text,
            number=found[2],
            times=times,
            remedy="Type the number alone, {number}{times}. All costs are in the same unit.",
        )
    return None
