"""Text and tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# What means something to Markdown in a sentence, but for what stands between backquotes.
MARKS = re.compile(r"([\\*_\[\]<>{}|#~$])")
QUOTED = re.compile(r"(`[^`]*`)")


def escaped(text: str) -> str:
    """A sentence of plain text; backquotes stay."""
    parts = QUOTED.split(text)
    # `|` ends a cell of a table also between backquotes.
    return "".join(
        part.replace("|", "\\|")
        if part.startswith("`") and len(part) > 1
        else MARKS.sub(r"\\\1", part)
        for part in parts
    )


def code(text: str) -> str:
    """Between backquotes."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace(chr(10), ' ') for cell in line)} |\n" for line in lines
    )
