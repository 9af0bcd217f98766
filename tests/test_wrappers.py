"""The compiler commands: flags pass through, and configure scripts, makefiles and CMake can use
them as their compiler.

Use this when chasqui.compiler, chasqui.toolchain or distribution/ change.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import cmake_project
import elf
import pytest
from conftest import Run

from chasqui import compiler, layout, toolchain
from chasqui.errors import InputError

HELLO = """\
#include <mpi.h>
#include <stdio.h>
#include <math.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("%.3f\\n", sqrt(argc));
    MPI_Finalize();
    return 0;
}
"""
RV64GC = {"rv64i", "m", "a", "f", "d", "c", "zicsr", "zifencei", "zihintpause"}
# Parts of G and C by their own names.
PARTS = {"zmmul", "zaamo", "zalrsc", "zca", "zcd"}


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    (tmp_path / "hello.c").write_text(HELLO)
    return tmp_path / "hello.c"


def test_an_executable_is_static_rv64gc(chasqui: Run, hello: Path) -> None:
    done = chasqui("cc", "-O2", "hello.c", "-o", "hello", "-lm")
    assert (done.returncode, done.stderr) == (0, "")
    program = hello.with_name("hello")
    assert elf.header(program) == (elf.ET_EXEC, elf.EM_RISCV)
    assert elf.is_static(program)
    assert elf.isa(program) - PARTS == RV64GC  # neither vectors nor bit manipulation


# The first of these has zig's libc++ built, a minute and a half.
@pytest.mark.turn(5)
@pytest.mark.xdist_group("c++")
def test_cpp(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.cc").write_text(
        "#include <mpi.h>\n#include <iostream>\n#include <vector>\n"
        "int main(int c, char **v) { MPI_Init(&c, &v); std::vector<int> a(3);\n"
        "std::cout << a.size(); return MPI_Finalize(); }\n"
    )
    assert chasqui("c++", "-std=c++17", "a.cc", "-o", "a").returncode == 0
    said = chasqui("c++", "-std=c++17", "a.cc", "-o", "a").stderr
    assert said == "", "that libc++ is built is said once"
    assert elf.is_static(tmp_path / "a")


CPP = """\
#include <cstdio>
#include <mpi.h>
#include <stdexcept>
#include <string>
thread_local std::string of_thread = "of its thread";
struct Global {
    std::string text = "made before main";
    ~Global() { puts("ended after it"); }
} global;
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    try {
        throw std::runtime_error("thrown");
    } catch (const std::exception &error) {
        printf("%s, %s, %s\\n", error.what(), global.text.c_str(), of_thread.c_str());
    }
    MPI_Finalize();
}
"""


@pytest.mark.core
@pytest.mark.parametrize(
    "flags",
    [
        pytest.param([], marks=[pytest.mark.turn(5), pytest.mark.xdist_group("c++")]),
        pytest.param(["--toolchain", "gnu"], marks=pytest.mark.gnu),
    ],
)
def test_cpp_with_constructors_destructors_and_exceptions(
    chasqui: Run, tmp_path: Path, flags: list[str]
) -> None:
    (tmp_path / "a.cc").write_text(CPP)
    done = chasqui("c++", *flags, "-std=c++17", "-O2", "a.cc", "-o", "a")
    assert (done.returncode, done.stderr) == (0, "")
    done = chasqui("run", "-q", "./a")
    assert (done.returncode, done.stdout) == (
        0, "thrown, made before main, of its thread\nended after it\n",
    ), done.stderr  # fmt: skip


@pytest.mark.parametrize("option", ["-pie", "-fPIC", "-rdynamic", "-pthread", "-static"])
def test_options_that_configure_scripts_like_keep_it_static(
    chasqui: Run, hello: Path, option: str
) -> None:
    assert chasqui("cc", option, "hello.c", "-o", "hello", "-lm").returncode == 0
    assert elf.header(hello.with_name("hello"))[0] == elf.ET_EXEC


@pytest.mark.core
@pytest.mark.parametrize("option", ["-s", "-Wl,-s", "-Wl,--strip-all"])
def test_a_program_is_stripped(chasqui: Run, hello: Path, option: str) -> None:
    assert chasqui("cc", "-O2", "-g", "hello.c", "-o", "whole", "-lm").returncode == 0
    done = chasqui("cc", "-O2", "-g", option, "hello.c", "-o", "hello", "-lm")
    assert (done.returncode, done.stderr) == (0, "")
    program, whole = hello.with_name("hello"), hello.with_name("whole")
    assert elf.symbols(program) is None
    assert program.stat().st_size < whole.stat().st_size / 4
    assert program.stat().st_mode == whole.stat().st_mode
    assert elf.isa(program) == elf.isa(whole)
    assert elf.is_static(program)
    done = chasqui("run", "-q", "-np", "2", "--machine", "voyager", "--", "./hello")
    assert (done.returncode, done.stdout) == (0, "1.000\n" * 2)
    assert chasqui("cc", option, "hello.c", "-lm").returncode == 0
    assert elf.symbols(hello.with_name("a.out")) is None
    assert chasqui("cc", option, "hello.c", "-o", "/dev/null", "-lm").returncode == 0


UNDEFINED = """\
#include <limits.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int sum = INT_MAX;
    sum += argc;
    printf("%d\\n", sum);
    return 0;
}
"""


@pytest.mark.core
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_is_undefined_ends_the_run(chasqui: Run, tmp_path: Path, level: str) -> None:
    (tmp_path / "a.c").write_text(UNDEFINED)
    assert chasqui("cc", level, "-fsanitize=undefined", "-c", "a.c").returncode == 0
    assert chasqui("cc", "-fsanitize=undefined", "a.o", "-o", "a").returncode == 0
    done = chasqui("run", "-q", "--", "./a")
    assert (done.returncode, done.stdout) == (134, "")
    assert "signed integer overflow: 2147483647 + 1 cannot be represented" in done.stderr
    assert chasqui("cc", level, "a.c", "-o", "a").returncode == 0  # and no check unless asked
    assert chasqui("run", "-q", "--", "./a").stdout == "-2147483648\n"


def test_openmp_is_named_where_its_header_is_missing(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#include <omp.h>\nint main(void) { return 0; }\n")
    for words in (["-c", "a.c"], ["-fopenmp", "a.c", "-o", "a"]):
        done = chasqui("cc", *words)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            "chasqui: omp.h (OpenMP's header): not with the default toolchain; "
            "`--toolchain gnu` has it"
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["./a", ":"], "no program is named in ':'"),
        (["./a", ":", "-n", "2"], "no program is named in ': -n 2'"),
        (["-n", "2", ":", "./b"], "no program was named before the first ':'"),
        (["./a", ":", "-host", "a", "./b"], "mpiexec: -host behind ':': each program has -n"),
        (["./a", ":", "-n", "1", "-x", "A=1", "./b"], "mpiexec: -x behind ':': each program has"),
        (["./a", ":", "-n", "0", "./b"], "-np 0: at least 1 rank is needed"),
        (["-machinefile", "hosts", "-np", "2", "./a"], "there is no option -machinefile;"),
        (["-np", "2", "-host", "a,b", "./a"], "there is no option -host;"),
        (["-hosts", "a,b", "./a"], "there is no option -hosts;"),
        (["-map-by", "core", "./a"], "there is no option -map-by;"),
        (["-mca", "btl", "tcp", "./a"], "there is no option -mca;"),
        (["-npernode", "2", "./a"], "there is no option -npernode;"),
        (["-nolocal", "./a"], "there is no option -nolocal;"),
        (["--oversubscribe", "-np", "2", "./a"], "there is no option --oversubscribe;"),
        (["-np", "2", "--bind-to=core", "./a"], "there is no option --bind-to;"),
        (["-x", "NOT_SET_HERE", "-np", "2", "./a"], "-x NOT_SET_HERE: it is not set here"),
        (["-x", "=1", "./a"], "-x '=1': NAME=VALUE is expected"),
        (["-n", "2", "-x"], "mpiexec: -x: NAME or NAME=VALUE is expected"),
        (["-configfile", "x"], "there is no option -configfile;"),
        # --histogram takes a value behind `=` only.
        (["--histogram", "-machinefile", "f", "./a"], "there is no option -machinefile;"),
    ],
)
def test_what_mpiexec_does_not_know(
    shim_directory: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    done = subprocess.run(
        [shim_directory / "mpiexec", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("chasqui: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.core
def test_what_mpiexec_knows(shim_directory: Path, hello: Path, chasqui: Run) -> None:
    assert chasqui("cc", "hello.c", "-o", "hello", "-lm").returncode == 0
    of_all = [["-n2"], ["-np", "2"], ["-n", "2", "-m", "loggp"], ["-np=2", "--env", "A=1"]]
    for words in (*of_all, ["-x", "PATH", "-x", "A=1", "-n", "2"]):
        done = subprocess.run(
            [shim_directory / "mpiexec", *words, "-q", "./hello", "-host", "-np"],
            cwd=hello.parent, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "1.732\n" * 2), done.stderr


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_mpiexec_says_which_it_is(shim_directory: Path, word: str) -> None:
    command = [str(shim_directory / "mpiexec"), word]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    version = metadata.version("chasqui-sim")
    assert (done.returncode, done.stdout) == (0, f"chasqui {version}\n"), done.stderr


def test_errors_of_variables_name_the_variable(chasqui: Run, hello: Path) -> None:
    place = hello.with_name("file")
    place.write_text("")
    for variable, value, message in (
        ("CHASQUI_TOOLCHAIN", "clang", "CHASQUI_TOOLCHAIN clang: there are zig and gnu"),
        ("CHASQUI_CACHE_DIR", f"{place}", f"CHASQUI_CACHE_DIR: {place}/"),
    ):
        done = chasqui("cc", "hello.c", "-lm", env={variable: value})
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.startswith(f"chasqui: {message}")
    done = chasqui("cc", "--toolchain", "clang", "x.c", env={"CHASQUI_TOOLCHAIN": "gnu"})
    assert done.stderr == "chasqui: --toolchain clang: there are zig and gnu\n"
    done = chasqui("run", "./a", env={"CHASQUI_CACHE_DIR": str(place)})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("chasqui: CHASQUI_CACHE_DIR: ")


def test_steps_of_a_build(chasqui: Run, hello: Path) -> None:
    here = hello.parent
    assert chasqui("cc", "-O2", "-c", "hello.c").returncode == 0
    assert (here / "hello.o").exists()
    assert chasqui("cc", "-MMD", "-MF", "x.d", "-c", "hello.c", "-o", "x.o").returncode == 0
    assert "mpi.h" in (here / "x.d").read_text()
    assert "MPI_Init" in chasqui("cc", "-E", "hello.c").stdout
    assert "hello.o: hello.c" in chasqui("cc", "-MM", "hello.c").stdout
    assert "main:" in chasqui("cc", "-S", "hello.c", "-o", "-").stdout
    assert chasqui("cc", "-fsyntax-only", "hello.c").returncode == 0
    assert chasqui("cc", "hello.o", "-lm", "-o", "linked").returncode == 0
    assert elf.is_static(here / "linked")


def test_several_sources_and_standard_input(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(void) { return 1; }\n")
    (tmp_path / "b.c").write_text("int f(void); int main(void) { return f(); }\n")
    assert chasqui("cc", "-c", "a.c", "b.c").returncode == 0
    assert (tmp_path / "a.o").exists()
    assert (tmp_path / "b.o").exists()
    assert chasqui("cc", "a.c", "b.c", "-o", "both").returncode == 0
    command = [sys.executable, "-m", "chasqui", "cc", "-x", "c", "-", "-o", "c"]
    subprocess.run(command, cwd=tmp_path, input=b"int main() { return 0; }", check=True)


def test_a_programs_own_header_wins(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub" / "mpi.h").write_text("#define STUB 1\n")
    (tmp_path / "a.c").write_text("#include <mpi.h>\nint main(void) { return STUB; }\n")
    assert chasqui("cc", "-Istub", "a.c", "-o", "a").returncode == 0


def test_errors_are_the_compilers(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text("int main(void) { return x; }\n")
    done = chasqui("cc", "wrong.c")
    assert done.returncode == 1
    assert "wrong.c:1:25: error:" in done.stderr
    done = chasqui("cc", "missing.c")
    assert (done.returncode, done.stderr) == (1, "chasqui: missing.c: no such file\n")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"hello\n", "no source (its name"),
        (b"\x7fELF\2\1\1", "an object's name has to end in .o"),
        (b"!<arch>\n", "an archive's name has to end in .a"),
    ],
)
def test_a_file_without_an_ending_is_a_line(
    chasqui: Run, tmp_path: Path, contents: bytes, message: str
) -> None:
    (tmp_path / "text").write_bytes(contents)
    done = chasqui("cc", "-O2", "text", "-o", "a")
    assert done.returncode == 1
    assert done.stderr.startswith(f"chasqui: text: {message}")
    assert done.stderr.count("\n") == 1
    (tmp_path / "text").write_text("int main(void) { return 0; }\n")
    assert chasqui("cc", "-x", "c", "text", "-o", "a").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-shared", "a.c"], "-shared: simulated machines run static executables only"),
        (["-march=rv64gcv", "a.c"], "-march=rv64gcv: simulated nodes are RV64GC"),
        (["--toolchain", "icc", "a.c"], "--toolchain icc: there are zig and gnu"),
        (["--toolchain"], "--toolchain: zig or gnu must follow"),
        (["-fsanitize=address", "a.c"], "has -fsanitize=undefined, with all of its checks, and no"),
        (["-fsanitize=undefined,thread", "a.c"], "and no thread"),
        (["-fsanitize=bounds", "a.c"], "and no bounds"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        compiler.plan("cc", arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "kept", "warnings"),
    [
        (["-march=native", "a.c"], ["a.c"], 1),
        (["-march=rv64gc", "-mabi=lp64d", "-mtune=native", "a.c"], ["a.c"], 0),
        (["-mavx2", "-flto=thin", "-fopenmp", "a.c"], ["a.c"], 3),
        (["-mfpmath=sse", "-ftree-vectorizer-verbose=0", "-fopt-info", "a.c"], ["a.c"], 3),
        (["--toolchain", "gnu", "-fopt-info", "a.c"], ["-fopt-info", "a.c"], 0),
        (["-D", "-march=native", "-I", "-shared", "a.c"], None, 0),  # values, not options
        (["-O3", "-DX=1 2", "-Wl,--gc-sections", "a.c"], None, 0),
        (["-pg", "--coverage", "-fprofile-generate=x", "a.c"], ["a.c"], 3),
        (["-fprofile-arcs", "-ftest-coverage", "-fprofile-instr-generate", "a.c"], ["a.c"], 3),
        (["--toolchain=gnu", "--coverage", "-s", "a.c"], ["--coverage", "-s", "a.c"], 0),
        (["-s", "-Wl,-s", "a.c"], ["a.c"], 0),
    ],
)
def test_what_is_left_out(arguments: list[str], kept: list[str] | None, warnings: int) -> None:
    found = compiler.plan("cc", arguments)
    assert found.arguments == (arguments if kept is None else kept)
    assert len(found.warnings) == warnings


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        (["a.c"], "link"),
        (["a.o", "-o", "a"], "link"),
        (["-v", "a.c"], "link"),
        (["-c", "a.c"], "-c"),
        (["-c", "-E", "a.c"], "-E"),
        (["-MM", "a.c"], "-MM"),
        (["-MD", "-c", "a.c"], "-c"),
        (["--version"], "question"),
        (["-v"], "question"),
        (["-print-search-dirs"], "question"),
        (["-dumpmachine"], "question"),
        ([], "question"),
    ],
)
def test_it_links_only_when_linking(arguments: list[str], mode: str) -> None:
    assert compiler.plan("cc", arguments).mode == mode


def test_response_files(tmp_path: Path) -> None:
    (tmp_path / "args").write_text("-c 'a b.c'\n-DX='\"y\"'\n")
    found = compiler.plan("cc", [f"@{tmp_path / 'args'}"])
    assert (found.mode, found.inputs) == ("-c", ["a b.c"])
    assert '-DX="y"' in found.arguments


def test_show(chasqui: Run, hello: Path, shim_directory: Path) -> None:
    shown = chasqui("cc", "-show", "-O3", "hello.c", "-o", "hello").stdout.split()
    assert shown[1] == "cc"
    assert {"-O3", "hello.c", f"-I{toolchain.INCLUDE}", "-lmpi", "-static"} < set(shown)
    assert not hello.with_name("hello").exists()
    for option in ("-show", "-showme"):
        done = subprocess.run(
            [shim_directory / "mpicc", option], capture_output=True, text=True, check=True
        )
        assert "-lmpi" in done.stdout
    compile_part = chasqui("cc", "-showme:compile").stdout
    assert compile_part.strip() == f"-I{toolchain.INCLUDE}"
    # What -show prints is a command that works.
    command = chasqui("cc", "-show", "hello.c", "-o", "shown", "-lm").stdout
    subprocess.run(
        command, shell=True, check=True, cwd=hello.parent, env=toolchain.zig_environment()
    )
    assert elf.is_static(hello.with_name("shown"))


COMMANDS = {
    "mpicc": "cc",
    **dict.fromkeys(("mpicxx", "mpic++", "mpiCC"), "c++"),
    **dict.fromkeys(("mpifort", "mpif77", "mpif90"), "fc"),
    **dict.fromkeys(("mpiexec", "mpirun"), "run"),
}


def test_shims(shim_directory: Path, hello: Path) -> None:
    """The wheel names them, and pip makes them: in `bin`, and nowhere else."""
    installed = metadata.entry_points(group="console_scripts")
    ours = {each.name for each in installed if each.value.startswith("chasqui_commands:")}
    assert ours == {*COMMANDS, "chasqui"}
    for name, command in COMMANDS.items():
        done = subprocess.run(
            [shim_directory / name, "--help"], capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(f"Usage: chasqui {command} "), name
    subprocess.run([shim_directory / "mpicc", "hello.c", "-lm"], cwd=hello.parent, check=True)
    assert elf.is_static(hello.with_name("a.out"))
    done = subprocess.run(
        [shim_directory / "mpiexec", "-np", "0", "./a"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "chasqui: -np 0: at least 1 rank is needed\n")


def test_without_the_guest_s_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message has the version that the package asks for."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(toolchain, "_requirement", lambda: "ziglang==1.2.3")
    with pytest.raises(InputError) as error:
        toolchain.zig()
    assert str(error.value) == "the guest toolchain is missing: pip install ziglang==1.2.3"
    monkeypatch.undo()
    wanted = [each for each in metadata.requires("chasqui-sim") or () if "ziglang" in each]
    assert [toolchain._requirement()] == wanted


def test_shims_by_other_names(shim_directory: Path, tmp_path: Path) -> None:
    """By a symbolic link, a relative name, the name alone."""
    (tmp_path / "cc").symlink_to(shim_directory / "mpicc")
    (tmp_path / "here").symlink_to(shim_directory)
    path = {**os.environ, "PATH": f"{shim_directory}:{os.environ['PATH']}"}
    for name in (tmp_path / "cc", "./cc", "here/mpicc", "mpicc"):
        done = subprocess.run(
            [name, "-showme:libs"],
            cwd=tmp_path,
            env=path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "mpi" in done.stdout


def test_a_configure_script(shim_directory: Path, tmp_path: Path) -> None:
    """What autoconf's AC_PROG_CC and AC_CHECK_FUNCS do with a cross compiler."""
    script = """
set -eu
echo 'int main(void) { return 0; }' > conftest.c
$CC -o conftest conftest.c >&5; test -f conftest; rm conftest
$CC conftest.c; test -f a.out
$CC -c conftest.c >&5; test -f conftest.o; rm conftest.o
echo '#ifndef __GNUC__
choke me
#endif
int x;' > conftest.c; $CC -c -g -O2 conftest.c
printf '#include <mpi.h>\\nint main(void) { return MPI_Init(0, 0); }' > conftest.c
$CC -E conftest.c > conftest.i; $CC -o conftest conftest.c -lm
printf 'int nosuch(void); int main(void) { return nosuch(); }' > conftest.c
if $CC -o conftest2 conftest.c 2>/dev/null; then exit 1; fi
$CC --version; $CC -v
if $CC -V 2>/dev/null; then exit 1; fi
if $CC -qversion 2>/dev/null; then exit 1; fi
"""
    environment = {**os.environ, "CC": str(shim_directory / "mpicc")}
    command = ["sh", "-c", f"exec 5>config.log; {script}"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("way", cmake_project.WAYS)
@pytest.mark.turn(2)
def test_cmake(shim_directory: Path, hello: Path, way: str) -> None:
    assert elf.is_static(cmake_project.build(hello, "C", way, shim_directory))


def test_a_missing_function_is_named_where_it_is_called_and_by_the_linker(
    chasqui: Run, tmp_path: Path
) -> None:
    begin = "#include <mpi.h>\nint main(void)\n{\n    MPI_Win window = MPI_WIN_NULL;\n"
    (tmp_path / "holds.c").write_text(begin + "    return window != MPI_WIN_NULL;\n}\n")
    done = chasqui("cc", "holds.c", "-o", "holds")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "calls.c").write_text(begin + "    return MPI_Win_free(&window);\n}\n")
    done = chasqui("cc", "calls.c", "-o", "calls")
    assert done.returncode != 0
    assert "calls.c:5:12: warning:" in done.stderr
    assert "MPI_Win_free is missing in Chasqui's MPI library" in done.stderr
    assert "undefined symbol: MPI_Win_free" in done.stderr


