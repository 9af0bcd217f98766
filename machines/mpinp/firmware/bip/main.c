/* The thin firmware: it moves messages from windows to the wire and from the wire to the host, and knows nothing of MPI.
 *
 * Each process has slots in its window, which it fills and counts at its doorbell, and a ring of slots on the host into which
 * what comes for it goes, in the order of arrival. There is room in the ring: a process has credit for each other one, and what
 * it sends without is its fault. So what has come is always taken, and nothing waits on the wire for long.
 *
 * A worm begins with a head that the firmware has made, out of the processes' reach. The firmware at the other end trusts it.
 * Each engine does one thing at a time. A message is received whole, then moved on. What slots hold is short; the data of long
 * messages are fetched and delivered in fragments (long.h).
 *
 * On a card with a list of tags (firmware/tags, TAGS) it passes requests and messages to that. What this adds is in list.h.
 */
#include "card.h"

#define BUFFERS 8 /* a power of two */
#define SLOT CHASQUI_MPINP_SLOT_BYTES
#define ENVELOPE sizeof(struct chasqui_envelope)
#define END sizeof(struct chasqui_mpinp_end)
#define FRAGMENT 4096 /* longest [bytes] */
#define SLOT_BITS \
    (CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_SLOT_POSTS | CHASQUI_MPINP_SLOT_PUTS | CHASQUI_MPINP_SLOT_PART)

/* What comes. Behind data and envelope is room for the rest of the end. */
struct buffer {
    struct chasqui_mpinp_head head;
    char data[FRAGMENT + 112]; /* their distance is a sum of two powers of two */
};

/* What a process and another one have sent to each other. */
struct peer {
    uint32_t sent; /* messages to it */
    uint32_t credited; /* those of them that it has done with */
    uint32_t arrived; /* messages of its */
    uint32_t told; /* those of them that it was told are done with */
};
_Static_assert(sizeof(struct peer) == CHASQUI_NP_PEER_BYTES, "what the machine keeps room for");

struct process {
    volatile char *window;
    volatile char *slot; /* of the window, that is sent next */
    struct peer *peers; /* by node, then process */
    uint64_t host; /* physical address of its memory on the host */
    uint64_t place; /* in it, of the ring's next slot */
    uint32_t produced; /* slots that its software has filled */
    uint32_t sent; /* that have left */
    uint32_t told; /* that its software has been told of */
    uint32_t arrived; /* messages */
    bool is_refused; /* it has done what it may not: nothing more of it is sent */
};

enum moved { NOTHING, MESSAGE, COUNT, DELIVERY, ANSWER, ENTRY, FETCH, LANDING };

static struct buffer buffers[BUFFERS];
static struct process processes[CHASQUI_NP_PROCESSES_MAX];
static struct chasqui_mpinp_head head; /* of the worm that is sent */
static uint64_t count; /* of slots, that moves to the host */
static bool has_refused; /* a process whose long messages are to be forgotten */
static uint32_t slot_bits = CHASQUI_MPINP_ARRIVED_MESSAGE; /* that `counts` of a slot may have */

/* In registers, where they suffice: of long messages most is elsewhere, and a loop of its own deals with them (`go`). */
struct card {
    uint32_t process_count, per_node, nodes, credit, slots, ring;
    uint16_t node;
    uint32_t places, received, moved; /* buffers: the receiver has been given, that are filled, that are on the host */
    bool receives;
    bool sends; /* a worm, of which */
    bool is_headed; /* the head has left */
    uint32_t sender; /* process whose slot it is */
    uint32_t bytes; /* behind the head */
    enum moved moves;
    uint32_t teller; /* process that is told next */
    bool tells; /* some process may have to be told */
    bool meets_long; /* a slot, or what has come, is about a long message */
};

extern char _end[]; /* of the image: tables follow */

#define ALWAYS inline __attribute__((always_inline))

static inline uint64_t word(const volatile void *from) { return *(const volatile uint64_t *)from; }

static inline void move(uint64_t host, const void *from, uint64_t bytes)
{
    np_store(CHASQUI_NP_HOST_ADDRESS, host);
    np_store(CHASQUI_NP_HOST_LOCAL, local(from));
    np_store(CHASQUI_NP_HOST_START, bytes | CHASQUI_NP_HOST_TO_HOST);
}

