"""The `scarce` command: finds the verb, runs it, and ends with a code that a script can rely on.

Exit codes: 0 ok, 1 failure, 2 usage, 3 bad data, 4 a check did not hold, 130 interrupted.
Human words go to stderr, data to stdout. With ``--json`` an error too is one JSON object on stdout.
A traceback is shown only when SCARCE_TRACEBACK=1. When the reader of stdout goes away (``| head``)
the command stops quietly with code 1.

Nothing heavy is imported here: a verb's module is imported when the verb is run (see verbs.py).
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

import click

from scarce.cli.output import SCHEMA, say, write_json
from scarce.cli.verbs import VERBS
from scarce.errors import DataWarning, ScarceError, UsageError, suggest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FAILURE = 1
INTERRUPTED = 130  # 128 + SIGINT, as shells count


class VerbGroup(click.Group):
    """A click group that takes its verbs from a table and turns errors into words and a code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command; None for an unknown name."""
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        command: click.Command = getattr(import_module(verb.module), cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that was typed, or say which one was probably meant."""
        name = args[0]
        if name not in VERBS and not ctx.resilient_parsing:
            hint = suggest(name, VERBS) or f" The verbs are: {', '.join(VERBS)}."
            raise click.UsageError(f"There is no verb {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

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
        json = "--json" in (given[: given.index("--")] if "--" in given else given)
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                # click turns a closed pipe into SystemExit(1), and help and ctx.exit into a code
                code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            except (Exception, KeyboardInterrupt) as error:
                sys.exit(_report(error, json=json))
        sys.exit(code)


def _report(error: BaseException, *, json: bool) -> int:
    """Say what went wrong, for a reader or a program, and return the exit code."""
    if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
        error = error.__cause__  # click takes a file that ends too early for a typed Ctrl-D
    code = FAILURE
    kind = type(error).__name__
    ours = isinstance(error, (ScarceError, click.ClickException, click.Abort, KeyboardInterrupt))
    trace = os.environ.get("SCARCE_TRACEBACK", "") not in ("", "0")
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        code, kind, message = INTERRUPTED, "Interrupted", "interrupted; nothing was written"
    elif isinstance(error, ScarceError):
        code, message = error.exit_code, str(error)
    elif isinstance(error, click.UsageError):
        code, kind, message = UsageError.exit_code, UsageError.__name__, _usage(error)
    elif isinstance(error, click.ClickException):
        message = error.format_message()
    else:
        message = f"unexpected {kind}: {error}".removesuffix(": ").removesuffix(".") + "."
        if not trace:
            message += " To see where it happened, run it again with SCARCE_TRACEBACK=1."
    if trace and (not ours or isinstance(error, ScarceError)):
        say("".join(traceback.format_exception(error)).rstrip())
    if json:
        _write_error({"schema": SCHEMA, "ok": False, "error": {"kind": kind, "message": message}})
    else:
        say(f"scarce: {_error_word() if code != INTERRUPTED else ''}{message}")
    return code


def _usage(error: click.UsageError) -> str:
    """What click says, and where to read more."""
    message = error.format_message()
    if not message.endswith((".", "?", ")")):
        message += "."
    path = error.ctx.command_path if error.ctx else "scarce"
    if isinstance(error, click.NoSuchOption) and error.ctx and error.ctx.parent is None:
        message += " Options of a verb come after the verb."
    return f"{message} See: {path} --help"


def _error_word() -> str:
    """Return ``error: `` in red on a terminal that wants colour, otherwise nothing."""
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        return ""
    return click.style("error", fg="red", bold=True) + ": "


def _write_error(record: dict[str, Any]) -> None:
    """Write the JSON form of an error; a reader that has gone away is no second error."""
    try:
        write_json(record)
    except BrokenPipeError:
        # the text is still in the buffer: let the flush at exit go nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Write a warning about the data as a sentence; others, about code, with their place."""
    if issubclass(category, DataWarning):
        say(f"scarce: warning: {message}")
    else:
        say(warnings.formatwarning(message, category, filename, lineno, line).rstrip())


@click.group(
    cls=VerbGroup,
    invoke_without_command=True,
    subcommand_metavar="VERB [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Exit codes: 0 ok, 1 failure, 2 usage, 3 bad data, 4 a check did not hold,
130 interrupted. Data go to stdout, words to stderr; --json after any verb
gives one JSON object.

\b
Tab completion, for this shell session:
  bash   eval "$(_SCARCE_COMPLETE=bash_source scarce)"
  zsh    eval "$(_SCARCE_COMPLETE=zsh_source scarce)"
  fish   _SCARCE_COMPLETE=fish_source scarce | source""",
)
@click.version_option(package_name="scarce", prog_name="scarce", message="%(prog)s %(version)s")
@click.pass_context
def scarce(ctx: click.Context) -> None:
    """Honest probabilities, performance figures and decisions when labels are scarce.

    \b
    scarce demo            a story with known truth, in three seconds
    scarce doctor          is everything in place?
    scarce VERB --help     what a verb takes, with examples
    """
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())
        ctx.exit(UsageError.exit_code)


def main() -> None:
    """Run the command line: the entry point of the installed `scarce` command."""
    scarce(prog_name="scarce")
