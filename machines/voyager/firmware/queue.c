/* Receiving for queues that are not resident, and for those whose hardware has no room. */
#include "firmware.h"

struct queue queues[CHASQUI_VOYAGER_QUEUES];
unsigned queue_count, express_count, express_messages;

static uint64_t ring_slots, ring_bytes, receive_rings, stride;

/* The first queues are resident, as long as the hardware has slots. */
void queues_begin(void)
{
    uint64_t slots[] = {nes_load(CHASQUI_SP_SETTING_EXPRESS_SLOTS), nes_load(CHASQUI_SP_SETTING_BASIC_SLOTS)};
    express_count = nes_load(CHASQUI_SP_SETTING_EXPRESS_QUEUES);
    queue_count = express_count + nes_load(CHASQUI_SP_SETTING_BASIC_QUEUES);
    express_messages = nes_load(CHASQUI_SP_SETTING_EXPRESS_MESSAGES);
    ring_slots = nes_load(CHASQUI_SP_SETTING_SLOTS);
    ring_bytes = nes_load(CHASQUI_SP_SETTING_RING_BYTES);
    receive_rings = nes_load(CHASQUI_SP_SETTING_RECEIVE_RING);
    stride = nes_load(CHASQUI_SP_SETTING_STRIDE);
    for (unsigned name = 0; name < queue_count; name++) {
        unsigned index = is_basic(name) ? name - express_count : name;
        queues[name].process = index / (is_basic(name) ? basic_queues() : CHASQUI_VOYAGER_EXPRESS_QUEUES);
        if (index < slots[is_basic(name)]) {
            queues[name].place = RESIDENT;
            queues[name].slot = index;
        }
    }
    messages_begin();
}

uint64_t command(uint64_t operation, unsigned name)
{
    nes_store(CHASQUI_SP_COMMAND, operation | (uint64_t)name << 32);
    return nes_load(CHASQUI_SP_RESULT);
}

/* In what follows a message is null for the oldest packet of the miss queue, which is in the NES. */

static uint64_t word_of(const struct message *message, unsigned index)
{
    return message ? message->words[index] : nes_load(CHASQUI_SP_MISSED + 8 * index);
}

static unsigned words_of(uint64_t header) { return 1 + (header_of(header).bytes + 7) / 8; }

static uint64_t command_for(uint64_t operation, unsigned name, const struct message *message)
{
    if (!message)
        return command(operation | CHASQUI_SP_COMMAND_MISSED, name);
    unsigned count = words_of(message->words[0]);
    for (unsigned i = 0; i < count; i++)
        nes_store(CHASQUI_SP_STAGING + 8 * i, message->words[i]);
    return command(operation, name);
}

/* What a receiver of Express reads (registers.h). */
static uint64_t composed(struct chasqui_voyager_packet header, uint64_t word, uint64_t slot)
{
    uint64_t tagged = header.bytes - CHASQUI_VOYAGER_EXPRESS_BYTES, came = CHASQUI_VOYAGER_CAME_ALONE;
    if (tagged && header.flags & CHASQUI_SP_PACKET_WIDE)
        came = CHASQUI_VOYAGER_CAME_WIDE | tagged / sizeof(uint64_t);
    else if (tagged)
        came = tagged == CHASQUI_VOYAGER_TAG_LONG_BYTES ? CHASQUI_VOYAGER_CAME_LONG : CHASQUI_VOYAGER_CAME_SHORT;
    return slot << CHASQUI_VOYAGER_EXPRESS_SLOT_SHIFT | came << CHASQUI_VOYAGER_EXPRESS_CAME_SHIFT |
           (uint64_t)(header.queue % CHASQUI_VOYAGER_EXPRESS_QUEUES) << CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT |
           (uint64_t)header.source << CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT | word;
}

void make_ready(struct queue *queue, struct message *message)
{
    list_append(&queue->ready, message);
    queue->ready_count++;
}

struct message *take_ready(struct queue *queue)
{
    struct message *message = list_take(&queue->ready);
    queue->ready_count -= message != NULL;
    return message;
}

