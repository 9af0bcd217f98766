/* Generated from machines/cell/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_CELL_REGISTERS_H
#define CHASQUI_CELL_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_CELL_INTERFACE 0x9effd54cu /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_CELL_DEVICE 0xbull /* Number of the device, by which the kernel's driver knows it. */
#define CHASQUI_CELL_WAYS_DEVICE 0xdull /* Number of the device to the MPI library, where messages may go other ways than by slot and put (ways/device.c). */
#define CHASQUI_CELL_SETTING_SPES 0x0ull /* Setting: SPEs. */
#define CHASQUI_CELL_SETTING_STORE_BYTES 0x1ull /* Setting: bytes of a local store. */
#define CHASQUI_CELL_SETTING_STRIDE 0x2ull /* Setting: bytes from one SPE to the next, seen from the device's begin. Its local store comes first, then its areas. */
#define CHASQUI_CELL_SETTING_PROBLEM 0x3ull /* Setting: offset of problem state there. */
#define CHASQUI_CELL_SETTING_PRIVILEGED 0x4ull /* Setting: offset of the second privileged area. */
#define CHASQUI_CELL_SETTING_HYPERVISOR 0x5ull /* Setting: offset of the first privileged area. */
#define CHASQUI_CELL_SETTING_SOFT_TLB 0x6ull /* Setting: 1: the kernel gives the MFCs all translations. */
#define CHASQUI_CELL_SETTING_MAILBOX 0x7ull /* Setting: 1: the shortest messages go by mailbox. */
#define CHASQUI_CELL_SETTING_LONG 0x8ull /* Setting: how longer messages go, LONG_. */
#define CHASQUI_CELL_LONG_PUT 0x0ull /* Of SETTING_LONG: the sender puts them to where the receive wants them. */
#define CHASQUI_CELL_LONG_GET 0x1ull /* Of SETTING_LONG: the receiver gets them. */
#define CHASQUI_CELL_LONG_MEMORY 0x2ull /* Of SETTING_LONG: through buffers in main memory, if they fit. The region behind those of the SPEs has the buffers, by sender. */
#define CHASQUI_CELL_BUFFERS 0x4ull /* Buffers in main memory that each sender has. */
#define CHASQUI_CELL_BUFFER_BYTES 0x4000ull /* Longest message that goes through one [bytes]. */
#define CHASQUI_CELL_BUFFER_STRIDE 0x4080ull /* From one buffer to the next [bytes]: a message begins at the place in a quadword at which the sender has it. */
#define CHASQUI_CELL_CHIP 0x10000000ull /* Of the device: registers of the chip's own, for the kernel, of 64 bits. */
#define CHASQUI_CELL_CHIP_REPORT 0x0ull /* Stored: a process ends with what is wrong with this SPE. The process's number is in the upper 32 bits. */
#define CHASQUI_CELL_CHIP_IMAGE 0x8ull /* Stored: virtual address of the image that the next SPE has, for whoever looks at what it does. */
#define CHASQUI_CELL_CHIP_IMAGE_BYTES 0x10ull /* Stored: its length [bytes], and the SPE in the upper 16 bits. */
#define CHASQUI_CELL_CORE 0x1000ull /* Of the chip's own registers: those of SPE 0's processor, for the kernel, of 64 bits; the others' follow. They are accessed while it has stopped (ours: a kernel of the original's has a program of the SPE's put them into the local store). */
#define CHASQUI_CELL_CORE_BYTES 0x1000ull /* From one SPE's to the next [bytes]. */
#define CHASQUI_CELL_CORE_PC 0x0ull /* Its program counter, and x1 to x31 behind it. */
#define CHASQUI_CELL_CORE_CAUSE 0x100ull /* Why its program has stopped, with STOP_TRAP: `scause` of RISC-V. Loaded. */
#define CHASQUI_CELL_CORE_VALUE 0x108ull /* What at: `stval` of RISC-V. Loaded. */
#define CHASQUI_CELL_CORE_PROCESS 0x110ull /* Stored: what is started next is a program of the process of this number, in pages, which stops for each system call, page that is not there, and other exception. All registers are 0, no page is mapped. */
#define CHASQUI_CELL_CORE_PAGE 0x118ull /* Virtual address of the page that is mapped next. Stored. */
#define CHASQUI_CELL_CORE_LOCAL 0x120ull /* Stored: it is the page of the local store at this address, with the rights that the lowest bits say, as an entry of Sv39 has them (2: read, 4: written, 8: executed; none: it is not mapped; 256: it is none of the program's text and data, for the counters). Loaded: 1 if that could be. */
#define CHASQUI_CELL_CORE_LOCAL_OTHER 0x100ull /* Of CORE_LOCAL: the page is heap, stack or the area of messages. */
#define CHASQUI_CELL_CORE_FULL 0x128ull /* Stored: the process ends, since its program does not fit into the local store. There are so many pages: of text (bits 0 to 15), data (16 to 31), heap (32 to 47) and stack (48 to 63). */
#define CHASQUI_CELL_STORE_ADDRESS 0x80000000ull /* Address at which SPE programs find their local store: they are linked there (firmware processors' memory). */
#define CHASQUI_CELL_CHANNELS 0x40000000ull /* Address of an SPE's channels. */
#define CHASQUI_CELL_STOP 0x100000ull /* From the channels: a load at this and 8 times a code stops the program with that code; it goes on behind the load (ours: the original has an instruction). */
#define CHASQUI_CELL_STOP_CODES 0x4000ull /* Codes of a stop. */
#define CHASQUI_CELL_STOP_EXIT 0x2000ull /* Code of a stop: the program is over; its status is in the lowest 8 bits (as libspe has it). */
#define CHASQUI_CELL_STOP_CALL 0x2100ull /* Code of a stop: the PPE is to serve a call, whose block is named by the word at CALL_PLACE. */
#define CHASQUI_CELL_STOP_TRAP 0x2101ull /* Code of a stop: of a program in pages, for what CORE_CAUSE says. */
#define CHASQUI_CELL_START_WORDS 0x10ull /* From a program's entry: three words of 64 bits that it is started with. */
#define CHASQUI_CELL_CALL_PLACE 0x28ull /* From a program's entry: address in the local store of the block of the call that it asks for. */
#define CHASQUI_CELL_CALL_WRITE 0x1ull /* Call: writes bytes to a file. Arguments: file, address in the local store, length. */
#define CHASQUI_CELL_CONTROL_TAKE 0x7101ull /* ioctl: takes an SPE. The result is its number. */
#define CHASQUI_CELL_CONTROL_GIVE 0x7102ull /* ioctl: gives the SPE of this number back. */
#define CHASQUI_CELL_CONTROL_IMAGE 0x7103ull /* ioctl: says which image an SPE has (struct chasqui_cell_image). */
#define CHASQUI_CELL_CONTROL_WAIT 0x7104ull /* ioctl: waits until one of the SPEs of this mask has something to say, and takes it. The result has the mask of those that have stopped, from WAIT_COMMANDS on of those whose MFC has at a command, from WAIT_ERRORS on of those whose program has made an error. */
#define CHASQUI_CELL_CONTROL_READ 0x7105ull /* ioctl: takes a word from the outbound interrupt mailbox of an SPE (struct chasqui_cell_word), and waits until there is one. */
#define CHASQUI_CELL_CONTROL_KEEP 0x7106ull /* ioctl: what an SPE does wrong is the program's affair from now on, not the process's end. */
#define CHASQUI_CELL_CONTROL_PIN 0x7107ull /* ioctl: has pages present (struct chasqui_cell_pages). */
#define CHASQUI_CELL_CONTROL_PURGE 0x7108ull /* ioctl: drops the commands of the SPE of this number and has its MFC go on. */
#define CHASQUI_CELL_CONTROL_SIGNALS 0x7109ull /* ioctl: whether signal registers collect bits (struct chasqui_cell_word: bits 0 and 1). */
#define CHASQUI_CELL_CONTROL_MAILBOX_PUT 0x710aull /* ioctl: puts a word into the inbound mailbox of an SPE (struct chasqui_cell_word), and waits for room. */
#define CHASQUI_CELL_CONTROL_MAILBOX_TAKE 0x710bull /* ioctl: takes a word from the outbound mailbox of an SPE (struct chasqui_cell_word). The result is 1 if there was one. */
#define CHASQUI_CELL_CONTROL_STUCK 0x710cull /* ioctl: whether the MFC of the SPE of this number has stopped at a wrong command. The result is 1 if so. */
#define CHASQUI_CELL_CONTROL_MOVE 0x710dull /* ioctl: the calling thread goes on on an SPE, that of its process's number on the node, and stays there (struct chasqui_cell_move). The result is the SPE. */
#define CHASQUI_CELL_WAIT_COMMANDS 0x8ull /* Of CONTROL_WAIT: the first bit of the mask of SPEs whose MFC has stopped at a command. */
#define CHASQUI_CELL_WAIT_ERRORS 0x10ull /* Of CONTROL_WAIT: the first bit of the mask of SPEs whose program has made an error. */

