"""The page of results: a table of worlds and tables of rankings, made from the stored rows."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.frame import Comparison, Results

RULES = ("QBCB r=30", "QBCB r=50", "review r=30", "review r=50", "review", "review, fixed size")
RIVALS = ("QBCB r=30", "QBCB r=50")
Rows = Mapping[str, Comparison]


def page_of(results: Results) -> str:
    """Return the results as a page of Markdown."""
    rows = {row.quantity: row for row in results.comparisons}
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    lines = [
        f"# {results.title}",
        "",
        f"`{results.command}`, seed {results.seed}; {versions}. All at 95 %; standard errors in "
        "brackets. results.json has every number.",
        "",
        "## Checks: 5,000 rows, 100 alerts, a look after every 10 checks up to 1,500",
        "",
        "Excluded: the share of runs in which the true number of missed events was excluded at any "
        "look; at most .05 is claimed, and nothing with the order where it does not hold (clump, "
        "rising). Checks: how many prove a recall of found / (found + 2 missed + 2); 1,510 where "
        "1,500 did not do.",
        "",
        "| world | runs | excluded, in order | excluded, no order | checks, in order | checks, no "
        "order |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    worlds = dict.fromkeys(name.split(", ")[1] for name in rows if name.startswith("checks, "))
    for world in worlds:
        names = [
            f"checks, {world}, {word}: {what}"
            for what in ("the truth was ever excluded", "checks to prove it")
            for word in ("monotone", "nothing")
        ]
        cells = " | ".join(
            _cell(rows[name], ".3f" if at < 2 else ",.0f") for at, name in enumerate(names)
        )
        lines.append(f"| {world} | {rows[names[0]].repeats:,} | {cells} |")
    for target in ("0.75", "0.9"):
        lines += _reviews(rows, target)
    return "\n".join(lines) + "\n"


def _cell(row: Comparison, form: str) -> str:
    return f"{row.ours:{form}} ({row.standard_error:{form}})"


def _reviews(rows: Rows, target: str) -> list[str]:
    end = f", {target}: QBCB r=30, labels"
    rankings = [
        name.removeprefix("review, ").removesuffix(end) for name in rows if name.endswith(end)
    ]
    lines = [
        "",
        f"## Review: recall of {target}",
        "",
        "Labels over those of QBCB with 30 / 50 sampled events, on the same draws, and the share "
        "of runs that ended with the recall claimed. `review` samples until as many events as "
        "`stop_when` suggests; `fixed size` draws a number of rows that is expected to hold as "
        "many, which nobody knows before.",
        "",
        f"| ranking | runs | QBCB r=30, labels | {' | '.join(RULES[2:])} | "
        f"true: {' | true: '.join(RULES)} |",
        f"| --- | {' | '.join(['---:'] * (2 + len(RULES[2:]) + len(RULES)))} |",
    ]
    for ranking in rankings:
        start = f"review, {ranking}, {target}: "
        cells = [f"{rows[start + 'QBCB r=30, labels'].repeats:,}"]
        cells.append(_cell(rows[start + "QBCB r=30, labels"], ",.0f"))
        for rule in RULES[2:]:
            cells.append(
                " / ".join(f"{rows[f'{start}{rule} / {rival}'].ours:.3f}" for rival in RIVALS)
            )
        cells += [f"{rows[f'{start}{rule}, true'].ours:.3f}" for rule in RULES]
        lines.append(f"| {ranking} | {' | '.join(cells)} |")
    means = []
    for rule in RULES[2:]:
        held = [rows[f"review, all rankings, {target}: {rule} / {rival}"] for rival in RIVALS]
        means.append(" / ".join(_cell(row, ".3f") for row in held))
    lines.append(f"| mean of the ratios | | | {' | '.join(means)} |{' |' * len(RULES)}")
    return lines
