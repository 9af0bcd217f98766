"""What a job's summary and timeline say: of this job, its ranks and its time, and of nothing else.

Use this when what a run leaves of a job changes: what limited it, its end, what a timeline holds.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Compiler
from simulated import command

pytestmark = pytest.mark.core

# Pairs of ranks exchange messages; at the AT-th rank 1 does what the last word says.
PAIRS = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, count = atoi(argv[1]), at = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; i++) {
        int x = i;
        if (rank == 1 && i == at) {
            if (!strcmp(argv[3], "wild")) *(volatile int *)8 = 1;
            if (!strcmp(argv[3], "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
            if (!strcmp(argv[3], "lost"))
                MPI_Recv(&x, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (rank % 2)
            MPI_Recv(&x, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (rank + 1 < size)
            MPI_Send(&x, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(argv[3], "sleep")) sleep(1);
    MPI_Finalize();
    return 0;
}
"""
CG = (ROOT / "examples" / "cg.c").read_text()
CYCLE_PS = 10**12 / 150e6  # voyager's


@pytest.fixture
def pairs(compile_c: Compiler) -> Path:
    return compile_c("pairs", PAIRS)


@pytest.fixture
def cg(compile_c: Compiler) -> Path:
    return compile_c("cg", CG, "-I", str(ROOT / "examples"))


def run(directory: Path, *words: object, status: int = 0) -> tuple[dict[str, Any], str]:
    """The first job's summary, and what the command said."""
    done = command("run", "--out", "out", "-m", "voyager", *map(str, words), directory=directory)
    assert done.returncode == status, done.stderr
    return summary(directory), done.stderr


def summary(directory: Path, job: int = 0) -> dict[str, Any]:
    out = directory / "out"
    out = out if (out / "summary.json").exists() else out / f"job{job}"
    result: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return result


def limited(found: dict[str, Any]) -> tuple[str, int]:
    match = re.fullmatch(r"(.*) \((\d+) % of the ranks' time\)", found["limited_by"])
    assert match is not None
    return match[1], int(match[2])


@pytest.mark.parametrize("kernel", [False, True])
def test_a_short_job_was_not_limited_by_what_others_did(
    pairs: Path, cg: Path, tmp_path: Path, kernel: bool
) -> None:
    """Nobody else was on its harts before its end: what limits it is what does so alone."""
    words = ["-np", 2, "--set", f"node.software.kernel={str(kernel).lower()}"]
    alone = limited(run(tmp_path, *words, "--", pairs, 50, 0, "no")[0])
    (tmp_path / "out").rename(tmp_path / "alone")
    quanta = ["--set", "node.scheduler.quantum=100 ms"] if not kernel else []
    run(tmp_path, *words, *quanta, "--job", f"-np 2 {cg} -g 24", "--", pairs, 50, 0, "no")
    for job in (0, 1):
        what, percent = limited(summary(tmp_path, job))
        assert percent <= 100
        if job == 0 and not kernel:
            assert (what, percent) == alone


def test_jobs_that_share_a_hart_are_limited_by_each_other(cg: Path, tmp_path: Path) -> None:
    """Of two equal jobs in turns of 50 us each waits for its turn half of its time."""
    quantum = ["--set", "node.scheduler.quantum=50 us"]
    run(tmp_path, "-np", 1, *quantum, "--job", f"-np 1 {cg} -g 12", "--", cg, "-g", 12)
    for job in (0, 1):
        what, percent = limited(summary(tmp_path, job))
        assert what == "others on its harts"
        assert 45 <= percent <= 55


@pytest.mark.parametrize(("how", "status"), [("wild", 139), ("abort", 3)])
@pytest.mark.parametrize("others", [False, True])
def test_the_end_of_a_job_that_breaks(
    pairs: Path, cg: Path, tmp_path: Path, how: str, status: int, others: bool
) -> None:
    """Its time is when it broke, the other ranks' when that took effect on them, 100 us later;
    neither is the end of another job. No figure of a rank is later than the rank's time, and it is
    said that there are such after the job's."""
    job = ["--job", f"-np 2 {cg} -g 16"] if others else []
    found, said = run(tmp_path, "-np", 2, *job, "--", pairs, 100, 5, how, status=status)
    broke = re.search(r"rank 1 at ([0-9.]+) us", found["message"])
    assert broke is not None
    assert found["time_ps"] == pytest.approx(float(broke[1]) * 1e6, abs=1000)
    assert found["others_until_ps"] == found["time_ps"] + 100_000_000
    zero, one = found["ranks"]
    assert (zero["time_ps"], one["time_ps"]) == (found["others_until_ps"], found["time_ps"])
    assert zero["status"] is None
    for rank in (zero, one):
        assert rank["cycles"] * CYCLE_PS <= rank["time_ps"] + 10**6
        assert all(call["left_ps"] <= rank["time_ps"] for call in rank["calls"])
    assert limited(found)[1] <= 100
    until = f"other ranks ran on until {found['others_until_ps'] / 1e6:.3f}"
    assert until in found["message"]
    assert until in said
    if others:
        assert summary(tmp_path, 1)["outcome"] == "finished"
        assert summary(tmp_path, 1)["time_ps"] > 2 * found["time_ps"]


