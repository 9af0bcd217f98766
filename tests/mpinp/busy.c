/* What else a node does while its card's DMA is busy without end with long messages.
 *
 * `come`: ranks 1 to n - 2 send MESSAGES of BYTES each to rank 0, which has two receives of each posted at any time. When some
 * have come it sends one of BEYOND bytes to the last rank.
 * `leave`: rank 0 sends BYTES to rank 1 and, a millisecond later, BEYOND bytes to rank 2.
 *
 * Usage: busy come MESSAGES BYTES BEYOND | busy leave BYTES BEYOND
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, RANKS_MAX = 16, AT_A_TIME = 2, LONG = 0, OTHER = 1 };

static int rank, size;

/* From a page's begin on, so that fragments are as long as can be. */
static char *pages(size_t bytes)
{
    char *data = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    memset(data, 0, bytes);
    return data;
}

/* When a slot of `requests` is done another receive takes it, as long as `left` of that rank are to be posted. */
static int come_on(MPI_Request *requests, char **data, int *left, int bytes)
{
    int come = 0;
    for (int i = 0; i < (size - 2) * AT_A_TIME; i++) {
        int is_done = 0, from = 1 + i / AT_A_TIME;
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        MPI_Test(&requests[i], &is_done, MPI_STATUS_IGNORE);
        come += is_done;
        if (is_done && left[from]-- > 0)
            MPI_Irecv(data[i], bytes, MPI_BYTE, from, LONG, MPI_COMM_WORLD, &requests[i]);
    }
    return come;
}

static void take(int messages, int bytes, int beyond)
{
    MPI_Request requests[RANKS_MAX * AT_A_TIME], other;
    char *room = pages((size_t)(size * AT_A_TIME) * (size_t)bytes), *sent = pages((size_t)beyond);
    char *data[RANKS_MAX * AT_A_TIME];
    int left[RANKS_MAX], all = messages * (size - 2), come = 0, is_begun = 0, has_left = 0, after = 0;
    for (int i = 0; i < (size - 2) * AT_A_TIME; i++) {
        left[1 + i / AT_A_TIME] = messages - AT_A_TIME;
        data[i] = room + (size_t)i * (size_t)bytes;
        MPI_Irecv(data[i], bytes, MPI_BYTE, 1 + i / AT_A_TIME, LONG, MPI_COMM_WORLD, &requests[i]);
    }
    while (come < all || !has_left) {
        come += come_on(requests, data, left, bytes);
        if (!is_begun && come >= all / 4) {
            MPI_Isend(sent, beyond, MPI_BYTE, size - 1, OTHER, MPI_COMM_WORLD, &other);
            is_begun = 1;
        }
        if (is_begun && !has_left) {
            MPI_Test(&other, &has_left, MPI_STATUS_IGNORE);
            after = come;
        }
    }
    printf("sent when %d of %d had come\n", after, all);
}

static void come(int messages, int bytes, int beyond)
{
    char *data = pages((size_t)(bytes > beyond ? bytes : beyond));
    if (rank == 0)
        take(messages, bytes, beyond);
    else if (rank == size - 1)
        MPI_Recv(data, beyond, MPI_BYTE, 0, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        for (int i = 0; i < messages; i++)
            MPI_Send(data, bytes, MPI_BYTE, 0, LONG, MPI_COMM_WORLD);
}

static void leave(int bytes, int beyond)
{
    char *data = pages((size_t)bytes), *other = pages((size_t)beyond);
    double begun = MPI_Wtime();
    if (rank == 0) {
        MPI_Request request;
        int has_left = 0;
        MPI_Isend(data, bytes, MPI_BYTE, 1, LONG, MPI_COMM_WORLD, &request);
        while (MPI_Wtime() - begun < 1e-3)
            MPI_Test(&request, &has_left, MPI_STATUS_IGNORE);
        MPI_Send(other, beyond, MPI_BYTE, 2, OTHER, MPI_COMM_WORLD);
        double told = MPI_Wtime(), came;
        MPI_Recv(&came, 1, MPI_DOUBLE, 2, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("told %.0f us after it had come; the other had %.0f us left\n", (told - came) * 1e6,
               (MPI_Wtime() - told) * 1e6);
    } else if (rank == 1) {
        MPI_Recv(data, bytes, MPI_BYTE, 0, LONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        MPI_Recv(other, beyond, MPI_BYTE, 0, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double came = MPI_Wtime();
        MPI_Send(&came, 1, MPI_DOUBLE, 0, OTHER, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 3 || size > RANKS_MAX || argc < 4)
        return 2;
    MPI_Barrier(MPI_COMM_WORLD);
    if (argv[1][0] == 'c')
        come(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    else
        leave(atoi(argv[2]), atoi(argv[3]));
    MPI_Finalize();
    return 0;
}
