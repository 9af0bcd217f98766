/* Every mechanism, from rank 0 to rank 1, for every size: overheads, latency, stream; with two threads also
 * how they get into each other's way.
 *
 * Usage: mechanisms TRIPS STREAM {MECHANISM BYTES,...}...
 *
 * WIDE and ANSWERED are messages of one 64-byte store, posted or answered.
 *
 * Compiled with THREADS=1 a queue has one thread, and nothing is locked. With 2, two threads of a node share
 * it. Then Basic and DMA, and reading Tag-On data, take a lock; Express and Tag-On sends count in advance
 * what they will post, and take none. One thread works (every lock is free), but for `contended`, where
 * all do.
 *
 * A message longer than its mechanism takes goes as several packets, no more than its receive queue holds. The
 * sender of a stream keeps credits, so that the queue does not overflow; compiled with CREDITS=0 it does not.
 */
#include "measure.h"

#include <pthread.h>

#ifndef THREADS
#define THREADS 1
#endif
#ifndef CREDITS
#define CREDITS 1
#endif

enum { BASIC, EXPRESS, TAG_48, TAG_80, RESIDENT_48, RESIDENT_80, WIDE, ANSWERED, DMA, MECHANISMS };
enum { BYTES_MAX = 65536 };
/* Messages that a thread announces together, and those of all threads that may be under way: a thread of two
 * has half of the places for tagged data. */
enum { PROMISED = 4, SHARED_MAX = 8 };

static const char *const names[MECHANISMS] = {"basic",       "express", "tag-48",   "tag-80", "resident-48",
                                              "resident-80", "wide",    "answered", "dma"};
static const size_t packet_bytes[MECHANISMS] = {
    [BASIC] = CHASQUI_VOYAGER_SLOT_DATA_BYTES,
    [EXPRESS] = 4,
    [TAG_48] = 4 + CHASQUI_VOYAGER_TAG_SHORT_BYTES,
    [TAG_80] = 4 + CHASQUI_VOYAGER_TAG_LONG_BYTES,
    [RESIDENT_48] = 4 + CHASQUI_VOYAGER_TAG_SHORT_BYTES,
    [RESIDENT_80] = 4 + CHASQUI_VOYAGER_TAG_LONG_BYTES,
    [WIDE] = 4 + 8 * CHASQUI_VOYAGER_WIDE_WORDS,
    [ANSWERED] = 4 + 8 * CHASQUI_VOYAGER_WIDE_WORDS,
    [DMA] = BYTES_MAX,
};

static volatile uint32_t sending, receiving; /* locks */
/* The same program, so the same addresses on both ranks. */
static _Alignas(4096) uint32_t memory[2][(BYTES_MAX + 4096) / 4];

/* A thread's messages in queue 0: those that it announced, and those that it posted. */
static struct share {
    _Alignas(64) volatile uint32_t promised;
    uint32_t posted;
} share[2];

/* Queue 0 has a place for one more message of mine, and at most SHARED_MAX are under way. The others'
 * promises are read after what has left, so that none of theirs is taken for mine. */
static void reserve(unsigned me)
{
    struct share *mine = &share[me];
    if (mine->posted++ < mine->promised)
        return;
    mine->promised += PROMISED;
    __asm__ volatile("fence rw, iorw" : : : "memory");
    for (;;) {
        uint32_t sent = *nes_pointer(&nes, CHASQUI_VOYAGER_EXPRESS_SENT);
        __asm__ volatile("fence i, r" : : : "memory");
        if (mine->promised + share[!me].promised - sent <= SHARED_MAX)
            return;
        nes_pause();
    }
}

static inline bool is_resident(int by) { return by == RESIDENT_48 || by == RESIDENT_80; }

static inline bool is_wide(int by) { return by == WIDE || by == ANSWERED; }

/* The first word goes in the header, the others are read as tagged data. */
static inline bool is_tagged(int by) { return by >= TAG_48 && by <= ANSWERED; }

/* Messages begin so that what goes into slots and places lies there as it lies here, by eights: with data
 * tagged on, the first word goes in the header. */
static inline uint32_t *source(int by) { return memory[0] + is_tagged(by); }
static inline uint32_t *target(int by) { return memory[1] + is_tagged(by); }

/* --- packets ------------------------------------------------------------------------------------------ */

static inline void send_word(unsigned me, uint32_t word)
{
    if (THREADS == 1) {
        while (!nes_express_send(&nes, WORK, 1 - nes.rank, 0, word))
            nes_pause();
    } else {
        reserve(me);
        nes_express_store(&nes, nes.express, WORK, 1 - nes.rank, 0, word);
    }
}

