/* Ring: a token goes round all ranks, and each adds its number; then all ranks shift an array at
 * once, until every rank has its own back. */
#include "example.h"

static const char usage[] =
    "ring [-l LAPS] [-n NUMBERS]\n"
    "  -l LAPS     how often the token goes round (default 3)\n"
    "  -n NUMBERS  length of the array that every rank shifts (default 64)\n";

/* The token's value after `laps` laps, on rank 0. */
static long pass_token(int rank, int ranks, long laps)
{
    long token = 0;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (long lap = 0; lap < laps && ranks > 1; lap++) {
        if (rank == 0) {
            MPI_Send(&token, 1, MPI_LONG, right, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_LONG, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_LONG, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token += rank;
            MPI_Send(&token, 1, MPI_LONG, right, 0, MPI_COMM_WORLD);
        }
    }
    return token;
}

/* Shifts an array once round the ring; true when every step brought the expected one. */
static bool shift(int rank, int ranks, long numbers)
{
    bool right_answer = true;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    int *array = room((size_t)numbers, sizeof *array), *next = room((size_t)numbers, sizeof *next);
    for (long i = 0; i < numbers; i++)
        array[i] = rank * 1000 + (int)i;
    for (int step = 1; step <= ranks; step++) {
        int owner = ((rank - step) % ranks + ranks) % ranks;
        MPI_Sendrecv(array, (int)numbers, MPI_INT, right, step, next, (int)numbers, MPI_INT, left, step, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (long i = 0; i < numbers; i++)
            right_answer = right_answer && next[i] == owner * 1000 + (int)i;
        int *swap = array;
        array = next;
        next = swap;
    }
    free(array);
    free(next);
    return right_answer;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    long laps = option(argc, argv, "-l", 1, 3), numbers = option(argc, argv, "-n", 1, 64);

    double start = MPI_Wtime();
    long token = pass_token(rank, ranks, laps);
    long expected = laps * ranks * (ranks - 1L) / 2;
    double seconds = MPI_Wtime() - start;
    if (rank == 0)
        printf("token %ld (expected %ld) after %ld laps of %d ranks, %.3f us a hop\n", token, expected, laps, ranks,
               seconds / (double)(laps * ranks) * 1e6);
    bool right = shift(rank, ranks, numbers);
    return verdict("ring", right && (rank != 0 || token == expected));
}
