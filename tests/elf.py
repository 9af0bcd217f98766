"""As much of the ELF format as the tests look at."""

from __future__ import annotations

import struct
from collections.abc import Iterator
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
    return symbols_of(path.read_bytes())


def symbols_of(data: bytes) -> set[str] | None:
    """The same of a file's contents."""
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


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """An archive's members, as GNU's ar writes them: names and contents."""
    data = archive.read_bytes()
    names, at = b"", 8
    while at < len(data):
        word, length = data[at : at + 16].rstrip(), int(data[at + 48 : at + 58])
        contents = data[at + 60 : at + 60 + length]
        if word == b"//":
            names = contents
        elif word != b"/":
            if word.startswith(b"/"):
                word = names[int(word[1:]) :]
            yield word.split(b"/")[0].decode(), contents
        at += 60 + length + length % 2
