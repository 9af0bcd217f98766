"""The guest toolchain: where zig and the GNU cross compilers are, their options for every call, and
`libmpi.a`, built from the guest's sources when it is first needed.

Three things are cached, all below `cache_directory()`: zig's own builds of musl and libc++ (about a
minute each, at the first program in C and in C++), one `libmpi.a` for every state of its sources,
and the Fortran binding for every state of those and every gfortran. Each appears by one rename, so
that any number of compilers may run at a time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from chasqui import children, firmware, layout
from chasqui.cache import MACHINES, PACKAGE, cache_directory, not_made
from chasqui.errors import InputError

GUEST = (PACKAGE / "guest").resolve()
INCLUDE = GUEST / "include"
FORTRAN_SOURCES = GUEST / "fortran"
PLAYER = GUEST / "play"  # a program: nothing of the library

# RV64GC (G includes Zifencei) and the pause hint: what every simulated node executes. Neither
# vectors nor bit manipulation: zig's baseline_rv64 has none. `relax` is no extension: the linker
# may shorten calls, as GNU's does.
ZIG_TARGET = ["-target", "riscv64-linux-musl", "-mcpu=baseline_rv64+zifencei+zihintpause+relax"]
# What zig would add to every program, and the simulator would execute: checks of its own without
# -O, frame pointers with -O.
ZIG_UNCHECKED = "-fno-sanitize=undefined"
ZIG_ALWAYS = [ZIG_UNCHECKED, "-fno-stack-protector", "-fomit-frame-pointer"]
# Programs older than C99 build as they do with the compilers of their time: warned, not refused.
ZIG_TOLERANT = [
    f"-Wno-error={what}"
    for what in (
        "implicit-function-declaration",
        "implicit-int",
        "int-conversion",
        "incompatible-function-pointer-types",
        "return-mismatch",
    )
]
GNU_ALWAYS = ["-march=rv64gc", "-mabi=lp64d", "-fno-stack-protector"]
GNU_PREFIX = "riscv64-linux-gnu-"

STDERR = 2  # its descriptor; sys.stderr may be something without one

LIBMPI_FLAGS = [
    *["-O2", "-g", "-std=gnu11", "-ffreestanding", "-fno-pic", "-Wall"],
    *["-ffunction-sections", "-fdata-sections", "-fno-asynchronous-unwind-tables"],
    "-fno-unwind-tables",
]
LINKER_SCRIPT = "link.ld"  # beside libmpi.a
LIBC_FLAGS = ["-fno-builtin"]  # else the compiler may see that a loop is strlen, and call that


def zig() -> Path:
    """The zig of the pinned `ziglang` wheel."""
    for place in {sysconfig.get_path("platlib"), sysconfig.get_path("purelib"), *sys.path}:
        candidate = Path(place or ".") / "ziglang" / "zig"
        if candidate.is_file():
            return candidate
    raise InputError(f"the guest toolchain is missing: pip install {_requirement()}")


def _requirement() -> str:
    """zig, in the version that pip was asked for with this package."""
    from importlib import metadata

    wanted = metadata.requires("chasqui-sim") or ()
    return next(each for each in wanted if each.startswith("ziglang"))


def zig_environment() -> dict[str, str]:
    """This process's environment, with zig's caches in ours."""
    cache = cache_directory() / "zig"
    environment = dict(os.environ)
    environment["ZIG_GLOBAL_CACHE_DIR"] = str(cache / "global")
    environment["ZIG_LOCAL_CACHE_DIR"] = str(cache / "local")
    # zig names its library relative to the current directory where it lies below that, and would
    # build musl and libc++ again for the other name. No user works below this alias.
    environment["ZIG_LIB_DIR"] = f"/proc/self/root{zig().parent / 'lib'}"
    return environment


def gnu(language: str) -> str:
    """Debian's cross compiler; `language` is `cc`, `c++` or `fc`."""
    compiler = {"c++": "g++", "fc": "gfortran"}.get(language, "gcc")
    name = GNU_PREFIX + compiler
    found = shutil.which(name)
    if found is None:
        install = f"install it (Debian, Ubuntu: apt install {compiler}-riscv64-linux-gnu)"
        if language == "fc":
            raise InputError(f"{name} was not found; {install}")
        raise InputError(
            f"--toolchain gnu: {name} was not found; {install} or leave out --toolchain gnu"
        )
    return found


