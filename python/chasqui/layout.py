"""Where the parts of a program lie in memory: the linker script that every link gets.

`guest/mpi/link.ld` says what comes after what, and why. Filled in here: the devices, each in parts
of its own, and the functions of the library that programs have been seen to execute
(`guest/mpi/layout.txt`; `pytest tests/test_layout.py --update-layout` makes it).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

LINE_BYTES = 64
PAGE_BYTES = 4096
# The largest way of an instruction cache of the machines here (netcache: 16 KiB, direct-mapped).
WAY_BYTES = 16384
# A device's instructions and its variables begin at such a boundary: room to grow.
SLOT_BYTES = 8192
# So do the library's constants and variables. 64 pages: a TLB of the machines here has at most as
# many sets.
REGION_BYTES = 64 * PAGE_BYTES

ORDER = "layout.txt"
TEMPLATE = "link.ld"
CORE = "*libmpi.a:mpi-*"  # the library without its devices
# Of these, what came after the tables of experiments were measured: as all the rest, once they are
# measured anew.
LATE = "*libmpi.a:mpi-transport-eager.o"
CONSTANTS = "(SORT_BY_NAME(.rodata.*) .rodata)"

Functions = dict[str, list[str]]


def read(file: Path) -> Functions:
    """For each device the functions that are executed; and ("") for the library without them.

    A line is a function's name, or a device's in brackets; `#` begins a comment.
    """
    functions: Functions = {"": []}
    part = ""
    for line in file.read_text().splitlines():
        word = line.partition("#")[0].strip()
        if word.startswith("["):
            part = word.strip("[]")
            functions[part] = []
        elif word:
            functions[part].append(word)
    return functions


def write(file: Path, functions: Functions) -> None:
    """The same, written. Devices stay in the order of their arrival, so that a further one moves
    none; the functions of each are sorted."""
    lines = [line for line in file.read_text().splitlines() if line.startswith("#")]
    for part, names in functions.items():
        lines += [f"[{part}]"] if part else []
        lines += sorted(names)
    file.write_text("\n".join(lines) + "\n")


def script(template: Path, order: Path, devices: Iterable[str]) -> str:
    """The linker script for a library with these devices. The objects in libmpi.a are called
    mpi-FOLDER-FILE.o and device-DEVICE-FILE.o."""
    functions = read(order)
    parts = [name for name in functions if name in set(devices)]
    # What the file does not name lies among what others do not execute, without room of its own.
    others = sorted(set(devices) - set(parts))
    put = {
        "@PAGE@": str(PAGE_BYTES),
        "@LINE@": str(LINE_BYTES),
        "@WAY@": str(WAY_BYTES),
        "@SLOT@": str(SLOT_BYTES),
        "@REGION@": str(REGION_BYTES),
        "@LATE@": LATE,
        "@MPI_TEXT@": "\n".join(f"        {CORE}(.text.{name})" for name in functions[""]),
        "@MPI_CONSTANTS@": "\n".join(
            f"        {CORE}(.rodata.{name} .rodata.{name}.*)" for name in functions[""]
        ),
        "@DEVICE_TEXT@": "\n".join(_text(name, functions[name]) for name in parts),
        "@DEVICE_CONSTANTS@": "\n".join(map(_constants, parts)),
        "@OTHER_CONSTANTS@": "\n".join(f"        {_of(name)}{CONSTANTS}" for name in others),
        "@DEVICES@": "\n".join(
            f"        {_of(name)}(.data.mpi_device_{name})" for name in parts + others
        ),
        "@DEVICE_DATA@": "\n".join(map(_data, parts + others)),
    }
    text = template.read_text()
    for name, value in put.items():
        text = text.replace(name, value)
    return text


def note(script: str, library: Path) -> str:
    """The linker script of that library, of which programs then say that they are linked with it:
    by the SHA-256 of the file, in a section that is not loaded (crates/linux/src/elf/library.rs).
    No part of link.ld: it moves no time, and what experiments measured is not outdated by it."""
    digits = hashlib.sha256(library.read_bytes()).hexdigest()
    values = " ".join(f"BYTE({ord(digit)})" for digit in digits)
    sections, end, rest = script.rpartition("}")
    return f"{sections}    .chasqui.libmpi 0 (INFO) : {{ {values} }}\n{end}{rest}"


def _text(device: str, executed: list[str]) -> str:
    sections = [f"(.text.{name})" for name in executed]
    return _inputs(device, [*sections, "(SORT_BY_NAME(.text.*) .text)"], SLOT_BYTES)


def _constants(device: str) -> str:
    # A section of its own, since linkers join equal strings of one section.
    inputs = _inputs(device, [CONSTANTS], PAGE_BYTES)
    return f"    .rodata.{device} : {{\n{inputs}\n    }}"


def _data(device: str) -> str:
    kinds = (".data", ".sdata", ".bss", ".sbss")
    sections = [f"(SORT_BY_NAME({kind}.*) {kind})" for kind in kinds]
    return _inputs(device, [*sections, "(COMMON)"], SLOT_BYTES)


def _inputs(device: str, sections: list[str], boundary: int) -> str:
    """Up to the boundary: a linker may begin a segment behind a gap."""
    inputs = [_of(device) + each for each in sections]
    return "\n".join(f"        {each}" for each in [*inputs, f". = ALIGN({boundary});"])


def _of(device: str) -> str:
    return f"*libmpi.a:device-{device}-*"
