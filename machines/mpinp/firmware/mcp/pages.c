/* Where a request's data are in the host's memory: in pages, which the kernel has named in entries of a table there that no
 * process can write. An entry is fetched when data that it names move next, and stays with its request until another does.
 * What lies in one page needs none: the kernel has said it to the card. */
#include "mcp.h"

static struct chasqui_mpinp_entry fetched;
static uint32_t fetched_for, fetched_entry; /* request; which of its message's */
static uint64_t table; /* physical address */
static uint32_t entries, entry_pages,
    entry_log; /* entries of all processes; pages of each; bytes of that, as a power of two */
static volatile uint64_t *pinned; /* by process and name */

void pages_begin(void)
{
    table = np_load(CHASQUI_NP_SETTING_PAGE_TABLE);
    entry_pages = (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRY_PAGES);
    entries = (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRIES) * process_count;
    pinned = at(np_load(CHASQUI_NP_SETTING_PINNED));
    entry_log = 12;
    while (PAGE * entry_pages >> entry_log != 1)
        entry_log++;
}

/* --- what a request may name --- */

/* The card's word for the name says where the data are, and that it may write there. */
static bool take_page(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    uint64_t word = pinned[process * NAMES + request->name];
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
    transfer->offset = request->offset % PAGE;
    transfer->first = request->entry;
    transfer->entry_count = transfer->valid = request->valid;
    return request->entry < entries && parts_valid(transfer) > 0;
}

/* --- where data are --- */

/* Which part of the message an entry is for is counted from its first on. */
static void fetch_entry(uint32_t request, struct transfer *transfer, uint32_t wanted, uint64_t *address)
{
    bool is_ahead = transfer->entry != NONE && wanted > transfer->entry;
    uint32_t number = is_ahead ? transfer->next_entry : transfer->first;
    fetched_for = request;
    fetched_entry = is_ahead ? transfer->entry + 1 : 0;
    *address = table + number * sizeof fetched;
}

static enum place go_nowhere(uint32_t request, struct transfer *transfer)
{
    if (!transfer->is_void)
        refuse(request >> 8, CHASQUI_NP_FAULT_ENTRY);
    transfer->is_void = true;
    return NOWHERE;
}

enum place pages_find(uint32_t request, uint32_t offset, uint64_t *address, uint32_t *bytes)
{
    struct transfer *transfer = transfer_of(request);
    uint64_t from = (uint64_t)transfer->offset + offset;
    uint32_t entry = (uint32_t)(from >> entry_log), page = (uint32_t)(from / PAGE) & (entry_pages - 1);
    if (transfer->is_void)
        return NOWHERE;
    if (entry != transfer->entry) {
        fetch_entry(request, transfer, entry, address);
        *bytes = sizeof fetched;
        return LATER;
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
    struct transfer *transfer = transfer_of(fetched_for);
    bool is_written = transfer->kind != CHASQUI_MPINP_SEND;
    if (fetched.owner != (fetched_for >> 8) + 1 || fetched.next >= entries ||
        (is_written && !(fetched.flags & CHASQUI_MPINP_ENTRY_WRITE))) {
        go_nowhere(fetched_for, transfer);
        return;
    }
    transfer->entry = fetched_entry;
    transfer->next_entry = fetched.next;
    for (uint32_t i = 0; i < entry_pages; i++)
        transfer->pages[i] = fetched.pages[i];
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
    struct chasqui_mpinp_event event = {
        .kind = CHASQUI_MPINP_ENTRY_DONE, .name = (uint16_t)(request & 0xff), .entry = done};
    host_event(request >> 8, &event);
}
