/* What a receive of short messages, and reading them, do to the data cache: `payload BYTES COUNT (0 | 1 | 2)`, on two
 * ranks.
 *
 * Rank 0 asks for BATCH messages at a time, waits until they have come, and receives them into places that it has not
 * used for a while. First it receives into all places and reads what came, so that their pages are there and rings have
 * gone round. Then 0: it only asks, and none are sent; 1: it receives; 2: it reads, too. What the last two do more than
 * the one before is the receives', and the reads'. The sums are checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, PLACES = 64, WARM = 4 * PLACES, BYTES_MAX = 1024, SETTLE = 20000, ASK = 1 };
enum what { ASKS, RECEIVES, READS };

/* Places that begin in other sets of a cache: an odd number of sectors of 16 bytes apart. */
struct place {
    char data[BYTES_MAX + 16];
};
static struct place places[PLACES] __attribute__((aligned(64)));

static void delay(long turns) { __asm__ volatile("1: addi %0, %0, -1\n bgtz %0, 1b" : "+r"(turns)); }

static unsigned char byte_of(int message) { return (unsigned char)(message * 7 + 1); }

static void serve(int bytes, int count, enum what what)
{
    char data[BYTES_MAX], token;
    for (int first = 0; first < count; first += BATCH) {
        MPI_Recv(&token, 1, MPI_CHAR, 0, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = first; what != ASKS && i < first + BATCH; i++) {
            memset(data, byte_of(i), (size_t)bytes);
            MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* By words: sizes are multiples of 4. */
static unsigned sum(const char *data, int bytes)
{
    unsigned total = 0, word;
    for (int at = 0; at < bytes; at += (int)sizeof word) {
        memcpy(&word, data + at, sizeof word);
        total += word;
    }
    return total;
}

static int use(int bytes, int count, enum what what)
{
    char token = 0;
    int wrong = 0;
    for (int first = 0; first < count; first += BATCH) {
        MPI_Send(&token, 1, MPI_CHAR, 1, ASK, MPI_COMM_WORLD);
        delay(SETTLE);
        for (int i = first; what != ASKS && i < first + BATCH; i++) {
            char *place = places[i % PLACES].data;
            MPI_Recv(place, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (what == READS)
                wrong += sum(place, bytes) != (unsigned)bytes / 4 * (byte_of(i) * 0x01010101u);
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 8, count = argc > 2 ? atoi(argv[2]) : 64;
    enum what what = argc > 3 ? (enum what)atoi(argv[3]) : READS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (bytes < 4 || bytes > BYTES_MAX || bytes % 4 || count < BATCH || count % BATCH) {
        fprintf(stderr, "payload: 4 to %d bytes, a multiple of 4; a multiple of %d messages\n", BYTES_MAX, BATCH);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int wrong = rank == 0 ? use(bytes, WARM, READS) + use(bytes, count, what) : 0;
    if (rank == 1) {
        serve(bytes, WARM, READS);
        serve(bytes, count, what);
    }
    if (wrong)
        printf("payload: %d messages came wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