static bool place_express(unsigned name, struct message *message)
{
    struct queue *queue = &queues[name];
    struct chasqui_voyager_packet header = header_of(word_of(message, 0));
    if (queue->ready_count == express_messages)
        return false;
    uint64_t placed = 1; /* and the slot of what is tagged on */
    if (header.bytes > CHASQUI_VOYAGER_EXPRESS_BYTES)
        placed = command_for(CHASQUI_SP_COMMAND_TAG, name, message);
    if (!placed)
        return false;
    uint64_t word = composed(header, word_of(message, 1), placed - 1);
    if (!message)
        message = message_new(queue->process);
    message->words[0] = word;
    make_ready(queue, message);
    return true;
}

static bool place_basic(unsigned name, struct message *message)
{
    struct queue *queue = &queues[name];
    if (queue->receive_producer - queue->receive_consumer == ring_slots)
        return false;
    uint64_t ring = receive_rings + (name - express_count) * ring_bytes;
    nes_store(CHASQUI_SP_ADDRESS, ring + queue->receive_producer % ring_slots * stride);
    command_for(CHASQUI_SP_COMMAND_WRITE, name, message);
    queue->receive_producer++;
    if (message)
        message_free(queue->process, message);
    return true;
}

static bool place_resident(unsigned name, struct message *message)
{
    if (!command_for(CHASQUI_SP_COMMAND_DELIVER, name, message))
        return false;
    if (message)
        message_free(queues[name].process, message);
    return true;
}

/* Puts a message, which is taken, into its queue. False: there is no room. */
static bool place(unsigned name, struct message *message)
{
    switch (queues[name].place) {
    case RESIDENT: return place_resident(name, message);
    case SERVED: return is_basic(name) ? place_basic(name, message) : place_express(name, message);
    default: /* it is between the two */ return false;
    }
}

/* The hardware may deliver again, if nothing of the queue is here. */
void hand_over(unsigned name)
{
    if (queues[name].place == RESIDENT && is_empty(&queues[name].waiting))
        nes_store(CHASQUI_SP_UNDIVERT, name);
}

static bool are_over[CHASQUI_VOYAGER_QUEUES];

bool is_over(unsigned process) { return are_over[process]; }

void forget(unsigned process)
{
    are_over[process] = true;
    struct message *message;
    for (unsigned name = 0; name < queue_count; name++) {
        if (queues[name].process != process)
            continue;
        while ((message = list_take(&queues[name].waiting)) || (message = take_ready(&queues[name])))
            message_free(process, message);
    }
    forget_requests(process);
    forget_sources(process);
}

void overrun(unsigned process)
{
    nes_store(CHASQUI_SP_OVERRUN, process);
    forget(process);
}

static void keep(unsigned name)
{
    struct message *message = message_new(queues[name].process);
    message->words[0] = nes_load(CHASQUI_SP_MISSED);
    unsigned count = words_of(message->words[0]);
    for (unsigned i = 1; i < count; i++)
        message->words[i] = nes_load(CHASQUI_SP_MISSED + 8 * i);
    list_append(&queues[name].waiting, message);
}

/* The oldest packet of the miss queue is for `name`, a queue of a process that is not over. */
static void receive(unsigned name)
{
    unsigned process = queues[name].process;
    if (!may_keep(process))
        overrun(process);
    else if (!is_empty(&queues[name].waiting) || !place(name, NULL))
        keep(name);
}

/* The oldest of a job's `waiting` packets of the miss queue is for `name`; so many have not been looked at. */
void serve_miss(unsigned name, unsigned waiting, unsigned unseen)
{
    check(name < queue_count); /* The NES drops what is for none. */
    unsigned process = queues[name].process;
    bool is_received = !is_over(process);
    hold_if_full(process, waiting, unseen); /* First, for meanwhile more come. */
    if (is_received)
        receive(name);
    nes_store(CHASQUI_SP_MISS_POP, 0);
    if (is_received)
        hand_over(name);
    missed_is_taken(process, waiting == 1);
}

void serve_room(unsigned name)
{
    struct list *waiting = &queues[name].waiting;
    if (is_empty(waiting))
        return;
    while (!is_empty(waiting)) {
        struct message *message = list_take(waiting);
        if (!place(name, message)) {
            list_put_back(waiting, message);
            return;
        }
    }
    hand_over(name);
}
