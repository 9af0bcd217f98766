/* Transfers that are longer than their entries reach, where a thread of the host's kernel has entries name further pages: it hears of
 * those that are done with by a word for each name, and answers there. No process writes to these words. */
#include "mcp/thread/image.h"

#include "mcp/mcp.h"

/* The card's half, and the kernel's: the first is entries that are done with, the other entries that have named pages, of all. */
static volatile struct {
    uint32_t done, valid;
} *words; /* by process and name */
static uint32_t awaited[PROTOCOL_PROCESSES][NAMES / 32], awaited_count; /* names that wait for an answer, a bit each */

void paged_begin(void) { words = at(np_load(CHASQUI_NP_SETTING_INTERRUPT) + CHASQUI_MPINP_PAGED); }

void paged_done(uint32_t request, uint32_t done)
{
    uint32_t process = request >> 8, name = request & 0xff, bit = 1u << name % 32;
    words[process * NAMES + name].done = done;
    awaited_count += !(awaited[process][name / 32] & bit);
    awaited[process][name / 32] |= bit;
    barrier();
    np_store(CHASQUI_NP_INTERRUPT, process);
}

static uint32_t answer_of(uint32_t request) { return words[(request >> 8) * NAMES + (request & 0xff)].valid; }

/* It waits no more; one that is over needs no entries. */
static bool is_answered(uint32_t request)
{
    const struct transfer *transfer = transfer_of(request);
    return !transfer->kind || (transfer->awaits_entries && answer_of(request) > transfer->valid);
}

static void go_on_with(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    uint32_t valid = answer_of(request);
    if (!transfer->kind)
        return;
    if (valid == CHASQUI_MPINP_PAGED_REFUSED) {
        /* Its process hears of it after all. */
        host_event(request >> 8, &(struct chasqui_mpinp_event){.kind = CHASQUI_MPINP_ENTRY_DONE,
                                                               .name = (uint16_t)(request & 0xff),
                                                               .entry = transfer->told});
        return;
    }
    transfer->awaits_entries = false;
    transfer->valid = valid;
    if (transfer->kind == CHASQUI_MPINP_SEND)
        send_go_on(request);
    else
        receive_go_on(request);
}

static void look(uint32_t process, uint32_t first, uint32_t *bits)
{
    for (uint32_t left = *bits; left; left &= left - 1) {
        uint32_t request = request_of(process, first + (uint32_t)__builtin_ctz(left));
        if (!is_answered(request))
            continue;
        *bits &= ~(left & -left);
        awaited_count--;
        go_on_with(request); /* It may have to wait again. */
    }
}

void paged_rung(void)
{
    for (uint32_t process = 0; awaited_count > 0 && process < process_count; process++)
        for (uint32_t i = 0; i < NAMES / 32 && !processes[process].is_refused; i++)
            look(process, i * 32, &awaited[process][i]);
}
