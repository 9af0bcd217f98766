/* Generated from machines/mpinp/src/np_registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_MPINP_NP_H
#define CHASQUI_MPINP_NP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_NP_EVENT 0x0ull /* Loaded: what has happened since it was loaded last, EVENT_ bits; the load is held until something has. */
#define CHASQUI_NP_EVENT_HOST 0x1ull /* Of EVENT: the host's DMA is done. */
#define CHASQUI_NP_EVENT_SENT 0x2ull /* Of EVENT: the sender is done with its block. */
#define CHASQUI_NP_EVENT_RECEIVED 0x4ull /* Of EVENT: the receiver's place is filled. */
#define CHASQUI_NP_EVENT_DOORBELL 0x8ull /* Of EVENT: a doorbell was stored to (DOORBELLS). */
#define CHASQUI_NP_EVENT_TAGS 0x10ull /* Of EVENT: the list of tags has looked a message up, or removed an entry (TAG_RESULT). */
#define CHASQUI_NP_BUSY 0x8ull /* Loaded: what is under way, BUSY_ bits. */
#define CHASQUI_NP_BUSY_HOST 0x1ull /* Of BUSY: the host's DMA. */
#define CHASQUI_NP_BUSY_SEND 0x2ull /* Of BUSY: the sender. */
#define CHASQUI_NP_BUSY_RECEIVE 0x4ull /* Of BUSY: the receiver has a place. */
#define CHASQUI_NP_DOORBELLS 0x10ull /* Loaded: processes of the node that have stored to their doorbells since it was loaded last, a bit each. */
#define CHASQUI_NP_TIME 0x18ull /* Loaded: the clock [clocks]. */
#define CHASQUI_NP_HOST_ADDRESS 0x20ull /* Stored: physical address of the host's side of the next block. */
#define CHASQUI_NP_HOST_LOCAL 0x28ull /* Stored: address in the card's memory of its other side. */
#define CHASQUI_NP_HOST_START 0x30ull /* Stored: starts the host's DMA of so many bytes, with HOST_TO_HOST to the host. */
#define CHASQUI_NP_HOST_TO_HOST 0x100000000ull /* Of HOST_START. */
#define CHASQUI_NP_SEND_TO 0x40ull /* Stored: node to which the next worm goes. */
#define CHASQUI_NP_SEND_LOCAL 0x48ull /* Stored: address in the card's memory of the next block. */
#define CHASQUI_NP_SEND_START 0x50ull /* Stored: starts the sender with a block of so many bytes, and SEND_ bits. */
#define CHASQUI_NP_SEND_LAST 0x100000000ull /* Of SEND_START: the worm ends with this block. */
#define CHASQUI_NP_SEND_AHEAD 0x200000000ull /* Of SEND_START: none of it is there yet (SEND_VALID). */
#define CHASQUI_NP_SEND_VALID 0x58ull /* Stored: so many bytes of the block are there. */
#define CHASQUI_NP_RECEIVE_LOCAL 0x60ull /* Stored: address in the card's memory of the receiver's next place. */
#define CHASQUI_NP_RECEIVE_START 0x68ull /* Stored: starts the receiver with a place of so many bytes. */
#define CHASQUI_NP_RECEIVED 0x70ull /* Loaded: bytes of the place that was filled last, with RECEIVED_LAST. */
#define CHASQUI_NP_RECEIVED_LAST 0x100000000ull /* Of RECEIVED: the worm has ended. */
#define CHASQUI_NP_FAULT 0x78ull /* Stored: the process whose number this is has done what it may not, one of FAULT_. */
#define CHASQUI_NP_FAULT_COUNT 0x100000000ull /* Of FAULT: its doorbell counts more slots than its window has. */
#define CHASQUI_NP_FAULT_SLOT 0x200000000ull /* Of FAULT: a slot that it has counted has no message. */
#define CHASQUI_NP_FAULT_CREDIT 0x300000000ull /* Of FAULT: it sends more messages than it has credit for. */
#define CHASQUI_NP_FAULT_GIVEN 0x400000000ull /* Of FAULT: it gives credit back for messages that have not come, or too little of it alone. */
#define CHASQUI_NP_FAULT_REQUEST 0x500000000ull /* Of FAULT: a request names what is not the process's, or more than it may have. */
#define CHASQUI_NP_FAULT_ENTRY 0x600000000ull /* Of FAULT: an entry of the page table that a request leads to is not the process's, or not to be written. */
#define CHASQUI_NP_TAG_KEY 0x80ull /* Stored, of the list of tags: what is matched (chasqui_match_key). */
#define CHASQUI_NP_TAG_ADDRESS 0x88ull /* Stored: virtual address of the next entry's buffer. */
#define CHASQUI_NP_TAG_ROOM 0x90ull /* Stored: length of the next entry's buffer [bytes], and in the high half the unexpected messages that the process had */
#define CHASQUI_NP_TAG_APPEND 0x98ull /* Stored: appends an entry, if the process had dealt with all unexpected messages: its process, and in the high half its */
#define CHASQUI_NP_TAG_REMOVE 0xa0ull /* Stored: removes an entry: its process, and in the high half its number. */
#define CHASQUI_NP_TAG_LOOK 0xa8ull /* Stored: looks for the oldest entry of this process that matches, and takes it out. */
#define CHASQUI_NP_TAG_RESULT 0xb0ull /* Loaded: what came of the oldest look or removal, TAG_ bits and shifts; 0: none is over that was not loaded. */
#define CHASQUI_NP_TAG_ENTRY 0xffffull /* Of TAG_RESULT: number of the entry, and 1; 0: there was none. */
#define CHASQUI_NP_TAG_PROCESS_SHIFT 0x10ull /* Of TAG_RESULT: the process's place, 8 bits. */
#define CHASQUI_NP_TAG_REMOVED 0x1000000ull /* Of TAG_RESULT: it was a removal. */
#define CHASQUI_NP_TAG_IS_THERE 0x2000000ull /* Of TAG_RESULT: always. */
#define CHASQUI_NP_TAG_REQUESTS_SHIFT 0x20ull /* Of TAG_RESULT: place of the count of the process's entries that had been appended, or not, and removed before, 32 bits. */
#define CHASQUI_NP_TAG_DELIVER 0xb8ull /* Stored: starts the host's DMA of so many bytes at HOST_LOCAL to the buffer of the entry that TAG_RESULT named last, or of */
#define CHASQUI_NP_INTERRUPT 0xc0ull /* Stored: interrupts the host for the process whose number this is. */
#define CHASQUI_NP_SETTING_SRAM 0x100ull /* Loaded: bytes of the card's memory. */
#define CHASQUI_NP_SETTING_NODE 0x108ull /* Loaded: this node. */
#define CHASQUI_NP_SETTING_PROCESSES 0x110ull /* Loaded: processes of this node. */
#define CHASQUI_NP_SETTING_WINDOWS 0x118ull /* Loaded: address in the card's memory of the first process's window; the others' follow. */
#define CHASQUI_NP_SETTING_WINDOW_BYTES 0x120ull /* Loaded: bytes of a window. */
#define CHASQUI_NP_SETTING_HOST_MEMORY 0x128ull /* Loaded: physical address of the first process's memory on the host; the others' follows. */
#define CHASQUI_NP_SETTING_HOST_MEMORY_BYTES 0x130ull /* Loaded: bytes of that of each process. */
#define CHASQUI_NP_SETTING_NODES 0x138ull /* Loaded: nodes. */
#define CHASQUI_NP_SETTING_PER_NODE 0x140ull /* Loaded: processes of a node, of all jobs, at most. */
#define CHASQUI_NP_SETTING_CREDIT 0x148ull /* Loaded: messages that a process may have under way to another (SETTING_CREDIT of the host's software). */
#define CHASQUI_NP_SETTING_RANKS 0x150ull /* Loaded: ranks of the job, of several of the largest. */
#define CHASQUI_NP_SETTING_BY_NODE 0x158ull /* Loaded: 1, if its ranks are dealt out to nodes in turn. */
#define CHASQUI_NP_SETTING_EAGER 0x160ull /* Loaded: longest message that is sent without credit [bytes]. */
#define CHASQUI_NP_SETTING_SLOTS 0x168ull /* Loaded: slots of a channel's message table. */
#define CHASQUI_NP_SETTING_BUFFER 0x170ull /* Loaded: longest receive buffer of a channel [bytes]. */
#define CHASQUI_NP_SETTING_QUEUE 0x178ull /* Loaded: headers that may wait for the wire. */
#define CHASQUI_NP_SETTING_PAGE_TABLE 0x180ull /* Loaded: physical address of the node's page table. */
#define CHASQUI_NP_SETTING_ENTRIES 0x188ull /* Loaded: entries of it that each process has. */
#define CHASQUI_NP_SETTING_ENTRY_PAGES 0x190ull /* Loaded: pages that an entry names. */
#define CHASQUI_NP_SETTING_PINNED 0x198ull /* Loaded: address in the card's memory of what lies in one page: a word for each name of each process. */
#define CHASQUI_NP_SETTING_TLB 0x1a0ull /* Loaded: slots of the TLB, a power of two; 0: there is none. */
#define CHASQUI_NP_SETTING_STAMPS 0x1a8ull /* Loaded: address in the card's memory of its slots' stamps: a word each. */
#define CHASQUI_NP_SETTING_TAGS 0x1b0ull /* Loaded: entries of the list of tags that each process may have. */
#define CHASQUI_NP_SETTING_CHANNELS 0x1b8ull /* Loaded: send rings of the card, and message tables with receive buffers. */
#define CHASQUI_NP_SETTING_INTERRUPT 0x1c0ull /* Loaded: address in the card's memory of the interrupt's words (INTERRUPT_ of the host's software). */
#define CHASQUI_NP_SETTING_PER_JOB 0x1c8ull /* Loaded: processes of a node of one job, at most. */
#define CHASQUI_NP_SETTING_JOB_RANKS 0x1d0ull /* Loaded: ranks of the first job; those of the others, up to JOBS_MAX, follow. */
#define CHASQUI_NP_JOBS_MAX 0x8ull /* Jobs, at most. */
#define CHASQUI_NP_COUNT_FOUND 0x10ull /* Of the mark PROTOCOL, behind kinds of collectives: a request's pages were pinned already. */
#define CHASQUI_NP_COUNT_TLB_HIT 0x11ull /* ...: the TLB has an entry that is wanted. */
#define CHASQUI_NP_COUNT_TLB_MISS 0x12ull /* ...: it has not. */
#define CHASQUI_NP_COUNT_CHANNEL_HIT 0x13ull /* ...: of a cache of channels, a message goes on credit. */
#define CHASQUI_NP_COUNT_CHANNEL_MISS 0x14ull /* ...: a message waits, as no table is leased to its channel. */
#define CHASQUI_NP_COUNT_CHANNEL_LEASE 0x15ull /* ...: a table is leased to a channel. */
#define CHASQUI_NP_COUNT_CHANNEL_RECALL 0x16ull /* ...: one is taken back. */
#define CHASQUI_NP_COUNT_RING_AWAITED 0x17ull /* ...: a message waits for a send ring. */
#define CHASQUI_NP_PROCESSES_MAX 0x40ull /* Processes of a node, at most: a bit each of DOORBELLS. */
#define CHASQUI_NP_PEER_BYTES 0x10ull /* Bytes that the thin firmware needs behind its image for each process of the node and each of the machine. */
#define CHASQUI_NP_LONG_BYTES 0xa00ull /* Bytes that it needs besides for each process of the node: of its long messages. */
#define CHASQUI_NP_PROCESS_BYTES 0x7000ull /* Bytes that the firmware that matches needs behind its image for each process of the node, at most. */
#define CHASQUI_NP_CHANNEL_BYTES 0x1260ull /* Bytes that it needs besides for each channel: of its receive buffer, and what goes with it (specs/mpinp.md: 4.5 KB). */
#define CHASQUI_NP_RECORD_BYTES 0x190ull /* Bytes that the same with a cache of channels needs for each channel, beside CHANNEL_BYTES for each of its tables. */
#define CHASQUI_NP_OFF_CHANNEL 0x22ull /* What it may have to put off while the queue to the wire is full (README.md): for each channel two for each entry of both */
#define CHASQUI_NP_OFF_RECORD 0x6ull /* The same, with a cache of channels, for each channel, where OFF_CHANNEL is for each ring and table: of an eager message */
#define CHASQUI_NP_OFF_PROCESS 0x168ull /* The same, for each process of the node: of each receive, ACK and two grants. */
#define CHASQUI_NP_OFF_RANK 0x78ull /* The same, for each rank: of each of its receives, the answer to SEND_REQ. */
#define CHASQUI_NP_OFF_BYTES 0x6ull /* Bytes of each. */
#define CHASQUI_NP_TLB_BYTES 0x28ull /* Bytes that it needs for each slot of the TLB. */

#endif
