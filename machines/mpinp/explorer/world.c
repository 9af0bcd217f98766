/* The steps of a world. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"

const struct program *running;
const char *fault;
bool checks_economy = true;
FILE *story;

struct world *world;
static jmp_buf failed;
uint8_t arriving;
struct item arrived;
unsigned room;

_Noreturn void fail(const char *reason)
{
    fault = reason;
    longjmp(failed, 1);
}

/* --- places --- */

unsigned node_of(unsigned process) { return running->shares_nic ? process / 2 : process; }

unsigned node_count(void) { return node_of(running->process_count - 1) + 1; }

unsigned channel_of(unsigned end)
{
    unsigned process = end / PEERS;
    return (running->shares_nic && process == 1 ? PEERS : 0) + end % PEERS;
}

/* A process alone has one channel, to itself. */
unsigned peer_of(unsigned end)
{
    if (running->process_count == 1)
        return end;
    return end % PEERS + (end % PEERS >= end / PEERS);
}

unsigned end_of(unsigned process, unsigned peer) { return process * PEERS + peer - (peer > process); }

unsigned other_end(unsigned end) { return end_of(peer_of(end), end / PEERS); }

struct protocol *nic_of(unsigned process) { return &world->nics[node_of(process)]; }

unsigned find_end(const struct protocol *p, unsigned channel)
{
    for (unsigned end = 0; end < ENDS; end++)
        if (nic_of(end / PEERS) == p && channel_of(end) == channel)
            return end;
    abort();
}

static void open_end(unsigned process, unsigned peer)
{
    unsigned channel = channel_of(end_of(process, peer));
    protocol_open(nic_of(process), channel, process % PROTOCOL_PROCESSES);
    struct protocol_channel *c = &nic_of(process)->channels[channel];
    c->oldest = c->head = c->newest = c->heard = NUMBER_FIRST;
}

void begin_world(struct world *begun)
{
    world = begun;
    memset(world, 0, sizeof *world);
    for (unsigned i = 0; i < OPERATIONS; i++)
        world->operations[i].partner = NOBODY;
    memset(world->bodies, NOBODY, sizeof world->bodies);
    for (unsigned end = 0; end < ENDS; end++)
        for (unsigned i = 0; i < PROTOCOL_RING_ENTRIES; i++)
            world->leaving[end][i].body = NOBODY;
    struct protocol_settings settings = {
        .eager_bytes_max = 1, .unit_bytes = 1, .buffer_units = 2, .table_slots = running->slots};
#ifdef PROTOCOL_CACHE
    settings.channels = PROTOCOL_CHANNELS;
    settings.places = running->places ? running->places : 1;
#endif
    for (unsigned node = 0; node < node_count(); node++) {
        protocol_begin(&world->nics[node], &settings);
        for (unsigned i = 0; i < PROTOCOL_RECEIVES; i++)
            world->nics[node].receives[i].number -= 2 * PROTOCOL_RECEIVES;
    }
    for (unsigned process = 0; process < running->process_count; process++)
        for (unsigned peer = 0; peer < running->process_count; peer++)
            if (peer != process || running->process_count == 1)
                open_end(process, peer);
}

/* --- steps --- */

static struct protocol_receive_request request_of(unsigned process, unsigned index)
{
    if (index >= OPERATIONS)
        abort();
    const struct operation *operation = &running->operations[index];
    bool is_any = operation->peer == NOBODY;
    return (struct protocol_receive_request){
        .process = (uint16_t)(process % PROTOCOL_PROCESSES),
        .source = (uint16_t)(is_any ? PROTOCOL_ANY_SOURCE : channel_of(end_of(process, operation->peer))),
        .context = operation->context,
        .tag = operation->tag,
        .capacity_bytes = operation->bytes,
        .request = index};
}

/* --- the host: receives for which the NIC has no room, in order --- */

static bool has_room(unsigned process)
{
    const struct protocol *p = nic_of(process);
    return p->free_receives > (RULE(last_record) ? 1 : 0) && p->free_links >= running->process_count - 1;
}

/* The oldest, or, with `finds`, the oldest that would find a message. */
static unsigned kept_receive(unsigned process, bool finds)
{
    for (unsigned i = process * OPERATIONS_MAX; i < (process + 1) * OPERATIONS_MAX; i++) {
        if (!world->operations[i].is_kept)
            continue;
        struct protocol_receive_request request = request_of(process, i);
        struct protocol_status status;
        if (!finds || protocol_probe(nic_of(process), &request, &status))
            return i;
    }
    return NOBODY;
}

