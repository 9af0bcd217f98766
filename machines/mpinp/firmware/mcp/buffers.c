/* Receive buffers: each table has as many units, which are lists; a message takes units where they are. The paper has a
 * heap, first-fit, in which messages may be in pieces as well. */
#include "mcp.h"

static char *memory;
static uint16_t *next; /* of each unit */
static uint16_t free_first[TABLES];

void buffers_begin(char *from, char *to, unsigned tables)
{
    uint32_t each = (uint32_t)(to - from) / tables / (UNIT + sizeof *next);
    unit_count = least(each, (uint32_t)np_load(CHASQUI_NP_SETTING_BUFFER) / UNIT);
    check(each >= 4608 / UNIT); /* CHASQUI_NP_CHANNEL_BYTES */
    next = (uint16_t *)(void *)from;
    from += tables * unit_count * sizeof *next;
    memory = (char *)(((uintptr_t)from + 7) & ~(uintptr_t)7);
    for (unsigned i = 0; i < tables * unit_count; i++)
        next[i] = (uint16_t)(i + 1);
    for (unsigned i = 0; i < tables; i++)
        free_first[i] = (uint16_t)(i * unit_count);
}

unsigned buffer_take(unsigned table, uint32_t bytes)
{
    unsigned first = free_first[table], unit = first;
    for (; bytes > UNIT; bytes -= UNIT)
        unit = next[unit];
    if (bytes > 0)
        free_first[table] = next[unit];
    return first;
}

void buffer_give(unsigned table, unsigned first, uint32_t bytes)
{
    unsigned unit = first;
    if (bytes == 0)
        return;
    for (; bytes > UNIT; bytes -= UNIT)
        unit = next[unit];
    next[unit] = free_first[table];
    free_first[table] = (uint16_t)first;
}

char *buffer_run(unsigned *unit, uint32_t bytes, uint32_t *run)
{
    unsigned first = *unit, last = first;
    uint32_t length = UNIT;
    for (; length < bytes && next[last] == last + 1; length += UNIT)
        last++;
    *run = least(length, bytes);
    *unit = next[last];
    return memory + (size_t)first * UNIT;
}
