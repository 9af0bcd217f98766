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

from chasqui import core, fortran, standard, toolchain
from chasqui.toolchain import INCLUDE

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

    @property
    def about(self) -> str:
        return f"{self.topic[0].lower()}{self.topic[1:]}, MPI {self.version}"


class Interface(NamedTuple):
    """What is to be said of a header or a Fortran module."""

    name: str
    what: str  # what it is
    state: str
    note: str  # what there is in its place


class SystemCall(NamedTuple):
    """What is to be said of a system call."""

    number: int
    name: str
    state: str
    note: str


@functools.cache
def present() -> frozenset[str]:
    """The public names that libmpi.a defines."""
    parts = core.inspect(str(toolchain.libmpi_directory() / "libmpi.a"))["parts"]
    return frozenset(name for part in parts for name in part["defined"])


@functools.cache
def partial() -> dict[str, str]:
    """Function -> what is left out of it."""
    found = {}
    for path in toolchain.libmpi_sources():
        for name, strings in MARK.findall(path.read_text()):
            found[f"MPI_{name}"] = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings))
    return found


# Functions with large counts do the work of those with ints (guest/mpi/bindings/large.h), but for
# those that only tell a size or an extent, and take no count.
LARGE = re.compile(r"MPI_(?!Type_size|Type_get_|Get_|Status_|Type_create_resized)\w+_c")
LARGE_NOTE = "counts, and displacements of collectives, up to 2,147,483,647"


@functools.cache
def functions() -> dict[str, Function]:
    """Every function of the standard by name."""
    there, notes = present(), partial()
    found = {}
    for each in standard.functions().values():
        state = THERE if each.name in there else MISSING
        large = LARGE_NOTE if LARGE.fullmatch(each.name) else ""
        note = notes.get(each.name, large) if state == THERE else ""
        found[each.name] = Function(*each, PARTIAL if note else state, note)
    return found


@functools.cache
def declared() -> frozenset[str]:
    """The names of mpi.h and of the headers that it includes."""
    headers = sorted(INCLUDE.glob("*.h"))
    return frozenset(
        name for path in headers for name in NAME.findall(COMMENT.sub(" ", path.read_text()))
    )


def named(symbol: str) -> str | None:
    """The function that a linker's name means: MPI_Send, PMPI_Send, Fortran's mpi_send_."""
    plain = symbol.removeprefix("P").removeprefix("p")
    if plain.startswith("mpi_"):
        plain = plain.rstrip("_")
    return _by_capitals().get(plain.upper())


@functools.cache
def _by_capitals() -> dict[str, str]:
    return {name.upper(): name for name in standard.functions()}


OMP = "omp.h"


def interfaces() -> dict[str, Interface]:
    """MPI's headers and modules, and OpenMP's header, by name."""
    made = {*fortran.INCLUDE_FILES, *fortran.MODULES}
    there = [name for name in standard.INTERFACES if name in made or (INCLUDE / name).is_file()]
    modules, files = ", ".join(fortran.MODULES), ", ".join(fortran.INCLUDE_FILES)
    ours = f"not in this version; `use {modules}` and {files} are there"
    found = {}
    for name, (what, version) in standard.INTERFACES.items():
        state = THERE if name in there else MISSING
        note = ours if state == MISSING else ""
        found[name] = Interface(name, f"{what}, MPI {version}", state, note)
    by_default = (toolchain.zig().parent / "lib" / "include" / OMP).is_file()
    note = "" if by_default else "not with the default toolchain; `--toolchain gnu` has it"
    found[OMP] = Interface(OMP, "OpenMP's header", THERE if by_default else PARTIAL, note)
    return found


MODULE_FILE = re.compile(r"\b(\w+)\.mod\b")


def why_missing(messages: list[str]) -> str:
    """A line about each of what a compiler's or linker's messages miss that is missing here."""
    files = {match[1] for text in messages for match in MODULE_FILE.finditer(text)}
    if any(OMP in text for text in messages):
        files.add(OMP)
    lines = [_why_no_interface(interfaces()[name]) for name in sorted(files & {*interfaces()})]
    words = [word for text in messages if "undefined" in text for word in text.split()]
    return "".join(lines) + _why_undefined(words)


def _why_no_interface(interface: Interface) -> str:
    if interface.state == THERE:
        return ""
    return f"chasqui: {interface.name} ({interface.what}): {interface.note or 'missing here'}\n"


def _why_undefined(words: list[str]) -> str:
    """The same of the functions among the words of a linker's messages."""
    names = [named(word.strip("`'\".,:;")) for word in words if "mpi_" in word.lower()]
    missing = {
        name: functions()[name] for name in names if name and functions()[name].state == MISSING
    }
    if not missing:
        return ""
    each = [f"{name} ({function.about})" for name, function in missing.items()]
    be = "is" if len(each) == 1 else "are"
    return (
        f"chasqui: {', '.join(each)} {be} not in this version's library; "
        "`chasqui check` lists such calls\n"
    )


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
