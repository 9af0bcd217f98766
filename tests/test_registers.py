"""What programs do with an NI's registers that no program should.

Use this when `mmap` of a device, page faults, or who pins pages change.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
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


def test_every_device_has_a_number_of_its_own() -> None:
    """MPI_Init picks a device by it."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / "machines").rglob("*.h")))
    numbers = dict(re.findall(r"#define (CHASQUI_\w+_DEVICE) (0x[0-9a-f]+)", text))
    devices = [
        name
        for path in sorted((ROOT / "machines").rglob("device.c"))
        for name in re.findall(r"^    \.id = (CHASQUI_\w+),$", path.read_text(), re.MULTILINE)
    ]
    assert len(devices) == len(set(devices)) > 10
    assert set(devices) == set(numbers)
    assert len(set(numbers.values())) == len(numbers)


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


# Has the kernel count what becomes invalid where it must not: across the end of a page, in the NI's
# registers. Memory is then registered and given up, which is what is counted.
COUNTS = r"""
#include <chasqui/abi.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "registers.h"
static unsigned char *pages(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void give_up(int ni)
{
    unsigned char *page = pages(4096);
    page[0] = 1;
    struct chasqui_via_memory memory = {.address = (uintptr_t)page, .bytes = 4096};
    memory.tag = 1;
    while (memory.tag < 8 && ioctl(ni, CHASQUI_VIA_CONTROL_REGISTER, &memory))
        memory.tag++;
    printf("registered %d ", memory.tag < 8);
    munmap(page, 4096);
}
static int counts_at(int ni, uint64_t address)
{
    struct chasqui_via_open open = {.invalidations = address};
    return ioctl(ni, CHASQUI_VIA_CONTROL_OPEN, &open) && errno == EFAULT;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int ni = open("/dev/ni0", O_RDWR);
    unsigned char *two = pages(8192);
    two[4095] = 0xff;
    two[4096] = 7;
    printf("refused %d ", counts_at(ni, (uintptr_t)two + 4095));
    give_up(ni);
    printf("then %d %d ", two[4095], two[4096]);
    void *window = MAP_FAILED;
    for (long at = 1; window == MAP_FAILED && at < 9; at++)
        window = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, ni, at * CHASQUI_NI_REGION_STRIDE);
    printf("registers %d\n", window == MAP_FAILED || counts_at(ni, (uintptr_t)window));
    fflush(stdout);
    give_up(ni);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["netcache/via", "netcache/via-zero-copy", "netcache/mvia"])
def test_nothing_is_counted_beyond_a_page_or_in_registers(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """The frame behind a page is anybody's: once it was a table of pages, by which a process had
    all memory of its node."""
    program = compile_c("counts", COUNTS, f"-I{ROOT / 'machines' / 'netcache' / 'via'}")
    words = ["-np", "2", "-m", machine, "--out", "out", "--", str(program)]
    done = command("run", "-q", *words, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused 1 registered 1 then 255 7 registers 1\n") == 2, done.stdout
