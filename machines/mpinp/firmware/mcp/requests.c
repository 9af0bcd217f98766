/* Requests of processes: each may name what is its own. */
#include "mcp.h"

static uint32_t waiting; /* requests of all processes */
static uint32_t served; /* process whose request was taken last */

void refuse(unsigned process, uint64_t why)
{
    processes[process].is_refused = true;
    waiting -= processes[process].produced - processes[process].taken;
    processes[process].produced = processes[process].taken;
    np_store(CHASQUI_NP_FAULT, process | why);
}

void requests_rung(void)
{
    uint64_t rung = np_load(CHASQUI_NP_DOORBELLS);
    for (uint32_t i = 0; rung; i++, rung >>= 1) {
        struct process *process = &processes[i];
        if (!(rung & 1) || process->is_refused)
            continue;
        uint32_t produced = *(volatile uint32_t *)(process->window + CHASQUI_MPINP_DOORBELL);
        if (produced - process->taken > CHASQUI_MPINP_REQUESTS) {
            refuse(i, CHASQUI_NP_FAULT_COUNT);
            continue;
        }
        waiting += produced - process->produced;
        process->produced = produced;
    }
}

bool requests_wait(void) { return waiting > 0; }

/* --- what a request may name --- */

/* Its data are in the process's part of the window. */
static bool is_in_window(const struct chasqui_mpinp_request *request)
{
    return request->entry % 8 == 0 && request->entry >= CHASQUI_MPINP_WINDOW_DATA && request->entry <= window_bytes &&
           request->bytes <= least(PART, window_bytes - request->entry);
}

bool window_read(unsigned process, const struct chasqui_mpinp_request *request, uint64_t *to)
{
    if (!is_in_window(request))
        return false;
    const volatile uint64_t *from = (const volatile uint64_t *)(processes[process].window + request->entry);
    for (uint32_t i = 0; i < (request->bytes + 7) / 8; i++)
        to[i] = from[i];
    return true;
}

static uint32_t places_of(unsigned process, const struct chasqui_mpinp_request *request)
{
    return request->rank == CHASQUI_MPINP_ANY_SOURCE ? ranks_for(process) : 1;
}

static bool is_receive_allowed(unsigned process, const struct chasqui_mpinp_request *request)
{
    const struct process *of = &processes[process];
    return (request->rank < ranks_for(process) || request->rank == CHASQUI_MPINP_ANY_SOURCE) &&
           of->receives < CHASQUI_MPINP_RECEIVES;
}

static struct protocol_receive_request receive_request(unsigned process, const struct chasqui_mpinp_request *request)
{
    return (struct protocol_receive_request){
        .process = (uint16_t)process,
        .source = (uint16_t)(request->rank == CHASQUI_MPINP_ANY_SOURCE ? PROTOCOL_ANY_SOURCE
                                                                       : process * ranks + request->rank),
        .context = request->context,
        .tag = request->tag,
        .capacity_bytes = request->bytes,
        .request = request_of(process, request->name),
    };
}

/* False: its data are not the process's. Then the name stays free. */
static bool fill_transfer(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    bool is_right;
    *transfer =
        (struct transfer){.bytes = request->bytes, .sequence = request->sequence, .parts = parts_of(request->bytes)};
    if (request->kind == CHASQUI_MPINP_SEND && request->flags & CHASQUI_MPINP_IN_WINDOW) {
        transfer->is_in_window = true;
        transfer->first = request->entry;
        is_right = is_in_window(request);
    } else
        is_right = pages_take(process, transfer, request);
    if (is_right)
        transfer->kind = request->kind == CHASQUI_MPINP_SEND ? CHASQUI_MPINP_SEND : CHASQUI_MPINP_RECEIVE;
    return is_right;
}

void matched(const struct protocol_receive *receive, uint32_t sequence)
{
    struct transfer *transfer = transfer_of(receive->request);
    transfer->source = peers[receive->channel].rank;
    transfer->sequence = sequence;
    if (!transfer->is_drained)
        MARK_MATCHED(transfer);
}

