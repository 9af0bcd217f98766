"""Fortran: the binding that is made from mpi.h, `chasqui fc`, and programs that use both.

Use this when mpi.h, guest/fortran, chasqui.fortran or `chasqui fc` change. The programs in
tests/fortran check their own answers and print PASSED.
"""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cmake_project
import elf
import pytest
from conftest import Run
from simulated import command, two_at_a_time

from chasqui import compiler, fortran, linked, toolchain
from chasqui.errors import InputError

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(path.name for path in (HERE / "fortran").iterdir())

HELLO = """\
program hello
  use mpi
  implicit none
  integer :: error, rank
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  print '(a, i0)', 'rank ', rank
  call MPI_Finalize(error)
end program
"""


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    (tmp_path / "hello.f90").write_text(HELLO)
    return tmp_path / "hello.f90"


# --- the binding ----------------------------------------------------------------------------------


def the_binding() -> fortran.Binding:
    return fortran.read(toolchain.INCLUDE, toolchain.FORTRAN_SOURCES)


def test_every_function_has_a_wrapper_and_an_interface() -> None:
    binding = the_binding()
    missing = {name for name, reason in binding.left_out.items() if "C alone" not in reason}
    assert missing == set()
    names = {function.name for function in binding.functions}
    assert {"Send", "Waitall", "Type_struct", "Wtime", "Comm_get_name"} < names
    generated = "".join(fortran.wrappers(binding).values())
    wrapped = re.findall(r"^FORTRAN_ALIAS\((\w+)\);", generated, re.MULTILINE)
    assert sorted([*wrapped, *binding.by_hand]) == sorted(name.lower() for name in names)
    module = fortran.module(binding, toolchain.INCLUDE)
    heads = re.findall(r"^(?:subroutine|function) (P?MPI_\w+)\(", module, re.MULTILINE)
    assert sorted(heads) == sorted(f"{each}{name}" for name in names for each in ("MPI_", "PMPI_"))


@pytest.mark.parametrize(
    ("prototype", "reason"),
    [
        ("int **table", "int **table: a type that Fortran has not"),
        ("MPI_Comm comms[]", "how long is the array of handles?"),
        ("char *text", "how long is text?"),
        (
            "MPI_User_function *work",
            "work: C's procedures and attributes are not Fortran's",
        ),
        (
            "MPI_Comm *newcomm, MPI_Request *request",
            "newcomm is set when the request is complete",
        ),
    ],
)
def test_arguments_that_are_not_understood_are_never_guessed(
    tmp_path: Path, prototype: str, reason: str
) -> None:
    (tmp_path / "mpi_removed.h").write_text("")
    (tmp_path / "mpi.h").write_text(
        f"CHASQUI_MPI(int, New, ({prototype}));\nCHASQUI_MPI(int, Barrier, (MPI_Comm comm));\n"
    )
    binding = fortran.read(tmp_path, toolchain.FORTRAN_SOURCES)
    assert binding.left_out == {"New": reason}
    assert [function.name for function in binding.functions] == ["Barrier"]


def test_a_wrapper_is_one_call() -> None:
    """The short paths: nothing but conversions by value, whatever mpi.h looks like."""
    assert (
        "    *ierror = PMPI_Send(fortran_address(buf), *count, fortran_to_c(*datatype), "
        "*dest, *tag, fortran_to_c(*comm));\n}\n"
    ) in fortran.wrappers(the_binding())["point_to_point"]


def test_mpif_h_fits_both_forms() -> None:
    """Fixed form reads columns 7 to 72; in free form an `&` at the end would be needed to go on."""
    for line in fortran.include_file(the_binding(), toolchain.INCLUDE).splitlines():
        assert line.startswith(("!", "      ")), line
        assert line.startswith("!") or (line[6] != " " and len(line) <= 72), line
        assert not line.endswith("&")


