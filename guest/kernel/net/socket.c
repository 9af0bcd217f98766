/* Sockets of TCP, as the process's descriptors from DESCRIPTOR_FIRST on: those below are the simulator's. Structures and
 * numbers are Linux's (include/uapi/linux/in.h, asm-generic/poll.h, asm-generic/fcntl.h). */
#include "socket.h"

#define SOCKETS_MAX 1024u
#define DESCRIPTOR_FIRST 0x10000u
#define PARTS_MAX 8u /* of one writev(); Linux takes 1024 */

enum { AF_INET = 2, SOCK_STREAM = 1, SOCK_TYPE = 15, SOCK_NONBLOCK = 04000, MSG_DONTWAIT = 0x40 };
enum { F_GETFL = 3, F_SETFL = 4, O_RDWR = 2, O_NONBLOCK = 04000 };
enum { POLLIN = 1, POLLOUT = 4, POLLERR = 8, POLLHUP = 16, POLLNVAL = 32 };
enum { SHUT_RD = 0 };

/* Ports that connections begin from (RFC 6335, section 6). */
#define PORT_FIRST 49152u

struct address {
    uint16_t family, port;
    uint32_t address;
    uint64_t zero;
};

struct socket {
    struct tcp *tcp; /* 0: it is free */
    bool nonblocking;
};

#if HARTS > 1
static struct socket *sockets_of[PROCESSES]; /* by process; 0: it has never had one */
#define sockets (sockets_of[process_here])
static bool sockets_are_there(void) { return sockets; }
static bool provide_sockets(void)
{
    if (!sockets) {
        sockets = memory_take_for(process_here, SOCKETS_MAX * sizeof *sockets);
        if (sockets)
            memory_clear(sockets, SOCKETS_MAX * sizeof *sockets);
    }
    return sockets;
}
#else
static struct socket sockets[SOCKETS_MAX];
static bool sockets_are_there(void) { return true; }
static bool provide_sockets(void) { return true; }
#endif

bool socket_is(uint64_t descriptor) { return descriptor - DESCRIPTOR_FIRST < SOCKETS_MAX; }

static struct socket *socket_of(uint64_t descriptor)
{
    bool may_be = sockets_are_there() && socket_is(descriptor);
    struct socket *socket = may_be ? &sockets[descriptor - DESCRIPTOR_FIRST] : 0;
    return socket && socket->tcp ? socket : 0;
}

static int64_t place(struct tcp *tcp, bool nonblocking)
{
    if (!provide_sockets())
        return -ENOBUFS;
    for (unsigned i = 0; i < SOCKETS_MAX; i++) {
        if (!sockets[i].tcp) {
            sockets[i] = (struct socket){.tcp = tcp, .nonblocking = nonblocking};
            return DESCRIPTOR_FIRST + i;
        }
    }
    return -EMFILE;
}

/* Until something changes. 0, or an error if waiting is not allowed. */
static int64_t wait(const struct socket *socket, uint64_t flags, const char *what)
{
    if (socket->nonblocking || flags & MSG_DONTWAIT)
        return -EAGAIN;
    thread_sleep(&tcp_changes, what);
    return 0;
}

int64_t socket_new(const uint64_t arguments[6])
{
    uint64_t type = arguments[1];
    if (arguments[0] != AF_INET || (type & SOCK_TYPE) != SOCK_STREAM || !driver || !driver->transmit)
        return -EAFNOSUPPORT;
    struct tcp *tcp = tcp_new(rank_here);
    if (!tcp)
        return -ENOBUFS;
    int64_t descriptor = place(tcp, type & SOCK_NONBLOCK);
    if (descriptor < 0)
        tcp_close(tcp);
    return descriptor;
}