/* --- requests; false: it may not --- */

static inline bool post_to_ring(unsigned channel, const struct protocol_send *send)
{
#ifdef PROTOCOL_CACHE
    if (rings_lack(channel))
        return rings_await(channel, send);
#endif
    return protocol_post_send(&protocol, channel, send);
}

static bool post_send(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    if (transfer->kind || request->rank >= ranks_for(process) || !fill_transfer(process, transfer, request))
        return false;
    transfer->channel = (uint16_t)(process * ranks + request->rank);
    transfer->source = processes[process].rank;
    MARK_TAKEN(transfer);
    return post_to_ring(transfer->channel,
                        &(struct protocol_send){.flags = request->flags & (SEND_IS_SYNCHRONOUS | SEND_IS_READY),
                                                .context = request->context,
                                                .tag = request->tag,
                                                .bytes = request->bytes,
                                                .request = request_of(process, request->name)});
}
_Static_assert((int)SEND_IS_SYNCHRONOUS == (int)CHASQUI_MPINP_SYNCHRONOUS &&
                   (int)SEND_IS_READY == (int)CHASQUI_MPINP_READY,
               "flags of sends");

static bool post_receive(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    if (transfer->kind || !is_receive_allowed(process, request) ||
        processes[process].places + places_of(process, request) > CHASQUI_MPINP_PLACES ||
        !fill_transfer(process, transfer, request))
        return false;
    struct protocol_receive_request receive = receive_request(process, request);
    transfer->places = (uint16_t)places_of(process, request);
    processes[process].receives++;
    processes[process].places += transfer->places;
    return protocol_post_receive(&protocol, &receive, &transfer->number);
}

static void answer(unsigned process, unsigned kind, uint16_t name, const struct chasqui_mpinp_event *found)
{
    struct chasqui_mpinp_event event = {.result = CHASQUI_MPINP_NOTHING};
    if (found)
        event = *found;
    event.kind = (uint8_t)kind;
    event.name = name;
    host_event(process, &event);
}

static struct chasqui_mpinp_event event_of(const struct protocol_status *status)
{
    return (struct chasqui_mpinp_event){.result = CHASQUI_MPINP_COMPLETE,
                                        .rank = peers[status->channel].rank,
                                        .tag = status->tag,
                                        .bytes = status->bytes};
}

/* --- the message that a process was shown --- */

bool requests_hold(unsigned channel, const struct protocol_header *header)
{
    struct process *process = &processes[protocol.channels[channel].process];
    if (!process->shown.is_valid || process->shown.channel != channel || process->shown.message != header->message)
        return false;
    process->shown.is_retracted = true;
    process->shown.retract = *header;
    protocol_kept(&protocol, channel, &process->shown.retract);
    return true;
}

static SELDOM void end_showing(struct process *process)
{
    process->shown.is_valid = false;
    if (!process->shown.is_retracted)
        return;
    process->shown.is_retracted = false;
    protocol_arrived(&protocol, process->shown.channel, &process->shown.retract);
}

static bool probe(unsigned process, const struct chasqui_mpinp_request *request)
{
    struct process *of = &processes[process];
    if (request->rank >= ranks_for(process) && request->rank != CHASQUI_MPINP_ANY_SOURCE)
        return false;
    struct protocol_receive_request receive = receive_request(process, request);
    struct protocol_status status;
    if (protocol_probe(&protocol, &receive, &status)) {
        of->shown.is_valid = true;
        of->shown.channel = status.channel;
        of->shown.message = status.message;
        struct chasqui_mpinp_event found = event_of(&status);
        answer(process, CHASQUI_MPINP_PROBED, request->name, &found);
        return true;
    }
    of->listens = true;
    answer(process, CHASQUI_MPINP_PROBED, request->name, NULL);
    return true;
}

