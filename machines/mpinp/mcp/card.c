/* The card as the host's software sees it: requests are stored to the window, events come to a ring in memory. No load
 * crosses the I/O bus. */
#include "host.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"

#define SMALL 256u /* memory for short data comes in blocks of this size [bytes] */

/* Blocks of one size that are free: a stack. */
struct blocks {
    uint32_t *free;
    uint32_t count;
    size_t bytes;
};

static volatile char *window;
static char *host;
static uint32_t filled, taken; /* requests: posted, and those that were taken as far as is known */
static uint32_t seen; /* events */
static struct blocks small[MCP_MEMORIES], large[MCP_MEMORIES];
static size_t longest; /* data in the window [bytes] */

/* Earlier stores, to memory and to the card, are done before the doorbell that follows. */
static inline void fence_before_doorbell(void) { __asm__ volatile("fence ow, o" : : : "memory"); }
/* What the card has written last comes before the loads that follow. */
static inline void fence_after_event(void) { __asm__ volatile("fence r, r" : : : "memory"); }

static void mcp_blocks_open(struct blocks *blocks, uint32_t first, uint32_t end, size_t bytes)
{
    uint32_t count = (uint32_t)((end - first) / bytes);
    blocks->free = chq_malloc((count ? count : 1) * sizeof *blocks->free);
    blocks->bytes = bytes;
    blocks->count = count;
    for (uint32_t i = 0; i < count; i++)
        blocks->free[i] = first + (uint32_t)((count - 1 - i) * bytes);
}

/* A small block for each receive that the card may have, and as much for sends; of the rest, two thirds for receives. */
static void mcp_memory_open(uint32_t window_end, uint32_t host_end)
{
    uint32_t first = CHASQUI_MPINP_HOST_DATA, each = CHASQUI_MPINP_NAMES * SMALL;
    if (host_end < first + 2 * each + 4 * MCP_PART)
        chq_die("mpinp: too little memory on the host (mpinp.shared.host)");
    uint32_t begin = first + 2 * each, split = begin + (host_end - begin) / 3 / MCP_PART * MCP_PART;
    mcp_blocks_open(&small[MCP_WINDOW], CHASQUI_MPINP_WINDOW_DATA, window_end, (longest + 7) & ~(size_t)7);
    mcp_blocks_open(&small[MCP_SENDS], first, first + each, SMALL);
    mcp_blocks_open(&small[MCP_RECEIVES], first + each, begin, SMALL);
    mcp_blocks_open(&large[MCP_WINDOW], 0, 0, 1);
    mcp_blocks_open(&large[MCP_SENDS], begin, split, MCP_PART);
    mcp_blocks_open(&large[MCP_RECEIVES], split, host_end, MCP_PART);
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
    mcp_memory_open((uint32_t)ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES],
                    (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES]);
    return true;
}

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

/* --- memory --- */

static struct blocks *mcp_blocks_for(enum mcp_memory memory, size_t bytes)
{
    return bytes <= small[memory].bytes ? &small[memory] : &large[memory];
}

uint32_t mcp_memory_take(enum mcp_memory memory, size_t bytes, uint32_t left)
{
    struct blocks *blocks = mcp_blocks_for(memory, bytes);
    if (unlikely(bytes > blocks->bytes || blocks->count <= (blocks == &small[memory] ? 0 : left)))
        return 0;
    return blocks->free[--blocks->count];
}

void mcp_memory_give(enum mcp_memory memory, uint32_t address, size_t bytes)
{
    struct blocks *blocks = mcp_blocks_for(memory, bytes);
    blocks->free[blocks->count++] = address;
}

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

void *mcp_memory_at(uint32_t address) { return host + address; }
