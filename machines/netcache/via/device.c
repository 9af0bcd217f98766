/* The MPI device over VIA: a VI for each other process, connected in MPI_Init.
 *
 * Short messages: the sender copies envelope and data into a registered buffer and posts a send descriptor. The receiver
 * keeps `receives` descriptors with buffers posted at each VI; it polls the completion queue that all VIs share, hands what
 * has come to the library, which copies it to its place, and posts the descriptor again. What comes before its receive
 * stays in its buffer until then (hold), and a spare one is posted while these last: it is copied once (7.3). There are no
 * credits: the message that finds no descriptor is dropped by the NIC and sent again by the other's (Khunjush, 7.1.2).
 *
 * Variant via-zero-copy: only the envelope comes so. The data follow over a second VI, at which nothing is posted: they
 * wait in the NIC until the library has matched the envelope and this device posts a descriptor with the program's
 * own buffer, to which the NIC writes them.
 *
 * Long messages, after the library's rendezvous: RDMA writes from the program's buffer to the program's buffer, which
 * are registered through a cache (regcache.h); then a message that says so. */
#include "mpi/device.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/process.h"
#include "regcache.h"
#include "vipl.h"

#define PAGE 4096u
#define ALIGNED __attribute__((aligned(64)))

/* A buffer that is registered. Sending with zero copy takes both descriptors. */
struct buffer {
    VIP_DESCRIPTOR descriptor, second;
    struct buffer *next_free;
    unsigned under_way; /* descriptors that are not complete */
    struct chasqui_envelope envelope;
    char data[];
} ALIGNED;

/* A long message on its way out. */
struct put {
    VIP_DESCRIPTOR descriptor;
    struct put *next_free;
    const void *from;
    size_t bytes;
    uint64_t sender; /* the request to notify when it is done */
} ALIGNED;

struct peer {
    struct vip_vi vi, data;
    struct peer *next_busy;
    bool is_busy; /* descriptors for sending are under way */
};

static struct vip_nic nic;
static struct vip_cq arrivals;
static struct peer *peers;
static size_t eager, stride;
static bool zero_copy;
static VIP_MEM_HANDLE registered; /* handle of everything below */
static struct buffer *free_buffers;
static struct buffer *spares;          /* For receiving: posted instead of those that are kept. */
static struct buffer *arriving;        /* Whose message is dealt with; null: it is kept. */
static struct put *free_puts;
static struct peer *busy;
static unsigned puts; /* under way */
static VIP_DESCRIPTOR *direct; /* for data that go to the program's buffer */
static char *scrap;            /* for data that are not wanted */
static struct vip_vi *current; /* over which the data of the message come that is dealt with */
static size_t current_bytes;
static bool taken;
extern struct mpi_device mpi_device_via;

/* --- beginning ---------------------------------------------------------------------------------------- */

/* What is registered at the start. */
struct layout {
    size_t receives, spares, slots, entries; /* numbers of each */
    size_t buffers_at, slots_at, puts_at, entries_at, direct_at, scrap_at, counter_at, bytes;
};

static size_t place(size_t *end, size_t bytes)
{
    size_t at = (*end + 63) & ~(size_t)63;
    *end = at + bytes;
    return at;
}

static struct layout layout_of(const struct chasqui_ni_identification *ni)
{
    struct layout l = {
        .receives = (ni->ranks - 1) * ni->settings[CHASQUI_VIA_SETTING_RECEIVES],
        .spares = zero_copy ? 0 : ni->settings[CHASQUI_VIA_SETTING_SPARE],
        .slots = ni->settings[CHASQUI_VIA_SETTING_SLOTS],
        .entries = 2,
    };
    while (l.entries < l.receives)
        l.entries *= 2;
    l.buffers_at = place(&l.bytes, (l.receives + l.spares) * stride);
    l.slots_at = place(&l.bytes, l.slots * stride);
    l.puts_at = place(&l.bytes, l.slots * sizeof(struct put));
    l.entries_at = place(&l.bytes, l.entries * sizeof(struct chasqui_via_entry));
    l.direct_at = place(&l.bytes, sizeof(VIP_DESCRIPTOR));
    l.scrap_at = place(&l.bytes, eager);
    l.counter_at = place(&l.bytes, sizeof(uint64_t));
    return l;
}

