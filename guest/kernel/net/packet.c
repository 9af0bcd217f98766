/* Packets and the Internet checksum. */
#include "net.h"

_Static_assert(sizeof(struct packet) == 2048, "a block of the kernel's memory");

struct packet *packet_new(uint32_t bytes)
{
    check(bytes <= sizeof((struct packet *)0)->room - HEADROOM, "a packet of more than a block");
    struct packet *packet = memory_try(sizeof *packet);
    if (!packet)
        return 0;
    packet->next = 0;
    packet->data = packet->room + HEADROOM;
    packet->bytes = bytes;
    return packet;
}

void packet_free(struct packet *packet) { memory_give(packet, sizeof *packet); }

void *packet_push(struct packet *packet, uint32_t bytes)
{
    packet->data -= bytes;
    packet->bytes += bytes;
    return packet->data;
}

void packet_pull(struct packet *packet, uint32_t bytes)
{
    packet->data += bytes;
    packet->bytes -= bytes;
}

/* Adds 16-bit words, big-endian, to a one's complement sum (RFC 1071): in any order of bytes, since only the last fold
 * matters (section 2 B), so by 32 bits at a time. `data` is at a multiple of 4. */
uint32_t sum_of(const void *data, uint32_t bytes, uint32_t sum)
{
    const uint32_t *word = data;
    uint64_t wide = sum;
    for (; bytes >= 4; bytes -= 4)
        wide += *word++;
    const uint8_t *rest = (const uint8_t *)word;
    if (bytes & 2)
        wide += *(const uint16_t *)rest;
    if (bytes & 1)
        wide += rest[bytes & 2];
    wide = (wide & 0xffffffff) + (wide >> 32);
    return (wide & 0xffffffff) + (wide >> 32);
}

uint16_t checksum_of(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum;
}
