/* Zero copy (MPI-NP, section 3.5): the kernel pins what is sent or received, for each transfer anew (pessimistic pinning), and
 * names its pages to the card. Or they stay pinned (cache.c), where there is room. */
#include "host.h"
#include "mpi/runtime/error.h"

enum { PAGE = 4096, NO_MEMORY = -12, FAULT = -14 }; /* Linux include/uapi/asm-generic/errno-base.h */

static bool has_cache; /* pages stay pinned */

void mcp_pages_open(const struct chasqui_ni_identification *ni) { has_cache = mcp_cache_open(ni); }

/* Pages that can't be pinned are not there, or not to be written. As with a copy, the access is the process's fault. */
static void mcp_access(char *data, size_t bytes, bool is_written)
{
    for (char *end = data + bytes; data < end; data += PAGE - (uintptr_t)data % PAGE) {
        volatile char *at = data, value = *at;
        if (is_written)
            *at = value;
    }
    chq_die("mpinp: the kernel does not pin a buffer");
}

/* False: there are too few entries. */
static bool mcp_control(struct chasqui_mpinp_pin *pin, uint64_t request, const struct mcp_name *name)
{
    long result = mcp_card_control(request, (uint64_t)(uintptr_t)pin);
    if (unlikely(result == FAULT))
        mcp_access(name->data, name->bytes, name->kind != CHASQUI_MPINP_SEND);
    if (unlikely(result < 0 && result != NO_MEMORY))
        chq_die("mpinp: the kernel does not pin (ioctl)");
    return result >= 0;
}

bool mcp_pin(uint32_t number, uint32_t left)
{
    struct mcp_name *name = mcp_name_of(number);
    name->valid = 0;
    if (name->bytes == 0)
        return true;
    if (has_cache && mcp_cache_pin(name))
        return true;
    struct chasqui_mpinp_pin pin = {.address = (uint64_t)(uintptr_t)name->data,
                                    .bytes = name->bytes,
                                    .name = number,
                                    .flags = name->kind == CHASQUI_MPINP_SEND ? 0 : CHASQUI_MPINP_PIN_WRITE,
                                    .left = left};
    if (!mcp_control(&pin, CHASQUI_MPINP_CONTROL_PIN, name))
        return false;
    name->is_pinned = true;
    name->entry = pin.first;
    name->valid = pin.valid;
    return true;
}

void mcp_unpin(uint32_t number)
{
    if (mcp_name_of(number)->is_pinned)
        mcp_card_control(CHASQUI_MPINP_CONTROL_UNPIN, number);
    else if (mcp_name_of(number)->is_kept)
        mcp_cache_unpin(mcp_name_of(number));
}

void mcp_pin_more(uint32_t number, uint32_t done)
{
    struct mcp_name *name = mcp_name_of(number);
    struct chasqui_mpinp_pin pin = {.name = number, .left = done};
    mcp_control(&pin, CHASQUI_MPINP_CONTROL_PIN_MORE, name);
    name->valid = pin.valid;
    mcp_entries_owe(number);
}

void mcp_fill(struct chasqui_mpinp_request *request, uint32_t number)
{
    const struct mcp_name *name = mcp_name_of(number);
    request->name = (uint16_t)number;
    request->bytes = (uint32_t)name->bytes;
    request->entry = name->entry;
    if (name->is_in_window) {
        request->flags |= CHASQUI_MPINP_IN_WINDOW;
        return;
    }
    request->valid = (uint16_t)name->valid;
    request->offset = (uint32_t)((uintptr_t)name->data % PAGE);
    if (name->is_pinned && name->valid == 0)
        request->flags |= CHASQUI_MPINP_IN_PAGE;
    if (!name->is_kept)
        return;
    request->offset = mcp_cache_offset(name);
    request->flags |= name->is_found ? CHASQUI_MPINP_FOUND : 0;
}
