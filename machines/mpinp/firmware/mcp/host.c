/* The host's DMA: one thing at a time. Events first; parts of messages and what lies in receive buffers take turns. */
#include "mcp.h"

/* Parts on their way, in pieces: those of the landings, and of the message that leaves. */
#define JOBS 128 /* a power of two */

struct job {
    uint64_t host;
    uint64_t local;
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
static bool was_job;

static enum { NOTHING, JOB, DELIVERY, EVENTS, TAKEN } moves;
static uint32_t moved; /* events, or bytes of the delivery */
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
}

static void add_job(const struct job *job)
{
    check(jobs_made - jobs_done < JOBS);
    jobs[jobs_made++ % JOBS] = *job;
}

void host_fetch(uint64_t from, char *to, uint32_t bytes)
{
    add_job(&(struct job){.host = from, .local = local(to), .bytes = bytes, .landing = NONE});
}

void host_land(unsigned landing, const char *from, uint64_t to, uint32_t bytes, uint16_t source, uint32_t sequence)
{
    add_job(&(struct job){
        .host = to, .local = local(from), .bytes = bytes, .landing = landing, .source = source, .sequence = sequence});
}

void host_deliver(uint32_t request)
{
    transfer_of(request)->next = NONE;
    if (deliver_first == NONE)
        deliver_first = request;
    else
        transfer_of(deliver_last)->next = request;
    deliver_last = request;
}

static bool start_event(void)
{
    for (uint32_t i = 0; i < process_count; i++) {
        teller = teller + 1 < process_count ? teller + 1 : 0;
        struct process *process = &processes[teller];
        uint32_t first = process->moved % CHASQUI_MPINP_EVENTS;
        moved = least(process->made - process->moved, (uint32_t)CHASQUI_MPINP_EVENTS - first);
        if (moved == 0)
            continue;
        moves = EVENTS;
        move(process->host + CHASQUI_MPINP_HOST_EVENTS + first * sizeof *process->events, local(&process->events[first]),
             moved * sizeof *process->events | CHASQUI_NP_HOST_TO_HOST);
        return true;
    }
    return false;
}

static bool start_job(void)
{
    if (jobs_made == jobs_done)
        return false;
    const struct job *job = &jobs[jobs_done % JOBS];
    name(job->source, job->sequence);
    moves = JOB;
    move(job->host, job->local, job->bytes | (job->landing == NONE ? 0 : CHASQUI_NP_HOST_TO_HOST));
    return true;
}

/* Whatever of the message has room is in the host's memory. */
static void end_delivery(void)
{
    struct transfer *transfer = transfer_of(deliver_first);
    deliver_first = transfer->next;
    delivery.has_begun = false;
    protocol_delivered(&protocol, transfer->number);
}

static bool start_delivery(void)
{
    while (deliver_first != NONE) {
        struct transfer *transfer = transfer_of(deliver_first);
        const struct protocol_receive *receive = &protocol.receives[transfer->number % PROTOCOL_RECEIVES];
        const struct stored *from = &stored[receive->channel][receive->slot];
        if (!from->is_here)
            return false;
        if (!delivery.has_begun) {
            delivery.has_begun = true;
            delivery.unit = from->first;
            delivery.moved = 0;
        }
        uint32_t left = least(receive->bytes, transfer->bytes) - delivery.moved;
        if (left == 0) {
            end_delivery();
            continue;
        }
        char *run = buffer_run(&delivery.unit, left, &moved);
        name(peers[receive->channel].rank, from->sequence);
        moves = DELIVERY;
        move(process_of(deliver_first)->host + transfer->address[0] + delivery.moved, local(run),
             moved | CHASQUI_NP_HOST_TO_HOST);
        return true;
    }
    return false;
}

/* Requests that were taken, if no event has said so for a while. */
static void start_taken(void)
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
}

bool host_is_moving(void) { return moves != NOTHING; }

void host_go_on(void)
{
    if (moves != NOTHING || start_event())
        return;
    was_job = !was_job;
    if (was_job ? start_job() || start_delivery() : start_delivery() || start_job())
        return;
    if (!start_event())
        start_taken();
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
