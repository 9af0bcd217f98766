/* The thin firmware on a card with a list of tags. */
#define TAGS
// NOLINTNEXTLINE(bugprone-suspicious-include): an image is made from the files of its folder
#include "../bip/main.c"
