/* One set of queues (voyager/onequeue): before another process's turn the network is drained and the queues are swapped,
 * on all sites together.
 *
 * 1. The turn is over, and what the process has sent has left. The sP sends a mark to every other site's. Paths are FIFO:
 *    when the marks of all others have come, so has every packet that they had sent.
 * 2. Then it sends a second mark to every other site. When those of all others have come, the network holds nothing of
 *    the process, nor does anybody wait for such.
 * 3. The process's queues go out of the hardware, the next one's into it, and that runs.
 *
 * First marks say which processes are alive, and whether a site did nothing but wait; so all sites choose the same
 * process, and know when none can go on.
 */
#include "firmware.h"

static enum { RUNNING, FIRST, SECOND } state;
static unsigned sites, here, current, idle_turns;
/* Marks go to the sites from `next_site` on. */
static unsigned next_site;
static uint64_t mark;
/* Of the marks that have come. A first one of the next turn comes only after all of this one's, and so do second ones:
 * their senders have waited for this site. */
static unsigned firsts, seconds;
static uint32_t live;
static bool is_idle = true;

void drain_begin(void)
{
    sites = nes_load(CHASQUI_SP_SETTING_SITES);
    here = nes_load(CHASQUI_SP_SETTING_SITE);
}

bool is_site(unsigned source) { return source < sites && source != here; }

static void begin_marks(uint64_t what, uint64_t word)
{
    mark = what << 32 | word;
    next_site = 0;
}

static bool marks_are_sent(void)
{
    for (; next_site < sites; next_site++) {
        if (next_site == here)
            continue;
        if (!own_has_room())
            return false;
        own_send(next_site, mark, 0);
    }
    return true;
}

/* The next process, in turn, that is alive somewhere. */
static unsigned next_process(uint32_t alive)
{
    unsigned processes = express_count / CHASQUI_VOYAGER_EXPRESS_QUEUES, next = current;
    do
        next = (next + 1) % processes;
    while (next != current && !(alive >> next & 1));
    return next;
}

static void turn(uint32_t alive, bool was_idle)
{
    unsigned next = next_process(alive);
    idle_turns = was_idle ? idle_turns + 1 : 0;
    bool is_last = (alive & (alive - 1)) == 0 || idle_turns > express_count / CHASQUI_VOYAGER_EXPRESS_QUEUES;
    if (next != current) {
        swap_out(current);
        swap_in(next);
    }
    current = next;
    nes_store(CHASQUI_SP_TURN, next | (is_last ? CHASQUI_SP_TURN_LAST : 0));
}

void drain_on(void)
{
    static uint32_t alive;
    static bool was_idle;
    if (state == FIRST && marks_are_sent() && firsts == sites - 1) {
        alive = live;
        was_idle = is_idle;
        firsts = 0;
        live = 0;
        is_idle = true;
        state = SECOND;
        begin_marks(CHASQUI_SP_MARK_SECOND, 0);
    }
    if (state == SECOND && marks_are_sent() && seconds == sites - 1) {
        seconds = 0;
        state = RUNNING;
        turn(alive, was_idle);
    }
}

void turn_is_over(void)
{
    uint64_t over = nes_load(CHASQUI_SP_TURN_OVER);
    bool idle = over & CHASQUI_SP_TURN_IDLE;
    live |= (uint32_t)over;
    is_idle &= idle;
    state = FIRST;
    begin_marks(idle ? CHASQUI_SP_MARK_IDLE : CHASQUI_SP_MARK_FIRST, (uint32_t)over);
    drain_on();
}

void first_mark(uint32_t their_live, bool idle)
{
    live |= their_live;
    is_idle &= idle;
    firsts++;
    drain_on();
}

void second_mark(void)
{
    seconds++;
    drain_on();
}
