"""The counters of stats.json: every machine and variant runs a small program, and what its parts
declare is laid together."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import chasqui
from chasqui import compiler, core
from chasqui.cache import PACKAGE
from chasqui.manual import markdown
from chasqui.manual.markdown import code, escaped

RANKS = 2
PROGRAM = PACKAGE / "examples" / "ring.c"
NUMBER = re.compile(r"(?<=[a-z.])\d+(?=\.|$)")

Counter = tuple[str, str, str]  # path, unit, meaning


def table() -> str:
    """A section a part of the machine; numbers of nodes and the like are N."""
    having: dict[Counter, set[str]] = {}
    machines = [machine["name"] for machine in core.machines()]
    program = compiler.compiled(PROGRAM, ["-O2", "-std=c11"])
    with tempfile.TemporaryDirectory() as folder:
        for variant, _, machine in core.variants():
            place = Path(folder) / variant.replace("/", "-")
            for counter in _counters(program, variant, place):
                having.setdefault(counter, set()).add(machine["name"])
    sections: dict[str, list[tuple[list[str], str]]] = {}
    for (name, unit, doc), names in sorted(having.items()):
        which = [machine for machine in machines if machine in names]
        where = "all machines" if which == machines else ", ".join(which)
        part, _, short = name.rpartition(".")
        row = [code(short), escaped(unit), escaped(doc)]
        sections.setdefault(part, []).append((row, where))
    return "\n".join(f"### {part}\n\n{_section(rows)}" for part, rows in sections.items())


def _section(rows: list[tuple[list[str], str]]) -> str:
    """Machines that have all counters of a section are named above it."""
    head = ["counter", "unit", "what"]
    if len({where for _, where in rows}) == 1:
        return f"On {rows[0][1]}.\n\n{markdown.table(head, [row for row, _ in rows])}"
    return markdown.table([*head, "machines"], [[*row, where] for row, where in rows])


def _counters(program: Path, machine: str, place: Path) -> set[Counter]:
    run = chasqui.run(program, machine=machine, ranks=RANKS, directory=place)
    stats = run.stats
    names = [NUMBER.sub("N", str(name)) for name in stats.index]
    return set(zip(names, map(str, stats["unit"]), map(str, stats["doc"]), strict=True))
