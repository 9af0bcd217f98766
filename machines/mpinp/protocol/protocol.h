/* The protocol of MPI-NP between two NICs (UBC, 1999, chapter 3): channels, credit, rendezvous, eager sends,
 * matching. README.md explains it; the rules themselves are the rows of send_table.h, arrival_table.h and
 * receive_table.h. It moves no data and waits for nothing: each event is a call, and what is to be done is asked of
 * the environment (environment_*). machines/mpinp/explorer runs the same code through all interleavings.
 *
 * Freestanding C11: no allocation, no floating point. Records are named by indices, so that the whole state is one
 * block of memory.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes of one NIC's tables; the explorer has smaller ones. */
#ifndef PROTOCOL_CHANNELS
#ifdef PROTOCOL_CACHE
#define PROTOCOL_CHANNELS 1024 /* ten bits of what is put off (firmware/mcp/out.c) */
#else
#define PROTOCOL_CHANNELS 64    /* section 3.1 */
#endif
#define PROTOCOL_RING_ENTRIES 16 /* of a channel's send ring (3.1) */
#define PROTOCOL_TABLE_SLOTS 32  /* of a channel's message table (3.1) */
#define PROTOCOL_RECEIVES 1024   /* posted receives of all processes (ours) */
#define PROTOCOL_LINKS 2048 /* places in expected lists: one a receive, for MPI_ANY_SOURCE one a channel (ours) */
#define PROTOCOL_PROCESSES 8 /* that share the NIC (ours) */
#endif

/* With PROTOCOL_CACHE a NIC has more channels than receive buffers, message tables and send rings (cache.c). */
#if defined(PROTOCOL_CACHE) && !defined(PROTOCOL_PLACES)
#define PROTOCOL_PLACES 64 /* rings, and tables with their buffers (3.1) */
#endif

#define PROTOCOL_NONE 0xffffu /* no index */
#define PROTOCOL_ANY_SOURCE 0xfffeu
#define PROTOCOL_ANY_TAG INT32_MIN

_Static_assert((PROTOCOL_RING_ENTRIES & (PROTOCOL_RING_ENTRIES - 1)) == 0, "numbers of messages wrap around");
_Static_assert(PROTOCOL_TABLE_SLOTS < 256 && PROTOCOL_RECEIVES < PROTOCOL_ANY_SOURCE &&
                   PROTOCOL_LINKS < PROTOCOL_ANY_SOURCE,
               "indices");
_Static_assert((PROTOCOL_RECEIVES & (PROTOCOL_RECEIVES - 1)) == 0, "numbers of receives wrap around");

/* --- on the wire --- */

enum protocol_kind {
    /* Messages: a body of `bytes` follows. */
    MESSAGE_ON_CREDIT, /* room was paid for with credit (3.3.1) */
    MESSAGE_EAGER, /* without credit: ACK, or dropped and NACK (3.3.3) */
    MESSAGE_ASKED, /* answer to SEND_REQ: a receive is posted, no credit is needed (3.3.2) */
    /* Control messages. */
    RECV_REQ, /* sender to receiver: this message has no credit (3.3.2) */
    SEND_REQ, /* receiver to sender: a receive is posted that may want message number `message` (3.3.2) */
    ACK, /* receiver to sender: `message` was delivered, or, eager, accepted */
    NACK, /* receiver to sender: the eager `message` was dropped */
    NACK_REQUEST, /* sender to receiver: SEND_REQ of `receive` is not answered with a message */
    RETRACT,      /* sender to receiver: `message` is to be cancelled (ours) */
    RETRACTED,    /* receiver to sender: it was unclaimed, and is forgotten */
    /* Of a cache of channels (ours). */
    WANT, /* sender to receiver: a message waits that has no credit, as no table is leased to its channel */
    LEASE, /* receiver to sender: one is, its credit comes with this */
    RECALL, /* receiver to sender: another channel wants it */
    RETURN, /* sender to receiver: what credit was left is given up; nothing more comes on it */
};

