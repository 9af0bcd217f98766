/* Receives and probing. The card has a receive as long as there are names, places and memory; others wait here, in order, and
 * are offered to the card's unclaimed messages, oldest first (protocol/README.md). */
#include "host.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"

/* Receives that claims may have, beside those that are posted. */
#define CLAIMS 20u

/* A message that was found, and perhaps claimed. */
struct found {
    struct message message;
    uint32_t name;
    struct found *next; /* claimed, and its receive waits for memory */
    struct request *request;
};

static struct request *kept_first, *kept_last; /* linked by their nodes; key and pattern are there, too */
static struct found *fetches; /* in no order that matters */
static uint32_t receives, places; /* that the card has */
static uint32_t known; /* messages that came unclaimed, as far as the card has said */
static bool listens; /* UNCLAIMED is to come */
static bool is_new; /* receives were kept since the card was asked last */
static bool must_offer; /* all that are kept */
static struct chasqui_mpinp_event came; /* a message that may match one that is kept; its kind 0: none */
static bool is_offering;

static bool is_answered;
static struct chasqui_mpinp_event answer; /* the last */

/* The last probe that found nothing. */
static struct {
    uint64_t key;
    int pattern;
    bool is_valid;
} vain;

static struct found *spare;

static inline struct request *mcp_after(const struct request *request) { return (struct request *)request->node.next; }

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

/* A name with memory for a receive; MCP_NONE: there is no room. */
static uint32_t mcp_prepare(struct request *request)
{
    uint32_t number = mcp_name_take();
    if (number == MCP_NONE)
        return MCP_NONE;
    struct mcp_name *name = mcp_name_of(number);
    *name = (struct mcp_name){.request = request, .kind = CHASQUI_MPINP_RECEIVE, .bytes = request->bytes};
    if (mcp_table_take(name, MCP_RECEIVES))
        return number;
    mcp_name_give(number);
    return MCP_NONE;
}

static void mcp_fill(struct chasqui_mpinp_request *to, uint32_t number)
{
    const struct mcp_name *name = mcp_name_of(number);
    to->name = (uint16_t)number;
    to->bytes = name->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)name->bytes;
    to->valid = name->bytes > MCP_PART ? MCP_TABLE : 1;
    to->address[0] = name->address[0];
    to->address[1] = name->address[1];
}

/* False: no room. */
static bool mcp_receive_post(struct request *request, uint64_t key, int pattern)
{
    uint32_t needed = mcp_places_for(key);
    if (receives == CHASQUI_MPINP_RECEIVES - CLAIMS || places + needed > CHASQUI_MPINP_PLACES || mcp_card_room() == 0)
        return false;
    uint32_t number = mcp_prepare(request);
    if (number == MCP_NONE)
        return false;
    struct chasqui_mpinp_request receive = mcp_request_for(CHASQUI_MPINP_RECEIVE, key, pattern);
    mcp_fill(&receive, number);
    receives++;
    places += needed;
    mcp_name_of(number)->places = (uint16_t)needed;
    request->posted = false;
    request->stamp = number;
    mcp_card_post(&receive);
    return true;
}

/* --- receives that wait here --- */

static void mcp_fetch(struct request *request, uint32_t claimed);

static bool mcp_kept_step(struct blocked *blocked)
{
    (void)blocked;
    for (struct found **link = &fetches, *found; (found = *link);) {
        if (mcp_card_room() == 0)
            return false;
        struct mcp_name *name = mcp_name_of(found->name);
        if (!mcp_table_take(name, MCP_RECEIVES)) {
            link = &found->next;
            continue;
        }
        *link = found->next;
        mcp_fetch(found->request, found->name);
        free(found);
    }
    while (kept_first) {
        struct request *request = kept_first, *next = mcp_after(request);
        if (!mcp_receive_post(request, request->node.key, match_key_pattern(request->node.key)))
            break;
        kept_first = next;
    }
    return !kept_first && !fetches;
}

static bool is_blocked;

static void mcp_kept_gone(struct blocked *blocked)
{
    (void)blocked;
    is_blocked = false;
}

static struct blocked blocked_receives = {.step = mcp_kept_step, .gone = mcp_kept_gone};

static void mcp_keep(struct request *request)
{
    request->posted = true;
    request->node.next = NULL;
    if (kept_first)
        kept_last->node.next = &request->node;
    else
        kept_first = request;
    kept_last = request;
    is_new = true;
    if (!is_blocked)
        chq_block(&blocked_receives);
    is_blocked = true;
}

void mcp_post(struct request *request, uint64_t key, int pattern)
{
    request->node.key = key;
    if (kept_first || !mcp_receive_post(request, key, pattern))
        mcp_keep(request);
}