/* The socket and the address that bind() and connect() are given. */
static int64_t read_address(const uint64_t arguments[6], struct socket **socket, struct address *address)
{
    *socket = socket_of(arguments[0]);
    if (!*socket)
        return -EBADF;
    if (arguments[2] < sizeof *address)
        return -EINVAL;
    if (copy_from_user(address, arguments[1], sizeof *address))
        return -EFAULT;
    return address->family == AF_INET ? 0 : -EAFNOSUPPORT;
}

/* As accept() and its like have it: at most *length bytes, and how many there are. */
static int64_t write_address(uint32_t address, uint16_t port, uint64_t to, uint64_t length)
{
    struct address value = {.family = AF_INET, .port = be16(port), .address = be32(address)};
    uint32_t room, bytes = sizeof value;
    if (!to)
        return 0;
    if (copy_from_user(&room, length, sizeof room) || copy_to_user(to, &value, least(room, bytes)) ||
        copy_to_user(length, &bytes, sizeof bytes))
        return -EFAULT;
    return 0;
}

static bool is_taken(uint16_t port)
{
    for (const struct tcp *tcp = tcp_connections; tcp; tcp = tcp->next)
        if (tcp->port == port && (tcp->state == LISTEN || tcp->state == CLOSED) && own_of(tcp) == rank_here)
            return true;
    return false;
}

static uint16_t new_port(void)
{
    static uint16_t last = PORT_FIRST - 1;
    do
        last = last == 0xffff ? PORT_FIRST : last + 1;
    while (is_taken(last));
    return last;
}

int64_t socket_bind(const uint64_t arguments[6])
{
    struct socket *socket;
    struct address address;
    int64_t error = read_address(arguments, &socket, &address);
    if (error)
        return error;
    uint16_t port = be16(address.port);
    if (socket->tcp->state != CLOSED || socket->tcp->port)
        return -EINVAL;
    if (port && is_taken(port))
        return -EADDRINUSE;
    socket->tcp->port = port ? port : new_port();
    return 0;
}

int64_t socket_listen(const uint64_t arguments[6])
{
    struct socket *socket = socket_of(arguments[0]);
    if (!socket)
        return -EBADF;
    if (socket->tcp->state != CLOSED)
        return -EINVAL;
    if (!socket->tcp->port)
        socket->tcp->port = new_port();
    tcp_listen(socket->tcp);
    return 0;
}

int64_t socket_accept(const uint64_t arguments[6], uint64_t flags)
{
    struct socket *socket = socket_of(arguments[0]);
    if (!socket)
        return -EBADF;
    if (socket->tcp->state != LISTEN)
        return -EINVAL;
    while (!socket->tcp->waiting) {
        int64_t error = wait(socket, 0, "a connection");
        if (error)
            return error;
    }
    struct tcp *tcp = socket->tcp->waiting;
    int64_t descriptor = place(tcp, flags & SOCK_NONBLOCK);
    if (descriptor < 0)
        return descriptor;
    socket->tcp->waiting = tcp->next_waiting;
    tcp->listener = 0;
    int64_t error = write_address(tcp->peer, tcp->peer_port, arguments[1], arguments[2]);
    return error ? error : descriptor;
}

int64_t socket_connect(const uint64_t arguments[6])
{
    struct socket *socket;
    struct address address;
    int64_t error = read_address(arguments, &socket, &address);
    if (error)
        return error;
    struct tcp *tcp = socket->tcp;
    if (tcp->state != CLOSED)
        return -EISCONN;
    if (!tcp->port)
        tcp->port = new_port();
    if (!tcp_connect(tcp, be32(address.address), be16(address.port)))
        return -ENOBUFS;
    while (tcp->state == SYN_SENT)
        if (wait(socket, 0, "the answer to its connect()"))
            return -EINPROGRESS;
    return -tcp->error;
}

/* Why nothing can be written; 0: it can. */
static int64_t refusal(const struct tcp *tcp)
{
    if (tcp->error)
        return -tcp->error;
    if (tcp->state == ESTABLISHED || tcp->state == CLOSE_WAIT)
        return 0;
    return tcp->state < ESTABLISHED ? -ENOTCONN : -EPIPE;
}

