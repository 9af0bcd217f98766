"""`chasqui check`, the data about coverage behind it, the manual's page of it, and what the
wrappers say after a failed link.

Use this when it changes what is there, or how files are read. MPI_Win_create, of one-sided
communication, stands for what is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Compiler, Run

from chasqui import coverage, sources, standard, toolchain

pytestmark = pytest.mark.core

MISSING_CALL = """\
#include <mpi.h>
int MPI_Win_create(void *, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win *);
static double box[4];

int expose(MPI_Comm comm)
{
    MPI_Win win;
    return MPI_Win_create(box, sizeof box, 1, MPI_INFO_NULL, comm, &win);
}
"""
MISSING_LINE = 8


# --- the data -----------------------------------------------------------------------------------


def test_no_function_stands_twice_in_the_standard() -> None:
    names = [
        name
        for versions in standard.FUNCTIONS.values()
        for text in versions.values()
        for name in text.split()
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert set(standard.WITH_LARGE_COUNTS.split()) <= set(names)
    # The ABI's header of MPI 5.0 declares 664; 38 more were removed or convert Fortran's handles.
    assert len(standard.functions()) == 702


def test_every_prototype_is_of_the_standard_and_in_the_library() -> None:
    prototypes = set()
    for header in toolchain.INCLUDE.glob("*.h"):
        prototypes |= set(re.findall(r"^CHASQUI_MPI\([^,]+, (\w+),", header.read_text(), re.M))
    assert len(prototypes) > 150
    names = {f"MPI_{name}" for name in prototypes}
    assert names <= set(standard.functions())
    lacking = {name for name in names if coverage.functions()[name].state == coverage.MISSING}
    assert lacking == set(), "declared, but not in libmpi.a"
    extra = {name for name in coverage.present() if name.startswith("MPI_")} - names
    assert extra == set(), "in libmpi.a, but not declared"


def test_names_of_the_header_are_of_the_standard() -> None:
    ours = re.compile(r"MPI_(ABI_[A-Z]|internal$|aliases$)")
    known = standard.other_names() | set(standard.functions())
    assert {name for name in coverage.declared() - known if not ours.match(name)} == set()


def test_what_is_partial_is_there() -> None:
    assert coverage.partial(), "no function is marked: is MPI_PARTIAL still what marks them?"
    for name, why in coverage.partial().items():
        assert coverage.functions()[name].state == coverage.PARTIAL
        assert why


def test_system_calls_know_their_state() -> None:
    calls = {call.name: call for call in coverage.system_calls().values()}
    assert calls["write"] == (64, "write", coverage.THERE, "")
    assert calls["clone"].state == coverage.PARTIAL
    assert calls["execve"].state == coverage.MISSING
    assert calls["rt_sigaction"].state == coverage.PARTIAL
    assert "ENOSYS" in calls["clone3"].note


def test_the_manual_is_current() -> None:
    from chasqui import manual

    assert (ROOT / "docs" / "coverage.md").read_text() == manual.part("coverage"), "make docs"


# --- sources ------------------------------------------------------------------------------------


def uses(tmp_path: Path, name: str, text: str) -> dict[str, list[int]]:
    path = tmp_path / name
    path.write_text(text)
    return sources.scan(path).uses


C_TEXT = r"""
// MPI_Send(a) and \
   MPI_Recv(b)
