/* Every mechanism, from rank 0 to rank 1, for every size: overheads, latency, stream; with two threads also
 * how they get into each other's way.
 *
 * Usage: mechanisms TRIPS STREAM {MECHANISM BYTES,...}...
 *
 * WIDE and ANSWERED are messages of one 64-byte store, posted or answered. EXPRESS_THROUGH, TAG_48_THROUGH and
 * TAG_80_THROUGH are Express and Tag-On whose receiver takes each message as the memo has a 604 do it (section 5.1): by
 * a floating-point register and through the cache. EXPRESS_HALVES is Express by the memo's alternative, two loads of
 * four bytes.
 *
 * Compiled with THREADS=1 a queue has one thread, and nothing is locked. With 2, two threads of a node share
 * it. Then Basic and DMA take a lock. Express and Tag-On take none: their sends count in advance what they will
 * post. (EXPRESS_HALVES is not for them: its halves are not one access.) One thread works (every lock is free), but
 * for `contended`, where all do.
 *
 * A message longer than its mechanism takes goes as several packets, no more than its receive queue holds. The
 * sender of a stream keeps credits, so that the queue does not overflow; compiled with CREDITS=0 it does not.
 *
 * Program and data fit into the second-level cache, which is direct-mapped: else some lengths would cost more for where
 * they lie. So with STORES_64=1 there are WIDE, ANSWERED, BASIC, EXPRESS and DMA, without it all but the first two; and
 * messages of more than 4 KiB with BLOCKS=1, which has DMA alone. SHIFT moves all code by so many bytes, to show how much its place matters.
 */
#include "credits.h"
#include "measure.h"

#include <pthread.h>

#ifndef THREADS
#define THREADS 1
#endif
#ifndef CREDITS
#define CREDITS 1
#endif
#ifndef STORES_64
#define STORES_64 0
#endif
#ifndef BLOCKS
#define BLOCKS 0
#endif
#ifndef SHIFT
#define SHIFT 0
#endif

enum mechanism {
    BASIC,
    EXPRESS,
    EXPRESS_THROUGH,
    EXPRESS_HALVES,
    TAG_48,
    TAG_80,
    TAG_48_THROUGH,
    TAG_80_THROUGH,
    RESIDENT_48,
    RESIDENT_80,
    WIDE,
    ANSWERED,
    DMA,
    MECHANISMS
};
enum { BYTES_MAX = BLOCKS ? 65536 : 4096 };
#define TEXT(number) AS_TEXT(number)
#define AS_TEXT(number) #number

/* It lies before all else, and main calls it, so that the linker keeps it. */
static __attribute__((noinline)) void shift(void) { __asm__ volatile("j 1f\n.skip " TEXT(SHIFT) "\n1:"); }

static const char *const names[MECHANISMS] = {
    [BASIC] = "basic",
    [EXPRESS] = "express",
    [EXPRESS_THROUGH] = "through",
    [EXPRESS_HALVES] = "halves",
    [TAG_48] = "tag-48",
    [TAG_80] = "tag-80",
    [TAG_48_THROUGH] = "tag-48-through",
    [TAG_80_THROUGH] = "tag-80-through",
    [RESIDENT_48] = "resident-48",
    [RESIDENT_80] = "resident-80",
    [WIDE] = "wide",
    [ANSWERED] = "answered",
    [DMA] = "dma",
};
static const size_t packet_bytes[MECHANISMS] = {
    [BASIC] = CHASQUI_VOYAGER_SLOT_DATA_BYTES,
    [EXPRESS] = 4,
    [EXPRESS_THROUGH] = 4,
    [EXPRESS_HALVES] = 4,
    [TAG_48] = 4 + CHASQUI_VOYAGER_TAG_SHORT_BYTES,
    [TAG_80] = 4 + CHASQUI_VOYAGER_TAG_LONG_BYTES,
    [TAG_48_THROUGH] = 4 + CHASQUI_VOYAGER_TAG_SHORT_BYTES,
    [TAG_80_THROUGH] = 4 + CHASQUI_VOYAGER_TAG_LONG_BYTES,
    [RESIDENT_48] = 4 + CHASQUI_VOYAGER_TAG_SHORT_BYTES,
    [RESIDENT_80] = 4 + CHASQUI_VOYAGER_TAG_LONG_BYTES,
    [WIDE] = 4 + 8 * CHASQUI_VOYAGER_WIDE_WORDS,
    [ANSWERED] = 4 + 8 * CHASQUI_VOYAGER_WIDE_WORDS,
    [DMA] = BYTES_MAX,
};

