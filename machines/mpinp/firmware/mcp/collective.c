/* Collectives that cards do among themselves: a process asks by one request, which names its neighbours in a tree of all
 * processes that take part. What they contribute goes up, what comes of it goes down. So nothing comes down that no process
 * awaits, and there is room for it.
 *
 * A process has one collective at a time, and has what came of it before it begins the next. So each of those below has sent up
 * one contribution at most that is not used. */
#include "collective.h"

struct collective collectives[PROTOCOL_PROCESSES];

#ifdef PROTOCOL_CACHE
struct contribution *contributions;
struct invitation *invitations;
uint64_t *blocks;

char *collectives_begin(char *heap, uint32_t channels)
{
    contributions = (struct contribution *)(void *)heap;
    blocks = (uint64_t *)(void *)(contributions + channels);
    invitations = (struct invitation *)(void *)(blocks + channels * WORDS);
    for (uint32_t i = 0; i < channels; i++)
        contributions[i].is_there = invitations[i].is_there = false;
    _Static_assert(sizeof *contributions + sizeof *blocks * WORDS + sizeof *invitations + sizeof(struct peer) +
                           sizeof(struct protocol_channel) <=
                       CHASQUI_NP_RECORD_BYTES,
                   "what is kept free for each channel");
    return (char *)(invitations + channels);
}
#else
struct contribution contributions[PROTOCOL_CHANNELS];
struct invitation invitations[PROTOCOL_CHANNELS];
uint64_t blocks[PROTOCOL_CHANNELS * WORDS];
#endif

static uint64_t nowhere[WORDS]; /* for what no process awaits */

bool collectives_wait;
static uint32_t served; /* process */

static void begin_next(uint32_t process);

/* Down it goes while the host goes on. */
void collective_end_what_is_over(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (collective->state < GOES_DOWN || collective->is_moving)
        return;
    if (!collective->is_told) {
        collective->is_told = true;
        uint8_t result = collective->is_refused ? CHASQUI_MPINP_NOTHING : CHASQUI_MPINP_COMPLETE;
        host_event(process, &(struct chasqui_mpinp_event){
                                .kind = CHASQUI_MPINP_COLLECTED, .result = result, .bytes = collective->bytes});
    }
    if (collective->next > 0 || collective->leaving > 0)
        return;
    collective->state = FREE;
    begin_next(process);
}

static void go_down(uint32_t process)
{
    struct collective *collective = &collectives[process];
    collective->is_moving =
        collective->takes_data && collective->has_data && !collective->is_refused && collective->bytes > 0;
    if (collective->is_moving)
        host_collected(process, (char *)collective->data, collective->bytes);
    /* The longest way first. */
    collective->next = collective->below_count;
    serve(collective, GOES_DOWN);
    collective_end_what_is_over(process);
}

static void gather(uint32_t process)
{
    struct collective *collective = &collectives[process];
    for (; collective->next < collective->below_count; collective->next++) {
        struct contribution *other = &contributions[process * ranks + collective->below[collective->next]];
        if (!other->is_there || other->context != collective->context || other->tag != collective->tag)
            return;
        other->is_there = false;
        collective_add(collective, other);
    }
    if (collective->above == CHASQUI_MPINP_NO_PROCESS)
        go_down(process);
    else
        serve(collective, GOES_UP);
}

/* --- to the wire --- */

static void put(uint32_t process, uint32_t rank, uint8_t direction)
{
    struct collective *collective = &collectives[process];
    bool has_data = collective->has_data && !collective->is_refused && collective->bytes > 0;
    struct wire *wire = out_put(process * ranks + rank, WIRE_COLLECTIVE, NONE);
    wire->body = has_data ? collective->bytes : 0;
    wire->collective = (uint8_t)(direction | (collective->is_refused ? COLLECTIVE_IS_REFUSED : 0));
    wire->part = collective->bytes;
    wire->header.context = collective->context;
    wire->header.tag = collective->tag;
    collective->leaving++;
}

/* One header; false: this process has none. */
static bool serve_one(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (collective->state == GOES_UP) {
        collective->state = AWAITS;
        put(process, collective->above, COLLECTIVE_GOES_UP);
        return true;
    }
    if (collective->state != GOES_DOWN || collective->next == 0)
        return false;
    put(process, collective->below[--collective->next], 0);
    return true;
}

