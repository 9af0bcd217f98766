/* Block transfers of the machine `flash`: the directory controllers move data from the main memory of a node to that of
 * another, line by line, while the processors go on.
 *
 *     if (!chasqui_transfer_open()) ...                                     once a process, before the others
 *     chasqui_transfer_send(to, from, bytes, &flag);                        `from` is in memory of this processor's node
 *     chasqui_transfer_wait(&flag, 1);                                      at whoever needs the data
 *
 * Addresses are the process's. The initiator's controller checks each page: it must be there for the process to read or
 * write; the source of what is sent, the destination of what is received must be in memory of the initiator's node, and
 * the other end, all of it, in that of one other node. Else, and where a third node has a copy of a line that would be
 * out of date (unless flash.transfer.coherent), the process ends with a message that names the address.
 *
 * What the initiator's processor has stored before is sent. The flag is a word of 64 bits, aligned to 8, anywhere in memory
 * that the process may write; caches see it change. Whoever sees it set, and has executed chasqui_transfer_wait() or an
 * acquiring fence, sees all data. Until then what is in the destination, and the source, must be left alone. Each thread
 * tells its own processor's controller; transfers of one processor go on side by side, and end in any order. */
#ifndef CHASQUI_BLOCK_TRANSFER_H
#define CHASQUI_BLOCK_TRANSFER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../machines/flash/commands.h"
#include "chasqui/abi.h"

/* Who tells its controller: of `struct chasqui_transfer`, `initiator`. */
enum chasqui_transfer_initiator {
    CHASQUI_TRANSFER_BY_SENDER = 0,
    CHASQUI_TRANSFER_BY_RECEIVER = 1,
};

/* Nodes that get a copy, of the mesh's row or column of the source; its own flag then says that all has left it: of `struct chasqui_transfer`, `broadcast`. */
enum chasqui_transfer_broadcast {
    CHASQUI_TRANSFER_TO_ONE = 0,
    CHASQUI_TRANSFER_TO_ROW = 1,
    CHASQUI_TRANSFER_TO_COLUMN = 2,
    CHASQUI_TRANSFER_TO_BOTH = 3,
};

/* A transfer. What is left 0 means: one piece, sent to one node, no flag. */
struct chasqui_transfer {
    const void *source;
    void *destination; /* Of a broadcast: none, those who join say where. */
    size_t bytes; /* At each stride point; of a transpose: of an element (1, 2, 4, 8, 16 or 32). */
    size_t count; /* Stride points, 0: one. Of a transpose: rows of the source. */
    size_t source_stride; /* From a stride point, or row, to the next [bytes]. */
    size_t destination_stride; /* The same at the destination. */
    size_t columns; /* Above 0: element (r, c) of the source goes to (c, r) of the destination. */
    volatile uint64_t *flag; /* Set when all data are at the destination. */
    uint64_t flag_value; /* To this, 0: to 1. */
    bool flag_adds; /* It is added instead. */
    enum chasqui_transfer_initiator initiator;
    enum chasqui_transfer_broadcast broadcast; /* To nodes that have joined `group`. */
    unsigned group;
};

/* Maps the registers. False: the machine has none. A file of several that include this opens for itself. */
static inline bool chasqui_transfer_open(void)
{
    if (chasqui_transfer_registers)
        return true;
    int file = open("/dev/ni0", O_RDWR);
    if (file < 0)
        return false;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    const struct chasqui_ni_identification *ni = page;
    /* Devices of this machine have the last numbers; the interface is this machine's alone. */
    if (page != MAP_FAILED && ni->magic == CHASQUI_NI_MAGIC && ni->version == CHASQUI_ABI_VERSION &&
        ni->device >= CHASQUI_FLASH_DEVICE && ni->interface == CHASQUI_FLASH_INTERFACE) {
        void *registers = mmap(NULL, ni->regions[CHASQUI_FLASH_REGION_REGISTERS].bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED, file, (CHASQUI_FLASH_REGION_REGISTERS + 1) * CHASQUI_NI_REGION_STRIDE);
        if (registers != MAP_FAILED)
            chasqui_transfer_registers = registers;
    }
    if (page != MAP_FAILED)
        munmap(page, 4096);
    close(file);
    return chasqui_transfer_registers != NULL;
}

