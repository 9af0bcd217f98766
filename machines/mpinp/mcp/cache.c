/* Pages that stay pinned after a transfer, for the next ones (M. Tezuka, F. O'Carroll, A. Hori, Y. Ishikawa: Pin-down Cache: A
 * Virtual Memory Management Technique for Zero-copy Communication. IPPS 1998). Some of the process's entries name memory in
 * blocks; what they name, and which was used least recently, is kept here, so that a transfer from or to pages that are
 * pinned takes no system call. The kernel fills entries (kernel/cache.c), and says in `pinned` which pages are there: memory
 * that the process gives up is in no entry, and is found missing here.
 *
 * Blocks that a transfer uses keep their entries. Where too many are in use, or data are longer than all these entries reach,
 * the transfer has its pages pinned for itself (pages.c). */
#include "host.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"

enum { PAGE = 4096, NO_BLOCK = 0 };
#define NOT UINT32_MAX

/* An entry, by its number among those that name blocks. */
struct block {
    uint64_t key; /* which it names, and whether the card may write; or NO_BLOCK */
    uint32_t users; /* transfers */
    uint32_t next; /* with the same hash */
    uint32_t older, newer; /* of those without users */
    bool is_new; /* the kernel has yet to hear what it names */
};

static struct block *blocks;
static uint32_t *buckets, bucket_mask;
static volatile uint8_t *pinned; /* pages, by entry: the kernel's */
static uint32_t *asked; /* entries of a transfer */
static uint32_t limit, used_once; /* entries: all, and those that have named a block */
static uint32_t oldest = NOT, newest = NOT; /* without users */
static uint32_t first_number; /* among all entries */
static unsigned block_log; /* bytes of a block */

bool mcp_cache_open(const struct chasqui_ni_identification *ni)
{
    limit = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_KEPT];
    if (limit == 0)
        return false;
    uint32_t count = 1;
    while (count < limit)
        count *= 2;
    while ((PAGE * ni->settings[CHASQUI_MPINP_SETTING_ENTRY_PAGES]) >> block_log != 1)
        block_log++;
    blocks = chq_malloc(limit * sizeof *blocks);
    asked = chq_malloc(limit * sizeof *asked);
    buckets = chq_malloc(count * sizeof *buckets);
    for (uint32_t i = 0; i < count; i++)
        buckets[i] = NOT;
    bucket_mask = count - 1;
    uint8_t *bytes = chq_malloc(limit);
    memset(bytes, 0, limit);
    pinned = bytes;
    long first = mcp_card_control(CHASQUI_MPINP_CONTROL_KEEP_OPEN, (uint64_t)(uintptr_t)bytes);
    if (first < 0)
        chq_die("mpinp: the kernel has no memory for what stays pinned (node.software.kernel_memory)");
    first_number = (uint32_t)first;
    return true;
}

/* --- blocks ------------------------------------------------------------------------------------------------- */

static uint64_t mcp_key(uint64_t number, bool is_written) { return (number << 1 | is_written) + 1; }

static uint32_t *mcp_bucket(uint64_t key) { return &buckets[(key ^ key >> 12) & bucket_mask]; }

/* The entry that names it, or NOT. */
static uint32_t mcp_find(uint64_t key)
{
    uint32_t entry = *mcp_bucket(key);
    while (entry != NOT && blocks[entry].key != key)
        entry = blocks[entry].next;
    return entry;
}

static void mcp_forget(uint32_t entry)
{
    uint32_t *link = mcp_bucket(blocks[entry].key);
    while (*link != entry)
        link = &blocks[*link].next;
    *link = blocks[entry].next;
    blocks[entry].key = NO_BLOCK;
}

/* It has no users: as the one that was used last, or as the first to be taken. */
static void mcp_idle(uint32_t entry, bool is_first)
{
    struct block *block = &blocks[entry];
    block->older = is_first ? NOT : newest;
    block->newer = is_first ? oldest : NOT;
    *(block->older == NOT ? &oldest : &blocks[block->older].newer) = entry;
    *(block->newer == NOT ? &newest : &blocks[block->newer].older) = entry;
}

static void mcp_use(uint32_t entry)
{
    struct block *block = &blocks[entry];
    if (block->users++ > 0)
        return;
    *(block->older == NOT ? &oldest : &blocks[block->older].newer) = block->newer;
    *(block->newer == NOT ? &newest : &blocks[block->newer].older) = block->older;
}

