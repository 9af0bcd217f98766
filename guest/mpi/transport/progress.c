/* Waiting: for a request, and for room in the device. */
#include "mpi/transport/progress.h"

#include "mpi/request/coroutine.h"
#include "mpi/runtime/mark.h"

void chq_request_spin(struct request *request)
{
    if (unlikely(chq.running != NULL)) {
        chq_coroutine_await(request);
        return;
    }
    if (unlikely(request->kind >= REQUEST_COLLECTIVE))
        MARK_WAITING(request->what);
    else
        MARK_BLOCKED(request);
    do
        chq_progress();
    while (!request->complete);
    MARK_UNBLOCKED();
    MARK_WAITED();
}

void chq_block(struct blocked *blocked)
{
    blocked->next = NULL;
    /* At the end: chq_retry may be under way and hold a link into this list. */
    struct blocked **link = &chq.blocked;
    while (*link)
        link = &(*link)->next;
    *link = blocked;
}

void chq_retry(void)
{
    struct blocked **link = &chq.blocked, *blocked;
    while ((blocked = *link)) {
        if (!blocked->step(blocked)) {
            link = &blocked->next;
            continue;
        }
        *link = blocked->next;
        if (blocked->gone)
            blocked->gone(blocked);
    }
}
