/* What the parts of the protocol share. */
#ifndef INTERNAL_H
#define INTERNAL_H

#include "protocol.h"
#include "rules.h"

#define SAME 0
#define SEND_ANY 0xffff
#define RECEIVE_LISTED (RECEIVE_EXPECTED | RECEIVE_ASKING | RECEIVE_CANCELLING)

/* What an event is about: what guards and actions of the tables get. */
struct turn {
    struct protocol *p;
    unsigned channel;
    struct protocol_channel *c;
    uint32_t message;
    struct protocol_send *send;
    struct protocol_receive *receive;
    unsigned link; /* of `receive`, if the search for what is expected found it */
    unsigned slot;
    const struct protocol_header *header;
};

static inline bool always(const struct turn *t) { return t != NULL; }
static inline void nothing(struct turn *t) { (void)t; }

static inline struct turn turn_of_channel(struct protocol *p, unsigned channel)
{
    return (struct turn){.p = p, .channel = channel, .c = &p->channels[channel]};
}

static inline void check(struct protocol *p, bool right, const char *reason)
{
    if (!right)
        environment_fault(p, reason);
}

static inline uint32_t units_of(const struct protocol *p, uint32_t bytes)
{
    return (bytes >> p->unit_shift) + ((bytes & (p->settings.unit_bytes - 1)) != 0);
}

/* Its number begins with it, and grows by as many as there are. */
static inline uint16_t index_of(const struct protocol_receive *receive)
{
    return (uint16_t)(receive->number % PROTOCOL_RECEIVES);
}

/* --- send side (send.c) --- */

enum send_event { EVENT_SERVE, EVENT_SEND_REQ, EVENT_ACK, EVENT_NACK, EVENT_LEFT, EVENT_WITHDRAW, EVENT_RETRACTED };
void send_side_arrived(struct turn *t); /* SEND_REQ, ACK, NACK */
void make_ready(struct turn *t);        /* on the main ring, if there is something to send */

/* --- credit (credit.c) --- */

void pay(struct turn *t);
void pay_slot(struct turn *t);
bool has_credit(const struct turn *t);
bool has_slot(const struct turn *t);
bool has_room(const struct turn *t);
void take_room(struct turn *t, bool units); /* receive side, of the message that has come */
void enter_credit(struct turn *t);          /* that came with a header */
void owe_slot(struct turn *t);
void transmit_control(struct turn *t, struct protocol_header header); /* with what is owed */

/* --- rings and tables of channels (cache.c): without a cache each channel has its own --- */

#ifdef PROTOCOL_CACHE
void cache_begin(struct protocol *p);
void cache_open(struct protocol_channel *c);
bool take_ring(struct turn *t);   /* false: none is free */
void look_at_ring(struct turn *t); /* it may be empty */
bool lacks_lease(const struct turn *t);
void want_lease(struct turn *t);
void count_hit(const struct turn *t);
void note_sent(struct turn *t);
void look_at_lease(struct turn *t); /* what the table is kept for may have been cancelled */
void lease_arrived(struct turn *t); /* WANT, LEASE, RECALL, RETURN */
bool is_leased(const struct turn *t); /* its sender may have credit */
void note_use(struct turn *t);
void look_at_table(struct turn *t); /* it may be empty */
#else
static inline bool take_ring(struct turn *t) { return (void)t, true; }
static inline void look_at_ring(struct turn *t) { (void)t; }
static inline void count_hit(const struct turn *t) { (void)t; }
static inline void note_sent(struct turn *t) { (void)t; }
static inline void look_at_lease(struct turn *t) { (void)t; }
static inline bool is_leased(const struct turn *t) { return (void)t, true; }
static inline void note_use(struct turn *t) { (void)t; }
static inline void look_at_table(struct turn *t) { (void)t; }
#endif

/* --- matching (match.c) --- */

static inline bool matches(uint32_t context, int32_t wanted, uint32_t message_context, int32_t message_tag)
{
    return (!RULE(context) || context == message_context) &&
           (wanted == message_tag || (RULE(any_tag) && wanted == PROTOCOL_ANY_TAG));
}

bool find_expected(struct turn *t);               /* the first that matches the header: t->receive, t->link */
bool is_asked_for(struct turn *t);                /* the header's message, by a SEND_REQ that is unanswered */
bool find_unclaimed(struct turn *t, uint32_t context, int32_t tag); /* in the channel: t->slot */
/* ... in the receive's channels: t->channel, too. */
bool search_unclaimed(struct turn *t, unsigned process, unsigned source, uint32_t context, int32_t tag);
void keep_slot(struct turn *t, enum slot_state state);   /* the header's envelope */
bool find_number(struct turn *t);        /* the header's message, unclaimed: t->slot */
void unlink_slot(struct turn *t);                        /* it is claimed */
bool has_links(const struct protocol *p, unsigned process, unsigned source);
void link_one(struct turn *t);
void link_all(struct turn *t);
void unlink_all(struct turn *t);

/* --- receive side (receive.c) --- */

void receive_side_arrived(struct turn *t); /* messages, RECV_REQ, NACK_REQUEST */

#endif