/* Into the ring of what is to be sent, up to its end, and no more than makes the last segment whole. */
static int64_t fill(struct tcp *tcp, uint64_t from, uint64_t bytes)
{
    uint32_t at = tcp->written % BUFFER_BYTES, waiting = tcp->written - tcp->nxt;
    uint32_t segment = waiting < tcp->mss ? tcp->mss - waiting : tcp->mss;
    uint32_t room = least(least(tcp_room(tcp), BUFFER_BYTES - at), segment);
    uint32_t part = bytes < room ? bytes : room;
    if (copy_from_user(tcp->out + at, from, part))
        return -EFAULT;
    tcp->written += part;
    return part;
}

struct part { /* Linux's struct iovec */
    uint64_t from, bytes;
};

/* Whole segments leave at once, so that they are on the way while the next is copied. How much was taken, or an error
 * if nothing was. */
static int64_t send_part(struct socket *socket, struct part part, uint64_t flags)
{
    struct tcp *tcp = socket->tcp;
    uint64_t done = 0;
    int64_t result = 0;
    while (done < part.bytes && result >= 0) {
        result = refusal(tcp);
        if (result)
            break;
        bool has_room = tcp_room(tcp);
        if (has_room)
            result = fill(tcp, part.from + done, part.bytes - done);
        if (result > 0)
            done += result;
        if (!has_room || tcp->written - tcp->nxt >= tcp->mss)
            tcp_output(tcp);
        if (!has_room) {
            tcp->wants_room = true;
            result = wait(socket, flags, "room in its socket");
        }
    }
    return done ? (int64_t)done : result;
}

/* The parts one after the other, in segments that need not end with a part. */
static int64_t send_parts(struct socket *socket, const struct part parts[], uint64_t count, uint64_t flags)
{
    uint64_t done = 0, asked = 0;
    int64_t result = 0;
    for (uint64_t i = 0; i < count && result >= 0 && done == asked; i++) {
        asked += parts[i].bytes;
        result = send_part(socket, parts[i], flags);
        done += result > 0 ? result : 0;
    }
    if (!socket->tcp->error)
        tcp_output(socket->tcp);
    return done ? (int64_t)done : result;
}

int64_t socket_send(uint64_t descriptor, uint64_t from, uint64_t bytes, uint64_t flags)
{
    struct socket *socket = socket_of(descriptor);
    struct part part = {from, bytes};
    return socket ? send_parts(socket, &part, 1, flags) : -EBADF;
}

int64_t socket_send_parts(const uint64_t arguments[6])
{
    struct socket *socket = socket_of(arguments[0]);
    struct part parts[PARTS_MAX];
    uint64_t count = arguments[2];
    if (!socket)
        return -EBADF;
    if (count > PARTS_MAX)
        return -EINVAL;
    if (copy_from_user(parts, arguments[1], count * sizeof *parts))
        return -EFAULT;
    return send_parts(socket, parts, count, 0);
}

int64_t socket_receive(uint64_t descriptor, uint64_t to, uint64_t bytes, uint64_t flags)
{
    struct socket *socket = socket_of(descriptor);
    if (!socket)
        return -EBADF;
    struct tcp *tcp = socket->tcp;
    if (tcp->state < ESTABLISHED)
        return -ENOTCONN;
    while (!tcp_readable(tcp)) {
        if (tcp->error || tcp->has_ended)
            return -tcp->error;
        int64_t error = wait(socket, flags, "data from its socket");
        if (error)
            return error;
    }
    uint64_t done = 0;
    while (done < bytes && tcp_readable(tcp)) {
        uint32_t at = tcp->read % BUFFER_BYTES, part = least(tcp_readable(tcp), BUFFER_BYTES - at);
        part = bytes - done < part ? bytes - done : part;
        if (copy_to_user(to + done, tcp->in + at, part))
            return done ? (int64_t)done : -EFAULT;
        tcp->read += part;
        done += part;
    }
    tcp_consumed(tcp);
    return done;
}

