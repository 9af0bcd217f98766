/* Rules of the receive side for what arrives.
 *
 * ROW(name, kind, which, guard, action, action, action)
 *
 * `which`: the message is NEW, the next one that was not heard of, or it was HEARD of by RECV_REQ. There is no third.
 * `land` and `claim` are events of the receive that matches: receive_table.h. Of a kind's rows the first whose guard
 * holds counts. Numbers are the paper's sections.
 */
/* clang-format off */

/* 3.4. A receive that was posted earlier matches first; by the common receive area to the host (3.7). */
ROW(credit_expected,   MESSAGE_ON_CREDIT, NEW, is_expected, count, land, nothing)
ROW(credit_stored,     MESSAGE_ON_CREDIT, NEW, always, count, store, nothing)
/* 3.3.3. */
ROW(eager_expected,    MESSAGE_EAGER, NEW, is_expected, count, land, acknowledge)
/* The ACK says so: the sender has less credit from now on (ours). */
ROW(eager_stored,      MESSAGE_EAGER, NEW, has_room, count, store, acknowledge_stored)
/* It was not heard of: it will come again under its number. */
ROW(eager_refused,     MESSAGE_EAGER, NEW, always, discard, refuse, nothing)
/* 3.3.2. The receive that asked is in the expected list, as only this message can have matched it. Yet an earlier
 * one may match, of MPI_ANY_SOURCE or one that was answered NACK: that gets it (ours). */
ROW(asked_expected,    MESSAGE_ASKED, NEW, always, count, land, answer)
/* What was announced goes to the receive that claims it, whoever asked (ours). */
ROW(asked_claimed,     MESSAGE_ASKED, HEARD, always, land_claimed, answer, nothing)
/* 3.3.2, 3.4. */
ROW(announce_expected, RECV_REQ, NEW, is_expected, count, claim, nothing)
ROW(announce_stored,   RECV_REQ, NEW, always, count, keep_envelope, nothing)
/* Of a send that is cancelled (ours). If it is claimed, it is too late, and the sender hears of it. */
ROW(retract,           RETRACT, HEARD, is_unclaimed, forget, retracted, nothing)
ROW(retract_late,      RETRACT, HEARD, always, nothing, nothing, nothing)

/* clang-format on */
#undef ROW
