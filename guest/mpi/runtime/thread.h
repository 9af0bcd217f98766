/* MPI_THREAD_MULTIPLE (MPI 5.0, section 11.6): one lock keeps the library to one thread at a time.
 *
 * A process that was given less pays nothing on the short paths: those take communicators only whose
 * `valid` says that there are no threads (comm.h), and `chq.lone` is never free (host/post.c), so
 * that messages go where waiting threads are notified. Everything else asks `chq.threaded` once.
 *
 * A thread that waits gives the lock up. The first that waits looks at the network for all and is the
 * poller until it leaves the library: it hands the lock on whenever another thread asks for it. Others
 * wait for an event, without the lock, by reading memory alone. So a waiting loop changes nothing here
 * either while nothing happens.
 *
 * The lock is recursive: the program's functions that the library calls (error handlers, operators,
 * attribute and generalized request callbacks) run with it and may call MPI. They must not wait for
 * another thread of the program that may be in MPI.
 */
#ifndef CHASQUI_THREAD_H
#define CHASQUI_THREAD_H

#include "mpi/runtime/mark.h"
#include "mpi/runtime/process.h"

/* At MPI_Init, before there are communicators: the highest level up to `required` that this node has. */
int chq_thread_init(int required);

/* Whether this is the thread that called chq_thread_init. */
bool chq_thread_is_main(void);

/* For the public function `call`: ends the job before MPI_Init and after MPI_Finalize. */
void chq_lock(const char *call);
void chq_unlock(void);

static inline void chq_enter(const char *call)
{
    if (unlikely(chq.threaded))
        chq_lock(call);
}

static inline void chq_leave(void)
{
    if (unlikely(chq.threaded))
        chq_unlock();
}

/* The public function that this is in, without the P of its name. */
#define THIS_CALL (__func__ + 1)

/* First and last of a public function that can communicate or wait. */
#define CALL_ENTER(call)      \
    do {                      \
        MARK_CALL(call);      \
        chq_enter(THIS_CALL); \
    } while (0)
#define CALL_LEAVE(call)   \
    do {                   \
        chq_leave();       \
        MARK_RETURN(call); \
    } while (0)

/* First of a public function that does neither, but reads or changes what other threads may change. It
 * ends with the function. Where there are threads it may wait for the lock, and so is a call with marks. */
#define LOCAL_CALL() __attribute__((cleanup(chq_leave_local))) bool local_call = chq_enter_local(THIS_CALL)

/* The same of one that may also be called before MPI_Init and after MPI_Finalize (MPI 5.0, section 11.4.1). */
#define LOCAL_CALL_AT_ANY_TIME() \
    __attribute__((cleanup(chq_leave_local))) bool local_call = chq_is_up() && chq_enter_local(THIS_CALL)

static inline bool chq_enter_local(const char *call)
{
    if (likely(!chq.threaded))
        return false;
    MARK_CALL(CALL_LOCAL);
    chq_lock(call);
    return true;
}

static inline void chq_leave_local(const bool *entered)
{
    if (likely(!*entered))
        return;
    chq_unlock();
    MARK_RETURN(CALL_LOCAL);
}

#endif
