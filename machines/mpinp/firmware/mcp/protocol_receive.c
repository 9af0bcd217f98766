/* The protocol, for this image. */
#include "protocol/receive.c"
