/* Messages between processes of one node through memory that they share: a device in front of the machine's own.
 *
 * Each ordered pair of processes has a ring of cells in the memory that the operating system gives to all processes of the
 * job on the node. A message is copied twice, into cells and out of them; one longer than a cell takes several, in order,
 * as there is room. What a `put` moves goes by cells that say where it belongs, so it needs no landing place. The sender
 * publishes a cell by its count of cells written, the receiver gives it back by its count of cells read; each is on a line
 * of its own, so that neither takes the other's line but when it changes. Where the machine's own device has a name for
 * what a put may write (`expose`), the receiver looks the name up.
 * (D. Buntinas, G. Mercier and W. Gropp, "Implementation and evaluation of shared-memory communication and
 * synchronization operations in MPICH2 using the Nemesis communication subsystem", Parallel Computing 33(9), 2007.)
 *
 * Invariants: a message's cells follow each other, cells of a put may lie between them; one put at a time goes to a
 * process. A process that waits polls: others do not wake it.
 */
#include "local/local.h"

#include "mpi/device.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "mpi/transport/progress.h"

enum { SEPARATE = 128 }; /* At least a line of any cache [bytes]. */
enum { CELLS = 8 };      /* Of a ring. */

/* What a cell holds. */
enum { BEGINS, CONTINUES, PUTS };

struct cell {
    uint32_t kind;
    uint32_t bytes; /* Of `data`. */
    uint64_t to;    /* Of a put: where they belong. */
    struct chasqui_envelope envelope; /* Of a message, or what is delivered behind a put's last cell. */
    uint64_t left;  /* Bytes of the message or put that follow in other cells. */
    uint8_t data[];
};

struct ring {
    _Alignas(SEPARATE) uint32_t written;
    _Alignas(SEPARATE) uint32_t read;
    _Alignas(SEPARATE) uint8_t cells[];
};

/* Memory that the machine's own device has been asked to expose, and by which name. */
struct exposure {
    struct exposure *next;
    uint64_t name;
    uint8_t *landing;
    size_t bytes;
};

/* Another process of the node. */
struct neighbour {
    struct ring *to, *from;
    uint32_t written, read; /* Ours of the counts in the rings. */
    struct chasqui_envelope sending; /* Of the message under way, of which so many bytes are in cells: */
    size_t sent;
    const void *putting;    /* What the put under way delivers, which names it; null: there is none. */
    size_t put;             /* Bytes of it that are in cells. */
    /* The message that comes in several cells: where its data go; `kept` if no receive waits for it. */
    struct chasqui_envelope envelope;
    struct request *request;
    uint8_t *landing, *kept;
    size_t have, kept_bytes;
    struct exposure *exposures; /* Of the first: those of all. */
};

static struct mpi_device mpi_device_local; /* What the library sees. */
static struct mpi_device *ni;          /* The machine's own. */
static struct neighbour *neighbours;   /* All other processes of the node. */
static uint32_t count;                 /* How many they are. */
static struct neighbour **by_rank;     /* Null: on another node. */
static size_t cell_bytes, data_bytes;  /* Of a cell, and of its data. */

static struct cell *cell_of(struct ring *ring, uint32_t index)
{
    return (struct cell *)(ring->cells + index % CELLS * cell_bytes);
}

/* The next cell to `n`; null: there is no room. */
static struct cell *free_cell(struct neighbour *n)
{
    if (n->written - __atomic_load_n(&n->to->read, __ATOMIC_ACQUIRE) == CELLS)
        return NULL;
    return cell_of(n->to, n->written);
}

static void publish(struct neighbour *n) { __atomic_store_n(&n->to->written, ++n->written, __ATOMIC_RELEASE); }

/* Puts what there is room for of `bytes` at `from` into cells to `n`, *done of which are there already. True: all of it is
 * there. */
