/* The firmware that matches: what its parts share. The protocol is protocol/'s; this moves what it says. */
#ifndef MCP_H
#define MCP_H

#include "card.h"
#include "protocol/protocol.h"

#define NONE UINT32_MAX
#define NAMES CHASQUI_MPINP_NAMES
#define PART CHASQUI_MPINP_PART_BYTES /* of a message, which goes by itself [bytes] */
#define PAGE 4096u /* of the host's memory [bytes] */
#define PIECE 512 /* of a part, which one engine is done with before the next begins [bytes] (ours) */

/* What is on the wire before a body. Its beginning is that of an envelope as far as records look at it: `source`, `sequence`. */
struct wire {
    uint8_t kind; /* enum wire_kind */
    union {
        uint8_t is_dropped; /* of WIRE_GRANT: nothing more is wanted */
        uint8_t note; /* of WIRE_NOTE: which */
        uint8_t collective; /* of WIRE_COLLECTIVE and WIRE_ROOTED: COLLECTIVE_ bits */
    };
    uint16_t channel; /* at the receiver */
    uint16_t source; /* rank of the message's sender */
    uint16_t unused;
    /* Of WIRE_PART: which; of WIRE_GRANT: those before it may come; of WIRE_NOTE and RECV_REQ: the message's `sequence`; of
     * WIRE_COLLECTIVE: the data's length for its process, or the shape of blocks. */
    uint32_t part;
    uint32_t sequence; /* of the message among all of its source; 0: no message */
    struct protocol_header header;
    uint32_t body; /* [bytes] that follow */
};
_Static_assert(sizeof(struct wire) == 48 &&
                   offsetof(struct wire, sequence) == offsetof(struct chasqui_envelope, sequence) &&
                   offsetof(struct wire, source) == offsetof(struct chasqui_envelope, source),
               "struct wire");

enum wire_kind {
    WIRE_PROTOCOL, /* the protocol's, of a message with its first part */
    WIRE_GRANT, /* from a receiver: there is room for more parts of the message */
    WIRE_PART, /* a part after the first */
    WIRE_DRAINED, /* from a receiver, before its answer to a synchronous message: that has not met its receive */
    WIRE_PRESS, /* from a sender: messages before `header.message` are to be drained */
    WIRE_NOTE, /* of a process for the other */
    WIRE_ROOTED, /* of a collective with a root, what only a process at that awaits */
    WIRE_COLLECTIVE, /* what its process and those below contribute, or what has come of it */
};

/* Of WIRE_COLLECTIVE, and of WIRE_ROOTED all but the first. */
enum {
    COLLECTIVE_GOES_UP = 1, /* its data have a place for each channel; else only for what a process awaits */
    COLLECTIVE_IS_REFUSED = 2,
    COLLECTIVE_INVITES = 4, /* there is a place for blocks */
    COLLECTIVE_IS_BLOCKS = 8, /* for that place */
    COLLECTIVE_ANSWERS = 16 /* its data have been used */
};

/* A request of a process and its data, which go in parts of `PART` bytes. They are in the window, or in pages that entries of
 * the host's page table name, a ring of them. As in struct wire, records find the message's name in it. */
struct transfer {
    uint8_t kind; /* of the request: SEND, RECEIVE, CLAIM (until it is fetched); 0: the name is free */
    bool is_in_window;
    bool is_under_way; /* a part is in the queue to the wire */
    bool is_dropped; /* the receiver wants no more */
    uint16_t source; /* of the message: world rank */
    bool is_leaving; /* not all parts that it wants have left */
    /* A synchronous send: it has not met its receive. A receive: of a message that its host has claimed, and matches. */
    bool is_drained;
    uint16_t channel;
    uint16_t places; /* in expected lists */
    uint32_t sequence;
    bool is_void; /* what its entries name is not to be used */
    bool awaits_entries; /* its host has been told of entries that are done */
#ifdef PROTOCOL_CACHE
    bool awaits_ring; /* a send, which its channel has no ring for: `granted`, `done`, `told` are tag, context, flags */
#endif
    uint16_t offset; /* of the data in the first page */
    uint32_t first; /* entry; or the data's offset in the window */
    uint32_t entry_count; /* of the ring */
    uint32_t
        entry; /* that is here, of all of the message, or NONE; what it names, and the number of the one behind it */
    uint32_t pages[CHASQUI_MPINP_ENTRY_PAGES_MAX];
    uint32_t next_entry;
    uint32_t bytes; /* of the message to be sent, or room for it */
    uint32_t number; /* of the message; of the receive */
    uint32_t parts; /* of the message; that the receive has room for */
    uint32_t valid; /* entries that have named pages, of all until now */
    uint32_t granted; /* parts that may be sent, or may come */
    uint32_t done; /* parts that have left, or are in the host's memory */
    uint32_t told; /* entries that the host has been told are done */
    uint32_t next; /* of a receive: request that is delivered after it; of a send: the receive that has it */
};