/* Registers that are at first as they have to be are not stored to. */
static inline void chasqui_transfer_describe(const struct chasqui_transfer *transfer)
{
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_DESTINATION, (uintptr_t)transfer->destination);
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_BYTES, transfer->bytes);
    if (transfer->count > 1 || transfer->columns) {
        chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_COUNT, transfer->count);
        chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_SOURCE_STRIDE, transfer->source_stride);
        chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_DESTINATION_STRIDE, transfer->destination_stride);
    }
    if (transfer->columns)
        chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_COLUMNS, transfer->columns);
    if (transfer->flag)
        chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_FLAG, (uintptr_t)transfer->flag);
    if (transfer->flag_value)
        chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_FLAG_VALUE, transfer->flag_value);
}

/* Tells the controller of this processor to carry out a transfer. Returns at once. */
static inline void chasqui_transfer_start(const struct chasqui_transfer *transfer)
{
    bool receives = transfer->initiator == CHASQUI_TRANSFER_BY_RECEIVER;
    uint64_t command = receives ? CHASQUI_FLASH_TRANSFER_RECEIVE : CHASQUI_FLASH_TRANSFER_SEND;
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_SOURCE, (uintptr_t)transfer->source);
    chasqui_transfer_describe(transfer);
    if (transfer->broadcast != CHASQUI_TRANSFER_TO_ONE)
        chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_GROUP, transfer->group);
    if (transfer->columns)
        command |= CHASQUI_FLASH_TRANSFER_TRANSPOSE;
    if (transfer->flag_adds)
        command |= CHASQUI_FLASH_TRANSFER_ADD;
    if (transfer->broadcast & CHASQUI_TRANSFER_TO_ROW)
        command |= CHASQUI_FLASH_TRANSFER_ROW;
    if (transfer->broadcast & CHASQUI_TRANSFER_TO_COLUMN)
        command |= CHASQUI_FLASH_TRANSFER_COLUMN;
    chasqui_transfer_command(command);
}

/* Tells the controller of this processor that what comes of the next broadcast `transfer->group` goes to
 * `transfer->destination`, in pieces as that says, that `transfer->flag` is set then, and that all is forwarded to the next
 * node of the row or column. Before the source starts it, and once for each start: the processors agree on that. A number
 * that is started again before a node has all of the start before, or has joined again, is a fault of the source. */
static inline void chasqui_transfer_join(const struct chasqui_transfer *transfer)
{
    chasqui_transfer_describe(transfer);
    chasqui_transfer_set(CHASQUI_FLASH_TRANSFER_GROUP, transfer->group);
    chasqui_transfer_command(CHASQUI_FLASH_TRANSFER_JOIN | (transfer->flag_adds ? CHASQUI_FLASH_TRANSFER_ADD : 0));
}

/* `bytes` from `source`, at this node, to `destination`, at another; then `*flag` is 1. */
static inline void chasqui_transfer_send(void *destination, const void *source, size_t bytes, volatile uint64_t *flag)
{
    chasqui_transfer_start(
        &(struct chasqui_transfer){.source = source, .destination = destination, .bytes = bytes, .flag = flag});
}

/* `bytes` from `source`, at another node, to `destination`, at this one; then `*flag` is 1. */
static inline void chasqui_transfer_receive(void *destination, const void *source, size_t bytes,
                                            volatile uint64_t *flag)
{
    chasqui_transfer_start(&(struct chasqui_transfer){.source = source,
                                                      .destination = destination,
                                                      .bytes = bytes,
                                                      .flag = flag,
                                                      .initiator = CHASQUI_TRANSFER_BY_RECEIVER});
}

/* Waits until it has. */
static inline void chasqui_transfer_wait(const volatile uint64_t *flag, uint64_t value)
{
    while (!chasqui_transfer_done(flag, value))
        __asm__ volatile(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory"); /* pause */
}

#endif
