"""Names of actions and classes: unique, in order, and found again when they are misspelt."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.errors import UsageError, suggest


def name_array(names: Sequence[Hashable]) -> NDArray[Any]:
    """Return names as an array: of one type where they have one, of objects otherwise.

    Examples
    --------
    >>> name_array(["pass", "block"]), name_array([0, 1, "abstain"])
    (array(['pass', 'block'], dtype='<U5'), array([0, 1, 'abstain'], dtype=object))
    """
    kinds = {type(name) for name in names}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(names)
    held = np.empty(len(names), dtype=object)
    held[:] = list(names)
    return held


def read_names(given: Any, count: int, what: str, default: Any) -> tuple[Hashable, ...]:
    """Return as many names as there are rows or columns, or refuse what are none."""
    if isinstance(given, str):
        raise UsageError(f"{what}={given!r} is one text: give a list with a name for each.")
    listed = default if given is None else given
    try:
        names = tuple(n.item() if isinstance(n, np.generic) else n for n in listed)
        hash(names)
    except TypeError:
        raise UsageError(
            f"{what}={given!r} is no list of names: give one for each, such as ['no', 'yes']."
        ) from None
    if not all(isinstance(name, (str, int, float)) or name is None for name in names):
        raise UsageError(f"{what}={list(names)}: names are text or numbers.")
    if len(names) != count:
        side = "rows" if what == "actions" else "columns"
        raise UsageError(
            f"{what}={list(names)} are {len(names)} names, and costs has {count} {side}: costs has "
            "a row for each action and a column for each class."
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{what}={list(names)} names {twice[0]!r} twice: each needs its own name.")
    if any(name is None or name != name or not str(name).strip() for name in names):
        raise UsageError(f"{what}={list(names)} holds a missing name: give each its own.")
    return names


def place_of(name: Hashable, names: Sequence[Hashable], what: str) -> int:
    """Return the position of a name, or refuse one that is not there."""
    if isinstance(name, (str, int, float, np.generic)) and name in names:
        return list(names).index(name)
    listed = ", ".join(map(repr, names))
    same = next((known for known in names if str(known) == str(name)), None)
    if same is not None:
        raise UsageError(
            f"There is no {what} {name!r} in the costs, but {same!r}, which is a "
            f"{type(same).__name__}: use that."
        )
    raise UsageError(
        f"There is no {what} {name!r} in the costs: they have {listed}."
        f"{suggest(str(name), map(str, names))}"
    )
