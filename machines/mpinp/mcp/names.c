/* What the card calls requests by, and their tables. */
#include "host.h"

static struct mcp_name names[CHASQUI_MPINP_NAMES];
static uint8_t unused[CHASQUI_MPINP_NAMES]; /* names that were used and are free: a stack */
static uint32_t unused_count, used_once;

/* Names with entries of which the card has yet to hear; some may have been given back since. */
#define OWING (2 * MCP_TABLE * CHASQUI_MPINP_NAMES)
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
    names[name].owed = 0;
    unused[unused_count++] = (uint8_t)name;
}

struct mcp_name *mcp_name_of(uint32_t name) { return &names[name]; }

static size_t mcp_entry_bytes(const struct mcp_name *name, size_t entry)
{
    size_t before = entry * MCP_PART, left = name->bytes > before ? name->bytes - before : 0;
    return left < MCP_PART ? left : MCP_PART;
}

bool mcp_table_take(struct mcp_name *name, enum mcp_memory memory, uint32_t left)
{
    name->address[1] = 0;
    name->address[0] = mcp_memory_take(memory, mcp_entry_bytes(name, 0), left);
    if (!name->address[0] || name->bytes <= MCP_PART)
        return name->address[0];
    name->address[1] = mcp_memory_take(memory, mcp_entry_bytes(name, 1), left);
    if (!name->address[1])
        mcp_memory_give(memory, name->address[0], mcp_entry_bytes(name, 0));
    return name->address[1];
}

void mcp_table_give(struct mcp_name *name, enum mcp_memory memory)
{
    mcp_memory_give(memory, name->address[0], mcp_entry_bytes(name, 0));
    if (name->address[1])
        mcp_memory_give(memory, name->address[1], mcp_entry_bytes(name, 1));
}

void mcp_entry_valid(uint32_t name)
{
    names[name].owed++;
    owing[owing_next++ % OWING] = (uint8_t)name;
    mcp_entries_post();
}

void mcp_entries_post(void)
{
    while (owing_first != owing_next && mcp_card_room() > 0) {
        uint32_t name = owing[owing_first++ % OWING];
        if (names[name].owed == 0)
            continue;
        names[name].owed--;
        struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_ENTRY, .name = (uint16_t)name};
        mcp_card_post(&request);
    }
}
