/* The same, where processes wait by interrupt. */
#define BY_INTERRUPT
// NOLINTNEXTLINE(bugprone-suspicious-include): an image is made from the files of its folder
#include "../agent.c"
