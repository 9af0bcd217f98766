"""Ranks and where they are: several on a node, by the network interface or by memory.

Use this when placement, the harts and processes of a node, or messages within a node change. The
MPI library's own tests run so too (test_guest_library.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from conftest import ROOT, Compiler, Run
from simulated import command, example, shared_nodes
from test_determinism import VARIATIONS, check

pytestmark = pytest.mark.core

HYBRID = (ROOT / "tests" / "threads" / "hybrid.c").read_text()
VARIATIONS_OF_BITS = {
    name: VARIATIONS[name]
    for name in (
        "again",
        "loops executed",
        "by the reference",
        "translated",
        "checker on",
        "profile",
        "2 threads",
    )
}


# Without a kernel under the processes, and with one.
MACHINES = [*shared_nodes(), "voyager --set node.software.kernel=true"]


def together(ranks: int, way: str = "slot", channel: str = "ni") -> list[str]:
    """Options: so many ranks a node, each with a hart."""
    words = ["--ranks-per-node", str(ranks), "--map-by", way, "--set", f"node.harts={ranks}"]
    return [*words, "--mpi", f"local.channel={channel}"]


def summary(directory: Path) -> dict[str, object]:
    result: dict[str, object] = json.loads((directory / "summary.json").read_text())
    return result


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("ranks", "way", "channel"), [(2, "node", "memory"), (4, "slot", "ni")])
def test_the_same_bits(
    examples: Path, tmp_path: Path, machine: str, ranks: int, way: str, channel: str
) -> None:
    common = [*together(ranks, way, channel), *example(examples, "heat", machine)]
    check(tmp_path, common, VARIATIONS_OF_BITS, 0)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_table_says_where_ranks_are_and_how_messages_went(
    examples: Path, tmp_path: Path, machine: str
) -> None:
    for way, nodes in (("slot", [0, 0, 1, 1, 2]), ("node", [0, 1, 2, 0, 1])):
        words = [*together(2, way, "memory"), *example(examples, "ring", machine)]
        done = command("run", "--out", way, *words, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        ranks = summary(tmp_path / way)["ranks"]
        assert isinstance(ranks, list)
        assert [each["node"] for each in ranks] == nodes
        rows = pyarrow.parquet.read_table(tmp_path / way / "messages.parquet").to_pylist()
        assert rows
        for row in rows:
            if row["destination"] is None:
                continue
            inside = nodes[row["source"]] == nodes[row["destination"]]
            assert (row["mechanism"] == "shared memory") == (
                inside and row["source"] != row["destination"]
            )
            # What shares memory meets no network interface.
            assert (row["arrive_ps"] is None) == (inside or row["arrive_ps"] is None)


PINGPONG = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, partner = atoi(argv[1]);
    char word[8] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = 0;
    for (int i = 0; i < 110 && (rank == 0 || rank == partner); i++) {
        if (i == 10)
            begin = MPI_Wtime();
        int other = rank == 0 ? partner : 0;
        if (rank == 0)
            MPI_Send(word, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
        MPI_Recv(word, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank != 0)
            MPI_Send(word, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.3f\\n", (MPI_Wtime() - begin) * 1e6 / 200);
    MPI_Finalize();
    return 0;
}
"""


def test_loggp_is_as_far_from_itself_as_from_others(compile_c: Compiler, tmp_path: Path) -> None:
    """By the network interface; by memory it takes no time, as its calls do, but the loop does."""
    program = compile_c("pingpong", PINGPONG)

    def took(partner: int, channel: str) -> float:
        words = ["-np", "4", *together(2, "slot", channel)]
        done = command("run", "-q", *words, "--", program, str(partner), directory=tmp_path)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    remote = took(2, "ni")
    assert 7.007 <= remote < 7.06
    assert took(1, "ni") == took(2, "memory") == remote
    assert took(1, "memory") == pytest.approx(remote - 7.007, abs=0.02)