_Static_assert(offsetof(struct transfer, sequence) == offsetof(struct chasqui_envelope, sequence) &&
                   offsetof(struct transfer, source) == offsetof(struct chasqui_envelope, source),
               "struct transfer");

struct process {
    volatile char *window;
    uint64_t host; /* physical address of its memory on the host */
    uint16_t rank;
#ifdef SEVERAL_JOBS
    uint16_t job_ranks; /* of its job */
    uint16_t kernels; /* its number in the host's kernel, which counts those that there are */
#endif
    bool is_refused; /* it has done what it may not */
    bool listens; /* it wants UNCLAIMED */
    bool has_missed; /* a message came while it did not */
    uint32_t produced, taken, told; /* requests: posted, taken, and those it knows were */
    uint32_t made, moved; /* events */
    uint32_t receives, places; /* that it has */
    /* The message that it was shown last, until its next request: a RETRACT of that waits, as it may be claimed. */
    struct {
        bool is_valid, is_retracted;
        uint16_t channel;
        uint32_t message;
        struct protocol_header retract;
    } shown;
    struct transfer transfers[NAMES];
    struct chasqui_mpinp_event events[CHASQUI_MPINP_EVENTS]; /* of which the host has a copy */
};

_Static_assert(sizeof(struct process) <= CHASQUI_NP_PROCESS_BYTES, "what is kept free for each process");

/* The other end of a channel. */
struct peer {
    uint16_t node;
    uint16_t channel; /* its number there */
    uint16_t rank;
    bool is_crowded; /* its process was told so */
    bool is_noted; /* its note has no answer */
    bool owes_answer; /* to one that has come */
#ifdef PROTOCOL_CACHE
    uint8_t ring_waits; /* sends that wait for a ring */
#endif
    uint32_t pressed; /* messages before this number are to be drained */
#ifdef PROTOCOL_CACHE
    uint32_t has_pressed; /* the same of its own: its receiver has been told */
#endif
};

/* A message in a channel's table, and, but for those that were announced, in its receive buffer. */
struct stored {
    uint16_t first; /* unit of its channel's buffer */
    bool is_here; /* all of it */
    bool is_synchronous;
    uint32_t sequence;
};

extern struct protocol protocol;
extern struct process *processes;
extern uint32_t process_count, ranks, window_bytes, unit_count;
#ifdef PROTOCOL_CACHE
#define TABLES PROTOCOL_PLACES
extern struct peer *peers;
static inline unsigned table_of(unsigned channel) { return protocol.channels[channel].table; }
#else
#define TABLES PROTOCOL_CHANNELS
extern struct peer peers[PROTOCOL_CHANNELS];
static inline unsigned table_of(unsigned channel) { return channel; }
#endif
extern struct stored stored[TABLES][PROTOCOL_TABLE_SLOTS]; /* by table */

/* What is called seldom, by a function that looks whether it is to be called: registers are saved there, each by two stores
 * of the bus's width. */
#define SELDOM __attribute__((noinline))

/* What engines have written comes before the loads that follow, what they read after the stores before. */
static inline void barrier(void) { __asm__ volatile("" : : : "memory"); }
static inline void start(uint64_t address, uint64_t value)
{
    barrier();
    np_store(address, value);
}

/* A request's name among all of the card. */
static inline uint32_t request_of(unsigned process, unsigned name) { return process << 8 | name; }
static inline struct process *process_of(uint32_t request) { return &processes[request >> 8]; }
static inline struct transfer *transfer_of(uint32_t request) { return &process_of(request)->transfers[request & 0xff]; }
static inline uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t parts_of(uint32_t bytes) { return bytes > PART ? (bytes - 1) / PART + 1 : 1; }

