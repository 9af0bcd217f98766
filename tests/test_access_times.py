"""`--access-times`: when the program first and last loads the data of each message.

Use this when what a port does on its slow path, the marks of delivery, or the stages change.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import command, example, machines
from test_determinism import EXECUTED, THREADS, VARIATIONS, WINDOWS, check, files

from chasqui import messages

pytestmark = pytest.mark.core

# Rank 0 prints the cycle in which the instruction behind each load of interest starts (of the same
# line of code, which is there). Data are
# loaded, replaced by stores, by the next message, or never looked at.
LOADS = """\
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Alignas(64) uint64_t a[8], b[8];

static void wait(int tag, uint64_t *to, int count)
{
    MPI_Recv(to, count, MPI_UINT64_T, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (volatile int i = 0; i < 50; i++)
        ;
}

static uint64_t load(const uint64_t *from)
{
    uint64_t value, cycle;
    __asm__ volatile(".p2align 4\\n ld %0, 0(%2)\\n rdcycle %1"
                     : "=r"(value), "=&r"(cycle) : "r"(from) : "memory");
    return cycle;
}

int main(int argc, char **argv)
{
    static const int counts[] = {8, 8, 8, 4, 1, 2, 0};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        for (int tag = 1; tag <= 7; tag++)
            MPI_Send(b, counts[tag - 1], MPI_UINT64_T, 0, tag, MPI_COMM_WORLD);
    } else {
        uint64_t at[8][2] = {{0}};
        wait(1, a, 8); /* loaded twice, then replaced */
        at[1][0] = load(&a[3]);
        at[1][1] = load(&a[0]);
        memset(a, 0, sizeof a);
        load(&a[1]);
        wait(2, a, 8); /* of which the fourth message replaces a half */
        at[2][0] = load(&a[7]);
        wait(3, b, 8); /* never loaded */
        wait(4, a, 4);
        at[4][0] = load(&a[2]);
        at[2][1] = load(&a[4]);
        at[4][1] = load(&a[0]);
        wait(5, b, 1); /* short: it may be bound in the network cache */
        at[5][0] = at[5][1] = load(b);
        wait(6, b, 2); /* across two bytes of each word */
        __asm__ volatile(".p2align 4\\n lh zero, 7(%1)\\n rdcycle %0"
                         : "=r"(at[6][0]) : "r"(b) : "memory");
        at[6][1] = at[6][0];
        wait(7, b, 0);
        for (int tag = 1; tag < 8; tag++)
            printf("%d %llu %llu\\n", tag, (unsigned long long)at[tag][0],
                   (unsigned long long)at[tag][1]);
    }
    MPI_Finalize();
    return 0;
}
"""
MACHINES = [
    name for name in machines() if name.startswith(("netcache/", "netcache-modern/", "voyager/"))
]


def read(directory: Path) -> list[messages.Message]:
    return messages.read(directory / "messages.parquet")


@pytest.mark.parametrize("machine", MACHINES)
def test_first_and_last_access_are_those_of_the_program(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """A load has its value when the next instruction could start, less its own cycles."""
    done = command(
        "run", "-np", "2", "--machine", machine, "--set", "node.core.clock=1 GHz", "--access-times",
        "--out", "run", "--", compile_c("loads", LOADS), directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    resolved = (tmp_path / "run" / "resolved.toml").read_text()
    core = resolved.split("\n[node.core]\n")[1].split("\n[")[0]
    found = re.search(r"^load = \{ value = \"?(\d+)", core, re.MULTILINE)
    assert found, resolved
    own = int(found[1])
    lines = [line.split() for line in (tmp_path / "run" / "stdout.0").read_text().splitlines()]
    expected = {
        int(tag): tuple((int(cycle) - own) * 1000 if cycle != "0" else None for cycle in cycles)
        for tag, *cycles in lines
    }
    assert expected[3] == expected[7] == (None, None)
    accessed = {
        each.tag: (each.first_access_ps, each.last_access_ps)
        for each in read(tmp_path / "run")
        if each.source == 1 and each.tag in expected and each.context == 0
    }
    assert accessed == expected


# The loop looks at what the first message brought until the second comes: it must not be skipped.
POLLING = """\
#include <mpi.h>
int main(int argc, char **argv)
{
    static volatile int x, y;
    int rank, flag = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        MPI_Send((void *)&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        for (volatile int i = 0; i < 3000; i++)
            ;
        MPI_Send((void *)&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    } else {
        MPI_Recv((void *)&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv((void *)&y, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        for (; !flag; (void)x)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"""
NAMES = ("by the reference", "translated", "checker on", "profile")
COMBINATIONS = {
    **EXECUTED,
    "2 threads": THREADS["2 threads"],
    "window 30 ns": WINDOWS["window 30 ns"],
    **{name: VARIATIONS[name] for name in NAMES},
    "all": ["--set", "check.spin_skip=false", "--set", "check.window=1 us", "--threads", "2"],
}
ORGANISATIONS = ["loggp", "voyager/flush", "netcache/ldtct"]


@pytest.mark.parametrize("machine", ORGANISATIONS)
def test_the_same_bits_with_access_times(examples: Path, tmp_path: Path, machine: str) -> None:
    """A third of the variations on each machine, and all at once."""
    common = ["--access-times", *example(examples, "heat", machine)]
    names = list(COMBINATIONS)[ORGANISATIONS.index(machine) :: len(ORGANISATIONS)]
    check(tmp_path, common, {name: COMBINATIONS[name] for name in {*names, "all"}}, 0)
    noted = [each.first_access_ps for each in read(tmp_path / "reference")]
    assert any(noted)
    # Nothing else differs from a run without them.
    done = command("run", "--out", "plain", *common[1:], directory=tmp_path)
    assert done.returncode == 0
    with_times, without = (files(tmp_path / name, []) for name in ("reference", "plain"))
    differing = {name for name in without if without[name] != with_times[name]}
    assert differing <= {"messages.parquet", "summary.json"}


@pytest.mark.parametrize("machine", ORGANISATIONS)
def test_a_loop_that_accesses_a_message_is_executed(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("polling", POLLING)
    run = ["--access-times", "-np", "2", "--machine", machine, "--", str(program)]
    check(tmp_path, run, {name: COMBINATIONS[name] for name in ("loops executed", "all")}, 0)
    first, second = (
        next(m for m in read(tmp_path / "reference") if m.source == 1 and m.tag == tag)
        for tag in (1, 2)
    )
    assert first.last_access_ps is not None
    assert second.done_ps is not None
    # The loop's last turn is over when it has learned of the second message.
    assert first.deliver_ps is not None
    assert first.deliver_ps < first.last_access_ps
    assert abs(first.last_access_ps - second.done_ps) < 1_000_000


@pytest.mark.parametrize("machine", ["loggp", "voyager/flush"])
def test_several_harts_note_the_same(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
    """A message may be delivered by one hart and accessed by others."""
    threads = ROOT / "tests" / "threads"
    source = (threads / "multiple.c").read_text()
    program = compile_c("multiple", source, "-pthread", f"-I{threads}")
    run = ["--access-times", "-np", "2", "--machine", machine, "--set", "node.harts=3", "--",
           str(program), "random", "3", "1"]  # fmt: skip
    some = {name: COMBINATIONS[name] for name in ("by the reference", "translated", "all")}
    check(tmp_path, run, some, 0)
    assert any(each.first_access_ps for each in read(tmp_path / "reference"))


def test_access_times_are_for_one_process_of_a_hart(examples: Path, tmp_path: Path) -> None:
    ring = str(examples / "ring")
    done = command(
        "run", "-np", "2", "--machine", "voyager", "--access-times", "--job", f"-np 2 {ring}",
        "--", ring, directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--access-times needs a hart for each process: 2 processes share 1 hart" in done.stderr
