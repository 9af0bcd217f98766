/* Long messages of each length round borders of slots, fragments, pages and entries of the page table, wherever they begin; and
 * many at a time, to and from each other rank, received in the opposite order.
 *
 * In `ring` each rank sends two messages to each other one, beginning with the next, and receives two of each, beginning with the
 * one before. In `short` receives have room for some of a message, for one byte or for none.
 *
 * Usage: long sizes LONGEST | long many MESSAGES BYTES | long ring BYTES | long short BYTES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MAX = 64, PAGE = 4096 };

static int rank, size, wrong;

static unsigned char of(size_t at, unsigned who, unsigned what)
{
    return (unsigned char)(at * 7 + (at >> 8) * 13 + (at >> 16) * 29 + who * 31 + what * 3);
}

static void fill(unsigned char *data, size_t bytes, unsigned what)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = of(i, (unsigned)rank, what);
}

/* ... and the byte behind it is as it was. */
static void check(const unsigned char *data, size_t bytes, unsigned who, unsigned what)
{
    size_t i = 0;
    while (i < bytes && data[i] == of(i, who, what))
        i++;
    if ((i < bytes || data[bytes] != 0) && wrong++ == 0)
        printf("rank %d: message %u of %zu bytes from %u is wrong at byte %zu\n", rank, what, bytes, who, i);
}

static void exchange(unsigned char *send, unsigned char *receive, size_t bytes, unsigned what)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[2];
    fill(send, bytes, what);
    memset(receive, 0, bytes + 1);
    MPI_Irecv(receive, (int)bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(send, (int)bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(receive, bytes, (unsigned)before, what);
}

static void sizes(size_t longest)
{
    static const size_t borders[] = {960, 1024, 2048, PAGE, 2 * PAGE, 4 * PAGE, 5 * PAGE, 16 * PAGE, 100 * PAGE};
    static const size_t begins[] = {0, 1, 8, 64, 1021, PAGE - 8, PAGE - 1};
    unsigned char *send = aligned_alloc(PAGE, longest + 4 * PAGE), *receive = aligned_alloc(PAGE, longest + 4 * PAGE);
    unsigned what = 0, begins_count = sizeof begins / sizeof *begins;
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++)
        for (int more = -1; more <= 1 && borders[i] + 1 <= longest; more++, what++)
            exchange(send + begins[what % begins_count], receive + begins[(what * 3 + i) % begins_count],
                     borders[i] + (size_t)more, what);
    exchange(send + 5, receive + 3, longest, what);
}

static void many(int messages, size_t bytes)
{
    MPI_Request *requests = malloc((size_t)(2 * messages * size) * sizeof *requests);
    unsigned char *send = malloc((size_t)messages * bytes), *receive = calloc((size_t)(messages * size), bytes + 1);
    int count = 0;
    for (int m = 0; m < messages; m++)
        fill(send + (size_t)m * bytes, bytes, (unsigned)m);
    for (int m = 0; m < messages; m++)
        for (int other = 0; other < size; other++)
            if (other != rank)
                MPI_Isend(send + (size_t)m * bytes, (int)bytes, MPI_BYTE, other, m, MPI_COMM_WORLD, &requests[count++]);
    for (int m = messages - 1; m >= 0; m--)
        for (int other = 0; other < size; other++)
            if (other != rank)
                MPI_Irecv(receive + (size_t)(m * size + other) * (bytes + 1), (int)bytes, MPI_BYTE, other, m,
                          MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int m = 0; m < messages; m++)
        for (int other = 0; other < size; other++)
            if (other != rank)
                check(receive + (size_t)(m * size + other) * (bytes + 1), bytes, (unsigned)other, (unsigned)m);
}

static void ring(size_t bytes)
{
    enum { TWO = 2 };
    int all = TWO * (size - 1), count = 0;
    MPI_Request *requests = malloc((size_t)(2 * all) * sizeof *requests);
    unsigned char *send = malloc(bytes), *receive = calloc((size_t)all, bytes);
    memset(send, rank + 1, bytes);
    for (int m = 0; m < all; m++)
        MPI_Irecv(receive + (size_t)m * bytes, (int)bytes, MPI_BYTE, (rank + size - 1 - m / TWO) % size, m % TWO,
                  MPI_COMM_WORLD, &requests[count++]);
    for (int m = 0; m < all; m++)
        MPI_Isend(send, (int)bytes, MPI_BYTE, (rank + 1 + m / TWO) % size, m % TWO, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int m = 0; m < all; m++) {
        memset(send, (rank + size - 1 - m / TWO) % size + 1, bytes);
        wrong += memcmp(receive + (size_t)m * bytes, send, bytes) != 0;
    }
}

static void cut_short(size_t bytes)
{
    const size_t rooms[] = {0, 1, 0, bytes - 1, bytes / 2, 0, bytes};
    unsigned char *send = malloc(bytes), *receive = malloc(bytes + 1);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (unsigned i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        memset(receive, 0, bytes + 1);
        fill(send, bytes, i);
        MPI_Irecv(receive, (int)rooms[i], MPI_BYTE, before, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(send, (int)bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]);
        int error = MPI_Waitall(2, requests, statuses), class = MPI_SUCCESS;
        if (error != MPI_SUCCESS)
            MPI_Error_class(statuses[0].MPI_ERROR, &class);
        wrong += class != (rooms[i] < bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        check(receive, rooms[i], (unsigned)before, i);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 3 && strcmp(argv[1], "sizes") == 0)
        sizes((size_t)atol(argv[2]));
    else if (argc == 4 && strcmp(argv[1], "many") == 0)
        many(atoi(argv[2]), (size_t)atol(argv[3]));
    else if (argc == 3 && strcmp(argv[1], "ring") == 0)
        ring((size_t)atol(argv[2]));
    else if (argc == 3 && strcmp(argv[1], "short") == 0)
        cut_short((size_t)atol(argv[2]));
    else
        wrong = 1;
    int all;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("long: %s\n", all == 0 ? "PASSED" : "FAILED");
    MPI_Finalize();
    return all != 0;
}