#define CHASQUI_CELL_CHANNEL_ADDRESS_BYTES 0x8ull /* Bytes from one channel to the next (ours: the original has instructions for them). */
#define CHASQUI_CELL_CHANNEL_COUNTS 0x400ull /* From a channel to its count: how many accesses would not wait. */
#define CHASQUI_CELL_CHANNEL_RD_EVENT_STAT 0x0ull /* Reads the events that have come and are enabled. */
#define CHASQUI_CELL_CHANNEL_WR_EVENT_MASK 0x1ull /* Enables events. */
#define CHASQUI_CELL_CHANNEL_WR_EVENT_ACK 0x2ull /* Clears events. */
#define CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1 0x3ull /* Takes the first signal register. */
#define CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_2 0x4ull /* Takes the second signal register. */
#define CHASQUI_CELL_CHANNEL_WR_DEC 0x7ull /* Sets the decrementer. */
#define CHASQUI_CELL_CHANNEL_RD_DEC 0x8ull /* Reads the decrementer. */
#define CHASQUI_CELL_CHANNEL_RD_EVENT_MASK 0xbull /* Reads which events are enabled. */
#define CHASQUI_CELL_CHANNEL_RD_TAG_MASK 0xcull /* Reads the tag groups that are asked about. */
#define CHASQUI_CELL_CHANNEL_MFC_LSA 0x10ull /* Address in the local store of the next DMA command. */
#define CHASQUI_CELL_CHANNEL_MFC_EAH 0x11ull /* Its effective address, upper half. */
#define CHASQUI_CELL_CHANNEL_MFC_EAL 0x12ull /* Its effective address, lower half, or its list's address in the local store. */
#define CHASQUI_CELL_CHANNEL_MFC_SIZE 0x13ull /* Its length, or its list's [bytes]. */
#define CHASQUI_CELL_CHANNEL_MFC_TAG_ID 0x14ull /* Its tag group. */
#define CHASQUI_CELL_CHANNEL_MFC_CMD 0x15ull /* Enters it: what it is. */
#define CHASQUI_CELL_CHANNEL_WR_TAG_MASK 0x16ull /* Sets the tag groups that are asked about, a bit each. */
#define CHASQUI_CELL_CHANNEL_WR_TAG_UPDATE 0x17ull /* Asks about them. */
#define CHASQUI_CELL_CHANNEL_RD_TAG_STAT 0x18ull /* Takes the answer: those of them of which no command is left. */
#define CHASQUI_CELL_CHANNEL_RD_LIST_STALL_STAT 0x19ull /* Takes the tag groups whose lists wait for the core, a bit each. */
#define CHASQUI_CELL_CHANNEL_WR_LIST_STALL_ACK 0x1aull /* The lists of this tag group go on. */
#define CHASQUI_CELL_CHANNEL_RD_ATOMIC_STAT 0x1bull /* Takes how the last atomic command ended. */
#define CHASQUI_CELL_CHANNEL_WR_OUT_MBOX 0x1cull /* Puts into the outbound mailbox. */
#define CHASQUI_CELL_CHANNEL_RD_IN_MBOX 0x1dull /* Takes from the inbound mailbox. */
#define CHASQUI_CELL_CHANNEL_WR_OUT_INTR_MBOX 0x1eull /* Puts into the outbound interrupt mailbox. */
#define CHASQUI_CELL_CHANNEL_TAG_UPDATE_IMMEDIATE 0x0ull /* Asked of tag groups: whatever it is now. */
#define CHASQUI_CELL_CHANNEL_TAG_UPDATE_ANY 0x1ull /* Asked of tag groups: once any has no command left. */
#define CHASQUI_CELL_CHANNEL_TAG_UPDATE_ALL 0x2ull /* Asked of tag groups: once none has any left. */

