"""What this version has of MPI and of Linux. `chasqui check`, the wrappers after a failed link and
the manual's page of coverage all ask here.

Nothing of it is kept by hand: a function is there if libmpi.a defines it; types and constants are
those of the headers; what is left out of a function stands beside it in the library's source
(`MPI_PARTIAL`), of a system call in the simulator's table of them.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from chasqui import core, standard, toolchain

THERE, PARTIAL, MISSING = "there", "partial", "missing"

MARK = re.compile(r'\bMPI_PARTIAL\(\s*(\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
NAME = re.compile(r"\bMPI_\w+")


class Function(NamedTuple):
    """What is to be said of a function."""

    name: str
    topic: str
    version: str
    state: str
    note: str  # why it is partial


class SystemCall(NamedTuple):
    """What is to be said of a system call."""

    number: int
    name: str
    state: str
    note: str


@functools.cache
def library() -> frozenset[str]:
    """The names that the guest's archives define: MPI_Send, and mpi_send_ for Fortran."""
    archives = sorted(toolchain.libmpi_directory().glob("*.a"))
    parts = [part for archive in archives for part in core.inspect(str(archive))["parts"]]
    return frozenset(name for part in parts for name in part["defined"])


@functools.cache
def partial() -> dict[str, str]:
    """Function -> what is left out of it."""
    found = {}
    for path in toolchain.libmpi_sources():
        for name, strings in MARK.findall(path.read_text()):
            found[f"MPI_{name}"] = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings))
    return found


@functools.cache
def functions() -> dict[str, Function]:
    """Every function of the standard by name."""
    there, notes = library(), partial()
    found = {}
    for each in standard.functions().values():
        state = THERE if each.name in there else MISSING
        note = notes.get(each.name, "") if state == THERE else ""
        found[each.name] = Function(*each, PARTIAL if note else state, note)
    return found


@functools.cache
def declared() -> frozenset[str]:
    """The names of mpi.h and of the headers that it includes."""
    headers = sorted(toolchain.INCLUDE.glob("*.h"))
    return frozenset(
        name for path in headers for name in NAME.findall(COMMENT.sub(" ", path.read_text()))
    )


@functools.cache
def fortran() -> frozenset[str]:
    """The functions that Fortran programs find, in capitals; none without a Fortran binding."""
    return frozenset(name.rstrip("_").upper() for name in library() if name.startswith("mpi_"))


@functools.cache
def system_calls() -> dict[int, SystemCall]:
    """Every system call of Linux by number."""
    states = {"full": THERE, "partial": PARTIAL, "refused": PARTIAL, "missing": MISSING}
    found = {}
    for each in core.system_calls():
        note = each["left_out"] or ""
        if each["served"] == "refused":
            note = "always ENOSYS: C libraries do without it"
        call = SystemCall(each["number"], each["name"], states[each["served"]], note)
        found[call.number] = call
    return found
