/* Instructions by which the device orders its accesses to the NES, and takes lines out of the cache. */
#ifndef CHASQUI_VOYAGER_ORDERING_H
#define CHASQUI_VOYAGER_ORDERING_H

#include <stdint.h>

static inline void flush_line(const void *line)
{
    __asm__ volatile(".insn i 0x0f, 2, x0, %0, 2" : : "r"(line) : "memory"); /* cbo.flush */
}

/* Stores and flushes before, device stores after. */
static inline void fence_before_pointer(void) { __asm__ volatile("fence rw, o" : : : "memory"); }

/* `index`, but only once `pointer` has been read: loads through the result follow that load (RVWMO, address
 * dependency), without the cost of a fence. */
static inline uint32_t after(uint32_t index, uint32_t pointer)
{
    uint32_t zero;
    __asm__("xor %0, %1, %1" : "=r"(zero) : "r"(pointer));
    return index + zero;
}

#endif
