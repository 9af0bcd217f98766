"""The wheel in an environment of its own, in an empty folder: what a newcomer does there.

Use this when the packaging changes, or files that are looked for beside the package: make
test-wheel. The wheel is the one in dist, if it is of what is installed here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import built_wheel
import pytest
from conftest import ROOT
from simulated import SWEEP

from chasqui import cache, firmware, toolchain

# They install all that the wheel asks for, and have the compiler build its libraries anew.
pytestmark = [pytest.mark.wheel, pytest.mark.xdist_group("wheel"), pytest.mark.turn(5)]

COMMANDS = ("chasqui", "mpicc", "mpicxx", "mpic++", "mpiCC", "mpifort", "mpif77", "mpif90")
LAUNCHERS = ("mpiexec", "mpirun")
# What would show the newcomer's commands this clone, or this session.
OTHERS = ("CHASQUI_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS", "XDG_")
PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\\n", sum);
    MPI_Finalize();
    return 0;
}
"""


@dataclass(frozen=True)
class Newcomer:
    """Someone with an environment, a home and an empty folder, who has activated the former."""

    place: Path

    @property
    def prefix(self) -> Path:
        return self.place / "environment"

    def run(self, *words: str, status: int = 0) -> str:
        """What a command prints, found as a shell finds it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        path = f"{self.prefix / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        done = subprocess.run(
            ["/usr/bin/env", *words],
            cwd=self.place / "work",
            env={**kept, "HOME": str(self.place / "home"), "PATH": path},
            capture_output=True, text=True, check=False, timeout=900,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def files(self) -> set[str]:
        """What is in the environment, but for what Python compiles."""
        found = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*")}
        return {path for path in found if "__pycache__" not in path}


def arrive(place: Path, package: Path) -> Newcomer:
    """One who has installed a package and what it asks for."""
    for folder in ("home", "work"):
        (place / folder).mkdir()
    made = Newcomer(place)
    subprocess.run([sys.executable, "-m", "venv", str(made.prefix)], check=True)
    # Python compiles what is loaded; all of it takes as long as the rest.
    pip = str(made.prefix / "bin" / "pip")
    # What is compiled there is no part of what is compiled here.
    apart = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    install = [pip, "install", "-q", "--no-compile", str(package)]
    subprocess.run(install, cwd=place / "work", env=apart, check=True)
    (place / "work" / "program.c").write_text(PROGRAM)
    return made


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """With the wheel; the folder's name has a space in it."""
    place = tmp_path_factory.mktemp("new comer")
    made = arrive(place, built_wheel.find())
    if not SWEEP:  # half a minute; these are found by what they are made of, or are made
        for place_of in (toolchain.libmpi_directory(), firmware.directory()):
            part = place_of.relative_to(cache.cache_directory())
            shutil.copytree(place_of, made.prefix / "var" / "cache" / "chasqui" / part)
    yield made
    # A third of a gigabyte, in files of which there are too many to wait for.
    subprocess.Popen(["rm", "-rf", str(place)], start_new_session=True)


@pytest.fixture(scope="module")
def program(newcomer: Newcomer) -> str:
    """Compiled by `mpicc`, which builds the guest's libraries where there are none."""
    newcomer.run("mpicc", "-O2", "-o", "program", "program.c")
    return "./program"


def test_commands_are_those_of_the_environment(newcomer: Newcomer) -> None:
    for name in (*COMMANDS, *LAUNCHERS):
        assert (newcomer.prefix / "bin" / name).is_file()
        assert newcomer.run(name, "--help").startswith("Usage: chasqui ")
    code = "import chasqui; print(chasqui.__file__, len(chasqui.machines()) > 5)"
    where, found = newcomer.run("python", "-c", code).rsplit(maxsplit=1)
    assert where.startswith(f"{newcomer.prefix}/lib/")
    assert found == "True"


def test_a_program_runs_on_machines(newcomer: Newcomer, program: str) -> None:
    assert "voyager" in newcomer.run("chasqui", "machines")
    for words in (
        ["chasqui", "run", "-np", "4", "--machine", "voyager", "--", program],
        ["mpiexec", "-n", "4", program],
        ["mpirun", "-np", "4", "-m", "netcache", program],
    ):
        assert "sum 6" in newcomer.run(*words)
    compared = newcomer.run("chasqui", "compare", "loggp", "voyager", "-np", "4", "--", program)
    assert all(name in compared for name in ("loggp", "voyager"))


def test_from_python(newcomer: Newcomer, program: str) -> None:
    code = f"import chasqui; print(len(chasqui.run({program!r}, ranks=4).messages) > 0)"
    assert newcomer.run("python", "-c", code).endswith("True\n")


def test_cmake_finds_the_toolchain(newcomer: Newcomer) -> None:
    """Its compilers are where it says."""
    file = newcomer.prefix / "share" / "chasqui" / "toolchain.cmake"
    cmake = Path(sys.executable).with_name("cmake")
    printed = 'include("$ENV{FILE}")\nmessage("${CMAKE_C_COMPILER};${MPIEXEC_EXECUTABLE}")\n'
    (newcomer.place / "work" / "print.cmake").write_text(printed)
    shown = newcomer.run(f"FILE={file}", str(cmake), "-P", "print.cmake")
    commands = [str(newcomer.prefix / "bin" / name) for name in ("mpicc", "mpiexec")]
    assert shown.strip().split(";") == commands


