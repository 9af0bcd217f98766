/* The MPI device of the template machine. A message is stored to the NI word by word; what arrives the NI writes into a
 * ring in the process's memory, which is polled in the cache until the NI's write drops the line. Long messages go in
 * segments, which is the library's matter.
 *
 * Coherence: the NI's writes are bus transactions that the caches snoop. Only order must be seen to: a store to the NI
 * must not pass the accesses to memory that it refers to. */
#include "mpi/device.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "registers.h"

#define PAGE 4096u

static volatile char *registers;
static struct chasqui_template_slot *ring;
static uint32_t fifo, slots;
static uint32_t sent, left; /* Messages: all, and those known to have left the FIFO. */
static uint32_t received; /* Arrivals that were dealt with. */

#define REGISTER(name) (*(volatile uint64_t *)(registers + CHASQUI_TEMPLATE_##name))

/* Earlier accesses to memory come before the store to the NI that follows. */
static inline void fence_before_register(void) { __asm__ volatile("fence rw, o" : : : "memory"); }

/* What the NI has written last comes before the loads that follow. */
static inline void fence_after_arrival(void) { __asm__ volatile("fence r, r" : : : "memory"); }

/* Memory that begins with a page, in which no slot crosses the end of one. */
static void *new_pages(size_t bytes)
{
    char *block = malloc(bytes + PAGE);
    if (!block)
        return NULL;
    char *pages = block + (-(uintptr_t)block & (PAGE - 1));
    memset(pages, 0, bytes);
    return pages;
}

static bool template_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    fifo = (uint32_t)ni->settings[CHASQUI_TEMPLATE_SETTING_FIFO];
    slots = (uint32_t)ni->settings[CHASQUI_TEMPLATE_SETTING_SLOTS];
    registers = chq_platform_map(ni_fd, CHASQUI_NI_REGION_STRIDE, ni->regions[0].bytes);
    ring = new_pages(slots * sizeof *ring);
    if (!registers || !ring)
        return false;
    fence_before_register();
    REGISTER(RING) = (uintptr_t)ring;
    return true;
}

static void template_close(void) {}

/* The next words of the message. */
static void store(const void *from, size_t bytes)
{
    const char *next = from;
    uint64_t word;
    for (; bytes >= sizeof word; bytes -= sizeof word, next += sizeof word) {
        chq_copy(&word, next, sizeof word);
        REGISTER(DATA) = word;
    }
    if (bytes) {
        word = 0;
        memcpy(&word, next, bytes);
        REGISTER(DATA) = word;
    }
}

static bool template_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    if (unlikely(sent - left == fifo))
        left = (uint32_t)REGISTER(LEFT);
    if (unlikely(sent - left == fifo))
        return false;
    store(envelope, sizeof *envelope);
    store(payload, bytes);
    REGISTER(SEND) = bytes;
    sent++;
    MARK_READY(envelope);
    return true;
}

/* At most a ring of arrivals: a sender that is faster would keep a process that waits from what it waits for. */
static void template_poll(void)
{
    const uint32_t first = received;
    const struct chasqui_template_slot *slot = &ring[received & (slots - 1)];
    while (*(volatile const uint32_t *)&slot->number == received + 1 && received - first < slots) {
        fence_after_arrival();
        mpi_arrived(&slot->envelope, slot->data, slot->bytes);
        received++;
        slot = &ring[received & (slots - 1)];
    }
    if (received != first) {
        fence_before_register();
        REGISTER(RELEASED) = received;
    }
}

struct mpi_device mpi_device_template = {
    .name = "template",
    .id = CHASQUI_TEMPLATE_DEVICE,
    .interface = CHASQUI_TEMPLATE_INTERFACE,
    .open = template_open,
    .close = template_close,
    .eager_bytes_max = CHASQUI_TEMPLATE_DATA_BYTES,
    .send = template_send,
    .poll = template_poll,
};