/* A slot of the process's ring on the host is filled. */
static inline void next_place(const struct card *card, struct process *process)
{
    process->place += SLOT;
    if (process->place == process->host + 4096 + card->ring * SLOT)
        process->place = process->host + 4096;
}

static void refuse(uint32_t process, uint64_t why)
{
    processes[process].is_refused = has_refused = true;
    np_store(CHASQUI_NP_FAULT, process | why);
}

static inline struct chasqui_envelope *envelope_of(struct buffer *buffer)
{
    return (void *)(buffer->data + (buffer->head.bytes + 7u & ~7u));
}

/* Processes of a node are those of the first job, then those of the next, of each as many. A slot, and what comes to a ring, names them
 * among those of its own job, so that a process reaches no other job; heads on the wire among all. */
#ifdef SEVERAL_JOBS
#include "jobs.h"

static uint32_t per_job; /* processes of a node */
/* Of a process: the first of its job, and its number in the host's kernel, which counts those that there are. */
static uint16_t job_first[CHASQUI_NP_PROCESSES_MAX], kernels[CHASQUI_NP_PROCESSES_MAX];

static void jobs_begin(uint32_t process_count)
{
    uint16_t there = 0;
    for (uint32_t i = 0; i < process_count; i++) {
        struct place_of_job here = job_place(i);
        per_job = here.per_job;
        job_first[i] = (uint16_t)here.first;
        kernels[i] = there;
        there += here.is_there;
    }
}
static inline uint32_t kernel_number(uint32_t process) { return kernels[process]; }
static inline uint32_t processes_for(const struct card *card)
{
    (void)card;
    return per_job;
}
static inline void name_among_all(struct chasqui_mpinp_head *head, uint32_t sender)
{
    head->process = (uint16_t)(head->process + job_first[sender]);
}
static inline void name_in_job(struct chasqui_mpinp_head *head)
{
    head->process = (uint16_t)(head->process - job_first[head->to]);
}
#else
static inline void jobs_begin(uint32_t process_count) { (void)process_count; }
static inline uint32_t kernel_number(uint32_t process) { return process; }
static inline uint32_t processes_for(const struct card *card) { return card->process_count; }
static inline void name_among_all(struct chasqui_mpinp_head *head, uint32_t sender) { (void)head, (void)sender; }
static inline void name_in_job(struct chasqui_mpinp_head *head) { (void)head; }
#endif

#ifdef TAGS
#include "tags/list.h"
#else
/* As if there were none. */
static inline void tags_begin(void) {}
static inline void tags_hear(uint64_t event) { (void)event; }
static inline void tags_requests(struct card *card, uint32_t process) { (void)card, (void)process; }
static inline void tags_look(struct card *card) { (void)card; }
static inline bool tags_are_ready(struct card *card) { return card->moved != card->received; }
static inline void tags_found(struct card *card, struct chasqui_mpinp_end *end) { (void)card, (void)end; }
static inline bool tags_deliver(struct card *card, const struct buffer *buffer, struct chasqui_mpinp_end *end,
                                uint64_t place)
{
    (void)card, (void)buffer, (void)end, (void)place;
    return false;
}
static inline bool tags_delivered(struct card *card)
{
    (void)card;
    return false;
}
static inline bool tags_tell(uint32_t process)
{
    (void)process;
    return false;
}
static inline uint64_t tags_count(uint32_t process, uint32_t sent)
{
    (void)process;
    return sent;
}
#endif

/* The receiver gets a place if it has none and a buffer is free. */
static inline void give_place(struct card *card)
{
    if (card->receives || card->places - card->moved == BUFFERS)
        return;
    card->receives = true;
    np_store(CHASQUI_NP_RECEIVE_LOCAL, local(&buffers[card->places++ % BUFFERS]));
    np_store(CHASQUI_NP_RECEIVE_START, sizeof(struct buffer));
}