static void hand_over(unsigned process)
{
    unsigned index = kept_receive(process, false);
    struct protocol_receive_request request = request_of(process, index);
    world->operations[index].is_kept = false;
    if (!protocol_post_receive(nic_of(process), &request, &world->operations[index].number))
        fail("a request is refused though there is room");
}

static void offer(unsigned process)
{
    unsigned index = kept_receive(process, true);
    struct protocol_receive_request request = request_of(process, index);
    struct protocol_status status;
    struct operation_state *state = &world->operations[index];
    if (!protocol_claim(nic_of(process), &request, &state->number, &status))
        fail("what the host keeps can not be offered");
    state->is_kept = false;
    protocol_receive_claimed(nic_of(process), state->number, request.capacity_bytes, index);
}

/* --- the host: messages that it took from tables, in order --- */

static void receive_drained(unsigned send, unsigned receive)
{
    match((uint8_t)send, (uint8_t)receive);
    world->operations[receive].is_kept = false;
    world->operations[receive].status =
        running->operations[send].bytes > running->operations[receive].bytes ? TRUNCATED : DONE;
}

/* The oldest that a receive gets, or NOBODY. */
static unsigned drained_for(unsigned receive)
{
    unsigned found = NOBODY;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const struct operation_state *state = &world->operations[i];
        if (state->drained && state->partner == NOBODY && would_match(i, receive) &&
            (found == NOBODY || state->drained < world->operations[found].drained))
            found = i;
    }
    return found;
}

static bool can_drain(unsigned end)
{
    const struct protocol *p = nic_of(end / PEERS);
    return world->crowded[end] && p->free_receives > 0;
}

static void drain(unsigned end)
{
    unsigned count = 0, process = end / PEERS;
    struct protocol *p = nic_of(process);
    const struct protocol_channel *c = &p->channels[channel_of(end)];
    if (c->table_first == PROTOCOL_TABLE_SLOTS) {
        world->crowded[end] = false;
        return;
    }
    const struct protocol_slot *slot = &c->slots[c->table_first];
    unsigned send = world->about[end][slot->message % 8];
    struct protocol_receive_request request = {.process = (uint16_t)(process % PROTOCOL_PROCESSES),
                                               .source = (uint16_t)channel_of(end),
                                               .context = slot->context,
                                               .tag = slot->tag};
    struct protocol_status status;
    uint32_t number;
    if (!protocol_claim(p, &request, &number, &status))
        fail("a message can not be drained");
    const struct protocol_receive *held = &p->receives[number % PROTOCOL_RECEIVES];
    if (held->channel != channel_of(end) || held->slot >= PROTOCOL_TABLE_SLOTS)
        fail("what is drained is not in the table");
    for (unsigned i = 0; i < OPERATIONS; i++)
        count = world->operations[i].drained > count ? world->operations[i].drained : count;
    world->operations[send].drained = (uint8_t)(count + 1);
    for (unsigned i = process * OPERATIONS_MAX; i < (process + 1) * OPERATIONS_MAX; i++)
        if (world->operations[i].is_kept && would_match(send, i)) {
            receive_drained(send, i);
            break;
        }
    protocol_receive_claimed(p, number, 3, OPERATIONS + send);
}

/* What the host keeps comes first. */
static bool can_probe(unsigned process)
{
    return nic_of(process)->free_receives > 0 && kept_receive(process, true) == NOBODY;
}

static bool can_post(unsigned process)
{
    unsigned next = world->posted[process];
    if (next == running->counts[process])
        return false;
    const struct operation *operation = &running->operations[process * OPERATIONS_MAX + next];
    const struct protocol *p = nic_of(process);
    const struct protocol_channel *c;
    struct protocol_receive_request request;
    struct protocol_status status;
    switch (operation->kind) {
    case OP_SEND: c = &p->channels[channel_of(end_of(process, operation->peer))];
#ifdef PROTOCOL_CACHE
        if (!protocol_has_ring(p, channel_of(end_of(process, operation->peer))))
            return false;
#endif
        return c->newest - c->oldest < PROTOCOL_RING_ENTRIES;
    case OP_WAIT: return world->operations[process * OPERATIONS_MAX + operation->target].status > POSTED;
    case OP_CLAIM_IF: return can_probe(process);
    case OP_PROBE:
    case OP_CLAIM:
        if (!can_probe(process))
            return false;
        request = request_of(process, process * OPERATIONS_MAX + next);
        return protocol_probe(nic_of(process), &request, &status);
    default: return true;
    }
}