/* Memory that begins with a page and is zero. */
static char *new_pages(size_t bytes)
{
    char *block = malloc(bytes + PAGE);
    if (!block)
        return NULL;
    char *pages = block + (-(uintptr_t)block & (PAGE - 1));
    memset(pages, 0, bytes);
    return pages;
}

static void segment(struct chasqui_via_segment *segment, const void *address, VIP_MEM_HANDLE handle, size_t bytes)
{
    *segment = (struct chasqui_via_segment){.address = (uintptr_t)address, .handle = handle, .bytes = (uint32_t)bytes};
}

/* Its descriptor is for what comes into the buffer. */
static void prepare_receive(struct buffer *buffer)
{
    buffer->descriptor.segments = 1;
    segment(&buffer->descriptor.segment[0], &buffer->envelope, registered, sizeof buffer->envelope + eager);
}

/* The descriptor takes what comes into the buffer. */
static void post_receive(struct peer *peer, struct buffer *buffer)
{
    if (VipPostRecv(&peer->vi, &buffer->descriptor, registered) != VIP_SUCCESS)
        chq_die("VIA: a receive queue is full");
}

static void create_vi(uint32_t number, struct vip_cq *receive, struct vip_vi *vi)
{
    VIP_RETURN done = VipCreateVi(&nic, number, NULL, receive, vi);
    if (done == VIP_ERROR_RESOURCE)
        chq_die("VIA: the kernel has no memory for another VI (node.software.kernel_memory, netcache.via.depth)");
    if (done != VIP_SUCCESS)
        chq_die("VIA: a VI can't be created");
}

static bool connect_peer(const struct chasqui_ni_identification *ni, uint32_t rank, char *buffers)
{
    struct peer *peer = &peers[rank];
    size_t count = ni->settings[CHASQUI_VIA_SETTING_RECEIVES];
    create_vi(rank, &arrivals, &peer->vi);
    peer->vi.owner = peer;
    for (size_t i = 0; i < count; i++) {
        struct buffer *buffer = (struct buffer *)(void *)(buffers + i * stride);
        prepare_receive(buffer);
        post_receive(peer, buffer);
    }
    if (zero_copy) {
        create_vi(ni->ranks + rank, NULL, &peer->data);
        if (VipConnectPeer(&peer->data, rank, ni->ranks + ni->rank) != VIP_SUCCESS)
            return false;
    }
    return VipConnectPeer(&peer->vi, rank, ni->rank) == VIP_SUCCESS;
}

static void make_free_lists(const struct layout *l, char *pages)
{
    for (size_t i = l->spares; i-- > 0;) {
        struct buffer *buffer = (struct buffer *)(void *)(pages + l->buffers_at + (l->receives + i) * stride);
        prepare_receive(buffer);
        buffer->next_free = spares;
        spares = buffer;
    }
    for (size_t i = l->slots; i-- > 0;) {
        struct buffer *buffer = (struct buffer *)(void *)(pages + l->slots_at + i * stride);
        buffer->next_free = free_buffers;
        free_buffers = buffer;
        struct put *put = (struct put *)(void *)(pages + l->puts_at) + i;
        put->next_free = free_puts;
        free_puts = put;
    }
}

/* What waits for room, or for a long message to leave, polls: those have no completion queue. */
static void via_wait(void)
{
    if (puts == 0 && !chq_is_blocked())
        VipCQWait(&arrivals);
}

