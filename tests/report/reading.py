"""What a browser would see of a page: tags, headings, links, and the JSON inside."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Seen(HTMLParser):
    """Reads a page strictly: every element is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.headings: list[tuple[int, str]] = []
        self.texts: list[str] = []
        self.by_tag: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
            self.by_tag.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), self.by_tag[tag][-1].strip()))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        for tag in set(self.open):
            self.by_tag[tag][-1] += data

    @property
    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    def attributes(self, name: str) -> list[str]:
        return [held[name] for _, held in self.tags if name in held]

    @property
    def json(self) -> Any:
        (text,) = self.by_tag["script"]
        return json.loads(text)
