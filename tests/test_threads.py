"""Programs with threads on nodes of several harts: answers, what harts see of each other's stores,
reports.

The programs are in `tests/threads`. Use this when the order of harts, their caches, the system
calls of threads or the MPI library's lock (`guest/mpi/runtime/thread.c`) change;
`crates/node/tests/harts.rs` has the times.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import TRANSLATED, command, in_turn
from test_determinism import THREADS, check

pytestmark = pytest.mark.core

SOURCES = ROOT / "tests" / "threads"
# Without a kernel under the program, and with one.
MACHINES = ["loggp", "voyager", "voyager --set node.software.kernel=true", "flash"]

# Name and options to the compiled program.
Compiled = Callable[..., Path]


@pytest.fixture(scope="session")
def program(compile_c: Compiler) -> Compiled:
    """A program of `tests/threads`, compiled."""

    def compiled(name: str, *flags: str) -> Path:
        text = (SOURCES / f"{name}.c").read_text()
        return compile_c("-".join([name, *flags]), text, "-O2", "-pthread", *flags)

    return compiled


def harts_each(machine: str, harts: int, ranks: int = 1) -> str:
    """What gives each rank so many harts."""
    if machine.startswith("flash"):
        return f"flash.nodes={harts * ranks}"
    return f"node.harts={harts}"


def run_threads(chasqui: Run, path: Path, machine: str, harts: int, *arguments: str) -> str:
    """Output of a run that must succeed."""
    sets = ["--machine", *machine.split(), "--set", harts_each(machine, harts)]
    done = chasqui("run", "-np", "1", *sets, "--", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# Cases of multiple.c that end.
MULTIPLE = [
    "inquiries",
    "pingpong",
    "random",
    "collectives",
    "blocked",
    "completed",
    "probes",
    "callbacks",
    "to_oneself",
]


# How a run may be carried out, which changes none of its files.
WAYS = {
    "loops executed": ["--set", "check.spin_skip=false"],
    "by the reference": ["--set", "check.executor=reference"],
    "translated": TRANSLATED,
    "checker on": ["--set", "check.coherence=true"],
    **THREADS,
}


def multiple(machine: str, ranks: int, threads: int, path: Path, case: str) -> list[str]:
    """Arguments of a run of multiple.c."""
    seed = os.environ.get("SEED", "1")
    sets = ["--machine", *machine.split(), "--set", harts_each(machine, threads, ranks)]
    return ["-np", str(ranks), *sets, "--", str(path), case, str(threads), seed]


@pytest.mark.parametrize(
    ("size", "case", "machine"),
    in_turn([(2, 2), (3, 4)], MULTIPLE, [*MACHINES, "netcache/tcp", "netcache/via"]),
)
def test_several_threads_in_mpi(
    chasqui: Run, program: Compiled, machine: str, case: str, size: tuple[int, int]
) -> None:
    ranks, threads = size
    done = chasqui("run", *multiple(machine, ranks, threads, program("multiple"), case))
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert f"{case}: {ranks} ranks of {threads} threads" in done.stdout


@pytest.mark.gnu
@pytest.mark.parametrize("case", MULTIPLE)
def test_several_threads_in_mpi_of_glibc(chasqui: Run, program: Compiled, case: str) -> None:
    path = program("multiple", "--toolchain=gnu")
    done = chasqui("run", *multiple("voyager", 2, 4, path, case))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("case", "machine"), in_turn(["random", "collectives"], MACHINES))
def test_several_threads_in_mpi_have_the_same_bits(
    tmp_path: Path, program: Compiled, machine: str, case: str
) -> None:
    check(tmp_path, multiple(machine, 2, 3, program("multiple"), case), WAYS, 0)


def test_room_in_a_set_that_another_makes_has_the_same_bits(
    tmp_path: Path, program: Compiled
) -> None:
    sets = ["--machine", "voyager", "--set", "node.harts=2"]
    check(tmp_path, ["-np", "2", *sets, "--", str(program("room"))], WAYS, 0)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_deadlock_says_what_each_thread_receives(
    chasqui: Run, program: Compiled, machine: str
) -> None:
    done = chasqui("run", *multiple(machine, 2, 3, program("multiple"), "deadlock"))
    assert done.returncode == 125, done.stderr
    assert "rank 1 in MPI_Recv waits for its threads" in done.stderr
    for hart in range(3):
        assert f"hart {hart} for a message from rank" in done.stderr, done.stderr


LEVELS = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
static int is_main = 1;
static void *ask(void *unused) { MPI_Is_thread_main(&is_main); return unused; }
int main(int argc, char **argv)
{
    static const int all[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                              MPI_THREAD_MULTIPLE};
    int required = argv[1][0] - '0', provided, queried, main_thread, again;
    pthread_t other;
    MPI_Init_thread(&argc, &argv, all[required], &provided);
    MPI_Query_thread(&queried);
    MPI_Is_thread_main(&main_thread);
    int has_other = pthread_create(&other, NULL, ask, NULL) == 0;
    if (has_other)
        pthread_join(other, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = MPI_Init_thread(&argc, &argv, all[required], &again);
    for (int i = 0; i < 4; i++)
        if (provided == all[i])
            printf("%d %d %d %d %d\\n", i, queried == provided, main_thread, has_other && is_main,
                   error != MPI_SUCCESS);
    MPI_Finalize();
    MPI_Query_thread(&queried);
    return queried != provided;
}
"""


