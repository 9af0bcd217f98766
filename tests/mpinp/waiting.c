/* Three cards' protocol, where channels are a cache with one table, by steps: headers that wait, and their credit.
 *
 * Usage: waiting WHAT (kept: a RETRACT waits until its message is no longer shown; off: control that has no room). No card may
 * find a fault, and at rest each has all it wants.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"

enum { A, B, C, CARDS };
#define HEADERS 64

static struct protocol cards[CARDS];
static struct {
    struct protocol_header headers[HEADERS];
    unsigned count, taken;
} wires[CARDS][CARDS];
static struct {
    unsigned channel;
    struct protocol_header header;
} off[HEADERS];
static unsigned off_count;
/* Receives whose messages are in the host's memory. */
static struct {
    unsigned card;
    uint32_t number;
} landed[HEADERS];
static unsigned landed_count, completed;
static int full = -1; /* card whose queue is full */

static unsigned number_of(const struct protocol *p) { return (unsigned)(p - cards); }

static void put(unsigned from, unsigned to, const struct protocol_header *header)
{
    printf("%c to %c: kind %u, message %u, credit %u and %u\n", 'A' + from, 'A' + to, header->kind, header->message,
           header->credit_slots, header->credit_units);
    wires[from][to].headers[wires[from][to].count++] = *header;
}

void environment_transmit(struct protocol *p, unsigned channel, const struct protocol_header *header,
                          const struct protocol_send *send)
{
    if (send || (int)number_of(p) != full) {
        put(number_of(p), channel, header);
        return;
    }
    protocol_put_off(p, channel, header);
    off[off_count].channel = channel;
    off[off_count++].header = *header;
}

/* The queue has room again. */
static void put_what_was_off(void)
{
    unsigned card = (unsigned)full;
    full = -1;
    for (unsigned i = 0; i < off_count; i++) {
        struct protocol_header header = off[i].header;
        header.credit_slots = 0;
        header.credit_units = 0;
        protocol_goes(&cards[card], off[i].channel, &header);
        put(card, off[i].channel, &header);
    }
    off_count = 0;
}

void environment_store(struct protocol *p, unsigned channel, unsigned slot, const struct protocol_header *header)
{
    (void)p, (void)channel, (void)slot, (void)header;
}

void environment_land(struct protocol *p, const struct protocol_header *header, const struct protocol_receive *receive)
{
    (void)header;
    landed[landed_count].card = number_of(p);
    landed[landed_count++].number = receive->number;
}

void environment_discard(struct protocol *p, unsigned channel, const struct protocol_header *header)
{
    (void)p, (void)channel, (void)header;
}

void environment_deliver(struct protocol *p, const struct protocol_receive *receive)
{
    environment_land(p, NULL, receive);
}

void environment_claim(struct protocol *p, const struct protocol_receive *receive, unsigned slot)
{
    (void)p, (void)receive, (void)slot;
}
void environment_release(struct protocol *p, unsigned channel, unsigned slot) { (void)p, (void)channel, (void)slot; }
void environment_unclaimed(struct protocol *p, unsigned channel, unsigned slot) { (void)p, (void)channel, (void)slot; }
void environment_crowded(struct protocol *p, unsigned channel) { (void)p, (void)channel; }
void environment_cache(struct protocol *p, enum protocol_cache_event event) { (void)p, (void)event; }

void environment_send_complete(struct protocol *p, unsigned channel, uint32_t request, enum protocol_result result)
{
    (void)p, (void)channel, (void)request, (void)result;
}

void environment_receive_complete(struct protocol *p, const struct protocol_receive *receive,
                                  enum protocol_result result)
{
    (void)p, (void)receive, (void)result;
    completed++;
}

_Noreturn void environment_fault(struct protocol *p, const char *reason)
{
    printf("fault of card %c: %s\n", 'A' + number_of(p), reason);
    exit(1);
}