static void cancel(unsigned process, unsigned target)
{
    unsigned index = process * OPERATIONS_MAX + target;
    const struct operation *operation = &running->operations[index];
    if (world->operations[index].is_kept) {
        world->operations[index].is_kept = false;
        world->operations[index].status = CANCELLED;
    } else if (operation->kind == OP_SEND)
        protocol_cancel_send(nic_of(process), channel_of(end_of(process, operation->peer)), index);
    else
        protocol_cancel(nic_of(process), world->operations[index].number);
}

static bool claim(unsigned process, unsigned index)
{
    struct protocol *p = nic_of(process);
    struct protocol_receive_request request = request_of(process, index);
    struct protocol_status status;
    uint32_t number;
    if (!protocol_claim(p, &request, &number, &status))
        return false;
    world->operations[index].number = number;
    const struct protocol_receive *receive = &p->receives[number % PROTOCOL_RECEIVES];
    unsigned end = find_end(p, status.channel);
    uint8_t send = world->about[end][p->channels[status.channel].slots[receive->slot].message % 8];
    match(send, (uint8_t)index);
    if (status.tag != running->operations[send].tag || status.bytes != running->operations[send].bytes)
        fail("the status is another message's");
    return true;
}

static void post(unsigned process)
{
    unsigned index = process * OPERATIONS_MAX + world->posted[process]++;
    const struct operation *operation = &running->operations[index];
    struct operation_state *target = &world->operations[process * OPERATIONS_MAX + operation->target];
    struct protocol_receive_request request;
    bool is_taken = true;
    bool is_pending = operation->kind <= OP_RECEIVE || operation->kind == OP_CLAIM;
    world->operations[index].status = is_pending ? POSTED : DONE;
    switch (operation->kind) {
    case OP_SEND:
        is_taken = protocol_post_send(nic_of(process), channel_of(end_of(process, operation->peer)),
                                      &(struct protocol_send){.flags = operation->flags,
                                                              .context = operation->context,
                                                              .tag = operation->tag,
                                                              .bytes = operation->bytes,
                                                              .request = index});
        break;
    case OP_RECEIVE:
        if (drained_for(index) != NOBODY) {
            receive_drained(drained_for(index), index);
            break;
        }
        request = request_of(process, index);
        world->operations[index].is_kept = !has_room(process) || kept_receive(process, false) != NOBODY;
        if (!world->operations[index].is_kept)
            is_taken = protocol_post_receive(nic_of(process), &request, &world->operations[index].number);
        break;
    case OP_CANCEL:
        target->is_withdrawn = true;
        if (target->status == POSTED)
            cancel(process, operation->target);
        break;
    case OP_CLAIM: is_taken = claim(process, index); break;
    case OP_CLAIM_IF: world->operations[index].status = claim(process, index) ? POSTED : DONE; break;
    case OP_FETCH:
        if (target->status == DONE)
            break;
        target->is_withdrawn = true;
        index = process * OPERATIONS_MAX + operation->target;
        protocol_receive_claimed(nic_of(process), target->number, running->operations[index].bytes, index);
        break;
    default: break;
    }
    if (!is_taken)
        fail("a request is refused though there is room");
}

static struct item take_from_wire(unsigned end)
{
    struct item item = world->wires[end][0];
    world->wire_counts[end]--;
    memmove(&world->wires[end][0], &world->wires[end][1], sizeof item * (WIRE_MAX - 1));
    memset(&world->wires[end][WIRE_MAX - 1], 0, sizeof item);
    return item;
}

static void arrive(unsigned end)
{
    struct item item = take_from_wire(end);
    arriving = (uint8_t)item.body;
    arrived = item;
#ifdef PROTOCOL_CACHE
    if (item.header.kind == LEASE)
        world->is_lease_new[end] = true;
#endif
    protocol_arrived(nic_of(end / PEERS), channel_of(end), &item.header);
    if (arriving != NOBODY)
        fail("a body is not taken from the wire");
}

/* --- RETRACT that waits --- */

