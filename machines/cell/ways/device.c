/* The MPI device of ranks on SPEs where messages may go other ways than by slot and put (cell.mpi). It is ../device.c, and more:
 *
 * - by mailbox (cell.mpi.mailbox): a message of two bytes at most is a word, which the sender's MFC puts into the receiver's
 *   inbound mailbox. Its communicator and tag are those of the message before; its number is in order with those in slots.
 *   The mailbox has four entries, and a word too many replaces the newest: so a rank has one word at a time on its way to each
 *   peer, and words go to the peers next to it, two on either side, that no more than four have a mailbox in common.
 * - by get (cell.mpi.long): the sender announces a message, as always. Its receive gets the sender's list of pages, what the
 *   sender's request says of the buffer, and the data; then the sender hears that its buffer is free.
 * - through main memory (cell.mpi.long): each sender has a few buffers there. A message is put into one, and its slot says
 *   which; the receive gets it from there, whenever it comes. No rendezvous is needed. */
#define CELL_WAYS
/* Behind all other instructions and constants (link.ld sorts names): nothing that other machines execute is to move. */
#pragma clang section text = ".text.zz_ways" rodata = ".ways_rodata"
#include "../registers.h"
#include "mpi/request/request.h"

enum { BUFFERS = CHASQUI_CELL_BUFFERS, WORDS_BYTES_MAX = 2, WORDS_DISTANCE = 2, FINS = 8 };

struct quad {
    volatile uint32_t words[4];
} __attribute__((aligned(16)));

/* In the area, at the same place on every SPE. */
struct ways {
    struct quad returned[BUFFERS]; /* by own buffer: the use of it that is over; a receiver puts that */
    struct quad give; /* what is put there */
    struct quad word[8]; /* by peer, on its way; the last of four: as the mailbox's register stands */
};

/* What a word leaves out, since it is as in the message before. */
struct said {
    uint32_t begin; /* kind, flags and context, as in an envelope; 0: there was none */
    int32_t tag;
    uint32_t sequence;
};

/* Of each peer. */
struct words {
    struct said out, in;
    uint32_t mailed; /* number of the latest message to it that went by mailbox */
    uint32_t word; /* that has come from it, and waits for those before it */
    bool is_near, has_word;
};

static uint64_t by_long; /* in the record */
#define DEVICE mpi_device_ways
#define BY_LONG by_long
#define MOVE "ways_move"
#define MOVE_SECTION ".text.zz_ways"

// NOLINTNEXTLINE(bugprone-suspicious-include): it is that device, with more to it
#include "../device.c"

enum {
    BY_MAILBOX = 3,
    BY_GET = 4,
    BY_MEMORY = 5,
    TAG_WORD = TAG_CREDIT + 1,
    GET_DONE = 0xff, /* kind of an envelope: the data of `sender` have been got */
    IN_MEMORY = 1 << 15, /* of a head's bytes */
    EVENTS = CHASQUI_CELL_EVENT_SIGNAL_1 | CHASQUI_CELL_EVENT_IN_MBOX,
};
_Static_assert(CHASQUI_CELL_PROBLEM_IN_MBOX % QUAD == 12, "where the mailbox's word stands");
_Static_assert(CHASQUI_CELL_BUFFER_BYTES < IN_MEMORY && CHASQUI_CELL_BUFFER_STRIDE % QUAD == 0, "lengths in a head");
_Static_assert(CHASQUI_CELL_BUFFER_STRIDE >= CHASQUI_CELL_BUFFER_BYTES + QUAD,
               "a message begins anywhere in a quadword");
_Static_assert(offsetof(struct chasqui_envelope, context) == 2, "begin of an envelope");

/* Of a message in main memory: in its slot. */
struct place {
    uint32_t offset, buffer;
    uint32_t use; /* of the buffer, from 1 on: what its return says */
};

static bool by_mailbox, by_get, by_memory;
static struct peer memory; /* its `store`: the buffers */
static uint32_t given[BUFFERS]; /* how often */
static uint32_t held_of[PEERS_MAX]; /* buffers that hold what no receive has met */
static struct {
    struct place place;
    uint32_t source;
    bool is_here, is_held;
} arriving;
static struct chasqui_envelope fins[FINS];
static uint32_t fins_begun, fins_ended;