/* --- buffers.c: receive buffers, in units --- */

#define UNIT 128 /* what they are counted in [bytes] (ours) */
void buffers_begin(char *from, char *to, unsigned tables);
unsigned buffer_take(unsigned table, uint32_t bytes); /* the first of its units; there is room */
void buffer_give(unsigned table, unsigned first, uint32_t bytes);
/* The longest run of memory from `unit` on, at most `bytes`; `unit` is that behind it. */
char *buffer_run(unsigned *unit, uint32_t bytes, uint32_t *run);

/* --- jobs/jobs.c: processes of several jobs (SEVERAL_JOBS) --- */

#ifdef SEVERAL_JOBS
void open_channels(unsigned process); /* a channel for each rank of its job */
static inline uint32_t ranks_for(unsigned process) { return processes[process].job_ranks; } /* that it may name */
static inline uint32_t kernel_number(uint32_t process) { return processes[process].kernels; }
#else
static inline uint32_t kernel_number(uint32_t process) { return process; }
static inline uint32_t ranks_for(unsigned process)
{
    (void)process;
    return ranks;
}
#endif

/* --- requests.c --- */

/* A receive has met message `sequence` of its channel, for the records. */
void matched(const struct protocol_receive *receive, uint32_t sequence);
void requests_rung(void); /* doorbells */
bool requests_wait(void);
void requests_take(void); /* one, of the next process that has some */
/* A RETRACT has come: whether it waits until its message is claimed or no longer shown. */
bool requests_hold(unsigned channel, const struct protocol_header *header);
/* Data of a request that lie in the process's window; false: they do not. */
bool window_read(unsigned process, const struct chasqui_mpinp_request *request, uint64_t *to);
void refuse(unsigned process, uint64_t why); /* nothing more of it is taken */

/* --- host.c: the host's DMA --- */

/* Its process is told that many messages from there are to be drained, unless it was. */
void tell_crowded(unsigned channel);
/* An event is on its way, but for what the card adds. */
void host_event(unsigned process, const struct chasqui_mpinp_event *event);
void host_tell(void); /* events leave now, if nothing moves */
/* From a request's data at `offset`; then out_fetched. */
void host_fetch(uint32_t request, uint32_t offset, char *to, uint32_t bytes);
/* To there, of a message that is named for the records; then in_moved. */
void host_land(unsigned landing, char *from, uint32_t offset, uint32_t bytes, uint16_t source, uint32_t sequence);
void host_deliver(uint32_t request); /* what lies in the receive buffer */
void host_stored(void); /* more lies there */
void host_taken(uint32_t process); /* requests of its */
void host_collected(uint32_t process, char *from, uint32_t bytes); /* then collective_moved */
void host_scatters(uint32_t process, char *to, uint32_t bytes); /* comes from there; then collective_moved */
void host_done(void);
bool host_is_moving(void);
void host_go_on(void);

/* --- pages.c: where data are in the host's memory --- */

char *pages_begin(char *heap); /* the end of what it has taken there */
/* What a request says of its data; false: it may not. */
bool pages_take(unsigned process, struct transfer *transfer, const struct chasqui_mpinp_request *request);
/* HERE: at `address`, so many of `bytes` in a row. LATER: an entry of the page table comes first, and this is asked again;
 * `address` and `bytes` are its. NOWHERE: they are not the process's, which is stopped. */
enum place { HERE, LATER, NOWHERE };
enum place pages_find(uint32_t request, uint32_t offset, uint64_t *address, uint32_t *bytes);
void *pages_entry(void); /* where the entry comes */
void pages_came(void);
/* Parts of a message that lie in pages which entries name. */
uint32_t parts_valid(const struct transfer *transfer);
/* So many parts are done, of a message that is longer than its entries reach: the host hears of entries that are done. */
void pages_done(uint32_t request);

/* --- thread/: where a thread of the host's kernel names further pages (BY_THREAD) --- */

#ifdef BY_THREAD
void paged_begin(void);
void paged_done(uint32_t request, uint32_t done); /* so many of its entries, of all */
void paged_rung(void); /* the kernel has answered, or some process has stored to its doorbell */
#else
static inline void paged_begin(void) {}
static inline void paged_rung(void) {}
#endif

/* --- tlb.c: entries that are here --- */