static bool is_kept(unsigned end) { return world->kept[end].header.kind == RETRACT; }

static bool can_keep(unsigned end)
{
    return running->put_off > 0 && world->wires[end][0].header.kind == RETRACT && !is_kept(end);
}

static void resume(unsigned end)
{
    struct item item = world->kept[end];
    memset(&world->kept[end], 0, sizeof item);
    arriving = NOBODY;
    protocol_arrived(nic_of(end / PEERS), channel_of(end), &item.header);
}

static void keep(unsigned end)
{
    world->kept[end] = take_from_wire(end);
    protocol_kept(nic_of(end / PEERS), channel_of(end), &world->kept[end].header);
}

/* Each channel on the main ring has its turn before another has two. */
static void serve(unsigned node)
{
    struct protocol *p = &world->nics[node];
    unsigned served = p->ready_first, waiting = 0, open = 0;
    for (unsigned channel = 0; channel < PROTOCOL_CHANNELS; channel++) {
        open += p->channels[channel].is_open;
        waiting += p->channels[channel].is_ready;
    }
    protocol_serve(p);
    for (unsigned end = 0; end < ENDS; end++) {
        if (node_of(end / PEERS) != node)
            continue;
        if (channel_of(end) == served || !p->channels[channel_of(end)].is_ready)
            world->passed[end] = 0;
        else if (waiting > 1 && ++world->passed[end] >= open)
            fail("a channel does not get its turn");
    }
}

static unsigned node_where(struct step step)
{
    switch (step.kind) {
    case STEP_SERVE:
    case STEP_GOES: return step.where;
    case STEP_DELIVERED:
        return node_of(running->operations[step.where].kind == OP_SEND ? running->operations[step.where].peer
                                                                       : step.where / OPERATIONS_MAX);
    case STEP_POST:
    case STEP_HAND_OVER:
    case STEP_OFFER: return node_of(step.where);
    default: return node_of(step.where / PEERS);
    }
}

/* Of a step, how many headers find room though the queue to the wire gets full. Channels have their turns, and what the host asks
 * is taken, only where there is some. */
static unsigned room_when_full(struct step step)
{
    switch (step.kind) {
    case STEP_ARRIVE:
    case STEP_LEFT:
    case STEP_DELIVERED:
    case STEP_RESUME: return 0;
    default: return 1;
    }
}

/* The same steps, where the queue to the wire is full. */
static unsigned add_full(const struct step *steps, unsigned count, struct step *full)
{
    unsigned added = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned node = node_where(steps[i]);
        bool is_at = running->put_off_at == 0 || running->put_off_at >> node & 1;
        if (is_at && steps[i].kind != STEP_GOES && steps[i].kind != STEP_KEEP && world->off_counts[node] == 0) {
            full[added] = steps[i];
            full[added++].is_full = true;
        }
    }
    return added;
}

static unsigned add_off(struct step *steps)
{
    unsigned count = 0;
    for (unsigned node = 0; node < node_count(); node++)
        if (world->off_counts[node] > 0)
            steps[count++] = (struct step){.kind = STEP_GOES, .where = (uint8_t)node};
    for (unsigned end = 0; end < ENDS; end++) {
        if (can_keep(end))
            steps[count++] = (struct step){.kind = STEP_KEEP, .where = (uint8_t)end};
        if (is_kept(end))
            steps[count++] = (struct step){.kind = STEP_RESUME, .where = (uint8_t)end};
    }
    return count;
}

