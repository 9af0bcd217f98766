/* What a list of tags adds to the device over the thin firmware, of whose file this is a part (device.c).
 *
 * The library says of which receives the next message that matches is known (mpi/host/expect.c): those are appended to the list
 * while there is room; all others it matches itself. A message that met an entry is where it goes, and only its end comes. Of
 * what comes otherwise the library hears as ever.
 *
 * A receive that is appended may cross an unexpected message. The card does not append it then: each append says how many of
 * them this process has dealt with. With each message it says how many requests it had taken before. So when an unexpected
 * message is dealt with, the entries whose appends it had not taken by then are known not to be in the list: they are the
 * library's from then on, before it hears of the message. */
#ifndef MPINP_TAGS_H
#define MPINP_TAGS_H

#include "mpi/request/request.h"

enum { NONE = 0xffff };

/* A receive that is in the list, or on its way there. In the order of their appends, or free ones. */
struct entry {
    struct request *request;
    uint32_t number; /* of the request that appended it */
    uint16_t next, previous;
};

static struct entry *entries;
static uint16_t oldest = NONE, newest = NONE, first_free = NONE;
static uint32_t posted;      /* requests to the list */
static uint32_t taken_off;   /* those of them whose places are free again */
static uint32_t unexpected;  /* messages that met no entry, and are dealt with */
static bool is_removing;     /* the answer to a removal is to come */

static void free_entry(uint16_t number)
{
    struct entry *entry = &entries[number];
    *(entry->previous == NONE ? &oldest : &entries[entry->previous].next) = entry->next;
    *(entry->next == NONE ? &newest : &entries[entry->next].previous) = entry->previous;
    entry->request = NULL;
    entry->next = first_free;
    first_free = number;
}

static uint16_t take_entry(struct request *request)
{
    uint16_t number = first_free;
    struct entry *entry = &entries[number];
    first_free = entry->next;
    *entry = (struct entry){.request = request, .number = posted + 1, .next = NONE, .previous = newest};
    *(newest == NONE ? &oldest : &entries[newest].next) = number;
    newest = number;
    return number;
}

/* The card has answered a removal: what comes has no message. */
static inline bool tags_answered(const struct chasqui_mpinp_end *end)
{
    if (likely(!(end->head.counts & CHASQUI_MPINP_ARRIVED_REMOVED)))
        return false;
    is_removing = false;
    if (end->head.to)
        free_entry((uint16_t)(end->head.to - 1));
    return true;
}

/* The library matches the receives whose appends the card had not taken by request `taken`. */
static void give_up_after(uint32_t taken)
{
    while (newest != NONE && (int32_t)(entries[newest].number - taken) > 0) {
        entries[newest].request->expected = false;
        free_entry(newest);
    }
}

/* A message has come. True: its data are where its receive wants them. */
static inline bool tags_arrived(const struct chasqui_mpinp_end *end)
{
    uint32_t counts = end->head.counts;
    if (!(counts & CHASQUI_MPINP_ARRIVED_LOOKED))
        return false;
    if (!end->head.to) {
        /* What is not told of the count is as in that of all requests, or one less. */
        uint32_t bits = UINT32_MAX >> CHASQUI_MPINP_ARRIVED_REQUESTS_SHIFT;
        give_up_after(posted - ((posted - (counts >> CHASQUI_MPINP_ARRIVED_REQUESTS_SHIFT)) & bits));
        unexpected++;
        return false;
    }
    uint16_t number = (uint16_t)(end->head.to - 1);
    struct request *request = entries[number].request;
    free_entry(number);
    if (!(counts & CHASQUI_MPINP_ARRIVED_DELIVERED))
        return false; /* The library's receive is this: it is the first that matches. */
    mpi_bound(request, &end->envelope);
    return true;
}

#endif