/* --- words --------------------------------------------------------------------------------------------------- */

static uint32_t begin_of(const struct chasqui_envelope *envelope)
{
    uint32_t begin;
    __builtin_memcpy(&begin, envelope, sizeof begin);
    return begin;
}

static void note(struct said *said, const struct chasqui_envelope *envelope)
{
    said->begin = begin_of(envelope);
    said->tag = envelope->tag;
    said->sequence = envelope->sequence;
}

/* 3 bits: the sender; 2: the length; 3: the number; 4: how many messages the sender has taken; 4: by how many more than one
 * the sequence has grown; 16: the data. */
static bool send_word(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    uint32_t destination = envelope->destination, more;
    struct peer *peer = &peers[destination];
    struct words *words = &peer->words;
    more = envelope->sequence - words->out.sequence - 1;
    if (!words->is_near || begin_of(envelope) != words->out.begin || envelope->tag != words->out.tag || more > 15)
        return false;
    if ((int32_t)(peer->freed - words->mailed) < 0)
        hear(peer, area->credit[destination].taken);
    if ((int32_t)(peer->freed - words->mailed) < 0)
        return false;
    uint16_t data = 0;
    memcpy(&data, payload, bytes);
    words->mailed = ++peer->sent;
    peer->told = peer->taken;
    area->ways.word[destination].words[3] = own | (uint32_t)bytes << 3 | (peer->sent & 7) << 5 |
                                            (peer->taken & 15) << 8 | more << 12 | (uint32_t)data << 16;
    MARK_READY(envelope);
    CHQ_MARK_NAME(CHASQUI_MARK_PROTOCOL, (uint64_t)BY_MAILBOX);
    MARK_CARRY(envelope);
    command(in_area(&area->ways.word[destination].words[3]),
            peer->signal - CHASQUI_CELL_PROBLEM_SIG_NOTIFY_1 + CHASQUI_CELL_PROBLEM_IN_MBOX, sizeof(uint32_t), TAG_WORD,
            CHASQUI_CELL_MFC_PUT);
    return true;
}

/* The word that has come, if it is the next message. */
static bool take_word(uint32_t source)
{
    struct peer *peer = &peers[source];
    struct words *words = &peer->words;
    uint32_t word = words->word, taken = word >> 8;
    if (!words->has_word || ((word >> 5 ^ (peer->taken + 1)) & 7))
        return false;
    words->has_word = false;
    taken = (taken - peer->freed) & 15;
    if (taken <= peer->sent - peer->freed)
        hear(peer, peer->freed + taken);
    words->in.sequence += 1 + (word >> 12 & 15);
    struct chasqui_envelope envelope = {.source = (uint16_t)source,
                                        .destination = (uint16_t)own,
                                        .tag = words->in.tag,
                                        .sequence = words->in.sequence,
                                        .bytes = word >> 3 & 3};
    __builtin_memcpy(&envelope, &words->in.begin, sizeof words->in.begin);
    uint16_t data = (uint16_t)(word >> 16);
    peer->taken++;
    mpi_arrived(&envelope, &data, envelope.bytes);
    return true;
}

/* --- data ---------------------------------------------------------------------------------------------------- */

/* `bytes` from an effective address to `to`, which is at `local`. A message is what they are, if there is an envelope. */
static void get_within(uint64_t from, char *to, uint32_t local, size_t bytes, const struct chasqui_envelope *message)
{
    while (bytes > 0) {
        uint32_t shift = (uint32_t)(from % QUAD), part;
        if (message)
            MARK_CARRY(message);
        if (local % QUAD == shift) {
            part = piece(from, bytes);
            command(local, from, part, TAG_LONG, CHASQUI_CELL_MFC_GET);
        } else {
            char *copy = area->staged[staged_next].bytes;
            part = (uint32_t)(bytes < SLOT_BYTES - shift ? bytes : SLOT_BYTES - shift);
            command(in_area(copy), from - shift, (shift + part + QUAD - 1) / QUAD * QUAD, TAG_LONG,
                    CHASQUI_CELL_MFC_GET);
            finish(TAG_LONG);
            memcpy(to, copy + shift, part);
        }
        from += part, to += part, local += part, bytes -= part;
    }
}

