/* The protocol, for this image. */
#include "protocol/protocol.c"