static bool fill(struct neighbour *n, const struct chasqui_envelope *envelope, const uint8_t *from, uint64_t to,
                 size_t bytes, size_t *done, uint32_t kind)
{
    do {
        struct cell *cell = free_cell(n);
        if (!cell)
            return false;
        size_t left = bytes - *done;
        size_t part = left < data_bytes ? left : data_bytes;
        cell->kind = kind == BEGINS && *done > 0 ? CONTINUES : kind;
        cell->bytes = (uint32_t)part;
        cell->to = to + *done;
        cell->envelope = *envelope;
        cell->left = left - part;
        if (part > 0)
            memcpy(cell->data, from + *done, part);
        *done += part;
        publish(n);
    } while (*done < bytes);
    *done = 0;
    return true;
}

/* Not memcmp: the place of a C library that programs have must not depend on this file. */
static bool is_same(const struct chasqui_envelope *a, const struct chasqui_envelope *b)
{
    uint64_t x[5], y[5];
    _Static_assert(sizeof x == sizeof *a, "an envelope is five words");
    __builtin_memcpy(x, a, sizeof x);
    __builtin_memcpy(y, b, sizeof y);
    uint64_t differences = 0;
    for (int i = 0; i < 5; i++)
        differences |= x[i] ^ y[i];
    return !differences;
}

static bool local_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct neighbour *n = by_rank[envelope->destination];
    if (!n)
        return ni->send(envelope, payload, bytes);
    if (n->sent > 0) {
        /* Its cells follow each other. The library tries again what it was refused, in any order. */
        if (!is_same(envelope, &n->sending))
            return false;
    } else {
        if (!free_cell(n))
            return false;
        MARK_READY(envelope);
        CHQ_MARK_NAME(CHASQUI_MARK_PROTOCOL, (uint64_t)CHASQUI_MARK_PROTOCOL_MEMORY);
    }
    bool done = fill(n, envelope, payload, 0, bytes, &n->sent, BEGINS);
    if (!done)
        n->sending = *envelope;
    return done;
}

static bool local_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    struct neighbour *n = by_rank[fin->destination];
    if (!n)
        return ni->put(fin, from, to, bytes);
    if (n->putting && n->putting != fin)
        return false;
    n->putting = fin;
    if (!fill(n, fin, from, to, bytes, &n->put, PUTS))
        return false;
    n->putting = NULL;
    mpi_put_done(fin->sender);
    return true;
}

/* A message of several cells begins. */
static void begin(struct neighbour *n, const struct cell *cell)
{
    void *to = NULL;
    size_t bytes = cell->bytes + cell->left;
    n->envelope = cell->envelope;
    n->request = mpi_begins(&n->envelope, &to);
    if (!n->request) {
        if (n->kept_bytes < bytes) {
            free(n->kept);
            n->kept = chq_malloc(bytes);
            n->kept_bytes = bytes;
        }
        to = n->kept;
    }
    n->landing = to;
    n->have = 0;
}

/* The next part of such a message. */
static void append(struct neighbour *n, const struct cell *cell)
{
    memcpy(n->landing + n->have, cell->data, cell->bytes);
    n->have += cell->bytes;
    if (cell->left > 0)
        return;
    if (n->request) {
        mpi_placed(n->request);
    } else {
        mpi_arrived(&n->envelope, n->kept, n->have);
    }
}

static uint64_t local_expose(void *landing, size_t bytes)
{
    struct exposure *exposure = chq_malloc(sizeof *exposure);
    uint64_t name = ni->expose(landing, bytes);
    *exposure = (struct exposure){neighbours->exposures, name, landing, bytes};
    neighbours->exposures = exposure;
    return name;
}

static void local_conceal(void *landing, size_t bytes)
{
    struct exposure **link = &neighbours->exposures, *exposure;
    while ((exposure = *link) && (exposure->landing != landing || exposure->bytes != bytes))
        link = &exposure->next;
    if (exposure) {
        *link = exposure->next;
        free(exposure);
    }
    ni->conceal(landing, bytes);
}

/* Where a put goes. */
static void *landing_of(uint64_t to)
{
    if (!ni->expose)
        return (void *)(uintptr_t)to;
    const struct exposure *exposure = neighbours->exposures;
    while (exposure && to - exposure->name >= exposure->bytes)
        exposure = exposure->next;
    if (!exposure)
        chq_die("a put of a process of this node goes to memory that this one has not exposed");
    return exposure->landing + (to - exposure->name);
}

