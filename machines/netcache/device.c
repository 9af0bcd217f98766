/* The MPI device over the NIC, and over the network cache where the machine has one.
 *
 * Sending: a message is composed in a slot of the transmit ring, in the process's own memory, which the NIC reads over
 * the bus; a long one is a block that the NIC reads where it lies (put), after the library's rendezvous.
 *
 * Receiving: the NIC enters each message in the ring of arrivals, likewise in memory; the library matches. Where the
 * data are until then, and how they come to where the program wants them, is the machine's policy:
 *
 *   processor      in network memory; the processor copies them by uncached loads
 *   buffer         in a buffer of the process's memory; the processor copies them
 *   direct         in network memory; the NIC delivers them by DMA when the receive is known
 *   network-cache  up to node.network_cache.longest in the network cache, from which remap binds them to their
 *                  destination; what cannot be bound is copied by nload; longer ones as by "direct"
 *
 * By "network-cache" a receive without a wildcard finds its message by the name, its envelope and ordinal: sender and
 * receiver count messages of each envelope. prebind asks for it before anything is read of the ring; if it has not come a
 * place is reserved for it, where it lands as it comes, and polling is to ask again. What is found so is not entered in the
 * ring of arrivals, unless the NIC has to enter all (LISTEN) because some receive knows no name. An entry whose
 * message has been found meanwhile is passed over.
 *
 * A message whose receive has not been posted stays in network memory or in the network cache (hold), unless those that
 * do so fill half of it: then it is taken, so that the NIC has room for what comes. By "buffer" it stays in its buffer,
 * and the place among the arrivals gets a spare one while these last. The library's own packets are not the policy's
 * matter: the processor reads their few bytes.
 *
 * Coherence: the NIC's reads and writes of memory are bus transactions that the caches snoop. Only order must be seen
 * to: a store to the NIC must not pass those to the memory that it refers to. */
#include "chasqui/network_cache.h"
#include "mpi/device.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/match.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/process.h"
#include "registers.h"

#define PAGE 4096u
#define SLOT_BYTES CHASQUI_NETCACHE_SLOT_BYTES
#define ELEMENT CHASQUI_NETCACHE_ELEMENT_BYTES

/* Where the payload of a message is that is dealt with. */
struct payload {
    uint32_t buffer, bytes; /* In network memory. */
    uint64_t id;
    uint32_t flags;
    bool taken; /* Its buffer is free, or is somebody else's matter. */
};

static volatile char *registers;
static volatile uint64_t *network, *window; /* Network memory: for nload, and uncached. */
static unsigned policy;
static char *transmit, *buffers;
static struct chasqui_netcache_arrival *arrivals;
static uint32_t slots, slots_mask, arrivals_mask;
static uint32_t produced, consumed;    /* Slots: composed, and known to be done with. */
static uint64_t *put_sender;           /* By slot: the request to notify when it is done with; 0: none. */
static uint32_t puts;                  /* Slots among those composed that are puts. */
static uint32_t arrived, freed;        /* Arrivals: dealt with, and released to the NIC. */
static uint32_t *spare, spares;        /* Numbers of buffers that no arrival has. */
static uint64_t deliveries;
static size_t held_bytes, held_max;    /* Of network memory, by messages that wait for their receive. */

/* Messages of an envelope: those to a process, in whose key it stands for the source, or those from one. */
struct count {
    uint64_t key;
    uint32_t count;
    uint32_t used;
};

struct counts {
    struct count *all;
    uint32_t shift; /* 64 less the bits of an index. */
    uint32_t used;
};

/* A receive that waits for the message of a name. */
struct named {
    struct request *request;
    uint64_t key;
    char *to;
    uint32_t ordinal, room;
};

static struct counts sent,
    claimed; /* Messages sent; messages that receives have claimed, or that have been dealt with. */
static struct named *named;       /* In the order of their posts. */
static uint32_t named_count, named_max;
static size_t longest; /* message that may be found by its name [bytes] */
static bool listens;
static struct payload incoming, resumed;
static struct payload *current = &incoming; /* What `take` copies. */
extern struct mpi_device mpi_device_netcache;

