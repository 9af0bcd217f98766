"""`--fast-forward`: what comes before the part of interest takes no time and changes no result.

Use this when functional execution changes, or what begins and ends a part of interest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Compiler
from simulated import TRANSLATED, command, organisations
from test_determinism import THREADS, VARIATIONS, check

pytestmark = pytest.mark.core

# A set-up that computes and communicates, a part of interest, an end like the set-up.
PROGRAM = r"""
#include <chasqui/region.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static volatile long sum;

static void compute(long rounds)
{
    for (long i = 0; i < rounds; i++)
        sum += i;
}

static long exchange(long mine)
{
    int rank, ranks;
    long other, all;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(&mine, 1, MPI_LONG, (rank + 1) % ranks, 3, &other, 1, MPI_LONG,
                 (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&other, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank;
    long rounds = atol(argv[1]), before, within, after;
    double time;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    compute(rounds);
    before = exchange(rank);
    BEGIN;
    time = MPI_Wtime();
    compute(1000);
    within = before + rank;
    for (int i = 0; i < 8; i++)
        within = exchange(within);
    time = MPI_Wtime() - time;
    END;
    compute(rounds);
    after = exchange(within + rank);
    printf("%d %ld %ld %ld\n", rank, before, within, after);
    if (rank == 0)
        fprintf(stderr, "%.0f", time * 1e9);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="session")
def phases(compile_c: Compiler) -> Path:
    """With MPI's own marker."""
    flags = ["-DBEGIN=MPI_Pcontrol(1)", "-DEND=MPI_Pcontrol(0)"]
    return compile_c("phases", PROGRAM, *flags)


@pytest.fixture(scope="session")
def regions(compile_c: Compiler) -> Path:
    """With markers that need no MPI."""
    flags = ["-DBEGIN=chasqui_region_begin()", "-DEND=chasqui_region_end()"]
    return compile_c("regions", PROGRAM, *flags)


def result(tmp_path: Path, name: str, program: Path, *options: str, rounds: int) -> dict[str, Any]:
    """The run's summary, its ranks' output, and how long the part of interest took [ns]."""
    run = tmp_path / name
    done = command(
        "run", "--out", run, "-np", "3", *options, "--", program, str(rounds), directory=tmp_path
    )
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    summary["output"] = [(run / f"stdout.{rank}").read_text() for rank in range(3)]
    summary["part_ns"] = int((run / "stderr.0").read_text())
    return summary


# One that can do without a kernel with it, too.
# flash refuses it (test_flash.py).
NODES = [machine for machine in organisations() if not machine.startswith("flash")]
NODES += ["voyager --set node.software.kernel=true"]


@pytest.mark.parametrize("machine", NODES)
@pytest.mark.parametrize("kind", ["phases", "regions"])
def test_set_up_takes_no_time(
    request: pytest.FixtureRequest, tmp_path: Path, machine: str, kind: str
) -> None:
    program = request.getfixturevalue(kind)
    options = ["--machine", *machine.split()]
    short, long, detailed = (
        result(tmp_path, name, program, *options, *others, rounds=rounds)
        for name, others, rounds in (
            ("short", ["--fast-forward"], 1_000),
            ("long", ["--fast-forward"], 100_000),
            ("detailed", [], 100_000),
        )
    )
    assert short["output"] == long["output"] == detailed["output"]
    assert long["instructions"] > short["instructions"] + 3 * 99_000
    # To the picosecond: caches know nothing of what was executed functionally.
    assert short["time_ps"] == long["time_ps"]
    assert short["part_ns"] == long["part_ns"]
    assert long["time_ps"] < detailed["time_ps"] / 2
    # Caches are cold at the start of the part, which then takes somewhat longer.
    assert 0.5 < long["part_ns"] / detailed["part_ns"] < 3
    assert long["message"] == ""


@pytest.mark.parametrize("machine", NODES)
def test_fast_forward_is_deterministic(phases: Path, tmp_path: Path, machine: str) -> None:
    run = ["-np", "3", "--machine", *machine.split(), "--fast-forward", "--", str(phases), "2000"]
    others = {
        name: VARIATIONS[name] for name in ("again", "loops executed", "checker on", "profile")
    }
    others["by the reference"] = ["--set", "check.executor=reference"]
    others["translated"] = TRANSLATED
    check(tmp_path, run, {**others, **THREADS}, 0)


@pytest.mark.parametrize("machine", ["loggp", "voyager"])
def test_a_program_without_a_marker_says_so(examples: Path, tmp_path: Path, machine: str) -> None:
    run = ["run", "--fast-forward", "-np", "4", "--machine", machine, "--"]
    done = command(*run, examples / "ring", directory=tmp_path)
    assert done.returncode == 0
    assert "ring: PASSED" in done.stdout
    assert "no rank came to a part of interest (MPI_Pcontrol(1)" in done.stderr