#define CHASQUI_CELL_EVENT_TAG_STATUS 0x1ull /* An answer about tag groups has come. */
#define CHASQUI_CELL_EVENT_LIST_STALL 0x2ull /* A list waits for the core. */
#define CHASQUI_CELL_EVENT_QUEUE_AVAILABLE 0x8ull /* The queue of commands has room again. */
#define CHASQUI_CELL_EVENT_IN_MBOX 0x10ull /* The inbound mailbox has something. */
#define CHASQUI_CELL_EVENT_DECREMENTER 0x20ull /* The decrementer has passed zero. */
#define CHASQUI_CELL_EVENT_OUT_INTR_MBOX 0x40ull /* The outbound interrupt mailbox has room. */
#define CHASQUI_CELL_EVENT_OUT_MBOX 0x80ull /* The outbound mailbox has room. */
#define CHASQUI_CELL_EVENT_SIGNAL_2 0x100ull /* The second signal register has something. */
#define CHASQUI_CELL_EVENT_SIGNAL_1 0x200ull /* The first signal register has something. */
#define CHASQUI_CELL_EVENT_RESERVATION_LOST 0x400ull /* A reservation was lost. */

#define CHASQUI_CELL_PROBLEM_BYTES 0x20000ull /* Bytes of the area. */
#define CHASQUI_CELL_PROBLEM_MFC_LSA 0x3004ull /* Address in the local store of the next proxy command. Written. */
#define CHASQUI_CELL_PROBLEM_MFC_EAH 0x3008ull /* Its effective address: in 32 bits the upper half, in 64 all of it. Written. */
#define CHASQUI_CELL_PROBLEM_MFC_EAL 0x300cull /* Its effective address, lower half. Written. */
#define CHASQUI_CELL_PROBLEM_MFC_SIZE_TAG 0x3010ull /* Its length, upper 16 bits, and tag group. Written. */
#define CHASQUI_CELL_PROBLEM_MFC_CLASS_CMD 0x3014ull /* Written: enters it, the lower 16 bits being what it is. Read: what came of the last one. */
#define CHASQUI_CELL_PROBLEM_MFC_QSTATUS 0x3104ull /* Places in the proxy queue; bit 31: it is empty. Read. */
#define CHASQUI_CELL_PROBLEM_PRXY_QUERY_TYPE 0x3204ull /* An interrupt comes once any (1) or none (2) of the tag groups asked about has commands left; 0 then. */
#define CHASQUI_CELL_PROBLEM_PRXY_QUERY_MASK 0x321cull /* Tag groups that are asked about, a bit each. */
#define CHASQUI_CELL_PROBLEM_PRXY_TAG_STATUS 0x322cull /* Those of them of which no command is left. Read. */
#define CHASQUI_CELL_PROBLEM_OUT_MBOX 0x4004ull /* Takes from the outbound mailbox; 0 if there is nothing. Read. */
#define CHASQUI_CELL_PROBLEM_IN_MBOX 0x400cull /* Puts into the inbound mailbox, in place of the newest if there is no room. Written. */
#define CHASQUI_CELL_PROBLEM_MBOX_STAT 0x4014ull /* Entries of the outbound mailbox (bits 0 to 7), room of the inbound (8 to 15), entries of the outbound interrupt mailbox (16 to 23). Read. */
#define CHASQUI_CELL_PROBLEM_RUN_CONTROL 0x401cull /* 1: the core runs; 0: it stops. */
#define CHASQUI_CELL_PROBLEM_STATUS 0x4024ull /* Whether it runs, and why not. Read. */
#define CHASQUI_CELL_PROBLEM_NPC 0x4034ull /* Where its program goes on. */
#define CHASQUI_CELL_PROBLEM_SIG_NOTIFY_1 0x1400cull /* The first signal register. Read without taking it. */
#define CHASQUI_CELL_PROBLEM_SIG_NOTIFY_2 0x1c00cull /* The second signal register. Read without taking it. */
#define CHASQUI_CELL_PROBLEM_CMD_ENTERED 0x0ull /* What came of a proxy command: it is in the queue. */
#define CHASQUI_CELL_PROBLEM_CMD_NO_ROOM 0x2ull /* What came of a proxy command: there was no room. */
#define CHASQUI_CELL_PROBLEM_STATUS_RUNNING 0x1ull /* Status: it runs. */
#define CHASQUI_CELL_PROBLEM_STATUS_STOPPED 0x2ull /* Status: its program has stopped, with a code in the upper 16 bits. */
#define CHASQUI_CELL_PROBLEM_STATUS_HALTED 0x4ull /* Status: its program has halted. */
#define CHASQUI_CELL_PROBLEM_STATUS_WAITING 0x8ull /* Status: its program waits for a channel. */
#define CHASQUI_CELL_PROBLEM_STATUS_INVALID 0x20ull /* Status: its program was not right. */
#define CHASQUI_CELL_PROBLEM_STATUS_CHANNEL 0x40ull /* Status: it accessed a channel that there is not. */

