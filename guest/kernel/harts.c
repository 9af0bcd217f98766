/* Several harts, or several processes of one: one hart at a time is in the kernel. Each has one thread of a process, or
 * threads of processes that take turns. Which, placement and the process's own calls (clone, futex) say, which the simulator
 * serves; to sleep, to wake and to take turns is done here. */
#include "kernel.h"

#if HARTS > 1

extern void hart_start(void);

_Static_assert(HARTS == CHASQUI_KERNEL_HARTS_MAX, "as many as the simulator starts");

#define HART_STACK_BYTES 4096u

/* --- the lock --- */

/* By tickets, in the order of coming (Mellor-Crummey, Scott: Algorithms for Scalable Synchronization on Shared-Memory
 * Multiprocessors. ACM TOCS 9(1), 1991, 2.2). */
static uint64_t tickets;
static volatile uint64_t served;

void kernel_lock(void)
{
    uint64_t mine = __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED);
    while (served != mine)
        __asm__ volatile("pause");
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

void kernel_unlock(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    served = served + 1;
}

/* --- harts --- */

void hart_interrupt(struct hart *hart)
{
    machine_call(CHASQUI_KERNEL_SBI_IPI, CHASQUI_KERNEL_IPI_SEND, (uint64_t[6]){1ull << hart->number});
}

/* A hart begins that has not run before; it has a thread of a process. */
static void start(struct hart *hart)
{
    hart->has_begun = true;
    hart->number = (uint64_t)(hart - harts);
    hart->stack = (uint64_t)memory_take(HART_STACK_BYTES) + HART_STACK_BYTES;
    /* It reads its struct hart before it takes the lock. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    machine_call(CHASQUI_KERNEL_SBI_HSM, CHASQUI_KERNEL_HSM_START,
                 (uint64_t[6]){hart->number, (uint64_t)hart_start, (uint64_t)hart});
}

/* Another hart's beginning (entry.S). */
_Noreturn void hart_main(void)
{
    kernel_lock();
    traps_begin();
    csr_write(STIMECMP, ~0ull);
    csr_write(sie, INTERRUPTS | (driver ? 1u << INTERRUPT_EXTERNAL : 0));
    users_begin();
}

static uint64_t quantum, phase; /* ticks */

/* Process p is on hart p times harts_each, modulo harts: several have harts of their own, or share one. */
void harts_begin(const struct machine *machine)
{
    quantum = machine->quantum;
    phase = machine->phase;
    here->has_begun = true;
    for (uint64_t process = 0; process < machine->processes; process++) {
        struct user *user = user_create(&harts[process * machine->harts_each % machine->harts], process);
        user->frame->pc = boots[process].entry;
        user->frame->x[SP] = boots[process].stack_pointer;
        user_ready(user);
    }
    for (uint64_t number = 1; number < machine->harts; number++)
        if (harts[number].users.first)
            start(&harts[number]);
    users_begin();
}

/* --- turns of processes that share a hart --- */

extern void floating_save(uint64_t floating[33]), floating_restore(const uint64_t floating[33]);

#define SATP_SV39 (8ull << 60)

/* The simulator knows the root of its page tables. */
void user_comes(struct user *user)
{
    if (user == here->user)
        return;
    if (here->user)
        floating_save(here->user->floating);
    here->user = user;
    uint64_t arguments[6] = {user->process, (uint64_t)&user->shown, (uint64_t)&here->only_turns};
    struct answer answer = machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_SWITCH, arguments);
    csr_write(satp, SATP_SV39 | answer.value / PAGE_BYTES);
    floating_restore(user->floating);
}

static void end_turn(struct timer *timer)
{
    (void)timer;
    here->is_over = true;
}

/* Turns end at multiples of the quantum of the node's own clock: who comes within one has the rest. Nothing is set for who
 * is alone. */
void turn_continue(void)
{
    if (!here->users.first || here->is_over)
        return;
    if (!here->quantum) {
        here->quantum = memory_take(sizeof *here->quantum);
        here->quantum->is_set = false;
    }
    if (here->quantum->is_set)
        return;
    uint64_t now = csr_read(time);
    timer_set(here->quantum, now + quantum - (now + quantum - phase) % quantum, end_turn);
}

void processes_end(void)
{
    for (struct user *user = here->threads; user; user = user->next) {
        uint64_t arguments[6] = {user->process};
        if (machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_HAS_ENDED, arguments).value)
            user->has_ended = true;
    }
}

/* --- processes of the job --- */

const struct chasqui_kernel_boot *boots;
uint64_t process_count;
struct chasqui_ni_placement placement;

uint32_t node_of_rank(uint32_t rank)
{
    return placement.by_node ? rank % placement.nodes : rank / placement.ranks_per_node;
}

uint32_t process_of_rank(uint32_t rank)
{
    return placement.by_node ? rank / placement.nodes : rank % placement.ranks_per_node;
}

/* --- threads of processes --- */

/* Its place on the hart is free for another of the process. */
void thread_end(void)
{
    struct user *user = here->user;
    thread_sleep(&user->vacant, "nothing");
    kernel_unlock();
    trap_return(user->frame);
}

enum { TP = 4 - 1 };

/* clone(2), which the simulator has served: the new thread begins where its maker is. */
static void clone(struct hart *hart, const uint64_t arguments[6])
{
    enum { CLONE_SETTLS = 0x80000 };
    struct user *user = hart->has_begun ? hart->user : user_create(hart, process_here);
    struct frame *frame = user->frame;
    memory_copy(frame, here->user->frame, sizeof *frame);
    frame->x[A0] = 0;
    if (arguments[1])
        frame->x[SP] = arguments[1];
    if (arguments[0] & CLONE_SETTLS)
        frame->x[TP] = arguments[3];
    if (hart->has_begun)
        return thread_wake(&user->vacant);
    user_ready(user);
    start(hart);
}

/* Until another thread wakes it, or the time: what the call returns. */
static int64_t block(uint64_t until)
{
    struct user *user = here->user;
    user->is_woken = false;
    thread_sleep_until(&user->blocked, until, "another thread");
    if (user->is_woken)
        return 0;
    return machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_TIME_OUT, (uint64_t[6]){0}).value;
}

/* Harts of processes that have several are theirs alone. */
static void wake(uint64_t woken)
{
    for (uint64_t number = 0; woken; number++, woken >>= 1) {
        if (!(woken & 1))
            continue;
        harts[number].user->is_woken = true;
        thread_wake(&harts[number].user->blocked);
    }
}

int64_t harts_forward(uint64_t number, const uint64_t arguments[6])
{
    struct answer answer = machine_call(CHASQUI_KERNEL_SBI_LINUX, number, arguments);
    wake(answer.woken);
    switch (answer.error) {
    case CHASQUI_KERNEL_SLEEP: sleep_until(answer.more, "the end of its system call"); return answer.value;
    case CHASQUI_KERNEL_BLOCK: return block(answer.more);
    case CHASQUI_KERNEL_THREAD: clone(&harts[answer.more], arguments); return answer.value;
    case CHASQUI_KERNEL_ENDED: thread_end();
    default: return answer.value;
    }
}

#endif
