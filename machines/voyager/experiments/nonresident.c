/* Resident queues against those that the service processor serves: overheads, latency and stream from rank 0 to
 * rank 1 for each mechanism, with the queues of neither, one or both ranks served; then what it takes to move a queue
 * with messages in it. The ranks move their queues themselves, with the registers of system software
 * (voyager.sp.system).
 *
 * Usage: nonresident TRIPS STREAM
 */
#include "measure.h"

enum { EXPRESS, TAG_48, BASIC_8, BASIC_88, MECHANISMS };
/* Which ranks' queues are served: a bit each. */
enum { PLACES = 4 };
enum { COUNT_MAX = 64, SETTLE = 2000, BASIC_NAME = NES_BASIC_NAME(0) };

static const char *const names[MECHANISMS] = {"express", "tag-48", "basic-8", "basic-88"};
static const size_t bytes[MECHANISMS] = {4, 52, 8, 88};
static unsigned trips, stream;
/* What goes into slots and places lies as it lies there, by eights; of Tag-On the first word goes in the header. */
static _Alignas(8) uint32_t source[24], target[24];
static struct {
    uint64_t overhead[COUNT_MAX], left[COUNT_MAX], came[COUNT_MAX], streamed[COUNT_MAX];
    uint64_t leave[COUNT_MAX], enter[COUNT_MAX];
} result;

static inline bool is_basic(int by) { return by >= BASIC_8; }

static inline bool send_tagged(void)
{
    static unsigned next;
    unsigned place = next & (nes.tags.count - 1);
    if (nes.posted[WORK] - nes.sent[WORK] >= nes.tags.count && !nes_tags_are_sent(&nes))
        return false;
    memcpy(nes_tag_place(&nes, place), source + 2, bytes[TAG_48] - 4);
    nes_tag_composed(&nes, place, bytes[TAG_48] - 4);
    bool sent = nes_tag_send(&nes, 1, 0, source[1], place, bytes[TAG_48] - 4, false);
    next += sent;
    return sent;
}

static inline __attribute__((always_inline)) void send(int by)
{
    while (by == EXPRESS  ? !nes_express_send(&nes, WORK, 1, 0, source[1])
           : by == TAG_48 ? !send_tagged()
                          : !nes_basic_send(&nes, 1, source, bytes[by]))
        nes_pause();
}

static inline __attribute__((always_inline)) bool take(int by)
{
    uint32_t from;
    if (is_basic(by))
        return nes_basic_receive(&nes, target, &from) >= 0;
    uint64_t message = nes_express_receive(&nes, WORK);
    if (message == NES_EMPTY)
        return false;
    target[1] = nes_value(message);
    if (by == TAG_48) {
        memcpy(target + 2, nes_tag_data(&nes, message), bytes[by] - 4);
        nes_tag_release(&nes, bytes[by] - 4);
    }
    return true;
}

static inline __attribute__((always_inline)) void receive(int by)
{
    while (!take(by))
        nes_pause();
}

/* Rank 0 sends into queues that are idle; rank 1 takes what has been there for a while. */
static inline __attribute__((always_inline)) void overheads(int by)
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            await_token();
            delay(SETTLE);
            uint64_t from = now();
            send(by);
            result.overhead[i] = now() - from;
        } else {
            tell(0);
            delay(3 * SETTLE);
            uint64_t from = now();
            bool found = take(by);
            result.overhead[i] = now() - from;
            if (!found)
                fail("a message had not come when its reception was timed");
        }
    }
}

/* One way, at all moments of rank 1's loop. */
static inline __attribute__((always_inline)) void one_way(int by)
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            await_token();
            delay(SETTLE);
            vary(i);
            uint64_t from = now();
            send(by);
            result.left[i] = from;
        } else {
            tell(0);
            receive(by);
            result.came[i] = now();
        }
    }
}

