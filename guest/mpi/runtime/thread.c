/* See thread.h. The lock is a ticket lock: threads get it in the order in which they asked for it.
 * Reed, Kanodia: Synchronization with Eventcounts and Sequencers. Comm. of the ACM 22(2), 1979. */
#include "mpi/runtime/thread.h"

#include "mpi/runtime/error.h"
#include "mpi/runtime/public.h"

static uint32_t tickets; /* Taken so far. */
static uint32_t serving; /* The ticket whose holder has the lock. */
static uintptr_t owner;  /* Thread that has the lock; 0: none. */
static uint32_t depth;   /* Calls that the owner is in, one within the other. */
static uintptr_t poller; /* Thread that looks at the network while it waits; 0: none. */
static uintptr_t main_thread;

static void acquire(uintptr_t self)
{
    uint32_t ticket = __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&serving, __ATOMIC_ACQUIRE) != ticket)
        chq_pause();
    __atomic_store_n(&owner, self, __ATOMIC_RELAXED);
}

static void release(void)
{
    __atomic_store_n(&owner, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&serving, serving + 1, __ATOMIC_RELEASE);
}

void chq_lock(const char *call)
{
    if (unlikely(!chq_is_up()))
        chq_die_in(call, chq_why_not_up());
    uintptr_t self = chq_thread_self();
    /* Only this thread can have stored its own name. */
    if (__atomic_load_n(&owner, __ATOMIC_RELAXED) != self) {
        acquire(self);
        depth = 0;
    }
    depth++;
}

void chq_unlock(void)
{
    if (--depth > 0)
        return;
    if (poller == owner)
        __atomic_store_n(&poller, 0, __ATOMIC_RELAXED);
    release();
}

static bool is_wanted(void) { return __atomic_load_n(&tickets, __ATOMIC_RELAXED) != serving + 1; }

/* Without the lock, until the poller has seen an event, or has left. */
static void wait_for_event(uintptr_t self, uint32_t seen)
{
    release();
    while (__atomic_load_n(&chq.events, __ATOMIC_RELAXED) == seen && __atomic_load_n(&poller, __ATOMIC_RELAXED))
        chq_pause();
    acquire(self);
}

/* A turn of a waiting loop (chq_progress). */
static void turn(void)
{
    uintptr_t self = chq_thread_self();
    uint32_t calls = depth;
    if (poller && poller != self) {
        wait_for_event(self, chq.events);
    } else {
        /* Not stored again in every turn: the others would lose the line that they read. */
        if (!poller)
            __atomic_store_n(&poller, self, __ATOMIC_RELAXED);
        chq.poll();
        if (!is_wanted())
            return;
        release();
        acquire(self);
    }
    depth = calls;
}

int chq_thread_init(int required)
{
    main_thread = chq_thread_self();
    chq.threaded = false;
    if (required < MPI_THREAD_MULTIPLE)
        return required;
    if (chq_platform_harts() < 2)
        return MPI_THREAD_SERIALIZED;
    chq_set_turn(turn);
    chq.threaded = true;
    return MPI_THREAD_MULTIPLE;
}

bool chq_thread_is_main(void) { return chq_thread_self() == main_thread; }
