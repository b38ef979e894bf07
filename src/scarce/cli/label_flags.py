"""Flags of `scarce label` that cannot work together: said before anything is read or replaced.

A flag that would do nothing is refused too: whoever typed it believes that it does. Defaults, and
what scarce.toml says for all verbs, are no reason to refuse. Chooses nothing: see label.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scarce.cli.list_files import ANSWER, ROW
from scarce.cli.options import is_typed
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.io.source import TableSource

OF_POLICY = {
    "pure": "audit",
    "strata": "stratified",
    "allocation": "stratified",
    "by": "uncertainty",
    "explore": "uncertainty",
}


def refuse_flags(
    score: str | None,
    prob: tuple[str, ...],
    policy: str,
    n: tuple[int, ...],
    plan: bool,
    width: float | None,
    threshold: float | None,
    by: str,
    costs: Path | None,
) -> None:
    """Refuse flags that cannot work together, before anything is read."""
    unsure = policy == "uncertainty" and not plan
    if unsure and score is not None:
        raise UsageError("--policy uncertainty is about probabilities: give --prob, not --score.")
    by_lot = policy == "random" and not plan and threshold is None  # needs nothing to rank by
    if not unsure and not by_lot and score is None and not prob:
        raise UsageError("Name the column of scores with --score, or of probabilities with --prob.")
    if score is not None and prob:
        raise UsageError("--score and --prob both say what rows are ranked by: give one of them.")
    if not plan and len(n) != 1:
        raise UsageError("How many rows? Give --n once, such as --n 100; several only with --plan.")
    if width is not None and not plan:
        raise UsageError("--width is a question to the plan: add --plan.")
    if threshold is None and (plan or policy == "audit"):
        raise UsageError("An audit looks below the threshold: give --threshold.")
    if (by == "cost") != (costs is not None):
        raise UsageError("--by cost and --costs FILE go together: give both or neither.")
    _refuse_idle("audit" if plan else policy, plan, policy)


def _refuse_idle(used: str, plan: bool, policy: str) -> None:
    """Refuse flags that were typed and would do nothing."""
    if plan and policy != "audit" and is_typed("policy"):
        raise UsageError(
            f"--plan plays audits through, and --policy {policy} is another draw: leave one out."
        )
    for name, whose in OF_POLICY.items():
        if is_typed(name) and used != whose:
            raise UsageError(
                f"--{name} belongs to --policy {whose} and does nothing with --policy {used}: "
                "leave it out."
            )
    for name in ("pure", "out", "to"):
        if plan and is_typed(name):
            raise UsageError(
                f"--{name} is for a list, and --plan chooses no rows: leave one of the two out."
            )
    if not plan and is_typed("repeats"):
        raise UsageError("--repeats is for audits that are played through: add --plan.")


def refuse_own_input(
    out: Path | None, inputs: Mapping[str, Path | None], lists: Sequence[Path]
) -> None:
    """Refuse to write over what is read, whatever --force says: answers in it would be gone."""
    if out is None or not out.exists():
        return
    read = [*inputs.items(), *(("a list of --audit", path) for path in lists)]
    for what, path in read:
        if path is not None and path.exists() and os.path.samefile(out, path):
            raise UsageError(
                f"--out {out} is {what} itself ({path}), and writing the list would destroy it: "
                "give the list a name of its own."
            )


def refuse_taken(source: TableSource, names: list[str]) -> None:
    """Refuse a table that has a column of the name of one that the list adds."""
    for name in names:
        if name in source.names:
            cure = {
                ROW: "Rename it, or name a column that tells rows apart with --id.",
                ANSWER: f"If it holds the labels, say so: --label {ANSWER}.",
            }.get(name, "Rename it.")
            raise DataError(
                f"{source.where} has a column {name!r} already, which the list adds. {cure}"
            )