static bool via_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    eager = ni->settings[CHASQUI_VIA_SETTING_EAGER];
    stride = (sizeof(struct buffer) + eager + 63) & ~(size_t)63;
    zero_copy = ni->settings[CHASQUI_VIA_SETTING_ZERO_COPY];
    struct layout l = layout_of(ni);
    size_t vis_bytes = ni->settings[CHASQUI_VIA_SETTING_VIS] * sizeof(struct vip_vi *);
    struct vip_vi **vis = malloc(vis_bytes);
    peers = malloc(ni->ranks * sizeof *peers);
    char *pages = new_pages(l.bytes);
    if (!vis || !peers || !pages || VipOpenNic(&nic, ni, ni_fd, vis) != VIP_SUCCESS)
        return false; // NOLINT(clang-analyzer-unix.Malloc): MPI_Init ends the program
    memset(peers, 0, ni->ranks * sizeof *peers);
    if (VipRegisterMem(&nic, pages, l.bytes, false, &registered) != VIP_SUCCESS)
        chq_die("VIA: the library's buffers can't be registered (netcache.via.table)");
    struct chasqui_via_entry *entries = (struct chasqui_via_entry *)(void *)(pages + l.entries_at);
    if (!regcache_begin(&nic, (volatile uint64_t *)(void *)(pages + l.counter_at)) ||
        VipCreateCQ(&nic, entries, (uint32_t)l.entries, registered, &arrivals) != VIP_SUCCESS)
        return false;
    direct = (VIP_DESCRIPTOR *)(void *)(pages + l.direct_at);
    scrap = pages + l.scrap_at;
    make_free_lists(&l, pages);
    char *buffers = pages + l.buffers_at;
    for (uint32_t rank = 0; rank < ni->ranks; rank++) {
        if (rank == ni->rank)
            continue;
        if (!connect_peer(ni, rank, buffers))
            return false;
        buffers += ni->settings[CHASQUI_VIA_SETTING_RECEIVES] * stride;
    }
    mpi_device_via.eager_bytes_max = eager;
    mpi_device_via.polls = !ni->settings[CHASQUI_VIA_SETTING_BLOCKS];
    return true;
}

static void via_close(void) {}

/* --- sending ------------------------------------------------------------------------------------------ */

static void sent(VIP_DESCRIPTOR *descriptor)
{
    if (descriptor->control == CHASQUI_VIA_CONTROL_RDMA_WRITE) {
        struct put *put = (struct put *)(void *)descriptor;
        regcache_release(put->from, put->bytes);
        put->next_free = free_puts;
        free_puts = put;
        puts--;
        mpi_put_done(put->sender);
        return;
    }
    /* post_send has written there how far the descriptor is behind its buffer's beginning. */
    size_t back = descriptor->reserved;
    struct buffer *buffer = (struct buffer *)(void *)((char *)descriptor - back);
    if (--buffer->under_way == 0) {
        buffer->next_free = free_buffers;
        free_buffers = buffer;
    }
}

static void reap_queue(struct vip_vi *vi)
{
    VIP_DESCRIPTOR *descriptor;
    VIP_RETURN done;
    while ((done = VipSendDone(vi, &descriptor)) == VIP_SUCCESS)
        sent(descriptor);
    if (unlikely(done == VIP_DESCRIPTOR_ERROR))
        chq_die("VIA: a connection has ended with an error");
}

/* Looks for sends that are complete. */
static void reap(void)
{
    struct peer **link = &busy, *peer;
    while ((peer = *link)) {
        reap_queue(&peer->vi);
        if (zero_copy)
            reap_queue(&peer->data);
        if (peer->vi.send.length > 0 || peer->data.send.length > 0) {
            link = &peer->next_busy;
        } else {
            *link = peer->next_busy;
            peer->is_busy = false;
        }
    }
}

static inline void note_busy(struct peer *peer)
{
    if (peer->is_busy)
        return;
    peer->is_busy = true;
    peer->next_busy = busy;
    busy = peer;
}

static inline bool has_room(const struct vip_queue *queue, uint32_t count)
{
    return queue->length + count <= queue->depth;
}

/* There is room: nothing may be refused. */
static inline void post_descriptor(struct vip_vi *vi, VIP_DESCRIPTOR *descriptor)
{
    if (unlikely(VipPostSend(vi, descriptor, registered) != VIP_SUCCESS))
        chq_die("VIA: a descriptor is refused");
}

