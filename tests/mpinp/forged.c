/* Rank 1 stores a request to its window that it may not make; the others exchange messages meanwhile.
 *
 * Usage: forged WHAT (rank, name, kind, window, odd, beyond, foreign, free, page, long, read, reuse, table, entry, fetch, count, many,
 * twice, drained, flood, tree, length, operation, outside, second, common, rooted, blocks, shape; of pages that stay pinned:
 * given, lent, constant)
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "registers.h"

static volatile char *window;
static const struct chasqui_ni_identification *ni;
static uint32_t filled;
static int card;
static char memory[3 * 4096] __attribute__((aligned(4096)));

static void open_window(void)
{
    card = open("/dev/ni0", O_RDWR);
    ni = mmap(NULL, 4096, PROT_READ, MAP_SHARED, card, 0);
    window = mmap(NULL, ni->regions[0].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, card, CHASQUI_NI_REGION_STRIDE);
    filled = *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL);
}

static void post(struct chasqui_mpinp_request request)
{
    volatile uint64_t *place = (volatile uint64_t *)(window + filled++ % CHASQUI_MPINP_REQUESTS * sizeof request);
    uint64_t words[sizeof request / 8];
    memcpy(words, &request, sizeof request);
    for (unsigned i = 0; i < sizeof request / 8; i++)
        place[i] = words[i];
    __asm__ volatile("fence o, o" : : : "memory");
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = filled;
}

/* The number of its first entry. */
static uint32_t pin(uint32_t name, size_t bytes, uint32_t flags)
{
    struct chasqui_mpinp_pin pin = {
        .address = (uint64_t)(uintptr_t)memory, .bytes = bytes, .name = name, .flags = flags};
    return ioctl(card, CHASQUI_MPINP_CONTROL_PIN, &pin) ? UINT32_MAX : pin.first;
}

/* Its data move: by a message to itself. */
static struct chasqui_mpinp_request send_of(uint32_t entry, uint32_t bytes)
{
    return (struct chasqui_mpinp_request){.kind = CHASQUI_MPINP_SEND,
                                          .rank = 1,
                                          .name = 101,
                                          .valid = 2,
                                          .context = 12345,
                                          .bytes = bytes,
                                          .entry = entry};
}

static void wait(void)
{
    for (volatile int turn = 0; turn < 20000; turn++)
        ;
}

/* The process's last entry of those that stay pinned names a page. */
static uint32_t keep(const void *page, uint32_t flags)
{
    uint32_t entry = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_KEPT] - 1;
    struct chasqui_mpinp_keep keep = {
        .address = (uint64_t)(uintptr_t)page, .bytes = 64, .entries = (uint64_t)(uintptr_t)&entry, .flags = flags};
    if (ioctl(card, CHASQUI_MPINP_CONTROL_KEEP, &keep))
        return UINT32_MAX;
    return (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_ENTRIES] + entry;
}

/* In what an entry names. */
static uint32_t offset_of(const void *data)
{
    return (uint32_t)((uintptr_t)data % ((uintptr_t)4096 * ni->settings[CHASQUI_MPINP_SETTING_ENTRY_PAGES]));
}

/* By entries that stay pinned, which the card has used before: of a page that is given back; another process's; of a page that is
 * not to be written. */
static struct chasqui_mpinp_request harm_kept(const char *what)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct chasqui_mpinp_request request = send_of(keep(page, 0), 64);
    request.offset = offset_of(page);
    request.valid = 1;
    post(request);
    wait();
    if (!strcmp(what, "given"))
        munmap(page, 4096);
    if (!strcmp(what, "lent")) {
        request.entry = 0;
        request.offset = offset_of(memory); /* as in rank 0 */
    }
    request.name = 102;
    if (strcmp(what, "constant"))
        return request;
    request.kind = CHASQUI_MPINP_RECEIVE;
    return request;
}