#define REGISTER(name) (*(volatile uint64_t *)(registers + CHASQUI_NETCACHE_##name))

/* Earlier stores, and loads of what is given back, come before the store to the NIC that follows. */
static inline void fence_before_register(void) { __asm__ volatile("fence rw, o" : : : "memory"); }

/* What was seen of the NIC's doings comes before the loads that follow. */
static inline void fence_after_arrival(void) { __asm__ volatile("fence ir, r" : : : "memory"); }

static void *map_region(const struct chasqui_ni_identification *ni, int ni_fd, unsigned region)
{
    return chq_platform_map(ni_fd, (region + 1) * CHASQUI_NI_REGION_STRIDE, ni->regions[region].bytes);
}

/* Memory of zeros that begins with a page, for the NIC to find what does not cross one. It is touched here, lest system
 * software clear its pages one by one as messages come to them. */
static void *new_pages(size_t bytes)
{
    char *block = malloc(bytes + PAGE);
    return block ? memset(block + (-(uintptr_t)block & (PAGE - 1)), 0, bytes) : NULL;
}

/* --- names ---------------------------------------------------------------------------------------------- */

/* Places that a table of counts begins with: enough that a program's usual messages, of a few tags with each of the others,
 * make none grow while others wait for it. A larger job's tables grow as they are needed. */
enum { PLACES_LEAST = 256, PLACES_MOST = 1024, PLACES_A_RANK = 4 };

static uint32_t initial_bits(uint32_t ranks)
{
    uint32_t bits = 0;
    while (1u << bits < PLACES_LEAST || (1u << bits < PLACES_MOST && 1u << bits < PLACES_A_RANK * ranks))
        bits++;
    return bits;
}

static bool counts_open(struct counts *counts, uint32_t bits)
{
    counts->all = malloc(sizeof *counts->all << bits);
    if (!counts->all)
        return false;
    memset(counts->all, 0, sizeof *counts->all << bits);
    counts->shift = 64 - bits;
    counts->used = 0;
    return true;
}

/* The place of `key`, or the free one where it belongs: Fibonacci hashing (Knuth, TAOCP 3, 6.4), the next if it is taken. */
static inline struct count *count_place(const struct counts *counts, uint64_t key)
{
    uint64_t mask = UINT64_MAX >> counts->shift, at = key * 0x9e3779b97f4a7c15ull >> counts->shift;
    while (counts->all[at].used && counts->all[at].key != key)
        at = (at + 1) & mask;
    return &counts->all[at];
}

static __attribute__((noinline)) struct count *count_new(struct counts *counts, uint64_t key)
{
    uint64_t places = (UINT64_MAX >> counts->shift) + 1;
    if (counts->used >= places / 2) {
        struct counts old = *counts;
        if (!counts_open(counts, 64 - old.shift + 1))
            chq_die("no memory to count messages");
        for (uint64_t i = 0; i < places; i++)
            if (old.all[i].used)
                *count_place(counts, old.all[i].key) = old.all[i];
        counts->used = old.used;
        free(old.all);
    }
    struct count *place = count_place(counts, key);
    *place = (struct count){.key = key, .used = 1};
    counts->used++;
    return place;
}

/* How many messages of `key` there have been. */
static inline uint32_t *count_of(struct counts *counts, uint64_t key)
{
    struct count *place = count_place(counts, key);
    return &(likely(place->used) ? place : count_new(counts, key))->count;
}

/* What a message to be sent says of its ordinal. */
static inline uint32_t ordinal_of(const struct chasqui_envelope *envelope)
{
    uint64_t key = match_key(envelope->context, envelope->destination, envelope->tag);
    if (unlikely(!chasqui_netcache_is_counted(envelope->kind, match_context(key))))
        return CHASQUI_NETCACHE_ORDINAL_ENTERED;
    uint32_t count = ++*count_of(&sent, key);
    return chasqui_netcache_ordinal(envelope->kind, count);
}

/* Ordinals have 31 bits and begin again: whether one is after another. */
static inline bool is_after(uint32_t ordinal, uint32_t other) { return (int32_t)((ordinal - other) << 1) > 0; }

