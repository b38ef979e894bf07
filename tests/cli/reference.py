"""Writes the tables of verbs and options in docs/guide/command-line.md from cli/options.py.

    python -m tests.cli.reference            rewrites what lies between the page's marks, and the
                                             schema of scarce.toml beside the page
    python -m tests.cli.reference --check    only says whether it would change anything

A table stands between `<!-- verbs -->`, `<!-- shared -->` or `<!-- fit -->` (any verb) and the next
`<!-- end -->`. What stands outside of the marks is written by hand and left alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from scarce.cli.main import VERBS, scarce
from scarce.cli.options import option_of
from scarce.cli.settings import COMMON, TYPED_ONLY

PAGE = Path(__file__).parent.parent.parent / "docs" / "guide" / "command-line.md"
SCHEMA_FILE = PAGE.with_name("scarce.schema.json")
SHARED_BY = 3  # verbs: an option of as many, with the same words, is described once
MARKED = re.compile(r"(<!-- ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> dict[str, click.Command]:
    """Return the verbs' commands, in the order of the table."""
    context = click.Context(scarce)
    found = {name: scarce.get_command(context, name) for name in VERBS}
    return {name: command for name, command in found.items() if command is not None}


def options_of(command: click.Command) -> list[click.Option]:
    """Return the options of a verb that help shows, without help itself."""
    return [p for p in command.params if isinstance(p, click.Option) and not p.hidden]


def row_of(option: click.Option) -> str:
    """Return the table row of an option: how it is typed, and what it means."""
    context = click.Context(click.Command("any"))
    typed, meaning = option.get_help_record(context) or ("", "")
    typed = " ".join(typed.split()).replace("|", "\\|")
    meaning = " ".join(meaning.split()).replace("|", "\\|")
    return f"| `{typed}` | {meaning} |"


def shared_rows() -> list[str]:
    """Return the rows of options that several verbs have in the same words."""
    counted = Counter(row_of(o) for command in commands().values() for o in options_of(command))
    return [row for row, count in counted.items() if count >= SHARED_BY]


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of scarce.toml: a section for all verbs, and one for each."""
    sections: dict[str, dict[str, Any]] = {COMMON: {}}
    for verb, command in commands().items():
        keys = [option.opts[0][2:] for option in options_of(command)]
        held = {key: option_of(verb, key).schema() for key in keys if key not in TYPED_ONLY}
        sections[verb] = held
        for key, value in held.items():
            sections[COMMON].setdefault(key, value)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "scarce.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "object", "additionalProperties": False, "properties": held}
            for name, held in sections.items()
        },
    }


def table(rows: list[str]) -> str:
    """Return a Markdown table of options."""
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def verbs_table() -> str:
    """Return the table of verbs."""
    rows = [
        f"| [`scarce {name}`](#scarce-{name}) | {verb.summary} |" for name, verb in VERBS.items()
    ]
    return "\n".join(["| verb | what it does |", "|---|---|", *rows])


def verb_part(name: str) -> str:
    """Return how a verb is called, its own options, and the names of those it shares."""
    command = commands()[name]
    shared = shared_rows()
    own = [row_of(option) for option in options_of(command) if row_of(option) not in shared]
    common = [o.opts[0] for o in options_of(command) if row_of(o) in shared]
    # within scarce's own context: click keeps the help option that it first makes for a command
    parent = click.Context(scarce, help_option_names=["-h", "--help"])
    usage = command.collect_usage_pieces(click.Context(command, parent, info_name=name))
    parts = ["```", " ".join(["scarce", name, *usage]), "```", ""]
    if own:
        parts += [table(own), ""]
    if common:
        parts += [f"Shared: {', '.join(f'`{option}`' for option in common)}.", ""]
    return "\n".join(parts).rstrip()


def renewed(page: str) -> str:
    """Return the page with every marked part as the commands are now."""

    def part(match: re.Match[str]) -> str:
        name = match[2]
        if name == "verbs":
            text = verbs_table()
        elif name == "shared":
            text = table(shared_rows())
        elif name in VERBS:
            text = verb_part(name)
        else:
            return match[0]
        return f"{match[1]}{text}\n{match[3]}"

    return MARKED.sub(part, page)


def marks(page: str) -> Iterator[str]:
    """Return the names of the marked parts of the page."""
    return (match[2] for match in MARKED.finditer(page))


def main() -> int:
    """Renew the page, or say whether it is as the commands are."""
    before = PAGE.read_text(encoding="utf-8")
    after = renewed(before)
    schema = json.dumps(settings_schema(), indent=1, sort_keys=True) + "\n"
    same = after == before and SCHEMA_FILE.exists() and SCHEMA_FILE.read_text() == schema
    if "--check" not in sys.argv:
        PAGE.write_text(after, encoding="utf-8")
        SCHEMA_FILE.write_text(schema, encoding="utf-8")
    return int("--check" in sys.argv and not same)


if __name__ == "__main__":
    sys.exit(main())