/* The process gives up a page to which the card is to move data, and has a page table made (as in hostile.c). */
static struct chasqui_mpinp_request harm_table(void)
{
    enum { PAGE = 4096, TABLE_REACH = PAGE / 8 * PAGE, TLB_MOST = 150 };
    const int all = PROT_READ | PROT_WRITE, mode = MAP_PRIVATE | MAP_ANONYMOUS;
    char *far = mmap(NULL, 4 * TABLE_REACH, all, mode, -1, 0), *page = mmap(NULL, PAGE, all, mode, -1, 0);
    *page = 1;
    struct chasqui_mpinp_pin to = {
        .address = (uintptr_t)page, .bytes = PAGE, .name = 101, .flags = CHASQUI_MPINP_PIN_WRITE};
    ioctl(card, CHASQUI_MPINP_CONTROL_PIN, &to);
    pin(102, PAGE, 0);
    struct chasqui_mpinp_request request = send_of(0, PAGE);
    request.flags = CHASQUI_MPINP_IN_PAGE;
    request.kind = CHASQUI_MPINP_RECEIVE;
    post(request);
    wait();
    munmap(page, PAGE);
    volatile char *first = far + TABLE_REACH;
    first[0] = 42; /* in the page that was given up, if no table is */
    first[PAGE] = 42;
    request.kind = CHASQUI_MPINP_SEND;
    request.name = 102;
    post(request);
    wait();
    for (unsigned i = 2; i < TLB_MOST; i++)
        first[i * PAGE]++; /* Its translation is looked up anew. */
    if (first[PAGE] != 42)
        exit(7);
    request.kind = 77;
    return request;
}

/* What leads to entries of the page table. */
static struct chasqui_mpinp_request harm_pages(const char *what)
{
    uint32_t each = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_ENTRIES];
    if (!strcmp(what, "beyond"))
        return send_of(3 * each, 5000);
    if (!strcmp(what, "foreign"))
        return send_of(0, 5000);
    if (!strcmp(what, "free"))
        return send_of(2 * each - 1, 5000);
    if (!strcmp(what, "reuse")) {
        uint32_t entry = pin(101, 5000, 0);
        ioctl(card, CHASQUI_MPINP_CONTROL_UNPIN, 101L);
        return send_of(entry, 5000);
    }
    struct chasqui_mpinp_request request = send_of(0, 64);
    if (!strcmp(what, "long")) { /* a page more than what is pinned */
        request = send_of(pin(101, 5000, 0), 8000);
        request.offset = 4095;
        return request;
    }
    request.flags = CHASQUI_MPINP_IN_PAGE;
    if (!strcmp(what, "read")) {
        pin(101, 64, 0);
        request.kind = CHASQUI_MPINP_RECEIVE;
    }
    return request;
}

/* A reduction with rank 0, which takes no part. */
static struct chasqui_mpinp_request harm_collective(const char *what)
{
    uint32_t none = CHASQUI_MPINP_NO_PROCESS, rank = !strcmp(what, "tree") ? (uint32_t)ni->ranks : none;
    struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_COLLECTIVE,
                                            .flags = CHASQUI_MPINP_ALLREDUCE,
                                            .rank = CHASQUI_MPINP_COLLECTIVE_GIVES,
                                            .valid = CHASQUI_MPINP_SUM | CHASQUI_MPINP_INT64 << 8,
                                            .context = 12345,
                                            .bytes = 64,
                                            .entry = CHASQUI_MPINP_WINDOW_DATA,
                                            .sequence = none | 0 << 8 | rank << 16};
    if (!strcmp(what, "length"))
        request.bytes = CHASQUI_MPINP_COLLECTIVE_BYTES + 8;
    if (!strcmp(what, "operation"))
        request.valid = CHASQUI_MPINP_XOR | CHASQUI_MPINP_DOUBLE << 8;
    if (!strcmp(what, "outside"))
        request.entry = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES] - 32;
    if (!strcmp(what, "common"))
        request.flags = CHASQUI_MPINP_REDUCE;
    if (!strcmp(what, "rooted") || !strcmp(what, "blocks") || !strcmp(what, "shape")) {
        request.kind = CHASQUI_MPINP_ROOTED;
        request.flags = *what == 'r' ? CHASQUI_MPINP_ALLREDUCE : CHASQUI_MPINP_GATHER;
        request.valid = *what == 'b' ? (uint16_t)(ni->ranks + 1) : 3; /* of two */
    }
    return request;
}

