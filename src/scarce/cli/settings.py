"""Settings that are typed every time: `scarce.toml` in the current folder.

    [scarce]                 for every verb that has the option
    label = "fraud"
    positive = 1

    [decide]                 for one verb
    false-alarm = 5

A flag wins over the environment (SCARCE_DECIDE_MISS=400), which wins over the file. Unknown names
are refused, with the nearest known one. What was taken is listed on stderr. Where a verb writes and
which types of a model file are trusted is never taken from the file: a folder from elsewhere could
overwrite files with it, or vouch for its own models.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from scarce.cli.options import OPTIONS
from scarce.errors import DataError, suggest

FILE = "scarce.toml"
COMMON = "scarce"
KEYS = {option.key for option in OPTIONS.values()}
TYPED_ONLY = ("out", "force", "trust")  # what a folder from elsewhere must not decide


def read_settings(path: Path, verbs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Read the file into sections by verb, and refuse sections that are none.

    Parameters
    ----------
    path : Path
        The file; without one there are no settings.
    verbs : mapping
        Names of the verbs.
    """
    import tomllib

    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(
            "{path} cannot be read ({reason}).",
            code="file-unreadable",
            path=path,
            reason=error.strerror,
            remedy="Check its permissions.",
        ) from None
    try:
        held = tomllib.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits
        raise DataError(
            "{path} is not valid TOML ({reason}).",
            code="toml-syntax",
            path=path,
            reason=error,
            remedy="Fix it, or move the file away.",
        ) from None
    for name, section in held.items():
        if name != COMMON and name not in verbs:
            near = suggest(name, [COMMON, *verbs])
            raise DataError(
                "{path}: [{section}] is not a verb.{hint}",
                code="settings-section",
                path=path,
                section=name,
                hint=near,
                common=COMMON,
                remedy="Sections are [{common}] for all verbs, or the name of a verb.",
            )
        if not isinstance(section, dict):
            raise DataError(
                "{path}: {key} = {value!r} is outside a section.",
                code="settings-section",
                path=path,
                key=name,
                value=section,
                common=COMMON,
                remedy="Put settings under [{common}] or under a verb, such as [decide].",
            )
        for key in TYPED_ONLY:
            if key in section:
                raise DataError(
                    "{path}, [{section}]: {key} cannot be set in a file, because it could make a "
                    "verb overwrite your files.",
                    code="settings-typed-only",
                    path=path,
                    section=name,
                    key=key,
                    remedy="Remove it, and type --{key}.",
                )
    return held


def defaults_for(
    command: click.Command,
    name: str,
    held: Mapping[str, Mapping[str, Any]],
    path: Path,
) -> dict[str, Any]:
    """Return the settings that one verb takes, as click's defaults, checked for their names.

    Parameters
    ----------
    command, name : click.Command and str
        The verb.
    held : mapping
        The sections, from `read_settings`.
    path : Path
        The file, for messages.
    """
    options = {
        option.lstrip("-"): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option.startswith("--")
    }
    taken: dict[str, Any] = {}
    for section in (COMMON, name):
        for key, value in held.get(section, {}).items():
            parameter = options.get(key.replace("_", "-"))
            if parameter is None or parameter.name is None:
                known = KEYS if section == COMMON else options
                if section == COMMON and key.replace("_", "-") in known:
                    continue
                of = "any verb" if section == COMMON else f"scarce {name}"
                raise DataError(
                    "{path}, [{section}]: {key!r} is not an option of {verb}.{hint} See: scarce "
                    "{name} --help",
                    code="settings-key",
                    path=path,
                    section=section,
                    key=key,
                    verb=of,
                    hint=suggest(key, known),
                    name="VERB" if section == COMMON else name,
                )
            taken[parameter.name] = _default(parameter, value, f"{path}, [{section}]: {key}")
    return taken


def _default(parameter: click.Option, value: Any, place: str) -> Any:
    """Check one setting as click would check what is typed."""
    if isinstance(value, dict):
        raise DataError(
            "{place} must be one value, not a table.",
            code="settings-value",
            place=place,
        )
    if parameter.is_flag:
        if not isinstance(value, bool):
            raise DataError(
                "{place} must be true or false, got {value!r}.",
                code="settings-value",
                place=place,
                value=value,
            )
        return value
    given = value if isinstance(value, list) else [value]
    if any(isinstance(one, (dict, list)) for one in given):
        raise DataError(
            "{place} must be one value or a plain list of values, got {value!r}.",
            code="settings-value",
            place=place,
            value=value,
        )
    if isinstance(value, list) and not parameter.multiple:
        raise DataError(
            "{place} must be one value, got {value!r}.",
            code="settings-value",
            place=place,
            value=value,
        )
    words = [str(one).lower() if isinstance(one, bool) else str(one) for one in given]
    try:
        for word in words:
            read = parameter.type.convert(word, parameter, None)
            if isinstance(read, float) and not math.isfinite(read):
                raise DataError(
                    "{place} must be a finite number, got {value}.",
                    code="settings-value",
                    place=place,
                    value=word,
                )
    except click.BadParameter as error:
        raise DataError(
            "{place}: {reason}.",
            code="settings-value",
            place=place,
            reason=error.message.rstrip("."),
        ) from None
    return words if parameter.multiple else words[0]


def asks_for_json(verb: str, held: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether errors of a verb are wanted as JSON, by the environment or else by the file.

    Examples
    --------
    >>> asks_for_json("fit", {"scarce": {"json": True}, "fit": {"json": False}})
    False
    """
    word = os.environ.get(f"SCARCE_{verb.upper()}_JSON")
    if word is not None:
        with suppress(click.BadParameter):
            return bool(click.BOOL.convert(word, None, None))
        return False
    return bool({**held.get(COMMON, {}), **held.get(verb, {})}.get("json") is True)


def settings_taken(ctx: click.Context) -> dict[str, list[str]]:
    """Return the options of a verb that were set and not typed, by the place that set them."""
    taken: dict[str, list[str]] = {}
    places = {
        click.core.ParameterSource.DEFAULT_MAP: FILE,
        click.core.ParameterSource.ENVIRONMENT: "the environment",
    }
    for parameter in ctx.command.params:
        place = places.get(ctx.get_parameter_source(parameter.name or ""))  # type: ignore[arg-type]
        if place is None:
            continue
        value = ctx.params.get(parameter.name or "")
        words = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        name = parameter.opts[-1].lstrip("-")
        flag = isinstance(parameter, click.Option) and parameter.is_flag
        taken.setdefault(place, []).append(name if flag else f"{name} {words}")
    return taken