static inline void receive_word(uint32_t *word)
{
    uint64_t message;
    while ((message = nes_express_receive(&nes, WORK)) == NES_EMPTY)
        wait_turn();
    *word = nes_value(message);
}

/* The first word goes in the header. */
static inline void send_tagged(unsigned me, const uint32_t *data, size_t bytes, size_t tag_bytes, bool resident)
{
    static struct {
        _Alignas(64) unsigned next;
    } of[2];
    unsigned places = nes.tags.count / THREADS, place = me * places + of[me].next++ & (places - 1);
    if (THREADS > 1)
        reserve(me);
    else
        while (nes.posted[WORK] - nes.sent[WORK] >= places)
            nes_tags_are_sent(&nes);
    if (!resident) {
        memcpy(nes_tag_place(&nes, place), data + 1, bytes - 4);
        nes_tag_composed(&nes, place, bytes - 4);
    }
    nes_tag_store(&nes, 1 - nes.rank, 0, data[0], place, tag_bytes, resident);
    nes.posted[WORK] += THREADS == 1;
}

/* Likewise. The last word may be half of what is read. */
static inline void send_wide(unsigned me, const uint32_t *data, size_t bytes, bool answered)
{
    const uint64_t *words = __builtin_assume_aligned(data + 1, sizeof *words);
    unsigned count = (unsigned)(bytes - 4 + 7) / 8;
    if (answered) {
        while (!nes_wide_try(&nes, WORK, 1 - nes.rank, 0, data[0], words, count))
            nes_pause();
    } else if (THREADS == 1) {
        while (!nes_wide_send(&nes, WORK, 1 - nes.rank, 0, data[0], words, count))
            nes_pause();
    } else {
        uint64_t store[8];
        reserve(me);
        chasqui_store_64(nes_wide_compose(&nes, WORK, 1 - nes.rank, 0, data[0], words, count, store), store);
    }
}

/* Tag-On always brings data, a 64-byte store as much as there is. */
static inline bool take_tagged(uint32_t *data, size_t bytes, bool is_there)
{
    uint64_t message = nes_express_receive(&nes, WORK);
    if (message == NES_EMPTY)
        return false;
    data[0] = nes_value(message);
    if (is_there) {
        memcpy(data + 1, nes_tag_data(&nes, message), bytes - 4);
        nes_tag_release(&nes, bytes - 4);
    }
    return true;
}

static inline bool take_basic(uint32_t *data)
{
    uint32_t from;
    return nes_basic_receive(&nes, data, &from) >= 0;
}

static inline bool post_basic(const uint32_t *data, size_t bytes)
{
    return nes_basic_send(&nes, 1 - nes.rank, data, bytes);
}

static inline bool post_block(const uint32_t *data, size_t bytes)
{
    const uint64_t notice[3] = {bytes};
    return nes_dma_send(&nes, 1 - nes.rank, data, (uintptr_t)target(DMA), bytes, notice);
}

/* Does `act`, alone, until it succeeds; `idle` between the tries. */
#define ALONE(name, act, idle)        \
    for (bool done = false; !done;) { \
        if (THREADS > 1)              \
            lock(&name);              \
        done = act;                   \
        if (THREADS > 1)              \
            unlock(&name);            \
        if (!done)                    \
            idle();                   \
    }

ALWAYS_INLINE void send_packet(int by, unsigned me, const uint32_t *data, size_t bytes)
{
    if (by == BASIC)
        ALONE(sending, post_basic(data, bytes), nes_pause)
    else if (by == DMA)
        ALONE(sending, post_block(data, bytes), nes_pause)
    else if (by == EXPRESS)
        send_word(me, data[0]);
    else if (is_wide(by))
        send_wide(me, data, bytes, by == ANSWERED);
    else
        send_tagged(me, data, bytes, packet_bytes[by] - 4, is_resident(by));
}

ALWAYS_INLINE void receive_packet(int by, uint32_t *data, size_t bytes)
{
    uint32_t notice[CHASQUI_VOYAGER_SLOT_DATA_BYTES / 4];
    if (by == BASIC)
        ALONE(receiving, take_basic(data), wait_turn)
    else if (by == DMA)
        ALONE(receiving, take_basic(notice), wait_turn)
    else if (by == EXPRESS)
        receive_word(data);
    else
        ALONE(receiving, take_tagged(data, bytes, !is_wide(by) || bytes > 4), wait_turn)
}

/* --- credits: in a stream no more packets are under way than the receive queue holds ----------------------- */

/* Packets that rank 0 may send, or rank 1 take, before the next token; packets that a token stands for; tokens to
 * come. Rank 1 sends them, rank 0 waits for them. */
