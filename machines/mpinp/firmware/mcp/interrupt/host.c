/* The same, where a host waits by interrupt. */
#define BY_INTERRUPT
// NOLINTNEXTLINE(bugprone-suspicious-include): an image is made from the files of its folder
#include "../host.c"
