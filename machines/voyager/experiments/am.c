/* Active messages (von Eicken, Culler, Goldstein, Schauser, 1992) over the NES: a message names the function
 * that takes it off the network. Short ones go by Express, a line or two by Tag-On, blocks by DMA; one
 * OnePoll looks for all of them. A message is taken as the memo has a 604 do it (section 5.1).
 *
 * Usage: am TRIPS STREAM BYTES...   (of blocks)
 */
#include "measure.h"

enum { BLOCK_MAX = 65536, LINE_BYTES = CHASQUI_VOYAGER_TAG_LONG_BYTES };
enum kind { SHORT, MEDIUM, BULK };
enum handler { ADD, ECHO_SHORT, ECHO_MEDIUM, ECHO_BULK, HANDLERS };

static const char *const names[] = {"short", "medium", "bulk"};
static uint64_t sum;
static _Alignas(4096) uint64_t source[BLOCK_MAX / 8], target[BLOCK_MAX / 8];

/* --- the layer ---------------------------------------------------------------------------------------- */

/* `data`: what was tagged on. A block of `bytes` is at `target`. */
typedef void handler(uint32_t word, const uint64_t *data, size_t bytes);
static handler add, echo_short, echo_medium, echo_bulk;
static handler *const handlers[HANDLERS] = {add, echo_short, echo_medium, echo_bulk};

/* Runs the handler of one message, if there is one. */
static inline bool am_poll(void)
{
    uint32_t low, high;
    if (!nes_one_poll_through_cache(&nes, 0, &low, &high))
        return false;
    uint64_t message = nes_message(low, high);
    size_t bytes = nes_tagged(message);
    if (nes_queue(message) != WORK) {
        nes_basic_told(&nes, message);
        const struct chasqui_voyager_slot *slot = nes_basic_oldest(&nes);
        const uint64_t *words = nes_slot_data(slot);
        uint64_t handler = words[0], word = words[1], block = words[2];
        nes_basic_release(&nes, 3 * sizeof *words);
        handlers[handler]((uint32_t)word, NULL, block);
    } else if (bytes == 0) {
        handlers[nes_extra(message)](nes_value(message), NULL, 0);
    } else {
        handlers[nes_extra(message)](nes_value(message), nes_tag_data(&nes, message), bytes);
        nes_tag_release(&nes, message, bytes);
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
    unsigned place = next++ & (nes.tags - 1);
    while (nes.posted[WORK] - nes.sent[WORK] >= nes.tags)
        if (!nes_are_sent(&nes, WORK))
            am_wait();
    nes_copy(nes_tag_place(&nes, place), data, LINE_BYTES);
    nes_tag_composed(&nes, place, LINE_BYTES);
    while (!nes_tag_send(&nes, WORK, 1 - nes.rank, handler, word, place, LINE_BYTES, false))
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

static void add(uint32_t word, const uint64_t *data, size_t bytes)
{
    sum += word;
    for (size_t i = 0; data && i < bytes / sizeof *data; i++)
        sum += data[i];
}

static void echo_short(uint32_t word, const uint64_t *data, size_t bytes)
{
    (void)data, (void)bytes;
    am_short(ADD, word);
}

static void echo_medium(uint32_t word, const uint64_t *data, size_t bytes)
{
    (void)bytes;
    am_medium(ADD, word, data);
}

static void echo_bulk(uint32_t word, const uint64_t *data, size_t bytes)
{
    (void)data;
    am_bulk(ADD, word, target, bytes);
}

ALWAYS_INLINE void am_send(enum kind kind, enum handler handler, size_t bytes, uint32_t word)
{
    if (kind == SHORT)
        am_short(handler, word);
    else if (kind == MEDIUM)
        am_medium(handler, word, source);
    else
        am_bulk(handler, word, source, bytes);
}

/* --- measurements ------------------------------------------------------------------------------------- */

ALWAYS_INLINE void send(int by, size_t bytes, uint32_t word) { am_send((enum kind)by, ADD, bytes, word); }

/* Until a handler has run. */
ALWAYS_INLINE void receive(int by, size_t bytes)
{
    (void)by, (void)bytes;
    while (!am_poll())
        wait_turn();
}

static const struct transport transport = {send, receive};

/* Rank 1's handler answers. */
ALWAYS_INLINE void round_trips(enum kind kind, size_t bytes, uint64_t trip[COUNT_MAX])
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            align(1);
            vary(i);
            uint64_t from = now();
            am_send(kind, (enum handler)(ECHO_SHORT + kind), bytes, i);
            receive(kind, bytes);
            trip[i] = now() - from;
        } else {
            align(0);
            receive(kind, bytes);
        }
    }
}

ALWAYS_INLINE void measure(enum kind kind, size_t bytes)
{
    static uint64_t trip[COUNT_MAX];
    meet();
    streaming(transport, kind, bytes); /* all places and slots have been used */
    meet();
    overheads(transport, kind, bytes);
    ping_pong(transport, kind, bytes);
    round_trips(kind, bytes, trip);
    streaming(transport, kind, bytes);
    uint32_t key = kind == SHORT ? 4 : kind == MEDIUM ? 4 + LINE_BYTES : (uint32_t)bytes;
    print_measured(names[kind], key);
    print_samples(names[kind], "trip", key, trip, nes.rank == 0 ? trips : 0);
}

int main(int argc, char **argv)
{
    open_nes();
    nes_one_poll_order(&nes, 0, (const uint16_t[]){WORK, NES_BASIC_NAME(0)}, 2);
    trips = read_count(argc, argv, 1);
    stream = read_count(argc, argv, 2);
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
