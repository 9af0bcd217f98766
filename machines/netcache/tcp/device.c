/* The MPI device over sockets of the kernel's (policy tcp), as MPICH's channel `sock` works: connections are made when
 * they are first needed, sockets never wait, and a process that waits sleeps in poll(2).
 *
 * Connections: who sends first to another rank connects to it, and the other uses that connection, too, if it has not
 * begun one of its own meanwhile; then there are two. Each direction of a pair of ranks goes by one connection only, so
 * that messages arrive in the order of their sends.
 *
 * In the stream each message, and each packet of the library's, is a header (struct chasqui_stream_header) and its
 * payload. A long message is a put: its data go from the program's buffer to the socket, and at the other side from the
 * socket to where they belong. So do the data of a shorter one, if its receive is there when its header comes. What is
 * in one read with its header is copied by the library.
 *
 * What a socket does not take of a message that is to be sent is copied, since its sender goes on; then there is no room
 * for another until that has left. Who asked for room in vain is known from one poll to the next only; the library asks
 * again. */
#include "ethernet.h"
#include "mpi/device.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "socket.h"

/* A peer that has not come to MPI_Init refuses: it is asked again, after twice the time. */
#define RETRY_FIRST_NS 100000u
#define RETRY_MAX_NS 1000000000u
#define RETRIES_MAX 64u

/* What is read at a time, where it is not known yet where it goes: a short message takes one system call. */
#define READ_BYTES 4096u
#define READS_MAX 16u

typedef struct chasqui_stream_header header;

struct connection {
    int fd;
    uint32_t peer;
    unsigned place; /* in `polls` */
    bool connecting;
    bool refused; /* it is tried again at `retry_at` */
    bool wants_room; /* the library has something to send */
    unsigned retries;
    uint64_t retry_at; /* ticks */
    /* What is being sent: the end of a header, then the rest of its payload. */
    header out;
    size_t out_header, out_left;
    const char *from;
    char *copy;      /* room for an eager message; null: was never needed */
    uint64_t sender; /* of a put: the request to notify */
    /* What is being received: so much of a header, or, once `in_left` is not 0, its payload. */
    header in;
    size_t in_header, in_left;
    char *to;
    char *bounce;           /* `to` before there is a receive; else null */
    struct request *placed; /* whose receive the payload goes to; or null */
};

static struct connection **connections; /* in the order of their beginning */
static unsigned count, room;
static struct socket_poll *polls; /* the listener, then those of `connections` */
static struct connection **out;   /* by rank: what is sent goes there */
static long found;                /* sockets that the latest poll(2) found something of; 0: they were dealt with */
static unsigned refused;          /* connections that are */
static uint64_t ticks_per_second;
static _Alignas(16) char arrived[READ_BYTES]; /* the kernel copies words to it */
extern struct mpi_device mpi_device_tcp;

/* --- connections -------------------------------------------------------------------------------------- */

static void set_events(const struct connection *c)
{
    bool sends = c->connecting || c->wants_room || c->out_header || c->out_left;
    polls[c->place].events = (int16_t)(sends ? POLL_IN | POLL_OUT : POLL_IN);
}

static struct connection *add(int fd, uint32_t peer)
{
    if (count == room) {
        unsigned more = room ? 2 * room : 16;
        struct connection **moved = chq_malloc(more * sizeof *moved);
        struct socket_poll *moved_polls = chq_malloc((more + 1) * sizeof *moved_polls);
        memcpy(moved, connections, count * sizeof *moved);
        memcpy(moved_polls, polls, (count + 1) * sizeof *moved_polls);
        free(connections);
        free(polls);
        connections = moved;
        polls = moved_polls;
        room = more;
    }
    struct connection *c = chq_malloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->fd = fd;
    c->peer = peer;
    connections[count++] = c;
    c->place = count;
    polls[c->place] = (struct socket_poll){.fd = fd, .events = POLL_IN};
    return c;
}

