"""Where the ranks' time went: shares in summary.json, `run` and `compare`.

Use this when marks, waits, usage of harts or the summary change.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Compiler
from simulated import command

pytestmark = pytest.mark.core

LEAVES = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (volatile int turn = 0; rank == 1 && turn < 100000; turn++)
        ;
    return 0;
}
"""


def test_what_limits_a_run_is_the_share_that_it_prints(compile_c: Compiler, tmp_path: Path) -> None:
    """One denominator, and one rounding: also where one rank has left long before the other."""
    program = compile_c("leaves", LEAVES)
    done = command("run", "-np", "2", "-m", "voyager", "--", program, directory=tmp_path)
    limit = re.search(r"limited by +instructions and hits of the L2 \((\d+) % of", done.stderr)
    share = re.search(r"time went to .*computing (\d+)%", done.stderr)
    assert limit is not None, done.stderr
    assert share is not None, done.stderr
    assert limit[1] == share[1]


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
    } else if (strcmp(argv[1], "probe") == 0) {
        if (rank == 1)
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else if (strcmp(argv[1], "collective") == 0) {
        MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(argv[1], "barrier") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(argv[1], "bcast") == 0) {
        MPI_Bcast(&word, 1, MPI_INT, 1, MPI_COMM_WORLD);
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


@pytest.mark.parametrize("machine", ["loggp", "voyager", "netcache/ldtct"])
@pytest.mark.parametrize("how", ["collective", "barrier", "bcast"])
def test_who_waits_for_the_late_one_itself_is_not_late(
    program: Path, tmp_path: Path, machine: str, how: str
) -> None:
    """In a collective ranks wait for ranks that wait: all of it is for the one that computes."""
    found, _ = ranks(tmp_path, "-np", 8, "-m", machine, "--", program, how, LATE_US)
    for rank in [each for each in found if each["rank"] != 1]:
        (blamed,) = (each for each in rank["waits"] if each["peer"] == 1)
        assert 0.8 * LATE_US <= blamed["late_sender_ps"] / 1e6 <= LATE_US + 10
        assert rank["waits"][0] == blamed
        others = sum(each["late_sender_ps"] for each in rank["waits"] if each["peer"] != 1)
        assert others / 1e6 < 0.3 * LATE_US


def test_a_probe_waits_for_its_message(program: Path, tmp_path: Path) -> None:
    found, _ = ranks(tmp_path, "-np", 2, "-m", "voyager", "--", program, "probe", LATE_US)
    assert found[0]["shares"]["late_sender_ps"] / 1e6 > 0.9 * LATE_US


WAITANY = r"""
#include <mpi.h>
/* Rank 0 waits for a long message of rank 1's, which is late. Rank 2's comes meanwhile. */
static char data[200000];
int main(int argc, char **argv)
{
    int rank, word = 0, index;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double end = MPI_Wtime() + (rank == 1 ? 1000e-6 : rank == 2 ? 500e-6 : 0);
    while (MPI_Wtime() < end)
        ;
    if (rank == 0) {
        MPI_Irecv(data, sizeof data, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&word, 1, MPI_INT, 2, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Request first = requests[0];
        MPI_Waitany(1, &first, &index, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Send(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["loggp", "voyager", "netcache/via"])
def test_waitany_waits_for_the_request_that_it_returns(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("waitany", WAITANY)
    found, _ = ranks(tmp_path, "-np", 3, "-m", machine, "--", program)
    assert found[0]["waits"][0]["peer"] == 1
    assert found[0]["waits"][0]["late_sender_ps"] / 1e6 > 900


THREADS = r"""
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
/* A thread that ends at once; then the process sleeps so many us. Or rank 0 ends much earlier. */
static void *nothing(void *p) { return p; }
static void rest(long us)
{
    struct timespec time = {0, us * 1000};
    nanosleep(&time, 0);
}

int main(int argc, char **argv)
{
    int rank, level;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2) {
        MPI_Finalize();
        double end = MPI_Wtime() + 500e-6;
        while (MPI_Wtime() < end)
            ;
        if (rank == 1)
            rest(atol(argv[1]));
        return 0;
    }
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    rest(atol(argv[1]));
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["loggp", "voyager", "netcache/tcp", "netcache/via"])
def test_a_hart_without_a_thread_computes_nothing(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("threads", THREADS)
    words = ["-np", 2, "-m", machine, "--set", "node.harts=2", "--", program, 5000]
    found, _ = ranks(tmp_path, *words)
    for rank in found:
        shares = rank["shares"]
        assert sum(shares.values()) == 2 * rank["time_ps"]
        assert shares["computing_ps"] < 0.1 * rank["time_ps"]
        assert shares["asleep_ps"] + shares["no_thread_ps"] > 1.5 * 5e9


@pytest.mark.parametrize("machine", ["loggp", "voyager", "netcache/tcp", "netcache/via"])
def test_what_comes_after_the_end_is_in_no_share(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """The kernel of a node whose process has ended has its hart sleep."""
    program = compile_c("threads", THREADS)
    found, _ = ranks(tmp_path, "-np", 2, "-m", machine, "--", program, 9000, "early")
    zero, one = found
    assert zero["shares"]["computing_ps"] / 1e6 > 450
    assert zero["shares"]["asleep_ps"] / 1e6 < 50
    assert one["shares"]["asleep_ps"] / 1e6 > 8900


@pytest.mark.parametrize("machine", MACHINES)
def test_shares_of_a_deadlock_add_up(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
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
    found, said = ranks(tmp_path, "-np", 2, "-m", machine, "--", stuck, status=125)
    assert "longest wait" not in said
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