/* The bytes from `from` on go out by `descriptor`, which is `back` behind its buffer's beginning. */
static inline void post_send(struct vip_vi *vi, VIP_DESCRIPTOR *descriptor, uint32_t back, const void *from,
                             size_t bytes, const struct chasqui_envelope *envelope)
{
    descriptor->segments = 1;
    descriptor->control = CHASQUI_VIA_CONTROL_SEND_RECEIVE;
    descriptor->reserved = back;
    descriptor->length = (uint32_t)bytes;
    segment(&descriptor->segment[0], from, registered, bytes);
    MARK_CARRY(envelope);
    post_descriptor(vi, descriptor);
}

static inline bool is_message(const struct chasqui_envelope *envelope)
{
    return envelope->kind <= CHASQUI_PACKET_LAST_MESSAGE;
}

/* For an envelope, and for data apart from it. */
static inline bool has_buffer(const struct peer *peer, bool apart)
{
    return free_buffers && has_room(&peer->vi.send, 1) && (!apart || has_room(&peer->data.send, 1));
}

static bool via_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct peer *peer = &peers[envelope->destination];
    bool apart = zero_copy && bytes > 0 && is_message(envelope);
    if (unlikely(!has_buffer(peer, apart))) {
        reap();
        if (!has_buffer(peer, apart))
            return false;
    }
    struct buffer *buffer = free_buffers;
    free_buffers = buffer->next_free;
    buffer->envelope = *envelope;
    if (bytes > 0)
        chq_copy(buffer->data, payload, bytes);
    buffer->under_way = 1 + apart;
    MARK_READY(envelope); /* A doorbell that is a trap does all that follows. */
    post_send(&peer->vi, &buffer->descriptor, 0, &buffer->envelope, sizeof *envelope + (apart ? 0 : bytes), envelope);
    if (apart)
        post_send(&peer->data, &buffer->second, offsetof(struct buffer, second), buffer->data, bytes, envelope);
    note_busy(peer);
    return true;
}

/* --- long messages -------------------------------------------------------------------------------------- */

/* An address of a put: where it goes, and in the high bits the entry of its page, from which its handle follows. */
enum { ADDRESS_BITS = 38, PAGE_SHIFT = 12 };

static uint64_t via_expose(void *landing, size_t bytes)
{
    VIP_MEM_HANDLE handle;
    if (!regcache_acquire(landing, bytes, &handle))
        chq_die("VIA: there is no room to register a message's memory (netcache.via.table)");
    uint64_t address = (uintptr_t)landing;
    return (uint64_t)(uint32_t)(handle + (uint32_t)(address >> PAGE_SHIFT)) << ADDRESS_BITS | address;
}

static void via_conceal(void *landing, size_t bytes) { regcache_release(landing, bytes); }

static bool via_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    struct peer *peer = &peers[fin->destination];
    if (!free_puts || !free_buffers || !has_room(&peer->vi.send, 2))
        reap();
    struct put *put = free_puts;
    VIP_MEM_HANDLE handle;
    if (!put || !free_buffers || !has_room(&peer->vi.send, 2) || !regcache_acquire(from, bytes, &handle))
        return false;
    free_puts = put->next_free;
    put->from = from;
    put->bytes = bytes;
    put->sender = fin->sender;
    VIP_DESCRIPTOR *descriptor = &put->descriptor;
    uint64_t address = to & ((1ull << ADDRESS_BITS) - 1);
    descriptor->segments = 2;
    descriptor->control = CHASQUI_VIA_CONTROL_RDMA_WRITE;
    descriptor->length = (uint32_t)bytes;
    segment(&descriptor->segment[0], (void *)address,
            (uint32_t)(to >> ADDRESS_BITS) - (uint32_t)(address >> PAGE_SHIFT), 0);
    segment(&descriptor->segment[1], from, handle, bytes);
    MARK_CARRY(fin);
    post_descriptor(&peer->vi, descriptor);
    puts++;
    return via_send(fin, NULL, 0);
}

/* --- receiving ---------------------------------------------------------------------------------------- */