def test_a_job_that_broke_knows_nothing_of_a_limit(pairs: Path, cg: Path, tmp_path: Path) -> None:
    limit = ["--limit-time", "1ms", "--job", f"-np 2 {cg} -g 16"]
    found, _ = run(tmp_path, "-np", 2, *limit, "--", pairs, 100, 5, "abort", status=124)
    assert found["outcome"] == "aborted"
    assert "limit" not in found
    assert summary(tmp_path, 1)["limit"] == "time"


@pytest.mark.parametrize("option", ["--limit-time", "--stop-at"])
def test_an_end_that_was_set_is_no_deadlock_beside_a_fault(
    pairs: Path, tmp_path: Path, option: str
) -> None:
    """Before, "deadlock at 400 us" was said of ranks that would have gone on."""
    words = ["--set", "node.software.fault_ends_job=false", option, "400 us"]
    found, said = run(tmp_path, "-np", 4, *words, "--", pairs, 10000, 5, "wild", status=139)
    assert found["outcome"] == "fault"
    assert f"by {option}" in found["message"]
    assert "deadlock" not in said


def test_the_timeline_of_a_deadlock_holds_the_calls_that_never_return(
    pairs: Path, tmp_path: Path
) -> None:
    found, _ = run(tmp_path, "-np", 4, "--timeline", 3, "--", pairs, 100, 5, "lost", status=125)
    events = json.loads((tmp_path / "out" / "timeline.json").read_text())["traceEvents"]
    calls = [each for each in events if each["ph"] == "X" and each["name"].startswith("MPI_")]
    open_calls = [each for each in calls if each["args"].get("returned") == 0]
    assert len(calls) == 4 * 3 + 4, "three of each rank, and the last"
    assert sorted((each["pid"] - 1, each["name"]) for each in open_calls) == [
        (0, "MPI_Finalize"),
        (1, "MPI_Recv"),
        (2, "MPI_Finalize"),
        (3, "MPI_Finalize"),
    ]
    end = [each["ts"] + each["dur"] for each in open_calls]
    assert end == pytest.approx([found["time_ps"] / 1e6] * 4, abs=0.01)
    recv = next(call for call in found["ranks"][1]["calls"] if call["name"] == "MPI_Recv")
    assert recv["count"] == 6


@pytest.mark.parametrize("kernel", [False, True])
def test_who_sleeps_is_limited_by_sleeping(pairs: Path, tmp_path: Path, kernel: bool) -> None:
    words = ["--set", f"node.software.kernel={str(kernel).lower()}", "-np", 2]
    what, percent = limited(run(tmp_path, *words, "--", pairs, 1, 0, "sleep")[0])
    assert what == "sleeping"
    assert percent >= 98


# All compute in registers, a second rank for twice as long; the kernel works in their MPI calls.
COMPUTES = r"""
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 20000 * (rank + 1); i++) __asm__ volatile("");
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["netcache/tcp", "voyager"])
def test_instructions_outside_of_calls_are_what_the_profile_says(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Before, what the kernel did in MPI calls was taken from the program's own instructions, too,
    and the waiting for what came by a loop of polls."""
    program = compile_c("computes", COMPUTES)
    found, _ = run(tmp_path, "-np", 2, "-m", machine, "--profile", "--", program)
    what, percent = limited(found)
    profile = json.loads((tmp_path / "out" / "profile.json").read_text())
    main = next(each for each in profile["functions"] if each["name"] == "main")
    cycles = sum(rank["cycles"] for rank in profile["ranks"])
    assert what == "instructions and hits of the L2"
    assert percent == pytest.approx(100 * main["by_cause"]["issue"] / cycles, abs=2)
