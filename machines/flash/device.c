/* The MPI device of flash: there is nothing behind it. All ranks share memory, so each message goes by the channel in front of
 * the device (guest/local), by loads and stores. */
#include "mpi/device.h"
#include "registers.h"

/* As guest/local has it when a cell is all that a ring has. */
enum { EAGER_MAX = 1024 };

extern struct mpi_device mpi_device_flash;

static bool flash_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    (void)ni;
    (void)ni_fd;
    mpi_device_flash.eager_bytes_max = EAGER_MAX;
    return true;
}

static void flash_close(void) {}

/* Never called: no rank is elsewhere. */
static bool flash_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    (void)envelope;
    (void)payload;
    (void)bytes;
    return false;
}

static void flash_poll(void) {}

struct mpi_device mpi_device_flash = {
    .name = "flash",
    .id = CHASQUI_FLASH_DEVICE,
    .interface = CHASQUI_FLASH_INTERFACE,
    .open = flash_open,
    .close = flash_close,
    .send = flash_send,
    .poll = flash_poll,
};
