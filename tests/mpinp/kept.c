/* Pages that stay pinned name what the process has, whatever it does with its memory in between. Two ranks send each other what
 * lies there, and compare. Usage: kept WHAT
 *
 * again: the same memory each time. gone, over, moved, dropped, heap: between two messages other pages come to the same place.
 * part: those beside a message do while it is under way. rights: what was written to may only be read. both: sent from and
 * received to. many COUNT: so many blocks, with the first between each two others. long: more than all entries reach.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, BLOCK = 4 * PAGE, BYTES = 3 * PAGE, TIMES = 6 };

static int rank, wrong;

static unsigned char content(int number, int at) { return (unsigned char)(number * 29 + at * 3 + at / 255); }

static void *map(void *at, size_t bytes, int flags)
{
    void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED)
        exit(3);
    return memory;
}

static void check(const unsigned char *buffer, int bytes, int number, const char *what)
{
    for (int i = 0; i < bytes; i++) {
        if (buffer[i] == content(number, i))
            continue;
        wrong++;
        printf("rank %d: %s, number %d: byte %d is wrong\n", rank, what, number, i);
        return;
    }
}

/* From rank 0's buffer to rank 1's. */
static void send(unsigned char *buffer, int bytes, int number, const char *what)
{
    if (rank == 0) {
        for (int i = 0; i < bytes; i++)
            buffer[i] = content(number, i);
        MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        return;
    }
    memset(buffer, 0x55, (size_t)bytes);
    MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(buffer, bytes, number, what);
}

/* Frames that come back are given out again, the last first: these are taken, so that others come. */
static void take_frames(void)
{
    static unsigned char *next;
    if (!next)
        next = map(NULL, (2 * TIMES + 2) * 8 * BLOCK, 0);
    memset(next, 1, 8 * BLOCK);
    next += 8 * BLOCK;
}

/* The heap's end, which is moved so far. */
static unsigned char *move_heap(long bytes)
{
    long end = syscall(SYS_brk, 0L);
    if (syscall(SYS_brk, end + bytes) != end + bytes)
        exit(4);
    return (unsigned char *)end; /* NOLINT(performance-no-int-to-ptr) */
}

/* The memory at `buffer` is new. */
static unsigned char *renew(unsigned char *buffer, const char *what)
{
    if (!strcmp(what, "gone")) {
        munmap(buffer, BLOCK);
        take_frames();
        return map(buffer, BLOCK, MAP_FIXED_NOREPLACE);
    }
    if (!strcmp(what, "over"))
        map(buffer, BLOCK, MAP_FIXED);
    if (!strcmp(what, "moved")) {
        unsigned char *other = map(NULL, 2 * BLOCK, 0), *aligned = other + (-(size_t)other & (BLOCK - 1));
        memset(aligned, 2, BLOCK);
        mremap(buffer, BLOCK, BLOCK, MREMAP_MAYMOVE | MREMAP_FIXED, map(NULL, BLOCK, 0));
        mremap(aligned, BLOCK, BLOCK, MREMAP_MAYMOVE | MREMAP_FIXED, buffer);
    }
    if (!strcmp(what, "dropped"))
        madvise(buffer, BLOCK, MADV_DONTNEED);
    if (!strcmp(what, "heap")) {
        move_heap(-2 * BLOCK);
        take_frames();
        move_heap(2 * BLOCK);
    }
    take_frames();
    return buffer;
}

static void renewed(const char *what)
{
    unsigned char *memory = !strcmp(what, "heap") ? move_heap(2 * BLOCK) : map(NULL, 2 * BLOCK, 0);
    memory += -(size_t)memory & (BLOCK - 1);
    for (int i = 0; i < TIMES; i++) {
        send(memory + 100, BYTES, i, what);
        memory = renew(memory, what);
    }
}

/* The block's last page goes and comes while data are under way to and from the first ones. */
static void part(void)
{
    unsigned char *memory = map(NULL, 2 * BLOCK, 0), *other;
    memory += -(size_t)memory & (BLOCK - 1);
    for (int i = 0; i < TIMES; i++) {
        MPI_Request request;
        for (int at = 0; at < BYTES; at++)
            memory[at] = rank ? 0x55 : content(i, at);
        if (rank == 0)
            MPI_Isend(memory, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(memory, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        munmap(memory + BYTES, PAGE);
        take_frames();
        other = map(memory + BYTES, PAGE, MAP_FIXED);
        other[0] = 1;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 1)
            check(memory, BYTES, i, "part");
        send(other, PAGE, i, "part, the page that came");
    }
}

/* What may be read only is sent all the same; received to it is not. */
static void rights(void)
{
    unsigned char *memory = map(NULL, BLOCK, 0), *other = map(NULL, BLOCK, 0);
    send(memory, BYTES, 1, "rights");
    if (rank == 1) {
        mprotect(memory, BLOCK, PROT_READ);
        MPI_Send(memory, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        MPI_Send(memory, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < 2; i++)
            MPI_Recv(other, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(other, BYTES, 1, "rights");
    }
    if (rank == 0)
        MPI_Send(other, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(memory, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* a fault */
}

static void both(void)
{
    unsigned char *memory = map(NULL, 2 * BLOCK, 0);
    memory += -(size_t)memory & (BLOCK - 1);
    for (int i = 0; i < TIMES; i++) {
        int other = !rank, number = i * 2 + rank, from = i % 2;
        if (rank == from) {
            for (int at = 0; at < BYTES; at++)
                memory[at] = content(number, at);
            MPI_Send(memory, BYTES, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(memory, BYTES, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(memory, BYTES, i * 2 + other, "both");
        }
    }
}

/* Of `count` blocks the first is used between each two others. */
static void many(int count)
{
    unsigned char *memory = map(NULL, (size_t)(count + 1) * BLOCK, 0);
    memory += -(size_t)memory & (BLOCK - 1);
    for (int i = 1; i < count; i++) {
        send(memory, PAGE, i, "many, the first");
        send(memory + (size_t)i * BLOCK, PAGE, i, "many");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "again";
    take_frames(); /* Where they lie is nowhere that is given back. */
    if (!strcmp(what, "part"))
        part();
    else if (!strcmp(what, "rights"))
        rights();
    else if (!strcmp(what, "both"))
        both();
    else if (!strcmp(what, "many"))
        many(atoi(argv[2]));
    else if (!strcmp(what, "long"))
        for (int i = 0; i < 2; i++)
            send(map(NULL, 32 * BLOCK, 0), 30 * BLOCK + 77, i, "long");
    else
        renewed(what);
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("kept, %s: %s\n", what, all ? "FAILED" : "PASSED");
    MPI_Finalize();
    return all != 0;
}
