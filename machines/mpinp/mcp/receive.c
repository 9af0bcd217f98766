/* Receives and probing. The card has a receive as long as there are names, places and entries of the page table, which name the
 * pages where the data go; others wait here, in order.
 * Messages that have met no receive stay on the card until there are many of a source, or receives wait here: then they are
 * drained, in order, and wait here, too. What waits here is older than what waits on the card, and comes first. */
#include "host.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"

/* Of the card's receives and names: what is left to messages that are drained or claimed. */
#define CLAIMED 20u
#define CLAIMS_LEFT 4u /* with fewer, messages that are claimed are taken into the host's memory */

/* A message may be in both, of which none is long. */
enum mcp_place { FETCHES, CLAIMS };

struct mcp_list {
    struct mcp_held *first, *last;
};

/* Messages that are to be fetched and wait for room; those that were claimed, of which the card has the data. */
static struct mcp_list lists[2];
static uint32_t receives, places; /* that the card has */
static bool listens; /* UNCLAIMED is to come */
static bool is_new; /* receives were kept since the card was asked last */
static bool *crowded; /* by rank: messages are to be drained */
static uint32_t crowded_count;
static bool is_draining;

/* The card keeps a message that it has shown from being cancelled until the next request. */
static bool is_shown;
static uint32_t shown_at; /* requests posted by then */
static bool is_asking, is_answered; /* one question at a time */
static uint32_t asked_at; /* requests posted by then */
static struct chasqui_mpinp_event answer; /* the last */

/* The last probe. Valid: it found nothing, and the card has not said since that a message came. */
static struct {
    uint64_t key;
    int pattern;
    bool is_valid;
} vain;

static struct mcp_held *spare;

void mcp_receive_init(void)
{
    crowded = chq_malloc(chq.size * sizeof *crowded);
    memset(crowded, 0, chq.size * sizeof *crowded);
    mcp_waiting_init();
}

static void mcp_append(enum mcp_place place, struct mcp_held *message)
{
    struct mcp_list *list = &lists[place];
    message->next[place] = NULL;
    if (list->first)
        list->last->next[place] = message;
    else
        list->first = message;
    list->last = message;
}

static void mcp_remove(enum mcp_place place, struct mcp_held *message)
{
    struct mcp_list *list = &lists[place];
    struct mcp_held *before = NULL, *found = list->first;
    for (; found && found != message; found = found->next[place])
        before = found;
    if (!found)
        return;
    if (before)
        before->next[place] = message->next[place];
    else
        list->first = message->next[place];
    if (list->last == message)
        list->last = before;
}

static struct chasqui_mpinp_request mcp_request_for(uint8_t kind, uint64_t key, int pattern)
{
    return (struct chasqui_mpinp_request){
        .kind = kind,
        .rank = (uint16_t)(pattern & PATTERN_ANY_SOURCE ? CHASQUI_MPINP_ANY_SOURCE : key >> 48),
        .context = match_context(key),
        .tag = pattern & PATTERN_ANY_TAG ? (int32_t)CHASQUI_MPINP_ANY_TAG : (int32_t)key,
    };
}

static uint32_t mcp_places_for(uint64_t key) { return match_key_pattern(key) & PATTERN_ANY_SOURCE ? chq.size : 1; }

/* Where data go: to the receive's buffer, or to a copy that is unpacked; or to the message's own place. */
static char *mcp_target(struct request *request, size_t bytes)
{
    if (!request->type)
        return request->buffer;
    if (!request->packed)
        request->packed = chq_malloc(bytes ? bytes : 1); /* Freed when the request ends. */
    return request->packed;
}

/* False: no room. */
static bool mcp_receive_post(struct request *request, uint64_t key, int pattern)
{
    uint32_t needed = mcp_places_for(key);
    if (receives >= CHASQUI_MPINP_RECEIVES - CLAIMED || places + needed > CHASQUI_MPINP_PLACES || mcp_card_room() == 0)
        return false;
    uint32_t number = mcp_name_take(NAMES_LEFT);
    if (number == MCP_NONE)
        return false;
    struct mcp_name *name = mcp_name_of(number);
    size_t bytes = request->bytes > UINT32_MAX ? UINT32_MAX : request->bytes;
    *name = (struct mcp_name){.request = request,
                              .kind = CHASQUI_MPINP_RECEIVE,
                              .places = (uint16_t)needed,
                              .data = mcp_target(request, bytes),
                              .bytes = bytes};
    if (!mcp_pin(number, 2 * ENTRIES_LEFT)) {
        mcp_name_give(number);
        return false;
    }
    struct chasqui_mpinp_request receive = mcp_request_for(CHASQUI_MPINP_RECEIVE, key, pattern);
    mcp_fill(&receive, number);
    receives++;
    places += needed;
    request->posted = false;
    request->stamp = number;
    mcp_card_post(&receive);
    return true;
}