/* The other side answers later: the socket is writable then, or has an error. */
static void connect_to_peer(struct connection *c)
{
    c->fd = socket_new();
    int error = c->fd < 0 ? c->fd : socket_connect(c->fd, c->peer, CHASQUI_ETHERNET_MPI_PORT);
    if (error == SOCKET_NO_BUFFERS)
        chq_die("MPI over TCP: the kernel has no memory for another connection (node.software.kernel_memory)");
    if (error && error != SOCKET_IN_PROGRESS)
        chq_die("MPI over TCP: the kernel makes no connection");
    c->connecting = true;
    polls[c->place].fd = c->fd;
    set_events(c);
}

/* The kernel can't read, or write, all of these bytes of the process: an access of its own is a fault that says where. */
static __attribute__((cold, noinline)) void access_all(uintptr_t from, size_t bytes, bool writes)
{
    enum { PAGE_BYTES = 4096 };
    for (uintptr_t at = from, end = from + bytes; at < end; at = (at & -(uintptr_t)PAGE_BYTES) + PAGE_BYTES) {
        volatile char *there = (volatile char *)at;
        char value = *there;
        if (writes)
            *there = value;
    }
}

_Noreturn static void broken(long error)
{
    if (error == SOCKET_TIMED_OUT)
        chq_die("MPI over TCP: another node does not answer; all frames to it or from it were lost");
    chq_die("MPI over TCP: a connection broke");
}

static void try_later(struct connection *c)
{
    long error = socket_receive(c->fd, arrived, sizeof arrived);
    if (error != SOCKET_REFUSED)
        broken(error);
    uint64_t delay_ns = RETRY_FIRST_NS;
    for (unsigned i = 0; i < c->retries && delay_ns < RETRY_MAX_NS; i++)
        delay_ns *= 2;
    if (++c->retries > RETRIES_MAX)
        chq_die("MPI over TCP: a rank refuses connections; it has not called MPI_Init");
    socket_close(c->fd);
    polls[c->place].fd = -1;
    c->connecting = false;
    c->refused = true;
    c->retry_at = chq_ticks() + delay_ns * ticks_per_second / 1000000000;
    refused++;
}

static void accept_all(void)
{
    uint32_t peer;
    int fd;
    while ((fd = socket_accept(polls[0].fd, &peer)) >= 0) {
        struct connection *c = add(fd, peer), *own = out[peer];
        if (own && !own->refused)
            continue;
        if (own) { /* It need not be tried again. */
            own->refused = false;
            refused--;
        }
        out[peer] = c;
    }
}

static void retry_refused(void)
{
    uint64_t now = chq_ticks();
    for (unsigned i = 0; i < count; i++) {
        struct connection *c = connections[i];
        if (c->refused && c->retry_at <= now) {
            c->refused = false;
            refused--;
            connect_to_peer(c);
        }
    }
}

/* --- sending ------------------------------------------------------------------------------------------ */

/* The socket takes what it has room for. */
static void push(struct connection *c)
{
    const char *rest = (const char *)(&c->out + 1) - c->out_header;
    struct socket_part parts[2] = {{rest, c->out_header}, {c->from, c->out_left}};
    unsigned first = c->out_header == 0, last = c->out_left == 0 ? 1 : 2;
    long taken = socket_send(c->fd, parts + first, last - first);
    if (taken == SOCKET_AGAIN)
        return;
    if (taken == SOCKET_FAULT)
        access_all((uintptr_t)c->from, c->out_left, false);
    if (taken < 0)
        broken(taken);
    size_t of_header = (size_t)taken < c->out_header ? (size_t)taken : c->out_header;
    c->out_header -= of_header;
    c->from += (size_t)taken - of_header;
    c->out_left -= (size_t)taken - of_header;
}

static inline bool is_busy(const struct connection *c) { return c->out_header | c->out_left; }

/* Where a message goes, if there is room for its beginning. */
static struct connection *open_way(uint32_t rank)
{
    struct connection *c = out[rank];
    if (unlikely(!c)) {
        c = out[rank] = add(-1, rank);
        connect_to_peer(c);
    }
    if (likely(!c->connecting && !c->refused && !is_busy(c)))
        return c;
    c->wants_room = true;
    set_events(c);
    return NULL;
}