/* The data that come next over `current`: `bytes` of them to `to`, the rest to nowhere. */
static void take_direct(void *to, size_t bytes)
{
    VIP_MEM_HANDLE handle = 0;
    if (bytes > 0 && !regcache_acquire(to, bytes, &handle))
        chq_die("VIA: there is no room to register a message's memory (netcache.via.table)");
    direct->segments = 2;
    direct->control = CHASQUI_VIA_CONTROL_SEND_RECEIVE;
    direct->length = (uint32_t)current_bytes;
    segment(&direct->segment[0], bytes > 0 ? to : scrap, bytes > 0 ? handle : registered, bytes);
    segment(&direct->segment[1], scrap, registered, current_bytes - bytes);
    VIP_DESCRIPTOR *descriptor;
    VIP_RETURN done;
    if (VipPostRecv(current, direct, registered) != VIP_SUCCESS)
        chq_die("VIA: a receive queue is full");
    while ((done = VipRecvDone(current, &descriptor)) == VIP_NOT_DONE)
        chq_pause();
    if (unlikely(done != VIP_SUCCESS))
        chq_die("VIA: a connection has ended with an error");
    taken = true;
    if (bytes > 0)
        regcache_release(to, bytes);
}

static void via_take(void *to, size_t bytes) { take_direct(to, bytes); }

static bool via_hold(const void *payload, uint64_t held[MPI_HELD_WORDS])
{
    if (!arriving || payload != arriving->data || !spares)
        return false;
    held[0] = (uintptr_t)arriving;
    arriving = NULL;
    return true;
}

static const void *via_resume(const uint64_t held[MPI_HELD_WORDS]) { return ((struct buffer *)held[0])->data; }

static void via_drop(const uint64_t held[MPI_HELD_WORDS])
{
    struct buffer *buffer = (struct buffer *)held[0];
    buffer->next_free = spares;
    spares = buffer;
}

/* The message is in the buffer, envelope and data. Returns the buffer to be posted again. */
static struct buffer *give(struct buffer *buffer, size_t bytes)
{
    arriving = buffer;
    mpi_arrived(&buffer->envelope, buffer->data, bytes);
    if (likely(arriving))
        return buffer;
    struct buffer *spare = spares;
    spares = spare->next_free;
    return spare;
}

static void deal_with(struct vip_vi *vi)
{
    VIP_DESCRIPTOR *descriptor;
    VIP_RETURN done = VipRecvDone(vi, &descriptor);
    if (unlikely(done != VIP_SUCCESS))
        chq_die("VIA: a connection has ended with an error");
    struct peer *peer = vi->owner;
    struct buffer *buffer = (struct buffer *)(void *)descriptor;
    const struct chasqui_envelope *envelope = &buffer->envelope;
    if (zero_copy && is_message(envelope) && envelope->bytes > 0 && envelope->bytes <= eager) {
        current = &peer->data;
        arriving = NULL;
        current_bytes = envelope->bytes;
        taken = false;
        mpi_arrived(envelope, NULL, current_bytes);
        if (!taken)
            take_direct(NULL, 0);
    } else {
        buffer = give(buffer, descriptor->length - sizeof *envelope);
    }
    post_receive(peer, buffer);
}

/* At most so many messages a poll: senders that are faster would keep a process that waits from what it waits for. */
enum { ARRIVALS_MAX = 64 };

static void via_poll(void)
{
    struct vip_vi *vi;
    bool is_receive;
    for (unsigned left = ARRIVALS_MAX; left && VipCQDone(&arrivals, &vi, &is_receive) == VIP_SUCCESS; left--)
        deal_with(vi);
    if (unlikely(puts))
        reap();
}

struct mpi_device mpi_device_via = {
    .name = "netcache/via",
    .id = CHASQUI_VIA_DEVICE,
    .interface = CHASQUI_VIA_INTERFACE,
    .open = via_open,
    .close = via_close,
    .send = via_send,
    .poll = via_poll,
    .wait = via_wait,
    .take = via_take,
    .hold = via_hold,
    .resume = via_resume,
    .drop = via_drop,
    .put = via_put,
    .expose = via_expose,
    .conceal = via_conceal,
};