/* --- what waits for room --- */

static bool mcp_fetch(struct mcp_held *message);

static bool mcp_wait_step(struct blocked *blocked)
{
    (void)blocked;
    while (lists[FETCHES].first && mcp_fetch(lists[FETCHES].first))
        mcp_remove(FETCHES, lists[FETCHES].first);
    while (mcp_kept_first) {
        struct request *request = mcp_kept_first;
        if (!mcp_receive_post(request, request->node.key, match_key_pattern(request->node.key)))
            break;
        mcp_kept_remove(request);
    }
    return !mcp_kept_first && !lists[FETCHES].first;
}

static bool is_blocked;

static void mcp_wait_gone(struct blocked *blocked)
{
    (void)blocked;
    is_blocked = false;
}

static struct blocked blocked_receives = {.step = mcp_wait_step, .gone = mcp_wait_gone};

static void mcp_wait(void)
{
    if (!is_blocked)
        chq_block(&blocked_receives);
    is_blocked = true;
}

static void mcp_keep(struct request *request)
{
    mcp_kept_add(request);
    is_new = true;
    mcp_wait();
}

/* --- messages that were claimed --- */

/* Asks the card for the data of a claimed message: to where its receive wants them, or to a place of its own. False: no room. */
static bool mcp_fetch(struct mcp_held *message)
{
    struct mcp_name *name = mcp_name_of(message->name);
    struct request *request = message->request;
    size_t bytes = message->message.envelope.bytes;
    if (request && request->bytes < bytes)
        bytes = request->bytes;
    if (mcp_card_room() == 0)
        return false;
    if (!request && !message->data)
        message->data = chq_malloc(bytes ? bytes : 1);
    *name = (struct mcp_name){.request = request,
                              .held = message,
                              .kind = CHASQUI_MPINP_RECEIVE,
                              .data = request ? mcp_target(request, bytes) : message->data,
                              .bytes = bytes};
    if (!mcp_pin(message->name, 0))
        return false;
    bool is_drained = !request && message->is_awaited;
    struct chasqui_mpinp_request fetch = {.kind = CHASQUI_MPINP_FETCH,
                                          .flags = is_drained ? (uint8_t)CHASQUI_MPINP_DRAINED : 0};
    mcp_fill(&fetch, message->name);
    message->is_fetched = true;
    mcp_card_post(&fetch);
    return true;
}

static void mcp_want(struct mcp_held *message)
{
    if (!lists[FETCHES].first && mcp_fetch(message))
        return;
    mcp_append(FETCHES, message);
    mcp_wait();
}

static struct mcp_held *mcp_of(struct message *message)
{
    return (struct mcp_held *)(void *)((char *)message - offsetof(struct mcp_held, message));
}

static void mcp_held_free(struct mcp_held *message)
{
    free(message->data);
    free(message);
}

/* A receive meets a message whose data are here. */
static void mcp_take_held(struct request *request, struct mcp_held *message)
{
    transport_matched(request, &message->message.envelope);
    chq_deliver(request, request->got > 0 ? message->data : NULL, request->got);
    mcp_held_free(message);
}

/* ... which is in no list. */
static void mcp_meet(struct request *request, struct mcp_held *message)
{
    const struct chasqui_envelope *envelope = &message->message.envelope;
    request->posted = false;
    request->stamp = MCP_NONE; /* It can not be cancelled. */
    if (message->is_awaited && message->is_fetched)
        mcp_note(envelope->source, CHASQUI_MPINP_NOTE_MET, envelope->sequence);
    if (message->name == MCP_NONE) {
        mcp_take_held(request, message);
        return;
    }
    message->request = request;
    if (message->is_fetched)
        return;
    mcp_remove(FETCHES, message);
    mcp_want(message);
}

void mcp_post(struct request *request, uint64_t key, int pattern)
{
    struct mcp_held *message = unlikely(mcp_held_first != NULL) ? mcp_held_for(key) : NULL;
    request->node.key = key;
    if (unlikely(message != NULL)) {
        mcp_held_remove(message);
        chq_tell();
        mcp_meet(request, message);
    } else if (mcp_kept_first || !mcp_receive_post(request, key, pattern)) {
        mcp_keep(request);
    }
}

void mcp_receive_cancel(struct request *request)
{
    if (request->posted) {
        mcp_kept_remove(request);
        chq_cancelled(request);
        return;
    }
    while (mcp_card_room() == 0)
        mcp_look();
    if (request->complete || request->stamp == MCP_NONE)
        return;
    struct chasqui_mpinp_request cancel = {.kind = CHASQUI_MPINP_CANCEL, .name = (uint16_t)request->stamp};
    mcp_card_post(&cancel);
}

