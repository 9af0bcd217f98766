/* A job beside which another one runs. Until so much time has passed on its clock, every rank but 0 does to rank 0 what
 * the argument says, but for `blocks` and `streams`:
 *
 *   compute   nothing: all ranks compute
 *   rest      the same, but rank 0 exits after a while
 *   leave     the same, but all ranks exit after a while
 *   flood     sends as fast as it can; rank 0 takes all that comes
 *   deaf      the same, but rank 0 computes and takes nothing
 *   exit      as with flood, but rank 0 exits after a while
 *   fault     as with flood, but rank 0 has a fault after a while
 *   abort     as with flood, but rank 0 aborts after a while
 *   block     has the NES move blocks to rank 0, which exits after a while
 *   short     the same, but blocks of 4 KiB, and rank 0 stays and takes their notices
 *   notices   the same of rank 1; of the others blocks without data, which are notices alone
 *   pages     the same of all, but of 64 bytes, each to a page that rank 0 has not touched
 *   long      has the NES move one block that takes it all the time
 *   away      the same as block, but to the last rank, which takes nothing, from all others
 *   full      sends the longest messages of Basic to the last rank, which takes nothing, from all others
 *   blocks    has the NES move short blocks all the time, from every rank to the next, rank 0 too
 *   streams   stores to line after line of more memory than the caches hold, rank 0 too
 *   looks     polls by OnePoll, in an order that names one queue as often as it can
 *   points    stores a pointer as fast as it can
 *   moves     moves a queue into its slot and out of it all the time
 *
 * Usage: neighbour HOW MICROSECONDS WHILE
 */
#include <chasqui/nes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct nes nes;
static _Alignas(64) uint64_t block[1 << 20];
static _Alignas(4096) char untouched[1 << 28];
static const char *how;
static unsigned moves;

static bool is(const char *name) { return strcmp(how, name) == 0; }

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void compute(void)
{
    for (volatile int i = 0; i < 200; i++)
        ;
}

/* By both kinds of queues, as many as fit. */
static void send(void)
{
    const uint32_t number = 1;
    for (int i = 0; i < 16; i++) {
        nes_express_send(&nes, 0, 0, 0, number);
        nes_basic_send(&nes, 0, &number, sizeof number);
    }
}

static void send_full(void)
{
    static const uint64_t words[11];
    for (int i = 0; nes.rank + 1 < nes.ranks && i < 8; i++)
        nes_basic_send(&nes, nes.ranks - 1, words, sizeof words);
}

static void take(void)
{
    uint64_t data[11];
    uint32_t source;
    for (int i = 0; i < 32; i++) {
        nes_express_receive(&nes, 0);
        nes_basic_receive(&nes, data, &source);
    }
}

static void move(uint32_t to, size_t bytes)
{
    const uint64_t notice[3] = {0};
    nes_dma_send(&nes, to, block, (uintptr_t)block, bytes, notice);
}

/* The ranks' pages alternate. */
static void move_to_page(void)
{
    static size_t count;
    const uint64_t notice[3] = {0};
    size_t page = count * nes.ranks + nes.rank;
    if (nes_dma_send(&nes, 0, block, (uintptr_t)&untouched[page * 4096 % sizeof untouched], 64, notice))
        count++;
}

/* From every rank to the next; the notice of one that has come is taken. */
static void pass_on(void)
{
    const uint64_t notice[3] = {0};
    nes_dma_send(&nes, (nes.rank + 1) % nes.ranks, block, (uintptr_t)block, 4096, notice);
    const struct chasqui_voyager_slot *oldest = nes_basic_oldest(&nes);
    if (oldest)
        nes_basic_release(&nes, oldest->bytes);
}

static void stream(void)
{
    static size_t next;
    for (int i = 0; i < 64; i++, next += 4)
        *(volatile uint64_t *)&block[next % (sizeof block / sizeof *block)] = 1;
}

static void look(void)
{
    for (int i = 0; i < 16; i++)
        nes_one_poll(&nes, 0);
}

static void point(void)
{
    for (int i = 0; i < 64; i++)
        *nes_pointer(&nes, CHASQUI_VOYAGER_RECEIVE_CONSUMER) = 0;
}

static void end(void)
{
    if (is("exit") || is("block") || is("rest") || is("leave"))
        exit(0);
    if (is("fault"))
        *(volatile int *)8 = 1;
    if (is("abort"))
        raise(SIGABRT);
}

static void step(void)
{
    if (is("compute") || is("rest") || is("leave") || (is("deaf") && nes.rank == 0) ||
        (is("away") && nes.rank + 1 == nes.ranks))
        compute();
    else if (is("away"))
        move(nes.ranks - 1, 65536);
    else if (is("blocks"))
        pass_on();
    else if (is("streams"))
        stream();
    else if (nes.rank == 0)
        take();
    else if (is("block"))
        move(0, 65536);
    else if (is("short"))
        move(0, 4096);
    else if (is("notices"))
        move(0, nes.rank == 1 ? 4096 : 0);
    else if (is("pages"))
        move_to_page();
    else if (is("long"))
        move(0, sizeof block);
    else if (is("looks"))
        look();
    else if (is("points"))
        point();
    else if (is("moves"))
        nes_system_migrate(&nes, CHASQUI_VOYAGER_EXPRESS_QUEUES, moves++ % 2);
    else
        send();
}

static bool is_known(void)
{
    static const char *const words[] = {"compute", "rest",   "leave",   "flood",   "deaf",   "exit", "fault",
                                        "abort",   "block",  "short",   "notices", "pages",  "long", "away",
                                        "full",    "blocks", "streams", "looks",   "points", "moves"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (is(words[i]))
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    how = argc == 4 ? argv[1] : "";
    if (!is_known() || !nes_open(&nes))
        return 2;
    uint16_t names[CHASQUI_VOYAGER_ONEPOLL_QUEUES];
    for (unsigned i = 0; i < CHASQUI_VOYAGER_ONEPOLL_QUEUES; i++)
        names[i] = CHASQUI_VOYAGER_EXPRESS_QUEUES;
    if (is("looks"))
        nes_one_poll_order(&nes, 0, names, CHASQUI_VOYAGER_ONEPOLL_QUEUES);
    const bool is_full = is("full"); /* apart: steps of the others take as long as without it */
    double begin = now_us(), until = begin + atoi(argv[2]), ends = begin + atoi(argv[3]);
    for (double now = begin; now < until; now = now_us()) {
        if ((nes.rank == 0 || is("leave")) && now >= ends)
            end();
        if (is_full)
            send_full();
        else
            step();
    }
    return 0;
}