@pytest.mark.parametrize("harts", [1, 2])
@pytest.mark.parametrize("required", range(4))
def test_levels_of_threads(chasqui: Run, compile_c: Compiler, harts: int, required: int) -> None:
    """MPI_THREAD_MULTIPLE where threads can be, or else what was asked for; a second call fails."""
    path = compile_c("levels", LEVELS, "-pthread")
    sets = ["--set", f"node.harts={harts}"]
    done = chasqui("run", "-np", "1", *sets, "--", path, str(required))
    assert done.returncode == 0, done.stderr
    provided = required if harts > 1 else min(required, 2)
    assert f"{provided} 1 1 0 1\n" in done.stdout
    # Where it is refused, it is said what it takes.
    refused = "MPI_THREAD_MULTIPLE is not provided, since each rank has one hart (node.harts"
    assert (refused in done.stderr) == (provided < required)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("harts", [1, 2, 4])
def test_pthreads(chasqui: Run, program: Compiled, machine: str, harts: int) -> None:
    """Counters, barriers, thread-local storage, queues, time-outs, a thread too many."""
    said = run_threads(chasqui, program("pthreads"), machine, harts, str(harts))
    assert f"{harts} threads: all is right" in said
    parameter = harts_each(machine, harts).partition("=")[0]
    refusal = (
        f"no hart is left for a thread: it has {harts} ({parameter}, shared out among a node's "
        "ranks); clone returns EAGAIN"
    )
    assert said.count(refusal) == 1


@pytest.mark.gnu
@pytest.mark.parametrize("harts", [1, 2, 4])
def test_pthreads_of_glibc(chasqui: Run, program: Compiled, harts: int) -> None:
    path = program("pthreads", "--toolchain=gnu")
    assert "all is right" in run_threads(chasqui, path, "voyager", harts, str(harts))


@pytest.mark.gnu
@pytest.mark.parametrize("harts", [1, 2, 4])
def test_openmp_of_glibc(chasqui: Run, program: Compiled, harts: int) -> None:
    path = program("openmp", "--toolchain=gnu", "-fopenmp")
    assert f"{harts} threads" in run_threads(chasqui, path, "loggp", harts, str(harts))


# Outcomes that the architecture forbids (RISC-V unprivileged ISA, RVWMO); their digits are
# explained in litmus.c. What is not named here has none.
FORBIDDEN = {
    "MP+fences": {"10"},
    "SB+fences": {"00"},
    "LB+fences": {"11"},
    "IRIW+fences": {"1010"},
    "CoRR": {"10"},
    "2+2W+fences": {"11"},
}


@pytest.mark.parametrize("machine", MACHINES)
def test_litmus(chasqui: Run, program: Compiled, machine: str) -> None:
    """Only outcomes come that the memory model allows, and write buffers can be seen."""
    seed = os.environ.get("SEED", "1")
    said = run_threads(chasqui, program("litmus"), machine, 4, "200", seed)
    print(f"SEED={seed}\n{said}")
    found = {
        line.split()[0]: set(re.findall(r"(\d+)=\d+", line))
        for line in said.splitlines()
        if re.match(r"\S+( \d+=\d+)+$", line)
    }
    assert len(found) == 10
    for name, outcomes in found.items():
        assert not outcomes & FORBIDDEN.get(name, set()), name
        assert len(outcomes) > 1, name
    assert "00" in found["SB"], "a store waits while a later load is done"


