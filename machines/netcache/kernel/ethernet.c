/* See ethernet.h. Headers are put in front of packets, so that nothing is copied here.
 *
 * Its functions have names of their own for profiles, which join what has one name.
 *
 * Coherence: the controller's reads and writes of memory are bus transactions that the caches snoop. Only order must be
 * seen to: a store to the controller must not pass those to the memory that it refers to. */
#include "ethernet.h"

#define SLOTS_MAX 256u
/* Frames that wait for a descriptor at most; what comes then is lost, and sent again (Linux: txqueuelen). */
#define QUEUE_MAX 1000u
/* Before a received frame: its packet begins at a multiple of 8 (Linux: NET_IP_ALIGN). */
#define SKEW 2u

struct header {
    uint8_t destination[6], source[6];
    uint16_t type;
};
_Static_assert(sizeof(struct header) == CHASQUI_ETHERNET_HEADER_BYTES, "IEEE 802.3, 3.1.1");
_Static_assert(sizeof((struct packet *)0)->room >= SKEW + CHASQUI_ETHERNET_BUFFER_BYTES, "a receive buffer");

static ethernet_handler *other; /* of what is not IP's */
static uint32_t transmit_mask, receive_mask; /* slots of the rings, less one */
static struct chasqui_ethernet_transmit *transmits;
static struct chasqui_ethernet_receive *receives;
static struct packet *sent[SLOTS_MAX], *empty[SLOTS_MAX]; /* by slot */
static uint32_t produced, reclaimed;                      /* of transmit descriptors */
static uint32_t consumed;                                 /* of receive descriptors */
static struct packet *queue, **queue_end = &queue;        /* packets that wait for a descriptor */
static uint32_t queued;

/* Earlier stores come before the store to the controller that follows. */
static void fence_before_register(void) { __asm__ volatile("fence rw, o" : : : "memory"); }

/* Another hart's stores to the controller come after those here (Linux: mmiowb). */
static void end_of_registers(void)
{
#if HARTS > 1
    __asm__ volatile("fence o, w" : : : "memory");
#endif
}

/* A descriptor is read before the data that it announces. */
static void fence_after_descriptor(void) { __asm__ volatile("fence r, r" : : : "memory"); }

static void *new_ring(uint64_t slots, size_t descriptor_bytes)
{
    void *ring = memory_take(slots * descriptor_bytes);
    memory_clear(ring, slots * descriptor_bytes);
    return ring;
}

/* Gives the slot an empty packet, which the controller fills. */
static void refill(uint32_t slot, struct packet *packet)
{
    packet->data = packet->room + SKEW;
    empty[slot] = packet;
    receives[slot].address = physical_of(packet->data);
    receives[slot].status = 0;
}

uint32_t ethernet_begin(ethernet_handler *of_others)
{
    const uint64_t *settings = boot.ni.settings;
    other = of_others;
    uint64_t transmit_slots = settings[CHASQUI_ETHERNET_SETTING_TRANSMIT_SLOTS];
    uint64_t receive_slots = settings[CHASQUI_ETHERNET_SETTING_RECEIVE_SLOTS];
    transmit_mask = transmit_slots - 1;
    receive_mask = receive_slots - 1;
    transmits = new_ring(transmit_slots, sizeof *transmits);
    receives = new_ring(receive_slots, sizeof *receives);
    /* One stays empty: a full ring would look like one without descriptors. */
    for (uint32_t slot = 0; slot < receive_mask; slot++) {
        struct packet *packet = packet_new(0);
        check(packet, "out of memory (node.software.kernel_memory)");
        refill(slot, packet);
    }
    fence_before_register();
    ni_store(CHASQUI_ETHERNET_TRANSMIT_BASE, physical_of(transmits));
    ni_store(CHASQUI_ETHERNET_RECEIVE_BASE, physical_of(receives));
    fence_before_register();
    ni_store(CHASQUI_ETHERNET_RECEIVE_TAIL, receive_mask);
    ni_store(CHASQUI_ETHERNET_MASK_SET, CHASQUI_ETHERNET_CAUSE_RECEIVED);
    return (uint32_t)settings[CHASQUI_ETHERNET_SETTING_MTU];
}

/* --- sending --- */

