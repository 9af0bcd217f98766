/* A drawn schedule: between each two ranks, and within each, are up to MESSAGES messages of drawn lengths, some of which have
 * receives with room for less. Each rank begins its sends and receives in a drawn order, with drawn pauses, and waits for them in
 * another. What there is follows from SEED alone.
 *
 * Usage: random SEED MESSAGES LONGEST
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGINS = 64, PAUSE = 2000, BEHIND = 8 };

struct message {
    int from, to, tag;
    size_t bytes, room, send_begin, receive_begin;
    int is_synchronous;
};

/* Of a message: its send or its receive. */
struct half {
    const struct message *message;
    unsigned char *buffer;
    int sends;
};

static int rank, wrong;

/* Sebastiano Vigna's SplitMix64. */
static unsigned draw(uint64_t *state, unsigned below)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (unsigned)((z ^ z >> 31) >> 33) % below;
}

/* Of all kinds: in a slot, round borders, some pages, and any. */
static size_t draw_bytes(uint64_t *state, unsigned longest)
{
    static const unsigned borders[] = {1, 512, 961, 1024, 2048, 4096, 8192, 16384, 61440};
    unsigned kind = draw(state, 10), bytes;
    if (kind < 2)
        bytes = draw(state, 961);
    else if (kind < 6)
        bytes = borders[draw(state, sizeof borders / sizeof *borders)] + draw(state, 3) - 1;
    else
        bytes = draw(state, kind < 9 ? 6000 : longest + 1);
    return bytes < longest ? bytes : longest;
}

static unsigned char of(const struct message *message, size_t at)
{
    return (unsigned char)(at * 7 + (at >> 8) * 13 +
                           (size_t)(message->from * 31 + message->to * 17 + message->tag * 5));
}

static void check(const struct half *half, int error)
{
    const struct message *message = half->message;
    size_t bytes = message->bytes < message->room ? message->bytes : message->room, at = 0;
    int class = MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    while (at < bytes && half->buffer[message->receive_begin + at] == of(message, at))
        at++;
    int is_right = at == bytes && class == (message->bytes > message->room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    for (size_t i = 0; i < BEHIND; i++)
        is_right = is_right && half->buffer[message->receive_begin + bytes + i] == 0;
    if (!is_right && wrong++ == 0)
        printf("rank %d: %zu bytes with tag %d from %d, room for %zu: wrong at byte %zu, error %d\n", rank,
               message->bytes, message->tag, message->from, message->room, at, class);
}

static MPI_Request begin(struct half *half)
{
    const struct message *message = half->message;
    size_t offset = half->sends ? message->send_begin : message->receive_begin;
    size_t bytes = half->sends ? message->bytes : message->room;
    MPI_Request request;
    half->buffer = calloc(offset + bytes + BEHIND, 1);
    unsigned char *data = half->buffer + offset;
    for (size_t i = 0; half->sends && i < bytes; i++)
        data[i] = of(message, i);
    if (!half->sends)
        MPI_Irecv(data, (int)bytes, MPI_BYTE, message->from, message->tag, MPI_COMM_WORLD, &request);
    else if (message->is_synchronous)
        MPI_Issend(data, (int)bytes, MPI_BYTE, message->to, message->tag, MPI_COMM_WORLD, &request);
    else
        MPI_Isend(data, (int)bytes, MPI_BYTE, message->to, message->tag, MPI_COMM_WORLD, &request);
    return request;
}

static void shuffle(struct half *halves, int count, uint64_t *state)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)draw(state, (unsigned)i + 1);
        struct half half = halves[i];
        halves[i] = halves[other];
        halves[other] = half;
    }
}

int main(int argc, char **argv)
{
    int size, count = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    uint64_t seed = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
    unsigned most = argc == 4 ? (unsigned)atoi(argv[2]) : 0, longest = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
    uint64_t common = seed, own = seed * 1000003 + (uint64_t)rank;
    struct message *messages = calloc((size_t)(size * size) * (most + 1), sizeof *messages), *next = messages;
    struct half *halves = calloc((size_t)(2 * size) * (most + 1), sizeof *halves);
    MPI_Request *requests = malloc((size_t)(2 * size) * (most + 1) * sizeof *requests);
    for (int pair = 0; pair < size * size; pair++)
        for (int tag = (int)draw(&common, most + 1); tag > 0; tag--, next++) {
            *next = (struct message){.from = pair / size, .to = pair % size, .tag = tag};
            next->bytes = draw_bytes(&common, longest);
            next->room = draw(&common, 4) ? next->bytes + draw(&common, 50) : draw(&common, (unsigned)next->bytes + 1);
            next->send_begin = draw(&common, BEGINS);
            next->receive_begin = draw(&common, BEGINS);
            next->is_synchronous = draw(&common, 4) == 0;
            if (next->from == rank)
                halves[count++] = (struct half){.message = next, .sends = 1};
            if (next->to == rank)
                halves[count++] = (struct half){.message = next};
        }
    shuffle(halves, count, &own);
    for (int i = 0; i < count; i++) {
        for (volatile unsigned pause = draw(&own, 2) ? draw(&own, PAUSE) : 0; pause > 0; pause--)
            ;
        requests[i] = begin(&halves[i]);
    }
    for (int left = count; left > 0; left--) {
        int i = (int)draw(&own, (unsigned)left);
        int error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        if (!halves[i].sends)
            check(&halves[i], error);
        requests[i] = requests[left - 1];
        halves[i] = halves[left - 1];
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("random: seed %s: %s\n", argv[1], all == 0 && argc == 4 ? "PASSED" : "FAILED");
    MPI_Finalize();
    return all != 0;
}
