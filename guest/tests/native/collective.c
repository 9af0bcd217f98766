/* Collectives in the test device's "hardware": units in shared memory, one an operation, in which the
 * processes meet. It takes barriers, and broadcasts of a few bytes. */
#include <stdlib.h>
#include <string.h>

#include "mpi/device.h"
#include "native.h"

/* An operation of this process. */
struct started {
    struct started *next;
    struct mpi_collective what;
    struct request *request;
    struct native_unit *unit; /* Null: none yet. */
    uint32_t number;
};

/* How many operations of a name this process has begun. */
struct name {
    struct name *next;
    uint32_t context, tag, first, begun;
};

static struct native_units *units;
static struct started *all_started;
static struct name *names;

void native_collective_open(struct native_units *shared) { units = shared; }

bool native_collective_is_under_way(void) { return all_started; }

static uint32_t first_of(const struct mpi_collective *what) { return what->world ? what->world[0] : 0; }

static uint32_t next_number(const struct mpi_collective *what)
{
    uint32_t first = first_of(what);
    struct name *name = names;
    while (name && (name->context != what->context || name->tag != what->tag || name->first != first))
        name = name->next;
    if (!name) {
        name = malloc(sizeof *name);
        *name = (struct name){names, what->context, what->tag, first, 0};
        names = name;
    }
    return ++name->begun;
}

static void lock(void)
{
    while (__atomic_exchange_n(&units->locked, 1, __ATOMIC_ACQUIRE))
        ;
}
static void unlock(void) { __atomic_store_n(&units->locked, 0, __ATOMIC_RELEASE); }

/* The operation's unit, or a free one that becomes it; null: all are in use. */
static struct native_unit *unit_of(const struct started *started)
{
    const struct mpi_collective *what = &started->what;
    struct native_unit *unused = NULL;
    for (int i = 0; i < NATIVE_UNITS; i++) {
        struct native_unit *unit = &units->units[i];
        if (unit->number == 0)
            unused = unused ? unused : unit;
        else if (unit->number == started->number && unit->context == what->context && unit->tag == what->tag &&
                 unit->first == first_of(what))
            return unit;
    }
    if (unused)
        *unused = (struct native_unit){
            .number = started->number, .context = what->context, .tag = what->tag, .first = first_of(what)};
    return unused;
}

/* With the lock held. True: this process is done. */
static bool step(struct started *started)
{
    const struct mpi_collective *what = &started->what;
    if (!started->unit) {
        struct native_unit *unit = started->unit = unit_of(started);
        if (!unit)
            return false;
        unit->arrived++;
        if (what->kind == MPI_COLLECTIVE_BCAST && what->rank == what->root) {
            memcpy(unit->payload, what->send, what->bytes);
            unit->filled = 1;
        }
    }
    struct native_unit *unit = started->unit;
    if (what->kind == MPI_COLLECTIVE_BARRIER ? unit->arrived < (uint32_t)what->ranks : !unit->filled)
        return false;
    if (what->kind == MPI_COLLECTIVE_BCAST && what->rank != what->root)
        memcpy(what->recv, unit->payload, what->bytes);
    if (++unit->left == (uint32_t)what->ranks)
        unit->number = 0;
    return true;
}

void native_collective_poll(void)
{
    struct started **link = &all_started, *started;
    while ((started = *link)) {
        lock();
        bool done = step(started);
        unlock();
        if (!done) {
            link = &started->next;
            continue;
        }
        *link = started->next;
        mpi_collective_done(started->request);
        free(started);
    }
}

bool native_collective(const struct mpi_collective *what, struct request *request)
{
    bool takes = what->kind == MPI_COLLECTIVE_BARRIER ||
                 (what->kind == MPI_COLLECTIVE_BCAST && what->bytes <= NATIVE_UNIT_BYTES);
    if (!takes || !request)
        return takes;
    struct started **link = &all_started;
    while (*link)
        link = &(*link)->next;
    *link = malloc(sizeof **link);
    **link = (struct started){NULL, *what, request, NULL, next_number(what)};
    return true;
}
