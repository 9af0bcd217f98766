/* The device interface: all that an MPI library asks of a network interface.
 *
 * Everything above this line of the architecture (matching, requests, datatypes, collectives) is
 * the same on every machine; everything below it is one file, machines/<name>/device.c. MPI_Init
 * picks the device whose `id` the NI's identification page names, and calls it through this table.
 *
 * Upcalls are made from within `poll` (or `send`, where a device must make room), never from an
 * interrupt; they may call `send` and `put` again but not `poll`.
 */
#ifndef CHASQUI_DEVICE_H
#define CHASQUI_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chasqui/abi.h"

struct request;
struct transport;

/* `kind` of an envelope is a CHASQUI_PACKET_…. Of EAGER the two names of requests are zero. What begins a message, up to
 * LAST_MESSAGE, is named by source and sequence, and nothing else on the way is. */

/* Words by which a device finds a payload that it holds. */
enum { MPI_HELD_WORDS = 3 };

enum mpi_collective_kind {
    MPI_COLLECTIVE_BARRIER,
    MPI_COLLECTIVE_BCAST,
    MPI_COLLECTIVE_REDUCE,
    MPI_COLLECTIVE_ALLREDUCE,
    MPI_COLLECTIVE_GATHER,
    MPI_COLLECTIVE_SCATTER
};
enum { MPI_COLLECTIVE_NO_OPERATOR = 0xff };

/* A collective over dense data. */
struct mpi_collective {
    enum mpi_collective_kind kind;
    int ranks, rank;
    const uint16_t *world; /* World rank of each process; null: the identity. */
    /* With the first process's world rank, these name an operation. Operations of one name begin in
     * the same order everywhere; of different names they may be under way in any order. */
    uint32_t context, tag;
    size_t count,
        bytes; /* Elements, and their length. Of a gather or scatter both are the bytes of one process's block:
                            counts and types may differ among processes. */
    unsigned type;       /* Of a reduction: enum type_class (mpi/datatype/type.h). */
    unsigned op;         /* Likewise: the operator's handle less OP_HANDLE_FIRST (mpi/op/op.h), or
                            MPI_COLLECTIVE_NO_OPERATOR for one of the program's. */
    int root;
    const void *send; /* Of a scatter: null but at the root, where all blocks are, by rank. */
    void *recv;       /* Of a reduction to the root, or a gather: likewise. */
};

/* What a device makes of a receive (`expect`). */
enum mpi_expected {
    MPI_EXPECTED_NOT,   /* It meets its message by mpi_arrived. */
    MPI_EXPECTED_WAITS, /* The next message of the key is its message: by mpi_bound, or by mpi_arrived. */
    MPI_EXPECTED_THERE  /* The message is where it goes, and `found` is its envelope. */
};

struct mpi_device {
    const char *name;
    uint32_t id;
    uint32_t interface; /* What it was compiled for: chasqui_ni_identification.interface. */

    /* Maps the NI, sets `eager_bytes_max`. False: the NI can't be used; says why on stderr. */
    bool (*open)(const struct chasqui_ni_identification *ni, int ni_fd);
    void (*close)(void);

    /* Longest payload [bytes] that `send` takes. Set by `open`. */
    size_t eager_bytes_max;

    /* Sends an envelope and `bytes` of payload to envelope->destination. The payload may be
     * reused on return. Messages to one destination arrive in the order of their sends.
     * False: there is no room at this moment; nothing was sent, and the library asks again after `poll`. Marks READY. */
    bool (*send)(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);

    /* Looks once for what has happened and makes the upcalls below; for so much at most as its queues hold, that a
     * process which waits returns from its call whatever others send. */
    void (*poll)(void);

    /* Sleeps until `poll` may find something, or `send` or `put` have room that they refused since the latest `poll`:
     * a device need not know of those that it refused before, for a `poll` may have found their room. Null: there is
     * nothing to sleep in, and processes that wait poll. Makes no upcalls.
     * Invariant: between a `poll` and a `wait` all that waits for room is given to `send` and `put` again, and nothing
     * has happened since the waiting thread last looked at what it waits for (yield.c, the only caller). */
    void (*wait)(void);
    /* Set by `open`: processes that wait poll nevertheless, and sleep only where they would yield (yield.c). */
    bool polls;