/* --- asking the card --- */

/* UNCLAIMED may be heard in the same look, and is the later of the two: so what a vain probe means is noted here, not when the
 * look is over. */
void mcp_answered(const struct chasqui_mpinp_event *event)
{
    answer = *event;
    is_answered = true;
    if (event->kind == CHASQUI_MPINP_PROBED && event->result != CHASQUI_MPINP_COMPLETE)
        vain.is_valid = listens = true;
}

/* Its answer follows in `answer`. Neither receives nor claims are posted meanwhile. */
static void mcp_ask(const struct chasqui_mpinp_request *request)
{
    is_asking = true;
    while (mcp_card_room() == 0) {
        chq_pause();
        mcp_look();
    }
    is_answered = false;
    mcp_card_post(request);
    asked_at = mcp_card_posted();
    while (!is_answered) {
        chq_pause();
        mcp_look();
    }
    is_asking = false;
}

/* There is room for a claim, and so many besides. */
static bool mcp_may_claim(uint32_t more) { return receives + more < CHASQUI_MPINP_RECEIVES && mcp_names_left() > more; }

/* CLAIM or DRAIN: a message with a name. False: there is none. */
static bool mcp_claim_into(struct mcp_held *message, struct chasqui_mpinp_request *request)
{
    uint32_t number = mcp_name_take(0);
    message->name = MCP_NONE;
    *mcp_name_of(number) = (struct mcp_name){.kind = CHASQUI_MPINP_CLAIM};
    request->name = (uint16_t)number;
    mcp_ask(request);
    if (answer.result != CHASQUI_MPINP_COMPLETE) {
        mcp_name_give(number);
        return false;
    }
    receives++;
    *message = (struct mcp_held){.name = number,
                                 .message.envelope = {.kind = CHASQUI_PACKET_EAGER,
                                                      .context = answer.context,
                                                      .source = answer.rank,
                                                      .destination = (uint16_t)chq.rank,
                                                      .tag = answer.tag,
                                                      .sequence = answer.sequence,
                                                      .bytes = answer.bytes},
                                 .is_awaited = answer.entry};
    return true;
}

static void mcp_drain_claimed(uint32_t rank)
{
    struct mcp_held *next = lists[CLAIMS].first;
    while (next) {
        struct mcp_held *message = next;
        next = message->next[CLAIMS];
        if (message->message.envelope.source != rank)
            continue;
        mcp_remove(CLAIMS, message);
        mcp_want(message);
    }
}

/* Takes messages of `rank` from the card. False: there may be more. */
static bool mcp_drain(uint32_t rank)
{
    mcp_drain_claimed(rank);
    for (;;) {
        struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_DRAIN, .rank = (uint16_t)rank};
        if (!mcp_may_claim(1)) /* MPI_Mprobe finds room. */
            return false;
        struct mcp_held *message = chq_malloc(sizeof *message);
        if (!mcp_claim_into(message, &request)) {
            free(message);
            return true;
        }
        struct request *receive = mcp_kept_for(&message->message.envelope);
        if (receive) {
            mcp_kept_remove(receive);
            mcp_meet(receive, message);
            continue;
        }
        MARK_QUEUED(&message->message.envelope);
        mcp_held_add(message);
        mcp_want(message);
    }
}

void mcp_drained_cancel(uint32_t rank, uint32_t sequence)
{
    struct mcp_held *message = mcp_held_of(rank, sequence);
    if (!message)
        return; /* It has met its receive: NOTE_MET is on its way. */
    mcp_held_remove(message);
    if (message->name == MCP_NONE)
        mcp_held_free(message);
    else
        message->is_gone = true;
    mcp_note(rank, CHASQUI_MPINP_NOTE_GONE, sequence);
}

void mcp_crowded(uint32_t rank)
{
    crowded_count += !crowded[rank];
    crowded[rank] = true;
}

void mcp_unclaimed(const struct chasqui_mpinp_event *event)
{
    listens = false;
    vain.is_valid = false;
    if (!mcp_kept_first)
        return;
    for (uint32_t rank = 0; rank < chq.size; rank++)
        if (event->rank == rank || event->rank == CHASQUI_MPINP_ANY_SOURCE)
            mcp_crowded(rank);
}

/* Probing may have been all. */
static void mcp_show_no_more(void)
{
    if (!is_shown || (mcp_card_posted() == shown_at && mcp_card_room() == 0))
        return;
    is_shown = false;
    if (mcp_card_posted() != shown_at)
        return;
    struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_FORGET};
    mcp_card_post(&request);
}