/* `counts` of a slot. Where no pages are pinned there are no long messages: the other process's library does not know them. */
static inline bool is_message(uint32_t bits)
{
    const uint32_t moves = CHASQUI_MPINP_SLOT_POSTS | CHASQUI_MPINP_SLOT_PUTS;
    return bits & CHASQUI_MPINP_ARRIVED_MESSAGE && !(bits & ~slot_bits) && (bits & moves) != moves;
}

/* Why the message of `process` can't leave: FAULT bits, or none. Now it counts. */
static inline uint64_t account(const struct card *card, struct peer *peer, const struct chasqui_mpinp_head *slot)
{
    uint32_t given = slot->credit - peer->told, bits = slot->counts;
    if (given > peer->arrived - peer->told)
        return CHASQUI_NP_FAULT_GIVEN;
    if (bits == 0) {
        if (given < (card->credit + 1) / 2)
            return CHASQUI_NP_FAULT_GIVEN;
    } else {
        if (bits != CHASQUI_MPINP_ARRIVED_MESSAGE && !is_message(bits))
            return CHASQUI_NP_FAULT_SLOT;
        if (peer->sent - peer->credited >= card->credit)
            return CHASQUI_NP_FAULT_CREDIT;
        peer->sent++;
    }
    peer->told = slot->credit;
    return 0;
}

#include "long.h"

/* The process's next slot is done with. */
static inline void slot_left(struct card *card, struct process *process)
{
    process->slot += SLOT;
    if (process->slot == process->window + 4096 + card->slots * SLOT)
        process->slot = process->window + 4096;
    process->sent++;
    card->tells = true;
}

/* The head of the process's next slot leaves, or the slot begins a long message. */
static ALWAYS void send_head(struct card *card, struct process *process, bool is_long)
{
    /* The process may change its slot meanwhile. */
    const uint64_t words[] = {word(process->slot), word(process->slot + 8)};
    struct chasqui_mpinp_head slot;
    __builtin_memcpy(&slot, words, sizeof slot);
    if (!is_long && slot.counts & (CHASQUI_MPINP_SLOT_POSTS | CHASQUI_MPINP_SLOT_PUTS)) {
        card->meets_long = true;
        return;
    }
    uint64_t why = CHASQUI_NP_FAULT_SLOT;
    if (slot.node < card->nodes && slot.process < processes_for(card) && slot.bytes <= CHASQUI_MPINP_SLOT_DATA_BYTES) {
        name_among_all(&slot, card->sender);
        why = account(card, &process->peers[slot.node * card->per_node + slot.process], &slot);
    }
    if (is_long && !why && slot.counts & CHASQUI_MPINP_SLOT_PUTS) {
        if (!long_put(card->sender, card->node, slot))
            return refuse(card->sender, CHASQUI_NP_FAULT_REQUEST);
        return slot_left(card, process);
    }
    if (is_long && !why && slot.counts & CHASQUI_MPINP_SLOT_POSTS && !long_post(card->sender, slot.node, slot.process))
        why = CHASQUI_NP_FAULT_REQUEST;
    if (why)
        return refuse(card->sender, why);
    card->bytes = (slot.bytes + 7u & ~7u) + ENVELOPE;
    np_store(CHASQUI_NP_SEND_TO, slot.node);
    slot.to = slot.process;
    slot.process = (uint16_t)card->sender;
    slot.node = card->node;
    head = slot;
    if (slot.counts)
        carry(process->slot + sizeof slot + card->bytes - ENVELOPE);
    np_store(CHASQUI_NP_SEND_LOCAL, local(&head));
    np_store(CHASQUI_NP_SEND_START, sizeof head);
    card->sends = true;
    card->is_headed = false;
}

/* Slots and fragments in turn. */
static ALWAYS void send_next(struct card *card, bool is_long)
{
    if (is_long && long_sends_first()) {
        card->sends = true;
        return;
    }
    for (uint32_t i = 0; i < card->process_count && (is_long || !card->meets_long); i++) {
        card->sender = card->sender + 1 < card->process_count ? card->sender + 1 : 0;
        struct process *process = &processes[card->sender];
        while (process->sent != process->produced && !process->is_refused && (is_long || !card->meets_long)) {
            send_head(card, process, is_long);
            if (card->sends)
                return;
        }
    }
    if (is_long && long_sends())
        card->sends = true;
}