@pytest.mark.gnu
@pytest.mark.core
def test_constants_have_the_values_of_mpi_h(tmp_path: Path) -> None:
    """A C program prints mpi.h's values, a Fortran program those of the module."""
    ours = fortran.FORTRAN_ONLY
    names = [name for name in fortran.constants(toolchain.INCLUDE) if name not in ours]
    lengths = {name for name in names if name.startswith("MPI_MAX_")}
    assert {"MPI_COMM_WORLD", "MPI_ANY_TAG", "MPI_ERR_LASTCODE", "MPI_LB", "MPI_VERSION"} < {*names}
    prints = "".join(f'printf("%ld\\n", (long){n} - {int(n in lengths)});\n' for n in names)
    (tmp_path / "c.c").write_text(
        f"#include <mpi.h>\n#include <stdio.h>\nint main(void) {{\n{prints}return 0; }}\n"
    )
    prints = "".join(f"print '(i0)', {name}\n" for name in names)
    (tmp_path / "f.f90").write_text(f"use mpi\n{prints}end\n")
    outputs = []
    for language, source in (("cc", "c.c"), ("fc", "f.f90")):
        assert command(language, source, "-o", source[0], directory=tmp_path).returncode == 0
        done = command("run", "-q", "--", f"./{source[0]}", directory=tmp_path)
        assert done.returncode == 0, done.stderr
        outputs.append(dict(zip(names, done.stdout.split(), strict=True)))
    assert outputs[0] == outputs[1]


# --- programs -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fortran")

    def compile_one(name: str) -> str:
        source = HERE / "fortran" / name
        done = command("fc", "-O2", source, "-o", place / source.stem, directory=place)
        return done.stderr if done.returncode else ""

    assert "".join(two_at_a_time(compile_one, PROGRAMS)) == ""
    return place


