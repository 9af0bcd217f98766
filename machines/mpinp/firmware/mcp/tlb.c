/* A TLB: entries of the page table whose pages stay pinned, as they were fetched, each in the slot of its number.
 *
 * The kernel may change such an entry at any time, also while it is fetched. Then it stores to the stamp of the slot, after the
 * entry. So what a slot has counts while its stamp is what it was before the fetch. Whether a request may use the entry is
 * looked at anew each time (pages.c). */
#include "mcp.h"

static struct slot {
    uint32_t number; /* of the entry, or NONE */
    uint32_t stamp;
    struct chasqui_mpinp_entry entry;
} *slots;
_Static_assert(sizeof(struct slot) == CHASQUI_NP_TLB_BYTES, "what is kept free for each slot");
static uint32_t mask;
static const volatile uint64_t *stamps; /* by slot */
static uint32_t stamp; /* of the slot that was looked at last */

bool tlb_begin(char **heap)
{
    uint32_t count = (uint32_t)np_load(CHASQUI_NP_SETTING_TLB);
    slots = (struct slot *)(void *)*heap;
    *heap += count * sizeof *slots;
    mask = count - 1;
    stamps = at(np_load(CHASQUI_NP_SETTING_STAMPS));
    for (uint32_t i = 0; i < count; i++)
        slots[i].number = NONE;
    return count > 0;
}

const struct chasqui_mpinp_entry *tlb_find(uint32_t number)
{
    const struct slot *slot = &slots[number & mask];
    stamp = (uint32_t)stamps[number & mask];
    if (slot->number == number && slot->stamp == stamp) {
        MARK_COUNT(CHASQUI_NP_COUNT_TLB_HIT);
        return &slot->entry;
    }
    MARK_COUNT(CHASQUI_NP_COUNT_TLB_MISS);
    return NULL;
}

void tlb_fill(uint32_t number, const struct chasqui_mpinp_entry *entry)
{
    struct slot *slot = &slots[number & mask];
    if (!(entry->flags & CHASQUI_MPINP_ENTRY_KEPT))
        return;
    slot->number = number;
    slot->stamp = stamp;
    slot->entry = *entry;
}
