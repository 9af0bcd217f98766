"""`chasqui check`: which MPI functions and system calls files use, and which are missing."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from chasqui.cli import options
from chasqui.errors import InputError
from chasqui.text import draw

if TYPE_CHECKING:
    from chasqui.survey import Name, Place, Survey, SystemCall

HELP = """Lists, before any run, the MPI functions and system calls that a program uses, and which
of them are missing here or partial, with places. Nothing is run, built or preprocessed.

FILE is a C, C++ or Fortran source; a folder, with every source below it; an object, archive,
executable or shared library, of RISC-V or of another processor (a program that you have already).
System calls are listed for static RISC-V executables (`chasqui cc`): those that code reachable from
the entry point may make. In sources, code that #ifdef may leave out counts, too: the place is shown
with its condition, and the last line says how much of what is missing has such places alone.

Exit status: 0 if nothing is missing, 1 if something is, 2 for bad input.

\b
Examples:
  chasqui check src/                   every source in src and below
  chasqui check app.c libsolver.a
  chasqui check ./ring                 a linked program, system calls too
  chasqui check --all ./ring           what is there as well
"""

PROGRESS_S = 0.3
WIDTH = 140  # where no terminal says its own
WHERE_MIN = 30


def commands() -> dict[str, click.Command]:
    return {"check": check}


@click.command("check", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("files", nargs=-1, metavar="FILE…")
@click.option("--all", "everything", is_flag=True, help="Also list what is there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: everything, with every place.")
def check(files: tuple[str, ...], everything: bool, as_json: bool) -> int:
    from chasqui.survey import survey

    if not files:
        raise InputError("no file was named (see: chasqui check --help)")
    progress = _Progress()
    try:
        found = survey(files, progress)
    finally:
        progress.end()
    if as_json:
        import json

        print(json.dumps(_as_json(found), indent=2))
    else:
        print(_text(found, everything))
    return 0 if found.complete else 1


class _Progress:
    """A line at a terminal, where reading takes long."""

    def __init__(self) -> None:
        self.next = time.monotonic() + PROGRESS_S
        self.shown = False

    def __call__(self, files: int) -> None:
        now = time.monotonic()
        if now >= self.next and sys.stderr.isatty():
            self.next, self.shown = now + PROGRESS_S, draw(f"\r{files:,} files read")

    def end(self) -> None:
        if self.shown:
            draw("\r\033[K")


def _text(found: Survey, everything: bool) -> str:
    from chasqui.coverage import MISSING, PARTIAL, THERE
    from chasqui.survey import UNKNOWN
    from chasqui.text import table

    states = [MISSING, UNKNOWN, PARTIAL, *([THERE] if everything else [])]
    rows = [
        ([each.state, each.name, each.what], _where(each.places))
        for each in found.names
        if each.state in states
    ]
    # What is partial of the system calls hardly ever matters, and every program has some.
    calls = found.system_calls or [] if everything else found.calls(MISSING, UNKNOWN)
    rows += [([each.state, _call_name(each), each.what], _ways(each)) for each in calls]
    parts = []
    if rows:
        header = ["", "name", "what", "where"]
        widths = [max(len(row[i]) for row, _ in [(header, []), *rows]) for i in range(3)]
        room = max(WHERE_MIN, shutil.get_terminal_size((WIDTH, 24)).columns - sum(widths) - 6)
        lines = [[*row, _fitted(places, room)] for row, places in rows]
        parts.append(table(header, lines, left=(0, 1, 2, 3)))
    parts.append(_summary(found))
    return "\n\n".join(parts)


def _where(places: list[Place]) -> list[str]:
    texts, last = [], ""
    for place in places:
        text = f":{place.line}" if place.line and place.file == last else str(place)
        texts.append(f"{text} ({place.condition})" if place.condition else text)
        last = place.file
    return texts


def _ways(call: SystemCall) -> list[str]:
    """How the program comes to the call, without what stands before `main`."""
    texts = []
    for path in call.paths:
        names = path[path.index("main") :] if "main" in path else path
        texts.append(" > ".join(names if len(names) <= 4 else [*names[:2], "…", *names[-2:]]))
    return texts


def _fitted(texts: list[str], room: int) -> str:
    """As many of the texts as there is room for, and how many more there are; one at least."""
    shown = ""
    for number, text in enumerate(texts):
        left = len(texts) - number - 1
        longer = f"{shown}, {text}" if shown else text
        if shown and len(longer) + (len(f" and {left} more") if left else 0) > room:
            return f"{shown} and {left + 1} more"
        shown = longer
    return shown


def _call_name(call: SystemCall) -> str:
    return f"{call.name} (system call {call.number})" if call.number is not None else "system call"


def _summary(found: Survey) -> str:
    from chasqui.coverage import MISSING, PARTIAL, THERE
    from chasqui.survey import UNKNOWN

    functions = found.of("function", THERE, PARTIAL, MISSING, UNKNOWN)
    parts = [_count(functions, "MPI function", " used")]
    names = found.of("name", MISSING)
    if names:
        some = "type or constant" if len(names) == 1 else "types and constants"
        parts.append(f"{len(names)} MPI {some} missing")
    interfaces = [each.name for each in found.of("interface", MISSING)]
    if interfaces:
        parts.append(f"{' and '.join(interfaces)} missing")
    conditional = [each for each in found.names if each.state == MISSING and each.conditional]
    if conditional:
        parts.append(f"behind #if alone: {len(conditional)} of what is missing")
    if found.system_calls is not None:
        calls = found.calls(THERE, PARTIAL, MISSING, UNKNOWN)
        parts.append(_count(calls, "system call", ""))
    return "; ".join(parts)


def _count(found: list[Name] | list[SystemCall], what: str, used: str) -> str:
    states = [each.state for each in found]
    head = f"{len(states)} {what}{'' if len(states) == 1 else 's'}{used}"
    if not states:
        return head
    if set(states) == {"there"}:
        return f"{head}: all there"
    order = ("there", "partial", "missing", "unknown")
    parts = [f"{states.count(state)} {state}" for state in order if state in states]
    return f"{head}: {', '.join(parts)}"


def _as_json(found: Survey) -> dict[str, Any]:
    from dataclasses import asdict

    every = asdict(found)
    names = every.pop("names")
    for name in names:
        name["places"] = [{k: v for k, v in place.items() if v} for place in name["places"]]
    for key, kind in (("functions", "function"), ("names", "name"), ("interfaces", "interface")):
        every[key] = [each for each in names if each["kind"] == kind]
    return {"complete": found.complete, **every}
