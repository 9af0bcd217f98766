/* Resident queues against those that the service processor serves: overheads, latency and stream from rank 0 to
 * rank 1 for each mechanism, with the queues of neither, one or both ranks served; then what it takes to move a queue
 * with messages in it. The ranks move their queues themselves, with the registers of system software
 * (voyager.sp.system).
 *
 * Usage: nonresident TRIPS STREAM
 */
#include "credits.h"
#include "measure.h"

enum { EXPRESS, TAG_48, BASIC_8, BASIC_88, MECHANISMS };
/* Which ranks' queues are served: a bit each. */
enum { PLACES = 4 };
enum { BASIC_NAME = NES_BASIC_NAME(0) };

static const char *const names[MECHANISMS] = {"express", "tag-48", "basic-8", "basic-88"};
static const size_t sizes[MECHANISMS] = {4, 52, 8, 88};
/* What goes into slots and places lies as it lies there, by eights; of Tag-On the first word goes in the header. */
static _Alignas(8) uint32_t source[24], target[24];
static inline bool is_basic(int by) { return by >= BASIC_8; }

static inline bool send_tagged(void)
{
    static unsigned next;
    unsigned place = next & (nes.tags - 1);
    if (nes.posted[WORK] - nes.sent[WORK] >= nes.tags && !nes_are_sent(&nes, WORK))
        return false;
    nes_copy(nes_tag_place(&nes, place), source + 2, sizes[TAG_48] - 4);
    nes_tag_composed(&nes, place, sizes[TAG_48] - 4);
    bool sent = nes_tag_send(&nes, WORK, 1 - nes.rank, 0, source[1], place, sizes[TAG_48] - 4, false);
    next += sent;
    return sent;
}

ALWAYS_INLINE void send(int by, size_t bytes, uint32_t word)
{
    (void)word;
    while (by == EXPRESS  ? !nes_express_send(&nes, WORK, 1 - nes.rank, 0, source[1])
           : by == TAG_48 ? !send_tagged()
                          : !post_basic(1 - nes.rank, source, bytes))
        nes_pause();
}

ALWAYS_INLINE bool take(int by, size_t bytes)
{
    if (is_basic(by))
        return take_basic(target, bytes);
    uint64_t message = nes_express_receive(&nes, WORK);
    if (message == NES_EMPTY)
        return false;
    target[1] = nes_value(message);
    if (by == TAG_48) {
        nes_copy(target + 2, nes_tag_data(&nes, message), bytes - 4);
        nes_tag_release(&nes, message, bytes - 4);
    }
    return true;
}

ALWAYS_INLINE void receive(int by, size_t bytes)
{
    while (!take(by, bytes))
        wait_turn();
}

static const struct transport transport = {send, receive};

/* The same with credits, for streams: what overruns a queue goes on to the firmware, more and more of it the longer a
 * stream is. */
ALWAYS_INLINE void send_counted(int by, size_t bytes, uint32_t word)
{
    use_credit(false);
    send(by, bytes, word);
}

ALWAYS_INLINE void receive_counted(int by, size_t bytes)
{
    receive(by, bytes);
    return_credit(false);
}

/* Long enough for a served Basic queue, whose messages come in bursts, which grow. */
enum { STREAM_MAX = 2048 };
static uint64_t streamed[STREAM_MAX];

ALWAYS_INLINE void stream_messages(int by, size_t bytes)
{
    uint32_t holds = is_basic(by) ? nes.receive.count : by == TAG_48 ? nes.tags : nes.express_slots;
    open_credits(2, holds / 2, stream);
    if (nes.rank == 1)
        tell(0);
    else
        await_token();
    for (unsigned i = 0; i < stream; i++) {
        if (nes.rank == 0)
            send_counted(by, bytes, i);
        else
            receive_counted(by, bytes);
        streamed[i] = now();
    }
    close_credits();
}

ALWAYS_INLINE void measure(int by, uint32_t place)
{
    const size_t bytes = sizes[by];
    memset(target, 0, sizeof target);
    meet();
    stream_messages(by, bytes); /* all places and slots have been used */
    meet();
    overheads(transport, by, bytes);
    ping_pong(transport, by, bytes);
    stream_messages(by, bytes);
    const unsigned first = is_basic(by) ? 0 : 1;
    if (nes.rank == 1 && memcmp(source + first, target + first, bytes) != 0)
        fail("the data came wrong");
    print_samples(names[by], "overhead", place, measured.overhead, trips);
    print_samples(names[by], "left", place, measured.left, trips);
    print_samples(names[by], "came", place, measured.came, trips);
    print_samples(names[by], "stream", place, streamed, stream);
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
    static uint64_t out[COUNT_MAX], back[COUNT_MAX];
    for (unsigned i = 0; i < trips; i++) {
        meet();
        for (uint32_t sent = 0; nes.rank == 0 && sent < waiting; sent++)
            send(by, sizes[by], 0);
        if (nes.rank == 0)
            continue;
        delay(3 * SETTLE);
        unsigned queue = is_basic(by) ? BASIC_NAME : WORK;
        out[i] = move(queue, false);
        delay(SETTLE);
        back[i] = move(queue, true);
        for (uint32_t taken = 0; taken < waiting; taken++)
            receive(by, sizes[by]);
    }
    print_samples(names[by], "leave", waiting, out, nes.rank == 1 ? trips : 0);
    print_samples(names[by], "enter", waiting, back, nes.rank == 1 ? trips : 0);
}

int main(int argc, char **argv)
{
    open_nes();
    trips = read_count(argc, argv, 1);
    stream = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (stream < 4 || stream > STREAM_MAX)
        fail("STREAM must be 4 to 2048");
    if (!nes.system)
        fail("system software's registers are closed: voyager.sp.system=true");
    for (unsigned i = 0; i < 24; i++)
        source[i] = 0x1000 + i;
    print_clock();
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
