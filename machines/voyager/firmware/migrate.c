/* Moving queues between the hardware's slots and the firmware, while messages flow.
 *
 * From the moment at which a queue leaves its slot (MAP), no access is served until the request for that is, and
 * packets for it wait in the miss queue. What the hardware still had to send goes first. A queue that gets a slot
 * is diverted until all its older packets have been delivered. So no message passes another.
 */
#include "firmware.h"

uint64_t migrations;

/* Hardware slots in use, by kind. */
static uint64_t slots_in_use(bool basic)
{
    uint64_t used = 0;
    for (unsigned name = 0; name < queue_count; name++)
        if (is_basic(name) == basic && queues[name].place != SERVED)
            used |= 1ull << queues[name].slot;
    return used;
}

static void map(unsigned name, bool resident)
{
    uint64_t slot = (uint64_t)queues[name].slot << 16;
    nes_store(CHASQUI_SP_MAP, name | slot | (resident ? CHASQUI_SP_MAP_RESIDENT : 0));
}

static uint64_t basic_register(unsigned name, uint64_t of_first)
{
    return of_first + queues[name].slot * CHASQUI_SP_BASIC_STRIDE;
}

static uint64_t express_register(unsigned name, uint64_t of_first)
{
    return of_first + queues[name].slot * CHASQUI_SP_EXPRESS_STRIDE;
}

static void take_basic(unsigned name)
{
    struct queue *queue = &queues[name];
    queue->transmit_consumer = nes_load(basic_register(name, CHASQUI_SP_BASIC_TRANSMIT_CONSUMER));
    queue->receive_producer = nes_load(basic_register(name, CHASQUI_SP_BASIC_RECEIVE_PRODUCER));
    queue->receive_consumer = nes_load(basic_register(name, CHASQUI_SP_BASIC_RECEIVE_CONSUMER));
    command(CHASQUI_SP_COMMAND_COPY_OUT, name);
    launch_up_to(name, nes_load(basic_register(name, CHASQUI_SP_BASIC_TRANSMIT_PRODUCER)));
}

/* The hardware's messages are older than those that wait here. */
static void take_express(unsigned name)
{
    struct queue *queue = &queues[name];
    uint64_t word;
    while ((word = nes_load(express_register(name, CHASQUI_SP_EXPRESS_TAKE))) != CHASQUI_VOYAGER_EXPRESS_EMPTY) {
        struct message *message = message_new(queue->process);
        message->words[0] = word;
        make_ready(queue, message);
    }
    queue->sent = nes_load(express_register(name, CHASQUI_SP_EXPRESS_SENT));
}

static void take(unsigned name)
{
    if (is_basic(name))
        take_basic(name);
    else
        take_express(name);
    queues[name].place = SERVED;
}

static bool is_quiescent;

void quiescent(void) { is_quiescent = true; }

/* The queue leaves its slot, if there is memory for what is in it: first for the hardware, which then sends what it
 * has begun, or all of Express; when that is over, for us. */
static enum outcome leave(unsigned name)
{
    struct queue *queue = &queues[name];
    if (queue->place == RESIDENT) {
        if (!messages_are_left(express_messages))
            return DONE;
        queue->place = LEAVING;
        is_quiescent = false;
        map(name, false);
        nes_store(CHASQUI_SP_WATCH, name | (uint64_t)queue->slot << 16);
    }
    if (!is_quiescent || !messages_are_left(express_messages))
        return LATER;
    take(name);
    serve_room(name);
    return DONE;
}

static void give_basic(unsigned name)
{
    struct queue *queue = &queues[name];
    command(CHASQUI_SP_COMMAND_COPY_IN, name);
    nes_store(basic_register(name, CHASQUI_SP_BASIC_TRANSMIT_PRODUCER), queue->transmit_producer);
    nes_store(basic_register(name, CHASQUI_SP_BASIC_TRANSMIT_CONSUMER), queue->transmit_consumer);
    nes_store(basic_register(name, CHASQUI_SP_BASIC_RECEIVE_PRODUCER), queue->receive_producer);
    nes_store(basic_register(name, CHASQUI_SP_BASIC_RECEIVE_CONSUMER), queue->receive_consumer);
}

static void give_express(unsigned name)
{
    struct queue *queue = &queues[name];
    nes_store(express_register(name, CHASQUI_SP_EXPRESS_SENT), queue->sent);
    struct message *message;
    while ((message = take_ready(queue))) {
        nes_store(express_register(name, CHASQUI_SP_EXPRESS_TAKE), message->words[0]);
        message_free(queue->process, message);
    }
}

/* All of the queue is in its slot: what waits for that may follow. */
static void settle(unsigned name)
{
    queues[name].place = RESIDENT;
    serve_room(name);
    hand_over(name);
}

static void give(unsigned name, unsigned slot)
{
    queues[name].slot = slot;
    if (is_basic(name))
        give_basic(name);
    else
        give_express(name);
    map(name, true);
    settle(name);
}

/* The queue gets a slot, if one is free. */
static enum outcome enter(unsigned name)
{
    uint64_t free = ~slots_in_use(is_basic(name)); /* never all 64 */
    uint64_t slots = nes_load(is_basic(name) ? CHASQUI_SP_SETTING_BASIC_SLOTS : CHASQUI_SP_SETTING_EXPRESS_SLOTS);
    unsigned slot = __builtin_ctzll(free);
    if (slot >= slots)
        return DONE;
    if (is_launching(name))
        return LATER;
    give(name, slot);
    return DONE;
}

/* Names of a process's Express queues begin here. */
static unsigned first_express(unsigned process) { return process * CHASQUI_VOYAGER_EXPRESS_QUEUES; }

/* Nothing is under way, so that an Express queue is mapped while its messages are moved: the NES knows whose they are. */
void swap_out(unsigned process)
{
    for (unsigned i = 0; i < CHASQUI_VOYAGER_EXPRESS_QUEUES; i++) {
        take(first_express(process) + i);
        map(first_express(process) + i, false);
    }
    for (unsigned i = 0; i < basic_queues(); i++) {
        map(first_basic(process) + i, false);
        take(first_basic(process) + i);
    }
}

void swap_in(unsigned process)
{
    for (unsigned i = 0; i < CHASQUI_VOYAGER_EXPRESS_QUEUES; i++) {
        unsigned name = first_express(process) + i;
        queues[name].slot = i;
        map(name, true);
        give_express(name);
        settle(name);
    }
    for (unsigned i = 0; i < basic_queues(); i++)
        give(first_basic(process) + i, i);
}

enum outcome migrate(uint64_t request)
{
    unsigned name = request & 0xffff;
    enum place wanted = request & CHASQUI_VOYAGER_SYSTEM_RESIDENT ? RESIDENT : SERVED;
    if (name >= queue_count || queues[name].place == wanted)
        return DONE;
    enum outcome outcome = wanted == RESIDENT ? enter(name) : leave(name);
    migrations += queues[name].place == wanted;
    return outcome;
}