static _Alignas(64) volatile uint32_t sending; /* locks, in lines of their own */
static _Alignas(64) volatile uint32_t receiving;
/* The thread of two that it is. */
static _Thread_local unsigned self;
#define ME (THREADS > 1 ? self : 0)

/* What is sent, and where each thread receives. The same program, so the same addresses on both ranks. */
static _Alignas(4096) uint32_t memory[1 + THREADS][(BYTES_MAX + 4096) / 4];

/* A thread's messages in queue 0: those that it announced, and those that it posted. */
static struct share {
    _Alignas(64) volatile uint32_t promised;
    uint32_t posted;
} share[2];

/* Messages that a thread announces together, and those of all threads that may be under way. */
static struct room {
    uint32_t promised, most;
} room;

/* Queue 0 has a place for one more message of mine, and at most `room.most` are under way. The others'
 * promises are read after what has left, so that none of theirs is taken for mine. */
static void reserve(void)
{
    struct share *mine = &share[ME];
    if (mine->posted++ < mine->promised)
        return;
    mine->promised += room.promised;
    __asm__ volatile("fence rw, iorw" : : : "memory");
    for (;;) {
        uint32_t sent = *nes_pointer(&nes, CHASQUI_VOYAGER_EXPRESS_SENT);
        __asm__ volatile("fence i, r" : : : "memory");
        if (mine->promised + share[!ME].promised - sent <= room.most)
            return;
        nes_pause();
    }
}

static inline bool is_resident(int by) { return by == RESIDENT_48 || by == RESIDENT_80; }

static inline bool is_through(int by) { return by == EXPRESS_THROUGH || by == TAG_48_THROUGH || by == TAG_80_THROUGH; }

static inline bool is_wide(int by) { return by == WIDE || by == ANSWERED; }

/* The first word goes in the header, the others are read as tagged data. */
static inline bool is_tagged(int by) { return by >= TAG_48 && by <= ANSWERED; }

/* Messages begin so that what goes into slots and places lies there as it lies here, by eights: with data
 * tagged on, the first word goes in the header. */
static inline uint32_t *source(int by) { return memory[0] + is_tagged(by); }
static inline uint32_t *target(int by) { return memory[1 + ME] + is_tagged(by); }

/* --- packets ------------------------------------------------------------------------------------------ */

static inline void send_word(uint32_t word)
{
    if (THREADS == 1) {
        while (!nes_express_send(&nes, WORK, 1 - nes.rank, 0, word))
            nes_pause();
    } else {
        reserve();
        nes_express_store(&nes, nes.express, WORK, 1 - nes.rank, 0, word);
    }
}

/* The oldest message of the queue, or NES_EMPTY. */
ALWAYS_INLINE uint64_t take_message(int by)
{
    uint32_t low, high;
    if (!is_through(by))
        return nes_express_receive(&nes, WORK);
    return nes_express_receive_through_cache(&nes, WORK, &low, &high) ? nes_message(low, high) : NES_EMPTY;
}

ALWAYS_INLINE void receive_word(int by, uint32_t *word)
{
    uint32_t high;
    uint64_t message;
    if (by == EXPRESS_HALVES) {
        while (!nes_express_receive_halves(&nes, WORK, word, &high))
            wait_turn();
    } else if (by == EXPRESS_THROUGH) {
        while (!nes_express_receive_through_cache(&nes, WORK, word, &high))
            wait_turn();
    } else {
        while ((message = take_message(by)) == NES_EMPTY)
            wait_turn();
        *word = nes_value(message);
    }
}

/* One of so many places is free. */
ALWAYS_INLINE void await_place(unsigned places)
{
    while (nes.posted[WORK] - nes.sent[WORK] >= places) {
        nes_are_sent(&nes, WORK);
        if (nes.posted[WORK] - nes.sent[WORK] >= places)
            nes_pause();
    }
}

/* The first word goes in the header. */
ALWAYS_INLINE void send_tagged(const uint32_t *data, size_t bytes, size_t tag_bytes, bool resident)
{
    static struct {
        _Alignas(64) unsigned next;
    } of[2];
    unsigned places = nes.tags / THREADS, place = ME * places + (of[ME].next++ & (places - 1));
    if (THREADS > 1)
        reserve();
    else
        await_place(places);
    if (!resident) {
        nes_copy(nes_tag_place(&nes, place), data + 1, bytes - 4);
        nes_tag_composed(&nes, place, bytes - 4);
    }
    nes_tag_store(&nes, WORK, 1 - nes.rank, 0, data[0], place, tag_bytes, resident);
    nes.posted[WORK] += THREADS == 1;
}

