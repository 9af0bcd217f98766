/* TCP's sending side (RFC 9293): segments, retransmission (RFC 6298), congestion (RFC 5681). Small segments are never
 * held back, as with TCP_NODELAY, which message passing over sockets asks for. */
#include "net.h"

/* Never less than a millisecond: our choice, for a network of one room. RFC 6298 has a second, Linux 200 ms (TCP_RTO_MIN),
 * for wide networks. */
#define TIMEOUT_MIN_NS 1000000ull
#define TIMEOUT_MAX_NS 60000000000ull
#define TRIES_MAX 15u
#define DUPLICATES 3u /* RFC 5681, section 3.2 */
#define OPTION_MSS 2u /* RFC 9293, section 3.2 */

static uint32_t offered_window(const struct tcp *tcp)
{
    return least(BUFFER_BYTES - 1, BUFFER_BYTES - tcp_readable(tcp));
}

/* Copies from the ring of what was written. */
static void take(const struct tcp *tcp, uint32_t sequence, uint8_t *to, uint32_t bytes)
{
    uint32_t at = sequence % BUFFER_BYTES, first = least(bytes, BUFFER_BYTES - at);
    memory_copy(to, tcp->out + at, first);
    memory_copy(to + first, tcp->out, bytes - first);
}

static void finish(struct packet *packet, struct tcp_header *header, uint32_t peer OWN_PARAMETER)
{
    uint32_t sum = ip_pseudo_sum(ip_of_rank(own_rank), peer, PROTOCOL_TCP, packet->bytes);
    header->checksum = checksum_of(sum_of(packet->data, packet->bytes, sum));
    ip_send(packet, peer, PROTOCOL_TCP OWN_ARGUMENT(own_rank));
}

static void transmit_segment(struct tcp *tcp, uint32_t sequence, uint32_t bytes, uint8_t flags)
{
    struct packet *packet = packet_new(bytes);
    if (!packet)
        return;
    take(tcp, sequence, packet->data, bytes);
    unsigned words = sizeof(struct tcp_header) / 4;
    if (flags & SYN) {
        uint32_t option = OPTION_MSS << 24 | 4 << 16 | (ip_mtu() - IP_BYTES - sizeof(struct tcp_header));
        *(uint32_t *)packet_push(packet, 4) = be32(option);
        words++;
    }
    uint32_t window = offered_window(tcp);
    struct tcp_header *header = packet_push(packet, sizeof *header);
    *header = (struct tcp_header){
        .source = be16(tcp->port),
        .destination = be16(tcp->peer_port),
        .sequence = be32(sequence),
        .acknowledgement = flags & ACK ? be32(tcp->expected) : 0,
        .offset = words << 4,
        .flags = flags,
        .window = be16(window),
    };
    tcp->offered = tcp->expected + window;
    finish(packet, header, tcp->peer OWN_ARGUMENT(own_of(tcp)));
}

static uint64_t clamp(uint64_t ticks)
{
    uint64_t low = ticks_of_ns(TIMEOUT_MIN_NS), high = ticks_of_ns(TIMEOUT_MAX_NS);
    return ticks < low ? low : ticks > high ? high : ticks;
}

static void expire(struct timer *timer);

/* Each try waits twice as long. An acknowledgement of something new ends that, as in Linux; RFC 6298, section 5.7, waits
 * for a measurement, of which there are none while much is lost. */
static void arm(struct tcp *tcp) { timer_set(&tcp->timer, csr_read(time) + clamp(tcp->timeout << tcp->tries), expire); }

/* `sequence` has its place behind all that was sent: data up to `written`, then the FIN. */
static uint32_t end_of(const struct tcp *tcp) { return tcp->written + tcp->ends; }

static void sent(struct tcp *tcp, uint32_t from, uint32_t to)
{
    if (distance(tcp->top, to) > 0) {
        tcp->top = to;
        if (!tcp->is_timed) {
            tcp->is_timed = true;
            tcp->timed = from;
            tcp->timed_at = csr_read(time);
        }
    }
    if (!tcp->timer.is_set)
        arm(tcp);
}

/* One segment from `nxt` on, of at most `room`; how much it has. */
static uint32_t send_segment(struct tcp *tcp, uint32_t room)
{
    uint32_t from = tcp->nxt, left = distance(from, tcp->written) > 0 ? tcp->written - from : 0;
    uint32_t bytes = least(least(left, tcp->mss), room);
    bool last = tcp->ends && bytes == left;
    if (bytes == 0 && !(last && distance(from, end_of(tcp)) > 0))
        return 0;
    tcp->nxt += bytes + last;
    transmit_segment(tcp, from, bytes, ACK | (bytes == left ? PSH : 0) | (last ? FIN : 0));
    sent(tcp, from, tcp->nxt);
    return bytes + last;
}

