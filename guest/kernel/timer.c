/* Timers, in the order of their times. The hart's own timer is set for the first alone, so that a node that waits for
 * nothing has no interrupts. */
#include "kernel.h"

#if HARTS > 1
#define hart_of(timer) (timer)->hart
#else
#define hart_of(timer) here
#endif

static void arm(void)
{
#if HARTS > 1
    /* Where a driver brings data from one process of the node to another, who waits may see more in the next turn. */
    bool stores = driver && driver->receive;
    here->only_turns = !stores && here->timers && here->timers == here->quantum && !here->timers->next;
#endif
    csr_write(STIMECMP, here->timers ? here->timers->at : ~0ull);
}

void timer_set(struct timer *timer, uint64_t at, void (*expire)(struct timer *))
{
    timer_cancel(timer);
    struct timer **link = &here->timers;
    while (*link && (*link)->at <= at)
        link = &(*link)->next;
    *timer = (struct timer){.at = at, .expire = expire, .next = *link, .is_set = true};
    *link = timer;
#if HARTS > 1
    timer->hart = here;
#endif
    arm();
}

void timer_cancel(struct timer *timer)
{
    if (!timer->is_set)
        return;
    struct timer **link = &hart_of(timer)->timers;
    while (*link != timer)
        link = &(*link)->next;
    *link = timer->next;
    timer->is_set = false;
    arm();
}

void timer_interrupt(void)
{
    struct timer *timer;
    while ((timer = here->timers) && timer->at <= csr_read(time)) {
        here->timers = timer->next;
        timer->is_set = false;
        timer->expire(timer);
    }
    arm();
}

struct sleeper {
    struct timer timer; /* first: expire() gets its address */
    struct queue *queue;
};

static void wake(struct timer *timer) { thread_wake(((struct sleeper *)timer)->queue); }

void thread_sleep_until(struct queue *queue, uint64_t at, const char *what)
{
    struct sleeper sleeper = {.queue = queue};
    if (at != ~0ull)
        timer_set(&sleeper.timer, at, wake);
    thread_sleep(queue, what);
    timer_cancel(&sleeper.timer);
}

void sleep_until(uint64_t at, const char *what)
{
    struct queue nobodys = {0};
    thread_sleep_until(&nobodys, at, what);
}

uint64_t ticks_of_ns(uint64_t ns) { return ns * boot.ni.timebase_hz / 1000000000; }
