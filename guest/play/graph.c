/* Actions that begin when those that they require are done, or have begun: GOAL's.
 *
 * Of what may begin, messages come before computation, each in the order in which it became ready, as in LogGOPSim, whose
 * queue sorts what is ready at the same time so. Computation of one processor is one after the other. There is one hart:
 * while it computes for the last processor that is not busy, it looks after no message; while others are to come, it asks
 * for finished messages and looks at the clock in turn. */
#include "player.h"
#include "clock.h"

/* Numbers of actions, first in, first out. There are never more in it than actions. */
struct queue {
    uint32_t *next; /* of each action: the one behind it in whichever queue it is */
    uint32_t first, last;
    uint32_t count;
};

struct graph {
    const struct player *player;
    struct trace_action *actions;
    uint32_t *successors, *next;
    struct queue messages;
    struct queue *computations; /* of each processor */
    uint32_t *running;          /* of each processor: the action; NONE: none */
    uint64_t *until;            /* of each processor: the cycle at which it ends */
    uint32_t left;              /* actions that are not done */
    uint32_t ready, busy;       /* computations that are ready, and processors that compute */
    MPI_Request *requests;      /* under way, the first `open` */
    uint32_t *of_request;       /* their actions */
    int *indices;
    int open;
    uint64_t since; /* the cycle at which what came last ended */
};

static const uint32_t NONE = 0xffffffffu;

static void put(struct queue *queue, uint32_t *next, uint32_t action)
{
    if (queue->count++ == 0)
        queue->first = action;
    else
        next[queue->last] = action;
    queue->last = action;
}

static uint32_t take(struct queue *queue, const uint32_t *next)
{
    uint32_t action = queue->first;
    queue->count--;
    queue->first = next[action];
    return action;
}

static void make_ready(struct graph *g, uint32_t number)
{
    const struct trace_action *a = &g->actions[number];
    if (a->kind == TRACE_COMPUTE) {
        put(&g->computations[a->comm], g->next, number);
        g->ready++;
    } else {
        put(&g->messages, g->next, number);
    }
}

/* Lets go what waited for the start of an action, or for its end. */
static void let_go(struct graph *g, uint32_t number, uint32_t of)
{
    uint64_t more = g->actions[number].more;
    const uint32_t *successor = &g->successors[(uint32_t)more];
    for (uint64_t left = more >> 32; left > 0; left--, successor++) {
        if ((*successor & SUCCESSOR_OF_START) != of)
            continue;
        uint32_t waiting = *successor & ~SUCCESSOR_OF_START;
        if (--g->actions[waiting].request == 0)
            make_ready(g, waiting);
    }
}

static void begun(struct graph *g, uint32_t number) { let_go(g, number, SUCCESSOR_OF_START); }

static void done(struct graph *g, uint32_t number)
{
    g->left--;
    let_go(g, number, 0);
}

/* Whether nothing else could go on while an action blocks. Something that waits for its start could. */
static int is_alone(const struct graph *g, const struct trace_action *a)
{
    if (g->open > 0 || g->busy > 0 || g->ready > 0 || g->messages.count > 0)
        return 0;
    const uint32_t *successor = &g->successors[(uint32_t)a->more];
    for (uint64_t left = a->more >> 32; left > 0; left--)
        if (*successor++ & SUCCESSOR_OF_START)
            return 0;
    return 1;
}

