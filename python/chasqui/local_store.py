"""Programs for cores with local stores, as the SPEs of the machine `cell`: compiled as firmware is,
linked where the local store is mapped. One that does not fit is refused with its sizes."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from chasqui.cache import MACHINES, cache_directory
from chasqui.errors import InputError

FOLDER = MACHINES / "cell"
RUNTIME = FOLDER / "spe"
LIBRARY = FOLDER / "library"
# As `STORE_ADDRESS` of machines/cell/src/registers.rs, and the store that the machine file has.
ADDRESS = 0x8000_0000
STORE_BYTES = 256 << 10
STACK_BYTES = 4 << 10  # what a program must leave at least
# No loop becomes a call; what is not used is left out.
FLAGS = [
    *["-g", "-std=c11", "-ffreestanding", "-fno-builtin", "-fno-pie", "-mcmodel=medany"],
    *["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
    *["-ffunction-sections", "-fdata-sections"],
    *["-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,-z,max-page-size=4096"],
]

# Of ELF, 64 bits, little-endian (System V ABI, Object Files).
PROGRAM_HEADERS_AT, PROGRAM_HEADERS = 32, 54
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
PT_LOAD, PF_W = 1, 2


class Segment(NamedTuple):
    """What is loaded: address, bytes in the image and in memory."""

    is_written: bool
    address: int
    file: int
    memory: int


def runtime() -> list[Path]:
    return sorted(RUNTIME.resolve().glob("*.c"))


def link(
    sources: Sequence[Path],
    image: Path,
    flags: Sequence[str] = ("-O2", "-Wall"),
    store_bytes: int = STORE_BYTES,
) -> None:
    """Compiles a program to an image.

    Errors: it is not right, or does not fit into a local store of so many bytes."""
    from chasqui import firmware, toolchain

    folders = [f"-I{path.resolve()}" for path in (RUNTIME, FOLDER, firmware.INCLUDE)]
    top = f"-DCHASQUI_SPE_STACK_TOP={ADDRESS + store_bytes:#x}"
    script = f"-Wl,-T,{(RUNTIME / 'spu.ld').resolve()}"
    command = ["cc", *toolchain.ZIG_TARGET, *toolchain.ZIG_ALWAYS, *FLAGS, *flags, top, script]
    toolchain.run_zig([*command, *folders], *sources, *runtime(), "-o", image)
    try:
        check(image, store_bytes)
    except InputError:
        image.unlink()
        raise


def check(image: Path, store_bytes: int) -> None:
    """That it fits, with room for a stack."""
    text, data, bss, end = sizes(image)
    stack = store_bytes - (end - ADDRESS)
    if stack < STACK_BYTES:
        raise InputError(
            f"{image.name} does not fit into a local store of {store_bytes:,} bytes: "
            f"text and constants {text:,}, data {data:,}, zeroed data {bss:,}, which leaves "
            f"{max(stack, 0):,} for the stack; at least {STACK_BYTES:,} are needed"
        )


def sizes(image: Path) -> tuple[int, int, int, int]:
    """Of an image: bytes of text, of data, of what is zero at first, and where they end."""
    found = segments(image.read_bytes())
    text = sum(each.memory for each in found if not each.is_written)
    data = sum(each.file for each in found if each.is_written)
    bss = sum(each.memory - each.file for each in found if each.is_written)
    return text, data, bss, max(each.address + each.memory for each in found)


def segments(elf: bytes) -> list[Segment]:
    """Of an image."""
    (table,) = struct.unpack_from("<Q", elf, PROGRAM_HEADERS_AT)
    _, count = struct.unpack_from("<HH", elf, PROGRAM_HEADERS)
    found = []
    for i in range(count):
        kind, flags, _, address, _, file, memory, _ = PROGRAM_HEADER.unpack_from(
            elf, table + i * PROGRAM_HEADER.size
        )
        if kind == PT_LOAD:
            found.append(Segment(bool(flags & PF_W), address, file, memory))
    return found


def compiled(source: Path) -> Path:
    """The image of a program of one file, from the cache if it is there."""
    from chasqui import toolchain

    digest = hashlib.sha256()
    inputs = [source, *inputs_of_all(), Path(__file__)]
    for path in inputs:
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    place = cache_directory() / "spe" / f"{source.stem}-{digest.hexdigest()[:16]}"
    if not place.is_dir():
        with toolchain.locked(place.with_suffix(".lock")):
            if not place.is_dir():
                with toolchain.appearing(place) as building:
                    link([source], building / "image.elf")
    return place / "image.elf"


def inputs_of_all() -> list[Path]:
    """What every program is made of beside its own source."""
    return [
        *runtime(),
        *sorted(RUNTIME.resolve().glob("*.[hl]*")),
        FOLDER.resolve() / "registers.h",
    ]


def flags_of_host(source: Path) -> list[str]:
    """Options for the program of the host's that is `source`, if one for local stores is beside
    it, `NAME.spe.c`: where its image is (SPE_IMAGE). It is built. Another library is another
    program."""
    of_spe = source.with_suffix(".spe.c")
    if not of_spe.is_file():
        return []
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(LIBRARY.glob("*.[ch]"))))
    image = compiled(of_spe)
    return [f'-DSPE_IMAGE="{image}"', f"-DSPE_LIBRARY_{digest.hexdigest()[:16]}"]
