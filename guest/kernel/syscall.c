/* System calls: the kernel's own, by number; the simulator serves all others. */
#include "kernel.h"

/* Linux include/uapi/asm-generic/unistd.h */
enum { SYS_IOCTL = 29, SYS_SCHED_YIELD = 124, CALLS = 128 };

typedef int64_t handler(const uint64_t arguments[6]);

static int64_t forward(uint64_t number, const uint64_t arguments[6])
{
    struct answer answer = machine_call(CHASQUI_KERNEL_SBI_LINUX, number, arguments);
    if (answer.error == CHASQUI_KERNEL_SLEEP)
        sleep_until(answer.more, "the end of its system call");
    return answer.value;
}

/* Requests of a driver's have a type of their own (_IOC_TYPE, Linux include/uapi/asm-generic/ioctl.h). */
static int64_t control(const uint64_t arguments[6])
{
    uint64_t request = arguments[1];
    if (driver && driver->control && (request >> 8 & 0xff) == CHASQUI_KERNEL_CONTROL_TYPE)
        return driver->control(request, arguments[2]);
    return forward(SYS_IOCTL, arguments);
}

static int64_t yield(const uint64_t arguments[6])
{
    (void)arguments;
    thread_yield();
    return 0;
}

static handler *const handlers[CALLS] = {
    [SYS_IOCTL] = control,
    [SYS_SCHED_YIELD] = yield,
};

int64_t system_call(uint64_t number, const uint64_t arguments[6])
{
    handler *own = number < CALLS ? handlers[number] : 0;
    return own ? own(arguments) : forward(number, arguments);
}
