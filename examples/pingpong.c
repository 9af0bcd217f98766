/* Ping-pong: ranks 0 and 1 send a message to and fro; every byte is checked. */
#include "example.h"

static const char usage[] =
    "pingpong [-n TRIPS] [-m BYTES]\n"
    "Time and bandwidth of messages between ranks 0 and 1, for sizes 0, 1, 2, 4 ... BYTES.\n"
    "  -n TRIPS  round trips of each size, after one to warm up (default 10)\n"
    "  -m BYTES  the longest message (default 65536)\n";

static unsigned char pattern(long i, long trip) { return (unsigned char)(i * 7 + trip); }

static void fill(unsigned char *buffer, long bytes, long trip)
{
    for (long i = 0; i < bytes; i++)
        buffer[i] = pattern(i, trip);
}

static bool check(const unsigned char *buffer, long bytes, long trip)
{
    for (long i = 0; i < bytes; i++)
        if (buffer[i] != pattern(i, trip))
            return false;
    return true;
}

/* One trip to and fro. Returns its time [s] without filling and checking, negative when wrong. */
static double trip(int rank, unsigned char *buffer, long bytes, long number)
{
    MPI_Status status;
    int count;
    double start = 0, end = 0;
    if (rank == 0) {
        fill(buffer, bytes, number);
        start = MPI_Wtime();
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        memset(buffer, 0, (size_t)bytes);
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &status);
        end = MPI_Wtime();
    } else {
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    return count == bytes && check(buffer, bytes, number) ? end - start : -1;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    if (ranks < 2)
        stop("pingpong needs 2 ranks");
    long trips = option(argc, argv, "-n", 1, 10), bytes_max = option(argc, argv, "-m", 0, 65536);
    unsigned char *buffer = room((size_t)bytes_max, 1);

    bool right = true;
    if (rank == 0)
        printf("%10s %14s %12s\n", "bytes", "one way [us]", "MB/s");
    for (long bytes = 0; bytes <= bytes_max && rank < 2; bytes = bytes ? 2 * bytes : 1) {
        double seconds = 0;
        for (long i = 0; i <= trips; i++) {
            double time = trip(rank, buffer, bytes, i);
            right = right && time >= 0;
            seconds += i ? time : 0;
        }
        double one_way = seconds / (double)trips / 2;
        if (rank == 0)
            printf("%10ld %14.3f %12.2f\n", bytes, one_way * 1e6, one_way > 0 ? (double)bytes / one_way / 1e6 : 0);
    }
    free(buffer);
    return verdict("pingpong", right);
}