/* Bytes up to the end of the page, at most so many. */
static size_t within_page(uint64_t address, size_t bytes)
{
    size_t here = PAGE - address % PAGE;
    return bytes < here ? bytes : here;
}

/* The same of many pages: `from` lies behind `base` as it says; or, with a list, on the pages of the local store at `base`. */
static void get(uint64_t base, const volatile uint64_t *pages, uint64_t from, void *to, size_t bytes,
                const struct chasqui_envelope *message)
{
    volatile char *data = to;
    if (staged_used == STAGED)
        finish(staged_next);
    for (size_t done = 0; done < bytes;) {
        size_t part = within_page((uint64_t)to + done, bytes - done);
        uint64_t source = base + from + done;
        if (pages) {
            part = within_page(from + done, part);
            source = base + local_of(pages, from + done);
        }
        data[done] = data[done]; /* the page is here */
        get_within(source, (char *)to + done, local_of(area->pages, (uint64_t)to + done), part, message);
        done += part;
    }
    finish(TAG_LONG);
}

/* --- by get -------------------------------------------------------------------------------------------------- */

/* What a receiver will get is in the local store. */
static void have(const struct request *request)
{
    const volatile char *data = request->buffer;
    for (size_t done = 0; done < request->bytes; done += within_page((uint64_t)data + done, PAGE))
        (void)data[done];
}

/* In place of the answer to an announcement: the data are got. */
static bool get_long(const struct chasqui_envelope *clear, const void *payload)
{
    struct peer *peer = &peers[clear->destination];
    if (!has_room(clear->destination) || fins_begun - fins_ended == FINS)
        return false;
    struct {
        char *buffer;
        char between[offsetof(struct request, envelope) - offsetof(struct request, buffer) - sizeof(char *)];
        struct chasqui_envelope envelope;
    } sent;
    _Static_assert(sizeof sent == offsetof(struct request, envelope) - offsetof(struct request, buffer) +
                                      sizeof(struct chasqui_envelope),
                   "a part of a request");
    uint64_t to;
    memcpy(&to, payload, sizeof to);
    command(in_area(area->others), peer->store, pages_here * (uint32_t)sizeof(uint64_t), TAG_LONG,
            CHASQUI_CELL_MFC_GET);
    finish(TAG_LONG);
    get(peer->store, area->others, clear->sender + offsetof(struct request, buffer), &sent, sizeof sent, NULL);
    struct chasqui_envelope *fin = &fins[fins_begun++ % FINS];
    *fin = sent.envelope;
    fin->kind = CHASQUI_PACKET_FINISHED;
    fin->bytes = clear->bytes;
    fin->receiver = clear->receiver;
    get(peer->store, area->others, (uint64_t)sent.buffer, (void *)(uintptr_t)to, clear->bytes, fin);
    struct chasqui_envelope done = {
        .kind = GET_DONE, .source = (uint16_t)own, .destination = clear->destination, .sender = clear->sender};
    char *at = stage(peer, &done, 0);
    depart(peer, &done, at, staged_next);
    return true;
}

/* --- through main memory ------------------------------------------------------------------------------------- */

static bool send_by_memory(const struct chasqui_envelope *envelope, const char *payload, size_t bytes)
{
    struct peer *peer = &peers[envelope->destination];
    uint32_t buffer = 0;
    while (buffer < BUFFERS && area->ways.returned[buffer].words[0] != given[buffer])
        buffer++;
    if (buffer == BUFFERS)
        return false;
    given[buffer]++;
    struct place place = {(uint32_t)((own * BUFFERS + buffer) * CHASQUI_CELL_BUFFER_STRIDE + (uint64_t)payload % QUAD),
                          buffer, given[buffer]};
    const volatile char *data = payload;
    for (size_t done = 0; done < bytes;) {
        size_t part = within_page((uint64_t)payload + done, bytes - done);
        (void)data[done]; /* the page is here */
        put_within(&memory, payload + done, local_of(area->pages, (uint64_t)payload + done),
                   place.offset + (uint32_t)done, part);
        done += part;
    }
    finish(TAG_LONG);
    char *at = stage(peer, envelope, bytes | IN_MEMORY);
    memcpy(at, &place, sizeof place);
    MARK_READY(envelope);
    CHQ_MARK_NAME(CHASQUI_MARK_PROTOCOL, (uint64_t)BY_MEMORY);
    depart(peer, envelope, at + sizeof place, staged_next);
    return true;
}