static void begin(uint32_t slots)
{
    for (unsigned card = 0; card < CARDS; card++) {
        protocol_begin(
            &cards[card],
            &(struct protocol_settings){
                .unit_bytes = 128, .buffer_units = 36, .table_slots = slots, .channels = CARDS, .places = 1});
        for (unsigned channel = 0; channel < CARDS; channel++)
            protocol_open(&cards[card], channel, 0);
    }
}

static struct protocol_header next(unsigned from, unsigned to)
{
    return wires[from][to].headers[wires[from][to].taken++];
}

static void take(unsigned from, unsigned to)
{
    struct protocol_header header = next(from, to);
    protocol_arrived(&cards[to], from, &header);
}

static void take_all(unsigned from, unsigned to)
{
    while (wires[from][to].taken < wires[from][to].count)
        take(from, to);
}

static void serve(unsigned card)
{
    while (protocol_serve(&cards[card]))
        ;
}

static void deliver(void)
{
    while (landed_count > 0) {
        landed_count--;
        protocol_delivered(&cards[landed[landed_count].card], landed[landed_count].number);
    }
}

static void come_to_rest(void)
{
    for (unsigned i = 0; i < 20 * CARDS * CARDS; i++) {
        deliver();
        take_all(i / CARDS % CARDS, i % CARDS);
        serve(i / CARDS % CARDS);
    }
}

static void post(unsigned from, unsigned to, uint32_t bytes, int32_t tag, uint16_t flags)
{
    struct protocol_send send = {.bytes = bytes, .tag = tag, .flags = flags, .request = (uint32_t)tag};
    if (!protocol_post_send(&cards[from], to, &send))
        exit(2);
    serve(from);
}

static void receive(unsigned card, uint16_t source, int32_t tag)
{
    uint32_t number;
    struct protocol_receive_request request = {
        .source = source, .tag = tag, .capacity_bytes = 100000, .request = (uint32_t)tag};
    protocol_post_receive(&cards[card], &request, &number);
}

/* B's RETRACT of A's message waits while A's table is B's, and goes on when it is C's. */
static void keep(void)
{
    begin(32);
    post(B, A, 100, 1, 0);
    take_all(B, A), take_all(A, B);
    serve(B);
    take_all(B, A);
    protocol_left(&cards[B], A, 0);
    receive(A, B, 1);
    deliver();
    take_all(A, B);
    post(A, B, 100, 2, SEND_IS_SYNCHRONOUS);
    take_all(A, B), take_all(B, A);
    serve(A);
    take_all(A, B);
    protocol_left(&cards[A], B, 0);
    /* RECV_REQ and SEND_REQ cross: the slot of RECV_REQ is owed when A withdraws its message. */
    post(B, A, 10000, 3, 0);
    receive(A, B, 3);
    take_all(B, A), take_all(A, B);
    serve(B);
    take_all(B, A);
    protocol_cancel_send(&cards[A], B, 2);
    struct protocol_header kept = next(A, B);
    protocol_kept(&cards[B], A, &kept);
    post(C, A, 100, 4, 0);
    take_all(C, A), take_all(A, B), take_all(B, A);
    protocol_left(&cards[B], A, 1);
    deliver();
    take_all(A, B);
    protocol_arrived(&cards[B], A, &kept);
    post(B, A, 0, 5, 0);
    take_all(B, A);
}

/* A's queue has no room: B wants a receive's message, and a lease. */
static void put_off(void)
{
    begin(1);
    receive(B, A, 9);
    post(B, A, 100, 1, 0);
    post(B, A, 100, 2, 0);
    full = A;
    take_all(B, A);
    put_what_was_off();
    take(A, B);
    serve(B);
    take_all(A, B);
    serve(B);
    take_all(B, A);
    protocol_left(&cards[B], A, 0);
    post(C, A, 100, 3, 0);
    take_all(C, A), take_all(A, B);
    serve(B);
    for (int32_t tag = 1; tag <= 3; tag++)
        receive(A, PROTOCOL_ANY_SOURCE, tag);
    come_to_rest();
    if (completed < 3)
        environment_fault(&cards[A], "a table is never given back");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "kept"))
        keep();
    else
        put_off();
    puts("waiting: PASSED");
    return 0;
}
