/* Streams of random bytes over sockets, both ways at once, in pieces of random lengths, past whatever lossy.c does. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lossy.h"

#define PIECE_MAX 30000

/* One direction: the bytes are a function of their places. */
struct stream {
    unsigned seed;
    int from, to;
    size_t sent, received, bytes;
    bool has_ended;
};

static unsigned char byte_at(const struct stream *stream, size_t place)
{
    unsigned long value = (place + 1) * 2654435761u + stream->seed;
    return value >> 16;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void write_some(struct stream *stream)
{
    static unsigned char piece[PIECE_MAX];
    size_t left = stream->bytes - stream->sent, count = 1 + rand() % PIECE_MAX;
    if (count > left)
        count = left;
    for (size_t i = 0; i < count; i++)
        piece[i] = byte_at(stream, stream->sent + i);
    ssize_t done = send(stream->from, piece, count, MSG_DONTWAIT);
    if (done < 0 && errno != EAGAIN)
        fail("send");
    stream->sent += done < 0 ? 0 : done;
    if (stream->sent == stream->bytes)
        shutdown(stream->from, SHUT_WR);
}

static void read_some(struct stream *stream)
{
    static unsigned char piece[PIECE_MAX];
    ssize_t done = read(stream->to, piece, 1 + rand() % PIECE_MAX);
    if (done < 0)
        fail("read");
    for (ssize_t i = 0; i < done; i++)
        if (piece[i] != byte_at(stream, stream->received + i))
            fail("a byte");
    stream->received += done;
    stream->has_ended = done == 0;
}

/* Whatever can be done, until both streams have ended. */
static void run(struct stream streams[2])
{
    while (!streams[0].has_ended || !streams[1].has_ended) {
        struct pollfd polled[4];
        for (int i = 0; i < 2; i++) {
            struct stream *stream = &streams[i];
            bool writes = stream->sent < stream->bytes;
            polled[2 * i] = (struct pollfd){writes ? stream->from : -1, POLLOUT, 0};
            polled[2 * i + 1] = (struct pollfd){stream->has_ended ? -1 : stream->to, POLLIN, 0};
        }
        if (poll(polled, 4, -1) < 1)
            fail("poll");
        for (int i = 0; i < 2; i++) {
            if (polled[2 * i].revents)
                write_some(&streams[i]);
            if (polled[2 * i + 1].revents)
                read_some(&streams[i]);
        }
    }
}

static void connections(unsigned rounds, size_t bytes)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(4000)};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    inet_aton("10.0.0.1", &address.sin_addr);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 5))
        fail("bind or listen");
    for (unsigned round = 0; round < rounds; round++) {
        int one = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(one, (struct sockaddr *)&address, sizeof address))
            fail("connect");
        int other = accept(listener, 0, 0);
        if (other < 0)
            fail("accept");
        struct stream streams[2] = {{.seed = rand(), .from = one, .to = other, .bytes = 1 + rand() % bytes},
                                    {.seed = rand(), .from = other, .to = one, .bytes = 1 + rand() % bytes}};
        run(streams);
        if (streams[0].received != streams[0].bytes || streams[1].received != streams[1].bytes)
            fail("an end");
        close(one);
        close(other);
    }
    close(listener);
    int nobody = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(nobody, (struct sockaddr *)&address, sizeof address) != -1 || errno != ECONNREFUSED)
        fail("a connection to nobody");
    char nothing[64];
    if (read(nobody, nothing, sizeof nothing) != -1)
        fail("data from nobody");
}

int main(int count, char **arguments)
{
    struct lossy how = {.seed = 1, .latency_ns = 20000};
    struct lossy_counts counts;
    int ni = open("/dev/ni0", O_RDWR);
    if (count != 5)
        return 2;
    how.seed = atoi(arguments[1]);
    how.once_in = atoi(arguments[2]);
    srand(how.seed);
    if (ioctl(ni, LOSSY_SET, &how))
        fail("ioctl");
    connections(atoi(arguments[3]), atoi(arguments[4]));
    if (ioctl(ni, LOSSY_COUNTS, &counts))
        fail("ioctl");
    fprintf(stderr, "%lu packets: %lu lost, %lu doubled, %lu broken, %lu late\n", counts.packets, counts.lost,
            counts.doubled, counts.broken, counts.late);
    bool mishaps = counts.lost && counts.doubled && counts.broken && counts.late;
    puts(mishaps == (how.once_in > 0) ? "stream: PASSED" : "stream: nothing happened");
    return 0;
}