bool collectives_put(void)
{
    for (uint32_t i = 0; i < process_count; i++) {
        served = served + 1 < process_count ? served + 1 : 0;
        if (serve_one(served))
            return true;
    }
    if (rooted_wait)
        return rooted_put();
    collectives_wait = false;
    return false;
}

char *collective_data(unsigned channel)
{
    char *body = rooted_body;
    rooted_body = NULL;
    return body ? body : (char *)collectives[protocol.channels[channel].process].data;
}

void collective_left(unsigned channel)
{
    uint32_t process = protocol.channels[channel].process;
    collectives[process].leaving--;
    collective_end_what_is_over(process);
}

void collective_moved(uint32_t process)
{
    collectives[process].is_moving = false;
    if (collectives[process].state != GOES_DOWN)
        rooted_moved(process);
    collective_end_what_is_over(process);
}

/* --- from the wire --- */

/* It comes down to a process that awaits it. */
static bool is_awaited(const struct collective *collective, unsigned channel, const struct wire *wire)
{
    return collective->state == AWAITS && collective->above == peers[channel].rank &&
           collective->context == wire->header.context && collective->tag == wire->header.tag;
}

char *collective_place(unsigned channel, const struct wire *wire)
{
    struct collective *collective = &collectives[protocol.channels[channel].process];
    if (wire->collective & COLLECTIVE_GOES_UP)
        return (char *)contributions[channel].data;
    if (is_awaited(collective, channel, wire))
        return (char *)collective->data;
    return wire->collective & COLLECTIVE_IS_BLOCKS ? rooted_place(channel, wire) : (char *)nowhere;
}

static void came_down(uint32_t process, const struct wire *wire)
{
    struct collective *collective = &collectives[process];
    collective->is_refused |= (wire->collective & COLLECTIVE_IS_REFUSED) != 0;
    collective->has_data = wire->body > 0;
    go_down(process);
}

void collective_came(unsigned channel, const struct wire *wire)
{
    uint32_t process = protocol.channels[channel].process;
    if (!(wire->collective & COLLECTIVE_GOES_UP)) {
        if (is_awaited(&collectives[process], channel, wire))
            came_down(process, wire);
        return;
    }
    struct contribution *contribution = &contributions[channel];
    contribution->is_there = true;
    contribution->has_data = wire->body > 0;
    contribution->is_refused = (wire->collective & COLLECTIVE_IS_REFUSED) != 0;
    contribution->context = wire->header.context;
    contribution->tag = wire->header.tag;
    contribution->bytes = wire->part;
    if (collectives[process].state == GATHERS)
        gather(process);
    else if (collectives[process].state == COLLECTS)
        rooted_collect(process);
}

/* --- requests --- */

/* False: it may not. */
static bool begin(uint32_t process, const struct chasqui_mpinp_request *request)
{
    struct collective *collective = &collectives[process];
    collective_fill(collective, request);
    bool is_right = request->bytes <= CHASQUI_MPINP_COLLECTIVE_BYTES && collective_find_tree(collective, request) &&
                    (collective->kind < CHASQUI_MPINP_ALLREDUCE ||
                     (collective->kind == CHASQUI_MPINP_ALLREDUCE &&
                      combines(collective->operation, collective->type, request->bytes))) &&
                    (!collective->has_data || window_read(process, request, collective->data));
    if (!is_right)
        return false;
    collective_start(collective);
    collective->state = GATHERS;
    gather(process);
    return true;
}

static void begin_next(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (!collective->has_next)
        return;
    collective->has_next = false;
    const struct chasqui_mpinp_request *request = &collective->request;
    if (request->kind == CHASQUI_MPINP_COLLECTIVE ? !begin(process, request) : !rooted_begin(process, request))
        refuse(process, CHASQUI_NP_FAULT_REQUEST);
}

bool collective_put_aside(struct collective *collective, const struct chasqui_mpinp_request *request)
{
    if (!collective->is_told || collective->has_next)
        return false;
    collective->has_next = true;
    collective->request = *request;
    return true;
}

bool collective_take(unsigned process, const struct chasqui_mpinp_request *request)
{
    struct collective *collective = &collectives[process];
    return collective->state == FREE ? begin(process, request) : collective_put_aside(collective, request);
}
