/* OnePoll against polling queues in turn: rank 1 watches the first 1, 2, … 64 of its receive queues, those of
 * Express and then Basic's, for messages from rank 0.
 *
 * Rank 0 sends all Basic messages by one transmit queue, which the destination table leads to any receive queue.
 *
 * Usage: onepoll
 */
#include "measure.h"

enum { EXPRESS = CHASQUI_VOYAGER_EXPRESS_QUEUES, QUEUES_MAX = CHASQUI_VOYAGER_ONEPOLL_QUEUES };
enum { SAMPLES_MAX = 4 * QUEUES_MAX };
enum method { IN_TURN, ONE_POLL };

static const char *const names[] = {"in-turn", "onepoll"};
/* How many queues are watched: 3 is the first Basic one, 10 are the resident ones of a site. */
static const unsigned counts[] = {1, 2, 3, 4, 8, 10, 16, 32, 64};
static struct nes basic[QUEUES_MAX];

/* One look at each of the first `count` queues, until one has a message: takes it, Basic's apart. */
static inline bool look_in_turn(unsigned count)
{
    const volatile uint64_t *queue = (const volatile uint64_t *)nes.express_receive;
    const volatile uint64_t *end = queue + (count < EXPRESS ? count : EXPRESS);
    while (queue < end)
        if (*queue++ != NES_EMPTY)
            return true;
    for (unsigned i = 0; i + EXPRESS < count; i++)
        if (*nes_pointer(&basic[i], CHASQUI_VOYAGER_RECEIVE_PRODUCER) != basic[i].receive.consumed)
            return true;
    return false;
}

static inline bool look(enum method method, unsigned count)
{
    return method == IN_TURN ? look_in_turn(count) : nes_one_poll(&nes, 0) != NES_EMPTY;
}

/* Basic's message is taken when it has been timed. */
static void clear(unsigned queue)
{
    uint32_t data[CHASQUI_VOYAGER_SLOT_DATA_BYTES / 4], from;
    if (queue >= EXPRESS && nes_basic_receive(&basic[queue - EXPRESS], data, &from) < 0)
        fail("Basic's message was not there");
}

/* Before a message's time begins. */
static void aim(unsigned queue)
{
    if (queue >= EXPRESS)
        nes_system_connect(&nes, NES_BASIC_NAME(0), 1, 1, queue, 0);
}

static void send(unsigned queue)
{
    const uint32_t data[2] = {queue};
    while (queue >= EXPRESS ? !nes_basic_send(&nes, 1, data, sizeof data) : !nes_express_send(&nes, queue, 1, 0, queue))
        nes_pause();
}

static struct {
    uint64_t empty[SAMPLES_MAX], found[SAMPLES_MAX], left[SAMPLES_MAX], came[SAMPLES_MAX];
} result;

/* Rank 1 looks when there is nothing, then when a message has been there for a while; of each queue as often. */
static void looks(enum method method, unsigned count, unsigned samples)
{
    for (unsigned i = 0; i < samples; i++) {
        if (nes.rank == 0) {
            await_token();
            aim(i % count);
            send(i % count);
            continue;
        }
        uint64_t from = now();
        bool early = look(method, count);
        result.empty[i] = now() - from;
        tell(0);
        delay(3 * SETTLE);
        from = now();
        bool found = look(method, count);
        result.found[i] = now() - from;
        if (early || !found)
            fail("a message came too early or too late");
        clear(i % count);
    }
}

/* One way, at all moments of rank 1's loop, until rank 1 knows of the message. */
static void one_way(enum method method, unsigned count, unsigned samples)
{
    for (unsigned i = 0; i < samples; i++) {
        if (nes.rank == 0) {
            await_token();
            aim(i % count);
            delay(SETTLE);
            vary(i);
            delay(i * 2503 % 4096); /* the longest turn of rank 1's loop is some 8,000 cycles */
            uint64_t from = now();
            send(i % count);
            result.left[i] = from;
        } else {
            tell(0);
            while (!look(method, count))
                nes_pause();
            result.came[i] = now();
            clear(i % count);
        }
    }
}

ALWAYS_INLINE void measure(enum method method, unsigned count)
{
    /* Of each queue as many, also when the first quarter is left out. */
    unsigned samples = 4 * count * (count < 16 ? 16 / count : 1);
    meet(); /* one may have taken longer to print */
    looks(method, count, samples);
    one_way(method, count, samples);
    print_samples(names[method], "empty", count, result.empty, samples);
    print_samples(names[method], "found", count, result.found, samples);
    print_samples(names[method], "left", count, result.left, samples);
    print_samples(names[method], "came", count, result.came, samples);
}

static void watch_queues(void)
{
    uint16_t order[QUEUES_MAX];
    unsigned queues = EXPRESS + nes.basic_queues;
    if (queues != QUEUES_MAX || !nes.system)
        fail("voyager.queues.basic must be 62, voyager.sp.system true");
    for (unsigned i = 0; i < nes.basic_queues; i++)
        basic[i] = nes_basic_queue(&nes, i);
    for (unsigned name = 0; name < queues; name++)
        order[name] = (uint16_t)name;
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        nes_one_poll_order(&nes, 0, order, counts[i]);
        measure(IN_TURN, counts[i]);
        measure(ONE_POLL, counts[i]);
    }
}

int main(void)
{
    open_nes();
    print_clock();
    watch_queues();
    return 0;
}
