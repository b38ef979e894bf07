"""One self-contained HTML page of results.

Computes nothing and fetches nothing: style, charts and the numbers as JSON are inside the file, no
script runs, and a content security policy forbids anything from outside. Warnings come first,
however late they are added. The same results give the same bytes: no time, path or machine name is
written unless it is passed in. Does not judge results: see `evaluation`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from markupsafe import Markup, escape

from scarce.errors import Argument, UsageError
from scarce.io.atomic import write_text
from scarce.plots.names import clean
from scarce.plots.picture import Picture, is_guess
from scarce.plots.svg import Chart, draw, strip
from scarce.report.values import Unit, as_drawn, cell, embedded, is_number, limits, number, plain
from scarce.results import Estimate

SCHEMA = 1  # of the JSON; raised when a key changes its meaning or is removed
MOST_ROWS = 500  # of a table
PHONE_WIDTH = 38  # characters of a table row, with a gap for each column
WRAPPED = 14  # characters to which a text cell may be wrapped

_Heading = tuple[str, str]  # text, "l" or "r"
_CellRow = Sequence[tuple[Mapping[str, str], str]]  # cells as `_figure` makes them, "l" or "r"


@dataclass
class _Section:
    """A heading and its parts, each as shown and as JSON."""

    title: str
    parts: list[dict[str, Any]] = field(default_factory=list)


class Report:
    """A page of results, filled from top to bottom; methods that add something return the page.

    Parameters
    ----------
    title : str
        Of the page.
    asked : str
        The question or command that the page answers.
    subtitle : str
        A line under the title.
    answer : str
        What the page says, in a sentence or two, before anything else. The question then stands at
        the end.

    Notes
    -----
    All text is plain text: HTML in it is escaped. Words in `backticks` are set as code.

    Examples
    --------
    >>> page = Report("Payments in May", asked="scarce report m.scarce may.csv --label fraud")
    >>> _ = page.section("Performance").numbers(
    ...     [("recall", Estimate(0.62, 0.48, 0.74), "proportion of frauds that raise an alert")],
    ...     truth={"recall": 0.59})
    >>> _ = page.warn("Only 12 frauds are labelled.")
    >>> page.to_dict()["sections"][0]["parts"][0]["rows"][0]["truth"]
    0.59
    >>> page.html().startswith("<!DOCTYPE html>")
    True
    """

    def __init__(
        self, title: str, *, asked: str = "", subtitle: str = "", answer: str = ""
    ) -> None:
        self.title, self.asked, self.subtitle = clean(title), clean(asked), clean(subtitle)
        self.answer = clean(answer)
        self._warnings: list[str] = []
        self._sections: list[_Section] = []
        self._data: dict[str, Any] = {}

    # --- adding parts -----------------------------------------------------------------------------

    def warn(self, text: str) -> Self:
        """Add a warning; warnings are shown first, without repetition."""
        if clean(text) not in self._warnings:
            self._warnings.append(clean(text))
        return self

    def section(self, title: str, text: str = "") -> Self:
        """Start a section; parts added next belong to it."""
        self._sections.append(_Section(clean(title)))
        return self.text(text) if text else self

    def heading(self, title: str) -> Self:
        """Add a smaller heading within the section."""
        return self._add("heading", {"text": clean(title)})

    def text(self, paragraph: str) -> Self:
        """Add a paragraph."""
        return self._add("text", {"text": clean(paragraph)})

    def code(self, text: str) -> Self:
        """Add a block of code, such as a command to paste."""
        return self._add("code", {"text": clean(text)})

    def assumes(self, sentences: Iterable[str]) -> Self:
        """Add a list of assumptions, without repetition."""
        return self._add("assumes", {"sentences": _once(sentences)})

    def data(self, name: str, value: object) -> Self:
        """Add a value to the JSON only; an existing name is replaced."""
        self._data[clean(name)] = plain(value)
        return self

    def numbers(
        self,
        rows: Sequence[tuple[str, object, str]],
        *,
        caption: str = "",
        truth: Mapping[str, float] | None = None,
        beside: Mapping[str, object] | None = None,
        beside_name: str = "beside",
        percent: Iterable[str] = (),
        points: Iterable[str] = (),
        counts: Iterable[str] = (),
    ) -> Self:
        """Add a table of figures: value, interval, meaning and assumptions.

        Parameters
        ----------
        rows : sequence of (name, value, meaning)
            A value is an `Estimate`, a number or a string.
        caption : str
        truth : mapping of name to number, optional
            True values, where known, such as those of simulated data.
        beside : mapping of name to value, optional
            What to compare with, such as the same score of a constant forecast.
        beside_name : str
            Name of the comparison.
        percent : iterable of names
            Proportions to show in percent.
        points : iterable of names
            Differences of proportions, shown in percentage points.
        counts : iterable of names
            Counts, shown in whole numbers.
        """
        units: dict[str, Unit] = dict.fromkeys(percent, True) | dict.fromkeys(points, "pp")
        units |= dict.fromkeys(counts, "whole")
        truth, beside = truth or {}, beside or {}
        shown, held = [], []
        for name, value, meaning in rows:
            own = {"percent": units.get(name, False)}
            one = {
                "name": clean(name),
                "meaning": clean(meaning),
                "value": _figure(value, **own),
                "strip": strip(as_drawn(value), beside=beside.get(name), truth=truth.get(name)),
            }
            record: dict[str, Any] = {"name": name, "value": value, "meaning": meaning}
            if truth:
                one["truth"] = cell(truth.get(name), **own)
                record["truth"] = truth.get(name)
            if beside:
                one["beside"] = _figure(beside.get(name), **own)
                record["beside"] = beside.get(name)
            shown.append(one)
            held.append(record)
        values = [value for _, value, _ in rows if isinstance(value, Estimate)]
        told = {
            "caption": clean(caption),
            "rows": shown,
            "truth": bool(truth),
            "beside": clean(beside_name) if beside else "",
            "level": _level(values),
            "strips": any(one["strip"] for one in shown),
            "assumes": _assumptions(rows),
        }
        return self._add("numbers", told, {"caption": caption, "rows": held})

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        caption: str = "",
        align: str = "",
        percent: Iterable[str] = (),
        counts: Iterable[str] = (),
    ) -> Self:
        """Add a table.

        Parameters
        ----------
        columns : sequence of str
            Headings.
        rows : iterable of sequences
            Cells: estimates, numbers, strings, None. The first cell of a row is its heading. Only
            the first 500 rows are kept, in the JSON too, and the page says so.
        caption : str
        align : str
            A letter for each column, "l" or "r"; by default numbers are aligned right.
        percent : iterable of str
            Columns of proportions to show in percent.
        counts : iterable of str
            Columns of counts to show in whole numbers.
        """
        every = [tuple(row) for row in rows]
        _refuse_table(columns, every, caption, align)
        kept = every[:MOST_ROWS]
        align = align or "".join(
            "r" if kept and all(is_number(row[j]) for row in kept) else "l"
            for j in range(len(columns))
        )
        own: dict[str, Unit] = dict.fromkeys(percent, True) | dict.fromkeys(counts, "whole")
        units = [own.get(name, False) for name in columns]
        told: dict[str, Any] = {
            "caption": clean(caption),
            "columns": list(zip(map(clean, columns), align, strict=True)),
            "rows": [
                [(_figure(one, percent=unit), side) for one, unit, side in zip(*line, strict=True)]
                for line in ((row, units, align) for row in kept)
            ],
            "left_out": len(every) - len(kept),
        }
        told["stacked"] = _too_wide(told["columns"], told["rows"])
        held = {
            "caption": caption,
            "columns": list(columns),
            "rows": kept,
            "left_out": told["left_out"],
        }
        return self._add("table", told, held)

    def figure(
        self, picture: Picture | Chart, caption: str = "", text_alternative: str = ""
    ) -> Self:
        """Add a picture (see `scarce.plots.picture`), drawn as SVG.

        Parameters
        ----------
        picture : Picture or Chart
            What to draw, or a chart already drawn.
        caption : str
        text_alternative : str
            Read to those who cannot see the picture; charts have one of their own.
        """
        chart = picture if isinstance(picture, Chart) else draw(picture)
        told = clean(text_alternative) or chart.alternative
        shown = {
            "svg": chart.drawn(caption, told),
            "caption": clean(caption),
            "alternative": clean(told),
        }
        return self._add(
            "figure", shown, {"caption": caption, "alternative": told, "data": chart.data}
        )

    def _add(self, kind: str, shown: dict[str, Any], held: dict[str, Any] | None = None) -> Self:
        if not self._sections:
            self._sections.append(_Section(""))
        told = plain(shown if held is None else held)  # fails here if JSON cannot represent it
        self._sections[-1].parts.append({"kind": kind, "shown": shown, "held": told})
        return self

    # --- output -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything on the page as plain values, as in its JSON."""
        return {
            "schema": SCHEMA,
            "title": self.title,
            "subtitle": self.subtitle,
            "answer": self.answer,
            "asked": self.asked,
            "warnings": list(self._warnings),
            "sections": [
                {
                    "title": section.title,
                    "parts": [{"kind": part["kind"], **part["held"]} for part in section.parts],
                }
                for section in self._sections
            ],
            "data": dict(self._data),
        }

    def html(self) -> str:
        """Return the page as HTML."""
        from importlib.resources import files

        from jinja2 import Environment, StrictUndefined

        room = files("scarce.report")
        environment = Environment(
            autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        environment.filters["inline"] = inline
        environment.filters["typed"] = typed
        template = environment.from_string((room / "page.html").read_text(encoding="utf-8"))
        return template.render(
            page=self,
            style=(room / "page.css").read_text(encoding="utf-8"),
            warnings=self._warnings,
            sections=self._sections,
            json=embedded(self.to_dict()),
        )

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the page atomically.

        Parameters
        ----------
        path : path-like
        force : bool
            Replace an existing file.

        Returns
        -------
        pathlib.Path
        """
        target = Path(path)
        write_text(target, self.html(), force=force)
        return target


def _refuse_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str, align: str
) -> None:
    for place, row in enumerate(rows):
        if len(row) != len(columns):
            raise UsageError(
                "Row {row} of the table {caption!r} has {cells} cells, but there are {columns} "
                "columns.",
                code="table-shape",
                row=place,
                caption=caption,
                cells=len(row),
                columns=len(columns),
            )
    if align and (len(align) != len(columns) or set(align) - set("lr")):
        raise UsageError(
            "{argument} must have one letter, l or r, per column ({columns}), got {value!r}.",
            code="table-shape",
            argument=Argument("align"),
            columns=len(columns),
            value=align,
        )


def _figure(value: object, *, percent: Unit) -> dict[str, str]:
    """A number and its interval, apart, so that the template can stack them."""
    if isinstance(value, Estimate):
        told = number(value.value, percent=percent)
        return {
            "value": told,
            "limits": limits(value, percent=percent),
            "method": clean(value.method),
        }
    return {"value": cell(value, percent=percent), "limits": "", "method": ""}


def _level(values: Sequence[Estimate]) -> str:
    """The common coverage of the intervals in percent; "" if they differ or there are none."""
    held = [as_drawn(one) for one in values]
    levels = {one.level for one in held if isinstance(one, Estimate) and one.low < one.high}
    return f"{100 * levels.pop():g} %" if len(levels) == 1 else ""


def _assumptions(rows: Sequence[tuple[str, object, str]]) -> list[tuple[str, str]]:
    """What the intervals assume, with the names of the figures concerned."""
    held: dict[str, list[str]] = {}
    for name, value, _ in rows:
        if isinstance(value, Estimate) and value.assumes and not is_guess(value):
            held.setdefault(clean(value.assumes), []).append(clean(name))
    return [(", ".join(names), text) for text, names in held.items()]


def _too_wide(columns: Sequence[_Heading], rows: Sequence[_CellRow]) -> bool:
    """Whether the columns do not fit side by side on a phone; headings and text cells wrap."""
    widths = [max(map(len, name.split()), default=0) for name, _ in columns]
    for row in rows:
        for at, (one, side) in enumerate(row):
            own = max(len(one["value"]), len(one["limits"]))
            widths[at] = max(widths[at], own if side == "r" else min(own, WRAPPED))
    return sum(widths) + len(widths) > PHONE_WIDTH


def _once(sentences: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(clean(one) for one in sentences if one))


# --- text as HTML ---------------------------------------------------------------------------------
# A browser breaks lines after a hyphen, which would split a flag in two: each word of a command is
# an inline box, which wraps as a whole.


def inline(text: str) -> Markup:
    """Escape a text and set words in backticks as code.

    Examples
    --------
    >>> str(inline("a < b in `x`"))
    'a &lt; b in <code>x</code>'
    """
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick is a character
        return escape(text)
    told = [
        Markup("<code>{}</code>").format(typed(part)) if i % 2 else escape(part)
        for i, part in enumerate(parts)
    ]
    return Markup("").join(told)


def typed(text: str) -> Markup:
    """Escape a command and keep each word on one line.

    Examples
    --------
    >>> str(typed("scarce fit --label y"))
    'scarce fit <span class="whole">--label</span> y'
    """
    told = [
        Markup('<span class="whole">{}</span>').format(part) if re.search("[-/?]", part)
        else escape(part)
        for part in re.split(r"(\s+)", str(text))
    ]  # fmt: skip
    return Markup("").join(told)
