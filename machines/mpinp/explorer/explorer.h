/* The explorer: runs small programs on the protocol's code through all interleavings. See README.md.
 *
 * A world is the whole state: the NICs, the wires, what each process has posted, which bodies are moving. A step is
 * one event at one place; search.c takes every step in every world that is found, breadth first.
 */
#ifndef EXPLORER_H
#define EXPLORER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "protocol.h"
#include "rules.h"

#define PROCESSES_MAX 3
#define OPERATIONS_MAX 6
#define OPERATIONS (PROCESSES_MAX * OPERATIONS_MAX)
#define PEERS (PROCESSES_MAX - 1)
#define ENDS (PROCESSES_MAX * PEERS) /* of channels: number process * PEERS + peer's index */
#define WIRE_MAX 10
#define OFF_MAX 10
#define NOBODY 0xff

/* --- programs (program.c) --- */

enum operation_kind { OP_SEND, OP_RECEIVE, OP_CANCEL, OP_WAIT, OP_PROBE, OP_CLAIM, OP_CLAIM_IF, OP_FETCH };

struct operation {
    uint8_t kind;
    uint8_t peer;   /* or NOBODY: any source */
    uint8_t target; /* OP_CANCEL, OP_WAIT: index of the process's operation */
    uint8_t context;
    uint16_t flags; /* enum send_flags */
    int32_t tag;
    uint32_t bytes; /* of the message; capacity of a receive */
    char text[8];
};

struct program {
    const char *name;
    const char *texts[PROCESSES_MAX];
    unsigned slots;       /* of a message table, one of them for RECV_REQ */
    unsigned put_off; /* times that control finds a NIC's queue to the wire full; 0: never, and no RETRACT is kept */
    unsigned put_off_at; /* NICs where they do: bits; 0: all */
    unsigned places;      /* rings and tables of a NIC, where they are a cache; 0: 1 */
    bool shares_nic;      /* processes 0 and 1 have one NIC */
    bool takes_turns;     /* the first two receives of any source must get messages of different ones */
    unsigned process_count;
    unsigned counts[PROCESSES_MAX];
    struct operation operations[OPERATIONS];
};

void parse(struct program *program); /* texts to operations */
extern const struct program programs[];
extern const unsigned program_count, program_large_first;
bool generate(unsigned index, unsigned length, struct program *program); /* false: there are no more */

void draw_program(uint64_t seed, struct program *program);

/* --- worlds (world.c) --- */

enum operation_status { NOT_POSTED, POSTED, DONE, CANCELLED, TRUNCATED };

struct operation_state {
    uint8_t status;
    uint8_t partner;      /* operation that it was matched with, or NOBODY */
    uint8_t is_moving;    /* a receive: its body goes to the host */
    uint8_t is_withdrawn; /* cancel was called; what was claimed: it was received */
    uint8_t dropped;      /* a send: times */
    uint8_t seen;         /* a send: operations that the receiver had posted when it was completed */
    uint8_t sent;         /* a send: times */
    uint8_t is_kept;      /* a receive: by the host, for the NIC has no room */
    uint8_t drained; /* a send: the host took it from the table, as the how manieth; 0: it did not */
    uint32_t number; /* of a receive */
};

struct item {
    struct protocol_header header;
    uint16_t body;           /* operation, or NOBODY */
    uint16_t is_for_claimed; /* SEND_REQ: the message was announced */
};

/* Control that was put off. */
struct off {
    struct item item; /* without credit */
    uint16_t end; /* where it arrives */
    uint16_t is_claimed; /* SEND_REQ: its receive awaits what was announced */
};

struct leaving {
    uint32_t message;
    uint32_t body; /* or NOBODY */
};

enum { WORLD_ALIGN = 32 };

struct world {
    _Alignas(WORLD_ALIGN) uint8_t posted[4]; /* operations of each process */
    struct operation_state operations[OPERATIONS];
    uint32_t wire_counts[ENDS];                 /* towards each end */
    struct item wires[ENDS][WIRE_MAX];
    uint32_t off_counts[PROCESSES_MAX]; /* of NICs */
    uint32_t put_off; /* times that a queue was full */
    struct off off[PROCESSES_MAX][OFF_MAX];
    struct item kept[ENDS]; /* RETRACT, or an empty one */
    struct leaving leaving[ENDS][PROTOCOL_RING_ENTRIES];
    uint8_t bodies[ENDS][PROTOCOL_TABLE_SLOTS]; /* in the receive buffer: operation, or NOBODY */
    uint8_t about[ENDS][8]; /* operation that a number of a message stands for at a receiver */
    uint8_t passed[ENDS];                       /* turns of others since the channel was on the main ring */
    uint8_t crowded[ENDS]; /* the host is to take messages from the table */
    uint8_t is_lease_new[ENDS]; /* nothing was sent since it came */
    struct protocol nics[PROCESSES_MAX];
};

enum step_kind {
    STEP_POST,
    STEP_ARRIVE,
    STEP_SERVE,
    STEP_LEFT,
    STEP_DELIVERED,
    STEP_HAND_OVER,
    STEP_OFFER,
    STEP_DRAIN,
    STEP_GOES, /* what was put off first */
    STEP_KEEP, /* RETRACT that arrives, and */
    STEP_RESUME /* is looked at later */
};

struct step {
    uint8_t kind;
    uint8_t where; /* process, end, NIC, or operation */
    uint8_t index; /* STEP_LEFT: entry */
    uint8_t is_full; /* the queue to the wire is: control is put off */
};

#define STEPS_MAX 64

extern const struct program *running;
extern const char *fault; /* why the last take() failed */
extern bool checks_economy; /* rules without which all arrives too, but later */
extern FILE *story;       /* what is done is told here, if not null */

void begin_world(struct world *world);
unsigned node_count(void);
unsigned steps_of(struct world *world, struct step *steps);
bool take(struct world *world, struct step step); /* false: `fault` */
unsigned node_of(unsigned process);
unsigned channel_of(unsigned end); /* on its NIC */
unsigned peer_of(unsigned end);    /* process */
void describe(const struct world *world, struct step step, FILE *file);

/* --- properties (properties.c): null, or what is wrong --- */

bool would_match(unsigned send, unsigned receive); /* operations */
const char *wrong_anywhere(const struct world *world);
const char *wrong_at_end(const struct world *world); /* no step can be taken */

/* --- search (search.c) --- */

struct result {
    const char *wrong; /* or null */
    uint64_t states, ends;
    struct step path[256];
    unsigned path_length;
    bool is_cut; /* more states than the limit */
};

void search(const struct program *program, uint64_t states_max, struct result *result);

/* --- rules that are taken away (mutations.c) --- */

struct mutation {
    enum { MUTATION_NONE, MUTATION_RULE, MUTATION_PART } kind;
    unsigned rule;
    unsigned row, part;
};

extern struct mutation mutation;
extern bool reached_rules[RULE_COUNT], reached_parts[ROW_COUNT][PART_COUNT];
unsigned mutations_begin(void); /* how many there are */
struct mutation mutation_at(unsigned index);
void describe_mutation(struct mutation mutation, char *text, unsigned length);
bool is_reached(struct mutation mutation);
bool is_of_cache(struct mutation mutation); /* of a cache of channels */
bool needs_probe(struct mutation mutation); /* and no program here has one */

#endif