/* Frees the packets that the controller has read. */
static void reclaim(void)
{
    while (reclaimed != produced && (transmits[reclaimed & transmit_mask].status & CHASQUI_ETHERNET_STATUS_DONE))
        packet_free(sent[reclaimed++ & transmit_mask]);
}

static bool has_room(void) { return produced - reclaimed < transmit_mask; }

/* The next descriptor announces the packet. */
static void post(struct packet *packet)
{
    uint32_t slot = produced++ & transmit_mask;
    sent[slot] = packet;
    transmits[slot] = (struct chasqui_ethernet_transmit){
        .address = physical_of(packet->data),
        .bytes = packet->bytes,
        .command = CHASQUI_ETHERNET_COMMAND_END | CHASQUI_ETHERNET_COMMAND_REPORT,
    };
    fence_before_register();
    ni_store(CHASQUI_ETHERNET_TRANSMIT_TAIL, produced & transmit_mask);
}

/* Until there are descriptors, which the controller then announces. */
static void enqueue(struct packet *packet)
{
    if (queued == QUEUE_MAX)
        return packet_free(packet);
    if (queued++ == 0)
        ni_store(CHASQUI_ETHERNET_MASK_SET, CHASQUI_ETHERNET_CAUSE_TRANSMITTED);
    packet->next = 0;
    *queue_end = packet;
    queue_end = &packet->next;
}

static void send_queued(void)
{
    while (queue && has_room()) {
        struct packet *packet = queue;
        queue = packet->next;
        queued--;
        post(packet);
    }
    if (!queue) {
        queue_end = &queue;
        ni_store(CHASQUI_ETHERNET_MASK_CLEAR, CHASQUI_ETHERNET_CAUSE_TRANSMITTED);
    }
}

/* The controller's address of a node: one that is administered locally (IEEE 802, 8.4). */
static void set_address(uint8_t address[6], uint32_t node)
{
    address[0] = 2;
    address[1] = address[2] = address[3] = 0;
    address[4] = node >> 8;
    address[5] = node;
}

void ethernet_send(struct packet *packet, uint32_t node, uint16_t type)
{
    struct header *header = packet_push(packet, sizeof *header);
    set_address(header->destination, node);
    set_address(header->source, node_here);
    header->type = be16(type);
    reclaim();
    if (!queue && has_room())
        post(packet);
    else
        enqueue(packet);
    end_of_registers();
}

void ethernet_transmit(struct packet *packet, uint32_t rank)
{
    ethernet_send(packet, node_of_rank(rank), CHASQUI_ETHERNET_TYPE_IP);
}

/* --- receiving --- */

static void give(struct packet *packet)
{
    const struct header *header = (const struct header *)packet->data;
    packet_pull(packet, sizeof *header);
    if (header->type == be16(CHASQUI_ETHERNET_TYPE_IP))
        ip_receive(packet);
    else if (other && header->type == be16(CHASQUI_ETHERNET_TYPE_VIA))
        other(packet, (uint32_t)header->source[4] << 8 | header->source[5]);
    else
        packet_free(packet);
}

/* There is a new descriptor for each frame that the controller has written. A frame in whose place there is no other is lost. */
static void ethernet_receive(void)
{
    uint32_t before = consumed;
    struct chasqui_ethernet_receive *next;
    while ((next = &receives[consumed & receive_mask])->status & CHASQUI_ETHERNET_STATUS_DONE) {
        fence_after_descriptor();
        struct packet *packet = empty[consumed & receive_mask], *another = packet_new(0);
        packet->bytes = next->bytes;
        next->status = 0;
        refill((consumed + receive_mask) & receive_mask, another ? another : packet);
        consumed++;
        if (another)
            give(packet);
    }
    if (consumed != before) {
        fence_before_register();
        ni_store(CHASQUI_ETHERNET_RECEIVE_TAIL, (consumed + receive_mask) & receive_mask);
    }
}

void ethernet_interrupt(void)
{
    uint64_t causes = ni_load(CHASQUI_ETHERNET_CAUSE);
    if (causes & CHASQUI_ETHERNET_CAUSE_RECEIVED)
        ethernet_receive();
    if (queue) {
        reclaim();
        send_queued();
    }
    end_of_registers();
}
