/* Ranks on SPEs: messages of all lengths, and what is wrong. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX = 9000, MANY = 12 };

static const int lengths[] = {0,   1,   15,  16,  17,  95,  96,   97,   111,  112,
                              463, 464, 465, 511, 512, 513, 4095, 4096, 4097, 8999};
static unsigned char out[MAX + 64], in[MAX + 64];

static unsigned char value(int from, int to, int length, int at)
{
    return (unsigned char)(31 * from + 7 * to + length + at);
}

/* Every rank to and from every other, from and to places that agree in their lowest bits or do not. */
static int exchange(int rank, int ranks, int length, int shift, int other_shift)
{
    int wrong = 0;
    for (int distance = 1; distance < ranks; distance++) {
        int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks, count;
        MPI_Status status;
        memset(in, 255, sizeof in);
        for (int i = 0; i < length; i++)
            out[shift + i] = value(rank, to, length, i);
        MPI_Sendrecv(out + shift, length, MPI_BYTE, to, length, in + other_shift, MAX, MPI_BYTE, from, length,
                     MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != length || status.MPI_SOURCE != from;
        for (int i = 0; i < length; i++)
            wrong += in[other_shift + i] != value(from, rank, length, i);
        for (int i = 0; i < other_shift; i++)
            wrong += in[i] != 255;
        wrong += in[other_shift + length] != 255;
    }
    return wrong;
}

/* All send before anybody receives: more than there are slots. */
static int flood(int rank, int ranks)
{
    int sent[MANY], wrong = 0;
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) {
        sent[i] = 100 * rank + i;
        MPI_Isend(&sent[i], 1, MPI_INT, (rank + 1) % ranks, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        int got, from = (rank + ranks - 1) % ranks;
        MPI_Recv(&got, 1, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += got != 100 * from + i;
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    return wrong;
}

static void all_lengths(int rank, int ranks)
{
    int wrong = flood(rank, ranks), all;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int shift = 0; shift < 32; shift += 11)
            wrong += exchange(rank, ranks, lengths[i], shift, (shift * 3 + (int)i) % 24);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("lengths: %s on %d ranks\n", all ? "WRONG" : "right", ranks);
}

/* A file's row is read while the row before it, which ends within a quadword of it, is received. */
static void beside(int rank)
{
    enum { NUMBERS = 501, TIMES = 40 };
    static double rows[2][NUMBERS] __attribute__((aligned(16)));
    int wrong = 0, file = rank ? -1 : open("row", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < NUMBERS; i++)
        rows[1][i] = -i;
    if (rank == 0)
        wrong += write(file, rows[1], sizeof rows[1]) != sizeof rows[1];
    for (int time = 1; time <= TIMES; time++) {
        MPI_Request request;
        int is_there = 0;
        for (int i = 0; i < NUMBERS; i++)
            rows[0][i] = rank ? 1000 * time + i : 0;
        memset(rows[1], 0, sizeof rows[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Send(rows[0], NUMBERS, MPI_DOUBLE, 0, time, MPI_COMM_WORLD);
            continue;
        }
        MPI_Irecv(rows[0], NUMBERS, MPI_DOUBLE, 1, time, MPI_COMM_WORLD, &request);
        while (!is_there) {
            wrong += pread(file, rows[1], sizeof rows[1], 0) != sizeof rows[1];
            MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < NUMBERS; i++)
            wrong += rows[0][i] != 1000 * time + i || rows[1][i] != -i;
    }
    if (rank == 0)
        printf("beside: %d wrong\n", wrong);
}

/* Bytes that a call does not write stay as they were: a file's end comes before the buffer's. */
static int ends(int file)
{
    int wrong = 0;
    for (int shift = 0; shift < 17; shift++)
        for (int bytes = 1; bytes < 40; bytes++) {
            memset(in, 9, sizeof in);
            wrong += ftruncate(file, bytes) || pread(file, in + shift, 64, 0) != bytes;
            for (int i = 0; i < 128; i++)
                wrong += in[i] != (i < shift || i >= shift + bytes ? 9 : 0);
            wrong += ftruncate(file, 0);
        }
    return wrong;
}

static void calls(void)
{
    struct stat status;
    int file = open("one", O_RDWR | O_CREAT | O_TRUNC, 0600), entries = 0;
    printf("ends: %d wrong\n", ends(file));
    int other = dup(file), length = (int)write(other, "word", 4);
    printf("dup %d fsync %d", length, fsync(other));
    printf(" truncate %d mkdir %d rename %d", truncate("one", 2), mkdir("folder", 0700), rename("one", "folder/two"));
    printf(" chdir %d umask %o\n", chdir("folder"), umask(022));
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        entries += !strcmp(entry->d_name, "two");
    printf("entries %d length %d\n", entries, stat("two", &status) ? -1 : (int)status.st_size);
    printf("poll %d\n", poll(NULL, 0, 0));
}

/* Nothing is on its way, and it never waits. */
static void poll_for_ever(void)
{
    int word, is_here = 0;
    MPI_Request request;
    MPI_Irecv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    while (!is_here)
        MPI_Test(&request, &is_here, MPI_STATUS_IGNORE);
}

static void *nothing(void *argument) { return argument; }

int main(int argc, char **argv)
{
    int rank, ranks, word;
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t thread;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(what, "lengths"))
        all_lengths(rank, ranks);
    if (!strcmp(what, "beside"))
        beside(rank);
    if (!strcmp(what, "calls") && rank == 0)
        calls();
    if (!strcmp(what, "deadlock"))
        MPI_Recv(&word, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "null") && rank == 1)
        *(volatile int *)(16L * ranks - 16) = 1;
    if (!strcmp(what, "abort") && rank == 1)
        abort();
    if (!strcmp(what, "leave") && rank == 1)
        exit(3);
    if (!strcmp(what, "threads") && pthread_create(&thread, NULL, nothing, NULL))
        exit(4);
    if (!strcmp(what, "channel") && rank == 1)
        *(volatile int *)0x40000ff8L = 1;
    if (!strncmp(what, "job-", 4) && rank != 1)
        poll_for_ever();
    if (!strcmp(what, "job-abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(what, "job-error"))
        MPI_Send(&word, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
