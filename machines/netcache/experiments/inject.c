/* A pipeline that receives and computes: rank 0 sends trains of messages; rank 1 goes over a working set of its own
 * until a train has come, so that its messages wait in whatever the NI puts them into, then receives and sums up each.
 *
 * inject BYTES TRAIN SET ROUNDS: messages of BYTES, TRAIN of them in a row, a working set of SET bytes. Rank 1 prints
 * lines `receive N NS` and `compute N NS`: time to receive and sum up train N, and to go over the working set once
 * (mean, if it was gone over more often while the train came). */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_WORDS = 8 };

/* A train has landed by then: the longest takes 30 us. Waiting for it must not touch its data. inject.py checks that no
 * message landed later than it was received. */
static const double LANDED_NS = 35e3;

static double now_ns(void) { return MPI_Wtime() * 1e9; }

static uint64_t sum_of(const uint64_t *from, size_t words, size_t step)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i += step)
        sum += from[i];
    return sum;
}

int main(int argc, char **argv)
{
    int rank, ready = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 5)
        MPI_Abort(MPI_COMM_WORLD, 2);
    size_t bytes = (size_t)atol(argv[1]), set_words = (size_t)atol(argv[3]) / sizeof(uint64_t);
    long train = atol(argv[2]), rounds = atol(argv[4]);
    size_t words = (bytes + 7) / 8;
    uint64_t *data = aligned_alloc(64, ((size_t)train * words * 8 + 127) / 64 * 64);
    uint64_t *set = aligned_alloc(64, (set_words * 8 + 127) / 64 * 64), sum = 0, expected = 0;
    for (size_t i = 0; i < (size_t)train * words; i++)
        data[i] = i;
    for (size_t i = 0; i < set_words; i++)
        set[i] = 1;
    uint64_t passes = 0;
    for (long round = 0; round < rounds; round++) {
        if (rank == 0) {
            MPI_Recv(&ready, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (long i = 0; i < train; i++)
                MPI_Send(data + (size_t)i * words, (int)words, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD);
            continue;
        }
        MPI_Send(&ready, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        double start = now_ns(), computed;
        uint64_t before = passes;
        do {
            sum += sum_of(set, set_words, LINE_WORDS);
            passes++;
            computed = now_ns();
        } while (computed - start < LANDED_NS);
        for (long i = 0; i < train; i++) {
            uint64_t *to = data + (size_t)i * words;
            MPI_Recv(to, (int)words, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += sum_of(to, words, 1);
        }
        double received = now_ns();
        double pass = (computed - start) / (double)(passes - before);
        printf("compute %ld %.0f\nreceive %ld %.0f\n", round, pass, round, received - computed);
    }
    uint64_t all = (uint64_t)train * words;
    expected = (uint64_t)rounds * (all * (all - 1) / 2) + passes * ((set_words + LINE_WORDS - 1) / LINE_WORDS);
    MPI_Finalize();
    return rank == 1 && sum != expected;
}