enum protocol_header_flags {
    FLAG_SYNCHRONOUS = 1, /* of a message: ACK says that it was matched */
    FLAG_STORED = 2, /* of ACK to an eager message: it lies in the receive buffer, as if sent on credit */
};

struct protocol_header {
    uint8_t kind; /* enum protocol_kind */
    uint8_t flags; /* enum protocol_header_flags */
    uint16_t credit_slots; /* returned to the receiver of this header */
    uint32_t credit_units; /* same, of receive buffer */
    uint32_t message; /* number in its channel and direction, from 0: order of sends */
    uint32_t receive; /* SEND_REQ: who asks; its answers: who asked */
    uint32_t context; /* MPI envelope */
    int32_t tag; /* MPI envelope; of SEND_REQ PROTOCOL_ANY_TAG too */
    uint32_t bytes; /* body of the message, or of the one that is announced */
};

_Static_assert(sizeof(struct protocol_header) == 28, "struct protocol_header");

/* --- one NIC --- */

/* State of an entry of a send ring. Bits, so that a row of the table may name several. */
enum send_state {
    SEND_QUEUED = 1, /* not tried yet, or refused: the first of these is the head of the ring */
    SEND_EAGER = 2, /* sent without credit, body is leaving, answer is awaited; blocks the channel */
    SEND_EAGER_LEFT = 4, /* same, body has left */
    SEND_REFUSED = 8, /* NACK came, body is still leaving; blocks the channel */
    SEND_ANNOUNCED = 16, /* RECV_REQ was sent */
    SEND_ASKED = 32, /* SEND_REQ came: goes out at the channel's turn */
    SEND_LEAVING = 64, /* body is leaving, then it is complete */
    SEND_LEAVING_SYNC = 128, /* body is leaving, and ACK is awaited */
    SEND_UNCOLLECTED = 256, /* synchronous: body has left, ACK is awaited */
    SEND_RETRACTING = 1024, /* ANNOUNCED, and RETRACT was sent */
    SEND_RETRACTING_SYNC = 2048, /* UNCOLLECTED, and RETRACT was sent */
    SEND_DONE = 512, /* complete; or long gone: the number is not in the ring */
};

enum send_flags {
    SEND_IS_SYNCHRONOUS = 1,
    SEND_IS_READY = 2,
    SEND_WAS_REFUSED = 4,  /* not sent eagerly again */
    SEND_IS_WITHDRAWN = 8, /* to be cancelled once its state allows */
};

struct protocol_send {
    uint16_t state; /* enum send_state */
    uint16_t flags; /* enum send_flags */
    uint32_t context;
    int32_t tag;
    uint32_t bytes;
    uint32_t receive; /* SEND_ASKED: who asked */
    uint32_t request; /* the host's name for it */
};

enum slot_state {
    SLOT_FREE,
    SLOT_STORED, /* unclaimed, body is in the receive buffer or arriving there */
    SLOT_ANNOUNCED, /* unclaimed, only the envelope is here: RECV_REQ */
    SLOT_DELIVERING, /* claimed, body goes to the host */
};

/* Of the message table: an envelope. */
struct protocol_slot {
    uint8_t state; /* enum slot_state */
    uint8_t next; /* in the order sent, or PROTOCOL_TABLE_SLOTS */
    uint16_t unused;
    uint32_t message;
    uint32_t context;
    int32_t tag;
    uint32_t bytes;
};

enum receive_state {
    RECEIVE_FREE = 1,
    RECEIVE_NEW = 2, /* being posted */
    RECEIVE_EXPECTED = 4, /* in the expected list (MPI_ANY_SOURCE: lists), nothing asked */
    RECEIVE_ASKING = 8, /* in the list, SEND_REQ is unanswered */
    RECEIVE_CANCELLING = 16, /* same, to be cancelled if the answer is not a message */
    RECEIVE_CLAIMED = 32, /* matched with a message that was announced and is awaited */
    RECEIVE_DELIVERING = 64, /* the body goes to the host */
    RECEIVE_HELD = 128,      /* it has an unclaimed message, and no memory for it yet (MPI_Mprobe) */
};