#define CHASQUI_CELL_PRIVILEGED_BYTES 0x20000ull /* Bytes of the area. */
#define CHASQUI_CELL_PRIVILEGED_MFC_CONTROL 0x3000ull /* Commands of the MFC: see the bits. */
#define CHASQUI_CELL_PRIVILEGED_INTR_MBOX 0x4000ull /* Takes from the outbound interrupt mailbox; 0 if there is nothing. Read. */
#define CHASQUI_CELL_PRIVILEGED_CONFIGURATION 0x4078ull /* Bit n: signal register n + 1 collects bits. */
#define CHASQUI_CELL_PRIVILEGED_RESET 0x4080ull /* Written: channels and mailboxes are as at first (ours: a kernel of the original's sets counts and data of channels one by one). */
#define CHASQUI_CELL_PRIVILEGED_CONTROL_EMPTY 0x4000ull /* Control, read: the queues are empty. */
#define CHASQUI_CELL_PRIVILEGED_CONTROL_PURGE 0x8000ull /* Control, written: drops the commands of both queues. */
#define CHASQUI_CELL_PRIVILEGED_CONTROL_RESTART 0x100000000ull /* Control, written: goes on where it has stopped. Read: it has stopped. */

#define CHASQUI_CELL_HYPERVISOR_BYTES 0x2000ull /* Bytes of the area. */
#define CHASQUI_CELL_HYPERVISOR_INT_MASK 0x100ull /* Interrupts that are enabled, of class 0; those of classes 1 and 2 follow. */
#define CHASQUI_CELL_HYPERVISOR_INT_STATUS 0x140ull /* Interrupts that have come, of class 0; those of classes 1 and 2 follow. What is written is cleared. */
#define CHASQUI_CELL_HYPERVISOR_PAGE_TABLE 0x400ull /* Physical address of the root page table (ours). The TLB is emptied. */
#define CHASQUI_CELL_HYPERVISOR_TLB_VPN 0x510ull /* Virtual address of the page of the next translation (ours). */
#define CHASQUI_CELL_HYPERVISOR_TLB_RPN 0x518ull /* The TLB takes the translation to this page-table entry of Sv39 (ours). Written. */
#define CHASQUI_CELL_HYPERVISOR_TLB_FORGET 0x540ull /* The TLB forgets the page at this virtual address (ours). Written. */
#define CHASQUI_CELL_HYPERVISOR_TLB_FLUSH 0x548ull /* The TLB forgets everything. Written. */
#define CHASQUI_CELL_HYPERVISOR_DSISR 0x610ull /* Why the MFC has stopped: a bit each. Read. */
#define CHASQUI_CELL_HYPERVISOR_DAR 0x620ull /* Effective address at which it has stopped. Read. */
#define CHASQUI_CELL_HYPERVISOR_COMMAND_ERROR 0xc00ull /* Number of the reason why it has stopped, from 1 on (ours); bit 31: at a command of the core's. Read. */
#define CHASQUI_CELL_HYPERVISOR_ALIGNMENT 0x1ull /* Class 0: an address is not aligned. */
#define CHASQUI_CELL_HYPERVISOR_INVALID_COMMAND 0x2ull /* Class 0: a command is not right. */
#define CHASQUI_CELL_HYPERVISOR_CORE_ERROR 0x4ull /* Class 0: the core's program has made an error. */
#define CHASQUI_CELL_HYPERVISOR_TRANSLATION 0x1ull /* Class 1: the TLB wants a translation from the kernel. */
#define CHASQUI_CELL_HYPERVISOR_STORAGE 0x2ull /* Class 1: a page is not there, or may not be used so. */
#define CHASQUI_CELL_HYPERVISOR_MAILBOX 0x1ull /* Class 2: something has come into the outbound interrupt mailbox. */
#define CHASQUI_CELL_HYPERVISOR_STOPPED 0x2ull /* Class 2: the core's program has stopped. */
#define CHASQUI_CELL_HYPERVISOR_HALTED 0x4ull /* Class 2: it has halted. */
#define CHASQUI_CELL_HYPERVISOR_TAG_GROUPS 0x8ull /* Class 2: what was asked of proxies' tag groups is so. */
#define CHASQUI_CELL_HYPERVISOR_THRESHOLD 0x10ull /* Class 2: the inbound mailbox has got room. */
#define CHASQUI_CELL_HYPERVISOR_DSISR_NOT_FOUND 0x40000000ull /* Why: there is no translation. */
#define CHASQUI_CELL_HYPERVISOR_DSISR_DENIED 0x8000000ull /* Why: the page does not allow it. */
#define CHASQUI_CELL_HYPERVISOR_DSISR_ATOMIC 0x4000000ull /* ... by an atomic command. */
#define CHASQUI_CELL_HYPERVISOR_DSISR_PUT 0x2000000ull /* ... by what writes memory. */

