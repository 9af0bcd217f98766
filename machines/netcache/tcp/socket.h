/* The sockets of the kernel under a process (guest/kernel/net), by raw system calls: Linux's numbers and structures
 * (include/uapi/asm-generic/unistd.h, linux/in.h, asm-generic/poll.h). Results below 0 are errors. Rank r's kernel has
 * the address 10.0.0.1 + r. */
#ifndef TCP_SOCKET_H
#define TCP_SOCKET_H

#include <stddef.h>
#include <stdint.h>

enum {
    SOCKET_AGAIN = -11,
    SOCKET_FAULT = -14,
    SOCKET_NO_BUFFERS = -105,
    SOCKET_TIMED_OUT = -110,
    SOCKET_REFUSED = -111,
    SOCKET_IN_PROGRESS = -115,
};
enum { POLL_IN = 1, POLL_OUT = 4, POLL_ERROR = 8, POLL_HANGUP = 16 };

#define SOCKET_NETWORK 0x0a000001u /* guest/kernel/net/ip.c */

struct socket_address {
    uint16_t family, port;
    uint32_t address;
    uint64_t zero;
};

struct socket_part {
    const void *from;
    size_t bytes;
};

struct socket_poll {
    int32_t fd;
    int16_t events, found;
};

static inline long socket_call(long number, long a, long b, long c, long d, long e)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) : "memory");
    return a0;
}

static inline struct socket_address socket_address(uint32_t address, uint16_t port)
{
    enum { AF_INET = 2 };
    return (struct socket_address){AF_INET, __builtin_bswap16(port), __builtin_bswap32(address), 0};
}

/* One that never waits. */
static inline int socket_new(void)
{
    enum { CALL_SOCKET = 198, AF_INET = 2, SOCK_STREAM = 1, SOCK_NONBLOCK = 04000 };
    return (int)socket_call(CALL_SOCKET, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, 0, 0);
}

static inline int socket_listen(int fd, uint16_t port)
{
    enum { CALL_BIND = 200, CALL_LISTEN = 201, BACKLOG = 1024 };
    struct socket_address address = socket_address(0, port);
    long error = socket_call(CALL_BIND, fd, (long)&address, sizeof address, 0, 0);
    return (int)(error ? error : socket_call(CALL_LISTEN, fd, BACKLOG, 0, 0, 0));
}

/* The socket of a new connection, and the rank that began it. */
static inline int socket_accept(int listener, uint32_t *rank)
{
    enum { CALL_ACCEPT4 = 242, SOCK_NONBLOCK = 04000 };
    struct socket_address address = socket_address(0, 0);
    uint32_t bytes = sizeof address;
    long fd = socket_call(CALL_ACCEPT4, listener, (long)&address, (long)&bytes, SOCK_NONBLOCK, 0);
    *rank = __builtin_bswap32(address.address) - SOCKET_NETWORK;
    return (int)fd;
}

static inline int socket_connect(int fd, uint32_t rank, uint16_t port)
{
    enum { CALL_CONNECT = 203 };
    struct socket_address address = socket_address(SOCKET_NETWORK + rank, port);
    return (int)socket_call(CALL_CONNECT, fd, (long)&address, sizeof address, 0, 0);
}

/* How much was taken of the parts. */
static inline long socket_send(int fd, const struct socket_part parts[], unsigned count)
{
    enum { CALL_WRITEV = 66 };
    return socket_call(CALL_WRITEV, fd, (long)parts, count, 0, 0);
}

/* 0: the peer sends no more. */
static inline long socket_receive(int fd, void *to, size_t bytes)
{
    enum { CALL_READ = 63 };
    return socket_call(CALL_READ, fd, (long)to, (long)bytes, 0, 0);
}

static inline void socket_close(int fd)
{
    enum { CALL_CLOSE = 57 };
    socket_call(CALL_CLOSE, fd, 0, 0, 0, 0);
}

/* How many have something. Waits so long for that [ns]; below 0: for ever. */
static inline long socket_poll(struct socket_poll polls[], unsigned count, int64_t timeout_ns)
{
    enum { CALL_PPOLL = 73 };
    int64_t time[2] = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    return socket_call(CALL_PPOLL, (long)polls, count, timeout_ns < 0 ? 0 : (long)time, 0, 0);
}

#endif