struct protocol_receive {
    uint16_t state; /* enum receive_state */
    uint16_t source; /* channel posted for, or PROTOCOL_ANY_SOURCE */
    uint16_t channel; /* CLAIMED, DELIVERING: the message's */
    uint16_t process;
    uint16_t link; /* first of its places in expected lists */
    uint16_t next; /* CLAIMED: in the channel's list; FREE: in that of free ones */
    uint8_t
        slot; /* DELIVERING, HELD: where the message lies, or PROTOCOL_TABLE_SLOTS: it comes straight from the wire */
    uint8_t owes_credit; /* DELIVERING: the message was paid for */
    uint16_t unused;
    uint32_t number; /* unlike that of any receive of which an answer may still come */
    uint32_t message; /* ASKING: asked for; CLAIMED, DELIVERING: matched */
    uint32_t context; /* as posted; DELIVERING: unchanged */
    int32_t tag; /* as posted; DELIVERING: the message's */
    uint32_t capacity_bytes;
    uint32_t bytes; /* DELIVERING: of the message, which may be longer than the capacity */
    uint32_t request; /* the host's name for it */
};

/* A place in a channel's expected list. */
struct protocol_link {
    uint16_t receive;
    uint16_t channel;
    uint16_t next;     /* in the channel's list, in the order posted; or in that of free ones */
    uint16_t previous; /* in the channel's list */
    uint16_t chain; /* next place of the same receive (MPI_ANY_SOURCE) */
};

#ifdef PROTOCOL_CACHE

/* Of a channel's send side: what it knows of the table at its receiver. Of its receive side: its table. Bits, as above. */
enum lease_state {
    CREDIT_NONE = 1, /* no table */
    CREDIT_WANTED = 2, /* WANT was sent */
    CREDIT_FRESH = 4, /* there is one, nothing has been sent since */
    CREDIT_USED = 8, /* there is one */
    CREDIT_RECALLED = 16, /* as FRESH, and RECALL came */
    TABLE_NONE = 32, /* the channel has no table */
    TABLE_LEASED = 64, /* it has one, and its sender credit for it */
    TABLE_RECALLED = 128, /* RECALL was sent */
    TABLE_RETURNED = 256, /* RETURN came: it is free when it is empty */
};

enum protocol_cache_event { CACHE_HIT, CACHE_MISS, CACHE_LEASED, CACHE_RECALLED, CACHE_RING_FREE };

#endif

struct protocol_channel {
    /* Scheduling. */
    uint16_t process;
    uint16_t process_next; /* channel of the same process, in a circle */
    uint16_t ready_next; /* on the main ring */
    bool is_open;
    bool is_ready; /* on the main ring, once at most (3.7) */
    /* Send side. Numbers of messages; entry number % PROTOCOL_RING_ENTRIES. */
    uint32_t oldest, head, newest; /* kept [oldest, newest), the receiver has heard of those before `head` */
    uint32_t asked; /* entries that are SEND_ASKED */
    uint32_t credit_slots, credit_units;
#ifdef PROTOCOL_CACHE
    uint16_t credit_state, table_state; /* enum lease_state */
    uint16_t table; /* which */
    uint16_t want_next; /* in the order in which tables are wanted */
    bool is_wanted; /* not yet in that order: it has a table, which is to be empty before */
    bool is_used; /* a message has come for the table since it was looked at */
    bool is_lease_off, is_recall_off; /* LEASE, RECALL are put off */
    struct protocol_send *sends; /* a ring, while there are messages in it; or null */
    struct protocol_slot *slots; /* the table, or null */
#else
    struct protocol_send sends[PROTOCOL_RING_ENTRIES];
#endif
    /* Receive side. */
    uint32_t heard; /* number of the next message that is heard of */
    uint32_t free_slots, free_units; /* neither taken nor paid for by a message that has come */
    uint32_t owed_slots, owed_units; /* credit not returned yet */
    uint16_t expected_first, expected_last; /* links: posted receives in order */
    uint16_t claimed_first; /* receives */
    uint8_t table_first; /* unclaimed envelopes in the order sent */
    bool is_unpaid; /* ACK to an eager message that was stored is put off: the sender has not paid for it */
    uint32_t unpaid_units; /* its */
#ifndef PROTOCOL_CACHE
    struct protocol_slot slots[PROTOCOL_TABLE_SLOTS];
#endif
};

