/* Handlers of interrupts at user level, where a node has contexts for them (node.core.handler_contexts).
 *
 * A handler interrupts the program on its hart, in registers of its own, x, f and fcsr, which keep their values from one
 * interrupt to the next: it saves nothing. It is atomic, for the program and for other handlers, unless it lets those of
 * higher priority interrupt it: handlers_nest(). Lines of devices go to handlers by the node's interrupt controller
 * (chasqui/interrupts.h): the device's line n is source n + 1. With one process a node:
 *
 *     static struct handlers controller;
 *     static void work(void) { ... handlers_claim(&controller) ... handlers_complete(&controller, source) ... }
 *     CHASQUI_HANDLER(entry, work, 4096)
 *
 *     if (handlers_open(&controller))
 *         handlers_begin(&controller, entry), handlers_enable(&controller, source, priority);
 */
#ifndef CHASQUI_HANDLERS_H
#define CHASQUI_HANDLERS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chasqui/abi.h"
#include "chasqui/interrupts.h"

/* CSRs of extension N, by number: assemblers do not know them. */
#define CHASQUI_USTATUS 0x000
#define CHASQUI_UIE 0x004
#define CHASQUI_UTVEC 0x005
#define CHASQUI_USTATUS_UIE 1
#define CHASQUI_UIE_EXTERNAL 0x100

/* The controller as a process sees it. */
struct handlers {
    volatile uint32_t *registers;
    uint64_t context; /* user level of the first hart */
};

/* Contexts of a hart, at most. */
#define CHASQUI_HANDLER_CONTEXTS_MAX 7

/* `name` is where handlers begin: it calls `function`, which has no arguments, on a stack of so many `bytes`, a multiple of
 * 16, which each context takes when it is first used and keeps. */
#define CHASQUI_HANDLER(name, function, bytes)                                                            \
    static char name##_stacks[CHASQUI_HANDLER_CONTEXTS_MAX * (bytes)] __attribute__((used, aligned(16))); \
    static uint64_t name##_taken __attribute__((used));                                                   \
    void name(void);                                                                                      \
    __attribute__((naked, aligned(4))) void name(void)                                                    \
    {                                                                                                     \
        __asm__ volatile(                                                                                 \
            "bnez sp, 1f\n"                                                                               \
            ".option push\n"                                                                              \
            ".option norelax\n"                                                                           \
            "la gp, __global_pointer$\n"                                                                  \
            ".option pop\n"                                                                               \
            "la t0, " #name                                                                               \
            "_taken\n"                                                                                    \
            "li t1, %0\n"                                                                                 \
            "ld t2, (t0)\n"                                                                               \
            "add t2, t2, t1\n"                                                                            \
            "sd t2, (t0)\n"                                                                               \
            "la sp, " #name                                                                               \
            "_stacks\n"                                                                                   \
            "add sp, sp, t2\n"                                                                            \
            "1: call " #function                                                                          \
            "\n"                                                                                          \
            ".4byte 0x00200073" /* uret */                                                                \
            ::"i"(bytes));                                                                                \
    }

/* False: there is no controller to be had. */
static inline bool handlers_open(struct handlers *handlers)
{
    int file = open("/dev/ni1", O_RDWR);
    if (file < 0)
        return false;
    void *found = mmap(0, CHASQUI_INTERRUPTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, CHASQUI_NI_REGION_STRIDE);
    close(file);
    handlers->registers = (volatile uint32_t *)found;
    handlers->context = 1;
    return found != MAP_FAILED;
}

static inline volatile uint32_t *handlers_register(const struct handlers *handlers, uint64_t address)
{
    return handlers->registers + address / sizeof(uint32_t);
}

/* Of its context the register at `address`. */
static inline volatile uint32_t *handlers_own(const struct handlers *handlers, uint64_t address)
{
    return handlers_register(handlers, address + handlers->context * CHASQUI_INTERRUPTS_CONTEXT_STRIDE);
}

/* From now on interrupts enter `entry`. */
static inline void handlers_begin(const struct handlers *handlers, void (*entry)(void))
{
    *handlers_own(handlers, CHASQUI_INTERRUPTS_THRESHOLD) = 0;
    __asm__ volatile("csrw %0, %1" ::"i"(CHASQUI_UTVEC), "r"(entry) : "memory");
    __asm__ volatile("csrw %0, %1" ::"i"(CHASQUI_UIE), "r"(CHASQUI_UIE_EXTERNAL) : "memory");
    __asm__ volatile("csrsi %0, %1" ::"i"(CHASQUI_USTATUS), "i"(CHASQUI_USTATUS_UIE) : "memory");
}

/* The source interrupts, with a priority of 1 to 7; the kernel's level no more. */
static inline void handlers_enable(const struct handlers *handlers, uint32_t source, uint32_t priority)
{
    uint64_t words = CHASQUI_INTERRUPTS_ENABLE + source / 32 * 4;
    volatile uint32_t *supervisor = handlers_register(handlers, words);
    volatile uint32_t *own = handlers_register(handlers, words + handlers->context * CHASQUI_INTERRUPTS_ENABLE_STRIDE);
    *supervisor = *supervisor & ~(1u << source % 32);
    *handlers_register(handlers, CHASQUI_INTERRUPTS_PRIORITY + 4 * source) = priority;
    *own = *own | 1u << source % 32;
}

/* The source that has interrupted; 0: none any more. */
static inline uint32_t handlers_claim(const struct handlers *handlers)
{
    return *handlers_own(handlers, CHASQUI_INTERRUPTS_CLAIM);
}

static inline void handlers_complete(const struct handlers *handlers, uint32_t source)
{
    *handlers_own(handlers, CHASQUI_INTERRUPTS_CLAIM) = source;
}

/* In a handler: sources of higher priority than this may interrupt it from now on. */
static inline void handlers_nest(const struct handlers *handlers, uint32_t priority)
{
    volatile uint32_t *threshold = handlers_own(handlers, CHASQUI_INTERRUPTS_THRESHOLD);
    *threshold = priority;
    (void)*threshold; /* which waits for the store */
    __asm__ volatile("csrsi %0, %1" ::"i"(CHASQUI_USTATUS), "i"(CHASQUI_USTATUS_UIE) : "memory");
}

/* They may no longer; the threshold is what it was. */
static inline void handlers_unnest(const struct handlers *handlers, uint32_t before)
{
    __asm__ volatile("csrci %0, %1" ::"i"(CHASQUI_USTATUS), "i"(CHASQUI_USTATUS_UIE) : "memory");
    *handlers_own(handlers, CHASQUI_INTERRUPTS_THRESHOLD) = before;
}

#endif
