/* The MPI device of ranks on SPEs: messages go from local store to local store, by commands of the sender's MFC.
 *
 * The process begins on the PPE, as everywhere. When MPI begins, its thread goes on on an SPE (cell_move), and the kernel
 * puts into the local store what of its memory it touches (kernel/rank.c). At the local store's begin is an area, at the same
 * address on every SPE: the kernel's list of pages, and for each peer a ring of slots that the peer puts its messages into.
 *
 * A message of up to EAGER_MAX bytes is put into the receiver's next slot; its first line comes last, by a fence, and has a
 * number that says that it is there. Longer ones are put to where the receive wants them (the library's rendezvous): page
 * by page, since both sides' pages lie anywhere in their local stores; the receiver's list is got for that.
 *
 * Behind each message a bit goes to the receiver's signal register, which collects them, a bit a peer: polling is one load of a
 * channel, and who waits reads the register, which costs nothing while there is nothing. What a receiver has taken from its
 * slots it says in each message, and by a line of its own when half of the slots have been taken since.
 *
 * Other ways of messages are a device of their own, ways/device.c, which is this one (CELL_WAYS) and more. */
#include "mpi/device.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/platform.h"
#include "registers.h"

enum {
    PAGE = 4096,
    LINE = 128,
    QUAD = 16,
    PEERS_MAX = 8,
    SLOTS = 4,       /* of a ring; a power of two */
    SLOT_BYTES = 512,
    STAGED = 4,      /* messages that are on their way out of their copies; each has a tag group */
    TAG_LONG = STAGED,
    TAG_CREDIT,
    BY_SLOT = 1,
    BY_PUT = 2 /* in the record; Machine::mechanisms has the names */
};
#ifndef CELL_WAYS
#define DEVICE mpi_device_cell
#define BY_LONG BY_PUT /* after a rendezvous */
#define MOVE "cell_move"
#define MOVE_SECTION ".text.cell_move"
#endif

/* Of a message, in its slot; the envelope follows, without the names of requests if there are none. */
struct head {
    uint32_t number; /* of the messages from this peer, from 1 on: it is there */
    uint16_t bytes;  /* of payload */
    uint16_t taken;  /* messages that the sender has taken from its slots: their lowest bits */
};
#define SHORT_ENVELOPE offsetof(struct chasqui_envelope, sender)
#define SHORT_HEAD (sizeof(struct head) + SHORT_ENVELOPE)
#define LONG_HEAD (sizeof(struct head) + sizeof(struct chasqui_envelope))
enum { EAGER_MAX = SLOT_BYTES - (int)LONG_HEAD };

struct slot {
    char bytes[SLOT_BYTES];
} __attribute__((aligned(LINE)));

/* What an SPE has at the begin of its local store. */
struct area {
    volatile uint64_t pages[PAGE / 2 / sizeof(uint64_t)]; /* the kernel's list */
    struct {
        volatile uint32_t taken, unused[3]; /* messages that the peer has taken from here */
    } credit[PEERS_MAX];
    uint32_t taken_here[4]; /* what is put there */
    uint32_t signal[4];     /* the last is this rank's bit: at the place in a quadword of signal registers */
    struct slot staged[STAGED] __attribute__((aligned(LINE)));
    volatile uint64_t others[PAGE / 2 / sizeof(uint64_t)] __attribute__((aligned(LINE))); /* a peer's list */
#ifdef CELL_WAYS
    struct ways ways;
#endif
    struct slot in[][SLOTS]; /* by sender */
};
_Static_assert(CHASQUI_CELL_PROBLEM_SIG_NOTIFY_1 % QUAD == 12, "where the signal's word stands");

static struct peer {
    uint64_t store, signal; /* effective addresses of its local store, and its signal register */
    uint32_t sent, freed;   /* messages to it, and how many of them it has taken */
    uint32_t taken, told;   /* messages from it, and how many of them it knows were taken */
#ifdef CELL_WAYS
    struct words words;
#endif
} peers[PEERS_MAX];

static struct area *area;
static uint32_t ranks, own, pages_here, staged_next, staged_used, pending;
extern struct mpi_device DEVICE;

/* --- the MFC ----------------------------------------------------------------------------------------------- */

static inline volatile uint32_t *channel(unsigned number)
{
    return (volatile uint32_t *)(CHASQUI_CELL_CHANNELS + number * CHASQUI_CELL_CHANNEL_ADDRESS_BYTES);
}