/* False: nothing was taken. */
static bool begin(struct connection *c, const struct chasqui_envelope *envelope, const void *from, size_t bytes,
                  uint64_t to)
{
    c->out.envelope = *envelope;
    c->out.bytes = bytes;
    c->out.to = to;
    c->out_header = sizeof c->out;
    c->from = from;
    c->out_left = bytes;
    MARK_READY(envelope);
    push(c);
    if (likely(!is_busy(c)))
        return true;
    bool is_taken = c->out_header < sizeof c->out;
    if (!is_taken) {
        c->out_header = c->out_left = 0;
        c->wants_room = true;
    }
    set_events(c);
    return is_taken;
}

static bool tcp_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct connection *c = open_way(envelope->destination);
    if (!c || !begin(c, envelope, payload, bytes, 0))
        return false;
    if (unlikely(c->out_left)) {
        if (!c->copy)
            c->copy = chq_malloc(mpi_device_tcp.eager_bytes_max);
        memcpy(c->copy, c->from, c->out_left);
        c->from = c->copy;
    }
    return true;
}

static bool tcp_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    struct connection *c = open_way(fin->destination);
    if (!c || !begin(c, fin, from, bytes, to))
        return false;
    if (is_busy(c))
        c->sender = fin->sender;
    else
        mpi_put_done(fin->sender);
    return true;
}

/* There is room: what was begun goes on. */
static void go_on(struct connection *c)
{
    c->wants_room = false; /* The library asks again before it sleeps (device.h, `wait`). */
    if (is_busy(c))
        push(c);
    uint64_t sender = c->sender;
    bool is_put_done = sender && !is_busy(c);
    if (is_put_done)
        c->sender = 0;
    set_events(c);
    if (is_put_done)
        mpi_put_done(sender);
}

/* --- receiving ---------------------------------------------------------------------------------------- */

/* The payload is here as a whole. */
static void deliver(struct connection *c, const void *payload)
{
    c->in_header = 0;
    if (!c->in.to) {
        mpi_arrived(&c->in.envelope, payload, c->in.bytes);
        return;
    }
    chq_copy((void *)(uintptr_t)c->in.to, payload, c->in.bytes);
    mpi_arrived(&c->in.envelope, NULL, 0);
}

/* The payload comes in several reads, the rest of them to where it belongs. */
static void begin_payload(struct connection *c, const char *data, size_t bytes)
{
    void *to = (void *)(uintptr_t)c->in.to;
    c->placed = to ? NULL : mpi_begins(&c->in.envelope, &to);
    c->bounce = to ? NULL : chq_malloc(c->in.bytes);
    c->to = to ? to : c->bounce;
    memcpy(c->to, data, bytes);
    c->to += bytes;
    c->in_left = c->in.bytes - bytes;
}

static void end_payload(struct connection *c)
{
    c->in_header = 0;
    if (c->placed) {
        mpi_placed(c->placed);
    } else if (c->bounce) {
        mpi_arrived(&c->in.envelope, c->bounce, c->in.bytes);
        free(c->bounce);
    } else {
        mpi_arrived(&c->in.envelope, NULL, 0);
    }
}

/* Headers and payloads, as they come. */
static void take_apart(struct connection *c, const char *data, size_t bytes)
{
    while (bytes > 0) {
        size_t missing = sizeof c->in - c->in_header, part = bytes < missing ? bytes : missing;
        memcpy((char *)&c->in + c->in_header, data, part);
        c->in_header += part;
        data += part;
        bytes -= part;
        if (c->in_header < sizeof c->in)
            return;
        size_t payload = c->in.bytes;
        if (payload > bytes) {
            begin_payload(c, data, bytes);
            return;
        }
        data += payload;
        bytes -= payload;
        deliver(c, data - payload);
    }
}

/* The peer sends no more: it has come to the end of MPI_Finalize. */
static void ended(struct connection *c)
{
    if (c->in_header)
        chq_die("MPI over TCP: a connection ended within a message");
    polls[c->place].fd = -1;
}