unsigned steps_of(struct world *of, struct step *steps)
{
    world = of;
    unsigned count = 0;
    for (unsigned process = 0; process < running->process_count; process++)
        if (can_post(process))
            steps[count++] = (struct step){.kind = STEP_POST, .where = (uint8_t)process};
    for (unsigned process = 0; process < running->process_count; process++) {
        if (kept_receive(process, false) != NOBODY && has_room(process))
            steps[count++] = (struct step){.kind = STEP_HAND_OVER, .where = (uint8_t)process};
        if (kept_receive(process, true) != NOBODY && nic_of(process)->free_receives > 0)
            steps[count++] = (struct step){.kind = STEP_OFFER, .where = (uint8_t)process};
    }
    for (unsigned end = 0; end < ENDS; end++)
        if (can_drain(end))
            steps[count++] = (struct step){.kind = STEP_DRAIN, .where = (uint8_t)end};
    for (unsigned end = 0; end < ENDS; end++)
        if (world->wire_counts[end] > 0)
            steps[count++] = (struct step){.kind = STEP_ARRIVE, .where = (uint8_t)end};
    for (unsigned node = 0; node < node_count(); node++)
        if (world->nics[node].ready_first != PROTOCOL_NONE && world->off_counts[node] == 0)
            steps[count++] = (struct step){.kind = STEP_SERVE, .where = (uint8_t)node};
    for (unsigned end = 0; end < ENDS; end++)
        for (unsigned i = 0; i < PROTOCOL_RING_ENTRIES; i++)
            if (world->leaving[end][i].body != NOBODY)
                steps[count++] = (struct step){.kind = STEP_LEFT, .where = (uint8_t)end, .index = (uint8_t)i};
    for (unsigned i = 0; i < OPERATIONS; i++)
        if (world->operations[i].is_moving)
            steps[count++] = (struct step){.kind = STEP_DELIVERED, .where = (uint8_t)i};
    count += add_off(steps + count);
    if (world->put_off < running->put_off)
        count += add_full(steps, count, steps + count);
    return count;
}

bool take(struct world *of, struct step step)
{
    world = of;
    fault = NULL;
    arrived = (struct item){0};
    room = step.is_full ? room_when_full(step) : UINT32_MAX;
    if (setjmp(failed))
        return false;
    struct leaving *leaving = &world->leaving[step.where % ENDS][step.index];
    unsigned process;
    switch (step.kind) {
    case STEP_POST: post(step.where); break;
    case STEP_ARRIVE: arrive(step.where); break;
    case STEP_SERVE: serve(step.where); break;
    case STEP_HAND_OVER: hand_over(step.where); break;
    case STEP_OFFER: offer(step.where); break;
    case STEP_LEFT:
        leaving->body = NOBODY;
        protocol_left(nic_of(step.where / PEERS), channel_of(step.where), leaving->message);
        break;
    case STEP_DELIVERED:
        world->operations[step.where].is_moving = false;
        process = step.where / OPERATIONS_MAX;
        if (running->operations[step.where].kind == OP_SEND) /* It was drained. */
            process = running->operations[step.where].peer;
        protocol_delivered(nic_of(process), world->operations[step.where].number);
        break;
    case STEP_DRAIN: drain(step.where); break;
    case STEP_GOES: go(step.where); break;
    case STEP_KEEP: keep(step.where); break;
    case STEP_RESUME: resume(step.where); break;
    }
    return true;
}

void describe(const struct world *of, struct step step, FILE *file)
{
    unsigned process = step.where / PEERS, peer = step.kind == STEP_POST ? 0 : peer_of(step.where % ENDS);
    switch (step.kind) {
    case STEP_POST:
        fprintf(file, "    process %u posts %s\n", step.where,
                running->operations[step.where * OPERATIONS_MAX + of->posted[step.where]].text);
        break;
    case STEP_ARRIVE:
        fprintf(file, "    arrives, %u -> %u: %s, message %u\n", peer, process,
                kind_names[of->wires[step.where][0].header.kind],
                of->wires[step.where][0].header.message - NUMBER_FIRST);
        break;
    case STEP_SERVE:
        fprintf(file, "    NIC %u serves channel %u\n", step.where, of->nics[step.where].ready_first);
        break;
    case STEP_HAND_OVER: fprintf(file, "    process %u: the host hands over what it kept\n", step.where); break;
    case STEP_DRAIN: fprintf(file, "    process %u: the host drains what came from %u\n", process, peer); break;
    case STEP_GOES: fprintf(file, "    NIC %u has room for what was put off\n", step.where); break;
    case STEP_KEEP: fprintf(file, "    arrives, %u -> %u: RETRACT, which is kept\n", peer, process); break;
    case STEP_RESUME: fprintf(file, "    process %u: RETRACT that was kept is looked at\n", process); break;
    case STEP_OFFER: fprintf(file, "    process %u: the host offers what it keeps\n", step.where); break;
    case STEP_LEFT:
        fprintf(file, "    has left, %u -> %u: body of message %u\n", process, peer,
                of->leaving[step.where][step.index].message - NUMBER_FIRST);
        break;
    case STEP_DELIVERED:
        fprintf(file, "    is delivered: process %u's %s\n", step.where / OPERATIONS_MAX,
                running->operations[step.where].text);
        break;
    }
}
