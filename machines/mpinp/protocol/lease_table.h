/* Rules of a cache of channels (ours): a table and its receive buffer are leased to a channel, whose sender has credit
 * while they are.
 *
 * ROW(name, event, states, guard, action, action, action, next state)
 *
 * As in send_table.h. Events:
 *   WANT_LEASE  at the sender: a message has no credit
 *   SENT        at the sender: one was sent, or is gone
 *   LEASE, RECALL, WANT, RETURN arrive
 *   GIVE        at the receiver: the channel is the next that gets a table
 *   TAKE_BACK   at the receiver: its table is the one that another channel is to have
 *   EMPTY       at the receiver: no message is in the table, nor on its way through it
 *
 * Why nothing waits for ever. A sender that has a table needs nothing else to use it, and gives it back when it is
 * recalled. A receiver's table that was given back is emptied by receives, or by the host (environment_crowded). So tables
 * come free; each goes to the channel that has waited longest. A sender that waits for one has a ring, and rings wait for
 * tables, but tables never wait for rings.
 *
 * Credit for a table comes with its LEASE or behind it, and is entered before its RECALL, also where headers wait (credit.c).
 */
/* clang-format off */

/* --- at the sender --- */

ROW(want,              WANT_LEASE, CREDIT_NONE, always, ask_lease, nothing, nothing, CREDIT_WANTED)
ROW(want_again,        WANT_LEASE, CREDIT_WANTED, always, nothing, nothing, nothing, SAME)
/* Its credit came with it. */
ROW(lease,             LEASE_COMES, CREDIT_WANTED, always, nothing, nothing, nothing, CREDIT_FRESH)
ROW(sent,              SENT, CREDIT_FRESH, always, nothing, nothing, nothing, CREDIT_USED)
/* What it was kept for has been sent. */
ROW(sent_recalled,     SENT, CREDIT_RECALLED, always, give_up_credit, nothing, nothing, CREDIT_NONE)
ROW(sent_else,         SENT, CREDIT_NONE | CREDIT_WANTED | CREDIT_USED, always, nothing, nothing, nothing, SAME)
/* At least one message goes with each lease: two senders could take tables from each other for ever. */
ROW(recall_unused,     RECALL_COMES, CREDIT_FRESH, is_message_waiting, nothing, nothing, nothing, CREDIT_RECALLED)
ROW(recall,            RECALL_COMES, CREDIT_FRESH | CREDIT_USED, always, give_up_credit, make_ready, nothing, CREDIT_NONE)

/* --- at the receiver --- */

ROW(wanted,            WANT_COMES, TABLE_NONE, always, queue_want, nothing, nothing, SAME)
/* It still has the one that it gave back, with messages in it: another follows when that is empty. */
ROW(wanted_again,      WANT_COMES, TABLE_RETURNED, always, note_want, nothing, nothing, SAME)
ROW(give,              GIVE, TABLE_NONE, always, take_table, lease, nothing, TABLE_LEASED)
ROW(take_back,         TAKE_BACK, TABLE_LEASED, always, recall, nothing, nothing, TABLE_RECALLED)
/* The credit that is left is no more, and none is on its way: what was sent on it has come before. */
ROW(returned,          RETURN_COMES, TABLE_RECALLED, always, end_recall, nothing, nothing, TABLE_RETURNED)
ROW(empty_wanted,      EMPTY, TABLE_RETURNED, is_wanted_again, give_table, queue_want, nothing, TABLE_NONE)
ROW(empty,             EMPTY, TABLE_RETURNED, always, give_table, nothing, nothing, TABLE_NONE)

/* clang-format on */
#undef ROW
