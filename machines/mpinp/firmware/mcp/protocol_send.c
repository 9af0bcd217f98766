/* The protocol, for this image. */
#include "protocol/send.c"
