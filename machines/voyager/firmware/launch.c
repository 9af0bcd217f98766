/* Sending for queues that are not resident: one message at a time, Basic queues in turn. */
#include "firmware.h"

#define NONE CHASQUI_VOYAGER_QUEUES

/* The queue whose message is on its way to the TxU. */
static unsigned launching = NONE;

/* Basic queues with slots to send, a ring of names; each is there once. */
static uint16_t active[CHASQUI_VOYAGER_QUEUES];
static unsigned active_first, active_count;

bool launcher_is_free(void) { return launching == NONE; }

bool is_launching(unsigned name) { return launching == name; }

void launch_access(unsigned name)
{
    launching = name;
    nes_store(CHASQUI_SP_ACCESS_LAUNCH, 0);
}

static void activate(unsigned name)
{
    active[(active_first + active_count++) % CHASQUI_VOYAGER_QUEUES] = name;
    queues[name].is_active = true;
}

void launch_up_to(unsigned name, uint32_t producer)
{
    queues[name].transmit_producer = producer;
    if (!queues[name].is_active && producer != queues[name].transmit_consumer)
        activate(name);
}

/* Processes of a job that was held up go on. */
void launch_again(unsigned process, unsigned processes)
{
    unsigned name = first_basic(process);
    for (unsigned left = processes * basic_queues(); left > 0; left--, name++)
        launch_up_to(name, queues[name].transmit_producer);
}

/* What was launched has left. True: it was of a ring. */
bool launched(void)
{
    struct queue *queue = &queues[launching];
    bool is_of_ring = is_basic(launching);
    if (is_of_ring)
        queue->transmit_consumer++;
    else
        queue->sent++;
    launching = NONE;
    return is_of_ring;
}

/* The next queue in turn sends a message, if nothing is on its way. A queue that became resident meanwhile, and
 * one that has sent all, leave the turn. So do those of a job that is held up, until that goes on: looked at after each event
 * they made all events take longer, of other jobs, too. */
static __attribute__((noinline)) void launch_in_turn(void)
{
    while (active_count > 0) {
        unsigned name = active[active_first];
        struct queue *queue = &queues[name];
        active_first = (active_first + 1) % CHASQUI_VOYAGER_QUEUES;
        active_count--;
        queue->is_active = false;
        if (queue->place != SERVED || queue->transmit_consumer == queue->transmit_producer)
            continue;
        if (is_held_up(queue->process))
            continue;
        activate(name);
        launching = name;
        nes_store(CHASQUI_SP_LAUNCH, (uint64_t)name << 32 | queue->transmit_consumer);
        return;
    }
}

/* The rest is apart, so that this is short: mostly there is nothing to launch. */
void launch_next(void)
{
    if (active_count > 0 && launcher_is_free())
        launch_in_turn();
}