def fortran_tolerant() -> list[str]:
    """What old programs do, gfortran refuses since version 10: pass one argument as different
    types, write constants as X'7F'. It is allowed again."""
    done = subprocess.run(
        [gnu("fc"), "-dumpversion"], stdout=subprocess.PIPE, text=True, check=False
    )
    major = done.stdout.partition(".")[0].strip()
    recent = major.isdigit() and int(major) >= 10
    return ["-fallow-argument-mismatch", "-fallow-invalid-boz"] if recent else []


def device_sources() -> list[Path]:
    """The C files of every machine's device; a further device of a machine is a folder. Then those
    of the channel within a node, which is in front of a device."""
    found = sorted(MACHINES.glob("*/device.c"))
    for device in sorted(MACHINES.glob("*/*/device.c")):
        found += sorted(device.parent.glob("*.c"))
    return found + sorted(GUEST.glob("local/*.c"))


def libmpi_sources() -> list[Path]:
    """The C files of `libmpi.a`: the library, and the devices."""
    found = sorted(GUEST.glob("mpi/**/*.c")) + device_sources()
    if not found:
        raise InputError(
            f"the guest's sources are missing: no mpi/*.c in {GUEST}; reinstall chasqui"
        )
    return found


def _part(source: Path) -> str:
    """The name by which the linker script selects an object."""
    parts = {MACHINES: "device", GUEST / "local": "device", GUEST / "mpi": "mpi"}
    return next((name for place, name in parts.items() if place in source.parents), "other")


def _linker_script() -> str:
    devices = {source.parent.name for source in device_sources()}
    return layout.script(GUEST / "mpi" / layout.TEMPLATE, GUEST / "mpi" / layout.ORDER, devices)


def link_options(toolchain: str) -> list[str]:
    """Where the parts of a program lie (see `layout`)."""
    # What lies elsewhere needs no pages of its own that become read-only after the start; GNU's
    # linker would put constants into pages with instructions.
    options = ["-z,norelro", *(["-z,separate-code"] if toolchain == "gnu" else [])]
    return [f"-Wl,{each}" for each in (f"-T,{libmpi_directory() / LINKER_SCRIPT}", *options)]


def libc_sources() -> list[Path]:
    """What stands before zig's libc: see guest/libc."""
    return sorted(GUEST.glob("libc/*.c"))


def _libmpi_key() -> str:
    """Names one state of the sources, flags and compiler."""
    import hashlib

    digest = hashlib.sha256()
    digest.update(repr((ZIG_TARGET, ZIG_ALWAYS, LIBMPI_FLAGS, LIBC_FLAGS)).encode())
    digest.update(_linker_script().encode())
    headers = sorted(GUEST.glob("**/*.h")) + sorted(MACHINES.glob("**/*.h"))
    headers = [path for path in headers if path.parent != PLAYER]
    for path in [*libmpi_sources(), *libc_sources(), *headers]:
        digest.update(f"{path.parent.name}/{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock file `path`; other processes wait for it."""
    import fcntl

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path, "w")  # noqa: SIM115 -- closed below
    except OSError as error:
        raise not_made(path.parent, error) from None
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def libmpi_directory() -> Path:
    """Where a current `libmpi.a` is (and `libchasqui-c.a`); they are built where there is none."""
    place = cache_directory() / "libmpi" / _libmpi_key()
    if (place / "libmpi.a").is_file():
        return place
    with locked(place.with_suffix(".lock")):
        if not (place / "libmpi.a").is_file():
            _build_libmpi(place)
    return place


def _build_libmpi(place: Path) -> None:
    announce_first_build()
    with appearing(place) as building:
        archive(building / "libmpi.a", libmpi_sources())
        script = layout.note(_linker_script(), building / "libmpi.a")
        (building / LINKER_SCRIPT).write_text(script)
        archive(building / "libchasqui-c.a", libc_sources(), *LIBC_FLAGS)


