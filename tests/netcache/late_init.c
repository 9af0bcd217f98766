/* Rank 4 enters MPI_Init late: short messages of ranks 0 to 2, and then a synchronous one of rank 3, wait at its NIC until
 * its rings are there. It receives rank 3's first, by name, and nothing else happens meanwhile. On two nodes of 4 ranks.
 *
 * Usage: late_init TURNS, of the loop before rank 4's MPI_Init */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "chasqui/abi.h"

enum { RANKS = 8, LATE = 4, FIRST = 3 };

static void delay(long turns) { __asm__ volatile("1: addi %0, %0, -1\n bgtz %0, 1b" : "+r"(turns)); }

int main(int argc, char **argv)
{
    int device = open("/dev/ni0", O_RDWR), rank;
    const struct chasqui_ni_identification *ni = mmap(NULL, 4096, PROT_READ, MAP_SHARED, device, 0);
    if (ni->rank == LATE)
        delay(argc > 1 ? atol(argv[1]) : 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    static long word[2] __attribute__((aligned(64)));
    word[0] = 10 + rank;
    bool right = true;
    if (rank < FIRST) {
        MPI_Send(word, 1, MPI_LONG, LATE, 1, MPI_COMM_WORLD);
    } else if (rank == FIRST) {
        delay(10000);
        MPI_Ssend(word, 1, MPI_LONG, LATE, 2, MPI_COMM_WORLD);
    } else if (rank == LATE) {
        MPI_Recv(word, 1, MPI_LONG, FIRST, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right = word[0] == 10 + FIRST;
        for (int from = 0; from < FIRST; from++) {
            MPI_Recv(word, 1, MPI_LONG, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            right = right && word[0] == 10 + from;
        }
    }
    /* Nothing else may come to rank 4 meanwhile: no barrier. */
    for (int to = 0; rank == LATE && to < RANKS; to++)
        if (to != LATE)
            MPI_Send(word, 1, MPI_LONG, to, 9, MPI_COMM_WORLD);
    if (rank != LATE)
        MPI_Recv(word, 1, MPI_LONG, LATE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == LATE)
        printf("late_init: %s\n", right ? "PASSED" : "FAILED");
    MPI_Finalize();
    return !right;
}