MISSING = """\
#include <mpi.h>
#include <stdio.h>
int nowhere(int);
int main(int argc, char **argv)
{
    MPI_Win window;
    MPI_Init(&argc, &argv);
    puts("so far");
    fflush(stdout);
    if (argc > 1)
        return nowhere(argc);
    if (argc > 2)
        MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize("flags", [[], pytest.param(["--toolchain", "gnu"], marks=pytest.mark.gnu)])
def test_a_program_whose_missing_functions_are_not_called(
    chasqui: Run, tmp_path: Path, flags: list[str]
) -> None:
    (tmp_path / "a.c").write_text(MISSING)
    assert chasqui("cc", *flags, "-w", "a.c", "-o", "a").returncode == 1
    done = chasqui("cc", *flags, "-w", "--stub-missing", "a.c", "-o", "a")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    stubs = done.stderr.removeprefix("chasqui: stubs, which end the job: ").strip().split(", ")
    assert sorted(stubs) == ["MPI_Win_create", "nowhere"]
    done = chasqui("run", "-q", "-np", "2", "--", "./a")
    assert (done.returncode, done.stdout, done.stderr) == (0, "so far\n" * 2, "")
    done = chasqui("run", "-q", "-np", "2", "--", "./a", "now")
    assert done.returncode == 1
    assert (
        "rank 0: nowhere: it was called, and is missing: the program was linked with" in done.stderr
    )
    assert "aborted: rank 0" in done.stderr
    assert re.search(r"from 0x[0-9a-f]+ \(nowhere\+0x[0-9a-f]+, --stub-missing:\d+\)", done.stderr)
    # More than a linker names at a time.
    calls = "".join(f"int gone{i}(void); n += gone{i}();" for i in range(45))
    (tmp_path / "b.c").write_text(
        f"int main(int n, char **v) {{ if (n > 9) {{ {calls} }} return 0; }}\n"
    )
    done = chasqui("cc", *flags, "--stub-missing", "b.c", "-o", "b")
    assert (done.returncode, done.stderr.count("gone")) == (0, 45), done.stderr
    # What is wrong otherwise is said as ever; and nothing where nothing is missing.
    (tmp_path / "c.c").write_text("int main(void) { return x; }\n")
    done = chasqui("cc", *flags, "--stub-missing", "c.c", "-o", "c")
    assert done.returncode != 0
    assert done.stderr.count("error:") >= 1
    (tmp_path / "d.c").write_text("int main(void) { return 0; }\n")
    done = chasqui("cc", *flags, "--stub-missing", "d.c", "-o", "d")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "e.c").write_text("int other(void) { return 0; }\n")
    done = chasqui("cc", *flags, "--stub-missing", "e.c", "-o", "e")
    assert done.returncode == 1
    assert "main" in done.stderr
    assert "--stub-missing" not in done.stderr


@pytest.mark.parametrize("flags", [[], pytest.param(["--toolchain", "gnu"], marks=pytest.mark.gnu)])
@pytest.mark.parametrize("use", ["table[argc]", "table[2]", "argc > 1 ? gone() : (long)table"])
def test_a_variable_that_is_missing_has_no_stub(
    chasqui: Run, tmp_path: Path, flags: list[str], use: str
) -> None:
    """The program would read the stub's instructions."""
    (tmp_path / "a.c").write_text(
        f"extern int table[]; int gone(void); int main(int argc, char **v) {{ return {use}; }}\n"
    )
    done = chasqui("cc", *flags, "-w", "--stub-missing", "a.c", "-o", "a")
    assert done.returncode == 2
    assert "--stub-missing: table: missing, and never called by name" in done.stderr
    assert not (tmp_path / "a").exists()
    done = chasqui("cc", *flags, "-w", "--stub-missing", "a.c", "-s", "-o", "a")
    assert done.returncode == 2
    assert not (tmp_path / "a").exists()