/* A block of the worm has left. */
static ALWAYS void block_sent(struct card *card, bool is_long)
{
    if (is_long && long_is_sent()) {
        card->sends = long_sent();
        card->tells |= untold > 0;
        return;
    }
    struct process *process = &processes[card->sender];
    if (!card->is_headed) {
        card->is_headed = true;
        np_store(CHASQUI_NP_SEND_LOCAL, local(process->slot + sizeof head));
        np_store(CHASQUI_NP_SEND_START, card->bytes | CHASQUI_NP_SEND_LAST);
        return;
    }
    card->sends = false;
    slot_left(card, process);
}

/* What has come first is a fragment. */
static ALWAYS void move_fragment(struct card *card, struct buffer *buffer)
{
    struct process *process = &processes[buffer->head.to];
    card->moves = long_arrived(buffer, &process->peers[buffer->head.node * card->per_node + buffer->head.process]);
    if (card->moves == MESSAGE)
        next_place(card, process);
    if (card->moves == NOTHING) {
        card->moved++;
        give_place(card);
    }
}

static ALWAYS void move_message(struct card *card, bool is_long)
{
    struct buffer *buffer = &buffers[card->moved % BUFFERS];
    if (buffer->head.counts & CHASQUI_MPINP_SLOT_FRAGMENT) {
        card->meets_long = true;
        if (is_long)
            move_fragment(card, buffer);
        return;
    }
    struct chasqui_mpinp_head from = buffer->head;
    struct process *process = &processes[from.to];
    struct peer *peer = &process->peers[from.node * card->per_node + from.process];
    peer->credited = from.credit;
    peer->arrived += from.counts & CHASQUI_MPINP_ARRIVED_MESSAGE;
    uint64_t data = from.bytes + 7u & ~7u;
    struct chasqui_mpinp_end *end = (void *)envelope_of(buffer);
    end->head = from;
    name_in_job(&end->head);
    end->number = ++process->arrived;
    end->sent = process->told = process->sent;
    tags_found(card, end);
    if (from.counts)
        carry(&end->envelope);
    card->moves = MESSAGE;
    /* Its end is the slot's. */
    if (!tags_deliver(card, buffer, end, process->place + SLOT - END))
        move(process->place + SLOT - END - data, buffer->data, data + END);
    next_place(card, process);
}

/* A process is told how many slots have left when that is half of its window. Messages that come to it say so besides. Of a long
 * message it is told at once. */
static ALWAYS void move_count(struct card *card, bool is_long)
{
    for (uint32_t i = 0; i < card->process_count; i++) {
        card->teller = card->teller + 1 < card->process_count ? card->teller + 1 : 0;
        struct process *process = &processes[card->teller];
        if (is_long && long_tell(card->teller)) {
            card->moves = COUNT;
            return;
        }
        if ((process->sent - process->told) * 2 < card->slots && !tags_tell(card->teller))
            continue;
        count = tags_count(card->teller, process->told = process->sent);
        card->moves = COUNT;
        return move(process->host + CHASQUI_MPINP_HOST_SENT, &count, sizeof count);
    }
    card->tells = false;
}

/* The host's DMA is done. */
static ALWAYS void block_moved(struct card *card, bool is_long)
{
    if (tags_delivered(card))
        return;
    if (card->moves == MESSAGE) {
        card->moved++;
        give_place(card);
    } else if (is_long && card->moves >= ENTRY) {
        long_moved(card->moves);
    }
    card->moves = NOTHING;
}