static void deal_with(struct neighbour *n, const struct cell *cell)
{
    if (cell->kind == PUTS) {
        memcpy(landing_of(cell->to), cell->data, cell->bytes);
        if (cell->left == 0)
            mpi_arrived(&cell->envelope, cell->data, 0);
    } else if (cell->kind == BEGINS && cell->left == 0) {
        mpi_arrived(&cell->envelope, cell->data, cell->bytes);
    } else {
        if (cell->kind == BEGINS)
            begin(n, cell);
        append(n, cell);
    }
}

static void local_poll(void)
{
    ni->poll();
    for (struct neighbour *n = neighbours; n < neighbours + count; n++) {
        uint32_t written = __atomic_load_n(&n->from->written, __ATOMIC_ACQUIRE);
        while (n->read != written) {
            deal_with(n, cell_of(n->from, n->read));
            __atomic_store_n(&n->from->read, ++n->read, __ATOMIC_RELEASE);
        }
    }
}

/* A message of `key` does not come to the machine's device. */
static bool is_neighbours(uint64_t key) { return key >> 48 != MATCH_ANY_SOURCE && by_rank[key >> 48]; }

static enum mpi_expected local_expect(struct request *request, uint64_t key, void *to, size_t bytes,
                                      struct chasqui_envelope *found)
{
    return is_neighbours(key) ? MPI_EXPECTED_NOT : ni->expect(request, key, to, bytes, found);
}

static void local_listen(uint64_t key)
{
    if (!is_neighbours(key))
        ni->listen(key);
}

/* The rank of process `local` of this node; none there: as many as there are, or more. */
static uint32_t rank_of(const struct chasqui_ni_placement *place, uint32_t local)
{
    return place->by_node ? local * place->nodes + place->node : place->node * place->ranks_per_node + local;
}

static void add(struct neighbour *n, uint32_t rank, uint8_t *memory, size_t ring_bytes, uint32_t local, uint32_t own,
                uint32_t each)
{
    n->to = (struct ring *)(memory + (own * each + local) * ring_bytes);
    n->from = (struct ring *)(memory + (local * each + own) * ring_bytes);
    by_rank[rank] = n;
}

void chq_local_open(void)
{
    const struct chasqui_ni_placement *place = chq_platform_placement(chq.ni);
    uint32_t each = place->ranks_per_node;
    if (!place->shared_bytes)
        return;
    if (chq.device->transport)
        chq_die("this device matches messages by itself: --mpi local.channel=ni is allowed");
    uint8_t *memory =
        chq_platform_map(chq.ni_fd, (CHASQUI_NI_REGIONS + 1) * CHASQUI_NI_REGION_STRIDE, place->shared_bytes);
    if (!memory)
        chq_die("the memory that processes of a node share can't be mapped");
    size_t ring_bytes = place->shared_bytes / each / each / SEPARATE * SEPARATE;
    cell_bytes = (ring_bytes - sizeof(struct ring)) / CELLS / sizeof(uint64_t) * sizeof(uint64_t);
    data_bytes = cell_bytes - sizeof(struct cell);
    neighbours = chq_malloc(each * sizeof *neighbours);
    memset(neighbours, 0, each * sizeof *neighbours);
    by_rank = chq_malloc(chq.size * sizeof *by_rank);
    memset(by_rank, 0, chq.size * sizeof *by_rank);
    for (uint32_t local = 0; local < each; local++) {
        uint32_t rank = rank_of(place, local);
        if (local != place->process && rank < chq.size)
            add(&neighbours[count++], rank, memory, ring_bytes, local, place->process, each);
    }
    ni = chq.device;
    mpi_device_local = *ni;
    mpi_device_local.send = local_send;
    mpi_device_local.poll = local_poll;
    mpi_device_local.put = ni->put ? local_put : NULL;
    mpi_device_local.expose = ni->expose ? local_expose : NULL;
    mpi_device_local.conceal = ni->conceal ? local_conceal : NULL;
    mpi_device_local.wait = NULL;
    mpi_device_local.expect = ni->expect ? local_expect : NULL;
    mpi_device_local.listen = ni->listen ? local_listen : NULL;
    chq.device = &mpi_device_local;
    chq_poll_in_waits();
    chq.send = local_send;
    chq_set_network(local_poll);
}
