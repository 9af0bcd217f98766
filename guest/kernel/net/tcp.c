/* TCP's connections and receiving side (RFC 9293). Every segment with data is acknowledged at once. */
#include "net.h"

#define MSS_DEFAULT 536u /* RFC 9293, section 3.7.1 */
#define TIMEOUT_FIRST_NS 1000000000ull /* RFC 6298, section 2 */
#define TIME_WAIT_NS 60000000000ull /* as Linux (TCP_TIMEWAIT_LEN); RFC 9293, section 3.4.2, has four minutes */

#define BUCKETS 64u /* a power of two */

struct tcp *tcp_connections;
/* Those that have a peer, by it and the ports. */
static struct tcp *buckets[BUCKETS];
struct queue tcp_changes;

static void changed(void) { thread_wake_all(&tcp_changes); }

struct tcp *tcp_new(uint32_t own)
{
    /* The first byte of data, which follows the SYN, is at the beginning of a word of its ring: so is most of what
     * follows. */
    static uint32_t start = -1u;
    (void)own; /* Of one process nothing depends on it. */
    struct tcp *tcp = memory_take_for(process_of_rank(own), sizeof *tcp);
    if (!tcp)
        return 0;
    memory_clear(tcp, (sizeof *tcp + 7) & ~7ull);
    tcp->mss = MSS_DEFAULT;
    tcp->una = tcp->nxt = tcp->top = start;
    start += 64000; /* no two connections of a pair of ports meet within a run (section 3.4.1) */
    tcp->written = tcp->una + 1;
    tcp->ssthresh = BUFFER_BYTES;
    tcp->timeout = ticks_of_ns(TIMEOUT_FIRST_NS);
    tcp->next = tcp_connections;
    tcp_connections = tcp;
#if HARTS > 1
    tcp->own = own;
#endif
    return tcp;
}

static struct tcp **bucket_of(uint32_t peer, uint16_t peer_port, uint16_t port)
{
    return &buckets[(peer ^ peer_port ^ port) % BUCKETS];
}

/* It has a peer from now on. */
static void join(struct tcp *tcp, uint32_t peer, uint16_t peer_port)
{
    struct tcp **bucket = bucket_of(peer, peer_port, tcp->port);
    tcp->peer = peer;
    tcp->peer_port = peer_port;
    tcp->next_in_bucket = *bucket;
    *bucket = tcp;
}

static void leave_bucket(struct tcp *tcp)
{
    struct tcp **link = bucket_of(tcp->peer, tcp->peer_port, tcp->port);
    while (*link && *link != tcp)
        link = &(*link)->next_in_bucket;
    if (*link)
        *link = tcp->next_in_bucket;
}

SELDOM static void give_rings(struct tcp *tcp)
{
    uint64_t process = process_of_rank(own_of(tcp));
    if (tcp->out)
        memory_give_for(process, tcp->out, BUFFER_BYTES);
    if (tcp->in)
        memory_give_for(process, tcp->in, BUFFER_BYTES);
    tcp->out = tcp->in = 0;
}

/* False: its process's memory is used up. */
SELDOM static bool take_rings(struct tcp *tcp)
{
    uint64_t process = process_of_rank(own_of(tcp));
    tcp->out = memory_take_for(process, BUFFER_BYTES);
    tcp->in = memory_take_for(process, BUFFER_BYTES);
    if (tcp->out && tcp->in)
        return true;
    give_rings(tcp);
    return false;
}

static void give_buffers(struct tcp *tcp)
{
    while (tcp->early) {
        struct packet *packet = tcp->early;
        tcp->early = packet->next;
        packet_free(packet);
    }
    give_rings(tcp);
}

static void forget(struct tcp *tcp)
{
    struct tcp **link = &tcp_connections;
    while (*link != tcp)
        link = &(*link)->next;
    *link = tcp->next;
    leave_bucket(tcp);
    timer_cancel(&tcp->timer);
    give_buffers(tcp);
    memory_give_for(process_of_rank(own_of(tcp)), tcp, sizeof *tcp);
}

static void waited(struct timer *timer) { forget((struct tcp *)((uint8_t *)timer - offsetof(struct tcp, timer))); }

