/* The explorer takes rules away, one a run, and each must be missed: rows of the tables, their guards and actions, and
 * what RULE() names. In the firmware all hold.
 */
#ifndef RULES_H
#define RULES_H

/* Those of a cache of channels. */
#ifdef PROTOCOL_CACHE
#define CACHE_RULES(RULE)                                                                                 \
    RULE(ring_given_back, "a channel without messages keeps its ring")                                    \
    RULE(leased_alone, "credit is returned for a table that was recalled, and eager messages are stored") \
    RULE(credit_given_up, "a sender that gives a table back keeps its credit")                            \
    RULE(crowded_is_said, "the host does not hear that a table is to be emptied")                         \
    RULE(lease_off_alone, "credit of a lease that is put off goes with headers before it")                \
    RULE(pays_before_recall, "what goes before a recall that is put off has no credit")                   \
    RULE(recall_ends_credit, "what goes behind a recall has credit")                                      \
    RULE(kept_credit, "credit of a RETRACT that is kept is entered when that is looked at")
#else
#define CACHE_RULES(RULE)
#endif

/* Rules outside the tables: what would happen without. */
#define RULES(RULE)                                                                                                 \
    RULE(context, "messages of other contexts match")                                                               \
    RULE(any_tag, "MPI_ANY_TAG matches nothing")                                                                    \
    RULE(envelopes_in_order, "the youngest envelope that matches is claimed")                                       \
    RULE(receives_in_order, "the receive posted last matches first")                                                \
    RULE(any_source_search, "MPI_ANY_SOURCE does not look for messages that came before")                           \
    RULE(any_source_rotation, "MPI_ANY_SOURCE always looks in the same channel first")                              \
    RULE(any_source_chain, "the places of MPI_ANY_SOURCE in other channels stay")                                   \
    RULE(last_record, "waiting receives take the last record, and what the host keeps can not be offered")          \
    RULE(message_number, "SEND_REQ is for the head of the ring, whichever it is")                                   \
    RULE(receive_number, "an answer to SEND_REQ goes to whatever receive has the record now")                       \
    RULE(claims_by_number, "what was announced goes to the receive that claimed first")                             \
    RULE(crossing_by_number, "an unanswered SEND_REQ counts as one for any message")                                \
    RULE(credit_units, "room in the receive buffer is not looked at")                                               \
    RULE(credit_slots, "room in the message table is not looked at")                                                \
    RULE(credit_returned, "credit is not returned")                                                                 \
    RULE(credit_wakes, "credit that comes does not wake a channel")                                                 \
    RULE(landing_occupies, "room paid for by what went straight to a receive counts as free before it is returned") \
    RULE(once_on_ring, "a channel is put on the main ring again and again")                                         \
    RULE(ring_goes_round, "a channel that has more to send goes to the front")                                      \
    RULE(eager_once, "a refused message is sent eagerly again")                                                     \
    RULE(ready_eager, "ready messages are announced like others")                                                   \
    RULE(eager_blocks, "the channel goes on while the answer to an eager message is awaited")                       \
    RULE(put_off_is_owed, "credit of control that is put off is lost")                                              \
    RULE(pays_before_credit, "room of an eager message is credit again before it was paid for")                     \
    CACHE_RULES(RULE)

#ifdef PROTOCOL_EXPLORER

#include <stdbool.h>

enum rule {
#define RULE(name, text) RULE_##name,
    RULES(RULE)
#undef RULE
        RULE_COUNT
};

enum row {
#define ROW(name, ...) ROW_SEND_##name,
#include "send_table.h"
#define ROW(name, ...) ROW_ARRIVAL_##name,
#include "arrival_table.h"
#define ROW(name, ...) ROW_RECEIVE_##name,
#include "receive_table.h"
#ifdef PROTOCOL_CACHE
#define ROW(name, ...) ROW_LEASE_##name,
#include "lease_table.h"
#endif
    ROW_COUNT
};

enum part { PART_ROW, PART_GUARD, PART_ACTION_1, PART_ACTION_2, PART_ACTION_3, PART_NEXT, PART_COUNT };

bool explorer_has_rule(enum rule rule);
bool explorer_has_part(enum row row, enum part part); /* notes that the row was reached, too */

#define RULE(name) explorer_has_rule(RULE_##name)
#define HAS(row, part) explorer_has_part(ROW_##row, PART_##part)

#else

#define RULE(name) true
#define HAS(row, part) true

#endif

#endif
