/* Threads of the kernel, one of which is the process's, and which is on the hart: each until it sleeps or yields. A thread
 * stays on its hart. */
#include "kernel.h"

#define STACK_BYTES 16384u

struct thread {
    uint64_t sp; /* while it is not on the hart */
    struct thread *next;
#if HARTS > 1
    struct hart *hart;
    struct user *user; /* 0: it is the kernel's */
#endif
};

extern void thread_switch(uint64_t *from, uint64_t to), thread_start(void);

struct hart harts[HARTS];

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

/* Interrupts that are pending are taken, and may wake a thread. */
static void idle(void)
{
    kernel_unlock();
    __asm__ volatile("wfi" ::: "memory");
    kernel_lock();
    csr_set(sstatus, STATUS_SIE);
    csr_clear(sstatus, STATUS_SIE);
}

/* The kernel's threads go before those of processes. */
static struct thread *take_next(void)
{
    struct thread *next = take(&here->ready);
#if HARTS > 1
    if (!next)
        next = take(&here->users);
#endif
    return next;
}

/* The current thread has been put into some queue: the next that is ready goes on, which may be itself. */
static void leave(void)
{
    struct thread *before = here->current, *next;
    loopback_run();
    while (!(next = take_next())) {
        idle();
        loopback_run();
    }
#if HARTS > 1
    if (next->user)
        user_comes(next->user);
#endif
    if (next == before)
        return;
    here->current = next;
    thread_switch(&before->sp, next->sp);
}

void thread_sleep(struct queue *queue, const char *what)
{
    append(queue, here->current);
    struct thread *self = here->current;
#if HARTS > 1
    if (self->user)
        self->user->shown.waits_for = (uint64_t)what; /* Until make_ready(): it may be long before its turn. */
    leave();
#else
    if (self == here->process_thread)
        here->shown.waits_for = (uint64_t)what;
    leave();
    if (self == here->process_thread)
        here->shown.waits_for = 0;
#endif
}

#if HARTS > 1
static struct queue *queue_of(struct thread *thread)
{
    return thread->user ? &thread->hart->users : &thread->hart->ready;
}
#endif

static void make_ready(struct thread *thread)
{
#if HARTS > 1
    if (thread->user)
        thread->user->shown.waits_for = 0;
    append(queue_of(thread), thread);
    if (thread->hart != here)
        hart_interrupt(thread->hart);
#else
    append(&here->ready, thread);
#endif
}

void thread_wake(struct queue *queue)
{
    struct thread *thread = take(queue);
    if (thread)
        make_ready(thread);
}

void thread_wake_all(struct queue *queue)
{
    while (queue->first)
        thread_wake(queue);
}

void thread_yield(void)
{
#if HARTS > 1
    append(queue_of(here->current), here->current);
#else
    append(&here->ready, here->current);
#endif
    leave();
}

#if HARTS > 1
void thread_give_way(void)
{
    struct thread *self = here->current;
    if (here->ready.first) {
        self->next = here->users.first;
        if (!self->next)
            here->users.last = self;
        here->users.first = self;
        leave();
    }
    if (here->is_over) {
        here->is_over = false;
        thread_yield();
    }
    turn_continue();
}
#else
bool threads_wait(void) { return here->ready.first; }
#endif

/* A thread of `hart` whose stack is empty up to `below` its top. */
static struct thread *make(struct hart *hart, size_t below)
{
    uint8_t *stack = memory_take(STACK_BYTES);
    struct thread *thread = memory_take(sizeof *thread);
    *thread = (struct thread){.sp = (uint64_t)(stack + STACK_BYTES - below)};
#if HARTS > 1
    thread->hart = hart;
#endif
    (void)hart;
    return thread;
}

enum { RA, S0, S1, WORDS = 14 }; /* as thread_switch has them */

/* What thread_switch finds of one that begins with function(argument). */
static void begin_with(struct thread *thread, void (*function)(void *), void *argument)
{
    uint64_t *saved = (uint64_t *)thread->sp;
    saved[RA] = (uint64_t)thread_start;
    saved[S0] = (uint64_t)function;
    saved[S1] = (uint64_t)argument;
}

void thread_create(void (*function)(void *), void *argument)
{
    struct thread *thread = make(here, WORDS * sizeof(uint64_t));
    begin_with(thread, function, argument);
#if HARTS > 1
    thread->user = 0;
#endif
    append(&here->ready, thread);
}

#if HARTS > 1

static void user_main(void *argument)
{
    struct user *user = argument;
    turn_continue();
    kernel_unlock();
    trap_return(user->frame);
}

struct user *user_create(struct hart *hart, uint64_t process)
{
    struct user *user = memory_take(sizeof *user);
    struct thread *thread = make(hart, sizeof(struct frame) + WORDS * sizeof(uint64_t));
    memory_clear(user, sizeof *user);
    begin_with(thread, user_main, user);
    thread->user = user;
    user->process = process;
    user->thread = thread;
    user->frame = (struct frame *)(thread->sp + WORDS * sizeof(uint64_t));
    user->next = hart->threads;
    hart->threads = user;
    memory_clear(user->frame, sizeof *user->frame);
    user->frame->status = STATUS_SPIE;
    return user;
}

void user_ready(struct user *user) { append(&user->thread->hart->users, user->thread); }

void users_begin(void)
{
    here->current = take(&here->users);
    user_comes(here->current->user);
    user_main(here->current->user);
    panic("a process's thread returns to the kernel's beginning");
}

#else

void threads_begin(void)
{
    machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_WATCH, (uint64_t[6]){(uint64_t)&here->shown});
}

struct frame *process_thread(struct hart *hart)
{
    hart->process_thread = make(hart, sizeof(struct frame));
    struct frame *frame = (struct frame *)hart->process_thread->sp;
    memory_clear(frame, sizeof *frame);
    frame->status = STATUS_SPIE;
    return frame;
}

/* The hart's present thread, which belongs to no process, becomes the process's. */
void process_begin(const struct chasqui_kernel_boot *boot)
{
    struct frame *frame = process_thread(here);
    here->current = here->process_thread;
    frame->pc = boot->entry;
    frame->x[SP] = boot->stack_pointer;
    kernel_unlock();
    trap_return(frame);
}

#endif