static void command(uint32_t local, uint64_t effective, uint32_t bytes, uint32_t tag, uint32_t what)
{
    __asm__ volatile("" : : : "memory");
    *channel(CHASQUI_CELL_CHANNEL_MFC_LSA) = local;
    *channel(CHASQUI_CELL_CHANNEL_MFC_EAH) = (uint32_t)(effective >> 32);
    *channel(CHASQUI_CELL_CHANNEL_MFC_EAL) = (uint32_t)effective;
    *channel(CHASQUI_CELL_CHANNEL_MFC_SIZE) = bytes;
    *channel(CHASQUI_CELL_CHANNEL_MFC_TAG_ID) = tag;
    *channel(CHASQUI_CELL_CHANNEL_MFC_CMD) = what;
}

static void finish(uint32_t tag)
{
    *channel(CHASQUI_CELL_CHANNEL_WR_TAG_MASK) = 1u << tag;
    *channel(CHASQUI_CELL_CHANNEL_WR_TAG_UPDATE) = CHASQUI_CELL_CHANNEL_TAG_UPDATE_ALL;
    (void)*channel(CHASQUI_CELL_CHANNEL_RD_TAG_STAT);
    __asm__ volatile("" : : : "memory");
}

static inline uint32_t in_area(const volatile void *place) { return (uint32_t)((uintptr_t)place - (uintptr_t)area); }

/* The peer is to look, once what the tag group has before is there. */
static void signal(const struct peer *peer, uint32_t tag)
{
    command(in_area(&area->signal[3]), peer->signal, sizeof(uint32_t), tag,
            CHASQUI_CELL_MFC_SNDSIG | CHASQUI_CELL_MFC_FENCE_FLAG);
}

/* --- beginning ----------------------------------------------------------------------------------------------- */

/* The thread goes on on an SPE: all that a function keeps is kept here, on its stack. Returns the SPE, there; or here what was
 * wrong, negative. */
long cell_move(long ni_fd, struct chasqui_cell_move *move) __asm__(MOVE);
__asm__(".section " MOVE_SECTION
        ", \"ax\"\n"
        ".globl " MOVE
        "\n"
        ".type " MOVE ", @function\n" MOVE
        ":\n"
        "    addi sp, sp, -224\n"
        "    sd ra, 0(sp)\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
        "    sd s\\n, 8 + 8 * \\n(sp)\n"
        "    fsd fs\\n, 104 + 8 * \\n(sp)\n"
        ".endr\n"
        "    frcsr t0\n"
        "    sd t0, 200(sp)\n"
        "    lla t0, 1f\n"
        "    sd t0, 0(a1)\n"
        "    sd sp, 8(a1)\n"
        "    sd gp, 16(a1)\n"
        "    sd tp, 24(a1)\n"
        "    mv a2, a1\n"
        "    li a1, 0x710d\n"
        "    li a7, 29\n"
        "    ecall\n"
        "1:  ld ra, 0(sp)\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
        "    ld s\\n, 8 + 8 * \\n(sp)\n"
        "    fld fs\\n, 104 + 8 * \\n(sp)\n"
        ".endr\n"
        "    ld t0, 200(sp)\n"
        "    fscsr t0\n"
        "    addi sp, sp, 224\n"
        "    ret\n"
        ".size " MOVE ", . - " MOVE
        "\n"
        ".text\n");
_Static_assert(CHASQUI_CELL_CONTROL_MOVE == 0x710d && offsetof(struct chasqui_cell_move, pc) == 0 &&
                   offsetof(struct chasqui_cell_move, stack_pointer) == 8 &&
                   offsetof(struct chasqui_cell_move, global_pointer) == 16 &&
                   offsetof(struct chasqui_cell_move, thread_pointer) == 24,
               "what cell_move stores");

extern char _end[] __attribute__((weak));

static bool cell_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    static const char text[] = "cell: the SPE could not be had\n";
    static const char too_large[] = "cell: cell.element.store: a rank's SPE has 1 MiB at most, the pages of its list\n";
    ranks = ni->ranks;
    own = ni->rank;
    pages_here = (uint32_t)(ni->settings[CHASQUI_CELL_SETTING_STORE_BYTES] / PAGE);
    if (pages_here > sizeof area->pages / sizeof *area->pages) {
        chq_platform_write(2, too_large, sizeof too_large - 1);
        return false;
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint64_t bytes = ni->regions[rank].bytes;
        void *window = chq_platform_map(ni_fd, (1 + rank) * CHASQUI_NI_REGION_STRIDE, bytes);
        if (!window)
            return false;
        peers[rank].store = (uint64_t)window;
        peers[rank].signal =
            (uint64_t)window + ni->settings[CHASQUI_CELL_SETTING_PROBLEM] + CHASQUI_CELL_PROBLEM_SIG_NOTIFY_1;
    }
    size_t bytes = (sizeof *area + ranks * sizeof area->in[0] + PAGE - 1) / PAGE * PAGE;
    area = chq_platform_stack(bytes);
    if (!area)
        return false;
    area->signal[3] = 1u << own;
    struct chasqui_cell_move move = {.area = (uint64_t)area, .area_bytes = bytes, .data_end = (uint64_t)_end};
    DEVICE.eager_bytes_max = EAGER_MAX;
    if (cell_move(ni_fd, &move) >= 0)
        return true;
    chq_platform_write(2, text, sizeof text - 1);
    return false;
}

