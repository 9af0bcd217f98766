/* The host's DMA: one thing at a time. Events first; parts of messages and what lies in receive buffers take turns. */
#include "mcp.h"

/* Parts on their way, in pieces: those of the landings, and of the message that leaves. */
#define JOBS 128 /* a power of two */

struct job {
    uint64_t host;
    uint32_t local;
    uint32_t bytes;
    uint32_t landing; /* or NONE: to the card */
    uint16_t source; /* the message's name */
    uint32_t sequence;
};

static struct job jobs[JOBS];
static uint32_t jobs_made, jobs_done;
static uint32_t deliver_first = NONE, deliver_last; /* requests */
static struct {
    unsigned unit; /* where what is left of it begins */
    uint32_t moved; /* [bytes] */
    bool has_begun;
} delivery; /* of the first */
static bool has_work; /* perhaps */
static bool was_delivery; /* the last that was no event */

static enum { NOTHING, JOB, DELIVERY, EVENTS, TAKEN } moves;
static uint32_t moved; /* events, or bytes of the delivery */
static uint32_t event_count; /* of all processes, that wait */
static uint32_t teller; /* process */
static uint64_t count; /* which it is told */

/* For the records: the message that moves next. */
static struct chasqui_envelope named;

static void name(uint16_t source, uint32_t sequence)
{
    named.source = source;
    named.sequence = sequence;
    carry(&named);
}

static void move(uint64_t host, uint64_t local_address, uint64_t bytes)
{
    np_store(CHASQUI_NP_HOST_ADDRESS, host);
    np_store(CHASQUI_NP_HOST_LOCAL, local_address);
    start(CHASQUI_NP_HOST_START, bytes);
}

void host_event(unsigned process, const struct chasqui_mpinp_event *event)
{
    struct process *to = &processes[process];
    if (to->made - to->moved == CHASQUI_MPINP_EVENTS) {
        refuse(process, CHASQUI_NP_FAULT_REQUEST);
        return;
    }
    struct chasqui_mpinp_event *place = &to->events[to->made % CHASQUI_MPINP_EVENTS];
    *place = *event;
    place->taken = to->told = to->taken;
    place->number = ++to->made;
    event_count++;
    has_work = true;
}

static struct job *add_job(uint64_t host, const char *card, uint32_t bytes)
{
    check(jobs_made - jobs_done < JOBS);
    struct job *job = &jobs[jobs_made++ % JOBS];
    job->host = host;
    job->local = (uint32_t)local(card);
    job->bytes = bytes;
    has_work = true;
    return job;
}

void host_fetch(uint64_t from, char *to, uint32_t bytes)
{
    struct job *job = add_job(from, to, bytes);
    job->landing = NONE;
    job->sequence = 0;
}

void host_land(unsigned landing, const char *from, uint64_t to, uint32_t bytes, uint16_t source, uint32_t sequence)
{
    struct job *job = add_job(to, from, bytes);
    job->landing = landing;
    job->source = source;
    job->sequence = sequence;
}

void host_deliver(uint32_t request)
{
    transfer_of(request)->next = NONE;
    if (deliver_first == NONE)
        deliver_first = request;
    else
        transfer_of(deliver_last)->next = request;
    deliver_last = request;
    has_work = true;
}

void host_stored(void) { has_work = true; }

static SELDOM void start_event(void)
{
    for (uint32_t i = 0; i < process_count; i++) {
        teller = teller + 1 < process_count ? teller + 1 : 0;
        struct process *process = &processes[teller];
        uint32_t first = process->moved % CHASQUI_MPINP_EVENTS;
        moved = least(process->made - process->moved, (uint32_t)CHASQUI_MPINP_EVENTS - first);
        if (moved == 0)
            continue;
        moves = EVENTS;
        event_count -= moved;
        carry(&process->events[first + moved - 1]);
        move(process->host + CHASQUI_MPINP_HOST_EVENTS + first * sizeof *process->events,
             local(&process->events[first]), moved * sizeof *process->events | CHASQUI_NP_HOST_TO_HOST);
        return;
    }
}

static SELDOM void start_job(void)
{
    const struct job *job = &jobs[jobs_done % JOBS];
    name(job->source, job->sequence);
    moves = JOB;
    move(job->host, job->local, job->bytes | (job->landing == NONE ? 0 : CHASQUI_NP_HOST_TO_HOST));
}

/* Whatever of the message has room is in the host's memory. */
static void end_delivery(void)
{
    struct transfer *transfer = transfer_of(deliver_first);
    deliver_first = transfer->next;
    delivery.has_begun = false;
    protocol_delivered(&protocol, transfer->number);
}

/* The message that is delivered first is all in the receive buffer. */
static bool can_deliver(void)
{
    if (deliver_first == NONE)
        return false;
    const struct protocol_receive *receive = &protocol.receives[transfer_of(deliver_first)->number % PROTOCOL_RECEIVES];
    return stored[receive->channel][receive->slot].is_here;
}

static SELDOM void start_delivery(void)
{
    const struct transfer *transfer = transfer_of(deliver_first);
    const struct protocol_receive *receive = &protocol.receives[transfer->number % PROTOCOL_RECEIVES];
    const struct stored *from = &stored[receive->channel][receive->slot];
    if (!delivery.has_begun) {
        delivery.has_begun = true;
        delivery.unit = from->first;
        delivery.moved = 0;
    }
    uint32_t left = least(receive->bytes, transfer->bytes) - delivery.moved;
    if (left == 0) {
        end_delivery();
        return;
    }
    char *run = buffer_run(&delivery.unit, left, &moved);
    name(peers[receive->channel].rank, from->sequence);
    moves = DELIVERY;
    move(process_of(deliver_first)->host + transfer->address[0] + delivery.moved, local(run),
         moved | CHASQUI_NP_HOST_TO_HOST);
}

static bool must_tell;

void host_taken(uint32_t process)
{
    if (processes[process].taken - processes[process].told >= CHASQUI_MPINP_REQUESTS / 4)
        has_work = must_tell = true;
}

/* Requests that were taken, if no event has said so for a while. */
static SELDOM void start_taken(void)
{
    for (uint32_t i = 0; i < process_count; i++) {
        struct process *process = &processes[i];
        if (process->taken - process->told < CHASQUI_MPINP_REQUESTS / 4)
            continue;
        count = process->told = process->taken;
        moves = TAKEN;
        move(process->host + CHASQUI_MPINP_HOST_TAKEN, local(&count), sizeof count | CHASQUI_NP_HOST_TO_HOST);
        return;
    }
    must_tell = false;
}

bool host_is_moving(void) { return moves != NOTHING; }

static SELDOM void start_something(void)
{
    while (moves == NOTHING) {
        bool has_job = jobs_made != jobs_done;
        if (event_count > 0)
            start_event();
        else if (has_job && (was_delivery || !can_deliver())) {
            was_delivery = false;
            start_job();
        } else if (can_deliver()) {
            was_delivery = true;
            start_delivery();
        } else if (must_tell)
            start_taken();
        else {
            has_work = false;
            return;
        }
    }
}

void host_go_on(void)
{
    if (has_work && moves == NOTHING)
        start_something();
}

void host_done(void)
{
    struct job *job = &jobs[jobs_done % JOBS];
    switch (moves) {
    case JOB:
        jobs_done++;
        if (job->landing == NONE)
            out_fetched(job->bytes);
        else
            in_moved(job->landing);
        break;
    case DELIVERY: delivery.moved += moved; break;
    case EVENTS: processes[teller].moved += moved; break;
    default: break;
    }
    moves = NOTHING;
}
