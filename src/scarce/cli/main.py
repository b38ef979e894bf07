"""The `scarce` command: finds the verb, runs it, and ends with a code that a script can rely on.

Exit codes: 0 ok, 1 failure, 2 usage, 3 bad data, 4 a check did not hold, 130 interrupted.
Human words go to stderr, data to stdout. With ``--json`` an error too is one JSON object on stdout.
A traceback is shown only when SCARCE_TRACEBACK=1. When the reader of stdout goes away (``| head``)
the command stops quietly with code 1.

Nothing heavy is imported here: a verb's module is imported when the verb is run.
"""

from __future__ import annotations

import atexit
import errno
import functools
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO

import click

from scarce.cli import interrupts
from scarce.cli.flags import in_flags
from scarce.cli.output import SCHEMA, say, write_json
from scarce.cli.settings import (
    FILE,
    asks_for_json,
    defaults_for,
    read_settings,
    settings_taken,
)
from scarce.errors import DataWarning, Problem, ScarceError, UsageError, printable, suggest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FAILURE = 1
LONGEST = 700  # letters of a message; a cell of somebody's file may be longer
INTERRUPTED = 130  # 128 + SIGINT, as shells count
USAGE = {  # codes of what click refuses
    click.NoSuchOption: "unknown-option",
    click.MissingParameter: "missing-option",
    click.BadParameter: "option-value",
}


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
    name: Verb(f"scarce.cli.{name}", summary)
    for name, summary in (
        ("fit", "Fit a model to a table and save it."),
        ("predict", "Predict the probability of the event for each row."),
        ("correct", "Recalibrate probabilities or a model to a new base rate."),
        ("calibrate", "Calibrate probabilities or a model on rows with known outcomes."),
        ("estimate", "Estimate recall, precision and missed events, with intervals."),
        ("decide", "Choose the action with the lowest expected cost for each row."),
        ("label", "Choose which rows to label next, with known probabilities."),
        ("evaluate", "Evaluate probabilities against outcomes, with intervals."),
        ("compare", "Compare models on held-out rows, with intervals."),
        ("check", "Gate a pipeline: exit 4 if a bound does not hold."),
        ("report", "Write an HTML report."),
        ("demo", "Run three simulated examples with known truth."),
        ("doctor", "Check the installation and say how to repair it."),
    )
}


