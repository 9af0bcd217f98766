/* The MPI device over the firmware that matches, where hosts wait by interrupt (mpinp/interrupt): that of mcp/, with a process
 * that waits asleep once it has polled for a while. */
/* Behind all other instructions and constants: link.ld has room for .text and .rodata alone, and nothing that other machines execute is to move. */
#pragma clang section text = ".wake_text" rodata = ".wake_rodata"
#include "../mcp/host.h"
#include "mpi/transport/progress.h"

extern struct mpi_device mpi_device_mcp;

static struct transport transport;

static void wake_init(void)
{
    mpi_device_mcp.transport->init();
    chq_yield_after((uint32_t)chq.ni->settings[CHASQUI_MPINP_SETTING_POLLS]);
}

static bool wake_open(const struct chasqui_ni_identification *ni, int ni_fd);

static const char name[] = "mcp, by interrupt";

struct mpi_device mpi_device_wake = {
    .name = name,
    .id = CHASQUI_MPINP_WAKE_DEVICE,
    .interface = CHASQUI_MPINP_INTERFACE,
    .open = wake_open,
    .wait = mcp_card_wait,
    .transport = &transport,
};

static bool wake_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    if (!mpi_device_mcp.open(ni, ni_fd))
        return false;
    transport = *mpi_device_mcp.transport;
    transport.init = wake_init;
    mpi_device_wake.close = mpi_device_mcp.close;
    mpi_device_wake.collective = mpi_device_mcp.collective;
    mpi_device_wake.polls = ni->settings[CHASQUI_MPINP_SETTING_POLLS] > 0;
    return true;
}