#define CHASQUI_CELL_MFC_PUT 0x20ull /* Local store to memory. */
#define CHASQUI_CELL_MFC_GET 0x40ull /* Memory to local store. */
#define CHASQUI_CELL_MFC_SNDSIG 0xa0ull /* Four bytes of the local store to a signal register. */
#define CHASQUI_CELL_MFC_BARRIER_FLAG 0x1ull /* With any of the above: nothing of the tag group goes past it, either way. */
#define CHASQUI_CELL_MFC_FENCE_FLAG 0x2ull /* With any of the above: it goes past nothing of the tag group that is before it. */
#define CHASQUI_CELL_MFC_LIST_FLAG 0x4ull /* With PUT and GET: by a list in the local store. */
#define CHASQUI_CELL_MFC_RESULT_FLAG 0x10ull /* With PUT: a hint that the data are a result. It is ignored. */
#define CHASQUI_CELL_MFC_GETLLAR 0xd0ull /* Reads a line and reserves it. */
#define CHASQUI_CELL_MFC_PUTLLC 0xb4ull /* Writes a line if it is still reserved. */
#define CHASQUI_CELL_MFC_PUTLLUC 0xb0ull /* Writes a line. */
#define CHASQUI_CELL_MFC_PUTQLLUC 0xb8ull /* The same in its turn in the queue, behind what is before it of its tag group. */
#define CHASQUI_CELL_MFC_BARRIER 0xc0ull /* Orders all commands of the queue. */
#define CHASQUI_CELL_MFC_EIEIO 0xc8ull /* Orders the commands of the tag group. */
#define CHASQUI_CELL_MFC_SYNC 0xccull /* The same. */

