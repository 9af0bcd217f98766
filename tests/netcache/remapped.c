/* Long messages to memory that has since become other memory, or that may since be written: what MPI keeps registered of
 * it must follow mremap and mprotect. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 65536 };

static char *map(void) { return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

/* Rank 0 sends, rank 1 receives: how many bytes there are not `value`. */
static int pass(int rank, char *at, int value)
{
    int wrong = 0;
    if (rank == 0) {
        memset(at, value, BYTES);
        MPI_Send(at, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(at, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < BYTES; i++)
            wrong += at[i] != value;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *target = map(), *other = map(), *read_only = map();
    memset(other, 7, BYTES);
    int wrong = pass(rank, target, 1);
    wrong += mremap(other, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, target) != target;
    wrong += target[5] != 7;
    wrong += pass(rank, target, 2);
    /* Registered for reading alone, by a send; then received into. */
    memset(read_only, 3, BYTES);
    mprotect(read_only, BYTES, PROT_READ);
    if (rank == 1)
        MPI_Send(read_only, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(target, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mprotect(read_only, BYTES, PROT_READ | PROT_WRITE);
    wrong += pass(rank, read_only, 4);
    printf("remapped: %s\n", wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return wrong != 0;
}
