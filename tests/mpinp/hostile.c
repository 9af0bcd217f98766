/* A process that drives its window of the card itself does what it may not: rank 1, the second process of the first node.
 * Rank 0, the first, must not be harmed. It takes nothing, and looks at what has come for it: by whom, and how much.
 *
 * Usage: hostile WHAT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chasqui/abi.h"
#include "chasqui/store64.h"
#include "machines/mpinp/registers.h"

enum { PAGE = 4096, SLOT = CHASQUI_MPINP_SLOT_BYTES };

static const struct chasqui_ni_identification *ni;
static volatile char *window;
static volatile char *host;
static uint32_t filled, slots;

static void *map(int device, int rights, unsigned place, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, rights, MAP_SHARED, device, place * CHASQUI_NI_REGION_STRIDE);
    if (at == MAP_FAILED)
        exit(3);
    return at;
}

static void ring_doorbell(uint32_t count)
{
    __asm__ volatile("fence o, o" : : : "memory");
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = count;
}

static void send(struct chasqui_mpinp_head head)
{
    while (filled - *(volatile uint32_t *)(host + CHASQUI_MPINP_HOST_SENT) == slots)
        ;
    uint64_t words[2];
    memcpy(words, &head, sizeof words);
    volatile uint64_t *slot = (volatile void *)(window + PAGE + filled % slots * SLOT);
    slot[0] = words[0];
    slot[1] = words[1];
    slot[2] = filled;
    ring_doorbell(++filled);
}

/* To rank 0, the first process of node 0. */
static const struct chasqui_mpinp_head RIGHT = {.node = 0, .process = 0, .bytes = 8, .to = 7, .credit = 0, .counts = 1};

static void do_wrong(const char *what)
{
    struct chasqui_mpinp_head head = RIGHT;
    uint64_t credit = ni->settings[CHASQUI_MPINP_SETTING_CREDIT];
    if (strcmp(what, "credit") == 0)
        for (uint64_t i = 0; i <= credit; i++)
            send(head);
    if (strcmp(what, "doorbell") == 0)
        ring_doorbell(slots + 1);
    if (strcmp(what, "node") == 0)
        head.node = 2;
    if (strcmp(what, "process") == 0)
        head.process = 2;
    if (strcmp(what, "bytes") == 0)
        head.bytes = CHASQUI_MPINP_SLOT_DATA_BYTES + 1;
    if (strcmp(what, "counts") == 0)
        head.counts = 2;
    if (strcmp(what, "given") == 0)
        head.credit = 1;
    if (strcmp(what, "back") == 0)
        head.credit = UINT32_MAX;
    if (strcmp(what, "alone") == 0)
        head.counts = 0;
    if (strcmp(what, "wide") == 0)
        chasqui_store_64(window + PAGE, (const uint64_t[8]){0});
    send(head);
}

/* What has come to rank 0 is rank 1's, and no more than that has credit for. */
static void look(void)
{
    uint64_t ring = (ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES] - PAGE) / SLOT;
    uint64_t credit = ni->settings[CHASQUI_MPINP_SETTING_CREDIT];
    for (uint64_t i = 0; i < ring; i++) {
        const volatile char *slot = host + PAGE + i * SLOT + SLOT - sizeof(struct chasqui_mpinp_end);
        const volatile struct chasqui_mpinp_end *end = (const volatile void *)slot;
        while (i < credit && end->number != i + 1)
            ;
        if (end->number == 0)
            continue;
        if (end->head.node != 0 || end->head.process != 1 || end->head.to != 0 || i >= credit)
            exit(4);
        if (*(const volatile uint64_t *)(slot - 8) != i)
            exit(5);
    }
    printf("right\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int device = open("/dev/ni0", O_RDWR);
    if (argc < 2 || device < 0)
        return 3;
    ni = map(device, PROT_READ, 0, PAGE);
    const int both = PROT_READ | PROT_WRITE;
    /* Regions lie behind the page. */
    window = map(device, both, 1 + CHASQUI_MPINP_REGION_WINDOW, ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES]);
    host = map(device, both, 1 + CHASQUI_MPINP_REGION_HOST, ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES]);
    slots = (uint32_t)(ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES] - PAGE) / SLOT;
    if (ni->rank == 1)
        do_wrong(argv[1]);
    if (ni->rank == 0 && strcmp(argv[1], "credit") == 0)
        look();
    if (ni->rank < 2)
        for (volatile int wait = 0;;)
            wait++;
    return 0;
}
