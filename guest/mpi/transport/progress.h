/* Looking at the network, and waiting for it. */
#ifndef CHASQUI_PROGRESS_H
#define CHASQUI_PROGRESS_H

#include "mpi/request/request.h"
#include "mpi/runtime/process.h"

/* What waits for room in the device. Each is asked again after every look at the network. */
struct blocked {
    struct blocked *next;
    bool (*step)(struct blocked *blocked); /* Gives the device what it has room for. True: nothing is left. */
    void (*gone)(
        struct blocked *blocked); /* Nothing is left, and chq_retry does not know it any more; null: nothing to do. */
};

/* progress.c. From now on chq_retry asks it, after those that wait already. */
void chq_block(struct blocked *blocked);
/* Gives what waits for room to the device again, in the order of chq_block. Upcalls out of a step may call chq_block. */
void chq_retry(void);

/* The body of every waiting loop: one look at the network, by this thread or by another. Nothing
 * here changes any state while nothing happens: that is what lets the simulator skip idle turns exactly. */
static inline void chq_progress(void)
{
    chq_pause();
    chq.turn();
    if (unlikely(chq_is_blocked()))
        chq_retry();
}

/* One look at the network by a call that does not wait. */
static inline void chq_look(void)
{
    chq_pause();
    chq.poll();
    if (unlikely(chq_is_blocked()))
        chq_retry();
}

/* Blocking wait for one request that the caller owns. */
void chq_request_spin(struct request *request);
static inline void request_wait(struct request *request)
{
    if (unlikely(!request->complete))
        chq_request_spin(request);
}

/* yield.c. From now on a wait that has polled `polls` times in vain gives the hart up, and so again. 0: never. */
void chq_yield_after(uint32_t polls);
/* From now on waits sleep, if the device has something to sleep in. */
void chq_sleep_in_waits(void);
/* From now on waits that slept poll: there is something else to look at. */
void chq_poll_in_waits(void);

#endif
