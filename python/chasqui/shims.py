"""The one-word commands that makefiles, configure and CMake expect: mpicc, mpicxx, mpiexec …

They lie in `<environment>/libexec/chasqui/bin`, apart from `bin`, so that an installed MPI's
commands are shadowed only where someone puts that directory on PATH.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

COMPILERS = {
    "mpicc": "cc",
    "mpicxx": "c++",
    "mpic++": "c++",
    "mpiCC": "c++",
    "mpifort": "fc",
    "mpif77": "fc",
    "mpif90": "fc",
}
LAUNCHERS = ("mpiexec", "mpirun")


def directory() -> Path:
    return Path(sys.prefix) / "libexec" / "chasqui" / "bin"


def _script(call: str) -> str:
    # -I: neither the current directory nor PYTHONPATH can put another module before ours.
    python = shlex.quote(sys.executable)
    return f'#!/bin/sh\nexec {python} -I -c "{call}" "$@"\n'


def scripts() -> dict[str, str]:
    """The text of every shim."""
    found = {
        name: _script(f"from chasqui.compiler import main; main('{language}', '{name}')")
        for name, language in COMPILERS.items()
    }
    for name in LAUNCHERS:
        found[name] = _script("from chasqui.cli import mpiexec; mpiexec()")
    return found


def cmake_toolchain() -> str:
    """A CMake toolchain file: with CC=mpicc alone CMake thinks that it can run what it builds."""
    return f"""\
# cmake -DCMAKE_TOOLCHAIN_FILE=this file
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER "{directory() / "mpicc"}")
set(CMAKE_CXX_COMPILER "{directory() / "mpicxx"}")
set(CMAKE_Fortran_COMPILER "{directory() / "mpifort"}")
set(BUILD_SHARED_LIBS OFF)
"""


def install() -> Path:
    """Writes the shims (each by one rename) and returns their directory."""
    place = directory()
    place.mkdir(parents=True, exist_ok=True)
    for name, text in scripts().items():
        _write(place / name, text, 0o755)
    _write(place.parent / "toolchain.cmake", cmake_toolchain(), 0o644)
    return place


def _write(path: Path, text: str, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.chmod(mode)
    temporary.replace(path)


if __name__ == "__main__":
    print(f"chasqui: MPI compiler commands in {install()}")
