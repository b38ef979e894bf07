"""The options that verbs share: the same flag means the same thing everywhere.

A group of options reaches the command as one argument: `form` (how text is written), `labels` (what
the values of the label column mean). numpy and pyarrow are not imported here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from scarce.cli.next_command import shell_word
from scarce.cli.output import emit, say
from scarce.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("csv", "tsv", "parquet", "arrow")
EXACT = 2**53  # from here on not every integer is a float
WHOLE = re.compile(r"[+-]?[0-9]+")


class LabelFlags(NamedTuple):
    """What was said about the label column, as typed."""

    label: str | None
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    unlabelled: tuple[str, ...]
    classes: tuple[str, ...] = ()
    background: tuple[str, ...] = ()  # those of `unlabelled` where nobody looked


class Name(click.ParamType[str]):
    """A column's name; completes from the header of the file that was typed before it."""

    name = "column"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the name as typed."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: Any, incomplete: str) -> list[Any]:
        """Offer the columns of the first file on the line that can be opened."""
        from click.shell_completion import CompletionItem

        given = [one for held in ctx.params.values() for one in _each(held)]
        for value in [*given, *ctx.args]:  # while a line is completed, click leaves files in args
            path = Path(str(value))
            if path.suffix != ".scarce" and path.is_file():
                return [
                    CompletionItem(name)
                    for name in _columns_of(path)
                    if name.startswith(incomplete)
                ]
        return []


