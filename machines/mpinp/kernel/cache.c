/* Pages that stay pinned after a transfer, for the next ones (M. Tezuka, F. O'Carroll, A. Hori, Y. Ishikawa: Pin-down Cache: A
 * Virtual Memory Management Technique for Zero-copy Communication. IPPS 1998). The process's library decides which entries
 * name what, and finds them again without a system call (mcp/cache.c). Here they are filled, and emptied when the process gives
 * memory up: then its pages are in no entry any more before they are in no page table.
 *
 * An entry names a block: pages from a multiple of their length on, for reading, or for writing too. Of a block those pages are
 * named that some transfer has wanted, and a byte of the process's memory says which, so that it sees what is gone. */
#include "agent.h"

#define NONE UINT32_MAX

/* An entry, by its number among those of the process that stay pinned. */
struct kept {
    uint64_t key; /* of the block that it names, or 0 */
    uint32_t next; /* with the same hash */
};

/* Of the process. */
static struct blocks {
    struct kept *kept;
    uint32_t *first; /* by hash */
    uint32_t count, mask;
    uint64_t shown; /* address in the process */
} caches[PROCESSES];
#define cache (caches[process_here])

static uint64_t *stamps; /* of the TLB's slots, as the card has them */

/* Blocks have one for each right. */
static uint64_t key_of(uint64_t block, bool is_written) { return (block << 1 | is_written) + 1; }

static uint32_t *bucket_of(uint64_t key) { return &cache.first[(key ^ key >> 12) & cache.mask]; }

static uint32_t find(uint64_t key)
{
    uint32_t number = *bucket_of(key);
    while (number != NONE && cache.kept[number].key != key)
        number = cache.kept[number].next;
    return number;
}

static volatile struct chasqui_mpinp_entry *entry_of(uint32_t number) { return entry_at(entries_begin() + number); }

/* The entry has changed: what the card holds of it does not count any more. It sees this after the entry. */
static void card_forgets(uint32_t number)
{
    uint64_t slots = setting(CHASQUI_MPINP_SETTING_TLB), slot = (entries_begin() + number) & (slots - 1);
    if (slots == 0)
        return;
    __asm__ volatile("fence w, o" : : : "memory");
    ni_store(setting(CHASQUI_MPINP_SETTING_STAMPS) + slot * sizeof *stamps, ++stamps[slot]);
}

static int64_t show(uint32_t number)
{
    uint8_t pages = 0;
    for (unsigned i = 0; i < setting(CHASQUI_MPINP_SETTING_ENTRY_PAGES); i++)
        pages |= (uint8_t)((entry_of(number)->pages[i] != 0) << i);
    return copy_to_user(cache.shown + number, &pages, sizeof pages);
}

/* --- entries that name blocks ------------------------------------------------------------------------------- */

static void take_out(uint32_t number)
{
    uint32_t *link = bucket_of(cache.kept[number].key);
    while (*link != number)
        link = &cache.kept[*link].next;
    *link = cache.kept[number].next;
}

/* The entry names nothing. */
static void drop(uint32_t number)
{
    entry_of(number)->owner = 0;
    take_out(number);
    cache.kept[number].key = 0;
    card_forgets(number);
}

/* The entry names this block from now on, and none of its pages. True: it named another. */
static bool begin_block(uint32_t number, uint64_t key)
{
    struct kept *kept = &cache.kept[number];
    volatile struct chasqui_mpinp_entry *entry = entry_of(number);
    bool is_evicted = kept->key;
    entry->owner = 0;
    __asm__ volatile("fence w, w" : : : "memory"); /* The card may look at it, if the process is wrong. */
    for (unsigned i = 0; i < CHASQUI_MPINP_ENTRY_PAGES_MAX; i++)
        entry->pages[i] = 0;
    if (is_evicted)
        take_out(number);
    kept->key = key;
    kept->next = *bucket_of(key);
    *bucket_of(key) = number;
    return is_evicted;
}

/* The pages of a block that are wanted: those that are there, and, for the card to write, that the process may write. */
static bool name_pages(uint32_t number, uint64_t block, const struct chasqui_mpinp_keep *asked)
{
    volatile struct chasqui_mpinp_entry *entry = entry_of(number);
    uint64_t page = block * bytes_of_entry(), end = asked->address + asked->bytes;
    for (unsigned i = 0; i < setting(CHASQUI_MPINP_SETTING_ENTRY_PAGES); i++, page += PAGE_BYTES) {
        if (entry->pages[i] || page + PAGE_BYTES <= asked->address || page >= end)
            continue;
        uint64_t physical = user_physical(page, asked->flags & CHASQUI_MPINP_PIN_WRITE);
        if (!physical)
            return false;
        entry->pages[i] = (uint32_t)(physical / PAGE_BYTES);
    }
    return true;
}

/* Entries of neighbours name each other, whichever came first. */
static void link_block(uint32_t number)
{
    uint64_t key = cache.kept[number].key, each = key_of(1, false) - key_of(0, false);
    uint32_t before = key > each ? find(key - each) : NONE, after = find(key + each);
    entry_of(number)->next = entries_begin() + (after == NONE ? number : after);
    if (before == NONE || entry_of(before)->next == entries_begin() + number)
        return;
    entry_of(before)->next = entries_begin() + number;
    card_forgets(before);
}

