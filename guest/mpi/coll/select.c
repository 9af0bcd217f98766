/* Choosing algorithms (select.h). A program, a test, or the user (--mpi coll.allreduce=ring) can force
 * one by name. There is no silent fallback: a forced algorithm that can't do a case is an error.
 */
#include "chasqui/collectives.h"

#include "mpi/coll/select.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/text.h"

/* Forced algorithm plus 1; ASK_NI: the table, unless the network interface takes the case; 0: the
 * table. One byte, so that what is usual costs one test. */
enum { ASK_NI = 0xff };
uint8_t chq_coll_forced[COLL_KINDS];

static unsigned offers_of(const struct communicator *comm, size_t count, const struct datatype *type,
                          const struct op *op)
{
    return (type_is_dense(type) ? NEED_DENSE : 0u) | (op && op->commutes ? NEED_COMMUTES : 0u) |
           ((comm->size & (comm->size - 1)) == 0 ? NEED_POWER_OF_TWO : 0u) |
           (count >= (size_t)comm->size ? NEED_COUNT : 0u);
}

/* The algorithm of the network interface; -1: the collective has none. */
static int ni_algorithm(enum coll_kind kind)
{
    for (int i = 0; i < ALGORITHMS_MAX && coll_table[kind].algorithms[i].name; i++)
        if (coll_table[kind].algorithms[i].needs & NEED_NI)
            return i;
    return -1;
}

static int from_table(enum coll_kind kind, size_t bytes, int ranks, unsigned offers)
{
    const struct collective *collective = &coll_table[kind];
    const struct row *row = collective->rows;
    while (bytes > row->bytes_max || ranks > row->ranks_max || (collective->algorithms[row->algorithm].needs & ~offers))
        row++;
    return row->algorithm;
}

static int forced_or_ni(enum coll_kind kind, size_t bytes, const struct communicator *comm, size_t count,
                        const struct datatype *type, const struct op *op)
{
    int algorithm = chq_coll_forced[kind] == ASK_NI ? ni_algorithm(kind) : chq_coll_forced[kind] - 1;
    // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): forced is not 0, and ASK_NI only where the NI has one
    unsigned needs = coll_table[kind].algorithms[algorithm].needs, offers = offers_of(comm, count, type, op);
    if ((needs & NEED_NI) && chq_ni_takes(kind, count, type, op, comm))
        offers |= NEED_NI;
    if (!(needs & ~offers))
        return algorithm;
    if (chq_coll_forced[kind] == ASK_NI)
        return from_table(kind, bytes, comm->size, offers);
    chq_reason(MPI_ERR_UNSUPPORTED_OPERATION, "the forced algorithm can't do this case");
    return -1;
}

int chq_coll_select(enum coll_kind kind, size_t bytes, const struct communicator *comm, size_t count,
                    const struct datatype *type, const struct op *op)
{
    if (unlikely(chq_coll_forced[kind]))
        return forced_or_ni(kind, bytes, comm, count, type, op);
    return from_table(kind, bytes, comm->size, offers_of(comm, count, type, op));
}

/* What decides when nothing is forced. */
static uint8_t unforced(enum coll_kind kind)
{
    return chq.device && chq.device->collective && ni_algorithm(kind) >= 0 ? ASK_NI : 0;
}

void chq_coll_ask_device(void)
{
    for (int kind = 0; kind < COLL_KINDS; kind++)
        chq_coll_forced[kind] = unforced(kind);
}

int chasqui_collective_force(const char *collective, const char *algorithm)
{
    for (int kind = 0; kind < COLL_KINDS; kind++) {
        if (!text_equal(coll_table[kind].name, collective))
            continue;
        if (!algorithm) {
            chq_coll_forced[kind] = unforced(kind);
            return 1;
        }
        for (int i = 0; i < ALGORITHMS_MAX && coll_table[kind].algorithms[i].name; i++) {
            if (!text_equal(coll_table[kind].algorithms[i].name, algorithm))
                continue;
            chq_coll_forced[kind] = (uint8_t)(i + 1);
            return 1;
        }
    }
    return 0;
}

const char *chasqui_collective_algorithm(const char *collective, int index)
{
    for (int kind = 0; kind < COLL_KINDS; kind++)
        if (text_equal(coll_table[kind].name, collective))
            return index >= 0 && index < ALGORITHMS_MAX ? coll_table[kind].algorithms[index].name : NULL;
    return NULL;
}
