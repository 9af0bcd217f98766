"""NPB's CG, SP and BT, built unchanged where the user says where they are: none of it is ours.

The environment variable CHASQUI_NPB names the folder NPB3.3-MPI or NPB3.4-MPI. It is copied before
it is built, so that nothing changes there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from chasqui import cache, toolchain
from chasqui.errors import InputError
from chasqui.experiment import Elsewhere

from ._workloads import Program

FOLDER = "CHASQUI_NPB"
KIND = "npb"  # of `Experiment.elsewhere`
BENCHMARKS = ("cg", "sp", "bt")
CLASS = "S"
MEASURED = ("Time in seconds", "Mop/s")
OF_A_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
SETTINGS = {
    "MPIF77": "mpif77", "MPIFC": "mpif90", "FMPI_LIB": "", "FMPI_INC": "", "FFLAGS": "-O2",
    "FLINKFLAGS": "-O2", "MPICC": "mpicc", "CMPI_LIB": "", "CMPI_INC": "", "CFLAGS": "-O2",
    "CLINKFLAGS": "-O2",
}  # fmt: skip


def programs(ranks: int) -> list[Program]:
    """What an experiment runs, where the sources are given."""
    return [program(name, ranks) for name in BENCHMARKS] if ELSEWHERE.is_given else []


def program(name: str, ranks: int, problem: str = CLASS) -> Program:
    """A benchmark for a number of ranks, of a class of problems; `build` makes it."""
    return Program(f"npb-{name}", f"{KIND}/{name}.{problem}.{ranks}", ignored_lines=MEASURED)


def build(program: str) -> Path:
    """The executable of NAME.CLASS.RANKS, as version 3.3 calls it."""
    name, problem, ranks = program.split(".")
    folder = Path(os.environ.get(FOLDER, ""))
    template = folder / "config" / "make.def.template"
    if not template.is_file():
        raise InputError(f"{FOLDER}: {folder} has no config/make.def.template")
    # Version 3.4 takes the number of ranks when it starts, 3.3 when it is built.
    at_start = "MPIFC" in template.read_text()
    # Programs are for the MPI library that they are linked with.
    copy = (
        cache.cache_directory() / "npb" / toolchain.libmpi_directory().name / folder.resolve().name
    )
    target = copy / "bin" / f"{name}.{problem}.{'x' if at_start else ranks}"
    command = ["make", name, f"CLASS={problem}", *([] if at_start else [f"NPROCS={ranks}"])]
    # Benchmarks share object files.
    with toolchain.locked(copy.with_name(f"{copy.name}.lock")):
        if target.exists():
            return target
        if not copy.exists():
            _copy(folder, copy)
        (copy / "bin").mkdir(exist_ok=True)
        (copy / "config" / "make.def").write_text(settings(template.read_text()))
        _make(command, copy)
    if not target.exists():
        raise InputError(f"{FOLDER}: `{' '.join(command)}` in {copy} made no {target.name}")
    return target


def _make(command: list[str], copy: Path) -> None:
    # The commands are beside the interpreter, and nothing is in this folder any more. Its name
    # goes when the tables are measured anew: without it docs/measured.json has them as read by
    # other code.
    wrappers = Path(sys.prefix) / "libexec" / "chasqui" / "bin"
    places = os.pathsep.join([str(wrappers), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=copy, env=_environment(places), text=True, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
        raise InputError(f"{FOLDER}: `{' '.join(command)}` failed in {copy}:\n{said}")


def _copy(folder: Path, copy: Path) -> None:
    with toolchain.appearing(copy) as building:
        shutil.copytree(folder, building, symlinks=True, dirs_exist_ok=True)
        for path in (building, *building.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)  # it may come from a read-only place


def _environment(path: str) -> dict[str, str]:
    """This process's, but for what a make that called it would say to this one."""
    mine = {name: value for name, value in os.environ.items() if name not in OF_A_MAKE}
    return {**mine, "PATH": path}


def settings(template: str) -> str:
    """config/make.def: the template with our compilers."""
    lines = []
    for line in template.splitlines():
        name, equals, _ = line.partition("=")
        ours = SETTINGS.get(name.strip()) if equals else None
        lines.append(line if ours is None else f"{name.strip()} = {ours}")
    return "\n".join(lines) + "\n"


ELSEWHERE = Elsewhere(FOLDER, [program(name, 1).name for name in BENCHMARKS], build)