static void mcp_kept_remove(struct request *request)
{
    struct request *before = NULL, *found = kept_first;
    for (; found != request; found = mcp_after(found))
        before = found;
    if (before)
        before->node.next = request->node.next;
    else
        kept_first = mcp_after(request);
    if (kept_last == request)
        kept_last = before;
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
    if (request->complete)
        return;
    struct chasqui_mpinp_request cancel = {.kind = CHASQUI_MPINP_CANCEL, .name = (uint16_t)request->stamp};
    mcp_card_post(&cancel);
}

/* --- asking the card --- */

void mcp_answered(const struct chasqui_mpinp_event *event)
{
    answer = *event;
    known = event->entry;
    is_answered = true;
}

/* Its answer follows in `answer`. */
static void mcp_ask(const struct chasqui_mpinp_request *request)
{
    while (mcp_card_room() == 0) {
        chq_pause();
        mcp_look();
    }
    is_answered = false;
    mcp_card_post(request);
    while (!is_answered) {
        chq_pause();
        mcp_look();
    }
}

void mcp_unclaimed(const struct chasqui_mpinp_event *event)
{
    listens = false;
    vain.is_valid = false;
    known = event->entry;
    if (event->rank == CHASQUI_MPINP_ANY_SOURCE || came.kind)
        must_offer = true;
    else
        came = *event;
}

static void mcp_listen(bool at_once)
{
    struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_LISTEN, .flags = at_once};
    listens = true;
    mcp_card_post(&request);
}

/* Claims the message that a receive of `key` would get. MCP_NONE: there is none, or others have come (`known`). */
static uint32_t mcp_claim_for(uint64_t key, int pattern)
{
    uint32_t number = mcp_name_take();
    if (number == MCP_NONE)
        return MCP_NONE;
    struct chasqui_mpinp_request request = mcp_request_for(CHASQUI_MPINP_CLAIM, key, pattern);
    request.name = (uint16_t)number;
    request.bytes = known;
    *mcp_name_of(number) = (struct mcp_name){.kind = CHASQUI_MPINP_CLAIM};
    mcp_ask(&request);
    if (answer.result == CHASQUI_MPINP_COMPLETE) {
        receives++;
        return number;
    }
    mcp_name_give(number);
    return MCP_NONE;
}

/* --- offering what waits here to messages that wait there --- */

/* A claimed message gets its receive, now or as soon as there is memory. */
static void mcp_receive_claimed(struct request *request, uint32_t number, struct found *found)
{
    struct mcp_name *name = mcp_name_of(number);
    *name = (struct mcp_name){.request = request, .kind = CHASQUI_MPINP_RECEIVE, .bytes = request->bytes};
    if (mcp_card_room() > 0 && mcp_table_take(name, MCP_RECEIVES)) {
        mcp_fetch(request, number);
        free(found);
        return;
    }
    if (!found)
        found = chq_malloc(sizeof *found);
    *found = (struct found){.name = number, .next = fetches, .request = request};
    fetches = found;
    if (!is_blocked)
        chq_block(&blocked_receives);
    is_blocked = true;
}

static void mcp_fetch(struct request *request, uint32_t claimed)
{
    struct chasqui_mpinp_request fetch = {.kind = CHASQUI_MPINP_FETCH};
    mcp_fill(&fetch, claimed);
    request->stamp = claimed;
    mcp_card_post(&fetch);
}

/* Those that are kept, oldest first. If a message comes meanwhile, again from the oldest on. */
static void mcp_offer_all(void)
{
    struct request *request = kept_first;
    uint32_t before = known;
    while (request && receives < CHASQUI_MPINP_RECEIVES) {
        struct request *next = mcp_after(request);
        uint32_t number = mcp_claim_for(request->node.key, match_key_pattern(request->node.key));
        bool has_changed = known != before;
        before = known;
        if (number != MCP_NONE) {
            mcp_kept_remove(request);
            request->posted = false;
            mcp_receive_claimed(request, number, NULL);
        }
        request = has_changed ? kept_first : next;
    }
}

/* The oldest that may get the message that came. */
static struct request *mcp_kept_for(const struct chasqui_mpinp_event *message)
{
    uint64_t key = match_key(message->context, message->rank, message->tag);
    struct request *request = kept_first;
    while (request && ((request->node.key ^ key) & match_mask(match_key_pattern(request->node.key))) != 0)
        request = mcp_after(request);
    return request;
}

