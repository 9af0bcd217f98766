"""Several programs in one job (MPMD): one MPI_COMM_WORLD, each rank with its own program's code,
arguments, lines and names.

Use this for crates/sim/src/programs.rs, or `:` on the command line.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Compiler, Run
from simulated import in_ci

pytestmark = pytest.mark.core

# They have code at other places than each other: the worker has a function before all others.
COMMON = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int squares(int n)
{
    int sum = 0;
    for (volatile int i = 1; i <= n; i++)
        sum += i * i;
    return sum;
}
"""
MASTER = (
    COMMON
    + """\
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int from = 1; from < size; from++) {
        int got;
        MPI_Recv(&got, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += got;
    }
    printf("%s %s: rank %d of %d: %d\\n", argv[0], argc > 1 ? argv[1] : "", rank, size, sum);
    MPI_Finalize();
    return 0;
}
"""
)
WORKER = (
    COMMON.replace("i * i", "(int)(i * (long)i % 1000003)")
    + """\
__attribute__((noinline)) void breaks(volatile int *at)
{
    *at = 1;
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int value = squares(atoi(argv[1]) * rank);
    if (argc > 2 && !strcmp(argv[2], "break"))
        breaks((volatile int *)8);
    MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""
)
# Of squares(1), squares(2) and squares(30).
ANSWER = "master quick: rank 0 of 4: 9461\n"


@pytest.fixture
def programs(compile_c: Compiler) -> tuple[Path, Path]:
    return compile_c("master", MASTER, "-g"), compile_c("worker", WORKER, "-g")


def mixed(programs: tuple[Path, Path]) -> list[str | Path]:
    master, worker = programs
    more: list[str | Path] = [":", "-np", "2", worker, "1", ":", "-n", "1", worker, "10"]
    return [master, "quick", *more]


@pytest.mark.parametrize("machine", in_ci())
def test_each_rank_runs_its_program(
    chasqui: Run, programs: tuple[Path, Path], tmp_path: Path, machine: str
) -> None:
    done = chasqui("run", "-m", machine, "--out", "it", "--", *mixed(programs))
    assert (done.returncode, done.stdout) == (0, ANSWER), done.stderr
    said = "chasqui: programs        master on rank 0, worker on ranks 1 to 2, worker on rank 3\n"
    assert said in done.stderr
    summary = json.loads((tmp_path / "it" / "summary.json").read_text())
    assert summary["program"] == "master : worker : worker"
    assert [
        (each["name"], each["first_rank"], each["ranks"], each["arguments"])
        for each in summary["inputs"]["programs"]
    ] == [("master", 0, 1, ["quick"]), ("worker", 1, 2, ["1"]), ("worker", 3, 1, ["10"])]
    digits = [each["sha256"] for each in summary["inputs"]["programs"]]
    files = (programs[0], programs[1], programs[1])
    assert digits == [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


@pytest.mark.parametrize("machine", ["loggp", "voyager"])
def test_a_program_that_fails_before_mpi_init_is_named(
    chasqui: Run, compile_c: Compiler, programs: tuple[Path, Path], machine: str
) -> None:
    """It was the others' deadlock. A job without MPI may end with any status."""
    fails = compile_c("fails", "int main(void) { return 3; }\n")
    done = chasqui("run", "-m", machine, "--", fails, ":", "-n", "2", programs[1], "1")
    assert done.returncode == 3, done.stderr
    assert re.search(r"rank 0 at .*: exited with status 3 without MPI_Init\n", done.stderr)
    assert '"outcome": "aborted"' in chasqui(
        "run", "-m", machine, "--json", "--", fails, ":", "-n", "2", programs[1], "1"
    ).stdout  # fmt: skip
    alone = chasqui("run", "-m", machine, "-np", "2", "--json", "--", fails)
    assert (alone.returncode, '"outcome": "finished"' in alone.stdout) == (3, True)


def test_long_names_make_no_name_that_is_too_long(
    chasqui: Run, compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("short", "int main(void) { return 0; }\n")
    names = [letter * 200 for letter in "abc"]
    for name in names:
        shutil.copy(program, tmp_path / name)
    done = chasqui("run", "-q", "--", *" : -np 1 ".join(f"./{name}" for name in names).split())
    assert (done.returncode, done.stderr) == (0, "")
    [run] = (tmp_path / "runs").iterdir()
    assert run.name == "a" * 100 + "-loggp-1"


@pytest.mark.parametrize("options", [[], ["--ranks-per-node", "2", "--set", "node.harts=2"]])
def test_host_threads_change_no_bit(
    chasqui: Run, programs: tuple[Path, Path], tmp_path: Path, options: list[str]
) -> None:
    found = []
    for threads in ("1", "3"):
        command = ["run", "-q", "-m", "voyager", "--threads", threads, "--out", threads]
        more = ["--set", "check.translate_after=1", *options]
        assert chasqui(*command, *more, "--", *mixed(programs)).returncode == 0
        files = (path for path in (tmp_path / threads).iterdir() if path.name != "host.json")
        found.append({path.name: path.read_bytes() for path in files})
    assert found[0] == found[1]


def test_ranks_that_share_a_hart_keep_their_programs(
    chasqui: Run, programs: tuple[Path, Path]
) -> None:
    kernel = ["--set", "node.software.kernel=true", "--ranks-per-node", "4"]
    yields = ["--mpi", "wait.polls=50", "--set", "check.translate_after=1"]
    done = chasqui("run", "-q", "-m", "netcache/via", *kernel, *yields, "--", *mixed(programs))
    assert (done.returncode, done.stdout) == (0, ANSWER), done.stderr


def test_a_fault_names_the_function_and_line_of_its_program(
    chasqui: Run, programs: tuple[Path, Path], tmp_path: Path
) -> None:
    master, worker = programs
    command = [master, ":", "-np", "2", worker, "1", "break"]
    done = chasqui("run", "-q", "-m", "voyager", "--", *command)
    assert done.returncode == 128 + 11
    line = WORKER.splitlines().index("    *at = 1;") + 1
    assert "rank 1" in done.stderr
    assert "(breaks" in done.stderr
    assert f"worker.c:{line}" in done.stderr, done.stderr


def test_a_profile_tells_programs_apart(
    chasqui: Run, programs: tuple[Path, Path], tmp_path: Path
) -> None:
    done = chasqui("run", "-q", "--profile", "--out", "it", "--", *mixed(programs))
    assert done.returncode == 0, done.stderr
    profile = json.loads((tmp_path / "it" / "profile.json").read_text())
    names = {each["name"] for each in profile["functions"]}
    assert {"master: main", "worker: main", "worker: squares"} <= names
    assert "master: squares" not in names
    assert "main" not in names
    assert [each["program"] for each in profile["ranks"]] == ["master", *["worker"] * 3]
    of_rank = {each["name"] for each in profile["ranks"][1]["functions"]}
    assert {"main", "squares"} <= of_rank, "a rank has one program"


def test_one_file_with_other_arguments_is_one_program_to_a_profile(
    chasqui: Run, examples: Path, tmp_path: Path
) -> None:
    ring = examples / "ring"
    command = ["run", "-q", "-np", "2", "--profile", "--out", "it", "--", ring]
    done = chasqui(*command, "-l", "2", ":", "-n", "1", ring, "-l", "2")
    assert done.returncode == 0, done.stderr
    profile = json.loads((tmp_path / "it" / "profile.json").read_text())
    assert "main" in {each["name"] for each in profile["functions"]}
    assert "program" not in profile["ranks"][0]


def test_compare_runs_them_on_each_machine(chasqui: Run, programs: tuple[Path, Path]) -> None:
    done = chasqui("compare", "loggp", "netcache", "-q", "--json", "--", *mixed(programs))
    assert done.returncode == 0, done.stderr
    assert [each["outcome"] for each in json.loads(done.stdout)] == ["finished"] * 2


def test_mpiexec_runs_them(
    shim_directory: Path, programs: tuple[Path, Path], tmp_path: Path
) -> None:
    master, worker = programs
    words: list[str | Path] = [
        "-q",
        "-x",
        "A=1",
        "-n",
        "1",
        master,
        "quick",
        ":",
        "-np",
        "2",
        worker,
        "1",
    ]
    words += [":", worker, "10"]
    done = subprocess.run(
        [shim_directory / "mpiexec", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ANSWER), done.stderr
    [run] = (tmp_path / "runs").iterdir()
    assert run.name == "master-worker-loggp-1"
    assert json.loads((run / "summary.json").read_text())["inputs"]["environment"] == {"A": "1"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--", "M", ":", "-np", "0", "W"], "-np 0: at least 1 rank is needed"),
        (["run", "--", "M", ":", "-np", "many", "W"], "RANKS a number of at most"),
        (["run", "--", "M", ":", "-np", "2"], "[-np RANKS] PROGRAM [ARGS]...' is expected"),
        (["run", "--", "M", ":", "-n", "1", "./none"], "./none: no such file"),
        (["run", "--", "M", ":", "-n", f"{2**62}", "W", ":", "-n", f"{2**62}", "W"], "ranks on "),
        (["run", "-np", "40000", "--", "M", ":", "-n", "40000", "W"], "80000 ranks on loggp: "),
        (["record", "--", "M", ":", "-n", "1", "W"], "a recording is of one program"),
        (
            ["run", "--only-rank", "0", "--arrivals", "x", "M", ":", "-n", "1", "W"],
            "--only-rank: a recording is of one program",
        ),
        (["run", "-m", "voyager", "--job", "W : -n 1 W", "--", "M"], "a further job has one"),
    ],
)
def test_what_cannot_be_run(
    chasqui: Run, programs: tuple[Path, Path], tmp_path: Path, words: list[str], message: str
) -> None:
    named = {"M": str(programs[0]), "W": str(programs[1])}
    done = chasqui(*[named.get(word, word) for word in words])
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.iterdir())
