/* The MPI device of flash/block-transfer: what waits for its receive is moved by the controllers, from the sender's buffer to the
 * receiver's; all else goes by the channel in front of the device (guest/local), by loads and stores.
 *
 * A receiver gives a right to its buffer (TRANSFER_GRANT), and its answer to the sender names right and address. The sender has
 * its controller try a transfer there. Where that can't be, the data go by the window: the cells that ranks share, as on the other
 * device. That is so if a page at either end was never touched, if an end is not in memory of one node, that of the thread
 * which calls, or if the receiver's controller has no room for another right. When the flag says that memory has all, the
 * sender tells the receiver by a cell.
 *
 * The channel would carry puts itself. It has its place before this device is first polled, and what names a buffer or moves
 * data comes after a poll, so then these three are put in the place of the channel's.
 *
 * Rule: a put that has begun by the window ends there. */
#include "../commands.h"
#include "mpi/device.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/process.h"

enum { EAGER_MAX = 1024 }; /* As on the other device. */
enum { SEPARATE = 128 }; /* At least a line of any cache [bytes]. */
enum { MOVING_MAX = 16 }; /* Transfers under way. */
enum { BY_TRANSFER = 1 }; /* In the record; Machine::mechanisms has the names. */
enum { ADDRESS_BITS = 39 }; /* Of what a receiver answers; above them the right's number. */

/* A transfer. All of it is on one line where lines have 64 bytes: a process that waits polls those under way, and what it misses goes
 * before their data. */
struct moving {
    _Alignas(SEPARATE) volatile uint64_t flag;
    struct moving *next; /* Of those under way, or free. */
    struct chasqui_envelope fin; /* What is delivered behind it. */
    bool is_told; /* The library knows that the buffer may be used again. */
};

/* Memory that others have a right to. */
struct exposure {
    struct exposure *next;
    uint64_t right;
    void *landing;
    size_t bytes;
};

/* A put that goes by the window. */
struct windowed {
    struct windowed *next;
    const struct chasqui_envelope *fin;
};

extern struct mpi_device mpi_device_transfer;

static struct moving *under_way, *unused;
static struct exposure *exposures;
static struct windowed *windowed;
static bool (*put_by_window)(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes);
static bool is_in_place;

static bool transfer_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    mpi_device_transfer.eager_bytes_max = EAGER_MAX;
    chasqui_transfer_registers =
        chq_platform_map(ni_fd, (CHASQUI_FLASH_REGION_REGISTERS + 1) * CHASQUI_NI_REGION_STRIDE,
                         ni->regions[CHASQUI_FLASH_REGION_REGISTERS].bytes);
    /* Where this process's thread is. */
    uintptr_t place = (uintptr_t)chq_malloc((MOVING_MAX + 1) * sizeof(struct moving));
    struct moving *all = (struct moving *)((place + SEPARATE - 1) / SEPARATE * SEPARATE);
    for (struct moving *each = all; each < all + MOVING_MAX; each++) {
        each->next = unused;
        unused = each;
    }
    return chasqui_transfer_registers != NULL;
}

static void transfer_close(void) {}

/* Never called: no rank is elsewhere. */
static bool transfer_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    (void)envelope, (void)payload, (void)bytes;
    return false;
}

/* Never called: the channel's, or ours in its place, is. That it is there has the channel's be there. */
static bool transfer_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    (void)fin, (void)from, (void)to, (void)bytes;
    return false;
}

static uint64_t expose(void *landing, size_t bytes)
{
    uint64_t right = chasqui_transfer_grant(landing, bytes);
    if (!right)
        return (uintptr_t)landing;
    struct exposure *exposure = chq_malloc(sizeof *exposure);
    *exposure = (struct exposure){exposures, right, landing, bytes};
    exposures = exposure;
    return right << ADDRESS_BITS | (uintptr_t)landing;
}

static void conceal(void *landing, size_t bytes)
{
    struct exposure **link = &exposures, *exposure;
    while ((exposure = *link) && (exposure->landing != landing || exposure->bytes != bytes))
        link = &exposure->next;
    if (!exposure)
        return;
    *link = exposure->next;
    chasqui_transfer_revoke(exposure->right);
    free(exposure);
}

/* The link to what names `fin` among puts by the window; to null: there is none. */
static struct windowed **find_windowed(const struct chasqui_envelope *fin)
{
    struct windowed **link = &windowed;
    while (*link && (*link)->fin != fin)
        link = &(*link)->next;
    return link;
}

/* As much by the window as there is room for. */
static bool put_windowed(const struct chasqui_envelope *fin, const void *from, uint64_t address, size_t bytes)
{
    struct windowed **link = find_windowed(fin), *put = *link;
    if (!put) {
        put = chq_malloc(sizeof *put);
        *put = (struct windowed){NULL, fin};
        *link = put;
    }
    if (!put_by_window(fin, from, address, bytes))
        return false;
    /* What it called may have added others. */
    link = find_windowed(fin);
    *link = put->next;
    free(put);
    return true;
}

static bool put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    uint64_t right = to >> ADDRESS_BITS, address = to & ((1ull << ADDRESS_BITS) - 1);
    if (!right || *find_windowed(fin))
        return put_windowed(fin, from, address, bytes);
    struct moving *transfer = unused;
    if (!transfer)
        return false;
    transfer->flag = 0;
    if (!chasqui_transfer_try(right, (void *)(uintptr_t)address, from, bytes, &transfer->flag))
        return put_windowed(fin, from, address, bytes);
    transfer->fin = *fin;
    transfer->is_told = false;
    unused = transfer->next;
    transfer->next = under_way;
    under_way = transfer;
    return true;
}

/* Where it has come to its end the library is told, and the receiver, if there is room. */
static void look_at(struct moving *transfer)
{
    if (!chasqui_transfer_done(&transfer->flag, 1))
        return;
    if (!transfer->is_told) {
        transfer->is_told = true;
        mpi_put_done(transfer->fin.sender);
    }
    if (!chq.send(&transfer->fin, NULL, 0))
        return;
    CHQ_MARK_NAME(CHASQUI_MARK_PROTOCOL, (uint64_t)BY_TRANSFER);
    struct moving **link = &under_way;
    while (*link != transfer)
        link = &(*link)->next;
    *link = transfer->next;
    transfer->next = unused;
    unused = transfer;
}

static void transfer_poll(void)
{
    if (!is_in_place) {
        is_in_place = true;
        if (chq.device != &mpi_device_transfer) {
            put_by_window = chq.device->put;
            chq.device->put = put;
            chq.device->expose = expose;
            chq.device->conceal = conceal;
        }
    }
    for (struct moving *each = under_way, *next; each; each = next) {
        next = each->next;
        look_at(each);
    }
}

struct mpi_device mpi_device_transfer = {
    .name = "flash, block transfer",
    .id = CHASQUI_FLASH_TRANSFER_DEVICE,
    .interface = CHASQUI_FLASH_INTERFACE,
    .open = transfer_open,
    .close = transfer_close,
    .send = transfer_send,
    .poll = transfer_poll,
    .put = transfer_put,
};