@pytest.mark.parametrize("machine", MACHINES)
def test_the_same_bits(tmp_path: Path, program: Compiled, machine: str) -> None:
    """MPI by one thread of each rank: the same run directory however it is simulated."""
    common = ["-np", "3", "--machine", *machine.split(), "--set", harts_each(machine, 3, 3)]
    check(tmp_path, [*common, "--", program("hybrid"), "3"], WAYS, 0)


LOCKED_TWICE = """
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *lock(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
    return unused;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, lock, NULL);
    return pthread_join(other, NULL);
}
"""

NULL_STORE = """
#include <pthread.h>
static int *nowhere;
static void *store(void *unused)
{
    *(volatile int *)nowhere = 1;
    return unused;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, store, NULL);
    return pthread_join(other, NULL);
}
"""


def test_a_deadlock_names_every_thread(chasqui: Run, compile_c: Compiler) -> None:
    path = compile_c("thread_locked_twice", LOCKED_TWICE, "-pthread")
    done = chasqui("run", "-np", "1", "--set", "node.harts=2", "--", path)
    assert done.returncode == 125, done.stderr
    for hart in (0, 1):
        assert f"hart {hart} for another thread at the futex 0x" in done.stderr, done.stderr


def test_a_fault_names_its_thread(chasqui: Run, compile_c: Compiler) -> None:
    path = compile_c("thread_null_store", NULL_STORE, "-pthread")
    done = chasqui("run", "-np", "1", "--set", "node.harts=2", "--", path)
    assert done.returncode == 128 + 11, done.stderr
    found = re.search(r"rank 0, hart 1, at .*null pointer, pc 0x\w+ \(store", done.stderr)
    assert found, done.stderr


def test_harts_are_declared(chasqui: Run) -> None:
    done = chasqui("info", "voyager")
    assert "harts" in done.stdout
    done = chasqui("run", "-np", "1", "--set", "node.harts=65", "--", "nothing")
    assert done.returncode == 2
    assert "node.harts" in done.stderr


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_are_watched(program: Compiled, tmp_path: Path, machine: str) -> None:
    """Watching changes nothing; a rank's profile and trace are those of all its harts."""
    options = ["-np", "1", "--machine", *machine.split(), "--set", harts_each(machine, 3)]
    variations = {
        "plain": [],
        "watched": ["--profile"],
        # What is skipped is not in the trace: a kernel's lock is waited for by polling.
        "executed": ["--profile", "--trace-instructions", "..", "--set", "check.spin_skip=false"],
    }
    for name, more in variations.items():
        arguments: list[str | Path] = ["run", "--out", name, *options, *more]
        arguments += ["--", program("pthreads"), "3"]
        done = command(*arguments, directory=tmp_path)
        assert done.returncode == 0, done.stderr
    for file in ("summary.json", "stats.json"):
        assert len({(tmp_path / name / file).read_bytes() for name in variations}) == 1, file
    files = [tmp_path / name / "profile.json" for name in ("watched", "executed")]
    assert files[0].read_bytes() == files[1].read_bytes()
    rank = json.loads(files[0].read_text())["ranks"][0]
    summary = json.loads((tmp_path / "watched" / "summary.json").read_text())
    instructions = summary["ranks"][0]["instructions"]
    assert rank["instructions"] == instructions
    assert rank["cycles"] > summary["ranks"][0]["cycles"]
    assert sum(rank["by_cause"].values()) == rank["cycles"]
    lines = (tmp_path / "executed" / "instructions.0").read_text().splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    assert {line.split()[0] for line in lines} == {"0", "1", "2"}
    assert sum(" mark " not in line for line in lines) == instructions


@pytest.mark.parametrize("machine", [machine for machine in MACHINES if machine != "flash"])
def test_threads_after_a_fast_forward(chasqui: Run, program: Compiled, machine: str) -> None:
    """What comes before the first thread takes no time."""
    path = program("pthreads")
    options = ["--machine", *machine.split(), "--set", harts_each(machine, 2)]
    done = chasqui("run", "-np", "1", "--fast-forward", *options, "--", path, "2")
    assert done.returncode == 0, done.stderr
    assert "2 threads: all is right" in done.stdout
    assert "nothing was simulated in detail" not in done.stderr