class VerbGroup(click.Group):
    """A click group that takes its verbs from a table and turns errors into words and a code."""

    run: click.Command | None = None  # the verb that was found
    json = False  # whether --json was typed or set

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command; None for an unknown name."""
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        command: click.Command = getattr(import_module(verb.module), cmd_name.replace("-", "_"))
        if not hasattr(command.callback, "says_settings"):
            command.callback = _saying_settings(command.callback)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that was typed, or say which one was probably meant."""
        name = args[0]
        if name not in VERBS and not ctx.resilient_parsing:
            hint = suggest(name, VERBS) or f" The verbs are: {', '.join(VERBS)}. See: scarce --help"
            raise UsageError(
                "There is no verb {verb!r}.{hint}", code="unknown-verb", verb=name, hint=hint
            )
        found = super().resolve_command(ctx, args)
        self.run = found[1]
        asks_for_help = {"-h", "--help"} & set(args) or name == "doctor"
        if self.run is not None and not ctx.resilient_parsing and not asks_for_help:
            self._take_settings(ctx, self.run, name)
        return found

    def _take_settings(self, ctx: click.Context, command: click.Command, name: str) -> None:
        """Give the verb its defaults from scarce.toml, and say which."""
        path = Path(FILE)
        self.json |= asks_for_json(name, {})
        held = read_settings(path, VERBS)
        if not held:
            return

        self.json |= asks_for_json(name, held)
        ctx.default_map = {name: defaults_for(command, name, held, path)}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of verbs without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a verb without importing any."""
        from click.shell_completion import CompletionItem

        verbs = [
            CompletionItem(name, help=verb.summary)
            for name, verb in VERBS.items()
            if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> None:
        """Run the verb, then push out what it wrote while a closed pipe can still be handled."""
        super().invoke(ctx)
        if sys.stdout is not None:
            sys.stdout.flush()

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and leave the interpreter with the exit code."""
        given = list(sys.argv[1:] if args is None else args)
        self.json = "--json" in (given[: given.index("--")] if "--" in given else given)
        with warnings.catch_warnings():
            warnings.showwarning = self._show_warning
            try:
                # click turns a closed pipe into SystemExit(1), and help and ctx.exit into a code
                code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            except (Exception, KeyboardInterrupt) as error:
                ended = KeyboardInterrupt() if interrupts.interrupted() else error
                code = _report(ended, json=self.json, options=self._options())
        sys.exit(code)

    def _options(self) -> list[str]:
        """Names of the options of the verb that was run."""
        parameters = [] if self.run is None else self.run.params
        return [option[2:] for one in parameters for option in one.opts if option[:2] == "--"]

    def _show_warning(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Write a warning about the data as a sentence; others, about code, with their place."""
        if issubclass(category, DataWarning):
            said = message.args[0] if isinstance(message, DataWarning) else str(message)
            shown = in_flags(said, self._options())
            mark = f" [{shown.code}]" if isinstance(shown, Problem) and shown.code else ""
            say(f"scarce: warning: {_shortened(shown)}{mark}")
        elif issubclass(category, RuntimeWarning):
            say(
                f"scarce: warning: {message}: some numbers are too large or too small to compute "
                "with. Look for extreme values. [numerical-warning]"
            )
        else:
            say(warnings.formatwarning(message, category, filename, lineno, line).rstrip())


def _saying_settings(callback: Any) -> Any:
    """Return a verb that first says which of its options were not typed but set elsewhere."""

    @functools.wraps(callback)
    def said(*args: Any, **more: Any) -> Any:
        for place, flags in settings_taken(click.get_current_context()).items():
            say(f"From {place}: {', '.join(flags)}.")
        interrupts.leave_to_python()
        return callback(*args, **more)

    said.says_settings = True  # type: ignore[attr-defined]
    return said


def _report(error: BaseException, *, json: bool, options: Sequence[str] = ()) -> int:
    """Say what went wrong, for a reader or a program, and return the exit code."""
    if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
        error = error.__cause__  # click takes a file that ends too early for a typed Ctrl-D
    code = FAILURE
    kind = type(error).__name__
    name = error.code if isinstance(error, ScarceError) else ""
    ours = isinstance(error, (ScarceError, click.ClickException, click.Abort, KeyboardInterrupt))
    trace = os.environ.get("SCARCE_TRACEBACK", "") not in ("", "0")
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        code, kind, message = INTERRUPTED, "Interrupted", "interrupted; no file was written"
        name = "interrupted"
    elif isinstance(error, ScarceError):
        code, message = error.exit_code, in_flags(error.problem, options)
    elif isinstance(error, click.UsageError):
        code, kind, message = UsageError.exit_code, UsageError.__name__, _usage(error)
        name = next((word for one, word in USAGE.items() if isinstance(error, one)), "usage")
    elif isinstance(error, click.ClickException):
        message, name = error.format_message(), "usage"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        place, name = error.filename or "standard output", "disk-full"
        message = (
            f"{place}: {os.strerror(error.errno).lower()}. Free some space, or write elsewhere."
        )
    elif isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        code, kind, name = UsageError.exit_code, UsageError.__name__, "file-name-encoding"
        message = (
            f"The name {error.object!r} is not valid UTF-8, so the file cannot be opened. "
            "Rename it; if names are UTF-8 and the locale is not, set PYTHONUTF8=1."
        )
    else:
        message = f"unexpected {kind}: {error}".removesuffix(": ").removesuffix(".") + "."
        name = "unexpected"
        if not trace:
            message += " To see where it happened, run it again with SCARCE_TRACEBACK=1."
    if trace and (not ours or isinstance(error, ScarceError)):
        say("".join(traceback.format_exception(error)).rstrip())
    message = _shortened(message)
    if json:
        told = {"kind": kind, "code": name, "message": message}
        _write_error({"schema": SCHEMA, "ok": False, "error": told})
    else:
        mark = f" [{name}]" if name and code != INTERRUPTED else ""
        say(f"scarce: {message}{mark}", error=code != INTERRUPTED)
    return code


def _shortened(message: str) -> str:
    """One line of at most `LONGEST` characters: a cell of somebody's file may be longer.

    Examples
    --------
    >>> _shortened("a\\tb\\x1b[2J"), len(_shortened("a" * 10_000))
    ('a\\\\tb\\\\x1b[2J', 705)
    """
    shown = printable(message, keep="")
    return (
        shown if len(shown) <= LONGEST else f"{shown[: LONGEST // 2]} ... {shown[-LONGEST // 2 :]}"
    )


def _usage(error: click.UsageError) -> str:
    """What click says, and where to read more."""
    message = error.format_message()
    if not message.endswith((".", "?", ")")):
        message += "."
    path = error.ctx.command_path if error.ctx else "scarce"
    if isinstance(error, click.NoSuchOption) and error.ctx and error.ctx.parent is None:
        message += " Options of a verb come after the verb."
    return f"{message} See: {path} --help"


def _write_error(record: dict[str, Any]) -> None:
    """Write the JSON form of an error; a reader that has gone or a full disk is no second error."""
    try:
        write_json(record)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            say(f"scarce: standard output: {error.strerror}; it cannot take the JSON.")
        # the text is still in the buffer: let the flush at exit go nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=VerbGroup,
    invoke_without_command=True,
    subcommand_metavar="VERB [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Exit codes: 0 ok, 1 failure, 2 usage, 3 bad data, 4 a check did not hold,
130 interrupted. Data go to stdout, words to stderr; --json after any verb
gives one JSON object. Options typed every time go into scarce.toml in the
current folder ([scarce] for all verbs, [decide] for one) or into the
environment (SCARCE_DECIDE_MISS=400); what is typed wins.

\b
Tab completion, for this shell session:
  bash   eval "$(_SCARCE_COMPLETE=bash_source scarce)"
  zsh    eval "$(_SCARCE_COMPLETE=zsh_source scarce)"
  fish   _SCARCE_COMPLETE=fish_source scarce | source""",
)
@click.version_option(
    package_name="scarce",
    prog_name="scarce",
    message="%(prog)s %(version)s",
)
@click.pass_context
def scarce(ctx: click.Context) -> None:
    """Honest probabilities, performance figures and decisions when labels are scarce.

    \b
    scarce demo            three stories with known truth, in seconds
    scarce doctor          is everything in place?
    scarce VERB --help     what a verb takes, with examples
    """
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())
        ctx.exit(UsageError.exit_code)


def main() -> NoReturn:
    """Run the command line: the entry point of the installed `scarce` command.

    Ends the process without taking the interpreter apart: one of Arrow's threads that reads ahead
    of a verb which has stopped asks for it then, and some processes ended in an abort.
    """
    code: Any = 0
    interrupts.watch()
    try:
        scarce(prog_name="scarce")
    except SystemExit as ended:
        code = ended.code
    if code is None or isinstance(code, int):
        with suppress(Exception):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(code or 0)
    sys.exit(code)
