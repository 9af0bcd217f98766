/* Packets from one process of the node to another: they never leave the kernel. */
#include "net.h"

#if HARTS > 1
static struct packet *looping, **looping_end = &looping;

/* Not at once: who sends is in the middle of it. */
void loopback(struct packet *packet, bool is_drivers)
{
    packet->is_drivers = is_drivers;
    packet->next = 0;
    *looping_end = packet;
    looping_end = &packet->next;
}

void loopback_run(void)
{
    while (looping) {
        struct packet *packet = looping;
        looping = packet->next;
        if (!looping)
            looping_end = &looping;
        if (packet->is_drivers)
            driver->receive(packet);
        else
            ip_receive(packet);
    }
}
#endif
