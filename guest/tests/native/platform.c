/* The library's platform on the host, for tests: the launcher says in the environment which rank of
 * how many this process is and which file descriptor the shared memory has. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
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

/* CHQ_NATIVE_PER_NODE processes share a node, next to each other, or CHQ_NATIVE_BY_NODE=1 in turn; by default each has its
 * own. */
static struct chasqui_ni_placement placement(void)
{
    uint32_t rank = (uint32_t)native_setting("CHQ_NATIVE_RANK", 0);
    uint32_t ranks = (uint32_t)native_setting("CHQ_NATIVE_RANKS", 1);
    uint32_t each = (uint32_t)native_setting("CHQ_NATIVE_PER_NODE", 1);
    each = each < ranks ? each : ranks;
    uint32_t nodes = (ranks + each - 1) / each;
    bool by_node = native_setting("CHQ_NATIVE_BY_NODE", 0);
    return (struct chasqui_ni_placement){
        .node = by_node ? rank % nodes : rank / each,
        .process = by_node ? rank / nodes : rank % each,
        .ranks_per_node = each,
        .nodes = nodes,
        .by_node = by_node,
        .shared_bytes = each > 1 ? native_local_bytes(each) : 0,
    };
}

const struct chasqui_ni_identification *chq_platform_open_ni(int *ni_fd)
{
    static union {
        struct {
            struct chasqui_ni_identification page;
            char settings[64]; /* Zeros follow each text. */
        };
        struct {
            char before[CHASQUI_NI_PLACEMENT];
            struct chasqui_ni_placement placement;
        };
    } all;
    struct chasqui_ni_identification *page = &all.page;
    char *setting = all.settings;
    const char *polls = getenv("CHQ_NATIVE_WAIT_POLLS"), *eager = getenv("CHQ_NATIVE_MPI_EAGER");
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
    if (polls)
        setting = stpcpy(stpcpy(setting, "wait.polls") + 1, polls) + 1;
    all.placement = placement();
    if (all.placement.shared_bytes)
        setting = stpcpy(stpcpy(setting, "local.channel") + 1, "memory") + 1;
    if (eager)
        setting = stpcpy(stpcpy(setting, "eager") + 1, eager) + 1;
    if (setting > all.settings)
        page->mpi_settings = offsetof(typeof(all), settings);
    return page;
}

void *chq_platform_map(int ni_fd, uint64_t offset, size_t bytes)
{
    if (offset > CHASQUI_NI_REGIONS * CHASQUI_NI_REGION_STRIDE)
        offset = native_local_at((size_t)native_setting("CHQ_NATIVE_RANKS", 1), placement().node);
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
    return (size_t)snprintf(name, bytes, "host%u", placement().node);
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