struct chasqui_cell_image {
    uint64_t address; /* Its virtual address. */
    uint64_t bytes; /* Length [bytes]. */
    uint64_t spe; /* The SPE. */
};
_Static_assert(sizeof(struct chasqui_cell_image) == 24, "chasqui_cell_image");
_Static_assert(offsetof(struct chasqui_cell_image, address) == 0, "chasqui_cell_image.address");
_Static_assert(offsetof(struct chasqui_cell_image, bytes) == 8, "chasqui_cell_image.bytes");
_Static_assert(offsetof(struct chasqui_cell_image, spe) == 16, "chasqui_cell_image.spe");

struct chasqui_cell_word {
    uint64_t spe; /* The SPE. */
    uint64_t value; /* The word. */
};
_Static_assert(sizeof(struct chasqui_cell_word) == 16, "chasqui_cell_word");
_Static_assert(offsetof(struct chasqui_cell_word, spe) == 0, "chasqui_cell_word.spe");
_Static_assert(offsetof(struct chasqui_cell_word, value) == 8, "chasqui_cell_word.value");

struct chasqui_cell_pages {
    uint64_t address; /* Virtual address. */
    uint64_t bytes; /* Length [bytes]. */
    uint64_t write; /* 1: they are written, too. */
};
_Static_assert(sizeof(struct chasqui_cell_pages) == 24, "chasqui_cell_pages");
_Static_assert(offsetof(struct chasqui_cell_pages, address) == 0, "chasqui_cell_pages.address");
_Static_assert(offsetof(struct chasqui_cell_pages, bytes) == 8, "chasqui_cell_pages.bytes");
_Static_assert(offsetof(struct chasqui_cell_pages, write) == 16, "chasqui_cell_pages.write");

