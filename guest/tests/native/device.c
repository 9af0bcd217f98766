/* A device for tests on the host: rings in shared memory, small on purpose.
 *
 * Settings (environment): CHQ_NATIVE_SLOTS packets a ring, CHQ_NATIVE_EAGER longest payload,
 * CHQ_NATIVE_PUT 0: no put, CHQ_NATIVE_TAKE 1: payloads are not in memory, CHQ_NATIVE_SEED: not 0:
 * refuse sends and hold back arrivals now and then, by random numbers from this seed,
 * CHQ_NATIVE_COLLECTIVE 1: some collectives are done in hardware (collective.c), CHQ_NATIVE_SLEEP 1: a process that waits
 * sleeps, as over sockets: the first send to each process is refused, as one is that must connect first, and a poll that
 * finds room forgets who waited for it, CHQ_NATIVE_TRANSPORT 1: not host matching, but linear lists (linear.c).
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/device.h"
#include "native.h"

void *chq_platform_map(int ni_fd, uint64_t offset, size_t bytes);

static struct native_ring *rings;
static uint32_t rank, ranks;
static uint64_t slots;
static int take_only;
static int in_parts; /* Messages come in two parts: the payload with the next poll. */
static bool *connected, *refused; /* With CHQ_NATIVE_SLEEP, by destination; else null. */
static uint64_t random_state;
static const uint8_t *arriving; /* Payload that `take` may copy. */

/* By source: the message whose first part has come and whose receive is known; null: none. */
static struct begun {
    struct request *request;
    void *to;
} *begun;

/* A put under way: cut into pieces of the payload's size, in order. */
struct put {
    struct put *next;
    struct chasqui_envelope fin;
    const uint8_t *from;
    uint64_t to;
    size_t left;
};
static struct put *puts;
enum { PUTS_MAX = 2 };

extern struct mpi_device mpi_device_native;

static struct native_ring *ring_of(uint32_t from, uint32_t to) { return &rings[(size_t)from * ranks + to]; }

/* True once in `n`, when a seed was given. */
static int sometimes(unsigned n)
{
    if (!random_state)
        return 0;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n == 0;
}

static bool has_room(const struct native_ring *ring)
{
    return ring->written - __atomic_load_n(&ring->read, __ATOMIC_ACQUIRE) < slots;
}

/* Whether a poll may find something, or a send that was refused have room. */
static bool is_anything_there(void)
{
    if (puts || native_collective_is_under_way())
        return true;
    for (uint32_t i = 0; i < ranks; i++) {
        const struct native_ring *arrivals = ring_of(i, rank);
        if (arrivals->read != __atomic_load_n(&arrivals->written, __ATOMIC_ACQUIRE))
            return true;
        if (refused[i] && has_room(ring_of(rank, i)))
            return true;
    }
    return false;
}

static void native_wait(void)
{
    while (!is_anything_there())
        sched_yield();
}

/* Of sends that were refused and now have room: the library asks again. */
static void forget_refused(void)
{
    for (uint32_t to = 0; refused && to < ranks; to++) {
        if (refused[to] && has_room(ring_of(rank, to))) {
            connected[to] = true;
            refused[to] = false;
        }
    }
}

static bool native_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    rank = ni->rank;
    ranks = ni->ranks;
    rings = chq_platform_map(ni_fd, 0, native_memory_bytes(ranks));
    slots = (uint64_t)native_setting("CHQ_NATIVE_SLOTS", 4);
    take_only = native_setting("CHQ_NATIVE_TAKE", 0) != 0;
    in_parts = native_setting("CHQ_NATIVE_PARTS", 0) != 0;
    begun = calloc(ranks, sizeof *begun);
    if (!begun)
        return false;
    if (native_setting("CHQ_NATIVE_SLEEP", 0)) {
        connected = calloc(ranks, sizeof *connected);
        refused = calloc(ranks, sizeof *refused);
        if (!connected || !refused)
            return false;
        mpi_device_native.wait = native_wait;
    }
    random_state = (uint64_t)native_setting("CHQ_NATIVE_SEED", 0) * 0x9e3779b97f4a7c15ull;
    if (random_state)
        random_state += rank + 1;
    mpi_device_native.eager_bytes_max = (size_t)native_setting("CHQ_NATIVE_EAGER", 64);
    if (!native_setting("CHQ_NATIVE_PUT", 1))
        mpi_device_native.put = NULL;
    if (!rings)
        return false;
    native_collective_open((struct native_units *)((char *)rings + native_rings_bytes(ranks)));
    if (native_setting("CHQ_NATIVE_TRANSPORT", 0))
        mpi_device_native.transport = &native_linear;
    if (native_setting("CHQ_NATIVE_COLLECTIVE", 0))
        mpi_device_native.collective = native_collective;
    return true;
}

