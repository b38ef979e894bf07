"""What a list of rows to label says to the person who will work it, and what a plan says.

What was chosen and how likely each row was, what to fill in, and the command that brings the list
back. Chooses nothing: see label.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scarce.cli.list_files import CHANCE
from scarce.cli.next_command import command_to_paste
from scarce.cli.options import verb_options
from scarce.cli.output import emit, progress, say, write_line
from scarce.cli.wording import in_flags

if TYPE_CHECKING:
    from scarce.missed.choice import LabelChoice
    from scarce.missed.plan import AuditPlan

BACK = ("audit", "random", "stratified", "tail", "adaptive")  # whose labels an estimate can take
ALONE = (
    "These are further checks, counted alone: of the earlier lists only the labels are used here, "
    "not what their lots stand for. An estimate with all lists (--audit, earliest first) counts "
    "both, and its interval is narrower as a rule."
)
SIZES = (25, 50, 100, 200, 400)


class Read(NamedTuple):
    """What a choice is made from."""

    names: tuple[str, ...]  # columns of scores or probabilities; none for an even draw
    values: Any  # what they hold
    y: Any  # class positions, NaN where not labelled
    classes: tuple[Any, ...]
    n_rows: int
    inclusion: Any  # of the earlier lists, or None
    costs: Any  # for --by cost, or None


def tell(
    choice: LabelChoice,
    read: Read,
    path: Path | None,
    answer: str,
    policy: str,
    out: Path | None,
    id: str | None,
    seed: int,
    json: bool,
) -> None:
    """Say what was chosen, what to do with the list, and how it goes back."""
    remarks = [in_flags(text, verb_options()) for text in choice.remarks]
    saved = "todo.csv" if out is None or str(out) == "-" else str(out)
    back = None
    if policy in BACK:
        ctx = click.get_current_context()
        ranked = () if ctx.params["score"] else ("--score", (*read.names, "COLUMN")[0])
        back = command_to_paste("estimate", path, *ranked, "--audit", saved, leave=("auc",))
        if ctx.params["threshold"] is None:
            back += " --threshold T"
    if json:
        summary = {
            "chosen": len(choice),
            "asked": choice.asked,
            "candidates": choice.candidates,
            "by_policy": {
                word: int((choice.policy == word).sum()) for word in sorted(set(choice.policy))
            },
            "least_probability": float(choice.probability.min()) if len(choice) else None,
            "remarks": remarks,
            "out": saved,
            "label": answer,
            "policy": policy,
            "seed": seed,
            "next": back,
        }
        emit(summary, json=True)
        return
    for line in str(choice).splitlines():
        if not line.startswith("remark: "):
            say(line)
    for text in remarks:
        say(f"warning: {text}")
    if not len(choice):
        return
    where = f"Written to {saved}" if out is not None and str(out) != "-" else "Save the rows"
    event, other = read.classes[-1], read.classes[0]
    kinds = f"{event} (an event) or {other} (none)" if len(read.classes) == 2 else "the class"
    say(
        f"{where}, in the order to be worked from the top. Fill in column {answer!r} with {kinds}; "
        "leave empty what was not checked."
    )
    if back is not None:
        say(f"Then: {back}")
    elif (choice.probability < 1).any():
        say(f"They were drawn by lot: each stands for 1 / {CHANCE!r} rows.")
    else:
        say("They were chosen by rule: they improve a model and stand for no other row.")


def play_plan(
    read: Read,
    threshold: float | None,
    n: tuple[int, ...],
    width: float | None,
    repeats: int,
    auc: float | None,
    level: float,
    seed: int,
    json: bool,
) -> None:
    """Play audits of several sizes through and say what they would be worth."""
    from scarce import plan_audit

    assert threshold is not None  # _refuse_flags
    with progress("Playing audits through") as tick:
        plan: AuditPlan = plan_audit(
            read.values,
            read.y,
            threshold=threshold,
            n=n or SIZES,
            inclusion=read.inclusion,
            auc=auc,
            level=level,
            repeats=repeats,
            random_state=seed,
            progress=tick,
        )
    earlier = read.inclusion is not None and bool((read.inclusion < 1).any())
    if earlier:
        plan = _without_now(plan)
    result = {**plan.to_dict(), "seed": seed}
    result["remarks"] = [in_flags(text, verb_options()) for text in plan.remarks]
    if earlier:
        result["remarks"].insert(0, ALONE)
    needed = None if width is None else plan.needed(width)
    if width is not None:
        result["checks_for_width"] = needed

    def show() -> None:
        for line in str(plan).splitlines():
            if not line.startswith("remark: "):
                write_line(line)
        for text in result["remarks"]:
            write_line(f"remark: {text}")
        if needed is not None:
            write_line(f"For a width of recall of {width:g}: {_enough(plan, needed)}")

    emit(result, json=json, show=show)


def _without_now(plan: AuditPlan) -> AuditPlan:
    """Return a plan without the labels at hand, which an earlier audit has sharpened already."""
    from dataclasses import replace

    names = ("n", "width", "width_low", "width_high", "most_missed", "found", "none_found")
    return replace(plan, **{name: getattr(plan, name)[1:] for name in names})


def _enough(plan: AuditPlan, needed: float) -> str:
    """Say how many checks bring a width, or which sizes to try next."""
    largest = int(plan.n[-1])
    if needed < float("inf"):
        return f"{needed:,.0f} checks, on average."
    if not plan.width[-1] >= 0:
        return "no number of checks brings it, as recall is 0 or not known here."
    more = dict.fromkeys(min(plan.rows_below, times * largest) for times in (2, 4))
    return f"more than {largest:,} checks; try {' '.join(f'--n {size}' for size in more)}"
