/* Where a request's data are in the host's memory: in pages, which the kernel has named in entries of a table there that no
 * process can write. An entry is fetched when data that it names move next, and stays with its request until another does.
 * What lies in one page needs none: the kernel has said it to the card. */
#include "mcp.h"

static struct chasqui_mpinp_entry fetched;
static uint32_t fetched_for, fetched_entry; /* request; which of its message's */
static uint32_t fetched_number; /* in the table */
static uint64_t table; /* physical address */
static uint32_t entries, entry_pages,
    entry_log; /* entries of all processes; pages of each; bytes of that, as a power of two */
static volatile uint64_t *pinned; /* by process and name */
static bool has_tlb;

char *pages_begin(char *heap)
{
    table = np_load(CHASQUI_NP_SETTING_PAGE_TABLE);
    entry_pages = (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRY_PAGES);
    entries = (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRIES) * process_count;
    pinned = at(np_load(CHASQUI_NP_SETTING_PINNED));
    entry_log = 12;
    while (PAGE * entry_pages >> entry_log != 1)
        entry_log++;
    has_tlb = tlb_begin(&heap);
    return heap;
}

/* --- what a request may name --- */

/* The card's word for the name says where the data are, and that it may write there. */
static bool take_page(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    uint64_t word = pinned[kernel_number(process) * NAMES + request->name];
    bool is_written = request->kind != CHASQUI_MPINP_SEND;
    transfer->offset = word % PAGE;
    transfer->entry = 0;
    transfer->pages[0] = (uint32_t)((word & ~CHASQUI_MPINP_PINNED_WRITE) / PAGE);
    transfer->valid = 1;
    return word && (!is_written || word & CHASQUI_MPINP_PINNED_WRITE) && request->bytes <= PAGE - transfer->offset;
}

bool pages_take(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    transfer->entry = NONE;
    if (request->bytes == 0)
        return true;
    if (request->flags & CHASQUI_MPINP_IN_PAGE)
        return take_page(process, transfer, request);
    if (request->flags & CHASQUI_MPINP_FOUND)
        MARK_COUNT(CHASQUI_NP_COUNT_FOUND);
    transfer->offset = request->offset % (PAGE * CHASQUI_MPINP_ENTRY_PAGES_MAX);
    transfer->first = request->entry;
    transfer->entry_count = transfer->valid = request->valid;
    return request->entry < entries && parts_valid(transfer) > 0;
}

/* --- where data are --- */

static enum place go_nowhere(uint32_t request, struct transfer *transfer)
{
    if (!transfer->is_void)
        refuse(request >> 8, CHASQUI_NP_FAULT_ENTRY);
    transfer->is_void = true;
    return NOWHERE;
}

/* An entry is here, which is that number of the request's: it may use it, and knows what it names. */
static inline bool use_entry(uint32_t request, uint32_t number, const struct chasqui_mpinp_entry *entry)
{
    struct transfer *transfer = transfer_of(request);
    bool is_written = transfer->kind != CHASQUI_MPINP_SEND;
    if (entry->owner != kernel_number(request >> 8) + 1 || entry->next >= entries ||
        (is_written && !(entry->flags & CHASQUI_MPINP_ENTRY_WRITE))) {
        go_nowhere(request, transfer);
        return false;
    }
    transfer->entry = number;
    transfer->next_entry = entry->next;
    for (uint32_t i = 0; i < entry_pages; i++)
        transfer->pages[i] = entry->pages[i];
    return true;
}

/* The next entry on the way to the one that is `wanted`, from where the request is: they are linked one way. Which part of the
 * message an entry is for is counted from its first on. */
static inline void choose_entry(const struct transfer *transfer, uint32_t wanted)
{
    bool is_ahead = transfer->entry != NONE && wanted > transfer->entry;
    fetched_number = is_ahead ? transfer->next_entry : transfer->first;
    fetched_entry = is_ahead ? transfer->entry + 1 : 0;
}

static inline enum place fetch_entry(uint32_t request, uint64_t *address, uint32_t *bytes)
{
    fetched_for = request;
    *address = table + fetched_number * sizeof fetched;
    *bytes = sizeof fetched;
    return LATER;
}

/* pages_find, where entries may be in the TLB. */
static SELDOM enum place find_entry(uint32_t request, uint32_t offset, uint64_t *address, uint32_t *bytes,
                                    uint32_t wanted)
{
    struct transfer *transfer = transfer_of(request);
    while (wanted != transfer->entry) {
        choose_entry(transfer, wanted);
        const struct chasqui_mpinp_entry *entry = tlb_find(fetched_number);
        if (!entry)
            return fetch_entry(request, address, bytes);
        if (!use_entry(request, fetched_entry, entry))
            return NOWHERE;
    }
    return pages_find(request, offset, address, bytes);
}

enum place pages_find(uint32_t request, uint32_t offset, uint64_t *address, uint32_t *bytes)
{
    struct transfer *transfer = transfer_of(request);
    uint64_t from = (uint64_t)transfer->offset + offset;
    uint32_t entry = (uint32_t)(from >> entry_log), page = (uint32_t)(from / PAGE) & (entry_pages - 1);
    if (transfer->is_void)
        return NOWHERE;
    if (entry != transfer->entry) {
        if (has_tlb)
            return find_entry(request, offset, address, bytes, entry);
        choose_entry(transfer, entry);
        return fetch_entry(request, address, bytes);
    }
    if (!transfer->pages[page])
        return go_nowhere(request, transfer);
    *address = (uint64_t)transfer->pages[page] * PAGE | from % PAGE;
    *bytes = least(*bytes, PAGE - (uint32_t)(from % PAGE));
    return HERE;
}

void *pages_entry(void) { return &fetched; }

void pages_came(void)
{
    if (use_entry(fetched_for, fetched_entry, &fetched) && has_tlb)
        tlb_fill(fetched_number, &fetched);
}

/* --- messages that are longer than their entries reach --- */

uint32_t parts_valid(const struct transfer *transfer)
{
    uint64_t reach = (uint64_t)transfer->valid << entry_log;
    if (reach >= (uint64_t)transfer->offset + transfer->bytes)
        return parts_of(transfer->bytes);
    return reach > transfer->offset ? (uint32_t)(reach - transfer->offset) / PART : 0;
}

/* When half of the ring is done, or nothing more can be. */
void pages_done(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    uint32_t reach = parts_valid(transfer);
    if (reach >= transfer->parts || transfer->awaits_entries)
        return;
    uint32_t done = (uint32_t)(((uint64_t)transfer->offset + transfer->done * PART) >> entry_log);
    if (done == transfer->told || ((done - transfer->told) * 2 < transfer->entry_count && transfer->done < reach))
        return;
    transfer->awaits_entries = true;
    transfer->told = done;
#ifdef BY_THREAD
    paged_done(request, done);
#else
    struct chasqui_mpinp_event event = {
        .kind = CHASQUI_MPINP_ENTRY_DONE, .name = (uint16_t)(request & 0xff), .entry = done};
    host_event(request >> 8, &event);
#endif
}