void mcp_receives_look(void)
{
    if (likely(!mcp_kept_first && crowded_count == 0 && !is_shown) || is_draining || is_asking)
        return;
    mcp_show_no_more();
    is_draining = true;
    for (uint32_t rank = 0; rank < chq.size && crowded_count > 0; rank++) {
        if (!crowded[rank])
            continue;
        crowded[rank] = false;
        crowded_count--;
        if (!mcp_drain(rank)) {
            mcp_crowded(rank);
            break;
        }
    }
    if (mcp_kept_first && mcp_card_room() > 0 && (is_new || !listens)) {
        struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_LISTEN, .flags = is_new};
        listens = true;
        is_new = false;
        mcp_card_post(&request);
    }
    is_draining = false;
}

/* --- probing --- */

/* The answer to a probe. A message that came since may be the one: its UNCLAIMED is heard already, so a process that slept now
 * would not be woken for it. What was posted since, a note or entries, has ended the showing of a message. */
static bool mcp_still_holds(void)
{
    return answer.result == CHASQUI_MPINP_COMPLETE ? mcp_card_posted() == asked_at : vain.is_valid;
}

struct message *mcp_probe(uint64_t key, int pattern)
{
    struct mcp_held *message = mcp_held_for(key);
    if (message)
        return &message->message;
    if (listens && vain.is_valid && vain.key == key && vain.pattern == pattern)
        return NULL;
    struct chasqui_mpinp_request request = mcp_request_for(CHASQUI_MPINP_PROBE, key, pattern);
    do {
        vain.key = key;
        vain.pattern = pattern;
        vain.is_valid = false;
        mcp_ask(&request);
    } while (!mcp_still_holds());
    if (answer.result != CHASQUI_MPINP_COMPLETE)
        return NULL;
    is_shown = true;
    shown_at = asked_at;
    if (!spare)
        spare = chq_malloc(sizeof *spare);
    *spare = (struct mcp_held){.name = MCP_NONE,
                               .message.envelope = {.kind = CHASQUI_PACKET_EAGER,
                                                    .context = (uint16_t)match_context(key),
                                                    .source = answer.rank,
                                                    .destination = (uint16_t)chq.rank,
                                                    .tag = answer.tag,
                                                    .bytes = answer.bytes}};
    return &spare->message;
}

void mcp_claim(struct message *message)
{
    struct mcp_held *found = mcp_of(message);
    const struct chasqui_envelope *envelope = &message->envelope;
    if (found != spare) {
        mcp_held_remove(found);
        return;
    }
    spare = NULL;
    struct chasqui_mpinp_request request = mcp_request_for(
        CHASQUI_MPINP_CLAIM, match_key(envelope->context, envelope->source, envelope->tag), PATTERN_EXACT);
    if (!mcp_claim_into(found, &request))
        chq_die("mpinp: a message that was shown is gone");
    if (mcp_may_claim(CLAIMS_LEFT))
        mcp_append(CLAIMS, found);
    else
        mcp_want(found);
    while (!mcp_may_claim(0)) {
        chq_pause();
        mcp_look();
    }
}

void mcp_receive(struct request *request, struct message *message)
{
    request->node.key = match_envelope_key(&message->envelope);
    MARK_POST(request);
    mcp_remove(CLAIMS, mcp_of(message));
    mcp_meet(request, mcp_of(message));
}

/* --- events --- */

/* A message that was drained is here. */
static void mcp_held_came(struct mcp_held *message)
{
    MARK_COPIED(&message->message.envelope);
    message->name = MCP_NONE;
    if (message->is_gone)
        mcp_held_free(message);
    else if (message->request)
        mcp_take_held(message->request, message);
}

static void mcp_request_came(struct request *request, const struct chasqui_mpinp_event *event)
{
    struct chasqui_envelope envelope = {.kind = CHASQUI_PACKET_EAGER,
                                        .context = (uint16_t)match_context(request->node.key),
                                        .source = event->rank,
                                        .destination = (uint16_t)chq.rank,
                                        .tag = event->tag,
                                        .sequence = event->sequence,
                                        .bytes = event->bytes};
    transport_matched(request, &envelope);
    /* Dense data are where they belong. */
    chq_deliver(request, request->type && request->got > 0 ? request->packed : NULL, request->type ? request->got : 0);
}

void mcp_received(const struct chasqui_mpinp_event *event)
{
    struct mcp_name name = *mcp_name_of(event->name);
    receives--;
    places -= name.places;
    mcp_unpin(event->name);
    mcp_name_give(event->name);
    if (event->result == CHASQUI_MPINP_CANCELLED) {
        chq_cancelled(name.request);
    } else if (name.request) {
        if (name.held)
            mcp_held_free(name.held);
        mcp_request_came(name.request, event);
    } else {
        name.held->message.envelope.sequence = event->sequence;
        mcp_held_came(name.held);
    }
}
