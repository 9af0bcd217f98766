/* Rules of the send side: what an event does to a message, an entry of a channel's send ring.
 *
 * ROW(name, event, states, guard, action, action, action, next state)
 *
 * Of the rows of an event and a state, the first whose guard holds counts; there must be one. Events:
 *   SERVE     it is the channel's turn on the main ring, and this message's (send.c: turn_of)
 *   SEND_REQ  a posted receive asks for this message, by number, if its envelope matches
 *   ACK, NACK about this message (credit that came with it is entered before)
 *   LEFT      its body has left the NIC's send buffer or the host's memory
 *   WITHDRAW  the host cancels it; RETRACTED: the receiver has forgotten it
 * No file is cited for what the paper has: numbers are its sections. "Ours" says where it is silent or wrong.
 */
/* clang-format off */

/* --- the turn of the head of the ring, or of a message that was asked for --- */

/* 3.3.1. Synchronous messages await ACK, but do not block the channel (ours: an MPI_Ssend whose receive comes late
 * would keep later messages from receives that wait for them, which MPI's progress rule forbids). */
ROW(serve_credit_sync,    SERVE, SEND_QUEUED, has_credit_synchronous, pay, transmit_on_credit, advance, SEND_LEAVING_SYNC)
ROW(serve_credit,         SERVE, SEND_QUEUED, has_credit, pay, transmit_on_credit, advance, SEND_LEAVING)
/* 3.3.3. Ready messages go like this at any length: the receive is posted (ours; if it is not, which is the program's
 * mistake, they are refused and become standard ones). */
ROW(serve_eager,          SERVE, SEND_QUEUED, may_be_eager, transmit_eager, nothing, nothing, SEND_EAGER)
/* 3.3.2. The receiver keeps the envelope in a slot of its table, which is paid for (ours). So the channel goes on (ours:
 * in the paper it is blocked, and a program that sends A, B and receives B, then A, waits forever). A message that was
 * refused is announced too (ours: in the paper it waits for credit, and a receive of any source, which asks no sender,
 * never sees it). */
ROW(serve_announce,       SERVE, SEND_QUEUED, has_slot, pay_slot, transmit_announcement, advance, SEND_ANNOUNCED)
#ifdef PROTOCOL_CACHE
/* Blocked until there is a table at its receiver (ours). */
ROW(serve_want,           SERVE, SEND_QUEUED, lacks_lease, want_lease, nothing, nothing, SAME)
#endif
/* Blocked: off the main ring until credit comes (ours: in the paper it stays there and is tried again). */
ROW(serve_blocked,        SERVE, SEND_QUEUED, always, nothing, nothing, nothing, SAME)
ROW(serve_asked_head,     SERVE, SEND_ASKED, is_head, transmit_asked, advance, nothing, SEND_LEAVING)
ROW(serve_asked,          SERVE, SEND_ASKED, always, transmit_asked, nothing, nothing, SEND_LEAVING)

/* --- a receive asks --- */

/* 3.3.2. The receive that asks is matched by now or will be, so a synchronous message is complete when it has left
 * (ours). */
ROW(request_head,         SEND_REQ, SEND_QUEUED, is_wanted, note_receive, make_ready, nothing, SEND_ASKED)
ROW(request_announced,    SEND_REQ, SEND_ANNOUNCED, is_wanted, note_receive, make_ready, nothing, SEND_ASKED)
/* 3.3.2: NACK, where nothing has been sent yet that matches. The number says which message is meant (ours): if it is
 * on its way, SEND_REQ has crossed it, and in the paper the next one with an equal tag is sent, for which no receive
 * and no room may be there. */
/* RETRACT will find it claimed. */
ROW(request_retracting,   SEND_REQ, SEND_RETRACTING, is_wanted, note_receive, make_ready, nothing, SEND_ASKED)
ROW(request_refused,      SEND_REQ, SEND_ANY, always, refuse_request, nothing, nothing, SAME)

/* --- answers --- */