static void cell_close(void)
{
    for (uint32_t tag = 0; tag < staged_used; tag++)
        finish(tag);
}

/* --- sending ------------------------------------------------------------------------------------------------- */

/* The peer has taken so many, or has said so before. */
static void hear(struct peer *peer, uint32_t taken)
{
    if ((int32_t)(taken - peer->freed) > 0)
        peer->freed = taken;
}

static bool has_room(uint32_t destination)
{
    struct peer *peer = &peers[destination];
    if (peer->sent - peer->freed >= SLOTS)
        hear(peer, area->credit[destination].taken);
    return peer->sent - peer->freed < SLOTS;
}

/* A copy of a message for the peer's next slot, which is free: complete but for the payload, which goes where it says. */
static char *stage(struct peer *peer, const struct chasqui_envelope *envelope, size_t bytes)
{
    if (staged_used == STAGED)
        finish(staged_next);
    else
        staged_used++;
    char *at = area->staged[staged_next].bytes;
    peer->told = peer->taken;
    struct head head = {.number = ++peer->sent, .bytes = (uint16_t)bytes, .taken = (uint16_t)peer->taken};
    size_t length = envelope->kind == CHASQUI_PACKET_EAGER ? SHORT_ENVELOPE : sizeof *envelope;
    __builtin_memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, envelope, length);
    return at + sizeof head + length;
}

/* It leaves, behind what tag group `tag` has before; its first line comes last. */
static void depart(struct peer *peer, const struct chasqui_envelope *envelope, const char *end, uint32_t tag)
{
    const char *begin = area->staged[staged_next].bytes;
    uint32_t bytes = (uint32_t)(end - begin + QUAD - 1) / QUAD * QUAD, local = in_area(begin);
    uint64_t to = peer->store + in_area(&area->in[own][(peer->sent - 1) % SLOTS]);
    if (bytes > LINE)
        command(local + LINE, to + LINE, bytes - LINE, tag, CHASQUI_CELL_MFC_PUT);
    MARK_CARRY(envelope);
    command(local, to, bytes < LINE ? bytes : LINE, tag, CHASQUI_CELL_MFC_PUT | CHASQUI_CELL_MFC_FENCE_FLAG);
    signal(peer, tag);
    staged_next = (staged_next + 1) % STAGED;
}

/* What begins a message says how that goes. Behind MARK_READY it is of this message; before, as what was measured has it, one
 * that has waited for room may go without. */
static inline void name_way(const struct chasqui_envelope *envelope)
{
    if (envelope->kind == CHASQUI_PACKET_READY_TO_SEND)
        CHQ_MARK_NAME(CHASQUI_MARK_PROTOCOL, (uint64_t)BY_LONG);
    else if (envelope->kind < CHASQUI_PACKET_READY_TO_SEND)
        CHQ_MARK_NAME(CHASQUI_MARK_PROTOCOL, (uint64_t)BY_SLOT);
}

static bool cell_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct peer *peer = &peers[envelope->destination];
    if (!has_room(envelope->destination))
        return false;
    char *at = stage(peer, envelope, bytes);
#ifndef CELL_WAYS
    name_way(envelope);
#endif
    memcpy(at, payload, bytes);
    MARK_READY(envelope);
#ifdef CELL_WAYS
    name_way(envelope);
#endif
    depart(peer, envelope, at + bytes, staged_next);
    return true;
}

/* --- long messages ------------------------------------------------------------------------------------------- */

/* Address in a local store whose list this is; ~0: the page is not there. */
static uint32_t local_of(const volatile uint64_t *pages, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    for (uint32_t i = 0; i < pages_here; i++)
        if (pages[i] == page)
            return i * PAGE + (uint32_t)(address - page);
    return ~0u;
}

/* The pages are in the local store. */
static uint64_t cell_expose(void *landing, size_t bytes)
{
    volatile char *begin = landing;
    for (size_t done = 0; done < bytes; done += PAGE - ((uintptr_t)landing + done) % PAGE)
        begin[done] = begin[done];
    return (uint64_t)landing;
}

static void cell_conceal(void *landing, size_t bytes) { (void)landing, (void)bytes; }