static struct chasqui_mpinp_request send_of_window(uint32_t rank, uint32_t name, uint32_t flags)
{
    return (struct chasqui_mpinp_request){.kind = CHASQUI_MPINP_SEND,
                                          .rank = (uint16_t)rank,
                                          .name = (uint16_t)name,
                                          .flags = (uint8_t)(CHASQUI_MPINP_IN_WINDOW | flags),
                                          .context = 12345,
                                          .bytes = 8,
                                          .entry = CHASQUI_MPINP_WINDOW_DATA};
}

/* Its sender is to be told that a message was drained which was none of a synchronous send: that has forgotten it. */
static struct chasqui_mpinp_request harm_sender(void)
{
    post(send_of_window(1, 101, 0));
    wait();
    post((struct chasqui_mpinp_request){.kind = CHASQUI_MPINP_DRAIN, .rank = 1, .name = 102});
    wait();
    return (struct chasqui_mpinp_request){.kind = CHASQUI_MPINP_FETCH,
                                          .name = 102,
                                          .flags = CHASQUI_MPINP_IN_PAGE | CHASQUI_MPINP_DRAINED,
                                          .bytes = 8,
                                          .entry = pin(102, 8, CHASQUI_MPINP_PIN_WRITE)};
}

/* More to one that takes none than a ring has entries, where another channel may have the ring. */
static void flood(void)
{
    post(send_of_window(0, 100, CHASQUI_MPINP_SYNCHRONOUS));
    for (uint32_t name = 0; name < 17; name++) {
        post(send_of_window(1, name, CHASQUI_MPINP_SYNCHRONOUS));
        for (volatile int turn = 0; turn < 200; turn++)
            ;
    }
}

static void harm(const char *what)
{
    static const char *const collectives[] = {"tree",   "length", "operation", "outside", "second",
                                              "common", "rooted", "blocks",    "shape"};
    struct chasqui_mpinp_request request = {
        .kind = CHASQUI_MPINP_RECEIVE, .rank = 1, .name = 100, .valid = 2, .context = 12345};
    unsigned times = 1;
    if (!strcmp(what, "rank"))
        request.rank = (uint16_t)ni->ranks;
    else if (!strcmp(what, "name"))
        request.name = CHASQUI_MPINP_NAMES;
    else if (!strcmp(what, "kind"))
        request.kind = 77;
    else if (!strcmp(what, "window") || !strcmp(what, "odd")) {
        request.kind = CHASQUI_MPINP_SEND;
        request.flags = CHASQUI_MPINP_IN_WINDOW;
        request.bytes = 64;
        request.entry = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES] - (*what == 'o' ? 100 : 32);
    } else if (!strcmp(what, "entry"))
        times = 2;
    else if (!strcmp(what, "fetch"))
        request.kind = CHASQUI_MPINP_FETCH;
    else if (!strcmp(what, "count"))
        filled += CHASQUI_MPINP_REQUESTS + 1;
    else if (!strcmp(what, "many"))
        times = CHASQUI_MPINP_NAMES;
    else if (!strcmp(what, "twice") || !strcmp(what, "second"))
        times = 2;
    else if (!strcmp(what, "drained"))
        request = harm_sender();
    else if (!strcmp(what, "flood")) {
        flood();
        return;
    } else if (!strcmp(what, "given") || !strcmp(what, "lent") || !strcmp(what, "constant"))
        request = harm_kept(what);
    else if (!strcmp(what, "table"))
        request = harm_table();
    else
        request = harm_pages(what);
    for (unsigned i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (!strcmp(what, collectives[i]))
            request = harm_collective(what);
    for (unsigned i = 0; i < times; i++) {
        if (!strcmp(what, "many"))
            request.name = (uint16_t)i;
        post(request);
        if (!strcmp(what, "entry"))
            request.kind = CHASQUI_MPINP_ENTRY;
        for (volatile int turn = 0; turn < 2000; turn++)
            ;
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Bcast(memory, sizeof memory, MPI_CHAR, 0, MPI_COMM_WORLD); /* Entries of all. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        open_window();
        harm(argc > 1 ? argv[1] : "rank");
        for (;;)
            ;
    }
    int other = rank ? 0 : 2;
    for (int i = 0; i < 4 && rank < 3; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, other, 0, &value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (value != i)
            return 3;
    }
    if (rank < 3)
        printf("rank %d: PASSED\n", rank);
    MPI_Finalize();
    return 0;
}