/* The sender may use the buffer again. */
static void give_back(uint32_t source, uint32_t buffer, uint32_t use)
{
    struct peer *peer = &peers[source];
    finish(TAG_CREDIT);
    area->ways.give.words[0] = use;
    command(in_area(&area->ways.give), peer->store + in_area(&area->ways.returned[buffer]), QUAD, TAG_CREDIT,
            CHASQUI_CELL_MFC_PUT);
    signal(peer, TAG_CREDIT);
}

static void ways_take(void *to, size_t bytes) { get(memory.store, NULL, arriving.place.offset, to, bytes, NULL); }

/* One buffer of each sender stays in turn: messages behind those that nobody wants get through. */
static bool ways_hold(const void *payload, uint64_t held[MPI_HELD_WORDS])
{
    if (payload || !arriving.is_here || held_of[arriving.source] == BUFFERS - 1)
        return false;
    held_of[arriving.source]++;
    held[0] = arriving.source;
    held[1] = arriving.place.offset;
    held[2] = arriving.place.buffer | (uint64_t)arriving.place.use << 32;
    arriving.is_held = true;
    return true;
}

static const void *ways_resume(const uint64_t held[MPI_HELD_WORDS])
{
    arriving.place.offset = (uint32_t)held[1];
    return NULL;
}

static void ways_drop(const uint64_t held[MPI_HELD_WORDS])
{
    held_of[held[0]]--;
    give_back((uint32_t)held[0], (uint32_t)held[2], (uint32_t)(held[2] >> 32));
}

static void arrived_in_memory(const struct chasqui_envelope *envelope, const char *payload, size_t bytes)
{
    struct place place;
    memcpy(&place, payload, sizeof place);
    arriving.place = place;
    arriving.source = envelope->source;
    arriving.is_here = true;
    arriving.is_held = false;
    mpi_arrived(envelope, NULL, bytes);
    arriving.is_here = false;
    if (!arriving.is_held)
        give_back(envelope->source, place.buffer, place.use);
}

/* --- the device ---------------------------------------------------------------------------------------------- */

static bool ways_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    uint64_t way = ni->settings[CHASQUI_CELL_SETTING_LONG], spes = ni->settings[CHASQUI_CELL_SETTING_SPES];
    by_mailbox = ni->settings[CHASQUI_CELL_SETTING_MAILBOX] != 0;
    by_get = way == CHASQUI_CELL_LONG_GET;
    by_memory = way == CHASQUI_CELL_LONG_MEMORY;
    by_long = by_get ? BY_GET : BY_PUT;
    if (by_memory) {
        memory.store =
            (uint64_t)chq_platform_map(ni_fd, (1 + spes) * CHASQUI_NI_REGION_STRIDE, ni->regions[spes].bytes);
        if (!memory.store)
            return false;
    }
    for (uint32_t rank = 0; by_mailbox && rank < ni->ranks; rank++) {
        uint32_t up = (rank + ni->ranks - ni->rank) % ni->ranks;
        peers[rank].words.is_near = up <= WORDS_DISTANCE || ni->ranks - up <= WORDS_DISTANCE;
    }
    if (!cell_open(ni, ni_fd))
        return false;
    if (by_memory)
        DEVICE.eager_bytes_max = CHASQUI_CELL_BUFFER_BYTES;
    if (by_mailbox)
        *channel(CHASQUI_CELL_CHANNEL_WR_EVENT_MASK) = EVENTS;
    return true;
}

static bool ways_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    if (by_get && envelope->kind == CHASQUI_PACKET_CLEAR_TO_SEND && envelope->bytes > 0)
        return get_long(envelope, payload);
    if (!has_room(envelope->destination))
        return false;
    if (by_get && envelope->kind == CHASQUI_PACKET_READY_TO_SEND)
        have((const struct request *)(uintptr_t)envelope->sender);
    bool is_sent;
    if (bytes > EAGER_MAX)
        is_sent = send_by_memory(envelope, payload, bytes);
    else
        is_sent = (by_mailbox && bytes <= WORDS_BYTES_MAX && send_word(envelope, payload, bytes)) ||
                  cell_send(envelope, payload, bytes);
    if (is_sent && envelope->kind == CHASQUI_PACKET_EAGER)
        note(&peers[envelope->destination].words.out, envelope);
    return is_sent;
}