static bool nobody_is_left_of[PROCESSES]; /* the process has ended */
#define nobody_is_left(tcp) (nobody_is_left_of[process_of_rank(own_of(tcp))])

static bool is_over(const struct tcp *tcp) { return tcp->is_closed && tcp->state == ENDED && tcp->has_ended; }

/* Ends the connection if it is no longer needed; for a while it answers its peer (TIME-WAIT). Where no process will
 * begin another it is not worth the node's time: a peer whose FIN comes again is refused, and has lost nothing. */
static void release(struct tcp *tcp)
{
    if (!is_over(tcp))
        return;
    if (tcp->error || nobody_is_left(tcp))
        return forget(tcp);
    give_buffers(tcp);
    timer_set(&tcp->timer, csr_read(time) + ticks_of_ns(TIME_WAIT_NS), waited);
}

void tcp_fail(struct tcp *tcp, int error)
{
    if (tcp->state == SYN_RECEIVED) /* Nobody has heard of it. */
        return forget(tcp);
    timer_cancel(&tcp->timer);
    tcp->error = error;
    tcp->state = ENDED;
    /* As after a FIN, which has a sequence number: what came before it can be read, and no more. */
    tcp->expected += !tcp->has_ended;
    tcp->has_ended = true;
    changed();
    release(tcp);
}

/* Connections that have not been accepted end with the socket. */
static void forget_waiting(struct tcp *listener)
{
    struct tcp *next;
    for (struct tcp *tcp = tcp_connections; tcp; tcp = next) {
        next = tcp->next;
        if (tcp->listener == listener)
            forget(tcp);
    }
}

void tcp_close(struct tcp *tcp)
{
    tcp->is_closed = true;
    if (tcp->state == LISTEN)
        forget_waiting(tcp);
    if (tcp->state < ESTABLISHED)
        return forget(tcp);
    tcp_end(tcp);
    release(tcp);
}

void tcp_end_all(void)
{
    struct tcp *next;
    nobody_is_left_of[process_here] = true;
    for (struct tcp *tcp = tcp_connections; tcp; tcp = next) {
        next = tcp->next;
        release(tcp);
    }
}

void tcp_listen(struct tcp *tcp) { tcp->state = LISTEN; }

bool tcp_connect(struct tcp *tcp, uint32_t peer, uint16_t port)
{
    if (!take_rings(tcp))
        return false;
    join(tcp, peer, port);
    tcp->state = SYN_SENT;
    tcp_begin(tcp);
    return true;
}

void tcp_end(struct tcp *tcp)
{
    if (tcp->state != ESTABLISHED && tcp->state != CLOSE_WAIT)
        return;
    tcp->ends = true;
    tcp->state = ENDING;
    tcp_output(tcp);
}

uint32_t tcp_room(const struct tcp *tcp) { return BUFFER_BYTES - (tcp->written - tcp->una); }

/* A third of the ring, as Linux (sk_stream_is_writeable): a writer is not woken for every acknowledgement. */
bool tcp_is_writable(const struct tcp *tcp) { return tcp_room(tcp) >= BUFFER_BYTES / 3; }

uint32_t tcp_readable(const struct tcp *tcp) { return tcp->expected - tcp->has_ended - tcp->read; }

/* The window that is offered moves when it has opened by two segments, or half (RFC 9293, section 3.8.6.2.2). */
void tcp_consumed(struct tcp *tcp)
{
    uint32_t window = BUFFER_BYTES - tcp_readable(tcp), shown = tcp->offered - tcp->expected;
    if (!tcp->has_ended && window > shown && window - shown >= least(2 * tcp->mss, BUFFER_BYTES / 2))
        tcp_acknowledge(tcp);
}

/* The connection belongs to the rank that a packet is for. */
static bool is_of(const struct tcp *tcp OWN_PARAMETER)
{
    (void)tcp;
    return own_of(tcp) == own_rank;
}

/* The connection; else a socket that listens for such. */
static struct tcp *find(uint32_t peer, uint16_t peer_port, uint16_t port OWN_PARAMETER)
{
    for (struct tcp *tcp = *bucket_of(peer, peer_port, port); tcp; tcp = tcp->next_in_bucket)
        if (tcp->port == port && tcp->peer == peer && tcp->peer_port == peer_port && !tcp->error &&
            is_of(tcp OWN_ARGUMENT(own_rank)))
            return tcp;
    struct tcp *listener = tcp_connections;
    while (listener && (listener->port != port || listener->state != LISTEN || !is_of(listener OWN_ARGUMENT(own_rank))))
        listener = listener->next;
    return listener;
}