struct protocol_settings {
    uint32_t eager_bytes_max; /* [bytes] messages up to this go without credit */
    uint32_t unit_bytes; /* [bytes] what the receive buffer is counted in: a power of two */
    uint32_t buffer_units; /* receive buffer of a channel */
    uint32_t table_slots; /* of a channel's message table: 1 to PROTOCOL_TABLE_SLOTS */
#ifdef PROTOCOL_CACHE
    uint32_t channels; /* that there are */
    uint32_t places; /* rings, and tables: 1 to PROTOCOL_PLACES */
#endif
};

#ifdef PROTOCOL_CACHE

/* Rings and tables, and the order in which channels want tables. */
struct protocol_cache {
    uint16_t owners[PROTOCOL_PLACES]; /* of tables: channels, or PROTOCOL_NONE */
    uint16_t ring_owners[PROTOCOL_PLACES];
    uint16_t want_first, want_last, wanted; /* channels; how many */
    uint16_t recalled; /* tables that are TABLE_RECALLED */
    uint16_t looked; /* table that was looked at last, to be recalled */
    uint16_t free_tables, free_rings; /* how many */
    struct protocol_send rings[PROTOCOL_PLACES][PROTOCOL_RING_ENTRIES];
    struct protocol_slot tables[PROTOCOL_PLACES][PROTOCOL_TABLE_SLOTS];
};

#endif

struct protocol {
    struct protocol_settings settings;
    uint32_t unit_shift; /* logarithm of unit_bytes: some processors divide slowly */
    uint16_t ready_first, ready_last; /* main ring: channels */
    uint16_t free_receive, free_link;
    uint32_t free_receives, free_links;
    uint16_t searched[PROTOCOL_PROCESSES]; /* a channel of each: where MPI_ANY_SOURCE was found last (3.4) */
#ifdef PROTOCOL_CHANNELS_ELSEWHERE
    struct protocol_channel *channels; /* the environment's */
#else
    struct protocol_channel channels[PROTOCOL_CHANNELS];
#endif
    struct protocol_receive receives[PROTOCOL_RECEIVES];
    struct protocol_link links[PROTOCOL_LINKS];
#ifdef PROTOCOL_CACHE
    struct protocol_cache cache;
#endif
};

/* --- events --- */

void protocol_begin(struct protocol *p, const struct protocol_settings *settings);
void protocol_open(struct protocol *p, unsigned channel, unsigned process); /* both ends with equal settings */

/* False: no room; the host keeps it, and all behind it, in order. */
bool protocol_post_send(struct protocol *p, unsigned channel, const struct protocol_send *request);

struct protocol_receive_request {
    uint16_t process;
    uint16_t source; /* channel of the process, or PROTOCOL_ANY_SOURCE */
    uint32_t context;
    int32_t tag; /* or PROTOCOL_ANY_TAG */
    uint32_t capacity_bytes;
    uint32_t request;
};

/* Number of the receive in `number`. False: no room; the host keeps it, and all behind it, and offers them in their order
 * by protocol_claim and protocol_receive_claimed whenever environment_unclaimed was called: else messages that only they
 * match could fill the table, and those that posted receives wait for would never come. */
bool protocol_post_receive(struct protocol *p, const struct protocol_receive_request *request, uint32_t *number);
/* The earliest message that a receive would get is its from now on (MPI_Mprobe). False: there is none, or no room. Then
 * protocol_receive_claimed, once. */
struct protocol_status;
bool protocol_claim(struct protocol *p, const struct protocol_receive_request *request, uint32_t *number,
                    struct protocol_status *status);