void tcp_output(struct tcp *tcp)
{
    if (tcp->state < ESTABLISHED)
        return;
    for (;;) {
        uint32_t window = least(tcp->window, tcp->cwnd), flight = tcp->nxt - tcp->una;
        uint32_t room = flight < window ? window - flight : 0;
        uint32_t left = distance(tcp->nxt, tcp->written) > 0 ? tcp->written - tcp->nxt : 0;
        /* A segment that the window cuts short waits for an acknowledgement (RFC 9293, section 3.8.6.2.1). */
        if (left > room && room < tcp->mss && flight > 0)
            break;
        if (!send_segment(tcp, room))
            break;
    }
    /* A closed window is asked for (section 3.8.6.1). */
    if (tcp->window == 0 && distance(tcp->una, end_of(tcp)) > 0 && !tcp->timer.is_set)
        arm(tcp);
}

void tcp_begin(struct tcp *tcp)
{
    uint8_t flags = tcp->state == SYN_RECEIVED ? SYN | ACK : SYN;
    tcp->nxt = tcp->una + 1;
    transmit_segment(tcp, tcp->una, 0, flags);
    sent(tcp, tcp->una, tcp->nxt);
}

void tcp_acknowledge(struct tcp *tcp) { transmit_segment(tcp, tcp->nxt, 0, ACK); }

/* What is not acknowledged is sent again, from the oldest on. */
static void go_back(struct tcp *tcp)
{
    tcp->is_timed = false; /* Karn: which of the two would be acknowledged? (RFC 6298, section 3) */
    uint32_t flight = tcp->top - tcp->una;
    tcp->ssthresh = flight / 2 > 2 * tcp->mss ? flight / 2 : 2 * tcp->mss;
    tcp->nxt = tcp->una;
}

static void expire(struct timer *timer)
{
    struct tcp *tcp = (struct tcp *)((uint8_t *)timer - offsetof(struct tcp, timer));
    if (++tcp->tries > TRIES_MAX)
        return tcp_fail(tcp, ETIMEDOUT);
    go_back(tcp);
    if (tcp->state < ESTABLISHED)
        return tcp_begin(tcp);
    tcp->cwnd = tcp->mss;
    /* Against a closed window one byte. */
    if (tcp->window == 0)
        send_segment(tcp, 1);
    tcp_output(tcp);
}

/* RFC 6298, section 2. */
static void measure(struct tcp *tcp, uint64_t trip)
{
    if (!tcp->srtt) {
        tcp->srtt = trip;
        tcp->rttvar = trip / 2;
    } else {
        uint64_t off = trip > tcp->srtt ? trip - tcp->srtt : tcp->srtt - trip;
        tcp->rttvar = (3 * tcp->rttvar + off) / 4;
        tcp->srtt = (7 * tcp->srtt + trip) / 8;
    }
    tcp->timeout = clamp(tcp->srtt + 4 * tcp->rttvar);
}

void tcp_acknowledged(struct tcp *tcp, uint32_t number)
{
    uint32_t bytes = number - tcp->una;
    if (tcp->is_timed && distance(tcp->timed, number) > 0) {
        tcp->is_timed = false;
        measure(tcp, csr_read(time) - tcp->timed_at);
    }
    /* Slow start, then about a segment for each round trip (RFC 5681, section 3.1). */
    uint32_t more = least(bytes, tcp->mss);
    if (tcp->cwnd >= tcp->ssthresh)
        more = more * tcp->mss / tcp->cwnd + 1;
    tcp->cwnd = least(tcp->cwnd + more, BUFFER_BYTES);
    tcp->una = number;
    if (distance(tcp->nxt, number) > 0)
        tcp->nxt = number;
    tcp->duplicates = tcp->tries = 0;
    timer_cancel(&tcp->timer);
    if (distance(number, tcp->nxt) > 0)
        arm(tcp);
}

void tcp_duplicate(struct tcp *tcp)
{
    if (tcp->una == tcp->top || ++tcp->duplicates != DUPLICATES)
        return;
    go_back(tcp);
    tcp->cwnd = tcp->ssthresh;
    uint32_t top = tcp->top;
    send_segment(tcp, tcp->mss);
    /* What came after the one that is missing has probably arrived. */
    tcp->nxt = top;
}

void tcp_refuse(const struct tcp_header *header, uint32_t peer, uint32_t bytes OWN_PARAMETER)
{
    struct packet *packet = packet_new(0);
    if (!packet)
        return;
    struct tcp_header *answer = packet_push(packet, sizeof *answer);
    bool has_ack = header->flags & ACK;
    *answer = (struct tcp_header){
        .source = header->destination,
        .destination = header->source,
        .sequence = has_ack ? header->acknowledgement : 0,
        .acknowledgement = has_ack ? 0 : be32(be32(header->sequence) + bytes),
        .offset = sizeof *answer / 4 << 4,
        .flags = has_ack ? RST : RST | ACK,
    };
    finish(packet, answer, peer OWN_ARGUMENT(own_rank));
}