/* An entry for a block that has none, used; NOT: all are in use. */
static uint32_t mcp_assign(uint64_t key)
{
    if (used_once < limit) {
        blocks[used_once] = (struct block){.key = NO_BLOCK};
        mcp_idle(used_once++, true);
    }
    uint32_t entry = oldest;
    if (entry == NOT)
        return NOT;
    mcp_use(entry);
    struct block *block = &blocks[entry];
    if (block->key != NO_BLOCK)
        mcp_forget(entry);
    block->key = key;
    block->is_new = true;
    block->next = *mcp_bucket(key);
    *mcp_bucket(key) = entry;
    return entry;
}

/* --- what a transfer takes ------------------------------------------------------------------------------------ */

/* Blocks in which a name's data lie. */
struct span {
    uint64_t first, last;
};

static struct span mcp_span(const struct mcp_name *name)
{
    uint64_t address = (uint64_t)(uintptr_t)name->data;
    return (struct span){address >> block_log, (address + name->bytes - 1) >> block_log};
}

/* Pages of the block that have some of the data, a bit each. */
static uint8_t mcp_pages(const struct mcp_name *name, uint64_t block)
{
    uint64_t from = (uint64_t)(uintptr_t)name->data, to = from + name->bytes - 1, begin = block << block_log;
    unsigned count = (1u << block_log) / PAGE;
    unsigned first = from > begin ? (unsigned)(from - begin) / PAGE : 0;
    unsigned last = (to >> block_log) > block ? count - 1 : (unsigned)(to - begin) / PAGE;
    return (uint8_t)((2u << last) - (1u << first));
}

/* All pages are pinned, with this right. */
static bool mcp_is_found(const struct mcp_name *name, struct span span, bool is_written)
{
    for (uint64_t block = span.first; block <= span.last; block++) {
        uint32_t entry = mcp_find(mcp_key(block, is_written));
        if (entry == NOT || blocks[entry].is_new || mcp_pages(name, block) & ~pinned[entry])
            return false;
    }
    return true;
}

/* The first blocks are not used by this transfer any more; what the kernel has not heard of is forgotten. */
static void mcp_release(struct span span, uint64_t end, bool is_written)
{
    for (uint64_t number = span.first; number < end; number++) {
        uint32_t entry = mcp_find(mcp_key(number, is_written));
        struct block *block = &blocks[entry];
        if (--block->users > 0)
            continue;
        mcp_idle(entry, block->is_new);
        if (block->is_new)
            mcp_forget(entry);
    }
}

/* Has the kernel pin what is not. False: too many entries are in use, or some page can't be. */
static bool mcp_keep(const struct mcp_name *name, struct span span, bool is_written)
{
    for (uint64_t block = span.first; block <= span.last; block++) {
        uint64_t key = mcp_key(block, is_written);
        uint32_t entry = mcp_find(key);
        if (entry != NOT)
            mcp_use(entry);
        else
            entry = mcp_assign(key);
        if (entry == NOT) {
            mcp_release(span, block, is_written);
            return false;
        }
        asked[block - span.first] = entry;
    }
    struct chasqui_mpinp_keep keep = {.address = (uint64_t)(uintptr_t)name->data,
                                      .bytes = name->bytes,
                                      .entries = (uint64_t)(uintptr_t)asked,
                                      .flags = is_written ? CHASQUI_MPINP_PIN_WRITE : 0};
    if (mcp_card_control(CHASQUI_MPINP_CONTROL_KEEP, (uint64_t)(uintptr_t)&keep) < 0) {
        mcp_release(span, span.last + 1, is_written);
        return false;
    }
    for (uint64_t block = span.first; block <= span.last; block++)
        blocks[asked[block - span.first]].is_new = false;
    return true;
}

bool mcp_cache_pin(struct mcp_name *name)
{
    struct span span = mcp_span(name);
    if (span.last - span.first >= limit)
        return false;
    bool is_written = name->kind != CHASQUI_MPINP_SEND;
    bool is_found = mcp_is_found(name, span, is_written);
    if (!is_found && !is_written)
        is_found = is_written = mcp_is_found(name, span, true); /* What it may write it may read. */
    if (!is_found && !mcp_keep(name, span, is_written))
        return false;
    for (uint64_t block = span.first; is_found && block <= span.last; block++)
        mcp_use(mcp_find(mcp_key(block, is_written)));
    name->is_kept = true;
    name->is_found = is_found;
    name->is_written = is_written;
    name->entry = first_number + mcp_find(mcp_key(span.first, is_written));
    name->valid = (uint32_t)(span.last - span.first + 1);
    return true;
}

void mcp_cache_unpin(const struct mcp_name *name)
{
    struct span span = mcp_span(name);
    mcp_release(span, span.last + 1, name->is_written);
}

uint32_t mcp_cache_offset(const struct mcp_name *name)
{
    return (uint32_t)((uintptr_t)name->data & ((1u << block_log) - 1));
}
