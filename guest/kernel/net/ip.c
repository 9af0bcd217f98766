/* IP (RFC 791): as much as nodes of one network need. Rank r has the address 10.0.0.1 + r, one of several that its node may
 * have; nothing is fragmented, and the driver brings packets to any node. Those between processes of a node never leave the
 * kernel. */
#include "net.h"

#define NETWORK 0x0a000001u

struct ip_header {
    uint8_t version; /* 4, and the header's length in words of 4 bytes */
    uint8_t service;
    uint16_t bytes, identification, fragment;
    uint8_t ttl, protocol;
    uint16_t checksum;
    uint32_t source, destination;
};
_Static_assert(sizeof(struct ip_header) == IP_BYTES, "RFC 791, section 3.1");

enum { VERSION = 0x45, DO_NOT_FRAGMENT = 0x4000, TTL = 64 };

uint32_t ip_of_rank(uint32_t rank) { return NETWORK + rank; }

uint32_t rank_of_ip(uint32_t address) { return address - NETWORK; }

uint32_t ip_mtu(void) { return driver->mtu; }

uint32_t ip_pseudo_sum(uint32_t source, uint32_t destination, uint8_t protocol, uint32_t bytes)
{
    uint32_t words[3] = {be32(source), be32(destination), (uint32_t)be16(bytes) << 16 | (uint32_t)protocol << 8};
    return sum_of(words, sizeof words, 0);
}

void ip_send(struct packet *packet, uint32_t destination, uint8_t protocol OWN_PARAMETER)
{
    static uint16_t identification;
    struct ip_header *header = packet_push(packet, sizeof *header);
    *header = (struct ip_header){
        .version = VERSION,
        .bytes = be16(packet->bytes),
        .identification = be16(identification++),
        .fragment = be16(DO_NOT_FRAGMENT),
        .ttl = TTL,
        .protocol = protocol,
        .source = be32(ip_of_rank(own_rank)),
        .destination = be32(destination),
    };
    header->checksum = checksum_of(sum_of(header, sizeof *header, 0));
#if HARTS > 1
    if (node_of_rank(rank_of_ip(destination)) == node_here)
        return loopback(packet, false);
#endif
    driver->transmit(packet, rank_of_ip(destination));
}

static bool is_own(uint32_t address)
{
#if HARTS > 1
    uint32_t rank = rank_of_ip(address);
    return rank < boot.ni.ranks && node_of_rank(rank) == node_here;
#else
    return address == ip_of_rank(boot.ni.rank);
#endif
}

/* It is whole, and for this node. */
static bool is_right(const struct packet *packet)
{
    const struct ip_header *header = (const struct ip_header *)packet->data;
    return packet->bytes >= sizeof *header && header->version == VERSION && be16(header->bytes) <= packet->bytes &&
           be16(header->bytes) >= sizeof *header && checksum_of(sum_of(header, sizeof *header, 0)) == 0 &&
           is_own(be32(header->destination));
}

void ip_receive(struct packet *packet)
{
    const struct ip_header *header = (const struct ip_header *)packet->data;
    if (!is_right(packet) || header->protocol != PROTOCOL_TCP)
        return packet_free(packet);
    packet->bytes = be16(header->bytes);
    packet_pull(packet, sizeof *header);
    tcp_receive(packet, be32(header->source) OWN_ARGUMENT(rank_of_ip(be32(header->destination))));
}
