/* Reductions to each root, gathers from and scatters to each, of lengths at both sides of what cards take, in MPI_COMM_WORLD and
 * communicators in another order: at the same time in two that share no process. Some processes come late. All that is known
 * beforehand is compared.
 *
 *   rooted LATE (1: some do) */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 64, LONGEST = 136 };

static int world_rank, rank, ranks;
static bool is_late;
static MPI_Comm comm;
static unsigned char all[RANKS * LONGEST + 1], own[LONGEST + 1];

static void wrong(const char *what, int root, int bytes)
{
    printf("rooted: rank %d of %d: a %s with root %d of %d bytes is wrong\n", rank, ranks, what, root, bytes);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char value(int root, int of, int i) { return (unsigned char)(root * 91 + of * 37 + i * 5 + 1); }

static void come_late(int turn)
{
    volatile int sink = 0;
    if (is_late && (unsigned)(turn * 7 + world_rank * 5) % 4 == 0)
        for (int i = 0; i < 20000; i++)
            sink += i;
}

static void gather(int root, int bytes)
{
    memset(all, 0, sizeof all);
    for (int i = 0; i < bytes; i++)
        own[i] = value(root, rank, i);
    come_late(root + bytes);
    MPI_Gather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, comm);
    for (int i = 0; i < ranks * bytes + 1; i++)
        if (all[i] != (rank != root || i == ranks * bytes ? 0 : value(root, i / bytes, i % bytes)))
            wrong("gather", root, bytes);
}

static void scatter(int root, int bytes)
{
    memset(own, 0, sizeof own);
    for (int i = 0; i < ranks * bytes; i++)
        all[i] = rank == root ? value(root, i / bytes, i % bytes) : 0;
    come_late(root + bytes + 1);
    MPI_Scatter(all, bytes, MPI_BYTE, own, bytes, MPI_BYTE, root, comm);
    /* It may be used again. */
    memset(all, 0xff, sizeof all);
    for (int i = 0; i < bytes + 1; i++)
        if (own[i] != (i == bytes ? 0 : value(root, rank, i)))
            wrong("scatter", root, bytes);
}

static void reduce(int root, int count)
{
    int64_t given[LONGEST / 8], sum[LONGEST / 8], most = 0;
    int32_t least = -1, mine = rank == root ? 7 : 9;
    memset(sum, 0, sizeof sum);
    for (int i = 0; i < count; i++)
        given[i] = (int64_t)(rank + 1) << (i * 2);
    come_late(root + count + 2);
    MPI_Reduce(given, sum, count, MPI_INT64_T, MPI_SUM, root, comm);
    MPI_Reduce(&mine, &least, 1, MPI_INT32_T, MPI_MIN, root, comm);
    memset(given, 0xff, sizeof given);
    for (int i = 0; i < LONGEST / 8; i++)
        if (sum[i] != (rank != root || i >= count ? 0 : (int64_t)ranks * (ranks + 1) / 2 << (i * 2)))
            wrong("reduction", root, 8 * count);
    if (least != (rank == root ? 7 : -1))
        wrong("minimum", root, 4);
    MPI_Allreduce(&given[0], &most, 1, MPI_INT64_T, MPI_MAX, comm);
    if (most != -1)
        wrong("maximum of all after reductions", root, 8);
}

static void run(MPI_Comm of)
{
    static const int lengths[] = {1, 8, 12, 127, 128, 129};
    comm = of;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int root = 0; root < ranks; root++) {
        /* Each root has two lengths, one after the other. */
        for (int i = 0; i < 2; i++) {
            gather(root, lengths[(root * 2 + i) % 6]);
            scatter(root, lengths[(root * 2 + i + 3) % 6]);
        }
        reduce(root, 1 + root % 2 * 15 + root % 4 / 3);
    }
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    MPI_Comm parts, turned;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_late = argc > 1 && atoi(argv[1]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &parts);
    MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank * 5 % 7, &turned);
    run(MPI_COMM_WORLD);
    run(parts);
    if (size < 6)
        run(turned);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("rooted: PASSED\n");
    MPI_Finalize();
    return 0;
}
