/* The MPI device of the reference machine: the NI executes commands at once, so this is as short as a
 * device can be. Its instructions take no simulated time. */
#include "mpi/device.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/platform.h"
#include "registers.h"

#define REGISTERS_OFFSET CHASQUI_NI_REGION_STRIDE /* region 0 */
#define PAGE 4096u

static volatile uint64_t *registers;
static struct chasqui_loggp_arrival arrival;

#define REGISTER(name) registers[CHASQUI_LOGGP_##name / sizeof(uint64_t)]

/* The NI reads and writes by the page tables, which hold only pages that were touched. */
static void touch_for_read(const void *address, size_t bytes)
{
    const volatile char *p = address;
    for (size_t i = 0; i < bytes; i += PAGE)
        (void)p[i];
    if (bytes)
        (void)p[bytes - 1];
}

static void touch_for_write(void *address, size_t bytes)
{
    volatile char *p = address;
    for (size_t i = 0; i < bytes; i += PAGE)
        p[i] = p[i];
    if (bytes)
        p[bytes - 1] = p[bytes - 1];
}

static bool loggp_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    registers = chq_platform_map(ni_fd, REGISTERS_OFFSET, ni->regions[0].bytes);
    if (!registers)
        return false;
    touch_for_write(&arrival, sizeof arrival);
    REGISTER(DESCRIBE) = (uint64_t)&arrival;
    return true;
}

static void loggp_close(void) {}

static bool loggp_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct chasqui_loggp_send send = {*envelope, (uint64_t)payload, bytes};
    touch_for_read(payload, bytes);
    __asm__ volatile("" ::"r"(&send) : "memory"); /* the NI reads it */
    MARK_READY(envelope);
    REGISTER(SEND) = (uint64_t)&send;
    return true;
}

/* One message a look: a wait is over when its message is here, not when a sender pauses that is as fast as the receiver. */
static void loggp_poll(void)
{
    if (!REGISTER(ARRIVED))
        return;
    __asm__ volatile("" ::: "memory"); /* the NI has written `arrival` */
    size_t bytes = arrival.payload_bytes;
    mpi_arrived(&arrival.envelope, bytes <= CHASQUI_LOGGP_SHORT_BYTES ? arrival.payload : 0, bytes);
    REGISTER(RELEASE) = 1;
}

static void loggp_take(void *to, size_t bytes)
{
    touch_for_write(to, bytes);
    REGISTER(TAKE_BYTES) = bytes;
    REGISTER(TAKE) = (uint64_t)to;
    __asm__ volatile("" ::: "memory");
}

struct mpi_device mpi_device_loggp = {
    .name = "loggp",
    .id = CHASQUI_LOGGP_DEVICE,
    .interface = CHASQUI_LOGGP_INTERFACE,
    .open = loggp_open,
    .close = loggp_close,
    .eager_bytes_max = SIZE_MAX,
    .send = loggp_send,
    .poll = loggp_poll,
    .take = loggp_take,
};
