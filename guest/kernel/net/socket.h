/* System calls of sockets (socket.c): a result, or below 0 an error. */
#ifndef SOCKET_H
#define SOCKET_H

#include "net.h"

int64_t socket_new(const uint64_t arguments[6]);
int64_t socket_bind(const uint64_t arguments[6]);
int64_t socket_listen(const uint64_t arguments[6]);
int64_t socket_accept(const uint64_t arguments[6], uint64_t flags);
int64_t socket_connect(const uint64_t arguments[6]);
int64_t socket_send(uint64_t descriptor, uint64_t from, uint64_t bytes, uint64_t flags);
int64_t socket_send_parts(const uint64_t arguments[6]); /* writev() */
int64_t socket_receive(uint64_t descriptor, uint64_t to, uint64_t bytes, uint64_t flags);
int64_t socket_shutdown(const uint64_t arguments[6]);
int64_t socket_close(uint64_t descriptor);
int64_t socket_control(const uint64_t arguments[6]); /* fcntl() */
int64_t socket_name(const uint64_t arguments[6]);
int64_t socket_poll(const uint64_t arguments[6]); /* of sockets alone */

#endif