def test_machines_and_experiments_of_a_user_s_own(newcomer: Newcomer, program: str) -> None:
    """A folder of both, as README.md shows; and one of the machines' experiments."""
    shutil.copytree(ROOT / "examples" / "own", newcomer.place / "work" / "mine")
    assert "Express" in newcomer.run("chasqui", "info", "mine/express.toml")
    words = ["run", "-np", "2", "--machine", "mine/express.toml", "--", program]
    assert "sum 1" in newcomer.run("chasqui", *words)
    assert "is the fastest" in newcomer.run("chasqui", "experiment", "mine", "--quick")
    found = newcomer.run("chasqui", "experiment", "voyager/am", "--quick", "--out", "found")
    assert "results in found" in found
    assert (newcomer.place / "work" / "found" / "voyager-am" / "results.csv").is_file()


def test_without_zig_the_message_says_what_to_install(newcomer: Newcomer) -> None:
    (package,) = newcomer.prefix.glob("lib/python*/site-packages/ziglang")
    hidden = package.rename(package.with_name("hidden"))
    try:
        said = newcomer.run("mpicc", "program.c", status=2)
    finally:
        hidden.rename(package)
    assert said == "chasqui: the guest toolchain is missing: pip install ziglang==0.17.0\n"


def test_uninstalling_leaves_the_cache_alone(newcomer: Newcomer, program: str) -> None:
    assert program  # there is a cache
    newcomer.run("pip", "uninstall", "-q", "-y", "chasqui-sim")
    left = {path for path in newcomer.files() if "chasqui" in path or path.startswith("bin/mpi")}
    assert left
    assert all(path.startswith("var/cache/chasqui") for path in left)
    home = {path.name for path in (newcomer.place / "home").rglob("*")}
    assert not [name for name in home if "chasqui" in name]


@pytest.mark.cargo
@pytest.mark.long  # it compiles the simulator
def test_a_source_distribution_can_be_installed_and_used(tmp_path: Path) -> None:
    """Where there is Rust, in an environment in which nothing else is."""
    (archive,) = built_wheel.DIST.glob("chasqui_sim-*.tar.gz")
    newcomer = arrive(tmp_path, archive)
    try:
        newcomer.run("mpicc", "-O2", "-o", "program", "program.c")
        assert "sum 6" in newcomer.run("mpiexec", "-n", "4", "-m", "voyager", "./program")
    finally:
        shutil.rmtree(newcomer.prefix)


def audit(wheel: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "distribution" / "audit.py"), str(wheel)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_it_is_manylinux() -> None:
    wheel = built_wheel.find()
    done = audit(wheel)
    assert (done.returncode, done.stderr) == (0, "")
    assert "manylinux_2_17" in wheel.name
    assert "cp310-abi3" in wheel.name


def test_a_source_distribution_has_all_that_a_wheel_has() -> None:
    """In which there are no links to the folders at the top; and cargo's lock file."""
    (archive,) = built_wheel.DIST.glob("chasqui_sim-*.tar.gz")
    with tarfile.open(archive) as file:
        sources = {name.partition("/")[2] for name in file.getnames()}
    with zipfile.ZipFile(built_wheel.find()) as wheel:
        names = [name for name in wheel.namelist() if name.startswith("chasqui")]
    python = {name for name in names if ".dist-info/" not in name and ".data/" not in name}
    assert len(python) > 500
    missing = {name for name in python if f"python/{name}" not in sources}
    assert missing == {"chasqui/_core.abi3.so"}
    assert {"Cargo.lock", "guest/mpi/runtime/calls.h"} <= sources


def test_the_simulator_has_no_paths_of_the_builder_s_folders() -> None:
    """Neither in messages nor in its debugging information: of the sources, of what cargo has
    unpacked, of what zig has compiled."""
    with zipfile.ZipFile(built_wheel.find()) as wheel:
        module = wheel.read("chasqui/_core.abi3.so")
    assert b".debug_line" in module
    assert b"crates/engine/src/" in module
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for folder in (ROOT, registry, Path(sys.prefix)):
        at = module.find(f"{folder}".encode())
        assert at < 0, module[at : at + 200]
    assert b"/registry/src/" not in module


def test_what_needs_a_younger_glibc_is_refused(tmp_path: Path) -> None:
    """By the tool that `make wheel` asks: here of a module that starts a thread, which glibc 2.34
    has at another version, in the place of the wheel's."""
    (tmp_path / "thread.c").write_text(
        "#include <pthread.h>\n"
        "int begin(pthread_t *t, void *(*f)(void *)) { return pthread_create(t, 0, f, 0); }\n"
        "void *PyInit__core(void) { return 0; }\n"
    )
    module = tmp_path / "_core.abi3.so"
    target = f"{os.uname().machine}-linux-gnu.2.34"
    options = ["-target", target, "-shared", "-O2", "-o", module.name]
    subprocess.run(
        [str(toolchain.zig()), "cc", *options, "thread.c"],
        cwd=tmp_path, env=toolchain.zig_environment(), check=True,
    )  # fmt: skip
    wheel = tmp_path / built_wheel.find().name
    with zipfile.ZipFile(built_wheel.find()) as ours, zipfile.ZipFile(wheel, "w") as other:
        for name in ours.namelist():
            is_module = name == f"chasqui/{module.name}"
            other.writestr(name, module.read_bytes() if is_module else ours.read(name))
    done = audit(wheel)
    assert done.returncode == 1, done.stdout
    assert "auditwheel finds manylinux_2_34" in done.stderr
