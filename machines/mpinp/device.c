/* The MPI device over the thin firmware (mpinp/bip): the library matches, the network processor moves messages.
 *
 * A message is composed in a slot of the process's window of the card's memory, by stores across the I/O bus, and counted at
 * the doorbell. What comes lies in the ring on the host, where the card's DMA has written it past the caches' copies; no
 * load crosses the I/O bus. Each process has credit at each other one, for as many messages as the other's ring keeps free for
 * it; what has been taken is told by the end of the next message that goes the other way, or by one without an envelope, for
 * which the ring has room besides.
 */
#include "mpi/device.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "registers.h"

#define PAGE 4096u
#define SLOT CHASQUI_MPINP_SLOT_BYTES
#define END sizeof(struct chasqui_mpinp_end)

struct peer {
    uint32_t node;
    uint16_t process;
    uint32_t sent, credited; /* messages to it, and those of them that it has done with */
    uint32_t taken, told;    /* messages of its that are done with, and those of them that it knows of */
};

static struct peer *peers;
static uint32_t here, ranks;
static volatile char *window;
static char *host;
static uint32_t slots, ring; /* of the window, and of the ring on the host */
static uint32_t filled;      /* slots of the window */
static uint64_t dealt_with;     /* messages that were dealt with */
static uint32_t credit;      /* messages to a peer that may be under way */
static uint32_t *owed;       /* ranks whose credit waits for a slot of the window, and how many those are */
static uint32_t owed_count;

/* Earlier stores reach the card before the doorbell that follows. */
static inline void fence_before_doorbell(void) { __asm__ volatile("fence o, o" : : : "memory"); }
/* What the card has written last comes before the loads that follow. */
static inline void fence_after_arrival(void) { __asm__ volatile("fence r, r" : : : "memory"); }

static void place(struct peer *peer, const struct chasqui_ni_placement *p, uint32_t rank)
{
    peer->node = p->by_node ? rank % p->nodes : rank / p->ranks_per_node;
    peer->process = (uint16_t)(p->by_node ? rank / p->nodes : rank % p->ranks_per_node);
}

static bool mpinp_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    const struct chasqui_ni_placement *placement = chq_platform_placement(ni);
    here = ni->rank;
    ranks = ni->ranks;
    slots = (uint32_t)((ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES] - PAGE) / SLOT);
    ring = (uint32_t)((ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES] - PAGE) / SLOT);
    /* Of each peer two messages that bring credit alone may be under way besides. */
    credit = ring / ranks;
    if (credit < 3)
        chq_die("mpinp: rings have too few slots for so many ranks (mpinp.shared.host)");
    credit -= 2;
    window = chq_platform_map(ni_fd, CHASQUI_MPINP_REGION_WINDOW * CHASQUI_NI_REGION_STRIDE + CHASQUI_NI_REGION_STRIDE,
                              ni->regions[CHASQUI_MPINP_REGION_WINDOW].bytes);
    host = chq_platform_map(ni_fd, CHASQUI_MPINP_REGION_HOST * CHASQUI_NI_REGION_STRIDE + CHASQUI_NI_REGION_STRIDE,
                            ni->regions[CHASQUI_MPINP_REGION_HOST].bytes);
    peers = chq_malloc(ranks * sizeof *peers);
    owed = chq_malloc(ranks * sizeof *owed);
    if (!window || !host)
        return false;
    memset(peers, 0, ranks * sizeof *peers);
    for (uint32_t rank = 0; rank < ranks; rank++)
        place(&peers[rank], placement, rank);
    return true;
}

static void mpinp_close(void) {}

/* Stores `bytes` to the card, word by word. */
static volatile char *store(volatile char *to, const void *from, size_t bytes)
{
    const char *next = from;
    for (; bytes >= 8; bytes -= 8, next += 8, to += 8) {
        uint64_t word;
        chq_copy(&word, next, sizeof word);
        *(volatile uint64_t *)to = word;
    }
    if (bytes) {
        uint64_t word = 0;
        memcpy(&word, next, bytes);
        *(volatile uint64_t *)to = word;
        to += 8;
    }
    return to;
}

/* Slots of the window that have left. */
static inline uint32_t left(void) { return (uint32_t)*(volatile uint64_t *)(host + CHASQUI_MPINP_HOST_SENT); }

static void compose(struct peer *peer, const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    volatile char *slot = window + PAGE + filled % slots * SLOT;
    size_t padded = (bytes + 7) & ~(size_t)7;
    const struct chasqui_mpinp_slot head = {.node = peer->node, .bytes = (uint32_t)(padded + END)};
    struct chasqui_mpinp_end end = {
        .bytes = (uint32_t)bytes,
        .process = peer->process,
        .source = (uint16_t)here,
        .credit = peer->taken,
        .counts = envelope != NULL,
    };
    if (envelope)
        end.envelope = *envelope;
    peer->told = peer->taken;
    volatile char *to = store(slot, &head, sizeof head);
    to = store(to, payload, bytes);
    /* The number is the network processor's. */
    store(to, &end, END - sizeof end.number);
    filled++;
    fence_before_doorbell();
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = filled;
}

static bool mpinp_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct peer *peer = &peers[envelope->destination];
    if (unlikely(peer->sent - peer->credited == credit || filled - left() == slots))
        return false;
    peer->sent++;
    compose(peer, envelope, payload, bytes);
    MARK_READY(envelope);
    return true;
}

static inline bool is_due(const struct peer *peer) { return peer->taken - peer->told >= (credit + 1) / 2; }

/* Credit goes back to those that wait for it, unless it has gone with a message. */
static void give_back(void)
{
    while (owed_count > 0) {
        struct peer *peer = &peers[owed[owed_count - 1]];
        if (is_due(peer)) {
            if (filled - left() == slots)
                return;
            compose(peer, NULL, NULL, 0);
        }
        owed_count--;
    }
}

/* A message of rank `source` has been dealt with. Half of its credit goes back at a time. */
static void taken(uint32_t source)
{
    struct peer *peer = &peers[source];
    peer->taken++;
    if (peer->taken - peer->told == (credit + 1) / 2)
        owed[owed_count++] = source;
    give_back();
}

/* At most a ring: a sender that is faster would keep a process that waits from what it waits for. */
static void mpinp_poll(void)
{
    give_back();
    for (uint32_t most = ring; most > 0; most--) {
        const char *slot = host + PAGE + dealt_with % ring * SLOT;
        const struct chasqui_mpinp_end *end = (const void *)(slot + SLOT - END);
        if (*(volatile const uint64_t *)&end->number != dealt_with + 1)
            return;
        fence_after_arrival();
        dealt_with++;
        struct peer *peer = &peers[end->source];
        peer->credited = end->credit;
        if (!end->counts)
            continue;
        size_t padded = (end->bytes + 7) & ~(size_t)7;
        uint32_t source = end->source;
        mpi_arrived(&end->envelope, (const char *)end - padded, end->bytes);
        taken(source);
    }
}

struct mpi_device mpi_device_mpinp = {
    .name = "mpinp",
    .id = CHASQUI_MPINP_DEVICE,
    .interface = CHASQUI_MPINP_INTERFACE,
    .open = mpinp_open,
    .close = mpinp_close,
    .eager_bytes_max = CHASQUI_MPINP_SLOT_DATA_BYTES,
    .send = mpinp_send,
    .poll = mpinp_poll,
};
