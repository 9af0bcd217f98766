"""What programs do with an NI's registers that no program should.

Use this when `mmap` of a device, page faults, or who pins pages change.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Compiler
from simulated import command

pytestmark = pytest.mark.core

# Rank 1 maps the first region that it can of its NI and does with it what the argument says.
PROGRAM = r"""
#include <chasqui/abi.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static char memory[1 << 16];
static char *window(long *bytes)
{
    int ni = open("/dev/ni0", O_RDWR), all = PROT_READ | PROT_WRITE | PROT_EXEC;
    for (long region = 1; region < 9; region++)
        for (*bytes = 1 << 22; *bytes >= 4096; *bytes /= 2) {
            char *at = mmap(NULL, *bytes, all, MAP_SHARED, ni, region * CHASQUI_NI_REGION_STRIDE);
            if (at != MAP_FAILED)
                return at;
        }
    return NULL;
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long bytes = 4096;
    char *at = rank == 1 ? window(&bytes) : memory;
    if (rank == 1 && !strcmp(argv[1], "call"))
        ((void (*)(void))(at + bytes / 2))();
    if (rank == 2)
        puts("the third goes on");
    fflush(stdout);
    int does_send = (rank == 1) == !strcmp(argv[1], "send");
    if (rank < 2 && does_send)
        MPI_Send(at, bytes < 4000 ? bytes : 4000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
    if (rank < 2 && !does_send)
        MPI_Recv(at, 4000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""
MACHINES = ["voyager", "netcache/dtct", "netcache/via", "mpinp", "mpinp/pin-cache", "mpinp/bip"]


def run(place: Path, program: Path, machine: str, what: str) -> tuple[int, str]:
    words = ["-np", "3", "-m", machine, "--limit-time", "50 ms", "--out", "out"]
    done = command("run", "-q", *words, "--", str(program), what, directory=place)
    assert "panic" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("machine", MACHINES)
def test_a_jump_into_registers_is_a_fault(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """The page is there and may be executed; but nothing can be fetched from it."""
    status, said = run(tmp_path, compile_c("registers", PROGRAM), machine, "call")
    assert status == 128 + 11
    assert "fault: rank 1 at " in said
    assert "the page does not allow it" in said
    assert "(main+" in said


@pytest.mark.parametrize("what", ["send", "receive"])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_message_from_or_to_registers_harms_its_rank_alone(
    compile_c: Compiler, tmp_path: Path, machine: str, what: str
) -> None:
    """It is moved, or it ends the rank, by name; the NI, its firmware and the host go on."""
    status, said = run(tmp_path, compile_c("registers", PROGRAM), machine, what)
    assert status in (0, 1, 128 + 7, 128 + 11), said
    # On voyager a block that its destination may not write is its sender's fault, and says where.
    assert status == 0 or "rank 1" in said or "on node 1" in said
    assert "network processor" not in said