static void set_listens(bool now)
{
    listens = now;
    REGISTER(LISTEN) = now;
}

static void netcache_listen(uint64_t key)
{
    /* What can't be named is entered in any case. */
    if (!listens && match_is_lasting(key))
        set_listens(true);
}

/* Asks for a message. True: it is where it goes, and has this envelope. */
static inline bool find_named(const struct named *n, struct chasqui_envelope *found)
{
    uint64_t outcome = chasqui_prebind(n->key, n->to, n->room, n->ordinal);
    uint32_t bytes = (uint32_t)outcome;
    if (bytes == 0)
        return false;
    if (unlikely(bytes > n->room)) {
        netcache_listen(n->key); /* It is to be cut off: its entry says where it is. */
        return false;
    }
    *found = (struct chasqui_envelope){
        .kind = CHASQUI_PACKET_EAGER,
        .context = (uint16_t)(n->key >> 32),
        .source = (uint16_t)(n->key >> 48),
        .destination = (uint16_t)chq.rank,
        .tag = (int32_t)n->key,
        .sequence = (uint32_t)(outcome >> 32),
        .bytes = bytes,
    };
    return true;
}

static enum mpi_expected netcache_expect(struct request *request, uint64_t key, void *to, size_t bytes,
                                         struct chasqui_envelope *found)
{
    /* What may be longer most often is: to ask for it by name would be in vain. */
    if (bytes > longest || unlikely(named_count == named_max || !match_is_lasting(key)))
        return MPI_EXPECTED_NOT;
    if (unlikely(listens) && !mpi_awaits())
        set_listens(false);
    struct named *n = &named[named_count];
    *n = (struct named){
        .request = request,
        .key = key,
        .to = to,
        .ordinal = ++*count_of(&claimed, key) & CHASQUI_NETCACHE_ORDINAL_COUNT,
        .room = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
    };
    if (find_named(n, found))
        return MPI_EXPECTED_THERE;
    named_count++;
    return MPI_EXPECTED_WAITS;
}

static void forget_named(uint32_t at)
{
    named_count--;
    for (; at < named_count; at++)
        named[at] = named[at + 1];
}

/* Asks for what the receive waits for. True: it has it. */
static bool meet_named(uint32_t at)
{
    struct chasqui_envelope found;
    struct request *request = named[at].request;
    if (!find_named(&named[at], &found))
        return false;
    forget_named(at);
    mpi_bound(request, &found);
    return true;
}

static void meet_all_named(void)
{
    for (uint32_t at = 0; at < named_count;)
        at += !meet_named(at);
}

/* What may be reserved for its message is not wanted any more. False: the message is there. Without room there is no place,
 * and perhaps no address. */
static bool give_back(const struct named *n) { return n->room == 0 || chasqui_withdraw(n->key, n->to); }

/* The message of this entry has been found by its name. Else the receive that waits for it, if one does, is met by the entry;
 * those of the key that wait for earlier messages must have them before. */
static bool has_been_found(const struct chasqui_netcache_arrival *arrival)
{
    uint64_t key = match_envelope_key(&arrival->envelope);
    uint32_t ordinal = arrival->ordinal & CHASQUI_NETCACHE_ORDINAL_COUNT;
    if (!chasqui_netcache_is_counted(arrival->envelope.kind, arrival->envelope.context))
        return false;
    for (uint32_t at = 0; at < named_count;) {
        if (named[at].key == key && named[at].ordinal == ordinal) {
            if (!give_back(&named[at]))
                return meet_named(at); /* It landed, though all were to be entered. */
            forget_named(at);
            return false;
        }
        at += named[at].key != key || !meet_named(at);
    }
    uint32_t *count = count_of(&claimed, key);
    if (!is_after(ordinal, *count))
        return true;
    *count = ordinal;
    return false;
}

