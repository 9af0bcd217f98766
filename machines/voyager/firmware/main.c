/* The firmware's loop. */
#include "firmware.h"

#define ALL (~0ull)

/* Kinds of events that are not taken now. */
static uint64_t unwanted;

static void want(uint64_t kind, bool wanted)
{
    uint64_t bit = 1ull << kind, before = unwanted;
    unwanted = wanted ? unwanted & ~bit : unwanted | bit;
    if (unwanted != before)
        nes_store(CHASQUI_SP_MASK, ALL & ~unwanted);
}

static void serve(uint64_t event)
{
    unsigned name = event >> 32 & 0xffff;
    switch (event & 0xff) {
    case CHASQUI_SP_KIND_ACCESS:
        if (serve_access(event >> 8 & 0xff, event >> 16 & 0xff, name) == LATER)
            want(CHASQUI_SP_KIND_ACCESS, false);
        break;
    case CHASQUI_SP_KIND_MISS:
        serve_miss(name);
        break;
    case CHASQUI_SP_KIND_ROOM:
        serve_room(name);
        break;
    case CHASQUI_SP_KIND_LAUNCHED:
        launched();
        want(CHASQUI_SP_KIND_ACCESS, true);
        break;
    case CHASQUI_SP_KIND_QUIET:
        quiet();
        want(CHASQUI_SP_KIND_ACCESS, true);
        break;
    }
}

/* An access that waits for the launcher comes first. */
static bool access_waits(void) { return unwanted >> CHASQUI_SP_KIND_ACCESS & 1; }

void _start(void)
{
    queues_begin();
    bool access_is_next = false;
    for (;;) {
        uint64_t event = nes_load(CHASQUI_SP_EVENT);
        bool waited = access_waits();
        serve(event);
        access_is_next = access_is_next ? (event & 0xff) != CHASQUI_SP_KIND_ACCESS : waited && !access_waits();
        if (!access_is_next && !access_waits())
            launch_next();
        want(CHASQUI_SP_KIND_MISS, messages_are_left(1));
    }
}