void protocol_receive_claimed(struct protocol *p, uint32_t number, uint32_t capacity_bytes, uint32_t request);
/* Both are completed then, as PROTOCOL_CANCELLED or as usual. */
void protocol_cancel_send(struct protocol *p, unsigned channel, uint32_t request);
void protocol_cancel(struct protocol *p, uint32_t number);

struct protocol_status {
    uint16_t channel; /* source */
    int32_t tag;
    uint32_t bytes; /* of the message */
    uint32_t message; /* its number */
};

/* An unclaimed message that the receive would get. */
bool protocol_probe(struct protocol *p, const struct protocol_receive_request *request, struct protocol_status *status);

/* A header has come by the channel, which keeps order. If a body follows, one of environment_store, _land and
 * _discard was called when this returns. */
void protocol_arrived(struct protocol *p, unsigned channel, const struct protocol_header *header);
/* The header that has come is kept, for a later protocol_arrived. Its credit is entered now: later its table may be another's. */
void protocol_kept(struct protocol *p, unsigned channel, struct protocol_header *header);
void protocol_left(struct protocol *p, unsigned channel, uint32_t message); /* body given to environment_transmit */
void protocol_delivered(struct protocol *p, uint32_t receive); /* whole body came, and is in the host's memory */
bool protocol_serve(struct protocol *p); /* the link is free: the main ring's next channel. False: none waits */

/* --- what the environment does; it calls no event meanwhile --- */

/* In each channel in the order of the calls. With `send`, the body follows: then protocol_left. */
void environment_transmit(struct protocol *p, unsigned channel, const struct protocol_header *header,
                          const struct protocol_send *send);
/* From within environment_transmit: control that has no room is put off; it goes later, in its order, with what is owed then. */
void protocol_put_off(struct protocol *p, unsigned channel, const struct protocol_header *header);
void protocol_goes(struct protocol *p, unsigned channel, struct protocol_header *header); /* fills in its credit */
/* The body that follows goes into the channel's receive buffer, where there is room; it may be in pieces there. */
void environment_store(struct protocol *p, unsigned channel, unsigned slot, const struct protocol_header *header);
/* The body that follows goes to the receive's memory, up to its capacity; the rest is dropped. Then
 * protocol_delivered. */
void environment_land(struct protocol *p, const struct protocol_header *header, const struct protocol_receive *receive);
void environment_discard(struct protocol *p, unsigned channel, const struct protocol_header *header);
/* What lies in the buffer (or is still arriving there) goes to receive->slot's receive, up to its capacity. Then
 * protocol_delivered. */
void environment_deliver(struct protocol *p, const struct protocol_receive *receive);
/* The receive has got a message that was announced, which will land: that of the slot, or, PROTOCOL_TABLE_SLOTS, of the header
 * that arrives. */
void environment_claim(struct protocol *p, const struct protocol_receive *receive, unsigned slot);
void environment_release(struct protocol *p, unsigned channel, unsigned slot); /* its room in the receive buffer */

/* An envelope is in the channel's table. */
void environment_unclaimed(struct protocol *p, unsigned channel, unsigned slot);

#ifdef PROTOCOL_CACHE
/* Whether a message can be posted: its channel has a ring, or one is free. */
bool protocol_has_ring(const struct protocol *p, unsigned channel);
/* The channel's table is recalled: the host is to take unclaimed messages out, as they are in the way of others. */
void environment_crowded(struct protocol *p, unsigned channel);
void environment_cache(struct protocol *p, enum protocol_cache_event event); /* it is counted, or awaited */
#endif

enum protocol_result { PROTOCOL_COMPLETE, PROTOCOL_TRUNCATED, PROTOCOL_CANCELLED };
void environment_send_complete(struct protocol *p, unsigned channel, uint32_t request, enum protocol_result result);
void environment_receive_complete(struct protocol *p, const struct protocol_receive *receive,
                                  enum protocol_result result);
/* The peer or the environment broke the protocol. Does not return. */
_Noreturn void environment_fault(struct protocol *p, const char *reason);

#endif
