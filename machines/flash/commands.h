/* Commands to a controller, for programs (chasqui/block_transfer.h) and for the MPI device: what needs no C library. */
#ifndef CHASQUI_FLASH_COMMANDS_H
#define CHASQUI_FLASH_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registers.h"

/* The registers of the controllers, as this process sees them. */
static volatile uint64_t *chasqui_transfer_registers;

static inline void chasqui_transfer_set(uint64_t offset, uint64_t value)
{
    chasqui_transfer_registers[offset / sizeof(uint64_t)] = value;
}

/* The command itself, after all that was stored before. */
static inline void chasqui_transfer_command(uint64_t command)
{
    __asm__ volatile("fence rw, o" ::: "memory");
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_START, command);
}

/* What became of this processor's latest command. */
static inline uint64_t chasqui_transfer_answer(void)
{
    __asm__ volatile("fence o, i" ::: "memory");
    return chasqui_transfer_registers[CHASQUI_FLASH_TRANSFER_ANSWER / sizeof(uint64_t)];
}

/* Other processes of the job may send into `bytes` bytes from `landing` on: the number of that right, which they must be told.
 * 0: the controller has no room for another. Pages that are not there when they are sent to are no place to send to. */
static inline uint64_t chasqui_transfer_grant(void *landing, size_t bytes)
{
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_DESTINATION, (uintptr_t)landing);
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_BYTES, bytes);
    chasqui_transfer_command(CHASQUI_FLASH_TRANSFER_GRANT);
    return chasqui_transfer_answer();
}

/* Takes it back. Transfers that have begun end. */
static inline void chasqui_transfer_revoke(uint64_t right)
{
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_RIGHT, right);
    chasqui_transfer_command(CHASQUI_FLASH_TRANSFER_REVOKE);
}

/* `bytes` from `source`, at this node, to `destination`, at another, where that is this process's, with `right` 0, or another's
 * who has given that right; then `*flag` is 1. False: it can't be, and nothing happens. */
static inline bool chasqui_transfer_try(uint64_t right, void *destination, const void *source, size_t bytes,
                                        volatile uint64_t *flag)
{
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_SOURCE, (uintptr_t)source);
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_DESTINATION, (uintptr_t)destination);
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_BYTES, bytes);
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_FLAG, (uintptr_t)flag);
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_RIGHT, right);
    chasqui_transfer_command(CHASQUI_FLASH_TRANSFER_SEND | CHASQUI_FLASH_TRANSFER_TRY);
    return chasqui_transfer_answer() != 0;
}

/* Whether the flag has come to `value`, and the data are there. */
static inline bool chasqui_transfer_done(const volatile uint64_t *flag, uint64_t value)
{
    bool done = *flag >= value;
    __asm__ volatile("fence r, rw" ::: "memory");
    return done;
}

#endif
