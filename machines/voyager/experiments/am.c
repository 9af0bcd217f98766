/* Active messages (von Eicken, Culler, Goldstein, Schauser, 1992) over the NES: a message names the function
 * that takes it off the network. Short ones go by Express, a line or two by Tag-On, blocks by DMA; one
 * OnePoll looks for all of them.
 *
 * Usage: am TRIPS STREAM BYTES...   (of blocks)
 */
#include "measure.h"

enum { BLOCK_MAX = 65536, COUNT_MAX = 64, SETTLE = 2000, LINE_BYTES = CHASQUI_VOYAGER_TAG_LONG_BYTES };
enum kind { SHORT, MEDIUM, BULK };
enum handler { COUNT, ECHO_SHORT, ECHO_MEDIUM, ECHO_BULK, HANDLERS };

static const char *const names[] = {"short", "medium", "bulk"};
static unsigned trips, stream;
static unsigned counted; /* messages that `count` took */
static uint64_t sum;
static _Alignas(4096) uint64_t source[BLOCK_MAX / 8], target[BLOCK_MAX / 8];

/* --- the layer ---------------------------------------------------------------------------------------- */

/* `data`: what was tagged on. A block of `bytes` is at `target`. */
typedef void handler(uint32_t word, const uint64_t *data, size_t bytes);
static handler count, echo_short, echo_medium, echo_bulk;
static handler *const handlers[HANDLERS] = {count, echo_short, echo_medium, echo_bulk};

/* Runs the handler of one message, if there is one. */
static inline bool am_poll(void)
{
    uint64_t message = nes_one_poll(&nes, 1u << WORK | NES_BASIC);
    if (message == NES_EMPTY)
        return false;
    size_t bytes = nes_tagged(message);
    if (nes_queue(message) != WORK) {
        uint64_t notice[CHASQUI_VOYAGER_SLOT_DATA_BYTES / 8];
        uint32_t from;
        nes_basic_receive(&nes, notice, &from);
        handlers[notice[0]]((uint32_t)notice[1], NULL, notice[2]);
    } else if (bytes == 0) {
        handlers[nes_extra(message)](nes_value(message), NULL, 0);
    } else {
        handlers[nes_extra(message)](nes_value(message), nes_tag_data(&nes, message), bytes);
        nes_tag_release(&nes, bytes);
    }
    return true;
}

/* Who waits for room takes messages: else two that send could wait for each other. */
static void am_wait(void)
{
    if (!am_poll())
        nes_pause();
}

static inline void am_short(enum handler handler, uint32_t word)
{
    while (!nes_express_send(&nes, WORK, 1 - nes.rank, handler, word))
        am_wait();
}

static inline void am_medium(enum handler handler, uint32_t word, const uint64_t *data)
{
    static unsigned next;
    unsigned place = next++ & (nes.tags.count - 1);
    while (nes.posted[WORK] - nes.sent[WORK] >= nes.tags.count)
        if (!nes_tags_are_sent(&nes))
            am_wait();
    memcpy(nes_tag_place(&nes, place), data, LINE_BYTES);
    nes_tag_composed(&nes, place, LINE_BYTES);
    while (!nes_tag_send(&nes, 1 - nes.rank, handler, word, place, LINE_BYTES, false))
        am_wait();
}

/* The same program, so the same address there. */
static inline void am_bulk(enum handler handler, uint32_t word, const uint64_t *data, size_t bytes)
{
    const uint64_t notice[3] = {handler, word, bytes};
    while (!nes_dma_send(&nes, 1 - nes.rank, data, (uintptr_t)target, bytes, notice))
        am_wait();
}

/* --- handlers: one adds up what came, the others answer in kind, at once ------------------------------- */

static void count(uint32_t word, const uint64_t *data, size_t bytes)
{
    sum += word;
    for (size_t i = 0; data && i < bytes / sizeof *data; i++)
        sum += data[i];
    counted++;
}

static void echo_short(uint32_t word, const uint64_t *data, size_t bytes)
{
    (void)data, (void)bytes;
    am_short(COUNT, word);
}

static void echo_medium(uint32_t word, const uint64_t *data, size_t bytes)
{
    (void)bytes;
    am_medium(COUNT, word, data);
}

static void echo_bulk(uint32_t word, const uint64_t *data, size_t bytes)
{
    (void)data;
    am_bulk(COUNT, word, target, bytes);
}

