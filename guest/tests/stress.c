/* Random traffic between all ranks: lengths around every limit, all modes, wildcards, many requests
 * at once, collectives in between. Arguments: seed, rounds. */
#include "check.h"

enum { BATCH = 40, LONGEST = 9000 };

static int length_of(unsigned number)
{
    return (int)((number * 2654435761u >> 7) % 4 == 0 ? number * 40503u % LONGEST : number * 40503u % 150);
}

static void fill(unsigned char *data, int length, int from, unsigned number)
{
    for (int i = 0; i < length; i++)
        data[i] = (unsigned char)(from * 17 + number * 5 + i);
}

static void round_of(int round)
{
    static unsigned char out[BATCH][LONGEST], in[BATCH][LONGEST];
    MPI_Request requests[2 * BATCH];
    MPI_Status statuses[2 * BATCH];
    int count = 0, to[BATCH], from[BATCH];
    /* All ranks draw the same numbers: message i goes from a to b. */
    for (int i = 0; i < BATCH; i++) {
        from[i] = (int)check_random(check_size);
        to[i] = (int)check_random(check_size);
    }
    int receive_of[2 * BATCH];
    for (int i = 0; i < BATCH; i++) {
        unsigned number = (unsigned)(round * BATCH + i);
        int length = length_of(number), how = (int)check_random(6), wild = (int)check_random(2);
        if (to[i] == check_rank) {
            receive_of[count] = i;
            memset(in[i], 0, LONGEST);
            MPI_Irecv(in[i], LONGEST, MPI_BYTE, wild ? MPI_ANY_SOURCE : from[i], i, MPI_COMM_WORLD, &requests[count++]);
        }
        if (from[i] == check_rank) {
            fill(out[i], length, check_rank, number);
            receive_of[count] = -1;
            if (how == 0)
                MPI_Issend(out[i], length, MPI_BYTE, to[i], i, MPI_COMM_WORLD, &requests[count++]);
            else if (how == 1 && to[i] < check_rank)
                MPI_Send(out[i], length > 60 ? 60 : length, MPI_BYTE, to[i], i, MPI_COMM_WORLD);
            else
                MPI_Isend(out[i], length, MPI_BYTE, to[i], i, MPI_COMM_WORLD, &requests[count++]);
        }
        if (how == 5) {
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    if (round % 3 == 0) {
        int sum = 0;
        MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
    }
    MPI_Waitall(count, requests, statuses);
    for (int r = 0; r < count; r++) {
        int i = receive_of[r], bytes;
        if (i < 0)
            continue;
        static unsigned char wanted[LONGEST];
        unsigned number = (unsigned)(round * BATCH + i);
        fill(wanted, LONGEST, from[i], number);
        MPI_Get_count(&statuses[r], MPI_BYTE, &bytes);
        CHECK(bytes == length_of(number) || (bytes == 60 && length_of(number) > 60));
        CHECK_EQUAL(statuses[r].MPI_SOURCE, from[i]);
        CHECK(memcmp(in[i], wanted, bytes) == 0);
    }
    if (round % 2)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int seed = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 30;
    if (check_rank == 0)
        printf("stress: seed %d\n", seed);
    check_seed(seed);
    for (int round = 0; round < rounds; round++) {
        round_of(round);
        /* Tags repeat from round to round: a wildcard must not take the next round's message. */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return check_end("stress");
}
