/* What the driver's parts share: SPEs, and their registers. */
#ifndef CELL_SPE_H
#define CELL_SPE_H

#include "kernel.h"
#include "registers.h"

enum { SPES_MAX = 8 };
/* Bits of a page-table entry (Sv39). */
enum { VALID = 1, READ = 2, WRITE = 4, EXECUTE = 8 };

struct spe {
    bool is_taken;
    bool keeps;     /* what it does wrong is the program's affair */
    bool has_fault; /* for the thread */
    bool has_stopped, has_wrong_command, has_error;
    bool is_stuck;   /* at a wrong command, until it is purged */
    uint64_t wanted; /* interrupts of class 2 that somebody waits for, beside its stops */
    uint64_t uses;   /* times that it was given back: whoever waits for an earlier use is told */
    uint64_t process;
    /* Of a rank (rank.c): by page of the local store its virtual address, 0: it is free; who runs it; and what it said. */
    uint64_t *pages;
    struct queue rank;
    struct chasqui_cell_move move;
};

extern struct spe spes[SPES_MAX];

static inline uint64_t setting(unsigned number) { return boot.ni.settings[number]; }

static inline uint64_t count(void) { return setting(CHASQUI_CELL_SETTING_SPES); }

/* --- registers --- */

static inline uint64_t at(uint64_t spe, unsigned area)
{
    return spe * setting(CHASQUI_CELL_SETTING_STRIDE) + setting(area);
}

static inline volatile uint32_t *problem(uint64_t spe, uint64_t offset)
{
    return (volatile uint32_t *)(CHASQUI_KERNEL_DEVICE + at(spe, CHASQUI_CELL_SETTING_PROBLEM) + offset);
}

static inline uint64_t privileged(uint64_t spe, uint64_t offset)
{
    return at(spe, CHASQUI_CELL_SETTING_PRIVILEGED) + offset;
}

static inline uint64_t hypervisor(uint64_t spe, uint64_t offset)
{
    return at(spe, CHASQUI_CELL_SETTING_HYPERVISOR) + offset;
}

/* Of its processor. */
static inline uint64_t core(uint64_t spe, uint64_t offset)
{
    return CHASQUI_CELL_CHIP + CHASQUI_CELL_CORE + spe * CHASQUI_CELL_CORE_BYTES + offset;
}

/* A register is set behind what has been stored to memory. */
static inline void set(uint64_t address, uint64_t value)
{
    __asm__ volatile("fence w, o" : : : "memory");
    ni_store(address, value);
}

static inline void set_problem(uint64_t spe, uint64_t offset, uint32_t value)
{
    __asm__ volatile("fence w, o" : : : "memory");
    *problem(spe, offset) = value;
}

/* --- spe.c --- */

uint64_t entry_of(uint64_t address);         /* of a page of the process; 0: it is not there */
bool bring(uint64_t address, bool write);    /* the page there is there, and may be used so */
void serve_fault(uint64_t number);           /* of its MFC, for its process, which is here */
void take_number(uint64_t number);           /* an SPE that nobody has */

/* --- rank.c --- */

int64_t rank_move(uint64_t argument);
void rank_unmapped(uint64_t number, uint64_t first, uint64_t end);

#endif
