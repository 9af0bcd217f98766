/* The driver of policy tcp: of the controller's frames all are IP's. */
#include "ethernet.h"

static bool start(void);

static struct driver tcp = {.start = start, .interrupt = ethernet_interrupt, .transmit = ethernet_transmit};
DRIVER driver_tcp = &tcp;

static bool start(void)
{
    if (boot.ni.device != CHASQUI_ETHERNET_DEVICE)
        return false;
    tcp.mtu = ethernet_begin(0);
    return true;
}
