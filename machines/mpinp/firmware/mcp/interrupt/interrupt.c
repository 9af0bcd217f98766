/* Interrupts for processes that wait. The kernel stores to a word of the card's memory that its process waits for more than it
 * has seen, and then looks once more. So it is enough to look at the word when something has been written to the host: a
 * word that comes later comes before that look, which sees what was written.
 *
 * The kernel alone stores to the word, with a number for each wait: none is lost, and none has two interrupts. */
#include "mcp/interrupt/image.h"

#include "mcp/mcp.h"

static const volatile uint64_t *asked; /* by process */
static uint32_t answered[PROTOCOL_PROCESSES]; /* likewise: the word that had its interrupt last */
static uint32_t counted; /* process */

void interrupt_begin(void) { asked = at(np_load(CHASQUI_NP_SETTING_INTERRUPT) + CHASQUI_MPINP_INTERRUPT_ASKED); }

/* The process has something that it waits for, if it wants `wanted` too. */
static void interrupt(uint32_t process, uint32_t wanted)
{
    /* A word of the bus: of two one could be older. */
    uint32_t word = *(const volatile uint32_t *)&asked[process];
    if (word == 0 || word == answered[process] || (word & wanted) != wanted)
        return;
    answered[process] = word;
    np_store(CHASQUI_NP_INTERRUPT, process);
}

void interrupt_told(uint32_t process) { interrupt(process, 0); }

void interrupt_counts(uint32_t process) { counted = process; }

void interrupt_counted(void) { interrupt(counted, CHASQUI_MPINP_INTERRUPT_ROOM); }
