/* System calls: the kernel's own, by number; the simulator serves all others. */
#include "kernel.h"
#include "net/socket.h"

/* Linux include/uapi/asm-generic/unistd.h */
enum {
    SYS_FCNTL = 25,
    SYS_IOCTL = 29,
    SYS_CLOSE = 57,
    SYS_READ = 63,
    SYS_WRITE = 64,
    SYS_WRITEV = 66,
    SYS_PPOLL = 73,
    SYS_EXIT = 93,
    SYS_EXIT_GROUP = 94,
    SYS_SCHED_YIELD = 124,
    SYS_SOCKET = 198,
    SYS_BIND = 200,
    SYS_LISTEN = 201,
    SYS_ACCEPT = 202,
    SYS_CONNECT = 203,
    SYS_GETSOCKNAME = 204,
    SYS_SENDTO = 206,
    SYS_RECVFROM = 207,
    SYS_SETSOCKOPT = 208,
    SYS_SHUTDOWN = 210,
    SYS_BRK = 214,
    SYS_MUNMAP = 215,
    SYS_MREMAP = 216,
    SYS_MMAP = 222,
    SYS_MPROTECT = 226,
    SYS_MADVISE = 233,
    SYS_ACCEPT4 = 242,
    CALLS
};

typedef int64_t handler(const uint64_t arguments[6]);

static int64_t forward(uint64_t number, const uint64_t arguments[6])
{
#if HARTS > 1
    return harts_forward(number, arguments);
#else
    struct answer answer = machine_call(CHASQUI_KERNEL_SBI_LINUX, number, arguments);
    if (answer.error == CHASQUI_KERNEL_SLEEP)
        sleep_until(answer.more, "the end of its system call");
    return answer.value;
#endif
}

/* Requests of a driver's have a type of their own (_IOC_TYPE, Linux include/uapi/asm-generic/ioctl.h). */
static int64_t control(const uint64_t arguments[6])
{
    uint64_t request = arguments[1];
    if (driver && driver->control && (request >> 8 & 0xff) == CHASQUI_KERNEL_CONTROL_TYPE)
        return driver->control(request, arguments[2]);
    return forward(SYS_IOCTL, arguments);
}

/* The process gives memory up, of which a driver may know where it is. */
static void give_up(uint64_t address, uint64_t bytes)
{
    if (driver && driver->unmapped && bytes > 0)
        driver->unmapped(address, bytes);
}

static int64_t munmap(const uint64_t arguments[6])
{
    give_up(arguments[0], arguments[1]);
    return forward(SYS_MUNMAP, arguments);
}

static int64_t mremap(const uint64_t arguments[6])
{
    enum { MREMAP_FIXED = 2 };
    give_up(arguments[0], arguments[1]);
    if (arguments[3] & MREMAP_FIXED)
        give_up(arguments[4], arguments[2]);
    return forward(SYS_MREMAP, arguments);
}

/* What a driver may do to memory follows what the process may. */
static int64_t mprotect(const uint64_t arguments[6])
{
    give_up(arguments[0], arguments[1]);
    return forward(SYS_MPROTECT, arguments);
}

static int64_t mmap(const uint64_t arguments[6])
{
    enum { MAP_FIXED = 0x10 };
    if (arguments[3] & MAP_FIXED)
        give_up(arguments[0], arguments[1]);
    return forward(SYS_MMAP, arguments);
}

static int64_t brk(const uint64_t arguments[6])
{
    static uint64_t tops[PROCESSES]; /* by process */
    uint64_t *top = &tops[process_here];
    if (arguments[0] && arguments[0] < *top)
        give_up(arguments[0], *top - arguments[0]);
    return *top = forward(SYS_BRK, arguments);
}

/* Some advice means that contents may go (MADV_DONTNEED, MADV_FREE, MADV_REMOVE). */
static int64_t madvise(const uint64_t arguments[6])
{
    if (arguments[2] == 4 || arguments[2] == 8 || arguments[2] == 9)
        give_up(arguments[0], arguments[1]);
    return forward(SYS_MADVISE, arguments);
}

