/* The state of this MPI process: everything that isn't in an object the program holds a handle of.
 * One variable, so that the short paths need one address. */
#ifndef CHASQUI_PROCESS_H
#define CHASQUI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/device.h"
#include "mpi/runtime/match.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

struct blocked;
struct coroutine;
struct request;
struct send_queue;
struct transport;
struct unexpected;

/* Beside a count of messages. Waiting receives are announced to the device (host/expect.c). */
#define CHQ_EXPECTS (1u << 31)
/* The transport takes every receive. */
#define CHQ_POSTS (1u << 30)

struct chq_process {
    /* Short paths. */
    /* A short message (transport_send). */
    bool (*send)(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
    void (*turn)(void); /* Of a waiting loop: `poll`, unless `has_turn`. */
    size_t eager_bytes_max;
    uint32_t rank;
    uint32_t size;
    uint32_t sequence;           /* Number of the last message sent. */
    uint32_t
        unexpected_count; /* Messages that have met no receive; and CHQ_EXPECTS, CHQ_POSTS: a receive makes one test. */
    uint32_t posted_wild[PATTERNS]; /* Posted receives by pattern of wildcards. */
    uint32_t posted_any_wild; /* Of them, with any wildcard. */
    uint16_t unexpected_patterns; /* Bit p: unexpected messages are filed under pattern p. */
    bool threaded; /* Several threads may call MPI at a time; or none may: the lock is refused. */
    bool has_turn; /* `turn` calls `poll` and looks at `events`: there are threads, or yield.c. */
    uint64_t stamp; /* Order of the last receive posted. */
    struct request *lone; /* The only posted receive: it needs no table. Then the table is empty. */
    struct match_table posted;
    struct match_table unexpected;
    struct pool requests;

    struct blocked *blocked; /* What waits for room in the device (progress.h). */
    struct send_queue *queues; /* Packets that do, by destination; null until one was needed (queue.c). */

    struct unexpected *unexpected_first, *unexpected_last; /* In the order of their arrival. */

    const struct transport *transport;
    struct mpi_device *device;
    const struct chasqui_ni_identification *ni;
    int ni_fd;
    bool initialized, finalized;
    int thread_level;
    double seconds_per_tick;
    const char *reason; /* chq_reason. */
    uint32_t outstanding; /* Sends that only MPI_Finalize waits for. */
    struct coroutine *running; /* Null: the program itself (coroutine.h). */
    void (*network)(void); /* Looks at the network: the transport's. */
    void (*poll)(void); /* The same, unless coroutines wait. */
    uint32_t events; /* With a turn of its own: counts what threads may wait for. */
};

extern struct chq_process chq;

/* Between MPI_Init and MPI_Finalize. */
static inline bool chq_is_up(void) { return chq.initialized && !chq.finalized; }

/* Why it is not. */
static inline const char *chq_why_not_up(void)
{
    return chq.initialized ? "MPI_Finalize has been called" : "MPI_Init has not been called";
}

static inline bool chq_is_blocked(void) { return chq.blocked != NULL; }

static inline void chq_set_poll(void (*poll)(void))
{
    chq.poll = poll;
    if (likely(!chq.has_turn))
        chq.turn = poll;
}

/* From the transport's `init`. */
static inline void chq_set_network(void (*look)(void))
{
    chq.network = look;
    chq_set_poll(look);
}

static inline void chq_set_turn(void (*turn)(void))
{
    chq.turn = turn;
    chq.has_turn = true;
}

/* Something happened that a waiting loop's own turn may look for. */
static inline void chq_tell(void)
{
    if (unlikely(chq.has_turn))
        chq.events++;
}

#endif