class Between(click.FloatRange):
    """A number within bounds; nan is within none."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _columns_of(path: Path) -> tuple[str, ...]:
    from scarce.io.source import open_table

    try:
        return open_table(path).names
    except Exception:  # a completion has no place to say what is wrong with the file
        return ()


COLUMN = Name()
INPUT = click.Path(path_type=Path, allow_dash=True)


def text_options(command: Command) -> Command:
    """Add how text files are written; the command gets `form`, a TextForm."""
    options = (
        click.option("--delimiter", help="What separates values in text, such as ';'."),
        click.option(
            "--encoding",
            default="utf-8",
            show_default=True,
            help="Encoding of text, such as latin-1.",
        ),
        click.option("--decimal", default=".", show_default=True, help="Decimal point of text."),
        click.option("--no-header", is_flag=True, help="Text has no header: columns f0, f1, ..."),
        click.option(
            "--missing",
            multiple=True,
            metavar="VALUE",
            help="What means missing beside empty and NA, such as -999 (repeatable).",
        ),
        click.option(
            "--only-empty", is_flag=True, help="NA, null and the like are words, not missing."
        ),
    )
    for option in reversed(options):  # the last one put on is shown first
        command = option(command)

    @functools.wraps(command)
    def gathered(
        *args: Any,
        delimiter: str | None,
        encoding: str,
        decimal: str,
        no_header: bool,
        missing: tuple[str, ...],
        only_empty: bool,
        **more: Any,
    ) -> Any:
        from scarce.io.text import TextForm

        mark = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
        form = TextForm(mark, encoding, decimal, not no_header, missing, only_empty)
        return command(*args, form=form, **more)

    return gathered  # type: ignore[return-value]


def label_options(command: Command) -> Command:
    """Add what the label column means; the command gets `labels`, LabelFlags."""
    options = (
        click.option("--label", type=COLUMN, help="Column with the labels; empty: not labelled."),
        click.option(
            "--positive",
            multiple=True,
            metavar="VALUE",
            help="Label of the event, such as 1 or fraud (repeatable).",
        ),
        click.option(
            "--negative",
            multiple=True,
            metavar="VALUE",
            help="Label of the others (repeatable).",
        ),
        click.option(
            "--unlabelled",
            multiple=True,
            metavar="VALUE",
            help="Label that means 'not labelled', such as -1 (repeatable).",
        ),
        click.option(
            "--classes",
            multiple=True,
            metavar="VALUE",
            help="All labels in order, where there are three or more (repeatable).",
        ),
    )
    for option in reversed(options):  # the last one put on is shown first
        command = option(command)

    @functools.wraps(command)
    def gathered(
        *args: Any,
        label: str | None,
        positive: tuple[str, ...],
        negative: tuple[str, ...],
        unlabelled: tuple[str, ...],
        classes: tuple[str, ...],
        **more: Any,
    ) -> Any:
        flags = LabelFlags(label, positive, negative, unlabelled, classes)
        return command(*args, labels=flags, **more)

    return gathered  # type: ignore[return-value]


out_option = click.option(
    "--out", "-o", type=click.Path(path_type=Path, allow_dash=True), help="File to write."
)
to_option = click.option(
    "--to", type=click.Choice(FORMATS), help="Format to write; by default what the ending says."
)
formula_safe_option = click.option(
    "--formula-safe",
    is_flag=True,
    help="Text for a spreadsheet: ' before cells that it would take for a formula.",
)
force_option = click.option("--force", is_flag=True, help="Replace the output file if it exists.")
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would be done; read little, write nothing."
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cores to use; one by default. Does not change the result.",
)
level_option = click.option(
    "--level",
    type=Between(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    default=0.9,
    show_default=True,
    help="Coverage of the intervals.",
)


def engine_of(threads: int | None) -> Any:
    """Return the engine for a number of threads: None for one, else a pool of that size."""
    if threads is None or threads == 1:
        return None
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)


def typed(text: str) -> Any:
    """Read a value as typed: a number where it is one, else the word.

    Examples
    --------
    >>> typed("1"), typed("-0.5"), typed("fraud"), typed("007")
    (1, -0.5, 'fraud', '007')
    >>> typed("9007199254740993"), typed("1e3")  # 2**53 + 1, which no float is
    (9007199254740993, 1000)
    """
    try:
        number = float(text)
    except ValueError:
        return text
    if text != text.strip() or (len(text) > 1 and text[0] == "0" and text[1].isdigit()):
        return text
    if number != number or number in (float("inf"), float("-inf")):
        return text
    if WHOLE.fullmatch(text):
        return int(text)
    return int(number) if number == int(number) and abs(number) < EXACT else number


def class_key(name: Any) -> Any:
    """Return what the spellings of one class share: 1, 1.0, True and "1".

    Integers too great for a float stay apart.

    Examples
    --------
    >>> class_key("1") == class_key(1.0) == class_key(True), class_key("fraud")
    (True, 'fraud')
    >>> class_key("9007199254740993") == class_key(2**53)
    False
    """
    try:
        number = float(name)
    except (TypeError, ValueError, OverflowError):
        return str(name)
    if abs(number) < EXACT or number != number or number in (float("inf"), float("-inf")):
        return number
    if isinstance(name, str):
        return int(name) if WHOLE.fullmatch(name.strip()) else number
    return int(name) if hasattr(name, "__index__") else number


def missing_values(words: Sequence[Any]) -> list[Any]:
    """Return what --missing says, as words and as the numbers that they spell.

    Examples
    --------
    >>> missing_values(("-999", "none"))
    ['-999', 'none', -999]
    """
    both = [*words, *(typed(str(word)) for word in words)]
    return [value for place, value in enumerate(both) if value not in both[:place]]


def show_plan(plan: Mapping[str, Any], *, json: bool) -> None:
    """Say what a verb would do (its ``--dry-run``)."""
    if not json:
        say("Dry run: nothing is computed or written.")
    shown = {
        name: ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        for name, value in plan.items()
    }
    emit({"dry_run": True, **plan} if json else shown, json=json)


def refuse_table_ending(out: Path) -> None:
    """Refuse to call a model file what a table is called."""
    bare = out.with_suffix("") if out.suffix in (".gz", ".zst") else out
    if bare.suffix in (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".html", ".json"):
        raise UsageError(
            f"--out {out}: a model is not a {bare.suffix} file. Let its name end in .scarce: "
            f"--out {shell_word(str(bare.with_suffix('.scarce')))}"
        )


def rows_need_a_file(out: Path | None, json: bool, example: str) -> None:
    """Refuse a summary and rows on the same stream."""
    if json and (out is None or str(out) == "-"):
        raise UsageError(
            f"--json writes a summary on stdout, so the rows need a file: --out {example}"
        )