static int64_t yield(const uint64_t arguments[6])
{
    (void)arguments;
    thread_yield();
    return 0;
}

static int64_t close(const uint64_t arguments[6])
{
    return socket_is(arguments[0]) ? socket_close(arguments[0]) : forward(SYS_CLOSE, arguments);
}

static int64_t read(const uint64_t arguments[6])
{
    if (!socket_is(arguments[0]))
        return forward(SYS_READ, arguments);
    return socket_receive(arguments[0], arguments[1], arguments[2], 0);
}

static int64_t write(const uint64_t arguments[6])
{
    if (!socket_is(arguments[0]))
        return forward(SYS_WRITE, arguments);
    return socket_send(arguments[0], arguments[1], arguments[2], 0);
}

static int64_t writev(const uint64_t arguments[6])
{
    return socket_is(arguments[0]) ? socket_send_parts(arguments) : forward(SYS_WRITEV, arguments);
}

static int64_t fcntl(const uint64_t arguments[6])
{
    return socket_is(arguments[0]) ? socket_control(arguments) : forward(SYS_FCNTL, arguments);
}

static int64_t accept(const uint64_t arguments[6]) { return socket_accept(arguments, 0); }

static int64_t accept4(const uint64_t arguments[6]) { return socket_accept(arguments, arguments[3]); }

static int64_t sendto(const uint64_t arguments[6])
{
    return socket_send(arguments[0], arguments[1], arguments[2], arguments[3]);
}

static int64_t recvfrom(const uint64_t arguments[6])
{
    return socket_receive(arguments[0], arguments[1], arguments[2], arguments[3]);
}

/* Nothing can be chosen: small segments are never held back. */
static int64_t setsockopt(const uint64_t arguments[6]) { return socket_is(arguments[0]) ? 0 : -EBADF; }

#if HARTS > 1
/* The thread ends, and with the last the process. */
static int64_t end_thread(const uint64_t arguments[6]) { return forward(SYS_EXIT, arguments); }
#endif

/* Connections, of sockets or the driver's, outlive the process: what it has written arrives. */
static int64_t leave(const uint64_t arguments[6])
{
    struct queue nobodys = {0};
    bool goes_on = sockets_end() || (driver && driver->outlives && driver->outlives());
    if (!goes_on)
        return forward(SYS_EXIT_GROUP, arguments);
    machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_EXIT, arguments);
    for (;;)
        thread_sleep(&nobodys, "nothing");
}

static handler *const handlers[CALLS] = {
    [SYS_FCNTL] = fcntl,
    [SYS_IOCTL] = control,
    [SYS_CLOSE] = close,
    [SYS_READ] = read,
    [SYS_WRITE] = write,
    [SYS_WRITEV] = writev,
    [SYS_PPOLL] = socket_poll,
#if HARTS > 1
    [SYS_EXIT] = end_thread,
#else
    [SYS_EXIT] = leave,
#endif
    [SYS_EXIT_GROUP] = leave,
    [SYS_SCHED_YIELD] = yield,
    [SYS_SOCKET] = socket_new,
    [SYS_BIND] = socket_bind,
    [SYS_LISTEN] = socket_listen,
    [SYS_ACCEPT] = accept,
    [SYS_CONNECT] = socket_connect,
    [SYS_GETSOCKNAME] = socket_name,
    [SYS_SENDTO] = sendto,
    [SYS_RECVFROM] = recvfrom,
    [SYS_SETSOCKOPT] = setsockopt,
    [SYS_SHUTDOWN] = socket_shutdown,
    [SYS_BRK] = brk,
    [SYS_MUNMAP] = munmap,
    [SYS_MREMAP] = mremap,
    [SYS_MMAP] = mmap,
    [SYS_MPROTECT] = mprotect,
    [SYS_MADVISE] = madvise,
    [SYS_ACCEPT4] = accept4,
};

int64_t system_call(uint64_t number, const uint64_t arguments[6])
{
    handler *own = number < CALLS ? handlers[number] : 0;
    return own ? own(arguments) : forward(number, arguments);
}
