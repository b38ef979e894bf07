"""Cells to the rows of results.json: the gates, the decision table, scenarios and weeks.

Each row has the study's value beside ours, where the study has one. A gate is met or not by its
limit alone, whatever the standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from experiments.frame import Comparison
from experiments.missed_events import printed
from experiments.missed_events.jobs import AUDITS, POOLS, WEEKLY
from experiments.missed_events.printed import SEEN
from experiments.missed_events.scenarios import SCENARIOS
from experiments.missed_events.tables import AUC, AUDIT, AUTO, MIXTURE, Cell, Cells


def row_of(
    quantity: str, study: float | None, held: Cell | None, name: str, why: str
) -> list[Comparison]:
    """Return a row, or none where the cell or its value is not there."""
    if held is None or name not in held:
        return []
    error = held.get(f"{name}_error", 0.0)
    repeats = held["points" if name == "rmse" else "batches"]
    return [Comparison(quantity, study, held[name], error, repeats, why)]


class Gate(NamedTuple):
    """A row of which something was asked: at least, or at most, so much; or nothing."""

    row: Comparison
    least: float | None = None
    most: float | None = None

    @property
    def asked(self) -> str:
        """What was asked, in words."""
        if self.least is not None:
            return "always" if self.least == 1.0 else f"at least {self.least:g}"
        return "-" if self.most is None else f"at most {self.most:g}"

    @property
    def met(self) -> bool | None:
        """Whether it is met, by the limit alone; None where nothing was asked."""
        if self.least is not None:
            return self.row.ours >= self.least
        return None if self.most is None else self.row.ours <= self.most


def comparisons(listed: Sequence[Cell]) -> list[Comparison]:
    """Return the gates first, then the decision table, then the rest."""
    cells = Cells(listed)
    asked = [gate.row for gate in gates(cells)]
    return [*asked, *decisions(cells), *scenario_rows(cells), *week_rows(cells)]


def gates(cells: Cells) -> list[Gate]:
    """Return G1 to G4, G6 and G7."""
    return [*top_gates(cells), *audit_gates(cells), *real_gates(cells), *exact_gates(cells)]


def gate_of(
    quantity: str,
    study: float,
    held: Cell | None,
    name: str,
    *,
    why: str = "New draws.",
    least: float | None = None,
    most: float | None = None,
) -> list[Gate]:
    """Return a gate, or none where its cell is not there; what was asked is said in `why` too."""
    asked = "Nothing asked." if least is None and most is None else ""
    asked = f"Asked: at least {least:g}." if least is not None else asked
    asked = f"Asked: at most {most:g}." if most is not None else asked
    found = row_of(quantity, study, held, name, f"{asked} {why}")
    return [Gate(row, least, most) for row in found]


def top_gates(cells: Cells) -> list[Gate]:
    """Return G1: the point where all labels are at the top."""
    found: list[Gate] = []
    for method, study, most in (
        (AUTO, printed.TOP_RMSE_A, printed.MOST_RMSE_TOP),
        (AUC, printed.TOP_RMSE_AUC["A"], printed.MOST_RMSE_TOP_AUC),
    ):
        held = cells.get("budget", case="A", design="top", method=method)
        quantity = f"G1 RMSE of recall, A, top 156 labels, {method}"
        found += gate_of(quantity, study, held, "rmse", most=most)
    return found


def audit_gates(cells: Cells) -> list[Gate]:
    """Return G2: the two-source interval at one budget."""
    found: list[Gate] = []
    for case in SCENARIOS:
        held = cells.get("budget", case=case, design="audit", method=AUC)
        where = f"{case}, 156 labels with an audit, {AUC}"
        study, least = printed.COVER_AUC[case], printed.LEAST_COVER
        found += gate_of(f"G2 coverage of recall, {where}", study, held, "cover", least=least)
        study, most = printed.WIDTH_AUC[case], printed.MOST_WIDTH.get(case)
        found += gate_of(f"G2 mean width, {where}", study, held, "width", most=most)
    return found


def real_gates(cells: Cells) -> list[Gate]:
    """Return G3 and G4: real scores."""
    found: list[Gate] = []
    over = "Error over pairs."
    other = f"{over} The study had 48 pairs of 27 sets; how it coded words is not printed."
    for gate, group, study, most, why in (
        ("G3", "real", printed.REAL, printed.MOST_WIDTH_REAL, over),
        ("G4", "keel", printed.KEEL["all"], printed.MOST_WIDTH_KEEL, other),
    ):
        held, least = cells.get(group, method=AUTO), printed.LEAST_COVER_REAL
        name = f"{gate} coverage of recall, {group}"
        found += gate_of(name, study.cover, held, "cover", why=why, least=least)
        found += gate_of(
            f"{gate} mean width, {group}", study.width, held, "width", why=why, most=most
        )
        found += gate_of(f"{gate} RMSE of recall, {group}", study.rmse, held, "rmse", why=why)
    return found


def exact_gates(cells: Cells) -> list[Gate]:
    """Return G6 and G7: what holds always."""
    empty, same = cells.get("no hits") or {}, cells.get("same") or {}
    few = "Share of answers with 5 or more events seen."
    digits = "Six digits of value, both ends and the limit of missed events."
    listed = (
        (
            "G6 no audited event: high end of recall is seen / (seen + known)",
            empty.get("high_end_kept", 0),
            empty.get("two_sources", 0),
            few,
        ),
        (
            "G6 no audited event: the audit's limit of missed events is 3.0 frame / audited",
            empty.get("limit_kept", 0),
            empty.get("audit_alone", 0),
            few,
        ),
        (
            "G7 the same answer to scores, exp(scores) and ranks",
            same.get("equal", 0),
            same.get("answers", 0),
            digits,
        ),
    )
    return [
        Gate(Comparison(name, 1.0, kept / n, 0.0, n, f"Asked: always. {why}"), least=1.0)
        for name, kept, n, why in listed
        if n
    ]


def decisions(cells: Cells) -> list[Comparison]:
    """Return coverage, width and error of each line of the decision table."""
    found: list[Comparison] = []
    for seen in SEEN:
        for m in AUDITS:
            study = printed.DECISIONS[seen, m]
            where = f"{seen} seen, m={m}"
            fresh = "New draws; C and E have numbers of our own."
            for method in (AUTO, AUC):
                held = cells.get("decision", **{"class": seen, "m": m, "method": method})
                plain = method == AUTO
                found += row_of(
                    f"{where}, {method}: coverage",
                    study.cover if plain else None,
                    held,
                    "cover",
                    fresh,
                )
                found += row_of(
                    f"{where}, {method}: width",
                    study.width if plain else None,
                    held,
                    "width",
                    fresh,
                )
                found += row_of(
                    f"{where}, {method}: RMSE", study.rmse if plain else None, held, "rmse", fresh
                )
                found += row_of(
                    f"{where}, {method}: missed events at most the limit",
                    None,
                    held,
                    "most_cover",
                    "Nominal: .95.",
                )
            held = cells.get("decision", **{"class": seen, "m": m, "method": AUDIT})
            found += row_of(f"{where}, audit: coverage", study.audit_cover, held, "cover", fresh)
            found += row_of(f"{where}, audit: width", study.audit_width, held, "width", fresh)
    return found


def scenario_rows(cells: Cells) -> list[Comparison]:
    """Return every interval at one budget, by scenario."""
    found: list[Comparison] = []
    for case in SCENARIOS:
        for design, methods in (("top", (AUTO, AUC, MIXTURE)), ("audit", (AUTO, AUDIT, MIXTURE))):
            for method in methods:
                held = cells.get("budget", case=case, design=design, method=method)
                where = f"{case}, 156 labels, {design}, {method}"
                study = (
                    printed.COVER_D_WITHOUT
                    if (case, design, method) == ("D", "audit", AUTO)
                    else None
                )
                why = (
                    "Nominal: .90. No interval is promised here."
                    if method == MIXTURE
                    else "Nominal: .90."
                )
                found += row_of(f"{where}: coverage", study, held, "cover", why)
                study = printed.AUDIT_WIDTH[case] if method == AUDIT else None
                found += row_of(f"{where}: width", study, held, "width", "New draws.")
                study = printed.TOP_RMSE_AUC[case] if (design, method) == ("top", AUC) else None
                found += row_of(f"{where}: RMSE", study, held, "rmse", "New draws.")
        held = cells.get("budget", case=case, design="audit", method=AUC)
        study = printed.AUDIT_RMSE_AUC[case]
        found += row_of(
            f"{case}, 156 labels, audit, {AUC}: RMSE", study, held, "rmse", "New draws."
        )
    return found


def week_rows(cells: Cells) -> list[Comparison]:
    """Return what pooling weeks buys."""
    found: list[Comparison] = []
    for case in WEEKLY:
        for design in ("alone", *(f"{word} {k}" for word in ("one of", "all") for k in POOLS)):
            for method in (AUTO, AUC):
                held = cells.get("weeks", case=case, design=design, method=method)
                for name, shown in (("cover", "coverage"), ("width", "width"), ("rmse", "RMSE")):
                    why = "Not tried in the study. Weeks of a repeat share its pooled fit."
                    found += row_of(
                        f"weeks {case}, {design}, {method}: {shown}", None, held, name, why
                    )
    return found
