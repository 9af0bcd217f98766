/* Threads of the kernel, one of which is the process's, and who is on the hart: each until it sleeps or yields. */
#include "kernel.h"

#define STACK_BYTES 16384u

struct thread {
    uint64_t sp; /* while it is not on the hart */
    struct thread *next;
};

extern void thread_switch(uint64_t *from, uint64_t to), thread_start(void);

struct chasqui_kernel_process process;

static struct thread *current, *process_thread;
static struct queue ready;

static void append(struct queue *queue, struct thread *thread)
{
    thread->next = 0;
    if (queue->first)
        queue->last->next = thread;
    else
        queue->first = thread;
    queue->last = thread;
}

static struct thread *take(struct queue *queue)
{
    struct thread *thread = queue->first;
    if (thread)
        queue->first = thread->next;
    return thread;
}

/* Interrupts that are pending are taken, and may wake somebody. */
static void idle(void)
{
    __asm__ volatile("wfi" ::: "memory");
    csr_set(sstatus, STATUS_SIE);
    csr_clear(sstatus, STATUS_SIE);
}

/* The current thread has been put into some queue: the next that is ready goes on, which may be itself. */
static void leave(void)
{
    struct thread *before = current, *next;
    while (!(next = take(&ready)))
        idle();
    if (next == before)
        return;
    current = next;
    thread_switch(&before->sp, next->sp);
}

void thread_sleep(struct queue *queue, const char *what)
{
    append(queue, current);
    struct thread *self = current;
    if (self == process_thread)
        process.waits_for = (uint64_t)what;
    leave();
    if (self == process_thread)
        process.waits_for = 0;
}

void thread_wake(struct queue *queue)
{
    struct thread *thread = take(queue);
    if (thread)
        append(&ready, thread);
}

void thread_yield(void)
{
    append(&ready, current);
    leave();
}

bool threads_wait(void) { return ready.first; }

/* A thread whose stack is empty up to `below` its top. */
static struct thread *make(size_t below)
{
    uint8_t *stack = memory_take(STACK_BYTES);
    struct thread *thread = memory_take(sizeof *thread);
    *thread = (struct thread){.sp = (uint64_t)(stack + STACK_BYTES - below)};
    return thread;
}

void thread_create(void (*function)(void *), void *argument)
{
    enum { RA, S0, S1, WORDS = 14 }; /* as thread_switch has them */
    struct thread *thread = make(WORDS * sizeof(uint64_t));
    uint64_t *saved = (uint64_t *)thread->sp;
    saved[RA] = (uint64_t)thread_start;
    saved[S0] = (uint64_t)function;
    saved[S1] = (uint64_t)argument;
    append(&ready, thread);
}

void threads_begin(void)
{
    machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_WATCH, (uint64_t[6]){(uint64_t)&process});
}

/* The hart's present thread, which is nobody's, becomes the process. */
void process_begin(uint64_t entry, uint64_t stack_pointer)
{
    current = process_thread = make(sizeof(struct frame));
    struct frame *frame = (struct frame *)current->sp;
    memory_clear(frame, sizeof *frame);
    frame->pc = entry;
    frame->x[SP] = stack_pointer;
    frame->status = STATUS_SPIE;
    trap_return(frame);
}
