/* What a list of tags adds to the thin firmware, of whose file this is a part (firmware/bip/main.c).
 *
 * Requests that a process has stored to its window go to the list, each message that comes is looked up as soon as it is here.
 * A message that has met an entry goes to the buffer of that, if all of it is here, and then its end to the process's ring, so
 * that its software hears of it; all others go to the ring whole, with what the list said. What comes is moved on in its
 * order, which is that of the looks: the answers of the list come in the same. */
#ifndef LIST_H
#define LIST_H

_Static_assert(CHASQUI_MPINP_TAG_DOORBELL == CHASQUI_MPINP_DOORBELL + 4 && CHASQUI_MPINP_HOST_TAGS_TAKEN == 4,
               "one word");

/* Of a process: requests that were taken, and those of them that it was told of. */
struct tag_process {
    uint32_t taken, told;
};

static struct tag_process tag_processes[CHASQUI_NP_PROCESSES_MAX];
static bool looked[BUFFERS]; /* the list was asked for what is in there */
static struct chasqui_mpinp_end answer; /* that moves to the host */
static uint32_t tags_each; /* entries of a process */
static bool list_answered; /* there may be a result that was not loaded */
static uint64_t found; /* the result of the oldest message that was looked up; 0: it was not loaded */
static uint64_t end_place; /* physical address of where the end of the message goes that is delivered */
static const struct chasqui_mpinp_end *delivered_end;

static inline void tags_begin(void) { tags_each = (uint32_t)np_load(CHASQUI_NP_SETTING_TAGS); }

static inline void tags_hear(uint64_t event)
{
    if (event & CHASQUI_NP_EVENT_TAGS)
        list_answered = true;
}

/* False: it asks for what it may not. */
static inline bool tags_request(uint32_t process, const volatile char *from)
{
    /* The process may change it meanwhile. */
    const uint64_t words[] = {word(from), word(from + 8), word(from + 16), word(from + 24)};
    struct chasqui_mpinp_tag request;
    __builtin_memcpy(&request, words, sizeof request);
    if (request.entry >= tags_each)
        return false;
    uint64_t entry = process | (uint64_t)request.entry << 32;
    if (request.kind == CHASQUI_MPINP_TAG_REMOVE) {
        np_store(CHASQUI_NP_TAG_REMOVE, entry);
        return true;
    }
    np_store(CHASQUI_NP_TAG_KEY, request.key);
    np_store(CHASQUI_NP_TAG_ADDRESS, request.address);
    np_store(CHASQUI_NP_TAG_ROOM, words[2]);
    np_store(CHASQUI_NP_TAG_APPEND, entry);
    return request.kind == CHASQUI_MPINP_TAG_APPEND;
}

/* The process's doorbell was stored to. */
static inline void tags_requests(struct card *card, uint32_t number)
{
    const volatile char *window = processes[number].window;
    struct tag_process *process = &tag_processes[number];
    uint32_t posted = *(volatile uint32_t *)(window + CHASQUI_MPINP_TAG_DOORBELL);
    if (processes[number].is_refused || posted == process->taken)
        return;
    if (posted - process->taken > CHASQUI_MPINP_TAG_REQUESTS)
        return refuse(number, CHASQUI_NP_FAULT_REQUEST);
    for (; process->taken != posted; process->taken++) {
        uint32_t place = process->taken % CHASQUI_MPINP_TAG_REQUESTS;
        if (!tags_request(number, window + place * sizeof(struct chasqui_mpinp_tag)))
            return refuse(number, CHASQUI_NP_FAULT_REQUEST);
    }
    card->tells = true;
}

