/* A driver without a device: a thread of the kernel's copies what the process gives it, some time later. */
#include "kernel.h"

#include "echo.h"

static struct queue work, done;
static uint8_t *given;
static uint64_t bytes, delay_ticks;
static int64_t sum;

static void serve(void *argument)
{
    (void)argument;
    for (;;) {
        while (!given)
            thread_sleep(&work, "work");
        sleep_until(csr_read(time) + delay_ticks, "its time");
        sum = 0;
        for (uint64_t i = 0; i < bytes; i++)
            sum += given[i];
        given = 0;
        thread_wake(&done);
    }
}

static bool start(void)
{
    thread_create(serve, 0);
    return true;
}

static void interrupt(void) { panic("there is no device"); }

/* The page of the process is what it gave, also as the kernel sees memory. */
static bool is_there(uint64_t from, const uint8_t *buffer)
{
    uint64_t physical = user_physical(from, false);
    return physical && *(const uint8_t *)of_physical(physical) == *buffer;
}

static int64_t control(uint64_t request, uint64_t argument)
{
    struct echo echo;
    if (request != ECHO_REQUEST)
        return -ENOTTY;
    if (copy_from_user(&echo, argument, sizeof echo) || echo.bytes == 0)
        return -EFAULT;
    uint8_t *buffer = memory_take(echo.bytes);
    int64_t result = -EFAULT;
    if (!copy_from_user(buffer, echo.from, echo.bytes) && is_there(echo.from, buffer)) {
        bytes = echo.bytes;
        delay_ticks = ticks_of_ns(echo.delay_ns);
        given = buffer;
        thread_wake(&work);
        while (given)
            thread_sleep(&done, "an echo");
        result = copy_to_user(echo.to, buffer, echo.bytes) ? -EFAULT : sum;
    }
    memory_give(buffer, echo.bytes);
    return result;
}

static const struct driver echo = {.start = start, .interrupt = interrupt, .control = control};
DRIVER driver_echo = &echo;
