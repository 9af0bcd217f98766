/* The protocol, for this image. */
#include "protocol/match.c"
