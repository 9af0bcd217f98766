/* The Ethernet controller: frames of IP's, and of another protocol, for drivers that have it under them (tcp.c, mvia.c). Their
 * packets lie in blocks of the kernel's memory, which the controller reads and writes where they are. */
#ifndef ETHERNET_H
#define ETHERNET_H

#include "net/net.h"

#include "tcp/ethernet.h"

/* Takes a packet of VIA's that has come from a node. */
typedef void ethernet_handler(struct packet *packet, uint32_t node);

uint32_t ethernet_begin(ethernet_handler *other); /* 0: there is none; returns the longest packet [bytes] */
/* Frees the packet when it has left. */
void ethernet_send(struct packet *packet, uint32_t node, uint16_t type);

/* Of the driver. */
void ethernet_interrupt(void);
void ethernet_transmit(struct packet *packet, uint32_t rank); /* IP's */

#endif
