/* Several harts: one at a time is in the kernel, and each has one thread of a process. Whose it is, placement and the
 * process's own calls (clone, futex) say, which the simulator serves; to sleep and to wake is done here. */
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

static struct frame *frame_of(struct hart *hart) { return hart->has_begun ? hart->thread_frame : process_thread(hart); }

/* A thread of process `process` begins on `hart`, which is idle or whose thread has ended, with the registers in `frame`. */
static void begin(struct hart *hart, uint64_t process)
{
    hart->process = process;
    if (hart->has_begun) {
        thread_wake(&hart->vacant);
        return;
    }
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
    threads_begin();
    csr_write(STIMECMP, ~0ull);
    csr_write(sie, INTERRUPTS);
    here->current = here->process_thread;
    kernel_unlock();
    trap_return(here->thread_frame);
}

void harts_begin(uint64_t processes, uint64_t harts_each)
{
    here->has_begun = true;
    for (uint64_t process = 1; process < processes; process++) {
        struct hart *hart = &harts[process * harts_each];
        struct frame *frame = frame_of(hart);
        frame->pc = boots[process].entry;
        frame->x[SP] = boots[process].stack_pointer;
        begin(hart, process);
    }
}

/* --- processes of the job --- */

const struct chasqui_kernel_boot *boots;
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

/* Its hart is free for another. */
void thread_end(void)
{
    thread_sleep(&here->vacant, "nothing");
    kernel_unlock();
    trap_return(here->thread_frame);
}

enum { TP = 4 - 1 };

/* clone(2), which the simulator has served: the new thread begins where its maker is. */
static void clone(struct hart *hart, const uint64_t arguments[6])
{
    enum { CLONE_SETTLS = 0x80000 };
    struct frame *frame = frame_of(hart);
    memory_copy(frame, here->thread_frame, sizeof *frame);
    frame->x[A0] = 0;
    if (arguments[1])
        frame->x[SP] = arguments[1];
    if (arguments[0] & CLONE_SETTLS)
        frame->x[TP] = arguments[3];
    begin(hart, here->process);
}

/* Until another thread wakes it, or the time: what the call returns. */
static int64_t block(uint64_t until)
{
    here->is_woken = false;
    thread_sleep_until(&here->blocked, until, "another thread");
    if (here->is_woken)
        return 0;
    return machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_TIME_OUT, (uint64_t[6]){0}).value;
}

static void wake(uint64_t woken)
{
    for (uint64_t number = 0; woken; number++, woken >>= 1) {
        if (!(woken & 1))
            continue;
        harts[number].is_woken = true;
        thread_wake(&harts[number].blocked);
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
