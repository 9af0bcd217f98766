/* The network: packets, IP, TCP, sockets. Nothing here is interrupted (kernel.h), so nothing is locked. */
#ifndef NET_H
#define NET_H

#include "kernel.h"

/* Which of the node's ranks something is from or for: a parameter where there are several. */
#if HARTS > 1
#define OWN_PARAMETER , uint32_t own_rank
#define OWN_ARGUMENT(rank) , rank
#else
#define OWN_PARAMETER
#define OWN_ARGUMENT(rank)
#define own_rank (boot.ni.rank)
#endif

/* --- packets (packet.c) --- */

/* What travels, in a block of the kernel's memory: headers are put in front of the data. */
struct packet {
    struct packet *next;
    uint8_t *data;
    uint32_t bytes;
    union {
        uint32_t sequence; /* of TCP's data */
        bool is_drivers;   /* while it loops back: the driver's, not IP's */
    };
    uint8_t room[2048 - 24];
};

#define HEADROOM 128u /* for the headers of IP, TCP and the driver */

/* With room for so much data. 0: there is no memory; what was to be sent counts as lost, and is sent again. */
struct packet *packet_new(uint32_t bytes);
void packet_free(struct packet *packet);
#if HARTS > 1
/* To another process of the node, once the kernel is done here. */
void loopback(struct packet *packet, bool is_drivers);
#endif
void *packet_push(struct packet *packet, uint32_t bytes); /* a header in front */
void packet_pull(struct packet *packet, uint32_t bytes);  /* the header is done with */
uint32_t sum_of(const void *data, uint32_t bytes, uint32_t sum);
uint16_t checksum_of(uint32_t sum);

/* Big-endian numbers, as the headers have them. */
static inline uint16_t be16(uint16_t value) { return __builtin_bswap16(value); }
static inline uint32_t be32(uint32_t value) { return __builtin_bswap32(value); }

/* --- IP (ip.c) --- */

enum { PROTOCOL_TCP = 6 };

#define IP_BYTES 20u

uint32_t ip_of_rank(uint32_t rank);
uint32_t rank_of_ip(uint32_t address);
uint32_t ip_mtu(void);
void ip_send(struct packet *packet, uint32_t destination, uint8_t protocol OWN_PARAMETER);
void ip_receive(struct packet *packet); /* the driver's; takes it */
/* Sum of the pseudo header of a packet's checksum. */
uint32_t ip_pseudo_sum(uint32_t source, uint32_t destination, uint8_t protocol, uint32_t bytes);

/* --- TCP (tcp.c, tcp_send.c) --- */

/* RFC 9293, section 3.3.2; those in which nothing more is sent or kept are one. */
enum tcp_state {
    CLOSED,
    LISTEN,
    SYN_SENT,
    SYN_RECEIVED,
    ESTABLISHED,
    CLOSE_WAIT, /* the peer has ended */
    ENDING,     /* FIN-WAIT-1, CLOSING, LAST-ACK: ours is on the way */
    ENDED,      /* FIN-WAIT-2, TIME-WAIT, CLOSED: ours has arrived, or an error ended all */
};

/* A power of two: the byte of sequence number s is at s % BUFFER_BYTES. */
#define BUFFER_BYTES ((uint32_t)CHASQUI_KERNEL_SOCKET_BUFFER_BYTES)

/* A connection, or a socket that listens. Sequence numbers as in RFC 9293, section 3.3.1. */
struct tcp {
    struct tcp *next, *next_in_bucket;
    enum tcp_state state;
    int error; /* that ended it */
    uint32_t peer;
    uint16_t port, peer_port;
    /* What is sent. */
    uint8_t *out;
    uint32_t una, nxt, top; /* acknowledged; next to be sent; first that never was */
    uint32_t written;       /* end of what the process has written */
    uint32_t window;        /* that the peer offers */
    uint32_t mss;           /* maximum segment size: data of a segment */
    bool ends;              /* the process writes no more */
    bool wants_room;        /* a thread waits until it is writable */
    bool is_closed;         /* nor does it read */
    /* What is received. */
    uint8_t *in;
    uint32_t expected, read, offered; /* next to come; next to be read; end of the window that was offered */
    struct packet *early;             /* out of order, by sequence */
    bool has_ended;                   /* the peer sends no more */
    /* Congestion (RFC 5681). */
    uint32_t cwnd, ssthresh;
    unsigned duplicates;
    /* Retransmission (RFC 6298) [ticks]. */
    struct timer timer;
    uint64_t srtt, rttvar, timeout, timed_at;
    uint32_t timed;
    bool is_timed;
    unsigned tries;
    /* Of one that listens: connections that have not been accepted yet; of those, the next. */
    struct tcp *waiting, *next_waiting, *listener;
#if HARTS > 1
    uint32_t own; /* the rank whose it is */
#endif
};

/* The rank of this node that a connection is of. */
#if HARTS > 1
#define own_of(tcp) ((tcp)->own)
#else
#define own_of(tcp) (boot.ni.rank)
#endif

extern struct queue tcp_changes; /* threads that wait for any change of a connection */
extern struct tcp *tcp_connections;

static inline int32_t distance(uint32_t from, uint32_t to) { return (int32_t)(to - from); }
static inline uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

struct tcp *tcp_new(uint32_t own); /* of that rank; 0: its process's memory is used up */
void tcp_close(struct tcp *tcp); /* no process uses it any more; it remains until its peer has acknowledged the end */
void tcp_end_all(void); /* the process has ended, and closed them: connections live on until their peers know */
void tcp_listen(struct tcp *tcp);
bool tcp_connect(struct tcp *tcp, uint32_t peer, uint16_t port); /* false: as tcp_new() */
void tcp_end(struct tcp *tcp); /* no more is written */
void tcp_receive(struct packet *packet, uint32_t source OWN_PARAMETER);
uint32_t tcp_room(const struct tcp *tcp); /* to write [bytes] */
bool tcp_is_writable(const struct tcp *tcp); /* there is room worth waking a writer for */
uint32_t tcp_readable(const struct tcp *tcp); /* [bytes] */
void tcp_consumed(struct tcp *tcp); /* `read` has moved */
void tcp_fail(struct tcp *tcp, int error);

/* tcp_send.c */
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

struct tcp_header {
    uint16_t source, destination;
    uint32_t sequence, acknowledgement;
    uint8_t offset; /* in words of 4 bytes, in the upper half */
    uint8_t flags;
    uint16_t window, checksum, urgent;
};
_Static_assert(sizeof(struct tcp_header) == 20, "RFC 9293, section 3.1");

void tcp_begin(struct tcp *tcp); /* what is sent, from its SYN on */
void tcp_output(struct tcp *tcp); /* whatever may be sent now */
void tcp_acknowledge(struct tcp *tcp);
void tcp_acknowledged(struct tcp *tcp, uint32_t number);
void tcp_duplicate(struct tcp *tcp); /* an acknowledgement of nothing new */
void tcp_refuse(const struct tcp_header *header, uint32_t peer, uint32_t bytes OWN_PARAMETER);

/* --- sockets (socket.c; their system calls in socket.h) --- */

bool socket_is(uint64_t descriptor);
bool sockets_end(void); /* the process is about to end: closes all; whether connections live on */

#endif
