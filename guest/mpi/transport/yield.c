/* Two-phase waiting: a process polls for a while, since its partner is probably about to answer, and then gives the
 * hart to other processes of its node. Ousterhout: Scheduling Techniques for Concurrent Systems. ICDCS 1982. How
 * long is best: Arpaci-Dusseau: Implicit Coscheduling. ACM TOCS 19(3), 2001.
 *
 * What is counted are polls, not time: a loop that looks at a clock could do something else each time, so no waiting
 * loop could be known to wait for ever. From one yield to the next all is as it was, if nothing has happened.
 *
 * Where threads call MPI at a time each has a hart to itself: they never yield.
 *
 * A device that has something to sleep in (`wait`) is never polled in vain, unless it says so (`polls`): a process sleeps
 * at once, or, where it is to poll for a while, instead of yielding.
 */
#include "mpi/runtime/mark.h"
#include "mpi/transport/progress.h"

static uint32_t polls_max;
static uint32_t in_vain; /* Polls since something was found, or since the hart was given up. */

/* Whether `work` changes nothing that a wait may be for. All that completes is announced (chq_tell), but for what the only
 * posted receive takes. */
static inline bool is_in_vain(void (*work)(void))
{
    const struct request *lone = chq.lone;
    uint32_t events = chq.events;
    work();
    return chq.lone == lone && chq.events == events;
}

static void retry(void)
{
    if (unlikely(chq_is_blocked()))
        chq_retry();
}

/* The only place where a process sleeps; false: it must look again instead. A poll forgets who waited for room (device.h),
 * and what asks for it again may thereby complete what the process waits for: so it asks here, between the last poll and
 * the sleep, whoever polled and whatever came of it. */
static bool sleep_unless_changed(void)
{
    if (!is_in_vain(retry))
        return false;
    chq.device->wait();
    return true;
}

/* Under a kernel image only the mark says that all is as it was after as many polls (crates/node/README.md). */
static void yield(void)
{
    chq_platform_yield();
    MARK_YIELDED();
}

/* A turn of a waiting loop (chq_progress). */
static void turn(void)
{
    if (!is_in_vain(chq.poll)) {
        in_vain = 0;
    } else if (++in_vain >= polls_max) {
        in_vain = 0;
        if (chq.device->wait)
            sleep_unless_changed();
        else
            yield();
    }
}

/* A turn that sleeps. Whoever waits has looked whether it still must; but coroutines go on in `poll`, for what became
 * complete without the device (coroutine.h): then no process sleeps before a look in vain. */
static void sleeping_turn(void)
{
    if (unlikely(chq.poll != chq.network) && !is_in_vain(chq.poll))
        return;
    if (likely(sleep_unless_changed()))
        chq.poll();
}

void chq_sleep_in_waits(void)
{
    if (chq.device->wait && !chq.device->polls && !chq.threaded)
        chq_set_turn(sleeping_turn);
}

void chq_poll_in_waits(void)
{
    if (chq.turn != sleeping_turn)
        return;
    chq.has_turn = false;
    chq_set_poll(chq.poll);
}

void chq_yield_after(uint32_t polls)
{
    polls_max = polls;
    if (polls > 0 && !chq.threaded)
        chq_set_turn(turn);
}