/* MPI_Bcast( */ const char *text = "MPI_Reduce(\" MPI_Scan(";
char quote = '"', tick = '\''; MPI_Comm comm;
#ifdef MPI_VERSION
#define MPI_Gather my_gather
#endif
int MPI_Scatter(void *x);
#if 0
MPI_Alltoall(
#if 1
MPI_Alltoallv(
#endif
#else
x = MPI_Wtime() * 2 * MPI_Wtick();
#endif
return MPI_Barrier(comm), PMPI_Barrier(comm); // a comment
MPI_Wait(a);
#define FINISH MPI_Finalize(); \
    MPI_Abort(comm, 1)
#ifdef X
    MPI_Start(a);
#else
    BEGIN
    MPI_Startall(a);
#endif // X
    MPI_Testall(a);
int
MPI_Allreduce(a);
xMPI_Init(); MPI_(); MPI_lower(); my.MPI_Test = &MPI_Test;
"""


def test_c_is_read_as_c(tmp_path: Path) -> None:
    assert uses(tmp_path, "a.c", C_TEXT) == {
        "MPI_Comm": [5],
        "MPI_Wtime": [16],
        "MPI_Wtick": [16],
        "MPI_Barrier": [18],
        "PMPI_Barrier": [18],
        "MPI_Wait": [19],
        "MPI_Finalize": [20],
        "MPI_Abort": [21],
        "MPI_Start": [23],
        "MPI_Startall": [26],
        "MPI_Testall": [28],
        "MPI_Test": [31],
    }


def test_cxx_is_read_as_cxx(tmp_path: Path) -> None:
    text = 'auto a = R"x(MPI_Send()" )x"; MPI::COMM_WORLD.Barrier(); n = 1\'000; MPI_Init(0, 0);\n'
    assert set(uses(tmp_path, "a.cc", text)) == {"MPI::COMM_WORLD", "MPI_Init"}
    own = "namespace MPI { struct Init {}; }\nMPI::Init x;\n"
    assert uses(tmp_path, "b.cpp", own) == {}


def test_fortran_is_read_as_fortran(tmp_path: Path) -> None:
    fixed = (
        "C     call MPI_Send\n* MPI_Recv\n      call mpi_BARRIER(comm) ! MPI_Scan\n"
        "      print *, 'MPI_Reduce it''s MPI_Gather', MPI_COMM_WORLD\n"
    )
    assert uses(tmp_path, "a.f", fixed) == {"MPI_BARRIER": [3], "MPI_COMM_WORLD": [4]}
    free = 'c = mpi_wtime()\n#ifdef MPI_X\nx = "MPI_Send" ! MPI_Recv\nsubroutine mpi_init(e)\n'
    assert uses(tmp_path, "a.F90", free) == {"MPI_WTIME": [1]}
    header = "! it's included; by all\n      integer MPI_SUM\n      parameter (mpi_sum = 3)\n"
    assert uses(tmp_path, "mpif.h", header) == {"MPI_SUM": [2, 3]}


# --- the command --------------------------------------------------------------------------------


def checked(chasqui: Run, *arguments: str | Path, status: int) -> dict[str, Any]:
    done = chasqui("check", "--json", *arguments)
    assert done.returncode == status, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def missing(found: dict[str, Any]) -> list[str]:
    return [each["name"] for each in found["functions"] if each["state"] == "missing"]


def test_a_tree_of_sources(chasqui: Run, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "a.c").write_text(MISSING_CALL)
    (tree / "deep" / "b.F90").write_text("call MPI_WIN_CREATE(a)\ncall mpi_send(b)\n")
    (tree / "deep" / "c.cc").write_text("void f() { MPI::Init(); MPI_Foo(MPI_T_BIND_MPI_COMM); }\n")
    (tree / "notes.txt").write_text("MPI_Win_free(x)\n")
    done = chasqui("check", "tree")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["name", "what", "where"]
    assert any(
        re.match(rf"missing +MPI_Win_create +one-sided.*2\.0 +tree/a\.c:{MISSING_LINE}", line)
        for line in lines
    )
    assert any(re.match(r"missing +MPI::Init +C\+\+ bindings", line) for line in lines)
    assert any(re.match(r"missing +MPI_T_BIND_MPI_COMM +not in mpi\.h", line) for line in lines)
    assert any(re.match(r"unknown +MPI_Foo +not in the MPI standard", line) for line in lines)
    assert lines[-1] == (
        "4 MPI functions used: 1 there, 2 missing, 1 unknown; 1 MPI type or constant missing"
    )
    found = checked(chasqui, "tree", status=1)
    (window,) = [each for each in found["functions"] if each["name"] == "MPI_Win_create"]
    assert [(place["file"], place["line"]) for place in window["places"]] == [
        ("tree/a.c", MISSING_LINE),
        ("tree/deep/b.F90", 1),
    ]


def interfaces(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["state"] for each in found["interfaces"]}


def test_a_module_of_fortran_that_is_missing(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text("program a\n  USE, intrinsic :: iso_c_binding\n  Use Mpi_F08\n")
    done = chasqui("check", "a.f90")
    assert done.returncode == 1
    assert re.search(
        r"missing +mpi_f08 +module .*: not in this version; `use mpi` and mpif\.h are there +"
        r"a\.f90:3$",
        done.stdout,
        re.MULTILINE,
    )
    assert done.stdout.splitlines()[-1] == "0 MPI functions used; mpi_f08 missing"
    (tmp_path / "b.f90").write_text("  use mpi\n! use mpi_f08\n  print *, 'use mpi_f08'\n")
    assert checked(chasqui, "b.f90", status=0)["interfaces"] == []
    (tmp_path / "own.f90").write_text("module mpi_f08\nend module\n")
    assert checked(chasqui, "a.f90", "own.f90", status=0)["interfaces"] == []


def test_an_object_that_was_compiled_with_another_mpis_module(chasqui: Run, tmp_path: Path) -> None:
    for name in ("mpi_send_f08_", "mpi_recv_f08ts_"):
        (tmp_path / "a.c").write_text(f"void {name}(void);\nvoid f(void) {{ {name}(); }}\n")
        subprocess.run(["cc", "-c", "a.c"], cwd=tmp_path, check=True)
        assert interfaces(checked(chasqui, "a.o", status=1)) == {"mpi_f08": "missing"}


def test_openmps_header(chasqui: Run, tmp_path: Path) -> None:
    include = "#  include <omp.h>"
    (tmp_path / "a.c").write_text(f"{include}\n// {include}\n")
    found = checked(chasqui, "a.c", status=1)
    assert interfaces(found) == {"omp.h": "missing"}
    assert [place["line"] for place in found["interfaces"][0]["places"]] == [1]
    done = chasqui("check", "a.c")
    assert (
        "OpenMP's header: not with the default toolchain; `--toolchain gnu` has it" in done.stdout
    )
    gnu = {**os.environ, "CHASQUI_TOOLCHAIN": "gnu"}
    assert chasqui("check", "a.c", env=gnu).returncode == 0
    # What is compiled with OpenMP alone is no obstacle.
    for begin, end in (
        ("#ifdef _OPENMP", "#endif"),
        ("#if defined(_OPENMP) && X", "#else\n#endif"),
        ("#ifdef Y\n#if 1\n#elif _OPENMP", "#endif\n#endif"),
    ):
        (tmp_path / "a.c").write_text(f"{begin}\n{include}\n{end}\n")
        assert interfaces(checked(chasqui, "a.c", status=0)) == {"omp.h (with OpenMP)": "partial"}
    for begin in ("#ifndef _OPENMP", "#ifdef _OPENMP\n#else", "#ifdef _OPENMP\n#endif\n#if X"):
        (tmp_path / "a.c").write_text(f"{begin}\n{include}\n#endif\n")
        assert interfaces(checked(chasqui, "a.c", status=1)) == {"omp.h": "missing"}


def test_a_program_of_its_own_names_is_complete(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(void) { return MPI_Own(1) + MPI_Comm_size(c, &n); }\n")
    (tmp_path / "b.c").write_text("int MPI_Own(int x) { return x; }\n")
    assert missing(checked(chasqui, "a.c", "b.c", status=0)) == []
    assert checked(chasqui, "a.c", status=1)["complete"] is False


def test_what_is_partial_is_said_with_its_reason(chasqui: Run, tmp_path: Path) -> None:
    name, why = next(iter(coverage.partial().items()))
    (tmp_path / "a.c").write_text(f"void f(void) {{ {name}(x); }}\n")
    done = chasqui("check", "a.c")
    assert done.returncode == 0
    assert f"partial  {name}" in done.stdout
    assert why in done.stdout


def test_places_are_counted_where_there_is_no_room(chasqui: Run, tmp_path: Path) -> None:
    call = "void f() { MPI_Win_free(&w); }\n"
    (tmp_path / "a.c").write_text(call * 40)
    (line,) = [each for each in chasqui("check", "a.c").stdout.splitlines() if "Win_free" in each]
    shown = line[line.index("a.c:1") :]
    match = re.fullmatch(r"a\.c:1(, :\d+)* and (\d+) more", shown)
    assert match
    assert shown.count(":") + int(match[2]) == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no file was named"),
        (["nowhere"], "nowhere: no such file or folder"),
        (["empty"], "empty: nothing to check"),
        (["notes.txt"], "notes.txt: is no C, C++ or Fortran source, object, archive or program"),
        (["cut.o"], "cut.o: is a damaged ELF file"),
        (["--nosuch"], "--nosuch"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    chasqui: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("MPI_Send\n")
    (tmp_path / "cut.o").write_bytes(b"\x7fELF\x02\x01")
    done = chasqui("check", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("chasqui: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


# --- objects and programs -----------------------------------------------------------------------


def compile_object(tmp_path: Path, *command: str) -> Path:
    source, target = tmp_path / "expose.c", tmp_path / "expose.o"
    source.write_text(MISSING_CALL)
    include = f"-I{toolchain.INCLUDE}"
    subprocess.run(
        [*command, "-c", "expose.c", include, "-o", target], cwd=tmp_path, check=True, timeout=300
    )
    return target


CHASQUI_CC = [sys.executable, "-m", "chasqui", "cc"]


@pytest.mark.parametrize(
    "command",
    [
        [*CHASQUI_CC, "-g", "-O1"],
        [*CHASQUI_CC, "-g", "-O2", "-ffunction-sections"],
        ["cc", "-g", "-O1"],
        ["cc", "-gdwarf-4", "-ffunction-sections", "-O2"],
    ],
)
def test_an_object_tells_lines(chasqui: Run, tmp_path: Path, command: list[str]) -> None:
    found = checked(chasqui, compile_object(tmp_path, *command), status=1)
    (window,) = found["functions"]
    (place,) = window["places"]
    assert (window["name"], window["state"]) == ("MPI_Win_create", "missing")
    assert (place["file"], place["line"], place["function"]) == ("expose.c", MISSING_LINE, "expose")
    assert found["system_calls"] is None


def test_an_archive_tells_its_members(chasqui: Run, tmp_path: Path) -> None:
    target = compile_object(tmp_path, "cc", "-O1")
    (tmp_path / "notes.txt").write_text("no object\n")
    subprocess.run(["ar", "rcs", "lib.a", target, "notes.txt"], cwd=tmp_path, check=True)
    done = chasqui("check", "lib.a")
    assert done.returncode == 1
    assert re.search(r"lib\.a\(expose\.o\): expose\+0x\w+", done.stdout)


def test_a_dynamic_program_of_the_host(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "stub.c").write_text("int MPI_Win_create(void) { return 0; }\n")
    (tmp_path / "main.c").write_text(
        "int MPI_Win_create(void);\nint main() { return MPI_Win_create(); }\n"
    )
    subprocess.run(
        ["cc", "-shared", "-fPIC", "stub.c", "-o", "libstub.so"], cwd=tmp_path, check=True
    )
    subprocess.run(["cc", "main.c", "-L.", "-lstub", "-o", "main"], cwd=tmp_path, check=True)
    found = checked(chasqui, "main", status=1)
    assert missing(found) == ["MPI_Win_create"]
    assert found["system_calls"] is None


PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
int (*table[])(int *, char ***) = {MPI_Init};
int unused(void) { int size; return MPI_Comm_size(MPI_COMM_WORLD, &size); }
int main(int argc, char **argv)
{
    table[0](&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%ld\\n", syscall(SYS_getppid));
    FORK
    return MPI_Finalize();
}
"""


def numbers(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in found["system_calls"]}


def test_a_program_tells_what_it_calls(chasqui: Run, compile_c: Compiler) -> None:
    found = checked(chasqui, compile_c("check-calls", PROGRAM, "-g", "-DFORK="), status=0)
    # What is linked in and never called is not listed: unused(), and the library's own calls.
    assert {each["name"] for each in found["functions"]} == {
        "MPI_Init",
        "MPI_Barrier",
        "MPI_Finalize",
    }
    (barrier,) = [each for each in found["functions"] if each["name"] == "MPI_Barrier"]
    assert [place["line"] for place in barrier["places"]] == [10]
    calls = numbers(found)
    # The number that main gives to the C library's syscall().
    assert calls["getppid"]["paths"][0][-1] == "main"
    assert "clone" not in calls
    assert "?" not in calls


def test_a_missing_system_call_is_said_with_the_way_to_it(
    chasqui: Run, compile_c: Compiler
) -> None:
    program = compile_c("check-execve", PROGRAM, "-DFORK=execve(NULL, NULL, NULL);")
    done = chasqui("check", program)
    assert done.returncode == 1
    assert re.search(
        r"missing +execve \(system call 221\) +returns ENOSYS +main > execve", done.stdout
    )
    assert re.search(r"; \d+ system calls: \d+ there, \d+ partial, 1 missing$", done.stdout.strip())


def test_a_run_says_the_name_of_a_missing_system_call(chasqui: Run, compile_c: Compiler) -> None:
    program = compile_c("check-fork", PROGRAM, "-DFORK=fork();")
    done = chasqui("run", "-np", "1", "--quiet", program)
    assert done.stderr.count("rank 0: system call 220 (clone) is not served") == 1


@pytest.mark.gnu
def test_programs_of_glibc_are_complete(chasqui: Run, compile_c: Compiler) -> None:
    program = compile_c("check-glibc", PROGRAM, "-DFORK=", "--toolchain", "gnu")
    found = checked(chasqui, program, status=0)
    assert numbers(found)["getppid"]["state"] == "there"


def test_a_stripped_program_is_refused(chasqui: Run, compile_c: Compiler, tmp_path: Path) -> None:
    strip = shutil.which("llvm-strip") or shutil.which("riscv64-linux-gnu-strip")
    if strip is None:
        pytest.skip("no strip for RISC-V")
    program = tmp_path / "stripped"
    shutil.copy(compile_c("check-calls", PROGRAM, "-g", "-DFORK="), program)
    subprocess.run([strip, program], check=True)
    done = chasqui("check", program)
    assert done.returncode == 2
    assert "is stripped" in done.stderr


CONDITIONAL = """\
#ifndef OWN_H
#define OWN_H
#ifdef __cplusplus
extern "C" {
#endif
#if defined(HAVE_RMA) && \\
    HAVE_RMA > 1 /* why */
int fence(MPI_Win w) { return MPI_Win_fence(0, w); }
#elif MPI_VERSION < 3
int release(MPI_Win w) { return MPI_Win_free(&w); }
#else
int lock(MPI_Win w) { return MPI_Win_lock_all(0, w); }
#endif
#if 1
int sync(MPI_Win w) { return MPI_Win_sync(w); }
#endif
#endif
"""


def test_what_stands_behind_conditions_is_told(chasqui: Run, tmp_path: Path) -> None:
    """A program may be compiled without it. Guards of headers, and of C++, are no conditions."""
    (tmp_path / "own.h").write_text(CONDITIONAL)
    done = chasqui("check", "own.h")
    assert done.returncode == 1
    where = {line.split()[1]: line.partition("own.h")[2] for line in done.stdout.splitlines()[2:6]}
    assert where == {
        "MPI_Win_fence": ":8 (#if defined(HAVE_RMA) && HAVE_RMA > 1)",
        "MPI_Win_free": ":10 (#elif MPI_VERSION < 3)",
        "MPI_Win_lock_all": ":12 (#else of #elif MPI_VERSION < 3)",
        "MPI_Win_sync": ":15",
    }
    assert "4 missing; behind #if alone: 3 of what is missing" in done.stdout
    found = json.loads(chasqui("check", "--json", "own.h").stdout)["functions"]
    places = {each["name"]: each["places"] for each in found}
    assert places["MPI_Win_free"] == [
        {"file": "own.h", "line": 10, "condition": "#elif MPI_VERSION < 3"}
    ]
    assert places["MPI_Win_sync"] == [{"file": "own.h", "line": 15}]


# --- the wrappers -------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [[], pytest.param(["--toolchain", "gnu"], marks=pytest.mark.gnu)])
def test_a_failed_link_says_why(chasqui: Run, tmp_path: Path, flags: list[str]) -> None:
    text = MISSING_CALL + "int main(void) { return expose(0) + undefined_too(); }\n"
    (tmp_path / "main.c").write_text(f"int undefined_too(void);\n{text}")
    done = chasqui("cc", *flags, "main.c", "-o", "main")
    assert done.returncode == 1
    assert "undefined_too" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "chasqui: MPI_Win_create (one-sided communication, MPI 2.0) is not in this version's "
        "library; `chasqui check` lists such calls"
    )
