/* See coroutine.h. */
#include "mpi/request/coroutine.h"

#include "mpi/request/request.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/process.h"

static struct coroutine *waiting; /* Resumed by `poll`. */
static struct coroutine *unused;  /* With their stacks. */
static void *process_stack;       /* The stack pointer of the resumer. */

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer must know which stack is in use. */
void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t bytes);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *bytes);
static const void *process_bottom;
static size_t process_bytes;
#else
#define __sanitizer_start_switch_fiber(fake, bottom, bytes) ((void)0)
#define __sanitizer_finish_switch_fiber(fake, bottom, bytes) ((void)0)
#endif

static void leave(struct coroutine *self)
{
    __sanitizer_start_switch_fiber(self->awaits ? &self->fake : NULL, process_bottom, process_bytes);
    chq_switch(&self->stack_pointer, process_stack);
    __sanitizer_finish_switch_fiber(self->fake, &process_bottom, &process_bytes);
}

/* First on every stack; never returns. */
static void entry(void)
{
    struct coroutine *self = chq.running;
    __sanitizer_finish_switch_fiber(NULL, &process_bottom, &process_bytes);
    self->body(self->room);
    self->awaits = NULL;
    leave(self);
}

static void resume(struct coroutine *coroutine)
{
    void *fake = NULL;
    (void)fake;
    chq.running = coroutine;
    __sanitizer_start_switch_fiber(&fake, coroutine->stack, COROUTINE_STACK_BYTES);
    chq_switch(&process_stack, coroutine->stack_pointer);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    chq.running = NULL;
}

void chq_coroutine_await(struct request *request)
{
    chq.running->awaits = request;
    leave(chq.running);
}

static void discard(struct coroutine *coroutine)
{
    coroutine->next = unused;
    unused = coroutine;
}

/* Stands in for the transport's look at the network. */
static void poll(void)
{
    chq.network();
    struct coroutine **link = &waiting, *coroutine;
    while ((coroutine = *link)) {
        if (coroutine->awaits->complete) {
            chq_tell();
            resume(coroutine);
        }
        if (coroutine->awaits) {
            link = &coroutine->next;
            continue;
        }
        *link = coroutine->next;
        discard(coroutine);
    }
    if (!waiting)
        chq_set_poll(chq.network);
}

/* The object lies at the top of its stack. */
static struct coroutine *with_stack(void)
{
    char *stack = chq_platform_stack(COROUTINE_STACK_BYTES);
    if (!stack)
        chq_die("no memory for the stack of a nonblocking collective");
    struct coroutine *made = (struct coroutine *)(stack + COROUTINE_STACK_BYTES) - 1;
    made->stack = stack;
    return made;
}

struct coroutine *chq_coroutine_new(void (*body)(void *room), size_t bytes)
{
    struct coroutine *coroutine = unused;
    if (likely(coroutine != NULL))
        unused = coroutine->next;
    else
        coroutine = with_stack();
    coroutine->body = body;
    coroutine->room = (void *)(((uintptr_t)coroutine - bytes) & ~(uintptr_t)15);
    coroutine->stack_pointer = chq_switch_prepare(coroutine->room, entry);
    return coroutine;
}

void chq_coroutine_start(struct coroutine *coroutine)
{
    resume(coroutine);
    if (!coroutine->awaits) {
        discard(coroutine);
        return;
    }
    coroutine->next = NULL;
    struct coroutine **link = &waiting;
    while (*link)
        link = &(*link)->next;
    *link = coroutine;
    chq_set_poll(poll);
}