static struct {
    uint32_t left, batch, tokens;
} credits;

static uint32_t queue_packets(int by)
{
    if (by == BASIC || by == DMA)
        return nes.receive.count; /* of DMA: notices */
    return is_tagged(by) && nes.tags.count < nes.express_slots ? nes.tags.count : nes.express_slots;
}

static uint32_t message_packets(int by, size_t bytes)
{
    return (uint32_t)((bytes + packet_bytes[by] - 1) / packet_bytes[by]);
}

/* The queue is empty, and so many packets will come. Rank 1 tells of each half of the queue that it has taken, as
 * long as rank 0 waits for that. */
static void open_credits(int by, uint32_t packets)
{
    uint32_t batch = queue_packets(by) / 2, batches = (packets + batch - 1) / batch;
    credits.batch = batch;
    credits.left = nes.rank == 0 ? 2 * batch : batch;
    credits.tokens = batches > 2 ? batches - 2 : 0;
}

static inline void use_credit(void)
{
    if (credits.left-- > 0)
        return;
    await_token();
    credits.left = credits.batch - 1;
}

static inline void return_credit(void)
{
    if (--credits.left > 0)
        return;
    if (credits.tokens > 0) {
        credits.tokens--;
        tell(0);
    }
    credits.left = credits.batch;
}

/* --- messages: a last word, behind packets with data tagged on, goes alone ------------------------------ */

ALWAYS_INLINE void send_message(int by, unsigned me, const uint32_t *data, size_t bytes, bool counted)
{
    if (bytes <= packet_bytes[by]) {
        if (counted)
            use_credit();
        return send_packet(by, me, data, bytes);
    }
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < packet_bytes[by] ? bytes - at : packet_bytes[by];
        if (counted)
            use_credit();
        if (is_tagged(by) && part == 4)
            send_word(me, data[at / 4]);
        else
            send_packet(by, me, data + at / 4, part);
    }
}

ALWAYS_INLINE void receive_message(int by, uint32_t *data, size_t bytes, bool counted)
{
    if (bytes <= packet_bytes[by]) {
        receive_packet(by, data, bytes);
        if (counted)
            return_credit();
        return;
    }
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < packet_bytes[by] ? bytes - at : packet_bytes[by];
        if (is_tagged(by) && part == 4)
            receive_word(&data[at / 4]);
        else
            receive_packet(by, data + at / 4, part);
        if (counted)
            return_credit();
    }
}

/* --- measurements ------------------------------------------------------------------------------------- */

ALWAYS_INLINE void send(int by, size_t bytes, uint32_t word)
{
    (void)word; /* the data are the same */
    send_message(by, 0, source(by), bytes, false);
}

ALWAYS_INLINE void receive(int by, size_t bytes) { receive_message(by, target(by), bytes, false); }

ALWAYS_INLINE void send_counted(int by, size_t bytes, uint32_t word)
{
    (void)word;
    send_message(by, 0, source(by), bytes, CREDITS);
}

ALWAYS_INLINE void receive_counted(int by, size_t bytes) { receive_message(by, target(by), bytes, CREDITS); }

static const struct transport transport = {send, receive}, counted = {send_counted, receive_counted};

ALWAYS_INLINE void stream_messages(int by, size_t bytes)
{
    open_credits(by, stream * message_packets(by, bytes));
    streaming(counted, by, bytes);
}

/* A thread's half of a stream that two threads send and two receive. */
static _Alignas(64) uint64_t contended[2][COUNT_MAX / 2];

ALWAYS_INLINE void contend(int by, size_t bytes, unsigned me)
{
    static _Alignas(64) uint32_t room[2][32];
    uint32_t *mine = room[me] + is_tagged(by);
    for (unsigned i = 0; i < stream / 2; i++) {
        if (nes.rank == 0)
            send_message(by, me, source(by), bytes, false);
        else
            receive_message(by, mine, bytes, false);
        contended[me][i] = now();
    }
    if (nes.rank == 1 && memcmp(mine, source(by), bytes) != 0)
        fail("the data came wrong where threads share a queue");
}

/* A packet each, so that threads can't take parts of each other's messages. */
static bool may_contend(int by, size_t bytes) { return THREADS > 1 && by != DMA && bytes <= packet_bytes[by]; }

/* Before anything is timed: the data come as they were sent. Those of RESIDENT stay in SRAM from here on, so
 * all words are the same. All messages of the measurement before have come: their places may be written. */
