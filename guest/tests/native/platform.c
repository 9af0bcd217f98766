/* The library's platform on the host, for tests: the launcher says in the environment which rank of
 * how many this process is and which file descriptor the shared memory has. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Not mpi/runtime/platform.h: its declarations of the C library's functions are for freestanding code. */
#include "chasqui/abi.h"
#include "native.h"

long native_setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

const struct chasqui_ni_identification *chq_platform_open_ni(int *ni_fd)
{
    static struct {
        struct chasqui_ni_identification page;
        char settings[32]; /* Zeros follow each text. */
    } all;
    struct chasqui_ni_identification *page = &all.page;
    const char *polls = getenv("CHQ_NATIVE_WAIT_POLLS");
    *ni_fd = (int)native_setting("CHQ_NATIVE_FD", -1);
    if (*ni_fd < 0)
        return NULL;
    page->magic = CHASQUI_NI_MAGIC;
    page->version = CHASQUI_ABI_VERSION;
    page->device = NATIVE_DEVICE_ID;
    page->rank = (uint32_t)native_setting("CHQ_NATIVE_RANK", 0);
    page->ranks = (uint32_t)native_setting("CHQ_NATIVE_RANKS", 1);
    page->line_bytes = 64;
    page->timebase_hz = 1000000000;
    if (polls) {
        page->mpi_settings = offsetof(typeof(all), settings);
        strcpy(stpcpy(all.settings, "wait.polls") + 1, polls);
    }
    return page;
}

void *chq_platform_map(int ni_fd, uint64_t offset, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ni_fd, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

void *chq_platform_stack(size_t bytes)
{
    size_t page = 4096;
    char *guard = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return guard == MAP_FAILED || mprotect(guard, page, PROT_NONE) != 0 ? NULL : guard + page;
}

void chq_platform_write(int fd, const void *text, size_t bytes)
{
    if (write(fd, text, bytes) < 0)
        return;
}

_Noreturn void chq_platform_exit(int status) { _exit(status); }

size_t chq_platform_host_name(char *name, size_t bytes)
{
    strncpy(name, "host", bytes);
    return 4;
}

unsigned chq_platform_harts(void) { return (unsigned)native_setting("CHQ_NATIVE_HARTS", 1); }

uintptr_t chq_thread_self(void) { return (uintptr_t)pthread_self(); }

void chq_pause(void) { sched_yield(); }

void chq_platform_yield(void) { sched_yield(); }

uint64_t chq_ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
