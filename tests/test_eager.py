"""Standard sends that wait for their receive: `--mpi eager=BYTES`.

Use this when guest/mpi/transport changes, a device's short path, or a transport of its own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Compiler
from simulated import APART, EXAMPLES, command, every_machine, example, in_turn, organisations

pytestmark = pytest.mark.core

# Both send before they receive, argv[1] bytes by argv[2]: MPI_Send ends only if it is buffered.
CROSSING = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[4096], in[4096], space[8192];

int main(int argc, char **argv)
{
    int rank, bytes = atoi(argv[1]);
    const char *how = argv[2];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Buffer_attach(space, sizeof space);
    memset(out, 'a' + rank, sizeof out);
    if (!strcmp(how, "send"))
        MPI_Send(out, bytes, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD);
    else if (!strcmp(how, "bsend"))
        MPI_Bsend(out, bytes, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD);
    else if (!strcmp(how, "isend"))
        MPI_Isend(out, bytes, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, &request);
    else /* In turn, as MPI wants it. */
        rank ? 0 : MPI_Send(out, bytes, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "turn") && rank)
        MPI_Send(out, bytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++)
        if (in[i] != 'a' + 1 - rank)
            MPI_Abort(MPI_COMM_WORLD, 3);
    int size;
    char *detached;
    MPI_Buffer_detach(&detached, &size);
    MPI_Finalize();
    return 0;
}
"""
DEADLOCK = 125


@pytest.fixture(scope="module")
def crossing(compile_c: Compiler) -> Path:
    return compile_c("crossing", CROSSING, "-g", "-O0")


def crossed(
    program: Path, place: Path, machine: str, how: str, size: int, *options: str
) -> tuple[int, str]:
    """Status and messages of a run of two ranks."""
    words = ["run", "-q", "--out", "run", "-np", "2", "-m", machine, *options, "--"]
    place.mkdir()
    done = command(*words, program, str(size), how, directory=place)
    return done.returncode, done.stderr


@pytest.mark.parametrize("machine", [*every_machine(), *APART])
def test_sends_that_must_be_buffered_are_found(
    crossing: Path, tmp_path: Path, machine: str
) -> None:
    """On every machine, also those that match in the network interface; the empty one too."""
    status, said = crossed(crossing, tmp_path / "buffered", machine, "send", 8)
    assert status == 0, said
    status, said = crossed(crossing, tmp_path / "not", machine, "send", 0, "--mpi", "eager=0")
    assert status == DEADLOCK, said
    for rank in (0, 1):
        unmet = f"no receive has met a message of 0 bytes from rank {rank} with tag 7"
        assert f"{unmet} in MPI_COMM_WORLD" in said, said
        waits = (
            rf"rank {rank} in MPI_Send waits for .*rank {1 - rank} to take its message of 0 bytes"
        )
        assert re.search(f"{waits} with tag 7 in MPI_COMM_WORLD", said), said
    assert len(re.findall(r"called at 0x\w+ \(main\+0x\w+, crossing.c:19\)", said)) == 2, said


@pytest.mark.parametrize(
    ("eager", "size", "ends"),
    [("0", 8, False), ("7 B", 8, False), ("8 B", 8, True), ("1 KiB", 0, True)],
)
def test_what_is_longer_waits(
    crossing: Path, tmp_path: Path, eager: str, size: int, ends: bool
) -> None:
    status, said = crossed(
        crossing, tmp_path / "run", "loggp", "send", size, "--mpi", f"eager={eager}"
    )
    assert status == (0 if ends else DEADLOCK), said


@pytest.mark.parametrize(
    ("how", "machine"), in_turn(["isend", "bsend", "turn"], ["loggp", "voyager", "netcache/tcp"])
)
def test_what_does_not_need_to_be_buffered_ends(
    crossing: Path, tmp_path: Path, how: str, machine: str
) -> None:
    status, said = crossed(crossing, tmp_path / "run", machine, how, 600, "--mpi", "eager=0")
    assert status == 0, said


@pytest.mark.parametrize(("name", "machine"), in_turn(EXAMPLES, organisations()))
def test_the_examples_need_no_buffers(
    examples: Path, tmp_path: Path, name: str, machine: str
) -> None:
    """Collectives among them, whose messages are sent as ever."""
    done = command(
        "run",
        "--out",
        "run",
        "--mpi",
        "eager=0",
        *example(examples, name, machine),
        directory=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["outcome"] == "finished"
