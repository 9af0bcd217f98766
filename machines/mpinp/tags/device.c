/* The MPI device over the thin firmware of a card with a list of tags (mpinp-modern/tags): the list matches what it has room
 * for, the library the rest. What it adds to the device without a list is in tags.h, and below. */
#define MPINP_TAGS
/* Behind all other instructions and constants: link.ld has room for .text and .rodata alone, and nothing that other machines execute is to move. */
#pragma clang section text = ".tags_text" rodata = ".tags_rodata"
// NOLINTNEXTLINE(bugprone-suspicious-include): it is that device, with more to it
#include "../device.c"

/* There is room for a request. */
static bool has_room(void)
{
    if (likely(posted - taken_off < CHASQUI_MPINP_TAG_REQUESTS))
        return true;
    taken_off = *(volatile uint32_t *)(host + CHASQUI_MPINP_HOST_TAGS_TAKEN);
    return posted - taken_off < CHASQUI_MPINP_TAG_REQUESTS;
}

static void post(const struct chasqui_mpinp_tag *request)
{
    store(window + posted % CHASQUI_MPINP_TAG_REQUESTS * sizeof *request, request, sizeof *request);
    posted++;
    /* What was stored to the buffer before comes to memory before the card writes there. */
    __asm__ volatile("fence rw, o" : : : "memory");
    *(volatile uint32_t *)(window + CHASQUI_MPINP_TAG_DOORBELL) = posted;
}

static enum mpi_expected tags_expect(struct request *request, uint64_t key, void *to, size_t bytes,
                                     struct chasqui_envelope *found_envelope)
{
    (void)found_envelope;
    if (unlikely(first_free == NONE || is_removing || !has_room()))
        return MPI_EXPECTED_NOT;
    post(&(struct chasqui_mpinp_tag){.key = key,
                                     .address = (uint64_t)(uintptr_t)to,
                                     .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
                                     .unexpected = unexpected,
                                     .entry = take_entry(request),
                                     .kind = CHASQUI_MPINP_TAG_APPEND});
    return MPI_EXPECTED_WAITS;
}

static bool tags_withdraw(struct request *request, uint64_t key)
{
    (void)key;
    for (; request->posted && request->expected && !has_room(); chq_pause())
        mpinp_poll();
    uint16_t number = newest;
    while (number != NONE && entries[number].request != request)
        number = entries[number].previous;
    if (!request->posted || number == NONE)
        return request->posted;
    is_removing = true;
    post(&(struct chasqui_mpinp_tag){.entry = number, .kind = CHASQUI_MPINP_TAG_REMOVE});
    for (; is_removing; chq_pause())
        mpinp_poll();
    return request->posted;
}

/* What the library matches comes to it whole. */
static void tags_listen(uint64_t key) { (void)key; }

extern struct mpi_device mpi_device_tags; /* below */

static bool tags_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    uint16_t count = (uint16_t)ni->settings[CHASQUI_MPINP_SETTING_TAGS];
    if (!mpinp_open(ni, ni_fd))
        return false;
    entries = chq_malloc(count * sizeof *entries);
    for (uint16_t number = 0; number < count; number++)
        entries[number] = (struct entry){.next = number + 1 < count ? (uint16_t)(number + 1) : NONE};
    first_free = count > 0 ? 0 : NONE;
    if (!long_open(ni, ni_fd)) {
        mpi_device_tags.put = NULL;
        mpi_device_tags.expose = NULL;
    }
    return true;
}

static const char name[] = "tags";

struct mpi_device mpi_device_tags = {
    .name = name,
    .id = CHASQUI_MPINP_TAGS_DEVICE,
    .interface = CHASQUI_MPINP_INTERFACE,
    .open = tags_open,
    .close = mpinp_close,
    .eager_bytes_max = CHASQUI_MPINP_SLOT_DATA_BYTES,
    .send = mpinp_send,
    .poll = mpinp_poll,
    .put = mpinp_put,
    .expose = mpinp_expose,
    .expect = tags_expect,
    .withdraw = tags_withdraw,
    .listen = tags_listen,
};
