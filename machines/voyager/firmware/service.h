/* Generated from machines/voyager/src/service_registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_VOYAGER_SERVICE_H
#define CHASQUI_VOYAGER_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_SP_EVENT 0x0ull /* Loaded: the next event; the load is held until there is one. Kind in bits 0 to 7; ACCESS: what in bits 8 */
#define CHASQUI_SP_MASK 0x8ull /* Stored: the kinds of events that are wanted, by `1 << kind`. */
#define CHASQUI_SP_ACCESS_VALUE 0x10ull /* Loaded: value of the store that the event ACCESS is about. */
#define CHASQUI_SP_ACCESS_ANSWER 0x18ull /* Stored: ends the access; to a load this is the answer. */
#define CHASQUI_SP_ACCESS_FORWARD 0x20ull /* Stored: the hardware serves the access, for its queues are resident by now. */
#define CHASQUI_SP_ACCESS_LAUNCH 0x28ull /* Stored: ends the access, a store that is an Express or Tag-On message: it is sent, then LAUNCHED comes. */
#define CHASQUI_SP_LAUNCH 0x30ull /* Stored: sends the Basic message in the slot that is counted in the low half, of the queue named above; */
#define CHASQUI_SP_MISS_POP 0x38ull /* Stored: takes the packet that MISS was about from the miss queue. */
#define CHASQUI_SP_MAP 0x40ull /* Stored: the hardware slot in bits 16 to 23 is the home of the queue named in the low bits from now on, with */
#define CHASQUI_SP_MAP_RESIDENT 0x1000000ull /* Of MAP. */
#define CHASQUI_SP_UNDIVERT 0x48ull /* Stored: packets for the queue are no longer diverted, unless one waits in the miss queue. */
#define CHASQUI_SP_WATCH 0x50ull /* Stored: QUIESCENT comes when the hardware has nothing more to do with the queue named. */
#define CHASQUI_SP_ADDRESS 0x58ull /* Stored: physical address for the next command. */
#define CHASQUI_SP_COMMAND 0x60ull /* Stored: starts a command: operation in bits 0 to 7, the queue's name in bits 32 to 47. */
#define CHASQUI_SP_RESULT 0x68ull /* Loaded: result of the command; the load is held until it is done. */
#define CHASQUI_SP_OWN_TAKE 0x100ull /* Loaded: takes the oldest message that the sP's own queue has received, or EMPTY. */
#define CHASQUI_SP_OWN_SEND 0x108ull /* Stored: sends a message by the sP's own queue, of which there is room for SETTING_EXPRESS_MESSAGES: 37 bits of data, */
#define CHASQUI_SP_OWN_TAG 0x20000000000000ull /* Of OWN_SEND: 48 bytes of a place are tagged on. */
#define CHASQUI_SP_OWN_LONG 0x40000000000000ull /* Of OWN_SEND: 80 bytes of it. */
#define CHASQUI_SP_OWN_PLACE_SHIFT 0x37ull /* Of OWN_SEND: first of eight bits that say which of SETTING_PLACES. */
#define CHASQUI_SP_OWN_DESTINATION_SHIFT 0x25ull /* Of OWN_SEND: first bit of the destination. */
#define CHASQUI_SP_OWN_SENT 0x110ull /* Loaded: messages of the sP's own queue that have left. */
#define CHASQUI_SP_TURN_OVER 0x118ull /* Loaded, of one set of queues (`voyager/onequeue`): processes that were alive when the turn was over, a bit each, and */
#define CHASQUI_SP_TURN_IDLE 0x100000000ull /* Of TURN_OVER: the site had done nothing but wait. */
#define CHASQUI_SP_TURN 0x120ull /* Stored: the process whose turn begins, and TURN_LAST. */
#define CHASQUI_SP_TURN_LAST 0x10000ull /* Of TURN: no other turn comes. */
#define CHASQUI_SP_OVERRUN 0x128ull /* Stored: this process's share of the memory is full, which is a fault of it. */
#define CHASQUI_SP_HOLD 0x130ull /* Stored: the job in the low half is held up; with HOLD_OVER it goes on. */
#define CHASQUI_SP_HOLD_OVER 0x100000000ull /* Of HOLD. */
#define CHASQUI_SP_CHARGE 0x140ull /* Stored: what the firmware does from here on, until the next event, is for this job, and counts with its share of the time. */
#define CHASQUI_SP_KIND_ACCESS 0x1ull /* Event: an access of an application processor to a queue that is not resident, or by system software. */
#define CHASQUI_SP_MISSED_AHEAD 0x138ull /* Loaded: the site that it comes from, and AHEAD_OWN, of the next packet of the miss queue of which this has not told yet, of the */
#define CHASQUI_SP_AHEAD_SITE 0xffffull /* Of MISSED_AHEAD: the site. */
#define CHASQUI_SP_AHEAD_OWN 0x10000ull /* Of MISSED_AHEAD: that site's sP has sent it. */
#define CHASQUI_SP_KIND_MISS 0x2ull /* Event: the miss queue has a packet; this is about the oldest, of the highest priority, of the job whose turn it is. */
#define CHASQUI_SP_KIND_ROOM 0x3ull /* Event: there may be room in the resident queue for what DELIVER or TAG could not place. */
#define CHASQUI_SP_KIND_LAUNCHED 0x4ull /* Event: a message has left. */
#define CHASQUI_SP_KIND_QUIESCENT 0x5ull /* Event: the hardware has nothing more to do with the queue that was watched. */
#define CHASQUI_SP_KIND_MESSAGE 0x6ull /* Event: the sP's own queue has messages; behind the kind's 8 bits, how many. */
#define CHASQUI_SP_KIND_LEFT 0x7ull /* Event: messages of the sP's own queue have left. */
#define CHASQUI_SP_KIND_TURN 0x8ull /* Event, of one set of queues: the turn is over, and what its process had sent has left for the network. */
#define CHASQUI_SP_KIND_OVER 0x9ull /* Event: a process, whose number stands for the queue, is over: it receives nothing any more. */
#define CHASQUI_SP_WHAT_TRANSMIT_PRODUCER 0x1ull /* Access, a store: messages up to this one may be sent. */
#define CHASQUI_SP_WHAT_TRANSMIT_CONSUMER 0x2ull /* Access, a load: messages that have been sent. */
#define CHASQUI_SP_WHAT_RECEIVE_PRODUCER 0x3ull /* Access, a load: messages that have come. */
#define CHASQUI_SP_WHAT_RECEIVE_CONSUMER 0x4ull /* Access, a store: messages that the processor is done with. */
#define CHASQUI_SP_WHAT_EXPRESS 0x5ull /* Access, a store: an Express or Tag-On message. */
#define CHASQUI_SP_WHAT_EXPRESS_SENT 0x6ull /* Access, a load: Express messages that have been sent. */
#define CHASQUI_SP_WHAT_EXPRESS_TAKE 0x7ull /* Access, a load: takes an Express message. The answer is a whole one: the hardware gives it by halves to a */
#define CHASQUI_SP_WHAT_ONEPOLL 0x8ull /* Access, a load: OnePoll. The number of the phantom queue, of all processes', stands for the queue. */
#define CHASQUI_SP_WHAT_MIGRATE 0x9ull /* Access, a store of system software: move a queue. */
#define CHASQUI_SP_WHAT_MIGRATED 0xaull /* Access, a load of system software: how many moves have been made. */
#define CHASQUI_SP_WHAT_NOTHING 0xbull /* Access without an effect; a load gets 0. */
#define CHASQUI_SP_COMMAND_WRITE 0x1ull /* Command: the message becomes a Basic slot at ADDRESS. */
#define CHASQUI_SP_COMMAND_DELIVER 0x2ull /* Command: the message goes into the resident queue. Result: 1, or 0: there is no room. */
#define CHASQUI_SP_COMMAND_TAG 0x3ull /* Command: the data tagged on to the message, of an Express queue, go into a slot. Result: 1 and the slot's number */
#define CHASQUI_SP_COMMAND_COPY_OUT 0x4ull /* Command: the rings of a Basic queue that has been unmapped move from the SRAM to the DRAM. */
#define CHASQUI_SP_COMMAND_COPY_IN 0x5ull /* Command: the rings of a Basic queue that is to be mapped move from the DRAM to the SRAM. */
#define CHASQUI_SP_COMMAND_FETCH 0x6ull /* Command: lines of a process's memory at virtual address ADDRESS come to one of the sP's places in the SRAM (section */
#define CHASQUI_SP_FETCH_LONG 0x100ull /* Of COMMAND_FETCH: 80 bytes, else 48. */
#define CHASQUI_SP_FETCH_PLACE_SHIFT 0x10ull /* Of COMMAND_FETCH: first of eight bits that say which place. */
#define CHASQUI_SP_COMMAND_MISSED 0x100ull /* The command's message is that of the miss queue that MISS was about; else that in STAGING. */
#define CHASQUI_SP_SETTING_BASIC_QUEUES 0x80ull /* Settings, loaded, 8 bytes each: Basic queues. */
#define CHASQUI_SP_SETTING_SLOTS 0x88ull /* Setting: slots of a Basic ring. */
#define CHASQUI_SP_SETTING_RECEIVE_RING 0x90ull /* Setting: physical address of Basic receive ring 0. */
#define CHASQUI_SP_SETTING_RING_BYTES 0x98ull /* Setting: from one ring to the next [bytes]. */
#define CHASQUI_SP_SETTING_EXPRESS_SLOTS 0xa0ull /* Setting: Express slots of the hardware. */
#define CHASQUI_SP_SETTING_BASIC_SLOTS 0xa8ull /* Setting: Basic slots of the hardware. */
#define CHASQUI_SP_SETTING_EXPRESS_MESSAGES 0xb0ull /* Setting: messages that an Express slot holds. */
#define CHASQUI_SP_SETTING_MEMORY 0xb8ull /* Setting: memory of the sP [bytes]. */
#define CHASQUI_SP_SETTING_EXPRESS_QUEUES 0xc0ull /* Setting: Express queues, of all processes. */
#define CHASQUI_SP_SETTING_STRIDE 0xc8ull /* Setting: bytes from one slot of a ring to the next. */
#define CHASQUI_SP_SETTING_PLACES 0xd0ull /* Setting: places in the SRAM for what the sP tags on. */
#define CHASQUI_SP_SETTING_SITES 0xd8ull /* Setting: sites. */
#define CHASQUI_SP_SETTING_SITE 0xe0ull /* Setting: this site's number. */
#define CHASQUI_SP_MESSAGE_BYTES 0x70ull /* What the firmware takes of the sP's memory for a message that it keeps [bytes]. */
#define CHASQUI_SP_SETTING_SHARES 0xe8ull /* Setting: parts of the sP's memory, of which no process may take another's: as many as there are processes, if these */
#define CHASQUI_SP_SETTING_HOLD 0xf0ull /* Setting: packets of a job in the miss queue from which on it is held up at their source; 0: never. */
#define CHASQUI_SP_SETTING_JOB_PROCESSES 0xf8ull /* Setting: processes of a job at a site, at most; numbers of processes are those of jobs one after the other. */
#define CHASQUI_SP_BASIC_TRANSMIT_PRODUCER 0x400ull /* Registers of the hardware's Basic slots, BASIC_STRIDE bytes each, loaded and stored: slots composed. */
#define CHASQUI_SP_BASIC_TRANSMIT_CONSUMER 0x408ull /* Slots sent. */
#define CHASQUI_SP_BASIC_RECEIVE_PRODUCER 0x410ull /* Slots filled. */
#define CHASQUI_SP_BASIC_RECEIVE_CONSUMER 0x418ull /* Slots that the processor is done with. */
#define CHASQUI_SP_BASIC_STRIDE 0x20ull /* From one Basic slot's registers to the next's. */
#define CHASQUI_SP_EXPRESS_SENT 0xc00ull /* Registers of the hardware's Express slots, EXPRESS_STRIDE bytes each: loaded and stored: messages sent. */
#define CHASQUI_SP_EXPRESS_TAKE 0xc08ull /* Loaded: takes the oldest message that has been received, or EMPTY. Stored: adds one, of which there must */
#define CHASQUI_SP_EXPRESS_STRIDE 0x10ull /* From one Express slot's registers to the next's. */
#define CHASQUI_SP_MISSED 0x1000ull /* Memory of the sSRAM, loaded: the packet of the miss queue that MISS was about. */
#define CHASQUI_SP_STAGING 0x1080ull /* Memory of the sSRAM, stored: a message for commands. */
#define CHASQUI_SP_SSRAM_BYTES 0x80ull /* Bytes of each. */
#define CHASQUI_SP_ONEPOLL_ORDER 0x2000ull /* Loaded: the orders of all phantom queues, as in the processors' registers, with names of the site. */
#define CHASQUI_SP_MARK_FIRST 0x4ull /* Five bits of a mark, from one sP to another (`voyager/onequeue`): whoever gets it has got all that its sender's site */
#define CHASQUI_SP_MARK_IDLE 0x5ull /* Five bits of a mark: a first one, of a site that had done nothing but wait. */
#define CHASQUI_SP_MARK_SECOND 0x6ull /* Five bits of a mark: a second one. */
#define CHASQUI_SP_HOLD_JOB 0x7ull /* Five bits of a message from one sP to another: the job in the 32 bits is held up, for what it sends fills the miss */
#define CHASQUI_SP_RELEASE_JOB 0x8ull /* Five bits of a message from one sP to another: the job may go on, as far as this site is concerned. */
#define CHASQUI_SP_RELEASED 0x9ull /* Five bits of a message from one sP to another: it has done what RELEASE_JOB told it, with every job. */
#define CHASQUI_SP_PACKET_BASIC 0x0ull /* Kind of a packet: Basic. */
#define CHASQUI_SP_PACKET_DMA 0x1ull /* A piece of a block, which the hardware deals with. */
#define CHASQUI_SP_PACKET_NOTICE 0x2ull /* The notice behind a block, received like Basic. */
#define CHASQUI_SP_PACKET_EXPRESS 0x3ull /* An Express message: eight bytes; what follows was tagged on. */
#define CHASQUI_SP_PACKET_REFUSAL 0x4ull /* A block was refused by the process that it was for: the address, for which the sender's process has a fault. */
#define CHASQUI_SP_PACKET_ABSENT 0x5ull /* The process whose queue it names, at the site that it comes from, is over: nothing is sent to it any more. */
#define CHASQUI_SP_PACKET_WAIT 0x6ull /* Blocks for the job whose queue it names, at the site that it comes from, wait. */
#define CHASQUI_SP_PACKET_GO_ON 0x7ull /* They go on. */
#define CHASQUI_SP_PACKET_ENDED 0x8ull /* A block for the job whose queue it names has ended before its end, or none waits that was told to go on. */
#define CHASQUI_SP_PACKET_WIDE 0x1ull /* Flag of an Express packet: words that a 64-byte store brought are tagged on. */
#define CHASQUI_SP_PACKET_OWN 0x2ull /* Flag of an Express packet: a service processor sent it, of its own queue. */

