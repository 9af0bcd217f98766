/* The MPI device over the thin firmware (mpinp/bip): the library matches, the network processor moves messages.
 *
 * A message is composed in a slot of the process's window of the card's memory, by stores across the I/O bus, and counted at
 * the doorbell. Data of long messages the card fetches and delivers itself (long.h). What comes lies in the ring on the host,
 * where the card's DMA has written it past the caches' copies; no load crosses the I/O bus. Each process has credit at each
 * other one, for as many messages as the other's ring keeps free for it; what has been taken is told by the head of the next
 * message that goes the other way, or by one without an envelope, for which the ring has room besides. The card holds each
 * process to its credit.
 */
#include "mpi/device.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "registers.h"

#define PAGE 4096u
#define SLOT CHASQUI_MPINP_SLOT_BYTES
#define END sizeof(struct chasqui_mpinp_end)

/* Who has the next credit, or slot (turns.h). */
enum side { LIBRARY, DEVICE };
struct turn {
    bool library_waits, is_devices; /* of both, the device waited first */
    uint8_t device_waits; /* for what: a bit each */
};

struct peer {
    uint16_t node, process;
    uint32_t sent, credited; /* messages to it, and those of them that it has done with */
    uint32_t taken, told;    /* messages of its that are done with, and those of them that it knows of */
    bool is_owed;            /* it is among those that are owed credit */
    struct turn turn;        /* of the credit at it */
};

static struct peer *peers;
static struct chasqui_ni_placement placement;
static volatile char *window;
static char *host;
static uint32_t slots, ring; /* of the window, and of the ring on the host */
static volatile char *slot;  /* of the window, the next one */
static uint32_t filled;      /* slots of the window */
static uint32_t left;        /* those of them that have left */
static const char *arrival;  /* of the ring, the next slot */
static uint32_t dealt_with;  /* messages */
static uint32_t credit;      /* messages to a peer that may be under way */
static uint32_t *owed;       /* ranks whose credit waits for a slot of the window, and how many those are */
static uint32_t owed_count;

#ifdef MPINP_TAGS
#include "tags/tags.h"
#else
/* Here the library matches all. */
static inline bool tags_answered(const struct chasqui_mpinp_end *end)
{
    (void)end;
    return false;
}
static inline bool tags_arrived(const struct chasqui_mpinp_end *end)
{
    (void)end;
    return false;
}
#endif

/* Earlier stores reach the card before the doorbell that follows. */
static inline void fence_before_doorbell(void) { __asm__ volatile("fence o, o" : : : "memory"); }
/* What the card has written last comes before the loads that follow. */
static inline void fence_after_arrival(void) { __asm__ volatile("fence r, r" : : : "memory"); }

static void place(struct peer *peer, uint32_t rank)
{
    const struct chasqui_ni_placement *p = &placement;
    peer->node = (uint16_t)(p->by_node ? rank % p->nodes : rank / p->ranks_per_node);
    peer->process = (uint16_t)(p->by_node ? rank / p->nodes : rank % p->ranks_per_node);
}

static inline struct peer *peer_at(uint32_t node, uint32_t process)
{
    return &peers[placement.by_node ? process * placement.nodes + node : node * placement.ranks_per_node + process];
}

static bool mpinp_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    placement = *chq_platform_placement(ni);
    slots = (uint32_t)((ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES] - PAGE) / SLOT);
    ring = (uint32_t)((ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES] - PAGE) / SLOT);
    credit = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_CREDIT];
    window = chq_platform_map(ni_fd, CHASQUI_MPINP_REGION_WINDOW * CHASQUI_NI_REGION_STRIDE + CHASQUI_NI_REGION_STRIDE,
                              ni->regions[CHASQUI_MPINP_REGION_WINDOW].bytes);
    host = chq_platform_map(ni_fd, CHASQUI_MPINP_REGION_HOST * CHASQUI_NI_REGION_STRIDE + CHASQUI_NI_REGION_STRIDE,
                            ni->regions[CHASQUI_MPINP_REGION_HOST].bytes);
    peers = chq_malloc(ni->ranks * sizeof *peers);
    owed = chq_malloc(ni->ranks * sizeof *owed);
    if (!window || !host)
        return false;
    slot = window + PAGE;
    arrival = host + PAGE;
    memset(peers, 0, ni->ranks * sizeof *peers);
    for (uint32_t rank = 0; rank < ni->ranks; rank++)
        place(&peers[rank], rank);
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

/* The later of the counts of slots that have left is right. */
static inline void note_left(uint32_t count)
{
    if ((int32_t)(count - left) > 0)
        left = count;
}

static bool is_full(void)
{
    if (likely(filled - left < slots))
        return false;
    note_left(*(volatile uint32_t *)(host + CHASQUI_MPINP_HOST_SENT));
    return filled - left == slots;
}

#include "turns.h"

