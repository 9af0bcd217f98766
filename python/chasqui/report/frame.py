"""The page itself: sections, tables, charts, and how they become one file.

Everything is in the file: the style, our script, the plotting library's, the data. A policy in its
head forbids the browser to fetch anything else. The library is compressed: browsers decompress it
in less time than they take to read it, and it is two thirds of the page otherwise.

The library is Plotly, from the Python package of that name. It has what a report needs in one
script (boxes from quartiles, flame graphs, matrices, legends that hide what they name, text that
browsers select), as its others of that size do not. It draws SVG: more than some thousand marks
would be slow in any such, and nobody sees them; `page.js` draws what is in view, the longest first.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

# What a report begins with: no other file is overwritten.
BEGINNING = "<!DOCTYPE html>\n<!-- report of chasqui -->\n"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
FOLDER = Path(__file__).parent


class Raw(str):
    """HTML; any other text is escaped where it comes into the page."""


NOTHING = Raw("")


def text(value: object) -> Raw:
    return value if isinstance(value, Raw) else Raw(html.escape(str(value)))


def tag(name: str, /, *parts: object, **attributes: object) -> Raw:
    """An element; `class_` is its class, other underscores are dashes."""
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Raw(f"<{name}{named}>{''.join(map(text, parts))}</{name}>")


def join(parts: Iterable[object]) -> Raw:
    return Raw("".join(map(text, parts)))


def paragraph(*parts: object) -> Raw:
    return tag("p", *parts)


def note(words: str) -> Raw:
    """What explains a chart, or says why there is none; what is between backticks is code."""
    parts = [
        tag("code", part) if number % 2 else part for number, part in enumerate(words.split("`"))
    ]
    return tag("p", *parts, class_="note")


def table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    left: Sequence[int] = (0,),
    caption: str = "",
    sortable: bool = False,
) -> Raw:
    """Columns in `left` hold words, the others numbers. It scrolls by itself where it is wide."""

    def cells(kind: str, row: Sequence[object]) -> Raw:
        found = []
        for number, value in enumerate(row):
            side = None if number in left else "number"
            scope = "col" if kind == "th" else None
            is_head = kind == "td" and number == 0 and 0 in left
            found.append(
                tag("th", value, scope="row")
                if is_head
                else tag(kind, value, class_=side, scope=scope)
            )
        return tag("tr", *found)

    found = tag(
        "table",
        tag("caption", caption) if caption else "",
        tag("thead", cells("th", header)),
        tag("tbody", *(cells("td", row) for row in rows)),
        class_="sortable" if sortable else None,
    )
    return tag("div", found, class_="wide", tabindex="0")


def folded(summary: str, *parts: object, is_open: bool = False) -> Raw:
    """What is shown when it is asked for."""
    head = tag("summary", summary)
    return Raw(f"<details{' open' if is_open else ''}>{head}{join(parts)}</details>")


@dataclass
class Page:
    """A page that grows, section by section."""

    title: str
    sections: list[tuple[str, str, Raw]] = field(default_factory=list)
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)  # of charts that the page's script makes
    header: Raw = NOTHING

    def section(self, name: str, title: str, *parts: object) -> None:
        self.sections.append((name, title, join(parts)))

    def chart(
        self, name: str, traces: list[dict[str, Any]], layout: Mapping[str, Any], label: str
    ) -> Raw:
        """Where a chart goes; the script draws it."""
        self.charts[name] = {"data": traces, "layout": dict(layout)}
        height = layout.get("height", 360)
        return tag(
            "div",
            class_="chart",
            id=f"chart-{name}",
            data_chart=name,
            role="img",
            aria_label=label,
            style=f"min-height:{height}px",
        )

    def choice(
        self,
        name: str,
        label: str,
        figures: Mapping[str, tuple[list[dict[str, Any]], Mapping[str, Any]]],
        alternative: str,
    ) -> Raw:
        """A chart of which there are several, one shown at a time."""
        first = next(iter(figures))
        for key, (traces, layout) in figures.items():
            self.charts[f"{name}/{key}"] = {"data": traces, "layout": dict(layout)}
        options = [tag("option", key, value=f"{name}/{key}") for key in figures]
        select = tag("select", *options, data_for=f"chart-{name}")
        shown = self.charts.pop(f"{name}/{first}")
        self.charts[f"{name}/{first}"] = shown
        place = tag(
            "div",
            class_="chart",
            id=f"chart-{name}",
            data_chart=f"{name}/{first}",
            role="img",
            aria_label=alternative,
            style=f"min-height:{figures[first][1].get('height', 360)}px",
        )
        return join([tag("label", f"{label} ", select, class_="choice"), place])

    def html(self) -> str:
        contents = [tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in self.sections]
        body = [
            tag("section", tag("h2", title), content, id=name)
            for name, title, content in self.sections
        ]
        return "".join(
            [
                BEGINNING,
                '<html lang="en">\n<head>\n<meta charset="utf-8">\n',
                f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n',
                '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
                '<meta name="color-scheme" content="light dark">\n',
                f"<title>{text(self.title)}</title>\n",
                f"<style>\n{(FOLDER / 'page.css').read_text()}</style>\n</head>\n<body>\n",
                f"<header>{self.header}</header>\n",
                tag("nav", tag("ul", *contents), aria_label="Sections") if contents else "",
                "\n<main>\n",
                "\n".join(body),
                f"\n</main>\n<footer>{_footer(bool(self.charts))}</footer>\n",
                self._scripts(),
                "</body>\n</html>\n",
            ]
        )

    def _scripts(self) -> str:
        """The data come last: the library is being compiled while the browser reads them."""
        parts = [_script("charts", _json(self.charts))]
        if self.charts or self.data:
            parts.append(_script("library", packed(library())))
        parts.append(f"<script>\n{(FOLDER / 'page.js').read_text()}</script>\n")
        parts.append(_script("data", _json(self.data)))
        return "".join(parts)


def _script(name: str, content: str) -> str:
    """Something that our script reads, not the browser."""
    return f'<script type="text/plain" id="{name}">{content}</script>\n'


def _json(value: object) -> str:
    """No part of it can end the element that it stands in."""
    found = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return found.replace("<", "\\u003c")


def packed(content: bytes) -> str:
    """Compressed, as text; `unpack` of page.js is the reverse."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def library() -> bytes:
    """The plotting library's script."""
    return resources.files("plotly").joinpath("package_data/plotly.min.js").read_bytes()


def _footer(has_charts: bool) -> Raw:
    import chasqui

    charts = ""
    if has_charts:
        from importlib import metadata

        charts = f" Charts: Plotly {metadata.version('plotly')}, under the MIT License."
    return paragraph(f"Made by chasqui {chasqui.__version__}. This file needs no network.{charts}")
