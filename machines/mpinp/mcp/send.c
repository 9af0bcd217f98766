/* Sends: short data are stored to the window, and the send is complete; the card reads others from the pages where they are,
 * which are pinned until they have left.
 *
 * What is sent keeps its name, its place in a ring and its pages until it has left, which may be long if its receive comes
 * late. So that it is in nobody's way it is *pressed* where others wait for these: its receiver drains it. */
#include "host.h"
#include "mpi/runtime/memory.h"

#define RING 16 /* messages of a destination that the card keeps: PROTOCOL_RING_ENTRIES */

/* By destination. The card's ring gives places back in order. */
struct destination {
    uint16_t oldest, newest; /* numbers of messages */
    uint16_t pressed; /* messages before this were pressed, if any was */
    bool is_pressed; /* some of them are not over */
    bool is_over[RING];
    struct request *first, *last; /* sends that wait for room */
};

static struct destination *destinations;
static uint32_t waiting; /* destinations for which sends wait */
static struct request *drained; /* synchronous sends that await their receives, which the card does not know any more */
static enum { ROOM_CARD, ROOM_RING, ROOM_COMMON } lacking; /* what the last send that found no room lacked */

void mcp_send_init(void)
{
    destinations = chq_malloc(chq.size * sizeof *destinations);
    memset(destinations, 0, chq.size * sizeof *destinations);
}

/* Waiting sends are linked by their nodes. */
static struct request *mcp_next_of(const struct request *request) { return (struct request *)request->node.next; }

/* Short data find room in the window, others are pinned. False: neither, at this moment. */
static bool mcp_place_data(uint32_t number, bool is_pinned)
{
    struct mcp_name *name = mcp_name_of(number);
    if (name->bytes <= mcp_window_bytes()) {
        name->entry = mcp_window_take();
        name->is_in_window = name->entry != 0;
        if (name->is_in_window) {
            mcp_window_store(name->entry, name->data, name->bytes);
            return true;
        }
    }
    return is_pinned && mcp_pin(number, ENTRIES_LEFT);
}

/* `request` may be null if the data are short: then they are not pinned. MCP_NONE: there is no room at this moment. */
static uint32_t mcp_send_post(const struct chasqui_envelope *envelope, const void *payload, enum send_mode mode,
                              struct request *request)
{
    struct destination *to = &destinations[envelope->destination];
    lacking = ROOM_RING;
    if ((uint16_t)(to->newest - to->oldest) == RING)
        return MCP_NONE;
    lacking = ROOM_CARD;
    if (mcp_card_room() == 0)
        return MCP_NONE;
    lacking = ROOM_COMMON;
    uint32_t number = mcp_name_take(NAMES_LEFT);
    if (number == MCP_NONE)
        return MCP_NONE;
    struct mcp_name *name = mcp_name_of(number);
    *name = (struct mcp_name){.kind = CHASQUI_MPINP_SEND,
                              .data = (char *)(uintptr_t)payload,
                              .rank = envelope->destination,
                              .number = to->newest,
                              .bytes = envelope->bytes};
    if (!mcp_place_data(number, request)) {
        mcp_name_give(number);
        return MCP_NONE;
    }
    to->is_over[to->newest++ % RING] = false;
    if (mode == MODE_SYNCHRONOUS || !name->is_in_window)
        name->request = request;
    struct chasqui_mpinp_request send = {
        .kind = CHASQUI_MPINP_SEND,
        .flags = (uint8_t)((mode == MODE_SYNCHRONOUS ? CHASQUI_MPINP_SYNCHRONOUS : 0) |
                           (mode == MODE_READY ? CHASQUI_MPINP_READY : 0)),
        .rank = envelope->destination,
        .context = envelope->context,
        .tag = envelope->tag,
        .sequence = envelope->sequence,
    };
    mcp_fill(&send, number);
    mcp_card_post(&send);
    MARK_READY(envelope);
    return number;
}

bool mcp_send_short(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    (void)bytes;
    return mcp_send_post(envelope, payload, MODE_STANDARD, NULL) != MCP_NONE;
}

/* False: no room. */
static bool mcp_send_request(struct request *request)
{
    enum send_mode mode = (enum send_mode)request->stamp;
    uint32_t number = mcp_send_post(&request->envelope, request->buffer, mode, request);
    if (number == MCP_NONE)
        return false;
    request->posted = false;
    request->stamp = number;
    if (mcp_name_of(number)->request)
        return true;
    chq_tell();
    request_complete(request);
    return true;
}

/* --- sends that wait for room, by destination --- */

static void mcp_press(uint32_t rank)
{
    struct destination *to = &destinations[rank];
    if (to->is_pressed || to->oldest == to->newest || mcp_card_room() == 0)
        return;
    to->is_pressed = true;
    to->pressed = to->newest;
    struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_PRESS, .rank = (uint16_t)rank};
    mcp_card_post(&request);
}

/* The oldest message has been overtaken. One that has not may just be on its way, or its receiver is crowded with all. */
static bool mcp_is_stuck(const struct destination *to)
{
    for (unsigned i = 0; i < RING; i++)
        if (to->is_over[i])
            return true;
    return false;
}

