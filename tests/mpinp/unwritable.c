/* A receive whose buffer is not to be written, or not there. Rank 1 receives; rank 0 sends. Usage: unwritable WHERE BYTES
 * (constant, code, end, middle, gone) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 40, ROOM = PAGES * PAGE };

static const char constant[ROOM] = {1};

int main(int argc, char **argv)
{
    int rank, bytes = argc > 2 ? atoi(argv[2]) : 8;
    const char *where = argc > 1 ? argv[1] : "constant";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 7, ROOM);
    if (rank == 0)
        MPI_Send(memory, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        char *buffer = memory;
        MPI_Request request;
        if (!strcmp(where, "constant"))
            buffer = (char *)(uintptr_t)constant;
        if (!strcmp(where, "code"))
            buffer = (char *)(uintptr_t)&main;
        if (!strcmp(where, "end"))
            mprotect(memory + ROOM - PAGE, PAGE, PROT_READ);
        if (!strcmp(where, "middle"))
            mprotect(memory + PAGE, PAGE, PROT_READ);
        MPI_Irecv(buffer, *where == 'c' ? bytes : ROOM, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        if (!strcmp(where, "gone"))
            munmap(memory, ROOM);
        MPI_Barrier(MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes; i++)
            if (buffer[i] != 7)
                return 3;
        printf("unwritable: received\n");
    }
    MPI_Finalize();
    return 0;
}