/* 3.3.3. An eager message was stored: the room is no longer credit (ours). */
ROW(ack_stored_withdrawn, ACK, SEND_EAGER_LEFT, is_stored_withdrawn, pay, unblock, retract, SEND_RETRACTING_SYNC)
ROW(ack_stored_sync,      ACK, SEND_EAGER, is_stored_synchronous, pay, unblock, nothing, SEND_LEAVING_SYNC)
ROW(ack_stored_sync_left, ACK, SEND_EAGER_LEFT, is_stored_synchronous, pay, unblock, nothing, SEND_UNCOLLECTED)
ROW(ack_stored,           ACK, SEND_EAGER, is_stored, pay, unblock, nothing, SEND_LEAVING)
ROW(ack_stored_left,      ACK, SEND_EAGER_LEFT, is_stored, pay, unblock, complete, SEND_DONE)
/* ... or it met its receive. */
ROW(ack_landed,           ACK, SEND_EAGER, always, unblock, nothing, nothing, SEND_LEAVING)
ROW(ack_landed_left,      ACK, SEND_EAGER_LEFT, always, unblock, complete, nothing, SEND_DONE)
/* 3.3.1. Synchronous: collected. */
ROW(ack_leaving,          ACK, SEND_LEAVING_SYNC, always, nothing, nothing, nothing, SEND_LEAVING)
ROW(ack_collected,        ACK, SEND_UNCOLLECTED | SEND_RETRACTING_SYNC, always, complete, nothing, nothing, SEND_DONE)
/* Only the credit matters. */
ROW(ack_credit,           ACK, SEND_LEAVING | SEND_DONE, always, nothing, nothing, nothing, SAME)
/* 3.3.3. Dropped. */
ROW(nack_early,           NACK, SEND_EAGER, always, note_refusal, nothing, nothing, SEND_REFUSED)
ROW(nack_withdrawn,       NACK, SEND_EAGER_LEFT, is_withdrawn, remove, nothing, nothing, SAME)
ROW(nack,                 NACK, SEND_EAGER_LEFT, always, note_refusal, make_ready, nothing, SEND_QUEUED)

/* --- the body has left --- */

ROW(left,                 LEFT, SEND_LEAVING, always, complete, nothing, nothing, SEND_DONE)
ROW(left_sync_withdrawn,  LEFT, SEND_LEAVING_SYNC, is_withdrawn, retract, nothing, nothing, SEND_RETRACTING_SYNC)
ROW(left_sync,            LEFT, SEND_LEAVING_SYNC, always, nothing, nothing, nothing, SEND_UNCOLLECTED)
ROW(left_eager,           LEFT, SEND_EAGER, always, nothing, nothing, nothing, SEND_EAGER_LEFT)
ROW(left_withdrawn,       LEFT, SEND_REFUSED, is_withdrawn, remove, nothing, nothing, SAME)
ROW(left_refused,         LEFT, SEND_REFUSED, always, make_ready, nothing, nothing, SEND_QUEUED)

/* --- cancel (the paper has none): either the send is cancelled or the message is received --- */

/* The receiver knows nothing of it, nor of those behind it, which move up. */
ROW(withdraw_queued,      WITHDRAW, SEND_QUEUED, always, remove, nothing, nothing, SAME)
/* Only the receiver knows whether it is claimed; if it is, no answer comes but SEND_REQ or ACK. */
ROW(withdraw_announced,   WITHDRAW, SEND_ANNOUNCED, always, retract, nothing, nothing, SEND_RETRACTING)
ROW(withdraw_uncollected, WITHDRAW, SEND_UNCOLLECTED, always, retract, nothing, nothing, SEND_RETRACTING_SYNC)
/* When its body has left and the eager message is answered. */
ROW(withdraw_later,       WITHDRAW, SEND_EAGER | SEND_EAGER_LEFT | SEND_REFUSED | SEND_LEAVING_SYNC, always, note_withdrawal, nothing, nothing, SAME)
/* It will be complete soon. */
ROW(withdraw_late,        WITHDRAW, SEND_ASKED | SEND_LEAVING | SEND_RETRACTING | SEND_RETRACTING_SYNC | SEND_DONE, always, nothing, nothing, nothing, SAME)
ROW(retracted,            RETRACTED, SEND_RETRACTING | SEND_RETRACTING_SYNC, always, complete_cancelled, nothing, nothing, SEND_DONE)

/* clang-format on */
#undef ROW
