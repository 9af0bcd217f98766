"""Firmware of the machines that have processors in their network interfaces, `machines/*/firmware`
(one image, or one for each folder in it, of that folder's files and those beside the folders; these
may include `machines/*/protocol`; a folder with a header `like_<image>.h` is that image's files and
its own, each behind the header), and
the kernel image, `guest/kernel`, once without drivers and once with those of each machine that has
some, `machines/*/kernel`; and each of these for one hart and for several.

A folder in that of a firmware image or of drivers is a further image: of the same files, but for
those whose names it has itself, and of what it has besides.

They are built once for every state of their sources and of the toolchain, into the cache. `chasqui
run` asks for them each time; the toolchain is loaded only to build.
"""

from __future__ import annotations

from pathlib import Path

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


def _sources(folder: str) -> dict[str, list[Path]]:
    """The C files in `folder` of each machine that has some."""
    found: dict[str, list[Path]] = {}
    for path in sorted(MACHINES.glob(f"*/{folder}/*.c")):
        found.setdefault(path.parent.parent.name, []).append(path)
    return found


def _replace(sources: list[Path], path: Path) -> None:
    """The file comes in the place of the one that has its name, or last."""
    at = [number for number, each in enumerate(sources) if each.name == path.name]
    if at:
        sources[at[0]] = path
    else:
        sources.append(path)


def _drivers() -> dict[str, list[Path]]:
    """The C files of the drivers in each kernel image: `<machine>`, or `<machine>.<image>`."""
    found = _sources("kernel")
    for path in sorted(MACHINES.glob("*/kernel/*/*.c")):
        machine = path.parents[2].name
        further = found.setdefault(f"{machine}.{path.parent.name}", [*found.get(machine, [])])
        _replace(further, path)
    return found


def _images() -> dict[str, list[Path]]:
    """The C files of each firmware image: `<machine>`, or `<machine>/<image>` of a machine that has
    a folder for each."""
    shared = _sources("firmware")
    own: dict[str, list[Path]] = {}
    for path in sorted(MACHINES.glob("*/firmware/*/*.c")):
        machine = path.parents[2].name
        sources = own.setdefault(f"{machine}/{path.parent.name}", [*shared.get(machine, [])])
        sources.append(path)
    for path in sorted(MACHINES.glob("*/firmware/*/*/*.c")):
        image = f"{path.parents[3].name}/{path.parents[1].name}"
        further = own.setdefault(f"{image}-{path.parent.name}", [*own.get(image, [])])
        _replace(further, path)
    for name, header in _headers().items():
        other = f"{name.split('/')[0]}/{header.stem.removeprefix('like_')}"
        own[name] = [*own[other], *sorted(header.parent.glob("*.c"))]
    several = {name.split("/")[0] for name in own}
    return {name: files for name, files in shared.items() if name not in several} | own


def _headers() -> dict[str, Path]:
    """Of the images that are like others, the header that tells them apart."""
    found = sorted(MACHINES.glob("*/firmware/*/like_*.h"))
    return {f"{path.parents[2].name}/{path.parent.name}": path for path in found}


def directory() -> Path:
    """Where `<machine>.elf` is for every machine with firmware, or `<machine>/<image>.elf` for each
    of its images, and `kernel.elf`, and `<machine>.kernel.elf` for every machine with drivers, or
    `<machine>.<image>.kernel.elf`, and the same with `kernel-smp` for nodes of several harts; they
    are built where they are not."""
    import hashlib

    digest = hashlib.sha256()
    parts = ["*/firmware/**/*.c", "*/protocol/*.c", "*/kernel/**/*.c"]
    inputs = [path for part in parts for path in MACHINES.glob(part)]
    # The headers of a machine without any of these are in no image.
    owners = {path.relative_to(MACHINES).parts[0] for path in inputs}
    inputs += [path for owner in owners for path in (MACHINES / owner).glob("**/*.h")]
    inputs += KERNEL.glob("**/*.[chS]")
    inputs += [INCLUDE / "chasqui" / name for name in ("abi.h", "interrupts.h")]
    for path in [*sorted(inputs), PACKAGE / "firmware.py", PACKAGE / "toolchain.py"]:
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
            for name, sources in _images().items():
                image = building / f"{name}.elf"
                image.parent.mkdir(exist_ok=True)
                link(sources, MACHINES / name.split("/")[0], image, _headers().get(name))
            kernels = {f"{name}.": drivers for name, drivers in _drivers().items()}
            for prefix, drivers in {"": [], **kernels}.items():
                include = [MACHINES / prefix.split(".")[0]] if drivers else []
                link_kernel(drivers, include, building / f"{prefix}kernel.elf")
                several = building / f"{prefix}kernel-smp.elf"
                link_kernel(drivers, include, several, HARTS_MAX)


def link(sources: list[Path], include: Path, image: Path, header: Path | None = None) -> None:
    """Compiles firmware of the machine in folder `include` to an image, behind `header`."""
    from chasqui.toolchain import ZIG_TARGET

    folders = [include / "firmware", include, INCLUDE]
    first = [f"-include{header}"] if header else []
    _link([*ZIG_TARGET, *FIRMWARE_FLAGS, *first], sources, folders, image)


def link_kernel(drivers: list[Path], include: list[Path], image: Path, harts: int = 1) -> None:
    """Compiles the kernel with drivers to an image for nodes of up to so many harts."""
    sources = [*sorted(KERNEL.glob("*.S")), *sorted(KERNEL.glob("**/*.c")), *drivers]
    flags = [*KERNEL_TARGET, *KERNEL_FLAGS, f"-DHARTS={harts}"]
    _link(flags, sources, [KERNEL, INCLUDE, *include], image)


def _link(flags: list[str], sources: list[Path], include: list[Path], image: Path) -> None:
    from chasqui import toolchain

    folders = [f"-I{path}" for path in include]
    command = ["cc", *flags, *toolchain.ZIG_ALWAYS, *FLAGS, *folders]
    toolchain.run_zig(command, *sources, "-o", image)