static void begin_message(struct graph *g)
{
    uint32_t number = take(&g->messages, g->next);
    const struct trace_action *a = &g->actions[number];
    const struct player *p = g->player;
    int bytes = (int)a->bytes, peer = rank_of(a->peer), tag = tag_of(a->tag), is_send = a->kind == TRACE_SEND;
    if (is_alone(g, a)) {
        if (is_send)
            MPI_Send(p->send_buffer, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
        else
            MPI_Recv(p->receive_buffer, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        g->since = clock_cycles();
        begun(g, number);
        done(g, number);
        return;
    }
    MPI_Request *request = &g->requests[g->open];
    if (is_send)
        MPI_Isend(p->send_buffer, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, request);
    else
        MPI_Irecv(p->receive_buffer, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, request);
    g->since = clock_cycles();
    g->of_request[g->open++] = number;
    begun(g, number);
}

/* Of the requests under way so many are done, those with these indices. */
static void finish_messages(struct graph *g, int count)
{
    g->since = clock_cycles();
    for (int i = 0; i < count; i++)
        done(g, g->of_request[g->indices[i]]);
    int kept = 0;
    for (int i = 0; i < g->open; i++) {
        if (g->requests[i] == MPI_REQUEST_NULL)
            continue;
        g->requests[kept] = g->requests[i];
        g->of_request[kept++] = g->of_request[i];
    }
    g->open = kept;
}

static void test_messages(struct graph *g)
{
    int count;
    MPI_Testsome(g->open, g->requests, &count, g->indices, MPI_STATUSES_IGNORE);
    if (count > 0 && count != MPI_UNDEFINED)
        finish_messages(g, count);
}

static void wait_for_messages(struct graph *g)
{
    int count;
    MPI_Waitsome(g->open, g->requests, &count, g->indices, MPI_STATUSES_IGNORE);
    finish_messages(g, count);
}

/* Begins what processors that are not busy may compute. */
static void begin_computations(struct graph *g)
{
    for (uint32_t cpu = 0; cpu < g->player->part.processors; cpu++) {
        if (g->running[cpu] != NONE || g->computations[cpu].count == 0)
            continue;
        uint32_t number = take(&g->computations[cpu], g->next);
        g->ready--;
        g->busy++;
        g->running[cpu] = number;
        g->until[cpu] = g->since + clock_cycles_of(g->actions[number].bytes);
        begun(g, number);
    }
}

/* Waits for the computation that ends first, if nothing else can happen meanwhile, and ends those whose time is over. */
static void compute(struct graph *g)
{
    uint32_t cpus = g->player->part.processors, first = NONE;
    for (uint32_t cpu = 0; cpu < cpus; cpu++)
        if (g->running[cpu] != NONE && (first == NONE || (int64_t)(g->until[cpu] - g->until[first]) < 0))
            first = cpu;
    int all_busy = g->busy == cpus;
    if (g->open == 0 || all_busy)
        clock_wait_until(g->until[first]);
    else if ((int64_t)(g->until[first] - clock_cycles()) > 0) {
        test_messages(g);
        return;
    }
    uint32_t number = g->running[first];
    g->running[first] = NONE;
    g->busy--;
    if ((int64_t)(g->until[first] - g->since) >
        0) /* else a message came in between: what it lets go begins behind it */
        g->since = g->until[first];
    done(g, number);
}

static void prepare(struct graph *g)
{
    const struct trace_part *part = &g->player->part;
    g->left = (uint32_t)part->actions;
    g->actions = room(g->player, part->actions, sizeof *g->actions);
    g->successors = room(g->player, part->list, sizeof *g->successors);
    g->next = room(g->player, part->actions, sizeof *g->next);
    g->requests = room(g->player, part->requests, sizeof *g->requests);
    g->of_request = room(g->player, part->requests, sizeof *g->of_request);
    g->indices = room(g->player, part->requests, sizeof *g->indices);
    g->computations = room(g->player, part->processors, sizeof *g->computations);
    g->running = room(g->player, part->processors, sizeof *g->running);
    g->until = room(g->player, part->processors, sizeof *g->until);
    uint64_t bytes = part->actions * sizeof *g->actions;
    read_at(g->player, g->actions, bytes, part->offset);
    read_at(g->player, g->successors, part->list * sizeof *g->successors, part->offset + bytes);
    for (uint32_t cpu = 0; cpu < part->processors; cpu++) {
        g->computations[cpu] = (struct queue){.count = 0};
        g->running[cpu] = NONE;
    }
    for (uint32_t number = 0; number < g->left; number++)
        if (g->actions[number].request == 0)
            make_ready(g, number);
}

void play_graph(const struct player *player)
{
    struct graph g = {.player = player};
    prepare(&g);
    MPI_Init(NULL, NULL);
    g.since = clock_cycles();
    while (g.left > 0) {
        if (g.messages.count > 0) {
            begin_message(&g);
            continue;
        }
        /* What has come in comes before what is computed next. */
        if (g.open > 0 && g.ready > 0)
            test_messages(&g);
        if (g.messages.count > 0)
            continue;
        if (g.ready > 0)
            begin_computations(&g);
        if (g.messages.count > 0)
            continue;
        if (g.busy > 0)
            compute(&g);
        else if (g.open > 0)
            wait_for_messages(&g);
        else if (g.ready == 0)
            fail(player, "the actions that are left wait for each other");
    }
    MPI_Finalize();
}
