/* What comes to the sP's own queue: other sites, and processes that system software has connected to it, request data of
 * this site's memory. The answer is a command that brings them into the NES's SRAM, and a Tag-On message (section
 * 5.2). */
#include "firmware.h"

/* Requests without an answer yet, by process, of each the oldest first. Processes take turns: of what has been taken in none
 * waits for all that another has asked for. What is still in the sP's queue and before it has one order. */
static struct list requests[CHASQUI_VOYAGER_QUEUES];
static unsigned waiting, turn, processes;
static uint32_t posted, sent;
static unsigned places, next_place, sites;

void own_begin(void)
{
    places = nes_load(CHASQUI_SP_SETTING_PLACES);
    sites = nes_load(CHASQUI_SP_SETTING_SITES);
    processes = express_count / CHASQUI_VOYAGER_EXPRESS_QUEUES;
}

/* The queue has room; so have the places, since one is used for at most one message under way. */
bool own_has_room(void)
{
    unsigned most = express_messages < places ? express_messages : places;
    if (posted - sent < most)
        return true;
    sent = nes_load(CHASQUI_SP_OWN_SENT);
    if (posted - sent < most)
        return true;
    look_for_room();
    return false;
}

void own_send(unsigned destination, uint64_t word, uint64_t tag)
{
    nes_store(CHASQUI_SP_OWN_SEND, word | (uint64_t)destination << CHASQUI_SP_OWN_DESTINATION_SHIFT | tag);
    posted++;
}

/* Bits of a message. */
static unsigned source_of(uint64_t message)
{
    return message >> CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT & ((1u << CHASQUI_VOYAGER_EXPRESS_SOURCE_BITS) - 1);
}

/* The process of a request, whose source id is behind the sites'. */
static unsigned requester_of(uint64_t message) { return chasqui_sp_requester(source_of(message), sites, processes); }

static unsigned extra_of(uint64_t message) { return message >> 32 & ((1u << CHASQUI_VOYAGER_EXPRESS_EXTRA_BITS) - 1); }

static void answer(uint64_t request)
{
    bool is_long = extra_of(request) == CHASQUI_VOYAGER_SP_READ_LONG;
    unsigned place = next_place++ % places, destination = source_of(request);
    nes_store(CHASQUI_SP_ADDRESS, (uint32_t)request);
    uint64_t fetch = CHASQUI_SP_COMMAND_FETCH | (uint64_t)place << CHASQUI_SP_FETCH_PLACE_SHIFT;
    if (!command(fetch | (is_long ? CHASQUI_SP_FETCH_LONG : 0), destination)) {
        own_send(destination, (uint32_t)request | CHASQUI_VOYAGER_SP_REFUSED << 32, 0);
        return;
    }
    uint64_t tag = CHASQUI_SP_OWN_TAG | (uint64_t)place << CHASQUI_SP_OWN_PLACE_SHIFT;
    uint64_t word = request & ((1ull << CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT) - 1);
    own_send(destination, word, tag | (is_long ? CHASQUI_SP_OWN_LONG : 0));
}

/* The oldest request of the process whose turn is next; there is one. */
static struct message *next_request(void)
{
    do
        turn = turn + 1 < processes ? turn + 1 : 0;
    while (is_empty(&requests[turn]));
    waiting--;
    return list_take(&requests[turn]);
}

static void answer_requests(void)
{
    while (waiting > 0 && own_has_room()) {
        struct message *request = next_request();
        answer(request->words[0]);
        message_free(turn, request);
    }
}

void own_left(void)
{
    hold_left(); /* First: jobs wait for it. */
    answer_requests();
}

void forget_requests(unsigned process)
{
    struct message *request;
    while ((request = list_take(&requests[process]))) {
        message_free(process, request);
        waiting--;
    }
}

static void take_request(uint64_t message)
{
    unsigned process = requester_of(message);
    if (source_of(message) < sites || is_over(process))
        return;
    if (!may_keep(process)) {
        overrun(process);
        return;
    }
    struct message *request = message_new(process);
    request->words[0] = message;
    list_append(&requests[process], request);
    waiting++;
}

/* From another site's sP. Whoever is connected to this queue may send the like, but by no site's source id. */
static void take_word(unsigned site, unsigned what, uint32_t word)
{
    switch (what) {
    case CHASQUI_SP_MARK_FIRST: first_mark(word, false); break;
    case CHASQUI_SP_MARK_IDLE: first_mark(word, true); break;
    case CHASQUI_SP_MARK_SECOND: second_mark(); break;
    case CHASQUI_SP_HOLD_JOB: take_hold(word); break;
    case CHASQUI_SP_RELEASE_JOB: take_release(site, word); break;
    case CHASQUI_SP_RELEASED: take_released(site); break;
    }
}

static void take(uint64_t message)
{
    unsigned what = extra_of(message);
    if (is_site(source_of(message)))
        take_word(source_of(message), what, message);
    else if (what == CHASQUI_VOYAGER_SP_READ_SHORT || what == CHASQUI_VOYAGER_SP_READ_LONG)
        take_request(message);
}

/* Takes what has come, for what is behind the oldest may be needed first; then answers. */
void serve_own(unsigned count)
{
    while (count-- > 0 && another_may_come())
        take(nes_load(CHASQUI_SP_OWN_TAKE));
    answer_requests();
}