/* Below 0: an error. Else 1, if the entry named another block. */
static int64_t keep_block(uint32_t number, uint64_t block, const struct chasqui_mpinp_keep *asked)
{
    bool is_written = asked->flags & CHASQUI_MPINP_PIN_WRITE;
    uint64_t key = key_of(block, is_written);
    if (number >= cache.count)
        return -EINVAL;
    uint32_t other = find(key);
    if (other != number && other != NONE)
        drop(other); /* The process has forgotten that, as some other page could not be pinned. */
    volatile struct chasqui_mpinp_entry *entry = entry_of(number);
    bool is_evicted = cache.kept[number].key != key && begin_block(number, key);
    bool is_there = name_pages(number, block, asked);
    entry->flags = (uint16_t)(CHASQUI_MPINP_ENTRY_KEPT | (is_written ? CHASQUI_MPINP_ENTRY_WRITE : 0));
    link_block(number);
    __asm__ volatile("fence w, w" : : : "memory");
    entry->owner = (uint16_t)(process_here + 1);
    card_forgets(number);
    int64_t result = show(number);
    return result ? result : is_there ? is_evicted : -EFAULT;
}

int64_t cache_keep(uint64_t argument)
{
    struct chasqui_mpinp_keep asked;
    if (copy_from_user(&asked, argument, sizeof asked))
        return -EFAULT;
    if (!cache.kept || asked.bytes == 0 || asked.address + asked.bytes < asked.address)
        return -EINVAL;
    uint64_t first = asked.address / bytes_of_entry(), last = (asked.address + asked.bytes - 1) / bytes_of_entry();
    int64_t result = 0;
    uint64_t evicted = 0;
    for (uint64_t block = first; block <= last && result >= 0; block++) {
        uint32_t number;
        if (copy_from_user(&number, asked.entries + (block - first) * sizeof number, sizeof number))
            return -EFAULT;
        result = keep_block(number, block, &asked);
        evicted += result == 1;
    }
    ni_store(setting(CHASQUI_MPINP_SETTING_COUNT), evicted);
    return result < 0 ? result : 0;
}

/* --- the process's beginning and end -------------------------------------------------------------------------- */

/* One for all processes of the node. */
SELDOM static bool begin_stamps(void)
{
    size_t bytes = setting(CHASQUI_MPINP_SETTING_TLB) * sizeof *stamps;
    if (stamps || bytes == 0)
        return true;
    stamps = memory_try(bytes);
    if (stamps)
        memory_clear(stamps, bytes);
    return stamps;
}

int64_t cache_open(uint64_t argument)
{
    uint32_t count = (uint32_t)setting(CHASQUI_MPINP_SETTING_KEPT), buckets = 1;
    if (count == 0 || cache.kept)
        return -EINVAL;
    while (buckets < count)
        buckets *= 2;
    struct kept *kept = memory_take_for(process_here, count * sizeof *kept);
    uint32_t *first = memory_take_for(process_here, buckets * sizeof *first);
    if (!kept || !first || !begin_stamps())
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        kept[i].key = 0;
    for (uint32_t i = 0; i < buckets; i++)
        first[i] = NONE;
    cache = (struct blocks){.kept = kept, .first = first, .count = count, .mask = buckets - 1, .shown = argument};
    return entries_begin();
}

void cache_end(void)
{
    for (uint32_t number = 0; number < cache.count; number++) {
        if (cache.kept[number].key == 0)
            continue;
        entry_of(number)->owner = 0;
        card_forgets(number);
    }
}

/* --- memory that the process gives up ------------------------------------------------------------------------- */

/* Pages of an entry are gone from `address` on, up to `end`. */
static void make_void(uint32_t number, uint64_t address, uint64_t end)
{
    volatile struct chasqui_mpinp_entry *entry = entry_of(number);
    uint64_t page = ((cache.kept[number].key - 1) >> 1) * bytes_of_entry();
    bool is_changed = false;
    for (unsigned i = 0; i < setting(CHASQUI_MPINP_SETTING_ENTRY_PAGES); i++, page += PAGE_BYTES) {
        if (page < address || page >= end || !entry->pages[i])
            continue;
        entry->pages[i] = 0;
        is_changed = true;
    }
    if (!is_changed)
        return;
    card_forgets(number);
    show(number); /* If that is gone the process does not look there. */
}

void cache_unmapped(uint64_t address, uint64_t bytes)
{
    uint64_t end = (address + bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    address = (address + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1); /* A heap's last page stays. */
    if (cache.count == 0 || end <= address)
        return;
    uint64_t first = address / bytes_of_entry(), last = (end - 1) / bytes_of_entry();
    if (last - first >= cache.count) {
        for (uint32_t number = 0; number < cache.count; number++)
            if (cache.kept[number].key)
                make_void(number, address, end);
        return;
    }
    for (uint64_t key = key_of(first, false); key <= key_of(last, true); key++) {
        uint32_t number = find(key);
        if (number != NONE)
            make_void(number, address, end);
    }
}
