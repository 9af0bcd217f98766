"""What files use of MPI and Linux, held against what there is: the work of `chasqui check`.

Invariant: nothing is run and nothing is preprocessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chasqui import core, coverage, sources, standard
from chasqui.coverage import MISSING, PARTIAL, THERE
from chasqui.errors import InputError
from chasqui.files import check_regular

MAGIC = (b"\x7fELF", b"!<arch>\n", b"!<thin>\n", b"BC\xc0\xde")
UNKNOWN = "unknown"
ORDER = {MISSING: 0, UNKNOWN: 1, PARTIAL: 2, THERE: 3}
OTHERS = "types and constants"
NO_NAME = "not in mpi.h"
# The module itself, and its procedures as other MPIs name them to the linker: mpi_send_f08_.
F08 = re.compile(r"_F08$|_f08(ts)?_?$|^mpi_f08", re.ASCII)


@dataclass(frozen=True)
class Place:
    """Where something is used. What is not known is empty."""

    file: str
    line: int = 0
    function: str = ""
    offset: int = 0
    condition: str = ""  # of a source: the #if that the place stands behind

    def __str__(self) -> str:
        if self.line:
            return f"{self.file}:{self.line}"
        if self.function:
            distance = f"+{self.offset:#x}" if self.offset else ""
            return f"{self.file}: {self.function}{distance}"
        return self.file


@dataclass
class Name:
    """A name of MPI that is used."""

    name: str
    kind: str  # "function", "name" (a type or a constant) or "interface" (a header or a module)
    topic: str
    state: str
    what: str  # topic and version, or why it is missing or partial
    places: list[Place] = field(default_factory=list)

    @property
    def conditional(self) -> bool:
        """Each use stands behind an #if: the program may do without."""
        return bool(self.places) and all(place.condition for place in self.places)


@dataclass
class SystemCall:
    """A system call that a program may make."""

    number: int | None
    name: str
    state: str
    what: str
    start_up: bool
    paths: list[list[str]] = field(default_factory=list)


@dataclass
class Survey:
    """What was found in all files together."""

    files: int = 0
    names: list[Name] = field(default_factory=list)
    system_calls: list[SystemCall] | None = None  # none: no program was among the files

    def of(self, kind: str, *states: str) -> list[Name]:
        return [each for each in self.names if each.kind == kind and each.state in states]

    def calls(self, *states: str) -> list[SystemCall]:
        """The program's own; every program has those of the C library's start-up."""
        every = self.system_calls or []
        return [each for each in every if each.state in states and not each.start_up]

    @property
    def complete(self) -> bool:
        lacking = [each for each in self.names if each.state in (MISSING, UNKNOWN)]
        return not lacking and not self.calls(MISSING)


@dataclass
class _Gathered:
    """Names by what they are to the linker, before anything is said of them."""

    files: int = 0
    uses: dict[str, list[Place]] = field(default_factory=dict)
    fortran: dict[str, list[Place]] = field(default_factory=dict)  # capitals, or a linker's
    calls: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    system_calls: list[dict[str, Any]] | None = None
    openmp: list[tuple[Place, bool]] = field(default_factory=list)  # includes; only with OpenMP


def survey(paths: Iterable[str], progress: Callable[[int], None] = lambda _: None) -> Survey:
    """Reads files and folders. `progress` gets the number of files now and then."""
    gathered = _Gathered()
    for path in paths:
        for file in _files(Path(path)):
            check_regular(file)
            if _is_binary(file):
                _add_binary(gathered, file)
            else:
                _add_source(gathered, file)
            gathered.files += 1
            progress(gathered.files)
    return _judge(gathered)


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if not path.is_dir():
        check_regular(path)
        if path.suffix not in sources.ENDINGS and not _is_binary(path):
            raise InputError(f"{path}: is no C, C++ or Fortran source, object, archive or program")
        yield path
        return
    some = False
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if os.path.splitext(name)[1] in sources.ENDINGS:
                some = True
                yield Path(folder) / name
    if not some:
        raise InputError(
            f"{path}: nothing to check: no C, C++ or Fortran sources in this folder "
            "(name objects, archives and programs one by one)"
        )