struct chasqui_cell_call {
    uint32_t number; /* What, CALL_. */
    int32_t result; /* The result. */
    uint32_t arguments[4]; /* The arguments. */
};
_Static_assert(sizeof(struct chasqui_cell_call) == 24, "chasqui_cell_call");
_Static_assert(offsetof(struct chasqui_cell_call, number) == 0, "chasqui_cell_call.number");
_Static_assert(offsetof(struct chasqui_cell_call, result) == 4, "chasqui_cell_call.result");
_Static_assert(offsetof(struct chasqui_cell_call, arguments) == 8, "chasqui_cell_call.arguments");

struct chasqui_cell_move {
    uint64_t pc; /* Where. */
    uint64_t stack_pointer; /* Register `sp`. */
    uint64_t global_pointer; /* Register `gp`. */
    uint64_t thread_pointer; /* Register `tp`. */
    uint64_t area; /* Virtual address of the memory that lies first in the local store, in the order of its pages. It begins with a list of the local store's pages, in its order, which the kernel keeps: their virtual addresses, 64 bits each; 0: it is free. */
    uint64_t area_bytes; /* Length of it [bytes], whole pages. */
    uint64_t data_end; /* End of the program's data, where its heap begins. */
};
_Static_assert(sizeof(struct chasqui_cell_move) == 56, "chasqui_cell_move");
_Static_assert(offsetof(struct chasqui_cell_move, pc) == 0, "chasqui_cell_move.pc");
_Static_assert(offsetof(struct chasqui_cell_move, stack_pointer) == 8, "chasqui_cell_move.stack_pointer");
_Static_assert(offsetof(struct chasqui_cell_move, global_pointer) == 16, "chasqui_cell_move.global_pointer");
_Static_assert(offsetof(struct chasqui_cell_move, thread_pointer) == 24, "chasqui_cell_move.thread_pointer");
_Static_assert(offsetof(struct chasqui_cell_move, area) == 32, "chasqui_cell_move.area");
_Static_assert(offsetof(struct chasqui_cell_move, area_bytes) == 40, "chasqui_cell_move.area_bytes");
_Static_assert(offsetof(struct chasqui_cell_move, data_end) == 48, "chasqui_cell_move.data_end");

#endif
