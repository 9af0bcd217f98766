"""Firmware of the machines that have processors in their network interfaces, `machines/*/firmware`
(one image, or one for each folder in it, of that folder's files and those beside the folders; these
may include `machines/*/protocol`), and the kernel image, `guest/kernel`, once without drivers and
once with those of each machine that has some, `machines/*/kernel`; and each of these for one hart
and for several.

A folder in that of a firmware image or of drivers is a further image: of the same files and its
own, each behind its header `image.h`, which says what is otherwise.

They are built once for every state of their sources and of the toolchain, into the cache. `chasqui
run` asks for them each time; the toolchain is loaded only to build.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from chasqui.cache import MACHINES, PACKAGE, cache_directory

INCLUDE = (PACKAGE / "guest" / "include").resolve()
KERNEL = (PACKAGE / "guest" / "kernel").resolve()

# No loop becomes a call of memcpy or memset.
FLAGS = [
    *["-O2", "-g", "-std=c11", "-ffreestanding", "-fno-builtin", "-fno-pie", "-mcmodel=medany"],
    *["-fno-asynchronous-unwind-tables", "-Wall", "-Wextra", "-Werror"],
    *["-nostdlib", "-static"],
]
# Linked where `FIRMWARE_MEMORY` of crates/ni says.
FIRMWARE_FLAGS = ["-Wl,--image-base=0x80000000"]
# Linked where `IMAGE` of crates/abi/src/kernel.rs says. Without floating point, whose registers
# stay the process's in the kernel.
KERNEL_FLAGS = ["-Wl,--image-base=0xffffffff80000000"]
KERNEL_TARGET = [
    *["-target", "riscv64-freestanding-none"],
    "-mcpu=generic_rv64+m+a+c+zicsr+zifencei+zihintpause+relax",
]


# As `HARTS_MAX` there says, which the kernel checks.
HARTS_MAX = 64


class Image(NamedTuple):
    """C files, and the header before each of them."""

    sources: list[Path]
    header: Path | None = None

    def further(self, folder: Path) -> Image:
        """One of these files and those of a folder."""
        return Image([*self.sources, *sorted(folder.glob("*.c"))], folder / "image.h")


def _sources(folder: str) -> dict[str, list[Path]]:
    """The C files in `folder` of each machine that has some."""
    found: dict[str, list[Path]] = {}
    for path in sorted(MACHINES.glob(f"*/{folder}/*.c")):
        found.setdefault(path.parent.parent.name, []).append(path)
    return found


def _drivers() -> dict[str, Image]:
    """The drivers in each kernel image: `<machine>`, or `<machine>.<image>`."""
    own = {machine: Image(files) for machine, files in _sources("kernel").items()}
    folders = [path.parent for path in sorted(MACHINES.glob("*/kernel/*/image.h"))]
    machines = [folder.parents[1].name for folder in folders]
    return own | {
        f"{machine}.{folder.name}": own[machine].further(folder)
        for machine, folder in zip(machines, folders, strict=True)
    }


def _images() -> dict[str, Image]:
    """Each firmware image: `<machine>`, or `<machine>/<image>` of a machine that has a folder for
    each, or `<machine>/<image>-<folder>`."""
    shared = _sources("firmware")
    own: dict[str, Image] = {}
    for path in sorted(MACHINES.glob("*/firmware/*/*.c")):
        machine = path.parents[2].name
        name = f"{machine}/{path.parent.name}"
        own.setdefault(name, Image([*shared.get(machine, [])])).sources.append(path)
    for path in sorted(MACHINES.glob("*/firmware/*/*/image.h")):
        image = f"{path.parents[3].name}/{path.parents[1].name}"
        own[f"{image}-{path.parent.name}"] = own[image].further(path.parent)
    several = {name.split("/")[0] for name in own}
    alone = {name: Image(files) for name, files in shared.items() if name not in several}
    return alone | own


def _below(folder: str, *endings: str) -> list[str]:
    """The files in a folder, and in its folders, whose names end so. Every run asks, and `glob`
    takes three times as long."""
    return [
        f"{place}/{name}"
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith(endings)
    ]


def _inputs() -> list[str]:
    """The files of which the images are made."""
    found = _below(str(KERNEL), ".c", ".h", ".S")
    found += [f"{INCLUDE}/chasqui/{name}" for name in ("abi.h", "interrupts.h")]
    for machine in os.listdir(MACHINES):
        folder = f"{MACHINES}/{machine}"
        parts = ("firmware", "protocol", "kernel")
        sources = [path for part in parts for path in _below(f"{folder}/{part}", ".c")]
        # The headers of a machine without any of these are in no image.
        found += [*sources, *_below(folder, ".h")] if sources else []
    return [*sorted(found), f"{PACKAGE}/firmware.py", f"{PACKAGE}/toolchain.py"]


def directory() -> Path:
    """Where `<machine>.elf` is for every machine with firmware, or `<machine>/<image>.elf` for each
    of its images, and `kernel.elf`, and `<machine>.kernel.elf` for every machine with drivers, or
    `<machine>.<image>.kernel.elf`, and the same with `kernel-smp` for nodes of several harts; they
    are built where they are not."""
    import hashlib

    digest = hashlib.sha256()
    for path in _inputs():
        *_, folder, name = path.split("/")
        digest.update(f"{folder}/{name}\0".encode())
        with open(path, "rb") as file:
            digest.update(file.read())
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
            for name, firmware in _images().items():
                image = building / f"{name}.elf"
                image.parent.mkdir(exist_ok=True)
                link(firmware, MACHINES / name.split("/")[0], image)
            kernels = {f"{name}.": drivers for name, drivers in _drivers().items()}
            for prefix, drivers in {"": Image([]), **kernels}.items():
                include = [MACHINES / prefix.split(".")[0]] if prefix else []
                link_kernel(drivers, include, building / f"{prefix}kernel.elf")
                several = building / f"{prefix}kernel-smp.elf"
                link_kernel(drivers, include, several, HARTS_MAX)


def link(firmware: Image, include: Path, image: Path) -> None:
    """Compiles firmware of the machine in folder `include` to an image."""
    from chasqui.toolchain import ZIG_TARGET

    folders = [include / "firmware", include, INCLUDE]
    _link([*ZIG_TARGET, *FIRMWARE_FLAGS], firmware, folders, image)


def link_kernel(drivers: Image, include: list[Path], image: Path, harts: int = 1) -> None:
    """Compiles the kernel with drivers to an image for nodes of up to so many harts."""
    sources = [*sorted(KERNEL.glob("*.S")), *sorted(KERNEL.glob("**/*.c")), *drivers.sources]
    flags = [*KERNEL_TARGET, *KERNEL_FLAGS, f"-DHARTS={harts}"]
    _link(flags, Image(sources, drivers.header), [KERNEL, INCLUDE, *include], image)


def _link(flags: list[str], of: Image, include: list[Path], image: Path) -> None:
    from chasqui import toolchain

    folders = [f"-I{path}" for path in include]
    first = [f"-include{of.header}"] if of.header else []
    command = ["cc", *flags, *first, *toolchain.ZIG_ALWAYS, *FLAGS, *folders]
    toolchain.run_zig(command, *of.sources, "-o", image)