static void compose(struct peer *peer, const struct chasqui_envelope *envelope, const void *payload, size_t bytes,
                    uint32_t counts)
{
    const struct chasqui_mpinp_head head = {
        .node = peer->node,
        .process = peer->process,
        .bytes = (uint16_t)bytes,
        .credit = peer->taken,
        .counts = counts,
    };
    peer->told = peer->taken;
    volatile char *to = store(slot, &head, sizeof head);
    to = store(to, payload, bytes);
    if (envelope)
        store(to, envelope, sizeof *envelope);
    slot = slot + SLOT == window + PAGE + slots * SLOT ? window + PAGE : slot + SLOT;
    filled++;
    fence_before_doorbell();
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = filled;
}

#include "long.h"

/* There is a place for a packet of the library's to the process, and it has it. */
static __attribute__((noinline)) bool library_has_place(struct peer *peer)
{
    if (!has_credit(peer, LIBRARY) || !library_has_slot(lacked_slot && device_lacks_slot())) {
        library_waits(&peer->turn);
        return false;
    }
    went(&peer->turn, LIBRARY);
    went(&window_turn, LIBRARY);
    return true;
}

static bool mpinp_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct peer *peer = &peers[envelope->destination];
    if (unlikely((waits_count | owed_count) || peer->sent - peer->credited == credit || is_full()))
        if (!library_has_place(peer))
            return false;
    peer->sent++;
    /* A receive that has room for nothing was not exposed. */
    if (unlikely(envelope->kind == CHASQUI_PACKET_CLEAR_TO_SEND && bytes > 0 && envelope->bytes > 0))
        send_clear(peer, envelope, payload);
    else
        compose(peer, envelope, payload, bytes, CHASQUI_MPINP_ARRIVED_MESSAGE);
    MARK_READY(envelope);
    return true;
}

/* Half of its credit goes back at a time. */
static inline bool is_due(const struct peer *peer) { return peer->taken - peer->told >= (credit + 1) / 2; }

/* Credit goes back to those that wait for it, unless it has gone with a message. */
static void give_back(void)
{
    while (owed_count > 0) {
        struct peer *peer = &peers[owed[owed_count - 1]];
        if (is_due(peer)) {
            if (unlikely(!device_has_slot()))
                return;
            went(&window_turn, DEVICE);
            compose(peer, NULL, NULL, 0, 0);
        }
        peer->is_owed = false;
        owed_count--;
    }
}

/* A message of the peer's has been dealt with. */
static void taken(struct peer *peer)
{
    peer->taken++;
    if (is_due(peer) && !peer->is_owed) {
        peer->is_owed = true;
        owed[owed_count++] = (uint32_t)(peer - peers);
    }
    give_back();
}

/* A slot of the ring is filled. */
static inline void arrived(const struct chasqui_mpinp_end *end)
{
    struct peer *peer = peer_at(end->head.node, end->head.process);
    /* A long message's end may come behind what was sent after it. */
    if ((int32_t)(end->head.credit - peer->credited) > 0)
        peer->credited = end->head.credit;
    note_left(end->sent);
    if (!end->head.counts)
        return;
    size_t padded = (end->head.bytes + 7u) & ~(size_t)7;
    const char *data = (const char *)end - padded;
    if (unlikely(end->head.counts & (CHASQUI_MPINP_SLOT_PUTS | CHASQUI_MPINP_SLOT_PART)))
        long_arrived(peer, end, data);
    else if (!tags_arrived(end))
        mpi_arrived(&end->envelope, data, end->head.bytes);
    taken(peer);
}

/* At most a ring: a sender that is faster would keep a process that waits from what it waits for. */
static void mpinp_poll(void)
{
    give_back();
    for (uint32_t most = ring; most > 0; most--) {
        const struct chasqui_mpinp_end *end = (const void *)(arrival + SLOT - END);
        if (*(volatile const uint32_t *)&end->number != dealt_with + 1)
            break;
        fence_after_arrival();
        dealt_with++;
        arrival = arrival + SLOT == host + PAGE + ring * SLOT ? host + PAGE : arrival + SLOT;
        if (!tags_answered(end))
            arrived(end);
    }
    long_poll();
}

#ifndef MPINP_TAGS
struct mpi_device mpi_device_mpinp;

/* Without pages that the card knows the library sends long messages in segments. */
static bool thin_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    if (!mpinp_open(ni, ni_fd))
        return false;
    if (!long_open(ni, ni_fd)) {
        mpi_device_mpinp.put = NULL;
        mpi_device_mpinp.expose = NULL;
    }
    return true;
}

struct mpi_device mpi_device_mpinp = {
    .name = "mpinp",
    .id = CHASQUI_MPINP_DEVICE,
    .interface = CHASQUI_MPINP_INTERFACE,
    .open = thin_open,
    .close = mpinp_close,
    .eager_bytes_max = CHASQUI_MPINP_SLOT_DATA_BYTES,
    .send = mpinp_send,
    .poll = mpinp_poll,
    .put = mpinp_put,
    .expose = mpinp_expose,
};
#endif
