/* Rules of a posted receive.
 *
 * ROW(name, event, states, guard, action, action, action, next state)
 *
 * Of the rows of an event and a state, the first whose guard holds counts; there must be one. Events:
 *   POST       the host posts it
 *   HOLD       the host probes for a message and claims it; FETCH: now there is memory for it
 *   LAND       a message arrives for it (arrival_table.h)
 *   CLAIM      RECV_REQ arrives, and it is the first that matches
 *   ANSWERED   its SEND_REQ was answered: NACK, or the message, which another receive got
 *   CANCEL     the host wants it back
 *   DELIVERED  the message is in the host's memory
 * Numbers are the paper's sections.
 */
/* clang-format off */

/* --- posting (3.4): what came first, then the expected list --- */

ROW(post_stored,      POST, RECEIVE_NEW, finds_stored, hold, deliver, nothing, RECEIVE_DELIVERING)
/* SEND_REQ for what was announced is always answered with it. */
ROW(post_announced,   POST, RECEIVE_NEW, finds_announced, hold, take_envelope, add_claim_and_ask, RECEIVE_CLAIMED)
/* No SEND_REQ: several sources could answer one receive (ours). */
ROW(post_any_source,  POST, RECEIVE_NEW, is_any_source, link_all, nothing, nothing, RECEIVE_EXPECTED)
/* 3.3.2. SEND_REQ is for the message that comes next (ours), and always gets an answer. */
ROW(post,             POST, RECEIVE_NEW, always, link_one, ask_next, nothing, RECEIVE_ASKING)

/* The same in two steps (MPI_Mprobe, MPI_Mrecv; ours). */
ROW(probe_found,      HOLD, RECEIVE_NEW, finds, hold, nothing, nothing, RECEIVE_HELD)
ROW(probe_nothing,    HOLD, RECEIVE_NEW, always, free_receive, nothing, nothing, RECEIVE_FREE)
ROW(fetch_stored,     FETCH, RECEIVE_HELD, holds_stored, deliver, nothing, nothing, RECEIVE_DELIVERING)
ROW(fetch_announced,  FETCH, RECEIVE_HELD, always, take_envelope, add_claim_and_ask, nothing, RECEIVE_CLAIMED)

/* --- a message arrives --- */

ROW(land_listed,      LAND, RECEIVE_LISTED, always, unlink_all, receive_body, nothing, RECEIVE_DELIVERING)
ROW(land_claimed,     LAND, RECEIVE_CLAIMED, always, remove_claim, receive_body, nothing, RECEIVE_DELIVERING)

/* --- RECV_REQ arrives --- */

/* 3.3.2. RECV_REQ that crosses an unanswered SEND_REQ for it, of this receive or of another one: no second SEND_REQ,
 * the message comes anyway. The receive is claimed (ours: the channel goes on, and what is sent next might match). */
ROW(claim_crossed,    CLAIM, RECEIVE_LISTED, is_coming, unlink_all, owe_slot, add_claim, RECEIVE_CLAIMED)
ROW(claim,            CLAIM, RECEIVE_LISTED, always, unlink_all, owe_slot, add_claim_and_ask, RECEIVE_CLAIMED)

/* --- answers --- */

ROW(answered,         ANSWERED, RECEIVE_ASKING, always, nothing, nothing, nothing, RECEIVE_EXPECTED)
ROW(answered_cancel,  ANSWERED, RECEIVE_CANCELLING, always, unlink_all, complete_cancelled, nothing, RECEIVE_FREE)
/* It has got a message already, sent on credit before SEND_REQ came, or claims one. */
ROW(answered_late,    ANSWERED, RECEIVE_CLAIMED | RECEIVE_DELIVERING, always, nothing, nothing, nothing, SAME)

/* --- cancel (the paper has none): either the receive is cancelled or it gets a message --- */

ROW(cancel,           CANCEL, RECEIVE_EXPECTED, always, unlink_all, complete_cancelled, nothing, RECEIVE_FREE)
/* The answer may be the message, which has no credit and no place but this one. */
ROW(cancel_asking,    CANCEL, RECEIVE_ASKING, always, nothing, nothing, nothing, RECEIVE_CANCELLING)
ROW(cancel_late,      CANCEL, RECEIVE_CANCELLING | RECEIVE_CLAIMED | RECEIVE_DELIVERING, always, nothing, nothing, nothing, SAME)

/* --- the end: credit goes back with ACK (3.3.1) ---
 *
 * The host, which waits, is told before (ours). Nobody can tell the order: what the host does next are further events, and
 * ACK takes the place among the channel's headers that it would have had. */

ROW(delivered,        DELIVERED, RECEIVE_DELIVERING, always, tell_received, release, return_credit_and_record, RECEIVE_FREE)

/* clang-format on */
#undef ROW
