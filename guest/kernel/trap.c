/* What a trap is for: system calls, page faults, interrupts. */
#include "kernel.h"

extern const char user_copy[], user_copy_end[], user_copy_fault[];

static void call(struct frame *frame)
{
    frame->pc += 4;
    frame->x[A0] = system_call(frame->x[A7], &frame->x[A0]);
}

/* The process ends as Linux would end it. */
static void exception(const struct frame *frame, uint64_t cause, uint64_t value)
{
    uint64_t arguments[6] = {cause, frame->pc, value, frame->x[RETURN_ADDRESS]};
    machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_EXCEPTION, arguments);
#if HARTS > 1
    thread_end();
#else
    panic("the process goes on after an exception");
#endif
}

static bool is_page_fault(uint64_t cause)
{
    return cause == CAUSE_FETCH_PAGE || cause == CAUSE_LOAD_PAGE || cause == CAUSE_STORE_PAGE;
}

static void process_trap(struct frame *frame, uint64_t cause)
{
    if (cause == CAUSE_USER_CALL)
        return call(frame);
    uint64_t value = csr_read(stval);
    if (!is_page_fault(cause) || !user_page_fault(value, cause))
        exception(frame, cause, value);
}

/* The kernel itself has no exceptions, but for pages of the process that are not there. */
static void kernel_trap(struct frame *frame, uint64_t cause)
{
    bool copies = frame->pc >= (uint64_t)user_copy && frame->pc < (uint64_t)user_copy_end;
    check(copies && is_page_fault(cause), "an exception in the kernel");
    if (!user_page_fault(csr_read(stval), cause))
        frame->pc = (uint64_t)user_copy_fault;
}

static void interrupt(uint64_t number)
{
    switch (number) {
    case INTERRUPT_SOFTWARE: /* of another hart: some thread is ready; or of the simulator: a process has ended */
        csr_clear(sip, 1u << INTERRUPT_SOFTWARE);
#if HARTS > 1
        processes_end();
#endif
        break;
    case INTERRUPT_TIMER: timer_interrupt(); break;
    case INTERRUPT_EXTERNAL:
        check(driver, "an interrupt without a driver");
        driver->interrupt();
        break;
    default: panic("an unknown interrupt");
    }
}

/* Whoever should run before the process goes on has its turn. */
static void give_way(void)
{
    loopback_run();
#if HARTS > 1
    if (here->user->has_ended)
        thread_end();
    thread_give_way();
    if (here->user->has_ended)
        thread_end();
#else
    if (threads_wait())
        thread_yield();
#endif
}

_Static_assert(FAST_CALL == CHASQUI_KERNEL_FAST_CALL, "the number in entry.S");

/* A fast call: no frame, no table of calls. */
int64_t fast_call(uint64_t first, uint64_t second)
{
    kernel_lock();
    shown_here.pc = csr_read(sepc);
    int64_t result = driver->fast_call(first, second);
    give_way();
    kernel_unlock();
    return result;
}

void trap(struct frame *frame)
{
    uint64_t cause = csr_read(scause);
    bool from_process = !(frame->status & STATUS_SPP);
    if (from_process) {
        kernel_lock();
        shown_here.pc = frame->pc;
    }
    if (cause & CAUSE_INTERRUPT)
        interrupt(cause & ~CAUSE_INTERRUPT);
    else if (from_process)
        process_trap(frame, cause);
    else
        kernel_trap(frame, cause);
    if (!from_process)
        return;
    give_way();
    kernel_unlock();
}