/* Bytes that one command may move from one place to the other, which agree in their lowest four bits. */
static uint32_t piece(uint64_t place, size_t bytes)
{
    if (place % QUAD == 0 && bytes >= QUAD)
        return (uint32_t)(bytes / QUAD * QUAD);
    uint32_t unit = QUAD / 2;
    while (place % unit || bytes < unit)
        unit /= 2;
    return unit;
}

/* What lies at `from` in this local store goes to `to` in the peer's. Where the two disagree in their lowest four bits it goes by a
 * copy that agrees. */
static void put_within(struct peer *peer, const char *from, uint32_t local, uint32_t to, size_t bytes)
{
    while (bytes > 0) {
        uint32_t source = local, part;
        if (local % QUAD == to % QUAD) {
            part = piece(to, bytes);
        } else {
            finish(TAG_LONG);
            char *copy = area->staged[staged_next].bytes + to % QUAD;
            size_t room = SLOT_BYTES - to % QUAD, many = bytes < room ? bytes : room;
            memcpy(copy, from, many);
            source = in_area(copy);
            part = piece(to, many);
        }
        command(source, peer->store + to, part, TAG_LONG, CHASQUI_CELL_MFC_PUT);
        from += part, local += part, to += part, bytes -= part;
    }
}

static bool cell_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    struct peer *peer = &peers[fin->destination];
    if (!has_room(fin->destination))
        return false;
    if (staged_used == STAGED)
        finish(staged_next);
    command(in_area(area->others), peer->store, pages_here * (uint32_t)sizeof(uint64_t), TAG_LONG,
            CHASQUI_CELL_MFC_GET);
    finish(TAG_LONG);
    const volatile char *data = from;
    for (size_t done = 0; done < bytes;) {
        uint64_t source = (uint64_t)from + done, target = to + done;
        size_t here = PAGE - source % PAGE, there = PAGE - target % PAGE, part = bytes - done;
        part = part < here ? part : here;
        part = part < there ? part : there;
        (void)data[done]; /* the page is here */
        put_within(peer, (const char *)from + done, local_of(area->pages, source), local_of(area->others, target),
                   part);
        done += part;
    }
    finish(TAG_LONG);
    char *at = stage(peer, fin, 0);
    depart(peer, fin, at, staged_next);
    mpi_put_done(fin->sender);
    return true;
}

/* --- receiving ----------------------------------------------------------------------------------------------- */

/* The peer hears what was taken of its messages. */
static void tell(struct peer *peer)
{
    finish(TAG_CREDIT);
    area->taken_here[0] = peer->taken;
    peer->told = peer->taken;
    command(in_area(area->taken_here), peer->store + in_area(&area->credit[own]), QUAD, TAG_CREDIT,
            CHASQUI_CELL_MFC_PUT);
    signal(peer, TAG_CREDIT);
}

#ifndef CELL_WAYS
static void take_from(uint32_t source)
{
    struct peer *peer = &peers[source];
    for (unsigned i = 0; i < SLOTS; i++) {
        const char *at = area->in[source][peer->taken % SLOTS].bytes;
        if (*(const volatile uint32_t *)(const void *)at != peer->taken + 1)
            break;
        struct head head;
        struct chasqui_envelope envelope;
        __builtin_memcpy(&head, at, sizeof head);
        __builtin_memcpy(&envelope, at + sizeof head, SHORT_ENVELOPE);
        size_t length = SHORT_ENVELOPE;
        if (envelope.kind == CHASQUI_PACKET_EAGER) {
            envelope.sender = envelope.receiver = 0;
        } else {
            length = sizeof envelope;
            __builtin_memcpy(&envelope, at + sizeof head, sizeof envelope);
        }
        hear(peer, peer->freed + (uint32_t)(int16_t)(head.taken - (uint16_t)peer->freed));
        mpi_arrived(&envelope, at + sizeof head + length, head.bytes);
        peer->taken++;
        if (peer->taken - peer->told >= SLOTS / 2)
            tell(peer);
    }
}

static void cell_poll(void)
{
    if (*channel(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1 +
                 CHASQUI_CELL_CHANNEL_COUNTS / CHASQUI_CELL_CHANNEL_ADDRESS_BYTES))
        pending |= *channel(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1);
    uint32_t sources = pending;
    pending = 0;
    for (; sources; sources &= sources - 1)
        take_from((uint32_t)__builtin_ctz(sources));
}

static void cell_wait(void)
{
    if (!pending)
        pending = *channel(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1);
}

struct mpi_device mpi_device_cell = {
    .name = "cell",
    .id = CHASQUI_CELL_DEVICE,
    .interface = CHASQUI_CELL_INTERFACE,
    .open = cell_open,
    .close = cell_close,
    .send = cell_send,
    .poll = cell_poll,
    .wait = cell_wait,
    .put = cell_put,
    .expose = cell_expose,
    .conceal = cell_conceal,
};
#endif