@contextlib.contextmanager
def appearing(place: Path) -> Iterator[Path]:
    """A directory to fill, which becomes `place` at the end, and disappears after an error."""
    building = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    try:
        yield building
        os.rename(building, place)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def archive(archive: Path, sources: list[Path], *special: str, ready: Sequence[Path] = ()) -> None:
    """Compiles C for the guest, all at a time; objects that are `ready` join the archive."""
    from concurrent.futures import ThreadPoolExecutor

    flags = [*ZIG_TARGET, *ZIG_ALWAYS, *LIBMPI_FLAGS]
    flags += [f"-I{INCLUDE}", f"-I{GUEST}", f"-I{GUEST / 'mpi'}", *special]

    def compile_one(source: Path) -> Path:
        target = archive.parent / f"{_part(source)}-{source.parent.name}-{source.stem}.o"
        run_zig(["cc", *flags], "-c", source, "-o", target)
        return target

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = [*pool.map(compile_one, sources), *ready]
    if objects:
        run_zig(["ar", "rcs"], archive, *objects)
    for path in objects:
        path.unlink()


def fortran_directory() -> Path:
    """Where `libmpifort.a`, mpif.h and mpi.mod for the installed gfortran are; they are made where
    there are none."""
    import hashlib

    compiler = Path(gnu("fc")).resolve()
    state = compiler.stat()
    digest = hashlib.sha256(repr((_libmpi_key(), compiler, state.st_size, state.st_mtime)).encode())
    for path in [PACKAGE / "fortran.py", *sorted(FORTRAN_SOURCES.glob("*.c"))]:
        digest.update(path.read_bytes())
    place = cache_directory() / "fortran" / digest.hexdigest()[:16]
    if place.is_dir():
        return place
    with locked(place.with_suffix(".lock")):
        if not place.is_dir():
            _build_fortran(place)
    return place


def _build_fortran(place: Path) -> None:
    from chasqui import fortran

    announce_first_build()
    with appearing(place) as building:
        binding = fortran.read(INCLUDE, FORTRAN_SOURCES)
        for name, make in fortran.INCLUDE_FILES.items():
            (building / name).write_text(make(binding, INCLUDE))
        for name, make in fortran.MODULES.items():
            (building / f"{name}.f90").write_text(make(binding, INCLUDE))
        command = [gnu("fc"), *GNU_ALWAYS, "-fno-pie", "-O2", "-ffree-line-length-none", "-c"]
        modules = [f"{name}.f90" for name in fortran.MODULES]
        if children.run([*command, *modules], cwd=building, stdout=STDERR) != 0:
            raise InputError(f"gfortran could not build {modules}: its messages are above")
        (building / "generated").mkdir()
        sources = sorted(FORTRAN_SOURCES.glob("*.c"))
        for name, text in fortran.wrappers(binding).items():
            sources.append(building / "generated" / f"{name}.c")
            sources[-1].write_text(text)
        ready = [building / f"{name}.o" for name in fortran.MODULES]
        archive(building / "libmpifort.a", sources, ready=ready)


def run_zig(command: list[str], *arguments: str | Path) -> None:
    """Runs zig; its messages go to stderr, a failure is an error of the sources."""
    whole = [zig(), *command, *arguments]
    status = children.run(whole, env=zig_environment(), stdout=STDERR, stdin=subprocess.DEVNULL)
    if status != 0:
        names = " ".join(str(part) for part in arguments if not str(part).startswith("-"))
        raise InputError(f"zig could not build {names}: its messages are above")


def announce_first_build(language: str = "cc") -> None:
    """Says once why the first compilation of a language takes so long."""
    name, folder = ("C++", "libc++") if language == "c++" else ("C", "global")
    marker = cache_directory() / "zig" / folder
    if not marker.is_dir():
        try:
            marker.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_made(marker, error) from None
        print(
            f"chasqui: building the guest's {name} library (first use only, about a minute)",
            file=sys.stderr,
            flush=True,
        )


def prepare() -> None:
    """Builds what every program needs and is built on first use: musl, `libmpi.a`, firmware. Not
    libc++, which takes longer than these: the first program in C++ has it built."""
    import tempfile

    announce_first_build()
    place = libmpi_directory()
    images = firmware.directory()
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "first.c"
        source.write_text("int main() { return 0; }\n")
        command = ["cc", *ZIG_TARGET, *ZIG_ALWAYS, "-static", "-O2"]
        run_zig(command, source, "-o", Path(scratch) / "first")
    print(f"chasqui: {place / 'libmpi.a'}")
    print(f"chasqui: {images}")


if __name__ == "__main__":
    prepare()
