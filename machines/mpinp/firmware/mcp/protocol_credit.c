/* The protocol, for this image. */
#include "protocol/credit.c"
