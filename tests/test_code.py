"""Programs that change their own code: ranks share what the simulator has decoded of a program's
text only as long as nobody can write to it."""

from __future__ import annotations

import pytest
from conftest import Compiler, Run

pytestmark = pytest.mark.core

# `answer` becomes `li a0, 2; ret` in the ranks that are told to; all have executed it before.
PATCH = r"""
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((noinline, aligned(16))) int answer(void)
{
    __asm__ volatile(".option push\n.option norvc\nli a0, 1\nret\nnop\nnop\n.option pop" ::: "a0");
    __builtin_unreachable();
}

static int (*volatile ask)(void) = answer;

static void patch(void)
{
    uintptr_t page = (uintptr_t)answer & ~(uintptr_t)4095;
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (mprotect((void *)page, 8192, all))
        exit(9);
    *(volatile uint32_t *)(uintptr_t)answer = 0x00200513; /* li a0, 2 */
    __asm__ volatile("fence.i" ::: "memory");
    if (mprotect((void *)page, 8192, PROT_READ | PROT_EXEC))
        exit(9);
}

int main(int argc, char **argv)
{
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 6; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (round == 3 && rank % 2)
            patch();
        MPI_Barrier(MPI_COMM_WORLD);
        sum += ask();
    }
    int expected = rank % 2 ? 3 * 1 + 3 * 2 : 6 * 1;
    printf("rank %d: %d\n", rank, sum);
    MPI_Finalize();
    return sum != expected;
}
"""


@pytest.mark.parametrize("machine", ["loggp", "voyager"])
def test_a_rank_that_changes_its_text_changes_nobody_elses(
    compile_c: Compiler, chasqui: Run, machine: str
) -> None:
    program = compile_c("patch", PATCH)
    done = chasqui("run", "-np", "4", "--machine", machine, "--", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("rank ")) == [
        "rank 0: 6",
        "rank 1: 9",
        "rank 2: 6",
        "rank 3: 9",
    ]