static void begin(struct card *card)
{
    uint64_t window = np_load(CHASQUI_NP_SETTING_WINDOWS), window_bytes = np_load(CHASQUI_NP_SETTING_WINDOW_BYTES);
    uint64_t host = np_load(CHASQUI_NP_SETTING_HOST_MEMORY), host_bytes = np_load(CHASQUI_NP_SETTING_HOST_MEMORY_BYTES);
    card->process_count = (uint32_t)np_load(CHASQUI_NP_SETTING_PROCESSES);
    card->per_node = (uint32_t)np_load(CHASQUI_NP_SETTING_PER_NODE);
    card->nodes = (uint32_t)np_load(CHASQUI_NP_SETTING_NODES);
    card->node = (uint16_t)np_load(CHASQUI_NP_SETTING_NODE);
    card->credit = (uint32_t)np_load(CHASQUI_NP_SETTING_CREDIT);
    card->slots = (uint32_t)(window_bytes - 4096) / SLOT;
    card->ring = (uint32_t)(host_bytes - 4096) / SLOT;
    struct peer *peers = (void *)((uintptr_t)_end + sizeof *peers - 1 & ~(sizeof *peers - 1));
    for (uint32_t i = 0; i < card->process_count; i++) {
        struct process *process = &processes[i];
        process->window = at(window + i * window_bytes);
        process->slot = process->window + 4096;
        process->host = host + i * host_bytes;
        process->place = process->host + 4096;
        process->peers = peers;
        peers = (void *)long_begin((char *)(peers + card->nodes * card->per_node), i);
    }
    long_settings(card->process_count);
    jobs_begin(card->process_count);
    tags_begin();
    give_place(card);
}

static inline void doorbells(struct card *card)
{
    uint64_t rung = np_load(CHASQUI_NP_DOORBELLS);
    for (uint32_t i = 0; rung; i++, rung >>= 1) {
        struct process *process = &processes[i];
        if (!(rung & 1) || process->is_refused)
            continue;
        process->produced = *(volatile uint32_t *)(process->window + CHASQUI_MPINP_DOORBELL);
        if (process->produced - process->sent > card->slots)
            refuse(i, CHASQUI_NP_FAULT_COUNT);
        tags_requests(card, i);
    }
}

static inline void buffer_filled(struct card *card)
{
    uint64_t filled = np_load(CHASQUI_NP_RECEIVED);
    check(filled & CHASQUI_NP_RECEIVED_LAST); /* Slots are as long on all nodes. */
    tags_look(card);
    card->received++;
    card->receives = false;
    give_place(card);
}

/* What has happened. */
static ALWAYS void hear(struct card *card, bool is_long)
{
    uint64_t event = np_load(CHASQUI_NP_EVENT);
    if (event & CHASQUI_NP_EVENT_RECEIVED)
        buffer_filled(card);
    if (event & CHASQUI_NP_EVENT_HOST)
        block_moved(card, is_long);
    if (event & CHASQUI_NP_EVENT_SENT)
        block_sent(card, is_long);
    if (event & CHASQUI_NP_EVENT_DOORBELL)
        doorbells(card);
    tags_hear(event);
}

/* All that can be done. */
static ALWAYS void work(struct card *card, bool is_long)
{
    /* Of what has left processes hear first: fragments want the DMA without end. */
    if (is_long && card->moves == NOTHING && card->tells)
        move_count(card, is_long);
    if (is_long && card->moves == NOTHING)
        card->moves = long_fetch(true);
    while (card->moves == NOTHING && tags_are_ready(card)) {
        move_message(card, is_long);
        if (!is_long && card->meets_long)
            return;
    }
    if (!card->sends)
        send_next(card, is_long);
    if (is_long && card->moves == NOTHING)
        card->moves = long_fetch(false);
    if (!is_long && card->moves == NOTHING && card->tells)
        move_count(card, is_long);
}

static struct card parked; /* between the loops */

/* While there is no long message: no function is called, so that all that is needed stays in registers. */
static __attribute__((noinline)) void go(void)
{
    struct card card = parked;
    while (!card.meets_long) {
        hear(&card, false);
        work(&card, false);
    }
    parked = card;
}

/* While there is one. */
static __attribute__((noinline)) void go_at_length(void)
{
    struct card card = parked;
    for (;;) {
        card.meets_long = false;
        if (has_refused)
            long_forget(card.process_count);
        work(&card, true);
        if (card.moves < ENTRY && !card.meets_long && long_is_over())
            break;
        hear(&card, true);
    }
    parked = card;
}

void _start(void)
{
    begin(&parked);
    for (;;) {
        go();
        go_at_length();
    }
}
