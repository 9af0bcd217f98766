/* The kernel agent of MPI-NP: what its parts share. */
#ifndef MPINP_AGENT_H
#define MPINP_AGENT_H

#include "kernel.h"
#include "registers.h"

static inline uint64_t setting(unsigned number) { return boot.ni.settings[number]; }

static inline volatile struct chasqui_mpinp_entry *entry_at(uint32_t number)
{
    return of_physical(setting(CHASQUI_MPINP_SETTING_PAGE_TABLE) + number * sizeof(struct chasqui_mpinp_entry));
}

/* The number among all entries of the process's first. */
static inline uint32_t entries_begin(void) { return (uint32_t)(process_here * setting(CHASQUI_MPINP_SETTING_ENTRIES)); }

static inline uint64_t bytes_of_entry(void) { return setting(CHASQUI_MPINP_SETTING_ENTRY_PAGES) * PAGE_BYTES; }

/* --- cache.c: pages that stay pinned --- */

int64_t cache_open(uint64_t argument);
int64_t cache_keep(uint64_t argument);
void cache_unmapped(uint64_t address, uint64_t bytes);
void cache_end(void);

/* --- interrupt/wait.c: processes that sleep until the card interrupts (BY_INTERRUPT) --- */

#ifdef BY_INTERRUPT
#define AGENT_INTERRUPT wait_interrupt
static inline bool agent_serves(uint32_t device) { return device == CHASQUI_MPINP_WAKE_DEVICE; }
int64_t wait_control(uint64_t request, uint64_t argument);
void wait_interrupt(void);
#else
#define AGENT_INTERRUPT 0 /* there is none */
_Static_assert(CHASQUI_MPINP_MCP_DEVICE == CHASQUI_MPINP_DEVICE + 1 &&
                   CHASQUI_MPINP_TAGS_DEVICE == CHASQUI_MPINP_DEVICE + 2,
               "one comparison");
static inline bool agent_serves(uint32_t device)
{
    return device - CHASQUI_MPINP_DEVICE <= CHASQUI_MPINP_TAGS_DEVICE - CHASQUI_MPINP_DEVICE;
}
static inline int64_t wait_control(uint64_t request, uint64_t argument)
{
    (void)request, (void)argument;
    return -ENOTTY;
}
#endif

#endif