static inline __attribute__((always_inline)) void streaming(int by)
{
    if (nes.rank == 1)
        tell(0);
    else
        await_token();
    for (unsigned i = 0; i < stream; i++) {
        if (nes.rank == 0)
            send(by);
        else
            receive(by);
        result.streamed[i] = now();
    }
}

static inline __attribute__((always_inline)) void measure(int by, uint32_t place)
{
    char name[32];
    memset(target, 0, sizeof target);
    meet();
    streaming(by); /* all places and slots have been used */
    meet();
    overheads(by);
    one_way(by);
    streaming(by);
    const unsigned first = is_basic(by) ? 0 : 1;
    if (nes.rank == 1 && memcmp(source + first, target + first, bytes[by]) != 0)
        fail("the data came wrong");
    const struct { const char *what; const uint64_t *samples; uint32_t count; } lines[] = {
        {"overhead", result.overhead, trips}, {"left", result.left, trips},
        {"came", result.came, trips},         {"stream", result.streamed, stream},
    };
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(name, sizeof name, "%s/%s", names[by], lines[i].what);
        print_samples(name, place, lines[i].samples, lines[i].count);
    }
}

/* Moves one of this rank's queues, which must be elsewhere, and says how long that took. */
static uint64_t move(unsigned queue, bool resident)
{
    static uint64_t moves;
    uint64_t from = now();
    uint64_t done = nes_system_migrate(&nes, queue, resident);
    uint64_t spent = now() - from;
    if (done != moves + 1)
        fail("a queue did not move");
    moves = done;
    return spent;
}

/* This rank's queues are served, or resident, from now on. */
static void move_all(bool resident)
{
    static bool are_served;
    if (are_served == !resident)
        return;
    are_served = !resident;
    move(WORK, resident);
    move(BASIC_NAME, resident);
}

/* Rank 1's queue goes out of the hardware and back, with `waiting` messages in it. */
static void move_to_and_fro(int by, uint32_t waiting)
{
    char name[32];
    for (unsigned i = 0; i < trips; i++) {
        meet();
        for (uint32_t sent = 0; nes.rank == 0 && sent < waiting; sent++)
            send(by);
        if (nes.rank == 0)
            continue;
        delay(3 * SETTLE);
        unsigned queue = is_basic(by) ? BASIC_NAME : WORK;
        result.leave[i] = move(queue, false);
        delay(SETTLE);
        result.enter[i] = move(queue, true);
        for (uint32_t taken = 0; taken < waiting; taken++)
            receive(by);
    }
    snprintf(name, sizeof name, "%s/leave", names[by]);
    print_samples(name, waiting, result.leave, nes.rank == 1 ? trips : 0);
    snprintf(name, sizeof name, "%s/enter", names[by]);
    print_samples(name, waiting, result.enter, nes.rank == 1 ? trips : 0);
}

/* Of two lines the last counts: its code is in the cache. */
static __attribute__((noinline)) void calibrate(void) { print_clock(); }

int main(int argc, char **argv)
{
    open_nes();
    trips = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
    stream = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (trips < 4 || trips > COUNT_MAX || stream < 4 || stream > COUNT_MAX || nes.ranks != 2 || !nes.system)
        fail("4 to 64 trips, 4 to 64 messages, 2 ranks, voyager.sp.system=true");
    for (unsigned i = 0; i < 24; i++)
        source[i] = 0x1000 + i;
    calibrate();
    calibrate();
    for (uint32_t place = 0; place < PLACES; place++) {
        move_all(!(place >> nes.rank & 1));
        measure(EXPRESS, place);
        measure(TAG_48, place);
        measure(BASIC_8, place);
        measure(BASIC_88, place);
    }
    move_all(true);
    for (uint32_t waiting = 0; waiting <= nes.express_slots; waiting += nes.express_slots / 4) {
        move_to_and_fro(EXPRESS, waiting);
        move_to_and_fro(BASIC_8, waiting);
    }
    return 0;
}
