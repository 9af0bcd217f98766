/* A process that drives its list of tags itself does what it may not: rank 1, the second process of the first node. Rank 0 does
 * nothing.
 *
 * Usage: tagged WHAT
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chasqui/abi.h"
#include "machines/mpinp/registers.h"

enum { PAGE = 4096, KEY = 77 };

static const struct chasqui_ni_identification *ni;
static volatile char *window;

static void *map(int device, int rights, unsigned place, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, rights, MAP_SHARED, device, place * CHASQUI_NI_REGION_STRIDE);
    if (at == MAP_FAILED)
        exit(3);
    return at;
}

static void ring(uint64_t doorbell, uint32_t count)
{
    __asm__ volatile("fence o, o" : : : "memory");
    *(volatile uint32_t *)(window + doorbell) = count;
}

static void store(volatile char *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word;
        memcpy(&word, (const char *)from + i, sizeof word);
        *(volatile uint64_t *)(to + i) = word;
    }
}

/* To itself, the second process of node 0: a message that the entry matches. */
static void send(void)
{
    struct chasqui_envelope envelope = {
        .kind = CHASQUI_PACKET_EAGER, .source = 1, .destination = 1, .tag = KEY, .bytes = 8};
    struct chasqui_mpinp_head head = {.node = 0, .process = 1, .bytes = 8, .counts = 1};
    store(window + PAGE, &head, sizeof head);
    store(window + PAGE + sizeof head + 8, &envelope, sizeof envelope);
    ring(CHASQUI_MPINP_DOORBELL, 1);
}

int main(int argc, char **argv)
{
    int device = open("/dev/ni0", O_RDWR);
    if (argc < 2 || device < 0)
        return 3;
    ni = map(device, PROT_READ, 0, PAGE);
    window = map(device, PROT_READ | PROT_WRITE, 1 + CHASQUI_MPINP_REGION_WINDOW,
                 ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES]);
    static char buffer[64];
    struct chasqui_mpinp_tag request = {.key = chasqui_match_key(1, 0, KEY),
                                        .address = (uintptr_t)buffer,
                                        .bytes = sizeof buffer,
                                        .kind = CHASQUI_MPINP_TAG_APPEND};
    uint32_t count = 1;
    if (strcmp(argv[1], "entry") == 0)
        request.entry = (uint16_t)ni->settings[CHASQUI_MPINP_SETTING_TAGS];
    if (strcmp(argv[1], "kind") == 0)
        request.kind = CHASQUI_MPINP_TAG_REMOVE + 1;
    if (strcmp(argv[1], "count") == 0)
        count = CHASQUI_MPINP_TAG_REQUESTS + 1;
    if (strcmp(argv[1], "buffer") == 0)
        request.address = 64;
    if (strcmp(argv[1], "readable") == 0)
        request.address = (uintptr_t)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ni->rank == 1) {
        store(window, &request, sizeof request);
        ring(CHASQUI_MPINP_TAG_DOORBELL, count);
        send();
    }
    for (volatile int wait = 0; wait < 1000000; wait++)
        ;
    return 0;
}
