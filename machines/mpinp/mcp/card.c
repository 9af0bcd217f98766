/* The card as the host's software sees it: requests are stored to the window, events come to a ring in memory. No load
 * crosses the I/O bus. */
#include "host.h"
#include "mpi/runtime/memory.h"

static volatile char *window;
static char *host;
static int device; /* file descriptor */
static uint32_t filled, taken; /* requests: posted, and those that were taken as far as is known */
static uint32_t seen; /* events */
static uint32_t *blocks, block_count; /* of the window, that are free: a stack */
static size_t longest; /* data there [bytes] */

/* Earlier stores, to memory and to the card, are done before the doorbell that follows. */
static inline void fence_before_doorbell(void) { __asm__ volatile("fence ow, o" : : : "memory"); }
/* What the card has written last comes before the loads that follow. */
static inline void fence_after_event(void) { __asm__ volatile("fence r, r" : : : "memory"); }

static void mcp_window_open(uint32_t end)
{
    uint32_t bytes = (uint32_t)((longest + 7) & ~(size_t)7), count = (end - CHASQUI_MPINP_WINDOW_DATA) / bytes;
    blocks = chq_malloc(count * sizeof *blocks);
    while (count > 0)
        blocks[block_count++] = (uint32_t)CHASQUI_MPINP_WINDOW_DATA + --count * bytes;
}

bool mcp_card_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    const struct chasqui_ni_region *regions = ni->regions;
    window = chq_platform_map(ni_fd, CHASQUI_MPINP_REGION_WINDOW * CHASQUI_NI_REGION_STRIDE + CHASQUI_NI_REGION_STRIDE,
                              regions[CHASQUI_MPINP_REGION_WINDOW].bytes);
    host = chq_platform_map(ni_fd, CHASQUI_MPINP_REGION_HOST * CHASQUI_NI_REGION_STRIDE + CHASQUI_NI_REGION_STRIDE,
                            regions[CHASQUI_MPINP_REGION_HOST].bytes);
    if (!window || !host)
        return false;
    longest = ni->settings[CHASQUI_MPINP_SETTING_PIO_BYTES];
    mcp_window_open((uint32_t)ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES]);
    device = ni_fd;
    mcp_pages_open(ni);
    return true;
}

void *mcp_card_collected(void) { return host + CHASQUI_MPINP_HOST_COLLECTED; }

void mcp_card_count(uint64_t reason) { *(volatile uint64_t *)(window + CHASQUI_MPINP_WINDOW_REASON) = reason; }

long mcp_card_control(uint64_t request, uint64_t argument) { return chq_platform_control(device, request, argument); }

uint32_t mcp_card_room(void)
{
    uint32_t room = CHASQUI_MPINP_REQUESTS - (filled - taken);
    if (likely(room > 0))
        return room;
    uint32_t told = (uint32_t)*(volatile uint64_t *)(host + CHASQUI_MPINP_HOST_TAKEN);
    if ((int32_t)(told - taken) > 0)
        taken = told;
    return CHASQUI_MPINP_REQUESTS - (filled - taken);
}

void mcp_card_post(const struct chasqui_mpinp_request *request)
{
    volatile char *place = window + filled % CHASQUI_MPINP_REQUESTS * sizeof *request;
    for (size_t i = 0; i < sizeof *request; i += 8) {
        uint64_t word;
        chq_copy(&word, (const char *)request + i, sizeof word);
        *(volatile uint64_t *)(place + i) = word;
    }
    filled++;
    fence_before_doorbell();
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = filled;
}

uint32_t mcp_card_posted(void) { return filled; }

const struct chasqui_mpinp_event *mcp_card_event(void)
{
    const struct chasqui_mpinp_event *event =
        (const void *)(host + CHASQUI_MPINP_HOST_EVENTS + seen % CHASQUI_MPINP_EVENTS * sizeof *event);
    if (*(volatile const uint32_t *)&event->number != seen + 1)
        return NULL;
    fence_after_event();
    seen++;
    if ((int32_t)(event->taken - taken) > 0)
        taken = event->taken;
    return event;
}

/* In .text, which lies behind the sections of the device's other functions (link.ld): where hosts poll it moves none. */
__attribute__((section(".text"))) void mcp_card_wait(void)
{
    if (filled - taken == CHASQUI_MPINP_REQUESTS)
        mcp_card_control(CHASQUI_MPINP_CONTROL_WAIT_ROOM, seen | (uint64_t)taken << 32);
    else
        mcp_card_control(CHASQUI_MPINP_CONTROL_WAIT, seen);
}

/* --- data in the window --- */

uint32_t mcp_window_take(void) { return block_count > 0 ? blocks[--block_count] : 0; }

void mcp_window_give(uint32_t address) { blocks[block_count++] = address; }

size_t mcp_window_bytes(void) { return longest; }

void mcp_window_store(uint32_t address, const void *from, size_t bytes)
{
    const char *next = from;
    for (volatile char *to = window + address; bytes > 0; next += 8, to += 8) {
        uint64_t word = 0;
        size_t here = bytes < 8 ? bytes : 8;
        if (likely(here == 8))
            chq_copy(&word, next, sizeof word);
        else
            memcpy(&word, next, here);
        *(volatile uint64_t *)to = word;
        bytes -= here;
    }
}