/* A buffer is filled, which is to count as received: what begins a message is looked up. */
static inline void tags_look(struct card *card)
{
    uint32_t number = card->received % BUFFERS;
    struct buffer *buffer = &buffers[number];
    const struct chasqui_envelope *envelope = envelope_of(buffer);
    looked[number] = buffer->head.counts && !(buffer->head.counts & CHASQUI_MPINP_SLOT_FRAGMENT) &&
                     envelope->kind <= CHASQUI_PACKET_LAST_MESSAGE;
    if (!looked[number])
        return;
    np_store(CHASQUI_NP_TAG_KEY, chasqui_match_key(envelope->source, envelope->context, (uint32_t)envelope->tag));
    np_store(CHASQUI_NP_TAG_LOOK, buffer->head.to);
}

/* An entry has been removed, or was not there: the process hears of it. */
static inline void tags_answer(struct card *card, uint64_t result)
{
    struct process *process = &processes[result >> CHASQUI_NP_TAG_PROCESS_SHIFT & 0xff];
    answer.head.to = (uint16_t)(result & CHASQUI_NP_TAG_ENTRY);
    answer.head.counts = CHASQUI_MPINP_ARRIVED_REMOVED;
    answer.number = ++process->arrived;
    answer.sent = process->told = process->sent;
    move(process->place + SLOT - END, &answer, END);
    next_place(card, process);
    card->moves = ANSWER;
}

/* What came first can be moved on: it was not looked up, or the list has answered. */
static inline bool tags_are_ready(struct card *card)
{
    if (list_answered && !found) {
        uint64_t result = np_load(CHASQUI_NP_TAG_RESULT);
        list_answered = result != 0;
        if (result & CHASQUI_NP_TAG_REMOVED) {
            tags_answer(card, result);
            return false;
        }
        found = result;
    }
    return card->moved != card->received && (!looked[card->moved % BUFFERS] || found);
}

/* What came first is about to be moved on: its software hears what the list said. */
static inline void tags_found(struct card *card, struct chasqui_mpinp_end *end)
{
    end->head.to = 0;
    if (!looked[card->moved % BUFFERS])
        return;
    end->head.to = (uint16_t)(found & CHASQUI_NP_TAG_ENTRY);
    end->head.counts = CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_ARRIVED_LOOKED |
                       (uint32_t)(found >> CHASQUI_NP_TAG_REQUESTS_SHIFT) << CHASQUI_MPINP_ARRIVED_REQUESTS_SHIFT;
    found = 0;
    if (!end->head.to)
        return;
    MARK_MATCHED(&end->envelope);
    /* Of others the sender awaits an answer, or data follow: that is the software's. */
    if (end->envelope.kind == CHASQUI_PACKET_EAGER)
        end->head.counts |= CHASQUI_MPINP_ARRIVED_DELIVERED;
}

/* A message that has met an entry goes to its buffer, its end to `place` thereafter. */
static inline bool tags_deliver(struct card *card, const struct buffer *buffer, struct chasqui_mpinp_end *end,
                                uint64_t place)
{
    if (!(end->head.counts & CHASQUI_MPINP_ARRIVED_DELIVERED))
        return false;
    end_place = place;
    delivered_end = end;
    if (end->head.bytes == 0) {
        move(place, end, END);
        return true;
    }
    card->moves = DELIVERY;
    np_store(CHASQUI_NP_HOST_LOCAL, local(buffer->data));
    np_store(CHASQUI_NP_TAG_DELIVER, end->head.bytes);
    return true;
}

/* The host's DMA is done: of a delivery the end follows. */
static inline bool tags_delivered(struct card *card)
{
    if (card->moves != DELIVERY)
        return false;
    carry(&delivered_end->envelope);
    move(end_place, delivered_end, END);
    card->moves = MESSAGE;
    return true;
}

/* The process has to be told of requests that were taken. */
static inline bool tags_tell(uint32_t process)
{
    return (tag_processes[process].taken - tag_processes[process].told) * 2 >= CHASQUI_MPINP_TAG_REQUESTS;
}

/* Slots that have left, and requests that were taken. */
static inline uint64_t tags_count(uint32_t process, uint32_t sent)
{
    tag_processes[process].told = tag_processes[process].taken;
    return sent | (uint64_t)tag_processes[process].taken << 32;
}

#endif
