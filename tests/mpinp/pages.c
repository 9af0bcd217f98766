/* Data that lie in any way in pages: what arrives is what was sent, and nothing beside it changes.
 *
 * Messages of many lengths from many alignments to many others, with data around them that the receiver compares, and that it
 * writes while they come; receives that are shorter; pages that nobody has touched; messages to oneself. Usage: pages [LONGEST]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, AROUND = 64 };

static int rank, ranks, wrong;
static unsigned char *from, *to;

static unsigned char content(int number, int at) { return (unsigned char)(number * 31 + at * 7 + at / 251); }

static void expect(int is_right, const char *what, int bytes, int number)
{
    if (!is_right && wrong++ < 5)
        printf("rank %d: %s, %d bytes, number %d\n", rank, what, bytes, number);
}

/* What is around the buffer changes while the message comes. */
static void wait_and_write(MPI_Request *request, unsigned char *buffer, int room, int number)
{
    int is_complete = 0;
    for (unsigned char turn = 0; !is_complete; turn++) {
        MPI_Test(request, &is_complete, MPI_STATUS_IGNORE);
        buffer[-1] = buffer[room] = turn;
    }
    memset(buffer - AROUND, number, AROUND);
    memset(buffer + room, number, AROUND);
}

static void check(const unsigned char *buffer, int bytes, int room, int number)
{
    int right = 1;
    for (int i = 0; i < room; i++)
        right &= buffer[i] == (i < bytes ? content(number, i) : (unsigned char)number);
    expect(right, "the data", bytes, number);
    right = 1;
    for (int i = 1; i <= AROUND; i++)
        right &= buffer[-i] == (unsigned char)number && buffer[room + i - 1] == (unsigned char)number;
    expect(right, "beside the data", bytes, number);
}

/* From `source` to `destination`: bytes at an alignment, to a room at another. */
static void exchange(int source, int destination, int bytes, int room, int at_source, int at_destination, int number)
{
    MPI_Request receive = MPI_REQUEST_NULL;
    unsigned char *sent = from + PAGE + at_source, *got = to + PAGE + at_destination;
    if (rank == destination) {
        memset(got - AROUND, number, (size_t)room + 2 * AROUND);
        MPI_Irecv(got, room, MPI_BYTE, source, number, MPI_COMM_WORLD, &receive);
    }
    if (rank == source) {
        for (int i = 0; i < bytes; i++)
            sent[i] = content(number, i);
        MPI_Send(sent, bytes, MPI_BYTE, destination, number, MPI_COMM_WORLD);
        memset(sent, 0xee, (size_t)bytes); /* It may be used again. */
    }
    if (rank != destination)
        return;
    wait_and_write(&receive, got, room, number);
    check(got, bytes < room ? bytes : room, room, number);
}

/* Pages from nowhere: all zero. */
static void exchange_untouched(int bytes)
{
    unsigned char *fresh = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    MPI_Request request;
    MPI_Irecv(to, bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, &request);
    MPI_Send(fresh, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int right = 1;
    for (int i = 0; i < bytes; i++)
        right &= to[i] == 0;
    expect(right, "untouched pages were sent", bytes, 0);
    for (int i = 0; i < bytes; i++)
        to[i] = content(rank, i);
    munmap(fresh, (size_t)bytes);
    fresh = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Irecv(fresh, bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, &request);
    MPI_Send(to, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    right = 1;
    for (int i = 0; i < bytes; i++)
        right &= fresh[i] == content(last, i);
    expect(right, "untouched pages were received to", bytes, 0);
    munmap(fresh, (size_t)bytes);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1,    7,    127,  129,  511,   1000,  4095,  4096,  4097,
                                  8191, 8192, 8193, 9001, 12289, 16385, 33333, 65537, 200003};
    static const int alignments[] = {0, 1, 31, 4000, 4095};
    enum { LENGTHS = sizeof lengths / sizeof *lengths, ALIGNMENTS = sizeof alignments / sizeof *alignments };
    int longest = argc > 1 ? atoi(argv[1]) : 20000, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of receives that are too short */
    from = aligned_alloc(PAGE, 80 * PAGE);
    to = aligned_alloc(PAGE, 80 * PAGE);
    for (int l = 0; l < LENGTHS && lengths[l] <= longest; l++) {
        for (int a = 0; a < ALIGNMENTS; a++, number++) {
            int bytes = lengths[l], room = number % 3 == 0 ? bytes / 2 + 1 : bytes + number % 2 * 100;
            exchange(number % ranks, (number / ranks) % ranks, bytes, room, alignments[a],
                     alignments[(a + l) % ALIGNMENTS], number);
        }
    }
    exchange_untouched(longest);
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pages: %s\n", all ? "FAILED" : "PASSED");
    free(from);
    free(to);
    MPI_Finalize();
    return all != 0;
}
