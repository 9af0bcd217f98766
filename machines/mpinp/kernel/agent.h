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

#if defined BY_INTERRUPT
#define AGENT_INTERRUPT wait_interrupt
static inline bool agent_serves(uint32_t device) { return device == CHASQUI_MPINP_WAKE_DEVICE; }
int64_t wait_control(uint64_t request, uint64_t argument);
void wait_interrupt(void);
#else
#ifdef BY_THREAD
#define AGENT_INTERRUPT pager_interrupt
#else
#define AGENT_INTERRUPT 0 /* there is none */
#endif
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

/* --- thread/pager.c: a thread for each process that pins further pages (BY_THREAD) --- */

#ifdef BY_THREAD
void pager_begin(void); /* of the process here, with its first call */
void pager_clear(uint32_t name); /* of the process here: what the card said of it was about another transfer */
void pager_interrupt(void);

/* agent.c: data of the name lie behind those that its entries have named. */
bool agent_has_more(uint64_t process, uint32_t name);
/* Of the process here: its first `done` entries, of all, are done with. Entries that have named pages now, of all; 0: no more than
 * before; PAGED_REFUSED: there are no pages that they can name. */
uint32_t agent_pin_more(uint32_t name, uint32_t done);
#else
static inline void pager_begin(void) {}
static inline void pager_clear(uint32_t name) { (void)name; }
#endif

#endif
