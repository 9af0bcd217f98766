/* Messages between rank 0 and the others, whose every byte is checked.
 *
 * messages HOW BYTES OFFSET ROUNDS   rank 0 sends BYTES to each other rank, from OFFSET on, to the same offset there, and gets them
 *                                    back, so many times; what is beside the buffers stays as it is
 *
 * How the buffers' pages are:
 *   here     touched by who has them
 *   absent   those of the receivers have never been touched, in the first round
 *   strewn   rank 0's are in memory of all nodes in turn
 *   sent     rank 0's have never been touched: it sends zeros */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { SPACE = 1 << 17, MPOL_INTERLEAVE = 3 };
static unsigned char *buffer;
static long bytes, offset;
static int wrong;
static unsigned char value(long at, int round) { return (unsigned char)(at * 7 + at / 251 + round); }
static void fill(int round)
{
    for (long at = 0; at < bytes; at++)
        buffer[offset + at] = value(at, round);
}
static void look(int round, int is_zero)
{
    for (long at = 0; at < bytes; at++)
        wrong += buffer[offset + at] != (is_zero ? 0 : value(at, round));
    for (long at = 1; at < 64; at++)
        wrong += (offset >= at && buffer[offset - at] != 3) + (buffer[offset + bytes - 1 + at] != 3);
}
int main(int argc, char **argv)
{
    int rank, ranks, rounds = atoi(argv[4]);
    const char *how = argv[1];
    bytes = atol(argv[2]), offset = atol(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    buffer = mmap(0, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long all = 15;
    if (rank == 0 && !strcmp(how, "strewn") && syscall(SYS_mbind, buffer, SPACE, MPOL_INTERLEAVE, &all, 65, 0))
        return 2;
    int is_zero = !strcmp(how, "sent"), is_absent = rank > 0 && !strcmp(how, "absent");
    if (!is_absent && !(is_zero && rank == 0))
        memset(buffer, 3, SPACE);
    for (int round = 0; round < rounds; round++) {
        if (rank == 0 && !is_zero)
            fill(round);
        for (int other = 1; other < ranks; other++)
            if (rank == 0)
                MPI_Send(buffer + offset, (int)bytes, MPI_BYTE, other, round, MPI_COMM_WORLD);
        if (rank > 0) {
            MPI_Recv(buffer + offset, (int)bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (is_absent && round == 0) {
                for (long at = 1; at < 64; at++)
                    buffer[offset + bytes - 1 + at] = 3, buffer[offset - (at <= offset ? at : offset)] = 3;
                if (offset == 0)
                    buffer[0] = value(0, 0);
            }
            look(round, is_zero);
            MPI_Send(buffer + offset, (int)bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD);
        }
        for (int other = 1; other < ranks && rank == 0; other++) {
            if (!is_zero)
                memset(buffer + offset, 9, bytes);
            MPI_Recv(buffer + offset, (int)bytes, MPI_BYTE, other, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (!is_zero)
                look(round, 0);
        }
    }
    int any;
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d wrong\n", any);
    MPI_Finalize();
    return any > 0;
}