/* The peer's segments have at most what its SYN's option says, and at most what a packet holds. */
static void negotiate_mss(struct tcp *tcp, const struct tcp_header *header)
{
    const uint8_t *option = (const uint8_t *)(header + 1), *end = (const uint8_t *)header + (header->offset >> 4) * 4;
    uint32_t most = ip_mtu() - IP_BYTES - sizeof *header, asked = MSS_DEFAULT;
    while (option < end && *option != 0) {
        if (*option == 1) {
            option++;
            continue;
        }
        if (option + 1 >= end || option[1] < 2)
            break;
        if (option[0] == 2 && option[1] == 4 && option + 4 <= end)
            asked = option[2] << 8 | option[3];
        option += option[1];
    }
    tcp->mss = least(asked, most);
    tcp->cwnd = 4 * tcp->mss; /* RFC 5681, section 3.1: about 4 Kbytes */
}

/* The peer's SYN: its sequence numbers begin. */
static void learn(struct tcp *tcp, const struct tcp_header *header)
{
    negotiate_mss(tcp, header);
    tcp->expected = tcp->read = tcp->offered = be32(header->sequence) + 1;
    tcp->window = be16(header->window);
}

static void called(struct tcp *listener, const struct tcp_header *header, uint32_t peer)
{
    if (header->flags & RST)
        return;
    if (header->flags & ACK || !(header->flags & SYN))
        return tcp_refuse(header, peer, 1 OWN_ARGUMENT(own_of(listener)));
    struct tcp *tcp = tcp_new(own_of(listener));
    if (!tcp)
        return; /* It comes again. */
    tcp->port = listener->port;
    join(tcp, peer, be16(header->source));
    if (!take_rings(tcp))
        return forget(tcp);
    tcp->listener = listener;
    tcp->state = SYN_RECEIVED;
    learn(tcp, header);
    tcp_begin(tcp);
}

static void established(struct tcp *tcp)
{
    tcp->state = ESTABLISHED;
    if (tcp->listener) {
        struct tcp **link = &tcp->listener->waiting;
        while (*link)
            link = &(*link)->next_waiting;
        *link = tcp;
    }
    changed();
}

static void answered(struct tcp *tcp, const struct tcp_header *header)
{
    bool right = header->flags & ACK && be32(header->acknowledgement) == tcp->nxt;
    if (!right)
        return;
    if (header->flags & RST)
        return tcp_fail(tcp, ECONNREFUSED);
    if (!(header->flags & SYN))
        return;
    learn(tcp, header);
    tcp_acknowledged(tcp, tcp->nxt);
    established(tcp);
    tcp_acknowledge(tcp);
}

/* Section 3.10.7.4, "check the ACK field". */
static void acknowledged(struct tcp *tcp, const struct tcp_header *header, bool has_data)
{
    uint32_t number = be32(header->acknowledgement), window = be16(header->window);
    if (distance(tcp->top, number) > 0 || distance(tcp->una, number) < 0)
        return;
    bool same = window == tcp->window;
    tcp->window = window;
    if (number != tcp->una) {
        tcp_acknowledged(tcp, number);
        if (tcp->state == SYN_RECEIVED)
            established(tcp);
        if (tcp->state == ENDING && number == tcp->written + 1)
            tcp->state = ENDED;
        if (tcp->wants_room && tcp_is_writable(tcp)) {
            tcp->wants_room = false;
            changed();
        }
    } else if (same && !has_data) {
        tcp_duplicate(tcp);
    }
    tcp_output(tcp);
}

/* Puts data that come next where the process reads them. */
static void append(struct tcp *tcp, const uint8_t *data, uint32_t bytes)
{
    uint32_t at = tcp->expected % BUFFER_BYTES, first = least(bytes, BUFFER_BYTES - at);
    memory_copy(tcp->in + at, data, first);
    memory_copy(tcp->in, data + first, bytes - first);
    tcp->expected += bytes;
}

