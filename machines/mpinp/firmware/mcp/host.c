/* The host's DMA: one thing at a time. Events first; parts of messages and what lies in receive buffers take turns. */
#include "mcp.h"
#include "memory.h"

/* Parts on their way, in pieces: those of the landings, and of the message that leaves. */
#define JOBS 128 /* a power of two */

struct job {
    uint32_t request; /* whose data, and which */
    uint32_t offset;
    char *card;
    uint32_t bytes; /* that are left of it */
    uint32_t landing; /* or NONE: to the card */
    uint16_t source; /* the message's name */
    uint32_t sequence;
};

static struct job jobs[JOBS];
static uint32_t jobs_made, jobs_done;
static uint32_t deliver_first = NONE, deliver_last; /* requests */
static struct {
    unsigned unit; /* behind the run */
    char *run;
    uint32_t run_bytes; /* that are left of that */
    uint32_t moved; /* [bytes] */
    bool has_begun;
} delivery; /* of the first */
static bool has_work; /* perhaps */
static bool was_delivery; /* the last that was no event */

static enum { NOTHING, ENTRY, JOB, DELIVERY, EVENTS, TAKEN, COLLECTED } moves;
static uint32_t moved; /* events, or bytes of the job or delivery */
static uint32_t event_count; /* of all processes, that wait, with what collectives have come to */
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

static struct job *add_job(uint32_t request, uint32_t offset, char *card, uint32_t bytes)
{
    check(jobs_made - jobs_done < JOBS);
    struct job *job = &jobs[jobs_made++ % JOBS];
    job->request = request;
    job->offset = offset;
    job->card = card;
    job->bytes = bytes;
    has_work = true;
    return job;
}

void host_fetch(uint32_t request, uint32_t offset, char *to, uint32_t bytes)
{
    struct job *job = add_job(request, offset, to, bytes);
    job->landing = NONE;
    job->sequence = 0;
}

void host_land(unsigned landing, char *from, uint32_t offset, uint32_t bytes, uint16_t source, uint32_t sequence)
{
    struct job *job = add_job(in_request(landing), offset, from, bytes);
    job->landing = landing;
    job->source = source;
    job->sequence = sequence;
}

static void job_moved(void)
{
    struct job *job = &jobs[jobs_done % JOBS];
    job->bytes -= moved;
    job->offset += moved;
    job->card += moved;
    if (job->landing == NONE)
        out_fetched(moved);
    if (job->bytes > 0)
        return;
    jobs_done++;
    if (job->landing != NONE)
        in_moved(job->landing);
}

/* `moved` bytes of what moves are done with. */
static void data_moved(void)
{
    bool is_job = moves == JOB;
    moves = NOTHING;
    if (is_job) {
        job_moved();
        return;
    }
    delivery.moved += moved;
    delivery.run += moved;
    delivery.run_bytes -= moved;
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

/* What collectives of processes have come to, that waits; or, with FROM_HOST, blocks that a root has there. */
#define FROM_HOST 0x80000000u
static struct {
    char *card;
    uint32_t bytes; /* 0: nothing */
} collected[PROTOCOL_PROCESSES];
static uint32_t collected_count, collector; /* process */

void host_collected(uint32_t process, char *from, uint32_t bytes)
{
    collected[process].card = from;
    collected[process].bytes = bytes;
    collected_count++;
    event_count++;
    has_work = true;
}

void host_scatters(uint32_t process, char *to, uint32_t bytes) { host_collected(process, to, bytes | FROM_HOST); }

static SELDOM void start_scatters(void)
{
    move(processes[collector].host + CHASQUI_MPINP_HOST_COLLECTED, local(collected[collector].card),
         collected[collector].bytes & ~FROM_HOST);
}

static SELDOM void start_collected(void)
{
    do
        collector = collector + 1 < process_count ? collector + 1 : 0;
    while (collected[collector].bytes == 0);
    moves = COLLECTED;
    if (collected[collector].bytes & FROM_HOST)
        start_scatters();
    else
        move(processes[collector].host + CHASQUI_MPINP_HOST_COLLECTED, local(collected[collector].card),
             collected[collector].bytes | CHASQUI_NP_HOST_TO_HOST);
    collected[collector].bytes = 0;
    collected_count--;
    event_count--;
}

static SELDOM void start_event(void)
{
    if (collected_count > 0) {
        start_collected();
        return;
    }
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

void host_tell(void)
{
    if (moves == NOTHING && event_count > 0)
        start_event();
}

/* Moves a request's data at `offset`, as many as lie in a row of at most `bytes`, or the entry that says where they lie. */
static void move_data(uint32_t request, uint32_t offset, char *card, uint32_t bytes, uint64_t direction)
{
    uint64_t address;
    moved = bytes;
    switch (pages_find(request, offset, &address, &moved)) {
    case HERE: move(address, local(card), moved | direction); return;
    case LATER:
        moves = ENTRY;
        move(address, local(pages_entry()), moved);
        return;
    default:
        /* They go nowhere, and nothing comes from there. */
        if (!direction)
            memset(card, 0, moved);
        data_moved();
        return;
    }
}

static SELDOM void start_job(void)
{
    const struct job *job = &jobs[jobs_done % JOBS];
    name(job->source, job->sequence);
    moves = JOB;
    move_data(job->request, job->offset, job->card, job->bytes, job->landing == NONE ? 0 : CHASQUI_NP_HOST_TO_HOST);
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
    return stored[table_of(receive->channel)][receive->slot].is_here;
}

static SELDOM void start_delivery(void)
{
    const struct transfer *transfer = transfer_of(deliver_first);
    const struct protocol_receive *receive = &protocol.receives[transfer->number % PROTOCOL_RECEIVES];
    const struct stored *from = &stored[table_of(receive->channel)][receive->slot];
    if (!delivery.has_begun) {
        delivery.has_begun = true;
        delivery.unit = from->first;
        delivery.moved = delivery.run_bytes = 0;
    }
    uint32_t left = least(receive->bytes, transfer->bytes) - delivery.moved;
    if (left == 0) {
        end_delivery();
        return;
    }
    if (delivery.run_bytes == 0)
        delivery.run = buffer_run(&delivery.unit, left, &delivery.run_bytes);
    name(peers[receive->channel].rank, from->sequence);
    moves = DELIVERY;
    move_data(deliver_first, delivery.moved, delivery.run, delivery.run_bytes, CHASQUI_NP_HOST_TO_HOST);
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
        interrupt_counts(i);
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
    switch (moves) {
    case ENTRY: pages_came(); break;
    case JOB:
    case DELIVERY: data_moved(); return;
    case EVENTS:
        processes[teller].moved += moved;
        interrupt_told(teller);
        break;
    default:
        if (moves == COLLECTED)
            collective_moved(collector);
        else
            interrupt_counted();
    }
    moves = NOTHING;
}
