/* Connections that are given up before they are made: the kernel keeps nothing of them, however many there are. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lossy.h"

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Its SYN is on the way; the answer finds nobody. */
static void give_up(const struct sockaddr_in *address)
{
    int one = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (one < 0)
        fail("socket");
    if (connect(one, (const struct sockaddr *)address, sizeof *address) != -1 || errno != EINPROGRESS)
        fail("connect");
    close(one);
    usleep(1000);
}

int main(int count, char **arguments)
{
    struct lossy how = {.seed = 1, .latency_ns = 20000};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(4000)};
    int ni = open("/dev/ni0", O_RDWR);
    if (count != 2)
        return 2;
    if (ioctl(ni, LOSSY_SET, &how))
        fail("ioctl");
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    inet_aton("10.0.0.1", &address.sin_addr);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 5))
        fail("bind or listen");
    for (int i = atoi(arguments[1]); i; i--)
        give_up(&address);
    int one = socket(AF_INET, SOCK_STREAM, 0);
    if (one < 0 || connect(one, (struct sockaddr *)&address, sizeof address))
        fail("a connection after all those");
    int other = accept(listener, 0, 0);
    char byte = 0;
    if (other < 0 || write(one, "x", 1) != 1 || read(other, &byte, 1) != 1 || byte != 'x')
        fail("a byte after all those");
    puts("half_open: PASSED");
    return 0;
}
