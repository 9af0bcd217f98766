"""Firmware of the machines that have processors in their network interfaces, `machines/*/firmware`.

It is built once for every state of its sources and of the toolchain, into the cache. `chasqui run`
asks for it each time; the toolchain is loaded only to build.
"""

from __future__ import annotations

from pathlib import Path

from chasqui.cache import MACHINES, PACKAGE, cache_directory

# Linked where `FIRMWARE_MEMORY` of crates/ni says. No loop becomes a call of memcpy or memset.
FLAGS = [
    *["-O2", "-g", "-std=c11", "-ffreestanding", "-fno-builtin", "-fno-pie", "-mcmodel=medany"],
    *["-fno-asynchronous-unwind-tables", "-Wall", "-Wextra", "-Werror"],
    *["-nostdlib", "-static", "-Wl,--image-base=0x80000000"],
]


def _sources() -> dict[str, list[Path]]:
    """The C files of each machine that has firmware."""
    found: dict[str, list[Path]] = {}
    for path in sorted(MACHINES.glob("*/firmware/*.c")):
        found.setdefault(path.parent.parent.name, []).append(path)
    return found


def directory() -> Path:
    """Where `<machine>.elf` is for every machine with firmware; it is built where there is none."""
    import hashlib

    digest = hashlib.sha256()
    headers = [*MACHINES.glob("*/*.h"), *MACHINES.glob("*/firmware/*.[ch]")]
    for path in [*sorted(headers), PACKAGE / "firmware.py", PACKAGE / "toolchain.py"]:
        digest.update(f"{path.parent.name}/{path.name}\0".encode())
        digest.update(path.read_bytes())
    place = cache_directory() / "firmware" / digest.hexdigest()[:16]
    if not place.is_dir():
        _build(place)
    return place


def _build(place: Path) -> None:
    from chasqui import toolchain

    with toolchain.locked(place.with_suffix(".lock")):
        if place.is_dir():
            return
        with toolchain.appearing(place) as building:
            for machine, sources in _sources().items():
                link(sources, MACHINES / machine, building / f"{machine}.elf")


def link(sources: list[Path], include: Path, image: Path) -> None:
    """Compiles firmware to an image."""
    from chasqui import toolchain

    flags = [*toolchain.ZIG_TARGET, *toolchain.ZIG_ALWAYS, *FLAGS, f"-I{include}"]
    toolchain.run_zig(["cc", *flags], *sources, "-o", image)
