"""As much of the ELF format as the tests look at."""

from __future__ import annotations

import struct
from pathlib import Path

EM_RISCV = 243
ET_EXEC = 2
PT_INTERP = 3
SHT_RISCV_ATTRIBUTES = 0x70000003


def header(path: Path) -> tuple[int, int]:
    """(type, machine)"""
    kind, machine = struct.unpack_from("<HH", path.read_bytes(), 16)
    return kind, machine


def is_static(path: Path) -> bool:
    """No program interpreter is named."""
    data = path.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return all(
        struct.unpack_from("<I", data, table + i * size)[0] != PT_INTERP for i in range(count)
    )


def isa(path: Path) -> set[str]:
    """The extensions that the file's attributes name, without versions: {"rv64i", "m", …}."""
    data = path.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    for i in range(count):
        kind, _flags, _address, offset, length = struct.unpack_from(
            "<IQQQQ", data, table + i * size + 4
        )
        if kind == SHT_RISCV_ATTRIBUTES:
            text = data[offset : offset + length]
            start = text.index(b"rv64")
            names = text[start : text.index(b"\0", start)].decode().split("_")
            return {
                name.rstrip("0123456789").removesuffix("p").rstrip("0123456789") for name in names
            }
    raise AssertionError(f"{path} has no RISC-V attributes")


SHT_SYMTAB = 2


def symbols(path: Path) -> set[str] | None:
    """The names that the file's symbol table defines; none: it has no symbol table."""
    data = path.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQI", data, table + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, link in sections:
        if kind == SHT_SYMTAB:
            names = sections[link][4]
            entries = struct.iter_unpack("<IBBHQQ", data[offset : offset + length])
            starts = [names + name for name, _, _, section, _, _ in entries if section]
            return {data[at : data.index(b"\0", at)].decode() for at in starts}
    return None