/* Later receives of the key get what this one and they would have got. If a message of theirs is there this one's has come. */
static bool netcache_withdraw(struct request *request, uint64_t key)
{
    uint32_t first = 0, of_key = 0;
    while (named[first].request != request)
        first++;
    for (uint32_t at = named_count; at-- > first;) {
        if (named[at].key != key)
            continue;
        if (!give_back(&named[at]))
            return false;
        of_key++;
    }
    uint32_t *count = count_of(&claimed, key);
    if (((*count - named[first].ordinal + 1) & CHASQUI_NETCACHE_ORDINAL_COUNT) != of_key)
        return false; /* One of theirs has been found. */
    for (uint32_t at = first + 1; at < named_count; at++)
        named[at].ordinal -= named[at].key == key;
    --*count;
    forget_named(first);
    return true;
}

/* A buffer for each place among the arrivals, and spare ones. */
static bool open_buffers(uint32_t places, uint64_t more)
{
    buffers = new_pages((places + more) * SLOT_BYTES);
    spare = malloc((more + 1) * sizeof *spare);
    if (!buffers || !spare)
        return false;
    while (spares < more) {
        spare[spares] = places + spares;
        spares++;
    }
    return true;
}

static bool open_names(uint32_t most, uint32_t ranks)
{
    uint32_t bits = initial_bits(ranks);
    named_max = most;
    named = malloc((most + 1) * sizeof *named);
    mpi_device_netcache.expect = netcache_expect;
    mpi_device_netcache.withdraw = netcache_withdraw;
    mpi_device_netcache.listen = netcache_listen;
    return named && counts_open(&sent, bits) && counts_open(&claimed, bits);
}

static bool netcache_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    const uint64_t *settings = ni->settings;
    policy = (unsigned)settings[CHASQUI_NETCACHE_SETTING_POLICY];
    slots = (uint32_t)settings[CHASQUI_NETCACHE_SETTING_SLOTS];
    uint32_t places = (uint32_t)settings[CHASQUI_NETCACHE_SETTING_ARRIVALS];
    slots_mask = slots - 1;
    arrivals_mask = places - 1;
    held_max = settings[CHASQUI_NETCACHE_SETTING_HELD] / 2;
    registers = map_region(ni, ni_fd, CHASQUI_NETCACHE_REGION_REGISTERS);
    network = map_region(ni, ni_fd, CHASQUI_NETCACHE_REGION_NETWORK);
    window = map_region(ni, ni_fd, CHASQUI_NETCACHE_REGION_WINDOW);
    transmit = new_pages(slots * SLOT_BYTES);
    arrivals = new_pages(places * sizeof *arrivals);
    put_sender = new_pages(slots * sizeof *put_sender);
    if (!registers || !network || !window || !transmit || !arrivals || !put_sender)
        return false;
    if (policy == CHASQUI_NETCACHE_POLICY_BUFFER && !open_buffers(places, settings[CHASQUI_NETCACHE_SETTING_SPARE]))
        return false;
    fence_before_register();
    REGISTER(TRANSMIT_BASE) = (uintptr_t)transmit;
    REGISTER(ARRIVAL_BASE) = (uintptr_t)arrivals;
    REGISTER(BUFFER_BASE) = (uintptr_t)buffers;
    mpi_device_netcache.eager_bytes_max = settings[CHASQUI_NETCACHE_SETTING_EAGER];
    longest = settings[CHASQUI_NETCACHE_SETTING_LONGEST];
    return policy != CHASQUI_NETCACHE_POLICY_CACHE ||
           open_names((uint32_t)settings[CHASQUI_NETCACHE_SETTING_NAMED], ni->ranks);
}

static void netcache_close(void) {}

/* --- sending ------------------------------------------------------------------------------------------ */

/* Asks the NIC how far it is; blocks that it has read are done here. */
static void look_at_consumer(void)
{
    uint32_t now = (uint32_t)REGISTER(TRANSMIT_CONSUMER);
    while (consumed != now) {
        uint64_t *sender = &put_sender[consumed++ & slots_mask];
        if (*sender) {
            uint64_t done = *sender;
            *sender = 0;
            puts--;
            mpi_put_done(done);
        }
    }
}

/* The next slot of the transmit ring; null: there is none at this moment. */
static struct chasqui_netcache_slot *next_slot(void)
{
    if (unlikely(produced - consumed == slots))
        look_at_consumer();
    if (unlikely(produced - consumed == slots))
        return NULL;
    return (struct chasqui_netcache_slot *)(void *)(transmit + (produced & slots_mask) * SLOT_BYTES);
}