int64_t socket_shutdown(const uint64_t arguments[6])
{
    struct socket *socket = socket_of(arguments[0]);
    if (!socket)
        return -EBADF;
    if (socket->tcp->state < ESTABLISHED)
        return -ENOTCONN;
    if (arguments[1] != SHUT_RD)
        tcp_end(socket->tcp);
    return 0;
}

int64_t socket_close(uint64_t descriptor)
{
    struct socket *socket = socket_of(descriptor);
    if (!socket)
        return -EBADF;
    tcp_close(socket->tcp);
    socket->tcp = 0;
    return 0;
}

int64_t socket_control(const uint64_t arguments[6])
{
    struct socket *socket = socket_of(arguments[0]);
    if (!socket)
        return -EBADF;
    if (arguments[1] == F_SETFL)
        socket->nonblocking = arguments[2] & O_NONBLOCK;
    else if (arguments[1] != F_GETFL)
        return -EINVAL;
    return arguments[1] == F_GETFL ? O_RDWR | (socket->nonblocking ? O_NONBLOCK : 0) : 0;
}

int64_t socket_name(const uint64_t arguments[6])
{
    struct socket *socket = socket_of(arguments[0]);
    return socket ? write_address(ip_of_rank(rank_here), socket->tcp->port, arguments[1], arguments[2]) : -EBADF;
}

struct polled {
    int32_t descriptor;
    int16_t events, found;
};

static int16_t found(const struct polled *polled)
{
    const struct socket *socket = socket_of(polled->descriptor);
    if (!socket)
        return POLLNVAL;
    struct tcp *tcp = socket->tcp;
    int16_t all = tcp->error ? POLLERR | POLLHUP : 0;
    if (tcp->state == LISTEN)
        all |= tcp->waiting ? POLLIN : 0;
    else if (tcp->state >= ESTABLISHED)
        all |= (tcp_readable(tcp) || tcp->has_ended ? POLLIN : 0) | (tcp_is_writable(tcp) ? POLLOUT : 0);
    if (polled->events & POLLOUT & ~all)
        tcp->wants_room = true;
    return all & (polled->events | POLLERR | POLLHUP);
}

/* How many have something; an error. */
static int64_t look(uint64_t at, uint64_t count)
{
    int64_t ready = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct polled polled;
        uint64_t place = at + i * sizeof polled;
        if (copy_from_user(&polled, place, sizeof polled))
            return -EFAULT;
        polled.found = polled.descriptor < 0 ? 0 : found(&polled);
        if (copy_to_user(place, &polled, sizeof polled))
            return -EFAULT;
        ready += polled.found != 0;
    }
    return ready;
}

int64_t socket_poll(const uint64_t arguments[6])
{
    uint64_t until = ~0ull, timeout[2]; /* struct timespec */
    bool waits = true;
    if (arguments[2]) {
        if (copy_from_user(timeout, arguments[2], sizeof timeout))
            return -EFAULT;
        waits = timeout[0] || timeout[1];
        if (waits)
            until = csr_read(time) + timeout[0] * boot.ni.timebase_hz + ticks_of_ns(timeout[1]);
    }
    for (;;) {
        int64_t ready = look(arguments[0], arguments[1]);
        if (ready || !waits || (until != ~0ull && csr_read(time) >= until))
            return ready;
        thread_sleep_until(&tcp_changes, until, "something in its sockets");
    }
}

bool sockets_end(void)
{
    for (unsigned i = 0; sockets_are_there() && i < SOCKETS_MAX; i++)
        if (sockets[i].tcp)
            socket_close(DESCRIPTOR_FIRST + i);
    tcp_end_all();
#if HARTS > 1
    for (const struct tcp *tcp = tcp_connections; tcp; tcp = tcp->next)
        if (own_of(tcp) == rank_here)
            return true;
    return false;
#else
    return tcp_connections;
#endif
}
