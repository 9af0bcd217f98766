/* Processes that sleep until the card has something for them.
 *
 * A process asks the card for an interrupt by its word of the card's memory, and looks once more before it sleeps. The load
 * between the two goes behind the store, and its answer comes behind what the card has written to memory (PCI Local Bus
 * Specification 2.1, 3.2.5). So an event that the card had written before it could see the word is seen here; for all others
 * it interrupts. In the kernel no interrupt is taken, so none comes between the look and the sleep. */
#include "kernel/interrupt/image.h"

#include "kernel/agent.h"

static struct queue sleepers[PROCESSES];
static uint32_t words[PROCESSES]; /* of the card, as they were last */

static uint64_t register_at(uint64_t offset) { return setting(CHASQUI_MPINP_SETTING_INTERRUPT) + offset; }

/* The process's memory on the host: all lie before the page table. */
static const volatile void *host_at(uint64_t offset)
{
    uint64_t from_end = (process_count - process_here) * setting(CHASQUI_MPINP_SETTING_HOST_BYTES);
    return of_physical(setting(CHASQUI_MPINP_SETTING_PAGE_TABLE) - from_end + offset);
}

/* The process has more events than so many. */
static bool has_event(uint32_t seen)
{
    uint64_t place = seen % CHASQUI_MPINP_EVENTS * sizeof(struct chasqui_mpinp_event);
    const volatile struct chasqui_mpinp_event *event = host_at(CHASQUI_MPINP_HOST_EVENTS + place);
    return event->number == seen + 1;
}

/* The card has taken more of its requests. */
static bool has_room(uint32_t taken)
{
    uint32_t told = (uint32_t)*(const volatile uint64_t *)host_at(CHASQUI_MPINP_HOST_TAKEN);
    return (int32_t)(told - taken) > 0;
}

/* The next wait's word. It is never 0. */
static uint32_t next_word(bool wants_room)
{
    uint32_t *word = &words[process_here];
    *word = (*word | CHASQUI_MPINP_INTERRUPT_ROOM) + 1;
    if (*word == 0)
        *word = CHASQUI_MPINP_INTERRUPT_ROOM + 1;
    *word |= wants_room ? CHASQUI_MPINP_INTERRUPT_ROOM : 0;
    return *word;
}

static int64_t wait(uint32_t seen, bool wants_room, uint32_t taken)
{
    uint64_t asked = register_at(CHASQUI_MPINP_INTERRUPT_ASKED + process_here * sizeof asked);
    ni_store(asked, next_word(wants_room));
    ni_load(asked);
    __asm__ volatile("fence i, r" : : : "memory");
    if (has_event(seen) || (wants_room && has_room(taken)))
        ni_store(asked, 0);
    else
        thread_sleep(&sleepers[process_here], "an event of the card");
    return 0;
}

int64_t wait_control(uint64_t request, uint64_t argument)
{
    switch (request) {
    case CHASQUI_MPINP_CONTROL_WAIT: return wait((uint32_t)argument, false, 0);
    case CHASQUI_MPINP_CONTROL_WAIT_ROOM: return wait((uint32_t)argument, true, (uint32_t)(argument >> 32));
    default: return -ENOTTY;
    }
}

/* The load takes what it finds, so the line is down. Who does not sleep any more has seen its event. */
void wait_interrupt(void)
{
    uint64_t causes = ni_load(register_at(CHASQUI_MPINP_INTERRUPT_CAUSE));
    for (uint64_t process = 0; causes; process++, causes >>= 1)
        if (causes & 1)
            thread_wake_all(&sleepers[process]);
}
