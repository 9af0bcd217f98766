/* Packets of a kind of the test's own: a table of handlers is all that the library needs to know a protocol by. Each rank
 * sends the next one numbers, with as much payload as a packet takes; when nothing has room they wait in order. */
#include "check.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/packet.h"

enum { KIND = CHASQUI_PACKET_KINDS - 1, ANSWER = KIND - 1, PACKETS = 40 };

static int taken, answered;
static unsigned char payload[PACKETS][8];

static void answer(const struct chasqui_envelope *envelope, const void *data, size_t bytes)
{
    (void)data;
    CHECK_EQUAL(bytes, 0);
    CHECK_EQUAL(envelope->tag, answered);
    CHECK_EQUAL(envelope->source, (check_rank + 1) % check_size);
    answered++;
}

static struct chasqui_envelope envelope_to(int rank, int kind, int tag)
{
    return (struct chasqui_envelope){
        .kind = (uint8_t)kind,
        .source = (uint16_t)check_rank,
        .destination = (uint16_t)rank,
        .tag = tag,
        .sender = 77,
    };
}

static void take(const struct chasqui_envelope *envelope, const void *data, size_t bytes)
{
    unsigned char got[8] = {0};
    int from = envelope->source;
    CHECK_EQUAL(bytes, taken % 8 + 1);
    chq_packet_take(got, data, bytes);
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQUAL(got[i], (from * 31 + taken + (int)i) % 256);
    CHECK_EQUAL(envelope->tag, taken);
    CHECK_EQUAL(envelope->sender, 77);
    taken++;
    struct chasqui_envelope reply = envelope_to(from, ANSWER, envelope->tag);
    chq_send_control(&reply, NULL, 0);
}

/* As a public function of the library does. */
static void exchange(void)
{
    int next = (check_rank + 1) % check_size;
    CALL_ENTER(CALL_LOCAL);
    for (int n = 0; n < PACKETS; n++) {
        size_t bytes = (size_t)n % 8 + 1;
        struct chasqui_envelope envelope = envelope_to(next, KIND, n);
        envelope.bytes = bytes;
        for (size_t i = 0; i < bytes; i++)
            payload[n][i] = (unsigned char)(check_rank * 31 + n + (int)i);
        /* By turns the two ways to send: a payload that stays, and one that is copied. */
        if (n % 2) {
            chq_send_in_order(&envelope, payload[n], bytes, NULL);
        } else {
            chq_send_control(&envelope, payload[n], bytes);
            memset(payload[n], 0, sizeof payload[n]);
        }
    }
    while (taken < PACKETS || answered < PACKETS)
        chq_progress();
    CALL_LEAVE(CALL_LOCAL);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    chq_packet_register(KIND, take);
    chq_packet_register(ANSWER, answer);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_size > 1)
        exchange();
    MPI_Barrier(MPI_COMM_WORLD);
    return check_end("packets");
}