struct chasqui_voyager_packet {
    uint8_t kind; /* Kind. */
    uint8_t flags; /* Flags of a Basic slot; of a piece of a block: the process, of its sender's site, that sends it. */
    uint16_t source; /* Source id. */
    uint16_t queue; /* The receive queue's name. */
    uint16_t bytes; /* Bytes of data that follow. */
};
_Static_assert(sizeof(struct chasqui_voyager_packet) == 8, "chasqui_voyager_packet");
_Static_assert(offsetof(struct chasqui_voyager_packet, kind) == 0, "chasqui_voyager_packet.kind");
_Static_assert(offsetof(struct chasqui_voyager_packet, flags) == 1, "chasqui_voyager_packet.flags");
_Static_assert(offsetof(struct chasqui_voyager_packet, source) == 2, "chasqui_voyager_packet.source");
_Static_assert(offsetof(struct chasqui_voyager_packet, queue) == 4, "chasqui_voyager_packet.queue");
_Static_assert(offsetof(struct chasqui_voyager_packet, bytes) == 6, "chasqui_voyager_packet.bytes");

/* Id number `index` of a process's own: a destination of the sP's queue, or the source id of requests to sPs, which leads */
static inline uint32_t chasqui_sp_request_id(uint32_t process, uint32_t index, uint32_t sites, uint32_t processes)
{
    return sites + index * processes + process;
}
/* The process that an id behind the sites' belongs to: whose request it is, and whose memory that is about. */
static inline uint32_t chasqui_sp_requester(uint32_t id, uint32_t sites, uint32_t processes)
{
    return (id - sites) % processes;
}

#endif