/* A send to `rank` has found no room. */
static void mcp_make_room(uint32_t rank)
{
    if (lacking == ROOM_RING && mcp_is_stuck(&destinations[rank]))
        mcp_press(rank);
    for (uint32_t other = 0; lacking == ROOM_COMMON && other < chq.size; other++)
        mcp_press(other);
}

static bool mcp_sends_step(struct blocked *blocked)
{
    (void)blocked;
    for (uint32_t rank = 0; rank < chq.size && waiting > 0; rank++) {
        struct destination *to = &destinations[rank];
        while (to->first) {
            struct request *request = to->first, *next = mcp_next_of(request);
            if (!mcp_send_request(request)) {
                mcp_make_room(rank);
                break;
            }
            to->first = next;
            if (!next)
                waiting--;
        }
    }
    return waiting == 0;
}

static bool is_blocked;

static void mcp_sends_gone(struct blocked *blocked)
{
    (void)blocked;
    is_blocked = false;
}

static struct blocked blocked_sends = {.step = mcp_sends_step, .gone = mcp_sends_gone};

static void mcp_start(struct request *request, enum send_mode mode)
{
    struct destination *to = &destinations[request->envelope.destination];
    request->stamp = mode;
    if (!to->first && mcp_send_request(request))
        return;
    request->posted = true;
    request->node.next = NULL;
    if (to->first) {
        to->last->node.next = &request->node;
    } else {
        to->first = request;
        waiting++;
        if (!is_blocked)
            chq_block(&blocked_sends);
        is_blocked = true;
    }
    to->last = request;
}

void mcp_send(struct request *request, enum send_mode mode)
{
    request->envelope.kind = CHASQUI_PACKET_EAGER;
    MARK_SEND(&request->envelope, request->buffer);
    mcp_start(request, mode);
}

void mcp_send_refused(struct request *request) { mcp_start(request, MODE_STANDARD); }

/* One that waits here, of which the card knows nothing. */
static void mcp_take_back(struct request *request)
{
    struct destination *to = &destinations[request->envelope.destination];
    struct request *before = NULL, *found = to->first;
    for (; found != request; found = mcp_next_of(found))
        before = found;
    if (before)
        before->node.next = request->node.next;
    else
        to->first = mcp_next_of(request);
    if (to->last == request)
        to->last = before;
    if (!to->first)
        waiting--; /* Its step finds out. */
    chq_cancelled(request);
}

void mcp_send_cancel(struct request *request)
{
    if (request->posted) {
        mcp_take_back(request);
        return;
    }
    while (mcp_card_room() == 0)
        mcp_look();
    if (request->complete)
        return;
    if (request->stamp == MCP_NONE) {
        mcp_note(request->envelope.destination, CHASQUI_MPINP_NOTE_CANCEL, request->envelope.sequence);
        return;
    }
    mcp_name_of((uint32_t)request->stamp)->is_withdrawn = true;
    struct chasqui_mpinp_request cancel = {.kind = CHASQUI_MPINP_CANCEL, .name = (uint16_t)request->stamp};
    mcp_card_post(&cancel);
}

/* --- events --- */

/* The card has forgotten it; its receiver's host has it. */
static void mcp_send_drained(const struct mcp_name *name, struct request *request)
{
    if (name->is_met) {
        request_complete(request);
        return;
    }
    request->stamp = MCP_NONE;
    request->node.next = drained ? &drained->node : NULL;
    drained = request;
    if (name->is_withdrawn)
        mcp_note(name->rank, CHASQUI_MPINP_NOTE_CANCEL, request->envelope.sequence);
}

/* It may come before the event of the send. */
static void mcp_met_early(uint32_t sequence)
{
    for (uint32_t number = 0; number < CHASQUI_MPINP_NAMES; number++) {
        struct mcp_name *name = mcp_name_of(number);
        if (name->kind == CHASQUI_MPINP_SEND && name->request && name->request->envelope.sequence == sequence)
            name->is_met = true;
    }
}

void mcp_drained_over(uint32_t sequence, bool is_cancelled)
{
    struct request *before = NULL, *request = drained;
    for (; request && request->envelope.sequence != sequence; request = mcp_next_of(request))
        before = request;
    if (!request) {
        mcp_met_early(sequence);
        return;
    }
    if (before)
        before->node.next = request->node.next;
    else
        drained = mcp_next_of(request);
    if (is_cancelled)
        chq_cancelled(request);
    else
        request_complete(request);
}

void mcp_sent(const struct chasqui_mpinp_event *event)
{
    uint32_t number = event->name;
    struct mcp_name name = *mcp_name_of(number);
    struct destination *to = &destinations[name.rank];
    struct request *request = name.request;
    to->is_over[name.number % RING] = true;
    while (to->oldest != to->newest && to->is_over[to->oldest % RING]) {
        to->is_over[to->oldest++ % RING] = false;
        to->is_pressed = to->is_pressed && to->oldest != to->pressed;
    }
    if (name.is_in_window)
        mcp_window_give(name.entry);
    else
        mcp_unpin(number);
    mcp_name_give(number);
    if (!request)
        return;
    if (event->result == CHASQUI_MPINP_CANCELLED)
        chq_cancelled(request);
    else if (event->entry)
        mcp_send_drained(&name, request);
    else
        request_complete(request);
}
