"""Where the ranks' time went: shares in summary.json, `run` and `compare`.

Use this when marks, waits, usage of harts or the summary change.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Compiler
from simulated import command

pytestmark = pytest.mark.core

PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
/* Rank 1 is late by so many us, where the word says: as the sender, as the receiver of a
 * synchronous send, in a collective; or both compute alone. */
static void late(double us)
{
    double end = MPI_Wtime() + us * 1e-6;
    while (MPI_Wtime() < end)
        ;
}

int main(int argc, char **argv)
{
    int rank, word = 7, sum;
    double us = atof(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        late(us);
    if (strcmp(argv[1], "sender") == 0) {
        if (rank == 1)
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(argv[1], "any") == 0) {
        MPI_Request requests[2];
        int index;
        if (rank == 1)
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Irecv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&sum, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            MPI_Cancel(&requests[1]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
    } else if (strcmp(argv[1], "receiver") == 0) {
        if (rank == 0)
            MPI_Ssend(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(argv[1], "collective") == 0) {
        MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""
LATE_US = 400
# Every way to match: in the library by each device, in the kernel, on the card, by shared memory.
MACHINES = [
    "loggp",
    "voyager",
    "netcache/tcp",
    "netcache/mvia",
    "netcache/via",
    "netcache/ldtct",
    "mpinp",
    "mpinp/bip",
]


@pytest.fixture(scope="module")
def program(compile_c: Compiler) -> Path:
    return compile_c("late", PROGRAM)


def ranks(directory: Path, *words: object, status: int = 0) -> tuple[list[dict[str, Any]], str]:
    """Of the run's summary; and what the command said."""
    done = command("run", "--out", "out", *map(str, words), directory=directory)
    assert done.returncode == status, done.stderr
    found = json.loads((directory / "out" / "summary.json").read_text())
    return found["ranks"], done.stderr


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("how", "part"),
    [
        ("sender", "late_sender_ps"),
        ("any", "late_sender_ps"),
        ("receiver", "late_receiver_ps"),
        ("collective", "late_sender_ps"),
    ],
)
def test_who_is_late_has_the_others_wait(
    program: Path, tmp_path: Path, machine: str, how: str, part: str
) -> None:
    found, said = ranks(tmp_path, "-np", 2, "-m", machine, "--", program, how, LATE_US)
    for rank in found:
        assert sum(rank["shares"].values()) == rank["time_ps"]
    zero, one = found
    if (machine, how) == ("mpinp", "collective"):  # the cards' own has no message between ranks
        assert zero["shares"]["waiting_otherwise_ps"] / 1e6 >= LATE_US
        return
    # Some of it goes by before rank 0 waits. Rank 1 waits for it when both end, while it cancels.
    slack = 0.25 if machine == "mpinp" else 0.1
    assert (1 - slack) * LATE_US <= zero["shares"][part] / 1e6 <= LATE_US + 10
    assert one["shares"][part] / 1e6 < (0.5 if how == "any" else slack) * LATE_US
    assert zero["waits"][0]["peer"] == 1
    assert zero["waits"][0][part] == pytest.approx(zero["shares"][part], rel=0.1)
    assert "longest wait    rank 0 for rank 1: " in said


@pytest.mark.parametrize("machine", MACHINES)
def test_shares_of_threads_and_of_a_deadlock_add_up(
    compile_c: Compiler, program: Path, tmp_path: Path, machine: str
) -> None:
    found, _ = ranks(tmp_path, "-np", 3, "-m", machine, "--", program, "collective", 50)
    assert all(sum(rank["shares"].values()) == rank["time_ps"] for rank in found)
    stuck = compile_c(
        "stuck",
        """#include <mpi.h>
        int main(void) {
            int rank, word;
            MPI_Init(0, 0);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Finalize();
        }""",
    )
    (tmp_path / "out").rename(tmp_path / "first")
    found, _ = ranks(tmp_path, "-np", 2, "-m", machine, "--", stuck, status=125)
    for rank in found:
        assert sum(rank["shares"].values()) == rank["time_ps"]
        assert sum(each["late_sender_ps"] for each in rank["waits"]) == 0
    recv = next(call for call in found[0]["calls"] if call["name"] == "MPI_Recv")
    assert found[0]["shares"]["waiting_otherwise_ps"] >= recv["waiting_ps"]


def test_compare_puts_shares_side_by_side(program: Path, tmp_path: Path) -> None:
    words = ["compare", "loggp", "voyager", "-np", "2", "--", str(program), "sender", str(LATE_US)]
    done = command(*words, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("where the ranks' time went"))
    table = lines[at + 2 : lines.index("", at)]
    whole = [line for line in table if not line.startswith(" ")]
    for column in (-2, -1):
        assert sum(float(line.split()[column].rstrip("%")) for line in whole) == pytest.approx(
            100, abs=1
        )
    assert any(line.startswith("late sender") for line in whole)
    assert any(line.startswith("  MPI_Recv") for line in table)
    found = json.loads(command(*words[:-4], "--json", *words[-4:], directory=tmp_path).stdout)
    for entry in found:
        assert sum(entry["shares"].values()) == pytest.approx(1)
        assert sum(entry["call_shares"].values()) == pytest.approx(entry["shares"]["MPI software"])
    rows = csv.DictReader(
        io.StringIO(command(*words[:-4], "--csv", *words[-4:], directory=tmp_path).stdout)
    )
    assert [float(row["share_late_sender"]) for row in rows] == [
        entry["shares"]["late sender"] for entry in found
    ]
