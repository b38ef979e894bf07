"""How tests say what is refused: by code and fields, never by the words of a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from scarce.errors import Argument, DataWarning, Problem, ScarceError


@contextmanager
def refused(code: str, kind: type[ScarceError] = ScarceError, /, **fields: Any) -> Iterator[Any]:
    """Expect an error with this code, of this kind, and with these fields among its own.

    A field that is an `Argument` is compared by its name where a text is given, so that
    `refused("level-range", level="level")` and `level=Argument("level", 1.5)` both work.
    """
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code, f"{caught.value.code!r}: {caught.value}"
    _compare(caught.value.problem, fields)


@contextmanager
def warned(code: str, /, **fields: Any) -> Iterator[list[Problem]]:
    """Expect at least one `DataWarning` with this code and these fields, and nothing else."""
    found: list[Problem] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    said = [one.message.args[0] for one in caught if isinstance(one.message, DataWarning)]
    found += [one for one in said if isinstance(one, Problem)]
    assert len(said) == len(caught), [str(one.message) for one in caught]
    matching = [one for one in found if one.code == code]
    assert matching, f"no warning {code!r} among {[(one.code, str(one)) for one in found]}"
    _compare(matching[0], fields)


def codes(remarks: Any) -> list[str]:
    """Return the codes of remarks or warnings."""
    return [getattr(one, "code", "") for one in remarks]


def _compare(problem: Problem, fields: dict[str, Any]) -> None:
    for name, expected in fields.items():
        seen = problem.fields[name]
        if isinstance(seen, Argument) and isinstance(expected, str):
            seen = seen.name
        assert seen == expected, f"{name}: {seen!r}, not {expected!r} ({problem})"
