/* What the library asks of the operating system, by raw system calls, so that one archive links
 * with any C library. platform.c serves RISC-V Linux (and so the simulator); the tests that run
 * on the host bring their own. */
#ifndef CHASQUI_PLATFORM_H
#define CHASQUI_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#include "chasqui/abi.h"

/* From the C library. Declared here because only freestanding headers are included. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
void *malloc(size_t bytes);
void free(void *block);

/* Opens the NI and maps its identification page. Null: there is none; *ni_fd is then -1. */
const struct chasqui_ni_identification *chq_platform_open_ni(int *ni_fd);

/* Where the process is, and the others are. */
static inline const struct chasqui_ni_placement *chq_platform_placement(const struct chasqui_ni_identification *ni)
{
    return (const void *)((const char *)ni + CHASQUI_NI_PLACEMENT);
}

/* Maps `bytes` of the open NI at `offset`, shared, readable and writable. Null: refused. */
void *chq_platform_map(int ni_fd, uint64_t offset, size_t bytes);

/* ioctl() on the open NI: 0 or more, or less: an error, negative. */
long chq_platform_control(int ni_fd, uint64_t request, uint64_t argument);

void chq_platform_write(int fd, const void *text, size_t bytes);
_Noreturn void chq_platform_exit(int status);

/* Memory for a stack, mapped when touched, with a page without access below it. Null: there is none. */
void *chq_platform_stack(size_t bytes);

/* Gives the hart to other processes that can go on, if there are any. */
void chq_platform_yield(void);

/* Harts that this process may run threads on. */
unsigned chq_platform_harts(void);

/* Bounded copy of the host name; returns its length. */
size_t chq_platform_host_name(char *name, size_t bytes);

#if defined(__riscv)
/* Zihintpause: marks the head of a polling loop, which lets the simulator skip idle turns. */
static inline void chq_pause(void) { __asm__ volatile(".word 0x0100000f" : : : "memory"); }

static inline uint64_t chq_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("rdtime %0" : "=r"(ticks));
    return ticks;
}
/* A name of the calling thread, never 0: the thread pointer (RISC-V ELF psABI, register convention). */
static inline uintptr_t chq_thread_self(void)
{
    uintptr_t self;
    __asm__ volatile("mv %0, tp" : "=r"(self));
    return self;
}
#else
uintptr_t chq_thread_self(void);
void chq_pause(void);
uint64_t chq_ticks(void);
#endif

#endif
