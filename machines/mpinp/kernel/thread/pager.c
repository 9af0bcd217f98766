/* The thread that makes progress: a transfer that is longer than its entries reach goes on while its process is not in MPI.
 *
 * The card says by a word of its memory, for each name, how many entries are done with, and interrupts. The handler wakes the
 * thread of the process, on the process's hart: it runs before the process goes on, as all of the kernel's threads, and takes from
 * it what it executes. It has entries name further pages and answers by the other half of the word, to which the card listens as
 * to a doorbell.
 *
 * Nothing is missed: the thread looks at all names with every interrupt, and in the kernel none is taken, so none comes between
 * its last look and its sleep. Where pages are not there, or not to be written, the card asks the process itself, whose access it
 * then is. */
#include "kernel/thread/image.h"

#include "kernel/agent.h"

static struct queue pagers[PROCESSES];

struct word {
    uint32_t done, valid; /* the card's; the kernel's */
};

static uint64_t place_of(uint64_t process, uint32_t name)
{
    return setting(CHASQUI_MPINP_SETTING_INTERRUPT) + CHASQUI_MPINP_PAGED +
           (process * CHASQUI_MPINP_NAMES + name) * sizeof(struct word);
}

void pager_clear(uint32_t name) { ni_store(place_of(process_here, name), 0); }

/* The hart has the memory of the thread's process, whichever it had before. */
#if HARTS > 1
static bool comes(struct user *user)
{
    if (user->has_ended)
        return false;
    user_comes(user);
    return true;
}
#else
static bool comes(void *user)
{
    (void)user;
    return true;
}
#endif

static void look(uint64_t process, uint32_t name)
{
    uint64_t place = place_of(process, name), word = ni_load(place);
    uint32_t valid = agent_pin_more(name, (uint32_t)word);
    if (valid)
        ni_store(place, (uint64_t)valid << 32 | (uint32_t)word);
}

static void pager(void *argument)
{
#if HARTS > 1
    struct user *user = argument;
    uint64_t process = user->process;
#else
    void *user = argument;
    uint64_t process = process_here;
#endif
    for (;;) {
        thread_sleep(&pagers[process], "pages of a long transfer");
        for (uint32_t name = 0; name < CHASQUI_MPINP_NAMES; name++)
            if (agent_has_more(process, name) && comes(user))
                look(process, name);
    }
}

void pager_begin(void)
{
#if HARTS > 1
    thread_create(pager, here->user);
#else
    thread_create(pager, 0);
#endif
}

/* The load takes what it finds, so the line is down. */
void pager_interrupt(void)
{
    uint64_t causes = ni_load(setting(CHASQUI_MPINP_SETTING_INTERRUPT) + CHASQUI_MPINP_INTERRUPT_CAUSE);
    for (uint64_t process = 0; causes; process++, causes >>= 1)
        if (causes & 1)
            thread_wake(&pagers[process]);
}
