/* The host's part of the firmware that matches: what its parts share. */
#ifndef MPINP_MCP_HOST_H
#define MPINP_MCP_HOST_H

#include "mpi/transport/transport.h"
#include "../registers.h"

/* --- card.c: the window, and what the card writes --- */

bool mcp_card_open(const struct chasqui_ni_identification *ni, int ni_fd);
/* Requests that there is room for in the window. */
uint32_t mcp_card_room(void);
/* Posts a request; its data are stored. */
void mcp_card_post(const struct chasqui_mpinp_request *request);
uint32_t mcp_card_posted(void); /* requests, up to now */
/* The next event, until the next call; null: none has come. */
const struct chasqui_mpinp_event *mcp_card_event(void);

/* Sleeps until there are more events, or room for a request if there was none. All events are taken; it may come back sooner. */
void mcp_card_wait(void);

/* An ioctl of the kernel's agent: 0 or more, or an error, negative. */
long mcp_card_control(uint64_t request, uint64_t argument);

/* What a collective has come to, or blocks that the card fetches. */
void *mcp_card_collected(void);
/* For the records: a collective is not the card's, CHASQUI_MPINP_REASON_. */
void mcp_card_count(uint64_t reason);

/* Memory for data in the window. Addresses are as in requests; 0: there is none. */
uint32_t mcp_window_take(void);
void mcp_window_give(uint32_t address);
size_t mcp_window_bytes(void); /* longest data there */
void mcp_window_store(uint32_t address, const void *from, size_t bytes);

/* --- names.c: requests that the card has --- */

struct mcp_held; /* below */

struct mcp_name {
    struct request *request; /* null: it is complete already, or none */
    struct mcp_held *held; /* a message that was claimed before */
    uint8_t kind; /* of the request to the card: SEND, RECEIVE, CLAIM */
    bool is_in_window;
    bool is_met; /* a synchronous send: drained, and has met its receive since */
    bool is_withdrawn; /* likewise: it is to be cancelled */
    bool is_owed; /* the card has yet to hear that it has more entries */
    bool is_pinned;
    bool is_kept; /* its pages stay pinned */
    bool is_found; /* ... and were before */
    bool is_written; /* ... for the card to write */
    uint16_t rank;   /* of a send: destination */
    uint16_t places; /* of a receive: in the card's expected lists */
    uint16_t number; /* of a send: among those to its destination */
    uint32_t entry; /* the first; of data in the window, their address */
    uint32_t valid; /* entries that have named pages, of all; 0: all is in one page */
    char *data; /* that are sent, or where they go */
    size_t bytes; /* of the message, or room for it */
};

#define MCP_NONE UINT32_MAX
#define NAMES_LEFT 8u /* to messages that are drained or claimed */
uint32_t mcp_name_take(uint32_t left); /* MCP_NONE: more than `left` are not there */
uint32_t mcp_names_left(void);
void mcp_name_give(uint32_t name);
struct mcp_name *mcp_name_of(uint32_t name);
/* The card hears that a name has more entries: as soon as there is room for the request. */
void mcp_entries_owe(uint32_t name);
void mcp_entries_post(void);

/* --- pages.c: pages that the kernel pins --- */

/* Entries of the page table are left to messages that are drained or claimed, and to sends. */
#define ENTRIES_LEFT 8u
/* Pins the data of a name, as far as there are entries; the card may write those of a receive. False: there are too few. */
bool mcp_pin(uint32_t name, uint32_t left);
void mcp_unpin(uint32_t name);
void mcp_pages_open(const struct chasqui_ni_identification *ni);
/* The first entries are done with: they name further pages. */
void mcp_pin_more(uint32_t name, uint32_t done);
void mcp_fill(struct chasqui_mpinp_request *request, uint32_t name); /* what it says of the data */

/* --- cache.c: pages that stay pinned --- */

bool mcp_cache_open(const struct chasqui_ni_identification *ni); /* false: none do */
/* Entries that stay name the data, until `unpin`. False: there are too few, or some page can't be pinned. */
bool mcp_cache_pin(struct mcp_name *name);
void mcp_cache_unpin(const struct mcp_name *name);
uint32_t mcp_cache_offset(const struct mcp_name *name); /* of the data in what the first entry names */

/* --- send.c --- */

void mcp_send_init(void);
bool mcp_send_short(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
void mcp_send(struct request *request, enum send_mode mode);
void mcp_send_refused(struct request *request);
void mcp_send_cancel(struct request *request);
void mcp_sent(const struct chasqui_mpinp_event *event);

/* A synchronous send that was drained has met its receive, or is cancelled. */
void mcp_drained_over(uint32_t sequence, bool is_cancelled);

/* --- collective.c --- */

/* False: the card does none. */
bool mcp_collectives_open(const struct chasqui_ni_identification *ni);
bool mcp_collective(const struct mpi_collective *what, struct request *request); /* device.h */
void mcp_collected(const struct chasqui_mpinp_event *event);

/* --- notes.c --- */

void mcp_notes_init(void);
void mcp_note(uint32_t rank, uint8_t what, uint32_t sequence); /* posts it, at once or later */
void mcp_noted(const struct chasqui_mpinp_event *event);

/* --- waiting.c: what waits on the host --- */

/* A message that was found by a probe, claimed or drained. */
struct mcp_held {
    struct match_node nodes[PATTERNS]; /* of drained ones that no receive has met, as are the next two */
    struct mcp_held *before, *after;
    struct message message; /* what probing shows */
    struct mcp_held *next[2]; /* by list */
    uint32_t name; /* that claimed it; MCP_NONE: it is the card's, or its data are here */
    bool is_fetched;
    bool is_awaited; /* its send awaits its receive */
    bool is_gone; /* it was cancelled while it was fetched */
    struct request *request; /* that has met it */
    char *data; /* null: the request's memory takes them */
};

void mcp_waiting_init(void);
extern struct request *mcp_kept_first; /* the oldest; null: none waits */
void mcp_kept_add(struct request *request); /* its node has the key */
void mcp_kept_remove(struct request *request);
struct request *mcp_kept_for(const struct chasqui_envelope *envelope); /* the oldest that gets such a message */
extern struct mcp_held *mcp_held_first; /* likewise */
void mcp_held_add(struct mcp_held *message);
void mcp_held_remove(struct mcp_held *message);
struct mcp_held *mcp_held_for(uint64_t key); /* the oldest that such a receive gets */
struct mcp_held *mcp_held_of(uint32_t rank, uint32_t sequence);

/* --- receive.c --- */

void mcp_receive_init(void);
void mcp_post(struct request *request, uint64_t key, int pattern);
void mcp_receive_cancel(struct request *request);
void mcp_received(const struct chasqui_mpinp_event *event);
void mcp_unclaimed(const struct chasqui_mpinp_event *event);
struct message *mcp_probe(uint64_t key, int pattern);
void mcp_claim(struct message *message);
void mcp_receive(struct request *request, struct message *message);
/* Answers to PROBE and CLAIM, which one function waits for. */
void mcp_answered(const struct chasqui_mpinp_event *event);
void mcp_crowded(uint32_t rank);
/* Its sender wants a message back that was drained. */
void mcp_drained_cancel(uint32_t rank, uint32_t sequence);
/* What receives and messages that wait ask of the card. */
void mcp_receives_look(void);

/* --- device.c --- */

void mcp_look(void); /* all events that have come */

#endif
