/* The application processor's accesses to queues that are not resident. */
#include "firmware.h"

static void answer(uint64_t value) { nes_store(CHASQUI_SP_ACCESS_ANSWER, value); }

/* Takes the oldest message of an Express queue, wherever that is. */
static uint64_t take(unsigned name)
{
    struct queue *queue = &queues[name];
    if (queue->place == RESIDENT)
        return nes_load(CHASQUI_SP_EXPRESS_TAKE + queue->slot * CHASQUI_SP_EXPRESS_STRIDE);
    struct message *message = take_ready(queue);
    if (!message)
        return CHASQUI_VOYAGER_EXPRESS_EMPTY;
    uint64_t value = message->words[0];
    message_free(queue->process, message);
    return value;
}

static uint64_t receive_pointer(unsigned name, bool producer)
{
    const struct queue *queue = &queues[name];
    if (queue->place != RESIDENT)
        return producer ? queue->receive_producer : queue->receive_consumer;
    uint64_t slot = queue->slot * CHASQUI_SP_BASIC_STRIDE;
    return nes_load((producer ? CHASQUI_SP_BASIC_RECEIVE_PRODUCER : CHASQUI_SP_BASIC_RECEIVE_CONSUMER) + slot);
}

/* What its process calls a Basic queue: all processes have as many as each other. */
static unsigned own_name(unsigned name)
{
    return CHASQUI_VOYAGER_EXPRESS_QUEUES + (name - express_count) % basic_queues();
}

/* What OnePoll returns for a Basic queue (registers.h): its process's name for it, and its pointers. EMPTY: it has no
 * message. */
static uint64_t announced(unsigned name)
{
    uint64_t producer = receive_pointer(name, true), consumer = receive_pointer(name, false);
    if (producer == consumer)
        return CHASQUI_VOYAGER_EXPRESS_EMPTY;
    return CHASQUI_VOYAGER_CAME_ALONE << CHASQUI_VOYAGER_EXPRESS_CAME_SHIFT |
           (uint64_t)CHASQUI_VOYAGER_EXPRESS_QUEUES << CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT |
           (uint64_t)own_name(name) << CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT | (consumer & 0xffff) << 16 |
           (producer & 0xffff);
}

/* OnePoll (section 4.3), of an order in which not all queues are resident. */
static void one_poll(unsigned phantom)
{
    uint64_t order = CHASQUI_SP_ONEPOLL_ORDER + phantom * CHASQUI_VOYAGER_ONEPOLL_STRIDE, names = 0;
    for (unsigned i = 0; i < CHASQUI_VOYAGER_ONEPOLL_QUEUES; i++, names >>= 16) {
        if (i % 4 == 0)
            names = nes_load(order + i / 4 * sizeof names);
        unsigned name = names & 0xffff;
        if (name == CHASQUI_VOYAGER_ONEPOLL_NONE)
            break;
        uint64_t message = is_basic(name) ? announced(name) : take(name);
        if (message == CHASQUI_VOYAGER_EXPRESS_EMPTY)
            continue;
        answer(message);
        if (!is_basic(name))
            serve_room(name);
        return;
    }
    answer(CHASQUI_VOYAGER_EXPRESS_EMPTY);
}

static enum outcome serve_queue(unsigned what, unsigned name)
{
    struct queue *queue = &queues[name];
    switch (what) {
    case CHASQUI_SP_WHAT_TRANSMIT_PRODUCER: launch_up_to(name, nes_load(CHASQUI_SP_ACCESS_VALUE)); break;
    case CHASQUI_SP_WHAT_RECEIVE_CONSUMER:
        queue->receive_consumer = nes_load(CHASQUI_SP_ACCESS_VALUE);
        answer(0);
        serve_room(name);
        return DONE;
    case CHASQUI_SP_WHAT_EXPRESS:
        if (!launcher_is_free())
            return LATER;
        launch_access(name);
        return DONE;
    case CHASQUI_SP_WHAT_TRANSMIT_CONSUMER: answer(queue->transmit_consumer); return DONE;
    case CHASQUI_SP_WHAT_RECEIVE_PRODUCER: answer(queue->receive_producer); return DONE;
    case CHASQUI_SP_WHAT_EXPRESS_SENT: answer(queue->sent); return DONE;
    case CHASQUI_SP_WHAT_EXPRESS_TAKE:
        answer(take(name));
        serve_room(name);
        return DONE;
    }
    answer(0);
    return DONE;
}

enum outcome serve_access(unsigned what, unsigned name)
{
    switch (what) {
    case CHASQUI_SP_WHAT_ONEPOLL: one_poll(name); return DONE;
    case CHASQUI_SP_WHAT_MIGRATE:
        if (migrate(nes_load(CHASQUI_SP_ACCESS_VALUE)) == LATER)
            return LATER;
        answer(0);
        return DONE;
    case CHASQUI_SP_WHAT_MIGRATED: answer(migrations); return DONE;
    case CHASQUI_SP_WHAT_NOTHING: answer(0); return DONE;
    }
    /* It got a slot after the access was made. */
    if (queues[name].place == RESIDENT) {
        nes_store(CHASQUI_SP_ACCESS_FORWARD, 0);
        return DONE;
    }
    return serve_queue(what, name);
}
