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
    message_free(message);
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

/* OnePoll (section 4.3): of a set of a process's queues, `first` and so on, in which not all are resident. */
static uint64_t one_poll(unsigned first, unsigned set)
{
    const unsigned express = CHASQUI_VOYAGER_EXPRESS_QUEUES;
    for (unsigned own = 0; own < express; own++) {
        uint64_t message = set >> own & 1 ? take(first + own) : CHASQUI_VOYAGER_EXPRESS_EMPTY;
        if (message != CHASQUI_VOYAGER_EXPRESS_EMPTY)
            return message;
    }
    if (!(set >> express & 1))
        return CHASQUI_VOYAGER_EXPRESS_EMPTY;
    /* Processes have as many Basic queues as each other. */
    unsigned basic = express_count + first * (queue_count - express_count) / express_count;
    uint64_t producer = receive_pointer(basic, true), consumer = receive_pointer(basic, false);
    if (producer == consumer)
        return CHASQUI_VOYAGER_EXPRESS_EMPTY;
    return CHASQUI_VOYAGER_EXPRESS_VALID | (uint64_t)express << CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT |
           (consumer & 0xffff) << 16 | (producer & 0xffff);
}

static enum outcome serve_queue(unsigned what, unsigned name)
{
    struct queue *queue = &queues[name];
    switch (what) {
    case CHASQUI_SP_WHAT_TRANSMIT_PRODUCER:
        launch_up_to(name, nes_load(CHASQUI_SP_ACCESS_VALUE));
        break;
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
    case CHASQUI_SP_WHAT_TRANSMIT_CONSUMER:
        answer(queue->transmit_consumer);
        return DONE;
    case CHASQUI_SP_WHAT_RECEIVE_PRODUCER:
        answer(queue->receive_producer);
        return DONE;
    case CHASQUI_SP_WHAT_EXPRESS_SENT:
        answer(queue->sent);
        return DONE;
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
    const unsigned set = name & ((1u << CHASQUI_SP_ONEPOLL_FIRST_SHIFT) - 1); /* OnePoll */
    switch (what) {
    case CHASQUI_SP_WHAT_ONEPOLL:
        name >>= CHASQUI_SP_ONEPOLL_FIRST_SHIFT;
        answer(one_poll(name, set));
        for (unsigned own = 0; own < CHASQUI_VOYAGER_EXPRESS_QUEUES; own++)
            serve_room(name + own);
        return DONE;
    case CHASQUI_SP_WHAT_MIGRATE:
        if (migrate(nes_load(CHASQUI_SP_ACCESS_VALUE)) == LATER)
            return LATER;
        answer(0);
        return DONE;
    case CHASQUI_SP_WHAT_MIGRATED:
        answer(migrations);
        return DONE;
    case CHASQUI_SP_WHAT_NOTHING:
        answer(0);
        return DONE;
    }
    /* It got a slot after the access was made. */
    if (queues[name].place == RESIDENT) {
        nes_store(CHASQUI_SP_ACCESS_FORWARD, 0);
        return DONE;
    }
    return serve_queue(what, name);
}