@pytest.mark.gnu
@pytest.mark.core
@pytest.mark.parametrize("machine", ["loggp", "voyager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(programs: Path, tmp_path: Path, name: str, machine: str) -> None:
    def run(ranks: int) -> str:
        program = programs / Path(name).stem
        options = ["-q", "-np", str(ranks), "--machine", machine]
        done = command("run", *options, "--", program, directory=tmp_path)
        right = done.returncode == 0 and done.stdout == " PASSED\n"
        return "" if right else f"{ranks} ranks: {done.stdout}{done.stderr}"

    assert "".join(two_at_a_time(run, [6, 3, 1])) == ""


# --- threads --------------------------------------------------------------------------------------

# Prints, opens and closes units with several threads there: libgfortran takes its locks.
OPENMP = """\
program hybrid
  use mpi
  use omp_lib
  implicit none
  integer :: error, provided, rank, ranks, i, threads, mine, total, unit
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  mine = 0
  threads = 0
  !$omp parallel private(unit) reduction(+:mine, threads)
  threads = 1
  !$omp do
  do i = 1, 100
    mine = mine + i * (rank + 1)
  end do
  !$omp end do
  !$omp critical
  unit = 10 * (rank + 1) + omp_get_thread_num()
  write (unit, '(i0)') rank
  close (unit, status='delete')
  !$omp end critical
  !$omp end parallel
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. threads == 2 .and. total == 5050 * ranks * (ranks + 1) / 2) print *, 'PASSED'
  call MPI_Finalize(error)
end program
"""
# Threads that no option tells of: those of an object in C.
STARTS = """\
#include <pthread.h>
static void *run(void *value) { return value; }
void start_(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
}
"""
STARTED = "program started\n  call start\n  print *, 'PASSED'\nend program\n"
THREADED = {
    "hybrid": ["-fopenmp", "hybrid.f90"],
    "stripped": ["-fopenmp", "-s", "hybrid.f90"],
    "started": ["started.f90", "start.o"],
}


@pytest.fixture(scope="session")
def threaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of THREADED."""
    place = tmp_path_factory.mktemp("threaded")
    (place / "hybrid.f90").write_text(OPENMP)
    (place / "started.f90").write_text(STARTED)
    (place / "start.c").write_text(STARTS)
    done = command("cc", "--toolchain", "gnu", "-c", "start.c", directory=place)
    assert done.returncode == 0, done.stderr
    for name, words in THREADED.items():
        done = command("fc", "-O2", *words, "-o", name, directory=place)
        assert done.returncode == 0, done.stderr
        assert "reference to" not in done.stderr, "what the linker was asked is not the user's"
    return place


@pytest.mark.gnu
@pytest.mark.core
@pytest.mark.parametrize("machine", ["loggp", "voyager"])
@pytest.mark.parametrize("name", THREADED)
def test_fortran_with_threads(threaded: Path, tmp_path: Path, name: str, machine: str) -> None:
    options = ["-q", "-np", "1" if name == "started" else "2", "--machine", machine]
    options += ["--set", "node.harts=2"]
    done = command("run", *options, "--", threaded / name, directory=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, " PASSED\n", "")


# In C and C++, for which libgcc_eh and libstdc++ are linked.
PARALLEL = """\
#include <stdio.h>
int main(void)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
    printf("%d\\n", sum);
    return 0;
}
"""
CXX_THREADS = """\
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
int main()
{
    std::once_flag once;
    std::mutex mutex;
    int sum = 0;
    std::thread other([&] { std::lock_guard<std::mutex> lock(mutex); sum = 45; });
    other.join();
    try {
        std::call_once(once, [] { throw std::runtime_error("no"); });
    } catch (const std::exception &) {
        std::cout << sum << "\\n";
    }
    return 0;
}
"""


def weak_in_libraries() -> set[str]:
    """The functions of threads to which GCC's run-time libraries refer weakly."""
    found: set[str] = set()
    for library in ("libgfortran.a", "libgcc_eh.a", "libgcc.a", "libgomp.a", "libstdc++.a"):
        ask = [toolchain.gnu("fc"), f"-print-file-name={library}"]
        path = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
        listing = subprocess.run(
            [f"{toolchain.GNU_PREFIX}nm", path], capture_output=True, text=True, check=True
        ).stdout
        found |= set(re.findall(r"^ +w (_*(?:pthread|sched)_\w+)$", listing, re.MULTILINE))
    return found


@pytest.mark.gnu
def test_no_weak_reference_to_a_function_of_threads_stays_0(
    chasqui: Run, threaded: Path, tmp_path: Path
) -> None:
    """A program that has one of them has all that the run-time libraries may call."""
    weak = weak_in_libraries()
    assert "pthread_mutex_destroy" in weak, "or this tests nothing"
    assert weak <= {linked.ACTIVE, *linked.GTHREADS}
    (tmp_path / "a.c").write_text(PARALLEL)
    (tmp_path / "a.cc").write_text(CXX_THREADS)
    for language, source, options in (
        ("cc", "a.c", ["-fopenmp"]),
        ("c++", "a.cc", []),
        ("c++", "a.cc", ["-fopenmp"]),
    ):
        target = f"{source}{len(options)}"
        words = ["--toolchain", "gnu", *options, source, "-o", target]
        done = chasqui(language, *words)
        assert done.returncode == 0, done.stderr
        symbols = elf.symbols(tmp_path / target)
        assert symbols is not None
        assert linked.ACTIVE in symbols
        # Those of libgcc_eh: the rest of `weak` is libgfortran's, which is not linked.
        assert {"pthread_once", "pthread_mutex_lock", "pthread_getspecific"} <= symbols
        assert chasqui("run", "-q", "--set", "node.harts=4", "--", f"./{target}").stdout == "45\n"
    for name in ("hybrid", "started"):
        symbols = elf.symbols(threaded / name)
        assert symbols is not None
        assert linked.ACTIVE in symbols
        assert weak - symbols == set()
    assert elf.symbols(threaded / "stripped") is None


@pytest.mark.gnu
def test_a_program_without_threads_gets_none(programs: Path) -> None:
    symbols = elf.symbols(programs / Path(PROGRAMS[0]).stem)
    assert symbols is not None
    assert not {linked.ACTIVE, "pthread_cond_wait"} & symbols


# A tool that counts sends, as a library between program and MPI does it.
PROFILED = """\
module tool
  integer :: sends = 0
end module
subroutine MPI_Send(buffer, count, datatype, destination, tag, comm, error)
  use tool
  integer :: buffer(*), count, datatype, destination, tag, comm, error
  sends = sends + 1
  call PMPI_Send(buffer, count, datatype, destination, tag, comm, error)
end subroutine
program profiled
  use tool
  include 'mpif.h'
  integer :: error, value
  call MPI_Init(error)
  call MPI_Send([1], 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
  print '(i0)', sends
  call MPI_Finalize(error)
end program
"""


@pytest.mark.gnu
@pytest.mark.core
def test_a_tool_can_take_over_a_function(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "tool.f90").write_text(PROFILED)
    assert chasqui("fc", "tool.f90", "-o", "tool").returncode == 0
    assert chasqui("run", "-q", "--", "./tool").stdout == "1\n"


@pytest.mark.gnu
@pytest.mark.core
def test_a_stop_with_a_status_and_a_deadlock_are_seen(chasqui: Run, tmp_path: Path) -> None:
    """Fortran's own run-time system ends the process; a wait is found through the wrapper."""
    text = HELLO.replace("call MPI_Finalize(error)", "if (rank == 0) stop 3\n  call sleep_forever")
    text += (
        "subroutine sleep_forever\n  use mpi\n  integer :: error, n\n"
        "  call MPI_Recv(n, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)\n"
        "end subroutine\n"
    )
    (tmp_path / "stop.f90").write_text(text)
    assert chasqui("fc", "stop.f90", "-o", "stop").returncode == 0
    assert chasqui("run", "-q", "--", "./stop").returncode == 3
    (tmp_path / "stop.f90").write_text(text.replace("if (rank == 0) stop 3", ""))
    assert chasqui("fc", "stop.f90", "-o", "stop").returncode == 0
    done = chasqui("run", "-q", "-np", "2", "--", "./stop")
    assert done.returncode == 125
    assert "MPI_Recv" in done.stderr


# --- the command ----------------------------------------------------------------------------------


def test_a_missing_compiler_is_said_clearly(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit) as caught:
        compiler.main("fc", ["x.f90"])
    assert caught.value.code == 2
    assert capfd.readouterr().err == (
        "chasqui: riscv64-linux-gnu-gfortran was not found; "
        "install it (Debian, Ubuntu: apt install gfortran-riscv64-linux-gnu)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--toolchain=zig", "a.f"], "zig has no Fortran"),
        (["-fdefault-integer-8", "a.f"], "MPI's INTEGERs have 4 bytes"),
        (["-shared", "a.f"], "static executables only"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compiler.plan("fc", arguments)


def test_what_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASQUI_TOOLCHAIN", "zig")  # for C and C++
    found = compiler.plan("fc", ["-mcmodel=medium", "-fdefault-real-8", "-O3", "a.f"])
    assert (found.toolchain, found.arguments) == ("gnu", ["-fdefault-real-8", "-O3", "a.f"])
    assert len(found.warnings) == 2


@pytest.mark.gnu
def test_an_executable_is_static_rv64gc(shim_directory: Path, hello: Path) -> None:
    for name in ("mpifort", "mpif90", "mpif77"):
        options = ["-O2", "-fPIE", "hello.f90", "-o", name]
        subprocess.run([shim_directory / name, *options], cwd=hello.parent, check=True)
        assert elf.header(hello.with_name(name)) == (elf.ET_EXEC, elf.EM_RISCV)
        assert elf.is_static(hello.with_name(name))


@pytest.mark.gnu
@pytest.mark.parametrize("form", ["-ffixed-form", "-ffree-form"])
def test_the_include_file_is_valid(chasqui: Run, tmp_path: Path, form: str) -> None:
    """As strict as gfortran can be."""
    (tmp_path / "a.f").write_text(
        "      subroutine a(x)\n      implicit none\n      include 'mpif.h'\n"
        "      double precision x\n      x = MPI_WTIME() + MPI_AINT_DIFF(3_8, 1_8)\n      end\n"
    )
    options = ["-std=f2008", "-Wall", "-Werror", "-Wno-unused-parameter", "-Wno-unused-variable"]
    done = chasqui("fc", form, *options, "-c", "a.f")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.gnu
def test_a_function_that_is_missing_fails_when_it_is_linked(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text("call MPI_Win_create(1)\nend\n")
    done = chasqui("fc", "a.f90", "-o", "a")
    assert done.returncode != 0
    assert "undefined reference to `mpi_win_create_'" in done.stderr


@pytest.mark.gnu
def test_the_module_that_is_missing_is_named(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text("program a\n  use mpi_f08\n  call MPI_Init()\nend program\n")
    for words in (["-c", "a.f90"], ["a.f90", "-o", "a"]):
        done = chasqui("fc", *words)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            "chasqui: mpi_f08 (module of Fortran, `use mpi_f08`, MPI 3.0): not in this version; "
            "`use mpi` and mpif.h are there"
        )


@pytest.mark.gnu
def test_old_programs_compile(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.f").write_text(
        "      data i / X'7F' /\n      call f(1)\n      call f(1.0)\n      end\n"
        "      subroutine f(x)\n      integer x\n      end\n"
    )
    assert chasqui("fc", "-w", "a.f", "-o", "a").returncode == 0


@pytest.mark.gnu
def test_the_module_finds_wrong_arguments(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text("use mpi\ncall MPI_Barrier(MPI_COMM_WORLD)\nend\n")
    done = chasqui("fc", "-c", "a.f90")
    assert done.returncode == 1
    assert "Missing actual argument for argument" in done.stderr


@pytest.mark.gnu
def test_show(chasqui: Run, hello: Path) -> None:
    place = toolchain.fortran_directory()
    assert (place / "mpi.mod").exists()
    assert (place / "mpif.h").exists()
    assert chasqui("fc", "-showme:incdirs").stdout.split()[0] == str(place)
    assert chasqui("fc", "-showme:libs").stdout == "mpifort mpi\n"
    command_line = chasqui("fc", "-show", "hello.f90", "-o", "shown").stdout
    assert {"-static", "-no-pie", "-lmpifort", "-march=rv64gc"} < set(command_line.split())
    assert "-u,pthread_mutex_destroy" not in command_line
    # A build that takes the options from here links threads whole, too.
    assert "-u,pthread_mutex_destroy" in chasqui("fc", "-fopenmp", "-show", "hello.f90").stdout
    subprocess.run(command_line, shell=True, check=True, cwd=hello.parent, capture_output=True)
    assert elf.is_static(hello.with_name("shown"))


@pytest.mark.gnu
@pytest.mark.parametrize("way", cmake_project.WAYS)
@pytest.mark.turn(2)
def test_cmake(shim_directory: Path, hello: Path, way: str) -> None:
    assert elf.is_static(cmake_project.build(hello, "Fortran", way, shim_directory))


@pytest.mark.gnu
def test_the_binding_appears_whole_however_many_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []
    monkeypatch.setenv("CHASQUI_CACHE_DIR", str(tmp_path))

    def build(place: Path) -> None:
        calls.append(place)
        place.mkdir(parents=True)

    monkeypatch.setattr(toolchain, "_build_fortran", build)
    with ThreadPoolExecutor(8) as pool:
        places = set(pool.map(lambda _: toolchain.fortran_directory(), range(8)))
    assert (len(calls), len(places)) == (1, 1)
