/* Raw system calls of RISC-V Linux (asm-generic numbers). */
#include "mpi/runtime/platform.h"

#include "mpi/runtime/mark.h"

#if defined(__riscv)

enum {
    CALL_IOCTL = 29,
    CALL_OPENAT = 56,
    CALL_WRITE = 64,
    CALL_EXIT_GROUP = 94,
    CALL_SCHED_GETAFFINITY = 123,
    CALL_SCHED_YIELD = 124,
    CALL_UNAME = 160,
    CALL_MMAP = 222,
    CALL_MPROTECT = 226
};
enum { AT_FDCWD = -100, O_RDWR = 2, O_CLOEXEC = 02000000 };
enum { PROT_NONE = 0, PROT_READ = 1, PROT_READ_WRITE = 3, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20 };
enum { PAGE_BYTES = 4096 };

static long system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

static void *map(int fd, uint64_t offset, size_t bytes, int protection, int flags)
{
    long at = system_call(CALL_MMAP, 0, (long)bytes, protection, flags, fd, (long)offset);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

const struct chasqui_ni_identification *chq_platform_open_ni(int *ni_fd)
{
    static const char name[] = "/dev/ni0";
    long fd = system_call(CALL_OPENAT, AT_FDCWD, (long)name, O_RDWR | O_CLOEXEC, 0, 0, 0);
    *ni_fd = fd < 0 ? -1 : (int)fd;
    return fd < 0 ? NULL : map((int)fd, 0, PAGE_BYTES, PROT_READ, MAP_SHARED);
}

void *chq_platform_map(int ni_fd, uint64_t offset, size_t bytes)
{
    return map(ni_fd, offset, bytes, PROT_READ_WRITE, MAP_SHARED);
}

long chq_platform_control(int ni_fd, uint64_t request, uint64_t argument)
{
    return system_call(CALL_IOCTL, ni_fd, (long)request, (long)argument, 0, 0, 0);
}

void *chq_platform_stack(size_t bytes)
{
    char *guard = map(-1, 0, bytes + PAGE_BYTES, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    if (!guard || system_call(CALL_MPROTECT, (long)guard, PAGE_BYTES, PROT_NONE, 0, 0, 0) != 0)
        return NULL;
    return guard + PAGE_BYTES;
}

void chq_platform_write(int fd, const void *text, size_t bytes)
{
    const char *at = text;
    while (bytes > 0) {
        long done = system_call(CALL_WRITE, fd, (long)at, (long)bytes, 0, 0, 0);
        if (done <= 0)
            return;
        at += done;
        bytes -= (size_t)done;
    }
}

_Noreturn void chq_platform_exit(int status)
{
    /* The whole job ends with this process. */
    CHQ_MARK_NAME(CHASQUI_MARK_ABORT, (long)status);
    for (;;)
        system_call(CALL_EXIT_GROUP, status, 0, 0, 0, 0, 0);
}

void chq_platform_yield(void) { system_call(CALL_SCHED_YIELD, 0, 0, 0, 0, 0, 0); }

unsigned chq_platform_harts(void)
{
    uint64_t mask[16] = {0};
    unsigned harts = 0;
    long bytes = system_call(CALL_SCHED_GETAFFINITY, 0, sizeof mask, (long)mask, 0, 0, 0);
    for (long i = 0; i < bytes / (long)sizeof *mask; i++)
        harts += (unsigned)__builtin_popcountll(mask[i]);
    return harts;
}

size_t chq_platform_host_name(char *name, size_t bytes)
{
    /* struct utsname: six texts of 65 bytes; the second is the node's name. */
    char names[6][65];
    size_t length = 0;
    if (system_call(CALL_UNAME, (long)names, 0, 0, 0, 0, 0) != 0)
        names[1][0] = '\0';
    for (; length + 1 < bytes && length < 64 && names[1][length] != '\0'; length++)
        name[length] = names[1][length];
    name[length] = '\0';
    return length;
}

#endif
