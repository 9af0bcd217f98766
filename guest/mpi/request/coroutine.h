/* Coroutines: functions of the library that wait without holding up the process. Each has a stack of
 * its own. Where it would spin for a request (chq_request_spin) it yields; the thread that looks at the
 * network next resumes it once the request is complete. So one text of an algorithm serves the
 * blocking and the nonblocking collective.
 *
 * While there is a coroutine, `chq.poll` is a function that resumes those that are ready after the
 * look at the network, never within an upcall; without one nothing costs anything.
 */
#ifndef CHASQUI_COROUTINE_H
#define CHASQUI_COROUTINE_H

#include <stddef.h>

struct request;

/* Bytes of a stack. Enough for the library and for a program's reduction function of ordinary needs;
 * a page without access below it turns an overflow into a fault. */
enum { COROUTINE_STACK_BYTES = 64 * 1024 };

struct coroutine {
    void *stack_pointer;    /* Where it goes on. */
    struct request *awaits; /* It goes on when this is complete; null: it has ended. */
    struct coroutine *next; /* Of those that wait, in the order of their starts; or of the free ones. */
    void (*body)(void *room);
    void *room;
    void *stack; /* Lowest address. */
    void *fake;  /* The address sanitizer's. */
};

/* A coroutine that will run body(room), with `bytes` of room for its arguments at its stack's top. */
struct coroutine *chq_coroutine_new(void (*body)(void *room), size_t bytes);

/* Runs it until it first waits, or ends. It is gone when it has ended. */
void chq_coroutine_start(struct coroutine *coroutine);

/* From within a coroutine: goes on when `request` is complete. */
void chq_coroutine_await(struct request *request);

/* switch.c. Keeps what a function call must keep on the stack, stores the stack pointer at *from and
 * goes on at `to`, a stack pointer that an earlier switch stored or chq_switch_prepare made. */
void chq_switch(void **from, void *to);

/* The stack pointer with which a first switch enters `entry` on the stack that ends at `top`. */
void *chq_switch_prepare(void *top, void (*entry)(void));

#endif
