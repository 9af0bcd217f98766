/* The protocol, for this image. */
// NOLINTNEXTLINE(bugprone-suspicious-include): an image is made from the files of its folder
#include "protocol/cache.c"