FORTRAN_MISSING = """\
program missing
  use mpi
  integer :: error
  character(8) :: word
  call MPI_Init(error)
  call get_command_argument(1, word)
  if (word == 'now') call nowhere(error)
  print '(a)', 'so far'
  call MPI_Finalize(error)
end program
"""


@pytest.mark.gnu
def test_a_fortran_program_whose_missing_subroutine_is_not_called(
    chasqui: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.f90").write_text(FORTRAN_MISSING)
    assert chasqui("fc", "a.f90", "-o", "a").returncode == 1
    done = chasqui("fc", "--stub-missing", "a.f90", "-o", "a")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == "chasqui: stubs, which end the job: nowhere_\n"
    done = chasqui("run", "-q", "-np", "2", "--", "./a")
    assert (done.returncode, done.stdout, done.stderr) == (0, "so far\n" * 2, "")
    done = chasqui("run", "-q", "-np", "2", "--", "./a", "now")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nowhere_: it was called, and is missing: the program was linked with" in done.stderr
    assert "aborted: rank " in done.stderr


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from chasqui.cache import cache_directory

    monkeypatch.delenv("CHASQUI_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert cache_directory() == Path("/some/cache/chasqui")
    # What is no absolute path is to be ignored.
    for ignored in ("", "some/cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert "some" not in str(cache_directory())
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    monkeypatch.setenv("CHASQUI_CACHE_DIR", "/other")
    assert cache_directory() == Path("/other")


def test_libmpi_appears_whole_however_many_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []
    monkeypatch.setenv("CHASQUI_CACHE_DIR", str(tmp_path))

    def build(place: Path) -> None:
        calls.append(place)
        place.mkdir(parents=True)
        (place / "libmpi.a").write_text("")

    monkeypatch.setattr(toolchain, "_build_libmpi", build)
    with ThreadPoolExecutor(8) as pool:
        places = set(pool.map(lambda _: toolchain.libmpi_directory(), range(8)))
    assert (len(calls), len(places)) == (1, 1)


def test_libmpi_is_built_anew_when_its_sources_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "guest" / "mpi").mkdir(parents=True)
    for name in (layout.TEMPLATE, layout.ORDER):
        shutil.copy(toolchain.GUEST / "mpi" / name, tmp_path / "guest" / "mpi")
    source = tmp_path / "guest" / "mpi" / "a.c"
    source.write_text("int MPI_Init(void) { return 0; }\n")
    zig_cache = toolchain.zig_environment()  # where musl is built already
    monkeypatch.setenv("CHASQUI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "GUEST", tmp_path / "guest")
    monkeypatch.setattr(toolchain, "MACHINES", tmp_path / "machines")
    monkeypatch.setattr(toolchain, "zig_environment", lambda: zig_cache)
    first = toolchain.libmpi_directory()
    assert (first / "libmpi.a").stat().st_size > 0
    assert {path.name for path in first.iterdir()} == {"libmpi.a", "link.ld"}  # no libc here
    source.write_text("int MPI_Init(void) { return 1; }\n")
    assert toolchain.libmpi_directory() != first
    source.write_text("int MPI_Init(void) { return }\n")
    with pytest.raises(InputError, match="zig could not build"):
        toolchain.libmpi_directory()
    assert len([path for path in first.parent.iterdir() if path.is_dir()]) == 2


def test_a_missing_cross_compiler_is_said_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="riscv64-linux-gnu-gcc was not found; install it"):
        compiler.plan("cc", ["--toolchain=gnu", "a.c"]).command()


@pytest.mark.gnu
@pytest.mark.parametrize("how", ["option", "environment"])
def test_gnu_toolchain(chasqui: Run, hello: Path, how: str) -> None:
    program = hello.with_name("hello")
    if how == "option":
        done = chasqui("cc", "--toolchain", "gnu", "-O2", "hello.c", "-o", program, "-lm")
    else:
        environment = {**os.environ, "CHASQUI_TOOLCHAIN": "gnu"}
        done = chasqui("cc", "-O2", "hello.c", "-o", program, "-lm", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert elf.header(program) == (elf.ET_EXEC, elf.EM_RISCV)
    assert elf.is_static(program)
    assert elf.isa(program) - PARTS <= RV64GC


@pytest.mark.gnu
def test_gnu_toolchain_compiles_only(chasqui: Run, hello: Path) -> None:
    done = chasqui("cc", "--toolchain", "gnu", "-fopenmp", "-c", "hello.c")
    assert (done.returncode, done.stderr) == (0, "")
    assert hello.with_name("hello.o").exists()
