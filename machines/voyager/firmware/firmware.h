/* The firmware of voyager's service processor: queues that have no slot in the NES's hardware, packets that
 * found no room, and the moving of queues between the two (CSG Memo 394, section 4.2).
 *
 * The firmware waits for one event at a time (main.c) and never for the network: what it sends is launched and
 * its end is an event. So it always takes packets from the miss queue, as long as it has memory for them, and
 * two sites can't wait for each other.
 */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registers.h"
#include "service.h"

#define DEVICE 0x40000000u /* FIRMWARE_DEVICE of crates/ni */

static inline uint64_t nes_load(uint64_t address) { return *(volatile uint64_t *)(DEVICE + address); }
static inline void nes_store(uint64_t address, uint64_t value) { *(volatile uint64_t *)(DEVICE + address) = value; }

/* Stops the simulation with a message that names this place. */
static inline void check(bool right)
{
    if (!right)
        __builtin_trap();
}

/* --- messages (message.c) --- */

#define MESSAGE_WORDS 13 /* a packet's header and 96 bytes */

/* A packet as it came, or an Express message as its receiver reads it: the first word alone. */
struct message {
    struct message *next;
    uint64_t words[MESSAGE_WORDS];
};

_Static_assert(sizeof(struct message) == CHASQUI_SP_MESSAGE_BYTES, "struct message");

struct list {
    struct message *first, *last;
};

static inline bool is_empty(const struct list *list) { return !list->first; }

void messages_begin(void);
struct message *message_new(unsigned process); /* another_may_come */
void message_free(unsigned process, struct message *message);
bool may_keep(unsigned process); /* another message, of its share */
void list_append(struct list *list, struct message *message);
struct message *list_take(struct list *list);
void list_put_back(struct list *list, struct message *message); /* as the first */
bool messages_are_left(unsigned count); /* or each process has a share, which limits it alone */
bool another_may_come(void); /* with what the queues need that leave their slots at the end of a turn */

static inline struct chasqui_voyager_packet header_of(uint64_t word)
{
    struct chasqui_voyager_packet header;
    __builtin_memcpy(&header, &word, sizeof header);
    return header;
}

/* --- queues (queue.c) --- */

enum place { SERVED, RESIDENT, LEAVING };

struct queue {
    enum place place;
    uint8_t slot; /* of the hardware, unless SERVED */
    uint8_t process;
    bool is_active; /* a SERVED Basic queue that has something to send */
    /* SERVED: what the hardware has in the slots of others. */
    uint32_t transmit_producer, transmit_consumer, receive_producer, receive_consumer;
    uint32_t sent;
    struct list ready;   /* SERVED Express: messages to be read, as many as a slot of the hardware holds */
    unsigned ready_count;
    struct list waiting; /* packets that found no room, oldest first; later ones must not pass them */
};

extern struct queue queues[CHASQUI_VOYAGER_QUEUES];
extern unsigned queue_count, express_count, express_messages;

static inline bool is_basic(unsigned name) { return name >= express_count; }

/* Of a process: all have as many as each other. */
static inline unsigned basic_queues(void)
{
    return (queue_count - express_count) * CHASQUI_VOYAGER_EXPRESS_QUEUES / express_count;
}

/* Names of a process's Basic queues begin here. */
static inline unsigned first_basic(unsigned process) { return express_count + process * basic_queues(); }

void queues_begin(void);
uint64_t command(uint64_t operation, unsigned name);
void serve_miss(unsigned name, unsigned waiting, unsigned unseen); /* MISS */
void serve_room(unsigned name); /* `waiting` may go on */
void forget(unsigned process);  /* it is over, and receives nothing any more */
void overrun(unsigned process); /* its share is full */
bool is_over(unsigned process);
void hand_over(unsigned name);
void make_ready(struct queue *queue, struct message *message);
struct message *take_ready(struct queue *queue);

/* --- sending for queues that are not resident (launch.c) --- */

bool launcher_is_free(void);
void launch_access(unsigned name); /* the event's Express message; the launcher is free */
void launch_up_to(unsigned name, uint32_t producer);
bool launched(void); /* what left was of a ring */
bool is_launching(unsigned name);
void launch_again(unsigned process, unsigned processes); /* of a job that was held up */
void launch_next(void);

/* --- the sP's own queue (own.c) --- */

void own_begin(void);
bool own_has_room(void);
void own_send(unsigned destination, uint64_t word, uint64_t tag); /* own_has_room */
void own_left(void);                                              /* there may be room */
void serve_own(unsigned count);                                   /* messages that wait */
void forget_requests(unsigned process);

/* --- jobs that are held up (hold.c) --- */

void hold_begin(void);
void hold_if_full(unsigned process, unsigned waiting, unsigned unseen);
void forget_sources(unsigned process); /* of its job: it is over */
void missed_is_taken(unsigned process,
                     bool is_last); /* its packet; none of its job waited behind it when it was begun */
void hold_left(void); /* messages may have room */
void take_hold(unsigned job); /* an sP's message */
void take_release(unsigned site, unsigned job);
void take_released(unsigned site);
bool is_job_held(unsigned process);
extern unsigned jobs_held;

/* Asked before each launch, and mostly none is. */
static inline bool is_held_up(unsigned process) { return jobs_held > 0 && is_job_held(process); }

/* --- the loop (main.c) --- */

void look_for_room(void); /* in the own queue, of which LEFT tells */
void look_for_accesses(void); /* what was left for later may be another now */

/* --- one set of queues (drain.c) --- */

void drain_begin(void);
bool is_site(unsigned source);
void turn_is_over(void);
void first_mark(uint32_t live, bool idle);
void second_mark(void);
void drain_on(void); /* marks may have room */

/* --- accesses (access.c) and migration (migrate.c) --- */

enum outcome { DONE, LATER }; /* LATER: the access stays, and is served again after LAUNCHED or QUIESCENT, or a HOLD */

enum outcome serve_access(unsigned what, unsigned name);
enum outcome migrate(uint64_t request);
void quiescent(void); /* the hardware has nothing more to do with the queue that leaves its slot */
void swap_out(unsigned process); /* its queues, of which nothing is under way */
void swap_in(unsigned process);
extern uint64_t migrations;

#endif
