/* The driver of the VIA NIC: what the agent asks for are stores to its registers. */
#include "agent.h"

static void set_page(uint64_t entry, uint64_t page, uint64_t tag)
{
    uint64_t at = CHASQUI_VIA_TABLE + entry * CHASQUI_VIA_TABLE_BYTES;
    ni_store(at + CHASQUI_VIA_TABLE_TAG, tag);
    ni_store(at + CHASQUI_VIA_TABLE_PAGE, page);
}

static void set_queue(uint64_t number, const struct chasqui_via_queue *queue)
{
    uint64_t at = CHASQUI_VIA_QUEUES + number * CHASQUI_VIA_QUEUE_BYTES;
    ni_store(at + CHASQUI_VIA_QUEUE_ADDRESS, queue->address);
    ni_store(at + CHASQUI_VIA_QUEUE_MEMORY, queue->handle | (uint64_t)queue->entries << 32);
    ni_store(at + CHASQUI_VIA_QUEUE_TAG, queue->tag);
}

static uint64_t vi_at(uint64_t number) { return CHASQUI_VIA_VIS + number * CHASQUI_VIA_VI_BYTES; }

static void destroy(uint64_t vi) { ni_store(vi_at(vi) + CHASQUI_VIA_VI_STATE, CHASQUI_VIA_VI_IDLE); }

/* The NIC has memory for all. */
static bool create(uint64_t vi)
{
    destroy(vi);
    return true;
}

static void set_vi(uint64_t vi, uint32_t tag, uint32_t send_queue, uint32_t receive_queue)
{
    ni_store(vi_at(vi) + CHASQUI_VIA_VI_TAG, tag);
    ni_store(vi_at(vi) + CHASQUI_VIA_VI_QUEUES, send_queue | (uint64_t)receive_queue << 32);
}

static void connect(uint64_t vi, uint32_t node, uint32_t remote)
{
    ni_store(vi_at(vi) + CHASQUI_VIA_VI_REMOTE, node | (uint64_t)remote << 32);
    ni_store(vi_at(vi) + CHASQUI_VIA_VI_STATE, CHASQUI_VIA_VI_CONNECTED);
}

/* The NIC compares: an entry that came before the queue was armed interrupts, too. */
static bool arm(uint64_t queue, uint32_t consumed)
{
    ni_store(CHASQUI_VIA_QUEUES + queue * CHASQUI_VIA_QUEUE_BYTES + CHASQUI_VIA_QUEUE_ARM, consumed);
    return false;
}

/* The second load waits until the store has been seen, so that the line is down. */
static void via_interrupt(void)
{
    ni_store(CHASQUI_VIA_CAUSE, ni_load(CHASQUI_VIA_CAUSE));
    ni_load(CHASQUI_VIA_CAUSE);
    via_wake();
}

static const struct via_nic hardware = {.set_page = set_page,
                                        .set_queue = set_queue,
                                        .create = create,
                                        .destroy = destroy,
                                        .set_vi = set_vi,
                                        .connect = connect,
                                        .arm = arm};

static bool start(void)
{
    if (boot.ni.device != CHASQUI_VIA_DEVICE || via_setting(CHASQUI_VIA_SETTING_WINDOW))
        return false;
    via_begin(&hardware);
    return true;
}

static const struct driver via = {
    .start = start, .interrupt = via_interrupt, .control = via_control, .unmapped = via_unmapped};
DRIVER driver_via = &via;