void mcp_kept_look(void)
{
    if (likely(!kept_first) || is_offering)
        return;
    is_offering = true;
    if (must_offer || (came.kind && mcp_kept_for(&came))) {
        must_offer = false;
        came.kind = 0;
        mcp_offer_all();
    }
    came.kind = 0;
    if (kept_first && mcp_card_room() > 0 && (is_new || !listens)) {
        mcp_listen(is_new);
        is_new = false;
    }
    is_offering = false;
}

/* --- probing --- */

struct message *mcp_probe(uint64_t key, int pattern)
{
    mcp_kept_look();
    if (listens && vain.is_valid && vain.key == key && vain.pattern == pattern)
        return NULL;
    struct chasqui_mpinp_request request = mcp_request_for(CHASQUI_MPINP_PROBE, key, pattern);
    mcp_ask(&request);
    if (answer.result != CHASQUI_MPINP_COMPLETE) {
        vain.key = key;
        vain.pattern = pattern;
        vain.is_valid = listens;
        return NULL;
    }
    if (!spare)
        spare = chq_malloc(sizeof *spare);
    spare->message.envelope = (struct chasqui_envelope){
        .kind = CHASQUI_PACKET_EAGER,
        .context = (uint16_t)match_context(key),
        .source = answer.rank,
        .destination = (uint16_t)chq.rank,
        .tag = answer.tag,
        .bytes = answer.bytes,
    };
    return &spare->message;
}

void mcp_claim(struct message *message)
{
    struct found *found = (struct found *)(void *)message;
    const struct chasqui_envelope *envelope = &message->envelope;
    uint64_t key = match_key(envelope->context, envelope->source, envelope->tag);
    uint32_t before;
    spare = NULL;
    do {
        before = known;
        found->name = receives < CHASQUI_MPINP_RECEIVES ? mcp_claim_for(key, PATTERN_EXACT) : MCP_NONE;
    } while (found->name == MCP_NONE && known != before);
    if (found->name == MCP_NONE)
        chq_die("mpinp: a message that was probed for can not be claimed: its send was cancelled, or too many are claimed");
}

void mcp_receive(struct request *request, struct message *message)
{
    struct found *found = (struct found *)(void *)message;
    request->posted = false;
    request->node.key = match_key(message->envelope.context, message->envelope.source, message->envelope.tag);
    MARK_POST(request);
    mcp_receive_claimed(request, found->name, found);
}

/* --- events --- */

/* Where data of a receive that come in several parts go. */
static char *mcp_target(struct request *request, size_t bytes)
{
    if (!request->type)
        return request->buffer;
    if (!request->packed)
        request->packed = chq_malloc(bytes); /* Freed when the request ends. */
    return request->packed;
}

static void mcp_part_out(struct mcp_name *name, size_t bytes)
{
    size_t part = name->parts++, before = part * MCP_PART;
    size_t here = bytes - before < MCP_PART ? bytes - before : MCP_PART;
    chq_copy(mcp_target(name->request, bytes) + before, mcp_memory_at(name->address[part % MCP_TABLE]), here);
}

void mcp_receive_entry(const struct chasqui_mpinp_event *event)
{
    struct mcp_name *name = mcp_name_of(event->name);
    size_t bytes = event->bytes < name->bytes ? event->bytes : name->bytes;
    mcp_part_out(name, bytes);
    if (name->parts + 1 < mcp_parts_of(bytes))
        mcp_entry_valid(event->name);
}

void mcp_received(const struct chasqui_mpinp_event *event)
{
    uint32_t number = event->name;
    struct mcp_name name = *mcp_name_of(number);
    struct request *request = name.request;
    receives--;
    places -= name.places;
    if (event->result == CHASQUI_MPINP_CANCELLED) {
        mcp_table_give(&name, MCP_RECEIVES);
        mcp_name_give(number);
        chq_cancelled(request);
        return;
    }
    struct chasqui_envelope envelope = {.kind = CHASQUI_PACKET_EAGER,
                                        .context = (uint16_t)match_context(request->node.key),
                                        .source = event->rank,
                                        .destination = (uint16_t)chq.rank,
                                        .tag = event->tag,
                                        .sequence = event->sequence,
                                        .bytes = event->bytes};
    transport_matched(request, &envelope);
    const void *data = request->got > 0 ? mcp_memory_at(name.address[0]) : NULL;
    size_t left = request->got;
    if (request->got > MCP_PART) {
        while (name.parts < mcp_parts_of(request->got))
            mcp_part_out(&name, request->got);
        data = request->type ? request->packed : NULL;
        left = request->type ? request->got : 0;
    }
    mcp_table_give(&name, MCP_RECEIVES);
    mcp_name_give(number);
    chq_deliver(request, data, left);
}