ALWAYS_INLINE void warm_up(int by, size_t bytes)
{
    uint32_t word = 0x5a0000 + (uint32_t)bytes;
    meet();
    for (size_t i = 0; i < bytes / 4; i++)
        source(by)[i] = word;
    for (unsigned place = 0; is_resident(by) && place < nes.tags.count; place++) {
        memcpy(nes_tag_place(&nes, place), source(by), packet_bytes[by] - 4);
        nes_tag_composed(&nes, place, packet_bytes[by] - 4);
    }
    if (nes.rank == 0) {
        await_token();
        send(by, bytes, word);
        return;
    }
    memset(target(by), 0, bytes);
    tell(0);
    receive(by, bytes);
    if (memcmp(source(by), target(by), bytes) != 0)
        fail("the data came wrong");
}

ALWAYS_INLINE void alone(int by, size_t bytes)
{
    warm_up(by, bytes);
    if (by != DMA)
        stream_messages(by, bytes); /* all places and slots have been used */
    overheads(transport, by, bytes);
    meet(); /* what was sent last has been taken */
    ping_pong(transport, by, bytes);
    stream_messages(by, bytes);
}

static pthread_barrier_t barrier;

/* Both threads of both ranks; `me` 0 is the one that did all else. */
ALWAYS_INLINE void together(int by, size_t bytes, unsigned me)
{
    if (me == 0 && nes.rank == 0)
        await_token();
    pthread_barrier_wait(&barrier);
    if (me == 0 && nes.rank == 1)
        tell(0);
    contend(by, bytes, me);
    pthread_barrier_wait(&barrier);
}

/* A call of `what` whose mechanism the compiler knows. */
#define WITH_CONSTANT(mechanism, what, ...)                  \
    switch (mechanism) {                                     \
    case BASIC: what(BASIC, __VA_ARGS__); break;             \
    case EXPRESS: what(EXPRESS, __VA_ARGS__); break;         \
    case TAG_48: what(TAG_48, __VA_ARGS__); break;           \
    case TAG_80: what(TAG_80, __VA_ARGS__); break;           \
    case RESIDENT_48: what(RESIDENT_48, __VA_ARGS__); break; \
    case RESIDENT_80: what(RESIDENT_80, __VA_ARGS__); break; \
    case WIDE: what(WIDE, __VA_ARGS__); break;               \
    case ANSWERED: what(ANSWERED, __VA_ARGS__); break;       \
    default: what(DMA, __VA_ARGS__); break;                  \
    }

/* What is to be measured. */
static struct point {
    int by;
    size_t bytes;
} *points;
static unsigned point_count;

static void print(int by, size_t bytes)
{
    uint32_t key = (uint32_t)bytes, count = may_contend(by, bytes) ? stream / 2 : 0;
    print_measured(names[by], key);
    print_samples(names[by], "contended-0", key, contended[0], count);
    print_samples(names[by], "contended-1", key, contended[1], count);
}

static void *second_thread(void *unused)
{
    for (const struct point *each = points; each < points + point_count; each++)
        if (may_contend(each->by, each->bytes))
            WITH_CONSTANT(each->by, together, each->bytes, 1)
    return unused;
}

static void first_thread(void)
{
    for (const struct point *each = points; each < points + point_count; each++) {
        WITH_CONSTANT(each->by, alone, each->bytes)
        if (may_contend(each->by, each->bytes))
            WITH_CONSTANT(each->by, together, each->bytes, 0)
        print(each->by, each->bytes);
    }
}

/* --- the program -------------------------------------------------------------------------------------- */

static void add(const char *name, char *sizes)
{
    int by = 0;
    while (by < MECHANISMS && strcmp(name, names[by]) != 0)
        by++;
    for (char *size = strtok(sizes, ","); size; size = strtok(NULL, ",")) {
        size_t bytes = strtoul(size, NULL, 10);
        if (by == MECHANISMS || bytes % 4 != 0 || bytes == 0 || bytes > BYTES_MAX)
            fail("usage: mechanisms TRIPS STREAM {MECHANISM BYTES,...}...");
        if (message_packets(by, bytes) > queue_packets(by))
            fail("a message must fit into its receive queue");
        points = realloc(points, (point_count + 1) * sizeof *points);
        points[point_count++] = (struct point){by, bytes};
    }
}

int main(int argc, char **argv)
{
    open_nes();
    trips = read_count(argc, argv, 1);
    stream = read_count(argc, argv, 2);
    for (int i = 3; i + 1 < argc; i += 2)
        add(argv[i], argv[i + 1]);
    pthread_t second;
    pthread_barrier_init(&barrier, NULL, THREADS);
    if (THREADS > 1 && pthread_create(&second, NULL, second_thread, NULL) != 0)
        fail("no hart for a second thread: node.harts");
    print_clock();
    first_thread();
    if (THREADS > 1)
        pthread_join(second, NULL);
    return 0;
}
