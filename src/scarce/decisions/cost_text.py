"""A cost matrix as a person reads it: a table, then where each action pays."""

from __future__ import annotations

from typing import Any

from scarce.results import short


def matrix_text(costs: Any) -> str:
    """Return the costs as a table, with bands (two classes) or the actions that never pay."""
    cells = [[short(value) for value in row] for row in costs.costs]
    for (a, k), amount in costs.amounts:
        cells[a][k] = amount.text
    heads = [str(label) for label in costs.classes]
    first = max(len(str(action)) for action in costs.actions)
    widths = [max(len(head), *(len(row[k]) for row in cells)) for k, head in enumerate(heads)]
    named = "".join(f"  {head:>{w}}" for head, w in zip(heads, widths, strict=True))
    lines = ["cost of each action, by class", f"  {'':<{first}}{named}"]
    for action, row in zip(costs.actions, cells, strict=True):
        values = "".join(f"  {cell:>{w}}" for cell, w in zip(row, widths, strict=True))
        lines.append(f"  {action!s:<{first}}{values}")
    if costs.columns:
        lines.append(f"columns still to be bound: {', '.join(costs.columns)}")
    elif len(heads) == 2:
        lines.append(str(costs.thresholds()))
    else:
        lines += map(str, costs.idle())
    return "\n".join(lines)