def _is_binary(path: Path) -> bool:
    if path.suffix in sources.ENDINGS:
        return False
    try:
        with open(path, "rb") as handle:
            return handle.read(8).startswith(MAGIC)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _add_source(gathered: _Gathered, path: Path) -> None:
    try:
        found = sources.scan(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    into = gathered.fortran if found.fortran else gathered.uses
    for name, lines in found.uses.items():
        places = (Place(str(path), at, condition=found.conditions.get(at, "")) for at in lines)
        into.setdefault(name, []).extend(places)
    gathered.calls |= found.calls
    gathered.declared |= found.declared
    gathered.openmp += [(Place(str(path), line), only) for line, only in found.openmp.items()]


def _add_binary(gathered: _Gathered, path: Path) -> None:
    report = core.inspect(str(path))
    for part in report["parts"]:
        file = f"{path}({part['member']})" if part["member"] else str(path)
        gathered.declared |= set(part["defined"])
        for use in part["uses"]:
            places = [_place(file, each) for each in use["places"] if _is_programs(part, each)]
            if use["places"] and not places:
                continue
            name = use["name"]
            into = gathered.uses
            if name.startswith(("mpi_", "pmpi_")):
                into = gathered.fortran
            gathered.calls.add(name)
            into.setdefault(name, []).extend(places or [Place(file)])
        if part["system_calls"] is not None:
            gathered.system_calls = (gathered.system_calls or []) + part["system_calls"]


def _place(file: str, place: dict[str, Any]) -> Place:
    if place["line"]:
        source, _, line = place["line"].rpartition(":")
        return Place(source, int(line), place["function"], place["offset"])
    return Place(file, 0, place["function"], place["offset"])


def _is_programs(part: dict[str, Any], place: dict[str, Any]) -> bool:
    """Whether a call stands in the program's own code, and can be reached."""
    if part["system_calls"] is None:  # not linked: nothing of the library is in it
        return True
    function = place["function"]
    librarys = coverage.named(function) is not None or function.startswith("chq_")
    return place["reached"] and not librarys


def _judge(gathered: _Gathered) -> Survey:
    names: dict[str, Name] = {}
    for name, places in gathered.uses.items():
        _take(names, _judge_c(name, gathered), places)
    for name, places in gathered.fortran.items():
        _take(names, _judge_fortran(name, gathered), places)
    for place, only in gathered.openmp:
        _take(names, _judge_openmp(only), [place])
    every = sorted(names.values(), key=lambda name: (ORDER[name.state], name.topic, name.name))
    result = Survey(gathered.files, every)
    if gathered.system_calls is not None:
        result.system_calls = _judge_system_calls(gathered.system_calls)
    return result


def _take(names: dict[str, Name], name: Name | None, places: list[Place]) -> None:
    if name is not None:
        known = names.setdefault(name.name, name)
        known.places += [place for place in places if place not in known.places]


def _judge_c(name: str, gathered: _Gathered) -> Name | None:
    plain = name[1:] if name.startswith("P") else name
    if plain in standard.functions():
        return _function(plain)
    if name in gathered.declared:
        return None
    if name.startswith(("MPI::", "_ZN")):
        why = "C++ bindings: removed in MPI 3.0"
        return Name(_cxx(name), "function", "C++", MISSING, why) if _is_cxx(name) else None
    there = name in coverage.declared()
    if name in standard.other_names():
        return Name(name, "name", OTHERS, THERE if there else MISSING, "" if there else NO_NAME)
    if there or name not in gathered.calls:
        return None
    why = "an extension of some MPI" if "MPIX_" in name else "not in the MPI standard"
    return Name(name, "function", "", UNKNOWN, why)


def _judge_fortran(name: str, gathered: _Gathered) -> Name | None:
    """Every C function has its Fortran binding."""
    if F08.search(name):
        return None if "MPI_F08" in gathered.declared else _interface("mpi_f08")
    function = coverage.named(name)
    if function is not None:
        return _function(function)
    # A program's own names may begin with mpi_ too; constants of Fortran alone are not in mpi.h.
    if name in standard.other_names() and name in coverage.declared():
        return Name(name, "name", OTHERS, THERE, "")
    return None


def _interface(name: str) -> Name:
    found = coverage.interfaces()[name]
    what = f"{found.what}: {found.note}" if found.note else found.what
    return Name(name, "interface", "", found.state, what)


def _judge_openmp(only: bool) -> Name | None:
    """An include of omp.h, whose program may be `only` compiled so with OpenMP."""
    found = _interface(coverage.OMP)
    if found.state == THERE or os.environ.get("CHASQUI_TOOLCHAIN") == "gnu":
        return None
    if only:
        return replace(found, name=f"{found.name} (with OpenMP)")
    return replace(found, state=MISSING)


def _function(name: str) -> Name:
    found = coverage.functions()[name]
    return Name(name, "function", found.topic, found.state, found.note or found.about)


def _cxx(name: str) -> str:
    return name if name.startswith("MPI::") else f"C++ {name}"


def _is_cxx(name: str) -> bool:
    """Whether the standard's C++ bindings had the name: a program may have a class MPI."""
    if not name.startswith("MPI::"):
        return True
    own = name.removeprefix("MPI::")
    classes = "Exception Intracomm Cartcomm Graphcomm Intercomm Prequest Grequest".split()
    known = f"MPI_{own}"
    return known in standard.functions() or known in standard.other_names() or own in classes


def _judge_system_calls(found: list[dict[str, Any]]) -> list[SystemCall]:
    merged: dict[int | None, SystemCall] = {}
    for each in found:
        number = each["number"]
        call = merged.get(number)
        if call is None:
            call = merged[number] = _system_call(number, each["start_up"])
        call.start_up = call.start_up and each["start_up"]
        call.paths += [path for path in each["paths"] if path not in call.paths]
    return sorted(merged.values(), key=lambda call: (ORDER[call.state], call.number or 0))


def _system_call(number: int | None, start_up: bool) -> SystemCall:
    if number is None:
        why = "the number is computed: it can't be said which calls these are"
        return SystemCall(None, "?", UNKNOWN, why, start_up)
    known = coverage.system_calls().get(number)
    if known is None:
        return SystemCall(number, str(number), MISSING, "no system call of Linux", start_up)
    what = known.note or ("returns ENOSYS" if known.state == MISSING else "")
    return SystemCall(number, known.name, known.state, what, start_up)