static bool claim(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    if (transfer->kind || !is_receive_allowed(process, request))
        return false;
    struct protocol_receive_request receive = receive_request(process, request);
    struct protocol_status status;
    uint32_t number;
    if (!protocol_claim(&protocol, &receive, &number, &status)) {
        answer(process, CHASQUI_MPINP_CLAIMED, request->name, NULL);
        return true;
    }
    *transfer = (struct transfer){.kind = CHASQUI_MPINP_CLAIM, .number = number};
    processes[process].receives++;
    struct chasqui_mpinp_event found = event_of(&status);
    const struct stored *message =
        &stored[table_of(status.channel)][protocol.receives[number % PROTOCOL_RECEIVES].slot];
    found.context = (uint16_t)request->context;
    found.sequence = message->sequence;
    found.entry = message->is_synchronous;
    answer(process, CHASQUI_MPINP_CLAIMED, request->name, &found);
    return true;
}

/* The first in the channel's table is what a receive of its context and tag would get. */
static bool drain(unsigned process, struct transfer *transfer, struct chasqui_mpinp_request *request)
{
    if (request->rank >= ranks_for(process))
        return false;
    unsigned number = process * ranks + request->rank;
    const struct protocol_channel *channel = &protocol.channels[number];
    peers[number].is_crowded = false;
    if (channel->table_first == PROTOCOL_TABLE_SLOTS) {
        answer(process, CHASQUI_MPINP_CLAIMED, request->name, NULL);
        return true;
    }
    request->context = channel->slots[channel->table_first].context;
    request->tag = channel->slots[channel->table_first].tag;
    return claim(process, transfer, request);
}

/* Its sender is told before it is told that the message is taken. */
static void tell_drained(const struct protocol_receive *receive)
{
    struct wire *wire = out_put(receive->channel, WIRE_DRAINED, NONE);
    wire->header.message = protocol.channels[receive->channel].slots[receive->slot].message;
}

static bool fetch(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    uint32_t number = transfer->number;
    if (transfer->kind != CHASQUI_MPINP_CLAIM || !fill_transfer(process, transfer, request))
        return false;
    const struct protocol_receive *receive = &protocol.receives[number % PROTOCOL_RECEIVES];
    transfer->number = number;
    transfer->is_drained = true;
    if (request->flags & CHASQUI_MPINP_DRAINED) {
        /* Of another its sender may know nothing any more. */
        if (!stored[table_of(receive->channel)][receive->slot].is_synchronous)
            return false;
        tell_drained(receive);
    }
    protocol_receive_claimed(&protocol, number, request->bytes, request_of(process, request->name));
    return true;
}

static bool cancel(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
#ifdef PROTOCOL_CACHE
    if (transfer->kind == CHASQUI_MPINP_SEND && rings_withdraw(request_of(process, request->name)))
        return true;
#endif
    if (transfer->kind == CHASQUI_MPINP_SEND)
        protocol_cancel_send(&protocol, transfer->channel, request_of(process, request->name));
    else if (transfer->kind == CHASQUI_MPINP_RECEIVE)
        protocol_cancel(&protocol, transfer->number);
    return transfer->kind != CHASQUI_MPINP_CLAIM;
}

/* One that is over needs no entries. */
static bool entry(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request)
{
    if (!transfer->kind)
        return true;
    if (!transfer->awaits_entries || request->bytes < transfer->valid ||
        request->bytes > transfer->told + transfer->entry_count)
        return false;
    transfer->awaits_entries = false;
    transfer->valid = request->bytes;
    if (transfer->kind == CHASQUI_MPINP_SEND)
        send_go_on(request_of(process, request->name));
    else
        receive_go_on(request_of(process, request->name));
    return true;
}

/* Some message has met no receive. */
static bool has_unclaimed(unsigned process)
{
    for (unsigned channel = process * ranks; channel < (process + 1) * ranks; channel++)
        if (protocol.channels[channel].table_first != PROTOCOL_TABLE_SLOTS)
            return true;
    return false;
}