static inline void release_slot(const struct chasqui_envelope *envelope)
{
    produced++;
    fence_before_register();
    REGISTER(TRANSMIT_PRODUCER) = produced;
    MARK_READY(envelope);
}

static bool netcache_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct chasqui_netcache_slot *slot = next_slot();
    if (!slot)
        return false;
    slot->envelope = *envelope;
    slot->bytes = bytes;
    slot->flags = envelope->kind <= CHASQUI_PACKET_LAST_MESSAGE ? CHASQUI_NETCACHE_FLAG_NAMED : 0;
    slot->ordinal = policy == CHASQUI_NETCACHE_POLICY_CACHE ? ordinal_of(envelope) : 0;
    if (bytes > 0)
        chq_copy(slot + 1, payload, bytes);
    release_slot(envelope);
    return true;
}

static bool netcache_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    struct chasqui_netcache_slot *slot = next_slot();
    if (!slot)
        return false;
    slot->envelope = *fin;
    slot->from = (uintptr_t)from;
    slot->to = to;
    slot->bytes = bytes;
    slot->flags = CHASQUI_NETCACHE_FLAG_PUT;
    put_sender[produced & slots_mask] = fin->sender;
    puts++;
    release_slot(fin);
    return true;
}

/* --- receiving ---------------------------------------------------------------------------------------- */

/* The buffer is the NIC's again. */
static void release_buffer(void)
{
    if (!current->taken && (current->flags & CHASQUI_NETCACHE_FLAG_BUFFER)) {
        __asm__ volatile("fence ir, o" : : : "memory"); /* It has been read. */
        REGISTER(RELEASE) = current->buffer;
    }
    current->taken = true;
}

static inline uint64_t load_cached(size_t word)
{
    return chasqui_network_load(network + current->buffer / sizeof *network + word);
}

static inline uint64_t load_uncached(size_t word) { return window[current->buffer / sizeof *window + word]; }

/* The processor copies, a word at a time. */
static inline __attribute__((always_inline)) void copy_by(uint64_t (*load)(size_t word), void *to, size_t bytes)
{
    char *end = to;
    for (size_t word = 0; word < bytes / sizeof(uint64_t); word++) {
        uint64_t value = load(word);
        chq_copy(end, &value, sizeof value);
        end += sizeof value;
    }
    if (bytes % sizeof(uint64_t)) {
        uint64_t value = load(bytes / sizeof(uint64_t));
        memcpy(end, &value, bytes % sizeof(uint64_t));
    }
    release_buffer();
}

/* The NIC writes them there. */
static void deliver(void *to, size_t bytes)
{
    REGISTER(DELIVER_TO) = (uintptr_t)to;
    REGISTER(DELIVER_BYTES) = bytes;
    /* What the program has stored there must be in the cache, and so be overwritten. */
    fence_before_register();
    REGISTER(DELIVER_FROM) = current->buffer;
    deliveries++;
    do {
        chq_pause();
    } while (REGISTER(DELIVERED) != deliveries);
    fence_after_arrival();
    current->taken = true;
}

static void take_from_cache(void *to, size_t bytes)
{
    /* A part of a message can't be bound. */
    if (bytes == current->bytes && chasqui_remap(current->id, to) == CHASQUI_REMAP_BOUND)
        current->taken = true;
    else
        copy_by(load_cached, to, bytes);
}

static void netcache_take(void *to, size_t bytes)
{
    if (current->flags & CHASQUI_NETCACHE_FLAG_CACHED)
        take_from_cache(to, bytes);
    else if (policy == CHASQUI_NETCACHE_POLICY_PROCESSOR || !(current->flags & CHASQUI_NETCACHE_FLAG_NAMED))
        copy_by(load_uncached, to, bytes);
    else
        deliver(to, bytes);
}

static inline size_t held_size(uint32_t bytes) { return (bytes + ELEMENT - 1) / ELEMENT * ELEMENT; }

