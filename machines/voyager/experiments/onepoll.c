/* OnePoll against polling queues in turn: rank 1 watches the first 1, 2, … of its receive queues, those of
 * Express and then Basic's, for messages from rank 0.
 *
 * Usage: onepoll TRIPS
 */
#include "measure.h"

enum { QUEUES = CHASQUI_VOYAGER_EXPRESS_QUEUES + 1, BASIC = QUEUES - 1 };
enum method { IN_TURN, ONE_POLL };

static const char *const names[] = {"in-turn", "onepoll"};

static inline bool basic_came(void)
{
    return *nes_pointer(&nes, CHASQUI_VOYAGER_RECEIVE_PRODUCER) != nes.receive.consumed;
}

/* One look at each of the first `count` queues, until one has a message: takes it, Basic's apart. */
static inline bool look_in_turn(unsigned count)
{
    const volatile uint64_t *queue = (const volatile uint64_t *)nes.express_receive;
    const volatile uint64_t *end = queue + (count < BASIC ? count : BASIC);
    while (queue < end)
        if (*queue++ != NES_EMPTY)
            return true;
    return count > BASIC && basic_came();
}

static inline bool look(enum method method, unsigned count)
{
    return method == IN_TURN ? look_in_turn(count) : nes_one_poll(&nes, (1u << count) - 1) != NES_EMPTY;
}

/* Basic's message is taken when it has been timed. */
static void clear(unsigned queue)
{
    uint32_t data[CHASQUI_VOYAGER_SLOT_DATA_BYTES / 4], from;
    if (queue == BASIC && nes_basic_receive(&nes, data, &from) < 0)
        fail("Basic's message was not there");
}

static void send(unsigned queue)
{
    const uint32_t data[2] = {queue};
    while (queue == BASIC ? !nes_basic_send(&nes, 1, data, sizeof data)
                          : !nes_express_send(&nes, queue, 1, 0, queue))
        nes_pause();
}

static struct {
    uint64_t empty[COUNT_MAX], found[COUNT_MAX], left[COUNT_MAX], came[COUNT_MAX];
} result;

/* Rank 1 looks when there is nothing, then when a message has been there for a while; of each queue as often. */
static void looks(enum method method, unsigned count)
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            await_token();
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
static void one_way(enum method method, unsigned count)
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            await_token();
            delay(SETTLE);
            vary(i);
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
    looks(method, count);
    one_way(method, count);
    print_samples(names[method], "empty", count, result.empty, trips);
    print_samples(names[method], "found", count, result.found, trips);
    print_samples(names[method], "left", count, result.left, trips);
    print_samples(names[method], "came", count, result.came, trips);
}

int main(int argc, char **argv)
{
    open_nes();
    trips = read_count(argc, argv, 1);
    print_clock();
    for (unsigned count = 1; count <= QUEUES; count++) {
        measure(IN_TURN, count);
        measure(ONE_POLL, count);
    }
    return 0;
}