    /* Within mpi_arrived(): copies the arrived payload to `to`, at most once a message. */
    void (*take)(void *to, size_t bytes);

    /* Within mpi_arrived(), instead of a copy: the payload stays where it is until its receive comes; `held` is what
     * the device finds it by. False: it must be copied now, as it must if `payload` is not what this device gave
     * mpi_arrived(): messages also come past it, from the process itself, or by memory. Null: the device can't. With it
     * come the next two. */
    bool (*hold)(const void *payload, uint64_t held[MPI_HELD_WORDS]);
    /* Where what was held may be read in place until `drop`. Null: it is the payload that `take` copies next, at most once. */
    const void *(*resume)(const uint64_t held[MPI_HELD_WORDS]);
    /* What was held has been taken, or is not wanted; ends `resume`. */
    void (*drop)(const uint64_t held[MPI_HELD_WORDS]);

    /* A receive is posted whose message must be of `key` (mpi/runtime/match.h), and no receive that waits may take it
     * instead: the device may give it the next message of that key without mpi_arrived. `to` has room for `bytes` bytes.
     * With it come the next two. Null: the device can't. */
    enum mpi_expected (*expect)(struct request *request, uint64_t key, void *to, size_t bytes,
                                struct chasqui_envelope *found);
    /* Such a receive is not wanted any more. False: its message has come, and it will be met. */
    bool (*withdraw)(struct request *request, uint64_t key);
    /* A receive of `key`, in which there may be wildcards, is posted that `expect` did not take or was not asked about, or
     * the program probes for such a message: it takes mpi_arrived. */
    void (*listen)(uint64_t key);

    /* Moves `bytes` from `from` to address `to` in the process fin->destination names, then
     * delivers `fin` there as an arrival without payload. mpi_put_done(fin->sender) follows here
     * once `from` may be reused. False: no room at this moment. Null: the device can't; the
     * library then sends segments. */
    bool (*put)(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes);

    /* Before a put into `bytes` from `landing` on: what the other side's `put` is to have as `to`. Null: the address. */
    uint64_t (*expose)(void *landing, size_t bytes);
    /* That put has come to its end. Null if `expose` is. */
    void (*conceal)(void *landing, size_t bytes);

    /* What matches messages and receives over this device, in place of the library (mpi/transport/transport.h). Of this table
     * it then asks what it likes; the library itself asks for `open`, `close`, `wait`, `polls`, `collective`. May be set by
     * `open`. Null: the library matches. */
    const struct transport *transport;

    /* A collective in the NI. `request` null: asks whether the device takes it, which all processes
     * must answer alike, so only from what is the same on all. Otherwise starts it; then
     * mpi_collective_done(request) follows, with the error's class in request->error, noted by chq_reason, if
     * there is one. Null: the device has none. */
    bool (*collective)(const struct mpi_collective *what, struct request *request);
};

/* Upcall: a collective is complete in this process. */
void mpi_collective_done(struct request *request);

/* Upcall: an envelope with `bytes` of payload has come. `payload` points at it where it lies in
 * memory that may be read in place until the upcall returns; null: use `take` or `hold`. */
void mpi_arrived(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);

/* Upcall: the message of a receive that waits as `expect` said has come, and is where it goes. */
void mpi_bound(struct request *request, const struct chasqui_envelope *envelope);

/* Whether a receive is posted that takes mpi_arrived: false only if there is none. */
bool mpi_awaits(void);

/* Upcall, for a device whose messages come in several packets: the first has brought the
 * envelope. If a receive waits for just this message, it is taken, and *to is where the whole payload must
 * go; then mpi_placed follows. Null: the device keeps the payload until it can call mpi_arrived. */
struct request *mpi_begins(const struct chasqui_envelope *envelope, void **to);

/* Upcall: the payload is where mpi_begins said. */
void mpi_placed(struct request *request);

/* Upcall: the local side of a put is complete; `sender` is fin->sender. */
void mpi_put_done(uint64_t sender);

/* Every device, in the order of their ids; ends with null (devices.c). */
extern struct mpi_device *const mpi_devices[];

#endif
