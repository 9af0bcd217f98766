/* What the card calls requests by. */
#include "host.h"

static struct mcp_name names[CHASQUI_MPINP_NAMES];
static uint8_t unused[CHASQUI_MPINP_NAMES]; /* names that were used and are free: a stack */
static uint32_t unused_count, used_once;

/* Names with entries of which the card has yet to hear, each once or more; some may have been given back since. */
#define OWING (4 * CHASQUI_MPINP_NAMES)
static uint8_t owing[OWING];
static uint32_t owing_first, owing_next;

uint32_t mcp_names_left(void) { return unused_count + CHASQUI_MPINP_NAMES - used_once; }

uint32_t mcp_name_take(uint32_t left)
{
    if (mcp_names_left() <= left)
        return MCP_NONE;
    if (unused_count > 0)
        return unused[--unused_count];
    return used_once++;
}

void mcp_name_give(uint32_t name)
{
    names[name].kind = 0;
    names[name].is_owed = false;
    unused[unused_count++] = (uint8_t)name;
}

struct mcp_name *mcp_name_of(uint32_t name) { return &names[name]; }

void mcp_entries_owe(uint32_t name)
{
    names[name].is_owed = true;
    owing[owing_next++ % OWING] = (uint8_t)name;
    mcp_entries_post();
}

void mcp_entries_post(void)
{
    while (owing_first != owing_next && mcp_card_room() > 0) {
        uint32_t name = owing[owing_first++ % OWING];
        if (!names[name].is_owed)
            continue;
        names[name].is_owed = false;
        struct chasqui_mpinp_request request = {
            .kind = CHASQUI_MPINP_ENTRY, .name = (uint16_t)name, .bytes = names[name].valid};
        mcp_card_post(&request);
    }
}