@pytest.mark.parametrize("machine", MACHINES)
def test_ranks_have_threads(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
    program = compile_c("hybrid", HYBRID, "-pthread")
    words = [
        "-np",
        "4",
        "--machine",
        *machine.split(),
        "--ranks-per-node",
        "2",
        "--set",
        "node.harts=6",
    ]
    done = command("run", *words, "--profile", "--", program, "3", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    found = command("run", *words, "--", program, "4", directory=tmp_path)
    assert "no hart is left for a thread: it has 3 (node.harts, " in found.stderr


ENDS = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 3 && !strcmp(argv[1], "fault"))
        *(volatile int *)8 = 1;
    if (rank == 3 && !strcmp(argv[1], "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 3 && !strcmp(argv[1], "exit"))
        exit(5);
    char word;
    if (rank != 3)
        MPI_Recv(&word, 1, MPI_CHAR, 3, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("channel", ["ni", "memory"])
@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("fault", 139, "rank 3 at"),
        ("abort", 7, "rank 3 at"),
        ("exit", 5, "3 of 4 ranks wait, 1 has exited"),
        ("none", 125, "deadlock at"),
    ],
)
def test_a_rank_that_ends(
    compile_c: Compiler,
    tmp_path: Path,
    machine: str,
    channel: str,
    how: str,
    status: int,
    said: str,
) -> None:
    program = compile_c("ends", ENDS)
    words = ["-np", "4", "--machine", *machine.split(), *together(2, "node", channel)]
    done = command("run", *words, "--", program, how, directory=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr


def test_each_rank_is_watched_by_its_own_name(examples: Path, tmp_path: Path) -> None:
    words = ["--profile", "--trace-instructions", "10us..12us:1,3", "--access-times"]
    common = [*together(2), *example(examples, "heat", "voyager")]
    done = command("run", "--out", "out", *words, *common, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    profile = json.loads((tmp_path / "out" / "profile.json").read_text())
    assert [each["rank"] for each in profile["ranks"] if "rank" in each] == list(range(6))
    assert sorted(path.name for path in (tmp_path / "out").glob("instructions.*")) == [
        "instructions.1",
        "instructions.3",
    ]
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "messages.parquet").to_pylist()
    assert any(row["first_access_ps"] for row in rows)


REGION = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum = 0;
    volatile long count = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 200000; i++)
        count += i;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    printf("%d\\n", sum);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("channel", ["ni", "memory"])
def test_ranks_of_a_node_are_fast_forwarded(
    compile_c: Compiler, tmp_path: Path, machine: str, channel: str
) -> None:
    program = compile_c("region", REGION)
    common = ["-np", "4", "--machine", *machine.split(), *together(2, "slot", channel)]
    for out, words in (("slow", []), ("fast", ["--fast-forward"])):
        done = command("run", "--out", out, *words, *common, "--", program, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "6\n" * 4
    times = [int(str(summary(tmp_path / out)["time_ps"])) for out in ("slow", "fast")]
    assert times[0] > 10 * times[1]


REFUSED = {
    "too many": ["-m", "netcache", "--ranks-per-node", "9"],
    "none": ["--ranks-per-node", "0"],
    "no harts": ["--ranks-per-node", "2"],
    "uneven": ["--ranks-per-node", "3", "--set", "node.harts=4"],
    "uneven, kernel possible": [
        *("-m", "voyager", "--ranks-per-node", "2", "--set", "node.harts=3"),
    ],
    "beyond": ["-m", "voyager", "--ranks-per-node", "100"],
    "beyond, no kernel": ["--ranks-per-node", "100"],
    "jobs": ["-m", "voyager", "--ranks-per-node", "2", "--job", "true"],
    "drained": [
        *("-m", "voyager", *together(2), "--set", "voyager.queues.sharing=drained"),
    ],
    "ranks": ["-m", "voyager", "-np", "70000", *together(2)],
    "memory": [*together(8, "slot", "memory"), "--mpi", "local.ring=16 MiB"],
}
SAID = {
    "too many": "--ranks-per-node 9 on netcache: 1 to 8 are allowed",
    "none": "--ranks-per-node 0 on loggp: 1 to 1024 are allowed",
    "no harts": "each rank has harts of its own, and node.harts = 1; multiples of 2 are allowed",
    "uneven": "node.harts = 4; multiples of 3 are allowed (--set node.harts=3)\n",
    "uneven, kernel possible": "multiples of 2 are allowed (--set node.harts=2)\n",
    "beyond": "64 at most, and ranks may share harts with --set node.software.kernel=true\n",
    "beyond, no kernel": "node.harts = 1; a node has 64 at most\n",
    "jobs": "--ranks-per-node 2 with 2 jobs: each rank has harts of its own, and node.harts = 1",
    "drained": "each process having its own (own) is allowed",
    "ranks": "70000 ranks on voyager: 1 to 8192 are allowed (2 a node)",
    "memory": "more than half of node.dram.size",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_in_one_line(
    examples: Path, chasqui: Run, tmp_path: Path, what: str
) -> None:
    words = ["-np", "4", *REFUSED[what], "--out", tmp_path / "out", "--", examples / "ring"]
    done = chasqui("run", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert SAID[what] in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


WAITS = """\
#include <mpi.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank, size, number, done = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Irecv(&number, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, &request);
    if (!strcmp(argv[1], "waits"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize(
    ("how", "machine"),
    [
        (how, machine)
        for how in ("waits", "tests")
        for machine in MACHINES
        # Loops around calls that take no time are not found there (crates/node/README.md).
        if (how, machine) != ("tests", "loggp")
    ],
)
def test_ranks_of_a_node_that_wait_for_ever_are_found(
    compile_c: Compiler, tmp_path: Path, machine: str, how: str
) -> None:
    """Also where each poll of the network interface takes a way to it and back."""
    program = compile_c("waits", WAITS)
    words = ["-np", "4", *together(2), "--limit-host-time", "20 s", "-m", *machine.split(" ")]
    done = command("run", "-q", *words, "--", program, how, directory=tmp_path)
    assert done.returncode == 125, done.stderr
    assert "4 of 4 ranks wait" in done.stderr