/* At most what a socket holds: a sender that is faster would keep a process that waits from what it waits for. */
static void receive_from(struct connection *c)
{
    for (unsigned left = READS_MAX; left; left--) {
        size_t wanted = c->in_left ? c->in_left : sizeof arrived;
        long bytes = socket_receive(c->fd, c->in_left ? c->to : arrived, wanted);
        if (bytes == SOCKET_AGAIN)
            return;
        if (bytes == 0) {
            ended(c);
            return;
        }
        if (bytes == SOCKET_FAULT)
            access_all((uintptr_t)c->to, c->in_left, true);
        if (bytes < 0)
            broken(bytes);
        if (c->in_left) {
            c->to += bytes;
            c->in_left -= (size_t)bytes;
            if (c->in_left == 0)
                end_payload(c);
            return;
        }
        take_apart(c, arrived, (size_t)bytes);
        if ((size_t)bytes < wanted)
            return; /* There was no more. */
    }
}

static void look_at(struct connection *c, int16_t what)
{
    if (unlikely(c->connecting)) {
        if (what & (POLL_ERROR | POLL_HANGUP)) {
            try_later(c);
            return;
        }
        c->connecting = false;
    }
    if (what & (POLL_IN | POLL_ERROR | POLL_HANGUP))
        receive_from(c);
    if (what & POLL_OUT)
        go_on(c);
}

static void tcp_poll(void)
{
    if (!found)
        found = socket_poll(polls, count + 1, 0);
    if (unlikely(refused))
        retry_refused();
    if (found <= 0) {
        found = 0;
        return;
    }
    found = 0;
    /* Upcalls may add connections, of which nothing was found. */
    for (unsigned i = 0, before = count; i < before; i++) {
        int16_t what = polls[i + 1].found;
        if (what)
            look_at(connections[i], what);
    }
    if (polls[0].found)
        accept_all();
}

static void tcp_wait(void)
{
    int64_t timeout_ns = -1;
    if (unlikely(refused)) {
        uint64_t now = chq_ticks(), first = UINT64_MAX;
        for (unsigned i = 0; i < count; i++)
            if (connections[i]->refused && connections[i]->retry_at < first)
                first = connections[i]->retry_at;
        timeout_ns = first > now ? (int64_t)((first - now) * 1000000000 / ticks_per_second) + 1 : 0;
    }
    if (!found)
        found = socket_poll(polls, count + 1, timeout_ns);
}

/* --- beginning and end -------------------------------------------------------------------------------- */

static bool tcp_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    (void)ni_fd;
    int listener = socket_new();
    if (listener < 0 || socket_listen(listener, CHASQUI_ETHERNET_MPI_PORT) < 0) {
        static const char text[] = "MPI over TCP: there are no sockets here\n";
        chq_platform_write(2, text, sizeof text - 1);
        return false;
    }
    polls = chq_malloc(sizeof *polls);
    polls[0] = (struct socket_poll){.fd = listener, .events = POLL_IN};
    out = chq_malloc(ni->ranks * sizeof *out);
    memset(out, 0, ni->ranks * sizeof *out);
    ticks_per_second = ni->timebase_hz;
    mpi_device_tcp.eager_bytes_max = ni->settings[CHASQUI_ETHERNET_SETTING_EAGER];
    mpi_device_tcp.polls = ni->settings[CHASQUI_ETHERNET_SETTING_POLLS];
    return true;
}

/* What is on its way is the kernel's, which lives until it has arrived; what is not has to be given to it. */
static void tcp_close(void)
{
    for (unsigned i = 0; i < count; i++) {
        while (is_busy(connections[i])) {
            found = socket_poll(polls, count + 1, -1);
            tcp_poll();
        }
    }
}

struct mpi_device mpi_device_tcp = {
    .name = "tcp",
    .id = CHASQUI_ETHERNET_DEVICE,
    .interface = CHASQUI_ETHERNET_INTERFACE,
    .open = tcp_open,
    .close = tcp_close,
    .send = tcp_send,
    .poll = tcp_poll,
    .wait = tcp_wait,
    .put = tcp_put,
};