/* The place whose message is dealt with gets another buffer. */
static bool hold_buffer(const void *payload, uint64_t held[MPI_HELD_WORDS])
{
    if (payload != buffers + (size_t)current->buffer * SLOT_BYTES || !spares)
        return false;
    __asm__ volatile("fence ir, o" : : : "memory"); /* The spare one has been read. */
    REGISTER(BUFFER) = (uint64_t)(arrived & arrivals_mask) << 32 | spare[--spares];
    held[0] = current->buffer;
    return true;
}

static bool netcache_hold(const void *payload, uint64_t held[MPI_HELD_WORDS])
{
    if (policy == CHASQUI_NETCACHE_POLICY_BUFFER)
        return hold_buffer(payload, held);
    if (payload)
        return false;
    size_t size = held_size(current->bytes);
    if (!(current->flags & CHASQUI_NETCACHE_FLAG_BUFFER) || held_bytes + size > held_max)
        return false;
    held_bytes += size;
    held[0] = current->buffer | (uint64_t)current->bytes << 32;
    held[1] = current->id;
    held[2] = current->flags;
    current->taken = true;
    return true;
}

static const void *netcache_resume(const uint64_t held[MPI_HELD_WORDS])
{
    if (policy == CHASQUI_NETCACHE_POLICY_BUFFER)
        return buffers + held[0] * SLOT_BYTES;
    current = &resumed;
    resumed = (struct payload){
        .buffer = (uint32_t)held[0],
        .bytes = (uint32_t)(held[0] >> 32),
        .id = held[1],
        .flags = (uint32_t)held[2],
    };
    return NULL;
}

static void netcache_drop(const uint64_t held[MPI_HELD_WORDS])
{
    if (policy == CHASQUI_NETCACHE_POLICY_BUFFER) {
        spare[spares++] = (uint32_t)held[0];
        return;
    }
    if (current != &resumed)
        netcache_resume(held); /* It was not wanted. */
    release_buffer();
    held_bytes -= held_size(resumed.bytes);
    current = &incoming;
}

static void free_arrivals(void)
{
    fence_before_register();
    REGISTER(ARRIVAL_CONSUMER) = arrived;
    freed = arrived;
}

static void next_arrival(void)
{
    arrived++;
    if (unlikely(arrived - freed > arrivals_mask / 2))
        free_arrivals();
}

static void deal_with(const struct chasqui_netcache_arrival *arrival)
{
    if (policy == CHASQUI_NETCACHE_POLICY_CACHE && has_been_found(arrival)) {
        next_arrival();
        return;
    }
    incoming = (struct payload){
        .buffer = arrival->buffer,
        .bytes = arrival->bytes,
        .id = (uint64_t)arrival->envelope.source << 32 | arrival->envelope.sequence,
        .flags = arrival->flags,
    };
    bool buffered = policy == CHASQUI_NETCACHE_POLICY_BUFFER;
    const void *payload = buffered ? buffers + (size_t)arrival->buffer * SLOT_BYTES : NULL;
    mpi_arrived(&arrival->envelope, payload, arrival->bytes);
    release_buffer();
    next_arrival();
}

/* At most a ring of arrivals: a sender that is faster would keep a process that waits from what it waits for. */
static void netcache_poll(void)
{
    if (named_count)
        meet_all_named();
    const struct chasqui_netcache_arrival *next = &arrivals[arrived & arrivals_mask];
    if (*(volatile const uint32_t *)&next->number == arrived + 1) {
        const uint32_t last = arrived + arrivals_mask;
        do {
            fence_after_arrival();
            deal_with(next);
            next = &arrivals[arrived & arrivals_mask];
        } while (*(volatile const uint32_t *)&next->number == arrived + 1 && arrived != last);
    } else if (freed != arrived) {
        free_arrivals();
    }
    if (unlikely(puts))
        look_at_consumer();
}

struct mpi_device mpi_device_netcache = {
    .name = "netcache",
    .id = CHASQUI_NETCACHE_DEVICE,
    .interface = CHASQUI_NETCACHE_INTERFACE,
    .open = netcache_open,
    .close = netcache_close,
    .send = netcache_send,
    .poll = netcache_poll,
    .take = netcache_take,
    .hold = netcache_hold,
    .resume = netcache_resume,
    .drop = netcache_drop,
    .put = netcache_put,
};
