/* The thin firmware: it moves messages from windows to the wire and from the wire to the host, and knows nothing of MPI.
 *
 * Each process has slots in its window, which it fills and counts at its doorbell, and a ring of slots on the host into which
 * what comes for it goes, in the order of arrival. There is room in the ring: senders have credit of the process's software. So
 * what has come is always taken, and nothing waits on the wire for long.
 *
 * Each engine does one thing at a time. A message is received whole, then moved on.
 */
#include "card.h"

#define PROCESSES 64
#define BUFFERS 8 /* a power of two */
#define SLOT CHASQUI_MPINP_SLOT_BYTES
#define END sizeof(struct chasqui_mpinp_end)

/* What comes; a buffer begins with the message's data. */
struct buffer {
    uint64_t data[SLOT / 8];
    uint32_t bytes;
};

static struct buffer buffers[BUFFERS];
static uint32_t received, moved; /* buffers that have been filled, and that are on the host */
static uint32_t places; /* that the receiver has been given */

static struct process {
    volatile char *window;
    uint64_t host; /* physical address of its memory on the host */
    uint32_t produced; /* slots that its software has filled */
    uint32_t sent; /* that have left */
    uint32_t told; /* that its software has been told of */
    uint64_t arrived; /* messages */
    bool is_refused; /* it has done what it may not */
} processes[PROCESSES];
static uint32_t process_count, slots, ring, nodes;

/* What engines are busy with. */
static bool sends, moves, receives;
static uint32_t sender; /* process whose slot leaves */
static uint32_t teller; /* process that is told next */
static bool is_told; /* what moves to the host is a count */
static uint64_t count; /* which is this */

/* The receiver gets a place if it has none and a buffer is free. */
static void give_place(void)
{
    if (receives || places - moved == BUFFERS)
        return;
    receives = true;
    np_store(CHASQUI_NP_RECEIVE_LOCAL, local(buffers[places++ % BUFFERS].data));
    np_store(CHASQUI_NP_RECEIVE_START, SLOT);
}

/* Nothing more of the process is dealt with. */
static void refuse(uint32_t process, uint64_t why)
{
    processes[process].is_refused = true;
    processes[process].produced = processes[process].sent;
    np_store(CHASQUI_NP_FAULT, process | why);
}

/* The slot has a message that can leave. */
static bool is_message(struct chasqui_mpinp_slot slot)
{
    return slot.node < nodes && slot.bytes >= END && slot.bytes <= SLOT - sizeof slot && slot.bytes % 8 == 0;
}

static void send_next(void)
{
    for (uint32_t i = 0; i < process_count; i++) {
        sender = sender + 1 < process_count ? sender + 1 : 0;
        struct process *process = &processes[sender];
        if (process->sent == process->produced)
            continue;
        volatile char *place = process->window + 4096 + process->sent % slots * SLOT;
        /* Its process may change it meanwhile. */
        struct chasqui_mpinp_slot slot = *(const volatile struct chasqui_mpinp_slot *)place;
        if (!is_message(slot)) {
            refuse(sender, CHASQUI_NP_FAULT_SLOT);
            continue;
        }
        carry(place + sizeof slot + slot.bytes - END);
        np_store(CHASQUI_NP_SEND_TO, slot.node);
        np_store(CHASQUI_NP_SEND_LOCAL, local(place + sizeof slot));
        np_store(CHASQUI_NP_SEND_START, slot.bytes | CHASQUI_NP_SEND_LAST);
        sends = true;
        return;
    }
}

static void move(uint64_t host, uint64_t from, uint32_t bytes)
{
    np_store(CHASQUI_NP_HOST_ADDRESS, host);
    np_store(CHASQUI_NP_HOST_LOCAL, from);
    np_store(CHASQUI_NP_HOST_START, bytes | CHASQUI_NP_HOST_TO_HOST);
    moves = true;
}

/* Messages first; counts when there are none. */
static void move_next(void)
{
    while (moved != received) {
        struct buffer *buffer = &buffers[moved % BUFFERS];
        struct chasqui_mpinp_end *end = (void *)((char *)buffer->data + buffer->bytes - END);
        if (buffer->bytes < END || end->process >= process_count) {
            moved++; /* Some process has sent what is no message. */
            give_place();
            continue;
        }
        struct process *process = &processes[end->process];
        uint64_t place = process->host + 4096 + process->arrived % ring * SLOT;
        end->number = ++process->arrived;
        is_told = false;
        carry(&end->envelope);
        /* Its end is the slot's. */
        move(place + SLOT - buffer->bytes, local(buffer->data), buffer->bytes);
        return;
    }
    for (uint32_t i = 0; i < process_count; i++) {
        teller = teller + 1 < process_count ? teller + 1 : 0;
        struct process *process = &processes[teller];
        if (process->told == process->sent)
            continue;
        process->told = process->sent;
        count = process->sent;
        is_told = true;
        move(process->host + CHASQUI_MPINP_HOST_SENT, local(&count), sizeof count);
        return;
    }
}

static void begin(void)
{
    uint64_t window = np_load(CHASQUI_NP_SETTING_WINDOWS), window_bytes = np_load(CHASQUI_NP_SETTING_WINDOW_BYTES);
    uint64_t host = np_load(CHASQUI_NP_SETTING_HOST_MEMORY), host_bytes = np_load(CHASQUI_NP_SETTING_HOST_MEMORY_BYTES);
    process_count = (uint32_t)np_load(CHASQUI_NP_SETTING_PROCESSES);
    check(process_count <= PROCESSES);
    nodes = (uint32_t)np_load(CHASQUI_NP_SETTING_NODES);
    slots = (uint32_t)(window_bytes - 4096) / SLOT;
    ring = (uint32_t)(host_bytes - 4096) / SLOT;
    for (uint32_t i = 0; i < process_count; i++) {
        processes[i].window = at(window + i * window_bytes);
        processes[i].host = host + i * host_bytes;
    }
    give_place();
}

static void doorbells(void)
{
    uint64_t rung = np_load(CHASQUI_NP_DOORBELLS);
    for (uint32_t i = 0; rung; i++, rung >>= 1) {
        struct process *process = &processes[i];
        if (!(rung & 1) || process->is_refused)
            continue;
        process->produced = *(volatile uint32_t *)(process->window + CHASQUI_MPINP_DOORBELL);
        if (process->produced - process->sent > slots)
            refuse(i, CHASQUI_NP_FAULT_COUNT);
    }
}

void _start(void)
{
    begin();
    for (;;) {
        uint64_t event = np_load(CHASQUI_NP_EVENT);
        if (event & CHASQUI_NP_EVENT_RECEIVED) {
            uint64_t filled = np_load(CHASQUI_NP_RECEIVED);
            check(filled & CHASQUI_NP_RECEIVED_LAST); /* Slots are as long on all nodes. */
            buffers[received++ % BUFFERS].bytes = (uint32_t)filled;
            receives = false;
            give_place();
        }
        if (event & CHASQUI_NP_EVENT_HOST) {
            moves = false;
            if (!is_told) {
                moved++;
                give_place();
            }
        }
        if (event & CHASQUI_NP_EVENT_SENT) {
            sends = false;
            processes[sender].sent++;
        }
        if (event & CHASQUI_NP_EVENT_DOORBELL)
            doorbells();
        if (!moves)
            move_next();
        if (!sends)
            send_next();
    }
}