/* Takes of a packet what comes next and has room. */
static void absorb(struct tcp *tcp, struct packet *packet)
{
    int32_t old = distance(packet->sequence, tcp->expected);
    if (old < (int32_t)packet->bytes) {
        uint32_t room = BUFFER_BYTES - tcp_readable(tcp);
        append(tcp, packet->data + old, least(packet->bytes - old, room));
    }
    packet_free(packet);
}

/* Keeps a packet that came too early, in order; one of each sequence number. */
static void keep(struct tcp *tcp, struct packet *packet)
{
    struct packet **link = &tcp->early;
    while (*link && distance((*link)->sequence, packet->sequence) > 0)
        link = &(*link)->next;
    if (distance(tcp->offered, packet->sequence) >= 0 || (*link && (*link)->sequence == packet->sequence))
        return packet_free(packet);
    packet->next = *link;
    *link = packet;
}

static void data(struct tcp *tcp, struct packet *packet)
{
    if (distance(tcp->expected, packet->sequence) > 0)
        return keep(tcp, packet);
    absorb(tcp, packet);
    while (tcp->early && distance(tcp->early->sequence, tcp->expected) >= 0) {
        struct packet *next = tcp->early;
        tcp->early = next->next;
        absorb(tcp, next);
    }
    changed();
}

/* The peer has ended, and all that it sent is here. */
static void ended(struct tcp *tcp)
{
    tcp->expected++;
    tcp->has_ended = true;
    if (tcp->state == ESTABLISHED)
        tcp->state = CLOSE_WAIT;
    changed();
}

static void segment(struct tcp *tcp, const struct tcp_header *header, struct packet *packet)
{
    uint32_t sequence = be32(header->sequence), bytes = packet->bytes;
    bool fin = header->flags & FIN, syn = header->flags & SYN;
    if (header->flags & RST) {
        if (sequence == tcp->expected)
            tcp_fail(tcp, ECONNRESET);
        return packet_free(packet);
    }
    /* Those data will not be read (RFC 9293, section 3.6.1). */
    if (tcp->is_closed && bytes > 0 && distance(tcp->expected, sequence + bytes) > 0) {
        tcp_refuse(header, tcp->peer, bytes OWN_ARGUMENT(own_of(tcp)));
        tcp_fail(tcp, ECONNRESET);
        return packet_free(packet);
    }
    if (header->flags & ACK && !syn)
        acknowledged(tcp, header, bytes > 0 || fin);
    packet->sequence = sequence;
    if (bytes > 0 && !tcp->has_ended)
        data(tcp, packet);
    else
        packet_free(packet);
    if (fin && !tcp->has_ended && tcp->expected == sequence + bytes)
        ended(tcp);
    if (bytes > 0 || fin || syn)
        tcp_acknowledge(tcp);
    release(tcp);
}

static bool is_right(const struct packet *packet, uint32_t source OWN_PARAMETER)
{
    const struct tcp_header *header = (const struct tcp_header *)packet->data;
    uint32_t head = (header->offset >> 4) * 4;
    if (packet->bytes < sizeof *header || head < sizeof *header || head > packet->bytes)
        return false;
    uint32_t sum = ip_pseudo_sum(source, ip_of_rank(own_rank), PROTOCOL_TCP, packet->bytes);
    return checksum_of(sum_of(packet->data, packet->bytes, sum)) == 0;
}

void tcp_receive(struct packet *packet, uint32_t source OWN_PARAMETER)
{
    const struct tcp_header *header = (const struct tcp_header *)packet->data;
    if (!is_right(packet, source OWN_ARGUMENT(own_rank)))
        return packet_free(packet);
    struct tcp *tcp = find(source, be16(header->source), be16(header->destination) OWN_ARGUMENT(own_rank));
    packet_pull(packet, (header->offset >> 4) * 4);
    if (tcp && tcp->state > SYN_SENT)
        return segment(tcp, header, packet);
    if (tcp && tcp->state == LISTEN)
        called(tcp, header, source);
    else if (tcp)
        answered(tcp, header);
    else if (!(header->flags & RST))
        tcp_refuse(header, source,
                   packet->bytes + !!(header->flags & SYN) + !!(header->flags & FIN) OWN_ARGUMENT(own_rank));
    packet_free(packet);
}