/* `flags` 1: those that have come count, too. */
static bool listen(unsigned process, const struct chasqui_mpinp_request *request)
{
    struct process *of = &processes[process];
    bool is_there = of->has_missed || (request->flags && has_unclaimed(process));
    of->listens = !is_there;
    of->has_missed = false;
    if (is_there)
        host_event(process,
                   &(struct chasqui_mpinp_event){.kind = CHASQUI_MPINP_UNCLAIMED, .rank = CHASQUI_MPINP_ANY_SOURCE});
    return true;
}

static bool press(unsigned process, const struct chasqui_mpinp_request *request)
{
    if (request->rank >= ranks_for(process))
        return false;
    unsigned channel = process * ranks + request->rank;
    out_put(channel, WIRE_PRESS, NONE)->header.message = protocol.channels[channel].newest;
    return true;
}

/* One without an answer each way: so the other process's events have room. */
static bool note(unsigned process, const struct chasqui_mpinp_request *request)
{
    if (request->rank >= ranks_for(process))
        return false;
    unsigned channel = process * ranks + request->rank;
    bool *may = request->flags == CHASQUI_MPINP_NOTE_ANSWER ? &peers[channel].owes_answer : &peers[channel].is_noted;
    if (*may != (request->flags == CHASQUI_MPINP_NOTE_ANSWER))
        return false;
    *may = !*may;
    struct wire *wire = out_put(channel, WIRE_NOTE, NONE);
    wire->note = request->flags;
    wire->part = request->sequence;
    return true;
}

static bool take(unsigned process, struct chasqui_mpinp_request *request)
{
    if (request->name >= NAMES)
        return false;
    struct transfer *transfer = &processes[process].transfers[request->name];
    switch (request->kind) {
    case CHASQUI_MPINP_SEND: return post_send(process, transfer, request);
    case CHASQUI_MPINP_RECEIVE: return post_receive(process, transfer, request);
    case CHASQUI_MPINP_PROBE: return probe(process, request);
    case CHASQUI_MPINP_CLAIM: return claim(process, transfer, request);
    case CHASQUI_MPINP_FETCH: return fetch(process, transfer, request);
    case CHASQUI_MPINP_CANCEL: return cancel(process, transfer, request);
    case CHASQUI_MPINP_ENTRY: return entry(process, transfer, request);
    case CHASQUI_MPINP_DRAIN: return drain(process, transfer, request);
    case CHASQUI_MPINP_PRESS: return press(process, request);
    case CHASQUI_MPINP_FORGET: return true; /* As any other ends the showing. */
    case CHASQUI_MPINP_NOTE: return note(process, request);
    case CHASQUI_MPINP_COLLECTIVE: return collective_take(process, request);
    case CHASQUI_MPINP_ROOTED: return rooted_take(process, request);
    case CHASQUI_MPINP_LISTEN: return listen(process, request);
    default: return false;
    }
}

void requests_take(void)
{
    for (uint32_t i = 0; i < process_count; i++) {
        served = served + 1 < process_count ? served + 1 : 0;
        struct process *process = &processes[served];
        if (process->produced == process->taken)
            continue;
        /* Its process may change it meanwhile. */
        struct chasqui_mpinp_request request =
            ((const volatile struct chasqui_mpinp_request *)process->window)[process->taken % CHASQUI_MPINP_REQUESTS];
        process->taken++;
        waiting--;
        host_taken(served);
        if (process->shown.is_valid && request.kind != CHASQUI_MPINP_CLAIM)
            end_showing(process);
        if (!take(served, &request))
            refuse(served, CHASQUI_NP_FAULT_REQUEST);
        else if (process->shown.is_valid && request.kind == CHASQUI_MPINP_CLAIM)
            end_showing(process);
        return;
    }
}
