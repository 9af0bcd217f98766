/* A driver without a device: what the node sends to itself comes back later, now and then not at all, twice, out of order,
 * or with a wrong bit. */
#include "net/net.h"

#include "lossy.h"

struct flight {
    struct timer timer; /* first: expire() gets its address */
    struct packet *packet;
};

static struct lossy how;
static struct lossy_counts counts;

static uint64_t number(void)
{
    how.seed = how.seed * 6364136223846793005ull + 1442695040888963407ull;
    return how.seed >> 33;
}

static bool happens(uint64_t *count)
{
    bool yes = how.once_in && number() % how.once_in == 0;
    *count += yes;
    return yes;
}

static void arrive(struct timer *timer)
{
    struct flight *flight = (struct flight *)timer;
    struct packet *packet = flight->packet;
    memory_give(flight, sizeof *flight);
    ip_receive(packet);
}

static void fly(struct packet *packet, uint64_t ns)
{
    struct flight *flight = memory_take(sizeof *flight);
    *flight = (struct flight){.packet = packet};
    timer_set(&flight->timer, csr_read(time) + ticks_of_ns(ns), arrive);
}

static void transmit(struct packet *packet, uint32_t rank)
{
    check(rank == boot.ni.rank, "a packet to another node");
    counts.packets++;
    if (happens(&counts.lost))
        return packet_free(packet);
    if (happens(&counts.doubled)) {
        struct packet *twin = packet_new(packet->bytes);
        memory_copy(twin->data, packet->data, packet->bytes);
        fly(twin, how.latency_ns + number() % how.latency_ns);
    }
    if (happens(&counts.broken))
        packet->data[number() % packet->bytes] ^= 1 << number() % 8;
    bool late = happens(&counts.late);
    fly(packet, how.latency_ns * (late ? 4 : 1));
}

static bool start(void) { return true; }

static void interrupt(void) { panic("there is no device"); }

static int64_t control(uint64_t request, uint64_t argument)
{
    if (request == LOSSY_SET)
        return copy_from_user(&how, argument, sizeof how);
    if (request == LOSSY_COUNTS)
        return copy_to_user(argument, &counts, sizeof counts);
    return -ENOTTY;
}

static const struct driver lossy = {
    .start = start, .interrupt = interrupt, .control = control, .transmit = transmit, .mtu = 1500};
DRIVER driver_lossy = &lossy;