static void native_close(void) {}

static bool push(const struct chasqui_envelope *envelope, const void *payload, size_t bytes, uint64_t address)
{
    struct native_ring *ring = ring_of(rank, envelope->destination);
    uint64_t written = ring->written;
    if ((connected && !connected[envelope->destination]) || !has_room(ring) || sometimes(5)) {
        if (refused)
            refused[envelope->destination] = true;
        return false;
    }
    struct native_slot *slot = &ring->slots[written % slots];
    slot->envelope = *envelope;
    slot->address = address;
    slot->bytes = bytes;
    if (bytes)
        memcpy(slot->payload, payload, bytes);
    __atomic_store_n(&ring->written, written + 1, __ATOMIC_RELEASE);
    return true;
}

static bool native_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    if (bytes > mpi_device_native.eager_bytes_max || envelope->destination == rank || envelope->destination >= ranks)
        abort();
    return push(envelope, payload, bytes, 0);
}

static bool native_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    int count = 0;
    struct put **link = &puts;
    for (; *link; link = &(*link)->next)
        count++;
    if (count >= PUTS_MAX || sometimes(3))
        return false;
    *link = malloc(sizeof **link);
    **link = (struct put){NULL, *fin, from, to, bytes};
    return true;
}

/* Moves what there is room for; the FIN goes behind the last piece. */
static void puts_step(void)
{
    struct put **link = &puts, *put;
    while ((put = *link)) {
        while (put->left > 0) {
            size_t piece =
                put->left < mpi_device_native.eager_bytes_max ? put->left : mpi_device_native.eager_bytes_max;
            if (!push(&put->fin, put->from, piece, put->to))
                break;
            put->from += piece;
            put->to += piece;
            put->left -= piece;
        }
        if (put->left > 0 || !push(&put->fin, NULL, 0, 0)) {
            link = &put->next;
            continue;
        }
        uint64_t sender = put->fin.sender;
        *link = put->next;
        free(put);
        mpi_put_done(sender);
        link = &puts;
    }
}

static void deliver(struct native_slot *slot)
{
    if (slot->address) {
        memcpy((void *)(uintptr_t)slot->address, slot->payload, slot->bytes);
        return;
    }
    arriving = slot->payload;
    mpi_arrived(&slot->envelope, take_only || slot->bytes == 0 ? NULL : slot->payload, slot->bytes);
    arriving = NULL;
}

/* False: its first part only. */
static bool deliver_in_parts(struct native_slot *slot, struct begun *message)
{
    if (message->request) {
        struct request *request = message->request;
        message->request = NULL;
        if (slot->bytes > 0)
            memcpy(message->to, slot->payload, slot->bytes);
        mpi_placed(request);
        return true;
    }
    if (!slot->address)
        message->request = mpi_begins(&slot->envelope, &message->to);
    if (!message->request)
        deliver(slot);
    return !message->request;
}

static void native_poll(void)
{
    forget_refused();
    puts_step();
    native_collective_poll();
    for (uint32_t from = 0; from < ranks; from++) {
        struct native_ring *ring = ring_of(from, rank);
        while (ring->read != __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE) && !sometimes(7)) {
            struct native_slot *slot = &ring->slots[ring->read % slots];
            if (!in_parts)
                deliver(slot);
            else if (!deliver_in_parts(slot, &begun[from]))
                break;
            __atomic_store_n(&ring->read, ring->read + 1, __ATOMIC_RELEASE);
        }
    }
}

static void native_take(void *to, size_t bytes)
{
    if (!arriving)
        abort(); /* Taken twice, or outside an upcall. */
    memcpy(to, arriving, bytes);
    arriving = NULL;
}

struct mpi_device mpi_device_native = {
    .name = "native",
    .id = NATIVE_DEVICE_ID,
    .open = native_open,
    .close = native_close,
    .send = native_send,
    .poll = native_poll,
    .take = native_take,
    .put = native_put,
};