/* Likewise. The last word may be half of what is read. */
ALWAYS_INLINE void send_wide(const uint32_t *data, size_t bytes, bool answered)
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
        reserve();
        chasqui_store_64(nes_wide_compose(&nes, WORK, 1 - nes.rank, 0, data[0], words, count, store), store);
    }
}

/* Tag-On always brings data, a 64-byte store as much as there is. */
ALWAYS_INLINE bool take_tagged(int by, uint32_t *data, size_t bytes, bool is_there)
{
    uint64_t message = take_message(by);
    if (message == NES_EMPTY)
        return false;
    data[0] = nes_value(message);
    if (is_there) {
        nes_copy(data + 1, nes_tag_data(&nes, message), bytes - 4);
        nes_tag_release(&nes, message, bytes - 4);
    }
    return true;
}

/* Reads a notice's first word, which says how long the block is. */
ALWAYS_INLINE bool take_notice(void)
{
    uint64_t bytes;
    if (!take_basic(&bytes, sizeof bytes))
        return false;
    __asm__ volatile("" : : "r"(bytes)); /* else nothing would be read */
    return true;
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

ALWAYS_INLINE void send_packet(int by, const uint32_t *data, size_t bytes)
{
    if (by == BASIC)
        ALONE(sending, post_basic(1 - nes.rank, data, bytes), nes_pause)
    else if (by == DMA)
        ALONE(sending, post_block(data, bytes), nes_pause)
    else if (packet_bytes[by] == 4)
        send_word(data[0]);
    else if (is_wide(by))
        send_wide(data, bytes, by == ANSWERED);
    else
        send_tagged(data, bytes, packet_bytes[by] - 4, is_resident(by));
}

ALWAYS_INLINE void receive_packet(int by, uint32_t *data, size_t bytes)
{
    if (by == BASIC)
        ALONE(receiving, take_basic(data, bytes), wait_turn)
    else if (by == DMA)
        ALONE(receiving, take_notice(), wait_turn)
    else if (packet_bytes[by] == 4)
        receive_word(by, data);
    else
        while (!take_tagged(by, data, bytes, !is_wide(by) || bytes > 4))
            wait_turn();
}

/* --- credits: in a stream no more packets are under way than the receive queue holds ----------------------- */

static uint32_t queue_packets(int by)
{
    if (by == BASIC || by == DMA)
        return nes.receive.count; /* of DMA: notices */
    return is_tagged(by) && nes.tags < nes.express_slots ? nes.tags : nes.express_slots;
}

static uint32_t message_packets(int by, size_t bytes)
{
    return (uint32_t)((bytes + packet_bytes[by] - 1) / packet_bytes[by]);
}

/* Packets that a token stands for: half of the queue, shared by two threads a quarter, so that a thread has taken that
 * many while others are still under way. */
static uint32_t batch_packets(int by) { return queue_packets(by) / (2 * THREADS); }

/* --- messages: a last word, behind packets with data tagged on, goes alone ------------------------------ */

ALWAYS_INLINE void send_part(int by, const uint32_t *data, size_t bytes)
{
    if (is_tagged(by) && bytes == 4)
        send_word(data[0]);
    else if (bytes == packet_bytes[by])
        send_packet(by, data, packet_bytes[by]); /* a length that the compiler knows */
    else
        send_packet(by, data, bytes);
}

ALWAYS_INLINE void receive_part(int by, uint32_t *data, size_t bytes)
{
    if (is_tagged(by) && bytes == 4)
        receive_word(by, data);
    else if (bytes == packet_bytes[by])
        receive_packet(by, data, packet_bytes[by]);
    else
        receive_packet(by, data, bytes);
}

/* Packets that are not many. */
enum { FEW = 4 };

/* `act` for each packet of a message, which has `part` bytes from `at` on; `many`: they are written out, and many. */
#define EACH_PACKET(by, bytes, act)                                           \
    for (size_t at = 0, part; at < bytes; at += part) {                       \
        part = bytes - at < packet_bytes[by] ? bytes - at : packet_bytes[by]; \
        act;                                                                  \
    }
/* Written out for a length that the compiler knows: left to itself it keeps a loop, since each packet polls. */
#define BY_PACKETS(by, bytes, act)                                     \
    if (__builtin_constant_p(bytes)) {                                 \
        const bool many = bytes > FEW * packet_bytes[by];              \
        _Pragma("clang loop unroll(full)") EACH_PACKET(by, bytes, act) \
    } else {                                                           \
        const bool many = false;                                       \
        EACH_PACKET(by, bytes, act)                                    \
    }

ALWAYS_INLINE void send_next(int by, const uint32_t *data, size_t part, bool counted, bool many)
{
    if (counted)
        use_credit(many);
    send_part(by, data, part);
}

ALWAYS_INLINE void receive_next(int by, uint32_t *data, size_t part, bool counted, bool many)
{
    receive_part(by, data, part);
    if (counted)
        return_credit(many);
}

ALWAYS_INLINE void send_message(int by, size_t bytes, bool counted)
{
    const uint32_t *data = source(by);
    if (bytes <= packet_bytes[by]) {
        if (counted)
            use_credit(false);
        return send_packet(by, data, bytes);
    }
    BY_PACKETS(by, bytes, send_next(by, data + at / 4, part, counted, many))
}

ALWAYS_INLINE void receive_message(int by, size_t bytes, bool counted)
{
    uint32_t *data = target(by);
    if (bytes <= packet_bytes[by]) {
        receive_packet(by, data, bytes);
        if (counted)
            return_credit(false);
        return;
    }
    BY_PACKETS(by, bytes, receive_next(by, data + at / 4, part, counted, many))
}

/* --- functions of a mechanism and a length: a program knows how long its messages are ---------------------- */

/* How messages go, and how where the sender keeps credits. */
struct way {
    struct transport transport, counted;
};

/* `length` is a constant, or `bytes`. What is sent is the same each time. */
#define DEFINE_SENDER(function, by, length, counted)                 \
    static void send_##function(int of, size_t bytes, uint32_t word) \
    {                                                                \
        (void)of, (void)bytes, (void)word;                           \
        send_message(by, length, counted);                           \
    }
#define DEFINE_RECEIVER(function, by, length, counted)   \
    static void receive_##function(int of, size_t bytes) \
    {                                                    \
        (void)of, (void)bytes;                           \
        receive_message(by, length, counted);            \
    }
#if CREDITS
#define DEFINE_SEND(by, name, length)             \
    DEFINE_SENDER(by##_##name, by, length, false) \
    DEFINE_SENDER(counted_##by##_##name, by, length, true)
#define DEFINE_RECEIVE(by, name, length)            \
    DEFINE_RECEIVER(by##_##name, by, length, false) \
    DEFINE_RECEIVER(counted_##by##_##name, by, length, true)
#define OF_COUNTED(what, name) what##counted_##name
#else
#define DEFINE_SEND(by, name, length) DEFINE_SENDER(by##_##name, by, length, false)
#define DEFINE_RECEIVE(by, name, length) DEFINE_RECEIVER(by##_##name, by, length, false)
#define OF_COUNTED(what, name) what##name
#endif
#define DEFINE_SEND_LENGTH(by, length) DEFINE_SEND(by, length, length)
#define DEFINE_RECEIVE_LENGTH(by, length) DEFINE_RECEIVE(by, length, length)
#define DEFINE_LENGTH(by, length) DEFINE_SEND(by, length, length) DEFINE_RECEIVE(by, length, length)

/* Lengths that a program knows: up to that of Basic's longest message. */
#define EACH_LENGTH(of, by)                                                                                           \
    of(by, 4) of(by, 8) of(by, 12) of(by, 16) of(by, 20) of(by, 24) of(by, 28) of(by, 32) of(by, 36) of(by, 40)       \
        of(by, 44) of(by, 48) of(by, 52) of(by, 56) of(by, 60) of(by, 64) of(by, 68) of(by, 72) of(by, 76) of(by, 80) \
            of(by, 84) of(by, 88)
enum { KNOWN_MAX = 88 };

#define DEFINE_BOTH(by) EACH_LENGTH(DEFINE_LENGTH, by) DEFINE_SEND(by, other, bytes) DEFINE_RECEIVE(by, other, bytes)
/* Of what is sent like another, or taken like another. */
#define DEFINE_TAKE(by) EACH_LENGTH(DEFINE_RECEIVE_LENGTH, by) DEFINE_RECEIVE(by, other, bytes)
#define DEFINE_GIVE(by) EACH_LENGTH(DEFINE_SEND_LENGTH, by) DEFINE_SEND(by, other, bytes)

#if !BLOCKS
DEFINE_BOTH(BASIC)
DEFINE_BOTH(EXPRESS)
#if STORES_64
DEFINE_BOTH(WIDE)
DEFINE_BOTH(ANSWERED)
#else
DEFINE_TAKE(EXPRESS_THROUGH)
#if THREADS == 1
DEFINE_TAKE(EXPRESS_HALVES)
#endif
DEFINE_BOTH(TAG_48)
DEFINE_BOTH(TAG_80)
DEFINE_TAKE(TAG_48_THROUGH)
DEFINE_TAKE(TAG_80_THROUGH)
DEFINE_GIVE(RESIDENT_48)
DEFINE_GIVE(RESIDENT_80)
#endif
#endif
DEFINE_SEND(DMA, other, bytes)
DEFINE_RECEIVE(DMA, other, bytes)

#define WAY(sender, receiver)                                                                              \
    {                                                                                                      \
        {send_##sender, receive_##receiver}, { OF_COUNTED(send_, sender), OF_COUNTED(receive_, receiver) } \
    }
#define LENGTH(by, length) [length / 4] = WAY(by##_##length, by##_##length),
#define THROUGH_LENGTH(by, length) [length / 4] = WAY(by##_##length, by##_THROUGH_##length),
#define HALVES_LENGTH(by, length) [length / 4] = WAY(by##_##length, by##_HALVES_##length),
#define RESIDENT_LENGTH(tag, length) [length / 4] = WAY(RESIDENT_##tag##_##length, TAG_##tag##_##length),
#define WAYS(each, by, sender, receiver) {EACH_LENGTH(each, by)[0] = WAY(sender##_other, receiver##_other)}

/* By mechanism and length in words; 0: any other length. */
static const struct way ways[MECHANISMS][KNOWN_MAX / 4 + 1] = {
#if !BLOCKS
    [BASIC] = WAYS(LENGTH, BASIC, BASIC, BASIC), [EXPRESS] = WAYS(LENGTH, EXPRESS, EXPRESS, EXPRESS),
#if STORES_64
    [WIDE] = WAYS(LENGTH, WIDE, WIDE, WIDE),     [ANSWERED] = WAYS(LENGTH, ANSWERED, ANSWERED, ANSWERED),
#else
    [EXPRESS_THROUGH] = WAYS(THROUGH_LENGTH, EXPRESS, EXPRESS, EXPRESS_THROUGH),
#if THREADS == 1
    [EXPRESS_HALVES] = WAYS(HALVES_LENGTH, EXPRESS, EXPRESS, EXPRESS_HALVES),
#endif
    [TAG_48] = WAYS(LENGTH, TAG_48, TAG_48, TAG_48),
    [TAG_80] = WAYS(LENGTH, TAG_80, TAG_80, TAG_80),
    [TAG_48_THROUGH] = WAYS(THROUGH_LENGTH, TAG_48, TAG_48, TAG_48_THROUGH),
    [TAG_80_THROUGH] = WAYS(THROUGH_LENGTH, TAG_80, TAG_80, TAG_80_THROUGH),
    [RESIDENT_48] = WAYS(RESIDENT_LENGTH, 48, RESIDENT_48, TAG_48),
    [RESIDENT_80] = WAYS(RESIDENT_LENGTH, 80, RESIDENT_80, TAG_80),
#endif
#endif
    [DMA] = {[0] = WAY(DMA_other, DMA_other)},
};

static const struct way *way_of(int by, size_t bytes)
{
    const struct way *known = &ways[by][bytes <= KNOWN_MAX ? bytes / 4 : 0];
    return known->transport.send ? known : &ways[by][0];
}

/* --- measurements ------------------------------------------------------------------------------------- */

static void stream_messages(int by, size_t bytes)
{
    open_credits(2 * THREADS, batch_packets(by), CREDITS ? stream * message_packets(by, bytes) : 0);
    streaming(way_of(by, bytes)->counted, by, bytes);
    close_credits();
}

/* A thread's half of a stream that two threads send and two receive. */
static _Alignas(64) uint64_t contended[2][COUNT_MAX / 2];

/* The like of `credits` for it: a token is for the thread that takes it. */
static struct {
    _Alignas(64) uint32_t left, tokens; /* tokens that the thread sent, or took */
} shared_credits[2];

/* As `tell`, but uncounted, for the count is not two threads': there are fewer tokens than places. */
static void tell_shared(void)
{
    nes_fence();
    nes_express_store(&nes, nes.express, TOKENS, 0, 0, 0);
    shared_credits[self].tokens++;
}

/* One thread, when both have ended: rank 1 counts what they sent, rank 0 takes what they have not needed. */
static void close_shared_credits(int by)
{
    uint32_t tokens = shared_credits[0].tokens + shared_credits[1].tokens;
    if (nes.rank == 1)
        nes.posted[TOKENS] += tokens;
    else
        for (; tokens < 2 * (stream / 2 / batch_packets(by)); tokens++)
            await_token();
}

static void contend(int by, size_t bytes)
{
    struct transport transport = way_of(by, bytes)->transport;
    const uint32_t batch = batch_packets(by);
    uint32_t *left = &shared_credits[self].left;
    *left = nes.rank == 0 ? 2 * batch : batch;
    shared_credits[self].tokens = 0;
    for (unsigned i = 0; i < stream / 2; i++) {
        if (nes.rank == 0) {
            if (*left == 0) {
                await_token();
                shared_credits[self].tokens++;
                *left = batch;
            }
            --*left;
            transport.send(by, bytes, i);
        } else {
            transport.receive(by, bytes);
            if (--*left == 0) {
                tell_shared();
                *left = batch;
            }
        }
        contended[self][i] = now();
    }
    if (nes.rank == 1 && memcmp(target(by), source(by), bytes) != 0)
        fail("the data came wrong where threads share a queue");
}

/* A packet each, so that threads can't take parts of each other's messages. */
static bool may_contend(int by, size_t bytes) { return THREADS > 1 && by != DMA && bytes <= packet_bytes[by]; }

/* All threads are idle. A thread of two has half of the places for tagged data, and does not know whose have left; without
 * such data a message needs a slot of the queue only. */
static void open_room(int by)
{
    for (unsigned i = 0; i < 2; i++)
        share[i].promised = share[i].posted;
    room.most = is_tagged(by) ? nes.tags / 2 : nes.express_slots;
    room.promised = room.most / 2;
}

/* Before anything is timed: the data come as they were sent. Those of RESIDENT stay in SRAM from here on, so
 * all words are the same. All messages of the measurement before have come: their places may be written. */
static void warm_up(int by, size_t bytes)
{
    struct transport transport = way_of(by, bytes)->transport;
    uint32_t word = 0x5a0000 + (uint32_t)bytes;
    meet();
    open_room(by);
    for (size_t i = 0; i < bytes / 4; i++)
        source(by)[i] = word;
    for (unsigned place = 0; is_resident(by) && place < nes.tags; place++) {
        memcpy(nes_tag_place(&nes, place), source(by), packet_bytes[by] - 4);
        nes_tag_composed(&nes, place, packet_bytes[by] - 4);
    }
    if (nes.rank == 0) {
        await_token();
        transport.send(by, bytes, word);
        return;
    }
    memset(target(by), 0, bytes);
    tell(0);
    transport.receive(by, bytes);
    if (memcmp(source(by), target(by), bytes) != 0)
        fail("the data came wrong");
}

static void alone(int by, size_t bytes)
{
    warm_up(by, bytes);
    if (by != DMA)
        stream_messages(by, bytes); /* all places and slots have been used */
    overheads(way_of(by, bytes)->transport, by, bytes);
    meet(); /* what was sent last has been taken */
    ping_pong(way_of(by, bytes)->transport, by, bytes);
    stream_messages(by, bytes);
}

static pthread_barrier_t barrier;

/* Both threads of both ranks; 0 is the one that did all else. */
static void together(int by, size_t bytes)
{
    if (self == 0 && nes.rank == 0)
        await_token();
    pthread_barrier_wait(&barrier);
    if (self == 0 && nes.rank == 1)
        tell(0);
    contend(by, bytes);
    pthread_barrier_wait(&barrier);
    if (self == 0)
        close_shared_credits(by);
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
    self = 1;
    for (const struct point *each = points; each < points + point_count; each++)
        if (may_contend(each->by, each->bytes))
            together(each->by, each->bytes);
    return unused;
}

static void first_thread(void)
{
    for (const struct point *each = points; each < points + point_count; each++) {
        alone(each->by, each->bytes);
        if (may_contend(each->by, each->bytes))
            together(each->by, each->bytes);
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
        if (!ways[by][0].transport.send)
            fail("not in this program: -DSTORES_64, -DBLOCKS, or two threads that would receive by halves");
        if (message_packets(by, bytes) > queue_packets(by))
            fail("a message must fit into its receive queue");
        points = realloc(points, (point_count + 1) * sizeof *points);
        points[point_count++] = (struct point){by, bytes};
    }
}

int main(int argc, char **argv)
{
    shift();
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
