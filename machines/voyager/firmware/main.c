/* The firmware's loop. */
#include "firmware.h"

/* Kinds of events that are not taken now. */
static uint64_t unwanted;

static bool is_wanted(uint64_t kind) { return !(unwanted >> kind & 1); }

static void want(uint64_t kind, bool wanted)
{
    if (is_wanted(kind) == wanted)
        return;
    unwanted ^= 1ull << kind;
    nes_store(CHASQUI_SP_MASK, ~unwanted);
}

void look_for_accesses(void) { want(CHASQUI_SP_KIND_ACCESS, true); }

void look_for_room(void) { want(CHASQUI_SP_KIND_LEFT, true); }

static void serve(uint64_t event)
{
    unsigned name = event >> 32 & 0xffff;
    switch (event & 0xff) {
    case CHASQUI_SP_KIND_ACCESS: want(CHASQUI_SP_KIND_ACCESS, serve_access(event >> 8 & 0xff, name) == DONE); break;
    case CHASQUI_SP_KIND_MISS: serve_miss(name, event >> 8 & 0xffffff, event >> 48); break;
    case CHASQUI_SP_KIND_ROOM: serve_room(name); break;
    case CHASQUI_SP_KIND_LAUNCHED:
        /* Where both wait, rings and accesses go in turn. */
        if (!launched())
            launch_next();
        want(CHASQUI_SP_KIND_ACCESS, true);
        break;
    case CHASQUI_SP_KIND_MESSAGE: serve_own(event >> 8 & 0xffffff); break;
    case CHASQUI_SP_KIND_LEFT:
        want(CHASQUI_SP_KIND_LEFT, false);
        own_left();
        drain_on();
        break;
    case CHASQUI_SP_KIND_TURN: turn_is_over(); break;
    case CHASQUI_SP_KIND_OVER: forget(name); break;
    case CHASQUI_SP_KIND_QUIESCENT:
        quiescent();
        want(CHASQUI_SP_KIND_ACCESS, true);
        break;
    }
}

void _start(void)
{
    queues_begin();
    own_begin();
    drain_begin();
    hold_begin();
    for (;;) {
        uint64_t event = nes_load(CHASQUI_SP_EVENT);
        bool access_waited = !is_wanted(CHASQUI_SP_KIND_ACCESS);
        serve(event);
        /* An access that waited for the launcher is the next event, before another message of a ring. */
        if (!access_waited && is_wanted(CHASQUI_SP_KIND_ACCESS))
            launch_next();
        bool has_memory = another_may_come();
        want(CHASQUI_SP_KIND_MISS, has_memory);
        want(CHASQUI_SP_KIND_MESSAGE, has_memory);
    }
}