static void take_slot(struct peer *peer, const char *at)
{
    struct head head;
    struct chasqui_envelope envelope;
    __builtin_memcpy(&head, at, sizeof head);
    __builtin_memcpy(&envelope, at + sizeof head, SHORT_ENVELOPE);
    size_t length = SHORT_ENVELOPE;
    if (envelope.kind == CHASQUI_PACKET_EAGER) {
        envelope.sender = envelope.receiver = 0;
        note(&peer->words.in, &envelope);
    } else {
        length = sizeof envelope;
        __builtin_memcpy(&envelope, at + sizeof head, sizeof envelope);
    }
    hear(peer, peer->freed + (uint32_t)(int16_t)(head.taken - (uint16_t)peer->freed));
    if (envelope.kind == GET_DONE)
        mpi_put_done(envelope.sender);
    else if (head.bytes & IN_MEMORY)
        arrived_in_memory(&envelope, at + sizeof head + length, head.bytes & (IN_MEMORY - 1));
    else
        mpi_arrived(&envelope, at + sizeof head + length, head.bytes);
    peer->taken++;
}

static void take_from(uint32_t source)
{
    struct peer *peer = &peers[source];
    for (unsigned i = 0; i < SLOTS; i++) {
        const char *at = area->in[source][peer->taken % SLOTS].bytes;
        if (*(const volatile uint32_t *)(const void *)at == peer->taken + 1)
            take_slot(peer, at);
        else if (!take_word(source))
            break;
        if (peer->taken - peer->told >= SLOTS / 2)
            tell(peer);
    }
}

static uint32_t count(unsigned number)
{
    return *channel(number + CHASQUI_CELL_CHANNEL_COUNTS / CHASQUI_CELL_CHANNEL_ADDRESS_BYTES);
}

/* Before what it is of is taken, so that none is lost. */
static void acknowledge(uint32_t events)
{
    if (by_mailbox)
        *channel(CHASQUI_CELL_CHANNEL_WR_EVENT_ACK) = events;
}

static void ways_poll(void)
{
    for (; fins_ended != fins_begun; fins_ended++) {
        struct chasqui_envelope fin = fins[fins_ended % FINS];
        mpi_arrived(&fin, NULL, 0);
    }
    if (count(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1)) {
        acknowledge(CHASQUI_CELL_EVENT_SIGNAL_1);
        pending |= *channel(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1);
    }
    while (by_mailbox && count(CHASQUI_CELL_CHANNEL_RD_IN_MBOX)) {
        acknowledge(CHASQUI_CELL_EVENT_IN_MBOX);
        uint32_t word = *channel(CHASQUI_CELL_CHANNEL_RD_IN_MBOX), source = word % PEERS_MAX;
        peers[source].words.word = word;
        peers[source].words.has_word = true;
        pending |= 1u << source;
    }
    uint32_t sources = pending;
    pending = 0;
    for (; sources; sources &= sources - 1)
        take_from((uint32_t)__builtin_ctz(sources));
}

static void ways_wait(void)
{
    if (pending || fins_ended != fins_begun)
        return;
    if (by_mailbox)
        acknowledge(*channel(CHASQUI_CELL_CHANNEL_RD_EVENT_STAT));
    else
        pending = *channel(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1);
}

static const char name[] = "ways"; /* not among the texts of others */

struct mpi_device mpi_device_ways = {
    .name = name,
    .id = CHASQUI_CELL_WAYS_DEVICE,
    .interface = CHASQUI_CELL_INTERFACE,
    .open = ways_open,
    .close = cell_close,
    .send = ways_send,
    .poll = ways_poll,
    .wait = ways_wait,
    .take = ways_take,
    .hold = ways_hold,
    .resume = ways_resume,
    .drop = ways_drop,
    .put = cell_put,
    .expose = cell_expose,
    .conceal = cell_conceal,
};