bool tlb_begin(char **heap); /* takes of it; false: there is none */
/* NULL: the entry is fetched, which `fill` follows before the next `find`. */
const struct chasqui_mpinp_entry *tlb_find(uint32_t number);
void tlb_fill(uint32_t number, const struct chasqui_mpinp_entry *entry);

/* --- out.c: the queue to the wire --- */

char *out_begin(char *heap, uint32_t per_node); /* the end of what it has taken there */
bool out_has_room(void); /* for what a request leads to */
bool out_is_sending(void);
/* The header is to be filled in, but for `channel`; what is not about a message of the request's (NONE) has no name and no
 * body yet. */
struct wire *out_put(unsigned channel, unsigned kind, uint32_t request);
void out_control(unsigned channel, const struct protocol_header *header);
void out_grant(const struct protocol_receive *receive); /* as many parts as its transfer says */
void out_drop(unsigned channel, uint32_t message); /* no more of it is wanted */
void out_fetched(uint32_t bytes);
void out_sent(void);
void out_go_on(void);
void send_go_on(uint32_t request); /* something about it has changed */

/* --- interrupt/: where a host waits by interrupt (BY_INTERRUPT) --- */

#ifdef BY_INTERRUPT
void interrupt_begin(void);
void interrupt_told(uint32_t process); /* its memory on the host has more events */
void interrupt_counts(uint32_t process); /* the count of requests that were taken is on its way there, */
void interrupt_counted(void); /* and has come */
/* A receive is complete. A process that sleeps would wait for what else the protocol has to do: its interrupt comes when the
 * processor has time to see that the event is there. */
static inline void host_tell_early(void) {}
#else
static inline void interrupt_begin(void) {}
static inline void interrupt_told(uint32_t process) { (void)process; }
static inline void interrupt_counts(uint32_t process) { (void)process; }
static inline void interrupt_counted(void) {}
/* What else the protocol has to do goes on beside the event. */
static inline void host_tell_early(void) { host_tell(); }
#endif

/* --- in.c: what comes from the wire --- */

void in_begin(void);
void in_received(void);
bool in_go_on(void); /* false: nothing was to be done */
bool in_is_receiving(void);
bool in_is_synchronous(void); /* what the protocol is told of */
uint32_t in_sequence(void); /* its name */
void in_moved(unsigned landing);
uint32_t in_request(unsigned landing); /* whose part it has */
void receive_go_on(uint32_t request); /* it has more entries */

#ifdef PROTOCOL_CACHE

/* --- channels/rings.c: sends that wait for a ring --- */

bool rings_lack(unsigned channel); /* it has none for another message, or others wait before it */
bool rings_await(unsigned channel, const struct protocol_send *send); /* false: no ring would have room for it */
void rings_go_on(void); /* in their order, while there are rings */
bool rings_withdraw(uint32_t request); /* false: it does not wait */
/* A message waits for its receive: it holds a ring. */
void rings_look(void);
extern bool rings_press; /* perhaps, to put headers into the queue */
bool rings_put(void); /* one: whatever holds a ring is to be drained; false: there is none */

char *collectives_begin(char *heap, uint32_t channels); /* the end of what it has taken there */

#endif

/* --- collective.c --- */

bool collective_take(unsigned process, const struct chasqui_mpinp_request *request); /* false: it may not */
extern bool collectives_wait; /* perhaps, to put headers into the queue */
bool collectives_put(void); /* one; false: there is none */
void collective_left(unsigned channel); /* a header of it */
void collective_moved(uint32_t process);
char *collective_data(unsigned channel); /* a body that leaves, until collective_left */
char *collective_place(unsigned channel, const struct wire *wire); /* where its body comes */
void collective_came(unsigned channel, const struct wire *wire);

/* --- rooted.c --- */

bool rooted_take(unsigned process, const struct chasqui_mpinp_request *request); /* false: it may not */
void rooted_came(unsigned channel, const struct wire *wire);
char *rooted_place(unsigned channel, const struct wire *wire); /* where blocks come; null: nobody awaits them */

/* --- combine.c --- */

bool combines(uint8_t operator, uint8_t type, uint32_t bytes); /* whether there is such an operation */
/* lower = lower operator higher, of each element. */
void combine(uint8_t operator, uint8_t type, uint64_t *lower, const uint64_t *higher, uint32_t bytes);

#endif