static inline __attribute__((always_inline)) void am_send(enum kind kind, enum handler handler, uint32_t word,
                                                          size_t bytes)
{
    if (kind == SHORT)
        am_short(handler, word);
    else if (kind == MEDIUM)
        am_medium(handler, word, source);
    else
        am_bulk(handler, word, source, bytes);
}

static inline void am_await(unsigned until)
{
    while (counted < until)
        am_wait();
}

/* --- measurements ------------------------------------------------------------------------------------- */

static struct {
    uint64_t overhead[COUNT_MAX], trip[COUNT_MAX], left[COUNT_MAX], came[COUNT_MAX], streamed[COUNT_MAX];
} result;

/* Rank 0 sends into queues that are idle; rank 1 polls when the message has been there for a while. */
static inline __attribute__((always_inline)) void overheads(enum kind kind, size_t bytes)
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            await_token();
            delay(SETTLE);
            uint64_t from = now();
            am_send(kind, COUNT, i, bytes);
            result.overhead[i] = now() - from;
        } else {
            tell(0);
            delay(3 * SETTLE + 8 * bytes);
            uint64_t from = now();
            bool found = am_poll();
            result.overhead[i] = now() - from;
            if (!found)
                fail("a message had not come when its reception was timed");
        }
    }
}

/* One way, to and fro: until the handler has run. */
static inline __attribute__((always_inline)) void ping_pong(enum kind kind, size_t bytes)
{
    for (unsigned i = 0; i < 2 * trips; i++) {
        if (i % 2 == nes.rank) {
            vary(i);
            result.left[i / 2] = now();
            am_send(kind, COUNT, i, bytes);
        } else {
            am_await(counted + 1);
            result.came[i / 2] = now();
        }
    }
}

/* Rank 1's handler answers. */
static inline __attribute__((always_inline)) void round_trips(enum kind kind, size_t bytes)
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            vary(i);
            uint64_t from = now();
            am_send(kind, (enum handler)(ECHO_SHORT + kind), i, bytes);
            am_await(counted + 1);
            result.trip[i] = now() - from;
        } else {
            while (!am_poll())
                nes_pause();
        }
    }
}

static inline __attribute__((always_inline)) void streaming(enum kind kind, size_t bytes)
{
    if (nes.rank == 1)
        tell(0);
    else
        await_token();
    for (unsigned i = 0; i < stream; i++) {
        if (nes.rank == 0)
            am_send(kind, COUNT, i, bytes);
        else
            am_await(counted + 1);
        result.streamed[i] = now();
    }
}

static inline __attribute__((always_inline)) void measure(enum kind kind, size_t bytes)
{
    char name[32];
    memset(&result, 0, sizeof result);
    meet();
    streaming(kind, bytes); /* all places and slots have been used */
    meet();
    overheads(kind, bytes);
    ping_pong(kind, bytes);
    round_trips(kind, bytes);
    streaming(kind, bytes);
    const struct { const char *what; const uint64_t *samples; uint32_t count; } lines[] = {
        {"overhead", result.overhead, trips}, {"left", result.left, trips},
        {"came", result.came, trips},         {"trip", result.trip, nes.rank == 0 ? trips : 0},
        {"stream", result.streamed, stream},
    };
    uint32_t key = kind == SHORT ? 4 : kind == MEDIUM ? 4 + LINE_BYTES : (uint32_t)bytes;
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(name, sizeof name, "%s/%s", names[kind], lines[i].what);
        print_samples(name, key, lines[i].samples, lines[i].count);
    }
}

int main(int argc, char **argv)
{
    open_nes();
    trips = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
    stream = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (trips < 4 || trips > COUNT_MAX || stream < 4 || stream > COUNT_MAX || nes.ranks < 2)
        fail("4 to 64 trips, 4 to 64 messages, 2 ranks");
    memset(source, 1, sizeof source);
    memset(target, 0, sizeof target);
    print_clock();
    measure(SHORT, 0);
    measure(MEDIUM, 0);
    for (int i = 3; i < argc; i++) {
        size_t bytes = strtoul(argv[i], NULL, 10);
        if (bytes == 0 || bytes > BLOCK_MAX || bytes % 8 != 0)
            fail("blocks are of 8 to 65536 bytes, by eights");
        measure(BULK, bytes);
    }
    if (sum == 0)
        fail("handlers added nothing up");
    return 0;
}
