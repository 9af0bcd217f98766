"""What a linked program needs besides: threads whole, symbols gone.

GCC's run-time libraries (libgfortran, libgcc_eh, libstdc++ with older C libraries) refer to the
functions of threads weakly, through gthreads, and take a program that has `__pthread_key_create`
for one that has all of them. In a static program that is not so: a weak reference draws nothing
from an archive. Whatever starts threads draws in that one, and `pthread_mutex_destroy` stays 0, to
which libgfortran jumps when it closes its units.

The linker lists which are referred to and which are there (`-y`). What is missing is drawn in by a
second link (`-u`), of those programs alone that need it; others stay as they were, to the byte.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

# By this gthreads recognises that a program has threads.
ACTIVE = "__pthread_key_create"
# What it refers to: libgcc/gthr-posix.h of GCC, but for Objective-C's.
GTHREADS = tuple(
    """
    pthread_once pthread_getspecific pthread_setspecific pthread_create pthread_join pthread_equal
    pthread_self pthread_detach pthread_cancel sched_yield pthread_mutex_lock pthread_mutex_trylock
    pthread_mutex_timedlock pthread_mutex_unlock pthread_mutex_init pthread_mutex_destroy
    pthread_cond_init pthread_cond_broadcast pthread_cond_signal pthread_cond_wait
    pthread_cond_timedwait pthread_cond_destroy pthread_key_create pthread_key_delete
    pthread_mutexattr_init pthread_mutexattr_settype pthread_mutexattr_destroy
    """.split()
)
TRACED = re.compile(r": (reference to|definition of) (\w+)\s*$")

Call = Callable[[list[str], dict[str, str], Callable[[str], bool]], int]


def drawn_in(names: Iterable[str]) -> str:
    """The option by which the linker takes them from the archives."""
    return "-Wl," + ",".join(f"-u,{name}" for name in names)


def with_threads_whole(command: list[str], environment: dict[str, str], call: Call) -> int:
    """Links a program by GNU's tools; again, if references of gthreads were left at 0."""
    wanted: set[str] = set()
    there: set[str] = set()

    def traced(line: str) -> bool:
        found = TRACED.search(line)
        if found is None or found[2] not in (ACTIVE, *GTHREADS):
            return False
        (wanted if found[1] == "reference to" else there).add(found[2])
        return True

    # The linker's messages are read: in English, whatever the user's language.
    environment = {**environment, "LANGUAGE": "en"}
    trace = "-Wl," + ",".join(f"-y,{name}" for name in (ACTIVE, *GTHREADS))
    status = call([*command, trace], environment, traced)
    missing = sorted(wanted - there)
    if status == 0 and ACTIVE in there and missing:
        # It has shown its warnings.
        status = call([*command, drawn_in(missing)], environment, lambda _: True)
    return status


# ELF64, little-endian: offsets in the header, and the tables' entries.
SECTIONS_AT, SECTIONS = 40, 58
SECTION = struct.Struct("<IIQQQQIIQQ")
PROGRAM_HEADERS_AT, PROGRAM_HEADERS = 32, 54
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
PT_RISCV_ATTRIBUTES = SHT_RISCV_ATTRIBUTES = 0x70000003
SHT_STRTAB, SHT_NOBITS, SHF_ALLOC = 3, 8, 2
LIBRARY = b".chasqui.libmpi\0"  # where link.ld notes which library it is


def strip(program: Path) -> None:
    """Takes symbols and debugging information out of a program that zig has linked. (zig's linker
    could leave them out, with another musl; its objcopy can't take them out yet.)"""
    if program.is_file():  # -o /dev/null, as configure scripts have it, is none
        data = stripped(program.read_bytes())
        program.write_bytes(data)


def stripped(data: bytes) -> bytes:
    """The file without the sections that are not loaded, but for the one that names the ISA and the
    one that names the MPI library."""
    (table,) = struct.unpack_from("<Q", data, SECTIONS_AT)
    _, count, names_index = struct.unpack_from("<HHH", data, SECTIONS)
    every = [SECTION.unpack_from(data, table + i * SECTION.size) for i in range(count)]
    names = every[names_index]
    kept = [
        section
        for section in every[1:]
        if section[2] & SHF_ALLOC
        or section[1] == SHT_RISCV_ATTRIBUTES
        or data.startswith(LIBRARY, names[4] + section[0])
    ]
    places = {each: number for number, each in enumerate(kept, 1)}
    parts = _program_headers(data)
    loads = [part[2] + part[5] for _, part in parts if part[0] != PT_RISCV_ATTRIBUTES]
    loaded = [each for each in kept if each[2] & SHF_ALLOC and each[1] != SHT_NOBITS]
    result = bytearray(data[: max([*loads, *(at + size for *_, at, size, _, _, _, _ in loaded)])])
    headers = [(0,) * 10]
    for section in kept:
        name, kind, flags, address, at, size, link, info, align, entry = section
        if not flags & SHF_ALLOC:
            new = _append(result, data[at : at + size], align)
            for place, part in parts:
                if kind == SHT_RISCV_ATTRIBUTES and part[0] == PT_RISCV_ATTRIBUTES:
                    PROGRAM_HEADER.pack_into(result, place, *part[:2], new, *part[3:])
            at = new
        link = places.get(every[link], 0)
        headers.append((name, kind, flags, address, at, size, link, info, align, entry))
    at = _append(result, data[names[4] : names[4] + names[5]], 1)
    headers.append((names[0], SHT_STRTAB, 0, 0, at, names[5], 0, 0, 1, 0))
    table = _append(result, b"".join(SECTION.pack(*each) for each in headers), 8)
    struct.pack_into("<Q", result, SECTIONS_AT, table)
    struct.pack_into("<HHH", result, SECTIONS, SECTION.size, len(headers), len(headers) - 1)
    return bytes(result)


def _program_headers(data: bytes) -> list[tuple[int, tuple[int, ...]]]:
    """Place and content of each."""
    (table,) = struct.unpack_from("<Q", data, PROGRAM_HEADERS_AT)
    _, count = struct.unpack_from("<HH", data, PROGRAM_HEADERS)
    places = [table + i * PROGRAM_HEADER.size for i in range(count)]
    return [(place, PROGRAM_HEADER.unpack_from(data, place)) for place in places]


def _append(data: bytearray, more: bytes, align: int) -> int:
    """Appends at a multiple of `align`; where."""
    data.extend(bytes(-len(data) % max(align, 1)))
    at = len(data)
    data.extend(more)
    return at
